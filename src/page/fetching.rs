//! Fetches traces: follows the address, asks before it goes to a foreign origin, and keeps the state of the fetch.

use crate::dom;
use crate::fetch::{End, Fetch, FetchEvent, FetchJob, FileGrowth, Leads, tail};
use crate::page::Page;
use crate::pool::Input;
use crate::settings::{self, DIALECT, Store, TENANT};
use pathlight_backend::growth::Taken;
use pathlight_backend::source::{DEMO, FetchSource, TraceSearch, Wanted};
use pathlight_backend::{
    Caller, Connection, Dialect, FetchPlan, FetchProgress, FetchTrouble, Lost, Tenant, Trouble, trace_name,
};
use pathlight_view::address::Address;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::views::View;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;
use web_sys::Url;

/// Traces of the last seconds are not searched for yet, in microseconds: their spans are on the way.
const ARRIVING_US: u64 = 10_000_000;
/// Greatest delay of the spans of a trace, in microseconds: once that has passed, it is searched for again. A
/// request exports its root last, and clocks differ.
const LATE_US: u64 = 300_000_000;
/// Longest silence of a search that follows before it is given up, in milliseconds.
const SILENT_MS: f64 = 300_000.0;
/// Interval of a search that follows where the address does not say, in seconds.
pub const EVERY_S: u32 = 30;

/// Shortest time between two reports of progress to the page, in milliseconds.
const TELL_MS: f64 = 100.0;

/// The phase of a fetch.
#[derive(Clone, Default)]
pub enum Phase {
    /// Nothing is fetched.
    #[default]
    Idle,
    /// The user has to allow that these origins are asked.
    AwaitingConsent(Vec<String>),
    /// Under way.
    Running,
    /// It did not even begin, or came to nothing.
    Failed(FetchTrouble),
    /// The fetch has ended.
    Ended(End),
}

/// Fetches of the page; cloning shares them.
#[derive(Clone, Default)]
pub struct Fetching(Rc<Inner>);

#[derive(Default)]
struct Inner {
    phase: RefCell<Phase>,
    /// Counts changes of the phase.
    revision: Cell<u64>,
    /// Source of the last fetch, or of the one that runs.
    source: RefCell<FetchSource>,
    /// Traces that the last fetch is about, if that were linked ones; the address does not say them.
    linked: RefCell<Option<BTreeSet<String>>>,
    fetch: RefCell<Option<Fetch>>,
    /// Time of the last report of progress to the page, in milliseconds.
    reported_ms: Cell<f64>,
    /// It goes besides what was loaded before.
    adds: Cell<bool>,
    /// Foreign origins the user has agreed to, until the page is closed.
    agreed: RefCell<BTreeSet<String>>,
    /// Origins that the user lets lead to others by redirects.
    leads: Leads,
    /// The dialect understood at whole base addresses.
    dialects: RefCell<BTreeMap<String, Dialect>>,
    /// The state of following.
    live: Live,
    /// An origin, and what goes with requests to it; in memory only, but for a tenant that is to be remembered.
    caller: RefCell<Option<(String, Caller)>>,
}

/// State of following: the page looks for new traces from time to time.
#[derive(Default)]
struct Live {
    /// Counts beginnings and ends; a loop of an earlier number ends.
    run: Cell<u32>,
    is_on: Cell<bool>,
    is_paused: Cell<bool>,
    /// The search that is under way.
    fetch: RefCell<Option<Fetch>>,
    /// Time when it was heard of last, in milliseconds.
    heard_ms: Cell<f64>,
    looks: Cell<u32>,
    /// Reason why the last look came to nothing.
    trouble: RefCell<Option<FetchTrouble>>,
    /// The end of what was searched so far, in microseconds since the epoch.
    searched_us: Cell<u64>,
    /// The end of what was searched again, later than spans come.
    searched_again_us: Cell<u64>,
    /// What was taken of each file.
    taken: RefCell<BTreeMap<String, Taken>>,
    /// The name of a file in whose place another has come.
    replaced: RefCell<Option<String>>,
}

impl Live {
    /// Ends what is under way. Returns the number of the next run.
    fn end(&self) -> u32 {
        self.give_up();
        self.run.set(self.run.get() + 1);
        self.run.get()
    }

