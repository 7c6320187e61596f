//! The service that explains the difference of two sides: in words, as a table of services and one of places.

use crate::findings::sentences::times;
use crate::queues;
use crate::say::sentence::Sentence;
use crate::table::{Attributes, Column, Number, Table, Unit, Width};
use pathlight_base::format::{change, count, counted, duration, endpoint, printable, share};
use pathlight_engine::verdict::{
    Excess, FailingService, Headline, InProportion, Lead, ServiceChange, ServicePart, ServicePlace,
    ServicesReport, StoppedVisits,
};
use std::cmp::Ordering;
use std::fmt::Write as _;

/// Fewer calls than this are said to be few.
const FEW: u64 = 10;

/// Words for the two sides of a comparison: after and before, or slow and fast requests of one set.
struct Sides {
    /// After a time of side A.
    before: &'static str,
    /// After services of which side B takes longer.
    slower: &'static str,
    /// The same of one service.
    one_slower: &'static str,
    /// After services of which side B takes less time.
    faster: &'static str,
    /// After services that did, or did not.
    changed: &'static str,
}

impl Sides {
    fn of(report: &ServicesReport) -> Sides {
        if !report.is_of_one_set {
            return Sides {
                before: " before",
                slower: " got slower",
                one_slower: " got slower",
                faster: " got faster",
                changed: " changed",
            };
        }
        let is_slow = report.mean_us[1] >= report.mean_us[0];
        let before = if is_slow { " in the fast ones" } else { " in the slow ones" };
        Sides {
            before,
            slower: " are slower",
            one_slower: " is slower",
            faster: " takes less time",
            changed: " differs",
        }
    }
}

/// Returns an excess with its uncertainty.
pub fn excess_words(excess: Excess) -> String {
    if excess.uncertainty_us == 0.0 {
        return pathlight_base::format::DASH.to_owned();
    }
    format!("{} \u{b1} {}", change(excess.excess_us), duration(excess.uncertainty_us))
}

/// Returns the subject of the first sentence, and what its calls are called.
fn subject(row: &ServiceChange, lead: &Lead) -> (Sentence, &'static str) {
    let out = Sentence::default();
    if let Some(callee) = &lead.only_callee {
        return (out.text("Calls of ").service(&row.service).text(" to ").service(callee), "call");
    }
    match lead.part {
        ServicePart::In => (out.text("Calls into ").service(&row.service), "call"),
        ServicePart::Out => {
            let words = out.text("Calls that ").service(&row.service);
            (words.text(" makes, whichever service they go to,"), "call")
        }
        ServicePart::Own if row.has_bare_calls => {
            (out.service(&row.service).text("'s own work or the calls it makes"), "visit")
        }
        ServicePart::Own => (out.service(&row.service).text("'s own work"), "visit"),
    }
}

/// Returns what there is to say of a service; nothing beyond its name without a baseline.
pub fn service_words(report: &ServicesReport, row: &ServiceChange) -> Sentence {
    let sides = Sides::of(report);
    let Some(lead) = &row.lead else {
        let why = match (row.rank, report.is_of_one_set) {
            (None, _) => " is new: side A has nothing to compare it with.",
            (_, false) => " did not change.",
            (_, true) => " does not differ.",
        };
        return Sentence::default().service(&row.service).text(why);
    };
    let (words, noun) = subject(row, lead);
    let [before, after] = lead.per_call_us;
    let verb = match lead.part {
        ServicePart::Own if row.has_bare_calls => " take ",
        ServicePart::Own => " takes ",
        _ => " wait ",
    };
    let mut words = words.text(verb).number(duration(after));
    words = words.text(match lead.part {
        ServicePart::Own => " per visit (",
        _ if lead.only_callee.is_some() => " outside its spans (",
        ServicePart::In => " outside its own spans (",
        ServicePart::Out => " outside the spans of those services (",
    });
    words = words.number(duration(before)).text(sides.before).text("); ");
    if let Some(slower) = lead.slower.filter(|_| lead.excess.excess_us > 0.0) {
        words =
            words.text("at least ").number(share(slower)).text(" of ").number(counted(lead.calls[1], noun));
        words = words.text(sides.slower).text("; ");
    }
    words = words.text("that is ").number(excess_words(lead.excess)).text(" per request over all requests (");
    words = words.number(format!("{} of {}", row.requests, report.requests[1])).text(" use it).");
    after_words(words, (report, row), lead, &sides)
}

