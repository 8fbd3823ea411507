//! Every operation in every form, over arrays of one shape.

use ndarray::{
    Array1, Array2, Array3, ArrayD, ArrayView2, ArrayViewMut2, Axis, Dimension, arr0, s,
};
use opkernels::{
    Gather, GatherElements, GatherElementsExt, GatherExt, GatherNd, GatherNdExt, OutOfBounds,
    Result, RollExt, Scatter, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt,
};

/// How an array lies in its buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Laid {
    Standard,
    Transposed,
    /// Backward, with a row of other elements after each.
    Stepped,
}

pub(crate) const LAYOUTS: [Laid; 3] = [Laid::Standard, Laid::Transposed, Laid::Stepped];

/// An array within a buffer.
pub(crate) struct Buffer<A> {
    pub(crate) elements: Array2<A>,
    laid: Laid,
}

impl<A> Buffer<A> {
    fn new(
        size: (usize, usize),
        laid: Laid,
        first: u32,
        mut make: impl FnMut((usize, usize), u32) -> Array2<A>,
    ) -> Self {
        let shape = match laid {
            Laid::Standard => size,
            Laid::Transposed => (size.1, size.0),
            Laid::Stepped => (2 * size.0, size.1),
        };
        Buffer { elements: make(shape, first), laid }
    }

    pub(crate) fn view(&self) -> ArrayView2<'_, A> {
        match self.laid {
            Laid::Standard => self.elements.view(),
            Laid::Transposed => self.elements.t(),
            Laid::Stepped => self.elements.slice(s![..;-2, ..]),
        }
    }

    pub(crate) fn view_mut(&mut self) -> ArrayViewMut2<'_, A> {
        match self.laid {
            Laid::Standard => self.elements.view_mut(),
            Laid::Transposed => self.elements.view_mut().reversed_axes(),
            Laid::Stepped => self.elements.slice_mut(s![..;-2, ..]),
        }
    }
}

/// Whether all indices are within their axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Given {
    Good,
    /// The last one is not.
    Bad,
}

/// What an operation reads and writes; data, updates and target have the same
/// shape.
pub(crate) struct Arrays<A> {
    pub(crate) data: Buffer<A>,
    pub(crate) updates: Buffer<A>,
    pub(crate) target: Buffer<A>,
    indices: Indices,
}

/// Indices for each axis, as a line and as a matrix, and for both at once.
struct Indices {
    down: Array1<i64>,
    across: Array1<i64>,
    all_down: Array2<i64>,
    all_across: Array2<i64>,
    cells: Array3<i64>,
}

impl<A> Arrays<A> {
    pub(crate) fn new(
        size: (usize, usize),
        laid: Laid,
        given: Given,
        mut make: impl FnMut(u32) -> A,
    ) -> Self {
        Self::of_arrays(size, laid, given, |shape, first| {
            let mut next = first;
            Array2::from_shape_simple_fn(shape, || {
                next += 1;
                make(next)
            })
        })
    }

    /// The same of arrays that `make` makes: of this shape, from the element
    /// after number `first` on.
    pub(crate) fn of_arrays(
        size: (usize, usize),
        laid: Laid,
        given: Given,
        mut make: impl FnMut((usize, usize), u32) -> Array2<A>,
    ) -> Self {
        Arrays {
            data: Buffer::new(size, laid, 0, &mut make),
            updates: Buffer::new(size, laid, 1_000_000, &mut make),
            target: Buffer::new(size, laid, 2_000_000, &mut make),
            indices: Indices::new(size, given),
        }
    }
}

