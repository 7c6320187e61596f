//! From the button of each finding to what it promised: its view, with its subject on screen. Of two sets, that all places
//! say the same service first.

use std::path::PathBuf;

use e2e::browser::{Page, plain};
use e2e::failure::{Outcome, ensure, same};
use e2e::process::pathlight;
use serde_json::Value;

use super::drop::{generated, native};
use super::findings::VIEW;
use super::real::data;

/// Generated sets to walk through, from seed 0 on; `PATHLIGHT_WALK` names another number.
const SEEDS: u64 = 2;

/// Sets with a labelled fault.
const LABELLED: [&str; 2] = ["onlineboutique-nezha-2022-08-22/cases", "trainticket-nezha-2023-01-29/cases"];

fn seeds() -> u64 {
    std::env::var("PATHLIGHT_WALK").ok().and_then(|words| words.parse().ok()).unwrap_or(SEEDS)
}

/// Returns the options of a generated set in which one place, drawn by the seed, takes 200 ms more.
fn slowed(seed: u64) -> Outcome<String> {
    let places = String::from_utf8_lossy(&pathlight(&["generate", "--list-places"])?).into_owned();
    let places: Vec<&str> = places.lines().filter_map(|line| line.split('\t').next()).collect();
    let drawn = places[(seed as usize * 37 + 11) % places.len()];
    // Words are divided at blanks, which gaps have.
    let place = if drawn.contains(' ') { "catalog:Catalog/GetProducts:0" } else { drawn };
    let share = if seed.is_multiple_of(2) { "" } else { "@0.1" };
    Ok(format!("--traces 300 --seed {seed} --inject {place}=+200000{share}"))
}

/// Returns the view that the evidence of a kind is in; of two sets, what compares parts of one is a flame graph.
fn evidence(kind: &str, is_of_sets: bool) -> &'static str {
    match kind {
        "changed" => "compare",
        "slow_tail" if !is_of_sets => "compare",
        "one_after_the_other" => "flow",
        "errors" | "retries" => "errors",
        "who" => "split",
        "since_when" | "bursts" | "read_with_care" => "requests",
        "worth_making_faster" | "redundant_calls" => "endpoints",
        "abnormal" => "anomalies",
        _ => "flame",
    }
}

async fn at_findings(page: &Page) -> Outcome {
    page.until("the findings", VIEW, |view| view == "findings").await?;
    page.ready().await?;
    page.hidden("[data-test='findings-coming']").await
}

/// Presses the button of each card and looks at where it leads.
async fn walk(page: &Page, report: &Value, is_of_sets: bool) -> Outcome {
    page.click("[data-test='view-findings']").await?;
    let findings = report["findings"].as_array().map_or(&[][..], Vec::as_slice);
    for (at, finding) in findings.iter().enumerate() {
        while page.run(VIEW).await? != "findings" {
            page.run("history.back()").await?;
            page.drawn().await?;
        }
        at_findings(page).await?;
        let words =
            |what: &str| format!("finding {at}, {}: {what}", finding["text"].as_str().unwrap_or_default());
        let press = |button: &str, at: usize| {
            format!(
                "document.querySelectorAll(\"[data-test='finding']\")[{at}].querySelector(\"[data-test='{button}']\").click()"
            )
        };
        // What a finding explains has a button of its own; here the first of them.
        let blamed = &finding["blamed"];
        let who = (!blamed["with_tag"].is_null()).then_some("who");
        let explained = who.or((!blamed["since"].is_null()).then_some("since_when"));
        if let Some(kind) = explained {
            page.run(&press("finding-explained", at)).await?;
            let wanted = evidence(kind, is_of_sets);
            page.until(&words(wanted), VIEW, |view| view == wanted).await?;
            page.ready().await?;
            page.run("history.back()").await?;
            at_findings(page).await?;
        }
        page.run(&press("finding-show", at)).await?;
        let kind = finding["kind"].as_str().unwrap_or_default();
        let wanted = evidence(kind, is_of_sets);
        page.until(&words(wanted), VIEW, |view| view == wanted).await?;
        page.ready().await?;
        if kind == "changed" {
            says_one_service(page, report).await?;
            continue;
        }
        let hash = page.run("return location.hash").await?;
        if hash.as_str().is_some_and(|hash| hash.contains("search=")) {
            let found = found(page).await?;
            ensure(!found.starts_with("0 found"), || words(&found))?;
            // Of what waits for one service alone, as much is highlighted as the sentence says.
            let text = finding["text"].as_str().unwrap_or_default();
            if let Some(share) = text.strip_prefix("Waiting for ").and_then(|_| first_share(finding)) {
                ensure(plain(&found).ends_with(&share), || words(&found))?;
            }
        }
    }
    Ok(())
}

/// Returns what the search says it found.
async fn found(page: &Page) -> Outcome<String> {
    let matches = "return document.querySelector(\"[data-test='search-matches']\").textContent";
    let found =
        page.until("what is found", matches, |words| words.as_str().is_some_and(|w| w.contains("found")));
    Ok(found.await?.as_str().unwrap_or_default().to_owned())
}

/// Returns the first number of a sentence, a share of the latency.
fn first_share(finding: &Value) -> Option<String> {
    let numbers = finding["parts"].as_array()?.iter().filter_map(|part| part["number"].as_str());
    numbers.map(plain).next()
}

/// Of two sets: the service of the first finding is in the headline of Compare, and in the first row of its table.
async fn says_one_service(page: &Page, report: &Value) -> Outcome {
    let Some(service) = report["findings"][0]["place"]["service"].as_str() else { return Ok(()) };
    let headline = page.text("[data-test='verdict']").await?;
    ensure(headline.contains(service), || format!("{service} is not in {headline:?}"))?;
    if report["findings"][0]["stake_us"].as_f64().is_some_and(|us| us > 0.0) {
        page.click("[data-test='tab-services']").await?;
        let rows = page.attributes("[data-test='service-change']", "data-service").await?;
        same("first row", rows.first().map(String::as_str), Some(service))?;
    }
    Ok(())
}

async fn open(page: &Page, files: &[PathBuf]) -> Outcome {
    page.open("view=findings").await?;
    page.drop_files(files).await?;
    page.ready().await
}

pub async fn buttons_of_generated_sets_lead_to_what_they_say(page: &Page) -> Outcome {
    for seed in 0..seeds() {
        let file = generated(&format!("walk-{seed}.json"), &slowed(seed)?)?;
        open(page, std::slice::from_ref(&file)).await?;
        walk(page, &native(&["findings", "--json"], &[&file])?, false).await?;
    }
    Ok(())
}

pub async fn buttons_of_labelled_sets_lead_to_what_they_say(page: &Page) -> Outcome {
    let mut cases: Vec<PathBuf> = Vec::new();
    for set in LABELLED {
        let found = std::fs::read_dir(data(set)).into_iter().flatten().flatten();
        cases.extend(found.map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    cases.sort();
    if cases.is_empty() {
        return page.skip("there are no labelled faults among real traces");
    }
    // All of them take minutes: those that a number asks for.
    for case in cases.iter().take(seeds() as usize) {
        let [normal, fault] = ["normal.json.gz", "fault.json.gz"].map(|name| case.join(name));
        open(page, std::slice::from_ref(&normal)).await?;
        page.drop_files_on("[data-test='drop-compare']", std::slice::from_ref(&fault)).await?;
        page.ready().await?;
        let words = ["findings", "--json", &fault.to_string_lossy(), "--baseline"];
        walk(page, &native(&words, &[&normal])?, true).await?;
    }
    Ok(())
}
