//! Summaries over time.

use crate::EngineError;
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::summaries::joined::{Named, NamedPass};
use crate::summaries::{Merger, Summary};
use crate::trend::{TrendAxis, TrendOfSummaries};
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// An hour.
const HOUR_US: u64 = 3_600_000_000;
/// The first and the last request of a summary of one hour lie no further apart.
const MOST_OF_HOUR_US: u64 = HOUR_US + HOUR_US / 2;

/// Reports how latencies and self times move from one summary to the next, and since when.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trend {
    /// The set of summaries, see [`Selection::group`](crate::requests::Selection::group).
    pub group: u8,
    /// The points of the series.
    pub axis: TrendAxis,
}

/// A summary, or those of a folder, as a point in time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrendDay {
    /// Name of the file or the folder, without an ending; `09:00` of an hour of the day.
    pub name: String,
    /// Summaries.
    pub files: u64,
    /// Requests.
    pub requests: u64,
    /// Start of the first request, microseconds since the epoch; `None` without requests.
    pub start_us: Option<u64>,
}

/// Numbers over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrendReport {
    /// The points in time, in order; of the hours of the day those with requests.
    pub days: Vec<TrendDay>,
    /// Series and changes over them.
    pub trend: TrendOfSummaries,
    /// Summaries of more than an hour and a half, which are of no hour of the day.
    pub too_long: u64,
}

impl Query for Trend {
    type Report = TrendReport;

    async fn run(self, workers: Workers) -> Result<TrendReport, EngineError> {
        if workers.summaries().await?.is_none() {
            return Ok(TrendReport::default());
        }
        let parts = workers.partials(NamedPass { group: self.group }).await?;
        let named = parts.into_iter().flatten();
        match self.axis {
            TrendAxis::Days => of_days(named.collect()),
            TrendAxis::HourOfDay => TrendReport::by_hour_of_day(named.map(|(_, summary)| summary)),
        }
    }
}

impl TrendReport {
    /// Returns the trend over the hours of the day (UTC): each summary belongs to the hour in which the middle of its
    /// requests lies.
    ///
    /// # Errors
    /// [`EngineError::Summary`] if they were not summarised alike.
    pub fn by_hour_of_day(summaries: impl IntoIterator<Item = Summary>) -> Result<TrendReport, EngineError> {
        let mut hours: BTreeMap<u64, Vec<Summary>> = BTreeMap::new();
        let mut too_long = 0;
        for summary in summaries {
            let Some((first, last)) = summary.start_us else { continue };
            if last - first > MOST_OF_HOUR_US {
                too_long += 1;
            } else {
                hours.entry(first.midpoint(last) / HOUR_US % 24).or_default().push(summary);
            }
        }
        let hours = hours.into_iter().map(|(hour, summaries)| (format!("{hour:02}:00"), summaries));
        let report = of_points(hours.map(point).collect::<Result<_, _>>()?, TrendAxis::HourOfDay)?;
        Ok(TrendReport { too_long, ..report })
    }
}

fn in_words(error: impl std::fmt::Display) -> EngineError {
    EngineError::Summary(error.to_string())
}

/// Returns a point in time with the sum of its summaries.
fn point((name, summaries): (String, Vec<Summary>)) -> Result<(TrendDay, Summary), EngineError> {
    let files = summaries.len() as u64;
    let mut sum = Merger::default();
    summaries.into_iter().try_for_each(|summary| sum.add(summary)).map_err(in_words)?;
    let sum = sum.finish().map_err(in_words)?;
    let (requests, start_us) = (sum.requests(), sum.start_us.map(|(first, _)| first));
    Ok((TrendDay { name, files, requests, start_us }, sum))
}

/// Returns the trend over points in their order.
fn of_points(points: Vec<(TrendDay, Summary)>, axis: TrendAxis) -> Result<TrendReport, EngineError> {
    let (days, sums): (Vec<TrendDay>, Vec<Summary>) = points.into_iter().unzip();
    let trend = TrendOfSummaries::of(&sums, axis).map_err(in_words)?;
    Ok(TrendReport { days, trend, ..TrendReport::default() })
}

fn of_days(named: Vec<Named>) -> Result<TrendReport, EngineError> {
    let mut days = in_days(named).into_iter().map(point).collect::<Result<Vec<_>, _>>()?;
    // By name, and by time where the days follow each other: copies of one day would be in any order.
    days.compact_sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
    let mut by_time: Vec<(u64, u64)> = days.iter().filter_map(|(_, sum)| sum.start_us).collect();
    by_time.compact_sort();
    if by_time.len() == days.len() && by_time.windows(2).all(|two| two[1].0 > two[0].0.midpoint(two[0].1)) {
        days.compact_sort_by_key(|(day, _)| day.start_us);
    }
    of_points(days, TrendAxis::Days)
}

/// Puts summaries together that are one point in time: those of one folder if there are several folders, else each alone.
fn in_days(named: Vec<Named>) -> Vec<(String, Vec<Summary>)> {
    let folder = |name: &str| name.rsplit_once('/').map_or(String::new(), |(folder, _)| folder.to_owned());
    let folders: BTreeSet<String> = named.iter().map(|(name, _)| folder(name)).collect();
    let by_folder = folders.len() > 1;
    let mut days: BTreeMap<String, Vec<Summary>> = BTreeMap::new();
    for (name, summary) in named {
        let folder = folder(&name);
        let is_alone = !by_folder || folder.is_empty();
        days.entry(if is_alone { name } else { folder }).or_default().push(summary);
    }
    days.into_iter().map(|(name, summaries)| (short(&name).to_owned(), summaries)).collect()
}

/// Returns the last part of a path without an ending.
fn short(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".pathlight").unwrap_or(name)
}
