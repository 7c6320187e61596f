//! Places that are slower than others, as a table.

use super::words::place_words;
use crate::table::{Column, Number, Table};
use pathlight_base::format::{DASH, THIN, printable};
use pathlight_base::statistics::Interval;
use pathlight_engine::deployments::{DeploymentOf, DeploymentRow, DeploymentsReport};
use pathlight_engine::flow::{CallsBetween, Changes, Move, WaitChange, WaitTime};
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// A place that is slower, of a report.
pub struct DeploymentLine {
    at: usize,
    report: Rc<DeploymentsReport>,
}

impl DeploymentLine {
    /// Returns the rows of a report.
    pub fn of(report: &Rc<DeploymentsReport>) -> Vec<DeploymentLine> {
        (0..report.rows.len()).map(|at| DeploymentLine { at, report: report.clone() }).collect()
    }

    /// Returns the row.
    pub fn row(&self) -> &DeploymentRow {
        &self.report.rows[self.at]
    }

    /// Returns what would mend it, for a what-if: all of the service runs in the only other place, or the calls take what those
    /// within one place do. `None` if there are several other places.
    pub fn changes(&self) -> Option<Changes> {
        changes(self.row())
    }

    /// Returns its endpoint, if it is one.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match &self.row().of {
            DeploymentOf::Endpoint(endpoint) => Some(endpoint),
            DeploymentOf::Service(_) | DeploymentOf::Calls(..) => None,
        }
    }

    fn name(&self) -> (Option<(&str, &str)>, String) {
        match &self.row().of {
            DeploymentOf::Endpoint(Endpoint { service, operation }) => {
                (Some((service, operation)), "own work".to_owned())
            }
            DeploymentOf::Service(service) => (None, format!("Own work of {}", printable(service))),
            DeploymentOf::Calls(caller, callee) => {
                (None, format!("{} \u{2192} {}", printable(caller), printable(callee)))
            }
        }
    }

    fn place(&self) -> String {
        let row = self.row();
        match &row.value {
            Some(value) => place_words(&row.key, value),
            None => format!("across {}", printable(&row.key)),
        }
    }
}

/// Returns what would mend a row; see [`DeploymentLine::changes`].
pub(crate) fn changes(row: &DeploymentRow) -> Option<Changes> {
    let key = row.key.clone();
    match (&row.of, row.others.as_slice()) {
        (DeploymentOf::Calls(caller, callee), _) => {
            let (caller, callee) = (Some(caller.clone()), Some(callee.clone()));
            let calls = CallsBetween { caller, callee, across: Some(key) };
            let waits = vec![WaitChange { calls, time: WaitTime::Within }];
            Some(Changes { waits, ..Changes::default() })
        }
        (of, [only]) => {
            let service = Some(of.service().to_owned());
            let moves = vec![Move { service, key, value: only.clone(), levels: None }];
            Some(Changes { moves, ..Changes::default() })
        }
        _ => None,
    }
}

/// Returns the table.
pub fn table() -> Table<DeploymentLine> {
    let columns = vec![
        Column::call(
            "What is slower",
            "A service, an endpoint of it, or calls between two services",
            DeploymentLine::name,
        )
        .by(|a, b| a.row().of.cmp(&b.row().of))
        .csv_as(&["kind", "service", "operation", "caller"], |line| {
            let [kind, service, operation, caller] = match &line.row().of {
                DeploymentOf::Service(service) => ["service", service, "", ""],
                DeploymentOf::Endpoint(of) => ["endpoint", &of.service, &of.operation, ""],
                DeploymentOf::Calls(caller, callee) => ["calls", callee, "", caller],
            };
            [kind, service, operation, caller].map(str::to_owned).to_vec()
        }),
        Column::text(
            "where",
            "Where",
            "The version, zone, host or other place in which it is slower",
            |line: &DeploymentLine| line.place().into(),
        )
        .wide()
        .csv_as(&["key", "value"], |line| {
            vec![line.row().key.clone(), line.row().value.clone().unwrap_or_default()]
        }),
        Column::text_field("others", |line: &DeploymentLine| line.row().others.join(", ").into()),
        Column::said(
            "times",
            "Takes",
            "How many times as long it takes there",
            |line: &DeploymentLine| line.row().beside.times().map_or(Number::None, Number::from),
            |line| {
                line.row()
                    .beside
                    .times()
                    .map_or_else(|| DASH.to_owned(), |times| format!("{times:.2}{THIN}\u{d7}"))
            },
        )
        .csv(&["times"]),
        Column::duration(
            "there",
            "There",
            "Mean own work of a visit there, or what a call spends outside of what answers",
            |line: &DeploymentLine| line.row().beside.mean_us.into(),
        )
        .csv(&["mean_us"]),
        Column::duration(
            "elsewhere",
            "Elsewhere",
            "The same of like requests in the same minutes in the other places",
            |line: &DeploymentLine| line.row().beside.other_mean_us.into(),
        )
        .csv(&["other_mean_us"]),
        Column::field("longer_low_us", |line| bound(line, |interval| interval.low)),
        Column::field("longer_high_us", |line| bound(line, |interval| interval.high)),
        Column::duration(
            "cost",
            "Costs",
            "What the mean latency of all requests loses to it, on critical paths",
            |line: &DeploymentLine| line.row().cost_us.into(),
        )
        .csv(&["cost_us"]),
        Column::count("requests", "Requests", "Requests there that are compared", |line: &DeploymentLine| {
            line.row().beside.requests.into()
        })
        .low(2)
        .csv(&["requests"]),
        Column::text(
            "sure",
            "Sure",
            "Whether it is slower by more than chance: of the rows that say so at most 5 % are not",
            |line: &DeploymentLine| {
                if line.row().is_sure { "yes".into() } else { "no".into() }
            },
        )
        .tiny()
        .csv(&["sure"]),
    ];
    Table::new("deployments-table", "Places that are slower than others", ("", false), columns)
        .with_attributes(|line| {
            let row = line.row();
            vec![
                ("data-test", "deployment".to_owned()),
                ("data-sure", row.is_sure.to_string()),
                ("data-key", row.key.clone()),
            ]
        })
}

fn bound(line: &DeploymentLine, end: fn(Interval) -> f64) -> Number {
    line.row().beside.longer_us.map_or(Number::None, |interval| end(interval).into())
}
