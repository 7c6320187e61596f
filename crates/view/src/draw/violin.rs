//! Violins: how times spread, one row for each value of a tag (`docs/definitions/critical-path.md` section 5; paper Fig. 21).

use super::axis::{AxisUnit, Scale, ValueAxis};
use super::plot::{self, ChartError, ChartSize, rgba, words};
use super::text::{Advances, elide, elide_middle};
use super::{MeasureText as _, Theme};
use pathlight_base::format;
use pathlight_base::statistics::{exp, ln};
use pathlight_engine::split::{SplitReport, SplitValue};
use plotters::element::{PathElement, Polygon, Text};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;

/// Least and greatest height of a row in CSS pixels.
const ROW_PX: (f64, f64) = (28.0, 72.0);
/// Room above the first row, for what a sample is and the names of marks.
const TOP_PX: f64 = 34.0;
/// Room below the last row, for the axis.
const BOTTOM_PX: f64 = 24.0;

/// Room beside a name, in CSS pixels.
const NAME_GAP_PX: f64 = 20.0;

/// Layout of the violins, in device pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ViolinLayout {
    /// The room; as high as all rows need.
    pub size: ChartSize,
    /// Times to pixels and back; `None` without samples.
    pub axis: Option<ValueAxis>,
    row: i32,
    rows: usize,
}

impl ViolinLayout {
    /// Returns the layout of a split in a room; it takes more height than the room has if rows would become too low.
    pub fn new(report: &SplitReport, scale: Scale, room: ChartSize) -> ViolinLayout {
        let rows = report.values.len();
        let around = room.px(TOP_PX) + room.px(BOTTOM_PX);
        let row = ((room.height - around) / rows.max(1) as i32).clamp(room.px(ROW_PX.0), room.px(ROW_PX.1));
        let height = room.height.max(around + row * rows as i32);
        // Names take what the longest needs, at most a quarter of the width; numbers of samples what they need.
        let mut measure = Advances { font_px: f64::from(room.metrics.font_px()) };
        let names = report.values.iter().map(|value| measure.text_px(&name_of(value)));
        let longest = names.fold(0.0, f64::max).ceil() as i32 + room.px(NAME_GAP_PX);
        let most = (room.width / 4).clamp(room.px(64.0), room.px(220.0));
        let left = longest.clamp(room.px(48.0), most);
        let right = room.width - room.px(72.0);
        let axis = match (report.points_us.first(), report.points_us.last()) {
            // All samples alike: they stand in the middle.
            (Some(&low), Some(&high)) if low >= high => {
                ValueAxis::new((left, right), (low / 2.0, high * 2.0 + 1.0), scale, AxisUnit::Time)
            }
            (Some(&low), Some(&high)) => ValueAxis::new((left, right), (low, high), scale, AxisUnit::Time),
            _ => None,
        };
        ViolinLayout { size: ChartSize { height, ..room }, axis, row, rows }
    }

    /// Returns the upper and lower edge of a row.
    pub fn row(&self, at: usize) -> (i32, i32) {
        let top = self.size.px(TOP_PX) + self.row * at as i32;
        (top, top + self.row)
    }

    /// Returns the row at a height.
    pub fn row_at(&self, y: i32) -> Option<usize> {
        let row = (y - self.size.px(TOP_PX)).div_euclid(self.row.max(1));
        usize::try_from(row).ok().filter(|row| *row < self.rows)
    }
}

/// Returns what a row is called.
fn name_of(value: &SplitValue) -> String {
    format::printable(if value.value.is_empty() { "(empty)" } else { &value.value })
}

/// Points of an outline on a linear axis.
const LINEAR_POINTS: usize = 128;
/// Narrower than this part of the widest place, a violin has ended.
const LEAST_WIDTH: f64 = 0.002;

