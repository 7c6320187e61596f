//! The page before anything is loaded.

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use serde_json::{Value, json};

pub async fn the_page_comes_up_empty(page: &Page) -> Outcome {
    page.open("").await?;
    page.state("empty").await?;
    page.picture("start").await
}

pub async fn the_start_page_is_seen_before_the_program_has_come(page: &Page) -> Outcome {
    page.open("").await?;
    // The program is held back: whoever asked for it is not answered.
    page.devtools("Fetch.enable", json!({ "patterns": [{ "urlPattern": "*.wasm" }] })).await?;
    page.client().refresh().await?;
    page.visible("main.start.first h1").await?;
    page.visible("header.top.first").await?;
    page.hidden(".boot").await?;
    same("state", page.run("return document.documentElement.dataset.state ?? null").await?, Value::Null)?;
    page.picture("start-first").await?;
    page.devtools("Fetch.disable", json!({})).await?;
    page.state("empty").await?;
    let left =
        "return [document.documentElement.dataset.first ?? null, document.querySelectorAll('.first').length]";
    same("what is left of it", page.run(left).await?, json!([null, 0]))
}

pub async fn a_program_that_does_not_come_is_told_in_place_of_the_start_page(page: &Page) -> Outcome {
    page.open("").await?;
    page.devtools("Network.enable", json!({})).await?;
    page.devtools("Network.setBlockedURLs", json!({ "urls": ["*.wasm"] })).await?;
    page.client().refresh().await?;
    page.state("failed").await?;
    let said = page.text(".boot").await?;
    page.visible(".boot").await?;
    page.hidden("main.start").await?;
    page.devtools("Network.setBlockedURLs", json!({ "urls": [] })).await?;
    let complaints = page.complaints().await?;
    ensure(complaints.iter().any(|complaint| complaint.contains("Failed to fetch")), || {
        format!("{complaints:?}")
    })?;
    ensure(said.starts_with("Pathlight could not start: "), || format!("it says {said:?}"))
}
