//! From a topology to the tree of work of one trace, and from there to times.
//!
//! Every random choice is made while the tree is made; a delay that is injected afterwards therefore changes times
//! and nothing else. A parent stands before its children, so the two passes over the tree are plain loops.

use super::topology::{Body, Fate, NO_PLACE, Op, PAGE_WAVE, Parameter, ROWS, Topology};
use pathlight_base::statistics::Random;

/// Time that a failing span which its caller cannot do without waits before it gives up, in microseconds.
const DEADLINE_US: u32 = 11_000;

/// Microseconds between the starts of two calls that one span makes side by side.
const LAUNCH_US: u32 = 30;

/// A span to be.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub endpoint: u16,
    pub parent: u32,
    /// First piece of work, and how many follow.
    first: u32,
    pieces: u32,
    outcome: Outcome,
    /// Whether the failure began here.
    pub own_failure: bool,
    /// The answer of a cache.
    pub hit: Option<bool>,
    /// Whether the parent does not wait, and so the reference is `FOLLOWS_FROM`.
    pub spawned: bool,
    pub retry: bool,
    /// An argument, or what it returned: a tag.
    pub passed: Option<(&'static str, u64)>,
    slow: bool,
    /// Since the start of the parent; then since the start of the root.
    pub start_us: u64,
    pub duration_us: u64,
}

/// Planned end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Outcome {
    #[default]
    Fine,
    /// An error at once; the caller goes on without it, or tries again.
    Refused,
    /// An error after a deadline; the caller fails with it.
    TimedOut,
}

impl Outcome {
    fn failed(self) -> bool {
        self != Outcome::Fine
    }

    fn refused_if(yes: bool) -> Outcome {
        if yes { Outcome::Refused } else { Outcome::Fine }
    }

    fn timed_out_if(yes: bool) -> Outcome {
        if yes { Outcome::TimedOut } else { Outcome::Fine }
    }

    /// Returns how long a span waits for what does not come.
    fn wait_us(self) -> u32 {
        match self {
            Outcome::Fine => 1,
            Outcome::Refused => 150,
            Outcome::TimedOut => DEADLINE_US,
        }
    }
}

/// Speeds of endpoints: faster or slower as a factor, by endpoint, and after how long their calls are given up; empty
/// if none is.
#[derive(Clone, Debug, Default)]
pub(super) struct Speeds {
    own: Vec<f64>,
    whole: Vec<f64>,
    given_up: Vec<Option<super::GiveUp>>,
}

impl Speeds {
    /// Makes one of so many endpoints faster or slower.
    pub fn add(&mut self, endpoints: usize, endpoint: usize, speed: &super::Speed) {
        self.own.resize(endpoints, 1.0);
        self.whole.resize(endpoints, 1.0);
        let factors = if speed.is_whole { &mut self.whole } else { &mut self.own };
        factors[endpoint] *= 1.0 + f64::from(speed.share_ppm) / 1e6;
    }

    /// Gives up the calls of one of so many endpoints.
    pub fn give_up(&mut self, endpoints: usize, endpoint: usize, given_up: &super::GiveUp) {
        self.given_up.resize(endpoints, None);
        self.given_up[endpoint] = Some(given_up.clone());
    }

    /// Returns what a call of an endpoint takes that would take so long, if it may be given up.
    fn cut(&self, endpoint: u16, us: u64, retries: &mut Random) -> u64 {
        let given_up = self.given_up.get(endpoint as usize).and_then(Option::as_ref);
        match given_up.filter(|given_up| us > given_up.after_us) {
            None => us,
            Some(super::GiveUp { after_us, retries_us, .. }) if retries_us.is_empty() => *after_us,
            Some(super::GiveUp { after_us, retries_us, .. }) => {
                after_us + retries_us[retries.below(retries_us.len() as u64) as usize].min(*after_us)
            }
        }
    }

