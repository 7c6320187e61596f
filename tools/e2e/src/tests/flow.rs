//! Execution flows: the page's numbers are the binary's, and what-ifs move the whole request.

use e2e::browser::{Modifiers, Page};
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::process::scratch;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

use super::drop::{SPANS_AS_TABLE, generated, native, shop};

const PRODUCT: &str = "service=edge-gateway&operation=GET%20/product/%7Bid%7D";
const OF_PRODUCT: [&str; 6] =
    ["flow", "--json", "--service", "edge-gateway", "--operation", "GET /product/{id}"];

/// Opens the flow view of the shop's product page.
async fn flow_at(page: &Page, more: &str) -> Outcome<PathBuf> {
    let file = shop()?;
    page.open(&format!("view=flow&{PRODUCT}{more}")).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    Ok(file)
}

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    OF_PRODUCT.iter().copied().chain(more.iter().copied()).collect()
}

/// Checks that the numbers of page and binary differ by rounding only.
pub fn near(what: &str, shown: f64, said: Option<f64>) -> Outcome {
    let said = said.ok_or_else(|| Failure(format!("the binary does not say {what}")))?;
    ensure((shown - said).abs() <= 1e-9 * said.abs().max(1.0), || {
        format!("{what}: {shown} on the page, {said} by the binary")
    })
}

/// Returns what an export writes, by its name in the menu of `place`.
pub async fn exported(page: &Page, place: &str, format: &str) -> Outcome<String> {
    page.catch_file().await?;
    page.click(&format!("{place} [data-test='export']")).await?;
    page.click(&format!("{place} [data-test='export-{format}']")).await?;
    let script = "return window.handedOut?.text() ?? null";
    let text = page.until("the export", script, |text| text.is_string()).await?;
    Ok(text.as_str().unwrap_or_default().to_owned())
}

pub async fn the_picture_has_the_calls_of_the_binary(page: &Page) -> Outcome {
    let file = flow_at(page, "").await?;
    let report = native(&OF_PRODUCT, &[&file])?;
    let nodes = report["nodes"].as_array().cloned().unwrap_or_default();
    let shown = page.number("[data-test='flow']", "data-nodes").await?;
    same("calls of the picture", shown as usize, nodes.len())?;
    let labels = page.attributes("[data-test='call']", "data-label").await?;
    let means = page.attributes("[data-test='call']", "data-value").await?;
    ensure(labels.len() >= 3, || format!("only {labels:?} in the table"))?;
    for (label, mean) in labels.iter().zip(&means) {
        let node = nodes.iter().find(|node| node["name"] == label.as_str());
        let node = node.ok_or_else(|| Failure(format!("{label} is the page's alone")))?;
        near(label, mean.parse().unwrap_or(f64::NAN), node["latency_us"]["mean"].as_f64())?;
    }
    let json = exported(page, "[data-test='flow-view']", "json").await?;
    same("the export", serde_json::from_str::<Value>(&json)?, report)?;
    let svg = exported(page, "[data-test='flow-view']", "svg").await?;
    ensure(svg.starts_with("<svg") && svg.contains("return"), || "the SVG is no flow".to_owned())?;
    page.picture("flow").await
}

pub async fn a_call_leads_to_its_own_flow_and_back(page: &Page) -> Outcome {
    flow_at(page, "").await?;
    let operations =
        "return [...document.querySelectorAll('[data-test=\"call\"]')].map((row) => row.dataset.label)";
    let before = page.run(operations).await?;
    // The first call of the table that has calls of its own.
    let calls = before.as_array().map_or(0, Vec::len);
    let mut opened = false;
    for at in 0..calls {
        page.click(&format!("[data-test='call'][data-row='{at}']")).await?;
        page.ready().await?;
        let script = "return !document.querySelector('[data-test=\"own-flow\"]').disabled";
        if page.run(script).await? == true {
            page.click("[data-test='own-flow']").await?;
            opened = true;
            break;
        }
    }
    ensure(opened, || "no call has a flow of its own".to_owned())?;
    page.visible("[data-test='flow-crumb']").await?;
    page.ready().await?;
    let inner = page.run(operations).await?;
    ensure(inner != before, || format!("both flows have the calls {before}"))?;
    page.run("history.back()").await?;
    page.hidden("[data-test='flow-crumb']").await?;
    page.ready().await?;
    same("calls after going back", page.run(operations).await?, before)
}

