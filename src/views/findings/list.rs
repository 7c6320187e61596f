//! The findings: what each says and costs, a small chart, how it was found, and the way to its evidence.

use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::Page;
use crate::widgets::names;
use pathlight_base::format::duration;
use pathlight_engine::findings::{Finding, FindingFacts, FindingKind, FindingsReport};
use pathlight_engine::requests::RequestRef;
use pathlight_view::address::TraceChoice;
use pathlight_view::findings::block::{FindingCost, PairOfAreas, cost, facts, headline};
use pathlight_view::findings::charts::{FindingChart, bar_places, finding_chart};
use pathlight_view::findings::links::{hit_words, show, show_hit, show_what_if, show_words, what_if_words};
use pathlight_view::findings::words::{kind_name, left_out, nothing, sentence, why};
use pathlight_view::say::sentence::Sentence;
use pathlight_view::search::finder::Finder;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// The list: the first finding as a block, the others as rows that open in place.
pub struct FindingList {
    element: El,
    keep: Listeners,
    /// What copies them all, beside the buttons of the first.
    copy: El,
    /// The findings with what they are called and what they say.
    all: RefCell<Vec<(&'static str, Sentence, El)>>,
    /// The kinds of those that are open, and their number.
    opened: Rc<RefCell<BTreeSet<(FindingKind, usize)>>>,
}

impl FindingList {
    /// Returns an empty list; `copy` is the button that copies all findings.
    pub fn new(copy: El) -> FindingList {
        let element = el("ol").class("finding-list").test("finding-list");
        let (keep, all, opened) = (Listeners::default(), RefCell::default(), Rc::default());
        FindingList { element, keep, copy, all, opened }
    }

    /// Returns the list's element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Shows the findings of a report; `pair` is a picture of the latencies of both sides.
    pub fn set(&self, page: Page, report: &FindingsReport, pair: Option<&PairOfAreas>) {
        self.keep.clear();
        let all = report.findings.iter().enumerate();
        let items: Vec<El> = all
            .map(|(at, finding)| match at {
                0 => self.block(page, finding, report, pair),
                _ => self.row(page, finding, report, at),
            })
            .collect();
        let said = report.findings.iter().map(|finding| (kind_name(finding.kind()), sentence(finding)));
        self.all.replace(said.zip(&items).map(|((kind, words), item)| (kind, words, item.clone())).collect());
        let Some((first, others)) = items.split_first() else {
            let none = el("p").class("finding-headline").text(&nothing(report));
            let none = el("li").class("finding").test("no-finding").child(&none);
            return self.element.fill([&none]);
        };
        self.element.fill([first]);
        if !others.is_empty() {
            self.element.add(&el("li").class("section-title finding-also").text("Also"));
        }
        others.iter().for_each(|item| self.element.add(item));
        if report.left_out > 0 {
            self.element.add(&el("li").class("muted").test("findings-left-out").text(&left_out(report)));
        }
    }

    /// Says why there are no findings.
    pub fn set_words(&self, why: &str) {
        self.keep.clear();
        self.all.borrow_mut().clear();
        self.element.fill([&el("li").class("finding").test("no-finding").text(why)]);
    }

    /// Dims the findings that a search does not find; returns the others, none if nothing is searched for.
    pub fn search(&self, finder: &Finder) -> Vec<El> {
        let mut found = Vec::new();
        for (kind, words, item) in &*self.all.borrow() {
            let is_found = words.is_found(kind, finder);
            item.class_if("dimmed", !is_found);
            item.unset("aria-current");
            if is_found && !finder.is_empty() {
                found.push(item.clone());
            }
        }
        found
    }

    /// Returns the first finding: sentence, cost, facts, buttons and a picture.
    fn block(
        &self,
        page: Page,
        finding: &Finding,
        report: &FindingsReport,
        pair: Option<&PairOfAreas>,
    ) -> El {
        let (first, rest) = headline(finding);
        let title = el("h2").class("finding-headline");
        title.fill(&names::sentence(page, &self.keep, first));
        let text = div("finding-text").test("finding-text").child(&title);
        for paragraph in rest {
            let more = el("p").class("finding-more muted");
            more.fill(&names::sentence(page, &self.keep, paragraph));
            text.add(&more);
        }
        let foot = self.foot(page, finding, true).child(&self.copy);
        let said = div("finding-said").child(&head(finding)).child(&text).child(&self.facts(page, finding));
        let side = div("finding-side");
        let cost = cost(finding, report);
        if let Some(cost) = &cost {
            side.add(&span("finding-amount", &cost.amount));
            side.add(&div("muted number").text(&cost.of));
            side.add(&bar(cost));
        }
        if matches!(finding.facts, FindingFacts::Changed(_)) {
            pair.into_iter().for_each(|pair| side.add(&areas(pair)));
        } else {
            finding_chart(finding).into_iter().for_each(|chart| side.add(&drawn(&chart)));
        }
        let item = item(finding).child(&said.child(&foot)).child(&side);
        item.class_if("finding-block", true);
        item.class_if("of-waiting", cost.is_some_and(|cost| cost.is_waiting));
        item
    }

