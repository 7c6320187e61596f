//! `pathlight check`: whether a candidate is slower than a baseline, for a job that decides.

use super::common::SummaryOptions;
use super::config::{Config, ConfigOption};
use super::notify::NotifyOption;
use super::summarise::name;
use super::summary_files::load_any;
use super::{Failure, output, sarif};
use pathlight_base::format::{change, counted, duration, markdown as cell, markdown_path};
use pathlight_engine::compare::{CompareReport, compare};
use pathlight_engine::summaries::{GateResult, GateRule, Measured, Summary, check};
use pathlight_trace::{Endpoint, hash_text};
use pathlight_view::draw::Theme;
use pathlight_view::export::sarif::Alert;
use pathlight_view::flame::chart::{DiffFlame, DiffOptions, FlameView, FlameWords};
use pathlight_view::json::{self, Checked};
use pathlight_view::{compare, flame, sampling};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The options of `check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The side to compare with: traces or summaries, files or folders
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    baseline: Vec<PathBuf>,
    /// The side that is judged: traces or summaries, files or folders
    #[arg(long, required = true, num_args = 1.., value_name = "FILE")]
    candidate: Vec<PathBuf>,
    /// Rules of what counts as a regression: `p95>10%`, `mean>5% n>=100`, `endpoint self p95>20%`, `errors>1%`; may be
    /// repeated (default: those of `.pathlight.toml`)
    #[arg(long, value_name = "RULE", value_parser = str::parse::<GateRule>)]
    fail_on: Vec<GateRule>,
    /// `json` for programs, `sarif` for a code host
    #[arg(long, value_parser = ["markdown", "json", "sarif"], default_value = "markdown")]
    format: String,
    #[command(flatten)]
    config: ConfigOption,
    #[command(flatten)]
    notify: NotifyOption,
    #[command(flatten)]
    reading: SummaryOptions,
    /// Write the report to this file instead of standard output
    #[arg(long, short = 'o')]
    out: Option<PathBuf>,
    /// Write the differential flame graph of what changed most to this file; the report shows it
    #[arg(long, value_name = "FILE.svg")]
    svg: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Regressed`] if a rule is broken; [`Failure::NoTrace`] if a side has no trace; [`Failure::Usage`] and
/// [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let config = args.config.read()?;
    let rules = match args.fail_on.as_slice() {
        [] => config.rules().map_err(Failure::Usage)?,
        rules => rules.to_vec(),
    };
    if rules.is_empty() {
        return Err(Failure::Usage(format!(
            "no rule: write --fail-on 'p95>10%', or [check] fail-on = [\"p95>10%\"] in {}",
            super::config::NAME
        )));
    }
    let settings = args.reading.settings();
    let baseline = load_any(&args.baseline, &settings, args.reading.threads)?;
    let candidate = load_any(&args.candidate, &settings, args.reading.threads)?;
    if baseline.settings != candidate.settings {
        return Err(Failure::Usage(pathlight_engine::summaries::OtherSettings.to_string()));
    }
    let lacks = |error: pathlight_engine::summaries::Lacks| Failure::Usage(error.to_string());
    let mut verdicts = check(&baseline, &candidate, &rules).map_err(lacks)?;
    let alerts: Vec<Alert> =
        verdicts.iter().filter(|verdict| verdict.is_broken).map(|verdict| alert(verdict, &config)).collect();
    let reasons =
        alerts.iter().filter_map(|alert| Some(format!("{} {}", alert.text, alert.accepted.as_ref()?)));
    let accepted: Vec<String> = reasons.collect();
    // What is accepted is no regression.
    for (verdict, alert) in verdicts.iter_mut().filter(|verdict| verdict.is_broken).zip(&alerts) {
        verdict.is_broken = alert.accepted.is_none();
    }
    verdicts.sort_by_key(|verdict| !verdict.is_broken);
    let broken = verdicts.iter().filter(|verdict| verdict.is_broken).count();
    // Services of root endpoints that are summed together with others explain nothing of one of them.
    let is_by_itself =
        |root: &Endpoint| ![&baseline, &candidate].iter().any(|of| of.lesser.contains_key(root));
    let broken_by_itself = || verdicts.iter().filter(|of| of.is_broken && is_by_itself(&of.root));
    let is_of_time = |verdict: &&GateResult| !matches!(verdict.rule.measured, Measured::Errors);
    let worst = broken_by_itself().find(is_of_time).or(broken_by_itself().next());
    let worst = worst.map(|verdict| &verdict.root);
    let report = compare(&baseline, &candidate, worst).map_err(lacks)?;
    if let Some(svg) = &args.svg {
        output::write(svg, picture(&report, worst).as_bytes())?;
    }
    let svg = args.svg.as_deref().map(|svg| beside(svg, args.out.as_deref()));
    let checked = Checked {
        results: &verdicts,
        requests: [&baseline, &candidate].map(Summary::requests),
        explanation: compare::services::summary(&report.culprit),
        accepted: &accepted,
    };
    let text = match args.format.as_str() {
        "json" => json::check(&checked)? + "\n",
        "sarif" => sarif::write(&alerts, &BTreeMap::new(), &config)?,
        _ => {
            let mut text = markdown(&verdicts, [&baseline, &candidate], &report, worst, svg.as_deref());
            for words in &accepted {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "\nAccepted: {}", cell(words));
            }
            text
        }
    };
    output::print(args.out.as_deref(), &text)?;
    args.notify.send(|| json::check(&checked))?;
    if broken > 0 { Err(Failure::Regressed(broken)) } else { Ok(()) }
}

