//! What the page knows, and the one way it changes: an event changes it, then every part brings itself up to date.

mod file_errors;

use self::file_errors::file_errors;
use super::dom;
use crate::pool::{Input, Limits, LoadProgress, MemoryForecast, Pool, PoolEvent, UserError};
use crate::ui::settings;
use crate::ui::settings::Store;
use crate::ui::shell::fetching::Fetching;
use crate::ui::shell::queries;
use crate::ui::shell::queries::Queries;
use crate::ui::shell::undo::Undo;
use crate::ui::widgets::grid::refit_all;
use pathlight_backend::source::Wanted;
use pathlight_ingest::{FileReport, Keep};
use pathlight_query::Endpoint;
use pathlight_view::address::{Address, TraceChoice, View};
use pathlight_view::anomalies;
use pathlight_view::comparing::{Against, Side, set_name};
use pathlight_view::intake::Intake;
use pathlight_view::selection_words::range_words;
use pathlight_view::summaries;
use std::cell::{Cell, Ref, RefCell};

use wasm_bindgen::JsValue;

/// Files whose names are remembered over a reload.
const MOST_NAMES: usize = 100;

/// The longest call path that is written into an address.
pub const LONGEST_FOCUS: usize = 64;

/// The one thing that a person has clicked, shared by all views.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Focus {
    /// Nothing.
    #[default]
    Nothing,
    /// A call path from the analysis root.
    Path(Vec<Endpoint>),
    /// An endpoint wherever it is called.
    Endpoint(Endpoint),
    /// A request.
    Request(TraceChoice),
    /// A span of the trace of the timeline, by its index.
    Span(u32),
}

impl Focus {
    /// Returns the focus on an endpoint, given as service and operation.
    pub fn endpoint((service, operation): (&str, &str)) -> Focus {
        Focus::Endpoint(Endpoint::new(service, operation))
    }
}

/// How far loading is.
#[derive(Default)]
pub struct Load {
    /// Something is being read.
    pub running: bool,
    /// The last word on it.
    pub progress: Option<LoadProgress>,
    /// What is being read will not fit, and waits for a word on that.
    pub forecast: Option<MemoryForecast>,
    /// Every file read so far, of all loads.
    pub files: Vec<FileReport>,
    /// What the reader should know, oldest first; the number tells them apart.
    pub errors: Vec<(u32, UserError)>,
    next_error: u32,
    /// What was handed to the pool and is still loaded, with the group of each.
    pub inputs: Vec<(Input, u8)>,
    /// How many of them a person opened, so that no address can name them.
    pub opened: usize,
    /// How many inputs there were before the load that runs.
    inputs_before: usize,
}

/// A part of the page that follows what the page knows.
pub trait Part {
    /// Brings it up to date; called after every change, so it looks first whether anything is new to it.
    fn update(&mut self, page: Page);

    /// A command of the keyboard; tells whether it was one for this part.
    fn command(&mut self, _page: Page, _command: crate::ui::shell::keys::Command) -> bool {
        false
    }
}

struct Inner {
    pool: Pool,
    address: RefCell<Address>,
    load: RefCell<Load>,
    queries: Queries,
    focus: RefCell<Focus>,
    fetching: Fetching,
    /// The tag whose values are suggested.
    suggested_key: RefCell<String>,
    /// Counts states of the data, so that a query of an older one is run again.
    generation: Cell<u64>,
    has_data: Cell<bool>,
    /// A saved detector of abnormal requests to judge by.
    model: RefCell<Option<Vec<u8>>>,
    /// The way back from what was done last to what is loaded.
    undo: RefCell<Option<Undo>>,
    last_undo: Cell<u32>,
    update_due: Cell<bool>,
    parts: RefCell<Vec<Box<dyn Part>>>,
}

