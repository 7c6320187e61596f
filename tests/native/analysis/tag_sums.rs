//! Numbers of tags summed by endpoint and by the values of another tag: the example of critical-path.md section 10, and what
//! tools of agents write.

use pathlight::engine::endpoints::{SumPlace, TagSum, TagSumsReport};
use pathlight::engine::queries;
use pathlight::engine::requests::search::SpanSearch;
use pathlight::engine::requests::{Filter, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::split::SplitOf;
use pathlight::ingest::{ReadOptions, Reader};
use pathlight::trace::{Endpoint, RawSpan, Reading, SpanId, TagSetId, TraceId, TraceSet};

const TOKENS: &str = "gen_ai.usage.input_tokens";

fn push(set: &mut TraceSet, (trace, id): (u128, u64), name: &str, tags: &[(&str, &str)]) {
    set.tags.begin();
    for (key, value) in tags {
        set.tags.add(key, value);
    }
    let tags = set.tags.finish();
    let raw = RawSpan {
        id: SpanId::hex(id),
        parent: SpanId::hex(u64::from(id > 1)),
        start_us: 1000 + 10 * id,
        duration_us: if id == 1 { 100 } else { 5 },
        operation: set.names.intern(name),
        process: set.process("agent", "", TagSetId::EMPTY),
        tags,
        flags: Default::default(),
    };
    set.stage(TraceId::hex(trace), raw).unwrap();
}

/// The example, on so many workers.
fn agents(workers: usize) -> NativePool {
    let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
    push(&mut sets[0], (1, 1), "run", &[("customer", "a"), (TOKENS, "400")]);
    push(&mut sets[0], (1, 2), "chat", &[(TOKENS, "100"), ("model", "small")]);
    push(&mut sets[0], (1, 3), "chat", &[(TOKENS, "300"), ("model", "large")]);
    let second = &mut sets[workers - 1];
    push(second, (2, 1), "run", &[("customer", "b"), (TOKENS, "none")]);
    push(second, (2, 2), "chat", &[(TOKENS, "200"), ("model", "small")]);
    NativePool::of(sets).unwrap()
}

fn sums(pool: &mut NativePool, key: &str, by: Option<&str>) -> TagSumsReport {
    let selection = Selection { reading: Reading::PLAIN, ..Selection::default() };
    pool.run(queries::TagSums { selection, key: key.to_owned(), by: by.map(str::to_owned) }).unwrap()
}

fn said(report: &TagSumsReport) -> Vec<(SumPlace, f64, f64, f64, f64)> {
    let row = |row: &TagSum| {
        (row.place.clone(), row.sum, report.per_request(row), row.when_present(), row.per_span())
    };
    report.rows.iter().map(row).collect()
}

#[test]
fn tokens_are_summed_by_endpoint_and_by_value() {
    for workers in [1, 2] {
        let pool = &mut agents(workers);
        let endpoint = |name: &str| SumPlace::Endpoint(Endpoint::new("agent", name));
        assert_eq!(
            said(&sums(pool, TOKENS, None)),
            [(endpoint("chat"), 600.0, 300.0, 300.0, 200.0), (endpoint("run"), 400.0, 200.0, 400.0, 400.0)]
        );
        let value = |name: &str| SumPlace::Value(name.to_owned());
        assert_eq!(
            said(&sums(pool, TOKENS, Some("model"))),
            [
                (SumPlace::NoValue, 400.0, 200.0, 400.0, 400.0),
                (value("large"), 300.0, 150.0, 300.0, 300.0),
                (value("small"), 300.0, 150.0, 150.0, 150.0)
            ]
        );
        // What the root says is said of what is below it.
        assert_eq!(
            said(&sums(pool, TOKENS, Some("customer"))),
            [(value("a"), 800.0, 400.0, 800.0, 800.0 / 3.0), (value("b"), 200.0, 100.0, 200.0, 200.0)]
        );
        let none = sums(pool, "unheard-of", None);
        assert!(none.rows.is_empty() && !none.is_unknown);
    }
}

#[test]
fn split_has_the_sums_of_its_values() {
    let (selection, key) = (Selection::default(), "customer".to_owned());
    let split = queries::Split { selection, of: SplitOf::Latency, key, sum: Some(TOKENS.to_owned()) };
    let report = agents(2).run(split).unwrap();
    let sums = report.values.iter().map(|row| (row.value.as_str(), row.sum.as_ref().unwrap().sum));
    assert_eq!(sums.collect::<Vec<_>>(), [("a", 800.0), ("b", 200.0)]);
}

#[test]
fn requests_are_found_by_a_comparison() {
    let found = |text: &str| {
        let filters = vec![Filter::Search(SpanSearch::parse(text))];
        let selection = Selection { filters, ..Selection::default() };
        agents(2).run(queries::Range { selection }).unwrap().facts.requests
    };
    let counts = [
        format!("{TOKENS} > 300"),
        format!("{TOKENS}>=300"),
        format!("{TOKENS} <= 200"),
        format!("-{TOKENS}>250"),
    ]
    .map(|text| found(&text));
    assert_eq!(counts, [1, 1, 2, 1]);
}

#[test]
fn numbers_with_too_many_values_are_rounded_or_not_known() {
    let mut set = TraceSet::new();
    for trace in 0..6000u64 {
        let number = (trace * 7 + 1000).to_string();
        push(&mut set, (u128::from(trace) + 1, 1), "chat", &[(TOKENS, &number), ("thread.id", &number)]);
    }
    let mut pool = NativePool::of(vec![set]).unwrap();
    let report = sums(&mut pool, TOKENS, None);
    let exact: f64 = (0..6000).map(|trace| f64::from(trace * 7 + 1000)).sum();
    let [row] = &report.rows[..] else { panic!("{report:?}") };
    assert!(report.is_rounded && (row.sum / exact - 1.0).abs() < 0.005 && row.spans == 6000, "{row:?}");
    let report = sums(&mut pool, "thread.id", None);
    assert!(report.is_unknown && report.rows.is_empty());
}

#[test]
fn cost_and_tokens_of_calls_of_models_have_the_same_names_whatever_tool_wrote_them() {
    let start = r#""start_time":"2026-01-05T10:00:00Z","end_time":"2026-01-05T10:00:02Z""#;
    let langfuse = r#"[{"id":"o1","traceId":"t1","type":"GENERATION","name":"llm","model":"m","startTime":"2026-01-05T10:00:00Z","endTime":"2026-01-05T10:00:02Z","parentObservationId":null,"usageDetails":{"input":1200,"output":30},"calculatedTotalCost":0.25}]"#.to_owned();
    let phoenix = format!(
        r#"[{{"name":"llm","context":{{"trace_id":"t1","span_id":"o1"}},"span_kind":"LLM","parent_id":null,{start},"status_code":"OK","attributes":{{"llm.model_name":"m","llm.token_count.prompt":1200,"llm.token_count.completion":30,"llm.cost.total":0.25}}}}]"#
    );
    let langsmith = format!(
        r#"{{"id":"o1","trace_id":"t1","name":"llm","run_type":"llm",{start},"parent_run_id":null,"prompt_tokens":1200,"completion_tokens":30,"total_cost":0.25}}"#
    );
    for (tool, text) in [("langfuse", langfuse), ("phoenix", phoenix), ("langsmith", langsmith)] {
        let mut set = TraceSet::new();
        let mut reader = Reader::new(tool, ReadOptions::default());
        reader.feed(text.as_bytes(), &mut set).unwrap();
        let report = reader.finish(&mut set);
        assert_eq!((report.format.as_str(), report.spans), (tool, 1), "{report:?}");
        let mut pool = NativePool::of(vec![set]).unwrap();
        let numbers = [TOKENS, "gen_ai.usage.output_tokens", "gen_ai.usage.cost"]
            .map(|key| sums(&mut pool, key, None).rows.iter().map(|row| row.sum).sum::<f64>());
        assert_eq!(numbers, [1200.0, 30.0, 0.25], "{tool}");
    }
}
