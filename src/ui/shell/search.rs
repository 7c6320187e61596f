//! What is searched for, as the view in sight finds it.

use crate::ui::page::Page;
use pathlight_text::format;
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

/// The search of the view in sight; cloning shares it.
#[derive(Clone, Default)]
pub struct Search(Rc<RefCell<Inner>>);

impl Search {
    /// The view tells what it found, and how to go to the next (`true`) or previous match.
    pub fn publish(&self, matches: u64, share: Option<f64>, step: impl Fn(Page, bool) + 'static) {
        *self.0.borrow_mut() = Inner { matches, share, next: Some(Box::new(step)) };
    }

    /// Goes to the next match, or the one before.
    pub fn step(&self, page: Page, forward: bool) {
        if let Some(step) = &self.0.borrow().next {
            step(page, forward);
        }
    }

    /// `12 found, 34.5 %`; nothing while nothing is searched for.
    pub fn words(&self, text: &str) -> String {
        let inner = self.0.borrow();
        if text.is_empty() {
            return String::new();
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
    /// Whether this text was not the last one, or was searched within something else; from now on it is the last.
    pub fn is_new(&mut self, text: &str, within: K) -> bool {
        let is_known = self.0.as_ref().is_some_and(|last| last.0 == text && last.1 == within);
        if !is_known {
            self.0 = Some((text.to_owned(), within));
        }
        !is_known
    }

    /// What was found is gone.
    pub fn forget(&mut self) {
        self.0 = None;
    }
}
