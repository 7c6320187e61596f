//! `pathlight flow`: the execution flow of a parent endpoint, how well it predicts, and what-if.

use super::Failure;
use super::common::{self, Common};
use super::parse;
use super::table::TextColumn::{Left, Right};
use super::table::{TextTable, more};
use pathlight_base::format::duration;
use pathlight_engine::flow::paper::FlowSettings;
use pathlight_engine::flow::{
    ChangeOf, Changes, EvaluationReport, FASTER_PERCENT, FlowParent, FlowReport, FlowVariantsReport,
    HeadroomReport, ParalleliseReport, Quantile, SavingsReport, TargetReport, TimeoutReport, WhatIfReport,
    back_test,
};
use pathlight_engine::queries;
use pathlight_engine::requests::{RootEndpoint, Selection, Until};
use pathlight_engine::run::native::NativePool;
use pathlight_trace::Endpoint;
use pathlight_view::flow::capacity::{self, Capacities, CapacityLine, Utilisation};
use pathlight_view::flow::changes::no_answer_waits;
use pathlight_view::flow::cheapest;
use pathlight_view::flow::headroom::{self, HeadroomLine};
use pathlight_view::flow::parallelise::{self, SerialLine};
use pathlight_view::flow::savings::{self, SavingLine};
use pathlight_view::flow::target::{self, TargetLine};
use pathlight_view::flow::variants::{self, VariantLine};
use pathlight_view::flow::written::{self, WhatIfChange};
use pathlight_view::flow::{self, CallLine, prediction, timeout};
use pathlight_view::json;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// The options of `flow`. `--service` and `--operation` choose the parent; without them and without another option
/// the parents are listed.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// The parent whose calls are looked at, within the selected requests: SERVICE:OPERATION
    #[arg(long, value_name = "ENDPOINT", conflicts_with_all = ["evaluate", "what_if", "whole_call", "parallel", "savings"])]
    parent: Option<String>,
    /// Show which calls the invocations of the parent make (of the one whose calls take most, if none is chosen): how many make the
    /// same ones, the flow of each, and what decides which
    #[arg(long, conflicts_with_all = ["evaluate", "what_if", "whole_call", "parallel", "savings", "services"])]
    variants: bool,
    /// Show which service calls which, how long requests wait for it, and what fails; with --baseline also what changed
    #[arg(long, group = "asks_usual",
          conflicts_with_all = ["parent", "evaluate", "what_if", "whole_call", "parallel", "savings", "target", "timeout"])]
    services: bool,
    /// Compare six predictors on held-out invocations: of the chosen parent, else pooled over all parents
    #[arg(long, conflicts_with_all = ["what_if", "whole_call", "parallel", "savings"])]
    evaluate: bool,
    /// Change the own work of an endpoint (its self time): SERVICE:OPERATION=-50%, =+20%, =+500us, =-2ms; or of all
    /// endpoints of a service (own:SERVICE=-50%), or what all calls into it or out of it wait (in:SERVICE, out:SERVICE), or
    /// what messages wait in a queue (queue:NAME, or of one without a name whoever receives: queue:SERVICE:OPERATION), which
    /// changes requests with --until done; =20ms is what it takes then; * in the name of an endpoint stands for any letters
    /// (*:GET*=+20%); call:SERVICE:OPERATION=20ms is of whole calls, and SERVICE:OPERATION<=200ms or in:SERVICE<=200ms lets no call take
    /// longer, as an objective does; =usual stands for what these usually take; or what calls spend in the network
    /// (network:A>B=-50%, * for any service; network:A>B@KEY=within, of those between two values of a tag of processes); or let all
    /// of a service run in one place (move:SERVICE@KEY=VALUE); may be repeated
    #[arg(long, value_name = "CHANGE", value_parser = written::change, conflicts_with = "savings", group = "asks_usual")]
    what_if: Vec<WhatIfChange>,
    /// Files or folders that say what is usual: before, or normal; without them the faster half of each request type does
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "asks_usual")]
    baseline: Vec<PathBuf>,
    /// Change the whole calls of an endpoint, with all they wait for: SERVICE:OPERATION=-50%, =gone; may be repeated
    #[arg(long, value_name = "CHANGE", value_parser = written::change, conflicts_with = "savings")]
    whole_call: Vec<WhatIfChange>,
    /// Let two calls A and B of a parent run side by side; may be repeated
    #[arg(long, num_args = 3, value_names = ["PARENT", "A", "B"], conflicts_with = "savings")]
    parallel: Vec<String>,
    /// Rank what every endpoint would save if its own work were 10 %, 50 %, 100 % faster
    #[arg(long)]
    savings: bool,
    /// List calls that always run one after the other though nothing in the traces says that they must, and what running them side
    /// by side would save
    #[arg(long, conflicts_with_all = ["evaluate", "what_if", "whole_call", "parallel", "savings", "parent", "services", "variants"])]
    parallelise: bool,
    /// Find how much faster the own work of single endpoints, of two and of three has to be, or how much less time parts of
    /// services have to take, so that a percentile of the latency comes down to a time: p99=300ms
    #[arg(long, value_name = "PERCENTILE=TIME", value_parser = written::target, group = "asks_usual",
          conflicts_with_all = ["evaluate", "what_if", "whole_call", "parallel", "savings", "parent", "parallelise", "variants"])]
    target: Option<(Quantile, u64)>,
    /// Find the cheapest set of these changes that reaches the target: a change as for --what-if, and its price:
    /// 'in:SERVICE=-50% costs 3'; may be repeated. Of up to 12 the answer is exact
    #[arg(long, value_name = "CHANGE costs PRICE", requires = "target", value_parser = option)]
    option: Vec<String>,
    /// Say how many times as long the own work of each service, and the calls of each endpoint, may take before a percentile of the
    /// latency exceeds a time: p99=300ms
    #[arg(long, value_name = "PERCENTILE=TIME", value_parser = written::target,
          conflicts_with_all = ["evaluate", "what_if", "whole_call", "parallel", "savings", "parent", "parallelise", "variants", "target", "timeout"])]
    headroom: Option<(Quantile, u64)>,
    /// Say of each service how much earlier requests would end if its own work took no time (drag), and how much longer that may
    /// take before a request ends later (slack)
    #[arg(long, conflicts_with_all = ["evaluate", "what_if", "whole_call", "parallel", "savings", "parent", "parallelise", "variants", "target", "timeout", "headroom", "services"])]
    capacity: bool,
    /// The same beside how much services use, to say where to add capacity and where to take it: a file with the columns
    /// service,cpu (and memory) in percent or as shares of 1, the text of `kubectl top` with CPU%, or what Prometheus answers to a
    /// query
    #[arg(long, value_name = "FILE", conflicts_with_all = ["evaluate", "what_if", "whole_call", "parallel", "savings", "parent", "parallelise", "variants", "target", "timeout", "headroom", "services"])]
    utilisation: Option<PathBuf>,
    /// Say which requests a timeout of the calls of an endpoint would cut, and what the latency would be if such calls fail
    /// fast or are made once more: SERVICE:OPERATION=200ms, or in:SERVICE=200ms for all calls into a service; without a time
    /// the least that cuts at most 0.1 % of the calls, or of those in the files of --baseline
    #[arg(long, value_name = "CALLS[=TIME]", value_parser = parse::timeout, group = "asks_usual",
          conflicts_with_all = ["evaluate", "what_if", "whole_call", "parallel", "savings", "parent", "target", "parallelise", "variants"])]
    timeout: Option<(String, Option<u64>)>,
    /// Share of the invocations with both calls in which one must end before the other (default 0.99, paper 1)
    #[arg(long, value_parser = parse::share)]
    tau: Option<f64>,
    /// Leave out parents with fewer calls when pooling (default 2, paper 5)
    #[arg(long, value_name = "N")]
    min_children: Option<u32>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let common = &args.common;
    // What queues change is seen when everything is done.
    if args.what_if.is_empty() && args.whole_call.is_empty() && args.parallel.is_empty() {
        common.needs_answers()?;
    }
    let (mut selection, settings) = (common.selection(), settings(args));
    let (mut pool, baseline) = if args.baseline.is_empty() {
        (common.settings.load_groups_or_summaries(&[&common.files])?, None)
    } else {
        let (baseline, of_files) = selection.as_baseline_of(Selection { group: 1, ..selection.clone() });
        selection = of_files;
        (common.settings.load_groups(&[&args.baseline, &common.files])?, Some(baseline))
    };
    let min_children = args.min_children.unwrap_or(if common.path.preset == "paper" { 5 } else { 2 });
    let rows = common.rows();
    let text = if args.services {
        let report = pool.run(queries::ServiceMap { selection, baseline })?;
        if common.json { json::service_map(&report)? + "\n" } else { flow::map::to_text(&report, rows) }
    } else if args.variants {
        let parent = match &args.parent {
            Some(name) => Some(endpoint(&pool, name)?),
            None if selection.root == RootEndpoint::TraceRoots => {
                let parents = pool.run(queries::FlowParents { selection: selection.clone() })?;
                FlowParent::most_worth(&parents)
            }
            None => None,
        };
        let report = pool.run(queries::FlowVariants { selection, parent, settings })?;
        if common.json { json::flow_variants(&report)? + "\n" } else { variants_text(&Rc::new(report), rows) }
    } else if args.evaluate {
        let report = pool.run(queries::FlowEvaluation { selection, settings, min_children })?;
        if common.json { json::flow_evaluation(&report)? + "\n" } else { evaluation_text(&report) }
    } else if args.savings {
        let test = back_test(&mut pool, &selection, settings, min_children)?;
        let report = pool.run(queries::Savings { selection, settings })?;
        if common.json {
            json::savings(&report, Some(&test))? + "\n"
        } else {
            savings_text(&Rc::new(report), &test, rows)
        }
    } else if args.parallelise {
        let test = back_test(&mut pool, &selection, settings, min_children)?;
        let report = pool.run(queries::Parallelise { selection, settings })?;
        if common.json {
            json::parallelise(&report, Some(&test))? + "\n"
        } else {
            parallelise_text(&Rc::new(report), &test, rows)
        }
    } else if let (Some((quantile, target_us)), false) = (args.target, args.option.is_empty()) {
        if args.option.len() > queries::Cheapest::MOST {
            return Err(Failure::Usage(format!("at most {} options", queries::Cheapest::MOST)));
        }
        let options = written::options(pool.sessions(), &args.option).map_err(Failure::Usage)?;
        let test = back_test(&mut pool, &selection, settings, min_children)?;
        let query = queries::Cheapest { selection, baseline, settings, quantile, target_us, options };
        let report = pool.run(query)?;
        if common.json {
            json::flow_cheapest(&report, Some(&test))? + "\n"
        } else {
            format!("{}\n\n{}\n", cheapest::sentence(&report), prediction::back_test_words(Some(&test)))
        }
    } else if let Some((quantile, target_us)) = args.target {
        let test = back_test(&mut pool, &selection, settings, min_children)?;
        let report = pool.run(queries::Target { selection, baseline, settings, quantile, target_us })?;
        if common.json {
            json::flow_target(&report, Some(&test))? + "\n"
        } else {
            target_text(&Rc::new(report), &test, rows)
        }
    } else if let Some((quantile, limit_us)) = args.headroom {
        let test = back_test(&mut pool, &selection, settings, min_children)?;
        let report = pool.run(queries::Headroom { selection, settings, quantile, limit_us })?;
        if common.json {
            json::flow_headroom(&report, Some(&test))? + "\n"
        } else {
            headroom_text(&Rc::new(report), &test, rows)
        }
    } else if args.capacity || args.utilisation.is_some() {
        let table = args.utilisation.as_deref().map(utilisation).transpose()?;
        let test = back_test(&mut pool, &selection, settings, min_children)?;
        let report = Rc::new(pool.run(queries::Capacity { selection: selection.clone(), settings })?);
        let capacities = Rc::new(Capacities::new(&report, table.as_ref()));
        let changes = capacities.changes();
        let what_if = |changes| queries::WhatIf { selection, baseline, settings, changes };
        let after = changes.map(|changes| pool.run(what_if(changes))).transpose()?;
        if common.json {
            json::flow_capacity(&capacities, after.as_ref(), Some(&test))? + "\n"
        } else {
            capacity_text(&capacities, after.as_ref(), &test, rows)
        }
    } else if let Some((name, timeout_us)) = &args.timeout {
        let of = written::call_target(pool.sessions(), name).map_err(Failure::Usage)?;
        let test = back_test(&mut pool, &selection, settings, min_children)?;
        let report =
            pool.run(queries::Timeout { selection, baseline, settings, of, timeout_us: *timeout_us })?;
        if common.json {
            json::flow_timeout(&report, Some(&test))? + "\n"
        } else {
            timeout_text(&report, &test)
        }
    } else if !(args.what_if.is_empty() && args.whole_call.is_empty() && args.parallel.is_empty()) {
        let changes = changes(args, &mut pool, &selection)?;
        let note = no_answer_waits(&changes, selection.until);
        let until = selection.until;
        let test = back_test(&mut pool, &selection, settings, min_children)?;
        let report = pool.run(queries::WhatIf { selection, baseline, settings, changes })?;
        if common.json {
            json::what_if(&report, Some(&test))? + "\n"
        } else {
            let note = if note.is_empty() { String::new() } else { format!("{note} Add --until done.\n\n") };
            note + &what_if_text(&report, until, &test, rows)
        }
    } else if selection.root == RootEndpoint::TraceRoots && args.parent.is_none() {
        let parents = pool.run(queries::FlowParents { selection: selection.clone() })?;
        if common.json {
            json::flow_parents(&parents)? + "\n"
        } else {
            headline(&mut pool, selection, settings)? + &parents_text(&parents, rows)
        }
    } else {
        let parent = args.parent.as_deref().map(|name| endpoint(&pool, name)).transpose()?;
        let report = pool.run(queries::Flow { selection, parent, settings })?;
        if common.json { json::flow(&report)? + "\n" } else { flow_text(&Rc::new(report), rows) }
    };
    if common.json { common.print(&text) } else { common.print_text(&text) }
}

