//! Without a network.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use e2e::browser::Page;
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::firefox::Firefox;
use e2e::process::{Server, copy_page, dist, scratch, single};
use e2e::site::{Site, reply};
use e2e::webkit::WebKit;
use serde_json::{Value, json};
use tower_http::services::ServeDir;

use super::access::VIEWS;
use super::drop::{generated, open_tables, summary};
use super::hosting::host_of_utf8;

/// Whether the page is kept for offline use.
const PRESSED: &str = "return document.querySelector(\"[data-test='offline']\").ariaChecked";

/// Has the open page kept for offline use.
async fn keep(page: &Page) -> Outcome {
    page.click("[data-test='more']").await?;
    page.click("[data-test='offline']").await?;
    page.until("the page to be kept", PRESSED, |pressed| pressed == "true").await.map(drop)
}

pub async fn a_kept_page_opens_without_its_server(page: &Page) -> Outcome {
    let server = Server::start(&dist())?;
    let address = server.url.clone();
    page.open(&address).await?;
    let kept = "return (await navigator.serviceWorker.getRegistrations()).length";
    same("registrations nobody asked for", page.run(kept).await?, Value::from(0))?;
    keep(page).await?;
    drop(server);
    page.open(&address).await?;
    page.state("empty").await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 320)?;
    // A report needs the page in one file.
    page.catch_file().await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='save-report']").await?;
    page.click("[data-test='redact-report']").await?;
    let saved = "return window.handedOut && window.handedOut.text().then((text) => [text.length > 1e6, text.includes('report-part')])";
    same("report", page.until("a report", saved, Value::is_array).await?, json!([true, true]))?;
    // Only the page itself is kept: the API of the same origin is not answered from a cache.
    let api = "return fetch('api/services').then(() => 'answered', () => 'nobody there')";
    same("API", page.run(api).await?, Value::from("nobody there"))?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='offline']").await?;
    page.until("the page to be forgotten", PRESSED, |pressed| pressed == "false").await?;
    same("caches", page.run("return caches.keys().then((names) => names.length)").await?, Value::from(0))?;
    // The server that is not there was asked, as it should be.
    page.complaints().await.map(drop)
}

pub async fn every_view_shows_the_same_in_webkit(page: &Page) -> Outcome {
    let Some(webkit) = WebKit::start().await? else {
        return page.skip("WEBKIT_DRIVER names no driver: `cargo xtask test e2e` installs Debian's");
    };
    let file = generated("shop.json", "--traces 400 --spans 30 --shape mixed --seed 21")?;
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let host = host_of_utf8()?;
    for address in [&single()?, &host.url, &page.base] {
        webkit.client.goto(address).await?;
        webkit.until("return document.documentElement.dataset.state ?? ''", "empty").await?;
    }
    webkit.choose("[data-test='file-input']", &file).await?;
    for view in VIEWS {
        let go = format!("location.hash = 'view={view}'");
        page.run(&go).await?;
        page.ready().await?;
        webkit.run(&go).await?;
        let idle = "const { state, busy, view } = document.documentElement.dataset; return `${state} ${busy} ${view}`";
        webkit.until(idle, &format!("ready false {view}")).await?;
        // Its window is no larger, and shows no more rows and columns.
        let (here, there) = (page.run(NUMBERS).await?, webkit.run(NUMBERS).await?);
        let known: Vec<&Value> = here.as_array().into_iter().flatten().collect();
        let shown: Vec<&Value> = there.as_array().into_iter().flatten().collect();
        ensure(shown.len() >= 4, || format!("{view} has {} numbers in WebKit", shown.len()))?;
        for number in shown {
            ensure(known.contains(&number), || format!("{view}: {number} is WebKit's alone"))?;
        }
        same(
            "errors",
            webkit.run("return document.querySelectorAll(\"[data-test='message']\").length").await?,
            json!(0),
        )?;
    }
    Ok(())
}

