//! The time of messages in queues as a chart: a bar for each edge on one logarithmic axis, and one for each set where two
//! are compared.

use super::QueueRow;
use crate::draw::axis::{AxisUnit, Scale, ValueAxis};
use crate::draw::plot::{self, ChartError, ChartSize, rgba, words};
use crate::draw::text::{Advances, elide_middle};
use crate::draw::{MeasureText as _, Theme};
use pathlight_base::format;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;

/// Height of an edge: of one set, and of two.
const ROW_PX: [f64; 2] = [28.0, 44.0];
/// Room above the first row, for the names of marks, and below the last one, for the axis.
const TOP_PX: f64 = 18.0;
const BOTTOM_PX: f64 = 26.0;
/// Room beside a name.
const NAME_GAP_PX: f64 = 16.0;
/// Rows drawn at most; the table has all.
const MOST: usize = 40;

/// Layout of the chart, in device pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct QueueLayout {
    /// The room; as high as all rows need.
    pub size: ChartSize,
    axis: Option<ValueAxis>,
    row: i32,
    rows: usize,
}

impl QueueLayout {
    /// Returns the layout of edges in a room.
    pub fn new(edges: &[QueueRow], room: ChartSize) -> QueueLayout {
        let is_of_two = edges.iter().any(|row| row.is_of_two);
        let (rows, row) = (edges.len().min(MOST), room.px(ROW_PX[usize::from(is_of_two)]));
        let height = room.height.max(room.px(TOP_PX) + row * rows as i32 + room.px(BOTTOM_PX));
        let mut measure = Advances { font_px: f64::from(room.metrics.font_px()) };
        let names = edges.iter().take(rows).map(|row| measure.text_px(&super::short_name(row.edge())));
        let longest = names.fold(0.0, f64::max).ceil() as i32 + room.px(NAME_GAP_PX);
        let left = longest.clamp(room.px(48.0), (room.width / 3).clamp(room.px(64.0), room.px(260.0)));
        let right = room.width - room.px(76.0);
        let times = || edges.iter().flat_map(QueueRow::sides).map(|(_, edge)| edge.wait_us);
        let most_us = times().map(|us| us.max).max().unwrap_or(0).max(1) as f64;
        let least_us = times().map(|us| us.p50).fold(most_us, f64::min);
        let axis = ValueAxis::new((left, right), (least_us / 2.0, most_us), Scale::Log, AxisUnit::Time);
        QueueLayout { size: ChartSize { height, ..room }, axis, row, rows }
    }

    /// Returns the row at a height.
    pub fn row_at(&self, y: i32) -> Option<usize> {
        let row = (y - self.size.px(TOP_PX)).div_euclid(self.row.max(1));
        usize::try_from(row).ok().filter(|row| *row < self.rows)
    }
}

/// Draws the edges on a backend as large as the layout: from p50 to p95 a bar, a line on to p99 and a thin one to the
/// longest wait. Those that a search does not find are grey (`found`; `None`: nothing is searched for).
///
/// # Errors
/// The backend's, in words.
pub fn draw<DB: DrawingBackend>(
    backend: DB,
    edges: &[QueueRow],
    layout: &QueueLayout,
    found: Option<&[bool]>,
    theme: &Theme,
) -> Result<(), ChartError> {
    let size = layout.size;
    let px = |css: f64| size.px(css);
    plot::on_backend(backend, theme, |area| {
        let Some(axis) = layout.axis else { return Ok(()) };
        for (at, row) in edges.iter().take(layout.rows).enumerate() {
            let top = px(TOP_PX) + layout.row * at as i32;
            let is_found = found.is_none_or(|found| found.get(at).copied().unwrap_or(true));
            let style = size.text(if is_found { theme.text } else { theme.muted }, HPos::Right, VPos::Center);
            let room = axis.left - px(NAME_GAP_PX) + px(4.0);
            if let Some(label) =
                plot::fitting(area, &super::short_name(row.edge()), room, &style, elide_middle)
            {
                let at = (axis.left - px(8.0), top + layout.row / 2);
                area.draw(&Text::new(label, at, style)).map_err(words)?;
            }
            let sides = row.sides();
            let (gap, lanes) = (px(4.0), if row.is_of_two { 2 } else { 1 });
            let lane = (layout.row - gap) / lanes;
            for (name, edge) in sides {
                let number = i32::from(name == "B");
                let (up, down) =
                    (top + gap / 2 + lane * number + px(1.0), top + gap / 2 + lane * (number + 1) - px(1.0));
                let color = match (is_found, name) {
                    (false, _) => theme.line,
                    (true, "A") => theme.muted,
                    (true, _) => theme.accent,
                };
                let middle = (up + down) / 2;
                let times = edge.wait_us;
                let x = |us: f64| axis.pixel(us);
                let line = |from: f64, to: f64, wide: f64| {
                    let stroke = rgba(color).stroke_width(px(wide).max(1) as u32);
                    area.draw(&PathElement::new(vec![(x(from), middle), (x(to), middle)], stroke))
                        .map_err(words)
                };
                line(times.p95, times.p99, 3.0)?;
                line(times.p99, times.max as f64, 1.0)?;
                let ends = [(x(times.p50), up), (x(times.p95).max(x(times.p50) + px(2.0)), down)];
                area.draw(&Rectangle::new(ends, rgba(color.with_alpha(0.45)).filled())).map_err(words)?;
                let inset = px(2.0);
                for us in [times.p50, times.p95] {
                    plot::draw_mark(area, &axis, (up, down), us, size, theme)?;
                }
                plot::draw_mark(area, &axis, (up + inset, down - inset), times.p99, size, theme)?;
                let said = size.text(theme.muted, HPos::Left, VPos::Center);
                let n = match name {
                    "" => format::sample(edge.messages),
                    name => format!("{name}: {}", format::sample(edge.messages)),
                };
                area.draw(&Text::new(n, (axis.right + px(8.0), middle), said)).map_err(words)?;
            }
        }
        if let Some((_, first)) = edges.first().and_then(|row| row.sides().first().copied()) {
            let times = first.wait_us;
            let marks = [("p50", times.p50), ("p95", times.p95), ("p99", times.p99)];
            plot::name_marks(area, &axis, px(TOP_PX), &marks, size, theme)?;
        }
        let y = px(TOP_PX) + layout.row * layout.rows as i32;
        plot::draw_axis(area, (axis.left, axis.right), &axis, y, size, theme)
    })
}

