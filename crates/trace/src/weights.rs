//! How many requests a trace stands for, as its tags say it (`docs/definitions/sampling.md` section 1).

use super::{Interner, Symbol, TagSetId, TagTable, TraceSet};
use pathlight_base::statistics::{Weight, Weights};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The tag that holds the `tracestate` of a span.
pub const TRACE_STATE: &str = "w3c.tracestate";
const SAMPLER_PARAM: &str = "sampler.param";
const SAMPLER_TYPE: &str = "sampler.type";
const PROBABILISTIC: &str = "probabilistic";
const RATE_LIMITING: &str = "ratelimiting";
/// The key under which a weight by a chosen tag is given away.
const CHOSEN_AS: &str = "SampleRate";
/// Stands before a weight that is stored in place of a value.
const STORED: &str = "weight ";

/// The form in which a tag says a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WeightForm {
    /// The tag that was named by the user: a weight, or below 1 a probability.
    Chosen,
    /// Of `tracestate`.
    TraceState,
    /// A weight.
    Count,
    /// A probability.
    Rate,
    /// A probability, if the sampler is probabilistic.
    SamplerParam,
}

/// Keys of tags that say weights, first those that go before others.
const KEYS: [(&str, WeightForm); 8] = [
    (TRACE_STATE, WeightForm::TraceState),
    ("SampleRate", WeightForm::Count),
    ("sampleRate", WeightForm::Count),
    ("sample_rate", WeightForm::Count),
    ("sampling.rate", WeightForm::Rate),
    ("_sampling_rate", WeightForm::Rate),
    ("_dd.rule_psr", WeightForm::Rate),
    (SAMPLER_PARAM, WeightForm::SamplerParam),
];

/// A tag that says weights: its place in the order of sources, and its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WeightKey {
    place: usize,
    pub form: WeightForm,
}

impl WeightKey {
    /// Returns what a key is, if it says weights.
    pub fn of(key: &str) -> Option<WeightKey> {
        let place = KEYS.iter().position(|(known, _)| *known == key)?;
        Some(WeightKey { place: place + 1, form: KEYS[place].1 })
    }

    /// Returns that of the key that the user has named.
    pub const CHOSEN: WeightKey = WeightKey { place: 0, form: WeightForm::Chosen };

    /// Returns the text that is stored in place of a value that says the same; `None` if the value says nothing.
    pub fn stand_in(self, value: &str) -> Option<String> {
        let said = self.form.read(value)?;
        Some(
            said.map_or_else(|| format!("{STORED}?"), |(weight, _)| format!("{STORED}{}", weight.requests())),
        )
    }
}

/// Source of a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum WeightSource {
    /// The tag that the user named.
    Chosen,
    /// `th` of the member `ot` of `tracestate`.
    Threshold,
    /// `p` of it.
    Exponent,
    /// The tag of this place among those that are known.
    Tag(u8),
}

impl WeightSource {
    /// Returns its name, as it is written in traces.
    pub fn name(self) -> &'static str {
        match self {
            WeightSource::Chosen => "the chosen tag",
            WeightSource::Threshold => "tracestate ot=th",
            WeightSource::Exponent => "tracestate ot=p",
            WeightSource::Tag(place) => KEYS.get(usize::from(place)).map_or("", |(key, _)| key),
        }
    }
}

/// What a source says; `None` if it is no weight.
type Said = Option<Weight>;

