//! The services that explain a difference, and the places of the one that was opened.

use crate::dom::{El, Listeners, button, div, span};
use crate::page::Page;
use crate::widgets::companion::CompanionTable;
use crate::widgets::frame::ViewFrame;
use pathlight_engine::verdict::ServicesReport;
use pathlight_view::address::TraceChoice;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::compare;
use pathlight_view::compare::services::{ServicePlaceRow, ServiceRow};
use std::cell::RefCell;
use std::rc::Rc;

/// The services, or in their place the places of one.
pub struct ChangedServices {
    /// The services.
    pub services: CompanionTable<ServiceRow>,
    /// The places of the service that was opened.
    pub places: CompanionTable<ServicePlaceRow>,
    head: El,
    words: El,
    opened: Rc<RefCell<Option<String>>>,
    /// The service whose places stand in the table.
    listed: Option<String>,
    /// Number of times that other places were listed.
    revision: u64,
}

impl ChangedServices {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> ChangedServices {
        let opened: Rc<RefCell<Option<String>>> = Rc::default();
        let (by_row, by_button) = (opened.clone(), opened.clone());
        let all = button("All services").test("all-services").on_click(keep, move || {
            by_button.take();
            page.refresh();
        });
        let words = span("muted", "").test("service-words");
        let services = CompanionTable::new(page, compare::services::services())
            .on_open(move |row| {
                by_row.replace(Some(row.row.service.clone()));
                page.refresh();
            })
            .click_opens();
        let places = CompanionTable::new(page, compare::services::places())
            .on_open(move |row| open_longest(page, row))
            .click_opens();
        let head = div("tools").child(&all).child(&words);
        ChangedServices { services, places, head, words, opened, listed: None, revision: 0 }
    }

    /// Lets a frame keep the tables up to date.
    pub fn keep_up_in(&self, frame: ViewFrame) -> ViewFrame {
        frame.table(self.services).table(self.places)
    }

    /// Returns the elements, in their order.
    pub fn elements(&self) -> [&El; 3] {
        [&self.head, self.services.element(), self.places.element()]
    }

    /// Returns whether the places of a service stand in place of all services.
    pub fn is_opened(&self) -> bool {
        self.opened.borrow().is_some()
    }

    /// Returns how often other places were listed.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Lists the services of a new report, none of them opened.
    pub fn take(&mut self, report: &ServicesReport, why_empty: &str) {
        self.services.set_rows(ServiceRow::of(report), why_empty);
        self.opened.take();
        self.listed = None;
    }

    /// Shows the services, or the one that was opened; nothing if they are not wanted.
    pub fn show(&mut self, is_shown: bool, report: Option<&ServicesReport>) {
        let rows = report.map_or(&[][..], |report| &report.services);
        let row = rows.iter().find(|row| Some(&row.service) == self.opened.borrow().as_ref());
        self.services.show(is_shown && row.is_none());
        self.head.show(is_shown && row.is_some());
        if let (Some(row), Some(report)) = (row, report)
            && self.listed.as_ref() != Some(&row.service)
        {
            self.listed = Some(row.service.clone());
            self.revision += 1;
            let cut = compare::services::places_cut(row);
            let cut = if cut.is_empty() { cut } else { format!(" Below: {cut}.") };
            self.words.set_text(&(compare::services::service_words(report, row).to_text() + &cut));
            self.places.set_rows(ServicePlaceRow::of(row), "The service has no time on any critical path.");
        }
        self.places.show(is_shown && row.is_some());
    }
}

/// Opens the request of side B in which a place took longest.
fn open_longest(page: Page, row: &ServicePlaceRow) {
    let Some(exemplar) = &row.place.exemplar else { return };
    let choice =
        TraceChoice { span_id: Some(exemplar.span_id.clone()), ..TraceChoice::from(&exemplar.request) };
    page.open_trace_of(ComparedSide::B, choice);
}
