//! opkernels on the memory of other crates: a slice becomes a view, and nothing
//! is copied but what the operation moves.
//!
//! Each function shows the way in and, where there is one, the way out, asserts
//! that both ends are the other crate's own memory, and checks the answer.

mod arrow;
mod matrix;
mod picture;
mod table;

/// What can go wrong on the way.
type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    arrow::gather_from_a_float_array()?;
    println!("arrow     gathered from a Float32Array, and an Arrow array made of the result");
    table::histogram_of_a_column()?;
    println!("polars    a column's values summed by the category in another column");
    matrix::roll_columns()?;
    println!("nalgebra  a column-major matrix rolled in place, and gathered from");
    picture::swap_channels()?;
    println!("image     the channels of an RgbImage swapped into another, and its rows rolled");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_in_and_out() {
        main().unwrap();
    }
}
