//! Endpoints over all root endpoints in the page: histograms of requests, and the ranking; see [`endpoints`].

pub mod affected;

use crate::canvas::PlotBackend;
use crate::dom::{El, Listeners, div, span};
use crate::page::{Focus, Page};
use crate::views::flow::queues::QueuesLink;
use crate::views::view::{PageView, SearchResult};
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::controls::Segments;
use crate::widgets::frame::ViewFrame;
use crate::widgets::panels::{self, DrawPanels, PanelChart};
use crate::widgets::places::Places;
use crate::widgets::sum_menu::SumMenu;
use crate::widgets::{export, plot_chart};
use pathlight_base::format;
use pathlight_engine::endpoints::{ImpactReport, TagSumsReport};
use pathlight_engine::flame::HistogramsReport;
use pathlight_engine::flow::paper::FlowSettings;
use pathlight_engine::flow::{FASTER_PERCENT, SavingsReport};
use pathlight_engine::queries;
use pathlight_engine::requests::{RootEndpoint, Selection, Until};
use pathlight_view::address::Address;
use pathlight_view::draw::plot::{ChartError, ChartSize};
use pathlight_view::draw::{Theme, multiples};
use pathlight_view::endpoints::{self, ImpactLine};
use pathlight_view::json;
use pathlight_view::keys::KeyCommand;
use pathlight_view::say::tip::TipLine;
use pathlight_view::search::finder::Finder;
use pathlight_view::views::{View, WORKING};
use std::cell::Cell;
use std::rc::Rc;

/// Size of an exported chart.
const EXPORT_PX: (i32, i32) = (1500, 400);

/// The histograms.
#[derive(Default)]
struct Sizes(Option<Rc<HistogramsReport>>);

impl DrawPanels for Sizes {
    fn panels(&self) -> usize {
        self.0.as_ref().map_or(0, |report| report.distributions.len())
    }

    fn draw(
        &self,
        backend: PlotBackend<'_>,
        enlarged: Option<usize>,
        size: ChartSize,
        theme: &Theme,
    ) -> Result<(), ChartError> {
        let empty = HistogramsReport::default();
        multiples::draw(backend, self.0.as_deref().unwrap_or(&empty), enlarged, size, theme)
    }

    fn tip(&self, panel: usize, is_enlarged: bool) -> Vec<TipLine> {
        let lines = self.0.as_ref().map(|report| endpoints::sizes_tip(report, panel, is_enlarged));
        lines.unwrap_or_default()
    }
}

type Chart = PanelChart<Sizes>;

/// The view.
pub struct EndpointsView {
    frame: ViewFrame,
    chart: Chart,
    title: El,
    all: El,
    ranking: El,
    levels: Segments,
    level: Rc<Cell<usize>>,
    sum: SumMenu,
    table: CompanionTable<ImpactLine>,
    queues: QueuesLink,
}

impl EndpointsView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> EndpointsView {
        let label = "Histograms of the sizes of requests; their figures stand in the JSON export";
        let (chart, scroller, all) = panels::chart(page, keep, Sizes::default(), "sizes", label);
        let title = span("title muted", "").test("sizes-title");
        let exports = export::menu(page, keep, "sizes", None, size_formats(chart));
        let above = div("tools").child(&title).child(&div("grow")).child(&all).child(&exports);

        let level = Rc::new(Cell::new(1));
        let mut levels = Segments::new("How much faster");
        for (at, percent) in FASTER_PERCENT.into_iter().enumerate() {
            let chosen = level.clone();
            let words = (
                &*format!("{percent}{}%", format::THIN),
                &*format!("What is saved if an endpoint takes {percent} % less time"),
                &*format!("faster-{percent}"),
            );
            levels = levels.button(keep, words, move || {
                chosen.set(at);
                page.refresh();
            });
        }
        let ranking = span("title muted", "").test("ranking-title");
        let exports = export::menu(page, keep, "endpoints", None, ranking_formats(page, &level));
        let sum = SumMenu::new(page, keep);
        let places = Places::new(page, keep);
        let tools = div("tools")
            .child(places.element())
            .child(&ranking)
            .child(&div("grow"))
            .child(sum.element())
            .child(&span("muted fixed", "Faster by"))
            .child(levels.element())
            .child(&exports);
        let table = CompanionTable::new(page, endpoints::ranking())
            .on_select(move |line| page.set_focus(Focus::Endpoint(line.endpoint.clone())));
        let queues = QueuesLink::new(page, keep);
        let below = div("companion").test("ranking-view");
        let below = below.child(queues.element()).child(&tools).child(table.element());
        let frame = ViewFrame::new(View::Endpoints, "sizes", chart, below).with(&above).with(&scroller);
        EndpointsView {
            frame: frame.fits(chart).places(page, places),
            chart,
            title,
            all,
            ranking,
            levels,
            level,
            sum,
            table,
            queues,
        }
    }
}

/// Returns what faster endpoints would save, where it is known.
fn savings(page: Page) -> Option<Rc<SavingsReport>> {
    // Of services there are none: flows are those of endpoints, and end with the answer.
    let address = page.address();
    page.queries().savings.fresh().filter(|_| !address.by_service && address.until == Until::Answer)
}

