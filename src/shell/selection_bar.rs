//! Names the requests whose latency is looked at, opens the list they are chosen from, and says their latencies.

use crate::dom::{self, El, Listeners, button, div, icon, span};
use crate::page::{Page, PagePart};
use crate::widgets::names;
use crate::widgets::pick_list::{Pick, PickList};
use pathlight_base::format::{self, counted};
use pathlight_base::statistics::Percentiles;
use pathlight_engine::queries::OverviewReport;
use pathlight_engine::requests::{PercentileRange, RequestType, RootEndpoint};
use pathlight_trace::Endpoint;
use pathlight_view::address::Address;
use pathlight_view::keys::KeyCommand;
use pathlight_view::table::fits;
use pathlight_view::{reading, sampling};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsCast;

/// Rows of each kind shown; typing narrows them.
const SHOWN: usize = 100;

/// The list of request types and endpoints, and the figures of the chosen one.
pub struct SelectionBar {
    element: El,
    name: El,
    requests: El,
    figures: El,
    list: List,
    shown: String,
    _keep: Listeners,
}

/// A choice of the list.
#[derive(Clone)]
enum Chosen {
    Root(RootEndpoint),
    Type(RequestType),
}

/// The list of root endpoints, under its button.
#[derive(Clone)]
struct List {
    panel: El,
    picks: PickList,
    button: El,
    options: Rc<RefCell<Vec<Chosen>>>,
}

impl SelectionBar {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> SelectionBar {
        let keep = Listeners::default();
        let name = span("root-name", "").test("root-endpoint");
        let requests = span("root-requests muted small number", "").test("range-requests");
        let choose = button("")
            .class("root-button")
            .attr("aria-haspopup", "listbox")
            .attr("aria-expanded", "false")
            .attr("title", "Choose whose latency to look at")
            .test("choose-root")
            .child(&name)
            .child(&requests)
            .node(&icon("M4 6l4 4 4-4"));
        let label = "Search request types and endpoints";
        let picks = PickList::new("root-endpoints", "Request type or endpoint", label);
        picks.field.set("data-test", "root-search");
        let panel = div("popover root-list").test("root-list").child(&picks.field).child(&picks.rows);
        panel.show(false);
        let list = List { panel: panel.clone(), picks, button: choose.clone(), options: Rc::default() };
        list.listen(page, &keep);
        let figures = div("figures").test("range-figures");
        let element = div("popover-anchor root-endpoint").child(&choose).child(&panel);
        SelectionBar { element, name, requests, figures, list, shown: String::new(), _keep: keep }
    }

    /// Returns the button with its list.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Returns the figures.
    pub fn figures(&self) -> &El {
        &self.figures
    }
}

impl List {
    fn listen(&self, page: Page, keep: &Listeners) {
        let list = self.clone();
        keep.add(dom::listen(self.button.html(), "click", dom::How::default(), move |_| {
            if list.is_open() { list.close() } else { list.open(page) }
        }));
        let list = self.clone();
        self.picks.listen(keep, move |pick| match pick {
            Pick::Typed => list.fill(page),
            Pick::Chosen(at, _) => list.choose(page, at),
            Pick::Left => {
                list.close();
                list.button.focus();
            }
        });
        // A click anywhere else closes it.
        let list = self.clone();
        let how = dom::How { capture: true, ..dom::How::default() };
        keep.add(dom::listen(&dom::document(), "pointerdown", how, move |event| {
            let target = event.target().and_then(|target| target.dyn_into::<web_sys::Node>().ok());
            let inside =
                list.panel.html().contains(target.as_ref()) || list.button.html().contains(target.as_ref());
            if list.is_open() && !inside {
                list.close();
            }
        }));
    }

    fn is_open(&self) -> bool {
        !self.panel.html().hidden()
    }

    fn open(&self, page: Page) {
        self.picks.reset();
        self.panel.show(true);
        self.button.set_flag("aria-expanded", true);
        self.fill(page);
        self.picks.field.focus();
    }

    fn close(&self) {
        self.panel.show(false);
        self.button.set_flag("aria-expanded", false);
        self.picks.clear();
        self.options.borrow_mut().clear();
    }

    fn choose(&self, page: Page, at: usize) {
        let chosen = self.options.borrow().get(at).cloned();
        if let Some(chosen) = chosen {
            self.close();
            self.button.focus();
            match chosen {
                Chosen::Root(root) => look_at(page, root),
                Chosen::Type(kind) => look_at_type(page, &kind),
            }
        }
    }

