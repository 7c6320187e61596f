//! The anomaly of requests over time: a dot for each, the most anomalous on top, and the line above which they are
//! abnormal. Requests of the baseline stand on the left, on a time axis of their own: they may be of another day. On the right
//! are the distributions of the scores of the baseline and of the judged requests.

use crate::draw::Theme;
use crate::draw::axis::{AxisUnit, Scale, ValueAxis};
use crate::draw::plot::{self, ChartError, ChartSize, rgba, words};
use pathlight_base::format;
use pathlight_engine::anomalies::{Abnormal, AnomalyReport};
use plotters::element::{Circle, PathElement, Polygon, Rectangle, Text};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;

/// Room around the dots in CSS pixels: left, right, top, bottom. On the right are the distributions.
const AROUND_PX: (f64, f64, f64, f64) = (56.0, 120.0, 14.0, 26.0);
/// Bars of a distribution.
const BARS: usize = 40;
/// The longest bar and the room before it in CSS pixels.
const BAR_PX: (f64, f64) = (92.0, 14.0);
/// Scores at which there are lines.
const MARKS: [f64; 11] = [0.0, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0];
/// Room between the requests of the baseline and the judged ones, and the least room of each, in CSS pixels.
const BETWEEN_PX: (f64, f64) = (28.0, 150.0);
/// Greatest distance of the pointer from a dot that it points at.
const REACH_PX: f64 = 7.0;

/// Layout of the dots, in device pixels.
#[derive(Clone, Debug)]
pub struct AnomalyLayout {
    size: ChartSize,
    /// The judged requests; before them those of the baseline, where they are known and there is room.
    panes: Vec<Pane>,
    /// The least score drawn, and the logarithm of the range.
    least: f64,
    depth: f64,
    /// Centre of the dot of each row of the report.
    dots: Vec<(i32, i32)>,
    /// Likewise of each training request that is drawn.
    learned: Vec<(i32, i32)>,
}

/// Some requests over time.
#[derive(Clone, Debug)]
struct Pane {
    /// Leftmost and rightmost pixel.
    ends: (i32, i32),
    start_us: u64,
    /// Microseconds since then, to pixels; `None` if all began at once.
    axis: Option<ValueAxis>,
}

impl Pane {
    fn of(ends: (i32, i32), starts: impl Iterator<Item = u64> + Clone) -> Pane {
        let (start_us, end_us) = (starts.clone().min().unwrap_or(0), starts.max().unwrap_or(0));
        let axis = ValueAxis::new(ends, (0.0, (end_us - start_us) as f64), Scale::Linear, AxisUnit::Time);
        Pane { ends, start_us, axis }
    }

    fn x(&self, start_us: u64) -> i32 {
        match &self.axis {
            Some(axis) => axis.pixel((start_us - self.start_us) as f64),
            None => (self.ends.0 + self.ends.1) / 2,
        }
    }
}

impl AnomalyLayout {
    /// Returns the layout of a report in a room.
    pub fn new(report: &AnomalyReport, size: ChartSize) -> AnomalyLayout {
        let px = |css: f64| size.px(css);
        let (left, right) = (px(AROUND_PX.0), size.width - px(AROUND_PX.1));
        let half = (right - left - px(BETWEEN_PX.0)) / 2;
        let is_beside = !report.learned.is_empty() && half >= px(BETWEEN_PX.1);
        let judged = report.rows.iter().map(|row| row.start_us);
        let panes = match is_beside {
            true => vec![
                Pane::of((left, left + half), report.learned.iter().map(|(start_us, _)| *start_us)),
                Pane::of((right - half, right), judged),
            ],
            false => vec![Pane::of((left, right), judged)],
        };
        // A score of the default detector is never below 0; one of the auto-encoder may be.
        let all = || report.rows.iter().map(|row| row.score).chain(report.baseline.iter().copied());
        let least = all().fold(0.0, f64::min);
        let depth = all().fold(report.threshold() + 1.0, f64::max) - least;
        let depth = (1.0 + depth).ln() * 1.03;
        let mut layout = AnomalyLayout { size, panes, least, depth, dots: Vec::new(), learned: Vec::new() };
        let dot = |pane: &Pane, start_us: u64, score: f64| (pane.x(start_us), layout.height(score));
        let (mut dots, mut learned) = (Vec::new(), Vec::new());
        if let [before @ .., pane] = layout.panes.as_slice() {
            dots.extend(report.rows.iter().map(|row| dot(pane, row.start_us, row.score)));
            for pane in before {
                learned.extend(report.learned.iter().map(|&(start_us, score)| dot(pane, start_us, score)));
            }
        }
        (layout.dots, layout.learned) = (dots, learned);
        layout
    }

