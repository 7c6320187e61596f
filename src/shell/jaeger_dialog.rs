//! The dialog that asks a Jaeger query service, or Tempo, for traces.

use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::fetch::list;
use crate::page::Page;
use crate::page::fetching::{now_us, resolve};
use crate::shell::explanation::explanation;
use crate::widgets::dialog;
use pathlight_backend::source::{FetchSource, TraceSearch, Wanted, jaeger_id};
use pathlight_backend::{
    Caller, Connection, FetchPlan, Listing, TENANT_HEADERS, Tenant, Trouble, logfmt_of_tags, tags_of_logfmt,
};
use pathlight_base::format as words;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{HtmlDialogElement, HtmlInputElement, HtmlSelectElement};

/// Time ranges to choose from: words and seconds; the last is given by two times.
const RANGES: [(&str, u64); 7] = [
    ("Last 15 minutes", 900),
    ("Last hour", 3600),
    ("Last 3 hours", 10_800),
    ("Last 12 hours", 43_200),
    ("Last day", 86_400),
    ("Last week", 604_800),
    ("From \u{2026} to \u{2026}", 0),
];

/// Address to try when none is known: `pathlight serve --jaeger` and hosts that put the page beside Jaeger.
const USUAL_BASE: &str = "/jaeger";

/// Names suggested at most; others can be typed. A browser builds an element for each.
const MOST_OPTIONS: usize = 2000;

/// The fields.
#[derive(Clone)]
struct Form {
    page: Page,
    base: El,
    connect: El,
    state: El,
    service: El,
    services: El,
    operation: El,
    operations: El,
    range: El,
    times: El,
    from: El,
    to: El,
    tags: El,
    min: El,
    max: El,
    limit: El,
    ids: El,
    token: El,
    tenant: El,
    tenant_header: El,
    tenant_headers: El,
    /// Whether the tenant is remembered.
    remembers: El,
    adds: El,
    trouble: El,
    /// Counts lists asked for, so that an older one does not overwrite a newer.
    asked: Rc<Cell<u32>>,
    /// Service whose operations are listed.
    listed: Rc<RefCell<String>>,
}

/// Opens the dialog with what the address says.
pub fn open(page: Page) {
    let keep = Listeners::default();
    let form = Form::new(page);
    form.fill(&page.address().source);
    let close = button("Close").class("quiet").test("jaeger-dialog-close");
    let head = div("dialog-head").child(&el("h2").text("Fetch from Jaeger or Tempo")).child(&close);
    let fetch = button("Fetch traces").class("primary").test("jaeger-dialog-fetch");
    let body =
        form.layout().child(&div("buttons jaeger-dialog-buttons").child(&fetch).child(&form.adds_label()));
    let dialog = el("dialog")
        .class("jaeger-dialog")
        .test("jaeger-dialog")
        .attr("aria-label", "Fetch from Jaeger or Tempo");
    let dialog = dialog.child(&head).child(&body);
    let frame = dialog.as_kind::<HtmlDialogElement>().cloned();
    let submit = {
        let form = form.clone();
        move || {
            if form.fetch()
                && let Some(dialog) = &frame
            {
                dialog.close();
            }
        }
    };
    let enter = submit.clone();
    let how = dom::How { active: true, ..dom::How::default() };
    keep.add(dom::listen(body.html(), "keydown", how, move |event| {
        let is_enter = event.dyn_ref::<web_sys::KeyboardEvent>().is_some_and(|key| key.key() == "Enter");
        let is_field = event.target().is_some_and(|target| target.has_type::<HtmlInputElement>());
        if is_enter && is_field {
            event.prevent_default();
            enter();
        }
    }));
    let fetch = fetch.on_click(&keep, submit);
    form.listen(&keep);
    dialog::open(&dialog, &close, keep);
    if value(&form.service).is_empty() {
        form.service.focus()
    } else {
        fetch.focus()
    }
    form.list_if_agreed();
}

