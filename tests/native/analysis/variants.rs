//! Variants of an endpoint's flow, in traces of which it is known what decides them.

use crate::common::stored::read_generated;
use crate::common::{Span, set_of, span, stage_tagged};
use pathlight::base::statistics::Random;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{Decider, FlowVariant, FlowVariantsReport};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{GenerateOptions, PairNeed, SerialPair, Shape};
use pathlight::trace::{Endpoint, TraceSet};
use pathlight::view::draw::Theme;
use pathlight::view::flow::variants;

type Tags = Vec<(&'static str, String)>;

/// Returns a sealed set of spans with these tags.
fn tagged(spans: &[(Span, Tags)]) -> TraceSet {
    let mut set = TraceSet::new();
    spans.iter().for_each(|(span, tags)| stage_tagged(&mut set, span, tags));
    set.seal().unwrap();
    set
}

fn ask(sets: Vec<TraceSet>, parent: &str) -> FlowVariantsReport {
    let parent = Some(Endpoint::new(parent, parent));
    let settings = FlowSettings::default();
    let query = queries::FlowVariants { selection: Selection::default(), parent, settings };
    NativePool::of(sets).unwrap().run(query).unwrap()
}

/// Returns the names of the calls of a variant.
fn calls(variant: &FlowVariant) -> Vec<&str> {
    variant.calls.iter().map(|call| call.callee.operation.as_str()).collect()
}

/// Returns what a decider says: `call: key=value`, `call fails` or `key=value`.
fn said(decider: &Decider) -> String {
    let call = decider.call.as_ref().map(|call| call.operation.as_str());
    match (call, &decider.tag) {
        (Some(call), Some((key, value))) => format!("{call}: {key}={value}"),
        (Some(call), None) => format!("{call} fails"),
        (None, Some((key, value))) => format!("{key}={value}"),
        (None, None) => String::new(),
    }
}

/// What a generated invocation is.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Hit,
    Miss,
    Failed,
}

/// Generates invocations of `item`: it asks `flags` and `cache` side by side; where the cache finds nothing, `db`, which fails
/// now and then: then `item` fails, too. Tags that have nothing to do with it stand everywhere. Returns how many of each there are.
fn cached(seed: u64, traces: u64) -> (Vec<(Span, Tags)>, [u64; 3]) {
    let mut random = Random::new(seed, 0, 0);
    let mut spans = Vec::new();
    let mut counts = [0; 3];
    for trace in 1..=traces {
        let kind = match random.below(100) {
            0..70 => Kind::Hit,
            70..94 => Kind::Miss,
            _ => Kind::Failed,
        };
        counts[kind as usize] += 1;
        let mut us = |median: f64| random.log_normal_us(median, 0.3);
        let (flags_us, cache_us, db_us, own_us) = (us(2_000.0), us(3_000.0), us(20_000.0), us(1_000.0));
        let asked = 100 + flags_us.max(cache_us);
        let end = if kind == Kind::Hit { asked + own_us } else { asked + 200 + db_us + own_us };
        let noise = |random: &mut Random| -> Tags {
            let tenant = format!("tenant-{}", random.below(5));
            vec![
                ("order.id", format!("o{trace}")),
                ("tenant", tenant),
                ("zone", format!("{}", random.below(2))),
            ]
        };
        let with = |mut tags: Tags, key: &'static str, value: &str| {
            tags.push((key, value.to_owned()));
            tags
        };
        let mut of_trace = vec![
            (span(1, 0, "item", 0, end), noise(&mut random)),
            (span(2, 1, "flags", 100, 100 + flags_us), noise(&mut random)),
        ];
        let hit = if kind == Kind::Hit { "true" } else { "false" };
        of_trace.push((span(3, 1, "cache", 100, 100 + cache_us), with(noise(&mut random), "cache.hit", hit)));
        if kind != Kind::Hit {
            let call = span(4, 1, "db", asked + 200, asked + 200 + db_us);
            // Every call of `db` has this tag: it says nothing.
            of_trace.push((call, with(noise(&mut random), "db.system", "postgresql")));
        }
        if kind == Kind::Failed {
            of_trace.iter_mut().filter(|of| [1, 4].contains(&of.0.id)).for_each(|of| of.0.error = true);
        }
        of_trace.iter_mut().for_each(|of| of.0.trace = u128::from(trace));
        spans.extend(of_trace);
    }
    (spans, counts)
}

