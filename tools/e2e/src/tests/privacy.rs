//! Privacy: what stays in the browser, and what works without a network.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::Request;
use axum::middleware::map_request;
use e2e::browser::{KEPT, Modifiers, Page};
use e2e::failure::{Outcome, ensure, same};
use e2e::jaeger::Ways;
use e2e::process::{dist, single};
use e2e::site::Site;
use serde_json::{Value, json};
use tower_http::services::ServeDir;

use super::access::VIEWS;
use super::drop::{generated, open_tables, shop, summary};
use super::hosting::addresses;
use super::jaeger::{Stage, fetch_with_token};
use super::tables::{catch_files, caught};

/// Returns the keys of a storage, without the name of a table or the address of a Jaeger that follows in some.
fn keys(storage: &Value) -> Value {
    let of = |key: &String| {
        let begin =
            ["pathlight-columns-", "pathlight-dialect-"].into_iter().find(|begin| key.starts_with(begin));
        begin.map_or(key.clone(), str::to_owned)
    };
    let mut keys: Vec<String> = storage.as_object().into_iter().flatten().map(|(key, _)| of(key)).collect();
    keys.sort();
    json!(keys)
}

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
    page.click("[data-test='requests'] [data-test='columns']").await?;
    let columns = page.attributes("[data-test='requests'] [data-choose]", "data-choose").await?;
    let last = columns.last().map_or("", String::as_str);
    page.click(&format!("[data-test='requests'] [data-choose='{last}']")).await?;
    page.until("two settings", "return localStorage.length", |count| *count == 2).await?;
    let bases = "return indexedDB.databases().then((bases) => bases.length)";
    page.until("the data base of handles", bases, |count| *count == 1).await?;
    let kept = page.run(KEPT).await?;
    let settings = json!(["pathlight-columns-", "pathlight-dialect-"]);
    same("kept by the browser", keys(&kept["browser"]), settings)?;
    same("kept by the window", keys(&kept["window"]), json!(["pathlight-opened", "pathlight-window"]))?;
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
    let address = single()?;
    page.open(&address).await?;
    page.devtools("Network.enable", json!({})).await?;
    page.devtools("Network.setBlockedURLs", json!({ "urls": ["http*", "ws*"] })).await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    page.click("[data-test='more']").await?;
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
    open_tables(page).await?;
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

/// Copies or saves what is shown, `place` by `place`, and expects a text of each.
async fn taken(page: &Page, steps: &[&str], close: &str) -> Outcome {
    let steps: Vec<String> = steps.iter().map(|step| format!("[data-test='{step}']")).collect();
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    ensure(!caught(page, &steps).await?.is_empty(), || format!("{steps:?} gave nothing"))?;
    if !close.is_empty() {
        page.click(&format!("[data-test='{close}']")).await?;
    }
    Ok(())
}

