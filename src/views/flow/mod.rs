//! The execution flow of a parent endpoint: what waits for what, what if it were otherwise, how well that predicts.

pub mod capacity;
pub mod changes;
pub mod chart;
mod cheapest;
pub mod deployments;
pub mod facts;
pub mod headroom;
mod learn;
mod limit_field;
pub mod map;
pub mod parallelise;
mod parent;
pub mod prediction;
pub mod queries;
pub mod queues;
pub mod report_table;
pub mod savings;
pub mod target;
pub mod time_field;
pub mod timeout;
pub mod variants;
pub mod what_if;

use crate::dom::{El, Listeners, button, div, span};
use crate::page::Page;
use crate::views::view::{PageView, SearchResult};
use crate::widgets::chart_canvas::{CanvasChart, ChartCanvas};
use crate::widgets::companion::CompanionTable;
use crate::widgets::controls::{self, Segments};
use crate::widgets::frame::ViewFrame;
use crate::widgets::zoom::{self, ZoomableChart as _, svg_format};
use crate::widgets::{export, service_legend};
use chart::FlowChart;
use deployments::DeploymentsPanel;
use headroom::HeadroomPanel;
use learn::Learn;
use map::MapPanel;
use parallelise::ParallelisePanel;
use parent::ParentBar;
use pathlight_engine::ids::NodeId;
use pathlight_trace::Endpoint;
use pathlight_view::address::Address;
use pathlight_view::flow::choice::FlowPanel;
use pathlight_view::flow::{self, CallLine};
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::views::View;
use pathlight_view::{json, summaries};
use prediction::PredictionPanel;
use queries::{panel, shown_parent};
use queues::QueuesPanel;
use savings::SavingsPanel;
use target::TargetPanel;
use timeout::TimeoutPanel;
use variants::VariantsPanel;
use what_if::WhatIfPanel;

pub use facts::facts;

/// The view.
pub struct FlowView {
    frame: ViewFrame,
    /// One flow, or the map of services.
    modes: Segments,
    map: MapPanel,
    /// Tools and panels of one flow.
    flow_tools: El,
    flow_below: El,
    chart: ChartCanvas<FlowChart>,
    title: El,
    own_flow: El,
    all: El,
    parents: ParentBar,
    learn: Learn,
    panels: Segments,
    needs_spans: El,
    table: CompanionTable<CallLine>,
    variants: VariantsPanel,
    what_if: WhatIfPanel,
    target: TargetPanel,
    headroom: HeadroomPanel,
    timeout: TimeoutPanel,
    prediction: PredictionPanel,
    savings: SavingsPanel,
    parallelise: ParallelisePanel,
    deployments: DeploymentsPanel,
    queues: QueuesPanel,
}

/// Goes to the flow of an endpoint from the one that is shown.
fn go_to(page: Page, endpoint: Endpoint) {
    let shown = shown_parent(page);
    page.change(|address| address.choices.flow.go_to(endpoint, shown));
}

