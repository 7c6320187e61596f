//! `pathlight anomaly`: which requests are abnormal, and why; how well that works.

use super::common::AnalysisOptions;
use super::table::TextColumn::{Left, Right};
use super::table::{TextTable, more};
use super::{Failure, output, parse};
use clap::builder::RangedI64ValueParser;
use pathlight_base::steps::{Pace, all_at_once};
use pathlight_engine::anomalies::paper::FeatureEncoding;
use pathlight_engine::anomalies::paper::vae::{TrainingProgress, VaeSettings};
use pathlight_engine::anomalies::{
    AnomalyBaseline, AnomalyReport, AnomalyRow, AnomalySettings, Detector, EXPLAINED, EvaluationTable,
    ModelError, RequestLabel, SPLITS,
};
use pathlight_engine::queries;
use pathlight_engine::requests::Selection;
use pathlight_engine::verdict::SubjectHits;
use pathlight_trace::{SpanId, TraceId};
use pathlight_view::anomalies::labelled::{DETECTORS, LABELLED, LabelledCase, LabelledCases};
use pathlight_view::anomalies::{self, AnomalyLine};
use pathlight_view::json;
use std::fmt::Display;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The options of `anomaly`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Traces to judge: files, folders (recursive) or `-`; without normal traces to learn from each request is ranked against all
    /// others
    #[arg(required_unless_present_any = ["train", "test", "model", "labels"])]
    files: Vec<PathBuf>,
    /// Normal traces to learn from: files, folders (recursive) or `-`; or summaries, which hold what some of their requests
    /// are like
    #[arg(long, visible_alias = "baseline", num_args = 1.., value_name = "FILE", required_unless_present_any = ["files", "model", "labels"])]
    train: Vec<PathBuf>,
    /// Traces to judge, like FILES; without any, each training trace is ranked against all others
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with = "files")]
    test: Vec<PathBuf>,
    /// Learn from half of the training traces; judge the rest, as it is and made abnormal
    #[arg(long, conflicts_with_all = ["test", "model", "save_model"])]
    evaluate: bool,
    /// With `--evaluate`: folders of real faults in place of made ones. Each folder `case-...` in DIR has
    /// `normal.json.gz`, `fault.json.gz`, and `label.json` with the service at fault as `culprit_service`
    #[arg(long, value_name = "DIR", requires = "evaluate", conflicts_with = "train")]
    labels: Option<PathBuf>,
    /// With `--evaluate`: how often the traces are halved anew to count false alarms
    #[arg(long, value_name = "N", default_value_t = SPLITS, requires = "evaluate")]
    splits: u32,
    /// Accepted share of false alarms
    #[arg(long, default_value_t = 0.01, value_parser = parse::positive_share)]
    alpha: f64,
    /// Share of the training traces that may be abnormal: the most anomalous ones are left out, and so many more false
    /// alarms are possible
    #[arg(long, default_value_t = 0.0, value_parser = parse::share)]
    contaminated: f64,
    /// Exit with status 3 if at least N requests are abnormal, by both verdicts as one test
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), conflicts_with_all = ["evaluate", "export_vectors"])]
    fail_on: Option<u64>,
    /// Judge by the paper's auto-encoder; with `--evaluate`, evaluate it too
    #[arg(long)]
    vae: bool,
    /// Auto-encoder: width of the hidden layers
    #[arg(long, default_value_t = VaeSettings::default().hidden, value_parser = size(1, VaeSettings::MOST.hidden))]
    hidden: u32,
    /// Auto-encoder: number of latent variables
    #[arg(long, default_value_t = VaeSettings::default().latent, value_parser = size(1, VaeSettings::MOST.latent))]
    latent: u32,
    /// Auto-encoder: steps of the planar flow; 0 is none
    #[arg(long, default_value_t = VaeSettings::default().flow, value_parser = size(0, VaeSettings::MOST.flow))]
    flow: u32,
    /// Auto-encoder: how often it sees the training traces
    #[arg(long, default_value_t = VaeSettings::default().epochs, value_parser = size(0, VaeSettings::MOST.epochs))]
    epochs: u32,
    /// Auto-encoder: cut the time of all traces into so many equal parts, and judge each by what the 14 before it teach
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(15..=1000), requires = "vae", conflicts_with = "evaluate")]
    parts: Option<u32>,
    /// These judged requests are normal: each joins the baseline, as one of twenty at least. TRACE_ID, or TRACE_ID:ROOT_SPAN_ID
    #[arg(long, num_args = 1.., value_name = "REQUEST", conflicts_with_all = ["vae", "evaluate", "export_vectors"])]
    normal: Vec<String>,
    /// These judged requests belong to the incident: what is like them leaves the baseline. As for `--normal`
    #[arg(long, num_args = 1.., value_name = "REQUEST", conflicts_with_all = ["vae", "evaluate", "export_vectors"])]
    incident: Vec<String>,
    /// Number of requests to explain, the most anomalous
    #[arg(long, value_name = "N", default_value_t = EXPLAINED)]
    explain: u32,
    /// Print the vectors that the paper's detectors learn from instead: time on the critical path (`scpv`) or anywhere
    /// (`stv`) by call path, a row for each request of `--train` and `--test`; as CSV, or with `--json` without the cells
    /// that are absent
    #[arg(long, value_name = "VECTOR", value_parser = ["scpv", "stv"], conflicts_with_all = ["evaluate", "model"])]
    export_vectors: Option<String>,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Judge by a model that `--save-model` has written; several, of different requests, are merged
    #[arg(long, num_args = 1.., value_name = "FILE", conflicts_with = "train")]
    model: Vec<PathBuf>,
    /// Write the trained or merged model to this file
    #[arg(long, value_name = "FILE")]
    save_model: Option<PathBuf>,
    #[command(flatten)]
    settings: AnalysisOptions,
}

