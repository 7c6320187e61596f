//! Drag and slack of the spans of a timeline (`docs/definitions/critical-path.md` section 8).

use super::{SpanBar, Timeline, TimelineSize};
use crate::draw::Window;
use pathlight_engine::flame::TraceReport;
use pathlight_engine::flow::RequestPressure;

impl Timeline {
    /// Takes drag and slack of the spans, which come after the rest.
    pub fn set_pressures(&mut self, of: &RequestPressure) {
        let report = self.report_mut();
        report.drag_us.clone_from(&of.drag_us);
        report.slack_us.clone_from(&of.slack_us);
    }

    /// Returns how much earlier the request would end without a span, and how much longer the span may take, in
    /// microseconds; `None` if the request does not wait for it.
    pub fn pressure_us(&self, span: u32) -> Option<(u64, u64)> {
        let report = self.report();
        let of =
            |column: &[u64]| column.get(span as usize).copied().filter(|us| *us != TraceReport::NOT_WAITED);
        Some((of(&report.drag_us)?, of(&report.slack_us)?))
    }
}

/// Returns the visible part of a span's slack, from its end on; `None` if it has none.
pub(crate) fn tail(timeline: &Timeline, window: Window, size: TimelineSize, span: u32) -> Option<SpanBar> {
    let (_, slack) = timeline.pressure_us(span)?;
    let (_, end) = timeline.interval_us(span);
    let plot = size.plot_px();
    let last = end.saturating_add(slack).min(timeline.report().end_us);
    let x = window.pixel(end, plot).clamp(0, plot);
    let right = window.pixel(last, plot).clamp(0, plot);
    (right > x).then(|| SpanBar { x: size.column_px + x, w: right - x })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Metrics;
    use pathlight_trace::Endpoint;

    fn timeline(slack_us: u64) -> Timeline {
        Timeline::new(TraceReport {
            end_us: 100,
            endpoints: vec![Endpoint::new("a", "x")],
            parent: vec![u32::MAX, 0],
            endpoint: vec![0, 0],
            span_start_us: vec![0, 10],
            duration_us: vec![100, 30],
            depth: vec![0, 1],
            bits: vec![0, 0],
            drag_us: vec![100, 0],
            slack_us: vec![0, slack_us],
            ..TraceReport::default()
        })
    }

    #[test]
    fn a_tail_is_as_long_as_the_slack_and_stays_in_sight() {
        let size = TimelineSize::new(1000, 100, 0, Metrics::default());
        let bar = |slack_us, from, to| tail(&timeline(slack_us), Window { from, to }, size, 1);
        assert_eq!(bar(20, 0.0, 100.0), Some(SpanBar { x: 400, w: 200 }));
        assert_eq!(bar(20, 0.0, 50.0), Some(SpanBar { x: 800, w: 200 }));
        assert_eq!(bar(0, 0.0, 100.0), None);
        assert_eq!(bar(TraceReport::NOT_WAITED, 0.0, 100.0), None);
        assert_eq!(bar(u64::MAX - 1, 0.0, 100.0), Some(SpanBar { x: 400, w: 600 }));
        assert_eq!(timeline(20).pressure_us(1), Some((0, 20)));
        assert_eq!(timeline(20).pressure_us(2), None);
    }

    #[test]
    fn drag_and_slack_come_after_the_rest_and_leave_rows_as_they_are() {
        let full = timeline(20);
        let report = TraceReport { drag_us: Vec::new(), slack_us: Vec::new(), ..full.report().clone() };
        let mut early = Timeline::new(report);
        early.toggle(0);
        let listed = early.shared();
        assert_eq!((early.pressure_us(1), early.rows().len()), (None, 1));
        let (drag_us, slack_us) = (full.report().drag_us.clone(), full.report().slack_us.clone());
        early.set_pressures(&RequestPressure { drag_us, slack_us });
        assert_eq!((early.report(), early.rows().len()), (full.report(), 1));
        assert!(listed.drag_us.is_empty(), "who shares the report keeps what it has");
    }
}
