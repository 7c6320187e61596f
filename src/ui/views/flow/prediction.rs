//! How well six ways predict the latency of held-out invocations: Table 1 and both plots of Figure 2 of the paper.

use super::what_if::{export_size, export_theme};
use crate::ui::dom::{El, Keep, button, div, el};
use crate::ui::page::Page;
use crate::ui::widgets::export;
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::frame::WORKING;
use crate::ui::widgets::still_chart::StillChart;
use pathlight_chart::curves::{Axis, CurvesView, Legend, NamedCurve, draw, export_svg};
use pathlight_chart::{Rgba, Shade, Theme};
use pathlight_query::{Endpoint, EvaluationReport};
use pathlight_text::format;
use pathlight_text::format::counted;
use pathlight_view::json;

/// Calls that a parent must have: as here, and as in the paper.
const LEAST_CHILDREN: [u32; 2] = [2, 5];

/// The panel.
pub struct PredictionPanel {
    element: El,
    scopes: [El; 2],
    least: [El; 2],
    title: El,
    table: El,
    charts: [StillChart; 2],
    /// Answer and theme that are shown.
    shown: (u64, bool),
    _keep: Keep,
}

/// Colours that stay apart from each other; the two flows stand out.
fn color_of(method: usize, theme: &Theme) -> Rgba {
    match method {
        0 => theme.fill(Shade::Service(12)),
        1 => theme.fill(Shade::Service(30)),
        2 => theme.fill(Shade::Service(18)),
        3 => theme.muted,
        4 => theme.fill(Shade::Change(100)),
        _ => theme.accent,
    }
}

/// Both plots of Figure 2: estimate by actual latency in order, and the share of predictions within a factor.
#[derive(Clone, Copy)]
enum Plot {
    Ratios,
    Errors,
}

const PLOTS: [Plot; 2] = [Plot::Ratios, Plot::Errors];

fn with_view<T>(
    report: &EvaluationReport,
    plot: Plot,
    has_legend: bool,
    theme: &Theme,
    run: impl FnOnce(&CurvesView) -> T,
) -> T {
    let curves: Vec<NamedCurve> = (report.methods.iter().enumerate())
        .map(|(number, method)| {
            let values = match plot {
                Plot::Ratios => &method.ratios,
                Plot::Errors => &method.errors,
            };
            let last = values.len().saturating_sub(1).max(1) as f64;
            let points = (values.iter().enumerate())
                .map(|(at, value)| match plot {
                    Plot::Ratios => (at as f64 / last, *value),
                    Plot::Errors => (1.0 + *value, at as f64 / last),
                })
                .collect();
            NamedCurve { name: &method.name, color: color_of(number, theme), strong: number >= 4, points }
        })
        .collect();
    let (x, y, rule) = match plot {
        Plot::Ratios => (
            (Axis::Share, "share of predictions"),
            (Axis::Ratio { from: 0.1, to: 10.0 }, "estimated / actual"),
            Some(1.0),
        ),
        Plot::Errors => (
            (Axis::Ratio { from: 1.0, to: 10.0 }, "off by at most this factor"),
            (Axis::Share, "share of predictions"),
            None,
        ),
    };
    let legend = match plot {
        _ if !has_legend => Legend::Elsewhere,
        Plot::Ratios => Legend::TopLeft,
        Plot::Errors => Legend::BottomRight,
    };
    run(&CurvesView { x, y, curves: &curves, rule, legend })
}

/// An error as the paper writes it: two decimals.
fn error_text(error: f64) -> String {
    if error.is_finite() { format!("{error:.2}") } else { "\u{221e}".to_owned() }
}

