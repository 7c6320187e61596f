//! The weights of traces in words, for the page, the command line, Markdown and saved reports.

use crate::address::choices::with_chosen;
use crate::reading::words::Note;
use pathlight_base::format::{agreeing, count, counted, duration, endpoint, number, printable, share};
use pathlight_base::statistics::{Weight, Weights};
use pathlight_engine::queries::OverviewReport;
use pathlight_engine::requests::{ChosenSigns, RangeFacts, WeightedFacts};
use pathlight_trace::{Endpoint, SamplingCounts};

/// Which numbers use weights, said wherever traces have some.
pub const USE: &str = "Times, shares, percentiles, error rates, costs and verdicts go by weight. Each trace counts once in what is said of \
                       single requests and of structure: Flow, Diagnosis, Anomalies, Tags, queues, bursts, work after answers or \
                       outside requests; and in numbers of requests, calls and spans, but those of errors.";

/// The same where all weights are equal.
const ALIKE: &str = "percentiles, means, shares and verdicts are the same either way, and sums are those of all these requests. \
                     Numbers of requests, calls and spans, but those of errors, count each trace once.";

/// Which numbers of a summary use weights.
pub const SUMMED_USE: &str =
    "Trend, Compare and check go by weight; the other numbers of a summary count each trace once.";

/// Title of the menu of tags that may say weights.
pub const MENU: &str = "How many requests a trace stands for is said by";

/// Returns the choices of this menu, by the key in the address (empty: none), with their words. `chosen` is the one in the
/// address.
pub fn menu(overview: &OverviewReport, chosen: Option<&str>) -> Vec<(String, String)> {
    let keys = with_chosen(overview.number_keys(), chosen).into_iter().map(|key| {
        let words = format!("the tag {}", printable(&key));
        (key, words)
    });
    std::iter::once((String::new(), "what samplers write".to_owned())).chain(keys).collect()
}

/// Returns that no span has the tag that a person named for weights.
pub fn no_such_tag(key: &str) -> String {
    format!("No span has the tag {}, so weights are what samplers write, or 1.", printable(key))
}

/// Returns what is said where traces with weights are summed up in a file.
pub fn summed() -> String {
    format!("Traces say that they were sampled and stand for several requests each. {SUMMED_USE}")
}

/// Returns that numbers of some requests go by weight, and how many requests they say as much as; `None` if each stands for
/// itself.
pub fn by_weight(all: &Weights) -> Option<String> {
    (!all.are_ones()).then(|| {
        format!(
            "Traces were sampled: numbers are those of about {} requests (effective number {}).",
            about(all.requests()),
            about(all.effective())
        )
    })
}

/// Returns a number of requests that some stand for, as people say it: of more than ten thousand the first two digits.
pub fn about(requests: f64) -> String {
    match requests {
        r if r >= 999_500_000.0 => format!("{} billion", number(two_digits(r) / 1e9)),
        r if r >= 999_500.0 => format!("{} million", number(two_digits(r) / 1e6)),
        r if r >= 10_000.0 => count(two_digits(r) as u64),
        r => count(r.round() as u64),
    }
}

/// Returns a number rounded to its first two digits.
fn two_digits(value: f64) -> f64 {
    let unit = 10f64.powi(value.log10().floor() as i32 - 1);
    (value / unit).round() * unit
}

/// Returns a weight as a number.
fn weight(weight: Weight) -> String {
    number(weight.requests())
}

/// Returns the range of some weights: `1 to 2,000`, or one number.
pub fn weights((least, greatest): (Weight, Weight)) -> String {
    if least == greatest { weight(least) } else { format!("{} to {}", weight(least), weight(greatest)) }
}

/// Returns what requests stand for, as a part of a sentence about their traces: ` for about 1.9 million requests`; empty if
/// each stands for itself.
pub fn stand_for(facts: &RangeFacts) -> String {
    let all = facts.weighted.as_ref().map(|weighted| weighted.all.requests());
    all.map_or_else(String::new, |requests| format!(" for about {} requests", about(requests)))
}

/// Returns what weights change of the numbers of some requests, and which numbers go by them; `None` if each stands for
/// itself.
pub fn note(facts: &RangeFacts) -> Option<String> {
    let WeightedFacts { all, all_latency_us, all_counted_us, is_off, is_summed, .. } =
        facts.weighted.as_ref()?;
    let each = all.range.map_or_else(String::new, weights);
    if *is_summed && *is_off {
        return Some(format!("Traces stand for {each} requests each. {SUMMED_USE}"));
    }
    if *is_off {
        return Some(format!(
            "Traces stand for {each} requests each, but as chosen all numbers count each trace once."
        ));
    }
    if all.are_equal() {
        return Some(format!("Traces were sampled alike and stand for {each} requests each: {ALIKE}"));
    }
    let [weighted, counted] = [all_latency_us.p99, all_counted_us.p99].map(duration);
    let p99 = match weighted == counted {
        true => format!("p99 is {weighted} either way"),
        false => format!("p99 is {weighted} by weight, {counted} if each trace counts once"),
    };
    let effective = about(all.effective());
    Some(format!(
        "Traces were sampled and stand for {each} requests each: {p99}. They say as much as {effective} that were all kept would. \
         {USE}"
    ))
}

