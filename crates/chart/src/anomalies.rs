//! How odd requests are over time: a dot for each, the oddest on top, and the line above which they are abnormal.

use super::Theme;
use super::axis::{Scale, Unit, ValueAxis};
use super::plot::{self, ChartError, ChartSize, rgba, words};
use pathlight_analysis::anomaly::AnomalyReport;
use pathlight_text::format;
use plotters::element::{Circle, PathElement, Text};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;

/// Room around the dots in CSS pixels: left, right, top, bottom.
const AROUND_PX: (f64, f64, f64, f64) = (56.0, 16.0, 12.0, 26.0);
/// How near the pointer must be to a dot.
const REACH_PX: f64 = 7.0;

/// Where the dots stand, in device pixels.
#[derive(Clone, Debug)]
pub struct AnomalyLayout {
    size: ChartSize,
    /// Microseconds since the first request, to pixels; `None` if all began at once.
    axis: Option<ValueAxis>,
    start_us: u64,
    /// The greatest number of digits of a p-value.
    depth: f64,
    /// Centre of the dot of each row of the report.
    dots: Vec<(i32, i32)>,
}

/// The smaller p-value as how many times ten goes into one over it: 0 is ordinary, 3 is one in a thousand.
fn oddness(p_structure: f64, p_time: f64, least: f64) -> f64 {
    -p_structure.min(p_time).max(least).log10()
}

impl AnomalyLayout {
    /// The layout of a report in a room.
    pub fn new(report: &AnomalyReport, size: ChartSize) -> AnomalyLayout {
        let px = |css: f64| size.px(css);
        let starts = || report.rows.iter().map(|row| row.start_us);
        let (start_us, end_us) = (starts().min().unwrap_or(0), starts().max().unwrap_or(0));
        let ends = (px(AROUND_PX.0), size.width - px(AROUND_PX.1));
        let axis = ValueAxis::new(ends, (0.0, (end_us - start_us) as f64), Scale::Linear, Unit::Time);
        // A p-value is never below one over the number of training requests; an auto-encoder's may be.
        let least = 0.1 / (report.trained as f64 + 1.0);
        let odd = |row: &pathlight_analysis::anomaly::AnomalyRow| oddness(row.p_structure, row.p_time, least);
        let depth = report.rows.iter().map(odd).fold(-report.alpha.log10() + 0.5, f64::max) * 1.05;
        let mut layout = AnomalyLayout { size, axis, start_us, depth, dots: Vec::new() };
        let dots = report.rows.iter().map(|row| {
            let x = match &layout.axis {
                Some(axis) => axis.pixel((row.start_us - start_us) as f64),
                None => (ends.0 + ends.1) / 2,
            };
            (x, layout.height(odd(row)))
        });
        layout.dots = dots.collect();
        layout
    }

    fn height(&self, oddness: f64) -> i32 {
        let (top, bottom) = (self.size.px(AROUND_PX.2), self.size.height - self.size.px(AROUND_PX.3));
        bottom - ((oddness / self.depth).clamp(0.0, 1.0) * f64::from(bottom - top)) as i32
    }

    /// The row of the report whose dot is nearest to a pixel, if it is near; of several the oddest.
    pub fn row_at(&self, (x, y): (i32, i32)) -> Option<usize> {
        let reach = i64::from(self.size.px(REACH_PX));
        let far = |&(dx, dy): &(i32, i32)| {
            let (dx, dy) = (i64::from(dx - x), i64::from(dy - y));
            dx * dx + dy * dy
        };
        let near = self.dots.iter().enumerate().map(|(row, dot)| (far(dot), row));
        near.filter(|(far, _)| *far <= reach * reach).min().map(|(_, row)| row)
    }
}

