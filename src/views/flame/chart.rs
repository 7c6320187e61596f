//! The flame graph on its canvas: window, selection, search, tips.

use crate::canvas::Surface;
use crate::dom::El;
use crate::page::{Focus, LONGEST_FOCUS, Page};
use crate::views::view::SearchResult;
use crate::widgets::chart_canvas::{CanvasChart, ChartCanvas, Pointed};
use crate::widgets::tip;
use crate::widgets::zoom::ZoomableChart;
use pathlight_base::format;
use pathlight_engine::flame::CriticalPathReport;
use pathlight_engine::ids::NodeId;
use pathlight_trace::Endpoint;
use pathlight_view::draw::{AxisViewport, Metrics, Theme, Viewport, Window};
use pathlight_view::flame::chart::{
    FlameHit, FlameLayout, FlameSize, FlameTree, FlameView, FlameWords, Inverted, Matches, export_svg,
    layout, scene,
};
use pathlight_view::flame::{self, FlameSource, tree};
use pathlight_view::keys::KeyCommand;
use pathlight_view::say::tip::TipLine;
use pathlight_view::search::finder::Finder;
use pathlight_view::table::neighbour;
use std::rc::Rc;

/// Rows left free below the last, so that it is seen to be the last.
const ROWS_BELOW: f64 = 1.0;

/// Callers narrower than this are not looked for.
const NARROW_PX: i32 = 3;

/// Says something of a node, in lines.
type TipOf<S> = Box<dyn Fn(&S, NodeId) -> Vec<TipLine>>;

/// Words of a flame graph about its frames.
pub struct FrameWords<S> {
    /// Subject of the graph.
    pub what: &'static str,
    /// Tip of a node, below its name.
    pub tip: TipOf<S>,
}

/// Runs with the call path under the pointer; empty where there is none.
type OnHover = Box<dyn Fn(&[Endpoint])>;

/// The chart of a source.
pub struct FlameChart<S = CriticalPathReport> {
    page: Page,
    words: FrameWords<S>,
    report: Option<Rc<S>>,
    report_query: Option<Vec<u8>>,
    tree: FlameTree,
    inverted: Option<Inverted>,
    viewport: AxisViewport,
    selected: Option<u32>,
    hovered: Option<u32>,
    on_hover: Option<OnHover>,
    finder: Finder,
    matches: Option<Matches>,
    focus: Vec<Endpoint>,
    layout: FlameLayout,
    size: FlameSize,
}

impl<S: FlameSource> FlameChart<S> {
    /// Returns a chart without frames.
    pub fn new(page: Page, words: FrameWords<S>) -> FlameChart<S> {
        FlameChart {
            page,
            words,
            report: None,
            report_query: None,
            tree: FlameTree::default(),
            inverted: None,
            viewport: AxisViewport::new(1.0),
            selected: None,
            hovered: None,
            on_hover: None,
            finder: Finder::default(),
            matches: None,
            focus: Vec::new(),
            layout: FlameLayout::default(),
            size: FlameSize { width: 1, height: 1, metrics: Metrics::default() },
        }
    }

    /// Runs `run` with the call path under the pointer, for graphs that mark it too.
    pub fn on_hover(&mut self, run: impl Fn(&[Endpoint]) + 'static) {
        self.on_hover = Some(Box::new(run));
    }

    /// Marks a call path as if the pointer were on it; empty: none.
    pub fn mark(&mut self, path: &[Endpoint]) {
        self.hovered = self.node_of(path);
    }

    /// Returns whether a call path is marked.
    pub fn is_marked(&self) -> bool {
        self.hovered.is_some()
    }

    /// Returns what is drawn.
    pub fn report(&self) -> Option<&S> {
        self.report.as_deref()
    }

    /// Returns whether it shows callers.
    pub fn is_inverted(&self) -> bool {
        self.inverted.is_some()
    }

    /// Returns the number of calling contexts so far.
    pub fn len(&self) -> usize {
        self.tree.contexts()
    }

