//! The view models on small reports: titles, tables, files, empty states.

use crate::address::choices::Choices;
use crate::address::{Address, TraceChoice};
use crate::compare::{self, ChangeRow, DiffSource};
use crate::heatmap::chart::HeatModel;
use crate::say::sentence::{Part, Sentence};
use crate::say::tip::TipLine;
use crate::search::finder::Finder;
use crate::table::{CellText, Rows, Table, groups};
use crate::{
    anomalies, diagnosis, endpoints, errors, findings, flame, flow, heatmap, requests_list, split, timeline,
};
use pathlight_base::statistics::Interval;
use pathlight_engine::compare::{CompareNode, CompareReport, CompareSide, FrameSums};
use pathlight_engine::diagnosis::{DiagnosisReport, PlacesReport};
use pathlight_engine::endpoints::{
    Affected, EndpointTotals, EndpointsReport, ImpactReport, ImpactRow, RootRow,
};
use pathlight_engine::errors::{ErrorRow, ErrorsReport};
use pathlight_engine::flame::{
    ContextNode, CriticalPathReport, HistogramsReport, RequestRow, RequestsReport, Weight,
};
use pathlight_engine::heatmap::HeatmapReport;
use pathlight_engine::ids::{NodeId, ReportEndpoint};
use pathlight_engine::queries::{OverviewReport, TagKey};
use pathlight_engine::requests::{PercentileRange, RangeFacts, RequestRef, RootEndpoint};
use pathlight_engine::split::{NotProposed, ProposalsReport, Ratio, SplitReport, SplitValue};
use pathlight_engine::verdict::{
    Excess, FailingService, InProportion, Lead, ServiceChange, ServicePart, ServicePlace, ServicesReport,
    StoppedVisits, Vanished,
};
use pathlight_trace::Endpoint;
use std::rc::Rc;

fn names() -> Vec<Endpoint> {
    vec![Endpoint::new("db", "query, \"fast\""), Endpoint::new("shop", "GET /cart")]
}

fn facts(requests: u64, latency_sum_us: u128) -> RangeFacts {
    RangeFacts { all_requests: requests, requests, latency_sum_us, ..RangeFacts::default() }
}

fn weight(sum: u128) -> Weight {
    Weight { sum, mean: sum as f64 / 2.0, p50: 1.0, p95: 2.0, p99: 3.5 }
}

fn endpoints_report() -> EndpointsReport {
    let row = |sum| EndpointTotals {
        exclusive_us: weight(sum),
        inclusive_us: weight(sum),
        requests: 2,
        spans: 3,
        errors: 0,
        waiting: Vec::new(),
        chains: Vec::new(),
        share_interval: None,
    };
    EndpointsReport { facts: facts(2, 100), endpoints: names(), rows: vec![row(75), row(25)], range: None }
}

/// Returns what stands in the first column of every shown row that is `endpoint`.
fn order<R>(table: &Table<R>) -> Vec<u32> {
    table.order(None, None)
}

fn head(csv: &str) -> &str {
    csv.lines().next().unwrap_or_default()
}

#[test]
fn every_table_names_its_columns_once_and_has_one_wide_column() {
    fn check<R>(table: &Table<R>) {
        let heads = table.heads();
        let shown: Vec<&str> = heads.iter().filter(|head| head.priority > 0).map(|head| head.key).collect();
        let mut once = shown.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), shown.len(), "{}", table.name());
        let wide = heads.iter().filter(|head| head.width == crate::table::Width::Wide).count();
        assert_eq!(wide, 1, "{}", table.name());
        let natural = heads.iter().find(|head| head.key == table.natural().column);
        assert!(natural.is_some_and(|head| head.sorts && head.priority > 0), "{}", table.name());
    }
    check(&heatmap::table());
    check(&flame::table());
    check(&compare::changes());
    check(&compare::services::services());
    check(&compare::services::places());
    check(&findings::types());
    check(&findings::top());
    check(&requests_list::table());
    check(&endpoints::ranking());
    check(&endpoints::sums());
    check(&errors::table());
    check(&split::table());
    check(&timeline::table());
    check(&anomalies::table());
    check(&flow::table());
    check(&flow::savings::table());
    check(&diagnosis::tables::slow_tail());
    check(&diagnosis::tables::changed_places());
}

