//! The page around this one: follows its messages and reports to it what it wants to know. The rules are those of
//! [`contract`](pathlight_view::contract).

use crate::dom::{self, El, Listeners, button, div, span};
use crate::page::{Focus, Page, PagePart};
use crate::pool::Input;
use crate::shell::keys;
use crate::shell::saved_report::Origin;
use js_sys::{Array, ArrayBuffer, JsString, Reflect};
use pathlight_engine::queries::OverviewReport;
use pathlight_trace::SpanId;
use pathlight_view::contract::{self, Code, Envelope, Incoming, Outgoing};
use pathlight_view::views::View;
use serde::Serialize as _;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Blob, MessageEvent, Window};

/// State of the permission of an origin.
enum Standing {
    /// The user is being asked; what has come meanwhile.
    Asked(VecDeque<(Window, Incoming, JsValue)>),
    /// Messages from it are followed and answered.
    Admitted,
    /// The user wants nothing of it.
    Refused,
}

/// Facts about the pages around.
struct Hosts {
    page: Page,
    /// Parent and opener, as far as they are there.
    windows: Vec<Window>,
    standings: RefCell<BTreeMap<String, Standing>>,
    /// Receivers of messages: the window and its origin.
    listeners: RefCell<Vec<(Window, String)>>,
    /// What saves a report.
    origin: Origin,
    /// The traces of a message are being read, and not answered yet.
    is_reading: Cell<bool>,
    /// Messages behind it, of which each has its own answer.
    waiting: RefCell<VecDeque<(Window, String, Incoming, JsValue)>>,
    own_origin: String,
}

/// The row that asks the user, and the last messages to the hosts.
pub struct Host {
    element: El,
    hosts: Rc<Hosts>,
    keep: Listeners,
    /// The origin the row is about.
    asking: Option<String>,
    /// The state of the data that was last reported.
    generation: u64,
    selected: Option<(String, Option<String>)>,
}

