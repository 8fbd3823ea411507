//! How large the processor's caches are.
//!
//! Other ways of doing work pay from sizes on that follow from the caches: what
//! a core reads again must fit in the cache that it has to itself, what passes by the
//! caches must not. Linux says how large they are. Elsewhere, and where it does
//! not, they are taken for those of the processor that thresholds were measured
//! on, a part of an AMD EPYC of 2022.

use std::sync::OnceLock;

/// Bytes of caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::memory) struct Caches {
    /// The second one, which a core mostly has to itself.
    pub(in crate::memory) second: usize,
    /// The last one, which cores mostly share.
    pub(in crate::memory) last: usize,
}

impl Caches {
    const USUAL: Caches = Caches { second: 1 << 20, last: 32 << 20 };

    /// Caches that are believed to be smaller or larger are taken for these: of a
    /// last cache of hundreds of MiB one call has a share.
    const LEAST: Caches = Caches { second: 256 << 10, last: 2 << 20 };
    const MOST: Caches = Caches { second: 4 << 20, last: 64 << 20 };

    /// Those of the processor that this was first asked on.
    fn get() -> Self {
        static CACHES: OnceLock<Caches> = OnceLock::new();
        *CACHES.get_or_init(|| Self::of(&levels()))
    }

    /// What levels and their sizes make.
    fn of(levels: &[(u32, usize)]) -> Self {
        let size = |level| levels.iter().find(|one| one.0 == level).map(|one| one.1);
        let deepest = levels.iter().map(|one| one.0).max();
        let (Some(second), Some(last)) = (size(2), deepest.and_then(size)) else {
            return Self::USUAL;
        };
        Caches {
            second: second.clamp(Self::LEAST.second, Self::MOST.second),
            last: last.clamp(Self::LEAST.last, Self::MOST.last),
        }
    }
}

/// A size that follows from the caches, or, as in [`threshold`], a `small` one.
///
/// [`threshold`]: crate::threshold::threshold
#[inline]
pub(in crate::memory) fn of_caches(usual: impl FnOnce(Caches) -> usize, small: usize) -> usize {
    if cfg!(any(miri, small_thresholds)) { small } else { usual(Caches::get()) }
}

/// The levels of the first processor's caches for data, and their sizes.
#[cfg(all(target_os = "linux", not(miri)))]
fn levels() -> Vec<(u32, usize)> {
    let caches = std::path::Path::new("/sys/devices/system/cpu/cpu0/cache");
    let read = |index: u32, what| {
        std::fs::read_to_string(caches.join(format!("index{index}")).join(what)).ok()
    };
    let level = |index| {
        let level = read(index, "level")?.trim().parse().ok()?;
        let size = bytes(read(index, "size")?.trim())?;
        Some((level, size))
            .filter(|_| read(index, "type").is_none_or(|kind| kind.trim() != "Instruction"))
    };
    // Two of the first level, and no processor has more than four.
    (0..6).filter_map(level).collect()
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn levels() -> Vec<(u32, usize)> {
    Vec::new()
}

/// A size as Linux writes it: `1024K`.
#[cfg_attr(not(all(target_os = "linux", not(miri))), allow(dead_code))]
fn bytes(size: &str) -> Option<usize> {
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
        assert_eq!(bytes("32768K"), Some(32 << 20));
        assert_eq!(bytes("2M"), Some(2 << 20));
        assert_eq!(bytes("512"), Some(512));
        for wrong in ["", "K", "-1K", "1G", "99999999999999999999K", "18446744073709551615M"] {
            assert_eq!(bytes(wrong), None, "{wrong:?}");
        }
    }

    /// The last cache is the deepest, whatever its level; what nobody says is
    /// usual, and what is out of proportion is bounded.
    #[test]
    fn levels_make_caches() {
        let of = Caches::of;
        let three = [(1, 32 << 10), (1, 48 << 10), (2, 2 << 20), (3, 36 << 20)];
        assert_eq!(of(&three), Caches { second: 2 << 20, last: 36 << 20 });
        assert_eq!(of(&[(1, 64 << 10), (2, 8 << 20)]), Caches { second: 4 << 20, last: 8 << 20 });
        assert_eq!(of(&[(2, 1), (3, 1)]), Caches::LEAST);
        assert_eq!(of(&[(2, 1 << 30), (3, 1 << 30)]), Caches::MOST);
        for few in [&[][..], &[(1, 32 << 10)], &[(3, 1 << 20)]] {
            assert_eq!(of(few), Caches::USUAL, "{few:?}");
        }
    }
}
