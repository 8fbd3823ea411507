//! An image buffer is rows of pixels of channels.

use image::{Rgb, RgbImage};
use opkernels::ndarray::{ArrayView3, ArrayViewMut3};
use opkernels::{Gather, GatherExt, RollExt};

use crate::Result;

fn view(picture: &RgbImage) -> Result<ArrayView3<'_, u8>> {
    let shape = (picture.height() as usize, picture.width() as usize, 3);
    Ok(ArrayView3::from_shape(shape, picture.as_raw().as_slice())?)
}

fn view_mut(picture: &mut RgbImage) -> Result<ArrayViewMut3<'_, u8>> {
    let shape = (picture.height() as usize, picture.width() as usize, 3);
    Ok(ArrayViewMut3::from_shape(shape, &mut **picture)?)
}

pub(crate) fn swap_channels() -> Result<()> {
    let rgb = RgbImage::from_fn(4, 2, |x, y| Rgb([x as u8, y as u8, 200]));
    let mut bgr = RgbImage::new(4, 2);
    assert_eq!(view(&rgb)?.as_ptr(), rgb.as_raw().as_ptr());

    view(&rgb)?.gather_into(&[2, 1, 0], Gather::along(-1), &mut view_mut(&mut bgr)?)?;
    assert_eq!(bgr.get_pixel(3, 1), &Rgb([200, 1, 3]));

    view_mut(&mut bgr)?.roll_inplace(1, 1)?;
    assert_eq!(bgr.get_pixel(0, 1), &Rgb([200, 1, 3]));
    Ok(())
}
