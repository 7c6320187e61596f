//! Endpoints against requests: the heat map, its orders, and its table.

pub mod chart;
pub mod table;

use super::findings::why_empty;
use crate::ui::dom;
use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::keys::Command;
use crate::ui::shell::search::Search;
use crate::ui::views::heatmap::chart::HeatmapChart;
use crate::ui::views::heatmap::table as heat_table;
use crate::ui::views::heatmap::table::HeatTableRow;
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::Frame;
use crate::ui::widgets::table::Table;
use crate::ui::widgets::zoom;
use crate::ui::widgets::zoom::{ZoomTools, ZoomableChart as _, svg_format};
use pathlight_chart::Shade;
use pathlight_chart::heatmap::heat_of_share;
use pathlight_query::{ColumnOrder, HeatmapReport, RowStat, RowTime};
use pathlight_text::format;
use pathlight_view::address::View;
use pathlight_view::choices::Choices;
use pathlight_view::json;
use pathlight_view::summary;
use std::rc::Rc;
use web_sys::HtmlSelectElement;

/// Shares named in the legend, in millionths.
const NAMED: [u32; 4] = [10_000, 100_000, 500_000, 1_000_000];

/// The view.
pub struct Heat {
    frame: Frame,
    chart: ChartCanvas<HeatmapChart>,
    title: El,
    times: [El; 2],
    stat: El,
    columns: [El; 3],
    zooms: ZoomTools,
    bar: El,
    table: Table<HeatTableRow>,
    search: Search,
    /// Answer, order of rows, search.
    shown: Option<(u64, (RowTime, RowStat), String)>,
    _keep: Keep,
}

impl Heat {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> Heat {
        let keep = Keep::default();
        let label = "Heat map of endpoints against requests; the table below has the endpoints";
        let chart = ChartCanvas::new(HeatmapChart::new(page), "heat", label);
        let way = |text: &str, hint: &str, test: &str, set: fn(Page, &mut Choices)| {
            button(text).attr("title", hint).test(test).on_click(&keep, move || {
                page.change(move |address| set(page, &mut address.choices));
            })
        };
        let times = [
            way("Own", "Order rows by own time on the critical path", "rows-exclusive", |_, choices| {
                choices.row_time = RowTime::Exclusive;
            }),
            way("Whole", "Order rows by the duration of their spans", "rows-inclusive", |_, choices| {
                choices.row_time = RowTime::Inclusive;
            }),
        ];
        let stat = stat_select(page, &keep);
        let columns = [
            way("Latency", "Fastest request first", "columns-latency", |_, choices| {
                choices.columns = ColumnOrder::Latency;
            }),
            way("Time", "Earliest request first", "columns-start", |_, choices| {
                choices.columns = ColumnOrder::Start;
            }),
            way(
                "Selected row",
                "By the own time of the selected endpoint",
                "columns-row",
                |page, choices| {
                    if let Focus::Endpoint((service, operation)) = page.focus().clone() {
                        choices.columns = ColumnOrder::Row { service, operation };
                    }
                },
            ),
        ];
        let group = |label: &str, buttons: &[El]| {
            div("segments").attr("role", "group").attr("aria-label", label).children(buttons)
        };
        let zooms = ZoomTools::new(page, &keep, chart, "-heat");
        let title = span("title muted", "").test("heat-title");
        let exports =
            export::menu(page, &keep, "heat-map", Some(chart.canvas().clone()), formats(page, chart));
        let rows_by = div("labelled")
            .child(&span("muted", "Rows by"))
            .child(&group("Time of rows", &times))
            .child(&stat);
        let columns_by =
            div("labelled").child(&span("muted", "Columns by")).child(&group("Order of columns", &columns));
        let tools = div("tools")
            .child(&rows_by)
            .child(&columns_by)
            .child(&title)
            .child(&div("grow"))
            .child(&zooms.all)
            .child(&exports);
        let bar = div("legend-bar");
        chart.element().class_if("heat-box", true);
        let table = heat_table::table(page);
        let below = div("companion").child(table.element());
        let frame = Frame::new(View::Heatmap, "heat", chart, below);
        let frame = frame.with(&tools).with(&legend(&bar)).with(chart.element());
        Heat {
            frame,
            chart,
            title,
            times,
            stat,
            columns,
            zooms,
            bar,
            table,
            search: search.clone(),
            shown: None,
            _keep: keep,
        }
    }

