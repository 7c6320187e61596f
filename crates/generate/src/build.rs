//! The trace as it is reported: hosts, clocks, ids and spans.

use super::plan::{Conditions, Plan, Zones};
use super::topology::{Role, Topology};
use super::{GenerateOptions, GeneratedMessage, Kept};
use pathlight_base::statistics::{Random, mix};
use pathlight_trace::SpanKind;
use std::borrow::Cow;

/// The first root request starts here unless options say otherwise: 2024-05-14 09:00 UTC, in microseconds.
pub(super) const EPOCH_US: u64 = 1_715_677_200_000_000;
/// The requests of a set spread over this time unless options say otherwise.
pub(super) const SPREAD_US: u64 = 3_600_000_000;

/// Regions, the share of requests in each (of 100), and how much slower the network is there.
const REGIONS: [(&str, u64, f64); 3] =
    [("eu-west-1", 60, 1.0), ("us-east-1", 30, 1.0), ("ap-southeast-2", 10, 2.4)];
/// Services whose new version, on a fifth of the requests, is this much slower.
const SLOW_CANARIES: [(&str, f64); 2] = [("recommendation", 1.5), ("search", 1.35)];
/// Availability zones, of which each instance of a service is in one.
const ZONES: [&str; 2] = ["zone-a", "zone-b"];
const INSTANCES: [&str; 3] = ["7c9f4", "b24kx", "q8zdm"];

/// One trace.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratedTrace {
    /// Never 0.
    pub trace_id: u64,
    /// The processes that spans point to by index.
    pub processes: Vec<GeneratedProcess>,
    /// The spans; a file holds them in another order.
    pub spans: Vec<GeneratedSpan>,
    /// The messages that its spans have received, if messages were asked for.
    pub messages: Vec<GeneratedMessage>,
    /// Links of its consumers to spans that no trace has.
    pub lost_senders: u64,
    /// How it was sampled, if it was: the tags of its root say so.
    pub kept: Option<Kept>,
}

/// An instance of a service.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratedProcess {
    /// Service name.
    pub service: &'static str,
    /// Host name.
    pub host: String,
    /// IPv4 address.
    pub ip: String,
    /// Cloud region, one for the trace.
    pub region: &'static str,
    /// Version of the service.
    pub version: &'static str,
    /// Availability zone, if zones were asked for.
    pub zone: Option<&'static str>,
}

/// A reference to another span of the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BuiltReference {
    /// The id of the other span; with defects there may be no such span.
    pub span_id: u64,
    /// `FOLLOWS_FROM` rather than `CHILD_OF`.
    pub follows_from: bool,
}

/// One span.
#[derive(Clone, PartialEq, Debug)]
pub struct GeneratedSpan {
    /// Unique in the trace unless duplicates were asked for; never 0.
    pub span_id: u64,
    /// The parent; `None` for a root.
    pub parent: Option<BuiltReference>,
    /// Spans of any trace that it links to, as (trace id, span id).
    pub links: Vec<(u64, u64)>,
    /// Index into the trace's processes; `None` if the process is missing.
    pub process: Option<u32>,
    /// Operation name.
    pub operation: &'static str,
    /// A value that its name ends with, if ids in names were asked for.
    pub name_value: Option<u64>,
    /// Which of many root endpoints it is, said in letters before its value.
    pub root_number: Option<u64>,
    /// Role in a call.
    pub kind: SpanKind,
    /// Start by the clock of its host.
    pub start_us: u64,
    /// Duration.
    pub duration_us: u64,
    /// Whether the span is an error.
    pub error: bool,
    pub(super) about: About,
}

impl GeneratedSpan {
    /// Returns the operation as it is written, with its letters and its value.
    pub fn name(&self) -> Cow<'static, str> {
        let mut name = Cow::Borrowed(self.operation);
        if let Some(number) = self.root_number {
            let name = name.to_mut();
            name.push('/');
            // Digits would be taken for a value, which is left out of names.
            number.to_string().bytes().for_each(|digit| name.push(char::from(digit - b'0' + b'a')));
        }
        if let Some(value) = self.name_value {
            name.to_mut().push_str(&format!("/{value}"));
        }
        name
    }
}

/// Facts that the tags and logs of a span are made from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct About {
    pub role: Role,
    pub peer: &'static str,
    pub statement: &'static str,
    /// Whether an error began here.
    pub own_error: bool,
    pub hit: Option<bool>,
    pub retry: bool,
    /// A tag: an argument, or what it returned.
    pub passed: Option<(&'static str, u64)>,
    /// Started before its parent, as the clocks say.
    pub early: bool,
    pub salt: u64,
}

/// Surroundings of a trace: hosts, clocks, versions. Made before the trace and independent of it.
pub(super) struct Surroundings {
    pub conditions: Conditions,
    region: usize,
    /// One per service.
    instances: Vec<Instance>,
}

struct Instance {
    host: usize,
    canary: bool,
    clock_us: i64,
}

