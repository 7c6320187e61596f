//! Bringing together what several workers saw of one trace or of traces that links connect, and agreeing on which tags have
//! too many values.

use super::Session;
use super::apart::{Key, Name, connections, hash, key};
use super::connected::{MOST_TRACES, components};
use crate::EngineError;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{HighCardinalityKeys, KeyValues, Portable, TraceId};
use std::collections::BTreeMap;

impl Session {
    /// Returns the ids of all traces held, which of them links connect with which, and the values of tags by key, for
    /// [`plan_joining`]. Call [`TraceSet::seal`](pathlight_trace::TraceSet::seal) first.
    pub fn keys(&self) -> Vec<u8> {
        let mut keys: Vec<Key> = self.set.traces().iter().map(|trace| key(&self.set, trace.id)).collect();
        keys.compact_sort();
        keys.dedup();
        encoding::write(&(keys, connections(&self.set), self.set.tags.key_values()))
    }

    /// Takes over which keys have too many values in all workers together, as [`plan_joining`] wrote them.
    ///
    /// # Errors
    /// [`EngineError::Message`] if the bytes are not from a plan.
    pub fn mark_high_cardinality(&mut self, high_cardinality: &[u8]) -> Result<(), EngineError> {
        self.set.mark_high_cardinality(&encoding::read(high_cardinality)?);
        self.invalidate();
        Ok(())
    }

    /// Removes the traces that a plan names, and returns them for [`put_traces`](Self::put_traces) elsewhere.
    ///
    /// # Errors
    /// [`EngineError::Message`] if the bytes are not from a plan.
    pub fn take_traces(&mut self, keys: &[u8]) -> Result<Vec<u8>, EngineError> {
        let keys: Vec<Key> = encoding::read(keys)?;
        let ids: Vec<TraceId> = keys
            .iter()
            .filter_map(|(group, name)| {
                let id = match name {
                    Name::Hex(bits) => Some(TraceId::hex(*bits)),
                    Name::Text(text) => TraceId::find(text, &self.set.id_texts),
                };
                Some(id?.in_group(*group))
            })
            .collect();
        let numbers: Vec<u32> = ids.iter().filter_map(|&id| self.set.find_trace(id)).collect();
        let mut sorted: Vec<TraceId> = ids;
        sorted.compact_sort();
        let bytes = encoding::write(&Portable::copy(&self.set, numbers.iter().copied()));
        self.set.retain(|trace| sorted.binary_search(&trace.id).is_err());
        self.set.forget_duplicates(&sorted);
        self.invalidate();
        Ok(bytes)
    }

    /// Adds traces taken elsewhere; call [`TraceSet::seal`](pathlight_trace::TraceSet::seal) after the last ones.
    ///
    /// # Errors
    /// [`EngineError::Message`] if the bytes are not from [`take_traces`](Self::take_traces), [`EngineError::Full`] when
    /// memory ends.
    pub fn put_traces(&mut self, bytes: &[u8]) -> Result<(), EngineError> {
        let traces: Portable = encoding::read(bytes)?;
        self.invalidate();
        Ok(traces.add_to(&mut self.set)?)
    }
}

/// What one worker has to send: (receiver, keys for [`Session::take_traces`]).
pub type Moves = Vec<(usize, Vec<u8>)>;

/// What brings the traces of several workers together.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct JoinPlan {
    /// By worker what it has to send where, so that every trace lies in one worker only, and with it those that links
    /// connect it with, unless these are more than a thousand. What several hold goes to its owner, the hash of its (least)
    /// id modulo the workers.
    pub moves: Vec<Moves>,
    /// For [`Session::mark_high_cardinality`] of every worker, if there is anything to mark.
    pub high_cardinality: Option<Vec<u8>>,
}

