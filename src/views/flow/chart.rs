//! An execution flow on its canvas: window, selection, search, tips.

use super::go_to;
use crate::canvas::Surface;
use crate::dom::El;
use crate::page::{Focus, Page};
use crate::widgets::chart_canvas::{CanvasChart, Pointed};
use crate::widgets::tip;
use crate::widgets::zoom::ZoomableChart;
use pathlight_engine::flow::{Changes, FlowNode, FlowReport};
use pathlight_engine::ids::NodeId;
use pathlight_trace::Endpoint;
use pathlight_view::draw::{Theme, Viewport};
use pathlight_view::flow;
use pathlight_view::flow::changes::changed_nodes;
use pathlight_view::flow::chart::{DagHit, DagItem, DagLayout, DagView, DagViewport, export_svg, scene};
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::table::neighbour;
use std::rc::Rc;

/// Greatest distance of a pointer from a line that it points at, in CSS pixels.
const NEAR_PX: f64 = 5.0;

/// The chart.
pub struct FlowChart {
    page: Page,
    report: Rc<FlowReport>,
    viewport: DagViewport,
    selected: Option<NodeId>,
    hovered: Option<DagHit>,
    changed: Vec<bool>,
    found: Option<Vec<bool>>,
    /// Width that the layout is for, in device pixels.
    width: i32,
}

impl FlowChart {
    /// Returns a chart without a flow.
    pub fn new(page: Page) -> FlowChart {
        FlowChart {
            page,
            report: Rc::default(),
            viewport: DagViewport::default(),
            selected: None,
            hovered: None,
            changed: Vec::new(),
            found: None,
            width: 0,
        }
    }

    /// Returns what is drawn.
    pub fn report(&self) -> &Rc<FlowReport> {
        &self.report
    }

    /// Returns the selected node.
    pub fn selected(&self) -> Option<NodeId> {
        self.selected
    }

    /// Takes a report. Another one of the same parent, as while loading, keeps what is looked at.
    pub fn take(&mut self, report: Rc<FlowReport>) {
        let label =
            self.selected.and_then(|node| self.report.nodes.get(node.index())).map(|n| n.label.clone());
        let same = report.parent == self.report.parent;
        self.viewport.take(DagLayout::fitting(&report, self.viewport.metrics(), self.width), same);
        self.selected = None;
        if let Some(label) = label.filter(|_| same) {
            self.selected =
                report.nodes.iter().position(|node| node.label == label).map(|at| NodeId(at as u32));
        }
        self.hovered = None;
        self.found = None;
        self.changed.clear();
        self.report = report;
    }

    /// Follows the focus of the page.
    pub fn follow(&mut self, page: Page) {
        let focus = page.focus();
        let Focus::Endpoint(endpoint) = &*focus else {
            self.selected = None;
            return;
        };
        let is_it =
            |node: &FlowNode| node.service == endpoint.service && node.operation == endpoint.operation;
        let nodes = &self.report.nodes;
        if !self.selected.and_then(|at| nodes.get(at.index())).is_some_and(is_it) {
            self.selected = nodes.iter().position(is_it).map(|at| NodeId(at as u32));
            if let Some(node) = self.selected {
                self.reveal(node);
            }
        }
    }

    /// Marks what a what-if changes.
    pub fn mark(&mut self, changes: &Changes) {
        self.changed = changed_nodes(&self.report, changes);
    }

    /// Searches; returns how many nodes were found.
    pub fn search(&mut self, finder: &Finder) -> u64 {
        self.found = flow::found(&self.report, finder);
        self.found.as_ref().map_or(0, |found| found.iter().filter(|hit| **hit).count() as u64)
    }

    /// Returns which nodes the search found; `None` without one.
    pub fn found(&self) -> Option<Vec<bool>> {
        self.found.clone()
    }

    /// Selects what stands beside the selected node.
    fn choose_beside(&mut self, page: Page, command: KeyCommand) {
        let boxes = || self.viewport.layout().boxes.iter().filter(|b| matches!(b.item, DagItem::Node(_)));
        let here = self.selected.and_then(|node| {
            self.viewport.layout().boxes.iter().find(|b| b.item == DagItem::Node(node)).copied()
        });
        let to = match here {
            None => boxes().min_by_key(|b| (b.x, b.y)),
            Some(here) => boxes()
                .filter(|b| match command {
                    KeyCommand::Left => b.x < here.x,
                    KeyCommand::Right => b.x > here.x,
                    KeyCommand::Up => b.x == here.x && b.y < here.y,
                    _ => b.x == here.x && b.y > here.y,
                })
                .min_by_key(|b| ((b.x - here.x).abs(), (b.y - here.y).abs(), b.y)),
        };
        if let Some(DagItem::Node(node)) = to.map(|b| b.item) {
            self.choose(page, node);
        }
    }

