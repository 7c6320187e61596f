//! Without a mouse and without sight: the rules of axe-core, the command palette, brush and splitter by keys.

use e2e::browser::{Look, Modifiers, Page, plain};
use e2e::failure::{Outcome, ensure, same};
use e2e::process::{single, target};
use serde_json::Value;

use super::drop::{generated, shop};
use super::summaries::summarised;

/// Every view of the sidebar; the last one is about summaries.
pub const VIEWS: [&str; 13] = [
    "findings",
    "flame",
    "compare",
    "heatmap",
    "endpoints",
    "split",
    "flow",
    "diagnosis",
    "anomalies",
    "errors",
    "requests",
    "trace",
    "trend",
];

/// What opens a menu, panel or dialog: the view, what is clicked there one after the other, and what is in sight then.
const OPENED: [(&str, &[&str], &str); 30] = [
    ("findings", &["[data-test='help']"], "keys"),
    ("findings", &["[data-test='notes-button']"], "notes"),
    ("findings", &["[data-test='jaeger']"], "jaeger-dialog"),
    ("findings", &["[data-test='more']"], "more-menu"),
    ("findings", &["[data-test='more']", "[data-test='share-open']"], "share"),
    ("findings", &["[data-test='more']", "[data-test='about-open']"], "about"),
    ("findings", &["[data-test='more']", "[data-test='save-report']"], "redaction"),
    ("findings", &["[data-test='compare']"], "compare-ranges"),
    ("findings", &["[data-test='open-more']"], "open-add"),
    ("findings", &["[data-test='choose-root']"], "root-list"),
    ("findings", &["[data-test='add-filter']"], "filter-form"),
    ("findings", &["[data-test='search']"], "search-panel"),
    ("findings", &["[data-test='finding-why'] summary"], "finding-why"),
    (
        "findings",
        &["[data-test='findings-tables'] > summary", "[data-test='findings'] [data-test='export']"],
        "export-menu",
    ),
    ("requests", &["[data-test='requests'] [data-test='columns']"], "column-start"),
    ("flame", &["[data-test='flame-view'] [data-test='service-legend']"], "service-legend-panel"),
    ("flame", &["[data-test='flame-view'] [data-test='export']"], "export-menu"),
    ("flame", &["[data-test='frame']"], "detail"),
    ("flame", &["[data-test='flame-table'] [data-test='columns']"], "column-endpoint"),
    ("findings", &["[data-test='copy-findings']"], "redaction"),
    ("flow", &["[data-test='flow-model']"], "flow-model-panel"),
    ("flow", &["[data-test='panel-whatif']"], "whatif"),
    ("flow", &["[data-test='panel-target']"], "target"),
    ("flow", &["[data-test='panel-timeout']"], "timeout"),
    ("diagnosis", &["[data-test='list-layers']"], "diagnosis-view"),
    ("diagnosis", &["[data-test='list-services']"], "diagnosis-view"),
    ("anomalies", &["[data-test='anomaly']"], "anomaly-pair"),
    ("anomalies", &["[data-test='anomaly-evaluate']"], "evaluation-row"),
    // These stay as they are chosen.
    ("flow", &["[data-test='flow-map']"], "map-call"),
    ("flame", &["[data-test='flame-bands']"], "band-row"),
];

/// Pastes a trace besides those that are open.
const PASTE: &str = "const data = new DataTransfer(); \
    data.setData('text/plain', JSON.stringify({ data: [{ traceID: 'a', processes: { p: { serviceName: 's' } }, spans: [{ \
    traceID: 'a', spanID: 'b', processID: 'p', operationName: 'o', startTime: 1, duration: 2, references: [], tags: [] }] }] })); \
    document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, bubbles: true }))";

