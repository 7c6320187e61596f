//! Names and numbers of names that nobody expects: shown as text, in every view, without the page standing still.

use std::io::Write as _;
use std::path::PathBuf;

use e2e::browser::{Modifiers, Page};
use e2e::failure::{Outcome, ensure, same};
use e2e::jaeger::Jaeger;
use e2e::process::{Server, dist, scratch};
use serde_json::{Value, json};

use super::access::VIEWS;
use super::drop::summary;
use super::jaeger::old;

/// A name that runs a script wherever it is taken for markup, attribute, address or template.
const MARKUP: &str =
    "\"'><img src=x onerror=window.ran=1><script>window.ran=1</script>{{constructor}}javascript:window.ran=1";

/// Writes traces of a caller that calls something; `trace` gives the names of the n-th: service, operation, tag key,
/// tag value.
fn traces(file: &str, count: usize, trace: impl Fn(usize) -> [String; 4]) -> Outcome<PathBuf> {
    let file = scratch()?.join(file);
    let mut out = std::io::BufWriter::new(std::fs::File::create(&file)?);
    write!(out, "{{\"data\":[")?;
    for number in 0..count {
        let [service, operation, key, value] = trace(number);
        let id = format!("{:032x}", number + 1);
        let span = |at: u32, duration: usize, process: &str| {
            let references = match at {
                1 => json!([]),
                _ => json!([{ "refType": "CHILD_OF", "traceID": id, "spanID": format!("{:016x}", 1) }]),
            };
            json!({
                "traceID": id, "spanID": format!("{at:016x}"), "operationName": operation, "references": references,
                "startTime": 1_000_000 + 1000 * number, "duration": duration, "processID": process,
                "tags": [{ "key": key, "type": "string", "value": value },
                         { "key": "error", "type": "bool", "value": number % 7 == 0 }],
                "logs": [{ "timestamp": 1_000_000 + 1000 * number, "fields": [{ "key": key, "type": "string", "value": value }] }],
            })
        };
        let spans = [span(1, 900 + 13 * (number % 50), "p1"), span(2, 500 + 11 * (number % 50), "p2")];
        let processes = json!({
            "p1": { "serviceName": "caller", "tags": [] }, "p2": { "serviceName": service, "tags": [] },
        });
        let comma = if number > 0 { "," } else { "" };
        write!(out, "{comma}{}", json!({ "traceID": id, "spans": spans, "processes": processes }))?;
    }
    write!(out, "]}}")?;
    out.flush()?;
    Ok(file)
}

/// Opens every view of what is loaded and looks whether a name has become more than text, and how large the page is.
async fn walk(page: &Page) -> Outcome {
    for view in VIEWS {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        let found = page
            .run(
                "return { ran: window.ran ?? 0, images: document.querySelectorAll(\"#app img:not([data-test='start'] img), #app script\").length }",
            )
            .await?;
        same(&format!("scripts run in {view}"), found["ran"].clone(), json!(0))?;
        same(&format!("elements made of names in {view}"), found["images"].clone(), json!(0))?;
        few_elements(page, view).await?;
    }
    page.hidden("[data-test='message']").await
}

pub async fn markup_and_marks_in_names_are_text_in_every_view(page: &Page) -> Outcome {
    let odd = [
        "\u{202e}evil\u{2066}",
        "zero\u{200b}width\u{feff}",
        "line\nbreak\r\ttab\u{0}\u{1b}[31m",
        "__proto__",
        "constructor",
        "",
    ];
    let file = traces("markup.json", 120, |number| {
        let name = match number % 3 {
            0 => MARKUP.to_owned(),
            _ => odd[number % odd.len()].to_owned(),
        };
        [name.clone(), name.clone(), name.clone(), name]
    })?;
    page.open("").await?;
    page.drop_files(&[file]).await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 120)?;
    walk(page).await?;
    // What offers names to choose from.
    for opened in ["choose-root", "add-filter"] {
        page.go("view=findings").await?;
        page.click(&format!("[data-test='{opened}']")).await?;
        page.drawn().await?;
        let images =
            page.run("return document.querySelectorAll(\"#app img:not([data-test='start'] img)\").length + (window.ran ?? 0)").await?;
        same(opened, images, Value::from(0))?;
        page.key("Escape", Modifiers::None).await?;
    }
    Ok(())
}

