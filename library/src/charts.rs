//! Charts as SVG documents: the layouts of the page, drawn for a file.

use crate::answers::{Asked, CompareOptions, HeatmapOptions};
use crate::options::{self, Which, options};
use crate::sets::LoadedSet;
use crate::trouble::{Trouble, TroubleKind};
use pathlight_engine::queries;
use pathlight_engine::requests::Selection;
use pathlight_trace::PathSettings;
use pathlight_view::address::choices::Choices;
use pathlight_view::compare::DiffSource;
use pathlight_view::draw::plot::ChartSize;
use pathlight_view::draw::{Metrics, Theme, Window, multiples};
use pathlight_view::flame::FlameSource;
use pathlight_view::flame::chart::{DiffOptions, FlameView, Inverted};
use pathlight_view::heatmap::chart::HeatModel;
use pathlight_view::timeline::chart::{Timeline, TimelineShown};
use pathlight_view::{flame, flow, heatmap, timeline};
use serde::Deserialize;
use std::rc::Rc;

/// Width of a chart in pixels unless the options say otherwise.
const WIDTH_PX: u32 = 1_200;
/// Columns of a heat map: more cannot be distinguished at such a width.
const COLUMNS: u32 = 400;
/// Narrowest and widest chart, in pixels.
const WIDTHS_PX: std::ops::RangeInclusive<u32> = 200..=10_000;

/// A chart by the name that `svg` takes, and what it shows.
pub const CHARTS: &[(&str, &str)] = &[
    ("flame", "flame graph of the critical paths"),
    ("callers", "the same upside down: endpoints with who calls them"),
    (
        "difference",
        "flame graph of what differs from another set (option `baseline`), or between two percentile ranges",
    ),
    ("heatmap", "endpoints against requests"),
    ("histograms", "sizes of requests"),
    ("services", "map of services"),
    ("timeline", "one trace (option `traceId`)"),
];

/// Colours of a chart.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Colours {
    /// For a light page.
    #[default]
    Light,
    /// For a dark page.
    Dark,
}

options! {
    /// Options of a chart.
    ChartOptions {
        /// Width in pixels, 1200 unless set, 200 to 10,000; a map of services has its own
        width: Option<u32>,
        /// Colours, light unless set
        theme: Option<Colours>,
        /// Title, read by screen readers and shown as a tip
        title: Option<String>,
        /// `timeline`: the trace
        trace_id: Option<String>,
        /// `heatmap`: columns at most, 400 unless set
        columns: Option<u32>,
        /// `difference`: percentiles of latency of side A
        range_a: Option<String>,
        /// `difference`: percentiles of latency of side B
        range_b: Option<String>,
        /// `difference`: shares of each side's latency in place of microseconds per request
        share: bool,
        /// `difference`: the self time of frames in place of their total time
        exclusive: bool,
    }
}

