//! What-if until everything is done: what receives a message moves with what sent it, and with the time the message waits
//! (`docs/definitions/execution-flow.md` section 4).

use super::changed::ChangedTree;
use super::changes::scaled_us;
use super::prepare::PlacedModel;
use super::whatif::{Shares, WhatIfLatencies};
use super::{Changes, FlowModel, QueueName, SubjectTime};
use crate::flame::done::{Follower, QueuedMessage, Unit, around, queue_endpoint};
use crate::flame::{Observer, PathTable};
use crate::queues::{queue_between, since_us};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, EndpointId, Interner, Overlap, TraceSet, Tree};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Intervals of other traces are forgotten when these have more spans.
const SPANS_KEPT: usize = 1_000_000;

/// Messages between two endpoints in a queue of one name.
struct Edge {
    /// The endpoint that stands for it.
    name: Endpoint,
    change: Option<usize>,
    /// Time of its messages on the way to the end, before and after, in microseconds.
    share_us: [u128; 2],
}

/// What waits for each other, as it is and after the changes: times in microseconds since the epoch.
#[derive(Clone, Copy, Default)]
struct Moved {
    start_us: [u64; 2],
    end_us: [u64; 2],
    /// When its sender had done what was waited for until then, and the number of the edge; the first has none.
    sent_us: [u64; 2],
    edge: usize,
    /// What sent it.
    from: usize,
}

/// Observes the requests of one worker.
pub(crate) struct DoneWhatIf {
    follower: Follower,
    /// What spans take then; `None` if only times in queues change.
    changed: Option<ChangedTree>,
    queues: Vec<(QueueName, SubjectTime)>,
    /// By row of the receiver: rows of the senders that it links to. Sorted.
    senders: Vec<(u32, u32)>,
    edges: Vec<Edge>,
    numbers: FxHashMap<(u32, u32, u32), usize>,
    destinations: Interner,
    /// Intervals after the changes: of the tree at hand, and of whole traces.
    own: Vec<(u64, u64)>,
    others: FxHashMap<u32, Vec<(u64, u64)>>,
    spans_kept: usize,
    moved: Vec<Moved>,
    /// By endpoint of what receives, or of the request.
    shares_us: Vec<[u128; 2]>,
    before_us: Vec<u64>,
    after_us: Vec<u64>,
    differ: u64,
}

impl DoneWhatIf {
    /// Returns an observer of requests of this set; without a model only times in queues change.
    pub fn new(
        set: &TraceSet,
        follower: Follower,
        (model, overlap): (Option<Arc<FlowModel>>, Overlap),
        changes: &Changes,
    ) -> DoneWhatIf {
        let mut senders: Vec<(u32, u32)> =
            follower.receivers().iter().map(|&(sender, receiver)| (receiver, sender)).collect();
        senders.compact_sort();
        let queues = changes.queues.iter().map(|change| (change.queue.clone(), change.time.clone()));
        DoneWhatIf {
            changed: model
                .map(|model| ChangedTree::new(set, PlacedModel::new(set, &model), overlap, changes)),
            queues: queues.collect(),
            senders,
            follower,
            edges: Vec::new(),
            numbers: FxHashMap::default(),
            destinations: Interner::default(),
            own: Vec::new(),
            others: FxHashMap::default(),
            spans_kept: 0,
            moved: Vec::new(),
            shares_us: vec![[0; 2]; set.endpoints().len()],
            before_us: Vec::new(),
            after_us: Vec::new(),
            differ: 0,
        }
    }

    /// Returns the number of the edge of a message.
    fn edge(&mut self, set: &TraceSet, message: &QueuedMessage) -> usize {
        let (from, to) = (set.endpoint(message.sender), set.endpoint(message.receiver));
        let named = queue_between(set, message.sender, message.receiver);
        let key = (from.0, to.0, self.destinations.intern(named).0);
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let (sender, receiver) = (set.owned_endpoint(from), set.owned_endpoint(to));
        let queue = QueueName { destination: named.to_owned(), sender, receiver };
        let change = self.queues.iter().position(|(name, _)| *name == queue);
        self.edges.push(Edge { name: queue_endpoint(set, message), change, share_us: [0; 2] });
        self.numbers.insert(key, self.edges.len() - 1);
        self.edges.len() - 1
    }