    fn fill(&self, page: Page) {
        let Some(overview) = page.overview_in_sight() else { return };
        let text = self.picks.text();
        let mut options = Vec::new();
        self.picks.clear();
        let mut add = |chosen: Chosen, row: El| {
            self.picks.add(row);
            options.push(chosen);
        };
        if text.trim().is_empty() {
            add(Chosen::Root(RootEndpoint::TraceRoots), all_row(&overview));
        }
        let types: Vec<_> = overview
            .request_types
            .iter()
            .map(|row| (row, row.kind.name()))
            .filter(|(_, name)| fits(&text, &[&name.service, &name.operation]))
            .collect();
        if !types.is_empty() {
            self.picks.rows.add(&heading("Request types", types.len()));
        }
        for (kind, name) in types.iter().take(SHOWN) {
            let row = div("root-row")
                .test("root-option")
                .attr("data-service", &name.service)
                .attr("data-operation", &name.operation)
                .child(&names::endpoint(&name.service, &name.operation))
                .child(&names::spark(&kind.spark))
                .child(&span("num", &format::count(kind.requests)))
                .child(&span("num", &format::duration(kind.latency_us.p50)))
                .child(&span("num", &format::duration(kind.latency_us.p95)))
                .child(&span("num", &format::duration(kind.latency_us.p99)));
            add(Chosen::Type(kind.kind.clone()), row);
        }
        let mut endpoints: Vec<_> = overview
            .endpoints
            .iter()
            // Requests of a summary begin at its root endpoints.
            .filter(|endpoint| {
                overview.summary.is_none() && fits(&text, &[&endpoint.service, &endpoint.operation])
            })
            .collect();
        endpoints.sort_by_key(|endpoint| std::cmp::Reverse(endpoint.spans));
        if !endpoints.is_empty() {
            self.picks.rows.add(&heading("Any endpoint", endpoints.len()));
        }
        for endpoint in endpoints.iter().take(SHOWN) {
            let row = div("root-row")
                .test("endpoint-option")
                .attr("data-service", &endpoint.service)
                .attr("data-operation", &endpoint.operation)
                .child(&names::endpoint(&endpoint.service, &endpoint.operation))
                .child(&span("num wide", &counted(endpoint.spans, "span")));
            add(Chosen::Root(endpoint_of(&endpoint.service, &endpoint.operation)), row);
        }
        if options.is_empty() {
            self.picks.rows.add(
                &div("muted pad").attr("role", "presentation").text("No endpoint of this name is loaded."),
            );
        }
        *self.options.borrow_mut() = options;
        self.picks.activate(0);
    }
}

fn endpoint_of(service: &str, operation: &str) -> RootEndpoint {
    RootEndpoint::Endpoint(Endpoint::new(service, operation))
}

fn all_row(overview: &OverviewReport) -> El {
    div("root-row")
        .test("root-all")
        .child(
            &div("endpoint")
                .child(&span("operation", "All requests"))
                .child(&span("service", "the root of every trace")),
        )
        .child(&span("num", &format::count(overview.traces)))
        .child(&span("num", &format::duration(overview.latency_us.p50)))
        .child(&span("num", &format::duration(overview.latency_us.p95)))
        .child(&span("num", &format::duration(overview.latency_us.p99)))
}

fn heading(title: &str, count: usize) -> El {
    let heading = div("root-heading").attr("role", "presentation").text(title);
    let more = if count > SHOWN {
        format!("{SHOWN} of {}, type to narrow", format::count(count as u64))
    } else {
        String::new()
    };
    let columns: &[&str] = if title == "Any endpoint" { &[] } else { &["requests", "p50", "p95", "p99"] };
    let columns = columns.iter().map(|name| span("num", name));
    heading.child(&span("muted grow", &more)).children(&columns.collect::<Vec<El>>())
}

/// Makes this the root endpoint; what was zoomed into and which percentile range are left behind only if they mean
/// nothing any more.
pub fn look_at(page: Page, root: RootEndpoint) {
    page.change(|address| set_root(address, root));
}

/// Looks at the requests of a type.
pub fn look_at_type(page: Page, kind: &RequestType) {
    page.change(|address| {
        let before = address.root.clone();
        address.look_at_type(kind);
        let root = std::mem::replace(&mut address.root, before);
        set_root(address, root);
    });
}

/// Makes a root endpoint the one of an address; the place in the flame graph and the percentile range of another one
/// mean nothing to it.
pub fn set_root(address: &mut Address, root: RootEndpoint) {
    if address.root != root {
        address.focus.clear();
        address.range = PercentileRange::ALL;
        address.over_all = false;
    }
    address.root = root;
}

impl PagePart for SelectionBar {
    fn update(&mut self, page: Page) {
        let overview = page.queries().overview.get().filter(|overview| overview.traces > 0);
        if overview.is_none() {
            return;
        }
        let name = page.address().root_name();
        if name != self.shown {
            self.name.clear();
            match &page.address().root {
                RootEndpoint::TraceRoots => self.name.add(&span("operation", "All requests")),
                RootEndpoint::Endpoint(Endpoint { service, operation }) => {
                    self.name.add(&names::endpoint(service, operation))
                }
            }
            self.shown = name;
        }
        self.figures.class_if("stale", page.queries().range.is_waiting());
        let Some(report) = page.queries().range.get() else { return };
        let facts = &report.facts;
        self.requests.set_text(&reading::words::requests_in(facts));
        self.requests.set("data-value", &facts.requests.to_string());
        let mut scope = reading::words::scope_of(facts) + reading::words::not_followed(&page.address());
        if let Some(note) = sampling::words::note(facts) {
            scope = format!("{scope}\n{note}");
        }
        self.requests.set("title", &scope);
        let other = page.address().compared().and_then(|of| page.slot_of_side(of.side.other()).fresh());
        let other = other.filter(|other| other.facts.requests > 0);
        let figure = |name: &str, test: &str, of: fn(&Percentiles) -> f64| {
            let figure = names::duration(name, test, of(&facts.latency_us));
            let beside = other.as_ref().map(|other| format::duration(of(&other.facts.latency_us)));
            beside
                .into_iter()
                .fold(figure, |figure, words| figure.child(&span("figure-other muted small", &words)))
        };
        self.figures.show(facts.requests > 0);
        self.figures.fill([
            &figure("p50", "range-p50", |latency| latency.p50),
            &figure("p95", "range-p95", |latency| latency.p95),
            &figure("p99", "range-p99", |latency| latency.p99),
        ]);
    }

    fn command(&mut self, _page: Page, command: KeyCommand) -> bool {
        if command == KeyCommand::Leave && self.list.is_open() {
            self.list.close();
            return true;
        }
        false
    }
}
