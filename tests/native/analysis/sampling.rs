//! Sampled traces: every dialect is read alike, and numbers by weight are those of the full set.

use crate::common::stored::{of_sections, sections};
use pathlight::base::statistics::{
    Percentiles, Weight, percentile, sort_weighted, weighted_percentile_interval,
};
use pathlight::engine::compare::{Basis, CompareReport, MeasuredTime, compare};
use pathlight::engine::findings::{Finding, FindingFacts, FindingsReport};
use pathlight::engine::heatmap::ColumnOrder;
use pathlight::engine::ids::{NodeId, ReportEndpoint};
use pathlight::engine::queries;
use pathlight::engine::requests::{RangeFacts, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::summaries::{
    Merger, Statistic, Summary, SummarySettings, check, read as read_summary, write as write_summary,
};
use pathlight::engine::trend::{TrendAxis, TrendOfSummaries};
use pathlight::engine::verdict::ServicePart;
use pathlight::generate::{
    GenerateOptions, GeneratedTrace, Generator, Inject, Sample, SampledRequest, Sampler, write_jaeger,
};
use pathlight::ingest::{ManyInputs, ReadOptions, Reader};
use pathlight::trace::{Endpoint, TraceSet};
use std::collections::BTreeMap;

fn options(traces: u64) -> GenerateOptions {
    GenerateOptions { spans: 7, traces, seed: 5, ..GenerateOptions::default() }
}

/// Reads what a sampler keeps of some traces.
fn set(options: &GenerateOptions, group: u8) -> TraceSet {
    let mut bytes = Vec::new();
    write_jaeger(options, &mut bytes).unwrap();
    let mut inputs = ManyInputs::default();
    inputs.set.loading_group = group;
    let mut reader = Reader::new("sampled.json", ReadOptions::default());
    assert!(reader.feed(&bytes, &mut inputs).is_ok());
    reader.finish(&mut inputs);
    inputs.set
}

/// Loads what a sampler keeps of some traces.
fn pool(options: &GenerateOptions) -> NativePool {
    NativePool::of(vec![set(options, 0)]).unwrap()
}

/// Returns the options with a sampler.
fn sampled(options: &GenerateOptions, sampler: &str) -> GenerateOptions {
    GenerateOptions { sample: Some(sampler.parse().unwrap()), ..options.clone() }
}

/// The roots of both sides.
fn sides() -> (Selection, Selection) {
    (Selection::default(), Selection { group: 1, ..Selection::default() })
}

fn facts(pool: &mut NativePool, selection: Selection) -> RangeFacts {
    pool.run(queries::Range { selection }).unwrap().facts
}

#[test]
fn every_dialect_says_the_same() {
    let of = |dialect: &str| pool(&sampled(&options(600), &format!("p=0.0625; errors; as={dialect}")));
    let mut first = of("th");
    let overview = first.run(queries::Overview::default()).unwrap();
    let wanted = facts(&mut first, Selection::default());
    let weighted = wanted.weighted.clone().unwrap();
    assert_eq!(weighted.all.range.map(|(_, greatest)| greatest.requests()), Some(16.0));
    assert!((weighted.all.requests() / 600.0 - 1.0).abs() < 0.4, "{}", weighted.all.requests());
    assert_eq!(overview.sampling.weights, weighted.all);
    // What is said of all that is loaded is what is said of its selection; request types count alike.
    assert_eq!((overview.latency_us, &overview.histogram), (wanted.latency_us, &wanted.histogram));
    let once = queries::Overview { unweighted: true, ..queries::Overview::default() };
    let unweighted = first.run(once).unwrap();
    let unsaid = of("nothing").run(queries::Overview::default()).unwrap();
    assert_eq!(unweighted.request_types, unsaid.request_types);
    assert_eq!(unweighted.latency_us, unsaid.latency_us);
    assert_ne!(overview.request_types, unsaid.request_types);
    assert_eq!(
        (overview.sampling.invalid, overview.sampling.disagreeing, overview.sampling.varying),
        (0, 0, 0)
    );
    for (dialect, source) in [
        ("th", "tracestate ot=th"),
        ("p", "tracestate ot=p"),
        ("count", "SampleRate"),
        ("rate", "sampling.rate"),
        ("datadog", "_dd.rule_psr"),
        ("jaeger", "sampler.param"),
    ] {
        let mut other = of(dialect);
        let sampling = other.run(queries::Overview::default()).unwrap().sampling;
        let sources: Vec<_> = sampling.sources.iter().map(|(of, traces)| (of.name(), *traces)).collect();
        assert_eq!(sources, [(source, weighted.all.seen)], "{dialect}");
        assert_eq!(facts(&mut other, Selection::default()), wanted, "{dialect}");
    }
    // The same traces without a word of it, and with weights switched off.
    let plain = facts(&mut of("nothing"), Selection::default());
    assert_eq!(plain.weighted, None);
    let off = facts(&mut first, Selection { unweighted: true, ..Selection::default() });
    assert_eq!(RangeFacts { weighted: None, ..off }, plain);
}

/// The five samplers: without and with what they keep whole, and a floor.
const SAMPLERS: [&str; 5] =
    ["", "; errors", "; slow>SLOWms", "; slow>SLOWms; errors", "; slow>SLOWms; errors; floor=30"];

/// Latency, whether it has an error, and root endpoint of generated requests.
fn requests(traces: u64) -> Vec<(u64, bool, &'static str)> {
    let generator = Generator::new(&options(traces)).unwrap();
    let facts = |trace: GeneratedTrace| {
        let root = &trace.spans[0];
        (root.duration_us, trace.spans.iter().any(|span| span.error), root.operation)
    };
    (0..traces).map(|index| facts(generator.trace(index))).collect()
}

/// How often an interval held the truth.
#[derive(Default)]
struct Held {
    held: u64,
    tried: u64,
    too_few: u64,
    /// Sums of the errors of both ways of counting, as shares of the truth.
    weighted: f64,
    counted: f64,
}

/// Draws so many samples of each kind, at one rate after the other; returns by number how often it held.
fn measure(all: &[(u64, bool, &'static str)], rates: &[f64], draws: u64) -> BTreeMap<&'static str, Held> {
    use pathlight::base::statistics::{Random, WeightedMoments};
    let mut full: Vec<u64> = all.iter().map(|request| request.0).collect();
    full.sort_unstable();
    let truth_errors = all.iter().filter(|request| request.1).count() as f64 / all.len() as f64;
    let slow_ms = (percentile(&full, 0.995) / 1000.0).round();
    let mut endpoints: BTreeMap<&str, u64> = BTreeMap::new();
    all.iter().for_each(|request| *endpoints.entry(request.2).or_default() += 1);
    let mut out: BTreeMap<&'static str, Held> = BTreeMap::new();
    for (kind, sampler) in SAMPLERS.iter().enumerate() {
        for draw in 0..draws {
            let rate = rates[draw as usize % rates.len()];
            let text = format!("p={rate}{}", sampler.replace("SLOW", &slow_ms.to_string()));
            let sample: Sample = text.parse().unwrap();
            let mut random = Random::new(77, kind as u64, draw);
            let (mut kept, mut errors) = (Vec::new(), (WeightedMoments::default(), 0));
            let mut shares = vec![(WeightedMoments::default(), 0); endpoints.len()];
            for &(latency_us, has_error, endpoint) in all {
                let request = SampledRequest { latency_us, has_error, of_endpoint: endpoints[endpoint] };
                let probability = sample.probability_of(request);
                if random.unit() >= probability {
                    continue;
                }
                let weight = Weight::of_rate(probability).unwrap_or_default();
                kept.push((latency_us, weight));
                let note = |(moments, counted): &mut (WeightedMoments, u64), is_it: bool| {
                    moments.add(u64::from(is_it) * 1_000_000, weight);
                    *counted += u64::from(is_it);
                };
                note(&mut errors, has_error);
                shares
                    .iter_mut()
                    .zip(endpoints.keys())
                    .for_each(|(share, name)| note(share, *name == endpoint));
            }
            if kept.len() < 2 {
                continue;
            }
            sort_weighted(&mut kept);
            let (weighted, counted) = (Percentiles::of_weighted(&kept), {
                let us: Vec<u64> = kept.iter().map(|of| of.0).collect();
                Percentiles::of_sorted(&us)
            });
            for (name, p, by_weight, once) in [
                ("p50", 0.50, weighted.p50, counted.p50),
                ("p95", 0.95, weighted.p95, counted.p95),
                ("p99", 0.99, weighted.p99, counted.p99),
            ] {
                let truth = percentile(&full, p);
                let of = out.entry(name).or_default();
                of.weighted += (by_weight / truth - 1.0).abs();
                of.counted += (once / truth - 1.0).abs();
                match weighted_percentile_interval(&kept, p) {
                    Some(interval) => {
                        of.tried += 1;
                        of.held += u64::from(interval.low <= truth && truth <= interval.high);
                    }
                    None => of.too_few += 1,
                }
            }
            let mut share = |name: &'static str, (moments, counted): &(WeightedMoments, u64), truth: f64| {
                let of = out.entry(name).or_default();
                let once = *counted as f64 / kept.len() as f64;
                of.weighted += (moments.mean() / 1e6 / truth - 1.0).abs();
                of.counted += (once / truth - 1.0).abs();
                let effective = moments.weights.effective();
                match moments.interval().filter(|_| effective * truth.min(1.0 - truth) >= 10.0) {
                    Some(interval) => {
                        of.tried += 1;
                        of.held += u64::from(interval.low <= truth * 1e6 && truth * 1e6 <= interval.high);
                    }
                    None => of.too_few += 1,
                }
            };
            share("share of requests with errors", &errors, truth_errors);
            for (of_endpoint, (_, requests)) in shares.iter().zip(&endpoints) {
                let truth = *requests as f64 / all.len() as f64;
                share("share of requests by endpoint", of_endpoint, truth);
            }
        }
    }
    out
}

fn report(found: &BTreeMap<&'static str, Held>) -> String {
    let line = |(name, of): (&&str, &Held)| {
        let draws = (of.tried + of.too_few).max(1) as f64;
        format!(
            "{name}: {} of {} intervals hold the truth ({:.1} %), {} too few; mean error {:.1} % by weight, {:.1} % counted once\n",
            of.held,
            of.tried,
            100.0 * of.held as f64 / of.tried.max(1) as f64,
            of.too_few,
            100.0 * of.weighted / draws,
            100.0 * of.counted / draws,
        )
    };
    found.iter().map(line).collect()
}

#[test]
fn numbers_by_weight_are_those_of_the_full_set() {
    let found = measure(&requests(20_000), &[0.05, 0.02], 20);
    let text = report(&found);
    for name in ["p50", "p95", "p99"] {
        let of = &found[name];
        assert!(of.tried > 0 && of.held * 100 >= of.tried * 90, "{text}");
    }
    // What is kept whole pulls p99 far from the truth if each trace counts once.
    assert!(found["p99"].counted > 3.0 * found["p99"].weighted, "{text}");
}

#[test]
#[ignore = "takes minutes; prints how often intervals hold the truth in 200 draws"]
fn measure_numbers_by_weight() {
    println!("{}", report(&measure(&requests(200_000), &[0.05, 0.01, 0.002, 0.0005], 40)));
}

/// Two sets of which the second is slower at one place.
fn slower(traces: u64, seed: u64, place: usize) -> [GenerateOptions; 2] {
    let fast = GenerateOptions { spans: 7, traces, seed, ..GenerateOptions::default() };
    let places = Generator::new(&fast).unwrap().places();
    let many: Vec<_> = places.iter().filter(|of| of.share >= 0.3).collect();
    let place = many[place % many.len()].name.clone();
    let injects = vec![Inject { place, extra_us: 60_000, share: 1.0 }];
    [fast.clone(), GenerateOptions { seed: seed + 1, injects, ..fast }]
}

fn compared(a: &GenerateOptions, b: &GenerateOptions) -> CompareReport {
    let (of_a, of_b) = sides();
    let mut pool = NativePool::of(vec![set(a, 0), set(b, 1)]).unwrap();
    pool.run(queries::Compare { a: of_a, b: of_b }).unwrap()
}

/// All weights 2 give the same numbers as weight 1, to the last bit, but for sums and counts.
#[test]
fn equal_weights_change_no_mean_no_share_and_no_verdict() {
    let [a, b] = slower(500, 3, 1);
    let with = |dialect: &str| [&a, &b].map(|of| sampled(of, &format!("p=0.5; as={dialect}")));
    let ([plain_a, plain_b], [twice_a, twice_b]) = (with("nothing"), with("count"));
    let (mut plain, mut twice) = (compared(&plain_a, &plain_b), compared(&twice_a, &twice_b));
    assert!(plain.culprit.culprit().is_some());
    for node in (0..plain.nodes.len() as u32).map(NodeId) {
        for (basis, measure) in
            [(Basis::Mean, MeasuredTime::Subtree), (Basis::Share, MeasuredTime::Exclusive)]
        {
            assert_eq!(plain.change(node, basis, measure), twice.change(node, basis, measure));
        }
    }
    for report in [&mut plain, &mut twice] {
        report.culprit.failing.clear();
        report.culprit.stops.clear();
    }
    assert_eq!(plain.culprit, twice.culprit);

    let both = |of_plain: &mut NativePool, of_twice: &mut NativePool| {
        let (selection, baseline) = (Selection::default(), None);
        let findings = |pool: &mut NativePool| -> FindingsReport {
            let (selection, baseline) = (selection.clone(), baseline.clone());
            pool.run(queries::Findings { selection, baseline }).unwrap()
        };
        let said = |finding: &Finding| {
            (finding.place.clone(), finding.stake_us, finding.interval, finding.n, finding.of, finding.p)
        };
        let [one, two] = [findings(of_plain), findings(of_twice)];
        assert_eq!(
            one.findings.iter().map(said).collect::<Vec<_>>(),
            two.findings.iter().map(said).collect::<Vec<_>>()
        );
        let heat = |pool: &mut NativePool| {
            let order = ColumnOrder::Latency;
            pool.run(queries::Heatmap { selection: selection.clone(), columns: 40, order }).unwrap()
        };
        let [one, two] = [heat(of_plain), heat(of_twice)];
        assert_eq!((&one.column_requests, &one.cell_share_ppm), (&two.column_requests, &two.cell_share_ppm));
        for (one, two) in one.rows.rows.iter().zip(&two.rows.rows) {
            assert_eq!(
                (one.exclusive_us.mean, one.inclusive_us.p95),
                (two.exclusive_us.mean, two.inclusive_us.p95)
            );
            assert_eq!(one.share_interval, two.share_interval);
            assert_eq!(2 * one.exclusive_us.sum, two.exclusive_us.sum);
        }
        let errors =
            |pool: &mut NativePool| pool.run(queries::Errors { selection: selection.clone() }).unwrap();
        let [one, two] = [errors(of_plain), errors(of_twice)];
        assert_eq!((2 * one.totals.requests, 2 * one.requests()), (two.totals.requests, two.requests()));
        assert_eq!((2 * one.totals.saved_us, one.without_us), (two.totals.saved_us, two.without_us));
    };
    both(&mut pool(&plain_b), &mut pool(&twice_b));
}

/// Where there are effective requests enough the verdict is that of the full sets, and elsewhere it names no other service.
#[test]
fn the_verdict_of_sets_sampled_otherwise_is_that_of_the_full_sets() {
    let service = |report: &CompareReport| report.culprit.culprit().map(|row| row.service.clone());
    let (mut same, mut silent) = (0, 0);
    for (number, (of_a, of_b)) in [
        ("p=0.25; errors", "p=0.2; slow>200ms; errors"),
        ("p=1", "p=0.25; slow>150ms; floor=30"),
        ("p=0.25; slow>200ms", "p=1"),
        ("p=0.03; slow>200ms; errors", "p=0.02; errors"),
    ]
    .into_iter()
    .enumerate()
    {
        let [a, b] = slower(1500, 10 + 2 * number as u64, 3 * number);
        let (full, found) = (compared(&a, &b), compared(&sampled(&a, of_a), &sampled(&b, of_b)));
        let effective = [&found.a, &found.b].map(|side| side.facts.weights().effective());
        let is_enough = effective.iter().all(|n| *n >= 200.0);
        assert!(service(&full).is_some(), "{number}");
        if is_enough || service(&found).is_some() {
            assert_eq!(service(&found), service(&full), "{number}: {effective:?}");
            same += 1;
        } else {
            silent += 1;
        }
        // What is compared is what the full sets are like, not what was kept of them.
        let mean = |report: &CompareReport| report.b.facts.latency_us.mean;
        assert!((mean(&found) / mean(&full) - 1.0).abs() < 0.25, "{} {}", mean(&found), mean(&full));
    }
    assert!(same >= 3, "{same} the same, {silent} silent");
    // Equal distributions, one of them sampled by latency, are no difference.
    let all = GenerateOptions { seed: 40, ..options(1500) };
    let other = GenerateOptions { seed: 41, ..options(1500) };
    let report = compared(&all, &sampled(&other, "p=0.2; slow>100ms; errors"));
    assert_eq!(service(&report), None);
    let changed = report.ranking(Basis::Mean, MeasuredTime::Exclusive);
    assert!(changed.iter().filter(|row| !row.change.is_noise).count() <= 1, "{changed:?}");
}

/// Returns how many intervals of shares of the top 20 endpoints and of the time in services hold what the full set has, of how
/// many, over so many draws.
fn shares_held(draws: u64, traces: u64, samplers: &[&str]) -> [(u64, u64); 2] {
    let mut held = [(0, 0); 2];
    for draw in 0..draws {
        let all = GenerateOptions { spans: 7, traces, seed: 100 + draw, ..GenerateOptions::default() };
        let (mut full, mut kept) =
            (pool(&all), pool(&sampled(&all, samplers[draw as usize % samplers.len()])));
        let endpoints =
            |pool: &mut NativePool| pool.run(queries::Endpoints { selection: Selection::default() }).unwrap();
        let (of_full, of_kept) = (endpoints(&mut full), endpoints(&mut kept));
        let share: BTreeMap<&Endpoint, f64> = (0..of_full.rows.len() as u32)
            .map(|row| (&of_full.endpoints[row as usize], of_full.share(ReportEndpoint(row))))
            .collect();
        let mut top: Vec<(&&Endpoint, &f64)> = share.iter().collect();
        top.sort_by(|a, b| b.1.total_cmp(a.1));
        let effective = of_kept.facts.weights().effective() / of_kept.facts.weights().seen as f64;
        for (name, truth) in top.into_iter().take(20) {
            let Ok(row) = of_kept.endpoints.binary_search(name) else { continue };
            let row = &of_kept.rows[row];
            if let Some(interval) = row.share_interval.filter(|_| row.requests as f64 * effective >= 10.0) {
                held[0].1 += 1;
                held[0].0 += u64::from(interval.low <= *truth && *truth <= interval.high);
            }
        }
        let findings = |pool: &mut NativePool| {
            let (selection, baseline) = (Selection::default(), None);
            pool.run(queries::Findings { selection, baseline }).unwrap()
        };
        let (of_full, of_kept) = (findings(&mut full), findings(&mut kept));
        for finding in &of_kept.findings {
            let FindingFacts::Cost(facts) = &finding.facts else { continue };
            let time = of_full.services.iter().find(|time| time.service == facts.cost.service);
            for part in facts.cost.parts.iter().filter(|part| part.part == ServicePart::Own) {
                let truth = time.map_or(0.0, |time| time.own_us);
                held[1].1 += 1;
                held[1].0 += u64::from(part.interval.low <= truth && truth <= part.interval.high);
            }
        }
    }
    held
}

#[test]
fn shares_and_costs_by_weight_are_within_their_intervals() {
    let held = shares_held(8, 1500, &["p=0.1; errors", "p=0.2; slow>150ms; errors"]);
    for (held, tried) in held {
        assert!(tried >= 8 && held * 100 >= 85 * tried, "{held} of {tried}");
    }
}

#[test]
#[ignore = "takes minutes; prints how often intervals of shares and costs hold the truth"]
fn measure_shares_and_costs_by_weight() {
    let samplers = ["p=0.05", "p=0.05; errors", "p=0.03; slow>150ms", "p=0.03; slow>150ms; errors; floor=30"];
    let [(shares, of_shares), (costs, of_costs)] = shares_held(200, 6000, &samplers);
    println!("shares of endpoints: {shares} of {of_shares}; times of services: {costs} of {of_costs}");
}

#[test]
fn a_sampler_writes_the_traces_it_keeps() {
    let all = options(300);
    let sample: Sample = "p=0.1; errors".parse().unwrap();
    let generator = Generator::new(&all).unwrap();
    let sampler = Sampler::of(&generator, &sample);
    let kept = (0..300).filter(|&index| sampler.keeps(index, &mut generator.trace(index))).count() as u64;
    let mut out = Vec::new();
    let written = write_jaeger(&GenerateOptions { sample: Some(sample.clone()), ..all }, &mut out).unwrap();
    assert_eq!((written.traces, written.bytes), (kept, out.len() as u64));
    assert!(kept > 5 && kept < 100, "{kept}");
}

/// Returns the summary of what a sampler keeps.
fn summary(options: &GenerateOptions, sampler: &str) -> Summary {
    Summary::observe(&set(&sampled(options, sampler), 0), &SummarySettings::default())
}

/// Traces of one generator, each seed a sample of its own.
fn of_seed(seed: u64, traces: u64) -> GenerateOptions {
    GenerateOptions { seed, ..options(traces) }
}

#[test]
fn trend_and_check_of_sampled_traces_are_those_of_the_full_sets() {
    const SAMPLER: &str = "p=0.1; slow>40ms; errors; as=th";
    let full: Vec<Summary> = (0..5).map(|day| summary(&of_seed(50 + day, 1500), "p=1")).collect();
    let days = |dialect: &str| -> Vec<Summary> {
        let sampler = SAMPLER.replace("th", dialect);
        (0..5).map(|day| summary(&of_seed(50 + day, 1500), &sampler)).collect()
    };
    let (kept, unsaid) = (days("th"), days("nothing"));
    // Of the clearest root endpoint the median of every day.
    let medians = |days: &[Summary]| -> BTreeMap<String, f64> {
        let trend = TrendOfSummaries::of(days, TrendAxis::Days).unwrap();
        let latency = trend.series.iter().filter(|series| {
            series.endpoint.is_none() && matches!(series.statistic, Statistic::P50 | Statistic::Mean)
        });
        latency
            .flat_map(|series| {
                let name = |day: usize| format!("{} {} {day}", series.root.operation, series.statistic);
                series.points.iter().enumerate().filter_map(move |(day, of)| Some((name(day), (*of)?.value)))
            })
            .collect()
    };
    let off = |found: &BTreeMap<String, f64>| {
        let truth = medians(&full);
        let errors: Vec<f64> =
            found.iter().filter_map(|(name, value)| Some((value / truth.get(name)? - 1.0).abs())).collect();
        assert!(errors.len() >= 10, "{}", errors.len());
        errors.iter().sum::<f64>() / errors.len() as f64
    };
    let (by_weight, counted) = (off(&medians(&kept)), off(&medians(&unsaid)));
    assert!(by_weight < 0.1 && counted > 2.0 * by_weight, "{by_weight} by weight, {counted} counted");
    let trend = TrendOfSummaries::of(&kept, TrendAxis::Days).unwrap();
    assert!(trend.weights.requests() > 5000.0 && !trend.weights.are_equal());
    let points: Vec<_> = trend.series.iter().flat_map(|series| series.points.iter().flatten()).collect();
    assert!(points.iter().all(|point| point.effective <= point.n as f64 && point.effective >= 30.0));
    assert!(points.iter().any(|point| point.effective < 0.9 * point.n as f64));
    // Nothing has changed, but for how traces were kept.
    let rules =
        ["mean>10%", "p50>10%", "errors>2%", "endpoint self mean>20%"].map(|rule| rule.parse().unwrap());
    let broken = |candidate: &Summary| {
        let verdicts = check(&full[0], candidate, &rules).unwrap();
        assert!(verdicts.len() > 3, "{}", verdicts.len());
        verdicts.into_iter().filter(|verdict| verdict.is_broken).count()
    };
    assert_eq!(kept.iter().map(broken).collect::<Vec<_>>(), [0; 5]);
    assert!(unsaid.iter().all(|day| broken(day) > 0));
    // So say services and frames.
    let report = compare(&full[0], &kept[1], None).unwrap();
    assert_eq!(report.culprit.culprit().map(|row| &row.service), None);
    let [a, b] = [&report.a, &report.b].map(|side| side.facts.latency_us.mean);
    assert!((a / b - 1.0).abs() < 0.15, "{a} {b}");
}

#[test]
fn summaries_by_weight_merge_in_any_order_and_count_as_before_beside() {
    let [a, b] = [60, 61].map(|seed| summary(&of_seed(seed, 400), "p=0.3; slow>100ms; errors; as=count"));
    let plain = summary(&of_seed(62, 300), "p=1");
    let bytes = |of: &Summary| write_summary(of).unwrap();
    let join = |parts: &[&Summary]| {
        let mut sum = Merger::default();
        parts.iter().for_each(|part| sum.add((*part).clone()).unwrap());
        sum.finish().unwrap()
    };
    let all = join(&[&a, &plain, &b]);
    assert_eq!(bytes(&all), bytes(&join(&[&join(&[&b, &plain]), &a])));
    assert_eq!(bytes(&all), bytes(&join(&[&plain, &join(&[&a, &b])])));
    assert_eq!(bytes(&read_summary(&bytes(&all)).unwrap()), bytes(&all));
    assert_eq!(all.weights().seen, all.requests());
    let sum = a.weights().requests() + b.weights().requests() + 300.0;
    assert!((all.weights().requests() - sum).abs() < 1e-6);
    // Of a newer version they are left out, and numbers that contradict each other are refused.
    let changed = |change: fn(&mut (String, u32, Vec<u8>))| {
        let mut all = sections(&bytes(&a));
        change(all.iter_mut().find(|section| section.0 == "weights").unwrap());
        read_summary(&of_sections(&all))
    };
    let newer = changed(|section| section.1 += 1).unwrap();
    assert!(newer.unknown.contains("weights") && newer.weights().are_ones());
    let other = sections(&bytes(&b)).into_iter().find(|section| section.0 == "weights").unwrap().2;
    let mut mixed = sections(&bytes(&a));
    mixed.iter_mut().filter(|section| section.0 == "weights").for_each(|section| section.2 = other.clone());
    for refused in [changed(|section| section.2.truncate(40)), read_summary(&of_sections(&mixed))] {
        let said = refused.map(|_| ()).unwrap_err().to_string();
        assert!(said.contains("section weights"), "{said}");
    }
    // By root endpoint it is the same, and each has its own weights.
    let apart: f64 = all.clone().into_roots().map(|(_, part)| part.weights().requests()).sum();
    assert!((apart - sum).abs() < 1e-6);
    // What weights are not summed for is the same with and without them, to the last bit.
    let [twice, once] = ["count", "nothing"]
        .map(|dialect| sections(&bytes(&summary(&of_seed(63, 300), &format!("p=0.5; as={dialect}")))));
    let named = |all: &[(String, u32, Vec<u8>)], name: &str| all.iter().find(|of| of.0 == name).cloned();
    for name in ["latencies", "endpoints", "errors", "flow", "diagnosis", "anomalies"] {
        assert!(named(&once, name).is_some() && named(&once, name) == named(&twice, name), "{name}");
    }
    assert!(named(&once, "weights").is_none() && named(&twice, "weights").is_some());
    assert_ne!(named(&once, "services"), named(&twice, "services"));
}

/// All weights 2 give the numbers of weight 1.
#[test]
fn equal_weights_change_nothing_in_trend_and_check() {
    let [plain, twice] = ["nothing", "count"].map(|dialect| {
        let [a, b] = slower(1600, 70, 2);
        [a, b].map(|of| summary(&of, &format!("p=0.5; as={dialect}")))
    });
    let rules = ["mean>5%", "p50>5%", "errors>1%", "endpoint self mean>5%", "endpoint self p50>5%"]
        .map(|rule| rule.parse().unwrap());
    let checked = |[a, b]: &[Summary; 2]| check(a, b, &rules).unwrap();
    assert!(checked(&plain).iter().any(|verdict| verdict.is_broken));
    assert_eq!(checked(&plain), checked(&twice));
    let series = |[a, b]: &[Summary; 2]| {
        TrendOfSummaries::of(&[a.clone(), b.clone()], TrendAxis::Days).unwrap().series
    };
    assert_eq!(series(&plain), series(&twice));
}
