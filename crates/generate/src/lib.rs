//! Synthetic Jaeger traces of any size, the same bytes for the same options on every machine.
//!
//! A trace is first a tree of work (own time, calls, groups of parallel calls, work on the side), then simulated to
//! absolute times; so a delay injected at a *place* moves everything that waits for it, and nothing else.
//!
//! # Shapes
//! * `mixed`: a web shop. Request types are the root endpoints of service `edge-gateway`; the traces vary in size
//!   around [`GenerateOptions::spans`]. Their natural size is about 50. Below 30 spans most services are left out (natural size
//!   7). Between these, types of the right size become more common; for larger traces a request fetches its page
//!   several times, up to 4 side by side. The slow tail is in one place: 2.5 % of `GET /product/{id}` find nothing in
//!   `catalog`'s details cache and wait for `SELECT product_details` and `RecomputeOffers`, which no other request
//!   calls. Traces of fewer than 5 spans have hardly any such page.
//! * `wide`: one root of exactly `spans` - 1 children, all leaves, in waves of 1 to a quarter of them; the children of
//!   a wave run side by side.
//! * `serial`: 44 request types, each an endpoint of its own service. 40 make two calls or more one after the other; in half of them
//!   neither call needs the other, and [`SerialPair::all`] says which. Four read rows: `same-row` the same one three times,
//!   `row-below` the same one below two calls, `other-rows` three different ones, `unknown-rows` three that no span names. A
//!   trace has 3 to 12 spans.
//! * `deep`: a chain of exactly `spans` spans, each the only child of the one before, server and client in turn.
//!
//! A span takes about 0.65 KB of JSON, and up to 0.85 in traces of a few spans, because each brings its processes.
//! [`write_jaeger`] streams: it needs the memory of one trace, about 200 bytes a span. A file holds the spans of a trace in
//! no useful order, as storages return them.
//!
//! ```
//! use pathlight_generate::{Generator, GenerateOptions, Shape};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let options = GenerateOptions { shape: Shape::Deep, spans: 3, ..GenerateOptions::default() };
//! let trace = Generator::new(&options)?.trace(0);
//! assert_eq!(trace.spans.len(), 3);
//!
//! // A second more at each visit of the first place: the root takes longer by at least that.
//! let place = Generator::new(&options)?.places().remove(0).name;
//! let slow = GenerateOptions { injects: vec![format!("{place}=+1000000").parse()?], ..options };
//! let slow = Generator::new(&slow)?.trace(0);
//! assert!(slow.spans[0].duration_us >= trace.spans[0].duration_us + 1_000_000);
//! # Ok(())
//! # }
//! ```

mod build;
mod defects;
mod habits;
mod jaeger;
mod messages;
mod plan;
mod pool;
mod sample;
mod serial;
mod shapes;
mod shop;
mod tags;
mod topology;

pub use build::{BuiltReference, GeneratedProcess, GeneratedSpan, GeneratedTrace};
pub use defects::Defects;
pub use jaeger::{trace_json, write_jaeger};
pub use messages::GeneratedMessage;
pub use pool::Pool;
pub use sample::{Dialect, Kept, Sample, SampledRequest, Sampler};
pub use tags::GeneratedTag;

use pathlight_base::statistics::Random;
use plan::{Conditions, Plan, Speeds};
use std::fmt;
use std::str::FromStr;
use topology::Topology;

/// The form of the traces; see the [module](self).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shape {
    /// One parent, all others its children.
    Wide,
    /// A chain.
    Deep,
    /// Requests of a web shop.
    #[default]
    Mixed,
    /// Calls one after the other, with and without need.
    Serial,
}

/// Whether a call needs the one before it, and how the traces show it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PairNeed {
    /// It does not.
    None,
    /// A tag of the second has a value that a tag of the first has, another one in each trace.
    Value,
    /// The first is a lookup, and the second is made where it finds nothing.
    Lookup,
    /// The second is made once for each row that the first finds.
    Rows,
    /// It does not, and a tenth of the requests make both side by side already.
    SideBySideAtTimes,
}

