//! Queries over summaries: opened like traces, they give the reports that their traces give.

use crate::common::{Span, generated, set_of, span, stored};
use pathlight::base::statistics::Percentiles;
use pathlight::engine::anomalies::paper::vae::VaeSettings;
use pathlight::engine::anomalies::{AnomalySettings, Detector};
use pathlight::engine::diagnosis::{
    Aggregates, DiagnosisReport, DiagnosisSettings, PlaceChange, TraceGroup, TypePlaces,
};
use pathlight::engine::flame::Quantity;
use pathlight::engine::flow::FlowReport;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::queries;
use pathlight::engine::requests::{Filter, GroupBy, PercentileRange, RangeFacts, RootEndpoint, Selection};
use pathlight::engine::run::Session;
use pathlight::engine::run::native::NativePool;
use pathlight::engine::summaries::{Merger, RELATIVE_ERROR, Summary, SummarySettings, read, write};
use pathlight::generate::GenerateOptions;
use pathlight::ingest::{Ended, ReadOptions, ReadTarget, Reader};
use pathlight::trace::{Coverage, Endpoint, Portable, TraceId, TraceSet, hash_text};
use pathlight::view::diagnosis::words::of_summary;
use pathlight::view::summaries::notes;
use std::collections::BTreeSet;

fn shop(traces: u64, seed: u64) -> TraceSet {
    generated(&GenerateOptions { traces, spans: 30, seed, ..GenerateOptions::demo() })
}

fn packed(set: &TraceSet) -> Vec<u8> {
    write(&Summary::observe(set, &SummarySettings::default())).unwrap()
}

/// Opens files, each into its group, as a worker does.
fn open(files: &[(&str, &[u8], u8)]) -> Session {
    let mut session = Session::new();
    for (name, bytes, group) in files {
        session.set.loading_group = *group;
        let mut reader = Reader::new(name, ReadOptions::default());
        bytes.chunks(1000).for_each(|part| reader.feed(part, &mut session).unwrap());
        let report = reader.finish(&mut session);
        assert_eq!((report.ended, report.format.as_str()), (Ended::Whole, "summary"));
    }
    session
}

/// Returns what a percentile range holds, but for where the ranges end that are offered, and for what summaries do not know.
fn without_marks(facts: &RangeFacts) -> RangeFacts {
    RangeFacts { marks: Vec::new(), types: 1, coverage: Coverage::default(), ..facts.clone() }
}

/// Selects every call as it was recorded, as summaries have them.
fn selection() -> Selection {
    let settings = SummarySettings::default().path;
    Selection { overlap: settings.overlap, reading: settings.reading, ..Selection::default() }
}

