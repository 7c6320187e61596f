//! All workers, as the plan of a query sees them: it has them run a pass and waits for the partials.

use super::Cuts;
use super::apart::{Connections, ConnectionsPass};
use super::cuts::{Claim, Found};
use super::partials::{frame, parts};
use super::pass::{NamedPass, Pass};
use super::set_pass::{PackedSetPass, SetPass};
use crate::EngineError;
use crate::anomalies::paper::vae::TrainingProgress;
use crate::requests::{GroupBy, TypeFacts, TypeNames, Until};
use crate::verdict::hit::with_limits;
use pathlight_base::encoding::{self, Damaged, Packed};
use pathlight_base::steps::WorkCount;
use pathlight_trace::{PathSettings, PlaceFacts, PlaceNames, Reading, ReadingRule};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// What a plan waits for.
pub(crate) enum Wanted {
    /// The partials of a pass, or of several: a frame of them.
    Pass(Vec<u8>),
    /// Its next step of work of its own.
    Working(TrainingProgress),
    /// What another plan is finding out.
    Others,
}

/// What lies between a plan and whoever runs it.
#[derive(Default)]
struct Mailbox {
    /// Passes that the plan waits for and that were not sent yet.
    wanted: Vec<Letter>,
    /// Passes of the message under way.
    sent: Vec<Letter>,
    /// Partials by ticket, with the number of those who wait for them.
    arrived: BTreeMap<u64, (Vec<Vec<u8>>, usize)>,
    /// How far the plan's own work is, which pauses.
    working: Option<TrainingProgress>,
    /// Whether it waits for what another plan is finding out.
    is_waiting: bool,
    /// Steps of the plan until now.
    steps: u64,
    tickets: u64,
}

/// A pass that is wanted.
struct Letter {
    ticket: u64,
    pass: Vec<u8>,
    /// How many wait for its partials.
    waiting: usize,
}

impl Mailbox {
    /// Writes down that a pass is wanted; returns the ticket for its partials. Who wants the same pass at the same time shares it.
    fn order(&mut self, pass: Vec<u8>) -> u64 {
        if let Some(same) = self.wanted.iter_mut().find(|letter| letter.pass == pass) {
            same.waiting += 1;
            return same.ticket;
        }
        self.tickets += 1;
        self.wanted.push(Letter { ticket: self.tickets, pass, waiting: 1 });
        self.tickets
    }

    /// Takes the partials of a ticket, once they are there.
    fn collect(&mut self, ticket: u64) -> Option<Vec<Vec<u8>>> {
        let (partials, waiting) = self.arrived.get_mut(&ticket)?;
        *waiting -= 1;
        if *waiting > 0 {
            return Some(partials.clone());
        }
        self.arrived.remove(&ticket).map(|(partials, _)| partials)
    }

    /// Takes in what the workers sent for the message under way.
    fn take_in(&mut self, partials: Vec<Vec<u8>>) -> Result<(), EngineError> {
        self.steps += 1;
        let sent = std::mem::take(&mut self.sent);
        if let [only] = sent.as_slice() {
            self.arrived.insert(only.ticket, (partials, only.waiting));
            return Ok(());
        }
        let mut of_passes = vec![Vec::new(); sent.len()];
        // One after the other, so that only one of them is there twice.
        for partial in partials.into_iter().filter(|_| !sent.is_empty()) {
            let parts = parts(std::slice::from_ref(&partial))?;
            if parts.len() != sent.len() {
                return Err(Damaged.into());
            }
            of_passes.iter_mut().zip(parts).for_each(|(of_pass, part)| of_pass.push(part.to_vec()));
        }
        let arrived = sent.iter().zip(of_passes);
        self.arrived.extend(arrived.map(|(letter, partials)| (letter.ticket, (partials, letter.waiting))));
        Ok(())
    }
}