impl Args {
    /// Returns the files to learn from, and those to judge: what is named alone is learned from, each request but by itself.
    fn sets(&self) -> (&[PathBuf], &[PathBuf]) {
        let judged = if self.files.is_empty() { &self.test } else { &self.files };
        if self.train.is_empty() && self.model.is_empty() { (judged, &[]) } else { (&self.train, judged) }
    }

    /// Returns what is said of judged requests.
    fn labels(&self) -> Vec<RequestLabel> {
        let label = |request: &String, is_normal: bool| {
            let (trace_id, root) = match request.split_once(':') {
                Some((trace_id, root)) => (trace_id, Some(root)),
                None => (request.as_str(), None),
            };
            let root_span_id = root.map(SpanId::canonical);
            RequestLabel { trace_id: TraceId::canonical(trace_id), root_span_id, is_normal }
        };
        let normal = self.normal.iter().map(|request| label(request, true));
        normal.chain(self.incident.iter().map(|request| label(request, false))).collect()
    }
}

/// Reads a size of the auto-encoder.
fn size(least: u32, most: u32) -> RangedI64ValueParser<u32> {
    RangedI64ValueParser::new().range(i64::from(least)..=i64::from(most))
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if a side has none; [`Failure::Abnormal`] if as many are abnormal as `--fail-on` names;
/// [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.settings.needs_answers()?;
    let vae = VaeSettings {
        hidden: args.hidden,
        latent: args.latent,
        flow: args.flow,
        epochs: args.epochs,
        parts: args.parts.unwrap_or(0),
        seed: args.seed,
    };
    let settings = AnomalySettings {
        alpha_ppm: (args.alpha * 1e6).round() as u32,
        contaminated_ppm: (args.contaminated * 1e6).round() as u32,
        detector: if args.vae { Detector::Vae(vae) } else { Detector::Tree },
        explain: args.explain,
        labels: args.labels(),
        ..AnomalySettings::default()
    };
    if let Some(vector) = &args.export_vectors {
        return export_vectors(
            args,
            if vector == "stv" { FeatureEncoding::Stv } else { FeatureEncoding::Scpv },
        );
    }
    match &args.labels {
        Some(folder) => evaluate_faults(args, folder, &settings),
        None if args.evaluate => evaluate(args, settings),
        None => judge(args, settings),
    }
}

/// Returns a function that writes losses of the auto-encoder to standard error, one line an epoch, where somebody is
/// looking.
fn watch() -> impl FnMut(&TrainingProgress) {
    let mut reported = 0;
    let is_watched = std::io::stderr().is_terminal();
    move |progress: &TrainingProgress| {
        for (epoch, loss) in progress.losses.iter().enumerate().skip(reported) {
            if is_watched {
                eprintln!("pathlight: epoch {}: loss {loss:.3}", epoch + 1);
            }
        }
        reported = reported.max(progress.losses.len());
    }
}

fn evaluate(args: &Args, settings: AnomalySettings) -> Result<(), Failure> {
    if !args.sets().1.is_empty() {
        return Err(Failure::Usage(
            "--evaluate judges a half of the training traces: name only these".to_owned(),
        ));
    }
    let selection = args.settings.selection();
    let mut pool = args.settings.load_groups(&[args.sets().0])?;
    let query = queries::AnomalyEvaluation { selection, seed: args.seed, splits: args.splits, settings };
    let table = pool.run_watched(query, &mut watch())?;
    let text = if args.settings.json { json::anomaly_evaluation(&table)? + "\n" } else { table_text(&table) };
    args.settings.print(&text)
}

