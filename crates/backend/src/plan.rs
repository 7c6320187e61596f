//! The plan of a fetch: which address to ask when, what to keep, when it is enough.
//!
//! Parts of the time range are taken newest first, and an answer counts only when all newer ones have come: so the same
//! search gives the same traces, however answers overtake each other. Where a search finds ids only (Tempo), each id it
//! finds becomes a part of its own, after all parts of the range.

use super::answer::{Requested, Verdict, judge};
use super::fields::normal_tags;
use super::{Dialect, Reply, Trouble, go_duration_ns, request};
use crate::source::{TraceSearch, Wanted, jaeger_id};
use pathlight_base::format as words;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Requests under way at most; browsers allow no more to one host of HTTP/1.1 anyway.
const AT_ONCE: usize = 6;
/// Traces asked for at once; Jaeger holds all of an answer in memory.
const PAGE: u32 = 500;
/// Slices to begin with at most.
const MOST_SLICES: u64 = 64;
/// Repetitions of a request that failed.
const RETRIES: u32 = 2;
/// Repetitions of a request that was to wait.
const PATIENCE: u32 = 6;
/// Wait before the first repetition; each further one waits twice as long.
const BACK_OFF_MS: u64 = 1000;
/// Places kept behind all parts of a range for ids that a search finds.
const MOST_LISTED: u64 = 1 << 40;
/// Longest wait, whatever the server says.
const LONGEST_WAIT_MS: u64 = 60_000;

/// The next step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FetchStep {
    /// Ask this address, and hand the reply to [`FetchPlan::replied`] with the same number.
    Ask {
        /// Number of the request.
        ticket: u32,
        /// Address, below the base.
        url: String,
    },
    /// Nothing until a reply comes or this moment of the driver's clock.
    Wait {
        /// The moment in milliseconds; `None`: only a reply ends the wait.
        until_ms: Option<u64>,
    },
    /// It has ended; forget what is still under way.
    End,
}

/// Progress of a fetch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FetchProgress {
    /// Share that is done, from 0 to 1: of the time range, of the limit, or of the ids.
    pub share: f64,
    /// Traces fetched so far.
    pub traces: u64,
    /// Requests answered.
    pub answered: u32,
    /// Requests under way.
    pub under_way: u32,
    /// Nothing is asked until this moment of the driver's clock, in milliseconds: Jaeger wants to be left alone, or has
    /// not worked yet.
    pub held_until_ms: Option<u64>,
}

/// Result of a fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Different traces fetched.
    pub traces: u64,
    /// Traces that came again with a neighbouring slice, and were merged.
    pub repeated: u64,
    /// Ids of which there is no trace.
    pub missing: Vec<String>,
    /// Parts that failed, in words, with their trouble; [`FetchPlan::retry`] asks for them again.
    pub failed: Vec<(String, Trouble)>,
    /// Slices that cannot be cut any finer and hold more traces than one answer.
    pub crowded: u32,
    /// The reason if all of it failed.
    pub trouble: Option<Trouble>,
}

/// One part of what is wanted.
#[derive(Clone, Debug)]
struct Part {
    what: What,
    /// Most traces of its answer.
    limit: u32,
    /// Its answer is taken as it is, even if it reaches its limit.
    is_last: bool,
    tries: u32,
    waits: u32,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum What {
    /// From and to, both included, in microseconds since the epoch.
    Range(u64, u64),
    Id(String),
}

#[derive(Clone, Debug)]
enum State {
    /// To be asked for, or asked for.
    Open,
    /// Answered; its turn comes when everything before it is done.
    Held(u32, BTreeSet<String>),
    Failed(Trouble),
}

/// The plan of a fetch.
#[derive(Clone, Debug)]
pub struct FetchPlan {
    base: String,
    search: TraceSearch,
    page: u32,
    dialect: Dialect,
    /// Dialects that may be tried next.
    untried: VecDeque<Dialect>,
    /// An answer in this dialect has come.
    is_dialect_known: bool,
    refused: Option<Trouble>,
    /// Parts not done, in the order they count: newest first, or ids in their order.
    parts: BTreeMap<u64, Part>,
    /// Open parts, by the moment from which they may be asked for.
    waiting: BTreeSet<(u64, u64)>,
    /// Open parts by the request under way for them.
    asked: BTreeMap<u32, u64>,
    failed: BTreeMap<u64, Part>,
    known: BTreeSet<String>,
    /// Ids that a search has found, where it finds no more than that.
    listed: BTreeSet<String>,
    deliveries: VecDeque<(u32, String)>,
    next_ticket: u32,
    held_until_ms: u64,
    answered: u32,
    /// Width of the range or number of ids, and how much of it is done.
    whole: u64,
    done: u64,
    outcome: Outcome,
}

impl FetchPlan {
    /// Returns a plan for what is wanted of the query service at this base address (whole, without a slash at its
    /// end). A search without times is about the hour before `now_us`.
    ///
    /// # Errors
    /// The fault of the search.
    pub fn new(base: &str, wanted: &Wanted, now_us: u64) -> Result<FetchPlan, Trouble> {
        FetchPlan::with_page(base, wanted, now_us, PAGE)
    }

