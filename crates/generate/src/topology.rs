//! The topology of a system: endpoints, and what each does when it is called, as a flat list of steps.
//!
//! A definition names endpoints by (service, operation); [`Topology::new`] resolves the names once, makes the client
//! endpoints that calls need, and numbers the places where time can be spent.

use pathlight_base::statistics::exp;

/// Role of a span in the system; decides its kind and its tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    HttpServer,
    GrpcServer,
    HttpClient,
    GrpcClient,
    Redis,
    Postgres,
    Search,
    Producer,
    Consumer,
    Internal,
}

/// Consequence of a failed call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// The caller fails with it; it fails only when the caller was chosen to fail.
    Required,
    /// It fails in so many of 1,000 calls and the caller goes on without it.
    Optional(u32),
    /// It fails in so many of 1,000 calls and is tried a second time, with success.
    Retried(u32),
}

/// One step of an endpoint, as a definition writes it. Steps follow one another unless a `Fork` precedes them.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Own work of so many microseconds (median).
    Own(u32),
    /// A call of another service that the caller waits for.
    Call(&'static str, &'static str, Fate),
    /// A query of a store, seen from the calling service only.
    Leaf(Leaf),
    /// A cache lookup that finds nothing in so many of 1,000 cases.
    Cache(Leaf, u32),
    /// A cache lookup that finds nothing in exactly those traces that were chosen for the slow path.
    SlowCache(Leaf),
    /// Two queries; the second asks for a value that the first returned.
    Passes(Leaf, Leaf),
    /// A query, and another one for each row that it found.
    Rows(Leaf, Leaf),
    /// A query, so many times; all with the same parameter, that of the trace, or each with another one.
    Reads(Leaf, u16, Parameter),
    /// Leaves out the next so many steps after a hit of the cache asked last.
    UnlessHit(u16),
    /// Leaves out the next so many steps but in so many of 1,000 cases.
    Sometimes(u32, u16),
    /// The next so many steps (calls and leaves) run side by side; the work goes on when all have ended.
    Fork(u16),
    /// A message: a short producer span, then, on its own, the consumer's endpoint.
    Publish(&'static str, &'static str, &'static str),
    /// Work on the side, referenced as `FOLLOWS_FROM`, that nobody waits for.
    Spawn(&'static str, &'static str),
    /// The call that is repeated to bring a request to the size asked for, up to [`PAGE_WAVE`] at a time.
    Pages(&'static str, &'static str),
}

/// Number of repeated pages of one request that run side by side.
pub(super) const PAGE_WAVE: u64 = 4;

/// What a query is asked with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parameter {
    /// The value that all such queries of a trace have.
    Same,
    /// Another one each time.
    Other,
    /// One that its span does not say.
    Unknown,
}

/// Least and greatest number of rows that a query for more finds, and their mean.
pub(super) const ROWS: (u64, u64) = (1, 9);
const MEAN_ROWS: f64 = 5.0;

/// A query of a store.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leaf {
    pub operation: &'static str,
    pub role: Role,
    pub peer: &'static str,
    pub statement: &'static str,
    pub median_us: u32,
}

/// An endpoint as a definition writes it.
pub(super) struct Definition {
    pub service: &'static str,
    pub operation: &'static str,
    pub role: Role,
    pub steps: Vec<Step>,
}

/// A request type: its root endpoint and how common it is.
pub(super) struct RequestDefinition {
    pub service: &'static str,
    pub operation: &'static str,
    pub weight: u32,
    /// Share of requests in which it fails, in thousandths.
    pub fail_per_mille: u32,
    /// Share of requests in which one page takes the slow path, in thousandths.
    pub slow_per_mille: u32,
}

/// "No place".
pub(super) const NO_PLACE: u16 = u16::MAX;

/// A resolved step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    Own { place: u16, median_us: u32 },
    Call { client: u16, fate: Fate },
    Leaf { endpoint: u16 },
    Cache { endpoint: u16, miss_per_mille: u32 },
    SlowCache { endpoint: u16 },
    Passes { first: u16, second: u16 },
    Rows { first: u16, second: u16 },
    Reads { endpoint: u16, times: u16, parameter: Parameter },
    UnlessHit { skip: u16 },
    Sometimes { per_mille: u32, skip: u16 },
    Fork { count: u16 },
    Publish { producer: u16 },
    Spawn { endpoint: u16 },
    Pages { client: u16 },
}

