//! What if some calls were faster, slower, gone, or side by side: the whole request before and after.

use super::changes::ChangeControls;
use crate::ui::dom::{El, Keep, div, el, span};
use crate::ui::page::{Focus, Page};
use crate::ui::widgets::export;
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::frame::WORKING;
use crate::ui::widgets::names;
use crate::ui::widgets::still_chart::StillChart;
use pathlight_chart::curves::{Axis, CurvesView, Legend, NamedCurve, draw, export_svg};
use pathlight_chart::plot::ChartSize;
use pathlight_chart::{Metrics, Shade, Theme};
use pathlight_query::{Endpoint, EvaluationReport, FlowReport, WhatIfReport};
use pathlight_text::format;
use pathlight_text::format::counted;
use pathlight_view::json;
use std::rc::Rc;

/// Endpoints listed of those whose share changed.
const LISTED: usize = 12;

/// The panel.
pub struct WhatIfPanel {
    element: El,
    exports: El,
    changes: ChangeControls,
    chart: StillChart,
    figures: El,
    back_test: El,
    endpoints: El,
    /// Answers and back-test that are shown.
    shown: (u64, u64),
    keep: Keep,
    _own: Keep,
}

/// Both curves: share of the requests at most so long.
fn with_view<T>(report: &WhatIfReport, theme: &Theme, run: impl FnOnce(&CurvesView) -> T) -> T {
    let points = |curve: &[f64]| {
        let last = curve.len().saturating_sub(1).max(1) as f64;
        curve.iter().enumerate().map(|(at, us)| (*us, at as f64 / last)).collect()
    };
    let ends = || [&report.before_curve_us, &report.after_curve_us].into_iter().flatten().copied();
    let from_us = ends().fold(f64::INFINITY, f64::min);
    let to_us = ends().fold(0.0, f64::max);
    let from_us = if from_us.is_finite() { from_us as u64 } else { 0 };
    let curves = [
        NamedCurve {
            name: "before",
            color: theme.muted,
            strong: false,
            points: points(&report.before_curve_us),
        },
        NamedCurve {
            name: "after",
            color: theme.fill(Shade::Change(100)),
            strong: true,
            points: points(&report.after_curve_us),
        },
    ];
    run(&CurvesView {
        x: (Axis::Latency { from_us, to_us: (to_us as u64).max(from_us + 1) }, "latency of the request"),
        y: (Axis::Share, "share of requests"),
        curves: &curves,
        rule: None,
        legend: Legend::TopLeft,
    })
}

/// The room of an exported chart.
pub fn export_size() -> ChartSize {
    ChartSize { width: 900, height: 420, metrics: Metrics::default() }
}

/// The theme of an exported picture: that of the page.
pub fn export_theme() -> Theme {
    let root = crate::ui::dom::root().and_then(|root| root.get_attribute("data-theme"));
    if root.as_deref() == Some("dark") { Theme::dark() } else { Theme::light() }
}

/// An error as a share, or in words if it has none.
pub fn error_words(error: f64) -> String {
    if error.is_finite() { format::share(error) } else { "\u{221e}".to_owned() }
}

/// How far the model is off on held-out invocations.
pub fn back_test_words(report: Option<&EvaluationReport>) -> String {
    let Some(report) = report else { return "Testing the model on held-out invocations\u{2026}".to_owned() };
    match report.flow_error() {
        Some(error) => format!(
            "Back-tested on {} held-out {} of {}, the model is off by {} in the median and {} at the 90th percentile.",
            format::count(report.test),
            if report.test == 1 { "invocation" } else { "invocations" },
            counted(report.parents, "parent"),
            error_words(error.p50),
            error_words(error.p90)
        ),
        None => "There is no held-out invocation to test the model on.".to_owned(),
    }
}