impl Host {
    /// Listens from now on, and says so.
    pub fn new(page: Page, origin: &Origin, keep: &Listeners) -> Host {
        let window = dom::window();
        let parent = window.parent().ok().flatten().filter(|parent| *parent != window);
        // A window of another origin is no `Window` of ours, so it cannot be asked what it is.
        let opener = window.opener().ok().filter(JsValue::is_object).map(JsCast::unchecked_into::<Window>);
        let hosts = Rc::new(Hosts {
            page,
            windows: parent.into_iter().chain(opener).collect(),
            standings: RefCell::default(),
            listeners: RefCell::default(),
            origin: origin.clone(),
            is_reading: Cell::new(false),
            waiting: RefCell::default(),
            own_origin: own_origin(),
        });
        if !hosts.windows.is_empty() {
            let heard = hosts.clone();
            keep.add(dom::listen(&window, "message", dom::How::default(), move |event| {
                if let Some(event) = event.dyn_ref::<MessageEvent>() {
                    heard.hear(event);
                }
            }));
            let notified = hosts.clone();
            keep.add(dom::listen(&window, "keydown", dom::How::default(), move |event| {
                if keys::is_unused_escape(&event) {
                    notified.publish(&Outgoing::Escape);
                }
            }));
            // It says nothing but that there is a page, so whoever is there may know.
            for host in &hosts.windows {
                post(host, "*", &Outgoing::Ready);
            }
        }
        let element = div("notice").attr("role", "alert").test("host-ask");
        element.show(false);
        Host { element, hosts, keep: Listeners::default(), asking: None, generation: 0, selected: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    fn ask_user(&mut self, origin: &str) {
        let who = if origin == "null" { "A page without an address" } else { origin };
        let words = format!("{who} wants to hand traces to this page, steer it, and hear what you select.");
        let answer = |admit: bool| {
            let (hosts, origin) = (self.hosts.clone(), origin.to_owned());
            move || hosts.decide(&origin, admit)
        };
        self.keep.clear();
        let allow = button("Allow").class("primary").test("host-allow").on_click(&self.keep, answer(true));
        let refuse = button("Refuse").test("host-refuse").on_click(&self.keep, answer(false));
        self.element.fill([&span("", &words), &allow, &refuse]);
    }
}

impl PagePart for Host {
    fn update(&mut self, page: Page) {
        let asking = {
            let standings = self.hosts.standings.borrow();
            let mut waiting = standings.iter().filter(|(_, standing)| matches!(standing, Standing::Asked(_)));
            waiting.next().map(|(origin, _)| origin.clone())
        };
        if asking != self.asking {
            if let Some(origin) = &asking {
                self.ask_user(origin);
            }
            self.element.show(asking.is_some());
            self.asking = asking;
        }
        if self.hosts.listeners.borrow().is_empty() {
            return;
        }
        let overview = page.queries().overview.fresh();
        let is_known = overview.is_some() || !page.has_data();
        if !page.loading().running && self.generation != page.generation() && is_known {
            self.generation = page.generation();
            let is_answer = self.hosts.is_reading.take();
            if is_answer || page.has_data() {
                self.hosts.publish(&outcome(page, overview.as_deref(), is_answer));
            }
            self.hosts.go_on();
        }
        if let Some(selected) = selected(page)
            && self.selected.as_ref() != Some(&selected)
        {
            self.selected = Some(selected.clone());
            let (trace_id, span_id) = selected;
            self.hosts.publish(&Outgoing::Select { trace_id, span_id });
        }
    }
}

/// Returns what is said of a load that has ended: of all that is loaded, or, as the answer to a message, that there was no trace
/// in it.
fn outcome(page: Page, overview: Option<&OverviewReport>, is_answer: bool) -> Outgoing {
    let load = page.loading();
    let warnings: Vec<String> = load.errors.iter().map(|(_, error)| error.message.clone()).collect();
    match overview.filter(|of| of.traces > 0 && !(is_answer && load.last_traces == 0)) {
        Some(overview) => Outgoing::Loaded { traces: overview.traces, spans: overview.spans, warnings },
        None => {
            let message = warnings.last().cloned().unwrap_or_else(|| "There was no trace in it.".to_owned());
            Outgoing::Error { code: Code::NoTraces, message }
        }
    }
}

/// Returns the trace and span the user looks at; `None` while that is being found out, or where it is neither.
fn selected(page: Page) -> Option<(String, Option<String>)> {
    match &*page.focus() {
        Focus::Request(choice) => Some((choice.trace_id.clone(), choice.root_span_id.clone())),
        Focus::Span(index) => {
            let span = page.queries().span.fresh()?;
            let span = span.as_ref().as_ref().filter(|span| span.index == *index)?;
            Some((span.trace_id.clone(), Some(span.span_id.clone()).filter(|id| !id.is_empty())))
        }
        Focus::Nothing => {
            // The report knows which traces there are, and how their ids are spelled.
            let address = page.address();
            let choice = address.trace.as_ref().filter(|_| address.view == View::Trace)?;
            let report = page.queries().trace.fresh()?;
            let trace = report.as_ref().as_ref()?;
            Some((trace.trace_id.clone(), choice.span_id.as_deref().map(SpanId::canonical)))
        }
        _ => None,
    }
}

/// Returns the origin of this page; `null` from a file and in a sandboxed frame.
fn own_origin() -> String {
    Reflect::get(&dom::window(), &"origin".into()).ok().and_then(|own| own.as_string()).unwrap_or_default()
}

/// Key of the origins that the user has admitted, one a line.
const ADMITTED: &str = "pathlight-admitted";

/// Returns the origins that the user has admitted before. A sandboxed frame has nowhere to keep them.
fn admitted() -> Vec<String> {
    let storage = dom::window().local_storage().ok().flatten();
    let kept = storage.and_then(|storage| storage.get_item(ADMITTED).ok().flatten());
    kept.unwrap_or_default().lines().map(str::to_owned).collect()
}

/// Remembers that the user has admitted an origin, where the browser allows it.
fn remember(origin: &str) {
    let mut kept = admitted();
    if origin != "null" && !kept.iter().any(|known| known == origin) {
        kept.push(origin.to_owned());
        if let Ok(Some(storage)) = dom::window().local_storage() {
            // If the storage is full or refused, the user is asked again next time.
            let _ = storage.set_item(ADMITTED, &kept.join("\n"));
        }
    }
}

/// Returns what a message asks for, or the answer to one that is not understood; `None` if it is none of ours.
fn read(message: &JsValue) -> Option<Result<Incoming, Outgoing>> {
    Reflect::get(message, &"pathlight".into()).ok()?.as_f64()?;
    // Texts are copied into the program's memory, so they are measured first. No field is an object: naming one in an error
    // can be endless.
    for key in Envelope::KEYS {
        let value = Reflect::get(message, &key.into()).ok()?;
        let text = value.dyn_ref::<JsString>();
        if value.is_object() || text.is_some_and(|text| text.length() > contract::LONGEST_TEXT) {
            return Some(Err(contract::misshapen()));
        }
    }
    // Only the fields of an envelope are read: what is attached as `data` may be all traces of the host.
    let envelope = serde_wasm_bindgen::from_value::<Envelope>(message.clone());
    Some(envelope.map_err(|_| contract::misshapen()).and_then(Envelope::read))
}

fn post(to: &Window, origin: &str, message: &Outgoing) {
    // A page without an origin cannot be named; the window that wrote to us can.
    let target = if origin == "null" { "*" } else { origin };
    if let Ok(message) = message.message().serialize(&serde_wasm_bindgen::Serializer::json_compatible()) {
        // It fails if the window is gone or has another page by now: then nobody is to hear it.
        let _ = to.post_message(&message, target);
    }
}

impl Hosts {
    fn hear(&self, event: &MessageEvent) {
        let Some(source) = event.source() else { return };
        let Some(from) = self.windows.iter().find(|window| JsValue::from(*window) == JsValue::from(&source))
        else {
            return;
        };
        let origin = event.origin();
        let data = event.data();
        let message = match read(&data) {
            None => return,
            Some(Ok(message)) => message,
            Some(Err(complaint)) => return post(from, &origin, &complaint),
        };
        // Whoever is there may know that we are.
        if message == Incoming::Ping {
            return post(from, &origin, &Outgoing::Pong);
        }
        {
            let mut standings = self.standings.borrow_mut();
            let standing = standings.entry(origin.clone()).or_insert_with(|| {
                let admitted = admitted();
                match contract::is_trusted(&origin, &self.own_origin, &self.page.address(), &admitted) {
                    true => Standing::Admitted,
                    false => Standing::Asked(VecDeque::new()),
                }
            });
            match standing {
                Standing::Admitted => {}
                Standing::Asked(waiting) => {
                    if waiting.len() == contract::MOST_WAITING {
                        waiting.pop_front();
                    }
                    waiting.push_back((from.clone(), message, data));
                    drop(standings);
                    return self.page.refresh();
                }
                Standing::Refused => {
                    drop(standings);
                    return self.refuse(from, &origin);
                }
            }
        }
        self.follow(from, &origin, message, &data);
    }

    /// Applies what the user has decided about an origin.
    fn decide(&self, origin: &str, admit: bool) {
        if admit {
            remember(origin);
        }
        let standing = if admit { Standing::Admitted } else { Standing::Refused };
        let before = self.standings.borrow_mut().insert(origin.to_owned(), standing);
        if let Some(Standing::Asked(waiting)) = before {
            for (from, message, data) in waiting {
                if admit {
                    self.follow(&from, origin, message, &data);
                } else {
                    self.refuse(&from, origin);
                }
            }
        }
        self.page.refresh();
    }

    fn refuse(&self, to: &Window, origin: &str) {
        let message = "The user does not want messages from this page.".to_owned();
        post(to, origin, &Outgoing::Error { code: Code::Refused, message });
    }

    fn publish(&self, message: &Outgoing) {
        for (window, origin) in self.listeners.borrow().iter() {
            post(window, origin, message);
        }
    }

    /// Follows what waits, up to the next traces.
    fn go_on(&self) {
        let waiting = self.waiting.take();
        for (from, origin, message, data) in waiting {
            self.follow(&from, &origin, message, &data);
        }
    }

    fn follow(&self, from: &Window, origin: &str, message: Incoming, data: &JsValue) {
        {
            let mut listeners = self.listeners.borrow_mut();
            if !listeners.iter().any(|(window, known)| window == from && known == origin) {
                listeners.push((from.clone(), origin.to_owned()));
            }
        }
        let page = self.page;
        let is_behind = !self.waiting.borrow().is_empty()
            || self.is_reading.get() && matches!(message, Incoming::Traces { .. });
        if is_behind && !matches!(message, Incoming::Ping | Incoming::Clear | Incoming::Theme(_)) {
            let waiting = (from.clone(), origin.to_owned(), message, data.clone());
            return self.waiting.borrow_mut().push_back(waiting);
        }
        match message {
            Incoming::Ping => {}
            Incoming::Report => self.origin.open(page),
            Incoming::Clear => {
                self.waiting.borrow_mut().clear();
                self.is_reading.set(false);
                page.reset();
            }
            Incoming::Traces { title, replace, side } => {
                let Some(input) = input(&title, data) else {
                    let message = "A traces message needs data: an ArrayBuffer, a Blob or text.".to_owned();
                    return post(from, origin, &Outgoing::Error { code: Code::BadMessage, message });
                };
                if replace {
                    page.reset();
                }
                self.is_reading.set(true);
                match side {
                    Some(side) => page.load_side(vec![input], side),
                    None => page.load(vec![input]),
                }
            }
            Incoming::Query(query) => {
                page.change(|address| contract::follow(&query, address));
                page.fetching().follow(page);
            }
            Incoming::Theme(theme) => page.change(|address| address.theme = theme),
            Incoming::View(view) => page.change(|address| address.view = view),
        }
    }
}

/// Returns what a traces message carries.
fn input(title: &str, message: &JsValue) -> Option<Input> {
    let data = Reflect::get(message, &"data".into()).ok()?;
    let blob = match data.dyn_into::<Blob>() {
        Ok(blob) => blob,
        // Text may be longer than the memory of this module is large, so it stays with the browser too.
        Err(data)
            if data.is_string() || data.is_instance_of::<ArrayBuffer>() || ArrayBuffer::is_view(&data) =>
        {
            Blob::new_with_buffer_source_sequence(&Array::of1(&data)).ok()?
        }
        Err(_) => return None,
    };
    Some(Input { name: title.to_owned(), blob })
}
