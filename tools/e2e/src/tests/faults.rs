//! Faults in the middle of what the page does: workers that end or go silent, files that change, answers that break off,
//! and what a browser may refuse or take away. Each ends in a sentence or unseen; the page goes on, and what is loaded
//! stays.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{ACCESS_CONTROL_ALLOW_ORIGIN, RETRY_AFTER};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use e2e::browser::{Modifiers, Page, plain, session_with};
use e2e::failure::{Outcome, ensure, same};
use e2e::process::{Driver, dist, scratch};
use e2e::site::{Site, broken_off, reply};
use serde_json::{Value, json};
use tower_http::services::ServeDir;

use super::access::VIEWS;
use super::drop::{count, generated, shop, summary};
use super::loading::{begin, begin_besides};
use super::tables::catch_files;

/// Runs a script in every document that is opened from now on, before the page's own; [`restore`] ends that.
async fn prepare(page: &Page, script: &str) -> Outcome<Value> {
    page.devtools("Page.addScriptToEvaluateOnNewDocument", json!({ "source": script })).await
}

/// Ends what [`prepare`] began, for the tests that follow.
async fn restore(page: &Page, prepared: Value) -> Outcome {
    page.devtools("Page.removeScriptToEvaluateOnNewDocument", prepared).await?;
    page.leave().await?;
    page.complaints().await.map(drop)
}

/// Lets a test end workers: `endWorker(n, how)` ends the n-th of those that live as an error in it would (`trap`),
/// without a word (`silent`), or lets it drop what it is sent (`deaf`). With `hurry` set, time passes so many times as
/// fast for the page's clocks: at 50, a worker that has not answered for 2.4 s counts as dead.
const WORKERS: &str = "const Real = Worker; const all = []; \
    window.Worker = class extends Real { constructor(...given) { super(...given); all.push(this); } \
      terminate() { all.splice(all.indexOf(this) >>> 0, 1); super.terminate(); } \
      postMessage(...given) { if (!this.deaf) super.postMessage(...given); } }; \
    window.endWorker = (n, how) => { const worker = all[n % all.length]; \
      if (how === 'deaf') { worker.deaf = true; return; } \
      Real.prototype.terminate.call(worker); \
      if (how === 'trap') { worker.dispatchEvent(new ErrorEvent('error', { message: 'unreachable' })); } }; \
    const wait = window.setTimeout.bind(window); \
    window.setTimeout = (run, ms, ...given) => wait(run, ms / (window.hurry || 1), ...given);";

/// Returns what a view shows, memory aside: what a user would compare.
async fn shown(page: &Page) -> Outcome<String> {
    let words = page.run("return document.querySelector('.view').innerText").await?;
    Ok(plain(words.as_str().unwrap_or_default()))
}

/// Expects the page to say that a worker was replaced, and nothing else.
async fn replaced(page: &Page) -> Outcome {
    let rows = page
        .run("return [...document.querySelectorAll(\"[data-test='message']\")].map((row) => row.innerText)");
    let rows: Vec<String> = serde_json::from_value(rows.await?)?;
    ensure(rows.len() == 1 && rows[0].starts_with("A worker ended and was replaced"), || {
        format!("the page says {rows:?}")
    })?;
    page.click("[data-test='message-dismiss']").await?;
    page.hidden("[data-test='message']").await
}

pub async fn workers_that_end_in_any_view_are_replaced_and_it_shows_the_same(page: &Page) -> Outcome {
    in_any_view(page, ["trap", "trap"]).await
}

pub async fn workers_that_go_silent_or_deaf_in_any_view_are_replaced_and_it_shows_the_same(
    page: &Page,
) -> Outcome {
    in_any_view(page, ["silent", "deaf"]).await
}