/// Returns what is to be kept in mind beside the numbers.
fn after_words(
    mut words: Sentence,
    (report, row): (&ServicesReport, &ServiceChange),
    lead: &Lead,
    sides: &Sides,
) -> Sentence {
    words = words.then(mostly(row, lead));
    let is_unsure = |name: &String| suspects(report).any(|service| service.service == *name);
    match &lead.slower_callees {
        _ if row.score_us <= 0.0 => {}
        Some(slower) if slower.is_empty() => {
            words = words.text(" No service it calls").text(sides.changed).text(".")
        }
        Some(slower) => {
            // Those that are sure, or all that may be.
            let sure: Vec<String> = slower.iter().filter(|name| !is_unsure(name)).cloned().collect();
            let (named, end) = match sure.is_empty() {
                true => (slower, " too, weakly or by chance."),
                false => (&sure, " too."),
            };
            let are_slower = if named.len() == 1 { sides.one_slower } else { sides.slower };
            words = words.text(" Of the services it calls, ").services(named).text(are_slower).text(end)
        }
        None => {}
    }
    words.then(caveats(row, lead))
}

/// Returns the operation that explains half of a part or more, if there are several.
fn mostly(row: &ServiceChange, lead: &Lead) -> Sentence {
    let of_part = || row.places.iter().filter(|place| place.part == lead.part);
    let half_us = lead.excess.excess_us / 2.0;
    let is_most =
        |place: &&ServicePlace| place.excess.is_some_and(|excess| (excess.excess_us / half_us) >= 1.0);
    match of_part().find(|place| place.excess.is_some()).filter(is_most).filter(|_| of_part().count() > 1) {
        Some(place) => {
            let calls = counted(place.calls, if lead.part == ServicePart::Own { "visit" } else { "call" });
            let words = Sentence::default().text(" Mostly ").text(&printable(&place.operation));
            words.text(", ").number(calls).text(".")
        }
        None => Sentence::default(),
    }
}

/// Returns why a verdict may be wrong.
fn caveats(row: &ServiceChange, lead: &Lead) -> Sentence {
    let mut words = Sentence::default();
    if let Some(caller) = &lead.only_caller {
        words = words.text(" Only ").service(caller).text(" calls it, and nothing else: it could be either.");
    }
    if let Some(callee) = &lead.only_callee
        && lead.excess.excess_us > 0.0
    {
        words = words
            .text(" They wait before ")
            .service(callee)
            .text(" begins; its work and replies are as before: ");
        words =
            words.service(&row.service).text(" sends late, or ").service(callee).text(" has no free worker.");
    }
    if row.is_weak {
        let least = if lead.is_whole { "1" } else { "5" };
        words = words
            .text(&format!(" This is weak: less than {least}\u{202f}% of the latency of these requests."));
    }
    let fewest = lead.calls[0].min(lead.calls[1]);
    if fewest < FEW {
        let chance = if row.may_be_chance { ", which may be chance." } else { "." };
        words = words.text(" One side has only ").number(counted(fewest, "such call")).text(chance);
    }
    words
}

/// Returns services that changed by more than drift, though weakly, or so that it may be chance.
fn suspects(report: &ServicesReport) -> impl Iterator<Item = &ServiceChange> {
    report.services.iter().filter(|row| row.score_us > 0.0 && (row.is_weak || row.may_be_chance))
}

/// Returns the mean latencies of A and of B.
pub fn means(report: &ServicesReport) -> String {
    let [a, b] = report.mean_us.map(duration);
    format!("{a} \u{2192} {b}")
}

/// Returns the verdict: what explains that B is slower, or that nothing does, or nothing clearly. Where both sides are of
/// one set, B being its slow requests, that is no fault of a service, so it says where their time goes.
pub fn verdict(report: &ServicesReport) -> Sentence {
    if report.requests.contains(&0) {
        return Sentence::default().text("A side has no request, so there is nothing to compare.");
    }
    let words = headline_words(report);
    let words = if words.parts.is_empty() { words } else { words.text(" ") };
    words.then(times_verdict(report)).then(second_words(report))
}

