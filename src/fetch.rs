//! Drives a [`FetchPlan`] over the network: opens the connections it asks for, hands over what comes.
//!
//! Bodies are looked through as they arrive, a chunk at a time, and kept as Blobs: the page never holds their text.

use super::dom::{self, How, Listener, pause};
use super::pool::Input;
use js_sys::{Array, Reflect, Uint8Array};
use pathlight_backend::{
    Connection, Dialect, FetchPlan, FetchProgress, FetchStep, Listing, Lost, Outcome, Reply, Scan,
    ServerAnswer, ServerListing, Trouble, retry_after_s,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
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
    /// Goes with every request to Jaeger, and only there.
    pub token: Option<String>,
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
    token: Option<String>,
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
            token: job.token,
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
        let (reply, body) = get(url, &self.0.connection, self.0.token.as_deref(), signal, moved).await;
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
            let connection = Connection { base: url.clone(), has_token: false, ..self.0.connection.clone() };
            let (reply, body) = get(&url, &connection, None, &signal, moved).await;
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
    token: Option<&str>,
) -> Result<(Dialect, Vec<String>), Trouble> {
    let Ok(abort) = AbortController::new() else { return Err(Trouble::Lost(Lost::Down)) };
    let mut url = listing.url();
    loop {
        let (reply, body) = get(&url, connection, token, &abort.signal(), |_| ()).await;
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

/// Bytes at the end of what came in which a whole line is looked for.
const LAST_LINE: f64 = 1_048_576.0;
/// Bytes at the beginning of what came that tell text from other things.
const HEAD: f64 = 64.0;
/// Longest duration of a look at a file, in milliseconds.
const TAIL_MS: u32 = 300_000;

/// Result of a look at a file that grows.
pub struct FileGrowth {
    /// The bytes added.
    pub blob: Option<Blob>,
    /// The offset to ask from next.
    pub next: u64,
    /// Length of the file then. What comes before that and is held back is taken if the next look finds it no longer.
    pub seen: u64,
    /// The server has more to give at once.
    pub has_more: bool,
}

/// Returns what was added to a file after an offset. Of text that the last look did not see to this end (`seen`) no more
/// than whole lines, of what is neither text nor gzip nothing.
///
/// # Errors
/// The file cannot be had.
pub async fn tail(url: &str, from: u64, seen: u64) -> Result<FileGrowth, Trouble> {
    tail_of(url, from, seen).await.unwrap_or(Err(Trouble::Lost(Lost::Down)))
}

async fn tail_of(url: &str, from: u64, seen: u64) -> Result<Result<FileGrowth, Trouble>, JsValue> {
    let headers = Headers::new()?;
    headers.set("Range", &format!("bytes={from}-"))?;
    let options = RequestInit::new();
    options.set_headers(&headers);
    options.set_cache(RequestCache::NoStore);
    options.set_signal(Some(&AbortSignal::timeout_with_u32(TAIL_MS)));
    let answer = JsFuture::from(dom::window().fetch_with_str_and_init(url, &options)).await?;
    let response: Response = answer.dyn_into()?;
    let range = response.headers().get("Content-Range")?.unwrap_or_default();
    let (bytes, total) = range.trim_start_matches("bytes ").split_once('/').unwrap_or_default();
    let total = total.parse::<u64>().ok();
    let nothing = |next| FileGrowth { blob: None, next, seen: next, has_more: false };
    let start = match response.status() {
        // Nothing new, or a file that begins anew.
        416 => return Ok(Ok(nothing(if total.is_some_and(|total| total < from) { 0 } else { from }))),
        206 => bytes.split('-').next().and_then(|start| start.parse().ok()).unwrap_or(from),
        200..=299 => 0,
        status => return Ok(Err(Trouble::NoFile { status })),
    };
    let mut blob: Blob = JsFuture::from(response.blob()?).await?.dyn_into()?;
    let end = start + blob.size() as u64;
    // Without ranges all of it comes; if that is less than was seen, it begins anew.
    let start = if start < from && end >= from {
        blob = blob.slice_with_f64((from - start) as f64)?;
        from
    } else {
        start
    };
    let has_more = total.is_some_and(|total| end < total);
    let mut size = blob.size();
    if size == 0.0 {
        return Ok(Ok(nothing(end)));
    }
    let head = part(&blob, 0.0, HEAD).await?;
    if end != seen && !head.starts_with(&[0x1f, 0x8b]) {
        let is_text = head.iter().all(|&byte| byte >= b' ' || matches!(byte, b'\t' | b'\n' | b'\r'));
        let before = (size - LAST_LINE).max(0.0);
        let lines = part(&blob, before, size).await?;
        let line = lines.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        // Where every line is a document, the next one has begun; of any other text nobody knows.
        let is_whole = matches!(lines.get(line), None | Some(b'{'));
        size = if is_text && is_whole && line > 0 { before + line as f64 } else { 0.0 };
    }
    let blob = (size > 0.0).then(|| blob.slice_with_f64_and_f64(0.0, size)).transpose()?;
    Ok(Ok(FileGrowth { has_more: has_more && blob.is_some(), blob, next: start + size as u64, seen: end }))
}

/// Returns the bytes of a Blob.
async fn part(blob: &Blob, from: f64, to: f64) -> Result<Vec<u8>, JsValue> {
    let bytes = JsFuture::from(blob.slice_with_f64_and_f64(from, to)?.array_buffer()).await?;
    Ok(Uint8Array::new(&bytes).to_vec())
}

/// Makes one GET; returns what came of it, and the body. `moved` is called with the bytes of every chunk.
async fn get(
    url: &str,
    connection: &Connection,
    token: Option<&str>,
    signal: &AbortSignal,
    moved: impl Fn(u64),
) -> (Reply, Option<Blob>) {
    if is_mixed(url) {
        return (Reply::Lost(Lost::Mixed), None);
    }
    let policy = Watch::policy();
    let Ok(response) = request(url, token, signal).await else {
        return (
            Reply::Lost(if signal.aborted() { Lost::Broken } else { why(url, connection, &policy).await }),
            None,
        );
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

async fn request(url: &str, token: Option<&str>, signal: &AbortSignal) -> Result<Response, JsValue> {
    let headers = Headers::new()?;
    headers.set("Accept", "application/json")?;
    if let Some(token) = token {
        headers.set("Authorization", &format!("Bearer {token}"))?;
    }
    let options = RequestInit::new();
    options.set_headers(&headers);
    options.set_signal(Some(signal));
    JsFuture::from(dom::window().fetch_with_str_and_init(url, &options)).await?.dyn_into()
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
    let options = RequestInit::new();
    options.set_redirect(RequestRedirect::Manual);
    let probe = JsFuture::from(dom::window().fetch_with_str_and_init(url, &options)).await;
    let answer = probe.ok().and_then(|answer| answer.dyn_into::<Response>().ok());
    if answer.is_some_and(|answer| answer.type_() == ResponseType::Opaqueredirect) {
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