/// Notes how long the page stands still at most, in milliseconds, as the browser measures it.
const WATCH: &str = "window.longest = 0; new PerformanceObserver((list) => { for (const { duration } of list.getEntries()) \
    window.longest = Math.max(window.longest, duration); }).observe({ type: 'longtask' })";

/// Loads traces with names of so many characters and shows every view; returns for how long the page stood still at most.
async fn longest_standstill_ms(page: &Page, lengths: [usize; 4]) -> Outcome<f64> {
    let file = traces("long-names.json", 40, |number| {
        let length = lengths[number % lengths.len()];
        let name = |mark: char| format!("{mark}{number}{}", "n".repeat(length / 10));
        // Four services of up to a megabyte; operations and tags a tenth of that.
        let at = number % lengths.len();
        [format!("s{at}{}", "s".repeat(length)), name('o'), "key".to_owned(), name('v')]
    })?;
    page.open("").await?;
    page.run(WATCH).await?;
    page.drop_files(&[file]).await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 40)?;
    walk(page).await?;
    Ok(page.run("return window.longest").await?.as_f64().unwrap_or(f64::NAN))
}

/// How much longer the page may stand still for megabytes of names: Errors took 1.1 s when this was measured, other views
/// below 0.3 s.
const SLACK_MS: f64 = 1000.0;

pub async fn names_of_a_megabyte_do_not_hold_up_the_page(page: &Page) -> Outcome {
    // Short names say how long this machine takes for the same without. It may be held up by other work, but hardly thrice.
    let short_ms = longest_standstill_ms(page, [20; 4]).await?;
    let mut long_ms = f64::INFINITY;
    for _ in 0..3 {
        long_ms = longest_standstill_ms(page, [20_000, 100_000, 1_000_000, 1_000_000]).await?.min(long_ms);
        if long_ms < 5.0 * short_ms + SLACK_MS {
            break;
        }
    }
    ensure(long_ms < 5.0 * short_ms + SLACK_MS, || {
        format!("the page stands still for {short_ms} ms with short names, for {long_ms} ms with long ones")
    })?;
    // Nor do they fill it: nothing shows more than a line or two of a name.
    let longest = page.run("return Math.max(...[...document.querySelectorAll('.view *')].map((e) => e.childElementCount ? 0 : e.textContent.length))").await?;
    ensure(longest.as_u64() < Some(10_000), || format!("a text of {longest} characters"))
}

pub async fn tens_of_thousands_of_services_are_searched_not_listed(page: &Page) -> Outcome {
    let file = traces("services.json", 30_000, |number| {
        [format!("service-{number}"), format!("op-{number}"), "key".to_owned(), format!("{}", number % 9)]
    })?;
    page.open("").await?;
    page.drop_files(&[file]).await?;
    page.ready().await?;
    same("services", summary(page).await?[2], 30_001)?;
    walk(page).await?;
    // Nor do the lists to choose from hold them all.
    for opened in ["choose-root", "add-filter"] {
        page.go("view=findings").await?;
        page.ready().await?;
        page.click(&format!("[data-test='{opened}']")).await?;
        page.drawn().await?;
        few_elements(page, opened).await?;
        page.key("Escape", Modifiers::None).await?;
    }
    // A Jaeger that knows as many.
    let document = serde_json::from_slice(&std::fs::read(scratch()?.join("services.json"))?)?;
    let jaeger = Jaeger::start(&document, old())?;
    let server = Server::start_with(&dist(), &["--jaeger", &jaeger.url])?;
    page.open(&server.url).await?;
    page.click("[data-test='jaeger']").await?;
    let said = "return document.querySelector(\"[data-test='jaeger-dialog-state']\").textContent";
    page.until("the services", said, |said| {
        said.as_str().is_some_and(|said| said.starts_with("Connected: 30\u{202f}001 services"))
    })
    .await?;
    few_elements(page, "the dialog of Jaeger").await
}

/// Expects that the page has no more elements than any view has.
async fn few_elements(page: &Page, place: &str) -> Outcome {
    let count = page.run("return document.querySelectorAll('*').length").await?;
    ensure(count.as_u64() < Some(12_000), || format!("{place} has {count} elements"))
}
