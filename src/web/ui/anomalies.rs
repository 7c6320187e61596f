//! Which requests are abnormal, and why: a strip of how odd they are over time, a table with reasons, the detector's own
//! report card.

use super::anomalies_table::{self, AnomalyLine, choice, p_words};
use super::chart_picture::{self, Chart, ChartPicture};
use super::dom::{self, El, Keep, button, div, el, span};
use super::export;
use super::page::{Page, Part, Selection};
use super::search::{Search, fits};
use super::stage::Stage;
use super::table::Table;
use super::view::WORKING;
use crate::anomaly::Model;
use crate::anomaly::vae::VaeSettings;
use crate::chart::anomalies::{self, AnomalyLayout};
use crate::chart::plot::{ChartError, ChartSize};
use crate::chart::{Metrics, Theme, format};
use crate::engine::address::{Normal, View};
use crate::engine::{AnomalyReport, AnomalySettings, Band, Detector, Filter, Report, Request, Scope};
use crate::web::canvas::PlotBackend;
use crate::web::pool::UserError;
use js_sys::{Array, Uint8Array};
use std::rc::Rc;
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{Blob, HtmlInputElement, HtmlSelectElement};

/// Size of an exported picture.
const EXPORT_PX: (i32, i32) = (1200, 360);
/// Rates of false alarms to choose from, in millionths.
const RATES: [u32; 8] = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000];
/// The seed of the evaluation.
const SEED: u64 = 1;

/// Which requests are learned from and which are judged.
fn sides(page: &Page) -> (Scope, Scope, Band) {
    let address = page.address();
    let scope = address.scope();
    match address.anomaly.normal {
        Normal::Others => (scope.clone(), scope, address.band),
        Normal::SetA => (Scope { group: 0, ..scope.clone() }, Scope { group: 1, ..scope }, address.band),
        Normal::Before(us) => {
            let (mut before, mut after) = (scope.clone(), scope);
            before.filters.push(Filter::Time { from_us: 0, to_us: us });
            after.filters.push(Filter::Time { from_us: us, to_us: u64::MAX });
            (before, after, address.band)
        }
    }
}

fn settings(page: &Page) -> AnomalySettings {
    let choice = page.address().anomaly.clone();
    let detector = if choice.vae { Detector::Vae(VaeSettings::default()) } else { Detector::Rule };
    // The auto-encoder has a threshold of its own: another rate must not train it again.
    let alpha_ppm = if choice.vae { AnomalySettings::default().alpha_ppm } else { choice.alpha_ppm };
    AnomalySettings { alpha_ppm, detector, model: page.model(), ..AnomalySettings::default() }
}

/// What the view asks.
pub fn question(page: &Page) -> Request {
    let (train, test, band) = sides(page);
    Request::Anomaly { train, band_train: band, test, band_test: band, settings: settings(page) }
}

/// What the evaluation asks.
pub fn evaluation(page: &Page) -> Request {
    let (scope, _, band) = sides(page);
    Request::AnomalyEvaluation {
        scope,
        band,
        seed: SEED,
        settings: AnomalySettings { model: None, ..settings(page) },
    }
}

/// The strip as a chart.
struct Strip {
    page: Page,
    report: Option<Rc<AnomalyReport>>,
}

impl Chart for Strip {
    fn height(&self, room: ChartSize) -> i32 {
        room.height
    }

    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError> {
        let empty = AnomalyReport::default();
        let report = self.report.as_deref().unwrap_or(&empty);
        anomalies::draw(backend, report, &AnomalyLayout::new(report, size), theme)
    }

    fn part_at(&self, at: (i32, i32), size: ChartSize) -> Option<usize> {
        AnomalyLayout::new(self.report.as_ref()?, size).row_at(at)
    }

    fn tip(&self, part: usize) -> Vec<El> {
        let Some((report, row)) = self.report.as_ref().and_then(|r| Some((r, r.rows.get(part)?))) else {
            return Vec::new();
        };
        let mut lines = vec![
            div("strong").text(&format!(
                "{}, p structure {}, time {}",
                format::duration_us(row.request.latency_us),
                p_words(row.p_structure),
                p_words(row.p_time)
            )),
            div("muted small").text(&format::moment(row.start_us)),
        ];
        lines.extend(
            row.reasons
                .first()
                .map(|reason| div("").text(&format::printable(&report.words(reason, format::duration)))),
        );
        lines
    }

