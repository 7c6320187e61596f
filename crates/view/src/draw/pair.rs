//! An anomalous request beside a normal one: both on one axis, with what tells them apart marked.

use crate::timeline::chart::Sign;
use pathlight_engine::anomalies::{AnomalyReport, AnomalyRow, ReasonKind, ReasonRow};
use pathlight_engine::flame::TraceReport;
use std::collections::BTreeMap;

const NONE: u32 = u32::MAX;

/// Returns two requests alone, without the rest of their traces, on one axis: their roots start at the same place, and
/// both end where the longer one does.
pub fn align(requests: [TraceReport; 2]) -> [TraceReport; 2] {
    let requests = requests.map(alone);
    let lead = |of: &TraceReport| of.span_start_us.first().copied().unwrap_or(0);
    let most = requests.iter().map(lead).max().unwrap_or(0);
    let requests = requests.map(|mut of| {
        let later = most - lead(&of);
        let times = [&mut of.span_start_us, &mut of.segment_start_us, &mut of.segment_end_us];
        times.into_iter().flatten().for_each(|us| *us += later);
        of.start_us = of.start_us.saturating_sub(later);
        of.end_us += later;
        of
    });
    let end_us = requests.iter().map(|of| of.end_us).max().unwrap_or(0);
    requests.map(|of| TraceReport { end_us, ..of })
}

/// Returns a request without the rest of its trace; its first span begins at 0.
fn alone(mut of: TraceReport) -> TraceReport {
    let root = (of.request_root as usize).min(of.depth.len());
    let depth = of.depth.get(root).copied().unwrap_or(0);
    // Pre-order: what lies deeper right after the root is below it.
    let below = of.depth[root..].iter().skip(1).take_while(|&&d| d > depth).count();
    let spans = root..of.depth.len().min(root + 1 + below);
    cut(&mut of.parent, &spans);
    cut(&mut of.endpoint, &spans);
    cut(&mut of.span_start_us, &spans);
    cut(&mut of.duration_us, &spans);
    cut(&mut of.depth, &spans);
    cut(&mut of.bits, &spans);
    cut(&mut of.drag_us, &spans);
    cut(&mut of.slack_us, &spans);
    let first_us = of.span_start_us.iter().copied().min().unwrap_or(0);
    of.parent.iter_mut().for_each(|parent| *parent = parent.checked_sub(root as u32).unwrap_or(NONE));
    if let Some(parent) = of.parent.first_mut() {
        *parent = NONE;
    }
    of.depth.iter_mut().for_each(|d| *d -= depth);
    of.segment_span.iter_mut().for_each(|span| *span = span.wrapping_sub(root as u32));
    of.waiting.iter_mut().for_each(|wait| wait.span = wait.span.wrapping_sub(root as u32));
    for spans in [&mut of.caller_stopped, &mut of.outlives_parent, &mut of.caller_gave_up] {
        spans.retain_mut(|span| {
            *span = span.wrapping_sub(root as u32);
            (*span as usize) < of.depth.len()
        });
    }
    let times = [&mut of.span_start_us, &mut of.segment_start_us, &mut of.segment_end_us];
    times.into_iter().flatten().for_each(|us| *us = us.saturating_sub(first_us));
    let ends = of.span_start_us.iter().zip(&of.duration_us).map(|(start, duration)| start + duration);
    of.end_us = ends.max().unwrap_or(0);
    of.start_us += first_us;
    of.request_root = 0;
    of
}

fn cut<T>(column: &mut Vec<T>, spans: &std::ops::Range<usize>) {
    column.truncate(spans.end);
    column.drain(..spans.start.min(column.len()));
}

