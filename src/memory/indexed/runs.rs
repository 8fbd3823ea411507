//! Short runs of entries, joined to chunks.

use std::ops::Range;

use super::singles::are_whole;
use super::{Buffers, Chunk, Part, Run};
use crate::memory::cpu::LINE;
use crate::memory::indices::{CHUNK, add};
use crate::memory::refused::Refused;
use crate::memory::tile::NextIndices;
use crate::memory::walk::{Cursor, FEW, Loop, Offsets, iterations};

/// Chooses the loop whose iterations are joined to chunks, each with all iterations of the loops
/// inside it: the number of loops down to and including this one, and the number of entries of one
/// of its iterations. `entries` start and end with whole iterations.
pub(super) fn chunks(nest: &[Loop], entries: &Range<usize>) -> (usize, usize) {
    let (mut around, mut inside) = (nest.len(), 1);
    while around > 1 {
        let more = inside * nest[around - 1].len;
        if around < nest.len() && (more > CHUNK || !are_whole(entries, more)) {
            break;
        }
        (around, inside) = (around - 1, more);
    }
    (around, inside)
}

/// The number of loops, from the innermost on, that make one lane in an array: each continues where
/// the loop inside it ends. `of` is the step in that array.
fn loops_in_lane(loops: &[Loop], of: fn(&Offsets) -> isize) -> usize {
    let seamless = |pair: &&[Loop]| {
        let (outer, inner) = (of(&pair[0].step), of(&pair[1].step));
        inner.checked_mul(pair[1].len as isize) == Some(outer)
    };
    1 + loops.windows(2).rev().take_while(seamless).count()
}

/// Whether indices share cache lines along the outermost of these loops, and are nearer to each other than
/// along the innermost.
fn indices_lie_across(loops: &[Loop]) -> bool {
    let [outer, .., inner] = loops else { return false };
    let step = |level: &Loop| level.step.indices.unsigned_abs();
    step(outer) < step(inner).min(LINE)
}

/// How the indices of loops that are joined to a chunk are read.
struct Lanes<'l> {
    /// The loops down to the innermost one that reads indices.
    reading: &'l [Loop],
    /// The number of iterations of the innermost loops that each index serves, since they read none.
    times: usize,
    /// The innermost loops that read evenly spaced indices as one loop, and the loops around it.
    lane: Loop,
    around: &'l [Loop],
}

impl<'l> Lanes<'l> {
    /// For these loops; the outermost one counts as one that reads indices.
    fn of(loops: &'l [Loop]) -> Self {
        let repeating = loops[1..].iter().rev().take_while(|level| !level.reads_indices()).count();
        let (reading, repeating) = loops.split_at(loops.len() - repeating);
        let in_lane = loops_in_lane(reading, |step| step.indices);
        let (around, in_lane) = reading.split_at(reading.len() - in_lane);
        let product = |loops: &[Loop]| loops.iter().map(|level| level.len).product();
        let lane = Loop { len: product(in_lane), ..reading[reading.len() - 1] };
        Lanes { reading, times: product(repeating), lane, around }
    }
}

impl Run<'_> {
    /// Runs entries whose innermost loop is short: several of its runs are joined to a chunk. All
    /// chunks have the same loops, so what these add to the offset of an index is computed once.
    #[inline(never)]
    pub(super) fn runs(
        &self,
        nest: &[Loop],
        base: Offsets,
        entries: Range<usize>,
        part: &Part,
        buffers: &mut Buffers<'_>,
    ) {
        let (around, inside) = chunks(nest, &entries);
        let (Some(run), Some(outer)) = (nest.last(), nest[..around].last()) else { return };
        let loops = &nest[around - 1..];
        let steps = |iterations: usize, of: fn(&Offsets) -> isize| {
            let inner = loops[1..].iter().map(move |level| (level.len, of(&level.step)));
            std::iter::once((iterations, of(&outer.step))).chain(inner)
        };
        let lanes = Lanes::of(loops);
        let uneven = loops_in_lane(loops, |step| step.listed) < loops.len();
        let mut left = entries.len() / inside;
        let chunk_iterations = (CHUNK / inside).min(outer.len).min(left);
        let across = indices_lie_across(lanes.reading) && lanes.lane.len <= chunk_iterations;
        // `ramps` holds what the first few iterations add to offsets; the next few add the same and
        // `ramp_step`, and so on.
        let few = (FEW / inside).min(chunk_iterations).max(1);
        let ramp_step = outer.step.selected.wrapping_mul(few as isize);
        buffers.ramps.set_iterations(steps(few, |step| step.selected));
        let mut cursor = Cursor::new(&nest[..around], base, entries.start / inside);
        while left > 0 {
            let (base, iterations) = cursor.take(left.min(chunk_iterations));
            left -= iterations;
            buffers.offsets.clear();
            let gaps = if across {
                self.resolve_across(lanes.reading, base, iterations, buffers)
            } else {
                self.resolve_lanes(&lanes, base, iterations * inside, buffers)
            };
            let Ok(gaps) = gaps else {
                return self.refusal.set();
            };
            if lanes.times > 1 {
                buffers.offsets.repeat_each(lanes.times);
            }
            let mut by = 0;
            for offsets in buffers.offsets.values_mut().chunks_mut(few * inside) {
                add(offsets, buffers.ramps.values(), by, gaps);
                by = by.wrapping_add(ramp_step);
            }
            if uneven {
                buffers.places.set_iterations(steps(iterations, |step| step.listed));
            }
            let place_step = (!uneven).then_some(run.step.listed);
            let (next, offset_step) = (NextIndices::NONE, 0);
            self.chunk(Chunk { base, place_step, gaps, offset_step, next }, buffers, part);
        }
    }

    /// Resolves the indices of so many iterations of the outermost of these loops, lane by lane along it,
    /// and transposes their offsets.
    #[inline(never)]
    fn resolve_across(
        &self,
        loops: &[Loop],
        base: Offsets,
        count: usize,
        buffers: &mut Buffers<'_>,
    ) -> Result<bool, Refused> {
        let Some((outer, inside)) = loops.split_first() else { return Ok(false) };
        let lanes = iterations(inside);
        let mut cursor = Cursor::new(inside, base, 0);
        let mut gaps = false;
        buffers.places.clear();
        std::mem::swap(&mut buffers.offsets, &mut buffers.places);
        for _ in 0..lanes {
            let (at, _) = cursor.take(1);
            gaps |= self.resolve(at.indices, outer, count, buffers)?;
        }
        std::mem::swap(&mut buffers.offsets, &mut buffers.places);
        buffers.offsets.extend_transposed(buffers.places.values(), count);
        Ok(gaps)
    }

    /// Resolves the indices of so many entries: all of them as one lane, or one lane after the other.
    #[inline(never)]
    fn resolve_lanes(
        &self,
        lanes: &Lanes<'_>,
        base: Offsets,
        entries: usize,
        buffers: &mut Buffers<'_>,
    ) -> Result<bool, Refused> {
        let (count, lane) = (entries / lanes.times, &lanes.lane);
        if lanes.around.is_empty() {
            return self.resolve(base.indices, lane, count, buffers);
        }
        let mut cursor = Cursor::new(lanes.around, base, 0);
        let mut gaps = false;
        for _ in 0..count / lane.len {
            let (at, _) = cursor.take(1);
            gaps |= self.resolve(at.indices, lane, lane.len, buffers)?;
        }
        Ok(gaps)
    }
}
