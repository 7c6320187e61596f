//! The diagnosis: the page's sentences and numbers are the binary's, and lead to their evidence.

use e2e::browser::{Look, Modifiers, Page, plain};
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::process::{pathlight, root};
use serde_json::Value;
use std::path::{Path, PathBuf};

use super::drop::{generated, native, shop};

/// Opens the diagnosis of requests of a shop, some of them delayed in one place; returns their file.
async fn diagnosis_at(page: &Page, more: &str) -> Outcome<PathBuf> {
    let file = shop()?;
    page.open(&format!("view=diagnosis{more}")).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.visible("[data-test='diagnosis-view']").await?;
    Ok(file)
}

/// Returns what is copied, or saved, when `selector` is clicked.
async fn written(page: &Page, open: Option<&str>, selector: &str) -> Outcome<String> {
    page.run(
        "delete window.savedText; const make = URL.createObjectURL; \
         URL.createObjectURL = (blob) => { URL.createObjectURL = make; \
         blob.text().then((text) => { window.savedText = text }); return make.call(URL, blob) }; \
         Object.defineProperty(navigator, 'clipboard', { configurable: true, value: \
         { writeText: async (text) => { window.savedText = text } } })",
    )
    .await?;
    if let Some(open) = open {
        page.click(open).await?;
    }
    page.click(selector).await?;
    let text = page.until("the text", "return window.savedText ?? null", |text| text.is_string()).await?;
    Ok(text.as_str().unwrap_or_default().to_owned())
}

async fn exported(page: &Page, format: &str) -> Outcome<String> {
    let place = "[data-test='diagnosis-view']";
    let open = format!("{place} [data-test='export']");
    written(page, Some(&open), &format!("{place} [data-test='export-{format}']")).await
}

/// Compares the lines of the first level, and the aggregate trace, with the binary's.
async fn report_agrees(page: &Page, file: &Path, report: &Value) -> Outcome {
    let shown = page.attributes("[data-test='diagnosis-line'][data-level='1']", "data-value").await?;
    let rows = report["report"].as_array().map(Vec::as_slice).unwrap_or_default();
    let expected: Vec<String> = rows.iter().map(|row| row["total_us"].to_string()).collect();
    ensure(expected.len() >= 3, || format!("only {} endpoints in the report", expected.len()))?;
    same("time of each endpoint", shown, expected)?;
    let number = page.number("[data-test='aggregate-trace']", "data-aggregate").await?;
    let trace = native(&["diagnosis", "--aggregate", &number.to_string()], &[file])?;
    let spans = page.number("[data-test='aggregate-trace']", "data-spans").await? as usize;
    same("spans of the aggregate trace", Some(spans), trace["spans"].as_array().map(Vec::len))?;
    let nearest = page.attributes("[data-test='open-nearest']", "data-trace").await?;
    same("nearest trace", nearest.first().map(String::as_str), trace["exemplars"][0]["trace_id"].as_str())
}

