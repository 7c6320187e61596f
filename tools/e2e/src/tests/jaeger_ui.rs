//! Beside Jaeger UI: a stand-in with its addresses, layout, router and forgetfulness, switched on by the very
//! configuration we ship, with the query API of three versions.

use e2e::browser::{Look, Modifiers, Page};
use e2e::failure::{Outcome, ensure, same};
use e2e::firefox::has_no_window;
use e2e::jaeger::{Jaeger, Login, Ways, spans};
use e2e::process::dist;
use serde_json::{Value, json};

use super::drop::{SPANS_AS_TABLE, generated};
use super::embed::{enter, heard, leave, select};

/// Versions of Jaeger UI that were tried.
pub const VERSIONS: [&str; 3] = ["1.76", "2.20", "HEAD"];

/// Jaeger below /jaeger/, Pathlight below /pathlight/, on one origin, with 30 traces of 64-bit ids.
pub struct Stand {
    /// The Jaeger behind it.
    pub jaeger: Jaeger,
    /// Start and end of all traces, for the address of a search.
    pub range: String,
}

impl Stand {
    /// Starts one of a version.
    pub fn new(version: &str) -> Outcome<Stand> {
        Stand::configured(version, |config| config)
    }

    /// Starts one with a configuration that is ours but for a change.
    fn configured(version: &str, change: impl FnOnce(String) -> String) -> Outcome<Stand> {
        let file = generated("jaeger.json", "--traces 30 --spans 20 --seed 6")?;
        Stand::holding(version, &serde_json::from_slice(&std::fs::read(file)?)?, change)
    }

    /// Starts one that holds the traces of a document.
    pub fn holding(version: &str, stored: &Value, change: impl FnOnce(String) -> String) -> Outcome<Stand> {
        let name = if version == "HEAD" { "jaeger-ui.config.js" } else { "jaeger-ui.config.json" };
        // As docs/jaeger-ui.md says for a Jaeger under a path.
        let config = std::fs::read_to_string(dist().join(name))?.replace("api=/", "api=/jaeger");
        let config = change(config);
        let starts = stored["data"].as_array().into_iter().flatten().flat_map(spans);
        let starts = starts.filter_map(|(_, span)| span["startTime"].as_u64());
        let (from, to) = starts.fold((u64::MAX, 0), |(from, to), us| (from.min(us), to.max(us)));
        let files = [("/pathlight/".to_owned(), dist())].into();
        let ways = Ways { files, ..Ways::of(version, "/jaeger", &config) };
        Ok(Stand { jaeger: Jaeger::start(stored, ways)?, range: format!("start={from}&end={to}") })
    }

    /// Returns the address of the search page.
    pub fn search(&self, query: &str) -> String {
        format!("{}/jaeger/search?{query}&{}", self.jaeger.url, self.range)
    }

    /// Opens the search for 20 traces, and Pathlight beside it.
    async fn open(&self, page: &Page) -> Outcome {
        page.client().goto(&self.search("service=edge-gateway&limit=20")).await?;
        page.visible(".ResultItemTitle--item").await?;
        page.click("#pathlight-button").await?;
        shows(page, "#pathlight-frame", "findings", 20).await
    }
}

/// Waits until Pathlight in the panel shows so many traces.
pub async fn shows(page: &Page, frame: &str, view: &str, traces: usize) -> Outcome {
    enter(page, frame).await?;
    let script = "return [document.documentElement.dataset.view, document.querySelector('[data-test=status-loaded]')?.dataset.value, document.documentElement.dataset.state]";
    page.until(&format!("{traces} traces in {view}"), script, |found| {
        found[0] == view
            && found[2] == "ready"
            && found[1].as_str().is_some_and(|shown| shown.parse() == Ok(traces))
    })
    .await?;
    page.ready().await?;
    leave(page).await
}