/// Returns the numbers of the tag that is summed, where it is chosen and they are known.
fn sums(page: Page) -> Option<Rc<TagSumsReport>> {
    let key = page.address().sum.clone().filter(|_| !page.is_summary())?;
    page.queries().tag_sums.fresh().filter(|report| report.key == key)
}

/// Returns the ranking, with the calls of each endpoint once they are counted.
fn ranked(page: Page) -> Option<ImpactReport> {
    let queries = page.queries();
    let mut report = ImpactReport::clone(&*queries.impact.get()?);
    if let Some(sizes) = queries.histograms.fresh() {
        report.count_calls(&sizes);
    }
    Some(report)
}

fn size_formats(chart: Chart) -> Vec<export::Format> {
    let report = move || chart.look(|chart| chart.plot.of.0.clone());
    vec![
        plot_chart::svg_format(chart, EXPORT_PX, |plot, size, theme| {
            let report = plot.of.0.as_deref()?;
            multiples::export_svg(report, plot.enlarged, size, theme, "Sizes of requests").ok()
        }),
        ("CSV table", "csv", Box::new(move || report().map(|report| endpoints::sizes_csv(&report)))),
        ("JSON report", "json", Box::new(move || json::histograms(&*report()?).ok())),
    ]
}

fn ranking_formats(page: Page, level: &Rc<Cell<usize>>) -> Vec<export::Format> {
    let (csv_level, json_level) = (level.clone(), level.clone());
    vec![
        (
            "CSV table",
            "csv",
            Box::new(move || {
                let queries = page.queries();
                let savings = queries.savings.get();
                Some(endpoints::ranking_csv(
                    &ranked(page)?,
                    savings.as_deref(),
                    sums(page).as_deref(),
                    csv_level.get(),
                ))
            }),
        ),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let percent = f64::from(FASTER_PERCENT[json_level.get()]);
                json::endpoints(&ranked(page)?, percent).ok()
            }),
        ),
    ]
}

impl PageView for EndpointsView {
    /// Histograms, ranking, savings where they are known, how much faster, sums where they are wanted and known.
    type Content = (u64, u64, Option<u64>, usize, Option<u64>);

    fn ask(page: Page, address: &Address) {
        let queries = page.queries();
        let selection = Selection { root: RootEndpoint::TraceRoots, ..address.selection() };
        queries.impact.want(page, queries::Impact { selection: address.rolled_up(selection.clone()) });
        queries.histograms.want(page, queries::Histograms { selection: selection.clone() });
        if let Some(key) = address.sum.clone().filter(|_| !page.is_summary()) {
            let selection = address.rolled_up(selection.clone());
            queries.tag_sums.want(page, queries::TagSums { selection, key, by: None });
        }
        // What takes long comes last.
        let is_rest_there = queries.impact.fresh().is_some() && queries.histograms.fresh().is_some();
        if !page.is_summary() && is_rest_there {
            queries.queues.want(page, queries::Queues { selection: selection.clone() });
        }
        let is_answer = selection.until == Until::Answer;
        if !address.by_service && is_answer && !page.is_summary() && is_rest_there {
            queries.savings.want(page, queries::Savings { selection, settings: FlowSettings::default() });
        }
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<Self::Content> {
        let queries = page.queries();
        let known = savings(page).map(|_| queries.savings.revision());
        let (sizes, ranking) = (queries.histograms.revision(), queries.impact.revision());
        let sums = sums(page).map(|_| queries.tag_sums.revision());
        Some((sizes, ranking, known, self.level.get(), sums))
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().histograms.is_waiting()
    }

    fn take(&mut self, page: Page, now: &Self::Content, before: Option<&Self::Content>) {
        let (queries, range) = (page.queries(), page.address().range);
        let report = queries.histograms.get();
        let why = report.as_ref().map(|report| endpoints::why_empty(range, &report.facts));
        self.frame.set_text(why.as_deref().unwrap_or(WORKING));
        if let Some(report) = report
            && before.is_none_or(|before| before.0 != now.0)
        {
            self.title.set_text(&endpoints::sizes_title(range, &report));
            self.chart.renew(|chart| chart.plot.of = Sizes(Some(report)));
        }
        let Some(report) = ranked(page) else { return self.ranking.set_text(WORKING) };
        let savings = savings(page);
        let is_all = savings.is_some() || page.address().by_service;
        self.ranking.set_text(&endpoints::ranking_title(range, &report, is_all, page.loaded_names()));
        self.frame.below().set_flag("data-what-if", savings.is_some());
        let sums = sums(page);
        let why = endpoints::why_no_endpoint(range, &report);
        let lines = ImpactLine::of(&report, savings.as_deref(), sums.as_deref(), now.3);
        self.sum.say(sums.as_deref());
        self.table.set_rows(lines, &why);
    }

    fn show_choices(&mut self, page: Page) {
        self.levels.press(self.level.get());
        self.queues.update(page);
        self.sum.update(page);
        panels::show_choices(self.chart, &self.all);
        // The ranking waits for another report than the histograms.
        self.table.set_stale(page.queries().impact.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        SearchResult::in_table(self.table, finder, |page, line| {
            page.set_focus(Focus::Endpoint(line.endpoint.clone()));
        })
    }

    fn follow(&mut self, page: Page) {
        let focus = page.focus().clone();
        self.table.select(|line| matches!(&focus, Focus::Endpoint(endpoint) if *endpoint == line.endpoint));
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        panels::command(page, self.chart, command)
    }
}
