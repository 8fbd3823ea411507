//! The same contents in memory of every layout.

use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, Slice};

use super::value::{Numbers, Value, array_of, same_contents};

/// How the axes of an array lie in a larger buffer.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    /// The axes, outermost in memory first.
    pub(crate) order: Vec<usize>,
    /// From one element of an axis to the next; negative is reversed, 0 is
    /// broadcast.
    pub(crate) steps: Vec<isize>,
    /// Elements of the buffer before and after those of the axis.
    pub(crate) margins: Vec<usize>,
    /// Of what number of elements the length of the innermost axis of the buffer is a multiple, if that makes it
    /// no more than [`LARGEST`] bytes: rows that lie a power of two apart share sets of caches.
    pub(crate) pitch: usize,
}

/// The most bytes of a buffer whose rows are lengthened.
const LARGEST: usize = 1 << 17;

impl Layout {
    /// Row-major, without gaps.
    pub(crate) fn standard(rank: usize) -> Self {
        let (steps, margins) = (vec![1; rank], vec![0; rank]);
        Layout { order: (0..rank).collect(), steps, margins, pitch: 1 }
    }

    /// Column-major, without gaps.
    pub(crate) fn transposed(rank: usize) -> Self {
        Layout { order: (0..rank).rev().collect(), ..Self::standard(rank) }
    }

    /// Every axis backward.
    pub(crate) fn reversed(rank: usize) -> Self {
        Layout { steps: vec![-1; rank], ..Self::standard(rank) }
    }

    /// Every second element, inside a margin.
    pub(crate) fn stepped(rank: usize) -> Self {
        Layout { steps: vec![2; rank], margins: vec![1; rank], ..Self::standard(rank) }
    }

    /// Axes turned round by one, the odd ones backward and stepped.
    pub(crate) fn mixed(rank: usize) -> Self {
        Layout {
            order: (1..rank).chain(0..rank.min(1)).collect(),
            steps: (0..rank).map(|k| if k % 2 == 1 { -3 } else { 1 }).collect(),
            margins: (0..rank).map(|k| k % 2).collect(),
            pitch: 1,
        }
    }

    /// Those that a target can have.
    pub(crate) fn all(rank: usize) -> [Self; 5] {
        [
            Self::standard(rank),
            Self::transposed(rank),
            Self::reversed(rank),
            Self::stepped(rank),
            Self::mixed(rank),
        ]
    }

    /// A layout for every number; standard for 0. No more than two axes have
    /// gaps, so that buffers stay small.
    pub(crate) fn from_number(rank: usize, number: u64) -> Self {
        let mut layout = Self::standard(rank);
        if number.is_multiple_of(4) || rank == 0 {
            return layout;
        }
        let mut numbers = Numbers(number);
        if numbers.once_in(2) {
            for k in 1..rank {
                layout.order.swap(k, numbers.below(k + 1));
            }
        }
        if numbers.once_in(2) {
            for step in &mut layout.steps {
                *step = if numbers.once_in(2) { 1 } else { -1 };
            }
        }
        for _ in 0..numbers.below(3) {
            let k = numbers.below(rank);
            layout.steps[k] = [1, -1, 2, -3][numbers.below(4)];
            layout.margins[k] = numbers.below(3);
        }
        if numbers.once_in(4) {
            layout.pitch = [16, 64, 512, 1024][numbers.below(4)];
        }
        layout
    }

    /// The same without gaps: a buffer with them can be 30 times as large as its contents.
    pub(crate) fn without_gaps(mut self) -> Self {
        self.steps.iter_mut().for_each(|step| *step = step.signum());
        self.margins.fill(0);
        self.pitch = 1;
        self
    }

    /// The same with some axes broadcast.
    pub(crate) fn broadcast(mut self, number: u64) -> Self {
        for (k, step) in self.steps.iter_mut().enumerate() {
            if (number >> (2 * k)) % 4 == 3 {
                *step = 0;
            }
        }
        self
    }
}

