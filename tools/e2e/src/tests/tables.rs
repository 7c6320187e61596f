//! Tables over all requests: the textual summary, endpoints over all root endpoints, times by the values of a tag.

use std::path::{Path, PathBuf};

use e2e::browser::{Look, Modifiers, Page};
use e2e::failure::{Outcome, ensure, same};
use e2e::process::{pathlight, root};
use serde_json::Value;

use super::drop::{generated, native, open_tables, shop};

async fn at(page: &Page, file: &Path, fragment: &str) -> Outcome {
    page.open(fragment).await?;
    page.drop_files(&[file.to_path_buf()]).await?;
    page.ready().await
}

/// Catches what the page copies and saves, as text.
pub async fn catch_files(page: &Page) -> Outcome {
    let script = "window.caught = []; \
        navigator.clipboard.writeText = (text) => { window.caught.push(text); return Promise.resolve(); }; \
        const create = URL.createObjectURL; \
        URL.createObjectURL = (blob) => { blob.arrayBuffer().then((bytes) => { \
            const isReport = new Uint16Array(bytes.slice(0, 2))[0] === 0xfeff; \
            window.caught.push(new TextDecoder(isReport ? 'utf-16' : 'utf-8').decode(bytes)); \
        }); return create.call(URL, blob); }; \
        HTMLAnchorElement.prototype.click = () => {}; return true";
    page.run(script).await.map(drop)
}

/// Clicks, and gives the text that is copied or saved thereby.
pub async fn caught(page: &Page, selectors: &[&str]) -> Outcome<String> {
    page.run("window.caught = []; return true").await?;
    for selector in selectors {
        page.click(selector).await?;
    }
    let text = page.until("a text", "return window.caught[0] ?? null", Value::is_string).await?;
    Ok(text.as_str().unwrap_or_default().to_owned())
}

/// Waits for what comes after the ranking.
pub async fn what_if(page: &Page) -> Outcome {
    let script = "return document.querySelector(\"[data-test='ranking-view']\").dataset.whatIf";
    page.until("what-if", script, |known| known == "true").await.map(drop)
}

pub async fn the_summary_is_copied_as_the_binary_writes_it(page: &Page) -> Outcome {
    let file = shop()?;
    at(page, &file, "range=P95-100").await?;
    open_tables(page).await?;
    catch_files(page).await?;
    let path = file.to_string_lossy();
    for (button, format) in [("copy-text", "text"), ("copy-markdown", "markdown"), ("copy-csv", "csv")] {
        let copied = caught(page, &[&format!("[data-test='{button}']"), "[data-test='redact-list']"]).await?;
        // It stands there for a moment only.
        let said = "return document.querySelector(\"[data-test='redact-list']\").textContent";
        page.until("a confirmation", said, |text| text == "Copied").await?;
        let printed = pathlight(&["summary", "--range", "P95-100", "--format", format, &path])?;
        same(format, copied, String::from_utf8_lossy(&printed).into_owned())?;
        page.click("[data-test='redact-close']").await?;
    }
    // The other lists: of each endpoint's own time.
    page.run("document.querySelector(\"[data-test='summary-lists']\").value = 'endpoint'").await?;
    let copied = caught(page, &["[data-test='copy-text']", "[data-test='redact-list']"]).await?;
    page.click("[data-test='redact-close']").await?;
    let printed = pathlight(&["summary", "--range", "P95-100", "--lists", "endpoint", &path])?;
    same("lists by endpoint", copied, String::from_utf8_lossy(&printed).into_owned())?;
    let saved = caught(
        page,
        &["[data-test='findings'] [data-test='export']", "[data-test='findings'] [data-test='export-json']"],
    )
    .await?;
    let printed = native(&["summary", "--json", "--range", "P95-100"], &[&file])?;
    same("JSON", serde_json::from_str::<Value>(&saved)?, printed)?;
    page.picture("summary").await
}

pub async fn endpoints_are_ranked_as_by_the_binary(page: &Page) -> Outcome {
    let file = shop()?;
    at(page, &file, "view=endpoints").await?;
    let report = native(&["bottom-up", "--json", "--faster", "50"], &[&file])?;
    let script = "return [...document.querySelectorAll('[data-test=\"impact\"]')].map((row) => [row.dataset.service, \
        row.dataset.operation, row.dataset.value, row.querySelector('[data-column=roots]').dataset.value])";
    let rows: Vec<[String; 4]> = serde_json::from_value(page.run(script).await?)?;
    ensure(rows.len() >= 8, || format!("only {} endpoints are listed", rows.len()))?;
    let wanted = report["rows"].as_array().into_iter().flatten().filter(|row| row["interior"] == true);
    for (row, wanted) in rows.iter().zip(wanted) {
        let wanted = [
            wanted["service"].as_str().unwrap_or_default().to_owned(),
            wanted["operation"].as_str().unwrap_or_default().to_owned(),
            wanted["impact_us"].to_string(),
            wanted["root_endpoints"].to_string(),
        ];
        same("an endpoint", row, &wanted)?;
    }
    // What-if comes after the table.
    what_if(page).await?;
    catch_files(page).await?;
    let saved = caught(
        page,
        &[
            "[data-test='ranking-view'] [data-test='export']",
            "[data-test='ranking-view'] [data-test='export-json']",
        ],
    )
    .await?;
    same("JSON", serde_json::from_str::<Value>(&saved)?, report)?;
    page.picture("endpoints").await
}

