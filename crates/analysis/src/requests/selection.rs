//! Which requests an analysis is about, and how their paths are found.

use super::range::PercentileRange;
use pathlight_model::trace::Endpoint;
use serde::{Deserialize, Serialize};

/// Whose latency is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RootEndpoint {
    /// The trace root of every trace.
    #[default]
    TraceRoots,
    /// Every topmost span of one endpoint.
    Endpoint(Endpoint),
}

/// One condition on requests; several must all hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Filter {
    /// Some span of the request, or its process, has this tag.
    Tag {
        /// Tag key.
        key: String,
        /// Tag value.
        value: String,
    },
    /// The request starts in `[from_us, to_us)`, microseconds since the epoch.
    Time {
        /// First microsecond.
        from_us: u64,
        /// One past the last microsecond.
        to_us: u64,
    },
    /// Some span of the request is an error.
    HasError,
    /// Some span of the request is of this endpoint.
    Contains(Endpoint),
}

/// How much two siblings may overlap and still count as one after the other (section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Overlap {
    /// At most this many microseconds; `u64::MAX` is no limit.
    pub overlap_us: u64,
    /// At most this share of the parent's duration, in millionths; `u64::MAX` is no limit.
    pub share_ppm: u64,
}

impl Default for Overlap {
    fn default() -> Self {
        Overlap { overlap_us: 1000, share_ppm: 10_000 }
    }
}

impl Overlap {
    /// The preset of this name: `default`, `paper`, `upstream` or `strict`.
    pub fn preset(name: &str) -> Option<Overlap> {
        Some(match name {
            "default" => Overlap::default(),
            "paper" => Overlap { overlap_us: 1000, share_ppm: u64::MAX },
            "upstream" => Overlap { overlap_us: u64::MAX, share_ppm: 10_000 },
            "strict" => Overlap { overlap_us: 0, share_ppm: 0 },
            _ => return None,
        })
    }

    /// Whether an overlap of this length between children of a parent this long passes for skew.
    pub fn tolerates(&self, overlap_us: u64, parent_us: u64) -> bool {
        overlap_us <= self.overlap_us
            && (self.share_ppm == u64::MAX
                || u128::from(overlap_us) * 1_000_000 <= u128::from(parent_us) * u128::from(self.share_ppm))
    }
}

/// The requests an analysis is about, and how their paths are found. It always travels whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Selection {
    /// Which set of traces: 0 is the set looked at (A), 1 the one it is compared with (B).
    pub group: u8,
    /// Whose latency.
    pub root: RootEndpoint,
    /// Conditions that must all hold.
    pub filters: Vec<Filter>,
    /// Path settings.
    pub overlap: Overlap,
    /// Which of the requests, by latency.
    pub range: PercentileRange,
}

impl Selection {
    /// Returns this selection cut by another percentile range.
    #[must_use]
    pub fn with_range(&self, range: PercentileRange) -> Selection {
        Selection { range, ..self.clone() }
    }

    /// Returns the same requests whatever their latency: what stands before a percentile range is cut.
    #[must_use]
    pub fn at_any_latency(&self) -> Selection {
        self.with_range(PercentileRange::ALL)
    }
}