/// Returns what a verdict leads with where that is no time; else nothing.
fn headline_words(report: &ServicesReport) -> Sentence {
    match report.headline() {
        Headline::Stops(row) => stops_words(report, row),
        Headline::Fails(row) => fails_words(report, row),
        Headline::Queue(queue) => queues::longer(queue),
        _ => Sentence::default(),
    }
}

/// Returns the calls that vanish where they come second; else nothing.
fn second_words(report: &ServicesReport) -> Sentence {
    match (report.headline(), report.stops.first()) {
        (Headline::Stops(_), _) | (_, None) => Sentence::default(),
        _ if report.is_of_one_set => Sentence::default(),
        (_, Some(row)) => Sentence::default().text(" ").then(stops_words(report, row)),
    }
}

/// Returns the sentence of visits that end before calls they made before.
fn stops_words(report: &ServicesReport, row: &StoppedVisits) -> Sentence {
    let rate = |side: usize| share(row.stopped[side] as f64 / row.visits[side].max(1) as f64);
    let words = Sentence::default().number(rate(1)).text(" of the visits of ").name(&row.entry);
    let words = match &row.last_call {
        None => words.text(" now end without a call ("),
        Some(call) => words.text(" now end after a call of ").name(call).text(" ("),
    };
    let words = words.number(rate(0)).text(" before)");
    let words = words.text(match report.mean_change() {
        Ordering::Less => ": B is faster because calls vanish.",
        Ordering::Equal | Ordering::Greater => ": calls vanish.",
    });
    if row.service == row.entry.service {
        return words;
    }
    words.text(" The cause is probably in ").service(&row.service).text(".")
}

/// Returns the sentence of services that are slower in proportion.
fn proportion_words(report: &ServicesReport, alike: InProportion) -> Sentence {
    let words = if report.is_of_one_set { "Where the time of slow requests goes: " } else { "" };
    let words = Sentence::default().text(words);
    let words = words.number(format!("{} of {}", count(alike.slower), counted(alike.services, "service")));
    let words =
        words.text(" are slower, by ").number(share(alike.least)).text(" to ").number(share(alike.most));
    let words = words.text("; no single one explains it.");
    match report.services.first().filter(|row| row.lead.is_some()) {
        Some(row) => words.text(" Most: ").then(service_words(report, row)),
        None => words,
    }
}

/// Returns the verdict on times alone.
fn times_verdict(report: &ServicesReport) -> Sentence {
    if let Some(alike) = report.in_proportion {
        return proportion_words(report, alike);
    }
    if let Some(first) = report.culprit() {
        let lead = Sentence::default();
        let says_why = report.looks_faster() || matches!(report.headline(), Headline::Stops(_));
        let is_faster = report.mean_change().is_lt() && !says_why;
        let lead = if report.is_of_one_set {
            lead.text("Where the time of slow requests goes: ")
        } else if is_faster {
            lead.text("B is faster as a whole: mean ").number(means(report)).text(". ")
        } else {
            lead
        };
        return lead.then(service_words(report, first));
    }
    let sides = Sides::of(report);
    let suspect = suspects(report).next();
    let (clearly, drift) = match suspect {
        Some(_) => (" clearly", ""),
        None => ("", " beyond the usual drift"),
    };
    let faster = report.services.iter().rev().find(|row| row.rank.is_some() && row.score_us < 0.0);
    let words = Sentence::default().text("No service").text(clearly);
    let words = match faster {
        None => words.text(sides.changed).text(drift).text("."),
        Some(faster) => {
            let slower = if report.is_of_one_set { " takes longer" } else { sides.slower };
            let words = words.text(slower).text(drift).text("; ").service(&faster.service);
            words.text(sides.faster).text(", by ").number(duration(-faster.score_us)).text(" per request.")
        }
    };
    if let Some(suspect) = suspect {
        let lead = if suspect.is_weak { " Weakly: " } else { " What may be chance: " };
        let words = words.text(lead).then(service_words(report, suspect));
        return match named(suspects(report).skip(1)) {
            others if others.is_empty() => words,
            others => words.text(" Weakly, or by chance, also: ").services(&others).text("."),
        };
    }
    match report.services.first().and_then(|row| Some((row, row.lead.as_ref()?))) {
        Some((row, lead)) if lead.excess.excess_us > 0.0 => {
            let part = match lead.part {
                ServicePart::Own => ", its own work: ",
                ServicePart::In => ", calls into it: ",
                ServicePart::Out => ", calls it makes: ",
            };
            let words = words.text(" The largest suspicion is ").service(&row.service).text(part);
            words.number(excess_words(lead.excess)).text(" per request.")
        }
        _ => words,
    }
}

