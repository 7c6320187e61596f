//! The part of a heat map in its window: rows, runs of equal colour, and the latency above them, in device pixels.

use super::{HeatModel, heat_of_share};
use crate::draw::text::{elide_operation, elide_start};
use crate::draw::{MeasureText, Metrics, Window};
use pathlight_engine::ids::ReportEndpoint;
use std::ops::Range;

/// The room for a heat map.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HeatSize {
    /// Width in device pixels.
    pub width: i32,
    /// Height in device pixels.
    pub height: i32,
    /// Device pixels per CSS pixel.
    pub metrics: Metrics,
}

impl HeatSize {
    /// Returns the height of a row.
    pub fn row_px(&self) -> i32 {
        self.metrics.px(18.0)
    }

    /// Returns the width of the names at the left.
    pub fn gutter_px(&self) -> i32 {
        self.metrics.px(230.0).min(self.width * 2 / 5)
    }

    /// Returns the height of the latency strip at the top.
    pub fn head_px(&self) -> i32 {
        self.metrics.px(34.0)
    }

    /// Returns the width of the cells.
    pub fn plot_px(&self) -> i32 {
        (self.width - self.gutter_px()).max(1)
    }

    /// Returns how far so many rows can be scrolled.
    pub fn scroll_end(&self, rows: usize) -> i64 {
        let room = i64::from((self.height - self.head_px()).max(0));
        (rows as i64 * i64::from(self.row_px()) - room).max(0)
    }
}

/// The part of a heat map that is shown, and its look.
#[derive(Clone, Copy, Debug)]
pub struct HeatView<'a> {
    /// Rows from top to bottom, as numbers of the model.
    pub order: &'a [ReportEndpoint],
    /// The columns that are shown.
    pub window: Window,
    /// Distance it is scrolled down, in device pixels.
    pub scroll_px: i64,
    /// The narrowest run of columns that is drawn by itself, in device pixels.
    pub step_px: i32,
    /// The selected row.
    pub selected: Option<ReportEndpoint>,
}

/// A row in sight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HeatRow {
    /// Number of the row in the model.
    pub row: ReportEndpoint,
    /// Upper edge.
    pub y: i32,
    /// Name of the row, cut to fit.
    pub label: String,
    /// Selected.
    pub selected: bool,
}

/// Neighbouring cells of one colour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeatRun {
    /// Index of its row in [`HeatLayout::rows`].
    pub place: u32,
    /// Left edge, from the left edge of the cells.
    pub x: i32,
    /// Width.
    pub w: i32,
    /// Place on the sequential map in thousandths.
    pub heat: u16,
}

/// A run of columns that share their pixels.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Bin {
    x: i32,
    w: i32,
    columns: Range<u32>,
}

/// Layout of the part in sight.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct HeatLayout {
    /// Width in device pixels.
    pub width: i32,
    /// Height in device pixels.
    pub height: i32,
    /// Left edge of the cells.
    pub gutter: i32,
    /// Upper edge of the cells.
    pub head: i32,
    /// Height of a row.
    pub row_px: i32,
    /// The rows from top to bottom; the first and the last may stand out.
    pub rows: Vec<HeatRow>,
    /// Their cells, row by row from left to right; where nothing is, no time is.
    pub runs: Vec<HeatRun>,
    /// Mean latency above the cells: left edge (from that of the cells), width, height.
    pub bars: Vec<[i32; 3]>,
    bins: Vec<Bin>,
}

/// The item under a pixel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum HeatHit {
    /// Cells: the row, and the columns that share the pixel.
    Cells(ReportEndpoint, Range<u32>),
    /// The latency of columns.
    Head(Range<u32>),
    /// The name of a row.
    Label(ReportEndpoint),
}

/// Lays out what a view shows of a model. Names are measured by `measure`.
pub fn layout(
    model: &HeatModel,
    view: &HeatView,
    size: HeatSize,
    measure: &mut dyn MeasureText,
) -> HeatLayout {
    let (row_px, gutter, head) = (size.row_px(), size.gutter_px(), size.head_px());
    let bins = bins(model, view, size.plot_px());
    let mut out =
        HeatLayout { width: size.width, height: size.height, gutter, head, row_px, ..HeatLayout::default() };
    let most = model.most_latency_us();
    if most > 0.0 {
        let room = f64::from(head - size.metrics.px(4.0));
        let bar = |bin: &Bin| {
            let height = (model.latency_us(&bin.columns) / most * room).round() as i32;
            [bin.x, bin.w, height.max(1)]
        };
        out.bars = bins.iter().map(bar).collect();
    }
    let scroll_px = view.scroll_px.max(0);
    let first = (scroll_px / i64::from(row_px)) as usize;
    let (pad, room) = (size.metrics.px(6.0), f64::from(gutter - 2 * size.metrics.px(6.0)));
    for (place, &row) in view.order.iter().enumerate().skip(first) {
        let y = (place as i64 * i64::from(row_px) - scroll_px) as i32 + head;
        if y >= size.height {
            break;
        }
        let number = out.rows.len() as u32;
        // Of endpoints that differ by their service alone, the operation says nothing.
        let elided = if model.is_ambiguous(row) { elide_start } else { elide_operation };
        let label = if gutter > 4 * pad { elided(model.label(row), room, measure) } else { None };
        let selected = view.selected == Some(row);
        out.rows.push(HeatRow { row, y, label: label.unwrap_or_default(), selected });
        for (at, ppm) in model.shares(row, bins.iter().map(|bin| bin.columns.clone())) {
            let (bin, heat) = (&bins[at], heat_of_share(ppm));
            match out.runs.last_mut() {
                Some(last) if last.place == number && last.heat == heat && last.x + last.w == bin.x => {
                    last.w += bin.w;
                }
                _ => out.runs.push(HeatRun { place: number, x: bin.x, w: bin.w, heat }),
            }
        }
    }
    out.bins = bins;
    out
}