/// Returns the plan for workers with these keys.
///
/// # Errors
/// [`EngineError::Message`] if `keys` are not from [`Session::keys`].
pub fn plan_joining(keys: &[Vec<u8>]) -> Result<JoinPlan, EngineError> {
    let workers = keys.len();
    let mut holders: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    let mut values = Vec::with_capacity(workers);
    let mut connections: Vec<(Key, Key)> = Vec::new();
    for (worker, bytes) in keys.iter().enumerate() {
        let (keys, connected, key_values) =
            encoding::read::<(Vec<Key>, Vec<(Key, Key)>, Vec<KeyValues>)>(bytes)?;
        values.push(key_values);
        connections.extend(connected);
        for key in keys {
            holders.entry(key).or_default().push(worker);
        }
    }
    let mut plan: Vec<BTreeMap<usize, Vec<Key>>> = vec![BTreeMap::new(); workers];
    let mut gather = |traces: Vec<(Key, Vec<usize>)>| {
        let Some(first) = traces.first().and_then(|(_, holding)| holding.first().copied()) else { return };
        if traces.iter().flat_map(|(_, holding)| holding).all(|&worker| worker == first) {
            return;
        }
        let owner = (hash(&traces[0].0) % workers as u64) as usize;
        for (key, holding) in traces {
            for worker in holding.into_iter().filter(|&worker| worker != owner) {
                plan[worker].entry(owner).or_default().push(key.clone());
            }
        }
    };
    // Links to traces that nobody holds connect nothing.
    connections.retain(|(from, to)| holders.contains_key(from) && holders.contains_key(to));
    for keys in components(connections.into_iter()) {
        if keys.len() <= MOST_TRACES {
            gather(keys.into_iter().filter_map(|key| holders.remove_entry(&key)).collect());
        }
    }
    for held in holders {
        gather(vec![held]);
    }
    let written = |moves: BTreeMap<usize, Vec<Key>>| {
        moves.into_iter().map(|(to, keys)| (to, encoding::write(&keys))).collect()
    };
    let high_cardinality = HighCardinalityKeys::of(values);
    Ok(JoinPlan {
        moves: plan.into_iter().map(written).collect(),
        high_cardinality: (!high_cardinality.is_empty()).then(|| encoding::write(&high_cardinality)),
    })
}

#[cfg(all(test, not(target_arch = "wasm32")))]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::run::native::NativePool;
    use pathlight_trace::{Flags, RawLink, RawSpan, SpanId, TagSetId, TraceSet};

    /// Returns sets of traces, numbered from 1 in turn, each linked to the one before it if `is_linked` says so.
    fn sets(workers: usize, traces: u128, is_linked: impl Fn(u128) -> bool) -> Vec<TraceSet> {
        let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
        for trace in 1..=traces {
            let set = &mut sets[trace as usize % workers];
            let span = RawSpan {
                id: SpanId::hex(7),
                parent: SpanId::NONE,
                start_us: 1000,
                duration_us: 1,
                operation: set.names.intern("operation"),
                process: set.process("service", "", TagSetId::EMPTY),
                tags: TagSetId::EMPTY,
                flags: Flags::default(),
            };
            let id = TraceId::hex(trace);
            set.stage(id, span).unwrap();
            if is_linked(trace) {
                let to_trace = TraceId::hex(trace - 1);
                let (span, to_span) = (SpanId::hex(7), SpanId::hex(7));
                set.add_link(RawLink { trace: id, span, to_trace, to_span }).unwrap();
            }
        }
        sets
    }

    /// Returns (traces, links, links within one set).
    fn counts(workers: usize, traces: u128, is_linked: impl Fn(u128) -> bool) -> (usize, usize, usize) {
        let pool = NativePool::of(sets(workers, traces, is_linked)).unwrap();
        let mut out = (0, 0, 0);
        for session in pool.sessions() {
            let set = &session.set;
            out.0 += set.traces().len();
            out.1 += set.links().count();
            out.2 += set.links().filter(|link| set.find_trace(link.trace).is_some()).count();
        }
        out
    }

    #[test]
    fn connected_traces_come_to_one_worker_unless_they_are_too_many() {
        // Chains of five traces each, and links to traces that are nowhere.
        assert_eq!(counts(3, 100, |trace| trace % 5 != 1), (100, 80, 80));
        assert_eq!(counts(3, 100, |trace| trace == 1), (100, 1, 0));
        assert_eq!(counts(2, 1000, |trace| trace != 1), (1000, 999, 999));
        assert_eq!(counts(2, 1001, |trace| trace != 1), (1001, 1000, 0));
    }
}