/// Checks that an option is written like one; what it names is known once the files are loaded.
fn option(text: &str) -> Result<String, &'static str> {
    written::priced(text).map(|_| text.to_owned())
}

fn settings(args: &Args) -> FlowSettings {
    let mut settings =
        if args.common.path.preset == "paper" { FlowSettings::paper() } else { FlowSettings::default() };
    if let Some(tau) = args.tau {
        settings.tau_ppm = (tau * 1e6).round() as u32;
    }
    settings
}

fn changes(args: &Args, pool: &mut NativePool, selection: &Selection) -> Result<Changes, Failure> {
    let mut changes = Changes::default();
    let queues = written::names_queues(pool.sessions(), &args.what_if)
        .then(|| pool.run(queries::Queues { selection: selection.at_any_latency() }))
        .transpose()?;
    let sessions = pool.sessions();
    written::add_own_work(&mut changes, sessions, queues.as_ref(), &args.what_if).map_err(Failure::Usage)?;
    written::add_times(&mut changes, sessions, ChangeOf::WholeCall, &args.whole_call)
        .map_err(Failure::Usage)?;
    for names in args.parallel.chunks_exact(3) {
        let names = [&names[0], &names[1], &names[2]].map(String::as_str);
        written::add_parallel(&mut changes, pool.sessions(), names).map_err(Failure::Usage)?;
    }
    Ok(changes)
}

