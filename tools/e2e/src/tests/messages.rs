//! Messages: queues, requests until everything is done, several traces on one axis, traces that others link to.

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::jaeger::{Jaeger, Ways};
use e2e::process::{Server, dist};
use serde_json::Value;
use std::path::PathBuf;

use super::drop::{generated, native, summary};
use super::flow::{near, slide};
use super::jaeger::phase;
use super::views::frames_agree;

fn messages() -> Outcome<PathBuf> {
    generated("messages.json", "--spans 20 --traces 60 --defects messages")
}

pub async fn a_queue_leads_to_its_longest_message_on_one_axis(page: &Page) -> Outcome {
    let file = generated("messages.json", "--spans 20 --traces 60 --defects messages")?;
    let report = native(&["queues", "--json"], &[&file])?;
    page.open("view=endpoints").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.click("[data-test='queues-link']").await?;
    page.visible("[data-test='queues-panel'] [data-test='queue-edge']").await?;
    page.ready().await?;
    let edges = report["edges"].as_array().cloned().unwrap_or_default();
    let said: Vec<&str> = edges.iter().filter_map(|edge| edge["destination"].as_str()).collect();
    let shown = page.attributes("[data-test='queue-edge']", "data-name").await?;
    ensure(said.len() >= 3, || format!("only {said:?} have messages"))?;
    same("queues, by their time", shown.iter().map(String::as_str).collect::<Vec<_>>(), said)?;
    let drawn = page.number("[data-test='queues']", "data-edges").await?;
    same("edges of the chart", drawn as usize, edges.len())?;
    page.picture("queues").await?;

    page.click("[data-test='queue-edge'][data-name='orders']").await?;
    let script = "return document.querySelector('[data-test=\"queue-longest-words\"]').textContent";
    page.until("the longest message of orders", script, |words| {
        words.as_str().is_some_and(|words| words.contains("orders handle"))
    })
    .await?;
    page.click("[data-test='queue-longest']").await?;
    page.visible("[data-test='linked-words']").await?;
    page.ready().await?;
    let words = page.text("[data-test='linked-words']").await?;
    ensure(words.contains("traces on one axis"), || format!("the axis is said to have {words:?}"))?;
    // The span that sent has the focus, and leads to the one that received.
    let script = "return [...document.querySelectorAll('[data-test=\"sent-to\"] [data-test=\"message\"]')] \
                  .findIndex((row) => row.textContent.includes('orders handle'))";
    page.until("the receiver", script, |at| at.as_i64().is_some_and(|at| at >= 0)).await?;
    page.picture("linked-traces").await?;
    page.click("[data-test='sent-to'] [data-test='message']").await?;
    page.visible("[data-test='sent-by']").await?;
    let heading = page.text("[data-test='detail'] h2").await?;
    ensure(heading.contains("orders handle"), || format!("the message leads to {heading:?}"))?;
    // Alone again, its spans are fewer.
    let spans = page.number("[data-test='timeline']", "data-spans").await?;
    page.click("[data-test='linked-traces']").await?;
    page.hidden("[data-test='linked-words']").await?;
    page.ready().await?;
    let alone = page.number("[data-test='timeline']", "data-spans").await?;
    ensure(alone > 0.0 && alone < spans, || format!("{alone} spans alone, {spans} with linked traces"))
}

/// Chooses when requests end, in the menu of ranges.
async fn choose_end(page: &Page, end: &str) -> Outcome {
    page.click("[data-test='range-menu']").await?;
    page.click(&format!("[data-test='until-{end}']")).await?;
    page.ready().await
}

/// Checks that what stands over a view says until when requests go.
async fn says_done(page: &Page, view: &str) -> Outcome {
    // Beside the number of requests, in the bar.
    let script = "return document.querySelector('[title*=\"until everything is done\"]') !== null";
    let what = format!("that {view} is about requests until everything is done");
    page.until(&what, script, |is_said| is_said == true).await?;
    Ok(())
}

pub async fn until_done_is_chosen_and_every_view_follows(page: &Page) -> Outcome {
    let file = messages()?;
    page.open("view=findings").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    // The sentence where answer and end differ.
    let script = "return document.querySelector('[data-test=\"findings\"]').innerText";
    page.until("that work goes on after answers", script, |text| {
        text.as_str().is_some_and(|text| text.contains("The answer of") && text.contains("comes after"))
    })
    .await?;
    page.picture("findings-work-after").await?;
    page.go("view=flame").await?;
    page.ready().await?;
    choose_end(page, "done").await?;
    let hash = page.run("return location.hash").await?;
    ensure(hash.as_str().is_some_and(|hash| hash.contains("until=done")), || format!("{hash} has no end"))?;
    let said = native(&["critical-path", "--json", "--until", "done"], &[&file])?;
    frames_agree(page, &said).await?;
    let frames = page.attributes("[data-test='frame']", "data-operation").await?;
    ensure(
        frames.iter().any(|name| name.contains("events publish") && name.contains("events handle")),
        || format!("no queue among {frames:?}"),
    )?;
    says_done(page, "the flame graph").await?;
    page.picture("flame-until-done").await?;
    for view in ["findings", "heatmap", "endpoints", "requests"] {
        page.go(&format!("view={view}&until=done")).await?;
        page.ready().await?;
        says_done(page, view).await?;
        page.picture(&format!("{view}-until-done")).await?;
    }
    page.go("view=compare&range=P90-100&until=done").await?;
    page.ready().await?;
    says_done(page, "compare").await?;
    page.picture("compare-until-done").await?;
    // Back in one click.
    choose_end(page, "answer").await?;
    let hash = page.run("return location.hash").await?;
    ensure(hash.as_str().is_some_and(|hash| !hash.contains("until=")), || format!("{hash} still has an end"))
}

