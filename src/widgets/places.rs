//! The choice between endpoints and services as places, which several views offer among their tools.

use crate::dom::{El, Listeners};
use crate::page::{Focus, Page};
use crate::widgets::controls::Segments;

/// The two buttons.
pub struct Places(Segments);

impl Places {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> Places {
        let roll_up = move |by_service: bool| {
            page.set_focus(Focus::Nothing);
            page.change(|address| {
                address.by_service = by_service;
                address.focus.clear();
            });
        };
        let endpoints = ("Endpoints", "Every operation by itself", "places-endpoint");
        let services = ("Services", "All operations of a service together", "places-service");
        let segments = Segments::new("Places");
        let segments = segments.button(keep, endpoints, move || roll_up(false));
        Places(segments.button(keep, services, move || roll_up(true)))
    }

    /// Returns the element of both.
    pub fn element(&self) -> &El {
        self.0.element()
    }

    /// Shows what is chosen; summaries know no other places than theirs.
    pub fn follow(&self, page: Page) {
        self.0.element().show(!page.is_summary());
        self.0.press(usize::from(page.address().by_service));
    }
}