/// Returns that two sides differ for how they were sampled perhaps, where weights are not to count; `None` if they do, or if the
/// traces of each side stand for equally many requests.
pub fn compared(a: &RangeFacts, b: &RangeFacts) -> Option<&'static str> {
    let is_uneven =
        |facts: &RangeFacts| facts.weighted.as_ref().is_some_and(|of| of.is_off && !of.all.are_equal());
    (is_uneven(a) || is_uneven(b)).then_some(
        "Traces stand for unequal numbers of requests, and you chose to count each once: differences may be those of how they were \
         sampled.",
    )
}

/// Returns notes on what traces say of how they were sampled.
pub fn notes(counts: &SamplingCounts) -> Vec<Note> {
    let note = |key, count, what: &'static str, meaning: String| Note {
        key,
        count,
        what: what.into(),
        meaning,
        example: String::new(),
    };
    let named: u64 = counts.sources.values().sum();
    let sources: Vec<String> = counts
        .sources
        .iter()
        .map(|(source, traces)| format!("{} by {}", count(*traces), source.name()))
        .collect();
    let mut meaning = format!(
        "{}. Weights are {}; all traces together stand for about {} requests.",
        sources.join(", "),
        counts.weights.range.map_or_else(String::new, weights),
        about(counts.weights.requests())
    );
    if counts.without > 0 {
        let as_one = agreeing(
            counts.without,
            "says nothing, and counts as one request",
            "say nothing, and count as one request each",
        );
        meaning += &format!(" {} {as_one}.", counted(counts.without, "trace"));
    }
    meaning.push(' ');
    meaning += USE;
    let mut notes = vec![
        note("weights", named, "traces that say how many requests they stand for", meaning),
        note(
            "weights-invalid",
            counts.invalid,
            "traces whose weight is no number of requests",
            "They count as one request each.".to_owned(),
        ),
        note(
            "weights-disagree",
            counts.disagreeing,
            "traces that say their weight in several ways that disagree",
            "The first counts: tracestate, then the sample rate, then a probability.".to_owned(),
        ),
        note(
            "weights-vary",
            counts.varying,
            "traces of which another span says another weight than the root",
            "What the root says counts.".to_owned(),
        ),
        note(
            "weights-capped",
            counts.capped,
            "traces that stand for 16 million requests or more",
            "Their weight is capped there.".to_owned(),
        ),
        note(
            "rate-limited",
            counts.rate_limited,
            "traces that a rate limiter has chosen",
            "It does not say how many it left out, so each counts as one request.".to_owned(),
        ),
    ];
    notes.retain(|note| note.count > 0);
    notes
}

/// Returns a note that traces which say nothing of their sampling look chosen; `None` if there are too few signs.
pub fn chosen(signs: &ChosenSigns) -> Option<Note> {
    if !signs.are_enough() {
        return None;
    }
    let latency = signs.latency.as_ref().map(|limit| {
        let Endpoint { service, operation } = limit.kind.name();
        let (above, below) = limit.around;
        format!(
            "of {}, {} from {} on and up to 5 % longer, and {} as much shorter",
            endpoint(&service, &operation),
            counted(above, "request"),
            duration(limit.at_us as f64),
            count(below)
        )
    });
    let errors = signs.errors.map(|(here, there)| {
        format!(
            "{} of the traces have an error, of the same types in the other set {}",
            share(here),
            share(there)
        )
    });
    let rate = signs.rate.map(|(types, requests)| {
        format!("{} request types have just {} in each minute", count(types), counted(requests, "request"))
    });
    let found: Vec<String> = [latency, errors, rate].into_iter().flatten().collect();
    Some(Note {
        key: "chosen",
        count: found.len() as u64,
        what: "signs that these traces were chosen by latency, errors or a limit of their rate".into(),
        meaning: format!(
            "They say no weights, but {}. Percentiles, shares and error rates are those of the chosen; comparisons between sets \
             chosen alike hold.",
            found.join("; ")
        ),
        example: String::new(),
    })
}

