//! The findings as cards: what each says, a small chart, how it was found, and the way to its evidence.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::widgets::names;
use pathlight_base::format::duration;
use pathlight_engine::findings::{Finding, FindingsReport};
use pathlight_engine::requests::RequestRef;
use pathlight_view::address::TraceChoice;
use pathlight_view::findings::charts::{FindingChart, bar_places, finding_chart};
use pathlight_view::findings::links::{hit_words, show, show_hit, show_what_if, show_words, what_if_words};
use pathlight_view::findings::words::{kind_name, left_out, nothing, sentence, stake, why};
use pathlight_view::say::sentence::Sentence;
use pathlight_view::search::finder::Finder;
use std::cell::RefCell;
use std::rc::Rc;

/// The list of cards.
pub struct FindingList {
    element: El,
    keep: Listeners,
    /// The cards with what they are called and what they say.
    cards: RefCell<Vec<(&'static str, Sentence, El)>>,
}

impl FindingList {
    /// Returns an empty list.
    pub fn new() -> FindingList {
        let element = el("ol").class("finding-list").test("finding-list");
        FindingList { element, keep: Listeners::default(), cards: RefCell::default() }
    }

    /// Returns the list's element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Shows the findings of a report.
    pub fn set(&self, page: Page, report: &FindingsReport) {
        self.keep.clear();
        let cards: Vec<El> = report.findings.iter().map(|finding| self.card(page, finding)).collect();
        let said = report.findings.iter().map(|finding| (kind_name(finding.kind()), sentence(finding)));
        self.cards
            .replace(said.zip(&cards).map(|((kind, words), card)| (kind, words, card.clone())).collect());
        if cards.is_empty() {
            self.element.fill([&el("li").class("finding").test("no-finding").text(&nothing(report))]);
        } else {
            self.element.fill(&cards);
            if report.left_out > 0 {
                self.element.add(&el("li").class("muted").test("findings-left-out").text(&left_out(report)));
            }
        }
    }

    /// Says why there are no findings.
    pub fn set_words(&self, why: &str) {
        self.keep.clear();
        self.cards.borrow_mut().clear();
        self.element.fill([&el("li").class("finding").test("no-finding").text(why)]);
    }

    /// Dims the cards that a search does not find; returns the others, none if nothing is searched for.
    pub fn search(&self, finder: &Finder) -> Vec<El> {
        let mut found = Vec::new();
        for (kind, words, card) in &*self.cards.borrow() {
            let is_found = words.is_found(kind, finder);
            card.class_if("dimmed", !is_found);
            card.unset("aria-current");
            if is_found && !finder.is_empty() {
                found.push(card.clone());
            }
        }
        found
    }

    fn card(&self, page: Page, finding: &Finding) -> El {
        let kind = finding.kind();
        let finding = Rc::new(finding.clone());
        let mut head = div("finding-head").child(&span("finding-kind", kind_name(kind)).test("finding-kind"));
        for also in &finding.also {
            head = head.child(&span("finding-tag", kind_name(*also)).test("finding-tag"));
        }
        if finding.is_as_before {
            let tag = span("finding-tag", "in A too").attr("title", "It holds as much in side A");
            head = head.child(&tag.test("finding-as-before"));
        }
        let cost = stake(&finding);
        if !cost.is_empty() {
            head = head.child(&span("finding-stake", &cost).attr(
                "title",
                "What it costs, on average over all requests of the selection, with its 95 % interval",
            ));
        }
        let words = el("p").class("finding-text").test("finding-text");
        words.fill(&names::sentence(page, &self.keep, sentence(&finding)));
        let (to_show, target) = (finding.clone(), button(show_words(&finding)).test("finding-show"));
        let mut foot = div("finding-foot").child(&target.on_click(&self.keep, move || {
            page.change(|address| show(&to_show, address));
        }));
        if let Some(words) = hit_words(&finding) {
            let (finding, target) = (finding.clone(), button(&words).test("finding-hit"));
            let target = target.attr("title", "Look only at these requests, in every view");
            foot = foot.child(&target.on_click(&self.keep, move || {
                page.change(|address| show_hit(&finding, address));
            }));
        }
        if let Some(words) = what_if_words(&finding) {
            let (finding, target) = (finding.clone(), button(words).test("finding-what-if"));
            let target = target.attr("title", "The whole request, if this took what is usual");
            foot = foot.child(&target.on_click(&self.keep, move || {
                page.change(|address| show_what_if(&finding, address));
            }));
        }
        if let Some(example) = &finding.example {
            foot = foot.child(&self.example(page, example));
        }
        let reasons = why(&finding).into_iter().map(|line| el("p").text(&line));
        let reasons = el("details")
            .class("finding-why")
            .test("finding-why")
            .child(&el("summary").text("Why"))
            .children(&reasons.collect::<Vec<El>>());
        let said = div("finding-said").child(&head).child(&words).child(&foot.child(&reasons));
        let card =
            el("li").class("finding").test("finding").attr("data-kind", &format!("{kind:?}")).child(&said);
        finding_chart(&finding).into_iter().fold(card, |card, chart| card.child(&drawn(&chart)))
    }

