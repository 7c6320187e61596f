//! An execution flow on its canvas: window, selection, search, tips.

use crate::canvas::Surface;
use crate::ui::dom::{El, div, el};
use crate::ui::page::{Endpoint, Focus, Page};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::fits;
use crate::ui::views::flow::queries::shown_parent;
use crate::ui::widgets::chart_canvas::{CanvasChart, Pointed, Tip};
use crate::ui::widgets::names;
use crate::ui::widgets::zoom::ZoomableChart;
use pathlight_analysis::flow::FlowNode;
use pathlight_chart::dag::{DagHit, DagItem, DagLayout, DagSizes, DagView, DagWindow, export_svg, scene};
use pathlight_chart::{Metrics, Theme};
use pathlight_query::{Changes, FlowReport};
use pathlight_text::format;
use std::rc::Rc;

/// How near a pointer must come to a line, in CSS pixels.
const NEAR_PX: f64 = 5.0;

/// The picture.
pub struct FlowChart {
    page: Page,
    tip: Tip,
    report: Rc<FlowReport>,
    layout: DagLayout,
    /// `None` until the room is known: then it opens.
    window: Option<DagWindow>,
    room: (i32, i32),
    metrics: Metrics,
    selected: Option<u32>,
    hovered: Option<DagHit>,
    changed: Vec<bool>,
    found: Option<Vec<bool>>,
}

