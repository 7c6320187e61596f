//! `cargo xtask bench`: generated sets of fixed seeds, read and analysed natively and in Chromium in one run, beside
//! `JSON.parse` of the same bytes; the figures become `docs/benchmarks.md`.
//!
//! | part | what | driven through |
//! |---|---|---|
//! | native | reading, growth, analyses on one thread | `benches/native.rs` |
//! | count | instructions of what a load waits for, which a busy machine does not change | `benches/count.rs` |
//! | summaries | summing a set up, joining many sums | `benches/native.rs` |
//! | diagnosis | whether tprof names an injected delay; how long its steps take | `benches/diagnosis` |
//! | anomalies | whether requests that were made abnormal are found, and only they | `benches/anomalies` |
//! | findings | whether the findings name an injected cause | `benches/findings` |
//! | papers | how many traces suffice; the columns of CRISP's Table 2 | `benches/papers` |
//! | weeks | whether trend and check name an injected regression | `benches/weeks` |
//! | advisors | whether what advisors say comes true in regenerated traces | `benches/advisors` |
//! | mcp | whether a program that asks names a labelled service, in how many tokens; how long it waits | `pathlight mcp` |
//! | wide | how time and memory grow with root endpoints, endpoints, services, keys, depth, fan-out, files | the binary |
//! | scale | Apache Spark beside the binary; 20 GB through a pipe | `scale/spark/test.py`, `scale/pipe.py` |
//! | browser | the engine in one worker; the built page, from drop to picture | `benches/browser.rs`, `e2e bench` |
//! | drop, cards, frames, memory, packed, trace | one part of the built page | `e2e bench` |
//!
//! A run measures; no test asserts time. Figures of one run belong together: what counts are their ratios.

mod agents;
mod instructions;
mod peers;
mod report;
mod sets;
mod wide;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::args::Arguments;
use crate::{Outcome, build, files, sh, tools};
use report::{Report, Row};
use sets::Sets;

pub const USAGE: &str = "[native] [count] [summaries] [diagnosis] [anomalies] [findings] [papers] [weeks] [advisors] [mcp] [wide] [scale] [browser] [drop] [cards] [frames] [memory] [packed] [trace] [--quick] [--base NAME] [--save NAME]  measure, and write docs/benchmarks.md; --quick: sets a twentieth of the size, only printed; --save, --base: keep the counts under a name, compare with those kept, only printed";

/// What `browser` measures of the built page, part by part: until the first flame graph, how soon findings are there, how
/// smoothly large charts are moved, five million spans, packed and small files, one trace of a million spans.
const PAGE: [&str; 6] = ["drop", "cards", "frames", "memory", "packed", "trace"];

pub fn run(arguments: &[String]) -> Outcome {
    let arguments = Arguments::parse(arguments, &["--quick"], &["--base", "--save"])?;
    let mut parts = vec![
        "native",
        "count",
        "summaries",
        "diagnosis",
        "anomalies",
        "findings",
        "papers",
        "weeks",
        "advisors",
        "mcp",
        "wide",
        "scale",
        "browser",
    ];
    parts.extend(PAGE);
    if let Some(unknown) = arguments.rest.iter().find(|part| !parts.contains(&part.as_str())) {
        return Err(format!("there is no part {unknown}; parts are {}", parts.join(", ")));
    }
    let wanted = |part: &str| arguments.rest.is_empty() || arguments.rest.iter().any(|given| given == part);
    let (base, save) = (arguments.option("--base"), arguments.option("--save"));
    if base.or(save).is_some() {
        return match arguments.rest.as_slice() {
            [part] if part == "count" => instructions::compare(base, save),
            _ => Err("--base and --save are options of the part count alone".to_owned()),
        };
    }
    let quick = arguments.flag("--quick");
    let mut report = Report::default();
    // What was measured before a part failed is kept.
    let measured = run_parts(&wanted, quick, &mut report);
    print!("{}", report.tables());
    let missed = report.missed();
    if missed > 0 {
        println!("{missed} budgets missed.");
    }
    if quick {
        return measured;
    }
    // A run of one part keeps what the other measured before.
    let path = sh::root().join("docs/benchmarks.md");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    sh::on(&path, std::fs::write(&path, report.page(&before)))?;
    measured
}

