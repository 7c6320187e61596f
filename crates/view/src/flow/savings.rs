//! Savings of every endpoint if its own work were faster, ranked: where a week of work is best spent.

use crate::flow::changes::Amount;
use crate::say::sentence::Sentence;
use crate::table::{Column, Number, Table, endpoint_attributes};
use pathlight_base::format::{counted, duration, share};
use pathlight_engine::flow::{ChangeOf, EndpointSaving, FASTER_PERCENT, Saving, SavingsReport};
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Place of half as long in [`FASTER_PERCENT`]: what endpoints are ranked by.
const HALF: usize = 1;

/// An endpoint with what it saves if it is faster by one of [`FASTER_PERCENT`].
pub struct SavingLine {
    at: usize,
    level: usize,
    report: Rc<SavingsReport>,
}

impl SavingLine {
    /// Returns the endpoints of a report; `level` is a place in [`FASTER_PERCENT`].
    pub fn of(report: &Rc<SavingsReport>, level: usize) -> Vec<SavingLine> {
        (0..report.endpoints.len()).map(|at| SavingLine { at, level, report: report.clone() }).collect()
    }

    /// Returns service and operation.
    pub fn name(&self) -> (&str, &str) {
        (&self.row().service, &self.row().operation)
    }

    /// Returns its endpoint, and the change of its own work.
    pub fn change(&self) -> (Endpoint, Amount) {
        let (service, operation) = self.name();
        let amount = (ChangeOf::OwnWork, -i64::from(FASTER_PERCENT[self.level]), 0);
        (Endpoint::new(service, operation), amount)
    }

    fn row(&self) -> &EndpointSaving {
        &self.report.endpoints[self.at]
    }

    fn saving(&self) -> Saving {
        self.row().saved_us.levels()[self.level]
    }

    fn share(&self) -> f64 {
        self.saving().mean / self.report.latency_us.mean.max(1.0)
    }
}

fn values(saving: Saving) -> [f64; 4] {
    [saving.mean, saving.p50, saving.p95, saving.p99]
}

/// Returns which endpoint is most worth making faster, and what that would save; that none is, if so.
pub fn headline(report: &SavingsReport) -> Sentence {
    let percent = FASTER_PERCENT[HALF];
    let best = report.endpoints.first().filter(|endpoint| endpoint.saved_us.levels()[HALF].mean > 0.0);
    let Some(best) = best else {
        return Sentence::default()
            .text("No endpoint would make the requests faster if its own work took less time.");
    };
    let before_us = report.latency_us.mean;
    let after_us = before_us - best.saved_us.levels()[HALF].mean;
    Sentence::default()
        .text("If the own work of ")
        .name(&Endpoint::new(&best.service, &best.operation))
        .text(&format!(" were {percent} % faster, the mean latency of "))
        .number(counted(report.requests, "request"))
        .text(" would be ")
        .number(duration(after_us))
        .text(" in place of ")
        .number(duration(before_us))
        .text("; no other endpoint would save more.")
}

/// Returns the table. Files have the savings at every one of [`FASTER_PERCENT`].
pub fn table() -> Table<SavingLine> {
    let heads = FASTER_PERCENT
        .iter()
        .flat_map(|percent| ["mean", "p50", "p95", "p99"].map(|name| format!("saved_{percent}_{name}_us")));
    let columns = vec![
        Column::endpoint(
            "Endpoint",
            "Every endpoint of the requests; what changes is its own work, its self time",
            SavingLine::name,
        )
        .csv(&["service", "operation"]),
        Column::share(
            "share",
            "Of the mean",
            "What the mean latency of the request would lose, as a share of it",
            |line: &SavingLine| line.share().max(0.0).into(),
        )
        .bar_words(|line| share(line.share()))
        .by(|a, b| a.share().total_cmp(&b.share())),
        Column::duration("saved", "Mean", "Saved of the mean", |line: &SavingLine| line.saving().mean.into())
            .low(2),
        Column::duration("p50", "p50", "Saved of the median", |line: &SavingLine| line.saving().p50.into())
            .low(2),
        Column::duration("p95", "p95", "Saved of the 95th percentile", |line: &SavingLine| {
            line.saving().p95.into()
        })
        .low(2),
        Column::duration("p99", "p99", "Saved of the 99th percentile", |line: &SavingLine| {
            line.saving().p99.into()
        })
        .low(2),
        Column::field("spans", |line: &SavingLine| line.row().spans.into()),
        Column::field("requests", |line| line.row().requests.into()),
        Column::count(
            "affected",
            "Requests",
            "Requests that become faster if its own work takes no time",
            |line: &SavingLine| line.row().affected.into(),
        )
        .low(3)
        .csv(&["affected"]),
        Column::fields(heads.collect(), |line| {
            let values = line.row().saved_us.levels().into_iter().flat_map(values);
            values.map(|us| Number::from(us).digits()).collect()
        }),
    ];
    Table::new("savings-table", "What every endpoint would save", ("saved", true), columns)
        .with_attributes(|line| endpoint_attributes("saving", line.name(), line.saving().mean))
}
