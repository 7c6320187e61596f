//! The first view in the page; see [`findings`].

use super::finding_list::FindingList;
use super::time_columns::TimeColumns;
use crate::ui::dom;
use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::{Focus, Page};
use crate::ui::shell::banners::copy_text;
use crate::ui::shell::selection_bar::look_at_type;
use crate::ui::view::{PageView, SearchResult};
use crate::ui::widgets::companion::CompanionTable;
use crate::ui::widgets::controls;
use crate::ui::widgets::export;
use crate::ui::widgets::frame::Frame;
use pathlight_query::{
    EndpointsReport, Filter, Finding, GroupBy, OverviewReport, RequestType, RootEndpoint, RowStat, RowTime,
};
use pathlight_view::address::View;
use pathlight_view::finder::Finder;
use pathlight_view::finding_words;
use pathlight_view::findings;
use pathlight_view::findings::{Cost, TypeLine};
use pathlight_view::json;
use pathlight_view::request_types;
use pathlight_view::summary;

/// Endpoints in each list of the textual summary, as the binary has them.
const SUMMARY_TOP: usize = 10;

/// A way to write the summary: what the button says, its name in tests, and how.
type Copied = (&'static str, &'static str, fn(&EndpointsReport) -> String);

const COPIES: [Copied; 3] = [
    ("Text", "copy-text", |report| summary::to_text(report, SUMMARY_TOP)),
    ("Markdown", "copy-markdown", |report| summary::to_markdown(report, SUMMARY_TOP)),
    ("CSV", "copy-csv", summary::to_csv),
];

/// The view.
pub struct Findings {
    frame: Frame,
    list: FindingList,
    times: TimeColumns,
    cards: El,
    by: El,
    why: El,
    types: CompanionTable<TypeLine>,
    top: CompanionTable<Cost>,
    title: El,
    copies: El,
    /// The root endpoint whose request type is selected.
    root: Option<RootEndpoint>,
}

impl Findings {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Keep) -> Findings {
        let types = CompanionTable::sorted_alone(findings::types()).click_opens().on_open(move |row| {
            look_at_type(page, &row.row.kind);
        });
        types.element().class_if("types", true);
        let top = CompanionTable::new(page, findings::top())
            .on_select(move |cost| page.set_focus(Focus::Endpoint(cost.endpoint.clone())))
            .on_open(move |cost| {
                page.change(|address| {
                    address.search = cost.endpoint.operation.clone();
                    address.view = View::Flame;
                });
            });
        let by = controls::select(keep, "group-by", move |value| {
            page.change(|address| {
                address.by = GroupBy::parse(&value).unwrap_or_default();
                address.filters.retain(|filter| !matches!(filter, Filter::Type(_)));
            });
        });
        let why = el("p").class("muted small").test("group-by-why");
        let (list, times) = (FindingList::new(), TimeColumns::new());
        let cards = div("cards").test("summary");
        let title = el("h2").class("section-title");
        let copies = copies(page, keep);
        let element = div("findings")
            .test("findings")
            .child(&cards)
            .child(
                &div("section-head")
                    .child(&el("h2").class("section-title").text("Findings"))
                    .child(&note(page, keep)),
            )
            .child(list.element())
            .child(times.element())
            .child(
                &div("section-head")
                    .child(&el("h2").class("section-title").text("Request types"))
                    .child(&el("label").class("muted").text("Group requests by ").child(&by)),
            )
            .child(&why)
            .child(types.element())
            .child(&div("section-head").child(&title).child(&copies))
            .child(top.element());
        let frame = Frame::plain(View::Findings, element).table(top);
        Findings { frame, list, times, cards, by, why, types, top, title, copies, root: None }
    }

    fn take_overview(&mut self, page: Page, overview: &OverviewReport) {
        let by = page.address().by.clone();
        controls::offer(&self.by, &request_types::choices(overview, &by), &by.key());
        self.why.set_text(request_types::why(overview, &by));
        let cards = findings::cards(overview).into_iter().map(|card| {
            let value = span("card-value", &card.words).test(card.test).attr("data-value", &card.digits);
            let element = div("card").child(&value).child(&span("card-name", card.name));
            if card.hint.is_empty() { element } else { element.attr("title", &card.hint) }
        });
        self.cards.fill(&cards.collect::<Vec<El>>());
        self.types.set_rows(TypeLine::of(overview), "No request type: no trace has a root.");
        self.root = None;
    }

    fn take_ranking(&mut self, page: Page, report: &EndpointsReport) {
        let (costs, why) = (Cost::of(report), page.why_empty());
        let about = findings::about(&page.address(), report);
        self.title.set_text(&findings::ranking_title(&about));
        self.copies.show(!costs.is_empty());
        self.top.set_rows(costs, &why);
    }
}

