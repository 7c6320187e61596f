//! The picture of the map of services: callers left of what they call, lines as wide as the time waited.

use super::words::below_name;
use super::{MapTone, call_tip, chart_title, service_tip};
use crate::draw::color::ink_on;
use crate::draw::scene::{Align, Curve, Text};
use crate::draw::svg::{self, SvgText};
use crate::draw::text::{Advances, elide_middle};
use crate::draw::{Layer, MeasureText, Metrics, Rgba, Scene, Shade, Theme};
use crate::flow::chart::{DagHit, DagItem, DagLayout, DagWindow};
use crate::say::tip::TipLine;
use pathlight_base::format;
use pathlight_engine::ids::NodeId;
use pathlight_engine::verdict::service_map::{MapCall, MapService, ServiceMapReport};
use std::collections::BTreeMap;

/// More services than this get boxes of one line.
const ROOMY_SERVICES: usize = 14;
/// Width of the line of the longest wait beyond that of none, in CSS pixels.
const WIDEST: f64 = 13.0;
/// Names are cut beyond this width of a box, in CSS pixels.
const MOST: f64 = 260.0;
const LEAST: f64 = 92.0;
/// Room beside a name in its box, in CSS pixels.
const PAD: f64 = 8.0;

/// The calls that a line stands for: to the right, and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapWay {
    /// Index of the calls of the right service by the left one.
    pub there: Option<u32>,
    /// Index of the calls of the left service by the right one.
    pub back: Option<u32>,
}

/// A map laid out. Boxes are services by their index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapLayout {
    /// Where boxes and lines stand.
    pub dag: DagLayout,
    /// The calls of each line.
    pub ways: Vec<MapWay>,
}

/// The part of a map that is shown, and its look.
#[derive(Clone, Copy, Debug)]
pub struct MapView<'a> {
    /// The map that was laid out.
    pub report: &'a ServiceMapReport,
    /// The part in sight.
    pub window: DagWindow,
    /// The selected service.
    pub selected: Option<u32>,
    /// The item under the pointer.
    pub hovered: Option<DagHit>,
    /// By service, whether a search found it; the rest is dimmed.
    pub found: Option<&'a [bool]>,
}

/// Returns, by call, whether it leads back to a service that (indirectly) calls its caller; without these calls there is no
/// circle.
fn leads_back(report: &ServiceMapReport) -> Vec<bool> {
    let mut calls_of: Vec<Vec<u32>> = vec![Vec::new(); report.services.len()];
    for (at, call) in (0..).zip(&report.calls) {
        if let Some(calls) = calls_of.get_mut(call.caller as usize) {
            calls.push(at);
        }
    }
    let mut back = vec![false; report.calls.len()];
    let (mut is_seen, mut is_open) = (vec![false; calls_of.len()], vec![false; calls_of.len()]);
    for entry in report.entries() {
        let mut stack: Vec<(u32, usize)> = Vec::new();
        if !std::mem::replace(&mut is_seen[entry as usize], true) {
            is_open[entry as usize] = true;
            stack.push((entry, 0));
        }
        while let Some((service, next)) = stack.last_mut() {
            let Some(&call) = calls_of[*service as usize].get(*next) else {
                is_open[*service as usize] = false;
                stack.pop();
                continue;
            };
            *next += 1;
            let to = report.calls[call as usize].service as usize;
            if is_open[to] {
                back[call as usize] = true;
            } else if !std::mem::replace(&mut is_seen[to], true) {
                is_open[to] = true;
                stack.push((to as u32, 0));
            }
        }
    }
    back
}

