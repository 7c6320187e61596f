//! The row under the header that says how a fetch goes, asks before it goes elsewhere, and explains what went wrong.

use crate::dom::{El, Listeners, button, div, el, icon, span};
use crate::fetch::End;
use crate::page::fetching::{EVERY_S, Phase};
use crate::page::{Page, PagePart};
use crate::shell::explanation::{cures, explanation};
use crate::shell::{jaeger_dialog, progress};
use pathlight_backend::source::{Wanted, jaeger_id};
use pathlight_backend::{FetchTrouble, Lost, Trouble};
use pathlight_base::format::{self, counted};
use pathlight_view::reading::loading::{self, fetched};

/// Failed parts and missing traces that are named one by one.
const NAMED: usize = 20;

/// The row.
pub struct FetchRow {
    element: El,
    fill: Option<El>,
    words: Option<El>,
    /// Message why the last look of following came to nothing.
    trouble: Option<El>,
    /// The button that lets it follow a redirect.
    follow: Option<El>,
    /// Says which linked traces are not loaded, with the button that fetches them.
    linked: Option<(El, El)>,
    keep: Listeners,
    shown: Option<u64>,
}

impl FetchRow {
    /// Builds its elements, hidden at first.
    pub fn new() -> FetchRow {
        let element = div("fetch").test("fetch").attr("role", "status");
        element.show(false);
        let (fill, words, trouble, follow, linked) = (None, None, None, None, None);
        FetchRow { element, fill, words, trouble, follow, linked, keep: Listeners::default(), shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    fn action(&self, page: Page, words: &str, test: &str, run: impl Fn(Page) + 'static) -> El {
        button(words).test(test).on_click(&self.keep, move || run(page))
    }

    /// Returns the button that lets an address lead to another server.
    fn redirect(&self, page: Page, address: &str) -> El {
        let address = address.to_owned();
        self.action(page, "Follow it", "fetch-redirect", move |page| {
            page.fetching().follow_redirects(page, &address);
        })
        .attr("title", "Ask the server that this address leads to, until the page is closed")
    }

    fn dismiss(&self, page: Page) -> El {
        self.action(page, "", "fetch-dismiss", |page| page.fetching().cancel(page))
            .class("quiet dismiss")
            .label("Dismiss")
            .node(&icon("M4 4l8 8M12 4l-8 8"))
    }

    fn running(&mut self, page: Page) {
        let fill = div("progress-fill");
        let bar = div("progress-bar").attr("role", "progressbar").attr("aria-label", "Fetching").child(&fill);
        let words = span("progress-words", "").test("fetch-words");
        let stop = self
            .action(page, "Stop", "fetch-stop", |page| page.fetching().cancel(page))
            .class("quiet")
            .attr("title", "Stop fetching and keep what has come");
        self.element.fill([&bar, &words, &stop]);
        (self.fill, self.words) = (Some(fill), Some(words));
    }

    fn ask_consent(&self, page: Page, origins: &[String]) {
        let words = format!("This link fetches traces from {}.", origins.join(" and "));
        let text = div("fetch-text").child(&span("strong", &words).test("fetch-message")).child(&span(
            "muted",
            format::agreeing(
                origins.len() as u64,
                "That server learns what is searched for, and that it was you who asked. Fetch only if you trust it.",
                "Those servers learn what is searched for, and that it was you who asked. Fetch only if you trust them.",
            ),
        ));
        let agree = self
            .action(page, "Fetch", "fetch-agree", |page| page.fetching().agree_and_start(page))
            .class("primary");
        let no = self.action(page, "Do not fetch", "fetch-refuse", |page| page.fetching().cancel(page));
        self.element.fill([&text, &agree, &no]);
    }

    fn failed(&self, page: Page, trouble: &FetchTrouble) {
        let text = explanation(trouble);
        let again = self.action(page, "Retry", "fetch-retry", |page| page.fetching().retry(page));
        let change = self.action(page, "Change\u{2026}", "fetch-change", jaeger_dialog::open);
        let mut row = vec![text, again, change, self.dismiss(page)];
        if let Some(address) = &trouble.leads {
            row.insert(1, self.redirect(page, address));
        }
        if let Some(address) = &trouble.login {
            let login = el("a").text("Log in").attr("href", address).attr("target", "_blank");
            row.insert(1, login.attr("rel", "noopener").test("fetch-login"));
        }
        self.element.fill(&row);
    }

    fn ended(&mut self, page: Page, end: &End) {
        let text = div("fetch-text");
        let (fetching, source) = (page.fetching(), page.address().source.clone());
        let (is_following, is_paused) = (fetching.is_following(), fetching.is_paused());
        let is_resumed = end.outcome.traces == 0 && end.outcome.failed.is_empty();
        let wanted = fetching.wanted(page);
        let said = match &wanted {
            Wanted::Nothing if is_following => source.files.join(", "),
            Wanted::Search(search) if is_following && is_resumed => {
                format!("{} {}", search.service, search.operation)
            }
            _ => fetched(&wanted, &end.outcome, end.lost_files.len()),
        };
        text.add(&span("strong", &said).test("fetch-message"));
        let parts = end.outcome.failed.iter().map(|(what, trouble)| (what, trouble));
        let files = end.lost_files.iter().map(|(what, trouble)| (what, trouble));
        let connection = fetching.connection(page);
        let mut lines: Vec<String> = parts
            .map(|(what, trouble)| format!("{what}: {}", trouble.explain(&connection).message))
            .chain(files.map(|(what, trouble)| {
                let connection = fetching.connection_to(what.clone());
                let explained = trouble.explain(&connection);
                format!("{} {}", explained.message, explained.cures.join(" "))
            }))
            .collect();
        let has_failed = !lines.is_empty();
        let api = end.outcome.failed.iter().map(|(_, trouble)| (&connection.base, trouble));
        let mut leading = end.lost_files.iter().map(|(file, trouble)| (file, trouble)).chain(api);
        let leading = leading.find(|(_, trouble)| **trouble == Trouble::Lost(Lost::Elsewhere));
        lines.extend(
            end.outcome.missing.iter().map(|id| format!("There is no trace {id} at {}.", connection.base)),
        );
        let more = lines.len().saturating_sub(NAMED);
        lines.truncate(NAMED);
        if more > 0 {
            lines.push(format!("and {} more.", format::count(more as u64)));
        }
        if !lines.is_empty() {
            text.add(&cures(&lines));
        }
        if is_following {
            let every_s = source.every_s.unwrap_or_default();
            let words = if is_paused {
                "Paused: no new traces join.".to_owned()
            } else {
                format!("Following: new traces join every {every_s}{}s.", format::THIN)
            };
            text.add(&span("muted", &words).test("follow-words"));
            let trouble = span("message-text", "").test("follow-trouble");
            text.add(&trouble);
            self.trouble = Some(trouble);
        }
        let linked_words = span("muted", "").test("linked-missing");
        text.add(&linked_words);
        let mut row = vec![text];
        let fetch_linked = self.action(page, "", "fetch-linked", |page| {
            let Some(report) = page.queries().missing_traces.get() else { return };
            let trace_ids = report.trace_ids.iter().map(|id| jaeger_id(id)).collect();
            page.fetching().fetch_linked(page, trace_ids);
        });
        fetch_linked.show(false);
        row.push(fetch_linked.clone());
        self.linked = Some((linked_words, fetch_linked));
        if let Some((address, _)) = leading {
            row.push(self.redirect(page, address));
        }
        if is_following {
            // Shown once a look has been led elsewhere.
            let follow = self.action(page, "Follow it", "follow-redirect", |page| {
                if let Some(address) = page.fetching().looks().1.and_then(|trouble| trouble.leads) {
                    page.fetching().follow_redirects(page, &address);
                }
            });
            follow.show(false);
            row.push(follow.clone());
            self.follow = Some(follow);
            let words = if is_paused { "Follow" } else { "Pause" };
            let pause = move |page: Page| page.fetching().pause(page, !is_paused);
            row.push(self.action(page, words, "follow-pause", pause));
            let stop = |page: Page| page.fetching().stop_following(page);
            row.push(self.action(page, "Stop", "follow-stop", stop).attr("title", "End following"));
        } else if source.is_search() {
            let follow = |page: Page| page.fetching().follow_search(page);
            let title = format!("Look for new traces every {EVERY_S} seconds");
            row.push(self.action(page, "Follow", "follow-search", follow).attr("title", &title));
        }
        if has_failed {
            row.push(self.action(page, "Retry", "fetch-retry", |page| page.fetching().retry(page)));
        }
        row.push(self.action(page, "Change\u{2026}", "fetch-change", jaeger_dialog::open));
        if !is_following {
            row.push(self.dismiss(page));
        }
        self.element.fill(&row);
    }
}

/// Returns whether traces that spans link to may be fetched by their ids: traces came from a query service, and some span links
/// to one that is not loaded.
pub fn may_fetch_linked(page: Page) -> bool {
    let is_ended = matches!(page.fetching().phase(), Phase::Ended(_));
    let address = page.address();
    let source = &address.source;
    let is_of_service = source.api.is_some() && source.wanted != Wanted::Nothing;
    let unresolved = page.overview_in_sight().map_or(0, |overview| overview.links.unresolved);
    is_ended && is_of_service && unresolved > 0
}

/// Returns whether an end says more than that all went well.
fn is_worth_telling(page: Page, end: &End) -> bool {
    page.address().source.wanted != Wanted::Nothing
        || !end.lost_files.is_empty()
        || page.fetching().is_following()
}

impl PagePart for FetchRow {
    fn update(&mut self, page: Page) {
        let fetching = page.fetching();
        let phase = fetching.phase();
        let revision = fetching.revision();
        if self.shown != Some(revision) {
            self.shown = Some(revision);
            self.keep.clear();
            self.element.clear();
            (self.fill, self.words, self.trouble, self.follow) = (None, None, None, None);
            self.linked = None;
            let (name, shown) = match &phase {
                Phase::Idle => ("idle", false),
                Phase::AwaitingConsent(origins) => {
                    self.ask_consent(page, origins);
                    ("awaiting-consent", true)
                }
                Phase::Running => {
                    self.running(page);
                    ("running", true)
                }
                Phase::Failed(trouble) => {
                    self.failed(page, trouble);
                    ("failed", true)
                }
                Phase::Ended(end) => {
                    self.ended(page, end);
                    ("ended", is_worth_telling(page, end))
                }
            };
            self.element.set("data-phase", name);
            self.element.show(shown);
            self.element.class_if("failed", name == "failed");
        }
        let (looks, trouble) = fetching.looks();
        self.element.set("data-looks", &looks.to_string());
        if let Some(element) = &self.trouble {
            let failed = trouble
                .as_ref()
                .map(|trouble| format!("The last check for new traces failed: {}", trouble.message));
            let replaced = fetching.replaced().map(|name| {
                format!("Another file has come in the place of {name}: it is read from its beginning, and what came before stays.")
            });
            element.set_text(&failed.or(replaced).unwrap_or_default());
        }
        if let Some(follow) = &self.follow {
            follow.show(trouble.is_some_and(|trouble| trouble.leads.is_some()));
        }
        if let Some((words, button)) = &self.linked {
            let report = page.queries().missing_traces.get().filter(|_| may_fetch_linked(page));
            let said = report.as_deref().map(loading::linked).unwrap_or_default();
            button.show(!said.is_empty());
            button.set_text(&report.as_deref().map(loading::fetch_linked).unwrap_or_default());
            words.set_text(&said);
        }
        if let (Some(fill), Some(words)) = (&self.fill, &self.words) {
            let (progress, bytes) = fetching.progress();
            progress::fill(fill, progress.share * 100.0);
            self.element.set("data-traces", &progress.traces.to_string());
            self.element.set("data-requests", &progress.answered.to_string());
            let mut said = vec![
                counted(progress.traces, "trace"),
                format::bytes(bytes),
                format!("{}, {} under way", counted(progress.answered.into(), "answer"), progress.under_way),
            ];
            if let Some(until) = progress.held_until_ms {
                let left = until.saturating_sub(js_sys::Date::now() as u64).div_ceil(1000);
                said.push(format!("the next request in {left}{}s", format::THIN));
            }
            words.set_text(&format!("Fetching: {}", said.join(" \u{b7} ")));
        }
    }
}
