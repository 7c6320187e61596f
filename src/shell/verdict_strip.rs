//! The line above every view of many requests: the first finding about them, as Findings says it, and what it costs.

use crate::dom::{El, Listeners, button, div, span};
use crate::page::{Page, PagePart};
use crate::widgets::frame;
use pathlight_engine::findings::{Finding, FindingsReport};
use pathlight_engine::requests::Filter;
use pathlight_view::findings::block::{cost, headline};
use pathlight_view::findings::links::{hit_words, show_hit};
use pathlight_view::findings::words::{nothing, sentence};
use pathlight_view::views::View;
use std::cell::RefCell;
use std::rc::Rc;

/// The line.
pub struct VerdictStrip {
    element: El,
    stake: El,
    text: El,
    hit: El,
    /// The finding that is said.
    first: Rc<RefCell<Option<Finding>>>,
    /// The revisions of findings and late findings that are shown.
    shown: Option<[u64; 2]>,
}

/// Returns whether a view has the line: one that is about many requests, and is no list of findings itself.
pub fn is_wanted(page: Page) -> bool {
    let address = page.address();
    let is_of_many = match address.view {
        View::Findings | View::Trace | View::Trend => false,
        View::Compare => address.has_baseline(),
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
    let is_about_these = address.view == View::Compare || !address.is_of_baseline();
    is_of_many && is_about_these && !page.is_summary() && page.lacks(address.view).is_none()
}

impl VerdictStrip {
    /// Builds the line, out of sight.
    pub fn new(page: Page, keep: &Listeners) -> VerdictStrip {
        let [stake, text] = ["verdict-cost number", "verdict-text"].map(|class| span(class, ""));
        let first: Rc<RefCell<Option<Finding>>> = Rc::default();
        let said = first.clone();
        let hit = button("").test("verdict-hit").attr("title", "Look only at these requests, in every view");
        let hit = hit.on_click(keep, move || {
            if let Some(finding) = &*said.borrow() {
                page.change(|address| show_hit(finding, address));
            }
        });
        let all = button("All findings").class("quiet").test("verdict-all");
        let all = all.on_click(keep, move || page.change(|address| address.view = View::Findings));
        let element =
            div("verdict-strip").test("verdict-strip").child(&stake).child(&text).child(&hit).child(&all);
        element.show(false);
        VerdictStrip { element, stake, text, hit, first, shown: None }
    }

    /// Returns its element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Says the first finding of a report. As text: a name that is a button is cut as a whole where the line ends.
    fn fill(&self, page: Page, report: &FindingsReport) {
        let first = report.findings.first();
        let text = first.map_or_else(|| nothing(report), |first| headline(first).0.to_text());
        let cost = first.and_then(|first| cost(first, report));
        self.text.set_text(&text);
        self.text.set("title", &first.map_or(text, |first| sentence(first).to_text()));
        self.stake.set_text(cost.as_ref().map_or("", |cost| &cost.amount));
        self.stake.set("title", cost.as_ref().map_or("", |cost| &cost.of));
        self.stake.class_if("of-waiting", cost.is_some_and(|cost| cost.is_waiting));
        let is_kept = page.address().filters.iter().any(|filter| matches!(filter, Filter::Hit(_)));
        let hit = first.and_then(hit_words).filter(|_| !is_kept);
        self.hit.show(hit.is_some());
        self.hit.set_text(&hit.unwrap_or_default());
        self.first.replace(first.cloned());
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
            self.fill(page, &report);
        }
    }
}
