//! Bringing together what several workers saw of one trace, and agreeing on which tags have too many values.

use super::Session;
use crate::EngineError;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{HighCardinalityKeys, KeyValues, Portable, TraceId, hash_bytes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A trace id that means the same in every set: group and id.
type Key = (u8, Name);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Name {
    Hex(u128),
    Text(String),
}

impl Session {
    fn key(&self, id: TraceId) -> Key {
        (id.group, if id.text { Name::Text(id.to_text(&self.set.id_texts)) } else { Name::Hex(id.bits) })
    }

    /// Returns the ids of all traces held and the values of tags by key, for [`plan_joining`]. Call
    /// [`TraceSet::seal`](pathlight_trace::TraceSet::seal) first.
    pub fn keys(&self) -> Vec<u8> {
        let mut keys: Vec<Key> = self.set.traces().iter().map(|trace| self.key(trace.id)).collect();
        keys.compact_sort();
        keys.dedup();
        encoding::write(&(keys, self.set.tags.key_values()))
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
    /// By worker what it has to send where, so that every trace lies in one worker only. A trace held by several goes to
    /// its owner, its hash modulo the workers.
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
    for (worker, bytes) in keys.iter().enumerate() {
        let (keys, key_values) = encoding::read::<(Vec<Key>, Vec<KeyValues>)>(bytes)?;
        values.push(key_values);
        for key in keys {
            holders.entry(key).or_default().push(worker);
        }
    }
    let mut plan: Vec<BTreeMap<usize, Vec<Key>>> = vec![BTreeMap::new(); workers];
    for (key, holding) in holders {
        if holding.len() < 2 {
            continue;
        }
        let hash = match &key.1 {
            Name::Hex(bits) => hash_bytes(&bits.to_le_bytes()),
            Name::Text(text) => hash_bytes(text.as_bytes()),
        };
        let owner = (hash % workers as u64) as usize;
        for worker in holding {
            if worker != owner {
                plan[worker].entry(owner).or_default().push(key.clone());
            }
        }
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
