//! The latency histogram of the subject, with a brush that cuts the band.
use super::dom::{El, div};
use super::page::Page;
pub struct Distribution {
    element: El,
}
impl Distribution {
    pub fn new(_page: &Page) -> Distribution {
        Distribution { element: div("distribution") }
    }
    pub fn element(&self) -> &El {
        &self.element
    }
    pub fn update(&mut self, _page: &Page) {}
}