/// Work of a span of an endpoint.
#[derive(Clone, Debug)]
pub(super) enum Body {
    /// The steps of a server, consumer or internal span.
    Steps(Vec<Op>),
    /// The network around the span of the called endpoint.
    Remote { server: u16, place: u16 },
    /// A leaf: all of it is own time.
    Leaf { place: u16, median_us: u32, sigma: f64 },
    /// A leaf whose message the endpoint works on later.
    Message { place: u16, consumer: u16 },
}

/// A (service, operation) of the system.
#[derive(Clone, Debug)]
pub(super) struct Endpoint {
    pub service: u16,
    pub operation: &'static str,
    pub role: Role,
    /// The service or store on the other side of a client span; empty otherwise.
    pub peer: &'static str,
    pub statement: &'static str,
    pub body: Body,
}

/// A point of the topology where time can be spent.
#[derive(Clone, Debug)]
pub(super) struct PlacePoint {
    pub name: String,
    pub endpoint: u16,
    pub gap: bool,
}

/// A request type, resolved.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub endpoint: u16,
    pub weight: f64,
    pub fail_per_mille: u32,
    pub slow_per_mille: u32,
    /// Mean spans of a trace with one page, and of each page.
    pub base_spans: f64,
    pub page_spans: f64,
}

/// A system with its places.
#[derive(Clone, Debug, Default)]
pub(super) struct Topology {
    pub services: Vec<&'static str>,
    pub endpoints: Vec<Endpoint>,
    pub places: Vec<PlacePoint>,
    pub requests: Vec<Request>,
}

impl Topology {
    /// Resolves definitions. A name that no definition has is left out of its caller; a test of each system checks
    /// that there is none.
    pub fn new(definitions: &[Definition], requests: &[RequestDefinition]) -> Topology {
        let mut topology = Topology::default();
        for definition in definitions {
            let service = topology.service(definition.service);
            topology.endpoints.push(Endpoint {
                service,
                operation: definition.operation,
                role: definition.role,
                peer: "",
                statement: "",
                body: Body::Steps(Vec::new()),
            });
        }
        for (endpoint, definition) in definitions.iter().enumerate() {
            let ops = topology.resolve(endpoint as u16, &definition.steps);
            topology.endpoints[endpoint].body = Body::Steps(ops);
        }
        let sizes = topology.mean_sizes(definitions.iter().map(|d| d.steps.len()).max().unwrap_or(0));
        for request in requests {
            let Some(endpoint) = topology.find(request.service, request.operation) else { continue };
            let (base_spans, page_spans) = sizes[endpoint as usize];
            topology.requests.push(Request {
                endpoint,
                weight: f64::from(request.weight),
                fail_per_mille: request.fail_per_mille,
                slow_per_mille: request.slow_per_mille,
                base_spans,
                page_spans,
            });
        }
        topology
    }

    pub fn service(&mut self, name: &'static str) -> u16 {
        if let Some(found) = self.services.iter().position(|&s| s == name) {
            return found as u16;
        }
        self.services.push(name);
        self.services.len() as u16 - 1
    }

    fn find(&self, service: &str, operation: &str) -> Option<u16> {
        let found = self
            .endpoints
            .iter()
            .position(|e| self.services[e.service as usize] == service && e.operation == operation);
        found.map(|i| i as u16)
    }

    /// Returns the number of a new place of an endpoint.
    pub fn place(&mut self, endpoint: u16, name: String, gap: bool) -> u16 {
        self.places.push(PlacePoint { name, endpoint, gap });
        self.places.len() as u16 - 1
    }

    /// Returns `service:operation` of an endpoint.
    pub fn name(&self, endpoint: u16) -> String {
        let e = &self.endpoints[endpoint as usize];
        format!("{}:{}", self.services[e.service as usize], e.operation)
    }

