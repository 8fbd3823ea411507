//! opkernels on arrays of ndarray 0.15 and 0.16, without copies: views are lent to
//! the version that opkernels has, and results are handed back.

mod lend;

use lend::{from_0_15, from_0_16};
use opkernels::ndarray::Axis;
use opkernels::{GatherExt, Scatter, ScatterExt};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn main() -> Outcome {
    old()?;
    println!("ndarray 0.15  rows gathered from a view, a result handed back");
    less_old()?;
    println!("ndarray 0.16  sums scattered in place, a column gathered");
    Ok(())
}

/// What linfa and other crates hold.
fn old() -> Outcome {
    let table = ndarray_0_15::array![[0.0, 0.1], [1.0, 1.1], [2.0, 2.1]];
    let lent = from_0_15::view(table.view().into_dyn());
    assert_eq!(lent.as_ptr(), table.as_ptr());

    let rows = lent.gather(&[2, 0, -1], Axis(0))?;
    let address = rows.as_ptr();
    let rows = from_0_15::back(rows).ok_or("a gather's result is in row-major order")?;
    assert_eq!(rows.as_ptr(), address);
    let rows: ndarray_0_15::Array2<f64> = rows.into_dimensionality()?;
    assert_eq!(rows, ndarray_0_15::array![[2.0, 2.1], [0.0, 0.1], [2.0, 2.1]]);
    Ok(())
}

fn less_old() -> Outcome {
    let mut sums = ndarray_0_16::Array2::<f64>::zeros((2, 2));
    let rows = ndarray_0_16::array![[2.0, 2.5], [0.0, 0.5], [2.0, 2.5]];
    let updates = from_0_16::view(rows.view().into_dyn());
    from_0_16::view_mut(sums.view_mut().into_dyn()).scatter_inplace(
        &[1, 0, 1],
        &updates,
        Scatter::sum(0),
    )?;
    assert_eq!(sums, ndarray_0_16::array![[0.0, 0.5], [4.0, 5.0]]);

    let last = from_0_16::view(sums.view().into_dyn()).gather(&[-1], Axis(1))?;
    assert_eq!(from_0_16::back(last), Some(ndarray_0_16::array![[0.5], [5.0]].into_dyn()));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions() {
        main().unwrap();
    }

    /// Every layout keeps its places: an element is where its indices say, at the
    /// same address.
    macro_rules! layouts {
        ($test:ident, $from:ident, $lend:ident) => {
            #[test]
            fn $test() {
                use $from::{Array, ArrayViewD, Axis, s};

                let numbers = Array::from_shape_fn((4, 5, 6), |(i, j, k)| 100 * i + 10 * j + k);
                let line = $from::arr1(&[7, 8, 9]);
                let none = Array::<usize, _>::zeros((3, 0, 2));
                let layouts: Vec<ArrayViewD<'_, usize>> = vec![
                    numbers.view().into_dyn(),
                    numbers.t().into_dyn(),
                    numbers.slice(s![..;-1, 1..;2, ..;-2]).into_dyn(),
                    numbers.slice(s![2, ..;-1, 3..]).into_dyn(),
                    numbers.index_axis(Axis(1), 3).into_dyn(),
                    numbers.slice(s![1, 1, 1]).into_dyn(),
                    line.broadcast((4, 3)).unwrap().into_dyn(),
                    none.slice(s![..;-1, .., ..]).into_dyn(),
                ];
                for layout in layouts {
                    let lent = $lend::view(layout.clone());
                    assert_eq!(lent.shape(), layout.shape());
                    assert!(lent.iter().map(|x| x as *const _).eq(layout.iter().map(|x| x as *const _)));
                }

                let mut written = numbers.clone();
                let half = written.slice_mut(s![..;-1, .., 1..;-2]).into_dyn();
                $lend::view_mut(half).fill(0);
                let mut expected = numbers;
                expected.slice_mut(s![..;-1, .., 1..;-2]).fill(0);
                assert_eq!(written, expected);
            }
        };
    }

    layouts!(layouts_of_0_15, ndarray_0_15, from_0_15);
    layouts!(layouts_of_0_16, ndarray_0_16, from_0_16);
}
