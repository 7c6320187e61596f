//! Recognition (`docs/definitions/ingest.md` section 1): whether the first records of an input are spans, and in which unit
//! their times are. It is decided before anything is read, so that an input of another tool is refused as a whole.

use crate::clock::{Clock, Unit};
use crate::formats::foreign::{self, Foreign};
use crate::guess::Guess;
use crate::json::node::{Bad, Node};
use crate::needs::{Needs, Times};
use crate::report::{ACCEPTED, ErrorKind};

/// So many records are looked at.
const RECORDS: usize = 100;
/// From so many records on, one in as many may be something else; of fewer, one.
const MANY: usize = 10;
/// 1990, and 2100, in microseconds.
const CALENDAR_US: std::ops::RangeInclusive<f64> = 631_152_000e6..=4_102_444_800e6;
/// Spans above this length make a unit doubtful: 400 days.
const DOUBTFUL_US: f64 = 34_560_000e6;
/// In another unit none may be longer than a day, and half of them no longer than a minute.
const DAY_US: f64 = 86_400e6;
const MINUTE_US: f64 = 60e6;

/// What to do with rows that nobody knows.
const GUESS: &str =
    "pathlight inspect --guess says which field may be what, and --map FILE reads by it; the page asks.";

/// An input that is not read: why, and what to do.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    pub kind: ErrorKind,
    pub offset: u64,
    pub reason: String,
    pub next: String,
    /// What it may be all the same, if it may be rows.
    pub guess: Option<Box<Guess>>,
    /// Whether it is not known what it is.
    pub is_unknown: bool,
}

impl Refusal {
    /// Returns the refusal of a file of another tool.
    pub fn foreign(Foreign { what, next, is_vague, .. }: Foreign) -> Refusal {
        let reason = format!("this looks like {what}");
        let next = next.to_owned();
        Refusal { kind: ErrorKind::Foreign, offset: 0, reason, next, guess: None, is_unknown: is_vague }
    }

    /// Returns the same with what a text may be, if that is not known.
    pub fn with_guess(mut self, text: &[u8]) -> Refusal {
        self.guess = if self.is_unknown { Guess::of(text).map(Box::new) } else { None };
        if self.guess.as_ref().is_some_and(|guess| !guess.mapping.is_empty()) {
            self.next = format!("It may be rows of spans: {GUESS} {}", self.next);
        }
        self
    }
}

/// A unit that is not that of a format, the offset of the first span whose times say so, and a sentence about it.
pub(crate) type OtherUnit = (Unit, u64, String);

/// What was seen of the first records.
#[derive(Debug, Default)]
pub(crate) struct Judge {
    spans: usize,
    /// Offsets of records that are no span.
    others: Vec<u64>,
    /// The first record that is no span: its offset, and what it is.
    first_other: Option<(u64, String)>,
    times: Vec<Times>,
    /// Where the last record begins that was looked at.
    last_at: u64,
}

impl Judge {
    /// Returns whether enough was seen.
    pub fn is_done(&self) -> bool {
        self.spans + self.others.len() >= RECORDS
    }

    /// Takes note of a record that is no span of any format.
    pub fn other(&mut self, at: u64, what: impl FnOnce() -> String) {
        if !self.is_done() {
            self.others.push(at);
            self.last_at = at;
            self.first_other.get_or_insert_with(|| (at, what()));
        }
    }

    /// Forgets the records from an offset on that are no span: they are what is left of a line that is damaged.
    pub fn forget_from(&mut self, at: u64) {
        if !self.is_done() {
            self.others.retain(|&other| other < at);
            self.first_other.take_if(|first| first.0 >= at);
        }
    }

    /// Takes note of a record where a span of a format should be; whether it is one.
    ///
    /// # Errors
    /// Bad syntax: such a record says nothing about the input.
    pub fn record(&mut self, needs: &Needs, node: Node<'_>) -> Result<bool, Bad> {
        if self.is_done() {
            return Ok(true);
        }
        let looked = needs.look(node)?;
        Ok(self.looked(node.at, looked))
    }

    /// Takes note of a record: the times of a span, or what is wrong with it; whether it is one.
    pub fn looked(&mut self, at: u64, looked: Result<Times, String>) -> bool {
        if self.is_done() {
            return true;
        }
        match looked {
            Ok(times) => {
                self.spans += 1;
                self.last_at = at;
                self.times.push(times);
                true
            }
            Err(what) => {
                self.other(at, || what);
                false
            }
        }
    }

    /// Returns whether nearly all of the records are spans, and there are some.
    pub fn is_of_spans(&self) -> bool {
        let others = self.others.len();
        let records = self.spans + others;
        let is_format = if records < MANY { others <= 1 } else { others * MANY <= records };
        self.spans > 0 && is_format
    }

