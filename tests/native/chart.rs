//! Pictures of analysed traces: what is drawn agrees with what was measured.

use crate::common::{load, real_files};
use pathlight::engine::flame::{CriticalPathReport, TraceReport};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{Defects, GenerateOptions, Shape, write_jaeger};
use pathlight::ingest::{self, Reader};
use pathlight::trace::{PathSettings, TraceSet};
use pathlight::view::draw::text::Advances;
use pathlight::view::draw::{Metrics, Theme};
use pathlight::view::flame::chart::{FlameTree, FlameView, Inverted, Matches, endpoint_rows};
use pathlight::view::timeline::chart::{Minimap, Timeline, TimelineShown, TimelineSize};
use pathlight::view::{flame, timeline};

fn generated(options: &GenerateOptions) -> NativePool {
    let mut json = Vec::new();
    write_jaeger(options, &mut json).unwrap();
    let mut set = TraceSet::new();
    let mut reader = Reader::new("generated.json", ingest::ReadOptions::default());
    reader.feed(&json, &mut set).unwrap();
    reader.finish(&mut set);
    set.seal().unwrap();
    NativePool::of(vec![set]).unwrap()
}

fn critical_path(pool: &mut NativePool) -> CriticalPathReport {
    pool.run(queries::CriticalPath { selection: Selection::default() }).unwrap()
}

/// Returns the traces of the slowest requests.
fn traces(pool: &mut NativePool, limit: u32) -> Vec<TraceReport> {
    let query = queries::Requests { selection: Selection::default(), limit };
    let requests = pool.run(query).unwrap();
    let mut trace = |row: &pathlight::engine::flame::RequestRow| {
        let query = queries::Trace {
            group: 0,
            trace_id: row.trace_id.clone(),
            root_span_id: Some(row.root_span_id.clone()),
            settings: PathSettings::default(),
            has_pressures: true,
        };
        pool.run(query).unwrap().unwrap()
    };
    requests.rows.iter().map(&mut trace).collect()
}

fn all_of(tree: &FlameTree) -> FlameView<'static> {
    FlameView { window: tree.full(), scroll_px: 0, selected: None, hovered: None, matches: None }
}