/// Two calls of an endpoint of shape `serial`, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SerialPair {
    /// Service of the endpoint, and of both calls.
    pub service: &'static str,
    /// Operation of the endpoint.
    pub operation: &'static str,
    /// Operation of the first call.
    pub first: &'static str,
    /// Operation of the second.
    pub second: &'static str,
    /// Whether the second needs the first.
    pub need: PairNeed,
}

impl SerialPair {
    /// Returns the pairs of every endpoint of the shape.
    pub fn all() -> Vec<SerialPair> {
        serial::pairs()
    }
}

impl FromStr for Shape {
    type Err = GenerateError;

    fn from_str(text: &str) -> Result<Shape, GenerateError> {
        match text {
            "wide" => Ok(Shape::Wide),
            "deep" => Ok(Shape::Deep),
            "mixed" => Ok(Shape::Mixed),
            "serial" => Ok(Shape::Serial),
            _ => Err(GenerateError::Shape(text.to_owned())),
        }
    }
}

/// A delay at a place, for each visit of the place.
#[derive(Clone, PartialEq, Debug)]
pub struct Inject {
    /// The name of the place, as [`Generator::places`] gives it.
    pub place: String,
    /// Microseconds more.
    pub extra_us: u64,
    /// The share of all traces, in [0, 1], that are delayed; which ones depends on seed and place only.
    pub share: f64,
}

impl FromStr for Inject {
    type Err = GenerateError;

    /// Reads `PLACE=+US` or `PLACE=+US@SHARE`.
    fn from_str(text: &str) -> Result<Inject, GenerateError> {
        let bad = || GenerateError::Inject(text.to_owned());
        let (place, delay) = text.rsplit_once("=+").ok_or_else(bad)?;
        let (us, share) = match delay.split_once('@') {
            Some((us, share)) => (us, share.parse().map_err(|_| bad())?),
            None => (delay, 1.0),
        };
        let extra_us = us.parse().ok().filter(|&us: &u64| us <= 1 << 40).ok_or_else(bad)?;
        if place.is_empty() || !(0.0..=1.0).contains(&share) {
            return Err(bad());
        }
        Ok(Inject { place: place.to_owned(), extra_us, share })
    }
}

/// An endpoint that works faster, or slower, than it was made to.
#[derive(Clone, PartialEq, Debug)]
pub struct Speed {
    /// `service:operation`.
    pub endpoint: String,
    /// Share of the time added, in millionths: -500,000 is 50 % faster.
    pub share_ppm: i32,
    /// Whether all that its spans wait for changes alike (once, however it is nested), rather than their own work only.
    pub is_whole: bool,
}

impl FromStr for Speed {
    type Err = GenerateError;

    /// Reads `SERVICE:OPERATION=-50%` or `SERVICE:OPERATION=-50%@whole`.
    fn from_str(text: &str) -> Result<Speed, GenerateError> {
        let bad = || GenerateError::Speed(text.to_owned());
        let (endpoint, amount) = text.rsplit_once('=').ok_or_else(bad)?;
        let (amount, is_whole) = amount.strip_suffix("@whole").map_or((amount, false), |it| (it, true));
        let share_ppm = added_ppm(amount).filter(|_| !endpoint.is_empty()).ok_or_else(bad)?;
        Ok(Speed { endpoint: endpoint.to_owned(), share_ppm, is_whole })
    }
}

/// Messages of a queue that wait shorter, or longer, than they were made to.
#[derive(Clone, PartialEq, Debug)]
pub struct QueueWait {
    /// The queue: one of [`GeneratedMessage::QUEUES`].
    pub queue: String,
    /// Share of the time in the queue added, in millionths: -500,000 is half of it. What is received together waits from the
    /// last message that was sent.
    pub share_ppm: i32,
}

impl FromStr for QueueWait {
    type Err = GenerateError;

    /// Reads `orders=-50%`.
    fn from_str(text: &str) -> Result<QueueWait, GenerateError> {
        let bad = || GenerateError::Queue(text.to_owned());
        let (queue, amount) = text.split_once('=').ok_or_else(bad)?;
        let is_known = GeneratedMessage::QUEUES.contains(&queue);
        let share_ppm = added_ppm(amount).filter(|_| is_known).ok_or_else(bad)?;
        Ok(QueueWait { queue: queue.to_owned(), share_ppm })
    }
}

