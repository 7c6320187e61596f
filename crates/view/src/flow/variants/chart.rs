//! The flows of variants side by side.

use super::variant_words;
use crate::draw::scene::Align;
use crate::draw::svg::{self, SvgText};
use crate::draw::text::{Advances, elide};
use crate::draw::{Layer, MeasureText, Metrics, Scene, Text, Theme};
use crate::flow::chart::{DagLayout, DagView, DagWindow, scene as flow_scene};
use pathlight_base::format::{duration, endpoint, share};
use pathlight_engine::flow::FlowVariantsReport;

/// Flows that are drawn at most.
pub const DRAWN: usize = 4;
/// Width of an exported chart.
const EXPORT_PX: i32 = 1200;
/// Room around a flow, in CSS pixels: a word under its start or return.
const MARGIN: f64 = 24.0;
/// Height of the two lines above a flow.
const HEAD: f64 = 40.0;
/// Height where no call is drawn.
const LEAST: f64 = 24.0;

/// A flow with its place.
#[derive(Clone, Debug)]
struct Cell {
    x: i32,
    y: i32,
    width: i32,
    layout: DagLayout,
    zoom: f64,
}

/// Flows of variants laid out.
#[derive(Clone, Debug, Default)]
pub struct VariantsLayout {
    cells: Vec<Cell>,
    /// Width in device pixels.
    pub width: i32,
    /// Height in device pixels.
    pub height: i32,
}

impl VariantsLayout {
    /// Lays out the most common variants, as many beside each other as can be read in a room of this width.
    pub fn new(report: &FlowVariantsReport, width: i32, metrics: Metrics) -> VariantsLayout {
        let flows: Vec<_> = report.variants.iter().take(DRAWN).map(|variant| &variant.flow).collect();
        let margin = metrics.px(MARGIN);
        let laid = |columns: usize| -> (i32, Vec<DagLayout>) {
            let own = width / columns as i32;
            (own, flows.iter().map(|flow| DagLayout::fitting(flow, metrics, own)).collect())
        };
        let zoom = |own: i32, layout: &DagLayout| {
            (f64::from(own - 2 * margin) / f64::from(layout.width.max(1))).min(1.0)
        };
        let columns = (2..=flows.len()).rev().find(|&columns| {
            let (own, layouts) = laid(columns);
            layouts.iter().all(|layout| zoom(own, layout) >= DagWindow::LEGIBLE)
        });
        let columns = columns.unwrap_or(1);
        let (own, layouts) = laid(columns);
        let mut out = VariantsLayout { width, ..VariantsLayout::default() };
        let mut high = 0;
        for (at, layout) in layouts.into_iter().enumerate() {
            if at % columns == 0 {
                out.height += high;
                high = 0;
            }
            let zoom = zoom(own, &layout).max(0.05);
            let tall = (f64::from(layout.height) * zoom).ceil() as i32;
            high = high.max(metrics.px(HEAD) + tall.max(metrics.px(LEAST)) + margin);
            let x = own * (at % columns) as i32;
            out.cells.push(Cell { x, y: out.height, width: own, layout, zoom });
        }
        out.height += high;
        out
    }
}

/// Paints flows that were laid out. `label` measures text of [`Metrics::font_px`], `small` of one CSS pixel less.
pub fn scene(
    layout: &VariantsLayout,
    report: &FlowVariantsReport,
    metrics: Metrics,
    theme: &Theme,
    [label, small]: [&mut dyn MeasureText; 2],
) -> Scene {
    let mut out = Scene::new(layout.width, layout.height, Some(theme.background));
    let mut heads = Layer::default();
    let margin = metrics.px(MARGIN);
    for (at, (cell, variant)) in layout.cells.iter().zip(&report.variants).enumerate() {
        let of_all = variant.invocations as f64 / report.invocations.max(1) as f64;
        let left = f64::from(cell.width - margin);
        let said = format!("{}, p50 {}", share(of_all), duration(variant.flow.latency_us.p50));
        let lines = [
            (said, metrics.font_px(), true, theme.text),
            (variant_words(report, at), metrics.px(11.0), false, theme.muted),
        ];
        let mut y = cell.y + metrics.px(6.0);
        for (text, font_px, bold, color) in lines {
            let high = font_px + metrics.px(4.0);
            let measure: &mut dyn MeasureText = if bold { &mut *label } else { &mut *small };
            if let Some(text) = elide(&text, left, measure) {
                let y = Metrics::baseline(y, high, font_px);
                heads.texts.push(Text {
                    x: cell.x + margin / 2,
                    y,
                    text,
                    color,
                    align: Align::Left,
                    font_px,
                    bold,
                });
            }
            y += high;
        }
        let window = DagWindow {
            zoom: cell.zoom,
            x: f64::from(cell.x + margin),
            y: f64::from(cell.y + metrics.px(HEAD)),
        };
        let view = DagView {
            report: &variant.flow,
            window,
            selected: None,
            hovered: None,
            changed: &[],
            found: None,
        };
        let room = (layout.width, layout.height);
        let flow = flow_scene(&cell.layout, &view, room, metrics, theme, [&mut *label, &mut *small]);
        out.layers.extend(flow.layers);
    }
    out.layers.push(heads);
    out.finish()
}

/// Returns the flows as an SVG document; deterministic.
pub fn export_svg(report: &FlowVariantsReport, theme: &Theme) -> String {
    let metrics = Metrics::default();
    let layout = VariantsLayout::new(report, metrics.px(f64::from(EXPORT_PX)), metrics);
    let (mut label, mut small) = (
        Advances { font_px: f64::from(metrics.font_px()) },
        Advances { font_px: f64::from(metrics.px(11.0)) },
    );
    let scene = scene(&layout, report, metrics, theme, [&mut label, &mut small]);
    let title = format!("Variants of {}", endpoint(&report.parent.service, &report.parent.operation));
    let description = "The flow of each variant, calls from left to right; a line means that the call at its right end waits \
                       for the one at its left.";
    svg::write(&scene, &SvgText { title: &title, description, tip: &|_| None })
}
