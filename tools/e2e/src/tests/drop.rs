//! Dropping files: what the page shows is what the binary says of the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use e2e::browser::Page;
use e2e::failure::{Failure, Outcome, ensure, same};
use e2e::process::{pathlight, scratch};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

/// Shows the spans of the timeline as a table too.
pub const SPANS_AS_TABLE: &str = "const shown = document.querySelector('[data-test=\"as-table\"]'); if (shown.getAttribute('aria-pressed') !== 'true') shown.click()";

/// Generates a file of traces with these options; returns its path.
pub fn generated(name: &str, options: &str) -> Outcome<PathBuf> {
    let file = scratch()?.join(name);
    let mut words: Vec<&str> = options.split(' ').collect();
    let path = file.to_string_lossy();
    words.splice(0..0, ["generate"]);
    words.extend(["--out", &path]);
    pathlight(&words)?;
    Ok(file)
}

/// Makes a file of 400 requests of a web shop, with its slow tail.
pub fn shop() -> Outcome<PathBuf> {
    generated("shop.json", "--traces 400 --spans 30 --shape mixed --seed 21")
}

/// Returns what the binary prints, read as JSON.
pub fn native(arguments: &[&str], files: &[&Path]) -> Outcome<Value> {
    let mut words = arguments.to_vec();
    let files: Vec<String> = files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
    words.extend(files.iter().map(String::as_str));
    Ok(serde_json::from_slice(&pathlight(&words)?)?)
}

/// Counts traces, spans and services from the JSON itself, and endpoints as the binary names them.
pub fn count(file: &Path) -> Outcome<[usize; 4]> {
    let document: Value = serde_json::from_slice(&std::fs::read(file)?)?;
    let (mut traces, mut spans) = (BTreeSet::new(), BTreeSet::new());
    let mut services = BTreeSet::new();
    for trace in document["data"].as_array().into_iter().flatten() {
        for span in trace["spans"].as_array().into_iter().flatten() {
            let process = span["processID"].as_str().unwrap_or_default();
            let service = &trace["processes"][process]["serviceName"];
            traces.insert(span["traceID"].to_string());
            spans.insert((span["traceID"].to_string(), span["spanID"].to_string()));
            services.insert(service.to_string());
        }
    }
    // Calls of one name may be several endpoints, named by what they call.
    let endpoints = native(&["inspect", "--json"], &[file])?["endpoints"].as_u64().unwrap_or_default();
    Ok([traces.len(), spans.len(), services.len(), endpoints as usize])
}

/// Returns the same four numbers as the page's summary shows them.
pub async fn summary(page: &Page) -> Outcome<[usize; 4]> {
    let mut shown = [0; 4];
    for (place, name) in shown.iter_mut().zip(["traces", "spans", "services", "endpoints"]) {
        *place = page.number(&format!("[data-test='{name}']"), "data-value").await? as usize;
    }
    Ok(shown)
}

/// Opens the tables below the findings; they stay open until the page is left.
pub async fn open_tables(page: &Page) -> Outcome {
    page.visible("[data-test='findings-tables']").await?;
    page.run("document.querySelector(\"[data-test='findings-tables']\").open = true").await?;
    page.ready().await
}

/// Compares what the findings show of all requests with the binary's critical paths.
pub async fn findings_agree(page: &Page, report: &Value) -> Outcome {
    for name in ["p50", "p95", "p99"] {
        let shown = page.number(&format!("[data-test='latency-{name}']"), "data-value").await?;
        same(&format!("latency {name}"), Some(shown), report["latency_us"][name].as_f64())?;
    }
    let mut own: BTreeMap<(String, String), u64> = BTreeMap::new();
    for node in report["nodes"].as_array().into_iter().flatten() {
        let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
        *own.entry((text("service"), text("operation"))).or_default() +=
            node["exclusive_us"]["sum"].as_u64().unwrap_or_default();
    }
    open_tables(page).await?;
    let rows = "[data-test='top-endpoint']";
    let services = page.attributes(rows, "data-service").await?;
    let operations = page.attributes(rows, "data-operation").await?;
    let values = page.attributes(rows, "data-value").await?;
    ensure(values.len() >= 5, || format!("only {} endpoints are listed", values.len()))?;
    for ((service, operation), value) in services.into_iter().zip(operations).zip(values) {
        let name = format!("own time of {operation} @ {service}");
        same(&name, value.parse().ok(), own.get(&(service, operation)).copied())?;
    }
    Ok(())
}