/// Services named one by one.
const NAMED: usize = 3;

/// Returns the names of the first services.
fn named<'a>(rows: impl Iterator<Item = &'a ServiceChange>) -> Vec<String> {
    rows.take(NAMED).map(|row| row.service.clone()).collect()
}

/// Returns the first sentence about two sets: how much of the difference the service explains, where in it to look,
/// whom it hits, and what else changed; the [`verdict`] where no service is certain.
pub fn explanation(report: &ServicesReport) -> Sentence {
    let Some((row, lead)) = report.culprit().and_then(|row| Some((row, row.lead.as_ref()?))) else {
        return verdict(report);
    };
    let sides = Sides::of(report);
    let first = headline_words(report);
    let first = if first.parts.is_empty() { first } else { first.text(" ") };
    let (words, noun) = subject(row, lead);
    let words = first.then(words);
    let change_us = report.mean_us[1] - report.mean_us[0];
    let excess_us = lead.excess.excess_us;
    let explains = if lead.part == ServicePart::Own { " explains " } else { " explain " };
    let words = words.text(explains).number(duration(excess_us));
    let words = match report.mean_change() {
        Ordering::Greater if change_us > excess_us => {
            words.text(" of the ").number(duration(change_us)).text(": ")
        }
        Ordering::Greater => words.text(" per request, more than the whole difference: "),
        Ordering::Less => words.text(" more per request, though B is faster as a whole: "),
        Ordering::Equal => words.text(" more per request: "),
    };
    let [before, after] = lead.per_call_us;
    let words = words.number(duration(after)).text(&format!(" per {noun}, ")).number(duration(before));
    let words = words.text(sides.before).text(match lead.part {
        ServicePart::Own => ".",
        _ if lead.only_callee.is_some() => ", outside its spans.",
        ServicePart::In => {
            ", outside its own spans: look at its network, its queue or the connection pool of its callers."
        }
        ServicePart::Out => {
            ", outside the spans of those services: look at its own network, processor or connection pool."
        }
    });
    let words = words.then(mostly(row, lead));
    let callers = callers(row);
    let words = match callers.is_empty() {
        true => words,
        false => words.text(" Callers hit: ").services(&callers[..callers.len().min(NAMED)]).text("."),
    };
    words.then(besides(report, row)).then(caveats(row, lead)).then(second_words(report))
}

/// Returns the callers that wait for a service, most first; none if it is not waiting for it that says most.
pub(crate) fn callers(row: &ServiceChange) -> Vec<String> {
    let is_in = row.lead.as_ref().is_some_and(|lead| lead.part == ServicePart::In);
    let mut callers: Vec<String> = Vec::new();
    for place in row.places.iter().filter(|place| is_in && place.part == ServicePart::In) {
        callers.extend(place.other.clone().filter(|caller| !callers.contains(caller)));
    }
    callers
}

