//! Where Jaeger's critical path differs, in a sentence.

use pathlight_base::format::{duration_us, endpoint as endpoint_words};
use pathlight_engine::flame::TraceReport;
use pathlight_engine::queries::{DifferenceCause, PathDifference};
use pathlight_trace::Endpoint;

/// Returns where the critical path that Jaeger UI draws of a trace names other spans than ours, and why; empty if nowhere.
pub fn difference_words(report: &TraceReport, differences: &[PathDifference]) -> String {
    let whole: u64 = differences.iter().map(|of| of.time_us).sum();
    if whole == 0 {
        return String::new();
    }
    let name = |span: u32| {
        let endpoint = report.endpoint.get(span as usize).and_then(|at| report.endpoints.get(*at as usize));
        endpoint
            .map_or_else(String::new, |Endpoint { service, operation }| endpoint_words(service, operation))
    };
    let part = |of: &PathDifference| {
        let why = match of.cause {
            DifferenceCause::Outliving => "spans that outlive their parent, which it takes as waited for",
            DifferenceCause::BackToBack => {
                "spans that end in the microsecond in which the next begins, which it passes over"
            }
            DifferenceCause::Reading => "times that are read otherwise here",
        };
        // The time of the only reason is that of the whole.
        let time = match differences {
            [_] => String::new(),
            _ => format!("{} are ", duration_us(of.time_us)),
        };
        format!("{time}{why} ({} first)", name(of.first))
    };
    let parts: Vec<String> = differences.iter().map(part).collect();
    format!("Jaeger UI draws another critical path for {}: {}.", duration_us(whole), parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_said_with_its_reason_and_first_span() {
        let report = TraceReport {
            endpoints: vec![Endpoint::new("shop", "GET"), Endpoint::new("db", "query")],
            endpoint: vec![0, 1],
            ..TraceReport::default()
        };
        assert_eq!(difference_words(&report, &[]), "");
        let found = [
            PathDifference { cause: DifferenceCause::Outliving, time_us: 2000, first: 1 },
            PathDifference { cause: DifferenceCause::BackToBack, time_us: 500, first: 0 },
        ];
        let words = difference_words(&report, &found);
        assert!(words.starts_with("Jaeger UI draws another critical path for 2.5"), "{words}");
        assert!(words.contains("outlive their parent") && words.contains("query"), "{words}");
        assert!(words.ends_with("first)."), "{words}");
        let one = difference_words(&report, &found[..1]);
        assert_eq!(
            one,
            format!(
                "Jaeger UI draws another critical path for {}: spans that outlive their parent, which it takes as waited for \
                 (query @ db first).",
                duration_us(2000_u64)
            )
        );
    }
}