/// Says what is found of each labelled fault of a folder.
fn evaluate_faults(args: &Args, folder: &Path, settings: &AnomalySettings) -> Result<(), Failure> {
    let mut faults = LabelledCases { asked_alpha: args.alpha, cases: Vec::new() };
    let wrong = |path: &Path, what: &dyn Display| Failure::Usage(format!("{}: {what}", path.display()));
    let entries = std::fs::read_dir(folder).map_err(|error| wrong(folder, &error))?;
    let mut cases: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    cases.retain(|case| case.join("label.json").is_file());
    cases.sort();
    for case in cases {
        let file = case.join("label.json");
        let text = std::fs::read(&file).map_err(|error| wrong(&file, &error))?;
        let label: serde_json::Value = serde_json::from_slice(&text).map_err(|error| wrong(&file, &error))?;
        let Some(service) = label["culprit_service"].as_str() else {
            return Err(wrong(&file, &"it names no culprit_service"));
        };
        let sides = ["normal.json.gz", "fault.json.gz"].map(|name| [case.join(name)]);
        let mut pool = args.settings.load_groups(&[&sides[0], &sides[1]])?;
        let normal = args.settings.selection();
        let query = queries::LabelledFault {
            faulty: Selection { group: 1, ..normal.clone() },
            normal,
            service: service.to_owned(),
            seed: args.seed,
            splits: args.splits,
            settings: settings.clone(),
        };
        faults.cases.push(LabelledCase {
            name: case.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            service: service.to_owned(),
            fault: label["fault_type"].as_str().unwrap_or_default().to_owned(),
            report: pool.run_watched(query, &mut watch())?,
        });
    }
    if faults.cases.is_empty() {
        return Err(wrong(folder, &"no folder in it has a label.json"));
    }
    let text = if args.settings.json { json::labelled_faults(&faults)? + "\n" } else { faults_text(&faults) };
    args.settings.print(&text)
}

fn faults_text(faults: &LabelledCases) -> String {
    let mut rows = TextTable::new(LABELLED.map(|(head, is)| if is { Right(head) } else { Left(head) }));
    faults.lines().into_iter().for_each(|line| rows.row(line));
    let mut detectors = TextTable::new(DETECTORS.map(|(head, is)| if is { Right(head) } else { Left(head) }));
    faults.detector_lines().into_iter().for_each(|line| detectors.row(line));
    format!("{}\n\n{rows}\n{detectors}", faults.summary())
}

fn export_vectors(args: &Args, encoding: FeatureEncoding) -> Result<(), Failure> {
    let train = args.settings.selection();
    let (learned, judged) = args.sets();
    let mut groups = vec![learned];
    groups.extend((!judged.is_empty()).then_some(judged));
    if let Some(file) = &args.settings.out {
        output::refuse_inputs(file, &groups.concat())?;
    }
    let mut pool = args.settings.load_groups(&groups)?;
    let test = (groups.len() > 1).then(|| Selection { group: 1, ..train.clone() });
    let report = pool.run(queries::AnomalyVectors { train, test, encoding })?;
    let text =
        if args.settings.json { json::vectors(&report)? + "\n" } else { anomalies::vectors_csv(&report) };
    args.settings.print(&text)
}

