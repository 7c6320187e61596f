//! The changes of a what-if (`docs/definitions/execution-flow.md` section 4).

use super::{Level, NodeName};
use crate::verdict::Subject;
use pathlight_base::statistics::mix;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The time of an endpoint that changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ChangeOf {
    /// Its own work: the self time of each of its spans. What waits for it moves along, and its calls take what they took.
    #[default]
    OwnWork,
    /// Its calls with all that happens in them, as if all below took that much less or more. A call within a call of the
    /// same endpoint changes with the outer one, not once more.
    WholeCall,
}

/// Another latency for all spans of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LatencyChange {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// The part of the endpoint that changes.
    pub of: ChangeOf,
    /// Share of that time added, in millionths: -500,000 is 50 % faster, -1,000,000 is gone.
    pub share_ppm: i64,
    /// Microseconds added after that. Own work cannot fall below nothing; what is added to it is added at its end.
    pub add_us: i64,
}

impl LatencyChange {
    /// Returns the same for a change: a time without a sign, `20ms`, is what it takes then, so all of it goes and that much is added.
    pub fn parse_change(text: &str) -> Option<(i64, i64)> {
        let is_signed = text.trim().starts_with(['+', '-']);
        match LatencyChange::parse_amount(text)? {
            (0, us) if !is_signed && !text.trim().ends_with('%') => Some((-1_000_000, us)),
            amount => Some(amount),
        }
    }

    /// Returns the share in millionths and microseconds of `-50%`, `+20%`, `+500us`, `-2ms`, `+1s` or `gone`.
    pub fn parse_amount(text: &str) -> Option<(i64, i64)> {
        let text = text.trim();
        if text == "gone" {
            return Some((-1_000_000, 0));
        }
        let number = |digits: &str, unit: f64| {
            let value: f64 = digits.trim().parse().ok()?;
            let value = (value * unit).round();
            (value.abs() < 1e15).then_some(value as i64)
        };
        if let Some(digits) = text.strip_suffix('%') {
            return Some((number(digits, 10_000.0)?, 0));
        }
        let units = [("us", 1.0), ("ms", 1000.0), ("s", 1e6)];
        let (digits, unit) =
            units.into_iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, unit)))?;
        Some((0, number(digits, unit)?))
    }
}

/// Time that a subject takes in a what-if.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SubjectTime {
    /// More or less than it takes, at each of its spans.
    By {
        /// Share of the time added, in millionths: -500,000 is half of it, -1,000,000 is gone.
        share_ppm: i64,
        /// Microseconds added after that. No time falls below nothing; what is added is added at the end of the span.
        add_us: i64,
    },
    /// What is usual: what it takes in set A, or for one set in the faster half of each request type.
    Usual,
    /// The same once it is learned, by endpoint of its spans; those of other endpoints stay as they are.
    Levels(BTreeMap<Endpoint, Level>),
}

impl SubjectTime {
    /// Reads `usual`, or a change as [`LatencyChange::parse_change`] does.
    pub fn parse(text: &str) -> Option<SubjectTime> {
        if text.trim() == "usual" {
            return Some(SubjectTime::Usual);
        }
        LatencyChange::parse_change(text).map(|(share_ppm, add_us)| SubjectTime::By { share_ppm, add_us })
    }
}

/// Another time for all spans of a subject, whatever their endpoint: the own work of a service, calls into it or out of it
/// that wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SubjectChange {
    /// The subject.
    pub subject: Subject,
    /// Time that it takes then.
    pub time: SubjectTime,
}

/// A queue: whoever sends, whoever receives, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct QueueName {
    /// Name of the queue or topic; empty if none was recorded.
    pub destination: String,
    /// The endpoint that sends.
    pub sender: Endpoint,
    /// The endpoint that receives.
    pub receiver: Endpoint,
}

/// Another time in a queue for all its messages. It changes requests until everything is done; no answer waits for a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct QueueTimeChange {
    /// The queue.
    pub queue: QueueName,
    /// Time that a message waits in it then.
    pub time: SubjectTime,
}

/// All of a service runs in one place: what of it runs elsewhere takes what it takes there, faster or slower.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Move {
    /// The service; `None`: each that has requests in both places.
    pub service: Option<String>,
    /// A tag of processes.
    pub key: String,
    /// Its value in the place to run in.
    pub value: String,
    /// Self times by endpoint of the spans that move, once they are learned; those of other endpoints stay as they are.
    pub levels: Option<BTreeMap<Endpoint, Level>>,
}