pub async fn a_dropped_file_shows_the_numbers_of_the_binary(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.hidden("[data-test='start']").await?;
    same("traces, spans, services, endpoints", summary(page).await?, count(&file)?)?;
    findings_agree(page, &native(&["critical-path", "--json"], &[&file])?).await?;
    page.picture("findings").await
}

pub async fn request_types_show_counts_and_percentiles_of_their_requests(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    open_tables(page).await?;
    let report = native(&["critical-path", "--json", "--per-trace"], &[&file])?;
    let mut types: BTreeMap<(String, String), Vec<u64>> = BTreeMap::new();
    for request in report["requests"].as_array().into_iter().flatten() {
        let text = |key: &str| request["nodes"][0][key].as_str().unwrap_or_default().to_owned();
        let latency = request["latency_us"].as_u64().unwrap_or_default();
        types.entry((text("service"), text("operation"))).or_default().push(latency);
    }
    let script = "return [...document.querySelectorAll('[data-test=\"request-type\"]')].map((row) => [ \
                  row.dataset.service, row.dataset.operation, \
                  ...['requests', 'p50', 'p99'].map((c) => row.querySelector(`[data-column=${c}]`).dataset.value)])";
    let rows: Vec<[String; 5]> = serde_json::from_value(page.run(script).await?)?;
    same("request types", rows.len(), types.len())?;
    for [service, operation, requests, p50, p99] in rows {
        let name = format!("{operation} @ {service}");
        let latencies =
            types.get_mut(&(service, operation)).ok_or_else(|| Failure(format!("no requests of {name}")))?;
        latencies.sort_unstable();
        same(&format!("requests of {name}"), requests.parse().ok(), Some(latencies.len()))?;
        for (shown, share) in [(p50, 0.5), (p99, 0.99)] {
            let shown: f64 = shown.parse().unwrap_or(f64::NAN);
            let exact = percentile(latencies, share);
            ensure((shown - exact).abs() < 1e-6 * exact.max(1.0), || {
                format!("percentile {share} of {name}: found {shown}, expected {exact}")
            })?;
        }
    }
    Ok(())
}

/// Returns the linear interpolation between the two nearest ranks, as docs say percentiles are.
fn percentile(sorted: &[u64], share: f64) -> f64 {
    let rank = share * (sorted.len().saturating_sub(1)) as f64;
    let at = |index: f64| sorted.get(index as usize).copied().unwrap_or_default() as f64;
    at(rank.floor()) + (at(rank.ceil()) - at(rank.floor())) * rank.fract()
}

/// Waits until so many traces of the set that is looked at are loaded.
async fn traces(page: &Page, expected: u64) -> Outcome {
    let script = "return document.querySelector(\"[data-test='traces']\")?.dataset.value";
    let wanted = expected.to_string();
    page.until(&format!("{expected} traces"), script, |n| *n == wanted).await?;
    page.ready().await
}

pub async fn a_second_drop_asks_and_can_be_undone(page: &Page) -> Outcome {
    let [first, second] = [
        [generated("first.json", "--traces 40 --spans 20 --seed 1")?],
        [generated("second.json", "--traces 60 --spans 20 --seed 2")?],
    ];
    page.open("").await?;
    page.drop_files(&first).await?;
    page.ready().await?;
    let alone = summary(page).await?;
    same("traces of the first", alone[0], 40)?;
    page.drag_files("dragEnter", &second).await?;
    page.visible("[data-test='drop-add']").await?;
    page.picture("drop-zones").await?;
    page.drag_files("dragCancel", &second).await?;
    // Added: one set of both.
    page.drop_files_on("[data-test='drop-add']", &second).await?;
    traces(page, 100).await?;
    same("spans of both", summary(page).await?[1], count(&first[0])?[1] + count(&second[0])?[1])?;
    same("what was done", page.text("[data-test='done']").await?.as_str(), "Added 1 file.")?;
    page.click("[data-test='undo']").await?;
    traces(page, 40).await?;
    same("undone", summary(page).await?, alone)?;
    // Compared: the first is side A and stays as it was.
    page.drop_files_on("[data-test='drop-compare']", &second).await?;
    page.visible("[data-test='sides']").await?;
    page.ready().await?;
    same("requests of B", page.number("[data-test='facts-B']", "data-value").await?, 60.0)?;
    // The box of side B takes more for B, wherever the zones are.
    page.drop_files_on("[data-test='what-B']", &first).await?;
    let script = "return document.querySelector(\"[data-test='facts-B']\")?.dataset.value";
    page.until("100 requests of B", script, |n| n == "100").await?;
    page.ready().await?;
    same("requests of A", page.number("[data-test='facts-A']", "data-value").await?, 40.0)?;
    // Replaced: only the second is left, and no comparison.
    page.drop_files_on("[data-test='drop-replace']", &second).await?;
    page.hidden("[data-test='sides']").await?;
    page.click("[data-test='view-findings']").await?;
    traces(page, 60).await?;
    page.click("[data-test='undo']").await?;
    page.visible("[data-test='sides']").await?;
    page.until("100 requests of B again", script, |n| n == "100").await?;
    // The way back is offered for ten seconds.
    page.click("[data-test='more']").await?;
    page.click("[data-test='clear']").await?;
    page.state("empty").await?;
    page.visible("[data-test='start']").await?;
    page.visible("[data-test='undo']").await?;
    page.hidden("[data-test='undo']").await?;
    page.drop_files(&first).await?;
    page.ready().await?;
    same("the first again", summary(page).await?, alone)
}

