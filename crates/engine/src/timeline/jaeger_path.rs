//! Where the critical path that Jaeger UI draws names other spans than ours, and why
//! (`docs/definitions/critical-path.md` section 12).
//!
//! Jaeger UI, as its source of 2026 has it, cuts children to the interval of their parent, leaves out producers and consumers,
//! and goes back in time from the end: at each span to the child that ends last before the one it came from begins.

use super::query::{Trace, trace};
use crate::EngineError;
use crate::flame::TraceReport;
use crate::run::query::Query;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{NO_ROW, PathSettings};
use serde::{Deserialize, Serialize};

/// Reports where Jaeger's critical path of a trace differs from ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JaegerPath {
    /// The trace and its request.
    pub of: Trace,
}

/// Why the paths name different spans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum DifferenceCause {
    /// Jaeger takes a span that outlives its parent as waited for, up to the parent's end.
    Outliving,
    /// Jaeger passes over a span that ends in the microsecond in which the next one begins, and names its parent.
    BackToBack,
    /// Times are read otherwise here: clocks that were set, waiting outside of spans, spans that run side by side.
    Reading,
}

/// Time in which the paths name different spans for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathDifference {
    /// The reason.
    pub cause: DifferenceCause,
    /// In microseconds.
    pub time_us: u64,
    /// The first span concerned, by index as in [`TraceReport`].
    pub first: u32,
}

impl Query for JaegerPath {
    /// By cause; `None` if no such trace is loaded, or its request is only a part of it.
    type Report = Option<Vec<PathDifference>>;

    async fn run(self, workers: Workers) -> Result<Option<Vec<PathDifference>>, EngineError> {
        Ok(encoding::read(&self.run_to_bytes(workers).await?)?)
    }

    async fn run_to_bytes(self, workers: Workers) -> Result<Vec<u8>, EngineError> {
        workers.only_partial(self).await
    }
}

impl SetPass for JaegerPath {
    type Part = Option<Vec<PathDifference>>;

    fn settings(&self) -> Option<PathSettings> {
        Some(self.of.settings)
    }

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| {
            let report = trace(set, &self.of).filter(|report| report.request_root == 0);
            encoding::write(&report.map(|report| differences(&report)))
        })
    }
}

/// A section of a path: from, to, span; in microseconds from the start of the trace.
type Section = (u64, u64, u32);

/// The spans of a trace as Jaeger UI takes them.
struct Cut {
    start_us: Vec<u64>,
    end_us: Vec<u64>,
    /// Children of each span, the last to end first, those that are left out not among them.
    children: Vec<Vec<u32>>,
    /// Spans that are passed over since they end where the next begins.
    passed: Vec<bool>,
}

/// Returns whether each span is marked, or lies below one that is.
fn with_all_below(report: &TraceReport, mut marked: Vec<bool>) -> Vec<bool> {
    for span in 0..marked.len() {
        let parent = report.parent[span];
        marked[span] |= parent != NO_ROW && marked[parent as usize];
    }
    marked
}

fn marked(report: &TraceReport, spans: &[u32]) -> Vec<bool> {
    let mut marked = vec![false; report.parent.len()];
    spans.iter().for_each(|span| marked[*span as usize] = true);
    marked
}

impl Cut {
    fn new(report: &TraceReport) -> Cut {
        let n = report.parent.len();
        let end = |span: usize| report.span_start_us[span] + report.duration_us[span];
        let mut cut = Cut {
            start_us: report.span_start_us.clone(),
            end_us: (0..n).map(end).collect(),
            children: vec![Vec::new(); n],
            passed: vec![false; n],
        };
        let outlives = marked(report, &report.outlives_parent);
        let gave_up = marked(report, &report.caller_gave_up);
        let mut is_out = vec![false; n];
        for span in 0..n {
            let parent = report.parent[span];
            if parent == NO_ROW {
                continue;
            }
            let above = parent as usize;
            let (from_us, to_us) = (cut.start_us[above], cut.end_us[above]);
            let is_async = report.bits[span] & TraceReport::ASYNC != 0 && !outlives[span] && !gave_up[span];
            let (start_us, end_us) = (cut.start_us[span], cut.end_us[span]);
            is_out[span] =
                is_out[above] || is_async || start_us >= to_us || (start_us < from_us && end_us <= from_us);
            if !is_out[span] {
                (cut.start_us[span], cut.end_us[span]) = (start_us.max(from_us), end_us.min(to_us));
                cut.children[above].push(span as u32);
            }
        }
        let end_us = &cut.end_us;
        for children in &mut cut.children {
            let by_end = |a: &u32, b: &u32| end_us[*b as usize].cmp(&end_us[*a as usize]).then(a.cmp(b));
            children.compact_sort_by(by_end);
        }
        cut
    }

