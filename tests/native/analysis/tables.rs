//! Endpoint rows, textual summary and heat map: worked examples, and sums that agree whichever way they are taken.

use crate::common::random::{any_traces, sets_of};
use crate::common::{Span, set_of, span};
use pathlight::engine::endpoints::{EndpointsReport, RowStat, RowTime};
use pathlight::engine::heatmap::{ColumnOrder, HeatmapReport};
use pathlight::engine::ids::ReportEndpoint;
use pathlight::engine::queries;
use pathlight::engine::requests::{PercentileRange, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::Endpoint;
use pathlight::view::endpoints::share_range;
use pathlight::view::flame::note::ListsBy;
use pathlight::view::{flame, json};
use proptest::prelude::*;

/// Makes request `trace`: R calls A, which calls B, then R calls B itself. B takes `b1` within A and `b2` within R.
fn request(trace: u128, b1: u64, b2: u64) -> Vec<Span> {
    let start = 1000 * trace as u64;
    let mut at = start + 5;
    let mut spans = vec![span(2, 1, "A", at, at + b1 + 10), span(3, 2, "B", at + 5, at + 5 + b1)];
    at += b1 + 10;
    if b2 > 0 {
        spans.push(span(4, 1, "B", at, at + b2));
        at += b2;
    }
    spans.push(span(1, 0, "R", start, at + 5));
    spans.iter_mut().for_each(|s| s.trace = trace);
    spans
}

/// Makes four requests with latencies 20 + b1 + b2: 130, 60, 90, 120.
fn four() -> NativePool {
    let spans = [request(1, 100, 10), request(2, 40, 0), request(3, 50, 20), request(4, 100, 0)].concat();
    NativePool::of(vec![set_of(&spans)]).unwrap()
}

fn rows(pool: &mut NativePool, range: PercentileRange) -> EndpointsReport {
    let query = queries::Endpoints {
        selection: Selection { over_all: true, ..Selection::default().with_range(range) },
    };
    pool.run(query).unwrap()
}

fn heatmap(pool: &mut NativePool, columns: u32, order: ColumnOrder) -> HeatmapReport {
    let query = queries::Heatmap { selection: Selection::default(), columns, order };
    pool.run(query).unwrap()
}

/// Returns the time of a row in each column.
fn cells(report: &HeatmapReport, row: &str) -> Vec<u128> {
    let row = report.rows.endpoints.iter().position(|Endpoint { operation: o, .. }| o == row).unwrap() as u32;
    let cell = |c| report.cells(c).filter(|&at| report.cell_row[at] == row).map(|at| report.cell_us[at]);
    (0..report.column_requests.len()).map(|c| cell(c).sum()).collect()
}

#[test]
fn an_endpoint_has_one_row_for_all_its_call_paths() {
    let report = rows(&mut four(), PercentileRange::ALL);
    assert_eq!(
        report.endpoints.iter().map(|Endpoint { operation: o, .. }| o.as_str()).collect::<Vec<_>>(),
        ["A", "B", "R"]
    );
    let b = &report.rows[1];
    // Per request 110, 40, 70, 100.
    assert_eq!((b.exclusive_us.sum, b.exclusive_us.p50, b.requests, b.spans), (320, 85.0, 4, 6));
    assert_eq!(b.exclusive_us.p99, 100.0 + 10.0 * 0.97);
    assert_eq!(b.inclusive_us.sum, 320);
    assert!((report.share(ReportEndpoint(1)) - 320.0 / 400.0).abs() < 1e-12);
    let paths: Vec<(Vec<usize>, u128, u64)> = b
        .chains
        .iter()
        .map(|c| (c.path.iter().map(|at| at.index()).collect(), c.exclusive_us, c.requests))
        .collect();
    assert_eq!(paths, [(vec![2, 0, 1], 290, 4), (vec![2, 1], 30, 2)]);
    // A: inclusive b1 + 10, exclusive 10.
    assert_eq!((report.rows[0].inclusive_us.sum, report.rows[0].exclusive_us.sum), (330, 40));
}

#[test]
fn what_an_endpoint_calls_of_itself_is_in_its_total_time_once() {
    let spans =
        [span(1, 0, "R", 0, 100), span(2, 1, "A", 10, 90), span(3, 2, "B", 20, 80), span(4, 3, "A", 30, 70)];
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let by_place = rows(&mut pool, PercentileRange::ALL);
    let total = |report: &EndpointsReport| -> Vec<(u128, u128)> {
        report.rows.iter().map(|row| (row.inclusive_us.sum, row.exclusive_us.sum)).collect()
    };
    assert_eq!(total(&by_place), [(80, 60), (60, 20), (100, 20)]);
    assert_eq!(total(&heatmap(&mut pool, 1, ColumnOrder::Latency).rows), total(&by_place));
}

#[test]
fn rows_are_sorted_by_the_number_asked_for() {
    let report = rows(&mut four(), PercentileRange::ALL);
    let order = |time, stat| -> Vec<&str> {
        report.order(time, stat).iter().map(|&row| report.name(row).1).collect()
    };
    assert_eq!(order(RowTime::Exclusive, RowStat::Total), ["B", "A", "R"]);
    assert_eq!(order(RowTime::Inclusive, RowStat::Total), ["R", "A", "B"]);
    // Both have 85 us: by name.
    assert_eq!(order(RowTime::Inclusive, RowStat::P50), ["R", "A", "B"]);
    let mean = report.order(RowTime::Exclusive, RowStat::Mean);
    assert_eq!(mean, report.order(RowTime::Exclusive, RowStat::Total));
}

#[test]
fn columns_come_in_the_order_asked_for() {
    let mut pool = four();
    let latency = heatmap(&mut pool, 100, ColumnOrder::Latency);
    assert_eq!(latency.column_latency_us, [60, 90, 120, 130]);
    assert_eq!(cells(&latency, "B"), [40, 70, 100, 110]);
    assert_eq!(latency.cell_share_ppm[latency.cells(0).start + 1], 666_666);
    let start = heatmap(&mut pool, 100, ColumnOrder::Start);
    assert_eq!(start.column_start_us, [1000, 2000, 3000, 4000]);
    assert_eq!(cells(&start, "B"), [110, 40, 70, 100]);
    assert_eq!(start.column_example[1].trace_id, format!("{:032x}", 2));
    let row = ColumnOrder::Row(Endpoint::new("B", "B"));
    assert_eq!(cells(&heatmap(&mut pool, 100, row), "B"), [40, 70, 100, 110]);
    // A row nobody has: all equal, so by latency.
    let row = ColumnOrder::Row(Endpoint::new("B", "none"));
    assert_eq!(heatmap(&mut pool, 100, row).column_latency_us, [60, 90, 120, 130]);
}

#[test]
fn more_requests_than_columns_are_put_together() {
    let report = heatmap(&mut four(), 2, ColumnOrder::Latency);
    assert_eq!(report.column_requests, [2, 2]);
    assert_eq!(report.column_latency_us, [150, 250]);
    assert_eq!(cells(&report, "B"), [110, 210]);
    // The mean of 40 / 60 and 70 / 90.
    let b = report.cells(0).find(|&at| report.cell_row[at] == 1).unwrap();
    assert_eq!(report.cell_share_ppm[b], (666_666 + 777_777) / 2);
    assert_eq!(report.column_example[1].latency_us, 130);
    assert_eq!(report.column_start_us[0], 2000);
}

#[test]
fn the_summary_lists_each_percentile_in_three_formats() {
    let report = rows(&mut four(), PercentileRange::ALL);
    let plain = |text: String| text.replace('\u{202f}', " ").replace('\u{b5}', "u");
    let text = plain(flame::note::to_text(&report, &[], ListsBy::Endpoint, 2, None));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "4 requests, latency p50 105 us, p95 128 us, p99 130 us");
    // With the interval, as there are few requests.
    let b = report.order(RowTime::Exclusive, RowStat::P50)[0];
    let share = plain(share_range(report.rows[b.index()].share_interval.unwrap()));
    assert_eq!(lines[4], format!("       85 us    80.0 %{share:>20}         4  [B] B"));
    assert!(lines[5].ends_with("90.6 %  [R] R > [A] A > [B] B"), "{}", lines[5]);
    assert_eq!(text.matches("Top endpoints").count(), 3);
    assert_eq!(text.matches("and 1 other endpoint").count(), 3, "{text}");
    let markdown = plain(flame::note::to_markdown(&report, &[], ListsBy::Endpoint, 1, None));
    let row = format!("| [B] B | 85 us | 80.0 % | {share} | 4 | [R] R > [A] A > [B] B |");
    assert!(markdown.contains(&row), "{markdown}");
    let csv = flame::note::to_csv(&report, &[], None);
    let second = csv.split("\r\n").nth(1).unwrap();
    assert!(second.starts_with("B,B,85,"), "{second}");
    assert_eq!(csv.lines().count(), 4);
    let columns = |line: &str| line.split(',').count();
    assert!(csv.lines().all(|line| columns(line) == columns(second)));
}

