//! The time of drawing before the canvas: layouts and pixels.

use crate::shared::row;
use pathlight::engine::endpoints::{EndpointTotals, EndpointsReport};
use pathlight::engine::flow::{FlowEdge, FlowNode, FlowReport};
use pathlight::engine::heatmap::HeatmapReport;
use pathlight::engine::ids::{NodeId, ReportEndpoint};
use pathlight::trace::Endpoint;
use pathlight::view::draw::text::Advances;
use pathlight::view::draw::{Metrics, Theme, Window};
use pathlight::view::flow::chart::{DagLayout, DagSizes};
use pathlight::view::heatmap;
use pathlight::view::heatmap::chart::{HeatModel, HeatSize, HeatView};
use std::hint::black_box;

/// Measures the layout of a flow of 200 calls in 20 waves of 10: each waits for 3 calls of the wave before, and every
/// fifth for one of two waves before.
pub fn flow(seconds_of: impl Fn(&mut dyn FnMut()) -> f64) -> Vec<String> {
    let (waves, calls) = (20u32, 10u32);
    let mut report = FlowReport::default();
    for node in 0..waves * calls {
        let (wave, call) = (node / calls, node % calls);
        report.nodes.push(FlowNode {
            label: format!("service {}:op {node}", node % 40),
            service: format!("service {}", node % 40),
            operation: format!("op {node}"),
            index: 1,
            invocations: 1000,
            latency_us: Default::default(),
            wait_us: Default::default(),
            histogram: Default::default(),
            critical: 0,
            has_calls: false,
        });
        let mut edge = |from: Option<u32>, to: Option<u32>| {
            let [from, to] = [from, to].map(|node| node.map(NodeId));
            report.edges.push(FlowEdge { from, to, both: 1000, holds: 1000, binding: 300 });
        };
        match wave.checked_sub(1) {
            None => edge(None, Some(node)),
            Some(before) => (0..3).for_each(|at| {
                edge(Some(before * calls + (7 * call + 3 * at) % calls), Some(node));
            }),
        }
        if wave > 1 && call % 5 == 0 {
            edge(Some((wave - 2) * calls + (call + 1) % calls), Some(node));
        }
        if wave == waves - 1 {
            edge(Some(node), None);
        }
    }
    let sizes = DagSizes::for_nodes(report.nodes.len(), Metrics::default());
    let seconds = seconds_of(&mut || drop(black_box(DagLayout::new(&report, sizes))));
    let what = format!("layout of a flow of {} calls", report.nodes.len());
    vec![row("Drawing, native", &what, seconds * 1e3, "ms", "< 100")]
}

/// Measures a frame of a heat map of 1,000 endpoints and 10,000 requests, 100 endpoints in each: what a canvas of 1400
/// by 700 pixels takes to lay out and to colour.
pub fn heat_map(seconds_of: impl Fn(&mut dyn FnMut()) -> f64) -> Vec<String> {
    let mut out = Vec::new();
    let mut put = |what: &str, seconds: f64| {
        out.push(row(
            "Drawing, native",
            &format!("{what}, 1,000 endpoints and 10,000 requests"),
            seconds * 1e3,
            "ms",
            "",
        ));
    };
    let (rows, columns) = (1000u32, 10_000u32);
    let mut report = HeatmapReport {
        rows: EndpointsReport {
            endpoints: (0..rows)
                .map(|row| Endpoint::new(format!("service {}", row % 40), format!("op {row}")))
                .collect(),
            rows: vec![EndpointTotals::default(); rows as usize],
            ..EndpointsReport::default()
        },
        column_requests: vec![1; columns as usize],
        column_latency_us: (0..u128::from(columns)).map(|column| 1000 + column).collect(),
        ..HeatmapReport::default()
    };
    for column in 0..columns {
        for cell in 0..100 {
            report.cell_row.push(cell * 10 + (column * 7 + cell) % 10);
            report.cell_us.push(10);
            report.cell_share_ppm.push((column * 31 + cell * 977) % 20_000);
        }
        report.column_ends.push(report.cell_row.len() as u32);
    }
    let model = HeatModel::new(&report);
    let order: Vec<_> = (0..rows).map(ReportEndpoint).collect();
    let size = HeatSize { width: 1400, height: 700, metrics: Metrics::default() };
    let theme = Theme::light();
    for (what, window) in
        [("all columns", Window::full(u64::from(columns))), ("300 columns", Window::of(2000, 2300))]
    {
        let view = HeatView { order: &order, window, scroll_px: 4000, step_px: 1, selected: None };
        let seconds = seconds_of(&mut || {
            let layout = heatmap::chart::layout(&model, &view, size, &mut Advances { font_px: 12.0 });
            black_box(heatmap::chart::raster(&layout, &theme));
        });
        put(&format!("heat map frame, {what}"), seconds);
    }
    put("heat map model", seconds_of(&mut || drop(black_box(HeatModel::new(&report)))));
    out
}