/// Ends a worker in one of the ways of [`WORKERS`] while what an address shows is worked out: it comes all the same.
async fn in_place(page: &Page, place: &str, how: &str) -> Outcome {
    page.go("view=findings").await?;
    page.ready().await?;
    page.go(place).await?;
    page.ready().await?;
    let (whole, expected) = (summary(page).await?, shown(page).await?);
    // The range is another one, so the view asks; then it asks again for all, and its worker ends meanwhile.
    page.go(&format!("{place}&range=10-90")).await?;
    page.ready().await?;
    page.run(&format!(
        "const root = document.documentElement; window.ended = false; new MutationObserver((_, seen) => {{ \
         if (root.dataset.busy !== 'true') return; seen.disconnect(); endWorker(0, '{how}'); window.ended = true; \
         window.hurry = {}; }}).observe(root, {{ attributeFilter: ['data-busy'] }}); location.hash = {}",
        if how == "trap" { 1 } else { 50 },
        json!(place)
    ))
    .await?;
    page.until(&format!("{place} to ask"), "return window.ended", |ended| *ended == true).await?;
    page.drawn().await?;
    page.ready().await?;
    // One that hears nothing has answered what it was asked before, and is missed when it is asked again.
    page.go(&format!("{place}&range=20-80")).await?;
    page.ready().await?;
    page.go(place).await?;
    page.ready().await?;
    page.run("window.hurry = 1").await?;
    same("what is loaded", summary(page).await?, whole)?;
    // Without the row of the message there is room for as many rows as before.
    replaced(page).await?;
    page.ready().await?;
    let now = shown(page).await?;
    let differs = now.bytes().zip(expected.bytes()).take_while(|(a, b)| a == b).count();
    ensure(now == expected, || {
        let near =
            |text: &str| -> String { text.chars().skip(differs.saturating_sub(80)).take(160).collect() };
        format!("{place} after a worker ended ({how}): found {}, expected {}", near(&now), near(&expected))
    })
}

/// Ends a worker in each view by turns in two of the ways of [`WORKERS`], while the view waits for what it asked.
async fn in_any_view(page: &Page, ways: [&str; 2]) -> Outcome {
    let prepared = prepare(page, WORKERS).await?;
    let file = shop()?;
    // Another one would have nothing to do, and not be missed.
    page.open("limit-workers=1").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let whole = summary(page).await?;
    same("traces, spans, services, endpoints", whole, count(&file)?)?;
    for (view, how) in VIEWS.into_iter().zip(ways.into_iter().cycle()) {
        in_place(page, &format!("view={view}"), how).await?;
    }
    restore(page, prepared).await
}

pub async fn workers_that_end_in_a_search_a_question_or_a_report_are_replaced(page: &Page) -> Outcome {
    let prepared = prepare(page, WORKERS).await?;
    let file = shop()?;
    page.open("limit-workers=1").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let product = "service=edge-gateway&operation=GET%20/product/%7Bid%7D";
    let half = "%5B%5B%22edge-gateway%22,%22GET%20/product/%7Bid%7D%22,-500000,0,%22own%22%5D%5D";
    for (place, how) in [
        ("view=requests&search=error%3Dtrue".to_owned(), "trap"),
        (format!("view=flow&{product}&panel=whatif&whatif={half}"), "silent"),
        (format!("view=flow&{product}&panel=target&target=p99:100000"), "trap"),
        ("view=anomalies&detector=vae&network=16,2,0,2,1".to_owned(), "silent"),
    ] {
        in_place(page, &place, how).await?;
    }
    let second = generated("beside.json", "--traces 60 --spans 20 --seed 2")?;
    page.drop_files_on("[data-test='drop-compare']", std::slice::from_ref(&second)).await?;
    page.visible("[data-test='sides']").await?;
    page.ready().await?;
    in_place(page, "view=compare&against=set", "trap").await?;
    // A report whose worker ends is not saved, which is said; the next one is.
    catch_files(page).await?;
    for ending in ["endWorker(0, 'trap')", ""] {
        for selector in ["[data-test='more']", "[data-test='save-report']"] {
            page.click(selector).await?;
        }
        page.run(&format!("document.querySelector(\"[data-test='redact-report']\").click(); {ending}"))
            .await?;
        if !ending.is_empty() {
            let said = "return document.querySelector(\"[data-test='message']\")?.innerText ?? ''";
            let words = "The report could not be saved";
            page.until(words, said, |said| said.as_str().is_some_and(|said| said.starts_with(words))).await?;
            page.ready().await?;
        }
    }
    let saved = "return (window.caught[0] ?? '').includes('class=\"report-part\"')";
    page.until("a report", saved, |there| *there == true).await?;
    restore(page, prepared).await
}