/// The endpoint of a node; `None` for the rarest callees, which share one.
pub fn endpoint_of(node: &FlowNode) -> Option<Endpoint> {
    (!node.service.is_empty() || !node.operation.is_empty())
        .then(|| (node.service.clone(), node.operation.clone()))
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
            tip: Tip::new(),
            report: Rc::default(),
            layout: DagLayout::default(),
            window: None,
            room: (0, 0),
            metrics: Metrics::default(),
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

    /// It is out of sight.
    pub fn leave(&self) {
        self.tip.hide();
    }

    /// Takes a report. Another one of the same parent, as while loading, keeps what is looked at.
    pub fn take(&mut self, report: Rc<FlowReport>) {
        let label =
            self.selected.and_then(|node| self.report.nodes.get(node as usize)).map(|n| n.label.clone());
        let same = report.parent == self.report.parent;
        self.layout = DagLayout::new(&report, DagSizes::for_nodes(report.nodes.len(), self.metrics));
        if !same {
            self.window = None;
        }
        self.selected = None;
        if let Some(label) = label.filter(|_| same) {
            self.selected = report.nodes.iter().position(|node| node.label == label).map(|at| at as u32);
        }
        self.set_hovered(None);
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
        let is_it = |node: &FlowNode| node.service == endpoint.0 && node.operation == endpoint.1;
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
        let of_parent = |service: &str, operation: &str| service == parent.0 && operation == parent.1;
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
    pub fn walk(&mut self, page: Page, command: Command) {
        let boxes = || self.layout.boxes.iter().filter(|b| matches!(b.item, DagItem::Node(_)));
        let here = self
            .selected
            .and_then(|node| self.layout.boxes.iter().find(|b| b.item == DagItem::Node(node)).copied());
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
        if let Some(window) = self.window {
            self.window = Some(window.revealing(&self.layout, DagItem::Node(node), self.room, self.metrics));
        }
    }

    fn set_hovered(&mut self, hit: Option<DagHit>) -> bool {
        let changed = self.hovered != hit;
        self.hovered = hit;
        if hit.is_none() {
            self.tip.hide();
        }
        changed
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
            Some((service, operation)) => names::endpoint(&service, &operation),
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
        let Some(line) = self.layout.lines.get(line) else { return Vec::new() };
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

    fn is_zoomed(&self) -> bool {
        self.window.is_some_and(|window| window != DagWindow::fit(&self.layout, self.room, self.metrics))
    }

    fn middle(&self) -> f64 {
        f64::from(self.room.0) / 2.0
    }

    /// What a call contains is its own flow.
    fn zoom_to_selected(&mut self, page: Page) {
        self.open_selected(page);
    }

    fn step(&mut self, page: Page, forward: bool) {
        let Some(found) = &self.found else { return };
        let found: Vec<u32> = (0..found.len() as u32).filter(|at| found[*at as usize]).collect();
        let place = self.selected.and_then(|node| found.iter().position(|at| *at == node));
        let to = match (place, forward) {
            _ if found.is_empty() => return,
            (None, true) => 0,
            (None, false) => found.len() - 1,
            (Some(place), true) => (place + 1) % found.len(),
            (Some(place), false) => (place + found.len() - 1) % found.len(),
        };
        self.choose(page, found[to]);
    }

    /// In its own size: calls are boxes of a fixed width.
    fn svg(&self, _width: i32, theme: &Theme) -> String {
        let (service, operation) = &self.report.parent;
        let title = format!("Execution flow of {}", format::endpoint(service, operation));
        export_svg(&self.report, &self.changed, theme, &title)
    }
}

impl CanvasChart for FlowChart {
    fn paint(&mut self, surface: &Surface, theme: &Theme, _now_ms: f64) -> bool {
        let (room, metrics) = (surface.size(), surface.metrics());
        if metrics != self.metrics {
            self.metrics = metrics;
            self.layout = DagLayout::new(&self.report, DagSizes::for_nodes(self.report.nodes.len(), metrics));
            self.window = None;
        }
        let fitted = self.window == Some(DagWindow::fit(&self.layout, self.room, metrics));
        let window = match self.window {
            Some(_) if fitted => DagWindow::fit(&self.layout, room, metrics),
            Some(window) => window.within(&self.layout, room, metrics),
            None => DagWindow::opening(&self.layout, room, metrics),
        };
        (self.window, self.room) = (Some(window), room);
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
        surface.paint(&scene(&self.layout, &view, room, metrics, theme, [&mut label, &mut small]));
        false
    }

    fn zoom(&mut self, x: f64, factor: f64) {
        self.zoom_at((x, f64::from(self.room.1) / 2.0), factor);
    }

    fn zoom_at(&mut self, at: (f64, f64), factor: f64) {
        self.window = self.window.map(|window| window.zoomed(at, factor));
        self.page.refresh();
    }

    fn pan(&mut self, x: f64, y: f64) {
        self.window = self.window.map(|window| window.panned(x, y));
    }

    fn hover(&mut self, pointed: Option<Pointed>) -> bool {
        let near = f64::from(self.metrics.px(NEAR_PX));
        let hit = pointed.and_then(|pointed| {
            let hit = self.window?.hit(&self.layout, pointed.at.0, pointed.at.1, near)?;
            Some((hit, pointed))
        });
        let Some((hit, pointed)) = hit else { return self.set_hovered(None) };
        let changed = self.set_hovered(Some(hit));
        if changed {
            self.tip.show(pointed.client, &self.tip_of(hit));
        } else {
            self.tip.place(pointed.client);
        }
        changed
    }

    fn click(&mut self, pointed: Pointed) {
        let page = self.page;
        let near = f64::from(self.metrics.px(NEAR_PX));
        let hit = self.window.and_then(|w| w.hit(&self.layout, pointed.at.0, pointed.at.1, near));
        match hit {
            Some(DagHit::Box(DagItem::Node(node))) if pointed.count == 2 => {
                self.selected = Some(node);
                self.open_selected(page);
            }
            Some(DagHit::Box(DagItem::Node(node))) => self.choose(page, node),
            _ => page.set_focus(Focus::Nothing),
        }
        page.refresh();
    }

    fn fit(&mut self) {
        // A double click on a call goes to its flow.
        if !matches!(self.hovered, Some(DagHit::Box(DagItem::Node(_)))) {
            self.window = Some(DagWindow::fit(&self.layout, self.room, self.metrics));
            self.page.refresh();
        }
    }
}
