//! The page in a frame of another one, as `docs/embedding.md` has it.

use std::path::Path;

use axum::Router;
use e2e::browser::Page;
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::process::{Server, dist};
use e2e::site::Site;
use fantoccini::Locator;
use serde_json::Value;
use tower_http::services::ServeDir;

use super::drop::{SPANS_AS_TABLE, count, generated, summary};

/// The example host on an origin of its own, and the page from a server that lets this origin show it in a frame.
struct Host {
    site: Site,
    server: Server,
}

fn host() -> Outcome<Host> {
    let site = Site::start(Router::new().fallback_service(ServeDir::new(dist().join("examples"))))?;
    let server = Server::start_with(&dist(), &["--frame-ancestor", site.url.trim_end_matches('/')])?;
    Ok(Host { site, server })
}

/// Opens the example host with Pathlight in its frame and waits until that listens.
async fn open(page: &Page, host: &Host, options: &str) -> Outcome {
    page.client().goto(&format!("{}host.html?page={}{options}", host.site.url, host.server.url)).await?;
    heard(page, "ready").await.map(drop)
}

/// The last message of this type that the host has heard.
pub async fn heard(page: &Page, kind: &str) -> Outcome<Value> {
    let script =
        format!("return [...document.querySelectorAll('#log [data-type={kind}]')].at(-1)?.textContent ?? ''");
    let text = page.until(&format!("the message {kind}"), &script, |text| text != "").await?;
    Ok(serde_json::from_str(text.as_str().unwrap_or_default())?)
}

/// What follows happens in the frame of this selector.
pub async fn enter(page: &Page, frame: &str) -> Outcome {
    Ok(page.client().find(Locator::Css(frame)).await?.enter_frame().await?)
}

/// What follows happens in the page around.
pub async fn leave(page: &Page) -> Outcome {
    Ok(page.client().clone().enter_parent_frame().await?)
}

/// Chooses in a select of the host.
async fn choose(page: &Page, select: &str, value: &str) -> Outcome {
    let script = format!(
        "const s = document.querySelector('{select}'); s.value = '{value}'; s.dispatchEvent(new Event('change'))"
    );
    page.run(&script).await.map(drop)
}

/// Gives the host a file to hand over.
async fn hand_over(page: &Page, file: &Path) -> Outcome {
    let path = file.canonicalize()?;
    Ok(page.client().find(Locator::Css("#file")).await?.send_keys(&path.to_string_lossy()).await?)
}

/// Lets the user admit the host, and checks that the frame has what was handed over.
async fn admit(page: &Page, file: &Path) -> Outcome {
    hand_over(page, file).await?;
    enter(page, "#pathlight").await?;
    page.visible("[data-test='host-ask']").await?;
    same(
        "traces before the user admits them",
        page.run("return document.documentElement.dataset.state").await?,
        Value::from("empty"),
    )?;
    page.click("[data-test='host-allow']").await?;
    page.ready().await?;
    same("traces, spans, services, endpoints", summary(page).await?, count(file)?)?;
    page.hidden("[data-test='host-ask']").await?;
    leave(page).await?;
    let loaded = heard(page, "loaded").await?;
    let [traces, spans, ..] = count(file)?;
    same(
        "loaded",
        (loaded["traces"].as_u64(), loaded["spans"].as_u64()),
        (Some(traces as u64), Some(spans as u64)),
    )
}

/// Opens a trace in the frame and selects a span; returns both as the host hears of them.
pub async fn select(page: &Page) -> Outcome<(String, String)> {
    choose(page, "#view", "requests").await?;
    enter(page, "#pathlight").await?;
    page.ready().await?;
    let trace = page.attributes("[data-test='request']", "data-trace").await?;
    let trace = trace.into_iter().next().ok_or_else(|| Failure("no request is listed".to_owned()))?;
    page.click("[data-test='request']").await?;
    page.ready().await?;
    page.run(SPANS_AS_TABLE).await?;
    page.click("[data-test='span']").await?;
    leave(page).await?;
    let script = "return [...document.querySelectorAll('#log [data-type=select]')].map((line) => JSON.parse(line.textContent)).filter((m) => m.spanID).at(-1) ?? null";
    let selected = page.until("the selected span", script, |found| !found.is_null()).await?;
    same("selected", selected["traceID"].as_str(), Some(trace.as_str()))?;
    Ok((trace, selected["spanID"].as_str().unwrap_or_default().to_owned()))
}