pub async fn the_report_is_that_of_the_binary_and_its_lines_lead_to_evidence(page: &Page) -> Outcome {
    let file = diagnosis_at(page, "").await?;
    let report = native(&["tprof", "--json"], &[&file])?;
    report_agrees(page, &file, &report).await?;
    let words = page.text("[data-test='diagnosis-line'][data-level='3'] .tree-words").await?;
    ensure(words.contains("is slow") && words.contains("n = "), || format!("the page says {words:?}"))?;
    for (name, look) in
        [("diagnosis-narrow", Look::NARROW), ("diagnosis-dark", Look::DARK), ("diagnosis", Look::DESKTOP)]
    {
        page.look(look).await?;
        let wide = page.run("return document.documentElement.scrollWidth - innerWidth").await?;
        ensure(wide.as_i64().is_some_and(|over| over <= 0), || format!("{name} is {wide} px too wide"))?;
        page.picture(name).await?;
    }
    // Copied and saved is what the binary writes.
    let copied = written(page, Some("[data-test='copy-diagnosis']"), "[data-test='redact-list']").await?;
    page.click("[data-test='redact-close']").await?;
    let path = file.to_string_lossy();
    same("Markdown", copied.into_bytes(), pathlight(&["diagnosis", "--all", &path])?)?;
    same("JSON", serde_json::from_str::<Value>(&exported(page, "json").await?)?, report.clone())?;
    let csv = exported(page, "csv").await?;
    ensure(csv.starts_with("level,service,operation") && csv.lines().count() > 20, || csv.clone())?;
    let svg = exported(page, "svg").await?;
    ensure(svg.starts_with("<svg") && svg.contains("(problematic)"), || {
        "the SVG marks no problem".to_owned()
    })?;
    let jaeger: Value = serde_json::from_str(&exported(page, "jaeger.json").await?)?;
    same("aggregate traces for Jaeger", jaeger["data"].as_array().map(Vec::len), Some(1))?;
    // Layers 1 and 2 as a table.
    page.click("[data-test='list-layers']").await?;
    page.ready().await?;
    let layers = page.attributes("[data-test='layer-row'][data-layer='1']", "data-operation").await?;
    ensure(!layers.is_empty(), || "layer 1 is empty".to_owned())?;
    page.picture("diagnosis-layers").await?;
    page.click("[data-test='list-positions']").await?;
    page.ready().await?;
    let positions = page.attributes("[data-test='layer-row'][data-layer='3']", "data-operation").await?;
    ensure(!positions.is_empty(), || "layer 3 is empty".to_owned())?;
    page.click("[data-test='list-report']").await?;
    page.ready().await?;
    // The evidence of a line, one click away.
    page.click("[data-test='diagnosis-line'][data-level='3'] [data-test='line-nearest']").await?;
    page.visible("[data-test='timeline-view']").await?;
    page.ready().await?;
    let number = page.run("history.back(); return true").await?;
    same("back", number, Value::Bool(true))?;
    page.visible("[data-test='diagnosis-view']").await?;
    page.ready().await?;
    page.click("[data-test='diagnosis-line'][data-level='3'] [data-test='line-flow']").await?;
    page.visible("[data-test='flow-view']").await?;
    page.go("view=diagnosis").await?;
    page.ready().await?;
    page.click("[data-test='diagnosis-line'][data-level='3'] [data-test='line-flame']").await?;
    page.visible("[data-test='flame']").await?;
    page.ready().await?;
    let complaints = page.complaints().await?;
    if complaints.is_empty() { Ok(()) } else { Err(Failure(format!("{complaints:?}"))) }
}

/// The line that has the focus: its level, and whether it is open.
const FOCUSED: &str =
    "const { dataset: d, ariaExpanded } = document.activeElement; return [d.level ?? '', ariaExpanded]";

pub async fn the_tree_is_walked_with_arrow_keys(page: &Page) -> Outcome {
    diagnosis_at(page, "").await?;
    page.run("document.querySelector('[data-test=\"diagnosis-line\"][tabindex=\"0\"]').focus()").await?;
    let press = async |key: &str| -> Outcome<Value> {
        page.key(key, Modifiers::None).await?;
        page.run(FOCUSED).await
    };
    let state = |level: &str, open: Option<&str>| serde_json::json!([level, open]);
    same("first", press("Home").await?, state("1", Some("true")))?;
    same("into it", press("ArrowRight").await?, state("2", Some("true")))?;
    same("and on", press("ArrowRight").await?, state("3", Some("true")))?;
    same("a closed group", press("ArrowRight").await?, state("4", Some("false")))?;
    same("opened", press("ArrowRight").await?, state("4", Some("true")))?;
    same("its subspans", press("ArrowDown").await?, state("5", None))?;
    page.picture("diagnosis-aggregate").await?;
    same("its group", press("ArrowLeft").await?, state("4", Some("true")))?;
    same("closed", press("ArrowLeft").await?, state("4", Some("false")))?;
    same("the last", press("End").await?, state("1", Some("false")))?;
    same("up", press("ArrowUp").await?, state("1", Some("false")))?;
    // The aggregate trace follows, and what is said of it on hover.
    page.ready().await?;
    let [x, y, width, _] = page.place("[data-test='aggregate-trace']").await?;
    page.move_to(x + width * 0.6, y + 36.0).await?;
    page.visible("[data-test='tip']:not([hidden])").await?;
    let tip = page.text("[data-test='tip']:not([hidden])").await?;
    ensure(tip.contains("p50") && tip.contains("p99") && tip.contains("n = "), || tip.clone())
}

