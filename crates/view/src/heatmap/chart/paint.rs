//! A heat map with colours: names and latency as a scene, cells as pixels (on a canvas) or as rectangles (in a file).

use super::{HeatLayout, HeatModel, HeatSize, HeatView, layout, share_of_heat};
use crate::draw::scene::Align;
use crate::draw::svg::{self, SvgText};
use crate::draw::text::Advances;
use crate::draw::{Layer, Metrics, Scene, Shade, Text, Theme, Window};
use pathlight_base::format;
use pathlight_engine::ids::ReportEndpoint;
use std::ops::Range;

/// Rows of an exported picture at most; the table holds the others.
const EXPORTED_ROWS: usize = 1_000;
/// The narrowest run of columns in an exported picture of few rows.
const EXPORTED_STEP_PX: i32 = 3;
/// Cells of an exported picture at most: with more rows, runs of columns become wider.
const EXPORTED_CELLS: i32 = 100_000;

/// Pixels, four bytes each (red, green, blue, alpha), row by row.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Raster {
    /// Width.
    pub width: i32,
    /// Height.
    pub height: i32,
    /// The bytes.
    pub rgba: Vec<u8>,
}

/// Returns the scene of everything but the cells.
pub fn scene(layout: &HeatLayout, theme: &Theme, metrics: Metrics) -> Scene {
    let mut layer = Layer::default();
    let (pad, font_px) = (metrics.px(6.0), metrics.font_px());
    for &[x, w, h] in &layout.bars {
        layer.fill(
            layout.gutter + x,
            layout.head - h,
            w,
            h,
            theme.muted.with_alpha(0.55).over(theme.background),
        );
    }
    for row in &layout.rows {
        if row.selected {
            layer.fill(
                0,
                row.y,
                layout.gutter,
                layout.row_px,
                theme.accent.with_alpha(0.18).over(theme.background),
            );
        }
        if !row.label.is_empty() {
            layer.texts.push(Text {
                x: pad,
                y: Metrics::baseline(row.y, layout.row_px, font_px),
                text: row.label.clone(),
                color: theme.text,
                align: Align::Left,
                font_px,
                bold: row.selected,
            });
        }
    }
    // Names of rows that stand out above are covered by the head.
    let mut head = Layer::default();
    head.fill(0, 0, layout.gutter, layout.head, theme.background);
    head.texts.push(Text {
        x: pad,
        y: Metrics::baseline(0, layout.head, font_px),
        text: "latency".to_owned(),
        color: theme.muted,
        align: Align::Left,
        font_px,
        bold: false,
    });
    let mut scene = Scene::new(layout.width, layout.height, Some(theme.background));
    scene.layers = vec![layer, head];
    scene.finish()
}

/// Returns the cells as pixels, to be put at the gutter and below the head. Times: a few milliseconds for a large
/// window.
pub fn raster(layout: &HeatLayout, theme: &Theme) -> Raster {
    let (width, height) = ((layout.width - layout.gutter).max(0), (layout.height - layout.head).max(0));
    let line = width as usize * 4;
    let mut rgba = theme.background.0.repeat(width as usize * height as usize);
    let mut runs = layout.runs.as_slice();
    for (place, row) in layout.rows.iter().enumerate() {
        let count = runs.partition_point(|run| run.place as usize <= place);
        let (own, rest) = runs.split_at(count);
        runs = rest;
        // One line of pixels, then the same again down to the gap between rows.
        let (top, end) =
            ((row.y - layout.head).max(0), (row.y - layout.head + layout.row_px - 1).min(height));
        if top >= end {
            continue;
        }
        let first = top as usize * line;
        for run in own {
            let color = theme.fill(Shade::Heat(run.heat)).0;
            let from = first + run.x.clamp(0, width) as usize * 4;
            let to = first + (run.x + run.w).clamp(0, width) as usize * 4;
            for pixel in rgba[from..to].chunks_exact_mut(4) {
                pixel.copy_from_slice(&color);
            }
        }
        for y in top as usize + 1..end as usize {
            rgba.copy_within(first..first + line, y * line);
        }
    }
    Raster { width, height, rgba }
}

