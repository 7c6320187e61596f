//! An execution flow on its canvas: window, selection, search, tips.

use crate::canvas::Surface;
use crate::ui::dom::{El, div, el};
use crate::ui::page::{Focus, Page};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::fits;
use crate::ui::views::flow::queries::shown_parent;
use crate::ui::widgets::chart_canvas::{CanvasChart, Pointed};
use crate::ui::widgets::names;
use crate::ui::widgets::zoom::ZoomableChart;
use pathlight_analysis::flow::FlowNode;
use pathlight_chart::dag::{DagHit, DagItem, DagLayout, DagSizes, DagView, DagViewport, export_svg, scene};
use pathlight_chart::{Theme, Viewport};
use pathlight_query::{Changes, Endpoint, FlowReport};
use pathlight_text::format;
use pathlight_view::table::neighbour;
use std::rc::Rc;

/// How near a pointer must come to a line, in CSS pixels.
const NEAR_PX: f64 = 5.0;

/// The picture.
pub struct FlowChart {
    page: Page,
    report: Rc<FlowReport>,
    viewport: DagViewport,
    selected: Option<u32>,
    hovered: Option<DagHit>,
    changed: Vec<bool>,
    found: Option<Vec<bool>>,
}

/// The endpoint of a node; `None` for the rarest callees, which share one.
pub fn endpoint_of(node: &FlowNode) -> Option<Endpoint> {
    (!node.service.is_empty() || !node.operation.is_empty())
        .then(|| Endpoint::new(&node.service, &node.operation))
}

/// Goes to the flow of an endpoint from the one that is shown.
pub fn go_to(page: Page, endpoint: Endpoint) {
    let shown = shown_parent(page);
    page.change(|address| {
        let parents = &mut address.choices.flow.parents;
        if parents.is_empty() {
            parents.extend(shown);
        }
        // Back to one on the way is no way round.
        if let Some(at) = parents.iter().position(|parent| *parent == endpoint) {
            parents.truncate(at);
        }
        parents.push(endpoint);
    });
}

impl FlowChart {
    /// An empty picture.
    pub fn new(page: Page) -> FlowChart {
        FlowChart {
            page,
            report: Rc::default(),
            viewport: DagViewport::default(),
            selected: None,
            hovered: None,
            changed: Vec::new(),
            found: None,
        }
    }

    /// What is drawn.
    pub fn report(&self) -> &Rc<FlowReport> {
        &self.report
    }

    /// The selected node.
    pub fn selected(&self) -> Option<u32> {
        self.selected
    }