#[test]
fn the_heat_map_has_rows_cells_and_a_title() {
    let request = RequestRef { trace_id: "ab".to_owned(), root_span_id: "1".to_owned(), latency_us: 60 };
    let report = Rc::new(HeatmapReport {
        rows: endpoints_report(),
        column_requests: vec![1, 1],
        column_latency_us: vec![40, 60],
        column_start_us: vec![5, 6],
        column_example: vec![request.clone(), request],
        column_ends: vec![1, 2],
        cell_row: vec![0, 1],
        cell_us: vec![30, 25],
        cell_share_ppm: vec![750_000, 416_666],
        ..HeatmapReport::default()
    });
    assert_eq!(heatmap::title("All requests", &report, Some(2)), "All requests: 2 endpoints, 2 requests");
    let mut alone = HeatmapReport::clone(&report);
    alone.rows.facts.requests = 1;
    alone.rows.rows.truncate(1);
    assert_eq!(
        heatmap::title("All requests", &alone, Some(2)),
        "All requests: 1 of 2 endpoints on critical paths, 1 request"
    );
    let mut table = heatmap::table();
    table.set_rows(heatmap::HeatmapRow::of(&report));
    assert_eq!(order(&table), [0, 1]);
    assert_eq!(table.cell(1, 0), CellText::Bar(0.75, pathlight_base::format::share(0.75)));
    assert_eq!(table.find(&Finder::of_text("cart")).share, Some(0.25));
    assert_eq!(
        heatmap::cells_csv(&report),
        "column,requests,latency_us,start_us,trace_id,root_span_id,service,operation,exclusive_us,share\r\n\
         0,1,40,5,ab,1,db,\"query, \"\"fast\"\"\",30,0.75\r\n\
         1,1,60,6,ab,1,shop,GET /cart,25,0.416666\r\n"
    );
    let tip = heatmap::tip(&report, &HeatModel::new(&report), ReportEndpoint(0), Some(&(0..1)));
    assert_eq!(tip[0], TipLine::Endpoint(Endpoint::new("db", "query, \"fast\"")));
    assert!(matches!(&tip[2], TipLine::Hint(hint) if hint == "Click to open the trace"));
}

#[test]
fn calling_contexts_are_lines_of_a_file_in_the_order_of_the_tree() {
    let node = |parent, endpoint, sum| ContextNode {
        parent,
        endpoint,
        exclusive_us: weight(sum),
        inclusive_us: weight(sum + 10),
        subtree_us: sum,
        requests: 2,
        spans: 4,
        errors: 1,
        waiting: Vec::new(),
        exemplars: Default::default(),
    };
    let report = Rc::new(CriticalPathReport {
        facts: facts(2, 100),
        endpoints: names(),
        nodes: vec![node(None, ReportEndpoint(1), 25), node(Some(NodeId(0)), ReportEndpoint(0), 75)],
        range: None,
        examples: Vec::new(),
    });
    let mut table = flame::table();
    table.set_rows(flame::FlameRow::of(&report));
    assert_eq!(order(&table), [1, 0], "most self time first");
    let heads = table.heads();
    let runs = groups(heads.iter().filter(|head| head.priority > 0));
    let [all, some] = ["Per request", "When present"];
    assert_eq!(runs, [("", 2), (all, 2), (some, 3), (all, 2), ("", 3)]);
    let csv = table.csv();
    assert_eq!(
        head(&csv),
        "node,parent,service,operation,exclusive_us,exclusive_share,exclusive_mean_us,exclusive_p50_us,\
         exclusive_p95_us,exclusive_p99_us,waiting_mean_us,waiting_for,inclusive_us,inclusive_mean_us,\
         inclusive_p50_us,inclusive_p95_us,inclusive_p99_us,subtree_us,requests,spans,errors"
    );
    assert_eq!(csv.lines().nth(1), Some("0,,shop,GET /cart,25,0.25,12.5,1,2,3.5,,,35,17.5,1,2,3.5,25,2,4,1"));
    assert_eq!(table.rows()[1].path().len(), 2);
    assert!(flame::title("All requests", &report.facts).starts_with("All requests: mean critical path 50"));
    assert_eq!(flame::tip(&report, NodeId(1)).len(), 2, "at most three lines below the name");
    assert_eq!(flame::tip(&report, NodeId(2)), []);
}