/// Reads a share of a time that is added, such as `-50%` or `20%`, in millionths; `None` beyond -100 % and 1,000 %.
fn added_ppm(text: &str) -> Option<i32> {
    let percent: f64 = text.strip_suffix('%')?.parse().ok()?;
    (-100.0..=1000.0).contains(&percent).then(|| (percent * 10_000.0).round() as i32)
}

/// Options of a generated set of traces.
#[derive(Clone, PartialEq, Debug)]
pub struct GenerateOptions {
    /// Spans of a trace: exact for `wide` and `deep`, the mean for `mixed`, without meaning for `serial`. At least 1, at most 2^31.
    pub spans: u64,
    /// Number of traces.
    pub traces: u64,
    /// The form of the traces.
    pub shape: Shape,
    /// The same seed gives the same traces.
    pub seed: u64,
    /// No request starts before this, in microseconds since the epoch.
    pub start_us: u64,
    /// All requests start within so many microseconds after that.
    pub spread_us: u64,
    /// Delays; they change times only, never ids, tags or structure.
    pub injects: Vec<Inject>,
    /// Endpoints that are faster or slower; they too change times only.
    pub speeds: Vec<Speed>,
    /// Endpoints whose calls are given up.
    pub timeouts: Vec<GiveUp>,
    /// Queues whose messages wait shorter or longer; they too change times only.
    pub queues: Vec<QueueWait>,
    /// Whether calls that do not need each other run side by side: of shape `serial`.
    pub is_side_by_side: bool,
    /// Of how many numbers each root span has one in its name, by turns; 0: of none.
    pub roots: u64,
    /// Defects of the traces.
    pub defects: Defects,
    /// What is kept of the traces when they are written; `None`: all.
    pub sample: Option<Sample>,
    /// Whether instances of services are in one of two availability zones, and how many times as long the network takes from one
    /// to the other: it changes times only. `None`: there are no zones. Of shape `mixed`.
    pub zones: Option<f64>,
    /// How many times as long the network takes: it changes times only. Of shape `mixed`.
    pub network: f64,
    /// Whether new versions, which run on a fifth of the requests, are as fast as the old ones: those of two services are not.
    pub is_canary_as_fast: bool,
    /// A pool of connections for which calls wait; it changes times only.
    pub pool: Option<Pool>,
}

impl GenerateOptions {
    /// Returns the traces that the page offers as its demo: 320 requests of the shop. With this seed four of the 41
    /// requests for a product miss a cache and wait five times as long; few enough to load at once, enough to see
    /// that.
    pub fn demo() -> GenerateOptions {
        GenerateOptions { spans: 30, traces: 320, seed: 21, ..GenerateOptions::default() }
    }
}

impl Default for GenerateOptions {
    fn default() -> GenerateOptions {
        GenerateOptions {
            spans: 50,
            traces: 100,
            shape: Shape::Mixed,
            seed: 1,
            start_us: build::EPOCH_US,
            spread_us: build::SPREAD_US,
            injects: Vec::new(),
            speeds: Vec::new(),
            timeouts: Vec::new(),
            queues: Vec::new(),
            is_side_by_side: false,
            roots: 0,
            defects: Defects::default(),
            sample: None,
            zones: None,
            network: 1.0,
            is_canary_as_fast: false,
            pool: None,
        }
    }
}

/// Calls of an endpoint are given up after a time. Their callers go on as if they had returned, or call once more.
#[derive(Clone, PartialEq, Debug)]
pub struct GiveUp {
    /// `SERVICE:OPERATION`.
    pub endpoint: String,
    /// After so many microseconds.
    pub after_us: u64,
    /// Durations of a second call, in microseconds; one of them is drawn, and is given up as the first was. Empty:
    /// there is no second call.
    pub retries_us: Vec<u64>,
}

/// Counts of what was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Generated {
    /// Traces.
    pub traces: u64,
    /// Spans.
    pub spans: u64,
    /// Bytes of JSON.
    pub bytes: u64,
}