/// Returns the outline of a violin: (time, half width from 0 to 1) at each point, from where it begins to where it
/// ends.
fn outline(points_us: &[f64], value: &SplitValue, scale: Scale) -> Vec<(f64, f64)> {
    let of_logarithms: Vec<(f64, f64)> =
        points_us.iter().copied().zip(value.density.iter().copied()).collect();
    let widths = match scale {
        Scale::Log => of_logarithms,
        Scale::Linear => smooth_again(&of_logarithms, value.n),
    };
    let most = widths.iter().fold(f64::MIN_POSITIVE, |most, &(_, width)| most.max(width));
    let seen = |&(_, width): &(f64, f64)| width / most >= LEAST_WIDTH;
    let from = widths.iter().position(seen).unwrap_or(0);
    let to = widths.iter().rposition(seen).map_or(0, |last| last + 1);
    widths[from..to].iter().map(|&(us, width)| (us, width / most)).collect()
}

/// Returns the density on a linear axis. Points stand at equal distances of logarithms, so a density there is what
/// they weigh; it is smoothed once more, with a Gaussian kernel as wide as Silverman's rule says for the times
/// themselves: else the fastest times, close together on this axis, would be all there is to see.
fn smooth_again(weights: &[(f64, f64)], n: u64) -> Vec<(f64, f64)> {
    let (Some(&(low, _)), Some(&(high, _))) = (weights.first(), weights.last()) else { return Vec::new() };
    let whole = weights.iter().map(|(_, weight)| weight).sum::<f64>().max(f64::MIN_POSITIVE);
    let mean = weights.iter().map(|(us, weight)| us * weight).sum::<f64>() / whole;
    let variance = weights.iter().map(|(us, weight)| (us - mean) * (us - mean) * weight).sum::<f64>() / whole;
    let step = (high - low) / (LINEAR_POINTS - 1) as f64;
    let kernel = (0.9 * variance.sqrt() * exp(-0.2 * ln(n.max(1) as f64))).max(step).max(f64::MIN_POSITIVE);
    let density = |us: f64| {
        let near = |&(at, weight): &(f64, f64)| {
            let z = (us - at) / kernel;
            weight * exp((-0.5 * z * z).max(-500.0))
        };
        weights.iter().map(near).sum()
    };
    (0..LINEAR_POINTS).map(|i| low + step * i as f64).map(|us| (us, density(us))).collect()
}