    /// Returns the unit of the times, if it is not that of their format; `head` is the text that was looked at, which begins
    /// at an offset.
    ///
    /// # Errors
    /// The refusal of an input that is no file of spans.
    pub fn verdict(&self, head: &[u8], at: u64) -> Result<Option<OtherUnit>, Refusal> {
        if self.is_of_spans() {
            return Ok(self.other_unit());
        }
        let records = self.spans + self.others.len();
        // How much more has come than was needed must not matter.
        let needed = if self.is_done() { self.last_at.saturating_sub(at) as usize } else { head.len() };
        let foreign = foreign::of(&head[..needed.min(head.len())]);
        let Some((offset, what)) = &self.first_other else {
            // It may be a format that is read, and damaged.
            return foreign.filter(|of| !of.is_vague).map_or(Ok(None), |of| Err(Refusal::foreign(of)));
        };
        if let Some(of) = foreign {
            let more = if of.is_vague { format!(": {what}") } else { String::new() };
            let refusal = Refusal::foreign(of);
            return Err(Refusal { offset: *offset, reason: refusal.reason + &more, ..refusal });
        }
        let reason = match self.spans {
            0 => format!("it is JSON but holds no traces: {what}"),
            spans => format!(
                "only {spans} of its first {records} records are spans; the first that is none is {what}"
            ),
        };
        let next = format!("{ACCEPTED}.");
        let kind = ErrorKind::OtherJson;
        Err(Refusal { kind, offset: *offset, reason, next, guess: None, is_unknown: true })
    }

    /// Returns the unit that fits if that of the format does not, with the first span whose times say so and a sentence
    /// about it. Two units never fit: they are a thousand times apart, and 2100 is not even seven times 1990.
    pub fn other_unit(&self) -> Option<OtherUnit> {
        let clock = self.times.iter().map(|times| times.clock).find(|&clock| clock != Clock::Plain)?;
        let known = |times: &&Times| times.clock == clock && (times.start_us.or(times.duration_us)).is_some();
        let times: Vec<&Times> = self.times.iter().filter(known).collect();
        let is_odd = |times: &Times| {
            times.start_us.is_some_and(|us| !CALENDAR_US.contains(&us))
                || times.duration_us.is_some_and(|us| us > DOUBTFUL_US)
        };
        if times.iter().filter(|times| is_odd(times)).count() * 2 <= times.len() {
            return None;
        }
        let unit = Unit::others(clock).find(|unit| {
            let factor = 10f64.powi(unit.power);
            let fits = |times: &&Times| {
                times.start_us.is_none_or(|us| CALENDAR_US.contains(&(us * factor)))
                    && times.duration_us.is_none_or(|us| us * factor <= DAY_US)
            };
            let mut durations: Vec<f64> =
                times.iter().filter_map(|times| times.duration_us).map(|us| us * factor).collect();
            durations.sort_by(f64::total_cmp);
            let median_us = durations.get(durations.len() / 2).copied().unwrap_or(0.0);
            times.iter().all(fits) && median_us <= MINUTE_US
        })?;
        let first = times.iter().find(|times| is_odd(times))?;
        let format = clock.unit_name();
        let year = 1970.0 + (first.start_us.unwrap_or(0.0) / 31_556_952e6).floor();
        let text = format!(
            "the times are read as {}: as {format}, a span would begin in the year {year}",
            unit.name
        );
        Some((unit, first.at, text))
    }
}

impl Needs {
    /// Returns the times of a span, or what is wrong with the record.
    fn look(&self, node: Node<'_>) -> Result<Result<Times, String>, Bad> {
        if !node.is_object() {
            return Ok(Err(format!("{} where {} should be", node.describe(), self.what)));
        }
        let mut has = vec![false; self.keys.len()];
        let (mut start, mut duration, mut end) = (None, None, None);
        let mut wrong = None;
        let mut members = node.members();
        // Tags and logs come last, and are most of the text. Once all is there, the end of the next member is not looked for:
        // that was a third of what a look took.
        while start.is_none() || duration.or(end).is_none() || has.contains(&false) {
            let Some(member) = members.next() else { break };
            let (key, value) = member?;
            if value.is_null() {
                continue;
            }
            let is_of = |list: &[&str]| list.contains(&&*key);
            for (has, list) in has.iter_mut().zip(self.keys) {
                *has |= is_of(list);
            }
            for (list, slot) in
                [(self.start, &mut start), (self.duration, &mut duration), (self.end, &mut end)]
            {
                if is_of(list) {
                    match self.clock.number(value)? {
                        Ok(number) => *slot = number,
                        // Perhaps a bracket is lost, which shows further on.
                        Err(()) => wrong = Some(format!("{} whose {key} is {}", self.what, value.describe())),
                    }
                }
            }
        }
        if let Some(wrong) = wrong {
            return Ok(Err(wrong));
        }
        if let Some(lacks) = has.iter().position(|has| !has) {
            return Ok(Err(format!("{} without {}", self.what, self.keys[lacks][0])));
        }
        let to_us = if self.clock == Clock::Nanos { 1e-3 } else { 1.0 };
        let start_us = start.filter(|&us| us != 0.0).map(|start| start * to_us);
        let duration_us = match (start, end) {
            (Some(start), Some(end)) if duration.is_none() => Some((end - start) * to_us),
            _ => duration.map(|duration| duration * to_us),
        };
        Ok(Ok(Times { at: node.at, clock: self.clock, start_us, duration_us }))
    }
}
