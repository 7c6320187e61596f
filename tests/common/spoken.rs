//! Checks of the messages between page, workers and host pages, and of the traces in saved reports: whatever the bytes, they are refused
//! in words or understood, and what was loaded before is still there.

use super::stored::set;
use pathlight::base::encoding;
use pathlight::engine::anomalies::AnomalySettings;
use pathlight::engine::anomalies::paper::FeatureEncoding;
use pathlight::engine::diagnosis::{Aggregates, DiagnosisSettings};
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{CallTarget, Changes, PricedChanges, Quantile};
use pathlight::engine::heatmap::ColumnOrder;
use pathlight::engine::pool::Server;
use pathlight::engine::pool::messages::{Call, CallDone, Piece, ToWorker};
use pathlight::engine::queries::{self, Query, SpanKey};
use pathlight::engine::requests::search::SpanSearch;
use pathlight::engine::requests::{PercentileRange, RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::run::{Session, plan_joining};
use pathlight::engine::split::SplitOf;
use pathlight::engine::verdict::ServicePart;
use pathlight::ingest::{KeptTraces, ReadOptions, ReadRules, Reader};
use pathlight::trace::{
    Endpoint, HighCardinalityKeys, PathSettings, Portable, Redaction, TagTable, TraceSet,
};
use pathlight::view::address::Address;
use pathlight::view::contract::{Envelope, Incoming, follow};
use pathlight::view::export::saved;
use std::sync::LazyLock;

/// Steps of a plan, more than any query of these few traces takes.
const STEPS: usize = 2000;
/// Steps whose passes and partials are seeds: of those that take more, the later ones are like them.
const SOWN: u64 = 12;

/// What the first byte says about the others: a query; traces of another worker; keys of traces, for two calls; a pass; a
/// partial of the pass before, in place of that of the step that its first byte names, of the query of its second; a message
/// of the page, after its length in two bytes, with an attachment.
const WAYS: u8 = 7;

/// One query of every kind, and a second one of some.
pub static MESSAGES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(messages);

fn messages() -> Vec<Vec<u8>> {
    let selection = Selection::default;
    let (a, b) = (
        selection().with_range(PercentileRange::open(0, 50_000)),
        selection().with_range(PercentileRange::open(50_000, 100_000)),
    );
    let found = queries::Findings { selection: selection(), baseline: None };
    let found = NativePool::of(vec![set()]).unwrap().run(found).unwrap();
    let late = queries::LateFindingsQuery::of(selection(), Some(a.clone()), &found);
    let id = || set().trace_id_text(0);
    let search = || SpanSearch::parse("error= OR db");
    let settings = FlowSettings::default();
    let root = || {
        let first = NativePool::of(vec![set()]).unwrap().run(queries::Overview::default()).unwrap();
        first.endpoints.first().map(|of| Endpoint::new(&of.service, &of.operation)).unwrap_or_default()
    };
    let trace = || queries::Trace {
        trace_id: id(),
        root_span_id: None,
        settings: PathSettings::default(),
        group: 0,
        has_pressures: true,
    };
    let anomaly = AnomalySettings::default;
    [
        queries::Overview::default().to_message(),
        queries::CriticalPath { selection: selection() }.to_message(),
        queries::Impact { selection: selection() }.to_message(),
        queries::Compare { a: selection(), b: selection() }.to_message(),
        queries::ServiceChanges { a: selection(), b: selection() }.to_message(),
        queries::VerdictHits { a: a.clone(), b: b.clone() }.to_message(),
        queries::Diagnosis { selection: selection(), settings: DiagnosisSettings::default() }.to_message(),
        queries::Endpoints { selection: selection() }.to_message(),
        queries::Errors { selection: selection() }.to_message(),
        queries::Findings { selection: selection(), baseline: None }.to_message(),
        queries::FlowParents { selection: selection() }.to_message(),
        queries::WhatIf { selection: selection(), baseline: None, settings, changes: Changes::default() }
            .to_message(),
        queries::Savings { selection: selection(), settings }.to_message(),
        queries::Parallelise { selection: selection(), settings }.to_message(),
        queries::Headroom { selection: selection(), settings, quantile: Quantile::P95, limit_us: 1_000_000 }
            .to_message(),
        queries::Deployments { selection: selection(), key: None }.to_message(),
        queries::Capacity { selection: selection(), settings }.to_message(),
        queries::Instrument { selection: selection() }.to_message(),
        queries::Mended {
            selection: b.clone(),
            reference: a.clone(),
            service: root().service,
            part: ServicePart::Own,
        }
        .to_message(),
        queries::Heatmap { selection: selection(), columns: 40, order: ColumnOrder::Start }.to_message(),
        queries::Histograms { selection: selection() }.to_message(),
        queries::Range { selection: selection() }.to_message(),
        queries::Tags { selection: selection() }.to_message(),
        queries::TagValues { selection: selection(), key: "http.status_code".to_owned() }.to_message(),
        queries::TagSums {
            selection: selection(),
            key: "http.status_code".to_owned(),
            by: Some("host".to_owned()),
        }
        .to_message(),
        queries::Split {
            selection: selection(),
            of: SplitOf::Calls(root()),
            key: "host".to_owned(),
            sum: None,
        }
        .to_message(),
        queries::Search { selection: selection(), search: search() }.to_message(),
        queries::NamePseudonyms {}.to_message(),
        queries::AnomalyModel { train: a.clone(), test: b.clone(), settings: anomaly() }.to_message(),
        trace().to_message(),
        queries::Pressures { of: trace() }.to_message(),
        queries::CriticalPath {
            selection: Selection { root: RootEndpoint::Endpoint(root()), ..Selection::default() },
        }
        .to_message(),
        queries::AggregateTraces {
            selection: selection(),
            settings: DiagnosisSettings::default(),
            wanted: Aggregates::One(0),
        }
        .to_message(),
        queries::Anomalies { train: a.clone(), test: b.clone(), settings: anomaly() }.to_message(),
        queries::AnomalyEvaluation { selection: selection(), seed: 1, splits: 2, settings: anomaly() }
            .to_message(),
        queries::LabelledFault {
            normal: a.clone(),
            faulty: b.clone(),
            service: "a".to_owned(),
            seed: 1,
            splits: 2,
            settings: anomaly(),
        }
        .to_message(),
        queries::AnomalyVectors {
            train: a.clone(),
            test: Some(b.clone()),
            encoding: FeatureEncoding::default(),
        }
        .to_message(),
        queries::AtLatencies { selection: selection() }.to_message(),
        queries::CompareDiagnoses { a, b }.to_message(),
        queries::FindSpans { trace_id: id(), settings: PathSettings::default(), group: 0, search: search() }
            .to_message(),
        queries::Flow { selection: selection(), parent: Some(root()), settings }.to_message(),
        queries::FlowEvaluation { selection: selection(), settings, min_children: 1 }.to_message(),
        late.to_message(),
        queries::PerRequest { selection: selection() }.to_message(),
        queries::Proposals { selection: selection(), of: SplitOf::Latency }.to_message(),
        queries::Requests { selection: selection(), limit: 5 }.to_message(),
        queries::Span { trace_id: id(), span: SpanKey::Index(0), group: 0 }.to_message(),
        queries::Target {
            selection: selection(),
            baseline: None,
            settings,
            quantile: Quantile::P95,
            target_us: 1,
        }
        .to_message(),
        queries::Timeout {
            selection: selection(),
            baseline: None,
            settings,
            of: CallTarget::Endpoint(root()),
            timeout_us: None,
        }
        .to_message(),
        queries::Trend::default().to_message(),
        queries::Queues { selection: selection() }.to_message(),
        queries::LinkedTraces { of: trace() }.to_message(),
        queries::MissingTraces { group: 0 }.to_message(),
        queries::AmongLike { of: trace() }.to_message(),
        queries::JaegerPath { of: trace() }.to_message(),
        queries::PathsAtLatencies { selection: selection() }.to_message(),
        queries::ServiceMap { selection: selection(), baseline: Some(selection()) }.to_message(),
        queries::NearestNormal { of: trace(), selection: selection() }.to_message(),
        queries::FlowVariants { selection: selection(), parent: Some(root()), settings }.to_message(),
        queries::Cheapest {
            selection: selection(),
            baseline: None,
            settings,
            quantile: Quantile::P95,
            target_us: 1,
            options: vec![PricedChanges::default(); 2],
        }
        .to_message(),
    ]
    .into()
}

/// Returns a message of every kind, each with the same attachment.
fn envelopes(attached: &[u8]) -> Vec<Vec<u8>> {
    let pseudonyms = NativePool::of(vec![set()]).unwrap().run(queries::NamePseudonyms {}).unwrap();
    let redaction = saved::encode_redaction(&(Redaction { tags: true, names: true }, pseudonyms));
    let piece = Piece {
        name: "a.json".to_owned(),
        group: 0,
        keep: KeptTraces::Sample(2),
        rules: ReadRules::default(),
        chunk: None,
        is_cut: false,
    };
    let calls = [
        Call::Read { pieces: vec![piece], heap_limit: 1 << 30 },
        Call::FindSplitPoints { places: vec![0, 1000], packed: None },
        Call::Seal,
        Call::Unload { group: 1 },
        Call::Keys,
        Call::PlanJoining,
        Call::MarkHighCardinality,
        Call::TakeTraces,
        Call::PutTraces,
        Call::WriteDemo,
        Call::CopyColumns { from: 0, first: 1, redaction: String::new() },
        Call::CopyColumns { from: 1, first: 7, redaction },
        Call::Begin { plan: 1, data: Some(1), has_summaries: false },
        Call::Merge { plan: 1 },
        Call::Pass { plan: 1 },
    ];
    let others = [ToWorker::Cancel(1), ToWorker::StopReading(1), ToWorker::EndPlan(1), ToWorker::WarmUp];
    let all = calls.into_iter().zip(1..).map(|(call, number)| ToWorker::Call(number, call)).chain(others);
    let written = all.chain([ToWorker::Ping]).map(|message| encoding::write(&message));
    written.map(|bytes| [&(bytes.len() as u16).to_le_bytes(), bytes.as_slice(), attached].concat()).collect()
}

/// Does what a worker does with a message that is answered at once.
fn hear(session: &mut Session, bytes: &[u8]) {
    let Some((length, rest)) = bytes.split_first_chunk::<2>() else { return };
    let (envelope, attached) = rest.split_at(rest.len().min(usize::from(u16::from_le_bytes(*length))));
    let Ok(ToWorker::Call(number, call)) = encoding::read(envelope) else { return };
    match &call {
        Call::CopyColumns { from, first, redaction } => {
            if let Ok(redaction) = saved::decode_redaction(redaction) {
                let _ = saved::columns(&session.set, *from, &redaction, *first);
            }
        }
        _ => drop(Server::default().serve(session, number, &call, vec![attached.to_vec()], &mut || true)),
    }
}

/// Is given the number of a step, a pass and its partial.
pub type Hear<'a> = &'a mut dyn FnMut(u64, &[u8], &mut Vec<u8>);

/// Drives a query as page and worker do. False if it was refused. `hear` is given every pass and its partial.
pub fn drive(session: &mut Session, message: Vec<u8>, hear: Hear<'_>) -> bool {
    let mut server = Server::default();
    let begin = Call::Begin { plan: 1, data: Some(1), has_summaries: false };
    let mut answers = server.serve(session, 1, &begin, vec![message], &mut || true);
    for number in 2..STEPS as u64 {
        let partials = match answers.pop() {
            Some((_, Ok((CallDone::Pass, passes)))) => {
                let partials: Option<Vec<_>> =
                    passes.iter().map(|pass| session.run_pass(pass).ok()).collect();
                let Some(mut partials) = partials else { return false };
                let heard = passes.iter().zip(&mut partials);
                heard.for_each(|(pass, partial)| hear(number, pass, partial));
                partials
            }
            Some((_, Ok((CallDone::Working, _)))) => Vec::new(),
            Some((_, Ok((CallDone::Report, _)))) => return true,
            _ => return false,
        };
        answers = server.serve(session, number, &Call::Merge { plan: 1 }, partials, &mut || true);
    }
    false
}

/// Returns seeds of every way.
pub fn calls() -> Vec<Vec<u8>> {
    let of = |way: u8, bytes: &[u8]| [&[way], bytes].concat();
    let mut seeds = Vec::new();
    for (number, message) in MESSAGES.iter().enumerate() {
        seeds.push(of(0, message));
        let mut session = Session::of(set());
        let is_done = drive(&mut session, message.clone(), &mut |step, pass, partial| {
            if step <= SOWN {
                seeds.push(of(4, pass));
                seeds.push(of(5, &[&[step as u8, number as u8], partial.as_slice()].concat()));
            }
        });
        assert!(is_done, "query {number}");
    }
    let set = set();
    let portable = encoding::write(&Portable::copy(&set, 0..3));
    seeds.push(of(1, &portable));
    let keys = Session::of(set).keys();
    let plan = plan_joining(&[keys.clone(), keys.clone()]).unwrap();
    let moved = plan.moves.iter().flatten().map(|(_, keys)| of(2, keys));
    seeds.extend(moved.chain([of(3, &keys)]));
    let mut tags = TagTable::default();
    for i in 0..5000 {
        tags.begin();
        tags.add("http.url", &format!("/cart/{i}"));
        tags.add("id", &i.to_string());
        tags.finish();
    }
    let high_cardinality = encoding::write(&HighCardinalityKeys::of([tags.key_values()]));
    seeds.extend(
        [&keys, &portable, &MESSAGES[0], &high_cardinality]
            .iter()
            .flat_map(|it| envelopes(it))
            .map(|it| of(6, &it)),
    );
    seeds.sort();
    seeds.dedup();
    seeds
}

/// Checks that a worker that is sent anything goes on: a query of its own still gives its report.
pub fn check_call(bytes: &[u8]) {
    let Some((way, rest)) = bytes.split_first() else { return };
    let mut session = Session::of(set());
    match way % WAYS {
        0 => drop(drive(&mut session, rest.to_vec(), &mut |_, _, _| {})),
        1 => drop(session.put_traces(rest)),
        2 => drop(session.take_traces(rest)),
        4 => drop(session.run_pass(rest)),
        5 => {
            let [at, query, partial @ ..] = rest else { return };
            let message = &MESSAGES[usize::from(*query) % MESSAGES.len()];
            drive(&mut session, message.clone(), &mut |step, _, of| {
                if step as u8 == *at {
                    partial.clone_into(of);
                }
            });
        }
        6 => hear(&mut session, rest),
        _ => {
            let keys = session.keys();
            let _ = plan_joining(&[keys, rest.to_vec()]);
        }
    }
    let message = queries::Endpoints { selection: Selection::default() }.to_message();
    session.set.seal().unwrap();
    session.invalidate();
    assert!(drive(&mut session, message, &mut |_, _, _| {}), "the worker goes on");
}

/// Returns messages of host pages, as JSON.
pub fn embedding() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"pathlight":1,"type":"ping"}"#,
        r#"{"pathlight":1,"type":"traces","title":"a.json","replace":true,"data":"[]"}"#,
        r#"{"pathlight":1,"type":"query","query":"view=flame&tag.region=eu&traceID=ab&where=error%3D"}"#,
        r#"{"pathlight":1,"type":"theme","theme":"dark"}"#,
        r#"{"pathlight":1,"type":"view","view":"trace"}"#,
        r#"{"pathlight":2,"type":"__proto__","query":null,"allow":["x"]}"#,
    ];
    texts.map(|text| text.as_bytes().to_vec()).into()
}