impl FlowView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> FlowView {
        let chart = ChartCanvas::new(
            FlowChart::new(page),
            "flow",
            "Execution flow, from start to return; the table below says the same",
        );
        let parents = ParentBar::new(page, keep);
        let learn = Learn::new(page, keep);
        let own_flow = button("Its own flow")
            .attr("title", "Enter, or double-click the call")
            .test("own-flow")
            .on_click(keep, move || chart.look(|chart| chart.open_selected(page)));
        let all = button("Show all")
            .attr("title", "F, or double-click beside the calls")
            .test("fit-flow")
            .on_click(keep, move || chart.with(CanvasChart::fit));
        chart.on_zoom(move || page.refresh());
        let title = span("title muted", "").test("flow-title");
        let table = CompanionTable::new(page, flow::table())
            .on_select(move |line| chart.with(|chart| chart.choose(page, line.at())))
            .on_open(move |line| flow::opens(line.node()).into_iter().for_each(|to| go_to(page, to)));
        let formats = formats(chart, table);
        let of_report =
            move || page.queries().flow.get().map_or_else(Vec::new, |report| flow::services(&report));
        let legend = service_legend::exported(of_report);
        let exports = export::menu(page, keep, "execution-flow", legend, formats);
        let services = service_legend::legend(page, keep, of_report);
        let mode = move |map| page.step(|address| address.choices.flow.map = map);
        let map_hint = "Which service calls which, over all requests, and how long they wait for it";
        let modes = Segments::new("What is drawn")
            .button(
                keep,
                ("One endpoint", "The calls of one endpoint, and which waits for which", "flow-one"),
                move || mode(false),
            )
            .button(keep, ("Map of services", map_hint, "flow-map"), move || mode(true));
        let map = MapPanel::new(page, keep);
        let flow_tools = div("tools-part")
            .child(parents.crumbs())
            .child(parents.list())
            .child(&title)
            .child(&services)
            .child(&div("grow"))
            .child(learn.element())
            .child(&own_flow)
            .child(&all)
            .child(&exports);
        let tools = div("tools").child(modes.element()).child(&flow_tools).child(map.tools());
        let variants = VariantsPanel::new(page, keep);
        let what_if = WhatIfPanel::new(page, keep);
        let target = TargetPanel::new(page, keep);
        let headroom = HeadroomPanel::new(page, keep);
        let timeout = TimeoutPanel::new(page, keep);
        let prediction = PredictionPanel::new(page, keep);
        let savings = SavingsPanel::new(page, keep);
        let parallelise = ParallelisePanel::new(page, keep);
        let deployments = DeploymentsPanel::new(page, keep);
        let queues = QueuesPanel::new(page, keep);
        let mut panels = Segments::new("Below the chart");
        for panel in FlowPanel::ALL {
            let (name, what) = flow::panel_words(panel);
            panels = panels.button(keep, (name, what, &format!("panel-{}", panel.key())), move || {
                page.change(|address| address.choices.flow.panel = panel);
            });
        }
        let needs_spans = span("muted", summaries::FLOW_ONLY).test("flow-needs-spans");
        let flow_below = div("flow-below")
            .child(
                &div("tools")
                    .child(panels.element())
                    .child(&needs_spans)
                    .child(&div("grow"))
                    .child(what_if.exports()),
            )
            .child(table.element())
            .child(variants.element())
            .child(what_if.element())
            .child(target.element())
            .child(headroom.element())
            .child(timeout.element())
            .child(prediction.element())
            .child(savings.element())
            .child(parallelise.element())
            .child(deployments.element())
            .child(queues.element());
        let below = div("companion flow-companion").child(&flow_below).child(map.table().element());
        let frame = ViewFrame::new(View::Flow, "flow", chart, below).with(&tools).with(chart.element());
        let frame = frame.with(map.chart().element()).table(table).also(map.chart());
        FlowView {
            frame: frame.also(queues.chart()).fits(queues.chart()),
            modes,
            map,
            flow_tools,
            flow_below,
            chart,
            title,
            own_flow,
            all,
            parents,
            learn,
            panels,
            needs_spans,
            table,
            variants,
            what_if,
            target,
            headroom,
            timeout,
            prediction,
            savings,
            parallelise,
            deployments,
            queues,
        }
    }

    fn show_panel(&mut self, page: Page) {
        let panel = panel(page);
        self.panels.press(panel as usize);
        // Reached through the model: who reads a flow rarely asks.
        self.panels.at(FlowPanel::Prediction as usize).show(panel == FlowPanel::Prediction);
        // Most sets have no messages.
        let has_queues = panel == FlowPanel::Queues || queues::has_messages(page);
        self.panels.at(FlowPanel::Queues as usize).show(has_queues);
        self.panels.element().show(!page.is_summary());
        self.needs_spans.show(page.is_summary());
        self.table.show(panel == FlowPanel::Calls);
        self.variants.element().show(panel == FlowPanel::Variants);
        self.what_if.element().show(panel == FlowPanel::WhatIf);
        self.what_if.exports().show(panel == FlowPanel::WhatIf);
        self.target.element().show(panel == FlowPanel::Target);
        self.headroom.element().show(panel == FlowPanel::Headroom);
        self.timeout.element().show(panel == FlowPanel::Timeout);
        self.prediction.element().show(panel == FlowPanel::Prediction);
        self.savings.element().show(panel == FlowPanel::Savings);
        self.parallelise.element().show(panel == FlowPanel::Parallelise);
        self.deployments.element().show(panel == FlowPanel::Deployments);
        self.queues.element().show(panel == FlowPanel::Queues);
        let (report, selected) = self.chart.look(|chart| (chart.report().clone(), chart.selected()));
        match panel {
            FlowPanel::Calls => self.table.select_at(selected.map(NodeId::index)),
            FlowPanel::Variants => self.variants.update(page),
            FlowPanel::WhatIf => self.what_if.update(page, &report, selected),
            FlowPanel::Target => self.target.update(page),
            FlowPanel::Headroom => self.headroom.update(page),
            FlowPanel::Timeout => self.timeout.update(page),
            FlowPanel::Prediction => self.prediction.update(page),
            FlowPanel::Savings => self.savings.update(page),
            FlowPanel::Parallelise => self.parallelise.update(page),
            FlowPanel::Deployments => self.deployments.update(page),
            FlowPanel::Queues => self.queues.update(page),
        }
    }
}

