//! What-ifs as people and programs write them, `in:cart=-50%` or `p99=300ms`, and the places of the loaded traces that they
//! name.

use super::changes::{QUEUE, queue_of, set_queue};
use super::price::parse_price;
use pathlight_engine::flow::{
    CallTarget, CallTimeout, CallsBetween, ChangeOf, Changes, LatencyChange, Move, NodeName, Parallel,
    PricedChanges, Quantile, SubjectChange, SubjectTime, WaitChange, WaitTime,
};
use pathlight_engine::queues::{QueueEdge, QueuesReport};
use pathlight_engine::run::Session;
use pathlight_engine::summaries::Choice;
use pathlight_engine::verdict::{ServicePart, Subject};
use pathlight_trace::Endpoint;
use std::borrow::Borrow;

/// A change as it is written.
#[derive(Clone, Debug, PartialEq)]
pub enum WhatIfChange {
    /// Another time of an endpoint, a subject or a queue, by its name.
    Time(String, SubjectTime),
    /// A service, or all of them, runs elsewhere.
    Move(Move),
    /// Calls take another time outside of what answers.
    Wait(WaitChange),
    /// Whole calls of endpoints, by name, take another time.
    Calls(String, SubjectTime),
    /// Calls of endpoints, or into a service, by name, take at most so many microseconds.
    AtMost(String, u64),
}

/// Begin a service that runs elsewhere, and calls between services.
const MOVE: &str = "move:";
const NETWORK: &str = "network:";
/// Begins whole calls of endpoints, and stands for any letters in names of what changes.
const CALL: &str = "call:";
const ANY: char = '*';

/// Reads `SERVICE:OPERATION=-50%`, `in:SERVICE=usual`, `=+500us`, `=20ms`, `=gone`, `call:SERVICE:OPERATION=20ms`,
/// `SERVICE:OPERATION<=200ms`, `*:GET *=+20%`, `move:SERVICE@KEY=VALUE`, `network:A>B=-50%` and the like.
///
/// # Errors
/// How to write it.
pub fn change(text: &str) -> Result<WhatIfChange, &'static str> {
    let moved = || text.strip_prefix(MOVE).and_then(moved).map(WhatIfChange::Move);
    let wait = || text.strip_prefix(NETWORK).and_then(wait).map(WhatIfChange::Wait);
    let time = || {
        // What ends like `<=` and is no time is a mistake.
        let (name, time) = text.rsplit_once('=').filter(|(name, _)| !name.ends_with('<'))?;
        Some(WhatIfChange::Time(name.to_owned(), SubjectTime::parse(time)?))
    };
    let at_most = || {
        let (name, time) = text.rsplit_once("<=")?;
        let (share_ppm, us) = LatencyChange::parse_amount(time)?;
        let us = u64::try_from(us).ok().filter(|us| share_ppm == 0 && *us > 0)?;
        Some(WhatIfChange::AtMost(name.strip_prefix(CALL).unwrap_or(name).to_owned(), us))
    };
    let calls = || {
        let (name, time) = text.strip_prefix(CALL)?.rsplit_once('=')?;
        Some(WhatIfChange::Calls(name.to_owned(), SubjectTime::parse(time)?)).filter(|_| name.contains(':'))
    };
    moved().or_else(wait).or_else(at_most).or_else(calls).or_else(time).ok_or(
        "write SERVICE:OPERATION=-50%, in:SERVICE=-50%, queue:NAME=-50%, network:A>B=-50% (* is any service), or =+500us, =-2ms, \
         =+1s, =20ms, =gone, =usual; call:SERVICE:OPERATION=20ms for whole calls, SERVICE:OPERATION<=200ms for at most so long \
         (* in a name stands for any letters); or move:SERVICE@KEY=VALUE, network:A>B@KEY=within",
    )
}

/// Reads `cart@service.version=1.7` or `*@zone=b`.
fn moved(text: &str) -> Option<Move> {
    let (service, place) = text.split_once('@')?;
    let (key, value) = place.split_once('=').filter(|(key, _)| !key.is_empty())?;
    Some(Move { service: any(service)?, key: key.to_owned(), value: value.to_owned(), levels: None })
}

