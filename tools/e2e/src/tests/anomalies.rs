//! Abnormal requests: the page finds those that `pathlight anomaly` finds, and says why.

use std::path::Path;

use e2e::browser::Page;
use e2e::failure::{Failure, Outcome, ensure, same};
use serde_json::Value;

use super::drop::{generated, native, shop};
use super::flow::exported;
use super::tables::{catch_files, caught};

const VIEW: &str = "[data-test='anomaly-view']";
const STRIP: &str = "[data-test='anomaly-strip']";

/// Returns what the binary finds in one file, each request against all others.
fn ranked(file: &Path, more: &[&str]) -> Outcome<Value> {
    native(&[&["anomaly", "--json"][..], more, &["--train"][..]].concat(), &[file])
}

/// Returns what the binary finds in one file, learned from another.
fn found(train: &Path, test: &Path, more: &[&str]) -> Outcome<Value> {
    let judged = test.to_string_lossy();
    native(&[&["anomaly", "--json"][..], more, &["--test", &*judged, "--train"][..]].concat(), &[train])
}

async fn findings(page: &Page) -> Outcome<Value> {
    Ok(serde_json::from_str(&exported(page, VIEW, "json").await?)?)
}

/// Opens a view and drops files, the second as side B.
async fn shown(page: &Page, fragment: &str, files: &[&Path]) -> Outcome {
    page.open(fragment).await?;
    for (at, file) in files.iter().enumerate() {
        let file = [file.to_path_buf()];
        if at == 0 {
            page.drop_files(&file).await?;
        } else {
            page.drop_files_on("[data-test='drop-compare']", &file).await?;
            // Until it is taken, the page is as ready as before.
            page.visible("[data-test='sides']").await?;
        }
        page.ready().await?;
    }
    Ok(())
}

/// Compares the rows of the table, the strip and the export with what the binary found.
async fn agree(page: &Page, report: &Value) -> Outcome {
    let abnormal = page.number(STRIP, "data-abnormal").await?;
    same("abnormal requests", Some(abnormal as u64), report["abnormal"].as_u64())?;
    let ids = page.attributes("[data-test='anomaly']", "data-trace").await?;
    ensure(ids.len() >= 5, || format!("only {} rows", ids.len()))?;
    let traces = report["traces"].as_array().map(Vec::as_slice).unwrap_or_default();
    same("requests", page.number(STRIP, "data-requests").await? as usize, traces.len())?;
    let flags = page.attributes("[data-test='anomaly']", "data-abnormal").await?;
    for ((id, flag), trace) in ids.iter().zip(&flags).zip(traces) {
        same("trace", Some(id.as_str()), trace["trace_id"].as_str())?;
        // Ranks of one set have no verdict.
        same("abnormal", flag == "true", trace["abnormal"].as_bool().unwrap_or(false))?;
    }
    same("the export", &findings(page).await?, report)
}

/// Moves the slider of false alarms.
async fn accept(page: &Page, place: u32) -> Outcome {
    let script = format!(
        "const e = document.querySelector('[data-test=\"anomaly-rate\"]'); \
         e.value = {place}; e.dispatchEvent(new Event('change'))"
    );
    page.run(&script).await?;
    page.drawn().await?;
    page.ready().await
}