    fn example(&self, page: Page, example: &RequestRef) -> El {
        let choice = TraceChoice {
            trace_id: example.trace_id.clone(),
            root_span_id: Some(example.root_span_id.clone()),
            ..TraceChoice::default()
        };
        let open = button("Slowest example")
            .attr("title", "Open this request in the timeline")
            .test("finding-example");
        open.on_click(&self.keep, move || page.open_trace(choice.clone()))
    }
}

fn percent(part: f64) -> String {
    format!("{:.1}%", part * 100.0)
}

/// Draws a chart as boxes whose places are parts of the space there is.
fn drawn(chart: &FindingChart) -> El {
    let out = div("finding-chart").attr("aria-hidden", "true");
    let row = |name: &str, track: El, words: &str| {
        div("finding-bar-row").child(&span("muted", name)).child(&track).child(&span("number", words))
    };
    let track = || div("finding-track");
    match chart {
        FindingChart::Bars(bars) => {
            bars.iter().zip(bar_places(bars)).fold(out, |out, (bar, (end, interval))| {
                let drawn = track().child(&div("finding-bar").styled("width", &percent(end.max(0.01))));
                let drawn = interval.into_iter().fold(drawn, |drawn, [low, high]| {
                    let reach = div("finding-reach").styled("left", &percent(low));
                    drawn.child(&reach.styled("width", &percent(high - low)))
                });
                out.child(&row(bar.name, drawn, &duration(bar.us)))
            })
        }
        FindingChart::Strips(rows, ends) => {
            let out = rows.iter().fold(out, |out, (name, places)| {
                let tick = |place: &f64| div("finding-tick").styled("left", &percent(*place));
                let ticks: Vec<El> = places.iter().map(tick).collect();
                out.child(&row(name, track().children(&ticks), ""))
            });
            let ends = ends.map(|us| span("number", &duration(us)));
            out.child(&row("", div("finding-ends").children(&ends), ""))
        }
        FindingChart::Points(points, most) => {
            let point = |([x, y], is_meant): &([f64; 2], bool)| {
                let point = div("finding-point").styled("left", &percent(*x)).styled("bottom", &percent(*y));
                point.class_if("meant", *is_meant);
                point
            };
            let points: Vec<El> = points.iter().map(point).collect();
            let said = format!("up to {}, over time", duration(*most));
            out.child(&div("finding-points").children(&points)).child(&span("muted", &said))
        }
        FindingChart::Steps(steps) => {
            let step = |(number, [start, length]): (usize, &[f64; 2])| {
                let top = number as f64 / steps.len() as f64;
                let step = div("finding-step").styled("left", &percent(*start));
                step.styled("width", &percent(*length)).styled("top", &percent(top))
            };
            let steps: Vec<El> = steps.iter().enumerate().map(step).collect();
            out.child(&div("finding-points").children(&steps))
        }
    }
}