impl Form {
    fn new(page: Page) -> Form {
        let range = el("select").test("jaeger-dialog-range");
        for (words, seconds) in RANGES {
            range.add(&el("option").attr("value", &seconds.to_string()).text(words));
        }
        let moment = |test: &str| input(test, "datetime-local").attr("step", "1");
        Form {
            page,
            base: input("jaeger-dialog-base", "url").attr("placeholder", "https://jaeger.example or /jaeger"),
            connect: button("Connect").test("jaeger-dialog-list"),
            state: span("muted small", "").test("jaeger-dialog-state").attr("role", "status"),
            service: input("jaeger-dialog-service", "text")
                .attr("list", "jaeger-services")
                .attr("placeholder", "all, where it can search all"),
            services: el("datalist").attr("id", "jaeger-services"),
            operation: input("jaeger-dialog-operation", "text")
                .attr("list", "jaeger-operations")
                .attr("placeholder", "all"),
            operations: el("datalist").attr("id", "jaeger-operations"),
            range,
            times: div("jaeger-dialog-times"),
            from: moment("jaeger-dialog-from"),
            to: moment("jaeger-dialog-to"),
            tags: input("jaeger-dialog-tags", "text").attr("placeholder", "error=true db=\"my shop\""),
            min: input("jaeger-dialog-min", "text").attr("placeholder", "100ms"),
            max: input("jaeger-dialog-max", "text").attr("placeholder", "1.2s"),
            limit: input("jaeger-dialog-limit", "number").attr("min", "1"),
            ids: input("jaeger-dialog-ids", "text").attr("placeholder", "instead of a search"),
            token: input("jaeger-dialog-token", "password")
                .attr("autocomplete", "off")
                .attr("placeholder", "none"),
            tenant: input("jaeger-dialog-tenant", "text").attr("placeholder", "none"),
            tenant_header: input("jaeger-dialog-tenant-header", "text").attr("list", "jaeger-tenant-headers"),
            tenant_headers: el("datalist").attr("id", "jaeger-tenant-headers"),
            remembers: input("jaeger-dialog-remembers", "checkbox"),
            adds: input("jaeger-dialog-adds", "checkbox"),
            trouble: div("jaeger-dialog-trouble").test("jaeger-dialog-trouble").attr("role", "alert"),
            asked: Rc::default(),
            listed: Rc::default(),
        }
    }

    fn layout(&self) -> El {
        self.times.add(&labelled("From (UTC)", &self.from));
        self.times.add(&labelled("To (UTC)", &self.to));
        let base = div("jaeger-dialog-line").child(&labelled("Base URL", &self.base)).child(&self.connect);
        let row = |class: &str, fields: &[El]| div(class).children(fields);
        div("dialog-body jaeger-dialog-body").children(&[
            base,
            self.state.clone(),
            row(
                "jaeger-dialog-pair",
                &[labelled("Service", &self.service), labelled("Operation", &self.operation)],
            ),
            row(
                "jaeger-dialog-pair",
                &[labelled("Time range", &self.range), labelled("Limit (traces)", &self.limit)],
            ),
            self.times.clone(),
            labelled("Tags", &self.tags),
            row(
                "jaeger-dialog-pair",
                &[labelled("Min duration", &self.min), labelled("Max duration", &self.max)],
            ),
            row(
                "jaeger-dialog-pair",
                &[
                    labelled("Trace ids", &self.ids),
                    labelled("Bearer token (kept in memory only)", &self.token),
                ],
            ),
            row(
                "jaeger-dialog-pair",
                &[labelled("Tenant", &self.tenant), labelled("Header that names it", &self.tenant_header)],
            ),
            el("label").class("check").child(&self.remembers).text("Remember the tenant in this browser"),
            self.services.clone(),
            self.operations.clone(),
            self.tenant_headers.clone(),
            self.trouble.clone(),
        ])
    }

    fn adds_label(&self) -> El {
        let label = el("label").class("check").child(&self.adds).text("Add to what is loaded");
        label.show(self.page.has_data());
        label
    }

    /// Puts in what a source says.
    fn fill(&self, source: &FetchSource) {
        set(&self.base, source.api.as_deref().unwrap_or(USUAL_BASE));
        let search = match &source.wanted {
            Wanted::Search(search) => (**search).clone(),
            _ => TraceSearch::default(),
        };
        set(&self.service, search.service());
        set(&self.operation, &search.operation);
        set(&self.tags, &logfmt_of_tags(&search.tags));
        set(&self.min, &search.min_duration);
        set(&self.max, &search.max_duration);
        set(&self.limit, &search.limit.unwrap_or(TraceSearch::LIMIT).to_string());
        if let Wanted::Traces(ids) = &source.wanted {
            set(&self.ids, &ids.iter().map(String::as_str).collect::<Vec<_>>().join(" "));
        }
        let now_us = now_us();
        let custom = search.start_us.zip(search.end_us);
        let (from_us, to_us) = custom.unwrap_or((now_us.saturating_sub(3_600_000_000), now_us));
        // A field of a time takes whole seconds: the range must not shrink.
        set(&self.from, &field_of(from_us));
        set(&self.to, &field_of(to_us.div_ceil(1_000_000) * 1_000_000));
        if let Some(range) = self.range.as_kind::<HtmlSelectElement>() {
            range.set_value(if custom.is_some() { "0" } else { "3600" });
        }
        self.show_times();
        options(&self.tenant_headers, &TENANT_HEADERS.map(str::to_owned));
        if let Ok(base) = self.base() {
            let Caller { token, tenants } = self.page.fetching().caller(&base);
            set(&self.token, &token.unwrap_or_default());
            set(&self.tenant, tenants.first().map_or("", Tenant::name));
            set(&self.tenant_header, tenants.first().map_or(TENANT_HEADERS[0], Tenant::header));
            if let Some(remembers) = self.remembers.as_kind::<HtmlInputElement>() {
                remembers.set_checked(self.page.fetching().remembered_tenant(&base).is_some());
            }
        }
    }