    /// Walks from the end of the root to its start; sections in the order of time.
    fn walk(&mut self, report: &TraceReport) -> Vec<Section> {
        let mut sections = Vec::new();
        // Of each span, the children that were looked at: the walk only goes back in time.
        let mut next = vec![0; self.children.len()];
        let (mut span, mut from_us) = (0_usize, None);
        while span < self.children.len() {
            let mut child = None;
            while let Some(&candidate) = self.children[span].get(next[span]) {
                let end_us = self.end_us[candidate as usize];
                if from_us.is_none_or(|from_us| end_us < from_us) {
                    child = Some(candidate as usize);
                    break;
                }
                let is_whole = self.start_us[candidate as usize] < end_us;
                self.passed[candidate as usize] |= is_whole && from_us == Some(end_us);
                next[span] += 1;
            }
            let to_us = from_us.unwrap_or(self.end_us[span]);
            let start_us = child.map_or(self.start_us[span], |child| self.end_us[child]);
            if start_us < to_us {
                sections.push((start_us, to_us, span as u32));
            }
            match child {
                Some(child) => {
                    next[span] += 1;
                    (span, from_us) = (child, None);
                }
                None if span == 0 => break,
                None => (span, from_us) = (report.parent[span] as usize, Some(self.start_us[span])),
            }
        }
        sections.reverse();
        sections
    }
}

/// Compares the path that Jaeger UI draws of a trace with that of its report.
pub(crate) fn differences(report: &TraceReport) -> Vec<PathDifference> {
    let mut cut = Cut::new(report);
    let theirs = cut.walk(report);
    let passed = with_all_below(report, cut.passed);
    let outliving: Vec<u32> = report.outlives_parent.iter().chain(&report.caller_gave_up).copied().collect();
    let outliving = with_all_below(report, marked(report, &outliving));
    let mut found: Vec<PathDifference> = Vec::new();
    let mut at = 0;
    for segment in 0..report.segment_span.len() {
        let ours = report.segment_span[segment];
        let (start_us, end_us) = (report.segment_start_us[segment], report.segment_end_us[segment]);
        while theirs.get(at).is_some_and(|(_, to_us, _)| *to_us <= start_us) {
            at += 1;
        }
        for &(from_us, to_us, span) in theirs[at..].iter().take_while(|(from_us, ..)| *from_us < end_us) {
            let time_us = to_us.min(end_us) - from_us.max(start_us);
            let (cause, first) = match () {
                () if span == ours => continue,
                () if outliving[span as usize] => (DifferenceCause::Outliving, span),
                () if passed[ours as usize] => (DifferenceCause::BackToBack, ours),
                () => (DifferenceCause::Reading, ours),
            };
            match found.iter_mut().find(|known| known.cause == cause) {
                Some(known) => known.time_us += time_us,
                None => found.push(PathDifference { cause, time_us, first }),
            }
        }
    }
    found.compact_sort_by(|a, b| a.cause.cmp(&b.cause));
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_spans::{Span, pool, span};
    use pathlight_trace::SpanKind::{Client, Internal, Server};

    /// Returns cause, time and the operation of the first span of each difference.
    fn of(spans: &[Span]) -> Vec<(DifferenceCause, u64, String)> {
        let of = Trace {
            trace_id: format!("{:032x}", 1),
            root_span_id: None,
            settings: PathSettings::default(),
            group: 0,
            has_pressures: false,
        };
        let mut pool = pool(spans, 2);
        let report = pool.run(of.clone()).unwrap().unwrap();
        let found = pool.run(JaegerPath { of }).unwrap().unwrap();
        let name = |span: u32| report.endpoints[report.endpoint[span as usize] as usize].operation.clone();
        found.into_iter().map(|found| (found.cause, found.time_us, name(found.first))).collect()
    }

    #[test]
    fn without_such_spans_the_paths_are_one() {
        let spans = [
            span(1, 1, 0, Server, (0, 100), "GET"),
            span(1, 2, 1, Client, (10, 40), "a"),
            span(1, 3, 1, Client, (50, 90), "b"),
            span(1, 4, 3, Client, (60, 80), "c"),
        ];
        assert_eq!(of(&spans), []);
    }

    #[test]
    fn spans_back_to_back_are_passed_over_by_jaeger() {
        // b begins where a ends: Jaeger names GET for the 30 microseconds of a, with what is below it.
        let spans = [
            span(1, 1, 0, Server, (0, 100), "GET"),
            span(1, 2, 1, Client, (10, 40), "a"),
            span(1, 4, 2, Client, (20, 30), "below a"),
            span(1, 3, 1, Client, (40, 90), "b"),
        ];
        assert_eq!(of(&spans), [(DifferenceCause::BackToBack, 30, "a".to_owned())]);
    }

    #[test]
    fn what_outlives_its_parent_is_waited_for_by_jaeger() {
        // The second is of the same process as the first, since it has its name.
        let outlives = [
            span(1, 1, 0, Server, (0, 100_000), "GET"),
            span(1, 2, 1, Internal, (50_000, 400_000), "GET"),
            span(1, 3, 1, Client, (10_000, 40_000), "query"),
        ];
        assert_eq!(of(&outlives), [(DifferenceCause::Outliving, 50_000, "GET".to_owned())]);
    }
}
