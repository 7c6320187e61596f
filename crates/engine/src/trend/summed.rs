//! Numbers over time and the days on which they changed (`docs/definitions/summary.md` section 8).

use crate::compare::compare;
use crate::endpoints::SummedEndpoint;
use crate::endpoints::summed::SummedEndpoints;
use crate::summaries::by_weight::RootTimes;
use crate::summaries::{Estimate, Lacks, Merger, OtherSettings, Statistic, Summary};
use crate::verdict::ServicesReport;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Weights, false_discovery, normal_p, student_p};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Fewer values on a day give no point.
const LEAST: u64 = 30;
/// Fewer days show no change.
const LEAST_DAYS: usize = 4;
/// A change smaller than this share of what was before is not reported.
const LEAST_CHANGE: f64 = 0.05;
/// An endpoint below this share of the latency on every day has no series.
const LEAST_SHARE: f64 = 0.01;
/// At most this share of the changes reported is expected to be chance.
const FALSE_DISCOVERIES: f64 = 0.01;
/// Latency has a series for each of these.
const OF_LATENCY: [Statistic; 4] = [Statistic::Mean, Statistic::P50, Statistic::P95, Statistic::P99];

/// One number over the days.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The root endpoint of the requests.
    pub root: Endpoint,
    /// The endpoint whose self time per request it is; `None`: it is about latency.
    pub endpoint: Option<Endpoint>,
    /// The statistic of the series.
    pub statistic: Statistic,
    /// By day the number in microseconds; `None` where too few requests are.
    pub points: Vec<Option<Estimate>>,
    /// The day from which on it differs most; `None` if nothing can be said.
    pub change: Option<DayChange>,
}

/// What the points of a trend are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TrendAxis {
    /// Days, or other stretches of time, one after the other: a change is from a day on.
    #[default]
    Days,
    /// The hours of the day, of however many days: a change is of some hours in a row, at most half of the day.
    HourOfDay,
}

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DayChange {
    /// The first day, or hour, of the other level, from 0.
    pub day: usize,
    /// One past its last, beyond midnight one of the hours after; the number of days where there is no end.
    pub until: usize,
    /// Level before, or in the other hours, in microseconds.
    pub before_us: f64,
    /// Level from that day on, or in these hours.
    pub after_us: f64,
    /// Probability of a change this clear by chance, on any day.
    pub p: f64,
    /// It is reported: more than chance among all series, and at least 5 %.
    pub is_certain: bool,
}

/// Change of one root endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Moved {
    /// The root endpoint of the requests.
    pub root: Endpoint,
    /// The first day of the new level, or hour of the other one, from 0.
    pub day: usize,
    /// Number of its clearest series.
    pub series: usize,
    /// The days before against the days since.
    pub culprit: ServicesReport,
}

/// Reason why there is no trend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTrend {
    /// The days were not summarised in the same way.
    #[error(transparent)]
    Settings(#[from] OtherSettings),
    /// A day lacks what a trend needs.
    #[error(transparent)]
    Lacks(#[from] Lacks),
}

/// Summaries over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrendOfSummaries {
    /// What the points are.
    pub axis: TrendAxis,
    /// By root endpoint, latency first, then endpoints by name.
    pub series: Vec<Series>,
    /// Root endpoints with a change that is reported, the clearest first.
    pub moved: Vec<Moved>,
    /// How many requests those of all days stand for.
    pub weights: Weights,
}

impl DayChange {
    /// Returns the change as a share of the level before.
    pub fn growth(&self) -> f64 {
        if self.before_us == 0.0 { f64::INFINITY } else { self.after_us / self.before_us - 1.0 }
    }

    /// Returns whether a day, or an hour, has the other level.
    pub fn has(&self, day: usize) -> bool {
        if self.until > self.day {
            (self.day..self.until).contains(&day)
        } else {
            day >= self.day || day < self.until
        }
    }