impl WeightForm {
    /// Returns the weight that a value says, and whether it is of `p` in `tracestate`; `None` within if it is no weight.
    /// `None`: the value says nothing of it.
    fn read(self, value: &str) -> Option<Option<(Weight, bool)>> {
        let value = value.trim();
        if let Some(stored) = value.strip_prefix(STORED) {
            return Some(number(stored).and_then(Weight::of_count).map(|weight| (weight, false)));
        }
        let said = match self {
            WeightForm::TraceState => return of_trace_state(value),
            WeightForm::Count => number(value).and_then(Weight::of_count),
            WeightForm::Rate | WeightForm::SamplerParam => number(value).and_then(Weight::of_rate),
            WeightForm::Chosen => {
                number(value).and_then(|value| Weight::of_count(value).or_else(|| Weight::of_rate(value)))
            }
        };
        Some(said.map(|weight| (weight, false)))
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// Returns what a `tracestate` says of a weight. Of both forms the threshold counts.
fn of_trace_state(text: &str) -> Option<Option<(Weight, bool)>> {
    let mut members = text.split(',').filter_map(|member| member.trim().split_once('='));
    let (_, ot) = members.find(|(vendor, _)| *vendor == "ot")?;
    let parts = || ot.split(';').filter_map(|part| part.split_once(':'));
    if let Some((_, threshold)) = parts().find(|(key, _)| *key == "th") {
        let is_hexadecimal = threshold.bytes().all(|byte| byte.is_ascii_hexdigit());
        let digits = Some(threshold).filter(|of| (1..=14).contains(&of.len()) && is_hexadecimal);
        let bits = digits.and_then(|of| u64::from_str_radix(&format!("{of:0<14}"), 16).ok());
        return Some(bits.and_then(Weight::of_threshold).map(|weight| (weight, false)));
    }
    let (_, power) = parts().find(|(key, _)| *key == "p")?;
    match power.parse::<u32>() {
        Ok(63) => None,
        Ok(power @ 0..63) => Some(Some((Weight::of_power(power), true))),
        _ => Some(None),
    }
}

/// Returns whether a `tracestate` says a weight, or tries to.
pub fn says_weight(trace_state: &str) -> bool {
    of_trace_state(trace_state).is_some()
}

/// What the tags of one span say of its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SpanWeight {
    /// The first source, and what it says.
    first: Option<(WeightSource, Said)>,
    /// Whether another source says otherwise.
    disagrees: bool,
}

impl TagTable {
    /// Returns what a set of tags says of the weight of a span.
    fn weight_of(&self, set: TagSetId) -> SpanWeight {
        let mut found: Vec<(usize, WeightSource, Said)> = Vec::new();
        for &pair in self.pairs_of(set) {
            let (key, value) = self.pair(pair);
            let Some(&(_, of)) = self.weight_keys().iter().find(|(known, _)| *known == key) else { continue };
            if of.form == WeightForm::SamplerParam && !self.contains(set, SAMPLER_TYPE, PROBABILISTIC) {
                continue;
            }
            let Some(said) = of.form.read(value) else { continue };
            let source = match of.form {
                WeightForm::Chosen => WeightSource::Chosen,
                WeightForm::TraceState if said.is_some_and(|(_, is_power)| is_power) => {
                    WeightSource::Exponent
                }
                WeightForm::TraceState => WeightSource::Threshold,
                _ => WeightSource::Tag((of.place - 1) as u8),
            };
            found.push((of.place, source, said.map(|(weight, _)| weight)));
        }
        // The least weight of a key that is there twice: what is no weight comes last.
        found.sort_by_key(|&(place, _, said)| (place, said.is_none(), said));
        let first = found.first().map(|&(_, source, said)| (source, said));
        let disagrees = found.iter().any(|&(_, _, said)| first.is_some_and(|(_, first)| first != said));
        SpanWeight { first, disagrees }
    }

    /// Returns whether a set of tags may say a weight. Nearly free where no such tag was seen.
    pub(super) fn may_say_weights(&self) -> bool {
        self.weight_keys()
            .iter()
            .any(|(_, of)| of.form != WeightForm::SamplerParam || self.has_probabilistic())
    }

    /// Leaves in sets of (key, value) names only what says weights, as weights; in none of them anything if nothing does.
    pub(super) fn keep_weights(&self, sets: &mut Vec<Vec<(Symbol, Symbol)>>, names: &mut Interner) {
        let form = |key: &str| {
            let number = self.find_key(key)?;
            Some(self.weight_keys().iter().find(|(known, _)| *known == number)?.1)
        };
        for set in &mut *sets {
            let is_probabilistic = |&(key, value): &(Symbol, Symbol)| {
                names.get(key) == SAMPLER_TYPE && names.get(value) == PROBABILISTIC
            };
            let sampler = set.iter().copied().find(is_probabilistic);
            let mut kept = Vec::new();
            for &(key, value) in &*set {
                let Some(of) = form(names.get(key)) else { continue };
                let Some(weight) = of.stand_in(names.get(value)) else { continue };
                match of.form {
                    WeightForm::SamplerParam => match sampler {
                        Some(sampler) => kept.extend([sampler, (key, names.intern(&weight))]),
                        None => continue,
                    },
                    // Whoever reads it does not know what was chosen; nothing else counts beside it.
                    WeightForm::Chosen => {
                        kept = vec![(names.intern(CHOSEN_AS), names.intern(&weight))];
                        break;
                    }
                    _ => kept.push((key, names.intern(&weight))),
                }
            }
            *set = kept;
        }
        if sets.iter().all(Vec::is_empty) {
            sets.clear();
        }
    }

