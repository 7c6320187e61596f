//! The page before anything is loaded.

use e2e::browser::{Modifiers, Page};
use e2e::failure::{Outcome, ensure, same};
use e2e::process::single;
use serde_json::{Value, json};

use super::drop::shop;

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

/// The part of the program that follows the start page.
const REST: &str = "*.rest-*.wasm";

pub async fn the_first_view_waits_for_the_first_part_of_the_program_only(page: &Page) -> Outcome {
    page.open("").await?;
    page.devtools("Fetch.enable", json!({ "patterns": [{ "urlPattern": REST }] })).await?;
    page.client().refresh().await?;
    page.state("empty").await?;
    page.click("[data-test='demo']").await?;
    // The first findings; those that come later need the rest.
    page.visible("[data-test='finding']").await?;
    page.open("").await?;
    page.state("empty").await?;
    page.drop_files(&[shop()?]).await?;
    page.visible("[data-test='finding']").await?;
    page.devtools("Fetch.disable", json!({})).await?;
    page.go("view=anomalies").await?;
    page.ready().await?;
    page.visible("[data-test='anomaly-view']").await
}

pub async fn what_needs_the_rest_of_the_program_fetches_it_again_if_it_did_not_come(page: &Page) -> Outcome {
    page.devtools("Network.enable", json!({})).await?;
    for comes in [true, false] {
        page.open("").await?;
        page.devtools("Network.setBlockedURLs", json!({ "urls": [REST] })).await?;
        page.client().refresh().await?;
        page.state("empty").await?;
        page.click("[data-test='demo']").await?;
        page.ready().await?;
        if comes {
            page.devtools("Network.setBlockedURLs", json!({ "urls": [] })).await?;
            page.click("[data-test='view-diagnosis']").await?;
            page.ready().await?;
            page.visible("[data-test='diagnosis-view']").await?;
        } else {
            // The view cannot be built: the click itself ends in an error.
            page.run("document.querySelector(\"[data-test='view-diagnosis']\").click(); return true").await?;
            page.visible("[data-test='broken']").await?;
            let said = page.text("[data-test='broken']").await?;
            ensure(said.contains("could not be loaded") && said.contains("Reload"), || {
                format!("it says {said:?}")
            })?;
            page.complaints().await?;
            // What comes later, such as the answers of workers, finds the page at its end and is no defect of its own.
            page.run("location.hash = 'view=flame'; return true").await?;
            page.settled().await?;
            page.key("?", Modifiers::None).await?;
            page.settled().await?;
            page.drop_files(&[shop()?]).await?;
            page.settled().await?;
            same(
                "dialogs",
                page.run("return document.querySelectorAll('dialog[open]').length").await?,
                json!(0),
            )?;
            let complaints = page.complaints().await?;
            ensure(!complaints.iter().any(|complaint| complaint.contains("panicked")), || {
                format!("{complaints:?}")
            })?;
        }
    }
    page.devtools("Network.setBlockedURLs", json!({ "urls": [] })).await?;
    page.complaints().await.map(drop)
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