    fn give_up(&self) {
        if let Some(fetch) = self.fetch.take() {
            fetch.cancel();
        }
    }

    /// Notes that a search goes on from here.
    fn searched(&self, end_us: u64) {
        self.searched_us.set(end_us);
        self.searched_again_us.set(end_us.saturating_sub(LATE_US));
    }
}

impl Fetching {
    /// Returns the frame that it stands in.
    pub fn phase(&self) -> Phase {
        self.0.phase.borrow().clone()
    }

    /// Counts changes of the phase.
    pub fn revision(&self) -> u64 {
        self.0.revision.get()
    }

    /// Returns whether something is being fetched.
    pub fn is_running(&self) -> bool {
        matches!(*self.0.phase.borrow(), Phase::Running)
    }

    /// Returns how far it is, and the bytes that came.
    pub fn progress(&self) -> (FetchProgress, u64) {
        self.0.fetch.borrow().as_ref().map(Fetch::progress).unwrap_or_default()
    }

    /// Returns the connection to the query service, for explanations.
    pub fn connection(&self, page: Page) -> Connection {
        let api = page.address().source.api.clone();
        let base = api.as_deref().and_then(|api| resolve(api).ok()).or(api).unwrap_or_default();
        self.connection_to(base)
    }

    /// Returns the whole base address of the page's Jaeger, if it has one and the user may be sent there. What Tempo
    /// or a data source of Grafana answers for has no pages of Jaeger UI.
    pub fn jaeger(&self, page: Page) -> Option<String> {
        let base = resolve(page.address().source.api.as_deref()?).ok()?;
        let has_ui = self.dialect(&base) != Some(Dialect::Tempo) && !base.contains("/api/datasources/");
        (has_ui && self.has_agreed(&base)).then_some(base)
    }

    /// Returns whether this whole address may be asked: it is the page's own, or the user has agreed to its origin.
    pub fn has_agreed(&self, url: &str) -> bool {
        origin(url).is_some_and(|origin| origin == page_origin() || self.0.agreed.borrow().contains(&origin))
    }

    /// Remembers that the user agrees to the origin of a whole address.
    pub fn agree(&self, url: &str) {
        self.0.agreed.borrow_mut().extend(origin(url));
    }

    /// Returns the dialect that was understood at a whole base address, now or in an earlier visit.
    pub fn dialect(&self, base: &str) -> Option<Dialect> {
        let known = self.0.dialects.borrow().get(base).copied();
        known.or_else(|| Dialect::of_name(&settings::get(Store::Browser, &format!("{DIALECT}{base}"))?))
    }

    /// Remembers the dialect that was understood at a whole base address.
    pub fn learn(&self, base: &str, dialect: Dialect) {
        // The one that is tried first anyway needs no memory.
        let name = if dialect == Dialect::default() { "" } else { dialect.name() };
        settings::put(Store::Browser, &format!("{DIALECT}{base}"), name);
        self.0.dialects.borrow_mut().insert(base.to_owned(), dialect);
    }

    /// Returns what goes with requests to a whole address.
    pub fn caller(&self, url: &str) -> Caller {
        let Some(place) = origin(url) else { return Caller::default() };
        let caller = self.0.caller.borrow();
        match caller.as_ref().filter(|(of, _)| *of == place) {
            Some((_, caller)) => caller.clone(),
            None => Caller { token: None, tenants: self.remembered_tenant(url).into_iter().collect() },
        }
    }

    /// Sets what goes with requests to a whole address. The tenant is remembered over visits only where that is asked for.
    pub fn set_caller(&self, url: &str, caller: Caller, is_remembered: bool) {
        let Some(place) = origin(url) else { return };
        let kept = caller.tenants.first().filter(|_| is_remembered);
        let kept = kept.map(|tenant| format!("{}: {}", tenant.header(), tenant.name()));
        settings::put(Store::Browser, &format!("{TENANT}{place}"), &kept.unwrap_or_default());
        self.0.caller.replace(Some((place, caller)));
    }

