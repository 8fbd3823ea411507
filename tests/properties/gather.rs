//! Gather against the reference.

use opkernels::{Gather, GatherExt, OutOfBounds};
use proptest::prelude::*;

use crate::cases::{axis_of, count, indices_of, input, shape, target};
use crate::common::{Index, Value, array_of, oracle, same_contents};

#[derive(Debug, Clone)]
struct Case {
    data: Vec<usize>,
    indices: Vec<usize>,
    axis: i128,
    batch_dims: i64,
    mode: u8,
    wild: bool,
    layouts: [u64; 3],
    seed: u64,
}

/// Numbers that become a case.
type Raw = (Vec<usize>, Vec<usize>, (u8, u8, u8, u8), bool, [u64; 3], u64);

fn case() -> impl Strategy<Value = Case> {
    let length = prop_oneof![1 => Just(0), 12 => 1..=4_usize, 1 => 40..=80_usize];
    let indices = prop::collection::vec(length, 0..=3);
    (shape(), indices, any::<(u8, u8, u8, u8)>(), any::<bool>(), any::<[u64; 3]>(), any::<u64>())
        .prop_map(from_raw)
}

fn from_raw((data, mut indices, numbers, wild, layouts, seed): Raw) -> Case {
    let (axis, batch, mode, flaw) = numbers;
    let axis = axis_of(axis, data.len());
    let from_front = if axis < 0 { axis + data.len() as i128 } else { axis };
    let most = from_front.clamp(0, indices.len() as i128) as usize;
    let b = if from_front < data.len() as i128 { batch as usize % (most + 1) } else { 0 };
    indices[..b].copy_from_slice(&data[..b]);
    let mut batch_dims = b as i64;
    if batch >= 128 && !indices.is_empty() {
        batch_dims -= indices.len() as i64;
    }
    match flaw {
        0..=7 => batch_dims = [9, -9, i64::MAX, i64::MIN][flaw as usize % 4],
        8..=15 if b > 0 => indices[flaw as usize % b] += 1,
        16..=31 => batch_dims += 1,
        _ => {}
    }
    while count(&data).max(1) * count(&indices[b.min(indices.len())..]).max(1) > 20_000 {
        let longest = (b..indices.len()).max_by_key(|&k| indices[k]).unwrap();
        indices[longest] /= 2;
    }
    Case { data, indices, axis, batch_dims, mode: mode % 5, wild, layouts, seed }
}

fn check<A: Value, I: Index>(case: &Case) {
    let Case { axis, batch_dims, seed, .. } = *case;
    let data = input::<A>(&array_of(&case.data, seed), case.layouts[0]);
    let len = usize::try_from(if axis < 0 { axis + case.data.len() as i128 } else { axis });
    let len = len.ok().and_then(|axis| case.data.get(axis)).copied().unwrap_or(1);
    let wild = case.wild && (case.mode != 0 || seed.is_multiple_of(4));
    let indices = indices_of::<I>(&case.indices, len, wild, seed ^ 1);
    let indices = input(&indices, case.layouts[1]);
    let mode = match case.mode {
        1 => OutOfBounds::Fill(A::from_number(seed)),
        2 => OutOfBounds::Clip,
        3 => OutOfBounds::Wrap,
        4 if seed.is_multiple_of(8) => OutOfBounds::Skip,
        _ => OutOfBounds::Error,
    };
    let wide = I::to_wide(&indices.view());
    let expected = oracle::gather(&data.contents(), &wide, axis, batch_dims.into(), &mode);

    let attributes = Gather::along(axis as i64).batch_dims(batch_dims).out_of_bounds(mode.clone());
    let output = data.view().gather_with(&indices.view(), attributes.clone());
    let shape = match &expected {
        Ok(expected) => expected.shape().to_vec(),
        Err(_) => case.data.clone(),
    };
    let before = target::<A>(&shape, case.layouts[2]);
    let mut out = before.clone();
    let into = data.view().gather_into(&indices.view(), attributes, &mut out.view_mut());
    match expected {
        Ok(expected) => {
            let output = output.unwrap();
            assert!(same_contents(&output, &expected), "{output:?} instead of {expected:?}");
            assert!(output.is_standard_layout());
            into.unwrap();
            assert!(same_contents(&out.view(), &expected), "{out:?} instead of {expected:?}");
            assert!(out.kept_its_margins(&before));
            if batch_dims == 0 && mode_is_error(&mode) {
                let plain = data.view().gather(&indices.view(), axis as i64).unwrap();
                assert!(same_contents(&plain, &expected));
            }
        }
        Err(refused) => {
            let error = output.unwrap_err();
            assert!(refused.is(&error), "{error} instead of {refused:?}");
            // The out may have another shape than the result would have.
            into.unwrap_err();
            assert!(same_contents(&out.view(), &before.view()));
            assert!(out.kept_its_margins(&before));
        }
    }
}

fn mode_is_error<A>(mode: &OutOfBounds<A>) -> bool {
    matches!(mode, OutOfBounds::Error)
}

macro_rules! properties {
    ($($name:ident: $element:ty, $index:ty;)*) => {
        proptest! {
            #![proptest_config(crate::config())]
            $(
                #[test]
                fn $name(case in case()) {
                    check::<$element, $index>(&case);
                }
            )*
        }
    };
}
properties! {
    u8_by_i8: u8, i8;
    u8_by_u64: u8, u64;
    i16_by_i16: i16, i16;
    i64_by_i64: i64, i64;
    f32_by_i32: f32, i32;
    f32_by_u8: f32, u8;
    f64_by_u16: f64, u16;
    strings_by_u32: String, u32;
    tuples_by_isize: (u8, u16), isize;
    odd_elements_by_usize: [u8; 3], usize;
}
#[cfg(feature = "half")]
properties! {
    f16_by_usize: half::f16, usize;
}
#[cfg(feature = "num-complex")]
properties! {
    complex_by_i64: num_complex::Complex<f32>, i64;
}