    /// Finds the split of the days into before and after, or of the hours into some in a row and the others, that is
    /// clearest: the likelihood ratio for a shift of the mean of normal values, with the maximum over all splits bounded by
    /// Bonferroni (Worsley 1979). The variance of a day is known from its requests; where days scatter more than that, it
    /// is scaled up to what they scatter (Birge 1932), and the normal distribution gives way to Student's.
    fn of(points: &[Option<Estimate>], axis: TrendAxis) -> Option<DayChange> {
        let known: Vec<(usize, Estimate)> =
            points.iter().enumerate().filter_map(|(day, point)| Some((day, (*point)?))).collect();
        if known.len() < LEAST_DAYS {
            return None;
        }
        // The variance of a single value, over all days, so that no day weighs more because it happens to vary less.
        let days = known.len() as f64;
        let variance =
            known.iter().map(|(_, point)| point.error * point.error * point.effective).sum::<f64>() / days;
        let count = known.len();
        // The first place of the other level, and how many places it has.
        let splits: Vec<(usize, usize)> = match axis {
            TrendAxis::Days => (1..count).map(|at| (at, count - at)).collect(),
            TrendAxis::HourOfDay => {
                (0..count).flat_map(|at| (1..=count / 2).map(move |length| (at, length))).collect()
            }
        };
        let mean = |part: &[(usize, Estimate)]| {
            let n: f64 = part.iter().map(|(_, point)| point.effective).sum();
            (n, part.iter().map(|(_, point)| point.value * point.effective).sum::<f64>() / n)
        };
        let freedom = days - 2.0;
        let split = |&(at, length): &(usize, usize)| {
            let mut turned = known.clone();
            turned.rotate_left(at);
            let (after, before) = turned.split_at(length);
            let ((n_a, a), (n_b, b)) = (mean(before), mean(after));
            let scatter = |part: &[(usize, Estimate)], level: f64| {
                part.iter().map(|(_, point)| point.effective * (point.value - level).powi(2)).sum::<f64>()
            };
            let scatter = scatter(before, a) + scatter(after, b);
            let is_scattered = scatter > variance * chi_square_95(freedom);
            let spread = variance.max(scatter / freedom) * (1.0 / n_a + 1.0 / n_b);
            let p = if a == b {
                1.0
            } else if spread <= 0.0 {
                0.0
            } else if is_scattered {
                student_p((b - a) / spread.sqrt(), freedom)
            } else {
                normal_p((b - a) / spread.sqrt())
            };
            let p = (p * splits.len() as f64).min(1.0);
            let end = at + length;
            let end = if end > count { end - count } else { end };
            let until = known.get(end).map_or(points.len(), |(day, _)| *day);
            DayChange { day: after[0].0, until, before_us: a, after_us: b, p, is_certain: false }
        };
        splits.iter().map(split).min_by(|x, y| {
            x.p.total_cmp(&y.p).then_with(|| {
                // Beyond the least positive number the larger change is the clearer one.
                (y.after_us - y.before_us).abs().total_cmp(&(x.after_us - x.before_us).abs())
            })
        })
    }
}

/// Returns the 95 % quantile of chi squared (Wilson and Hilferty).
fn chi_square_95(freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    freedom * (1.0 - spread + 1.644_854 * spread.sqrt()).powi(3)
}

