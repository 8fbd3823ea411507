//! Random calls of every kind of index.

use ndarray::{ArrayD, ArrayView1, Axis};
use opkernels::OutOfBounds;
use proptest::prelude::*;

use crate::cases::{axis_of, count, indices_of, input, shape};
use crate::common::oracle::{Kind, Reducing};
use crate::common::{Index, Laid, Numbers, REDUCTIONS, Value, array_of};

/// Data and indices of a call.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) kind: Kind,
    pub(crate) data: Vec<usize>,
    pub(crate) indices: Vec<usize>,
    pub(crate) mode: u8,
    pub(crate) wild: bool,
    /// Whether indices of a lane, and first numbers of tuples, are in order.
    pub(crate) sorted: bool,
    /// Wrong shapes of updates or outputs.
    pub(crate) flaw: u8,
    pub(crate) layouts: [u64; 4],
    pub(crate) seed: u64,
}

/// Numbers that become a case.
type Raw = (Vec<usize>, Vec<usize>, [u8; 6], bool, [u64; 4], u64);

/// Calls with batch dimensions wherever indices have them, or nowhere.
pub(crate) fn case() -> impl Strategy<Value = Case> {
    let length = prop_oneof![1 => Just(0), 12 => 1..=4_usize, 1 => 20..=60_usize];
    let lengths = prop::collection::vec(length, 6);
    (shape(), lengths, any::<[u8; 6]>(), any::<bool>(), any::<[u64; 4]>(), any::<u64>())
        .prop_map(from_raw)
}

fn from_raw((data, lengths, numbers, wild, layouts, seed): Raw) -> Case {
    let [kind, axis, batch, mode, flaw, rank] = numbers;
    let (kind, mut indices, fixed) = match kind % 3 {
        0 => slices(&data, lengths, (axis, batch, flaw, rank)),
        1 => elements(&data, &lengths, (axis, flaw)),
        _ => tuples(&data, lengths, (batch, flaw, rank)),
    };
    // Lengths in front of `fixed` and the last one of tuples are not free.
    let free = match kind {
        Kind::Tuples { .. } => fixed..indices.len().saturating_sub(1).max(fixed),
        _ => fixed..indices.len(),
    };
    let others = data.iter().map(|&len| len.max(1)).product::<usize>();
    while !matches!(kind, Kind::Elements { .. })
        && others * count(&indices[free.clone()]).max(1) > 20_000
        || count(&indices) > 20_000
    {
        let Some(longest) = free.clone().max_by_key(|&k| indices[k]) else { break };
        indices[longest] /= 2;
    }
    let sorted = layouts[3].is_multiple_of(3);
    Case { kind, data, indices, mode, wild, sorted, flaw, layouts, seed }
}

fn slices(
    data: &[usize],
    lengths: Vec<usize>,
    (axis, batch, flaw, rank): (u8, u8, u8, u8),
) -> (Kind, Vec<usize>, usize) {
    let mut indices = lengths;
    indices.truncate(rank as usize % 4);
    let axis = axis_of(axis, data.len());
    let from_front = if axis < 0 { axis + data.len() as i128 } else { axis };
    let most = from_front.clamp(0, indices.len() as i128) as usize;
    let b = if from_front < data.len() as i128 { batch as usize % (most + 1) } else { 0 };
    indices[..b].copy_from_slice(&data[..b]);
    let mut batch_dims = b as i128;
    if batch >= 128 && !indices.is_empty() {
        batch_dims -= indices.len() as i128;
    }
    match flaw {
        0..=3 => batch_dims = [9, -9][flaw as usize % 2],
        4..=7 if b > 0 => indices[flaw as usize % b] += 1,
        _ => {}
    }
    (Kind::Slices { axis, batch_dims }, indices, b)
}

fn elements(
    data: &[usize],
    lengths: &[usize],
    (axis, flaw): (u8, u8),
) -> (Kind, Vec<usize>, usize) {
    let axis = axis_of(axis, data.len());
    let from_front = if axis < 0 { axis + data.len() as i128 } else { axis };
    let mut indices: Vec<usize> =
        data.iter().zip(lengths).map(|(len, cut)| len.saturating_sub(cut % 3)).collect();
    if let Some(len) = usize::try_from(from_front).ok().and_then(|axis| indices.get_mut(axis)) {
        *len = lengths[5];
    }
    match flaw {
        0..=3 if !data.is_empty() => {
            let k = flaw as usize % data.len();
            indices[k] = data[k] + 1;
        }
        4..=5 => indices.push(1),
        _ => {}
    }
    (Kind::Elements { axis }, indices, 0)
}

fn tuples(
    data: &[usize],
    lengths: Vec<usize>,
    (batch, flaw, rank): (u8, u8, u8),
) -> (Kind, Vec<usize>, usize) {
    let mut indices = lengths;
    indices.truncate(rank as usize % 4);
    let most = indices.len().min(data.len().saturating_sub(1));
    let b = batch as usize % (most + 1);
    indices[..b].copy_from_slice(&data[..b]);
    let k = 1 + rank as usize / 4 % (data.len() - b).max(1);
    indices.push(k);
    let mut batch_dims = b as i128;
    match flaw {
        0..=3 => *indices.last_mut().unwrap() = [0, data.len() + 1][flaw as usize % 2],
        4..=5 => batch_dims = [9, -9][flaw as usize % 2],
        6..=9 if b > 0 => indices[flaw as usize % b] += 1,
        10 => return (Kind::Tuples { batch_dims }, Vec::new(), 0),
        11..=40 => batch_dims -= indices.len() as i128,
        _ => {}
    }
    (Kind::Tuples { batch_dims }, indices, b)
}

