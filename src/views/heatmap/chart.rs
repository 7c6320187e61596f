//! The heat map on its canvas: window, brush, tips.

use crate::canvas::Surface;
use crate::dom::El;
use crate::page::{Focus, Page};
use crate::shell::filters;
use crate::widgets::chart_canvas::{CanvasChart, Pointed};
use crate::widgets::tip;
use crate::widgets::zoom::ZoomableChart;
use pathlight_engine::heatmap::{ColumnOrder, HeatmapReport};
use pathlight_engine::ids::ReportEndpoint;
use pathlight_engine::requests::{Filter, PercentileRange};
use pathlight_view::address::TraceChoice;
use pathlight_view::draw::{AxisViewport, Metrics, Theme, Viewport, Window};
use pathlight_view::heatmap;
use pathlight_view::heatmap::chart::{
    HeatHit, HeatLayout, HeatModel, HeatSize, HeatView, alike_rows, export_svg, layout, marks, raster, scene,
    with_alike_columns,
};
use pathlight_view::keys::KeyCommand;
use std::ops::Range;
use std::rc::Rc;

/// Fewer columns than this are never shown, unless there are no more.
const LEAST_COLUMNS: f64 = 4.0;

/// The chart: a column for each request, a row for each endpoint.
pub struct HeatmapChart {
    page: Page,
    report: Option<Rc<HeatmapReport>>,
    /// The columns stand in an order that no requests have.
    is_alike: bool,
    /// Rows that behave alike side by side, once somebody has asked for it.
    alike_rows: Option<Vec<ReportEndpoint>>,
    model: HeatModel,
    order: Vec<ReportEndpoint>,
    viewport: AxisViewport,
    selected: Option<ReportEndpoint>,
    /// The column that was chosen by the keyboard.
    column: Option<u32>,
    hovered: Option<(ReportEndpoint, Range<u32>)>,
    brush: Option<Range<u32>>,
    layout: HeatLayout,
    size: HeatSize,
}

impl HeatmapChart {
    /// Returns a chart without cells.
    pub fn new(page: Page) -> HeatmapChart {
        HeatmapChart {
            page,
            report: None,
            is_alike: false,
            alike_rows: None,
            model: HeatModel::default(),
            order: Vec::new(),
            viewport: AxisViewport::new(LEAST_COLUMNS),
            selected: None,
            column: None,
            hovered: None,
            brush: None,
            layout: HeatLayout::default(),
            size: HeatSize { width: 1, height: 1, metrics: Metrics::default() },
        }
    }

    /// Returns what is drawn.
    pub fn report(&self) -> Option<&HeatmapReport> {
        self.report.as_deref()
    }

    /// Returns the rows and columns.
    pub fn extent(&self) -> (usize, u32) {
        (self.order.len(), self.model.columns())
    }

    /// Takes a report, and whether columns that are alike stand side by side.
    pub fn take(&mut self, report: Rc<HeatmapReport>, is_alike: bool) {
        let report = if is_alike { Rc::new(with_alike_columns(&report)) } else { report };
        self.is_alike = is_alike;
        self.alike_rows = None;
        let before = self.model.columns();
        self.model = HeatModel::new(&report);
        if before != self.model.columns() {
            self.viewport.open(u64::from(self.model.columns()));
        }
        self.report = Some(report);
        self.column = None;
        self.hovered = None;
        self.brush = None;
    }

    /// Returns the rows in an order by likeness over the columns of a report as they were asked for.
    pub fn alike_rows(&mut self, report: &HeatmapReport) -> Vec<ReportEndpoint> {
        self.alike_rows.get_or_insert_with(|| alike_rows(report)).clone()
    }

    /// Shows these rows, from top to bottom.
    pub fn set_order(&mut self, order: Vec<ReportEndpoint>) {
        self.order = order;
    }

    /// Selects a row and brings it into sight.
    pub fn select(&mut self, row: Option<ReportEndpoint>) {
        if self.selected != row {
            self.selected = row;
            self.reveal();
        }
    }