/// Returns the columns of a window, put together where several share a pixel.
fn bins(model: &HeatModel, view: &HeatView, width: i32) -> Vec<Bin> {
    let columns = model.columns();
    if columns == 0 {
        return Vec::new();
    }
    let step = view.step_px.max(1);
    let window = view.window;
    let mut out: Vec<Bin> = Vec::new();
    if window.width() * f64::from(step) <= f64::from(width) {
        let pixels = window.pixels(width);
        let (from, to) = (window.from.floor().max(0.0) as u32, (window.to.ceil() as u32).min(columns));
        for column in from..to {
            let x = pixels.of(u64::from(column)).max(0);
            // The last one ends with the window, whatever rounding says.
            let end = if column + 1 == to { width } else { pixels.of(u64::from(column) + 1).min(width) };
            if end > x {
                out.push(Bin { x, w: end - x, columns: column..column + 1 });
            }
        }
        return out;
    }
    let mut x = 0;
    let mut from = window.from.max(0.0) as u32;
    while x < width && from < columns {
        let end = (x + step).min(width);
        let last = window.at(f64::from(end), width);
        let to = if end == width { last.ceil() } else { last.floor() };
        let to = (to as u32).clamp(from + 1, columns);
        out.push(Bin { x, w: end - x, columns: from..to });
        (x, from) = (end, to);
    }
    out
}

impl HeatLayout {
    /// Returns the columns under a pixel, whatever the row.
    pub fn columns_at(&self, x: i32) -> Option<Range<u32>> {
        let x = x - self.gutter;
        let at = self.bins.partition_point(|bin| bin.x + bin.w <= x);
        self.bins.get(at).filter(|bin| x >= bin.x).map(|bin| bin.columns.clone())
    }

    /// Returns the columns from one pixel to another; pixels outside count as the nearest inside.
    pub fn columns_between(&self, a: i32, b: i32) -> Option<Range<u32>> {
        let (first, last) = (self.bins.first()?, self.bins.last()?);
        let inside = |x: i32| x.clamp(self.gutter + first.x, self.gutter + last.x + last.w - 1);
        let (from, to) = (self.columns_at(inside(a.min(b)))?, self.columns_at(inside(a.max(b)))?);
        Some(from.start..to.end)
    }

    /// Returns the left edge and width of some columns in sight, from the left edge of the canvas.
    pub fn place_of(&self, columns: &Range<u32>) -> Option<(i32, i32)> {
        let touched = |bin: &&Bin| bin.columns.start < columns.end && bin.columns.end > columns.start;
        let (first, last) = (self.bins.iter().find(touched)?, self.bins.iter().rev().find(touched)?);
        Some((self.gutter + first.x, last.x + last.w - first.x))
    }