    /// Returns what is left of a time in a queue; what was received before it was sent stays so.
    fn wait_us(&self, edge: usize, wait_us: i64) -> i64 {
        let Some((_, time)) = self.edges[edge].change.map(|change| &self.queues[change]) else {
            return wait_us;
        };
        let Ok(us) = u64::try_from(wait_us) else { return wait_us };
        let us = match time {
            SubjectTime::By { share_ppm, add_us } => scaled_us(us, *share_ppm).saturating_add_signed(*add_us),
            SubjectTime::Levels(levels) => levels.values().next().map_or(us, |level| level.mended_us(us)),
            SubjectTime::Usual => us,
        };
        i64::try_from(us).unwrap_or(i64::MAX)
    }

    /// Returns when the other messages that a span received with one had been sent, as they are recorded: the latest time.
    fn others_sent_us(&self, set: &TraceSet, receiver: u32, sender: u32, received_us: u64) -> Option<u64> {
        let from = self.senders.partition_point(|of| of.0 < receiver);
        let all = self.senders[from..].iter().take_while(|of| of.0 == receiver).map(|of| of.1);
        let sent = all.filter(|&row| row != sender).map(|row| {
            let start_us = set.start_us(row);
            since_us(start_us, start_us.saturating_add(set.duration_us(row)), received_us)
        });
        sent.max()
    }

    /// Makes sure that the intervals of a tree are known.
    fn change(&mut self, set: &TraceSet, tree: &Tree, is_own: bool) {
        let Some(changed) = &mut self.changed else { return };
        if !is_own && self.others.contains_key(&tree.trace) {
            return;
        }
        changed.begin(set, tree);
        while changed.piece(set, tree).is_some() {}
        if is_own {
            changed.intervals(tree, &mut self.own);
            return;
        }
        let mut intervals = Vec::new();
        changed.intervals(tree, &mut intervals);
        intervals.truncate(tree.len());
        self.spans_kept += tree.len();
        self.others.insert(tree.trace, intervals);
    }

    /// Returns start and end of a span of a unit, from the start of the unit: as they are, and after the changes.
    fn within(&self, tree: &Tree, is_own: bool, (top, span): (u32, u32)) -> [(u64, u64); 2] {
        let start_us = tree.start_us[top as usize];
        let from = |us: u64| us.saturating_sub(start_us);
        let before = (from(tree.start_us[span as usize]), from(tree.end_us[span as usize]));
        let of = if is_own { Some(&self.own) } else { self.others.get(&tree.trace) };
        let after = of.filter(|_| self.changed.is_some()).map(|of| of[span as usize]);
        [before, after.unwrap_or(before)]
    }

    /// Finds where what a request leads to begins and ends after the changes; each comes after what sent it.
    fn find(&mut self, set: &TraceSet, own: &Tree, root: u32) {
        self.moved.clear();
        // Between requests: what one of them asks about has to stay until its end.
        if self.spans_kept > SPANS_KEPT {
            self.others.clear();
            self.spans_kept = 0;
        }
        let units: Vec<Unit> = self.follower.units().to_vec();
        let mut has_own = false;
        for unit in &units {
            let follower = std::mem::take(&mut self.follower);
            let tree = follower.tree(own, unit);
            let is_own = std::ptr::eq(tree, own);
            if !is_own || !has_own {
                self.change(set, tree, is_own);
                has_own |= is_own;
            }
            let [(_, before_us), (_, after_us)] = self.within(tree, is_own, (unit.top, unit.top));
            let start_us = tree.start_us[unit.top as usize];
            let mut moved = Moved { start_us: [start_us; 2], ..Moved::default() };
            if let Some((from, sender)) = unit.sender {
                let above = &units[from as usize];
                let sending = follower.tree(own, above);
                let is_own = std::ptr::eq(sending, own);
                let message = QueuedMessage {
                    sender: sending.row(sender),
                    receiver: tree.row(unit.top),
                    start_us: 0,
                    end_us: start_us,
                    entry: 0,
                };
                let anchor = around(sending, above.top, sender, start_us);
                let places = self.within(sending, is_own, (above.top, anchor));
                self.place(
                    set,
                    (&message, sending, sender),
                    &mut moved,
                    (from as usize, anchor == sender),
                    places,
                );
            }
            let [before_start_us, after_start_us] = moved.start_us;
            moved.end_us =
                [before_start_us.saturating_add(before_us), after_start_us.saturating_add(after_us)];
            self.moved.push(moved);
            self.follower = follower;
        }
        debug_assert!(units.first().is_none_or(|unit| unit.top == root));
    }

