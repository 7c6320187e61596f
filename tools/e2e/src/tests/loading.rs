//! Large files, many files, files that do not fit, loads that are ended early, text from the clipboard.
//!
//! Keys of the address that begin with `limit-` lower what the page takes for large, so that small files will do.

use std::cell::Cell;
use std::io::Write as _;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::process::{renderer_bytes, scratch};
use serde_json::json;

use super::drop::{count, findings_agree, generated, native, shop, small_files, summary};
use super::soak::{REPORTS, all_say_the_same};

/// Spans of a trace of [`long`].
const SPANS: u32 = 5;

/// Writes a file that takes a while to read: a trace of five spans, 2 KB each, for each of these ids.
fn long(name: &str, ids: RangeInclusive<u32>) -> Outcome<PathBuf> {
    let file = scratch()?.join(name);
    let mut out = std::io::BufWriter::new(std::fs::File::create(&file)?);
    write!(out, "{{\"data\":[")?;
    let first = *ids.start();
    for trace in ids {
        let comma = if trace > first { "," } else { "" };
        write!(out, "{comma}{{\"traceID\":\"{trace:016x}\",\"spans\":[")?;
        for span in 1..=SPANS {
            let comma = if span > 1 { "," } else { "" };
            write!(
                out,
                "{comma}{{\"traceID\":\"{trace:016x}\",\"spanID\":\"{span:016x}\",\"operationName\":\"op{span}\",\
                 \"references\":[{{\"refType\":\"CHILD_OF\",\"traceID\":\"{trace:016x}\",\"spanID\":\"{:016x}\"}}],\
                 \"startTime\":{},\"duration\":{},\"tags\":[{{\"key\":\"padding\",\"type\":\"string\",\"value\":\"{}\"}}],\
                 \"logs\":[],\"processID\":\"p{}\"}}",
                span - 1,
                1000 * u64::from(trace) + u64::from(span),
                500 - span,
                "x".repeat(120),
                span % 3
            )?;
        }
        write!(
            out,
            "],\"processes\":{{\"p0\":{{\"serviceName\":\"zero\"}},\"p1\":{{\"serviceName\":\"one\"}},\"p2\":{{\"serviceName\":\"two\"}}}}}}"
        )?;
    }
    writeln!(out, "]}}")?;
    out.flush()?;
    Ok(file)
}

pub async fn a_file_in_chunks_shows_what_one_reader_shows(page: &Page) -> Outcome {
    let file = shop()?;
    page.open("limit-large-file=200000").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.ready().await?;
    same("traces, spans, services, endpoints", summary(page).await?, count(&file)?)?;
    findings_agree(page, &native(&["critical-path", "--json"], &[&file])?).await?;
    page.hidden("[data-test='message']").await?;
    // Cut in the middle it says so once, with the place in the whole file.
    let whole = std::fs::read(&file)?;
    let cut = scratch()?.join("cut-large.json");
    std::fs::write(&cut, &whole[..whole.len() - 5000])?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='clear']").await?;
    page.state("empty").await?;
    page.drop_files(&[cut]).await?;
    page.visible("[data-test='message']").await?;
    let said = page.text("[data-test='message']").await?;
    let place = (whole.len() - 5000).to_string();
    ensure(said.contains(&place), || format!("{said:?} does not name byte {place}"))
}

/// Drops a long file and waits until some of it is read.
pub async fn begin(page: &Page, traces: u32) -> Outcome {
    page.open("").await?;
    page.drop_files(&[long("long.json", 1..=traces)?]).await?;
    begun(page).await
}

/// Drops a long file besides what is loaded and waits until some of it is read.
pub async fn begin_besides(page: &Page, traces: u32) -> Outcome {
    page.drop_files_on("[data-test='drop-add']", &[long("long.json", 1..=traces)?]).await?;
    begun(page).await
}

async fn begun(page: &Page) -> Outcome {
    let script = "const row = document.querySelector(\"[data-test='progress']\"); \
                  return row && !row.hidden ? Number(row.dataset.bytes || 0) : -1";
    page.until("bytes to be read", script, |bytes| bytes.as_f64() > Some(0.0)).await.map(drop)
}

