//! What a page must not do to somebody who has a question: contradict itself, lose what is loaded, show nothing.

use std::path::{Path, PathBuf};

use e2e::browser::{Modifiers, Page};
use e2e::failure::{Outcome, ensure, same};
use e2e::process::scratch;
use serde_json::{Value, json};

use super::access::VIEWS;
use super::drop::{generated, shop};
use super::findings::VIEW;
use super::views::shop_at;

const RATES: &str = "--traces 300 --spans 30 --seed";

/// Makes traces of before and after a service got slower.
fn before_and_after() -> Outcome<[PathBuf; 2]> {
    let change = format!("{RATES} 6 --speed pricing:Pricing/GetPrices=+200%");
    Ok([generated("shop-before.json", &format!("{RATES} 5"))?, generated("shop-after.json", &change)?])
}

pub async fn back_after_a_click_on_a_bar_stays_in_the_page(page: &Page) -> Outcome {
    shop_at(page, "view=findings").await?;
    page.click("[data-test='share-service']").await?;
    let hash = "return location.hash";
    page.until("the search", hash, |hash| hash.as_str().is_some_and(|hash| hash.contains("search="))).await?;
    page.run("history.back()").await?;
    page.until("no search", hash, |hash| hash.as_str().is_some_and(|hash| !hash.contains("search="))).await?;
    page.ready().await?;
    same("traces", page.number("[data-test='traces']", "data-value").await?, 400.0)
}

pub async fn two_files_that_are_a_pair_are_compared_with_one_click(page: &Page) -> Outcome {
    let pair = before_and_after()?;
    page.open("").await?;
    page.drop_files(&pair).await?;
    page.visible("[data-test='ask-together']").await?;
    page.click("[data-test='ask-pair']").await?;
    page.visible("[data-test='sides']").await?;
    page.ready().await?;
    for (side, name) in [("A", "shop-before"), ("B", "shop-after")] {
        same(side, page.text(&format!("[data-test='what-{side}']")).await?.as_str(), name)?;
    }
    page.visible("[data-kind='Changed']").await?;
    // As one set, they are one.
    page.open("").await?;
    page.drop_files(&pair).await?;
    page.click("[data-test='ask-together']").await?;
    page.ready().await?;
    page.hidden("[data-test='sides']").await?;
    same("traces of both", page.number("[data-test='traces']", "data-value").await?, 600.0)?;
    // Names that say nothing are not asked about.
    page.open("").await?;
    page.drop_files(&[
        generated("one.json", "--traces 20 --seed 1")?,
        generated("two.json", "--traces 20 --seed 2")?,
    ])
    .await?;
    page.ready().await?;
    same("traces", page.number("[data-test='traces']", "data-value").await?, 40.0)
}

pub async fn with_two_sets_every_view_speaks_of_the_second(page: &Page) -> Outcome {
    let [before, after] = before_and_after()?;
    page.open("").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    page.drop_files_on("[data-test='drop-replace']", &[before]).await?;
    page.ready().await?;
    page.drop_files_on("[data-test='drop-compare']", &[after]).await?;
    page.visible("[data-test='sides']").await?;
    page.ready().await?;
    let facts = "return ['p50', 'p95', 'p99'].map((p) => document.querySelector(`[data-test=range-${p}]`).dataset.value) \
                 .concat(document.querySelector('[data-test=side-B]').ariaPressed)";
    let mut first = None;
    // Anomalies judge B by A in any case; a trend is of summaries.
    for view in VIEWS.iter().filter(|view| !["trend"].contains(view)) {
        page.click(&format!("[data-test='view-{view}']")).await?;
        page.ready().await?;
        let now = page.run(facts).await?;
        let expected = first.get_or_insert_with(|| now.clone());
        same(view, now, expected.clone())?;
        let is_of_many = !["findings", "compare", "trace"].contains(view);
        if is_of_many {
            page.visible("[data-test='verdict-strip']").await?;
            let words = page.text("[data-test='verdict-strip']").await?;
            let says =
                ["B is", "In B"].iter().any(|begin| words.contains(begin)) && words.contains("pricing");
            ensure(says, || format!("{view}: {words}"))?;
        }
    }
    same("side B", first.map(|facts| facts[3].clone()), Some(Value::from("true")))?;
    // Each side has its own counts, request types and data quality.
    page.click("[data-test='view-findings']").await?;
    let mut counts = Vec::new();
    for side in ["A", "B"] {
        page.click(&format!("[data-test='side-{side}']")).await?;
        page.ready().await?;
        let p50 = page.number("[data-test='latency-p50']", "data-value").await?;
        let strip = page.number("[data-test='range-p50']", "data-value").await?;
        same("median latency", p50, strip)?;
        page.click("[data-test='choose-root']").await?;
        page.visible("[data-test='root-option']").await?;
        let listed =
            "return [...document.querySelectorAll('[data-test=root-option]')].map((e) => e.textContent)";
        counts.push(page.run(listed).await?);
        page.key("Escape", Modifiers::None).await?;
        page.click("[data-test='notes-button']").await?;
        let heading = page.text("[data-test='notes'] h3").await?;
        same("set of data quality", heading, format!("Traces of {side}"))?;
        page.click("[data-test='close-notes']").await?;
    }
    ensure(counts[0] != counts[1], || format!("A and B have the same request types: {}", counts[0]))
}