#[test]
fn hit_miss_and_error_are_found_counted_and_decided_by_what_the_calls_answer() {
    for seed in 0..5 {
        let (spans, [hit, miss, failed]) = cached(seed, 600);
        let report = ask(vec![tagged(&spans)], "item");
        assert_eq!((report.invocations, report.others, report.other_invocations), (600, 0, 0));
        let found: Vec<_> =
            report.variants.iter().map(|of| (of.invocations, of.is_error, calls(of))).collect();
        assert_eq!(
            found,
            [
                (hit, false, vec!["cache", "flags"]),
                (miss, false, vec!["cache", "db", "flags"]),
                (failed, true, vec!["cache", "db", "flags"]),
            ]
        );
        let first: Vec<String> = report.variants.iter().map(|of| said(&of.deciders[0])).collect();
        assert_eq!(first, ["cache: cache.hit=true", "cache: cache.hit=false", "db fails"], "seed {seed}");
        // Nothing else goes with them: neither what only a miss calls, nor any tag by chance.
        for variant in &report.variants {
            let all: Vec<String> = variant.deciders.iter().map(said).collect();
            let may_be = ["cache: cache.hit=true", "cache: cache.hit=false", "db fails"];
            assert!(all.iter().all(|said| may_be.contains(&said.as_str())), "{all:?}");
        }
        let of_miss = &report.variants[1].deciders[0];
        assert_eq!((of_miss.here, of_miss.of_here), (miss, miss));
        assert_eq!((of_miss.elsewhere, of_miss.of_elsewhere), (failed, hit + failed));
        // Each flow is that of its invocations alone.
        let nodes: Vec<usize> = report.variants.iter().map(|of| of.flow.nodes.len()).collect();
        assert_eq!(nodes, [2, 3, 3]);
        let flow = &report.variants[1].flow;
        assert_eq!(flow.invocations, miss);
        let edges: Vec<[&str; 2]> = flow.edges.iter().map(|edge| flow.labels(edge)).collect();
        assert_eq!(
            edges,
            [
                ["start", "cache:cache"],
                ["start", "flags:flags"],
                ["cache:cache", "db:db"],
                ["db:db", "return"],
                ["flags:flags", "db:db"],
            ]
        );
        assert!(flow.latency_us.p50 > 2.0 * report.variants[0].flow.latency_us.p50);
    }
}

#[test]
fn a_report_does_not_depend_on_the_number_of_workers() {
    let (spans, _) = cached(9, 300);
    let part = |part: u128| {
        let of_part: Vec<_> = spans.iter().filter(|of| of.0.trace % 3 == part).cloned().collect();
        tagged(&of_part)
    };
    let whole = ask(vec![tagged(&spans)], "item");
    assert!(whole == ask(vec![part(2), part(0), part(1)], "item"));
}

#[test]
fn a_tag_of_the_invocation_decides_too_and_nothing_does_where_it_is_chance() {
    for seed in 0..8 {
        let mut random = Random::new(seed, 1, 0);
        let (mut spans, mut made) = (Vec::new(), 0);
        for trace in 1..=400u64 {
            // `recommend` is called where the experiment says so; `log` by chance.
            let is_new = random.below(4) == 0;
            let is_logged = random.below(2) == 0;
            made += u64::from(is_new && is_logged);
            let arm = if is_new { "new" } else { "old" };
            let mut tags: Tags = vec![("experiment", arm.to_owned())];
            for key in ["k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"] {
                tags.push((key, random.below(3).to_string()));
            }
            let mut of_trace =
                vec![(span(1, 0, "home", 0, 900), tags), (span(2, 1, "user", 10, 200), vec![])];
            of_trace.extend(is_new.then(|| (span(3, 1, "recommend", 210, 700), vec![])));
            of_trace.extend(is_logged.then(|| (span(4, 1, "log", 710, 800), vec![])));
            of_trace.iter_mut().for_each(|of| of.0.trace = u128::from(trace));
            spans.extend(of_trace);
        }
        let report = ask(vec![tagged(&spans)], "home");
        assert_eq!(report.variants.len(), 4);
        for variant in &report.variants {
            let of = calls(variant);
            let all: Vec<String> = variant.deciders.iter().map(said).collect();
            if of.contains(&"recommend") {
                assert_eq!(all, ["experiment=new"], "{of:?}");
                assert!(!of.contains(&"log") || variant.invocations == made);
            } else {
                // Half of the others are like these, so it does not tell them apart by as much; `log` has no decider.
                assert!(all.iter().all(|said| said == "experiment=old"), "{of:?} {all:?}");
            }
        }
    }
}

#[test]
fn numbers_of_calls_make_variants_up_to_three_and_no_call_is_one_too() {
    let mut spans = Vec::new();
    for trace in 0..60u64 {
        // Ten make no call; the others ask `rows` once for each row, and `pay` once or twice.
        let rows = trace % 6;
        let pays = if rows == 0 { 0 } else { 1 + u64::from(trace % 3 == 1) };
        let calls = (0..rows).map(|n| ("rows", n)).chain((0..pays).map(|n| ("pay", rows + n)));
        let mut of_trace = vec![span(1, 0, "list", 0, 1000)];
        of_trace.extend(calls.map(|(name, at)| span(2 + at, 1, name, 100 * at + 10, 100 * at + 90)));
        of_trace.iter_mut().for_each(|of| of.trace = u128::from(trace) + 1);
        spans.extend(of_trace);
    }
    let report = ask(vec![set_of(&spans)], "list");
    let found: Vec<_> = report
        .variants
        .iter()
        .map(|of| (of.invocations, of.calls.iter().map(|call| call.calls).collect::<Vec<_>>()))
        .collect();
    // `pay` twice: rows 1 and 4; once: rows 2, 3 and 5.
    assert_eq!(found, [(30, vec![Some(1), None]), (20, vec![Some(2), None]), (10, vec![])]);
    assert_eq!(report.variants[2].flow.latency_us.p50, 1000.0);
    let words: Vec<String> = (0..3).map(|at| variants::calls_words(&report, at)).collect();
    assert_eq!(words, ["pay, rows", "with pay (2 calls)", "no call"]);
    let svg = variants::chart::export_svg(&report, &Theme::light());
    for words in [">50.0\u{202f}%, p50 1.00\u{202f}ms<", ">with pay (2 calls)<", ">no call<"] {
        assert!(svg.contains(words), "{words} in {svg}");
    }
}

