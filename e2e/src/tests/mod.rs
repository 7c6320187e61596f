//! The tests. A new one is an async function of a module here and a line in [`ALL`].

mod hosting;
mod start;

use std::pin::Pin;

use e2e::browser::Page;
use e2e::failure::Outcome;

/// A test: opens the page itself, gets it in a window of 1280 by 800 with nothing stored.
pub struct Test {
    /// Module and function.
    pub name: &'static str,
    /// Its steps.
    pub run: for<'a> fn(&'a Page) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>,
}

macro_rules! tests {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$(Test { name: concat!(stringify!($module), "::", stringify!($name)), run: |page| Box::pin($module::$name(page)) }),*]
    };
}

/// Every test, in the order they run.
pub const ALL: &[Test] = tests![
    start::the_page_comes_up_empty,
    hosting::any_path_will_do_and_nothing_else_is_asked_for,
    hosting::the_one_file_starts_from_disk_and_asks_for_nothing,
];