    fn resolve(&mut self, endpoint: u16, steps: &[Step]) -> Vec<Op> {
        let service = self.endpoints[endpoint as usize].service;
        let name = self.name(endpoint);
        let mut own = 0;
        let mut ops = Vec::with_capacity(steps.len());
        for step in steps {
            let op = match *step {
                Step::Own(median_us) => {
                    let place = self.place(endpoint, format!("{name}:{own}"), false);
                    own += 1;
                    Some(Op::Own { place, median_us })
                }
                Step::Call(to, operation, fate) => {
                    self.client(service, to, operation).map(|client| Op::Call { client, fate })
                }
                Step::Leaf(leaf) => Some(Op::Leaf { endpoint: self.leaf(service, leaf) }),
                Step::Cache(leaf, miss_per_mille) => {
                    Some(Op::Cache { endpoint: self.leaf(service, leaf), miss_per_mille })
                }
                Step::Passes(first, second) => {
                    let [first, second] = [first, second].map(|leaf| self.leaf(service, leaf));
                    Some(Op::Passes { first, second })
                }
                Step::Rows(first, second) => {
                    let [first, second] = [first, second].map(|leaf| self.leaf(service, leaf));
                    Some(Op::Rows { first, second })
                }
                Step::Reads(leaf, times, parameter) => {
                    Some(Op::Reads { endpoint: self.leaf(service, leaf), times, parameter })
                }
                Step::SlowCache(leaf) => Some(Op::SlowCache { endpoint: self.leaf(service, leaf) }),
                Step::UnlessHit(skip) => Some(Op::UnlessHit { skip }),
                Step::Sometimes(per_mille, skip) => Some(Op::Sometimes { per_mille, skip }),
                Step::Fork(count) => Some(Op::Fork { count }),
                Step::Publish(operation, to, consumer) => {
                    self.producer(service, operation, to, consumer).map(|producer| Op::Publish { producer })
                }
                Step::Spawn(to, operation) => self.find(to, operation).map(|endpoint| Op::Spawn { endpoint }),
                Step::Pages(to, operation) => {
                    self.client(service, to, operation).map(|client| Op::Pages { client })
                }
            };
            ops.extend(op);
        }
        ops
    }

    /// Returns the endpoint by which `service` calls another, new if need be.
    fn client(&mut self, service: u16, to: &'static str, operation: &'static str) -> Option<u16> {
        let server = self.find(to, operation)?;
        if let Some(known) = self.endpoints.iter().position(|e| {
            e.service == service && matches!(e.body, Body::Remote { server: s, .. } if s == server)
        }) {
            return Some(known as u16);
        }
        let role = match self.endpoints[server as usize].role {
            Role::HttpServer => Role::HttpClient,
            _ => Role::GrpcClient,
        };
        Some(self.add_client(service, operation, role, to, server))
    }

    /// Returns a new client endpoint of `service` that calls `server`, with its gap as a place.
    pub fn add_client(
        &mut self,
        service: u16,
        operation: &'static str,
        role: Role,
        peer: &'static str,
        server: u16,
    ) -> u16 {
        let client = self.endpoints.len() as u16;
        let place_name = format!("{}->{peer}:{operation} gap", self.services[service as usize]);
        let place = self.place(client, place_name, true);
        let body = Body::Remote { server, place };
        self.endpoints.push(Endpoint { service, operation, role, peer, statement: "", body });
        client
    }

    fn leaf(&mut self, service: u16, leaf: Leaf) -> u16 {
        let Leaf { operation, role, peer, statement, median_us } = leaf;
        let known = self.endpoints.iter().position(|e| e.service == service && e.operation == operation);
        if let Some(known) = known {
            return known as u16;
        }
        let endpoint = self.endpoints.len() as u16;
        let sigma = match role {
            Role::HttpClient => 0.12,
            Role::Redis => 0.25,
            _ => 0.3,
        };
        let name = format!("{}:{operation}:0", self.services[service as usize]);
        let place = self.place(endpoint, name, false);
        let body = Body::Leaf { place, median_us, sigma };
        self.endpoints.push(Endpoint { service, operation, role, peer, statement, body });
        endpoint
    }

    fn producer(
        &mut self,
        service: u16,
        operation: &'static str,
        to: &'static str,
        consumer: &'static str,
    ) -> Option<u16> {
        let consumer = self.find(to, consumer)?;
        let leaf = Leaf { operation, role: Role::Producer, peer: "kafka", statement: "", median_us: 450 };
        let producer = self.leaf(service, leaf);
        if let Body::Leaf { place, .. } = self.endpoints[producer as usize].body {
            self.endpoints[producer as usize].body = Body::Message { place, consumer };
        }
        Some(producer)
    }

