//! Short runs of entries, put together.

use std::ops::Range;
use std::sync::atomic::Ordering;

use super::{Chunk, Part, Rooms, Run};
use crate::memory::indices::{CHUNK, add};
use crate::memory::tile::NextIndices;
use crate::memory::walk::{Cursor, FEW, Loop, Offsets};

/// How many loops there are down to the one whose iterations chunks are made of, each with all iterations
/// of the loops inside it, and how many entries such an iteration has. These entries start and end
/// with whole iterations.
pub(super) fn chunks(nest: &[Loop], entries: &Range<usize>) -> (usize, usize) {
    let (mut around, mut inside) = (nest.len(), 1);
    while around > 1 {
        let more = inside * nest[around - 1].len;
        let whole = entries.start.is_multiple_of(more) && entries.end.is_multiple_of(more);
        if around < nest.len() && (more > CHUNK || !whole) {
            break;
        }
        (around, inside) = (around - 1, more);
    }
    (around, inside)
}

impl Run<'_> {
    /// Goes through entries whose innermost loop is short: as many of its runs as make a chunk
    /// are put together. Chunks go through the same loops, so what these add to the offset of
    /// an index is worked out once.
    #[inline(never)]
    pub(super) fn runs(
        &self,
        nest: &[Loop],
        base: Offsets,
        entries: Range<usize>,
        part: &Part,
        rooms: &mut Rooms<'_>,
    ) {
        let (around, inside) = chunks(nest, &entries);
        let (Some(run), Some(outer)) = (nest.last(), nest[..around].last()) else { return };
        let loops = &nest[around - 1..];
        let steps = |iterations: usize, of: fn(&Offsets) -> isize| {
            let inner = loops[1..].iter().map(move |one| (one.len, of(&one.step)));
            std::iter::once((iterations, of(&outer.step))).chain(inner)
        };
        // So many of these loops, from the innermost on, go on where the one inside ends.
        let follow = |of: fn(&Offsets) -> isize| {
            let seamless = |pair: &&[Loop]| {
                let (outer, inner) = (of(&pair[0].step), of(&pair[1].step));
                inner.checked_mul(pair[1].len as isize) == Some(outer)
            };
            1 + loops.windows(2).rev().take_while(seamless).count()
        };
        let (lists, joined) = loops.split_at(loops.len() - follow(|step| step.indices));
        let list = Loop { len: joined.iter().map(|one| one.len).product(), ..*run };
        let apart = follow(|step| step.listed) < loops.len();
        let mut left = entries.len() / inside;
        let most = (CHUNK / inside).min(outer.len).min(left);
        // What some iterations add, and, further on, all others.
        let few = (FEW / inside).min(most).max(1);
        let further = outer.step.selected.wrapping_mul(few as isize);
        rooms.ramps.clear();
        rooms.ramps.extend_iterations(steps(few, |step| step.selected));
        let mut cursor = Cursor::new(&nest[..around], base, entries.start / inside);
        while left > 0 {
            let (base, iterations) = cursor.take(left.min(most));
            left -= iterations;
            rooms.offsets.clear();
            let gaps = if lists.is_empty() {
                self.resolve(base.indices, run, iterations * inside, rooms)
            } else {
                self.resolve_each(lists, &list, base, iterations * inside / list.len, rooms)
            };
            let Some(gaps) = gaps else {
                return self.outside.store(true, Ordering::Relaxed);
            };
            let mut by = 0;
            for offsets in rooms.offsets.values_mut().chunks_mut(few * inside) {
                add(offsets, rooms.ramps.values(), by, gaps);
                by = by.wrapping_add(further);
            }
            if apart {
                rooms.places.clear();
                rooms.places.extend_iterations(steps(iterations, |step| step.listed));
            }
            let every = (!apart).then_some(run.step.listed);
            self.chunk(Chunk { base, every, gaps, apart: 0, next: NextIndices::NONE }, rooms, part);
        }
    }

    /// Resolves so many lists of indices, in iterations of these loops.
    #[inline(never)]
    fn resolve_each(
        &self,
        lists: &[Loop],
        list: &Loop,
        base: Offsets,
        count: usize,
        rooms: &mut Rooms<'_>,
    ) -> Option<bool> {
        let mut cursor = Cursor::new(lists, base, 0);
        let mut gaps = false;
        for _ in 0..count {
            let (at, _) = cursor.take(1);
            gaps |= self.resolve(at.indices, list, list.len, rooms)?;
        }
        Some(gaps)
    }
}
