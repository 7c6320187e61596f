//! Properties of generated traces that other tests rely on.

use pathlight::generate::{
    Defects, GenerateOptions, GeneratedTrace, Generator, Inject, Shape, trace_json, write_jaeger,
};
use std::collections::{HashMap, HashSet};

const SHAPES: [Shape; 4] = [Shape::Wide, Shape::Deep, Shape::Mixed, Shape::Serial];

fn bytes(options: &GenerateOptions) -> Vec<u8> {
    let mut out = Vec::new();
    let summary = write_jaeger(options, &mut out).unwrap();
    assert_eq!(summary.bytes, out.len() as u64);
    assert_eq!(summary.traces, options.traces);
    out
}

fn all(options: &GenerateOptions) -> Vec<GeneratedTrace> {
    let generator = Generator::new(options).unwrap();
    (0..options.traces).map(|i| generator.trace(i)).collect()
}

fn inject(place: &str, extra_us: u64, share: f64) -> Vec<Inject> {
    vec![Inject { place: place.to_owned(), extra_us, share }]
}

/// Returns the value at p of 100, by rank.
fn percentile(sorted: &[u64], p: usize) -> u64 {
    sorted[(sorted.len() - 1) * p / 100]
}

#[test]
fn same_seed_same_bytes_and_another_seed_other_bytes() {
    for shape in SHAPES {
        let options = GenerateOptions { shape, traces: 20, ..GenerateOptions::default() };
        let first = bytes(&options);
        assert_eq!(first, bytes(&options));
        assert_ne!(first, bytes(&GenerateOptions { seed: 2, ..options.clone() }));
        // The stream is the traces one by one.
        let second: serde_json::Value = serde_json::from_slice(&first).unwrap();
        let alone = trace_json(&Generator::new(&options).unwrap().trace(7));
        assert_eq!(second["data"][7], serde_json::from_str::<serde_json::Value>(&alone).unwrap());
    }
}