pub async fn workers_that_end_while_files_are_read_are_replaced(page: &Page) -> Outcome {
    let prepared = prepare(page, WORKERS).await?;
    let file = shop()?;
    let [before, spans_before, ..] = count(&file)?;
    for how in ["trap", "silent", "deaf"] {
        let traces = 120_000;
        // What was loaded before is in the workers too.
        page.open("").await?;
        page.drop_files(std::slice::from_ref(&file)).await?;
        page.ready().await?;
        begin_besides(page, traces).await?;
        // Time passes less fast here: the workers that live have 600,000 spans to normalise, which takes a slow machine
        // some seconds in which they answer nothing.
        let hurry = if how == "trap" { 1 } else { 15 };
        page.run(&format!("endWorker(0, '{how}'); window.hurry = {hurry}")).await?;
        page.ready().await?;
        let [read, spans, ..] = summary(page).await?;
        let expected = (traces as usize + before, 5 * traces as usize + spans_before);
        same(&format!("traces and spans, {how}"), (read, spans), expected)?;
        replaced(page).await?;
    }
    restore(page, prepared).await
}

pub async fn a_file_that_changes_or_vanishes_while_it_is_read_is_named(page: &Page) -> Outcome {
    let loaded = [shop()?];
    let [before, _, services, _] = count(&loaded[0])?;
    for vanishes in [true, false] {
        page.open("").await?;
        page.drop_files(&loaded).await?;
        page.ready().await?;
        begin_besides(page, 250_000).await?;
        let file = scratch()?.join("long.json");
        if vanishes {
            fs::remove_file(&file)?;
        } else {
            fs::OpenOptions::new().write(true).open(&file)?.set_len(1000)?;
        }
        page.ready().await?;
        page.visible("[data-test='message']").await?;
        let said = page.text("[data-test='message']").await?;
        ensure(said.contains("long.json"), || format!("{said:?} does not name the file"))?;
        ensure(said.contains("moved or changed since"), || format!("{said:?} does not say why"))?;
        // What was loaded before is there, with what was read of the file, and the page goes on.
        let [traces, _, of_services, _] = summary(page).await?;
        ensure(traces >= before && of_services >= services, || {
            format!("{traces} traces of {of_services} services, and there were {before} of {services}")
        })?;
        page.go("service=edge-gateway&operation=GET%20/product/%7Bid%7D").await?;
        page.ready().await?;
        page.drop_files_on("[data-test='drop-replace']", &loaded).await?;
        page.ready().await?;
        same("traces", summary(page).await?[0], before)?;
    }
    page.complaints().await.map(drop)
}

/// Serves the page beside a file whose answers go wrong in turn.
struct Broken {
    site: Site,
    asked: Arc<AtomicUsize>,
}

impl Broken {
    fn start(answer: impl Fn(usize) -> Response + Clone + Send + Sync + 'static) -> Outcome<Broken> {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let routes = Router::new()
            .route("/data.json", get(move || async move { answer(count.fetch_add(1, Ordering::SeqCst)) }))
            .route("/login", get(|| async { reply(200, "text/html", "<title>Log in</title>") }))
            .nest_service("/page", ServeDir::new(dist()));
        Ok(Broken { site: Site::start(routes)?, asked })
    }