impl MapLayout {
    /// Lays out a map; boxes are as wide as the names of their services at the least zoom that a map opens with. `label` measures
    /// text of [`Metrics::font_px`], `small` of one CSS pixel less. Empty without services.
    pub fn new(
        report: &ServiceMapReport,
        metrics: Metrics,
        [label, small]: [&mut dyn MeasureText; 2],
    ) -> MapLayout {
        if report.services.is_empty() {
            return MapLayout::default();
        }
        let is_roomy = report.services.len() <= ROOMY_SERVICES;
        let high = metrics.px(if is_roomy { 40.0 } else { 24.0 });
        let size = |service: &MapService| {
            let name = label.text_px(&format::printable(&service.service));
            let below = if is_roomy { small.text_px(&below_name(report, service)) } else { 0.0 };
            let (least, most) = (f64::from(metrics.px(LEAST)), f64::from(metrics.px(MOST)));
            let text = name.max(below) + f64::from(2 * metrics.px(PAD) + 2);
            let wide = (text / DagWindow::LEGIBLE).clamp(least, most);
            (wide.ceil() as i32, high)
        };
        let sizes: Vec<(i32, i32)> = report.services.iter().map(size).collect();
        // Those that begin requests are laid out from the top.
        let order = report.entries();
        let mut place = vec![0u32; order.len()];
        let boxes: Vec<(DagItem, (i32, i32))> = (0..)
            .zip(&order)
            .map(|(at, &service)| {
                place[service as usize] = at;
                (DagItem::Node(NodeId(service)), sizes[service as usize])
            })
            .collect();
        let back = leads_back(report);
        let mut ways: BTreeMap<(u32, u32), MapWay> = BTreeMap::new();
        for ((at, call), is_back) in (0..).zip(&report.calls).zip(back) {
            let [from, to] = [call.caller, call.service].map(|service| place[service as usize]);
            if is_back {
                ways.entry((to, from)).or_default().back = Some(at);
            } else {
                ways.entry((from, to)).or_default().there = Some(at);
            }
        }
        let edges = ways.keys().map(|&ends| (ends, (0, 0))).collect();
        let gaps = (metrics.px(72.0), metrics.px(if is_roomy { 10.0 } else { 8.0 }));
        // Lines come in the order of their ends, as the ways do.
        MapLayout { dag: DagLayout::of_graph(&boxes, edges, None, gaps), ways: ways.into_values().collect() }
    }

    /// Returns the calls that a line stands for; where it stands for those of both ways, those that are waited for longer.
    pub fn calls_of<'a>(&self, report: &'a ServiceMapReport, line: usize) -> Option<&'a MapCall> {
        let way = self.ways.get(line)?;
        let calls = [way.there, way.back].into_iter().flatten();
        let calls = calls.filter_map(|at| report.calls.get(at as usize));
        calls.max_by(|a, b| a.wait.mean_us.total_cmp(&b.wait.mean_us))
    }
}

impl MapTone {
    fn line(self, theme: &Theme) -> Rgba {
        let plain = theme.background.mix(theme.muted, 0.55);
        match self {
            MapTone::Plain => plain,
            MapTone::Fails(share) => plain.mix(theme.error, 0.5 + 0.5 * share),
            _ => self.change(theme).unwrap_or(plain),
        }
    }

    fn change(self, theme: &Theme) -> Option<Rgba> {
        // Even the least sure change is seen.
        let hundredths = |degree: f64| (40.0 + 60.0 * degree).round() as i8;
        match self {
            MapTone::Slower(degree) => Some(theme.fill(Shade::Change(hundredths(degree)))),
            MapTone::Faster(degree) => Some(theme.fill(Shade::Change(-hundredths(degree)))),
            MapTone::Plain | MapTone::Fails(_) => None,
        }
    }
}

