//! Latency, or the time of one endpoint, by the values of a tag: violins and their table.

pub mod table;

use crate::canvas::PlotBackend;
use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::range_bar as range;
use crate::ui::shell::search::{Last, Search, fits};
use crate::ui::views::split::table as split_table;
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::{Frame, WORKING};
use crate::ui::widgets::plot_chart;
use crate::ui::widgets::plot_chart::{Plot, ScrolledPlot};
use crate::ui::widgets::table::Table;
use pathlight_chart::axis::Scale;
use pathlight_chart::plot::{ChartError, ChartSize};
use pathlight_chart::violin;
use pathlight_chart::violin::ViolinLayout;
use pathlight_chart::{Metrics, Theme};
use pathlight_query::{Filter, NotProposed, OverviewReport, SplitOf, SplitReport, SplitValue, TagProposal};
use pathlight_text::format;
use pathlight_view::address::View;
use pathlight_view::json;
use std::rc::Rc;
use web_sys::HtmlSelectElement;

/// Size of an exported picture.
const EXPORT_PX: (i32, i32) = (1200, 480);

/// The tag that is split by: the one chosen, else the one whose values differ most, once that is known; where none
/// differ, the first that has something to compare.
pub fn key(page: Page) -> Option<String> {
    if let Some(key) = &page.address().split.key {
        return Some(key.clone());
    }
    let queries = page.queries();
    if queries.proposals.is_waiting() {
        return None;
    }
    let proposed = queries.proposals.get().and_then(|report| {
        let first = report.proposals.first().map(|proposal| proposal.key.clone());
        // Keys without a difference still have samples to show.
        let same = report.left_out.iter().find(|(_, why)| *why == NotProposed::NoDifference);
        first.or_else(|| same.map(|(key, _)| key.clone()))
    });
    proposed.or_else(|| queries.overview.get().and_then(|overview| keys(&overview).into_iter().next()))
}