    fn click(&mut self, part: usize) {
        if let Some(row) = self.report.as_ref().and_then(|report| report.rows.get(part)) {
            self.page.select(Selection::Request(choice(&row.request)));
        }
    }
}

/// The view.
pub struct Anomalies {
    element: El,
    twin: El,
    stage: Stage<ChartPicture<Strip>>,
    empty: El,
    title: El,
    normal: El,
    rate: El,
    rate_words: El,
    vae: El,
    evaluate: El,
    model: El,
    training: El,
    figures: El,
    reasons: El,
    table: Table<AnomalyLine>,
    search: Search,
    shown: u64,
    evaluated: u64,
    explained: Option<(Selection, u64)>,
    searched: Option<(String, u64)>,
    cancel: Keep,
    links: Keep,
    _keep: Keep,
}

impl Anomalies {
    /// Builds it.
    pub fn new(page: &Page, search: &Search) -> Anomalies {
        let keep = Keep::default();
        let strip = Strip { page: page.clone(), report: None };
        let label = "How odd requests are over time; the table below says the same";
        let (stage, scroller) = chart_picture::stage(strip, "anomaly-strip", label);
        let normal = normal_select(page, &keep);
        let (rate, rate_words) = rate_slider(page, &keep);
        let toggle =
            |text: &str, hint: &str, test: &str, flip: fn(&mut crate::engine::address::AnomalyChoice)| {
                let to = page.clone();
                button(text)
                    .attr("title", hint)
                    .test(test)
                    .on_click(&keep, move || to.change(|address| flip(&mut address.anomaly)))
            };
        let vae = toggle(
            "Auto-encoder",
            "Judge by the neural model of the paper instead of the rule; training takes a while",
            "anomaly-vae",
            |choice| choice.vae = !choice.vae,
        );
        let evaluate = toggle(
            "Evaluate",
            "Make half of the requests abnormal and see how many are found",
            "anomaly-evaluate",
            |choice| choice.evaluate = !choice.evaluate,
        );
        let (model, file) = model_buttons(page, &keep);
        let title = div("note-line muted").test("anomaly-title");
        let exports = export::menu(page, &keep, "anomalies", Some(stage.canvas().clone()), formats(&stage));
        let tools = div("tools")
            .child(&normal)
            .child(&rate)
            .child(&rate_words)
            .child(&div("grow"))
            .child(&vae)
            .child(&evaluate)
            .child(&model)
            .child(&file)
            .child(&exports);
        let training = div("training").attr("role", "status").test("anomaly-training");
        training.show(false);
        let empty = div("canvas-empty").test("anomaly-empty");
        empty.show(false);
        stage.element().add(&empty);
        let element =
            div("stage").test("anomaly-view").child(&tools).child(&title).child(&training).child(&scroller);
        let table = anomalies_table::table(page);
        let reasons = div("reasons").test("anomaly-reasons");
        reasons.show(false);
        let figures = div("evaluation-box").test("anomaly-figures");
        figures.show(false);
        let twin = div("twin").child(&figures).child(&reasons).child(table.element());
        Anomalies {
            element,
            twin,
            stage,
            empty,
            title,
            normal,
            rate,
            rate_words,
            vae,
            evaluate,
            model,
            training,
            figures,
            reasons,
            table,
            search: search.clone(),
            shown: 0,
            evaluated: 0,
            explained: None,
            searched: None,
            cancel: Keep::default(),
            links: Keep::default(),
            _keep: keep,
        }
    }

    /// The strip with its tools.
    pub fn stage(&self) -> &El {
        &self.element
    }

    /// The table with what belongs to it.
    pub fn twin(&self) -> &El {
        &self.twin
    }

