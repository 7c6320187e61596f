//! The system of shape `serial`: forty endpoints that each make two calls, or more, one after the other. Half of them need not:
//! neither call needs what the other returns. In the others the second needs the first, and the traces show it in one of four
//! ways. Four more read rows, one of them the same row again itself and one below two of its calls.

use super::topology::{Definition, Fate, Leaf, Parameter, RequestDefinition, Role, Step, Topology};
use super::{PairNeed, SerialPair};

const SERVICES: [&str; 40] = [
    "unit-00", "unit-01", "unit-02", "unit-03", "unit-04", "unit-05", "unit-06", "unit-07", "unit-08",
    "unit-09", "unit-10", "unit-11", "unit-12", "unit-13", "unit-14", "unit-15", "unit-16", "unit-17",
    "unit-18", "unit-19", "unit-20", "unit-21", "unit-22", "unit-23", "unit-24", "unit-25", "unit-26",
    "unit-27", "unit-28", "unit-29", "unit-30", "unit-31", "unit-32", "unit-33", "unit-34", "unit-35",
    "unit-36", "unit-37", "unit-38", "unit-39",
];
const ROOT: &str = "GET /work";
const FIRST: &str = "SELECT first";
const SECOND: &str = "SELECT second";
const LOOKUP: &str = "GET cached";
/// Services that read the same row again, other rows, rows that no span names, and the same row below two calls.
const READERS: [&str; 4] = ["same-row", "other-rows", "unknown-rows", "row-below"];
const STORE: &str = "row-store";
const CALLED: [&str; 2] = ["GET /price", "GET /stock"];
const READ_ROW: &str = "SELECT row";
const BACKEND: &str = "backend";
const REMOTE: &str = "Backend/Read";

/// Share of the requests that fail, in thousandths.
const FAIL_PER_MILLE: u32 = 5;

fn read(operation: &'static str, median_us: u32) -> Leaf {
    let statement = "SELECT * FROM rows WHERE id = ?";
    Leaf { operation, role: Role::Postgres, peer: "postgres", statement, median_us }
}

/// Returns whether the second call of the endpoint with this number needs the first, and how that shows.
fn need(number: usize) -> PairNeed {
    match number % 10 {
        0..5 => PairNeed::None,
        5 | 6 => PairNeed::Value,
        7 => PairNeed::Lookup,
        8 => PairNeed::Rows,
        _ => PairNeed::SideBySideAtTimes,
    }
}

/// Returns the names of both calls of the endpoint with this number.
fn names(number: usize) -> [&'static str; 2] {
    match need(number) {
        PairNeed::Lookup => [LOOKUP, SECOND],
        // A call of another service as seen from here.
        PairNeed::None if number % 10 == 1 => [FIRST, REMOTE],
        _ => [FIRST, SECOND],
    }
}

fn steps(number: usize, is_side_by_side: bool) -> Vec<Step> {
    // From 3 to 40 ms.
    let us = |factor: usize| 3_000 + (37_000 * ((number * factor) % 23) / 23) as u32;
    let (first, second) = (read(FIRST, us(7)), read(SECOND, us(11)));
    // Mostly little own work before the second call, at times much.
    let gap = Step::Own(if number.is_multiple_of(7) { 6_000 } else { 250 });
    let calls = match need(number) {
        PairNeed::None => {
            let second = match names(number)[1] {
                REMOTE => Step::Call(BACKEND, REMOTE, Fate::Required),
                _ => Step::Leaf(second),
            };
            match is_side_by_side {
                false => vec![Step::Leaf(first), gap, second],
                true => vec![gap, Step::Fork(2), Step::Leaf(first), second],
            }
        }
        PairNeed::Value => vec![Step::Passes(first, second)],
        PairNeed::Lookup => {
            let lookup = Leaf { role: Role::Redis, peer: "redis", statement: "GET ?", ..read(LOOKUP, us(5)) };
            vec![Step::Cache(lookup, 300), Step::UnlessHit(2), gap, Step::Leaf(second)]
        }
        PairNeed::Rows => vec![Step::Rows(first, read(SECOND, us(11) / 4))],
        PairNeed::SideBySideAtTimes => {
            vec![Step::Sometimes(100, 1), Step::Fork(2), Step::Leaf(first), Step::Leaf(second)]
        }
    };
    [&[Step::Own(900)], calls.as_slice(), &[Step::Own(400)]].concat()
}

/// Returns the system; calls that do not need each other run side by side in it, or one after the other.
pub(super) fn topology(is_side_by_side: bool) -> Topology {
    let server = |service, operation, steps| Definition { service, operation, role: Role::HttpServer, steps };
    let roots = SERVICES
        .iter()
        .enumerate()
        .map(|(number, service)| server(service, ROOT, steps(number, is_side_by_side)));
    let backend = Definition { role: Role::GrpcServer, ..server(BACKEND, REMOTE, vec![Step::Own(9_000)]) };
    let reads = |times, parameter| vec![Step::Reads(read(READ_ROW, 30_000), times, parameter)];
    let of_reader = [
        reads(3, Parameter::Same),
        reads(3, Parameter::Other),
        reads(3, Parameter::Unknown),
        CALLED.map(|operation| Step::Call(STORE, operation, Fate::Required)).to_vec(),
    ];
    let readers = READERS.iter().zip(of_reader).map(|(service, steps)| server(service, ROOT, steps));
    let called = CALLED.map(|operation| server(STORE, operation, reads(1, Parameter::Same)));
    let definitions: Vec<Definition> = roots.chain([backend]).chain(readers).chain(called).collect();
    let request = |service| RequestDefinition {
        service,
        operation: ROOT,
        weight: 1,
        fail_per_mille: FAIL_PER_MILLE,
        slow_per_mille: 0,
    };
    let requests: Vec<RequestDefinition> = SERVICES.into_iter().chain(READERS).map(request).collect();
    Topology::new(&definitions, &requests)
}

/// Returns the pairs of calls of every endpoint.
pub(super) fn pairs() -> Vec<SerialPair> {
    let pair = |(number, service)| {
        let [first, second] = names(number);
        SerialPair { service, operation: ROOT, first, second, need: need(number) }
    };
    SERVICES.into_iter().enumerate().map(pair).collect()
}
