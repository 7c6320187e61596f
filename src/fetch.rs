//! Drives a [`FetchPlan`] over the network: opens the connections it asks for, hands over what comes.
//!
//! Bodies are looked through as they arrive, a chunk at a time, and kept as Blobs: the page never holds their text.

use super::dom::{self, How, Listener, pause};
use super::page::fetching::{origin, page_origin};
use super::pool::Input;
use js_sys::{Array, Reflect, Uint8Array};
use pathlight_backend::growth::{Documents, Growing, Part, Taken};
use pathlight_backend::{
    Caller, Connection, Dialect, FetchPlan, FetchProgress, FetchStep, Listing, Lost, Outcome, Reply, Scan,
    ServerAnswer, ServerListing, Trouble, retry_after_s,
};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{
    AbortController, AbortSignal, Blob, Headers, ReadableStreamDefaultReader, RequestCache, RequestInit,
    RequestMode, RequestRedirect, Response, ResponseType,
};

/// A fetch to be made.
#[derive(Clone, Debug)]
pub struct FetchJob {
    /// The query service that is asked.
    pub connection: Connection,
    /// Plan of the requests to Jaeger, if there are any.
    pub plan: Option<FetchPlan>,
    /// Absolute addresses of the files to fetch.
    pub files: Vec<String>,
    /// Origins that may lead to others.
    pub leads: Leads,
}

/// An event of a fetch.
pub enum FetchEvent {
    /// Traces came.
    Input(Input),
    /// Something changed: ask for [`Fetch::progress`].
    Moved,
    /// The fetch has ended.
    Ended(End),
}

/// End of a fetch.
#[derive(Clone, Debug, Default)]
pub struct End {
    /// Result of the plan.
    pub outcome: Outcome,
    /// The dialect in which answers came, if any did.
    pub dialect: Option<Dialect>,
    /// Files that could not be fetched.
    pub lost_files: Vec<(String, Trouble)>,
}

/// A fetch under way, or one that has ended and may be retried. Dropping the last clone does not end it.
#[derive(Clone)]
pub struct Fetch(Rc<Inner>);

struct Inner {
    connection: Connection,
    leads: Leads,
    plan: RefCell<Option<FetchPlan>>,
    files: RefCell<Vec<String>>,
    lost_files: RefCell<Vec<(String, Trouble)>>,
    bodies: RefCell<BTreeMap<u32, Blob>>,
    bytes: Cell<u64>,
    /// Of the requests under way; none before the beginning and after the end.
    abort: RefCell<Option<AbortController>>,
    /// The plan has come to its end.
    is_ending: Cell<bool>,
    on_event: Box<dyn Fn(FetchEvent)>,
}

impl Fetch {
    /// Starts to fetch what a job names and returns the fetch; `on_event` gets what happens until its end.
    pub fn start(job: FetchJob, on_event: impl Fn(FetchEvent) + 'static) -> Fetch {
        let fetch = Fetch(Rc::new(Inner {
            connection: job.connection,
            leads: job.leads,
            plan: RefCell::new(job.plan),
            files: RefCell::new(job.files),
            lost_files: RefCell::default(),
            bodies: RefCell::default(),
            bytes: Cell::new(0),
            abort: RefCell::default(),
            is_ending: Cell::new(false),
            on_event: Box::new(on_event),
        }));
        fetch.begin();
        fetch
    }

    /// Asks again for what failed.
    pub fn retry(&self) {
        let lost = self.0.lost_files.take();
        self.0.files.borrow_mut().extend(lost.into_iter().map(|(file, _)| file));
        if let Some(plan) = self.0.plan.borrow_mut().as_mut() {
            plan.retry();
        }
        self.begin();
    }

    /// Ends it without another word; what came stays.
    pub fn cancel(&self) {
        if let Some(abort) = self.0.abort.take() {
            abort.abort();
        }
        self.0.bodies.borrow_mut().clear();
    }