impl Indices {
    fn new((rows, columns): (usize, usize), given: Given) -> Self {
        // Not in order, negative every second time; a few places repeat.
        let index = |k: usize, len: usize| (k * 5 + k / 3) as i64 % len as i64;
        let index = |k: usize, len: usize| index(k, len) - (k as i64 % 2) * len as i64;
        let mut indices = Indices {
            down: Array1::from_shape_fn(rows, |i| index(i + 1, rows)),
            across: Array1::from_shape_fn(columns, |j| index(j + 1, columns)),
            all_down: Array2::from_shape_fn((rows, columns), |(i, j)| index(i + 2 * j, rows)),
            all_across: Array2::from_shape_fn((rows, columns), |(i, j)| index(2 * i + j, columns)),
            cells: Array3::from_shape_fn((rows, columns, 2), |(i, j, k)| match k {
                0 => index(i + j, rows),
                _ => index(3 * i + j, columns),
            }),
        };
        if given == Given::Bad {
            indices.down[rows - 1] = rows as i64;
            indices.across[columns - 1] = -(columns as i64) - 1;
            indices.all_down[[rows - 1, columns - 1]] = i64::MIN;
            indices.all_across[[rows - 1, columns - 1]] = i64::MAX;
            indices.cells[[rows - 1, columns - 1, 1]] = columns as i64;
        }
        indices
    }
}

/// One form of an operation. What it returns, if it does not write into the
/// target.
pub(crate) struct Form<A> {
    pub(crate) name: &'static str,
    /// Whether an index out of bounds is an error.
    pub(crate) refuses: bool,
    pub(crate) run: fn(&mut Arrays<A>) -> Result<Option<ArrayD<A>>>,
}

fn returned<A, D: Dimension>(output: ndarray::Array<A, D>) -> Option<ArrayD<A>> {
    Some(output.into_dyn())
}

pub(crate) fn forms<A: Clone + Send + Sync>() -> Vec<Form<A>> {
    let mut forms = gathers();
    forms.extend(rolls());
    forms.extend(scatters());
    forms.extend(other_gathers());
    forms.extend(other_scatters());
    forms.extend(folds());
    forms
}

fn refusing<A>(
    name: &'static str,
    run: fn(&mut Arrays<A>) -> Result<Option<ArrayD<A>>>,
) -> Form<A> {
    Form { name, refuses: true, run }
}

fn accepting<A>(
    name: &'static str,
    run: fn(&mut Arrays<A>) -> Result<Option<ArrayD<A>>>,
) -> Form<A> {
    Form { name, refuses: false, run }
}

fn gathers<A: Clone + Send + Sync>() -> Vec<Form<A>> {
    fn filled<A: Clone>(arrays: &Arrays<A>, axis: i64) -> Gather<A> {
        let value = arrays.updates.view()[[0, 0]].clone();
        Gather::along(axis).out_of_bounds(OutOfBounds::Fill(value))
    }
    vec![
        refusing("gather rows", |a| a.data.view().gather(&a.indices.down, 0).map(returned)),
        refusing("gather columns", |a| a.data.view().gather(&a.indices.across, -1).map(returned)),
        refusing("gather cells", |a| {
            let batched = Gather::along(1).batch_dims(1);
            a.data.view().gather_with(&a.indices.all_across, batched).map(Some)
        }),
        refusing("gather rows, of any rank", |a| {
            a.data.view().gather_with(&a.indices.down, 0).map(Some)
        }),
        accepting("gather rows with a fill", |a| {
            a.data.view().gather_with(&a.indices.down, filled(a, 0)).map(Some)
        }),
        accepting("gather columns, clipped", |a| {
            let clip = Gather::along(1).out_of_bounds(OutOfBounds::Clip);
            a.data.view().gather_with(&a.indices.across, clip).map(Some)
        }),
        refusing("gather rows into", |a| {
            let mut out = a.target.view_mut();
            a.data.view().gather_into(&a.indices.down, 0, &mut out).map(|()| None)
        }),
        refusing("gather columns into", |a| {
            let mut out = a.target.view_mut();
            a.data.view().gather_into(&a.indices.across, 1, &mut out).map(|()| None)
        }),
        refusing("gather cells into", |a| {
            let mut out = a.target.view_mut();
            let batched = Gather::along(1).batch_dims(1);
            a.data.view().gather_into(&a.indices.all_across, batched, &mut out).map(|()| None)
        }),
        accepting("gather columns with a fill into", |a| {
            let fill = filled(a, 1);
            let mut out = a.target.view_mut();
            a.data.view().gather_into(&a.indices.across, fill, &mut out).map(|()| None)
        }),
        accepting("gather rows, wrapped, into", |a| {
            let wrap = Gather::along(0).out_of_bounds(OutOfBounds::Wrap);
            let mut out = a.target.view_mut();
            a.data.view().gather_into(&a.indices.down, wrap, &mut out).map(|()| None)
        }),
    ]
}

