//! The timeline on its canvas, and the overview of the whole trace above it.

use crate::canvas::Surface;
use crate::ui::page::Page;
use crate::ui::shell::keys::Command;
use crate::ui::views::trace::source::{Spans, TraceSpans};
use crate::ui::widgets::chart_canvas::{CanvasChart, Pointed, Tip, is_still};
use crate::ui::widgets::zoom::ZoomableChart;
use pathlight_chart::timeline::{
    Minimap, Part, Sign, SpanMatches, Timeline, TimelineLayout, TimelineSize, TimelineView, export_svg,
    layout, scene,
};
use pathlight_chart::{Metrics, Theme, Window};
use pathlight_query::TraceReport;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// How long a change of the window takes.
const MOVE_MS: f64 = 180.0;

/// The rows and bars of a trace.
pub struct TimelineChart {
    page: Page,
    /// Told of the span that is chosen.
    chosen: Box<dyn Fn(Option<u32>)>,
    /// What is selected of them, and what tips say.
    source: Rc<dyn Spans>,
    tip: Tip,
    overview: Rc<Overview>,
    timeline: Timeline,
    window: Window,
    moving: Option<(Window, Window, Option<f64>)>,
    scroll_px: f64,
    selected: Option<u32>,
    /// The span under the pointer, and the named part of it.
    hovered: Option<(u32, Option<u32>)>,
    matches: Option<SpanMatches>,
    slack: bool,
    layout: Option<TimelineLayout>,
    size: TimelineSize,
}

impl TimelineChart {
    /// An empty picture; what it shows of the whole goes to `overview`, the span that is clicked to `chosen`.
    pub fn new(page: Page, overview: &Rc<Overview>, chosen: impl Fn(Option<u32>) + 'static) -> TimelineChart {
        TimelineChart {
            page,
            chosen: Box::new(chosen),
            source: Rc::new(TraceSpans),
            tip: Tip::new(),
            overview: overview.clone(),
            timeline: Timeline::new(TraceReport::default()),
            window: Window::full(0),
            moving: None,
            scroll_px: 0.0,
            selected: None,
            hovered: None,
            matches: None,
            slack: false,
            layout: None,
            size: TimelineSize { width: 1, height: 1, column_px: 0, metrics: Metrics::default() },
        }
    }

    /// The picture of spans of another kind.
    pub fn of(self, source: Rc<dyn Spans>) -> TimelineChart {
        TimelineChart { source, ..self }
    }

    /// The trace.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Takes another trace.
    pub fn take(&mut self, report: impl Into<Rc<TraceReport>>) {
        self.take_timeline(Timeline::new(report));
    }

    /// The same, of any kind.
    pub fn take_timeline(&mut self, timeline: Timeline) {
        self.overview.minimap.replace(None);
        self.overview.end_us.set(timeline.report().end_us);
        self.window = timeline.full();
        self.timeline = timeline;
        self.moving = None;
        self.scroll_px = 0.0;
        self.selected = None;
        self.matches = None;
        self.hovered = None;
        self.layout = None;
        self.tip.hide();
        let root = self.timeline.report().request_root;
        if root > 0 {
            self.go(self.timeline.window_of(root));
        }
    }

    /// It is out of sight.
    pub fn leave(&self) {
        self.tip.hide();
    }

    /// Follows the focus of the page.
    pub fn follow(&mut self, page: Page) {
        let selected = self.source.selected(page, &self.timeline);
        if self.selected != selected {
            self.selected = selected;
            if let Some(at) = selected {
                self.reveal(at);
            }
        }
    }

    /// Searches; gives how many spans were found.
    pub fn search(&mut self, text: &str) -> u64 {
        self.matches = self.timeline.search(text);
        self.matches.as_ref().map_or(0, |matches| matches.spans().len() as u64)
    }

    /// Which spans a search found; `None` without one.
    pub fn hits(&self) -> Option<Vec<bool>> {
        let matches = self.matches.as_ref()?;
        Some((0..self.timeline.len() as u32).map(|at| self.timeline.found(matches, at)).collect())
    }

    /// Opens all rows, or closes those of this depth.
    pub fn open_to(&mut self, depth: Option<u32>) {
        self.timeline.open_to(depth);
        self.scroll_px = 0.0;
    }

    /// Shows only the spans on the critical path, or all.
    pub fn set_path_only(&mut self, only: bool) {
        self.timeline.set_path_only(only);
        if let Some(row) = self.selected.and_then(|at| self.timeline.row_of(at)) {
            self.show_row(row);
        }
    }

