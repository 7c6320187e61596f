//! What comes out: places, the one in which a span would tell most first.

use super::observe::{InstrumentPart, Place, Stretches};
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// Places listed at most.
const LISTED: usize = 200;

/// Where one more span would tell most.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InstrumentReport {
    /// The percentile range.
    pub range: PercentileRange,
    /// Its requests.
    pub facts: RangeFacts,
    /// Mean length of the stretch in which a microsecond of latency lies, in microseconds.
    pub unknown_us: f64,
    /// Share of the latency between calls and their answers in other services, where no span can stand.
    pub network_share: f64,
    /// Number of places, of which `rows` has at most 200.
    pub places_in_all: u64,
    /// Places, the greatest gain first.
    pub rows: Vec<InstrumentRow>,
}

/// A place in which a span could stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InstrumentRow {
    /// The endpoint in whose spans it lies.
    pub endpoint: Endpoint,
    /// The call that ends before it; `None` where the span begins.
    pub previous: Option<Endpoint>,
    /// The call that begins after it; `None` where the span ends.
    pub next: Option<Endpoint>,
    /// What the span calls, if that has no spans; empty if nobody knows its name. The span would stand there.
    pub callee: Option<String>,
    /// The language of the service, as its SDK says, in lower case.
    pub language: Option<String>,
    /// Mean per request, in microseconds.
    pub us: f64,
    /// Share of the latency of all requests.
    pub share: f64,
    /// Stretches per request.
    pub stretches: f64,
    /// Mean length of the stretch in which a microsecond of this place lies, in microseconds.
    pub stretch_us: f64,
    /// How much shorter [`unknown_us`](InstrumentReport::unknown_us) would be with a span here.
    pub gain_us: f64,
}

impl InstrumentReport {
    pub(super) fn of(part: InstrumentPart, range: PercentileRange, facts: RangeFacts) -> InstrumentReport {
        let InstrumentPart { requests, all, network, places, languages } = part;
        let (requests, all_us) = (requests.max(1) as f64, all.us.max(1) as f64);
        let row = |(place, of): (Place, Stretches)| {
            let Place { endpoint, previous, next, callee } = place;
            let squares = of.squares as f64;
            InstrumentRow {
                // What is called may be written in another language.
                language: languages.get(&endpoint.service).filter(|_| callee.is_none()).cloned(),
                endpoint,
                previous,
                next,
                callee,
                us: of.us as f64 / requests,
                share: of.us as f64 / all_us,
                stretches: of.n as f64 / requests,
                stretch_us: squares / of.us.max(1) as f64,
                // Cut at any point, a stretch becomes two whose squares have two thirds of its own on average.
                gain_us: squares / all_us / 3.0,
            }
        };
        let mut rows: Vec<InstrumentRow> = places.into_iter().map(row).collect();
        let places_in_all = rows.len() as u64;
        // Stable: equal gains stay by name.
        rows.compact_sort_by(|a, b| b.gain_us.total_cmp(&a.gain_us));
        rows.truncate(LISTED);
        InstrumentReport {
            range,
            facts: facts.by_weight(),
            unknown_us: all.squares as f64 / all_us,
            network_share: network.us as f64 / all_us,
            places_in_all,
            rows,
        }
    }
}
