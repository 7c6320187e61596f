//! Times by weight are those of a set that holds each trace as often as it stands for.

use crate::EngineError;
use crate::endpoints::impact_query::Impact;
use crate::flame::query::CriticalPath;
use crate::requests::{PercentileRange, Selection};
use crate::run::native::NativePool;
use pathlight_base::statistics::Random;
use pathlight_trace::{Flags, RawSpan, SpanId, SpanKind, TraceId, TraceSet};

/// A trace: its weight, and start, end, parent and service of each span.
type Trace = (u64, Vec<(u64, u64, u64, &'static str)>);

fn traces(random: &mut Random) -> Vec<Trace> {
    let mut all = Vec::new();
    for _ in 0..1 + random.below(12) {
        let end = 100 + random.below(200);
        let mut spans = vec![(0, end, 0, "gate")];
        for _ in 0..random.below(4) {
            let from = random.below(90);
            let to = from + 1 + random.below(end - from - 1);
            spans.push((from, to, 1, ["cart", "pay", "gate"][random.below(3) as usize]));
        }
        all.push((1 + random.below(5), spans));
    }
    all
}

/// Adds traces; each once with its weight, to which digits are appended, or as often as it stands for.
fn add(sets: &mut [TraceSet], traces: &[Trace], is_repeated: bool, digits: &str) -> Result<(), EngineError> {
    let mut id = 0u64;
    for (weight, spans) in traces {
        for _ in 0..if is_repeated { *weight } else { 1 } {
            id += 1;
            let at = id as usize % sets.len();
            let set = &mut sets[at];
            for (number, &(from, to, parent, service)) in (1..).zip(spans) {
                set.tags.begin();
                if !is_repeated {
                    set.tags.add("SampleRate", &format!("{weight}{digits}"));
                }
                let span = RawSpan {
                    id: SpanId::hex(number),
                    parent: SpanId::hex(parent),
                    start_us: 1000 * id + from,
                    duration_us: to - from,
                    operation: set.names.intern("get"),
                    tags: set.tags.finish(),
                    process: set.process(service, "", Default::default()),
                    flags: Flags::of_kind(SpanKind::Server),
                };
                set.stage(TraceId::hex(u128::from(id)), span)?;
            }
        }
    }
    Ok(())
}

fn pool(traces: &[Trace], workers: usize, is_repeated: bool) -> Result<NativePool, EngineError> {
    let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
    add(&mut sets, traces, is_repeated, "")?;
    NativePool::of(sets)
}

/// Returns the traces with weights that are no integers.
fn uneven(traces: &[Trace], workers: usize) -> Result<NativePool, EngineError> {
    let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
    add(&mut sets, traces, false, ".37")?;
    NativePool::of(sets)
}

#[test]
fn times_by_weight_are_those_of_so_many_traces() -> Result<(), EngineError> {
    let mut random = Random::new(6, 0, 0);
    for case in 0..60 {
        let traces = traces(&mut random);
        let mut sampled = pool(&traces, 1 + case % 3, false)?;
        let mut full = pool(&traces, 2, true)?;
        let selection = Selection { over_all: true, ..Selection::default() };
        let path = CriticalPath { selection: selection.clone() };
        let (found, wanted) = (sampled.run(path.clone())?, full.run(path.clone())?);
        assert_eq!(found.endpoints, wanted.endpoints);
        assert_eq!(found.facts.latency_sum_us, wanted.facts.latency_sum_us);
        // Of equal weights percentiles and means are those of weight 1, which is another interpolation.
        let are_equal = traces.iter().all(|(weight, _)| *weight == traces[0].0);
        for (node, of) in found.nodes.iter().zip(&wanted.nodes) {
            let sums = |node: &super::ContextNode| {
                (node.parent, node.exclusive_us.sum, node.inclusive_us.sum, node.subtree_us)
            };
            assert_eq!(sums(node), sums(of), "{traces:?}");
            assert_eq!(node.exclusive_us.mean, of.exclusive_us.mean, "{traces:?}");
            let mut with: Vec<u64> = Vec::new();
            for (weight, spans) in &traces {
                let name = &found.endpoints[node.endpoint.index()].service;
                with.extend(spans.iter().any(|span| span.3 == name).then_some(*weight));
            }
            if !are_equal && with.windows(2).any(|two| two[0] != two[1]) && node.parent.is_none() {
                assert_eq!(
                    (node.exclusive_us, node.inclusive_us),
                    (of.exclusive_us, of.inclusive_us),
                    "{traces:?}"
                );
            }
        }
        let impact = Impact { selection: selection.clone() };
        let (found, wanted) = (sampled.run(impact.clone())?, full.run(impact)?);
        let rows = |report: &crate::endpoints::ImpactReport| {
            let row = |row: &crate::endpoints::ImpactRow| {
                (
                    row.endpoint,
                    row.exclusive_us,
                    row.interior_us,
                    row.is_interior,
                    report.share(row).to_bits(),
                )
            };
            let roots = report.roots.iter().map(|root| (root.endpoint, root.latency_us));
            (report.rows.iter().map(row).collect::<Vec<_>>(), roots.collect::<Vec<_>>())
        };
        assert_eq!(rows(&found), rows(&wanted), "{traces:?}");
        // Without weights it is as if no trace said anything.
        let ones: Vec<Trace> = traces.iter().map(|(_, spans)| (1, spans.clone())).collect();
        let once = Selection { unweighted: true, ..selection.clone() };
        let (off, plain) =
            (sampled.run(CriticalPath { selection: once.clone() })?, pool(&ones, 1, true)?.run(path)?);
        assert_eq!(off.nodes, plain.nodes);
        let (off, plain) =
            (sampled.run(Impact { selection: once })?, pool(&ones, 1, true)?.run(Impact { selection })?);
        assert_eq!((off.rows, off.roots), (plain.rows, plain.roots));
    }
    Ok(())
}

#[test]
fn neither_workers_nor_ranges_change_times_by_weight() -> Result<(), EngineError> {
    let mut random = Random::new(9, 0, 0);
    for _ in 0..20 {
        let traces = traces(&mut random);
        let range = PercentileRange::open(random.below(60_000) as u32, 100_000);
        let path = CriticalPath { selection: Selection::default().with_range(range) };
        let impact = Impact { selection: Selection::default().with_range(range) };
        let (mut one, mut many) = (uneven(&traces, 1)?, uneven(&traces, 4)?);
        let report = one.run(path.clone())?;
        assert_eq!(many.run(path)?, report);
        let endpoints = one.run(impact.clone())?;
        assert_eq!(many.run(impact)?, endpoints);
        // Rounded parts add up to the whole.
        let sum_us: u128 = endpoints.rows.iter().map(|row| row.exclusive_us).sum();
        assert_eq!(sum_us, endpoints.facts.latency_sum_us);
        let roots = report.nodes.iter().filter(|node| node.parent.is_none());
        assert_eq!(roots.map(|node| node.subtree_us).sum::<u128>(), report.facts.latency_sum_us);
    }
    Ok(())
}
