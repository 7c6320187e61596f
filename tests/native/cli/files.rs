//! The program's way with files: which it reads, which it never writes over, and what its text says of names.
#![cfg(unix)]

use super::super::common::{Scratch, files_below};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Returns one trace of one span of this service and operation, as text of JSON strings.
fn trace(id: &str, service: &str, operation: &str) -> String {
    format!(
        r#"{{"data":[{{"traceID":"{id}","spans":[{{"traceID":"{id}","spanID":"01","operationName":"{operation}","references":[],
        "startTime":1700000000000000,"duration":1000,"tags":[{{"key":"error","type":"bool","value":true}}],"logs":[],"processID":"p1"}}],
        "processes":{{"p1":{{"serviceName":"{service}","tags":[]}}}}}}]}}"#
    )
}

fn pathlight(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
    command.current_dir(folder).stdin(Stdio::null());
    command
}

/// Runs it to its end, which has to come within 20 seconds.
fn run(folder: &Path, args: &[&str]) -> (Output, i32) {
    let mut child =
        pathlight(folder).args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begun = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begun.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("{args:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = child.wait_with_output().unwrap();
    let status = output.status.code().unwrap();
    (output, status)
}

#[test]
fn links_in_a_circle_are_followed_once() {
    let folder = Scratch::new("circle");
    fs::create_dir_all(folder.path().join("in/deep")).unwrap();
    fs::write(folder.path().join("in/deep/a.json"), trace("a1", "s", "o")).unwrap();
    // Two links to the folder itself: the paths through them double with every step.
    symlink(".", folder.path().join("in/one")).unwrap();
    symlink(".", folder.path().join("in/two")).unwrap();
    symlink("..", folder.path().join("in/deep/up")).unwrap();
    let (output, status) = run(folder.path(), &["inspect", "--json", "in"]);
    assert_eq!(status, 0);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["files"].as_array().unwrap().len(), 1, "{report}");
    assert_eq!(report["files"][0]["name"], "in/deep/a.json");
}