#[test]
fn rare_variants_are_counted_and_not_listed() {
    let mut spans = Vec::new();
    for trace in 0..100u64 {
        let mut of_trace = vec![span(1, 0, "a", 0, 100), span(2, 1, "b", 10, 20)];
        // Four traces with calls of their own kind each: too few to be listed.
        if trace < 4 {
            of_trace.push(span(3, 1, &format!("odd{trace}"), 30, 40));
        }
        of_trace.iter_mut().for_each(|of| of.trace = u128::from(trace) + 1);
        spans.extend(of_trace);
    }
    let report = ask(vec![set_of(&spans)], "a");
    assert_eq!((report.invocations, report.variants.len()), (100, 1));
    assert_eq!((report.others, report.other_invocations), (4, 4));
    let nothing = ask(vec![set_of(&spans)], "nobody");
    assert_eq!((nothing.invocations, nothing.variants.len()), (0, 0));
}

#[test]
fn the_example_of_the_definition() {
    // Half of so many calls of A find something; the others call B.
    let of = |each: u64| {
        let mut spans = Vec::new();
        for trace in 0..2 * each {
            let hit = trace % 2 == 0;
            let tag: Tags = vec![("hit", hit.to_string())];
            let mut of_trace = vec![(span(1, 0, "P", 0, 40), vec![]), (span(2, 1, "A", 1, 11), tag)];
            of_trace.extend((!hit).then(|| (span(3, 1, "B", 12, 31), vec![])));
            of_trace.iter_mut().for_each(|of| of.0.trace = u128::from(trace) + 1);
            spans.extend(of_trace);
        }
        ask(vec![tagged(&spans)], "P")
    };
    let report = of(8);
    let found: Vec<Vec<String>> =
        report.variants.iter().map(|of| of.deciders.iter().map(said).collect()).collect();
    assert_eq!(found, [["A: hit=true"], ["A: hit=false"]]);
    let decider = &report.variants[0].deciders[0];
    assert_eq!((decider.here, decider.of_here, decider.elsewhere, decider.of_elsewhere), (8, 8, 0, 8));
    // Of five each p is 1 / 252, with two features 0.008; of four none is listed.
    let report = of(5);
    assert_eq!(report.variants.iter().map(|of| of.deciders.len()).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(of(4).variants.len(), 0);
}

#[test]
fn of_forty_generated_endpoints_those_with_a_cache_have_two_variants_and_no_other() {
    for seed in 1..=2 {
        let options =
            GenerateOptions { shape: Shape::Serial, traces: 2400, seed, ..GenerateOptions::default() };
        let mut pool = NativePool::of(vec![read_generated(&options)]).unwrap();
        let mut cached = 0;
        for pair in SerialPair::all() {
            let parent = Some(Endpoint::new(pair.service, pair.operation));
            let settings = FlowSettings::default();
            let query = queries::FlowVariants { selection: Selection::default(), parent, settings };
            let report = pool.run(query).unwrap();
            let found: Vec<Vec<String>> = report
                .variants
                .iter()
                .map(|of| of.deciders.first().map(said).into_iter().chain([calls(of).join(", ")]).collect())
                .collect();
            if pair.need == PairNeed::Lookup {
                cached += 1;
                let [first, second] = [pair.first, pair.second];
                let mut expected = [
                    vec![format!("{first}: cache.hit=true"), first.to_owned()],
                    vec![format!("{first}: cache.hit=false"), format!("{first}, {second}")],
                ];
                // Whichever is more common comes first.
                let is_hit_first = found[0] == expected[0];
                if !is_hit_first {
                    expected.swap(0, 1);
                }
                assert_eq!(found, expected, "seed {seed}: {pair:?}");
            } else {
                // Where a few fail, too few to be listed, the answer of the others goes with these.
                let is_of_call = |of: &Decider| of.call.is_some();
                let deciders = &report.variants[0].deciders;
                assert!(
                    found.len() == 1 && !deciders.iter().any(is_of_call),
                    "seed {seed}: {pair:?} {found:?}"
                );
            }
        }
        assert_eq!(cached, 4);
    }
}
