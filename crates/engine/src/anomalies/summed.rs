//! A sample of normal requests in a summary: the facts of some of them, to learn a baseline of anomalies from.

use crate::anomalies::call_tree::{FactObserver, FactPart};
use crate::flame::{PathTable, Walk};
use crate::summaries::fewer::kept_as;
use crate::summaries::packed::{unzip, zip};
use crate::summaries::section::{Kind, Lack, Renaming, Section};
use crate::summaries::{FileError, Lacks, Summary};
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, PathSettings, TraceSet, hash_text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Requests of a summary whose facts are kept: those whose trace ids have the smallest hashes. With so many, no p-value
/// is below 1/101.
pub const MOST_NORMAL: usize = 100;

/// Some requests by the facts that anomalies are judged by.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NormalRequests {
    /// The requests, and perhaps others, whose hashes are greater.
    pieces: Vec<Piece>,
}

/// The facts of the requests of some traces.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Piece {
    /// Hashes of the trace ids, ascending.
    #[serde(with = "pathlight_base::packed")]
    keys: Vec<u64>,
    facts: Held,
}

/// Of a thousand files that are joined, the requests of nine hundred are left out unseen.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Held {
    Open(FactPart),
    /// Postcard in gzip.
    Packed(#[serde(with = "pathlight_base::packed")] Vec<u8>),
}

impl Piece {
    fn of(facts: FactPart) -> Piece {
        let keys = facts.rows.iter().map(|row| hash_text(&row.facts.request.trace_id));
        let mut keys: Vec<u64> = keys.collect();
        keys.sort_unstable();
        Piece { keys, facts: Held::Open(facts) }
    }

    /// Returns its facts; `None` if they were damaged by hand: a checksum guards the file around them.
    fn open(&self) -> Option<FactPart> {
        match &self.facts {
            Held::Open(facts) => Some(facts.clone()),
            Held::Packed(bytes) => {
                let facts: FactPart = encoding::read(&unzip(bytes).ok()?).ok()?;
                facts.is_sound().then_some(facts)
            }
        }
    }
}

impl NormalRequests {
    /// Returns a sample of these facts.
    pub(crate) fn of(facts: FactPart) -> NormalRequests {
        let pieces = if facts.rows.is_empty() { Vec::new() } else { vec![Piece::of(facts)] };
        NormalRequests { pieces }
    }

    /// Looks at the requests of a set.
    pub(crate) fn observe(set: &TraceSet, settings: PathSettings, table: &PathTable) -> NormalRequests {
        let key = |request: u32| hash_text(&set.trace_id_text(table.requests[request as usize].trace));
        let mut keys: Vec<(u64, u32)> = (0..table.requests.len() as u32).map(|r| (key(r), r)).collect();
        keys.compact_sort();
        // Requests of one trace have the same hash, and which of them are kept is for the ids of their roots to say.
        let last = keys.get(MOST_NORMAL - 1).map_or(u64::MAX, |last| last.0);
        let requests = keys.into_iter().take_while(|(key, _)| *key <= last).map(|(_, request)| request);
        let observer = FactObserver::new(settings.overlap);
        let mut walk = Walk::new(observer, settings, requests.collect());
        while !walk.step(set, table, &mut || false) {}
        NormalRequests::of(FactPart::sample(vec![walk.finish(set)], MOST_NORMAL))
    }

    /// Returns the facts; `None` if some were damaged by hand.
    fn facts(&self) -> Option<FactPart> {
        let parts: Option<Vec<FactPart>> = self.pieces.iter().map(Piece::open).collect();
        Some(FactPart::sample(parts?, MOST_NORMAL))
    }

    /// Returns this sample in one piece that is not packed; as it is if some of it was damaged by hand.
    fn opened(self) -> NormalRequests {
        self.facts().map_or(self, NormalRequests::of)
    }
}

impl Section for NormalRequests {
    const KIND: Kind = Kind { name: "anomalies", version: 1, words: "what normal requests are like" };

    /// A packed piece stays packed as long as some of its facts may be among those that are kept.
    fn join(parts: Vec<NormalRequests>) -> NormalRequests {
        let mut pieces: Vec<Piece> = parts.into_iter().flat_map(|part| part.pieces).collect();
        let mut keys: Vec<u64> = pieces.iter().flat_map(|piece| piece.keys.iter().copied()).collect();
        keys.sort_unstable();
        if let Some(&last) = keys.get(MOST_NORMAL - 1) {
            pieces.iter_mut().for_each(|piece| piece.keys.retain(|&key| key <= last));
            pieces.retain(|piece| !piece.keys.is_empty());
        }
        let (packed, open): (Vec<Piece>, Vec<Piece>) =
            pieces.into_iter().partition(|piece| matches!(piece.facts, Held::Packed(_)));
        let open = match open.len() {
            0 | 1 => open,
            _ => NormalRequests { pieces: open }.opened().pieces,
        };
        NormalRequests { pieces: packed.into_iter().chain(open).collect() }
    }

    /// Packed data is checked when it is opened.
    fn is_sound(&self) -> bool {
        let is_piece = |piece: &Piece| {
            piece.keys.is_sorted()
                && match &piece.facts {
                    Held::Open(facts) => facts.is_sound(),
                    Held::Packed(_) => true,
                }
        };
        self.pieces.iter().all(is_piece)
    }

    fn into_roots(self) -> BTreeMap<Endpoint, NormalRequests> {
        let roots = self.facts().unwrap_or_default().into_roots();
        roots.into_iter().map(|(root, facts)| (root, NormalRequests::of(facts))).collect()
    }

    /// Requests to judge others by keep the names that they have.
    fn renamed(self, _: Renaming<'_>) -> NormalRequests {
        self
    }

    /// In a file it stands in one piece, packed.
    fn stored(&self) -> Result<Vec<u8>, FileError> {
        let mut out = if self.pieces.len() > 1 { self.clone().opened() } else { self.clone() };
        for piece in &mut out.pieces {
            if let Held::Open(facts) = &piece.facts {
                piece.facts = Held::Packed(zip(&encoding::write(facts))?);
            }
        }
        Ok(encoding::write(&out))
    }
}

impl Summary {
    /// Returns the facts of some requests of a root endpoint, or of all, of any latency.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn normal(&self, root: Option<&Endpoint>) -> Result<FactPart, Lacks> {
        let facts = self.of_root(&self.sections.anomalies, root)?.facts();
        let facts = facts.ok_or(Lacks { kind: NormalRequests::KIND, why: Lack::Damaged })?;
        Ok(match root {
            Some(root) => {
                let mut of_roots = facts.into_roots();
                of_roots.retain(|name, _| kept_as(&self.roots, name) == *root);
                FactPart::sample(of_roots.into_values().collect(), MOST_NORMAL)
            }
            None => facts,
        })
    }
}
