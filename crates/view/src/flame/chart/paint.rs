//! A flame graph with colours.

use super::{FlameLayout, FlameSize, FlameTree, FlameView, layout};
use crate::draw::color::ink_on;
use crate::draw::scene::Align;
use crate::draw::svg::{self, SvgText};
use crate::draw::text::Advances;
use crate::draw::{Layer, Metrics, Scene, Shade, Text, Theme};
use pathlight_base::format;

/// Returns the picture of a layout; items are indices of its boxes.
pub fn scene(layout: &FlameLayout, theme: &Theme, metrics: Metrics) -> Scene {
    let (gap, pad, font_px) = (metrics.px(1.0), metrics.px(4.0), metrics.font_px());
    let (mut boxes, mut stripes, mut marks) = (Layer::default(), Layer::default(), Layer::default());
    for (i, item) in layout.boxes.iter().enumerate() {
        let mut fill = theme.fill(item.shade);
        let mut plain = true;
        if item.dimmed {
            (fill, plain) = (theme.dimmed(fill), false);
        } else if item.beyond {
            (fill, plain) = (fill.with_alpha(0.55).over(theme.background), false);
        }
        // Neighbours of one colour stay apart; what is very narrow keeps all its pixels.
        let (w, h) = (if item.w > 2 * gap { item.w - gap } else { item.w }, item.h - gap);
        if item.is_waiting {
            let stripe = theme.background.mix(fill, 0.5);
            (fill, plain) = (theme.background.mix(fill, 0.3), false);
            for x in (item.x..item.x + w).step_by(metrics.px(6.0).max(2) as usize) {
                stripes.fill(x, item.y, metrics.px(2.0).min(item.x + w - x), h, stripe);
            }
        }
        boxes.item(item.x, item.y, w, h, fill, i as u32);
        if let Some(label) = &item.label {
            stripes.texts.push(Text {
                x: item.x + pad,
                y: Metrics::baseline(item.y, h, font_px),
                text: label.clone(),
                color: if plain { theme.ink(item.shade) } else { ink_on(fill) },
                align: Align::Left,
                font_px,
                bold: false,
            });
        }
        if item.selected {
            marks.frame([item.x, item.y, w, h], metrics.px(2.0), theme.accent);
        } else if item.hovered {
            marks.frame([item.x, item.y, w, h], metrics.px(1.0), theme.text);
        }
    }
    let mut scene = Scene::new(layout.width, layout.height, Some(theme.background));
    scene.layers = vec![boxes, stripes, marks];
    scene.finish()
}

/// Words of an exported picture besides its labels.
pub struct FlameWords<'a> {
    /// Title of the image.
    pub title: String,
    /// Description of its content, in a sentence.
    pub description: String,
    /// The tip of a node.
    pub tip: Box<dyn Fn(u32) -> String + 'a>,
}

impl FlameWords<'_> {
    /// Returns the words of a tree whose widths are microseconds.
    pub fn of_times<'a>(tree: &'a FlameTree, title: &str) -> FlameWords<'a> {
        let tip = |node| {
            let label = tree.frame(node).map_or("", |frame| frame.label.as_str());
            let (_, width_us) = tree.interval_us(node);
            let share = format::share_of(width_us, tree.total_us());
            format!("{label}: {}, {share}", format::duration_us(tree.time_us(width_us)))
        };
        let description = format!(
            "Flame graph of {} in {} calling contexts, widest first.",
            format::duration_us(tree.time_us(tree.total_us())),
            format::count(tree.len() as u64)
        );
        FlameWords { title: title.to_owned(), description, tip: Box::new(tip) }
    }
}