impl PredictionPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> PredictionPanel {
        let keep = Keep::default();
        let way = |text: &str, test: &str, pooled: bool| {
            button(text)
                .test(test)
                .on_click(&keep, move || page.change(|address| address.choices.flow.pooled = pooled))
        };
        let scopes = [way("This parent", "of-parent", false), way("All parents", "of-all", true)];
        let least = LEAST_CHILDREN.map(|children| {
            button(&format!("\u{2265} {children} calls"))
                .attr("title", "Parents none of whose invocations has so many calls are left out")
                .test(&format!("least-{children}"))
                .on_click(&keep, move || {
                    page.change(|address| address.choices.flow.min_children = Some(children));
                })
        });
        let charts = [
            StillChart::new("ratio-chart", "Estimated by actual latency of every prediction, in order"),
            StillChart::new("error-chart", "Share of the predictions that are off by at most a factor"),
        ];
        let title = div("title muted").test("prediction-title");
        let segments = |label: &str, buttons: &[El; 2]| {
            div("segments").attr("role", "group").attr("aria-label", label).children(buttons)
        };
        let tools = div("tools")
            .child(&segments("Whose invocations", &scopes))
            .child(&segments("Least calls", &least))
            .child(&title)
            .child(&div("grow"))
            .child(&export::menu(page, &keep, "prediction", Some(charts[0].canvas().clone()), formats(page)));
        let table = div("prediction-table").test("prediction-table");
        let body = div("prediction-body").child(&table).children(charts.iter().map(StillChart::element));
        let element = div("prediction").test("prediction").child(&tools).child(&body);
        PredictionPanel {
            element,
            scopes,
            least,
            title,
            table,
            charts,
            shown: (u64::MAX, false),
            _keep: keep,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the answers.
    pub fn update(&mut self, page: Page) {
        let address = page.address();
        let choice = &address.choices.flow;
        for (button, pooled) in self.scopes.iter().zip([false, true]) {
            button.set_flag("aria-pressed", choice.pooled == pooled);
        }
        for (button, children) in self.least.iter().zip(LEAST_CHILDREN) {
            button.set_flag("aria-pressed", choice.least_children() == children);
            if choice.pooled { button.unset("disabled") } else { button.set("disabled", "") }
        }
        let slot = &page.queries().evaluation;
        self.element.class_if("stale", slot.is_waiting());
        let Some(report) = slot.get() else {
            self.title.set_text(WORKING);
            return;
        };
        for (chart, plot) in self.charts.iter().zip(PLOTS) {
            chart.paint(slot.revision(), |backend, size, theme| {
                with_view(&report, plot, false, theme, |view| draw(backend, view, size, theme))
            });
        }
        let now = (slot.revision(), export_theme().dark);
        if self.shown == now {
            return;
        }
        self.shown = now;
        let parent = match &report.parent {
            Some(Endpoint { service, operation }) => format::printable(&format::endpoint(service, operation)),
            None => counted(report.parents, "parent"),
        };
        self.title.set_text(&match report.test {
            0 => format!("{parent}: no invocation to test on"),
            test => format!(
                "{parent}: learned from {}, tested on {}",
                format::count(report.train),
                counted(test, "later invocation")
            ),
        });
        self.table.fill([&table_of(&report)]);
    }
}

fn table_of(report: &EvaluationReport) -> El {
    let head = ["", "50 %", "90 %", "95 %", "99 %"]
        .iter()
        .fold(el("tr"), |row, title| row.child(&el("th").class("num").attr("scope", "col").text(title)));
    let theme = export_theme();
    let body = el("tbody");
    for (number, method) in report.methods.iter().enumerate() {
        let swatch = div("swatch").styled("background", &color_of(number, &theme).css());
        let row = el("tr")
            .class(if number >= 4 { "strong" } else { "" })
            .test("method")
            .attr("data-method", &method.name)
            .child(&el("th").attr("scope", "row").child(&swatch).text(&method.name));
        let errors = [method.error.p50, method.error.p90, method.error.p95, method.error.p99];
        body.add(&errors.iter().fold(row, |row, error| {
            row.child(&el("td").class("num").attr("data-value", &error.to_string()).text(&error_text(*error)))
        }));
    }
    let caption = el("caption").text("Error: max / min \u{2212} 1 of estimated and actual latency");
    el("table").class("weights").child(&caption).child(&el("thead").child(&head)).child(&body)
}

fn formats(page: Page) -> Vec<export::Format> {
    let report = move || page.queries().evaluation.get();
    let chart = |plot: Plot, title: &'static str| -> Box<dyn Fn() -> Option<String>> {
        Box::new(move || {
            let theme = export_theme();
            let draw = |view: &CurvesView| export_svg(view, export_size(), &theme, title);
            with_view(&*report()?, plot, true, &theme, draw).ok()
        })
    };
    vec![
        ("SVG picture of the ratios", "ratios.svg", chart(Plot::Ratios, "Estimated by actual latency")),
        ("SVG picture of the errors", "errors.svg", chart(Plot::Errors, "Errors of predictions")),
        (
            "CSV table",
            "csv",
            Box::new(move || {
                let mut out = csv_line(&["method", "p50", "p90", "p95", "p99"].map(str::to_owned));
                for method in &report()?.methods {
                    let error = &method.error;
                    let mut cells = vec![method.name.clone()];
                    cells.extend([error.p50, error.p90, error.p95, error.p99].map(|e| e.to_string()));
                    out.push_str(&csv_line(&cells));
                }
                Some(out)
            }),
        ),
        ("JSON report", "json", Box::new(move || json::flow_evaluation(&*report()?).ok())),
    ]
}
