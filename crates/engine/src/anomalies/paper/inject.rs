//! Making abnormal requests out of normal ones, for the evaluation (paper section 7.3; `docs/definitions/anomaly.md` section 7).

use crate::flame::PathFinder;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Random, mix};
use pathlight_trace::{
    EndpointId, Flags, LATEST_US, NO_ROW, Overlap, RawSpan, Role, SetFull, SpanId, TraceSet, Tree,
};
use serde::{Deserialize, Serialize};

/// Way to make a request abnormal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Injection {
    /// The paper's recipe: a fifth of the spans dropped, durations permuted over the rest.
    Recipe,
    /// A fifth of the spans dropped with their subtrees.
    Structure,
    /// Durations permuted over all spans.
    Durations,
    /// A call is made again, with all below it, right after it has ended.
    Retry,
    /// A call that calls nothing is made five to ten times more, one after the other.
    Repeated,
    /// The calls of a span that overlapped are made one after the other.
    Serial,
    /// A span fails, and with it all that wait for it.
    Error,
    /// Every topmost span of one endpoint takes so many times as long, and what comes after it comes later.
    Slower {
        /// Hundredths: 300 is three times as long.
        percent: u32,
    },
    /// One span takes so many times as long. On the critical path what comes after it comes later; off the path only
    /// what contains it grows, if it must.
    OneSlower {
        /// Hundredths.
        percent: u32,
        /// Whether it is on the critical path.
        is_on_path: bool,
    },
    /// Nothing is wrong: all times are so many times as long, as under a higher load.
    Drift {
        /// Hundredths.
        percent: u32,
    },
}

impl Injection {
    /// Those that the evaluation looks at.
    pub const ALL: [Injection; 15] = [
        Injection::Recipe,
        Injection::Structure,
        Injection::Durations,
        Injection::Retry,
        Injection::Repeated,
        Injection::Serial,
        Injection::Error,
        Injection::Slower { percent: 300 },
        Injection::OneSlower { percent: 200, is_on_path: true },
        Injection::OneSlower { percent: 500, is_on_path: true },
        Injection::OneSlower { percent: 1000, is_on_path: true },
        Injection::OneSlower { percent: 200, is_on_path: false },
        Injection::OneSlower { percent: 500, is_on_path: false },
        Injection::OneSlower { percent: 1000, is_on_path: false },
        Injection::Drift { percent: 150 },
    ];

    /// Returns the injection in words.
    pub fn name(self) -> String {
        let times = |percent: u32| f64::from(percent) / 100.0;
        match self {
            Injection::Recipe => "spans dropped, durations permuted".to_owned(),
            Injection::Structure => "spans dropped".to_owned(),
            Injection::Durations => "durations permuted".to_owned(),
            Injection::Retry => "a call made again".to_owned(),
            Injection::Repeated => "a call made 6 to 11 times".to_owned(),
            Injection::Serial => "parallel calls made serial".to_owned(),
            Injection::Error => "an error".to_owned(),
            Injection::Slower { percent } => format!("one endpoint {} times slower", times(percent)),
            Injection::OneSlower { percent, is_on_path } => {
                let place = if is_on_path { "on" } else { "off" };
                format!("one span {place} the path {} times slower", times(percent))
            }
            Injection::Drift { percent } => format!("nothing, all {} times slower", times(percent)),
        }
    }

    /// Returns whether a request is abnormal after it. Drift is none: it shows how many false alarms a load brings.
    pub fn is_abnormal(self) -> bool {
        !matches!(self, Injection::Drift { .. })
    }
}

/// Returns whether the evaluation keeps a trace out of training; about every second one, by a seeded hash of its id.
pub fn is_held_out(seed: u64, trace_id: &str) -> bool {
    Random::of(mix(seed), trace_id).below(2) == 1
}

/// Choice of the requests that are made abnormal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Victims {
    /// Requests that are [held out](is_held_out).
    HeldOut,
    /// One in twenty of those that are not: training learns from them too.
    Training,
}

impl Victims {
    /// Returns whether a trace is one of them.
    pub fn has(self, seed: u64, trace_id: &str) -> bool {
        match self {
            Victims::HeldOut => is_held_out(seed, trace_id),
            Victims::Training => {
                !is_held_out(seed, trace_id) && Random::of(mix(seed ^ 0x5eed), trace_id).below(20) == 0
            }
        }
    }
}

/// Change that was made to a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Injected {
    /// Spans that it lost.
    pub lost: u32,
    /// Endpoints at which it was made, ascending; none if it was everywhere.
    pub places: Vec<EndpointId>,
}

