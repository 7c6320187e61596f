//! Counts of what the rules for real traces did to a set, with one example each (`docs/definitions/real-traces.md`).

use super::calls::{Unawaited, awaited_callee, callees, caller_stopped, is_call, process_name, unawaited};
use super::clocks::{Pair, pair_of};
use super::templates::MOST_RECORDED;
use super::{Reading, ReadingRule, Role, TraceId, TraceSet, Tree, hash_text, is_declared_async, template};
use hashbrown::HashMap;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::steps::in_blocks;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Something that was found in spans.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReadingFinding {
    /// Second spans for the work of the calls beside them.
    Overlay,
    /// Calls that are named with what they call.
    Callees,
    /// Calls with several callees, of which the first counts.
    SeveralCallees,
    /// Calls that take longer than their callee.
    Waiting,
    /// Spans whose name stands for many names with values in them.
    Templates,
    /// Spans that outlive their parent in the same process.
    NobodyWaits,
    /// Consumers whose parent is no producer.
    Consumers,
    /// Spans whose clock was set.
    Clocks,
    /// Callees that began after their caller gave up.
    GaveUp,
    /// Callees that go on after their caller stopped waiting, and are cut.
    StoppedWaiting,
    /// Roots beside the trace root that are requests of their own.
    Roots,
    /// Requests whose caller is not recorded.
    Incomplete,
    /// Roots beside the trace root, those whose parent is missing included.
    SeveralRoots,
    /// Roots whose parent is missing.
    OrphanRoots,
}

impl ReadingFinding {
    /// Returns the rule that finds it.
    pub fn rule(self) -> ReadingRule {
        match self {
            ReadingFinding::Overlay => ReadingRule::Overlay,
            ReadingFinding::Callees | ReadingFinding::SeveralCallees => ReadingRule::Callees,
            ReadingFinding::Waiting => ReadingRule::Waiting,
            ReadingFinding::Templates => ReadingRule::Templates,
            ReadingFinding::NobodyWaits | ReadingFinding::StoppedWaiting => ReadingRule::NobodyWaits,
            ReadingFinding::Consumers => ReadingRule::Consumers,
            ReadingFinding::Clocks | ReadingFinding::GaveUp => ReadingRule::Clocks,
            ReadingFinding::Roots
            | ReadingFinding::Incomplete
            | ReadingFinding::SeveralRoots
            | ReadingFinding::OrphanRoots => ReadingRule::Roots,
        }
    }

    /// Returns its key in JSON and in tests.
    pub fn key(self) -> &'static str {
        match self {
            ReadingFinding::Overlay
            | ReadingFinding::Callees
            | ReadingFinding::Waiting
            | ReadingFinding::Templates
            | ReadingFinding::NobodyWaits
            | ReadingFinding::Consumers
            | ReadingFinding::Clocks
            | ReadingFinding::Roots => self.rule().key(),
            ReadingFinding::SeveralCallees => "several-callees",
            ReadingFinding::GaveUp => "gave-up",
            ReadingFinding::StoppedWaiting => "stopped-waiting",
            ReadingFinding::Incomplete => "incomplete",
            ReadingFinding::SeveralRoots => "several-roots",
            ReadingFinding::OrphanRoots => "orphan-roots",
        }
    }
}

/// Number of spans of a finding, and an example.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundCount {
    /// Number of spans.
    pub spans: u64,
    /// Canonical id of one trace with such a span: the smallest.
    pub example: String,
}

/// Number of names with values in them, before and after they became templates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NameCount {
    /// Different names, as recorded.
    pub names: u64,
    /// Templates that stand for them.
    pub templates: u64,
    /// Whether there may be more names: a worker keeps 16,384 of one template.
    pub is_at_least: bool,
}

/// Names by the template that stands for them; an accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Folded {
    /// By template, the hashes of its names, ascending: names themselves would fill messages.
    names: BTreeMap<String, Vec<u64>>,
    is_at_least: bool,
}

