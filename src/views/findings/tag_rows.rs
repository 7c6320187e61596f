//! Tags by themselves, as pairs of bars: what part of the slow requests has a tag, and what part of the others. A click keeps
//! only the requests that have it.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::shell::filters;
use pathlight_engine::findings::TagsReport;
use pathlight_view::findings::tag_rows::{TagLine, about, lines, words};

/// The list.
pub struct TagRows {
    element: El,
    keep: Listeners,
}

impl TagRows {
    /// Returns an empty list.
    pub fn new() -> TagRows {
        TagRows { element: div("tag-list").test("tag-rows"), keep: Listeners::default() }
    }

    /// Returns its element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Shows the tags of a report.
    pub fn set(&self, page: Page, report: &TagsReport) {
        self.keep.clear();
        let title = el("h2").class("section-title").text("Tags that tell slow requests from the others");
        let about = el("p").class("muted small").test("tags-about");
        let about = about.text(&about_words(page, report));
        let rows = lines(report).into_iter().map(|line| self.row(page, line)).collect::<Vec<El>>();
        self.element.fill([&title, &about, &div("tag-grid").children(&rows)]);
    }

    fn row(&self, page: Page, line: TagLine) -> El {
        let bar = |class: &str, (part, n): &(f64, String)| {
            let bar = div("finding-bar").styled("width", &format!("{:.1}%", part * 100.0));
            div("tag-bar").child(&div(class).child(&bar)).child(&span("number", n))
        };
        let row = button("")
            .class("tag-row")
            .label(&format!("{}. Click to keep only requests that have it", words(&line)))
            .test("tag-row")
            .child(&span("tag-name", &line.name))
            .child(
                &div("tag-bars")
                    .child(&bar("finding-track", &line.slow))
                    .child(&bar("finding-track of-others", &line.others)),
            );
        let row =
            if line.same.is_empty() { row } else { row.child(&span("tag-same muted small", &line.same)) };
        row.on_click(&self.keep, move || {
            line.filters.iter().for_each(|filter| filters::add(page, filter.clone()));
        })
    }
}

fn about_words(page: Page, report: &TagsReport) -> String {
    about(report, !page.address().range.is_all())
}