/// Returns a span of a tree as it was handed over, below the parent that it has there.
fn raw_of(set: &TraceSet, tree: &Tree, span: u32) -> RawSpan {
    let mut raw = set.raw(tree.row(span));
    if raw.flags.has(Flags::SEVERAL_PARENTS) {
        raw.parent = tree.parent_of(span).map_or(SpanId::NONE, |parent| set.span_id(tree.row(parent)));
        let follows_from = set.flags(tree.row(span)).has(Flags::FOLLOWS_FROM);
        raw.flags.set(Flags::SEVERAL_PARENTS, false);
        raw.flags.set(Flags::FOLLOWS_FROM, follows_from);
    }
    raw
}

/// Adds an abnormal copy of a request as a trace of its own to `out`, which comes from
/// [`TraceSet::without_traces`] of `set`. Says what was done; `None` (and nothing added) where the request has nothing
/// to do it to: a single span, no parallel calls.
///
/// # Errors
/// [`SetFull`] when memory ends.
pub fn inject(
    set: &TraceSet,
    tree: &Tree,
    root: u32,
    how: Injection,
    seed: u64,
    out: &mut TraceSet,
) -> Result<Option<Injected>, SetFull> {
    let end = tree.subtree_end[root as usize];
    if end - root < 2 {
        return Ok(None);
    }
    let mut copy = Copy {
        set,
        tree,
        root,
        random: Random::of(seed, &set.trace_id_text(tree.trace)),
        raw: (root..end).map(|span| raw_of(set, tree, span)).collect(),
        more: Vec::new(),
        is_kept: vec![true; (end - root) as usize],
        places: Vec::new(),
    };
    let is_done = match how {
        Injection::Recipe => {
            copy.drop_spans();
            copy.permute();
            copy.places.clear();
            true
        }
        Injection::Structure => copy.drop_spans(),
        Injection::Durations => copy.permute(),
        Injection::Retry => copy.repeat(false),
        Injection::Repeated => copy.repeat(true),
        Injection::Serial => copy.make_serial(),
        Injection::Error => copy.fail(),
        Injection::Slower { percent } => copy.slow_down(percent),
        Injection::OneSlower { percent, is_on_path } => copy.slow_one(percent, is_on_path),
        Injection::Drift { percent } => copy.drift(percent),
    };
    if !is_done {
        return Ok(None);
    }
    let Copy { mut raw, more, is_kept, mut places, .. } = copy;
    places.compact_sort();
    places.dedup();
    raw[0].parent = SpanId::NONE;
    let mut keep = is_kept.iter();
    raw.retain(|_| keep.next().is_some_and(|kept| *kept));
    let lost = is_kept.len() - raw.len();
    raw.extend(more);
    out.add_trace(set.traces()[tree.trace as usize].id, &mut raw)?;
    Ok(Some(Injected { lost: lost as u32, places }))
}

/// A request being made abnormal; spans are numbered from its root.
struct Copy<'a> {
    set: &'a TraceSet,
    tree: &'a Tree,
    root: u32,
    random: Random,
    raw: Vec<RawSpan>,
    /// Spans it did not have.
    more: Vec<RawSpan>,
    is_kept: Vec<bool>,
    places: Vec<EndpointId>,
}