/// Moves the slider and waits for the answer.
pub async fn slide(page: &Page, percent: i32) -> Outcome {
    page.run(&format!(
        "const e = document.querySelector('[data-test=\"whatif-slider\"]'); \
         for (const v of [{percent} / 2, {percent}]) {{ e.value = v; e.dispatchEvent(new Event('input')) }}"
    ))
    .await?;
    let script = "return decodeURIComponent(location.hash)";
    let want = format!("{}", percent * 10_000);
    page.until("the change in the address", script, |hash| hash.as_str().is_some_and(|h| h.contains(&want)))
        .await?;
    page.ready().await
}

pub async fn a_what_if_moves_the_whole_request_as_the_binary_says(page: &Page) -> Outcome {
    let file = flow_at(page, "&panel=whatif").await?;
    let report = native(&OF_PRODUCT, &[&file])?;
    // The call that decides most often.
    let most = report["nodes"].as_array().into_iter().flatten().max_by(|a, b| {
        let share = |node: &Value| node["critical_share"].as_f64().unwrap_or(0.0);
        share(a).total_cmp(&share(b))
    });
    let most = most.cloned().unwrap_or_default();
    let name = |key: &str| most[key].as_str().unwrap_or_default().to_owned();
    let endpoint = format!("{}:{}", name("service"), name("operation"));
    page.click("[data-test='panel-calls']").await?;
    page.click(&format!("[data-test='call'][data-label={}]", json!(most["name"]))).await?;
    page.click("[data-test='panel-whatif']").await?;
    page.visible("[data-test='whatif-slider']").await?;
    slide(page, -50).await?;
    let check = async |question: &str, change: &str| -> Outcome {
        let said = native(&with(&[question, change]), &[&file])?;
        for name in ["p50", "p95", "p99"] {
            for (side, key) in [("before", "before"), ("after", "after")] {
                let shown = page.number(&format!("[data-test='{side}-{name}']"), "data-value").await?;
                near(&format!("{side} {name}"), shown, said[key][name].as_f64())?;
            }
        }
        Ok(())
    };
    check("--what-if", &format!("{endpoint}=-50%")).await?;
    let json = exported(page, "[data-test='whatif-tools']", "json").await?;
    let said = native(&with(&["--what-if", &format!("{endpoint}=-50%")]), &[&file])?;
    same("the export", serde_json::from_str::<Value>(&json)?, said)?;
    page.picture("flow-whatif").await?;
    page.click("[data-test='whatif-gone']").await?;
    let hash = "return decodeURIComponent(location.hash)";
    page.until("gone", hash, |hash| hash.as_str().is_some_and(|h| h.contains("-1000000"))).await?;
    page.ready().await?;
    check("--whole-call", &format!("{endpoint}=gone")).await?;
    page.click("[data-test='whatif-reset']").await?;
    page.hidden("[data-test='whatif-change']").await?;
    page.ready().await?;
    let before = page.number("[data-test='before-p95']", "data-value").await?;
    same("p95 without changes", page.number("[data-test='after-p95']", "data-value").await?, before)
}

pub async fn predictions_and_savings_are_those_of_the_binary(page: &Page) -> Outcome {
    let file = flow_at(page, "&panel=prediction&pooled=1").await?;
    let said = native(&["flow", "--json", "--evaluate"], &[&file])?;
    let rows = page.attributes("[data-test='method']", "data-method").await?;
    same("methods", rows.len(), 6)?;
    let cells = "return [...document.querySelectorAll('[data-test=\"method\"]')].map((row) => \
                 [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.value)))";
    let shown: Vec<[f64; 4]> = serde_json::from_value(page.run(cells).await?)?;
    for (method, shown) in said["methods"].as_array().into_iter().flatten().zip(shown) {
        for (name, value) in ["p50", "p90", "p95", "p99"].into_iter().zip(shown) {
            near(&format!("{} {name}", method["name"]), value, method["error"][name].as_f64())?;
        }
    }
    page.picture("flow-prediction").await?;
    page.click("[data-test='panel-savings']").await?;
    page.ready().await?;
    let said = native(&with(&["--savings"]), &[&file])?;
    let services = page.attributes("[data-test='saving']", "data-service").await?;
    let operations = page.attributes("[data-test='saving']", "data-operation").await?;
    let values = page.attributes("[data-test='saving']", "data-value").await?;
    ensure(services.len() >= 3, || format!("only {} endpoints would save anything", services.len()))?;
    for ((service, operation), value) in services.iter().zip(&operations).zip(&values) {
        let is_it = |e: &&Value| e["service"] == service.as_str() && e["operation"] == operation.as_str();
        let found = said["endpoints"].as_array().into_iter().flatten().find(is_it);
        let saved = found.and_then(|e| e["saved_us"]["faster_50"]["mean"].as_f64());
        near(&format!("{operation} @ {service}"), value.parse().unwrap_or(f64::NAN), saved)?;
    }
    page.picture("flow-savings").await
}

