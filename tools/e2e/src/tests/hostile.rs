//! Names and numbers of names that nobody expects: shown as text, in every view, without the page standing still.

use std::io::Write as _;
use std::path::PathBuf;

use e2e::browser::{Modifiers, Page};
use e2e::failure::{Outcome, ensure, same};
use e2e::process::scratch;
use serde_json::{Value, json};

use super::access::VIEWS;
use super::drop::summary;

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
                "return { ran: window.ran ?? 0, images: document.querySelectorAll('#app img, #app script').length, \
                 elements: document.querySelectorAll('*').length }",
            )
            .await?;
        same(&format!("scripts run in {view}"), found["ran"].clone(), json!(0))?;
        same(&format!("elements made of names in {view}"), found["images"].clone(), json!(0))?;
        ensure(found["elements"].as_u64() < Some(12_000), || {
            format!("{view} has {} elements", found["elements"])
        })?;
    }
    page.hidden("[data-test='error']").await
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
        page.settled().await?;
        let images =
            page.run("return document.querySelectorAll('#app img').length + (window.ran ?? 0)").await?;
        same(opened, images, Value::from(0))?;
        page.key("Escape", Modifiers::None).await?;
    }
    Ok(())
}

pub async fn names_of_a_megabyte_do_not_hold_up_the_page(page: &Page) -> Outcome {
    let lengths = [20_000, 100_000, 1_000_000, 1_000_000];
    let file = traces("long-names.json", 40, |number| {
        let name = |mark: char| format!("{mark}{number}{}", "n".repeat(lengths[number % lengths.len()] / 10));
        // Four services of up to a megabyte; operations and tags a tenth of that.
        let at = number % lengths.len();
        [format!("s{at}{}", "s".repeat(lengths[at])), name('o'), "key".to_owned(), name('v')]
    })?;
    page.open("").await?;
    page.drop_files(&[file]).await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 40)?;
    walk(page).await?;
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
    walk(page).await
}