pub async fn the_abnormal_requests_are_those_of_the_binary(page: &Page) -> Outcome {
    let file = shop()?;
    // Alone, requests have a rank and no verdict, and there is no rate to accept.
    shown(page, "view=anomalies", &[&file]).await?;
    let alone = ranked(&file, &[])?;
    agree(page, &alone).await?;
    same("verdicts", alone["verdicts"].as_bool(), Some(false))?;
    page.hidden("[data-test='anomaly-rate']").await?;
    let title = page.text("[data-test='anomaly-title']").await?;
    ensure(title.contains("only a ranking"), || title.clone())?;
    page.picture("anomalies").await?;
    // Set B is judged by set A without a word.
    let odd = generated("odd-sets.json", "--traces 60 --spans 30 --shape mixed --seed 22")?;
    shown(page, "view=anomalies&against=set", &[&file, &odd]).await?;
    agree(page, &found(&file, &odd, &[])?).await?;
    // Some of set A may be abnormal.
    page.run(
        "const e = document.querySelector('[data-test=\"anomaly-contaminated\"]'); \
         e.value = 5; e.dispatchEvent(new Event('change'))",
    )
    .await?;
    page.drawn().await?;
    page.ready().await?;
    agree(page, &found(&file, &odd, &["--contaminated", "0.05"])?).await?;
    let title = page.text("[data-test='anomaly-title']").await?;
    ensure(title.contains("of the baseline may be abnormal"), || title.clone())?;
    let link = page.run("return location.hash").await?;
    let link = link.as_str().unwrap_or_default().to_owned();
    ensure(link.contains("contaminated=0.05"), || format!("the address is {link}"))?;
    shown(page, &link, &[&file, &odd]).await?;
    agree(page, &found(&file, &odd, &["--contaminated", "0.05"])?).await?;
    shown(page, "view=anomalies&against=set", &[&file, &odd]).await?;
    accept(page, 7).await?;
    let many = found(&file, &odd, &["--alpha", "0.2"])?;
    agree(page, &many).await?;
    let link = page.run("return location.hash").await?;
    let link = link.as_str().unwrap_or_default().to_owned();
    ensure(link.contains("alpha=0.2"), || format!("the address is {link}"))?;
    let words = page.text("[data-test='anomaly-rate-words']").await?;
    ensure(words.starts_with("200 false alarms"), || words.clone())?;
    let groups = page.run("return document.querySelectorAll('[data-test=\"anomaly-group\"]').length").await?;
    let listed = many["groups"].as_array().map_or(0, Vec::len).min(8);
    same("groups", groups.as_u64(), Some(listed as u64))?;
    // A group opens, and a click keeps the requests of a verdict in all views, here too.
    page.click("[data-test='anomaly-group']").await?;
    page.visible("[data-test='anomaly-of-group']").await?;
    let words = page.text("[data-test='anomaly-verdict']").await?;
    page.click("[data-test='anomaly-verdict']").await?;
    page.ready().await?;
    let kept = page.run("return location.hash").await?;
    ensure(kept.to_string().contains("only.B."), || format!("the address is {kept}"))?;
    let of_verdict = words.split(' ').nth(1).and_then(|requests| requests.parse().ok());
    same("requests kept", Some(page.number(STRIP, "data-requests").await? as u64), of_verdict)?;
    shown(page, &link, &[&file, &odd]).await?;
    agree(page, &many).await?;
    // With few requests an alarm needs a greater rate, and the page says so.
    let few = generated("few.json", "--traces 40 --spans 30 --shape mixed --seed 5")?;
    shown(page, "view=anomalies&against=set", &[&few, &odd]).await?;
    agree(page, &found(&few, &odd, &[])?).await?;
    let title = page.text("[data-test='anomaly-title']").await?;
    ensure(title.contains("the rate is raised to 2.4"), || title.clone())?;
    // No request left to learn from.
    page.go("view=anomalies&normal=others&tag.region=nowhere").await?;
    page.ready().await?;
    let empty = page.text("[data-test='anomaly-empty']").await?;
    ensure(empty.contains("no normal request"), || empty.clone())
}