fn endpoint(pool: &NativePool, name: &str) -> Result<Endpoint, Failure> {
    written::endpoint(pool.sessions(), name).map_err(Failure::Usage)
}

fn share(value: f64) -> String {
    format!("{:.1}%", 100.0 * value)
}

/// Returns the answer that a list of parents begins with: what is most worth making faster. Nothing of summaries, which do not
/// say it.
fn headline(pool: &mut NativePool, selection: Selection, settings: FlowSettings) -> Result<String, Failure> {
    if pool.sessions().iter().all(|session| session.set.traces().is_empty()) {
        return Ok(String::new());
    }
    let report = pool.run(queries::Savings { selection, settings })?;
    Ok(savings::headline(&report).to_text() + "\n\n")
}

// Writing to a String cannot fail.

fn parents_text(parents: &[FlowParent], rows: usize) -> String {
    let mut parents: Vec<&FlowParent> = parents.iter().collect();
    parents.sort_by_key(|p| (std::cmp::Reverse(p.nodes), std::cmp::Reverse(p.invocations)));
    let mut table = TextTable::new([Right("calls"), Right("invocations"), Left("parent")]);
    for p in parents.iter().take(rows) {
        let name = format!("{}:{}", p.service, p.operation);
        table.row([p.nodes.to_string(), p.invocations.to_string(), name]);
    }
    table.to_string() + &more(parents.len(), rows, "parent")
}