/// Returns a broken rule as an alert.
fn alert(verdict: &GateResult, config: &Config) -> Alert {
    let (rule, rule_name) = match verdict.rule.measured {
        Measured::Latency => ("slower_requests", "Slower requests"),
        Measured::EndpointSelf => ("slower_endpoint", "Slower endpoint"),
        Measured::Errors => ("more_errors", "More errors"),
    };
    let place = verdict.endpoint.as_ref().unwrap_or(&verdict.root);
    let [before, after] = verdict.values.map(|value| amount(verdict, value));
    let text = format!(
        "{} of {}: {after}, {before} before (n {}, {} before); the rule is {}.",
        match verdict.rule.measured {
            Measured::Latency => format!("{} latency", verdict.rule.statistic),
            Measured::EndpointSelf => format!("{} self time", verdict.rule.statistic),
            Measured::Errors => "Share of requests with an error".to_owned(),
        },
        name(place),
        number_of(verdict, 1),
        number_of(verdict, 0),
        verdict.rule,
    );
    let about = [rule, &verdict.rule.statistic.to_string(), &name(&verdict.root), &name(place)];
    let fingerprint = format!("{:016x}", hash_text(&about.join("\n")));
    let known = config.known(&fingerprint, rule, Some(place));
    let mut properties = serde_json::json!({
        "before": verdict.values[0], "after": verdict.values[1], "n": verdict.n, "p": verdict.p, "root": verdict.root,
    });
    if counts_weights(verdict) {
        properties["effective"] = verdict.effective.into();
    }
    Alert {
        rule: rule.to_owned(),
        rule_name: rule_name.to_owned(),
        level: "error",
        accepted: sarif::accepted(known, &text),
        text,
        fingerprint,
        place: Some(place.clone()),
        code_of: None,
        properties: properties.as_object().cloned().unwrap_or_default(),
    }
}

/// Returns whether requests of a side stand for unequally many.
fn counts_weights(verdict: &GateResult) -> bool {
    verdict.n.map(|n| n as f64) != verdict.effective
}

/// Returns the number of values of a side, and what they are worth where they stand for unequally many requests.
fn number_of(verdict: &GateResult, side: usize) -> String {
    let n = verdict.n[side];
    match verdict.effective[side] {
        effective if effective == n as f64 => n.to_string(),
        effective => format!("{n} (effective {effective:.0})"),
    }
}

/// Returns the path of a file as a report links to it: from the folder of the report, if that holds it.
fn beside(file: &Path, report: Option<&Path>) -> PathBuf {
    let folder = report.and_then(Path::parent).unwrap_or(Path::new(""));
    file.strip_prefix(folder).unwrap_or(file).to_owned()
}

/// Width of the flame graph in pixels.
const WIDTH: i32 = 1000;

