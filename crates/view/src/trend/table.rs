//! Numbers over time: what changed, since when, and where; a panel and a row for each number.

use crate::compare;
use crate::sampling;
use crate::say::tip::TipLine;
use crate::table::{Column, Number, Table, Width, csv, endpoint_attributes};
use crate::trend::chart::{Panel, TrendLine, TrendPanels};
use pathlight_base::format::{self, counted};
use pathlight_engine::queries::TrendReport;
use pathlight_engine::requests::RootEndpoint;
use pathlight_engine::summaries::Statistic;
use pathlight_engine::trend::{DayChange, Moved, Series, TrendAxis, TrendOfSummaries};
use pathlight_engine::verdict::Headline;
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Panels drawn at most; the table has every number.
const PANELS: usize = 30;

/// Words of a view of traces that needs summaries.
pub const NEEDS_SUMMARIES: &str = "Trend shows summaries over time: make one of each day with pathlight summarise TRACES -o \
                                   DAY.pathlight, and open them together or as a folder.";

/// Words of a trend by hour of the day that has no hour.
pub const NEEDS_HOURS: &str = "Hours of the day need summaries of an hour each.";

/// Returns what a series is called: `p95 latency of ...`, or the self time of an endpoint.
fn name(series: &Series) -> String {
    let of = |endpoint: &Endpoint| format::endpoint(&endpoint.service, &endpoint.operation);
    match &series.endpoint {
        None => format!("{} latency of {}", series.statistic, of(&series.root)),
        Some(endpoint) => format!("self time of {} in {}", of(endpoint), of(&series.root)),
    }
}

/// Returns how much something grew or fell: `is 12 % higher`.
fn growth(change: &DayChange) -> String {
    let percent = 100.0 * change.growth();
    format!("is {:.0} % {}", percent.abs(), if percent > 0.0 { "higher" } else { "lower" })
}

/// Returns the sentence for a reported change, `duration` writes times; `None` of one that was not worked out.
pub fn moved_words(
    trend: &TrendOfSummaries,
    moved: &Moved,
    days: &[String],
    duration: fn(f64) -> String,
) -> Option<String> {
    let clearest = trend.series.get(moved.series)?;
    let change = clearest.change?;
    let (when, [before, since]) = match trend.axis {
        TrendAxis::Days => (format!("Since {}", days.get(moved.day)?), ["before", "since"]),
        TrendAxis::HourOfDay => {
            (format!("From {}", hours(&change, days)?), ["in the other hours", "in these"])
        }
    };
    Some(format!(
        "{when}: {} {} (p {}), {} {before}, {} {since}.",
        name(clearest),
        growth(&change),
        format::probability(change.p),
        duration(change.before_us),
        duration(change.after_us),
    ))
}

/// Returns the first and last minute of the hours of a change: `09:00`, `12:59`.
fn ends(change: &DayChange, days: &[String]) -> Option<[String; 2]> {
    let last = change.until.checked_sub(1).map_or(days.last(), |last| days.get(last))?;
    Some([days.get(change.day)?.clone(), format!("{}:59", last.split(':').next()?)])
}

/// Returns the hours of a change: `09:00 to 12:59`.
fn hours(change: &DayChange, days: &[String]) -> Option<String> {
    ends(change, days).map(|[from, to]| format!("{from} to {to}"))
}

/// Returns what explains a change, `duration` writes times: a service, or the endpoint whose self time changed most where
/// no service stands out.
pub fn explanation(trend: &TrendOfSummaries, moved: &Moved, duration: fn(f64) -> String) -> String {
    // Days without sums of services have no verdict.
    let verdict = match moved.culprit.requests.contains(&0) {
        true => "No service stands out.".to_owned(),
        false => compare::services::summary(&moved.culprit),
    };
    if !matches!(moved.culprit.headline(), Headline::Suspect(_) | Headline::Nothing) {
        return verdict;
    }
    let is_slower = |change: &DayChange| change.after_us > change.before_us;
    let wanted = trend.series.get(moved.series).and_then(|clearest| clearest.change.as_ref()).map(is_slower);
    let of_root = trend.series.iter().filter(|series| series.root == moved.root);
    let certain = of_root.filter_map(|series| {
        let change = series.change.filter(|change| change.is_certain && Some(is_slower(change)) == wanted)?;
        Some((series.endpoint.as_ref()?, change.after_us - change.before_us))
    });
    // Stable: of equal ones the first by name.
    let largest = certain.reduce(|most, other| if other.1.abs() > most.1.abs() { other } else { most });
    match largest {
        None => verdict,
        Some((endpoint, us)) => format!(
            "{verdict} Most of the change is in the self time of {}: {}{} per request.",
            format::endpoint(&endpoint.service, &endpoint.operation),
            if us > 0.0 { "+" } else { "" },
            duration(us),
        ),
    }
}