    async fn open(&self, page: &Page) -> Outcome {
        page.open(&format!("{}page/#src=../data.json", self.site.url)).await
    }
}

pub async fn a_file_of_the_server_that_breaks_off_or_asks_for_a_login_is_said(page: &Page) -> Outcome {
    let text = fs::read_to_string(generated("broken.json", "--traces 30 --spans 20 --seed 12")?)?;
    let half = text.clone();
    let cut = Broken::start(move |_| broken_off(&half))?;
    cut.open(page).await?;
    page.visible("[data-test='fetch'][data-phase='ended']").await?;
    let said = page.text("[data-test='fetch']").await?;
    ensure(said.contains("broke off") || said.contains("connection"), || format!("a cut file: {said:?}"))?;

    let login = Broken::start(|_| Redirect::to("/login").into_response())?;
    login.open(page).await?;
    page.visible("[data-test='message']").await?;
    let said = page.text("[data-test='message']").await?;
    ensure(said.contains("HTML page") && said.contains("log in there"), || format!("a login: {said:?}"))?;

    let whole = text.clone();
    let first: [u16; 2] = [503, 429];
    let busy = Broken::start(move |asked| {
        let Some(status) = first.get(asked) else {
            return reply(200, "application/json", whole.clone());
        };
        let mut answer = reply(*status, "text/plain", "busy");
        answer.headers_mut().insert(RETRY_AFTER, 1.into());
        answer
    })?;
    busy.open(page).await?;
    for status in ["status 503", "status 429"] {
        let said =
            "return document.querySelector(\"[data-test='fetch'][data-phase='ended']\")?.innerText ?? ''";
        page.until(status, said, |said| said.as_str().is_some_and(|said| said.contains(status))).await?;
        page.click("[data-test='fetch-retry']").await?;
    }
    page.ready().await?;
    same("traces", summary(page).await?[0], 30)?;
    same("requests", busy.asked.load(Ordering::SeqCst), 3)?;
    page.complaints().await.map(drop)
}

pub async fn a_file_that_leads_to_another_server_is_fetched_if_the_user_agrees(page: &Page) -> Outcome {
    let text = fs::read_to_string(generated("led.json", "--traces 30 --spans 20 --seed 12")?)?;
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let there = move || async move {
        count.fetch_add(1, Ordering::SeqCst);
        let mut answer = reply(200, "application/json", text);
        answer.headers_mut().insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        answer
    };
    let other = Site::start(Router::new().route("/there.json", get(there)))?;
    let there = format!("{}there.json", other.url);
    let leading = Broken::start(move |_| Redirect::to(&there).into_response())?;
    leading.open(page).await?;
    page.visible("[data-test='fetch'][data-phase='ended']").await?;
    let said = page.text("[data-test='fetch']").await?;
    ensure(said.contains("leads to another server"), || format!("it says {said:?}"))?;
    same("requests to the other server", asked.load(Ordering::SeqCst), 0)?;
    page.click("[data-test='fetch-redirect']").await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 30)?;
    same("requests to the other server", asked.load(Ordering::SeqCst), 1)?;
    page.complaints().await.map(drop)
}

pub async fn refused_and_full_storage_take_nothing_but_what_is_remembered(page: &Page) -> Outcome {
    // Handles of files are kept in a data base. The page itself opens no cache; its service worker is tried below.
    let refused = "for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, \
                   { get() { throw new DOMException('denied', 'SecurityError') } }); window.refused = 0; \
                   IDBFactory.prototype.open = () => { window.refused += 1; throw new DOMException('denied', 'SecurityError') };";
    let full = "Storage.prototype.setItem = IDBObjectStore.prototype.put = () => { \
                throw new DOMException('full', 'QuotaExceededError') };";
    for script in [refused, full] {
        let prepared = prepare(page, script).await?;
        page.open("").await?;
        page.drop_files(&[shop()?]).await?;
        page.ready().await?;
        same("traces", summary(page).await?[0], 400)?;
        page.until("the data base to be refused", "return window.refused !== 0", |asked| *asked == true)
            .await?;
        page.run("document.querySelector(\"[data-test='view-endpoints']\").click()").await?;
        page.ready().await?;
        page.hidden("[data-test='message']").await?;
        let complaints = page.complaints().await?;
        ensure(complaints.is_empty(), || format!("the console says {complaints:?}"))?;
        restore(page, prepared).await?;
    }
    Ok(())
}

