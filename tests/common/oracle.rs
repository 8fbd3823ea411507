//! The operations as their specifications write them, one index after the
//! other.

use ndarray::{ArrayD, Dimension, IxDyn};
use opkernels::{Error, OutOfBounds, Reduction};

use super::reduce::Reduce;

/// Why the reference refuses.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Refused {
    /// Axes, shapes, counts or attributes.
    Arguments,
    /// This index, the first one out of bounds.
    Index { index: i128, position: Vec<usize>, axis: usize, len: usize },
}

impl Refused {
    /// Whether an error says the same.
    pub(crate) fn is(&self, error: &Error) -> bool {
        match (self, error) {
            (
                Refused::Index { index, position, axis, len },
                Error::IndexOutOfBounds { index: i, position: p, axis: a, len: l, .. },
            ) => (index, position, axis, len) == (i, p, a, l),
            (Refused::Index { .. }, _) | (_, Error::IndexOutOfBounds { .. }) => false,
            (Refused::Arguments, _) => true,
        }
    }
}

type Result<T> = std::result::Result<T, Refused>;

fn require(condition: bool) -> Result<()> {
    if condition { Ok(()) } else { Err(Refused::Arguments) }
}

/// A number in `-end..=last`, counted from the front.
fn from_front(number: i128, end: usize, last: i128) -> Result<usize> {
    let from_front = if number < 0 { number + end as i128 } else { number };
    require(0 <= from_front && from_front <= last)?;
    Ok(from_front as usize)
}

fn axis_of(axis: i128, rank: usize) -> Result<usize> {
    from_front(axis, rank, rank as i128 - 1)
}

/// What the indices of a call select.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Slices across an axis, one for each index: gather and scatter.
    Slices { axis: i128, batch_dims: i128 },
    /// Elements along an axis, one for each index: gather_elements and
    /// scatter_elements.
    Elements { axis: i128 },
    /// An element or a block for each tuple in the last axis: gather_nd and
    /// scatter_nd.
    Tuples { batch_dims: i128 },
}

/// The place of an index on an axis; none if it is filled or skipped.
fn place<V>(
    index: i128,
    (axis, len): (usize, usize),
    position: &[usize],
    mode: &OutOfBounds<V>,
) -> Result<Option<usize>> {
    let n = len as i128;
    let place = match mode {
        _ if 0 <= index && index < n => Some(index),
        _ if -n <= index && index < 0 => Some(index + n),
        OutOfBounds::Fill(_) | OutOfBounds::Skip => None,
        OutOfBounds::Clip if n > 0 => Some(if index < 0 { 0 } else { n - 1 }),
        OutOfBounds::Wrap if n > 0 => Some(index.rem_euclid(n)),
        OutOfBounds::Clip | OutOfBounds::Wrap => return Err(Refused::Arguments),
        _ => return Err(Refused::Index { index, position: position.to_vec(), axis, len }),
    };
    Ok(place.map(|place| place as usize))
}

/// The place that each index selects, of those along the axis that its position is given, in row-major order.
fn places<V>(
    indices: &ArrayD<i128>,
    axis: impl Fn(&[usize]) -> (usize, usize),
    mode: &OutOfBounds<V>,
) -> Result<Vec<Option<usize>>> {
    let all = indices.indexed_iter();
    all.map(|(at, &index)| place(index, axis(at.slice()), at.slice(), mode)).collect()
}

/// What each element that is gathered, and each update that is scattered, selects of data, numbered in row-major
/// order; none where it is filled or skipped. Numbers in place of positions, since tests are not optimised.
pub(crate) type Selected = ArrayD<Option<usize>>;