/// The same bytes on every machine: a change here changes every set that was ever generated.
#[test]
fn bytes_are_those_of_earlier_versions() {
    let sums = SHAPES.map(|shape| {
        let options = GenerateOptions { shape, traces: 5, seed: 7, ..GenerateOptions::default() };
        bytes(&options)
            .iter()
            .fold(0xcbf2_9ce4_8422_2325u64, |h, &b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
    });
    assert_eq!(
        sums,
        [0x325f_c269_9a1c_cf0c, 0x1877_5327_9b2b_84fd, 0x59ce_b80d_c3a0_81b4, 0x1c54_b301_3875_7a5d],
        "{sums:x?}"
    );
}

#[test]
fn the_file_is_an_answer_of_the_jaeger_api_whose_references_resolve() {
    for shape in SHAPES {
        let options = GenerateOptions { shape, traces: 60, ..GenerateOptions::default() };
        let json: serde_json::Value = serde_json::from_slice(&bytes(&options)).unwrap();
        let traces = json["data"].as_array().unwrap();
        assert_eq!(traces.len(), 60);
        for trace in traces {
            let spans = trace["spans"].as_array().unwrap();
            let ids: HashSet<&str> = spans.iter().map(|s| s["spanID"].as_str().unwrap()).collect();
            assert_eq!(ids.len(), spans.len(), "span ids are unique");
            let mut roots = 0;
            for span in spans {
                assert_eq!(span["traceID"], trace["traceID"]);
                assert!(span["startTime"].as_u64().unwrap() > 1_700_000_000_000_000);
                assert!(span["duration"].is_u64());
                assert!(trace["processes"][span["processID"].as_str().unwrap()]["serviceName"].is_string());
                let references = span["references"].as_array().unwrap();
                roots += usize::from(references.is_empty());
                for reference in references {
                    assert_eq!(reference["traceID"], trace["traceID"]);
                    assert!(ids.contains(reference["spanID"].as_str().unwrap()));
                }
                let tags = span["tags"].as_array().unwrap();
                let keys: HashSet<&str> = tags.iter().map(|t| t["key"].as_str().unwrap()).collect();
                assert_eq!(keys.len(), tags.len(), "tag keys are unique");
                for tag in tags {
                    let value = &tag["value"];
                    let fits = match tag["type"].as_str().unwrap() {
                        "string" => value.is_string(),
                        "bool" => value.is_boolean(),
                        "int64" => value.is_i64(),
                        "float64" => value.is_f64(),
                        _ => false,
                    };
                    assert!(fits, "{tag}");
                }
            }
            assert_eq!(roots, 1);
        }
    }
}

#[test]
fn a_span_takes_about_as_many_bytes_as_a_real_one() {
    for (shape, spans) in [(Shape::Mixed, 50), (Shape::Mixed, 1000), (Shape::Wide, 1000), (Shape::Deep, 1000)]
    {
        let options = GenerateOptions { shape, spans, traces: 40_000 / spans, ..GenerateOptions::default() };
        let mut out = Vec::new();
        let summary = write_jaeger(&options, &mut out).unwrap();
        let each = summary.bytes as f64 / summary.spans as f64;
        assert!((600.0..=750.0).contains(&each), "{shape:?} {spans}: {each} bytes a span");
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let tags: usize = json["data"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|t| t["spans"].as_array().unwrap())
            .map(|s| s["tags"].as_array().unwrap().len())
            .sum();
        let each = tags as f64 / summary.spans as f64;
        assert!((6.0..=10.0).contains(&each), "{shape:?} {spans}: {each} tags a span");
    }
}

#[test]
fn traces_have_the_size_asked_for() {
    for spans in [1u64, 3, 10, 30, 50, 80, 111, 200, 1000, 20_000] {
        let traces = (60_000 / spans).clamp(60, 1500);
        let options = GenerateOptions { spans, traces, ..GenerateOptions::default() };
        let generator = Generator::new(&options).unwrap();
        let total: usize = (0..traces).map(|i| generator.trace(i).spans.len()).sum();
        let mean = total as f64 / traces as f64;
        assert!((mean / spans as f64 - 1.0).abs() < 0.2, "{spans}: {mean}");
    }
    for shape in [Shape::Wide, Shape::Deep] {
        for spans in [1, 2, 3, 17, 1000] {
            let trace = Generator::new(&GenerateOptions { shape, spans, ..GenerateOptions::default() })
                .unwrap()
                .trace(0);
            assert_eq!(trace.spans.len() as u64, spans);
        }
    }
}

#[test]
fn wide_is_one_parent_and_deep_is_one_chain() {
    let options =
        GenerateOptions { shape: Shape::Wide, spans: 100_000, traces: 1, ..GenerateOptions::default() };
    let wide = Generator::new(&options).unwrap().trace(0);
    let root = wide.spans[0].span_id;
    assert!(wide.spans[1..].iter().all(|s| s.parent.is_some_and(|p| p.span_id == root)));
    let deep = Generator::new(&GenerateOptions { shape: Shape::Deep, ..options }).unwrap().trace(0);
    for pair in deep.spans.windows(2) {
        assert_eq!(pair[1].parent.map(|p| p.span_id), Some(pair[0].span_id));
    }
}

#[test]
fn a_delay_moves_what_waits_for_it_and_nothing_else() {
    for shape in SHAPES {
        let base = GenerateOptions { shape, traces: 150, ..GenerateOptions::default() };
        let before = all(&base);
        for place in Generator::new(&base).unwrap().places().into_iter().take(20) {
            let delayed = GenerateOptions { injects: inject(&place.name, 7777, 0.5), ..base.clone() };
            let generator = Generator::new(&delayed).unwrap();
            let mut touched = 0;
            for (i, old) in before.iter().enumerate() {
                let new = generator.trace(i as u64);
                if !generator.is_touched(i as u64) {
                    assert_eq!(&new, old);
                    continue;
                }
                touched += 1;
                let mut grown = 0;
                assert_eq!(new.spans.len(), old.spans.len());
                assert_eq!(new.processes, old.processes);
                for (a, b) in old.spans.iter().zip(&new.spans) {
                    assert_eq!(
                        (a.span_id, a.parent, a.error, a.kind),
                        (b.span_id, b.parent, b.error, b.kind)
                    );
                    assert!(b.start_us >= a.start_us && b.duration_us >= a.duration_us);
                    grown += u64::from(b.duration_us > a.duration_us);
                }
                assert_eq!(new.spans[0].start_us, old.spans[0].start_us);
                assert!(grown > 0);
            }
            let share = touched as f64 / before.len() as f64;
            assert!((share - place.share * 0.5).abs() < 0.17, "{}: {share} of {}", place.name, place.share);
        }
    }
}

#[test]
fn a_delay_on_the_path_lengthens_the_request_by_as_much() {
    let base = GenerateOptions { traces: 200, ..GenerateOptions::default() };
    let before = all(&base);
    for place in
        ["auth:Auth/ValidateToken:1", "edge-gateway->auth:Auth/ValidateToken gap", "auth:redis GET session:0"]
    {
        let generator =
            Generator::new(&GenerateOptions { injects: inject(place, 123_456, 1.0), ..base.clone() })
                .unwrap();
        let mut touched = 0;
        for (i, old) in before.iter().enumerate() {
            let grown = generator.trace(i as u64).spans[0].duration_us - old.spans[0].duration_us;
            // The token is checked beside the rate limit, which is shorter by far.
            assert_eq!(grown, if generator.is_touched(i as u64) { 123_456 } else { 0 }, "{place}");
            touched += usize::from(grown > 0);
        }
        assert!(touched > 180, "{place}: {touched}");
    }
}

#[test]
fn a_place_says_where_in_its_span_the_delay_falls() {
    let base = GenerateOptions { traces: 300, ..GenerateOptions::default() };
    let before = all(&base);
    for place in Generator::new(&base).unwrap().places().into_iter().take(25) {
        let generator =
            Generator::new(&GenerateOptions { injects: inject(&place.name, 1_000_000, 1.0), ..base.clone() })
                .unwrap();
        let (mut right, mut visits) = (0, 0);
        for (i, old) in before.iter().enumerate() {
            let new = generator.trace(i as u64);
            for (at, span) in new.spans.iter().enumerate() {
                let service = new.processes[span.process.unwrap() as usize].service;
                let own = (service, span.operation) == (place.service, place.operation);
                if own && span.duration_us > old.spans[at].duration_us {
                    let longest = |trace: &GeneratedTrace| {
                        let parts = subspans(trace, at);
                        (0..parts.len()).max_by_key(|&i| parts[i]).unwrap()
                    };
                    visits += 1;
                    right += usize::from(longest(&new) == place.subspan.unwrap_or(0) as usize);
                }
            }
        }
        assert!(visits > 100 && right * 100 >= visits * 95, "{}: {right} of {visits}", place.name);
    }
}

/// Returns the lengths of the subspans of a span: from each event to the next child start, and to the end.
fn subspans(trace: &GeneratedTrace, at: usize) -> Vec<u64> {
    let span = &trace.spans[at];
    let mut children: Vec<(u64, u64)> = trace
        .spans
        .iter()
        .filter(|s| s.parent.is_some_and(|p| p.span_id == span.span_id && !p.follows_from))
        .filter(|s| s.kind != pathlight::trace::SpanKind::Consumer)
        .map(|s| (s.start_us, s.start_us + s.duration_us))
        .collect();
    children.sort_unstable();
    let mut parts = Vec::new();
    for i in 0..=children.len() {
        let until = children.get(i).map_or(span.start_us + span.duration_us, |c| c.0);
        let begun = children[..i].iter().map(|c| c.0);
        let ended = children[..i].iter().map(|c| c.1).filter(|&end| end <= until);
        let since = begun.chain(ended).fold(span.start_us, u64::max);
        parts.push(until.saturating_sub(since));
    }
    parts
}

#[test]
fn the_slow_tail_is_in_product_pages_and_comes_from_the_cache_miss() {
    for spans in [6, 20, 50, 200] {
        let options = GenerateOptions { spans, traces: 4000, ..GenerateOptions::default() };
        let mut by_type: HashMap<&str, Vec<(u64, bool)>> = HashMap::new();
        for trace in all(&options) {
            let missed = trace.spans.iter().any(|s| s.operation == "SELECT product_details");
            by_type.entry(trace.spans[0].operation).or_default().push((trace.spans[0].duration_us, missed));
        }
        let products = by_type["GET /product/{id}"].len();
        assert!(products > 600, "{spans}: {products} product pages");
        for (operation, requests) in &mut by_type {
            requests.sort_unstable();
            let latencies: Vec<u64> = requests.iter().map(|r| r.0).collect();
            let missed = requests.iter().filter(|r| r.1).count();
            let ratio = percentile(&latencies, 99) as f64 / percentile(&latencies, 50) as f64;
            if *operation == "GET /product/{id}" {
                let share = missed as f64 / requests.len() as f64;
                assert!((0.015..0.035).contains(&share), "{spans}: {share}");
                assert!(ratio > 2.5, "{spans}: {ratio}");
                let slowest = &requests[requests.len() - requests.len() / 100..];
                assert!(slowest.iter().all(|r| r.1), "the slowest hundredth are misses");
            } else {
                assert_eq!(missed, 0, "{operation}");
                assert!(ratio < 2.5, "{spans} {operation}: {ratio}");
            }
        }
        assert!(by_type.len() >= 8, "{spans}: {} request types", by_type.len());
    }
}

#[test]
fn mixed_traces_hold_what_real_ones_do() {
    let (mut errors, mut follows, mut retries, mut early, mut spans) = (0, 0, 0, 0, 0);
    let mut regions = HashSet::new();
    for trace in all(&GenerateOptions { traces: 3000, ..GenerateOptions::default() }) {
        let starts: HashMap<u64, (u64, bool)> =
            trace.spans.iter().map(|s| (s.span_id, (s.start_us, s.error))).collect();
        regions.extend(trace.processes.iter().map(|p| p.region));
        for span in &trace.spans {
            spans += 1;
            errors += usize::from(span.error);
            follows += usize::from(span.parent.is_some_and(|p| p.follows_from));
            let mut scratch = String::new();
            span.visit_tags(&mut scratch, |key, _| retries += usize::from(key == "retry.attempt"));
            if let Some(parent) = span.parent {
                early += usize::from(span.start_us < starts[&parent.span_id].0);
            }
        }
    }
    assert!(errors * 1000 > spans && errors * 50 < spans, "{errors} errors of {spans} spans");
    assert!(follows > 50, "{follows}");
    assert!(retries > 2, "{retries}");
    assert!(early > 0 && early * 100 < spans, "{early} spans before their parents of {spans}");
    assert_eq!(regions.len(), 3);
}

#[test]
fn each_defect_can_be_seen() {
    let find = |defects: Defects, seen: &dyn Fn(&GeneratedTrace) -> bool| {
        let options = GenerateOptions { traces: 40, defects, ..GenerateOptions::default() };
        let found = all(&options).iter().filter(|t| seen(t)).count();
        let clean = all(&GenerateOptions { defects: Defects::default(), ..options })
            .iter()
            .filter(|t| seen(t))
            .count();
        assert!(found >= 25 && clean == 0, "{defects:?}: {found} of 40, {clean} without");
    };
    let ids = |t: &GeneratedTrace| t.spans.iter().map(|s| s.span_id).collect::<HashSet<_>>();
    let none = Defects::default();
    find(Defects { orphans: true, ..none }, &|t| {
        t.spans.iter().any(|s| s.parent.is_some_and(|p| !ids(t).contains(&p.span_id)))
    });
    find(Defects { cycles: true, ..none }, &|t| {
        let parents: HashMap<u64, u64> =
            t.spans.iter().filter_map(|s| Some((s.span_id, s.parent?.span_id))).collect();
        t.spans.iter().any(|s| {
            let (mut at, mut steps) = (s.span_id, 0);
            while let Some(&parent) = parents.get(&at) {
                (at, steps) = (parent, steps + 1);
                if steps > t.spans.len() {
                    return true;
                }
            }
            false
        })
    });
    find(Defects { duplicates: true, ..none }, &|t| ids(t).len() < t.spans.len());
    find(Defects { zero_length: true, ..none }, &|t| t.spans.iter().any(|s| s.duration_us == 0));
    find(Defects { several_roots: true, ..none }, &|t| {
        t.spans.iter().filter(|s| s.parent.is_none()).count() > 1
    });
    find(Defects { missing_processes: true, ..none }, &|t| t.spans.iter().any(|s| s.process.is_none()));
    find(Defects { outside: true, ..none }, &|t| {
        t.spans.iter().any(|s| s.start_us + 5000 < t.spans[0].start_us)
    });
    find(Defects { asynchronous: true, ..none }, &|t| {
        let page_or_order = ["GET /product/{id}", "POST /checkout"].contains(&t.spans[0].operation);
        t.spans.iter().any(|s| s.parent.is_some_and(|p| p.follows_from)) && !page_or_order
            || page_or_order
                && t.spans.iter().filter(|s| s.parent.is_some_and(|p| p.follows_from)).count() > 1
    });
    find(Defects { generic_names: true, ..none }, &|t| t.spans.iter().any(|s| s.name() == "HTTP GET"));
    find(Defects { ids_in_names: true, ..none }, &|t| t.spans.iter().any(|s| s.name_value.is_some()));
    // Everything at once still makes JSON.
    let options = GenerateOptions { traces: 50, defects: Defects::ALL, ..GenerateOptions::default() };
    serde_json::from_slice::<serde_json::Value>(&bytes(&options)).unwrap();
    assert_eq!(Defects::NAMES.join(",").parse::<Defects>().unwrap(), Defects::ALL);
}

#[test]
fn delays_and_shapes_are_read_or_refused_with_the_cure() {
    let read: Inject = "a:GET /x=y:0=+250@0.07".parse().unwrap();
    assert_eq!(read, Inject { place: "a:GET /x=y:0".to_owned(), extra_us: 250, share: 0.07 });
    assert_eq!("p=+1".parse::<Inject>().unwrap().share, 1.0);
    for bad in ["", "p", "p=5", "p=+", "p=+x", "p=+5@", "p=+5@2", "p=+5@-1", "=+5", "p=+-5", "p=+5@NaN"] {
        let error = bad.parse::<Inject>().unwrap_err().to_string();
        assert!(error.contains("PLACE=+US"), "{bad}: {error}");
    }
    let options = GenerateOptions { injects: inject("nowhere:0", 1, 1.0), ..GenerateOptions::default() };
    assert!(Generator::new(&options).err().unwrap().to_string().contains("--list-places"));
    assert!("round".parse::<Shape>().is_err());
    let error = write_jaeger(&options, &mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}
