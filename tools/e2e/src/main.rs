//! End-to-end tests of the built page in a real browser, with a real drop of real files.
//!
//! `cargo run -p e2e [FILTER]` runs the tests whose names contain the filter, on `dist/` and the native binary that
//! `cargo xtask build` made; `cargo xtask test e2e` does both. `--screens` writes the pictures of the documentation.

mod bench;
mod shot;
mod tests;

use std::process::ExitCode;
use std::time::Duration;

use e2e::browser::{Page, session};
use e2e::failure::{Failure, Outcome, ensure};
use e2e::process::{Driver, Server, dist, root, scratch};

/// What no test takes, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(240);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("e2e: {error}");
            return ExitCode::FAILURE;
        }
    };
    let result = match arguments.first().map(String::as_str) {
        Some("shot") => runtime.block_on(shot::run(&arguments[1..])).map(|()| true),
        Some("bench") => runtime.block_on(bench::run(&arguments[1..])).map(|()| true),
        Some("help" | "--help" | "-h") => {
            println!("cargo run -p e2e -- [FILTER] [--screens]   run the tests\n{}", shot::USAGE);
            Ok(true)
        }
        _ => runtime.block_on(run(&arguments)),
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("e2e: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the tests; tells whether all passed.
async fn run(arguments: &[String]) -> Outcome<bool> {
    let screens = arguments.iter().any(|argument| argument == "--screens");
    let filter = arguments.iter().find(|argument| !argument.starts_with("--")).map_or("", String::as_str);
    let pictures = if screens { root().join("docs/screens") } else { scratch()?.join("screens") };
    ensure(dist().join("index.html").is_file(), || {
        "there is no page yet: run `cargo xtask build` first".to_owned()
    })?;
    let server = Server::start(&dist())?;
    let driver = Driver::start()?;
    let (mut passed, mut failed) = (0, 0);
    // One browser for all, but a new one after a failure, which may have left anything behind.
    let mut open: Option<Page> = None;
    for test in tests::ALL.iter().filter(|test| test.name.contains(filter)) {
        let page = match open.take() {
            Some(page) => page,
            None => Page::new(session(&driver).await?, &server.url, &pictures),
        };
        match one(test, &page).await {
            Ok(()) => {
                println!("ok {}", test.name);
                passed += 1;
                open = Some(page);
            }
            Err(failure) => {
                println!("FAILED {}: {failure}", test.name);
                failed += 1;
                let complaints = tokio::time::timeout(Duration::from_secs(10), page.complaints()).await;
                for complaint in complaints.into_iter().flatten().flatten() {
                    println!("    console: {complaint}");
                }
                let kept = tokio::time::timeout(Duration::from_secs(10), page.keep_failure(test.name)).await;
                if let Ok(Ok(file)) = kept {
                    println!("    it looked like {}", file.strip_prefix(root()).unwrap_or(&file).display());
                }
                page.close().await;
            }
        }
    }
    if let Some(page) = open {
        page.close().await;
    }
    println!("{passed} passed, {failed} failed");
    Ok(failed == 0)
}

/// Runs one test. It also fails if the page complained on the console.
async fn one(test: &tests::Test, page: &Page) -> Outcome {
    let whole = async {
        page.forget().await?;
        (test.run)(page).await?;
        let complaints = page.complaints().await?;
        ensure(complaints.is_empty(), || format!("errors on the console: {}", complaints.join(" | ")))
    };
    match tokio::time::timeout(PATIENCE, whole).await {
        Ok(result) => result,
        Err(_) => Err(Failure(format!("not done after {PATIENCE:?}"))),
    }
}