    /// Takes a report. A report of the same query, as while loading, keeps what is looked at.
    pub fn take(&mut self, report: Rc<S>, query: Option<Vec<u8>>, inverted: bool, focus: &[Endpoint]) {
        let same = query.is_some() && self.report_query == query && self.inverted.is_some() == inverted;
        self.inverted = report.callers().filter(|_| inverted).map(Inverted::new);
        self.tree = self.inverted.as_ref().map_or_else(|| report.tree(), Inverted::tree);
        let total = self.tree.total_us();
        if same {
            self.viewport.rescale(total)
        } else {
            self.viewport.open(total)
        }
        self.report = Some(report);
        self.report_query = query;
        self.focus = focus.to_vec();
        if !focus.is_empty()
            && !inverted
            && let Some(node) = self.node_of(focus)
        {
            self.viewport.show(self.tree.window_of(node));
        }
        self.selected = None;
        self.hovered = None;
        self.matches = self.find();
    }

    /// Follows the focus of the page and of the address.
    pub fn follow(&mut self, page: Page) {
        if self.inverted.is_none() {
            let before = self.selected;
            self.selected = match &*page.focus() {
                Focus::Path(path) => self.node_of(path),
                _ => None,
            };
            if let Some(node) = self.selected.filter(|_| self.selected != before) {
                self.reveal(node);
            }
            let focus = page.address().focus.clone();
            if focus != self.focus {
                let node = self.node_of(&focus);
                self.focus = focus;
                let window = node.map_or_else(|| self.tree.full(), |node| self.tree.window_of(node));
                self.viewport.go(window);
                if let Some(node) = node {
                    self.show_row(self.tree.depth(node));
                }
            }
        } else if *page.focus() == Focus::Nothing {
            self.selected = None;
        }
    }

    fn node_of(&self, path: &[Endpoint]) -> Option<u32> {
        if path.is_empty() { None } else { tree::find(self.report()?, path).map(|node| node.0) }
    }

    /// Searches; returns how many frames were found and their share, nothing counted twice.
    pub fn search(&mut self, finder: &Finder) -> (u64, Option<f64>) {
        self.finder = finder.clone();
        self.matches = self.find();
        let Some(matches) = &self.matches else { return (0, None) };
        let whole = self.tree.total_us();
        let share = if whole == 0 { f64::NAN } else { matches.matched_us() as f64 / whole as f64 };
        (matches.found().len() as u64, Some(share))
    }

    fn find(&self) -> Option<Matches> {
        let find =
            || Matches::find(&self.tree, |frame| self.finder.fits_place(frame.name(), &[&frame.label]));
        (!self.finder.is_empty()).then(find)
    }

    /// Selects the frame beside the selected one.
    fn choose_beside(&mut self, page: Page, command: KeyCommand) {
        let to = match (self.selected, command) {
            (None, _) => self.tree.row(0).first().copied(),
            (Some(node), KeyCommand::Up) => self.tree.parent(node),
            (Some(node), KeyCommand::Down) => self.tree.child(node),
            (Some(node), KeyCommand::Left) => self.tree.beside(node, false),
            (Some(node), _) => self.tree.beside(node, true),
        };
        if let Some(node) = to {
            self.choose(page, node);
            self.reveal(node);
        }
    }

    /// Looks for the callers that are in sight in so many rows.
    fn expand(&mut self, window: Window, width: i32, rows: u32) {
        if let (Some(inverted), Some(report)) =
            (&mut self.inverted, self.report.as_ref().and_then(|report| report.callers()))
            && inverted.expand_visible(report, window, width, NARROW_PX, rows)
        {
            self.tree = inverted.tree();
            self.matches = self.find();
        }
    }

