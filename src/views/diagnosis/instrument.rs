//! Where one more span would tell most, with the code for it; see [`instrument`].

use crate::dom::{El, Listeners, button, div, el};
use crate::page::{Focus, Page};
use crate::shell::banners::copy_text;
use crate::views::flow::report_table::{ReportTable, Said};
use crate::views::view::SearchResult;
use crate::widgets::companion::CompanionTable;
use pathlight_engine::instrument::InstrumentReport;
use pathlight_view::instrument::{self, InstrumentLine};
use pathlight_view::search::finder::Finder;
use std::cell::RefCell;
use std::rc::Rc;

/// The place whose code is shown: sentence, code, and what copies it.
#[derive(Clone)]
struct Code {
    advice: El,
    code: El,
    copy: El,
    text: Rc<RefCell<String>>,
}

impl Code {
    fn show(&self, row: Option<&pathlight_engine::instrument::InstrumentRow>) {
        let code = row.and_then(instrument::snippet);
        self.advice.set_text(&row.map(instrument::advice).unwrap_or_default());
        self.code.show(code.is_some());
        self.copy.show(code.is_some());
        let code = code.unwrap_or_default();
        self.code.set_text(&code);
        self.text.replace(code);
    }
}

/// The list.
pub struct InstrumentPanel {
    element: El,
    code: Code,
    report: ReportTable<InstrumentLine>,
    /// Revision of the report whose first place is shown.
    shown: Option<u64>,
}

impl InstrumentPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> InstrumentPanel {
        let text: Rc<RefCell<String>> = Rc::default();
        let copied = text.clone();
        let pressed: Rc<std::cell::OnceCell<El>> = Rc::default();
        let own = pressed.clone();
        let copy = button("Copy code").test("copy-instrument").on_click(keep, move || {
            if let Some(pressed) = own.get() {
                copy_text(&copied.borrow(), pressed);
            }
        });
        // It is set once, here.
        let _ = pressed.set(copy.clone());
        let advice = el("p").class("muted small").test("instrument-advice");
        let code = el("pre").class("snippet").test("instrument-code");
        let code = Code { advice, code, copy, text };
        let of_row = code.clone();
        let table = CompanionTable::new(page, instrument::table()).on_select(move |line| {
            of_row.show(Some(line.row()));
            page.set_focus(Focus::Endpoint(line.row().endpoint.clone()));
        });
        let report = ReportTable::new("instrument-sentence", table);
        let note = el("p").class("muted small table-note").text(instrument::LIMITS);
        let element = div("instrument").test("instrument-list").child(&report.sentence);
        let element =
            element.child(&div("snippet-line").child(&code.advice).child(&code.copy)).child(&code.code);
        let element = element.child(table.element()).child(&note);
        InstrumentPanel { element, code, report, shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Returns its table.
    pub fn table(&self) -> CompanionTable<InstrumentLine> {
        self.report.table
    }

    /// Follows the report; `is_shown`: the list is in sight.
    pub fn update(&mut self, page: Page, is_shown: bool) {
        self.element.show(is_shown);
        if !is_shown {
            return;
        }
        let said = Said {
            headline: instrument::headline,
            lines: InstrumentLine::of,
            empty: instrument::EMPTY,
            endpoint: InstrumentLine::endpoint,
        };
        let slot = &page.queries().instrument;
        let report: Option<Rc<InstrumentReport>> = self.report.update(page, slot, &said);
        let now = report.as_ref().map(|_| slot.revision());
        if self.shown != now {
            self.shown = now;
            self.code.show(report.as_ref().and_then(|report| report.rows.first()));
        }
    }

    /// Searches the table.
    pub fn search(&self, finder: &Finder) -> SearchResult {
        let table = self.report.table;
        let (count, _) = table.search(finder);
        SearchResult { count, share: None, step: Box::new(move |_, forward| table.select_beside(forward)) }
    }
}