pub async fn shares_of_request_types_follow_the_filters(page: &Page) -> Outcome {
    shop_at(page, "view=findings").await?;
    let bars = "return [...document.querySelectorAll(\"[data-test='share-type'] .number\")].map((e) => e.textContent)";
    let all = page.run(bars).await?;
    ensure(all.as_array().is_some_and(|all| all.len() > 1), || format!("{all}"))?;
    page.click("[data-test='share-type']").await?;
    page.ready().await?;
    let one = page.run(bars).await?;
    same("bars of one type", one.as_array().map(Vec::len), Some(1))
}

pub async fn tips_of_a_flame_graph_are_short_and_begin_with_a_name(page: &Page) -> Outcome {
    shop_at(page, "view=flame").await?;
    let [left, top, width, height] = page.place("canvas[data-test='flame']").await?;
    let tip = "const tip = document.querySelector('.tip:not([hidden])'); return tip && \
               [tip.firstElementChild.textContent, tip.childElementCount, tip.getBoundingClientRect().height]";
    let (mut seen, mut waiting) = (0, 0);
    let mut y = top + 9.0;
    while y < top + height {
        for at in 1..40 {
            page.move_to(left + width * f64::from(at) / 40.0, y).await?;
            let tip = page.run(tip).await?;
            let (Some(name), Some(lines), Some(high)) = (tip[0].as_str(), tip[1].as_u64(), tip[2].as_f64())
            else {
                continue;
            };
            seen += 1;
            let text = page.text(".tip:not([hidden])").await?;
            waiting += u32::from(text.contains("waiting for "));
            ensure(!name.trim().is_empty() && lines <= 4 && high < 160.0, || {
                format!("{lines} lines, {high} px: {text}")
            })?;
        }
        y += 18.0;
    }
    ensure(seen > 20 && waiting > 0, || format!("{seen} tips, {waiting} of waiting"))
}

pub async fn the_largest_part_of_a_trace_leads_to_its_span(page: &Page) -> Outcome {
    page.open("").await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    page.click("[data-test='view-trace']").await?;
    page.ready().await?;
    page.click("[data-test='trace-summary'] .link").await?;
    page.visible("[data-test='detail']").await?;
    let detail = "return document.querySelector(\"[data-test='detail']\").innerText";
    page.until("a span", detail, |words| words.as_str().is_some_and(|words| words.contains("Span id")))
        .await?;
    // The path alone leaves out what hardly counts.
    let all = page.number("[data-test='timeline']", "data-spans").await?;
    page.click("[data-test='path-only']").await?;
    page.ready().await?;
    let few = page.number("[data-test='timeline']", "data-rows").await?;
    ensure(few > 1.0 && few < all / 2.0, || format!("{few} of {all} spans are shown"))
}

pub async fn a_split_opens_on_a_tag_that_tells_or_says_that_none_does(page: &Page) -> Outcome {
    // One value of every tag, but for what differs by request.
    page.open("view=split").await?;
    page.drop_files(&[generated("few.json", "--traces 8 --spans 6 --seed 3")?]).await?;
    page.ready().await?;
    let text = page.text("[data-test='split-empty']").await?;
    ensure(text.starts_with("No tag"), || format!("the view says {text:?}"))?;
    shop_at(page, "view=split").await?;
    let values = page.number("[data-test='violins']", "data-values").await?;
    ensure(values > 1.0, || format!("{values} values are compared"))
}