    /// Returns what is under a pixel.
    pub fn hit(&self, x: i32, y: i32) -> Option<HeatHit> {
        if x < 0 || y < 0 || x >= self.width || y >= self.height {
            return None;
        }
        if y < self.head {
            return self.columns_at(x).map(HeatHit::Head);
        }
        let row = self.rows.iter().find(|row| y >= row.y && y < row.y + self.row_px)?.row;
        if x < self.gutter {
            return Some(HeatHit::Label(row));
        }
        self.columns_at(x).map(|columns| HeatHit::Cells(row, columns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::report;
    use super::*;
    use crate::draw::text::Advances;

    fn size(width: i32, height: i32) -> HeatSize {
        HeatSize { width, height, metrics: Metrics::default() }
    }

    fn view(order: &[ReportEndpoint], window: Window) -> HeatView<'_> {
        HeatView { order, window, scroll_px: 0, step_px: 1, selected: None }
    }

    fn lay(model: &HeatModel, view: &HeatView, size: HeatSize) -> HeatLayout {
        layout(model, view, size, &mut Advances { font_px: 12.0 })
    }

    /// Returns the runs as "row:x+w heat".
    fn sketch(layout: &HeatLayout) -> Vec<String> {
        let row = |run: &HeatRun| layout.rows[run.place as usize].row.0;
        layout.runs.iter().map(|run| format!("{}:{}+{} {}", row(run), run.x, run.w, run.heat)).collect()
    }

    #[test]
    fn a_small_map_has_exactly_these_runs() {
        let model = HeatModel::new(&report(&[&[25, 25, 0, 1], &[0, 0, 100, 0]]));
        // 500 px: 200 for names, 300 for 4 columns; row 1 first.
        let all = lay(&model, &view(&[1, 0].map(ReportEndpoint), Window::full(4)), size(500, 200));
        assert_eq!((all.gutter, all.head, all.row_px), (200, 34, 18));
        assert_eq!(sketch(&all), ["1:150+75 1000", "0:0+150 500", "0:225+75 100"]);
        assert_eq!(all.rows.iter().map(|row| row.y).collect::<Vec<_>>(), [34, 52]);
        assert_eq!(all.bars, [[0, 75, 30], [75, 75, 30], [150, 75, 30], [225, 75, 30]]);
        assert_eq!(all.hit(10, 40), Some(HeatHit::Label(ReportEndpoint(1))));
        assert_eq!(all.hit(200, 60), Some(HeatHit::Cells(ReportEndpoint(0), 0..1)));
        assert_eq!(all.hit(499, 10), Some(HeatHit::Head(3..4)));
        assert_eq!(all.hit(300, 80), None, "below the last row");
        assert_eq!(all.columns_between(499, 280), Some(1..4));
        assert_eq!(all.columns_between(-50, 9_000), Some(0..4));
        assert_eq!(all.place_of(&(1..3)), Some((275, 150)));
        let zoomed = lay(&model, &view(&[ReportEndpoint(0)], Window { from: 1.0, to: 2.0 }), size(500, 200));
        assert_eq!(sketch(&zoomed), ["0:0+300 500"]);
    }

    #[test]
    fn columns_that_share_a_pixel_are_the_mean_of_their_requests() {
        // 30 columns on 3 pixels: every third has all the time.
        let row: Vec<u32> = (0..30).map(|c| if c % 3 == 0 { 100 } else { 0 }).collect();
        let model = HeatModel::new(&report(&[&row]));
        let narrow = lay(&model, &view(&[ReportEndpoint(0)], Window::full(30)), size(5, 100));
        assert_eq!(narrow.gutter, 2);
        assert_eq!(
            narrow.bins.iter().map(|bin| bin.columns.clone()).collect::<Vec<_>>(),
            [0..10, 10..20, 20..30]
        );
        // 4, 3 and 3 of 10.
        assert_eq!(sketch(&narrow), ["0:0+1 632", "0:1+2 548"]);
    }

    #[test]
    fn only_rows_in_sight_are_laid_out() {
        let rows = vec![[100u32]; 1000];
        let rows: Vec<&[u32]> = rows.iter().map(|row| &row[..]).collect();
        let model = HeatModel::new(&report(&rows));
        let order: Vec<_> = (0..1000).rev().map(ReportEndpoint).collect();
        let view = HeatView {
            scroll_px: 18 * 100 + 5,
            selected: Some(ReportEndpoint(898)),
            ..view(&order, Window::full(1))
        };
        let layout = lay(&model, &view, size(400, 100));
        assert_eq!(layout.rows[0].row, ReportEndpoint(899));
        assert_eq!((layout.rows[0].y, layout.rows.len()), (29, 4));
        assert!(layout.rows[1].selected && !layout.rows[0].selected);
        assert_eq!(size(400, 100).scroll_end(1000), 18_000 - 66);
    }

    #[test]
    fn every_window_of_a_large_map_shares_out_its_columns_without_gaps() {
        let cells: Vec<Vec<u32>> =
            (0..40u32).map(|r| (0..10_000u32).map(|c| (c * (r + 7)) % 101).collect()).collect();
        let rows: Vec<&[u32]> = cells.iter().map(Vec::as_slice).collect();
        let model = HeatModel::new(&report(&rows));
        let order: Vec<_> = (0..40).map(ReportEndpoint).collect();
        for (from, to) in [(0.0, 10_000.0), (123.4, 9_876.5), (5_000.0, 5_900.0), (9_990.5, 10_000.0)] {
            let layout = lay(&model, &view(&order, Window { from, to }), size(1400, 700));
            let bins = &layout.bins;
            assert!(bins.len() <= 1170);
            for pair in bins.windows(2) {
                assert_eq!(pair[0].x + pair[0].w, pair[1].x, "pixels");
                assert_eq!(pair[0].columns.end, pair[1].columns.start, "columns");
            }
            let (first, last) = (&bins[0], &bins[bins.len() - 1]);
            assert_eq!((first.x, first.columns.start), (0, from as u32));
            assert_eq!((last.x + last.w, f64::from(last.columns.end)), (1170, to.ceil()));
            assert!(layout.runs.len() <= layout.rows.len() * bins.len());
        }
    }

    #[test]
    fn nothing_is_an_empty_layout() {
        let model = HeatModel::new(&report(&[]));
        let empty = lay(&model, &view(&[], Window::full(0)), size(300, 100));
        assert!(empty.rows.is_empty() && empty.runs.is_empty() && empty.bars.is_empty());
        assert_eq!((empty.hit(100, 50), empty.columns_between(0, 10)), (None, None));
    }
}
