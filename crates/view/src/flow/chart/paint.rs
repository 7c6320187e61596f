//! An execution flow with colours.

use super::{DagBox, DagHit, DagItem, DagLayout, DagLine, DagSizes, DagWindow};
use crate::draw::color::ink_on;
use crate::draw::scene::{Align, Curve};
use crate::draw::svg::{self, SvgText};
use crate::draw::text::{Advances, SharedEnds, elide, elide_middle};
use crate::draw::{Layer, MeasureText, Metrics, Rgba, Scene, Shade, Text, Theme};
use pathlight_base::format;
use pathlight_engine::flow::{FlowNode, FlowReport};
use pathlight_engine::ids::NodeId;

/// The part of a flow that is shown, and its look.
#[derive(Clone, Copy, Debug)]
pub struct DagView<'a> {
    /// The flow that was laid out.
    pub report: &'a FlowReport,
    /// The part in sight.
    pub window: DagWindow,
    /// The selected node.
    pub selected: Option<NodeId>,
    /// The item under the pointer.
    pub hovered: Option<DagHit>,
    /// By node, whether a what-if changes it.
    pub changed: &'a [bool],
    /// By node, whether a search found it; the rest is dimmed.
    pub found: Option<&'a [bool]>,
}

/// Width of a box in which a short name can still be read, in CSS pixels.
const NARROWEST: f64 = 92.0;
/// Width up to which boxes hold the last word of every name, in CSS pixels.
const WIDE_ENOUGH: f64 = 150.0;
/// Room beside a name in its box, in CSS pixels.
const PAD: f64 = 6.0;
/// Width of a gap in which a line can still be seen, in CSS pixels.
const NARROWEST_GAP: f64 = 18.0;
/// More nodes than this get boxes of one line.
const ROOMY_NODES: usize = 24;

impl DagSizes {
    /// Returns the sizes for a flow of so many nodes: boxes of two lines, or of one where many stand in a column.
    pub fn for_nodes(nodes: usize, metrics: Metrics) -> DagSizes {
        let roomy = nodes <= ROOMY_NODES;
        DagSizes {
            node_w: metrics.px(if roomy { 184.0 } else { 208.0 }),
            node_h: metrics.px(if roomy { 42.0 } else { 22.0 }),
            dot: metrics.px(10.0),
            gap_x: metrics.px(44.0),
            gap_y: metrics.px(if roomy { 14.0 } else { 5.0 }),
        }
    }
}

impl DagLayout {
    /// Lays out a flow so that it fits into a room of this width in device pixels, as far as narrower boxes do that whose
    /// names still tell calls apart; beyond that it is moved under the hand.
    pub fn fitting(report: &FlowReport, metrics: Metrics, room: i32) -> DagLayout {
        let sizes = DagSizes::for_nodes(report.nodes.len(), metrics);
        let layout = DagLayout::new(report, sizes);
        let room = room - 2 * metrics.px(24.0);
        if room <= 0 || layout.width <= room {
            return layout;
        }
        let narrow = |px: i32, least: f64| {
            let wanted = i64::from(px) * i64::from(room) / i64::from(layout.width);
            (wanted as i32).max(metrics.px(least)).min(px)
        };
        let (node_w, gap_x) = (narrow(sizes.node_w, narrowest(report)), narrow(sizes.gap_x, NARROWEST_GAP));
        let sizes = DagSizes { node_w, gap_x, ..sizes };
        DagLayout::new(report, sizes)
    }
}

/// Returns the least width of boxes in CSS pixels: so wide that the last words of names are not cut.
fn narrowest(report: &FlowReport) -> f64 {
    let mut label = Advances { font_px: f64::from(Metrics::default().font_px()) };
    let words = report.nodes.iter().map(|node| label.text_px(last_word(&name_of(node).0)));
    let widest = words.fold(0.0, f64::max);
    ((widest + 2.0 * PAD) / DagWindow::LEGIBLE).clamp(NARROWEST, WIDE_ENOUGH)
}

/// Returns the colour of what decides the latency.
fn critical_color(theme: &Theme) -> Rgba {
    theme.fill(Shade::Change(100))
}

