//! Endpoints over all root endpoints at once: how large requests are, and which endpoint is worth improving.

use super::SUM_HINT;
use crate::draw::multiples;
use crate::say::selection::range_words;
use crate::say::tip::{Numbers, TipLine};
use crate::table::{Attributes, Column, Number, PER_REQUEST, Table, csv, endpoint_attributes};
use pathlight_base::format::{self, count, counted};
use pathlight_base::statistics::Interval;
use pathlight_engine::endpoints::{
    Affected as AffectedRoot, ImpactReport, ImpactRow, SumPlace, TagSumsReport,
};
use pathlight_engine::flame::HistogramsReport;
use pathlight_engine::flow::{EndpointSaving, FASTER_PERCENT, SavingsReport};
use pathlight_engine::requests::{PercentileRange, RangeFacts};
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;

/// Returns which requests the view speaks of: those of all root endpoints in a percentile range.
pub fn label(range: PercentileRange) -> String {
    if range.is_all() { "all requests".to_owned() } else { format!("requests in {}", range_words(range)) }
}

/// Returns why there are no requests; empty if there are.
pub fn why_empty(range: PercentileRange, facts: &RangeFacts) -> String {
    match (facts.requests, facts.all_requests) {
        (0, 0) => "No request passes the filters.".to_owned(),
        (0, _) => format!("No request lies in {}.", range_words(range)),
        _ => String::new(),
    }
}

/// Returns why the ranking is empty, if it is.
pub fn why_no_endpoint(range: PercentileRange, report: &ImpactReport) -> String {
    let why = why_empty(range, &report.facts);
    if why.is_empty() {
        return "No request waits for another endpoint: all its time is spent at its root.".to_owned();
    }
    why
}

/// Group of the columns that count calls.
const CALLS: &str = "Calls";

/// Returns the title of the histograms.
pub fn sizes_title(range: PercentileRange, report: &HistogramsReport) -> String {
    format!("Sizes of {}: {}", label(range), counted(report.facts.requests, "request"))
}

/// Returns what the tip says of a histogram.
pub fn sizes_tip(report: &HistogramsReport, at: usize, is_enlarged: bool) -> Vec<TipLine> {
    let Some((quantity, of)) = report.distributions.get(at) else { return Vec::new() };
    let hint = if is_enlarged { "Click to see all" } else { "Click to enlarge" };
    vec![
        TipLine::Strong(quantity.title().to_owned()),
        TipLine::Text(multiples::figures(*quantity, of)),
        TipLine::Hint(hint.to_owned()),
    ]
}

