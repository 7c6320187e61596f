//! The requests in the page, slowest first; see [`requests`].

use crate::dom::{El, Listeners, div};
use crate::page::{Focus, Page};
use crate::views::view::{PageView, SearchResult};
use crate::widgets::companion::CompanionTable;
use crate::widgets::frame::ViewFrame;
use pathlight_engine::flame::RequestRow;
use pathlight_view::address::Address;
use pathlight_view::requests_list;
use pathlight_view::search::finder::Finder;
use pathlight_view::views::View;

/// The view.
pub struct RequestsView {
    frame: ViewFrame,
    note: El,
    table: CompanionTable<RequestRow>,
}

impl RequestsView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, _: &Listeners) -> RequestsView {
        let table = CompanionTable::new(page, requests_list::table())
            .on_select(move |row| page.set_focus(Focus::Request(row.into())))
            .on_open(move |row| page.open_trace(row.into()))
            .click_opens();
        let note = div("table-note muted");
        let element = div("requests-view").child(&note).child(table.element());
        RequestsView { frame: ViewFrame::plain(View::Requests, element).table(table), note, table }
    }
}

impl PageView for RequestsView {
    /// Report.
    type Content = u64;

    fn ask(page: Page, address: &Address) {
        page.queries().want_requests(page, address);
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<u64> {
        let slot = &page.queries().requests;
        slot.get().map(|_| slot.revision())
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().requests.is_waiting()
    }

    fn take(&mut self, page: Page, _: &u64, _: Option<&u64>) {
        let Some(report) = page.queries().requests.get() else { return };
        self.note.set_text(&requests_list::note(&page.selection_label(), &report));
        self.table.set_rows(report.rows.clone(), &page.why_empty());
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        SearchResult::in_table(self.table, finder, |page, row| page.set_focus(Focus::Request(row.into())))
    }

    fn follow(&mut self, page: Page) {
        let focus = page.focus().clone();
        self.table.select(|row| matches!(&focus, Focus::Request(chosen) if *chosen == row.into()));
    }
}
