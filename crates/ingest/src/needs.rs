//! What tells that a record is a span: the fields that it must have, and its times.

use crate::clock::Clock;

/// What a record must have to be a span of a format. Each text is a key; of a list of keys one is enough.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Needs {
    /// What the record is called in messages.
    pub what: &'static str,
    /// Ids and names.
    pub keys: &'static [&'static [&'static str]],
    /// Start and duration, or start and end; what is missing is repaired ([`Sink::times`](crate::sink::Sink::times)).
    pub start: &'static [&'static str],
    pub duration: &'static [&'static str],
    pub end: &'static [&'static str],
    pub clock: Clock,
}

/// Times of a record in microseconds, if its format's unit is right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub at: u64,
    pub clock: Clock,
    pub start_us: Option<f64>,
    pub duration_us: Option<f64>,
}
