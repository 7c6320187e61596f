//! The ranking as plain data. Times are microseconds per request of set B unless a field says otherwise.

pub use super::cells::ServiceExemplar;
use super::subject::Subject;
use crate::queues::QueueChange;
use pathlight_base::statistics::Interval;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Extra time per request of set B, and what drift and chance could make of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Excess {
    /// B minus A at B's own numbers of calls, microseconds per request.
    pub excess_us: f64,
    /// Twice the standard deviation if nothing had changed, microseconds per request.
    pub uncertainty_us: f64,
}

/// How sure it is that something got slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Certainty {
    /// Surely, and by at least half of what is said.
    Certain,
    /// Surely.
    Likely,
    /// It is small, or may be chance.
    Weak,
}

impl Certainty {
    /// Returns what it is called in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Certainty::Certain => "certain",
            Certainty::Likely => "likely",
            Certainty::Weak => "weak",
        }
    }
}

/// What of a service takes the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ServicePart {
    /// The work of the service itself.
    Own,
    /// Calls into it, outside its own spans.
    In,
    /// Calls it makes, outside the spans of the services that answer, whichever they are.
    Out,
}

impl ServicePart {
    /// All, in order.
    pub const ALL: [ServicePart; 3] = [ServicePart::Own, ServicePart::In, ServicePart::Out];

    /// Returns what it is called in JSON and addresses.
    pub fn key(self) -> &'static str {
        match self {
            ServicePart::Own => "own",
            ServicePart::In => "in",
            ServicePart::Out => "out",
        }
    }
}

/// Which service explains that set B is slower than set A.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServicesReport {
    /// Both sides are requests of one set: B its slow ones. Set by whoever asks; the numbers are the same.
    pub is_of_one_set: bool,
    /// Requests of A and of B.
    pub requests: [u64; 2],
    /// Mean latencies of A and of B in microseconds.
    pub mean_us: [f64; 2],
    /// The 95 % interval of the change of the mean latency in microseconds; `None` if it is not known.
    pub change_us: Option<Interval>,
    /// What of the change of the mean latency no service took longer for: B makes other calls, or other numbers of them.
    pub mix_us: f64,
    /// Services that set B uses, the best explanation first; those without a baseline last.
    pub services: Vec<ServiceChange>,
    /// Services that far fewer requests of B use, what is missed most first.
    pub vanished: Vec<Vanished>,
    /// Services in which errors begin, those that fail more often than in A first.
    pub failing: Vec<FailingService>,
    /// Nearly all services are slower alike, so that no single one explains it.
    pub in_proportion: Option<InProportion>,
    /// Visits that end before calls they made in A, those that concern most requests first.
    pub stops: Vec<StoppedVisits>,
    /// Queues in which messages of both sides wait, those that explain most first. No answer waits for them, so they are
    /// beside the latency, unless requests end when everything is done.
    pub queues: Vec<QueueChange>,
}

/// Visits of a service that end before calls they made before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoppedVisits {
    /// The service to blame: the one visited, or what answers the call after which visits end.
    pub service: String,
    /// Where visits begin.
    pub entry: Endpoint,
    /// The call after which they end; `None` if they make none.
    pub last_call: Option<Endpoint>,
    /// Visits of A and of B.
    pub visits: [u64; 2],
    /// How many of these end so.
    pub stopped: [u64; 2],
    /// By how much their share grew, from 0 to 1.
    pub growth: f64,
    /// The growth times the share of B's requests that have such visits.
    pub impact: f64,
}