    /// Returns another finding: a line that opens to all that is said of it.
    fn row(&self, page: Page, finding: &Finding, report: &FindingsReport, at: usize) -> El {
        let (first, _) = headline(finding);
        let kind = el("small").class("muted").text(kind_name(finding.kind()));
        let title = span("finding-title", "").child(&span("", &first.to_text())).child(&kind);
        let line = el("summary").class("finding-line").child(&span("muted number", &format!("{}", at + 1)));
        let line = line.child(&title.attr("title", &first.to_text()));
        let line = match cost(finding, report) {
            Some(cost) => {
                let amount = span("finding-row-cost number", &cost.amount).attr("title", &cost.of);
                line.child(&bar(&cost)).child(&amount)
            }
            None => line,
        };
        let words = el("p").class("finding-text").test("finding-text");
        words.fill(&names::sentence(page, &self.keep, sentence(finding)));
        let said =
            div("finding-said").child(&head(finding)).child(&words).child(&self.foot(page, finding, false));
        let body = div("finding-body").child(&said);
        let body = finding_chart(finding).into_iter().fold(body, |body, chart| body.child(&drawn(&chart)));
        let row = el("details").test("finding-row").child(&line).child(&body);
        // What joins later must not close what is being read.
        let (mark, opened) = ((finding.kind(), self.number_of_kind(report, at)), self.opened.clone());
        if opened.borrow().contains(&mark) {
            row.set("open", "");
        }
        let details = row.clone();
        let row = row.on(&self.keep, "toggle", move |_| {
            match details.html().has_attribute("open") {
                true => opened.borrow_mut().insert(mark),
                false => opened.borrow_mut().remove(&mark),
            };
        });
        item(finding).child(&row)
    }

    /// Returns how many findings of the same kind come before one.
    fn number_of_kind(&self, report: &FindingsReport, at: usize) -> usize {
        let kind = report.findings[at].kind();
        report.findings[..at].iter().filter(|other| other.kind() == kind).count()
    }

    fn facts(&self, page: Page, finding: &Finding) -> El {
        let out = div("finding-facts");
        for fact in facts(finding) {
            let parts = [span("fact-value number", &fact.value), span("fact-words muted small", &fact.words)];
            // What would be leads to the what-if that says so.
            out.add(&match fact.is_mended && what_if_words(finding).is_some() {
                true => self.what_if(page, finding, button("").class("fact link").children(&parts)),
                false => div("fact").children(&parts),
            });
        }
        out
    }

    fn what_if(&self, page: Page, finding: &Finding, target: El) -> El {
        let finding = finding.clone();
        let target = target.attr("title", "The whole request, if this took what is usual");
        target.test("finding-what-if").on_click(&self.keep, move || {
            page.change(|address| show_what_if(&finding, address));
        })
    }

    /// Returns the buttons, and how it was found; those of the block that facts are need none.
    fn foot(&self, page: Page, finding: &Finding, is_block: bool) -> El {
        let (to_show, target) = (finding.clone(), button(show_words(finding)).test("finding-show"));
        target.class_if("primary", is_block);
        let foot = div("finding-foot").child(&target.on_click(&self.keep, move || {
            page.change(|address| show(&to_show, address));
        }));
        let foot = finding.explained().fold(foot, |foot, (other, _)| {
            let (to_show, target) = (other.clone(), button(show_words(other)).test("finding-explained"));
            foot.child(&target.on_click(&self.keep, move || page.change(|address| show(&to_show, address))))
        });
        let foot = hit_words(finding).into_iter().fold(foot, |foot, words| {
            let (finding, target) = (finding.clone(), button(&words).test("finding-hit"));
            let target = target.attr("title", "Look only at these requests, in every view");
            foot.child(&target.on_click(&self.keep, move || {
                page.change(|address| show_hit(&finding, address));
            }))
        });
        let foot = match what_if_words(finding).filter(|_| !is_block || finding.mended.is_none()) {
            Some(words) => foot.child(&self.what_if(page, finding, button(words))),
            None => foot,
        };
        let foot =
            finding.example.iter().fold(foot, |foot, example| foot.child(&self.example(page, example)));
        // In full what the block has in short.
        let whole = is_block.then(|| sentence(finding).to_text());
        let reasons = whole.into_iter().chain(why(finding)).map(|line| el("p").text(&line));
        let reasons = el("details")
            .class("finding-why")
            .test("finding-why")
            .child(&el("summary").text("Why"))
            .children(&reasons.collect::<Vec<El>>());
        foot.child(&reasons)
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

fn item(finding: &Finding) -> El {
    el("li").class("finding").test("finding").attr("data-kind", &format!("{:?}", finding.kind()))
}

/// Returns what a finding is called, and what else it is.
fn head(finding: &Finding) -> El {
    let mut head =
        div("finding-head").child(&span("finding-kind", kind_name(finding.kind())).test("finding-kind"));
    for also in &finding.also {
        head = head.child(&span("finding-tag", kind_name(*also)).test("finding-tag"));
    }
    if finding.is_as_before {
        let tag = span("finding-tag", "in A too").attr("title", "It holds as much in side A");
        head = head.child(&tag.test("finding-as-before"));
    }
    head
}

/// Returns a cost as the part of a bar.
fn bar(cost: &FindingCost) -> El {
    let part = div("cost-part").styled("width", &percent(cost.share.max(0.01)));
    part.class_if("of-waiting", cost.is_waiting);
    div("cost-bar").attr("aria-hidden", "true").child(&part)
}

/// Returns the picture of the latencies of both sides.
fn areas(pair: &PairOfAreas) -> El {
    let svg = names::areas(PAIR_PX, &pair.paths);
    let [low, high] = &pair.ends;
    let ends = div("finding-ends").child(&span("number", low)).child(&span("number", high));
    div("finding-chart pair")
        .child(&span("muted small", "Latency of A and B, log scale"))
        .node(&svg)
        .child(&ends)
}

/// Width and height of that picture.
pub const PAIR_PX: (f64, f64) = (300.0, 64.0);

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