/// A change as the page tells it.
#[derive(Clone, Debug, PartialEq)]
pub struct MovedWords {
    /// The root endpoint of the requests.
    pub root: Endpoint,
    /// Sentence on what changed and since when.
    pub change: String,
    /// Sentence on what explains the change.
    pub explanation: String,
}

/// Returns the changes that are reported, the clearest first; those of one root endpoint if one is chosen.
pub fn changes(report: &TrendReport, root: &RootEndpoint) -> Vec<MovedWords> {
    let days = day_names(report);
    let moved = report.trend.moved.iter().filter(|moved| is_of(root, &moved.root));
    let words = moved.filter_map(|moved| {
        Some(MovedWords {
            root: moved.root.clone(),
            change: moved_words(&report.trend, moved, &days, format::duration)?,
            explanation: explanation(&report.trend, moved, format::duration),
        })
    });
    words.collect()
}

/// Returns what stands above: how many days and series there are, and whether any changed.
pub fn note(report: &TrendReport, root: &RootEndpoint) -> String {
    let found = match report.trend.axis {
        TrendAxis::Days => days_note(report, root),
        TrendAxis::HourOfDay => hours_note(report, root),
    };
    match sampling::words::by_weight(&report.trend.weights) {
        None => found,
        Some(sampled) => format!("{found} {sampled}"),
    }
}

fn days_note(report: &TrendReport, root: &RootEndpoint) -> String {
    let (days, requests) = (report.days.len(), report.days.iter().map(|day| day.requests).sum());
    let over = format!("{} in {}", counted(requests, "request"), counted(days as u64, "day"));
    match (days, changes(report, root).len()) {
        (0..4, _) => {
            format!("{over}: changes are looked for from four days on, one summary file or folder a day.")
        }
        (_, 0) => format!("{over}: no change of 5 % or more beyond chance."),
        (_, n) => format!("{over}: {} with a change beyond chance.", counted(n as u64, "request type")),
    }
}

/// Returns what stands above a trend by hour of the day.
pub fn hours_note(report: &TrendReport, root: &RootEndpoint) -> String {
    let (hours, requests) = (report.days.len() as u64, report.days.iter().map(|day| day.requests).sum());
    let left = match report.too_long {
        0 => String::new(),
        1 => " 1 summary is of more than an hour and left out.".to_owned(),
        n => format!(" {} summaries are of more than an hour and left out.", format::count(n)),
    };
    let over = format!("{} in {} of the day (UTC)", counted(requests, "request"), counted(hours, "hour"));
    let found = match (hours, changes(report, root).len()) {
        (0, _) => NEEDS_HOURS.to_owned(),
        (_, 0) => format!("{over}: none differ by 5 % or more beyond chance."),
        (_, n) => {
            format!("{over}: {} with hours that differ beyond chance.", counted(n as u64, "request type"))
        }
    };
    found + &left
}

fn is_of(root: &RootEndpoint, of: &Endpoint) -> bool {
    match root {
        RootEndpoint::TraceRoots => true,
        RootEndpoint::Endpoint(endpoint) => endpoint == of,
    }
}

/// Returns the names of the days, in order.
pub fn day_names(report: &TrendReport) -> Vec<String> {
    report.days.iter().map(|day| format::printable(&day.name)).collect()
}

/// A series as a row of the table.
#[derive(Clone)]
pub struct TrendRow {
    report: Rc<TrendReport>,
    at: usize,
    /// `p95 latency`, `self time`.
    number: String,
    panel: usize,
}

impl TrendRow {
    /// Returns the rows of a root endpoint, or of all, the clearest change first (ties: by name).
    pub fn of(report: &Rc<TrendReport>, root: &RootEndpoint) -> Vec<TrendRow> {
        let series = report.trend.series.iter().enumerate();
        let mut rows: Vec<TrendRow> = series
            .filter(|(_, series)| is_of(root, &series.root))
            .map(|(at, series)| TrendRow {
                report: report.clone(),
                at,
                number: match &series.endpoint {
                    None => format!("{} latency", series.statistic),
                    Some(_) => "self time".to_owned(),
                },
                panel: usize::MAX,
            })
            .collect();
        // Stable: what is equally clear stays by name.
        rows.sort_by(|a, b| clearness(a.series()).total_cmp(&clearness(b.series())));
        rows
    }