/// Checks that a message is none of ours, is answered with an error that is JSON, or is followed without changing what
/// the host has set.
pub fn check_embedding(bytes: &[u8]) {
    let Ok(envelope) = serde_json::from_slice::<Envelope>(bytes) else { return };
    match envelope.read() {
        Ok(Incoming::Query(query)) => {
            let mut address = Address::parse("embed=1&theme=dark&allow=https://a.example");
            let before = address.clone();
            follow(&query, &mut address);
            assert_eq!((address.embed, &address.allow), (true, &before.allow));
            Address::parse(&address.to_fragment());
        }
        Ok(_) => {}
        Err(answer) => drop(serde_json::to_value(answer.message()).unwrap()),
    }
}

/// Returns the traces of a saved report, unpacked.
pub fn columns() -> Vec<Vec<u8>> {
    vec![saved::columns(&set(), 0, &saved::ExportRedaction::default(), 1).unwrap().0]
}

/// Checks that what is read can be asked, and saved again.
pub fn check_columns(bytes: &[u8]) {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("report", ReadOptions::default());
    if reader.feed(bytes, &mut set).is_err() {
        return;
    }
    reader.finish(&mut set);
    set.seal().unwrap();
    let again = saved::columns(&set, 0, &saved::ExportRedaction::default(), 1).unwrap().0;
    let mut copy = TraceSet::new();
    let mut reader = Reader::new("again", ReadOptions::default());
    reader.feed(&again, &mut copy).unwrap();
    reader.finish(&mut copy);
    copy.seal().unwrap();
    let spans = |set: &TraceSet| set.traces().iter().map(|trace| trace.len()).sum::<usize>();
    if spans(&set) < 8192 {
        assert_eq!(spans(&copy), spans(&set));
    }
    let mut pool = NativePool::of(vec![set]).unwrap();
    pool.run(queries::Overview::default()).unwrap();
    pool.run(queries::CriticalPath { selection: Selection::default() }).unwrap();
    pool.run(queries::Errors { selection: Selection::default() }).unwrap();
}
