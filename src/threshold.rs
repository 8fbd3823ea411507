//! The sizes at which one algorithm gives way to another.

/// A size at which one algorithm gives way to another: `usual`, or `small` where tests are to
/// reach all algorithms with little work. That is under Miri, which takes a thousand times as
/// long as a processor, and with `--cfg small_thresholds`.
pub(crate) const fn threshold(usual: usize, small: usize) -> usize {
    if cfg!(any(miri, small_thresholds)) { small } else { usual }
}
