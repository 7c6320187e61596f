//! What a sampler would keep of the traces, and how it says so.

use super::{GenerateError, GeneratedTag, GeneratedTrace, Generator, stream};
use pathlight_base::statistics::Random;
use std::collections::BTreeMap;
use std::str::FromStr;

/// How a sampler says with which probability it kept a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// `tracestate` with a threshold, `ot=th:..`.
    #[default]
    Threshold,
    /// `tracestate` with a power of two, `ot=p:..`; probabilities are raised to one.
    Power,
    /// `SampleRate`.
    Count,
    /// `sampling.rate`.
    Rate,
    /// `_dd.rule_psr`.
    Datadog,
    /// `sampler.type` and `sampler.param`.
    Jaeger,
    /// Not at all.
    Nothing,
}

impl Dialect {
    const NAMES: [(&str, Dialect); 7] = [
        ("th", Dialect::Threshold),
        ("p", Dialect::Power),
        ("count", Dialect::Count),
        ("rate", Dialect::Rate),
        ("datadog", Dialect::Datadog),
        ("jaeger", Dialect::Jaeger),
        ("nothing", Dialect::Nothing),
    ];
}

/// A sampler: each trace is kept with the greatest of the probabilities that apply to it.
#[derive(Clone, PartialEq, Debug)]
pub struct Sample {
    /// Probability of every trace.
    pub probability: f64,
    /// Traces that take longer than so many microseconds are all kept.
    pub slow_us: Option<u64>,
    /// Traces with an error are all kept.
    pub errors: bool,
    /// So many traces of every root endpoint are kept on average, or all if there are fewer.
    pub floor: u64,
    /// How the probability is said.
    pub dialect: Dialect,
}

impl FromStr for Sample {
    type Err = GenerateError;

    /// Reads `p=0.01; slow>500ms; errors; floor=20; as=th`, in which only `p` must be there.
    fn from_str(text: &str) -> Result<Sample, GenerateError> {
        let bad = || GenerateError::Sample(text.to_owned());
        let mut probability = None;
        let mut sample =
            Sample { probability: 1.0, slow_us: None, errors: false, floor: 0, dialect: Dialect::default() };
        for part in text.split(';').map(str::trim) {
            if part == "errors" {
                sample.errors = true;
            } else if let Some(p) = part.strip_prefix("p=") {
                probability = p.parse().ok().filter(|p| (0.0..=1.0).contains(p));
            } else if let Some(limit) = part.strip_prefix("slow>") {
                let (number, unit_us) = match (limit.strip_suffix("ms"), limit.strip_suffix('s')) {
                    (Some(number), _) => (number, 1_000.0),
                    (None, Some(number)) => (number, 1_000_000.0),
                    (None, None) => return Err(bad()),
                };
                let us = number.parse::<f64>().ok().map(|number| number * unit_us);
                sample.slow_us = Some(us.filter(|us| (0.0..1e15).contains(us)).ok_or_else(bad)? as u64);
            } else if let Some(floor) = part.strip_prefix("floor=") {
                sample.floor = floor.parse().map_err(|_| bad())?;
            } else {
                let name = part.strip_prefix("as=").ok_or_else(bad)?;
                let found = Dialect::NAMES.iter().find(|(known, _)| *known == name);
                sample.dialect = found.ok_or_else(bad)?.1;
            }
        }
        sample.probability = probability.ok_or_else(bad)?;
        Ok(sample)
    }
}

/// What a sampler knows of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SampledRequest {
    /// Duration of its root in microseconds.
    pub latency_us: u64,
    /// Whether one of its spans is an error.
    pub has_error: bool,
    /// Traces of the same root endpoint.
    pub of_endpoint: u64,
}

impl Sample {
    /// Returns the probability with which a trace is kept.
    pub fn probability_of(&self, request: SampledRequest) -> f64 {
        let is_slow = self.slow_us.is_some_and(|limit| request.latency_us > limit);
        if is_slow || self.errors && request.has_error {
            return 1.0;
        }
        let floor = self.floor as f64 / request.of_endpoint.max(1) as f64;
        let probability = self.probability.max(floor).min(1.0);
        match self.dialect {
            Dialect::Power if probability > 0.0 => 2f64.powi(-((1.0 / probability).log2().floor() as i32)),
            _ => probability,
        }
    }
}

/// A sampler at work on the traces of a generator.
pub struct Sampler<'a> {
    generator: &'a Generator,
    sample: &'a Sample,
    /// Traces by root operation; counted only for a floor.
    by_endpoint: BTreeMap<&'static str, u64>,
}

