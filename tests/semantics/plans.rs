//! Plans of indices: the same bits as the indices themselves, their own errors,
//! counts.

use std::sync::Arc;

use ndarray::{Array1, Array2, Array3, Axis, Ix0, arr0, array, s};
use opkernels::{
    Error, Gather, GatherElementsExt, GatherExt, GatherNdExt, IndexPlan, OutOfBounds, Scatter,
    ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt,
};

#[test]
fn a_plan_is_accepted_by_every_operation_in_every_form() {
    let data = array![[1, 2, 3], [4, 5, 6]];
    let rows = IndexPlan::new(&[1, -2, 1], 2).unwrap();
    let expected = array![[4, 5, 6], [1, 2, 3], [4, 5, 6]];
    assert_eq!(data.gather(&rows, 0).unwrap(), expected);
    assert_eq!(data.gather_with(&rows, 0).unwrap(), expected.clone().into_dyn());
    let mut out = Array2::<i32>::zeros((3, 3));
    data.gather_into(&rows, Axis(0), &mut out).unwrap();
    assert_eq!(out, expected);
    let sums = array![[2, 4, 6], [12, 15, 18]];
    let slices = Scatter::sum(0);
    assert_eq!(data.scatter_with(&rows, &expected, slices).unwrap(), sums);
    let mut target = data.clone();
    target.scatter_inplace(&rows, &expected, slices).unwrap();
    assert_eq!(target, sums);
    assert_eq!(data.scatter(&rows, &0, 0).unwrap(), array![[0, 0, 0], [0, 0, 0]]);
    let mut folded = data.clone();
    folded.scatter_fold(&rows, &expected, 0, |a, b| *a += b).unwrap();
    assert_eq!(folded, sums);

    let elements = IndexPlan::new(&array![[2, 0], [-1, 1]], 3).unwrap();
    let picked = array![[3, 1], [6, 5]];
    assert_eq!(data.gather_elements(&elements, 1).unwrap(), picked);
    let added = array![[2, 2, 6], [4, 10, 12]];
    let attributes = ScatterElements::sum(1);
    assert_eq!(data.scatter_elements_with(&elements, &picked, attributes).unwrap(), added);
    let mut folded = data.clone();
    folded.scatter_elements_fold(&elements, &picked, 1, |a, b| *a += b).unwrap();
    assert_eq!(folded, added);

    let cells = array![[1, 2], [0, -3]];
    let cells = IndexPlan::tuples(&cells, &[2, 3], OutOfBounds::Error).unwrap();
    assert_eq!(data.gather_nd(&cells).unwrap().into_dyn(), array![6, 1].into_dyn());
    let mut target = data.clone();
    target.scatter_nd_inplace(&cells, &[10, 20], ScatterNd::new()).unwrap();
    assert_eq!(target, array![[20, 2, 3], [4, 5, 10]]);
    target.scatter_nd_fold(&cells, &[1, 1], ScatterNd::new(), |a, b| *a += b).unwrap();
    assert_eq!(target, array![[21, 2, 3], [4, 5, 11]]);
}

#[test]
fn plans_of_single_indices_and_of_rows_as_tuples() {
    let data = array![[1, 2], [3, 4]];
    let last: IndexPlan<Ix0> = IndexPlan::new(&-1, 2).unwrap();
    assert_eq!(data.gather(&last, 0).unwrap(), array![3, 4]);
    assert_eq!(last.counts().unwrap(), array![0, 1]);
    // Each number of a tuple along an axis of one length.
    let square = IndexPlan::new(&array![[1, 0], [0, 1]], 2).unwrap();
    assert_eq!(data.gather_nd(&square).unwrap(), array![3, 2].into_dyn());
    let rows = IndexPlan::tuples(&array![[1], [1]], &[2], OutOfBounds::Error).unwrap();
    assert_eq!(data.gather_nd(&rows).unwrap().into_dyn(), array![[3, 4], [3, 4]].into_dyn());
}

