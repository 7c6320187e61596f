//! The questions: what each asks the engine, and what of the report it says.

use crate::answer::Answer;
use crate::args::{About, By, Compare, Request, Time, WhatIf};
use crate::data::{BASELINE, Data, SET, handle, only};
use pathlight_base::format::{
    DASH, code, counted, duration, endpoint as endpoint_words, harmless, probability,
};
use pathlight_engine::anomalies::AnomalySettings;
use pathlight_engine::compare::ranges;
use pathlight_engine::diagnosis::{DiagnosisReport, DiagnosisSettings};
use pathlight_engine::flame::RequestPath;
use pathlight_engine::flow::paper::FlowSettings;
use pathlight_engine::flow::{Changes, MIN_CHILDREN, back_test};
use pathlight_engine::queries;
use pathlight_engine::requests::{RangeFacts, Selection};
use pathlight_engine::run::Ask as _;
use pathlight_trace::{PathSettings, TraceId};
use pathlight_view::anomalies::{self, AnomalyLine};
use pathlight_view::asked::range;
use pathlight_view::endpoints::{self, ImpactLine};
use pathlight_view::findings::{self, words};
use pathlight_view::flow::target::TargetLine;
use pathlight_view::flow::{changes, prediction, target, written};
use pathlight_view::json::records;
use pathlight_view::table::{CellText, Rows, Table, Width};
use pathlight_view::{compare, diagnosis, reading, requests_list};
use serde_json::{Value, json};
use std::rc::Rc;

/// Requests that a list has at most; a narrower question reaches the others.
const REQUESTS: u32 = 500;
/// Lines of the path of a request.
const PATH_LINES: usize = 40;
/// Assumed speedup where the page shows what an endpoint would save, in percent.
const FASTER: f64 = 10.0;

/// The result of a question: an answer, or why there is none.
pub type Asked = Result<Answer, String>;

/// Returns a row of a table of the page as one line: its names, then its numbers with their titles.
fn line<R>(table: &Table<R>, row: usize, priority: u8) -> String {
    let (mut names, mut cells) = (Vec::new(), Vec::new());
    parts(table, row, priority, &mut names, &mut cells);
    format!("{}: {}", names.join(", "), cells.join(", "))
}

/// Collects the names of a row, in backquotes, and its other cells with their titles.
fn parts<R>(table: &Table<R>, row: usize, priority: u8, names: &mut Vec<String>, cells: &mut Vec<String>) {
    for (at, head) in table.heads().iter().enumerate() {
        if !(1..=priority).contains(&head.priority) || head.width == Width::Spark {
            continue;
        }
        match table.cell(at, row) {
            CellText::Endpoint { service, operation, .. } => names.push(name(&service, &operation)),
            CellText::Service(service) => names.push(code(&service)),
            cell => {
                let words = harmless(&cell.to_string());
                if !words.is_empty() && words != DASH {
                    cells.push(format!("{} {words}", head.title.to_lowercase()));
                }
            }
        }
    }
}

/// Returns the name of an endpoint in backquotes, so that a reader sees where it ends.
fn name(service: &str, operation: &str) -> String {
    code(&endpoint_words(service, operation))
}

/// Returns which requests an answer is about, with their latency.
fn about(facts: &RangeFacts) -> String {
    let latency = &facts.latency_us;
    let [p50, p95, p99] = [latency.p50, latency.p95, latency.p99].map(duration);
    format!("{}, latency p50 {p50}, p95 {p95}, p99 {p99}", counted(facts.requests, "request"))
}

/// Returns microseconds without a fraction.
fn whole(us: f64) -> i64 {
    us.round() as i64
}

/// Adds the requests that an answer is about to its keys.
fn with_requests(answer: Answer, facts: &RangeFacts) -> Answer {
    let latency = &facts.latency_us;
    let latency_us = json!({
        "mean": whole(latency.mean), "p50": whole(latency.p50), "p95": whole(latency.p95), "p99": whole(latency.p99),
    });
    answer.with("requests", facts.requests).with("latency_us", latency_us)
}