fn diff() -> CompareReport {
    let of = |parent, endpoint, a, b| CompareNode {
        parent,
        endpoint,
        a: FrameSums { requests: a, ..FrameSums::default() },
        b: FrameSums { requests: b, ..FrameSums::default() },
    };
    let side = CompareSide { facts: facts(2, 100), ..CompareSide::default() };
    CompareReport {
        a: side.clone(),
        b: side,
        endpoints: names(),
        nodes: vec![of(None, ReportEndpoint(1), 2, 2), of(Some(NodeId(0)), ReportEndpoint(0), 0, 1)],
        ..CompareReport::default()
    }
    .judged()
}

#[test]
fn changes_say_which_side_has_them() {
    let source = Rc::new(DiffSource::new(Rc::new(diff()), &Choices::default()));
    let mut table = compare::changes();
    table.set_rows(ChangeRow::of(&source));
    let csv = table.csv();
    assert_eq!(
        head(&csv),
        "rank,node,service,operation,measure,verdict,a,b,change,low,high,requests_a,requests_b"
    );
    assert!(csv.contains("new") && table.find(&Finder::of_text("new")).matches == 1, "{csv}");
    assert_eq!(source.tip(NodeId(1))[0], TipLine::Strong("New: on side B only".to_owned()));
    assert_eq!(source.presence(&source.report.nodes[1]), "in 0 of 2 requests of A, 1 of 2 of B");
    let is_explained =
        |report| DiffSource::new(Rc::new(report), &Choices::default()).legend().1.contains("A service");
    let same = || CompareReport { nodes: diff().nodes[..1].to_vec(), ..diff() }.judged();
    assert!(!is_explained(same()), "no service changed");
    assert!(is_explained(CompareReport { culprit: slow_service(), ..same() }));
}

#[test]
fn a_side_without_requests_is_explained() {
    let mut report = diff();
    assert_eq!(compare::why_empty(&report, false, None), None);
    report.b.facts.requests = 0;
    let why = |report: &CompareReport, is_loading, others| compare::why_empty(report, is_loading, others);
    assert!(why(&report, true, None).is_some_and(|why| why.starts_with("Reading")));
    assert!(why(&report, false, None).is_some_and(|why| why.contains("side B: there are 2 in all")));
    report.b.facts.all_requests = 0;
    report.b.selection.group = 1;
    assert!(why(&report, false, Some(0)).is_some_and(|why| why.starts_with("The second set is not loaded")));
    assert!(why(&report, false, Some(9)).is_some_and(|why| why.starts_with("Side B has no such request")));
}

#[test]
fn findings_begin_with_where_most_time_goes() {
    let report = endpoints_report();
    let costs = findings::Cost::of(&report);
    let about = findings::about(&Address::parse("error=1"), &report);
    assert_eq!(about, "all requests, has an error");
    assert_eq!(costs[0].endpoint, names()[0]);
    let cards = findings::cards(&OverviewReport { traces: 12, end_us: 5, ..OverviewReport::default() });
    assert_eq!((cards.len(), cards[0].words.as_str(), cards[8].digits.as_str()), (9, "12", "5"));
}

