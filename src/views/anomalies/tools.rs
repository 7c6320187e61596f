//! The reader's choices: what is normal, how many false alarms, which detector, and detectors as files.

use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::shell::file_input::text_input;
use crate::widgets::popover::Popover;
use crate::widgets::{controls, export};
use js_sys::{Array, Uint8Array};
use pathlight_engine::anomalies::AnomalyBaseline;
use pathlight_engine::pool::UserError;
use pathlight_engine::queries;
use pathlight_view::anomalies::settings::{AnomalyChoice, JudgedAgainst};
use pathlight_view::anomalies::{
    LOADED, NORMALS, RATES, VECTORS, normal, rate_words, settings, sides, vectors_csv,
};
use pathlight_view::json;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, HtmlInputElement};

/// The switches above the chart.
pub struct AnomaliesTools {
    element: El,
    normal: El,
    rate: El,
    rate_words: El,
    contaminated: (El, El),
    vae: El,
    evaluate: El,
    model: El,
}

impl AnomaliesTools {
    /// Builds them, with the menu of exports at the end.
    pub fn new(page: Page, keep: &Listeners, exports: &El) -> AnomaliesTools {
        let normal = normal_select(page, keep);
        let (rate, rate_words) = rate_slider(page, keep);
        let contaminated = contaminated_field(page, keep);
        let toggle = |text: &str, hint: &str, test: &str, flip: fn(&mut AnomalyChoice)| {
            button(text)
                .attr("title", hint)
                .test(test)
                .on_click(keep, move || page.change(|address| flip(&mut address.anomaly)))
        };
        let vae = toggle(
            "Auto-encoder",
            "Judge by the neural model of the paper; training takes a while",
            "anomaly-vae",
            |choice| choice.vae = !choice.vae,
        );
        let evaluate = toggle(
            "Evaluate",
            "Learn from half of the requests; judge the others as they are and made abnormal",
            "anomaly-evaluate",
            |choice| choice.evaluate = !choice.evaluate,
        );
        let (model, file) = load_button(page, keep);
        let element = div("tools wrap").children([
            &normal,
            &rate,
            &rate_words,
            &contaminated.0,
            &div("grow"),
            &vae,
            &evaluate,
            &model,
            &save_button(page, keep),
            &vectors_menu(page, keep),
            &file,
            exports,
        ]);
        AnomaliesTools { element, normal, rate, rate_words, contaminated, vae, evaluate, model }
    }

    /// Returns the element of the switches.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Brings them up to date.
    pub fn update(&self, page: Page) {
        let choice = page.address().anomaly.clone();
        let overview = page.queries().overview.get();
        let has_two = overview.as_ref().is_some_and(|overview| overview.other_traces > 0);
        let normal = normal(&page.address());
        let is_loaded = page.has_model();
        controls::choose(&self.normal, if is_loaded { LOADED.0 } else { normal.key() });
        for (option, flag, is_on) in
            [(NORMALS.len() - 1, "disabled", !has_two), (NORMALS.len(), "hidden", !is_loaded)]
        {
            if let Some(option) = self.normal.html().children().item(option as u32) {
                let _ = option.toggle_attribute_with_force(flag, is_on);
            }
        }
        let rate = RATES.iter().position(|rate| *rate >= choice.alpha_ppm).unwrap_or(RATES.len() - 1);
        if let Some(input) = self.rate.as_kind::<HtmlInputElement>() {
            input.set_value(&rate.to_string());
        }
        let (words, hint) = rate_words(&choice);
        self.rate_words.set_text(&words);
        self.rate_words.set("title", &hint);
        // Where nothing is called abnormal there is no rate to accept.
        let has_rate = normal != JudgedAgainst::Others || is_loaded;
        self.rate.show(has_rate && !choice.vae);
        self.rate_words.show(has_rate);
        // A loaded baseline has left out what its settings said; the auto-encoder leaves nothing out.
        let (label, field) = &self.contaminated;
        label.show(!is_loaded && !choice.vae);
        if let Some(input) = field.as_kind::<HtmlInputElement>() {
            input.set_value(&(f64::from(choice.contaminated_ppm) / 1e4).to_string());
        }
        self.vae.set_flag("aria-pressed", choice.vae);
        self.evaluate.set_flag("aria-pressed", choice.evaluate);
        self.model.set_text(if is_loaded { "Forget baseline" } else { "Load baseline\u{2026}" });
    }
}

/// Returns what is normal.
fn normal_select(page: Page, keep: &Listeners) -> El {
    let select = controls::select(keep, "anomaly-normal", move |key| {
        let overview = page.overview_in_sight();
        let half_us = overview.map_or(0, |overview| overview.start_us / 2 + overview.end_us / 2);
        // What else is chosen takes the place of a loaded baseline, which is only listed while it judges.
        if page.has_model() {
            page.set_model(None);
        }
        page.change(|address| address.anomaly.normal = JudgedAgainst::from_key(&key, half_us));
    });
    let options: Vec<El> =
        NORMALS.into_iter().chain([LOADED]).map(|(key, words)| controls::option(key, words)).collect();
    select.attr("aria-label", "What is normal").children(&options)
}