#[test]
fn the_summary_of_fewer_than_1000_requests_tells_intervals_of_shares() {
    let report = |requests: u64| {
        let request = |i: u64| {
            let spans = [span(1, 0, "R", 0, 100), span(2, 1, "A", 0, 20 + i % 60)];
            spans.map(|s| Span { trace: u128::from(i), ..s })
        };
        let spans: Vec<Span> = (1..=requests).flat_map(request).collect();
        // Whoever read them.
        let whole = rows(&mut NativePool::of(vec![set_of(&spans)]).unwrap(), PercentileRange::ALL);
        let parts = spans.chunks(spans.len() / 2).map(set_of).collect();
        assert_eq!(rows(&mut NativePool::of(parts).unwrap(), PercentileRange::ALL), whole);
        whole
    };
    let texts = |report: &EndpointsReport| {
        [
            flame::note::to_text(report, &[], ListsBy::Endpoint, 2, None),
            flame::note::to_markdown(report, &[], ListsBy::Endpoint, 2, None),
        ]
    };
    let shares = |report: &EndpointsReport| {
        let csv = flame::note::to_csv(report, &[], None);
        let heads: Vec<&str> = csv.lines().next().unwrap().split(',').collect();
        let of = |line: &str, head: &str| {
            let at = heads.iter().position(|known| *known == head).unwrap();
            line.split(',').nth(at).unwrap().parse::<f64>().ok()
        };
        let line = csv.lines().find(|line| line.starts_with("A,A,")).unwrap().to_owned();
        ["share_low", "share", "share_high"].map(|head| of(&line, head))
    };
    let few = report(50);
    let [Some(low), Some(share), Some(high)] = shares(&few) else { panic!("{:?}", shares(&few)) };
    assert!(low < share && share < high && low > 0.3 && high < 0.6, "{low} {share} {high}");
    let words = share_range(few.rows[0].share_interval.unwrap());
    for text in texts(&few) {
        assert!(text.contains("interval") && text.contains(&words), "{text}");
    }
    let value: serde_json::Value = serde_json::from_str(&json::summary(&few, &[]).unwrap()).unwrap();
    let a = value["rows"].as_array().unwrap().iter().find(|row| row["operation"] == "A").unwrap();
    let mut ends = [low, high].into_iter().zip(a["share_interval"].as_array().unwrap());
    assert!(ends.all(|(end, written)| (end - written.as_f64().unwrap()).abs() < 1e-9), "{a}");
    let many = report(1000);
    assert!(matches!(shares(&many), [None, Some(_), None]));
    for text in texts(&many) {
        assert!(!text.contains("interval") && !text.contains(" to "), "{text}");
    }
}