/// Paints the part of a map that is in sight into a room of `width` by `height` device pixels; items are indices of boxes.
/// `label` measures text of [`Metrics::font_px`], `small` of one CSS pixel less.
pub fn scene(
    layout: &MapLayout,
    view: &MapView,
    (width, height): (i32, i32),
    metrics: Metrics,
    theme: &Theme,
    [label, small]: [&mut dyn MeasureText; 2],
) -> Scene {
    let [mut lines, mut over, mut boxes, mut marks] = <[Layer; 4]>::default();
    let report = view.report;
    let most_us = report.greatest_wait_us().max(f64::MIN_POSITIVE);
    let is_dim =
        |service: u32| view.found.is_some_and(|found| !found.get(service as usize).copied().unwrap_or(true));
    for (index, (line, way)) in layout.dag.lines.iter().zip(&layout.ways).enumerate() {
        let is_hovered = view.hovered == Some(DagHit::Line(index));
        let both = way.there.is_some() && way.back.is_some();
        for (at, is_back) in [(way.there, false), (way.back, true)] {
            let Some(call) = at.and_then(|at| report.calls.get(at as usize)) else { continue };
            let is_of_selected =
                view.selected.is_some_and(|service| call.caller == service || call.service == service);
            let tone = MapTone::of_call(report, call).line(theme);
            let color = match is_hovered || is_of_selected {
                true => tone.mix(theme.text, 0.35),
                false if is_dim(call.caller) && is_dim(call.service) => theme.dimmed(tone),
                false => tone,
            };
            let share = (call.wait.mean_us / most_us).min(1.0);
            let wide = metrics.px((1.0 + WIDEST * share) * view.window.zoom.clamp(0.5, 1.0));
            let aside = if both { metrics.px(5.0) * if is_back { 1 } else { -1 } } else { 0 };
            let points: Vec<[i32; 2]> =
                line.points.iter().map(|&at| view.window.point(at)).map(|[x, y]| [x, y + aside]).collect();
            let Some((&first, &last)) = points.first().zip(points.last()) else { continue };
            if last[0] < 0 || first[0] > width {
                continue;
            }
            if is_back {
                let [x, y] = first;
                let font_px = metrics.px(12.0);
                let text = "\u{25c2}".to_owned();
                let y = Metrics::baseline(y - font_px / 2, font_px, font_px);
                let x = x + metrics.px(1.0);
                marks.texts.push(Text {
                    x,
                    y,
                    text,
                    color: theme.text,
                    align: Align::Left,
                    font_px,
                    bold: true,
                });
            }
            let layer = if is_hovered || is_of_selected { &mut over } else { &mut lines };
            layer.curves.push(Curve { points, width: wide, color });
        }
    }
    // What is thin stays in sight.
    for layer in [&mut lines, &mut over] {
        layer.curves.sort_by_key(|curve| std::cmp::Reverse(curve.width));
    }
    let mut painter = Painter { report, metrics, theme, label, small };
    for (index, item) in layout.dag.boxes.iter().enumerate() {
        let place = view.window.rectangle([item.x, item.y, item.w, item.h]);
        let [x, y, w, h] = place;
        let DagItem::Node(service) = item.item else { continue };
        let Some(facts) = report.services.get(service.index()) else { continue };
        if x + w < 0 || y + h < 0 || x > width || y > height {
            continue;
        }
        painter.service(facts, place, index as u32, is_dim(service.0), [&mut boxes, &mut marks]);
        if view.selected == Some(service.0) {
            let line = metrics.px(2.0);
            marks.frame([x - line, y - line, w + 2 * line, h + 2 * line], line, theme.accent);
        }
        if view.hovered == Some(DagHit::Box(item.item)) {
            marks.frame(place, metrics.px(1.0), theme.text);
        }
    }
    let mut scene = Scene::new(width, height, Some(theme.background));
    scene.layers = vec![lines, over, boxes, marks];
    scene.finish()
}

struct Painter<'a> {
    report: &'a ServiceMapReport,
    metrics: Metrics,
    theme: &'a Theme,
    label: &'a mut dyn MeasureText,
    small: &'a mut dyn MeasureText,
}

impl Painter<'_> {
    fn service(
        &mut self,
        facts: &MapService,
        [x, y, w, h]: [i32; 4],
        number: u32,
        is_dim: bool,
        [boxes, marks]: [&mut Layer; 2],
    ) {
        let (theme, metrics) = (self.theme, self.metrics);
        let px = |css: f64| metrics.px(css);
        let tone = MapTone::of_service(self.report, facts);
        let plain = match self.report.baseline_requests {
            Some(_) => theme.fill(Shade::Grey),
            None => theme.fill(Shade::service(&facts.service)),
        };
        let fill = tone.change(theme).unwrap_or(plain);
        let fill = if is_dim { theme.dimmed(fill) } else { fill };
        boxes.item(x, y, w, h, fill, number);
        if let MapTone::Fails(share) = tone {
            // Along the lower edge, never so narrow that it is not seen.
            let long = ((f64::from(w) * share).round() as i32).max(px(6.0)).min(w);
            let bar = px(4.0).min(h / 4).max(1);
            marks.fill(x, y + h - bar, long, bar, theme.error);
        }
        let (font_px, small_px) = (metrics.font_px(), px(11.0));
        let (pad, ink) = (px(PAD), ink_on(fill));
        let room = f64::from(w - 2 * pad);
        if h < font_px || room < f64::from(px(16.0)) {
            return;
        }
        let mut put = |text: String, top: i32, high: i32, font_px: i32| {
            let y = Metrics::baseline(top, high, font_px);
            marks.texts.push(Text {
                x: x + pad,
                y,
                text,
                color: ink,
                align: Align::Left,
                font_px,
                bold: false,
            });
        };
        let name = elide_middle(&format::printable(&facts.service), room, self.label);
        let has_two_lines = h >= font_px + small_px + px(6.0);
        let (top, high) = match has_two_lines {
            true => (y + (h - font_px - small_px - px(6.0)) / 2, font_px + px(4.0)),
            false => (y, h),
        };
        if let Some(name) = name {
            put(name, top, high, font_px);
        }
        let below = below_name(self.report, facts);
        // A number that is cut reads as another one.
        if has_two_lines && self.small.text_px(&below) <= room {
            put(below, top + high, small_px + px(2.0), small_px);
        }
    }
}

