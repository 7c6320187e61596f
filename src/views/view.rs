//! A view in the page. The order in which a view brings itself up to date stands here, once: theme, report, stale, sort,
//! search, focus, zoom.

use crate::page::{Page, PagePart};
use crate::shell::search::{self, Last, SearchBox};
use crate::widgets::companion::CompanionTable;
use crate::widgets::frame::ViewFrame;
use pathlight_view::address::Address;
use pathlight_view::keys::KeyCommand;
use pathlight_view::search::finder::Finder;

/// Result of a search.
pub struct SearchResult {
    /// Number of frames, rows or the like.
    pub count: u64,
    /// Share of the whole they are, counting nothing twice; `None` where that means nothing.
    pub share: Option<f64>,
    /// Goes to the next match, or with `false` to the one before.
    pub step: Box<dyn Fn(Page, bool)>,
}

impl SearchResult {
    /// Searches a table; a step chooses the next row that fits.
    pub fn in_table<R: 'static>(
        table: CompanionTable<R>,
        finder: &Finder,
        choose: impl Fn(Page, &R) + 'static,
    ) -> SearchResult {
        let (count, share) = table.search(finder);
        let step = move |page, forward| table.step(forward, |row| choose(page, row));
        SearchResult { count, share, step: Box::new(step) }
    }
}

/// A view: a view model of crate `view`, bound to widgets. The functions are called in this order, and only while the view
/// is in sight.
pub trait PageView: 'static {
    /// Everything the view's display follows from: revisions of reports, and choices in the address.
    type Content: Clone + PartialEq + 'static;

    /// Wants the reports that the view shows, while it is in sight.
    fn ask(page: Page, address: &Address);

    /// Returns the elements of the view.
    fn frame(&self) -> &ViewFrame;

    /// Comes into sight.
    fn enter(&mut self, _page: Page) {}

    /// Takes over new colours, where a legend has some.
    fn new_theme(&mut self, _page: Page) {}

    /// Returns what follows from reports and address now; `None` while there is nothing to show.
    fn content(&self, page: Page) -> Option<Self::Content>;

    /// Shows reports that are new, or are to be shown in another way.
    fn take(&mut self, page: Page, now: &Self::Content, before: Option<&Self::Content>);

    /// Returns whether something newer is being waited for.
    fn is_stale(&self, page: Page) -> bool;

    /// Brings switches and fields up to date.
    fn show_choices(&mut self, _page: Page) {}

    /// Returns a number that changes when the same search may find something else in the same content.
    fn search_again(&self) -> u64 {
        0
    }

    /// Searches what the view shows and returns what was found.
    fn search(&mut self, page: Page, finder: &Finder) -> SearchResult;

    /// Follows the focus of the page.
    fn follow(&mut self, _page: Page) {}

    /// Follows a command of the keyboard. Returns false if it is none for this view.
    fn command(&mut self, _page: Page, _command: KeyCommand) -> bool {
        false
    }
}

/// A view of any content.
pub trait AnyView: PagePart {
    /// Returns the elements of the view.
    fn frame(&self) -> &ViewFrame;
}

/// A view with what is known of its last update.
pub struct Shown<V: PageView> {
    view: V,
    search: SearchBox,
    is_in_sight: bool,
    content: Option<V::Content>,
    searched: Last<(Option<V::Content>, [u64; 2])>,
}

impl<V: PageView> Shown<V> {
    /// Creates it out of sight.
    pub fn new(view: V, search: &SearchBox) -> Box<Shown<V>> {
        Box::new(Shown {
            view,
            search: search.clone(),
            is_in_sight: false,
            content: None,
            searched: Last::default(),
        })
    }

    fn take_report(&mut self, page: Page) {
        let now = self.view.content(page);
        let Some(content) = &now else {
            return self.view.frame().wait(self.view.is_stale(page));
        };
        if self.content != now {
            self.view.take(page, content, self.content.as_ref());
            self.content = now;
        }
    }

    fn take_search(&mut self, page: Page) {
        // Until the workers have answered, what was found before stays.
        let Some(revision) = search::revision(page) else { return };
        let text = page.address().search.clone();
        let within = (self.content.clone(), [self.view.search_again(), revision]);
        if self.content.is_some() && self.searched.is_new(&text, within) {
            let SearchResult { count, share, step } = self.view.search(page, &search::finder(page));
            self.search.publish(count, share, step);
        }
    }
}

impl<V: PageView> PagePart for Shown<V> {
    fn update(&mut self, page: Page) {
        if !self.view.frame().update(page) {
            // Another view publishes what it finds meanwhile.
            self.is_in_sight = false;
            return self.searched.forget();
        }
        if !std::mem::replace(&mut self.is_in_sight, true) {
            self.view.enter(page);
        }
        if self.view.frame().follow_theme() {
            self.view.new_theme(page);
        }
        self.take_report(page);
        self.view.frame().set_stale(self.view.is_stale(page));
        self.view.frame().set_sort(page.address().sort.as_ref());
        self.view.show_choices(page);
        self.take_search(page);
        self.view.follow(page);
        self.view.frame().update_zoom();
        self.view.frame().link_terms();
    }

    fn fit(&mut self, _: Page) {
        if self.is_in_sight && self.content.is_some() {
            self.view.frame().share_pane();
        }
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        self.view.frame().is_chosen(page) && self.content.is_some() && self.view.command(page, command)
    }
}

impl<V: PageView> AnyView for Shown<V> {
    fn frame(&self) -> &ViewFrame {
        self.view.frame()
    }
}
