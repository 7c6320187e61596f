//! Summaries in the page: one, two against each other, and a week of them.

use std::path::PathBuf;

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::process::pathlight;
use serde_json::Value;

use super::drop::{generated, native};

/// Summarises a file of generated traces; returns the path of the summary.
pub(super) fn summarised(name: &str, options: &str) -> Outcome<PathBuf> {
    let traces = generated(&format!("{name}.json"), options)?;
    let summary = traces.with_file_name(format!("{name}.pathlight"));
    let [from, to] = [&traces, &summary].map(|path| path.to_string_lossy().into_owned());
    pathlight(&["summarise", &from, "-o", &to])?;
    Ok(summary)
}

pub async fn a_summary_opens_like_traces_and_says_what_it_lacks(page: &Page) -> Outcome {
    let file = summarised("monday", "--traces 400 --spans 30 --shape mixed --seed 21")?;
    page.open("view=findings").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let report = native(&["show", "--json"], &[&file])?;
    same("traces", page.number("[data-test='traces']", "data-value").await? as u64, 400)?;
    let said = page.text("[data-test='status-loaded']").await?;
    ensure(said.contains("1 summary file"), || said)?;
    ensure(page.text("[data-test='no-finding']").await?.contains("summary"), || {
        "no word on findings".into()
    })?;
    page.picture("summary-findings").await?;
    page.click("[data-test='view-flame']").await?;
    page.ready().await?;
    let nodes = report["nodes"].as_array().map_or(0, Vec::len);
    same("frames", page.number("[data-test='flame']", "data-nodes").await? as usize, nodes)?;
    page.picture("summary-flame").await?;
    page.click("[data-test='range-menu']").await?;
    page.click("[data-test='range-P95-99']").await?;
    page.ready().await?;
    let inside = page.number("[data-test='range-requests']", "data-value").await?;
    ensure((5.0..60.0).contains(&inside), || format!("{inside} requests from P95 to P99"))?;
    page.click("[data-test='view-endpoints']").await?;
    page.ready().await?;
    page.picture("summary-endpoints").await?;
    page.click("[data-test='view-errors']").await?;
    page.ready().await?;
    ensure(page.text("[data-test='errors-title']").await?.starts_with("Requests of any latency"), || {
        "errors are not of all requests".into()
    })?;
    page.picture("summary-errors").await?;
    page.click("[data-test='view-flow']").await?;
    page.ready().await?;
    ensure(page.number("[data-test='flow']", "data-nodes").await? > 1.0, || "no flow is drawn".into())?;
    page.visible("[data-test='flow-needs-spans']").await?;
    page.hidden("[data-test='panel-savings']").await?;
    page.picture("summary-flow").await?;
    page.click("[data-test='view-diagnosis']").await?;
    page.ready().await?;
    ensure(page.text("[data-test='diagnosis-empty']").await?.contains("aggregate trace"), || {
        "no word on aggregate traces".into()
    })?;
    ensure(page.text("[data-test='diagnosis-left-out']").await?.contains("any latency"), || {
        "no word on what the diagnosis is of".into()
    })?;
    page.visible("[data-test='diagnosis-line']").await?;
    page.picture("summary-diagnosis").await?;
    page.click("[data-test='list-tail']").await?;
    page.ready().await?;
    page.visible("[data-test='place']").await?;
    page.click("[data-test='list-layers']").await?;
    page.ready().await?;
    page.visible("[data-test='layer-row']").await?;
    for view in ["heatmap", "split", "anomalies", "requests", "trace", "compare"] {
        page.click(&format!("[data-test='view-{view}']")).await?;
        page.ready().await?;
        page.visible("[data-test='no-spans-why']").await?;
    }
    page.picture("summary-lacks").await?;
    page.click("[data-test='no-spans-flame']").await?;
    page.ready().await?;
    page.hidden("[data-test='no-spans']").await
}

