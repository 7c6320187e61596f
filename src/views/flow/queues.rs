//! The time of messages in queues: chart and table by edge, and the way to the message that waited longest; see [`queues`].

use crate::canvas::PlotBackend;
use crate::dom::{El, Listeners, button, div, span};
use crate::page::Page;
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::plot_chart::{self, PlotLayout, ScrolledPlot};
use crate::widgets::{export, names, tip};
use pathlight_engine::queries;
use pathlight_engine::queues::{QueueEdge, QueuesReport};
use pathlight_view::address::Address;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::draw::Theme;
use pathlight_view::draw::plot::{ChartError, ChartSize};
use pathlight_view::json;
use pathlight_view::queues::{self, QueueRow, chart};
use pathlight_view::search::finder::Finder;
use pathlight_view::views::WORKING;
use std::cell::RefCell;
use std::rc::Rc;

/// Size of an exported chart.
const EXPORT_PX: (i32, i32) = (1200, 160);

/// The edges of the chart.
pub struct Bars {
    page: Page,
    rows: Vec<QueueRow>,
    found: Option<Vec<bool>>,
}

impl PlotLayout for Bars {
    fn height(&self, room: ChartSize) -> i32 {
        chart::QueueLayout::new(&self.rows, room).size.height
    }

    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError> {
        let layout = chart::QueueLayout::new(&self.rows, size);
        chart::draw(backend, &self.rows, &layout, self.found.as_deref(), theme)
    }

    fn part_at(&self, (_, y): (i32, i32), size: ChartSize) -> Option<usize> {
        chart::QueueLayout::new(&self.rows, size).row_at(y)
    }

    fn tip(&self, part: usize) -> Vec<El> {
        self.rows.get(part).map_or_else(Vec::new, |row| tip::elements(&queues::tip(row)))
    }

    fn click(&mut self, part: usize) {
        if let Some(row) = self.rows.get(part) {
            open_longest(self.page, row);
        }
    }
}

/// The chart.
pub type QueueChart = ChartCanvas<ScrolledPlot<Bars>>;

/// The panel.
pub struct QueuesPanel {
    element: El,
    chart: QueueChart,
    words: El,
    longest: El,
    longest_words: El,
    keep: Listeners,
    /// Edges of one set, or those of two.
    one: CompanionTable<QueueEdge>,
    two: CompanionTable<QueueRow>,
    /// The row that the button leads to.
    chosen: Rc<RefCell<Option<QueueRow>>>,
    /// Revisions of the reports that are shown.
    shown: Option<[u64; 2]>,
    /// The row whose message is named.
    named: Option<QueueRow>,
}

/// Opens the message of an edge that waited longest, with the traces that it connects.
fn open_longest(page: Page, row: &QueueRow) {
    let choice = queues::longest_trace(row.edge());
    match (row.is_of_two, &row.b) {
        (false, _) => page.open_trace(choice),
        (true, Some(_)) => page.open_trace_of(ComparedSide::B, choice),
        (true, None) => page.open_trace_of(ComparedSide::A, choice),
    }
}

/// Wants the messages of the selection; of two sets those of both. They come after what else the page shows.
pub fn want(page: Page, address: &Address) {
    let queries = page.queries();
    if address.has_baseline() {
        queries.queues.want(page, queries::Queues { selection: address.side(ComparedSide::B) });
        queries.queues_before.want(page, queries::Queues { selection: address.side(ComparedSide::A) });
    } else {
        queries.queues.want(page, queries::Queues { selection: address.selection() });
    }
}

/// Returns the messages of the selection, once they are known; of two sets with those of A.
fn reports(page: Page) -> Option<(Option<Rc<QueuesReport>>, Rc<QueuesReport>)> {
    let queries = page.queries();
    let report = queries.queues.get()?;
    match page.address().has_baseline() {
        true => Some((Some(queries.queues_before.get()?), report)),
        false => Some((None, report)),
    }
}

/// Returns whether there are messages: else nothing of queues is offered.
pub fn has_messages(page: Page) -> bool {
    let has = |report: &QueuesReport| !report.edges.is_empty();
    reports(page).is_some_and(|(before, report)| has(&report) || before.is_some_and(|before| has(&before)))
}