/// Returns what is drawn over the cells: the cell under the pointer, the selected row, the column that is chosen, and columns
/// being brushed.
pub fn marks(
    layout: &HeatLayout,
    theme: &Theme,
    metrics: Metrics,
    hovered: Option<(ReportEndpoint, Range<u32>)>,
    column: Option<u32>,
    brush: Option<Range<u32>>,
) -> Scene {
    let mut layer = Layer::default();
    for row in layout.rows.iter().filter(|row| row.selected && row.y >= layout.head) {
        let w = layout.width - layout.gutter;
        layer.frame([layout.gutter, row.y, w, layout.row_px - 1], metrics.px(1.0), theme.accent);
    }
    if let Some((x, w)) = column.and_then(|column| layout.place_of(&(column..column + 1))) {
        let thick = metrics.px(1.0);
        layer.frame([x - thick, 0, w + 2 * thick, layout.height], thick, theme.accent);
    }
    if let Some((row, columns)) = hovered
        && let Some(row) = layout.rows.iter().find(|known| known.row == row)
        && let Some((x, w)) = layout.place_of(&columns)
    {
        // A cell of one pixel is framed from outside.
        let grow = metrics.px(1.0);
        let place = [x - grow, row.y - grow, w + 2 * grow, layout.row_px - 1 + 2 * grow];
        layer.frame(place, grow, theme.text);
    }
    if let Some((x, w)) = brush.and_then(|columns| layout.place_of(&columns)) {
        layer.fill(x, 0, w, layout.height, theme.accent.with_alpha(0.3));
    }
    let mut scene = Scene::new(layout.width, layout.height, None);
    scene.layers = vec![layer];
    scene
}