#[test]
fn reports_of_summaries_are_those_of_their_traces() {
    // Two workers, one of which has read two files.
    let parts = [shop(300, 5), shop(200, 6), shop(100, 7)].map(|set| packed(&set));
    let first = open(&[("a.pathlight", &parts[0], 0), ("b.pathlight", &parts[1], 0)]);
    let mut summaries = NativePool::of_sessions(vec![first, open(&[("c.pathlight", &parts[2], 0)])]).unwrap();
    let mut traces = NativePool::of(vec![shop(300, 5), shop(200, 6), shop(100, 7)]).unwrap();
    let root = summaries.run(queries::Overview::default()).unwrap().request_types[0].kind.root.clone();
    let of_root = Selection { root: RootEndpoint::Endpoint(root), ..selection() };
    // The generator's operations are request types of their own.
    for selection in [Selection { over_all: true, ..selection() }, of_root] {
        let query = queries::Range { selection: selection.clone() };
        let (found, of_traces) = (summaries.run(query.clone()).unwrap(), traces.run(query).unwrap());
        assert!(found.facts.requests > 0);
        assert_eq!(without_marks(&found.facts), without_marks(&of_traces.facts));
        let mut of_traces = traces.run(queries::CriticalPath { selection: selection.clone() }).unwrap();
        let mut found = summaries.run(queries::CriticalPath { selection: selection.clone() }).unwrap();
        for node in found.nodes.iter_mut().chain(&mut of_traces.nodes) {
            // Traces have three of them, with spans.
            assert!(!node.exemplars.is_empty());
            (node.exemplars, node.waiting) = (Vec::new(), Vec::new());
        }
        let named = |report: &pathlight::engine::flame::CriticalPathReport| {
            let names = report.nodes.iter().map(|node| report.name(node.endpoint));
            names.map(|(service, operation)| format!("{service} {operation}")).collect::<Vec<_>>()
        };
        assert_eq!(named(&found), named(&of_traces));
        for (a, b) in found.nodes.iter().zip(&of_traces.nodes) {
            assert_eq!((a.exclusive_us, a.inclusive_us), (b.exclusive_us, b.inclusive_us));
            assert_eq!(
                (a.subtree_us, a.requests, a.spans, a.errors),
                (b.subtree_us, b.requests, b.spans, b.errors)
            );
        }
        let found = summaries.run(queries::Endpoints { selection: selection.clone() }).unwrap();
        let of_traces = traces.run(queries::Endpoints { selection: selection.clone() }).unwrap();
        assert_eq!(found.endpoints, of_traces.endpoints);
        for (a, b) in found.rows.iter().zip(&of_traces.rows) {
            assert_eq!(a.exclusive_us, b.exclusive_us);
            assert_eq!(
                (a.requests, a.spans, a.errors, &a.chains),
                (b.requests, b.spans, b.errors, &b.chains)
            );
            assert_eq!(a.inclusive_us.sum, b.inclusive_us.sum);
        }
        let query = queries::Errors { selection: selection.clone() };
        let mut found = summaries.run(query.clone()).unwrap();
        assert!(found.totals.own > 0 && found.nodes.len() > 1 || selection.root != RootEndpoint::TraceRoots);
        let mut of_traces = traces.run(query).unwrap();
        (found.facts, of_traces.facts) = (without_marks(&found.facts), without_marks(&of_traces.facts));
        // What errors say is not in a summary.
        of_traces.messages = found.messages.clone();
        assert!(found.messages.most.is_empty());
        assert_eq!(found, of_traces);
        let sizes = summaries.run(queries::Histograms { selection: selection.clone() }).unwrap();
        let of_traces = traces.run(queries::Histograms { selection }).unwrap();
        assert_eq!(sizes.distributions.len(), 1);
        assert!(sizes.distributions.iter().all(|one| of_traces.distributions.contains(one)));
        assert_eq!(sizes.distributions[0].0, Quantity::Latency);
    }
    let selection = Selection { over_all: true, ..selection() };
    let query = queries::Impact { selection };
    let (mut found, mut of_traces) = (summaries.run(query.clone()).unwrap(), traces.run(query).unwrap());
    (found.facts, of_traces.facts) = (without_marks(&found.facts), without_marks(&of_traces.facts));
    // Sums do not tell how requests vary.
    of_traces.rows.iter_mut().for_each(|row| row.share_interval = None);
    assert_eq!(found, of_traces);
}

#[test]
fn a_percentile_range_of_a_summary_ends_where_its_latency_bins_do() {
    let bytes = packed(&shop(600, 6));
    let mut summaries = NativePool::of_sessions(vec![open(&[("a.pathlight", &bytes, 0)])]).unwrap();
    let mut traces = NativePool::of(vec![shop(600, 6)]).unwrap();
    let tail = PercentileRange::open(95_000, 100_000);
    let asked = Selection { over_all: true, ..selection().with_range(tail) };
    let found = summaries.run(queries::CriticalPath { selection: asked.clone() }).unwrap();
    let n = found.facts.requests;
    assert!(n > 10 && n < 60, "{n}");
    let same = asked.with_range(PercentileRange::of_ranks(600 - n..600, 600));
    let of_traces = traces.run(queries::CriticalPath { selection: same }).unwrap();
    assert_eq!(found.facts.latency_us, of_traces.facts.latency_us);
    assert_eq!(
        (found.facts.latency_sum_us, found.facts.range_us),
        (of_traces.facts.latency_sum_us, of_traces.facts.range_us)
    );
    let errors = summaries.run(queries::Errors { selection: asked.clone() }).unwrap();
    assert_eq!((errors.range, errors.facts.requests), (Some(PercentileRange::ALL), 600));
    let sums = |report: &pathlight::engine::flame::CriticalPathReport| {
        report.nodes.iter().map(|n| (n.exclusive_us.sum, n.subtree_us, n.requests)).collect::<Vec<_>>()
    };
    assert_eq!(sums(&found), sums(&of_traces));
    // Out of each root endpoint by itself, the ranges hold other requests, but each request once.
    let by_type =
        summaries.run(queries::Range { selection: Selection { over_all: false, ..asked } }).unwrap();
    assert!(by_type.facts.types > 1 && by_type.facts.requests > 0);
}

