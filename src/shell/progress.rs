//! Loading: how far it is, how fast, how long still, and the ways to end it.

use crate::dom::{El, Listeners, button, div, span};
use crate::page::{Page, PagePart, files};
use pathlight_base::format::{self, counted};

/// The progress row.
pub struct ProgressRow {
    element: El,
    bar: El,
    fill: El,
    words: El,
    stop: El,
    _keep: Listeners,
}

impl ProgressRow {
    /// Builds its elements, hidden at first.
    pub fn new(page: Page) -> ProgressRow {
        let keep = Listeners::default();
        let fill = div("progress-fill");
        let bar = div("progress-bar")
            .attr("role", "progressbar")
            .attr("aria-label", "Loading")
            .attr("aria-valuemin", "0")
            .attr("aria-valuemax", "100")
            .child(&fill);
        let words = span("progress-words", "").test("progress-words");
        let stop = button("Stop")
            .class("quiet")
            .attr("title", "Stop reading and keep what is loaded so far")
            .test("cancel-keep")
            .on_click(&keep, move || page.cancel_load(true));
        let cancel = button("Cancel")
            .class("quiet")
            .attr("title", "Stop and drop what this load brought")
            .test("cancel-drop")
            .on_click(&keep, move || {
                if page.loading().running {
                    page.cancel_load(false);
                } else {
                    files::stop();
                }
            });
        let element = div("progress").test("progress").child(&bar).child(&words).child(&stop).child(&cancel);
        element.show(false);
        ProgressRow { element, bar, fill, words, stop, _keep: keep }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

/// Moves the fill of a bar to so many percent. A transform: a width would have the page laid out anew each time.
pub fn fill(fill: &El, percent: f64) {
    fill.style("transform", &format!("translateX({:.1}%)", percent - 100.0));
}

impl PagePart for ProgressRow {
    fn update(&mut self, page: Page) {
        let load = page.loading();
        // While other traces are read, that is what is to be seen and ended.
        let found = page.found_files().filter(|_| !load.running);
        self.stop.show(found.is_none());
        if let Some(found) = found {
            self.element.show(true);
            self.words.set_text(&format!("Looking for files\u{2026} {} found", format::count(found.into())));
            self.bar.set("aria-valuenow", "0");
            return fill(&self.fill, 0.0);
        }
        // The little that joins while the page follows is not worth a bar.
        let is_little = load.progress.as_ref().is_none_or(|progress| progress.total_bytes < 4 << 20);
        let joins = page.fetching().is_following() && is_little;
        let is_reading = load.running && load.forecast.is_none() && !joins;
        self.element.show(is_reading);
        if !is_reading {
            return;
        }
        let Some(progress) = &load.progress else {
            self.words.set_text("Reading\u{2026}");
            fill(&self.fill, 0.0);
            return;
        };
        let whole = progress.total_bytes.max(1) as f64;
        let percent = (progress.bytes as f64 / whole * 100.0).min(100.0);
        fill(&self.fill, percent);
        self.bar.set("aria-valuenow", &format!("{percent:.0}"));
        self.element.set("data-bytes", &progress.bytes.to_string());
        let mut words = vec![
            format!("{} of {}", format::bytes(progress.bytes), format::bytes(progress.total_bytes)),
            format!("{} MB/s", format::number(progress.mb_per_s)),
            counted(progress.traces, "trace"),
            counted(progress.spans, "span"),
        ];
        if progress.files > 1 {
            words.insert(
                1,
                format!(
                    "{} of {} files",
                    format::count(progress.files_done.into()),
                    format::count(progress.files.into())
                ),
            );
        }
        if let Some(seconds) = progress.seconds_left {
            // Whole seconds: the last digit of an estimate would only flicker.
            let left = match seconds.ceil() as u64 {
                0 | 1 => "less than 1 s".to_owned(),
                seconds @ 2..120 => format!("{seconds}{}s", format::THIN),
                seconds => format::duration(seconds as f64 * 1e6),
            };
            words.push(format!("{left} left"));
        }
        self.words.set_text(&words.join(" \u{b7} "));
    }
}