    /// Returns its series.
    pub fn series(&self) -> &Series {
        &self.report.trend.series[self.at]
    }

    /// Returns the endpoint that it is about: that whose self time it is, or the root endpoint.
    pub fn endpoint(&self) -> &Endpoint {
        let series = self.series();
        series.endpoint.as_ref().unwrap_or(&series.root)
    }

    /// Returns the panel that draws it, if one does.
    pub fn panel(&self) -> Option<usize> {
        Some(self.panel).filter(|panel| *panel != usize::MAX)
    }

    fn certain(&self) -> Option<DayChange> {
        self.series().change.filter(|change| change.is_certain)
    }

    fn latest(&self) -> Option<f64> {
        self.series().points.iter().flatten().last().map(|point| point.value)
    }
}

/// Returns what series are sorted by: certain changes before others, then by their probability under chance.
fn clearness(series: &Series) -> f64 {
    series.change.map_or(2.0, |change| if change.is_certain { change.p - 1.0 } else { change.p })
}

fn real(value: Option<f64>) -> Number {
    value.map_or(Number::None, Number::Real)
}

/// Returns the panels of rows, in their order, and tells each row its panel: latency is one panel for all its percentiles.
pub fn panels(report: &TrendReport, rows: &mut [TrendRow]) -> TrendPanels {
    let days = day_names(report);
    let mut keys: Vec<(Endpoint, Option<Endpoint>)> = Vec::new();
    let mut panels: Vec<Panel> = Vec::new();
    for row in rows {
        let series = &report.trend.series[row.at];
        let key = (series.root.clone(), series.endpoint.clone());
        let place = keys.iter().position(|known| *known == key);
        if place.is_none() && panels.len() == PANELS {
            continue;
        }
        let place = place.unwrap_or_else(|| {
            let Endpoint { service, operation } = row.endpoint();
            let what = if series.endpoint.is_some() { "self time" } else { "latency" };
            panels.push(Panel {
                title: format!("{what}: {}", format::endpoint(service, operation)),
                note: panel_note(series, report.trend.axis, &days),
                is_changed: row.certain().is_some(),
                is_dimmed: false,
                lines: Vec::new(),
            });
            keys.push(key);
            panels.len() - 1
        });
        row.panel = place;
        // The mean lies among the percentiles and says little beside them.
        if series.endpoint.is_none() && series.statistic == Statistic::Mean {
            continue;
        }
        let point = |point: &pathlight_engine::summaries::Estimate| {
            // A 95 % interval.
            let off = if point.error.is_finite() { 1.96 * point.error } else { 0.0 };
            (point.value, off.min(point.value))
        };
        panels[place].lines.push(TrendLine {
            name: if series.endpoint.is_none() { series.statistic.to_string() } else { String::new() },
            points: series.points.iter().map(|of| of.as_ref().map(point)).collect(),
            change: row.certain(),
        });
    }
    for panel in &mut panels {
        panel.lines.sort_by(|a, b| a.name.cmp(&b.name));
    }
    tell_apart(&mut panels, &keys);
    TrendPanels { days, panels }
}

/// Dims the panels without a row that a search finds (`hits`; `None`: nothing is searched for).
pub fn dim(panels: &mut TrendPanels, rows: &[TrendRow], hits: Option<&[bool]>) {
    for (at, panel) in panels.panels.iter_mut().enumerate() {
        let mut own = rows.iter().zip(hits.unwrap_or_default()).filter(|(row, _)| row.panel() == Some(at));
        panel.is_dimmed = hits.is_some() && !own.any(|(_, hit)| *hit);
    }
}

/// Adds to titles that several panels have whose requests each is about.
fn tell_apart(panels: &mut [Panel], keys: &[(Endpoint, Option<Endpoint>)]) {
    let operation = |root: &Endpoint| format::operation(&root.service, &root.operation);
    let endpoint = |root: &Endpoint| format::endpoint(&root.service, &root.operation);
    let titles: Vec<String> = panels.iter().map(|panel| panel.title.clone()).collect();
    for (at, panel) in panels.iter_mut().enumerate() {
        let root = &keys[at].0;
        let same = || (0..keys.len()).filter(|&other| other != at && titles[other] == titles[at]);
        if same().any(|other| operation(&keys[other].0) == operation(root)) {
            panel.title.push_str(&format!(" in {}", endpoint(root)));
        } else if same().next().is_some() {
            panel.title.push_str(&format!(" in {}", operation(root)));
        }
    }
}