    /// Returns the tenant that is remembered for a whole address.
    pub fn remembered_tenant(&self, url: &str) -> Option<Tenant> {
        Tenant::parse(&settings::get(Store::Browser, &format!("{TENANT}{}", origin(url)?))?)
    }

    /// Returns whether the page looks for what is new, or does so again when it is no longer paused.
    pub fn is_following(&self) -> bool {
        self.0.live.is_on.get()
    }

    /// Returns whether following is paused.
    pub fn is_paused(&self) -> bool {
        self.0.live.is_paused.get()
    }

    /// Returns how often the page has looked, and why the last look came to nothing if it did.
    pub fn looks(&self) -> (u32, Option<FetchTrouble>) {
        (self.0.live.looks.get(), self.0.live.trouble.borrow().clone())
    }

    /// Returns the name of a file that is followed, if another has come in its place.
    pub fn replaced(&self) -> Option<String> {
        self.0.live.replaced.borrow().clone()
    }

    /// Returns the origins that may lead to others by redirects.
    pub fn leads(&self) -> &Leads {
        &self.0.leads
    }

    /// Lets an address lead to another server, and asks again.
    pub fn follow_redirects(&self, page: Page, url: &str) {
        self.0.leads.allow(url);
        match self.is_following() {
            true => self.follow_on(page),
            false => self.retry(page),
        }
    }

    /// Pauses following, or goes on.
    pub fn pause(&self, page: Page, is_paused: bool) {
        self.0.live.is_paused.set(is_paused);
        self.0.live.end();
        self.set(page, self.phase());
        if !is_paused {
            self.follow_on(page);
        }
    }

    /// Follows a search that was made once.
    pub fn follow_search(&self, page: Page) {
        if let Wanted::Search(search) = &page.address().source.wanted {
            self.0.live.searched(search.end_us.unwrap_or_default().saturating_sub(ARRIVING_US));
        }
        page.change(|address| address.source.every_s = Some(EVERY_S));
        self.0.source.replace(page.address().source.clone());
        self.follow_on(page);
        self.set(page, self.phase());
    }

    /// Ends following, for good: the address no longer says it.
    pub fn stop_following(&self, page: Page) {
        let phase = self.phase();
        page.change(|address| address.source.every_s = None);
        self.cancel(page);
        self.set(page, phase);
    }

    /// Follows again what the address says, all of which is loaded.
    pub fn resume(&self, page: Page) {
        let mut source = page.address().source.clone();
        if source.every_s.is_some() && !source.is_demo() && self.job(page, &mut source).is_some() {
            if self.0.live.searched_us.get() == 0 {
                self.0.live.searched(now_us());
            }
            self.follow_on(page);
            self.set(page, Phase::Ended(End::default()));
        }
    }

    /// Looks for what is new now and then as often as the address says.
    fn follow_on(&self, page: Page) {
        let Some(every_s) = page.address().source.every_s else { return };
        let run = self.0.live.end();
        self.0.live.is_on.set(true);
        let fetching = self.clone();
        spawn_local(async move {
            let live = &fetching.0.live;
            while live.run.get() == run && !live.is_paused.get() {
                let is_looking = live.fetch.borrow().is_some();
                if is_looking && js_sys::Date::now() - live.heard_ms.get() > SILENT_MS {
                    live.give_up();
                    let connection = fetching.connection(page);
                    fetching.looked(page, Some(Trouble::Lost(Lost::Broken).explain(&connection)));
                } else if !is_looking && !page.loading().running {
                    fetching.look(page, run).await;
                }
                dom::pause(every_s as i32 * 1000).await;
            }
        });
    }