    /// Brings the switches up to date.
    fn offer(&self, page: &Page) {
        let choice = page.address().anomaly.clone();
        let overview = page.asks().overview.get();
        let has_two = overview.as_ref().is_some_and(|overview| overview.other_traces > 0);
        if let Some(select) = self.normal.as_kind::<HtmlSelectElement>() {
            let key = match choice.normal {
                Normal::Others => "others",
                Normal::Before(_) => "before",
                Normal::SetA => "a",
            };
            select.set_value(key);
            if let Some(option) = select.last_element_child() {
                let _ = option.toggle_attribute_with_force("disabled", !has_two);
            }
        }
        let rate = RATES.iter().position(|rate| *rate >= choice.alpha_ppm).unwrap_or(RATES.len() - 1);
        if let Some(input) = self.rate.as_kind::<HtmlInputElement>() {
            input.set_value(&rate.to_string());
        }
        let share = f64::from(choice.alpha_ppm) / 1e6;
        let alarms = format!("{} false alarms", format::share(share));
        let hint =
            format!("{} of 1 000 normal requests will be called abnormal", format::number(1000.0 * share));
        self.rate_words.set("title", &hint);
        self.rate_words.say(if choice.vae { "Threshold: p below 0.001" } else { &alarms });
        self.rate.show(!choice.vae);
        self.vae.set_flag("aria-pressed", choice.vae);
        self.evaluate.set_flag("aria-pressed", choice.evaluate);
        self.model.say(if page.model().is_some() { "Forget model" } else { "Load model\u{2026}" });
    }

    fn take_training(&mut self, page: &Page) {
        let asks = page.asks();
        let progress = asks.anomaly.progress().or_else(|| asks.anomaly_check.progress());
        self.training.show(progress.is_some());
        let Some(progress) = progress else { return };
        self.training.clear();
        let share = 100.0 * progress.done as f64 / progress.of.max(1) as f64;
        let loss = progress.losses.last().map_or_else(String::new, |loss| format!(", loss {loss:.2}"));
        let epoch = progress.losses.len() + 1;
        self.training
            .add(&span("", &format!("Training the auto-encoder: {share:.0} %, epoch {epoch}{loss}")));
        if let Some(path) = curve(&progress.losses) {
            let picture = dom::icon(&path);
            let _ = picture.set_attribute("class", "loss-curve");
            self.training.add(&div("loss").node(&picture));
        }
        let to = page.clone();
        self.cancel.clear();
        let cancel = button("Cancel").test("anomaly-cancel").on_click(&self.cancel, move || {
            to.change(|address| (address.anomaly.vae, address.anomaly.evaluate) = (false, false));
        });
        self.training.add(&cancel);
    }

