//! The state of the page, and the one way it changes: an event changes it, then every part brings itself up to date.

pub mod fetching;
pub mod files;
pub mod inputs;
mod overview;
pub mod queries;
pub mod shown_trace;
pub mod slot;
pub mod utilisation;

use self::inputs::Undo;
use self::slot::{Asker, Slot, Slots};
use super::dom;
use crate::page::fetching::Fetching;
use crate::page::queries::Queries;
use crate::page::shown_trace::ShownTrace;
use crate::pool::{Input, PagePool};
use pathlight_engine::load::MemoryForecast;
use pathlight_engine::pool::{Limits, LoadProgress, PoolEvent, UserError};
use pathlight_engine::queries::{LikeRank, Range};
use pathlight_engine::requests::Selection;
use pathlight_ingest::{Accounts, FileReport};
use pathlight_trace::Endpoint;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::address::{Address, TraceChoice};
use pathlight_view::flow::capacity::Utilisation;
use pathlight_view::keys::KeyCommand;
use pathlight_view::reading::file_errors::file_errors;
use pathlight_view::views::View;
use pathlight_view::{anomalies, reading, summaries};
use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsValue;

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

impl Asker for Page {
    fn generation(self) -> u64 {
        Page::generation(self)
    }

    fn pool(self) -> &'static PagePool {
        Page::pool(self)
    }

    fn slots(self) -> &'static Slots {
        &self.0.queries.slots
    }

    fn refresh(self) {
        Page::refresh(self);
    }
}

/// State of loading.
#[derive(Default)]
pub struct Load {
    /// Something is being read.
    pub running: bool,
    /// The last word on it.
    pub progress: Option<LoadProgress>,
    /// Forecast of a load that will not fit and waits for a decision.
    pub forecast: Option<MemoryForecast>,
    /// Every file read so far, of all loads.
    accounts: Accounts,
    /// Errors that the user should know, oldest first, each with its number.
    pub errors: Vec<(u32, UserError)>,
    next_error: u32,
    /// Inputs that were handed to the pool and are still loaded, with the group of each.
    pub inputs: Vec<(Input, u8)>,
    /// Number of them that a person opened, so that no address can name them.
    pub opened: usize,
    /// Number of inputs before the load that runs.
    inputs_before: usize,
    /// Traces of the files of the load that ended last.
    pub last_traces: u64,
}

impl Load {
    /// Returns every file read so far, of all loads; of very many the later ones are added up.
    pub fn files(&self) -> &[FileReport] {
        self.accounts.list()
    }
}

/// A part of the page that follows what the page knows.
pub trait PagePart {
    /// Brings it up to date; called after every change, so it looks first whether anything is new to it.
    fn update(&mut self, page: Page);

    /// Paints what depends on how much room there is; called after every part was brought up to date, so that the browser
    /// lays out the page once and not for each part.
    fn fit(&mut self, _page: Page) {}

    /// Runs a command of the keyboard; returns whether it was one for this part.
    fn command(&mut self, _page: Page, _command: KeyCommand) -> bool {
        false
    }
}

/// Parts are brought up to date in this order, and asked in it whether a command is for them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PageLayer {
    /// The selection: requests, range, sides.
    Selection,
    /// Rows that come and go above the views.
    Rows,
    /// The views and what leads to them.
    Views,
    /// The header with search and menus.
    Header,
    /// Details of the focus, beside the views.
    Detail,
    /// The status bar, and the page around this one.
    Status,
}

/// Parts that are built above the page and run with it.
#[derive(Clone, Copy)]
pub struct Hooks {
    /// Asks what the view in sight needs to know.
    pub ask: fn(Page),
    /// Fits what depends on how much room there is, after all parts.
    pub fit: fn(),
    /// Loads the demo traces.
    pub load_demo: fn(Page),
}

/// Changes of the address that become steps of the history.
#[derive(Clone, Copy)]
enum Step {
    /// This one does.
    Always,
    /// It does if it is one of place.
    OfPlace,
    /// It does not.
    Never,
}

