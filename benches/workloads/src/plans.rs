//! Scatters whose indices are used many times, with a plan of them and without.

use ndarray::{Array, Array1, Array2, ArrayViewMut1, Axis, RemoveAxis};
use opkernels::{IndexPlan, Scatter, ScatterExt};

use crate::inputs::{array, copy, floats};
use crate::workload::{Element, Take, Ways, Workload};

/// All workloads with plans.
pub fn workloads() -> Vec<Workload> {
    vec![
        Workload::new("plan_rows_16_near", |take| rows(take, 16, 2_000, 20_000, Law::Uniform)),
        Workload::new("plan_rows_16_far", |take| {
            rows(take, 16, 1_000_000, 1_000_000, Law::Uniform);
        }),
        Workload::new("plan_rows_16_power", |take| rows(take, 16, 50_000, 500_000, Law::Power)),
        Workload::new("plan_rows_16_sorted", |take| rows(take, 16, 50_000, 500_000, Law::Sorted)),
        Workload::new("plan_rows_64_near", |take| rows(take, 64, 1_000, 5_000, Law::Uniform)),
        Workload::new("plan_rows_64_far", |take| rows(take, 64, 50_000, 200_000, Law::Uniform)),
        Workload::new("plan_rows_80", |take| rows(take, 80, 556_416, 481_385, Law::Uniform)),
        Workload::new("plan_rows_768", |take| rows(take, 768, 5_000, 20_000, Law::Uniform)),
        Workload::new("plan_elements_1m", |take| {
            elements(take, 1_000_000, 1_000_000, Law::Uniform);
        }),
        Workload::new("plan_elements_10m", |take| {
            elements(take, 1_000_000, 10_000_000, Law::Uniform);
        }),
        Workload::new("plan_elements_sorted", |take| {
            elements(take, 100_000, 1_000_000, Law::Sorted);
        }),
        Workload::new("plan_elements_100k", |take| elements(take, 100_000, 100_000, Law::Uniform)),
        Workload::new("plan_elements_far", |take| {
            elements(take, 10_000_000, 1_000_000, Law::Uniform);
        }),
        Workload::new("plan_elements_power", |take| {
            elements(take, 1_000_000, 1_000_000, Law::Power);
        }),
        Workload::new("plan_rows_4", |take| rows(take, 4, 100_000, 1_000_000, Law::Uniform)),
        Workload::new("plan_rows_64_power", |take| rows(take, 64, 50_000, 200_000, Law::Power)),
        Workload::new("plan_rows_128", |take| rows(take, 128, 10_000, 100_000, Law::Uniform)),
        Workload::new("plan_counts_256", |take| counts(take, 256, 10_000_000)),
        Workload::new("plan_counts_10k", |take| counts(take, 10_000, 1_000_000)),
    ]
}

/// How indices are spread over targets.
#[derive(Clone, Copy)]
enum Law {
    Uniform,
    /// Few targets have most of them.
    Power,
    Sorted,
}

fn indices(count: usize, targets: usize, law: Law) -> Array1<i64> {
    let unit = |bits: u64| ((bits >> 11) + 1) as f64 / (1_u64 << 53) as f64;
    let power = |bits: u64| ((unit(bits).powf(-0.7) - 1.0) * 20.0) as u64 % targets as u64;
    let mut idx = array(count, |bits| match law {
        Law::Power => power(bits) as i64,
        Law::Uniform | Law::Sorted => (bits % targets as u64) as i64,
    });
    if let Law::Sorted = law {
        idx.as_slice_mut().expect("in standard layout").sort_unstable();
    }
    idx
}

/// Sums of rows of so many floats.
fn rows(take: Take<'_>, width: usize, targets: usize, count: usize, law: Law) {
    let data: Array2<f32> = floats((targets, width));
    let idx = indices(count, targets, law);
    let updates: Array2<f32> = floats((count, width));
    let by_hand = |target: &mut Array2<f32>| {
        for (&i, update) in idx.iter().zip(updates.outer_iter()) {
            let mut row: ArrayViewMut1<'_, f32> = target.row_mut(i as usize);
            row += &update;
        }
    };
    sums(take, data, &idx, &updates, by_hand);
}

/// Sums of elements along the only axis; by hand without checks.
fn elements(take: Take<'_>, targets: usize, count: usize, law: Law) {
    let data: Array1<f32> = floats(targets);
    let idx = indices(count, targets, law);
    let updates: Array1<f32> = floats(count);
    let by_hand = |target: &mut Array1<f32>| {
        let target = target.as_slice_mut().expect("in standard layout");
        for (&i, &update) in idx.iter().zip(&updates) {
            // SAFETY: the indices were made below the number of targets.
            unsafe { *target.get_unchecked_mut(i as usize) += update };
        }
    };
    sums(take, data, &idx, &updates, by_hand);
}

/// Counts of integers in so many bins.
fn counts(take: Take<'_>, bins: usize, count: usize) {
    let data = Array1::<u32>::zeros(bins);
    let idx = indices(count, bins, Law::Uniform);
    let updates = array(count, |bits| (bits % 3) as u32);
    let by_hand = |target: &mut Array1<u32>| {
        for (&i, &update) in idx.iter().zip(&updates) {
            target[i as usize] = target[i as usize].wrapping_add(update);
        }
    };
    sums(take, data, &idx, &updates, by_hand);
}

/// Sums in place with a plan of the indices, without one, and by hand.
fn sums<T: Element, D: RemoveAxis + 'static>(
    take: Take<'_>,
    data: Array<T, D>,
    idx: &Array1<i64>,
    updates: &Array<T, D>,
    by_hand: impl Fn(&mut Array<T, D>) + Send,
) {
    let mut answer = data.clone();
    by_hand(&mut answer);
    let answer = copy(&answer.flatten().into_owned());
    let plan = IndexPlan::new(idx, data.len_of(Axis(0))).expect("indices in bounds");
    let (sum, start) = (Scatter::sum(0), || copy(&data));
    Ways::to(&answer)
        .into("with a plan", start, |target| {
            target.scatter_inplace(&plan, updates, sum).unwrap();
        })
        .into("without", start, |target| target.scatter_inplace(idx, updates, sum).unwrap())
        .hand("by hand", start, by_hand)
        .give(take);
}
