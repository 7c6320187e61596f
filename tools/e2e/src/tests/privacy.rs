//! What stays in the browser, and what does without a network.

use e2e::browser::{KEPT, Page};
use e2e::failure::{Outcome, ensure, same};
use e2e::jaeger::Ways;
use e2e::process::dist;
use serde_json::{Value, json};

use super::access::VIEWS;
use super::drop::{shop, summary};
use super::jaeger::{Stage, fetch_with_token};
use super::tables::{catch_files, caught};

pub async fn nothing_is_stored_but_settings(page: &Page) -> Outcome {
    let token = Some("secret".to_owned());
    let stage = Stage::new(40, Ways { v3: true, token, ..Ways::default() })?;
    let server = stage.proxy()?;
    page.open(&server.url).await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    for view in VIEWS {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
    }
    fetch_with_token(page, &stage, &server).await?;
    page.open(&format!("{}#view=requests", server.url)).await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    page.click("[data-test='fold-histogram']").await?;
    page.click("[data-test='requests'] [data-test='columns']").await?;
    let columns = page.attributes("[data-test='requests'] [data-choose]", "data-choose").await?;
    let last = columns.last().map_or("", String::as_str);
    page.click(&format!("[data-test='requests'] [data-choose='{last}']")).await?;
    page.until("three settings", "return localStorage.length", |count| *count == 3).await?;
    let bases = "return indexedDB.databases().then((bases) => bases.length)";
    page.until("the data base of handles", bases, |count| *count == 1).await?;
    let kept = page.run(KEPT).await?;
    let keys = |place: &str| {
        // What the name of a table or the address of a Jaeger follows.
        let of = |key: &String| {
            let begin =
                ["pathlight-columns-", "pathlight-dialect-"].into_iter().find(|begin| key.starts_with(begin));
            begin.map_or(key.clone(), str::to_owned)
        };
        let mut keys: Vec<String> =
            kept[place].as_object().into_iter().flatten().map(|(key, _)| of(key)).collect();
        keys.sort();
        json!(keys)
    };
    let settings = json!(["pathlight-columns-", "pathlight-dialect-", "pathlight-histogram-folded"]);
    same("kept by the browser", keys("browser"), settings)?;
    same("kept by the window", keys("window"), json!(["pathlight-opened", "pathlight-window"]))?;
    same("names of the files", &kept["window"]["pathlight-opened"], &json!("shop.json"))?;
    same("data bases", &kept["bases"], &json!(["pathlight"]))?;
    same("caches nobody asked for", &kept["caches"], &json!([]))?;
    same("cookies", &kept["cookies"], &json!(""))?;
    // No place for traces in it.
    let text = kept.to_string();
    ensure(!text.contains("secret") && text.len() < 2000, || format!("kept: {text}"))?;
    // The Jaeger asked for its token.
    page.complaints().await.map(drop)
}

pub async fn with_all_network_refused_everything_but_jaeger_works(page: &Page) -> Outcome {
    let address = format!("file://{}", dist().join("pathlight.html").canonicalize()?.display());
    page.open(&address).await?;
    page.devtools("Network.enable", json!({})).await?;
    page.devtools("Network.setBlockedURLs", json!({ "urls": ["http*", "ws*"] })).await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    page.click("[data-test='clear']").await?;
    page.state("empty").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 400)?;
    for view in VIEWS {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
    }
    page.go("view=findings").await?;
    page.ready().await?;
    catch_files(page).await?;
    let export =
        ["[data-test='findings'] [data-test='export']", "[data-test='findings'] [data-test='export-json']"];
    let saved: Value = serde_json::from_str(&caught(page, &export).await?)?;
    ensure(saved.is_object(), || format!("exported: {saved}"))?;
    page.run("window.caught = []; return true").await?;
    for selector in ["[data-test='more']", "[data-test='save-report']", "[data-test='redact-report']"] {
        page.click(selector).await?;
    }
    let saved = "return (window.caught[0] ?? '').includes('class=\"report-part\"')";
    page.until("a report", saved, |there| *there == true).await?;
    page.hidden("[data-test='message']").await?;
    let complaints = page.complaints().await?;
    ensure(complaints.is_empty(), || format!("the console says {complaints:?}"))?;
    // The network was refused indeed.
    let ask = format!(
        "return fetch('{}', {{ mode: 'no-cors' }}).then(() => 'answered', () => 'refused')",
        page.base
    );
    same("the network", page.run(&ask).await?, json!("refused"))?;
    page.devtools("Network.setBlockedURLs", json!({ "urls": [] })).await?;
    page.complaints().await.map(drop)
}