fn picture(report: &CompareReport, root: Option<&Endpoint>) -> String {
    let DiffFlame { tree, changed, grey, .. } = DiffFlame::new(report, &DiffOptions::default());
    let view = FlameView { window: tree.full(), scroll_px: 0, selected: None, hovered: None, matches: None };
    let of = root.map_or("all requests".to_owned(), name);
    let words = FlameWords {
        title: format!("Critical paths of {of}: what changed"),
        description: format!(
            "Orange got slower, blue faster: {changed} frames changed by more than noise, {grey} did not."
        ),
        tip: Box::new(|node| tree.frame(node).map(|frame| frame.label.clone()).unwrap_or_default()),
    };
    flame::chart::export_svg(&tree, &view, WIDTH, &Theme::light(), &words)
}

/// Rows of each table.
const ROWS: usize = 30;

fn amount(verdict: &GateResult, value: f64) -> String {
    match verdict.rule.measured {
        Measured::Errors => format!("{:.2} %", 100.0 * value),
        _ => duration(value),
    }
}

fn markdown(
    verdicts: &[GateResult],
    sides: [&Summary; 2],
    report: &CompareReport,
    worst: Option<&Endpoint>,
    svg: Option<&Path>,
) -> String {
    let broken: Vec<&GateResult> = verdicts.iter().filter(|verdict| verdict.is_broken).collect();
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = match broken.len() {
        0 => writeln!(out, "## Latency check passed\n"),
        n => writeln!(out, "## Latency check failed: {}\n", counted(n as u64, "regression")),
    };
    let [before, after] = sides.map(|side| counted(side.requests(), "request"));
    let compared = counted(verdicts.len() as u64, "comparison");
    let _ = writeln!(out, "{before} before, {after} after; {compared}.\n");
    for (side, when) in sides.into_iter().zip(["Before", "After"]) {
        if let Some(sampled) = sampling::words::by_weight(&side.weights()) {
            let _ = writeln!(out, "{when}: {sampled}\n");
        }
    }
    if verdicts.is_empty() {
        let _ = writeln!(out, "No root endpoint has enough requests on both sides to be judged.\n");
    }
    let shown = if broken.is_empty() {
        &verdicts[..verdicts.len().min(5)]
    } else {
        &verdicts[..broken.len().min(ROWS)]
    };
    if !shown.is_empty() {
        let _ = writeln!(
            out,
            "| requests | endpoint | rule | before | after | change | n |\n|---|---|---|--:|--:|--:|--:|"
        );
    }
    for verdict in shown {
        let growth = match verdict.rule.measured {
            Measured::Errors => format!("{:+.2} points", 100.0 * verdict.growth()),
            _ => format!("{:+.1} %", 100.0 * verdict.growth()),
        };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {growth} | {} |",
            cell(&name(&verdict.root)),
            verdict.endpoint.as_ref().map_or(String::new(), |endpoint| cell(&name(endpoint))),
            cell(&verdict.rule.to_string()),
            amount(verdict, verdict.values[0]),
            amount(verdict, verdict.values[1]),
            [0, 1].map(|side| number_of(verdict, side)).join(", "),
        );
    }
    if broken.len() > ROWS {
        let _ = writeln!(out, "\n... and {} more.", broken.len() - ROWS);
    }
    let said = cell(&compare::services::summary(&report.culprit));
    let _ = match worst {
        Some(root) => writeln!(out, "\n### Where {} changed\n\n{said}", cell(&name(root))),
        None => writeln!(out, "\n{said}"),
    };
    if worst.is_some() {
        let _ = writeln!(out, "\n| service | explains | requests |\n|---|--:|--:|");
        for row in report.culprit.services.iter().filter(|row| row.rank.is_some()).take(5) {
            let _ = writeln!(out, "| {} | {} | {} |", cell(&row.service), change(row.score_us), row.requests);
        }
        let ranked = report.culprit.services.iter().filter(|row| row.rank.is_some()).count();
        if ranked > 5 {
            let _ = writeln!(out, "\n... and {}.", counted(ranked as u64 - 5, "more service"));
        }
    }
    if let Some(svg) = svg {
        let file = markdown_path(&svg.to_string_lossy());
        let _ = writeln!(out, "\n![Differential flame graph: orange got slower, blue faster]({file})");
    }
    out
}
