//! Data that every rank can make by itself, and a digest that ranks can add.

/// Turns a counter into 64 random-looking bits (the finalizer of SplitMix64).
pub fn mix(counter: u64) -> u64 {
    let mut bits = counter.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// A digest of values at the positions `first..`. Digests of the parts of an
/// array add up (wrapping) to the digest of the whole, however it is cut.
pub fn digest(first: usize, values: impl IntoIterator<Item = u64>) -> u64 {
    let hashes = values
        .into_iter()
        .zip(first as u64..)
        .map(|(value, position)| mix(mix(position).wrapping_add(value)));
    hashes.fold(0, u64::wrapping_add)
}