impl QueuesPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> QueuesPanel {
        let bars = Bars { page, rows: Vec::new(), found: None };
        let label = "Time of messages in queues; the table below says the same";
        let (chart, scroller) = plot_chart::scrolled(bars, "queues", label);
        scroller.class_if("queue-chart", true);
        let chosen: Rc<RefCell<Option<QueueRow>>> = Rc::default();
        let (by_one, by_two, by_button) = (chosen.clone(), chosen.clone(), chosen.clone());
        let row_of = |edge: &QueueEdge| {
            let report = QueuesReport { edges: vec![edge.clone()], ..QueuesReport::default() };
            QueueRow::of(None, &report).pop()
        };
        let one = CompanionTable::new(page, queues::table())
            .on_select(move |edge| {
                by_one.replace(row_of(edge));
                page.refresh();
            })
            .on_open(move |edge| row_of(edge).iter().for_each(|row| open_longest(page, row)));
        let two = CompanionTable::new(page, queues::sides_table())
            .on_select(move |row| {
                by_two.replace(Some(row.clone()));
                page.refresh();
            })
            .on_open(move |row| open_longest(page, row));
        let words = div("note-line").test("queue-words");
        let open = button("Show it on one axis")
            .attr("title", "Open the traces of sender and receiver in the timeline, with the queue between")
            .test("queue-longest")
            .on_click(keep, move || by_button.borrow().iter().for_each(|row| open_longest(page, row)));
        let longest_words = div("note-line").test("queue-longest-words");
        let longest = div("tools wrap").child(&longest_words).child(&open);
        let exports = export::menu(page, keep, "queues", None, formats(page, chart, one, two));
        let above = div("tools").child(&words).child(&div("grow")).child(&exports);
        let element = div("queues")
            .test("queues-panel")
            .child(&above)
            .child(&scroller)
            .child(&longest)
            .child(one.element())
            .child(two.element());
        QueuesPanel {
            element,
            chart,
            words,
            longest,
            longest_words,
            keep: Listeners::default(),
            one,
            two,
            chosen,
            shown: None,
            named: None,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Returns the chart.
    pub fn chart(&self) -> QueueChart {
        self.chart
    }

    /// Follows the reports.
    pub fn update(&mut self, page: Page) {
        let queries = page.queries();
        let is_of_two = page.address().has_baseline();
        self.one.show(!is_of_two);
        self.two.show(is_of_two);
        let is_waiting = queries.queues.is_waiting() || is_of_two && queries.queues_before.is_waiting();
        self.one.set_stale(is_waiting);
        self.two.set_stale(is_waiting);
        self.one.set_sort(page.address().sort.as_ref());
        self.two.set_sort(page.address().sort.as_ref());
        let failure = queries.queues.failure().or_else(|| queries.queues_before.failure());
        let Some((before, report)) = reports(page) else {
            self.longest.show(false);
            let why = failure.unwrap_or_else(|| WORKING.to_owned());
            self.words.set_text(&why);
            return if is_of_two { self.two.set_empty(&why) } else { self.one.set_empty(&why) };
        };
        let now = Some([queries.queues.revision(), queries.queues_before.revision()]);
        if self.shown != now {
            self.shown = now;
            let rows = QueueRow::of(before.as_deref(), &report);
            let why = queues::why_empty(before.as_deref(), &report);
            match &before {
                Some(before) => {
                    self.words.set_text(&queues::sides_sentence(before, &report));
                    self.two.set_rows(rows.clone(), &why);
                }
                None => {
                    self.words.set_text(&queues::sentences(&report).join(" "));
                    self.one.set_rows(report.edges.clone(), &why);
                }
            }
            self.chosen.replace(rows.first().cloned());
            self.chart.canvas().set("data-edges", &rows.len().to_string());
            self.chart.renew(|chart| chart.plot.rows = rows);
        }
        let chosen = self.chosen.borrow().clone();
        self.longest.show(chosen.is_some());
        if self.named != chosen {
            self.keep.clear();
            let said = chosen.as_ref().map(|row| queues::longest(row.edge()));
            self.longest_words.fill(&names::sentence(page, &self.keep, said.unwrap_or_default()));
            self.named = chosen;
        }
    }

    /// Shows what a search finds.
    pub fn search(&mut self, page: Page, finder: &Finder) {
        let found = match page.address().has_baseline() {
            true => self.two.look(|table| table.find(finder).hits),
            false => self.one.look(|table| table.find(finder).hits),
        };
        self.one.search(finder);
        self.two.search(finder);
        self.chart.with(|chart| chart.plot.found = found);
    }
}

fn formats(
    page: Page,
    chart: QueueChart,
    one: CompanionTable<QueueEdge>,
    two: CompanionTable<QueueRow>,
) -> Vec<export::Format> {
    let csv = move || if page.address().has_baseline() { two.csv() } else { one.csv() };
    vec![
        plot_chart::svg_format(chart, EXPORT_PX, |bars, size, theme| {
            chart::export_svg(&bars.rows, size, theme).ok()
        }),
        ("CSV table", "csv", Box::new(csv)),
        ("JSON report", "json", Box::new(move || json::queues(&*page.queries().queues.get()?).ok())),
    ]
}

/// The line of another view that leads here; hidden without messages.
pub struct QueuesLink {
    element: El,
    words: El,
    /// Revision of the report that it speaks of.
    shown: Option<u64>,
}

impl QueuesLink {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> QueuesLink {
        let words = span("muted", "").test("queues-link-words");
        let open = button("Show queues").test("queues-link").on_click(keep, move || {
            page.change(queues::show);
        });
        let element = div("tools wrap").child(&words).child(&open);
        element.show(false);
        QueuesLink { element, words, shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the report.
    pub fn update(&mut self, page: Page) {
        let slot = &page.queries().queues;
        let report = slot.get().filter(|report| !report.edges.is_empty());
        self.element.show(report.is_some());
        if let Some(report) = report
            && self.shown != Some(slot.revision())
        {
            self.shown = Some(slot.revision());
            self.words.set_text(queues::sentences(&report).first().map_or("", String::as_str));
        }
    }
}
