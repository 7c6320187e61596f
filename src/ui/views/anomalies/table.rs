//! Judged requests as a table, and the figures of the evaluation as another.

use super::{choice, open, sides};
use crate::ui::dom::{El, el};
use crate::ui::page::{Focus, Page};
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::table::{Column, Table, What, by_number, number};
use pathlight_query::{AnomalyReport, AnomalyRow, EvaluationTable};
use pathlight_text::format;

/// A judged request with the first reason in words.
pub struct AnomalyLine {
    /// The request.
    pub row: AnomalyRow,
    /// Why it is odd, in a sentence; empty of ordinary ones.
    pub why: String,
}

/// The lines of a report, the oddest first.
pub fn lines(report: &AnomalyReport) -> Vec<AnomalyLine> {
    let line = |row: &AnomalyRow| AnomalyLine {
        why: row.reasons.first().map_or_else(String::new, |reason| report.words(reason, format::duration)),
        row: row.clone(),
    };
    report.rows.iter().map(line).collect()
}

/// A p-value in three digits.
pub fn p_words(p: f64) -> String {
    if p >= 0.1 { format!("{p:.2}") } else { format!("{p:.4}") }
}

/// The table; a double click or Enter opens a timeline.
pub fn table(page: Page) -> Table<AnomalyLine> {
    let p = |line: &AnomalyLine| line.row.p_structure.min(line.row.p_time);
    let columns = vec![
        Column {
            key: "p",
            title: "p",
            hint: "Share of normal requests at least as odd, in structure or in time, whichever is smaller",
            class: "num",
            priority: 1,
            order: Some(|a: &AnomalyLine, b: &AnomalyLine| {
                let p = |line: &AnomalyLine| line.row.p_structure.min(line.row.p_time);
                by_number(p(a), p(b))
            }),
            cell: Box::new(move |line: &AnomalyLine| What::Number(p_words(p(line)), p(line).to_string())),
        },
        Column {
            key: "what",
            title: "What",
            hint: "Whether it is abnormal, and in what",
            class: "what muted",
            priority: 2,
            order: None,
            cell: Box::new(|line: &AnomalyLine| {
                let word = match (line.row.is_abnormal, line.row.p_structure <= line.row.p_time) {
                    (false, _) => "normal",
                    (true, true) => "structure",
                    (true, false) => "time",
                };
                What::Text(word.to_owned())
            }),
        },
        Column {
            key: "why",
            title: "Why",
            hint: "The strongest reason",
            class: "wide",
            priority: 1,
            order: Some(|a: &AnomalyLine, b: &AnomalyLine| a.why.cmp(&b.why)),
            cell: Box::new(|line: &AnomalyLine| What::Text(format::printable(&line.why))),
        },
        number!(
            "latency",
            "Latency",
            "Duration of the request",
            "num" 1,
            |line: &AnomalyLine| line.row.request.latency_us,
            format::duration_us
        ),
        number!(
            "start",
            "Start (UTC)",
            "When it began",
            "num moment" 3,
            |line: &AnomalyLine| line.row.start_us,
            |us: u64| format::moment(us / 1000 * 1000)
        ),
    ];
    let table = Table::new(
        "anomaly-table",
        "Requests, the oddest first",
        ("p", false),
        columns,
        |line: &AnomalyLine| {
            vec![
                ("data-test", "anomaly".to_owned()),
                ("data-trace", line.row.request.trace_id.clone()),
                ("data-abnormal", line.row.is_abnormal.to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let (rows, again) = (table.clone(), table.clone());
    table
        .on_select(move |at| {
            if let Some(line) = rows.rows().get(at) {
                page.set_focus(Focus::Request(choice(&line.row.request)));
            }
        })
        .on_open(move |at| {
            if let Some(line) = again.rows().get(at) {
                open(page, &line.row.request, sides(page).1.group);
            }
        })
}

/// The figures of the evaluation.
pub fn evaluation(table: &EvaluationTable) -> El {
    let heads = [
        ("Detector", false),
        ("Vectors", false),
        ("Made abnormal by", false),
        ("AUPRC", true),
        ("Precision", true),
        ("Recall", true),
        ("False alarms", true),
        ("Features", true),
        ("Training", true),
        ("Scoring", true),
    ];
    let class = |is_number: bool| if is_number { "num" } else { "" };
    let head = el("tr");
    for (name, is_number) in heads {
        head.add(&el("th").class(class(is_number)).attr("scope", "col").text(name));
    }
    let body = el("tbody");
    for row in &table.rows {
        let ms = |ms: Option<f64>| ms.map_or(format::DASH.to_owned(), |ms| format::duration(ms * 1e3));
        let accuracy = &row.accuracy;
        let cells = [
            row.detector.name().to_owned(),
            row.encoding.name().to_owned(),
            row.injection.name(),
            format!("{:.4}", accuracy.auprc),
            format!("{:.3}", accuracy.precision),
            format!("{:.3}", accuracy.recall),
            format!("{} of {}", format::count(accuracy.false_alarms), format::count(accuracy.normal)),
            format::count(row.features),
            ms(row.train_ms),
            ms(row.score_ms),
        ];
        let line = el("tr").test("evaluation-row");
        for (text, (_, is_number)) in cells.iter().zip(heads) {
            line.add(&el("td").class(class(is_number)).text(text));
        }
        body.add(&line);
    }
    let grid = el("table").class("evaluation").child(&el("thead").child(&head)).child(&body);
    el("div").class("evaluation-scroll").child(&grid)
}

/// The judged requests as comma-separated values.
pub fn csv(report: &AnomalyReport) -> String {
    let heads = [
        "trace_id",
        "root_span_id",
        "start_us",
        "latency_us",
        "p_structure",
        "p_time",
        "abnormal",
        "reasons",
        "nearest_trace_id",
    ];
    let mut out = csv_line(&heads.map(str::to_owned));
    for row in &report.rows {
        let reasons: Vec<String> =
            row.reasons.iter().map(|reason| report.words(reason, format::duration)).collect();
        out.push_str(&csv_line(&[
            row.request.trace_id.clone(),
            row.request.root_span_id.clone(),
            row.start_us.to_string(),
            row.request.latency_us.to_string(),
            row.p_structure.to_string(),
            row.p_time.to_string(),
            row.is_abnormal.to_string(),
            reasons.join("; "),
            row.nearest.as_ref().map_or_else(String::new, |nearest| nearest.trace_id.clone()),
        ]));
    }
    out
}
