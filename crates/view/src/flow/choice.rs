//! The choices of the flow view, as keys of the address: `map`, `parents`, `panel`, `pooled`, `children`,
//! `learn`, `tau`, `whatif`, `target`, `prices`, `place`, `headroom`, `capacity`, `timeout`.

use super::price::{parse_price, price_text};
use crate::address::focus::{focus_name, parse_focus};
use pathlight_engine::flow::paper::FlowSettings;
use pathlight_engine::flow::{
    CallTarget, CallTimeout, CallsBeside, CallsBetween, ChangeOf, Changes, LatencyChange, Move, NodeName,
    Parallel, Quantile, QueueName, QueueTimeChange, SubjectChange, SubjectTime, WaitChange, WaitTime,
};
use pathlight_engine::verdict::{ServicePart, Subject};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// The panel below the chart of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FlowPanel {
    /// The calls as a table.
    #[default]
    Calls,
    /// Which calls invocations make, and what decides which.
    Variants,
    /// Latencies before and after a change.
    WhatIf,
    /// Changes that bring a percentile of the latency down to a target.
    Target,
    /// How much slower services and calls may become.
    Headroom,
    /// Time that a timeout of a call would cut.
    Timeout,
    /// Accuracy of the flow's predictions.
    Prediction,
    /// Savings of every endpoint.
    Savings,
    /// Calls that could run side by side.
    Parallelise,
    /// Versions, zones, hosts and other places that are slower than the others.
    Deployments,
    /// Time of messages in queues.
    Queues,
}

impl FlowPanel {
    /// Every panel, in the order of the page.
    pub const ALL: [FlowPanel; 11] = [
        FlowPanel::Calls,
        FlowPanel::Variants,
        FlowPanel::WhatIf,
        FlowPanel::Target,
        FlowPanel::Headroom,
        FlowPanel::Timeout,
        FlowPanel::Prediction,
        FlowPanel::Savings,
        FlowPanel::Parallelise,
        FlowPanel::Deployments,
        FlowPanel::Queues,
    ];

    /// Returns whether it needs the room beside it too.
    pub fn is_wide(self) -> bool {
        !matches!(
            self,
            FlowPanel::Calls | FlowPanel::Savings | FlowPanel::Parallelise | FlowPanel::Deployments
        )
    }

    /// Returns its value of `panel=`.
    pub fn key(self) -> &'static str {
        match self {
            FlowPanel::Calls => "calls",
            FlowPanel::Variants => "variants",
            FlowPanel::WhatIf => "whatif",
            FlowPanel::Target => "target",
            FlowPanel::Headroom => "headroom",
            FlowPanel::Timeout => "timeout",
            FlowPanel::Prediction => "prediction",
            FlowPanel::Savings => "savings",
            FlowPanel::Parallelise => "parallelise",
            FlowPanel::Deployments => "deployments",
            FlowPanel::Queues => "queues",
        }
    }
}

/// Choices of the flow view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlowChoice {
    /// Whether the map of services is shown, not the flow of one parent.
    pub map: bool,
    /// The parent whose flow is shown as the last of those that led to it, each called by the one before; empty: the
    /// root endpoint's own.
    pub parents: Vec<Endpoint>,
    /// The panel below the flow.
    pub panel: FlowPanel,
    /// Whether the prediction is that of all parents pooled, not of the one shown.
    pub pooled: bool,
    /// Parents none of whose invocations has so many calls are left out when pooling; `None`: as many as the preset.
    pub min_children: Option<u32>,
    /// Learned as the paper does.
    pub paper: bool,
    /// Share of the invocations an edge must hold in, in millionths; `None`: that of the preset.
    pub tau_ppm: Option<u32>,
    /// The what-if.
    pub changes: Changes,
    /// Target of a percentile, in microseconds.
    pub target: Option<(Quantile, u64)>,
    /// Prices of the changes of the what-if, in thousandths, in the order in which these are listed; others are 1.
    pub prices: Vec<u64>,
    /// Tag of processes by which places are compared; `None`: all that are known to say where something runs.
    pub place_key: Option<String>,
    /// Limit of a percentile, in microseconds, for which headroom is found.
    pub headroom: Option<(Quantile, u64)>,
    /// Whether the panel of headroom shows drag and slack of services, and not headroom until a limit.
    pub capacity: bool,
    /// Target whose calls have a timeout, and the timeout in microseconds; without one, the one that is suggested.
    pub timeout: Option<(CallTarget, Option<u64>)>,
}

