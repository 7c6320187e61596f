//! The rules for real traces (`docs/definitions/real-traces.md`) on generated traces with a defect: what is found is what
//! the same traces have without it.

use super::real_traces::only;
use crate::common::generated;
use pathlight::base::statistics::Percentiles;
use pathlight::engine::diagnosis::DiagnosisSettings;
use pathlight::engine::flame::{PathFinder, RequestNode, waits_of};
use pathlight::engine::flow::SavedAt;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::queries;
use pathlight::engine::queues::QueueEdge;
use pathlight::engine::requests::{Selection, Until};
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{Defects, GenerateOptions, GeneratedSpan, GeneratedTrace, Generator};
use pathlight::trace::calls::{callee, process_of};
use pathlight::trace::{
    Endpoint, NO_ROW, Overlap, PathSettings, PlaceFacts, Quality, RawSpan, Reading, ReadingRule, SpanKind,
    TraceRow, TraceSet, Tree,
};
use std::collections::{BTreeMap, BTreeSet};

/// Returns the exclusive time on the path of the trace root by span id, in microseconds, for every trace by id.
fn paths(defects: Defects, reading: Reading) -> BTreeMap<String, BTreeMap<String, u64>> {
    let options = GenerateOptions { traces: 300, spans: 40, defects, ..GenerateOptions::default() };
    let set = generated(&options);
    let (mut tree, mut finder) = (Tree::default(), PathFinder::default());
    (0..set.traces().len() as u32)
        .map(|trace| {
            tree.load(&set, trace, PathSettings { reading, ..PathSettings::default() });
            finder.find(&set, &tree, 0, Overlap::default());
            let own = finder.entries().iter();
            let own = own.map(|entry| (set.span_id_text(tree.row(entry.span)), entry.exclusive_us));
            (set.trace_id_text(trace), own.collect())
        })
        .collect()
}

/// Returns how many traces of a defect have the path of the clean trace, read plainly and with one rule, of how many.
fn alike(defects: Defects, rule: ReadingRule) -> (usize, usize, usize) {
    // Clean traces have clocks that differ a little.
    let same = |reading| {
        let (clean, found) = (paths(Defects::default(), reading), paths(defects, reading));
        assert_eq!((clean.len(), found.len()), (300, 300));
        clean.iter().filter(|(trace, path)| found[*trace] == **path).count()
    };
    (same(Reading::PLAIN), same(only(rule).with(ReadingRule::Clocks, true)), 300)
}

#[test]
fn overlays_do_not_change_the_path_of_generated_traces() {
    let (plain, real, all) = alike(Defects { overlay: true, ..Defects::default() }, ReadingRule::Overlay);
    assert!(plain < all * 9 / 10, "read plainly, {plain} of {all} are right");
    assert_eq!(real, all);
}

#[test]
fn forgotten_work_does_not_change_the_path_of_generated_traces() {
    let (plain, real, all) =
        alike(Defects { fire_and_forget: true, ..Defects::default() }, ReadingRule::NobodyWaits);
    assert!(plain < all / 2, "read plainly, {plain} of {all} are right");
    assert_eq!(real, all);
}