/// Of a call on data of shape `d`.
pub(crate) fn selected<V>(
    kind: Kind,
    d: &[usize],
    indices: &ArrayD<i128>,
    mode: &OutOfBounds<V>,
) -> Result<Selected> {
    let q = indices.shape();
    let shape = updates_shape(kind, d, q)?;
    let count = |lens: &[usize]| lens.iter().product::<usize>();
    let mut targets = Vec::with_capacity(count(&shape));
    match kind {
        // `[p, i, r]` selects `[p, indices[p[..b], i], r]`.
        Kind::Slices { axis, batch_dims } => {
            let (axis, b) = (axis_of(axis, d.len())?, from_front(batch_dims, q.len(), i128::MAX)?);
            let places = places(indices, |_| (axis, d[axis]), mode)?;
            let (lists, rest) = (count(&q[b..]), count(&d[axis + 1..]));
            let slices = if lists * rest == 0 { 0 } else { count(&d[..axis]) };
            for p in 0..slices {
                let batch = p / count(&d[b..axis]);
                for place in &places[batch * lists..][..lists] {
                    let first = place.map(|k| (p * d[axis] + k) * rest);
                    targets.extend((0..rest).map(|r| first.map(|first| first + r)));
                }
            }
        }
        // `[p, i, r]` selects `[p, indices[p, i, r], r]`.
        Kind::Elements { axis } => {
            let axis = axis_of(axis, d.len())?;
            let places = places(indices, |_| (axis, d[axis]), mode)?;
            let number = |(position, place): (IxDyn, Option<usize>)| {
                let mut number = 0;
                for (k, &at) in position.slice().iter().enumerate() {
                    number = number * d[k] + if k == axis { place? } else { at };
                }
                Some(number)
            };
            let positions = ndarray::indices(shape.clone()).into_iter();
            targets.extend(positions.zip(places).map(number));
        }
        // `[p, t, r]` selects `[p, indices[p, t, 0], .., indices[p, t, k - 1], r]`.
        Kind::Tuples { batch_dims } => {
            let outer = q.len() - 1;
            let b = from_front(batch_dims, q.len(), i128::MAX)?;
            let places = places(indices, |at| (b + at[outer], d[b + at[outer]]), mode)?;
            let (tuples, rest) = (count(&q[b..outer]), count(&d[b + q[outer]..]));
            for (t, tuple) in places.chunks(q[outer]).enumerate() {
                let along =
                    |number, (k, &place): (usize, &Option<usize>)| Some(number * d[b + k] + place?);
                let block = tuple.iter().enumerate().try_fold(t / tuples, along);
                targets.extend((0..rest).map(|r| block.map(|block| block * rest + r)));
            }
        }
    }
    Ok(ArrayD::from_shape_vec(shape, targets).expect("one for each"))
}

/// The shape of what indices of shape `q` select in data of shape `d`: of what is gathered, and
/// of updates.
pub(crate) fn updates_shape(kind: Kind, d: &[usize], q: &[usize]) -> Result<Vec<usize>> {
    match kind {
        Kind::Slices { axis, batch_dims } => {
            let axis = axis_of(axis, d.len())?;
            let b = from_front(batch_dims, q.len(), d.len().min(q.len()) as i128)?;
            require(b <= axis && d[..b] == q[..b])?;
            Ok([&d[..axis], &q[b..], &d[axis + 1..]].concat())
        }
        Kind::Elements { axis } => {
            let axis = axis_of(axis, d.len())?;
            require(q.len() == d.len())?;
            require((0..d.len()).all(|k| k == axis || q[k] <= d[k]))?;
            Ok(q.to_vec())
        }
        Kind::Tuples { batch_dims } => {
            require(!q.is_empty())?;
            let outer = q.len() - 1;
            let b = from_front(batch_dims, q.len(), outer as i128)?;
            require(b <= d.len())?;
            let k = q[outer];
            require(1 <= k && k <= d.len() - b && d[..b] == q[..b])?;
            Ok([&q[..outer], &d[b + k..]].concat())
        }
    }
}

/// Gathers of every kind: `output[i]` is what `i` selects of data.
pub(crate) fn read<A: Clone>(
    kind: Kind,
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    mode: &OutOfBounds<A>,
) -> Result<ArrayD<A>> {
    require(!matches!(mode, OutOfBounds::Skip))?;
    let selected = selected(kind, data.shape(), indices, mode)?;
    let data = data.as_standard_layout();
    let data = data.as_slice().expect("in standard layout");
    Ok(selected.map(|&place| match (place, mode) {
        (Some(place), _) => data[place].clone(),
        (None, OutOfBounds::Fill(value)) => value.clone(),
        (None, _) => unreachable!("only Fill leaves an index without a place"),
    }))
}

/// `output[p, i, r] = data[p, indices[p[..b], i], r]`
pub(crate) fn gather<A: Clone>(
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    axis: i128,
    batch_dims: i128,
    mode: &OutOfBounds<A>,
) -> Result<ArrayD<A>> {
    read(Kind::Slices { axis, batch_dims }, data, indices, mode)
}