pub async fn a_chosen_request_stands_beside_the_normal_one_most_like_it(page: &Page) -> Outcome {
    let file = shop()?;
    let report = ranked(&file, &[])?;
    shown(page, "view=anomalies", &[&file]).await?;
    // Vectors are saved as the binary writes them.
    catch_files(page).await?;
    let saved = caught(page, &["[data-test='anomaly-vectors']", "[data-test='vectors-stv.json']"]).await?;
    let vectors = native(&["anomaly", "--json", "--export-vectors", "stv", "--train"], &[&file])?;
    same("vectors", serde_json::from_str::<Value>(&saved)?, vectors)?;
    page.click("[data-test='anomaly']").await?;
    page.visible("[data-test='anomaly-pair']").await?;
    page.ready().await?;
    page.hidden(STRIP).await?;
    let first = &report["traces"][0];
    let list = "return [...document.querySelectorAll('[data-test=\"anomaly-reasons\"] li')].map((e) => e.textContent)";
    // The window is 1280 by 800: reasons and groups leave rows of the table in sight.
    let rows_in_sight = "const table = document.querySelector('[data-test=\"anomaly-table\"]').getBoundingClientRect(); \
         return [...document.querySelectorAll('[data-test=\"anomaly\"]')].filter((row) => { const at = row.getBoundingClientRect(); \
         return at.top >= table.top && at.bottom <= Math.min(table.bottom, innerHeight) && \
         row.contains(document.elementFromPoint(at.left + 40, (at.top + at.bottom) / 2)); }).length";
    let in_sight = page.run(rows_in_sight).await?;
    ensure(in_sight.as_u64() >= Some(2), || format!("{in_sight} rows of the table are in sight"))?;
    page.visible("[data-test='anomaly-group']").await?;
    let words = first["reasons"].as_array().into_iter().flatten().map(|reason| reason["text"].clone());
    same("reasons", page.run(list).await?, Value::Array(words.collect()))?;
    let [odd, normal] =
        ["anomaly-timeline", "anomaly-nearest-timeline"].map(|name| format!("[data-test='{name}']"));
    same(
        "the ends of both axes",
        page.number(&odd, "data-end").await?,
        page.number(&normal, "data-end").await?,
    )?;
    let signs = page.number(&odd, "data-signs").await? + page.number(&normal, "data-signs").await?;
    ensure(signs >= 1.0, || "nothing is marked".to_owned())?;
    // Its colours have a legend.
    let legend = "[data-test='anomaly-pair'] [data-test='service-legend']";
    page.click(legend).await?;
    page.visible("[data-test='anomaly-pair'] .legend-row").await?;
    page.click(legend).await?;
    page.hidden("[data-test='anomaly-nearest-timeline-empty']").await?;
    page.picture("anomalies-side-by-side").await?;
    page.click("[data-test='anomaly-nearest']").await?;
    page.visible("[data-test='timeline-view']").await?;
    page.ready().await?;
    let title = page.run("return document.querySelector('[data-test=\"trace-id\"]').title").await?;
    let nearest = first["nearest_trace_id"].as_str().unwrap_or("none");
    ensure(title.to_string().contains(nearest), || format!("{title} instead of {nearest}"))?;
    page.run("history.back()").await?;
    page.visible(VIEW).await?;
    page.ready().await?;
    page.click("[data-test='anomaly']").await?;
    page.click("[data-test='anomaly-pair-close']").await?;
    page.visible(STRIP).await?;
    page.hidden("[data-test='anomaly-pair']").await
}