pub async fn a_queue_half_as_long_changes_requests_until_done(page: &Page) -> Outcome {
    let file = messages()?;
    page.open("view=flow&panel=whatif").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let option = "return [...document.querySelectorAll('[data-test=\"whatif-subject\"] option')] \
                  .find((option) => option.textContent.includes('essages in orders'))?.value ?? null";
    let value = page.until("the queue among what can be changed", option, |value| value.is_string()).await?;
    let choose = format!(
        "const list = document.querySelector('[data-test=\"whatif-subject\"]'); list.value = {value}; \
         list.dispatchEvent(new Event('change', {{ bubbles: true }}));"
    );
    page.run(&choose).await?;
    page.visible("[data-test='whatif-slider']").await?;
    slide(page, -50).await?;
    // No answer waits for it.
    page.visible("[data-test='whatif-note']").await?;
    page.ready().await?;
    let before = page.number("[data-test='before-p50']", "data-value").await?;
    same("p50 of answers", page.number("[data-test='after-p50']", "data-value").await?, before)?;
    page.picture("whatif-queue-answer").await?;
    page.click("[data-test='whatif-until-done']").await?;
    page.hidden("[data-test='whatif-note']").await?;
    page.ready().await?;
    let said = ["flow", "--json", "--until", "done", "--what-if", "queue:orders=-50%"];
    let said = native(&said, &[&file])?;
    for name in ["p50", "p95", "p99"] {
        for side in ["before", "after"] {
            let shown = page.number(&format!("[data-test='{side}-{name}']"), "data-value").await?;
            near(&format!("{side} {name}"), shown, said[side][name].as_f64())?;
        }
    }
    ensure(said["changed"].as_u64().is_some_and(|changed| changed > 10), || format!("{}", said["changed"]))?;
    page.picture("whatif-queue").await?;
    page.click("[data-test='whatif-remove']").await?;
    page.hidden("[data-test='whatif-change']").await
}

pub async fn linked_traces_are_fetched_with_a_click(page: &Page) -> Outcome {
    let document: Value = serde_json::from_slice(&std::fs::read(messages()?)?)?;
    let traces = document["data"].as_array().cloned().unwrap_or_default();
    let links_out = |trace: &Value| {
        let id = &trace["traceID"];
        let spans = trace["spans"].as_array().into_iter().flatten();
        let references = spans.flat_map(|span| span["references"].as_array().into_iter().flatten());
        references.filter(|reference| reference["traceID"] != *id).count()
    };
    let most = traces.iter().max_by_key(|trace| links_out(trace)).cloned().unwrap_or_default();
    let id = most["traceID"].as_str().unwrap_or_default().to_owned();
    let jaeger = Jaeger::start(&document, Ways { v1: true, ..Ways::default() })?;
    let server = Server::start_with(&dist(), &["--jaeger", &jaeger.url])?;
    page.open(&format!("{}#view=trace&api=/jaeger&traceID={id}", server.url)).await?;
    phase(page, "ended").await?;
    page.ready().await?;
    let message = "[data-test='fetch-message']";
    same("traces", page.text(message).await?, "1 trace fetched.".to_owned())?;
    page.visible("[data-test='linked-missing']").await?;
    page.picture("fetch-linked").await?;
    page.click("[data-test='fetch-linked']").await?;
    phase(page, "ended").await?;
    let script = "return document.querySelector('[data-test=\"fetch-message\"]')?.textContent ?? ''";
    page.until("what came", script, |text| text.as_str().is_some_and(|text| text != "1 trace fetched."))
        .await?;
    page.ready().await?;
    page.go("view=trace&linked=1").await?;
    page.ready().await?;
    page.picture("fetched-linked").await?;
    page.go("view=findings").await?;
    page.ready().await?;
    let traces = summary(page).await?[0];
    ensure(traces >= 2, || format!("{traces} traces after those were fetched that one links to"))?;
    // What was written to nowhere is said to be missing, and the page is whole.
    page.complaints().await.map(drop)
}
