//! Sampled traces: every dialect is read alike, and numbers by weight are those of the full set.

use pathlight::base::statistics::{
    Percentiles, Weight, percentile, sort_weighted, weighted_percentile_interval,
};
use pathlight::engine::queries;
use pathlight::engine::requests::{RangeFacts, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{
    GenerateOptions, GeneratedTrace, Generator, Sample, SampledRequest, Sampler, write_jaeger,
};
use pathlight::ingest::{ManyInputs, ReadOptions, Reader};
use std::collections::BTreeMap;

fn options(traces: u64) -> GenerateOptions {
    GenerateOptions { spans: 7, traces, seed: 5, ..GenerateOptions::default() }
}

/// Loads what a sampler keeps of some traces.
fn pool(options: &GenerateOptions) -> NativePool {
    let mut bytes = Vec::new();
    write_jaeger(options, &mut bytes).unwrap();
    let mut inputs = ManyInputs::default();
    let mut reader = Reader::new("sampled.json", ReadOptions::default());
    assert!(reader.feed(&bytes, &mut inputs).is_ok());
    reader.finish(&mut inputs);
    NativePool::of(vec![inputs.set]).unwrap()
}

fn facts(pool: &mut NativePool, selection: Selection) -> RangeFacts {
    pool.run(queries::Range { selection }).unwrap().facts
}

#[test]
fn every_dialect_says_the_same() {
    let sampled = |dialect: &str| {
        let sample: Sample = format!("p=0.0625; errors; as={dialect}").parse().unwrap();
        pool(&GenerateOptions { sample: Some(sample), ..options(600) })
    };
    let mut first = sampled("th");
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
    let unsaid = sampled("nothing").run(queries::Overview::default()).unwrap();
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
        let mut other = sampled(dialect);
        let sampling = other.run(queries::Overview::default()).unwrap().sampling;
        let sources: Vec<_> = sampling.sources.iter().map(|(of, traces)| (of.name(), *traces)).collect();
        assert_eq!(sources, [(source, weighted.all.seen)], "{dialect}");
        assert_eq!(facts(&mut other, Selection::default()), wanted, "{dialect}");
    }
    // The same traces without a word of it, and with weights switched off.
    let plain = facts(&mut sampled("nothing"), Selection::default());
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
