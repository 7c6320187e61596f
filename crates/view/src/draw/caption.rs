//! An exported chart with what the page says around it, so that the file is understood by itself: above it a title, whose
//! requests it shows and when it was written; below it the names of its colours.

use crate::draw::scene::Align;
use crate::draw::svg::{self, SvgText};
use crate::draw::text::{Advances, elide_middle};
use crate::draw::{Layer, MeasureText as _, Metrics, Rgba, Scene, Text, Theme};

/// Names of colours, each beside a square of it; what has no colour is words among them.
pub type CaptionEntries = Vec<(Option<Rgba>, String)>;

/// The longest side of a canvas in pixels; of larger ones browsers give an empty picture, or none.
pub const LONGEST_PX: u32 = 16_384;

/// Narrower charts stand on a picture of this width, which has room for a line of words.
const LEAST_PX: i32 = 640;
const PAD_PX: i32 = 10;
const TITLE_PX: i32 = 26;
const LINE_PX: i32 = 18;
const SQUARE_PX: i32 = 12;

/// Returns how many pixels each pixel of a picture gets on a canvas: as many as wanted, or as fit.
pub fn canvas_scale(width: u32, height: u32, wanted: f64) -> f64 {
    wanted.min(f64::from(LONGEST_PX) / f64::from(width.max(height).max(1)))
}

/// Returns a document of [`svg::write`] or of a chart through plotters below its own title, these lines and what it says it
/// shows, and above a legend; deterministic. Lines that are too long are cut; the description has them whole.
pub fn captioned(
    document: &str,
    lines: &[String],
    legend: &[(Option<Rgba>, String)],
    theme: &Theme,
) -> String {
    let Some(chart) = document.strip_prefix("<svg") else { return document.to_owned() };
    let (title, about) = (element(document, "title"), element(document, "desc"));
    let lines: Vec<&str> = lines.iter().chain([&about]).map(String::as_str).collect();
    let [chart_px, chart_height] = ["width", "height"].map(|name| attribute(chart, name));
    let width = chart_px.max(LEAST_PX);

    let mut layer = Layer::default();
    let mut put = |[x, y]: [i32; 2], text: &str, (font_px, bold, color): (i32, bool, Rgba)| {
        // Bold letters are wider than plain ones, by a tenth at most.
        let mut measure = Advances { font_px: f64::from(font_px) * if bold { 1.1 } else { 1.0 } };
        let Some(text) = elide_middle(text, f64::from(width - PAD_PX - x), &mut measure) else { return 0 };
        let taken = measure.text_px(&text).ceil() as i32;
        let y = Metrics::baseline(y, LINE_PX, font_px);
        layer.texts.push(Text { x, y, text, color, align: Align::Left, font_px, bold });
        taken
    };
    put([PAD_PX, PAD_PX], &title, (16, true, theme.text));
    let mut y = PAD_PX + TITLE_PX;
    for line in lines.iter().filter(|line| !line.is_empty()) {
        put([PAD_PX, y], line, (12, false, theme.muted));
        y += LINE_PX;
    }
    let head = y + PAD_PX;
    let (mut x, mut y) = (PAD_PX, head + chart_height + PAD_PX);
    let mut squares = Vec::new();
    for (color, name) in legend {
        let left = if color.is_some() { SQUARE_PX + 5 } else { 0 };
        let wide = left + Advances { font_px: 12.0 }.text_px(name).ceil() as i32;
        if x > PAD_PX && x + wide > width - PAD_PX {
            (x, y) = (PAD_PX, y + LINE_PX);
        }
        squares.extend(color.map(|color| ([x, y + (LINE_PX - SQUARE_PX) / 2], color)));
        x += left + put([x + left, y], name, (12, false, theme.text)) + 2 * PAD_PX;
    }
    for ([x, y], color) in squares {
        layer.fill(x, y, SQUARE_PX, SQUARE_PX, color);
    }
    let foot = if legend.is_empty() { 0 } else { LINE_PX + PAD_PX };
    let mut scene = Scene::new(width, y + foot, Some(theme.background));
    scene.layers = vec![layer];

    let title = lines.first().map_or(title.clone(), |line| format!("{title}: {line}"));
    let description = lines.join("\n");
    let words = SvgText { title: &title, description: description.trim_end(), tip: &|_| None };
    let mut out = svg::write(&scene.finish(), &words);
    out.truncate(out.trim_end().len() - "</svg>".len());
    // Curves of plotters are to be smooth; what should have crisp edges says so itself.
    out.push_str(&format!("<g shape-rendering=\"auto\">\n<svg y=\"{head}\""));
    out.push_str(chart.trim_end());
    out.push_str("\n</g>\n</svg>\n");
    out
}