impl Case {
    /// The same without batch dimensions where a scatter has none.
    pub(crate) fn of_a_scatter(mut self) -> Self {
        if let Kind::Tuples { .. } = self.kind {
            self.kind = Kind::Tuples { batch_dims: 0 };
        }
        self
    }

    /// Whether indices out of bounds are errors.
    fn refuses(&self) -> bool {
        self.mode.is_multiple_of(4)
    }

    fn is_wild(&self) -> bool {
        self.wild && (!self.refuses() || self.seed.is_multiple_of(4))
    }

    pub(crate) fn gather_mode<A: Value>(&self) -> OutOfBounds<A> {
        match self.mode % 4 {
            1 => OutOfBounds::Fill(A::from_number(self.seed)),
            2 => OutOfBounds::Clip,
            3 => OutOfBounds::Wrap,
            _ if self.mode >= 248 => OutOfBounds::Skip,
            _ => OutOfBounds::Error,
        }
    }

    pub(crate) fn scatter_mode(&self) -> OutOfBounds {
        match self.mode % 4 {
            1 => OutOfBounds::Skip,
            2 => OutOfBounds::Clip,
            3 => OutOfBounds::Wrap,
            _ => OutOfBounds::Error,
        }
    }

    pub(crate) fn reducing(&self) -> Reducing {
        let mut numbers = Numbers(self.seed);
        Reducing {
            reduction: REDUCTIONS[numbers.below(REDUCTIONS.len())],
            use_init_val: numbers.once_in(2),
            mode: self.scatter_mode(),
        }
    }

    pub(crate) fn data<A: Value>(&self) -> Laid<A> {
        input(&array_of(&self.data, self.seed), self.layouts[0])
    }

    pub(crate) fn indices<I: Index>(&self) -> Laid<I> {
        let (wild, seed) = (self.is_wild(), self.seed ^ 1);
        let len = |axis: i128| {
            let axis = if axis < 0 { axis + self.data.len() as i128 } else { axis };
            usize::try_from(axis).ok().and_then(|axis| self.data.get(axis)).map_or(1, |len| *len)
        };
        let contents = match self.kind {
            Kind::Slices { axis, .. } => {
                let last = self.indices.len().saturating_sub(1) as i128;
                self.in_order(indices_of(&self.indices, len(axis), wild, seed), last, len(axis))
            }
            Kind::Elements { axis } => {
                self.in_order(indices_of(&self.indices, len(axis), wild, seed), axis, len(axis))
            }
            Kind::Tuples { batch_dims } => {
                let mut all = ArrayD::from_elem(&self.indices[..], I::zero());
                if let [outer @ .., k] = &self.indices[..] {
                    let rank = self.indices.len() as i128;
                    let b = if batch_dims < 0 { batch_dims + rank } else { batch_dims };
                    for component in 0..*k {
                        let len = len((b + component as i128).max(0));
                        let seed = seed.wrapping_add(component as u64);
                        let mut one = indices_of::<I>(outer, len, wild && component == 0, seed);
                        if component == 0 {
                            one = self.in_order(one, outer.len() as i128 - 1, len);
                        }
                        all.index_axis_mut(Axis(outer.len()), component).assign(&one);
                    }
                }
                all
            }
        };
        // Components of a tuple that are broadcast leave their axes.
        let layout = match self.kind {
            Kind::Tuples { .. } if self.layouts[1].is_multiple_of(3) => self.layouts[1] + 1,
            _ => self.layouts[1],
        };
        input(&contents, layout)
    }

    /// The indices of an axis of length `len`; those of a sorted case counted from the front, in order along
    /// `axis` of theirs.
    fn in_order<I: Index>(&self, indices: ArrayD<I>, axis: i128, len: usize) -> ArrayD<I> {
        let axis = if axis < 0 { axis + indices.ndim() as i128 } else { axis };
        let axis = usize::try_from(axis).ok().filter(|&axis| self.sorted && axis < indices.ndim());
        let Some(axis) = axis else { return indices };
        let n = len as i128;
        let mut wide = I::to_wide(&indices);
        wide.mapv_inplace(|index| if (-n..0).contains(&index) { index + n } else { index });
        for mut lane in wide.lanes_mut(Axis(axis)) {
            let mut sorted = lane.to_vec();
            sorted.sort_unstable();
            lane.assign(&ArrayView1::from(&sorted));
        }
        I::from_wide(&wide)
    }

    /// Updates of this shape, or now and then of another, or a single one.
    pub(crate) fn updates<A: Value>(&self, shape: &[usize]) -> Laid<A> {
        let mut shape = shape.to_vec();
        match self.flaw {
            200..=205 if !shape.is_empty() => shape[0] += 1,
            206..=208 => shape.push(1),
            209..=225 => shape.clear(),
            _ => {}
        }
        input(&array_of(&shape, self.seed ^ 2), self.layouts[2])
    }
}