pub async fn two_summaries_compare_as_the_binary_says(page: &Page) -> Outcome {
    let before = summarised("before", "--traces 400 --spans 30 --shape mixed --seed 21")?;
    let after = summarised("after", "--traces 300 --spans 30 --shape mixed --seed 22")?;
    page.open("view=compare&against=set").await?;
    page.drop_files(std::slice::from_ref(&before)).await?;
    page.ready().await?;
    page.drop_files_on("[data-test='drop-compare']", std::slice::from_ref(&after)).await?;
    page.ready().await?;
    page.hidden("[data-test='compare-empty']").await?;
    for (side, name, requests) in [("A", "before", 400.0), ("B", "after", 300.0)] {
        same("name", page.text(&format!("[data-test='what-{side}']")).await?.as_str(), name)?;
        let shown = page.number(&format!("[data-test='facts-{side}']"), "data-value").await?;
        same("requests", shown, requests)?;
    }
    ensure(page.number("[data-test='diff']", "data-nodes").await? > 100.0, || "too few frames".into())?;
    page.picture("summary-compare").await
}

pub async fn traces_are_judged_against_a_summary(page: &Page) -> Outcome {
    let normal = summarised("normal", "--traces 400 --spans 30 --shape mixed --seed 21")?;
    let judged = generated("judged.json", "--traces 50 --spans 30 --shape mixed --seed 22")?;
    page.open("view=compare&against=set").await?;
    page.drop_files(std::slice::from_ref(&normal)).await?;
    page.ready().await?;
    page.drop_files_on("[data-test='drop-compare']", std::slice::from_ref(&judged)).await?;
    page.ready().await?;
    page.click("[data-test='view-anomalies']").await?;
    page.ready().await?;
    page.hidden("[data-test='no-spans']").await?;
    let said = page.text("[data-test='anomaly-title']").await?;
    ensure(said.contains("100 requests"), || said)?;
    page.picture("summary-anomalies").await
}

pub async fn a_week_of_summaries_says_since_when_it_is_slower(page: &Page) -> Outcome {
    let mut days = Vec::new();
    for day in 1..=7 {
        let slower = if day > 4 { " --speed catalog:Catalog/GetProducts=+300%" } else { "" };
        let options = format!("--traces 400 --spans 30 --shape mixed --seed {}{slower}", 40 + day);
        days.push(summarised(&format!("day-{day}"), &options)?);
    }
    page.open("view=trend").await?;
    page.drop_files(&days).await?;
    page.ready().await?;
    let files: Vec<_> = days.iter().map(PathBuf::as_path).collect();
    let report: Value = native(&["trend", "--json"], &files)?;
    let moved = report["moved"].as_array().map_or(0, Vec::len);
    ensure(moved > 0, || "the binary finds no change".into())?;
    let listed = page.attributes("[data-test='trend-changes'] > li > span", "data-test").await?;
    same("changes that are listed", listed.len(), moved)?;
    let said = page.text("[data-test='trend-changes']").await?;
    ensure(said.contains("Since day-5"), || said)?;
    ensure(page.number("[data-test='trend']", "data-panels").await? > 5.0, || "too few panels".into())?;
    page.picture("trend").await?;
    page.click("[data-test='trend-root']").await?;
    page.ready().await?;
    page.picture("trend-root").await
}

pub async fn hours_of_the_day_that_are_slower_are_said(page: &Page) -> Outcome {
    let mut hours = Vec::new();
    for hour in 8..16 {
        let slower = if (10..13).contains(&hour) { " --speed catalog:Catalog/GetProducts=+300%" } else { "" };
        // 2026-11-23 00:00 UTC and some hours.
        let start_us = (1_795_392_000 + hour * 3600) * 1_000_000_u64;
        let options =
            format!("--traces 800 --spans 30 --shape mixed --seed {} --start {start_us}{slower}", 60 + hour);
        hours.push(summarised(&format!("hour-{hour}"), &options)?);
    }
    page.open("view=trend").await?;
    page.drop_files(&hours).await?;
    page.ready().await?;
    page.click("[data-test='trend-hours']").await?;
    page.ready().await?;
    let said = page.text("[data-test='trend-changes']").await?;
    ensure(said.contains("From 10:00 to 12:59") && said.contains("catalog"), || said)?;
    let title = page.text("[data-test='trend-title']").await?;
    ensure(title.contains("8 hours of the day (UTC)"), || title)?;
    page.picture("trend-hours").await?;
    page.click("[data-test='trend-days']").await?;
    page.ready().await?;
    let title = page.text("[data-test='trend-title']").await?;
    ensure(title.contains("in 8 days"), || title)
}