pub async fn a_host_on_another_origin_hands_traces_over_and_hears_the_selection(page: &Page) -> Outcome {
    let file = generated("embed.json", "--traces 60 --spans 20 --seed 4")?;
    let host = host()?;
    open(page, &host, "").await?;
    admit(page, &file).await?;
    let (_, span) = select(page).await?;
    ensure(std::fs::read_to_string(&file)?.contains(&format!("\"{span}\"")), || {
        format!("there is no span {span}")
    })?;
    for theme in ["dark", "light"] {
        choose(page, "#theme", theme).await?;
        enter(page, "#pathlight").await?;
        page.until("the host's colours", "return document.documentElement.dataset.theme", |found| {
            found == theme
        })
        .await?;
        leave(page).await?;
    }
    // What is no trace is answered, and what was loaded stays.
    let nonsense = file.with_file_name("nonsense.json");
    std::fs::write(&nonsense, "[1, 2")?;
    hand_over(page, &nonsense).await?;
    let script = "return [...document.querySelectorAll('#log [data-type=loaded]')].at(-1).textContent";
    let loaded = page
        .until("a warning", script, |text| text.as_str().is_some_and(|text| text.contains("nonsense.json")))
        .await?;
    let loaded: Value = serde_json::from_str(loaded.as_str().unwrap_or_default())?;
    same("traces", loaded["traces"].as_u64(), Some(60))
}

pub async fn what_the_user_refuses_is_not_followed(page: &Page) -> Outcome {
    let file = generated("embed.json", "--traces 60 --spans 20 --seed 4")?;
    let host = host()?;
    open(page, &host, "").await?;
    choose(page, "#theme", "dark").await?;
    hand_over(page, &file).await?;
    enter(page, "#pathlight").await?;
    page.click("[data-test='host-refuse']").await?;
    leave(page).await?;
    same("answer", heard(page, "error").await?["code"].as_str(), Some("refused"))?;
    enter(page, "#pathlight").await?;
    same("state", page.run("return document.documentElement.dataset.state").await?, Value::from("empty"))?;
    same("theme", page.run("return document.documentElement.dataset.theme").await?, Value::from("light"))?;
    leave(page).await
}

pub async fn a_sandboxed_frame_needs_scripts_only(page: &Page) -> Outcome {
    let file = generated("embed.json", "--traces 60 --spans 20 --seed 4")?;
    let host = host()?;
    open(page, &host, "&sandbox").await?;
    enter(page, "#pathlight").await?;
    same("origin", page.run("return self.origin").await?, Value::from("null"))?;
    leave(page).await?;
    admit(page, &file).await?;
    select(page).await.map(drop)
}

pub async fn an_admitted_origin_is_not_asked_about_again_and_a_narrow_frame_is_whole(page: &Page) -> Outcome {
    let file = generated("embed.json", "--traces 60 --spans 20 --seed 4")?;
    let host = host()?;
    // Whoever names himself in the address is asked about all the same, once.
    open(page, &host, "&allow").await?;
    admit(page, &file).await?;
    open(page, &host, "&again").await?;
    page.run("Object.assign(document.querySelector('#pathlight').style, { flex: 'none', width: '600px' })")
        .await?;
    hand_over(page, &file).await?;
    heard(page, "loaded").await?;
    for view in ["findings", "flame", "requests", "trace"] {
        choose(page, "#view", view).await?;
        enter(page, "#pathlight").await?;
        page.until("the view", "return document.documentElement.dataset.view", |found| found == view).await?;
        page.ready().await?;
        page.hidden("header").await?;
        let wide = page.run("return document.documentElement.scrollWidth - 600").await?;
        ensure(wide.as_i64().is_some_and(|over| over <= 0), || {
            format!("{view} is {wide} px wider than its frame")
        })?;
        leave(page).await?;
        page.picture(&format!("embedded-{view}")).await?;
    }
    Ok(())
}
