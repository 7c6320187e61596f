//! What is searched for, as the view in sight finds it.

use super::page::Page;
use crate::chart::format;
use std::cell::RefCell;
use std::rc::Rc;

/// Goes to the next match, or with `false` to the one before.
type Step = Box<dyn Fn(&Page, bool)>;

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
    pub fn tell(&self, matches: u64, share: Option<f64>, step: impl Fn(&Page, bool) + 'static) {
        *self.0.borrow_mut() = Inner { matches, share, next: Some(Box::new(step)) };
    }

    /// Goes to the next match, or the one before.
    pub fn step(&self, page: &Page, forward: bool) {
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

/// Whether a search text is in a name, whatever the case; several words must all be there.
pub fn fits(text: &str, names: &[&str]) -> bool {
    text.split_whitespace().all(|word| {
        let word = word.to_lowercase();
        names.iter().any(|name| name.to_lowercase().contains(&word))
    })
}