    /// Returns the endpoint whose flow the selected node leads to.
    pub fn selected_flow(&self) -> Option<Endpoint> {
        flow::opens(self.report.nodes.get(self.selected?.index())?)
    }

    /// Goes to the selected node's own flow, if it has one.
    pub fn open_selected(&self, page: Page) {
        self.selected_flow().into_iter().for_each(|endpoint| go_to(page, endpoint));
    }

    /// Selects a node.
    pub fn choose(&mut self, page: Page, node: NodeId) {
        self.selected = Some(node);
        if let Some(endpoint) = self.report.nodes.get(node.index()).and_then(flow::endpoint_of) {
            page.set_focus(Focus::Endpoint(endpoint));
        }
        self.reveal(node);
        // A repeat of the same callee is another node of the same selection.
        page.refresh();
    }

    fn reveal(&mut self, node: NodeId) {
        self.viewport.reveal(DagItem::Node(node));
    }
}

impl ZoomableChart for FlowChart {
    fn has_focus(&self) -> bool {
        self.selected.is_some()
    }

    fn middle(&self) -> (f64, f64) {
        self.viewport.middle_px()
    }

    /// Opens the flow of the selected call: what a call contains is its own flow.
    fn zoom_to_selected(&mut self, page: Page) {
        self.open_selected(page);
    }

    fn step(&mut self, page: Page, forward: bool) {
        let Some(found) = &self.found else { return };
        let found: Vec<u32> = (0..found.len() as u32).filter(|at| found[*at as usize]).collect();
        if let Some(node) = neighbour(&found, self.selected.map(|node| node.0), forward) {
            self.choose(page, NodeId(node));
        }
    }

    fn walk(&mut self, page: Page, command: KeyCommand) -> bool {
        let is_walk =
            matches!(command, KeyCommand::Up | KeyCommand::Down | KeyCommand::Left | KeyCommand::Right);
        if is_walk {
            self.choose_beside(page, command);
        }
        is_walk
    }

    /// Draws it in its own size: calls are boxes of a fixed width.
    fn svg(&mut self, _width: i32, theme: &Theme) -> String {
        export_svg(&self.report, &self.changed, theme, &flow::chart_title(&self.report))
    }
}

impl CanvasChart for FlowChart {
    type Hit = DagHit;

    fn paint(&mut self, surface: &Surface, theme: &Theme) {
        let (room, metrics) = (surface.size(), surface.metrics());
        if metrics != self.viewport.metrics() || room.0 != self.width {
            self.width = room.0;
            self.viewport.take(DagLayout::fitting(&self.report, metrics, room.0), false);
        }
        let window = self.viewport.place(room, metrics);
        let view = DagView {
            report: &self.report,
            window,
            selected: self.selected,
            hovered: self.hovered,
            changed: &self.changed,
            found: self.found.as_deref(),
        };
        let mut label = surface.measure(metrics.font_px(), false);
        let mut small = surface.measure(metrics.px(11.0), false);
        surface.paint(&scene(self.viewport.layout(), &view, room, metrics, theme, [&mut label, &mut small]));
    }

    fn viewport(&mut self) -> &mut dyn Viewport {
        &mut self.viewport
    }

    fn needs(&self) -> Option<f64> {
        Some(self.viewport.needs_px())
    }

    fn hit(&self, at: (i32, i32)) -> Option<DagHit> {
        self.viewport.hit(at, f64::from(self.viewport.metrics().px(NEAR_PX)))
    }

    fn tip(&self, hit: &DagHit) -> Vec<El> {
        tip::elements(&flow::tip(&self.report, self.viewport.layout(), *hit))
    }

    fn hover(&mut self, hit: Option<&DagHit>) -> bool {
        let changed = self.hovered.as_ref() != hit;
        self.hovered = hit.copied();
        changed
    }

    fn click(&mut self, pointed: Pointed) -> bool {
        let page = self.page;
        match self.hit(pointed.at) {
            Some(DagHit::Box(DagItem::Node(node))) if pointed.count == 2 => {
                self.selected = Some(node);
                self.open_selected(page);
            }
            Some(DagHit::Box(DagItem::Node(node))) => self.choose(page, node),
            _ => page.set_focus(Focus::Nothing),
        }
        page.refresh();
        false
    }

    fn fit(&mut self) {
        // A double click on a call goes to its flow.
        if !matches!(self.hovered, Some(DagHit::Box(DagItem::Node(_)))) {
            self.viewport.fit();
            self.page.refresh();
        }
    }
}