    fn view(&self) -> FlameView<'_> {
        FlameView {
            window: self.viewport.window(),
            scroll_px: self.viewport.scroll_px(),
            selected: self.selected,
            hovered: self.hovered,
            matches: self.matches.as_ref(),
        }
    }

    fn choose(&mut self, page: Page, node: u32) {
        let node = self.tree.context_of(node);
        self.selected = Some(node);
        let Some(report) = self.report() else { return };
        if self.inverted.is_none() {
            page.set_focus(Focus::Path(tree::path_of(report, NodeId(node))));
        } else if let Some(endpoint) = self.endpoint_of(node) {
            page.set_focus(Focus::Endpoint(endpoint.clone()));
        }
    }

    /// Brings a frame into sight, wide enough to be seen.
    fn reveal(&mut self, node: u32) {
        let aim = self.viewport.aim();
        let (left, wide) = self.tree.interval_us(node);
        let (from, to) = (left as f64, (left + wide) as f64);
        let px = self.viewport.px_of(wide as f64);
        let outside = to <= aim.from || from >= aim.to;
        if outside || px < 3.0 {
            let above =
                self.tree.parent(node).map_or_else(|| self.tree.full(), |above| self.tree.window_of(above));
            let share = wide as f64 / above.width();
            // A sliver of its parent is zoomed to a fifth of the canvas.
            let window = if share < 0.02 {
                let room = wide as f64 * 2.0;
                Window { from: from - room, to: to + room }.within(self.tree.total_us())
            } else {
                above
            };
            self.viewport.go(window);
        }
        self.show_row(self.tree.depth(node));
    }

    fn show_row(&mut self, row: u32) {
        let row_px = f64::from(self.size.row_px());
        self.viewport.reveal_row(f64::from(row) * row_px, row_px);
    }

    fn endpoint_of(&self, node: u32) -> Option<&Endpoint> {
        let report = self.report()?;
        let endpoint = match &self.inverted {
            Some(inverted) => inverted.endpoint(node)?,
            None => report.call(NodeId(self.tree.context_of(node)))?.1,
        };
        report.names().get(endpoint.index())
    }

    fn tip_of(&self, node: u32) -> Vec<TipLine> {
        let Some(report) = self.report() else { return Vec::new() };
        let Some(endpoint) = self.endpoint_of(node) else { return Vec::new() };
        let mut lines = vec![TipLine::Endpoint(endpoint.clone())];
        if self.tree.is_waiting(node) {
            if let Some(frame) = self.tree.frame(node) {
                lines.extend(flame::waiting_tip(frame, self.tree.time_of(node), self.tree.share(node)));
            }
            return lines;
        }
        if self.inverted.is_some() {
            let us = self.tree.time_of(node);
            let root = self.tree.ancestry(node).last().unwrap_or(node);
            let callee = self.endpoint_of(root).filter(|_| self.tree.depth(node) > 0);
            lines.push(flame::inverted_tip(self.tree.share(node), us, callee));
        } else {
            lines.extend((self.words.tip)(report, NodeId(node)));
        }
        lines
    }
}

impl<S: FlameSource> CanvasChart for FlameChart<S> {
    type Hit = FlameHit;

    fn needs(&self) -> Option<f64> {
        let rows = f64::from(self.tree.rows()) + ROWS_BELOW;
        Some(rows * f64::from(self.size.row_px()) / self.size.metrics.scale)
    }

    fn paint(&mut self, surface: &Surface, theme: &Theme) {
        let (width, height) = surface.size();
        let metrics = surface.metrics();
        self.size = FlameSize { width, height, metrics };
        let bottom = self.viewport.scroll_px() + i64::from(height);
        let rows = (bottom / i64::from(self.size.row_px())) as u32 + 2;
        self.expand(self.viewport.window(), width, rows);
        self.viewport.place(0, width, height, self.size.scroll_end(&self.tree));
        let mut measure = surface.measure(metrics.font_px(), false);
        let layout = layout(&self.tree, &self.view(), self.size, &mut measure);
        surface.paint(&scene(&layout, theme, metrics));
        self.layout = layout;
    }

    fn viewport(&mut self) -> &mut dyn Viewport {
        &mut self.viewport
    }

