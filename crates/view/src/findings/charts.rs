//! The small charts of findings, as data: bars, strips, points and steps with places from 0 to 1.

use crate::findings::sentences::reaches_p99;
use pathlight_base::statistics::Interval;
use pathlight_engine::findings::{Finding, FindingFacts, OneAfterTheOtherFacts, TimeoutFacts, WhoFacts};

/// The chart of a finding. Places are 0 to 1, from left to right and from below.
#[derive(Clone, Debug, PartialEq)]
pub enum FindingChart {
    /// Bars from a common left end.
    Bars(Vec<StakeBar>),
    /// Two rows of ticks, one for each request: what the finding is about, and the others. The last is what stands below:
    /// the least and the greatest latency.
    Strips([(&'static str, Vec<f64>); 2], [f64; 2]),
    /// Latencies over time, and whether the finding is about them; the last is the greatest latency.
    Points(Vec<([f64; 2], bool)>, f64),
    /// Calls one after the other: where each begins, and how long it is.
    Steps(Vec<[f64; 2]>),
}

/// A bar: microseconds, and how sure they are.
#[derive(Clone, Debug, PartialEq)]
pub struct StakeBar {
    /// Name of the bar.
    pub name: &'static str,
    /// Length of the bar in microseconds.
    pub us: f64,
    /// The 95 % interval of the length.
    pub interval: Option<Interval>,
}

/// Calls that are drawn of a run.
const STEPS: f64 = 12.0;

fn bar(name: &'static str, us: f64) -> StakeBar {
    StakeBar { name, us, interval: None }
}

/// Returns the chart of a finding; `None` if there is nothing to draw.
pub fn finding_chart(finding: &Finding) -> Option<FindingChart> {
    // Over time says more than one bar.
    if let Some(chart) = finding.explains.iter().find_map(over_time) {
        return Some(chart);
    }
    let stake = |name| StakeBar { name, us: finding.stake_us, interval: finding.interval };
    let bars = match &finding.facts {
        FindingFacts::Changed(report) => vec![bar("B", report.mean_us[1]), bar("A", report.mean_us[0])],
        FindingFacts::SlowTail(_) => return strips(finding),
        FindingFacts::SinceWhen(_) | FindingFacts::Bursts(_) => return over_time(finding),
        FindingFacts::OneAfterTheOther(OneAfterTheOtherFacts { group, .. }) => {
            let drawn = group.mean_calls.round().clamp(2.0, STEPS);
            return Some(FindingChart::Steps(
                (0..drawn as u32).map(|at| [f64::from(at) / drawn, 0.8 / drawn]).collect(),
            ));
        }
        // The bar beside what it costs says the same.
        FindingFacts::Cost(_) => return None,
        FindingFacts::WorthMakingFaster(halved) if reaches_p99(halved) => {
            vec![bar("p99 then", halved.p99_before_us - halved.p99_us), bar("p99 now", halved.p99_before_us)]
        }
        FindingFacts::WorthMakingFaster(_) => vec![stake("saves")],
        FindingFacts::Timeout(TimeoutFacts { duration_us, p50_us, .. }) => {
            vec![bar("these", *duration_us), bar("median", *p50_us)]
        }
        FindingFacts::SlowerPlace(facts) => {
            vec![bar("there", facts.row.beside.mean_us), bar("elsewhere", facts.row.beside.other_mean_us)]
        }
        FindingFacts::Who(WhoFacts { means_us, .. }) => {
            vec![bar("with it", means_us.0), bar("others", means_us.1)]
        }
        FindingFacts::Retries(_)
        | FindingFacts::RedundantCalls(_)
        | FindingFacts::PoolWaits(_)
        | FindingFacts::Errors(_)
            if finding.stake_us > 0.0 =>
        {
            vec![stake("costs")]
        }
        _ => return None,
    };
    Some(FindingChart::Bars(bars))
}

/// Returns where values lie between the least and the greatest.
fn places(of: impl Iterator<Item = u64> + Clone) -> impl Fn(u64) -> f64 {
    let (least, most) = (of.clone().min().unwrap_or(0), of.max().unwrap_or(0));
    move |value| (value - least) as f64 / (most - least).max(1) as f64
}

fn strips(finding: &Finding) -> Option<FindingChart> {
    let latencies = finding.points.iter().map(|point| point.latency_us);
    let place = places(latencies.clone());
    let row = |is_meant| {
        let points = finding.points.iter().filter(|point| point.is_meant == is_meant);
        points.map(|point| place(point.latency_us)).collect::<Vec<f64>>()
    };
    let ends = [latencies.clone().min()? as f64, latencies.max()? as f64];
    Some(FindingChart::Strips([("slowest", row(true)), ("others", row(false))], ends))
}

fn over_time(finding: &Finding) -> Option<FindingChart> {
    let x = places(finding.points.iter().map(|point| point.start_us));
    let most = finding.points.iter().map(|point| point.latency_us).max()?;
    let point = |latency_us: u64| latency_us as f64 / most.max(1) as f64;
    let points = finding.points.iter().map(|p| ([x(p.start_us), point(p.latency_us)], p.is_meant));
    Some(FindingChart::Points(points.collect(), most as f64))
}

/// Returns where a bar of a chart ends, and where its interval begins and ends, 0 to 1.
pub fn bar_places(bars: &[StakeBar]) -> Vec<(f64, Option<[f64; 2]>)> {
    let high = |bar: &StakeBar| bar.interval.map_or(bar.us, |interval| interval.high.max(bar.us));
    let most = bars.iter().map(high).fold(f64::MIN_POSITIVE, f64::max);
    let of = |bar: &StakeBar| {
        (bar.us / most, bar.interval.map(|interval| [interval.low.max(0.0) / most, interval.high / most]))
    };
    bars.iter().map(of).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use pathlight_engine::findings::{BurstsFacts, ErrorsFacts, NotInstrumentedFacts};
    use pathlight_engine::findings::{FindingPlace, FindingPoint};

    /// Returns a finding about all data, with three requests.
    pub(in crate::findings) fn finding(facts: FindingFacts) -> Finding {
        let point = |start_us, latency_us, is_meant| FindingPoint { start_us, latency_us, is_meant };
        Finding {
            place: FindingPlace::Data,
            stake_us: 10.0,
            interval: Some(Interval { low: 5.0, high: 20.0 }),
            n: 1,
            of: 2,
            facts,
            p: None,
            hit: None,
            example: None,
            also: Vec::new(),
            explains: Vec::new(),
            mended: None,
            is_as_before: false,
            points: vec![point(100, 50, false), point(150, 100, true), point(200, 75, false)],
        }
    }

    #[test]
    fn a_stake_is_drawn_with_its_interval_on_one_scale() {
        let found = finding(FindingFacts::Errors(ErrorsFacts { requests: 1, ratio: Some(2.0), saved: None }));
        let Some(FindingChart::Bars(bars)) = finding_chart(&found) else { panic!() };
        assert_eq!(bar_places(&bars), [(0.5, Some([0.25, 1.0]))]);
        assert_eq!(finding_chart(&Finding { stake_us: 0.0, ..found }), None);
    }

    #[test]
    fn requests_are_points_between_the_first_and_the_last_and_up_to_the_slowest() {
        let bursts = FindingFacts::Bursts(BurstsFacts { bursts: Vec::new(), requests: 3 });
        let Some(FindingChart::Points(points, most)) = finding_chart(&finding(bursts)) else { panic!() };
        let expected = [([0.0, 0.5], false), ([0.5, 1.0], true), ([1.0, 0.75], false)];
        assert_eq!((points.as_slice(), most), (expected.as_slice(), 100.0));
        let strips =
            strips(&finding(FindingFacts::NotInstrumented(NotInstrumentedFacts { share: 0.0, gap: None })))
                .unwrap();
        assert_eq!(
            strips,
            FindingChart::Strips([("slowest", vec![1.0]), ("others", vec![0.0, 0.5])], [50.0, 100.0])
        );
    }
}