/// Returns how much of the baseline may be abnormal, in percent.
fn contaminated_field(page: Page, keep: &Listeners) -> (El, El) {
    let input = el("input")
        .attr("type", "number")
        .attr("min", "0")
        .attr("max", "50")
        .attr("step", "any")
        .test("anomaly-contaminated");
    let field = input.clone();
    let input = input.on(keep, "change", move |_| {
        let typed = field.as_kind::<HtmlInputElement>().and_then(|input| input.value().parse::<f64>().ok());
        page.change(|address| address.anomaly.contaminate(typed));
        page.refresh();
    });
    let label = el("label")
        .class("contaminated")
        .attr("title", "This share of the baseline, the most anomalous requests, is left out")
        .child(&span("muted nowrap", "Abnormal in the baseline, up to (%)"))
        .child(&input);
    (label, input)
}

/// Returns how many false alarms are accepted.
fn rate_slider(page: Page, keep: &Listeners) -> (El, El) {
    let input = el("input")
        .attr("type", "range")
        .attr("min", "0")
        .attr("max", &(RATES.len() - 1).to_string())
        .attr("step", "1")
        .attr("aria-label", "Accepted rate of false alarms")
        .test("anomaly-rate");
    let field = input.clone();
    let input = input.on(keep, "change", move |_| {
        let at = field.as_kind::<HtmlInputElement>().and_then(|input| input.value().parse::<usize>().ok());
        if let Some(&rate) = at.and_then(|at| RATES.get(at)) {
            page.change(|address| address.anomaly.alpha_ppm = rate);
        }
    });
    (input, span("muted nowrap", "").test("anomaly-rate-words"))
}

/// Judges by a saved detector: the button, and the field behind it.
fn load_button(page: Page, keep: &Listeners) -> (El, El) {
    let file = el("input").attr("type", "file").attr("hidden", "").test("anomaly-model-file");
    let field = file.clone();
    let file = file.on(keep, "change", move |_| {
        let Some(input) = field.as_kind::<HtmlInputElement>() else { return };
        let chosen = input.files().and_then(|files| files.get(0));
        input.set_value("");
        let (Some(chosen), page) = (chosen, page) else { return };
        spawn_local(async move {
            let buffer = JsFuture::from(chosen.array_buffer()).await;
            let bytes = buffer.map(|buffer| Uint8Array::new(&buffer).to_vec()).unwrap_or_default();
            match AnomalyBaseline::from_bytes(&bytes) {
                Ok(_) => {
                    // What labels have taught it is in the file.
                    page.change(|address| address.anomaly.labels.clear());
                    page.set_model(Some(bytes));
                }
                Err(error) => page.fail(UserError {
                    message: format!("{} cannot be used.", chosen.name()),
                    detail: error.to_string(),
                    next_step: "Choose a file that \u{201c}Save baseline\u{201d} has written.".to_owned(),
                }),
            }
        });
    });
    let pick = file.clone();
    let load = button("")
        .test("anomaly-model")
        .on_click(keep, move || if page.has_model() { page.set_model(None) } else { pick.html().click() });
    (load, file)
}

/// Saves the vectors that the paper's detectors learn from, for models of others.
fn vectors_menu(page: Page, keep: &Listeners) -> El {
    let items = VECTORS.map(|(words, ending, encoding, is_json)| {
        button(words).test(&format!("vectors-{ending}")).on_click(keep, move || {
            let (train, test) = sides(&page.address());
            spawn_local(async move {
                let query = queries::AnomalyVectors { train, test: Some(test), encoding };
                let text =
                    page.pool().run(&query).await.map_err(|error| error.to_string()).and_then(|report| {
                        if is_json {
                            json::vectors(&report).map_err(|error| error.to_string())
                        } else {
                            Ok(vectors_csv(&report))
                        }
                    });
                match text {
                    Ok(text) => {
                        if let Some(input) = text_input("", &text) {
                            export::save(page, &input.blob, &format!("pathlight-{ending}"));
                        }
                    }
                    Err(detail) => page.fail(UserError {
                        message: "The vectors could not be saved.".to_owned(),
                        detail,
                        next_step: "Try again.".to_owned(),
                    }),
                }
            });
        })
    });
    let open = button("Vectors")
        .attr("title", "Save the requests as vectors, for models of your own")
        .test("anomaly-vectors")
        .node(&dom::icon("M4 6l4 4 4-4"));
    Popover::menu(keep, open, div("popover menu").test("vectors-menu"), &items).element().clone()
}

/// Writes the trained detector to a file.
fn save_button(page: Page, keep: &Listeners) -> El {
    button("Save baseline").test("anomaly-save-model").on_click(keep, move || {
        let (train, test) = sides(&page.address());
        let settings = settings(&page.address().anomaly, page.model());
        spawn_local(async move {
            let query = queries::AnomalyModel { train, test, settings };
            match page.pool().run(&query).await {
                Ok(bytes) => {
                    let parts = Array::of1(&Uint8Array::from(bytes.as_slice()));
                    if let Ok(blob) = Blob::new_with_u8_array_sequence(&parts) {
                        export::save(page, &blob, "pathlight-baseline.bin");
                    }
                }
                Err(error) => page.fail(UserError {
                    message: "The baseline could not be saved.".to_owned(),
                    detail: error.to_string(),
                    next_step: "Try again.".to_owned(),
                }),
            }
        });
    })
}