/// Collects what axe-core has against a part of the page as it is, each with the element. What a theme changes is colours, so
/// in the dark one only they are looked at; images are there for the proof.
async fn look(page: &Page, part: &str, theme: &str, name: &str, found: &mut Vec<String>) -> Outcome {
    let rules = if theme == "dark" { "runOnly: ['color-contrast', 'image-alt'], " } else { "" };
    // Colours and panels that fade in are looked at when they have come.
    let script = format!(
        "const done = arguments[arguments.length - 1]; setTimeout(async () => {{ \
         const {{ violations }} = await axe.run({part}, {{ {rules}resultTypes: ['violations'] }}); \
         done(violations.flatMap((rule) => rule.nodes.map((node) => \
         `${{rule.id}}: ${{node.html.slice(0, 160)}}`))) }}, 400)"
    );
    let violations = page.client().execute_async(&script, Vec::new()).await?;
    let words = violations.as_array().into_iter().flatten().filter_map(Value::as_str);
    found.extend(words.map(|violation| format!("{name}, {theme}: {violation}")));
    Ok(())
}

pub async fn nothing_stands_against_the_rules_in_any_view_and_dialog(page: &Page) -> Outcome {
    let script = target().join("tools/axe/node_modules/axe-core/axe.min.js");
    let Ok(axe) = std::fs::read_to_string(&script) else {
        return page.skip("there is no axe-core: `cargo xtask test e2e` brings it where there is npm");
    };
    let mut found = Vec::new();
    let day = |day| {
        let options = format!("--traces 60 --spans 10 --shape mixed --seed {day}");
        summarised(&format!("access-{day}"), &options)
    };
    let days = [day(1)?, day(2)?, day(3)?];
    for theme in ["light", "dark"] {
        page.open(&format!("theme={theme}")).await?;
        page.run(&axe).await?;
        // Rules that find nothing anywhere would pass too.
        page.run("document.body.append(Object.assign(document.createElement('img'), { id: 'nameless' }))")
            .await?;
        let mut proof = Vec::new();
        look(page, "document", theme, "proof", &mut proof).await?;
        ensure(proof.iter().any(|words| words.contains("image-alt")), || {
            format!("the rules find {proof:?}")
        })?;
        page.run("document.getElementById('nameless').remove()").await?;
        look(page, "document", theme, "start", &mut found).await?;
        page.drop_files(&[shop()?]).await?;
        page.ready().await?;
        for view in VIEWS {
            page.run(&format!("document.querySelector(\"[data-test='view-{view}']\").click()")).await?;
            page.ready().await?;
            look(page, "document", theme, view, &mut found).await?;
        }
        page.click("[data-test='view-findings']").await?;
        page.ready().await?;
        for (view, clicks, opened) in OPENED {
            page.run(&format!("document.querySelector(\"[data-test='view-{view}']\").click()")).await?;
            page.ready().await?;
            for click in clicks {
                page.click(click).await?;
                page.drawn().await?;
            }
            page.visible(&format!("[data-test='{opened}']")).await?;
            look(page, &format!("\"[data-test='{opened}']\""), theme, opened, &mut found).await?;
            page.key("Escape", Modifiers::None).await?;
            // Panels that do not hold the focus are closed by a press elsewhere.
            page.run(
                "document.querySelectorAll('dialog[open]').forEach((dialog) => dialog.close()); \
                 document.body.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))",
            )
            .await?;
        }
        page.key("k", Modifiers::Control).await?;
        page.visible("[data-test='palette']").await?;
        look(page, "document", theme, "palette", &mut found).await?;
        page.key("Escape", Modifiers::None).await?;
        page.drag_files("dragEnter", &[shop()?]).await?;
        page.visible("[data-test='drop-add']").await?;
        look(page, "document", theme, "drop zones", &mut found).await?;
        page.drag_files("dragCancel", &[shop()?]).await?;
        page.run(PASTE).await?;
        page.visible("[data-test='ask']").await?;
        look(page, "\"[data-test='ask']\"", theme, "ask", &mut found).await?;
        page.click("[data-test='ask-cancel']").await?;
        // Two sets.
        page.drop_files_on(
            "[data-test='drop-compare']",
            &[generated("access-b.json", "--traces 60 --spans 10 --seed 4")?],
        )
        .await?;
        page.ready().await?;
        page.click("[data-test='view-compare']").await?;
        page.ready().await?;
        page.visible("[data-test='service-change']").await?;
        look(page, "document", theme, "two sets", &mut found).await?;
        // Days of summaries have a view of their own.
        page.click("[data-test='more']").await?;
        page.click("[data-test='clear']").await?;
        page.state("empty").await?;
        page.drop_files(&days).await?;
        page.ready().await?;
        page.click("[data-test='view-trend']").await?;
        page.ready().await?;
        look(page, "document", theme, "trend", &mut found).await?;
        page.client().refresh().await?;
        page.visible("[data-test='reopen']").await?;
        page.run(&axe).await?;
        look(page, "document", theme, "reopen", &mut found).await?;
    }
    // The dialog of Jaeger asks for one beside the page, and the server of the tests has none.
    let complaints = page.complaints().await?;
    let others: Vec<&String> = complaints.iter().filter(|words| !words.contains("/api/")).collect();
    ensure(others.is_empty(), || format!("errors on the console: {others:?}"))?;
    ensure(found.is_empty(), || found.join("\n"))
}

