//! What the spans of a timeline are: those of a trace, or of the aggregate trace of many.

use crate::ui::dom::{El, div, span};
use crate::ui::page::{Focus, Page};
use crate::ui::widgets::names;
use pathlight_chart::timeline::Timeline;
use pathlight_query::{Endpoint, TraceReport};
use pathlight_text::format;

/// What spans mean to the rest of the page.
pub trait Spans {
    /// The span that is selected.
    fn selected(&self, page: Page, timeline: &Timeline) -> Option<u32>;

    /// What a tip says of a span, the pointer being on a named part of it or elsewhere.
    fn tip(&self, timeline: &Timeline, at: u32, part: Option<u32>) -> Vec<El>;
}

/// The spans of a trace.
pub struct TraceSpans;

impl Spans for TraceSpans {
    fn selected(&self, page: Page, timeline: &Timeline) -> Option<u32> {
        match *page.focus() {
            Focus::Span(at) if (at as usize) < timeline.len() => Some(at),
            _ => None,
        }
    }

    fn tip(&self, timeline: &Timeline, at: u32, _part: Option<u32>) -> Vec<El> {
        let report = timeline.report();
        let endpoint = report.endpoint.get(at as usize).and_then(|at| report.endpoints.get(*at as usize));
        let Some(Endpoint { service, operation }) = endpoint else { return Vec::new() };
        let (start, end) = timeline.interval_us(at);
        let mut lines = vec![
            names::endpoint(service, operation),
            div("").text(&format!(
                "{} from +{}",
                format::duration_us(end - start),
                format::duration_us(start)
            )),
        ];
        let words: Vec<&str> = [
            (TraceReport::ERROR, "error"),
            (TraceReport::ON_PATH, "on the critical path"),
            (TraceReport::ASYNC, "asynchronous: its parent does not wait for it"),
            (TraceReport::CLIPPED, "clipped: outside its parent in part"),
            (TraceReport::DROPPED, "dropped: wholly outside its parent"),
            (TraceReport::ORPHAN, "its parent is missing"),
        ]
        .into_iter()
        .filter(|(bit, _)| timeline.bit(at, *bit))
        .map(|(_, words)| words)
        .collect();
        if !words.is_empty() {
            lines.push(span("muted", &words.join(", ")));
        }
        lines.extend(timeline.sign(at).map(|sign| div("strong").text(&sign.words)));
        if let Some((drag, slack)) = timeline.pressure_us(at) {
            lines.push(div("").text(&pressure_words(drag, slack)));
        }
        if timeline.is_closed(at) {
            lines.push(
                div("muted").text(&format!(
                    "{} spans folded below it",
                    format::count(timeline.descendants(at).into())
                )),
            );
        }
        lines
    }
}

/// Drag and slack of a span in a line.
fn pressure_words(drag_us: u64, slack_us: u64) -> String {
    if drag_us > 0 {
        return format!("Drag {}: without it the request ends so much earlier", format::duration_us(drag_us));
    }
    format!("Slack {}: so much longer it may take", format::duration_us(slack_us))
}