pub async fn the_palette_knows_tags(page: &Page) -> Outcome {
    shop_at(page, "").await?;
    page.key("k", Modifiers::Control).await?;
    page.fill("[data-test='palette-field']", "region").await?;
    let kinds = page.attributes("[data-test='palette-entry']", "data-kind").await?;
    ensure(kinds.iter().any(|kind| kind == "Tag"), || format!("found: {kinds:?}"))?;
    let at = kinds.iter().position(|kind| kind == "Tag").unwrap_or_default();
    for _ in 0..at {
        page.key("ArrowDown", Modifiers::None).await?;
    }
    page.key("Enter", Modifiers::None).await?;
    page.until("the split", VIEW, |view| view == "split").await?;
    let hash = page.run("return location.hash").await?;
    ensure(hash.as_str().is_some_and(|hash| hash.contains("split=region")), || format!("{hash}"))
}

pub async fn charts_take_the_height_they_need(page: &Page) -> Outcome {
    shop_at(page, "view=flame").await?;
    let room = "const [chart, view] = ['.view-chart:not([hidden])', '.view'].map((part) => \
                document.querySelector(part).getBoundingClientRect().height); return [chart, view]";
    let sizes = page.run(room).await?;
    let (chart, view) = (sizes[0].as_f64().unwrap_or_default(), sizes[1].as_f64().unwrap_or_default());
    ensure(chart > 100.0 && chart < 0.5 * view, || format!("the chart is {chart} of {view} px high"))?;
    // Whoever moves the line keeps it.
    page.run("document.querySelector(\"[data-test='split']\").focus()").await?;
    page.key("ArrowDown", Modifiers::None).await?;
    page.ready().await?;
    let moved = page.run(room).await?[0].as_f64().unwrap_or_default();
    ensure(moved > chart + 10.0, || format!("the chart is {moved} px high after the line was moved"))?;
    page.click("[data-test='view-endpoints']").await?;
    page.ready().await?;
    page.click("[data-test='view-flame']").await?;
    page.ready().await?;
    let again = page.run(room).await?[0].as_f64().unwrap_or_default();
    ensure((again - moved).abs() < 2.0, || format!("{again} px, not {moved}"))
}

/// Both halves of a call have one name here; the answering one makes three calls one after the other, one of which fails in
/// every fourth trace.
fn halves(file: &Path) -> Outcome {
    let traces: Vec<Value> = (0..40_u64)
        .map(|number| {
            let trace = format!("{:016x}", number + 1);
            let span = |id: &str, parent: &str, service: &str, name: &str, from_us: u64, us: u64| {
                let parent = json!({"refType": "CHILD_OF", "traceID": trace, "spanID": parent});
                let error = json!([
                    {"key": "error", "type": "bool", "value": true},
                    {"key": "exception.message", "type": "string", "value": "no seat left"},
                ]);
                let fails = name == "SELECT bank.accounts" && number % 4 == 0;
                json!({
                    "traceID": trace, "spanID": id, "operationName": name, "processID": service,
                    "references": if id == "a1" { json!([]) } else { json!([parent]) },
                    "startTime": 1_600_000_000_000_000 + number * 1_000_000 + from_us, "duration": us,
                    "tags": if fails { error } else { json!([]) },
                })
            };
            json!({
                "traceID": trace,
                "processes": {"shop": {"serviceName": "shop"}, "bank": {"serviceName": "bank"}},
                "spans": [
                    span("a1", "", "shop", "buy", 0, 90_000),
                    span("b1", "a1", "shop", "pay", 1_000, 88_000),
                    span("b2", "b1", "shop", "pay", 2_000, 86_000),
                    span("c1", "b2", "bank", "SELECT bank.limits", 3_000, 20_000),
                    span("c2", "b2", "bank", "SELECT bank.accounts", 24_000, 30_000),
                    span("c3", "b2", "bank", "SELECT bank.currencies", 55_000, 30_000),
                ],
            })
        })
        .collect();
    Ok(std::fs::write(file, json!({"data": traces}).to_string())?)
}

/// Drops the traces of [`halves`] into a view.
async fn halves_at(page: &Page, state: &str) -> Outcome {
    let file = scratch()?.join("halves.json");
    halves(&file)?;
    page.open(state).await?;
    page.drop_files(&[file]).await?;
    page.ready().await
}

