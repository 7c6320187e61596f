//! `cargo xtask test`: everything that is checked, in one run, each part even after another failed.
//!
//! | part | what |
//! |---|---|
//! | lint | rustfmt, clippy natively and on wasm32, rustdoc, the workflows, layers and circles, dependencies: one test each |
//! | native | the crate's tests, its doc tests, those of the tools |
//! | wasm | the crate's tests in a browser |
//! | e2e | the built page in a browser |
//! | library | the built package in Node and, where it is installed, Deno; its types |
//! | scale | the job for Apache Spark, where java and python3 are installed; asked for by name it installs java |

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use crate::args::Arguments;
use crate::{Outcome, build, library, sh, structure, supply, tools, workflows};

pub const USAGE: &str =
    "[lint] [native] [wasm] [e2e] [library] [scale]  run every check, or some parts of them";

/// How a step tells how many tests it ran.
#[derive(Clone, Copy)]
enum Count {
    /// It is one test itself.
    Whole,
    /// In its output, in one of the ways [`tally`] knows; none at all is a failure.
    Output,
    /// The same, but it may have none.
    MayBeNone,
}

/// Results so far.
#[derive(Default)]
struct Results {
    passed: u64,
    failed: u64,
    /// Names of what failed.
    failures: Vec<String>,
    /// What tests had to leave out, for want of real traces for instance: how many cases, and of what test.
    skipped: Vec<(u64, String)>,
}

pub fn run(arguments: &[String]) -> Outcome {
    let arguments = Arguments::parse(arguments, &[], &[])?;
    let parts = ["lint", "native", "wasm", "e2e", "library", "scale"];
    if let Some(unknown) = arguments.rest.iter().find(|part| !parts.contains(&part.as_str())) {
        return Err(format!("there is no part {unknown}; parts are {}", parts.join(", ")));
    }
    let wanted = |part: &str| arguments.rest.is_empty() || arguments.rest.iter().any(|given| given == part);

    let mut results = Results::default();
    let with_tests = wanted("wasm");
    let page = (wanted("native") && wanted("e2e")).then(|| thread::spawn(move || build_page(with_tests)));
    if wanted("lint") {
        lint(&mut results);
    }
    if wanted("native") {
        native(&mut results);
    }
    // How it went is reported by the part that needs it, which builds what is not there.
    page.map(thread::JoinHandle::join);
    if wanted("wasm") {
        results.prepared("wasm tests", |results| wasm(results, wanted("native")));
    }
    if wanted("e2e") {
        results.prepared("end-to-end tests", |results| end_to_end(results, wanted("native")));
    }
    if wanted("library") {
        // The end-to-end tests have built it.
        results.prepared("library", |results| package(results, wanted("native"), wanted("e2e")));
    }
    if wanted("scale") {
        scale(&mut results, !arguments.rest.is_empty(), wanted("native"));
    }
    for failure in &results.failures {
        println!("FAILED {failure}");
    }
    for (cases, test) in &results.skipped {
        println!("SKIPPED {test}: {cases}");
    }
    if !results.skipped.is_empty() {
        let cases: u64 = results.skipped.iter().map(|(cases, _)| cases).sum();
        println!("skipped: {cases} cases of {} tests", results.skipped.len());
    }
    println!("{} passed, {} failed", results.passed, results.failed);
    if results.failed == 0 {
        return Ok(());
    }
    // The line above stays the last one.
    std::process::exit(1);
}

/// Builds the page, and the tests in the browser if they are wanted, while the native parts run: each link and what packs a
/// module keep one core busy for a minute.
fn build_page(with_tests: bool) {
    if let Ok(program) = std::env::current_exe() {
        sh::output(sh::command(program).arg("build"));
    }
    if let Some(mut tests) = with_tests.then(|| tools::wasm_runner("600").ok()).flatten() {
        sh::output(tests.args(["--test", "web", "--no-run"]));
    }
}

