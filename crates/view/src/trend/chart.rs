//! Numbers over time: a panel for each, with a line for each statistic and the levels before and after a change.

use crate::draw::axis::{AxisUnit, Scale, ValueAxis};
use crate::draw::multiples::MultiplesGrid;
use crate::draw::plot::{self, Area, ChartError, ChartSize, rgba, words};
use crate::draw::text::elide_middle;
use crate::draw::{Rgba, Theme};
use pathlight_base::format;
use pathlight_engine::trend::DayChange;
use plotters::element::{Circle, PathElement, Text};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;

/// Height of the two lines above each panel in CSS pixels, and of the names of days below it.
const HEAD_PX: f64 = 34.0;
const FOOT_PX: f64 = 16.0;
/// Beside the drawing, in CSS pixels.
const SIDE_PX: f64 = 8.0;
/// Room for the name of a line at its end, in CSS pixels.
const NAME_PX: f64 = 28.0;

/// One number over the days.
#[derive(Clone, Debug, PartialEq)]
pub struct TrendLine {
    /// Its name, at its end; empty where the panel has one line only.
    pub name: String,
    /// By day its value in microseconds and how far it may be off to both sides; `None`: there is none.
    pub points: Vec<Option<(f64, f64)>>,
    /// The days or hours at another level.
    pub change: Option<DayChange>,
}

/// Numbers that are drawn together.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title of the panel.
    pub title: String,
    /// Note on its change.
    pub note: String,
    /// Whether one of its lines has changed for certain.
    pub is_changed: bool,
    /// Whether a search finds others and not this one: it is drawn in grey.
    pub is_dimmed: bool,
    /// The lines, the highest last.
    pub lines: Vec<TrendLine>,
}

/// Content of the chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrendPanels {
    /// Names of the days.
    pub days: Vec<String>,
    /// The panels, the clearest change first.
    pub panels: Vec<Panel>,
}

/// Draws all panels in their grid, or one of them over the whole room.
///
/// # Errors
/// The backend's, in words.
pub fn draw<DB: DrawingBackend>(
    backend: DB,
    of: &TrendPanels,
    enlarged: Option<usize>,
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    plot::on_backend(backend, theme, |root| {
        if let Some(one) = enlarged.and_then(|at| of.panels.get(at)) {
            return panel(root, one, &of.days, size, theme);
        }
        let grid = MultiplesGrid::new(of.panels.len(), size);
        let each = ChartSize { width: grid.width(), height: grid.row_height(), ..size };
        for (at, one) in of.panels.iter().enumerate() {
            let area = root.clone().shrink(grid.place(at), (each.width, each.height));
            panel(&area, one, &of.days, each, theme)?;
        }
        Ok(())
    })
}

fn panel<DB: DrawingBackend>(
    area: &Area<DB>,
    of: &Panel,
    days: &[String],
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    let px = |css: f64| size.px(css);
    let text = |color, horizontal| size.text(color, horizontal, VPos::Top);
    let room = size.width - px(2.0 * SIDE_PX);
    let (title, accent) = if of.is_dimmed { (theme.muted, theme.muted) } else { (theme.text, theme.accent) };
    let note = if of.is_changed { accent } else { theme.muted };
    for (words_of, y, color) in [(&of.title, 4.0, title), (&of.note, 19.0, note)] {
        if let Some(line) = plot::fitting(area, words_of, room, &text(color, HPos::Left), elide_middle) {
            let at = (px(SIDE_PX), px(y));
            area.draw(&Text::new(line, at, text(color, HPos::Left))).map_err(words)?;
        }
    }
    let points = || of.lines.iter().flat_map(|line| line.points.iter().flatten());
    let highest = points().fold(0.0, |most: f64, (value, off)| most.max(value + off));
    let (top, bottom) = (px(HEAD_PX), size.height - px(FOOT_PX));
    // The axis runs downwards: its right end is the top.
    let Some(axis) =
        ValueAxis::new((0, bottom - top), (0.0, highest.max(1.0)), Scale::Linear, AxisUnit::Time)
    else {
        return Ok(());
    };
    let y = |value: f64| bottom - axis.pixel(value);
    for tick in axis.ticks(px(28.0)) {
        let (at, right) = (y(tick as f64), size.width - px(SIDE_PX));
        let rule = PathElement::new(vec![(px(SIDE_PX), at), (right, at)], rgba(theme.line));
        area.draw(&rule).map_err(words)?;
        if tick > 0 {
            // Above its rule, but never over the lines above the drawing.
            let vertical = if at - top < px(12.0) { VPos::Top } else { VPos::Bottom };
            let style = size.text(theme.muted, HPos::Left, vertical);
            area.draw(&Text::new(axis.tick_words(tick), (px(SIDE_PX), at), style)).map_err(words)?;
        }
    }
    let named = of.lines.iter().any(|line| !line.name.is_empty());
    let left = px(SIDE_PX + 40.0);
    let right = (size.width - px(SIDE_PX + if named { NAME_PX } else { 4.0 })).max(left + 1);
    let last = days.len().saturating_sub(1).max(1) as i64;
    let x = |day: usize| left + ((day as i64 * i64::from(right - left)) / last) as i32;
    let colors = match of.is_dimmed {
        true => [theme.line; 3],
        false => [0.0, 0.35, 0.65].map(|part| theme.accent.mix(theme.muted, part)),
    };
    for (line, color) in of.lines.iter().zip(colors.iter().cycle()) {
        draw_line(area, line, (&x, &y), (days.len(), *color), size, theme)?;
    }
    let style = |horizontal| size.text(theme.muted, horizontal, VPos::Top);
    let half = (right - left) / 2 - px(4.0);
    let ends = [(days.first(), left, HPos::Left), (days.get(1..).and_then(<[_]>::last), right, HPos::Right)];
    for (day, x, horizontal) in ends {
        let style = style(horizontal);
        if let Some(name) = day.and_then(|day| plot::fitting(area, day, half, &style, elide_middle)) {
            area.draw(&Text::new(name, (x, bottom + px(3.0)), style)).map_err(words)?;
        }
    }
    Ok(())
}