/// Draws the dots on a backend as large as the layout.
///
/// # Errors
/// The backend's, in words.
pub fn draw<DB: DrawingBackend>(
    backend: DB,
    report: &AnomalyReport,
    layout: &AnomalyLayout,
    theme: &Theme,
) -> Result<(), ChartError> {
    let size = layout.size;
    let px = |css: f64| size.px(css);
    plot::on_backend(backend, theme, |area| {
        if report.rows.is_empty() {
            return Ok(());
        }
        let (left, right) = (px(AROUND_PX.0), size.width - px(AROUND_PX.1));
        let style = size.text(theme.muted, HPos::Right, VPos::Center);
        for digits in 0..=layout.depth as i32 {
            let y = layout.height(f64::from(digits));
            area.draw(&PathElement::new(vec![(left, y), (right, y)], rgba(theme.line))).map_err(words)?;
            let label = if digits == 0 { "1".to_owned() } else { format!("0.{:0>1$}", 1, digits as usize) };
            area.draw(&Text::new(label, (left - px(6.0), y), style.clone())).map_err(words)?;
        }
        // Either p-value has half of the accepted false alarms.
        let y = layout.height(-(report.alpha / 2.0).log10());
        let stroke = rgba(theme.accent).stroke_width(px(1.0) as u32);
        area.draw(&PathElement::new(vec![(left, y), (right, y)], stroke)).map_err(words)?;
        // The ordinary first, so that no odd one is hidden.
        let rows = report.rows.iter().zip(&layout.dots);
        let (odd, plain): (Vec<_>, Vec<_>) = rows.partition(|(row, _)| row.is_abnormal);
        for (_, dot) in plain {
            area.draw(&Circle::new(*dot, px(1.5), rgba(theme.muted.with_alpha(0.5)).filled()))
                .map_err(words)?;
        }
        for (_, dot) in odd {
            area.draw(&Circle::new(*dot, px(3.0), rgba(theme.accent).filled())).map_err(words)?;
        }
        let y = size.height - px(AROUND_PX.3);
        if let Some(axis) = &layout.axis {
            plot::draw_axis(area, (left, right), axis, y, size, theme)?;
        }
        let style = size.text(theme.muted, HPos::Left, VPos::Top);
        let since = format!("since {}", format::moment(layout.start_us));
        area.draw(&Text::new(since, (left, px(1.0)), style)).map_err(words)
    })
}

/// The picture as an SVG document; deterministic.
///
/// # Errors
/// As [`draw`].
pub fn export_svg(
    report: &AnomalyReport,
    size: ChartSize,
    theme: &Theme,
    title: &str,
) -> Result<String, ChartError> {
    let layout = AnomalyLayout::new(report, size);
    plot::document(size, title, |backend| draw(backend, report, &layout, theme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metrics;
    use pathlight_analysis::anomaly::AnomalyRow;
    use pathlight_analysis::critical_path::RequestRef;

    fn report(rows: &[(u64, f64)]) -> AnomalyReport {
        let row = |&(start_us, p): &(u64, f64)| AnomalyRow {
            request: RequestRef { trace_id: "1".into(), root_span_id: "2".into(), latency_us: 3 },
            start_us,
            p_structure: 1.0,
            p_time: p,
            is_abnormal: p < 0.005,
            reasons: Vec::new(),
            nearest: None,
        };
        let rows = rows.iter().map(row).collect();
        AnomalyReport { alpha: 0.01, trained: 999, rows, ..AnomalyReport::default() }
    }

    #[test]
    fn odd_requests_stand_on_top_and_are_found_there() {
        let report = report(&[(2_000_000, 0.001), (1_000_000, 0.4), (3_000_000, 1.0)]);
        let size = ChartSize { width: 600, height: 200, metrics: Metrics::default() };
        let layout = AnomalyLayout::new(&report, size);
        let [odd, left, right] = [layout.dots[0], layout.dots[1], layout.dots[2]];
        assert!(odd.1 < left.1 && left.1 < right.1 && left.0 < odd.0 && odd.0 < right.0);
        assert!(odd.1 < layout.height(-(0.005f64).log10()) && left.1 > layout.height(-(0.005f64).log10()));
        for (row, dot) in layout.dots.iter().enumerate() {
            assert_eq!(layout.row_at((dot.0 + 2, dot.1 - 2)), Some(row));
        }
        assert_eq!(layout.row_at((0, 0)), None);
    }

    #[test]
    fn the_picture_says_its_scale_and_none_is_empty() {
        let size = ChartSize { width: 600, height: 200, metrics: Metrics::default() };
        let rows = [(0, 0.001), (5_000_000, 0.5)];
        let svg = export_svg(&report(&rows), size, &Theme::light(), "odd").unwrap();
        for word in ["0.01", "0.001", "<title>odd", "since "] {
            assert!(svg.contains(word), "{word}");
        }
        assert!(export_svg(&report(&[]), size, &Theme::dark(), "").unwrap().contains("</svg>"));
        assert!(export_svg(&report(&rows[..1]), size, &Theme::dark(), "").unwrap().contains("circle"));
    }
}