pub async fn request_type_and_tail_stand_in_the_address(page: &Page) -> Outcome {
    let file = shop()?;
    let fragment = "view=diagnosis&types=http.method&tail=75&top=20,2,2,2";
    page.open(fragment).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let report = native(&["tprof", "--json", "--tag", "http.method", "--tail", "75"], &[&file])?;
    let first = report["report"][0]["types"][0]["operation"].as_str().unwrap_or_default().to_owned();
    let words = page.text("[data-test='diagnosis-line'][data-level='2'] .tree-words").await?;
    ensure(!first.is_empty() && words.contains(&first), || format!("{first:?} is not in {words:?}"))?;
    let shown = page.attributes("[data-test='diagnosis-line'][data-level='1']", "data-value").await?;
    let most = report["endpoints_in_all"].as_u64().unwrap_or_default().min(20) as usize;
    same("endpoints listed", shown.len(), most)?;
    same(
        "tag",
        page.run("return document.querySelector('[data-test=\"diagnosis-types\"]').value").await?,
        Value::from("tag=http.method"),
    )?;
    same(
        "tail",
        page.run("return document.querySelector('[data-test=\"diagnosis-tail\"]').value").await?,
        Value::from("750"),
    )?;
    // Back to the usual by the selects; back again by the history.
    page.run(
        "const e = document.querySelector('[data-test=\"diagnosis-types\"]'); e.value = 'automatic'; e.dispatchEvent(new Event('change'))",
    )
    .await?;
    page.ready().await?;
    let link = page.run("return location.hash").await?;
    ensure(link.as_str().is_some_and(|link| !link.contains("by=") && link.contains("tail=75")), || {
        format!("the address is {link}")
    })?;
    page.run("history.back()").await?;
    page.until("the tag again", "return location.hash", |h| {
        h.as_str().is_some_and(|h| h.contains("types=") || h.contains("by="))
    })
    .await?;
    page.ready().await?;
    let again = page.text("[data-test='diagnosis-line'][data-level='2'] .tree-words").await?;
    same("after going back", again, words)
}

pub async fn more_is_listed_on_request(page: &Page) -> Outcome {
    let file = diagnosis_at(page, "").await?;
    let report = native(&["tprof", "--json"], &[&file])?;
    let in_all = report["endpoints_in_all"].as_u64().unwrap_or_default() as usize;
    let count = "return document.querySelectorAll('[data-test=\"diagnosis-line\"][data-level=\"1\"]').length";
    same("endpoints", page.run(count).await?, Value::from(in_all.min(10)))?;
    if in_all > 10 {
        page.click("[data-test='more-1']").await?;
        page.ready().await?;
        same("endpoints", page.run(count).await?, Value::from(in_all.min(20)))?;
    }
    Ok(())
}

/// Compares the first rows of a table of places with those of the binary, within their request type.
async fn places_agree(page: &Page, table: &str, places: &Value) -> Outcome {
    let rows = format!(
        "return [...document.querySelectorAll('{table} [data-test=\"place\"]')].map(({{ dataset: d }}) => \
         [d.type, d.rank, d.operation, d.value])"
    );
    let rows: Vec<[String; 4]> = serde_json::from_value(page.run(&rows).await?)?;
    ensure(rows.len() >= 3, || format!("only {} places", rows.len()))?;
    for [kind, rank, operation, value] in &rows {
        let of_type = places["types"].as_array().into_iter().flatten().find(|of| {
            let text = |key: &str| of[key].as_str().unwrap_or_default();
            *kind == format!("{} in {}", text("operation"), text("service"))
        });
        let of_type = if kind == "all request types" { Some(&places["all"]) } else { of_type };
        let rank: usize = rank.parse().unwrap_or(0);
        let place = of_type.map(|of| of["places"][rank - 1].clone()).unwrap_or_default();
        same("place", Some(operation.as_str()), place["operation"].as_str())?;
        let (found, said) = (value.parse().unwrap_or(f64::NAN), place["change_us"].as_f64().unwrap_or(0.0));
        ensure((found - said).abs() <= 1e-9 * said.abs().max(1.0), || format!("{found} instead of {said}"))?;
    }
    Ok(())
}