#[test]
fn a_plan_of_another_length_is_refused_untouched() {
    let plan = IndexPlan::new(&[0, 4], 5).unwrap();
    let mut data = array![[1, 2, 3], [4, 5, 6]];
    let error = data.gather(&plan, 1).unwrap_err();
    assert_eq!(error, Error::PlanLength { plan: 5, axis: 1, len: 3 });
    assert_eq!(
        error.to_string(),
        "the index plan was made for an axis of length 5, but axis 1 has length 3"
    );
    let error = data.scatter_inplace(&plan, &9, -1).unwrap_err();
    assert_eq!(error, Error::PlanLength { plan: 5, axis: 1, len: 3 });
    assert_eq!(data, array![[1, 2, 3], [4, 5, 6]]);
    // Shorter ones too: what is in bounds there is not what was meant.
    let plan = IndexPlan::new(&[-1], 2).unwrap();
    assert!(matches!(data.gather(&plan, 1), Err(Error::PlanLength { plan: 2, .. })));
    let cells = IndexPlan::tuples(&array![[1, 2]], &[2, 4], OutOfBounds::Error).unwrap();
    assert_eq!(data.gather_nd(&cells).unwrap_err(), Error::PlanLength { plan: 4, axis: 1, len: 3 });
}

#[test]
fn plans_of_tuples_serve_tuples() {
    let cells = array![[1, 2]];
    let plan = IndexPlan::tuples(&cells, &[2, 3], OutOfBounds::Error).unwrap();
    let error = array![1, 2].gather(&plan, 0).unwrap_err();
    assert_eq!(error, Error::PlanTuples { numbers: 1, lens: vec![2, 3] });
    assert_eq!(
        error.to_string(),
        "a plan of tuples for axes of lengths [2, 3] was given for indices of 1 number (expected a \
         number for each axis, at least one)"
    );
    let error = IndexPlan::tuples(&cells, &[2], OutOfBounds::Error).unwrap_err();
    assert_eq!(error, Error::PlanTuples { numbers: 2, lens: vec![2] });
    let none = Array2::<i64>::zeros((3, 0));
    let error = IndexPlan::tuples(&none, &[], OutOfBounds::Error).unwrap_err();
    assert_eq!(error, Error::PlanTuples { numbers: 0, lens: vec![] });
    assert_eq!(IndexPlan::tuples(&arr0(1), &[2], OutOfBounds::Error).unwrap_err(), Error::NoTuples);
}

#[test]
fn bad_indices_are_refused_as_calls_refuse_them() {
    let bad = array![[0, 3], [-5, 9]];
    let (plan, call) = (IndexPlan::new(&bad, 4), array![1, 2, 3, 4].gather(&bad, 0));
    let expected = Error::IndexOutOfBounds { index: -5, position: vec![1, 0], axis: 0, len: 4 };
    assert_eq!(plan.unwrap_err(), expected);
    assert_eq!(call.unwrap_err(), expected);
    // Many, of which the first is far behind.
    let mut many = Array1::<u8>::zeros(300_000);
    (many[250_001], many[250_000]) = (200, 100);
    let error = IndexPlan::new(&many, 100).unwrap_err();
    let expected =
        Error::IndexOutOfBounds { index: 100, position: vec![250_000], axis: 0, len: 100 };
    assert_eq!(error, expected);
    let cells = array![[0, 1], [0, 2]];
    let error = IndexPlan::tuples(&cells, &[1, 2], OutOfBounds::Error).unwrap_err();
    let expected = Error::IndexOutOfBounds { index: 2, position: vec![1, 1], axis: 1, len: 2 };
    assert_eq!(error, expected);
    for mode in [OutOfBounds::Clip, OutOfBounds::Wrap] {
        assert!(matches!(IndexPlan::with(&[0], 0, mode), Err(Error::EmptyAxis { axis: 0, .. })));
        assert!(IndexPlan::with(&Array1::<i64>::zeros(0), 0, mode).is_ok());
    }
}

