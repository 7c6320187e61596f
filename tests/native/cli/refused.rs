//! Nonsense is refused, and a selection that matches nothing is reported: nobody takes an empty answer for a good one.

use std::path::Path;
use std::process::Command;

/// Runs it on the fixtures; returns what it printed, what it said, and its exit status.
fn run(args: &[&str]) -> (String, String, i32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ingest");
    let output =
        Command::new(env!("CARGO_BIN_EXE_pathlight")).current_dir(folder).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let file = "jaeger/api.json";
    for args in [
        &["summary", file, "--sample", "0"][..],
        &["summary", file, "--threads", "0"],
        &["summary", file, "--threads", "100000"],
        &["inspect", file, "--threads", "0"],
        &["summary", file, "--json", "--format", "csv"],
        &["critical-path", file, "--json", "--format", "folded"],
        &["errors", file, "--json", "--format", "folded"],
        &["diagnosis", file, "--json", "--format", "jaeger"],
        &["anomaly", "--train", file, "--parts", "15"],
        &["anomaly", "--train", file, "--vae", "--parts", "14"],
        &["anomaly", "--train", file, "--export-vectors", "scpv", "--fail-on", "1"],
        &["anomaly", "--train", file, "--test", file, "--fail-on", "0"],
        &["serve", ".", "--jaeger", "http://"],
        &["serve", ".", "--jaeger", "http://h:x"],
        &["serve", ".", "--jaeger-timeout", "0"],
        &["serve", ".", "--frame-ancestor", "*"],
    ] {
        let (printed, said, status) = run(args);
        assert!(status == 2 && printed.is_empty() && said.contains("error: "), "{args:?}: {status} {said}");
    }
    // Without verdicts nothing is ever abnormal.
    for more in [&[][..], &["--vae"], &["--save-model", "/nowhere/model"]] {
        let (printed, said, status) = run(&[&["anomaly", "--train", file, "--fail-on", "1"], more].concat());
        let is_refused = status == 2 && printed.is_empty() && said.contains("--fail-on needs verdicts");
        assert!(is_refused, "{more:?}: {status} {said}");
    }
    // A sliding window has verdicts without other traces.
    let window = ["anomaly", "--train", file, "--vae", "--epochs", "1", "--parts", "15", "--fail-on", "1"];
    assert_ne!(run(&window).2, 2);
}

#[test]
fn what_matches_nothing_is_said_and_ends_with_1() {
    let file = "jaeger/api.json";
    for (args, words) in [
        (
            &["summary", file, "--service", "nobody", "--operation", "o"][..],
            "No request of o @ nobody is loaded.",
        ),
        (&["summary", file, "--with-tag", "no=tag"], "No request passes the filters."),
        (&["critical-path", "--json", file, "--contains", "a:b"], "No request passes the filters."),
        (&["flow", file, "--from-us", "18446744073709551614"], "No request passes the filters."),
        (&["findings", file, "--with-tag", "no=tag"], "No request passes the filters."),
        (&["errors", file, "--with-tag", "no=tag"], "No request passes the filters."),
        (&["queues", file, "--with-tag", "no=tag"], "No request passes the filters."),
        (&["heatmap", "--json", file, "--with-tag", "no=tag"], "No request passes the filters."),
        (&["split", file, "--with-tag", "no=tag"], "No request passes the filters."),
        (&["anomaly", "--with-tag", "no=tag", "--train", file], "No request passes the filters."),
        (&["endpoints", file, "--keep-service", "nobody"], "No trace has a span of the service \"nobody\"."),
        (
            &["diagnosis", "-a", file, "-b", file, "--with-tag", "no=tag"],
            "Set A: No request passes the filters.",
        ),
    ] {
        let (printed, said, status) = run(args);
        assert!(status == 1 && printed.is_empty() && said.contains(words), "{args:?}: {status} {said}");
    }
}

#[test]
fn a_saved_report_is_no_page_to_write_reports_into() {
    let folder = super::super::common::Scratch::new("page");
    let (page, saved) = (folder.path().join("page.html"), folder.path().join("saved.html"));
    std::fs::write(&page, super::super::common::report::PAGE).unwrap();
    let write = |from: &Path, to: &Path| {
        run(&["report", "jaeger/api.json", "--page", from.to_str().unwrap(), "-o", to.to_str().unwrap()])
    };
    assert_eq!(write(&page, &saved).2, 0);
    let (_, said, status) =
        run(&["report", "jaeger/api.json", "--with-tag", "no=tag", "--page", page.to_str().unwrap()]);
    assert!(status == 1 && said.contains("No request passes the filters."), "{status} {said}");
    let (_, said, status) = write(&saved, &folder.path().join("again.html"));
    assert!(status == 2 && said.contains("a report that already has traces inside"), "{status} {said}");
    let (_, said, status) = write(&page, &page);
    assert!(status == 2 && said.contains("would be overwritten"), "{status} {said}");
}
