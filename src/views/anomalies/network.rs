//! The auto-encoder: its sizes to choose, and how its training goes.

use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::shell::progress;
use pathlight_engine::anomalies::paper::vae::TrainingProgress;
use pathlight_view::anomalies;
use pathlight_view::anomalies::settings::SIZES;
use web_sys::HtmlInputElement;

/// The fields of the network's sizes; a changed one trains again.
pub struct Network {
    element: El,
    fields: Vec<El>,
}

impl Network {
    /// Builds them.
    pub fn new(page: Page, keep: &Listeners) -> Network {
        let element = div("network").attr("role", "group").attr("aria-label", "Auto-encoder");
        let fields = SIZES.map(|(name, key, (least, most), of)| {
            let field = el("input")
                .attr("type", "number")
                .attr("min", &least.to_string())
                .attr("max", &most.to_string())
                .attr("aria-label", name)
                .test(&format!("anomaly-{key}"));
            let input = field.clone();
            let field = field.on(keep, "change", move |_| {
                let typed = input.as_kind::<HtmlInputElement>().and_then(|input| input.value().parse().ok());
                page.change(|address| {
                    let place = of(&mut address.anomaly.network);
                    *place = typed.map_or(*place, |size: u32| size.clamp(least, most));
                    address.anomaly.network = address.anomaly.network.with_whole_window();
                });
                page.refresh();
            });
            element.add(&el("label").child(&span("muted", name)).child(&field));
            field
        });
        Network { element, fields: fields.into() }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Shows the sizes, or nothing where no auto-encoder judges.
    pub fn update(&self, page: Page) {
        let choice = page.address().anomaly.clone();
        self.element.show(choice.vae && page.model().is_none());
        let mut network = choice.network;
        for (field, (_, _, _, of)) in self.fields.iter().zip(SIZES) {
            if let Some(input) = field.as_kind::<HtmlInputElement>() {
                input.set_value(&of(&mut network).to_string());
            }
        }
    }
}

/// A training under way: how far, its losses as a curve, and the button that ends it.
pub struct TrainingRow {
    element: El,
    bar: El,
    fill: El,
    words: El,
    loss: El,
    shown: TrainingProgress,
}

impl TrainingRow {
    /// Builds its elements, hidden at first.
    pub fn new(page: Page, keep: &Listeners) -> TrainingRow {
        let (words, loss, fill) = (span("", ""), div("loss"), div("progress-fill"));
        let bar = div("progress-bar")
            .attr("role", "progressbar")
            .attr("aria-label", "Training")
            .attr("aria-valuemin", "0")
            .attr("aria-valuemax", "100")
            .child(&fill);
        let cancel = button("Cancel").test("anomaly-cancel").on_click(keep, move || {
            page.change(|address| (address.anomaly.vae, address.anomaly.evaluate) = (false, false));
        });
        let element = div("training").attr("role", "status").test("anomaly-training");
        let element = element.child(&bar).child(&words).child(&loss).child(&cancel);
        element.show(false);
        TrainingRow { element, bar, fill, words, loss, shown: TrainingProgress::default() }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the training.
    pub fn update(&mut self, page: Page) {
        let queries = page.queries();
        let training = queries.anomaly.progress().or_else(|| queries.anomaly_evaluation.progress());
        self.element.show(training.is_some());
        let Some(training) = training.filter(|training| *training != self.shown) else { return };
        let percent = anomalies::training_percent(&training);
        progress::fill(&self.fill, percent);
        self.bar.set("aria-valuenow", &format!("{percent:.0}"));
        self.words.set_text(&anomalies::training_words(&training));
        if training.losses.len() != self.shown.losses.len() {
            self.loss.clear();
            if let Some(path) = anomalies::loss_curve(&training.losses) {
                let chart = dom::icon(&path);
                for (name, value) in [("class", "icon loss-curve"), ("preserveAspectRatio", "none")] {
                    let _ = chart.set_attribute(name, value);
                }
                let _ = self.loss.html().append_child(&chart);
            }
        }
        self.shown = training;
    }
}