fn run_parts(wanted: &dyn Fn(&str) -> bool, quick: bool, report: &mut Report) -> Outcome {
    if wanted("diagnosis") {
        count(&["diagnosis"], report)?;
        bench(&["diagnosis", "steps"], report)?;
    }
    if wanted("anomalies") {
        count(&["anomalies"], report)?;
    }
    if wanted("findings") {
        count(&["findings"], report)?;
    }
    if wanted("papers") {
        count(&["papers", "samples"], report)?;
        bench(&["papers", "features"], report)?;
    }
    if wanted("weeks") {
        count(&["weeks"], report)?;
    }
    if wanted("advisors") {
        count(&["advisors"], report)?;
    }
    if wanted("mcp") {
        agents::run(quick, report)?;
    }
    if wanted("wide") {
        wide::run(quick, report)?;
    }
    if wanted("count") {
        instructions::run(report)?;
    }
    if wanted("scale") {
        scale(quick, report)?;
    }
    if wanted("summaries") {
        bench(&["summaries", &sets::million(quick)?], report)?;
    }
    let is_whole = wanted("browser");
    let views: Vec<&str> = PAGE.into_iter().filter(|part| wanted(part) && !is_whole).collect();
    let is_paged = is_whole || !views.is_empty();
    if !wanted("native") && !is_paged {
        return Ok(());
    }
    let sets = Sets::generate(quick)?;
    if is_paged {
        build::build(false, build::Parts::Page)?;
    }
    if is_whole || views.contains(&"memory") {
        sets::five_million(quick)?;
    }
    if is_whole || views.contains(&"drop") {
        sizes(report)?;
    }
    for part in views {
        page(&[&sets.folder, part.as_ref()], report)?;
    }
    if wanted("native") {
        native(&sets, report)?;
        peers::run(&sets, report)?;
    }
    if is_whole {
        browser(&sets, quick, report)?;
    }
    Ok(())
}

/// Runs `benches/native.rs` with these words.
fn bench(words: &[&str], report: &mut Report) -> Outcome {
    let mut command = sh::cargo();
    command.args(["bench", "--quiet", "-p", "pathlight", "--bench", "native", "--"]).args(words);
    measure(&mut command, report)
}

/// Runs a part that counts and takes no time: what the tests have built will do.
fn count(words: &[&str], report: &mut Report) -> Outcome {
    let mut command = sh::cargo();
    command
        .args(["bench", "--quiet", "--profile", "dev", "-p", "pathlight", "--bench", "native", "--"])
        .args(words);
    measure(&mut command, report)
}

/// Runs the binary as it is released: in tasks of Apache Spark, and on more text than memory.
fn scale(quick: bool, report: &mut Report) -> Outcome {
    tools::java(true)?;
    let python = tools::pyspark()?;
    let binary = release_binary()?;
    let mut spark = sh::command(&python);
    spark.arg("scale/spark/test.py").arg(&binary).arg("--bench");
    if quick {
        spark.env("PATHLIGHT_SCALE_SPANS", "100000");
    }
    measure(&mut spark, report)?;
    let mut pipe = sh::command(&python);
    let traces = if quick { "50000" } else { "1000000" };
    measure(pipe.arg("scale/pipe.py").arg(&binary).arg(traces), report)?;
    let mut wide = sh::command(&python);
    measure(wide.arg("scale/pipe.py").arg(&binary).arg(traces).arg("40000"), report)
}

/// Builds the binary as it is released; returns its path.
fn release_binary() -> Outcome<PathBuf> {
    sh::run(sh::cargo().args(["build", "--release", "--package", "pathlight", "--bin", "pathlight"]))?;
    Ok(sh::target().join("release").join(format!("pathlight{}", std::env::consts::EXE_SUFFIX)))
}

/// Rounds that count where commands are timed by turns.
const ROUNDS: usize = 3;

/// Returns the middle of some figures.
fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Compares two threads with one, over eight files and over one of the same size, by turns.
fn threads(sets: &Sets, report: &mut Report) -> Outcome {
    let binary = release_binary()?;
    let out = sets.folder.join("critical-path.json");
    for (what, input) in [("8 files", sets.eight.as_path()), ("one file", Path::new(&sets.million))] {
        let mut rounds = [Vec::new(), Vec::new()];
        for round in 0..=ROUNDS {
            for (threads, seconds) in ["1", "2"].into_iter().zip(&mut rounds) {
                let mut command = sh::command(&binary);
                command.args(["critical-path", "--json", "--threads", threads, "--out"]).arg(&out);
                let start = Instant::now();
                sh::run(command.arg(input))?;
                // The first one warms up.
                if round > 0 {
                    seconds.push(start.elapsed().as_secs_f64());
                }
            }
        }
        let [one_s, two_s] = rounds.map(median);
        let what = format!("critical-path, {what}: two threads against one");
        report.add(Row::new("Ingest, native, threads", &what, one_s / two_s, "times", ""));
    }
    Ok(())
}