/// Waits until the panel's head says something.
pub async fn says(page: &Page, words: &str) -> Outcome {
    let script = "return document.querySelector('#pathlight-note')?.textContent ?? ''";
    let found = |text: &Value| text.as_str().is_some_and(|text| text.contains(words));
    page.until(&format!("the panel to say {words:?}"), script, found).await.map(drop)
}

/// Chooses the view of Pathlight in the panel by its address.
async fn view(page: &Page, view: &str) -> Outcome {
    enter(page, "#pathlight-frame").await?;
    page.run(&format!("location.hash = location.hash.replace(/&view=[a-z]+/, '') + '&view={view}'")).await?;
    page.until("the view", "return document.documentElement.dataset.view", |found| found == view).await?;
    page.ready().await?;
    leave(page).await
}

/// Selects the `n`th span of the timeline in the panel; returns the address that the panel's link then has.
async fn select_span(page: &Page, n: usize) -> Outcome<String> {
    let link = "return document.querySelector('#pathlight-link').href";
    let before = page.run(link).await?;
    enter(page, "#pathlight-frame").await?;
    page.run(SPANS_AS_TABLE).await?;
    page.visible("[data-test='span']").await?;
    // The head of the table may cover the row.
    page.run(&format!("document.querySelector(\"[data-test='span']:nth-of-type({n})\").click()")).await?;
    leave(page).await?;
    let is_new =
        |found: &Value| *found != before && found.as_str().is_some_and(|link| link.contains("uiFind="));
    let found = page.until("a link to the span", link, is_new).await?;
    Ok(found.as_str().unwrap_or_default().to_owned())
}

/// Clicks the panel's link and waits until Jaeger UI has brought the span of its address into sight.
async fn follow(page: &Page, link: &str) -> Outcome {
    page.click("#pathlight-link").await?;
    let span = link.split("uiFind=").nth(1).unwrap_or_default();
    page.visible(&format!(".span-row[data-span='{span}'][data-located]")).await?;
    // It stays so, after all that Jaeger UI does with its address.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    page.visible(&format!(".span-row[data-span='{span}'][data-located]")).await?;
    same("address", page.run("return location.href").await?, Value::from(link))
}

pub async fn the_panel_follows_search_and_trace_pages(page: &Page) -> Outcome {
    for version in VERSIONS {
        let stand = Stand::new(version)?;
        stand.open(page).await?;
        enter(page, "#pathlight-frame").await?;
        page.hidden("[data-test='host-ask']").await?;
        // The user has thrown nothing away, so there is no way back to be offered.
        page.hidden("[data-test='undo']").await?;
        leave(page).await?;
        says(page, "20 traces").await?;

        // Jaeger UI goes to a trace without loading a page, and the panel follows.
        page.click(".ResultItemTitle--item").await?;
        page.visible(".TracePageHeader--title").await?;
        shows(page, "#pathlight-frame", "trace", 1).await?;
        let id = page.text(".TracePageHeader--title").await?;
        let link = format!("/pathlight/#v=1&api=/jaeger&view=trace&traceID={id}");
        same("link of the trace", page.attributes(".TracePageHeader--back", "href").await?, vec![link])?;
        let menu = page.attributes(".menu a", "href").await?;
        same("menu", menu, vec!["/pathlight/#v=1&api=/jaeger".to_owned()])?;
        let about = page.attributes(".menu a", "title").await?;
        let about: Vec<&str> = about.iter().flat_map(|titles| titles.lines()).collect();
        let versions = ["Jaeger vHEAD", "Commit 0123456", "Build 2026-01-01"];
        same(
            "versions",
            about[6..].to_vec(),
            if version == "HEAD" { versions.to_vec() } else { Vec::new() },
        )?;
        page.run("document.body.dataset.theme = 'dark'").await?;
        enter(page, "#pathlight-frame").await?;
        let theme = "return document.documentElement.dataset.theme";
        page.until("Jaeger UI's colours", theme, |found| found == "dark").await?;
        leave(page).await?;
        if version == "HEAD" {
            page.picture("jaeger-trace").await?;
        }
        page.click("#pathlight-close").await?;
        page.hidden("#pathlight-panel").await?;
        page.visible("#pathlight-button").await?;
        // There is nothing to hand over on other pages, nor where a comparison has nothing chosen.
        for other in ["dependencies", "trace/...", "trace/...?cohort=a&cohort=b"] {
            page.run(&format!("history.pushState({{}}, '', '{other}')")).await?;
            page.hidden("#pathlight-button").await?;
        }
        page.complaints().await?;
    }
    Ok(())
}