/// Returns what the reasons of an anomalous request mark: in its own timeline, and in that of the normal one.
pub fn signs(report: &AnomalyReport, row: &AnomalyRow, pair: &[TraceReport; 2]) -> [Vec<(u32, Sign)>; 2] {
    let mut signs = [BTreeMap::new(), BTreeMap::new()];
    for reason in report.reasons(row) {
        let side = usize::from(reason.kind == ReasonKind::MissingCall);
        let path: Vec<(&str, &str)> = report.path(reason.path).collect();
        for span in spans_on(&pair[side], &path) {
            // The strongest reason comes first.
            signs[side].entry(span).or_insert_with(|| sign(reason));
        }
    }
    signs.map(|signs| signs.into_iter().collect())
}

fn sign(reason: &ReasonRow) -> Sign {
    let (letter, words) = match reason.kind {
        ReasonKind::NewCall => ('+', "new".to_owned()),
        ReasonKind::MissingCall => ('\u{2212}', "missing in the other".to_owned()),
        ReasonKind::Error => ('!', if reason.value == 1 { "fails" } else { "does not fail" }.to_owned()),
        ReasonKind::CallCount => ('#', format!("called {} times", reason.value)),
        ReasonKind::Combination => ('~', "calls that do not occur together".to_owned()),
        ReasonKind::Order => ('~', "begins after another call".to_owned()),
        ReasonKind::CriticalPath => {
            ('~', if reason.value == 1 { "on the critical path" } else { "off the critical path" }.to_owned())
        }
        ReasonKind::Delay => {
            let longest_us = reason.longest_us.unwrap_or_default();
            (
                '\u{25b2}',
                format!("self time {:.1} times the longest", reason.value as f64 / longest_us.max(1.0)),
            )
        }
        ReasonKind::Outside => ('\u{25b2}', "calls reach beyond it".to_owned()),
        _ => {
            let (low, high) = reason.baseline.unwrap_or((0.0, 0.0));
            // The bar shows the whole of a span.
            let (what, less, more) = match reason.kind {
                ReasonKind::SelfTime => ("self time ", "shorter", "longer"),
                ReasonKind::Wait => ("wait before it ", "shorter", "longer"),
                _ => ("", "faster", "slower"),
            };
            match reason.value as f64 {
                us if us < low => ('\u{25bc}', format!("{what}{:.1} times {less}", low / us.max(1.0))),
                us => ('\u{25b2}', format!("{what}{:.1} times {more}", us / high.max(1.0))),
            }
        }
    };
    Sign { letter, words }
}

