//! Scenes as SVG files: deterministic, with a title for those who do not see them.

use super::scene::{Align, Curve, NO_ITEM};
use super::{Rgba, Scene};
use pathlight_base::format::is_steering;
use std::fmt::Write as _;

/// The fonts of all SVG text: what [`Advances`](super::text::Advances) is the table of.
pub const FONTS: &str = "Helvetica, Arial, 'Liberation Sans', sans-serif";

/// The words of a picture.
pub struct SvgText<'a> {
    /// One line that names the picture.
    pub title: &'a str,
    /// A sentence or two that say what it shows; may be empty.
    pub description: &'a str,
    /// Tip shown when the pointer rests on an item of the layout.
    pub tip: &'a dyn Fn(u32) -> Option<String>,
}

/// Writes a scene as one SVG document.
pub fn write(scene: &Scene, words: &SvgText) -> String {
    let mut out = String::new();
    let (w, h) = (scene.width, scene.height);
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" role=\"img\" \
         font-family=\"{FONTS}\" shape-rendering=\"crispEdges\">"
    );
    element(&mut out, "title", words.title);
    element(&mut out, "desc", words.description);
    if let Some(background) = scene.background {
        let _ = writeln!(out, "<rect width=\"{w}\" height=\"{h}\"{}/>", paint(background));
    }
    for layer in &scene.layers {
        for fills in layer.fills.chunk_by(|a, b| a.color == b.color) {
            let _ = writeln!(out, "<g{}>", paint(fills[0].color));
            for fill in fills {
                let _ = write!(
                    out,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"",
                    fill.x, fill.y, fill.w, fill.h
                );
                match (fill.item != NO_ITEM).then(|| (words.tip)(fill.item)).flatten() {
                    Some(tip) => {
                        out.push_str("><title>");
                        escape(&mut out, &tip);
                        out.push_str("</title></rect>\n");
                    }
                    None => out.push_str("/>\n"),
                }
            }
            out.push_str("</g>\n");
        }
        for curve in &layer.curves {
            let _ = write!(
                out,
                "<path fill=\"none\" shape-rendering=\"auto\" stroke-width=\"{}\"{} d=\"",
                curve.width,
                paint(curve.color).replace("fill", "stroke")
            );
            for (at, &[x, y]) in curve.points.iter().enumerate() {
                match at.checked_sub(1).map(|before| curve.points[before]) {
                    None => {
                        let _ = write!(out, "M{x} {y}");
                    }
                    Some(before) => {
                        let bend = Curve::bend(before, [x, y]);
                        let _ = write!(out, "C{bend} {} {bend} {y} {x} {y}", before[1]);
                    }
                }
            }
            out.push_str("\"/>\n");
        }
        let same =
            |a: &super::Text, b: &super::Text| (a.color, a.font_px, a.bold) == (b.color, b.font_px, b.bold);
        for texts in layer.texts.chunk_by(same) {
            let first = &texts[0];
            let weight = if first.bold { " font-weight=\"bold\"" } else { "" };
            let _ = writeln!(
                out,
                "<g{} font-size=\"{}\"{weight} pointer-events=\"none\">",
                paint(first.color),
                first.font_px
            );
            for text in texts {
                let anchor = match text.align {
                    Align::Left => "",
                    Align::Center => " text-anchor=\"middle\"",
                    Align::Right => " text-anchor=\"end\"",
                };
                let _ = write!(out, "<text x=\"{}\" y=\"{}\"{anchor}>", text.x, text.y);
                escape(&mut out, &text.text);
                out.push_str("</text>\n");
            }
            out.push_str("</g>\n");
        }
    }
    out.push_str("</svg>\n");
    out
}

fn element(out: &mut String, name: &str, text: &str) {
    let _ = write!(out, "<{name}>");
    escape(out, text);
    let _ = writeln!(out, "</{name}>");
}

fn paint(color: Rgba) -> String {
    let [r, g, b, a] = color.0;
    let fill = Rgba([r, g, b, 255]).css();
    // `#rrggbbaa` is not known to every reader of SVG.
    if a == 255 {
        format!(" fill=\"{fill}\"")
    } else {
        format!(" fill=\"{fill}\" fill-opacity=\"{:.3}\"", f64::from(a) / 255.0)
    }
}

/// Writes text so that XML gives it back; what XML cannot hold at all, or what [steers](is_steering) a
/// reader, becomes a replacement character.
pub fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if is_steering(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Layer, Text};

    #[test]
    fn a_curve_is_level_at_its_points() {
        let curve = Curve { points: vec![[0, 5], [10, 5], [21, 9]], width: 2, color: Rgba([1, 2, 3, 51]) };
        let mut scene = Scene::new(30, 10, None);
        scene.layers.push(Layer { curves: vec![curve], ..Layer::default() });
        let svg = write(&scene, &SvgText { title: "", description: "", tip: &|_| None });
        let want = "stroke-width=\"2\" stroke=\"#010203\" stroke-opacity=\"0.200\" \
                    d=\"M0 5C5 5 5 5 10 5C15.5 5 15.5 9 21 9\"/>";
        assert!(svg.contains(want), "{svg}");
    }

    #[test]
    fn a_small_scene_is_written_exactly() {
        let mut layer = Layer::default();
        layer.item(1, 2, 3, 4, Rgba::hex(0xff0000), 7);
        layer.fill(5, 6, 7, 8, Rgba([0, 0, 255, 51]));
        layer.texts.push(Text {
            x: 9,
            y: 10,
            text: "a < b & \"c\"\u{1}".into(),
            color: Rgba::hex(0),
            align: Align::Right,
            font_px: 12,
            bold: true,
        });
        let mut scene = Scene::new(20, 10, Some(Rgba::hex(0xffffff)));
        scene.layers.push(layer);
        let tip = |item: u32| Some(format!("item <{item}>"));
        let svg = write(&scene.finish(), &SvgText { title: "T & t", description: "D", tip: &tip });
        let want = "\
<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"20\" height=\"10\" viewBox=\"0 0 20 10\" role=\"img\" font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" shape-rendering=\"crispEdges\">
<title>T &amp; t</title>
<desc>D</desc>
<rect width=\"20\" height=\"10\" fill=\"#ffffff\"/>
<g fill=\"#0000ff\" fill-opacity=\"0.200\">
<rect x=\"5\" y=\"6\" width=\"7\" height=\"8\"/>
</g>
<g fill=\"#ff0000\">
<rect x=\"1\" y=\"2\" width=\"3\" height=\"4\"><title>item &lt;7&gt;</title></rect>
</g>
<g fill=\"#000000\" font-size=\"12\" font-weight=\"bold\" pointer-events=\"none\">
<text x=\"9\" y=\"10\" text-anchor=\"end\">a &lt; b &amp; &quot;c&quot;\u{fffd}</text>
</g>
</svg>
";
        assert_eq!(svg, want);
    }
}