/// Returns all rows of a flame graph as an SVG document `width` pixels wide, in the view's window; deterministic.
pub fn export_svg(
    tree: &FlameTree,
    view: &FlameView,
    width: i32,
    theme: &Theme,
    words: &FlameWords,
) -> String {
    let metrics = Metrics::default();
    let unbounded = FlameSize { width, height: 0, metrics };
    let height = i64::from(tree.rows()) * i64::from(unbounded.row_px());
    // A picture beyond this height is of no use to any viewer; the table and the data hold the rest.
    let size = FlameSize { height: height.clamp(1, 32_000) as i32, ..unbounded };
    let view = FlameView { scroll_px: 0, hovered: None, ..*view };
    let layout = layout(tree, &view, size, &mut Advances { font_px: f64::from(metrics.font_px()) });
    let tip = |item: u32| {
        let item = layout.boxes.get(item as usize)?;
        if item.shade == Shade::Merged {
            return Some(format!("{} narrow boxes", format::count(u64::from(item.nodes))));
        }
        Some((words.tip)(item.node))
    };
    let words = SvgText { title: &words.title, description: &words.description, tip: &tip };
    svg::write(&scene(&layout, theme, metrics), &words)
}

#[cfg(test)]
mod tests {
    use super::super::Matches;
    use super::super::tree::tests::{large, report};
    use super::*;
    use pathlight_trace::Endpoint;

    #[test]
    fn a_picture_has_gaps_labels_and_marks() {
        let tree = FlameTree::of_report(&report(&[(None, 0, 100), (Some(0), 1, 100)]));
        let matches = Matches::find(&tree, |frame| frame.label.contains("op1"));
        let view = FlameView {
            window: tree.full(),
            scroll_px: 0,
            selected: Some(1),
            hovered: Some(0),
            matches: Some(&matches),
        };
        let theme = Theme::light();
        let metrics = Metrics { scale: 2.0 };
        let size = FlameSize { width: 800, height: 200, metrics };
        let layout = layout(&tree, &view, size, &mut Advances { font_px: 24.0 });
        let scene = scene(&layout, &theme, metrics);
        let boxes = &scene.layers[0];
        let fill = |item: u32| boxes.fills.iter().find(|f| f.item == item).copied().unwrap();
        assert_eq!((fill(0).w, fill(0).h), (798, 38));
        assert_eq!((fill(1).x, fill(1).y, fill(1).w), (0, 40, 398));
        assert_eq!(fill(1).color, theme.fill(Shade::service("service1")));
        assert_eq!(fill(0).color, theme.dimmed(theme.fill(Shade::service("service0"))));
        assert!(
            scene.layers[1].texts.iter().any(|t| t.text == "op1 @ service1" && t.font_px == 24 && t.x == 8)
        );
        let accents = scene.layers[2].fills.iter().filter(|f| f.color == theme.accent).count();
        assert_eq!(accents, 4, "a frame has four sides");
    }

    #[test]
    fn text_never_leaves_its_box() {
        use crate::draw::MeasureText as _;
        let tree = FlameTree::of_report(&large(5_000));
        let view =
            FlameView { window: tree.full(), scroll_px: 0, selected: None, hovered: None, matches: None };
        let size = FlameSize { width: 900, height: 700, metrics: Metrics::default() };
        let mut advances = Advances { font_px: 12.0 };
        let layout = layout(&tree, &view, size, &mut advances);
        let mut labels = 0;
        for item in &layout.boxes {
            if let Some(label) = &item.label {
                labels += 1;
                assert!(advances.text_px(label) <= f64::from(item.w - 8));
            }
        }
        assert!(labels > 20);
    }

    #[test]
    fn an_exported_picture_is_whole_escaped_and_the_same_every_time() {
        let mut report = report(&[(None, 0, 1_000_000), (Some(0), 1, 250_000)]);
        report.endpoints[1] = Endpoint::new("a&b", "GET </svg>");
        let tree = FlameTree::of_report(&report);
        let view =
            FlameView { window: tree.full(), scroll_px: 500, selected: None, hovered: None, matches: None };
        let words = FlameWords::of_times(&tree, "P95 of <checkout>");
        let svg = export_svg(&tree, &view, 1000, &Theme::light(), &words);
        assert_eq!(svg, export_svg(&tree, &view, 1000, &Theme::light(), &words));
        assert!(svg.contains("<title>P95 of &lt;checkout&gt;</title>"));
        assert!(svg.contains("<title>GET &lt;/svg&gt; @ a&amp;b: 250\u{202f}ms, 20.0\u{202f}%</title>"));
        assert_eq!(svg.matches("</svg>").count(), 1);
        assert!(svg.contains("height=\"40\""), "both rows, whatever was scrolled");
    }
}