fn flow_text(report: &Rc<FlowReport>, rows: usize) -> String {
    let mut out = format!("{}: {}\n", flow::chart_title(report), flow::title(report, &[]));
    let calls = flow::table().filled(CallLine::of(report));
    let calls = TextTable::of(&calls, 2, rows);
    let mut edges = TextTable::new([Right("support"), Right("binding"), Left("edge")]);
    for edge in report.edges.iter().take(rows) {
        let ends = report.labels(edge).join(" -> ");
        edges.row([share(edge.support()), share(edge.binding_share()), ends]);
    }
    let left = [more(report.nodes.len(), rows, "call"), more(report.edges.len(), rows, "edge")];
    let _ = write!(out, "\n{calls}{}\n{edges}{}", left[0], left[1]);
    out
}

fn variants_text(report: &Rc<FlowVariantsReport>, rows: usize) -> String {
    let mut out = variants::headline(report).to_text() + "\n";
    if report.variants.is_empty() {
        return out;
    }
    let table = variants::table().filled(VariantLine::of(report));
    let _ = writeln!(out, "\n{}", TextTable::of(&table, 2, rows));
    for (at, variant) in report.variants.iter().enumerate().take(rows) {
        let _ = writeln!(out, "Variant {}: {}", at + 1, variants::calls_words(report, at));
        for decider in &variant.deciders {
            let _ = writeln!(out, "  decided by {}", variants::decider_words(decider));
        }
        if !variant.flow.nodes.is_empty() {
            let calls = flow::table().filled(CallLine::of(&Rc::new(variant.flow.clone())));
            let left = more(variant.flow.nodes.len(), rows, "call");
            let _ = write!(out, "{}{left}", TextTable::of(&calls, 2, rows));
        }
        out.push('\n');
    }
    out + variants::LIMITS + "\n"
}