    /// Where it stands.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    fn take_report(&mut self, page: Page) {
        let queries = page.queries();
        let Some(report) = queries.heatmap.get() else {
            return self.frame.wait(queries.heatmap.is_waiting());
        };
        let (choices, text) = (page.address().choices.clone(), page.address().search.clone());
        let order = (choices.row_time, choices.row_stat);
        let now = Some((queries.heatmap.revision(), order, text.clone()));
        if self.shown == now {
            return;
        }
        if self.shown.as_ref().map(|shown| shown.0) != now.as_ref().map(|now| now.0) {
            let rows =
                (0..report.rows.rows.len() as u32).map(|at| HeatTableRow { at, report: report.clone() });
            self.table.set_rows(Rc::new(rows.collect()));
            self.chart.renew(|chart| chart.take(report.clone()));
            let why = queries.range.get().map(|range| why_empty(page, &range.facts)).unwrap_or_default();
            self.frame.set_text(if report.column_requests.is_empty() { &why } else { "" });
            self.table.set_empty(&why);
        }
        self.shown = now;
        let mut rows = report.rows.order(order.0, order.1);
        let found = (!text.trim().is_empty()).then(|| {
            let known = self.table.rows();
            known.iter().map(|row| row.fits(&text)).collect::<Vec<bool>>()
        });
        if let Some(found) = &found {
            rows.retain(|&row| found[row as usize]);
        }
        let own: u64 = rows.iter().map(|&row| report.rows.rows[row as usize].exclusive_us.sum).sum();
        let share = own as f64 / report.rows.facts.latency_sum_us.max(1) as f64;
        let chart = self.chart;
        self.search.publish(rows.len() as u64, Some(share), move |page, forward| {
            chart.with(|chart| chart.step(page, forward));
        });
        self.table.set_hits(found.map(Rc::new));
        self.chart.with(|chart| chart.set_order(rows));
        self.title.set_text(&title_of(page, &report));
    }

    fn show_choices(&self, page: Page) {
        let choices = page.address().choices.clone();
        let own = choices.row_time == RowTime::Exclusive;
        for (button, on) in self.times.iter().zip([own, !own]) {
            button.set_flag("aria-pressed", on);
        }
        if let Some(select) = self.stat.as_kind::<HtmlSelectElement>() {
            select.set_value(choices.row_stat.name());
        }
        let by_row = matches!(choices.columns, ColumnOrder::Row { .. });
        let pressed =
            [choices.columns == ColumnOrder::Latency, choices.columns == ColumnOrder::Start, by_row];
        for (button, on) in self.columns.iter().zip(pressed) {
            button.set_flag("aria-pressed", on);
        }
        let can = by_row || matches!(*page.focus(), Focus::Endpoint(_));
        if can {
            self.columns[2].unset("disabled")
        } else {
            self.columns[2].set("disabled", "")
        }
        self.zooms.update(self.chart);
    }
}

fn stat_select(page: Page, keep: &Keep) -> El {
    let select = el("select").attr("aria-label", "Statistic that rows are ordered by").test("rows-stat");
    for stat in RowStat::ALL {
        select.add(&el("option").attr("value", stat.name()).text(stat.name()));
    }
    let chosen = select.clone();
    keep.add(dom::listen(select.html(), "change", dom::How::default(), move |_| {
        let name = chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value).unwrap_or_default();
        let stat = RowStat::ALL.into_iter().find(|stat| stat.name() == name).unwrap_or_default();
        page.change(|address| address.choices.row_stat = stat);
    }));
    select
}

/// Colours with the shares they stand for; the bar is coloured once the theme is known.
fn legend(bar: &El) -> El {
    let ticks = div("legend-ticks");
    for ppm in NAMED {
        let at = f64::from(heat_of_share(ppm)) / 10.0;
        let text = format!("{}\u{202f}%", ppm / 10_000);
        ticks.add(&span("tick", &text).styled("left", &format!("{at:.1}%")));
    }
    div("legend")
        .child(&span("muted", "Share of the request's latency"))
        .child(&div("legend-scale").child(bar).child(&ticks))
        .child(&span(
            "muted",
            "Drag across columns to look at those requests alone; click a cell to open its trace",
        ))
}

fn title_of(page: Page, report: &HeatmapReport) -> String {
    let (rows, columns) = (report.rows.rows.len() as u64, report.column_requests.len() as u64);
    let requests = report.rows.facts.requests;
    let put =
        if requests > columns { format!(" in {} columns", format::count(columns)) } else { String::new() };
    format!(
        "{}: {} endpoints, {} requests{put}",
        page.selection_label(),
        format::count(rows),
        format::count(requests)
    )
}

fn formats(page: Page, chart: ChartCanvas<HeatmapChart>) -> Vec<export::Format> {
    vec![
        svg_format(chart),
        (
            "CSV table of endpoints",
            "csv",
            Box::new(move || chart.look(|chart| Some(summary::to_csv(&chart.report()?.rows)))),
        ),
        (
            "CSV table of cells",
            "cells.csv",
            Box::new(move || chart.look(|chart| chart.report().map(heat_table::cells_csv))),
        ),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let choices = page.address().choices.clone();
                chart.look(|chart| json::heatmap(chart.report()?, choices.row_time, choices.row_stat).ok())
            }),
        ),
    ]
}

impl Part for Heat {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            self.chart.leave();
            return;
        }
        if self.chart.follow_theme() {
            let colors = self.chart.theme();
            let stops: Vec<String> = (0..=10).map(|at| colors.fill(Shade::Heat(at * 100)).css()).collect();
            self.bar.style("background", &format!("linear-gradient(to right, {})", stops.join(", ")));
        }
        self.take_report(page);
        self.show_choices(page);
        let stale = page.queries().heatmap.is_waiting();
        self.chart.element().class_if("stale", stale);
        self.table.set_stale(stale);
        self.table.set_sort(page.address().sort.as_ref());
        let row = match &*page.focus() {
            Focus::Endpoint(endpoint) => self.chart.look(|chart| {
                let endpoints = &chart.report()?.rows.endpoints;
                endpoints.binary_search(endpoint).ok()
            }),
            _ => None,
        };
        self.table.select(row);
        self.chart.with(|chart| chart.select(row.map(|row| row as u32)));
        let (rows, columns) = self.chart.look(HeatmapChart::extent);
        self.chart.canvas().set("data-rows", &rows.to_string());
        self.chart.canvas().set("data-columns", &columns.to_string());
    }

    fn command(&mut self, page: Page, command: Command) -> bool {
        if !self.frame.is_chosen(page) || self.shown.is_none() {
            return false;
        }
        zoom::command(self.chart, page, command)
    }
}