    /// Returns whether a sampler by probability was seen: others have parameters that are no weights, and are common.
    fn has_probabilistic(&self) -> bool {
        self.has_pair(SAMPLER_TYPE, PROBABILISTIC)
    }
}

impl TraceSet {
    /// Names the tag that says the weights of traces, before all others. Before anything is added.
    pub fn choose_weight_key(&mut self, key: &str) {
        self.tags.choose_weight_key(key);
    }

    /// Returns whether some trace stands for more than itself.
    pub fn has_weights(&self) -> bool {
        !self.weights.is_empty()
    }

    /// Returns how many requests a trace stands for, by its number.
    pub fn weight(&self, trace: u32) -> Weight {
        self.weights.get(trace as usize).copied().unwrap_or_default()
    }

    /// Takes note of the weight of the trace added last.
    pub(super) fn add_weight(&mut self) {
        let Some(trace) = self.traces.len().checked_sub(1) else { return };
        let said = self.span_of_weight(trace as u32).and_then(|(_, said)| said.first);
        let weight = said.and_then(|(_, weight)| weight).unwrap_or_default();
        if weight != Weight::ONE {
            self.weights.resize(trace, Weight::ONE);
            self.weights.push(weight);
        } else if !self.weights.is_empty() {
            self.weights.push(Weight::ONE);
        }
    }

    /// Returns the row that says the weight of a trace, with all that it says: the root, or else the earliest span that says
    /// something.
    fn span_of_weight(&self, trace: u32) -> Option<(u32, SpanWeight)> {
        let row = self.traces()[trace as usize];
        let of = |row: u32| (row, self.tags.weight_of(self.tag_set(row)));
        let says = |&(_, said): &(u32, SpanWeight)| said.first.is_some();
        let root = Some(of(row.first)).filter(says);
        root.or_else(|| row.rows().map(of).filter(says).min_by_key(|&(row, _)| (self.start_us(row), row)))
    }
}

/// What the traces of a set say of how they were sampled; sums, so reports of parts add up with [`merge`](Self::merge).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SamplingCounts {
    /// Traces by what says their weight.
    pub sources: BTreeMap<WeightSource, u64>,
    /// Traces of which nothing says it.
    pub without: u64,
    /// Traces of which the source is no weight; theirs is 1.
    pub invalid: u64,
    /// Traces whose weight was capped.
    pub capped: u64,
    /// Traces whose root has sources that disagree.
    pub disagreeing: u64,
    /// Traces of which another span says otherwise than the one that counts.
    pub varying: u64,
    /// Traces of a rate limiter, which says no weight.
    pub rate_limited: u64,
    /// Weights of all traces.
    pub weights: Weights,
}

impl SamplingCounts {
    /// Takes note of a trace. Costs nothing where no span has such a tag.
    pub fn observe(&mut self, set: &TraceSet, trace: u32) {
        self.weights.add(set.weight(trace));
        let row = set.traces()[trace as usize];
        let is_limited = set.tags.contains(set.tag_set(row.first), SAMPLER_TYPE, RATE_LIMITING);
        self.rate_limited += u64::from(is_limited);
        if !set.tags.may_say_weights() {
            self.without += 1;
            return;
        }
        let Some((at, said)) = set.span_of_weight(trace) else {
            self.without += 1;
            return;
        };
        let Some((source, weight)) = said.first else { return };
        *self.sources.entry(source).or_default() += 1;
        self.invalid += u64::from(weight.is_none());
        self.capped += u64::from(weight == Some(Weight::MOST));
        self.disagreeing += u64::from(said.disagrees);
        let varies = |row: u32| {
            let other = set.tags.weight_of(set.tag_set(row)).first;
            row != at && other.is_some_and(|(_, other)| other != weight)
        };
        self.varying += u64::from(row.rows().any(varies));
    }

    /// Adds the counts of another part.
    pub fn merge(&mut self, other: &SamplingCounts) {
        for (source, traces) in &other.sources {
            *self.sources.entry(*source).or_default() += traces;
        }
        self.without += other.without;
        self.invalid += other.invalid;
        self.capped += other.capped;
        self.disagreeing += other.disagreeing;
        self.varying += other.varying;
        self.rate_limited += other.rate_limited;
        self.weights.merge(&other.weights);
    }

