//! Random traces in two groups, dealt out to workers.

use super::{Span, span, stage};
use pathlight::trace::{Reading, ReadingRule, SpanKind, TraceSet};
use proptest::prelude::*;

prop_compose! {
    /// Makes spans of few traces, ids and endpoints, so that repetitions, orphans, cycles, skew and ties are common;
    /// says whether each belongs to set B.
    pub fn any_traces(count: usize)(
        raw in prop::collection::vec(
            (0u128..12, 1u64..7, 0u64..7, 0u8..4, 0u64..40, 0u64..30, 0u8..12, any::<bool>()), 1..count)
    ) -> Vec<(bool, Span)> {
        raw.into_iter().map(|(trace, id, parent, name, start, duration, odd, is_b)| {
            let mut out = span(id, parent, ["a", "b", "c", "d"][name as usize], 0, 0);
            (out.trace, out.start_us, out.duration_us) = (trace + 1, 50_000 + start * 97, duration * 197);
            out.kind = [SpanKind::Unspecified, SpanKind::Client, SpanKind::Server][usize::from(odd % 3)];
            if odd == 7 {
                // To the trace whose number is half of its own, or to one that is not there.
                (out.kind, out.link) = (SpanKind::Consumer, (trace / 2 + 1, parent));
            }
            out.error = odd > 8;
            out.follows_from = odd == 1;
            out.zone = ["", "eu", "us"][usize::from(odd / 4)];
            (is_b, out)
        }).collect()
    }
}

/// Makes any combination of the rules for real traces.
pub fn any_reading() -> impl Strategy<Value = Reading> {
    prop::collection::vec(any::<bool>(), ReadingRule::ALL.len()).prop_map(|on| {
        ReadingRule::ALL
            .into_iter()
            .zip(on)
            .fold(Reading::PLAIN, |reading, (rule, on)| reading.with(rule, on))
    })
}

/// Deals spans out one by one to sets, sealed now and then, so that traces are split over workers and loads.
pub fn sets_of(spans: &[(bool, Span)], workers: usize) -> Vec<TraceSet> {
    let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
    for (i, (is_b, span)) in spans.iter().enumerate() {
        let set = &mut sets[i % workers];
        set.loading_group = u8::from(*is_b);
        stage(set, std::slice::from_ref(span));
        if i % 7 == 6 {
            set.seal().unwrap();
        }
    }
    sets
}

/// Returns the same spans in another order.
pub fn shuffled(spans: &[(bool, Span)], seed: u64) -> Vec<(bool, Span)> {
    let mut shuffled = spans.to_vec();
    shuffled.sort_by_key(|(_, s)| (s.id ^ s.start_us).wrapping_mul(seed | 1));
    shuffled
}