pub async fn the_palette_runs_commands_and_finds_views_services_and_endpoints(page: &Page) -> Outcome {
    page.open("").await?;
    page.key("k", Modifiers::Control).await?;
    page.fill("[data-test='palette-field']", "demo").await?;
    page.key("Enter", Modifiers::None).await?;
    page.hidden("[data-test='palette']").await?;
    page.ready().await?;
    page.key("k", Modifiers::Control).await?;
    page.visible("[data-test='palette']").await?;
    page.picture("palette").await?;
    page.fill("[data-test='palette-field']", "heat").await?;
    let kinds = page.attributes("[data-test='palette-entry']", "data-kind").await?;
    same("kind of the first", kinds.first().map(String::as_str), Some("View"))?;
    page.key("Enter", Modifiers::None).await?;
    page.visible("[data-test='heat-view']").await?;
    page.ready().await?;
    // Buttons in sight and entries of their menus.
    for (typed, entry, there) in [
        ("svg", "Export: SVG image", None),
        (
            "latencies p95",
            "All latencies: P95\u{2013}99",
            Some(".popover-anchor.on > [data-test='range-menu']"),
        ),
    ] {
        page.key("k", Modifiers::Control).await?;
        page.fill("[data-test='palette-field']", typed).await?;
        let entries = "return [...document.querySelectorAll(\"[data-test='palette-entry'][data-kind='Button'] .palette-name\")] \
            .map((name) => name.textContent)";
        let entries: Vec<String> = serde_json::from_value(page.run(entries).await?)?;
        same("first button", entries.first().map(String::as_str), Some(entry))?;
        page.key(if there.is_some() { "Enter" } else { "Escape" }, Modifiers::None).await?;
        page.hidden("[data-test='palette']").await?;
        if let Some(there) = there {
            page.visible(there).await?;
            page.ready().await?;
        }
    }
    page.click("[data-test='range-menu']").await?;
    page.click("[data-test='range-all']").await?;
    page.ready().await?;
    // An endpoint becomes the focus; with Shift whose requests are looked at.
    page.click("[data-test='view-endpoints']").await?;
    page.ready().await?;
    let operation = page
        .attributes("[data-test='impact']", "data-operation")
        .await?
        .into_iter()
        .next()
        .unwrap_or_default();
    for modifiers in [Modifiers::None, Modifiers::Shift] {
        page.key("k", Modifiers::Control).await?;
        page.fill("[data-test='palette-field']", &operation).await?;
        page.run(
            "const rows = [...document.querySelectorAll(\"[data-test='palette-entry']\")]; \
             const at = rows.findIndex((row) => row.dataset.kind === 'Endpoint'); \
             for (let i = 0; i < at; i++) document.activeElement.dispatchEvent(new KeyboardEvent('keydown', \
             { key: 'ArrowDown', bubbles: true, cancelable: true }))",
        )
        .await?;
        page.key("Enter", modifiers).await?;
        page.ready().await?;
        if matches!(modifiers, Modifiers::None) {
            page.visible(".detail").await?;
        }
    }
    let root = page.text("[data-test='root-endpoint']").await?;
    ensure(root.contains(&plain(&operation)), || format!("{root:?} is looked at instead of {operation:?}"))
}