impl<'a> Sampler<'a> {
    /// Returns the sampler of these traces. A floor needs to make all of them once.
    pub fn of(generator: &'a Generator, sample: &'a Sample) -> Sampler<'a> {
        let mut by_endpoint = BTreeMap::new();
        let counted = if sample.floor > 0 { generator.options().traces } else { 0 };
        for index in 0..counted {
            if let Some(root) = generator.trace(index).spans.first() {
                *by_endpoint.entry(root.operation).or_default() += 1;
            }
        }
        Sampler { generator, sample, by_endpoint }
    }

    /// Returns whether trace `index` is kept, and writes into it how it was sampled.
    pub fn keeps(&self, index: u64, trace: &mut GeneratedTrace) -> bool {
        let Some(root) = trace.spans.first() else { return false };
        let request = SampledRequest {
            latency_us: root.duration_us,
            has_error: trace.spans.iter().any(|span| span.error),
            of_endpoint: self.by_endpoint.get(root.operation).copied().unwrap_or(0),
        };
        let probability = self.sample.probability_of(request);
        let mut random = Random::new(self.generator.options().seed, stream::SAMPLE, index);
        trace.kept = Some(Kept { probability, dialect: self.sample.dialect });
        random.unit() < probability
    }
}

/// With which probability a trace was kept.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Kept {
    /// The probability, above 0.
    pub probability: f64,
    /// How it is said.
    pub dialect: Dialect,
}

impl Kept {
    /// Gives each tag that says it to `each`.
    pub fn visit_tags(self, mut each: impl FnMut(&str, GeneratedTag<'_>)) {
        use GeneratedTag::{Float, Int, Text};
        let p = self.probability;
        match self.dialect {
            Dialect::Threshold => {
                let threshold = ((1.0 - p) * (1u64 << 56) as f64).round() as u64;
                let digits = format!("{threshold:014x}");
                let digits = Some(digits.trim_end_matches('0')).filter(|digits| !digits.is_empty());
                each("w3c.tracestate", Text(&format!("ot=th:{}", digits.unwrap_or("0"))));
            }
            Dialect::Power => {
                each("w3c.tracestate", Text(&format!("ot=p:{}", (1.0 / p).log2().round())));
            }
            Dialect::Count => {
                let count = 1.0 / p;
                each("SampleRate", if count.fract() == 0.0 { Int(count as i64) } else { Float(count) });
            }
            Dialect::Rate => each("sampling.rate", Float(p)),
            Dialect::Datadog => each("_dd.rule_psr", Float(p)),
            Dialect::Jaeger => {
                each("sampler.type", Text("probabilistic"));
                each("sampler.param", Float(p));
            }
            Dialect::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GenerateOptions;

    #[test]
    fn a_sampler_is_read_and_applies_the_greatest_probability() {
        let sample: Sample = "p=0.01; slow>500ms; errors; floor=20; as=jaeger".parse().unwrap();
        let wanted = Sample {
            probability: 0.01,
            slow_us: Some(500_000),
            errors: true,
            floor: 20,
            dialect: Dialect::Jaeger,
        };
        assert_eq!(sample, wanted);
        let of = |latency_us, has_error, of_endpoint| {
            sample.probability_of(SampledRequest { latency_us, has_error, of_endpoint })
        };
        assert_eq!(
            [
                of(500_000, false, 5000),
                of(500_001, false, 5000),
                of(1, true, 5000),
                of(1, false, 100),
                of(1, false, 3)
            ],
            [0.01, 1.0, 1.0, 0.2, 1.0]
        );
        let power: Sample = "p=0.3;as=p".parse().unwrap();
        assert_eq!(
            power.probability_of(SampledRequest { latency_us: 1, has_error: false, of_endpoint: 0 }),
            0.5
        );
        for bad in ["", "errors", "p=2", "p=0.1;slow>5", "p=0.1;floor=x", "p=0.1;as=x", "p=0.1;sloow>5s"] {
            assert!(bad.parse::<Sample>().is_err(), "{bad}");
        }
    }

    #[test]
    fn kept_traces_are_those_of_the_full_set_and_about_as_many_as_asked_for() {
        let sample: Sample = "p=0.05; errors; floor=10".parse().unwrap();
        let (mut kept, mut weight, mut of) = (0, 0.0, 0.0);
        for seed in 1..=20 {
            let options = GenerateOptions { spans: 7, traces: 500, seed, ..GenerateOptions::default() };
            let generator = Generator::new(&options).unwrap();
            let sampler = Sampler::of(&generator, &sample);
            for index in 0..options.traces {
                let mut trace = generator.trace(index);
                let has_error = trace.spans.iter().any(|span| span.error);
                let is_kept = sampler.keeps(index, &mut trace);
                assert!(is_kept || !has_error);
                of += 1.0;
                if is_kept {
                    kept += 1;
                    weight += trace.kept.map_or(0.0, |kept| 1.0 / kept.probability);
                }
                trace.kept = None;
                assert_eq!(trace, generator.trace(index));
            }
        }
        assert!(kept < 3000, "{kept} of {of}");
        assert!((weight / of - 1.0f64).abs() < 0.05, "{weight} of {of}");
    }
}
