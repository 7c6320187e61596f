//! The heat map in the page; see [`heatmap`].

pub mod chart;

use crate::dom::{El, Listeners, div, span};
use crate::page::{Focus, Page};
use crate::views::heatmap::chart::HeatmapChart;
use crate::views::view::{PageView, SearchResult};
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::CompanionTable;
use crate::widgets::controls::{self, Segments};
use crate::widgets::export;
use crate::widgets::frame::ViewFrame;
use crate::widgets::places::Places;
use crate::widgets::zoom::{self, ZoomTools, ZoomableChart as _, svg_format};
use pathlight_engine::endpoints::{RowStat, RowTime};
use pathlight_engine::heatmap::ColumnOrder;
use pathlight_engine::ids::ReportEndpoint;
use pathlight_engine::queries;
use pathlight_view::address::Address;
use pathlight_view::address::choices::Choices;
use pathlight_view::draw::caption::CaptionEntries;
use pathlight_view::draw::{Shade, Theme};
use pathlight_view::heatmap::{self, HeatmapRow};
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;
use pathlight_view::table::TableMatches;
use pathlight_view::views::View;

/// The value of the order by likeness.
const ALIKE: &str = "alike";

/// Columns of the heat map at most; more requests are put together.
const COLUMNS: u32 = 10_000;

/// The view.
pub struct HeatmapView {
    frame: ViewFrame,
    chart: ChartCanvas<HeatmapChart>,
    title: El,
    times: Segments,
    stat: El,
    columns: Segments,
    bar: El,
    table: CompanionTable<HeatmapRow>,
}

impl HeatmapView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> HeatmapView {
        let label = "Heat map of endpoints against requests; the table below has the endpoints";
        let chart = ChartCanvas::new(HeatmapChart::new(page), "heat", label);
        chart.element().class_if("heat-box", true);
        let change = move |set: fn(&mut Choices)| page.change(|address| set(&mut address.choices));
        let times = Segments::new("Time of rows")
            .button(
                keep,
                ("Self", "Order rows by self time on the critical path", "rows-exclusive"),
                move || change(|choices| choices.row_time = RowTime::Exclusive),
            )
            .button(
                keep,
                ("Total", "Order rows by the duration of their spans", "rows-inclusive"),
                move || change(|choices| choices.row_time = RowTime::Inclusive),
            );
        let stat = controls::select(keep, "rows-stat", move |name| {
            let stat = RowStat::ALL.into_iter().find(|stat| stat.name() == name).unwrap_or_default();
            page.change(|address| {
                address.choices.alike_rows = name == ALIKE;
                if name != ALIKE {
                    address.choices.row_stat = stat;
                }
            });
        });
        stat.set("aria-label", "Statistic that rows are ordered by");
        for stat_of in RowStat::ALL {
            stat.add(&controls::option(stat_of.name(), stat_of.name()));
        }
        stat.add(
            &controls::option(ALIKE, "alike").attr("title", "Rows that rise and fall together side by side"),
        );
        let columns = Segments::new("Order of columns")
            .button(keep, ("Latency", "Fastest request first", "columns-latency"), move || {
                change(|choices| choices.set_columns(Some(ColumnOrder::Latency)));
            })
            .button(keep, ("Time", "Earliest request first", "columns-start"), move || {
                change(|choices| choices.set_columns(Some(ColumnOrder::Start)));
            })
            .button(
                keep,
                ("Selected row", "By the self time of the selected endpoint", "columns-row"),
                move || {
                    if let Focus::Endpoint(endpoint) = page.focus().clone() {
                        let order = Some(ColumnOrder::Row(endpoint));
                        page.change(|address| address.choices.set_columns(order));
                    }
                },
            )
            .button(
                keep,
                (
                    "Alike",
                    "Requests that spend their time in the same endpoints side by side",
                    "columns-alike",
                ),
                move || change(|choices| choices.set_columns(None)),
            );
        let zooms = ZoomTools::new(page, keep, chart, "-heat");
        let title = span("title muted", "").test("heat-title");
        let exports = export::menu(page, keep, "heat-map", Some(Box::new(colours)), formats(page, chart));
        let labelled = |words: &str| div("labelled").child(&span("muted", words));
        let places = Places::new(page, keep);
        let tools = div("tools")
            .child(places.element())
            .child(&labelled("Rows by").child(times.element()).child(&stat))
            .child(&labelled("Columns by").child(columns.element()))
            .child(&title)
            .child(&div("grow"))
            .child(&zooms.all)
            .child(&exports);
        let bar = div("legend-bar");
        let table = CompanionTable::new(page, heatmap::table())
            .on_select(move |row| page.set_focus(Focus::endpoint(row.name())));
        let below = div("companion").child(table.element());
        let frame = ViewFrame::new(View::Heatmap, "heat", chart, below).with(&tools).with(&legend(&bar));
        let frame = frame.with(chart.element()).table(table).zooms(chart, zooms).places(page, places);
        HeatmapView { frame, chart, title, times, stat, columns, bar, table }
    }
}

/// Meaning of the colours.
const LEGEND: &str = "Share of the request's latency";

/// Colours with the shares they stand for; the bar is coloured once the theme is known.
fn legend(bar: &El) -> El {
    let ticks = div("legend-ticks");
    for (at, share) in heatmap::legend() {
        ticks.add(&span("tick", &share).styled("left", &format!("{at:.1}%")));
    }
    div("legend").child(&span("muted", LEGEND)).child(&div("legend-scale").child(bar).child(&ticks)).child(
        &span("muted", "Drag across columns to look at those requests alone; click a cell to open its trace"),
    )
}

