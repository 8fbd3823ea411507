//! As much of NumPy's file format as a table of `float32` needs: a header that
//! is Python text, padded to 64 bytes, and the elements.

use ndarray::ArrayView2;

const MAGIC: &[u8] = b"\x93NUMPY";

/// What goes before the elements of a table in row-major order.
pub(crate) fn header(rows: usize, columns: usize) -> Vec<u8> {
    let text =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    let start = MAGIC.len() + 4;
    let len = (start + text.len() + 1).next_multiple_of(64) - start;
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(u16::try_from(len).expect("a short header").to_le_bytes());
    bytes.extend(format!("{text:width$}\n", width = len - 1).bytes());
    bytes
}

/// A file's elements, in place.
pub(crate) fn view(file: &[u8]) -> Result<ArrayView2<'_, f32>, String> {
    let (text, elements) = split(file).ok_or("this is no .npy file")?;
    let value = |name: &str| {
        let (_, rest) = text.split_once(&format!("'{name}':"))?;
        Some(rest.trim_start())
    };
    let is = |name: &str, wanted: &str| value(name).is_some_and(|text| text.starts_with(wanted));
    if !cfg!(target_endian = "little") || !is("descr", "'<f4'") || !is("fortran_order", "False") {
        return Err("only float32 of this machine in row-major order is read".to_owned());
    }
    let shape = value("shape").and_then(shape).ok_or("only tables of two axes are read")?;
    let elements = bytemuck::try_cast_slice(elements).map_err(|error| error.to_string())?;
    ArrayView2::from_shape(shape, elements).map_err(|error| error.to_string())
}

/// The header's text, and what follows it.
fn split(file: &[u8]) -> Option<(&str, &[u8])> {
    let rest = file.strip_prefix(MAGIC)?;
    let (len, rest) = match rest.first()? {
        1 => (usize::from(u16::from_le_bytes(rest.get(2..4)?.try_into().ok()?)), &rest[4..]),
        _ => (u32::from_le_bytes(rest.get(2..6)?.try_into().ok()?) as usize, &rest[6..]),
    };
    let (text, elements) = rest.split_at_checked(len)?;
    Some((str::from_utf8(text).ok()?, elements))
}

/// `(rows, columns)`.
fn shape(text: &str) -> Option<(usize, usize)> {
    let (inside, _) = text.strip_prefix('(')?.split_once(')')?;
    let (rows, columns) = inside.split_once(',')?;
    Some((rows.trim().parse().ok()?, columns.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut file = header(2, 3);
        assert_eq!(file.len() % 64, 0);
        file.extend((0..6).flat_map(|k| (k as f32).to_le_bytes()));
        // Elements must lie where floats may: the copy starts at a multiple of eight.
        let mut words = vec![0_u64; file.len().div_ceil(8)];
        let aligned = &mut bytemuck::cast_slice_mut(&mut words)[..file.len()];
        aligned.copy_from_slice(&file);
        assert_eq!(view(aligned), Ok(ndarray::aview2(&[[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]])));
    }

    #[test]
    fn other_files_are_refused() {
        let wrong = [
            b"hello".to_vec(),
            header(1, 1)[..40].to_vec(),
            String::from_utf8_lossy(&header(1, 1)[10..]).replace("<f4", "<f8").into_bytes(),
        ];
        assert!(wrong.iter().all(|file| view(file).is_err()));
        let file = header(3, 5);
        assert!(view(&file).is_err(), "its elements are missing");
    }
}