#[test]
fn requests_are_listed_and_lead_to_their_traces() {
    let row = RequestRow {
        trace_id: "00ab".to_owned(),
        root_span_id: String::new(),
        service: "shop".to_owned(),
        operation: "GET /cart".to_owned(),
        start_us: 1_234_567,
        latency_us: 5,
        spans: 3,
        errors: 0,
        path_spans: 2,
        is_incomplete: false,
    };
    assert_eq!(TraceChoice::from(&row).root_span_id, None);
    let mut report = RequestsReport { facts: facts(1, 5), rows: vec![row] };
    assert!(requests_list::note("All requests", &report).starts_with("All requests. A click"));
    report.rows = vec![report.rows[0].clone(); requests_list::LISTED as usize];
    report.facts.requests = 20_000;
    assert!(
        requests_list::note("All requests", &report)
            .starts_with("The slowest 10\u{202f}000 of 20\u{202f}000")
    );
    let mut table = requests_list::table();
    table.set_rows(report.rows);
    assert_eq!(table.cell(6, 0), CellText::Text("00000000000000ab".to_owned()));
    assert_eq!(table.find(&Finder::of_text("00AB")).matches, 10_000);
}

#[test]
fn the_ranking_has_a_line_in_files_for_every_affected_root() {
    let affected = vec![Affected { root: 0, exclusive_us: 40, requests: 2 }];
    let row =
        ImpactRow { exclusive_us: 40, is_interior: true, requests: 2, affected, ..ImpactRow::default() };
    let root = RootRow { endpoint: ReportEndpoint(1), requests: 2, latency_us: 80 };
    let report = ImpactReport {
        facts: facts(2, 80),
        endpoints: names(),
        roots: vec![root],
        rows: vec![row, ImpactRow { endpoint: ReportEndpoint(1), ..ImpactRow::default() }],
        range: None,
    };
    let lines = endpoints::ImpactLine::of(&report, None, None, 1);
    assert_eq!(lines.len(), 1, "interior endpoints only");
    assert_eq!(
        endpoints::ranking_csv(&report, None, None, 1),
        "service,operation,impact_us,share,share_low,share_high,requests,faster_percent,saving_at_most_us,what_if_saving_us,root_service,\
         root_operation,root_exclusive_us,root_share,root_requests\r\n\
         db,\"query, \"\"fast\"\"\",40,0.5,,,2,50,10,,shop,GET /cart,40,0.5,2\r\n"
    );
    let all = PercentileRange::ALL;
    assert_eq!(
        endpoints::ranking_title(all, &report, false, Some([9, 3])),
        "2 of 9 endpoints on critical paths, 1 below 1 root endpoint, whose own work is not listed, all requests; what-if follows\u{2026}"
    );
    assert_eq!(endpoints::why_empty(all, &facts(0, 0)), "No request passes the filters.");
    assert_eq!(endpoints::why_empty(all, &facts(1, 0)), "");
    assert_eq!(head(&endpoints::sizes_csv(&HistogramsReport::default())), "quantity,from,to,count");
}

#[test]
fn errors_say_why_there_is_no_graph() {
    let mut report = ErrorsReport { facts: facts(7, 70), endpoints: names(), ..ErrorsReport::default() };
    assert_eq!(errors::why_no_graph(&report), "No errors among 7 requests");
    report.totals.requests = 1;
    assert!(errors::why_no_graph(&report).starts_with("No error lies on a critical path"));
    report.rows = vec![ErrorRow { own: 2, spans: 3, ..ErrorRow::default() }, ErrorRow::default()];
    let mut table = errors::table();
    let own = errors::facts(&report, "db", "query, \"fast\"");
    assert_eq!(own[0], ("Errors that start here", "2".to_owned()));
    assert_eq!(
        (own.len(), errors::facts(&report, "shop", "GET /cart")),
        (3, Vec::new()),
        "on no path; no row"
    );
    table.set_rows(errors::ErrorEndpointRow::of(&Rc::new(report)));
    assert_eq!(
        table.csv(),
        "service,operation,spans,own,propagated,stopped,requests,path_spans,path_errors,path_us,path_error_us,\
         path_without_us,latency_saved_us,example_trace_id\r\n\
         db,\"query, \"\"fast\"\"\",3,2,0,0,0,0,0,0,0,0,0,\r\n"
    );
}

