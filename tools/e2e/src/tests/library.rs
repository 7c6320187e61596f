//! The library for JavaScript in a page of its own, `www/examples/library.html`.

use std::path::Path;

use e2e::browser::Page;
use e2e::failure::{Outcome, ensure, same};
use e2e::process::{Server, dist};
use fantoccini::Locator;
use serde_json::Value;

use super::drop::{generated, native};

/// Opens the example and waits until it listens.
async fn open(page: &Page) -> Outcome<Server> {
    let server = Server::start(&dist())?;
    page.client().goto(&format!("{}examples/library.html", server.url)).await?;
    let script = "return 'ready' in document.documentElement.dataset";
    page.until("the example", script, |ready| ready == true).await?;
    Ok(server)
}

/// Gives the example a file and waits until it has said what came of it; returns that.
async fn give(page: &Page, input: &str, file: &Path) -> Outcome<String> {
    page.run("document.getElementById('said').textContent = ''").await?;
    let path = file.canonicalize()?;
    page.client().find(Locator::Css(input)).await?.send_keys(&path.to_string_lossy()).await?;
    let script = "const said = document.getElementById('said'); \
                  return said.dataset.kind || /traces/.test(said.textContent) ? said.textContent : ''";
    let said = page.until("what came of it", script, |said| said != "").await?;
    Ok(said.as_str().unwrap_or_default().to_owned())
}

/// Returns the findings of the example.
async fn findings(page: &Page) -> Outcome<Value> {
    page.run("return [...document.querySelectorAll('#findings li')].map((line) => line.textContent)").await
}

fn sentences(report: &Value) -> Value {
    let list = report["findings"].as_array().into_iter().flatten();
    list.map(|finding| finding["text"].clone()).collect()
}

/// Checks that the picture that is shown is one.
async fn is_drawn(page: &Page, name: &str) -> Outcome {
    let script = "const chart = document.getElementById('chart'); \
                  return chart.complete && chart.naturalWidth > 300 ? chart.alt : ''";
    page.until("the picture", script, |alt| alt.as_str().is_some_and(|alt| alt.contains(name))).await?;
    Ok(())
}

pub async fn the_example_shows_what_the_binary_says(page: &Page) -> Outcome {
    let before = generated("library-before.json", "--traces 60 --spans 20 --seed 4")?;
    let after = generated("library-after.json", "--traces 60 --spans 24 --seed 5")?;
    let _server = open(page).await?;
    let said = give(page, "#traces", &after).await?;
    ensure(said.starts_with("60 traces") && said.ends_with("read in a worker"), || said)?;
    same("findings", findings(page).await?, sentences(&native(&["findings", "--json"], &[&after])?))?;
    is_drawn(page, "critical paths").await?;

    give(page, "#before", &before).await?;
    let path = after.to_string_lossy();
    let wanted = native(&["findings", "--json", &path, "--baseline"], &[&before])?;
    same("findings with a baseline", findings(page).await?, sentences(&wanted))?;
    is_drawn(page, "differs").await?;

    // What is no trace says so, and the set that was there before is gone with the choice.
    let nonsense = after.with_file_name("library-nonsense.json");
    std::fs::write(&nonsense, "[1, 2")?;
    let said = give(page, "#traces", &nonsense).await?;
    ensure(said.contains("library-nonsense.json"), || said)?;
    let kind = page.run("return document.getElementById('said').dataset.kind").await?;
    same("kind", kind, Value::from("no-traces"))?;
    let said = give(page, "#traces", &after).await?;
    ensure(said.starts_with("60 traces"), || said)
}

pub async fn it_reads_in_the_page_where_no_worker_can_be_started(page: &Page) -> Outcome {
    let file = generated("library-after.json", "--traces 60 --spans 24 --seed 5")?;
    let _server = open(page).await?;
    let script = "const [text, done] = arguments; (async () => { \
                  const { Worker } = self; self.Worker = undefined; \
                  const { Pathlight } = await import('../npm/pathlight.js'); \
                  const none = await Pathlight.inWorker(); self.Worker = Worker; \
                  const bytes = new TextEncoder().encode(text); let steps = 0; \
                  const set = await none.read(new Blob([bytes]), { progress: () => steps++ }); \
                  const { requests } = await set.criticalPath(); \
                  return [none.isWorker, set.traces, requests, steps > 0]; \
                  })().then(done, (error) => done(String(error)));";
    let text = Value::from(std::fs::read_to_string(&file)?);
    let found = page.client().execute_async(script, vec![text]).await?;
    same("is a worker, traces, requests, progress", found, serde_json::json!([false, 60, 60, true]))
}
