//! The companion table of the violins: every value of the tag, against the first.

use crate::ui::page::Page;
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::table::{Column, Table, What, by_number, number};
use pathlight_query::{Ratio, SplitReport, SplitValue};
use pathlight_text::format;
use std::cmp::Ordering;

fn ratio(
    key: &'static str,
    title: &'static str,
    hint: &'static str,
    priority: u8,
    of: fn(&SplitValue) -> &Ratio,
    order: fn(&SplitValue, &SplitValue) -> Ordering,
) -> Column<SplitValue> {
    Column {
        key,
        title,
        hint,
        class: "num ratio",
        priority,
        order: Some(order),
        cell: Box::new(move |row: &SplitValue| {
            let Some(value) = of(row).ratio else { return What::Text(format::DASH.to_owned()) };
            let words = match of(row).interval {
                Some(i) => format!("{} ({}\u{2013}{})", times(value), times(i.low), times(i.high)),
                None => times(value),
            };
            What::Number(words, value.to_string())
        }),
    }
}

fn times(ratio: f64) -> String {
    format!("{ratio:.2}")
}

/// The order of two rows by a number of theirs.
macro_rules! by {
    ($row:ident => $value:expr) => {
        |a: &SplitValue, b: &SplitValue| {
            let of = |$row: &SplitValue| $value;
            by_number(of(a), of(b))
        }
    };
}

/// The table; `open` hears of a value that is opened.
pub fn table(page: Page, open: impl Fn(Page, &str) + 'static) -> Table<SplitValue> {
    let columns = vec![
        Column {
            key: "value",
            title: "Value",
            hint: "The value of the tag; the first is what the others are compared with",
            class: "wide",
            priority: 1,
            order: Some(|a: &SplitValue, b: &SplitValue| a.value.cmp(&b.value)),
            cell: Box::new(|row: &SplitValue| What::Text(name(&row.value))),
        },
        number!("n", "n", "Samples", "num tiny" 1, |row: &SplitValue| row.n, format::count),
        number!("p50", "p50", "Median", "num" 1, |row: &SplitValue| row.us.p50, format::duration),
        number!("p95", "p95", "95th percentile", "num" 2, |row: &SplitValue| row.us.p95, format::duration),
        number!("p99", "p99", "99th percentile", "num" 2, |row: &SplitValue| row.us.p99, format::duration),
        number!("mean", "mean", "Mean", "num" 3, |row: &SplitValue| row.us.mean, format::duration),
        ratio(
            "ratio50",
            "p50 ratio",
            "Median against that of the first value, with its 95 % bootstrap interval",
            2,
            |row| &row.ratios[0],
            by!(row => row.ratios[0].ratio.unwrap_or(-1.0)),
        ),
        ratio(
            "ratio95",
            "p95 ratio",
            "95th percentile against that of the first value, with its 95 % bootstrap interval",
            3,
            |row| &row.ratios[1],
            by!(row => row.ratios[1].ratio.unwrap_or(-1.0)),
        ),
        ratio(
            "ratio99",
            "p99 ratio",
            "99th percentile against that of the first value, with its 95 % bootstrap interval",
            3,
            |row| &row.ratios[2],
            by!(row => row.ratios[2].ratio.unwrap_or(-1.0)),
        ),
    ];
    let table = Table::new(
        "split-table",
        "Values of the tag",
        ("n", true),
        columns,
        |row: &SplitValue| {
            vec![
                ("data-test", "split-value".to_owned()),
                ("data-name", row.value.clone()),
                ("data-value", row.us.p50.to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let rows = table.clone();
    table.on_select(|_| {}).on_open(move |at| {
        if let Some(row) = rows.rows().get(at) {
            open(page, &row.value);
        }
    })
}

/// A value as it is read.
pub fn name(value: &str) -> String {
    if value.is_empty() { "(empty)".to_owned() } else { format::printable(value) }
}

/// The split as comma-separated values, one line a value.
pub fn csv(report: &SplitReport) -> String {
    let mut heads = vec!["value".to_owned(), "n".to_owned()];
    heads.extend(["mean", "p50", "p95", "p99", "max"].map(|name| format!("{name}_us")));
    for percentile in ["p50", "p95", "p99"] {
        heads.extend(["ratio", "low", "high"].map(|part| format!("{percentile}_{part}")));
    }
    let mut out = csv_line(&heads);
    let text = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    for row in &report.values {
        let mut cells = vec![row.value.clone(), row.n.to_string()];
        cells.extend([row.us.mean, row.us.p50, row.us.p95, row.us.p99].map(|us| us.to_string()));
        cells.push(row.us.max.to_string());
        for ratio in &row.ratios {
            cells.extend([
                text(ratio.ratio),
                text(ratio.interval.map(|i| i.low)),
                text(ratio.interval.map(|i| i.high)),
            ]);
        }
        out.push_str(&csv_line(&cells));
    }
    out
}