#[test]
fn a_split_offers_tags_and_compares_values_with_the_first() {
    let address = Address::parse("split=host");
    assert_eq!(split::key(&address, None, None), Some("host".to_owned()));
    assert_eq!(split::key(&Address::default(), None, None), None);
    let ratio = Ratio { ratio: Some(1.5), interval: Some(Interval { low: 1.25, high: 2.0 }) };
    let value = SplitValue { n: 4, ratios: [ratio, Ratio::default(), ratio], ..SplitValue::default() };
    let mut report = SplitReport { facts: facts(4, 9), key: "host".to_owned(), ..SplitReport::default() };
    assert!(split::why_empty(PercentileRange::ALL, &report).contains("has the tag host; choose another"));
    report.missing = 3;
    assert_eq!(
        split::title(&Address::default(), &report, 1),
        "All requests; latency of one request, by the tag of its root span; 3 without the tag."
    );
    let mixed = split::title(&Address::default(), &report, 4);
    assert!(mixed.contains(" These are requests of 4 types: "), "{mixed}");
    let one_root = Address { root: RootEndpoint::Endpoint(Endpoint::new("a", "b")), ..Address::default() };
    assert!(!split::title(&one_root, &report, 4).contains("types"));
    let mut table = split::table();
    table.set_rows(vec![value]);
    assert_eq!(
        table.csv(),
        "value,n,mean_us,p50_us,p95_us,p99_us,max_us,p50_ratio,p50_low,p50_high,p95_ratio,p95_low,p95_high,\
         p99_ratio,p99_low,p99_high,sum,sum_when_present,per\r\n,4,0,0,0,0,0,1.5,1.25,2,,,,1.5,1.25,2,,,request\r\n"
    );
    let cells: Vec<CellText> = (0..11).map(|column| table.cell(column, 0)).collect();
    assert_eq!(cells[0], CellText::Text("(empty)".to_owned()));
    assert_eq!(cells[8], CellText::Number("1.50 (1.25\u{2013}2.00)".to_owned(), "1.5".to_owned()));
    assert_eq!(cells[9], CellText::Text(pathlight_base::format::DASH.to_owned()));
    let tag = |key: &str| TagKey {
        key: key.to_owned(),
        values: vec!["a".to_owned(), "b".to_owned()],
        high_cardinality: false,
        is_number: false,
    };
    let overview =
        OverviewReport { tag_keys: vec![tag("host"), tag("db.rows")], ..OverviewReport::default() };
    let left_out = vec![("host".to_owned(), NotProposed::TooFewSamples)];
    let proposals = ProposalsReport { left_out, ..Default::default() };
    let offered = |proposals| split::offers(&overview, proposals, None).1.len();
    assert_eq!((offered(None), offered(Some(&proposals))), (2, 1), "no root span has db.rows");
    let (differ, others) = split::offers(&OverviewReport::default(), None, Some("host"));
    assert_eq!((differ.len(), others), (0, vec![("host".to_owned(), "host".to_owned())]));
}

#[test]
fn files_of_the_diagnosis_have_their_columns() {
    assert_eq!(
        head(&diagnosis::tables::places_csv(&PlacesReport::default())),
        "request_type,rank,service,operation,subspan,previous,next,gap_to,a_us,b_us,change_us,low,high"
    );
    assert_eq!(
        head(&diagnosis::tables::report_csv(&DiagnosisReport::default())),
        "level,service,operation,ranked_by_us,aggregate_trace,words"
    );
    assert_eq!(
        head(&diagnosis::tables::services_csv(&ServicesReport::default())),
        "rank,service,score_us,share,own_us,own_uncertainty_us,in_us,in_uncertainty_us,out_us,\
         out_uncertainty_us,requests,remark,text"
    );
}