#[test]
fn requests_at_a_percentile_of_their_latency_are_not_the_percentile_of_an_endpoint() {
    // 100 requests, the later the slower; `db` takes the time. One fast request waits for `rare` instead.
    let mut spans = Vec::new();
    for trace in 1..=100u64 {
        let (name, us) =
            if trace == 1 { ("rare", 5_000) } else { ("db", if trace > 98 { 6_000 } else { 1_000 }) };
        let start = 100_000 * trace;
        let end = start + us + if trace == 1 { 0 } else { trace };
        let own = [span(1, 0, "R", start, end), span(2, 1, name, start, start + us)];
        spans.extend(own.into_iter().map(|s| Span { trace: u128::from(trace), ..s }));
    }
    // All requests by latency together.
    let selection = Selection { over_all: true, ..Selection::default() };
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let report = rows(&mut pool, PercentileRange::ALL);
    let at = pool.run(queries::AtLatencies { selection }).unwrap();
    let first = |text: &str, list: &str| {
        let mut lines = text.lines().skip_while(|line| !line.contains(list)).skip(2);
        lines.next().unwrap_or_default().replace('\u{202f}', " ")
    };
    let by_latency = flame::note::to_text(&report, &at, ListsBy::Latency, 5, None);
    assert!(first(&by_latency, "at the p99 of latency").ends_with("2  [db] db"), "{by_latency}");
    assert!(
        by_latency.contains("Where requests at the p99 of latency spend it (P98\u{2013}100: 2 requests"),
        "{by_latency}"
    );
    assert!(!by_latency.contains("rare"), "no request near these percentiles has it: {by_latency}");
    let by_endpoint = flame::note::to_text(&report, &at, ListsBy::Endpoint, 5, None);
    assert!(first(&by_endpoint, "by the p50 of self time").ends_with("1  [rare] rare"), "{by_endpoint}");
    let csv = flame::note::to_csv(&report, &at, None);
    let column =
        csv.lines().next().unwrap().split(',').position(|head| head == "exclusive_at_p99_us").unwrap();
    let of =
        |name: &str| csv.lines().find(|line| line.starts_with(name)).unwrap().split(',').nth(column).unwrap();
    assert_eq!((of("db,"), of("rare,")), ("6000", "0"));
    let value: serde_json::Value = serde_json::from_str(&json::summary(&report, &at).unwrap()).unwrap();
    let at_p99 = &value["at_latency"][2];
    assert_eq!((&at_p99["percentile"], &at_p99["requests"]), (&99.into(), &2.into()));
    assert_eq!(at_p99["rows"][0]["operation"], "db");
}