/// `overview`: what is loaded, and which requests there are.
pub fn overview(data: &mut Data, _: &About) -> Asked {
    let settings = PathSettings { reading: Selection::default().reading, ..Selection::default().settings() };
    let report = data.ask(queries::Overview { settings, ..queries::Overview::default() })?;
    let found = data.findings(Selection::default())?;
    let cards = findings::cards(&report);
    let cards: Vec<String> = cards.iter().map(|card| format!("{} {}", card.words, card.name)).collect();
    let mut lead = format!("{}.", cards.join(", "));
    if data.has_baseline {
        let (traces, spans) = (counted(report.other_traces, "trace"), counted(report.other_spans, "span"));
        lead += &format!(" Baseline: {traces}, {spans}.");
    }
    let scope = reading::words::scope_lines(&found.facts);
    if !scope.is_empty() {
        lead += &format!(" {}", scope.trim_end());
    }
    lead += &format!(" First finding: {}", headline(&found));
    let table = findings::types().filled(findings::TypeLine::of(&report));
    let types = report.request_types.iter().enumerate();
    let types = types.map(|(at, row)| (line(&table, at, 2), records::request_type(row)));
    let answer = Answer::of(lead, data.from)
        .with("traces", report.traces)
        .with("spans", report.spans)
        .with("services", report.services)
        .with("has_baseline", data.has_baseline)
        .each("request_types", types);
    let mut answer = with_requests(answer, &found.facts);
    answer.next = match data.has_baseline {
        true => "Next: compare says what explains the difference, findings what else stands out.".to_owned(),
        false => "Next: findings says what is slow, where, why and for whom.".to_owned(),
    };
    Ok(answer)
}

/// Returns the first finding, or that there is none.
fn headline(report: &pathlight_engine::findings::FindingsReport) -> String {
    match report.findings.first() {
        Some(first) => format!("{}: {}", words::kind_name(first.kind()), words::sentence(first).to_quoted()),
        None => words::nothing(report),
    }
}

/// `findings`: what is slow, where, why and for whom.
pub fn findings(data: &mut Data, args: &About) -> Asked {
    let selection = data.selection(&args.which)?;
    let report = data.findings(selection)?;
    let records = report.findings.iter().enumerate().map(|(at, finding)| {
        let handle = handle(finding);
        let cost = words::stake(finding);
        let cost = if cost.is_empty() { cost } else { format!(" [{cost}]") };
        let name = words::kind_name(finding.kind());
        let before = if finding.is_as_before { " The same holds in the baseline." } else { "" };
        let sentence = words::sentence(finding).to_quoted();
        let text = format!("{}. {name} ({handle}): {sentence}{before}{cost}", at + 1);
        let mut value = records::finding(&report, finding);
        value["handle"] = handle.into();
        (text, value)
    });
    let lead = format!(
        "{}. {}",
        words::about(&report),
        match report.findings.len() as u64 {
            0 => words::nothing(&report),
            n => format!("{}, best first.", counted(n, "finding")),
        }
    );
    let mut answer = with_requests(Answer::of(lead, data.from), &report.facts).each("findings", records);
    answer.next =
        "Next: search or request with the handle of a finding shows requests that it is about.".to_owned();
    Ok(answer)
}

/// `compare`: which service explains the difference of two sets, or of the slow requests of one.
pub fn compare(data: &mut Data, args: &Compare) -> Asked {
    let selection = data.selection(&args.which)?;
    let [range_a, range_b] =
        [&args.range_a, &args.range_b].map(|text| text.as_deref().map(range).transpose());
    let of_all = data.has_baseline.then_some(selection.range);
    let [range_a, range_b] = ranges([range_a?, range_b?.or(of_all)], data.has_baseline);
    let group = if data.has_baseline { BASELINE } else { SET };
    let a = Selection { group, ..selection.with_range(range_a) };
    let b = selection.with_range(range_b);
    let (a, b) = if data.has_baseline { a.as_baseline_of(b) } else { (a, b) };
    let report = data.ask(queries::Compare { a, b })?;
    let culprit = &report.culprit;
    let mut lead = compare::services::explanation(culprit).to_quoted();
    for words in compare::services::failing_words(culprit) {
        lead += &format!(" {}", words.to_quoted());
    }
    if report.is_descriptive() {
        lead += &format!(" {}", compare::DESCRIPTIVE);
    }
    let sides = [&report.a, &report.b].map(|side| about(&side.facts));
    lead += &format!("\nA (normal): {}\nB: {}", sides[0], sides[1]);
    let services = culprit.services.iter().filter(|row| row.lead.is_some() || row.rank.is_none());
    let services = services.map(|row| {
        let text = compare::services::service_words(culprit, row).to_quoted();
        (format!("- {}: {text}", code(&row.service)), records::service(culprit, row))
    });
    let answer = Answer::of(lead, data.from)
        .with("headline", records::headline(culprit))
        .with("requests", culprit.requests.to_vec())
        .with("mean_us", culprit.mean_us.map(whole).to_vec())
        .with(
            "change_us",
            culprit.change_us.map_or(Value::Null, |of| json!([whole(of.low), whole(of.high)])),
        );
    Ok(answer.each("services", services))
}

