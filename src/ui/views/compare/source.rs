//! Two sides as a flame graph, and their changes in words.

use crate::ui::dom::{El, div, el, span};
use crate::ui::page::Endpoint;
use crate::ui::views::flame::source::FlameSource;
use crate::ui::widgets::tree::Calls;
use pathlight_chart::flame::{DiffFlame, FlameTree, FlameWords, is_told};
use pathlight_query::{Basis, Change, DiffNode, DiffReport, Interval, Measure, Presence};
use pathlight_text::format;
use pathlight_view::choices::Choices;
use std::rc::Rc;

/// A report of both sides as it is looked at.
pub struct DiffSource {
    /// The report.
    pub report: Rc<DiffReport>,
    /// The switches of the view.
    pub choices: Choices,
    /// The picture.
    pub flame: DiffFlame,
}

impl DiffSource {
    /// Lays a report out.
    pub fn new(report: Rc<DiffReport>, choices: &Choices) -> DiffSource {
        let flame = DiffFlame::new(&report, &choices.diff);
        DiffSource { report, choices: choices.clone(), flame }
    }

    /// A time in the unit that is compared.
    pub fn amount(&self, value: f64) -> String {
        match self.choices.diff.basis {
            Basis::Mean => format::duration(value),
            Basis::Share => format::share(value),
        }
    }

    /// A change in the unit that is compared, with its sign.
    pub fn change(&self, value: f64) -> String {
        match self.choices.diff.basis {
            Basis::Mean => format::change(value),
            Basis::Share if value > 0.0 => format!("+{}", format::share(value)),
            Basis::Share => format::share(value),
        }
    }

    /// An interval of changes.
    pub fn interval(&self, interval: Option<Interval>) -> String {
        interval.map_or(format::DASH.to_owned(), |interval| {
            format!("{} to {}", self.change(interval.low), self.change(interval.high))
        })
    }

    /// What is to be said of a change besides its size; nothing if it is what it seems.
    pub fn verdict(&self, node: &DiffNode, change: &Change) -> &'static str {
        match node.presence() {
            Presence::New => "new",
            Presence::Gone => "gone",
            Presence::Both if change.is_noise => "noise",
            Presence::Both if change.change != 0.0 && !is_told(&self.report, &self.choices.diff, change) => {
                "small"
            }
            Presence::Both => "",
        }
    }

    /// The numbers of a node as a table: sides and change, with what it calls and without.
    pub fn numbers(&self, node: u32) -> El {
        let basis = self.choices.diff.basis;
        let row = |name: &str, measure: Measure| {
            let change = self.report.change(node, basis, measure);
            let cell = |text: &str, value: f64| {
                el("td").class("num").attr("data-value", &value.to_string()).text(text)
            };
            el("tr")
                .child(&el("th").attr("scope", "row").text(name))
                .child(&cell(&self.amount(change.a), change.a))
                .child(&cell(&self.amount(change.b), change.b))
                .child(&cell(&self.change(change.change), change.change))
        };
        let head = ["", "A", "B", "change"]
            .iter()
            .fold(el("tr"), |row, title| row.child(&el("th").class("num").attr("scope", "col").text(title)));
        let body = el("tbody").child(&row("own", Measure::Exclusive)).child(&row("whole", Measure::Subtree));
        el("table").class("weights").child(&el("thead").child(&head)).child(&body)
    }

    /// How sure the change of a node is, in a sentence.
    pub fn certainty(&self, node: u32) -> String {
        let change = self.report.change(node, self.choices.diff.basis, self.choices.diff.measure);
        let what = match self.choices.diff.measure {
            Measure::Subtree => "The change with what it calls",
            Measure::Exclusive => "The change of its own time",
        };
        match change.interval {
            Some(interval) if change.is_noise => {
                format!("{what} is no more than noise: 95 % interval {}.", self.interval(Some(interval)))
            }
            Some(interval) => format!("{what} lies in {} (95 %).", self.interval(Some(interval))),
            None => "Not tested: a side has fewer than two requests, or nothing varies.".to_owned(),
        }
    }

    /// What a tip says of a node, below its name.
    pub fn tip(&self, at: u32) -> Vec<El> {
        let Some(node) = self.report.nodes.get(at as usize) else { return Vec::new() };
        let one_sided = match node.presence() {
            Presence::New => Some(div("strong").text("New: on side B only")),
            Presence::Gone => Some(div("strong").text("Gone: on side A only")),
            Presence::Both => None,
        };
        let sure = [div("").text(&self.certainty(at)), span("muted", &self.presence(node))];
        one_sided.into_iter().chain([self.numbers(at)]).chain(sure).collect()
    }

    /// In how many requests of each side a node is.
    pub fn presence(&self, node: &DiffNode) -> String {
        let of = |part: u64, whole: u64| format!("{} of {}", format::count(part), format::count(whole));
        let (a, b) = (self.report.a.facts.requests, self.report.b.facts.requests);
        format!("in {} requests of A, {} of B", of(node.a.requests, a), of(node.b.requests, b))
    }
}

impl Calls for DiffSource {
    fn nodes(&self) -> u32 {
        self.report.nodes()
    }

    fn call(&self, at: u32) -> Option<(Option<u32>, u32)> {
        self.report.call(at)
    }

    fn names(&self) -> &[Endpoint] {
        self.report.names()
    }
}

impl FlameSource for DiffSource {
    fn tree(&self) -> FlameTree {
        self.flame.tree.clone()
    }

    fn words<'a>(&'a self, tree: &'a FlameTree, title: &str) -> FlameWords<'a> {
        let tip = |at: u32| {
            let label = tree.frame(at).map_or("", |frame| frame.label.as_str());
            let change = self.report.change(at, self.choices.diff.basis, self.choices.diff.measure);
            format!(
                "{label}: A {}, B {}, change {}, 95 % interval {}",
                self.amount(change.a),
                self.amount(change.b),
                self.change(change.change),
                self.interval(change.interval)
            )
        };
        let description = format!(
            "Differential flame graph of {} requests (A) and {} (B). Blue took less time on side B, orange more; grey is \
             no more than noise. The strongest colour is a change of {}.",
            format::count(self.report.a.facts.requests),
            format::count(self.report.b.facts.requests),
            self.amount(self.flame.scale)
        );
        FlameWords { title: title.to_owned(), description, tip: Box::new(tip) }
    }
}
