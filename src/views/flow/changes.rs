//! The changes of a what-if: made on the selected call or on a subject, shown as chips that can be taken away.

use crate::dom::{El, Listeners, button, div, el, icon, span};
use crate::page::{Focus, Page};
use crate::widgets::controls::{self, Segments};
use crate::widgets::names;
use pathlight_engine::flow::{ChangeOf, Changes, FlowReport};
use pathlight_engine::ids::NodeId;
use pathlight_trace::Endpoint;
use pathlight_view::flow;
use pathlight_view::flow::changes::{
    CHANGE_CHOICES, ChangeTarget, Wanted, chips, neighbours, network_words, queue_words, set_parallel,
    subject_options,
};
use pathlight_view::say::subject::subject_words;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use web_sys::HtmlInputElement;

/// A change that the slider asks for and that waits for the report before it.
type Pending = Rc<Cell<Option<Wanted>>>;

/// A flow, and a call of it.
type First = Rc<RefCell<Option<(Rc<FlowReport>, NodeId)>>>;

/// Slider, field and lists that change the selected call or a subject, and the changes made so far.
pub struct ChangeControls {
    element: El,
    title: El,
    /// List of subjects and queues, and the one that is chosen in place of the selected call.
    subjects: El,
    chosen: Rc<RefCell<Option<ChangeTarget>>>,
    /// Revisions of the overview whose services have their subjects offered, and of the queues.
    offered: Option<[u64; 2]>,
    controls: El,
    questions: Segments,
    of: Rc<Cell<ChangeOf>>,
    slider: El,
    words: El,
    add: El,
    gone: El,
    usual: El,
    beside: El,
    chips: El,
    reset: El,
    /// Endpoint of the selected call.
    call: Option<Endpoint>,
    target: Option<ChangeTarget>,
    pending: Pending,
    /// Parent, selected node, target and changes that are shown.
    shown: Option<(Endpoint, Option<NodeId>, Option<ChangeTarget>, Changes)>,
    /// The flow and the selected node, which another call is to run in parallel to.
    first: First,
    chip_keep: Listeners,
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
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> ChangeControls {
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
        let of = Rc::new(Cell::new(ChangeOf::default()));
        for input in [&slider, &add] {
            let (slider, add, pending, of) = (slider.clone(), add.clone(), pending.clone(), of.clone());
            let _ = input.clone().on(keep, "input", move |_| {
                pending.set(Some(Wanted::By((of.get(), value(&slider), value(&add)))));
                page.refresh();
            });
        }
        let mut questions = Segments::new("What changes");
        for (asked, name, what, key) in CHANGE_CHOICES {
            let (slider, add, pending, of) = (slider.clone(), add.clone(), pending.clone(), of.clone());
            questions = questions.button(keep, (name, what, &format!("whatif-{key}")), move || {
                of.set(asked);
                pending.set(Some(Wanted::By((asked, value(&slider), value(&add)))));
                page.refresh();
            });
        }
        let asked = pending.clone();
        let gone = button("Gone")
            .attr("title", "As if the call, with all it waits for, took no time")
            .test("whatif-gone")
            .on_click(keep, move || {
                asked.set(Some(Wanted::By((ChangeOf::WholeCall, -100, 0))));
                page.refresh();
            });
        let asked = pending.clone();
        let usual = button("As usual")
            .attr("title", "What it takes in set A; of one set, in the faster half of each request type")
            .test("whatif-usual")
            .on_click(keep, move || {
                asked.set(Some(Wanted::Usual));
                page.refresh();
            });
        let chosen: Rc<RefCell<Option<ChangeTarget>>> = Rc::default();
        let choose = chosen.clone();
        let subjects = controls::select(keep, "whatif-subject", move |value| {
            choose.replace(ChangeTarget::parse(&value));
            page.refresh();
        });
        let subjects = subjects.attr("aria-label", "The call, part of a service or queue that changes");
        let first = First::default();
        let from = first.clone();
        let beside = controls::select(keep, "whatif-parallel", move |value| {
            let first = from.borrow().clone();
            if let (Some((report, first)), Ok(second)) = (first, value.parse().map(NodeId)) {
                page.change(|address| {
                    set_parallel(&mut address.choices.flow.changes, &report, [first, second]);
                });
            }
        });
        let beside = beside.attr("aria-label", "Run in parallel to");
        let words = span("whatif-amount", "").test("whatif-amount");
        let title = div("whatif-title").test("whatif-title");
        let controls = div("whatif-controls")
            .child(&div("whatif-row").child(questions.element()))
            .child(&div("whatif-row").child(&slider).child(&words))
            .child(
                &div("whatif-row")
                    .child(&el("label").text("plus ").child(&add).text(" \u{b5}s a call"))
                    .child(&gone)
                    .child(&usual),
            )
            .child(&div("whatif-row").child(&beside));
        let reset = button("Reset").test("whatif-reset").on_click(keep, move || {
            page.change(|address| address.choices.flow.changes = Changes::default());
        });
        let chips = div("chips whatif-chips").test("whatif-changes");
        let element = div("whatif-side")
            .child(&div("whatif-row").child(&subjects))
            .child(&title)
            .child(&controls)
            .child(&div("whatif-row whatif-made").child(&chips).child(&reset));
        ChangeControls {
            element,
            title,
            subjects,
            chosen,
            offered: None,
            controls,
            questions,
            of,
            slider,
            words,
            add,
            gone,
            usual,
            beside,
            chips,
            reset,
            call: None,
            target: None,
            pending,
            shown: None,
            first,
            chip_keep: Listeners::default(),
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the flow, its selected node and the changes. What the slider asks for goes on once the report before is
    /// there, so that each is shown and none is asked for in vain.
    pub fn update(&mut self, page: Page, report: &Rc<FlowReport>, selected: Option<NodeId>) {
        if let (Some(wanted), Some(target)) = (self.pending.get(), self.target.clone()) {
            self.show_wanted(&target, wanted);
            if !page.queries().what_if.is_waiting() {
                self.pending.set(None);
                page.change(|address| target.set(&mut address.choices.flow.changes, wanted));
            }
        }
        self.offer_subjects(page);
        let changes = page.address().choices.flow.changes.clone();
        let node = selected.and_then(|at| report.nodes.get(at.index()));
        // An endpoint of any other flow can be changed too.
        let call = node.and_then(flow::endpoint_of).or_else(|| match &*page.focus() {
            Focus::Endpoint(endpoint) => Some(endpoint.clone()),
            _ => None,
        });
        if self.call != call {
            // Whoever selects a call wants to change it.
            self.chosen.replace(None);
            self.call.clone_from(&call);
        }
        let chosen = self.chosen.borrow().clone();
        let target = chosen.or(call.map(ChangeTarget::Endpoint));
        let now = Some((report.parent.clone(), selected, target.clone(), changes.clone()));
        if self.shown == now {
            return;
        }
        self.shown = now;
        self.show_target(target, &changes);
        // Two calls of a flow: a subject is none.
        self.show_neighbours(report, selected.filter(|_| self.chosen.borrow().is_none()));
        self.show_chips(page, &changes);
    }

    /// Offers the subjects of all services that are loaded, and the queues of the selection.
    fn offer_subjects(&mut self, page: Page) {
        let queues = &page.queries().queues;
        let now = Some([page.overview_revision(), queues.revision()]);
        if let Some(overview) = page.overview_in_sight().filter(|_| self.offered != now) {
            self.offered = now;
            let queues = queues.get();
            let edges = queues.as_ref().map_or(&[][..], |report| &report.edges);
            controls::offer(&self.subjects, &subject_options(&overview.service_names(), edges), "");
        }
        let chosen = self.chosen.borrow().as_ref().map(ChangeTarget::value);
        controls::choose(&self.subjects, &chosen.unwrap_or_default());
    }

    fn show_wanted(&self, target: &ChangeTarget, wanted: Wanted) {
        let (of, percent, add_us) = match wanted {
            Wanted::By(amount) => amount,
            Wanted::Usual => (ChangeOf::OwnWork, 0, 0),
        };
        self.of.set(of);
        self.questions.press(usize::from(of == ChangeOf::WholeCall));
        self.words.set_text(&target.words(wanted));
        set_value(&self.slider, percent);
        set_value(&self.add, add_us);
    }

    fn show_target(&mut self, target: Option<ChangeTarget>, changes: &Changes) {
        if self.target != target {
            self.pending.set(None);
        }
        self.controls.show(target.is_some());
        self.title.clear();
        let is_call = matches!(target, Some(ChangeTarget::Endpoint(_)));
        let has_usual = matches!(target, Some(ChangeTarget::Subject(_) | ChangeTarget::Queue(_)));
        self.questions.element().show(is_call);
        self.gone.show(is_call);
        self.usual.show(has_usual);
        match &target {
            Some(ChangeTarget::Endpoint(Endpoint { service, operation })) => {
                self.title.add(&names::endpoint(service, operation));
            }
            Some(ChangeTarget::Subject(subject)) => self.title.add(&span("", &subject_words(subject))),
            Some(ChangeTarget::Queue(queue)) => self.title.add(&span("", &queue_words(queue))),
            Some(ChangeTarget::Network) => self.title.add(&span("", &network_words())),
            None => {
                let words =
                    "Select a call in the chart or the table to change it, or a part of a service above.";
                self.title.add(&span("muted", words));
            }
        }
        if let Some(target) = target.as_ref().filter(|_| self.pending.get().is_none()) {
            // A question that nothing is asked yet of stays as it was chosen.
            let wanted = match target.wanted(changes) {
                Wanted::By((_, 0, 0)) => Wanted::By((self.of.get(), 0, 0)),
                wanted => wanted,
            };
            self.show_wanted(target, wanted);
        }
        self.target = target;
    }

    fn show_neighbours(&self, report: &Rc<FlowReport>, selected: Option<NodeId>) {
        let near = selected.map(|selected| neighbours(report, selected)).unwrap_or_default();
        self.beside.clear();
        self.beside.show(!near.is_empty());
        self.beside.add(&controls::option("", "Run in parallel to\u{2026}"));
        for (node, label) in near {
            self.beside.add(&controls::option(&node.0.to_string(), &label));
        }
        self.first.replace(selected.map(|selected| (report.clone(), selected)));
    }

    fn show_chips(&self, page: Page, changes: &Changes) {
        self.chip_keep.clear();
        self.chips.clear();
        for (at, words) in chips(changes) {
            let away = button("")
                .class("quiet dismiss")
                .label(&format!("Take away: {words}"))
                .test("whatif-remove")
                .node(&icon("M4 4l8 8M12 4l-8 8"))
                .on_click(&self.chip_keep, move || {
                    page.change(|address| at.remove(&mut address.choices.flow.changes));
                });
            let chip = div("chip").test("whatif-change").attr("title", &words);
            self.chips.add(&chip.child(&span("chip-words", &words)).child(&away));
        }
        self.reset.show(*changes != Changes::default());
    }
}