#[test]
fn two_summaries_and_a_summary_against_traces_compare_as_two_sets_of_traces() {
    let (a, b) = (packed(&shop(300, 5)), packed(&shop(300, 8)));
    let [of_a, of_b] = [0, 1].map(|group| Selection { group, over_all: true, ..selection() });
    let query = queries::Compare { a: of_a.clone(), b: of_b };
    let traces = shop(300, 5);
    let other = crate::common::generated_as(
        &GenerateOptions { traces: 300, spans: 30, seed: 8, ..GenerateOptions::demo() },
        1,
    );
    let mut both = NativePool::of(vec![shop(300, 5), other]).unwrap();
    let mut expected = both.run(query.clone()).unwrap();
    // Summaries have no messages.
    expected.culprit.queues.clear();
    let mut summaries = NativePool::of_sessions(vec![open(&[("a", &a, 0)]), open(&[("b", &b, 1)])]).unwrap();
    let mut found = summaries.run(query.clone()).unwrap();
    for (side, of_traces) in [(&mut found.a, &expected.a), (&mut found.b, &expected.b)] {
        let (marks, coverage) = (of_traces.facts.marks.clone(), of_traces.facts.coverage);
        side.facts = RangeFacts { marks, coverage, ..side.facts.clone() };
    }
    assert!(found == expected, "reports differ");
    let mut mixed = Session::of(traces);
    mixed.summaries = open(&[("b", &b, 1)]).summaries;
    let mut mixed = NativePool::of_sessions(vec![mixed]).unwrap();
    let found = mixed.run(query.clone()).unwrap();
    assert_eq!(
        (found.nodes.len(), without_marks(&found.b.facts)),
        (expected.nodes.len(), without_marks(&expected.b.facts))
    );
    assert_eq!(found.culprit.services, expected.culprit.services);
    let overview = mixed.run(queries::Overview::default()).unwrap();
    assert_eq!((overview.summary, overview.is_other_summary, overview.other_traces), (None, true, 300));
    // Ranges and filters need the requests.
    let tail = PercentileRange::open(95_000, 100_000);
    let error = summaries.run(queries::Compare { a: of_a.with_range(tail), ..query }).unwrap_err();
    assert!(error.to_string().contains("any latency"), "{error}");
    let filtered = Selection { filters: vec![Filter::HasError], ..of_a };
    let error = summaries.run(queries::Range { selection: filtered }).unwrap_err();
    assert!(error.to_string().contains("cannot be filtered"), "{error}");
}

#[test]
fn an_overview_is_that_of_the_summaries_and_says_so() {
    let (a, b) = (packed(&shop(100, 1)), packed(&shop(150, 2)));
    let mut pool = NativePool::of_sessions(vec![open(&[("a", &a, 0), ("b", &b, 0)])]).unwrap();
    let found = pool.run(queries::Overview::default()).unwrap();
    let mut traces = NativePool::of(vec![shop(100, 1), shop(150, 2)]).unwrap();
    let of_traces = traces.run(queries::Overview::default()).unwrap();
    assert_eq!(
        (found.traces, found.spans, found.latency_us),
        (of_traces.traces, of_traces.spans, of_traces.latency_us)
    );
    assert_eq!(found.histogram, of_traces.histogram);
    let facts = found.summary.unwrap();
    assert_eq!((facts.files, facts.percentile_error, facts.traces_left_out), (2, 0.0, 0));
    let roots = |report: &queries::OverviewReport| {
        let mut sums = std::collections::BTreeMap::<_, u64>::new();
        report
            .request_types
            .iter()
            .for_each(|row| *sums.entry(row.kind.root.clone()).or_default() += row.requests);
        sums
    };
    assert_eq!(found.request_types.iter().map(|row| row.requests).sum::<u64>(), 250);
    let expected = traces.run(queries::Overview { by: GroupBy::Root, ..Default::default() }).unwrap();
    assert_eq!(found.request_types.len(), roots(&expected).len());
}