    /// Returns, by span, the factors of its own work, and of all times within it.
    fn of(&self, nodes: &[Node]) -> Vec<(f64, f64)> {
        let mut factors = vec![(1.0, 1.0); if self.own.is_empty() { 0 } else { nodes.len() }];
        for at in 0..factors.len() {
            let Node { endpoint, parent, spawned, .. } = nodes[at];
            let is_root = at == 0 || spawned;
            let mut within = if is_root { 1.0 } else { factors[parent as usize].1 };
            let whole = self.whole[endpoint as usize];
            // Once, however the endpoint is nested in itself.
            let mut up = at;
            let mut is_nested = false;
            while whole != 1.0 && !is_nested && up != 0 && !nodes[up].spawned {
                up = nodes[up].parent as usize;
                is_nested |= nodes[up].endpoint == endpoint;
            }
            within *= if is_nested { 1.0 } else { whole };
            factors[at] = (self.own[endpoint as usize] * within, within);
        }
        factors
    }
}

/// A piece of the work of one span.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Own {
        us: u32,
        place: u16,
    },
    Run {
        node: u32,
    },
    /// The next so many `Run`s begin so far apart.
    Fork {
        count: u32,
        apart_us: u32,
    },
    Spawn {
        node: u32,
        after_us: u32,
    },
}

/// The tree of one trace.
#[derive(Default)]
pub(super) struct Plan {
    pub nodes: Vec<Node>,
    pub work: Vec<Work>,
    pub root_slow: bool,
    /// What queries of the trace ask with that ask the same.
    value: Option<u64>,
}

/// Conditions of one trace: how slow each service and the network are in it.
pub(super) struct Conditions {
    /// One per service.
    pub speed: Vec<f64>,
    pub network: f64,
    pub zones: Option<Zones>,
}

/// Zones that services run in.
pub(super) struct Zones {
    /// One per service.
    pub zone_of: Vec<u8>,
    /// How many times as long the network takes from one to another.
    pub across: f64,
}

impl Conditions {
    /// Returns how slow the network is between two services.
    fn network(&self, from: u16, to: u16) -> f64 {
        let zones =
            self.zones.as_ref().filter(|zones| zones.zone_of[from as usize] != zones.zone_of[to as usize]);
        self.network * zones.map_or(1.0, |zones| zones.across)
    }
}