pub async fn request_types_stay_as_they_are_while_more_is_loaded(page: &Page) -> Outcome {
    let of_routes = |name: &str, routes: [&str; 2]| -> Outcome<[PathBuf; 1]> {
        let trace = |number: usize| {
            let id = format!("{name}{number:08x}");
            let route = match routes[number % 2] {
                "" => String::new(),
                route => format!("{{\"key\":\"http.route\",\"type\":\"string\",\"value\":\"{route}\"}}"),
            };
            format!(
                "{{\"traceID\":\"{id}\",\"spans\":[{{\"traceID\":\"{id}\",\"spanID\":\"1\",\"operationName\":\"GET\",\
                 \"references\":[],\"startTime\":1600000000000000,\"duration\":10,\"processID\":\"p\",\"tags\":[{route}]}}],\
                 \"processes\":{{\"p\":{{\"serviceName\":\"s\"}}}}}}"
            )
        };
        let traces: Vec<String> = (0..20).map(trace).collect();
        let file = scratch()?.join(format!("routes-{name}.json"));
        std::fs::write(&file, format!("{{\"data\":[{}]}}", traces.join(",")))?;
        Ok([file])
    };
    let (plain, routed) = (of_routes("a", ["", ""])?, of_routes("b", ["/cart", "/pay"])?);
    let said = || page.text("[data-test='group-by-why']");
    page.open("").await?;
    page.drop_files(&plain).await?;
    page.ready().await?;
    open_tables(page).await?;
    ensure(said().await?.starts_with("Grouped by root endpoint: "), || "grouped otherwise".to_owned())?;
    page.drop_files_on("[data-test='drop-add']", &routed).await?;
    traces(page, 40).await?;
    same("added", said().await?.as_str(), "Grouped by root endpoint, as the traces that were loaded first.")?;
    page.drop_files_on("[data-test='drop-replace']", &routed).await?;
    traces(page, 20).await?;
    ensure(said().await?.starts_with("Grouped by route: "), || "an earlier grouping stayed".to_owned())
}

pub async fn what_is_opened_besides_is_asked_about(page: &Page) -> Outcome {
    page.open("").await?;
    page.drop_files(&[generated("first.json", "--traces 40 --spans 20 --seed 1")?]).await?;
    page.ready().await?;
    let second = std::fs::read_to_string(generated("second.json", "--traces 60 --spans 20 --seed 2")?)?;
    let paste = |text: &str| {
        format!(
            "const data = new DataTransfer(); data.setData('text/plain', {}); \
             document.body.dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true }}))",
            serde_json::json!(text)
        )
    };
    page.run(&paste(&second)).await?;
    page.visible("[data-test='ask']").await?;
    page.picture("ask").await?;
    page.click("[data-test='ask-cancel']").await?;
    page.hidden("[data-test='ask']").await?;
    traces(page, 40).await?;
    page.run(&paste(&second)).await?;
    page.click("[data-test='ask-add']").await?;
    traces(page, 100).await?;
    // The menu names what will be done with the files that are chosen then.
    page.click("[data-test='open-more']").await?;
    for intake in ["compare", "add", "replace"] {
        page.visible(&format!("[data-test='open-{intake}']")).await?;
    }
    page.hidden("[data-test='open-add-a']").await
}