    fn with_page(base: &str, wanted: &Wanted, now_us: u64, page: u32) -> Result<FetchPlan, Trouble> {
        let mut plan = FetchPlan {
            base: base.to_owned(),
            search: TraceSearch::default(),
            page,
            dialect: Dialect::default(),
            untried: Dialect::in_order(None).into_iter().skip(1).collect(),
            is_dialect_known: false,
            refused: None,
            parts: BTreeMap::new(),
            waiting: BTreeSet::new(),
            asked: BTreeMap::new(),
            failed: BTreeMap::new(),
            known: BTreeSet::new(),
            listed: BTreeSet::new(),
            deliveries: VecDeque::new(),
            next_ticket: 0,
            held_until_ms: 0,
            answered: 0,
            whole: 0,
            done: 0,
            outcome: Outcome::default(),
        };
        match wanted {
            Wanted::Nothing => {}
            Wanted::Traces(ids) => {
                if let Some(id) = ids.iter().find(|id| !is_id(id)) {
                    return Err(Trouble::Id(id.clone()));
                }
                plan.whole = ids.len() as u64;
                for (key, id) in (0..).zip(ids) {
                    plan.open(key, 0, Part::new(What::Id(id.clone()), 1));
                }
            }
            Wanted::Search(search) => plan.cut(search, now_us)?,
        }
        Ok(plan)
    }

    /// Returns this plan, asking first in the dialect that was understood at this address before.
    pub fn speaking(mut self, known: Option<Dialect>) -> FetchPlan {
        self.untried = Dialect::in_order(known);
        self.dialect = self.untried.pop_front().unwrap_or_default();
        self
    }

    /// Returns the dialect in which answers have come, if any has. One that was taken only because another asks for a service is
    /// none to be remembered.
    pub fn dialect(&self) -> Option<Dialect> {
        (self.is_dialect_known && !self.lacks_service()).then_some(self.dialect)
    }

    /// Returns whether a search of all services was refused by who can search one.
    fn lacks_service(&self) -> bool {
        let is_of_all = !self.search.service.is_empty() && self.search.service().is_empty();
        is_of_all && matches!(self.refused, Some(Trouble::Says { status: 400, .. }))
    }

    /// Cuts the range of a search into its first slices.
    fn cut(&mut self, search: &TraceSearch, now_us: u64) -> Result<(), Trouble> {
        let mut search = search.clone();
        let limit = fill_in(&mut search, now_us)?;
        let (start_us, end_us) = (search.start_us.unwrap_or(0), search.end_us.unwrap_or(now_us));
        self.whole = end_us - start_us + 1;
        self.search = search;
        let slices = if limit <= self.page {
            // Jaeger's own limit gives what is wanted, the newest, in one answer.
            1
        } else {
            // Without a limit nothing is known of how many there are; a slice that is too full is halved.
            let pages = if limit == u32::MAX { 1 } else { u64::from(limit.div_ceil(self.page)) };
            pages.clamp(AT_ONCE as u64, MOST_SLICES).min(self.whole.div_ceil(self.dialect.narrowest_us()))
        };
        let width = self.whole.div_ceil(slices);
        for slice in 0..slices {
            let Some(to) = end_us.checked_sub(slice * width).filter(|to| *to >= start_us) else { break };
            let from = to.saturating_sub(width - 1).max(start_us);
            let mut part = Part::new(What::Range(from, to), limit.min(self.page));
            part.is_last = slices == 1 && limit <= self.page;
            self.open(order(to), 0, part);
        }
        Ok(())
    }