pub async fn what_was_open_comes_back_or_is_named_after_a_reload(page: &Page) -> Outcome {
    page.open("").await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='share-open']").await?;
    let words = page.text("[data-test='share-words']").await?;
    ensure(words.contains("demo traces"), || format!("the link says {words:?}"))?;
    page.picture("share").await?;
    let link = page.run("return document.querySelector(\"[data-test='share-link']\").value").await?;
    page.open(link.as_str().unwrap_or_default()).await?;
    page.ready().await?;
    same("traces of the link", page.number("[data-test='traces']", "data-value").await?, 320.0)?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='clear']").await?;
    page.state("empty").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    page.go("view=flame").await?;
    page.ready().await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='share-open']").await?;
    page.visible("[data-test='share-save']").await?;
    page.client().refresh().await?;
    page.visible("[data-test='reopen']").await?;
    let words = page.text("[data-test='reopen']").await?;
    ensure(words.starts_with("shop.json was open"), || format!("the start says {words:?}"))?;
    page.picture("reopen").await?;
    page.drop_files(&[shop()?]).await?;
    page.visible("[data-test='flame-view']").await?;
    page.ready().await
}

pub async fn the_frame_is_as_high_whatever_is_selected(page: &Page) -> Outcome {
    page.open("").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    let frame = "const at = (part) => document.querySelector(part).getBoundingClientRect(); \
                 return [at('.top').height, at('.context').height, at('.body').top]";
    for look in [Look::DESKTOP, Look::NARROW] {
        page.look(look).await?;
        page.open("").await?;
        page.drop_files(&[shop()?]).await?;
        page.ready().await?;
        let heights = page.run(frame).await?;
        same("heights", heights, serde_json::json!([48, 48, 96]))?;
        for state in
            ["range=P95-99", "error=1&tag.region=eu&tag.cache.hit=false", "view=flame", "view=compare"]
        {
            page.go(state).await?;
            page.ready().await?;
            same(state, page.run(frame).await?, serde_json::json!([48, 48, 96]))?;
        }
        page.drop_files_on("[data-test='drop-compare']", &[shop()?]).await?;
        page.ready().await?;
        same("of two sets", page.run(frame).await?, serde_json::json!([48, 48, 96]))?;
    }
    page.look(Look::NARROW).await?;
    // Menus and panels stay on the screen.
    for opener in ["compare", "more", "range-menu", "choose-root", "add-filter", "sides-menu"] {
        page.run(&format!("document.querySelector(\"[data-test='{opener}']\").click()")).await?;
        page.drawn().await?;
        let script = "const shown = [...document.querySelectorAll('.popover')].filter((e) => e.checkVisibility()); \
                      return shown.map((e) => e.getBoundingClientRect()).map((r) => [r.left >= 0, r.right <= innerWidth])";
        same(opener, page.run(script).await?, serde_json::json!([[true, true]]))?;
        page.run("document.body.dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))").await?;
    }
    Ok(())
}