/// Returns a trace of a single span.
fn one_span(id: usize) -> String {
    format!(
        "{{\"data\":[{{\"traceID\":\"{id:x}\",\"spans\":[{{\"traceID\":\"{id:x}\",\"spanID\":\"1\",\"operationName\":\"o\",\
         \"references\":[],\"startTime\":1600000000000000,\"duration\":10,\"processID\":\"p\",\"tags\":[]}}],\
         \"processes\":{{\"p\":{{\"serviceName\":\"s\"}}}}}}]}}"
    )
}

pub async fn a_drop_of_very_many_files_is_named_after_a_reload_but_not_opened_in_part(
    page: &Page,
) -> Outcome {
    let folder = scratch()?.join("single");
    std::fs::create_dir_all(&folder)?;
    let file = |number: usize| folder.join(format!("{number}.json"));
    for number in 100..250 {
        std::fs::write(file(number), one_span(number))?;
    }
    let files: Vec<PathBuf> = (100..250).map(file).collect();
    // What earlier tests have opened in this window is named too.
    page.open("").await?;
    page.run("sessionStorage.clear()").await?;
    page.open("").await?;
    page.drop_files(&files[..120]).await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 120)?;
    page.drop_files_on("[data-test='drop-add']", &files[120..]).await?;
    traces(page, 150).await?;
    page.client().refresh().await?;
    page.visible("[data-test='reopen']").await?;
    let words = page.text("[data-test='reopen']").await?;
    ensure(words.starts_with("100.json, 101.json, 102.json and at least 97 more files were open"), || {
        format!("the start says {words:?}")
    })?;
    let count = "return pathlightFiles.count()";
    same("handles of a part", page.run(count).await?, Value::from(0))?;
    page.hidden("[data-test='reopen-again']").await
}

pub async fn a_folder_and_packed_files_are_read(page: &Page) -> Outcome {
    let folder = scratch()?.join("folder");
    std::fs::create_dir_all(folder.join("deep/er"))?;
    let mut expected = [0, 0];
    for (name, seed) in [("a.json", 3), ("deep/b.json", 4), ("deep/er/c.json", 5)] {
        let made = generated("part.json", &format!("--traces 20 --spans 20 --seed {seed}"))?;
        let counted = count(&made)?;
        expected = [expected[0] + counted[0], expected[1] + counted[1]];
        std::fs::copy(&made, folder.join(name))?;
    }
    // More files than the browser lists at a time, and one that nobody means.
    let many = folder.join("many");
    std::fs::create_dir_all(&many)?;
    for number in 1000..1250 {
        std::fs::write(many.join(format!("{number}.json")), one_span(number))?;
    }
    std::fs::write(many.join(".hidden.json"), one_span(2000))?;
    expected = [expected[0] + 250, expected[1] + 250];
    let packed = packed(&generated("packed.json", "--traces 20 --spans 20 --seed 6")?)?;
    page.open("").await?;
    page.drop_files(&[folder.clone(), packed.clone()]).await?;
    page.ready().await?;
    let shown = summary(page).await?;
    let report = native(&["critical-path", "--json"], &[&packed])?;
    same("traces", shown[0] as u64, expected[0] as u64 + report["requests"].as_u64().unwrap_or_default())?;
    ensure(shown[1] > expected[1], || {
        format!("{} spans, {} without the packed file", shown[1], expected[1])
    })?;
    // As in browsers that give no handles of what is dropped.
    page.open("").await?;
    page.run("delete DataTransferItem.prototype.getAsFileSystemHandle").await?;
    page.drop_files(&[folder, packed]).await?;
    page.ready().await?;
    same("summary without handles", summary(page).await?, shown)
}

/// Packs a file beside it; returns the path.
fn packed(plain: &Path) -> Outcome<PathBuf> {
    let packed = plain.with_extension("json.gz");
    let mut pack = GzEncoder::new(std::fs::File::create(&packed)?, Compression::fast());
    pack.write_all(&std::fs::read(plain)?)?;
    pack.finish()?;
    Ok(packed)
}