    /// Fetches what is new, besides what is loaded.
    async fn look(&self, page: Page, run: u32) {
        let live = &self.0.live;
        let source = page.address().source.clone();
        let mut first_trouble = None;
        for text in source.files.iter().filter(|text| *text != DEMO) {
            let Ok(url) = resolve(text) else { continue };
            let name = url.rsplit('/').next().unwrap_or(&url).to_owned();
            let mut has_more = true;
            while has_more {
                let mut taken = live.taken.borrow().get(&url).cloned().unwrap_or_default();
                let came = tail(&url, &mut taken, &self.0.leads).await;
                if live.run.get() != run {
                    return;
                }
                live.taken.borrow_mut().insert(url.clone(), taken);
                match came {
                    Ok(FileGrowth::Added(blob, more)) => {
                        has_more = more;
                        if let Some(blob) = blob {
                            page.load(vec![Input { name: name.clone(), blob }]);
                        }
                    }
                    Ok(FileGrowth::Replaced) => {
                        live.replaced.replace(Some(name.clone()));
                    }
                    Err(trouble) => {
                        first_trouble.get_or_insert(trouble.explain(&self.connection_to(url.clone())));
                        has_more = false;
                    }
                }
            }
        }
        let Wanted::Search(mut search) = source.wanted else { return self.looked(page, first_trouble) };
        let connection = self.connection(page);
        let until_us = now_us().saturating_sub(ARRIVING_US);
        let is_again = until_us.saturating_sub(live.searched_again_us.get()) >= 2 * LATE_US;
        let from_us = if is_again { live.searched_again_us.get() } else { live.searched_us.get() };
        if until_us <= from_us {
            return self.looked(page, first_trouble);
        }
        // All of them: what one look leaves out, no later one finds.
        search.limit = Some(u32::MAX);
        let from_us = search.start_us.map_or(from_us, |start_us| start_us.min(until_us).max(from_us));
        (search.start_us, search.end_us) = (Some(from_us), Some(until_us));
        let plan = match FetchPlan::new(&connection.base, &Wanted::Search(search), now_us()) {
            Ok(plan) => Some(plan.speaking(self.dialect(&connection.base))),
            Err(trouble) => return self.looked(page, Some(trouble.explain(&connection))),
        };
        live.heard_ms.set(js_sys::Date::now());
        let fetching = self.clone();
        let leads = self.0.leads.clone();
        let job = FetchJob { connection, plan, files: Vec::new(), leads };
        let fetch = Fetch::start(job, move |event| {
            let live = &fetching.0.live;
            if live.run.get() != run {
                return;
            }
            live.heard_ms.set(js_sys::Date::now());
            match event {
                FetchEvent::Input(input) => page.load(vec![input]),
                FetchEvent::Moved => {}
                FetchEvent::Ended(End { outcome, .. }) => {
                    live.fetch.take();
                    let trouble =
                        outcome.trouble.as_ref().or(outcome.failed.first().map(|(_, trouble)| trouble));
                    if trouble.is_none() {
                        live.searched_us.set(until_us);
                        if is_again {
                            live.searched_again_us.set(until_us - LATE_US);
                        }
                    }
                    let trouble = trouble.map(|trouble| trouble.explain(&fetching.connection(page)));
                    fetching.looked(page, first_trouble.clone().or(trouble));
                }
            }
        });
        live.fetch.replace(Some(fetch));
    }

    /// Notes how a look ended.
    fn looked(&self, page: Page, trouble: Option<FetchTrouble>) {
        self.0.live.looks.set(self.0.live.looks.get() + 1);
        self.0.live.trouble.replace(trouble);
        page.refresh();
    }

    /// Fetches what the address says, unless that was fetched before.
    pub fn follow(&self, page: Page) {
        let source = page.address().source.clone();
        if source.wants_something() && source != *self.0.source.borrow() {
            self.start(page, false);
        }
    }

    /// Fetches what the address says, after asking if need be; with `adds`, besides what is loaded.
    pub fn start(&self, page: Page, adds: bool) {
        self.cancel(page);
        self.0.linked.take();
        self.0.adds.set(adds);
        if page.address().source.is_demo() {
            if page.has_data() && !adds {
                page.make_way();
            }
            return page.load_demo();
        }
        let mut source = page.address().source.clone();
        let follows = source.clone();
        let Some(job) = self.job(page, &mut source) else { return };
        if source.every_s.is_some() {
            if let Wanted::Search(search) = &source.wanted {
                self.0.live.searched(search.end_us.unwrap_or_default());
            }
            // What follows has no end.
            source = follows;
        }
        self.0.live.taken.take();
        self.0.live.replaced.take();
        // From now on the address says what was really asked.
        page.amend(|address| address.source = source.clone());
        self.0.source.replace(source);
        if page.has_data() && !adds {
            page.make_way();
        }
        let fetching = self.clone();
        let fetch = Fetch::start(job, move |event| fetching.hear(page, event));
        self.0.fetch.replace(Some(fetch));
        self.set(page, Phase::Running);
    }

