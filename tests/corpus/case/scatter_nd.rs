//! Scatter by tuples: overwritten, reduced and folded, returned and in place.

use super::bytes::Bytes;
use super::kinds::{Select, overwrites, reduces};
use super::{Huge, Page};

pub(crate) fn check(input: &[u8]) {
    let (mut bytes, select) = (Bytes::new(input), Select::Tuples);
    match bytes.below(8) {
        0 => reduces::<u8, u8>(select, &mut bytes),
        1 => reduces::<f32, i64>(select, &mut bytes),
        2 => reduces::<f32, i32>(select, &mut bytes),
        3 => reduces::<i64, u64>(select, &mut bytes),
        4 => overwrites::<[f32; 3], i64>(select, &mut bytes),
        5 => overwrites::<Page, i64>(select, &mut bytes),
        6 => overwrites::<Huge, i32>(select, &mut bytes),
        _ => overwrites::<String, i64>(select, &mut bytes),
    }
}
