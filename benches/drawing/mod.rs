//! What drawing costs before the canvas: layouts and pixels.

use crate::shared::row;
use pathlight::analysis::critical_path::{EndpointRow, EndpointsReport, HeatmapReport};
use pathlight::analysis::ids::EndpointId;
use pathlight::chart::heatmap::{self, HeatModel, HeatSize, HeatView};
use pathlight::chart::text::Advances;
use pathlight::chart::{Metrics, Theme, Window};
use pathlight::model::trace::Endpoint;
use std::hint::black_box;

/// A frame of a heat map of 1,000 endpoints and 10,000 requests, 100 endpoints in each: what a canvas of 1400 by 700
/// pixels takes to lay out and to colour.
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
            rows: vec![EndpointRow::default(); rows as usize],
            ..EndpointsReport::default()
        },
        column_requests: vec![1; columns as usize],
        column_latency_us: (0..u64::from(columns)).map(|column| 1000 + column).collect(),
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
    let order: Vec<_> = (0..rows).map(EndpointId).collect();
    let size = HeatSize { width: 1400, height: 700, metrics: Metrics::default() };
    let theme = Theme::light();
    for (what, window) in
        [("all columns", Window::full(u64::from(columns))), ("300 columns", Window::of(2000, 2300))]
    {
        let view = HeatView { order: &order, window, scroll_px: 4000, step_px: 1, selected: None };
        let seconds = seconds_of(&mut || {
            let layout = heatmap::layout(&model, &view, size, &mut Advances { font_px: 12.0 });
            black_box(heatmap::raster(&layout, &theme));
        });
        put(&format!("heat map frame, {what}"), seconds);
    }
    put("heat map model", seconds_of(&mut || drop(black_box(HeatModel::new(&report)))));
    out
}
