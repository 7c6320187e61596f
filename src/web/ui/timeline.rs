//! Stub.
use super::dom::{El, div};
use super::page::{Page, Part};
use super::search::Search;
pub struct Timeline {
    stage: El,
    twin: El,
}
impl Timeline {
    pub fn new(_page: &Page, _search: &Search) -> Timeline {
        Timeline { stage: div(""), twin: div("") }
    }
    pub fn stage(&self) -> &El {
        &self.stage
    }
    pub fn twin(&self) -> &El {
        &self.twin
    }
}
impl Part for Timeline {
    fn update(&mut self, _page: &Page) {}
}
