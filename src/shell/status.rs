//! The line at the bottom: what is loaded, who works, what it costs, how clean it is.

use super::notes;
use crate::dom::{El, Listeners, button, el, span};
use crate::page::{Page, PagePart};
use pathlight_base::format::{self, counted};
use pathlight_view::{reading, summaries};
use std::collections::BTreeSet;

/// The status bar.
pub struct Status {
    element: El,
    loaded: El,
    workers: El,
    memory: El,
    quality: El,
    notes: El,
    _keep: Listeners,
}

impl Status {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> Status {
        let keep = Listeners::default();
        let loaded = span("status-loaded", "").test("status-loaded");
        let workers = span("status-workers", "").test("workers");
        let memory = span("status-memory", "").test("memory").attr("title", "Memory that holds the traces");
        let quality = button("")
            .class("link")
            .test("clipped")
            .attr("title", "Show data quality: what is missing or wrong in the data")
            .on_click(&keep, move || notes::show(page));
        let notes = button("")
            .class("notes-button")
            .test("notes-button")
            .attr("title", "Data quality: what is missing or wrong in the data, and how it is read")
            .on_click(&keep, move || notes::show(page));
        let element = el("footer")
            .class("status")
            .child(&loaded)
            .child(&workers)
            .child(&memory)
            .child(&span("grow", ""))
            .child(&quality)
            .child(&notes);
        Status { element, loaded, workers, memory, quality, notes, _keep: keep }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

impl PagePart for Status {
    fn update(&mut self, page: Page) {
        let overview = page.queries().overview.get().filter(|overview| overview.traces > 0);
        self.element.show(overview.is_some());
        let Some(overview) = overview else { return };
        let mut loaded = format!(
            "{} in {}, {}",
            counted(overview.spans, "span"),
            counted(overview.traces, "trace"),
            counted(overview.services, "service")
        );
        if overview.other_traces > 0 {
            let (spans, traces) = (overview.other_spans, overview.other_traces);
            loaded.push_str(&format!("; against {} in {}", counted(spans, "span"), counted(traces, "trace")));
        }
        if let Some(summary) = &overview.summary {
            loaded += &format!(" \u{b7} {}", summaries::facts(summary));
        }
        let kept: BTreeSet<String> =
            page.loading().files().iter().filter_map(|file| file.keep.words()).collect();
        for words in kept {
            loaded += &format!(" \u{b7} {words}");
        }
        self.loaded.set_text(&loaded);
        self.loaded.set("data-value", &overview.traces.to_string());
        let busy = page.loading().running || page.queries().slots.is_waiting(page.generation());
        let workers = page.workers() as u64;
        self.workers.set_text(&format!(
            "{} {}",
            counted(workers, "worker"),
            if busy { "busy" } else { "idle" }
        ));
        self.workers.set("data-value", &workers.to_string());
        self.memory.set_text(&format::bytes(overview.heap_bytes));
        self.memory.set("data-value", &overview.heap_bytes.to_string());
        self.memory.set("data-wasm", &page.wasm_bytes().to_string());
        self.memory.show(overview.summary.is_none());
        // Until that of set B is known, what is said of A stays.
        let overview = page.overview_in_sight().unwrap_or(overview);
        self.quality.show(overview.summary.is_none());
        let share = overview.quality.clipped_share();
        self.quality
            .set_text(&format!("{} of span time clipped for clock skew \u{2192}", format::share(share)));
        self.quality.set("data-value", &share.to_string());
        let count = reading::quality::count(&overview, page.loading().files()) as u64;
        let left_out = reading::words::left_out(&overview.quality);
        self.notes.class_if("calm", count == 0);
        self.notes.class_if("grave", left_out.is_some());
        self.notes.set_text(&match left_out {
            Some(words) => format!("! {words}"),
            None if count > 0 => format!("! {}", counted(count, "note")),
            None => "Data quality".to_owned(),
        });
        self.notes.set("data-value", &count.to_string());
    }
}
