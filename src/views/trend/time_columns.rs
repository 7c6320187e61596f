//! Latency over time as a row of columns: a click or a drag takes the requests of that time.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::Page;
use pathlight_engine::findings::FindingsReport;
use pathlight_engine::requests::Filter;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::trend::over_time::{TimeColumn, columns};
use std::cell::Cell;
use std::rc::Rc;

/// The row.
pub struct TimeColumns {
    element: El,
    keep: Listeners,
}

impl TimeColumns {
    /// Returns an empty row.
    pub fn new() -> TimeColumns {
        let element = div("time-columns").test("over-time");
        TimeColumns { element, keep: Listeners::default() }
    }

    /// Returns its element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Shows the latency over time of a report; nothing where there is but one stretch.
    pub fn set(&self, page: Page, report: &FindingsReport) {
        self.keep.clear();
        let columns = Rc::new(columns(report));
        self.element.show(columns.len() > 1);
        let pressed = Rc::new(Cell::new(None));
        let bars: Vec<El> = (0..columns.len()).map(|at| self.column(page, &columns, at, &pressed)).collect();
        let title = el("h2").class("section-title").text("Latency over time");
        let said = span(
            "muted small",
            "Dark up to the median, light up to the slowest, log scale; red is the share of requests with errors. Click or \
             drag to take the requests of a time.",
        );
        self.element.fill([&title, &div("time-bars").children(&bars), &said]);
    }

    fn column(
        &self,
        page: Page,
        columns: &Rc<Vec<TimeColumn>>,
        at: usize,
        pressed: &Rc<Cell<Option<usize>>>,
    ) -> El {
        let column = &columns[at];
        let bar = |class, height: f64| div(class).styled("height", &format!("{:.1}%", height * 100.0));
        let element = button("")
            .class("time-column")
            .attr("title", &column.words)
            .label(&column.words)
            .test("time-column")
            .child(&bar("time-most", column.most))
            .child(&bar("time-p50", column.p50))
            .child(&bar("time-errors", column.errors));
        // One set alone has the colour that it has as A.
        element.class_if("before", column.is_before || !columns.iter().any(|column| column.is_before));
        element.class_if("burst", column.has_burst);
        let start = pressed.clone();
        let element = element.on(&self.keep, "pointerdown", move |_| start.set(Some(at)));
        let (all, from) = (columns.clone(), pressed.clone());
        // A drag ends at another column; what ends where it began is a click, as a key is.
        let element = element.on(&self.keep, "pointerup", move |_| {
            if let Some(other) =
                from.take().filter(|&other| other != at && all[other].is_before == all[at].is_before)
            {
                take(page, &all, other, at);
            }
        });
        let all = columns.clone();
        element.on_click(&self.keep, move || take(page, &all, at, at))
    }
}

/// Takes the requests that start between two columns.
fn take(page: Page, columns: &[TimeColumn], a: usize, b: usize) {
    let (first, last) = (&columns[a.min(b)], &columns[a.max(b)]);
    page.change(|address| {
        if address.compares_sets() {
            // A time of sets loaded apart is one of the side in sight.
            address.speak_of(if first.is_before { ComparedSide::A } else { ComparedSide::B });
        }
        address.add_filter(Filter::Time { from_us: first.from_us, to_us: last.to_us });
    });
}
