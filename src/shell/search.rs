//! The search, as the view in sight answers it.

use crate::page::Page;
use pathlight_base::format;
use pathlight_engine::requests::search::{SearchReport, SpanSearch};
use pathlight_engine::requests::{RootEndpoint, Selection};
use pathlight_view::address::Address;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::search::finder::{Finder, found_words};
use pathlight_view::views::View;
use std::cell::RefCell;
use std::rc::Rc;

/// Goes to the next match, or with `false` to the one before.
type Step = Box<dyn Fn(Page, bool)>;

#[derive(Default)]
struct Inner {
    matches: u64,
    /// Share of the whole that the matches make up, without counting anything twice.
    share: Option<f64>,
    next: Option<Step>,
}

/// Returns the selections in which a search looks for tags: that of the views, or those of both sides where both are
/// shown.
pub fn sides(address: &Address) -> [Option<Selection>; 2] {
    if address.view == View::Compare && address.comparison.is_some() {
        return ComparedSide::BOTH.map(|side| Some(address.side(side)));
    }
    let root = if address.view == View::Endpoints { RootEndpoint::TraceRoots } else { address.root.clone() };
    [Some(Selection { root, ..address.selection() }), None]
}

/// Returns the reports of a search by tags; `None` while one of them is on its way.
fn reports(page: Page) -> Option<Vec<Rc<SearchReport>>> {
    let queries = page.queries();
    if page.address().view == View::Trace && page.shown_trace().is_some() {
        queries.found_spans.fresh()?;
    }
    let sides = sides(&page.address());
    let slots =
        [&queries.search, &queries.search_b].into_iter().zip(sides).filter(|(_, side)| side.is_some());
    slots.map(|(slot, _)| slot.fresh()).collect()
}

/// Returns why the workers found nothing, if they have stopped looking.
fn failure(page: Page) -> Option<String> {
    let queries = page.queries();
    let (a, b, spans) = (&queries.search, &queries.search_b, &queries.found_spans);
    let is_waiting = a.is_waiting() || b.is_waiting() || spans.is_waiting();
    if is_waiting { None } else { a.failure().or_else(|| b.failure()).or_else(|| spans.failure()) }
}

fn is_by_tags(page: Page) -> bool {
    SpanSearch::parse(&page.address().search).has_tags()
}

/// Returns a number that changes when the workers have found something else; `None` while they look.
pub fn revision(page: Page) -> Option<u64> {
    if !is_by_tags(page) {
        return Some(0);
    }
    reports(page)?;
    let queries = page.queries();
    // Each only grows.
    Some(1 + queries.search.revision() + queries.search_b.revision() + queries.found_spans.revision())
}

/// Returns what is searched for, with what the workers found.
pub fn finder(page: Page) -> Finder {
    let search = SpanSearch::parse(&page.address().search);
    let reports = if search.has_tags() { reports(page).unwrap_or_default() } else { Vec::new() };
    Finder::new(search, reports.iter().map(Rc::as_ref))
}

/// Returns what a search by tags finds in all, in words; empty for one by names.
pub fn found_in_all(page: Page) -> String {
    if !is_by_tags(page) {
        return String::new();
    }
    reports(page)
        .map(|reports| found_words(reports.iter().map(Rc::as_ref)))
        .or_else(|| failure(page))
        .unwrap_or_else(|| "Searching\u{2026}".to_owned())
}

/// The search of the view in sight; cloning shares it.
#[derive(Clone, Default)]
pub struct SearchBox(Rc<RefCell<Inner>>);

impl SearchBox {
    /// Takes in what the view found, and how to go to the next (`true`) or previous match.
    pub fn publish(&self, matches: u64, share: Option<f64>, step: impl Fn(Page, bool) + 'static) {
        *self.0.borrow_mut() = Inner { matches, share, next: Some(Box::new(step)) };
    }

    /// Goes to the next match, or the one before.
    pub fn step(&self, page: Page, forward: bool) {
        if let Some(step) = &self.0.borrow().next {
            step(page, forward);
        }
    }

    /// Returns what was found, as `12 found, 34.5 %`; nothing while nothing is searched for.
    pub fn words(&self, page: Page) -> String {
        let inner = self.0.borrow();
        if page.address().search.trim().is_empty() {
            return String::new();
        }
        if revision(page).is_none() {
            let words = if failure(page).is_some() { "The search failed" } else { "Searching\u{2026}" };
            return words.to_owned();
        }
        let found = format!("{} found", format::count(inner.matches));
        match inner.share {
            Some(share) => format!("{found}, {}", format::share(share)),
            None => found,
        }
    }
}

/// The text that a view searched last, and within what.
pub struct Last<K>(Option<(String, K)>);

impl<K> Default for Last<K> {
    fn default() -> Last<K> {
        Last(None)
    }
}

impl<K: PartialEq> Last<K> {
    /// Returns whether this text was not the last one, or was searched within something else; from now on it is the
    /// last.
    pub fn is_new(&mut self, text: &str, within: K) -> bool {
        let is_known = self.0.as_ref().is_some_and(|last| last.0 == text && last.1 == within);
        if !is_known {
            self.0 = Some((text.to_owned(), within));
        }
        !is_known
    }

    /// Forgets what was found.
    pub fn forget(&mut self) {
        self.0 = None;
    }
}