fn evaluation_text(report: &EvaluationReport) -> String {
    let heads = prediction::HEADS.map(Right);
    let mut table = TextTable::new(std::iter::once(Left("")).chain(heads));
    for method in &report.methods {
        let errors = prediction::errors(method).map(|(words, _)| words);
        table.row(std::iter::once(method.name.to_string()).chain(errors));
    }
    format!("{}\n{}\n\n{table}", prediction::title(report), prediction::CAPTION)
}

fn what_if_text(report: &WhatIfReport, until: Until, test: &EvaluationReport, rows: usize) -> String {
    let shares = flow::changes::shares(report, rows);
    let shares = match shares.is_empty() {
        true => String::new(),
        false => format!("Shares of the latency:\n{}\n", TextTable::of_endpoints(shares)),
    };
    format!(
        "{}\n\n{}\n{shares}{}\n",
        flow::changes::changed_words(report, until),
        TextTable::of_numbers(&flow::changes::numbers(report)),
        prediction::back_test_words(Some(test))
    )
}

fn target_text(report: &Rc<TargetReport>, test: &EvaluationReport, rows: usize) -> String {
    let mut out = target::sentence(report) + "\n";
    if report.is_reached() {
        return out;
    }
    let is_listed = |line: &TargetLine| line.at() < rows || !line.is_single();
    let ways = target::table().filled(TargetLine::of(report).into_iter().filter(is_listed).collect());
    let table = TextTable::of(&ways, 2, usize::MAX);
    let _ = writeln!(out, "\n{table}{}", more(report.single.len(), rows, "single endpoint"));
    if report.reaching_way().is_some() {
        let (budgets, others) = target::budgets(report, rows);
        let budgets = TextTable::of_endpoints(budgets);
        let _ = writeln!(out, "{}:\n\n{budgets}{others}\n", target::budget_title(report));
    }
    out + &prediction::back_test_words(Some(test)) + "\n"
}