/// Positions of a day and of a value.
type Places<'a> = (&'a dyn Fn(usize) -> i32, &'a dyn Fn(f64) -> i32);

fn draw_line<DB: DrawingBackend>(
    area: &Area<DB>,
    line: &TrendLine,
    (x, y): Places<'_>,
    (days, color): (usize, Rgba),
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    let px = |css: f64| size.px(css);
    let stroke = rgba(color).stroke_width(px(1.5).max(1) as u32);
    if let Some(change) = line.change {
        let level = rgba(theme.muted).stroke_width(px(1.0).max(1) as u32);
        let all: Vec<usize> = (0..days).collect();
        for stretch in all.chunk_by(|a, b| change.has(*a) == change.has(*b)) {
            let (from, to) = (stretch[0], stretch[stretch.len() - 1]);
            let value = if change.has(from) { change.after_us } else { change.before_us };
            let ends = vec![(x(from) - px(3.0), y(value)), (x(to) + px(3.0), y(value))];
            area.draw(&PathElement::new(ends, level)).map_err(words)?;
        }
    }
    // Days without a number interrupt the line.
    let known: Vec<(usize, (f64, f64))> =
        line.points.iter().enumerate().filter_map(|(day, point)| Some((day, (*point)?))).collect();
    for run in known.chunk_by(|a, b| a.0 + 1 == b.0) {
        let points: Vec<(i32, i32)> = run.iter().map(|(day, (value, _))| (x(*day), y(*value))).collect();
        area.draw(&PathElement::new(points, stroke)).map_err(words)?;
    }
    for (day, (value, off)) in &known {
        let bar = vec![(x(*day), y(value - off)), (x(*day), y(value + off))];
        area.draw(&PathElement::new(bar, rgba(color))).map_err(words)?;
        area.draw(&Circle::new((x(*day), y(*value)), px(2.0), rgba(color).filled())).map_err(words)?;
    }
    if let Some((day, (value, _))) = known.last().filter(|_| !line.name.is_empty()) {
        let style = size.text(theme.muted, HPos::Left, VPos::Center);
        let at = (x(*day) + px(5.0), y(*value));
        area.draw(&Text::new(format::printable(&line.name), at, style)).map_err(words)?;
    }
    Ok(())
}

/// Returns all panels, or one of them, as an SVG document; deterministic.
///
/// # Errors
/// As [`draw`].
pub fn export_svg(
    of: &TrendPanels,
    enlarged: Option<usize>,
    size: ChartSize,
    theme: &Theme,
    title: &str,
) -> Result<String, ChartError> {
    let height =
        if enlarged.is_some() { size.height } else { MultiplesGrid::new(of.panels.len(), size).height() };
    let size = ChartSize { height, ..size };
    plot::document(size, title, |backend| draw(backend, of, enlarged, size, theme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Metrics;

    #[test]
    fn the_picture_names_panels_days_and_lines() {
        let line = |name: &str, by: f64| TrendLine {
            name: name.to_owned(),
            points: (0..7).map(|day| (day != 3).then_some((by * (100.0 + f64::from(day)), by))).collect(),
            change: Some(DayChange {
                day: 4,
                until: 7,
                before_us: 100.0 * by,
                after_us: 106.0 * by,
                p: 0.0,
                is_certain: true,
            }),
        };
        let panel = |title: &str| Panel {
            title: title.to_owned(),
            note: "+6 % since d4".to_owned(),
            is_changed: true,
            is_dimmed: false,
            lines: vec![line("p50", 10.0), line("p99", 40.0)],
        };
        let of = TrendPanels {
            days: (0..7).map(|day| format!("d{day}")).collect(),
            panels: vec![panel("GET /"), panel("POST /")],
        };
        let size = ChartSize { width: 600, height: 200, metrics: Metrics::default() };
        let svg = export_svg(&of, None, size, &Theme::light(), "Trend").unwrap();
        for words in ["GET /", "POST /", "+6 % since d4", "p50", "p99", "d0", "d6", "4\u{202f}ms"] {
            assert!(svg.lines().any(|line| line.trim() == words), "{words} in {svg}");
        }
        // Without days or room nothing is drawn and nothing breaks.
        let none = TrendPanels { days: Vec::new(), panels: vec![panel("x")] };
        assert!(
            export_svg(&none, Some(0), ChartSize { width: 10, height: 5, ..size }, &Theme::dark(), "")
                .is_ok()
        );
    }
}