pub async fn calls_that_could_run_side_by_side_are_those_of_the_binary_and_become_a_what_if(
    page: &Page,
) -> Outcome {
    let file = generated("serial.json", "--shape serial --traces 1200 --seed 2")?;
    page.open("view=flow&panel=parallelise").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let said = native(&["flow", "--json", "--parallelise"], &[&file])?;
    let groups = said["groups"].as_array().cloned().unwrap_or_default();
    let callers = page.attributes("[data-test='serial']", "data-service").await?;
    let values = page.attributes("[data-test='serial']", "data-value").await?;
    // A table has elements for the rows in sight only.
    ensure((3..=groups.len()).contains(&callers.len()), || format!("{} of {}", callers.len(), groups.len()))?;
    for ((group, caller), value) in groups.iter().zip(&callers).zip(&values) {
        same("caller", caller.clone(), group["parent"][0].as_str().unwrap_or_default().to_owned())?;
        near("saved", value.parse().unwrap_or(f64::NAN), group["saved_us"]["mean"].as_f64())?;
    }
    let sentence = page.text("[data-test='parallelise-sentence']").await?;
    ensure(sentence.contains("always run one after the other"), || sentence.clone())?;
    let note = page.text("[data-test='parallelise-error']").await?;
    ensure(note.contains("cannot show data that flow in the code"), || note.clone())?;
    let json = exported(page, "[data-test='parallelise']", "json").await?;
    same("the export", serde_json::from_str::<Value>(&json)?, said.clone())?;
    page.picture("flow-parallelise").await?;
    let open = "document.querySelector(\"[data-test='serial']\").dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))";
    page.run(open).await?;
    page.visible("[data-test='whatif-change']").await?;
    page.ready().await?;
    let [before, after] = [
        page.number("[data-test='before-mean']", "data-value").await?,
        page.number("[data-test='after-mean']", "data-value").await?,
    ];
    near("the mean of the what-if", before - after, groups[0]["saved_us"]["mean"].as_f64())
}

pub async fn slower_places_are_those_of_the_binary_and_become_a_what_if(page: &Page) -> Outcome {
    let file = generated("zones.json", "--traces 900 --seed 4 --zones 4")?;
    page.open("view=flow&panel=deployments").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let said = native(&["deployments", "--json"], &[&file])?;
    let rows = said["slower"].as_array().cloned().unwrap_or_default();
    let keys = page.attributes("[data-test='deployment']", "data-key").await?;
    let sure = page.attributes("[data-test='deployment']", "data-sure").await?;
    // A table has elements for the rows in sight only.
    ensure((5..=rows.len()).contains(&keys.len()), || format!("{} of {}", keys.len(), rows.len()))?;
    for ((row, key), sure) in rows.iter().zip(&keys).zip(&sure) {
        same("key", key.as_str(), row["key"].as_str().unwrap_or_default())?;
        same("sure", sure == "true", row["sure"] == true)?;
    }
    same("the first place", keys[0].as_str(), "cloud.availability_zone")?;
    let sentence = page.text("[data-test='deployments-sentence']").await?;
    ensure(
        sentence.starts_with("Calls that cross cloud.availability_zone spend more time in the network"),
        || sentence.clone(),
    )?;
    let json = exported(page, "[data-test='deployments']", "json").await?;
    same("the export", serde_json::from_str::<Value>(&json)?, said.clone())?;
    page.picture("flow-deployments").await?;
    let open = "document.querySelector(\"[data-test='deployment']\").dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))";
    page.run(open).await?;
    page.visible("[data-test='whatif-change']").await?;
    page.ready().await?;
    let pair = &rows[0]["of"]["calls"];
    let change = format!(
        "network:{}>{}@cloud.availability_zone=within",
        pair[0].as_str().unwrap_or_default(),
        pair[1].as_str().unwrap_or_default()
    );
    let then = native(&["flow", "--json", "--what-if", &change], &[&file])?;
    let after = page.number("[data-test='after-mean']", "data-value").await?;
    near("mean then", after, then["after"]["mean"].as_f64())?;
    let before = page.number("[data-test='before-mean']", "data-value").await?;
    ensure(after < before, || format!("{before} is no more than {after}"))?;
    // By one tag of versions other rows are first.
    page.run(
        "const e = document.querySelector(\"[data-test='deployments-key']\"); e.value = 'version'; \
              e.dispatchEvent(new Event('change'))",
    )
    .await?;
    page.click("[data-test='panel-deployments']").await?;
    page.ready().await?;
    let keys = page.attributes("[data-test='deployment']", "data-key").await?;
    ensure(!keys.is_empty() && keys.iter().all(|key| key == "version"), || format!("{keys:?}"))?;
    // The network between all services is one of the parts that a what-if changes.
    page.click("[data-test='panel-whatif']").await?;
    page.click("[data-test='whatif-reset']").await?;
    for (field, value, event) in [("whatif-subject", "network", "change"), ("whatif-slider", "-50", "input")]
    {
        page.run(&format!(
            "const e = document.querySelector(\"[data-test='{field}']\"); e.value = '{value}'; \
             e.dispatchEvent(new Event('{event}'))"
        ))
        .await?;
    }
    page.visible("[data-test='whatif-change']").await?;
    page.ready().await?;
    let then = native(&["flow", "--json", "--what-if", "network:*>*=-50%"], &[&file])?;
    let after = page.number("[data-test='after-mean']", "data-value").await?;
    near("mean with half the network", after, then["after"]["mean"].as_f64())
}

