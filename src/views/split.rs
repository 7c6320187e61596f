//! Times by the values of a tag in the page: violins and their table; see [`split`].

use crate::canvas::PlotBackend;
use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::views::view::{PageView, SearchResult};
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::CompanionTable;
use crate::widgets::controls::{self, Segments};
use crate::widgets::frame::ViewFrame;
use crate::widgets::plot_chart::{self, PlotLayout, ScrolledPlot};
use crate::widgets::sum_menu::SumMenu;
use crate::widgets::{export, tip};
use pathlight_engine::queries;
use pathlight_engine::requests::Filter;
use pathlight_engine::split::{SplitOf, SplitReport, SplitValue};
use pathlight_trace::Endpoint;
use pathlight_view::address::Address;
use pathlight_view::deployments::{self, SplitProposal};
use pathlight_view::draw::Theme;
use pathlight_view::draw::axis::Scale;
use pathlight_view::draw::plot::{ChartError, ChartSize};
use pathlight_view::draw::violin::{self, ViolinLayout};
use pathlight_view::json;
use pathlight_view::search::finder::Finder;
use pathlight_view::split::{self, Offer};
use pathlight_view::views::{View, WORKING};
use std::cell::RefCell;
use std::rc::Rc;

/// Size of an exported chart.
const EXPORT_PX: (i32, i32) = (1200, 480);

/// Returns the tag that is split by, once that is known; see [`split::key`].
pub fn key(page: Page) -> Option<String> {
    let queries = page.queries();
    if page.address().split.key.is_none() && queries.proposals.is_waiting() {
        return None;
    }
    let (proposals, overview) = (queries.proposals.get(), page.overview_in_sight());
    split::key(&page.address(), proposals.as_deref(), overview.as_deref())
}

/// Keeps only requests that have this value of the tag.
fn filter_by(page: Page, value: &str) {
    let Some(key) = key(page) else { return };
    let filter = Filter::Tag { key, value: value.to_owned() };
    page.change(|address| {
        if !address.filters.contains(&filter) {
            address.filters.push(filter);
        }
    });
}

/// The violins.
struct Violins {
    page: Page,
    report: Rc<SplitReport>,
    scale: Scale,
    /// Values that a search finds.
    found: Option<Vec<bool>>,
}

impl PlotLayout for Violins {
    fn height(&self, room: ChartSize) -> i32 {
        ViolinLayout::new(&self.report, self.scale, room).size.height
    }

    fn is_compact(&self) -> bool {
        true
    }

    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError> {
        let layout = ViolinLayout::new(&self.report, self.scale, size);
        violin::draw(backend, &self.report, self.scale, &layout, self.found.as_deref(), theme)
    }

    fn part_at(&self, (_, y): (i32, i32), size: ChartSize) -> Option<usize> {
        ViolinLayout::new(&self.report, self.scale, size).row_at(y)
    }

    fn tip(&self, part: usize) -> Vec<El> {
        self.report.values.get(part).map_or_else(Vec::new, |value| tip::elements(&split::tip(value)))
    }

    fn click(&mut self, part: usize) {
        if let Some(value) = self.report.values.get(part) {
            filter_by(self.page, &value.value);
        }
    }
}

type Chart = ChartCanvas<ScrolledPlot<Violins>>;

/// The view.
pub struct SplitView {
    frame: ViewFrame,
    chart: Chart,
    title: El,
    /// The split that is proposed, in words, and what it would change.
    proposal: El,
    proposal_words: El,
    proposed: Rc<RefCell<Option<SplitProposal>>>,
    shown_proposal: Option<u64>,
    select: El,
    of: Segments,
    sum: SumMenu,
    scales: Segments,
    table: CompanionTable<SplitValue>,
    /// The tags that are offered, and the one that is shown.
    offered: Option<(Vec<Offer>, Vec<Offer>, Option<String>)>,
}