#[test]
fn a_pipe_in_a_folder_is_left_out_and_one_that_is_named_is_read() {
    let folder = Scratch::new("pipe");
    fs::create_dir(folder.path().join("in")).unwrap();
    fs::write(folder.path().join("in/a.json"), trace("a1", "s", "o")).unwrap();
    let pipe = folder.path().join("in/pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (output, status) = run(folder.path(), &["inspect", "in"]);
    assert_eq!(status, 0);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("in/pipe: neither file nor folder, so it is left out"), "{said}");
    // What `<(...)` of a shell is.
    let writer = std::thread::spawn(move || fs::write(pipe, trace("b2", "s", "o")).unwrap());
    let (output, status) = run(folder.path(), &["inspect", "--json", "in/pipe"]);
    writer.join().unwrap();
    assert_eq!(status, 0);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["traces"], 1);
    // The names that a shell gives to what it has opened: of a pipe, and of a file.
    for line in
        ["cat in/a.json | \"$0\" inspect --json /dev/fd/0", "\"$0\" inspect --json /dev/fd/3 3< in/a.json"]
    {
        let mut shell = Command::new("sh");
        shell.current_dir(folder.path()).args(["-c", line, env!("CARGO_BIN_EXE_pathlight")]);
        let output = shell.output().unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        assert_eq!(report["traces"], 1, "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn an_input_is_never_written_over() {
    let folder = Scratch::new("over");
    let text = trace("a1", "s", "o");
    fs::write(folder.path().join("a.json"), &text).unwrap();
    fs::write(folder.path().join("b.json"), trace("b2", "s", "o")).unwrap();
    symlink("a.json", folder.path().join("link.json")).unwrap();
    // Folders of results that an earlier run has left, and one whose result leads to an input.
    for args in [
        &["partition", "a.json", "--into", "1", "-o", "parts"][..],
        &["summarise", "a.json", "--per-root", "-o", "days"],
    ] {
        assert_eq!(run(folder.path(), args).1, 0, "{args:?}");
    }
    fs::create_dir(folder.path().join("linked")).unwrap();
    symlink("../a.json", folder.path().join("linked/0")).unwrap();
    let files = ["a.json", "parts/0", "days/all.pathlight"];
    let before = files.map(|file| fs::read(folder.path().join(file)).unwrap());
    for args in [
        &["summary", "a.json", "-o", "a.json"][..],
        &["summary", "a.json", "-o", "./link.json"],
        &["critical-path", "--json", ".", "--out", "a.json"],
        &["inspect", "a.json", "-o", "a.json"],
        &["compare", "-a", "b.json", "-b", "a.json", "-o", "a.json"],
        &["anomaly", "--train", "b.json", "--save-model", "a.json", "--test", "a.json"],
        &["anomaly", "--train", "a.json", "--save-model", "a.json"],
        &["summarise", "b.json", "a.json", "-o", "a.json"],
        &["merge", "a.json", "-o", "./link.json"],
        &["partition", "parts/0", "b.json", "--into", "2", "-o", "parts"],
        &["partition", "b.json", "a.json", "--into", "1", "-o", "linked"],
        &["merge", "days", "--per-root", "-o", "days"],
    ] {
        let (output, status) = run(folder.path(), args);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(status == 2 && said.contains("would be overwritten"), "{args:?}: {status} {said}");
        let now = files.map(|file| fs::read(folder.path().join(file)).unwrap());
        assert!(now == before, "{args:?}");
    }
    let (_, status) = run(folder.path(), &["summary", "a.json", "-o", "out.txt"]);
    assert_eq!(status, 0);
    assert!(fs::read_to_string(folder.path().join("out.txt")).unwrap().contains("[s] o"));
}

#[test]
fn a_huge_trace_is_whole_however_many_threads_share_it() {
    let folder = Scratch::new("huge");
    let generate = ["generate", "--traces", "1", "--spans", "100000", "--shape", "mixed", "--out", "in.json"];
    assert_eq!(run(folder.path(), &generate).1, 0);
    assert!(
        fs::metadata(folder.path().join("in.json")).unwrap().len() > 34 << 20,
        "it must be worth sharing"
    );
    for (command, out) in [
        (&["critical-path", "--json", "in.json", "--out"][..], "path"),
        (&["inspect", "--json", "in.json", "--out"], "account"),
        (&["partition", "in.json", "--into", "1", "--out"], "parts"),
        (&["critical-path", "--json", "parts", "--out"], "path-of-parts"),
    ] {
        for threads in ["1", "3"] {
            let out = format!("{out}-{threads}");
            let input = format!("parts-{threads}");
            let args: Vec<&str> = (command.iter().map(|word| if *word == "parts" { &input } else { *word }))
                .chain([out.as_str(), "--threads", threads])
                .collect();
            let (output, status) = run(folder.path(), &args);
            assert_eq!(status, 0, "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        let read = |threads: &str| fs::read(folder.path().join(format!("{out}-{threads}")));
        assert!(out == "parts" || read("1").unwrap() == read("3").unwrap(), "{out}");
    }
}

#[test]
fn a_result_that_cannot_be_written_leaves_the_old_one() {
    let folder = Scratch::new("whole");
    fs::write(folder.path().join("out.json"), "old").unwrap();
    fs::create_dir(folder.path().join("parts")).unwrap();
    fs::write(folder.path().join("parts/0"), "old").unwrap();
    let (_, status) = run(folder.path(), &["generate", "--traces", "2000", "--out", "in.json"]);
    assert_eq!(status, 0);
    for (line, place) in [
        ("generate --traces 2000 --out out.json", "out.json"),
        ("partition in.json --into 1 --out parts", "parts/0"),
    ] {
        // More than a pipe or a small limit takes: the write fails in the middle.
        let mut command = Command::new("sh");
        let limited = format!("ulimit -f 64; trap '' XFSZ; \"$0\" {line}");
        command.current_dir(folder.path()).args(["-c", &limited]);
        let output = command.arg(env!("CARGO_BIN_EXE_pathlight")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert_eq!(fs::read_to_string(folder.path().join(place)).unwrap(), "old");
    }
    let left = |path: &str| fs::read_dir(folder.path().join(path)).unwrap().count();
    assert_eq!((left(""), left("parts")), (3, 1), "nothing half written is left");
}

#[test]
fn what_is_half_written_is_removed_when_the_program_is_told_to_end() {
    let folder = Scratch::new("signals");
    let out = folder.path().join("out.json");
    fs::write(&out, "old").unwrap();
    let begin = |line: &str| {
        let mut command = Command::new("sh");
        command.current_dir(folder.path()).args(["-c", line]).stdin(Stdio::null());
        let child = command.arg(env!("CARGO_BIN_EXE_pathlight")).spawn().unwrap();
        let part = folder.path().join(format!(".out.json.{}.part", child.id()));
        let begun = Instant::now();
        while fs::metadata(&part).map_or(0, |data| data.len()) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(20), "nothing is written");
            std::thread::sleep(Duration::from_millis(5));
        }
        child
    };
    let tell = |signal: &str, id: u32| {
        let sent = Command::new("kill").args([format!("-{signal}"), id.to_string()]).status();
        assert!(sent.unwrap().success());
    };
    let endless = "exec \"$0\" generate --traces 100000000 --out out.json";
    for (signal, status) in [("INT", 130), ("TERM", 143)] {
        let mut child = begin(endless);
        tell(signal, child.id());
        assert_eq!(child.wait().unwrap().code(), Some(status));
        assert_eq!(fs::read_to_string(&out).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half written is left");
    }
    // What a shell has told it to ignore, as in the background, it ignores.
    let mut child = begin(&format!("trap '' INT; {endless}"));
    tell("INT", child.id());
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "it has ended");
    tell("TERM", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing half written is left");
}

/// All results are written by one module, which cleans up behind them. What `listen` and `fetch` keep is to be gone on with.
#[test]
fn every_result_is_written_by_the_module_that_cleans_up() {
    let commands = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/cli/src");
    for path in files_below(&commands) {
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let code = code.replace("OutputFile::create(", "");
        let writes = ["fs::write(", "File::create(", "OpenOptions"].iter().any(|call| code.contains(call));
        let may_write = ["output.rs", "listen.rs", "fetch/store.rs"].iter().any(|end| path.ends_with(end));
        assert!(!writes || may_write, "{}", path.display());
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_named_unless_it_only_grows() {
    let folder = Scratch::new("changing");
    let file = folder.path().join("a.json");
    let text = |name: &str| trace("a1", name, "o");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let with = |change: &dyn Fn()| {
        fs::write(&file, text("before")).unwrap();
        // The smallest comes last, so it is waited for after the file was read.
        let mut command = pathlight(folder.path());
        command.args(["inspect", "--json", "--threads", "1", "a.json", "pipe"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // It is open once somebody reads.
        let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        change();
        writer.write_all(trace("b1", "piped", "o").as_bytes()).unwrap();
        drop(writer);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.stdout.len() > 100 && !said.contains("panicked"), "{said}");
        said.contains("a.json: it changed while it was read")
    };
    assert!(!with(&|| {}));
    assert!(!with(&|| fs::write(&file, text("before") + "\n{}").unwrap()), "grown");
    assert!(with(&|| fs::write(&file, "{").unwrap()), "cut");
    assert!(with(&|| {
        fs::write(folder.path().join("b.json"), text("another") + "          ").unwrap();
        fs::rename(folder.path().join("b.json"), &file).unwrap();
    }));
    assert!(with(&|| fs::remove_file(&file).unwrap()), "removed");
}

#[test]
fn names_in_tables_are_no_formulas_of_a_spreadsheet() {
    let folder = Scratch::new("formulas");
    fs::write(folder.path().join("a.json"), trace("a1", "=cmd|' /C calc'!A0", "@SUM(1)")).unwrap();
    for args in [
        &["summary", "--format", "csv", "a.json"][..],
        &["anomaly", "--export-vectors", "stv", "--train", "a.json"],
    ] {
        let (output, status) = run(folder.path(), args);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(status, 0, "{args:?}");
        let begins = |field: &str| field.trim_start_matches('"').starts_with(['=', '+', '@']);
        let cells = || text.lines().flat_map(|line| line.split(','));
        assert!(!cells().any(begins) && text.contains("'=cmd|"), "{args:?}: {text}");
    }
}

/// Returns the characters that a terminal obeys, or reads as the end of a line, or that turn the direction of writing,
/// or have no width: a name with one looks like another.
fn obeyed(text: &str) -> Vec<char> {
    let is_mark = |c: char| {
        matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let is_obeyed = |c: &char| c.is_control() && *c != '\n' || is_mark(*c);
    text.chars().filter(is_obeyed).collect()
}

#[test]
fn names_cannot_steer_a_terminal() {
    let folder = Scratch::new("terminal");
    let hostile = r"\u001b]0;owned\u0007\r\nFAKE \u001b[31m\u009b2J\u202e\u0008\u061c\u200b\u200e\u200f\u2028\u202a\u2060\u2066\u2067\u2068\u2069\ufeff";
    fs::create_dir(folder.path().join("in")).unwrap();
    // As many as it takes to compare latencies, and one of them is abnormal.
    for n in 0..40 {
        let mut text = trace(&format!("a{n}"), &format!("s{hostile}"), &format!("o{hostile}"));
        if n == 39 {
            text = text.replace("\"duration\":1000", "\"duration\":900000");
        }
        fs::write(folder.path().join(format!("in/{n}.json")), text).unwrap();
    }
    // A file's name is a name too.
    fs::write(folder.path().join("in/not\u{1b}[2J.json"), "{}").unwrap();
    let day = "day\u{1b}[2J.pathlight";
    let (_, status) = run(folder.path(), &["summarise", "in", "-o", day]);
    assert_eq!(status, 0);
    let of_summaries = [
        vec!["show", day],
        vec!["trend", day, day, day, day],
        vec!["check", "--baseline", day, "--candidate", day, "--fail-on", "p95>10%"],
    ];
    let of_traces = [
        &["findings"][..],
        &["findings", "--format", "markdown"],
        &["anomaly", "--train"],
        &["summary"],
        &["summary", "--format", "markdown"],
        &["critical-path"],
        &["critical-path", "--format", "folded"],
        &["endpoints"],
        &["errors"],
        &["errors", "--format", "folded"],
        &["queues"],
        &["heatmap"],
        &["histograms"],
        &["flow"],
        &["split"],
        &["split", "--tag", "error"],
        &["diagnosis"],
        &["inspect"],
        &["compare", "--range-a", "0-100", "--range-b", "0-100"],
        &["compare", "--folded", "--range-a", "0-100", "--range-b", "0-100"],
        &["summary", "--format", "csv"],
        &["summary", "--json"],
        &["findings", "--json"],
        &["critical-path", "--json"],
        &["inspect", "--json"],
        &["anomaly", "--export-vectors", "stv", "--train"],
        &["anomaly", "--export-vectors", "scpv", "--json", "--train"],
    ];
    for args in of_traces.map(|args| [args, &["in"]].concat()).into_iter().chain(of_summaries) {
        let (output, status) = run(folder.path(), &args);
        let (text, said) =
            (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        assert_eq!(status, 0, "{args:?}: {said}");
        // Lines of CSV end so.
        assert!(obeyed(&text.replace("\r\n", "\n")).is_empty(), "{args:?}: {text:?}");
        assert!(obeyed(&said).is_empty(), "{args:?}: {said:?}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("FAKE")), "{args:?}: {text}");
    }
}

#[test]
fn text_about_a_deep_chain_stays_short() {
    let folder = Scratch::new("deep");
    let run = |args: &[&str]| {
        let (output, status) = run(folder.path(), args);
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap(), status)
    };
    let (_, said, status) =
        run(&["generate", "--shape", "deep", "--spans", "20000", "--traces", "1", "--out", "a.json"]);
    assert_eq!(status, 0, "{said}");
    let (text, _, status) = run(&["critical-path", "a.json"]);
    assert_eq!(status, 0);
    assert!(text.len() < 100_000, "{} bytes", text.len());
    // Of a path the end is listed, and what is not listed is counted.
    let paths = |text: &str| text.lines().filter(|line| line.contains(" → ")).count();
    let more = format!("{} more call paths", pathlight::base::format::count(20_000 - 15));
    assert!(paths(&text) >= 14 && text.contains(&more), "{text}");
    let (_, said, status) = run(&["critical-path", "--all", "a.json", "-o", "all.txt"]);
    assert_eq!(status, 0, "{said}");
    let all = fs::read_to_string(folder.path().join("all.txt")).unwrap();
    assert_eq!(paths(&all), 20_000 - 1);
    assert!(all.len() < 20_000 * 200, "{} bytes", all.len());
    let (text, said, status) = run(&["critical-path", "--format", "folded", "a.json"]);
    assert!(status == 2 && text.is_empty() && said.contains("nested so deeply"), "{said}");
}

#[test]
fn compare_says_that_intervals_between_ranges_are_no_test_and_not_so_of_two_sets() {
    let folder = Scratch::new("descriptive");
    for (seed, file) in [("1", "a.json"), ("2", "b.json")] {
        let (_, status) = run(folder.path(), &["generate", "--traces", "40", "--seed", seed, "--out", file]);
        assert_eq!(status, 0);
    }
    let says = |args: &[&str]| {
        let (output, status) = run(folder.path(), &[&["compare"][..], args].concat());
        assert_eq!(status, 0, "{args:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().any(|line| line == pathlight::view::compare::DESCRIPTIVE)
    };
    assert!(says(&["a.json"]) && says(&["a.json", "--range-a", "0-50", "--range-b", "95-100"]));
    assert!(!says(&["-a", "a.json", "-b", "b.json"]));
}
