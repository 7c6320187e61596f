//! Histograms side by side: how large, deep and parallel the requests are.

use super::Theme;
use super::axis::AxisUnit;
use super::histogram::{self, Bars, HistogramView};
use super::plot::{self, Area, ChartError, ChartSize, words};
use super::text::elide;
use pathlight_base::format;
use pathlight_base::statistics::Distribution;
use pathlight_engine::flame::{HistogramsReport, Quantity};
use plotters::element::Text;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;

/// Least width and height of a panel in CSS pixels.
const LEAST_PX: (f64, f64) = (190.0, 98.0);
/// Most panels in a row.
const COLUMNS: i32 = 5;
/// Height of the two lines above each panel in CSS pixels.
const HEAD_PX: f64 = 34.0;

/// The grid of the panels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MultiplesGrid {
    columns: i32,
    width: i32,
    height: i32,
    panels: i32,
}

impl MultiplesGrid {
    /// Divides the room for so many panels: as many in a row as fit, rows as high as the room lets them be.
    pub fn new(panels: usize, size: ChartSize) -> MultiplesGrid {
        let panels = panels as i32;
        let fit = (size.width / size.px(LEAST_PX.0).max(1)).clamp(1, COLUMNS.min(panels.max(1)));
        let rows = (panels + fit - 1) / fit;
        // No more columns than the rows need: ten panels in rows of four would leave two places empty.
        let columns = if rows > 0 { (panels + rows - 1) / rows } else { 1 };
        let height = (size.height / rows.max(1)).max(size.px(LEAST_PX.1));
        MultiplesGrid { columns, width: size.width / columns.max(1), height, panels }
    }

    /// Returns the height of all rows in device pixels; more than the room had if they could not be made to fit.
    pub fn height(&self) -> i32 {
        self.height * ((self.panels + self.columns - 1) / self.columns)
    }

    /// Returns the width of a panel in device pixels.
    pub fn width(&self) -> i32 {
        self.width
    }

    /// Returns the height of a row of panels in device pixels.
    pub fn row_height(&self) -> i32 {
        self.height
    }

    /// Returns the left and upper edge of a panel.
    pub fn place(&self, panel: usize) -> (i32, i32) {
        let panel = panel as i32;
        (panel % self.columns * self.width, panel / self.columns * self.height)
    }

    /// Returns the panel at a pixel.
    pub fn at(&self, (x, y): (i32, i32)) -> Option<usize> {
        let (column, row) = (x.div_euclid(self.width.max(1)), y.div_euclid(self.height.max(1)));
        let panel = row * self.columns + column;
        ((0..self.columns).contains(&column) && (0..self.panels).contains(&panel)).then_some(panel as usize)
    }
}

/// Returns what the values of a quantity are.
pub fn unit_of(quantity: Quantity) -> AxisUnit {
    match quantity {
        Quantity::Latency | Quantity::Work => AxisUnit::Time,
        _ => AxisUnit::Count,
    }
}

/// Returns the figures of a distribution in a line: `n = 400, mean 34.1, median 31, max 63, log axis`.
pub fn figures(quantity: Quantity, of: &Distribution) -> String {
    let axis = if of.is_log { ", log axis" } else { "" };
    let averages = averages(quantity, of);
    let comma = if averages.is_empty() { "" } else { ", " };
    format!("{}{comma}{averages}{axis}", format::sample(of.n))
}

fn averages(quantity: Quantity, of: &Distribution) -> String {
    if of.n == 0 {
        return String::new();
    }
    format!("mean {}, {}", unit_of(quantity).words(of.mean), middle_and_end(quantity, of))
}

fn middle_and_end(quantity: Quantity, of: &Distribution) -> String {
    let [median, max] = [of.median, of.max as f64].map(|value| unit_of(quantity).words(value));
    format!("median {median}, max {max}")
}

/// Draws all histograms in their grid, or one of them over the whole room.
///
/// # Errors
/// The backend's, in words.
pub fn draw<DB: DrawingBackend>(
    backend: DB,
    report: &HistogramsReport,
    enlarged: Option<usize>,
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    plot::on_backend(backend, theme, |root| {
        if let Some((quantity, of)) = enlarged.and_then(|panel| report.distributions.get(panel)) {
            return panel(root, *quantity, of, size, theme);
        }
        let grid = MultiplesGrid::new(report.distributions.len(), size);
        let size = ChartSize { width: grid.width, height: grid.height, ..size };
        for (at, (quantity, of)) in report.distributions.iter().enumerate() {
            let area = root.clone().shrink(grid.place(at), (size.width, size.height));
            panel(&area, *quantity, of, size, theme)?;
        }
        Ok(())
    })
}