pub async fn the_numbers_of_a_tag_are_a_column_as_the_binary_sums_them(page: &Page) -> Outcome {
    let file = shop()?;
    at(page, &file, "view=endpoints").await?;
    let heads = "return [...document.querySelectorAll(\"[data-test='impact-table'] th[data-column]\")] \
                 .filter((head) => head.offsetWidth > 0).map((head) => head.dataset.column)";
    let has_sum = |heads: &Value| heads.as_array().is_some_and(|heads| heads.contains(&Value::from("sum")));
    ensure(!has_sum(&page.run(heads).await?), || "an empty column is shown".to_owned())?;
    let choose = "const menu = document.querySelector(\"[data-test='ranking-view'] [data-test='sum-key']\"); \
                  menu.value = 'db.rows'; menu.dispatchEvent(new Event('change')); return menu.value";
    same("the tag", page.run(choose).await?, Value::from("db.rows"))?;
    page.until("the column", heads, has_sum).await?;
    // Only rows in sight are there: the first ones, by their sums.
    page.go("view=endpoints&sum=db.rows&sort=-sum").await?;
    page.ready().await?;
    let script = "return [...document.querySelectorAll('[data-test=\"impact\"]')] \
                  .map((row) => [row.dataset.service, row.dataset.operation, row.querySelector('[data-column=sum]').dataset.value]) \
                  .filter((row) => row[2])";
    let rows: Vec<[String; 3]> = serde_json::from_value(page.run(script).await?)?;
    let report = native(&["endpoints", "--json", "--sum", "db.rows"], &[&file])?;
    let wanted = report["rows"].as_array().into_iter().flatten();
    let wanted: Vec<[String; 3]> = wanted
        .map(|row| {
            let word = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            [word("service"), word("operation"), row["sum"].as_f64().unwrap_or(f64::NAN).to_string()]
        })
        .collect();
    ensure(rows.len() > 1, || format!("{rows:?}"))?;
    same("sums", &rows[..], &wanted[..rows.len().min(wanted.len())])?;
    page.picture("endpoints-sum").await
}

pub async fn from_an_endpoint_to_its_place_in_a_flame_graph(page: &Page) -> Outcome {
    let file = shop()?;
    at(page, &file, "view=endpoints").await?;
    what_if(page).await?;
    page.click("[data-test='impact']").await?;
    page.visible("[data-test='affected-root']").await?;
    let first =
        |selector: &str, name: &str| format!("return document.querySelector(\"{selector}\").dataset.{name}");
    let endpoint = page.run(&first("[data-test='impact']", "operation")).await?;
    let root = page.run(&first("[data-test='affected-root']", "operation")).await?;
    page.picture("affected").await?;
    page.click("[data-test='affected-root']").await?;
    page.until("the flame graph", "return document.documentElement.dataset.view", |view| view == "flame")
        .await?;
    page.until(
        "its place",
        "return new URLSearchParams(location.hash.slice(1)).get('focus')",
        Value::is_string,
    )
    .await?;
    page.ready().await?;
    let address = page
        .run("const a = new URLSearchParams(location.hash.slice(1)); return [a.get('operation'), JSON.parse(a.get('focus')).at(-1)]")
        .await?;
    same("root endpoint and place", address, Value::from(vec![root, endpoint]))
}

pub async fn histograms_are_enlarged_and_saved(page: &Page) -> Outcome {
    let file = shop()?;
    at(page, &file, "view=endpoints").await?;
    catch_files(page).await?;
    let menu = "[data-test='sizes-view'] [data-test='export']";
    let saved = caught(page, &[menu, "[data-test='sizes-view'] [data-test='export-json']"]).await?;
    same("JSON", serde_json::from_str::<Value>(&saved)?, native(&["histograms", "--json"], &[&file])?)?;
    let svg = caught(page, &[menu, "[data-test='sizes-view'] [data-test='export-svg']"]).await?;
    same("panels", svg.matches("n = ").count(), 12)?;
    let [x, y, width, height] = page.place("[data-test='sizes']").await?;
    page.click_at(x + width / 10.0, y + height / 4.0, 1).await?;
    let enlarged = "return document.querySelector(\"[data-test='sizes']\").dataset.enlarged";
    page.until("the first histogram", enlarged, |at| at == "0").await?;
    page.picture("histogram").await?;
    page.key("Escape", Modifiers::None).await?;
    page.until("all histograms", enlarged, |at| at == "").await.map(drop)
}