pub async fn a_large_packed_file_gives_what_it_gives_unpacked(page: &Page) -> Outcome {
    let plain = generated("shared.json", "--traces 300 --spans 111 --shape mixed --seed 8")?;
    let packed = packed(&plain)?;
    let bytes = std::fs::read(&packed)?;
    // So many that workers share it.
    ensure(bytes.len() > 1 << 20, || format!("{} bytes packed", bytes.len()))?;
    let mut shown = Vec::new();
    for file in [&plain, &packed] {
        page.open("").await?;
        page.drop_files(std::slice::from_ref(file)).await?;
        page.ready().await?;
        shown.push((summary(page).await?, page.text("[data-test='finding-list']").await?));
    }
    ensure(shown[0].0[0] == 300 && shown[0] == shown[1], || format!("{shown:?}"))?;
    // What comes before the damage stays.
    let cut = packed.with_file_name("cut.json.gz");
    std::fs::write(&cut, &bytes[..bytes.len() / 2])?;
    page.open("").await?;
    page.drop_files(std::slice::from_ref(&cut)).await?;
    page.ready().await?;
    let traces = summary(page).await?[0];
    ensure((100..200).contains(&traces), || format!("{traces} traces of a file cut in the middle"))
}

pub async fn a_large_folder_says_what_it_has_so_far_and_can_be_left(page: &Page) -> Outcome {
    let folder = scratch()?.join("large-folder");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    for number in 0..2000 {
        std::fs::write(folder.join(format!("{number}.json")), one_span(1 + number))?;
    }
    page.open("").await?;
    // A slow disk, from the thousandth file on.
    let slow = "const { values } = FileSystemDirectoryHandle.prototype; \
        FileSystemDirectoryHandle.prototype.values = async function* () { let n = 0; \
          for await (const entry of values.call(this)) { \
            if ((n += 1) > 1000) await new Promise((go) => setTimeout(go, 100)); yield entry; } }; return true";
    page.run(slow).await?;
    page.drop_files(std::slice::from_ref(&folder)).await?;
    let words = "return document.querySelector(\"[data-test='progress-words']\")?.innerText ?? ''";
    let counts = |found: &Value| found.as_str().is_some_and(|words| words.starts_with("Looking for files"));
    page.until("a count of files", words, counts).await?;
    page.hidden("[data-test='cancel-keep']").await?;
    page.click("[data-test='cancel-drop']").await?;
    page.hidden("[data-test='progress']").await?;
    page.hidden("[data-test='message']").await?;
    page.state("empty").await?;
    page.open("").await?;
    page.drop_files(&[folder]).await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 2000)
}

pub async fn the_demo_loads_with_a_click(page: &Page) -> Outcome {
    page.open("").await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 320)
}

/// Writes a folder of so many files, each with the one trace of a file under an id of its own.
pub fn small_files(name: &str, of: &Path, count: usize) -> Outcome<PathBuf> {
    let folder = scratch()?.join(name);
    std::fs::create_dir_all(&folder)?;
    let text = std::fs::read_to_string(of)?;
    let id = text
        .split("\"traceID\":")
        .nth(1)
        .and_then(|rest| rest.split('"').nth(1))
        .unwrap_or_default()
        .to_owned();
    for number in 1..=count {
        let other = format!("{number:0width$x}", width = id.len());
        std::fs::write(folder.join(format!("{number}.json")), text.replace(&id, &other))?;
    }
    Ok(folder)
}

pub async fn a_file_that_comes_while_a_view_is_worked_out_is_read_after_it(page: &Page) -> Outcome {
    let first = generated("first.json", "--traces 6000 --spans 40 --seed 8")?;
    let [traces, spans, ..] = count(&first)?;
    page.open("view=findings").await?;
    page.drop_files(std::slice::from_ref(&first)).await?;
    page.ready().await?;
    // Each has an endpoint that is new to what views have counted by then.
    for number in 1..=8 {
        let name = format!("late-{number}.json");
        let text = one_span(3000 + number).replace("\"o\"", &format!("\"late-{number}\""));
        let file = scratch()?.join(&name);
        std::fs::write(&file, text)?;
        page.go(if number % 2 == 0 { "view=findings" } else { "view=endpoints" }).await?;
        page.drop_files_on("[data-test='drop-add']", &[file]).await?;
    }
    page.ready().await?;
    let shown = summary(page).await?;
    same("traces and spans", (shown[0], shown[1]), (traces + 8, spans + 8))?;
    page.complaints().await.map(drop)
}
