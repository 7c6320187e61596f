//! Where to add capacity and where to take it: drag and slack by service, beside how much services use of what they have.

mod matched;
mod utilisation;

pub use matched::{Matched, ServiceUse};
pub use utilisation::{MOST_BYTES, NoUtilisation, UseRow, Utilisation, read};

use crate::table::{Column, Number, Table};
use pathlight_base::format::{DASH, THIN, agreeing, counted, duration, printable};
use pathlight_engine::flow::{
    CapacityReport, Changes, Quantile, ServiceCapacity, SubjectChange, SubjectTime, WhatIfReport,
};
use pathlight_engine::verdict::{ServicePart, Subject};
use std::rc::Rc;

/// By how many percent own work becomes faster where something is added, and slower where something is taken.
pub const STEP_PERCENT: i64 = 20;
/// Names listed of those that match nothing.
const LISTED: usize = 5;

/// What a panel says before there is a table.
pub const INVITATION: &str =
    "Drop a table of utilisation (CSV, kubectl top, Prometheus) to see where to add and where to take.";

/// What is known of the services of some requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Capacities {
    /// Drag and slack.
    pub report: Rc<CapacityReport>,
    /// How much they use; `None` without a table.
    pub matched: Option<Matched>,
    /// How the table was read, in sentences.
    pub notes: Vec<String>,
}

impl Capacities {
    /// Returns what a report and perhaps a table say.
    pub fn new(report: &Rc<CapacityReport>, table: Option<&Utilisation>) -> Capacities {
        let services: Vec<&str> = report.services.iter().map(|of| of.service.as_str()).collect();
        Capacities {
            report: report.clone(),
            matched: table.map(|table| Matched::new(table, &services)),
            notes: table.map(|table| table.notes.clone()).unwrap_or_default(),
        }
    }

    /// Returns what the table says of the service at a place; `None` if nothing.
    pub fn used(&self, at: usize) -> Option<&ServiceUse> {
        self.matched.as_ref()?.uses[at].as_ref()
    }

    fn used_share(&self, at: usize) -> Option<f64> {
        self.used(at)?.share()
    }

    /// Returns drag times use, in microseconds per request: the more of it, the more is won where capacity is added.
    pub fn add_us(&self, at: usize) -> Option<f64> {
        Some(self.report.mean_drag_us(&self.report.services[at]) * self.used_share(at)?)
    }

    /// Returns slack times what is unused, in microseconds per request: the more of it, the less is lost where capacity is taken.
    pub fn take_us(&self, at: usize) -> Option<f64> {
        let free = (1.0 - self.used_share(at)?).max(0.0);
        Some(self.report.services[at].mean_slack_us() * free)
    }

    fn greatest(&self, of: impl Fn(usize) -> Option<f64>) -> Option<usize> {
        let values =
            (0..self.report.services.len()).filter_map(|at| Some((at, of(at).filter(|us| *us > 0.0)?)));
        // Of equal ones the first.
        values.reduce(|best, one| if one.1 > best.1 { one } else { best }).map(|(at, _)| at)
    }

    /// Returns the place of the service to add to first.
    pub fn first_to_add(&self) -> Option<usize> {
        self.greatest(|at| self.add_us(at))
    }

    /// Returns the place of the service to take from first, which is another one.
    pub fn first_to_take(&self) -> Option<usize> {
        let added = self.first_to_add();
        self.greatest(|at| self.take_us(at).filter(|_| Some(at) != added))
    }

    /// Returns the what-if of both: own work faster where something is added, and slower where something is taken. `None` if the
    /// table says neither.
    pub fn changes(&self) -> Option<Changes> {
        let both = [(self.first_to_add(), -STEP_PERCENT), (self.first_to_take(), STEP_PERCENT)];
        let subjects: Vec<SubjectChange> = both
            .into_iter()
            .filter_map(|(at, percent)| Some(own_work(&self.report.services[at?].service, percent)))
            .collect();
        (!subjects.is_empty()).then(|| Changes { subjects, ..Changes::default() })
    }
}

/// Returns a share of 1 in whole percent.
fn percent(share: f64) -> String {
    format!("{:.0}{THIN}%", 100.0 * share)
}

/// Returns the change with which the own work of a service takes so many percent more.
fn own_work(service: &str, percent: i64) -> SubjectChange {
    let subject = Subject { service: service.to_owned(), part: ServicePart::Own };
    SubjectChange { subject, time: SubjectTime::By { share_ppm: 10_000 * percent, add_us: 0 } }
}