impl TrendOfSummaries {
    /// Returns the trend over summaries in the order of time, or of the hours of the day.
    ///
    /// # Errors
    /// [`NoTrend`].
    pub fn of(days: &[Summary], axis: TrendAxis) -> Result<TrendOfSummaries, NoTrend> {
        let days = &Summary::alike(&days.iter().collect::<Vec<_>>());
        let endpoints_of_days = days.iter().map(|day| day.sections.endpoints.get());
        let endpoints_of_days = endpoints_of_days.collect::<Result<Vec<_>, Lacks>>()?;
        let roots: BTreeSet<&Endpoint> =
            days.iter().flat_map(|day| day.roots.keys().chain(day.lesser.keys())).collect();
        let mut series: Vec<Series> = Vec::new();
        for root in roots {
            let parts: Vec<_> = days.iter().map(|day| day.times(root)).collect();
            let mut add =
                |endpoint: Option<&Endpoint>, statistic: Statistic, points: Vec<Option<Estimate>>| {
                    if points.iter().any(Option::is_some) {
                        let change = DayChange::of(&points, axis);
                        series.push(Series {
                            root: root.clone(),
                            endpoint: endpoint.cloned(),
                            statistic,
                            points,
                            change,
                        });
                    }
                };
            for statistic in OF_LATENCY {
                let least = LEAST.max(statistic.least()) as f64;
                let point = |part: &Option<RootTimes>| Some(statistic.of(&(*part)?.latency()));
                let points = parts.iter().map(|part| point(part).filter(|e| e.effective >= least));
                add(None, statistic, points.collect());
            }
            let mut endpoints: BTreeMap<&Endpoint, bool> = BTreeMap::new();
            let of_root: Vec<_> = endpoints_of_days.iter().map(|day| day.get(root)).collect();
            for (part, of_root) in parts.iter().zip(&of_root) {
                let (Some(part), Some(of_root)) = (part, of_root) else { continue };
                for (endpoint, sums) in *of_root {
                    let [own, all] =
                        [part.self_time(endpoint, sums), part.latency()].map(|of| of.sums().sum());
                    let is_large = own as f64 >= LEAST_SHARE * all as f64;
                    *endpoints.entry(endpoint).or_default() |= is_large;
                }
            }
            for endpoint in
                endpoints.into_iter().filter(|(_, is_large)| *is_large).map(|(endpoint, _)| endpoint)
            {
                let none = SummedEndpoint::default();
                let point = |(part, of_root): (&Option<RootTimes>, &Option<&SummedEndpoints>)| {
                    let part = (*part)?;
                    let sums = of_root.and_then(|parts| parts.get(endpoint)).unwrap_or(&none);
                    let mean = Statistic::mean_over(&part.self_time(endpoint, sums), &part.weights());
                    (mean.effective >= LEAST as f64).then_some(mean)
                };
                let points = parts.iter().zip(&of_root).map(point);
                add(Some(endpoint), Statistic::Mean, points.collect());
            }
        }
        let p: Vec<f64> = series.iter().map(|one| one.change.map_or(f64::NAN, |change| change.p)).collect();
        for (one, is_likely) in series.iter_mut().zip(false_discovery(&p, FALSE_DISCOVERIES)) {
            if let Some(change) = &mut one.change {
                change.is_certain = is_likely && change.growth().abs() >= LEAST_CHANGE;
            }
        }
        let moved = moved(days, &series)?;
        let mut weights = Weights::default();
        days.iter().for_each(|day| weights.merge(&day.weights()));
        Ok(TrendOfSummaries { axis, series, moved, weights })
    }
}