impl SplitView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> SplitView {
        let violins = Violins { page, report: Rc::default(), scale: Scale::Log, found: None };
        let label = "Violins of times by the values of a tag; the table below says the same";
        let (chart, scroller) = plot_chart::scrolled(violins, "violins", label);
        let select = controls::select(keep, "split-key", move |key| {
            page.change(|address| address.split.key = Some(key));
        });
        select.set("aria-label", "Tag to split by");
        let choose = move |of: fn(Endpoint) -> SplitOf| {
            if let Some(endpoint) = endpoint(page) {
                page.change(|address| address.split.of = of(endpoint));
            }
        };
        let of = Segments::new("What is split")
            .button(keep, ("Latency", "Of whole requests", "split-latency"), move || {
                page.change(|address| address.split.of = SplitOf::Latency);
            })
            .button(keep, ("", "", "split-endpoint"), move || choose(SplitOf::Calls))
            .button(keep, ("", "", "split-sums"), move || choose(SplitOf::Sums));
        let linear = move |is_linear| page.change(|address| address.split.linear = is_linear);
        let scales = Segments::new("Axis of times")
            .button(keep, ("Log", "", "axis-log"), move || linear(false))
            .button(keep, ("Linear", "", "axis-linear"), move || linear(true));
        let sum = SumMenu::new(page, keep);
        let title = div("note-line muted").test("split-title");
        let proposed: Rc<RefCell<Option<SplitProposal>>> = Rc::default();
        let taken = proposed.clone();
        let take =
            button("Split by it").class("quiet").test("split-proposal-take").on_click(keep, move || {
                if let Some(SplitProposal { key, endpoint, .. }) = &*taken.borrow() {
                    let (key, of) = (key.clone(), SplitOf::Calls(endpoint.clone()));
                    page.change(|address| (address.split.key, address.split.of) = (Some(key), of));
                }
            });
        let words = span("", "").test("split-proposal-words");
        let proposal = div("note-line").test("split-proposal").child(&words).child(&take);
        proposal.show(false);
        let table = CompanionTable::new(page, split::table()).on_open(move |row| filter_by(page, &row.value));
        let exports = export::menu(page, keep, "split", None, formats(chart, table));
        let tools = div("tools")
            .child(&select)
            .child(of.element())
            .child(&div("grow"))
            .child(sum.element())
            .child(scales.element())
            .child(&exports);
        let below = div("companion").child(table.element());
        let frame = ViewFrame::new(View::Split, "split", chart, below)
            .with(&tools)
            .with(&proposal)
            .with(&title)
            .with(&scroller);
        SplitView {
            frame: frame.table(table).fits(chart),
            chart,
            title,
            proposal,
            proposal_words: words,
            proposed,
            shown_proposal: None,
            select,
            of,
            sum,
            scales,
            table,
            offered: None,
        }
    }

    /// Proposes to look at a place that is slower than others, unless it is shown.
    fn propose(&mut self, page: Page) {
        let slot = &page.queries().deployments;
        if self.shown_proposal != Some(slot.revision()) {
            self.shown_proposal = Some(slot.revision());
            let found = slot.get().and_then(|report| deployments::split_proposal(&report));
            let words = found.as_ref().map_or_else(String::new, |found| found.sentence.to_text());
            self.proposal_words.set_text(&words);
            self.proposed.replace(found);
        }
        let split = page.address().split.clone();
        let is_news = self.proposed.borrow().as_ref().is_some_and(|found| {
            split.key.as_deref() != Some(&found.key) || split.of.endpoint() != Some(&found.endpoint)
        });
        self.proposal.show(is_news);
    }

    fn offer(&mut self, page: Page) {
        let queries = page.queries();
        let Some(overview) = page.overview_in_sight() else { return };
        let (key, proposals) = (key(page), queries.proposals.get());
        let (differ, others) = split::offers(&overview, proposals.as_deref(), key.as_deref());
        let now = Some((differ, others, key));
        if self.offered == now {
            return;
        }
        let Some((differ, others, key)) = &now else { return };
        self.select.clear();
        let group = |label: &str, offers: &[Offer]| {
            let group = el("optgroup").attr("label", label);
            offers.iter().fold(group, |group, (key, words)| group.child(&controls::option(key, words)))
        };
        if !differ.is_empty() {
            self.select.add(&group("Values differ most", differ).test("split-proposed"));
        }
        self.select.add(&group("All other tags", others));
        key.iter().for_each(|key| controls::choose(&self.select, key));
        self.select.show(differ.len() + others.len() > 0);
        self.offered = now;
    }
}