pub async fn headroom_is_that_of_the_binary_and_becomes_a_what_if(page: &Page) -> Outcome {
    let file = flow_at(page, "&panel=headroom").await?;
    page.hidden("[data-test='room']").await?;
    let now = native(&with(&["--headroom", "p99=1us"]), &[&file])?;
    same("rows beyond the limit", now["rows"].as_array().map(Vec::len), Some(0))?;
    let us = (1.2 * now["before_us"].as_f64().unwrap_or(f64::NAN)).ceil();
    write(page, "headroom-time", &format!("{us} us")).await?;
    page.visible("[data-test='room']").await?;
    page.ready().await?;
    let said = native(&with(&["--headroom", &format!("p99={us}us")]), &[&file])?;
    let rows = said["rows"].as_array().cloned().unwrap_or_default();
    let shown = page.attributes("[data-test='room']", "data-value").await?;
    ensure((3..=rows.len()).contains(&shown.len()), || format!("{} of {}", shown.len(), rows.len()))?;
    for (row, shown) in rows.iter().zip(&shown).filter(|(row, _)| !row["times"].is_null()) {
        near("times", shown.parse().unwrap_or(f64::NAN), row["times"].as_f64())?;
    }
    let sentence = page.text("[data-test='headroom-sentence']").await?;
    ensure(sentence.contains("times as long"), || sentence.clone())?;
    let json = exported(page, "[data-test='headroom']", "json").await?;
    same("the export", serde_json::from_str::<Value>(&json)?, said.clone())?;
    page.picture("flow-headroom").await?;
    let open = "document.querySelector(\"[data-test='room']\").dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))";
    page.run(open).await?;
    page.visible("[data-test='whatif-change']").await?;
    page.ready().await?;
    let after = page.number("[data-test='after-p99']", "data-value").await?;
    ensure(after <= us, || format!("the what-if has a p99 of {after}, the limit is {us}"))?;
    near("p99 then", after, rows[0]["then_us"].as_f64())
}

pub async fn a_dropped_table_says_where_to_add_and_where_to_take(page: &Page) -> Outcome {
    let file = flow_at(page, "&panel=headroom&capacity=1").await?;
    page.visible("[data-test='capacity']").await?;
    let none = native(&with(&["--capacity"]), &[&file])?;
    let services = none["services"].as_array().cloned().unwrap_or_default();
    let name = |at: usize| services[at]["service"].as_str().unwrap_or_default().to_owned();
    ensure(services.len() >= 5, || format!("only {} services", services.len()))?;
    same(
        "services in order",
        page.attributes("[data-test='capacity']", "data-label").await?[..3].to_vec(),
        [0, 1, 2].map(name).to_vec(),
    )?;
    let line = page.text("[data-test='utilisation-line']").await?;
    ensure(line.contains("Drop a table of utilisation"), || line.clone())?;
    // What says nothing of shares says what is missing, and takes nothing away.
    let folder = scratch()?;
    let pods = folder.join("pods.txt");
    std::fs::write(&pods, "NAME CPU(cores) MEMORY(bytes)\ncart-7d9f6c5b8-x2x4z 250m 512Mi\n")?;
    page.drop_files(&[pods]).await?;
    page.visible("[data-test='utilisation-trouble']").await?;
    let trouble = page.text("[data-test='utilisation-trouble']").await?;
    ensure(trouble.contains("not how much they may use"), || trouble.clone())?;
    // Dropped while another view is in sight, the table leads to the panel.
    page.run("location.hash = location.hash.replace('view=flow', 'view=flame')").await?;
    page.visible("[data-test='flame-view']").await?;
    let table = folder.join("use.csv");
    let rows: String = (0..services.len() - 1)
        .map(|at| format!("{}-7d9f6c5b8-x2x4z,{}\n", name(at), 90 - 10 * at.min(8)))
        .collect();
    std::fs::write(&table, format!("pod,cpu\n{rows}nobody,5\n"))?;
    page.drop_files(std::slice::from_ref(&table)).await?;
    page.visible("[data-test='capacity-effect']").await?;
    page.ready().await?;
    let use_of = table.display().to_string();
    let said = native(&with(&["--utilisation", &use_of]), &[&file])?;
    let sentence = page.text("[data-test='capacity-sentence']").await?;
    for key in ["first_to_add", "first_to_take"] {
        let first = said[key].as_str().unwrap_or_default();
        ensure(!first.is_empty() && sentence.contains(first), || format!("{key} {first}: {sentence}"))?;
    }
    let notes = page.text("[data-test='capacity-notes']").await?;
    ensure(notes.contains("nobody") && notes.contains("no row"), || notes.clone())?;
    let json = exported(page, "[data-test='capacity-tools']", "json").await?;
    same("the export", serde_json::from_str::<Value>(&json)?, said.clone())?;
    page.picture("flow-capacity").await?;
    page.click("[data-test='capacity-both']").await?;
    page.visible("[data-test='whatif-change']").await?;
    page.ready().await?;
    let after = page.number("[data-test='after-p99']", "data-value").await?;
    near("p99 with both", after, said["what_if"]["after"]["p99"].as_f64())
}