    /// Fetches traces by their ids besides what is loaded: those that spans link to.
    pub fn fetch_linked(&self, page: Page, trace_ids: BTreeSet<String>) {
        let (connection, wanted) = (self.connection(page), Wanted::Traces(trace_ids.clone()));
        let plan = match FetchPlan::new(&connection.base, &wanted, now_us()) {
            Ok(plan) => plan.speaking(self.dialect(&connection.base)),
            Err(trouble) => return self.fail(page, &trouble, &connection),
        };
        if let Some(fetch) = self.0.fetch.take() {
            fetch.cancel();
        }
        self.0.linked.replace(Some(trace_ids));
        let leads = self.0.leads.clone();
        let job = FetchJob { connection, plan: Some(plan), files: Vec::new(), leads };
        let fetching = self.clone();
        let fetch = Fetch::start(job, move |event| fetching.hear(page, event));
        self.0.fetch.replace(Some(fetch));
        self.set(page, Phase::Running);
    }

    /// Returns what the last fetch was asked for: what the address says, or linked traces.
    pub fn wanted(&self, page: Page) -> Wanted {
        let linked = self.0.linked.borrow().clone();
        linked.map_or_else(|| page.address().source.wanted.clone(), Wanted::Traces)
    }

    /// Returns what is to be done for a source; completes it. Without an answer the phase says why.
    fn job(&self, page: Page, source: &mut FetchSource) -> Option<FetchJob> {
        if let Wanted::Search(search) = &mut source.wanted {
            complete(search, source.every_s.map_or(0, |_| ARRIVING_US));
        }
        let mut urls = Vec::new();
        let api = source.api.as_ref().filter(|_| source.wanted != Wanted::Nothing);
        let files = source
            .files
            .iter()
            .filter(|text| *text != DEMO)
            .map(|text| resolve(text).map_err(|_| Trouble::Source(text.clone())));
        for url in api.map(|text| resolve(text)).into_iter().chain(files) {
            match url {
                Ok(url) => urls.push(url),
                Err(trouble) => {
                    self.fail(page, &trouble, &Connection::default());
                    return None;
                }
            }
        }
        let foreign = urls.iter().filter(|url| !self.has_agreed(url)).filter_map(|url| origin(url));
        let foreign: BTreeSet<String> = foreign.collect();
        if !foreign.is_empty() {
            self.set(page, Phase::AwaitingConsent(foreign.into_iter().collect()));
            return None;
        }
        let mut files = urls.split_off(api.map_or(0, |_| 1));
        if source.every_s.is_some() {
            // Following reads them from their start.
            files.clear();
        }
        let connection = self.connection_to(urls.pop().unwrap_or_default());
        let plan = if source.wanted == Wanted::Nothing {
            None
        } else {
            match FetchPlan::new(&connection.base, &source.wanted, now_us()) {
                Ok(plan) => Some(plan.speaking(self.dialect(&connection.base))),
                Err(trouble) => {
                    self.fail(page, &trouble, &connection);
                    return None;
                }
            }
        };
        Some(FetchJob { connection, plan, files, leads: self.0.leads.clone() })
    }

    fn hear(&self, page: Page, event: FetchEvent) {
        match event {
            FetchEvent::Input(input) => {
                let side = compared_side(&page.address(), &input.name);
                match side {
                    Some(side) => page.load_fetched_side(input, side),
                    None => page.load(vec![input]),
                }
            }
            FetchEvent::Moved => {
                let now_ms = js_sys::Date::now();
                if now_ms - self.0.reported_ms.get() >= TELL_MS {
                    self.0.reported_ms.set(now_ms);
                    page.refresh();
                }
            }
            FetchEvent::Ended(end) => {
                let connection = self.connection(page);
                if let Some(dialect) = end.dialect {
                    self.learn(&connection.base, dialect);
                }
                match &end.outcome.trouble {
                    Some(trouble) => self.fail(page, trouble, &connection),
                    None => {
                        self.set(page, Phase::Ended(end));
                        self.follow_on(page);
                    }
                }
            }
        }
    }