/// Reason why options cannot be used.
#[derive(Clone, PartialEq, Debug)]
pub enum GenerateError {
    /// Not a shape.
    Shape(String),
    /// Not `PLACE=+US[@SHARE]`.
    Inject(String),
    /// Not `SERVICE:OPERATION=-50%[@whole]`.
    Speed(String),
    /// Not `QUEUE=-50%`.
    Queue(String),
    /// No such place in this shape.
    Place(String),
    /// No such endpoint in this shape.
    Endpoint(String),
    /// Not a kind of defect.
    Defect(String),
    /// Not a sampler.
    Sample(String),
    /// Not `SERVICE>PEER=CONNECTIONS`, or there are no such calls in this shape.
    Pool(String),
    /// More spans in one trace than can be numbered.
    Spans(u64),
}

impl fmt::Display for GenerateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GenerateError::Shape(text) => {
                write!(f, "\"{text}\" is no shape; use wide, deep, mixed or serial")
            }
            GenerateError::Inject(text) => write!(
                f,
                "\"{text}\" is no delay; write PLACE=+US or PLACE=+US@SHARE, with whole microseconds and a share from 0 to 1"
            ),
            GenerateError::Speed(text) => write!(
                f,
                "\"{text}\" is no speed; write SERVICE:OPERATION=-50%, with @whole after it if all that it waits for changes too; from -100% to 1000%"
            ),
            GenerateError::Queue(text) => write!(
                f,
                "\"{text}\" is no time in a queue; write QUEUE=-50%, from -100% to 1000%; queues are {}",
                GeneratedMessage::QUEUES.join(", ")
            ),
            GenerateError::Endpoint(text) => write!(
                f,
                "there is no endpoint \"{text}\" in this shape; --list-places prints service and operation of those there are"
            ),
            GenerateError::Place(text) => {
                write!(f, "there is no place \"{text}\" in this shape; --list-places prints those there are")
            }
            GenerateError::Defect(text) => {
                write!(f, "\"{text}\" is no defect; use all or some of {}", Defects::NAMES.join(", "))
            }
            GenerateError::Sample(text) => write!(
                f,
                "\"{text}\" is no sampler; write p=PROBABILITY, and after semicolons what you want of slow>500ms, errors, floor=N, \
                 as=th (or p, count, rate, datadog, jaeger, nothing)"
            ),
            GenerateError::Pool(text) => write!(
                f,
                "\"{text}\" is no pool of this shape; write SERVICE>PEER=CONNECTIONS, with a service or store that the service calls"
            ),
            GenerateError::Spans(n) => {
                write!(f, "{n} spans in one trace are too many; use at most 2147483648")
            }
        }
    }
}

impl std::error::Error for GenerateError {}

/// A point of the topology where time can be spent.
#[derive(Clone, PartialEq, Debug)]
pub struct TopologyPlace {
    /// `service:operation:step` (own work; steps count an endpoint's pieces of own work from 0) or
    /// `client->server:operation gap` (the network around a call).
    pub name: String,
    /// The service whose span grows; for a gap that of the client span.
    pub service: &'static str,
    /// The operation of that span.
    pub operation: &'static str,
    /// The subspan of that span (n children that it waits for make n + 1 subspans, 0 to n), as it is in most visits;
    /// `None` for a gap, where the delay falls before the server span.
    pub subspan: Option<u32>,
    /// The share of the traces that pass through it, in [0, 1].
    pub share: f64,
}

/// Below so many spans a trace of the shop is made of its essential calls only.
const LEAN_BELOW: u64 = 30;

/// Number of traces that the shares of the places are taken from.
const PILOT_TRACES: u64 = 4000;

/// Numbers of the random streams of a trace.
mod stream {
    pub const SHAPE: u64 = 1;
    pub const CONDITIONS: u64 = 2;
    pub const INJECT: u64 = 3;
    pub const DEFECTS: u64 = 4;
    pub const RETRIES: u64 = 5;
    pub const MESSAGES: u64 = 6;
    pub const SAMPLE: u64 = 7;
}

/// A system that makes traces.
pub struct Generator {
    options: GenerateOptions,
    topology: Topology,
    pages: u64,
    /// Running sums of the weights of the request types.
    weights: Vec<f64>,
    /// The place of each of `options.injects`.
    inject_places: Vec<u16>,
    speeds: Speeds,
    /// By trace, what calls wait for a connection: number of the span, and microseconds; empty if nothing waits.
    pool_waits: Vec<Vec<(u32, u64)>>,
}