fn rolls<A: Clone + Send + Sync>() -> Vec<Form<A>> {
    vec![
        accepting("roll rows", |a| a.data.view().roll(1, 0).map(returned)),
        accepting("roll columns", |a| a.data.view().roll(-1, 1).map(returned)),
        accepting("roll both", |a| a.data.view().roll([1, -1], [0, 1]).map(returned)),
        accepting("roll rows into", |a| {
            a.data.view().roll_into(-1, 0, &mut a.target.view_mut()).map(|()| None)
        }),
        accepting("roll both into", |a| {
            a.data.view().roll_into([1, 2], [0, 1], &mut a.target.view_mut()).map(|()| None)
        }),
        accepting("roll rows in place", |a| a.target.view_mut().roll_inplace(1, 0).map(|()| None)),
        accepting("roll columns in place", |a| {
            a.target.view_mut().roll_inplace(1, 1).map(|()| None)
        }),
        accepting("roll both in place", |a| {
            a.target.view_mut().roll_inplace([-1, 2], [0, 1]).map(|()| None)
        }),
    ]
}

fn scatters<A: Clone + Send + Sync>() -> Vec<Form<A>> {
    vec![
        refusing("scatter down", |a| {
            let updates = a.updates.view();
            a.data.view().scatter_elements(&a.indices.all_down, &updates, 0).map(returned)
        }),
        refusing("scatter across", |a| {
            let updates = a.updates.view();
            a.data.view().scatter_elements(&a.indices.all_across, &updates, 1).map(returned)
        }),
        refusing("scatter rows", |a| {
            let updates = a.updates.view();
            let rows = a.indices.down.view().insert_axis(Axis(1));
            let rows = rows.broadcast(updates.dim()).unwrap();
            a.data.view().scatter_elements(&rows, &updates, 0).map(returned)
        }),
        refusing("scatter down in place", |a| {
            let (indices, updates) = (&a.indices.all_down, a.updates.view());
            a.target.view_mut().scatter_elements_inplace(indices, &updates, 0).map(|()| None)
        }),
        refusing("scatter across in place", |a| {
            let (indices, updates) = (&a.indices.all_across, a.updates.view());
            a.target.view_mut().scatter_elements_inplace(indices, &updates, -1).map(|()| None)
        }),
        refusing("scatter rows in place", |a| {
            let updates = a.updates.view();
            let rows = a.indices.down.view().insert_axis(Axis(1));
            let rows = rows.broadcast(updates.dim()).unwrap();
            a.target.view_mut().scatter_elements_inplace(&rows, &updates, 0).map(|()| None)
        }),
    ]
}

/// Of elements and by tuples.
fn other_gathers<A: Clone + Send + Sync>() -> Vec<Form<A>> {
    vec![
        refusing("gather elements down", |a| {
            a.data.view().gather_elements(&a.indices.all_down, 0).map(returned)
        }),
        refusing("gather elements across", |a| {
            a.data.view().gather_elements(&a.indices.all_across, -1).map(returned)
        }),
        accepting("gather elements with a fill", |a| {
            let value = a.updates.view()[[0, 0]].clone();
            let fill = GatherElements::along(1).out_of_bounds(OutOfBounds::Fill(value));
            a.data.view().gather_elements_with(&a.indices.all_across, fill).map(returned)
        }),
        refusing("gather elements down into", |a| {
            let mut out = a.target.view_mut();
            a.data.view().gather_elements_into(&a.indices.all_down, 0, &mut out).map(|()| None)
        }),
        refusing("gather by tuples", |a| a.data.view().gather_nd(&a.indices.cells).map(Some)),
        accepting("gather by tuples, clipped", |a| {
            let clip = GatherNd::new().out_of_bounds(OutOfBounds::Clip);
            a.data.view().gather_nd_with(&a.indices.cells, clip).map(Some)
        }),
        refusing("gather by tuples into", |a| {
            let mut out = a.target.view_mut();
            let tuples = GatherNd::new();
            a.data.view().gather_nd_into(&a.indices.cells, tuples, &mut out).map(|()| None)
        }),
        refusing("gather rows by tuples into", |a| {
            let rows = a.indices.down.view().insert_axis(Axis(1));
            let mut out = a.target.view_mut();
            a.data.view().gather_nd_into(&rows, GatherNd::new(), &mut out).map(|()| None)
        }),
    ]
}