fn lint(results: &mut Results) {
    results.step("rustfmt", Count::Whole, sh::cargo().args(["fmt", "--all", "--check"]));
    match workflows::check() {
        Ok(()) => results.passed += 1,
        Err(reason) => results.fail("workflows", &reason),
    }
    match supply::check_reasons() {
        Ok(()) => results.passed += 1,
        Err(reason) => results.fail("reasons of dependencies", &reason),
    }
    match structure::check() {
        Ok(()) => results.passed += 1,
        Err(reason) => results.fail("layers and circles", &reason),
    }
    deny(results);
    let clippy = |line: &str| {
        let mut command = sh::cargo();
        command.arg("clippy").args(line.split(' ')).args(["--", "-D", "warnings"]);
        command
    };
    results.step(
        "clippy",
        Count::Whole,
        &mut clippy("--workspace --all-targets --features pathlight/blocks"),
    );
    if let Err(error) = tools::wasm_target() {
        return results.fail("clippy on wasm32", &error);
    }
    results.step(
        "clippy on wasm32",
        Count::Whole,
        &mut clippy(&format!(
            "--workspace --exclude xtask --exclude e2e --exclude pathlight-cli --exclude pathlight-serve --exclude pathlight-mcp --lib --target {}",
            tools::WASM
        )),
    );
    let mut docs = sh::cargo();
    docs.args(["doc", "--no-deps", "--workspace", "--exclude", "xtask", "--exclude", "e2e"])
        .env("RUSTDOCFLAGS", "-D warnings");
    results.step("rustdoc", Count::Whole, &mut docs);
}

/// Checks licences, sources and versions of dependencies against `deny.toml`, and the advisories against them: where
/// cargo-deny is installed, and where its database of advisories can be had.
fn deny(results: &mut Results) {
    let Some(program) = tools::cargo_deny() else {
        let how = format!("cargo install --locked cargo-deny --version {}", tools::CARGO_DENY);
        return results.skipped.push((1, format!("licences and sources of dependencies ({how})")));
    };
    let run = |what: &[&str]| {
        let mut deny = sh::command(&program);
        deny.args(["--workspace", "--locked", "--log-level", "error", "check"]).args(what);
        deny
    };
    let what = ["licenses", "bans", "sources"];
    results.step("licences and sources of dependencies", Count::Whole, &mut run(&what));
    if sh::output(sh::command(&program).args(["fetch", "db"])).is_some() {
        results.step("advisories", Count::Whole, &mut run(&["advisories"]));
    } else {
        results.skipped.push((1, "advisories, whose database cannot be fetched here".to_owned()));
    }
}

fn native(results: &mut Results) {
    let nextest = sh::output(sh::cargo().args(["nextest", "--version"])).is_some();
    let run = |line: &str| {
        let mut command = sh::cargo();
        command.args(if nextest { ["nextest", "run"].as_slice() } else { &["test"] });
        command.args(line.split(' ')).arg("--no-fail-fast");
        command
    };
    // A runner does not show what a test prints that passes, so the tests also write into a file what they skip.
    let skipped = sh::target().join("skipped.txt");
    let _ = std::fs::remove_file(&skipped);
    let mut tests = run(TESTED);
    results.step("native tests", Count::Output, tests.env("PATHLIGHT_SKIPPED", &skipped));
    let lines = std::fs::read_to_string(&skipped).unwrap_or_default();
    results.skipped.extend(lines.lines().filter_map(skipped_cases));
    let mut documented = sh::cargo();
    documented.args(["test", "--doc", "--workspace", "--exclude", "xtask", "--features", "pathlight/blocks"]);
    results.step("doc tests", Count::MayBeNone, &mut documented);
    results.step("tests of xtask", Count::Output, &mut run("-p xtask --bins"));
}

/// What the native tests are built of. A call of cargo about some packages chooses other features of their dependencies
/// than one about others and builds all of them anew: so what comes after these tests is built by the same call.
const TESTED: &str = "--workspace --exclude xtask --features pathlight/blocks --lib --bins --tests";