struct Inner {
    pool: PagePool,
    hooks: Hooks,
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
    /// How much services use, from a table that a person gave; or what is wrong with it. Nothing keeps it.
    utilisation: RefCell<Option<Result<Rc<Utilisation>, String>>>,
    /// The way back from what was done last to what is loaded.
    undo: RefCell<Option<Undo>>,
    last_undo: Cell<u32>,
    /// Number of files found so far, while folders are looked into.
    found_files: Cell<Option<u32>>,
    update_due: Cell<bool>,
    parts: RefCell<Vec<(PageLayer, Box<dyn PagePart>)>>,
}

/// The page. It lives as long as the window, so a handle is a plain copy.
#[derive(Clone, Copy)]
pub struct Page(&'static Inner);

impl Page {
    /// Creates a page without data that shows what the address says; if it says nothing, this fragment.
    pub fn new(pool: PagePool, otherwise: &str, hooks: Hooks) -> Page {
        let hash = dom::window().location().hash().unwrap_or_default();
        let address = Address::parse(if hash.len() > 1 { hash.as_str() } else { otherwise });
        pool.set_limits(Limits::from_keys(&address.unknown));
        Page(Box::leak(Box::new(Inner {
            pool,
            hooks,
            address: RefCell::new(address),
            load: RefCell::default(),
            queries: Queries::default(),
            focus: RefCell::default(),
            fetching: Fetching::default(),
            suggested_key: RefCell::default(),
            generation: Cell::new(0),
            has_data: Cell::new(false),
            model: RefCell::default(),
            utilisation: RefCell::default(),
            undo: RefCell::default(),
            last_undo: Cell::new(0),
            found_files: Cell::new(None),
            update_due: Cell::new(false),
            parts: RefCell::default(),
        })))
    }

    /// Adds parts of one layer, behind those it already has.
    pub fn add_parts(self, layer: PageLayer, parts: Vec<Box<dyn PagePart>>) {
        let mut all = self.0.parts.borrow_mut();
        all.extend(parts.into_iter().map(|part| (layer, part)));
        all.sort_by_key(|(layer, _)| *layer);
        drop(all);
        self.refresh();
    }

    /// Returns what the page shows.
    pub fn address(self) -> Ref<'static, Address> {
        self.0.address.borrow()
    }

    /// Loads the demo traces.
    pub fn load_demo(self) {
        (self.0.hooks.load_demo)(self);
    }

    /// Returns how far loading is.
    pub fn loading(self) -> Ref<'static, Load> {
        self.0.load.borrow()
    }

    /// Returns how many files were found so far, while folders are looked into.
    pub fn found_files(self) -> Option<u32> {
        self.0.found_files.get()
    }

    /// Says how many files were found so far; `None` when no folder is looked into any more.
    pub fn set_found_files(self, found: Option<u32>) {
        self.0.found_files.set(found);
        self.refresh();
    }

    /// Returns a saved detector of abnormal requests, if one was loaded.
    pub fn model(self) -> Option<Vec<u8>> {
        self.0.model.borrow().clone()
    }

    /// Returns whether a saved detector judges.
    pub fn has_model(self) -> bool {
        self.0.model.borrow().is_some()
    }

    /// Judges by a saved detector from now on, or by a trained one again.
    pub fn set_model(self, model: Option<Vec<u8>>) {
        self.0.model.replace(model);
        self.refresh();
    }

    /// Returns the queries and their reports.
    pub fn queries(self) -> &'static Queries {
        &self.0.queries
    }

    /// Returns what a person has clicked.
    pub fn focus(self) -> Ref<'static, Focus> {
        self.0.focus.borrow()
    }

    /// Returns which requests findings are about, and with which they are compared: of two sets the second is asked about,
    /// and the first is what it should be like.
    pub fn of_findings(self) -> (Selection, Option<Selection>) {
        let address = self.address();
        match address.has_baseline() {
            true => (address.side(ComparedSide::B), Some(address.side(ComparedSide::A))),
            false => (address.selection(), None),
        }
    }

    /// Returns the slot with the requests of a side and their latencies.
    pub fn slot_of_side(self, side: ComparedSide) -> &'static Slot<Range> {
        let (address, queries) = (self.address(), self.queries());
        match address.side(side) == address.selection() {
            true => &queries.range,
            false => &queries.sides[side as usize],
        }
    }

    /// Returns what is fetched for the page.
    pub fn fetching(self) -> &'static Fetching {
        &self.0.fetching
    }

    /// Returns whether any trace is loaded.
    pub fn has_data(self) -> bool {
        self.0.has_data.get()
    }

    /// Counts states of the data.
    pub fn generation(self) -> u64 {
        self.0.generation.get()
    }

    /// Returns whether the set that views speak of is a summary, not traces.
    pub fn is_summary(self) -> bool {
        let group = self.address().group();
        self.is_summary_set(group)
    }

    /// Returns a text about the requests in sight under the line that says of what traces they are, as the binary writes it.
    pub fn with_scope(self, text: &str) -> String {
        let facts = self.queries().range.fresh();
        let lines = facts.map(|of| reading::words::scope_lines(&of.facts));
        reading::words::under_scope(&lines.unwrap_or_default(), text)
    }

    /// Returns what a view needs that is not loaded, in a sentence.
    pub fn lacks(self, view: View) -> Option<&'static str> {
        let sums = self.has_summary();
        let is_cut = |side| !self.address().side(side).range.is_all();
        if sums && view == View::Compare && self.compares_sets() && ComparedSide::BOTH.into_iter().any(is_cut)
        {
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
    pub fn pool(self) -> &'static PagePool {
        &self.0.pool
    }

    /// Workers in the pool.
    pub fn workers(self) -> usize {
        self.0.pool.workers()
    }

    /// Returns the bytes of wasm memory of all workers.
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
        // Among linked traces it has a place that is known once they are there.
        let Some(shown) = self.shown() else { return };
        let Some(index) = shown.index_of(&span.trace_id, span.index) else { return };
        let focus = self.0.focus.borrow().clone();
        if focus == Focus::Nothing && trace.span_id.as_ref() == Some(&span.span_id) {
            self.set_focus(Focus::Span(index));
        } else if focus == Focus::Span(index) && !span.span_id.is_empty() {
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
        self.put(Box::new(change), Step::OfPlace);
    }

    /// Changes what is shown as a step of the history, whatever it changes: for what a click does that is else typed.
    pub fn step(self, change: impl FnOnce(&mut Address)) {
        self.put(Box::new(change), Step::Always);
    }

    /// Completes what the address says: never a step of the history.
    pub fn amend(self, change: impl FnOnce(&mut Address)) {
        self.put(Box::new(change), Step::Never);
    }

    fn put(self, change: Box<dyn FnOnce(&mut Address) + '_>, step: Step) {
        let before = self.0.address.borrow().clone();
        let mut after = before.clone();
        change(&mut after);
        if after == before {
            return;
        }
        let is_step = match step {
            Step::Always => true,
            Step::OfPlace => after.is_step_from(&before),
            Step::Never => false,
        };
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
        self.show(after);
    }

    /// Shows what an address says. Where another tag says weights, all is read again.
    fn show(self, address: Address) {
        let before = self.0.address.replace(address);
        if self.address().weight_key != before.weight_key {
            self.read_again();
        }
        self.refresh();
    }

    /// Follows the address after back, forward, or a fragment typed in.
    pub fn follow_address(self) {
        let mut address = Address::parse(&dom::window().location().hash().unwrap_or_default());
        address.chosen = self.0.address.borrow().chosen.clone();
        if *self.0.address.borrow() != address {
            self.show(address);
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

    /// Opens a trace of a side of a comparison in the timeline, which then speaks of that side.
    pub fn open_trace_of(self, side: ComparedSide, choice: TraceChoice) {
        self.change(|address| {
            if address.side(side).group != address.group() {
                address.speak_of(side);
            }
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
            if crate::broken::is_broken() {
                return;
            }
            self.0.update_due.set(false);
            self.follow_span();
            (self.0.hooks.ask)(self);
            self.publish_failures();
            let mut parts = self.0.parts.borrow_mut();
            parts.iter_mut().for_each(|(_, part)| part.update(self));
            parts.iter_mut().for_each(|(_, part)| part.fit(self));
            drop(parts);
            (self.0.hooks.fit)();
            self.publish_state();
        });
    }

    /// Hands a command to the first part that takes it.
    pub fn command(self, command: KeyCommand) -> bool {
        !crate::broken::is_broken()
            && self.0.parts.borrow_mut().iter_mut().any(|(_, part)| part.command(self, command))
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

    /// Handles an event of the pool.
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
            PoolEvent::WillNotFit(forecast) => {
                self.0.load.borrow_mut().forecast = Some(forecast);
                self.data_changed();
            }
            PoolEvent::Loaded(outcome) => {
                let is_one = {
                    let mut load = self.0.load.borrow_mut();
                    load.running = false;
                    load.progress = None;
                    load.forecast = None;
                    load.last_traces = outcome.reports.iter().map(|report| report.traces).sum();
                    outcome.reports.iter().cloned().for_each(|report| load.accounts.add(report));
                    load.last_traces == 1 && load.inputs_before == 0
                };
                self.data_changed();
                // Of one trace there is nothing to rank or compare: what one wants to see is that trace.
                if is_one && self.address().view == View::default() && self.address().comparison.is_none() {
                    self.amend(|address| address.view = View::Trace);
                }
                outcome.errors.into_iter().for_each(|error| self.fail(error));
                file_errors(&outcome.reports).into_iter().for_each(|error| self.fail(error));
            }
            PoolEvent::WorkerLost { name, reason } => self.fail(UserError {
                message: "A worker ended and was replaced; what it held is read again.".to_owned(),
                detail: if name.is_empty() { reason } else { format!("{name}: {reason}") },
                next_step: "If this repeats, load fewer files at once.".to_owned(),
            }),
            PoolEvent::Failed(error) => {
                let mut load = self.0.load.borrow_mut();
                (load.running, load.last_traces) = (false, 0);
                drop(load);
                self.0.generation.set(self.0.generation.get() + 1);
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

    /// Returns what the timeline shows; `None` while that is not known.
    pub fn shown(self) -> Option<ShownTrace> {
        let beside = self.shown_trace().map(|trace| trace.beside).unwrap_or_default();
        ShownTrace::of(self.queries(), beside)
    }

    /// Returns how slow each span of the timeline is among those like it; `None` while that is not known, and of several traces.
    pub fn span_ranks(self) -> Rc<Option<Vec<LikeRank>>> {
        let is_alone = self.shown_trace().is_some_and(|trace| trace.is_alone());
        self.queries().among_like.fresh().filter(|_| is_alone).unwrap_or_default()
    }

    /// Returns the trace the timeline shows: that of the address, else the slowest of the percentile range.
    pub fn shown_trace(self) -> Option<TraceChoice> {
        if let Some(trace) = &self.0.address.borrow().trace {
            return Some(trace.clone());
        }
        let requests = self.0.queries.requests.get()?;
        let slowest = requests.rows.first()?;
        Some(TraceChoice {
            trace_id: slowest.trace_id.clone(),
            root_span_id: Some(slowest.root_span_id.clone()).filter(|id| !id.is_empty()),
            ..TraceChoice::default()
        })
    }

    /// Makes the form of a filter suggest the values of this tag; empty: of none.
    pub fn suggest_values_of(self, key: &str) {
        self.0.suggested_key.replace(key.to_owned());
    }

    /// Returns the tag whose values are suggested.
    pub fn suggested_key(self) -> String {
        self.0.suggested_key.borrow().clone()
    }

    /// Returns which requests a view speaks of: root endpoint, percentile range, filters.
    pub fn selection_label(self) -> String {
        self.address().selection_label()
    }

    /// Says why a view has nothing to show, by what the percentile range holds.
    pub fn why_empty(self) -> String {
        let report = self.queries().range.get();
        report.map(|report| self.address().why_empty(&report.facts)).unwrap_or_default()
    }

    /// Publishes the page's state for style and tests: `empty`, `loading` or `ready`; `data-busy` while any query runs.
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
        let busy = queries.slots.is_waiting(self.generation());
        let _ = root.set_attribute("data-state", state);
        let _ = root.set_attribute("data-busy", if busy { "true" } else { "false" });
    }
}