#[test]
fn what_loaded_files_lack_is_said_and_refuses_only_what_needs_it() {
    let mut sections = stored::sections(&packed(&shop(50, 6)));
    sections.retain(|section| section.0 != "flow");
    sections.push(("tomorrow".to_owned(), 1, Vec::new()));
    let (whole, other) = (packed(&shop(50, 5)), stored::of_sections(&sections));
    let sessions = vec![open(&[("a.pathlight", &whole, 0)]), open(&[("b.pathlight", &other, 0)])];
    let mut pool = NativePool::of_sessions(sessions).unwrap();
    let facts = pool.run(queries::Overview::default()).unwrap().summary.unwrap();
    assert_eq!((facts.lacks.len(), facts.unknown.as_slice()), (1, ["tomorrow".to_owned()].as_slice()));
    let notes = notes(&facts);
    for words in [
        "This summary, or one that was merged into it, was written before",
        "newer Pathlight, which are left out: tomorrow.",
    ] {
        assert!(notes.iter().any(|note| note.contains(words)), "{notes:?}");
    }
    let refused = pool.run(queries::FlowParents { selection: selection() }).unwrap_err().to_string();
    assert!(refused.contains("before Pathlight summed execution flows"), "{refused}");
    let report = pool.run(queries::CriticalPath { selection: selection() }).unwrap();
    assert_eq!(report.facts.requests, 100);
}

#[test]
fn files_become_days_in_the_order_of_time_and_folders_become_one_each() {
    let day = |day: u64| {
        let options = GenerateOptions { traces: 60, spans: 30, seed: 90 + day, ..GenerateOptions::demo() };
        let mut summary = Summary::observe(&generated(&options), &SummarySettings::default());
        summary.start_us = Some((day * 86_400_000_000, day * 86_400_000_000 + 1));
        write(&summary).unwrap()
    };
    let days = [day(1), day(2), day(3)];
    let files = [
        ("week/z.pathlight", &*days[0], 0),
        ("week/a.pathlight", &*days[1], 0),
        ("week/m.pathlight", &*days[2], 0),
    ];
    let mut pool = NativePool::of_sessions(vec![open(&files[..2]), open(&files[2..])]).unwrap();
    let report = pool.run(queries::Trend::default()).unwrap();
    let names: Vec<_> = report.days.iter().map(|day| (day.name.as_str(), day.files, day.requests)).collect();
    assert_eq!(names, [("z", 1, 60), ("a", 1, 60), ("m", 1, 60)]);
    assert!(report.trend.series.iter().all(|series| series.points.len() == 3));
    let files = [
        ("w/1/x.pathlight", &*days[0], 0),
        ("w/2/x.pathlight", &*days[1], 0),
        ("w/2/y.pathlight", &*days[2], 0),
    ];
    let mut pool = NativePool::of_sessions(vec![open(&files)]).unwrap();
    let report = pool.run(queries::Trend::default()).unwrap();
    let names: Vec<_> = report.days.iter().map(|day| (day.name.as_str(), day.files, day.requests)).collect();
    assert_eq!(names, [("1", 1, 60), ("2", 2, 120)]);
}

#[test]
fn what_cannot_be_opened_says_why() {
    let bytes = packed(&shop(20, 1));
    let fail = |bytes: &[u8], into: &mut dyn ReadTarget| {
        let mut reader = Reader::new("x.pathlight", ReadOptions::default());
        let _ = reader.feed(bytes, into);
        let Ended::Failed(error) = reader.finish(into).ended else { panic!("it was read") };
        error.to_string()
    };
    let mut session = Session::new();
    assert!(fail(&bytes[..bytes.len() / 2], &mut session).contains("damaged"));
    assert!(fail(b"pathlight-summary 99\nxyz", &mut session).contains("version 99"));
    assert!(session.summaries.is_empty());
    assert!(fail(&bytes, &mut TraceSet::new()).contains("pathlight show"));
}