/// Returns why no flow is drawn; empty if one is.
fn why_empty(page: Page) -> String {
    let queries = page.queries();
    let parent = shown_parent(page);
    let (is_waiting, failure) = match parent {
        Some(_) => (queries.flow.is_waiting(), queries.flow.failure()),
        None => (queries.flow_parents.is_waiting(), queries.flow_parents.failure()),
    };
    if let Some(failure) = failure {
        return failure;
    }
    flow::why_empty(&page.address(), parent.as_ref(), queries.flow.get().as_deref(), is_waiting)
}

fn formats(chart: ChartCanvas<FlowChart>, table: CompanionTable<CallLine>) -> Vec<export::Format> {
    vec![
        svg_format(chart),
        ("CSV table", "csv", Box::new(move || table.csv())),
        ("JSON report", "json", Box::new(move || chart.look(|chart| json::flow(chart.report()).ok()))),
    ]
}

impl PageView for FlowView {
    /// Revision of the report, and whether it is that of the map.
    type Content = (u64, bool);

    fn ask(page: Page, address: &Address) {
        queries::want(page, address);
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<(u64, bool)> {
        if map::is_shown(page) {
            let slot = &page.queries().service_map;
            return slot.get().map(|_| (slot.revision(), true));
        }
        let slot = &page.queries().flow;
        slot.get().map(|_| (slot.revision(), false))
    }

    fn is_stale(&self, page: Page) -> bool {
        let queries = page.queries();
        if map::is_shown(page) { queries.service_map.is_waiting() } else { queries.flow.is_waiting() }
    }

    fn take(&mut self, page: Page, now: &(u64, bool), _: Option<&(u64, bool)>) {
        if now.1 {
            return self.map.take(page);
        }
        let Some(report) = page.queries().flow.get() else { return };
        self.table.set_rows(CallLine::of(&report), &why_empty(page));
        let canvas = self.chart.canvas();
        canvas.set("data-nodes", &report.nodes.len().to_string());
        canvas.set("data-edges", &report.edges.len().to_string());
        self.chart.renew(|chart| chart.take(report));
    }

    fn show_choices(&mut self, page: Page) {
        let is_map = map::is_shown(page);
        self.modes.press(usize::from(is_map));
        self.modes.element().show(!page.is_summary());
        self.map.show(is_map);
        self.flow_tools.show(!is_map);
        self.flow_below.show(!is_map);
        self.chart.element().show(!is_map);
        if is_map {
            return;
        }
        self.frame.set_text(&why_empty(page));
        let parents = page.queries().flow_parents.get().unwrap_or_default();
        self.title.set_text(&self.chart.look(|chart| flow::title(chart.report(), &parents)));
        self.parents.update(page);
        self.learn.update(page);
    }

    fn search(&mut self, page: Page, finder: &Finder) -> SearchResult {
        if map::is_shown(page) {
            return self.map.search(finder);
        }
        let chart = self.chart;
        self.queues.search(page, finder);
        let count = chart.with(|chart| chart.search(finder));
        self.table.set_hits(chart.look(FlowChart::found));
        let step = move |page: Page, forward| chart.with(|chart| chart.step(page, forward));
        SearchResult { count, share: None, step: Box::new(step) }
    }

    fn follow(&mut self, page: Page) {
        if map::is_shown(page) {
            return self.map.update(page);
        }
        self.chart.with(|chart| {
            chart.follow(page);
            chart.mark(&page.address().choices.flow.changes);
        });
        self.show_panel(page);
        controls::enable(&self.own_flow, self.chart.look(|chart| chart.selected_flow().is_some()));
        controls::enable(&self.all, self.chart.is_zoomed());
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        if map::is_shown(page) {
            return self.map.command(page, command);
        }
        zoom::command(self.chart, page, command)
    }
}