pub async fn the_panel_stands_beside_jaeger_ui_and_its_width_is_remembered(page: &Page) -> Outcome {
    let stand = Stand::new("HEAD")?;
    stand.open(page).await?;
    page.picture("jaeger-search").await?;
    page.click(".ResultItemTitle--item").await?;
    shows(page, "#pathlight-frame", "trace", 1).await?;
    let beside = async |what: &str| {
        let [left, ..] = page.place("#pathlight-panel").await?;
        for part in [".Page--content", ".Page--topNav", ".Tracepage--headerSection", ".TimelineHeaderRow"] {
            let [x, _, width, _] = page.place(part).await?;
            ensure((x + width - left).abs() < 1.0, || {
                format!("{what}: {part} ends at {}, the panel begins at {left}", x + width)
            })?;
        }
        Ok::<f64, e2e::failure::Failure>(left)
    };
    let left = beside("at first").await?;
    page.run("window.resized = 0; addEventListener('resize', () => window.resized++)").await?;
    page.drag((left, 400.0), (left - 150.0, 400.0)).await?;
    let wider = beside("dragged").await?;
    ensure((wider - (left - 150.0)).abs() < 2.0, || format!("dragged from {left} to {wider}"))?;
    let resized = page.run("return window.resized").await?;
    ensure(resized.as_u64() > Some(0), || "Jaeger UI is not told to measure itself".to_owned())?;
    page.run("document.querySelector('#pathlight-grip').focus()").await?;
    page.key("ArrowRight", Modifiers::None).await?;
    let narrower = beside("by keys").await?;
    same("by keys", narrower, wider + 40.0)?;
    // The tools of the timeline fit into the panel as it is at first in a window of 1440 pixels; the bar of the selection
    // can be scrolled there.
    page.look(Look { width: 1440, ..Look::DESKTOP }).await?;
    page.run("document.documentElement.style.setProperty('--pathlight-width', '648px')").await?;
    enter(page, "#pathlight-frame").await?;
    page.drawn().await?;
    let over = "const w = document.documentElement.clientWidth; return [document.documentElement.scrollWidth - w, \
                ...[...document.querySelectorAll('button, select, input, a')].filter((e) => e.checkVisibility() \
                && !e.closest('.context') && e.getBoundingClientRect().right > w + 1).map((e) => e.outerHTML.slice(0, 80))]";
    same("what is wider than the panel", page.run(over).await?, json!([0]))?;
    leave(page).await?;
    page.look(Look::DESKTOP).await?;
    // Graphs that stand at the window's edge.
    for (place, graph) in
        [("trace/...", ".TraceDiff--graphWrapper"), ("dependencies", ".DependencyGraph--graphWrapper")]
    {
        page.run(&format!("history.pushState({{}}, '', '{place}'); dispatchEvent(new PopStateEvent('popstate', {{ state: {{}} }}))")).await?;
        page.visible(graph).await?;
        let [x, _, width, _] = page.place(graph).await?;
        let [left, ..] = page.place("#pathlight-panel").await?;
        ensure((x + width - left).abs() < 1.0, || {
            format!("{graph} ends at {}, the panel begins at {left}", x + width)
        })?;
    }
    page.client().back().await?;
    page.client().back().await?;
    page.visible(".TimelineHeaderRow").await?;
    // In the frame Escape first unselects, then closes the panel.
    select_span(page, 2).await?;
    enter(page, "#pathlight-frame").await?;
    page.click("[data-test='detail'] h2").await?;
    page.key("Escape", Modifiers::None).await?;
    page.hidden("[data-test='detail-close']").await?;
    // The frame may be gone before the key is let go, which Firefox calls an error. No other error is let pass.
    page.key("Escape", Modifiers::None)
        .await
        .or_else(|failure| if has_no_window(&failure.0) { Ok(()) } else { Err(failure) })?;
    leave(page).await?;
    page.hidden("#pathlight-panel").await?;
    same("has the focus", page.run("return document.activeElement.id").await?, json!("pathlight-button"))?;
    page.click("#pathlight-button").await?;
    shows(page, "#pathlight-frame", "trace", 1).await?;
    // Closed by Escape, everything is where it was; opened again, the panel is as wide as it was left.
    page.run("document.querySelector('#pathlight-close').focus()").await?;
    page.key("Escape", Modifiers::None).await?;
    page.hidden("#pathlight-panel").await?;
    let [x, _, width, _] = page.place(".Page--content").await?;
    same("the content's right edge", x + width, 1280.0)?;
    page.client().refresh().await?;
    page.click("#pathlight-button").await?;
    page.visible("#pathlight-panel").await?;
    page.visible(".TimelineHeaderRow").await?;
    same("remembered", beside("again").await?, narrower)?;
    // In a small window it covers.
    page.look(Look::NARROW).await?;
    let [x, _, width, _] = page.place(".Page--content").await?;
    // Firefox has no window as narrow as that.
    let window = page.run("return innerWidth").await?;
    ensure(window.as_f64() < Some(1000.0), || format!("the window is {window} wide"))?;
    same("the content's right edge", Some(x + width), window.as_f64())?;
    page.look(Look::DESKTOP).await
}

