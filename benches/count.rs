//! Instructions of what a load waits for, on small traces with fixed seeds, counted by valgrind: `cargo xtask bench count`.
//!
//! Other work on the machine changes times, but not these counts. Inputs are made and results are checked outside of what
//! is counted. [`gungraun`] starts this program under valgrind, once for each count.

#[cfg(target_os = "linux")]
mod shared;

#[cfg(target_os = "linux")]
use {
    counted::engine,
    gungraun::{Callgrind, LibraryBenchmarkConfig, main},
};

// Without the simulation of caches, which makes a run twice as long.
#[cfg(target_os = "linux")]
main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"])),
    library_benchmark_groups = engine
);

#[cfg(not(target_os = "linux"))]
fn main() {}

#[cfg(target_os = "linux")]
mod counted {
    use super::shared;
    use gungraun::{library_benchmark, library_benchmark_group};
    use pathlight::engine::flame::CriticalPathReport;
    use pathlight::engine::requests::Selection;
    use pathlight::engine::run::{Cuts, Plan, Session};
    use pathlight::engine::summaries::{Merger, Summary, SummarySettings, read as read_summary, write};
    use pathlight::engine::{EngineError, queries};
    use pathlight::generate::{GenerateOptions, GeneratedTag, Generator, write_jaeger};
    use pathlight::trace::TraceSet;
    use pathlight::view::draw::Metrics;
    use pathlight::view::draw::text::Advances;
    use pathlight::view::flame::chart::{FlameLayout, FlameSize, FlameTree, FlameView, layout};
    use serde_json::json;
    use std::error::Error;

    type Outcome<T> = Result<T, Box<dyn Error>>;

    /// Traces of an input, of about 50 spans each.
    const TRACES: u64 = 100;

    /// Seeds of the inputs of four workers.
    const WORKERS: std::ops::Range<u64> = 1..5;

    fn options(seed: u64) -> GenerateOptions {
        GenerateOptions { traces: TRACES, seed, ..GenerateOptions::default() }
    }

    fn jaeger_json(seed: u64) -> Outcome<Vec<u8>> {
        let mut bytes = Vec::new();
        write_jaeger(&options(seed), &mut bytes)?;
        Ok(bytes)
    }

