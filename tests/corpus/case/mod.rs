//! Cases decoded from any bytes, run in every form and held against the naive
//! reference. The fuzz targets and the replay of their corpus share this.

pub(crate) mod bytes;
pub(crate) mod faults;
pub(crate) mod gather;
pub(crate) mod gather_elements;
pub(crate) mod gather_nd;
pub(crate) mod input;
mod kinds;
mod refusals;
pub(crate) mod roll;
pub(crate) mod scatter;
pub(crate) mod scatter_elements;
pub(crate) mod scatter_nd;

use std::sync::{Mutex, PoisonError};

use ndarray::ArrayD;
use opkernels::{Reduction, Result};

use crate::common::oracle::Refused;
use crate::common::{Laid, Layout, Value, array_of, same_contents, settled};
use bytes::Bytes;

/// Elements of the largest arrays: with elements of 64 bytes enough for the
/// parallel paths, and few enough for a reference that goes index by index.
/// Miri takes seconds for a thousand.
const MOST: usize = if cfg!(miri) { 640 } else { 40_000 };

/// Bytes of the largest arrays.
const LARGEST: usize = if cfg!(miri) { 16 << 10 } else { 64 << 20 };

/// Elements that lie side by side and are long: a cache line.
pub(crate) type Line = [u64; 8];

/// A page, and elements of which few fit on a stack.
pub(crate) type Page = [u64; 512];
pub(crate) type Huge = [u64; if cfg!(miri) { 1 << 10 } else { 1 << 17 }];

/// Runs a check on a pool of 1 to 16 threads, which the last byte decides. Their
/// stacks hold some elements of a MiB.
///
/// A check has the pool for itself: a thread that waits for a part of one would take up
/// another, which may wait for a lock that this thread holds.
pub(crate) fn on_a_pool(check: fn(&[u8]), input: &[u8]) {
    static POOLS: [Mutex<Option<rayon::ThreadPool>>; 16] = [const { Mutex::new(None) }; 16];

    // Tests of their own run threads under Miri, by other rules.
    if cfg!(miri) {
        return check(input);
    }
    // Addresses of 32 bits have no room for all their stacks.
    let pools = if cfg!(target_pointer_width = "32") { 4 } else { 16 };
    let number = usize::from(input.last().copied().unwrap_or(0)) % pools;
    let mut pool = POOLS[number].lock().unwrap_or_else(PoisonError::into_inner);
    let builder = rayon::ThreadPoolBuilder::new().num_threads(number + 1).stack_size(64 << 20);
    pool.get_or_insert_with(|| builder.build().unwrap()).install(|| check(input));
}

type Expected<A> = std::result::Result<ArrayD<A>, Refused>;

/// An array to be written, full of values that no operation yields.
fn target<A: Value>(shape: &[usize], bytes: &mut Bytes<'_>) -> Laid<A> {
    laid(&array_of(shape, 99), bytes)
}

/// `contents` in memory as the bytes have it.
fn laid<A: Value>(contents: &ArrayD<A>, bytes: &mut Bytes<'_>) -> Laid<A> {
    let number = match bytes.byte() {
        byte @ 0..=127 => u64::from(byte),
        _ => bytes.word(),
    };
    let layout = Layout::from_number(contents.ndim(), number);
    let small = contents.len() * size_of::<A>() <= LARGEST / 32;
    Laid::new(contents, if small { layout } else { layout.without_gaps() })
}

/// A returned array is what the reference says; so is a refusal.
#[track_caller]
fn assert_returned<A: Value>(output: Result<ArrayD<A>>, expected: &Expected<A>, of: Reduction) {
    match (output, expected) {
        (Ok(output), Ok(expected)) => {
            let (output, expected) = (settled(of, &output), settled(of, expected));
            assert!(same_contents(&output, &expected), "{output:?} instead of {expected:?}");
        }
        (Err(error), Err(refused)) => {
            assert!(refused.is(&error), "{error} instead of {refused:?}");
        }
        (output, expected) => panic!("{output:?} instead of {expected:?}"),
    }
}

/// An array that was written holds what the reference says, or what it held
/// `before`. What lies between its elements is as it was.
#[track_caller]
fn assert_written<A: Value>(
    result: Result<()>,
    (before, target): (&Laid<A>, &Laid<A>),
    expected: &Expected<A>,
    of: Reduction,
) {
    assert!(target.kept_its_margins(before), "wrote between the elements of {target:?}");
    if result.is_err() {
        let (now, then) = (target.view(), before.view());
        assert!(same_contents(&now, &then), "an error left {now:?} of {then:?}");
    }
    assert_returned(result.map(|()| target.contents()), expected, of);
}