pub async fn a_load_that_is_stopped_keeps_what_was_read(page: &Page) -> Outcome {
    let traces = 250_000;
    begin(page, traces).await?;
    page.click("[data-test='cancel-keep']").await?;
    page.ready().await?;
    let [kept, spans, ..] = summary(page).await?;
    ensure(kept > 0 && kept < traces as usize, || format!("{kept} of {traces} traces were kept"))?;
    same("spans", spans, kept * SPANS as usize)?;
    page.hidden("[data-test='progress']").await
}

pub async fn a_load_that_is_cancelled_leaves_nothing(page: &Page) -> Outcome {
    begin(page, 250_000).await?;
    page.click("[data-test='cancel-drop']").await?;
    page.state("empty").await?;
    page.drop_files(&[generated("after.json", "--traces 20 --spans 20 --seed 4")?]).await?;
    page.ready().await?;
    same("traces", summary(page).await?[0], 20)
}

pub async fn a_second_large_drop_during_a_load_is_read_too(page: &Page) -> Outcome {
    let (traces, more) = (250_000, 60_000);
    let second = [long("second.json", traces + 1..=traces + more)?];
    begin(page, traces).await?;
    page.drop_files_on("[data-test='drop-add']", &second).await?;
    page.state("loading").await?;
    page.ready().await?;
    let [read, spans, ..] = summary(page).await?;
    same("traces", read, (traces + more) as usize)?;
    same("spans", spans, read * SPANS as usize)?;
    // As side B too, while more of A is read.
    page.click("[data-test='more']").await?;
    page.click("[data-test='clear']").await?;
    page.state("empty").await?;
    begin(page, traces).await?;
    page.drop_files_on("[data-test='drop-compare']", &second).await?;
    page.visible("[data-test='sides']").await?;
    page.ready().await?;
    for (side, requests) in [("A", traces), ("B", more)] {
        let facts = format!("[data-test='facts-{side}']");
        same("requests", page.number(&facts, "data-value").await?, f64::from(requests))?;
    }
    page.hidden("[data-test='message']").await
}

pub async fn text_is_pasted(page: &Page) -> Outcome {
    let file = generated("pasted.json", "--traces 6 --spans 10 --seed 5")?;
    let text = std::fs::read_to_string(&file)?;
    page.open("").await?;
    page.run(&format!(
        "const data = new DataTransfer(); data.setData('text/plain', {}); \
         document.body.dispatchEvent(new ClipboardEvent('paste', {{ clipboardData: data, bubbles: true }}))",
        json!(text)
    ))
    .await?;
    page.ready().await?;
    same("traces, spans, services, endpoints", summary(page).await?, count(&file)?)
}

pub async fn what_does_not_fit_is_said_before_and_a_sample_is_offered(page: &Page) -> Outcome {
    let traces = 60_000;
    let file = long("too-large.json", 1..=traces)?;
    page.open("limit-memory=6000000").await?;
    page.drop_files(std::slice::from_ref(&file)).await?;
    page.visible("[data-test='memory-forecast']").await?;
    let said = page.text("[data-test='memory-forecast-message']").await?;
    ensure(said.contains("will not fit") && said.contains("MB"), || format!("it says {said:?}"))?;
    page.picture("memory-forecast").await?;
    let offer = page.text("[data-test='memory-forecast-sample']").await?;
    let of: usize = offer.split(' ').nth(3).and_then(|of| of.parse().ok()).unwrap_or_default();
    ensure(of > 1, || format!("the button says {offer:?}"))?;
    page.click("[data-test='memory-forecast-sample']").await?;
    page.ready().await?;
    // Of all of the file, not of a part that fitted.
    page.hidden("[data-test='message']").await?;
    let [kept, spans, ..] = summary(page).await?;
    let expected = traces as usize / of;
    ensure(kept.abs_diff(expected) < expected / 10, || {
        format!("{kept} of {traces} traces were kept: {offer}")
    })?;
    same("spans", spans, kept * SPANS as usize)?;
    let status = page.text("[data-test='status-loaded']").await?;
    ensure(status.contains("traces, by id"), || format!("the status says {status:?}"))?;
    page.hidden("[data-test='memory-forecast']").await?;
    page.click("[data-test='clipped']").await?;
    let notes = page.text("[data-test='file-kept']").await?;
    ensure(notes.contains("by id"), || format!("the notes say {notes:?}"))?;
    page.picture("sampled").await?;
    // Without a sample it reads on until memory ends, keeps that, and says how far it came.
    page.open("limit-memory=6000000").await?;
    page.drop_files(&[file]).await?;
    page.visible("[data-test='memory-forecast']").await?;
    page.click("[data-test='memory-forecast-anyway']").await?;
    page.ready().await?;
    let said = page.text("[data-test='message']").await?;
    ensure(said.contains("Memory ended after"), || format!("it says {said:?}"))?;
    ensure(summary(page).await?[0] > 100, || "nothing was kept".to_owned())
}

