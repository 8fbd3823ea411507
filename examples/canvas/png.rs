//! Writing a picture: the few parts of the PNG format that pixels of three
//! bytes need.

use std::fs::File;
use std::io::{BufWriter, Result, Write};

use miniz_oxide::deflate::compress_to_vec_zlib;

/// Writes rows of pixels, each `3 * width` bytes.
pub(crate) fn write(path: &str, width: usize, pixels: &[u8]) -> Result<()> {
    let row = 3 * width;
    let mut header = Vec::new();
    header.extend((width as u32).to_be_bytes());
    header.extend((pixels.len().checked_div(row).unwrap_or(0) as u32).to_be_bytes());
    // Eight bits a channel, three channels, the usual compression and filters, not interlaced.
    header.extend([8, 2, 0, 0, 0]);

    // Differences to the pixel on the left compress better.
    let mut filtered = Vec::with_capacity(pixels.len() + pixels.len() / row.max(1));
    for row in pixels.chunks_exact(row) {
        filtered.push(1);
        let left = [0; 3].iter().chain(row);
        filtered.extend(row.iter().zip(left).map(|(byte, left)| byte.wrapping_sub(*left)));
    }

    let mut file = BufWriter::new(File::create(path)?);
    file.write_all(b"\x89PNG\r\n\x1a\n")?;
    chunk(&mut file, b"IHDR", &header)?;
    chunk(&mut file, b"IDAT", &compress_to_vec_zlib(&filtered, 6))?;
    chunk(&mut file, b"IEND", &[])?;
    file.flush()
}

/// A length, a name, contents, and the check of the last two.
fn chunk(file: &mut impl Write, name: &[u8; 4], contents: &[u8]) -> Result<()> {
    file.write_all(&(contents.len() as u32).to_be_bytes())?;
    file.write_all(name)?;
    file.write_all(contents)?;
    file.write_all(&crc32(name.iter().chain(contents)).to_be_bytes())
}

fn crc32<'a>(bytes: impl Iterator<Item = &'a u8>) -> u32 {
    !bytes.fold(!0, |check, &byte| {
        (0..8).fold(check ^ u32::from(byte), |check, _| {
            if check & 1 == 1 { check >> 1 ^ 0xedb8_8320 } else { check >> 1 }
        })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn checks_are_those_of_the_format() {
        assert_eq!(super::crc32(b"IEND".iter()), 0xae42_6082);
    }
}