/// Returns the chart as an SVG document; deterministic.
///
/// # Errors
/// As [`draw`].
pub fn export_svg(edges: &[QueueRow], room: ChartSize, theme: &Theme) -> Result<String, ChartError> {
    let layout = QueueLayout::new(edges, room);
    plot::document(layout.size, "Time of messages in queues", |backend| {
        draw(backend, edges, &layout, None, theme)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Metrics;
    use pathlight_base::statistics::Percentiles;
    use pathlight_engine::queues::{QueueEdge, QueuesReport};
    use pathlight_trace::Endpoint;

    fn report(destination: &str, p50: f64) -> QueuesReport {
        let edge = QueueEdge {
            sender: Endpoint::new("shop", "send"),
            receiver: Endpoint::new("mail", "handle"),
            destination: destination.to_owned(),
            messages: 7,
            wait_us: Percentiles { mean: p50, p50, p95: 2.0 * p50, p99: 3.0 * p50, max: 4 * p50 as u64 },
            sum_us: 7,
            ..QueueEdge::default()
        };
        QueuesReport { edges: vec![edge], ..QueuesReport::default() }
    }

    fn svg(rows: &[QueueRow]) -> String {
        let room = ChartSize { width: 800, height: 100, metrics: Metrics::default() };
        export_svg(rows, room, &Theme::light()).unwrap()
    }

    #[test]
    fn each_side_of_an_edge_is_a_bar() {
        let of_one = QueueRow::of(None, &report("orders", 1000.0));
        let one = svg(&of_one);
        assert!(one.contains("orders") && one.contains("n = 7") && one.contains("p95"), "{one}");
        let of_two = QueueRow::of(Some(&report("orders", 500.0)), &report("orders", 1000.0));
        assert_eq!(of_two.len(), 1);
        let two = svg(&of_two);
        assert!(two.contains("A: n = 7") && two.contains("B: n = 7"), "{two}");
        let bars = |svg: &str| svg.matches("<rect").count();
        assert_eq!(bars(&two) - bars(&one), 1);
    }

    #[test]
    fn what_only_one_side_has_is_there_too_and_that_of_a_comes_last() {
        let rows = QueueRow::of(Some(&report("old", 500.0)), &report("new", 1000.0));
        let names: Vec<(&str, bool)> =
            rows.iter().map(|row| (row.edge().destination.as_str(), row.b.is_some())).collect();
        assert_eq!(names, [("new", true), ("old", false)]);
        assert!(svg(&rows).contains("old"));
        assert!(svg(&[]).contains("</svg>"));
    }

    #[test]
    fn rows_are_found_where_they_stand() {
        let rows = QueueRow::of(Some(&report("old", 500.0)), &report("new", 1000.0));
        let room = ChartSize { width: 800, height: 100, metrics: Metrics::default() };
        let layout = QueueLayout::new(&rows, room);
        assert_eq!(layout.size.height, 18 + 2 * 44 + 26);
        let found = [0, 18, 61, 62, 105, 106].map(|y| layout.row_at(y));
        assert_eq!(found, [None, Some(0), Some(0), Some(1), Some(1), None]);
    }
}