/// Reads `web>cart=-50%`, `*>*=-50%` or `web>cart@zone=within`.
fn wait(text: &str) -> Option<WaitChange> {
    let (calls, time) = text.rsplit_once('=')?;
    let (ends, across) = match calls.rsplit_once('@') {
        Some((_, "")) => return None,
        Some((ends, key)) => (ends, Some(key.to_owned())),
        None => (calls, None),
    };
    let (caller, callee) = ends.split_once('>')?;
    let calls = CallsBetween { caller: any(caller)?, callee: any(callee)?, across };
    let time = match time.trim() {
        "within" => calls.across.as_ref().map(|_| WaitTime::Within)?,
        amount => {
            let (share_ppm, add_us) = LatencyChange::parse_change(amount)?;
            WaitTime::By { share_ppm, add_us }
        }
    };
    Some(WaitChange { calls, time })
}

/// Returns the service that a text names, `*` for any; nothing is no service.
fn any(text: &str) -> Option<Option<String>> {
    match text {
        "" => None,
        "*" => Some(None),
        name => Some(Some(name.to_owned())),
    }
}

/// Reads `p99=300ms`: which percentile, and what it is to be in microseconds.
///
/// # Errors
/// How to write it.
pub fn target(text: &str) -> Result<(Quantile, u64), &'static str> {
    let parsed = text.split_once('=').and_then(|(name, amount)| {
        let quantile = Quantile::ALL.into_iter().find(|quantile| quantile.name() == name)?;
        let (share_ppm, us) = LatencyChange::parse_amount(amount)?;
        Some((quantile, u64::try_from(us).ok().filter(|us| share_ppm == 0 && *us > 0)?))
    });
    parsed.ok_or("write p50, p95 or p99 and a time: p99=300ms")
}

/// Returns the endpoint a text names, among those that are loaded: service and operation may have colons of their own.
///
/// # Errors
/// There is none.
pub fn endpoint(sessions: &[impl Borrow<Session>], text: &str) -> Result<Endpoint, String> {
    let is_named = |service: &str, operation: &str| {
        text.strip_prefix(service).and_then(|rest| rest.strip_prefix(':')) == Some(operation)
    };
    let mut found: Vec<Endpoint> = Vec::new();
    for session in sessions.iter().map(Borrow::borrow) {
        let named = session.set.endpoints().filter(|(service, operation)| is_named(service, operation));
        found.extend(named.map(|(service, operation)| Endpoint::new(service, operation)));
        for loaded in session.summaries.iter() {
            // One that has no flows says so when it is asked for one.
            let parents = loaded.summary.flow_parents(&Choice::default(), None).unwrap_or_default();
            let parents = parents.into_iter().map(|parent| Endpoint::new(parent.service, parent.operation));
            found.extend(parents.filter(|Endpoint { service, operation }| is_named(service, operation)));
        }
    }
    found.into_iter().min().ok_or_else(|| {
        format!("no endpoint {text:?} in these traces: write SERVICE:OPERATION as it is recorded there")
    })
}

/// Returns the endpoints a text names: one, or with `*` all whose name is like it, by name.
///
/// # Errors
/// There is none.
fn endpoints(sessions: &[impl Borrow<Session>], text: &str) -> Result<Vec<Endpoint>, String> {
    let one = endpoint(sessions, text);
    if one.is_ok() || !text.contains(ANY) {
        return one.map(|one| vec![one]);
    }
    let all = sessions.iter().flat_map(|session| session.borrow().set.endpoints());
    let like = all.filter(|(service, operation)| is_like(&format!("{service}:{operation}"), text));
    let mut found: Vec<Endpoint> =
        like.map(|(service, operation)| Endpoint::new(service, operation)).collect();
    found.sort();
    found.dedup();
    if found.is_empty() { one.map(|one| vec![one]) } else { Ok(found) }
}