pub async fn a_flow_opens_where_calls_could_run_side_by_side(page: &Page) -> Outcome {
    halves_at(page, "view=flow").await?;
    // A half that only hands on is no invocation. 80 ms of calls, the longest of which takes 30 ms.
    let title = page.text("[data-test='flow-title']").await?;
    let is_so = title.starts_with("40 invocations, 3 calls") && title.contains("up to 50.0");
    ensure(is_so, || format!("the title says {title:?}"))?;
    let parent = "return document.querySelector(\"[data-test='flow-parent']\").selectedOptions[0].text";
    same("the parent", page.run(parent).await?, Value::from("pay @ shop (3 calls)"))?;
    // All of it is in sight.
    page.hidden("[data-test='fit-flow']").await
}

pub async fn errors_say_what_happened_and_when(page: &Page) -> Outcome {
    halves_at(page, "view=errors").await?;
    page.visible("[data-test='error-message']").await?;
    let line = page.text("[data-test='error-message']").await?;
    let is_so = ["10", "no seat left", "accounts"].iter().all(|part| line.contains(part));
    ensure(is_so, || format!("the line says {line:?}"))?;
    let red =
        "return [...document.querySelectorAll('.time-errors')].filter((bar) => bar.offsetHeight > 0).length";
    page.until("errors over time", red, |bars| bars == 10).await?;
    page.click("[data-test='error-message']").await?;
    page.ready().await?;
    let words = page.text("[data-test='errors-words']").await?;
    ensure(words.contains("10 of 10"), || format!("the view says {words:?}"))
}

pub async fn views_say_of_how_many_endpoints_they_speak(page: &Page) -> Outcome {
    shop_at(page, "view=endpoints").await?;
    let script =
        "return document.body.innerText.match(/([0-9]+ of [0-9]+) endpoints on critical paths/)?.[1]";
    let endpoints = page.run(script).await?;
    ensure(endpoints.is_string(), || "Endpoints does not say of how many it speaks".to_owned())?;
    page.click("[data-test='view-heatmap']").await?;
    page.ready().await?;
    same("heat map", page.run(script).await?, endpoints)
}

pub async fn one_request_compared_with_itself_is_said_to_be_the_same(page: &Page) -> Outcome {
    page.open("").await?;
    page.drop_files(&[generated("single.json", "--traces 1 --spans 12 --seed 3")?]).await?;
    page.ready().await?;
    // What there is to see of one trace is that trace.
    page.visible("[data-test='timeline']").await?;
    page.hidden("[data-test='view-heatmap']").await?;
    page.run("location.hash = 'view=compare'").await?;
    page.visible("[data-test='compare-empty']").await?;
    page.ready().await?;
    let words = page.text("[data-test='compare-empty']").await?;
    ensure(words.contains("the same request"), || format!("the view says {words:?}"))
}

pub async fn a_slow_request_stands_beside_a_normal_one(page: &Page) -> Outcome {
    page.open("view=requests").await?;
    page.drop_files(&[generated("beside.json", "--traces 200 --spans 20 --seed 9")?]).await?;
    page.ready().await?;
    page.click("[data-test='request']").await?;
    page.click("[data-test='beside-normal']").await?;
    page.visible("[data-test='beside-words']").await?;
    page.ready().await?;
    let words = page.text("[data-test='beside-words']").await?;
    ensure(words.contains("more than the normal request"), || format!("it says {words:?}"))?;
    let latency_us = page.number("[data-test='trace-latency']", "data-value").await?;
    let script = "return [...document.querySelectorAll('[data-test=\"nearest\"]')] \
                  .reduce((sum, row) => sum + Number(row.dataset.value), 0)";
    let longer_us = page.until("the places", script, |sum| sum.as_f64().is_some_and(|sum| sum > 0.0)).await?;
    ensure(longer_us.as_f64().is_some_and(|us| us < latency_us), || format!("{longer_us} of {latency_us}"))?;
    page.picture("beside-normal").await?;
    // Alone again, its spans are fewer.
    let spans = page.number("[data-test='timeline']", "data-spans").await?;
    page.click("[data-test='beside-normal']").await?;
    page.hidden("[data-test='beside-words']").await?;
    page.ready().await?;
    let alone = page.number("[data-test='timeline']", "data-spans").await?;
    ensure(alone > 0.0 && alone < spans, || format!("{alone} spans alone, {spans} beside a normal one"))
}