/// Returns how often a line binds, of the times it could; the lines of a synchronisation node stand for several edges.
pub(crate) fn binding_share(line: &DagLine) -> f64 {
    (line.binding as f64 / line.both.max(1) as f64).min(1.0)
}

/// Returns, by line, whether it lies on the way that decides most often: from the return back along what binds most.
pub(crate) fn critical_lines(lines: &[DagLine]) -> Vec<bool> {
    let mut critical = vec![false; lines.len()];
    let mut at = DagItem::Return;
    while let Some((index, line)) = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.to == at && line.binding > 0)
        .max_by_key(|(index, line)| (line.binding, std::cmp::Reverse(*index)))
    {
        critical[index] = true;
        at = line.from;
    }
    critical
}

/// Paints the part of a layout that is in sight into a room of `width` by `height` device pixels; items are indices of
/// [`DagLayout::boxes`]. `label` measures text of [`Metrics::font_px`], `small` of one CSS pixel less.
pub fn scene(
    layout: &DagLayout,
    view: &DagView,
    (width, height): (i32, i32),
    metrics: Metrics,
    theme: &Theme,
    [label, small]: [&mut dyn MeasureText; 2],
) -> Scene {
    let [mut lines, mut over, mut boxes, mut marks] = <[Layer; 4]>::default();
    let critical = critical_lines(&layout.lines);
    // Where many calls begin at once, thick lines would run into one.
    let most = if view.report.nodes.len() <= ROOMY_NODES { 6.0 } else { 2.0 };
    let shared = SharedEnds::of(view.report.nodes.iter().map(|node| node.operation.as_str()));
    let mut painter = Painter { view, metrics, theme, label, small, shared };
    for (index, line) in layout.lines.iter().enumerate() {
        let points: Vec<[i32; 2]> = line.points.iter().map(|&at| view.window.point(at)).collect();
        let x = |at: Option<&[i32; 2]>| at.map_or(0, |at| at[0]);
        if x(points.last()) < 0 || x(points.first()) > width {
            continue;
        }
        let share = binding_share(line);
        let hovered = view.hovered == Some(DagHit::Line(index));
        let color = match (hovered, critical[index]) {
            (true, _) => theme.accent,
            (_, true) => critical_color(theme),
            _ => theme.background.mix(theme.muted, 0.4 + 0.4 * share),
        };
        let thick = metrics.px((1.0 + most * share) * view.window.zoom.clamp(0.4, 1.0));
        let layer = if critical[index] || hovered { &mut over } else { &mut lines };
        layer.curves.push(Curve { points, width: thick, color });
    }
    for (index, item) in layout.boxes.iter().enumerate() {
        let place = view.window.rectangle([item.x, item.y, item.w, item.h]);
        let [x, y, w, h] = place;
        if x + w < 0 || y + h < 0 || x > width || y > height {
            continue;
        }
        painter.item(item, place, index as u32, [&mut boxes, &mut marks]);
    }
    let mut scene = Scene::new(width, height, Some(theme.background));
    scene.layers = vec![lines, over, boxes, marks];
    scene.finish()
}

struct Painter<'a> {
    view: &'a DagView<'a>,
    metrics: Metrics,
    theme: &'a Theme,
    label: &'a mut dyn MeasureText,
    small: &'a mut dyn MeasureText,
    shared: SharedEnds,
}

