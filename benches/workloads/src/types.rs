//! Every element type with every reduction, every index type with every policy: where does one fall
//! behind the others?

use half::{bf16, f16};
use ndarray::{Array1, ArrayD, Axis, IxDyn};
use num_complex::Complex;
use opkernels::{
    Gather, GatherExt, IndexInteger, OutOfBounds, Reduction, ScatterElements, ScatterElementsExt,
};

use crate::inputs::{array, blank, copy, floats, indices};
use crate::workload::{Element, Take, Ways, Workload};

/// What a loop by hand does with elements of a type.
pub(crate) trait Number: Element + Copy {
    /// The reductions that it has.
    const REDUCTIONS: &'static [Reduction] = &{
        use Reduction::{Max, Mean, Min, Prod, Sum};
        [Sum, Prod, Min, Max, Mean]
    };
    /// Sums and products that half precision builds up, and sums of means.
    type Sum: Copy + Send + Sync;
    /// Whether sums and products build up in `Sum`, too.
    const WIDENS: bool = false;
    /// One of a few small numbers; for products, numbers that they do not grow or shrink by.
    fn make(bits: u64, reduction: Reduction) -> Self;
    /// For reductions that need no other type.
    fn reduce(self, update: Self, reduction: Reduction) -> Self;
    fn widen(self) -> Self::Sum;
    fn reduce_wide(sum: Self::Sum, update: Self, reduction: Reduction) -> Self::Sum;
    fn finish(sum: Self::Sum, count: u32) -> Self;
}

macro_rules! integers {
    ($($int:ty: $sum:ty),*) => {$(
        impl Number for $int {
            type Sum = $sum;

            fn make(bits: u64, reduction: Reduction) -> Self {
                if reduction == Reduction::Prod { 1 } else { (bits % 100) as $int }
            }
            #[inline(always)]
            fn reduce(self, update: Self, reduction: Reduction) -> Self {
                match reduction {
                    Reduction::Sum => self.wrapping_add(update),
                    Reduction::Prod => self.wrapping_mul(update),
                    Reduction::Min => self.min(update),
                    _ => self.max(update),
                }
            }
            #[inline(always)]
            fn widen(self) -> $sum {
                self as $sum
            }
            #[inline(always)]
            fn reduce_wide(sum: $sum, update: Self, _: Reduction) -> $sum {
                sum + update as $sum
            }
            #[inline(always)]
            fn finish(sum: $sum, count: u32) -> Self {
                sum.div_euclid(count as $sum) as $int
            }
        }
    )*};
}
integers!(i8: i64, i16: i64, i32: i64, i64: i128, i128: i128);
integers!(u8: u64, u16: u64, u32: u64, u64: u128, u128: u128);

fn sign(bits: u64) -> f32 {
    if bits & 1 == 0 { 1.0 } else { -1.0 }
}

/// Quarters between -2 and 2, so that half precision holds their sums; 1 and -1 for products.
fn quarters(bits: u64, reduction: Reduction) -> f32 {
    let size = if reduction == Reduction::Prod { 4 } else { bits % 8 + 1 };
    sign(bits >> 32) * size as f32 / 4.0
}

macro_rules! floats {
    ($($float:ty),*) => {$(
        impl Number for $float {
            type Sum = $float;

            fn make(bits: u64, reduction: Reduction) -> Self {
                quarters(bits, reduction).into()
            }
            #[inline(always)]
            fn reduce(self, update: Self, reduction: Reduction) -> Self {
                match reduction {
                    Reduction::Sum => self + update,
                    Reduction::Prod => self * update,
                    Reduction::Min => self.min(update),
                    _ => self.max(update),
                }
            }
            #[inline(always)]
            fn widen(self) -> $float {
                self
            }
            #[inline(always)]
            fn reduce_wide(sum: $float, update: Self, _: Reduction) -> $float {
                sum + update
            }
            #[inline(always)]
            fn finish(sum: $float, count: u32) -> Self {
                sum / count as $float
            }
        }
    )*};
}
floats!(f32, f64);

