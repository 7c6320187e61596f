//! What the page fetches: follows the address, asks before it goes to a foreign origin, and keeps the state of the fetch.

use crate::fetch::{End, Event, Fetch, Job};
use crate::ui::dom;
use crate::ui::page::Page;
use crate::ui::shell::file_input::load_demo;
use pathlight_backend::source::{DEMO, Search, Source, Wanted};
use pathlight_backend::{Dialect, Explanation, Place, Plan, Progress, Trouble};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use web_sys::Url;

/// How often the page is told of progress at most, in milliseconds.
const TELL_MS: f64 = 100.0;

/// Where a fetch stands.
#[derive(Clone, Default)]
pub enum Phase {
    /// Nothing is fetched.
    #[default]
    Idle,
    /// The user is asked whether these origins may be asked.
    Queries(Vec<String>),
    /// Under way.
    Running,
    /// It did not even begin, or came to nothing.
    Failed(Explanation),
    /// It has ended.
    Ended(End),
}

/// What is fetched for the page; cloning shares it.
#[derive(Clone, Default)]
pub struct Fetching(Rc<Inner>);

#[derive(Default)]
struct Inner {
    phase: RefCell<Phase>,
    /// Counts changes of the phase.
    revision: Cell<u64>,
    /// What was fetched last, or is being fetched.
    source: RefCell<Source>,
    fetch: RefCell<Option<Fetch>>,
    /// When the page was told of progress last, in milliseconds.
    told_ms: Cell<f64>,
    /// It goes besides what was loaded before.
    adds: Cell<bool>,
    /// Foreign origins the user has agreed to, until the page is closed.
    agreed: RefCell<BTreeSet<String>>,
    /// The dialect understood at whole base addresses.
    dialects: RefCell<BTreeMap<String, Dialect>>,
    /// An origin and the bearer token for it; in memory only.
    token: RefCell<Option<(String, String)>>,
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

    /// Whether something is being fetched.
    pub fn is_running(&self) -> bool {
        matches!(*self.0.phase.borrow(), Phase::Running)
    }

    /// How far it is, and the bytes that came.
    pub fn progress(&self) -> (Progress, u64) {
        self.0.fetch.borrow().as_ref().map(Fetch::progress).unwrap_or_default()
    }

    /// Who is asked, for explanations.
    pub fn place(&self, page: Page) -> Place {
        let api = page.address().source.api.clone();
        let base = api.as_deref().and_then(|api| resolve(api).ok()).or(api).unwrap_or_default();
        self.place_of(base)
    }

    /// The whole base address of the page's Jaeger, if it has one and the user may be sent there. What Tempo or a data
    /// source of Grafana answers for has no pages of Jaeger UI.
    pub fn jaeger(&self, page: Page) -> Option<String> {
        let base = resolve(page.address().source.api.as_deref()?).ok()?;
        let has_ui = self.dialect(&base) != Some(Dialect::Tempo) && !base.contains("/api/datasources/");
        (has_ui && self.has_agreed(&base)).then_some(base)
    }

    /// Whether this whole address may be asked: it is the page's own, or the user has agreed to its origin.
    pub fn has_agreed(&self, url: &str) -> bool {
        origin(url).is_some_and(|origin| origin == page_origin() || self.0.agreed.borrow().contains(&origin))
    }

    /// The user agrees to the origin of a whole address.
    pub fn agree(&self, url: &str) {
        self.0.agreed.borrow_mut().extend(origin(url));
    }

    /// The dialect that was understood at a whole base address.
    pub fn dialect(&self, base: &str) -> Option<Dialect> {
        self.0.dialects.borrow().get(base).copied()
    }

    /// Remembers the dialect that was understood at a whole base address.
    pub fn learn(&self, base: &str, dialect: Dialect) {
        self.0.dialects.borrow_mut().insert(base.to_owned(), dialect);
    }

    /// The bearer token for a whole address.
    pub fn token(&self, url: &str) -> Option<String> {
        let token = self.0.token.borrow();
        token.as_ref().filter(|(of, _)| origin(url).as_ref() == Some(of)).map(|(_, token)| token.clone())
    }