    /// Marks spans; they come ascending.
    pub fn set_signs(&mut self, signs: Vec<(u32, Sign)>) {
        self.timeline.set_signs(signs);
    }

    /// Draws how much longer every span may take, or not.
    pub fn set_slack(&mut self, shown: bool) {
        self.slack = shown;
    }

    /// Whether a command moves the selection along the rows, folds or unfolds.
    pub fn is_walk(command: Command) -> bool {
        use Command::{Down, First, Last, Left, PageDown, PageUp, Right, Up};
        matches!(command, Up | Down | Left | Right | PageUp | PageDown | First | Last)
    }

    /// A command of the keyboard; false if it is none of these.
    pub fn command(&mut self, page: Page, command: Command, width: i32) -> bool {
        if !TimelineChart::is_walk(command) {
            return self.common(page, command, width);
        }
        self.walk(command);
        page.refresh();
        true
    }

    /// Moves the selection, folds and unfolds.
    pub fn walk(&mut self, command: Command) {
        let rows = self.timeline.rows();
        if rows.is_empty() {
            return;
        }
        let page_rows = ((self.size.height / self.size.row_px().max(1)) as usize).max(2) - 1;
        let last = rows.len() - 1;
        let row = self.selected.and_then(|at| self.timeline.row_of(at));
        let to = match (row, command) {
            (_, Command::First) => 0,
            (_, Command::Last) => last,
            (None, _) => 0,
            (Some(row), Command::Up) => row.saturating_sub(1),
            (Some(row), Command::Down) => row + 1,
            (Some(row), Command::PageUp) => row.saturating_sub(page_rows),
            (Some(row), Command::PageDown) => row + page_rows,
            (Some(row), command) => {
                let at = rows[row];
                let is_open = self.timeline.has_children(at) && !self.timeline.is_closed(at);
                match (command, is_open) {
                    (Command::Left, true) | (Command::Right, false) => {
                        self.timeline.toggle(at);
                        return;
                    }
                    (Command::Left, false) => {
                        let parent = self.timeline.parent(at);
                        parent.and_then(|parent| self.timeline.row_of(parent)).unwrap_or(row)
                    }
                    _ => row + 1,
                }
            }
        };
        if let Some(&at) = self.timeline.rows().get(to.min(last)) {
            self.choose(at);
        }
    }

    fn view(&self) -> TimelineView<'_> {
        TimelineView {
            window: self.window,
            scroll_px: self.scroll_px as i64,
            selected: self.selected,
            hovered: self.hovered.map(|(at, _)| at),
            matches: self.matches.as_ref(),
            slack: self.slack,
        }
    }

    fn aim(&self) -> Window {
        self.moving.map_or(self.window, |(_, to, _)| to)
    }

    fn go(&mut self, to: Window) {
        if is_still() {
            self.set_window(to);
        } else if to != self.aim() {
            self.moving = Some((self.window, to, None));
        }
    }

    /// Shows this part of the axis at once.
    pub fn set_window(&mut self, to: Window) {
        self.window = to;
        self.moving = None;
    }

    fn choose(&mut self, at: u32) {
        self.selected = Some(at);
        (self.chosen)(Some(at));
        self.reveal(at);
    }

    /// Brings a span into sight: its row, and its bar if that is wholly outside.
    fn reveal(&mut self, at: u32) {
        self.timeline.reveal(at);
        if let Some(row) = self.timeline.row_of(at) {
            self.show_row(row);
        }
        let ((start, end), aim) = (self.timeline.interval_us(at), self.aim());
        if (end as f64) < aim.from || start as f64 > aim.to {
            let from = (start as f64 + end as f64) / 2.0 - aim.width() / 2.0;
            self.go(Window { from, to: from + aim.width() }.within(self.timeline.report().end_us));
        }
    }

    /// Scrolls to a row.
    pub fn show_row(&mut self, row: usize) {
        self.scroll_px = self.size.scroll_to(&self.timeline, row, self.scroll_px as i64) as f64;
    }

    /// What the overview shows: counted once a trace and width, since that reads every span.
    fn publish_overview(&self) {
        let overview = &self.overview;
        overview.window.set(self.window);
        let columns = overview.columns.get();
        let is_new = overview.minimap.borrow().as_ref().is_none_or(|map| map.active.len() as i32 != columns);
        if is_new && columns > 0 {
            overview.minimap.replace(Some(Minimap::new(&self.timeline, columns)));
        }
        overview.repaint(&overview.repaint_overview);
    }

    fn set_hovered(&mut self, at: Option<(u32, Option<u32>)>) -> bool {
        let changed = self.hovered != at;
        self.hovered = at;
        if at.is_none() {
            self.tip.hide();
        }
        changed
    }
}

