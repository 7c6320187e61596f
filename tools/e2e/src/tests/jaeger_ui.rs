//! Beside Jaeger UI: a stand-in with its addresses, layout and router, switched on by the very configuration we ship.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, RawQuery};
use axum::response::Html;
use axum::routing::get;
use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::process::dist;
use e2e::site::{Site, reply};
use serde_json::{Value, json};
use tower_http::services::ServeDir;

use super::drop::{generated, summary};
use super::embed::{enter, heard, leave, select};

/// Jaeger below /jaeger/, Pathlight below /pathlight/, on one origin.
fn jaeger() -> Outcome<Site> {
    let config: Value = serde_json::from_slice(&std::fs::read(dist().join("jaeger-ui.config.json"))?)?;
    let scripts: Vec<&str> =
        config["scripts"].as_array().into_iter().flatten().filter_map(|s| s["text"].as_str()).collect();
    let ui = include_str!("../../pages/jaeger-ui.html").replace("SCRIPTS", &scripts.join("\n"));
    let file = generated("jaeger.json", "--traces 30 --spans 20 --seed 6")?;
    let stored: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let stored = Arc::new(stored["data"].as_array().cloned().unwrap_or_default());
    let data = |traces: &[&Value]| reply(200, "application/json", json!({ "data": traces }).to_string());
    let all = stored.clone();
    let search = move |RawQuery(query): RawQuery| async move {
        let limit = if query.is_some_and(|query| query.contains("limit=20")) { 20 } else { usize::MAX };
        data(&all.iter().take(limit).collect::<Vec<_>>())
    };
    let one = move |Path(id): Path<String>| async move {
        data(&stored.iter().filter(|trace| trace["traceID"] == id).collect::<Vec<_>>())
    };
    let nothing = || async { reply(404, "text/plain", "There is nothing here.") };
    let page = || async { Html(ui) };
    let jaeger = Router::new()
        .route("/api/traces", get(search))
        .route("/api/traces/{id}", get(one))
        .route("/api/{*path}", get(nothing))
        .route("/", get(page.clone()))
        .route("/{*path}", get(page));
    Site::start(Router::new().nest("/jaeger", jaeger).nest_service("/pathlight", ServeDir::new(dist())))
}

/// Waits until Pathlight in the panel shows so many traces.
async fn shows(page: &Page, frame: &str, view: &str, traces: usize) -> Outcome {
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

pub async fn the_panel_follows_search_and_trace_pages(page: &Page) -> Outcome {
    let site = jaeger()?;
    page.client()
        .goto(&format!("{}jaeger/search?service=edge-gateway&limit=20&lookback=1h", site.url))
        .await?;
    page.visible("#pathlight-button").await?;
    page.visible(".ResultItemTitle--item").await?;
    page.click("#pathlight-button").await?;
    shows(page, "#pathlight-frame", "findings", 20).await?;
    enter(page, "#pathlight-frame").await?;
    same("traces", summary(page).await?[0], 20)?;
    page.hidden("[data-test='host-ask']").await?;
    leave(page).await?;
    page.picture("jaeger-search").await?;

    // Jaeger UI goes to a trace without loading a page, and the panel follows.
    let trace = page.text(".ResultItemTitle--item").await?;
    page.click(".ResultItemTitle--item").await?;
    page.visible(".TracePageHeader--title").await?;
    shows(page, "#pathlight-frame", "trace", 1).await?;
    page.run("document.body.dataset.theme = 'dark'").await?;
    enter(page, "#pathlight-frame").await?;
    page.until("Jaeger UI's colours", "return document.documentElement.dataset.theme", |found| {
        found == "dark"
    })
    .await?;
    page.click("[data-test='span'] ~ [data-test='span']").await?;
    leave(page).await?;
    page.picture("jaeger-trace").await?;

    // Back to the span in Jaeger UI, the panel staying where it is.
    let link = "return document.querySelector('#pathlight-link').href";
    let link = page
        .until("a link to the span", link, |link| link.as_str().is_some_and(|link| link.contains("uiFind=")))
        .await?;
    let link = link.as_str().unwrap_or_default().to_owned();
    // Trace ids have 32 digits here, and as many as the stored ones there; Jaeger takes both.
    ensure(link.contains(&format!("{trace}?uiFind=")), || format!("the link is {link}"))?;
    page.click("#pathlight-link").await?;
    page.until("the span's address", "return location.href", |found| *found == link).await?;
    page.visible("#pathlight-panel").await?;
    page.click("#pathlight-close").await?;
    page.hidden("#pathlight-panel").await?;
    page.visible("#pathlight-button").await?;
    // There is nothing to hand over on other pages.
    page.run("history.pushState({}, '', 'dependencies')").await?;
    page.hidden("#pathlight-button").await
}

pub async fn two_frames_side_by_side_follow_each_other(page: &Page) -> Outcome {
    let site = jaeger()?;
    page.client().goto(&format!("{}pathlight/examples/host.html?jaeger=/jaeger/", site.url)).await?;
    heard(page, "ready").await?;
    enter(page, "#jaeger").await?;
    page.run("document.body.append(Object.assign(document.createElement('i'), { id: 'same' })); history.pushState({}, '', 'search?service=edge-gateway'); dispatchEvent(new PopStateEvent('popstate', { state: {} }))").await?;
    page.visible(".ResultItemTitle--item").await?;
    leave(page).await?;
    page.click("#hand-over").await?;
    shows(page, "#pathlight", "findings", 30).await?;
    let (trace, span) = select(page).await?;
    let expected = format!("/jaeger/trace/{trace}?uiFind={span}");
    let place = "const { pathname, search } = document.querySelector('#jaeger').contentWindow.location; return pathname + search";
    page.until("Jaeger UI to follow", place, |found| *found == expected).await?;
    page.picture("two-frames").await
}
