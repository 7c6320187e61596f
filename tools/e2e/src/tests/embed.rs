//! The page in a frame of another one, as `docs/embedding.md` has it.

use std::path::Path;

use axum::Router;
use e2e::browser::{Look, Page};
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::process::{Server, dist};
use e2e::site::Site;
use fantoccini::Locator;
use fantoccini::wd::WindowHandle;
use serde_json::{Value, json};
use tower_http::services::ServeDir;

use super::drop::{SPANS_AS_TABLE, count, generated, shop, summary};

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

/// Returns the last message of this type that the host has heard.
pub async fn heard(page: &Page, kind: &str) -> Outcome<Value> {
    let script =
        format!("return [...document.querySelectorAll('#log [data-type={kind}]')].at(-1)?.textContent ?? ''");
    let text = page.until(&format!("the message {kind}"), &script, |text| text != "").await?;
    Ok(serde_json::from_str(text.as_str().unwrap_or_default())?)
}

/// Enters the frame of this selector, where what follows happens.
pub async fn enter(page: &Page, frame: &str) -> Outcome {
    Ok(page.client().find(Locator::Css(frame)).await?.enter_frame().await?)
}

/// Leaves the frame: what follows happens in the page around.
pub async fn leave(page: &Page) -> Outcome {
    Ok(page.client().clone().enter_parent_frame().await?)
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
    page.choose("#view", "requests").await?;
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
        page.choose("#theme", theme).await?;
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
    let error = heard(page, "error").await?;
    same("code", error["code"].as_str(), Some("no-traces"))?;
    ensure(error["message"].as_str().is_some_and(|words| words.contains("nonsense.json")), || {
        error.to_string()
    })?;
    enter(page, "#pathlight").await?;
    same("traces", summary(page).await?[0], 60)?;
    leave(page).await
}

pub async fn every_message_with_traces_has_its_answer(page: &Page) -> Outcome {
    let file = generated("embed.json", "--traces 60 --spans 20 --seed 4")?;
    let host = host()?;
    open(page, &host, "&allow").await?;
    admit(page, &file).await?;
    // Five at once, one of which is garbage, and what is to be shown in the end.
    let traces: Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let script = "const [traces] = arguments; const log = document.querySelector('#log'); log.replaceChildren(); \
                  const frame = document.querySelector('#pathlight').contentWindow; \
                  const send = (message) => frame.postMessage({ pathlight: 1, ...message }, '*'); \
                  for (let at = 0; at < 5; at++) send({ type: 'traces', title: `part ${at}`, replace: at === 0, \
                  data: at === 3 ? '[1, 2' : JSON.stringify({ data: traces.slice(10 * at, 10 * at + 10) }) }); \
                  send({ type: 'view', view: 'requests' })";
    page.client().execute(script, vec![traces["data"].clone()]).await?;
    let answers = "return [...document.querySelectorAll('#log li')].map((line) => JSON.parse(line.textContent)) \
                   .filter(({ type }) => type === 'loaded' || type === 'error').map(({ traces, code }) => traces ?? code)";
    let all = json!([10, 20, 30, "no-traces", 40]);
    let heard =
        page.until("five answers", answers, |found| found.as_array().is_some_and(|of| of.len() >= 5)).await?;
    same("answers", heard, all)?;
    enter(page, "#pathlight").await?;
    page.until("the view", "return document.documentElement.dataset.view", |view| view == "requests").await?;
    leave(page).await
}

pub async fn what_the_user_refuses_is_not_followed(page: &Page) -> Outcome {
    let file = generated("embed.json", "--traces 60 --spans 20 --seed 4")?;
    let host = host()?;
    open(page, &host, "").await?;
    page.choose("#theme", "dark").await?;
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
    select(page).await?;
    same("complaints", page.complaints().await?, Vec::<String>::new())
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
        page.choose("#view", view).await?;
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

/// Messages of every shape.
const SHAPES: &str = include_str!("../../pages/shapes.js");

/// Where the Pathlight of a host is, as its script calls it, and the way to it and back.
enum Place {
    Frame,
    /// The window of the host, and the one that it has opened.
    Windows(WindowHandle, WindowHandle),
}

impl Place {
    fn name(&self) -> &'static str {
        match self {
            Place::Frame => "frame",
            Place::Windows(..) => "opened",
        }
    }

    async fn enter(&self, page: &Page) -> Outcome {
        match self {
            Place::Frame => enter(page, "#pathlight").await,
            Place::Windows(_, opened) => Ok(page.client().switch_to_window(opened.clone()).await?),
        }
    }

    async fn leave(&self, page: &Page) -> Outcome {
        match self {
            Place::Frame => leave(page).await,
            Place::Windows(own, _) => Ok(page.client().switch_to_window(own.clone()).await?),
        }
    }

    /// Sends the messages of [`SHAPES`] that have this name, and compares what is answered to each.
    async fn send(&self, page: &Page, which: &str) -> Outcome {
        let wrong = page.client().execute_async(SHAPES, vec![json!(self.name()), json!(which)]).await?;
        same(&format!("unexpected answers to {which}"), wrong, json!([]))
    }
}