/// Returns what the tip says of a box or line.
pub fn tip(report: &ServiceMapReport, layout: &MapLayout, hit: DagHit) -> Vec<TipLine> {
    match hit {
        DagHit::Box(DagItem::Node(service)) => {
            report.services.get(service.index()).map(|one| service_tip(report, one)).unwrap_or_default()
        }
        DagHit::Box(_) => Vec::new(),
        DagHit::Line(line) => {
            layout.calls_of(report, line).map(|call| call_tip(report, call)).unwrap_or_default()
        }
    }
}

/// Returns all of a map as an SVG document in its own size; deterministic.
pub fn export_svg(report: &ServiceMapReport, theme: &Theme) -> String {
    let metrics = Metrics::default();
    let [mut label, mut small] = [12.0, 11.0].map(|font_px| Advances { font_px });
    let layout = MapLayout::new(report, metrics, [&mut label, &mut small]);
    let margin = metrics.px(24.0);
    let window = DagWindow { zoom: 1.0, x: f64::from(margin), y: f64::from(margin) };
    let view = MapView { report, window, selected: None, hovered: None, found: None };
    let room = (layout.dag.width + 2 * margin, layout.dag.height + 2 * margin);
    let scene = scene(&layout, &view, room, metrics, theme, [&mut label, &mut small]);
    let say = |item: u32| {
        let DagItem::Node(service) = layout.dag.boxes.get(item as usize)?.item else { return None };
        let lines = service_tip(report, report.services.get(service.index())?);
        let words = lines.into_iter().filter_map(|line| match line {
            TipLine::Strong(text) | TipLine::Text(text) | TipLine::Muted(text) => Some(text),
            _ => None,
        });
        Some(words.collect::<Vec<String>>().join("; "))
    };
    let description =
        "Services, callers left of what they call; the wider a line, the longer requests wait for the calls.";
    svg::write(&scene, &SvgText { title: chart_title(), description, tip: &say })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::verdict::Certainty;
    use pathlight_engine::verdict::service_map::MapTime;

    fn time(mean_us: f64) -> MapTime {
        MapTime { mean_us, ..MapTime::default() }
    }

    /// Returns a map of so many services of which each calls those that these numbers lead to.
    fn report(services: u32, calls: &[(u32, u32)]) -> ServiceMapReport {
        let service = |at: u32| MapService {
            service: format!("service-number-{at:02}-of-the-shop"),
            own: time(f64::from(1000 - at)),
            requests: 10,
            visits: 10,
            ..MapService::default()
        };
        let call = |(at, &(caller, service)): (u32, &(u32, u32))| MapCall {
            caller,
            service,
            wait: time(f64::from(5000 - at)),
            calls: 10,
            failed: u64::from(at == 1),
            ..MapCall::default()
        };
        ServiceMapReport {
            requests: 10,
            latency: time(5000.0),
            services: (0..services).map(service).collect(),
            calls: (0..).zip(calls).map(call).collect(),
            ..ServiceMapReport::default()
        }
    }

    fn laid_out(report: &ServiceMapReport) -> MapLayout {
        let [mut label, mut small] = [12.0, 11.0].map(|font_px| Advances { font_px });
        MapLayout::new(report, Metrics::default(), [&mut label, &mut small])
    }

    fn check(report: &ServiceMapReport) -> MapLayout {
        let layout = laid_out(report);
        assert_eq!(layout.dag.boxes.len(), report.services.len());
        assert_eq!(layout.dag.lines.len(), layout.ways.len());
        for (i, a) in layout.dag.boxes.iter().enumerate() {
            for b in &layout.dag.boxes[i + 1..] {
                let apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
                assert!(apart, "{a:?} and {b:?}");
            }
        }
        let drawn = layout.ways.iter().flat_map(|way| [way.there, way.back]).flatten().count();
        assert_eq!(drawn, report.calls.len(), "every call is on a line");
        for (line, way) in layout.dag.lines.iter().zip(&layout.ways) {
            let number = |item| if let DagItem::Node(node) = item { node.0 } else { u32::MAX };
            let ends = [number(line.from), number(line.to)];
            for (at, is_back) in [(way.there, false), (way.back, true)] {
                let Some(at) = at else { continue };
                let call = &report.calls[at as usize];
                let mut meant = [call.caller, call.service];
                if is_back {
                    meant.reverse();
                }
                assert_eq!(ends, meant);
            }
        }
        layout
    }

    /// Returns a graph of many calls, some of which lead back.
    fn tangle(services: u32) -> ServiceMapReport {
        let mut pairs: Vec<(u32, u32)> = (1..services).map(|at| ((at - 1) / 3, at)).collect();
        pairs.extend((0..services).map(|at| (at, (at * 7 + 3) % services)).filter(|(a, b)| a != b));
        pairs.sort_unstable();
        pairs.dedup();
        report(services, &pairs)
    }

    #[test]
    fn maps_of_5_to_60_services_have_no_box_over_another_and_every_call_on_a_line() {
        for services in [1, 2, 5, 12, 24, 25, 40, 60] {
            check(&tangle(services));
        }
        assert_eq!(laid_out(&report(0, &[])), MapLayout::default());
    }

    #[test]
    fn a_call_that_leads_back_shares_the_line_of_its_pair() {
        let layout = check(&report(3, &[(0, 1), (1, 0), (1, 2), (2, 0)]));
        let both: Vec<_> = layout.ways.iter().map(|way| (way.there, way.back)).collect();
        assert_eq!(both, [(Some(0), Some(1)), (None, Some(3)), (Some(2), None)]);
    }

    #[test]
    fn names_are_whole_and_stay_in_their_boxes_at_the_zoom_a_map_opens_with() {
        for services in [5, 60] {
            let report = tangle(services);
            let layout = check(&report);
            for zoom in [DagWindow::LEGIBLE, 1.0] {
                let window = DagWindow { zoom, x: 10.0, y: 10.0 };
                let view = MapView { report: &report, window, selected: None, hovered: None, found: None };
                let [mut label, mut small] = [12.0, 11.0].map(|font_px| Advances { font_px });
                let size = (9000, 9000);
                let fonts: [&mut dyn MeasureText; 2] = [&mut label, &mut small];
                let scene = scene(&layout, &view, size, Metrics::default(), &Theme::light(), fonts);
                let texts: Vec<&Text> = scene.layers.iter().flat_map(|layer| &layer.texts).collect();
                let whole = texts.iter().filter(|text| text.text.starts_with("service-number-")).count();
                assert_eq!(whole, services as usize, "names of {services} services at {zoom}");
                let told: std::collections::BTreeSet<&str> = texts
                    .iter()
                    .filter(|text| text.font_px == 12 && text.text != "\u{25c2}")
                    .map(|text| text.text.as_str())
                    .collect();
                assert_eq!(told.len(), services as usize, "no two names read the same at {zoom}");
            }
        }
    }

    #[test]
    fn wide_lines_are_long_waits_and_red_ones_fail() {
        let report = report(3, &[(0, 1), (0, 2)]);
        let svg = export_svg(&report, &Theme::light());
        assert_eq!(svg, export_svg(&report, &Theme::light()));
        assert!(
            svg.contains("<title>Map of services</title>") && svg.contains("service-number-02-of-the-shop")
        );
        assert_eq!(svg.matches("stroke-width=\"14\"").count(), 2, "{svg}");
        let red = MapTone::of_call(&report, &report.calls[1]).line(&Theme::light());
        assert_eq!(svg.matches(&format!("stroke=\"{}\"", red.css())).count(), 1);
    }

    #[test]
    fn a_change_is_coloured_only_if_it_is_sure() {
        let mut map = report(2, &[(0, 1)]);
        map.baseline_requests = Some(10);
        let change = |low, high| Some(pathlight_base::statistics::Interval { low, high });
        let at =
            |baseline_us, change_us| MapTime { mean_us: 500.0, baseline_us: Some(baseline_us), change_us };
        for (wait, tone) in [
            (at(100.0, change(300.0, 500.0)), "slower"),
            (at(900.0, change(-500.0, -300.0)), "faster"),
            (at(400.0, change(-50.0, 250.0)), "plain"),
            (at(400.0, None), "plain"),
        ] {
            map.calls[0].wait = wait;
            assert_eq!(MapTone::of_call(&map, &map.calls[0]).key(), tone);
        }
        // A service that is to blame for what its callers wait says that, and not that its own work takes less.
        map.calls[0].wait = at(100.0, change(300.0, 500.0));
        map.services[1].slower = Some(Certainty::Certain);
        map.services[1].own = at(900.0, change(-500.0, -300.0));
        let said = below_name(&map, &map.services[1]);
        assert!(said.starts_with("calls wait +400"), "{said}");
        map.services[1].own = at(100.0, change(300.0, 500.0));
        let said = below_name(&map, &map.services[1]);
        assert!(said.ends_with("s, +400\u{202f}µs"), "{said}");
    }
}