/// Freezes the tab for so long, and looks at it again.
async fn freeze(page: &Page, time: Duration) -> Outcome {
    page.devtools("Page.setWebLifecycleState", json!({ "state": "frozen" })).await?;
    tokio::time::sleep(time).await;
    page.devtools("Page.setWebLifecycleState", json!({ "state": "active" })).await?;
    // A tab that was frozen counts as hidden; a window that is opened for another one and closed brings it back.
    let own = page.client().window().await?;
    let other = page.client().new_window(true).await?;
    page.client().switch_to_window(other.handle).await?;
    page.client().close_window().await?;
    page.client().switch_to_window(own).await?;
    page.until("the tab to be looked at", "return document.visibilityState", |now| now == "visible")
        .await
        .map(drop)
}

pub async fn a_frozen_tab_goes_on_when_it_is_looked_at_again(page: &Page) -> Outcome {
    let traces = 250_000;
    begin(page, traces).await?;
    freeze(page, Duration::from_secs(3)).await?;
    page.ready().await?;
    let [read, spans, ..] = summary(page).await?;
    same("traces and spans", (read, spans), (traces as usize, 5 * traces as usize))?;
    // And in the middle of a query, whose answer is the same as without.
    page.go("view=findings").await?;
    page.ready().await?;
    page.run("location.hash = 'view=diagnosis'").await?;
    let busy = "return document.documentElement.dataset.busy";
    page.until("the diagnosis to be worked out", busy, |busy| busy == "true").await?;
    freeze(page, Duration::from_secs(1)).await?;
    page.ready().await?;
    let thawed = shown(page).await?;
    page.go("view=diagnosis&range=10-90").await?;
    page.ready().await?;
    page.go("view=diagnosis").await?;
    page.ready().await?;
    same("the diagnosis", thawed, shown(page).await?)?;
    page.hidden("[data-test='message']").await
}

/// Device pixels of the largest canvas in sight that are not of the colour of its corner.
const PAINTED: &str = "const canvas = [...document.querySelectorAll('canvas')].filter((c) => c.checkVisibility()) \
    .sort((a, b) => b.width * b.height - a.width * a.height)[0]; \
    const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height); let n = 0; \
    for (let i = 0; i < data.length; i += 4) n += data[i] !== data[0] || data[i + 3] !== data[3]; return n";

/// Empties every canvas as a browser does that has lost it, and gives it back.
const LOSE: &str = "for (const canvas of document.querySelectorAll('canvas')) { \
    canvas.dispatchEvent(new Event('contextlost', { cancelable: true })); canvas.getContext('2d').reset(); \
    canvas.dispatchEvent(new Event('contextrestored')); }";

pub async fn lost_canvases_are_painted_again_and_without_any_the_tables_stay(page: &Page) -> Outcome {
    page.open("").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    for view in ["flame", "heatmap", "flow", "split", "endpoints", "trace"] {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        let before = page.run(PAINTED).await?;
        ensure(before.as_u64() > Some(100), || format!("{view} paints {before} pixels"))?;
        page.run(LOSE).await?;
        page.until(&format!("{view} to be painted again"), PAINTED, |now| *now == before).await?;
    }
    let prepared = prepare(page, "HTMLCanvasElement.prototype.getContext = () => null").await?;
    page.open("").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    for view in VIEWS {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
    }
    same("traces", summary(page).await?[0], 400)?;
    let said = page.text("[data-test='message']").await?;
    ensure(said.contains("draw"), || format!("without canvases the page says {said:?}"))?;
    restore(page, prepared).await
}