/// `where_time_goes`: the top of the critical path.
pub fn time(data: &mut Data, args: &Time) -> Asked {
    let selection = data.selection(&args.which)?;
    let is_by_service = args.by == By::Service;
    let range = selection.range;
    let report =
        data.ask(queries::Impact { selection: Selection { by_service: is_by_service, ..selection } })?;
    let table = endpoints::ranking().filled(ImpactLine::faster_by(&report, FASTER));
    // The ranking leaves out what is only the root of requests.
    let listed = (0..report.rows.len()).filter(|&place| report.rows[place].is_listed()).enumerate();
    let rows =
        listed.filter_map(|(at, place)| Some((line(&table, at, 2), records::place(&report, place, FASTER)?)));
    let lead = format!("{}. {}", about(&report.facts), endpoints::ranking_title(range, &report, true, None));
    Ok(with_requests(Answer::of(lead, data.from), &report.facts).each("rows", rows))
}

/// `what_if`: the latency after a change, or the changes for a target.
pub fn what_if(data: &mut Data, args: &WhatIf) -> Asked {
    let mut selection = data.selection(&args.which)?;
    let settings = FlowSettings::default();
    if let Some(text) = &args.target {
        let (quantile, target_us) = written::target(text)?;
        let test = back_test(data, &selection, settings, MIN_CHILDREN)?;
        let (baseline, selection) = data.with_baseline(selection);
        let report =
            Rc::new(data.ask(queries::Target { selection, baseline, settings, quantile, target_us })?);
        let lead = format!("{} {}", target::sentence(&report), prediction::back_test_words(Some(&test)));
        let answer = Answer::of(lead, data.from)
            .with("requests", report.requests)
            .with("before_us", whole(report.before_us))
            .with("target_us", report.target_us);
        if report.is_reached() {
            return Ok(answer);
        }
        let table = target::table().filled(TargetLine::of(&report));
        let ways = report.single.iter().chain(&report.together).enumerate();
        let ways = ways.map(|(at, way)| {
            let mut cells = Vec::new();
            parts(&table, at, 2, &mut Vec::new(), &mut cells);
            // The first cell has the names as the page shows them.
            let names = way.endpoints.iter().map(|endpoint| name(&endpoint.service, &endpoint.operation));
            let names: Vec<String> = names.collect();
            (
                format!("{}: {}", names.join(" and "), cells[1.min(cells.len())..].join(", ")),
                records::way(way),
            )
        });
        let budgets = report.budgets.iter().map(|budget| {
            let named = name(&budget.service, &budget.operation);
            let [before, after] = [budget.before_us, budget.budget_us].map(duration);
            (format!("budget of {named}: {after}, now {before}"), records::budget(budget))
        });
        return Ok(answer.each("ways", ways).each("budgets", budgets));
    }
    if args.changes.is_empty() {
        return Err("give changes such as in:cart=-50%, or a target such as p99=300ms".to_owned());
    }
    let wanted = args.changes.iter().map(|text| written::change(text)).collect::<Result<Vec<_>, _>>()?;
    let mut changed = Changes::default();
    let mut queues = None;
    if written::names_queues(data.pool.sessions(), &wanted) {
        // No answer waits for a message.
        selection.until = pathlight_engine::requests::Until::Done;
        queues = Some(data.ask(queries::Queues { selection: selection.at_any_latency() })?);
    }
    written::add_own_work(&mut changed, data.pool.sessions(), queues.as_ref(), &wanted)?;
    let until = selection.until;
    let (baseline, selection) = data.with_baseline(selection);
    let test = back_test(data, &selection, settings, MIN_CHILDREN)?;
    let report = data.ask(queries::WhatIf { selection, baseline, settings, changes: changed })?;
    let numbers = changes::numbers(&report);
    let mut lead = changes::changed_words(&report, until);
    for (name, cells) in &numbers.rows {
        let cells = numbers.heads.iter().zip(cells).map(|(head, (words, _))| format!("{head} {words}"));
        lead += &format!("\n{name}: {}", cells.collect::<Vec<_>>().join(", "));
    }
    lead += &format!("\n{}", prediction::back_test_words(Some(&test)));
    let shares = changes::shares(&report, usize::MAX).into_iter().zip(&report.endpoints);
    let shares = shares.map(|((of, words), share)| {
        let text = format!("{}: {words}", name(&of.service, &of.operation));
        (text, records::share_change(share))
    });
    Ok(Answer::of(lead, data.from)
        .with("what_if", records::what_if(&report, &test))
        .each("endpoints", shares))
}