/// Returns the first sentence about two sets in short, and what is worth knowing besides numbers that stand elsewhere; `None`
/// where no service is certain, or B is not slower.
pub(crate) fn in_short(report: &ServicesReport) -> Option<(Sentence, Sentence)> {
    let row = report.culprit().filter(|_| matches!(report.headline(), Headline::Slower(_)))?;
    let lead = row.lead.as_ref().filter(|lead| lead.excess.excess_us > 0.0)?;
    let out = Sentence::default();
    let out = match (report.mean_change(), report.mean_us) {
        (Ordering::Greater, [a, b]) if a > 0.0 && b / a >= 1.05 => {
            out.text("B is ").number(times(b / a)).text(" slower: ")
        }
        (Ordering::Greater, _) => out.text("B is slower: "),
        // That B is faster as a whole is said in full.
        (Ordering::Less, _) => return None,
        (Ordering::Equal, _) => out.text("In B, "),
    };
    let [before, after] = lead.per_call_us.map(duration);
    let (out, noun) = match (lead.part, &lead.only_callee) {
        (ServicePart::Own, _) => {
            (out.text("the own work of ").service(&row.service).text(" takes ").number(after), " per visit, ")
        }
        (_, Some(callee)) => {
            let out = out.text("calls of ").service(&row.service).text(" to ").service(callee);
            (out.text(" wait ").number(after), " outside its spans, ")
        }
        (ServicePart::In, None) => {
            (out.text("calls wait ").number(after).text(" for ").service(&row.service), " to answer, ")
        }
        (ServicePart::Out, None) => {
            let out = out.text("calls by ").service(&row.service).text(" wait ").number(after);
            (out, " outside the services that answer, ")
        }
    };
    let first = out.text(noun).number(before).text(" before.");
    let hint = match lead.part {
        ServicePart::Own => "",
        _ if lead.only_callee.is_some() => "",
        ServicePart::In => {
            " The time is outside its own spans: look at its network, its queue or the connection pools of its callers."
        }
        ServicePart::Out => {
            " Whichever service they go to: look at its own network, processor or connection pool."
        }
    };
    let more = Sentence::default().text(hint).then(mostly(row, lead)).then(besides(report, row));
    Some((first, more.then(caveats(row, lead)).then(second_words(report))))
}

/// Returns what else changed.
fn besides(report: &ServicesReport, row: &ServiceChange) -> Sentence {
    let sides = Sides::of(report);
    let words = Sentence::default();
    let is_sure = |other: &&ServiceChange| {
        other.service != row.service && other.score_us > 0.0 && !other.is_weak && !other.may_be_chance
    };
    match (named(report.services.iter().filter(is_sure)), named(suspects(report))) {
        (others, _) if !others.is_empty() => words.text(" Slower too: ").services(&others).text("."),
        (_, suspects) if !suspects.is_empty() => {
            let words = words.text(" No other service clearly").text(sides.changed);
            words.text("; weakly, or by chance: ").services(&suspects).text(".")
        }
        _ => words.text(" No other service").text(sides.changed).text(" beyond the usual drift."),
    }
}

/// Returns which services far fewer requests use than before, and how many more there are than it names; empty if there
/// are none.
pub fn vanished_words(report: &ServicesReport) -> Sentence {
    let [a, b] = report.requests;
    let parts = report.vanished.iter().take(NAMED).enumerate();
    let words = parts.fold(Sentence::default(), |words, (at, row)| {
        let words = if at == 0 { words } else { words.text("; ") };
        let [before, after] = row.requests;
        words
            .service(&row.service)
            .text(" is used by ")
            .number(format!("{} of {}", count(after), counted(b, "request")))
            .text(", ")
            .number(format!("{} of {}", count(before), count(a)))
            .text(Sides::of(report).before)
    });
    match report.vanished.len().saturating_sub(NAMED) as u64 {
        0 => words,
        more => words.text("; likewise ").number(counted(more, "other service")),
    }
}

/// Returns how many of the places of a service are listed; empty if all are.
pub fn places_cut(row: &ServiceChange) -> String {
    match row.places.len() as u64 {
        listed if listed < row.places_in_all => {
            format!("{} of {}", count(listed), counted(row.places_in_all, "place"))
        }
        _ => String::new(),
    }
}

/// Returns which services fail more often than before, one sentence each, but for the one that the verdict leads with.
pub fn failing_words(report: &ServicesReport) -> Vec<Sentence> {
    let said = match report.headline() {
        Headline::Fails(row) => Some(row.service.as_str()),
        _ => None,
    };
    let is_more = |row: &&FailingService| row.growth > 0.0 && said != Some(row.service.as_str());
    report.failing.iter().filter(is_more).map(|row| fails_words(report, row)).collect()
}

/// Returns the queues in which messages surely wait longer than before, one sentence each, but for the one that the verdict
/// leads with.
fn queue_words(report: &ServicesReport) -> Vec<Sentence> {
    let is_said = usize::from(matches!(report.headline(), Headline::Queue(_)));
    report.sure_queues().skip(is_said).take(NAMED).map(queues::longer).collect()
}