/// Builds a program for tests, not for release; returns its path. After the native tests it is there.
fn program(name: &str, is_tested: bool) -> Outcome<PathBuf> {
    let mut build = sh::cargo();
    build.arg("build");
    if is_tested {
        build.args(TESTED.split(' '))
    } else {
        build.args(["--package", name, "--bin", name])
    };
    sh::run(&mut build)?;
    Ok(sh::target().join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}

/// Tests the package for JavaScript in an empty project.
fn package(results: &mut Results, is_tested: bool, is_built: bool) -> Outcome {
    if sh::find("node").is_none() || sh::find("npm").is_none() {
        results.skipped.push((1, "the library in Node, which needs node and npm".to_owned()));
        return Ok(());
    }
    if !is_built {
        build::build(false, build::Parts::All)?;
    }
    let (project, binary) = (library::project()?, program("pathlight", is_tested)?);
    let mut node = library::checks("node".as_ref(), &["--expose-gc"], &project, &binary);
    results.step("library in Node", Count::Output, &mut node);
    match tools::deno() {
        Ok(deno) => {
            let options = ["run", "--allow-all", "--no-lock", "--v8-flags=--expose-gc"];
            let mut deno = library::checks(&deno, &options, &project, &binary);
            results.step("library in Deno", Count::Output, &mut deno);
        }
        Err(reason) => results.skipped.push((1, format!("the library in Deno ({reason})"))),
    }
    match library::types(&project) {
        Ok(mut types) => results.step("types of the library", Count::Whole, &mut types),
        Err(reason) => results.skipped.push((1, format!("types of the library ({reason})"))),
    }
    Ok(())
}

/// Tests of `scale/spark/test.py`.
const SCALE_TESTS: u64 = 11;

/// Tests the job for Apache Spark against the binary. Without Java or pyspark, and if they cannot be installed, it is
/// left out.
fn scale(results: &mut Results, may_install: bool, is_tested: bool) {
    let python = match tools::java(may_install).and_then(|()| tools::pyspark()) {
        Ok(python) => python,
        Err(reason) => {
            let test = format!("scale/spark/test.py, which needs java and python3 with pyspark ({reason})");
            return results.skipped.push((SCALE_TESTS, test));
        }
    };
    match program("pathlight", is_tested) {
        Ok(binary) => {
            let mut test = sh::command(python);
            results.step("scale tests", Count::Output, test.arg("scale/spark/test.py").arg(binary));
        }
        Err(error) => results.fail("scale tests", &error),
    }
}

/// What the native binary makes of generated traces, for the tests in the browser to compare with.
const NATIVE: &[(&str, &str)] = &[
    ("traces.json", "generate --traces 150 --spans 20 --shape mixed --seed 11 --defects all"),
    ("all.json", "critical-path --json traces.json"),
    (
        "range.json",
        "critical-path --json --range 50-95 --preset paper --service edge-gateway --operation HTTP+GET traces.json",
    ),
    ("per-trace.json", "critical-path --json --per-trace traces.json"),
    ("anomaly.json", "anomaly --json --vae --hidden 13 --epochs 2 --train traces.json"),
];

/// Writes the files of [`NATIVE`]; returns their folder.
fn native_side(is_tested: bool) -> Outcome<PathBuf> {
    let binary = program("pathlight", is_tested)?;
    let folder = sh::target().join("native");
    sh::on(&folder, std::fs::create_dir_all(&folder))?;
    for (name, line) in NATIVE {
        let words = line.split(' ').map(|word| word.replace('+', " "));
        sh::run(sh::command(&binary).current_dir(&folder).args(words).arg("--out").arg(folder.join(name)))?;
    }
    Ok(folder)
}

fn wasm(results: &mut Results, is_tested: bool) -> Outcome {
    // Seconds for all of them; the default is 20.
    let mut tests = tools::wasm_runner("600")?;
    tests.args(["--test", "web"]).env("PATHLIGHT_NATIVE", native_side(is_tested)?);
    results.step("wasm tests", Count::Output, &mut tests);
    Ok(())
}

fn end_to_end(results: &mut Results, is_tested: bool) -> Outcome {
    results.step("end-to-end tests", Count::Output, &mut browser_tests(is_tested)?);
    Ok(())
}

/// Builds the page; returns the command that runs the end-to-end tests on it.
fn browser_tests(is_tested: bool) -> Outcome<Command> {
    tools::axe();
    let (driver, firefox) = (tools::chromedriver()?, tools::firefox()?);
    build::build(false, build::Parts::All)?;
    program("pathlight", is_tested)?;
    let mut tests = sh::command(program("e2e", is_tested)?);
    tests.env("CHROMEDRIVER", driver).env("FIREFOX", firefox);
    if let Some(webkit) = tools::webkit() {
        tests.env("WEBKIT_DRIVER", webkit);
    }
    Ok(tests)
}

pub const SCREENSHOTS: &str =
    "[TEST]  take the pictures of docs/screens/ again, and those that looks are compared with";

/// Writes the pictures of the documentation, and how every view looks now.
pub fn screenshots(arguments: &[String]) -> Outcome {
    let mut tests = browser_tests(false)?;
    sh::run(tests.arg("--screens").args(arguments).env("PATHLIGHT_BLESS", "1"))
}

impl Results {
    fn fail(&mut self, name: &str, reason: &str) {
        println!("{name}: {reason}");
        self.failed += 1;
        self.failures.push(format!("{name}: {reason}"));
    }

    /// Runs steps that need something prepared, which may fail.
    fn prepared(&mut self, name: &str, steps: impl FnOnce(&mut Self) -> Outcome) {
        if let Err(reason) = steps(self) {
            self.fail(name, &reason);
        }
    }

    /// Runs a command, shows its output as it comes and counts its tests.
    fn step(&mut self, name: &str, count: Count, command: &mut Command) {
        println!("== {name}: {}", sh::spell(command));
        let start = Instant::now();
        let (ended_well, lines) = match watch(command) {
            Ok(seen) => seen,
            Err(reason) => return self.fail(name, &reason),
        };
        println!("== {name}: {:.0} s", start.elapsed().as_secs_f64());
        let (passed, failed) = match count {
            Count::Whole => (u64::from(ended_well), 0),
            Count::Output | Count::MayBeNone => lines
                .iter()
                .filter_map(|line| tally(line))
                .fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1)),
        };
        self.passed += passed;
        self.failed += failed;
        let ignored = lines.iter().filter_map(|line| ignored_test(line));
        self.skipped.extend(ignored.map(|test| (1, format!("{name}: {test}"))));
        let mut names: Vec<String> = lines.iter().filter_map(|line| failed_test(line)).collect();
        names.sort();
        names.dedup();
        self.failures.extend(names.iter().map(|test| format!("{name}: {test}")));
        if !ended_well && failed == 0 {
            self.fail(name, "did not end well");
        } else if passed + failed == 0 && matches!(count, Count::Output) {
            self.fail(name, "ran no test");
        } else if failed > 0 && names.is_empty() {
            self.failures.push(format!("{name}: {failed} failed"));
        }
    }
}