/// Returns an attribute of the first tag, a whole number.
fn attribute(document: &str, name: &str) -> i32 {
    let tag = document.split('>').next().unwrap_or_default();
    let value = tag.split_once(&*format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next());
    value.and_then(|value| value.parse().ok()).unwrap_or(0)
}

/// Returns the text of the first element of this name; empty if there is none.
fn element(document: &str, name: &str) -> String {
    let after = document.split_once(&*format!("<{name}>")).map_or("", |(_, after)| after);
    let text = after.split('<').next().unwrap_or_default();
    // What `svg::escape` does, undone.
    let marks = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    marks.iter().fold(text.to_owned(), |text, (escaped, mark)| text.replace(escaped, mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(width: i32, title: &str) -> String {
        let scene = Scene::new(width, 50, Some(Rgba::hex(0xffffff)));
        svg::write(&scene, &SvgText { title, description: "Two of three.", tip: &|_| None })
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|line| (*line).to_owned()).collect()
    }

    #[test]
    fn title_lines_and_legend_stand_around_the_chart_and_are_escaped() {
        let theme = Theme::light();
        let red = Rgba::hex(0xff0000);
        let said = lines(&["GET </svg> & \"more\"", "A: before; B: after", "Exported 2026-11-24 03:06 UTC"]);
        let legend = vec![(None, "Colours".to_owned()), (Some(red), "cart <1>".to_owned())];
        let svg = captioned(&chart(900, "Times & <b>"), &said, &legend, &theme);
        // 10 + 26 for the title, 4 lines of 18, 10 below; the chart; 10, a line, 10.
        assert!(
            svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"900\" height=\"206\""),
            "{svg}"
        );
        assert!(svg.contains("<svg y=\"118\" xmlns="), "{svg}");
        for words in [
            "<title>Times &amp; &lt;b&gt;: GET &lt;/svg&gt; &amp; &quot;more&quot;</title>",
            ">Times &amp; &lt;b&gt;</text>",
            ">GET &lt;/svg&gt; &amp; &quot;more&quot;</text>",
            ">A: before; B: after</text>",
            ">Exported 2026-11-24 03:06 UTC</text>",
            ">Two of three.</text>",
            ">Colours</text>",
            ">cart &lt;1&gt;</text>",
            "<g fill=\"#ff0000\">\n<rect x=",
        ] {
            assert!(svg.contains(words), "{words} in {svg}");
        }
        assert_eq!(svg.matches("<svg").count(), 2);
        assert_eq!(svg.matches("</svg>").count(), 2);
    }

    #[test]
    fn long_words_are_cut_and_a_legend_takes_as_many_rows_as_it_needs() {
        let theme = Theme::dark();
        let long = "checkout ".repeat(40);
        let svg = captioned(&chart(100, "T"), &lines(&[&long]), &[], &theme);
        assert!(svg.contains(" width=\"640\" height=\"142\""), "as wide as words need: {svg}");
        assert!(
            svg.contains('\u{2026}') && svg.contains(&format!("<desc>{long}\nTwo of three.</desc>")),
            "{svg}"
        );
        let name = |at: usize| (Some(Rgba::hex(at as u32)), format!("a service of the shop, number {at}"));
        let rows = |names: usize| {
            let legend: CaptionEntries = (0..names).map(name).collect();
            (attribute(&captioned(&chart(640, "T"), &[], &legend, &theme), "height") - 134) / LINE_PX
        };
        assert_eq!([1, 3, 4, 6].map(rows), [1, 1, 2, 2]);
    }

    #[test]
    fn a_picture_is_scaled_down_only_where_a_canvas_ends() {
        assert_eq!(canvas_scale(1600, 900, 2.0), 2.0);
        assert_eq!(canvas_scale(1600, 16_384, 1.0), 1.0);
        assert_eq!(canvas_scale(1600, 32_768, 2.0), 0.5);
        assert_eq!(canvas_scale(0, 0, 1.0), 1.0);
    }
}