    /// Returns how far it is, and the bytes that came.
    pub fn progress(&self) -> (FetchProgress, u64) {
        let plan = self.0.plan.borrow();
        let progress = plan.as_ref().map(|plan| plan.progress(now_ms())).unwrap_or_default();
        (progress, self.0.bytes.get())
    }

    fn begin(&self) {
        self.0.is_ending.set(false);
        self.0.abort.replace(AbortController::new().ok());
        self.pump();
    }

    fn signal(&self) -> Option<AbortSignal> {
        self.0.abort.borrow().as_ref().map(AbortController::signal)
    }

    /// Does what the plan wants done now.
    fn pump(&self) {
        let Some(signal) = self.signal() else { return };
        loop {
            let now = now_ms();
            let next = self.0.plan.borrow_mut().as_mut().map_or(FetchStep::End, |plan| plan.next(now));
            match next {
                FetchStep::Ask { ticket, url } => {
                    let (fetch, signal) = (self.clone(), signal.clone());
                    spawn_local(async move { fetch.ask(ticket, &url, &signal).await });
                }
                FetchStep::Wait { until_ms } => {
                    if let Some(until) = until_ms {
                        let fetch = self.clone();
                        spawn_local(async move {
                            pause(until.saturating_sub(now).min(600_000) as i32 + 1).await;
                            fetch.pump();
                        });
                    }
                    break;
                }
                FetchStep::End => {
                    if !self.0.is_ending.replace(true) {
                        let fetch = self.clone();
                        spawn_local(async move { fetch.end().await });
                    }
                    break;
                }
            }
        }
        (self.0.on_event)(FetchEvent::Moved);
    }

    async fn ask(&self, ticket: u32, url: &str, signal: &AbortSignal) {
        let moved = |bytes: u64| {
            self.0.bytes.set(self.0.bytes.get() + bytes);
            (self.0.on_event)(FetchEvent::Moved);
        };
        let Inner { connection, leads, .. } = &*self.0;
        let (reply, body) = get(url, connection, leads, signal, moved).await;
        if signal.aborted() {
            return;
        }
        if let Some(plan) = self.0.plan.borrow_mut().as_mut() {
            let is_kept = plan.replied(ticket, &reply, now_ms());
            if let Some(body) = body.filter(|_| is_kept) {
                self.0.bodies.borrow_mut().insert(ticket, body);
            }
        }
        loop {
            let delivery = self.0.plan.borrow_mut().as_mut().and_then(FetchPlan::delivery);
            let Some((ticket, name)) = delivery else { break };
            let body = self.0.bodies.borrow_mut().remove(&ticket);
            if let Some(blob) = body {
                (self.0.on_event)(FetchEvent::Input(Input { name, blob }));
            }
        }
        self.pump();
    }

    /// Fetches the files, then says that all has ended.
    async fn end(&self) {
        // What is still under way is not wanted any more.
        let Some(rest) = self.0.abort.take() else { return };
        rest.abort();
        let Ok(abort) = AbortController::new() else { return };
        let signal = abort.signal();
        self.0.abort.replace(Some(abort));
        for url in self.0.files.take() {
            let moved = |bytes: u64| self.0.bytes.set(self.0.bytes.get() + bytes);
            let page_origin = self.0.connection.page_origin.clone();
            let connection = Connection { base: url.clone(), page_origin, caller: Caller::default() };
            let (reply, body) = get(&url, &connection, &self.0.leads, &signal, moved).await;
            if signal.aborted() {
                return;
            }
            match (reply, body) {
                (Reply::Answer(answer), Some(blob)) if (200..=299).contains(&answer.status) => {
                    let name = url.split(['?', '#']).next().and_then(|path| path.rsplit('/').next());
                    let name = name.filter(|name| !name.is_empty()).unwrap_or(&url).to_owned();
                    (self.0.on_event)(FetchEvent::Input(Input { name, blob }));
                }
                (Reply::Answer(answer), _) => {
                    self.0.lost_files.borrow_mut().push((url, Trouble::NoFile { status: answer.status }));
                }
                (Reply::Lost(lost), _) => self.0.lost_files.borrow_mut().push((url, Trouble::Lost(lost))),
            }
        }
        self.0.abort.take();
        self.0.bodies.borrow_mut().clear();
        let plan = self.0.plan.borrow();
        let outcome = plan.as_ref().map(|plan| plan.outcome().clone()).unwrap_or_default();
        let dialect = plan.as_ref().and_then(FetchPlan::dialect);
        drop(plan);
        let lost_files = self.0.lost_files.borrow().clone();
        (self.0.on_event)(FetchEvent::Ended(End { outcome, dialect, lost_files }));
    }
}

