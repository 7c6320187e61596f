//! Pictures as PNG files, as far as a browser and this program write them: eight bits a channel, RGB or RGBA, not interlaced.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;

use crate::failure::{Failure, Outcome, ensure, fail};

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

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

impl Picture {
    /// A picture in one colour.
    pub fn new(width: usize, height: usize, colour: [u8; 3]) -> Picture {
        Picture { width, height, pixels: vec![colour; width * height] }
    }

    /// The pixel in this column and row.
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

    /// Part of the picture; what lies outside is left out.
    pub fn part(&self, x: usize, y: usize, width: usize, height: usize) -> Picture {
        let (width, height) =
            (width.min(self.width.saturating_sub(x)), height.min(self.height.saturating_sub(y)));
        let rows = (y..y + height).flat_map(|row| &self.pixels[row * self.width + x..][..width]);
        Picture { width, height, pixels: rows.copied().collect() }
    }

    /// The picture with one pixel, their mean, for each square of `side` pixels; those at the right and at the bottom may be
    /// smaller.
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

    /// Reads a PNG file.
    ///
    /// # Errors
    /// Says what is wrong with it, or that it is of a kind that nothing here writes.
    pub fn decode(file: &[u8]) -> Outcome<Picture> {
        let mut rest =
            file.strip_prefix(SIGNATURE).ok_or_else(|| Failure("this is no PNG file".to_owned()))?;
        let (mut size, mut channels, mut packed) = ((0, 0), 0, Vec::new());
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = u32::from_be_bytes(*length) as usize;
            ensure(after.len() >= length + 8, || "the PNG file is cut off".to_owned())?;
            let (kind, data) = after[..4 + length].split_at(4);
            rest = &after[length + 8..];
            match (kind, data) {
                (b"IHDR", &[a, b, c, d, e, f, g, h, 8, kind @ (2 | 6), 0, 0, 0]) => {
                    let of = |bytes| u32::from_be_bytes(bytes) as usize;
                    size = (of([a, b, c, d]), of([e, f, g, h]));
                    channels = if kind == 2 { 3 } else { 4 };
                }
                (b"IHDR", _) => return fail("the PNG file is not 8-bit RGB"),
                (b"IDAT", data) => packed.extend_from_slice(data),
                _ => {}
            }
        }
        let mut lines = Vec::new();
        ZlibDecoder::new(&*packed).read_to_end(&mut lines)?;
        let stride = size.0 * channels;
        ensure(stride > 0 && lines.len() == (stride + 1) * size.1, || {
            "the PNG file is incomplete".to_owned()
        })?;
        let mut above = vec![0; stride];
        let mut pixels = Vec::with_capacity(size.0 * size.1);
        for line in lines.chunks_exact_mut(stride + 1) {
            let (&mut filter, line) =
                line.split_first_mut().ok_or_else(|| Failure("a line is empty".to_owned()))?;
            unfilter(filter, line, &above, channels);
            pixels.extend(line.chunks_exact(channels).map(|pixel| [pixel[0], pixel[1], pixel[2]]));
            above.copy_from_slice(line);
        }
        Ok(Picture { width: size.0, height: size.1, pixels })
    }

    /// Writes a PNG file.
    ///
    /// # Errors
    /// Nothing should.
    pub fn encode(&self) -> Outcome<Vec<u8>> {
        let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
        let mut above = vec![0; self.width * 3];
        for row in self.pixels.chunks_exact(self.width.max(1)) {
            let line = row.as_flattened();
            // What differs from the line above: most of it does not.
            packed.write_all(&[2])?;
            packed
                .write_all(&line.iter().zip(&above).map(|(x, b)| x.wrapping_sub(*b)).collect::<Vec<u8>>())?;
            above.copy_from_slice(line);
        }
        let mut header = Vec::new();
        header.extend((self.width as u32).to_be_bytes());
        header.extend((self.height as u32).to_be_bytes());
        header.extend([8, 2, 0, 0, 0]);
        let mut file = SIGNATURE.to_vec();
        for (kind, data) in [(b"IHDR", header), (b"IDAT", packed.finish()?), (b"IEND", Vec::new())] {
            file.extend((data.len() as u32).to_be_bytes());
            let begin = file.len();
            file.extend(kind);
            file.extend(data);
            let mut crc = flate2::Crc::new();
            crc.update(&file[begin..]);
            file.extend(crc.sum().to_be_bytes());
        }
        Ok(file)
    }
}

/// Adds to a line what its filter took from it.
fn unfilter(filter: u8, line: &mut [u8], above: &[u8], channels: usize) {
    for x in 0..line.len() {
        let (left, corner) = if x < channels { (0, 0) } else { (line[x - channels], above[x - channels]) };
        let up = above[x];
        let predicted = match filter {
            1 => left,
            2 => up,
            3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
            4 => {
                let [a, b, c] = [left, up, corner].map(i16::from);
                let [to_a, to_b, to_c] = [a, b, c].map(|near| (a + b - c - near).abs());
                if to_a <= to_b && to_a <= to_c {
                    left
                } else if to_b <= to_c {
                    up
                } else {
                    corner
                }
            }
            _ => 0,
        };
        line[x] = line[x].wrapping_add(predicted);
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
    fn every_filter_is_undone() {
        // Two pixels each; worked out by hand.
        let above = [10, 20, 30, 40, 50, 60];
        let cases = [
            (0, above, [1; 6], [1; 6]),
            (1, above, [1; 6], [1, 1, 1, 2, 2, 2]),
            (2, above, [1; 6], [11, 21, 31, 41, 51, 61]),
            (3, above, [1; 6], [6, 11, 16, 24, 31, 39]),
            (4, above, [1; 6], [11, 21, 31, 41, 51, 61]),
            // Nearest to what Paeth predicts: the left, and the one above the left.
            (4, [10; 6], [1; 6], [11, 11, 11, 12, 12, 12]),
            (4, [20, 20, 20, 30, 30, 30], [246, 246, 246, 1, 1, 1], [10, 10, 10, 21, 21, 21]),
        ];
        for (filter, above, mut line, expected) in cases {
            unfilter(filter, &mut line, &above, 3);
            assert_eq!(line, expected, "filter {filter}");
        }
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