/// Ends a change of own work: links of version 1.0 have none, and are about whole calls.
const OWN_WORK: &str = "own";

/// Stands for the time that a subject usually takes.
const USUAL: &str = "usual";

/// A change as it is written: short; the number of its parts says which kind it is.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum ChangeText {
    /// Parent, then both calls with their numbers.
    Parallel(String, String, String, String, u32, String, String, u32),
    /// Endpoint, share in millionths, microseconds, [`OWN_WORK`].
    OwnWork(String, String, i64, i64, String),
    /// Endpoint, share in millionths, microseconds: a change of whole calls.
    WholeCall(String, String, i64, i64),
    /// Endpoint whose calls are given up: after how many microseconds, and what retries take if there are any.
    Timeout(String, String, Vec<u64>),
    /// Parent, then the endpoints of which all calls run side by side.
    Beside(String, String, Vec<Endpoint>),
    /// The same of all calls into a service, as [`TargetText`] has it.
    ServiceTimeout(String, Vec<u64>),
    /// Subject, share in millionths, microseconds.
    Subject(String, i64, i64),
    /// Subject, [`USUAL`].
    Usual(String, String),
    /// Queue, share in millionths, microseconds.
    Queue(QueueText, i64, i64),
    /// Queue, [`USUAL`].
    UsualQueue(QueueText, String),
    /// [`MOVE`]; the service that moves, nothing for all; tag and value of the place.
    Move(String, String, String, String),
    /// [`WAIT`]; who calls, who is called, the tag to cross, each nothing for any; share in millionths, microseconds.
    Wait(String, String, String, String, i64, i64),
    /// The same, and [`WITHIN`].
    Within(String, String, String, String, String),
}

/// Begins a service that runs elsewhere.
const MOVE: &str = "move";
/// Begins another time of calls outside of what answers.
const WAIT: &str = "wait";
/// Stands for the time of calls that stay within one place.
const WITHIN: &str = "within";

fn any_text(name: &Option<String>) -> String {
    name.clone().unwrap_or_default()
}

fn parse_any(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// A queue as it is written: its name, then service and operation of whoever sends and of whoever receives.
#[derive(Serialize, Deserialize)]
struct QueueText(String, String, String, String, String);

impl QueueText {
    fn of(QueueName { destination, sender, receiver }: QueueName) -> QueueText {
        QueueText(destination, sender.service, sender.operation, receiver.service, receiver.operation)
    }

    fn queue(self) -> QueueName {
        let QueueText(destination, from_service, sends, to_service, receives) = self;
        let (sender, receiver) = (Endpoint::new(from_service, sends), Endpoint::new(to_service, receives));
        QueueName { destination, sender, receiver }
    }
}

/// Returns a queue as text.
pub(super) fn queue_text(queue: &QueueName) -> String {
    serde_json::to_string(&QueueText::of(queue.clone())).unwrap_or_default()
}

/// Reads a queue.
pub(super) fn parse_queue(text: &str) -> Option<QueueName> {
    serde_json::from_str(text).ok().map(QueueText::queue)
}

/// The target of calls as it is written: an endpoint, or `in:` and a service.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum TargetText {
    Endpoint(Endpoint),
    Into(String),
}

impl TargetText {
    fn of(target: &CallTarget) -> TargetText {
        match target {
            CallTarget::Endpoint(endpoint) => TargetText::Endpoint(endpoint.clone()),
            CallTarget::Service(service) => TargetText::Into(into_text(service)),
        }
    }

    fn target(self) -> Option<CallTarget> {
        match self {
            TargetText::Endpoint(endpoint) => Some(CallTarget::Endpoint(endpoint)),
            TargetText::Into(text) => parse_into(&text).map(CallTarget::Service),
        }
    }
}

/// Returns calls into a service as they are written.
fn into_text(service: &str) -> String {
    Subject { service: service.to_owned(), part: ServicePart::In }.to_string()
}

/// Returns the service of calls that are written so.
fn parse_into(text: &str) -> Option<String> {
    let subject = Subject::parse(text).filter(|subject| subject.part == ServicePart::In);
    subject.map(|subject| subject.service)
}

impl FlowChoice {
    /// Returns the timeout that was chosen for a target, in microseconds.
    pub fn timeout_us(&self, target: Option<&CallTarget>) -> Option<u64> {
        self.timeout.as_ref().filter(|(of, _)| Some(of) == target).and_then(|(_, us)| *us)
    }