pub async fn many_small_files_are_read(page: &Page) -> Outcome {
    let made = generated("small.json", "--traces 1 --spans 8 --seed 6")?;
    let folder = small_files("many", &made, 600)?;
    page.open("").await?;
    page.drop_files(&[folder]).await?;
    page.ready().await?;
    let [_, spans, ..] = count(&made)?;
    let [traces, all, ..] = summary(page).await?;
    same("traces and spans", (traces, all), (600, 600 * spans))
}

/// Only where `PATHLIGHT_LARGE_FILE` names a file: of gigabytes, it is nothing for every run.
pub async fn a_very_large_file_stays_within_its_memory(page: &Page) -> Outcome {
    let Some(file) = std::env::var_os("PATHLIGHT_LARGE_FILE").map(PathBuf::from) else {
        return page.skip("PATHLIGHT_LARGE_FILE names no file");
    };
    let size = std::fs::metadata(&file)?.len();
    for fragment in ["limit-workers=1", ""] {
        page.open(fragment).await?;
        let began = std::time::Instant::now();
        page.drop_files(std::slice::from_ref(&file)).await?;
        let patience = std::time::Duration::from_secs(600);
        let peak = Cell::new(0);
        page.until_within(
            patience,
            "the file to be read",
            "return document.documentElement.dataset.state",
            |state| {
                peak.set(peak.get().max(renderer_bytes()));
                state == "ready"
            },
        )
        .await?;
        let peak = peak.get();
        let read_s = began.elapsed().as_secs_f64();
        page.ready().await?;
        let [traces, spans, ..] = summary(page).await?;
        let workers = page.number("[data-test='workers']", "data-value").await?;
        let heap = page.number("[data-test='memory']", "data-value").await?;
        let wasm = page.number("[data-test='memory']", "data-wasm").await?;
        let after = renderer_bytes();
        page.click("[data-test='more']").await?;
        page.click("[data-test='clear']").await?;
        page.state("empty").await?;
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        eprintln!(
            "{workers} workers: {size} bytes, {traces} traces, {spans} spans in {read_s:.1} s, {:.0} MB/s; columns {heap} \
             bytes ({:.1} a span), wasm memory {wasm} ({:.1} % of the file), renderer {after}, at most {peak}, after Clear {}",
            size as f64 / read_s / 1e6,
            heap / spans as f64,
            100.0 * wasm / size as f64,
            renderer_bytes()
        );
        ensure(wasm < size as f64 / 4.0 || size < 1 << 30, || format!("wasm memory of {wasm} bytes"))?;
        ensure(peak < 1 << 30 || size > 3 << 30, || format!("the renderer took {peak} bytes"))?;
    }
    Ok(())
}

/// Every report that can be exported, of 8,000 spans; `cargo xtask soak` does the same with more, of other shapes and formats.
pub async fn one_worker_many_and_the_binary_write_the_same_reports(page: &Page) -> Outcome {
    let file = generated("truth.json", "--traces 160 --spans 50 --shape mixed --seed 31")?;
    all_say_the_same(page, &file, &REPORTS, "8,000 spans").await
}