pub async fn another_set_or_an_earlier_time_is_normal(page: &Page) -> Outcome {
    let normal = shop()?;
    let slow = "--traces 60 --spans 30 --shape mixed --seed 22 --inject PLACE=+400000@0.3";
    let places =
        String::from_utf8_lossy(&e2e::process::pathlight(&["generate", "--list-places"])?).into_owned();
    let place = places.split('\t').next().unwrap_or_default();
    let odd = generated("odd.json", &slow.replace("PLACE", place))?;
    shown(page, "view=anomalies&against=set&alpha=0.02", &[&normal, &odd]).await?;
    let report = found(&normal, &odd, &["--alpha", "0.02"])?;
    agree(page, &report).await?;
    ensure(report["abnormal"].as_u64() >= Some(5), || format!("{} abnormal", report["abnormal"]))?;
    page.click("[data-test='anomaly']").await?;
    page.visible("[data-test='anomaly-pair']").await?;
    page.ready().await?;
    // What is said of a request is learned, and unlearned when it is taken back.
    let first = report["traces"][0]["trace_id"].as_str().unwrap_or("none");
    for (button, option) in [("anomaly-normal-label", "--normal"), ("anomaly-incident-label", "--incident")] {
        page.click(&format!("[data-test='anomaly-reasons'] [data-test='{button}']")).await?;
        page.drawn().await?;
        page.ready().await?;
        let taught = found(&normal, &odd, &["--alpha", "0.02", option, first])?;
        same("labelled requests", taught["taught"][&option[2..]].as_u64(), Some(1))?;
        same("judged by a taught baseline", &findings(page).await?, &taught)?;
    }
    page.click("[data-test='anomaly-reasons'] [data-test='anomaly-incident-label']").await?;
    page.drawn().await?;
    page.ready().await?;
    agree(page, &report).await?;
    page.hidden("[data-test='anomaly-nearest-timeline-empty']").await?;
    // The normal request is one of the first set, the odd one of the second.
    for (link, key) in [("anomaly-nearest", "nearest_trace_id"), ("anomaly-open", "trace_id")] {
        page.click(&format!("[data-test='{link}']")).await?;
        page.visible("[data-test='timeline-view']").await?;
        page.ready().await?;
        let title = page.run("return document.querySelector('[data-test=\"trace-id\"]')?.title").await?;
        let wanted = report["traces"][0][key].as_str().unwrap_or("none");
        ensure(title.to_string().contains(wanted), || format!("{title} instead of {wanted}"))?;
        page.run("history.back()").await?;
        page.visible(VIEW).await?;
        page.ready().await?;
        page.click("[data-test='anomaly']").await?;
        page.ready().await?;
    }
    // The earlier half of one set.
    shown(page, "view=anomalies", &[&normal]).await?;
    page.run(
        "const e = document.querySelector('[data-test=\"anomaly-normal\"]'); \
         e.value = 'before'; e.dispatchEvent(new Event('change'))",
    )
    .await?;
    page.drawn().await?;
    page.ready().await?;
    let report = findings(page).await?;
    let link = page.run("return decodeURIComponent(location.hash)").await?;
    let half =
        link.as_str().and_then(|link| link.split("before:").nth(1)?.split('&').next()?.parse::<u64>().ok());
    let half = half.ok_or_else(|| Failure(format!("the address is {link}")))?;
    let starts =
        report["traces"].as_array().into_iter().flatten().filter_map(|trace| trace["start_us"].as_u64());
    let starts: Vec<u64> = starts.collect();
    ensure(!starts.is_empty() && starts.iter().all(|start| *start >= half), || {
        format!("{half}: {starts:?}")
    })?;
    same("requests", report["trained"].as_u64(), Some(400 - starts.len() as u64))
}

pub async fn an_auto_encoder_is_trained_watched_and_cancelled(page: &Page) -> Outcome {
    let file = shop()?;
    shown(page, "view=anomalies", &[&file]).await?;
    page.go("view=anomalies&network=200,4,0,1000,1").await?;
    page.click("[data-test='anomaly-vae']").await?;
    page.visible("[data-test='anomaly-training']").await?;
    let script = "return document.querySelector('[data-test=\"anomaly-training\"] .loss-curve path')?.getAttribute('d') ?? ''";
    page.until("a curve of losses", script, |path| path.as_str().is_some_and(|path| path.contains('L')))
        .await?;
    page.picture("anomalies-training").await?;
    page.click("[data-test='anomaly-cancel']").await?;
    page.ready().await?;
    page.hidden("[data-test='anomaly-training']").await?;
    let link = page.run("return location.hash").await?;
    ensure(!link.to_string().contains("vae"), || format!("the address is {link}"))?;
    shown(page, "view=anomalies&detector=vae&network=16,2,1,3,1", &[&file]).await?;
    let sizes = ["--vae", "--hidden", "16", "--latent", "2", "--flow", "1", "--epochs", "3"];
    agree(page, &ranked(&file, &sizes)?).await?;
    page.run(
        "const e = document.querySelector('[data-test=\"anomaly-epochs\"]'); \
         e.value = 2; e.dispatchEvent(new Event('change'))",
    )
    .await?;
    page.drawn().await?;
    page.ready().await?;
    let sizes = ["--vae", "--hidden", "16", "--latent", "2", "--flow", "1", "--epochs", "2"];
    agree(page, &ranked(&file, &sizes)?).await
}