/// Of slices and by tuples.
fn other_scatters<A: Clone + Send + Sync>() -> Vec<Form<A>> {
    vec![
        refusing("scatter slices down", |a| {
            a.data.view().scatter(&a.indices.down, &a.updates.view(), 0).map(returned)
        }),
        refusing("scatter slices across", |a| {
            a.data.view().scatter(&a.indices.across, &a.updates.view(), 1).map(returned)
        }),
        refusing("scatter slices down in place", |a| {
            let (indices, updates) = (&a.indices.down, a.updates.view());
            a.target.view_mut().scatter_inplace(indices, &updates, 0).map(|()| None)
        }),
        refusing("scatter slices across in place", |a| {
            let (indices, updates) = (&a.indices.across, a.updates.view());
            a.target.view_mut().scatter_inplace(indices, &updates, -1).map(|()| None)
        }),
        refusing("scatter slices in batches in place", |a| {
            let (indices, updates) = (&a.indices.all_across, a.updates.view());
            let batched = Scatter::along(1).batch_dims(1);
            a.target.view_mut().scatter_inplace(indices, &updates, batched).map(|()| None)
        }),
        accepting("scatter slices, skipped, in place", |a| {
            let (indices, updates) = (&a.indices.down, a.updates.view());
            let skip = Scatter::along(0).out_of_bounds(OutOfBounds::Skip);
            a.target.view_mut().scatter_inplace(indices, &updates, skip).map(|()| None)
        }),
        refusing("scatter by tuples", |a| {
            a.data.view().scatter_nd(&a.indices.cells, &a.updates.view()).map(returned)
        }),
        refusing("scatter by tuples in place", |a| {
            let (indices, updates) = (&a.indices.cells, a.updates.view());
            let tuples = ScatterNd::new();
            a.target.view_mut().scatter_nd_inplace(indices, &updates, tuples).map(|()| None)
        }),
        refusing("write one value to rows in place", |a| {
            let value = arr0(a.updates.view()[[0, 0]].clone());
            a.target.view_mut().scatter_inplace(&a.indices.down, &value, 0).map(|()| None)
        }),
        refusing("write one value to elements in place", |a| {
            let (value, indices) = (arr0(a.updates.view()[[0, 0]].clone()), &a.indices.all_down);
            a.target.view_mut().scatter_elements_inplace(indices, &value, 0).map(|()| None)
        }),
    ]
}

/// Rules that clone.
fn folds<A: Clone + Send + Sync>() -> Vec<Form<A>> {
    fn last<A: Clone>(old: &mut A, new: &A) {
        *old = new.clone();
    }
    vec![
        refusing("fold rows", |a| {
            let (indices, updates) = (&a.indices.down, a.updates.view());
            a.target.view_mut().scatter_fold(indices, &updates, 0, last).map(|()| None)
        }),
        refusing("fold columns", |a| {
            let (indices, updates) = (&a.indices.across, a.updates.view());
            a.target.view_mut().scatter_fold(indices, &updates, 1, last).map(|()| None)
        }),
        refusing("fold elements", |a| {
            let (indices, updates) = (&a.indices.all_down, a.updates.view());
            a.target.view_mut().scatter_elements_fold(indices, &updates, 0, last).map(|()| None)
        }),
        refusing("fold by tuples", |a| {
            let (indices, updates) = (&a.indices.cells, a.updates.view());
            let tuples = ScatterNd::new();
            a.target.view_mut().scatter_nd_fold(indices, &updates, tuples, last).map(|()| None)
        }),
    ]
}