fn panel<DB: DrawingBackend>(
    area: &Area<DB>,
    quantity: Quantity,
    of: &Distribution,
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    let px = |css: f64| size.px(css);
    let (plain, quiet) =
        (size.text(theme.text, HPos::Left, VPos::Top), size.text(theme.muted, HPos::Left, VPos::Top));
    let room = size.width - px(16.0);
    let sample = format::sample(of.n);
    let (taken, _) = area.estimate_text_size(&sample, &quiet).map_err(words)?;
    if let Some(title) = plot::fitting(area, quantity.title(), room - taken as i32 - px(8.0), &plain, elide) {
        area.draw(&Text::new(title, (px(8.0), px(4.0)), plain)).map_err(words)?;
    }
    let at = (size.width - px(8.0) - taken as i32, px(4.0));
    area.draw(&Text::new(sample, at, quiet.clone())).map_err(words)?;
    // The mean gives way first: it is marked below, and the tip says it.
    let whole = averages(quantity, of);
    let figures = match area.estimate_text_size(&whole, &quiet).map_err(words)? {
        (wide, _) if wide as i32 > room && of.n > 0 => middle_and_end(quantity, of),
        _ => whole,
    };
    if let Some(figures) = plot::fitting(area, &figures, room, &quiet, elide) {
        area.draw(&Text::new(figures, (px(8.0), px(19.0)), quiet)).map_err(words)?;
    }
    let head = px(HEAD_PX);
    let below = ChartSize { height: size.height - head, ..size };
    let lines = [("median", of.median), ("mean", of.mean), ("max", of.max as f64)];
    let view = HistogramView {
        bars: Bars::of(of, unit_of(quantity)),
        range: None,
        lines: if of.n > 0 { &lines } else { &[] },
    };
    let area = area.clone().shrink((0, head), (below.width, below.height));
    histogram::draw_in(&area, &view, below, theme)
}

/// Returns all histograms, or one of them, as an SVG document; deterministic.
///
/// # Errors
/// As [`draw`].
pub fn export_svg(
    report: &HistogramsReport,
    enlarged: Option<usize>,
    size: ChartSize,
    theme: &Theme,
    title: &str,
) -> Result<String, ChartError> {
    let height = match enlarged {
        Some(_) => size.height,
        None => MultiplesGrid::new(report.distributions.len(), size).height(),
    };
    let size = ChartSize { height, ..size };
    plot::document(size, title, |backend| draw(backend, report, enlarged, size, theme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Metrics;

    fn size(width: i32, height: i32) -> ChartSize {
        ChartSize { width, height, metrics: Metrics::default() }
    }

    fn report() -> HistogramsReport {
        let distributions = Quantity::ALL.into_iter().enumerate().map(|(i, quantity)| {
            let values: Vec<u64> = (1..=300).map(|v| v * v * i as u64 / 7 + 1).collect();
            (quantity, Distribution::of_sorted(&values, 40))
        });
        HistogramsReport { distributions: distributions.collect(), ..HistogramsReport::default() }
    }

    #[test]
    fn every_panel_has_its_place_and_is_found_there() {
        for (width, height) in [(1200, 300), (1000, 300), (390, 200), (100, 50), (0, 0)] {
            let grid = MultiplesGrid::new(10, size(width, height));
            assert!(grid.height() >= height.min(1));
            for panel in 0..10 {
                let (x, y) = grid.place(panel);
                assert!(x + grid.width <= width.max(1) && y + grid.height <= grid.height());
                if width > 0 {
                    assert_eq!(grid.at((x + grid.width / 2, y + 3)), Some(panel));
                }
            }
            assert_eq!(grid.at((-1, 3)), None);
            assert_eq!(grid.at((3, grid.height() + 1)), None);
        }
        assert_eq!(MultiplesGrid::new(10, size(1200, 300)).columns, 5);
        assert_eq!(MultiplesGrid::new(10, size(390, 300)).columns, 2);
    }

    #[test]
    fn the_picture_says_what_it_shows_of_each() {
        let report = report();
        let svg = export_svg(&report, None, size(1200, 300), &Theme::light(), "Sizes").unwrap();
        for (quantity, of) in &report.distributions {
            assert!(svg.contains(quantity.title()), "{}", quantity.title());
            assert!(of.n == 300);
        }
        assert_eq!(svg.matches("n = 300").count(), Quantity::ALL.len());
        assert!(svg.matches("median").count() >= Quantity::ALL.len());
        let one = export_svg(&report, Some(3), size(1200, 300), &Theme::light(), "Sizes").unwrap();
        assert!(one.contains(Quantity::Depth.title()) && !one.contains(Quantity::Callers.title()));
        assert_eq!(one, export_svg(&report, Some(3), size(1200, 300), &Theme::light(), "Sizes").unwrap());
    }

    #[test]
    fn nothing_is_cut_in_five_columns_beside_the_list_of_views() {
        let svg = export_svg(&report(), None, size(5 * 225, 300), &Theme::light(), "Sizes").unwrap();
        assert!(
            !svg.contains('\u{2026}'),
            "{:?}",
            svg.lines().filter(|line| line.contains('\u{2026}')).collect::<Vec<_>>()
        );
    }

    #[test]
    fn nothing_to_show_is_a_picture_too() {
        let none = HistogramsReport {
            distributions: Quantity::ALL.map(|quantity| (quantity, Distribution::default())).to_vec(),
            ..HistogramsReport::default()
        };
        for room in [size(1200, 300), size(10, 10)] {
            assert!(export_svg(&none, None, room, &Theme::dark(), "").unwrap().contains("</svg>"));
        }
    }
}