pub async fn brush_splitter_and_selection_have_keys_and_are_announced(page: &Page) -> Outcome {
    page.open("").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    page.run("document.querySelector(\"[data-test='histogram']\").focus()").await?;
    page.key("ArrowRight", Modifiers::None).await?;
    for _ in 0..8 {
        page.key("ArrowRight", Modifiers::Shift).await?;
    }
    let said = page.run("return document.querySelector(\"[data-test='brush-said']\").textContent").await?;
    let said = plain(said.as_str().unwrap_or_default());
    ensure(said.contains(" to ") && said.contains("request"), || format!("the brush says {said:?}"))?;
    page.key("Enter", Modifiers::None).await?;
    page.ready().await?;
    let requests = page.number("[data-test='range-requests']", "data-value").await?;
    ensure(requests > 0.0 && requests < 400.0, || format!("{requests} requests are left"))?;
    let number = said.split(", ").nth(1).and_then(|words| words.split(' ').next()?.parse::<f64>().ok());
    same("requests announced", number, Some(requests))?;
    // The line between chart and table.
    page.go("view=flame").await?;
    page.ready().await?;
    let before = page.number("[data-test='split']", "aria-valuenow").await?;
    page.run("document.querySelector(\"[data-test='split']\").focus()").await?;
    page.key("ArrowUp", Modifiers::None).await?;
    let after = page.number("[data-test='split']", "aria-valuenow").await?;
    ensure(after < before, || format!("the line went from {before} to {after}"))?;
    // A frame.
    page.hidden(".detail").await?;
    page.run("document.querySelector(\"[data-test='flame']\").focus()").await?;
    page.key("ArrowDown", Modifiers::None).await?;
    page.visible(".detail").await?;
    selected_is_said(page).await?;
    page.key("Escape", Modifiers::None).await?;
    page.hidden(".detail").await?;
    // A call and a span.
    for (view, canvas) in [("flow", "flow"), ("trace", "timeline")] {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        focus_canvas(page, canvas).await?;
        page.key("ArrowDown", Modifiers::None).await?;
        selected_is_said(page).await?;
        page.key("Escape", Modifiers::None).await?;
    }
    // An endpoint and a request, which is opened.
    page.go("view=heatmap").await?;
    page.ready().await?;
    focus_canvas(page, "heat").await?;
    page.key("ArrowDown", Modifiers::None).await?;
    let endpoint = selected_is_said(page).await?;
    page.key("ArrowRight", Modifiers::None).await?;
    page.key("ArrowRight", Modifiers::None).await?;
    page.visible(".detail").await?;
    let request = selected_is_said(page).await?;
    ensure(request != endpoint, || format!("a request is announced as {request:?}"))?;
    page.key("Enter", Modifiers::None).await?;
    page.visible("[data-test='timeline-view']").await?;
    page.ready().await
}

async fn focus_canvas(page: &Page, canvas: &str) -> Outcome {
    page.run(&format!("document.querySelector(\"canvas[data-test='{canvas}']\").focus()")).await.map(drop)
}

/// Waits until a selection is announced; gives its words.
async fn selected_is_said(page: &Page) -> Outcome<String> {
    let said = "return document.querySelector(\"[data-test='selected']\").textContent";
    let is_selection = |said: &Value| said.as_str().is_some_and(|words| words.starts_with("Selected: "));
    let said = page.until("an announcement", said, is_selection).await?;
    Ok(said.as_str().unwrap_or_default().to_owned())
}

/// Sets what the system asks of every page.
async fn emulate(page: &Page, features: &[(&str, &str)]) -> Outcome {
    let features: Vec<Value> =
        features.iter().map(|(name, value)| serde_json::json!({ "name": name, "value": value })).collect();
    page.devtools("Emulation.setEmulatedMedia", serde_json::json!({ "features": features })).await?;
    page.drawn().await
}

/// Gives what `script` returns of the flame graph, `at` the canvas, `image()` a picture of it, `wait(ms)` a pause.
async fn of_canvas(page: &Page, script: &str) -> Outcome<Value> {
    let script = format!(
        "const done = arguments[arguments.length - 1]; const at = document.querySelector(\"canvas[data-test='flame']\"); \
         const image = () => at.toDataURL(); const wait = (ms) => new Promise((go) => setTimeout(go, ms)); \
         (async () => {{ {script} }})().then(done, (error) => done(`${{error}}`))"
    );
    Ok(page.client().execute_async(&script, Vec::new()).await?)
}

