//! Latency over time as columns: one for each stretch, its median and its greatest latency.

use pathlight_base::format::{count, counted, duration, duration_us, moment};
use pathlight_engine::findings::{BurstsFacts, FindingFacts, FindingsReport, TimeBin};

/// One stretch of time.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeColumn {
    /// Its first microsecond since the epoch, and one past its last.
    pub from_us: u64,
    /// End in microseconds since the epoch, exclusive.
    pub to_us: u64,
    /// Height of the median, 0 to 1 on a logarithmic axis; 0 without requests.
    pub p50: f64,
    /// Height of the greatest latency.
    pub most: f64,
    /// Share of the requests with a span in error, 0 to 1.
    pub errors: f64,
    /// Whether it is of the requests that the others are compared with.
    pub is_before: bool,
    /// Whether slow requests start close together in it.
    pub has_burst: bool,
    /// Words about it.
    pub words: String,
}

/// Returns the columns of a report by time: of one set, or of both, A first.
pub fn columns(report: &FindingsReport) -> Vec<TimeColumn> {
    let (before, now) = (&report.over_time_before, &report.over_time);
    let all = || before.iter().chain(now).filter(|bin| bin.requests > 0);
    let log = |us: f64| us.max(1.0).ln();
    let low = all().map(|bin| log(bin.p50_us)).fold(f64::INFINITY, f64::min);
    let high = all().map(|bin| log(bin.max_us as f64)).fold(f64::NEG_INFINITY, f64::max);
    // The lowest median is still to be seen.
    let height = |us: f64| if high > low { 0.1 + 0.9 * (log(us) - low) / (high - low) } else { 1.0 };
    let bursts = report.findings.iter().filter_map(|finding| match &finding.facts {
        FindingFacts::Bursts(BurstsFacts { bursts, .. }) => Some(bursts),
        _ => None,
    });
    let bursts: Vec<_> = bursts.flatten().collect();
    let column = |bin: &TimeBin, is_before: bool| {
        let is_empty = bin.requests == 0;
        let has_burst =
            !is_before && bursts.iter().any(|burst| burst.from_us < bin.to_us && bin.from_us < burst.to_us);
        let said = if is_empty {
            "no request".to_owned()
        } else {
            format!(
                "{}, median {}, slowest {}{}{}",
                counted(bin.requests, "request"),
                duration(bin.p50_us),
                duration_us(bin.max_us),
                if bin.with_errors > 0 {
                    format!(", {} with errors", count(bin.with_errors))
                } else {
                    String::new()
                },
                if has_burst { "; slow requests start close together" } else { "" }
            )
        };
        TimeColumn {
            from_us: bin.from_us,
            to_us: bin.to_us,
            p50: if is_empty { 0.0 } else { height(bin.p50_us) },
            most: if is_empty { 0.0 } else { height(bin.max_us as f64) },
            errors: bin.with_errors as f64 / bin.requests.max(1) as f64,
            is_before,
            has_burst,
            words: format!("{} UTC: {said}", moment(bin.from_us)),
        }
    };
    let before = before.iter().map(|bin| column(bin, true));
    before.chain(now.iter().map(|bin| column(bin, false))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_share_one_axis_and_say_their_numbers() {
        let bin = |from_us, requests, p50_us, max_us| TimeBin {
            from_us,
            to_us: from_us + 10,
            requests,
            with_errors: requests / 2,
            p50_us,
            max_us,
        };
        let report = FindingsReport {
            over_time: vec![bin(100, 2, 1000.0, 8000), bin(110, 0, 0.0, 0)],
            over_time_before: vec![bin(0, 5, 500.0, 500)],
            ..FindingsReport::default()
        };
        let columns = columns(&report);
        assert_eq!(columns.iter().map(|c| c.is_before).collect::<Vec<_>>(), [true, false, false]);
        assert_eq!((columns[0].p50, columns[1].most, columns[2].p50), (0.1, 1.0, 0.0));
        assert!((columns[1].p50 - 0.325).abs() < 1e-9, "{}", columns[1].p50);
        assert!(
            columns[1].words.contains("2 requests")
                && columns[1].words.contains(", 1 with errors")
                && columns[2].words.ends_with("no request")
        );
        assert!(super::columns(&FindingsReport::default()).is_empty());
    }
}