/// Returns the sentence of a service that fails more often.
fn fails_words(report: &ServicesReport, row: &FailingService) -> Sentence {
    let rate = |failed: u64, calls: u64| share(failed as f64 / calls.max(1) as f64);
    let words = Sentence::default().service(&row.service).text(" fails in ");
    let words = words.number(rate(row.b_failed, row.b_calls)).text(" of its calls (");
    words.number(rate(row.a_failed, row.a_calls)).text(Sides::of(report).before).text(").")
}

/// Returns verdict, failing services and queues as one paragraph.
pub fn summary(report: &ServicesReport) -> String {
    let mut out = verdict(report).to_text();
    for words in failing_words(report).into_iter().chain(queue_words(report)) {
        let _ = write!(out, " {}", words.to_text());
    }
    out
}

/// A service in the table.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceRow {
    /// The facts of the service.
    pub row: ServiceChange,
    /// The sentence about it.
    pub text: String,
}

impl ServiceRow {
    /// Returns the rows of a report, the best explanation first.
    pub fn of(report: &ServicesReport) -> Vec<ServiceRow> {
        let row =
            |row: &ServiceChange| ServiceRow { row: row.clone(), text: service_words(report, row).to_text() };
        report.services.iter().map(row).collect()
    }

    /// Returns its place in the list; one without a rank comes last.
    fn place(&self) -> u64 {
        self.row.rank.map_or(u64::MAX, Into::into)
    }

    /// Returns what is to be said of it in a word.
    fn remark(&self) -> &'static str {
        if self.row.rank.is_none() {
            "new"
        } else if !self.row.is_significant() {
            "drift"
        } else if self.row.is_weak {
            "weak"
        } else if self.row.may_be_chance {
            "few"
        } else if self.row.score_us < 0.0 {
            "faster"
        } else {
            ""
        }
    }

    fn attributes(&self) -> Attributes {
        vec![
            ("data-test", "service-change".to_owned()),
            ("data-service", self.row.service.clone()),
            ("data-value", self.row.score_us.to_string()),
            ("title", self.text.clone()),
        ]
    }
}

/// Number and words of a cell, from its row.
type NumberAndWords = (fn(&ServiceRow) -> Number, fn(&ServiceRow) -> String);

fn excess_column(
    key: &'static str,
    title: &'static str,
    hint: &'static str,
    (of, words): NumberAndWords,
) -> Column<ServiceRow> {
    Column::said(key, title, hint, of, words).width(Width::Moment).low(2)
}

fn fields(excess: Excess) -> Vec<String> {
    vec![excess.excess_us.to_string(), excess.uncertainty_us.to_string()]
}

/// Returns the table of services, the best explanation first.
pub fn services() -> Table<ServiceRow> {
    let columns = vec![
        Column::count("rank", "#", "The best explanation is first", |row: &ServiceRow| row.row.rank.into())
            .by(|a, b| a.place().cmp(&b.place()))
            .low(2)
            .tiny()
            .csv(&["rank"]),
        Column::service("Service", "Its own work, and the calls into it and out of it", |row: &ServiceRow| {
            &row.row.service
        })
        .csv(&["service"]),
        Column::number(
            Unit::Change,
            "score",
            "Score",
            "Orders the services: what their changed parts take longer per request, each less by its uncertainty",
            |row: &ServiceRow| row.row.score_us.into(),
        )
        .csv(&["score_us"]),
        Column::share("share", "Share", "The score, of the mean latency of side B", |row: &ServiceRow| {
            row.row.share.max(0.0).into()
        })
        .low(3)
        .csv_as(&["share"], |row| vec![row.row.share.to_string()]),
        excess_column(
            "own",
            "Own work",
            "Per request; beyond \u{b1} is more than drift and chance",
            (|row| row.row.own.excess_us.into(), |row| excess_words(row.row.own)),
        )
        .csv_as(&["own_us", "own_uncertainty_us"], |row| fields(row.row.own)),
        excess_column(
            "in",
            "Calls into it",
            "Outside its own spans: network, queue, or a caller that waits",
            (|row| row.row.incoming.excess_us.into(), |row| excess_words(row.row.incoming)),
        )
        .csv_as(&["in_us", "in_uncertainty_us"], |row| fields(row.row.incoming)),
        excess_column(
            "out",
            "Calls it makes",
            "What all of its calls, whichever service they go to, have in common",
            (|row| row.row.outgoing.excess_us.into(), |row| excess_words(row.row.outgoing)),
        )
        .csv_as(&["out_us", "out_uncertainty_us"], |row| fields(row.row.outgoing)),
        Column::count("requests", "Requests", "Requests of side B that use it", |row: &ServiceRow| {
            row.row.requests.into()
        })
        .low(3)
        .csv(&["requests"]),
        Column::text(
            "remark",
            "",
            "New: side A has nothing to compare with. Drift: no more than drift and chance. Few: so few calls that it may be \
             chance. Weak: below 5 % of the \
             latency of the requests that use it",
            |row: &ServiceRow| row.remark().into(),
        )
        .tiny()
        .unsorted()
        .csv(&["remark"]),
        Column::text_field("text", |row: &ServiceRow| row.text.as_str().into()),
    ];
    Table::new("services", "Services by what they explain", ("rank", false), columns)
        .with_attributes(ServiceRow::attributes)
        .search(|row, finder| finder.fits_place(&row.row.service, &[&row.row.service, row.remark()]))
}