macro_rules! halves {
    ($($half:ty),*) => {$(
        impl Number for $half {
            type Sum = f32;
            const WIDENS: bool = true;

            fn make(bits: u64, reduction: Reduction) -> Self {
                <$half>::from_f32(quarters(bits, reduction))
            }
            #[inline(always)]
            fn reduce(self, update: Self, reduction: Reduction) -> Self {
                if reduction == Reduction::Min { self.min(update) } else { self.max(update) }
            }
            #[inline(always)]
            fn widen(self) -> f32 {
                self.to_f32()
            }
            #[inline(always)]
            fn reduce_wide(sum: f32, update: Self, reduction: Reduction) -> f32 {
                let update = update.to_f32();
                if reduction == Reduction::Prod { sum * update } else { sum + update }
            }
            #[inline(always)]
            fn finish(sum: f32, count: u32) -> Self {
                <$half>::from_f32(sum / count as f32)
            }
        }
    )*};
}
halves!(f16, bf16);

macro_rules! complex {
    ($($float:ty),*) => {$(
        impl Element for Complex<$float> {
            fn close(&self, other: &Self) -> bool {
                self.re.close(&other.re) && self.im.close(&other.im)
            }
        }

        impl Number for Complex<$float> {
            const REDUCTIONS: &'static [Reduction] =
                &[Reduction::Sum, Reduction::Prod, Reduction::Mean];
            type Sum = Self;

            fn make(bits: u64, reduction: Reduction) -> Self {
                let real = quarters(bits, reduction).into();
                let both = reduction != Reduction::Prod;
                Self::new(real, if both { quarters(bits >> 8, reduction).into() } else { 0.0 })
            }
            #[inline(always)]
            fn reduce(self, update: Self, reduction: Reduction) -> Self {
                if reduction == Reduction::Prod { self * update } else { self + update }
            }
            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn reduce_wide(sum: Self, update: Self, _: Reduction) -> Self {
                sum + update
            }
            #[inline(always)]
            fn finish(sum: Self, count: u32) -> Self {
                sum / count as $float
            }
        }
    )*};
}
complex!(f32, f64);

impl Number for bool {
    const REDUCTIONS: &'static [Reduction] =
        &[Reduction::Sum, Reduction::Prod, Reduction::Min, Reduction::Max];
    type Sum = bool;

    fn make(bits: u64, _: Reduction) -> bool {
        bits & 1 == 0
    }
    #[inline(always)]
    fn reduce(self, update: bool, reduction: Reduction) -> bool {
        match reduction {
            Reduction::Sum | Reduction::Max => self | update,
            _ => self & update,
        }
    }
    fn widen(self) -> bool {
        self
    }
    fn reduce_wide(sum: bool, update: bool, reduction: Reduction) -> bool {
        sum.reduce(update, reduction)
    }
    fn finish(sum: bool, _: u32) -> bool {
        sum
    }
}

/// What is scattered: `lanes` times `count` indices, each of which selects among `targets` rows of
/// `width` elements.
#[derive(Clone, Copy)]
pub struct Shape {
    /// The name of the shape.
    pub name: &'static str,
    lanes: usize,
    targets: usize,
    count: usize,
    width: usize,
}

/// One dimension, lanes along the last axis, and rows along the first.
pub const SHAPES: [Shape; 3] = [
    Shape { name: "line", lanes: 1, targets: 50_000, count: 200_000, width: 1 },
    Shape { name: "lanes", lanes: 400, targets: 1_000, count: 1_000, width: 1 },
    Shape { name: "rows", lanes: 1, targets: 2_000, count: 10_000, width: 64 },
];

impl Shape {
    /// How many updates there are.
    #[must_use]
    pub fn updates(&self) -> usize {
        self.lanes * self.count * self.width
    }