/// Draws the violins on a backend as large as the layout, those that a search does not find in grey (`found`; `None`:
/// nothing is searched for).
///
/// # Errors
/// The backend's, in words.
pub fn draw<DB: DrawingBackend>(
    backend: DB,
    report: &SplitReport,
    scale: Scale,
    layout: &ViolinLayout,
    found: Option<&[bool]>,
    theme: &Theme,
) -> Result<(), ChartError> {
    let size = layout.size;
    let px = |css: f64| size.px(css);
    plot::on_backend(backend, theme, |area| {
        let Some(axis) = layout.axis else { return Ok(()) };
        for (at, value) in report.values.iter().enumerate() {
            let (top, bottom) = layout.row(at);
            let middle = (top + bottom) / 2;
            let half = f64::from(layout.row / 2 - px(3.0)).max(1.0);
            let is_found = found.is_none_or(|found| found.get(at).copied().unwrap_or(true));
            let color = if is_found { theme.accent } else { theme.line };
            let fill = rgba(color.with_alpha(0.3));
            let line = rgba(color);
            // One sample has no spread: its mark is all there is to see.
            let sides = if value.n > 1 { outline(&report.points_us, value, scale) } else { Vec::new() };
            let up = sides.iter().map(|&(us, width)| (axis.pixel(us), middle - (width * half) as i32));
            let down =
                sides.iter().rev().map(|&(us, width)| (axis.pixel(us), middle + (width * half) as i32));
            let mut around: Vec<(i32, i32)> = up.chain(down).collect();
            if !around.is_empty() {
                area.draw(&Polygon::new(around.clone(), fill.filled())).map_err(words)?;
                around.extend(around.first().copied());
                area.draw(&PathElement::new(around, line)).map_err(words)?;
            }
            // The median takes the whole row, the tail less.
            let inset = |share: f64| (f64::from(layout.row) * share / 2.0) as i32;
            for (us, share) in [(value.us.p50, 0.1), (value.us.p95, 0.45), (value.us.p99, 0.6)] {
                let ends = (top + inset(share), bottom - inset(share));
                plot::draw_mark(area, &axis, ends, us, size, theme)?;
            }
            let words_color = if is_found { theme.text } else { theme.muted };
            let style = size.text(words_color, HPos::Right, VPos::Center);
            if let Some(label) = plot::fitting(
                area,
                &name_of(value),
                axis.left - px(NAME_GAP_PX) + px(4.0),
                &style,
                elide_middle,
            ) {
                area.draw(&Text::new(label, (axis.left - px(12.0), middle), style)).map_err(words)?;
            }
            let style = size.text(theme.muted, HPos::Left, VPos::Center);
            let at = (axis.right + px(10.0), middle);
            area.draw(&Text::new(format::sample(value.n), at, style)).map_err(words)?;
        }
        if let Some(first) = report.values.first() {
            let marks = [("p50", first.us.p50), ("p95", first.us.p95), ("p99", first.us.p99)];
            plot::name_marks(area, &axis, layout.row(0).0, &marks, size, theme)?;
        }
        let style = size.text(theme.muted, HPos::Left, VPos::Top);
        if let Some(caption) =
            plot::fitting(area, report.of.sample_words(), size.width - px(8.0), &style, elide)
        {
            area.draw(&Text::new(caption, (px(4.0), px(2.0)), style)).map_err(words)?;
        }
        let y = layout.row(layout.rows).0;
        plot::draw_axis(area, (axis.left, axis.right), &axis, y, size, theme)
    })
}