fn panel_note(series: &Series, axis: TrendAxis, days: &[String]) -> String {
    match series.change.filter(|change| change.is_certain) {
        Some(change) => {
            let when = when(&change, axis, days);
            let name =
                if series.endpoint.is_none() { format!("{} ", series.statistic) } else { String::new() };
            format!("{name}{:+.0}{}% {when}", 100.0 * change.growth(), format::THIN)
        }
        None if axis == TrendAxis::HourOfDay => "no hours that differ beyond chance".to_owned(),
        None => "no change beyond chance".to_owned(),
    }
}

/// Returns when a change holds: `since day-5`, `from 09:00 to 12:59`.
fn when(change: &DayChange, axis: TrendAxis, days: &[String]) -> String {
    match axis {
        TrendAxis::Days => days.get(change.day).map_or(String::new(), |day| format!("since {day}")),
        TrendAxis::HourOfDay => hours(change, days).map_or(String::new(), |hours| format!("from {hours}")),
    }
}

/// Returns what the tip says of a panel.
pub fn tip(of: &TrendPanels, at: usize, is_enlarged: bool) -> Vec<TipLine> {
    let Some(panel) = of.panels.get(at) else { return Vec::new() };
    let mut lines = vec![TipLine::Strong(panel.title.clone()), TipLine::Text(panel.note.clone())];
    for line in &panel.lines {
        let mut known = line.points.iter().zip(&of.days).filter_map(|(point, day)| Some(((*point)?, day)));
        let last = known.next_back().map(|((value, off), day)| {
            let (value, off) = (format::duration(value), format::duration(off));
            format!("{} {value} \u{b1} {off} on {day}", line.name).trim_start().to_owned()
        });
        lines.extend(last.map(TipLine::Text));
    }
    lines.push(TipLine::Hint(if is_enlarged { "Click to see all" } else { "Click to enlarge" }.to_owned()));
    lines
}

/// Returns the table of series.
pub fn table() -> Table<TrendRow> {
    let columns = vec![
        Column::text("number", "Number", "Which number", |row: &TrendRow| row.number.as_str().into()),
        Column::endpoint(
            "Endpoint",
            "The endpoint whose latency or self time per request it is",
            |row: &TrendRow| row.endpoint().names(),
        ),
        Column::text("request", "In requests of", "Root endpoint of the requests", |row: &TrendRow| {
            let Endpoint { service, operation } = &row.series().root;
            format::endpoint(service, operation).into()
        })
        .low(3)
        .width(Width::Caller),
        Column::said(
            "change",
            "Change",
            "How much higher or lower it is since then; a dash if not beyond chance",
            |row: &TrendRow| real(row.certain().map(|change| change.growth())),
            |row| {
                row.certain().map_or(String::new(), |change| {
                    let percent = 100.0 * change.growth();
                    let decimals = usize::from(percent.abs() < 100.0);
                    format!("{percent:+.decimals$} %")
                })
            },
        ),
        Column::text(
            "since",
            "When",
            "The first day of the new level, or the hours of the other one",
            |row: &TrendRow| {
                let days = day_names(&row.report);
                let change = row.certain();
                match row.report.trend.axis {
                    TrendAxis::Days => {
                        change.and_then(|change| days.get(change.day).cloned()).unwrap_or_default()
                    }
                    TrendAxis::HourOfDay => change
                        .and_then(|change| ends(&change, &days))
                        .map_or(String::new(), |[from, to]| format!("{from}\u{2013}{to}")),
                }
                .into()
            },
        )
        .low(2),
        Column::said(
            "p",
            "p",
            "How likely a change this clear is by chance, on any day",
            |row: &TrendRow| Number::Real(clearness(row.series())),
            |row| row.series().change.map_or(String::new(), |change| format::probability(change.p)),
        )
        .low(2),
        Column::duration(
            "before",
            "Before",
            "Level before, over all days, or in the other hours",
            |row: &TrendRow| real(row.series().change.map(|change| change.before_us)),
        )
        .low(2),
        Column::duration("after", "Then", "Level from that day on, or in these hours", |row: &TrendRow| {
            real(row.series().change.map(|change| change.after_us))
        })
        .low(2),
        Column::duration(
            "latest",
            "Last",
            "The number of the last day, or hour, that has one",
            |row: &TrendRow| real(row.latest()),
        )
        .low(2),
    ];
    Table::new("trend", "Numbers over time", ("p", false), columns)
        .with_attributes(|row| {
            let mut attributes = endpoint_attributes("series", row.endpoint().names(), real(row.latest()));
            attributes.push(("data-certain", row.certain().is_some().to_string()));
            attributes
        })
        .search(|row, finder| finder.fits_endpoint(row.endpoint().names()))
}

