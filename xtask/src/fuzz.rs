//! `cargo xtask fuzz`: the fuzz targets of `fuzz/`, one a format or kind of archive.
//!
//! They need cargo-fuzz and a nightly compiler. `--replay` needs neither: it runs seeded changes of the fixtures, the ones
//! of the normal tests, for as long as asked.

use crate::args::Arguments;
use crate::{Outcome, sh};

pub const USAGE: &str =
    "[TARGET]... [--minutes N] [--replay]  fuzz the readers (nightly), or replay seeded changes";

/// As in `tests/common/replay.rs`.
const TARGETS: [&str; 11] = [
    "jaeger",
    "jaeger-ui",
    "jaeger-spans",
    "elasticsearch",
    "otlp",
    "zipkin-v2",
    "zipkin-v1",
    "otel-stdout",
    "lines",
    "gzip",
    "zip",
];

pub fn run(arguments: &[String]) -> Outcome {
    let arguments = Arguments::parse(arguments, &["--replay"], &["--minutes"])?;
    let minutes: f64 = match arguments.option("--minutes").unwrap_or("10").parse() {
        Ok(minutes) => minutes,
        Err(_) => return Err("--minutes takes a number".to_owned()),
    };
    let seconds = (minutes * 60.0) as u64;
    if let Some(unknown) = arguments.rest.iter().find(|name| !TARGETS.contains(&name.as_str())) {
        return Err(format!("there is no target {unknown}; targets are {}", TARGETS.join(", ")));
    }
    let is_wanted =
        |name: &&&str| arguments.rest.is_empty() || arguments.rest.iter().any(|given| given == **name);
    let targets = TARGETS.iter().filter(is_wanted);
    if arguments.flag("--replay") {
        for target in targets {
            let mut replay = sh::cargo();
            replay
                .args(["test", "--release", "-p", "pathlight", "--features", "cli", "--test", "ingest_paths"])
                .args(["changed_texts", "--", "--nocapture"])
                .env("PATHLIGHT_REPLAY", format!("{target}:{seconds}s"));
            sh::run(&mut replay)?;
        }
        return Ok(());
    }
    let nightly = sh::output(sh::command("cargo").args(["+nightly", "fuzz", "--version"]));
    if nightly.is_none() {
        return Err(
            "fuzzing needs a nightly compiler and cargo-fuzz (`rustup toolchain install nightly`, `cargo \
                    install cargo-fuzz`); `cargo xtask fuzz --replay` needs neither"
                .to_owned(),
        );
    }
    sh::run(sh::command("cargo").args([
        "+nightly",
        "run",
        "--manifest-path",
        "fuzz/Cargo.toml",
        "--bin",
        "seeds",
    ]))?;
    for target in targets {
        let mut fuzz = sh::command("cargo");
        fuzz.args(["+nightly", "fuzz", "run", "--fuzz-dir", "fuzz", target, "--"])
            .arg(format!("-max_total_time={seconds}"))
            .arg("-max_len=65536");
        sh::run(&mut fuzz)?;
    }
    Ok(())
}
