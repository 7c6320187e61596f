//! The accuracy of six predictions of the latency of held-out invocations: Table 1 and both plots of Figure 2 of the paper on
//! execution flows.

use crate::draw::curves::{Axis, CurvesView, Legend, NamedCurve};
use crate::draw::{Rgba, Shade, Theme};
use crate::table::{Column, csv};
use pathlight_base::format::{self, count, counted, printable, share};
use pathlight_engine::flow::{ErrorQuantiles, EvaluationReport, MethodErrors};
use pathlight_trace::Endpoint;

/// Calls that a parent must have to choose from: as here, and as in the paper.
pub const LEAST_CHILDREN: [u32; 2] = [2, 5];

/// Caption of the table.
pub const CAPTION: &str = "Error: max / min \u{2212} 1 of estimated and actual latency";

/// Heads of the quantiles of errors.
pub const HEADS: [&str; 4] = ["50 %", "90 %", "95 %", "99 %"];

/// The plots of Figure 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionPlot {
    /// Estimate by actual latency, in order.
    Ratios,
    /// The share of predictions within a factor.
    Errors,
}

impl PredictionPlot {
    /// Both, in the order of the figure.
    pub const ALL: [PredictionPlot; 2] = [PredictionPlot::Ratios, PredictionPlot::Errors];

    /// Returns what screen readers call it.
    pub fn label(self) -> &'static str {
        match self {
            PredictionPlot::Ratios => "Estimated by actual latency of every prediction, in order",
            PredictionPlot::Errors => "Share of the predictions that are off by at most a factor",
        }
    }

    /// Returns the title of the exported chart.
    pub fn title(self) -> &'static str {
        match self {
            PredictionPlot::Ratios => "Estimated by actual latency",
            PredictionPlot::Errors => "Errors of predictions",
        }
    }
}

/// Returns the colour of a predictor by its place; they stay apart from each other, and the two flows stand out.
pub fn color_of(method: usize, theme: &Theme) -> Rgba {
    match method {
        0 => theme.fill(Shade::Service(12)),
        1 => theme.fill(Shade::Service(30)),
        2 => theme.fill(Shade::Service(18)),
        3 => theme.muted,
        4 => theme.fill(Shade::Change(100)),
        _ => theme.accent,
    }
}

/// Returns whether a predictor, by its place, is one of the two flows.
pub fn is_flow(method: usize) -> bool {
    method >= 4
}

/// Returns what a plot shows, with a legend for where the table does not stand beside it.
pub fn curves<'a>(
    report: &'a EvaluationReport,
    plot: PredictionPlot,
    has_legend: bool,
    theme: &Theme,
) -> CurvesView<'a> {
    let curve = |(number, method): (usize, &'a MethodErrors)| {
        let values = match plot {
            PredictionPlot::Ratios => &method.ratios,
            PredictionPlot::Errors => &method.errors,
        };
        let last = values.len().saturating_sub(1).max(1) as f64;
        let points = values.iter().enumerate().map(|(at, value)| match plot {
            PredictionPlot::Ratios => (at as f64 / last, *value),
            PredictionPlot::Errors => (1.0 + *value, at as f64 / last),
        });
        NamedCurve {
            name: &method.name,
            color: color_of(number, theme),
            strong: is_flow(number),
            points: points.collect(),
        }
    };
    let curves = report.methods.iter().enumerate().map(curve).collect();
    let predictions = (Axis::Share, "share of predictions");
    let legend = |of| if has_legend { of } else { Legend::Elsewhere };
    match plot {
        PredictionPlot::Ratios => CurvesView {
            x: predictions,
            y: (Axis::Ratio { from: 0.1, to: 10.0 }, "estimated / actual"),
            curves,
            rule: Some(1.0),
            legend: legend(Legend::TopLeft),
        },
        PredictionPlot::Errors => CurvesView {
            x: (Axis::Ratio { from: 1.0, to: 10.0 }, "off by at most this factor"),
            y: predictions,
            curves,
            rule: None,
            legend: legend(Legend::BottomRight),
        },
    }
}

/// Returns the title: whose invocations, how many were learned from and how many predicted.
pub fn title(report: &EvaluationReport) -> String {
    let parent = match &report.parent {
        Some(Endpoint { service, operation }) => printable(&format::endpoint(service, operation)),
        None => counted(report.parents, "parent"),
    };
    match report.test {
        0 => format!("{parent}: no invocation to test on"),
        test => format!(
            "{parent}: learned from {}, tested on {}",
            count(report.train),
            counted(test, "later invocation")
        ),
    }
}

fn quantiles(error: &ErrorQuantiles) -> [f64; 4] {
    [error.p50, error.p90, error.p95, error.p99]
}

/// Returns the errors of a predictor below [`HEADS`]: as the paper writes them, with two decimals, and with all of their
/// digits.
pub fn errors(method: &MethodErrors) -> [(String, String); 4] {
    let words = |error: f64| if error.is_finite() { format!("{error:.2}") } else { "\u{221e}".to_owned() };
    quantiles(&method.error).map(|error| (words(error), error.to_string()))
}

/// Returns the table as comma-separated values.
pub fn prediction_csv(report: &EvaluationReport) -> String {
    let columns = [
        Column::text_field("method", |method: &MethodErrors| method.name.as_str().into()),
        Column::field("p50", |method| method.error.p50.into()),
        Column::field("p90", |method| method.error.p90.into()),
        Column::field("p95", |method| method.error.p95.into()),
        Column::field("p99", |method| method.error.p99.into()),
    ];
    csv(&columns, &report.methods)
}

/// Returns how far the model is off on held-out invocations; `None`: that is being worked on.
pub fn back_test_words(report: Option<&EvaluationReport>) -> String {
    let Some(report) = report else { return "Testing the model on held-out invocations\u{2026}".to_owned() };
    let Some(error) = report.flow_error() else {
        return "There is no held-out invocation to test the model on.".to_owned();
    };
    let (median, most) = (off_words(error.p50), off_words(error.p90));
    let most = if most == median { String::new() } else { format!("{most} ") };
    format!(
        "Back-tested on {} of {}, the model is {median} in the median and {most}at the 90th percentile.",
        counted(report.test, "held-out invocation"),
        counted(report.parents, "parent"),
    )
}

/// Returns how far a prediction is off: `off by 12.5 %`, or `exact`, since an error of nothing reads like a fault.
pub fn off_words(error: f64) -> String {
    match error {
        0.0 => "exact".to_owned(),
        error if error.is_finite() => format!("off by {}", share(error)),
        _ => "off by \u{221e}".to_owned(),
    }
}