/// Returns the violins as an SVG document; deterministic.
///
/// # Errors
/// As [`draw`].
pub fn export_svg(
    report: &SplitReport,
    scale: Scale,
    room: ChartSize,
    theme: &Theme,
    title: &str,
) -> Result<String, ChartError> {
    let layout = ViolinLayout::new(report, scale, room);
    plot::document(layout.size, title, |backend| draw(backend, report, scale, &layout, None, theme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Metrics;
    use pathlight_base::statistics::{LogAxis, Percentiles};

    fn size(width: i32, height: i32) -> ChartSize {
        ChartSize { width, height, metrics: Metrics::default() }
    }

    fn report(groups: &[(&str, Vec<u64>)]) -> SplitReport {
        let ends = |pick: fn(&Vec<u64>) -> Option<&u64>| groups.iter().filter_map(move |(_, s)| pick(s));
        let min = ends(|s| s.first()).min().copied().unwrap_or(0);
        let max = ends(|s| s.last()).max().copied().unwrap_or(0);
        let axis = LogAxis::new(min, max);
        let values = groups.iter().map(|(value, samples)| SplitValue {
            value: (*value).to_owned(),
            n: samples.len() as u64,
            us: Percentiles::of_sorted(samples),
            density: axis.density(samples),
            ..SplitValue::default()
        });
        SplitReport { points_us: axis.points(), values: values.collect(), ..SplitReport::default() }
    }

    fn two() -> SplitReport {
        let slow = (0..100).map(|i| 80_000 + 400 * i).collect();
        report(&[("eu", (0..300).map(|i| 1_000 + 10 * i).collect()), ("us", slow)])
    }

    #[test]
    fn rows_are_found_where_they_stand() {
        let room = size(800, 300);
        let layout = ViolinLayout::new(&two(), Scale::Log, room);
        for at in 0..2 {
            let (top, bottom) = layout.row(at);
            assert_eq!((layout.row_at(top), layout.row_at(bottom - 1)), (Some(at), Some(at)));
        }
        assert_eq!((layout.row_at(0), layout.row_at(299)), (None, None));
        assert_eq!(layout.size.height, 300);
        let many: Vec<(String, Vec<u64>)> = (0..20).map(|i| (format!("v{i}"), vec![i, 2 * i + 9])).collect();
        let many: Vec<(&str, Vec<u64>)> = many.iter().map(|(n, s)| (n.as_str(), s.clone())).collect();
        let layout = ViolinLayout::new(&report(&many), Scale::Log, room);
        assert_eq!(layout.size.height, 34 + 24 + 20 * 28);
    }

    #[test]
    fn a_violin_is_widest_where_its_samples_are_on_either_axis() {
        let report = two();
        for scale in [Scale::Log, Scale::Linear] {
            for (value, within) in report.values.iter().zip([900.0..4_200.0, 75_000.0..125_000.0]) {
                let outline = outline(&report.points_us, value, scale);
                let widest = outline.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
                assert!(within.contains(&widest.0) && widest.1 == 1.0, "{scale:?} {widest:?}");
            }
        }
    }

    #[test]
    fn the_picture_names_values_marks_and_samples() {
        let svg = export_svg(&two(), Scale::Log, size(800, 300), &Theme::light(), "by <region>").unwrap();
        for word in [
            "eu",
            "us",
            "p50",
            "p95",
            "n = 300",
            "n = 100",
            "by &lt;region&gt;",
            "latency of one request",
            "10\u{202f}ms",
        ] {
            assert!(svg.contains(word), "{word}");
        }
        assert_eq!(svg.matches("<polygon").count(), 2);
        assert_eq!(
            svg,
            export_svg(&two(), Scale::Log, size(800, 300), &Theme::light(), "by <region>").unwrap()
        );
    }

    #[test]
    fn names_take_what_they_need_and_one_sample_is_a_mark() {
        let left = |name: &str| {
            let report = report(&[(name, vec![1_000, 2_000]), ("b", vec![3_000])]);
            ViolinLayout::new(&report, Scale::Log, size(1_200, 300)).axis.unwrap().left
        };
        assert_eq!((left("a"), left(&"long ".repeat(90))), (48, 220));
        assert!((60..150).contains(&left("eu-central-1")), "{}", left("eu-central-1"));
        let one = report(&[("a", vec![1_000, 2_000]), ("b", vec![3_000])]);
        let svg = export_svg(&one, Scale::Log, size(800, 300), &Theme::light(), "").unwrap();
        assert_eq!(svg.matches("<polygon").count(), 1);
    }

    #[test]
    fn what_a_search_does_not_find_is_grey() {
        let (report, theme, room) = (two(), Theme::light(), size(800, 300));
        let layout = ViolinLayout::new(&report, Scale::Log, room);
        let drawn = |found| {
            plot::document(room, "", |backend| draw(backend, &report, Scale::Log, &layout, found, &theme))
                .unwrap()
        };
        let [red, green, blue, _] = theme.accent.0;
        let accent = format!("#{red:02X}{green:02X}{blue:02X}");
        let coloured = |found| {
            drawn(found).lines().filter(|line| line.contains("<polygon") && line.contains(&accent)).count()
        };
        assert_eq!([None, Some(&[true, false][..]), Some(&[false, false][..])].map(coloured), [2, 1, 0]);
    }

    #[test]
    fn equal_samples_stand_in_the_middle_and_none_are_an_empty_picture() {
        let same = report(&[("a", vec![500; 9])]);
        let axis = ViolinLayout::new(&same, Scale::Log, size(800, 300)).axis.unwrap();
        let middle = f64::from(axis.left + axis.right) / 2.0;
        assert!((f64::from(axis.pixel(500.0)) - middle).abs() < 20.0);
        for report in [same, SplitReport::default(), report(&[("", vec![0])])] {
            for scale in [Scale::Log, Scale::Linear] {
                assert!(
                    export_svg(&report, scale, size(300, 80), &Theme::dark(), "").unwrap().contains("</svg>")
                );
            }
        }
    }
}