impl ZoomableChart for TimelineChart {
    fn has_focus(&self) -> bool {
        self.selected.is_some()
    }

    fn is_zoomed(&self) -> bool {
        !self.aim().is_full(self.timeline.report().end_us)
    }

    fn middle(&self) -> f64 {
        let (plot, column) = (f64::from(self.size.plot_px()), f64::from(self.size.column_px));
        let at = self.selected.map(|at| {
            let (start, end) = self.timeline.interval_us(at);
            let aim = self.aim();
            ((start as f64 + end as f64) / 2.0 - aim.from) / aim.width() * plot
        });
        column + at.filter(|at| (0.0..=plot).contains(at)).unwrap_or(plot / 2.0)
    }

    fn zoom_to_selected(&mut self, _: Page) {
        if let Some(at) = self.selected {
            self.go(self.timeline.window_of(at));
        }
    }

    fn step(&mut self, _: Page, forward: bool) {
        if let Some(at) = self.matches.as_ref().and_then(|matches| matches.step(self.selected, forward)) {
            self.choose(at);
        }
    }

    fn svg(&self, width: i32, theme: &Theme) -> String {
        let name = self.timeline.name();
        let title = name.strip_prefix("trace ").map_or(name.clone(), |id| format!("Trace {id}"));
        export_svg(&self.timeline, &self.view(), width, theme, &title)
    }
}

impl CanvasChart for TimelineChart {
    fn paint(&mut self, surface: &Surface, theme: &Theme, now_ms: f64) -> bool {
        let (width, height) = surface.size();
        let metrics = surface.metrics();
        let css = f64::from(width) / metrics.scale;
        let column = if css < 560.0 { 40.0 } else { (css * 0.28).clamp(180.0, 340.0) };
        self.size = TimelineSize { width, height, column_px: metrics.px(column), metrics };
        if let Some(to) = self.overview.asked.take() {
            self.set_window(to);
        }
        if let Some((from, to, began)) = self.moving {
            let began = began.unwrap_or(now_ms);
            let t = ((now_ms - began) / MOVE_MS).clamp(0.0, 1.0);
            self.window = from.toward(to, 1.0 - (1.0 - t).powi(3));
            self.moving = if t >= 1.0 { None } else { Some((from, to, Some(began))) };
            if t >= 1.0 {
                self.window = to;
            }
        }
        self.scroll_px = self.scroll_px.clamp(0.0, self.size.scroll_end(&self.timeline) as f64);
        let mut label = surface.measure(metrics.font_px(), false);
        let mut small = surface.measure(self.size.small_px(), false);
        let layout = layout(&self.timeline, &self.view(), self.size, &mut label, &mut small);
        surface.paint(&scene(&layout, theme));
        self.layout = Some(layout);
        self.publish_overview();
        self.moving.is_some()
    }

    fn zoom(&mut self, x: f64, factor: f64) {
        let x = (x - f64::from(self.size.column_px)).max(0.0);
        let end = self.timeline.report().end_us;
        let to = self.aim().zoomed(x, self.size.plot_px(), factor, end, 1.0);
        self.set_window(to);
    }

    fn pan(&mut self, x: f64, y: f64) {
        let to = self.aim().panned(-x, self.size.plot_px(), self.timeline.report().end_us);
        self.set_window(to);
        self.scroll_px = (self.scroll_px - y).clamp(0.0, self.size.scroll_end(&self.timeline) as f64);
    }

    fn hover(&mut self, pointed: Option<Pointed>) -> bool {
        let hit = pointed.and_then(|pointed| {
            let hit = self.layout.as_ref()?.hit(pointed.at.0, pointed.at.1)?;
            let span = hit.span?;
            let part = self.timeline.part_at(span, hit.at_us).map(|part| part.index);
            Some(((span, part), pointed))
        });
        let Some((at, pointed)) = hit else { return self.set_hovered(None) };
        let changed = self.set_hovered(Some(at));
        if changed {
            self.tip.show(pointed.client, &self.source.tip(&self.timeline, at.0, at.1));
        } else {
            self.tip.place(pointed.client);
        }
        changed
    }