    /// Puts a part in its place, to be asked for from this moment on.
    fn open(&mut self, key: u64, from_ms: u64, part: Part) {
        self.parts.insert(key, part);
        self.waiting.insert((from_ms, key));
    }

    /// Forgets everything that is not done.
    fn stop(&mut self) {
        self.parts.clear();
        self.waiting.clear();
        self.asked.clear();
    }

    /// Forgets the parts of the range that are not done: enough ids are known.
    fn stop_searching(&mut self) {
        let is_range = |part: &Part| matches!(part.what, What::Range(..));
        self.parts.retain(|_, part| !is_range(part));
        self.waiting.retain(|(_, key)| self.parts.contains_key(key));
        self.asked.retain(|_, key| self.parts.contains_key(key));
    }

    /// Returns what to do at this moment.
    pub fn next(&mut self, now_ms: u64) -> FetchStep {
        if self.parts.is_empty() {
            return FetchStep::End;
        }
        // Until a dialect is known, one request finds it out.
        if self.asked.len() >= if self.is_dialect_known { AT_ONCE } else { 1 } {
            return FetchStep::Wait { until_ms: None };
        }
        let Some(&(from, key)) = self.waiting.first() else { return FetchStep::Wait { until_ms: None } };
        let from = from.max(self.held_until_ms);
        if from > now_ms {
            return FetchStep::Wait { until_ms: Some(from) };
        }
        self.waiting.pop_first();
        let Some(part) = self.parts.get(&key) else { return FetchStep::Wait { until_ms: Some(now_ms) } };
        let ticket = self.next_ticket;
        self.next_ticket += 1;
        self.asked.insert(ticket, key);
        let url = match &part.what {
            What::Range(from, to) => {
                request::search(&self.base, self.dialect, &self.search, (*from, *to), part.limit)
            }
            What::Id(id) => request::trace(&self.base, self.dialect, id),
        };
        FetchStep::Ask { ticket, url }
    }

    /// Takes the reply to a request; tells whether its body may be [delivered](FetchPlan::delivery).
    pub fn replied(&mut self, ticket: u32, reply: &Reply, now_ms: u64) -> bool {
        let Some(key) = self.asked.remove(&ticket) else { return false };
        let Some(part) = self.parts.get_mut(&key) else { return false };
        self.answered += 1;
        let requested = if matches!(part.what, What::Id(_)) { Requested::Trace } else { Requested::Search };
        let verdict = judge(self.dialect, requested, reply);
        let mut is_kept = false;
        let mut failure = None;
        match verdict {
            Verdict::Good => {
                self.is_dialect_known = true;
                let Reply::Answer(answer) = reply else { return false };
                part.state = State::Held(ticket, answer.body.ids().clone());
                is_kept = !self.halve(key);
            }
            Verdict::Nothing => {
                self.is_dialect_known = true;
                if let What::Id(id) = &part.what {
                    self.outcome.missing.push(id.clone());
                }
                part.state = State::Held(ticket, BTreeSet::new());
            }
            Verdict::OtherDialect(trouble) => {
                self.waiting.insert((0, key));
                self.try_other_dialect(trouble);
            }
            Verdict::Later(seconds) => {
                part.waits += 1;
                let wait_ms =
                    seconds.map_or(BACK_OFF_MS << part.waits, |seconds| seconds.saturating_mul(1000));
                // All wait: the others would be turned away too.
                self.held_until_ms = self.held_until_ms.max(now_ms + wait_ms.min(LONGEST_WAIT_MS));
                if part.waits > PATIENCE {
                    failure = Some(Trouble::Busy);
                } else {
                    self.waiting.insert((0, key));
                }
            }
            Verdict::Again(trouble) if part.tries >= RETRIES => failure = Some(trouble),
            Verdict::Again(_) => {
                let from = now_ms + (BACK_OFF_MS << part.tries);
                part.tries += 1;
                if self.is_dialect_known {
                    self.waiting.insert((from, key));
                } else {
                    // Nothing has worked so far: the other parts need not be tried meanwhile.
                    self.held_until_ms = from;
                    self.waiting.insert((0, key));
                }
            }
            Verdict::Over(trouble) => self.outcome.trouble = Some(trouble),
        }
        match failure {
            // Nothing has worked so far: neither will the rest.
            Some(trouble) if !self.is_dialect_known => self.outcome.trouble = Some(trouble),
            Some(trouble) => {
                if let Some(part) = self.parts.get_mut(&key) {
                    part.state = State::Failed(trouble);
                }
            }
            None => {}
        }
        self.advance();
        is_kept
    }