/// `search`: requests, slowest first.
pub fn search(data: &mut Data, args: &About) -> Asked {
    let selection = data.selection(&args.which)?;
    let report = data.ask(queries::Requests { selection, limit: REQUESTS })?;
    let table = requests_list::table().filled(report.rows.clone());
    let rows = report.rows.iter().enumerate().map(|(at, row)| {
        let handle = format!("{}/{}", row.trace_id, row.root_span_id);
        (format!("{} (request {handle})", line(&table, at, 2)), records::request(row))
    });
    let mut lead = format!("{}, slowest first.", about(&report.facts));
    if report.facts.requests > u64::from(REQUESTS) {
        lead += &format!(" Only the slowest {REQUESTS} can be listed; a narrower range reaches the others.");
    }
    let mut answer = with_requests(Answer::of(lead, data.from), &report.facts).each("rows", rows);
    answer.next = "Next: request with TRACE_ID/ROOT_SPAN_ID shows the path of one.".to_owned();
    Ok(answer)
}

/// `request`: the critical path of one request.
pub fn request(data: &mut Data, args: &Request) -> Asked {
    let group = if args.of_baseline { BASELINE } else { SET };
    let (trace, root) = args.request.split_once('/').unwrap_or((&args.request, ""));
    if trace.is_empty() {
        return Err("give request as TRACE_ID or TRACE_ID/ROOT_SPAN_ID: search lists them".to_owned());
    }
    let missing = || format!("no request {:?} in these traces: search lists requests", args.request);
    let (trace_id, root_span_id) = ids(data, group, trace, root).ok_or_else(missing)?;
    let filters = vec![only(group, &trace_id, &root_span_id)];
    let complete = Selection { group, filters, ..Selection::default() };
    let incomplete = Selection { incomplete: true, ..complete.clone() };
    let mut found = data.ask(queries::PerRequest { selection: complete })?;
    if found.requests.is_empty() {
        found = data.ask(queries::PerRequest { selection: incomplete })?;
    }
    let path = found.requests.first().ok_or_else(missing)?;
    Ok(path_answer(path, data.from))
}

/// Returns the canonical ids of a request of a group: without that of a root span those of the first root of the trace.
fn ids(data: &Data, group: u8, trace: &str, root: &str) -> Option<(String, String)> {
    data.pool.sessions().iter().find_map(|session| {
        let set = &session.set;
        let number = set.find_trace(TraceId::find(trace, &set.id_texts)?.in_group(group))?;
        let rows = set.traces()[number as usize];
        let row = match root {
            "" => Some(rows.first),
            root => (rows.first..rows.end).find(|&row| set.span_id_text(row) == root),
        };
        Some((set.trace_id_text(number), set.span_id_text(row?)))
    })
}