#[test]
fn a_name_cannot_break_a_table() {
    let mut bad = span(1, 0, "R", 0, 100);
    bad.operation = "a|b,\"c\"\nd".to_owned();
    let report = rows(&mut NativePool::of(vec![set_of(&[bad])]).unwrap(), PercentileRange::ALL);
    assert!(flame::note::to_csv(&report, &[], None).contains("\r\nR,\"a|b,\"\"c\"\" d\",100,"));
    assert!(
        flame::note::to_markdown(&report, &[], ListsBy::Endpoint, 5, None).contains("| [R] a\\|b,\"c\" d |")
    );
}

#[test]
fn nothing_loaded_gives_an_empty_map() {
    let mut pool = NativePool::of(Vec::new()).unwrap();
    let report = heatmap(&mut pool, 10, ColumnOrder::Latency);
    assert!(report.column_requests.is_empty() && report.rows.rows.is_empty());
    assert!(json::heatmap(&report, RowTime::Exclusive, RowStat::P50).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn flame_graph_heat_map_and_latencies_have_one_total(
        spans in any_traces(80), lo in 0u32..100, width in 1u32..100, columns in 1u32..12, by_start in any::<bool>()
    ) {
        let range = PercentileRange::open(lo * 1000, (lo + width).min(100) * 1000);
        let mut pool = NativePool::of(sets_of(&spans, 2)).unwrap();
        let selection = Selection { over_all: true, ..Selection::default().with_range(range) };
        let order = if by_start { ColumnOrder::Start } else { ColumnOrder::Latency };
        let query = queries::Heatmap { selection: selection.clone(), columns, order };
        let map = pool.run(query).unwrap();
        let flame = pool.run(queries::CriticalPath { selection }).unwrap();
        let total = flame.facts.latency_sum_us;
        prop_assert_eq!(flame.nodes.iter().map(|n| n.exclusive_us.sum).sum::<u128>(), total);
        prop_assert_eq!(map.cell_us.iter().sum::<u128>(), total);
        prop_assert_eq!(map.column_latency_us.iter().sum::<u128>(), total);
        prop_assert_eq!(map.rows.rows.iter().map(|row| row.exclusive_us.sum).sum::<u128>(), total);
        let requests: u64 = map.column_requests.iter().map(|&n| u64::from(n)).sum();
        prop_assert_eq!(requests, flame.facts.requests);
        prop_assert!(map.column_requests.len() <= columns as usize);
        // Each row is the sum of the calling contexts of its endpoint, and of its cells.
        for (number, row) in map.rows.rows.iter().enumerate() {
            let name = &map.rows.endpoints[number];
            let contexts: u128 = flame.nodes.iter()
                .filter(|n| flame.endpoints[n.endpoint.index()] == *name).map(|n| n.exclusive_us.sum).sum();
            let cells: u128 = (0..map.cell_row.len())
                .filter(|&at| map.cell_row[at] == number as u32).map(|at| map.cell_us[at]).sum();
            prop_assert_eq!((contexts, cells), (row.exclusive_us.sum, row.exclusive_us.sum));
        }
    }
}
