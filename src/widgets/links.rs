//! Links back to Jaeger UI, wherever a trace or a span is named and a Jaeger is known.

use crate::dom::{El, el};
use crate::page::Page;
use pathlight_backend as jaeger;

/// Returns a link to a trace, with a span of it found.
pub fn trace(page: Page, trace_id: &str, span_id: Option<&str>) -> Option<El> {
    let base = page.fetching().jaeger(page)?;
    let what = if span_id.is_some() { "Show this span in Jaeger UI" } else { "Show this trace in Jaeger UI" };
    Some(link(&jaeger::trace_link(&base, trace_id, span_id), "Jaeger UI", what).test("jaeger-link"))
}

/// Returns the link of [`trace`], as small as an arrow, for lists.
pub fn mark(page: Page, trace_id: &str, span_id: Option<&str>) -> Option<El> {
    let base = page.fetching().jaeger(page)?;
    let link = link(&jaeger::trace_link(&base, trace_id, span_id), "", "");
    Some(link.label("Show it in Jaeger UI").test("jaeger-mark"))
}

/// Returns a link that compares two traces.
pub fn traces(page: Page, a: &str, b: &str) -> Option<El> {
    let base = page.fetching().jaeger(page)?;
    let url = jaeger::traces_link(&base, a, b);
    let link = link(&url, "Compare the first two in Jaeger UI", "Show both traces side by side in Jaeger UI");
    Some(link.test("jaeger-compare"))
}

fn link(url: &str, words: &str, title: &str) -> El {
    el("a")
        .class("link out")
        .attr("href", url)
        .attr("target", "_blank")
        .attr("rel", "noopener noreferrer")
        .attr("title", title)
        .text(words)
}
