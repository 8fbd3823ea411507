//! Work drawn at random: every list has its favourites, and what is not in it falls behind unseen.

use ndarray::{Array1, Array2, Array3};
use opkernels::{
    Gather, GatherElementsExt, GatherExt, GatherNdExt, Reduction, RollExt, Scatter,
    ScatterElements, ScatterElementsExt, ScatterExt, ScatterNd, ScatterNdExt,
};

use crate::inputs::{Numbers, array, copy};
use crate::types::Number;
use crate::workload::{Take, Ways, Workload};

/// The operations, by which drawn work is counted.
pub const OPERATIONS: [&str; 7] =
    ["gather", "gather_elements", "gather_nd", "scatter", "scatter_elements", "scatter_nd", "roll"];

/// The most that one array has.
const BYTES: usize = 48 << 20;

/// Work of a random operation, element type, shape, reduction and order of indices, named after
/// these; the same for the same seed. Ours and a loop by hand, over arrays in standard layout.
#[must_use]
pub fn draw(seed: u64) -> Workload {
    let mut draw = Draw(Numbers::seeded(seed));
    match draw.below(6) {
        0 => work::<u8>("u8", &mut draw),
        1 => work::<u16>("u16", &mut draw),
        2 => work::<f64>("f64", &mut draw),
        3 => work::<i32>("i32", &mut draw),
        _ => work::<f32>("f32", &mut draw),
    }
}

struct Draw(Numbers);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        (self.0.next() % end as u64) as usize
    }

    /// A length between these, all of whose magnitudes are as likely.
    fn length(&mut self, least: usize, most: usize) -> usize {
        let share = self.0.fraction();
        let (least, most) = (least as f64, most.max(least) as f64);
        (least * (most / least).powf(share)).round() as usize
    }

    /// One, or a length.
    fn perhaps(&mut self, most: usize) -> usize {
        if self.below(2) == 0 { 1 } else { self.length(1, most) }
    }
}

/// Which places are selected.
#[derive(Clone, Copy, Debug)]
enum Order {
    Random,
    Sorted,
    /// Few places again and again, as of a power law.
    Skewed,
    /// Each the same as some before it.
    Repeated,
}

impl Order {
    fn drawn(draw: &mut Draw) -> Order {
        match draw.below(8) {
            0 => Order::Sorted,
            1 => Order::Skewed,
            2 => Order::Repeated,
            _ => Order::Random,
        }
    }

    fn indices(self, count: usize, below: usize) -> Array1<i64> {
        let mut numbers = Numbers::new();
        let below = below as f64;
        let mut one = || numbers.fraction();
        let mut indices: Vec<i64> = match self {
            Order::Random | Order::Sorted => (0..count).map(|_| (one() * below) as i64).collect(),
            Order::Skewed => (0..count).map(|_| (one().powi(4) * below) as i64).collect(),
            Order::Repeated => {
                let mut last = 0;
                let next = |_| {
                    if one() < 0.2 {
                        last = (one() * below) as i64;
                    }
                    last
                };
                (0..count).map(next).collect()
            }
        };
        if matches!(self, Order::Sorted) {
            indices.sort_unstable();
        }
        copy(&Array1::from_vec(indices))
    }
}

/// `outer` blocks, of `places` along the axis, of `inner` elements each; `count` are selected.
#[derive(Clone, Copy)]
struct Shape {
    outer: usize,
    places: usize,
    count: usize,
    inner: usize,
}

impl Shape {
    fn drawn<T>(draw: &mut Draw) -> Shape {
        let elements = draw.length(64, (24 << 20) / size_of::<T>());
        let outer = draw.perhaps(256.min(elements));
        let inner = draw.perhaps(1024.min(elements / outer));
        let count = (elements / (outer * inner)).max(1);
        let most = BYTES / size_of::<T>() / (outer * inner);
        let places = draw.length((count / 32).max(1), (count * 16).min(most));
        Shape { outer, places, count, inner }
    }

    fn data(self) -> [usize; 3] {
        [self.outer, self.places, self.inner]
    }

    fn selected(self) -> [usize; 3] {
        [self.outer, self.count, self.inner]
    }
}

