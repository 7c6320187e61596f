//! Services by what they explain of a difference.

use crate::compare::services::service_words;
use crate::json::parts::public_json;
use crate::queues;
use pathlight_engine::queues::{QueueChange, QueueExample};
use pathlight_engine::requests::RequestRef;
use pathlight_engine::verdict::{
    Certainty, Excess, Headline, ServiceChange, ServiceExemplar, ServicePlace, ServicesReport, StoppedVisits,
};
use pathlight_trace::Endpoint;

/// Returns an excess as `[excess, uncertainty]`.
fn pair(excess: Excess) -> [f64; 2] {
    [excess.excess_us, excess.uncertainty_us]
}

public_json! {
    /// How much longer messages wait in a queue than on side A. Times are microseconds.
    Queue<'a>(queue: &'a QueueChange) {
        /// Name of the queue or topic; empty if none was recorded.
        destination: &'a str = &queue.destination,
        /// Service that sends.
        sender_service: &'a str = &queue.sender.service,
        /// Operation that sends.
        sender_operation: &'a str = &queue.sender.operation,
        /// Service that receives.
        receiver_service: &'a str = &queue.receiver.service,
        /// Operation that receives.
        receiver_operation: &'a str = &queue.receiver.operation,
        /// Messages of side A and of side B.
        messages: [u64; 2] = queue.messages,
        /// Mean time in the queue of a message of side A and of side B.
        mean_us: [f64; 2] = queue.mean_us,
        /// What the messages of side B wait longer per request of it, as `[excess, uncertainty]`. It is beside the latency.
        excess_us: [f64; 2] = pair(queue.excess),
        /// What of it is beyond drift and chance; negative if messages wait shorter.
        score_us: f64 = queue.score_us(),
        /// How sure it is that messages wait longer: `certain`, `likely`, or `weak` (small, or maybe chance); `null` if they
        /// do not.
        certainty: Option<&'static str> = queue.certainty().map(Certainty::key),
        /// The sentence of the queue.
        text: String = queues::longer(queue).to_text(),
        /// The message of side B that waited longest.
        longest: &'a QueueExample = &queue.longest,
    }
}

public_json! {
    /// The share of one service in the difference. Times are microseconds per request of side B.
    Service<'a>(report: &'a ServicesReport, row: &'a ServiceChange) {
        /// Service name.
        service: &'a str = &row.service,
        /// Place in the list, from 1; `null` if side A has nothing to compare the service with.
        rank: Option<u32> = row.rank,
        /// Time beyond drift and chance; negative if the service got faster, 0 if nothing of it is significant.
        score_us: f64 = row.score_us,
        /// Of the mean latency of side B.
        share: f64 = row.share,
        /// Its own work on critical paths, as `[excess, uncertainty]`: B minus A at the numbers of calls of side B. Not the own time
        /// of `diagnosis`.
        own_us: [f64; 2] = pair(row.own),
        /// Calls into it, outside its own spans, as `[excess, uncertainty]`.
        in_us: [f64; 2] = pair(row.incoming),
        /// Calls it makes, outside the spans of the services that answer, as `[excess, uncertainty]`.
        out_us: [f64; 2] = pair(row.outgoing),
        /// Requests of side B that use it.
        requests: u64 = row.requests,
        /// Whether the score is positive and below 5 % of the latency of these requests; below 1 % if what leads moved as a
        /// whole.
        weak: bool = row.is_weak,
        /// Whether the score is positive and rests on so few calls that it may be chance.
        may_be_chance: bool = row.may_be_chance,
        /// How sure it is that the service got slower: `certain`, `likely`, or `weak` (small, or maybe chance); `null` if it did
        /// not.
        certainty: Option<&'static str> = row.certainty().map(Certainty::key),
        /// The sentence of the service.
        text: String = service_words(report, row).to_text(),
        /// Number of places in all, of which `places` lists at most 10.
        places_in_all: u64 = row.places_in_all,
        /// Places in the service, what explains most first; at most 10.
        places: Vec<Place<'a>> = row.places.iter().map(Place::of).collect(),
    }
}

impl Service<'_> {
    /// Returns every service of a report.
    pub fn all(report: &ServicesReport) -> Vec<Service<'_>> {
        report.services.iter().map(|row| Service::of(report, row)).collect()
    }
}

public_json! {
    /// A kind of call or of visit.
    Place<'a>(place: &'a ServicePlace) {
        /// The part of the service it belongs to: `own`, `in` or `out`.
        part: &'static str = place.part.key(),
        /// The service on the other side of a call; `null` for own work.
        other: Option<&'a str> = place.other.as_deref(),
        /// The operation that answers, or where the service was entered.
        operation: &'a str = &place.operation,
        /// Calls or visits of side B.
        calls: u64 = place.calls,
        /// The service's part of the excess, as `[excess, uncertainty]`; `null` if side A has nothing to compare with.
        excess_us: Option<[f64; 2]> = place.excess.map(pair),
        /// The request of side B in which it took longest; `null` if it took no time on any critical path.
        exemplar: Option<Longest<'a>> = place.exemplar.as_ref().map(Longest::of),
    }
}

public_json! {
    /// The call or visit that took longest.
    Longest<'a>(exemplar: &'a ServiceExemplar) {
        #[serde(flatten)]
        request: &'a RequestRef = &exemplar.request,
        /// The calling span, or the span where the service was entered.
        span_id: &'a str = &exemplar.span_id,
        /// The time of this call or visit on the critical path.
        time_us: u64 = exemplar.time_us,
    }
}

public_json! {
    /// What the verdict leads with.
    Leading<'a>(headline: Headline<'a>) {
        /// `stops` (visits end before calls they made), `fails`, `slower`, `in_proportion`, `queue` (messages wait longer),
        /// `suspect` (weak, or maybe chance), or `nothing`.
        kind: &'static str = match headline {
            Headline::Stops(_) => "stops",
            Headline::Fails(_) => "fails",
            Headline::Slower(_) => "slower",
            Headline::InProportion(_) => "in_proportion",
            Headline::Queue(_) => "queue",
            Headline::Suspect(_) => "suspect",
            Headline::Nothing => "nothing",
        },
        /// The service it is about, of a queue the one that receives; `null` if it is about none.
        service: Option<&'a str> = match headline {
            Headline::Stops(row) => Some(row.service.as_str()),
            Headline::Fails(row) => Some(row.service.as_str()),
            Headline::Slower(row) | Headline::Suspect(row) => Some(row.service.as_str()),
            Headline::Queue(queue) => Some(queue.receiver.service.as_str()),
            Headline::InProportion(_) | Headline::Nothing => None,
        },
    }
}

public_json! {
    /// Visits of a service that end before calls they made on side A.
    Stopped<'a>(row: &'a StoppedVisits) {
        /// The service to blame: the one visited, or what answers the call after which visits end.
        service: &'a str = &row.service,
        /// The service that is visited.
        caller: &'a str = &row.entry.service,
        /// The operation where visits begin.
        operation: &'a str = &row.entry.operation,
        /// The call after which they end, as `[service, operation]`; `null` if they make none.
        last_call: Option<[&'a str; 2]> = row.last_call.as_ref().map(|call: &Endpoint| call.names().into()),
        /// Visits of side A and of side B.
        visits: [u64; 2] = row.visits,
        /// How many of these end so.
        stopped: [u64; 2] = row.stopped,
        /// By how much their share grew, from 0 to 1.
        growth: f64 = row.growth,
        /// The growth times the share of the requests of side B that have such visits.
        impact: f64 = row.impact,
    }
}