    /// The shape of an array with so many places along the axis, and the axis.
    fn with(&self, places: usize) -> (Vec<usize>, i32) {
        match *self {
            Shape { width: 1, lanes: 1, .. } => (vec![places], 0),
            Shape { width: 1, lanes, .. } => (vec![lanes, places], 1),
            Shape { width, .. } => (vec![places, width], 0),
        }
    }
}

/// The names of the element types, in the order of [`workloads`].
pub const ELEMENTS: [&str; 17] = [
    "u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f16", "bf16", "f32",
    "f64", "c32", "c64", "bool",
];

/// All scatters of all element types, named `types_<type>_<reduction>_<shape>`.
pub fn workloads() -> Vec<Workload> {
    let mut all = Vec::new();
    scatters::<u8>(&mut all, "u8");
    scatters::<u16>(&mut all, "u16");
    scatters::<u32>(&mut all, "u32");
    scatters::<u64>(&mut all, "u64");
    scatters::<u128>(&mut all, "u128");
    scatters::<i8>(&mut all, "i8");
    scatters::<i16>(&mut all, "i16");
    scatters::<i32>(&mut all, "i32");
    scatters::<i64>(&mut all, "i64");
    scatters::<i128>(&mut all, "i128");
    scatters::<f16>(&mut all, "f16");
    scatters::<bf16>(&mut all, "bf16");
    scatters::<f32>(&mut all, "f32");
    scatters::<f64>(&mut all, "f64");
    scatters::<Complex<f32>>(&mut all, "c32");
    scatters::<Complex<f64>>(&mut all, "c64");
    scatters::<bool>(&mut all, "bool");
    all
}

fn scatters<T: Number>(all: &mut Vec<Workload>, element: &str) {
    for &reduction in T::REDUCTIONS {
        for shape in SHAPES {
            let name = format!("types_{element}_{reduction}_{}", shape.name).leak();
            all.push(Workload::new(name, move |take| scatter::<T>(take, shape, reduction)));
        }
    }
}

fn scatter<T: Number>(take: Take<'_>, shape: Shape, reduction: Reduction) {
    let make = |bits| T::make(bits, reduction);
    let (target_shape, axis) = shape.with(shape.targets);
    let data: ArrayD<T> = array(target_shape, make);
    let ids = indices(shape.lanes * shape.count, shape.targets);
    let updates: ArrayD<T> = array(shape.with(shape.count).0, make);
    let by_lane = ids.view().into_shape_with_order((shape.lanes, shape.count)).expect("lanes");
    let by_lane = by_lane.into_dyn();
    let idx = match shape {
        Shape { width: 1, lanes: 1, .. } => ids.view().into_dyn(),
        Shape { width: 1, .. } => by_lane.view(),
        _ => ids.view().insert_axis(Axis(1)).into_dyn(),
    };
    let idx = idx.broadcast(updates.raw_dim()).expect("an index an update, or a row of them");
    let hand = |target: &mut ArrayD<T>| {
        let target = target.as_slice_mut().expect("standard layout");
        by_hand(target, ids.as_slice().unwrap(), updates.as_slice().unwrap(), shape, reduction);
    };
    let mut answer = copy(&data);
    hand(&mut answer);
    let answer = Array1::from_iter(answer);
    let attributes = ScatterElements::along(axis).reduction(reduction);
    Ways::to(&answer)
        .into(
            "into",
            || copy(&data),
            |target| {
                target.scatter_elements_inplace(&idx, &updates, attributes).unwrap();
            },
        )
        .hand("by hand", || copy(&data), hand)
        .give(take);
}