/// The button that copies the findings as an incident note.
fn note(page: Page, keep: &Keep) -> El {
    let copy = button("Copy as Markdown")
        .attr("title", "Copy the findings with their numbers, as a note for an incident or a ticket")
        .attr("aria-live", "polite")
        .test("copy-findings");
    let pressed = copy.clone();
    copy.on_click(keep, move || {
        if let Some(report) = page.queries().findings.get() {
            let base = dom::window().location().href().unwrap_or_default();
            let base = base.split('#').next().unwrap_or_default().to_owned();
            let link = |finding: Option<&Finding>| {
                let mut address = page.address().clone();
                if let Some(finding) = finding {
                    finding_words::show(finding, &mut address);
                }
                format!("{base}#{}", address.to_fragment())
            };
            copy_text(&finding_words::to_markdown(&report, Some(&link)), &pressed);
        }
    })
}

/// The buttons that copy the textual summary, and the menu that saves it.
fn copies(page: Page, keep: &Keep) -> El {
    let copies = div("copies").child(&span("muted", "Copy summary as"));
    for (name, test, write) in COPIES {
        let copy = button(name)
            .attr("title", "The endpoints with most self time by p50, p95 and p99, with their call chains")
            .attr("aria-live", "polite")
            .test(test);
        let pressed = copy.clone();
        copies.add(&copy.on_click(keep, move || {
            if let Some(report) = page.queries().endpoints.get() {
                copy_text(&write(&report), &pressed);
            }
        }));
    }
    let report = move || page.queries().endpoints.get();
    let formats: Vec<export::Format> = vec![
        ("CSV table", "csv", Box::new(move || report().map(|report| summary::to_csv(&report)))),
        (
            "JSON report",
            "json",
            Box::new(move || json::summary(&*report()?, RowTime::Exclusive, RowStat::Total).ok()),
        ),
    ];
    copies.add(&export::menu(page, keep, "summary", None, formats));
    copies
}

impl PageView for Findings {
    /// What is loaded, endpoints, findings.
    type Content = (u64, u64, u64);

    fn frame(&self) -> &Frame {
        &self.frame
    }

    fn content(&self, page: Page) -> Option<(u64, u64, u64)> {
        let queries = page.queries();
        Some((queries.overview.revision(), queries.endpoints.revision(), queries.findings.revision()))
    }

    fn is_stale(&self, page: Page) -> bool {
        page.queries().endpoints.is_waiting()
    }

    fn take(&mut self, page: Page, now: &(u64, u64, u64), before: Option<&(u64, u64, u64)>) {
        let queries = page.queries();
        if let Some(overview) = queries.overview.get()
            && before.is_none_or(|before| before.0 != now.0)
        {
            self.take_overview(page, &overview);
        }
        if let Some(report) = queries.endpoints.get()
            && before.is_none_or(|before| before.1 != now.1)
        {
            self.take_ranking(page, &report);
        }
        if let Some(report) = queries.findings.get()
            && before.is_none_or(|before| before.2 != now.2)
        {
            self.list.set(page, &report);
            self.times.set(page, &report);
        }
    }

    fn search(&mut self, _: Page, finder: &Finder) -> SearchResult {
        self.types.search(finder);
        let (top, (count, share)) = (self.top, self.top.search(finder));
        let choose = |page: Page, cost: &Cost| page.set_focus(Focus::Endpoint(cost.endpoint.clone()));
        SearchResult {
            count,
            share,
            step: Box::new(move |page, forward| top.step(forward, |cost| choose(page, cost))),
        }
    }

    fn follow(&mut self, page: Page) {
        self.list.element().class_if("stale", page.queries().findings.is_waiting());
        let focus = page.focus().clone();
        self.top.select(|cost| matches!(&focus, Focus::Endpoint(endpoint) if *endpoint == cost.endpoint));
        let root = page.address().root.clone();
        if self.root.as_ref() != Some(&root) {
            self.types.select(|row| match &root {
                RootEndpoint::Endpoint(endpoint) => row.row.kind == RequestType::whole(endpoint.clone()),
                RootEndpoint::TraceRoots => false,
            });
            self.root = Some(root);
        }
    }
}