/// Returns what requests lose to services, and where to add and to take, in a sentence or two.
pub fn sentence(capacities: &Capacities) -> String {
    let report = &*capacities.report;
    if report.requests == 0 {
        return "There is no request here.".to_owned();
    }
    let Some(first) = report.services.first() else { return why_empty().to_owned() };
    let drag = |at: usize| duration(report.mean_drag_us(&report.services[at]));
    let used = |at: usize| percent(capacities.used_share(at).unwrap_or(0.0));
    let name = |at: usize| printable(&report.services[at].service);
    let slack = |of: &ServiceCapacity| duration(of.mean_slack_us());
    if capacities.matched.is_none() {
        let mut out = match first.drag_us {
            0 => "No service alone holds up a request.".to_owned(),
            _ => {
                let who = match report.requests {
                    1 => "The request would end".to_owned(),
                    several => format!("{} would end, in the mean,", counted(several, "request")),
                };
                format!("{who} {} earlier if the own work of {} took no time.", drag(0), name(0))
            }
        };
        if let Some(most) = capacities.greatest(|at| Some(report.services[at].mean_slack_us())) {
            out +=
                &format!(" {} could take {} longer per request.", name(most), slack(&report.services[most]));
        }
        return out;
    }
    let add = capacities.first_to_add().map(|at| {
        format!(
            "{} holds up a request by {} in the mean and is used to {}: add there first.",
            name(at),
            drag(at),
            used(at)
        )
    });
    let take = capacities.first_to_take().map(|at| {
        let longer = slack(&report.services[at]);
        format!(
            "{} could take {longer} longer per request and is used to {}: take there first.",
            name(at),
            used(at)
        )
    });
    let both: Vec<String> = add.into_iter().chain(take).collect();
    match both.is_empty() {
        true => "The table says nothing of a service that holds up requests or could take longer.".to_owned(),
        false => both.join(" "),
    }
}

/// Returns why the table is empty, if it is.
pub fn why_empty() -> &'static str {
    "No service works in these requests."
}