/// Returns every bin of every histogram as comma-separated values.
pub fn sizes_csv(report: &HistogramsReport) -> String {
    struct Bin(&'static str, [u64; 3]);
    let columns = [
        Column::text_field("quantity", |bin: &Bin| bin.0.into()),
        Column::field("from", |bin| bin.1[0].into()),
        Column::field("to", |bin| bin.1[1].into()),
        Column::field("count", |bin| bin.1[2].into()),
    ];
    let bins = report.distributions.iter().flat_map(|(quantity, of)| {
        let bins = of.edges.windows(2).zip(&of.counts);
        bins.map(|(edges, count)| Bin(quantity.key(), [edges[0], edges[1], *count]))
    });
    let bins: Vec<Bin> = bins.collect();
    csv(&columns, &bins)
}

/// Returns how many endpoints or services are on critical paths, of how many that are loaded; `None`: that is not known.
pub fn on_paths(on_paths: u64, loaded: Option<u64>, noun: &str) -> String {
    match loaded {
        Some(loaded) if loaded > on_paths => {
            format!("{} of {} on critical paths", count(on_paths), counted(loaded, noun))
        }
        _ => counted(on_paths, noun),
    }
}

/// Returns the title of the ranking. `is_all`: nothing of it is still to come; `loaded`: endpoints and services that are
/// loaded, as far as that is known.
pub fn ranking_title(
    range: PercentileRange,
    report: &ImpactReport,
    is_all: bool,
    loaded: Option<[u64; 2]>,
) -> String {
    let is_listed = |row: &&ImpactRow| row.is_listed();
    let listed = report.rows.iter().filter(is_listed).count() as u64;
    let over = counted(report.roots.len() as u64, "root endpoint");
    let words = match report.rows.iter().any(|row| row.service_us.is_some()) {
        true => format!("{} of {over}", on_paths(listed, loaded.map(|all| all[1]), "service")),
        false => {
            let all = on_paths(report.rows.len() as u64, loaded.map(|all| all[0]), "endpoint");
            format!("{all}, {} below {over}, whose own work is not listed", count(listed))
        }
    };
    let words = format!("{words}, {}", label(range));
    if is_all { words } else { format!("{words}; what-if follows\u{2026}") }
}

/// An endpoint with what it costs all root endpoints together.
pub struct ImpactLine {
    /// Service and operation.
    pub endpoint: Endpoint,
    row: ImpactRow,
    share: f64,
    /// Reduction of its self time if it were faster, in microseconds a request: an upper bound.
    at_most_us: f64,
    /// What-if: by how much the mean latency would fall, in microseconds; `None` where that is not known.
    saved_us: Option<f64>,
    /// Speedup in percent.
    percent: f64,
    /// Numbers of the tag that is summed, in all and per request.
    sum: Option<(f64, f64)>,
}

impl ImpactLine {
    /// Returns the lines of a ranking, with the bound of what is saved if an endpoint is faster by so many percent; interior
    /// endpoints only.
    pub fn faster_by(report: &ImpactReport, percent: f64) -> Vec<ImpactLine> {
        let requests = report.facts.summed_over().max(1) as f64;
        let line = |row: &ImpactRow| {
            let (service, operation) = report.name(row.endpoint);
            ImpactLine {
                endpoint: Endpoint::new(service, operation),
                row: row.clone(),
                share: report.share(row),
                at_most_us: report.saving_at_most_us(row, percent) / requests,
                saved_us: None,
                percent,
                sum: None,
            }
        };
        report.rows.iter().filter(|row| row.is_listed()).map(line).collect()
    }

    /// Adds the numbers of a tag, also of endpoints that are not ranked: those on no critical path, and roots.
    fn sum(lines: &mut Vec<ImpactLine>, sums: &TagSumsReport, percent: f64) {
        let mut by_endpoint: BTreeMap<&Endpoint, (f64, f64)> = BTreeMap::new();
        for row in &sums.rows {
            if let SumPlace::Endpoint(endpoint) = &row.place {
                by_endpoint.insert(endpoint, (row.sum, sums.per_request(row)));
            }
        }
        for line in lines.iter_mut() {
            line.sum = by_endpoint.remove(&line.endpoint);
        }
        lines.extend(by_endpoint.into_iter().map(|(endpoint, sum)| ImpactLine {
            endpoint: endpoint.clone(),
            row: ImpactRow::default(),
            share: 0.0,
            at_most_us: 0.0,
            saved_us: None,
            percent,
            sum: Some(sum),
        }));
    }

    /// Returns the lines of a ranking, with what is saved at one of [`FASTER_PERCENT`] and the numbers of a tag; interior
    /// endpoints only, unless they have such numbers.
    pub fn of(
        report: &ImpactReport,
        savings: Option<&SavingsReport>,
        sums: Option<&TagSumsReport>,
        level: usize,
    ) -> Vec<ImpactLine> {
        let saved: BTreeMap<(&str, &str), f64> = savings
            .iter()
            .flat_map(|savings| &savings.endpoints)
            .map(|saving| {
                ((saving.service.as_str(), saving.operation.as_str()), saving.saved_us.levels()[level].mean)
            })
            .collect();
        let mut lines = ImpactLine::faster_by(report, f64::from(FASTER_PERCENT[level]));
        for line in &mut lines {
            line.saved_us = saved.get(&line.endpoint.names()).copied();
        }
        if let Some(sums) = sums {
            ImpactLine::sum(&mut lines, sums, f64::from(FASTER_PERCENT[level]));
        }
        lines
    }

    fn name(&self) -> (&str, &str) {
        self.endpoint.names()
    }

    fn attributes(&self) -> Attributes {
        endpoint_attributes("impact", self.name(), self.row.time_us())
    }
}

/// Returns the interval of a share in words.
pub fn share_range(interval: Interval) -> String {
    format!("{} to {}", format::share(interval.low), format::share(interval.high))
}

/// Returns the ranking.
pub fn ranking() -> Table<ImpactLine> {
    let columns = vec![
        Column::endpoint("Endpoint", "Operation and service, below the root of some request", ImpactLine::name),
        Column::duration(
            "impact",
            "Impact",
            "Its self time on the critical paths of all requests; of a service its own work and waiting for it",
            |line: &ImpactLine| line.row.time_us().into(),
        ),
        Column::duration("own", "Own", "Its own work on the critical paths of all requests", |line: &ImpactLine| {
            line.row.service_us.map(|(own_us, _)| own_us).into()
        })
        .if_any(),
        Column::duration(
            "waiting",
            "Waiting",
            "Waiting for it: what calls into the service take outside its own spans, over all callers",
            |line: &ImpactLine| line.row.service_us.map(|(_, waiting_us)| waiting_us).into(),
        )
        .if_any(),
        Column::share("share", "Share", "Part of the latency of all requests", |line: &ImpactLine| {
            line.share.into()
        })
        .by(|a, b| a.row.time_us().cmp(&b.row.time_us()))
        .low(2),
        Column::text(
            "share-interval",
            "95\u{202f}%",
            "Where the share may lie: bootstrap over the requests, given for fewer than 1\u{202f}000",
            |line: &ImpactLine| line.row.share_interval.map(share_range).unwrap_or_default().into(),
        )
        .low(3),
        Column::count(
            "roots",
            "Roots",
            "Root endpoints whose requests spend time in it",
            |line: &ImpactLine| line.row.affected.len().into(),
        )
        .tiny(),
        Column::count(
            "requests",
            "Requests",
            "Requests that have it on their critical path",
            |line: &ImpactLine| line.row.requests.into(),
        )
        .low(3),
        Column::count("on-path", "On path", "Its calls that are on the critical path of their request", |line: &ImpactLine| {
            line.row.calls.map(|(on_path, _)| on_path).into()
        })
        .group(CALLS)
        .low(2)
        .if_any(),
        Column::count("off-path", "Off path", "Its calls that no critical path passes through", |line: &ImpactLine| {
            line.row.calls.map(|(_, off_path)| off_path).into()
        })
        .group(CALLS)
        .low(2)
        .if_any(),
        Column::duration(
            "most",
            "At most",
            "Upper bound by its self time: what a request saves on average if nothing else then becomes the last to finish",
            |line: &ImpactLine| line.at_most_us.into(),
        )
        .group(PER_REQUEST)
        .low(3),
        Column::duration(
            "saved",
            "What-if",
            "By how much the mean latency falls if its own work (self time, not its calls) took that much less, and what waits for it moved along: from the flows of all traces",
            |line: &ImpactLine| line.saved_us.into(),
        )
        .group(PER_REQUEST)
        .low(2),
        Column::count("sum", "Sum", SUM_HINT, |line: &ImpactLine| line.sum.map(|(sum, _)| sum).into())
            .if_any(),
        Column::count("sum-request", "Sum", SUM_HINT, |line: &ImpactLine| {
            line.sum.map(|(_, per_request)| per_request).into()
        })
        .group(PER_REQUEST)
        .low(2)
        .if_any(),
    ];
    Table::new("impact-table", "Endpoints by impact over all root endpoints", ("impact", true), columns)
        .with_attributes(ImpactLine::attributes)
        .search(|line, finder| finder.fits_endpoint((&line.endpoint.service, &line.endpoint.operation)))
        .share(|line| line.share)
}

/// Returns the ranking as comma-separated values: a line for each root endpoint that an endpoint affects.
pub fn ranking_csv(
    report: &ImpactReport,
    savings: Option<&SavingsReport>,
    sums: Option<&TagSumsReport>,
    level: usize,
) -> String {
    struct Affected<'a> {
        report: &'a ImpactReport,
        line: &'a ImpactLine,
        root: &'a AffectedRoot,
    }
    let number = |head, of: fn(&Affected) -> Number| Column::field(head, of);
    let mut columns = vec![
        Column::endpoint("", "", |row: &Affected| row.line.name()).csv(&["service", "operation"]),
        number("impact_us", |row| row.line.row.time_us().into()),
        number("share", |row| row.line.share.into()),
        number("share_low", |row| row.line.row.share_interval.map(|found| found.low).into()),
        number("share_high", |row| row.line.row.share_interval.map(|found| found.high).into()),
        number("requests", |row| row.line.row.requests.into()),
        number("faster_percent", |row| row.line.percent.into()),
        number("saving_at_most_us", |row| row.line.at_most_us.into()),
        number("what_if_saving_us", |row| row.line.saved_us.into()),
        Column::endpoint("", "", |row: &Affected| {
            row.report.name(row.report.roots[row.root.root as usize].endpoint)
        })
        .csv(&["root_service", "root_operation"]),
        number("root_exclusive_us", |row| row.root.exclusive_us.into()),
        number("root_share", |row| row.report.share_in(row.root).into()),
        number("root_requests", |row| row.root.requests.into()),
    ];
    if report.rows.iter().any(|row| row.service_us.is_some()) {
        columns.push(number("own_us", |row| row.line.row.service_us.map(|(own_us, _)| own_us).into()));
        columns.push(number("waiting_us", |row| {
            row.line.row.service_us.map(|(_, waiting_us)| waiting_us).into()
        }));
    }
    if report.rows.iter().any(|row| row.calls.is_some()) {
        columns.push(number("calls_on_path", |row| row.line.row.calls.map(|(on_path, _)| on_path).into()));
        columns.push(number("calls_off_path", |row| row.line.row.calls.map(|(_, off_path)| off_path).into()));
    }
    if sums.is_some() {
        columns.push(number("sum", |row| row.line.sum.map(|(sum, _)| sum).into()));
        columns
            .push(number("sum_per_request", |row| row.line.sum.map(|(_, per_request)| per_request).into()));
    }
    let lines = ImpactLine::of(report, savings, sums, level);
    let affected = |line| ImpactLine::affected(line).iter().map(move |root| Affected { report, line, root });
    let rows: Vec<Affected> = lines.iter().flat_map(affected).collect();
    csv(&columns, &rows)
}

impl ImpactLine {
    /// Returns the root endpoints whose requests spend time in it, the most first.
    pub fn affected(&self) -> &[AffectedRoot] {
        &self.row.affected
    }
}

/// Returns what faster versions of an endpoint would save of the latency of all requests.
pub fn savings(saving: &EndpointSaving) -> Numbers {
    let rows = FASTER_PERCENT.iter().zip(saving.saved_us.levels()).map(|(percent, level)| {
        let cells = [level.mean, level.p50, level.p95, level.p99];
        (
            format!("{percent}{}%", format::THIN),
            cells.map(|us| (format::duration(us), us.to_string())).to_vec(),
        )
    });
    Numbers { heads: ["mean", "p50", "p95", "p99"].map(str::to_owned).to_vec(), rows: rows.collect() }
}