pub async fn the_panel_covers_neither_sidebar_nor_assistant_nor_wide_tables(page: &Page) -> Outcome {
    let with_assistant =
        |config: String| config.replacen("const config = {", "const config = { aiAssistant: true,", 1);
    for (is_open, stand) in [(false, Stand::new("HEAD")?), (true, Stand::configured("HEAD", with_assistant)?)]
    {
        for width in [1440, 1100] {
            page.look(Look { width, ..Look::DESKTOP }).await?;
            page.client().goto(&stand.search("service=edge-gateway&limit=20")).await?;
            page.run("localStorage.setItem('detailPanelMode', 'sidepanel')").await?;
            page.visible(".ResultItemTitle--item").await?;
            if is_open {
                let [_, _, button, _] = page.place("#pathlight-button").await?;
                let [x, ..] = page.place("#pathlight-button").await?;
                let [dock, ..] = page.place(".JaegerAssistantPanel").await?;
                ensure(x + button < dock, || {
                    format!("the button ends at {}, the dock begins at {dock}", x + button)
                })?;
            }
            page.click("#pathlight-button").await?;
            shows(page, "#pathlight-frame", "findings", 20).await?;
            page.click(".ResultItemTitle--item").await?;
            page.visible(".TraceTimelineViewer--sidePanel").await?;
            shows(page, "#pathlight-frame", "trace", 1).await?;
            let [left, ..] = page.place("#pathlight-panel").await?;
            let mut ends = left;
            if is_open {
                let [x, _, width, _] = page.place(".JaegerAssistantPanel").await?;
                // The content may have a scroll bar beside it.
                ensure((0.0..17.0).contains(&(left - x - width)), || {
                    format!("the dock ends at {}, the panel begins at {left}", x + width)
                })?;
                ends = x;
            }
            for part in [".TraceTimelineViewer--sidePanel", ".Tracepage--headerSection", ".TimelineHeaderRow"]
            {
                let [x, _, width, _] = page.place(part).await?;
                ensure(width > 0.0 && (x + width - ends).abs() < 1.0, || {
                    format!("{part} is {width} wide and ends at {}, not at {ends}", x + width)
                })?;
            }
            // A table that is wider than what is left can be scrolled to its end.
            page.click(".AltViewOptions").await?;
            let scrolled = "const table = document.querySelector('.TraceStatisticsHeader'); \
                            for (let box = table; box; box = box.parentElement) box.scrollLeft = 10000; \
                            return table.getBoundingClientRect().right";
            let right = page.run(scrolled).await?.as_f64().unwrap_or(f64::MAX);
            ensure((right - ends).abs() < 20.0, || format!("the table's end is at {right}, not at {ends}"))?;
            page.click("#pathlight-close").await?;
            page.complaints().await?;
        }
    }
    page.run("localStorage.clear()").await?;
    page.look(Look::DESKTOP).await
}

