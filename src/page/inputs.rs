//! The traces that are loaded: taking more in, the way back, letting go of it.

use super::{Load, Page};
use crate::page::files;
use crate::pool::Input;
use crate::settings::{self, Store};
use pathlight_backend::source::Wanted;
use pathlight_engine::pool::UserError;
use pathlight_ingest::{KeptTraces, Mapping, ReadRules};
use pathlight_view::address::Address;
use pathlight_view::address::comparing::{ComparedSide, set_name};
use pathlight_view::address::sharing::NAMES_KEPT;
use pathlight_view::export::saved::{self, ExportRedaction};
use pathlight_view::guess;
use pathlight_view::reading::intake::Intake;
use pathlight_view::say::selection::range_words;

/// What the traces of a saved report are called.
pub const REPORT: &str = "this report";
/// Keys of the address of a saved report that say what its sets were called.
pub const SIDE_NAMES: [&str; 2] = ["nameA", "nameB"];

/// Inputs that were loaded before a change, to undo it.
#[derive(Clone)]
pub struct Undo {
    /// Tells it from others.
    pub number: u32,
    /// The change in words.
    pub words: String,
    /// The address of the page before the change.
    pub address: Address,
    /// Inputs that were loaded, with the group of each.
    pub inputs: Vec<(Input, u8)>,
    /// Number of the inputs that a person opened.
    pub opened: usize,
    /// The names that a reload would ask for.
    pub names: String,
}

/// Returns inputs with their group, set A's first.
fn by_group(inputs: &[(Input, u8)]) -> [(Vec<Input>, u8); 2] {
    [0, 1].map(|group| {
        let of_group = inputs.iter().filter(|(_, of)| *of == group);
        (of_group.map(|(input, _)| input.clone()).collect(), group)
    })
}

impl Page {
    /// Opens again what was open before a reload.
    pub async fn open_again(self) {
        let Some((inputs, missing)) = files::again().await else { return };
        self.reopen(inputs, &missing);
        if !missing.is_empty() {
            self.fail(UserError {
                message: "Part of what was open could not be read again.".to_owned(),
                detail: missing.join("\n"),
                next_step: "Drop or open these files, if they are still there.".to_owned(),
            });
        }
    }

    /// Reads more data in addition to what is there, into the set that views speak of unless two are compared.
    pub fn load(self, inputs: Vec<Input>) {
        self.load_group(inputs, 0);
    }

    /// Returns what can be done with traces that come now; nothing is asked while there are no others.
    pub fn intakes(self) -> Option<[Intake; 3]> {
        let overview = self.0.queries.overview.get();
        let has_some = overview.as_ref().is_some_and(|overview| overview.traces > 0);
        (has_some || self.0.load.borrow().running).then(|| Intake::choices(self.has_both_sets()))
    }

