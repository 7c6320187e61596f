//! Real traces, where they lie beside the checkout (`../shared/data`); without them these tests
//! are counted as ignored.

use std::path::PathBuf;

use e2e::browser::Page;
use e2e::failure::Outcome;
use e2e::process::root;

use super::drop::{findings_agree, native};

async fn shows_the_numbers_of_the_binary(page: &Page, set: &str) -> Outcome {
    let folder: PathBuf = root().join("../shared/data").join(set);
    if !folder.is_dir() {
        return page.skip(format!("there is no ../shared/data/{set}"));
    }
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&folder)).await?;
    page.ready().await?;
    findings_agree(page, &native(&["critical-path", "--json"], &[&folder])?).await
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