/// Makes a file of traces in which the work of one service takes 120 ms more from half of the time on.
fn slower_since_half() -> Outcome<PathBuf> {
    let slower = "--traces 200 --seed 4 --inject catalog:Catalog/GetProducts:0=+120000";
    let files = [generated("half-1.json", "--traces 200 --seed 3")?, generated("half-2.json", slower)?];
    let mut all = Vec::new();
    for file in files {
        let mut half: Value = serde_json::from_slice(&std::fs::read(file)?)?;
        let Some(traces) = half["data"].as_array_mut() else { continue };
        let starts = |traces: &[Value]| -> Vec<u64> {
            let spans = traces.iter().filter_map(|trace| trace["spans"].as_array()).flatten();
            spans.filter_map(|span| span["startTime"].as_u64()).collect()
        };
        let from_us = starts(&all).into_iter().max().map_or(0, |last| last + 1_000_000);
        let first_us = starts(traces).into_iter().min().unwrap_or_default();
        for span in traces.iter_mut().filter_map(|trace| trace["spans"].as_array_mut()).flatten() {
            let start_us = span["startTime"].as_u64().unwrap_or_default();
            span["startTime"] = json!((start_us - first_us) + from_us.max(first_us));
        }
        all.append(traces);
    }
    let file = scratch()?.join("since-half.json");
    std::fs::write(&file, json!({ "data": all }).to_string())?;
    Ok(file)
}

pub async fn a_service_says_since_when_it_is_the_reason(page: &Page) -> Outcome {
    page.open("view=findings").await?;
    page.drop_files(&[slower_since_half()?]).await?;
    page.ready().await?;
    page.hidden("[data-test='findings-coming']").await?;
    let block = page.text(".finding-block").await?;
    ensure(block.contains("The own work of catalog takes") && block.contains("since 2024-"), || {
        block.clone()
    })?;
    page.picture("findings-since").await?;
    // It is said once.
    let kinds = page.attributes("[data-test='finding']", "data-kind").await?;
    ensure(!kinds.iter().any(|kind| kind == "SinceWhen"), || format!("{kinds:?}"))?;
    page.run("[...document.querySelectorAll(\".finding-block [data-test='finding-explained']\")].find((e) => e.textContent === 'Show requests since then').click()").await?;
    page.until("the requests", VIEW, |view| view == "requests").await?;
    page.ready().await?;
    let hash = page.run("return location.hash").await?;
    ensure(hash.as_str().is_some_and(|hash| hash.contains("from=")), || hash.to_string())
}

pub async fn a_change_inside_one_file_is_offered_as_before_and_after(page: &Page) -> Outcome {
    let file = slower_since_half()?;
    page.open("view=findings").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.visible("[data-test='since-offer']").await?;
    page.picture("findings-offer").await?;
    // It may stay one set.
    page.click("[data-test='since-one']").await?;
    page.hidden("[data-test='since-offer']").await?;
    page.hidden("[data-test='sides']").await?;
    page.open("view=findings").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.click("[data-test='since-pair']").await?;
    page.visible("[data-test='sides']").await?;
    page.ready().await?;
    page.hidden("[data-test='since-offer']").await?;
    let names = [page.text("[data-test='what-A']").await?, page.text("[data-test='what-B']").await?];
    ensure(names[0].starts_with("before 20") && names[1].starts_with("since 20"), || format!("{names:?}"))?;
    let counts = [
        page.number("[data-test='facts-A']", "data-value").await?,
        page.number("[data-test='facts-B']", "data-value").await?,
    ];
    same("requests of both", counts[0] + counts[1], 400.0)?;
    page.visible("[data-kind='Changed']").await?;
    page.picture("findings-before-after").await?;
    // The binary says the same of the same moment.
    let hash = page.run("return location.hash").await?;
    let moment = hash.as_str().and_then(|hash| hash.split("against=since-").nth(1));
    let moment: String = moment.unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
    let said = super::drop::native(&["compare", "--json", "--since", &moment], &[&file])?;
    same("requests of A", said["a"]["requests"].as_f64(), Some(counts[0]))?;
    page.click("[data-test='view-compare']").await?;
    page.ready().await?;
    page.visible("[data-test='verdict']").await?;
    let verdict = page.text("[data-test='verdict']").await?;
    ensure(verdict.contains("catalog"), || verdict.clone())?;
    page.picture("compare-before-after").await?;
    // A link has both sides; stopping leaves one set.
    page.click("[data-test='sides-menu']").await?;
    page.hidden("[data-test='swap-sides']").await?;
    page.click("[data-test='stop-comparing']").await?;
    page.hidden("[data-test='side-A']").await
}