/// Returns what a table of utilisation leaves open: how numbers were read, names that no service has, services without a row.
pub fn notes(capacities: &Capacities) -> String {
    let Some(matched) = &capacities.matched else { return String::new() };
    let listed = |names: &[&str]| {
        let shown: Vec<String> = names.iter().take(LISTED).map(|name| printable(name)).collect();
        let more = if names.len() > LISTED { ", and others" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    let mut out = capacities.notes.clone();
    let unknown: Vec<&str> = matched.unknown.iter().map(String::as_str).collect();
    if !unknown.is_empty() {
        let n = unknown.len() as u64;
        let verb = agreeing(n, "matches", "match");
        out.push(format!("{} of the table {verb} no service: {}.", counted(n, "name"), listed(&unknown)));
    }
    let services = capacities.report.services.iter().zip(&matched.uses);
    let lacking: Vec<&str> =
        services.filter(|(_, used)| used.is_none()).map(|(of, _)| of.service.as_str()).collect();
    if !lacking.is_empty() {
        let n = lacking.len() as u64;
        let verb = agreeing(n, "has", "have");
        out.push(format!("{} {verb} no row in the table: {}.", counted(n, "service"), listed(&lacking)));
    }
    out.join(" ")
}

/// Returns what the what-if of both brings, in a sentence.
pub fn what_if_sentence(capacities: &Capacities, after: &WhatIfReport) -> String {
    let name = |at: usize| printable(&capacities.report.services[at].service);
    let add = capacities.first_to_add().map(|at| format!("{} {STEP_PERCENT}{THIN}% faster", name(at)));
    let take = capacities.first_to_take().map(|at| format!("{} {STEP_PERCENT}{THIN}% slower", name(at)));
    let both: Vec<String> = add.into_iter().chain(take).collect();
    let figures = Quantile::ALL.map(|quantile| {
        let [before, now] = [&after.before_us, &after.after_us].map(|of| duration(quantile.of(of)));
        format!("{} {before} \u{2192} {now}", quantile.name())
    });
    format!("With the own work of {}: {}.", both.join(" and that of "), figures.join(", "))
}

/// A service, of a report.
pub struct CapacityLine {
    at: usize,
    of: Rc<Capacities>,
}

impl CapacityLine {
    /// Returns the services.
    pub fn of(of: &Rc<Capacities>) -> Vec<CapacityLine> {
        (0..of.report.services.len()).map(|at| CapacityLine { at, of: of.clone() }).collect()
    }

    /// Returns its place among the services.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the name of the service.
    pub fn service(&self) -> &str {
        &self.row().service
    }

    /// Returns what it changes, for a what-if: its own work faster if it holds up requests, else slower.
    pub fn changes(&self) -> Changes {
        let percent = if self.row().drag_us > 0 { -STEP_PERCENT } else { STEP_PERCENT };
        Changes { subjects: vec![own_work(self.service(), percent)], ..Changes::default() }
    }

    fn row(&self) -> &ServiceCapacity {
        &self.of.report.services[self.at]
    }

    fn stats(&self, of: fn(&ServiceUse) -> Option<(f64, f64)>) -> Option<(f64, f64)> {
        of(self.of.used(self.at)?)
    }

    fn used_words(&self) -> String {
        let Some(used) = self.of.used(self.at) else { return DASH.to_owned() };
        let Some((mean, most)) = used.cpu.or(used.memory) else { return DASH.to_owned() };
        match used.rows {
            1 => percent(mean),
            _ => format!("{} \u{2264} {}", percent(mean), percent(most)),
        }
    }
}

fn number(value: Option<f64>) -> Number {
    value.map_or(Number::None, Number::from)
}

/// Returns the table.
pub fn table() -> Table<CapacityLine> {
    let columns = vec![
        Column::service("Service", "A service that works itself in these requests", CapacityLine::service)
            .csv(&["service"]),
        Column::share(
            "use",
            "Use",
            "Used share of its processors, or of its memory if the table has no other: the mean of its rows, and the greatest",
            |line: &CapacityLine| number(line.of.used_share(line.at).map(|used| used.min(1.0))),
        )
        .bar_words(CapacityLine::used_words)
        .by(|a, b| {
            let used = |line: &CapacityLine| line.of.used_share(line.at).unwrap_or(-1.0);
            used(a).total_cmp(&used(b))
        })
        .if_any(),
        Column::duration(
            "drag",
            "Drag",
            "How much earlier a request would end, in the mean, if the own work of the service took no time",
            |line: &CapacityLine| line.of.report.mean_drag_us(line.row()).into(),
        )
        .csv(&["drag_us"]),
        Column::duration(
            "slack",
            "Slack",
            "How much longer its own work may take in a request before the request ends later: the mean of the requests in which \
             it works",
            |line: &CapacityLine| line.row().mean_slack_us().into(),
        )
        .csv(&["slack_us"]),
        Column::duration(
            "add",
            "Add",
            "Drag times use: the more, the more is won where capacity is added",
            |line: &CapacityLine| number(line.of.add_us(line.at)),
        )
        .if_any()
        .csv(&["add_us"]),
        Column::duration(
            "take",
            "Take",
            "Slack times what is unused: the more, the less is lost where capacity is taken",
            |line: &CapacityLine| number(line.of.take_us(line.at)),
        )
        .if_any()
        .csv(&["take_us"]),
        Column::share(
            "path",
            "On path",
            "Share of the requests in which it works that any delay of it delays",
            |line: &CapacityLine| line.row().path_share().into(),
        )
        .low(2)
        .csv(&["on_path"]),
        Column::count("requests", "Requests", "Requests in which it works", |line: &CapacityLine| {
            line.row().requests.into()
        })
        .low(3)
        .csv(&["requests"]),
        Column::field("rows", |line: &CapacityLine| line.of.used(line.at).map_or(Number::None, |used| used.rows.into())),
        Column::field("cpu", |line| number(line.stats(|of| of.cpu).map(|cpu| cpu.0))),
        Column::field("cpu_max", |line| number(line.stats(|of| of.cpu).map(|cpu| cpu.1))),
        Column::field("memory", |line| number(line.stats(|of| of.memory).map(|memory| memory.0))),
        Column::field("memory_max", |line| number(line.stats(|of| of.memory).map(|memory| memory.1))),
    ];
    Table::new("capacity-table", "Where to add and where to take", ("", false), columns).with_attributes(
        |line| {
            vec![
                ("data-test", "capacity".to_owned()),
                ("data-label", line.service().to_owned()),
                ("data-value", Number::from(line.of.report.mean_drag_us(line.row())).digits()),
            ]
        },
    )
}