/// Returns the spans of a request whose call path from its root is this one.
fn spans_on(request: &TraceReport, path: &[(&str, &str)]) -> Vec<u32> {
    let is = |endpoint: u32, (service, operation): (&str, &str)| {
        request.endpoints.get(endpoint as usize).is_some_and(|e| e.names() == (service, operation))
    };
    // Of each span how much of the path leads to it; parents come first.
    let mut led: Vec<usize> = Vec::with_capacity(request.parent.len());
    let mut found = Vec::new();
    for (span, (&parent, &endpoint)) in request.parent.iter().zip(&request.endpoint).enumerate() {
        let above = if span == 0 { Some(0) } else { led.get(parent as usize).copied().filter(|&n| n > 0) };
        let next = above.and_then(|above| Some((above, *path.get(above)?)));
        let here = next.filter(|&(_, name)| is(endpoint, name)).map_or(0, |(above, _)| above + 1);
        led.push(here);
        if here == path.len() {
            found.push(span as u32);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::chart::trace;
    use pathlight_engine::anomalies::PartOfRequest;
    use pathlight_engine::flame::SpanWaiting;
    use pathlight_engine::requests::RequestRef;
    use pathlight_trace::Endpoint;

    const P: u8 = TraceReport::ON_PATH;

    /// Returns a root beside the request, then the request, which waits for two spans and has one that begins before
    /// it.
    fn request(at: u64, wait: u64) -> TraceReport {
        let spans = [
            (NONE, 0, 10_000, 0),
            (NONE, at, 100 + wait, P),
            (1, at + 50, wait, P),
            (1, at - 20, 30, 0),
            (NONE, 5, 5, 0),
        ];
        let segments = [(1, at, at + 50), (2, at + 50, at + 50 + wait), (1, at + 50 + wait, at + 100 + wait)];
        TraceReport { request_root: 1, start_us: 1_000_000, ..trace(&spans, &segments) }
    }

    #[test]
    fn roots_start_together_and_the_axis_is_that_of_the_longer_one() {
        let mut plain = request(300, 40);
        plain.span_start_us[3] = 300;
        plain.caller_stopped = vec![0, 2, 4];
        (plain.outlives_parent, plain.caller_gave_up) = (vec![3], vec![0, 1]);
        plain.waiting =
            vec![SpanWaiting { span: 2, callee: String::new(), us: 1, is_certain: true, halves_us: None }];
        let [anomalous, normal] = align([request(700, 900), plain]);
        assert_eq!((normal.caller_stopped.as_slice(), normal.waiting[0].span), (&[1][..], 1));
        assert_eq!((&normal.outlives_parent[..], &normal.caller_gave_up[..]), (&[2][..], &[0][..]));
        // The anomalous one has a span 20 us before its root, so both roots stand there.
        assert_eq!(
            (anomalous.span_start_us.as_slice(), normal.span_start_us.as_slice()),
            (&[20, 70, 0][..], &[20, 70, 20][..])
        );
        assert_eq!((anomalous.end_us, normal.end_us), (1020, 1020));
        assert_eq!((anomalous.start_us, normal.start_us), (1_000_680, 1_000_280));
        assert_eq!(
            (anomalous.parent.as_slice(), anomalous.depth.as_slice()),
            (&[NONE, 0, 0][..], &[0, 1, 1][..])
        );
        assert_eq!(
            (anomalous.segment_span.as_slice(), anomalous.segment_start_us.as_slice()),
            (&[0, 1, 0][..], &[20, 70, 970][..])
        );
        assert_eq!(normal.segment_end_us, [70, 110, 160]);
        let [none, _] = align([TraceReport::default(), request(300, 40)]);
        assert_eq!((none.parent.len(), none.end_us), (0, 160));
    }

    #[test]
    fn reasons_mark_the_spans_they_speak_of_on_their_side() {
        let pair = align([request(700, 900), request(300, 40)]);
        // Endpoint i is (svc i, op i): the request is 1, what it waits for 2.
        let name = |i: usize| Endpoint::new(format!("svc{i}"), format!("op{i}"));
        let reason = |kind, path, value| ReasonRow {
            kind,
            part: PartOfRequest::OnPath,
            path,
            after: None,
            callee: None,
            calls: 100,
            alike: 0,
            value,
            baseline: Some((1.0, 2.0)),
            longest_us: None,
        };
        let row = AnomalyRow {
            request: RequestRef { trace_id: "1".into(), root_span_id: "2".into(), latency_us: 3 },
            start_us: 0,
            score: 9.0,
            p: 0.001,
            p_different: 0.001,
            p_delayed: None,
            part: PartOfRequest::OnPath,
            is_unknown: false,
            is_unexplained: false,
            label: None,
            reasons: vec![
                reason(ReasonKind::SelfTime, 1, 45),
                reason(ReasonKind::NewCall, 1, 0),
                reason(ReasonKind::MissingCall, 0, 0),
                reason(ReasonKind::CallCount, 2, 6),
            ],
            nearest: None,
        };
        let report = AnomalyReport {
            endpoints: vec![name(1), name(2), name(3)],
            paths: vec![vec![0], vec![0, 1], vec![0, 2]],
            ..AnomalyReport::default()
        };
        let [anomalous, normal] = signs(&report, &row, &pair);
        let said = |signs: &[(u32, Sign)]| -> Vec<(u32, char, String)> {
            signs.iter().map(|(span, sign)| (*span, sign.letter, sign.words.clone())).collect()
        };
        assert_eq!(
            said(&anomalous),
            [
                (1, '\u{25b2}', "self time 22.5 times longer".to_owned()),
                (2, '#', "called 6 times".to_owned())
            ]
        );
        assert_eq!(said(&normal), [(0, '\u{2212}', "missing in the other".to_owned())]);
    }
}