/// Returns the colours of exported charts.
fn colours(theme: &Theme) -> CaptionEntries {
    // Places on the bar are percents, those of colours thousandths.
    let marks = heatmap::legend();
    let marks = marks.map(|(at, share)| (Some(theme.fill(Shade::Heat((at * 10.0).round() as u16))), share));
    std::iter::once((None, LEGEND.to_owned())).chain(marks).collect()
}

fn formats(page: Page, chart: ChartCanvas<HeatmapChart>) -> Vec<export::Format> {
    // As it was asked for: its columns may be drawn in another order.
    let report = move || page.queries().heatmap.get();
    vec![
        svg_format(chart),
        (
            "CSV table of endpoints",
            "csv",
            Box::new(move || report().map(|report| heatmap::endpoints_csv(&report))),
        ),
        (
            "CSV table of cells",
            "cells.csv",
            Box::new(move || report().map(|report| heatmap::cells_csv(&report))),
        ),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let Choices { row_time, row_stat, .. } = page.address().choices.clone();
                heatmap::json(&*report()?, row_time, row_stat)
            }),
        ),
    ]
}

impl PageView for HeatmapView {
    /// Report, order of rows; whether rows and columns that are alike stand side by side.
    type Content = (u64, RowTime, RowStat, [bool; 2]);

    fn ask(page: Page, address: &Address) {
        let (selection, order) = (address.rolled_up(address.selection()), address.choices.columns.clone());
        page.queries().heatmap.want(page, queries::Heatmap { selection, columns: COLUMNS, order });
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn new_theme(&mut self, _: Page) {
        let colors = self.chart.theme();
        let stops: Vec<String> = (0..=10).map(|at| colors.fill(Shade::Heat(at * 100)).css()).collect();
        self.bar.style("background", &format!("linear-gradient(to right, {})", stops.join(", ")));
    }

    fn content(&self, page: Page) -> Option<Self::Content> {
        let slot = &page.queries().heatmap;
        let choices = &page.address().choices;
        let alike = [choices.alike_rows, choices.alike_columns];
        slot.get().map(|_| (slot.revision(), choices.row_time, choices.row_stat, alike))
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().heatmap.is_waiting()
    }

    fn take(&mut self, page: Page, now: &Self::Content, before: Option<&Self::Content>) {
        let Some(report) = page.queries().heatmap.get() else { return };
        let (of, is_alike) = (report.clone(), now.3[1]);
        let columns = move |chart: &mut HeatmapChart| chart.take(of, is_alike);
        if let Some(before) = before.filter(|before| before.0 == now.0) {
            if before.3[1] != is_alike {
                self.chart.renew(columns);
            }
            return;
        }
        let why = page.why_empty();
        self.table.set_rows(HeatmapRow::of(&report), &why);
        self.frame.set_text(if report.column_requests.is_empty() { &why } else { "" });
        self.title.set_text(&heatmap::title(&page.selection_label(), &report, page.loaded_endpoints()));
        self.chart.renew(columns);
    }

    fn show_choices(&mut self, page: Page) {
        let choices = page.address().choices.clone();
        self.times.press(usize::from(choices.row_time == RowTime::Inclusive));
        controls::choose(&self.stat, if choices.alike_rows { ALIKE } else { choices.row_stat.name() });
        self.columns.press(match choices.columns {
            _ if choices.alike_columns => 3,
            ColumnOrder::Latency => 0,
            ColumnOrder::Start => 1,
            ColumnOrder::Row { .. } => 2,
        });
        let by_row = matches!(choices.columns, ColumnOrder::Row { .. });
        controls::enable(self.columns.at(2), by_row || matches!(*page.focus(), Focus::Endpoint(_)));
    }

    fn search(&mut self, page: Page, finder: &Finder) -> SearchResult {
        let TableMatches { hits, matches, share } = self.table.look(|table| table.find(finder));
        self.table.set_hits(hits.clone());
        let choices = page.address().choices.clone();
        let report = page.queries().heatmap.get();
        let (chart, is_found) =
            (self.chart, |row: &ReportEndpoint| hits.as_ref().is_none_or(|hits| hits[row.index()]));
        chart.with(|chart| {
            let order = match report {
                Some(report) if choices.alike_rows => chart.alike_rows(&report),
                Some(report) => report.rows.order(choices.row_time, choices.row_stat),
                None => Vec::new(),
            };
            chart.set_order(order.into_iter().filter(is_found).collect());
        });
        SearchResult {
            count: matches,
            share,
            step: Box::new(move |page, forward| chart.with(|c| c.step(page, forward))),
        }
    }

    fn follow(&mut self, page: Page) {
        let is_request = matches!(&*page.focus(), Focus::Request(_));
        if !is_request {
            self.chart.with(HeatmapChart::leave_column);
        }
        let row = match &*page.focus() {
            Focus::Endpoint(endpoint) => self.chart.look(|chart| {
                let endpoints = &chart.report()?.rows.endpoints;
                endpoints.binary_search(endpoint).ok()
            }),
            _ => None,
        };
        self.table.select_at(row);
        self.chart.with(|chart| chart.select(row.map(|row| ReportEndpoint(row as u32))));
        let (rows, columns) = self.chart.look(HeatmapChart::extent);
        self.chart.canvas().set("data-rows", &rows.to_string());
        self.chart.canvas().set("data-columns", &columns.to_string());
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        zoom::command(self.chart, page, command)
    }
}
