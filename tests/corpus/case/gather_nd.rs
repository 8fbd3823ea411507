//! Gather by tuples: returned, into an array, into one that is not initialised.

use super::bytes::Bytes;
use super::kinds::{Select, gathers};
use super::{Huge, Page};

pub(crate) fn check(input: &[u8]) {
    let (mut bytes, select) = (Bytes::new(input), Select::Tuples);
    match bytes.below(8) {
        0 => gathers::<u8, u8>(select, &mut bytes),
        1 => gathers::<f32, i64>(select, &mut bytes),
        2 => gathers::<f32, i32>(select, &mut bytes),
        3 => gathers::<i64, u64>(select, &mut bytes),
        4 => gathers::<[f32; 3], i64>(select, &mut bytes),
        5 => gathers::<Page, i64>(select, &mut bytes),
        6 => gathers::<Huge, i32>(select, &mut bytes),
        _ => gathers::<String, i64>(select, &mut bytes),
    }
}
