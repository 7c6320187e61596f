//! A scene to be painted: filled rectangles, curves and text in layers, the same for a canvas and for an SVG file.

use super::Rgba;

/// "Of no item".
pub const NO_ITEM: u32 = u32::MAX;

/// A filled rectangle in device pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fill {
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width, greater than 0.
    pub w: i32,
    /// Height, greater than 0.
    pub h: i32,
    /// Colour of the shape.
    pub color: Rgba,
    /// The box or row of the layout it stands for, [`NO_ITEM`] for decoration.
    pub item: u32,
}

/// One line of text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    /// Left edge, or right edge or middle, as `align` says.
    pub x: i32,
    /// Baseline.
    pub y: i32,
    /// The text, already cut to fit.
    pub text: String,
    /// Colour of the text.
    pub color: Rgba,
    /// The part of the text that stands at `x`.
    pub align: Align,
    /// Size of the font in pixels.
    pub font_px: i32,
    /// Whether it is set in bold.
    pub bold: bool,
}

/// Meaning of the horizontal coordinate of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Align {
    /// The left edge.
    #[default]
    Left,
    /// The middle.
    Center,
    /// The right edge.
    Right,
}

/// A line through points from left to right, level at each of them, so that lines which share points run together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Curve {
    /// The points in device pixels, at least two.
    pub points: Vec<[i32; 2]>,
    /// Width of the line in device pixels.
    pub width: i32,
    /// Colour of the shape.
    pub color: Rgba,
}

impl Curve {
    /// Returns the horizontal place of both control points of the cubic between two neighbouring points: their middle.
    pub fn bend(from: [i32; 2], to: [i32; 2]) -> f64 {
        f64::from(from[0] + to[0]) / 2.0
    }
}

/// Fills, then curves over them, then texts. Where fills of one layer overlap, the order is not defined; put them into
/// different layers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layer {
    /// The rectangles, by colour once [`Scene::finish`] has run.
    pub fills: Vec<Fill>,
    /// The lines over them, in the order they came.
    pub curves: Vec<Curve>,
    /// The text over all.
    pub texts: Vec<Text>,
}

impl Layer {
    /// Adds a rectangle, unless it is empty.
    pub fn fill(&mut self, x: i32, y: i32, w: i32, h: i32, color: Rgba) {
        self.item(x, y, w, h, color, NO_ITEM);
    }

    /// Adds the rectangle of an item of the layout, unless it is empty.
    pub fn item(&mut self, x: i32, y: i32, w: i32, h: i32, color: Rgba, item: u32) {
        if w > 0 && h > 0 && color.0[3] > 0 {
            self.fills.push(Fill { x, y, w, h, color, item });
        }
    }

    /// Adds the border of a rectangle, `line` pixels wide, inside of it.
    pub fn frame(&mut self, [x, y, w, h]: [i32; 4], line: i32, color: Rgba) {
        let line = line.min(w / 2).min(h / 2).max(1);
        self.fill(x, y, w, line, color);
        self.fill(x, y + h - line, w, line, color);
        self.fill(x, y + line, line, h - 2 * line, color);
        self.fill(x + w - line, y + line, line, h - 2 * line, color);
    }
}

/// A picture in device pixels.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Scene {
    /// Width.
    pub width: i32,
    /// Height.
    pub height: i32,
    /// Colour behind it; `None` leaves what was there.
    pub background: Option<Rgba>,
    /// The layers, from back to front.
    pub layers: Vec<Layer>,
}

impl Scene {
    /// Returns an empty picture.
    pub fn new(width: i32, height: i32, background: Option<Rgba>) -> Scene {
        Scene { width, height, background, layers: Vec::new() }
    }

    /// Sorts the fills of each layer by colour, so that a painter rarely changes it; otherwise in the order they came.
    #[must_use]
    pub fn finish(mut self) -> Scene {
        for layer in &mut self.layers {
            layer.fills.sort_by_key(|fill| fill.color);
            layer.texts.sort_by_key(|text| (text.font_px, text.bold, text.color));
        }
        self
    }
}

/// Sizes that do not depend on the view: CSS pixels scaled to the device.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Metrics {
    /// Device pixels per CSS pixel.
    pub scale: f64,
}

impl Metrics {
    /// Returns CSS pixels as whole device pixels, at least one.
    pub fn px(&self, css: f64) -> i32 {
        (css * self.scale).round().max(1.0) as i32
    }

    /// Returns the size of the font in boxes and bars.
    pub fn font_px(&self) -> i32 {
        self.px(12.0)
    }

    /// Returns the baseline of text in a font of this size that stands in the middle of a row.
    pub fn baseline(top: i32, height: i32, font_px: i32) -> i32 {
        // Capitals of common fonts are 0.72 of the size high.
        top + (height * 100 + font_px * 72) / 200
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Metrics { scale: 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fills_are_sorted_by_colour_and_keep_their_order_within_one() {
        let (red, blue) = (Rgba::hex(0xff0000), Rgba::hex(0x0000ff));
        let mut layer = Layer::default();
        for (i, color) in [red, blue, red, blue].into_iter().enumerate() {
            layer.item(0, 0, 1, 1, color, i as u32);
        }
        layer.fill(0, 0, 0, 5, red);
        layer.fill(0, 0, 5, 5, Rgba::CLEAR);
        let mut scene = Scene::new(10, 10, None);
        scene.layers.push(layer);
        let order: Vec<u32> = scene.finish().layers[0].fills.iter().map(|fill| fill.item).collect();
        assert_eq!(order, [1, 3, 0, 2], "and nothing empty or invisible");
    }

    #[test]
    fn a_frame_stays_inside_and_does_not_overlap_itself() {
        let mut layer = Layer::default();
        layer.frame([10, 20, 30, 40], 2, Rgba::hex(0));
        let area: i32 = layer.fills.iter().map(|f| f.w * f.h).sum();
        assert_eq!(area, 30 * 40 - 26 * 36);
        assert!(layer.fills.iter().all(|f| f.x >= 10 && f.y >= 20 && f.x + f.w <= 40 && f.y + f.h <= 60));
    }

    #[test]
    fn sizes_follow_the_device() {
        assert_eq!(Metrics { scale: 1.5 }.px(13.0), 20);
        assert_eq!(Metrics { scale: 1.0 }.px(0.2), 1);
    }
}