impl Generator {
    /// Returns a generator for `options`.
    ///
    /// # Errors
    /// If a delay, a speed or a pool names what the shape does not have, or a trace would have more than 2^31 spans.
    pub fn new(options: &GenerateOptions) -> Result<Generator, GenerateError> {
        if options.spans > 1 << 31 {
            return Err(GenerateError::Spans(options.spans));
        }
        let topology = match options.shape {
            Shape::Wide => shapes::wide(),
            Shape::Deep => shapes::deep(),
            Shape::Mixed => shop::topology(options.spans < LEAN_BELOW),
            Shape::Serial => serial::topology(options.is_side_by_side),
        };
        let (pages, mut weights) = match options.shape {
            Shape::Mixed => topology.fit(options.spans as f64),
            Shape::Serial => (1, topology.requests.iter().map(|request| request.weight).collect()),
            Shape::Wide | Shape::Deep => (1, Vec::new()),
        };
        let mut sum = 0.0;
        for weight in &mut weights {
            sum += *weight;
            *weight = sum;
        }
        let place = |inject: &Inject| {
            let found = topology.places.iter().position(|p| p.name == inject.place);
            found.map(|i| i as u16).ok_or_else(|| GenerateError::Place(inject.place.clone()))
        };
        let inject_places = options.injects.iter().map(place).collect::<Result<_, _>>()?;
        let mut speeds = Speeds::default();
        let find = |name: &String| {
            let found = (0..topology.endpoints.len()).find(|&e| topology.name(e as u16) == *name);
            found.ok_or_else(|| GenerateError::Endpoint(name.clone()))
        };
        for speed in &options.speeds {
            speeds.add(topology.endpoints.len(), find(&speed.endpoint)?, speed);
        }
        for given_up in &options.timeouts {
            speeds.give_up(topology.endpoints.len(), find(&given_up.endpoint)?, given_up);
        }
        let mut generator = Generator {
            options: options.clone(),
            topology,
            pages,
            weights,
            inject_places,
            speeds,
            pool_waits: Vec::new(),
        };
        if let Some(pool) = &options.pool {
            generator.pool_waits = generator.wait_for(pool)?;
        }
        Ok(generator)
    }

    /// Returns trace number `index`, from 0; its spans stand parent before child, the root first (before defects).
    pub fn trace(&self, index: u64) -> GeneratedTrace {
        let mut plan = Plan::default();
        self.trace_with(index, &mut plan)
    }

    fn trace_with(&self, index: u64, plan: &mut Plan) -> GeneratedTrace {
        let seed = self.options.seed;
        let waits_us = self.pool_waits.get(index as usize).map_or(&[][..], Vec::as_slice);
        let surroundings = self.scheduled(index, waits_us, plan);
        let mut trace = build::assemble(&self.options, &self.topology, plan, &surroundings, index);
        if let (Some(root), Some(number)) = (trace.spans.first_mut(), index.checked_rem(self.options.roots)) {
            root.root_number = Some(number);
        }
        if self.options.defects.messages {
            let mut random = Random::new(seed, stream::MESSAGES, index);
            messages::add(&mut trace, &self.options, index, &mut random);
        }
        if self.options.defects.any() {
            self.options.defects.apply(&mut trace, &mut Random::new(seed, stream::DEFECTS, index));
        }
        trace
    }

    /// Plans and schedules trace `index`, in which calls wait so long before they begin.
    fn scheduled(&self, index: u64, waits_us: &[(u32, u64)], plan: &mut Plan) -> build::Surroundings {
        let mut random = Random::new(self.options.seed, stream::CONDITIONS, index);
        let surroundings = build::Surroundings::new(&self.options, &self.topology, &mut random);
        self.plan(index, &surroundings.conditions, plan);
        let retries = Random::new(self.options.seed, stream::RETRIES, index);
        plan.schedule(&self.extra_us(index), waits_us, &self.speeds, retries);
        surroundings
    }

    fn plan(&self, index: u64, conditions: &Conditions, plan: &mut Plan) {
        let mut random = Random::new(self.options.seed, stream::SHAPE, index);
        match self.options.shape {
            Shape::Wide => plan.fan_out(&self.topology, &mut random, self.options.spans),
            Shape::Deep => plan.chain(&self.topology, &mut random, self.options.spans),
            Shape::Mixed | Shape::Serial => {
                let at = random.unit() * self.weights.last().copied().unwrap_or(0.0);
                let request = self.weights.iter().position(|&sum| at < sum).unwrap_or(0);
                plan.request(&self.topology, conditions, &mut random, request, self.pages);
            }
        }
    }

