//! The page follows: new traces join what is loaded, from `pathlight listen` and from a search at Jaeger.

use std::io::Write as _;

use e2e::browser::{Page, plain};
use e2e::failure::{Outcome, ensure, same};
use e2e::process::{Listening, Server, copy_page, scratch};

use super::drop::summary;
use super::jaeger::{Stage, old, phase};

/// Returns a document of OTLP with one span, without line breaks.
fn line(trace: u32, span: u32, parent: Option<u32>) -> String {
    let parent = parent.map_or(String::new(), |parent| format!("\"parentSpanId\":\"{parent:016x}\","));
    let start = 1_700_000_000_000_000_000_u64 + u64::from(trace) * 1_000_000_000 + u64::from(span) * 1000;
    format!(
        "{{\"resourceSpans\":[{{\"resource\":{{\"attributes\":[{{\"key\":\"service.name\",\"value\":{{\"stringValue\":\"shop\"}}}}]}},\
         \"scopeSpans\":[{{\"spans\":[{{\"traceId\":\"{trace:032x}\",\"spanId\":\"{span:016x}\",{parent}\"name\":\"span {span}\",\
         \"kind\":2,\"startTimeUnixNano\":\"{start}\",\"endTimeUnixNano\":\"{}\"}}]}}]}}]}}",
        start + 5_000_000
    )
}

/// Sends one span as a program would.
async fn send(page: &Page, trace: u32, span: u32, parent: Option<u32>) -> Outcome {
    let body = line(trace, span, parent);
    let script = format!(
        "return fetch('/v1/traces', {{ method: 'POST', headers: {{ 'Content-Type': 'application/json' }}, body: {body:?} }})\
         .then((answer) => answer.status)"
    );
    same("status of an export", page.run(&script).await?.as_u64(), Some(200))
}

/// Waits until so many traces and spans are shown.
async fn shows(page: &Page, traces: usize, spans: usize) -> Outcome {
    // What every view has: the line at the bottom.
    let wanted = format!("{spans} {} in {traces} {}", noun(spans, "span"), noun(traces, "trace"));
    let script = "return document.body.innerText";
    let is_said =
        |found: &serde_json::Value| found.as_str().is_some_and(|text| plain(text).contains(&wanted));
    page.until(&wanted, script, is_said).await?;
    page.ready().await
}

fn noun(count: usize, one: &str) -> String {
    if count == 1 { one.to_owned() } else { format!("{one}s") }
}

async fn looks(page: &Page) -> Outcome<f64> {
    page.number("[data-test='fetch']", "data-looks").await
}

async fn looked_again(page: &Page) -> Outcome {
    let before = looks(page).await?;
    let script = "return Number(document.querySelector(\"[data-test='fetch']\").dataset.looks)";
    let later = |found: &serde_json::Value| found.as_f64().is_some_and(|found| found >= before + 2.0);
    page.until("two more looks", script, later).await.map(drop)
}

pub async fn spans_that_a_program_sends_join_and_the_view_stays(page: &Page) -> Outcome {
    let folder = scratch()?.join("listened");
    let _ = std::fs::remove_dir_all(&folder);
    let listening = Listening::start(&folder)?;
    page.open(&listening.page).await?;
    page.state("empty").await?;
    ensure(page.text("[data-test='follow-words']").await?.contains("Following"), || {
        "no word of it".to_owned()
    })?;
    looked_again(page).await?;
    send(page, 1, 1, None).await?;
    shows(page, 1, 1).await?;
    page.click("[data-test='view-requests']").await?;
    page.ready().await?;
    let hash = page.run("return location.hash").await?;
    // The rest of a trace may come later than its beginning.
    send(page, 1, 2, Some(1)).await?;
    send(page, 2, 1, None).await?;
    shows(page, 2, 3).await?;
    same("what is shown", page.run("return location.hash").await?, hash)?;
    page.picture("following").await?;
    page.click("[data-test='follow-pause']").await?;
    ensure(page.text("[data-test='follow-words']").await?.contains("Paused"), || "not paused".to_owned())?;
    send(page, 3, 1, None).await?;
    tokio::time::sleep(std::time::Duration::from_millis(2500)).await;
    // No more than before.
    shows(page, 2, 3).await?;
    page.click("[data-test='follow-pause']").await?;
    shows(page, 3, 4).await?;
    // Another page finds everything.
    page.open(&listening.page).await?;
    shows(page, 3, 4).await?;
    page.leave().await
}

pub async fn a_file_is_followed_line_by_line_and_another_one_in_its_place_from_its_beginning(
    page: &Page,
) -> Outcome {
    let folder = scratch()?.join("growing");
    copy_page(&folder)?;
    let file = folder.join("growing.ndjson");
    let (first, second) = (line(1, 1, None), line(2, 1, None));
    let half = second.len() / 2;
    std::fs::write(&file, format!("{first}\n{}", &second[..half]))?;
    let server = Server::start(&folder)?;
    page.open(&format!("{}#src=growing.ndjson&every=1s", server.url)).await?;
    shows(page, 1, 1).await?;
    // Its writer pauses in the middle of a line, for longer than two looks.
    looked_again(page).await?;
    looked_again(page).await?;
    shows(page, 1, 1).await?;
    page.hidden("[data-test='message']").await?;
    let mut written = std::fs::OpenOptions::new().append(true).open(&file)?;
    writeln!(written, "{}", &second[half..])?;
    shows(page, 2, 2).await?;
    same("said", page.text("[data-test='follow-trouble']").await?, String::new())?;
    let other: String = (3..8).map(|trace| line(trace, 1, None) + "\n").collect();
    std::fs::write(&file, other)?;
    shows(page, 7, 7).await?;
    let said = page.text("[data-test='follow-trouble']").await?;
    ensure(said.contains("Another file has come in the place of growing.ndjson"), || said.clone())?;
    page.leave().await
}

pub async fn a_search_at_jaeger_goes_on_where_it_ended(page: &Page) -> Outcome {
    let stage = Stage::new(40, old())?;
    let server = stage.proxy()?;
    let (from, to) = stage.range;
    let search = format!("api=/jaeger&service={}&start={from}", stage.service);
    // Half of the traces are younger than the end of the search.
    let half = from + (to - from) / 2;
    page.open(&format!("{}#{search}&end={half}&limit=400&every=1s", server.url)).await?;
    phase(page, "ended").await?;
    shows_traces(page, stage.matching(false)).await?;
    looked_again(page).await?;
    same("traces", summary(page).await?[0], stage.matching(false))?;
    ensure(page.text("[data-test='follow-words']").await?.contains("every 1"), || {
        "no word of it".to_owned()
    })?;
    // A search that is there may be followed with a click.
    page.open(&format!("{}#{search}&end={to}&limit=400", server.url)).await?;
    phase(page, "ended").await?;
    page.ready().await?;
    page.click("[data-test='follow-search']").await?;
    page.visible("[data-test='follow-pause']").await?;
    let hash = page.run("return location.hash").await?;
    ensure(hash.as_str().is_some_and(|hash| hash.contains("every=30s")), || format!("{hash}"))?;
    page.leave().await
}

async fn shows_traces(page: &Page, traces: usize) -> Outcome {
    let script = "return document.querySelector(`[data-test='traces']`)?.dataset.value ?? ''";
    page.until(&format!("{traces} traces"), script, |found| found.as_str() == Some(&traces.to_string()))
        .await?;
    page.ready().await
}