    /// Places what received a message: after what sent it, by what is left of its time in the queue. `places` are those of the
    /// span that sent, or of the nearest one above it that is waited for.
    fn place(
        &mut self,
        set: &TraceSet,
        (message, sending, sender): (&QueuedMessage, &Tree, u32),
        moved: &mut Moved,
        (from, is_sender): (usize, bool),
        places: [(u64, u64); 2],
    ) {
        let received_us = message.end_us;
        (moved.edge, moved.from) = (self.edge(set, message), from);
        let begun_us = self.moved[from].start_us;
        let end_us = [0, 1].map(|side: usize| begun_us[side].saturating_add(places[side].1));
        let start_us = [0, 1].map(|side: usize| begun_us[side].saturating_add(places[side].0));
        let sent_start_us = sending.raw_start_us(set, sender);
        let sent_end_us = sent_start_us.saturating_add(set.duration_us(message.sender));
        let since_us = since_us(sent_start_us, sent_end_us, received_us);
        let by = if is_sender && since_us == sent_end_us { end_us } else { start_us };
        let shift_us = (i128::from(by[1]) - i128::from(by[0])).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let others_us = self.others_sent_us(set, message.receiver, message.sender, received_us);
        // What is received together waits for the last that is sent.
        let last = |us: u64| others_us.map_or(us, |others_us| us.max(others_us));
        let (was_us, then_us) = (last(since_us), last(since_us.saturating_add_signed(shift_us)));
        let wait_us = self.wait_us(moved.edge, received_us as i64 - was_us as i64);
        moved.start_us[1] = then_us.saturating_add_signed(wait_us);
        moved.sent_us = [0, 1].map(|side: usize| end_us[side].min(moved.start_us[side]));
    }

    /// Gives each queue, and what received its messages, its time on the way to the end; returns when all is done.
    fn attribute(&mut self, set: &TraceSet, own: &Tree, side: usize) -> u64 {
        let least_us = self.moved.first().map_or(0, |of| of.start_us[side]);
        let mut at = 0;
        for unit in 1..self.moved.len() {
            // Of equal ends the first.
            at = if self.moved[unit].end_us[side] > self.moved[at].end_us[side] { unit } else { at };
        }
        let Some(done_us) = self.moved.get(at).map(|of| of.end_us[side]) else { return 0 };
        let mut end_us = done_us;
        loop {
            let unit = &self.follower.units()[at];
            let moved = self.moved[at];
            let endpoint = set.endpoint(self.follower.tree(own, unit).row(unit.top));
            let start_us = moved.start_us[side].clamp(least_us, end_us);
            self.shares_us[endpoint.0 as usize][side] += u128::from(end_us - start_us);
            if unit.sender.is_none() {
                return done_us;
            }
            end_us = moved.sent_us[side].clamp(least_us, start_us);
            self.edges[moved.edge].share_us[side] += u128::from(start_us - end_us);
            at = moved.from;
        }
    }
}

impl Observer for DoneWhatIf {
    type Part = WhatIfLatencies;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let root = table.requests[request as usize].row - tree.first;
        self.follower.follow(set, tree, root);
        self.find(set, tree, root);
        let start_us = tree.start_us[root as usize];
        let [before_us, after_us] =
            [0, 1].map(|side| self.attribute(set, tree, side).saturating_sub(start_us));
        self.before_us.push(before_us);
        self.after_us.push(after_us);
        self.differ += u64::from(before_us != after_us);
    }

    fn finish(self, set: &TraceSet) -> WhatIfLatencies {
        let mut shares = Shares::new();
        let mut add = |name: Endpoint, [before, after]: [u128; 2]| {
            if before + after > 0 {
                let sum = shares.entry(name).or_default();
                *sum = (sum.0 + before, sum.1 + after);
            }
        };
        let units = self.shares_us.into_iter().zip(0..);
        units.for_each(|(us, number)| add(set.owned_endpoint(EndpointId(number)), us));
        self.edges.into_iter().for_each(|edge| add(edge.name, edge.share_us));
        WhatIfLatencies::of((self.before_us, self.after_us), self.differ, shares)
    }
}
