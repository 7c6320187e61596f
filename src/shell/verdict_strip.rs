//! The line above every view of many requests: the first finding about them, as Findings says it, and what it costs.

use crate::dom::{El, Listeners, button, div, span};
use crate::page::{Page, PagePart};
use crate::widgets::frame;
use pathlight_engine::findings::FindingsReport;
use pathlight_view::findings::words::{kind_name, nothing, sentence, stake};
use pathlight_view::views::View;

/// The line.
pub struct VerdictStrip {
    element: El,
    keep: Listeners,
    /// The revisions of findings and late findings that are shown.
    shown: Option<[u64; 2]>,
}

/// Returns whether a view has the line: one that is about many requests, and is no list of findings itself.
pub fn is_wanted(page: Page) -> bool {
    let address = page.address();
    let is_of_many = match address.view {
        View::Findings | View::Trace | View::Trend | View::Compare => false,
        View::Flame
        | View::Heatmap
        | View::Endpoints
        | View::Split
        | View::Flow
        | View::Diagnosis
        | View::Anomalies
        | View::Errors
        | View::Requests => true,
    };
    // Findings of two sets are about B.
    let is_about_these = page.of_findings().0.group == address.group();
    is_of_many && is_about_these && !page.is_summary() && page.lacks(address.view).is_none()
}

impl VerdictStrip {
    /// Returns the line, out of sight.
    pub fn new() -> VerdictStrip {
        let element = div("verdict-strip").test("verdict-strip");
        element.show(false);
        VerdictStrip { element, keep: Listeners::default(), shown: None }
    }

    /// Returns its element.
    pub fn element(&self) -> &El {
        &self.element
    }

    fn fill(&self, page: Page, report: &FindingsReport) {
        self.keep.clear();
        let words = match report.findings.first() {
            // As text: a name that is a button is cut as a whole where the line ends.
            Some(first) => {
                let text = sentence(first).to_text();
                vec![
                    span("finding-kind", kind_name(first.kind())),
                    span("verdict-text", &text).attr("title", &text),
                    span("finding-stake", &stake(first)),
                ]
            }
            None => vec![span("verdict-text", &nothing(report))],
        };
        self.element.fill(&words);
        let all = button("All findings").class("link").test("verdict-all");
        self.element
            .add(&all.on_click(&self.keep, move || page.change(|address| address.view = View::Findings)));
    }
}

impl PagePart for VerdictStrip {
    fn update(&mut self, page: Page) {
        let queries = page.queries();
        let is_shown = is_wanted(page) && frame::has_traces(page) && queries.findings.get().is_some();
        self.element.show(is_shown);
        self.element.class_if("stale", queries.findings.is_waiting());
        let now = [queries.findings.revision(), queries.late_findings.revision()];
        if !is_shown || self.shown.replace(now) == Some(now) {
            return;
        }
        if let Some((report, _)) = queries.all_findings() {
            self.fill(page, &report);
        }
    }
}