impl Folded {
    /// Returns the names of the endpoints that are marked.
    fn of(set: &TraceSet, is_folded: &[bool]) -> Folded {
        let mut folded = Folded::default();
        for ((_, operation), _) in set.endpoints().zip(is_folded).filter(|(_, is_folded)| **is_folded) {
            match template(operation) {
                Cow::Owned(template) => {
                    folded.names.entry(template).or_default().push(hash_text(operation));
                }
                // It stands for names that were not kept.
                Cow::Borrowed(template) => {
                    folded.names.entry(template.to_owned()).or_default();
                    folded.is_at_least = true;
                }
            }
        }
        folded.names.values_mut().for_each(distinct);
        folded
    }

    fn merge(&mut self, other: Folded) {
        self.is_at_least |= other.is_at_least;
        for (template, mut names) in other.names {
            let into = self.names.entry(template).or_default();
            into.append(&mut names);
            distinct(into);
        }
    }

    /// Returns the count. Of each template those that one worker would keep: it does not depend on how many there are.
    fn count(&self) -> NameCount {
        let most = MOST_RECORDED as usize;
        NameCount {
            names: self.names.values().map(|names| names.len().clamp(1, most) as u64).sum(),
            templates: self.names.len() as u64,
            is_at_least: self.is_at_least || self.names.values().any(|names| names.len() > most),
        }
    }
}

/// Sorts numbers and leaves out those that repeat.
fn distinct(numbers: &mut Vec<u64>) {
    numbers.sort_unstable();
    numbers.dedup();
}

/// The clocks of two processes, in the traces in which one calls the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockPair {
    /// Traces with such calls.
    pub traces: u64,
    /// Shifts of callees in traces in which they were moved, in microseconds, sorted.
    pub shifts_us: Vec<i64>,
}

impl ClockPair {
    /// Shifts up to this are no fault of a clock.
    const FAULT_US: i64 = 1_000;
    /// The fewest traces that can show a fault, and the share of them, in percent, that must agree.
    const FAULT_TRACES: u64 = 20;
    const FAULT_SHARE: u64 = 95;

    /// Returns the lower median of the shifts of all traces, 0 where nothing was moved, in microseconds.
    pub fn median_us(&self) -> i64 {
        let still = (self.traces as usize).saturating_sub(self.shifts_us.len());
        let earlier = self.shifts_us.partition_point(|&shift| shift < 0);
        let middle = (self.traces.max(1) as usize - 1) / 2;
        let at = match middle {
            _ if middle < earlier => Some(middle),
            _ if middle < earlier + still => None,
            _ => Some(middle - still),
        };
        at.and_then(|at| self.shifts_us.get(at)).copied().unwrap_or(0)
    }

    /// Returns whether a clock is wrong: nearly always to the same side, by more than a millisecond.
    pub fn is_fault(&self) -> bool {
        let earlier = self.shifts_us.partition_point(|&shift| shift < -Self::FAULT_US) as u64;
        let later =
            (self.shifts_us.len() - self.shifts_us.partition_point(|&shift| shift <= Self::FAULT_US)) as u64;
        self.traces >= Self::FAULT_TRACES && earlier.max(later) * 100 >= self.traces * Self::FAULT_SHARE
    }
}

/// Counts of all that was found; an accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingCounts {
    /// Counts by the rule that found something.
    pub found: BTreeMap<ReadingFinding, FoundCount>,
    /// By caller and callee, each `service` or `service@host`: clocks that were set in some trace.
    pub clocks: BTreeMap<(String, String), ClockPair>,
    /// Names with values in them that count as one, once all parts are merged.
    pub names: NameCount,
    folded: Folded,
}

impl ReadingCounts {
    /// Adds the counts of other traces.
    pub fn merge(&mut self, other: ReadingCounts) {
        self.folded.merge(other.folded);
        for (found, count) in other.found {
            let into = self.found.entry(found).or_default();
            if into.spans == 0 || count.example < into.example {
                into.example = count.example;
            }
            into.spans += count.spans;
        }
        for (pair, clock) in other.clocks {
            let into = self.clocks.entry(pair).or_default();
            into.traces += clock.traces;
            into.shifts_us.extend(clock.shifts_us);
            into.shifts_us.compact_sort();
        }
    }

