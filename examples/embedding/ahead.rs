//! Rows of a table that lies on disk and is not in memory: each row is read once,
//! in the order of the file, and the system fetches the next ones meanwhile.

use std::fs::File;
use std::io::{Error, Read, Result, Seek, SeekFrom};
use std::ops::Range;
use std::thread;

use ndarray::{Array1, Array2, Axis, s};
use opkernels::{GatherExt, ScatterExt};

const FEW: usize = 32;

/// Where the rows of a table lie in a file.
pub(crate) struct Rows<'a> {
    pub(crate) file: &'a File,
    /// Bytes before the first row.
    pub(crate) start: usize,
    pub(crate) columns: usize,
}

/// Some rows of the table, each once and in ascending order, and whose they are.
struct Batch {
    rows: Vec<u32>,
    /// Which of these rows each of `places` takes, and which row of the result
    /// that is.
    taken: Vec<usize>,
    places: Vec<usize>,
}

/// The rows that `tokens` name, by way of a buffer of no more than `resident`
/// bytes, or a row.
pub(crate) fn gather(
    table: &Rows<'_>,
    tokens: &Array1<u32>,
    resident: usize,
) -> Result<Array2<f32>> {
    let most = (resident / (4 * table.columns.max(1))).max(1);
    let batches = batches(tokens, most);
    let longest = batches.iter().map(|batch| batch.rows.len()).max();
    let mut buffer = Array2::zeros((longest.unwrap_or(0), table.columns));
    let mut out = Array2::zeros((tokens.len(), table.columns));
    if let Some(first) = batches.first() {
        table.fetch(first);
    }
    for (number, batch) in batches.iter().enumerate() {
        let mut rows = buffer.slice_mut(s![..batch.rows.len(), ..]);
        let next = batches.get(number + 1);
        thread::scope(|scope| {
            next.map(|next| scope.spawn(|| table.fetch(next)));
            table.read(batch, rows.as_slice_mut().unwrap_or_default())
        })?;
        // Few at a time stay in the caches on their way.
        for (taken, places) in batch.taken.chunks(FEW).zip(batch.places.chunks(FEW)) {
            rows.gather(taken, Axis(0))
                .and_then(|taken| out.scatter_inplace(places, &taken, Axis(0)))
                .map_err(Error::other)?;
        }
    }
    Ok(out)
}

/// The tokens in ascending order, cut after every `most` different ones.
fn batches(tokens: &Array1<u32>, most: usize) -> Vec<Batch> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    order.sort_unstable_by_key(|&place| (tokens[place], place));
    let mut batches: Vec<Batch> = Vec::new();
    for place in order {
        let token = tokens[place];
        let same = batches.last().is_some_and(|batch| batch.rows.last() == Some(&token));
        if !same && batches.last().is_none_or(|batch| batch.rows.len() == most) {
            batches.push(Batch { rows: Vec::new(), taken: Vec::new(), places: Vec::new() });
        }
        let Some(batch) = batches.last_mut() else { continue };
        if !same {
            batch.rows.push(token);
        }
        batch.taken.push(batch.rows.len() - 1);
        batch.places.push(place);
    }
    batches
}

/// Rows that follow each other in the file, as ranges of `rows`.
fn runs(rows: &[u32]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    rows.chunk_by(|row, next| row + 1 == *next).map(move |run| {
        let range = start..start + run.len();
        start = range.end;
        range
    })
}

impl Rows<'_> {
    /// How many bytes there are before a row.
    fn before(&self, row: u32) -> u64 {
        self.start as u64 + u64::from(row) * 4 * self.columns as u64
    }

    /// Reads the rows into memory, one after the other.
    fn read(&self, batch: &Batch, rows: &mut [f32]) -> Result<()> {
        let mut file = self.file;
        for run in runs(&batch.rows) {
            file.seek(SeekFrom::Start(self.before(batch.rows[run.start])))?;
            let rows = &mut rows[run.start * self.columns..run.end * self.columns];
            file.read_exact(bytemuck::cast_slice_mut(rows))?;
        }
        Ok(())
    }

    /// Asks the system for the rows, and does not wait for them: it has many
    /// requests under way at a time, where a reader or a map has one.
    #[cfg(target_os = "linux")]
    #[allow(unsafe_code)]
    fn fetch(&self, batch: &Batch) {
        use std::os::fd::AsRawFd;

        for run in runs(&batch.rows) {
            let start = self.before(batch.rows[run.start]) as libc::off_t;
            let len = (run.len() * 4 * self.columns) as libc::off_t;
            // SAFETY: the file is open, and the advice changes nothing that it holds.
            unsafe {
                libc::posix_fadvise(self.file.as_raw_fd(), start, len, libc::POSIX_FADV_WILLNEED)
            };
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn fetch(&self, _batch: &Batch) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_name_every_place_once_and_every_row_once() {
        let tokens = Array1::from_shape_fn(1000, |place| (place * place % 97) as u32);
        for most in [1, 2, 7, 1000] {
            let mut rows = Vec::new();
            let mut found = vec![None; tokens.len()];
            for batch in batches(&tokens, most) {
                assert!((1..=most).contains(&batch.rows.len()));
                for (&taken, &place) in batch.taken.iter().zip(&batch.places) {
                    assert_eq!(found[place].replace(batch.rows[taken]), None);
                }
                rows.extend(batch.rows);
            }
            assert!(rows.is_sorted_by(|row, next| row < next));
            assert!(found.into_iter().eq(tokens.iter().copied().map(Some)));
        }
    }

    #[test]
    fn runs_are_rows_that_follow_each_other() {
        assert_eq!(runs(&[3, 4, 5, 9, 11, 12]).collect::<Vec<_>>(), [0..3, 3..4, 4..6]);
    }
}
