//! The sizes of the processor's caches.
//!
//! Many thresholds derive from them: data that a core reads repeatedly should fit in its private
//! L2, and non-temporal stores pay only for data that the last-level cache does not hold. Linux
//! reports the sizes. Elsewhere, and where Linux does not, they are assumed to be those of the
//! processor on which thresholds were measured, a part of an AMD EPYC of 2022.

use std::sync::OnceLock;

/// Sizes of caches in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) struct Caches {
    /// L2, which is mostly private to a core.
    pub(in crate::memory) second: usize,
    /// The last-level cache, which cores mostly share.
    pub(in crate::memory) last: usize,
}

impl Caches {
    /// Assumed where the system does not report sizes.
    const DEFAULT: Caches = Caches { second: 1 << 20, last: 32 << 20 };

    /// Reported sizes are clamped to these bounds: one call has only a share of a last-level cache
    /// of hundreds of MiB.
    const MIN: Caches = Caches { second: 256 << 10, last: 2 << 20 };
    const MAX: Caches = Caches { second: 4 << 20, last: 64 << 20 };

    /// The caches of this machine, whose sizes are read once.
    fn get() -> Self {
        static CACHES: OnceLock<Caches> = OnceLock::new();
        *CACHES.get_or_init(|| Self::of(&levels()))
    }

    /// Takes L2 and the deepest level from pairs `(level, size in bytes)`.
    fn of(levels: &[(u32, usize)]) -> Self {
        let size = |level| levels.iter().find(|cache| cache.0 == level).map(|cache| cache.1);
        let deepest = levels.iter().map(|cache| cache.0).max();
        let (Some(second), Some(last)) = (size(2), deepest.and_then(size)) else {
            return Self::DEFAULT;
        };
        Caches {
            second: second.clamp(Self::MIN.second, Self::MAX.second),
            last: last.clamp(Self::MIN.last, Self::MAX.last),
        }
    }
}

/// A threshold that is computed from the cache sizes or, where [`threshold`] has its small value,
/// the `small` one.
///
/// [`threshold`]: crate::threshold::threshold
#[inline]
pub(in crate::memory) fn of_caches(compute: impl FnOnce(Caches) -> usize, small: usize) -> usize {
    if cfg!(any(miri, small_thresholds)) { small } else { compute(Caches::get()) }
}

/// `(level, size in bytes)` of each data or unified cache of processor 0.
#[cfg(all(target_os = "linux", not(miri)))]
fn levels() -> Vec<(u32, usize)> {
    let caches = std::path::Path::new("/sys/devices/system/cpu/cpu0/cache");
    let read = |index: u32, file| {
        std::fs::read_to_string(caches.join(format!("index{index}")).join(file)).ok()
    };
    let level = |index| {
        let level = read(index, "level")?.trim().parse().ok()?;
        let size = parse_size(read(index, "size")?.trim())?;
        Some((level, size))
            .filter(|_| read(index, "type").is_none_or(|kind| kind.trim() != "Instruction"))
    };
    // Level 1 has two caches, for data and for instructions, and no processor has more than four
    // levels.
    (0..6).filter_map(level).collect()
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn levels() -> Vec<(u32, usize)> {
    Vec::new()
}

/// Parses a size as Linux writes it (`1024K`) into bytes.
#[cfg_attr(not(all(target_os = "linux", not(miri))), allow(dead_code))]
fn parse_size(size: &str) -> Option<usize> {
    let (digits, unit) = match size.strip_suffix(['K', 'M']) {
        Some(digits) if size.ends_with('M') => (digits, 1 << 20),
        Some(digits) => (digits, 1 << 10),
        None => (size, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_linux_writes_them() {
        assert_eq!(parse_size("32768K"), Some(32 << 20));
        assert_eq!(parse_size("2M"), Some(2 << 20));
        assert_eq!(parse_size("512"), Some(512));
        for wrong in ["", "K", "-1K", "1G", "99999999999999999999K", "18446744073709551615M"] {
            assert_eq!(parse_size(wrong), None, "{wrong:?}");
        }
    }

    /// The last-level cache is the deepest one, whatever its level; sizes that are not reported are
    /// the defaults, and implausible ones are clamped.
    #[test]
    fn levels_make_caches() {
        let of = Caches::of;
        let three = [(1, 32 << 10), (1, 48 << 10), (2, 2 << 20), (3, 36 << 20)];
        assert_eq!(of(&three), Caches { second: 2 << 20, last: 36 << 20 });
        assert_eq!(of(&[(1, 64 << 10), (2, 8 << 20)]), Caches { second: 4 << 20, last: 8 << 20 });
        assert_eq!(of(&[(2, 1), (3, 1)]), Caches::MIN);
        assert_eq!(of(&[(2, 1 << 30), (3, 1 << 30)]), Caches::MAX);
        for few in [&[][..], &[(1, 32 << 10)], &[(3, 1 << 20)]] {
            assert_eq!(of(few), Caches::DEFAULT, "{few:?}");
        }
    }
}