pub async fn the_slow_tail_and_two_sets_are_those_of_the_binary(page: &Page) -> Outcome {
    let before = diagnosis_at(page, "&list=tail").await?;
    let report = native(&["tprof", "--json"], &[&before])?;
    places_agree(page, "[aria-label=\"What makes the tail slow\"]", &report["tail"]).await?;
    page.picture("diagnosis-tail").await?;
    page.click("[data-test='list-places']").await?;
    page.visible("[data-test='diagnosis-none']").await?;
    let after = generated("shop-after.json", "--traces 300 --spans 30 --shape mixed --seed 22")?;
    page.open("view=diagnosis&against=set&list=places").await?;
    page.drop_files(std::slice::from_ref(&before)).await?;
    page.ready().await?;
    page.visible("[data-test='diagnosis-none']").await?;
    page.drop_files_on("[data-test='drop-compare']", std::slice::from_ref(&after)).await?;
    page.ready().await?;
    page.hidden("[data-test='diagnosis-none']").await?;
    let (a, b) = (before.to_string_lossy().into_owned(), after.to_string_lossy().into_owned());
    let sets = native(&["tprof", "--json", "-a", &a, "-b", &b], &[])?;
    places_agree(page, "[aria-label=\"Places by change\"]", &sets["places"]).await?;
    page.click("[data-test='list-services']").await?;
    page.ready().await?;
    let place = "[aria-label='Services by what they explain'] [data-test='service-change']";
    let shown: Vec<String> = page
        .run(&format!(
            "return [...document.querySelectorAll({})].filter((e) => e.checkVisibility()).map((e) => e.dataset.service)",
            serde_json::json!(place)
        ))
        .await
        .and_then(|rows| Ok(serde_json::from_value(rows)?))?;
    // Only rows in sight are in the page.
    ensure(shown.len() >= 5, || format!("only {} services", shown.len()))?;
    let said = sets["services"].as_array().into_iter().flatten().filter_map(|row| row["service"].as_str());
    let first = said.take(shown.len()).map(str::to_owned).collect();
    same("services", shown, first)?;
    page.picture("diagnosis-services").await?;
    let verdict = page.text("[data-test='diagnosis-verdict']").await?;
    let said = plain(sets["services"][0]["text"].as_str().unwrap_or_default());
    // Calls that fail or vanish may come before what is said of times.
    ensure(!verdict.is_empty() && (verdict.contains(&said) || verdict.contains("No service")), || {
        format!("{verdict:?} above a list that begins with {said:?}")
    })?;
    // A click leads from a service to its places, and from a place to a request.
    page.click(place).await?;
    page.ready().await?;
    let words = page.text(".companion:not([hidden]) [data-test='service-words']").await?;
    ensure(words.starts_with(&said), || format!("{words:?} above places, not {said:?}"))?;
    let places = page.attributes("[data-test='culprit-place']", "data-operation").await?;
    let of_first = sets["services"][0]["places"].as_array().into_iter().flatten();
    let of_first: Vec<String> = of_first
        .filter_map(|place| place["operation"].as_str().map(str::to_owned))
        .take(places.len())
        .collect();
    ensure(!places.is_empty(), || "the service has no places".to_owned())?;
    same("places", places, of_first)?;
    page.click(".companion:not([hidden]) [data-test='all-services']").await?;
    page.ready().await?;
    page.visible(place).await
}

pub async fn without_whole_traces_the_view_says_why(page: &Page) -> Outcome {
    let file = e2e::process::scratch()?.join("orphans.json");
    // A root, and a span whose parent is missing.
    let span = |trace: u32, id: u32, references: &str| {
        format!(
            "{{\"traceID\":\"{trace:x}\",\"spanID\":\"{id}\",\"operationName\":\"a\",\"references\":[{references}],\
             \"startTime\":1600000000000000,\"duration\":10,\"processID\":\"p\"}}"
        )
    };
    let trace = |trace: u32| {
        let missing = format!("{{\"refType\":\"CHILD_OF\",\"traceID\":\"{trace:x}\",\"spanID\":\"77\"}}");
        let (root, orphan) = (span(trace, 1, ""), span(trace, 2, &missing));
        format!(
            "{{\"traceID\":\"{trace:x}\",\"spans\":[{root},{orphan}],\
             \"processes\":{{\"p\":{{\"serviceName\":\"s\"}}}}}}"
        )
    };
    let traces: Vec<String> = (1..4).map(trace).collect();
    std::fs::write(&file, format!("{{\"data\":[{}]}}", traces.join(",")))?;
    page.open("view=diagnosis").await?;
    page.drop_files(&[file]).await?;
    page.ready().await?;
    let words = page.text("[data-test='diagnosis-empty']").await?;
    ensure(words.contains("spans whose parent is missing"), || format!("the page says {words:?}"))?;
    // Too few to tell a tail.
    let few = generated("few.json", "--traces 5 --spans 8 --seed 3")?;
    page.open("view=diagnosis&list=tail").await?;
    page.drop_files(&[few]).await?;
    page.ready().await?;
    let script = "return [...document.querySelectorAll('.empty')].filter((e) => e.checkVisibility())\
                  .map((e) => e.innerText).join(' ')";
    let words = page.run(script).await?.to_string();
    ensure(words.contains("10 traces"), || format!("the page says {words:?}"))
}

pub async fn real_traces_are_diagnosed(page: &Page) -> Outcome {
    let folder = root().join("../shared/data/traceweaver-media");
    if !folder.is_dir() {
        return page.skip("there is no ../shared/data/traceweaver-media");
    }
    page.open("view=diagnosis").await?;
    page.drop_files(std::slice::from_ref(&folder)).await?;
    page.ready().await?;
    report_agrees(page, &folder, &native(&["tprof", "--json"], &[&folder])?).await?;
    page.picture("diagnosis-media").await
}