    /// Returns whether two sets are compared, and both are there.
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
            Intake::Compare => self.load_side(inputs, ComparedSide::B),
            Intake::AddTo(side) => self.load_side(inputs, side),
            Intake::Add if self.compares_sets() => self.load_side(inputs, ComparedSide::A),
            Intake::Add => self.open(inputs),
            Intake::Replace => {
                self.0.fetching.forget(self);
                self.forget_data();
                self.change(|address| {
                    address.source.wanted = Wanted::Nothing;
                    address.source.files.clear();
                    address.trace = None;
                    if address.compares_sets() {
                        address.stop_comparing();
                    }
                });
                self.open(inputs);
            }
        }
    }

    /// Reads what a person opened, besides what is loaded.
    pub fn open(self, inputs: Vec<Input>) {
        self.note_opened(&inputs, 0);
        self.load(inputs);
    }

    /// Reads again what was open before a reload, each into its group; names of what is missing stay for the next time.
    pub fn reopen(self, inputs: Vec<(Input, u8)>, missing: &[String]) {
        if inputs.is_empty() {
            return;
        }
        settings::put(Store::Window, settings::OPENED, &missing.join("\n"));
        for (of_group, group) in by_group(&inputs) {
            self.note_opened(&of_group, group);
            self.load_group(of_group, group);
        }
    }

    /// Remembers what no address can name: a link lacks it, and the start page names it after a reload.
    fn note_opened(self, inputs: &[Input], group: u8) {
        files::remember(inputs, group);
        self.0.load.borrow_mut().opened += inputs.len();
        let before = settings::get(Store::Window, settings::OPENED).unwrap_or_default();
        let names = inputs.iter().map(|input| input.name.as_str());
        let names: Vec<&str> = before.lines().chain(names).take(NAMES_KEPT).collect();
        settings::put(Store::Window, settings::OPENED, &names.join("\n"));
    }

    /// Reads more data into a side; a comparison with a set of its own begins if there is none.
    pub fn load_side(self, inputs: Vec<Input>, side: ComparedSide) {
        self.change(Address::compare_sets);
        let group = self.0.address.borrow().side(side).group;
        self.note_opened(&inputs, group);
        self.load_group(inputs, group);
    }

    /// Reads what the address names into a side of a comparison, which begins if there is none.
    pub fn load_fetched_side(self, input: Input, side: ComparedSide) {
        self.amend(Address::compare_sets);
        let group = self.0.address.borrow().side(side).group;
        self.load_group(vec![input], group);
    }

    /// Returns what a side is called: after the files of its set, or after its percentile range.
    pub fn side_name(self, side: ComparedSide) -> String {
        let selection = self.address().side(side);
        if let Some(name) = self.address().comparison.and_then(|of| of.against.side_name(side)) {
            return name;
        }
        if !self.compares_sets() {
            return range_words(selection.range);
        }
        self.set_name(selection.group).unwrap_or_else(|| "nothing loaded".to_owned())
    }

    /// Returns what a set is called: after its files, or as the saved report says that it comes from; `None` if there is none.
    pub fn set_name(self, group: u8) -> Option<String> {
        let load = self.loading();
        let is_report = |(input, _): &&(Input, u8)| input.name.starts_with(REPORT);
        let files = load.inputs.iter().filter(|input| input.1 == group && !is_report(input));
        let files: Vec<&str> = files.map(|(input, _)| input.name.as_str()).collect();
        let has_report = load.inputs.iter().any(|input| is_report(&input));
        let of_report = || {
            let address = self.address();
            let named = address.unknown.iter().find(|(key, _)| *key == SIDE_NAMES[usize::from(group)]);
            Some(named.map_or_else(|| "saved".to_owned(), |(_, name)| name.clone()))
        };
        set_name(&files).or_else(|| if has_report { of_report() } else { None })
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

    /// Returns the way back from what was done last to what is loaded, while it is offered.
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
        for (of_group, group) in by_group(&undo.inputs) {
            files::remember(&of_group, group);
            self.load_group(of_group, group);
        }
        self.0.fetching.resume(self);
    }

    /// Stops offering the way back.
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

    /// Returns whether sets are compared that were loaded apart.
    pub fn compares_sets(self) -> bool {
        self.0.address.borrow().compares_sets()
    }

    fn load_group(self, inputs: Vec<Input>, group: u8) {
        if inputs.is_empty() {
            return;
        }
        self.keep_grouping();
        self.0.pool.set_rules(self.read_rules());
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

    /// Returns what everything is read by: what people have said of rows, and of weights.
    fn read_rules(self) -> ReadRules {
        let maps = settings::get(Store::Browser, settings::MAPPINGS).unwrap_or_default();
        ReadRules { maps: guess::remembered(&maps), weight_key: self.address().weight_key.clone() }
    }

    /// Reads everything again that is loaded, since it is to be read by something else now.
    pub(super) fn read_again(self) {
        let load = self.loading();
        let (inputs, opened) = (load.inputs.clone(), load.opened);
        drop(load);
        if inputs.is_empty() {
            return;
        }
        self.unload();
        self.0.load.borrow_mut().opened = opened;
        for (of_group, group) in by_group(&inputs) {
            self.load_group(of_group, group);
        }
    }

    /// Has requests stay grouped as they are while more is loaded: views would speak of other request types otherwise. What
    /// is fetched in pieces is grouped once all of it is there.
    fn keep_grouping(self) {
        let fetching = &self.0.fetching;
        let is_part = self.0.load.borrow().running || fetching.is_running() && !fetching.is_following();
        let mut address = self.0.address.borrow_mut();
        if let Some(overview) = self
            .0
            .queries
            .overview
            .get()
            .filter(|overview| overview.traces > 0 && !is_part && address.chosen.is_none())
        {
            address.chosen = Some((address.reading, overview.by.clone()));
        }
    }

    /// Returns everything that is loaded, for a saved report, with the names of summaries; see [`PagePool::columns`].
    ///
    /// # Errors
    /// In words.
    pub async fn columns(self, redaction: &ExportRedaction) -> Result<Vec<(String, web_sys::Blob)>, String> {
        let message = saved::encode_redaction(redaction);
        let columns = self.0.pool.columns(message).await?;
        let mut columns: Vec<_> = columns.into_iter().map(|blob| (String::new(), blob)).collect();
        let load = self.0.load.borrow();
        let is_summary = |name: &str| {
            let mut files = load.files().iter().filter(|file| file.name == name);
            files.any(|file| file.format.split('+').any(|format| format == "summary"))
        };
        for (input, group) in load.inputs.iter().filter(|(input, _)| is_summary(&input.name)) {
            if *group != 0 {
                return Err("A comparison with a summary cannot be saved: stop comparing first.".to_owned());
            }
            if !redaction.0.is_nothing() {
                return Err("A summary can only be saved as it is, with its names.".to_owned());
            }
            // As it is: it is read again as any input is.
            columns.push((input.name.clone(), input.blob.clone()));
        }
        Ok(columns)
    }

    /// Remembers what the fields of rows of a shape are, and reads the input of this name by it.
    pub fn read_by(self, name: &str, shape: &str, mapping: &Mapping) {
        let before = settings::get(Store::Browser, settings::MAPPINGS).unwrap_or_default();
        let text = guess::remember(&before, shape, mapping);
        settings::put(Store::Browser, settings::MAPPINGS, &text);
        let mut load = self.0.load.borrow_mut();
        let Some(place) = load.inputs.iter().position(|(input, _)| input.name == name) else { return };
        let (input, group) = load.inputs.remove(place);
        load.accounts.forget_unread(name);
        drop(load);
        self.load_group(vec![input], group);
    }

    /// Goes on with a load that will not fit, keeping only these of its traces.
    pub fn go_on(self, keep: &KeptTraces) {
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
        settings::put(Store::Window, settings::OPENED, "");
        files::forget();
        self.give_utilisation(None);
        self.unload();
    }

    /// Lets go of all data, which may come again.
    fn unload(self) {
        self.0.pool.clear();
        let next_error = self.0.load.borrow().next_error;
        self.0.load.replace(Load { next_error, ..Load::default() });
        self.0.address.borrow_mut().chosen = None;
        self.forget_answers();
        self.0.has_data.set(false);
        self.refresh();
    }

    /// Forgets all data for what is fetched in its place. The way back to what a person has opened is offered for a while:
    /// the address does not bring it again, and the fetch may fail.
    pub fn make_way(self) {
        if self.0.load.borrow().opened > 0 {
            self.offer_undo("What was open was removed before fetching.".to_owned());
        }
        self.forget_data();
    }

    /// Forgets all data and goes back to the start; the way back is offered for a while.
    pub fn clear(self) {
        self.offer_undo("Everything that was loaded was removed.".to_owned());
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
}