/// Returns the names of services or operations, to choose from, and the dialect they came in.
///
/// # Errors
/// The reason why there is no list.
pub async fn list(
    mut listing: Listing,
    connection: &Connection,
    leads: &Leads,
) -> Result<(Dialect, Vec<String>), Trouble> {
    let Ok(abort) = AbortController::new() else { return Err(Trouble::Lost(Lost::Down)) };
    let mut url = listing.url();
    loop {
        let (reply, body) = get(&url, connection, leads, &abort.signal(), |_| ()).await;
        let text = match body {
            Some(body) => JsFuture::from(body.text()).await.ok().and_then(|text| text.as_string()),
            None => None,
        };
        match listing.replied(&reply, &text.unwrap_or_default()) {
            ServerListing::Ask(next) => url = next,
            ServerListing::Names(names) => return Ok((listing.dialect(), names)),
            ServerListing::Failed(trouble) => return Err(trouble),
        }
    }
}

/// Bytes at the beginning of what came that tell how it may be cut.
const HEAD: f64 = 64.0;
/// Bytes that are looked through at once.
const CHUNK: f64 = 1_048_576.0;
/// Longest duration of a look at a file, in milliseconds.
const TAIL_MS: u32 = 300_000;

/// Result of a look at a file that grows.
pub enum FileGrowth {
    /// These bytes are new, if there are any; with the second, the server has more to give at once.
    Added(Option<Blob>, bool),
    /// Another file stands in its place: the next look begins with its first byte.
    Replaced,
}

/// Returns what was added to a file since it was last looked at, in whole documents.
///
/// # Errors
/// The file cannot be had.
pub async fn tail(url: &str, taken: &mut Taken, leads: &Leads) -> Result<FileGrowth, Trouble> {
    tail_of(url, taken, leads).await.unwrap_or(Err(Trouble::Lost(Lost::Down)))
}

async fn tail_of(
    url: &str,
    taken: &mut Taken,
    leads: &Leads,
) -> Result<Result<FileGrowth, Trouble>, JsValue> {
    let headers = Headers::new()?;
    headers.set("Range", &taken.range())?;
    let options = RequestInit::new();
    options.set_headers(&headers);
    options.set_cache(RequestCache::NoStore);
    options.set_signal(Some(&AbortSignal::timeout_with_u32(TAIL_MS)));
    let Some(response) = leads.fetch(url, &options).await? else {
        return Ok(Err(Trouble::Lost(Lost::Elsewhere)));
    };
    let status = response.status();
    if !matches!(status, 200..=299 | 416) {
        return Ok(Err(Trouble::NoFile { status }));
    }
    let range = response.headers().get("Content-Range")?.unwrap_or_default();
    let blob: Blob = JsFuture::from(response.blob()?).await?.dyn_into()?;
    // A refusal may come with words.
    let bytes = if status == 416 { 0 } else { blob.size() as u64 };
    let part = Part { status, content_range: &range, bytes };
    let placed = match taken.place(part) {
        Some(placed) if placed.is_unmarked() || taken.is_same(&slice(&blob, placed.mark).await?) => placed,
        _ => {
            *taken = Taken::default();
            return Ok(Ok(FileGrowth::Replaced));
        }
    };
    let head = slice(&blob, (placed.new, bytes.min(placed.new + HEAD as u64))).await?;
    let is_still = taken.seen == placed.start + bytes;
    let whole = match Growing::of(&head) {
        Growing::Packed => bytes - placed.new,
        Growing::Other if is_still => bytes - placed.new,
        Growing::Other => 0,
        Growing::Json => {
            let mut documents = Documents::default();
            let mut at = placed.new as f64;
            while at < bytes as f64 {
                documents.feed(&slice(&blob, (at as u64, (at + CHUNK).min(bytes as f64) as u64)).await?);
                at += CHUNK;
            }
            taken.whole(placed, part, &documents)
        }
    };
    let mark = slice(&blob, taken.next_mark(placed, whole)).await?;
    let has_more = taken.take(placed, part, whole, mark);
    let to = (placed.new + whole) as f64;
    let new = (whole > 0).then(|| blob.slice_with_f64_and_f64(placed.new as f64, to)).transpose()?;
    Ok(Ok(FileGrowth::Added(new, has_more)))
}

