//! Saved reports: one file with the traces inside.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, fail, same};
use e2e::process::{dist, pathlight, scratch};
use serde_json::{Value, json};

use super::drop::{count, findings_agree, native, shop, summary};

/// Presses "Save report" and waits for the file.
async fn save(page: &Page) -> Outcome<PathBuf> {
    let folder = scratch()?.join("downloads");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)?;
    let to = json!({ "behavior": "allow", "downloadPath": folder.canonicalize()?.to_string_lossy() });
    page.devtools("Browser.setDownloadBehavior", to).await?;
    page.click("[data-test='more']").await?;
    page.click("[data-test='save-report']").await?;
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
    ensure(headline.starts_with("Slow tail: "), || format!("the header says {headline:?}"))?;
    page.go("view=findings").await?;
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
    opens(page, &report, "flame", &file).await?;
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
    opens(page, &second, "flame", &file).await
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