/// Writes into a field as a person who then leaves it.
async fn write(page: &Page, field: &str, text: &str) -> Outcome {
    page.run(&format!(
        "const e = document.querySelector(\"[data-test='{field}']\"); e.value = {}; \
         e.dispatchEvent(new Event('change'))",
        json!(text)
    ))
    .await?;
    Ok(())
}

pub async fn a_target_says_what_has_to_be_faster_and_becomes_a_what_if(page: &Page) -> Outcome {
    let file = flow_at(page, "&panel=target").await?;
    page.hidden("[data-test='target-way']").await?;
    write(page, "target-time", "80 %").await?;
    page.visible("[data-test='target-time-trouble']").await?;
    let trouble = page.text("[data-test='target-time-trouble']").await?;
    ensure(trouble.contains("is a share"), || format!("80 % is answered by {trouble:?}"))?;
    // What the third endpoint brings at best: some reach it alone.
    let best = native(&with(&["--target", "p99=1us"]), &[&file])?;
    let us = best["single"][2]["at_best_us"].as_f64().unwrap_or(f64::NAN).ceil();
    write(page, "target-time", &format!("{us} us")).await?;
    let address = "return decodeURIComponent(location.hash)";
    let want = format!("target=p99:{us}");
    page.until("the target in the address", address, |hash| hash.as_str().is_some_and(|h| h.contains(&want)))
        .await?;
    page.hidden("[data-test='target-time-trouble']").await?;
    page.ready().await?;
    let said = native(&with(&["--target", &format!("p99={us}us")]), &[&file])?;
    let ways: Vec<Value> = ["single", "together", "parts"]
        .iter()
        .flat_map(|list| said[list].as_array().cloned().unwrap_or_default())
        .collect();
    let shown = page.attributes("[data-test='target-way']", "data-value").await?;
    let best = page.attributes("[data-test='target-way']", "data-best").await?;
    // A table has elements for the rows in sight only.
    ensure((5..=ways.len()).contains(&shown.len()), || format!("{} of {} ways", shown.len(), ways.len()))?;
    for ((way, shown), best) in ways.iter().zip(&shown).zip(&best) {
        let percent = way["faster_percent"]
            .as_u64()
            .or(way["less_percent"].as_u64())
            .map_or_else(String::new, |percent| percent.to_string());
        same("percent", shown.clone(), percent)?;
        near("at best", best.parse().unwrap_or(f64::NAN), way["at_best_us"].as_f64())?;
    }
    let sentence = page.text("[data-test='target-sentence']").await?;
    let reaching = format!("{} endpoints alone could", said["reaching"]);
    ensure(sentence.contains(&reaching), || format!("{reaching:?} is not in {sentence:?}"))?;
    page.visible("[data-test='target-budgets'] li").await?;
    let json = exported(page, "[data-test='target']", "json").await?;
    same("the export", serde_json::from_str::<Value>(&json)?, said.clone())?;
    page.picture("flow-target").await?;
    // The median is at the target already.
    page.click("[data-test='target-p50']").await?;
    page.hidden("[data-test='target-way']").await?;
    page.ready().await?;
    let sentence = page.text("[data-test='target-sentence']").await?;
    ensure(sentence.contains("nothing to do"), || format!("p50 has {sentence:?}"))?;
    page.click("[data-test='target-p99']").await?;
    page.visible("[data-test='target-way']").await?;
    page.ready().await?;
    page.click("[data-test='target-way'][data-row='1']").await?;
    page.ready().await?;
    page.click("[data-test='target-try']").await?;
    page.visible("[data-test='whatif-change']").await?;
    page.ready().await?;
    let after = page.number("[data-test='after-p99']", "data-value").await?;
    ensure(after <= us, || format!("the what-if has a p99 of {after}, the target is {us}"))
}