/// What the verdict of two sets leads with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Headline<'a> {
    /// Visits end before calls they made before.
    Stops(&'a StoppedVisits),
    /// A service fails more often.
    Fails(&'a FailingService),
    /// A service surely got slower.
    Slower(&'a ServiceChange),
    /// Nearly all services got slower alike.
    InProportion(InProportion),
    /// Messages surely wait longer in a queue, and no service surely got slower.
    Queue(&'a QueueChange),
    /// A service got slower weakly, or maybe by chance.
    Suspect(&'a ServiceChange),
    /// No service got slower beyond drift and chance.
    Nothing,
}

/// How services became slower in proportion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InProportion {
    /// Services that are slower.
    pub slower: u64,
    /// Services that have at least 1 % of the time.
    pub services: u64,
    /// By how much the typical one of these is slower, as a share of its time.
    pub growth: f64,
    /// The least that one of the slower ones is slower by, as a share of its time.
    pub least: f64,
    /// The most.
    pub most: f64,
}

/// A service that far fewer requests use than before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Vanished {
    /// Name of the service.
    pub service: String,
    /// Requests of A and of B that use it.
    pub requests: [u64; 2],
}

/// What one service has to do with the difference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceChange {
    /// Name of the service.
    pub service: String,
    /// Place in the list from 1; `None` if A has nothing to compare with.
    pub rank: Option<u32>,
    /// Time beyond drift and chance, microseconds per request of B; below 0 if it got faster, 0 if no part is significant.
    pub score_us: f64,
    /// Its part of B's mean latency; 0 if that is 0.
    pub share: f64,
    /// Excess of the work of the service itself.
    pub own: Excess,
    /// Calls into it.
    pub incoming: Excess,
    /// Calls out of it.
    pub outgoing: Excess,
    /// Requests of B that use it.
    pub requests: u64,
    /// The score is positive, and below 5 % of the latency of the requests that use it; below 1 % if the part that leads moved
    /// as a whole.
    pub is_weak: bool,
    /// The score is positive, and rests on so few calls that their order may be chance.
    pub may_be_chance: bool,
    /// It calls other services without spans of the calling half, so that its own work may be the way to them.
    pub has_bare_calls: bool,
    /// What there is to say of it; `None` without a part that changed at all, or without a baseline.
    pub lead: Option<Lead>,
    /// Where in it, what explains most first; at most 10.
    pub places: Vec<ServicePlace>,
    /// How many places there are.
    pub places_in_all: u64,
}

/// The part of a service that says most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lead {
    /// The part of the service.
    pub part: ServicePart,
    /// Excess of the part.
    pub excess: Excess,
    /// Mean time per call, or per visit, in microseconds: before at B's own mix, and after.
    pub per_call_us: [f64; 2],
    /// Calls or visits of A and of B in cells that both sets have.
    pub calls: [u64; 2],
    /// At least this share of them got slower, from 0 to 1: the one-sided Kolmogorov distance, in eighths of an octave;
    /// `None` where A has no call of the same kind.
    pub slower: Option<f64>,
    /// So many of them certainly got slower that they moved as a whole.
    pub is_whole: bool,
    /// Services it calls that got slower themselves; `None` if it calls none.
    pub slower_callees: Option<Vec<String>>,
    /// The only caller of a service that calls nobody else, where work or replies of the service may be what is slow.
    pub only_caller: Option<String>,
    /// The only service it calls, which nobody else calls, and whose work and replies are as before.
    pub only_callee: Option<String>,
}

/// A kind of call or of visit: a place in a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServicePlace {
    /// Which part of the service it belongs to.
    pub part: ServicePart,
    /// The service on the other side of a call; `None` for own work.
    pub other: Option<String>,
    /// The operation that answers, or where the service was entered.
    pub operation: String,
    /// Calls or visits of B.
    pub calls: u64,
    /// The service's part of its excess; `None` without a baseline.
    pub excess: Option<Excess>,
    /// The request of B in which it took longest.
    pub exemplar: Option<ServiceExemplar>,
}

/// How often the calls of a service fail.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailingService {
    /// Name of the service.
    pub service: String,
    /// How often requests of A entered it.
    pub a_calls: u64,
    /// How often an error began in it then: a span in error without a child in error.
    pub a_failed: u64,
    /// How often requests of B entered it.
    pub b_calls: u64,
    /// How often an error began in it then.
    pub b_failed: u64,
    /// At least so much the share of failing calls grew, from 0 to 1: B's share less what A's share can be expected to
    /// give, which is the mean and twice the standard deviation of a beta-binomial distribution. Above 0: it changed.
    pub growth: f64,
    /// The growth times the share of B's requests that use the service; 0 if it did not grow, or if chance may make one
    /// of so many services grow as much.
    pub impact: f64,
}

impl Excess {
    /// Returns whether it is more than its uncertainty.
    pub fn is_significant(self) -> bool {
        self.excess_us.abs() > self.uncertainty_us
    }

    /// Returns what of it lies beyond the uncertainty, microseconds per request; 0 if it is not significant.
    pub fn score_us(self) -> f64 {
        if self.is_significant() {
            self.excess_us - self.uncertainty_us * self.uncertainty_us / self.excess_us
        } else {
            0.0
        }
    }

    /// Returns the excess less and more its uncertainty.
    pub(crate) fn interval(self) -> Interval {
        let Excess { excess_us, uncertainty_us } = self;
        Interval { low: excess_us - uncertainty_us, high: excess_us + uncertainty_us }
    }

    /// Returns how certain it is, where it is sure or not.
    pub(crate) fn certainty(self, is_sure: bool) -> Certainty {
        match is_sure {
            true if self.excess_us - self.uncertainty_us >= self.excess_us / 2.0 => Certainty::Certain,
            true => Certainty::Likely,
            false => Certainty::Weak,
        }
    }