/// Returns every number of every day as comma-separated values.
pub fn to_csv(report: &Rc<TrendReport>, root: &RootEndpoint) -> String {
    struct Point(TrendRow, usize);
    let columns = [
        Column::text_field("number", |of: &Point| of.0.number.as_str().into()),
        Column::text_field("service", |of: &Point| of.0.endpoint().service.as_str().into()),
        Column::text_field("operation", |of: &Point| of.0.endpoint().operation.as_str().into()),
        Column::text_field("root_service", |of: &Point| of.0.series().root.service.as_str().into()),
        Column::text_field("root_operation", |of: &Point| of.0.series().root.operation.as_str().into()),
        Column::text_field("day", |of: &Point| of.0.report.days[of.1].name.as_str().into()),
        Column::field("value_us", |of: &Point| {
            real(of.0.series().points.get(of.1).copied().flatten().map(|point| point.value))
        }),
        Column::field("n", |of: &Point| {
            of.0.series().points.get(of.1).copied().flatten().map_or(Number::None, |point| point.n.into())
        }),
    ];
    let days = report.days.len();
    let points: Vec<Point> = TrendRow::of(report, root)
        .into_iter()
        .flat_map(|row| (0..days).map(move |day| Point(row.clone(), day)))
        .collect();
    csv(&columns, &points)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::verdict::ServicesReport;

    #[test]
    fn where_no_service_stands_out_the_largest_change_of_self_time_does() {
        let root = Endpoint::new("shop", "GET /");
        let series = |endpoint: Option<&str>, before_us: f64, after_us: f64, is_certain: bool| Series {
            root: root.clone(),
            endpoint: endpoint.map(|service| Endpoint::new(service, "read")),
            statistic: Statistic::Mean,
            points: Vec::new(),
            change: Some(DayChange { day: 1, until: 2, before_us, after_us, p: 1e-9, is_certain }),
        };
        let mut trend = TrendOfSummaries {
            series: vec![
                series(None, 9000.0, 9400.0, true),
                series(Some("faster"), 5000.0, 1000.0, true),
                series(Some("small"), 10.0, 90.0, true),
                series(Some("large"), 1000.0, 1400.0, true),
                series(Some("uncertain"), 1000.0, 9000.0, false),
            ],
            ..TrendOfSummaries::default()
        };
        let moved = Moved { root: root.clone(), day: 1, series: 0, culprit: ServicesReport::default() };
        let words = explanation(&trend, &moved, format::duration);
        let most = format!("of read @ large: +{} per request.", format::duration(400.0));
        assert!(
            words.starts_with("No service stands out. Most of the change") && words.ends_with(&most),
            "{words}"
        );
        let culprit = ServicesReport { requests: [9, 9], ..ServicesReport::default() };
        let compared = Moved { culprit: culprit.clone(), ..moved.clone() };
        let words = explanation(&trend, &compared, format::duration);
        assert!(
            words.starts_with(&compare::services::summary(&culprit)) && words.ends_with(&most),
            "{words}"
        );
        trend.series.truncate(2);
        assert!(explanation(&trend, &moved, format::duration).ends_with("stands out."));
    }

    #[test]
    fn panels_of_an_endpoint_in_several_requests_say_in_which() {
        let series = |service: &str, root: &str, endpoint: &str| Series {
            root: Endpoint::new(service, root),
            endpoint: Some(Endpoint::new(endpoint, "read")),
            statistic: Statistic::Mean,
            points: Vec::new(),
            change: None,
        };
        let of =
            [("shop", "buy", "db"), ("shop", "look", "db"), ("app", "look", "db"), ("shop", "buy", "cache")];
        let series = of.map(|(service, root, endpoint)| series(service, root, endpoint)).to_vec();
        let trend = TrendOfSummaries { series, ..TrendOfSummaries::default() };
        let report = Rc::new(TrendReport { trend, ..TrendReport::default() });
        let mut rows = TrendRow::of(&report, &RootEndpoint::TraceRoots);
        let mut drawn = panels(&report, &mut rows);
        dim(&mut drawn, &rows, Some(&[false, true, false, false]));
        assert_eq!([0, 1, 2, 3].map(|at| drawn.panels[at].is_dimmed), [true, false, true, true]);
        dim(&mut drawn, &rows, None);
        assert!(drawn.panels.iter().all(|panel| !panel.is_dimmed));
        let titles: Vec<String> = drawn.panels.into_iter().map(|panel| panel.title).collect();
        let said = ["db in buy", "db in look @ shop", "db in look @ app", "cache"];
        assert_eq!(titles, said.map(|of| format!("self time: read @ {of}")));
    }
}