    fn click(&mut self, pointed: Pointed) {
        let page = self.page;
        let hit = self.layout.as_ref().and_then(|layout| layout.hit(pointed.at.0, pointed.at.1));
        match hit.and_then(|hit| hit.span.map(|span| (span, hit.part))) {
            Some((at, Part::Toggle)) => self.timeline.toggle(at),
            // The second of a double click is not "again".
            Some((at, _)) if self.selected == Some(at) && pointed.count < 2 => {
                self.zoom_to_selected(page);
            }
            Some((at, _)) => self.choose(at),
            None => {
                self.selected = None;
                (self.chosen)(None);
            }
        }
        page.refresh();
    }

    fn fit(&mut self) {
        self.go(self.timeline.full());
        self.page.refresh();
    }
}

type Repaint = RefCell<Option<Box<dyn Fn()>>>;

/// What timeline and overview know of each other.
pub struct Overview {
    minimap: RefCell<Option<Minimap>>,
    window: Cell<Window>,
    end_us: Cell<u64>,
    columns: Cell<i32>,
    /// The window that was asked for on the overview.
    asked: Cell<Option<Window>>,
    /// Paints the timeline.
    pub repaint_timeline: Repaint,
    /// Paints the overview.
    pub repaint_overview: Repaint,
}

impl Overview {
    /// Nothing yet.
    pub fn new() -> Rc<Overview> {
        Rc::new(Overview {
            minimap: RefCell::default(),
            window: Cell::new(Window::full(0)),
            end_us: Cell::new(0),
            columns: Cell::new(0),
            asked: Cell::new(None),
            repaint_timeline: RefCell::default(),
            repaint_overview: RefCell::default(),
        })
    }

    fn repaint(&self, what: &Repaint) {
        if let Some(run) = &*what.borrow() {
            run();
        }
    }

    fn show(&self, window: Window) {
        self.asked.set(Some(window));
        self.repaint(&self.repaint_timeline);
    }

    /// Makes another timeline show the same part of its axis.
    pub fn lead(&self, other: &Overview) {
        if other.window.get() != self.window.get() {
            other.show(self.window.get());
        }
    }

    fn aim(&self) -> Window {
        self.asked.get().unwrap_or(self.window.get())
    }
}

/// How many spans run at each moment of the trace; the part of it that the timeline shows is moved here.
pub struct OverviewChart(pub Rc<Overview>);

impl CanvasChart for OverviewChart {
    fn paint(&mut self, surface: &Surface, theme: &Theme, _now_ms: f64) -> bool {
        let (width, height) = surface.size();
        self.0.columns.set(width);
        let minimap = self.0.minimap.borrow();
        match minimap.as_ref().filter(|map| map.active.len() as i32 == width) {
            Some(map) => surface.paint(&map.scene(height, self.0.window.get(), theme, surface.metrics())),
            None => self.0.repaint(&self.0.repaint_timeline),
        }
        false
    }

    fn zoom(&mut self, x: f64, factor: f64) {
        let (columns, end_us) = (self.0.columns.get(), self.0.end_us.get());
        let aim = self.0.aim();
        // The place is on the axis of the whole; the window zooms about the same moment.
        let at = Window::full(end_us).at(x, columns);
        let x = (at - aim.from) / aim.width() * f64::from(columns);
        self.0.show(aim.zoomed(x.clamp(0.0, f64::from(columns)), columns, factor, end_us, 1.0));
    }

    fn pan(&mut self, x: f64, _y: f64) {
        let end_us = self.0.end_us.get();
        let by = x / f64::from(self.0.columns.get().max(1)) * Window::full(end_us).width();
        let aim = self.0.aim();
        self.0.show(Window { from: aim.from + by, to: aim.to + by }.within(end_us));
    }

    fn hover(&mut self, _pointed: Option<Pointed>) -> bool {
        false
    }

    fn click(&mut self, pointed: Pointed) {
        let (columns, end_us, aim) = (self.0.columns.get(), self.0.end_us.get(), self.0.aim());
        let middle = Window::full(end_us).at(f64::from(pointed.at.0), columns);
        let from = middle - aim.width() / 2.0;
        self.0.show(Window { from, to: from + aim.width() }.within(end_us));
    }

    fn fit(&mut self) {
        self.0.show(Window::full(self.0.end_us.get()));
    }
}