    fn reveal(&mut self) {
        let place = self.selected.and_then(|row| self.order.iter().position(|&known| known == row));
        if let Some(place) = place {
            let row_px = f64::from(self.size.row_px());
            self.viewport.reveal_row(place as f64 * row_px, row_px);
        }
    }

    /// Selects the row above or below.
    fn choose_beside(&mut self, down: bool) {
        let place = self.selected.and_then(|row| self.order.iter().position(|&known| known == row));
        let to = match place {
            None => 0,
            Some(place) if down => place + 1,
            Some(place) => place.saturating_sub(1),
        };
        if let Some(&row) = self.order.get(to.min(self.order.len().saturating_sub(1))) {
            self.choose(row);
        }
    }

    /// Chooses the column beside the chosen one, and with it the slowest of its requests.
    fn choose_column_beside(&mut self, right: bool) {
        let last = self.model.columns().saturating_sub(1);
        let to = match self.column {
            None => 0,
            Some(column) if right => (column + 1).min(last),
            Some(column) => column.saturating_sub(1),
        };
        let Some(request) = self.slowest_of(&(to..to + 1)) else { return };
        self.column = Some(to);
        let (window, at) = (self.viewport.aim(), f64::from(to));
        let room = window.width();
        if at < window.from || at + 1.0 > window.to {
            let from = if at < window.from { at } else { at + 1.0 - room };
            self.viewport.show(Window { from, to: from + room });
        }
        self.page.set_focus(Focus::Request(request));
    }

    /// Forgets the column that was chosen.
    pub fn leave_column(&mut self) {
        self.column = None;
    }

    fn choose(&mut self, row: ReportEndpoint) {
        let endpoint = self.report().and_then(|report| report.rows.endpoints.get(row.index())).cloned();
        self.selected = Some(row);
        self.reveal();
        if let Some(endpoint) = endpoint {
            self.page.set_focus(Focus::Endpoint(endpoint));
        }
    }

    /// Returns the slowest request of some columns.
    fn slowest_of(&self, columns: &Range<u32>) -> Option<TraceChoice> {
        let examples = self.report()?.column_example.get(columns.start as usize..columns.end as usize)?;
        // Of equally slow ones the first.
        examples.iter().rev().max_by_key(|request| request.latency_us).map(TraceChoice::from)
    }

    /// Opens the slowest request of some columns.
    fn open(&self, columns: &Range<u32>) {
        if let Some(request) = self.slowest_of(columns) {
            self.page.open_trace(request);
        }
    }

    /// Looks only at the requests of some columns; where columns are in no order of requests, at the columns only.
    fn cut(&mut self, columns: &Range<u32>) {
        let Some(report) = self.report.clone() else { return };
        match &report.order {
            _ if self.is_alike => self.show_columns(columns),
            ColumnOrder::Latency => {
                let facts = &report.rows.facts;
                let first = report.rows.range.unwrap_or(PercentileRange::ALL).ranks(facts.all_requests).start;
                let rank = |column| first + self.model.requests_before(column);
                let range =
                    PercentileRange::of_ranks(rank(columns.start)..rank(columns.end), facts.all_requests);
                self.page.change(|address| address.cut_over_all(range));
            }
            ColumnOrder::Start => {
                let start = |column: u32| report.column_start_us.get(column as usize).copied();
                let Some(from_us) = start(columns.start) else { return };
                // What follows the last column lies outside already.
                filters::add(
                    self.page,
                    Filter::Time { from_us, to_us: start(columns.end).unwrap_or(u64::MAX) },
                );
            }
            ColumnOrder::Row { .. } => self.show_columns(columns),
        }
    }

    fn show_columns(&mut self, columns: &Range<u32>) {
        self.viewport.show(Window::of(u64::from(columns.start), u64::from(columns.end)));
    }
}

impl CanvasChart for HeatmapChart {
    type Hit = HeatHit;

