//! A percentile and the time that it is held against, with how far the search is: what Target and Headroom ask for.

use super::time_field::TimeField;
use crate::dom::{El, Listeners, button, el, span};
use crate::page::Page;
use crate::widgets::controls::Segments;
use pathlight_engine::anomalies::paper::vae::TrainingProgress;
use pathlight_engine::flow::Quantile;
use pathlight_view::flow;
use pathlight_view::flow::choice::FlowChoice;
use std::cell::Cell;
use std::rc::Rc;

/// A percentile and a time in microseconds.
type Limit = Option<(Quantile, u64)>;

/// The buttons, the field, and the progress with its button.
pub struct LimitField {
    quantiles: Segments,
    quantile: Rc<Cell<Quantile>>,
    time: TimeField,
    progress: [El; 2],
}

impl LimitField {
    /// Returns a field whose parts tests know by names that begin with `name`; screen readers call the time `label`, and `of` is
    /// where the choices of the view have it.
    pub fn new(
        page: Page,
        keep: &Listeners,
        (name, label): (&str, &str),
        of: fn(&mut FlowChoice) -> &mut Limit,
    ) -> LimitField {
        let quantile = Rc::new(Cell::new(Quantile::default()));
        let mut quantiles = Segments::new("Percentile");
        for chosen in Quantile::ALL {
            let quantile = quantile.clone();
            let words = (chosen.name(), "", &*format!("{name}-{}", chosen.name()));
            quantiles = quantiles.button(keep, words, move || {
                quantile.set(chosen);
                page.change(|address| {
                    if let Some(limit) = of(&mut address.choices.flow) {
                        limit.0 = chosen;
                    }
                });
                page.refresh();
            });
        }
        let set = move |limit| page.change(|address| *of(&mut address.choices.flow) = limit);
        let chosen = quantile.clone();
        let time = TimeField::new(page, keep, &format!("{name}-time"), (label, "300 ms"), move |us| {
            set(us.map(|us| (chosen.get(), us)));
        });
        let cancel = button("Cancel").test(&format!("{name}-cancel")).on_click(keep, move || set(None));
        let words = span("muted fixed", "").attr("role", "status").test(&format!("{name}-progress"));
        LimitField { quantiles, quantile, time, progress: [words, cancel] }
    }

    /// Returns the buttons, and the field with its label.
    pub fn inputs(&self) -> [El; 2] {
        let label = el("label").class("fixed").text("at most ").child(self.time.input());
        [self.quantiles.element().clone(), label]
    }

    /// Returns the progress and the button that ends the search.
    pub fn progress(&self) -> &[El; 2] {
        &self.progress
    }

    /// Returns what is wrong with the time.
    pub fn trouble(&self) -> &El {
        self.time.trouble()
    }

    /// Returns the percentile that is chosen.
    pub fn quantile(&self) -> Quantile {
        self.quantile.get()
    }

    /// Returns the percentile as it is, in microseconds, if that is known.
    pub fn now_us(&self, page: Page) -> Option<f64> {
        page.queries().range.fresh().map(|range| self.quantile().of(range.facts.counted_us()))
    }

    /// Shows a limit, and how far the search for an answer is, if one is under way.
    pub fn show(&self, limit: Limit, progress: Option<TrainingProgress>) {
        if let Some((quantile, _)) = limit {
            self.quantile.set(quantile);
        }
        self.quantiles.press(self.quantile() as usize);
        self.time.show(limit.map(|(_, us)| us));
        self.progress.iter().for_each(|part| part.show(progress.is_some()));
        if let Some(progress) = progress {
            self.progress[0].set_text(&flow::target::progress_words(progress.done, progress.of));
        }
    }
}
