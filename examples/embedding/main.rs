//! A token-embedding table in a file larger than what may be resident: looked up
//! without being loaded, by rows read ahead and through a memory map.
//!
//! ```sh
//! cargo run --release --example embedding
//! ```
//!
//! writes a table of 512 MB to the temporary folder, gathers the embeddings of
//! a text of 8192 tokens from it in both ways while it is not in memory, checks
//! every value, and prints how long and how much memory that took. `--help` tells
//! the rest.

mod ahead;
mod npy;

use std::error::Error;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use ahead::Rows;
use indicatif::ProgressBar;
use lexopt::{Arg, Parser, ValueExt};
use memmap2::Mmap;
use ndarray::{Array1, Array2, Axis};
use opkernels::{GatherExt, OutOfBounds, Scatter, ScatterExt};

const HELP: &str = "\
Looks tokens up in an embedding table that stays on disk.

usage: embedding [--generate ROWS] [--tokens N] [--resident MIB] [--keep] [TABLE.npy]

  TABLE.npy        a float32 table, a row a token (default: one that is made in
                   the temporary folder and removed in the end)
  --generate ROWS  write TABLE.npy first, with as many rows of 1024 (default
                   where there is no file: 131072, 512 MB)
  --tokens N       the length of the text that is looked up (default: 8192)
  --resident MIB   how much of the table is in memory at a time (default: 8)
  --keep           do not remove the table";

/// The columns of a table that this program makes.
const COLUMNS: usize = 1024;

fn main() -> ExitCode {
    match Options::parse() {
        Ok(None) => {
            println!("{HELP}");
            ExitCode::SUCCESS
        }
        Ok(Some(options)) => match run(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("embedding: {}: {error}", options.path.display());
                ExitCode::FAILURE
            }
        },
        Err(message) => {
            eprintln!("embedding: {message}\n\n{HELP}");
            ExitCode::FAILURE
        }
    }
}

struct Options {
    path: PathBuf,
    generate: Option<usize>,
    tokens: usize,
    /// Bytes.
    resident: usize,
    remove: bool,
}

impl Options {
    /// `None` asks for help.
    fn parse() -> Result<Option<Self>, lexopt::Error> {
        let (mut given, mut generate, mut tokens, mut resident) = (None, None, 8192, 8);
        let mut keep = false;
        let mut parser = Parser::from_env();
        while let Some(argument) = parser.next()? {
            match argument {
                Arg::Short('h') | Arg::Long("help") => return Ok(None),
                Arg::Long("generate") => generate = Some(parser.value()?.parse()?),
                Arg::Long("tokens") => tokens = parser.value()?.parse()?,
                Arg::Long("resident") => resident = parser.value()?.parse()?,
                Arg::Long("keep") => keep = true,
                Arg::Value(path) if given.is_none() => given = Some(PathBuf::from(path)),
                _ => return Err(argument.unexpected()),
            }
        }
        let remove = given.is_none() && !keep;
        let path = given.unwrap_or_else(|| std::env::temp_dir().join("opkernels-embedding.npy"));
        let generate = generate.or((!path.exists()).then_some(131_072));
        Ok(Some(Options { path, generate, tokens, resident: resident << 20, remove }))
    }
}

fn run(options: &Options) -> Result<(), Box<dyn Error>> {
    if let Some(rows) = options.generate {
        if rows == 0 {
            return Err("a table needs at least one row".into());
        }
        write_table(&options.path, rows)?;
    }
    let looked_up = look_up(options);
    if options.remove {
        fs::remove_file(&options.path)?;
    }
    looked_up
}

/// The value at a row and column of a table that this program makes: exact in
/// `f32`, and telling where it came from.
fn value(row: usize, column: usize) -> f32 {
    ((row * 31 + column * 7) % 65_521) as f32 / 65_536.0
}

