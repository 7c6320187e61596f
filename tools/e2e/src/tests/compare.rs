//! Two sides against each other: the page's numbers against those of `pathlight compare`.

use e2e::browser::{Page, plain};
use e2e::failure::{Failure, Outcome, ensure, same};
use serde_json::Value;

use super::drop::{generated, native, open_tables, shop};
use super::tables::{catch_files, caught};

const PRODUCT: &str = "service=edge-gateway&operation=GET%20/product/%7Bid%7D";
const OF_PRODUCT: [&str; 4] = ["--service", "edge-gateway", "--operation", "GET /product/{id}"];

/// Compares the rows the table shows with the changes of the binary's report; the picture with its nodes.
async fn changes_agree(page: &Page, report: &Value) -> Outcome {
    page.click("[data-test='tab-changes']").await?;
    let nodes = report["nodes"].as_array().map_or(0, Vec::len);
    same("nodes of the picture", page.number("[data-test='diff']", "data-nodes").await? as usize, nodes)?;
    let script = "return [...document.querySelectorAll('[data-test=\"change\"]')].map(({ dataset: d }) => \
                  [d.node, d.operation, d.value])";
    // The row that is selected may stand far below.
    page.run("document.querySelectorAll('.table').forEach((table) => { table.scrollTop = 0; })").await?;
    let first = report["changes"][0]["node"].to_string();
    let rows = page.until("the first change", script, |rows| rows[0][0].as_str() == Some(&first)).await?;
    let rows: Vec<[String; 3]> = serde_json::from_value(rows)?;
    let changes = report["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    ensure(rows.len() >= 5.min(changes.len()), || format!("only {} changes in the table", rows.len()))?;
    for (row, change) in rows.iter().zip(changes) {
        same("node", row[0].parse().ok(), change["node"].as_u64())?;
        same("operation", Some(row[1].as_str()), change["operation"].as_str())?;
        // serde_json reads a number to within its last digit only.
        let (found, expected) =
            (row[2].parse().unwrap_or(f64::NAN), change["change"].as_f64().unwrap_or(0.0));
        ensure((found - expected).abs() <= 1e-12 * expected.abs(), || {
            format!("change: found {found}, expected {expected}")
        })?;
    }
    Ok(())
}

pub async fn the_tail_against_the_bulk_is_what_the_binary_says(page: &Page) -> Outcome {
    let file = shop()?;
    page.open(&format!("view=compare&{PRODUCT}&against=range&range=P0-50&rangeB=P95-100")).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let mut words = vec!["compare", "--json", "--exclusive", "--range-a", "P0-50", "--range-b", "P95-100"];
    words.extend(OF_PRODUCT);
    let report = native(&words, &[&file])?;
    changes_agree(page, &report).await?;
    // A call that only slow requests make.
    let only_slow = "[data-test='change'][data-operation='Pricing/RecomputeOffers']";
    let verdicts = page.attributes(only_slow, "data-verdict").await?;
    ensure(!verdicts.is_empty() && verdicts.iter().all(|it| it == "new"), || {
        format!("{verdicts:?}, not new")
    })?;
    for side in ["A", "B"] {
        let shown = page.number(&format!("[data-test='facts-{side}']"), "data-value").await?;
        let side = &report[side.to_lowercase().as_str()];
        same("requests", Some(shown as u64), side["requests"].as_u64())?;
    }
    page.picture("compare").await?;
    page.click("[data-test='change']").await?;
    page.visible("[data-test='certainty']").await?;
    page.picture("compare-detail").await?;
    page.click("[data-test='diff-share']").await?;
    page.ready().await?;
    words.extend(["--basis", "share"]);
    changes_agree(page, &native(&words, &[&file])?).await?;
    page.click("[data-test='tab-services']").await?;
    let services = page.attributes("[data-test='service-change']", "data-service").await?;
    let verdict = page.text("[data-test='verdict']").await?;
    let said = plain(report["verdict"].as_str().unwrap_or_default());
    ensure(!said.is_empty() && verdict.starts_with(&said), || format!("{verdict} instead of {said}"))?;
    let expected =
        report["services"].as_array().into_iter().flatten().filter_map(|row| row["service"].as_str());
    same("services", services, expected.map(str::to_owned).collect())?;
    // Sides change places: what was new is gone.
    page.click("[data-test='tab-changes']").await?;
    page.click("[data-test='sides-menu']").await?;
    page.click("[data-test='swap-sides']").await?;
    page.ready().await?;
    let verdicts = page.attributes(only_slow, "data-verdict").await?;
    ensure(!verdicts.is_empty() && verdicts.iter().all(|it| it == "gone"), || {
        format!("{verdicts:?}, not gone")
    })?;
    // An example of a side opens in the timeline.
    page.click("[data-test='example-A']").await?;
    page.visible("[data-test='timeline-view']").await?;
    page.ready().await
}

pub async fn a_second_set_is_compared_and_let_go(page: &Page) -> Outcome {
    let before = shop()?;
    let after = generated("shop-after.json", "--traces 300 --spans 30 --shape mixed --seed 22")?;
    page.open("view=compare&against=set").await?;
    page.drop_files(std::slice::from_ref(&before)).await?;
    page.ready().await?;
    page.visible("[data-test='compare-empty']").await?;
    page.picture("compare-empty").await?;
    page.drop_files_on("[data-test='drop-compare']", std::slice::from_ref(&after)).await?;
    page.ready().await?;
    page.hidden("[data-test='compare-empty']").await?;
    // A table that was filled out of sight has all columns there is room for, without a change of the window.
    page.click("[data-test='view-findings']").await?;
    page.ready().await?;
    open_tables(page).await?;
    let columns = "return [...document.querySelectorAll(\"[data-test='request-types'] th\")] \
                   .filter((e) => !e.hidden).length";
    let shown = page.run(columns).await?;
    ensure(shown.as_u64() >= Some(7), || format!("{shown} columns of request types"))?;
    page.run("dispatchEvent(new Event('resize'))").await?;
    page.drawn().await?;
    same("columns after the window was resized", page.run(columns).await?, shown)?;
    page.click("[data-test='view-compare']").await?;
    page.ready().await?;
    for (side, name) in [("A", "shop"), ("B", "shop-after")] {
        let said = page.text(&format!("[data-test='what-{side}']")).await?;
        same(&format!("name of {side}"), said.as_str(), name)?;
    }
    let (a, b) = (before.to_string_lossy().into_owned(), after.to_string_lossy().into_owned());
    let report = native(&["compare", "--json", "--exclusive", "-a", &a, "-b", &b], &[])?;
    changes_agree(page, &report).await?;
    page.picture("compare-sets").await?;
    catch_files(page).await?;
    let note = caught(page, &["[data-test='copy-compare']", "[data-test='redact-note']"]).await?;
    ensure(note.contains("## Findings") && note.contains("What changed"), || format!("copied: {note}"))?;
    page.click("[data-test='redact-close']").await?;
    // Views that do not compare speak of the side they are told to: an address that names none speaks of A.
    page.click("[data-test='view-flame']").await?;
    page.ready().await?;
    same("requests of A", page.number("[data-test='range-requests']", "data-value").await?, 400.0)?;
    page.click("[data-test='side-B']").await?;
    page.ready().await?;
    same("requests of B", page.number("[data-test='range-requests']", "data-value").await?, 300.0)?;
    let link = page.run("return location.hash").await?;
    let link = link.as_str().unwrap_or_default();
    ensure(link.contains("against=set") && link.contains("side=B"), || format!("the address is {link}"))?;
    page.picture("side-b").await?;
    page.click("[data-test='view-trace']").await?;
    page.ready().await?;
    let latency = page.number("[data-test='trace-latency']", "data-value").await? as u64;
    let slowest = native(&["critical-path", "--json"], &[&after])?;
    same("the slowest of B", Some(latency), slowest["latency_us"]["max"].as_u64())?;
    page.click("[data-test='sides-menu']").await?;
    page.click("[data-test='stop-comparing']").await?;
    page.ready().await?;
    page.hidden("[data-test='sides']").await?;
    page.click("[data-test='view-findings']").await?;
    page.ready().await?;
    same("requests", page.number("[data-test='range-requests']", "data-value").await?, 400.0)?;
    let complaints = page.complaints().await?;
    if complaints.is_empty() { Ok(()) } else { Err(Failure(format!("{complaints:?}"))) }
}