/// Returns whether a name is like a pattern, in which `*` stands for any letters.
fn is_like(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split(ANY);
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// Returns the subject a text names; `None` if it is not written like one.
fn subject(sessions: &[impl Borrow<Session>], text: &str) -> Result<Option<Subject>, String> {
    let Some(subject) = Subject::parse(text) else { return Ok(None) };
    let mut services = sessions.iter().flat_map(|session| session.borrow().set.endpoints());
    if services.any(|(service, _)| service == subject.service) {
        return Ok(Some(subject));
    }
    Err(format!("no service {:?} in these traces", subject.service))
}

/// Returns the target of calls that a text names: an endpoint, or with `in:` a service.
///
/// # Errors
/// There is none.
pub fn call_target(sessions: &[impl Borrow<Session>], text: &str) -> Result<CallTarget, String> {
    // A service may be called like a part: an endpoint of that name goes first.
    let no_endpoint = match endpoint(sessions, text) {
        Ok(endpoint) => return Ok(CallTarget::Endpoint(endpoint)),
        Err(words) => words,
    };
    match subject(sessions, text)? {
        Some(Subject { service, part: ServicePart::In }) => Ok(CallTarget::Service(service)),
        _ => Err(no_endpoint),
    }
}

/// Checks that services and a tag are loaded.
fn check_loaded(
    sessions: &[impl Borrow<Session>],
    services: [&Option<String>; 2],
    key: Option<&String>,
) -> Result<(), String> {
    for service in services.into_iter().flatten() {
        let mut loaded = sessions.iter().flat_map(|session| session.borrow().set.endpoints());
        if !loaded.any(|(name, _)| name == service) {
            return Err(format!("no service {service:?} in these traces"));
        }
    }
    let is_there = |key: &str| sessions.iter().any(|of| of.borrow().set.tags.find_key(key).is_some());
    match key.filter(|key| !is_there(key)) {
        Some(key) => Err(format!("no tag {key:?} in these traces")),
        None => Ok(()),
    }
}

/// Returns a call of a parent: an endpoint, with `#k` for the k-th call of it, `#rest` for those folded into one.
fn node(sessions: &[impl Borrow<Session>], text: &str) -> Result<NodeName, String> {
    let (name, index) = match text.rsplit_once('#') {
        Some((name, "rest")) => (name, 0),
        Some((name, number)) => match number.parse() {
            Ok(index) => (name, index),
            Err(_) => (text, 1),
        },
        None => (text, 1),
    };
    let Endpoint { service, operation } = endpoint(sessions, name).or_else(|_| endpoint(sessions, text))?;
    Ok(NodeName { service, operation, index })
}

/// Adds changes of times.
///
/// # Errors
/// One of them names nothing that is loaded, or cannot be changed like this.
pub fn add_times(
    changes: &mut Changes,
    sessions: &[impl Borrow<Session>],
    of: ChangeOf,
    wanted: &[WhatIfChange],
) -> Result<(), String> {
    for change in wanted {
        let (name, time, of) = match change {
            WhatIfChange::Time(name, time) => (name, time, of),
            WhatIfChange::Calls(name, time) => (name, time, ChangeOf::WholeCall),
            WhatIfChange::AtMost(name, after_us) => {
                let target = |of| CallTimeout { of, after_us: *after_us, retry_us: Vec::new() };
                let targets: Vec<CallTarget> = match endpoints(sessions, name) {
                    Ok(endpoints) => endpoints.into_iter().map(CallTarget::Endpoint).collect(),
                    Err(_) => vec![call_target(sessions, name)?],
                };
                changes.timeouts.extend(targets.into_iter().map(target));
                continue;
            }
            WhatIfChange::Move(to) => {
                check_loaded(sessions, [&to.service, &None], Some(&to.key))?;
                changes.moves.push(to.clone());
                continue;
            }
            WhatIfChange::Wait(wait) => {
                let CallsBetween { caller, callee, across } = &wait.calls;
                check_loaded(sessions, [caller, callee], across.as_ref())?;
                changes.waits.push(wait.clone());
                continue;
            }
        };
        let endpoints = endpoints(sessions, name);
        // A service may be called like a part: an endpoint of that name goes first.
        let subject =
            if endpoints.is_err() && of == ChangeOf::OwnWork { subject(sessions, name)? } else { None };
        match (subject, time) {
            (Some(subject), time) => changes.subjects.push(SubjectChange { subject, time: time.clone() }),
            (None, &SubjectTime::By { share_ppm, add_us }) => {
                let change = |Endpoint { service, operation }| LatencyChange {
                    service,
                    operation,
                    of,
                    share_ppm,
                    add_us,
                };
                changes.latencies.extend(endpoints?.into_iter().map(change));
            }
            (None, SubjectTime::Usual | SubjectTime::Levels(_)) => {
                let parts = "own:SERVICE, in:SERVICE and out:SERVICE";
                return Err(format!("{name}=usual: what is usual is known of {parts}"));
            }
        }
    }
    Ok(())
}

/// Reads `CHANGE costs NUMBER`: a change as [`change`] does, and its price in thousandths.
///
/// # Errors
/// How to write it.
pub fn priced(text: &str) -> Result<(WhatIfChange, u64), &'static str> {
    const HOW: &str = "write a change and its price: in:SERVICE=-50% costs 3";
    let (of, price) = text.rsplit_once(COSTS).ok_or(HOW)?;
    Ok((change(of.trim())?, parse_price(price).ok_or(HOW)?))
}