/// Tags with at least two values that are few enough to list.
pub fn keys(overview: &OverviewReport) -> Vec<String> {
    let several = overview.tag_keys.iter().filter(|tag| !tag.high_cardinality && tag.values.len() > 1);
    several.map(|tag| tag.key.clone()).collect()
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

/// The violins as a chart.
struct Violins {
    page: Page,
    report: Option<Rc<SplitReport>>,
    scale: Scale,
}

impl Violins {
    fn value(&self, at: usize) -> Option<&SplitValue> {
        self.report.as_ref().and_then(|report| report.values.get(at))
    }
}

impl Plot for Violins {
    fn height(&self, room: ChartSize) -> i32 {
        let report = self.report.as_ref();
        report.map_or(room.height, |report| ViolinLayout::new(report, self.scale, room).size.height)
    }

    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError> {
        let empty = SplitReport::default();
        let report = self.report.as_deref().unwrap_or(&empty);
        let layout = ViolinLayout::new(report, self.scale, size);
        violin::draw(backend, report, self.scale, &layout, theme)
    }

    fn part_at(&self, (_, y): (i32, i32), size: ChartSize) -> Option<usize> {
        ViolinLayout::new(self.report.as_ref()?, self.scale, size).row_at(y)
    }

    fn tip(&self, part: usize) -> Vec<El> {
        let Some(value) = self.value(part) else { return Vec::new() };
        let [p50, p95, p99] = [value.us.p50, value.us.p95, value.us.p99].map(format::duration);
        vec![
            div("strong").text(&split_table::name(&value.value)),
            div("").text(&format!("{}: p50 {p50}, p95 {p95}, p99 {p99}", format::sample(value.n))),
            div("muted small").text("Click to keep only requests with this value"),
        ]
    }

    fn click(&mut self, part: usize) {
        if let Some(value) = self.value(part) {
            filter_by(self.page, &value.value);
        }
    }
}

/// The view.
pub struct Split {
    frame: Frame,
    chart: ChartCanvas<ScrolledPlot<Violins>>,
    title: El,
    select: El,
    of: [El; 2],
    scales: [El; 2],
    table: Table<SplitValue>,
    search: Search,
    shown: u64,
    offered: Option<(u64, u64, Option<String>)>,
    searched: Last<u64>,
    _keep: Keep,
}

impl Split {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> Split {
        let keep = Keep::default();
        let violins = Violins { page, report: None, scale: Scale::Log };
        let label = "Violins of times by the values of a tag; the table below says the same";
        let (chart, scroller) = plot_chart::scrolled(violins, "violins", label);
        let select = el("select").attr("aria-label", "Tag to split by").test("split-key");
        let chosen = select.clone();
        let select = select.on(&keep, "change", move |_| {
            let key = chosen.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value);
            page.change(|address| address.split.key = key);
        });
        let latency = button("Latency").attr("title", "Of whole requests").test("split-latency");
        let latency =
            latency.on_click(&keep, move || page.change(|address| address.split.of = SplitOf::Latency));
        let own = button("").test("split-endpoint").on_click(&keep, move || {
            if let Some(of) = endpoint(page) {
                page.change(|address| address.split.of = of);
            }
        });
        let of = [latency, own];
        let segments =
            div("segments").attr("role", "group").attr("aria-label", "What is split").children(&of);
        let scale = |text: &str, test: &str, linear: bool| {
            button(text)
                .test(test)
                .on_click(&keep, move || page.change(|address| address.split.linear = linear))
        };
        let scales = [scale("Log", "axis-log", false), scale("Linear", "axis-linear", true)];
        let axes =
            div("segments").attr("role", "group").attr("aria-label", "Axis of times").children(&scales);
        let title = span("title muted", "").test("split-title");
        let exports = export::menu(page, &keep, "split", Some(chart.canvas().clone()), formats(chart));
        let tools = div("tools")
            .child(&select)
            .child(&segments)
            .child(&title)
            .child(&div("grow"))
            .child(&axes)
            .child(&exports);
        let table = split_table::table(page, filter_by);
        let below = div("companion").child(table.element());
        let frame = Frame::new(View::Split, "split", chart, below).with(&tools).with(&scroller);
        Split {
            frame,
            chart,
            title,
            select,
            of,
            scales,
            table,
            search: search.clone(),
            shown: 0,
            offered: None,
            searched: Last::default(),
            _keep: keep,
        }
    }

    /// Where it stands.
    pub fn frame(&self) -> &Frame {
        &self.frame
    }

    /// Brings the switches up to date.
    fn offer(&mut self, page: Page) {
        let queries = page.queries();
        let key = key(page);
        let now = Some((queries.overview.revision(), queries.proposals.revision(), key.clone()));
        if let Some(overview) = queries.overview.get().filter(|_| self.offered != now) {
            let proposed = queries.proposals.get().map(|report| report.proposals.clone()).unwrap_or_default();
            let mut keys = keys(&overview);
            keys.retain(|key| proposed.iter().all(|proposal| proposal.key != *key));
            // A key of a link that these traces do not have.
            let is_known =
                |key: &&String| keys.contains(key) || proposed.iter().any(|proposal| proposal.key == **key);
            let other = key.as_ref().filter(|key| !is_known(key)).cloned();
            keys.extend(other);
            self.select.clear();
            if !proposed.is_empty() {
                let group = el("optgroup").attr("label", "Values differ most").test("split-proposed");
                for TagProposal { key, effect, .. } in &proposed {
                    let much = format::share(effect.share);
                    group.add(&option(key, &format!("{} \u{2013} explains {much}", format::printable(key))));
                }
                self.select.add(&group);
            }
            let group = el("optgroup").attr("label", "All other tags");
            for name in &keys {
                group.add(&option(name, &format::printable(name)));
            }
            self.select.add(&group);
            let keys = keys.len() + proposed.len();
            if let (Some(select), Some(key)) = (self.select.as_kind::<HtmlSelectElement>(), &key) {
                select.set_value(key);
            }
            self.select.show(keys > 0);
            self.offered = now;
        }
        let choice = page.address().split.clone();
        let of = endpoint(page);
        match &of {
            Some(SplitOf::Endpoint { service, operation }) => {
                self.of[1].set_text(&format!("Own time of {}", format::printable(operation)));
                self.of[1].set(
                    "title",
                    &format!("Of {} on the critical path", format::endpoint(service, operation)),
                );
                self.of[1].unset("disabled");
            }
            _ => {
                self.of[1].set_text("Own time of an endpoint");
                self.of[1].set("title", "Select an endpoint in another view first");
                self.of[1].set("disabled", "");
            }
        }
        let is_latency = choice.of == SplitOf::Latency;
        self.of[0].set_flag("aria-pressed", is_latency);
        self.of[1].set_flag("aria-pressed", !is_latency);
        self.scales[0].set_flag("aria-pressed", !choice.linear);
        self.scales[1].set_flag("aria-pressed", choice.linear);
        let scale = if choice.linear { Scale::Linear } else { Scale::Log };
        self.chart.with(|chart| chart.plot.scale = scale);
    }

    fn take_report(&mut self, page: Page) {
        let queries = page.queries();
        let key = key(page);
        let report = queries.split.get().filter(|_| key.is_some());
        let words = match (&key, &report) {
            (None, _) if queries.proposals.is_waiting() => WORKING.to_owned(),
            (None, _) => "No tag of these traces has two values or more.".to_owned(),
            (_, None) => WORKING.to_owned(),
            (_, Some(report)) => why_empty(page, report),
        };
        self.frame.set_text(&words);
        self.chart.element().class_if("stale", queries.split.is_waiting());
        self.table.set_stale(queries.split.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
        let revision = queries.split.revision();
        let Some(report) = report.filter(|_| self.shown != revision) else { return };
        self.shown = revision;
        self.title.set_text(&title(page, &report));
        self.table.set_empty(&words);
        self.table.set_rows(Rc::new(report.values.clone()));
        self.chart.canvas().set("data-values", &report.values.len().to_string());
        self.chart.with(|chart| chart.plot.report = Some(report));
    }

    fn take_search(&mut self, page: Page) {
        let text = page.address().search.clone();
        if !self.searched.is_new(&text, self.shown) {
            return;
        }
        let matches = self.table.mark(&text, |row| fits(&text, &[&row.value]));
        let table = self.table.clone();
        self.search.publish(matches, None, move |_, forward| table.select(table.neighbour(forward)));
    }
}

fn option(value: &str, words: &str) -> El {
    el("option").attr("value", value).text(words)
}

/// The endpoint whose time may be split: the one chosen, else the selected one.
fn endpoint(page: Page) -> Option<SplitOf> {
    let chosen = page.address().split.of.clone();
    if chosen != SplitOf::Latency {
        return Some(chosen);
    }
    let (service, operation) = match &*page.focus() {
        Focus::Endpoint(endpoint) => endpoint.clone(),
        Focus::Path(path) => path.last()?.clone(),
        _ => return None,
    };
    Some(SplitOf::Endpoint { service, operation })
}

fn title(page: Page, report: &SplitReport) -> String {
    let selection_label = match report.range.filter(|range| !range.is_all()) {
        Some(range) => format!("{}, {}", page.root_name(), range::words(range)),
        None => page.root_name(),
    };
    let mut words = format::printable(&selection_label);
    if report.missing > 0 {
        words.push_str(&format!("; {} without the tag", format::count(report.missing)));
    }
    if report.others.0 > 0 {
        let (values, samples) = report.others;
        words.push_str(&format!(
            "; {} of {} rarer values not shown",
            format::count(samples),
            format::count(values)
        ));
    }
    words
}

fn why_empty(page: Page, report: &SplitReport) -> String {
    if !report.values.is_empty() {
        return String::new();
    }
    let key = format::printable(&report.key);
    if report.facts.requests == 0 {
        return if report.facts.all_requests > 0 {
            format!("No request lies in {}.", range::words(page.address().range))
        } else {
            "No request of the root endpoint passes the filters.".to_owned()
        };
    }
    if report.high_cardinality {
        return format!("{key} has too many values to split by.");
    }
    match &report.of {
        SplitOf::Latency => {
            format!("No root span of these requests has the tag {key}; choose another tag.")
        }
        SplitOf::Endpoint { service, operation } if report.missing == 0 => {
            format!("{} is on no critical path of these requests.", format::endpoint(service, operation))
        }
        SplitOf::Endpoint { service, operation } => {
            format!(
                "No span of {} has the tag {key}; choose another tag.",
                format::endpoint(service, operation)
            )
        }
    }
}

fn formats(chart: ChartCanvas<ScrolledPlot<Violins>>) -> Vec<export::Format> {
    let report = |chart: ChartCanvas<ScrolledPlot<Violins>>| chart.look(|chart| chart.plot.report.clone());
    vec![
        (
            "SVG picture",
            "svg",
            Box::new(move || {
                let theme = chart.plain_theme();
                let (width, height) = EXPORT_PX;
                let size = ChartSize { width, height, metrics: Metrics::default() };
                let scale = chart.look(|chart| chart.plot.scale);
                let report = report(chart)?;
                let title = format!("Times by {}", report.key);
                violin::export_svg(&report, scale, size, &theme, &title).ok()
            }),
        ),
        ("CSV table", "csv", Box::new(move || report(chart).map(|report| split_table::csv(&report)))),
        ("JSON report", "json", Box::new(move || json::split(&*report(chart)?).ok())),
    ]
}

impl Part for Split {
    fn update(&mut self, page: Page) {
        if !self.frame.update(page) {
            self.chart.leave();
            return;
        }
        self.chart.follow_theme();
        self.offer(page);
        self.take_report(page);
        plot_chart::fit(self.chart);
        self.take_search(page);
    }
}