fn work<T: Number>(element: &str, draw: &mut Draw) -> Workload {
    let operation = OPERATIONS[draw.below(OPERATIONS.len())];
    let reduction = match draw.below(4) {
        0 | 1 => Reduction::Sum,
        2 => Reduction::None,
        _ => Reduction::Max,
    };
    let (shape, order) = (Shape::drawn::<T>(draw), Order::drawn(draw));
    let Shape { outer, places, count, inner } = shape;
    let sizes = format!("{element} {count} of {places} in {outer} by {inner}, {order:?}");
    let sizes = sizes.to_lowercase();
    match operation {
        "gather" => named(&format!("gather {sizes}"), move |take| slices::<T>(take, shape, order)),
        "gather_elements" => named(&format!("gather_elements {sizes}"), move |take| {
            elements::<T>(take, shape, order);
        }),
        "scatter" => named(&format!("scatter {reduction} {sizes}"), move |take| {
            scattered_slices::<T>(take, shape, order, reduction);
        }),
        "scatter_elements" => {
            named(&format!("scatter_elements {reduction} {sizes}"), move |take| {
                scattered_elements::<T>(take, shape, order, reduction);
            })
        }
        "roll" => {
            let shape = [outer, places, inner];
            let shifts = shape.map(|len| draw.below(2) * draw.below(len));
            named(&format!("roll {element} {shape:?} by {shifts:?}"), move |take| {
                rolled::<T>(take, shape, shifts);
            })
        }
        nd => {
            let (numbers, most) = (draw.below(3) + 1, BYTES / size_of::<T>() / inner);
            let each = (most as f64).powf(1.0 / numbers as f64) as usize;
            let lengths: Vec<usize> = (0..numbers).map(|_| draw.length(1, each)).collect();
            let count = outer * count;
            let name =
                format!("{element} {count} of {lengths:?} by {inner}, {order:?}").to_lowercase();
            let tuples = Tuples { lengths, count, inner, order };
            if nd == "gather_nd" {
                named(&format!("gather_nd {name}"), move |take| gathered::<T>(take, &tuples))
            } else {
                named(&format!("scatter_nd {reduction} {name}"), move |take| {
                    scattered::<T>(take, &tuples, reduction);
                })
            }
        }
    }
}