/// Returns bytes of a Blob, as from and to.
async fn slice(blob: &Blob, (from, to): (u64, u64)) -> Result<Vec<u8>, JsValue> {
    let part = blob.slice_with_f64_and_f64(from as f64, to as f64)?;
    Ok(Uint8Array::new(&JsFuture::from(part.array_buffer()).await?).to_vec())
}

/// Origins that the user lets lead to others by redirects; cloning shares them. A redirect decides who is asked next, and the
/// page asks nobody whom the user has not agreed to.
#[derive(Clone, Debug, Default)]
pub struct Leads(Rc<RefCell<BTreeSet<String>>>);

impl Leads {
    /// Lets the origin of a whole address lead to others, until the page is closed.
    pub fn allow(&self, url: &str) {
        self.0.borrow_mut().extend(origin(url));
    }

    /// Sends a request. `None` if it leads to another server without being allowed to, which was not asked.
    async fn fetch(&self, url: &str, options: &RequestInit) -> Result<Option<Response>, JsValue> {
        let place = origin(url).unwrap_or_default();
        let is_allowed = self.0.borrow().contains(&place);
        if !is_allowed {
            // Redirects within the page's own origin are followed by the browser, which refuses others. Where an answer of
            // another origin leads to, no page gets to know.
            match place == page_origin() {
                true => options.set_mode(RequestMode::SameOrigin),
                false => options.set_redirect(RequestRedirect::Manual),
            }
        }
        let answer = JsFuture::from(dom::window().fetch_with_str_and_init(url, options)).await;
        let response = match answer {
            Ok(answer) => answer.dyn_into::<Response>()?,
            Err(_) if !is_allowed && place == page_origin() && leads_on(url).await => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok((response.type_() != ResponseType::Opaqueredirect).then_some(response))
    }
}

/// Returns whether an address answers with a redirect.
async fn leads_on(url: &str) -> bool {
    let options = RequestInit::new();
    options.set_redirect(RequestRedirect::Manual);
    let answer = JsFuture::from(dom::window().fetch_with_str_and_init(url, &options)).await;
    let answer = answer.ok().and_then(|answer| answer.dyn_into::<Response>().ok());
    answer.is_some_and(|answer| answer.type_() == ResponseType::Opaqueredirect)
}

/// Makes one GET; returns what came of it, and the body. `moved` is called with the bytes of every chunk.
async fn get(
    url: &str,
    connection: &Connection,
    leads: &Leads,
    signal: &AbortSignal,
    moved: impl Fn(u64),
) -> (Reply, Option<Blob>) {
    if is_mixed(url) {
        return (Reply::Lost(Lost::Mixed), None);
    }
    let policy = Watch::policy();
    let response = match request(url, &connection.caller, leads, signal).await {
        Ok(Some(response)) => response,
        Ok(None) => return (Reply::Lost(Lost::Elsewhere), None),
        Err(_) if signal.aborted() => return (Reply::Lost(Lost::Broken), None),
        Err(_) => return (Reply::Lost(why(url, connection, &policy).await), None),
    };
    let header = response.headers().get("Retry-After").ok().flatten();
    let retry_after_s = header.and_then(|header| retry_after_s(&header, 1000 * now_ms()));
    match read(&response, moved).await {
        Ok((body, blob)) => {
            (Reply::Answer(ServerAnswer { status: response.status(), retry_after_s, body }), Some(blob))
        }
        Err(_) => (Reply::Lost(Lost::Broken), None),
    }
}

async fn request(
    url: &str,
    caller: &Caller,
    leads: &Leads,
    signal: &AbortSignal,
) -> Result<Option<Response>, JsValue> {
    let headers = Headers::new()?;
    headers.set("Accept", "application/json")?;
    for (name, value) in caller.headers() {
        headers.set(&name, &value)?;
    }
    let options = RequestInit::new();
    options.set_headers(&headers);
    options.set_signal(Some(signal));
    leads.fetch(url, &options).await
}

/// Reads a body to its end, looking through it.
async fn read(response: &Response, moved: impl Fn(u64)) -> Result<(Scan, Blob), JsValue> {
    let (mut scan, parts) = (Scan::default(), Array::new());
    if let Some(stream) = response.body() {
        let reader: ReadableStreamDefaultReader = stream.get_reader().dyn_into()?;
        loop {
            let chunk = JsFuture::from(reader.read()).await?;
            if Reflect::get(&chunk, &"done".into())?.is_truthy() {
                break;
            }
            let chunk: Uint8Array = Reflect::get(&chunk, &"value".into())?.dyn_into()?;
            scan.feed(&chunk.to_vec());
            moved(chunk.length().into());
            parts.push(&chunk);
        }
    }
    Ok((scan, Blob::new_with_u8_array_sequence(&parts)?))
}

/// Returns why a request came to nothing: browsers do not tell scripts, so it is found out.
async fn why(url: &str, connection: &Connection, policy: &Watch) -> Lost {
    // The report of a policy comes a moment after the failure.
    pause(50).await;
    if policy.has_seen() {
        return Lost::Policy;
    }
    // A login on another origin may not be read; that there is a way to it can be seen.
    if leads_on(url).await {
        return Lost::Login;
    }
    let options = RequestInit::new();
    options.set_mode(RequestMode::NoCors);
    // An answer nobody may read still says that somebody answers.
    let probe = JsFuture::from(dom::window().fetch_with_str_and_init(&connection.base, &options)).await;
    let is_own = format!("{}/", connection.base).starts_with(&format!("{}/", connection.page_origin));
    if probe.is_ok() && !is_own { Lost::Cors } else { Lost::Down }
}

/// Returns whether browsers refuse this address to a page that came safely. Addresses of the own machine count as
/// safe.
fn is_mixed(url: &str) -> bool {
    let page = dom::window().location().protocol().unwrap_or_default();
    let host = url.strip_prefix("http://").and_then(|rest| rest.split(['/', ':']).next());
    page == "https:" && host.is_some_and(|host| !matches!(host, "127.0.0.1" | "localhost" | "[::1]" | "["))
}

/// Watches for connections that the page's policy refuses.
struct Watch {
    seen: Rc<Cell<bool>>,
    _listener: Listener,
}

impl Watch {
    fn policy() -> Watch {
        let seen = Rc::new(Cell::new(false));
        let mark = seen.clone();
        let document = dom::document();
        let how = How::default();
        let listener = dom::listen(&document, "securitypolicyviolation", how, move |_| mark.set(true));
        Watch { seen, _listener: listener }
    }

    fn has_seen(&self) -> bool {
        self.seen.get()
    }
}

/// Milliseconds of the clock of the day: a plan only compares them.
fn now_ms() -> u64 {
    js_sys::Date::now() as u64
}