pub async fn following_a_selection_keeps_the_traces_and_finds_every_span(page: &Page) -> Outcome {
    for version in VERSIONS {
        let stand = Stand::new(version)?;
        stand.open(page).await?;
        // A trace of the 20, and the span that is selected with it.
        view(page, "requests").await?;
        enter(page, "#pathlight-frame").await?;
        page.click("[data-test='request']").await?;
        page.until("the timeline", "return document.documentElement.dataset.view", |found| found == "trace")
            .await?;
        page.ready().await?;
        leave(page).await?;
        let first = select_span(page, 2).await?;
        // Written as Jaeger UI writes it: 16 digits.
        let id = first.split("/trace/").nth(1).and_then(|rest| rest.split('?').next()).unwrap_or_default();
        same("digits of the trace's id", id.len(), 16)?;
        follow(page, &first).await?;
        shows(page, "#pathlight-frame", "trace", 20).await?;
        // Jaeger UI looks for a span only when its page comes up; another one of the same trace is shown all the same.
        let second = select_span(page, 4).await?;
        follow(page, &second).await?;
        // Its Find box cleared, the 20 traces stay.
        page.click(".TracePageSearchBar--clear").await?;
        page.until("nothing to be found", "return location.search", |search| search == "").await?;
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        shows(page, "#pathlight-frame", "trace", 20).await?;
        // Another trace, while one is shown.
        view(page, "requests").await?;
        enter(page, "#pathlight-frame").await?;
        page.click("[data-test='request'] ~ [data-test='request']").await?;
        page.until("the timeline", "return document.documentElement.dataset.view", |found| found == "trace")
            .await?;
        page.ready().await?;
        leave(page).await?;
        let third = select_span(page, 3).await?;
        ensure(!third.contains(id), || format!("{third} is of the same trace"))?;
        follow(page, &third).await?;
        shows(page, "#pathlight-frame", "trace", 20).await?;
        // Back to the search, which is loaded as it was; then a trace that the user chooses in Jaeger UI.
        page.client().back().await?;
        page.complaints().await?;
        page.leave().await?;
    }
    Ok(())
}

pub async fn every_search_of_jaeger_ui_is_handed_over(page: &Page) -> Outcome {
    for version in VERSIONS {
        let stand = Stand::new(version)?;
        stand.open(page).await?;
        // Nothing found: the old traces go, and the panel says why, alone.
        page.run(&format!("history.pushState({{}}, '', 'search?service=nobody&{}')", stand.range)).await?;
        says(page, "No traces match").await?;
        enter(page, "#pathlight-frame").await?;
        page.state("empty").await?;
        page.hidden("[data-test='error']").await?;
        leave(page).await?;
        // Without a limit Jaeger UI's own is meant.
        page.run(&format!(
            "history.pushState({{}}, '', 'search?service=edge-gateway&operation=all&{}')",
            stand.range
        ))
        .await?;
        let usual = if version == "1.76" { stand.jaeger.ids().len() } else { 20 };
        shows(page, "#pathlight-frame", "findings", usual).await?;
        if version == "HEAD" {
            let all = format!(
                "search?service=__all_services__&operation=__all_operations__&limit=25&{}",
                stand.range
            );
            page.run(&format!("history.pushState({{}}, '', '{all}')")).await?;
            shows(page, "#pathlight-frame", "findings", 25).await?;
        }
        // Two traces that are compared, and one that there is not.
        let ids = page.attributes(".ResultItemTitle--item", "href").await?;
        let ids: Vec<&str> = ids.iter().filter_map(|link| link.strip_prefix("trace/")).collect();
        page.run(&format!("history.pushState({{}}, '', 'trace/{}...{}')", ids[0], ids[1])).await?;
        shows(page, "#pathlight-frame", "compare", 1).await?;
        page.run("history.pushState({}, '', 'trace/abcdef')").await?;
        says(page, "There is no trace 0000000000abcdef").await?;
        // The dialect that was understood is the first to be tried from then on.
        let asked = stand.jaeger.log().len();
        page.run(&format!("history.pushState({{}}, '', 'trace/{}')", ids[0])).await?;
        shows(page, "#pathlight-frame", "trace", 1).await?;
        let log = stand.jaeger.log();
        let expected = if version == "1.76" { "/jaeger/api/traces/" } else { "/jaeger/api/v3/traces/" };
        ensure(log[asked..].iter().all(|asked| asked.starts_with(expected)), || {
            format!("{:?}", &log[asked..])
        })?;
        page.complaints().await?;
        page.run("localStorage.clear()").await?;
    }
    Ok(())
}

