//! Traces whose every name is a word that stands nowhere else, so that it is found wherever it ends up.

use std::fmt::Write as _;

/// A data set, and the words in it by what they name.
pub struct Words {
    /// Jaeger JSON: `[before, after]`; after, one service is slower.
    pub json: [String; 2],
    /// Services, and a callee that only tags name.
    pub services: Vec<String>,
    /// Operations.
    pub operations: Vec<String>,
    /// Tag keys, their values, hosts.
    pub tags: Vec<String>,
    /// Ids of traces.
    pub ids: Vec<String>,
}

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// Returns a word of fourteen letters beyond those of hexadecimal numbers.
    fn word(&mut self) -> String {
        (0..14).map(|_| char::from(b'g' + self.below(20) as u8)).collect()
    }

    fn words(&mut self, n: usize) -> Vec<String> {
        (0..n).map(|_| self.word()).collect()
    }
}

/// Returns two sets of 160 traces: a root calls three services, of which the last fails now and then, is slow for requests
/// with one value of a tag, and calls something that has no spans.
pub fn words() -> Words {
    let mut random = Random(21);
    let services = random.words(5);
    let operations = random.words(4);
    let keys = random.words(3);
    let values = random.words(4);
    let hosts = random.words(4);
    let mut ids = Vec::new();
    let mut set = |is_after: bool| {
        let mut traces = Vec::new();
        for number in 0..160u64 {
            let id = random.word();
            let start = 1_700_000_000_000_000 + number * 50_000;
            let is_slow = number % 8 == 0;
            let is_failed = number % 16 == 3;
            let last_us = 10_000
                + random.below(2000)
                + if is_slow { 90_000 } else { 0 }
                + if is_after { 30_000 } else { 0 };
            let tag =
                |key: &str, value: &str| format!(r#"{{"key":"{key}","type":"string","value":"{value}"}}"#);
            let mark = tag(&keys[0], &values[usize::from(is_slow)]);
            let mut spans = String::new();
            let mut span = |at: usize, parent: &str, from: u64, duration: u64, tags: &str| {
                let name = format!("{id}q{at}");
                let reference = match parent {
                    "" => String::new(),
                    parent => format!(r#"{{"refType":"CHILD_OF","traceID":"{id}","spanID":"{parent}"}}"#),
                };
                let comma = if spans.is_empty() { "" } else { "," };
                let _ = write!(
                    spans,
                    r#"{comma}{{"traceID":"{id}","spanID":"{name}","operationName":"{}","references":[{reference}],"startTime":{},"duration":{duration},"tags":[{tags}],"logs":[],"processID":"p{at}"}}"#,
                    operations[at],
                    start + from,
                );
                name
            };
            let whole = 20_000 + last_us;
            let root = span(0, "", 0, whole, &format!("{mark},{}", tag("http.route", &values[2])));
            span(1, &root, 1000, 4000, "");
            span(2, &root, 6000, 4000, &tag(&keys[1], &values[3]));
            let kind = tag("span.kind", "client");
            let error = if is_failed { r#",{"key":"error","type":"bool","value":true}"# } else { "" };
            span(3, &root, 11_000, last_us, &format!("{kind},{}{error}", tag("peer.service", &services[4])));
            let processes: Vec<String> = (0..4)
                .map(|at| {
                    let tags = [tag("hostname", &hosts[at]), tag(&keys[2], &hosts[at])].join(",");
                    format!(r#""p{at}":{{"serviceName":"{}","tags":[{tags}]}}"#, services[at])
                })
                .collect();
            traces.push(format!(
                r#"{{"traceID":"{id}","spans":[{spans}],"processes":{{{}}}}}"#,
                processes.join(",")
            ));
            ids.push(id);
        }
        format!(r#"{{"data":[{}]}}"#, traces.join(","))
    };
    let json = [set(false), set(true)];
    Words { json, services, operations, tags: [keys, values, hosts].concat(), ids }
}

impl Words {
    /// Returns the words of these that stand in a text.
    pub fn found<'a>(words: &'a [String], text: &str) -> Vec<&'a str> {
        words.iter().map(String::as_str).filter(|word| text.contains(word)).collect()
    }
}
