//! A table that says how much services use of what they have: kept in memory, and nowhere else.

use super::Page;
use pathlight_view::flow::capacity::{MOST_BYTES, NoUtilisation, Utilisation, read};
use pathlight_view::flow::choice::FlowPanel;
use pathlight_view::views::View;
use std::rc::Rc;
use wasm_bindgen_futures::JsFuture;
use web_sys::Blob;

/// A table of utilisation, or what is wrong with what should be one.
pub type GivenTable = Result<Rc<Utilisation>, String>;

/// Reads a table out of a file; `None` if it is something else, such as traces.
pub async fn table_in(blob: &Blob) -> Option<GivenTable> {
    if blob.size() > MOST_BYTES as f64 {
        return None;
    }
    let text = JsFuture::from(blob.text()).await.ok()?.as_string()?;
    match read(&text) {
        Ok(table) => Some(Ok(Rc::new(table))),
        Err(NoUtilisation::Wrong(words)) => Some(Err(words)),
        Err(NoUtilisation::Other) => None,
    }
}

impl Page {
    /// Returns the table that a person gave last, or what is wrong with it.
    pub fn utilisation(self) -> Option<GivenTable> {
        self.0.utilisation.borrow().clone()
    }

    /// Takes a table, or lets go of it.
    pub fn give_utilisation(self, table: Option<GivenTable>) {
        self.0.utilisation.replace(table);
        self.refresh();
    }

    /// Shows where to add capacity and where to take it.
    pub fn show_capacity(self) {
        self.change(|address| {
            address.view = View::Flow;
            let flow = &mut address.choices.flow;
            (flow.map, flow.panel, flow.capacity) = (false, FlowPanel::Headroom, true);
        });
    }
}