#[test]
fn wrong_clocks_do_not_change_which_spans_of_generated_traces_are_on_the_path() {
    let spans = |reading| {
        let paths = paths(Defects { skew: true, ..Defects::default() }, reading).into_values();
        paths.map(|path| path.into_keys().collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    let clean = paths(Defects::default(), only(ReadingRule::Clocks)).into_values();
    let clean: Vec<Vec<String>> = clean.map(|path| path.into_keys().collect()).collect();
    let same = |reading| spans(reading).iter().zip(&clean).filter(|(found, clean)| found == clean).count();
    let (plain, real) = (same(Reading::PLAIN), same(only(ReadingRule::Clocks)));
    assert!(plain < 150, "read plainly, {plain} of 300 are right");
    // A shift of up to 1 ms is not applied: such a callee is cut, and may lose what stands at its end.
    assert!(real >= 285, "{real} of 300 are right");
}

/// Returns how far the time of each span on the path may be from that in the clean trace, by id, in microseconds:
/// clocks are known up to the interval of offsets that puts all callees of a pair of processes into their calls.
fn allowed(set: &TraceSet, tree: &Tree) -> BTreeMap<String, u64> {
    let process = |span| process_of(set, tree.row(span));
    let mut calls: Vec<(u32, u32)> =
        (0..tree.len() as u32).filter_map(|call| Some((call, callee(set, tree, call)?))).collect();
    calls.retain(|&(call, callee)| process(call) != process(callee));
    let mut offsets: BTreeMap<_, (i64, i64)> = BTreeMap::new();
    for &(call, callee) in &calls {
        let (from, to) = offsets.entry((process(call), process(callee))).or_insert((i64::MIN, i64::MAX));
        let (call, callee) = (tree.row(call), tree.row(callee));
        let start = set.start_us(call) as i64 - set.start_us(callee) as i64;
        let end = start + set.duration_us(call) as i64 - set.duration_us(callee) as i64;
        // A callee that is longer than its call says nothing.
        if start <= end {
            (*from, *to) = ((*from).max(start), (*to).min(end));
        }
    }
    let mut allowed = BTreeMap::new();
    for &(call, callee) in &calls {
        let (from, to) = offsets[&(process(call), process(callee))];
        let width = from.abs_diff(to);
        for span in [call, callee] {
            let id = set.span_id_text(tree.row(span));
            let most = allowed.entry(id).or_insert(0);
            *most = width.max(*most);
        }
    }
    allowed
}

#[test]
fn wrong_clocks_change_times_on_the_path_by_no_more_than_is_unknown_of_them() {
    let defects = Defects { skew: true, ..Defects::default() };
    let reading = only(ReadingRule::Clocks);
    let (clean, found) = (paths(Defects::default(), reading), paths(defects, reading));
    let set = generated(&GenerateOptions { traces: 300, spans: 40, defects, ..GenerateOptions::default() });
    let mut tree = Tree::default();
    let (mut all, mut equal, mut within, mut beyond) = (0, 0, 0, Vec::new());
    for trace in 0..set.traces().len() as u32 {
        tree.load(&set, trace, PathSettings { reading, ..PathSettings::default() });
        let id = set.trace_id_text(trace);
        let allowed = allowed(&set, &tree);
        for (span, us) in &found[&id] {
            let Some(clean_us) = clean[&id].get(span) else { continue };
            let off_us = us.abs_diff(*clean_us);
            all += 1;
            // A shift of up to 1 ms is not applied.
            match allowed.get(span).copied().unwrap_or(0).max(1_000) {
                _ if off_us == 0 => equal += 1,
                most if off_us <= most => within += 1,
                most => beyond.push((off_us - most, off_us, id.clone(), span.clone())),
            }
        }
    }
    beyond.sort();
    println!(
        "of {all} spans {equal} have the time of the clean trace, {within} are within the interval of offsets"
    );
    println!("{} are beyond it, by {:?}", beyond.len(), beyond.last());
    assert!(beyond.is_empty(), "{beyond:?}");
}

#[test]
fn the_real_reading_finds_the_path_of_the_clean_trace_under_each_defect() {
    let none = Defects::default();
    let clean = paths(none, Reading::real());
    for defects in [
        Defects { overlay: true, ..none },
        Defects { fire_and_forget: true, ..none },
        Defects { generic_names: true, ..none },
        Defects { ids_in_names: true, ..none },
    ] {
        let found = paths(defects, Reading::real());
        let same = clean.iter().filter(|(trace, path)| found[*trace] == **path).count();
        assert_eq!((same, found.len()), (300, 300), "{defects:?}");
    }
}

#[test]
fn flame_graph_and_ranking_of_the_real_reading_are_those_of_the_clean_traces() {
    let report = |defects, reading| {
        let options = GenerateOptions { traces: 300, spans: 40, defects, ..GenerateOptions::default() };
        let mut pool = NativePool::of(vec![generated(&options)]).unwrap();
        let selection = Selection { reading, ..Selection::default() };
        let flame = pool.run(queries::CriticalPath { selection: selection.clone() }).unwrap();
        let frames: Vec<_> = (flame.nodes.iter())
            .map(|node| (flame.name(node.endpoint).1.to_owned(), node.parent, node.exclusive_us.sum))
            .collect();
        let ranking = pool.run(queries::Impact { selection }).unwrap();
        let rows = ranking.rows.iter().map(|row| (ranking.name(row.endpoint).1.to_owned(), row.exclusive_us));
        (frames, rows.collect::<Vec<_>>())
    };
    let none = Defects::default();
    let clean = report(none, Reading::real());
    for defects in [Defects { overlay: true, ..none }, Defects { fire_and_forget: true, ..none }] {
        assert!(report(defects, Reading::real()) == clean, "{defects:?}");
        assert!(report(defects, Reading::PLAIN) != clean, "{defects:?}");
    }
}

#[test]
fn waiting_in_generated_traces_is_what_their_queues_take() {
    // The generator hides a part of what callees do before and after all that they call.
    let set = |queues| {
        let defects = Defects { queues, ..Defects::default() };
        generated(&GenerateOptions { traces: 300, spans: 40, defects, ..GenerateOptions::default() })
    };
    let durations = |set: &TraceSet| -> BTreeMap<(String, String), u64> {
        let trace_of = |row: u32| set.traces().partition_point(|trace| trace.end <= row) as u32;
        let key = |row| (set.trace_id_text(trace_of(row)), set.span_id_text(row));
        (0..set.spans() as u32).map(|row| (key(row), set.duration_us(row))).collect()
    };
    let (clean, queued) = (set(false), set(true));
    let (before, after) = (durations(&clean), durations(&queued));
    let waits = |set: &TraceSet| -> BTreeMap<String, (u64, u64)> {
        let (mut tree, mut finder) = (Tree::default(), PathFinder::default());
        let mut by_trace = BTreeMap::new();
        for trace in 0..set.traces().len() as u32 {
            tree.load(set, trace, PathSettings::default());
            finder.find(set, &tree, 0, Overlap::default());
            let hidden = finder.entries().iter().map(|entry| {
                let key = (set.trace_id_text(trace), set.span_id_text(tree.row(entry.span)));
                before[&key] - after[&key]
            });
            let hidden = hidden.sum::<u64>();
            let waits = waits_of(set, &tree, &finder);
            by_trace.insert(set.trace_id_text(trace), (waits.iter().map(|wait| wait.us).sum(), hidden));
        }
        by_trace
    };
    let (without, with) = (waits(&clean), waits(&queued));
    let right = with.iter().filter(|(trace, (us, hidden))| *us == without[*trace].0 + hidden && *hidden > 0);
    let right = right.count();
    // Clean traces have clocks that differ a little: where a callee is cut, a part of what was hidden was not seen before.
    assert!(right >= 250, "{right} of 300 traces wait for what was hidden");
    // Only said: every number that it is part of is the same.
    let report = |reading| {
        let mut pool = NativePool::of(vec![set(true)]).unwrap();
        let selection = Selection { reading, ..Selection::default() };
        let mut report = pool.run(queries::CriticalPath { selection }).unwrap();
        for node in &mut report.nodes {
            assert!(node.waiting.iter().map(|wait| wait.us).sum::<u128>() <= node.exclusive_us.sum);
            node.waiting.clear();
        }
        report
    };
    assert!(report(Reading::real()) == report(Reading::real().with(ReadingRule::Waiting, false)));
}

/// What views say of generated traces.
struct Said {
    /// Of the flow of the endpoint with the most requests, as labels.
    edges: Vec<(String, String)>,
    /// By endpoint, if some of its work takes part in a latency.
    saved: Vec<(Endpoint, SavedAt)>,
    /// The first endpoints of the diagnosis with their own time in microseconds.
    blamed: Vec<(Endpoint, u128)>,
}

fn said(defects: Defects, reading: Reading) -> Said {
    let options = GenerateOptions { traces: 300, spans: 40, defects, ..GenerateOptions::default() };
    let mut pool = NativePool::of(vec![generated(&options)]).unwrap();
    let selection = Selection { reading, ..Selection::default() };
    let settings = FlowSettings::default();
    let roots = pool.run(queries::Impact { selection: selection.clone() }).unwrap();
    // Neither its name nor its place among the others changes with the names of the rest.
    let mut parents = roots.roots.iter().map(|root| &roots.endpoints[root.endpoint.index()]);
    let first = parents.next();
    let parent =
        first.into_iter().chain(parents).find(|root| root.operation == "POST /checkout").or(first).cloned();
    let flow = pool.run(queries::Flow { selection: selection.clone(), parent, settings }).unwrap();
    let savings = pool.run(queries::Savings { selection: selection.clone(), settings }).unwrap();
    let saved = savings.endpoints.iter().map(|of| (Endpoint::new(&of.service, &of.operation), of.saved_us));
    let query = queries::Diagnosis { selection, settings: DiagnosisSettings::default() };
    let diagnosis = pool.run(query).unwrap();
    let blamed = diagnosis.report.iter();
    Said {
        edges: flow.edges.iter().map(|edge| flow.labels(edge).map(str::to_owned).into()).collect(),
        saved: saved.filter(|of| of.1.faster_50.mean > 0.0).collect(),
        blamed: blamed.map(|of| (Endpoint::new(&of.service, &of.operation), of.total_us)).collect(),
    }
}

#[test]
fn flow_what_if_and_diagnosis_of_the_real_reading_are_those_of_the_clean_traces() {
    let none = Defects::default();
    let clean = said(none, Reading::real());
    for defects in [Defects { overlay: true, ..none }, Defects { fire_and_forget: true, ..none }] {
        let (found, plain) = (said(defects, Reading::real()), said(defects, Reading::PLAIN));
        assert_eq!(found.edges, clean.edges, "flow under {defects:?}");
        assert_eq!(found.saved, clean.saved, "what-if under {defects:?}");
        assert_ne!(plain.saved, clean.saved, "what-if read plainly under {defects:?}");
        // What was added takes time of its own; what it was added to is blamed as before.
        let added = ["FilteringWebHandler.handle", "flush"];
        let of_clean = |rows: &[(Endpoint, u128)]| -> Vec<(Endpoint, u128)> {
            rows.iter().filter(|row| !added.contains(&row.0.operation.as_str())).cloned().collect()
        };
        assert_eq!(of_clean(&found.blamed)[..5], clean.blamed[..5], "diagnosis under {defects:?}");
        assert_ne!(plain.blamed[..5], clean.blamed[..5], "diagnosis read plainly under {defects:?}");
    }
}

/// Returns what each span of generated traces is called under the real reading, by trace and span.
fn names_of_spans(defects: Defects) -> Vec<Endpoint> {
    let mut set =
        generated(&GenerateOptions { traces: 300, spans: 40, defects, ..GenerateOptions::default() });
    let names = PlaceFacts::of(&set).names(Reading::real());
    set.name_places(Some(&names), false);
    let name = |row| {
        let (service, operation) = set.endpoint_name(set.endpoint(row));
        Endpoint::new(service, operation)
    };
    let id = |trace: &TraceRow, row: &u32| (trace.id.bits, set.span_id_text(*row));
    let mut rows: Vec<_> =
        (set.traces().iter()).flat_map(|trace| trace.rows().map(move |row| (id(trace, &row), row))).collect();
    rows.sort();
    rows.into_iter().map(|(_, row)| name(row)).collect()
}

/// Names are all that differ. Endpoints that are one endpoint in both readings have the same numbers; calls that share a
/// name (two of one database) and servers with too few requests for a template cannot.
#[test]
fn flow_what_if_and_diagnosis_do_not_depend_on_what_calls_and_routes_are_called() {
    let none = Defects::default();
    let (clean, recorded) = (said(none, Reading::real()), names_of_spans(none));
    for defects in [Defects { generic_names: true, ..none }, Defects { ids_in_names: true, ..none }] {
        let found = said(defects, Reading::real());
        let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
        for (from, to) in recorded.iter().zip(&names_of_spans(defects)) {
            there.entry(from.clone()).or_insert_with(BTreeSet::new).insert(to.clone());
            back.entry(to.clone()).or_insert_with(BTreeSet::new).insert(from.clone());
        }
        let one = |from: &Endpoint| -> Option<Endpoint> {
            let to = there.get(from)?.first().filter(|_| there[from].len() == 1)?;
            (back[to].len() == 1).then(|| to.clone())
        };
        let renamed = there.keys().filter(|from| one(from).is_some_and(|to| to != **from)).count();
        let mut compared = [0, 0];
        for (endpoint, saved) in clean.saved.iter().filter_map(|(from, saved)| Some((one(from)?, saved))) {
            let same = found.saved.iter().find(|of| of.0 == endpoint).map(|of| &of.1);
            assert_eq!(same, Some(saved), "what-if of {endpoint:?} under {defects:?}");
            compared[0] += 1;
        }
        for (endpoint, us) in clean.blamed.iter().filter_map(|(from, us)| Some((one(from)?, us))) {
            if let Some((_, same)) = found.blamed.iter().find(|of| of.0 == endpoint) {
                assert_eq!(same, us, "diagnosis of {endpoint:?} under {defects:?}");
                compared[1] += 1;
            }
        }
        // What is one endpoint in both readings is also one node, and waits for the same.
        let words = |of: &Endpoint| format!("{}:{}", of.service, of.operation);
        let label = |label: &str| match there.keys().find(|from| words(from) == label) {
            Some(from) => one(from).map(|to| words(&to)),
            None => Some(label.to_owned()),
        };
        let edges = clean.edges.iter().filter_map(|(from, to)| Some((label(from)?, label(to)?)));
        let edges: BTreeSet<_> = edges.collect();
        let found_edges: BTreeSet<_> = found.edges.iter().cloned().collect();
        println!(
            "{renamed} of {} endpoints renamed; compared: {} in what-if, {} in the diagnosis; {} of {} edges",
            there.len(),
            compared[0],
            compared[1],
            edges.intersection(&found_edges).count(),
            edges.len()
        );
        assert!(renamed >= 5 && compared[0] >= 10 && compared[1] >= 3);
        // A server and its call that share a name are one parent in the clean traces, and two where calls have other names.
        if defects.ids_in_names {
            assert!(edges.len() >= 2 && edges.is_subset(&found_edges), "{edges:?} of {found_edges:?}");
        }
    }
}

/// Returns generated traces without the spans that `keep` refuses, the others changed.
fn rewritten(keep: impl Fn(&RawSpan) -> bool, change: impl Fn(&mut RawSpan)) -> (TraceSet, TraceSet) {
    let clean = generated(&GenerateOptions { traces: 300, spans: 40, ..GenerateOptions::default() });
    let mut out = clean.without_traces();
    for trace in clean.traces() {
        let raw = trace.rows().map(|row| clean.raw(row));
        let mut raw: Vec<RawSpan> = raw.filter(&keep).collect();
        raw.iter_mut().for_each(&change);
        out.add_trace(trace.id, &mut raw).unwrap();
    }
    (clean, out)
}

#[test]
fn consumers_below_spans_written_by_hand_are_those_below_producers() {
    // What sends is of kind internal now.
    let is_sender = |span: &RawSpan| span.flags.kind() == SpanKind::Producer;
    let (clean, by_hand) = rewritten(
        |_| true,
        |span| {
            if is_sender(span) {
                span.flags.0 = span.flags.0 & !7 | SpanKind::Internal as u16;
            }
        },
    );
    let read = |set: &TraceSet, reading| {
        let (mut tree, mut quality) = (Tree::default(), Quality::default());
        let mut spans = BTreeMap::new();
        for trace in 0..set.traces().len() as u32 {
            let settings = PathSettings { reading, ..PathSettings::default() };
            tree.load_counting(set, trace, settings, &mut quality);
            for i in 0..tree.len() {
                let id = (set.trace_id_text(trace), set.span_id_text(tree.row(i as u32)));
                let role = format!("{:?}", tree.role[i]);
                spans.insert(id, (role, tree.start_us[i], tree.end_us[i]));
            }
        }
        (spans, quality)
    };
    let rule = only(ReadingRule::Consumers);
    let (expected, found) = (read(&clean, rule), read(&by_hand, rule));
    assert!(expected.1.async_spans > 100);
    assert!(expected == found);
    assert_ne!(read(&by_hand, Reading::PLAIN).0, expected.0, "read plainly");
}

#[test]
fn calls_of_a_caller_that_exports_nothing_are_what_they_were() {
    // The parentless spans are missing.
    let (clean, rootless) = rewritten(|span| !span.parent.is_none(), |_| ());
    let mut expected = Vec::new();
    for trace in clean.traces() {
        let rows = trace.rows().filter(|&row| {
            let parent = clean.parent(row);
            parent != NO_ROW && clean.parent(parent) == NO_ROW
        });
        expected.extend(rows.map(|row| clean.duration_us(row)));
    }
    expected.sort_unstable();
    let mut pool = NativePool::of(vec![rootless]).unwrap();
    let report = pool.run(queries::PerRequest { selection: Selection::default() }).unwrap();
    let mut found: Vec<u64> = report.requests.iter().map(|request| request.latency_us).collect();
    found.sort_unstable();
    assert!(found.len() > 300);
    assert_eq!(found, expected);
}

/// By sender and receiver: how long messages wait, sorted, and the most that are received at once.
type Edges = BTreeMap<(&'static str, &'static str), (Vec<u64>, u32)>;

/// Returns the messages that generated traces have received, and how many links lead to nothing.
fn messages(options: &GenerateOptions) -> (Edges, u64) {
    let generator = Generator::new(options).unwrap();
    let mut edges: BTreeMap<_, (Vec<u64>, u32)> = BTreeMap::new();
    let mut lost = 0;
    for trace in (0..options.traces).map(|index| generator.trace(index)) {
        lost += trace.lost_senders;
        for message in trace.messages {
            let edge = edges.entry((message.sender, message.receiver)).or_default();
            edge.0.push(message.wait_us);
            edge.1 = edge.1.max(message.fan_in);
        }
    }
    edges.values_mut().for_each(|edge| edge.0.sort_unstable());
    (edges, lost)
}

#[test]
fn messages_of_generated_traces_wait_as_long_as_they_were_made_to() {
    let defects = Defects { messages: true, ..Defects::default() };
    for seed in 1..=20 {
        let options = GenerateOptions { traces: 300, spans: 20, seed, defects, ..GenerateOptions::default() };
        let mut pool = NativePool::of(vec![generated(&options)]).unwrap();
        let report = pool.run(queries::Queues { selection: Selection::default() }).unwrap();
        let (expected, lost) = messages(&options);
        assert_eq!(expected.len(), 3);
        for ((sender, receiver), (waits_us, most_fan_in)) in expected {
            let is_it =
                |edge: &&QueueEdge| edge.sender.operation == sender && edge.receiver.operation == receiver;
            let found: Vec<&QueueEdge> = report.edges.iter().filter(is_it).collect();
            let [edge] = found.as_slice() else { panic!("{} edges of {sender}", found.len()) };
            assert_eq!(edge.wait_us, Percentiles::of_sorted(&waits_us), "seed {seed}: {sender}");
            assert_eq!((edge.most_fan_in, edge.early), (most_fan_in, 0));
            // Some wait for more than a minute; most of those that are received below their sender do not.
            assert!(edge.wait_us.max > 60_000_000, "seed {seed}: {sender}");
            assert!(sender != "events publish" || edge.wait_us.p50 < 1e6, "seed {seed}");
        }
        assert_eq!(report.lost_senders, lost);
        assert!(lost > 0);
    }
}

/// Returns by trace id when the request of its root was answered and when all was done that it leads to, in microseconds from
/// its start; with the operation of what is done last, how long its message waits, and how long it takes.
fn done_at(options: &GenerateOptions) -> BTreeMap<u64, (u64, u64, &'static str, u64, u64)> {
    let generator = Generator::new(options).unwrap();
    let traces: Vec<_> = (0..options.traces).map(|index| generator.trace(index)).collect();
    let is_async = |span: &&GeneratedSpan| {
        span.kind == SpanKind::Consumer || span.parent.is_some_and(|parent| parent.follows_from)
    };
    let received = traces.iter().flat_map(|trace| &trace.spans).filter(is_async);
    let of_trace = |trace: &GeneratedTrace| {
        let root = &trace.spans[0];
        let answered_us = root.start_us + root.duration_us;
        let mut last = (answered_us, root.operation, 0, root.duration_us);
        for handle in received.clone() {
            let sent = trace.spans.iter().find(|span| {
                let parent = handle.parent.as_ref().map(|parent| parent.span_id);
                parent == Some(span.span_id) || handle.links.contains(&(trace.trace_id, span.span_id))
            });
            let Some(sent) = sent else { continue };
            let done_us = handle.start_us + handle.duration_us;
            let wait_us = handle.start_us.saturating_sub(sent.start_us + sent.duration_us);
            if done_us > last.0 {
                last = (done_us, handle.operation, wait_us, handle.duration_us);
            }
        }
        let (done_us, operation, wait_us, own_us) = last;
        (trace.trace_id, (answered_us - root.start_us, done_us - root.start_us, operation, wait_us, own_us))
    };
    traces.iter().map(of_trace).collect()
}

#[test]
fn requests_of_generated_traces_are_done_when_they_were_made_to_be() {
    let defects = Defects { messages: true, ..Defects::default() };
    for seed in 1..=20 {
        let options = GenerateOptions { traces: 60, spans: 20, seed, defects, ..GenerateOptions::default() };
        let mut pool = NativePool::of(vec![generated(&options)]).unwrap();
        let selection = Selection { until: Until::Done, ..Selection::default() };
        let report = pool.run(queries::PerRequest { selection }).unwrap();
        assert_eq!(report.facts.cut, 0);
        let by_root: BTreeMap<(&str, &str), _> =
            report.requests.iter().map(|path| ((&*path.trace_id, &*path.nodes[0].operation), path)).collect();
        let (mut later, mut queued) = (0, 0);
        for (trace, (answer_us, done_us, operation, wait_us, own_us)) in done_at(&options) {
            let id = format!("{trace:032x}");
            let of_trace =
                by_root.range((&*id, "")..).filter(|(key, _)| key.0 == id && key.1 != "orders handle");
            let (_, path) = of_trace.into_iter().next().unwrap();
            assert_eq!(path.latency_us, done_us, "seed {seed}: {id}");
            if done_us == answer_us {
                continue;
            }
            later += 1;
            let is_last = |node: &&RequestNode| node.operation == operation && node.inclusive_us == own_us;
            assert!(path.nodes.iter().any(|node| is_last(&node)), "seed {seed}: {id}");
            let queue = path.segments.iter().rev().find(|segment| segment.queue.is_some());
            if wait_us > 0 {
                queued += 1;
                assert_eq!(queue.map(|of| of.end_us - of.start_us), Some(wait_us), "seed {seed}: {id}");
            }
        }
        assert!(later > 40 && queued > 30, "seed {seed}: {later}, {queued}");
    }
}