pub async fn a_refused_clipboard_and_service_worker_are_said(page: &Page) -> Outcome {
    let prepared = prepare(
        page,
        "Clipboard.prototype.writeText = () => Promise.reject(new DOMException('no', 'NotAllowedError')); \
         ServiceWorkerContainer.prototype.register = () => Promise.reject(new DOMException('no', 'SecurityError'))",
    )
    .await?;
    page.open("").await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='offline']").await?;
    page.visible("[data-test='message']").await?;
    let said = page.text("[data-test='message']").await?;
    ensure(said.contains("could not be kept for offline use"), || format!("it says {said:?}"))?;
    page.key("Escape", Modifiers::None).await?;
    page.click("[data-test='message'] summary").await?;
    page.click("[data-test='message-copy']").await?;
    let label = "return document.querySelector(\"[data-test='message-copy']\").textContent";
    page.until("the button to say so", label, |label| {
        label.as_str().is_some_and(|label| label.contains("Not permitted"))
    })
    .await?;
    restore(page, prepared).await
}

/// A browser that gives each WebAssembly instance 25 MB: what is read ends where memory does, and a diagnosis may end every
/// worker.
pub async fn memory_that_ends_in_every_worker_is_said_and_what_fits_is_shown(page: &Page) -> Outcome {
    let file = generated("fills-memory.json", "--traces 12000 --spans 30 --shape mixed --seed 8")?;
    let driver = Driver::start()?;
    let small = session_with(&driver, &["--js-flags=--wasm-max-mem-pages=400"]).await?;
    let small = Page::new(small, &page.base, &scratch()?);
    let tried = async {
        small.open("limit-workers=2&view=diagnosis").await?;
        let megabytes = (fs::metadata(&file)?.len() + 500_000) / 1_000_000;
        small.drop_files(&[file]).await?;
        let said = "return document.documentElement.dataset.state === 'ready' \
            && [...document.querySelectorAll('[data-test=\"message\"]')].map(of => of.textContent).join(' | ')";
        // Either reading stops before, or the diagnosis ends the workers; which of them depends on the build.
        let ends = ["This query could not be run.", "Memory ended after "];
        let has_ended =
            |said: &Value| said.as_str().is_some_and(|said| ends.iter().any(|end| said.contains(end)));
        let patience = Duration::from_secs(120);
        small.until_within(patience, "the end of memory", said, has_ended).await?;
        // Which queries have room depends on how far reading came when memory ended; that traces stay does not.
        for view in ["flame", "findings", "requests", "errors"] {
            small.run(&format!("location.hash = 'limit-workers=2&view={view}'")).await?;
            tokio::time::sleep(Duration::from_secs(2)).await;
            let said = small.until_within(patience, "what is loaded", said, Value::is_string).await?;
            let said = plain(said.as_str().unwrap_or_default());
            ensure(!said.contains("ends in the middle") && !said.contains("none of its traces"), || {
                format!("in {view} it says {said:?}")
            })?;
            // Of what is read, however often it was: nothing counts twice.
            for of in said.split("Memory ended after ").skip(1) {
                let of: Option<u64> = of.split(' ').nth(3).and_then(|of| of.parse().ok());
                ensure(of.is_some_and(|of| of <= megabytes), || format!("{said:?} of {megabytes} MB"))?;
            }
            // While workers are replaced nothing is known of what is loaded.
            let loaded = "return document.querySelector(\"[data-test='status-loaded']\")?.textContent || ''";
            let has_traces = |text: &Value| text.as_str().is_some_and(|text| text.contains("traces"));
            small.until_within(patience, &format!("traces in {view}"), loaded, has_traces).await?;
        }
        Ok(())
    };
    let tried = tried.await;
    small.close().await;
    tried
}