/// Checks that percentiles of a flow are within the bound of bins, then makes them the exact ones.
fn bound(found: &mut FlowReport, exact: &FlowReport) {
    let check = |found: &mut Percentiles, exact: &Percentiles| {
        for (a, b) in [(found.p50, exact.p50), (found.p95, exact.p95), (found.p99, exact.p99)] {
            assert!((a - b).abs() <= RELATIVE_ERROR * b + 1e-6, "{a} for {b}");
        }
        *found = Percentiles { p50: exact.p50, p95: exact.p95, p99: exact.p99, ..*found };
    };
    check(&mut found.latency_us, &exact.latency_us);
    check(&mut found.return_us, &exact.return_us);
    for (node, exact) in found.nodes.iter_mut().zip(&exact.nodes) {
        check(&mut node.latency_us, &exact.latency_us);
        check(&mut node.wait_us, &exact.wait_us);
        let total = |histogram: &[u64]| histogram.iter().sum::<u64>();
        assert_eq!(total(&node.histogram.counts), total(&exact.histogram.counts));
        node.histogram = exact.histogram.clone();
    }
}

#[test]
fn flows_of_summaries_are_those_of_their_traces_but_for_what_binds() {
    let parts = [shop(300, 5), shop(200, 6)].map(|set| packed(&set));
    let first = open(&[("a.pathlight", &parts[0], 0)]);
    let mut summaries = NativePool::of_sessions(vec![first, open(&[("b.pathlight", &parts[1], 0)])]).unwrap();
    let mut traces = NativePool::of(vec![shop(300, 5), shop(200, 6)]).unwrap();
    let query = queries::FlowParents { selection: selection() };
    let (found, mut of_traces) = (summaries.run(query.clone()).unwrap(), traces.run(query).unwrap());
    // Which calls ran at one time is not in a summary.
    of_traces.iter_mut().for_each(|parent| (parent.calls_us, parent.recoverable_us) = (0, 0));
    assert!(found.len() > 5 && found.iter().any(|parent| parent.nodes > 3));
    assert_eq!(found, of_traces);
    let settings = FlowSettings::default();
    let (mut edges, mut same) = (0, 0);
    for parent in found {
        let parent = Some(Endpoint::new(parent.service, parent.operation));
        let query = queries::Flow { selection: selection(), parent, settings };
        let (mut found, of_traces) = (summaries.run(query.clone()).unwrap(), traces.run(query).unwrap());
        for (edge, exact) in found.edges.iter_mut().zip(&of_traces.edges) {
            assert!(edge.binding <= exact.binding, "a lower bound");
            edges += 1;
            same += u32::from(edge.binding == exact.binding);
            edge.binding = exact.binding;
        }
        // A summary does not know which invocations are root spans.
        found.called = of_traces.called;
        bound(&mut found, &of_traces);
        assert_eq!(found, of_traces);
    }
    assert!(2 * same > edges && edges > 20, "{same} of {edges}");
    // Of one root endpoint, whose requests have fewer invocations; and what only spans answer.
    let root = summaries.run(queries::Overview::default()).unwrap().request_types[0].kind.root.clone();
    let selection = Selection { root: RootEndpoint::Endpoint(root), ..selection() };
    let query = queries::Flow { selection: selection.clone(), parent: None, settings };
    let (mut found, of_traces) = (summaries.run(query.clone()).unwrap(), traces.run(query).unwrap());
    bound(&mut found, &of_traces);
    assert_eq!((&found.nodes, found.invocations), (&of_traces.nodes, of_traces.invocations));
    let error = summaries.run(queries::Savings { selection, settings }).unwrap_err();
    assert!(error.to_string().contains("needs the spans"), "{error}");
}

/// Makes a trace of a root that makes these calls one after the other, each of an endpoint.
fn calls(trace: u128, names: impl Iterator<Item = usize>) -> Vec<Span> {
    let mut spans = vec![span(1, 0, "root", 0, 10_000)];
    let child =
        |(name, place): (usize, u64)| span(2 + place, 1, &format!("n{name:03}"), 10 * place, 10 * place + 5);
    spans.extend(names.zip(0u64..).map(child));
    spans.into_iter().map(|span| Span { trace, ..span }).collect()
}