/// Stands between a change and its price.
const COSTS: &str = " costs ";

/// Returns what can be chosen for a price, of what is loaded. `wanted` are texts as [`priced`] reads them.
///
/// # Errors
/// One of them is not written like that, names nothing that is loaded, or cannot be changed like this.
pub fn options(sessions: &[impl Borrow<Session>], wanted: &[String]) -> Result<Vec<PricedChanges>, String> {
    let option = |text: &String| {
        let (change, cost_thousandths) = priced(text)?;
        let mut changes = Changes::default();
        add_times(&mut changes, sessions, ChangeOf::OwnWork, &[change])?;
        let name = text.rsplit_once(COSTS).map_or(text.as_str(), |(name, _)| name.trim()).to_owned();
        Ok(PricedChanges { name, changes, cost_thousandths })
    };
    wanted.iter().map(option).collect()
}

/// Returns whether what is wanted names queues: then [`add_own_work`] needs a report about them.
pub fn names_queues(sessions: &[impl Borrow<Session>], wanted: &[WhatIfChange]) -> bool {
    wanted.iter().any(|change| is_of_queue(sessions, change))
}

/// Returns whether a change is of queues, written `queue:NAME`.
fn is_of_queue(sessions: &[impl Borrow<Session>], change: &WhatIfChange) -> bool {
    let WhatIfChange::Time(name, _) = change else { return false };
    // A service may be called like that: an endpoint of that name goes first.
    name.starts_with(QUEUE) && endpoint(sessions, name).is_err()
}

/// Adds changes of the own work of endpoints, of subjects, and of queues if there is a report about them.
///
/// # Errors
/// One of them names nothing that is loaded, or cannot be changed like this.
pub fn add_own_work(
    changes: &mut Changes,
    sessions: &[impl Borrow<Session>],
    queues: Option<&QueuesReport>,
    wanted: &[WhatIfChange],
) -> Result<(), String> {
    let (of_queues, others): (Vec<_>, Vec<_>) =
        wanted.iter().cloned().partition(|change| is_of_queue(sessions, change));
    if let Some(report) = queues {
        add_queues(changes, report, &of_queues)?;
    }
    add_times(changes, sessions, ChangeOf::OwnWork, &others)
}

/// Adds changes of queues: of all edges that have a name, or whose receiver has it.
///
/// # Errors
/// There is no such queue.
pub(super) fn add_queues(
    changes: &mut Changes,
    report: &QueuesReport,
    wanted: &[WhatIfChange],
) -> Result<(), String> {
    for change in wanted {
        let WhatIfChange::Time(text, time) = change else { continue };
        let name = text.strip_prefix(QUEUE).unwrap_or(text);
        let is_named = |edge: &&QueueEdge| {
            let Endpoint { service, operation } = &edge.receiver;
            edge.destination == name || format!("{service}:{operation}") == name
        };
        let edges: Vec<&QueueEdge> = report.edges.iter().filter(is_named).collect();
        if edges.is_empty() {
            let mut known: Vec<String> = report.edges.iter().map(written_queue).collect();
            known.sort();
            known.dedup();
            let known = match known.as_slice() {
                [] => "there are no messages".to_owned(),
                known => format!("there are {}", known.join(", ")),
            };
            return Err(format!("no queue {name:?} in these traces: {known}"));
        }
        edges.into_iter().for_each(|edge| set_queue(changes, &queue_of(edge), time.clone()));
    }
    Ok(())
}

/// Returns a queue as it is written.
fn written_queue(edge: &QueueEdge) -> String {
    match edge.destination.as_str() {
        "" => format!("{QUEUE}{}:{}", edge.receiver.service, edge.receiver.operation),
        destination => format!("{QUEUE}{destination}"),
    }
}