    fn listen(&self, keep: &Listeners) {
        let form = self.clone();
        keep.add(dom::listen(self.connect.html(), "click", dom::How::default(), move |_| {
            form.list_services(false)
        }));
        let form = self.clone();
        keep.add(dom::listen(self.range.html(), "change", dom::How::default(), move |_| form.show_times()));
        for event in ["input", "change"] {
            let form = self.clone();
            keep.add(dom::listen(self.service.html(), event, dom::How::default(), move |_| {
                form.list_operations()
            }));
        }
        let form = self.clone();
        keep.add(dom::listen(self.base.html(), "input", dom::How::default(), move |_| {
            form.services.clear();
            form.operations.clear();
            form.listed.take();
            form.say_where();
        }));
    }

    fn show_times(&self) {
        self.times.show(self.seconds() == 0);
    }

    fn seconds(&self) -> u64 {
        let range = self.range.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value);
        range.and_then(|seconds| seconds.parse().ok()).unwrap_or_default()
    }

    fn base(&self) -> Result<String, Trouble> {
        resolve(&value(&self.base))
    }

    /// Asks for the services at once where the user need not be asked before.
    fn list_if_agreed(&self) {
        if self.base().is_ok_and(|base| self.page.fetching().has_agreed(&base)) {
            // Nobody has said yet that there is a Jaeger at the usual place.
            self.list_services(self.page.address().source.api.is_none());
        } else {
            self.say_where();
        }
    }

    fn say_where(&self) {
        let words = match self.base() {
            Ok(base) if !self.page.fetching().has_agreed(&base) => {
                format!("Connect to list the services of {base}.")
            }
            _ => String::new(),
        };
        self.state.set_text(&words);
    }

    /// Lists the services; pressing the button is the user's consent to the address above it.
    fn list_services(&self, is_guess: bool) {
        let Some((base, connection)) = self.agree() else { return };
        self.state.set_text("Asking for the services\u{2026}");
        let form = self.clone();
        let known = self.page.fetching().dialect(&base);
        self.list(Listing::services(&base, known), connection, is_guess, move |names| {
            form.state.set_text(&format!("Connected: {}.", words::counted(names.len() as u64, "service")));
            options(&form.services, names);
            form.list_operations();
        });
    }

    fn list_operations(&self) {
        let service = value(&self.service);
        let is_known = self.services.html().children().length() > 0;
        if service.is_empty() || !is_known || *self.listed.borrow() == service {
            return;
        }
        let names = names_of(&self.services);
        let is_name = names.len() >= MOST_OPTIONS || names.contains(&service);
        let Some((base, connection)) = self.agree().filter(|_| is_name) else { return };
        self.listed.replace(service.clone());
        self.operations.clear();
        let form = self.clone();
        let listing = Listing::operations(&base, &service, self.page.fetching().dialect(&base));
        self.list(listing, connection, false, move |names| options(&form.operations, names));
    }

    fn list(
        &self,
        listing: Listing,
        connection: Connection,
        is_guess: bool,
        then: impl FnOnce(&[String]) + 'static,
    ) {
        let number = self.asked.get() + 1;
        self.asked.set(number);
        let form = self.clone();
        spawn_local(async move {
            let leads = form.page.fetching().leads().clone();
            let listed = list(listing, &connection, &leads).await;
            if form.asked.get() != number {
                return;
            }
            match listed {
                Ok((dialect, names)) => {
                    form.page.fetching().learn(&connection.base, dialect);
                    form.trouble.clear();
                    then(&names);
                }
                Err(_) if is_guess => form.state.set_text("Enter the base URL of Jaeger, then connect."),
                Err(trouble) => {
                    form.state.set_text("");
                    form.explain(&trouble, &connection);
                }
            }
        });
    }

    /// Returns what the fields say goes with the requests.
    fn caller(&self) -> Result<Caller, Trouble> {
        let tenant = value(&self.tenant);
        let tenants = match tenant.is_empty() {
            true => Vec::new(),
            false => vec![Tenant::new(&value(&self.tenant_header), &tenant).ok_or(Trouble::NoTenant)?],
        };
        Ok(Caller { token: Some(value(&self.token)).filter(|token| !token.is_empty()), tenants })
    }

    /// Takes the base and what goes with the requests from the fields, with the user's consent to both.
    fn agree(&self) -> Option<(String, Connection)> {
        match self.base().and_then(|base| Ok((base, self.caller()?))) {
            Ok((base, caller)) => {
                let fetching = self.page.fetching();
                fetching.agree(&base);
                let remembers = self.remembers.as_kind::<HtmlInputElement>();
                fetching.set_caller(&base, caller, remembers.is_some_and(HtmlInputElement::checked));
                let connection = fetching.connection_to(base.clone());
                Some((base, connection))
            }
            Err(trouble) => {
                self.explain(&trouble, &Connection::default());
                None
            }
        }
    }

    fn explain(&self, trouble: &Trouble, connection: &Connection) {
        self.trouble.fill([&explanation(&trouble.explain(connection))]);
    }

    /// Returns what the fields say is wanted.
    fn wanted(&self) -> Result<Wanted, Trouble> {
        let ids = value(&self.ids);
        let ids = ids.split([' ', ',', ';', '\t']).filter(|id| !id.is_empty()).map(jaeger_id);
        let ids: std::collections::BTreeSet<String> = ids.collect();
        if !ids.is_empty() {
            return Ok(Wanted::Traces(ids));
        }
        let (start_us, end_us) = match self.seconds() {
            0 => (us_of(&value(&self.from)), us_of(&value(&self.to))),
            seconds => {
                let now_us = now_us();
                (Some(now_us.saturating_sub(seconds * 1_000_000)), Some(now_us))
            }
        };
        let service = value(&self.service);
        Ok(Wanted::Search(Box::new(TraceSearch {
            service: if service.is_empty() { TraceSearch::ALL.to_owned() } else { service },
            operation: value(&self.operation),
            start_us,
            end_us,
            limit: value(&self.limit).parse().ok(),
            min_duration: value(&self.min),
            max_duration: value(&self.max),
            tags: tags_of_logfmt(&value(&self.tags)).map_err(Trouble::Tags)?,
        })))
    }

    /// Fetches what the fields say; false if something is wrong with them.
    fn fetch(&self) -> bool {
        let Some((base, connection)) = self.agree() else { return false };
        let wanted =
            self.wanted().and_then(|wanted| FetchPlan::new(&base, &wanted, now_us()).map(|_| wanted));
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(trouble) => {
                self.explain(&trouble, &connection);
                return false;
            }
        };
        let source = FetchSource { wanted, ..FetchSource::jaeger(&value(&self.base)) };
        self.page.change(|address| {
            address.root = source.root();
            address.trace = None;
            address.source = source;
        });
        let adds = self.adds.as_kind::<HtmlInputElement>().is_some_and(HtmlInputElement::checked);
        self.page.fetching().start(self.page, adds);
        true
    }
}