/// The elements of a buffer from the first to the last of `len`.
fn span(len: usize, step: isize) -> usize {
    if len == 0 { 0 } else { (len - 1) * step.unsigned_abs() + 1 }
}

/// An array in a layout.
#[derive(Debug, Clone)]
pub(crate) struct Laid<A> {
    /// The buffer, its axes in the order of the contents.
    buffer: ArrayD<A>,
    shape: Vec<usize>,
    layout: Layout,
}

impl<A: Value> Laid<A> {
    /// `contents` in a layout; along an axis that is broadcast, those at its
    /// first place. The rest of the buffer holds other values.
    pub(crate) fn new(contents: &ArrayD<A>, mut layout: Layout) -> Self {
        let shape = contents.shape().to_vec();
        let mut first = contents.view();
        for k in 0..shape.len() {
            if layout.steps[k] == 0 && shape[k] == 0 {
                layout.steps[k] = 1;
            } else if layout.steps[k] == 0 {
                layout.margins[k] = 0;
                first.slice_axis_inplace(Axis(k), Slice::from(0..1));
            }
        }
        let length = |&k: &usize| span(shape[k], layout.steps[k]) + 2 * layout.margins[k];
        let mut in_memory: Vec<usize> = layout.order.iter().map(length).collect();
        if let Some((row, around)) = in_memory.split_last_mut() {
            let long = row.next_multiple_of(layout.pitch);
            let broadcast = layout.order.last().is_some_and(|&axis| layout.steps[axis] == 0);
            let bytes = around.iter().product::<usize>().saturating_mul(long * size_of::<A>());
            if !broadcast && bytes <= LARGEST {
                *row = long;
            }
        }
        let place = |k| layout.order.iter().position(|&axis| axis == k).unwrap();
        let places: Vec<usize> = (0..shape.len()).map(place).collect();
        let buffer = array_of(&in_memory, 7).permuted_axes(places);
        let mut laid = Laid { buffer, shape, layout };
        laid.stored_mut().assign(&first);
        laid
    }

    /// What of axis `k` of the buffer is contents.
    fn slice_of(&self, k: usize) -> Slice {
        let (margin, step) = (self.layout.margins[k], self.layout.steps[k]);
        let end = margin + span(self.shape[k], step);
        Slice::new(margin as isize, Some(end as isize), if step == 0 { 1 } else { step })
    }

    /// The elements of the buffer that are contents.
    fn stored_mut(&mut self) -> ArrayViewMutD<'_, A> {
        let slices: Vec<Slice> = (0..self.shape.len()).map(|k| self.slice_of(k)).collect();
        let mut view = self.buffer.view_mut();
        for (k, slice) in slices.into_iter().enumerate() {
            view.slice_axis_inplace(Axis(k), slice);
        }
        view
    }

    /// The contents.
    pub(crate) fn view(&self) -> ArrayViewD<'_, A> {
        let broadcast = |k: usize| self.layout.steps[k] == 0;
        let wide = |k| if broadcast(k) { self.shape[k] } else { self.buffer.shape()[k] };
        let shape: Vec<usize> = (0..self.shape.len()).map(wide).collect();
        let mut view = self.buffer.broadcast(shape).unwrap();
        for k in (0..self.shape.len()).filter(|&k| !broadcast(k)) {
            view.slice_axis_inplace(Axis(k), self.slice_of(k));
        }
        view
    }

    /// The contents, to be changed.
    pub(crate) fn view_mut(&mut self) -> ArrayViewMutD<'_, A> {
        assert!(!self.layout.steps.contains(&0), "a broadcast array cannot be changed");
        self.stored_mut()
    }

    /// The contents in standard layout.
    pub(crate) fn contents(&self) -> ArrayD<A> {
        self.view().as_standard_layout().into_owned()
    }

    /// Whether nothing but contents differs from `before`.
    pub(crate) fn kept_its_margins(&self, before: &Self) -> bool {
        let mut restored = self.clone();
        restored.stored_mut().assign(&before.view());
        same_contents(&restored.buffer, &before.buffer)
    }
}
