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

/// The position that each index selects; none where it is filled or skipped.
fn places<V>(
    indices: &ArrayD<i128>,
    axis: usize,
    len: usize,
    mode: &OutOfBounds<V>,
) -> Result<ArrayD<Option<usize>>> {
    let n = len as i128;
    let mut places = ArrayD::from_elem(indices.raw_dim(), None);
    for (position, &index) in indices.indexed_iter() {
        let place = match mode {
            _ if 0 <= index && index < n => Some(index),
            _ if -n <= index && index < 0 => Some(index + n),
            OutOfBounds::Fill(_) | OutOfBounds::Skip => None,
            OutOfBounds::Clip if n > 0 => Some(if index < 0 { 0 } else { n - 1 }),
            OutOfBounds::Wrap if n > 0 => Some(index.rem_euclid(n)),
            OutOfBounds::Clip | OutOfBounds::Wrap => return Err(Refused::Arguments),
            _ => {
                let position = position.slice().to_vec();
                return Err(Refused::Index { index, position, axis, len });
            }
        };
        places[position] = place.map(|place| place as usize);
    }
    Ok(places)
}

/// `output[p, i, r] = data[p, indices[p[..b], i], r]`
pub(crate) fn gather<A: Clone>(
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    axis: i128,
    batch_dims: i128,
    mode: &OutOfBounds<A>,
) -> Result<ArrayD<A>> {
    let (d, q) = (data.shape(), indices.shape());
    let axis = axis_of(axis, d.len())?;
    let b = from_front(batch_dims, q.len(), d.len().min(q.len()) as i128)?;
    require(b <= axis && d[..b] == q[..b])?;
    require(!matches!(mode, OutOfBounds::Skip))?;
    let places = places(indices, axis, d[axis], mode)?;
    let shape = [&d[..axis], &q[b..], &d[axis + 1..]].concat();
    Ok(ArrayD::from_shape_fn(shape, |output| {
        let (p, rest) = output.slice().split_at(axis);
        let (i, r) = rest.split_at(q.len() - b);
        match (places[&[&p[..b], i].concat()[..]], mode) {
            (Some(k), _) => data[&[p, &[k], r].concat()[..]].clone(),
            (None, OutOfBounds::Fill(value)) => value.clone(),
            (None, _) => unreachable!("only Fill leaves an index without a place"),
        }
    }))
}

/// `output[i] = data[(i - shift) mod shape]`
pub(crate) fn roll<A: Clone>(data: &ArrayD<A>, shifts: &[i64], axes: &[i128]) -> Result<ArrayD<A>> {
    require(shifts.len() == 1 || shifts.len() == axes.len())?;
    let mut total = vec![0; data.ndim()];
    for (k, &axis) in axes.iter().enumerate() {
        let shift = if shifts.len() == 1 { shifts[0] } else { shifts[k] };
        total[axis_of(axis, data.ndim())?] += i128::from(shift);
    }
    Ok(ArrayD::from_shape_fn(data.raw_dim(), |output| {
        let mut from = output.clone();
        for k in 0..data.ndim() {
            from[k] = (output[k] as i128 - total[k]).rem_euclid(data.shape()[k] as i128) as usize;
        }
        data[from].clone()
    }))
}

/// `output[.., indices[i], ..] = combine(its old value, its updates in order)`
fn scatter<A: Clone>(
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    updates: &ArrayD<A>,
    axis: i128,
    mode: &OutOfBounds,
    combine: impl Fn(&A, &[A]) -> A,
) -> Result<ArrayD<A>> {
    let axis = axis_of(axis, data.ndim())?;
    require(indices.ndim() == data.ndim() && indices.shape() == updates.shape())?;
    for k in (0..data.ndim()).filter(|&k| k != axis) {
        require(indices.shape()[k] <= data.shape()[k])?;
    }
    let places = places(indices, axis, data.shape()[axis], mode)?;
    let mut lists = ArrayD::from_elem(data.raw_dim(), Vec::new());
    for (position, place) in places.indexed_iter() {
        if let &Some(place) = place {
            let mut target: IxDyn = position.clone();
            target[axis] = place;
            lists[target].push(updates[position].clone());
        }
    }
    let mut output = data.clone();
    for (old, list) in output.iter_mut().zip(&lists).filter(|(_, list)| !list.is_empty()) {
        *old = combine(old, list);
    }
    Ok(output)
}

/// Scatter that overwrites: the last update wins.
pub(crate) fn overwrite<A: Clone>(
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    updates: &ArrayD<A>,
    axis: i128,
) -> Result<ArrayD<A>> {
    let last = |_: &A, list: &[A]| list[list.len() - 1].clone();
    scatter(data, indices, updates, axis, &OutOfBounds::Error, last)
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

/// Scatter that reduces.
pub(crate) fn reduce<A: Reduce>(
    data: &ArrayD<A>,
    indices: &ArrayD<i128>,
    updates: &ArrayD<A>,
    scatter_of: &Scatter,
) -> Result<ArrayD<A>> {
    let &Scatter { axis, reduction, use_init_val, ref mode } = scatter_of;
    require(A::defines(reduction))?;
    scatter(data, indices, updates, axis, mode, |&old, list| {
        A::reduced(reduction, use_init_val.then_some(old), list)
    })
}
