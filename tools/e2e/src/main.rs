//! End-to-end tests of the built page in a real browser, with a real drop of real files.
//!
//! `cargo run -p e2e [FILTER]` runs the tests whose names contain the filter, on `dist/` and the native binary that
//! `cargo xtask build` made; `cargo xtask test e2e` does both. Options are those of Rust's own test runner (`--list`,
//! `--exact`, `--skip`, `--test-threads`). Names that begin with `firefox::` are tests of Chromium that run in Firefox
//! too. `--screens` writes the pictures of the documentation.

mod bench;
mod bench_files;
mod shot;
mod stand;
mod tests;
mod threads;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use e2e::bridge::Bridge;
use e2e::browser::{Page, session, session_at};
use e2e::failure::{Failure, Outcome, ensure};
use e2e::firefox::has_no_window;
use e2e::process::{Driver, Server, dist, root, scratch, use_scratch};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

/// What no test takes, however slow the machine.
const PATIENCE: Duration = Duration::from_secs(240);

/// The same of those that `--ignored` runs.
const LONG_PATIENCE: Duration = Duration::from_secs(4 * 3600);

/// Tests at a time, each with browsers of its own: one waits for half of its time.
const STAGES: usize = 2;

/// A test that takes longer is named with its time: all of them together are what a run of the tests waits for longest.
const SLOW: Duration = Duration::from_secs(10);

/// What looking at a page takes after its test has failed.
const LOOK: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    run(std::env::args().collect()).unwrap_or_else(|failure| {
        eprintln!("e2e: {failure}");
        ExitCode::FAILURE
    })
}