/// Everything on the findings that has a number and a name; how many columns a table has room for depends on the window.
const NUMBERS: &str = "return [...document.querySelectorAll('[data-value][data-test]')].filter((e) => \
                       e.checkVisibility() && !['memory', 'workers'].includes(e.dataset.test)) \
                       .map((e) => [e.dataset.test, e.dataset.value])";

pub async fn the_one_file_shows_the_same_numbers_in_firefox(page: &Page) -> Outcome {
    let file = generated("shop.json", "--traces 400 --spans 30 --shape mixed --seed 21")?;
    let address = single()?;
    page.open(&address).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    open_tables(page).await?;
    let expected = page.run(NUMBERS).await?;
    ensure(expected.as_array().is_some_and(|numbers| numbers.len() > 20), || format!("only {expected}"))?;
    let mut firefox = Firefox::start()?;
    let host = host_of_utf8()?;
    for address in [&host.url, &address] {
        firefox.open(address)?;
        firefox.until("the start", "return document.documentElement.dataset.state", &json!("empty"))?;
    }
    firefox.type_into("[data-test='file-input']", &file.to_string_lossy())?;
    firefox.ready()?;
    firefox.run("document.querySelector(\"[data-test='findings-tables']\").open = true")?;
    firefox.ready()?;
    same("numbers in Firefox", firefox.run(NUMBERS)?, expected)?;
    // Every view comes up there.
    for view in ["flame", "requests", "trace"] {
        firefox.run(&format!("location.hash = 'view={view}'"))?;
        firefox.until("the view", "return document.documentElement.dataset.view", &json!(view))?;
        firefox.ready()?;
    }
    let path = "[data-test='trace-latency']";
    ensure(
        firefox
            .run(&format!("return document.querySelector(\"{path}\")?.dataset.value ?? null"))?
            .is_string(),
        || "Firefox shows no trace".to_owned(),
    )
}

pub async fn a_page_that_is_old_says_so_once_a_newer_one_is_kept(page: &Page) -> Outcome {
    let folder = scratch()?.join("newer");
    copy_page(&folder)?;
    let server = Server::start(&folder)?;
    page.open(&server.url).await?;
    keep(page).await?;
    let look = "return document.querySelector(\"[data-test='newer']\").hidden";
    // The same page as before is no newer one.
    let asked = "const { active } = await navigator.serviceWorker.getRegistration(); active.postMessage('look');
                 await new Promise((done) => navigator.serviceWorker.addEventListener('message', done, { once: true }))";
    page.run(&format!("return (async () => {{ {asked} }})()")).await?;
    same("said of the same page", page.run(look).await?, Value::from(true))?;
    // The next version names another style sheet. As long as that is missing, the page stays as it is.
    let newer = next_version(page, &folder, false).await?;
    let again = "const { active } = await navigator.serviceWorker.getRegistration(); active.postMessage('look');
                 await new Promise((done) => setTimeout(done, 1000)); return caches.keys().then((names) => names.length)";
    same("versions kept", page.run(&format!("return (async () => {{ {again} }})()")).await?, json!(1))?;
    same("said of half a version", page.run(look).await?, Value::from(true))?;
    page.open(&server.url).await?;
    page.state("empty").await?;
    let style = "return document.querySelector('link[rel=stylesheet]').href";
    let shown = page.run(style).await?;
    ensure(!shown.to_string().contains(&newer), || format!("half a version is shown: {shown}"))?;
    next_version(page, &folder, true).await?;
    page.run("document.dispatchEvent(new Event('visibilitychange'))").await?;
    page.visible("[data-test='newer']").await?;
    page.picture("newer").await?;
    page.click("[data-test='newer-reload']").await?;
    page.until("the newer page", style, |style| style.as_str().is_some_and(|style| style.contains(&newer)))
        .await?;
    page.hidden("[data-test='newer']").await
}