    /// Returns, by place, the microseconds that trace `index` spends there besides its own; empty if none.
    fn extra_us(&self, index: u64) -> Vec<u64> {
        let mut extra_us = Vec::new();
        for (inject, &place) in self.options.injects.iter().zip(&self.inject_places) {
            if self.is_delayed(inject, place, index) {
                extra_us.resize(self.topology.places.len(), 0);
                extra_us[place as usize] += inject.extra_us;
            }
        }
        extra_us
    }

    fn is_delayed(&self, inject: &Inject, place: u16, index: u64) -> bool {
        let stream = stream::INJECT << 32 | u64::from(place);
        inject.share >= 1.0 || Random::new(self.options.seed, stream, index).unit() < inject.share
    }

    /// Returns whether trace `index` passes through a place that is delayed in it, so that it differs from the same
    /// trace without delays.
    pub fn is_touched(&self, index: u64) -> bool {
        let extra_us = self.extra_us(index);
        if extra_us.is_empty() {
            return false;
        }
        let mut random = Random::new(self.options.seed, stream::CONDITIONS, index);
        let surroundings = build::Surroundings::new(&self.options, &self.topology, &mut random);
        let mut plan = Plan::default();
        self.plan(index, &surroundings.conditions, &mut plan);
        let mut touched = false;
        plan.visits(|place, _| touched |= extra_us[place as usize] > 0);
        touched
    }

    /// Returns all places of the shape, those in most traces first (ties by name). The shares are those of a fixed
    /// sample, so the list depends on shape and spans only.
    pub fn places(&self) -> Vec<TopologyPlace> {
        let pilot = Generator {
            options: GenerateOptions {
                seed: 0,
                traces: PILOT_TRACES,
                injects: Vec::new(),
                ..self.options.clone()
            },
            topology: self.topology.clone(),
            pages: self.pages,
            weights: self.weights.clone(),
            inject_places: Vec::new(),
            speeds: Speeds::default(),
            pool_waits: Vec::new(),
        };
        let traces = (2_000_000 / self.options.spans.max(1)).clamp(40, PILOT_TRACES);
        let count = self.topology.places.len();
        let mut seen_in = vec![0u64; count];
        let mut last_trace = vec![u64::MAX; count];
        // By place, how often each number of children stood before it.
        let mut subspans = vec![Vec::<(u32, u64)>::new(); count];
        let mut plan = Plan::default();
        for index in 0..traces {
            let mut random = Random::new(0, stream::CONDITIONS, index);
            let surroundings = build::Surroundings::new(&self.options, &self.topology, &mut random);
            pilot.plan(index, &surroundings.conditions, &mut plan);
            plan.visits(|place, children| {
                let place = place as usize;
                if last_trace[place] != index {
                    last_trace[place] = index;
                    seen_in[place] += 1;
                }
                let seen = &mut subspans[place];
                match seen.iter().position(|&(subspan, _)| subspan == children) {
                    Some(i) => seen[i].1 += 1,
                    None if seen.len() < 64 => seen.push((children, 1)),
                    None => {}
                }
            });
        }
        let mut places: Vec<TopologyPlace> = Vec::with_capacity(count);
        for (i, point) in self.topology.places.iter().enumerate() {
            let endpoint = &self.topology.endpoints[point.endpoint as usize];
            let most =
                subspans[i].iter().max_by_key(|&&(subspan, times)| (times, std::cmp::Reverse(subspan)));
            places.push(TopologyPlace {
                name: point.name.clone(),
                service: self.topology.services[endpoint.service as usize],
                operation: endpoint.operation,
                subspan: if point.gap { None } else { Some(most.map_or(0, |&(subspan, _)| subspan)) },
                share: seen_in[i] as f64 / traces as f64,
            });
        }
        places.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.name.cmp(&b.name)));
        places
    }

    /// Returns the options the generator was made with.
    pub fn options(&self) -> &GenerateOptions {
        &self.options
    }
}
