//! Pictures of the page, compared in squares.

use crate::failure::{Outcome, ensure};

/// A picture without transparency, row by row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Picture {
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// Red, green, blue.
    pub pixels: Vec<[u8; 3]>,
}

impl Picture {
    /// Makes a picture in one colour.
    pub fn new(width: usize, height: usize, colour: [u8; 3]) -> Picture {
        Picture { width, height, pixels: vec![colour; width * height] }
    }

    /// Returns the pixel in this column and row.
    pub fn at(&self, x: usize, y: usize) -> [u8; 3] {
        self.pixels[y * self.width + x]
    }

    /// Puts another picture into this one, its upper left corner here; what does not fit is left out.
    pub fn put(&mut self, other: &Picture, x: usize, y: usize) {
        let width = other.width.min(self.width.saturating_sub(x));
        for row in 0..other.height.min(self.height.saturating_sub(y)) {
            let (from, to) = (row * other.width, (y + row) * self.width + x);
            self.pixels[to..to + width].copy_from_slice(&other.pixels[from..from + width]);
        }
    }

    /// Returns part of the picture; what lies outside is left out.
    pub fn part(&self, x: usize, y: usize, width: usize, height: usize) -> Picture {
        let (width, height) =
            (width.min(self.width.saturating_sub(x)), height.min(self.height.saturating_sub(y)));
        let rows = (y..y + height).flat_map(|row| &self.pixels[row * self.width + x..][..width]);
        Picture { width, height, pixels: rows.copied().collect() }
    }

    /// Returns the picture with one pixel, their mean, for each square of `side` pixels; those at the right and at the
    /// bottom may be smaller.
    pub fn coarse(&self, side: usize) -> Picture {
        let (width, height) = (self.width.div_ceil(side), self.height.div_ceil(side));
        let mut coarse = Picture::new(width, height, [0; 3]);
        for (at, pixel) in coarse.pixels.iter_mut().enumerate() {
            let cell = self.part(at % width * side, at / width * side, side, side);
            let count = cell.pixels.len().max(1);
            *pixel = [0, 1, 2].map(|channel| {
                let sum: usize = cell.pixels.iter().map(|pixel| usize::from(pixel[channel])).sum();
                ((sum + count / 2) / count) as u8
            });
        }
        coarse
    }

    /// Reads a PNG file of RGB or RGBA; transparency is left out.
    ///
    /// # Errors
    /// Says what is wrong with it, or that it has other channels.
    pub fn decode(file: &[u8]) -> Outcome<Picture> {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(file));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info()?;
        let mut bytes = vec![0; reader.output_buffer_size().unwrap_or_default()];
        let frame = reader.next_frame(&mut bytes)?;
        let channels = frame.color_type.samples();
        ensure(channels >= 3, || format!("a picture of {channels} channels"))?;
        let pixels = bytes[..frame.buffer_size()].chunks_exact(channels);
        Ok(Picture {
            width: frame.width as usize,
            height: frame.height as usize,
            pixels: pixels.map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect(),
        })
    }

    /// Writes a PNG file.
    ///
    /// # Errors
    /// A side of the picture has no pixel.
    pub fn encode(&self) -> Outcome<Vec<u8>> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::High);
        encoder.write_header()?.write_image_data(self.pixels.as_flattened())?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gradient(width: usize, height: usize) -> Picture {
        let pixels = (0..width * height).map(|i| [i as u8, (i / 7) as u8, (i * 31) as u8]).collect();
        Picture { width, height, pixels }
    }

    #[test]
    fn what_is_written_is_read_again() {
        for (width, height) in [(1, 1), (5, 3), (40, 17)] {
            let picture = gradient(width, height);
            assert_eq!(Picture::decode(&picture.encode().unwrap()).unwrap(), picture);
        }
        let cut = gradient(9, 9).encode().unwrap();
        assert!(Picture::decode(&cut[..cut.len() - 20]).is_err());
        assert!(Picture::decode(b"GIF89a").is_err());
    }

    #[test]
    fn a_coarse_picture_has_the_mean_of_each_square() {
        let mut picture = Picture::new(5, 3, [100, 0, 255]);
        picture.put(&Picture::new(2, 2, [200, 9, 255]), 0, 0);
        picture.put(&Picture::new(1, 1, [0, 9, 255]), 1, 1);
        let coarse = picture.coarse(2);
        assert_eq!((coarse.width, coarse.height), (3, 2));
        assert_eq!(
            coarse.pixels,
            [[150, 9, 255], [100, 0, 255], [100, 0, 255], [100, 0, 255], [100, 0, 255], [100, 0, 255]]
        );
        assert_eq!(
            picture.part(1, 1, 9, 1).pixels,
            [[0, 9, 255], [100, 0, 255], [100, 0, 255], [100, 0, 255]]
        );
    }
}
