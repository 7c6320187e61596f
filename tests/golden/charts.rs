//! Every chart as an SVG file, drawn from a few requests written by hand.

use crate::Golden;
use crate::common::{Span, span, stage};
use pathlight::engine::anomalies::AnomalySettings;
use pathlight::engine::diagnosis::{AggregateTrace, Aggregates, DiagnosisSettings};
use pathlight::engine::flame::TraceReport;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::heatmap::ColumnOrder;
use pathlight::engine::ids::ReportEndpoint;
use pathlight::engine::queries;
use pathlight::engine::requests::{RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::split::SplitOf;
use pathlight::engine::trend::DayChange;
use pathlight::trace::{Endpoint, Overlap, PathSettings, Reading, TraceSet};
use pathlight::view::address::Address;
use pathlight::view::draw::axis::{AxisUnit, Scale};
use pathlight::view::draw::caption::captioned;
use pathlight::view::draw::curves::{self, Axis, CurvesView, Legend, NamedCurve};
use pathlight::view::draw::histogram::{self, Bars, HistogramView};
use pathlight::view::draw::pair::{align, signs};
use pathlight::view::draw::plot::ChartSize;
use pathlight::view::draw::{Metrics, Rgba, Shade, Theme, Window, multiples, violin};
use pathlight::view::export::pictures::Exported;
use pathlight::view::flame::chart::{DiffFlame, DiffOptions, FlameTree, FlameView, FlameWords, Inverted};
use pathlight::view::heatmap::chart::HeatModel;
use pathlight::view::timeline::chart::{Timeline, TimelineShown};
use pathlight::view::trend::chart::{Panel, TrendLine, TrendPanels};
use pathlight::view::views::View;
use pathlight::view::{anomalies, flame, flow, heatmap, timeline, trend};

/// Compares the chart of a case.
#[track_caller]
fn check(case: &str, svg: &str) {
    let mut golden = Golden::default();
    golden.compare(&format!("charts/{case}/chart.svg"), svg);
    golden.finish();
}

/// Makes requests for a cart, one a second. Every fourth does not find its cart in the cache and asks the database,
/// which takes `database_us`; where that is long, prices are asked for twice and the second time in vain.
fn requests(traces: impl Iterator<Item = u64>, database_us: u64) -> Vec<Span> {
    let mut spans = Vec::new();
    for n in traces {
        let mut put = |id, parent, (service, operation): (&str, &str), start, end| {
            let at = n * 1_000_000;
            let mut span = Span { trace: n.into(), ..span(id, parent, service, at + start, at + end) };
            span.operation = operation.to_owned();
            span.zone = if n % 3 == 0 { "us" } else { "eu" };
            spans.push(span);
        };
        let (auth, found) = (2_000 + n % 5 * 300, 4_000 + n % 7 * 150);
        let loaded = if n % 4 == 0 { found + 500 + database_us } else { found };
        let priced = 9_000 + n % 6 * 700;
        let end = loaded.max(priced) + 1_000;
        put(1, 0, ("gateway", "GET /cart"), 0, end);
        put(2, 1, ("auth", "Check"), 200, auth);
        put(3, 1, ("cart", "Load"), auth + 100, loaded + 200);
        put(4, 3, ("redis", "GET"), auth + 200, found);
        if n % 4 == 0 {
            put(5, 3, ("postgres", "SELECT carts"), found + 400, loaded);
        }
        put(6, 1, ("price", "Quote"), auth + 300, priced);
        if n % 4 == 0 && database_us > 10_000 {
            put(7, 1, ("price", "Quote"), priced + 100, loaded);
            spans.last_mut().unwrap().error = true;
        }
    }
    spans
}

/// Makes a pool of 40 normal requests and, as the set to compare with, 18 with a slow database, half of which ask it.
fn pool() -> NativePool {
    let mut set = TraceSet::new();
    stage(&mut set, &requests(1..41, 8_000));
    set.loading_group = 1;
    stage(&mut set, &requests((100..136).step_by(2), 25_000));
    set.seal().unwrap();
    NativePool::of(vec![set]).unwrap()
}

fn all() -> Selection {
    Selection { reading: Reading::PLAIN, ..Selection::default() }
}

fn slow() -> Selection {
    Selection { group: 1, ..all() }
}

fn size(width: i32, height: i32) -> ChartSize {
    ChartSize { width, height, metrics: Metrics::default() }
}

fn flame_svg(tree: &FlameTree, words: &FlameWords) -> String {
    let view = FlameView { window: tree.full(), scroll_px: 0, selected: None, hovered: None, matches: None };
    flame::chart::export_svg(tree, &view, 1000, &Theme::light(), words)
}

fn timeline_svg(timeline: &Timeline, theme: &Theme) -> String {
    let window = timeline.full();
    let view =
        TimelineShown { window, scroll_px: 0, selected: None, hovered: None, matches: None, slack: true };
    timeline::chart::export_svg(timeline, &view, 1000, theme, "One request")
}

fn trace(pool: &mut NativePool, group: u8, number: u64) -> TraceReport {
    let trace_id = format!("{number:032x}");
    pool.run(queries::Trace {
        group,
        trace_id,
        root_span_id: None,
        settings: PathSettings::plain(Overlap::default()),
        has_pressures: true,
    })
    .unwrap()
    .unwrap()
}

#[test]
fn flame_graph() {
    let tree = FlameTree::of_report(&pool().run(queries::CriticalPath { selection: all() }).unwrap());
    check("flame", &flame_svg(&tree, &FlameWords::of_times(&tree, "Requests for a cart")));
}

#[test]
fn a_chart_with_its_caption() {
    let report = pool().run(queries::CriticalPath { selection: all() }).unwrap();
    let tree = FlameTree::of_report(&report);
    let svg = flame_svg(&tree, &FlameWords::of_times(&tree, "Flame graph: critical path"));
    let names = ["before".to_owned(), "after & \u{201c}<b>\u{201d}".to_owned()];
    let mut address = Address { view: View::Flame, ..Address::default() };
    address.compare_sets();
    address.view = View::Flame;
    // 2026-11-24 03:06:12.345.
    let lines = Exported::of(&address, names).lines(1_795_489_572_345_000);
    let services = flame::services(&report).into_iter();
    let theme = Theme::light();
    let legend: Vec<_> =
        services.map(|(service, _)| (Some(theme.fill(Shade::service(&service))), service)).collect();
    check("captioned", &captioned(&svg, &lines, &legend, &theme));
    // A chart through plotters keeps its smooth curves.
    let report = pool()
        .run(queries::Split { selection: all(), of: SplitOf::Latency, key: "zone".to_owned(), sum: None })
        .unwrap();
    let violins = violin::export_svg(&report, Scale::Log, size(600, 240), &theme, "By zone").unwrap();
    check("captioned-plot", &captioned(&violins, &lines, &[], &theme));
}

#[test]
fn flame_graph_of_callers() {
    let report = pool().run(queries::CriticalPath { selection: all() }).unwrap();
    let mut inverted = Inverted::new(&report);
    inverted.expand_visible(&report, Window::full(inverted.total_us()), 1000, 2, 9);
    let tree = inverted.tree();
    check("inverted", &flame_svg(&tree, &FlameWords::of_times(&tree, "Callers")));
}

#[test]
fn differential_flame_graph() {
    let report = pool().run(queries::Compare { a: all(), b: slow() }).unwrap();
    let DiffFlame { tree, scale, changed, grey } = DiffFlame::new(&report, &DiffOptions::default());
    let words = FlameWords {
        title: "A slow database".to_owned(),
        description: format!("{changed} frames changed by up to {scale:.3}, {grey} did not."),
        tip: Box::new(|node| tree.frame(node).map(|frame| frame.label.clone()).unwrap_or_default()),
    };
    check("differential-flame", &flame_svg(&tree, &words));
}

#[test]
fn heat_map() {
    let order = ColumnOrder::Latency;
    let report = pool().run(queries::Heatmap { selection: all(), columns: 16, order }).unwrap();
    let model = HeatModel::new(&report);
    let rows: Vec<_> = (0..model.rows()).map(ReportEndpoint).collect();
    let window = Window::full(model.columns().into());
    check(
        "heatmap",
        &heatmap::chart::export_svg(&model, &rows, window, 900, &Theme::light(), "Who is slow when"),
    );
}

#[test]
fn execution_flow() {
    let root = RootEndpoint::Endpoint(Endpoint::new("gateway", "GET /cart"));
    let selection = Selection { root, ..all() };
    let flow =
        pool().run(queries::Flow { selection, parent: None, settings: FlowSettings::default() }).unwrap();
    check("flow", &flow::chart::export_svg(&flow, &[], &Theme::light(), "What waits for what"));
    // As in a what-if: the first node is changed.
    let mut changed = vec![false; flow.nodes.len()];
    changed[0] = true;
    check("flow-changed", &flow::chart::export_svg(&flow, &changed, &Theme::dark(), "What if"));
}

#[test]
fn timeline_of_a_trace() {
    let mut timeline = Timeline::new(trace(&mut pool(), 1, 104));
    check("timeline", &timeline_svg(&timeline, &Theme::light()));
    timeline.set_path_only(true);
    check("timeline-path", &timeline_svg(&timeline, &Theme::dark()));
}

#[test]
fn aggregate_trace() {
    let (settings, wanted) = (DiagnosisSettings::default(), Aggregates::All);
    let traces = pool().run(queries::AggregateTraces { selection: slow(), settings, wanted }).unwrap();
    let has_parts = |trace: &&AggregateTrace| {
        trace.problem.is_some_and(|problem| trace.spans[problem.span as usize].subspans.len() > 2)
    };
    let (timeline, _) = Timeline::of_aggregate(traces.iter().find(has_parts).unwrap());
    check("aggregate", &timeline_svg(&timeline, &Theme::light()));
}

#[test]
fn timelines_of_an_anomalous_request_and_a_normal_one() {
    let mut pool = pool();
    let (train, test, settings) = (all(), slow(), AnomalySettings::default());
    let report = pool.run(queries::Anomalies { train, test, settings }).unwrap();
    let row = report.rows.iter().find(|row| row.nearest.is_some()).unwrap();
    let number = |id: &str| u64::from_str_radix(id, 16).unwrap();
    let nearest = number(&row.nearest.as_ref().unwrap().trace_id);
    let pair = align([trace(&mut pool, 1, number(&row.request.trace_id)), trace(&mut pool, 0, nearest)]);
    let signs = signs(&report, row, &pair);
    for ((side, signs), case) in pair.into_iter().zip(signs).zip(["pair-anomalous", "pair-normal"]) {
        let mut timeline = Timeline::new(side);
        timeline.set_signs(signs);
        check(case, &timeline_svg(&timeline, &Theme::light()));
    }
    check(
        "anomalies",
        &anomalies::chart::export_svg(&report, size(900, 300), &Theme::light(), "A slow database").unwrap(),
    );
}

#[test]
fn histograms() {
    let report = pool().run(queries::Histograms { selection: all() }).unwrap();
    check(
        "multiples",
        &multiples::export_svg(&report, None, size(1000, 320), &Theme::light(), "Sizes").unwrap(),
    );
    let (_, latency) = &report.distributions[0];
    let (least, most) = (latency.edges[0], *latency.edges.last().unwrap());
    let lines = [("p50", (least + most) as f64 / 2.0), ("p95", most as f64 * 0.95)];
    let bars = Bars::of(latency, AxisUnit::Count);
    let view = HistogramView { bars, range: Some(((least + most) / 2, most)), lines: &lines };
    check("histogram", &histogram::export_svg(&view, size(700, 240), &Theme::dark(), "Spans").unwrap());
}

#[test]
fn violins() {
    let report = pool()
        .run(queries::Split { selection: all(), of: SplitOf::Latency, key: "zone".to_owned(), sum: None })
        .unwrap();
    for (scale, case) in [(Scale::Log, "violin"), (Scale::Linear, "violin-linear")] {
        check(case, &violin::export_svg(&report, scale, size(800, 240), &Theme::light(), "By zone").unwrap());
    }
}

#[test]
fn curves_on_every_axis() {
    let latency = Axis::Latency { from_us: 1_000, to_us: 100_000 };
    let ratio = Axis::Ratio { from: 0.1, to: 10.0 };
    let shape = |bend: f64| (0..=20).map(move |i| f64::from(i) / 20.0).map(move |x| (x, x.powf(bend)));
    for (case, x, y) in [("curves-latency", latency, Axis::Share), ("curves-ratio", Axis::Share, ratio)] {
        let place = |(x, y): (f64, f64)| match case {
            "curves-ratio" => (x, 0.1 + 9.9 * y),
            _ => (1_000.0 + 99_000.0 * x, y),
        };
        let curve = |name, color, bend| NamedCurve {
            name,
            color: Rgba::hex(color),
            strong: bend > 1.0,
            points: shape(bend).map(place).collect(),
        };
        let curves = vec![curve("before", 0x1f77b4, 0.5), curve("after", 0xd62728, 2.0)];
        let rule = (case == "curves-ratio").then_some(1.0);
        let view = CurvesView { x: (x, "across"), y: (y, "up"), curves, rule, legend: Legend::TopLeft };
        check(case, &curves::export_svg(&view, size(640, 360), &Theme::light(), "Before and after").unwrap());
    }
}

#[test]
fn numbers_over_days() {
    // A day without a value, a change, and one panel of a single line without a name.
    let line = |name: &str, by: f64, change: Option<DayChange>| TrendLine {
        name: name.to_owned(),
        points: (0..7).map(|day| (day != 3).then_some((by * (100.0 + f64::from(day)), by))).collect(),
        change,
    };
    let change = |before_us, after_us| {
        Some(DayChange { day: 4, until: 7, before_us, after_us, p: 0.0, is_certain: true })
    };
    let changed =
        vec![line("p50", 10.0, change(1_000.0, 1_060.0)), line("p99", 40.0, change(4_000.0, 4_240.0))];
    let panel = |title: &str, note: &str, lines| Panel {
        title: title.to_owned(),
        note: note.to_owned(),
        is_changed: !note.is_empty(),
        is_dimmed: false,
        lines,
    };
    let panels = TrendPanels {
        days: (1..=7).map(|day| format!("2026-03-0{day}")).collect(),
        panels: vec![
            panel("gateway GET /cart", "+6 % since 2026-03-05", changed),
            panel("cart Get", "", vec![line("", 5.0, None)]),
        ],
    };
    let title = "Latency over days";
    for (enlarged, theme, case) in [(None, Theme::light(), "trend"), (Some(0), Theme::dark(), "trend-panel")]
    {
        let svg = trend::chart::export_svg(&panels, enlarged, size(900, 320), &theme, title);
        check(case, &svg.unwrap());
    }
}