fn native(sets: &Sets, report: &mut Report) -> Outcome {
    for (name, file) in &sets.ingest {
        // Each in a process of its own: peak memory never goes down.
        bench(&["ingest", name, file], report)?;
    }
    for (name, files) in &sets.growth {
        let words: Vec<&str> =
            ["scaling", name].into_iter().chain(files.iter().map(String::as_str)).collect();
        bench(&words, report)?;
    }
    bench(&["analyses", &sets.million], report)?;
    bench(&["what-if", &sets.hundred_thousand], report)?;
    bench(&["drawing"], report)?;
    threads(sets, report)
}

/// Measures the whole built page, and the engine in one worker.
fn browser(sets: &Sets, quick: bool, report: &mut Report) -> Outcome {
    // Groups that are refused keep no other from being measured.
    let paged = page(&[&sets.folder], report);
    let mut worker = tools::wasm_runner("1200")?;
    worker.args(["--bench", "browser", "--", "--nocapture"]);
    if quick {
        worker.env("PATHLIGHT_BENCH_QUICK", "1");
    }
    measure(&mut worker, report).and(paged)
}

/// Measures the built page in Chromium, with the files of a folder.
fn page(words: &[&Path], report: &mut Report) -> Outcome {
    let mut page = sh::cargo();
    page.args(["run", "--quiet", "-p", "e2e", "--", "bench"]).args(words);
    measure(page.env("CHROMEDRIVER", tools::chromedriver()?), report)
}

/// Adds to the report how large the built page is as a host sends it, packed.
fn sizes(report: &mut Report) -> Outcome {
    let index = build::dist().join("index.html");
    let index = sh::on(&index, std::fs::read_to_string(&index))?;
    let (mut page, mut worker, mut single) = (0, 0, 0);
    for entry in sh::on(&build::dist(), std::fs::read_dir(build::dist()))? {
        let path = sh::on(&build::dist(), entry)?.path();
        if path.is_dir() {
            continue;
        }
        let bytes = sh::on(&path, std::fs::read(&path))?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name == "pathlight.html" {
            single = bytes.len();
        // The modules as scripts are for frames that may not fetch; pictures are not waited for.
        } else if (name == "index.html" || index.contains(&name))
            && !name.contains(".wasm-")
            && !name.ends_with(".webp")
        {
            // The start page does without the worker's module and script.
            let sum = if name.starts_with("worker-") { &mut worker } else { &mut page };
            *sum += files::gzip(&bytes)?.len();
        }
    }
    let kilobytes = |bytes: usize| bytes as f64 / 1e3;
    let what = "page, wasm and style, gz, until it is usable";
    report.add(Row::new("Page", what, kilobytes(page), "KB", "< 1000"));
    report.add(Row::new("Page", "wasm and script of a worker, gz", kilobytes(worker), "KB", "< 1200"));
    report.add(Row::new("Page", "pathlight.html", kilobytes(single), "KB", "< 2900"));
    Ok(())
}

/// Status of a bench whose machine was too busy with other work.
const BUSY: i32 = 75;

/// Runs a command and takes the rows it prints, but not those of a group that says that they mean nothing.
fn measure(command: &mut Command, report: &mut Report) -> Outcome {
    eprintln!("  $ {}", sh::spell(command));
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| format!("cannot start `{}`: {error}", sh::spell(command)))?;
    let mut rows = Vec::new();
    for line in
        child.stdout.take().into_iter().flat_map(|out| BufReader::new(out).lines()).map_while(Result::ok)
    {
        match Row::parse(&line) {
            Some(row) => {
                eprintln!("    {row}");
                rows.push(row);
            }
            None if line.contains("FAILED") || line.contains("panicked") => eprintln!("    {line}"),
            None => {}
        }
    }
    // How long a whole run waited stands beside its figures.
    let group = rows.first().map(|row| row.group().to_owned()).unwrap_or_default();
    rows.iter_mut().for_each(|row| row.put_into(&group));
    let ended = child.wait();
    let is_busy = ended.as_ref().is_ok_and(|status| status.code() == Some(BUSY));
    let refused = if is_busy { vec![group] } else { report::disturbed(&rows) };
    let is_kept = |row: &Row| !is_busy && !refused.iter().any(|group| group == row.group());
    rows.into_iter().filter(is_kept).for_each(|row| report.add(row));
    match ended {
        Ok(_) if !refused.is_empty() => Err(format!(
            "the machine is busy with other work, so these figures are none: {}; run it again when it is not",
            refused.join(", ")
        )),
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}` ended with {status}", sh::spell(command))),
        Err(error) => Err(format!("`{}`: {error}", sh::spell(command))),
    }
}
