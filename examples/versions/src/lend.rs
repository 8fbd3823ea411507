//! Views and arrays between two versions of ndarray, without copies. Copy this
//! file, and keep the versions that you have.

// A program uses what it needs.
#![allow(dead_code)]

/// Views of one version's arrays for another, and the way back for results.
macro_rules! between {
    ($from:ident, $to:ident) => {
        /// The same elements as a view of the other version, whatever its strides.
        pub(crate) fn view<'a, A>(mut array: $from::ArrayViewD<'a, A>) -> $to::ArrayViewD<'a, A> {
            let backward = backward(array.strides());
            backward.iter().for_each(|&axis| array.invert_axis($from::Axis(axis)));
            let shape = between!(@shape $to, array);
            // SAFETY: these are the elements that `array` borrows for 'a, and no
            // stride is negative.
            let mut same = unsafe { $to::ArrayViewD::from_shape_ptr(shape, array.as_ptr()) };
            backward.iter().for_each(|&axis| same.invert_axis($to::Axis(axis)));
            same
        }

        /// The same for a view that may be written to.
        pub(crate) fn view_mut<'a, A>(
            mut array: $from::ArrayViewMutD<'a, A>,
        ) -> $to::ArrayViewMutD<'a, A> {
            let backward = backward(array.strides());
            backward.iter().for_each(|&axis| array.invert_axis($from::Axis(axis)));
            let shape = between!(@shape $to, array);
            // SAFETY: these are the elements that `array` borrows for 'a, alone,
            // and is not used for any more; no stride is negative.
            let mut same = unsafe { $to::ArrayViewMutD::from_shape_ptr(shape, array.as_mut_ptr()) };
            backward.iter().for_each(|&axis| same.invert_axis($to::Axis(axis)));
            same
        }

        /// An array of the first version in the memory of a result.
        pub(crate) fn back<A>(result: $to::ArrayD<A>) -> Option<$from::ArrayD<A>> {
            let shape = $from::IxDyn(result.shape());
            $from::ArrayD::from_shape_vec(shape, elements(result)?).ok()
        }
    };
    (@shape $to:ident, $array:ident) => {{
        use $to::ShapeBuilder;
        let strides: Vec<usize> = $array.strides().iter().map(|&stride| stride as usize).collect();
        $to::IxDyn($array.shape()).strides($to::IxDyn(&strides))
    }};
}

/// The axes whose elements lie in memory from last to first.
fn backward(strides: &[isize]) -> Vec<usize> {
    (0..strides.len()).filter(|&axis| strides[axis] < 0).collect()
}

pub(crate) mod from_0_15 {
    use super::{backward, elements};
    use opkernels::ndarray;

    between!(ndarray_0_15, ndarray);
}

pub(crate) mod from_0_16 {
    use super::{backward, elements};
    use opkernels::ndarray;

    between!(ndarray_0_16, ndarray);
}

/// The elements of an array in row-major order, which results of gathers are in.
fn elements<A>(array: opkernels::ndarray::ArrayD<A>) -> Option<Vec<A>> {
    let len = array.len();
    let elements = array.is_standard_layout().then(|| array.into_raw_vec_and_offset().0)?;
    (elements.len() == len).then_some(elements)
}