fn input(test: &str, kind: &str) -> El {
    el("input").attr("type", kind).attr("spellcheck", "false").attr("autocomplete", "off").test(test)
}

fn labelled(words: &str, field: &El) -> El {
    el("label").class("field").child(&span("field-name", words)).child(field)
}

fn value(field: &El) -> String {
    field.as_kind::<HtmlInputElement>().map(|field| field.value().trim().to_owned()).unwrap_or_default()
}

fn set(field: &El, text: &str) {
    if let Some(field) = field.as_kind::<HtmlInputElement>() {
        field.set_value(text);
    }
}

fn options(list: &El, names: &[String]) {
    list.clear();
    for name in names.iter().take(MOST_OPTIONS) {
        list.add(&el("option").attr("value", name));
    }
}

/// Returns the names of a list of options.
fn names_of(list: &El) -> Vec<String> {
    let options = list.html().children();
    (0..options.length()).filter_map(|at| options.item(at)?.get_attribute("value")).collect()
}

/// Writes a time as `2024-05-01T12:34:56`, as a field of a time wants it.
fn field_of(us: u64) -> String {
    words::moment(us).replace(' ', "T").chars().take(19).collect()
}

/// Undoes [`field_of`].
fn us_of(field: &str) -> Option<u64> {
    let ms = js_sys::Date::parse(&format!("{field}Z"));
    (ms >= 0.0).then_some(ms as u64 * 1000)
}