/// Adds two calls of a parent that are to run side by side, by its name and theirs.
///
/// # Errors
/// One of them is not loaded.
pub fn add_parallel(
    changes: &mut Changes,
    sessions: &[impl Borrow<Session>],
    [parent, first, second]: [&str; 3],
) -> Result<(), String> {
    let Endpoint { service, operation } = endpoint(sessions, parent)?;
    let (first, second) = (node(sessions, first)?, node(sessions, second)?);
    changes.parallel.push(Parallel { service, operation, first, second });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_where_their_form_says() {
        let by = |share_ppm, add_us| SubjectTime::By { share_ppm, add_us };
        let timed = |name: &str, time| Ok(WhatIfChange::Time(name.to_owned(), time));
        assert_eq!(change("a:b=c=-50%"), timed("a:b=c", by(-500_000, 0)));
        assert_eq!(change("a:b=gone"), timed("a:b", by(-1_000_000, 0)));
        assert_eq!(change("in:b=+2ms"), timed("in:b", by(0, 2_000)));
        assert_eq!(change("in:b=usual"), timed("in:b", SubjectTime::Usual));
        // A service may be called like that.
        assert_eq!(change("move:b=-50%"), timed("move:b", by(-500_000, 0)));
        let name = |text: &str| text.to_owned();
        let moved = |service: Option<&str>, key: &str, value: &str| {
            let service = service.map(name);
            Ok(WhatIfChange::Move(Move { service, key: name(key), value: name(value), levels: None }))
        };
        assert_eq!(
            change("move:cart@service.version=1.7=x"),
            moved(Some("cart"), "service.version", "1.7=x")
        );
        assert_eq!(change("move:*@zone="), moved(None, "zone", ""));
        let waits = |caller: Option<&str>, across: Option<&str>, time| {
            let calls = CallsBetween { caller: caller.map(name), callee: None, across: across.map(name) };
            Ok(WhatIfChange::Wait(WaitChange { calls, time }))
        };
        let half = WaitTime::By { share_ppm: -500_000, add_us: 0 };
        assert_eq!(change("network:*>*=-50%"), waits(None, None, half));
        assert_eq!(change("network:a>*@zone=within"), waits(Some("a"), Some("zone"), WaitTime::Within));
        assert_eq!(change("a:b=20ms"), timed("a:b", by(-1_000_000, 20_000)));
        assert_eq!(
            change("network:*>*=2ms"),
            waits(None, None, WaitTime::By { share_ppm: -1_000_000, add_us: 2_000 })
        );
        assert_eq!(change("call:a:b=20ms"), Ok(WhatIfChange::Calls(name("a:b"), by(-1_000_000, 20_000))));
        // A service may be called like that.
        assert_eq!(change("call:b=-50%"), timed("call:b", by(-500_000, 0)));
        for text in ["a:b<=200ms", "call:a:b<=200ms"] {
            assert_eq!(change(text), Ok(WhatIfChange::AtMost(name("a:b"), 200_000)));
        }
        assert_eq!(priced("in:b=-50% costs 2.5").map(|of| of.1), Ok(2_500));
        assert!(
            ["in:b=-50%", "in:b=-50% costs x", "in:b=-50% costs -1", "b costs 1"]
                .iter()
                .all(|of| priced(of).is_err())
        );
        let like = ["db:GET /a", "db:GET /", "web:GET /b"].map(|name| is_like(name, "*:GET /*"));
        assert_eq!(
            (like, is_like("db:PUT /a", "*:GET /*"), is_like("aXbX", "a*b")),
            ([true; 3], false, false)
        );
        assert_eq!(
            [("ab", "a*b"), ("aab", "a*ab"), ("ab", "ab*b"), ("", "*")].map(|(a, b)| is_like(a, b)),
            [true, true, false, true]
        );
        let unclear = [
            "network:a>b=within",
            "network:a>b=slow",
            "move:cart@=b",
            "move:@zone=b",
            "a:b",
            "a:b<=-2ms",
            "a:b<=50%",
        ];
        assert!(unclear.iter().all(|text| change(text).is_err()));
        assert_eq!(target("p99=300ms"), Ok((Quantile::P99, 300_000)));
        let wrong = ["p98=1ms", "p99", "p99=-1ms", "p99=50%", "p99=gone", "p99=0us"];
        assert!(wrong.iter().all(|text| target(text).is_err()));
    }
}