    /// Returns whether some trace stands for more than itself.
    pub fn has_weights(&self) -> bool {
        self.weights.range.is_some_and(|(_, greatest)| greatest > Weight::ONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, Portable, Pseudonyms, RawSpan, Redaction, SpanId, TraceId, dump};

    /// Adds a trace of spans with these tags, each below the first, one microsecond after the other.
    fn add(set: &mut TraceSet, trace: u32, spans: &[&[(&str, &str)]]) {
        let mut raw = Vec::new();
        for (number, tags) in (0..).zip(spans) {
            set.tags.begin();
            tags.iter().for_each(|(key, value)| set.tags.add(key, value));
            raw.push(RawSpan {
                id: SpanId::hex(number + 1),
                parent: SpanId::hex(u64::from(number > 0)),
                start_us: 1000 + number,
                duration_us: 100 - 2 * number,
                operation: set.names.intern("get"),
                process: set.process("shop", "", TagSetId::EMPTY),
                tags: set.tags.finish(),
                flags: Flags::default(),
            });
        }
        assert_eq!(set.add_trace(TraceId::hex(u128::from(trace) + 1), &mut raw), Ok(()));
    }

    /// Returns the weight of a trace whose root has these tags, and what is counted of it.
    fn read(tags: &[(&str, &str)]) -> (f64, SamplingCounts) {
        let mut set = TraceSet::new();
        add(&mut set, 0, &[tags]);
        let mut counts = SamplingCounts::default();
        counts.observe(&set, 0);
        (set.weight(0).requests(), counts)
    }

    #[test]
    fn every_source_is_read_as_defined() {
        let jaeger = |kind, param| read(&[("sampler.type", kind), ("sampler.param", param)]).0;
        for (key, value, weight) in [
            (TRACE_STATE, "ot=th:c", 4.0),
            (TRACE_STATE, "rojo=00f0, ot=rv:1234;th:8 ,congo=t61", 2.0),
            (TRACE_STATE, "ot=th:0", 1.0),
            (TRACE_STATE, "ot=p:3", 8.0),
            (TRACE_STATE, "ot=th:c;p:3", 4.0),
            (TRACE_STATE, "ot=p:63", 1.0),
            (TRACE_STATE, "dd=s:1", 1.0),
            ("SampleRate", "20", 20.0),
            ("sampleRate", "2.5", 2.5),
            ("sample_rate", "1", 1.0),
            ("sampling.rate", "0.01", 100.0),
            ("_sampling_rate", "1.0", 1.0),
            ("_dd.rule_psr", "0.25", 4.0),
        ] {
            assert_eq!(read(&[(key, value)]).0, weight, "{key}={value}");
        }
        assert_eq!((jaeger("probabilistic", "0.001"), jaeger("const", "0.5")), (1000.0, 1.0));
        let limited = read(&[("sampler.type", "ratelimiting"), ("sampler.param", "2.0")]).1;
        assert_eq!((limited.rate_limited, limited.without, limited.has_weights()), (1, 1, false));
        // No weight: counted, and 1, whatever other sources say.
        for (key, value) in [
            (TRACE_STATE, "ot=th:"),
            (TRACE_STATE, "ot=th:123456789012345"),
            (TRACE_STATE, "ot=th:-8"),
            (TRACE_STATE, "ot=p:64"),
            ("SampleRate", "0.5"),
            ("SampleRate", "all"),
            ("sampling.rate", "0"),
            ("sampling.rate", "20"),
        ] {
            let (weight, counts) = read(&[(key, value), ("_dd.rule_psr", "0.5")]);
            assert_eq!((weight, counts.invalid, counts.disagreeing), (1.0, 1, 1), "{key}={value}");
        }
        let (weight, counts) = read(&[("SampleRate", "1e9")]);
        assert_eq!((weight, counts.capped), (Weight::MOST.requests(), 1));
        let (_, counts) = read(&[]);
        assert_eq!((counts.without, counts.weights.seen, counts.has_weights()), (1, 1, false));
    }

    #[test]
    fn the_root_counts_and_what_disagrees_is_counted() {
        let mut set = TraceSet::new();
        add(&mut set, 0, &[&[]]);
        assert!(!set.has_weights() && set.weights.is_empty());
        // Of several sources the first in the order of the definition.
        add(&mut set, 1, &[&[("SampleRate", "10"), (TRACE_STATE, "ot=th:c")]]);
        // Another span says otherwise.
        add(&mut set, 2, &[&[("SampleRate", "10")], &[("SampleRate", "20")]]);
        // Nothing at the root: the earliest that says something.
        add(&mut set, 3, &[&[], &[("sampling.rate", "0.5")], &[("SampleRate", "3")]]);
        add(&mut set, 4, &[&[("region", "eu")]]);
        let weights: Vec<f64> = (0..5).map(|trace| set.weight(trace).requests()).collect();
        assert_eq!(weights, [1.0, 4.0, 10.0, 2.0, 1.0]);
        let mut counts = SamplingCounts::default();
        (0..5).for_each(|trace| counts.observe(&set, trace));
        assert_eq!((counts.without, counts.disagreeing, counts.varying), (2, 1, 2));
        let sources: Vec<(&str, u64)> =
            counts.sources.iter().map(|(source, n)| (source.name(), *n)).collect();
        assert_eq!(sources, [("tracestate ot=th", 1), ("SampleRate", 1), ("sampling.rate", 1)]);
        assert_eq!(counts.weights.requests(), 18.0);
        set.retain(|trace| trace.id != TraceId::hex(2));
        let weights: Vec<f64> = (0..4).map(|trace| set.weight(trace).requests()).collect();
        assert_eq!(weights, [1.0, 10.0, 2.0, 1.0]);
        set.retain(|trace| trace.id == TraceId::hex(1));
        assert!(!set.has_weights());
    }

    #[test]
    fn a_chosen_tag_goes_before_all_others() {
        let mut set = TraceSet::new();
        set.choose_weight_key("my.rate");
        add(&mut set, 0, &[&[("my.rate", "0.1"), (TRACE_STATE, "ot=th:c")]]);
        add(&mut set, 1, &[&[("my.rate", "7")]]);
        add(&mut set, 2, &[&[(TRACE_STATE, "ot=th:c")]]);
        let weights: Vec<f64> = (0..3).map(|trace| set.weight(trace).requests()).collect();
        assert_eq!(weights, [10.0, 7.0, 4.0]);
    }

    #[test]
    fn weights_of_more_values_than_are_stored_are_kept() {
        let mut set = TraceSet::new();
        let state = |trace: u32| format!("ot=rv:{trace:014x};th:{:x}", 8 + trace % 8);
        for trace in 0..6000 {
            add(
                &mut set,
                trace,
                &[&[
                    (TRACE_STATE, &state(trace)),
                    ("sampling.rate", &(1.0 / (1 + trace) as f64).to_string()),
                ]],
            );
        }
        let long = format!("vendor={},ot=th:c", "x".repeat(300));
        add(&mut set, 6000, &[&[(TRACE_STATE, &long)]]);
        for trace in 0..6000 {
            let wanted = 16.0 / f64::from(8 - trace % 8);
            assert!((set.weight(trace).requests() / wanted - 1.0).abs() < 0.001, "{trace}");
        }
        assert_eq!(set.weight(6000).requests(), 4.0);
        // Traces that move to another set have the same weights there.
        let mut moved = TraceSet::new();
        assert_eq!(Portable::copy(&set, 4000..6001).add_to(&mut moved), Ok(()));
        for trace in 0..2001 {
            assert_eq!(moved.weight(trace), set.weight(4000 + trace), "{trace}");
        }
    }

    #[test]
    fn weights_stay_where_tags_are_left_out() {
        let mut set = TraceSet::new();
        add(&mut set, 0, &[&[(TRACE_STATE, "secret=1,ot=th:c"), ("user", "jane")], &[("user", "joe")]]);
        add(&mut set, 1, &[&[("sampler.type", "probabilistic"), ("sampler.param", "0.1")]]);
        add(&mut set, 2, &[&[("sampler.type", "const"), ("sampler.param", "true"), ("user", "jane")]]);
        let redacted = |set: &TraceSet, traces: std::ops::Range<u32>| {
            let mut portable = Portable::copy(set, traces);
            portable.redact(Redaction { tags: true, names: false }, &Pseudonyms::default(), set, 1);
            let mut out = TraceSet::new();
            assert_eq!(portable.add_to(&mut out), Ok(()));
            out
        };
        let out = redacted(&set, 0..3);
        assert_eq!([0, 1, 2].map(|trace| out.weight(trace).requests()), [4.0, 10.0, 1.0]);
        let text = dump(&out);
        assert!(!text.contains("secret") && !text.contains("jane") && text.contains("weight 4"), "{text}");
        // Where nothing says a weight, no tag is left.
        let out = redacted(&set, 2..3);
        assert!(out.tags.keys().is_empty(), "{}", dump(&out));
        // So is that of a chosen tag, under a name that is known.
        let mut set = TraceSet::new();
        set.choose_weight_key("my.rate");
        add(&mut set, 0, &[&[("my.rate", "0.125"), ("SampleRate", "3")]]);
        assert_eq!(redacted(&set, 0..1).weight(0).requests(), 8.0);
    }
}
