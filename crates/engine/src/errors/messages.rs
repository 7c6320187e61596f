//! What errors say: the messages of spans in which errors start.

use crate::flame::{Observer, PathTable};
use crate::requests::Weighing;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::Weight;
use pathlight_trace::{Endpoint, EndpointId, Flags, Role, TagSetId, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tags that hold what an error says, the most telling first. Error events of a span are among its tags.
const MESSAGE_KEYS: [&str; 12] = [
    "exception.message",
    "otel.status_description",
    "error.message",
    "error.object",
    "exception.type",
    "error.kind",
    "error.type",
    "error",
    "grpc.status_code",
    "rpc.grpc.status_code",
    "http.status_code",
    "http.response.status_code",
];

/// Values that say no more than that there is an error.
const EMPTY_WORDS: [&str; 3] = ["", "true", "1"];

/// Messages that are reported.
const MOST_MESSAGES: usize = 20;

/// One message of errors that start at one endpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorMessage {
    /// Where the errors start.
    pub endpoint: Endpoint,
    /// Tag that has the message.
    pub tag: String,
    /// The message.
    pub text: String,
}

/// Messages of all errors that start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorMessages {
    /// The most frequent ones with the errors that have them, most first (ties by endpoint, tag and text).
    pub most: Vec<(ErrorMessage, u64)>,
    /// Different messages in all.
    pub in_all: u64,
    /// Errors without a message, or with one of a tag that has too many values to be kept.
    pub without: u64,
}

/// The messages in the requests of one worker, in units of weight: the accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageCounts {
    counts: BTreeMap<ErrorMessage, u64>,
    without: u64,
}

impl MessageCounts {
    /// Joins those of disjoint requests, and finishes.
    pub(super) fn finish(parts: Vec<MessageCounts>) -> ErrorMessages {
        let rounded = |units: u64| (units + u64::from(Weight::UNITS / 2)) / u64::from(Weight::UNITS);
        let without = rounded(parts.iter().map(|part| part.without).sum());
        let mut counts: BTreeMap<ErrorMessage, u64> = BTreeMap::new();
        for (message, errors) in parts.into_iter().flat_map(|part| part.counts) {
            *counts.entry(message).or_default() += errors;
        }
        let in_all = counts.len() as u64;
        let mut most: Vec<(ErrorMessage, u64)> =
            counts.into_iter().map(|(message, units)| (message, rounded(units))).collect();
        // Stable: equal ones stay by endpoint, tag and text.
        most.compact_sort_by(|a, b| b.1.cmp(&a.1));
        most.truncate(MOST_MESSAGES);
        ErrorMessages { most, in_all, without }
    }
}

/// Counts the messages of the requests of one worker.
#[derive(Default)]
pub(super) struct MessagesObserver {
    /// Errors that start, in units of weight, by endpoint and tags.
    counts: FxHashMap<(EndpointId, TagSetId), u64>,
    /// By span of the request: whether a child is in error.
    has_error_below: Vec<bool>,
    weighing: Weighing,
}

impl MessagesObserver {
    /// Returns one that counts by weight.
    pub(super) fn by(weighing: Weighing) -> MessagesObserver {
        MessagesObserver { weighing, ..MessagesObserver::default() }
    }
}

impl Observer for MessagesObserver {
    type Part = MessageCounts;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        if facts.errors == 0 {
            return;
        }
        let units = u64::from(self.weighing.weight(set, facts).units());
        let root = facts.row - tree.first;
        let end = tree.subtree_end[root as usize];
        self.has_error_below.clear();
        self.has_error_below.resize(tree.len(), false);
        // Children come after their parents.
        for span in (root..end).rev() {
            let row = tree.row(span);
            if tree.role[span as usize] == Role::Dropped || !set.flags(row).has(Flags::ERROR) {
                continue;
            }
            if !self.has_error_below[span as usize] {
                *self.counts.entry((set.endpoint(row), set.tag_set(row))).or_default() += units;
            }
            if span != root {
                self.has_error_below[tree.parent[span as usize] as usize] = true;
            }
        }
    }

    fn finish(self, set: &TraceSet) -> MessageCounts {
        let mut out = MessageCounts::default();
        for ((endpoint, tags), errors) in self.counts {
            let mut said = MESSAGE_KEYS.iter().filter_map(|key| Some((*key, set.tags.value(tags, key)?)));
            let Some((tag, text)) = said.find(|(_, text)| !EMPTY_WORDS.contains(text)) else {
                out.without += errors;
                continue;
            };
            let endpoint = set.owned_endpoint(endpoint);
            let message = ErrorMessage { endpoint, tag: tag.to_owned(), text: text.to_owned() };
            *out.counts.entry(message).or_default() += errors;
        }
        out
    }
}