#[test]
fn no_plan_is_made_for_axes_that_no_array_has() {
    let longest = isize::MAX as usize;
    for len in [longest + 1, longest + 2, usize::MAX - 1, usize::MAX] {
        for mode in [OutOfBounds::Error, OutOfBounds::Skip, OutOfBounds::Clip, OutOfBounds::Wrap] {
            for index in [0, -1, 5, i64::MIN, i64::MAX] {
                let error = IndexPlan::with(&[index], len, mode).unwrap_err();
                assert_eq!(error, Error::AxisTooLong { axis: 0, len });
                let cell = array![[0, index]];
                let error = IndexPlan::tuples(&cell, &[2, len], mode).unwrap_err();
                assert_eq!(error, Error::AxisTooLong { axis: 1, len });
                assert_eq!(
                    error.to_string(),
                    format!("axis 1 cannot have a length of {len} (expected at most {longest})")
                );
            }
        }
    }
    // The longest that one can have: of an element that is broadcast.
    let (element, len) = (array![7_u8], longest as i64);
    let data = element.broadcast(longest).unwrap();
    for index in [0, len - 1, -1, -len] {
        for mode in [OutOfBounds::Error, OutOfBounds::Skip, OutOfBounds::Clip, OutOfBounds::Wrap] {
            let plan = IndexPlan::with(&[index, 1], longest, mode).unwrap();
            let attributes = Gather::along(0).out_of_bounds(match mode {
                OutOfBounds::Skip => OutOfBounds::Fill(9),
                OutOfBounds::Clip => OutOfBounds::Clip,
                OutOfBounds::Wrap => OutOfBounds::Wrap,
                _ => OutOfBounds::Error,
            });
            assert_eq!(data.gather_with(&plan, attributes).unwrap(), array![7, 7].into_dyn());
        }
    }
    for index in [len, -len - 1] {
        let error = IndexPlan::new(&[index], longest).unwrap_err();
        let expected = Error::IndexOutOfBounds {
            index: index.into(),
            position: vec![0],
            axis: 0,
            len: longest,
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn the_plan_decides_what_becomes_of_indices_out_of_bounds() {
    let data = array![10, 20, 30];
    let wild = [1, 7, -9];
    let by = |mode| IndexPlan::with(&wild, 3, mode).unwrap();
    // Attributes that say nothing.
    assert_eq!(data.gather(&by(OutOfBounds::Clip), 0).unwrap(), array![20, 30, 10]);
    assert_eq!(data.gather(&by(OutOfBounds::Wrap), 0).unwrap(), array![20, 20, 10]);
    let sums = data.scatter_with(&by(OutOfBounds::Skip), &[1, 100, 100], Scatter::sum(0));
    assert_eq!(sums.unwrap(), array![10, 21, 30]);
    // The same.
    let said = |mode| Gather::along(0).out_of_bounds(mode);
    let filled = data.gather_with(&by(OutOfBounds::Skip), said(OutOfBounds::Fill(-1)));
    assert_eq!(filled.unwrap(), array![20, -1, -1].into_dyn());
    // Without a value, or another policy.
    let missing = Error::PlanOutOfBounds { plan: "skip", call: "refuse" };
    assert_eq!(data.gather(&by(OutOfBounds::Skip), 0).unwrap_err(), missing);
    let other = data.gather_with(&by(OutOfBounds::Clip), said(OutOfBounds::Fill(-1)));
    assert_eq!(other.unwrap_err(), Error::PlanOutOfBounds { plan: "clip", call: "fill" });
    let wrapping = Scatter::sum(0).out_of_bounds(OutOfBounds::Wrap);
    let other = data.scatter_with(&by(OutOfBounds::Clip), &1, wrapping).unwrap_err();
    assert_eq!(other, Error::PlanOutOfBounds { plan: "clip", call: "wrap" });
    assert_eq!(
        other.to_string(),
        "the index plan was made with out-of-bounds policy `clip`, but `wrap` was requested (use the \
         same policy or leave it at the default; to gather with a `skip` plan, use `Fill(value)`)"
    );
    // Where none is out of bounds, all policies are one.
    let tame = IndexPlan::new(&[0, -1], 3).unwrap();
    for mode in [OutOfBounds::Fill(-1), OutOfBounds::Clip, OutOfBounds::Wrap] {
        assert_eq!(data.gather_with(&tame, said(mode)).unwrap(), array![10, 30].into_dyn());
    }
}

#[test]
fn counts_are_those_of_a_histogram() {
    let bins = array![[3, 0, -1], [3, 1, 3]];
    let plan = IndexPlan::new(&bins, 5).unwrap();
    assert_eq!(plan.counts().unwrap(), array![1, 1, 0, 3, 1]);
    assert_eq!(plan.clone().counts().unwrap(), array![1, 1, 0, 3, 1]);
    let skipping = IndexPlan::with(&[0, 9, 0], 2, OutOfBounds::Skip).unwrap();
    assert_eq!(skipping.counts().unwrap(), array![2, 0]);
    assert_eq!(IndexPlan::new(&Array1::<u8>::zeros(0), 2).unwrap().counts().unwrap(), array![0, 0]);
    // Indices that repeat, by strides of 0 and spelled out.
    let ids = array![2, 0];
    let wide = ids.view().insert_axis(Axis(1)).broadcast((2, 8)).unwrap().to_owned();
    for repeated in [ids.view().insert_axis(Axis(1)).broadcast((2, 8)).unwrap(), wide.view()] {
        let plan = IndexPlan::new(&repeated, 3).unwrap();
        assert_eq!(plan.counts().unwrap(), array![8, 0, 8]);
        let sums = Array2::<i32>::zeros((3, 8));
        let sums = sums.scatter_elements_with(&plan, &1, ScatterElements::sum(0)).unwrap();
        assert_eq!(sums.sum_axis(Axis(1)), array![8, 0, 8]);
    }
}

/// Counts that a plan holds serve the means of rows, if they are of these updates.
#[test]
fn means_by_a_plan() {
    let ids = array![2_u8, 0, 2, 2, 0];
    let updates = Array2::from_shape_fn((5, 8), |(k, lane)| (k * k + lane) as f64);
    let target = Array2::<f64>::ones((3, 8));
    let plan = IndexPlan::new(&ids, 3).unwrap();
    let expected = target.scatter_with(&ids, &updates, Scatter::mean(0)).unwrap();
    assert_eq!(target.scatter_with(&plan, &updates, Scatter::mean(0)).unwrap(), expected);
    assert_eq!(expected.row(2)[1], (1.0 + 1.0 + 5.0 + 10.0) / 4.0);
    // Here each index stands for the elements of a row, and they count it once.
    let rows = ids.view().insert_axis(Axis(1));
    let plan = IndexPlan::new(&rows.broadcast((5, 8)).unwrap(), 3).unwrap();
    let means = target.scatter_elements_with(&plan, &updates, ScatterElements::mean(0)).unwrap();
    assert_eq!(means, expected);
    // And here each lane has indices of its own.
    let lanes = array![[2, 0], [0, 1], [2, 2]];
    let lanes = lanes.view().insert_axis(Axis(2)).broadcast((3, 2, 8)).unwrap().to_owned();
    let plan = IndexPlan::new(&lanes, 3).unwrap();
    let target = Array3::<f64>::ones((3, 2, 8));
    let updates = Array3::from_shape_fn((3, 2, 8), |(k, lane, at)| (k * k + lane + at) as f64);
    let attributes = ScatterElements::mean(0);
    assert_eq!(
        target.scatter_elements_with(&plan, &updates, attributes).unwrap(),
        target.scatter_elements_with(&lanes, &updates, attributes).unwrap()
    );
}

/// Positions that lie in memory like one list, but select in many lanes.
#[test]
fn sums_in_lanes_by_a_plan() {
    let ids = Array2::from_shape_fn((40, 1), |(k, _)| (k * 7 % 3) as i32);
    let updates = Array2::from_shape_fn((40, 1), |(k, _)| k as f64);
    let target = Array2::<f64>::zeros((40, 3));
    let (plan, sum) = (IndexPlan::new(&ids, 3).unwrap(), ScatterElements::sum(1));
    let sums = target.scatter_elements_with(&plan, &updates, sum).unwrap();
    assert_eq!(sums, target.scatter_elements_with(&ids, &updates, sum).unwrap());
    assert_eq!((sums[[2, 2]], sums.sum()), (2.0, 780.0));
    // The same indices in all lanes, many and few.
    for (lanes, count, sum) in [(4, 40, 780.0), (2, 9, 36.0)] {
        let (list, rows) = (ids.slice(s![..count, 0]), updates.slice(s![..count, 0]));
        let rows = rows.broadcast((lanes, count)).unwrap().to_owned();
        let (target, plan) = (Array2::zeros((lanes, 3)), IndexPlan::new(&list, 3).unwrap());
        let sums = target.scatter_with(&plan, &rows, Scatter::sum(1)).unwrap();
        assert_eq!(sums, target.scatter_with(&list, &rows, Scatter::sum(1)).unwrap());
        assert_eq!(sums.row(lanes - 1).sum(), sum);
    }
}

#[test]
#[cfg(target_pointer_width = "64")]
fn axes_beyond_32_bits() {
    let one = arr0(7_u8);
    let long = one.broadcast(10_000_000_000_usize).unwrap();
    let plan = IndexPlan::new(&[9_999_999_999_i64, -1, 0], 10_000_000_000).unwrap();
    assert_eq!(long.gather(&plan, 0).unwrap(), array![7, 7, 7]);
    let skipped = IndexPlan::with(&[-1, i64::MAX], 10_000_000_000, OutOfBounds::Skip).unwrap();
    let fill = Gather::along(0).out_of_bounds(OutOfBounds::Fill(1));
    assert_eq!(long.gather_with(&skipped, fill).unwrap(), array![7, 1].into_dyn());
    let too_many = |what, count| Err(Error::TooMany { what, count, most: u32::MAX as usize });
    assert_eq!(plan.counts(), too_many("targets", 10_000_000_000));
    assert_eq!(
        plan.counts().unwrap_err().to_string(),
        "10000000000 targets are too many to count (expected at most 4294967295)"
    );
    // As many indices as can be counted, and one more; a tuple is one index.
    let index = arr0(1_u8);
    let many = u32::MAX as usize;
    let counts = |shape: &[usize]| {
        let indices = index.broadcast(shape).unwrap();
        match shape {
            [_] => IndexPlan::new(&indices, 3),
            _ => IndexPlan::tuples(&indices, &[3], OutOfBounds::Error),
        }
        .unwrap()
        .counts()
    };
    assert_eq!(counts(&[many]), Ok(array![0, u32::MAX, 0]));
    assert_eq!(counts(&[many + 1]), too_many("indices", many + 1));
    assert_eq!(counts(&[many, 1]), Ok(array![0, u32::MAX, 0]));
    assert_eq!(counts(&[many + 1, 1]), too_many("indices", many + 1));
    // More targets than are numbered, and none, by pairs.
    let pairs = |lens: &[usize]| {
        let indices = array![[i64::MAX, 0]];
        IndexPlan::tuples(&indices, lens, OutOfBounds::Skip).unwrap().counts()
    };
    assert_eq!(pairs(&[1 << 40, 1 << 40]), too_many("targets", usize::MAX));
    assert_eq!(pairs(&[1 << 40, 0]), Ok(array![]));
}

#[test]
fn a_plan_is_shared_cheaply_and_described_briefly() {
    fn shared<T: Send + Sync + Clone + 'static>(_: &T) {}
    let plan = IndexPlan::new(&Array1::<u16>::zeros(1000), 3).unwrap();
    shared(&plan);
    plan.prepare();
    assert_eq!(plan.shape(), [1000]);
    let text = format!("{plan:?}");
    assert!(text.len() < 100, "{text}");
    assert!(text.contains("[1000]") && text.contains('3') && text.contains("refuse"), "{text}");
    let plan = Arc::new(plan);
    let sums = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3)
            .map(|_| {
                let plan = &plan;
                let sum = move || array![0, 0, 0].scatter_with(&**plan, &1, Scatter::sum(0));
                scope.spawn(sum)
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(sums, vec![array![1000, 0, 0]; 3]);
}

/// The positions of a plan stand for its indices, along the axes and under the policy of the plan.
#[test]
fn plans_of_plans() {
    let skips = IndexPlan::with(&[0, 9, 2], 3, OutOfBounds::Skip).unwrap();
    for again in [IndexPlan::new(&skips, 3), IndexPlan::with(&skips, 3, OutOfBounds::Skip)] {
        let sums = array![0, 0, 0].scatter_with(&again.unwrap(), &[1, 2, 4], Scatter::sum(0));
        assert_eq!(sums.unwrap(), array![1, 0, 4]);
    }
    for mode in [OutOfBounds::Clip, OutOfBounds::Wrap] {
        let refused = IndexPlan::with(&skips, 3, mode).unwrap_err();
        assert!(matches!(refused, Error::PlanOutOfBounds { plan: "skip", .. }), "{refused}");
    }
    let long = IndexPlan::new(&skips, 4).unwrap_err();
    assert_eq!(long, Error::PlanLength { plan: 3, axis: 0, len: 4 });
    // From the end of the plan's own axis.
    let last = IndexPlan::new(&[-1], 3).unwrap();
    assert!(matches!(IndexPlan::new(&last, 10), Err(Error::PlanLength { .. })));
    let again = IndexPlan::with(&last, 3, OutOfBounds::Wrap).unwrap();
    assert_eq!(array![1, 2, 3].gather(&again, 0).unwrap(), array![3]);
    // Of tuples.
    let cells = IndexPlan::tuples(&array![[1, -1]], &[2, 2], OutOfBounds::Error).unwrap();
    let refused = IndexPlan::new(&cells, 2).unwrap_err();
    assert_eq!(refused, Error::PlanTuples { numbers: 1, lens: vec![2, 2] });
    assert!(matches!(
        IndexPlan::tuples(&cells, &[3, 9], OutOfBounds::Error),
        Err(Error::PlanLength { plan: 2, axis: 0, len: 3 })
    ));
    let again = IndexPlan::tuples(&cells, &[2, 2], OutOfBounds::Error).unwrap();
    let data = array![[1, 2], [3, 4]];
    assert_eq!(data.gather_nd(&again).unwrap(), array![4].into_dyn());
}
