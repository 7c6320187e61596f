//! Sampled traces: numbers go by weight in all views alike, and a switch turns that off.

use e2e::browser::{Look, Page};
use e2e::failure::{Outcome, ensure, same};
use serde_json::Value;

use super::drop::{generated, native};

/// Returns the shares of endpoints by (service, operation), as the binary says them.
fn shares(report: &Value) -> Vec<(String, f64)> {
    let rows = report["rows"].as_array().into_iter().flatten();
    let name = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    rows.map(|row| {
        let share = row["share"].as_f64().unwrap_or_default();
        (format!("{} {}", name(row, "service"), name(row, "operation")), share)
    })
    .collect()
}

pub async fn numbers_of_sampled_traces_go_by_weight_and_agree_and_a_switch_turns_that_off(
    page: &Page,
) -> Outcome {
    let options = "--traces 4000 --spans 12 --seed 21 --sample p=0.05;slow>300ms;errors;as=count";
    let file = generated("sampled.json", options)?;
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let bar = page.text("[data-test='range-requests']").await?;
    ensure(bar.contains(" for about ") && bar.ends_with(" requests"), || format!("the bar says {bar:?}"))?;
    for (name, look) in
        [("sampled-narrow", Look::NARROW), ("sampled-dark", Look::DARK), ("sampled", Look::DESKTOP)]
    {
        page.look(look).await?;
        let wide = page.run("return document.documentElement.scrollWidth - innerWidth").await?;
        ensure(wide.as_i64().is_some_and(|over| over <= 0), || format!("{name} is {wide} px too wide"))?;
    }
    page.picture("sampled").await?;
    // p99 of the bar, the greatest share in Endpoints, the latency that the flame graph is of.
    let mut said = Vec::new();
    for weights in ["", "&weights=off"] {
        let unweighted: &[&str] = if weights.is_empty() { &[] } else { &["--unweighted"] };
        let of = |command: &str| native(&[&[command, "--json"], unweighted].concat(), &[&file]);
        page.go(&format!("view=critical-path{weights}")).await?;
        page.ready().await?;
        let p99 = page.number("[data-test='range-p99']", "data-value").await?;
        let report = of("critical-path")?;
        let expected = report["latency_us"]["p99"].as_f64().unwrap_or_default();
        ensure((p99 - expected).abs() <= 1.0, || {
            format!("p99 is {p99} in the bar, {expected} by the binary")
        })?;
        let roots = report["nodes"].as_array().into_iter().flatten().filter(|node| node["parent"].is_null());
        let flame: f64 = roots.filter_map(|node| node["subtree_us"].as_f64()).sum();
        let endpoints = of("endpoints")?;
        let findings = of("findings")?;
        let whole = |report: &Value| report["latency_sum_us"].as_f64();
        if let (Some(a), Some(b)) = (whole(&endpoints), whole(&report)) {
            ensure((a - b).abs() <= 1e-6 * b, || {
                format!("all latency is {a} in Endpoints, {b} in Flame graph")
            })?;
        }
        // What services take in Findings is the mean latency of the flame graph.
        let services = findings["services"].as_array().into_iter().flatten();
        let times = services.flat_map(|row| [row["own_us"].as_f64(), row["waiting_us"].as_f64()]);
        let mean: f64 = times.flatten().sum();
        let of_flame = report["latency_us"]["mean"].as_f64().unwrap_or_default();
        ensure((mean - of_flame).abs() <= 1e-3 * mean, || format!("means are {mean} and {of_flame}"))?;
        said.push((p99, flame, shares(&endpoints)));
    }
    let (by_weight, once) = (&said[0], &said[1]);
    ensure(by_weight.0 < once.0, || format!("p99 is {} by weight, {} counted", by_weight.0, once.0))?;
    ensure(by_weight.1 > once.1, || "weights do not change the sums of the flame graph".to_owned())?;
    ensure(by_weight.2 != once.2, || "weights do not change shares of endpoints".to_owned())?;
    // The switch of the page is the option of the address.
    page.go("view=findings").await?;
    page.ready().await?;
    let first = page.text("[data-test='findings']").await?;
    page.click("[data-test='range-menu']").await?;
    page.click("[data-test='weights-off']").await?;
    page.ready().await?;
    let shown = page.run("return location.hash").await?;
    ensure(shown.as_str().is_some_and(|hash| hash.contains("weights=off")), || {
        format!("{shown} is no switch")
    })?;
    let second = page.text("[data-test='findings']").await?;
    ensure(first != second, || "the switch changes nothing in Findings".to_owned())?;
    same("one selection", page.number("[data-test='range-p99']", "data-value").await?, once.0)
}

pub async fn a_tag_of_ones_own_says_weights(page: &Page) -> Outcome {
    let known = generated("known.json", "--traces 2000 --spans 7 --seed 22 --sample p=0.1;as=count")?;
    // Nobody knows this tag.
    let file = known.with_file_name("own.json");
    std::fs::write(&file, std::fs::read_to_string(&known)?.replace("SampleRate", "kept.of"))?;
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let bar = "[data-test='range-requests']";
    let plain = page.text(bar).await?;
    ensure(!plain.contains("for about"), || format!("the bar says {plain:?}"))?;
    page.click("[data-test='notes-button']").await?;
    page.choose("[data-test='weight-key']", "kept.of").await?;
    page.hidden("[data-test='notes']").await?;
    page.until("weights", &format!("return document.querySelector(\"{bar}\").textContent"), |text| {
        text.as_str().is_some_and(|text| text.contains("for about"))
    })
    .await?;
    page.ready().await?;
    let weighted = page.text(bar).await?;
    let report = native(&["critical-path", "--json", "--weight", "key=kept.of"], &[&file])?;
    let expected = report["latency_us"]["p95"].as_f64().unwrap_or_default();
    let shown = page.number("[data-test='range-p95']", "data-value").await?;
    ensure((shown - expected).abs() <= 1.0, || format!("p95 is {shown}, {expected} by the binary"))?;
    // By another name the same traces say the same.
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&known)).await?;
    page.ready().await?;
    same("traces of a known tag", page.text(bar).await?, weighted.clone())?;
    // A link has the tag; back reads without it.
    page.open("weight=kept.of").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    same("by the address", page.text(bar).await?, weighted)?;
    page.go("weight=nothing").await?;
    page.ready().await?;
    same("without weights", page.text(bar).await?, plain)?;
    page.click("[data-test='notes-button']").await?;
    page.visible("[data-test='weight-key-missing']").await
}