pub async fn the_evaluation_has_the_figures_of_the_binary(page: &Page) -> Outcome {
    let file = shop()?;
    shown(page, "view=anomalies&detector=vae&network=16,2,0,2,1", &[&file]).await?;
    page.click("[data-test='anomaly-evaluate']").await?;
    page.visible("[data-test='evaluation-row']").await?;
    page.ready().await?;
    let sizes =
        ["anomaly", "--json", "--vae", "--hidden", "16", "--latent", "2", "--flow", "0", "--epochs", "2"];
    let report = native(&[&sizes[..], &["--evaluate", "--train"]].concat(), &[&file])?;
    let script = "return [...document.querySelectorAll('[data-test=\"evaluation-row\"]')].map((row) => \
                  [...row.cells].map((cell) => cell.textContent))";
    let rows: Vec<Vec<String>> = serde_json::from_value(page.run(script).await?)?;
    let figures = report["rows"].as_array().map(Vec::as_slice).unwrap_or_default();
    // The whole tree twice, and on two kinds of vectors the rule and the auto-encoder by two thresholds, each on 15 ways
    // to make a request abnormal.
    same("rows", (rows.len(), figures.len()), (120, 120))?;
    for (row, figure) in rows.iter().zip(figures) {
        let detector = figure["detector"].as_str().unwrap_or("none");
        ensure(row[0].starts_with(detector), || format!("{} instead of {detector}", row[0]))?;
        same("vectors", Some(row[1].as_str()), figure["vectors"].as_str().or(Some("\u{2013}")))?;
        same("injection", Some(row[2].as_str()), figure["injection"].as_str())?;
        let auprc = format!("{:.4}", figure["auprc"].as_f64().unwrap_or(f64::NAN));
        same("AUPRC", row[3].as_str(), auprc.as_str())?;
        same("features", row[8].parse().ok(), figure["features"].as_u64())?;
    }
    page.picture("anomalies-evaluated").await
}

pub async fn a_saved_model_finds_the_same_again(page: &Page) -> Outcome {
    let file = shop()?;
    shown(page, "view=anomalies", &[&file]).await?;
    page.catch_file().await?;
    page.click("[data-test='anomaly-save-model']").await?;
    page.until("the model", "return window.handedOut?.size ?? 0", |size| size.as_u64() > Some(1000)).await?;
    page.run("window.model = window.handedOut").await?;
    let load = "const files = new DataTransfer(); files.items.add(new File([window.model], 'model.bin')); \
                const e = document.querySelector('[data-test=\"anomaly-model-file\"]'); \
                e.files = files.files; e.dispatchEvent(new Event('change'))";
    let other = generated("other.json", "--traces 50 --spans 30 --shape mixed --seed 77")?;
    page.run(load).await?;
    let label = "return document.querySelector('[data-test=\"anomaly-model\"]').textContent";
    page.until("the model to judge", label, |label| label == "Forget baseline").await?;
    page.ready().await?;
    let normal =
        "return document.querySelector('[data-test=\"anomaly-normal\"]').selectedOptions[0].textContent";
    same("what is normal", page.run(normal).await?, "A loaded baseline".into())?;
    page.hidden("[data-test='anomaly-contaminated']").await?;
    // Other traces by the same baseline: those it has learned from are not there to be seen.
    page.click("[data-test='more']").await?;
    page.click("[data-test='clear']").await?;
    page.state("empty").await?;
    page.go("view=anomalies").await?;
    page.drop_files(std::slice::from_ref(&other)).await?;
    page.ready().await?;
    same("judged by the model", &findings(page).await?, &found(&file, &other, &[])?)?;
    page.click("[data-test='anomaly']").await?;
    page.visible("[data-test='anomaly-nearest-timeline-empty']").await?;
    page.ready().await?;
    let words = page.text("[data-test='anomaly-nearest-timeline-empty']").await?;
    ensure(words.contains("not loaded"), || words.clone())?;
    // Something else to judge by takes its place. A file that is no model is refused.
    page.run(
        "const e = document.querySelector('[data-test=\"anomaly-normal\"]'); \
         e.value = 'others'; e.dispatchEvent(new Event('change'))",
    )
    .await?;
    page.drawn().await?;
    page.ready().await?;
    same("what is normal", page.run(normal).await?, "Each request against all others".into())?;
    page.until("no model", label, |label| label == "Load baseline\u{2026}").await?;
    page.run(&format!("window.model = new Blob(['no model']); {load}")).await?;
    page.visible("[data-test='message']").await?;
    let error = page.text("[data-test='message']").await?;
    ensure(error.contains("model.bin cannot be used"), || error.clone())
}