/// Returns what a message might change: what is loaded, view, colours, and whether requests are listed.
async fn shown(page: &Page) -> Outcome<Value> {
    let script = "const { state, view, theme } = document.documentElement.dataset; \
                  return [state, view, theme, document.querySelectorAll(\"[data-test='request']\").length > 5]";
    Ok(json!([summary(page).await?, page.run(script).await?]))
}

/// Sends messages of every shape to a page that has traces, from an origin that the user has not admitted and then from the
/// same once admitted.
async fn take_every_shape(page: &Page, place: &Place) -> Outcome {
    place.enter(page).await?;
    page.look(Look::DESKTOP).await?;
    page.state("empty").await?;
    let traces = shop()?;
    let input = page.client().find(Locator::Css("[data-test='file-input']")).await?;
    input.send_keys(&traces.canonicalize()?.to_string_lossy()).await?;
    page.ready().await?;
    page.go("view=requests&embed=1").await?;
    page.ready().await?;
    let before = shown(page).await?;
    same("requests are listed", &before[1][3], &json!(true))?;
    place.leave(page).await?;

    place.send(page, "shapes").await?;
    place.enter(page).await?;
    page.hidden("[data-test='host-ask']").await?;
    same("what is shown", shown(page).await?, before.clone())?;
    place.leave(page).await?;
    // What says something is asked about, and nothing is followed before.
    place.send(page, "wanted").await?;
    place.enter(page).await?;
    page.visible("[data-test='host-ask']").await?;
    same("what is shown while the user is asked", shown(page).await?, before.clone())?;
    page.click("[data-test='host-allow']").await?;
    let now = "const { view, theme } = document.documentElement.dataset; return `${view} ${theme}`";
    page.until("what was asked about", now, |now| now == "endpoints dark").await?;
    page.ready().await?;
    let admitted = shown(page).await?;
    place.leave(page).await?;

    for which in ["shapes", "data", "unreadable"] {
        place.send(page, which).await?;
        place.enter(page).await?;
        page.ready().await?;
        same(&format!("what is shown after {which}"), shown(page).await?, admitted.clone())?;
        place.leave(page).await?;
    }
    place.enter(page).await?;
    // What could not be read is said, and the page goes on.
    page.visible("[data-test='message']").await?;
    page.go("view=requests&embed=1&theme=light").await?;
    page.ready().await?;
    same("what is shown in the end", shown(page).await?, before)?;
    page.click("[data-test='request']").await?;
    page.ready().await?;
    let complaints = page.complaints().await?;
    ensure(complaints.is_empty(), || format!("the console says {complaints:?}"))?;
    place.leave(page).await
}

pub async fn messages_of_every_shape_change_nothing_and_end_nothing(page: &Page) -> Outcome {
    let host = host()?;
    open(page, &host, "").await?;
    take_every_shape(page, &Place::Frame).await?;
    // The same from the page that has opened it. It is another origin, which nobody has admitted.
    let other = Site::start(Router::new().fallback_service(ServeDir::new(dist().join("examples"))))?;
    page.client().goto(&format!("{}host.html?page=about:blank", other.url)).await?;
    let own = page.client().window().await?;
    page.run(&format!(
        "window.opened = window.open({}, '', 'popup,width=1280,height=800')",
        json!(host.server.url)
    ))
    .await?;
    let opened = page.client().windows().await?.into_iter().find(|window| *window != own);
    let opened = opened.ok_or_else(|| Failure("no window was opened".to_owned()))?;
    let place = Place::Windows(own, opened);
    take_every_shape(page, &place).await?;
    place.enter(page).await?;
    page.client().close_window().await?;
    place.leave(page).await
}