/// Calls of one service by another, whatever is called.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallsBetween {
    /// The service that calls; `None`: any.
    pub caller: Option<String>,
    /// The service that is called; `None`: any.
    pub callee: Option<String>,
    /// Only calls whose two sides have different values of this tag of processes; `None`: all.
    pub across: Option<String>,
}

/// Time that calls take outside of what answers them in a what-if.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum WaitTime {
    /// More or less than it is, at each call; as [`SubjectTime::By`].
    By {
        /// Share of the time added, in millionths.
        share_ppm: i64,
        /// Microseconds added after that.
        add_us: i64,
    },
    /// What calls take whose two sides have one value.
    Within,
    /// The same once it is learned, by endpoint of the calling span; those of other endpoints stay as they are.
    Levels(BTreeMap<Endpoint, Level>),
}

/// Another time for calls outside of what answers them: in the network, and until someone takes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct WaitChange {
    /// The calls.
    pub calls: CallsBetween,
    /// Time that they take then.
    pub time: WaitTime,
}

/// Two calls of a parent no longer wait for each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Parallel {
    /// Service of the parent.
    pub service: String,
    /// Operation of the parent.
    pub operation: String,
    /// The name of one of its nodes.
    pub first: NodeName,
    /// The other.
    pub second: NodeName,
}

/// All calls of these endpoints by a parent, those of one endpoint among themselves too, no longer wait for each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallsBeside {
    /// The endpoint that calls, as `[service, operation]`.
    pub parent: Endpoint,
    /// The endpoints that are called.
    pub callees: Vec<Endpoint>,
}

/// A target of calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CallTarget {
    /// An endpoint.
    Endpoint(Endpoint),
    /// A service, whoever calls it and whichever of its endpoints answers.
    Service(String),
}

/// Callers give up waiting for calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallTimeout {
    /// The target of the calls.
    pub of: CallTarget,
    /// After so many microseconds.
    pub after_us: u64,
    /// Durations of a second call, in microseconds: each of these in as many calls. Without any there is none.
    pub retry_us: Vec<u64>,
}

impl CallTimeout {
    /// Returns whether a call is given up that takes so long.
    pub(super) fn cuts(&self, latency_us: u64) -> bool {
        latency_us > self.after_us
    }

    /// Returns what a call takes that is given up: by chance, which is the same whenever and wherever it is asked
    /// about.
    pub(super) fn given_up_us(&self, trace: u64, span: u64) -> u64 {
        let drawn = u128::from(mix(trace ^ mix(span))) * self.retry_us.len() as u128;
        let retry_us = self.retry_us.get((drawn >> u64::BITS) as usize);
        self.after_us.saturating_add(retry_us.copied().unwrap_or(0))
    }
}

/// Changes that are made together: those of subjects, moves and waits first, then latency changes of endpoints, several of one endpoint one
/// after the other, and timeouts last.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Changes {
    /// Latencies.
    pub latencies: Vec<LatencyChange>,
    /// Edges taken out.
    pub parallel: Vec<Parallel>,
    /// Groups of calls that run side by side.
    pub beside: Vec<CallsBeside>,
    /// Timeouts, one for a target; a call of two targets is given up after the shorter one.
    pub timeouts: Vec<CallTimeout>,
    /// Subjects: parts of services at all endpoints.
    pub subjects: Vec<SubjectChange>,
    /// Queues: times of messages.
    pub queues: Vec<QueueTimeChange>,
    /// Services that run elsewhere.
    pub moves: Vec<Move>,
    /// Calls that take another time outside of what answers them.
    pub waits: Vec<WaitChange>,
}

impl Changes {
    /// Returns whether something else changes than times in queues.
    pub(crate) fn has_more_than_queues(&self) -> bool {
        let Changes { latencies, parallel, beside, timeouts, subjects, queues: _, moves, waits } = self;
        let has_order = !(parallel.is_empty() && beside.is_empty());
        let has_places = !(moves.is_empty() && waits.is_empty());
        has_order || has_places || !(latencies.is_empty() && timeouts.is_empty() && subjects.is_empty())
    }
}

/// Returns a share of a latency, in millionths, half a microsecond rounded up; never below 0.
pub(super) fn scaled_us(latency_us: u64, share_ppm: i64) -> u64 {
    let factor = i128::from(share_ppm) + 1_000_000;
    if factor <= 0 {
        return 0;
    }
    u64::try_from((i128::from(latency_us) * factor + 500_000) / 1_000_000).unwrap_or(u64::MAX >> 1)
}