pub async fn forced_colours_leave_what_is_chosen_an_edge_and_canvases_their_colours(page: &Page) -> Outcome {
    page.open("view=flame&theme=light").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    let edge = "const [chosen, pressed] = ['.sidebar-entry[aria-current]', '[aria-pressed=true]'].map((at) => \
                getComputedStyle([...document.querySelectorAll(at)].find((e) => e.checkVisibility()))); \
                return [matchMedia('(forced-colors: active)').matches, chosen.outlineStyle, pressed.outlineStyle, \
                getComputedStyle(at).forcedColorAdjust]";
    let before = of_canvas(page, edge).await?;
    same("colours are the page's", before, serde_json::json!([false, "none", "none", "auto"]))?;
    let drawn = of_canvas(page, "return image()").await?;
    emulate(page, &[("forced-colors", "active"), ("prefers-color-scheme", "light")]).await?;
    let after = of_canvas(page, edge).await?;
    same("what is chosen", after, serde_json::json!([true, "solid", "solid", "none"]))?;
    page.picture_of("forced-colours").await?;
    ensure(of_canvas(page, "return image()").await? == drawn, || "the canvas is drawn otherwise".to_owned())?;
    emulate(page, &[]).await
}

pub async fn nothing_moves_where_motion_is_unwelcome(page: &Page) -> Outcome {
    page.open("view=flame").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    let moving = "return [...document.querySelectorAll('*')].filter((e) => \
                  getComputedStyle(e).transitionDuration.split(', ').some((time) => time !== '0s')).length";
    ensure(page.run(moving).await?.as_u64() > Some(0), || "nothing would move anyway".to_owned())?;
    emulate(page, &[("prefers-reduced-motion", "reduce")]).await?;
    same("elements with a transition", page.run(moving).await?, Value::from(0))?;
    // A zoom is there at once.
    focus_canvas(page, "flame").await?;
    let whole = of_canvas(page, "return image()").await?;
    page.key("w", Modifiers::None).await?;
    page.drawn().await?;
    let zoomed = of_canvas(page, "const first = image(); await wait(400); return [first, image()]").await?;
    ensure(zoomed[0] != whole, || "nothing was zoomed".to_owned())?;
    ensure(zoomed[0] == zoomed[1], || "the zoom went on for a while".to_owned())?;
    emulate(page, &[]).await
}

/// A picker that gives handles of files of the browser's own, with the traces of one that lies on the disk.
const PICKER: &str = "
    window.showOpenFilePicker = async () => {
        const folder = await navigator.storage.getDirectory();
        const handle = await folder.getFileHandle('picked.json', { create: true });
        if ((await handle.getFile()).size === 0) {
            const into = await handle.createWritable();
            await into.write(TEXT);
            await into.close();
        }
        return [handle];
    };";

pub async fn picked_files_are_opened_again_with_a_click(page: &Page) -> Outcome {
    let text = std::fs::read_to_string(generated("picked.json", "--traces 40 --spans 10 --seed 5")?)?;
    page.open("view=flame").await?;
    page.run(&PICKER.replace("TEXT", &Value::from(text).to_string())).await?;
    page.click("[data-test='open-start']").await?;
    page.ready().await?;
    let nodes = page.number("[data-test='flame']", "data-nodes").await?;
    let count = "return pathlightFiles.count()";
    page.until("a handle to be kept", count, |count| *count == 1).await?;
    page.client().refresh().await?;
    page.visible("[data-test='reopen-again']").await?;
    page.picture("reopen-again").await?;
    page.click("[data-test='reopen-again']").await?;
    page.ready().await?;
    same("frames", page.number("[data-test='flame']", "data-nodes").await?, nodes)?;
    page.until("the handle to be kept", count, |count| *count == 1).await?;
    // It holds for the next time too; what is cleared is forgotten.
    page.client().refresh().await?;
    page.visible("[data-test='reopen-again']").await?;
    page.click("[data-test='reopen-again']").await?;
    page.ready().await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='clear']").await?;
    page.state("empty").await?;
    page.until("the handles to be forgotten", count, |count| *count == 0).await?;
    // The file is gone: what was open is said, and that it could not be read.
    page.run(&PICKER.replace("TEXT", "''")).await?;
    page.click("[data-test='open-start']").await?;
    page.ready().await?;
    page.until("the next handle to be kept", count, |count| *count == 1).await?;
    page.run("return navigator.storage.getDirectory().then((folder) => folder.removeEntry('picked.json'))")
        .await?;
    page.client().refresh().await?;
    page.click("[data-test='reopen-again']").await?;
    page.visible("[data-test='message-text']").await?;
    let said = page.text("[data-test='message-text']").await?;
    same("said of a file that is gone", said.as_str(), "Part of what was open could not be read again.")
}