fn path_answer(path: &RequestPath, from: usize) -> Answer {
    // The nodes with the most time of their own, and their callers, so that the tree stays one.
    let mut kept = vec![false; path.nodes.len()];
    let mut order: Vec<usize> = (0..path.nodes.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(path.nodes[at].exclusive_us));
    let mut lines = 0;
    for at in order {
        let mut missing = Vec::new();
        let mut next = Some(at);
        while let Some(node) = next.filter(|&node| !kept[node]) {
            missing.push(node);
            next = path.nodes[node].parent.map(|parent| parent as usize);
        }
        if lines + missing.len() <= PATH_LINES {
            lines += missing.len();
            missing.into_iter().for_each(|node| kept[node] = true);
        }
    }
    let mut depth = vec![0_usize; path.nodes.len()];
    for (at, node) in path.nodes.iter().enumerate() {
        depth[at] = node.parent.map_or(0, |parent| depth[parent as usize] + 1);
    }
    let hidden: Vec<usize> = (0..kept.len()).filter(|&at| !kept[at]).collect();
    let most = path.nodes.iter().max_by_key(|node| node.exclusive_us);
    let mut lead = format!(
        "Request {}/{} takes {}.",
        path.trace_id,
        path.root_span_id,
        duration(path.latency_us as f64)
    );
    if let Some(node) = most {
        let named = name(&node.service, &node.operation);
        lead += &format!(
            " Most self time on its critical path: {named}, {}.",
            duration(node.exclusive_us as f64)
        );
    }
    if !hidden.is_empty() {
        let us: u64 = hidden.iter().map(|&at| path.nodes[at].exclusive_us).sum();
        let left = counted(hidden.len() as u64, "call path");
        lead += &format!(" {left} with {} of self time in all not shown.", duration(us as f64));
    }
    let nodes = path.nodes.iter().enumerate().filter(|(at, _)| kept[*at]).map(|(at, node)| {
        let named = name(&node.service, &node.operation);
        let [own, total] = [node.exclusive_us, node.inclusive_us].map(|us| duration(us as f64));
        let spans = if node.spans > 1 { format!(", {} spans", node.spans) } else { String::new() };
        let indent = "  ".repeat(depth[at].min(30));
        (format!("{indent}{named}: self {own} of {total}{spans}"), records::path_node(node))
    });
    Answer::of(lead, from)
        .with("trace_id", path.trace_id.clone())
        .with("root_span_id", path.root_span_id.clone())
        .with("latency_us", path.latency_us)
        .each("nodes", nodes)
}

/// `diagnose`: what is slow in all requests and in the tail.
pub fn diagnose(data: &mut Data, args: &About) -> Asked {
    let selection = data.selection(&args.which)?;
    let report = data.ask(queries::Diagnosis { selection, settings: DiagnosisSettings::default() })?;
    let DiagnosisReport { report: rows, tail, .. } = &report;
    let mut texts: Vec<Vec<String>> = Vec::new();
    for line in diagnosis::words::lines(&report).into_iter().filter(|line| line.level < 3) {
        let text = format!("{}{}", "  ".repeat(line.level as usize - 1), line.words);
        match texts.last_mut() {
            Some(texts) if line.level > 1 => texts.push(text),
            _ => texts.push(vec![text]),
        }
    }
    let rows = texts.into_iter().zip(rows).map(|(lines, row)| (lines.join("\n"), records::diagnosed(row)));
    let tails = tail.lists().filter(|kind| !kind.places.is_empty()).map(|kind| {
        let places =
            kind.places.iter().take(3).map(|place| format!("\n  {}", diagnosis::words::change_words(place)));
        (diagnosis::words::tail_heading(kind) + &places.collect::<String>(), records::tail(kind))
    });
    let found = counted(report.report.len() as u64, "endpoint");
    let lead = format!(
        "{} diagnosed: {found} with the most time of their own, then what makes the tail slow.",
        counted(report.traces, "trace")
    );
    Ok(Answer::of(lead, data.from).with("traces", report.traces).each("report", rows).each("tail", tails))
}

/// `abnormal`: which requests are unlike the baseline, or without one unlike all others.
pub fn abnormal(data: &mut Data, args: &About) -> Asked {
    let selection = data.selection(&args.which)?;
    let (baseline, test) = data.with_baseline(selection);
    let train = baseline.unwrap_or_else(|| test.clone());
    let report =
        Rc::new(data.ask(queries::Anomalies { train, test, settings: AnomalySettings::default() })?);
    let is_listed = |line: &AnomalyLine| report.is_abnormal(line.row()) || !report.has_verdicts;
    let lines: Vec<AnomalyLine> = AnomalyLine::of(&report, None).into_iter().filter(is_listed).collect();
    let record = |at: usize| {
        let row = lines[at].row();
        let reasons = anomalies::reasons(&report, row);
        let handle = format!("{}/{}", row.request.trace_id, row.request.root_span_id);
        let latency = duration(row.request.latency_us as f64);
        let p = probability(row.p);
        let text = format!("- {handle}, {latency}, p {p}: {}", reasons.join(" "));
        (text, records::abnormal(&report, row))
    };
    let groups: Vec<String> = anomalies::groups(&report)
        .iter()
        .map(|group| format!("\n{} {}", group.requests, harmless(&group.words)))
        .collect();
    let lead = format!("{}.{}", anomalies::title(&report), groups.concat());
    let answer = Answer::of(lead, data.from)
        .with("abnormal", report.abnormal())
        .with("judged", report.rows.len())
        .with("trained", report.trained)
        .with("verdicts", report.has_verdicts);
    Ok(answer.list("traces", lines.len(), record))
}
