//! The timeline on its canvas, and the overview of the whole trace above it.

use crate::canvas::Surface;
use crate::dom::El;
use crate::page::{Focus, Page};
use crate::widgets::chart_canvas::{CanvasChart, Pointed};
use crate::widgets::tip;
use crate::widgets::zoom::ZoomableChart;
use pathlight_engine::flame::TraceReport;
use pathlight_engine::flow::RequestPressure;
use pathlight_engine::queries::SpanMessage;
use pathlight_view::draw::{AxisViewport, Metrics, Theme, Viewport, Window};
use pathlight_view::keys::KeyCommand;
use pathlight_view::say::tip::TipLine;
use pathlight_view::search::finder::Finder;
use pathlight_view::timeline;
use pathlight_view::timeline::chart::{
    Minimap, NUMBERS, Sign, SpanMatches, SpansRow, Timeline, TimelineLayout, TimelinePart, TimelineShown,
    TimelineSize, export_svg, layout, scene,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Width of a column of numbers, and of the scrollbar, in CSS pixels.
const NUMBER_PX: f64 = 76.0;
const SCROLLBAR_PX: f64 = 12.0;

/// Source of the spans of a timeline: a trace, or the aggregate trace of many.
pub trait Spans {
    /// Returns the span that is selected.
    fn selected(&self, page: Page, timeline: &Timeline) -> Option<u32>;

    /// Returns what a tip says of a span, the pointer being on a named part of it or elsewhere.
    fn tip(&self, timeline: &Timeline, at: u32, part: Option<u32>) -> Vec<TipLine>;
}

struct TraceSpans;

impl Spans for TraceSpans {
    fn selected(&self, page: Page, timeline: &Timeline) -> Option<u32> {
        match *page.focus() {
            Focus::Span(at) if (at as usize) < timeline.len() => Some(at),
            _ => None,
        }
    }

    fn tip(&self, timeline: &Timeline, at: u32, _part: Option<u32>) -> Vec<TipLine> {
        timeline::tip(timeline, at)
    }
}

/// The rows and bars of a trace.
pub struct TimelineChart {
    page: Page,
    /// Called with the span that is chosen.
    chosen: Box<dyn Fn(Option<u32>)>,
    /// Source of the selected span and of the tips.
    source: Rc<dyn Spans>,
    overview: Rc<TraceOverview>,
    timeline: Timeline,
    viewport: AxisViewport,
    selected: Option<u32>,
    /// The span under the pointer, and the named part of it.
    hovered: Option<(u32, Option<u32>)>,
    matches: Option<SpanMatches>,
    slack: bool,
    layout: Option<TimelineLayout>,
    size: TimelineSize,
}

impl TimelineChart {
    /// Returns a chart without spans; what it shows of the whole goes to `overview`, the span that is clicked to `chosen`.
    pub fn new(
        page: Page,
        overview: &Rc<TraceOverview>,
        chosen: impl Fn(Option<u32>) + 'static,
    ) -> TimelineChart {
        TimelineChart {
            page,
            chosen: Box::new(chosen),
            source: Rc::new(TraceSpans),
            overview: overview.clone(),
            timeline: Timeline::new(TraceReport::default()),
            viewport: AxisViewport::new(1.0),
            selected: None,
            hovered: None,
            matches: None,
            slack: false,
            layout: None,
            size: TimelineSize::new(1, 1, 0, Metrics::default()),
        }
    }

    /// Makes it the chart of spans of another kind.
    pub fn of(self, source: Rc<dyn Spans>) -> TimelineChart {
        TimelineChart { source, ..self }
    }

    /// Returns the trace.
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// Takes another trace.
    pub fn take(&mut self, report: impl Into<Rc<TraceReport>>) {
        self.take_timeline(Timeline::new(report));
    }

    /// Takes in a timeline of any kind.
    pub fn take_timeline(&mut self, timeline: Timeline) {
        self.overview.minimap.replace(None);
        self.overview.end_us.set(timeline.report().end_us);
        self.viewport.open(timeline.report().end_us);
        self.timeline = timeline;
        self.selected = None;
        self.matches = None;
        self.hovered = None;
        self.layout = None;
        let root = self.timeline.report().request_root;
        if root > 0 {
            self.viewport.go(self.timeline.window_of(root));
        }
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

    /// Searches, by names unless `spans` are what was found; gives how many spans were found.
    pub fn search(&mut self, finder: &Finder, spans: Option<&Vec<u32>>) -> u64 {
        let by_name = || self.timeline.search(|label| finder.fits(&[label]));
        let found = || spans.map_or_else(by_name, |spans| SpanMatches::of(spans.clone()));
        self.matches = (!finder.is_empty()).then(found);
        self.matches.as_ref().map_or(0, |matches| matches.spans().len() as u64)
    }

    /// Searches by the endpoints of the spans.
    pub fn search_endpoints(&mut self, finder: &Finder) {
        let report = self.timeline.report();
        let found: Vec<bool> =
            report.endpoints.iter().map(|endpoint| finder.fits_endpoint(endpoint.names())).collect();
        let is_found = |span: &u32| {
            report.endpoint.get(*span as usize).and_then(|endpoint| found.get(*endpoint as usize))
                == Some(&true)
        };
        let spans = (0..self.timeline.len() as u32).filter(is_found).collect();
        self.search(finder, Some(&spans));
    }

    /// Returns which spans a search found; `None` without one.
    pub fn hits(&self) -> Option<Vec<bool>> {
        let matches = self.matches.as_ref()?;
        Some((0..self.timeline.len() as u32).map(|at| matches.contains(at)).collect())
    }

    /// Opens all rows, or closes those of this depth.
    pub fn open_to(&mut self, depth: Option<u32>) {
        self.timeline.open_to(depth);
        self.viewport.scroll_to_start();
    }

    /// Shows only the spans on the critical path, or all.
    pub fn set_path_only(&mut self, only: bool) {
        self.timeline.set_path_only(only);
        if let Some(row) = self.selected.and_then(|at| self.timeline.row_of(at)) {
            self.show_row(row);
        }
    }

    /// Takes the messages between the spans, which may be of several traces: all of them are in sight first.
    pub fn set_messages(&mut self, messages: Vec<SpanMessage>) {
        self.timeline.set_messages(messages);
        self.viewport.open(self.timeline.report().end_us);
    }

    /// Marks spans; they come ascending.
    pub fn set_signs(&mut self, signs: Vec<(u32, Sign)>) {
        self.timeline.set_signs(signs);
    }

    /// Takes drag and slack of the spans.
    pub fn set_pressures(&mut self, of: &RequestPressure) {
        self.timeline.set_pressures(of);
    }

    /// Draws how much longer every span may take, or not.
    pub fn set_slack(&mut self, shown: bool) {
        self.slack = shown;
    }

    /// Moves the selection, folds and unfolds.
    fn choose_beside(&mut self, command: KeyCommand) {
        let rows = self.timeline.rows();
        if rows.is_empty() {
            return;
        }
        let page_rows = ((self.size.height / self.size.row_px().max(1)) as usize).max(2) - 1;
        let last = rows.len() - 1;
        let row = self.selected.and_then(|at| self.timeline.row_of(at));
        let to = match (row, command) {
            (_, KeyCommand::First) => 0,
            (_, KeyCommand::Last) => last,
            (None, _) => 0,
            (Some(row), KeyCommand::Up) => row.saturating_sub(1),
            (Some(row), KeyCommand::Down) => row + 1,
            (Some(row), KeyCommand::PageUp) => row.saturating_sub(page_rows),
            (Some(row), KeyCommand::PageDown) => row + page_rows,
            (Some(row), command @ (KeyCommand::Left | KeyCommand::Right)) if rows[row].is_group => {
                let span = rows[row].span;
                self.timeline.open_group(span, command == KeyCommand::Right);
                return;
            }
            (Some(row), command) => {
                let at = rows[row].span;
                let is_open = self.timeline.has_children(at) && !self.timeline.is_closed(at);
                match (command, is_open) {
                    (KeyCommand::Left, true) | (KeyCommand::Right, false) => {
                        self.timeline.toggle(at);
                        return;
                    }
                    (KeyCommand::Left, false) if row > 0 && self.is_member(row) => {
                        self.timeline.open_group(at, false);
                        return;
                    }
                    (KeyCommand::Left, false) => {
                        let parent = self.timeline.parent(at);
                        parent.and_then(|parent| self.timeline.row_of(parent)).unwrap_or(row)
                    }
                    _ => row + 1,
                }
            }
        };
        let rows = self.timeline.rows();
        let is_open = |row: usize| self.timeline.group(rows[row]).is_some_and(|group| group.is_open);
        let to = to.min(last);
        // The row of siblings that have rows is passed over: what is selected is a span.
        let to = match command {
            KeyCommand::Up | KeyCommand::PageUp if is_open(to) => to.saturating_sub(1),
            _ if is_open(to) => to + 1,
            _ => to,
        };
        if let Some(&SpansRow { span, .. }) = rows.get(to) {
            self.stay_at(span);
        }
    }

    /// Returns whether a row is that of one of some siblings.
    fn is_member(&self, row: usize) -> bool {
        let rows = self.timeline.rows();
        let of_group = |at: &SpansRow| self.timeline.group(*at).map(|group| (at.depth, group));
        let above = rows[..row].iter().rev().find(|at| at.depth < rows[row].depth).and_then(of_group);
        above.is_some_and(|(depth, group)| {
            depth + 1 == rows[row].depth && group.members.binary_search(&rows[row].span).is_ok()
        })
    }

    /// Goes to the next span with one of these bits of [`TraceReport`].
    pub fn find(&mut self, bits: u8) {
        if let Some(at) = self.timeline.next_with(bits, self.selected, true) {
            self.choose(at);
        }
    }

    /// Gives siblings of one name one row, or each its own.
    pub fn set_grouped(&mut self, grouped: bool) {
        self.timeline.set_grouped(grouped);
    }

    /// Scrolls as a press on the scrollbar at this height asks for; tells whether there is one at `x`.
    fn scroll_at(&mut self, x: i32, y: i32) -> bool {
        let thumb = self.layout.as_ref().and_then(|layout| layout.thumb);
        let Some((_, high)) = thumb.filter(|_| x >= self.size.width - self.size.scrollbar_px) else {
            return false;
        };
        let room = (self.size.height - self.size.axis_px() - high).max(1);
        let share = f64::from(y - self.size.axis_px() - high / 2) / f64::from(room);
        self.viewport.scroll_to(share * self.size.scroll_end(&self.timeline) as f64);
        true
    }

    fn view(&self) -> TimelineShown<'_> {
        TimelineShown {
            window: self.viewport.window(),
            scroll_px: self.viewport.scroll_px(),
            selected: self.selected,
            hovered: self.hovered.map(|(at, _)| at),
            matches: self.matches.as_ref(),
            slack: self.slack,
        }
    }

    fn choose(&mut self, at: u32) {
        self.selected = Some(at);
        (self.chosen)(Some(at));
        self.reveal(at);
    }

    /// Selects a span without opening the row of siblings it is hidden in.
    fn stay_at(&mut self, at: u32) {
        self.selected = Some(at);
        (self.chosen)(Some(at));
        self.show(at);
    }

    /// Brings a span into sight: its row, and its bar if that is wholly outside.
    fn reveal(&mut self, at: u32) {
        self.timeline.reveal(at);
        self.show(at);
    }

    fn show(&mut self, at: u32) {
        if let Some(row) = self.timeline.row_of(at) {
            self.show_row(row);
        }
        let ((start, end), aim) = (self.timeline.interval_us(at), self.viewport.aim());
        if (end as f64) < aim.from || start as f64 > aim.to {
            let from = (start as f64 + end as f64) / 2.0 - aim.width() / 2.0;
            self.viewport.go(Window { from, to: from + aim.width() }.within(self.timeline.report().end_us));
        }
    }

    /// Scrolls to a row.
    pub fn show_row(&mut self, row: usize) {
        let row_px = f64::from(self.size.row_px());
        self.viewport.reveal_row(row as f64 * row_px, row_px);
    }

    /// Publishes what the overview shows: counted once a trace and width, since that reads every span.
    fn publish_overview(&self) {
        let overview = &self.overview;
        overview.window.set(self.viewport.window());
        let columns = overview.columns.get();
        let is_new = overview.minimap.borrow().as_ref().is_none_or(|map| map.active.len() as i32 != columns);
        if is_new && columns > 0 {
            overview.minimap.replace(Some(Minimap::new(&self.timeline, columns)));
        }
        overview.repaint(&overview.repaint_overview);
    }
}

impl ZoomableChart for TimelineChart {
    fn has_focus(&self) -> bool {
        self.selected.is_some()
    }

    fn middle(&self) -> (f64, f64) {
        let selected = self.selected.map(|at| {
            let (start, end) = self.timeline.interval_us(at);
            (start as f64, end as f64)
        });
        (self.viewport.middle_px(selected), 0.0)
    }

    fn zoom_to_selected(&mut self, _: Page) {
        if let Some(at) = self.selected {
            self.viewport.go(self.timeline.window_of(at));
        }
    }

    fn step(&mut self, _: Page, forward: bool) {
        if let Some(at) = self.matches.as_ref().and_then(|matches| matches.step(self.selected, forward)) {
            self.choose(at);
        }
    }

    /// Moves the selection; also folds and unfolds.
    fn walk(&mut self, _: Page, command: KeyCommand) -> bool {
        use KeyCommand::{Down, First, Last, Left, PageDown, PageUp, Right, Up};
        let is_walk = matches!(command, Up | Down | Left | Right | PageUp | PageDown | First | Last);
        if is_walk {
            self.choose_beside(command);
        }
        is_walk
    }

    fn svg(&mut self, width: i32, theme: &Theme) -> String {
        let title = self.timeline.title();
        let view = TimelineShown { window: self.timeline.full(), ..self.view() };
        export_svg(&self.timeline, &view, width, theme, &title)
    }
}

impl CanvasChart for TimelineChart {
    /// A span, and the named part of it.
    type Hit = (u32, Option<u32>);

    fn paint(&mut self, surface: &Surface, theme: &Theme) {
        let (width, height) = surface.size();
        let metrics = surface.metrics();
        let css = f64::from(width) / metrics.scale;
        let column = if css < 560.0 { 40.0 } else { (css * 0.28).clamp(180.0, 340.0) };
        let numbers = if css < 900.0 { 0.0 } else { NUMBER_PX * NUMBERS.len() as f64 };
        let mut size = TimelineSize::new(width, height, metrics.px(column + numbers), metrics);
        // A length of nothing would be a pixel.
        size.numbers_px = if numbers > 0.0 { metrics.px(numbers) } else { 0 };
        if size.scroll_end(&self.timeline) > 0 {
            size.scrollbar_px = metrics.px(SCROLLBAR_PX);
        }
        self.size = size;
        if let Some(to) = self.overview.asked.take() {
            self.viewport.show(to);
        }
        let rows_px = height - size.axis_px();
        self.viewport.place(size.column_px, size.plot_px(), rows_px, size.scroll_end(&self.timeline));
        let mut label = surface.measure(metrics.font_px(), false);
        let mut small = surface.measure(self.size.small_px(), false);
        let layout = layout(&self.timeline, &self.view(), self.size, &mut label, &mut small);
        surface.paint(&scene(&layout, theme));
        self.layout = Some(layout);
        let css = |px: i32| f64::from(px) / metrics.scale;
        self.overview.place(css(size.column_px), css(size.scrollbar_px));
        self.publish_overview();
    }

    fn viewport(&mut self) -> &mut dyn Viewport {
        &mut self.viewport
    }

    fn hit(&self, (x, y): (i32, i32)) -> Option<(u32, Option<u32>)> {
        let hit = self.layout.as_ref()?.hit(x, y)?;
        if x >= self.size.width - self.size.scrollbar_px {
            return None;
        }
        let span = hit.span?;
        Some((span, self.timeline.part_at(span, hit.at_us).map(|part| part.index)))
    }

    fn tip(&self, (span, part): &(u32, Option<u32>)) -> Vec<El> {
        tip::elements(&self.source.tip(&self.timeline, *span, *part))
    }

    fn hover(&mut self, hit: Option<&(u32, Option<u32>)>) -> bool {
        let changed = self.hovered.as_ref() != hit;
        self.hovered = hit.copied();
        changed
    }

    fn click(&mut self, pointed: Pointed) -> bool {
        let page = self.page;
        if self.scroll_at(pointed.at.0, pointed.at.1) {
            return true;
        }
        let hit = self.layout.as_ref().and_then(|layout| layout.hit(pointed.at.0, pointed.at.1));
        match hit.and_then(|hit| hit.span.map(|span| (span, hit.part))) {
            Some((at, _)) if hit.is_some_and(|hit| hit.is_group) => {
                let is_open = self.timeline.group_of(at).is_some_and(|group| group.is_open);
                self.timeline.open_group(at, !is_open);
            }
            Some((at, TimelinePart::Toggle)) => self.timeline.toggle(at),
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
        false
    }

    fn fit(&mut self) {
        self.viewport.fit();
        self.page.refresh();
    }

    fn brush(&mut self, from: (i32, i32), to: (i32, i32), _touch: bool) -> bool {
        self.scroll_at(from.0, to.1)
    }
}

/// Gives an overview room at its left and right, in CSS pixels.
type Align = RefCell<Option<Box<dyn Fn(f64, f64)>>>;

type Repaint = RefCell<Option<Box<dyn Fn()>>>;

/// State that timeline and overview share.
pub struct TraceOverview {
    minimap: RefCell<Option<Minimap>>,
    window: Cell<Window>,
    end_us: Cell<u64>,
    columns: Cell<i32>,
    /// Room at its left and right, so that its moments stand above those of the bars; in CSS pixels.
    margins: Cell<(f64, f64)>,
    /// Gives it that room.
    pub align: Align,
    /// The window that was asked for on the overview.
    asked: Cell<Option<Window>>,
    /// Paints the timeline.
    pub repaint_timeline: Repaint,
    /// Paints the overview.
    pub repaint_overview: Repaint,
}

impl TraceOverview {
    /// Creates an overview of nothing yet.
    pub fn new() -> Rc<TraceOverview> {
        Rc::new(TraceOverview {
            minimap: RefCell::default(),
            window: Cell::new(Window::full(0)),
            end_us: Cell::new(0),
            columns: Cell::new(0),
            margins: Cell::new((0.0, 0.0)),
            align: RefCell::default(),
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

    fn place(&self, left: f64, right: f64) {
        if self.margins.replace((left, right)) != (left, right)
            && let Some(run) = &*self.align.borrow()
        {
            run(left, right);
        }
    }

    fn show(&self, window: Window) {
        self.asked.set(Some(window));
        self.repaint(&self.repaint_timeline);
    }

    /// Makes another timeline show the same part of its axis.
    pub fn lead(&self, other: &TraceOverview) {
        if other.window.get() != self.window.get() {
            other.show(self.window.get());
        }
    }

    fn aim(&self) -> Window {
        self.asked.get().unwrap_or(self.window.get())
    }
}

/// Chart of the number of spans that run at each moment of the trace; the part of it that the timeline shows is moved
/// here.
pub struct OverviewChart(Rc<TraceOverview>);

impl OverviewChart {
    /// Returns the overview of a timeline.
    pub fn new(overview: &Rc<TraceOverview>) -> OverviewChart {
        OverviewChart(overview.clone())
    }
}

/// The place is on the axis of the whole; what moves is the window of the timeline.
impl Viewport for OverviewChart {
    fn zoom(&mut self, (x, _): (f64, f64), factor: f64) {
        let (columns, end_us, aim) = (self.0.columns.get(), self.0.end_us.get(), self.0.aim());
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
}

impl CanvasChart for OverviewChart {
    type Hit = ();

    fn paint(&mut self, surface: &Surface, theme: &Theme) {
        let (width, height) = surface.size();
        self.0.columns.set(width);
        let minimap = self.0.minimap.borrow();
        match minimap.as_ref().filter(|map| map.active.len() as i32 == width) {
            Some(map) => surface.paint(&map.scene(height, self.0.window.get(), theme, surface.metrics())),
            None => self.0.repaint(&self.0.repaint_timeline),
        }
    }

    fn viewport(&mut self) -> &mut dyn Viewport {
        self
    }

    fn click(&mut self, pointed: Pointed) -> bool {
        let (columns, end_us, aim) = (self.0.columns.get(), self.0.end_us.get(), self.0.aim());
        let middle = Window::full(end_us).at(f64::from(pointed.at.0), columns);
        let from = middle - aim.width() / 2.0;
        self.0.show(Window { from, to: from + aim.width() }.within(end_us));
        false
    }

    fn fit(&mut self) {
        self.0.show(Window::full(self.0.end_us.get()));
    }
}