/// All workers, and what is known of their data.
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

    /// Puts the partials of the last message into the mailbox.
    ///
    /// # Errors
    /// [`EngineError::Message`] if they are not partials of these passes.
    pub(crate) fn put(&self, partials: Vec<Vec<u8>>) -> Result<(), EngineError> {
        self.mailbox().take_in(partials)
    }

    /// Takes out what the plan waits for; a plan that waits for nothing works.
    pub(crate) fn wanted(&self) -> Wanted {
        let mut mailbox = self.mailbox();
        let (working, is_waiting) = (mailbox.working.take(), std::mem::take(&mut mailbox.is_waiting));
        if !mailbox.wanted.is_empty() {
            mailbox.sent = std::mem::take(&mut mailbox.wanted);
            let passes: Vec<Vec<u8>> =
                mailbox.sent.iter_mut().map(|letter| std::mem::take(&mut letter.pass)).collect();
            return Wanted::Pass(frame(&passes));
        }
        if is_waiting && working.is_none() {
            Wanted::Others
        } else {
            Wanted::Working(working.unwrap_or_default())
        }
    }

    /// Returns the steps of the plan until now.
    pub(crate) fn steps(&self) -> u64 {
        self.mailbox().steps
    }

    /// Waits for the next step of the plan.
    async fn next_step(&self) {
        let now = self.steps();
        poll_fn(|_| if self.steps() > now { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Waits until another plan may have found something out.
    async fn wait(&self) {
        self.mailbox().is_waiting = true;
        self.next_step().await;
    }

    /// Returns the partials of a pass, one per worker in any order.
    pub(crate) async fn run(&self, mut pass: Pass) -> Result<Vec<Vec<u8>>, EngineError> {
        if let Some(selection) = pass.selection().filter(|selection| selection.has_hits()) {
            // It runs passes of its own.
            *selection = Box::pin(with_limits(self, selection)).await?;
        }
        let reading = pass.settings().map_or(Reading::PLAIN, |settings| settings.reading);
        let is_named = reading.has(ReadingRule::Callees) || reading.has(ReadingRule::Templates);
        let names = if is_named { Some(self.place_names(reading).await?) } else { None };
        let types = match pass.by() {
            Some(by @ (GroupBy::Root | GroupBy::Tag(_))) => {
                Some(Arc::new(Packed::of(&TypeFacts::default().names(by))))
            }
            // Spans as they were written: as the papers have it.
            Some(GroupBy::Automatic) if reading == Reading::PLAIN => {
                Some(Arc::new(Packed::of(&TypeFacts::default().names(&GroupBy::Root))))
            }
            Some(by) => Some(self.type_names(pass.settings().unwrap_or_default(), &names, by).await?),
            None => None,
        };
        // Asked for, or too few traces have their root.
        let incomplete = match pass.incomplete() {
            Some(false) if reading.has(ReadingRule::Roots) => !self.place_facts().await?.have_roots(),
            asked => asked.unwrap_or(true),
        };
        let apart = match pass.until() {
            Until::Answer => Vec::new(),
            Until::Done => self.connections().await?.apart.clone(),
        };
        self.run_named(NamedPass { names, types, incomplete, apart, pass }).await
    }

    /// Returns what is found out once for all plans over the data: what is known of it, else what `find` returns. While
    /// another plan is finding it out, this waits.
    pub(crate) async fn once<K: PartialEq + Clone, V: Clone, const MOST: usize>(
        &self,
        found: &Found<K, V, MOST>,
        key: K,
        find: impl AsyncFnOnce() -> Result<V, EngineError>,
    ) -> Result<V, EngineError> {
        let claimed = loop {
            match found.claim(&key) {
                Claim::Known(known) => return Ok(known),
                Claim::Others => self.wait().await,
                Claim::Ours(claimed) => break claimed,
            }
        };
        let value = find().await?;
        claimed.keep(value.clone());
        // Another part of this plan may wait for it.
        self.mailbox().steps += 1;
        Ok(value)
    }

    /// Returns what places are called under a reading.
    async fn place_names(&self, reading: Reading) -> Result<Arc<Packed<PlaceNames>>, EngineError> {
        let find = async || Ok(Arc::new(Packed::of(&self.place_facts().await?.names(reading))));
        self.once(&self.cuts.place_names, reading, find).await
    }

    /// Returns how requests are grouped into types, where places have these names.
    async fn type_names(
        &self,
        settings: PathSettings,
        names: &Option<Arc<Packed<PlaceNames>>>,
        by: &GroupBy,
    ) -> Result<Arc<Packed<TypeNames>>, EngineError> {
        let find = async || Ok(Arc::new(Packed::of(&self.type_facts(settings, names).await?.names(by))));
        self.once(&self.cuts.type_names, (settings.reading, by.clone()), find).await
    }

    /// Returns the facts of all workers that request types follow from, where places have these names.
    async fn type_facts(
        &self,
        settings: PathSettings,
        names: &Option<Arc<Packed<PlaceNames>>>,
    ) -> Result<Arc<TypeFacts>, EngineError> {
        let find = async || {
            let mut facts = TypeFacts::default();
            let (names, pass) = (names.clone(), Pass::Types { settings });
            let pass = NamedPass { names, types: None, incomplete: true, apart: Vec::new(), pass };
            for part in self.run_named(pass).await? {
                facts.merge(encoding::read(&part)?);
            }
            Ok(Arc::new(facts))
        };
        self.once(&self.cuts.type_facts, settings.reading, find).await
    }

    async fn run_named(&self, pass: NamedPass) -> Result<Vec<Vec<u8>>, EngineError> {
        let ticket = self.mailbox().order(encoding::write(&pass));
        Ok(poll_fn(|_| self.mailbox().collect(ticket).map_or(Poll::Pending, Poll::Ready)).await)
    }

    /// Returns the facts of all workers from which the names of places follow, and which requests count.
    pub(crate) async fn place_facts(&self) -> Result<Arc<PlaceFacts>, EngineError> {
        let find = async || {
            let mut facts = PlaceFacts::default();
            let (names, types, pass) = (None, None, Pass::Places);
            let pass = NamedPass { names, types, incomplete: true, apart: Vec::new(), pass };
            for part in self.run_named(pass).await? {
                facts.merge(encoding::read(&part)?);
            }
            Ok(Arc::new(facts))
        };
        self.once(&self.cuts.places, (), find).await
    }

    /// Returns facts about the links of all workers.
    pub(crate) async fn connections(&self) -> Result<Arc<Connections>, EngineError> {
        let find = async || Ok(Arc::new(Connections::of(Box::pin(self.partials(ConnectionsPass)).await?)));
        self.once(&self.cuts.connections, (), find).await
    }

    /// Returns what the partials of a pass hold.
    pub(crate) async fn read<T: DeserializeOwned>(&self, pass: Pass) -> Result<Vec<T>, EngineError> {
        self.run(pass).await?.iter().map(|bytes| encoding::read(bytes).map_err(EngineError::from)).collect()
    }

    /// Returns the partials of a pass over all traces.
    pub(crate) async fn partials<P: SetPass>(&self, pass: P) -> Result<Vec<P::Part>, EngineError> {
        self.read(Pass::Set(PackedSetPass::of(&pass))).await
    }

    /// Returns the bytes of the one partial of a pass that is not `None`, for what only one worker knows.
    pub(crate) async fn only_partial<P: SetPass>(&self, pass: P) -> Result<Vec<u8>, EngineError> {
        let nothing = encoding::write(&None::<()>);
        let partials = self.run(Pass::Set(PackedSetPass::of(&pass))).await?;
        Ok(partials.into_iter().find(|partial| *partial != nothing).unwrap_or(nothing))
    }

    /// Ends a step of the plan's own work: reports its progress and yields.
    pub(crate) async fn working(&self, progress: TrainingProgress) {
        self.mailbox().working = Some(progress);
        self.next_step().await;
    }

    /// Ends a step of the plan's own work: yields without progress.
    pub(crate) async fn pause(&self) {
        self.working(TrainingProgress::default()).await;
    }

    /// Runs work of the plan's own that pauses by itself; tells how much of about `of` units is done.
    pub(crate) async fn watch<T>(&self, work: impl Future<Output = T>, done: &WorkCount, of: u64) -> T {
        self.pause().await;
        let mut work = pin!(work);
        poll_fn(|context| {
            let polled = work.as_mut().poll(context);
            if polled.is_pending() {
                let done = done.units().min(of);
                self.mailbox().working = Some(TrainingProgress { done, of: of + 1, ..Default::default() });
            }
            polled
        })
        .await
    }
}