impl Painter<'_> {
    fn item(&mut self, item: &DagBox, place: [i32; 4], number: u32, [boxes, marks]: [&mut Layer; 2]) {
        let (theme, [x, y, w, h]) = (self.theme, place);
        match item.item {
            DagItem::Node(node) => {
                if let Some(facts) = self.view.report.nodes.get(node.index()) {
                    self.node(node, facts, place, number, [boxes, marks]);
                }
            }
            DagItem::Sync(_) => boxes.item(x, y, w, h, theme.muted, number),
            DagItem::Start | DagItem::Return => {
                boxes.item(x, y, w, h, theme.text, number);
                let name = if item.item == DagItem::Start { "start" } else { "return" };
                marks.texts.push(Text {
                    x: x + w / 2,
                    y: y + h + self.metrics.px(14.0),
                    text: name.to_owned(),
                    color: theme.muted,
                    align: Align::Center,
                    font_px: self.small_px(),
                    bold: false,
                });
            }
        }
        if self.view.hovered == Some(DagHit::Box(item.item)) {
            marks.frame(place, self.metrics.px(1.0), theme.text);
        }
    }

    fn small_px(&self) -> i32 {
        self.metrics.px(11.0)
    }

    fn node(
        &mut self,
        node: NodeId,
        facts: &FlowNode,
        place: [i32; 4],
        number: u32,
        [boxes, marks]: [&mut Layer; 2],
    ) {
        let (theme, metrics, [x, y, w, h]) = (self.theme, self.metrics, place);
        let px = |css: f64| metrics.px(css);
        let is_dim = self.view.found.is_some_and(|found| !found.get(node.index()).copied().unwrap_or(true));
        let own =
            theme.fill(if facts.service.is_empty() { Shade::Grey } else { Shade::service(&facts.service) });
        let fill = if is_dim { theme.dimmed(own) } else { own };
        boxes.item(x, y, w, h, fill, number);
        // How often it is on the critical path, as a bar along the lower edge.
        let (bar, gap) = (px(3.0).min(h / 4).max(1), px(Theme::PATH_GAP_PX));
        let decided = (f64::from(w) * facts.critical_share()).round() as i32;
        marks.fill(x, y + h - bar - gap, decided, gap, theme.background);
        marks.fill(x, y + h - bar, decided, bar, if is_dim { theme.dimmed(theme.path) } else { theme.path });
        if self.view.changed.get(node.index()).copied().unwrap_or(false) {
            marks.frame(place, px(2.0), critical_color(theme));
        }
        if self.view.selected == Some(node) {
            let line = px(2.0);
            marks.frame([x - line, y - line, w + 2 * line, h + 2 * line], line, theme.accent);
        }
        self.words(facts, place, bar, ink_on(fill), marks);
    }

    /// Returns a name for a room of this width: what all names share goes first, then its middle; the tail stays.
    fn shortened(&mut self, name: &str, tail: &str, room: f64) -> Option<String> {
        let whole = format!("{name}{tail}");
        if self.label.text_px(&whole) <= room {
            return Some(whole);
        }
        let left = room - self.label.text_px(tail);
        let name = elide_middle(self.shared.without(name), left, self.label)?;
        Some(name + tail)
    }

    /// Returns a name for a box with room for little: all of it, or its last word.
    fn short_name(&mut self, name: &str, room: f64) -> Option<String> {
        let is_whole = self.label.text_px(name) <= room;
        elide(if is_whole { name } else { last_word(name) }, room, self.label)
    }

    /// Writes name and times, as far as there is room for them.
    fn words(&mut self, facts: &FlowNode, [x, y, w, h]: [i32; 4], bar: i32, ink: Rgba, marks: &mut Layer) {
        let metrics = self.metrics;
        let px = |css: f64| metrics.px(css);
        let (font_px, small_px) = (self.metrics.font_px(), self.small_px());
        let (pad, room) = (px(PAD), h - bar);
        if room < font_px || w < px(40.0) {
            return;
        }
        let mut put = |text: String, at: i32, align, top: i32, high: i32, font_px: i32, bold: bool| {
            let y = Metrics::baseline(top, high, font_px);
            marks.texts.push(Text { x: at, y, text, color: ink, align, font_px, bold });
        };
        let (name, tail) = name_of(facts);
        let two_lines = room >= font_px + small_px + px(6.0);
        let mean = format::duration(facts.latency_us.mean);
        if two_lines {
            let high = font_px + px(4.0);
            let top = y + (room - high - small_px - px(2.0)) / 2;
            let left = f64::from(w - 2 * pad);
            let (text, repeat) = match w < px(WIDE_ENOUGH) {
                // Where there is room for little, the name needs all of its line.
                true => (self.short_name(&name, left), tail.trim()),
                false => (self.shortened(&name, &tail, left), ""),
            };
            if let Some(text) = text {
                put(text, x + pad, Align::Left, top, high, font_px, false);
            }
            let wait = format::duration(facts.wait_us.mean);
            let share = facts.invocations as f64 / self.view.report.invocations.max(1) as f64;
            // A call that not every invocation makes.
            let often = if share < 1.0 { format!(", in {}", format::share(share)) } else { String::new() };
            // A number that is cut reads as another one, so the last ones go as a whole.
            let lines = [
                format!("{mean} after {wait}{often}"),
                format!("{mean}{often}"),
                format!("{mean} after {wait}"),
                format!("{repeat} {mean}"),
                mean,
            ];
            // In narrow boxes the number of the call comes first.
            let from = if repeat.is_empty() { 0 } else { 3 };
            if let Some(text) = lines.into_iter().skip(from).find(|words| self.small.text_px(words) <= left) {
                put(text, x + pad, Align::Left, top + high, small_px + px(2.0), small_px, false);
            }
            return;
        }
        let taken = self.small.text_px(&mean).ceil() as i32;
        let left = w - 3 * pad - taken;
        if left > px(60.0) {
            put(mean, x + w - pad, Align::Right, y, room, small_px, false);
        }
        let left = if left > px(60.0) { left } else { w - 2 * pad };
        let text = match w < px(WIDE_ENOUGH) {
            true => self.short_name(&name, f64::from(left)),
            false => self.shortened(&name, &tail, f64::from(left)),
        };
        if let Some(text) = text {
            put(text, x + pad, Align::Left, y, room, font_px, false);
        }
    }
}