impl Surroundings {
    pub fn new(options: &GenerateOptions, topology: &Topology, random: &mut Random) -> Surroundings {
        let mut at = random.below(100);
        let mut region = 0;
        while at >= REGIONS[region].1 {
            at -= REGIONS[region].1;
            region += 1;
        }
        let all_skewed = random.chance(120);
        let one_skewed = random.chance(15);
        let skewed = random.below(topology.services.len() as u64) as usize;
        // How busy the whole system is during the request.
        let load = random.log_normal_us(1000.0, 0.09) as f64 / 1000.0;
        let mut speed = Vec::with_capacity(topology.services.len());
        let mut instances = Vec::with_capacity(topology.services.len());
        for (i, service) in topology.services.iter().enumerate() {
            let canary = random.below(5) == 0;
            let slower = SLOW_CANARIES.iter().find(|(name, _)| name == service);
            let slower = slower.filter(|_| canary && !options.is_canary_as_fast);
            speed.push(load * slower.map_or(1.0, |&(_, factor)| factor));
            let small = random.below(501) as i64 - 250;
            let large = random.below(8001) as i64 - 4000;
            let clock_us = if one_skewed && i == skewed {
                large
            } else if all_skewed {
                small
            } else {
                0
            };
            instances.push(Instance { host: random.below(3) as usize, canary, clock_us });
        }
        let zones = options.zones.map(|across| {
            let zone_of = topology.services.iter().map(|_| random.below(ZONES.len() as u64) as u8).collect();
            Zones { zone_of, across }
        });
        Surroundings {
            conditions: Conditions { speed, network: REGIONS[region].2 * options.network, zones },
            region,
            instances,
        }
    }

    /// Returns the number of the instance of a service that a trace runs in.
    pub fn instance(&self, service: u16) -> usize {
        self.instances[service as usize].host
    }

    fn process(&self, topology: &Topology, service: u16) -> GeneratedProcess {
        let name = topology.services[service as usize];
        let Instance { host, canary, .. } = self.instances[service as usize];
        let region = REGIONS[self.region].0;
        let version = match (service % 3, canary) {
            (0, false) => "2.14.3",
            (0, true) => "2.15.0-rc1",
            (1, false) => "1.8.11",
            (1, true) => "1.9.0",
            (_, false) => "5.0.2",
            (_, true) => "5.1.0",
        };
        GeneratedProcess {
            service: name,
            host: format!("{name}-{}", INSTANCES[host]),
            ip: format!("10.{}.{}.{}", 20 + self.region, service + 4, 11 + host),
            region,
            version,
            zone: self
                .conditions
                .zones
                .as_ref()
                .map(|zones| ZONES[usize::from(zones.zone_of[service as usize])]),
        }
    }
}

/// Returns the trace of a scheduled plan.
pub(super) fn assemble(
    options: &GenerateOptions,
    topology: &Topology,
    plan: &Plan,
    surroundings: &Surroundings,
    index: u64,
) -> GeneratedTrace {
    let Beginning { base, trace_id, root_start_us } = Beginning::of(options, index);
    let mut processes = Vec::new();
    let mut process_of = vec![u32::MAX; topology.services.len()];
    let root_service = plan.nodes.first().map_or(0, |n| topology.endpoints[n.endpoint as usize].service);
    let mut spans: Vec<GeneratedSpan> = Vec::with_capacity(plan.nodes.len());
    for (i, node) in plan.nodes.iter().enumerate() {
        let endpoint = &topology.endpoints[node.endpoint as usize];
        let process = &mut process_of[endpoint.service as usize];
        if *process == u32::MAX {
            *process = processes.len() as u32;
            processes.push(surroundings.process(topology, endpoint.service));
        }
        // The root's host tells the time; the other clocks differ from it.
        let clock_us = if endpoint.service == root_service {
            0
        } else {
            surroundings.instances[endpoint.service as usize].clock_us
        };
        let start_us = (root_start_us + node.start_us).saturating_add_signed(clock_us);
        let parent = (i > 0).then(|| &spans[node.parent as usize]);
        spans.push(GeneratedSpan {
            span_id: mix(base.wrapping_add(i as u64 + 1)).max(1),
            parent: parent.map(|p| BuiltReference { span_id: p.span_id, follows_from: node.spawned }),
            links: Vec::new(),
            process: Some(*process),
            operation: endpoint.operation,
            name_value: None,
            root_number: None,
            kind: kind(endpoint.role),
            start_us,
            duration_us: node.duration_us,
            error: plan.failed(i),
            about: About {
                role: endpoint.role,
                peer: endpoint.peer,
                statement: endpoint.statement,
                own_error: node.own_failure,
                hit: node.hit,
                retry: node.retry,
                passed: node.passed,
                early: parent.is_some_and(|p| start_us < p.start_us) && endpoint.role != Role::Consumer,
                salt: mix(base ^ (i as u64) << 20),
            },
        });
    }
    GeneratedTrace { trace_id, processes, spans, messages: Vec::new(), lost_senders: 0, kept: None }
}

/// What is known of a trace before it is made.
pub(super) struct Beginning {
    /// What its ids are made from.
    pub base: u64,
    pub trace_id: u64,
    pub root_start_us: u64,
}

impl Beginning {
    pub fn of(options: &GenerateOptions, index: u64) -> Beginning {
        let base = mix(options.seed ^ mix(index));
        let traces = u128::from(options.traces.max(1));
        let offset = (u128::from(options.spread_us) * u128::from(index) / traces) as u64;
        let jitter = mix(base ^ 0x717e) % (options.spread_us / options.traces.max(1)).max(1);
        Beginning {
            base,
            trace_id: mix(base ^ 0x7ace).max(1),
            root_start_us: options.start_us + offset + jitter,
        }
    }
}

fn kind(role: Role) -> SpanKind {
    match role {
        Role::HttpServer | Role::GrpcServer => SpanKind::Server,
        Role::HttpClient | Role::GrpcClient | Role::Redis | Role::Postgres | Role::Search => SpanKind::Client,
        Role::Producer => SpanKind::Producer,
        Role::Consumer => SpanKind::Consumer,
        Role::Internal => SpanKind::Internal,
    }
}
