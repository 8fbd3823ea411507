//! Sizes from which on another way pays.

/// A size from which on work is done another way; or, where every way is to be
/// reached with little work, a `small` one: under Miri, which takes a thousand
/// times as long as a processor, and with `--cfg small_thresholds`.
pub(crate) const fn threshold(usual: usize, small: usize) -> usize {
    if cfg!(any(miri, small_thresholds)) { small } else { usual }
}