fn run(mut arguments: Vec<String>) -> Outcome<ExitCode> {
    // Servers of the tests run on threads of their own, so that a test may wait for anything.
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    match arguments.get(1).map(String::as_str) {
        Some("shot") => runtime.block_on(shot::run(&arguments[2..]))?,
        Some("jaeger") => runtime.block_on(stand::run(&arguments[2..]))?,
        Some("bench") => runtime.block_on(bench::run(&arguments[2..]))?,
        _ => {
            if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
                println!(
                    "cargo run -p e2e -- [FILTER] [--screens]   run the tests\n{}\n{}\n",
                    shot::USAGE,
                    stand::USAGE
                );
            }
            let count = arguments.len();
            arguments.retain(|argument| argument != "--screens");
            let writes_screens = arguments.len() < count;
            return run_tests(runtime, Arguments::from_iter(arguments), writes_screens);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs the tests that the arguments choose; returns success if all of them passed.
fn run_tests(runtime: Runtime, mut arguments: Arguments, writes_screens: bool) -> Outcome<ExitCode> {
    let takes_long = arguments.ignored || arguments.include_ignored;
    // Long ones measure memory and time, and pictures are to be the same ones.
    let threads =
        if takes_long || writes_screens { 1 } else { arguments.test_threads.unwrap_or(STAGES).max(1) };
    arguments.test_threads = Some(threads);
    let runtime = Arc::new(runtime);
    let count = if arguments.list { 0 } else { threads };
    let stages = (0..count).map(|number| Stage::start(runtime.clone(), number, writes_screens, takes_long));
    let stages = Arc::new(Mutex::new(stages.collect::<Outcome<Vec<Stage>>>()?));
    let trial = |test: &tests::Test, in_firefox: bool| {
        let (test, stages) = (*test, stages.clone());
        let name = if in_firefox { format!("firefox::{}", test.name) } else { test.name.to_owned() };
        Trial::ignorable_test(name, move || {
            let idle = || stages.lock().unwrap_or_else(PoisonError::into_inner);
            // There are as many as threads.
            let mut stage = idle().pop().ok_or("there is no browser")?;
            let start = Instant::now();
            let mut run = || if in_firefox { stage.run_in_firefox(&test) } else { stage.run(&test) };
            // A browser on a busy machine is now and then late or gone: what fails once and passes in a new browser is said, and
            // is no failure.
            let outcome = match run() {
                Err(failure) if !takes_long => {
                    println!(
                        "once more, since it failed: {}: {}",
                        test.name,
                        failure.message().unwrap_or_default()
                    );
                    run()
                }
                outcome => outcome,
            };
            idle().push(stage);
            let took = start.elapsed();
            if took > SLOW && !takes_long {
                println!("{:.0} s: {}", took.as_secs_f64(), test.name);
            }
            Ok(outcome?.map_or(Completion::Completed, Completion::ignored_with))
        })
    };
    let trials = tests::ALL.iter().map(|test| trial(test, false));
    let trials = trials.chain(tests::IN_FIREFOX.iter().map(|test| trial(test, true)));
    // Unless they are asked for they are not even listed as ignored: nothing is missing from a normal run.
    let in_firefox = tests::LONG_IN_FIREFOX.iter().map(|test| (test, true));
    let long = tests::LONG.iter().map(|test| (test, false)).chain(in_firefox).filter(|_| takes_long);
    let long = long.map(|(test, in_firefox)| trial(test, in_firefox).with_ignored_flag(true));
    let trials = trials.chain(long);
    Ok(libtest_mimic::run(&arguments, trials.collect()).exit_code())
}

/// What tests share that run one after the other: the served page and one browser of each kind.
struct Stage {
    runtime: Arc<Runtime>,
    number: usize,
    pictures: PathBuf,
    /// The page of the test before, if that passed: a failure may have left anything behind.
    page: Option<Page>,
    /// The same in Firefox, which is started when a test wants it.
    firefox: Option<(Page, Bridge)>,
    server: Server,
    driver: Driver,
    patience: Duration,
}

impl Stage {
    fn start(runtime: Arc<Runtime>, number: usize, writes_screens: bool, takes_long: bool) -> Outcome<Stage> {
        ensure(dist().join("index.html").is_file(), || {
            "there is no page yet: run `cargo xtask build` first".to_owned()
        })?;
        let pictures = if writes_screens { root().join("docs/screens") } else { scratch()?.join("screens") };
        let (server, driver) = (Server::start(&dist())?, Driver::start()?);
        let patience = if takes_long { LONG_PATIENCE } else { PATIENCE };
        Ok(Stage { runtime, number, pictures, page: None, firefox: None, server, driver, patience })
    }

    /// Runs one test. Returns why it had nothing to do, if so.
    fn run(&mut self, test: &tests::Test) -> Result<Option<String>, Failed> {
        let Stage { runtime, number, pictures, page: last, server, driver, patience, .. } = self;
        use_scratch(*number);
        runtime.block_on(async {
            let page = match last.take() {
                Some(page) => page,
                None => Page::new(session(driver).await?, &server.url, pictures),
            };
            match one(test, &page, *patience).await {
                Ok(()) => Ok(last.insert(page).take_skipped()),
                Err(failure) => {
                    let words = account(test, &page, failure).await;
                    page.close().await;
                    Err(words.into())
                }
            }
        })
    }
}

impl Stage {
    /// Runs one test in Firefox.
    fn run_in_firefox(&mut self, test: &tests::Test) -> Result<Option<String>, Failed> {
        let Stage { runtime, number, firefox, server, patience, .. } = self;
        use_scratch(*number);
        runtime.block_on(async {
            let (page, bridge) = match firefox.take() {
                Some(running) => running,
                None => {
                    let bridge = Bridge::start()?;
                    // The pictures of the documentation are Chromium's.
                    let pictures = scratch()?.join("screens-firefox");
                    (Page::new(session_at(&bridge.url).await?, &server.url, &pictures), bridge)
                }
            };
            let mut outcome = one(test, &page, *patience).await;
            // Firefox's driver has at times no window to press in, one moment after a frame has come or gone. Nothing is said
            // of the page by that, so the test begins anew, once.
            if let Err(Failure(words)) = &outcome
                && has_no_window(words)
            {
                // Else what is asked of the page would go to the frame that is gone.
                page.leave().await?;
                outcome = one(test, &page, *patience).await;
            }
            match outcome {
                Ok(()) => Ok(firefox.insert((page, bridge)).0.take_skipped()),
                Err(failure) => Err(account(test, &page, failure).await.into()),
            }
        })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(page) = self.page.take() {
            self.runtime.block_on(page.close());
        }
    }
}

/// Runs one test. It also fails if the page complained on the console.
async fn one(test: &tests::Test, page: &Page, patience: Duration) -> Outcome {
    let whole = async {
        page.forget().await?;
        (test.run)(page).await?;
        let complaints = page.complaints().await?;
        ensure(complaints.is_empty(), || format!("errors on the console: {}", complaints.join(" | ")))
    };
    timeout(patience, whole).await.unwrap_or_else(|_| Err(Failure(format!("not done after {patience:?}"))))
}

/// Returns why a test failed, what stands on the console, and where the picture of its page is kept.
async fn account(test: &tests::Test, page: &Page, failure: Failure) -> String {
    let mut words = failure.to_string();
    for complaint in timeout(LOOK, page.complaints()).await.into_iter().flatten().flatten() {
        words.push_str(&format!("\n    console: {complaint}"));
    }
    if let Ok(Ok(file)) = timeout(LOOK, page.keep_failure(test.name)).await {
        words.push_str(&format!(
            "\n    it looked like {}",
            file.strip_prefix(root()).unwrap_or(&file).display()
        ));
    }
    words
}
