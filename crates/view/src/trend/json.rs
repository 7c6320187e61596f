//! `pathlight trend --json`: numbers over time.

use crate::compare::services_json::Service;
use crate::json::parts::{Text, pretty, public_json};
use pathlight_engine::trend::{DayChange, Moved, Series, TrendOfSummaries};
use pathlight_trace::Endpoint;

public_json! {
    /// Numbers over time and the days on which they changed.
    TrendOf<'a>(trend: &'a TrendOfSummaries, days: &'a [String]) {
        /// Names of the days, in the order given; or the hours of the day (UTC), such as `09:00`.
        days: &'a [String] = days,
        /// Requests that those of all days stand for, where they were sampled and say so; else left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        weight: Option<f64> = (!trend.weights.are_ones()).then(|| trend.weights.requests()),
        /// Root endpoints with a change that is reported, the clearest first.
        moved: Vec<MovedOf<'a>> = trend.moved.iter().map(|moved| MovedOf::of(moved, days)).collect(),
        /// All numbers, by root endpoint: latency first, then the self time of endpoints.
        series: Vec<SeriesOf<'a>> = trend.series.iter().map(|series| SeriesOf::of(series, days)).collect(),
    }
}

public_json! {
    /// Change of the requests of one root endpoint.
    MovedOf<'a>(moved: &'a Moved, days: &'a [String]) {
        /// The root endpoint.
        root: &'a Endpoint = &moved.root,
        /// The first day of the new level.
        day: &'a str = &days[moved.day],
        /// Its clearest number: place in `series`, from 0.
        series: usize = moved.series,
        /// The days before against the days since: services by what they explain.
        services: Vec<Service<'a>> = Service::all(&moved.culprit),
    }
}

public_json! {
    /// One number over the days.
    SeriesOf<'a>(series: &'a Series, days: &'a [String]) {
        /// The root endpoint of the requests.
        root: &'a Endpoint = &series.root,
        /// The endpoint whose mean self time per request it is; `null`: it is about latency.
        endpoint: Option<&'a Endpoint> = series.endpoint.as_ref(),
        /// `mean`, `p50`, `p95` or `p99`.
        statistic: String = series.statistic.to_string(),
        /// By day, in microseconds; `null` where too few requests are.
        values_us: Vec<Option<f64>> = series.points.iter().map(|point| point.map(|point| point.value)).collect(),
        /// Values that each day's number stands on.
        n: Vec<u64> = series.points.iter().map(|point| point.map_or(0, |point| point.n)).collect(),
        /// The effective number of values of each day, (sum w)^2 / sum w^2, where sampled traces stand for unequally many
        /// requests; else left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        effective: Option<Vec<f64>> = effective(series),
        /// The day from which on it differs most; `null` with fewer than four days.
        change: Option<ChangeOf<'a>> = series.change.as_ref().map(|change| ChangeOf::of(change, days)),
    }
}

public_json! {
    /// A change of level.
    ChangeOf<'a>(change: &DayChange, days: &'a [String]) {
        /// The first day of the new level.
        day: &'a str = &days[change.day],
        /// By hour of the day: the first hour of the level before; left out where no hour ends it.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<&'a str> = days.get(change.until).map(String::as_str),
        /// Level before, microseconds.
        before_us: f64 = change.before_us,
        /// Level since, microseconds.
        after_us: f64 = change.after_us,
        /// Probability of a change this clear by chance, on any day.
        p: f64 = change.p,
        /// It is reported: at least 5 %, and more than chance among all series.
        is_certain: bool = change.is_certain,
    }
}

fn effective(series: &Series) -> Option<Vec<f64>> {
    let points = series.points.iter();
    let is_less = points.clone().flatten().any(|point| point.effective != point.n as f64);
    is_less.then(|| points.map(|point| point.map_or(0.0, |point| point.effective)).collect())
}

/// Returns the JSON of `trend`.
///
/// # Errors
/// Only if serde_json refuses a value, which no trend holds.
pub fn trend(trend: &TrendOfSummaries, days: &[String]) -> Text {
    pretty(&TrendOf::of(trend, days))
}