#[test]
fn calls_beyond_the_eighth_of_a_callee_share_a_node_and_too_many_callees_are_refused_in_words() {
    let flow = |spans: &[Span]| {
        let bytes = packed(&set_of(spans));
        let mut pool = NativePool::of_sessions(vec![open(&[("a", &bytes, 0)])]).unwrap();
        let parent = Some(Endpoint::new("root", "root"));
        let settings = FlowSettings::default();
        (
            pool.run(queries::FlowParents { selection: selection() }).unwrap()[0].clone(),
            pool.run(queries::Flow { selection: selection(), parent, settings }),
        )
    };
    let (parent, found) = flow(&calls(1, std::iter::repeat_n(1, 20)));
    let found = found.unwrap();
    assert_eq!((parent.nodes, parent.most_calls, found.repeats_kept), (9, 20, Some(8)));
    let rest = &found.nodes[8];
    assert_eq!((rest.label.as_str(), rest.latency_us.max), ("n001:n001#rest", 115));
    let (parent, found) = flow(&calls(1, 0..65));
    assert_eq!(parent.nodes, 65);
    let error = found.unwrap_err().to_string();
    assert!(error.contains("root:root makes 65 different calls") && error.contains("at most 64"), "{error}");
    // Wide only together: what each of two has goes when they are joined.
    let halves = [calls(1, 0..40), calls(2, 40..80)];
    let parts = halves.clone().map(|spans| Summary::observe(&set_of(&spans), &SummarySettings::default()));
    let [a, b] = parts;
    let joined = write(&Summary::merge(a, b).unwrap()).unwrap();
    assert_eq!(joined, packed(&set_of(&halves.concat())));
    assert!(flow(&halves.concat()).1.is_err() && flow(&halves[0]).1.is_ok());
}

#[test]
fn traces_are_judged_against_a_merged_summary_as_against_the_requests_it_keeps() {
    let parts = [(400, 5), (300, 6)].map(|(traces, seed)| packed(&shop(traces, seed)));
    let of_a = [open(&[("a", &parts[0], 0)]), open(&[("b", &parts[1], 0)])];
    let other = GenerateOptions { traces: 60, spans: 30, seed: 9, ..GenerateOptions::demo() };
    let judged = || crate::common::generated_as(&other, 1);
    let test = Selection { group: 1, ..selection() };
    let query = |settings| queries::Anomalies { train: selection(), test: test.clone(), settings };
    let sessions = of_a.into_iter().chain([Session::of(judged())]).collect();
    let mut summaries = NativePool::of_sessions(sessions).unwrap();
    let settings = AnomalySettings::default();
    let found = summaries.run(query(settings.clone())).unwrap();
    assert_eq!((found.trained, found.rows.len()), (100, 60));
    // The same requests, taken out of the traces: those with the smallest hashes.
    let both = [shop(400, 5), shop(300, 6)];
    let mut ids: Vec<(u64, TraceId)> = Vec::new();
    for set in &both {
        let keys = (0..set.traces().len() as u32).map(|trace| hash_text(&set.trace_id_text(trace)));
        ids.extend(keys.zip(set.traces()).map(|(key, trace)| (key, trace.id)));
    }
    ids.sort_by_key(|(key, _)| *key);
    let kept: Vec<TraceId> = ids.into_iter().take(100).map(|(_, id)| id).collect();
    let mut sets: Vec<TraceSet> = both.into_iter().chain([judged()]).collect();
    for set in &mut sets {
        set.retain(|trace| trace.id.group == 1 || kept.contains(&trace.id));
    }
    let mut traces = NativePool::of(sets).unwrap();
    let of_traces = traces.run(query(settings.clone())).unwrap();
    assert_eq!(found, of_traces);
    assert!(found.rows.iter().any(|row| row.nearest.is_some()));
    // Of one root endpoint only; and what needs spans says so.
    let root = summaries.run(queries::Overview::default()).unwrap().request_types[0].kind.root.clone();
    let train = Selection { root: RootEndpoint::Endpoint(root), ..selection() };
    let few =
        summaries.run(queries::Anomalies { train, test: test.clone(), settings: settings.clone() }).unwrap();
    assert!(few.trained > 5 && few.trained < 100, "{}", few.trained);
    let within = queries::Anomalies { train: selection(), test: selection(), settings: settings.clone() };
    let error = summaries.run(within).unwrap_err().to_string();
    assert!(error.contains("judging needs the spans") && error.contains("load the traces"), "{error}");
    let network = AnomalySettings { detector: Detector::Vae(VaeSettings::default()), ..settings };
    assert!(summaries.run(query(network)).unwrap_err().to_string().contains("auto-encoder"));
}