/// Runs a command; returns whether it ended with status 0, and all its lines, colours taken out. They are shown as they
/// come.
fn watch(command: &mut Command) -> Outcome<(bool, Vec<String>)> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("cannot start: {error}"))?;
    let lines = Mutex::new(Vec::new());
    let show = |output: Option<Box<dyn Read + Send>>| {
        for line in
            output.into_iter().flat_map(|output| BufReader::new(output).split(b'\n')).map_while(Result::ok)
        {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            if let Ok(mut lines) = lines.lock() {
                lines.push(plain(&line));
            }
        }
    };
    let (out, err) = (child.stdout.take(), child.stderr.take());
    thread::scope(|scope| {
        scope.spawn(|| show(err.map(|err| Box::new(err) as _)));
        show(out.map(|out| Box::new(out) as _));
    });
    let status = child.wait().map_err(|error| format!("lost: {error}"))?;
    Ok((status.success(), lines.into_inner().unwrap_or_default()))
}

/// Returns the line without colours.
fn plain(line: &str) -> String {
    let mut out = String::new();
    let mut pieces = line.split("\x1b[");
    out.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        out.push_str(piece.split_once('m').map_or(piece, |(_, text)| text));
    }
    out.trim().to_owned()
}

/// Returns the passed and failed tests, if this line is the sum a runner closes with: libtest's (`test result: ok. 3
/// passed; 0 failed; ...`) or nextest's (`Summary [ 1.2s] 4 tests run: 3 passed (1 slow), 1 timed out, 2 skipped`).
fn tally(line: &str) -> Option<(u64, u64)> {
    let list = if let Some(rest) = line.strip_prefix("test result: ") {
        rest.split_once(". ")?.1
    } else if line.starts_with("Summary [") {
        line.split_once(" run: ")?.1
    } else {
        return None;
    };
    let (mut passed, mut failed) = (0, 0);
    for entry in list.split([',', ';']) {
        let Some((number, what)) = entry.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match what.split(" (").next().unwrap_or_default() {
            "passed" => passed += number,
            "failed" | "timed out" | "exec failed" => failed += number,
            _ => {}
        }
    }
    Some((passed, failed))
}