    fn try_other_dialect(&mut self, trouble: Trouble) {
        // What Jaeger says itself tells more than that there is something else.
        let says_why = |trouble: &Trouble| matches!(trouble, Trouble::Says { .. });
        if self.refused.as_ref().is_none_or(|known| says_why(&trouble) && !says_why(known)) {
            self.refused = Some(trouble);
        }
        let next = if self.is_dialect_known { None } else { self.untried.pop_front() };
        match next {
            Some(dialect) => self.dialect = dialect,
            None if self.lacks_service() => self.outcome.trouble = Some(Trouble::NoService),
            None => self.outcome.trouble = self.refused.clone(),
        }
    }

    /// Cuts a slice in two if its answer may not be all there is; tells whether it did.
    fn halve(&mut self, key: u64) -> bool {
        let Some(part) = self.parts.get_mut(&key) else { return false };
        let (State::Held(_, ids), &What::Range(from, to)) = (&part.state, &part.what) else { return false };
        if part.is_last || (ids.len() as u64) < u64::from(part.limit) {
            return false;
        }
        if to - from < self.dialect.narrowest_us() {
            self.outcome.crowded += 1;
            part.is_last = true;
            return false;
        }
        let middle = from + (to - from) / 2;
        let limit = part.limit;
        for (from, to) in [(from, middle), (middle + 1, to)] {
            self.open(order(to), 0, Part::new(What::Range(from, to), limit));
        }
        true
    }

    /// Takes what has come, as far as everything before it is done.
    fn advance(&mut self) {
        if self.outcome.trouble.is_some() {
            self.stop();
        }
        let lists_only = self.dialect == Dialect::Tempo;
        let limit = self.search.limit.map_or(u64::MAX, u64::from);
        while let Some(mut entry) = self.parts.first_entry() {
            let part = entry.get_mut();
            match &part.state {
                State::Held(ticket, ids) if lists_only && matches!(part.what, What::Id(_)) => {
                    // Ids are written otherwise in the trace itself.
                    if let (What::Id(id), false) = (&part.what, ids.is_empty()) {
                        self.known.insert(id.clone());
                        self.deliveries.push_back((*ticket, part.what.words()));
                    }
                }
                State::Held(ticket, ids) => {
                    let seen = if lists_only { &mut self.listed } else { &mut self.known };
                    let room = limit - (seen.len() as u64).min(limit);
                    let new = ids.difference(seen).count() as u64;
                    if new > room && !part.is_last {
                        // The newest of it that make up the limit.
                        part.limit = room as u32;
                        part.is_last = true;
                        part.state = State::Open;
                        let (key, part) = entry.remove_entry();
                        self.stop();
                        self.open(key, 0, part);
                        break;
                    }
                    let fresh: Vec<String> = ids.difference(seen).cloned().collect();
                    seen.extend(fresh.iter().cloned());
                    if !lists_only {
                        self.outcome.repeated += ids.len() as u64 - new;
                        if !ids.is_empty() {
                            self.deliveries.push_back((*ticket, part.what.words()));
                        }
                    } else if !fresh.is_empty() {
                        let first = u64::MAX - MOST_LISTED + self.listed.len() as u64 - new;
                        let (_, part) = entry.remove_entry();
                        self.done += part.what.size();
                        for (key, id) in (first..).zip(fresh) {
                            self.whole += 1;
                            self.open(key, 0, Part::new(What::Id(id), 1));
                        }
                        if self.listed.len() as u64 >= limit {
                            self.stop_searching();
                        }
                        continue;
                    }
                }
                State::Failed(trouble) => {
                    self.outcome.failed.push((part.what.words(), trouble.clone()));
                    let (key, part) = entry.remove_entry();
                    self.done += part.what.size();
                    self.failed.insert(key, part);
                    continue;
                }
                State::Open => break,
            }
            self.done += entry.remove().what.size();
            if !lists_only && self.known.len() as u64 >= limit {
                self.done = self.whole;
                self.stop();
            }
        }
        self.outcome.traces = self.known.len() as u64;
    }

