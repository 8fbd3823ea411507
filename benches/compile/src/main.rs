//! Calls five forms for twelve types of elements and two of indices, as a program that reads models
//! of any type does. What compiling it costs is what opkernels costs its users:
//! `scripts/compile.sh` tells.

use half::{bf16, f16};
use ndarray::{Array2, ArrayD};
use opkernels::{
    Gather, GatherExt, Reduction, Result, RollExt, ScatterElements, ScatterElementsExt,
};

/// The five forms for one type of elements and one of indices.
macro_rules! forms {
    ($name:ident, $element:ty, $index:ty) => {
        fn $name(number: i64, axis: i64, reduction: Reduction) -> Result<usize> {
            let element = |k: i64| <$element as Element>::from_number(k);
            let rows = number as usize;
            let data = ArrayD::from_shape_fn(vec![rows, 3, 4], |at| element(at[0] as i64));
            let indices = ArrayD::from_shape_fn(vec![2, 2], |at| at[1] as $index);
            let gather = Gather::along(axis);
            let scatter = ScatterElements::along(axis).reduction(reduction);

            let gathered = data.gather_with(&indices, gather)?;
            let mut into = gathered.clone();
            data.gather_into(&indices, gather, &mut into)?;
            let rolled = data.roll([number, 1], [0, axis])?;

            let table = Array2::from_shape_fn((rows, 5), |(row, _)| element(row as i64));
            let places =
                Array2::from_shape_fn((2, 5), |(row, column)| ((row + column) % 3) as $index);
            let updates = Array2::from_shape_fn((2, 5), |(row, _)| element(row as i64));
            let scattered = table.scatter_elements_with(&places, &updates, scatter)?;
            let mut target = scattered.clone();
            target.scatter_elements_inplace(&places, &updates, scatter)?;

            let same = into.iter().zip(&rolled).filter(|(a, b)| a == b).count();
            Ok(same + target.iter().zip(&table).filter(|(a, b)| a == b).count())
        }
    };
}

trait Element {
    fn from_number(number: i64) -> Self;
}

macro_rules! elements {
    ($($element:ident: $by_i32:ident, $by_i64:ident, $convert:expr;)*) => {
        $(
            impl Element for $element {
                fn from_number(number: i64) -> Self {
                    ($convert)(number)
                }
            }
            forms!($by_i32, $element, i32);
            forms!($by_i64, $element, i64);
        )*

        type Form = fn(i64, i64, Reduction) -> Result<usize>;

        const ALL: &[(&str, Form)] = &[$(
            (concat!(stringify!($element), " by i32"), $by_i32),
            (concat!(stringify!($element), " by i64"), $by_i64),
        )*];
    };
}

elements! {
    f32: f32_by_i32, f32_by_i64, |number: i64| number as f32;
    f64: f64_by_i32, f64_by_i64, |number: i64| number as f64;
    f16: f16_by_i32, f16_by_i64, |number: i64| f16::from_f32(number as f32);
    bf16: bf16_by_i32, bf16_by_i64, |number: i64| bf16::from_f32(number as f32);
    i8: i8_by_i32, i8_by_i64, |number: i64| number as i8;
    i16: i16_by_i32, i16_by_i64, |number: i64| number as i16;
    i32: i32_by_i32, i32_by_i64, |number: i64| number as i32;
    i64: i64_by_i32, i64_by_i64, |number: i64| number;
    u8: u8_by_i32, u8_by_i64, |number: i64| number as u8;
    u16: u16_by_i32, u16_by_i64, |number: i64| number as u16;
    u32: u32_by_i32, u32_by_i64, |number: i64| number as u32;
    u64: u64_by_i32, u64_by_i64, |number: i64| number as u64;
}

fn main() -> Result<()> {
    // What is not known before the program runs is compiled in full.
    let argument = |at, default: i64| {
        std::env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (number, axis) = (argument(1, 7), argument(2, 0));
    let reductions = [
        Reduction::None,
        Reduction::Sum,
        Reduction::Prod,
        Reduction::Min,
        Reduction::Max,
        Reduction::Mean,
    ];
    let reduction = reductions[argument(3, 1).unsigned_abs() as usize % reductions.len()];
    for (name, form) in ALL {
        println!("{name}: {}", form(number, axis, reduction)?);
    }
    Ok(())
}