    /// Counts names and leaves out pairs whose clocks were never set, once all parts are merged.
    pub fn finish(&mut self) {
        self.names = std::mem::take(&mut self.folded).count();
        self.clocks.retain(|_, clock| !clock.shifts_us.is_empty());
    }
}

/// Counts while trees of one set pass by.
#[derive(Default)]
pub struct ReadingObserver {
    found: BTreeMap<ReadingFinding, (u64, Option<TraceId>)>,
    pairs: HashMap<Pair, ClockPair, FxBuildHasher>,
    /// By endpoint as recorded: whether it is one of many names with values in them.
    is_folded: Vec<bool>,
    /// By pair in the current trace: how far callees were moved.
    here: HashMap<Pair, i64, FxBuildHasher>,
    /// Roots of the requests of the current trace.
    requests: Vec<u32>,
}

impl ReadingObserver {
    /// Takes note of a trace once its tree is loaded.
    pub fn observe(&mut self, set: &TraceSet, tree: &Tree) {
        let trace = set.traces()[tree.trace as usize].id;
        let mut note = |found| {
            let (spans, example) = self.found.entry(found).or_default();
            *spans += 1;
            if example.is_none_or(|id: TraceId| trace.compare(id, &set.id_texts) == Ordering::Less) {
                *example = Some(trace);
            }
        };
        let has_clocks = tree.settings.reading.has(ReadingRule::Clocks);
        let has_waiting = tree.settings.reading.has(ReadingRule::Waiting);
        let has_callees = tree.settings.reading.has(ReadingRule::Callees);
        self.here.clear();
        self.is_folded.resize(set.endpoints().len(), false);
        in_blocks(tree.len(), &mut |block| {
            for span in block.map(|span| span as u32) {
                if set.says_callee(tree.row(span)) {
                    note(ReadingFinding::Callees);
                }
                if has_callees && is_call(set, tree, span) && callees(set, tree, span).nth(1).is_some() {
                    note(ReadingFinding::SeveralCallees);
                }
                if set.is_folded(tree.row(span)) {
                    note(ReadingFinding::Templates);
                    self.is_folded[set.recorded_endpoint(tree.row(span)).0 as usize] = true;
                }
                if has_waiting
                    && let Some(awaited) = awaited_callee(set, tree, span)
                    && tree.duration_us(awaited.callee) < tree.duration_us(span)
                {
                    note(ReadingFinding::Waiting);
                }
                let Some(parent) = tree.parent_of(span) else {
                    if span > 0 {
                        note(ReadingFinding::SeveralRoots);
                    }
                    if set.flags(tree.row(span)).is_orphan() {
                        note(ReadingFinding::OrphanRoots);
                    }
                    continue;
                };
                let shift = tree.clock_shift_us(span);
                if shift != 0 {
                    note(ReadingFinding::Clocks);
                }
                let pair = pair_of(set, tree, parent, span);
                let is_other = pair.0 != pair.1;
                match tree.role[span as usize] {
                    Role::Overlay => note(ReadingFinding::Overlay),
                    Role::Async => match unawaited(set, tree, span) {
                        Some(Unawaited::CallerGaveUp) => note(ReadingFinding::GaveUp),
                        Some(Unawaited::OutlivesParent) => note(ReadingFinding::NobodyWaits),
                        None if is_by_rule(set, tree, span, parent) => note(ReadingFinding::Consumers),
                        None => {}
                    },
                    Role::Sync if is_other && is_call(set, tree, parent) => {
                        if caller_stopped(set, tree, span) {
                            note(ReadingFinding::StoppedWaiting);
                        }
                        if has_clocks {
                            self.here.insert(pair, shift - tree.clock_shift_us(parent));
                        }
                    }
                    _ => {}
                }
            }
        });
        let shape = set.traces()[tree.trace as usize].shape;
        if shape.roots > 1 || shape.is_incomplete() {
            tree.requests(set, &mut self.requests);
            let (found, before) = if tree.is_incomplete(set) {
                (ReadingFinding::Incomplete, 0)
            } else {
                (ReadingFinding::Roots, 1)
            };
            self.requests.iter().skip(before).for_each(|_| note(found));
        }
        for (pair, shift) in self.here.drain() {
            let clock = self.pairs.entry(pair).or_default();
            clock.traces += 1;
            if shift != 0 {
                clock.shifts_us.push(shift);
            }
        }
    }