/// Lane by lane, row by row.
fn by_hand<T: Number>(
    target: &mut [T],
    ids: &[i64],
    updates: &[T],
    shape: Shape,
    reduction: Reduction,
) {
    let Shape { targets, count, width, .. } = shape;
    let mean = reduction == Reduction::Mean;
    let beside = mean || (T::WIDENS && matches!(reduction, Reduction::Sum | Reduction::Prod));
    let lanes = ids.chunks_exact(count).zip(updates.chunks_exact(count * width));
    for (target, (ids, updates)) in target.chunks_exact_mut(targets * width).zip(lanes) {
        let rows = ids.iter().zip(updates.chunks_exact(width));
        if !beside {
            for (&id, update) in rows {
                let row = &mut target[id as usize * width..][..width];
                row.iter_mut().zip(update).for_each(|(t, &u)| *t = t.reduce(u, reduction));
            }
            continue;
        }
        let mut sums: Vec<T::Sum> = target.iter().map(|held| held.widen()).collect();
        let mut counts = vec![1_u32; targets];
        for (&id, update) in rows {
            let row = &mut sums[id as usize * width..][..width];
            row.iter_mut().zip(update).for_each(|(t, &u)| *t = T::reduce_wide(*t, u, reduction));
            counts[id as usize] += u32::from(mean);
        }
        let rows = target.chunks_exact_mut(width).zip(sums.chunks_exact(width));
        for ((row, sums), &count) in rows.zip(&counts) {
            row.iter_mut().zip(sums).for_each(|(t, &sum)| *t = T::finish(sum, count));
        }
    }
}

/// The names of the index types, in the order of [`policies`].
pub const INDICES: [&str; 10] =
    ["i8", "i16", "i32", "i64", "isize", "u8", "u16", "u32", "u64", "usize"];

/// The names of the policies, the default first. Of "negative", which is the default, half of the indices
/// are negative, where they are signed; of "gaps", which fills, half are out of bounds.
pub const POLICIES: [&str; 6] = ["error", "fill", "clip", "wrap", "negative", "gaps"];

/// Gathers by every index type with every policy, named `policies_<index>_<policy>`.
pub fn policies() -> Vec<Workload> {
    let mut all = Vec::new();
    macro_rules! indices {
        ($($index:ident)*) => {$(
            for policy in POLICIES {
                let name = format!("policies_{}_{policy}", stringify!($index)).leak();
                let make: fn(u64) -> $index = match policy {
                    "negative" if $index::MIN == 0 => continue,
                    "negative" => |bits| (bits % 100) as $index - 100 * (bits >> 32 & 1) as $index,
                    "gaps" => |bits| match bits >> 32 & 1 {
                        0 => (bits % 100) as $index,
                        _ => $index::MAX,
                    },
                    _ => |bits| (bits % 100) as $index,
                };
                all.push(Workload::new(name, move |take| gather(take, policy, make)));
            }
        )*};
    }
    indices!(i8 i16 i32 i64 isize u8 u16 u32 u64 usize);
    all
}

fn gather<I: IndexInteger + Send + Sync>(take: Take<'_>, policy: &str, make: fn(u64) -> I) {
    let data = floats(100);
    let idx: Array1<I> = array(100_000, make);
    let position = |index: &I| {
        index.to_usize().unwrap_or_else(|| (index.to_i64().expect("a position") + 100) as usize)
    };
    let value = |index: &I| data.get(position(index)).copied().unwrap_or(0.0);
    let answer: Array1<f32> = idx.iter().map(value).collect();
    let attributes = Gather::along(0).out_of_bounds(match policy {
        "fill" | "gaps" => OutOfBounds::Fill(0.0),
        "clip" => OutOfBounds::Clip,
        "wrap" => OutOfBounds::Wrap,
        _ => OutOfBounds::Error,
    });
    let out = || blank::<f32, _>(IxDyn(&[100_000]));
    Ways::to(&answer)
        .into("into", out, |out| data.gather_into(&idx, attributes, out).unwrap())
        .hand("by hand", out, |out| {
            let pairs = out.iter_mut().zip(&idx);
            if policy == "gaps" {
                pairs.for_each(|(out, index)| *out = value(index));
            } else {
                pairs.for_each(|(out, index)| *out = data[position(index)]);
            }
        })
        .give(take);
}