/// Returns the name of a test, if this line says that it failed.
fn failed_test(line: &str) -> Option<String> {
    if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix(" ... FAILED")) {
        return Some(name.trim_end().to_owned());
    }
    let rest =
        ["FAIL [", "TIMEOUT [", "SIGABRT [", "SIGSEGV ["].iter().find_map(|word| line.strip_prefix(word))?;
    // `FAIL [   0.013s] (1/2) pathlight cli::tests::name`
    let rest = rest.split_once("] ")?.1;
    Some(rest.rsplit_once(") ").map_or(rest, |(_, name)| name).to_owned())
}

/// Returns the name of a test, if this line of libtest's or of its kind says that it was ignored, and why if that is
/// said.
fn ignored_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ").filter(|rest| rest.contains(" ... ignored"))
}

/// Returns how many cases a test has skipped, and which test, from a line that it has written.
fn skipped_cases(line: &str) -> Option<(u64, String)> {
    let (cases, test) = line.strip_prefix("skipped: ")?.split_once(" cases of ")?;
    Some((cases.parse().ok()?, test.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sums_of_every_runner_are_read() {
        let libtest = "test result: FAILED. 9 passed; 1 failed; 2 ignored; 0 measured; 6 filtered out; finished in 0.01s";
        assert_eq!(tally(libtest), Some((9, 1)));
        assert_eq!(tally("Summary [   0.020s] 10 tests run: 10 passed, 2 skipped"), Some((10, 0)));
        let slow = "Summary [ 61.0s] 9/12 tests run: 5 passed (2 slow), 2 failed, 1 timed out, 1 exec failed, 0 skipped";
        assert_eq!(tally(slow), Some((5, 4)));
        assert_eq!(
            tally(
                "test result: ok. 7 passed; 0 failed; 2 ignored; 0 measured; 3 filtered out; finished in 9.12s"
            ),
            Some((7, 0))
        );
        assert_eq!(tally("7 passed, 2 failed"), None);
    }

    #[test]
    fn the_names_of_failed_tests_are_read() {
        let names = [
            "test a::b ... FAILED",
            "test drop::c    ... FAILED",
            "FAIL [   0.013s] (1/2) pathlight a::b",
            "test a ... ok",
        ]
        .map(failed_test);
        let names: Vec<_> = names.iter().flatten().map(String::as_str).collect();
        assert_eq!(names, ["a::b", "drop::c", "pathlight a::b"]);
    }

    #[test]
    fn what_was_skipped_is_read() {
        let line = "skipped: 9 cases of tests/native/a.rs:167, which need real traces";
        let test = "tests/native/a.rs:167, which need real traces".to_owned();
        assert_eq!(skipped_cases(line), Some((9, test)));
        assert_eq!(skipped_cases("skipped: nothing"), None);
        let line = "test real::shop ... ignored, there is no ../shared/data";
        assert_eq!(ignored_test(line), Some("real::shop ... ignored, there is no ../shared/data"));
        assert_eq!(ignored_test("test a ... ok"), None);
    }

    #[test]
    fn colours_do_not_hide_a_sum() {
        assert_eq!(
            tally(&plain("\x1b[1m\x1b[32m     Summary\x1b[0m [ 1s] 2 tests run: 2 passed")),
            Some((2, 0))
        );
    }

    #[test]
    fn a_step_counts_its_tests_and_one_that_breaks_or_tests_nothing_is_a_failure() {
        let shell = |script: &str, count| {
            let mut results = Results::default();
            results.step("it", count, Command::new("sh").args(["-c", script]));
            (results.passed, results.failed, results.failures.len() + results.skipped.len())
        };
        assert_eq!(shell("echo 'test result: ok. 2 passed; 0 failed'", Count::Output), (2, 0, 0));
        assert_eq!(
            shell(
                "echo 'test a ... FAILED' >&2; echo 'test result: FAILED. 2 passed; 1 failed'; exit 1",
                Count::Output
            ),
            (2, 1, 1)
        );
        assert_eq!(shell("echo 'test result: ok. 2 passed; 0 failed'; exit 1", Count::Output), (2, 1, 1));
        assert_eq!(
            shell("echo 'test a ... ignored'; echo 'test result: ok. 2 passed; 0 failed'", Count::Output),
            (2, 0, 1)
        );
        assert_eq!(shell("true", Count::Output), (0, 1, 1));
        assert_eq!(shell("true", Count::MayBeNone), (0, 0, 0));
        assert_eq!((shell("true", Count::Whole), shell("false", Count::Whole)), ((1, 0, 0), (0, 1, 1)));
    }
}
