//! The views of loaded traces.

use std::collections::BTreeMap;
use std::path::PathBuf;

use e2e::browser::{Look, Modifiers, Page};
use e2e::failure::{Failure, Outcome, ensure, same};
use serde_json::Value;

use super::drop::{SPANS_AS_TABLE, generated, native, open_tables, shop};

const PRODUCT: &str = "service=edge-gateway&operation=GET%20/product/%7Bid%7D";
const OF_PRODUCT: [&str; 6] =
    ["critical-path", "--json", "--service", "edge-gateway", "--operation", "GET /product/{id}"];

/// Opens the page with the shop's traces, at this place.
pub(super) async fn shop_at(page: &Page, fragment: &str) -> Outcome<PathBuf> {
    let file = shop()?;
    page.open(fragment).await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    Ok(file)
}

/// Compares the frames the table shows (only those in sight are in the page) with the nodes of the binary's report.
pub async fn frames_agree(page: &Page, report: &Value) -> Outcome {
    let nodes = report["nodes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let shown = page.number("[data-test='flame']", "data-nodes").await?;
    same("nodes of the picture", shown as usize, nodes.len())?;
    let script = "return [...document.querySelectorAll('[data-test=\"frame\"]')].map(({ dataset: d }) => \
                  [d.node, d.service, d.operation, d.value])";
    let rows: Vec<[String; 4]> = serde_json::from_value(page.run(script).await?)?;
    ensure(rows.len() >= 5.min(nodes.len()), || format!("only {} frames in the table", rows.len()))?;
    for [number, service, operation, own] in rows {
        let node = number.parse().ok().and_then(|number: usize| nodes.get(number));
        let Some(node) = node else { return Err(Failure(format!("node {number} is the page's alone"))) };
        same("service", Some(service.as_str()), node["service"].as_str())?;
        same("operation", Some(operation.as_str()), node["operation"].as_str())?;
        same(&format!("own time of node {number}"), own.parse().ok(), node["exclusive_us"]["sum"].as_u64())?;
    }
    Ok(())
}

pub async fn the_flame_graph_has_the_nodes_of_the_binary_in_every_percentile_range(page: &Page) -> Outcome {
    let file = shop_at(page, &format!("view=flame&{PRODUCT}")).await?;
    frames_agree(page, &native(&OF_PRODUCT, &[&file])?).await?;
    page.picture("flame").await?;
    for range in ["P50-95", "P95-100", "P95"] {
        page.go(&format!("view=flame&{PRODUCT}&range={range}")).await?;
        page.ready().await?;
        let mut words = OF_PRODUCT.to_vec();
        words.extend(["--range", range]);
        frames_agree(page, &native(&words, &[&file])?).await?;
    }
    // The slow tail waits for what the others never call.
    page.go(&format!("view=flame&{PRODUCT}&range=P95-100")).await?;
    page.ready().await?;
    let operations = page.attributes("[data-test='frame']", "data-operation").await?;
    ensure(operations.iter().any(|name| name == "SELECT product_details"), || {
        format!("the tail's call is not among {operations:?}")
    })?;
    page.picture("flame-tail").await?;
    page.go(&format!("view=flame&{PRODUCT}&inverted=1")).await?;
    page.ready().await?;
    page.picture("flame-inverted").await
}

pub async fn services_take_the_place_of_endpoints(page: &Page) -> Outcome {
    let file = shop_at(page, &format!("view=flame&{PRODUCT}")).await?;
    let before = page.attributes("[data-test='frame']", "data-operation").await?;
    page.click(".view-chart:not([hidden]) [data-test='places-service']").await?;
    page.ready().await?;
    let mut words = OF_PRODUCT.to_vec();
    words.push("--by-service");
    frames_agree(page, &native(&words, &[&file])?).await?;
    let after = page.attributes("[data-test='frame']", "data-operation").await?;
    ensure(after.len() < before.len() && after.iter().all(String::is_empty), || {
        format!("services have operations: {after:?}")
    })?;
    page.picture("flame-services").await?;
    page.go("view=errors&places=service").await?;
    page.ready().await?;
    let lines = page.attributes("[data-test='error-line']", "data-operation").await?;
    ensure(!lines.is_empty() && lines.iter().all(String::is_empty), || {
        format!("lines of services have operations: {lines:?}")
    })?;
    page.go("view=findings&places=service").await?;
    page.ready().await?;
    open_tables(page).await?;
    let top = page.attributes("[data-test='top-endpoint']", "data-service").await?;
    let summary = native(&["summary", "--json", "--by-service"], &[&file])?;
    let rows = summary["rows"].as_array().into_iter().flatten();
    let mut rows: Vec<(u64, String)> = rows
        .map(|row| {
            let sum = row["exclusive_us"]["sum"].as_u64().unwrap_or_default();
            (sum, row["service"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    rows.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let said: Vec<String> = rows.into_iter().map(|row| row.1).take(top.len()).collect();
    ensure(!top.is_empty(), || "no service stands below the findings".to_owned())?;
    same("services below the findings", top, said)
}

pub async fn from_a_frame_to_its_exemplars_to_a_timeline(page: &Page) -> Outcome {
    let file = shop_at(page, &format!("view=flame&{PRODUCT}")).await?;
    // The first row below the root is as wide as the picture; the first frame in it is the largest.
    let [x, y, width, _] = page.place("[data-test='flame']").await?;
    page.click_at(x + width * 0.3, y + 30.0, 1).await?;
    page.visible("[data-test='detail']").await?;
    page.visible("[data-test='exemplar']").await?;
    page.picture("exemplars").await?;
    let trace = page.attributes("[data-test='exemplar']", "data-trace").await?.swap_remove(0);
    page.click("[data-test='exemplar']").await?;
    page.visible("[data-test='timeline-view']").await?;
    page.ready().await?;

    let mut words = OF_PRODUCT.to_vec();
    words.push("--per-trace");
    let report = native(&words, &[&file])?;
    let request =
        report["requests"].as_array().into_iter().flatten().find(|request| request["trace_id"] == trace);
    let request = request.ok_or_else(|| Failure(format!("the binary knows no request in trace {trace}")))?;
    let latency = page.number("[data-test='trace-latency']", "data-value").await?;
    same("latency", Some(latency as u64), request["latency_us"].as_u64())?;
    // Own times on the path: the table's rows in sight against the segments of each span.
    let mut own: BTreeMap<(String, String), u64> = BTreeMap::new();
    for node in request["nodes"].as_array().into_iter().flatten() {
        let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
        *own.entry((text("service"), text("operation"))).or_default() +=
            node["exclusive_us"].as_u64().unwrap_or_default();
    }
    page.run(SPANS_AS_TABLE).await?;
    page.visible("[data-test='span']").await?;
    let services = page.attributes("[data-test='span']", "data-service").await?;
    let operations = page.attributes("[data-test='span']", "data-operation").await?;
    let values = page.attributes("[data-test='span']", "data-value").await?;
    let on_path = values.iter().filter(|value| *value != "0").count();
    ensure(on_path >= 3, || format!("{on_path} spans of the table are on the path"))?;
    for ((service, operation), value) in services.into_iter().zip(operations).zip(&values) {
        let value: u64 = value.parse().unwrap_or_default();
        let most = own.get(&(service.clone(), operation.clone())).copied().unwrap_or_default();
        ensure(value <= most, || {
            format!("{operation} @ {service}: {value} us on the path, {most} by the binary")
        })?;
    }
    page.picture("timeline").await
}

pub async fn a_selected_endpoint_is_shown_in_the_other_views(page: &Page) -> Outcome {
    shop_at(page, &format!("view=flame&{PRODUCT}")).await?;
    let [x, y, width, _] = page.place("[data-test='flame']").await?;
    page.click_at(x + width * 0.3, y + 30.0, 1).await?;
    let frame = "[data-test='frame'][aria-selected='true']";
    page.visible(frame).await?;
    let operation = page.attributes(frame, "data-operation").await?.swap_remove(0);
    page.click("[data-test='show-in-heatmap']").await?;
    page.visible("[data-test='heat-view']").await?;
    page.ready().await?;
    let row = page.attributes("[data-test='heat-row'][aria-selected='true']", "data-operation").await?;
    same("the selected row of the heat map", row.first(), Some(&operation))?;
    page.click("[data-test='show-in-split']").await?;
    page.visible("[data-test='split-view']").await?;
    page.ready().await?;
    let own = page.text("[data-test='split-endpoint']").await?;
    ensure(own.contains(&operation), || format!("what is split is {own:?}"))?;
    // Single calls, until the sum per request is asked for.
    let title = page.text("[data-test='split-title']").await?;
    ensure(title.contains("one call"), || title.clone())?;
    page.click("[data-test='split-sums']").await?;
    page.ready().await?;
    let title = page.text("[data-test='split-title']").await?;
    ensure(title.contains("all calls of one request together"), || title.clone())?;
    let link = page.run("return location.hash").await?;
    ensure(link.as_str().is_some_and(|link| link.contains("per=request")), || format!("{link}"))?;
    page.click("[data-test='show-in-flow']").await?;
    page.visible("[data-test='flow-view']").await?;
    page.ready().await?;
    let link = page.run("return decodeURIComponent(location.hash)").await?;
    ensure(link.as_str().is_some_and(|link| link.contains("parents=") && link.contains(&operation)), || {
        format!("the address is {link}")
    })?;
    page.click("[data-test='show-in-diagnosis']").await?;
    page.visible("[data-test='diagnosis-view']").await?;
    page.ready().await?;
    // Only the endpoints with the most self time have a line.
    let lines = "return [...document.querySelectorAll('[data-test=\"diagnosis-line\"]')].map((line) => \
                 [line.ariaSelected === 'true', line.textContent])";
    let lines: Vec<(bool, String)> = serde_json::from_value(page.run(lines).await?)?;
    let of_it = |chosen: bool| {
        lines.iter().any(|(is_chosen, text)| *is_chosen >= chosen && text.contains(&operation))
    };
    ensure(of_it(true) || !of_it(false), || format!("another line is chosen of {lines:?}"))?;
    // Back in the flame graph the call path is selected.
    page.click("[data-test='show-in-flame']").await?;
    page.ready().await?;
    let frames = page.attributes(frame, "data-operation").await?;
    same("the selected frame", frames.first(), Some(&operation))
}

pub async fn every_view_is_there_with_its_numbers(page: &Page) -> Outcome {
    let file = shop_at(page, "").await?;
    // Views are numbered as they stand in the list.
    let views = page.attributes("[data-test^='view-']:not(select):not([hidden])", "data-test").await?;
    for view in ["flame", "requests", "trace"] {
        let place = views.iter().position(|name| *name == format!("view-{view}"));
        let key = place.map_or(0, |place| place + 1);
        match key {
            1..=9 => page.key(&key.to_string(), Modifiers::None).await?,
            _ => page.click(&format!("[data-test='view-{view}']")).await?,
        }
        page.until(&format!("view {view}"), "return document.documentElement.dataset.view", |found| {
            found == view
        })
        .await?;
        page.ready().await?;
    }
    page.click("[data-test='view-requests']").await?;
    page.visible("[data-test='request']").await?;
    page.ready().await?;
    let report = native(&["critical-path", "--json", "--per-trace"], &[&file])?;
    let mut latencies: Vec<u64> = report["requests"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|r| r["latency_us"].as_u64())
        .collect();
    latencies.sort_unstable_by(|a, b| b.cmp(a));
    let shown = page.attributes("[data-test='request']", "data-value").await?;
    let shown: Vec<u64> = shown.iter().filter_map(|value| value.parse().ok()).collect();
    ensure(shown.len() >= 10, || format!("only {} requests are listed", shown.len()))?;
    same("slowest requests", &shown[..], &latencies[..shown.len()])?;
    page.picture("requests").await
}

pub async fn back_and_forward_go_through_the_views_and_a_link_reproduces_one(page: &Page) -> Outcome {
    shop_at(page, "").await?;
    let view = "return document.documentElement.dataset.view";
    page.click("[data-test='view-flame']").await?;
    page.until("the flame graph", view, |found| found == "flame").await?;
    page.click("[data-test='range-menu']").await?;
    page.click("[data-test='range-P95-99']").await?;
    page.ready().await?;
    let hash = page.run("return location.hash").await?;
    ensure(
        hash.as_str().is_some_and(|hash| hash.contains("view=flame") && hash.contains("range=P95-99")),
        || format!("the address is {hash}"),
    )?;
    page.run("history.go(-2)").await?;
    page.until("the findings", view, |found| found == "findings").await?;
    page.run("history.go(2)").await?;
    page.until("the flame graph again", view, |found| found == "flame").await?;
    page.ready().await?;
    same(
        "pressed",
        page.attributes("[data-test='range-P95-99']", "aria-checked").await?,
        vec!["true".to_owned()],
    )?;
    // The link, opened afresh: the same view once the same file is dropped.
    shop_at(page, hash.as_str().unwrap_or_default()).await?;
    same("view", page.run(view).await?, Value::from("flame"))?;
    same(
        "pressed",
        page.attributes("[data-test='range-P95-99']", "aria-checked").await?,
        vec!["true".to_owned()],
    )
}

pub async fn a_search_tells_the_share_that_matches(page: &Page) -> Outcome {
    shop_at(page, &format!("view=flame&{PRODUCT}")).await?;
    page.key("/", Modifiers::None).await?;
    let focused =
        page.run("return document.activeElement.dataset.test || document.activeElement.localName").await?;
    ensure(focused == "search" || focused == "input", || format!("the focus is on {focused}"))?;
    for letter in ["r", "e", "d", "i", "s"] {
        page.key(letter, Modifiers::None).await?;
    }
    let script = "return document.querySelector('[data-test=\"search-matches\"]').textContent";
    page.until("a share", script, |text| text.as_str().is_some_and(|text| text.contains('%'))).await?;
    page.picture("search").await
}

pub async fn the_keys_are_listed_and_every_control_has_a_name(page: &Page) -> Outcome {
    shop_at(page, "view=flame").await?;
    page.key("?", Modifiers::None).await?;
    page.visible("[data-test='keys']").await?;
    page.picture("keys").await?;
    page.key("Escape", Modifiers::None).await?;
    page.hidden("[data-test='keys']").await?;
    let script = "return [...document.querySelectorAll('button, a, input, select, canvas')] \
                  .filter((e) => e.checkVisibility() && !(e.textContent.trim() || e.ariaLabel || e.title || \
                  e.placeholder || e.labels?.length)).map((e) => e.outerHTML.slice(0, 120))";
    same("controls without a name", page.run(script).await?, Value::Array(Vec::new()))
}

pub async fn a_name_is_cut_in_the_middle_once_its_service_has_given_way(page: &Page) -> Outcome {
    shop_at(page, &format!("view=flame&{PRODUCT}")).await?;
    page.look(Look::NARROW).await?;
    page.run("document.querySelector(\"[data-test='flame-table'] th[data-column=endpoint] .sort\").focus()")
        .await?;
    for _ in 0..8 {
        let narrower = "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', \
            { key: 'ArrowLeft', altKey: true, bubbles: true, cancelable: true }))";
        page.run(narrower).await?;
    }
    page.picture_of("names-narrow").await?;
    let script = "const names = [...document.querySelectorAll(\"[data-test='flame-table'] td .endpoint\")]; \
        const head = (name) => name.querySelector('.head') ?? name.querySelector('.operation'); \
        const cut = names.filter((name) => head(name).scrollWidth > head(name).clientWidth + 1); \
        return [cut.length, cut.filter((name) => name.querySelector('.service').getBoundingClientRect().width > 1.5).length, \
        cut.filter((name) => name.querySelector('.operation').textContent.length >= 18 && !name.querySelector('.tail')).length]";
    let [cut, with_service, at_the_end]: [u64; 3] = serde_json::from_value(page.run(script).await?)?;
    ensure(cut > 0, || "no name is cut".to_owned())?;
    same("names cut beside a service, and at their end", (with_service, at_the_end), (0, 0))
}

pub async fn words_lead_to_the_glossary_and_columns_say_over_which_requests(page: &Page) -> Outcome {
    shop_at(page, &format!("view=flame&{PRODUCT}")).await?;
    // The names of the groups stand over their columns, in whole.
    let script = "const left = (at) => Math.round(document.querySelector(`[data-test='flame-table'] ${at}`).getBoundingClientRect().left); \
        return [[...document.querySelectorAll(\"[data-test='flame-table'] .groups th\")].slice(0, 2).map((head) => head.textContent), \
        left('.groups th') - left('[data-column=share]')]";
    let groups = page.run(script).await?;
    same("groups of columns", groups, serde_json::json!([["Per request", "When present"], 0]))?;
    for (opener, word) in
        [("[data-test='flame-table'] .groups .term", "per-request"), (".detail .pairs .term", "self-time")]
    {
        if word == "self-time" {
            page.click("[data-test='frame']").await?;
            page.visible(".detail .weights .term").await?;
        }
        page.click(opener).await?;
        page.visible("[data-test='keys']").await?;
        let focused = page.run("return document.activeElement.id").await?;
        same("what is explained", focused, Value::from(format!("word-{word}")))?;
        page.click("[data-test='close-keys']").await?;
    }
    // A head sorts by a click; beside it is a link.
    page.run("document.querySelector(\"[data-test='flame-table'] th[data-column=share] .term\").click()")
        .await?;
    let focused = page.run("return document.activeElement.id").await?;
    same("what the head leads to", focused, Value::from("word-self-time"))?;
    page.click("[data-test='close-keys']").await?;
    page.visible("[data-test='flame-title'] .term").await
}

pub async fn help_begins_with_the_guide_of_the_view(page: &Page) -> Outcome {
    for (view, name) in [("flame", "Flame graph"), ("trend", "Trend"), ("trace", "Timeline")] {
        shop_at(page, &format!("view={view}")).await?;
        page.click("[data-test='help']").await?;
        same("guide", page.text("[data-test='about-view'] h3").await?.as_str(), name)?;
        let read = "return document.querySelectorAll(\"[data-test='about-view'] li\").length >= 3";
        same("what is to be read", page.run(read).await?, Value::Bool(true))?;
        page.picture(&format!("guide-{view}")).await?;
        page.click("[data-test='close-keys']").await?;
    }
    Ok(())
}

pub async fn dark_and_narrow_pages_are_whole(page: &Page) -> Outcome {
    shop_at(page, "").await?;
    for view in ["findings", "flame", "compare", "heatmap", "requests", "trace"] {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        for look in [Look::NARROW, Look::DARK, Look::DESKTOP] {
            page.look(look).await?;
            let wide = page.run("return document.documentElement.scrollWidth - innerWidth").await?;
            ensure(wide.as_i64().is_some_and(|over| over <= 0), || {
                format!("{view} is {wide} px wider than its {} px window", look.width)
            })?;
        }
        let dark = page.run("return document.documentElement.dataset.theme").await?;
        same("theme of a light system", dark, Value::from("light"))?;
    }
    page.look(Look::DARK).await?;
    page.until("the dark theme", "return document.documentElement.dataset.theme", |theme| theme == "dark")
        .await
        .map(drop)
}

pub async fn a_chain_and_a_fan_of_100_000_spans_are_shown(page: &Page) -> Outcome {
    for shape in ["deep", "wide"] {
        let file = generated("huge.json", &format!("--traces 1 --spans 100000 --shape {shape}"))?;
        page.open("view=trace").await?;
        page.drop_files(std::slice::from_ref(&file)).await?;
        page.ready().await?;
        page.visible("[data-test='timeline-view']").await?;
        let spans = page.number("[data-test='timeline']", "data-spans").await?;
        same(&format!("spans of the {shape} trace"), spans as usize, 100_000)?;
        page.go("view=flame").await?;
        page.ready().await?;
        frames_agree(page, &native(&["critical-path", "--json"], &[&file])?).await?;
        std::fs::remove_file(file)?;
    }
    Ok(())
}

pub async fn siblings_share_a_row_and_the_path_is_walked(page: &Page) -> Outcome {
    let file = generated("wide.json", "--traces 1 --spans 10000 --shape wide --seed 4")?;
    page.open("view=trace").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let of = |what: &'static str| page.number("[data-test='timeline']", what);
    same("spans", of("data-spans").await?, 10_000.0)?;
    let grouped = of("data-rows").await?;
    ensure(grouped < 5_000.0, || format!("{grouped} rows of 10 000 spans"))?;
    page.picture("timeline-grouped").await?;
    // Its overview stands above the bars: it begins where the column of names ends.
    let [x, _, width, _] = page.place("[data-test='minimap']").await?;
    let [left, _, whole, _] = page.place("[data-test='timeline']").await?;
    ensure(x > left + 150.0 && x + width < left + whole, || format!("the overview at {x}, {width} wide"))?;
    page.click("[data-test='find-path']").await?;
    let detail = "return document.body.innerText.includes('Self time on the path')";
    page.until("the detail of a span on the path", detail, |found| found == true).await?;
    page.click("[data-test='group-siblings']").await?;
    page.ready().await?;
    same("rows without groups", of("data-rows").await?, 10_000.0)?;
    page.hidden("[data-test='span-table']").await?;
    page.run(SPANS_AS_TABLE).await?;
    page.visible("[data-test='span']").await?;
    page.picture("timeline-with-table").await
}

pub async fn columns_are_drawn_wider_and_chosen_and_stay_so(page: &Page) -> Outcome {
    shop_at(page, "view=requests").await?;
    let width = "const head = document.querySelector('[data-test=\"requests\"] th[data-column]'); return head.getBoundingClientRect().width";
    let before = page.run(width).await?.as_f64().unwrap_or_default();
    page.run("document.querySelector('[data-test=\"requests\"] th[data-column] button').focus()").await?;
    let by_key = "const event = new KeyboardEvent('keydown', { key: 'ArrowLeft', altKey: true, bubbles: true, cancelable: true }); document.activeElement.dispatchEvent(event)";
    page.run(by_key).await?;
    page.until("a narrower column", width, |now| now.as_f64().is_some_and(|now| now < before)).await?;
    page.click("[data-test='requests'] [data-test='columns']").await?;
    page.picture("columns-menu").await?;
    let shown = "return [...document.querySelectorAll('[data-test=\"requests\"] th[data-column]')].filter((head) => !head.hidden).length";
    let count = page.run(shown).await?.as_u64().unwrap_or_default();
    let items = page.attributes("[data-test='requests'] [data-choose]", "data-choose").await?;
    let last = items.last().cloned().unwrap_or_default();
    page.click(&format!("[data-test='requests'] [data-choose='{last}']")).await?;
    page.until("a column less or more", shown, |now| now.as_u64().is_some_and(|now| now != count)).await?;
    let kept = "return Object.keys(localStorage).some((key) => key.startsWith('pathlight-columns-'))";
    page.until("what the browser keeps", kept, |kept| kept == true).await.map(drop)
}

pub async fn a_service_is_isolated_and_hidden_by_the_legend(page: &Page) -> Outcome {
    page.open("view=flame").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    page.click("[data-test='service-legend']").await?;
    let rows = page.attributes("[data-test='service-legend-panel'] .legend-row", "data-service").await?;
    ensure((3..=12).contains(&rows.len()), || format!("the legend has {rows:?}"))?;
    page.picture("service-legend").await?;
    let of = |choice: &str| format!("[data-service='{}'] [data-test='{choice}-service']", rows[0]);
    let search = "return decodeURIComponent(location.hash.slice(1))";
    page.click(&of("only")).await?;
    page.ready().await?;
    let found = "return document.querySelector(\"[data-test='search-matches']\").textContent";
    let only = page.run(found).await?;
    let now = page.run(search).await?;
    ensure(now.as_str().is_some_and(|now| now.contains(&format!("service={}", rows[0]))), || {
        format!("{now}")
    })?;
    page.click(&of("hide")).await?;
    page.ready().await?;
    let now = page.run(search).await?;
    ensure(now.as_str().is_some_and(|now| now.contains(&format!("-service={}", rows[0]))), || {
        format!("{now}")
    })?;
    ensure(page.run(found).await? != only, || format!("both find {only}"))?;
    page.click(&of("hide")).await?;
    page.ready().await?;
    let now = page.run(search).await?;
    ensure(now.as_str().is_some_and(|now| !now.contains("service=")), || format!("the search stays: {now}"))?;
    // The other pictures with services as colours have it too.
    for view in ["errors", "flow", "diagnosis"] {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        let row = |what: &str| format!("[data-test='{view}-view'] .legend-row {what}");
        page.click(&format!("[data-test='{view}-view'] [data-test='service-legend']")).await?;
        page.click(&row("[data-test='only-service']")).await?;
        page.ready().await?;
        let now = page.run(search).await?;
        ensure(now.as_str().is_some_and(|now| now.contains("service=")), || format!("{view}: {now}"))?;
    }
    Ok(())
}

pub async fn three_flame_graphs_stand_side_by_side_and_mark_the_same_path(page: &Page) -> Outcome {
    let file = shop_at(page, "view=flame").await?;
    page.click("[data-test='flame-bands']").await?;
    page.visible("[data-test='flame-p99']").await?;
    page.ready().await?;
    page.hidden("[data-test='flame']").await?;
    let hash = page.run("return location.hash").await?;
    ensure(hash.as_str().is_some_and(|hash| hash.contains("bands=1")), || hash.to_string())?;
    for (band, range) in [("p50", "49-51"), ("p95", "94-96"), ("p99", "98-100")] {
        let said = native(&["critical-path", "--json", "--range", range], &[&file])?;
        let shown = page.number(&format!("[data-test='flame-{band}']"), "data-nodes").await?;
        same(&format!("frames near {band}"), shown as usize, said["nodes"].as_array().map_or(0, Vec::len))?;
        let head = page.text(&format!("[data-test='band-{band}']")).await?;
        ensure(head.contains(&format!("Near {band}: mean ")), || head.clone())?;
    }
    let growth = page.attributes("[data-test='band-row']", "data-value").await?;
    let growth: Vec<f64> = growth.iter().filter_map(|us| us.parse().ok()).collect();
    ensure(growth.len() >= 5 && growth.windows(2).all(|pair| pair[0] >= pair[1]), || format!("{growth:?}"))?;
    page.picture("flame-bands").await?;
    // The root is in all of them: under the pointer in one, it is marked in the others.
    let [x, y, w, _] = page.place("[data-test='flame-p50']").await?;
    page.move_to(x + w / 2.0, y + 8.0).await?;
    for band in ["p95", "p99"] {
        let marked = format!("return document.querySelector(\"[data-test='flame-{band}']\").dataset.marked");
        page.until("the same path", &marked, |marked| marked == "true").await?;
    }
    // A path that is zoomed to is on top of all three.
    page.click("[data-test='band-row']").await?;
    page.ready().await?;
    page.run("document.querySelector(\"[data-test='band-row']\").dispatchEvent(new MouseEvent('dblclick', { bubbles: true }))").await?;
    let focus = "return location.hash";
    page.until("the root in the address", focus, |hash| hash.as_str().is_some_and(|h| h.contains("focus=")))
        .await?;
    page.visible("[data-test='fit-bands']").await?;
    page.click("[data-test='flame-all']").await?;
    page.visible("[data-test='flame']").await
}