/// Draws a chart by name; `options` are JSON, see `ChartOptions`.
///
/// # Errors
/// As [`answer`](crate::answer).
pub fn draw(
    chart: &str,
    options: &str,
    set: &mut LoadedSet,
    other: Option<&mut LoadedSet>,
) -> Result<String, Trouble> {
    let options: ChartOptions = options::read(options)?;
    let width = options.width.unwrap_or(WIDTH_PX);
    if !WIDTHS_PX.contains(&width) {
        return Err(Trouble::option("width is a whole number from 200 to 10000"));
    }
    let theme = match options.theme.unwrap_or_default() {
        Colours::Light => Theme::light(),
        Colours::Dark => Theme::dark(),
    };
    let paper = Paper { width: width as i32, theme, title: options.title.clone() };
    let asked = &mut Asked::of(set, other);
    if asked.has_other() && !matches!(chart, "difference" | "services") {
        return Err(Trouble::option(format!("{chart} takes no second set")));
    }
    match chart {
        "flame" => {
            let report = critical_path(asked, options.requests())?;
            Ok(paper.flame(&report, "Flame graph: critical path"))
        }
        "callers" => {
            let report = critical_path(asked, options.requests())?;
            let mut inverted = Inverted::new(&report);
            inverted.expand_visible(&report, Window::full(inverted.total_us()), paper.width, 2, u32::MAX);
            let tree = inverted.tree();
            let title = paper.title("Flame graph: critical path, callers");
            let words = flame::chart::FlameWords::of_times(&tree, title);
            Ok(flame::chart::export_svg(&tree, &view(tree.full()), paper.width, &paper.theme, &words))
        }
        "difference" => {
            let ChartOptions { asked: named, until, range_a, range_b, share, exclusive, .. } = options;
            let compared = CompareOptions { asked: named, until, range_a, range_b, share, exclusive };
            let diff = DiffOptions {
                basis: compared.basis(),
                measure: compared.measure(),
                ..DiffOptions::default()
            };
            let report = Rc::new(asked.compared(&compared)?);
            let source = DiffSource::new(report, &Choices { diff, ..Choices::default() });
            Ok(paper.flame(&source, "Flame graph: A against B"))
        }
        "heatmap" => {
            let ChartOptions { asked: named, until, columns, .. } = options;
            let of = HeatmapOptions { asked: named, until, columns, order: None };
            let model = HeatModel::new(&asked.heatmap(&of, COLUMNS)?);
            let rows: Vec<_> = (0..model.rows()).map(pathlight_engine::ids::ReportEndpoint).collect();
            let (window, title) =
                (Window::full(model.columns().into()), paper.title("Heat map of the critical path"));
            Ok(heatmap::chart::export_svg(&model, &rows, window, paper.width, &paper.theme, title))
        }
        "histograms" => {
            let selection = asked.selected(options.requests())?;
            let report = asked.ask(queries::Histograms { selection })?;
            let size =
                ChartSize { width: paper.width, height: paper.width * 2 / 5, metrics: Metrics::default() };
            multiples::export_svg(&report, None, size, &paper.theme, paper.title("Sizes of requests"))
                .map_err(|error| Trouble::option(error.to_string()))
        }
        "services" => {
            let (selection, baseline) = asked.with_baseline(options.requests())?;
            let report = asked.ask(queries::ServiceMap { selection, baseline })?;
            Ok(flow::map::chart::export_svg(&report, &paper.theme))
        }
        "timeline" => paper.timeline(asked, options),
        unknown => {
            let known: Vec<&str> = CHARTS.iter().map(|(name, _)| *name).collect();
            Err(Trouble::option(format!("there is no chart {unknown}; there are {}", known.join(", "))))
        }
    }
}

fn critical_path(
    asked: &mut Asked,
    which: Which,
) -> Result<pathlight_engine::flame::CriticalPathReport, Trouble> {
    let selection = asked.selected(which)?;
    asked.ask(queries::CriticalPath { selection })
}

fn view(window: Window) -> FlameView<'static> {
    FlameView { window, scroll_px: 0, selected: None, hovered: None, matches: None }
}

/// What every chart is drawn by.
struct Paper {
    width: i32,
    theme: Theme,
    title: Option<String>,
}

impl Paper {
    fn title<'a>(&'a self, usual: &'a str) -> &'a str {
        self.title.as_deref().unwrap_or(usual)
    }

    fn flame(&self, source: &impl FlameSource, title: &str) -> String {
        let tree = source.tree();
        let words = source.words(&tree, self.title(title));
        flame::chart::export_svg(&tree, &view(tree.full()), self.width, &self.theme, &words)
    }

    fn timeline(&self, asked: &mut Asked, options: ChartOptions) -> Result<String, Trouble> {
        let Some(trace_id) = options.trace_id else {
            return Err(Trouble::option("timeline needs the option traceId"));
        };
        let Selection { overlap, reading, .. } = Selection::default();
        let settings = PathSettings { overlap, reading, by_service: false };
        let query = queries::Trace {
            group: 0,
            trace_id: trace_id.clone(),
            root_span_id: None,
            settings,
            has_pressures: false,
        };
        let Some(report) = asked.ask(query)? else {
            let (words, next) = (
                format!("There is no trace {trace_id}."),
                "Take a trace id of this set, as answers have them: lower-case hexadecimal.",
            );
            return Err(Trouble::new(TroubleKind::NoRequests, words, next));
        };
        let timeline = Timeline::new(report);
        let view = TimelineShown::plain(timeline.full());
        let title = timeline.title();
        Ok(timeline::chart::export_svg(&timeline, &view, self.width, &self.theme, self.title(&title)))
    }
}