/// Returns the endpoint whose time may be split: the one chosen, else the one that has the focus.
fn endpoint(page: Page) -> Option<Endpoint> {
    let chosen = page.address().split.of.endpoint().cloned();
    chosen.or_else(|| match &*page.focus() {
        Focus::Endpoint(endpoint) => Some(endpoint.clone()),
        Focus::Path(path) => path.last().cloned(),
        _ => None,
    })
}

fn formats(chart: Chart, table: CompanionTable<SplitValue>) -> Vec<export::Format> {
    let report =
        move || Some(chart.look(|chart| chart.plot.report.clone())).filter(|_| table.csv().is_some());
    vec![
        plot_chart::svg_format(chart, EXPORT_PX, move |plot, size, theme| {
            let title = format!("Times by {}", plot.report.key);
            table.csv().and_then(|_| violin::export_svg(&plot.report, plot.scale, size, theme, &title).ok())
        }),
        ("CSV table", "csv", Box::new(move || table.csv())),
        ("JSON report", "json", Box::new(move || json::split(&*report()?).ok())),
    ]
}

impl PageView for SplitView {
    /// Report; whether there is a tag to split by, and whether that is known; what is proposed.
    type Content = (u64, bool, bool, u64);

    fn ask(page: Page, address: &Address) {
        let queries = page.queries();
        let (selection, of) = (address.selection(), address.split.of.clone());
        queries.proposals.want(page, queries::Proposals { selection: selection.clone(), of: of.clone() });
        if let Some(key) = key(page) {
            let sum = address.sum.clone();
            queries.split.want(page, queries::Split { selection: selection.clone(), of, key, sum });
        }
        // Nothing in sight waits for what is proposed besides.
        queries.deployments.want(page, queries::Deployments { selection, key: None });
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<Self::Content> {
        let queries = page.queries();
        let proposed = queries.deployments.revision();
        Some((queries.split.revision(), key(page).is_some(), queries.proposals.is_waiting(), proposed))
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().split.is_waiting()
    }

    fn take(&mut self, page: Page, now: &Self::Content, _: Option<&Self::Content>) {
        let (_, has_key, is_waiting, _) = *now;
        let report = page.queries().split.get().filter(|_| has_key);
        let why = match &report {
            Some(report) => split::why_empty(page.address().range, report),
            None if has_key || is_waiting => WORKING.to_owned(),
            None => split::NO_TAG.to_owned(),
        };
        self.frame.set_text(&why);
        let Some(report) = report else { return };
        let types = page.overview_in_sight().map_or(0, |overview| overview.request_types.len());
        self.title.set_text(&split::title(&page.address(), &report, types));
        self.table.set_rows(report.values.clone(), &why);
        self.sum.say(report.sums.as_ref());
        self.chart.canvas().set("data-values", &report.values.len().to_string());
        self.chart.renew(|chart| chart.plot.report = report);
    }

    fn show_choices(&mut self, page: Page) {
        self.offer(page);
        self.propose(page);
        self.sum.update(page);
        let of = endpoint(page);
        for (at, (words, hint)) in (1..).zip(split::endpoint_choices(of.as_ref())) {
            self.of.at(at).set_text(&words);
            self.of.at(at).set("title", &hint);
            controls::enable(self.of.at(at), of.is_some());
        }
        let choice = page.address().split.clone();
        self.of.press(match choice.of {
            SplitOf::Latency => 0,
            SplitOf::Calls(_) => 1,
            SplitOf::Sums(_) => 2,
        });
        self.scales.press(usize::from(choice.linear));
        let scale = if choice.linear { Scale::Linear } else { Scale::Log };
        self.chart.with(|chart| chart.plot.scale = scale);
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        let found = self.table.look(|table| table.find(finder).hits);
        self.chart.with(|chart| chart.plot.found = found);
        let (table, (count, share)) = (self.table, self.table.search(finder));
        SearchResult { count, share, step: Box::new(move |_, forward| table.select_beside(forward)) }
    }
}