    fn take_report(&mut self, page: &Page) {
        let asks = page.asks();
        let report = asks.anomaly.get();
        let words = match &report {
            None => WORKING.to_owned(),
            Some(report) => why_empty(page, report),
        };
        self.empty.show(!words.is_empty());
        self.empty.say(&words);
        self.stage.element().class_if("stale", asks.anomaly.is_waiting());
        self.table.set_stale(asks.anomaly.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
        let revision = asks.anomaly.revision();
        let Some(report) = report.filter(|_| self.shown != revision) else { return };
        self.shown = revision;
        self.title.say(&title(&report));
        self.table.set_empty(&words);
        self.table.set_rows(Rc::new(anomalies_table::lines(&report)));
        let canvas = self.stage.canvas();
        canvas.set("data-abnormal", &report.abnormal().to_string());
        canvas.set("data-requests", &report.rows.len().to_string());
        self.stage.with(|picture| picture.chart.report = Some(report));
    }

    fn take_evaluation(&mut self, page: &Page) {
        let asks = page.asks();
        let is_wanted = page.address().anomaly.evaluate;
        self.figures.show(is_wanted);
        let revision = asks.anomaly_check.revision();
        if !is_wanted || self.evaluated == revision && self.figures.html().has_child_nodes() {
            return;
        }
        self.evaluated = revision;
        self.figures.clear();
        let Some(table) = asks.anomaly_check.get() else {
            self.figures.add(&span("muted", "Evaluating\u{2026}"));
            return;
        };
        let words = format!(
            "Trained on {} requests; {} held out are judged as they are and made abnormal. Where spans are dropped, {} of all are.",
            format::count(table.trained),
            format::count(table.held_out),
            format::share(table.dropped_share)
        );
        self.figures.add(&div("muted").text(&words));
        self.figures.add(&anomalies_table::evaluation(&table));
    }

    /// The reasons of the selected request, with where to look.
    fn take_selection(&mut self, page: &Page) {
        let now = Some((page.selection().clone(), self.shown));
        let rows = self.table.rows();
        let selected = match &*page.selection() {
            Selection::Request(chosen) => {
                rows.iter().position(|line| choice(&line.row.request).trace_id == chosen.trace_id)
            }
            _ => None,
        };
        self.table.select(selected);
        if self.explained == now {
            return;
        }
        self.explained = now;
        self.links.clear();
        self.reasons.clear();
        let report = page.asks().anomaly.get();
        let line = selected.and_then(|at| rows.get(at));
        self.reasons.show(line.is_some());
        let (Some(line), Some(report)) = (line, report) else { return };
        let list = el("ul");
        for reason in &line.row.reasons {
            list.add(&el("li").text(&format::printable(&report.words(reason, format::duration))));
        }
        if line.row.reasons.is_empty() {
            list.add(&el("li").text("Nothing about it is odd."));
        }
        let open = |text: &str, test: &str, request: &crate::engine::RequestRef| {
            let (to, choice) = (page.clone(), choice(request));
            button(text).test(test).on_click(&self.links, move || to.open_trace(choice.clone()))
        };
        let links = div("links").child(&open("Timeline", "anomaly-open", &line.row.request));
        if let Some(nearest) = &line.row.nearest {
            links.add(&open("Most similar normal request", "anomaly-nearest", nearest));
        }
        self.reasons.add(&list);
        self.reasons.add(&links);
    }

    fn take_search(&mut self, page: &Page) {
        let text = page.address().search.clone();
        let searched = Some((text.clone(), self.shown));
        if self.searched == searched {
            return;
        }
        self.searched = searched;
        let rows = self.table.rows();
        let hits: Vec<bool> =
            rows.iter().map(|line| fits(&text, &[&line.why, &line.row.request.trace_id])).collect();
        let matches = hits.iter().filter(|hit| **hit).count() as u64;
        self.table.set_hits((!text.is_empty()).then(|| Rc::new(hits)));
        let table = self.table.clone();
        self.search.tell(matches, None, move |_, forward| table.select(table.neighbour(forward)));
    }
}

/// What is normal.
fn normal_select(page: &Page, keep: &Keep) -> El {
    let select = el("select").attr("aria-label", "What is normal").test("anomaly-normal");
    for (key, words) in [
        ("others", "Each request against all others"),
        ("before", "The later half against the earlier"),
        ("a", "Set B against set A"),
    ] {
        select.add(&el("option").attr("value", key).text(words));
    }
    let (to, chosen) = (page.clone(), select.clone());
    select.on(keep, "change", move |_| {
        let key = chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value).unwrap_or_default();
        let overview = to.asks().overview.get();
        let half = overview.map_or(0, |overview| overview.start_us / 2 + overview.end_us / 2);
        to.change(|address| {
            address.anomaly.normal = match key.as_str() {
                "before" => Normal::Before(half),
                "a" => Normal::SetA,
                _ => Normal::Others,
            }
        });
    })
}

/// How many false alarms are accepted.
fn rate_slider(page: &Page, keep: &Keep) -> (El, El) {
    let input = el("input")
        .attr("type", "range")
        .attr("min", "0")
        .attr("max", &(RATES.len() - 1).to_string())
        .attr("step", "1")
        .attr("aria-label", "Accepted rate of false alarms")
        .test("anomaly-rate");
    let (to, field) = (page.clone(), input.clone());
    let input = input.on(keep, "change", move |_| {
        let at = field.as_kind::<HtmlInputElement>().and_then(|input| input.value().parse::<usize>().ok());
        if let Some(&rate) = at.and_then(|at| RATES.get(at)) {
            to.change(|address| address.anomaly.alpha_ppm = rate);
        }
    });
    (input, span("muted nowrap", "").test("anomaly-rate-words"))
}

