//! The first view in the page; see [`findings`].

pub mod list;
pub mod since;
pub mod tag_rows;

use super::findings::list::FindingList;
use super::findings::since::SinceOffer;
use super::findings::tag_rows::TagRows;
use super::trend::time_columns::TimeColumns;
use crate::dom::{self, El, Listeners, button, div, el, span};
use crate::page::slot::Slot;
use crate::page::{Focus, Page};
use crate::settings::{self, Store};
use crate::shell::banners::copy_text;
use crate::shell::redaction_dialog;
use crate::shell::selection_bar::look_at_type;
use crate::views::view::{PageView, SearchResult};
use crate::widgets::companion::CompanionTable;
use crate::widgets::frame::ViewFrame;
use crate::widgets::places::Places;
use crate::widgets::{controls, export};
use pathlight_engine::endpoints::EndpointsReport;
use pathlight_engine::findings::{Finding, FindingsReport};
use pathlight_engine::queries::{self, OverviewReport};
use pathlight_engine::requests::{GroupBy, RequestType, RootEndpoint};
use pathlight_engine::verdict::one_set::ServiceTime;
use pathlight_trace::Endpoint;
use pathlight_view::address::Address;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::export::redacted::{self, ShareKind};
use pathlight_view::export::saved::ExportRedaction;
use pathlight_view::findings::block::{PairOfAreas, pair_of_areas};
use pathlight_view::findings::{self, Cost, ShareBar, TypeLine};
use pathlight_view::flame::note::{ListsBy, NamesLeftOut};
use pathlight_view::say::request_types;
use pathlight_view::search::finder::Finder;
use pathlight_view::table::neighbour;
use pathlight_view::views::View;
use pathlight_view::{flame, json, summaries};
use std::cell::Cell;
use std::rc::Rc;
use web_sys::HtmlSelectElement;

/// Endpoints in each list of the textual summary, as the binary has them.
const SUMMARY_TOP: usize = 10;

