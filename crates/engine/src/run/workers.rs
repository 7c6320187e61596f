//! All workers, as the plan of a query sees them: it has them run a pass and waits for the partials.

use super::Cuts;
use super::cuts::Claim;
use super::pass::{NamedPass, Pass};
use super::plan::Wanted;
use super::request_pass::RequestPass;
use crate::EngineError;
use crate::anomalies::paper::vae::TrainingProgress;
use crate::requests::{Cut, GroupBy, RangeFacts, Selection, TypeFacts};
use pathlight_base::encoding;
use pathlight_base::encoding::Damaged;
use pathlight_base::steps::Done;
use pathlight_trace::{PathSettings, Reading, Rule};
use pathlight_trace::{PlaceFacts, PlaceNames, hash_bytes};
use serde::de::DeserializeOwned;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// What lies between a plan and whoever runs it.
#[derive(Default)]
struct Mailbox {
    wanted: Option<Wanted>,
    partials: Option<Vec<Vec<u8>>>,
}

/// All workers, and the cuts that are known of their data.
#[derive(Clone)]
pub struct Workers {
    mailbox: Arc<Mutex<Mailbox>>,
    cuts: Cuts,
}

impl Workers {
    /// Makes workers with an empty mailbox.
    pub(crate) fn new(cuts: &Cuts) -> Workers {
        Workers { mailbox: Arc::default(), cuts: cuts.clone() }
    }

    /// Returns what plans over the same data share.
    pub(crate) fn cuts(&self) -> &Cuts {
        &self.cuts
    }

    fn mailbox(&self) -> MutexGuard<'_, Mailbox> {
        self.mailbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the partials of the last pass into the mailbox.
    pub(crate) fn put(&self, partials: Vec<Vec<u8>>) {
        self.mailbox().partials = Some(partials);
    }

    /// Takes out what the plan waits for; a plan that waits for nothing works.
    pub(crate) fn wanted(&self) -> Wanted {
        self.mailbox().wanted.take().unwrap_or(Wanted::Working(TrainingProgress::default()))
    }