pub async fn an_expired_session_and_a_refused_frame_are_said_with_a_way_out(page: &Page) -> Outcome {
    let stand = Stand::new("HEAD")?;
    let elsewhere = Jaeger::start(&Value::Null, Ways::default())?;
    stand.open(page).await?;
    for login in [Login::Elsewhere(format!("{}/login", elsewhere.url)), Login::Here] {
        stand.jaeger.ways().login = Some(login);
        page.run(&format!(
            "history.pushState({{}}, '', 'search?service=edge-gateway&limit=10&{}&n=' + Math.random())",
            stand.range
        ))
        .await?;
        says(page, "log in again").await?;
        same(
            "way out",
            page.attributes("#pathlight-help", "href").await?,
            vec![format!("{}/jaeger/", stand.jaeger.url)],
        )?;
        stand.jaeger.ways().login = None;
        page.click("#pathlight-retry").await?;
        shows(page, "#pathlight-frame", "findings", 10).await?;
        page.hidden("#pathlight-help").await?;
    }
    page.picture("jaeger-search").await?;
    // No Pathlight in the frame.
    page.client().goto(&stand.search("service=edge-gateway&limit=20")).await?;
    page.click("#pathlight-button").await?;
    shows(page, "#pathlight-frame", "findings", 20).await?;
    stand.jaeger.ways().files =
        [("/pathlight/jaeger-plugin.js".to_owned(), dist().join("jaeger-plugin.js"))].into();
    page.client().refresh().await?;
    page.click("#pathlight-button").await?;
    says(page, "does not come up").await?;
    page.visible("#pathlight-help").await?;
    stand.jaeger.ways().files = [("/pathlight/".to_owned(), dist())].into();
    page.click("#pathlight-retry").await?;
    shows(page, "#pathlight-frame", "findings", 20).await?;
    // Policies that refuse it: of Jaeger UI, and of Pathlight.
    for (place, policy) in [("/jaeger/", "frame-src 'none'"), ("/pathlight/", "frame-ancestors 'none'")] {
        stand.jaeger.ways().policies = [(place.to_owned(), policy.to_owned())].into();
        page.client().refresh().await?;
        page.click("#pathlight-button").await?;
        says(page, "does not come up").await?;
        stand.jaeger.ways().policies.clear();
    }
    page.click("#pathlight-retry").await?;
    shows(page, "#pathlight-frame", "findings", 20).await?;
    page.complaints().await.map(drop)
}