/// Returns the places of a request type: where, and the mean of normal traces and of the tail.
fn places_of(kind: &TypePlaces) -> Vec<(String, f64, f64)> {
    let where_ = |place: &PlaceChange| {
        format!("{:?}", (&place.service, &place.operation, &place.previous, &place.next, &place.gap_to))
    };
    kind.places.iter().map(|place| (where_(place), place.a_us, place.b_us)).collect()
}

/// Returns the endpoints of layer 1 or 2 with what sums tell of them.
fn layer_of(report: &DiagnosisReport, number: usize) -> Vec<(String, u64, f64, f64, f64, f64)> {
    let of = |group: &TraceGroup| {
        let root = format!("{:?} {}", group.root, group.traces);
        let times = group.endpoints.iter().map(move |times| {
            let (duration, own) = (times.duration_us.all, times.self_us.all);
            let name = format!("{root} {} {}", times.service, times.operation);
            (name, own.count, duration.mean, duration.sd, own.mean, own.sd)
        });
        times.collect::<Vec<_>>()
    };
    report.layers[number].groups.iter().flat_map(of).collect()
}

#[test]
fn a_diagnosis_of_summaries_is_that_of_their_traces_but_for_groups() {
    let parts = [shop(300, 5), shop(400, 6)].map(|set| packed(&set));
    let first = open(&[("a.pathlight", &parts[0], 0)]);
    let mut summaries = NativePool::of_sessions(vec![first, open(&[("b.pathlight", &parts[1], 0)])]).unwrap();
    let mut traces = NativePool::of(vec![shop(300, 5), shop(400, 6)]).unwrap();
    let by_root = Selection { by: GroupBy::Root, ..selection() };
    let settings = DiagnosisSettings { top: [1000, 1000, 1000, 0], ..DiagnosisSettings::default() };
    let query = |selection, settings| queries::Diagnosis { selection, settings };
    let found = summaries.run(query(by_root.clone(), settings.clone())).unwrap();
    let of_traces = traces.run(query(by_root.clone(), settings.clone())).unwrap();
    let rows = |report: &DiagnosisReport| {
        let mut rows = Vec::new();
        for row in &report.report {
            rows.push((format!("{} {}", row.service, row.operation), row.count, row.own_us, row.total_us, 0));
            rows.extend(row.types.iter().map(|kind| {
                let name = format!("{} {} {}", kind.service, kind.operation, kind.traces);
                (name, kind.count, kind.own_us, kind.total_us, kind.affected)
            }));
        }
        rows
    };
    assert!(rows(&found).len() > 30);
    assert_eq!(rows(&found), rows(&of_traces));
    assert_eq!((found.traces, found.endpoints_in_all), (of_traces.traces, of_traces.endpoints_in_all));
    assert_eq!((found.summary.unwrap().too_wide, of_traces.summary), (0, None));
    assert_eq!((found.layers.len(), of_traces.layers.len()), (2, 4));
    for number in 0..2 {
        assert_eq!(layer_of(&found, number), layer_of(&of_traces, number));
    }
    // Verdicts, parts and the slow tail, with the tail of traces where a latency bin of the summary ends.
    let (mut kinds, mut alike, mut verdicts) = (0, 0, BTreeSet::new());
    for group in &found.layers[1].groups {
        let Some(normal) = group.normal else { continue };
        let tail_permille = (1000 * normal).div_ceil(group.traces) as u32;
        assert_eq!(group.traces * u64::from(tail_permille) / 1000, normal);
        let selection =
            Selection { root: RootEndpoint::Endpoint(group.root.clone().unwrap()), ..by_root.clone() };
        let of_type = summaries.run(query(selection.clone(), settings.clone())).unwrap();
        let exact = DiagnosisSettings { tail_permille, ..settings.clone() };
        let of_traces = traces.run(query(selection, exact)).unwrap();
        assert_eq!(of_type.tail.types.len(), 1);
        assert_eq!(places_of(&of_type.tail.types[0]), places_of(&of_traces.tail.types[0]));
        for (a, b) in of_type.report.iter().zip(&of_traces.report) {
            let (a, b) = (&a.types[0], &b.types[0]);
            assert_eq!((a.verdict, a.tail_ratio), (b.verdict, b.tail_ratio));
            verdicts.insert(format!("{:?}", a.verdict));
            kinds += 1;
            // Traces of one shape are recognised by its positions, those of a summary never; parts make up all own time.
            if !a.verdict.is_of_tail() {
                assert_eq!(a.spans.iter().map(|span| span.total_us).sum::<u128>(), a.total_us);
                alike += 1;
            }
        }
    }
    assert!(kinds > 50 && alike > 10 && verdicts.len() > 1, "{kinds} {alike} {verdicts:?}");
    let error = summaries.run(queries::AggregateTraces {
        selection: selection(),
        settings,
        wanted: Aggregates::One(0),
    });
    assert!(error.unwrap_err().to_string().contains("load the traces"));
}