/// Returns the operation; then the number of the repeat, and a sign where it has a flow of its own.
fn name_of(facts: &FlowNode) -> (String, String) {
    // The label's ending says which repeat it is.
    let whole = format!("{}:{}", facts.service, facts.operation);
    let (name, repeat) = match facts.operation.is_empty() {
        true => (&facts.label, ""),
        false => (&facts.operation, facts.label.strip_prefix(&whole).unwrap_or_default()),
    };
    let own_flow = if facts.has_calls { " \u{203a}" } else { "" };
    (format::printable(name), format::printable(repeat) + own_flow)
}

/// Returns what stands behind the last sign between the words of a name: of a path its last segment.
fn last_word(name: &str) -> &str {
    name.rsplit(['/', '.', ' ']).find(|word| !word.is_empty()).unwrap_or(name)
}

/// Returns all of a flow as an SVG document in its own size; deterministic.
pub fn export_svg(report: &FlowReport, changed: &[bool], theme: &Theme, title: &str) -> String {
    let metrics = Metrics::default();
    let layout = DagLayout::new(report, DagSizes::for_nodes(report.nodes.len(), metrics));
    let margin = metrics.px(24.0);
    let window = DagWindow { zoom: 1.0, x: f64::from(margin), y: f64::from(margin) };
    let view = DagView { report, window, selected: None, hovered: None, changed, found: None };
    let (mut label, mut small) = (
        Advances { font_px: f64::from(metrics.font_px()) },
        Advances { font_px: f64::from(metrics.px(11.0)) },
    );
    let room = (layout.width + 2 * margin, layout.height + 2 * margin);
    let scene = scene(&layout, &view, room, metrics, theme, [&mut label, &mut small]);
    let tip = |item: u32| match layout.boxes.get(item as usize)?.item {
        DagItem::Node(node) => {
            let facts = report.nodes.get(node.index())?;
            Some(format!(
                "{}: mean {}, {} after what it waits for, on the critical path in {} of {}",
                facts.label,
                format::duration(facts.latency_us.mean),
                format::duration(facts.wait_us.mean),
                format::share(facts.critical_share()),
                format::count(facts.invocations)
            ))
        }
        DagItem::Start => Some("start".to_owned()),
        DagItem::Return => Some("return".to_owned()),
        DagItem::Sync(_) => Some("synchronisation".to_owned()),
    };
    let description = "Calls from left to right; a line means that the call at its right end waits for the one at its left.";
    svg::write(&scene, &SvgText { title, description, tip: &tip })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::{LogHistogram, Percentiles};
    use pathlight_engine::flow::FlowEdge;

    fn node(name: &str, mean: f64, critical: u64) -> FlowNode {
        FlowNode {
            label: format!("shop:{name}"),
            service: "shop".to_owned(),
            operation: name.to_owned(),
            index: 1,
            invocations: 100,
            latency_us: Percentiles { mean, ..Percentiles::default() },
            wait_us: Percentiles { mean: 500.0, ..Percentiles::default() },
            histogram: LogHistogram::default(),
            critical,
            has_calls: name == "b",
        }
    }

    fn edge(from: Option<u32>, to: Option<u32>, binding: u64) -> FlowEdge {
        let [from, to] = [from, to].map(|node| node.map(NodeId));
        FlowEdge { from, to, both: 100, holds: 100, binding }
    }

    /// Returns two calls at once, then a third.
    fn report() -> FlowReport {
        FlowReport {
            nodes: vec![node("a", 9_000.0, 20), node("b", 20_000.0, 80), node("c", 5_000.0, 100)],
            edges: vec![
                edge(None, Some(0), 20),
                edge(None, Some(1), 80),
                edge(Some(0), Some(2), 20),
                edge(Some(1), Some(2), 80),
                edge(Some(2), None, 100),
            ],
            ..FlowReport::default()
        }
    }

    #[test]
    fn the_way_that_decides_goes_through_what_binds_most() {
        let layout = DagLayout::new(&report(), DagSizes::for_nodes(3, Metrics::default()));
        let critical = critical_lines(&layout.lines);
        let ends: Vec<_> =
            layout.lines.iter().zip(&critical).filter(|(_, c)| **c).map(|(l, _)| (l.from, l.to)).collect();
        assert_eq!(
            ends,
            [
                (DagItem::Start, DagItem::Node(NodeId(1))),
                (DagItem::Node(NodeId(1)), DagItem::Node(NodeId(2))),
                (DagItem::Node(NodeId(2)), DagItem::Return)
            ]
        );
    }

    #[test]
    fn a_picture_has_names_times_and_thick_lines_where_it_binds() {
        let svg = export_svg(&report(), &[], &Theme::light(), "Flow of <x>");
        assert_eq!(svg, export_svg(&report(), &[], &Theme::light(), "Flow of <x>"));
        for words in [
            "<title>Flow of &lt;x&gt;</title>",
            ">b \u{203a}<",
            "20.0\u{202f}ms after 500\u{202f}µs",
            "start",
            "return",
        ] {
            assert!(svg.contains(words), "{words} in {svg}");
        }
        assert_eq!(svg.matches("<path").count(), 5);
        assert_eq!(svg.matches("stroke-width=\"7\"").count(), 1, "1 + 6 x 100 %");
        assert_eq!(svg.matches("stroke-width=\"6\"").count(), 2, "1 + 6 x 80 %");
    }

    #[test]
    fn text_stays_inside_its_box_at_every_zoom() {
        let report = report();
        let metrics = Metrics::default();
        let layout = DagLayout::new(&report, DagSizes::for_nodes(3, metrics));
        for zoom in [0.1, 0.4, 0.7, 1.0, 2.0] {
            let window = DagWindow { zoom, x: 10.0, y: 10.0 };
            let view = DagView {
                report: &report,
                window,
                selected: Some(NodeId(0)),
                hovered: None,
                changed: &[],
                found: None,
            };
            let (mut label, mut small) = (Advances { font_px: 12.0 }, Advances { font_px: 11.0 });
            let scene = scene(&layout, &view, (2000, 900), metrics, &Theme::dark(), [&mut label, &mut small]);
            for text in scene.layers.iter().flat_map(|l| &l.texts).filter(|t| t.align != Align::Center) {
                let width = Advances { font_px: f64::from(text.font_px) }.text_px(&text.text).ceil() as i32;
                let (left, right) = if text.align == Align::Right {
                    (text.x - width, text.x)
                } else {
                    (text.x, text.x + width)
                };
                let holds = layout.boxes.iter().map(|b| window.rectangle([b.x, b.y, b.w, b.h])).any(
                    |[x, y, w, h]| {
                        x <= left && right <= x + w && y <= text.y - text.font_px * 7 / 10 && text.y <= y + h
                    },
                );
                assert!(holds, "{text:?} at {zoom}");
            }
        }
    }
}