/// Returns the rows in order, at most 1,000 of them, as an SVG document `width` pixels wide; deterministic.
pub fn export_svg(
    model: &HeatModel,
    order: &[ReportEndpoint],
    window: Window,
    width: i32,
    theme: &Theme,
    title: &str,
) -> String {
    let metrics = Metrics::default();
    let order = &order[..order.len().min(EXPORTED_ROWS)];
    let unbounded = HeatSize { width, height: 32_000, metrics };
    let height = unbounded.head_px() + order.len() as i32 * unbounded.row_px();
    let size = HeatSize { height: height.max(1), ..unbounded };
    let step_px = (order.len() as i32 * size.plot_px() / EXPORTED_CELLS).max(EXPORTED_STEP_PX);
    let view = HeatView { order, window, scroll_px: 0, step_px, selected: None };
    let layout = layout(model, &view, size, &mut Advances { font_px: f64::from(metrics.font_px()) });
    let mut picture = scene(&layout, theme, metrics);
    let mut cells = Layer::default();
    for (item, run) in layout.runs.iter().enumerate() {
        let row = &layout.rows[run.place as usize];
        let color = theme.fill(Shade::Heat(run.heat));
        cells.item(layout.gutter + run.x, row.y, run.w, layout.row_px - 1, color, item as u32);
    }
    picture.layers.push(cells);
    let picture = picture.finish();
    let tip = |item: u32| {
        let run = layout.runs.get(item as usize)?;
        let row = layout.rows[run.place as usize].row;
        Some(format!("{}: {}", model.label(row), format::share(share_of_heat(run.heat))))
    };
    let rows = format::count(model.rows().into());
    let shown = if order.len() < model.rows() as usize {
        format!("the first {} of {rows}", format::count(EXPORTED_ROWS as u64))
    } else {
        rows
    };
    let description = format!(
        "Heat map of {shown} endpoints against {} requests: the share of each request's latency, lighter for more.",
        format::count(model.requests_before(model.columns()))
    );
    svg::write(&picture, &SvgText { title, description: &description, tip: &tip })
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::report;
    use super::*;

    fn small() -> HeatModel {
        HeatModel::new(&report(&[&[25, 25, 0, 1], &[0, 0, 100, 0]]))
    }

    fn layout_of(model: &HeatModel, scroll_px: i64) -> HeatLayout {
        let view = HeatView {
            order: &[ReportEndpoint(0), ReportEndpoint(1)],
            window: Window::full(4),
            scroll_px,
            step_px: 1,
            selected: Some(ReportEndpoint(1)),
        };
        let size = HeatSize { width: 500, height: 80, metrics: Metrics::default() };
        layout(model, &view, size, &mut Advances { font_px: 12.0 })
    }

    #[test]
    fn cells_become_the_pixels_of_their_runs() {
        let (theme, model) = (Theme::light(), small());
        for scroll_px in [0, 5] {
            let layout = layout_of(&model, scroll_px);
            let raster = raster(&layout, &theme);
            assert_eq!((raster.width, raster.height, raster.rgba.len()), (300, 46, 300 * 46 * 4));
            let pixel = |x: usize, y: i64| {
                let at = ((y - scroll_px) as usize * 300 + x) * 4;
                raster.rgba[at..at + 4].to_vec()
            };
            let heat = |heat| theme.fill(Shade::Heat(heat)).0.to_vec();
            assert_eq!(pixel(0, 16), heat(500));
            assert_eq!(pixel(149, 16), heat(500));
            assert_eq!(pixel(150, 16), theme.background.0.to_vec(), "no time there");
            assert_eq!(pixel(0, 17), theme.background.0.to_vec(), "a gap between rows");
            assert_eq!(pixel(299, 6), heat(100));
            assert_eq!(pixel(150, 18), heat(1000));
            assert_eq!(pixel(150, 40), theme.background.0.to_vec(), "below the last row");
        }
    }

    #[test]
    fn marks_stand_on_what_they_mark() {
        let (theme, model) = (Theme::light(), small());
        let layout = layout_of(&model, 0);
        let marks =
            marks(&layout, &theme, Metrics::default(), Some((ReportEndpoint(0), 3..4)), Some(2), Some(1..3));
        let fills = &marks.layers[0].fills;
        assert!(fills.iter().any(|f| (f.x, f.w, f.h) == (275, 150, 80)), "the brush");
        assert!(fills.iter().any(|f| (f.x, f.y, f.w) == (424, 33, 77) && f.color == theme.text), "the cell");
        assert!(fills.iter().any(|f| (f.x, f.y) == (200, 52) && f.color == theme.accent), "the row");
        assert!(
            fills.iter().any(|f| (f.x, f.y, f.w) == (349, 0, 77) && f.color == theme.accent),
            "the column"
        );
    }

    #[test]
    fn an_exported_map_is_whole_and_the_same_every_time() {
        let model = small();
        let svg = || {
            export_svg(
                &model,
                &[1, 0].map(ReportEndpoint),
                Window::full(4),
                500,
                &Theme::light(),
                "P95 & more",
            )
        };
        let text = svg();
        assert_eq!(text, svg());
        assert!(text.contains("<title>P95 &amp; more</title>"));
        assert!(text.contains("op0 @ s0: 25.0\u{202f}%"), "{text}");
        assert!(text.contains("height=\"70\""));
        assert!(text.contains("<desc>Heat map of 2 endpoints against "), "{text}");
        let many = HeatModel::new(&report(&[&[1, 0, 3, 4][..]; 1_001]));
        let order: Vec<ReportEndpoint> = (0..1_001).map(ReportEndpoint).collect();
        let text = export_svg(&many, &order, Window::full(4), 500, &Theme::light(), "P95");
        let said = format!("the first {} of {} endpoints ", format::count(1_000), format::count(1_001));
        assert!(text.contains(&said), "what is left out is said");
    }
}