    fn height(&self, score: f64) -> i32 {
        let (top, bottom) = (self.size.px(AROUND_PX.2), self.size.height - self.size.px(AROUND_PX.3));
        bottom - (self.share(score) * f64::from(bottom - top)) as i32
    }

    /// Returns where a score stands between the bottom, 0, and the top, 1.
    fn share(&self, score: f64) -> f64 {
        ((1.0 + (score - self.least).max(0.0)).ln() / self.depth).clamp(0.0, 1.0)
    }

    /// Returns the share of some scores at each height, as a share of the greatest.
    fn bars(&self, scores: impl Iterator<Item = f64>) -> [f64; BARS] {
        let mut bars = [0.0f64; BARS];
        scores.for_each(|score| bars[((self.share(score) * BARS as f64) as usize).min(BARS - 1)] += 1.0);
        let most = bars.iter().fold(1.0, |most: f64, n| most.max(*n));
        bars.map(|n| n / most)
    }

    /// Returns the row of the report whose dot is nearest to a pixel, if it is near; of several the oddest.
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

/// Draws the dots on a backend as large as the layout, those that a search does not find as pale as can be (`found`;
/// `None`: nothing is searched for).
///
/// # Errors
/// The backend's, in words.
pub fn draw<DB: DrawingBackend>(
    backend: DB,
    report: &AnomalyReport,
    layout: &AnomalyLayout,
    found: Option<&[bool]>,
    theme: &Theme,
) -> Result<(), ChartError> {
    let size = layout.size;
    let px = |css: f64| size.px(css);
    plot::on_backend(backend, theme, |area| {
        if report.rows.is_empty() {
            return Ok(());
        }
        let (left, right) = (px(AROUND_PX.0), size.width - px(AROUND_PX.1));
        let small = px(1.5);
        let style = size.text(theme.muted, HPos::Right, VPos::Center);
        for mark in MARKS.into_iter().filter(|mark| layout.share(*mark) < 1.0) {
            let y = layout.height(mark);
            area.draw(&PathElement::new(vec![(left, y), (right, y)], rgba(theme.line))).map_err(words)?;
            area.draw(&Text::new(format!("{mark}"), (left - px(6.0), y), style.clone())).map_err(words)?;
        }
        let (from, long) = (right + px(BAR_PX.1), f64::from(px(BAR_PX.0)));
        let (top, bottom) = (f64::from(px(AROUND_PX.2)), f64::from(size.height - px(AROUND_PX.3)));
        let bars = [
            (layout.bars(report.baseline.iter().copied()), theme.muted.with_alpha(0.35), 1.0),
            (layout.bars(report.rows.iter().map(|row| row.score)), theme.accent, 0.4),
        ];
        for (bars, color, thick) in bars {
            let step = (bottom - top) / BARS as f64;
            for (at, bar) in bars.into_iter().enumerate().filter(|(_, bar)| *bar > 0.0) {
                let low = bottom - at as f64 * step;
                let corners =
                    [(from, (low - step * thick) as i32), (from + (bar * long).ceil() as i32, low as i32)];
                area.draw(&Rectangle::new(corners, rgba(color).filled())).map_err(words)?;
            }
        }
        let style = size.text(theme.muted, HPos::Left, VPos::Top);
        let whose = if report.baseline.is_empty() { "scores" } else { "baseline, judged" };
        area.draw(&Text::new(whose.to_owned(), (from, px(1.0)), style)).map_err(words)?;
        if report.has_verdicts {
            let y = layout.height(report.threshold());
            let stroke = rgba(theme.accent).stroke_width(px(1.0) as u32);
            let ends = vec![(left, y), (from + px(BAR_PX.0), y)];
            area.draw(&PathElement::new(ends, stroke)).map_err(words)?;
        }
        // Normal requests first, so that no anomalous one is hidden.
        let is_found = |at: usize| found.is_none_or(|found| found.get(at).copied().unwrap_or(true));
        let dots: Vec<(Option<Abnormal>, bool, (i32, i32))> = report
            .rows
            .iter()
            .zip(&layout.dots)
            .enumerate()
            .map(|(at, (row, dot))| (report.verdict(row), is_found(at), *dot))
            .collect();
        let normal =
            |found| dots.iter().filter(move |dot| dot.0.is_none() && dot.1 == found).map(|dot| dot.2);
        let (pale, plain) = (theme.muted.with_alpha(0.2), theme.muted.with_alpha(0.5));
        let learned = layout.learned.iter().copied().map(|dot| (dot, plain));
        let normal = normal(false).map(|dot| (dot, pale)).chain(normal(true).map(|dot| (dot, plain)));
        for (dot, color) in learned.chain(normal) {
            area.draw(&Circle::new(dot, small, rgba(color).filled())).map_err(words)?;
        }
        // A verdict has a shape: the signs of its list.
        let (radius, arm) = (px(3.0), px(4.5));
        for (verdict, is_found, (x, y)) in &dots {
            let style = rgba(if *is_found { theme.accent } else { pale }).filled();
            let (left, right, top, bottom) = (x - arm, x + arm, y - arm, y + arm);
            match verdict {
                None => {}
                Some(Abnormal::Different) => {
                    area.draw(&Circle::new((*x, *y), radius, style)).map_err(words)?;
                }
                Some(Abnormal::Delayed) => {
                    let corners = vec![(left, y + radius), (*x, top), (right, y + radius)];
                    area.draw(&Polygon::new(corners, style)).map_err(words)?;
                }
                Some(Abnormal::Both) => {
                    let corners = vec![(left, *y), (*x, top), (right, *y), (*x, bottom)];
                    area.draw(&Polygon::new(corners, style)).map_err(words)?;
                }
            }
        }
        let y = size.height - px(AROUND_PX.3);
        let names: &[&str] = if layout.panes.len() > 1 { &["baseline, ", "judged, "] } else { &[""] };
        for (pane, name) in layout.panes.iter().zip(names) {
            if let Some(axis) = &pane.axis {
                plot::draw_axis(area, pane.ends, axis, y, size, theme)?;
            }
            let style = size.text(theme.muted, HPos::Left, VPos::Top);
            let since = format!("{name}since {}", format::moment(pane.start_us));
            area.draw(&Text::new(since, (pane.ends.0, px(1.0)), style)).map_err(words)?;
        }
        Ok(())
    })
}

/// Returns the picture as an SVG document; deterministic.
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
    plot::document(size, title, |backend| draw(backend, report, &layout, None, theme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Metrics;
    use pathlight_engine::anomalies::{AnomalyRow, PartOfRequest};
    use pathlight_engine::requests::RequestRef;

    fn report(rows: &[(u64, f64)]) -> AnomalyReport {
        let row = |&(start_us, score): &(u64, f64)| AnomalyRow {
            request: RequestRef { trace_id: "1".into(), root_span_id: "2".into(), latency_us: 3 },
            start_us,
            score,
            p: if score > 5.0 { 0.001 } else { 0.5 },
            p_different: if score > 5.0 { 0.001 } else { 0.5 },
            p_delayed: None,
            part: PartOfRequest::OnPath,
            is_unknown: false,
            is_unexplained: false,
            label: None,
            reasons: Vec::new(),
            nearest: None,
        };
        let rows = rows.iter().map(row).collect();
        let baseline = (0..999).map(|i| f64::from(i) / 200.0).collect();
        AnomalyReport {
            has_verdicts: true,
            alpha: 0.01,
            trained: 999,
            rows,
            baseline,
            ..AnomalyReport::default()
        }
    }

    #[test]
    fn odd_requests_stand_on_top_and_are_found_there() {
        let report = report(&[(2_000_000, 9.0), (1_000_000, 1.4), (3_000_000, 0.1)]);
        let size = ChartSize { width: 600, height: 200, metrics: Metrics::default() };
        let layout = AnomalyLayout::new(&report, size);
        let [odd, left, right] = [layout.dots[0], layout.dots[1], layout.dots[2]];
        assert!(odd.1 < left.1 && left.1 < right.1 && left.0 < odd.0 && odd.0 < right.0);
        // 10 of 999 training requests are at or above the line.
        assert!((report.threshold() - 989.0 / 200.0).abs() < 1e-9, "{}", report.threshold());
        assert!(odd.1 < layout.height(report.threshold()) && left.1 > layout.height(report.threshold()));
        for (row, dot) in layout.dots.iter().enumerate() {
            assert_eq!(layout.row_at((dot.0 + 2, dot.1 - 2)), Some(row));
        }
        assert_eq!(layout.row_at((0, 0)), None);
    }

    #[test]
    fn the_baseline_stands_beside_what_is_judged_on_its_own_days() {
        let day_us = 86_400_000_000;
        let learned = vec![(5, 1.0), (day_us, 3.0)];
        let report = AnomalyReport { learned, ..report(&[(40 * day_us, 9.0), (41 * day_us, 0.5)]) };
        let wide = ChartSize { width: 900, height: 200, metrics: Metrics::default() };
        let layout = AnomalyLayout::new(&report, wide);
        let [before, judged] = layout.panes.as_slice() else { panic!("{layout:?}") };
        assert_eq!(
            layout.learned,
            [(before.ends.0, layout.height(1.0)), (before.ends.1, layout.height(3.0))]
        );
        assert_eq!(layout.dots.iter().map(|dot| dot.0).collect::<Vec<_>>(), [judged.ends.0, judged.ends.1]);
        assert!(before.ends.1 < judged.ends.0);
        let svg = export_svg(&report, wide, &Theme::light(), "odd").unwrap();
        assert!(svg.contains("baseline, since ") && svg.contains("judged, since "), "{svg}");
        // Without room for both only the judged ones are drawn.
        let narrow = AnomalyLayout::new(&report, ChartSize { width: 390, ..wide });
        assert_eq!((narrow.panes.len(), narrow.learned.len(), narrow.dots.len()), (1, 0, 2));
    }

    #[test]
    fn each_verdict_has_a_shape() {
        let size = ChartSize { width: 600, height: 200, metrics: Metrics::default() };
        let mut report = report(&[(0, 9.0), (1_000_000, 9.0), (2_000_000, 9.0), (3_000_000, 0.5)]);
        report.has_delays = true;
        for (row, p_delayed) in report.rows.iter_mut().zip([0.9, 0.001, 0.001, 0.9]) {
            row.p_delayed = Some(p_delayed);
        }
        report.rows[1].p_different = 0.9;
        let svg = export_svg(&report, size, &Theme::light(), "odd").unwrap();
        assert_eq!((svg.matches("<polygon").count(), svg.matches("<circle").count()), (2, 2), "{svg}");
        // The line is at the same surprise for both.
        assert!((report.threshold() - 100.0f64.ln()).abs() < 1e-9);
    }

    #[test]
    fn the_picture_says_its_scale_and_none_is_empty() {
        let size = ChartSize { width: 600, height: 200, metrics: Metrics::default() };
        let rows = [(0, 12.0), (5_000_000, 0.5)];
        let svg = export_svg(&report(&rows), size, &Theme::light(), "odd").unwrap();
        for word in ["\n10\n", "baseline, judged", "<title>odd", "since "] {
            assert!(svg.contains(word), "{word}");
        }
        assert!(export_svg(&report(&[]), size, &Theme::dark(), "").unwrap().contains("</svg>"));
        assert!(export_svg(&report(&rows[..1]), size, &Theme::dark(), "").unwrap().contains("circle"));
    }
}