    /// Returns the traces as an OTLP export: a batch for each process of each trace; without logs.
    fn otlp_json(seed: u64) -> Outcome<Vec<u8>> {
        let generator = Generator::new(&options(seed))?;
        let mut batches = Vec::new();
        for trace in (0..TRACES).map(|index| generator.trace(index)) {
            for (number, process) in trace.processes.iter().enumerate() {
                let mut resource = vec![attribute("service.name", GeneratedTag::Text(process.service))];
                process.visit_tags(|key, value| resource.push(attribute(key, value)));
                let mut spans = Vec::new();
                for span in trace.spans.iter().filter(|span| span.process == Some(number as u32)) {
                    let mut attributes = Vec::new();
                    span.visit_tags(&mut String::new(), |key, value| attributes.push(attribute(key, value)));
                    let parent =
                        span.parent.map_or_else(String::new, |parent| format!("{:016x}", parent.span_id));
                    spans.push(format!(
                        r#"{{"traceId":"{:032x}","spanId":"{:016x}","parentSpanId":"{parent}","name":{},"kind":{},"startTimeUnixNano":"{}000","endTimeUnixNano":"{}000","attributes":[{}],"status":{}}}"#,
                        trace.trace_id,
                        span.span_id,
                        json!(span.name()),
                        span.kind as u8,
                        span.start_us,
                        span.start_us + span.duration_us,
                        attributes.join(","),
                        if span.error { r#"{"code":2}"# } else { "{}" },
                    ));
                }
                batches.push(format!(
                    r#"{{"resource":{{"attributes":[{}]}},"scopeSpans":[{{"scope":{{"name":"shop"}},"spans":[{}]}}]}}"#,
                    resource.join(","),
                    spans.join(",")
                ));
            }
        }
        Ok(format!(r#"{{"resourceSpans":[{}]}}"#, batches.join(",")).into_bytes())
    }

    fn attribute(key: &str, value: GeneratedTag<'_>) -> String {
        let value = match value {
            GeneratedTag::Text(text) => json!({ "stringValue": text }),
            GeneratedTag::Int(number) => json!({ "intValue": number.to_string() }),
            GeneratedTag::Float(number) => json!({ "doubleValue": number }),
            GeneratedTag::Bool(is_so) => json!({ "boolValue": is_so }),
        };
        format!(r#"{{"key":{},"value":{value}}}"#, json!(key))
    }

    fn traces(seed: u64) -> Outcome<TraceSet> {
        Ok(shared::read(&jaeger_json(seed)?))
    }

    fn query() -> queries::CriticalPath {
        queries::CriticalPath { selection: Selection::default() }
    }

    /// Returns the partials of four workers, pass by pass.
    fn partials() -> Outcome<Vec<Vec<Vec<u8>>>> {
        let mut workers = WORKERS.map(|seed| Ok(Session::of(traces(seed)?))).collect::<Outcome<Vec<_>>>()?;
        let mut passes = Vec::new();
        let run = |pass: &[u8]| {
            let partials =
                workers.iter_mut().map(|worker| worker.run_pass(pass)).collect::<Result<Vec<_>, _>>()?;
            passes.push(partials.clone());
            Ok(partials)
        };
        Plan::new(query(), &Cuts::default()).finish(run, &mut |_| {})?;
        Ok(passes)
    }

    fn summaries() -> Outcome<Vec<Vec<u8>>> {
        WORKERS
            .map(|seed| Ok(write(&Summary::observe(&traces(seed)?, &SummarySettings::default()))?))
            .collect()
    }

    /// Fails the run: what ends with an error has done less than what is to be counted.
    fn is_done<T>(outcome: Outcome<T>) {
        assert!(outcome.is_ok(), "{:?}", outcome.err());
    }

    fn is_read(outcome: Outcome<TraceSet>) {
        assert!(matches!(outcome, Ok(set) if set.traces().len() as u64 == TRACES), "traces are missing");
    }

    #[library_benchmark(teardown = is_read)]
    #[bench::jaeger_json(jaeger_json(1))]
    #[bench::otlp_json(otlp_json(1))]
    fn read(bytes: Outcome<Vec<u8>>) -> Outcome<TraceSet> {
        Ok(shared::read(&bytes?))
    }

    #[library_benchmark(teardown = is_done)]
    #[bench::loaded_traces(traces(1))]
    fn critical_path(set: Outcome<TraceSet>) -> Outcome<(Session, CriticalPathReport)> {
        let mut session = Session::of(set?);
        let report = session.run(query())?;
        Ok((session, report))
    }

    #[library_benchmark(teardown = is_done)]
    #[bench::partials_of_four_workers(partials())]
    fn merge(passes: Outcome<Vec<Vec<Vec<u8>>>>) -> Outcome<CriticalPathReport> {
        let mut passes = passes?.into_iter();
        let run = |_: &[u8]| passes.next().ok_or(EngineError::Ended);
        Ok(Plan::new(query(), &Cuts::default()).finish(run, &mut |_| {})?)
    }

    #[library_benchmark(teardown = is_done)]
    #[bench::four_summaries(summaries())]
    fn join(summaries: Outcome<Vec<Vec<u8>>>) -> Outcome<Summary> {
        let mut sum = Merger::default();
        for summary in summaries? {
            sum.add(read_summary(&summary)?)?;
        }
        Ok(sum.finish()?)
    }

    #[library_benchmark(teardown = is_done)]
    #[bench::loaded_traces(traces(1))]
    fn summarise(set: Outcome<TraceSet>) -> Outcome<(TraceSet, Vec<u8>)> {
        let set = set?;
        let file = write(&Summary::observe(&set, &SummarySettings::default()))?;
        Ok((set, file))
    }

    #[library_benchmark(teardown = is_done)]
    #[bench::jaeger_json(jaeger_json(1))]
    fn first_flame_graph(bytes: Outcome<Vec<u8>>) -> Outcome<(Session, FlameTree, FlameLayout)> {
        let mut session = Session::of(shared::read(&bytes?));
        let tree = FlameTree::of_report(&session.run(query())?);
        let size = FlameSize { width: 1400, height: 700, metrics: Metrics::default() };
        let view =
            FlameView { window: tree.full(), scroll_px: 0, selected: None, hovered: None, matches: None };
        let layout = layout(&tree, &view, size, &mut Advances { font_px: 12.0 });
        Ok((session, tree, layout))
    }

    library_benchmark_group!(
        name = engine,
        benchmarks = [read, critical_path, merge, join, summarise, first_flame_graph]
    );
}