pub async fn copies_exports_baselines_and_searches_ask_for_nothing_and_are_stored_nowhere(
    page: &Page,
) -> Outcome {
    let asked: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let notes = asked.clone();
    let note = move |request: Request| {
        notes.lock().unwrap_or_else(PoisonError::into_inner).insert(request.uri().to_string());
        async move { request }
    };
    let routes = Router::new().fallback_service(ServeDir::new(dist())).layer(map_request(note));
    let site = Site::start(routes)?;
    let so_far = || asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
    page.open(&site.url).await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    let of_the_page = so_far();
    ensure(of_the_page.iter().any(|path| path.ends_with(".wasm")), || format!("asked: {of_the_page:?}"))?;

    // A second set, which is what is normal too.
    let second = generated("beside.json", "--traces 60 --spans 20 --seed 2")?;
    page.drop_files_on("[data-test='drop-compare']", &[second]).await?;
    page.visible("[data-test='sides']").await?;
    page.ready().await?;
    catch_files(page).await?;
    for (view, steps) in [
        ("findings", ["copy-text", "redact-list"]),
        ("findings", ["copy-markdown", "redact-list"]),
        ("findings", ["copy-csv", "redact-list"]),
        ("findings", ["copy-findings", "redact-note"]),
        ("diagnosis", ["copy-diagnosis", "redact-list"]),
    ] {
        page.go(&format!("view={view}&against=set")).await?;
        page.ready().await?;
        page.hidden("[data-test='findings-coming']").await?;
        if view == "findings" {
            open_tables(page).await?;
        }
        taken(page, &steps, "redact-close").await?;
    }
    taken(page, &["more", "share-open", "share-copy"], "share-close").await?;
    // Every format of every kind of chart.
    let mut all = BTreeSet::new();
    for (view, place) in [
        ("flame", "flame-view"),
        ("endpoints", "sizes-view"),
        ("split&split=http.status_code", "split-view"),
        ("flow", "flow-view"),
        ("heatmap", "heat-view"),
        ("compare&against=set", "compare-view"),
    ] {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        let menu = format!("[data-test='{place}'] [data-test='export']");
        let items = format!(
            "return [...document.querySelector(\"[data-test='{place}'] [data-test='export-menu']\")\
             .querySelectorAll('[data-test]')].map((item) => item.dataset.test)"
        );
        let formats: Vec<String> = serde_json::from_value(page.run(&items).await?)?;
        for format in formats {
            let item = format!("[data-test='{place}'] [data-test='{format}']");
            ensure(!caught(page, &[&menu, &item]).await?.is_empty(), || format!("{item} gave nothing"))?;
            all.insert(format);
        }
    }
    for format in ["export-csv", "export-json", "export-svg", "export-png", "export-folded"] {
        ensure(all.contains(format), || format!("no {format} among {all:?}"))?;
    }
    for normal in ["against=set", "normal=others&alpha=0.02"] {
        page.go(&format!("view=anomalies&{normal}")).await?;
        page.ready().await?;
        taken(page, &["anomaly-save-model"], "").await?;
        taken(page, &["anomaly-vectors", "vectors-stv.json"], "").await?;
    }
    page.go("view=flame").await?;
    page.ready().await?;
    page.fill("[data-test='search']", "http.status_code=200").await?;
    page.visible("[data-test='search-panel']").await?;
    page.key("Enter", Modifiers::None).await?;
    // It lies over what stands below.
    page.key("Escape", Modifiers::None).await?;
    page.hidden("[data-test='search-panel']").await?;
    page.ready().await?;
    page.run("window.caught = []; return true").await?;
    for selector in ["[data-test='more']", "[data-test='save-report']", "[data-test='redact-report']"] {
        page.click(selector).await?;
    }
    let saved = "return (window.caught[0] ?? '').includes('class=\"report-part\"')";
    page.until("a report", saved, |there| *there == true).await?;

    // Whatever was asked for while it began: the page in one file makes the report, and it is one of its own.
    let own: BTreeSet<String> =
        of_the_page.into_iter().chain(["/pathlight.html".to_owned(), "/favicon.ico".to_owned()]).collect();
    // It has its hash behind its name.
    let is_own = |address: &String| own.contains(address.split('?').next().unwrap_or_default());
    let others: Vec<String> = so_far().into_iter().filter(|address| !is_own(address)).collect();
    same("other addresses the server was asked for", others, Vec::new())?;
    for address in addresses(page).await? {
        let is_own = address.starts_with(&site.url) || address.starts_with("blob:");
        ensure(is_own, || format!("the page asked for {address}"))?;
    }
    page.go("view=findings").await?;
    page.ready().await?;
    let kept = page.run(KEPT).await?;
    same("kept by the browser", keys(&kept["browser"]), json!([]))?;
    same("kept by the window", keys(&kept["window"]), json!(["pathlight-opened", "pathlight-window"]))?;
    same("data bases", &kept["bases"], &json!(["pathlight"]))?;
    same("caches and cookies", (&kept["caches"], &kept["cookies"]), (&json!([]), &json!("")))?;
    let text = kept.to_string();
    ensure(!text.contains("edge-gateway") && text.len() < 2000, || format!("kept: {text}"))
}