/// A place of a service: a kind of call, or of visit.
#[derive(Clone, Debug, PartialEq)]
pub struct ServicePlaceRow {
    rank: u64,
    service: String,
    /// The place.
    pub place: ServicePlace,
}

impl ServicePlaceRow {
    /// Returns the places of a service, what explains most first.
    pub fn of(row: &ServiceChange) -> Vec<ServicePlaceRow> {
        let place = |(rank, place): (u64, &ServicePlace)| ServicePlaceRow {
            rank,
            service: row.service.clone(),
            place: place.clone(),
        };
        (1..).zip(&row.places).map(place).collect()
    }

    /// Returns the endpoint that is called or visited.
    fn endpoint(&self) -> String {
        let ServicePlace { other, operation, part, .. } = &self.place;
        endpoint(other.as_deref().filter(|_| *part == ServicePart::Out).unwrap_or(&self.service), operation)
    }

    /// Returns what it is, in words.
    fn name(&self) -> String {
        let (name, other) = (self.endpoint(), &self.place.other);
        match (self.place.part, other) {
            (ServicePart::In, Some(caller)) => printable(&format!("{name}, called by {caller}")),
            (ServicePart::Out, _) => format!("call of {name}"),
            _ => format!("own work below {name}"),
        }
    }

    fn attributes(&self) -> Attributes {
        vec![("data-test", "culprit-place".to_owned()), ("data-operation", self.place.operation.clone())]
    }
}

/// Returns the table of the places of one service.
pub fn places() -> Table<ServicePlaceRow> {
    let columns = vec![
        Column::count("rank", "#", "What explains most is first", |row: &ServicePlaceRow| row.rank.into())
            .low(3)
            .tiny(),
        Column::text(
            "place",
            "Place",
            "Calls by the operation that answers, visits by where they begin",
            |row: &ServicePlaceRow| row.name().into(),
        )
        .wide(),
        Column::said(
            "excess",
            "More time",
            "Per request, the service's part of it; beyond \u{b1} is more than drift and chance",
            |row: &ServicePlaceRow| row.place.excess.map(|excess| excess.excess_us).into(),
            |row| row.place.excess.map_or_else(|| "new".to_owned(), excess_words),
        )
        .width(Width::Moment),
        Column::count("calls", "Calls", "Calls or visits of side B", |row: &ServicePlaceRow| {
            row.place.calls.into()
        })
        .low(2)
        .tiny(),
        Column::duration(
            "slowest",
            "Slowest",
            "Its longest on side B; Enter opens that request",
            |row: &ServicePlaceRow| row.place.exemplar.as_ref().map(|exemplar| exemplar.time_us).into(),
        )
        .low(2),
    ];
    Table::new("places", "Places of a service", ("rank", false), columns)
        .with_attributes(ServicePlaceRow::attributes)
        .search(|row, finder| finder.fits_place(&row.endpoint(), &[&row.name()]))
}