/// Writes the table beside its place and moves it there when it is whole: one
/// that was left half written has its full length, and zeros for embeddings.
fn write_table(path: &Path, rows: usize) -> Result<(), Box<dyn Error>> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    let written = write_rows(&part, rows).and_then(|()| Ok(fs::rename(&part, path)?));
    if written.is_err() {
        // The first error is the one to tell.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Writes the rows a piece at a time.
fn write_rows(path: &Path, rows: usize) -> Result<(), Box<dyn Error>> {
    const PIECE: usize = 4096;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(&npy::header(rows, COLUMNS))?;
    let bar = ProgressBar::new(rows as u64);
    for first in (0..rows).step_by(PIECE) {
        for row in first..rows.min(first + PIECE) {
            for column in 0..COLUMNS {
                file.write_all(&value(row, column).to_le_bytes())?;
            }
        }
        bar.inc(PIECE as u64);
    }
    bar.finish_and_clear();
    file.into_inner()?.sync_all()?;
    Ok(())
}

/// Asks the system to forget the pages that it still holds of the file, as it
/// has those of a table that was written long ago: it maps a page's neighbours
/// too where it holds them.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn forget_cached(file: &File) {
    use std::os::fd::AsRawFd;

    // SAFETY: the file is open, and the advice changes nothing that it holds.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

#[cfg(not(target_os = "linux"))]
fn forget_cached(_file: &File) {}

fn look_up(options: &Options) -> Result<(), Box<dyn Error>> {
    let file = File::open(&options.path)?;
    let map = mapped(&file)?;
    let table = npy::view(&map)?;
    if table.is_empty() {
        return Err("the table is empty".into());
    }
    let tokens = text(options.tokens, table.nrows());
    println!("table     {} rows of {}, {}", table.nrows(), table.ncols(), mib(map.len()));

    let start = map.len() - 4 * table.len();
    let rows = Rows { file: &file, start, columns: table.ncols() };
    forget_cached(&file);
    let start = Instant::now();
    let embedded = ahead::gather(&rows, &tokens, options.resident)?;
    let ahead = start.elapsed().as_secs_f64() * 1e3;
    println!("gathered  {} tokens in {ahead:.1} ms, rows read ahead", tokens.len());
    print_memory(map.len());

    forget_cached(&file);
    let start = Instant::now();
    let plain = table.gather(&tokens, 0)?;
    let taken = start.elapsed().as_secs_f64() * 1e3;
    println!("          in {taken:.1} ms through a memory map: {:.1} times as long", taken / ahead);

    let bits = |rows: &Array2<f32>| rows.mapv(f32::to_bits);
    if bits(&embedded) != bits(&plain) {
        return Err("the two ways came to different embeddings".into());
    }
    check(&embedded, &tokens, options.generate.is_some())?;
    print_common(&embedded, &tokens)
}

#[allow(unsafe_code)]
fn mapped(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: nobody else is to change the file while this program runs; it is
    // opened for reading, and removed only after the map is gone.
    unsafe { Mmap::map(file) }
}

/// Tokens as frequent as words are: the one of rank `r` appears `1 / r` times
/// as often as the first.
fn text(len: usize, vocabulary: usize) -> Array1<u32> {
    let harmonic = (vocabulary as f64).ln();
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    Array1::from_shape_simple_fn(len, || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let uniform = (state >> 11) as f64 / (1_u64 << 53) as f64;
        ((uniform * harmonic).exp() as u32 - 1).min(vocabulary as u32 - 1)
    })
}

/// Compares every gathered value with the formula, where there is one.
fn check(embedded: &Array2<f32>, tokens: &Array1<u32>, made_here: bool) -> Result<(), String> {
    if !made_here {
        return Ok(());
    }
    for (row, &token) in embedded.outer_iter().zip(tokens) {
        for (column, &element) in row.iter().enumerate() {
            let expected = value(token as usize, column);
            if element != expected {
                return Err(format!("row {token}, column {column}: {element} is not {expected}"));
            }
        }
    }
    println!("checked   all {} values against their formula", embedded.len());
    Ok(())
}

/// How many different tokens there are, and the mean over the columns of the
/// embeddings of the ten most common, pooled by a scatter: 0 for those that the
/// text does not have.
fn print_common(embedded: &Array2<f32>, tokens: &Array1<u32>) -> Result<(), Box<dyn Error>> {
    let last = tokens.iter().max().copied().unwrap_or(0) as usize;
    let mut counts = Array1::<u32>::zeros(last + 1);
    counts.scatter_inplace(tokens, &1, Scatter::sum(0))?;
    println!("distinct  {} tokens", counts.iter().filter(|&&count| count != 0).count());

    // Rows of tokens from 10 on are dropped.
    let mean = Scatter::mean(0).use_init_val(false).out_of_bounds(OutOfBounds::Skip);
    let mut means = Array2::zeros((10, embedded.ncols()));
    means.scatter_inplace(tokens, embedded, mean)?;
    let common = means.mean_axis(Axis(1)).ok_or("the table has no columns")?;
    println!("means of the ten most common: {common:.3}");
    Ok(())
}

/// The most memory this program has had, as Linux tells it.
fn print_memory(table: usize) {
    let Ok(status) = fs::read_to_string("/proc/self/status") else {
        println!("memory    unknown on this system");
        return;
    };
    let kib = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name))?;
        line.split_whitespace().nth(1)?.parse::<usize>().ok()
    };
    let shown = |name: &str| kib(name).map_or("unknown".to_string(), |kib| mib(kib << 10));
    println!("peak      {} of memory, the table's pages included", shown("VmHWM"));
    println!("now       {} of its own, {} of the table", shown("RssAnon"), shown("RssFile"));
    if let Some(peak) = kib("VmHWM") {
        println!(
            "          {:.0}% of the table's size",
            (peak << 10) as f64 / table as f64 * 100.0
        );
    }
}

fn mib(bytes: usize) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_from_the_file() {
        let path = std::env::temp_dir().join(format!("embedding-{}.npy", std::process::id()));
        let options =
            Options { path, generate: Some(300), tokens: 1000, resident: 1 << 16, remove: true };
        run(&options).unwrap();
        assert!(!options.path.exists());
    }

    #[test]
    fn a_table_without_rows_is_refused() {
        let path = std::env::temp_dir().join(format!("embedding-none-{}.npy", std::process::id()));
        let options = Options { path, generate: Some(0), tokens: 10, resident: 0, remove: false };
        assert_eq!(run(&options).unwrap_err().to_string(), "a table needs at least one row");
        assert!(!options.path.exists());
    }

    #[test]
    fn texts_prefer_common_tokens() {
        let tokens = text(10_000, 1000);
        let common = tokens.iter().filter(|&&token| token == 0).count();
        assert!((900..1100).contains(&common), "{common} of 10000");
        assert!(tokens.iter().all(|&token| token < 1000));
    }
}