pub async fn the_page_says_its_version_and_what_is_built_in(page: &Page) -> Outcome {
    page.open("").await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='about-open']").await?;
    let words = page.text("[data-test='about']").await?;
    for part in
        ["Pathlight 0.", "Apache-2.0", "Third-party notices", "wasm-bindgen", "Permission is hereby granted"]
    {
        ensure(words.contains(part), || format!("{part} is not in {words:.300}"))?;
    }
    page.picture("about").await?;
    page.click("[data-test='close-about']").await?;
    page.open(&single()?).await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='about-open']").await?;
    same("in the single file", page.text("[data-test='about']").await?, words)
}

/// For every table in sight with rows: its name, how many it has, and how many of them are seen once it is scrolled to.
const ROWS_SEEN: &str = "return [...document.querySelectorAll('.view .table')].filter((table) => table.checkVisibility() && table.dataset.rows > 0) \
    .map((table) => { table.scrollIntoView({ block: 'center' }); \
        const seen = [...table.querySelectorAll('tr[data-row]')].filter((row) => { const { left, top, bottom } = row.getBoundingClientRect(); \
            return [top + 2, bottom - 2].every((y) => document.elementFromPoint(Math.max(left, 0) + 20, y)?.closest('tr') === row); }); \
        return [table.dataset.test, Number(table.dataset.rows), seen.length]; })";

pub async fn a_table_shows_five_rows_in_a_narrow_window(page: &Page) -> Outcome {
    page.open("").await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    page.look(Look::NARROW).await?;
    let mut tables = 0;
    for view in VIEWS {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        let all: Vec<(String, u64, u64)> = serde_json::from_value(page.run(ROWS_SEEN).await?)?;
        for (name, rows, seen) in all {
            tables += 1;
            ensure(seen >= rows.min(5), || format!("{view}: {seen} of {rows} rows of {name} are seen"))?;
        }
        if view == "endpoints" {
            page.picture_of("rows-narrow").await?;
        }
    }
    ensure(tables >= 8, || format!("only {tables} tables were there"))
}

pub async fn tool_rows_stay_within_a_narrow_window_and_what_was_done_covers_no_row(page: &Page) -> Outcome {
    page.open("").await?;
    page.click("[data-test='demo']").await?;
    page.ready().await?;
    page.look(Look::NARROW).await?;
    let over = "return [...document.querySelectorAll('.tools, .tools *')].filter((element) => element.checkVisibility() \
                && element.getBoundingClientRect().right > innerWidth + 0.5).map((element) => element.outerHTML.slice(0, 120))";
    for view in VIEWS {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        let over = page.run(over).await?;
        ensure(over.as_array().is_some_and(Vec::is_empty), || format!("{view}: {over} runs off the edge"))?;
    }
    page.look(Look::DESKTOP).await?;
    page.drop_files_on("[data-test='drop-compare']", &[shop()?]).await?;
    page.ready().await?;
    page.visible("[data-test='undo']").await?;
    let [_, top, ..] = page.place(".undo").await?;
    let [_, from, _, height] = page.place(".companion:not([hidden])").await?;
    ensure(from + height <= top + 1.0, || {
        format!("the table ends at {}, the notice begins at {top}", from + height)
    })
}