    /// Returns how flows are learned.
    pub fn settings(&self) -> FlowSettings {
        let preset = if self.paper { FlowSettings::paper() } else { FlowSettings::default() };
        FlowSettings { tau_ppm: self.tau_ppm.unwrap_or(preset.tau_ppm), ..preset }
    }

    /// Returns how many calls some invocation of a parent must have when pooling: 5 in the paper.
    pub fn least_children(&self) -> u32 {
        self.min_children.unwrap_or(if self.paper { 5 } else { 2 })
    }

    /// Goes to the flow of an endpoint from the one that is shown.
    pub fn go_to(&mut self, endpoint: Endpoint, shown: Option<Endpoint>) {
        self.map = false;
        if self.parents.is_empty() {
            self.parents.extend(shown);
        }
        // Going back to one on the way makes the way shorter.
        if let Some(at) = self.parents.iter().position(|parent| *parent == endpoint) {
            self.parents.truncate(at);
        }
        self.parents.push(endpoint);
    }

    /// Takes a key of the address; tells whether it was one of these. A value that makes no sense is as if it were not
    /// there.
    pub(crate) fn read(&mut self, key: &str, value: &str) -> bool {
        match key {
            "map" => self.map = value == "1",
            "parents" => self.parents = parse_focus(value).unwrap_or_default(),
            "panel" => {
                self.panel = FlowPanel::ALL.into_iter().find(|p| p.key() == value).unwrap_or_default();
            }
            "pooled" => self.pooled = value == "1",
            "children" => self.min_children = value.parse().ok(),
            "learn" => self.paper = value == "paper",
            "tau" => self.tau_ppm = parse_tau(value),
            "whatif" => self.changes = parse_changes(value),
            "target" => self.target = parse_target(value),
            "prices" => {
                let prices: Option<Vec<u64>> = value.split(',').map(parse_price).collect();
                self.prices = prices.unwrap_or_default();
            }
            "place" => self.place_key = parse_any(value.to_owned()),
            "headroom" => self.headroom = parse_target(value),
            "capacity" => self.capacity = value == "1",
            "timeout" => {
                let timeout: Option<(TargetText, Option<u64>)> = serde_json::from_str(value).ok();
                let timeout = timeout.filter(|(_, us)| *us != Some(0));
                self.timeout = timeout.and_then(|(of, us)| Some((of.target()?, us)));
            }
            _ => return false,
        }
        true
    }