#[test]
fn a_diagnosis_of_a_summary_says_what_it_does_not_tell_apart() {
    let diagnosis = |spans: &[Span]| {
        let mut pool = NativePool::of_sessions(vec![open(&[("a", &packed(&set_of(spans)), 0)])]).unwrap();
        let query = queries::Diagnosis { selection: selection(), settings: DiagnosisSettings::default() };
        pool.run(query).unwrap()
    };
    // 63 calls in turn have 64 parts: before, between and after them.
    let spans_of = |report: &DiagnosisReport| {
        let root = report.report.iter().find(|row| row.operation == "root").unwrap();
        root.types[0].spans_in_all
    };
    let found = diagnosis(&calls(1, 0..63));
    assert_eq!((found.summary.unwrap().too_wide, spans_of(&found)), (0, 64));
    let found = diagnosis(&calls(1, 0..64));
    assert_eq!((found.summary.unwrap().too_wide, spans_of(&found)), (1, 0));
    assert!(of_summary(&found)[1].starts_with("1 endpoint with more than 64 parts"));
    // Wide only together, in any order.
    let halves = [calls(1, 0..40), calls(2, 40..80)];
    let [a, b] = halves.clone().map(|spans| Summary::observe(&set_of(&spans), &SummarySettings::default()));
    let joined = write(&Summary::merge(b, a).unwrap()).unwrap();
    assert_eq!(joined, packed(&set_of(&halves.concat())));
    assert_eq!(spans_of(&diagnosis(&halves.concat())), 0);
    // Spans without their parent have no shape.
    let mut lost = calls(1, 0..2);
    lost.extend([span(90, 89, "lost", 0, 10)].map(|span| Span { trace: 1, ..span }));
    lost.extend(calls(2, 0..2));
    let found = diagnosis(&lost);
    assert_eq!((found.traces, found.has_orphans), (1, 1));
}

#[test]
fn summaries_joined_from_files_are_that_of_all_their_traces() {
    // More than the 100 requests that are kept, in files of which some keep none of them.
    let all = generated(&GenerateOptions { traces: 900, spans: 10, seed: 3, ..GenerateOptions::demo() });
    let parts = (0..30u32).map(|part| {
        let mut set = TraceSet::new();
        let own = (0..all.traces().len() as u32).filter(|trace| trace % 30 == part);
        Portable::copy(&all, own).add_to(&mut set).unwrap();
        set.seal().unwrap();
        packed(&set)
    });
    let parts: Vec<Vec<u8>> = parts.collect();
    let join = |parts: &mut dyn Iterator<Item = &Vec<u8>>| {
        let mut sum = Merger::default();
        parts.for_each(|part| sum.add(read(part).unwrap()).unwrap());
        write(&sum.finish().unwrap()).unwrap()
    };
    let whole = packed(&all);
    assert_eq!(join(&mut parts.iter()), whole);
    let groups = [join(&mut parts[..7].iter()), join(&mut parts[7..].iter().rev())];
    assert_eq!(join(&mut groups.iter().rev()), whole);
}
