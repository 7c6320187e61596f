//! The execution flow of a parent endpoint: what waits for what, what if it were otherwise, how well that predicts.

pub mod calls;
pub mod changes;
pub mod chart;
pub mod facts;
pub mod learn;
pub mod parent;
pub mod prediction;
pub mod queries;
pub mod savings;
pub mod what_if;

use crate::ui::dom::{El, Keep, button, div, span};
use crate::ui::page::{Page, Part};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::{Last, Search};
use crate::ui::view::AnyView;
use crate::ui::widgets::chart_canvas::{CanvasChart, ChartCanvas};
use crate::ui::widgets::export;
use crate::ui::widgets::frame::{Frame, WORKING};
use crate::ui::widgets::table::Table;
use crate::ui::widgets::zoom;
use crate::ui::widgets::zoom::{ZoomableChart as _, svg_format};
use calls::CallRow;
use chart::FlowChart;
use learn::Learn;
use parent::ParentBar;
use pathlight_query::{Endpoint, FlowReport};
use pathlight_text::format;
use pathlight_text::format::counted;
use pathlight_view::address::View;
use pathlight_view::flow_choice::FlowPanel;
use pathlight_view::json;
use prediction::PredictionPanel;
use savings::SavingsPanel;
use std::rc::Rc;
use what_if::WhatIfPanel;

use queries::shown_parent;

pub use facts::facts;
pub use queries::query;

/// Panels with their names, in the order of [`FlowPanel::ALL`].
const PANELS: [(&str, &str); 4] = [
    ("Calls", "Every call with its latency and wait"),
    ("What if", "The whole request, were some calls faster, slower, gone or side by side"),
    ("How well it predicts", "Six ways to predict held-out invocations"),
    ("Savings", "What every endpoint would save, ranked"),
];

/// The view.
pub struct FlowView {
    frame: Frame,
    chart: ChartCanvas<FlowChart>,
    title: El,
    own_flow: El,
    all: El,
    parents: ParentBar,
    learn: Learn,
    tabs: [El; 4],
    table: Table<CallRow>,
    what_if: WhatIfPanel,
    prediction: PredictionPanel,
    savings: SavingsPanel,
    search: Search,
    shown: u64,
    searched: Last<u64>,
    _keep: Keep,
}

impl FlowView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> FlowView {
        let keep = Keep::default();
        let chart = ChartCanvas::new(
            FlowChart::new(page),
            "flow",
            "Execution flow, from start to return; the table below says the same",
        );
        let parents = ParentBar::new(page);
        let learn = Learn::new(page);
        let own_flow = parents.own_flow(move || chart.look(|chart| chart.open_selected(page)));
        let all = button("Show all")
            .attr("title", "F, or double-click beside the calls")
            .test("fit-flow")
            .on_click(&keep, move || chart.with(CanvasChart::fit));
        chart.on_zoom(move || page.refresh());
        let title = span("title muted", "").test("flow-title");
        let exports =
            export::menu(page, &keep, "execution-flow", Some(chart.canvas().clone()), formats(chart));
        let tools = div("tools")
            .child(parents.crumbs())
            .child(parents.list())
            .child(&title)
            .child(&div("grow"))
            .child(learn.element())
            .child(&own_flow)
            .child(&all)
            .child(&exports);
        let table = calls::table(page, move |node| chart.with(|chart| chart.choose(page, node)));
        let (what_if, prediction, savings) =
            (WhatIfPanel::new(page), PredictionPanel::new(page), SavingsPanel::new(page));
        let mut panels = FlowPanel::ALL.iter().zip(PANELS);
        let tabs = std::array::from_fn(|_| {
            let (panel, (name, what)) = panels.next().unwrap_or((&FlowPanel::Calls, ("", "")));
            let panel = *panel;
            button(name)
                .attr("title", what)
                .test(&format!("panel-{}", panel.key()))
                .on_click(&keep, move || page.change(|address| address.choices.flow.panel = panel))
        });
        let segments =
            div("segments").attr("role", "group").attr("aria-label", "Below the picture").children(&tabs);
        let below = div("companion flow-companion")
            .child(&div("tools").child(&segments).child(&div("grow")).child(what_if.exports()))
            .child(table.element())
            .child(what_if.element())
            .child(prediction.element())
            .child(savings.element());
        let frame = Frame::new(View::Flow, "flow", chart, below).with(&tools).with(chart.element());
        FlowView {
            frame,
            chart,
            title,
            own_flow,
            all,
            parents,
            learn,
            tabs,
            table,
            what_if,
            prediction,
            savings,
            search: search.clone(),
            shown: 0,
            searched: Last::default(),
            _keep: keep,
        }
    }

    fn take_report(&mut self, page: Page) {
        let slot = &page.queries().flow;
        let why = why_empty(page);
        self.frame.set_text(&why);
        let Some(report) = slot.get().filter(|_| self.shown != slot.revision()) else { return };
        self.shown = slot.revision();
        self.chart.renew(|chart| chart.take(report.clone()));
        let rows = (0..report.nodes.len() as u32).map(|at| CallRow { at, report: report.clone() });
        self.table.set_rows(Rc::new(rows.collect()));
        self.table.set_empty(&why);
        self.title.set_text(&title_of(&report));
        self.searched.forget();
    }

    fn show_panel(&mut self, page: Page) {
        let panel = page.address().choices.flow.panel;
        for (tab, each) in self.tabs.iter().zip(FlowPanel::ALL) {
            tab.set_flag("aria-pressed", each == panel);
        }
        self.table.element().show(panel == FlowPanel::Calls);
        self.what_if.element().show(panel == FlowPanel::WhatIf);
        self.what_if.exports().show(panel == FlowPanel::WhatIf);
        self.prediction.element().show(panel == FlowPanel::Prediction);
        self.savings.element().show(panel == FlowPanel::Savings);
        let (report, selected) = self.chart.look(|chart| (chart.report().clone(), chart.selected()));
        match panel {
            FlowPanel::Calls => {
                self.table.set_stale(page.queries().flow.is_waiting());
                self.table.set_sort(page.address().sort.as_ref());
                self.table.select(selected.map(|node| node as usize));
            }
            FlowPanel::WhatIf => self.what_if.update(page, &report, selected),
            FlowPanel::Prediction => self.prediction.update(page),
            FlowPanel::Savings => self.savings.update(page),
        }
    }

    fn take_search(&mut self, page: Page) {
        let text = page.address().search.clone();
        if !self.searched.is_new(&text, self.shown) {
            return;
        }
        let found = self.chart.with(|chart| chart.search(&text));
        self.table.set_hits(self.chart.look(FlowChart::found).map(Rc::new));
        let chart = self.chart;
        self.search.publish(found, None, move |page, forward| chart.with(|chart| chart.step(page, forward)));
    }
}