/// Returns the clearest change of each root endpoint that has one, with the services that explain it.
fn moved(days: &[Cow<'_, Summary>], series: &[Series]) -> Result<Vec<Moved>, NoTrend> {
    let mut clearest: BTreeMap<&Endpoint, (DayChange, usize)> = BTreeMap::new();
    for (number, one) in series.iter().enumerate() {
        let Some(change) = one.change.filter(|change| change.is_certain) else { continue };
        let best = clearest.entry(&one.root).or_insert((change, number));
        if change.p < best.0.p {
            *best = (change, number);
        }
    }
    let mut sorted: Vec<_> = clearest.into_iter().collect();
    // Stable: equal ones stay by name.
    sorted.compact_sort_by(|(_, (x, _)), (_, (y, _))| x.p.total_cmp(&y.p));
    let sum = |change: &DayChange, is_wanted: bool| {
        let mut sum = Merger::default();
        let mut wanted = days.iter().enumerate().filter(|(day, _)| change.has(*day) == is_wanted);
        wanted.try_for_each(|(_, day)| sum.add(Summary::clone(day)))?;
        sum.finish()
    };
    let mut sums: BTreeMap<(usize, usize), (Summary, Summary)> = BTreeMap::new();
    let mut out = Vec::new();
    for (root, (change, series)) in sorted {
        let day = change.day;
        let place = (day, change.until);
        if let std::collections::btree_map::Entry::Vacant(e) = sums.entry(place) {
            e.insert((sum(&change, false)?, sum(&change, true)?));
        }
        let culprit = match sums.get(&place) {
            Some((before, since)) => match compare(before, since, Some(root)) {
                Ok(report) => report.culprit,
                // Its services are summed together with those of others.
                Err(lacks) if lacks.is_together() => ServicesReport::default(),
                Err(lacks) => return Err(lacks.into()),
            },
            None => ServicesReport::default(),
        };
        out.push(Moved { root: root.clone(), day, series, culprit });
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[f64], error: f64) -> Vec<Option<Estimate>> {
        values.iter().map(|&value| Some(Estimate { n: 100, effective: 100.0, value, error })).collect()
    }

    #[test]
    fn the_split_and_its_levels_are_found() {
        let mut points = points(&[100.0, 101.0, 99.0, 100.0, 120.0, 121.0, 119.0], 1.0);
        let change = DayChange::of(&points, TrendAxis::Days).unwrap();
        assert_eq!((change.day, change.before_us, change.after_us), (4, 100.0, 120.0));
        // z = 20 / sqrt(1/4 + 1/3) = 26.2.
        assert!(change.p < 1e-100);
        points[5] = None;
        assert_eq!(DayChange::of(&points, TrendAxis::Days).unwrap().day, 4);
        assert_eq!(DayChange::of(&points[..3], TrendAxis::Days), None);
    }

    #[test]
    fn days_that_scatter_more_than_their_requests_explain_need_more() {
        // The same days, with 1 or 0.01 as the standard error of each: what decides is how the days scatter.
        let values = [100.0, 104.0, 97.0, 101.0, 108.0, 105.0, 111.0];
        let change = DayChange::of(&points(&values, 0.01), TrendAxis::Days).unwrap();
        // Levels 100.5 and 108 with squares 25 and 18 around them: t = 7.5 / sqrt(43 / 5 * 7 / 12) = 3.348, 5 degrees.
        assert_eq!(change.day, 4);
        assert!((change.p - 6.0 * 0.020_37).abs() < 2e-3, "{change:?}");
        assert_eq!(DayChange::of(&points(&[5.0; 7], 0.0), TrendAxis::Days).unwrap().p, 1.0);
    }

    #[test]
    fn hours_in_a_row_are_found_also_over_midnight() {
        let level = |slow: &[usize]| -> Vec<f64> {
            (0..24).map(|hour| if slow.contains(&hour) { 150.0 } else { 100.0 + (hour % 3) as f64 }).collect()
        };
        for (slow, from, until) in
            [(vec![9, 10, 11, 12], 9, 13), (vec![22, 23, 0, 1], 22, 2), (vec![21, 22, 23], 21, 24)]
        {
            let mut points = points(&level(&slow), 1.0);
            let change = DayChange::of(&points, TrendAxis::HourOfDay).unwrap();
            assert_eq!((change.day, change.until), (from, until));
            assert!((0..24).all(|hour| change.has(hour) == slow.contains(&hour)) && change.p < 1e-20);
            assert!((change.before_us - 101.0).abs() < 0.1 && change.after_us == 150.0);
            // An hour without requests is in neither.
            points[5] = None;
            assert_eq!(DayChange::of(&points, TrendAxis::HourOfDay).unwrap().day, from);
        }
        // Hours that scatter alike have no such stretch.
        let values: Vec<f64> = (0..24).map(|hour| 100.0 + f64::from(hour * 7 % 24)).collect();
        assert!(DayChange::of(&points(&values, 1.0), TrendAxis::HourOfDay).unwrap().p > 0.5);
    }

    #[test]
    fn quantiles_of_chi_squared_are_those_of_the_tables() {
        for (freedom, expected) in [(2.0, 5.991), (5.0, 11.070), (20.0, 31.410)] {
            assert!((chi_square_95(freedom) / expected - 1.0).abs() < 0.015);
        }
    }
}