    async fn want(&self, wanted: Wanted) -> Vec<Vec<u8>> {
        *self.mailbox() = Mailbox { wanted: Some(wanted), partials: None };
        poll_fn(|_| self.mailbox().partials.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// Returns the partials of a pass, one per worker in any order.
    async fn run(&self, pass: Pass) -> Result<Vec<Vec<u8>>, EngineError> {
        let reading = pass.settings().map_or(Reading::PLAIN, |settings| settings.reading);
        let is_named = reading.has(Rule::Callees) || reading.has(Rule::Templates);
        let names = if is_named { Some(self.place_facts().await?.names(reading)) } else { None };
        let types = match pass.by() {
            Some(by @ (GroupBy::Root | GroupBy::Tag(_))) => Some(TypeFacts::default().names(by)),
            // Spans as they were written: as the papers have it.
            Some(GroupBy::Automatic) if reading == Reading::PLAIN => {
                Some(TypeFacts::default().names(&GroupBy::Root))
            }
            Some(by) => Some(self.type_facts(pass.settings().unwrap_or_default(), &names).await?.names(by)),
            None => None,
        };
        // Asked for, or too few traces have their root.
        let incomplete = match pass.incomplete() {
            Some(false) if reading.has(Rule::Roots) => !self.place_facts().await?.have_roots(),
            asked => asked.unwrap_or(true),
        };
        self.run_named(NamedPass { names, types, incomplete, pass }).await
    }

    /// Returns the facts of all workers that request types follow from, where places have these names.
    async fn type_facts(
        &self,
        settings: PathSettings,
        names: &Option<PlaceNames>,
    ) -> Result<Arc<TypeFacts>, EngineError> {
        if let Some(known) = self.cuts.types(settings.reading) {
            return Ok(known);
        }
        let mut facts = TypeFacts::default();
        let pass = Pass::Types { settings };
        let pass = NamedPass { names: names.clone(), types: None, incomplete: true, pass };
        for part in self.run_named(pass).await? {
            facts.merge(encoding::read(&part)?);
        }
        Ok(self.cuts.keep_types(settings.reading, facts))
    }

    async fn run_named(&self, pass: NamedPass) -> Result<Vec<Vec<u8>>, EngineError> {
        Ok(self.want(Wanted::Pass(encoding::write(&pass))).await)
    }

    /// Returns the facts of all workers from which the names of places follow, and which requests count.
    pub(crate) async fn place_facts(&self) -> Result<&PlaceFacts, EngineError> {
        if let Some(known) = self.cuts.places() {
            return Ok(known);
        }
        let mut facts = PlaceFacts::default();
        let pass = NamedPass { names: None, types: None, incomplete: true, pass: Pass::Places };
        for part in self.run_named(pass).await? {
            facts.merge(encoding::read(&part)?);
        }
        Ok(self.cuts.keep_places(facts))
    }

    /// Runs a pass; returns the partials of all workers.
    pub(crate) async fn partials<T: DeserializeOwned>(&self, pass: Pass) -> Result<Vec<T>, EngineError> {
        self.run(pass).await?.iter().map(|bytes| encoding::read(bytes).map_err(EngineError::from)).collect()
    }

    /// Runs a pass about what at most one worker has; returns the partial of that one, an `Option`, as bytes.
    pub(crate) async fn only_partial(&self, pass: Pass) -> Result<Vec<u8>, EngineError> {
        let nothing = encoding::write(&None::<()>);
        Ok(self.run(pass).await?.into_iter().find(|partial| *partial != nothing).unwrap_or(nothing))
    }

    /// Ends a step of the plan's own work: reports its progress and yields.
    pub(crate) async fn working(&self, progress: TrainingProgress) {
        self.want(Wanted::Working(progress)).await;
    }

    /// Ends a step of the plan's own work: yields without progress.
    pub(crate) async fn pause(&self) {
        self.working(TrainingProgress::default()).await;
    }

    /// Runs work of the plan's own that pauses by itself; tells how much of about `of` units is done.
    pub(crate) async fn watch<T>(&self, work: impl Future<Output = T>, done: &Done, of: u64) -> T {
        self.pause().await;
        let mut work = pin!(work);
        poll_fn(|context| {
            let polled = work.as_mut().poll(context);
            if polled.is_pending() {
                let done = done.units().min(of);
                self.mailbox().wanted =
                    Some(Wanted::Working(TrainingProgress { done, of: of + 1, ..Default::default() }));
            }
            polled
        })
        .await
    }

    /// Cuts a percentile range out of the requests of a selection, and tells what lies inside. Plans over the same data
    /// share the cut: only one of them computes it.
    pub(crate) async fn cut(
        &self,
        selection: &Selection,
    ) -> Result<(RangeRequests<'_>, RangeFacts), EngineError> {
        let (cut, facts) = loop {
            match self.cuts.claim(selection) {
                Claim::Known(known) => break *known,
                Claim::Others => {
                    self.want(Wanted::Cut).await;
                }
                Claim::Ours(claimed) => {
                    let known = self.find_cut(selection).await?;
                    claimed.keep(known.clone());
                    break known;
                }
            }
        };
        Ok((RangeRequests { workers: self, selection: selection.at_any_latency(), cut }, facts))
    }

    /// Returns the partials of one pass over the requests of a selection, and what its percentile range holds.
    pub(crate) async fn request_partials<T: DeserializeOwned>(
        &self,
        selection: &Selection,
        pass: RequestPass,
    ) -> Result<(Vec<T>, RangeFacts), EngineError> {
        let (requests, facts) = self.cut(selection).await?;
        Ok((requests.partials(pass).await?, facts))
    }
}

/// The requests of a percentile range, cut out, for passes over them.
pub(crate) struct RangeRequests<'a> {
    workers: &'a Workers,
    /// At any latency: the range is in the cut.
    selection: Selection,
    /// Where the range begins and ends.
    pub cut: Cut,
}

impl RangeRequests<'_> {
    /// Returns the partials of a pass as bytes, each in its [`parts`].
    pub async fn run(&self, pass: RequestPass) -> Result<Vec<Vec<u8>>, EngineError> {
        let (selection, cut) = (self.selection.clone(), self.cut.clone());
        self.workers.run(Pass::Requests { selection, cut, pass }).await
    }

    /// Returns what the parts of all partials of a pass hold.
    pub async fn partials<T: DeserializeOwned>(&self, pass: RequestPass) -> Result<Vec<T>, EngineError> {
        let partials = self.run(pass).await?;
        parts(&partials)?.into_iter().map(|part| encoding::read(part).map_err(EngineError::from)).collect()
    }
}

/// Bytes of the checksum behind a pass and a partial.
const SEAL: usize = 8;

/// Returns a pass or a partial with its checksum. They are full of places in each other's lists, so a reader would
/// have to doubt every number of a damaged one.
pub(crate) fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let hash = hash_bytes(&bytes);
    bytes.reserve_exact(SEAL);
    bytes.extend_from_slice(&hash.to_le_bytes());
    bytes
}

/// Returns what [`sealed`] was given; an error if it is not that any more.
pub(crate) fn opened(bytes: &[u8]) -> Result<&[u8], EngineError> {
    match bytes.split_last_chunk::<SEAL>() {
        Some((inside, seal)) if hash_bytes(inside) == u64::from_le_bytes(*seal) => Ok(inside),
        _ => Err(Damaged.into()),
    }
}

/// Returns one partial of several parts: before each its length in bytes, 4 of them, the lowest first.
pub(crate) fn frame(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(SEAL + parts.iter().map(|part| part.len() + 4).sum::<usize>());
    for part in parts {
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
    }
    out
}

/// Returns the parts of all partials that [`frame`] made.
pub(crate) fn parts(partials: &[Vec<u8>]) -> Result<Vec<&[u8]>, EngineError> {
    let cut = || EngineError::from(Damaged);
    let mut parts = Vec::new();
    for mut rest in partials.iter().map(Vec::as_slice) {
        while let Some((length, after)) = rest.split_first_chunk() {
            let (part, after) =
                after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
            parts.push(part);
            rest = after;
        }
        if !rest.is_empty() {
            return Err(cut());
        }
    }
    Ok(parts)
}