impl Copy<'_> {
    fn endpoint(&self, span: usize) -> EndpointId {
        self.set.endpoint(self.tree.row(self.root + span as u32))
    }

    fn below(&self, span: usize) -> std::ops::Range<usize> {
        span..self.tree.subtree_end[self.root as usize + span] as usize - self.root as usize
    }

    fn interval(&self, span: usize) -> (u64, u64) {
        let at = self.root as usize + span;
        (self.tree.start_us[at], self.tree.end_us[at])
    }

    /// Returns the spans below the root that take time.
    fn live(&self) -> impl Iterator<Item = usize> {
        (1..self.raw.len()).filter(|&span| {
            self.tree.role[self.root as usize + span] == Role::Sync && self.raw[span].duration_us > 0
        })
    }

    /// Returns one of these spans, by chance.
    fn pick(&mut self, spans: &[usize]) -> Option<usize> {
        spans.get(self.random.below(spans.len() as u64) as usize).copied()
    }

    /// Returns which spans are on the critical path.
    fn on_path(&self) -> Vec<bool> {
        let mut finder = PathFinder::default();
        finder.find(self.set, self.tree, self.root, Overlap::default());
        let mut on_path = vec![false; self.raw.len()];
        finder.entries().iter().for_each(|entry| on_path[(entry.span - self.root) as usize] = true);
        on_path
    }

    fn drop_spans(&mut self) -> bool {
        let mut others: Vec<usize> = (1..self.raw.len()).collect();
        self.random.shuffle(&mut others);
        let dropped = ((0.2 * others.len() as f64).round() as usize).max(1);
        for &span in &others[..dropped] {
            self.places.push(self.endpoint(span));
            let below = self.below(span);
            self.is_kept[below].fill(false);
        }
        true
    }

    fn permute(&mut self) -> bool {
        let kept: Vec<usize> = (0..self.raw.len()).filter(|&span| self.is_kept[span]).collect();
        let mut durations: Vec<u64> = kept.iter().map(|&span| self.raw[span].duration_us).collect();
        self.random.shuffle(&mut durations);
        kept.iter().zip(durations).for_each(|(&span, duration)| self.raw[span].duration_us = duration);
        true
    }

    /// Makes a call again right after itself: once with all below it, or a call without calls many times.
    fn repeat(&mut self, is_many: bool) -> bool {
        let fits: Vec<usize> = self.live().filter(|&span| !is_many || self.below(span).len() == 1).collect();
        let Some(span) = self.pick(&fits) else { return false };
        let times = if is_many { 5 + self.random.below(6) } else { 1 };
        let (start_us, end_us) = self.interval(span);
        let length_us = end_us - start_us;
        let mut copies = Vec::new();
        for time in 1..=times {
            let name = |id: SpanId| match id.is_none() {
                true => id,
                // Other than all ids of the trace, with a chance that does not count.
                false => SpanId { bits: mix(id.bits ^ mix(time)), text: false },
            };
            for at in self.below(span) {
                // The parent that the reading gave it, which is not always the recorded one.
                let parent = self.tree.parent[self.root as usize + at] - self.root;
                let parent = self.raw[parent as usize].id;
                let parent = if at == span { parent } else { name(parent) };
                let start_us = self.raw[at].start_us + time * length_us;
                copies.push(RawSpan { id: name(self.raw[at].id), parent, start_us, ..self.raw[at] });
            }
        }
        self.move_on(&[(end_us, times * length_us, span)]);
        self.more = copies;
        self.places.push(self.endpoint(span));
        true
    }

    /// Returns the calls of a span that begin before one before them has ended.
    fn overlapping(&self, span: usize) -> Vec<usize> {
        let calls =
            self.tree.sync_children(self.root + span as u32).map(|child| (child - self.root) as usize);
        let mut until_us = 0;
        let overlapping = calls.filter(|&call| {
            let (start_us, end_us) = self.interval(call);
            let is_one = start_us < until_us && end_us > start_us;
            until_us = until_us.max(end_us);
            is_one
        });
        overlapping.collect()
    }

    /// Makes the calls of one span that overlap serial.
    fn make_serial(&mut self) -> bool {
        let parallel: Vec<usize> =
            (0..self.raw.len()).filter(|&span| !self.overlapping(span).is_empty()).collect();
        let Some(span) = self.pick(&parallel) else { return false };
        let moved = self.overlapping(span);
        self.places.extend(moved.iter().map(|&call| self.endpoint(call)).collect::<Vec<_>>());
        let (_, end_us) = self.interval(span);
        let children = self.tree.sync_children(self.root + span as u32);
        let children: Vec<usize> = children.map(|child| (child - self.root) as usize).collect();
        // Each begins no sooner than the one before has ended.
        let mut until_us = 0;
        for child in children {
            let (from_us, to_us) = self.interval(child);
            let later_us = until_us.max(from_us) - from_us;
            let below = self.below(child);
            self.raw[below].iter_mut().for_each(|raw| raw.start_us += later_us);
            until_us = to_us + later_us;
            // No request that was read ends later.
            if until_us > LATEST_US {
                return false;
            }
        }
        // The span ends as long after its last call as it did.
        let latest_us = self.tree.sync_children(self.root + span as u32);
        let latest_us = latest_us.map(|child| self.tree.end_us[child as usize]).max().unwrap_or(end_us);
        let extra_us = until_us.max(latest_us) - latest_us;
        if extra_us > 0 {
            let moved: Vec<u64> = self.raw[self.below(span)].iter().map(|raw| raw.start_us).collect();
            self.raw[span].duration_us += extra_us;
            self.move_on(&[(end_us, extra_us, span)]);
            let below = self.below(span);
            self.raw[below].iter_mut().zip(moved).for_each(|(raw, start_us)| raw.start_us = start_us);
        }
        true
    }

    fn fail(&mut self) -> bool {
        let flags = |span: usize| self.set.flags(self.tree.row(self.root + span as u32));
        let is_well = |span: usize| self.below(span).all(|at| !flags(at).has(Flags::ERROR));
        let fits: Vec<usize> = self.live().filter(|&span| is_well(span)).collect();
        let Some(span) = self.pick(&fits) else { return false };
        self.places.push(self.endpoint(span));
        let mut at = self.root + span as u32;
        while at != NO_ROW && at >= self.root {
            self.raw[(at - self.root) as usize].flags.set(Flags::ERROR, true);
            at = self.tree.parent[at as usize];
        }
        true
    }

    /// Makes all topmost spans of one endpoint slower.
    fn slow_down(&mut self, percent: u32) -> bool {
        let live: Vec<usize> = self.live().collect();
        let Some(chosen) = self.pick(&live) else { return false };
        let endpoint = self.endpoint(chosen);
        self.places.push(endpoint);
        let mut longer = Vec::new();
        let mut at = 1;
        while at < self.raw.len() {
            if self.endpoint(at) != endpoint || self.tree.role[self.root as usize + at] != Role::Sync {
                at += 1;
                continue;
            }
            let extra_us = more_us(self.raw[at].duration_us, percent);
            longer.push((self.interval(at).1, extra_us, at));
            self.raw[at].duration_us += extra_us;
            at = self.below(at).end;
        }
        if longer.iter().map(|of| u128::from(of.1)).sum::<u128>() > LATEST_US.into() {
            return false;
        }
        self.move_on(&longer);
        true
    }

    fn slow_one(&mut self, percent: u32, is_on_path: bool) -> bool {
        let on_path = self.on_path();
        let fits: Vec<usize> = self.live().filter(|&span| on_path[span] == is_on_path).collect();
        let Some(span) = self.pick(&fits) else { return false };
        self.places.push(self.endpoint(span));
        let extra_us = more_us(self.raw[span].duration_us, percent);
        self.raw[span].duration_us += extra_us;
        let (_, end_us) = self.interval(span);
        if is_on_path {
            self.move_on(&[(end_us, extra_us, span)]);
            return true;
        }
        let end_us = end_us + extra_us;
        let mut at = self.tree.parent[self.root as usize + span];
        while at != NO_ROW && at >= self.root {
            let beyond_us = end_us.saturating_sub(self.tree.end_us[at as usize]);
            self.raw[(at - self.root) as usize].duration_us += beyond_us;
            at = self.tree.parent[at as usize];
        }
        true
    }

    fn drift(&mut self, percent: u32) -> bool {
        let (root_us, _) = self.interval(0);
        let scaled = |us: u64| (u128::from(us) * u128::from(percent) / 100) as u64;
        for raw in &mut self.raw {
            raw.start_us = root_us + scaled(raw.start_us.saturating_sub(root_us));
            raw.duration_us = scaled(raw.duration_us);
        }
        true
    }

    /// Moves on what begins after one of some moments, and lengthens what contains it: (end, how much longer, the span
    /// that ends then).
    fn move_on(&mut self, longer: &[(u64, u64, usize)]) {
        let mut holders = vec![false; self.raw.len()];
        for &(_, _, span) in longer {
            let mut parent = self.tree.parent[self.root as usize + span];
            while parent != NO_ROW && parent >= self.root && !holders[(parent - self.root) as usize] {
                holders[(parent - self.root) as usize] = true;
                parent = self.tree.parent[parent as usize];
            }
        }
        let mut sums: Vec<(u64, u64)> =
            longer.iter().map(|&(end_us, extra_us, _)| (end_us, extra_us)).collect();
        sums.compact_sort();
        let mut sum = 0;
        sums.iter_mut().for_each(|(_, extra_us)| {
            sum += *extra_us;
            *extra_us = sum;
        });
        let shift = |time: u64| match sums.partition_point(|&(end_us, _)| end_us <= time) {
            0 => 0,
            n => sums[n - 1].1,
        };
        for (at, is_holder) in holders.into_iter().enumerate() {
            let (start_us, end_us) = self.interval(at);
            self.raw[at].start_us += shift(start_us);
            if is_holder {
                self.raw[at].duration_us += shift(end_us) - shift(start_us);
            }
        }
    }
}

/// Returns how much longer something takes that takes so many hundredths.
fn more_us(us: u64, percent: u32) -> u64 {
    (u128::from(us) * u128::from(percent.saturating_sub(100)) / 100) as u64
}