/// Returns a service that explains something: calls into it.
fn slow_service() -> ServicesReport {
    let incoming = Excess { excess_us: 1_035_000.0, uncertainty_us: 1000.0 };
    let place = |operation: &str, calls| ServicePlace {
        part: ServicePart::In,
        other: Some("front".to_owned()),
        operation: operation.to_owned(),
        calls,
        excess: Some(incoming),
        exemplar: None,
    };
    let lead = Lead {
        part: ServicePart::In,
        excess: incoming,
        per_call_us: [3500.0, 1_517_000.0],
        calls: [90, 82],
        slower: Some(1.0),
        is_whole: false,
        slower_callees: Some(Vec::new()),
        only_caller: None,
        only_callee: None,
    };
    let row = ServiceChange {
        service: "basic".to_owned(),
        rank: Some(1),
        score_us: incoming.score_us(),
        incoming,
        requests: 66,
        lead: Some(lead),
        places: vec![place("POST /query", 64), place("GET /", 18)],
        ..ServiceChange::default()
    };
    ServicesReport { requests: [120, 120], services: vec![row], ..ServicesReport::default() }
}

#[test]
fn the_verdict_says_which_part_of_which_service_by_how_much_and_how_sure() {
    let report = slow_service();
    let plain = |words: &Sentence| words.to_text().replace(['\u{202f}', '\u{2009}', '\u{a0}'], " ");
    let words = compare::services::verdict(&report);
    assert_eq!(
        plain(&words),
        "Calls into basic wait 1.52 s outside its own spans (3.50 ms before); at least 100.0 % of 82 calls got slower; \
         that is +1.03 s \u{b1} 1.00 ms per request over all requests (66 of 120 use it). Mostly POST /query, 64 calls. No \
         service it calls changed."
    );
    assert!(words.parts.contains(&Part::Service("basic".to_owned())));
    assert!(words.parts.contains(&Part::Number("82 calls".to_owned())));
    let faster = ServicesReport { mean_us: [900_000.0, 300_000.0], ..report.clone() };
    assert_eq!(
        plain(&compare::services::verdict(&faster)),
        format!("B is faster as a whole: mean 900 ms \u{2192} 300 ms. {}", plain(&words))
    );
    let vanished = vec![Vanished { service: "pay".to_owned(), requests: [120, 0] }];
    let looks_faster = ServicesReport { vanished, mix_us: -600_000.0, ..faster };
    assert_eq!(
        plain(&compare::services::verdict(&looks_faster)),
        plain(&words),
        "calls vanish: that is no improvement"
    );
    let of_one_set = ServicesReport { is_of_one_set: true, ..report.clone() };
    assert_eq!(
        plain(&compare::services::verdict(&of_one_set)),
        "Where the time of slow requests goes: Calls into basic wait 1.52 s outside its own spans (3.50 ms in the fast \
         ones); at least 100.0 % of 82 calls are slower; that is +1.03 s \u{b1} 1.00 ms per request over all requests (66 \
         of 120 use it). Mostly POST /query, 64 calls. No service it calls differs."
    );
    let mut of_many = report.clone();
    for place in &mut of_many.services[0].places {
        place.excess = Some(Excess { excess_us: 400_000.0, uncertainty_us: 1000.0 });
    }
    let words = plain(&compare::services::verdict(&of_many));
    assert!(!words.contains("Mostly"), "no place has half of it: {words}");
    let words = plain(&compare::services::explanation(&of_one_set));
    assert!(words.contains("3.50 ms in the fast ones, outside its own spans"), "{words}");
    assert!(words.ends_with("No other service differs beyond the usual drift."), "{words}");

    let changed = |change: &dyn Fn(&mut ServiceChange, &mut Lead)| {
        let mut report = slow_service();
        let mut lead = report.services[0].lead.take().unwrap();
        change(&mut report.services[0], &mut lead);
        report.services[0].lead = Some(lead);
        plain(&compare::services::verdict(&report))
    };
    let own = changed(&|row, lead| {
        lead.part = ServicePart::Own;
        lead.slower_callees = None;
        row.has_bare_calls = true;
    });
    assert!(
        own.starts_with("basic's own work or the calls it makes take 1.52 s per visit (3.50 ms before)"),
        "{own}"
    );
    let out = changed(&|row, lead| {
        (lead.part, lead.calls) = (ServicePart::Out, [90, 3]);
        lead.slower_callees = Some(vec!["a".to_owned(), "b".to_owned()]);
        row.requests = 3;
    });
    assert!(out.starts_with("Calls that basic makes, whichever service they go to, wait 1.52 s"), "{out}");
    let end = "Of the services it calls, a and b got slower too. One side has only 3 such calls.";
    assert!(out.ends_with(end), "{out}");
    let weak = changed(&|row, _| row.is_weak = true);
    assert!(
        weak.starts_with(
            "No service clearly changed. Weakly: Calls into basic wait 1.52 s outside its own spans"
        ),
        "{weak}"
    );
    assert!(weak.contains("This is weak"), "{weak}");
    let chance = changed(&|row, lead| (row.may_be_chance, lead.calls) = (true, [90, 3]));
    assert!(
        chance.starts_with("No service clearly changed. What may be chance: Calls into basic wait"),
        "{chance}"
    );
    assert!(chance.ends_with("One side has only 3 such calls, which may be chance."), "{chance}");
    let alone = changed(&|_, lead| lead.only_caller = Some("front".to_owned()));
    assert!(alone.contains("Only front calls it, and nothing else: it could be either."), "{alone}");
    let late = changed(&|_, lead| {
        (lead.part, lead.only_callee) = (ServicePart::Out, Some("store".to_owned()));
    });
    assert!(
        late.starts_with("Calls of basic to store wait 1.52 s outside its spans (3.50 ms before)"),
        "{late}"
    );
    let end = "They wait before store begins; its work and replies are as before: basic sends late, or store has no free \
               worker.";
    assert!(late.ends_with(end), "{late}");
    let drift = changed(&|row, lead| {
        row.score_us = 0.0;
        lead.excess = Excess { excess_us: 900.0, uncertainty_us: 1000.0 };
    });
    assert_eq!(
        drift,
        "No service changed beyond the usual drift. The largest suspicion is basic, calls into it: +900 \u{b5}s \u{b1} 1.00 ms per request."
    );
    let faster = changed(&|row, _| row.score_us = -2000.0);
    assert!(
        faster.starts_with("No service got slower beyond the usual drift; basic got faster, by 2.00 ms"),
        "{faster}"
    );
}