/// Opens the address of the page anew: it shows the same timeout.
async fn reopened(page: &Page, file: &Path) -> Outcome {
    let hash = page.run("return location.hash.slice(1)").await?;
    let figure = "[data-test='failing fast-mean']";
    let before = page.number(figure, "data-value").await?;
    page.open(hash.as_str().unwrap_or_default()).await?;
    page.drop_files(&[file.to_owned()]).await?;
    page.ready().await?;
    same("mean by its address", page.number(figure, "data-value").await?, before)
}

pub async fn a_timeout_of_the_selected_call_cuts_what_the_binary_says(page: &Page) -> Outcome {
    let file = flow_at(page, "&panel=timeout").await?;
    let words = page.text("[data-test='timeout-words']").await?;
    ensure(words.contains("Select a call"), || format!("without a call there is {words:?}"))?;
    page.click("[data-test='panel-calls']").await?;
    page.click("[data-test='call'][data-row='0']").await?;
    page.click("[data-test='panel-timeout']").await?;
    page.visible("[data-test='timeout-figures'] td").await?;
    page.ready().await?;
    let label = page.attributes("[data-test='call'][data-row='0']", "data-label").await?.remove(0);
    let report = native(&OF_PRODUCT, &[&file])?;
    let node = report["nodes"].as_array().into_iter().flatten().find(|node| node["name"] == label.as_str());
    let node = node.ok_or_else(|| Failure(format!("the binary has no call {label}")))?;
    let name = |key: &str| node[key].as_str().unwrap_or_default();
    let endpoint = format!("{}:{}", name("service"), name("operation"));
    let check = async |argument: &str| -> Outcome<Value> {
        let said = native(&with(&["--timeout", argument]), &[&file])?;
        let columns =
            [("as it is", "latency_us"), ("failing fast", "failing_fast_us"), ("retried once", "retried_us")];
        for name in ["p50", "p95", "p99", "mean"] {
            for (head, key) in columns {
                let shown = page.number(&format!("[data-test='{head}-{name}']"), "data-value").await?;
                near(&format!("{head} {name}"), shown, said[key][name].as_f64())?;
            }
        }
        let json = exported(page, "[data-test='timeout']", "json").await?;
        same("the export", serde_json::from_str::<Value>(&json)?, said.clone())?;
        Ok(said)
    };
    let suggested = check(&endpoint).await?;
    // Its address is about the same call, also where the timeout is the one suggested.
    reopened(page, &file).await?;
    // Half of the calls.
    let us = suggested["call_latency_us"]["p50"].as_f64().unwrap_or(f64::NAN).floor();
    write(page, "timeout-time", "2 ms 3").await?;
    page.visible("[data-test='timeout-time-trouble']").await?;
    write(page, "timeout-time", &format!("{us} us")).await?;
    page.hidden("[data-test='timeout-time-trouble']").await?;
    page.visible("[data-test='timeout-suggested']").await?;
    page.ready().await?;
    let said = check(&format!("{endpoint}={us}us")).await?;
    ensure(said["cut_requests"].as_u64() > Some(0), || format!("{us} us cuts nothing"))?;
    page.picture("flow-timeout").await?;
    reopened(page, &file).await?;
    // As a change beside others.
    let mean = page.number("[data-test='retried once-mean']", "data-value").await?;
    page.click("[data-test='timeout-try-retried']").await?;
    page.visible("[data-test='whatif-change']").await?;
    page.ready().await?;
    same("mean in the what-if", page.number("[data-test='after-mean']", "data-value").await?, mean)?;
    page.click("[data-test='panel-timeout']").await?;
    page.ready().await?;
    write(page, "timeout-time", "12").await?;
    page.visible("[data-test='timeout-time-trouble']").await?;
    page.click("[data-test='timeout-suggested']").await?;
    page.hidden("[data-test='timeout-suggested']").await?;
    page.hidden("[data-test='timeout-time-trouble']").await?;
    page.ready().await?;
    let field = page.run("return document.querySelector('[data-test=\"timeout-time\"]').value").await?;
    same("the field", field, json!(""))?;
    check(&endpoint).await?;
    // All calls into a service, whoever makes them; and the call again, once it is chosen.
    let choose = "const list = document.querySelector('[data-test=\"timeout-service\"]'); \
                  list.value = [...list.options].at(-1).value; list.dispatchEvent(new Event('change')); return list.value";
    let service = page.run(choose).await?;
    page.ready().await?;
    check(&format!("in:{}", service.as_str().unwrap_or_default())).await?;
    reopened(page, &file).await
}