/// Checks that every opened element is closed, in order, and text holds no markup.
fn check_xml(svg: &str) {
    let mut open = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').expect("a tag ends");
        assert!(!text.contains('>'), "{text}");
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

fn check_flame(report: &CriticalPathReport) {
    let tree = FlameTree::of_report(report);
    assert_eq!(
        u128::from(tree.total_us()),
        report.facts.latency_sum_us,
        "the flame graph is all latency of the percentile range"
    );
    let inverted = Inverted::new(report);
    assert_eq!(inverted.total_us(), tree.total_us(), "callers divide the same time");
    let rows = endpoint_rows(report);
    assert_eq!(rows.iter().map(|row| row.exclusive_us).sum::<u128>(), u128::from(tree.total_us()));
    // A search for one endpoint finds what its row says, as long as no other endpoint is found with it.
    for row in rows.iter().take(5) {
        let label = &tree.frames()[row.endpoint.index()].label;
        let holds = |other: &str| {
            let other = other.to_lowercase();
            label.to_lowercase().split(' ').all(|word| other.contains(word))
        };
        let matches = Matches::find(&tree, |frame| holds(&frame.label));
        if tree.frames().iter().filter(|frame| holds(&frame.label)).count() == 1 {
            assert_eq!(u128::from(matches.matched_us()), row.subtree_us, "{label}");
        }
    }
    let words = flame::chart::FlameWords::of_times(&tree, "Flame <graph>");
    check_xml(&flame::chart::export_svg(&tree, &all_of(&tree), 1200, &Theme::light(), &words));
}

fn check_timeline(report: TraceReport) {
    let mut timeline = Timeline::new(report);
    let size = TimelineSize::new(1300, 2_000_000, 300, Metrics::default());
    let view = TimelineShown {
        window: timeline.full(),
        scroll_px: 0,
        selected: None,
        hovered: None,
        matches: None,
        slack: false,
    };
    let (mut label, mut small) = (Advances { font_px: 12.0 }, Advances { font_px: 11.0 });
    let layout = timeline::chart::layout(&timeline, &view, size, &mut label, &mut small);
    assert_eq!(layout.rows.len(), timeline.len());
    let report = timeline.report();
    // Marks stand only in rows on the path, and together they cover the request's root from end to end.
    let mut covered = vec![false; 1300];
    for row in &layout.rows {
        let marks = &layout.marks[row.marks.clone()];
        assert!(marks.is_empty() || timeline.bit(row.span, TraceReport::ON_PATH));
        for mark in marks {
            covered[mark.x as usize..(mark.x + mark.w) as usize].fill(true);
        }
    }
    let first = report.segment_start_us.first().copied();
    let last = report.segment_end_us.last().copied();
    if let (Some(first), Some(last)) = (first, last) {
        let px = |us| 300 + view.window.pixel(us, 1000).clamp(0, 1000) as usize;
        assert!(covered[px(first)..px(last)].iter().all(|&c| c), "{}", report.trace_id);
    }
    assert_eq!(Minimap::new(&timeline, 500).active.len(), 500);
    check_xml(&timeline::chart::export_svg(&timeline, &view, 1000, &Theme::dark(), "A & B"));
    // Closed, the root carries the whole path.
    timeline.open_to(Some(0));
    let layout = timeline::chart::layout(&timeline, &view, size, &mut label, &mut small);
    assert!(layout.rows.len() <= timeline.len());
    check_xml(&timeline::chart::export_svg(&timeline, &view, 1000, &Theme::light(), "A & B"));
}

#[test]
fn pictures_of_generated_traces_agree_with_the_numbers() {
    for shape in [Shape::Mixed, Shape::Wide, Shape::Deep] {
        for defects in [Defects::default(), Defects::ALL] {
            let mut pool = generated(&GenerateOptions {
                spans: 60,
                traces: 60,
                shape,
                defects,
                ..GenerateOptions::default()
            });
            check_flame(&critical_path(&mut pool));
            for report in traces(&mut pool, 10) {
                check_timeline(report);
            }
        }
    }
}

#[test]
fn pictures_of_real_traces_agree_with_the_numbers() {
    for file in real_files(&["dsb-socialnetwork", "jaeger-ui-fixtures", "traceweaver-hotel"], 26) {
        let mut pool = NativePool::of(vec![load(&file, 1 << 16)]).unwrap();
        check_flame(&critical_path(&mut pool));
        for report in traces(&mut pool, 3) {
            check_timeline(report);
        }
    }
}

#[test]
fn one_trace_of_many_spans_is_laid_out_a_window_at_a_time() {
    for shape in [Shape::Wide, Shape::Deep] {
        let mut pool =
            generated(&GenerateOptions { spans: 30_000, traces: 1, shape, ..GenerateOptions::default() });
        let timeline = Timeline::new(traces(&mut pool, 1).remove(0));
        assert_eq!(timeline.len(), 30_000);
        let size = TimelineSize::new(1000, 600, 200, Metrics::default());
        let (mut label, mut small) = (Advances { font_px: 12.0 }, Advances { font_px: 11.0 });
        for scroll_px in [0, size.scroll_end(&timeline) / 2, size.scroll_end(&timeline)] {
            let view = TimelineShown {
                window: timeline.full(),
                scroll_px,
                selected: None,
                hovered: None,
                matches: None,
                slack: false,
            };
            let layout = timeline::chart::layout(&timeline, &view, size, &mut label, &mut small);
            assert!((26..=28).contains(&layout.rows.len()));
            assert!(layout.marks.len() < 28 * 800);
        }
    }
}