    /// Returns the next answer that is to be loaded: the number of its request, and what to call it.
    pub fn delivery(&mut self) -> Option<(u32, String)> {
        self.deliveries.pop_front()
    }

    /// Asks again for the parts that failed; false if there are none.
    pub fn retry(&mut self) -> bool {
        let failed = std::mem::take(&mut self.failed);
        let is_any = !failed.is_empty();
        for (key, part) in failed {
            self.done = self.done.saturating_sub(part.what.size());
            self.open(key, 0, Part { state: State::Open, tries: 0, waits: 0, ..part });
        }
        self.outcome.failed.clear();
        is_any
    }

    /// Returns the progress of the fetch.
    pub fn progress(&self, now_ms: u64) -> FetchProgress {
        let traces = self.known.len() as u64;
        let of_range = self.done as f64 / self.whole.max(1) as f64;
        let of_limit = self.search.limit.map_or(0.0, |limit| traces as f64 / f64::from(limit.max(1)));
        FetchProgress {
            share: of_range.max(of_limit).min(1.0),
            traces,
            answered: self.answered,
            under_way: self.asked.len() as u32,
            held_until_ms: Some(self.held_until_ms).filter(|until| *until > now_ms),
        }
    }

    /// Returns how the fetch ended.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }
}

/// Returns the key that puts the newest first.
fn order(end_us: u64) -> u64 {
    u64::MAX - end_us
}

/// Returns what the answer with a trace is called.
pub fn trace_name(id: &str) -> String {
    format!("trace {}", jaeger_id(id))
}

/// Returns whether a text is a trace id as Jaeger and Tempo know them.
fn is_id(text: &str) -> bool {
    text.len() <= 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Checks a search and fills in its times and limit; returns the limit.
fn fill_in(search: &mut TraceSearch, now_us: u64) -> Result<u32, Trouble> {
    const HOUR_US: u64 = 3_600_000_000;
    if search.service.is_empty() {
        return Err(Trouble::NoService);
    }
    for duration in [&search.min_duration, &search.max_duration] {
        if !duration.is_empty() && go_duration_ns(duration).is_none() {
            return Err(Trouble::Duration(duration.clone()));
        }
    }
    if !search.tags.is_empty() {
        search.tags = normal_tags(&search.tags).ok_or_else(|| Trouble::Tags(search.tags.clone()))?;
    }
    let end_us = search.end_us.unwrap_or(now_us);
    let start_us = search.start_us.unwrap_or_else(|| end_us.saturating_sub(HOUR_US));
    if start_us > end_us {
        return Err(Trouble::Range);
    }
    let limit = search.limit.unwrap_or(TraceSearch::LIMIT).max(1);
    (search.start_us, search.end_us, search.limit) = (Some(start_us), Some(end_us), Some(limit));
    Ok(limit)
}

impl Part {
    fn new(what: What, limit: u32) -> Part {
        Part { what, limit, is_last: false, tries: 0, waits: 0, state: State::Open }
    }
}

impl What {
    /// Returns its share of the whole.
    fn size(&self) -> u64 {
        match self {
            What::Range(from, to) => to - from + 1,
            What::Id(_) => 1,
        }
    }

    fn words(&self) -> String {
        match self {
            What::Range(from, to) => {
                format!("traces from {} to {} UTC", words::moment(*from), words::moment(*to))
            }
            What::Id(id) => trace_name(id),
        }
    }
}

#[cfg(test)]
mod tests;