fn percentiles(report: &WhatIfReport) -> [(&'static str, f64, f64); 4] {
    let (a, b) = (&report.before_us, &report.after_us);
    [("p50", a.p50, b.p50), ("p95", a.p95, b.p95), ("p99", a.p99, b.p99), ("mean", a.mean, b.mean)]
}

impl WhatIfPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> WhatIfPanel {
        let own = Keep::default();
        let changes = ChangeControls::new(page);
        let chart = StillChart::new("whatif-chart", "Latency of the request before and after the changes");
        let exports = export::menu(page, &own, "what-if", Some(chart.canvas().clone()), formats(page));
        let figures = div("whatif-figures").test("whatif-figures");
        let back_test = el("p").class("muted small").test("whatif-error");
        let endpoints = div("whatif-endpoints").test("whatif-endpoints");
        let facts = div("whatif-facts").child(&figures).child(&back_test).child(&endpoints);
        let middle = div("whatif-chart").child(chart.element());
        let exports = div("").test("whatif-tools").child(&exports);
        let element = div("whatif").test("whatif").child(changes.element()).child(&middle).child(&facts);
        WhatIfPanel {
            element,
            exports,
            changes,
            chart,
            figures,
            back_test,
            endpoints,
            shown: (u64::MAX, u64::MAX),
            keep: Keep::default(),
            _own: own,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Its export menu, which stands above it.
    pub fn exports(&self) -> &El {
        &self.exports
    }

    /// Follows the flow, the selected node and the answers.
    pub fn update(&mut self, page: Page, flow: &Rc<FlowReport>, selected: Option<u32>) {
        self.changes.update(page, flow, selected);
        let queries = page.queries();
        let now = (queries.what_if.revision(), queries.back_test.revision());
        if let Some(report) = queries.what_if.get() {
            self.chart.paint(now.0, |backend, size, theme| {
                with_view(&report, theme, |view| draw(backend, view, size, theme))
            });
            if self.shown != now {
                self.show(page, &report);
            }
        } else {
            self.figures.set_text(WORKING);
        }
        self.back_test.set_text(&back_test_words(queries.back_test.fresh().as_deref()));
        self.shown = now;
    }

    fn show(&self, page: Page, report: &WhatIfReport) {
        self.keep.clear();
        let head = ["", "before", "after", "change"]
            .iter()
            .fold(el("tr"), |row, title| row.child(&el("th").class("num").attr("scope", "col").text(title)));
        let body = el("tbody");
        for (name, before, after) in percentiles(report) {
            let cell = |us: f64, test: String| {
                let text = format::duration(us);
                el("td").class("num").test(&test).attr("data-value", &us.to_string()).text(&text)
            };
            let change =
                if before == after { format::DASH.to_owned() } else { format::change(after - before) };
            body.add(
                &el("tr")
                    .child(&el("th").attr("scope", "row").text(name))
                    .child(&cell(before, format!("before-{name}")))
                    .child(&cell(after, format!("after-{name}")))
                    .child(&el("td").class("num").text(&change)),
            );
        }
        let table = el("table").class("weights").child(&el("thead").child(&head)).child(&body);
        let words = format!(
            "{} of {} requests change.",
            format::count(report.changed),
            format::count(report.requests)
        );
        self.figures.fill([&table, &el("p").class("muted small").text(&words)]);
        self.endpoints.clear();
        let changed: Vec<_> = report.endpoints.iter().filter(|e| e.before_us != e.after_us).collect();
        if changed.is_empty() {
            return;
        }
        self.endpoints.add(&el("h3").text("Share of the latency, before and after"));
        let list = el("ul");
        for row in changed.iter().take(LISTED) {
            let endpoint = Endpoint::new(&row.service, &row.operation);
            let name = crate::ui::dom::button("")
                .class("link")
                .child(&names::endpoint(&row.service, &row.operation))
                .on_click(&self.keep, move || page.set_focus(Focus::Endpoint(endpoint.clone())));
            let shares =
                format!("{} \u{2192} {}", format::share(row.before_share), format::share(row.after_share));
            list.add(&el("li").child(&name).child(&span("num", &shares)));
        }
        self.endpoints.add(&list);
    }
}

fn formats(page: Page) -> Vec<export::Format> {
    let report = move || page.queries().what_if.get();
    vec![
        (
            "SVG picture",
            "svg",
            Box::new(move || {
                let theme = export_theme();
                with_view(&*report()?, &theme, |view| export_svg(view, export_size(), &theme, "What if")).ok()
            }),
        ),
        (
            "CSV table",
            "csv",
            Box::new(move || {
                let mut out = csv_line(&["quantile", "before_us", "after_us"].map(str::to_owned));
                for (name, before, after) in percentiles(&*report()?) {
                    out.push_str(&csv_line(&[name.to_owned(), before.to_string(), after.to_string()]));
                }
                Some(out)
            }),
        ),
        (
            "JSON report",
            "json",
            Box::new(move || json::what_if(&*report()?, page.queries().back_test.fresh().as_deref()).ok()),
        ),
    ]
}
