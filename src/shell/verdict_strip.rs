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
    kind: El,
    text: El,
    stake: El,
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
    /// Builds the line, out of sight.
    pub fn new(page: Page, keep: &Listeners) -> VerdictStrip {
        let [kind, text, stake] =
            ["finding-kind", "verdict-text", "finding-stake"].map(|class| span(class, ""));
        let all = button("All findings").class("link").test("verdict-all");
        let all = all.on_click(keep, move || page.change(|address| address.view = View::Findings));
        let element =
            div("verdict-strip").test("verdict-strip").child(&kind).child(&text).child(&stake).child(&all);
        element.show(false);
        VerdictStrip { element, kind, text, stake, shown: None }
    }

    /// Returns its element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Says the first finding of a report. As text: a name that is a button is cut as a whole where the line ends.
    fn fill(&self, report: &FindingsReport) {
        let (kind, text, stake) = match report.findings.first() {
            Some(first) => (kind_name(first.kind()), sentence(first).to_text(), stake(first)),
            None => ("", nothing(report), String::new()),
        };
        self.kind.set_text(kind);
        self.text.set_text(&text);
        self.text.set("title", &text);
        self.stake.set_text(&stake);
    }
}

impl PagePart for VerdictStrip {
    fn update(&mut self, page: Page) {
        let queries = page.queries();
        // It has its place from the start, so that nothing moves when it comes.
        let is_shown = is_wanted(page) && frame::has_traces(page) && queries.findings.failure().is_none();
        self.element.show(is_shown);
        self.element.class_if("stale", queries.findings.fresh().is_none());
        let now = [queries.findings.revision(), queries.late_findings.revision()];
        if !is_shown || self.shown.replace(now) == Some(now) {
            return;
        }
        if let Some((report, _)) = queries.all_findings() {
            self.fill(&report);
        }
    }
}