/// Saves the trained detector, or judges by a saved one.
fn model_buttons(page: &Page, keep: &Keep) -> (El, El) {
    let file = el("input").attr("type", "file").attr("hidden", "").test("anomaly-model-file");
    let (to, field) = (page.clone(), file.clone());
    let file = file.on(keep, "change", move |_| {
        let Some(input) = field.as_kind::<HtmlInputElement>() else { return };
        let chosen = input.files().and_then(|files| files.get(0));
        input.set_value("");
        let (Some(chosen), to) = (chosen, to.clone()) else { return };
        spawn_local(async move {
            let buffer = JsFuture::from(chosen.array_buffer()).await;
            let bytes = buffer.map(|buffer| Uint8Array::new(&buffer).to_vec()).unwrap_or_default();
            match Model::from_bytes(&bytes) {
                Ok(_) => to.set_model(Some(bytes)),
                Err(error) => to.fail(UserError {
                    message: format!("{} cannot be used.", chosen.name()),
                    detail: error.to_string(),
                    next_step: "Choose a file that \u{201c}Save model\u{201d} has written.".to_owned(),
                }),
            }
        });
    });
    let (to, pick) = (page.clone(), file.clone());
    let load = button("Load model\u{2026}")
        .test("anomaly-model")
        .on_click(keep, move || if to.model().is_some() { to.set_model(None) } else { pick.html().click() });
    let to = page.clone();
    let save = button("Save model").test("anomaly-save-model").on_click(keep, move || {
        let (train, _, band_train) = sides(&to);
        let settings = settings(&to);
        let to = to.clone();
        spawn_local(async move {
            let request = Request::AnomalyModel { train, band_train, settings };
            match to.pool().ask(request).await {
                Ok(Report::AnomalyModel(bytes)) => {
                    let parts = Array::of1(&Uint8Array::from(bytes.as_slice()));
                    if let Ok(blob) = Blob::new_with_u8_array_sequence(&parts) {
                        export::save(&to, &blob, "pathlight-anomaly-model.bin");
                    }
                }
                Ok(_) => {}
                Err(error) => to.fail(UserError {
                    message: "The model could not be saved.".to_owned(),
                    detail: error.to_string(),
                    next_step: "Try again.".to_owned(),
                }),
            }
        });
    });
    (load.clone(), div("buttons").child(&save).child(&file))
}

/// A curve of losses in a square of 16 by 16.
fn curve(losses: &[f32]) -> Option<String> {
    let (least, most) = losses.iter().fold((f32::MAX, f32::MIN), |(a, b), loss| (a.min(*loss), b.max(*loss)));
    if losses.len() < 2 || most <= least {
        return None;
    }
    let points = losses.iter().enumerate().map(|(at, loss)| {
        let x = 1.0 + 14.0 * at as f32 / (losses.len() - 1) as f32;
        format!("{x:.2} {:.2}", 15.0 - 14.0 * (loss - least) / (most - least))
    });
    Some(format!("M{}", points.collect::<Vec<_>>().join("L")))
}

fn title(report: &AnomalyReport) -> String {
    let mut words = format!(
        "{} of {} abnormal; learned from {} ({} call paths)",
        format::count(report.abnormal() as u64),
        format::count(report.rows.len() as u64),
        format::count(report.trained),
        format::count(report.features)
    );
    if report.detector == Detector::Rule && report.alpha > report.asked_alpha {
        words.push_str(&format!(
            "; with so few, the rate is raised to {} so that an alarm is possible",
            format::share(report.alpha)
        ));
    }
    words
}

fn why_empty(page: &Page, report: &AnomalyReport) -> String {
    if report.trained == 0 {
        let normal = page.address().anomaly.normal;
        return match normal {
            Normal::Before(_) => "No request began in the earlier half; choose what is normal.".to_owned(),
            _ => "There is no normal request to learn from; change the subject, the band or the filters."
                .to_owned(),
        };
    }
    if report.rows.is_empty() { "There is no request to judge.".to_owned() } else { String::new() }
}

fn formats(stage: &Stage<ChartPicture<Strip>>) -> Vec<export::Format> {
    let (svg, csv, json) = (stage.clone(), stage.clone(), stage.clone());
    let report = |stage: &Stage<ChartPicture<Strip>>| stage.look(|picture| picture.chart.report.clone());
    vec![
        (
            "SVG picture",
            "svg",
            Box::new(move || {
                let (width, height) = EXPORT_PX;
                let size = ChartSize { width, height, metrics: Metrics::default() };
                anomalies::export_svg(&*report(&svg)?, size, &svg.plain_theme(), "How odd requests are").ok()
            }),
        ),
        ("CSV table", "csv", Box::new(move || report(&csv).map(|report| anomalies_table::csv(&report)))),
        ("JSON report", "json", Box::new(move || report(&json)?.to_json(format::duration).ok())),
    ]
}

impl Part for Anomalies {
    fn update(&mut self, page: &Page) {
        let has_data = page.asks().overview.get().is_some_and(|overview| overview.traces > 0);
        let shown = has_data && page.address().view == View::Anomalies;
        self.element.show(shown);
        self.twin.show(shown);
        if !shown {
            self.stage.look(ChartPicture::leave);
            return;
        }
        self.stage.follow_theme();
        self.offer(page);
        self.take_training(page);
        self.take_report(page);
        self.take_evaluation(page);
        chart_picture::fit(&self.stage);
        self.take_selection(page);
        self.take_search(page);
    }
}
