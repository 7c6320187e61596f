//! Widths of characters, asked of the browser once each.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

/// A font of the surface's family: size in device pixels, bold.
pub(crate) type Font = (i32, bool);

/// Known widths; `NAN` is not known yet.
#[derive(Default)]
pub(crate) struct Widths {
    fonts: Vec<(Font, FontWidths)>,
}

pub(super) struct FontWidths {
    ascii: [f64; 128],
    other: HashMap<char, f64, FxBuildHasher>,
}

impl Widths {
    pub(super) fn of(&mut self, font: Font) -> &mut FontWidths {
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
    pub(super) fn known(&self, c: char) -> Option<f64> {
        match self.ascii.get(c as usize) {
            Some(width) => (!width.is_nan()).then_some(*width),
            None => self.other.get(&c).copied(),
        }
    }

    pub(super) fn learn(&mut self, c: char, width: f64) {
        match self.ascii.get_mut(c as usize) {
            Some(slot) => *slot = width,
            None => {
                self.other.insert(c, width);
            }
        }
    }
}