fn title_of(report: &FlowReport) -> String {
    let few = if report.invocations < 30 {
        format!(" ({})", format::sample(report.invocations))
    } else {
        String::new()
    };
    let mut words = format!(
        "{}, {}, {} in the mean{few}",
        counted(report.invocations, "invocation"),
        counted(report.nodes.len() as u64, "call"),
        format::duration(report.latency_us.mean),
    );
    if let Some(kept) = report.repeats_kept {
        words.push_str(&format!("; repeats above #{kept} folded"));
    }
    if report.has_others {
        words.push_str("; the rarest calls share one node");
    }
    words
}

/// Why there is nothing to be seen; empty if there is.
fn why_empty(page: Page) -> String {
    let queries = page.queries();
    let Some(Endpoint { service, operation }) = shown_parent(page) else {
        let waiting = queries.flow_parents.is_waiting();
        return if waiting { WORKING } else { "No endpoint here waits for any call." }.to_owned();
    };
    match queries.flow.get() {
        Some(report) if !report.nodes.is_empty() => String::new(),
        Some(_) if !queries.flow.is_waiting() => format!(
            "{} waits for no call{}. Choose another parent above.",
            format::printable(&format::endpoint(&service, &operation)),
            if page.address().filters.is_empty() { "" } else { " in requests that pass the filters" }
        ),
        _ => WORKING.to_owned(),
    }
}

fn formats(chart: ChartCanvas<FlowChart>) -> Vec<export::Format> {
    vec![
        svg_format(chart),
        ("CSV table", "csv", Box::new(move || Some(chart.look(|chart| calls::csv(chart.report()))))),
        ("JSON report", "json", Box::new(move || chart.look(|chart| json::flow(chart.report()).ok()))),
    ]
}

impl Part for FlowView {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            return;
        }
        self.chart.follow_theme();
        self.parents.update(page);
        self.learn.update(page);
        self.take_report(page);
        self.chart.element().class_if("stale", page.queries().flow.is_waiting());
        self.chart.with(|chart| {
            chart.follow(page);
            chart.mark(&page.address().choices.flow.changes);
        });
        self.take_search(page);
        self.show_panel(page);
        let zoomed = self.chart.is_zoomed();
        let opens = self.chart.look(|chart| {
            let node = chart.selected().and_then(|at| chart.report().nodes.get(at as usize));
            node.is_some_and(parent::opens)
        });
        for (button, on) in [(&self.own_flow, opens), (&self.all, zoomed)] {
            if on { button.unset("disabled") } else { button.set("disabled", "") }
        }
        let report = self.chart.look(|chart| chart.report().clone());
        self.chart.canvas().set("data-nodes", &report.nodes.len().to_string());
        self.chart.canvas().set("data-edges", &report.edges.len().to_string());
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        if !self.frame.is_chosen(page) || self.shown == 0 {
            return false;
        }
        zoom::command(self.chart, page, command)
    }
}

impl AnyView for FlowView {
    fn frame(&self) -> &Frame {
        &self.frame
    }
}