/// The page. It lives as long as the window, so a handle is a plain copy.
#[derive(Clone, Copy)]
pub struct Page(&'static Inner);

impl Page {
    /// A page without data that shows what the address says; if it says nothing, this fragment.
    pub fn new(pool: Pool, otherwise: &str) -> Page {
        let hash = dom::window().location().hash().unwrap_or_default();
        let address = Address::parse(if hash.len() > 1 { hash.as_str() } else { otherwise });
        pool.set_limits(Limits::from_keys(&address.unknown));
        Page(Box::leak(Box::new(Inner {
            pool,
            address: RefCell::new(address),
            load: RefCell::default(),
            queries: Queries::default(),
            focus: RefCell::default(),
            fetching: Fetching::default(),
            suggested_key: RefCell::default(),
            generation: Cell::new(0),
            has_data: Cell::new(false),
            model: RefCell::default(),
            undo: RefCell::default(),
            last_undo: Cell::new(0),
            update_due: Cell::new(false),
            parts: RefCell::default(),
        })))
    }

    /// Adds parts, in the order they are brought up to date.
    pub fn add_parts(self, parts: Vec<Box<dyn Part>>) {
        self.0.parts.borrow_mut().extend(parts);
        self.refresh();
    }

    /// What the page shows.
    pub fn address(self) -> Ref<'static, Address> {
        self.0.address.borrow()
    }

    /// How far loading is.
    pub fn loading(self) -> Ref<'static, Load> {
        self.0.load.borrow()
    }

    /// A saved detector of abnormal requests, if one was loaded.
    pub fn model(self) -> Option<Vec<u8>> {
        self.0.model.borrow().clone()
    }

    /// Judges by a saved detector from now on, or by a trained one again.
    pub fn set_model(self, model: Option<Vec<u8>>) {
        self.0.model.replace(model);
        self.refresh();
    }

    /// The queries and their reports.
    pub fn queries(self) -> &'static Queries {
        &self.0.queries
    }

    /// Returns what a person has clicked.
    pub fn focus(self) -> Ref<'static, Focus> {
        self.0.focus.borrow()
    }

    /// What is fetched for the page.
    pub fn fetching(self) -> &'static Fetching {
        &self.0.fetching
    }

    /// Whether any trace is loaded.
    pub fn has_data(self) -> bool {
        self.0.has_data.get()
    }

    /// Counts states of the data.
    pub fn generation(self) -> u64 {
        self.0.generation.get()
    }

    /// Whether the set that views speak of is a summary, not traces.
    pub fn is_summary(self) -> bool {
        let group = self.address().group();
        self.is_summary_set(group)
    }

    fn is_summary_set(self, group: u8) -> bool {
        let overview = self.0.queries.overview.get();
        overview.is_some_and(|of| if group == 1 { of.is_other_summary } else { of.summary.is_some() })
    }

    /// What a view needs that is not loaded, in a sentence.
    pub fn lacks(self, view: View) -> Option<&'static str> {
        let sums =
            self.0.queries.overview.get().is_some_and(|of| of.summary.is_some() || of.is_other_summary);
        let is_cut = |side| !self.address().side(side).range.is_all();
        if sums && view == View::Compare && self.compares_sets() && Side::BOTH.into_iter().any(is_cut) {
            return Some(summaries::COMPARES_ALL);
        }
        let group = match view {
            // The requests that are judged; a summary may say what is normal.
            View::Anomalies => anomalies::sides(&self.address()).1.group,
            _ => self.address().group(),
        };
        match self.is_summary_set(group) {
            true => summaries::lacks(view, self.compares_sets()),
            false => (view == View::Trend).then_some(pathlight_view::trend::NEEDS_SUMMARIES),
        }
    }

    /// Returns the workers that run queries.
    pub fn pool(self) -> &'static Pool {
        &self.0.pool
    }

    /// Workers in the pool.
    pub fn workers(self) -> usize {
        self.0.pool.workers()
    }

    /// Bytes of wasm memory of all workers.
    pub fn wasm_bytes(self) -> u64 {
        self.0.pool.memory_bytes()
    }

    /// Sets what a person has clicked.
    pub fn set_focus(self, focus: Focus) {
        if *self.0.focus.borrow() != focus {
            let is_nothing = focus == Focus::Nothing;
            self.0.focus.replace(focus);
            if is_nothing {
                self.change(|address| {
                    if let Some(trace) = &mut address.trace {
                        trace.span_id = None;
                    }
                });
            }
            self.refresh();
        }
    }

    /// Keeps the selected span and the one in the address the same: links name it by id, views by index.
    fn follow_span(self) {
        let Some(Some(span)) = self.0.queries.span.fresh().map(|span| (*span).clone()) else { return };
        let Some(trace) = self.shown_trace().filter(|trace| trace.trace_id == span.trace_id) else { return };
        let focus = self.0.focus.borrow().clone();
        if focus == Focus::Nothing && trace.span_id.as_ref() == Some(&span.span_id) {
            self.set_focus(Focus::Span(span.index));
        } else if focus == Focus::Span(span.index) && !span.span_id.is_empty() {
            self.change(|address| {
                if let Some(trace) = &mut address.trace {
                    trace.span_id = Some(span.span_id);
                }
            });
        }
    }

    fn publish_failures(self) {
        for reason in self.0.queries.slots.take_failures() {
            self.fail(UserError {
                message: "This query could not be run.".to_owned(),
                detail: reason,
                next_step: "Choose a smaller percentile range or another root endpoint, or reload the page."
                    .to_owned(),
            });
        }
    }

    /// Changes what is shown, in the address too; a change of place becomes a step of the history.
    pub fn change(self, change: impl FnOnce(&mut Address)) {
        self.put(Box::new(change), true);
    }

    /// Completes what the address says: never a step of the history.
    pub fn amend(self, change: impl FnOnce(&mut Address)) {
        self.put(Box::new(change), false);
    }

    fn put(self, change: Box<dyn FnOnce(&mut Address) + '_>, may_step: bool) {
        let before = self.0.address.borrow().clone();
        let mut after = before.clone();
        change(&mut after);
        if after == before {
            return;
        }
        let is_step = may_step && after.is_step_from(&before);
        if after.root != before.root || after.view == View::Trace && before.trace != after.trace && is_step {
            self.0.focus.replace(Focus::Nothing);
        }
        let fragment = format!("#{}", after.to_fragment());
        if let Ok(history) = dom::window().history() {
            // Some frames may not touch the history; then the page works without it.
            let _ = if is_step {
                history.push_state_with_url(&JsValue::NULL, "", Some(&fragment))
            } else {
                history.replace_state_with_url(&JsValue::NULL, "", Some(&fragment))
            };
        }
        self.0.address.replace(after);
        self.refresh();
    }

    /// Follows the address after back, forward, or a fragment typed in.
    pub fn follow_address(self) {
        let address = Address::parse(&dom::window().location().hash().unwrap_or_default());
        if *self.0.address.borrow() != address {
            self.0.address.replace(address);
            self.refresh();
        }
        self.0.fetching.follow(self);
    }

    /// Opens a trace in the timeline.
    pub fn open_trace(self, choice: TraceChoice) {
        self.change(|address| {
            address.view = View::Trace;
            address.trace = Some(choice);
        });
    }

    /// Zooms the flame graph to a call path.
    pub fn zoom_to(self, path: Vec<Endpoint>) {
        self.set_focus(Focus::Path(path.clone()));
        self.change(|address| {
            address.view = View::Flame;
            address.inverted = false;
            if path.len() <= LONGEST_FOCUS {
                address.focus = path;
            }
        });
    }

    /// Zooms the flame graph in sight to a call path.
    pub fn zoom_here(self, path: Vec<Endpoint>) {
        self.set_focus(Focus::Path(path.clone()));
        if path.len() <= LONGEST_FOCUS {
            self.change(|address| address.focus = path);
        }
    }

    /// Brings every part up to date, once, after the running event.
    pub fn refresh(self) {
        if self.0.update_due.replace(true) {
            return;
        }
        wasm_bindgen_futures::spawn_local(async move {
            self.0.update_due.set(false);
            self.follow_span();
            queries::query(self);
            self.publish_failures();
            for part in self.0.parts.borrow_mut().iter_mut() {
                part.update(self);
            }
            refit_all();
            self.publish_state();
        });
    }

    /// Hands a command to the first part that takes it.
    pub fn command(self, command: crate::ui::shell::keys::Command) -> bool {
        self.0.parts.borrow_mut().iter_mut().any(|part| part.command(self, command))
    }

    /// Reads more data in addition to what is there, into the set that views speak of unless two are compared.
    pub fn load(self, inputs: Vec<Input>) {
        self.load_group(inputs, 0);
    }

    /// What can be done with traces that come now; nothing is asked while there are no others.
    pub fn intakes(self) -> Option<[Intake; 3]> {
        let overview = self.0.queries.overview.get();
        let has_some = overview.as_ref().is_some_and(|overview| overview.traces > 0);
        (has_some || self.0.load.borrow().running).then(|| Intake::choices(self.has_both_sets()))
    }

    /// Whether two sets are compared, and both are there.
    pub fn has_both_sets(self) -> bool {
        let others = self.0.queries.overview.get().map_or(0, |overview| overview.other_traces);
        self.compares_sets() && others > 0
    }

    /// Reads data as a person has chosen; the way back is offered for a while.
    pub fn take_in(self, inputs: Vec<Input>, intake: Intake) {
        if inputs.is_empty() {
            return;
        }
        self.offer_undo(intake.done(inputs.len()));
        match intake {
            Intake::Compare => self.load_side(inputs, Side::B),
            Intake::AddTo(side) => self.load_side(inputs, side),
            Intake::Add if self.compares_sets() => self.load_side(inputs, Side::A),
            Intake::Add => self.open(inputs),
            Intake::Replace => {
                self.0.fetching.forget(self);
                self.forget_data();
                self.change(|address| {
                    address.source.wanted = Wanted::Nothing;
                    address.source.files.clear();
                    address.trace = None;
                    if address.comparison.is_some_and(|comparison| comparison.against == Against::Set) {
                        address.stop_comparing();
                    }
                });
                self.open(inputs);
            }
        }
    }

    /// Reads what a person opened, besides what is loaded.
    pub fn open(self, inputs: Vec<Input>) {
        self.note_opened(&inputs);
        self.load(inputs);
    }

    /// Remembers what no address can name: a link lacks it, and the start page names it after a reload.
    fn note_opened(self, inputs: &[Input]) {
        self.0.load.borrow_mut().opened += inputs.len();
        let before = settings::get(Store::Window, settings::OPENED).unwrap_or_default();
        let names = inputs.iter().map(|input| input.name.as_str());
        let names: Vec<&str> = before.lines().chain(names).take(MOST_NAMES).collect();
        settings::put(Store::Window, settings::OPENED, &names.join("\n"));
    }

    /// Reads more data into a side; a comparison with a set of its own begins if there is none.
    fn load_side(self, inputs: Vec<Input>, side: Side) {
        self.note_opened(&inputs);
        self.change(Address::compare_sets);
        let group = self.0.address.borrow().side(side).group;
        self.load_group(inputs, group);
    }

    /// Returns what a side is called: after the files of its set, or after its percentile range.
    pub fn side_name(self, side: Side) -> String {
        let selection = self.address().side(side);
        if !self.compares_sets() {
            return range_words(selection.range);
        }
        let load = self.loading();
        let files = load.inputs.iter().filter(|(_, group)| *group == selection.group);
        let files: Vec<&str> = files.map(|(input, _)| input.name.as_str()).collect();
        set_name(&files).unwrap_or_else(|| "nothing loaded".to_owned())
    }

    fn offer_undo(self, words: String) {
        let number = self.0.last_undo.get() + 1;
        self.0.last_undo.set(number);
        let load = self.loading();
        let (address, inputs, opened) = (self.address().clone(), load.inputs.clone(), load.opened);
        drop(load);
        let names = settings::get(Store::Window, settings::OPENED).unwrap_or_default();
        self.0.undo.replace(Some(Undo { number, words, address, inputs, opened, names }));
    }

    /// The way back from what was done last to what is loaded, while it is offered.
    pub fn undoable(self) -> Option<Undo> {
        self.0.undo.borrow().clone()
    }

    /// Loads what was loaded before, and shows what was shown.
    pub fn undo(self) {
        let Some(undo) = self.0.undo.take() else { return };
        self.forget_data();
        self.0.load.borrow_mut().opened = undo.opened;
        settings::put(Store::Window, settings::OPENED, &undo.names);
        self.change(|address| *address = undo.address);
        // What the address names is among the inputs.
        self.0.fetching.cancel(self);
        for group in 0..=1 {
            let of_group = undo.inputs.iter().filter(|(_, of)| *of == group);
            self.load_group(of_group.map(|(input, _)| input.clone()).collect(), group);
        }
        self.0.fetching.resume(self);
    }

    /// The way back is no longer offered.
    pub fn forget_undo(self, number: u32) {
        let undone = self.0.undo.borrow_mut().take_if(|undo| undo.number == number);
        if undone.is_some() {
            self.refresh();
        }
    }

    /// Ends comparing; the set that was loaded for it goes.
    pub fn stop_comparing(self) {
        let is_set = self.compares_sets();
        self.change(Address::stop_comparing);
        if is_set {
            let mut load = self.0.load.borrow_mut();
            load.running = true;
            load.inputs.retain(|(_, group)| *group != 1);
            drop(load);
            self.0.pool.unload_group(1);
        }
    }

    /// Whether sets are compared that were loaded apart.
    pub fn compares_sets(self) -> bool {
        self.0.address.borrow().comparison.is_some_and(|comparison| comparison.against == Against::Set)
    }

    fn load_group(self, inputs: Vec<Input>, group: u8) {
        if inputs.is_empty() {
            return;
        }
        {
            let mut load = self.0.load.borrow_mut();
            if !load.running {
                load.inputs_before = load.inputs.len();
            }
            load.running = true;
            load.progress = None;
            load.inputs.extend(inputs.iter().map(|input| (input.clone(), group)));
        }
        self.0.pool.load_group(inputs, group);
        self.refresh();
    }

    /// Everything that is loaded, for a saved report; see [`Pool::columns`].
    ///
    /// # Errors
    /// In words.
    pub async fn columns(self) -> Result<Vec<web_sys::Blob>, String> {
        let mut columns = self.0.pool.columns().await?;
        let load = self.0.load.borrow();
        let is_summary = |name: &str| {
            let mut files = load.files.iter().filter(|file| file.name == name);
            files.any(|file| file.format.split('+').any(|format| format == "summary"))
        };
        for (input, group) in load.inputs.iter().filter(|(input, _)| is_summary(&input.name)) {
            if *group != 0 {
                return Err("A comparison with a summary cannot be saved: stop comparing first.".to_owned());
            }
            // As it is: it is read again as any input is.
            columns.push(input.blob.clone());
        }
        Ok(columns)
    }

    /// Goes on with a load that will not fit, keeping only these of its traces.
    pub fn go_on(self, keep: &Keep) {
        self.0.load.borrow_mut().forecast = None;
        self.0.pool.go_on(keep);
        self.forget_answers();
        self.refresh();
    }

    /// Ends loading, keeping or dropping what it brought so far.
    pub fn cancel_load(self, keep: bool) {
        let mut load = self.0.load.borrow_mut();
        load.forecast = None;
        if !keep {
            let before = load.inputs_before;
            load.inputs.truncate(before);
        }
        drop(load);
        self.0.pool.cancel_load(keep);
    }

    /// Forgets all data, but not what the address says.
    pub fn forget_data(self) {
        self.0.pool.clear();
        let next_error = self.0.load.borrow().next_error;
        self.0.load.replace(Load { next_error, ..Load::default() });
        settings::put(Store::Window, settings::OPENED, "");
        self.forget_answers();
        self.0.has_data.set(false);
        self.refresh();
    }

    /// Forgets all data and goes back to the start; the way back is offered for a while.
    pub fn clear(self) {
        self.offer_undo("Everything that was loaded is forgotten.".to_owned());
        self.reset();
    }

    /// Forgets all data and goes back to the start, for a host that hands over what it has.
    pub fn reset(self) {
        self.0.fetching.forget(self);
        self.forget_data();
        self.change(|address| {
            *address = Address {
                theme: address.theme,
                embed: address.embed,
                allow: std::mem::take(&mut address.allow),
                unknown: std::mem::take(&mut address.unknown),
                ..Address::default()
            };
        });
        self.refresh();
    }

    /// Tells the reader what went wrong.
    pub fn fail(self, error: UserError) {
        let mut load = self.0.load.borrow_mut();
        let same =
            |known: &(u32, UserError)| known.1.message == error.message && known.1.detail == error.detail;
        if !load.errors.iter().any(same) {
            load.next_error += 1;
            let number = load.next_error;
            load.errors.push((number, error));
        }
        drop(load);
        self.refresh();
    }

    /// Takes an error off the page.
    pub fn dismiss(self, number: u32) {
        self.0.load.borrow_mut().errors.retain(|(known, _)| *known != number);
        self.refresh();
    }

    /// Something happened in the pool.
    pub fn pool_event(self, event: PoolEvent) {
        match event {
            PoolEvent::Ready => {}
            PoolEvent::Progress(progress) => {
                let mut load = self.0.load.borrow_mut();
                if load.running {
                    load.progress = Some(progress);
                }
            }
            PoolEvent::Preliminary => self.data_changed(),
            PoolEvent::Short(forecast) => {
                self.0.load.borrow_mut().forecast = Some(forecast);
                self.data_changed();
            }
            PoolEvent::Loaded(outcome) => {
                {
                    let mut load = self.0.load.borrow_mut();
                    load.running = false;
                    load.progress = None;
                    load.forecast = None;
                    load.files.extend(outcome.reports.iter().cloned());
                }
                self.data_changed();
                outcome.errors.into_iter().for_each(|error| self.fail(error));
                file_errors(&outcome.reports).into_iter().for_each(|error| self.fail(error));
            }
            PoolEvent::WorkerLost { name, reason } => self.fail(UserError {
                message: "A worker ended and was replaced; what it held is read again.".to_owned(),
                detail: if name.is_empty() { reason } else { format!("{name}: {reason}") },
                next_step: "If this repeats, load fewer files at once.".to_owned(),
            }),
            PoolEvent::Failed(error) => {
                self.0.load.borrow_mut().running = false;
                self.fail(error);
            }
        }
        self.refresh();
    }

    fn data_changed(self) {
        self.0.generation.set(self.0.generation.get() + 1);
        self.0.has_data.set(true);
    }

    fn forget_answers(self) {
        self.0.generation.set(self.0.generation.get() + 1);
        self.0.queries.slots.clear();
        self.0.focus.replace(Focus::Nothing);
    }

    /// The trace the timeline shows: that of the address, else the slowest of the percentile range.
    pub fn shown_trace(self) -> Option<TraceChoice> {
        if let Some(trace) = &self.0.address.borrow().trace {
            return Some(trace.clone());
        }
        let requests = self.0.queries.requests.get()?;
        let slowest = requests.rows.first()?;
        Some(TraceChoice {
            trace_id: slowest.trace_id.clone(),
            root_span_id: Some(slowest.root_span_id.clone()).filter(|id| !id.is_empty()),
            span_id: None,
        })
    }

    /// The values of this tag are suggested for a filter; empty: of none.
    pub fn suggest_values_of(self, key: &str) {
        self.0.suggested_key.replace(key.to_owned());
    }

    /// The tag whose values are suggested.
    pub fn suggested_key(self) -> String {
        self.0.suggested_key.borrow().clone()
    }

    /// Which requests a view speaks of: root endpoint, percentile range, filters.
    pub fn selection_label(self) -> String {
        self.address().selection_label()
    }

    /// Why a view has nothing to show, by what the percentile range holds.
    pub fn why_empty(self) -> String {
        let report = self.queries().range.get();
        report.map(|report| self.address().why_empty(&report.facts)).unwrap_or_default()
    }

    /// The page's state for style and tests: `empty`, `loading` or `ready`; `data-busy` while any query runs.
    fn publish_state(self) {
        let Some(root) = dom::root() else { return };
        let queries = &self.0.queries;
        let overview = queries.overview.get();
        let state = if self.0.load.borrow().running || self.0.fetching.is_running() {
            "loading"
        } else if !self.has_data() || overview.as_ref().is_some_and(|report| report.traces == 0) {
            "empty"
        } else if queries.overview.is_waiting() {
            "loading"
        } else {
            "ready"
        };
        let busy = queries.slots.is_waiting();
        let _ = root.set_attribute("data-state", state);
        let _ = root.set_attribute("data-busy", if busy { "true" } else { "false" });
    }
}
