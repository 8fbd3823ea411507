//! image: a picture is a slice of height x width x channels.

use image::imageops::flip_horizontal;
use image::{ImageBuffer, Rgb, RgbImage};
use opkernels::ndarray::{ArrayView3, ArrayViewMut3, Axis, ShapeBuilder, ShapeError};
use opkernels::{Gather, GatherExt, RollExt};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn shape(picture: &RgbImage) -> (usize, usize, usize) {
    (picture.height() as usize, picture.width() as usize, 3)
}

fn view(picture: &RgbImage) -> Result<ArrayView3<'_, u8>, ShapeError> {
    ArrayView3::from_shape(shape(picture), picture.as_raw())
}

fn view_mut(picture: &mut RgbImage) -> Result<ArrayViewMut3<'_, u8>, ShapeError> {
    ArrayViewMut3::from_shape(shape(picture), picture)
}

fn picture() -> RgbImage {
    ImageBuffer::from_fn(5, 3, |x, y| Rgb([x as u8, y as u8, (10 * y + x) as u8]))
}

#[test]
fn channels_are_swapped_into_a_picture() -> Outcome {
    let rgb = picture();
    let pixels = view(&rgb)?;
    assert!(std::ptr::eq(pixels.as_slice().unwrap(), &rgb.as_raw()[..]));

    let mut bgr = RgbImage::new(rgb.width(), rgb.height());
    pixels.gather_into(&[2, 1, 0], Gather::along(-1), &mut view_mut(&mut bgr)?)?;
    for (Rgb([r, g, b]), swapped) in rgb.pixels().zip(bgr.pixels()) {
        assert_eq!(swapped, &Rgb([*b, *g, *r]));
    }
    Ok(())
}

#[test]
fn a_picture_is_mirrored_by_a_gather_of_columns() -> Outcome {
    let rgb = picture();
    let columns = Vec::from_iter((0..rgb.width()).rev());
    let mirrored = view(&rgb)?.gather(&columns, Axis(1))?;

    let address = mirrored.as_ptr();
    let pixels = mirrored.into_raw_vec_and_offset().0;
    let mirrored = RgbImage::from_raw(rgb.width(), rgb.height(), pixels).ok_or("too short")?;
    assert!(std::ptr::eq(mirrored.as_ptr(), address));
    assert_eq!(mirrored, flip_horizontal(&rgb));
    Ok(())
}

#[test]
fn a_panorama_is_turned_in_place() -> Outcome {
    let rgb = picture();
    let mut turned = rgb.clone();
    let address = turned.as_ptr();
    view_mut(&mut turned)?.roll_inplace(2, 1)?;
    assert!(std::ptr::eq(turned.as_ptr(), address));
    for (x, y, pixel) in turned.enumerate_pixels() {
        assert_eq!(pixel, rgb.get_pixel((x + rgb.width() - 2) % rgb.width(), y));
    }
    Ok(())
}

/// Strides say how a picture lies in memory; here its columns lie together.
#[test]
fn a_picture_of_any_strides_is_read_in_place() -> Outcome {
    let rgb = picture();
    let samples = rgb.as_flat_samples();
    let (height, width, channels) = shape(&rgb);
    let (down, right, channel) =
        (samples.layout.height_stride, samples.layout.width_stride, samples.layout.channel_stride);
    let on_its_side = (width, height, channels).strides((right, down, channel));
    let pixels = ArrayView3::from_shape(on_its_side, samples.samples)?;
    assert!(std::ptr::eq(pixels.as_ptr(), rgb.as_ptr()));

    let column = pixels.gather(&[-1], Axis(0))?;
    for (y, pixel) in column.index_axis(Axis(0), 0).outer_iter().enumerate() {
        let expected = rgb.get_pixel(rgb.width() - 1, y as u32);
        assert_eq!(pixel.as_slice(), Some(&expected.0[..]));
    }
    Ok(())
}
