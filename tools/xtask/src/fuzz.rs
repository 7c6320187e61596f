//! `cargo xtask fuzz`: the fuzz targets of `tools/fuzz/`, one a format or kind of archive.
//!
//! libFuzzer, led by coverage, on the compiler of the project: what it needs of LLVM are stable flags, and a C++ compiler.
//! `--replay` needs neither: it runs seeded changes of the fixtures, the ones of the normal tests, for as long as asked.

use std::path::PathBuf;

use crate::args::Arguments;
use crate::{Outcome, sh};

pub const USAGE: &str = "[TARGET]... [--minutes N] [--replay]  fuzz the readers, or replay seeded changes";

/// As in `tests/common/replay.rs`, and then as in `tests/common/stored.rs`.
const TARGETS: [&str; 21] = [
    "jaeger",
    "jaeger-ui",
    "jaeger-spans",
    "elasticsearch",
    "otlp",
    "zipkin-v2",
    "zipkin-v1",
    "otel-stdout",
    "otlp-protobuf",
    "jaeger-protobuf",
    "jaeger-cassandra",
    "next-trace",
    "lines",
    "gzip",
    "zip",
    "summary",
    "model",
    "address",
    "query",
    "embedding",
    "columns",
];

/// What libFuzzer needs to see which code ran, as cargo-fuzz sets it.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

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
        for target in targets.take_while(|target| **target != "summary") {
            let mut replay = sh::cargo();
            replay
                .args(["test", "--release", "-p", "pathlight", "--test", "native"])
                .args(["changed_texts", "--", "--nocapture"])
                .env("PATHLIGHT_REPLAY", format!("{target}:{seconds}s"));
            sh::run(&mut replay)?;
        }
        return Ok(());
    }
    let binaries = build(targets.clone())?;
    for target in targets {
        let folder = sh::target().join("fuzz/corpus").join(target);
        sh::on(&folder, std::fs::create_dir_all(&folder))?;
        let mut fuzz = sh::command(binaries.join(target));
        fuzz.arg(&folder)
            .arg(format!("-max_total_time={seconds}"))
            .args(["-max_len=65536", "-print_final_stats=1", "-timeout=60", "-verbosity=0"])
            // A finding is written here.
            .arg(format!("-artifact_prefix={}/", sh::target().join("fuzz").display()));
        sh::run(&mut fuzz)?;
    }
    Ok(())
}

/// Builds these targets; the folder they are in.
fn build<'a>(targets: impl Iterator<Item = &'a &'static str>) -> Outcome<PathBuf> {
    let version = sh::output(sh::command("rustc").arg("-vV")).unwrap_or_default();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let folder = sh::target().join("fuzz");
    // Named, so that the flags are not those of build scripts.
    let mut build = sh::cargo();
    build
        .args([
            "build",
            "--release",
            "--manifest-path",
            "tools/fuzz/Cargo.toml",
            "--target",
            host,
            "--target-dir",
        ])
        .arg(&folder)
        .env("RUSTFLAGS", INSTRUMENTED);
    for target in targets {
        build.args(["--bin", target]);
    }
    sh::run(&mut build)?;
    Ok(folder.join(host).join("release"))
}