/// A way to write the summary: what the button says, its name in tests, and how.
type Copied = (&'static str, &'static str, Write);
type Write = fn(&EndpointsReport, &[EndpointsReport], ListsBy, NamesLeftOut<'_>) -> String;

const COPIES: [Copied; 3] = [
    ("Text\u{2026}", "copy-text", |report, at, by, names| {
        flame::note::to_text(report, at, by, SUMMARY_TOP, names)
    }),
    ("Markdown\u{2026}", "copy-markdown", |report, at, by, names| {
        flame::note::to_markdown(report, at, by, SUMMARY_TOP, names)
    }),
    ("CSV\u{2026}", "copy-csv", |report, at, _, names| flame::note::to_csv(report, at, names)),
];

/// The view.
pub struct FindingsView {
    frame: ViewFrame,
    list: FindingList,
    since: SinceOffer,
    times: TimeColumns,
    coming: El,
    bars: El,
    bars_keep: [Listeners; 2],
    by_service: El,
    by_type: El,
    tags: TagRows,
    cards: El,
    /// Says that the cards are of more than is selected.
    all_loaded: El,
    by: El,
    grouping: El,
    why: El,
    types: CompanionTable<TypeLine>,
    top: CompanionTable<Cost>,
    title: El,
    copies: El,
    /// The root endpoint whose request type is selected.
    root: Option<RootEndpoint>,
}

impl FindingsView {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> FindingsView {
        let types = CompanionTable::sorted_alone(findings::types()).click_opens().on_open(move |row| {
            look_at_type(page, &row.row.kind);
        });
        types.element().class_if("types", true);
        let top = CompanionTable::new(page, findings::top())
            .on_select(move |cost| page.set_focus(Focus::Endpoint(cost.endpoint.clone())))
            .on_open(move |cost| {
                let Endpoint { service, operation } = &cost.endpoint;
                // All of a service has no operation.
                let name = if operation.is_empty() { service } else { operation };
                page.step(|address| {
                    address.search = name.clone();
                    address.view = View::Flame;
                });
            });
        let by = controls::select(keep, "group-by", move |value| {
            page.change(|address| address.group_by(GroupBy::parse(&value).unwrap_or_default()));
        });
        let why = el("p").class("muted small").test("group-by-why");
        let (list, times, tags) =
            (FindingList::new(note(page, keep, "copy-findings")), TimeColumns::new(), TagRows::new());
        let coming = el("p").class("muted small").test("findings-coming").attr("role", "status");
        let (by_service, by_type) = (div("share-list"), div("share-list"));
        let half = |title: &str, list: &El| {
            div("share-half").child(&el("h2").class("section-title").text(title)).child(list)
        };
        let spent = half("Where the time is spent", &by_service);
        let legend = div("share-legend muted small").test("share-legend");
        legend.add(&div("share-key").child(&div("finding-bar")).child(&span("", "own work")));
        legend
            .add(&div("share-key").child(&div("finding-bar of-waiting")).child(&span("", "waiting for it")));
        spent.add(&legend);
        let bars = div("share-halves")
            .child(
                &div("share-half").child(times.element()).child(&half("Latency by request type", &by_type)),
            )
            .child(&spent);
        let cards = div("cards").test("summary");
        let all_loaded = el("p").class("muted small").test("all-loaded");
        let title = el("h2").class("section-title");
        let copies = copies(page, keep);
        let grouping = el("label").class("muted").text("Group requests by ").child(&by);
        let places = Places::new(page, keep);
        let tables = el("details")
            .class("findings-tables")
            .test("findings-tables")
            .child(&el("summary").text("Tables: what is loaded, request types, endpoints"))
            .child(&cards)
            .child(&all_loaded)
            .child(
                &div("section-head")
                    .child(&el("h2").class("section-title").text("Request types"))
                    .child(&grouping),
            )
            .child(&why)
            .child(types.element())
            .child(&div("section-head").child(&title).child(places.element()).child(&copies))
            .child(top.element());
        // Tables that come into sight find out how much room they have.
        let tables = tables.on(keep, "toggle", |_| dom::moved());
        let since = SinceOffer::new(page, keep);
        let element = div("findings")
            .test("findings")
            .child(since.element())
            .child(list.element())
            .child(&coming)
            .child(&bars)
            .child(tags.element())
            .child(&tables);
        let frame = ViewFrame::plain(View::Findings, element).table(top).places(page, places);
        FindingsView {
            frame,
            list,
            since,
            times,
            coming,
            bars,
            bars_keep: Default::default(),
            by_service,
            by_type,
            tags,
            cards,
            all_loaded,
            by,
            grouping,
            why,
            types,
            top,
            title,
            copies,
            root: None,
        }
    }

    fn take_overview(&mut self, page: Page, overview: &OverviewReport) {
        let (by, is_kept) = {
            let address = page.address();
            (address.by.clone(), address.grouping() != &address.by)
        };
        // Those of a summary are its root endpoints.
        self.grouping.show(overview.summary.is_none());
        self.why.show(overview.summary.is_none());
        controls::offer(&self.by, &request_types::choices(overview, &by), &by.key());
        self.why.set_text(request_types::why(overview, &by, is_kept));
        let cards = findings::cards(overview).into_iter().map(|card| {
            let value = span("card-value", &card.words).test(card.test).attr("data-value", &card.digits);
            let element = div("card").child(&value).child(&span("card-name", card.name));
            if card.hint.is_empty() { element } else { element.attr("title", &card.hint) }
        });
        self.cards.fill(&cards.collect::<Vec<El>>());
        if page.is_summary() {
            self.take_types(page, findings::by_loaded_type(overview));
        }
        self.types.set_rows(TypeLine::of(overview), "No request type: no trace has a root.");
        self.root = None;
    }

    fn take_types(&mut self, page: Page, types: Vec<(ShareBar, Option<RequestType>)>) {
        self.bars_keep[0].clear();
        let kept = &self.bars_keep[0];
        let rows = types.into_iter().map(|(bar, kind)| {
            let open = move || {
                if let Some(kind) = &kind {
                    look_at_type(page, kind);
                }
            };
            share_row(kept, &bar, "share-type", open)
        });
        self.by_type.fill(&rows.collect::<Vec<El>>());
    }

    fn take_times(&mut self, page: Page, times: &[ServiceTime]) {
        self.bars_keep[1].clear();
        let kept = &self.bars_keep[1];
        let rows = findings::by_service(times).into_iter().map(|(bar, service)| {
            share_row(kept, &bar, "share-service", move || {
                if let Some(service) = &service {
                    page.step(|address| address.search = service.clone());
                }
            })
        });
        let rows: Vec<El> = rows.collect();
        self.bars.show(!rows.is_empty());
        self.by_service.fill(&rows);
    }

    fn take_ranking(&mut self, page: Page, report: &EndpointsReport) {
        let (costs, why) = (Cost::of(report), page.why_empty());
        let about = findings::about(&page.address(), report);
        let all_loaded = findings::all_loaded(&page.address(), &about);
        self.all_loaded.set_text(&all_loaded);
        self.all_loaded.show(!all_loaded.is_empty());
        self.title.set_text(&findings::ranking_title(&about));
        if !has_times(page) {
            self.take_times(page, &findings::self_times(report));
        }
        self.copies.show(!costs.is_empty());
        self.top.set_rows(costs, &why);
    }
}

/// Returns whether the findings have the times of services of the requests looked at; those of summaries have none, and those of
/// two sets are of B.
fn has_times(page: Page) -> bool {
    !page.is_summary() && !page.address().is_of_baseline()
}

/// Returns a service or request type with its part of the latency as a bar; pressed, it is looked at.
fn share_row(keep: &Listeners, bar: &ShareBar, test: &str, open: impl Fn() + 'static) -> El {
    let [own, waiting] = bar.relative;
    let part = |class: &str, length: f64| div(class).styled("width", &format!("{:.1}%", length * 100.0));
    let track = div("finding-track").child(&part("finding-bar", own.max(0.005)));
    let track = if waiting > 0.0 { track.child(&part("finding-bar of-waiting", waiting)) } else { track };
    let name = span("share-name", &bar.words);
    let row = button("").class("share-row").test(test).attr("title", &bar.hint);
    row.child(&name).child(&track).child(&span("number", &bar.share)).on_click(keep, open)
}

/// Returns what is loaded: how much, and unless names are left out, which files were opened.
fn loaded(page: Page, without_files: bool) -> String {
    let Some(overview) = page.queries().overview.get() else { return String::new() };
    let opened =
        settings::get(Store::Window, settings::OPENED).filter(|_| !without_files).unwrap_or_default();
    let files = findings::words::files(&opened.lines().collect::<Vec<_>>());
    findings::loaded(&overview, &files)
}

/// Returns the button that copies the findings as an incident note; tests know it by this name.
pub fn note(page: Page, keep: &Listeners, test: &str) -> El {
    let copy = button("Copy as Markdown\u{2026}")
        .attr("title", "Copy the findings with their numbers, as a note for an incident or a ticket")
        .test(test);
    copy.on_click(keep, move || {
        let act = move |redaction: ExportRedaction, pressed: &El| {
            if let Some((report, _)) = page.queries().all_findings() {
                copy_text(&note_text(page, &report, &redaction), pressed);
            }
        };
        redaction_dialog::open(
            page,
            "Incident note",
            ShareKind::Note,
            ("Copy as Markdown", "redact-note"),
            act,
        );
    })
}

/// Returns the findings as an incident note, without what is left out.
fn note_text(page: Page, report: &FindingsReport, (redaction, pseudonyms): &ExportRedaction) -> String {
    let base = dom::window().location().href().unwrap_or_default();
    let base = base.split('#').next().unwrap_or_default().to_owned();
    // A file's address names folders of this machine.
    let has_links = !redaction.names || !base.starts_with("file:");
    let redacted = redacted::findings(report, *redaction, pseudonyms);
    let link = |finding: Option<&Finding>| {
        let mut address = page.address().clone();
        // Of names that have pseudonyms the page knows nothing, and the view is what is left.
        if let Some(finding) = finding {
            findings::links::show(finding, &mut address);
        }
        format!("{base}#{}", redacted::address(&address, *redaction).to_fragment())
    };
    let queries = page.queries();
    let tags = queries.findings.fresh().and_then(|_| queries.tags.fresh()).filter(|_| !redaction.tags);
    let is_of_range = !page.address().range.is_all();
    let tags = tags.map(|tags| findings::tag_rows::to_markdown(&tags, is_of_range)).unwrap_or_default();
    let link: Option<&findings::words::LinkTo> = if has_links { Some(&link) } else { None };
    findings::words::to_markdown(&redacted, &loaded(page, redaction.names), link) + &tags
}

/// Returns the endpoints of the percentile range, and of the requests at percentiles of latency once these are known.
fn reports(page: Page) -> Option<(Rc<EndpointsReport>, Rc<Vec<EndpointsReport>>)> {
    let queries = page.queries();
    Some((queries.endpoints.get()?, queries.at_latencies.fresh()?))
}

/// Returns the picture of the latencies of both sets.
fn pair(page: Page) -> Option<PairOfAreas> {
    let of = |side| page.slot_of_side(side).fresh();
    let (a, b) = (of(ComparedSide::A)?, of(ComparedSide::B)?);
    let size = list::PAIR_PX;
    page.address()
        .has_baseline()
        .then(|| pair_of_areas(&a.facts.histogram, &b.facts.histogram, size))
        .flatten()
}

/// Returns the buttons that copy the textual summary, and the menu that saves it.
fn copies(page: Page, keep: &Listeners) -> El {
    let lists = controls::select(keep, "summary-lists", |_| ())
        .attr("aria-label", "What the lists of the summary are about");
    for (by, words) in flame::note::LISTS_BY {
        lists.add(&controls::option(by, words));
    }
    let copies =
        div("copies").child(&span("muted", "Copy summary")).child(&lists).child(&span("muted", "as"));
    for (name, test, write) in COPIES {
        let copy = button(name)
            .attr("title", "The endpoints with most self time at p50, p95 and p99, with their call paths")
            .test(test);
        let lists = lists.clone();
        copies.add(&copy.on_click(keep, move || {
            let chosen = lists.as_kind::<HtmlSelectElement>().map(HtmlSelectElement::value);
            let by = ListsBy::from_key(&chosen.unwrap_or_default());
            let act = move |(redaction, pseudonyms): ExportRedaction, pressed: &El| {
                if let Some((report, at)) = reports(page) {
                    let text = write(&report, &at, by, redaction.names.then_some(&pseudonyms));
                    copy_text(&if test == "copy-text" { page.with_scope(&text) } else { text }, pressed);
                }
            };
            redaction_dialog::open(page, "Summary", ShareKind::Summary, ("Copy summary", "redact-list"), act);
        }));
    }
    let formats: Vec<export::Format> = vec![
        (
            "CSV table",
            "csv",
            Box::new(move || reports(page).map(|(report, at)| flame::note::to_csv(&report, &at, None))),
        ),
        (
            "JSON report",
            "json",
            Box::new(move || reports(page).and_then(|(r, at)| json::summary(&r, &at).ok())),
        ),
    ];
    copies.add(&export::menu(page, keep, "summary", None, formats));
    copies
}

impl PageView for FindingsView {
    /// Revisions of overview, endpoints, findings, tags, late findings, latencies of both sides.
    type Content = [u64; 6];

    fn ask(page: Page, address: &Address) {
        let queries = page.queries();
        let places = address.rolled_up(address.selection());
        queries.endpoints.want(page, queries::Endpoints { selection: places.clone() });
        queries.at_latencies.want(page, queries::AtLatencies { selection: places });
        if page.is_summary() {
            return;
        }
        let (selection, baseline) = page.of_findings();
        queries.want_findings(page, (selection.clone(), baseline.clone()));
        // What takes longer comes later, one after the other.
        let Some(report) = queries.findings.fresh() else { return };
        queries.tags.want(page, queries::Tags { selection: selection.clone() });
        if queries.tags.fresh().is_some() || queries.tags.failure().is_some() {
            let query = queries::LateFindingsQuery::of(selection, baseline, &report);
            queries.late_findings.want(page, query);
        }
    }

    fn frame(&self) -> &ViewFrame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<[u64; 6]> {
        let queries = page.queries();
        Some([
            page.overview_revision(),
            queries.endpoints.revision(),
            queries.findings.revision(),
            queries.tags.revision(),
            queries.late_findings.revision(),
            queries.range.revision() + queries.sides.iter().map(Slot::revision).sum::<u64>(),
        ])
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().endpoints.is_waiting()
    }

    fn take(&mut self, page: Page, now: &[u64; 6], before: Option<&[u64; 6]>) {
        let queries = page.queries();
        let is_new = |part: usize| before.is_none_or(|before| before[part] != now[part]);
        if let Some(overview) = page.overview_in_sight()
            && is_new(0)
        {
            self.take_overview(page, &overview);
            if page.is_summary() {
                self.list.set_words(summaries::NO_FINDINGS);
                self.times.set(page, &FindingsReport::default());
                self.coming.show(false);
            }
            self.tags.element().show(!page.is_summary());
        }
        if let Some(report) = queries.endpoints.get()
            && is_new(1)
        {
            self.take_ranking(page, &report);
        }
        if let Some((report, is_whole)) = page.queries().all_findings().filter(|_| !page.is_summary())
            && (is_new(2) || is_new(4) || is_new(5) && page.address().has_baseline())
        {
            self.list.set(page, &report, pair(page).as_ref());
            if is_new(2) && has_times(page) {
                self.take_times(page, &report.services);
            }
            if is_new(2) {
                self.times.set(page, &report);
                self.take_types(page, findings::by_type(&report));
            }
            let is_failed = queries.late_findings.failure().is_some();
            self.coming.set_text(findings::coming(page.address().has_baseline()));
            self.coming.show(!is_whole && !is_failed);
        }
        if let Some(report) = queries.tags.get()
            && is_new(3)
        {
            self.tags.set(page, &report);
        }
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        self.types.search(finder);
        let (top, (rows, share)) = (self.top, self.top.search(finder));
        let cards = self.list.search(finder);
        let count = rows + cards.len() as u64;
        // Cards first, then the rows of the table.
        let (places, at) = ((0..count as u32).collect::<Vec<u32>>(), Cell::new(None));
        let step = move |page: Page, forward| {
            let to = neighbour(&places, at.get(), forward);
            let before = at.replace(to);
            let card = |place: Option<u32>| place.and_then(|place| cards.get(place as usize));
            card(before).into_iter().for_each(|card| card.unset("aria-current"));
            if let Some(card) = card(to) {
                card.set("aria-current", "true");
                return card.html().scroll_into_view();
            }
            if card(before).is_some() || before.is_none() && !cards.is_empty() {
                top.select_at(None);
            }
            top.step(forward, |cost| page.set_focus(Focus::Endpoint(cost.endpoint.clone())));
        };
        SearchResult { count, share, step: Box::new(step) }
    }

    fn follow(&mut self, page: Page) {
        self.since.update(page);
        self.list.element().class_if("stale", page.queries().findings.is_waiting());
        let queries = page.queries();
        let is_old = queries.findings.is_waiting() || queries.tags.is_waiting();
        self.tags.element().class_if("stale", is_old);
        let focus = page.focus().clone();
        self.top.select(|cost| matches!(&focus, Focus::Endpoint(endpoint) if *endpoint == cost.endpoint));
        let root = page.address().root.clone();
        if self.root.as_ref() != Some(&root) {
            let whole = match &root {
                RootEndpoint::Endpoint(endpoint) => Some(RequestType::whole(endpoint.clone())),
                RootEndpoint::TraceRoots => None,
            };
            self.types.select(|row| whole.as_ref() == Some(&row.row.kind));
            self.root = Some(root);
        }
    }
}