fn judge(args: &Args, mut settings: AnomalySettings) -> Result<(), Failure> {
    // A sliding window judges the requests that it learns from, as time goes on.
    let (learned, judged) = args.sets();
    let has_verdicts = !judged.is_empty() || args.parts.is_some() && args.save_model.is_none();
    if args.fail_on.is_some() && !has_verdicts {
        let why = "--fail-on needs verdicts, and there are none without traces to judge: name them with --test FILE...";
        return Err(Failure::Usage(why.to_owned()));
    }
    let train = args.settings.selection();
    let mut groups: Vec<&[PathBuf]> = Vec::new();
    groups.extend([learned, judged].into_iter().filter(|files| !files.is_empty()));
    settings.model = read_models(&args.model)?;
    for file in args.save_model.iter().chain(&args.settings.out) {
        output::refuse_inputs(file, &[groups.concat(), args.model.clone()].concat())?;
    }
    if let (true, Some(file), Some(bytes)) = (groups.is_empty(), &args.save_model, &settings.model) {
        return output::write(file, bytes);
    }
    if groups.is_empty() {
        return Err(Failure::Usage("name what to judge by the model: --test FILE...".to_owned()));
    }
    let mut pool = args.settings.load_groups_or_summaries(&groups)?;
    let test = Selection { group: groups.len() as u8 - 1, ..train.clone() };
    if let Some(file) = &args.save_model {
        let query =
            queries::AnomalyModel { train: train.clone(), test: test.clone(), settings: settings.clone() };
        let bytes = pool.run_watched(query, &mut watch())?;
        output::write(file, &bytes)?;
        // The report says what labels teach, so it teaches anew.
        if settings.labels.is_empty() {
            settings.model = Some(bytes);
        }
    }
    if judged.is_empty() && args.save_model.is_some() {
        return Ok(());
    }
    let has_sides = groups.len() > 1;
    let (train, test) = if has_sides { train.as_baseline_of(test) } else { (train, test) };
    let hits = (has_sides && !args.vae).then(|| queries::VerdictHits { a: train.clone(), b: test.clone() });
    let query = queries::Anomalies { train, test, settings };
    let report = Rc::new(pool.run_watched(query, &mut watch())?);
    let hits = hits.map(|query| pool.run(query)).transpose()?.flatten();
    let (report, hits) = (&report, hits.as_ref());
    args.settings.print_report(|| json::anomaly(report, hits), |rows| report_text(report, hits, rows))?;
    match args.fail_on {
        // One answer takes one test.
        Some(least) if report.abnormal_by_one_test() as u64 >= least => {
            Err(Failure::Abnormal(report.abnormal_by_one_test()))
        }
        _ => Ok(()),
    }
}

/// Returns the model that files hold, or all of them merged.
fn read_models(files: &[PathBuf]) -> Result<Option<Vec<u8>>, Failure> {
    let read = |file: &PathBuf| {
        std::fs::read(file)
            .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", file.display())))
    };
    let wrong = |error: ModelError| Failure::Usage(error.to_string());
    let model = |file: &PathBuf| {
        let name = file.display().to_string();
        let model = AnomalyBaseline::from_bytes(&read(file)?);
        Ok((name.clone(), model.map_err(|error| Failure::Usage(format!("{name}: {error}")))?))
    };
    let mut models = files.iter().map(model).collect::<Result<Vec<_>, Failure>>()?;
    if models.len() < 2 {
        return Ok(models.pop().map(|(_, model)| model.to_bytes()));
    }
    let merged = all_at_once(AnomalyBaseline::merge(models, &mut Pace::default())).map_err(wrong)?;
    Ok(Some(merged.to_bytes()))
}

fn report_text(report: &Rc<AnomalyReport>, hits: Option<&SubjectHits>, rows: usize) -> String {
    let mut out = anomalies::title(report) + "\n";
    // Writing to a String cannot fail.
    if let Some(hits) = anomalies::hits::comparable(report, hits) {
        let _ = writeln!(out, "{}", anomalies::hits::summary(report, hits));
    }
    for (requests, what) in anomalies::groups(report).iter().map(|group| (group.requests, &group.words)) {
        let _ = writeln!(out, "{requests:>8}  {what}");
    }
    let groups_left = anomalies::more_groups(report);
    if !groups_left.is_empty() {
        let _ = writeln!(out, "{:>8}  {groups_left}", "");
    }
    let is_listed = |line: &AnomalyLine| report.is_abnormal(line.row()) || !report.has_verdicts;
    let lines = AnomalyLine::of(report, hits).into_iter().filter(is_listed).collect();
    let table = anomalies::table().filled(lines);
    let remarks = |line: &AnomalyLine| {
        let AnomalyRow { request, nearest, reasons, .. } = line.row();
        // The first reason is in the row.
        let others = anomalies::reasons(report, line.row()).into_iter().skip(reasons.len().min(1));
        let nearest = nearest.iter().map(|nearest| format!("most like it: trace {}", nearest.trace_id));
        let trace = [format!("trace {}", request.trace_id)];
        others
            .chain(line.hit_words().map(str::to_owned))
            .chain(trace)
            .chain(nearest)
            .map(|remark| format!("  {remark}"))
            .collect()
    };
    if !table.rows().is_empty() {
        let printed = TextTable::with_remarks(&table, 2, rows, remarks);
        let _ = write!(out, "\n{printed}{}", more(table.rows().len(), rows, "request"));
    }
    out
}

fn table_text(table: &EvaluationTable) -> String {
    let (words, lines) = anomalies::evaluation(table);
    let heads =
        anomalies::EVALUATION.map(|(title, is_number)| if is_number { Right(title) } else { Left(title) });
    let mut rows = TextTable::new(heads);
    lines.into_iter().for_each(|line| rows.row(line));
    format!("{words}\n{}\n\n{rows}", anomalies::false_alarms(table).join("\n"))
}