pub async fn a_split_proposes_a_version_that_is_slower_and_shows_it(page: &Page) -> Outcome {
    let file = generated("versions.json", "--traces 900 --seed 4")?;
    at(page, &file, "view=split").await?;
    page.visible("[data-test='split-proposal']").await?;
    let words = page.text("[data-test='split-proposal-words']").await?;
    let said =
        String::from_utf8_lossy(&pathlight(&["split", &file.to_string_lossy()])?).replace('\u{202f}', " ");
    ensure(said.contains(&words) && words.contains("in version"), || format!("{words:?} in {said:?}"))?;
    page.click("[data-test='split-proposal-take']").await?;
    page.ready().await?;
    page.hidden("[data-test='split-proposal']").await?;
    let hash = page.run("return decodeURIComponent(location.hash)").await?;
    ensure(hash.as_str().is_some_and(|hash| hash.contains("split=version")), || format!("{hash}"))?;
    let values = page.attributes("[data-test='split-value']", "data-name").await?;
    same("versions", values.len(), 2)
}

pub async fn a_split_has_the_percentiles_of_the_binary(page: &Page) -> Outcome {
    let file = shop()?;
    let key = "http.status_code";
    at(page, &file, &format!("view=split&split={key}")).await?;
    let report = native(&["split", "--json", "--tag", key], &[&file])?;
    let script = "return [...document.querySelectorAll('[data-test=\"split-value\"]')].map((row) => [row.dataset.name, \
        ...['n', 'p50', 'p95', 'p99'].map((c) => row.querySelector(`[data-column=${c}]`)?.dataset.value)])";
    let rows: Vec<[String; 5]> = serde_json::from_value(page.run(script).await?)?;
    let values = report["values"].as_array().map(Vec::as_slice).unwrap_or_default();
    ensure(values.len() >= 2, || format!("{key} has only {} values", values.len()))?;
    same("values", rows.len(), values.len())?;
    for ([name, numbers @ ..], value) in rows.iter().zip(values) {
        same("value", Some(name.as_str()), value["value"].as_str())?;
        for (shown, wanted) in numbers.iter().zip(["n", "p50", "p95", "p99"]) {
            same(&format!("{wanted} of {name}"), shown.parse().ok(), value[wanted].as_f64())?;
        }
    }
    catch_files(page).await?;
    let menu = "[data-test='split-view'] [data-test='export']";
    let saved = caught(page, &[menu, "[data-test='split-view'] [data-test='export-json']"]).await?;
    same("JSON", serde_json::from_str::<Value>(&saved)?, report.clone())?;
    page.picture("split").await?;
    // A click on the first violin keeps only its requests.
    let [x, y, width, _] = page.place("[data-test='violins']").await?;
    page.click_at(x + width / 2.0, y + 48.0, 1).await?;
    page.visible("[data-test='filter-chip']").await?;
    let hash = page.run("return decodeURIComponent(location.hash)").await?;
    let filter = format!("tag.{key}={}", values[0]["value"].as_str().unwrap_or_default());
    ensure(hash.as_str().is_some_and(|hash| hash.contains(&filter)), || format!("no {filter} in {hash}"))
}

pub async fn tables_are_whole_on_any_page(page: &Page) -> Outcome {
    let mut sets: Vec<(&str, PathBuf)> =
        vec![("shop", shop()?), ("one", generated("one.json", "--traces 1 --spans 30 --seed 3")?)];
    let real = root().join("../shared/data/traceweaver-media");
    if real.is_dir() {
        sets.push(("media", real));
    } else {
        eprintln!("skipped: there is no ../shared/data/traceweaver-media");
    }
    for (name, file) in sets {
        at(page, &file, "view=endpoints").await?;
        for view in ["endpoints", "split", "findings"] {
            page.go(&format!("view={view}")).await?;
            page.ready().await?;
            for look in [Look::NARROW, Look::DESKTOP] {
                page.look(look).await?;
                page.drawn().await?;
                let wide = page.run("return document.documentElement.scrollWidth - innerWidth").await?;
                ensure(wide.as_i64().is_some_and(|over| over <= 0), || {
                    format!("{view} is {wide} px wider than its {} px window", look.width)
                })?;
            }
            page.picture(&format!("{name}-{view}")).await?;
        }
    }
    Ok(())
}