fn parallelise_text(report: &Rc<ParalleliseReport>, test: &EvaluationReport, rows: usize) -> String {
    let mut out = parallelise::headline(report).to_text() + "\n";
    if report.groups.is_empty() {
        return out;
    }
    let table = parallelise::table().filled(SerialLine::of(report));
    let (table, left) = (TextTable::of(&table, 2, rows), more(report.groups.len(), rows, "group"));
    let _ = write!(out, "\nSaved if all calls of a group ran side by side:\n{table}{left}\n");
    out + parallelise::LIMITS + " " + &prediction::back_test_words(Some(test)) + "\n"
}

fn headroom_text(report: &Rc<HeadroomReport>, test: &EvaluationReport, rows: usize) -> String {
    let mut out = headroom::sentence(report) + "\n";
    if report.rows.is_empty() {
        return out;
    }
    let table = headroom::table().filled(HeadroomLine::of(report));
    let _ = writeln!(out, "\n{}{}", TextTable::of(&table, 2, rows), more(report.rows.len(), rows, "row"));
    out + &prediction::back_test_words(Some(test)) + "\n"
}

fn capacity_text(
    capacities: &Rc<Capacities>,
    after: Option<&WhatIfReport>,
    test: &EvaluationReport,
    rows: usize,
) -> String {
    let mut out = capacity::sentence(capacities) + "\n";
    let services = capacities.report.services.len();
    if services == 0 {
        return out;
    }
    let table = capacity::table().filled(CapacityLine::of(capacities));
    let _ = writeln!(out, "\n{}{}", TextTable::of(&table, 3, rows), more(services, rows, "service"));
    let notes = capacity::notes(capacities);
    if !notes.is_empty() {
        let _ = writeln!(out, "{notes}\n");
    }
    if let Some(after) = after {
        let _ = writeln!(out, "{}\n", capacity::what_if_sentence(capacities, after));
    }
    out + &prediction::back_test_words(Some(test)) + "\n"
}

/// Reads a table of utilisation.
fn utilisation(file: &Path) -> Result<Utilisation, Failure> {
    let bytes =
        std::fs::read(file).map_err(|error| Failure::Usage(format!("{}: {error}", file.display())))?;
    capacity::read(&String::from_utf8_lossy(&bytes))
        .map_err(|why| Failure::Usage(format!("{}: {why}", file.display())))
}

fn timeout_text(report: &TimeoutReport, test: &EvaluationReport) -> String {
    if report.calls == 0 {
        return timeout::cut_words(report) + "\n";
    }
    format!(
        "{}: p50 {}, p99 {}, longest {}.\n{}\n{}\n{}\n\n{}\n{}\n",
        timeout::calls_words(&report.target()),
        duration(report.call_latency_us.p50),
        duration(report.call_latency_us.p99),
        duration(report.call_latency_us.max as f64),
        timeout::cut_words(report),
        timeout::retry_words(report),
        timeout::suggested_words(report),
        TextTable::of_numbers(&timeout::numbers(report)),
        prediction::back_test_words(Some(test))
    )
}

fn savings_text(report: &Rc<SavingsReport>, test: &EvaluationReport, rows: usize) -> String {
    let mut out = common::latency(report.requests, &report.latency_us) + "\n";
    for (level, percent) in FASTER_PERCENT.into_iter().enumerate() {
        let table = savings::table().filled(SavingLine::of(report, level));
        let table = TextTable::of(&table, 2, rows);
        let _ = write!(
            out,
            "\nSaved if the own work (self time) of an endpoint were {percent} % faster:\n{table}"
        );
    }
    let left = more(report.endpoints.len(), rows, "endpoint");
    out + &left + &prediction::back_test_words(Some(test)) + "\n"
}
