//! One span on its way from a file into the columns.

use super::{SpanId, Symbol, TagSetId};

/// The role of a span in a remote call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, PartialOrd, Ord)]
#[repr(u8)]
pub enum SpanKind {
    /// The exporter said nothing.
    #[default]
    Unspecified = 0,
    /// Inside one process.
    Internal = 1,
    /// The answering side of a call.
    Server = 2,
    /// The calling side of a call.
    Client = 3,
    /// Sends a message and does not wait.
    Producer = 4,
    /// Works on a message.
    Consumer = 5,
}

impl SpanKind {
    /// Returns the kind as exporters write it, in any case and with or without OTLP's prefix; `None` for an unknown
    /// word.
    pub fn parse(text: &str) -> Option<SpanKind> {
        let word = text.strip_prefix("SPAN_KIND_").unwrap_or(text);
        [
            ("unspecified", SpanKind::Unspecified),
            ("internal", SpanKind::Internal),
            ("server", SpanKind::Server),
            ("client", SpanKind::Client),
            ("producer", SpanKind::Producer),
            ("consumer", SpanKind::Consumer),
        ]
        .into_iter()
        .find(|(name, _)| word.eq_ignore_ascii_case(name))
        .map(|(_, kind)| kind)
    }

    /// Returns the word exporters use; empty if unspecified.
    pub fn name(self) -> &'static str {
        match self {
            SpanKind::Unspecified => "",
            SpanKind::Internal => "internal",
            SpanKind::Server => "server",
            SpanKind::Client => "client",
            SpanKind::Producer => "producer",
            SpanKind::Consumer => "consumer",
        }
    }

    pub(super) fn from_bits(bits: u16) -> SpanKind {
        match bits & 7 {
            1 => SpanKind::Internal,
            2 => SpanKind::Server,
            3 => SpanKind::Client,
            4 => SpanKind::Producer,
            5 => SpanKind::Consumer,
            _ => SpanKind::Unspecified,
        }
    }
}

/// Facts about a span in one machine word: its [`SpanKind`] and some yes or no.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct Flags(pub u16);

impl Flags {
    /// The span is an error (`docs/definitions/critical-path.md` section 7).
    pub const ERROR: u16 = 1 << 3;
    /// The chosen parent came from a `FOLLOWS_FROM` reference.
    pub const FOLLOWS_FROM: u16 = 1 << 4;
    /// The span id is a text, see [`SpanId`].
    pub const TEXT_ID: u16 = 1 << 5;
    /// The input gave no start (0 or missing); the column holds one taken from the tree.
    pub const START_MISSING: u16 = 1 << 6;
    /// The chosen parent is missing: an orphan root.
    pub const ORPHAN: u16 = 1 << 7;
    /// A cycle was cut here: an orphan root too.
    pub const CYCLE: u16 = 1 << 8;
    /// A server span that shared its id with its client, now the client's child (Zipkin style).
    pub const SHARED: u16 = 1 << 9;
    /// The span names several spans of its trace, see [`several_parents`](super::several_parents); the parent is one of them.
    pub const SEVERAL_PARENTS: u16 = 1 << 10;

    /// Returns the flags of a kind and nothing else.
    pub fn of_kind(kind: SpanKind) -> Flags {
        Flags(kind as u16)
    }

    /// Returns the kind.
    pub fn kind(self) -> SpanKind {
        SpanKind::from_bits(self.0)
    }

    /// Returns whether any of `bits` is set.
    pub fn has(self, bits: u16) -> bool {
        self.0 & bits != 0
    }

    /// Returns whether nothing of its trace says where a span of its own was called: its parent is missing, or it was cut
    /// out of a cycle.
    pub fn is_orphan(self) -> bool {
        self.has(Flags::ORPHAN | Flags::CYCLE)
    }

    /// Sets or clears `bits`.
    pub fn set(&mut self, bits: u16, on: bool) {
        if on { self.0 |= bits } else { self.0 &= !bits }
    }
}

/// No span ends later: the start of 2100.
pub const LATEST_US: u64 = 4_102_444_800_000_000;
/// No span is longer: ten years of 365.25 days.
pub const LONGEST_US: u64 = 315_576_000_000_000;

/// Returns whether a span may have these times. Whoever reads spans leaves out the others, so that no sum of times of a
/// few ten thousand spans can overflow.
#[inline]
pub fn is_in_calendar(start_us: u64, duration_us: u64) -> bool {
    duration_us <= LONGEST_US && start_us <= LATEST_US - duration_us
}

/// A row of the process table, valid for the set that made it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct ProcessId(pub u32);

/// A span as ingest hands it over: names interned, parent still an id.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RawSpan {
    /// Its id; absent ids are legal and never a parent.
    pub id: SpanId,
    /// The id of the only span that it names as its parent, with [`Flags::FOLLOWS_FROM`] if the reference says so; absent
    /// for a root. Of several [`several_parents`](super::several_parents), with [`Flags::SEVERAL_PARENTS`].
    pub parent: SpanId,
    /// Start in microseconds since the epoch; 0 if the input had none.
    pub start_us: u64,
    /// Duration in microseconds; 0 if missing, negative or a wrapped negative.
    pub duration_us: u64,
    /// Operation name.
    pub operation: Symbol,
    /// Service, host and process tags.
    pub process: ProcessId,
    /// The span's own tags.
    pub tags: TagSetId,
    /// Kind, error, `FOLLOWS_FROM`; the other flags are set by normalising.
    pub flags: Flags,
}
