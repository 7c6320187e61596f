//! Tags and logs of a generated span.

use super::build::About;
use super::topology::Role;
use super::{GeneratedProcess, GeneratedSpan};
use pathlight_base::statistics::mix;
use pathlight_trace::SpanKind;
use std::fmt::Write as _;

/// A tag's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum GeneratedTag<'a> {
    /// Jaeger type `string`.
    Text(&'a str),
    /// Jaeger type `int64`.
    Int(i64),
    /// Jaeger type `float64`.
    Float(f64),
    /// Jaeger type `bool`.
    Bool(bool),
}

use GeneratedTag::{Bool, Int, Text};

const CITIES: [&str; 8] =
    ["Zürich", "Sydney", "Boston", "Dublin", "São Paulo", "Kyoto 京都", "Oslo", "Vienna"];
const TIERS: [&str; 4] = ["free", "free", "plus", "business"];

impl GeneratedProcess {
    /// Gives each tag of the process to `each`.
    pub fn visit_tags(&self, mut each: impl FnMut(&str, GeneratedTag<'_>)) {
        each("hostname", Text(&self.host));
        each("ip", Text(&self.ip));
        each("region", Text(self.region));
        each("version", Text(self.version));
        if let Some(zone) = self.zone {
            each("cloud.availability_zone", Text(zone));
        }
        if self.service == "edge-gateway" {
            each("jaeger.version", Text("2.30.0"));
        }
    }
}

impl GeneratedSpan {
    /// Gives each tag of the span to `each`, keys unique. `scratch` is overwritten.
    pub fn visit_tags(&self, scratch: &mut String, mut each: impl FnMut(&str, GeneratedTag<'_>)) {
        let About { role, peer, statement, salt, hit, retry, passed, own_error, .. } = self.about;
        let kind = self.kind.name();
        if !kind.is_empty() {
            each("span.kind", Text(kind));
        }
        let method = self.operation.split(' ').next().unwrap_or("");
        match role {
            Role::HttpServer | Role::HttpClient => {
                each("component", Text("net/http"));
                each("http.method", Text(method));
                scratch.clear();
                // Writing to a String cannot fail.
                let _ = if statement.is_empty() {
                    write!(scratch, "http://shop{}?r={}", route(self.operation), salt % 10_000)
                } else {
                    write!(scratch, "{statement}")
                };
                each("http.url", Text(scratch));
                each("http.status_code", Int(http_status(self.error, own_error, salt)));
                if role == Role::HttpServer {
                    each("http.response_size", Int((mix(salt) % 60_000 + 400) as i64));
                } else {
                    each("peer.service", Text(peer));
                }
            }
            Role::GrpcServer | Role::GrpcClient => {
                let (service, method) = self.operation.split_once('/').unwrap_or(("", self.operation));
                each("rpc.system", Text("grpc"));
                if !service.is_empty() {
                    each("rpc.service", Text(service));
                }
                each("rpc.method", Text(method));
                each("grpc.status_code", Int(if self.error { 13 + (salt % 2) as i64 } else { 0 }));
                if role == Role::GrpcClient {
                    each("peer.service", Text(peer));
                }
                if role == Role::GrpcServer || salt.is_multiple_of(3) {
                    each("thread.id", Int((mix(salt) % 480) as i64));
                }
            }
            Role::Redis => {
                each("db.system", Text("redis"));
                each("db.statement", Text(statement));
                each("peer.service", Text(peer));
                each("peer.port", Int(6379));
                // Lookups without a path of their own for a miss always hit.
                if hit.is_some() || statement.contains("GET") {
                    each("cache.hit", Bool(hit != Some(false)));
                } else {
                    each("db.redis.database_index", Int(0));
                }
            }
            Role::Postgres => {
                each("db.system", Text(if peer == "clickhouse" { "clickhouse" } else { "postgresql" }));
                each("db.statement", Text(statement));
                each("db.rows", Int((mix(salt) % 40) as i64));
                each("peer.service", Text(peer));
                each("peer.port", Int(5432));
            }
            Role::Search => {
                each("db.system", Text("elasticsearch"));
                each("db.statement", Text(statement));
                each("elasticsearch.hits", Int((mix(salt) % 4000) as i64));
                each("peer.service", Text(peer));
                each("peer.port", Int(9200));
            }
            Role::Producer | Role::Consumer => {
                each("messaging.system", Text("kafka"));
                each("messaging.destination", Text(method));
                each("messaging.kafka.partition", Int((salt % 24) as i64));
                each("peer.port", Int(9092));
                scratch.clear();
                let _ = write!(scratch, "{:012x}", mix(salt) >> 16);
                each("messaging.message_id", Text(scratch));
            }
            Role::Internal => {
                each("code.function", Text(self.operation));
                each("thread.id", Int((mix(salt) % 480) as i64));
            }
        }
        if self.parent.is_none() {
            // All of the traces are there.
            each("sampler.type", Text("const"));
            each("sampler.param", Bool(true));
            each("customer.tier", Text(TIERS[(salt >> 9) as usize % TIERS.len()]));
            each("geo.city", Text(CITIES[(salt >> 17) as usize % CITIES.len()]));
        }
        if let Some((key, value)) = passed {
            each(key, Int(value as i64));
        }
        if retry {
            each("retry.attempt", Int(2));
        }
        if self.error {
            each("error", Bool(true));
        }
    }

    /// Gives each log of the span to `each`: its time and its fields.
    pub fn visit_logs(&self, mut each: impl FnMut(u64, &[(&str, GeneratedTag<'_>)])) {
        let About { salt, hit, own_error, role, .. } = self.about;
        let within =
            |x: u64| self.start_us + (u128::from(self.duration_us) * u128::from(x % 1000) / 1000) as u64;
        if own_error && self.error {
            each(
                self.start_us + self.duration_us,
                &[
                    ("event", Text("error")),
                    (
                        "error.kind",
                        Text(if salt.is_multiple_of(2) { "Unavailable" } else { "DeadlineExceeded" }),
                    ),
                    ("message", Text("upstream said: \"try again later\"")),
                    ("stack", Text("handler.go:118\n\tserve\nserver.go:2042\n\tServeHTTP")),
                ],
            );
        } else if hit == Some(false) {
            each(self.start_us + self.duration_us, &[("event", Text("cache miss")), ("level", Text("info"))]);
        } else if salt % 100 < 5 {
            let at = within(salt >> 8);
            match role {
                Role::Postgres => each(
                    at,
                    &[("event", Text("connection acquired")), ("pool.waiting", Int((salt >> 20) as i64 % 5))],
                ),
                _ => each(
                    at,
                    &[
                        ("event", Text("message")),
                        ("message.id", Int((salt >> 20) as i64 % 90)),
                        ("message.uncompressed_size", Int((salt >> 30) as i64 % 9000)),
                    ],
                ),
            }
        }
    }

    /// Returns the warning a collector would have added, if any.
    pub fn warning(&self) -> Option<&'static str> {
        self.about.early.then_some("clock skew adjustment disabled; not applying calculated delta")
    }
}

fn route(operation: &str) -> &str {
    operation.split_once(' ').map_or("/", |(_, path)| path)
}

fn http_status(error: bool, own: bool, salt: u64) -> i64 {
    match (error, own) {
        (false, _) => 200,
        (true, false) => 500,
        (true, true) if salt.is_multiple_of(2) => 503,
        (true, true) => 504,
    }
}

/// Makes a copy of a client span the server span of the same id, as Zipkin's instrumentation shares ids; and the other
/// way round.
pub(super) fn other_side(span: &mut GeneratedSpan) {
    let (role, kind) = match span.kind {
        SpanKind::Server => (Role::GrpcClient, SpanKind::Client),
        _ => (Role::GrpcServer, SpanKind::Server),
    };
    span.about.role = role;
    span.kind = kind;
}