    /// Returns how many times its uncertainty it is; `None` where nothing was measured.
    pub fn ratio(self) -> Option<f64> {
        (self.uncertainty_us > 0.0).then(|| self.excess_us / self.uncertainty_us)
    }
}

impl ServiceChange {
    /// Returns its three parts with their names.
    pub fn parts(&self) -> [(ServicePart, Excess); 3] {
        [(ServicePart::Own, self.own), (ServicePart::In, self.incoming), (ServicePart::Out, self.outgoing)]
    }

    /// Returns whether it surely got slower: what is weak or may be chance is a suspicion only.
    pub fn is_sure(&self) -> bool {
        self.score_us > 0.0 && !self.is_weak && !self.may_be_chance
    }

    /// Returns how sure it is that it got slower; `None` unless its score is positive.
    pub fn certainty(&self) -> Option<Certainty> {
        let lead = self.lead.as_ref().filter(|_| self.score_us > 0.0)?;
        Some(lead.excess.certainty(self.is_sure()))
    }

    /// Returns whether some part of it changed by more than drift and chance.
    pub fn is_significant(&self) -> bool {
        self.parts().iter().any(|(_, part)| part.is_significant())
    }
}

impl ServicesReport {
    /// Returns whether the mean latency of B is greater or less than that of A; equal if the interval of the change holds zero.
    pub fn mean_change(&self) -> Ordering {
        let [a, b] = self.mean_us;
        if self.change_us.is_some_and(Interval::includes_zero) { Ordering::Equal } else { b.total_cmp(&a) }
    }

    /// Returns whether B looks faster because requests no longer make calls that they made before.
    pub fn looks_faster(&self) -> bool {
        let change_us = self.mean_us[1] - self.mean_us[0];
        !self.vanished.is_empty() && change_us < 0.0 && self.mix_us <= change_us / 2.0
    }

    /// Returns the service that explains best that B is slower; `None` if none does beyond the usual drift, or if nearly all
    /// are slower in proportion: what is weak or may be chance is a suspicion only.
    pub fn culprit(&self) -> Option<&ServiceChange> {
        let first = self.services.iter().find(|row| row.is_sure());
        first.filter(|_| self.in_proportion.is_none())
    }

    /// Returns the part of a service that explains best that B is slower; `None` if none does.
    pub fn subject(&self) -> Option<Subject> {
        let change = self.culprit()?;
        Some(Subject { service: change.service.clone(), part: change.lead.as_ref()?.part })
    }

    /// Returns the queues in which messages surely wait longer, what explains most first. Slow and fast requests of one set
    /// send the same messages, so nothing is said of these unless they make the latency.
    pub fn sure_queues(&self) -> impl Iterator<Item = &QueueChange> {
        let is_said = |queue: &QueueChange| !self.is_of_one_set || queue.is_in_latency;
        self.queues.iter().filter(move |queue| is_said(queue) && queue.is_sure())
    }

    /// Returns the queue that explains more of the latency than any service does; `None` if none does.
    fn leading_queue(&self) -> Option<&QueueChange> {
        let queue = self.sure_queues().next().filter(|queue| queue.is_in_latency)?;
        let services = self.services.iter().map(|row| row.score_us);
        services.max_by(f64::total_cmp).is_none_or(|most| queue.score_us() > most).then_some(queue)
    }

    /// Returns what to say first: of calls that vanish and calls that fail what concerns most requests, unless a service
    /// surely got slower and B is slower as a whole. This is not said of slow requests of one set: they were chosen.
    pub fn headline(&self) -> Headline<'_> {
        let (culprit, queue) = (self.culprit(), self.leading_queue());
        let is_slower = (culprit.is_some() || queue.is_some()) && self.mean_us[1] > self.mean_us[0];
        if !self.is_of_one_set && !is_slower {
            let fails = self.failing.iter().filter(|row| row.impact > 0.0);
            // The first of equal ones.
            let fails = fails.reduce(|best, row| if row.impact > best.impact { row } else { best });
            match (fails, self.stops.first()) {
                (Some(fails), stops) if stops.is_none_or(|stops| fails.impact >= stops.impact) => {
                    return Headline::Fails(fails);
                }
                (_, Some(stops)) => return Headline::Stops(stops),
                _ => {}
            }
        }
        if let Some(queue) = queue {
            return Headline::Queue(queue);
        }
        if let Some(culprit) = culprit {
            return Headline::Slower(culprit);
        }
        if let Some(alike) = self.in_proportion {
            return Headline::InProportion(alike);
        }
        if let Some(queue) = self.sure_queues().next() {
            return Headline::Queue(queue);
        }
        let suspect = self.services.iter().find(|row| row.score_us > 0.0);
        suspect.map_or(Headline::Nothing, Headline::Suspect)
    }
}
