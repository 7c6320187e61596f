//! Widths of characters, asked of the browser once each.

use super::surface::{Font, Surface};
use hashbrown::HashMap;
use pathlight_chart::Measure;
use rustc_hash::FxBuildHasher;

/// Known widths; `NAN` is not known yet.
#[derive(Default)]
pub(crate) struct Widths {
    fonts: Vec<(Font, FontWidths)>,
}

struct FontWidths {
    ascii: [f64; 128],
    other: HashMap<char, f64, FxBuildHasher>,
}

/// Measures text in one font of a [`Surface`]; see [`Surface::measure`].
pub struct CanvasMeasure<'a> {
    pub(crate) surface: &'a Surface,
    pub(crate) font: Font,
}

impl Measure for CanvasMeasure<'_> {
    fn char_px(&mut self, c: char) -> f64 {
        let mut widths = self.surface.widths.borrow_mut();
        let widths = widths.of(self.font);
        if let Some(width) = widths.known(c) {
            return width;
        }
        self.surface.set_font(self.font);
        let mut buffer = [0; 4];
        let width =
            self.surface.context.measure_text(c.encode_utf8(&mut buffer)).map_or(0.0, |text| text.width());
        widths.learn(c, width);
        width
    }
}

impl Widths {
    fn of(&mut self, font: Font) -> &mut FontWidths {
        let i = match self.fonts.iter().position(|(known, _)| *known == font) {
            Some(i) => i,
            None => {
                // A page uses a handful; a display that is dragged between screens could bring more without end.
                self.fonts.truncate(15);
                self.fonts.push((font, FontWidths { ascii: [f64::NAN; 128], other: HashMap::default() }));
                self.fonts.len() - 1
            }
        };
        &mut self.fonts[i].1
    }
}

impl FontWidths {
    fn known(&self, c: char) -> Option<f64> {
        match self.ascii.get(c as usize) {
            Some(width) => (!width.is_nan()).then_some(*width),
            None => self.other.get(&c).copied(),
        }
    }

    fn learn(&mut self, c: char, width: f64) {
        match self.ascii.get_mut(c as usize) {
            Some(slot) => *slot = width,
            None => {
                self.other.insert(c, width);
            }
        }
    }
}