pub async fn a_hundred_calls_are_shown(page: &Page) -> Outcome {
    let file = generated("wide.json", "--traces 20 --spans 100 --shape wide --seed 4")?;
    page.open("view=flow").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let shown = page.number("[data-test='flow']", "data-nodes").await?;
    ensure(shown >= 90.0, || format!("only {shown} calls"))?;
    page.picture("flow-wide").await
}

pub async fn drag_and_slack_stand_in_the_timeline(page: &Page) -> Outcome {
    let file = shop()?;
    page.open(&format!("view=trace&{PRODUCT}")).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.run(SPANS_AS_TABLE).await?;
    page.visible("[data-test='sort-drag']").await?;
    page.click("[data-test='span'][data-span='1']").await?;
    page.ready().await?;
    page.visible("[data-test='span-drag']").await?;
    page.click("[data-test='slack']").await?;
    page.picture("timeline-slack").await
}

pub async fn it_opens_where_most_is_recoverable_and_keeps_its_model_behind_a_button(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("view=flow").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let parents = native(&["flow", "--json"], &[&file])?;
    let parents = parents["parents"].as_array().into_iter().flatten();
    let first = parents.max_by_key(|parent| parent["recoverable_us"].as_u64());
    let calls = first.and_then(|parent| parent["nodes"].as_u64()).unwrap_or_default();
    same("calls", page.number("[data-test='flow']", "data-nodes").await? as u64, calls)?;
    page.hidden("[data-test='flow-tau']").await?;
    page.hidden("[data-test='panel-prediction']").await?;
    page.click("[data-test='flow-model']").await?;
    page.visible("[data-test='flow-tau']").await?;
    page.picture("flow-model").await?;
    page.click("[data-test='open-prediction']").await?;
    page.visible("[data-test='panel-prediction']").await
}

/// Checks that the map of the page is that of the binary, called with these words and files.
async fn same_map(page: &Page, words: &[&str], files: &[&Path]) -> Outcome<Value> {
    page.visible("[data-test='service-map']").await?;
    page.ready().await?;
    let said = native(words, files)?;
    let json = exported(page, "[data-test='map-tools']", "json").await?;
    same("the export", serde_json::from_str::<Value>(&json)?, said.clone())?;
    let count = |list: &str| said[list].as_array().map_or(0, Vec::len);
    let shown = page.number("[data-test='service-map']", "data-services").await?;
    same("services", shown as usize, count("services"))?;
    let shown = page.number("[data-test='service-map']", "data-calls").await?;
    same("kinds of calls", shown as usize, count("calls"))?;
    let waits = page.attributes("[data-test='map-call']", "data-value").await?;
    ensure(waits.len() >= 3, || format!("only {} rows", waits.len()))?;
    for (at, shown) in waits.iter().enumerate() {
        let of = said["calls"][at]["wait"]["mean_us"].as_f64();
        near(&format!("wait {at}"), shown.parse().unwrap_or(f64::NAN), of)?;
    }
    Ok(said)
}

pub async fn the_map_of_services_is_that_of_the_binary_and_leads_on(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("view=flow").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.click("[data-test='flow-map']").await?;
    let hash = "return location.hash";
    page.until("the map in the address", hash, |hash| hash.as_str().is_some_and(|h| h.contains("map=1")))
        .await?;
    let said = same_map(page, &["flow", "--services", "--json"], &[&file]).await?;
    page.hidden("[data-test='flow']").await?;
    page.hidden("[data-test='call']").await?;
    page.picture("service-map").await?;
    // By keys: the first service, then one that it calls.
    page.run("document.querySelector(\"[data-test='service-map']\").focus()").await?;
    let head = "return document.querySelector(\"[data-test='detail'] h2\")?.textContent ?? ''";
    let mut names = Vec::new();
    for key in ["ArrowRight", "ArrowRight"] {
        page.key(key, Modifiers::None).await?;
        page.visible("[data-test='map-facts']").await?;
        let before = names.last().cloned().unwrap_or(Value::Null);
        names.push(page.until("another service", head, |name| *name != before).await?);
    }
    let known = |name: &Value| {
        let is_it = |one: &Value| name.as_str().is_some_and(|name| Some(name) == one["service"].as_str());
        said["services"].as_array().into_iter().flatten().any(is_it)
    };
    ensure(names.iter().all(known), || format!("{names:?} are no services"))?;
    // What is selected is found in all views.
    page.key("Enter", Modifiers::None).await?;
    page.until("the search", hash, |hash| hash.as_str().is_some_and(|h| h.contains("search="))).await?;
    page.run("history.back()").await?;
    page.until("no search", hash, |hash| hash.as_str().is_some_and(|h| !h.contains("search="))).await?;
    page.click("[data-test='flow-one']").await?;
    page.visible("[data-test='flow']").await?;
    page.hidden("[data-test='service-map']").await
}

