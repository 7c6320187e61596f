//! Sentences about what is being loaded or was fetched.

use pathlight_backend::Outcome;
use pathlight_backend::source::{TraceSearch, Wanted};
use pathlight_base::format::{self, agreeing, count, counted};
use pathlight_engine::load::MemoryForecast;
use pathlight_engine::queues::MissingTracesReport;

/// Returns that what is loading will not fit into memory, and how far reading came.
pub fn will_not_fit(forecast: &MemoryForecast) -> [String; 2] {
    [
        format!(
            "This will not fit: all of it would take about {} of memory, and there are {}.",
            format::bytes(forecast.needed),
            format::bytes(forecast.limit)
        ),
        format!(
            "Reading stopped after {} of {}. Loading a part of it reads from the start again.",
            format::bytes(forecast.bytes),
            format::bytes(forecast.total_bytes)
        ),
    ]
}

/// Returns what a fetch of this brought, in a sentence or two; `lost_files` could not be fetched.
pub fn fetched(wanted: &Wanted, outcome: &Outcome, lost_files: usize) -> String {
    let limit = match wanted {
        Wanted::Search(search) => Some(u64::from(search.limit.unwrap_or(TraceSearch::LIMIT))),
        _ => None,
    };
    let mut words = match (outcome.traces, limit) {
        (0, Some(_)) if outcome.failed.is_empty() => {
            "No trace fits this search: try a longer time range, fewer tags or another service.".to_owned()
        }
        (traces, Some(limit)) if traces >= limit => {
            format!("The newest {}: the limit of the search. There may be more.", counted(traces, "trace"))
        }
        (traces, Some(_)) => format!("{} fetched, all that fit the search.", counted(traces, "trace")),
        (traces, None) => format!("{} fetched.", counted(traces, "trace")),
    };
    if !outcome.failed.is_empty() || lost_files > 0 {
        let failed = (outcome.failed.len() + lost_files) as u64;
        words = format!("{} fetched; {} failed.", counted(outcome.traces, "trace"), counted(failed, "part"));
    }
    if outcome.crowded > 0 {
        words.push_str(&format!(
            " In {} there are more traces than one answer holds; some are left out.",
            counted(outcome.crowded.into(), "millisecond")
        ));
    }
    if outcome.repeated > 0 {
        let were = agreeing(outcome.repeated, "was", "were");
        words.push_str(&format!(" {} came twice and {were} merged.", counted(outcome.repeated, "trace")));
    }
    words
}

/// Returns how many traces are linked to and not loaded; empty if all are.
pub fn linked(report: &MissingTracesReport) -> String {
    match report.traces {
        0 => String::new(),
        traces => format!(
            "Spans link to {} that {} not loaded.",
            counted(traces, "trace"),
            agreeing(traces, "is", "are")
        ),
    }
}

/// Returns what stands on the button that fetches them.
pub fn fetch_linked(report: &MissingTracesReport) -> String {
    match report.trace_ids.len() as u64 {
        named if named < report.traces => format!("Fetch {} of them", count(named)),
        1 => "Fetch it".to_owned(),
        _ => "Fetch them".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_traces_that_are_not_loaded_are_counted() {
        let of = |traces, named: usize| MissingTracesReport { traces, trace_ids: vec![String::new(); named] };
        assert_eq!(linked(&of(0, 0)), "");
        assert_eq!(
            (linked(&of(1, 1)), fetch_linked(&of(1, 1))),
            ("Spans link to 1 trace that is not loaded.".to_owned(), "Fetch it".to_owned())
        );
        assert_eq!(
            (linked(&of(7, 7)), fetch_linked(&of(7, 7))),
            ("Spans link to 7 traces that are not loaded.".to_owned(), "Fetch them".to_owned())
        );
        assert_eq!(fetch_linked(&of(1200, 1000)).replace('\u{202f}', " "), "Fetch 1 000 of them");
    }
    use pathlight_backend::Trouble;

    #[test]
    fn a_forecast_says_what_is_needed_and_how_far_reading_came() {
        let forecast = MemoryForecast {
            needed: 6_000_000_000,
            limit: 4_000_000_000,
            bytes: 250_000_000,
            total_bytes: 1_000_000_000,
            sample: 2,
            has_whole_traces: true,
        };
        let [needed, limit, bytes, total] =
            [forecast.needed, forecast.limit, forecast.bytes, forecast.total_bytes].map(format::bytes);
        assert_eq!(
            will_not_fit(&forecast),
            [
                format!(
                    "This will not fit: all of it would take about {needed} of memory, and there are {limit}."
                ),
                format!(
                    "Reading stopped after {bytes} of {total}. Loading a part of it reads from the start again."
                ),
            ]
        );
    }

    #[test]
    fn a_fetch_says_what_it_brought() {
        let search = Wanted::Search(Box::new(TraceSearch { limit: Some(20), ..TraceSearch::default() }));
        let ids = Wanted::Traces(["ab".to_owned()].into());
        let of = |traces| Outcome { traces, ..Outcome::default() };
        let none = "No trace fits this search: try a longer time range, fewer tags or another service.";
        assert_eq!(fetched(&search, &of(0), 0), none);
        assert_eq!(fetched(&search, &of(1), 0), "1 trace fetched, all that fit the search.");
        let limit = "The newest 20 traces: the limit of the search. There may be more.";
        assert_eq!(fetched(&search, &of(20), 0), limit);
        assert_eq!(fetched(&ids, &of(1), 0), "1 trace fetched.");
        let crowded = Outcome { crowded: 2, repeated: 1, ..of(5) };
        assert_eq!(
            fetched(&search, &crowded, 0),
            "5 traces fetched, all that fit the search. In 2 milliseconds there are more traces than one answer holds; \
             some are left out. 1 trace came twice and was merged."
        );
        let failed = vec![("the first hour".to_owned(), Trouble::Base("x".to_owned()))];
        assert_eq!(fetched(&search, &Outcome { failed, ..of(0) }, 1), "0 traces fetched; 2 parts failed.");
    }
}