    /// Takes a report. Another one of the same parent, as while loading, keeps what is looked at.
    pub fn take(&mut self, report: Rc<FlowReport>) {
        let label =
            self.selected.and_then(|node| self.report.nodes.get(node as usize)).map(|n| n.label.clone());
        let same = report.parent == self.report.parent;
        let sizes = DagSizes::for_nodes(report.nodes.len(), self.viewport.metrics());
        self.viewport.take(DagLayout::new(&report, sizes), same);
        self.selected = None;
        if let Some(label) = label.filter(|_| same) {
            self.selected = report.nodes.iter().position(|node| node.label == label).map(|at| at as u32);
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
        if !self.selected.and_then(|at| nodes.get(at as usize)).is_some_and(is_it) {
            self.selected = nodes.iter().position(is_it).map(|at| at as u32);
            if let Some(node) = self.selected {
                self.reveal(node);
            }
        }
    }

    /// Marks what a what-if changes.
    pub fn mark(&mut self, changes: &Changes) {
        let parent = &self.report.parent;
        let of_parent =
            |service: &str, operation: &str| service == parent.service && operation == parent.operation;
        let is_changed = |node: &FlowNode| {
            let same =
                |service: &str, operation: &str| service == node.service && operation == node.operation;
            changes.latencies.iter().any(|change| same(&change.service, &change.operation))
                || changes.parallel.iter().any(|change| {
                    of_parent(&change.service, &change.operation)
                        && [&change.first, &change.second]
                            .iter()
                            .any(|name| same(&name.service, &name.operation) && name.index == node.index)
                })
        };
        self.changed = self.report.nodes.iter().map(is_changed).collect();
    }

    /// Searches; gives how many nodes were found.
    pub fn search(&mut self, text: &str) -> u64 {
        let label =
            |node: &FlowNode| format!("{} {}", node.label, format::endpoint(&node.service, &node.operation));
        self.found = (!text.trim().is_empty())
            .then(|| self.report.nodes.iter().map(|node| fits(text, &[&label(node)])).collect());
        self.found.as_ref().map_or(0, |found| found.iter().filter(|hit| **hit).count() as u64)
    }

    /// Which nodes a search found; `None` without one.
    pub fn found(&self) -> Option<Vec<bool>> {
        self.found.clone()
    }

    /// Selects what stands beside the selected node.
    fn choose_beside(&mut self, page: Page, command: Command) {
        let boxes = || self.viewport.layout().boxes.iter().filter(|b| matches!(b.item, DagItem::Node(_)));
        let here = self.selected.and_then(|node| {
            self.viewport.layout().boxes.iter().find(|b| b.item == DagItem::Node(node)).copied()
        });
        let to = match here {
            None => boxes().min_by_key(|b| (b.x, b.y)),
            Some(here) => boxes()
                .filter(|b| match command {
                    Command::Left => b.x < here.x,
                    Command::Right => b.x > here.x,
                    Command::Up => b.x == here.x && b.y < here.y,
                    _ => b.x == here.x && b.y > here.y,
                })
                .min_by_key(|b| ((b.x - here.x).abs(), (b.y - here.y).abs(), b.y)),
        };
        if let Some(DagItem::Node(node)) = to.map(|b| b.item) {
            self.choose(page, node);
        }
    }

    /// Goes to the selected node's own flow, if it has one.
    pub fn open_selected(&self, page: Page) {
        let node = self.selected.and_then(|node| self.report.nodes.get(node as usize));
        if let Some(endpoint) = node.filter(|node| node.has_calls).and_then(endpoint_of) {
            go_to(page, endpoint);
        }
    }

    /// Selects a node.
    pub fn choose(&mut self, page: Page, node: u32) {
        self.selected = Some(node);
        if let Some(endpoint) = self.report.nodes.get(node as usize).and_then(endpoint_of) {
            page.set_focus(Focus::Endpoint(endpoint));
        }
        self.reveal(node);
        // A repeat of the same callee is another node of the same selection.
        page.refresh();
    }

    fn reveal(&mut self, node: u32) {
        self.viewport.reveal(DagItem::Node(node));
    }

    fn tip_of(&self, hit: DagHit) -> Vec<El> {
        match hit {
            DagHit::Box(DagItem::Node(node)) => {
                self.report.nodes.get(node as usize).map(|node| self.node_tip(node)).unwrap_or_default()
            }
            DagHit::Box(DagItem::Start) => vec![div("").text("Its start")],
            DagHit::Box(DagItem::Return) => vec![
                div("").text("Its return"),
                div("muted").text(&format!(
                    "{} after the last call, in the mean",
                    format::duration(self.report.return_us.mean)
                )),
            ],
            DagHit::Box(DagItem::Sync(_)) => {
                vec![div("").text("Synchronisation: all on its right wait for all on its left")]
            }
            DagHit::Line(line) => self.line_tip(line),
        }
    }

    fn node_tip(&self, node: &FlowNode) -> Vec<El> {
        let head = match endpoint_of(node) {
            Some(Endpoint { service, operation }) => names::endpoint(&service, &operation),
            None => div("strong").text("All rarer calls"),
        };
        let row = |name: &str, summary: &pathlight_model::stats::Summary| {
            [summary.mean, summary.p50, summary.p95, summary.p99]
                .iter()
                .fold(el("tr").child(&el("th").text(name)), |row, us| {
                    row.child(&el("td").text(&format::duration(*us)))
                })
        };
        let titles = ["", "mean", "p50", "p95", "p99"]
            .iter()
            .fold(el("tr"), |row, title| row.child(&el("th").text(title)));
        let table = el("table")
            .child(&titles)
            .child(&row("latency", &node.latency_us))
            .child(&row("wait", &node.wait_us));
        let few = format::count(node.invocations);
        vec![
            head,
            div("").child(&names::spark(&node.histogram)),
            table,
            div("").text(&format!(
                "On the critical path in {} of {few} invocations",
                format::share(node.critical_share())
            )),
            div("muted small").text(if node.has_calls { "Double click: its own flow" } else { "" }),
        ]
    }

    fn line_tip(&self, line: usize) -> Vec<El> {
        let Some(line) = self.viewport.layout().lines.get(line) else { return Vec::new() };
        let name = |item: DagItem| match item {
            DagItem::Start => "start".to_owned(),
            DagItem::Return => "return".to_owned(),
            DagItem::Sync(_) => "synchronisation".to_owned(),
            DagItem::Node(node) => format::printable(self.report.label(node)),
        };
        let share = format::share((line.binding as f64 / line.both.max(1) as f64).min(1.0));
        vec![
            div("").text(&format!("{} waits for {}", name(line.to), name(line.from))),
            div("muted").text(&format!("Binds in {share} of {} invocations", format::count(line.both))),
        ]
    }
}

impl ZoomableChart for FlowChart {
    fn has_focus(&self) -> bool {
        self.selected.is_some()
    }

    fn middle(&self) -> (f64, f64) {
        self.viewport.middle_px()
    }

    /// What a call contains is its own flow.
    fn zoom_to_selected(&mut self, page: Page) {
        self.open_selected(page);
    }

    fn step(&mut self, page: Page, forward: bool) {
        let Some(found) = &self.found else { return };
        let found: Vec<u32> = (0..found.len() as u32).filter(|at| found[*at as usize]).collect();
        if let Some(node) = neighbour(&found, self.selected, forward) {
            self.choose(page, node);
        }
    }

    fn walk(&mut self, page: Page, command: Command) -> bool {
        let is_walk = matches!(command, Command::Up | Command::Down | Command::Left | Command::Right);
        if is_walk {
            self.choose_beside(page, command);
        }
        is_walk
    }

    /// In its own size: calls are boxes of a fixed width.
    fn svg(&self, _width: i32, theme: &Theme) -> String {
        let Endpoint { service, operation } = &self.report.parent;
        let title = format!("Execution flow of {}", format::endpoint(service, operation));
        export_svg(&self.report, &self.changed, theme, &title)
    }
}

impl CanvasChart for FlowChart {
    type Hit = DagHit;

    fn paint(&mut self, surface: &Surface, theme: &Theme) {
        let (room, metrics) = (surface.size(), surface.metrics());
        if metrics != self.viewport.metrics() {
            let sizes = DagSizes::for_nodes(self.report.nodes.len(), metrics);
            self.viewport.take(DagLayout::new(&self.report, sizes), false);
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

    fn hit(&self, at: (i32, i32)) -> Option<DagHit> {
        self.viewport.hit(at, f64::from(self.viewport.metrics().px(NEAR_PX)))
    }

    fn tip(&self, hit: &DagHit) -> Vec<El> {
        self.tip_of(*hit)
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