fn named(name: &str, prepare: impl Fn(Take<'_>) + 'static) -> Workload {
    Workload::new(name.to_owned().leak(), prepare)
}

fn apply<T: Number>(target: &mut T, update: T, reduction: Reduction) {
    *target = if reduction == Reduction::None { update } else { target.reduce(update, reduction) };
}

/// Row by row, with the reduction asked for outside of the loop over a row.
fn apply_row<T: Number>(target: &mut [T], updates: &[T], reduction: Reduction) {
    match reduction {
        Reduction::None => target.copy_from_slice(updates),
        Reduction::Sum => {
            target.iter_mut().zip(updates).for_each(|(t, &u)| *t = t.reduce(u, Reduction::Sum));
        }
        _ => target.iter_mut().zip(updates).for_each(|(t, &u)| *t = t.reduce(u, Reduction::Max)),
    }
}

fn values<T: Number>(shape: [usize; 3]) -> Array3<T> {
    array(shape, |bits| T::make(bits, Reduction::Sum))
}

fn slices<T: Number>(take: Take<'_>, shape: Shape, order: Order) {
    let Shape { places, count, inner, .. } = shape;
    let (data, ids) = (values::<T>(shape.data()), order.indices(count, places));
    let hand = |out: &mut Array3<T>| {
        let (data, out) = (data.as_slice().unwrap(), out.as_slice_mut().unwrap());
        let blocks = data.chunks_exact(places * inner);
        for (data, out) in blocks.zip(out.chunks_exact_mut(count * inner)) {
            if inner == 1 {
                out.iter_mut().zip(&ids).for_each(|(out, &id)| *out = data[id as usize]);
            } else {
                for (out, &id) in out.chunks_exact_mut(inner).zip(&ids) {
                    out.copy_from_slice(&data[id as usize * inner..][..inner]);
                }
            }
        }
    };
    compared(take, &values(shape.selected()), hand, |out| {
        data.gather_into(&ids, Gather::along(1), out).unwrap();
    });
}

fn elements<T: Number>(take: Take<'_>, shape: Shape, order: Order) {
    let Shape { outer, places, count, inner } = shape;
    let (data, ids) = (values::<T>(shape.data()), order.indices(outer * count * inner, places));
    let ids = ids.into_shape_with_order(shape.selected()).expect("an index for each");
    let hand = |out: &mut Array3<T>| {
        let (data, out) = (data.as_slice().unwrap(), out.as_slice_mut().unwrap());
        let blocks = data.chunks_exact(places * inner);
        let each = blocks.zip(ids.as_slice().unwrap().chunks_exact(count * inner));
        for ((data, ids), out) in each.zip(out.chunks_exact_mut(count * inner)) {
            for (ids, out) in ids.chunks_exact(inner).zip(out.chunks_exact_mut(inner)) {
                for (lane, (&id, out)) in ids.iter().zip(out).enumerate() {
                    *out = data[id as usize * inner + lane];
                }
            }
        }
    };
    compared(take, &values(shape.selected()), hand, |out| {
        data.gather_elements_into(&ids, 1, out).unwrap();
    });
}

fn scattered_slices<T: Number>(take: Take<'_>, shape: Shape, order: Order, reduction: Reduction) {
    let Shape { places, count, inner, .. } = shape;
    let (updates, ids) = (values::<T>(shape.selected()), order.indices(count, places));
    let hand = |target: &mut Array3<T>| {
        let (updates, target) = (updates.as_slice().unwrap(), target.as_slice_mut().unwrap());
        let blocks = updates.chunks_exact(count * inner);
        for (updates, target) in blocks.zip(target.chunks_exact_mut(places * inner)) {
            if inner == 1 {
                updates
                    .iter()
                    .zip(&ids)
                    .for_each(|(&update, &id)| apply(&mut target[id as usize], update, reduction));
            } else {
                for (updates, &id) in updates.chunks_exact(inner).zip(&ids) {
                    apply_row(&mut target[id as usize * inner..][..inner], updates, reduction);
                }
            }
        }
    };
    compared(take, &values(shape.data()), hand, |target| {
        let attributes = Scatter::along(1).reduction(reduction);
        target.scatter_inplace(&ids, &updates, attributes).unwrap();
    });
}

fn scattered_elements<T: Number>(take: Take<'_>, shape: Shape, order: Order, reduction: Reduction) {
    let Shape { outer, places, count, inner } = shape;
    let (updates, ids) =
        (values::<T>(shape.selected()), order.indices(outer * count * inner, places));
    let ids = ids.into_shape_with_order(shape.selected()).expect("an index for each");
    let hand = |target: &mut Array3<T>| {
        let (updates, target) = (updates.as_slice().unwrap(), target.as_slice_mut().unwrap());
        let blocks = updates.chunks_exact(count * inner);
        let each = blocks.zip(ids.as_slice().unwrap().chunks_exact(count * inner));
        for ((updates, ids), target) in each.zip(target.chunks_exact_mut(places * inner)) {
            for (ids, updates) in ids.chunks_exact(inner).zip(updates.chunks_exact(inner)) {
                for (lane, (&id, &update)) in ids.iter().zip(updates).enumerate() {
                    apply(&mut target[id as usize * inner + lane], update, reduction);
                }
            }
        }
    };
    compared(take, &values(shape.data()), hand, |target| {
        let attributes = ScatterElements::along(1).reduction(reduction);
        target.scatter_elements_inplace(&ids, &updates, attributes).unwrap();
    });
}

/// `count` tuples of numbers along axes of these lengths, each of which selects `inner` elements.
struct Tuples {
    lengths: Vec<usize>,
    count: usize,
    inner: usize,
    order: Order,
}

impl Tuples {
    fn indices(&self) -> Array2<i64> {
        let all = self.order.indices(self.count, self.lengths.iter().product());
        let mut tuples = Array2::zeros((self.count, self.lengths.len()));
        for (mut tuple, &at) in tuples.rows_mut().into_iter().zip(&all) {
            let numbers = tuple.iter_mut().zip(&self.lengths).rev();
            numbers.fold(at, |at, (number, &len)| {
                *number = at % len as i64;
                at / len as i64
            });
        }
        copy(&tuples)
    }

    fn data<T: Number>(&self) -> ndarray::ArrayD<T> {
        let shape: Vec<usize> = self.lengths.iter().copied().chain([self.inner]).collect();
        array(shape, |bits| T::make(bits, Reduction::Sum))
    }

    fn rows<T: Number>(&self) -> Array2<T> {
        array([self.count, self.inner], |bits| T::make(bits >> 8, Reduction::Sum))
    }

    /// Where the slice begins that a tuple selects.
    fn start(&self, tuple: &[i64]) -> usize {
        let numbers = tuple.iter().zip(&self.lengths);
        numbers.fold(0, |at, (&number, &len)| at * len + number as usize) * self.inner
    }
}

fn gathered<T: Number>(take: Take<'_>, tuples: &Tuples) {
    let (data, ids, inner) = (tuples.data::<T>(), tuples.indices(), tuples.inner);
    let each = ids.as_slice().unwrap().chunks_exact(tuples.lengths.len());
    let hand = |out: &mut Array2<T>| {
        let (data, out) = (data.as_slice().unwrap(), out.as_slice_mut().unwrap());
        if inner == 1 {
            let each = out.iter_mut().zip(each.clone());
            each.for_each(|(out, tuple)| *out = data[tuples.start(tuple)]);
        } else {
            for (out, tuple) in out.chunks_exact_mut(inner).zip(each.clone()) {
                out.copy_from_slice(&data[tuples.start(tuple)..][..inner]);
            }
        }
    };
    compared(take, &tuples.rows(), hand, |out| {
        data.gather_nd_into(&ids, opkernels::GatherNd::new(), out).unwrap();
    });
}

fn scattered<T: Number>(take: Take<'_>, tuples: &Tuples, reduction: Reduction) {
    let (updates, ids, inner) = (tuples.rows::<T>(), tuples.indices(), tuples.inner);
    let each = ids.as_slice().unwrap().chunks_exact(tuples.lengths.len());
    let hand = |target: &mut ndarray::ArrayD<T>| {
        let (updates, target) = (updates.as_slice().unwrap(), target.as_slice_mut().unwrap());
        if inner == 1 {
            let each = updates.iter().zip(each.clone());
            each.for_each(|(&one, tuple)| apply(&mut target[tuples.start(tuple)], one, reduction));
        } else {
            for (updates, tuple) in updates.chunks_exact(inner).zip(each.clone()) {
                let target = &mut target[tuples.start(tuple)..][..inner];
                apply_row(target, updates, reduction);
            }
        }
    };
    compared(take, &tuples.data(), hand, |target| {
        let attributes = ScatterNd::new().reduction(reduction);
        target.scatter_nd_inplace(&ids, &updates, attributes).unwrap();
    });
}

fn rolled<T: Number>(take: Take<'_>, shape: [usize; 3], shifts: [usize; 3]) {
    let data = values::<T>(shape);
    let by = shifts.map(|shift| shift as i64);
    let ours = |out: &mut Array3<T>| data.roll_into(by, [0, 1, 2], out).unwrap();
    // A row of one element is none.
    let ([blocks, rows, row], shifts) = match shape {
        [first, second, 1] => ([1, first, second], [0, shifts[0], shifts[1]]),
        _ => (shape, shifts),
    };
    let hand = |out: &mut Array3<T>| {
        let data = data.as_slice().unwrap();
        for (at, out) in out.as_slice_mut().unwrap().chunks_exact_mut(row).enumerate() {
            let back = |at: usize, len: usize, shift: usize| (at + len - shift) % len;
            let block = back(at / rows, blocks, shifts[0]);
            let from = &data[(block * rows + back(at % rows, rows, shifts[1])) * row..][..row];
            let (last, first) = from.split_at(row - shifts[2]);
            out[..shifts[2]].copy_from_slice(first);
            out[shifts[2]..].copy_from_slice(last);
        }
    };
    compared(take, &values(shape), hand, ours);
}

/// Ours, and the loop by hand that says what the answer is.
fn compared<T: Number, D: ndarray::Dimension + 'static>(
    take: Take<'_>,
    start: &ndarray::Array<T, D>,
    hand: impl Fn(&mut ndarray::Array<T, D>) + Send + Sync,
    ours: impl Fn(&mut ndarray::Array<T, D>) + Clone + Send + Sync,
) {
    let mut answer = copy(start);
    hand(&mut answer);
    let answer = copy(&Array1::from_iter(answer));
    Ways::to(&answer)
        .into("into", || copy(start), ours)
        .hand("by hand", || copy(start), hand)
        .give(take);
}
