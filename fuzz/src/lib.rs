//! The checks behind the fuzz targets. Each decodes a call from bytes (element
//! and index types, shapes, strides, indices, attributes), makes it in every
//! form, and compares with a reference that goes index by index. They panic
//! where the two differ, or where a refused call has written anything.
//!
//! The code is that of the test `corpus`, which replays the kept inputs.

#[path = "../../tests/corpus/case/mod.rs"]
mod case;
#[path = "../../tests/common/mod.rs"]
mod common;

/// Checks a call whose clones or function panic, or whose memory is refused.
pub fn faults(input: &[u8]) {
    case::on_a_pool(case::faults::check, input);
}

/// Checks the gather that the bytes stand for.
pub fn gather(input: &[u8]) {
    case::on_a_pool(case::gather::check, input);
}

/// Checks the gather of elements that the bytes stand for.
pub fn gather_elements(input: &[u8]) {
    case::on_a_pool(case::gather_elements::check, input);
}

/// Checks the gather by tuples that the bytes stand for.
pub fn gather_nd(input: &[u8]) {
    case::on_a_pool(case::gather_nd::check, input);
}

/// Checks the roll that the bytes stand for.
pub fn roll(input: &[u8]) {
    case::on_a_pool(case::roll::check, input);
}

/// Checks the scatter of slices that the bytes stand for.
pub fn scatter(input: &[u8]) {
    case::on_a_pool(case::scatter::check, input);
}

/// Checks the scatter by tuples that the bytes stand for.
pub fn scatter_nd(input: &[u8]) {
    case::on_a_pool(case::scatter_nd::check, input);
}

/// Checks the scatter of elements that the bytes stand for.
pub fn scatter_elements(input: &[u8]) {
    case::on_a_pool(case::scatter_elements::check, input);
}
