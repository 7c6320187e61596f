//! Saved reports: one file with the traces inside.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use e2e::browser::{Look, Page, plain};
use e2e::failure::{Outcome, ensure, fail, same};
use e2e::process::{dist, pathlight, scratch};
use flate2::read::GzDecoder;
use serde_json::{Value, json};

use super::drop::{count, findings_agree, generated, native, open_tables, shop, summary};
use super::tables::{catch_files, caught};

#[path = "../../../../tests/common/words.rs"]
mod words;

/// Presses "Save report" and waits for the file.
async fn save(page: &Page) -> Outcome<PathBuf> {
    let folder = scratch()?.join("downloads");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let to = json!({ "behavior": "allow", "downloadPath": folder.canonicalize()?.to_string_lossy() });
    page.devtools("Browser.setDownloadBehavior", to).await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='save-report']").await?;
    page.click("[data-test='redact-report']").await?;
    let (file, start) = (folder.join("pathlight-report.html"), Instant::now());
    while !file.is_file() {
        if start.elapsed() > Duration::from_secs(30) {
            return fail("nothing was saved");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(file)
}

/// Opens a report from the disk, checks its numbers and that every view comes up without asking for anything.
async fn opens(page: &Page, report: &Path, view: &str, traces: &Path) -> Outcome {
    let address = format!("file://{}", report.canonicalize()?.display());
    page.open(&address).await?;
    page.ready().await?;
    same("view", page.run("return document.documentElement.dataset.view").await?, Value::from(view))?;
    // Above all views stands the first finding, which this set always has.
    let headline = page.text("[data-test='report-headline']").await?;
    let first = native(&["findings", "--json"], &[traces])?["findings"][0]["text"].clone();
    // What is found out later of it, the program says behind that.
    let headline_words = plain(&headline);
    let sentence = headline_words.split_once(": ").map_or("", |(_, sentence)| sentence);
    let is_start = |first: &str| !sentence.is_empty() && plain(first).starts_with(sentence);
    let says = first.as_str().is_some_and(is_start);
    ensure(says, || format!("the header says {headline:?}, the binary {first}"))?;
    page.go("view=requests").await?;
    page.ready().await?;
    page.click("[data-test='report-headline'] button").await?;
    page.visible("[data-test='finding']").await?;
    page.ready().await?;
    same("traces, spans, services, endpoints", summary(page).await?, count(traces)?)?;
    findings_agree(page, &native(&["critical-path", "--json"], &[traces])?).await?;
    for view in page.attributes("[data-test^='view-']:not(select):not([hidden])", "data-test").await? {
        page.click(&format!("[data-test='{view}']")).await?;
        page.ready().await?;
    }
    let asked = "return performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith('blob:'))";
    same("requests", page.run(asked).await?, json!([]))
}

pub async fn a_saved_report_opens_from_disk_with_every_view(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("view=flame").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    let report = save(page).await?;
    opens(page, &report, "findings", &file).await?;
    // The columns are smaller than what they were read from, and it can be saved again.
    let (page_bytes, bytes) =
        (std::fs::metadata(dist().join("pathlight.html"))?.len(), std::fs::metadata(&report)?.len());
    let json = std::fs::metadata(&file)?.len();
    ensure(bytes - page_bytes < json / 8, || format!("{} bytes for {json} of JSON", bytes - page_bytes))?;
    let first = scratch()?.join("first-report.html");
    std::fs::copy(&report, &first)?;
    page.go("view=flame").await?;
    page.ready().await?;
    let second = save(page).await?;
    same("traces", std::fs::metadata(&second)?.len().abs_diff(bytes) < 4096, true)?;
    opens(page, &second, "findings", &file).await?;
    // To the page it is a file like any other.
    page.open("").await?;
    page.drop_files(&[second]).await?;
    page.ready().await?;
    same("traces of the file", summary(page).await?, count(&file)?)
}

pub async fn the_binary_writes_the_same_report(page: &Page) -> Outcome {
    let file = shop()?;
    let report = scratch()?.join("report.html");
    let single = dist().join("pathlight.html");
    let paths = [&file, &report, &single].map(|path| path.to_string_lossy().into_owned());
    pathlight(&["report", &paths[0], "-o", &paths[1], "--page", &paths[2], "--view", "trace"])?;
    opens(page, &report, "trace", &file).await?;
    page.go("view=anomalies").await?;
    page.ready().await?;
    let found = native(&["anomaly", "--json", "--train"], &[&file])?;
    let ids = page.attributes("[data-test='anomaly']", "data-trace").await?;
    let first = ids.first().map(String::as_str);
    same("the most anomalous request", first, found["traces"][0]["trace_id"].as_str())?;
    page.go("view=trace").await?;
    page.ready().await?;
    page.picture("report").await
}

/// Returns the report that was caught, its parts unpacked.
async fn unpacked(page: &Page) -> Outcome<String> {
    let report = page.until("a report", "return window.caught[0] ?? null", Value::is_string).await?;
    let mut pieces = report.as_str().unwrap_or_default().split("class=\"report-part\">");
    let mut all = pieces.next().unwrap_or_default().to_owned();
    let mut pieces = pieces.peekable();
    ensure(pieces.peek().is_some(), || "the report has no part".to_owned())?;
    for piece in pieces {
        let (part, behind) = piece.split_once('<').unwrap_or((piece, ""));
        let columns = BASE64_STANDARD.decode(part.trim()).unwrap_or_default();
        let mut bytes = Vec::new();
        GzDecoder::new(columns.as_slice()).read_to_end(&mut bytes)?;
        ensure(!bytes.is_empty(), || "a part is empty".to_owned())?;
        all += &String::from_utf8_lossy(&bytes);
        all += behind;
    }
    Ok(all)
}

pub async fn what_is_left_out_is_in_no_report_note_or_link(page: &Page) -> Outcome {
    let words = words::words();
    let file = scratch()?.join(format!("{}.json", words.ids[0]));
    std::fs::write(&file, &words.json[1])?;
    let all = [&words.services[..], &words.operations, &words.tags, &words.ids].concat();
    page.open("view=findings").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    page.hidden("[data-test='findings-coming']").await?;
    let filter = format!("tag.{}={}&search={}", words.tags[0], words.tags[4], words.operations[3]);
    page.go(&format!("view=findings&{filter}")).await?;
    page.ready().await?;
    page.hidden("[data-test='findings-coming']").await?;
    catch_files(page).await?;
    let whole = caught(page, &["[data-test='copy-findings']", "[data-test='redact-note']"]).await?;
    ensure(whole.contains(&words.services[3]), || format!("the whole note names no service: {whole}"))?;
    page.click("[data-test='redact-close']").await?;
    // Left out, nothing of it is in the note, and its pseudonyms are those of the binary.
    let choices = ["[data-test='redact-tags']", "[data-test='redact-names']"];
    let note =
        caught(page, &["[data-test='copy-findings']", choices[0], choices[1], "[data-test='redact-note']"])
            .await?;
    same("words in the note", words::Words::found(&all, &note), Vec::<&str>::new())?;
    let said = page.text("[data-test='redact-words']").await?;
    ensure(said.starts_with("Contains: ") && !said.contains("tags"), || format!("the dialog says {said:?}"))?;
    for (name, look) in
        [("redaction-narrow", Look::NARROW), ("redaction-dark", Look::DARK), ("redaction", Look::DESKTOP)]
    {
        page.look(look).await?;
        page.picture(name).await?;
    }
    page.click("[data-test='redact-close']").await?;
    let path = file.to_string_lossy();
    let tag = format!("{}={}", words.tags[0], words.tags[4]);
    let options =
        ["findings", &path, "--with-tag", &tag, "--format", "markdown", "--no-tags", "--pseudonyms"];
    let printed = String::from_utf8_lossy(&pathlight(&options)?).into_owned();
    let first = printed.lines().find(|line| line.starts_with("1. ")).unwrap_or_default();
    ensure(first.contains("service-") && note.contains(first), || format!("{first:?} is not in {note}"))?;
    // Nor in a summary, nor in a diagnosis.
    // A summary has no tags to leave out.
    let names_only = &choices[1..];
    for (view, copy, choices) in [
        ("findings", "copy-text", names_only),
        ("findings", "copy-csv", names_only),
        ("diagnosis", "copy-diagnosis", &choices[..]),
    ] {
        page.go(&format!("view={view}")).await?;
        page.ready().await?;
        if view == "findings" {
            open_tables(page).await?;
        }
        let copy = format!("[data-test='{copy}']");
        let whole = caught(page, &[&copy, "[data-test='redact-list']"]).await?;
        ensure(whole.contains(&words.services[3]), || format!("{copy}: {whole:?} names no service"))?;
        page.click("[data-test='redact-close']").await?;
        let steps = [&[copy.as_str()], choices, &["[data-test='redact-list']"]].concat();
        let reduced = caught(page, &steps).await?;
        same(&copy, words::Words::found(&all, &reduced), Vec::<&str>::new())?;
        ensure(reduced.contains("service-"), || format!("{copy}: {reduced:?}"))?;
        page.click("[data-test='redact-close']").await?;
    }
    page.go(&format!("view=findings&{filter}")).await?;
    page.ready().await?;
    // Nor in the report, unpacked.
    page.run("window.caught = []; return true").await?;
    for selector in [
        "[data-test='more']",
        "[data-test='save-report']",
        choices[0],
        choices[1],
        "[data-test='redact-report']",
    ] {
        page.click(selector).await?;
    }
    let report = unpacked(page).await?;
    ensure(report.contains("service-1"), || "the report has no traces".to_owned())?;
    same("words in the report", words::Words::found(&all, &report), Vec::<&str>::new())?;
    // Nor in a link.
    page.click("[data-test='more']").await?;
    page.click("[data-test='share-open']").await?;
    page.click(choices[0]).await?;
    page.click(choices[1]).await?;
    let offered = page.text("[data-test='share'] .redaction").await?;
    ensure(offered.contains("Leave names") && !offered.contains("service-1"), || offered.clone())?;
    let link = page.run("return document.querySelector(\"[data-test='share-link']\").value").await?;
    same(
        "words in the link",
        words::Words::found(&all, link.as_str().unwrap_or_default()),
        Vec::<&str>::new(),
    )
}

pub async fn a_report_of_two_sets_opens_with_both_and_their_names(page: &Page) -> Outcome {
    page.open("").await?;
    page.drop_files(&[shop()?]).await?;
    page.ready().await?;
    let second = generated("shop-second.json", "--traces 200 --spans 30 --shape mixed --seed 22")?;
    page.drop_files_on("[data-test='drop-compare']", &[second]).await?;
    page.visible("[data-test='sides']").await?;
    page.ready().await?;
    let report = save(page).await?;
    page.open(&format!("file://{}", report.canonicalize()?.display())).await?;
    page.ready().await?;
    for (side, name, requests) in [("A", "shop", 400.0), ("B", "shop-second", 200.0)] {
        same(side, page.text(&format!("[data-test='what-{side}']")).await?.as_str(), name)?;
        same(side, page.number(&format!("[data-test='facts-{side}']"), "data-value").await?, requests)?;
    }
    Ok(())
}