pub async fn the_map_of_two_sets_colours_what_surely_changed(page: &Page) -> Outcome {
    let before = generated("map-before.json", "--traces 200 --spans 30 --seed 5")?;
    let change = "--traces 200 --spans 30 --seed 6 --speed pricing:Pricing/GetPrices=+300%";
    let after = generated("map-after.json", change)?;
    page.open("view=flow&map=1").await?;
    page.drop_files(std::slice::from_ref(&before)).await?;
    page.ready().await?;
    page.drop_files_on("[data-test='drop-compare']", std::slice::from_ref(&after)).await?;
    page.visible("[data-test='sides']").await?;
    page.ready().await?;
    page.click("[data-test='view-flow']").await?;
    let words = ["flow", "--services", "--json", "--baseline", &before.to_string_lossy(), "--"];
    let said = same_map(page, &words, &[&after]).await?;
    let pricing = said["services"].as_array().into_iter().flatten().find(|one| one["service"] == "pricing");
    ensure(pricing.is_some_and(|one| one["slower"].is_string()), || format!("{pricing:?}"))?;
    let tones = page.attributes("[data-test='map-call'][data-service='pricing']", "data-tone").await?;
    // The one that is waited for longest; of few calls it may be chance.
    ensure(tones.first().is_some_and(|tone| tone == "slower"), || format!("{tones:?}"))?;
    ensure(tones.iter().all(|tone| tone != "faster" && tone != "fails"), || format!("{tones:?}"))?;
    page.picture("service-map-sets").await
}

/// Makes traces of an endpoint that makes twenty calls one after the other.
fn twenty_calls() -> Outcome<PathBuf> {
    let span = |trace: u32, at: u32, name: &str, from: u32, us: u32| {
        let parent = json!([{ "refType": "CHILD_OF", "traceID": format!("{trace:032x}"), "spanID": "1" }]);
        json!({
            "traceID": format!("{trace:032x}"), "spanID": format!("{at:x}"), "processID": "p", "operationName": name,
            "startTime": 1_700_000_000_000_000_u64 + u64::from(trace * 10_000_000 + from), "duration": us, "tags": [],
            "references": if at == 1 { json!([]) } else { parent },
        })
    };
    let traces = (1..=5u32).map(|trace| {
        let calls = (0..20).map(|at| span(trace, at + 2, &format!("Profiles/LoadPart{at:02}"), 100 + at * 2000, 1500));
        let spans: Vec<Value> = std::iter::once(span(trace, 1, "GET /profile", 0, 41_000)).chain(calls).collect();
        json!({ "traceID": format!("{trace:032x}"), "spans": spans, "processes": { "p": { "serviceName": "shop", "tags": [] } } })
    });
    let file = scratch()?.join("twenty.json");
    std::fs::write(&file, json!({ "data": traces.collect::<Vec<Value>>() }).to_string())?;
    Ok(file)
}

pub async fn names_of_a_long_flow_are_not_cut_to_a_few_letters(page: &Page) -> Outcome {
    page.open("view=findings").await?;
    // What a canvas writes is seen only by who listens.
    page.run(
        "window.written = []; const plain = CanvasRenderingContext2D.prototype.fillText; \
         CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) { window.written.push(text); \
         return plain.call(this, text, ...rest) }",
    )
    .await?;
    page.drop_files(&[twenty_calls()?]).await?;
    page.ready().await?;
    page.click("[data-test='view-flow']").await?;
    page.ready().await?;
    same("calls", page.number("[data-test='flow']", "data-nodes").await?, 20.0)?;
    page.drawn().await?;
    let written =
        page.run("return [...new Set(window.written)].filter((text) => /LoadP/.test(text))").await?;
    let written: Vec<String> = serde_json::from_value(written)?;
    let whole = |text: &&String| text.contains("LoadPart") && !text.contains('\u{2026}');
    ensure(written.iter().filter(whole).count() >= 6 && written.iter().all(|text| whole(&text)), || {
        format!("the flow says {written:?}")
    })?;
    page.picture("flow-long").await
}