#[test]
fn what_changed_weakly_is_not_said_to_have_not_changed() {
    let mut report = slow_service();
    let weak = |service: &str| ServiceChange {
        service: service.to_owned(),
        is_weak: true,
        ..slow_service().services.remove(0)
    };
    report.services.push(weak("cart"));
    let words = compare::services::explanation(&report).to_text();
    assert!(words.ends_with(" No other service clearly changed; weakly, or by chance: cart."), "{words}");
    report.services.push(ServiceChange { is_weak: false, ..weak("pay") });
    let words = compare::services::explanation(&report).to_text();
    assert!(words.ends_with(" Slower too: pay."), "{words}");

    let faster = ServiceChange { score_us: -2000.0, is_weak: false, ..weak("quick") };
    report.services = vec![weak("cart"), weak("pay"), weak("ship"), faster];
    let words = compare::services::verdict(&report).to_text();
    let start = "No service clearly got slower; quick got faster, by 2.00\u{202f}ms per request. Weakly: Calls into cart";
    assert!(words.starts_with(start), "{words}");
    assert!(words.ends_with(" Weakly, or by chance, also: pay and ship."), "{words}");
    assert_eq!(compare::services::explanation(&report), compare::services::verdict(&report));
}

#[test]
fn services_that_fail_more_often_are_named_beside_the_verdict() {
    let failing = |service: &str, b_failed, growth| FailingService {
        service: service.to_owned(),
        a_calls: 1000,
        a_failed: 2,
        b_calls: 100,
        b_failed,
        growth,
        impact: 0.5 * f64::max(growth, 0.0),
    };
    let report = ServicesReport {
        failing: vec![failing("pay", 31, 0.3), failing("cart", 0, -0.1)],
        mean_us: [300_000.0, 900_000.0],
        ..slow_service()
    };
    let plain = |report: &ServicesReport| compare::services::summary(report).replace('\u{202f}', " ");
    let words = plain(&report);
    assert!(words.ends_with("changed. pay fails in 31.0 % of its calls (0.2 % before)."), "{words}");
    let faster = ServicesReport { mean_us: [900_000.0, 300_000.0], ..report.clone() };
    let words = plain(&faster);
    assert!(
        words.starts_with("pay fails in 31.0 % of its calls (0.2 % before). B is faster as a whole"),
        "{words}"
    );
    assert_eq!(words.matches("pay fails").count(), 1, "{words}");
    let mut table = compare::services::services();
    table.set_rows(compare::services::ServiceRow::of(&report));
    assert_eq!(table.find(&Finder::of_text("basic")).matches, 1);
    assert_eq!(compare::services::ServicePlaceRow::of(&report.services[0]).len(), 2);
}