    /// Returns the counts.
    pub fn finish(self, set: &TraceSet) -> ReadingCounts {
        let found = self.found.into_iter().map(|(found, (spans, example))| {
            let example = example.map(|id| id.to_text(&set.id_texts)).unwrap_or_default();
            (found, FoundCount { spans, example })
        });
        let found = found.collect();
        let folded = Folded::of(set, &self.is_folded);
        let mut counts = ReadingCounts { found, folded, ..ReadingCounts::default() };
        for ((caller, callee), mut clock) in self.pairs {
            clock.shifts_us.compact_sort();
            counts.clocks.insert((process_name(set, caller), process_name(set, callee)), clock);
        }
        counts
    }
}

/// Returns whether a span is asynchronous only because consumers are.
fn is_by_rule(set: &TraceSet, tree: &Tree, span: u32, parent: u32) -> bool {
    !is_declared_async(set, tree.row(span), tree.row(parent), Reading::PLAIN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, PathSettings, PlaceFacts, RawSpan, SpanId, SpanKind, TagSetId};

    #[test]
    fn a_clock_is_wrong_if_it_nearly_always_errs_to_one_side() {
        let pair = |traces, shifts_us: Vec<i64>| ClockPair { traces, shifts_us };
        let mut shifts = vec![-2_000; 19];
        assert!(!pair(19, shifts.clone()).is_fault(), "too few traces");
        assert!(pair(20, shifts.clone()).is_fault());
        assert!(!pair(21, shifts.clone()).is_fault(), "19 of 21 is below 95 %");
        shifts.push(3_000);
        assert!(pair(20, shifts.clone()).is_fault());
        assert_eq!(pair(20, shifts).median_us(), -2_000);
        assert!(!pair(20, vec![1_000; 20]).is_fault());
        assert!(pair(20, vec![1_001; 20]).is_fault());
        // Traces in which nothing moved stand between both sides.
        assert_eq!(pair(5, vec![-7, 8]).median_us(), 0);
        assert_eq!(pair(5, vec![-9, -8, -7, 8]).median_us(), -7);
        assert_eq!(pair(4, vec![5, 6, 7]).median_us(), 5);
    }

    #[test]
    fn names_that_became_templates_are_counted_alike_for_any_number_of_workers() {
        // Each worker keeps what it reads first: 16,384 of one template.
        let worker = |numbers: std::ops::Range<u32>| {
            let mut set = TraceSet::new();
            let service = set.process("a", "", TagSetId::EMPTY);
            for number in numbers {
                // Two templates, the second with 200 names.
                let name = match number % 10 {
                    0 => format!("cart {}", 1000 + number % 2000),
                    _ => format!("GET /user/{}", 1000 + number),
                };
                let mut raw = [RawSpan {
                    id: SpanId::hex(1),
                    parent: SpanId::hex(0),
                    start_us: 1,
                    duration_us: 1,
                    operation: set.operation(&name),
                    process: service,
                    tags: TagSetId::EMPTY,
                    flags: Flags::of_kind(SpanKind::Server),
                }]
                .to_vec();
                assert_eq!(set.add_trace(TraceId::hex(u128::from(number) + 1), &mut raw), Ok(()));
            }
            set
        };
        let count = |parts: &[(u32, u32)]| {
            let mut sets: Vec<TraceSet> = parts.iter().map(|&(from, to)| worker(from..to)).collect();
            let mut facts = PlaceFacts::default();
            sets.iter().for_each(|set| facts.merge(PlaceFacts::of(set)));
            let names = facts.names(Reading::real());
            let mut sum = ReadingCounts::default();
            for set in &mut sets {
                set.name_places(Some(&names), false);
                let (mut observer, mut tree) = (ReadingObserver::default(), Tree::default());
                for trace in 0..set.traces().len() as u32 {
                    tree.load(set, trace, PathSettings::default());
                    observer.observe(set, &tree);
                }
                sum.merge(observer.finish(set));
            }
            sum.finish();
            (sum.found[&ReadingFinding::Templates].spans, sum.names)
        };
        let exact = NameCount { names: 9_090 + 200, templates: 2, is_at_least: false };
        assert_eq!(count(&[(0, 10_100)]), (10_100, exact));
        assert_eq!(count(&[(5_000, 10_100), (0, 6_000)]), (11_100, exact));
        let most = NameCount { names: 16_384 + 200, templates: 2, is_at_least: true };
        for parts in [
            vec![(0, 40_000)],
            vec![(0, 20_000), (20_000, 40_000)],
            vec![(0, 16_000), (16_000, 32_000), (32_000, 40_000)],
        ] {
            assert_eq!(count(&parts), (40_000, most));
        }
    }

    #[test]
    fn further_roots_are_counted_with_an_example() {
        let mut set = TraceSet::new();
        // Starts and parents of the spans of each trace. Parent 9 is missing; what starts at 2 lies within the first
        // root, what starts at 200 is a request of its own.
        let traces: [&[(u64, u64)]; 4] =
            [&[(0, 0)], &[(0, 0), (2, 9)], &[(0, 0), (2, 0), (200, 0)], &[(0, 0), (200, 0)]];
        for (trace, spans) in (1..).zip(traces) {
            let mut raw: Vec<RawSpan> = Vec::new();
            for (number, &(start_us, parent)) in (1..).zip(spans) {
                raw.push(RawSpan {
                    id: SpanId::hex(number),
                    parent: SpanId::hex(parent),
                    start_us: 1000 + start_us,
                    duration_us: if number == 1 { 100 } else { 10 },
                    operation: set.operation("work"),
                    process: set.process("a", "", TagSetId::EMPTY),
                    tags: TagSetId::EMPTY,
                    flags: Flags::of_kind(SpanKind::Server),
                });
            }
            assert_eq!(set.add_trace(TraceId::hex(trace), &mut raw), Ok(()));
        }
        let count = |reading| {
            let (mut observer, mut tree) = (ReadingObserver::default(), Tree::default());
            for trace in 0..4 {
                tree.load(&set, trace, PathSettings { reading, ..PathSettings::default() });
                observer.observe(&set, &tree);
            }
            let found = observer.finish(&set).found;
            [ReadingFinding::Roots, ReadingFinding::SeveralRoots, ReadingFinding::OrphanRoots]
                .map(|of| found.get(&of).map(|count| (count.spans, count.example.clone())))
        };
        let some = |spans, trace: u32| Some((spans, format!("{trace:032x}")));
        assert_eq!(count(Reading::real()), [some(2, 3), some(4, 2), some(1, 2)]);
        assert_eq!(count(Reading::PLAIN), [None, some(4, 2), some(1, 2)]);
    }

    #[test]
    fn a_call_with_several_callees_is_counted() {
        let mut set = TraceSet::new();
        let spans = [(0, "a", SpanKind::Client), (1, "b", SpanKind::Server), (1, "c", SpanKind::Server)];
        for trace in 1..=2 {
            let mut raw: Vec<RawSpan> = Vec::new();
            // The second trace has one callee.
            for (number, &(parent, service, kind)) in spans.iter().enumerate().take(4 - trace) {
                raw.push(RawSpan {
                    id: SpanId::hex(number as u64 + 1),
                    parent: SpanId::hex(parent),
                    start_us: 1,
                    duration_us: 9,
                    operation: set.operation("call"),
                    process: set.process(service, "", TagSetId::EMPTY),
                    tags: TagSetId::EMPTY,
                    flags: Flags::of_kind(kind),
                });
            }
            assert_eq!(set.add_trace(TraceId::hex(trace as u128), &mut raw), Ok(()));
        }
        let several = |reading| {
            let (mut observer, mut tree) = (ReadingObserver::default(), Tree::default());
            for trace in 0..2 {
                tree.load(&set, trace, PathSettings { reading, ..PathSettings::default() });
                observer.observe(&set, &tree);
            }
            observer.finish(&set).found.get(&ReadingFinding::SeveralCallees).cloned()
        };
        let example = format!("{:032x}", 1);
        assert_eq!(several(Reading::real()), Some(FoundCount { spans: 1, example }));
        assert_eq!(several(Reading::PLAIN), None);
    }
}
