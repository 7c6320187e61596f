//! Real traces, from the folder that `PATHLIGHT_DATA` names or from beside the checkout (`../shared/data`); without them
//! these tests are counted as ignored.

use std::path::PathBuf;

use e2e::browser::{Look, Page};
use e2e::failure::Outcome;
use e2e::process::root;

use super::drop::{findings_agree, native};

pub fn data(set: &str) -> PathBuf {
    let folder = std::env::var_os("PATHLIGHT_DATA").map(PathBuf::from);
    folder.unwrap_or_else(|| root().join("../shared/data")).join(set)
}

async fn shows_the_numbers_of_the_binary(page: &Page, set: &str) -> Outcome {
    let folder = data(set);
    if !folder.is_dir() {
        return page.skip(format!("there is no {set} among real traces"));
    }
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&folder)).await?;
    page.ready().await?;
    // Some of these sets were sampled, and say how: by weight, and counted as they are.
    findings_agree(page, &native(&["critical-path", "--json"], &[&folder])?).await?;
    page.go("view=findings&weights=off").await?;
    page.ready().await?;
    findings_agree(page, &native(&["critical-path", "--json", "--unweighted"], &[&folder])?).await
}

pub async fn hotel(page: &Page) -> Outcome {
    shows_the_numbers_of_the_binary(page, "traceweaver-hotel").await
}

pub async fn media(page: &Page) -> Outcome {
    shows_the_numbers_of_the_binary(page, "traceweaver-media").await
}

pub async fn social_network(page: &Page) -> Outcome {
    shows_the_numbers_of_the_binary(page, "dsb-socialnetwork").await
}

/// Sets that are read otherwise as real traces than plainly: the name of their pictures, where they lie, and the view that
/// shows it best.
const READINGS: [(&str, &str, &str); 4] = [
    ("onlineboutique", "onlineboutique-nezha-2022-08-22/cases/case-00/normal.json.gz", "view=findings"),
    ("dsb", "dsb-media-latenseer", "view=findings"),
    ("zipkin1-trainticket", "zipkin1-trainticket", "view=flame"),
    ("otlp", "otlp-vikrant-tempo", "view=flame"),
];

/// What rules for real traces change, before and after: for `docs/definitions/real-traces.md`.
pub async fn readings(page: &Page) -> Outcome {
    let (here, missing): (Vec<_>, Vec<_>) = READINGS.iter().partition(|(_, set, _)| data(set).exists());
    for (name, set, view) in here {
        page.open("").await?;
        page.drop_files(&[data(set)]).await?;
        page.ready().await?;
        page.look(Look::DESKTOP).await?;
        page.go(view).await?;
        page.ready().await?;
        for reading in ["plain", "real"] {
            const TEXT: &str = "return document.querySelector('main:not(.start)').innerText";
            let before = page.run(TEXT).await?;
            page.go(&format!("{view}&reading={reading}")).await?;
            page.until(&format!("{name} to say something else, read as {reading}"), TEXT, |now| {
                *now != before
            })
            .await?;
            page.ready().await?;
            page.picture_of(&format!("reading-{name}-{reading}")).await?;
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let missing: Vec<&str> = missing.iter().map(|(_, set, _)| *set).collect();
    page.skip(format!("there is no {} among real traces", missing.join(", nor ")))
}
