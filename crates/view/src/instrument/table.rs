//! Places where one more span would tell most, as a table.

use super::words::place_words;
use crate::table::{Column, Table};
use pathlight_base::format::{printable, share};
use pathlight_engine::instrument::{InstrumentReport, InstrumentRow};
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// A place of a report.
pub struct InstrumentLine {
    at: usize,
    report: Rc<InstrumentReport>,
}

impl InstrumentLine {
    /// Returns the rows of a report.
    pub fn of(report: &Rc<InstrumentReport>) -> Vec<InstrumentLine> {
        (0..report.rows.len()).map(|at| InstrumentLine { at, report: report.clone() }).collect()
    }

    /// Returns the row.
    pub fn row(&self) -> &InstrumentRow {
        &self.report.rows[self.at]
    }

    /// Returns its endpoint.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        Some(&self.row().endpoint)
    }
}

/// Returns the table.
pub fn table() -> Table<InstrumentLine> {
    let columns = vec![
        Column::call("Place", "The endpoint in whose spans it lies, and between which calls", |line: &InstrumentLine| {
            let Endpoint { service, operation } = &line.row().endpoint;
            (Some((service, operation)), place_words(line.row()))
        })
        .by(|a, b| {
            let key = |line: &InstrumentLine| (line.row().endpoint.clone(), place_words(line.row()));
            key(a).cmp(&key(b))
        })
        .csv_as(&["service", "operation", "previous", "next", "callee"], |line| {
            let row = line.row();
            let name = |of: &Option<Endpoint>| of.as_ref().map(|of| of.operation.clone()).unwrap_or_default();
            let Endpoint { service, operation } = row.endpoint.clone();
            let callee = row.callee.clone().unwrap_or_default();
            vec![service, operation, name(&row.previous), name(&row.next), callee]
        }),
        Column::text("language", "Language", "What the service is written in, as its SDK says", |line: &InstrumentLine| {
            line.row().language.as_deref().map(printable).unwrap_or_default().into()
        })
        .low(2),
        Column::duration("us", "Time", "Time on the critical path, mean per request", |line: &InstrumentLine| {
            line.row().us.into()
        })
        .csv(&["us"]),
        Column::share("share", "Of latency", "The same as a share of the latency of all requests", |line: &InstrumentLine| {
            line.row().share.into()
        })
        .bar_words(|line| share(line.row().share))
        .by(|a, b| a.row().share.total_cmp(&b.row().share)),
        Column::duration(
            "stretch",
            "Stretch",
            "How long the stretch is in which a microsecond of this place lies, on average",
            |line: &InstrumentLine| line.row().stretch_us.into(),
        )
        .csv(&["stretch_us"]),
        Column::duration(
            "gain",
            "Gain",
            "How much shorter stretches of all requests are with a span here, where a microsecond of latency falls",
            |line: &InstrumentLine| line.row().gain_us.into(),
        )
        .csv(&["gain_us"]),
    ];
    Table::new("instrument-table", "Where one more span would tell most", ("", false), columns)
        .with_attributes(|_| vec![("data-test", "instrument".to_owned())])
}