    /// Sets or takes away the bearer token for a whole address.
    pub fn set_token(&self, url: &str, token: &str) {
        let fresh = origin(url).filter(|_| !token.is_empty()).map(|origin| (origin, token.to_owned()));
        self.0.token.replace(fresh);
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
        self.0.adds.set(adds);
        if page.address().source.is_demo() {
            if page.has_data() && !adds {
                page.forget_data();
            }
            return load_demo(page);
        }
        let mut source = page.address().source.clone();
        let Some(job) = self.job(page, &mut source) else { return };
        // From now on the address says what was really asked.
        page.amend(|address| address.source = source.clone());
        self.0.source.replace(source);
        if page.has_data() && !adds {
            page.forget_data();
        }
        let fetching = self.clone();
        let fetch = Fetch::start(job, move |event| fetching.hear(page, event));
        self.0.fetch.replace(Some(fetch));
        self.set(page, Phase::Running);
    }

    /// What is to be done for a source; completes it. Without an answer the phase says why.
    fn job(&self, page: Page, source: &mut Source) -> Option<Job> {
        if let Wanted::Search(search) = &mut source.wanted {
            complete(search);
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
                    self.fail(page, &trouble, &Place::default());
                    return None;
                }
            }
        }
        let foreign = urls.iter().filter(|url| !self.has_agreed(url)).filter_map(|url| origin(url));
        let foreign: BTreeSet<String> = foreign.collect();
        if !foreign.is_empty() {
            self.set(page, Phase::Queries(foreign.into_iter().collect()));
            return None;
        }
        let files = urls.split_off(api.map_or(0, |_| 1));
        let place = self.place_of(urls.pop().unwrap_or_default());
        let plan = if source.wanted == Wanted::Nothing {
            None
        } else {
            match Plan::new(&place.base, &source.wanted, now_us()) {
                Ok(plan) => Some(plan.speaking(self.dialect(&place.base))),
                Err(trouble) => {
                    self.fail(page, &trouble, &place);
                    return None;
                }
            }
        };
        let token = self.token(&place.base);
        Some(Job { place, plan, files, token })
    }

    fn hear(&self, page: Page, event: Event) {
        match event {
            Event::Input(input) => page.load(vec![input]),
            Event::Moved => {
                let now_ms = js_sys::Date::now();
                if now_ms - self.0.told_ms.get() >= TELL_MS {
                    self.0.told_ms.set(now_ms);
                    page.refresh();
                }
            }
            Event::Ended(end) => {
                let place = self.place(page);
                if let Some(dialect) = end.dialect {
                    self.learn(&place.base, dialect);
                }
                match &end.outcome.trouble {
                    Some(trouble) => self.fail(page, trouble, &place),
                    None => self.set(page, Phase::Ended(end)),
                }
            }
        }
    }

    /// The user agrees to the origins named.
    pub fn agree_and_start(&self, page: Page) {
        if let Phase::Queries(origins) = self.phase() {
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
            _ => self.start(page, self.0.adds.get()),
        }
    }

    /// Ends it; what came stays, and is not fetched again before the address names something else.
    pub fn cancel(&self, page: Page) {
        if let Some(fetch) = self.0.fetch.take() {
            fetch.cancel();
        }
        self.0.source.replace(page.address().source.clone());
        self.set(page, Phase::Idle);
    }

    /// Ends it and forgets that anything was fetched.
    pub fn forget(&self, page: Page) {
        self.cancel(page);
        self.0.source.take();
    }

    fn fail(&self, page: Page, trouble: &Trouble, place: &Place) {
        self.set(page, Phase::Failed(trouble.explain(place)));
    }

    fn set(&self, page: Page, phase: Phase) {
        self.0.phase.replace(phase);
        self.0.revision.set(self.0.revision.get() + 1);
        page.refresh();
    }

    /// Who is asked at a whole base address.
    pub fn place_of(&self, base: String) -> Place {
        let has_token = self.token(&base).is_some();
        Place { base, page_origin: page_origin(), has_token }
    }
}

/// The whole address of what was written into the page's address or a field, without a slash at its end.
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

/// Scheme, host and port of a whole address.
fn origin(url: &str) -> Option<String> {
    Url::new(url).ok().map(|url| url.origin())
}

/// The page's own origin; `null` for a file or in a sandboxed frame, which makes every other one foreign.
fn page_origin() -> String {
    js_sys::Reflect::get(&dom::window(), &"origin".into())
        .ok()
        .and_then(|origin| origin.as_string())
        .unwrap_or_default()
}

/// Writes the times into a search without them, so that a link to it finds the same.
fn complete(search: &mut Search) {
    const HOUR_US: u64 = 3_600_000_000;
    let end_us = *search.end_us.get_or_insert_with(now_us);
    search.start_us.get_or_insert(end_us.saturating_sub(HOUR_US));
}

/// Microseconds since the epoch.
pub fn now_us() -> u64 {
    js_sys::Date::now() as u64 * 1000
}