impl Plan {
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.work.clear();
        self.root_slow = false;
        self.value = None;
    }

    fn add(&mut self, endpoint: u16, parent: u32, outcome: Outcome, slow: bool) -> u32 {
        self.nodes.push(Node {
            endpoint,
            parent,
            first: 0,
            pieces: 0,
            outcome,
            own_failure: false,
            hit: None,
            spawned: false,
            retry: false,
            passed: None,
            slow,
            start_us: 0,
            duration_us: 0,
        });
        self.nodes.len() as u32 - 1
    }

    /// Returns whether a span ends in an error.
    pub fn failed(&self, node: usize) -> bool {
        self.nodes[node].outcome.failed()
    }

    /// Returns the work of one span, in order.
    pub fn work_of(&self, node: usize) -> &[Work] {
        let Node { first, pieces, .. } = self.nodes[node];
        &self.work[first as usize..(first + pieces) as usize]
    }

    fn own(&mut self, random: &mut Random, place: u16, median_us: u32, sigma: f64, factor: f64) {
        let us = random.log_normal_us(f64::from(median_us) * factor, sigma).min(u64::from(u32::MAX));
        self.work.push(Work::Own { us: us as u32, place });
    }

    /// Plans a request of a system of endpoints.
    pub fn request(
        &mut self,
        topology: &Topology,
        conditions: &Conditions,
        random: &mut Random,
        request: usize,
        pages: u64,
    ) {
        self.clear();
        let request = &topology.requests[request];
        let outcome = Outcome::timed_out_if(random.chance(request.fail_per_mille));
        self.root_slow = random.chance(request.slow_per_mille);
        self.add(request.endpoint, 0, outcome, false);
        let mut next = 0;
        while next < self.nodes.len() {
            self.expand(topology, conditions, random, next, pages);
            next += 1;
        }
    }

    fn expand(
        &mut self,
        topology: &Topology,
        conditions: &Conditions,
        random: &mut Random,
        at: usize,
        pages: u64,
    ) {
        let Node { endpoint, outcome, slow, .. } = self.nodes[at];
        let first = self.work.len();
        let endpoint = &topology.endpoints[endpoint as usize];
        let service = |of: u16| topology.endpoints[of as usize].service;
        let factor = conditions.speed[endpoint.service as usize];
        let parent = at as u32;
        match &endpoint.body {
            &Body::Leaf { place, median_us, sigma } => {
                self.nodes[at].own_failure = outcome.failed();
                self.own(random, place, median_us, sigma, 1.0);
            }
            &Body::Message { place, consumer } => {
                self.own(random, place, 450, 0.25, 1.0);
                let node = self.add(consumer, parent, Outcome::Fine, false);
                let after_us = random.log_normal_us(9000.0, 0.6) as u32;
                self.work.push(Work::Spawn { node, after_us });
            }
            &Body::Remote { server, place } => {
                let network = conditions.network(endpoint.service, service(server));
                self.own(random, place, 260, 0.3, network);
                // A call that fails fails at the other side, or does not get there.
                if outcome.failed() && random.chance(250) {
                    self.nodes[at].own_failure = true;
                    self.own(random, NO_PLACE, outcome.wait_us(), 0.2, 1.0);
                } else {
                    let node = self.add(server, parent, outcome, slow);
                    self.work.push(Work::Run { node });
                    self.own(random, NO_PLACE, 210, 0.3, network);
                }
            }
            Body::Steps(ops) => self.steps(ops, random, at, pages, factor),
        }
        self.nodes[at].first = first as u32;
        self.nodes[at].pieces = (self.work.len() - first) as u32;
    }

    fn steps(&mut self, ops: &[Op], random: &mut Random, at: usize, pages: u64, factor: f64) {
        let Node { outcome, slow, .. } = self.nodes[at];
        let parent = at as u32;
        // A span that fails passes on the failure of one of its calls, or fails by itself after its first own work.
        let is_required = |op: &&Op| matches!(op, Op::Call { fate: Fate::Required, .. } | Op::Pages { .. });
        let required = if outcome.failed() { ops.iter().filter(is_required).count() } else { 0 };
        let passes_on = required > 0 && random.chance(700);
        let mut until_failure = if passes_on { random.below(required as u64) } else { u64::MAX };
        self.nodes[at].own_failure = outcome.failed() && !passes_on;
        let (mut i, mut miss, mut forked, mut ending) = (0, false, 0, false);
        while let Some(&op) = ops.get(i) {
            i += 1;
            if forked == 0 && ending {
                break;
            }
            forked = u16::saturating_sub(forked, 1);
            match op {
                Op::Own { place, median_us } => {
                    self.own(random, place, median_us, 0.25, factor);
                    if outcome.failed() && !passes_on && !ending {
                        // It waits for what does not come.
                        self.own(random, NO_PLACE, outcome.wait_us(), 0.2, 1.0);
                        ending = true;
                    }
                }
                Op::Fork { count } => {
                    self.work.push(Work::Fork { count: u32::from(count), apart_us: LAUNCH_US });
                    forked = count;
                }
                Op::Call { client, fate } => {
                    let ends = match fate {
                        Fate::Required => {
                            let fails = until_failure == 0;
                            until_failure = until_failure.wrapping_sub(1);
                            ending |= fails;
                            if fails { outcome } else { Outcome::Fine }
                        }
                        Fate::Optional(per_mille) | Fate::Retried(per_mille) => {
                            Outcome::refused_if(random.chance(per_mille))
                        }
                    };
                    let node = self.add(client, parent, ends, slow);
                    self.work.push(Work::Run { node });
                    if ends.failed() && matches!(fate, Fate::Retried(_)) {
                        self.own(random, NO_PLACE, 20_000, 0.1, 1.0);
                        let node = self.add(client, parent, Outcome::Fine, slow);
                        self.nodes[node as usize].retry = true;
                        self.work.push(Work::Run { node });
                    }
                }
                Op::Leaf { endpoint } | Op::Publish { producer: endpoint } => {
                    let node = self.add(endpoint, parent, Outcome::Fine, false);
                    self.work.push(Work::Run { node });
                }
                Op::Cache { endpoint, .. } | Op::SlowCache { endpoint } => {
                    miss = match op {
                        Op::Cache { miss_per_mille, .. } => random.chance(miss_per_mille),
                        _ => slow,
                    };
                    let node = self.add(endpoint, parent, Outcome::Fine, false);
                    self.nodes[node as usize].hit = Some(!miss);
                    self.work.push(Work::Run { node });
                }
                Op::Passes { first, second } => {
                    let value = 1_000_000 + random.below(9_000_000);
                    self.leaf(parent, first, Some(("row.id", value)));
                    self.own(random, NO_PLACE, 250, 0.25, factor);
                    self.leaf(parent, second, Some(("query.id", value)));
                }
                Op::Reads { endpoint, times, parameter } => {
                    for time in 0..times {
                        if time > 0 {
                            self.own(random, NO_PLACE, 250, 0.25, factor);
                        }
                        let value = match parameter {
                            Parameter::Same => {
                                Some(*self.value.get_or_insert_with(|| random.below(1_000_000)))
                            }
                            Parameter::Other => Some(1_000_000 + random.below(1_000_000)),
                            Parameter::Unknown => None,
                        };
                        self.leaf(parent, endpoint, value.map(|value| ("db.query.parameter.id", value)));
                    }
                }
                Op::Rows { first, second } => {
                    let rows = ROWS.0 + random.below(ROWS.1 - ROWS.0 + 1);
                    self.leaf(parent, first, Some(("rows", rows)));
                    for _ in 0..rows {
                        self.own(random, NO_PLACE, 100, 0.25, factor);
                        self.leaf(parent, second, None);
                    }
                }
                Op::UnlessHit { skip } => i += if miss { 0 } else { skip as usize },
                Op::Sometimes { per_mille, skip } => {
                    i += if random.chance(per_mille) { 0 } else { skip as usize };
                }
                Op::Spawn { endpoint } => {
                    let node = self.add(endpoint, parent, Outcome::Fine, false);
                    self.nodes[node as usize].spawned = true;
                    let after_us = random.log_normal_us(700.0, 0.4) as u32;
                    self.work.push(Work::Spawn { node, after_us });
                }
                Op::Pages { client } => {
                    ending |= until_failure == 0;
                    self.pages(random, parent, client, pages, until_failure == 0);
                }
            }
        }
    }

    /// Adds a query with a tag.
    fn leaf(&mut self, parent: u32, endpoint: u16, passed: Option<(&'static str, u64)>) {
        let node = self.add(endpoint, parent, Outcome::Fine, false);
        self.nodes[node as usize].passed = passed;
        self.work.push(Work::Run { node });
    }

    fn pages(&mut self, random: &mut Random, parent: u32, client: u16, pages: u64, fails: bool) {
        let slow_page = if self.root_slow { random.below(pages) } else { u64::MAX };
        let mut page = 0;
        while page < pages {
            let wave = PAGE_WAVE.min(pages - page);
            if wave > 1 {
                self.work.push(Work::Fork { count: wave as u32, apart_us: LAUNCH_US });
            }
            for _ in 0..wave {
                let outcome = Outcome::timed_out_if(fails && page + 1 == pages);
                let node = self.add(client, parent, outcome, page == slow_page);
                self.work.push(Work::Run { node });
                page += 1;
            }
            if page < pages {
                self.own(random, NO_PLACE, 250, 0.25, 1.0);
            }
        }
    }

    /// Plans one root and `spans - 1` leaves below it, in waves of 1 to a quarter of all.
    pub fn fan_out(&mut self, topology: &Topology, random: &mut Random, spans: u64) {
        self.clear();
        self.add(0, 0, Outcome::Fine, false);
        let workers = topology.endpoints.len() as u64 - 1;
        let mut left = spans.saturating_sub(1);
        let largest = 64 - (left / 4).max(1).leading_zeros();
        self.own(random, 0, 900, 0.25, 1.0);
        while left > 0 {
            let wave = (1u64 << random.below(u64::from(largest))).min(left);
            left -= wave;
            let apart_us = LAUNCH_US.min((20_000 / wave) as u32);
            self.work.push(Work::Fork { count: wave as u32, apart_us });
            for _ in 0..wave {
                let node = self.add(1 + random.below(workers) as u16, 0, Outcome::Fine, false);
                self.work.push(Work::Run { node });
            }
            self.own(random, if left == 0 { 2 } else { 1 }, 300, 0.25, 1.0);
        }
        self.nodes[0].pieces = self.work.len() as u32;
        for node in 1..self.nodes.len() {
            let outcome = Outcome::refused_if(random.chance(2));
            let first = self.work.len() as u32;
            if let Body::Leaf { place, median_us, sigma } =
                topology.endpoints[self.nodes[node].endpoint as usize].body
            {
                self.own(random, place, median_us, sigma, 1.0);
            }
            let node = &mut self.nodes[node];
            (node.first, node.pieces, node.outcome, node.own_failure) = (first, 1, outcome, outcome.failed());
        }
    }

    /// Plans a chain of `spans` spans: server, client, server, ... through the endpoints in a ring.
    pub fn chain(&mut self, topology: &Topology, random: &mut Random, spans: u64) {
        self.clear();
        let ring = topology.endpoints.len() as u64;
        let spans = spans.max(1);
        for i in 0..spans {
            let node =
                self.add((i % ring) as u16, (i as u32).saturating_sub(1), Outcome::Fine, false) as usize;
            let first = self.work.len() as u32;
            let child = Work::Run { node: node as u32 + 1 };
            match &topology.endpoints[self.nodes[node].endpoint as usize].body {
                &Body::Remote { place, .. } => {
                    self.own(random, place, 120, 0.3, 1.0);
                    if i + 1 < spans {
                        self.work.push(child);
                        self.own(random, NO_PLACE, 100, 0.3, 1.0);
                    }
                }
                Body::Steps(ops) => {
                    for (step, op) in ops.iter().enumerate() {
                        if let &Op::Own { place, median_us } = op {
                            if step > 0 && i + 1 < spans {
                                self.work.push(child);
                            }
                            self.own(random, place, median_us, 0.25, 1.0);
                        }
                    }
                }
                _ => {}
            }
            self.nodes[node].first = first;
            self.nodes[node].pieces = self.work.len() as u32 - first;
        }
    }

    /// Works out durations from the leaves up, then starts from the root down. `extra_us` is what each place takes
    /// besides; `waits_us` what calls wait before they begin, by number of the span.
    pub fn schedule(
        &mut self,
        extra_us: &[u64],
        waits_us: &[(u32, u64)],
        speeds: &Speeds,
        mut retries: Random,
    ) {
        let wait_us = |node: u32| {
            waits_us.iter().find(|(waiting, _)| *waiting == node).map_or(0, |&(_, wait_us)| wait_us)
        };
        let Plan { nodes, work, .. } = self;
        let factors = speeds.of(nodes);
        for at in (0..nodes.len()).rev() {
            let Node { first, pieces, .. } = nodes[at];
            let (own, within) = factors.get(at).copied().unwrap_or((1.0, 1.0));
            let scaled = |us: u64, factor: f64| (us as f64 * factor).round() as u64;
            // `now` is when the span goes on; while a fork is open, `begins` is when its next child starts.
            let (mut now, mut open, mut begins, mut apart) = (0u64, 0u32, 0u64, 0u64);
            for piece in &work[first as usize..(first + pieces) as usize] {
                match *piece {
                    Work::Own { us, place } => {
                        let us = u64::from(us) + extra_us.get(place as usize).copied().unwrap_or(0);
                        now += scaled(us, own);
                    }
                    Work::Fork { count, apart_us } => {
                        (open, begins, apart) = (count, now, scaled(u64::from(apart_us), within))
                    }
                    Work::Run { node } if open > 0 => {
                        let child = &mut nodes[node as usize];
                        child.start_us = begins + wait_us(node);
                        now = now.max(child.start_us + child.duration_us);
                        begins += apart;
                        open -= 1;
                    }
                    Work::Run { node } => {
                        let child = &mut nodes[node as usize];
                        child.start_us = now + wait_us(node);
                        now = child.start_us + child.duration_us;
                    }
                    Work::Spawn { node, after_us } => {
                        nodes[node as usize].start_us = now + scaled(u64::from(after_us), within);
                    }
                }
            }
            nodes[at].duration_us = speeds.cut(nodes[at].endpoint, now, &mut retries);
        }
        for at in 1..nodes.len() {
            nodes[at].start_us += nodes[nodes[at].parent as usize].start_us;
        }
    }

    /// Hands each visited place of the trace to `each`, with the number of children its span waited for or started
    /// before it.
    pub fn visits(&self, mut each: impl FnMut(u16, u32)) {
        for at in 0..self.nodes.len() {
            let mut children = 0;
            for piece in self.work_of(at) {
                match *piece {
                    Work::Own { place, .. } if place != NO_PLACE => each(place, children),
                    Work::Run { .. } => children += 1,
                    _ => {}
                }
            }
        }
    }
}