    fn paint(&mut self, surface: &Surface, theme: &Theme) {
        let (width, height) = surface.size();
        let metrics = surface.metrics();
        let size = HeatSize { width, height, metrics };
        let rows_px = height - size.head_px();
        self.viewport.place(size.gutter_px(), size.plot_px(), rows_px, size.scroll_end(self.order.len()));
        self.size = size;
        let view = HeatView {
            order: &self.order,
            window: self.viewport.window(),
            scroll_px: self.viewport.scroll_px(),
            step_px: 1,
            selected: self.selected,
        };
        let mut measure = surface.measure(metrics.font_px(), false);
        self.layout = layout(&self.model, &view, self.size, &mut measure);
        surface.paint(&scene(&self.layout, theme, metrics));
        let cells = raster(&self.layout, theme);
        surface.put_pixels(self.layout.gutter, self.layout.head, cells.width, &cells.rgba);
        let marks =
            marks(&self.layout, theme, metrics, self.hovered.clone(), self.column, self.brush.clone());
        surface.paint_over(&marks);
    }

    fn viewport(&mut self) -> &mut dyn Viewport {
        &mut self.viewport
    }

    fn hit(&self, (x, y): (i32, i32)) -> Option<HeatHit> {
        self.layout.hit(x, y)
    }

    fn tip(&self, hit: &HeatHit) -> Vec<El> {
        let Some(report) = self.report() else { return Vec::new() };
        tip::elements(&match hit {
            HeatHit::Cells(row, columns) => heatmap::tip(report, &self.model, *row, Some(columns)),
            HeatHit::Label(row) => heatmap::tip(report, &self.model, *row, None),
            HeatHit::Head(columns) => heatmap::head_tip(&self.model, columns),
        })
    }

    fn hover(&mut self, hit: Option<&HeatHit>) -> bool {
        let cell = match hit {
            Some(HeatHit::Cells(row, columns)) => Some((*row, columns.clone())),
            _ => None,
        };
        let changed = self.hovered != cell;
        self.hovered = cell;
        changed
    }

    fn click(&mut self, pointed: Pointed) -> bool {
        match self.hit(pointed.at) {
            Some(HeatHit::Cells(_, columns) | HeatHit::Head(columns)) => self.open(&columns),
            Some(HeatHit::Label(row)) => self.choose(row),
            None => self.page.set_focus(Focus::Nothing),
        }
        false
    }

    fn fit(&mut self) {
        self.viewport.fit();
        self.page.refresh();
    }

    fn brush(&mut self, from: (i32, i32), to: (i32, i32), touch: bool) -> bool {
        // A finger on the cells moves them; above them it brushes, as a mouse does anywhere.
        if from.0 < self.layout.gutter || touch && from.1 >= self.layout.head {
            return false;
        }
        self.brush = self.layout.columns_between(from.0, to.0);
        true
    }

    fn brushed(&mut self) {
        if let Some(columns) = self.brush.take() {
            self.cut(&columns);
        }
    }
}

impl ZoomableChart for HeatmapChart {
    fn has_focus(&self) -> bool {
        self.selected.is_some() || self.column.is_some()
    }

    fn middle(&self) -> (f64, f64) {
        (self.viewport.middle_px(None), 0.0)
    }

    /// Opens the chosen column. Rows are all of one height: without one the selected row is brought into sight.
    fn zoom_to_selected(&mut self, _: Page) {
        match self.column {
            Some(column) => self.open(&(column..column + 1)),
            None => self.reveal(),
        }
    }

    fn step(&mut self, _: Page, forward: bool) {
        self.choose_beside(forward);
    }

    fn walk(&mut self, _: Page, command: KeyCommand) -> bool {
        match command {
            KeyCommand::Up | KeyCommand::Down => self.choose_beside(command == KeyCommand::Down),
            KeyCommand::Left | KeyCommand::Right => self.choose_column_beside(command == KeyCommand::Right),
            _ => return false,
        }
        true
    }

    fn svg(&mut self, width: i32, theme: &Theme) -> String {
        let window = Window::full(self.model.columns().into());
        export_svg(&self.model, &self.order, window, width, theme, "Heat map of the critical path")
    }
}