#[test]
fn calls_that_vanish_lead_unless_a_service_makes_the_whole_slower() {
    let row = StoppedVisits {
        service: "front".to_owned(),
        entry: Endpoint::new("front", "GET /"),
        last_call: None,
        visits: [100, 100],
        stopped: [0, 48],
        growth: 0.48,
        impact: 0.48,
    };
    let mean_us = [900_000.0, 300_000.0];
    let report = ServicesReport { stops: vec![row.clone()], mean_us, ..slow_service() };
    let plain = |words: Sentence| words.to_text().replace(['\u{202f}', '\u{2009}', '\u{a0}'], " ");
    let first = "48.0 % of the visits of GET / @ front now end without a call (0.0 % before)";
    for words in [plain(compare::services::verdict(&report)), plain(compare::services::explanation(&report))]
    {
        let start = format!("{first}: B is faster because calls vanish. Calls into basic ");
        assert!(words.starts_with(&start), "{words}");
        assert_eq!(words.matches("vanish").count(), 1, "{words}");
    }
    let slower = ServicesReport { mean_us: [300_000.0, 900_000.0], ..report.clone() };
    for words in [plain(compare::services::verdict(&slower)), plain(compare::services::explanation(&slower))]
    {
        assert!(
            words.starts_with("Calls into basic ") && words.ends_with(&format!(" {first}: calls vanish.")),
            "{words}"
        );
    }
    let of_cart =
        StoppedVisits { service: "cart".to_owned(), last_call: Some(Endpoint::new("cart", "get")), ..row };
    let words = plain(compare::services::verdict(&ServicesReport { stops: vec![of_cart], ..report }));
    assert!(words.contains("now end after a call of get @ cart (0.0 % before)"), "{words}");
    assert!(words.contains(" The cause is probably in cart."), "{words}");
}

#[test]
fn services_that_are_slower_in_proportion_are_counted() {
    let alike = InProportion { slower: 5, services: 6, growth: 0.5, least: 0.21, most: 0.84 };
    let report = ServicesReport { in_proportion: Some(alike), ..slow_service() };
    let words = compare::services::verdict(&report).to_text().replace('\u{202f}', " ");
    let start =
        "5 of 6 services are slower, by 21.0 % to 84.0 %; no single one explains it. Most: Calls into basic ";
    assert!(words.starts_with(start), "{words}");
    assert!(report.culprit().is_none());
}

#[test]
fn places_and_vanished_services_that_are_not_named_are_counted() {
    let mut row = ServiceChange { places_in_all: 2, ..slow_service().services.remove(0) };
    assert_eq!(compare::services::places_cut(&row), "");
    row.places_in_all = 37;
    assert_eq!(compare::services::places_cut(&row), "2 of 37 places");
    let words = |services: usize| {
        let gone = |at| Vanished { service: format!("s{at}"), requests: [100, 1] };
        let vanished = (0..services).map(gone).collect();
        compare::services::vanished_words(&ServicesReport { vanished, ..slow_service() }).to_text()
    };
    assert!(words(3).ends_with("100 of 120 before"), "{}", words(3));
    assert!(words(4).ends_with("100 of 120 before; likewise 1 other service"), "{}", words(4));
    assert!(words(8).ends_with("; likewise 5 other services"), "{}", words(8));
}
