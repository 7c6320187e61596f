//! The table of calls between services.

use super::MapTone;
use crate::search::finder::Finder;
use crate::table::{Column, Number, Table, Width};
use pathlight_base::format;
use pathlight_engine::verdict::service_map::{MapCall, MapService, MapTime, ServiceMapReport};
use std::rc::Rc;

/// Calls of one service by another one, as a row.
pub struct MapLine {
    at: u32,
    report: Rc<ServiceMapReport>,
}

impl MapLine {
    /// Returns the calls of a map, in its order.
    pub fn of(report: &Rc<ServiceMapReport>) -> Vec<MapLine> {
        let all = 0..report.calls.len() as u32;
        all.filter(|at| report.ends(&report.calls[*at as usize]).is_some())
            .map(|at| MapLine { at, report: report.clone() })
            .collect()
    }

    /// Returns which call it is.
    pub fn at(&self) -> u32 {
        self.at
    }

    /// Returns its call.
    pub fn call(&self) -> &MapCall {
        &self.report.calls[self.at as usize]
    }

    fn wait(&self) -> &MapTime {
        &self.call().wait
    }

    fn caller(&self) -> &MapService {
        &self.report.services[self.call().caller as usize]
    }

    fn service(&self) -> &MapService {
        &self.report.services[self.call().service as usize]
    }

    fn name(&self) -> String {
        let [caller, service] = [self.caller(), self.service()].map(|one| format::printable(&one.service));
        format!("{caller} \u{2192} {service}")
    }

    fn share(&self) -> f64 {
        self.call().wait.mean_us / self.report.latency.mean_us.max(f64::MIN_POSITIVE)
    }

    fn baseline(&self) -> String {
        self.wait().baseline_us.map_or_else(String::new, format::duration)
    }

    fn change_us(&self) -> Option<f64> {
        Some(self.wait().mean_us - self.wait().baseline_us?)
    }

    fn change(&self) -> String {
        match (self.change_us(), self.wait().sure_change_us()) {
            (None, _) => String::new(),
            (_, None) => format::DASH.to_owned(),
            (_, Some(us)) => format::change(us),
        }
    }
}

/// Returns the table, longest waits first.
pub fn table() -> Table<MapLine> {
    let columns = vec![
        Column::text("call", "Call", "The service that calls, and the one that answers", |line: &MapLine| {
            line.name().into()
        })
        .wide()
        .csv_as(&["caller", "service"], |line| {
            vec![line.caller().service.clone(), line.service().service.clone()]
        }),
        Column::duration(
            "wait",
            "Wait",
            "How long a request waits for these answers, in the mean over all requests, with all they wait for",
            |line: &MapLine| line.wait().mean_us.into(),
        )
        .csv(&["wait_us"]),
        Column::share("share", "Of latency", "The wait as a part of the mean latency", |line: &MapLine| {
            line.share().into()
        })
        .low(2),
        Column::text("baseline", "In A", "The same in set A", |line: &MapLine| line.baseline().into())
            .by(|a, b| {
                let us = |line: &MapLine| line.wait().baseline_us.unwrap_or(0.0);
                us(a).total_cmp(&us(b))
            })
            .width(Width::Number)
            .if_any()
            .low(2)
            .csv_as(&["baseline_us"], |line| {
                vec![line.wait().baseline_us.map_or_else(String::new, |us| Number::from(us).digits())]
            }),
        Column::text("change", "Change", "By how much it surely changed against A; a dash: it may be as before", |line: &MapLine| {
            line.change().into()
        })
        .by(|a, b| {
            let us = |line: &MapLine| line.wait().sure_change_us().unwrap_or(0.0);
            us(a).total_cmp(&us(b))
        })
        .width(Width::Number)
        .if_any()
        .csv_as(&["change_us"], |line| {
            vec![line.change_us().map_or_else(String::new, |us| Number::from(us).digits())]
        }),
        Column::duration(
            "outside",
            "Outside",
            "What of the wait passes outside the spans that answer: network or queues",
            |line: &MapLine| line.call().outside_us.into(),
        )
        .low(2)
        .csv(&["outside_us"]),
        Column::count("calls", "Calls", "Calls that someone waits for", |line: &MapLine| line.call().calls.into())
            .low(2)
            .csv(&["calls"]),
        Column::count("failed", "Failed", "Calls whose answer is an error", |line: &MapLine| {
            line.call().failed.into()
        })
        .low(2)
        .csv(&["failed"]),
    ];
    Table::new("map-table", "Calls between services", ("wait", true), columns)
        .with_attributes(|line| {
            vec![
                ("data-test", "map-call".to_owned()),
                ("data-caller", line.caller().service.clone()),
                ("data-service", line.service().service.clone()),
                ("data-value", Number::from(line.wait().mean_us).digits()),
                ("data-tone", MapTone::of_call(&line.report, line.call()).key().to_owned()),
            ]
        })
        .search(|line, finder| finder.fits(&[&line.caller().service, &line.service().service]))
}

/// Returns which services a search finds; `None` if nothing is searched for.
pub fn found(report: &ServiceMapReport, finder: &Finder) -> Option<Vec<bool>> {
    let is_found = |one: &MapService| finder.fits(&[&one.service]);
    (!finder.is_empty()).then(|| report.services.iter().map(is_found).collect())
}