/// Returns whether a note on sampling is no fault of the traces.
pub fn is_calm(note: &Note) -> bool {
    matches!(note.key, "weights" | "rate-limited")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::{Percentiles, Weights};
    use pathlight_trace::WeightSource;

    #[test]
    fn numbers_of_requests_are_said_as_people_do() {
        let said = [9_999.4, 1.0, 12_345.0, 1_943_210.0, 999_700.0, 2.46e9].map(about);
        let grouped = |value| count(value);
        assert_eq!(
            said,
            [
                grouped(9_999),
                "1".to_owned(),
                grouped(12_000),
                "1.9 million".to_owned(),
                "1 million".to_owned(),
                "2.5 billion".to_owned()
            ]
        );
    }

    #[test]
    fn what_traces_say_of_their_sampling_is_counted_with_its_source() {
        assert!(notes(&SamplingCounts::default()).is_empty());
        let weight = |requests| Weight::of_count(requests).unwrap_or_default();
        let counts = SamplingCounts {
            sources: [(WeightSource::Threshold, 3), (WeightSource::Tag(1), 1)].into(),
            without: 1,
            varying: 2,
            weights: Weights::of([4.0, 4.0, 4.0, 50.5, 1.0].map(weight)),
            ..SamplingCounts::default()
        };
        let said: Vec<(&str, u64, String)> =
            notes(&counts).into_iter().map(|note| (note.key, note.count, note.meaning)).collect();
        assert_eq!(
            said[0],
            (
                "weights",
                4,
                format!(
                    "3 by tracestate ot=th, 1 by SampleRate. Weights are 1 to 50.5; all traces together stand for about 64 \
                     requests. 1 trace says nothing, and counts as one request. {USE}"
                )
            )
        );
        assert_eq!((said.len(), said[1].0, said[1].1), (2, "weights-vary", 2));
    }

    #[test]
    fn what_weights_change_is_said_with_both_numbers() {
        assert_eq!((stand_for(&RangeFacts::default()), note(&RangeFacts::default())), (String::new(), None));
        let weight = |requests| Weight::of_count(requests).unwrap_or_default();
        let p99 = |p99| Percentiles { p99, ..Percentiles::default() };
        let weighted = WeightedFacts {
            all: Weights::of([weight(1.0), weight(1.0), weight(2000.0)]),
            all_latency_us: p99(310_000.0),
            all_counted_us: p99(1_240_000.0),
            ..WeightedFacts::default()
        };
        let said = |weighted: WeightedFacts| {
            note(&RangeFacts { weighted: Some(weighted), ..RangeFacts::default() }).unwrap_or_default()
        };
        let each = format!("stand for 1 to {} requests each", count(2000));
        let [by_weight, counted] = [310_000.0, 1_240_000.0].map(duration);
        assert_eq!(
            said(weighted.clone()),
            format!(
                "Traces were sampled and {each}: p99 is {by_weight} by weight, {counted} if each trace counts once. They say as \
                 much as 1 that were all kept would. {USE}"
            )
        );
        let off = WeightedFacts { is_off: true, ..weighted.clone() };
        assert_eq!(said(off), format!("Traces {each}, but as chosen all numbers count each trace once."));
        let alike = WeightedFacts { all: Weights::of([weight(10.0); 3]), ..weighted.clone() };
        assert_eq!(said(alike), format!("Traces were sampled alike and stand for 10 requests each: {ALIKE}"));
        let facts = RangeFacts { weighted: Some(weighted), ..RangeFacts::default() };
        assert_eq!(stand_for(&facts), format!(" for about {} requests", count(2002)));
    }

    #[test]
    fn sides_of_uneven_samples_differ_perhaps_by_these() {
        let side = |weights: &[f64], is_off| {
            let all = Weights::of(weights.iter().map(|of| Weight::of_count(*of).unwrap_or_default()));
            let weighted = Some(WeightedFacts { all, is_off, ..WeightedFacts::default() });
            RangeFacts { weighted, ..RangeFacts::default() }
        };
        let plain = RangeFacts::default();
        assert_eq!(compared(&plain, &side(&[100.0, 100.0], true)), None);
        assert!(compared(&plain, &side(&[1.0, 100.0], true)).is_some());
        assert!(compared(&side(&[1.0, 100.0], true), &plain).is_some());
        assert_eq!(compared(&plain, &side(&[1.0, 100.0], false)), None, "they count by weight");
    }

    #[test]
    fn tags_of_numbers_may_say_weights() {
        use pathlight_engine::queries::TagKey;
        let tag = |key: &str, is_number| TagKey {
            key: key.to_owned(),
            values: Vec::new(),
            high_cardinality: false,
            is_number,
        };
        let overview = OverviewReport {
            tag_keys: vec![tag("kept.of", true), tag("region", false)],
            ..OverviewReport::default()
        };
        let keys = |chosen| -> Vec<String> { menu(&overview, chosen).into_iter().map(|of| of.0).collect() };
        assert_eq!(keys(None), ["", "kept.of"]);
        assert_eq!(
            (keys(Some("kept.of")), keys(Some("other"))),
            (keys(None), vec!["".into(), "kept.of".into(), "other".into()])
        );
    }

    #[test]
    fn traces_that_look_chosen_are_said_to_be_with_the_signs() {
        use pathlight_engine::requests::{LatencyLimit, RequestType};
        assert_eq!(chosen(&ChosenSigns::default()), None);
        let kind = RequestType::whole(Endpoint::new("shop", "GET /"));
        let latency = Some(LatencyLimit { kind, at_us: 500_000, around: (200, 3), above: 900 });
        let signs = ChosenSigns { latency, errors: Some((0.4, 0.01)), rate: None };
        let note = chosen(&signs).unwrap();
        assert_eq!((note.key, note.count), ("chosen", 2));
        let at = duration(500_000.0);
        assert!(
            note.meaning.contains(&format!("200 requests from {at} on and up to 5 % longer, and 3 as much"))
        );
        assert!(note.meaning.contains(&format!("; {} of the traces have an error", share(0.4))), "{note:?}");
    }
}