    /// Returns keys and values of all that differs from the defaults.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let path = || focus_name(&self.parents);
        let prices = || self.prices.iter().map(|of| price_text(*of)).collect::<Vec<_>>().join(",");
        let timeout =
            |(of, us): &(CallTarget, Option<u64>)| serde_json::to_string(&(TargetText::of(of), us)).ok();
        let all = [
            ("map", self.map.then(|| "1".to_owned())),
            ("parents", (!self.parents.is_empty()).then(path)),
            ("panel", (self.panel != FlowPanel::default()).then(|| self.panel.key().to_owned())),
            ("pooled", self.pooled.then(|| "1".to_owned())),
            ("children", self.min_children.map(|children| children.to_string())),
            ("learn", self.paper.then(|| "paper".to_owned())),
            ("tau", self.tau_ppm.map(tau_text)),
            ("whatif", (self.changes != Changes::default()).then(|| changes_text(&self.changes))),
            ("target", self.target.map(|(quantile, us)| format!("{}:{us}", quantile.name()))),
            ("prices", (!self.prices.is_empty()).then(prices)),
            ("place", self.place_key.clone()),
            ("headroom", self.headroom.map(|(quantile, us)| format!("{}:{us}", quantile.name()))),
            ("capacity", self.capacity.then(|| "1".to_owned())),
            ("timeout", self.timeout.as_ref().and_then(timeout)),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// Returns a share in millionths as a decimal fraction.
pub fn tau_text(tau_ppm: u32) -> String {
    let text = format!("{}.{:06}", tau_ppm / 1_000_000, tau_ppm % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Reads a decimal fraction from 0 to 1 as millionths.
pub fn parse_tau(text: &str) -> Option<u32> {
    let tau: f64 = text.trim().parse().ok()?;
    (0.0..=1.0).contains(&tau).then(|| (tau * 1e6).round() as u32)
}

/// Reads `p99:300000`: which percentile, and what it is to be in microseconds.
fn parse_target(text: &str) -> Option<(Quantile, u64)> {
    let (name, us) = text.split_once(':')?;
    let quantile = Quantile::ALL.into_iter().find(|quantile| quantile.name() == name)?;
    Some((quantile, us.parse().ok().filter(|us| *us > 0)?))
}

fn changes_text(changes: &Changes) -> String {
    let latencies = changes.latencies.iter().cloned();
    let latencies = latencies.map(|c| match c.of {
        ChangeOf::OwnWork => {
            ChangeText::OwnWork(c.service, c.operation, c.share_ppm, c.add_us, OWN_WORK.to_owned())
        }
        ChangeOf::WholeCall => ChangeText::WholeCall(c.service, c.operation, c.share_ppm, c.add_us),
    });
    let parallel = changes.parallel.iter().cloned().map(|c| {
        let (a, b) = (c.first, c.second);
        ChangeText::Parallel(
            c.service,
            c.operation,
            a.service,
            a.operation,
            a.index,
            b.service,
            b.operation,
            b.index,
        )
    });
    let beside = changes.beside.iter().cloned();
    let beside = beside.map(|c| ChangeText::Beside(c.parent.service, c.parent.operation, c.callees));
    let timeouts = changes.timeouts.iter().cloned().map(|c| {
        let us = [c.after_us].into_iter().chain(c.retry_us).collect();
        match c.of {
            CallTarget::Endpoint(of) => ChangeText::Timeout(of.service, of.operation, us),
            CallTarget::Service(service) => ChangeText::ServiceTimeout(into_text(&service), us),
        }
    });
    let subjects = changes.subjects.iter().map(|SubjectChange { subject, time }| match time {
        SubjectTime::By { share_ppm, add_us } => {
            ChangeText::Subject(subject.to_string(), *share_ppm, *add_us)
        }
        SubjectTime::Usual | SubjectTime::Levels(_) => {
            ChangeText::Usual(subject.to_string(), USUAL.to_owned())
        }
    });
    let queues = changes.queues.iter().cloned().map(|QueueTimeChange { queue, time }| match time {
        SubjectTime::By { share_ppm, add_us } => ChangeText::Queue(QueueText::of(queue), share_ppm, add_us),
        SubjectTime::Usual | SubjectTime::Levels(_) => {
            ChangeText::UsualQueue(QueueText::of(queue), USUAL.to_owned())
        }
    });
    let moves = changes.moves.iter().cloned();
    let moves = moves.map(|c| ChangeText::Move(MOVE.to_owned(), any_text(&c.service), c.key, c.value));
    let waits = changes.waits.iter().map(|WaitChange { calls, time }| {
        let [caller, callee, across] = [&calls.caller, &calls.callee, &calls.across].map(any_text);
        match time {
            WaitTime::By { share_ppm, add_us } => {
                ChangeText::Wait(WAIT.to_owned(), caller, callee, across, *share_ppm, *add_us)
            }
            WaitTime::Within | WaitTime::Levels(_) => {
                ChangeText::Within(WAIT.to_owned(), caller, callee, across, WITHIN.to_owned())
            }
        }
    });
    let list = latencies.chain(parallel).chain(beside).chain(timeouts).chain(subjects).chain(queues);
    let list: Vec<ChangeText> = list.chain(moves).chain(waits).collect();
    serde_json::to_string(&list).unwrap_or_default()
}

fn calls_between(names: [String; 3]) -> CallsBetween {
    let [caller, callee, across] = names.map(parse_any);
    CallsBetween { caller, callee, across }
}

fn parse_changes(text: &str) -> Changes {
    let mut changes = Changes::default();
    for change in serde_json::from_str::<Vec<ChangeText>>(text).unwrap_or_default() {
        let mut timeout = |of, us: &[u64]| {
            if let Some((&after_us, retry)) = us.split_first() {
                changes.timeouts.push(CallTimeout { of, after_us, retry_us: retry.to_vec() });
            }
        };
        let mut latency = |of, service, operation, share_ppm, add_us| {
            changes.latencies.push(LatencyChange { service, operation, of, share_ppm, add_us });
        };
        match change {
            ChangeText::OwnWork(service, operation, share_ppm, add_us, _) => {
                latency(ChangeOf::OwnWork, service, operation, share_ppm, add_us);
            }
            ChangeText::WholeCall(service, operation, share_ppm, add_us) => {
                latency(ChangeOf::WholeCall, service, operation, share_ppm, add_us);
            }
            ChangeText::Timeout(service, operation, us) => {
                timeout(CallTarget::Endpoint(Endpoint { service, operation }), &us);
            }
            ChangeText::ServiceTimeout(text, us) => {
                if let Some(service) = parse_into(&text) {
                    timeout(CallTarget::Service(service), &us);
                }
            }
            ChangeText::Subject(subject, share_ppm, add_us) => {
                let time = SubjectTime::By { share_ppm, add_us };
                let subject = Subject::parse(&subject);
                changes.subjects.extend(subject.map(|subject| SubjectChange { subject, time }));
            }
            ChangeText::Usual(subject, word) => {
                let subject = Subject::parse(&subject).filter(|_| word == USUAL);
                changes
                    .subjects
                    .extend(subject.map(|subject| SubjectChange { subject, time: SubjectTime::Usual }));
            }
            ChangeText::Queue(queue, share_ppm, add_us) => {
                let time = SubjectTime::By { share_ppm, add_us };
                changes.queues.push(QueueTimeChange { queue: queue.queue(), time });
            }
            ChangeText::UsualQueue(queue, word) if word == USUAL => {
                changes.queues.push(QueueTimeChange { queue: queue.queue(), time: SubjectTime::Usual });
            }
            ChangeText::UsualQueue(..) => {}
            ChangeText::Move(word, service, key, value) if word == MOVE => {
                changes.moves.push(Move { service: parse_any(service), key, value, levels: None });
            }
            ChangeText::Move(..) => {}
            ChangeText::Wait(word, caller, callee, across, share_ppm, add_us) if word == WAIT => {
                let calls = calls_between([caller, callee, across]);
                changes.waits.push(WaitChange { calls, time: WaitTime::By { share_ppm, add_us } });
            }
            ChangeText::Within(word, caller, callee, across, within)
                if word == WAIT && within == WITHIN && !across.is_empty() =>
            {
                let calls = calls_between([caller, callee, across]);
                changes.waits.push(WaitChange { calls, time: WaitTime::Within });
            }
            ChangeText::Wait(..) | ChangeText::Within(..) => {}
            ChangeText::Beside(service, operation, callees) => {
                changes.beside.push(CallsBeside { parent: Endpoint { service, operation }, callees });
            }
            ChangeText::Parallel(service, operation, sa, oa, a, sb, ob, b) => {
                changes.parallel.push(Parallel {
                    service,
                    operation,
                    first: NodeName { service: sa, operation: oa, index: a },
                    second: NodeName { service: sb, operation: ob, index: b },
                });
            }
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::address::choices::Choices;

    #[test]
    fn a_what_if_survives_its_address() {
        let node = |operation: &str, index| NodeName {
            service: "s,\"".to_owned(),
            operation: operation.to_owned(),
            index,
        };
        let flow = FlowChoice {
            map: true,
            parents: vec![Endpoint::new("gateway", "GET /x"), Endpoint::new("a", "")],
            panel: FlowPanel::WhatIf,
            pooled: true,
            min_children: Some(5),
            paper: true,
            tau_ppm: Some(950_000),
            changes: Changes {
                latencies: [ChangeOf::OwnWork, ChangeOf::WholeCall]
                    .map(|of| LatencyChange {
                        service: "a&b".to_owned(),
                        operation: "GET".to_owned(),
                        of,
                        share_ppm: -1_000_000,
                        add_us: 500,
                    })
                    .to_vec(),
                beside: vec![CallsBeside {
                    parent: Endpoint::new("a", "b"),
                    callees: vec![Endpoint::new("c", "d"), Endpoint::new("e,\"", "f")],
                }],
                parallel: vec![Parallel {
                    service: "a".to_owned(),
                    operation: "b".to_owned(),
                    first: node("x", 1),
                    second: node("y", 0),
                }],
                timeouts: [vec![], vec![40_000], vec![40_000, 90_000]]
                    .into_iter()
                    .flat_map(|retry_us| {
                        let endpoint = CallTarget::Endpoint(Endpoint::new("s", "GET"));
                        [endpoint, CallTarget::Service("s:[".to_owned())].map(|of| CallTimeout {
                            of,
                            after_us: 90_000,
                            retry_us: retry_us.clone(),
                        })
                    })
                    .collect(),
                subjects: [SubjectTime::By { share_ppm: -500_000, add_us: 200 }, SubjectTime::Usual]
                    .map(|time| SubjectChange {
                        subject: Subject { service: "a:b".to_owned(), part: ServicePart::In },
                        time,
                    })
                    .to_vec(),
                queues: [
                    ("orders", SubjectTime::By { share_ppm: -500_000, add_us: 0 }),
                    ("", SubjectTime::Usual),
                ]
                .map(|(destination, time)| QueueTimeChange {
                    queue: QueueName {
                        destination: destination.to_owned(),
                        sender: Endpoint::new("a", "send"),
                        receiver: Endpoint::new("b", "handle \"x\""),
                    },
                    time,
                })
                .to_vec(),
                moves: [Some("cart"), None]
                    .map(|service| Move {
                        service: service.map(str::to_owned),
                        key: "service.version".to_owned(),
                        value: "1.7=\"".to_owned(),
                        levels: None,
                    })
                    .to_vec(),
                waits: [WaitTime::By { share_ppm: -500_000, add_us: 10 }, WaitTime::Within]
                    .map(|time| WaitChange {
                        calls: CallsBetween {
                            caller: Some("a".to_owned()),
                            callee: None,
                            across: Some("zone".to_owned()),
                        },
                        time,
                    })
                    .to_vec(),
            },
            place_key: Some("sku&".to_owned()),
            target: Some((Quantile::P95, 300_000)),
            prices: vec![1_000, 2_500, 0],
            headroom: Some((Quantile::P95, 420_000)),
            capacity: true,
            timeout: Some((CallTarget::Endpoint(Endpoint::new("a", "GET /")), Some(200_000))),
        };
        let choices = Choices { flow, ..Choices::default() };
        let address = Address { choices, ..Address::default() };
        let text = address.to_fragment();
        assert!(text.contains("&panel=whatif&pooled=1&children=5&learn=paper&tau=0.95&whatif="), "{text}");
        assert!(text.contains("&target=p95:300000&prices=1,2.5,0"), "{text}");
        assert_eq!(Address::parse(&text), address);
    }

    #[test]
    fn a_timeout_stands_in_the_address_also_as_suggested() {
        let endpoint = CallTarget::Endpoint(Endpoint::new("a", "GET /"));
        let service = CallTarget::Service("a".to_owned());
        for (of, us, text) in [
            (&endpoint, Some(200_000), r#"timeout=[["a","GET /"],200000]"#),
            (&endpoint, None, r#"timeout=[["a","GET /"],null]"#),
            (&service, Some(200_000), r#"timeout=["in:a",200000]"#),
            (&service, None, r#"timeout=["in:a",null]"#),
        ] {
            let mut address = Address::default();
            address.choices.flow.timeout = Some((of.clone(), us));
            assert_eq!(Address::parse(text), address);
            assert_eq!(Address::parse(&address.to_fragment()), address);
            let escaped = [("%22", "\""), ("%20", " "), ("%5B", "["), ("%5D", "]")];
            let decoded = escaped.iter().fold(address.to_fragment(), |text, (a, b)| text.replace(a, b));
            assert!(decoded.contains(text), "{decoded}");
        }
    }

    #[test]
    fn a_link_of_version_1_0_is_about_whole_calls() {
        let address = Address::parse(r#"whatif=[["s","o",-500000,0]]"#);
        let of: Vec<ChangeOf> = address.choices.flow.changes.latencies.iter().map(|c| c.of).collect();
        assert_eq!(of, [ChangeOf::WholeCall]);
    }

    #[test]
    fn what_makes_no_sense_is_not_there() {
        let address = Address::parse(
            "parents=[1&panel=x&learn=1&tau=2&whatif=[[1]]&target=p98:3&timeout=[[\"a\",\"b\"],0]",
        );
        assert_eq!(address, Address::default());
        let no_subjects = [
            r#"whatif=[["in:a","odd"],["a",1,2],["at:a","usual"],["own:a",[1]],["in:a",[]]]"#,
            r#"whatif=[["go","a","b","c"],["wait","a","b","","within"],["late","a","b","c",1,2],["wait","a","b","c","d"]]"#,
            r#"timeout=["own:a",1]&whatif=[[["q","a","b","c","d"],"odd"],[["q"],1,2]]"#,
        ];
        assert_eq!(no_subjects.map(Address::parse), [(); 3].map(|()| Address::default()));
    }

    #[test]
    fn settings_follow_preset_and_tau() {
        let paper = FlowChoice { paper: true, ..FlowChoice::default() };
        assert_eq!(paper.settings(), FlowSettings::paper());
        assert_eq!(FlowChoice { tau_ppm: Some(5), ..paper }.settings().tau_ppm, 5);
        assert_eq!(FlowChoice::default().settings(), FlowSettings::default());
        assert_eq!(["1", "0.99", "0"].map(|t| parse_tau(t).map(tau_text).unwrap()), ["1", "0.99", "0"]);
    }
}
