//! The changes of a what-if: made on the selected call, shown as chips that can be taken away.

use crate::ui::dom::{El, Keep, button, div, el, icon, span};
use crate::ui::page::{Focus, Page};
use crate::ui::views::flow::chart::endpoint_of;
use crate::ui::widgets::names;
use pathlight_query::{Changes, Endpoint, FlowReport, LatencyChange, NodeName, Parallel};
use pathlight_text::format;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use web_sys::{HtmlInputElement, HtmlSelectElement};

/// A change that the slider asks for and that waits for the answer before it: share in percent, microseconds.
type Pending = Rc<Cell<Option<(i64, i64)>>>;

/// The controls.
pub struct ChangeControls {
    element: El,
    title: El,
    controls: El,
    slider: El,
    words: El,
    add: El,
    beside: El,
    chips: El,
    reset: El,
    target: Rc<RefCell<Option<Endpoint>>>,
    pending: Pending,
    /// Parent, selected node, endpoint and changes that are shown.
    shown: Option<(Endpoint, Option<u32>, Option<Endpoint>, Changes)>,
    chip_keep: Keep,
    _keep: Keep,
}

/// The latency change of an endpoint, if there is one.
fn change_of<'a>(
    changes: &'a Changes,
    Endpoint { service, operation }: &Endpoint,
) -> Option<&'a LatencyChange> {
    changes.latencies.iter().find(|change| change.service == *service && change.operation == *operation)
}

/// Sets the one latency change of an endpoint; none at all takes it away.
pub fn set_latency(
    changes: &mut Changes,
    Endpoint { service, operation }: &Endpoint,
    share_ppm: i64,
    add_us: i64,
) {
    let at = changes.latencies.iter().position(|c| c.service == *service && c.operation == *operation);
    let change = LatencyChange { service: service.clone(), operation: operation.clone(), share_ppm, add_us };
    match (at, share_ppm == 0 && add_us == 0) {
        (Some(at), true) => {
            changes.latencies.remove(at);
        }
        (Some(at), false) => changes.latencies[at] = change,
        (None, true) => {}
        (None, false) => changes.latencies.push(change),
    }
}