/// `output[i] = data[(i - shift) mod shape]`
pub(crate) fn roll<A: Clone>(data: &ArrayD<A>, shifts: &[i64], axes: &[i128]) -> Result<ArrayD<A>> {
    require(shifts.len() == 1 || shifts.len() == axes.len())?;
    let mut total = vec![0; data.ndim()];
    for (k, &axis) in axes.iter().enumerate() {
        let shift = if shifts.len() == 1 { shifts[0] } else { shifts[k] };
        total[axis_of(axis, data.ndim())?] += i128::from(shift);
    }
    let all = data.as_standard_layout();
    let all = all.as_slice().expect("in standard layout");
    Ok(ArrayD::from_shape_fn(data.raw_dim(), |output| {
        let mut from = 0;
        for (k, &len) in data.shape().iter().enumerate() {
            from = from * len + (output[k] as i128 - total[k]).rem_euclid(len as i128) as usize;
        }
        all[from].clone()
    }))
}

/// Scatters of every kind: `output[k] = combine(data[k], the updates in order
/// that select it)`. One update without dimensions goes everywhere.
fn write<A: Clone, U: Clone>(
    kind: Kind,
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    updates: &ArrayD<U>,
    mode: &OutOfBounds,
    combine: impl Fn(&A, &[U]) -> A,
) -> Result<ArrayD<A>> {
    require(!matches!(kind, Kind::Tuples { batch_dims } if batch_dims != 0))?;
    // What is wrong with the shapes is said before what is wrong with indices.
    let shape = updates_shape(kind, data.shape(), indices.shape())?;
    require(updates.ndim() == 0 || updates.shape() == shape)?;
    let selected = selected(kind, data.shape(), indices, mode)?;
    let mut lists = vec![Vec::new(); data.len()];
    let updates = updates.broadcast(shape).expect("of this shape, or one for all");
    for (place, update) in selected.iter().zip(&updates) {
        if let &Some(place) = place {
            lists[place].push(update.clone());
        }
    }
    let mut output = data.as_standard_layout().into_owned();
    for (old, list) in output.iter_mut().zip(&lists).filter(|(_, list)| !list.is_empty()) {
        *old = combine(old, list);
    }
    Ok(output)
}

/// Scatter elements that overwrites: the last update wins.
pub(crate) fn overwrite<A: Clone>(
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    updates: &ArrayD<A>,
    axis: i128,
) -> Result<ArrayD<A>> {
    overwrite_of(Kind::Elements { axis }, data, indices, updates, &OutOfBounds::Error)
}

/// The same of every kind.
pub(crate) fn overwrite_of<A: Clone>(
    kind: Kind,
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    updates: &ArrayD<A>,
    mode: &OutOfBounds,
) -> Result<ArrayD<A>> {
    let last = |_: &A, list: &[A]| list[list.len() - 1].clone();
    write(kind, data, indices, updates, mode, last)
}

/// Scatters that call `f` for each update, in order.
pub(crate) fn fold<A: Clone, U: Clone>(
    kind: Kind,
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    updates: &ArrayD<U>,
    mode: &OutOfBounds,
    f: impl Fn(&mut A, &U),
) -> Result<ArrayD<A>> {
    write(kind, data, indices, updates, mode, |old, list| {
        let mut new = old.clone();
        list.iter().for_each(|update| f(&mut new, update));
        new
    })
}

/// How updates combine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reducing {
    pub(crate) reduction: Reduction,
    pub(crate) use_init_val: bool,
    pub(crate) mode: OutOfBounds,
}

/// Scatters of every kind that reduce.
pub(crate) fn reduce_of<A: Reduce>(
    kind: Kind,
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    updates: &ArrayD<A>,
    how: &Reducing,
) -> Result<ArrayD<A>> {
    require(A::defines(how.reduction))?;
    write(kind, data, indices, updates, &how.mode, |&old, list| {
        A::reduced(how.reduction, how.use_init_val.then_some(old), list)
    })
}

/// The attributes of [`reduce`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scatter {
    pub(crate) axis: i128,
    pub(crate) reduction: Reduction,
    pub(crate) use_init_val: bool,
    pub(crate) mode: OutOfBounds,
}

impl Scatter {
    /// The same for the crate.
    pub(crate) fn attributes(&self) -> opkernels::ScatterElements {
        opkernels::ScatterElements::along(self.axis as i64)
            .reduction(self.reduction)
            .use_init_val(self.use_init_val)
            .out_of_bounds(self.mode)
    }
}

/// Scatter elements that reduces.
pub(crate) fn reduce<A: Reduce>(
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    updates: &ArrayD<A>,
    scatter_of: &Scatter,
) -> Result<ArrayD<A>> {
    let &Scatter { axis, reduction, use_init_val, mode } = scatter_of;
    let how = Reducing { reduction, use_init_val, mode };
    reduce_of(Kind::Elements { axis }, data, indices, updates, &how)
}