/// Makes the page in a folder one that names a style sheet with one comment more, as the next build would, and returns the
/// hash in its name; the style sheet itself comes only with `whole`.
async fn next_version(page: &Page, folder: &Path, whole: bool) -> Outcome<String> {
    let index = std::fs::read_to_string(dist().join("index.html"))?;
    let missing = || Failure("no style sheet".to_owned());
    let old = index.split("href=\"style-").nth(1).and_then(|tail| tail.get(..10)).ok_or_else(missing)?;
    let style = std::fs::read_to_string(dist().join(format!("style-{old}.css")))? + "/* newer */";
    let digest = format!(
        "return crypto.subtle.digest('SHA-256', new TextEncoder().encode({})).then((hash) => \
         [...new Uint8Array(hash).slice(0, 5)].map((byte) => byte.toString(16).padStart(2, '0')).join(''))",
        json!(style)
    );
    let newer = page.run(&digest).await?.as_str().unwrap_or_default().to_owned();
    if whole {
        std::fs::write(folder.join(format!("style-{newer}.css")), style)?;
    }
    std::fs::write(folder.join("index.html"), index.replace(old, &newer))?;
    Ok(newer)
}

/// Ways in which a server answers a visit with something else than the page, by number: the page itself is 0.
mod instead {
    /// A network that wants a login first answers everything with its own page.
    pub const PORTAL: usize = 1;
    /// A session has ended: the page leads to a login, all else is refused.
    pub const LOGIN: usize = 2;
    /// The server fails.
    pub const BROKEN: usize = 3;
    /// The connection is there and brings nothing.
    pub const SILENT: usize = 4;
}

/// Answers as the page's server, or as what stands in its place now.
async fn answer_as(now: usize, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    match now {
        _ if path == "/login" => next.run(request).await,
        instead::PORTAL => reply(200, "text/html", "<!doctype html><title>Portal</title></html>"),
        instead::LOGIN if path == "/" => Redirect::to("/login").into_response(),
        instead::LOGIN => reply(401, "text/plain", "log in"),
        instead::BROKEN => reply(503, "text/html", "<title>Broken</title>"),
        instead::SILENT => std::future::pending().await,
        _ => next.run(request).await,
    }
}

pub async fn what_another_server_answers_replaces_no_kept_page(page: &Page) -> Outcome {
    let now = Arc::new(AtomicUsize::new(0));
    let stage = now.clone();
    let routes = Router::new()
        .route("/login", get(|| async { reply(200, "text/html", "<title>Log in</title>") }))
        .fallback_service(ServeDir::new(dist()))
        .layer(from_fn(move |request, next| answer_as(stage.load(Ordering::SeqCst), request, next)));
    let site = Site::start(routes)?;
    // The page of another server is not kept in the first place.
    page.open(&site.url).await?;
    page.state("empty").await?;
    now.store(instead::PORTAL, Ordering::SeqCst);
    page.click("[data-test='more']").await?;
    page.click("[data-test='offline']").await?;
    page.visible("[data-test='message']").await?;
    let versions = "return caches.keys().then((names) => names.length)";
    same("versions of another server", page.run(versions).await?, json!(0))?;
    now.store(0, Ordering::SeqCst);
    page.open(&site.url).await?;
    page.state("empty").await?;
    keep(page).await?;
    for answer in [instead::PORTAL, instead::BROKEN, instead::SILENT] {
        now.store(answer, Ordering::SeqCst);
        page.leave().await?;
        page.client().goto(&site.url).await?;
        page.state("empty").await?;
        same("versions", page.run(versions).await?, json!(1))?;
    }
    // A login is where the browser is led, and the page is still kept afterwards.
    now.store(instead::LOGIN, Ordering::SeqCst);
    page.leave().await?;
    page.client().goto(&site.url).await?;
    page.until("the login", "return document.title", |title| title == "Log in").await?;
    same("versions", page.run(versions).await?, json!(1))?;
    let address = site.url.clone();
    drop(site);
    page.leave().await?;
    page.client().goto(&address).await?;
    page.state("empty").await?;
    page.complaints().await.map(drop)
}