    /// Remembers that the user agrees to the origins named, and starts.
    pub fn agree_and_start(&self, page: Page) {
        if let Phase::AwaitingConsent(origins) = self.phase() {
            origins.iter().for_each(|origin| self.agree(origin));
            self.start(page, false);
        }
    }

    /// Asks again for what failed.
    pub fn retry(&self, page: Page) {
        let fetch = self.0.fetch.borrow().clone();
        match (self.phase(), fetch) {
            (Phase::Ended(_), Some(fetch)) => {
                self.set(page, Phase::Running);
                fetch.retry();
            }
            (Phase::Failed(_), _) if self.0.linked.borrow().is_some() => {
                let linked = self.0.linked.borrow().clone();
                linked.into_iter().for_each(|linked| self.fetch_linked(page, linked));
            }
            _ => self.start(page, self.0.adds.get()),
        }
    }

    /// Ends it; what came stays, and is not fetched again before the address names something else.
    pub fn cancel(&self, page: Page) {
        if let Some(fetch) = self.0.fetch.take() {
            fetch.cancel();
        }
        let live = &self.0.live;
        live.end();
        live.is_on.set(false);
        live.is_paused.set(false);
        self.0.source.replace(page.address().source.clone());
        self.set(page, Phase::Idle);
    }

    /// Ends it and forgets that anything was fetched.
    pub fn forget(&self, page: Page) {
        self.cancel(page);
        self.0.source.take();
    }

    fn fail(&self, page: Page, trouble: &Trouble, connection: &Connection) {
        self.set(page, Phase::Failed(trouble.explain(connection)));
    }

    fn set(&self, page: Page, phase: Phase) {
        self.0.phase.replace(phase);
        self.0.revision.set(self.0.revision.get() + 1);
        page.refresh();
    }

    /// Returns the connection to a whole base address.
    pub fn connection_to(&self, base: String) -> Connection {
        let caller = self.caller(&base);
        Connection { base, page_origin: page_origin(), caller }
    }
}

/// Returns the whole address of what was written into the page's address or a field, without a slash at its end.
///
/// # Errors
/// It is no address, or none of the web.
pub fn resolve(text: &str) -> Result<String, Trouble> {
    let wrong = || Trouble::Base(text.to_owned());
    let page = dom::document().base_uri().ok().flatten().unwrap_or_default();
    let url = Url::new_with_base(text.trim(), &page).map_err(|_| wrong())?;
    if !matches!(url.protocol().as_str(), "http:" | "https:") {
        return Err(wrong());
    }
    url.set_hash("");
    Ok(url.href().trim_end_matches('/').to_owned())
}

/// Returns the scheme, host and port of a whole address.
pub fn origin(url: &str) -> Option<String> {
    Url::new(url).ok().map(|url| url.origin())
}

/// Returns the page's own origin; `null` for a file or in a sandboxed frame, which makes every other one foreign.
pub fn page_origin() -> String {
    js_sys::Reflect::get(&dom::window(), &"origin".into())
        .ok()
        .and_then(|origin| origin.as_string())
        .unwrap_or_default()
}

/// Returns the side that a fetched trace is of, where the address has two traces compared: the first that it names is A.
fn compared_side(address: &Address, name: &str) -> Option<ComparedSide> {
    let Wanted::Traces(ids) = &address.source.wanted else { return None };
    let first = address.trace.as_ref().filter(|_| ids.len() == 2 && address.view == View::Compare)?;
    let is_first = *name == trace_name(&first.trace_id);
    Some(if is_first { ComparedSide::A } else { ComparedSide::B })
}

/// Writes the times into a search without them, so that a link to it finds the same; it ends so long ago.
fn complete(search: &mut TraceSearch, arriving_us: u64) {
    const HOUR_US: u64 = 3_600_000_000;
    let end_us = *search.end_us.get_or_insert_with(|| now_us().saturating_sub(arriving_us));
    search.start_us.get_or_insert(end_us.saturating_sub(HOUR_US));
}

/// Microseconds since the epoch.
pub fn now_us() -> u64 {
    js_sys::Date::now() as u64 * 1000
}