pub async fn the_menu_opens_what_is_shown(page: &Page) -> Outcome {
    for version in VERSIONS {
        let stand = Stand::new(version)?;
        let menu = async |traces: usize| {
            // In this window, which is easier to follow.
            page.run("document.querySelector('.menu a').target = '_self'").await?;
            page.click(".menu a").await?;
            page.visible("[data-test='fetch'][data-phase='ended']").await?;
            page.ready().await?;
            let loaded = page.attributes("[data-test='status-loaded']", "data-value").await?;
            same("traces", loaded, vec![traces.to_string()])
        };
        page.client().goto(&stand.search("service=edge-gateway")).await?;
        page.visible(".ResultItemTitle--item").await?;
        let ids = page.attributes(".ResultItemTitle--item", "href").await?;
        // As many as Jaeger UI shows by itself.
        menu(ids.len()).await?;
        // The dialect that was understood is the first to be tried in a later visit.
        let asked = stand.jaeger.log().len();
        let link =
            format!("{}/pathlight/#api=/jaeger&{}", stand.jaeger.url, ids[0].replace("trace/", "traceID="));
        page.open(&link).await?;
        page.visible("[data-test='fetch'][data-phase='ended']").await?;
        let expected = if version == "HEAD" { "/jaeger/api/v3/traces/" } else { "/jaeger/api/traces/" };
        let log = stand.jaeger.log();
        ensure(log.len() == asked + 1 && log[asked].starts_with(expected), || {
            format!("{:?}", &log[asked..])
        })?;
        page.client()
            .goto(&format!("{}/jaeger/{}...{}", stand.jaeger.url, ids[0], ids[1].replace("trace/", "")))
            .await?;
        page.visible(".menu a").await?;
        menu(1).await?;
        same("view", page.run("return document.documentElement.dataset.view").await?, json!("compare"))?;
        // Where nothing is shown, it is the start page with the dialog for this Jaeger.
        page.client().goto(&format!("{}/jaeger/dependencies", stand.jaeger.url)).await?;
        page.visible(".menu a").await?;
        page.run("document.querySelector('.menu a').target = '_self'").await?;
        page.click(".menu a").await?;
        page.state("empty").await?;
        page.visible("[data-test='jaeger-dialog']").await?;
        let hash = page.run("return location.hash").await?;
        ensure(
            hash.as_str().is_some_and(|hash| hash.contains("api=/jaeger") && !hash.contains("service")),
            || hash.to_string(),
        )?;
        page.complaints().await?;
    }
    Ok(())
}

pub async fn two_frames_side_by_side_follow_each_other(page: &Page) -> Outcome {
    for version in VERSIONS {
        let stand = Stand::new(version)?;
        page.client()
            .goto(&format!("{}/pathlight/examples/host.html?jaeger=/jaeger/", stand.jaeger.url))
            .await?;
        heard(page, "ready").await?;
        let go = async |place: &str| {
            enter(page, "#jaeger").await?;
            page.run(&format!("history.pushState({{}}, '', '{place}'); dispatchEvent(new PopStateEvent('popstate', {{ state: {{}} }}))")).await?;
            leave(page).await?;
            page.click("#hand-over").await
        };
        go(&format!("search?service=edge-gateway&limit=25&{}", stand.range)).await?;
        shows(page, "#pathlight", "findings", 25).await?;
        let (trace, span) = select(page).await?;
        let expected =
            format!("/jaeger/trace/{}?uiFind={span}", trace.trim_start_matches("0000000000000000"));
        let place = "const { pathname, search } = document.querySelector('#jaeger').contentWindow.location; return pathname + search";
        page.until("Jaeger UI to follow", place, |found| *found == expected).await?;
        enter(page, "#jaeger").await?;
        page.visible(&format!(".span-row[data-span='{span}'][data-located]")).await?;
        leave(page).await?;
        // Two traces that are compared.
        let ids = stand.jaeger.ids();
        go(&format!("trace/{}...{}", ids[0], ids[1])).await?;
        shows(page, "#pathlight", "compare", 1).await?;
        stand.jaeger.ways().login = Some(Login::Here);
        page.click("#hand-over").await?;
        page.visible("#said a").await?;
        same(
            "way out",
            page.attributes("#said a", "href").await?,
            vec![format!("{}/jaeger/", stand.jaeger.url)],
        )?;
        page.complaints().await?;
    }
    page.picture("two-frames").await
}
