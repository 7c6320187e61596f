//! The page before anything is loaded.

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::process::single;
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

/// Their bytes at most: none is to be waited for.
const MOST_BYTES: u64 = 8192;

/// Width of a picture, and what it is called in words.
const SHOWN: &str = "const images = [...document.querySelectorAll('.start-views img')]; \
    return images.every((image) => image.complete) ? images.map((image) => [image.naturalWidth, image.alt]) : null";

/// Their files are pictures of the demo, made with `cargo run -p e2e -- shot ... www/pictures/NAME.webp`.
pub async fn four_views_are_shown_in_small_pictures(page: &Page) -> Outcome {
    for address in [String::new(), single()?] {
        page.open(&address).await?;
        page.state("empty").await?;
        let shown = page.until("pictures", SHOWN, Value::is_array).await?;
        let shown: Vec<(u64, String)> = serde_json::from_value(shown)?;
        same("pictures", shown.len(), 4)?;
        ensure(shown.iter().all(|(width, words)| *width > 0 && !words.is_empty()), || format!("{shown:?}"))?;
    }
    page.open("").await?;
    let sizes = "return Promise.all([...document.querySelectorAll('.start-views img')].map((image) => \
                 fetch(image.src).then((file) => file.blob()).then((blob) => blob.size)))";
    let sizes: Vec<u64> = serde_json::from_value(page.run(sizes).await?)?;
    ensure(sizes.iter().all(|bytes| *bytes <= MOST_BYTES), || format!("bytes of the pictures: {sizes:?}"))
}

/// The module that the workers run.
const WORKER: &str = "*worker-*.wasm";

pub async fn the_start_page_does_not_wait_for_the_module_of_the_workers(page: &Page) -> Outcome {
    page.open("").await?;
    page.devtools("Fetch.enable", json!({ "patterns": [{ "urlPattern": WORKER }] })).await?;
    page.client().refresh().await?;
    page.state("empty").await?;
    // What is asked of workers meanwhile waits for them.
    page.click("[data-test='demo']").await?;
    page.devtools("Fetch.disable", json!({})).await?;
    page.ready().await?;
    page.visible("[data-test='finding']").await
}

pub async fn that_the_module_of_the_workers_does_not_come_is_reported(page: &Page) -> Outcome {
    page.open("").await?;
    page.devtools("Network.enable", json!({})).await?;
    page.devtools("Network.setBlockedURLs", json!({ "urls": [WORKER] })).await?;
    page.client().refresh().await?;
    page.visible("[data-test='message']").await?;
    let said = page.text("[data-test='message']").await?;
    ensure(said.contains("could not start a worker") && said.contains("Reload"), || {
        format!("it says {said:?}")
    })?;
    page.devtools("Network.setBlockedURLs", json!({ "urls": [] })).await?;
    page.complaints().await?;
    page.client().refresh().await?;
    page.state("empty").await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    page.visible("[data-test='finding']").await
}

pub async fn a_program_that_does_not_come_is_reported_in_place_of_the_start_page(page: &Page) -> Outcome {
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