fn amount(change: &LatencyChange) -> String {
    let percent = change.share_ppm as f64 / 10_000.0;
    let share = match change.share_ppm {
        0 => None,
        ppm if ppm <= -1_000_000 => Some("gone".to_owned()),
        ppm if ppm < 0 => Some(format!("{} faster", format::share(-percent / 100.0))),
        _ => Some(format!("{} slower", format::share(percent / 100.0))),
    };
    let add = (change.add_us != 0).then(|| format::change(change.add_us as f64));
    [share, add].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn value(element: &El) -> i64 {
    let text = element.as_kind::<HtmlInputElement>().map(HtmlInputElement::value).unwrap_or_default();
    text.trim().parse::<f64>().ok().filter(|v| v.abs() < 1e15).map_or(0, |v| v.round() as i64)
}

fn set_value(element: &El, value: i64) {
    if let Some(input) = element.as_kind::<HtmlInputElement>()
        && self::value(element) != value
    {
        input.set_value(&value.to_string());
    }
}

impl ChangeControls {
    /// Builds them.
    pub fn new(page: Page) -> ChangeControls {
        let keep = Keep::default();
        let pending = Pending::default();
        let slider = el("input")
            .attr("type", "range")
            .attr("min", "-100")
            .attr("max", "200")
            .attr("step", "5")
            .attr("aria-label", "Change of its latency in percent")
            .test("whatif-slider");
        let add = el("input")
            .attr("type", "number")
            .attr("step", "100")
            .attr("placeholder", "0")
            .attr("aria-label", "Microseconds added to its latency")
            .test("whatif-add");
        for input in [&slider, &add] {
            let (slider, add, pending) = (slider.clone(), add.clone(), pending.clone());
            let _ = input.clone().on(&keep, "input", move |_| {
                pending.set(Some((value(&slider), value(&add))));
                page.refresh();
            });
        }
        let asked = pending.clone();
        let gone = button("Gone").attr("title", "As if it took no time").test("whatif-gone").on_click(
            &keep,
            move || {
                asked.set(Some((-100, 0)));
                page.refresh();
            },
        );
        let beside = el("select").attr("aria-label", "Run in parallel to").test("whatif-parallel");
        let words = span("whatif-amount", "").test("whatif-amount");
        let title = div("whatif-title").test("whatif-title");
        let controls = div("whatif-controls")
            .child(&div("whatif-row").child(&slider).child(&words))
            .child(
                &div("whatif-row").child(&el("label").text("and ").child(&add).text(" \u{b5}s")).child(&gone),
            )
            .child(&div("whatif-row").child(&beside));
        let reset = button("Reset").test("whatif-reset").on_click(&keep, move || {
            page.change(|address| address.choices.flow.changes = Changes::default());
        });
        let chips = div("chips whatif-chips").test("whatif-changes");
        let element = div("whatif-side")
            .child(&title)
            .child(&controls)
            .child(&div("whatif-row whatif-made").child(&chips).child(&reset));
        ChangeControls {
            element,
            title,
            controls,
            slider,
            words,
            add,
            beside,
            chips,
            reset,
            target: Rc::default(),
            pending,
            shown: None,
            chip_keep: Keep::default(),
            _keep: keep,
        }
    }

    /// Their element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the flow, its selected node and the changes. What the slider asks for goes on once the answer before is
    /// there, so that each is shown and none is asked in vain.
    pub fn update(&mut self, page: Page, report: &Rc<FlowReport>, selected: Option<u32>) {
        let is_waiting = page.queries().what_if.is_waiting();
        let target = self.target.borrow().clone();
        if let (Some((percent, add_us)), Some(target)) = (self.pending.get(), target) {
            self.say_amount(percent, add_us, &target);
            if !is_waiting {
                self.pending.set(None);
                let change = |changes: &mut Changes| set_latency(changes, &target, percent * 10_000, add_us);
                page.change(|address| change(&mut address.choices.flow.changes));
            }
        }
        let changes = page.address().choices.flow.changes.clone();
        let node = selected.and_then(|at| report.nodes.get(at as usize));
        // An endpoint of any other flow can be changed too.
        let target = node.and_then(endpoint_of).or_else(|| match &*page.focus() {
            Focus::Endpoint(endpoint) => Some(endpoint.clone()),
            _ => None,
        });
        let now = Some((report.parent.clone(), selected, target.clone(), changes.clone()));
        if self.shown == now {
            return;
        }
        self.shown = now;
        self.chip_keep.clear();
        self.show_target(target, &changes);
        self.show_neighbours(page, report, selected);
        self.show_chips(page, &changes);
    }

    fn say_amount(&self, percent: i64, add_us: i64, Endpoint { service, operation }: &Endpoint) {
        let (service, operation) = (service.clone(), operation.clone());
        let words = amount(&LatencyChange { service, operation, share_ppm: percent * 10_000, add_us });
        self.words.set_text(if words.is_empty() { "as it is" } else { &words });
        set_value(&self.slider, percent);
        set_value(&self.add, add_us);
    }

    fn show_target(&self, target: Option<Endpoint>, changes: &Changes) {
        if *self.target.borrow() != target {
            self.pending.set(None);
        }
        self.controls.show(target.is_some());
        self.title.clear();
        match &target {
            Some(Endpoint { service, operation }) => self.title.add(&names::endpoint(service, operation)),
            None => {
                self.title.add(&span("muted", "Select a call in the picture or the table to change it."));
            }
        }
        if let Some(target) = &target {
            let change = change_of(changes, target);
            let (share, add) = change.map_or((0, 0), |c| (c.share_ppm / 10_000, c.add_us));
            if self.pending.get().is_none() {
                self.say_amount(share, add, target);
            }
        }
        self.target.replace(target);
    }

    /// The calls that the selected one waits for or that wait for it: it could run beside them.
    fn show_neighbours(&self, page: Page, report: &Rc<FlowReport>, selected: Option<u32>) {
        self.beside.clear();
        self.beside.show(false);
        let Some(selected) = selected else { return };
        let mut near: Vec<u32> = (report.edges.iter())
            .filter_map(|edge| match (edge.from == selected, edge.to == selected) {
                (true, _) => Some(edge.to),
                (_, true) => Some(edge.from),
                _ => None,
            })
            .filter(|node| (*node as usize) < report.nodes.len())
            .collect();
        near.sort_unstable();
        near.dedup();
        self.beside.show(!near.is_empty());
        self.beside.add(&el("option").attr("value", "").text("Run in parallel to\u{2026}"));
        for node in &near {
            let label = format::printable(report.label(*node));
            self.beside.add(&el("option").attr("value", &node.to_string()).text(&label));
        }
        let (list, report) = (self.beside.clone(), report.clone());
        let _ = self.beside.clone().on(&self.chip_keep, "change", move |_| {
            let text = list.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value).unwrap_or_default();
            let name = |at: u32| {
                let node = report.nodes.get(at as usize)?;
                let Endpoint { service, operation } = Endpoint::new(&node.service, &node.operation);
                Some(NodeName { service, operation, index: node.index })
            };
            let other = text.parse().ok().and_then(name);
            if let (Some(first), Some(second)) = (name(selected), other) {
                let Endpoint { service, operation } = report.parent.clone();
                let parallel = Parallel { service, operation, first, second };
                page.change(|address| {
                    if !address.choices.flow.changes.parallel.contains(&parallel) {
                        address.choices.flow.changes.parallel.push(parallel);
                    }
                });
            }
        });
    }

    fn show_chips(&self, page: Page, changes: &Changes) {
        self.chips.clear();
        let chip = |words: String, remove: Box<dyn Fn(&mut Changes)>| {
            let away = button("")
                .class("quiet dismiss")
                .label(&format!("Take away: {words}"))
                .test("whatif-remove")
                .node(&icon("M4 4l8 8M12 4l-8 8"))
                .on_click(&self.chip_keep, move || {
                    page.change(|address| remove(&mut address.choices.flow.changes))
                });
            let chip = div("chip").test("whatif-change").attr("title", &words);
            self.chips.add(&chip.child(&span("chip-words", &words)).child(&away));
        };
        for (at, change) in changes.latencies.iter().enumerate() {
            let words = format!("{}: {}", format::printable(&change.operation), amount(change));
            chip(
                words,
                Box::new(move |changes| {
                    changes.latencies.remove(at);
                }),
            );
        }
        for (at, change) in changes.parallel.iter().enumerate() {
            let [a, b] = [&change.first, &change.second].map(|node| format::printable(&node.operation));
            chip(
                format!("{a} beside {b}"),
                Box::new(move |changes| {
                    changes.parallel.remove(at);
                }),
            );
        }
        self.reset.show(*changes != Changes::default());
    }
}