    /// Returns, for every endpoint, the mean number of spans of a call of it without pages, and of one page of it.
    fn mean_sizes(&self, longest: usize) -> Vec<(f64, f64)> {
        let mut sizes = vec![(1.0, 0.0); self.endpoints.len()];
        // Callees may come later in the list, so sizes become final one level of calls at a time.
        for _ in 0..16 {
            let before = sizes.clone();
            for (endpoint, size) in self.endpoints.iter().zip(sizes.iter_mut()) {
                *size = match &endpoint.body {
                    Body::Leaf { .. } => (1.0, 0.0),
                    Body::Remote { server, .. } | Body::Message { consumer: server, .. } => {
                        (1.0 + before[*server as usize].0, 0.0)
                    }
                    Body::Steps(ops) => self.mean_size(ops, &before, longest),
                };
            }
        }
        sizes
    }

    fn mean_size(&self, ops: &[Op], sizes: &[(f64, f64)], longest: usize) -> (f64, f64) {
        let (mut base, mut page, mut miss) = (1.0, 0.0, 0.0);
        // How likely each step is to be reached.
        let mut likely = vec![1.0; ops.len().max(longest) + 1];
        for (i, op) in ops.iter().enumerate() {
            let size = |endpoint: u16| sizes[endpoint as usize].0 * likely[i];
            match *op {
                Op::Own { .. } | Op::Fork { .. } => {}
                Op::Call { client, fate } => {
                    let again = if let Fate::Retried(fails) = fate { f64::from(fails) / 1000.0 } else { 0.0 };
                    base += size(client) * (1.0 + again);
                }
                Op::Leaf { endpoint } | Op::Publish { producer: endpoint } | Op::Spawn { endpoint } => {
                    base += size(endpoint);
                }
                Op::Cache { endpoint, miss_per_mille } => {
                    base += size(endpoint);
                    miss = f64::from(miss_per_mille) / 1000.0;
                }
                Op::Reads { endpoint, times, .. } => base += f64::from(times) * size(endpoint),
                Op::Passes { first, second } => base += size(first) + size(second),
                Op::Rows { first, second } => base += size(first) + MEAN_ROWS * size(second),
                Op::SlowCache { endpoint } => {
                    base += size(endpoint);
                    miss = 0.0;
                }
                Op::UnlessHit { skip } => {
                    likely.iter_mut().skip(i + 1).take(skip as usize).for_each(|p| *p *= miss);
                }
                Op::Sometimes { per_mille, skip } => {
                    let p = f64::from(per_mille) / 1000.0;
                    likely.iter_mut().skip(i + 1).take(skip as usize).for_each(|q| *q *= p);
                }
                Op::Pages { client } => page += size(client),
            }
        }
        (base, page)
    }

    /// Returns the mean spans of a trace with `pages` pages, request types weighted by `weights`.
    fn mean_spans(&self, weights: &[f64], pages: f64) -> f64 {
        let total: f64 = weights.iter().sum();
        let spans = |r: &Request| r.base_spans + r.page_spans * pages;
        self.requests.iter().zip(weights).map(|(r, w)| spans(r) * w).sum::<f64>() / total
    }

    /// Returns how many pages a request has and how the request types are weighted, so that a trace has `spans` spans
    /// in the mean: pages first, then types are favoured by size.
    pub fn fit(&self, spans: f64) -> (u64, Vec<f64>) {
        let natural: Vec<f64> = self.requests.iter().map(|r| r.weight).collect();
        let (one, two) = (self.mean_spans(&natural, 1.0), self.mean_spans(&natural, 2.0));
        let pages = ((spans - one) / (two - one).max(1.0) + 1.5).floor().max(1.0);
        let size = |r: &Request| r.base_spans + r.page_spans * pages;
        let largest = self.requests.iter().map(size).fold(1.0, f64::max);
        let tilted = |by: f64| -> Vec<f64> {
            self.requests.iter().map(|r| r.weight * exp(by * (size(r) / largest - 1.0))).collect()
        };
        let (mut low, mut high) = (-300.0, 300.0);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.mean_spans(&tilted(middle), pages) < spans {
                low = middle;
            } else {
                high = middle;
            }
        }
        (pages as u64, tilted(low))
    }
}