    fn hit(&self, (x, y): (i32, i32)) -> Option<FlameHit> {
        self.layout.hit(&self.tree, x, y)
    }

    fn tip(&self, hit: &FlameHit) -> Vec<El> {
        tip::elements(&match hit {
            FlameHit::Node(node) => self.tip_of(*node),
            FlameHit::Merged { nodes, .. } => {
                let count = format::count((*nodes).into());
                vec![TipLine::Text(format!("{count} narrow frames; click to zoom in on them"))]
            }
        })
    }

    fn hover(&mut self, hit: Option<&FlameHit>) -> bool {
        let node = match hit {
            Some(FlameHit::Node(node)) => Some(*node),
            _ => None,
        };
        let changed = self.hovered != node;
        self.hovered = node;
        if let (true, Some(run), Some(report)) = (changed, &self.on_hover, self.report()) {
            let path = node.map(|node| tree::path_of(report, NodeId(self.tree.context_of(node))));
            run(&path.unwrap_or_default());
        }
        changed
    }

    fn click(&mut self, pointed: Pointed) -> bool {
        let page = self.page;
        match self.hit(pointed.at) {
            // The second of a double click is not "again".
            Some(FlameHit::Node(node))
                if self.selected == Some(self.tree.context_of(node)) && pointed.count < 2 =>
            {
                self.zoom_to_selected(page);
            }
            Some(FlameHit::Node(node)) => self.choose(page, node),
            Some(FlameHit::Merged { window, .. }) => self.viewport.go(window),
            None => page.set_focus(Focus::Nothing),
        }
        page.refresh();
        false
    }

    fn fit(&mut self) {
        self.viewport.fit();
        self.viewport.scroll_to_start();
        self.focus.clear();
        self.page.change(|address| address.focus.clear());
        self.page.refresh();
    }
}

impl<S: FlameSource> ZoomableChart for FlameChart<S> {
    fn has_focus(&self) -> bool {
        self.selected.is_some()
    }

    fn middle(&self) -> (f64, f64) {
        let selected = self.selected.map(|node| {
            let (left, wide) = self.tree.interval_us(node);
            (left as f64, (left + wide) as f64)
        });
        (self.viewport.middle_px(selected), 0.0)
    }

    fn zoom_to_selected(&mut self, page: Page) {
        let Some(node) = self.selected else { return };
        self.viewport.go(self.tree.window_of(node));
        self.show_row(self.tree.depth(node));
        if let (None, Some(report)) = (&self.inverted, self.report()) {
            let path = tree::path_of(report, NodeId(node));
            if path.len() <= LONGEST_FOCUS {
                self.focus.clone_from(&path);
                page.change(|address| address.focus = path);
            }
        }
    }

    fn step(&mut self, page: Page, forward: bool) {
        let Some(matches) = &self.matches else { return };
        if let Some(node) = neighbour(matches.found(), self.selected, forward) {
            self.choose(page, node);
            self.reveal(node);
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

    fn svg(&mut self, width: i32, theme: &Theme) -> String {
        self.expand(self.tree.full(), width, u32::MAX);
        let callers = if self.inverted.is_some() { ", callers" } else { "" };
        let title = format!("Flame graph: {}{callers}", self.words.what);
        let words = match self.report() {
            Some(report) if self.inverted.is_none() => report.words(&self.tree, &title),
            _ => FlameWords::of_times(&self.tree, &title),
        };
        let view = FlameView { window: self.tree.full(), ..self.view() };
        export_svg(&self.tree, &view, width, theme, &words)
    }
}

/// Searches a flame graph.
pub fn search<S: FlameSource>(chart: ChartCanvas<FlameChart<S>>, finder: &Finder) -> SearchResult {
    let (count, share) = chart.with(|chart| chart.search(finder));
    SearchResult {
        count,
        share,
        step: Box::new(move |page, forward| chart.with(|chart| chart.step(page, forward))),
    }
}
