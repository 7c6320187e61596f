//! A search with what the workers found: names are looked at here, tags they know.

use pathlight_base::format::{self, count, counted};
use pathlight_engine::requests::RequestRef;
use pathlight_engine::requests::search::{SearchReport, SpanSearch};
use std::collections::BTreeSet;
use std::rc::Rc;

/// A search that rows and boxes are held against; cloning shares what was found.
#[derive(Clone, Debug, Default)]
pub struct Finder {
    search: SpanSearch,
    found: Rc<Found>,
}

#[derive(Debug, Default)]
struct Found {
    /// Names of endpoints with spans that are found, and of their services.
    names: BTreeSet<String>,
    /// Trace and root span of requests that are found, sorted: rows are looked up without copies of their ids.
    requests: Vec<(String, String)>,
}

impl Finder {
    /// Returns a search with what was found: nothing, or a report for each side.
    pub fn new<'a>(search: SpanSearch, reports: impl IntoIterator<Item = &'a SearchReport>) -> Finder {
        let mut found = Found::default();
        for report in reports {
            for known in &report.endpoints {
                let (service, operation) = known.endpoint.names();
                found.names.insert(format::endpoint(service, operation));
                // Where services are places, they have no operation.
                found.names.insert(format::endpoint(service, ""));
            }
            let key = |request: &RequestRef| (request.trace_id.clone(), request.root_span_id.clone());
            found.requests.extend(report.found.iter().map(key));
        }
        found.requests.sort();
        Finder { search, found: Rc::new(found) }
    }

    /// Returns a search of names.
    pub fn of_text(text: &str) -> Finder {
        Finder::new(SpanSearch::parse(text), [])
    }

    /// Returns whether nothing is searched for.
    pub fn is_empty(&self) -> bool {
        self.search.is_empty()
    }

    /// Returns whether only the workers can tell which spans are meant.
    pub fn has_tags(&self) -> bool {
        self.search.has_tags()
    }

    /// Returns whether names hold what is searched for; they have no tags. Everything does if nothing is searched for.
    pub fn fits(&self, names: &[&str]) -> bool {
        self.is_empty() || self.search.fits(names)
    }

    /// Returns whether an endpoint, `operation @ service` as [`format::endpoint`] writes it, is named so or has such
    /// spans.
    pub fn fits_label(&self, label: &str) -> bool {
        self.fits_place(label, &[label])
    }

    /// Returns whether an endpoint is named so or has such spans, where other `names` of it count too.
    pub fn fits_place(&self, label: &str, names: &[&str]) -> bool {
        if self.has_tags() { self.found.names.contains(label) } else { self.fits(names) }
    }

    /// Returns whether an endpoint, as (service, operation), is named so or has such spans.
    pub fn fits_endpoint(&self, (service, operation): (&str, &str)) -> bool {
        self.fits_label(&format::endpoint(service, operation))
    }

    /// Returns whether a request is named so or has such spans.
    pub fn fits_request(&self, trace_id: &str, root_span_id: &str, names: &[&str]) -> bool {
        if self.has_tags() {
            let order = |(trace, root): &(String, String)| {
                (trace.as_str(), root.as_str()).cmp(&(trace_id, root_span_id))
            };
            self.found.requests.binary_search_by(order).is_ok()
        } else {
            self.fits(names)
        }
    }
}

/// Returns how much a search by tags finds, over all of `reports`; empty without one.
pub fn found_words<'a>(reports: impl IntoIterator<Item = &'a SearchReport>) -> String {
    let mut sums = [0; 3];
    for report in reports {
        let facts = [report.spans, report.requests, report.facts.requests];
        sums.iter_mut().zip(facts).for_each(|(sum, fact)| *sum += fact);
    }
    match sums {
        [_, _, 0] => String::new(),
        [0, 0, _] => "No span matches.".to_owned(),
        // What must all hold does, on different spans.
        [0, requests, of] => format!(
            "No span matches all of it; some spans together: {} of {}",
            count(requests),
            counted(of, "request")
        ),
        [spans, requests, of] => {
            format!("{}; {} of {}", counted(spans, "span"), count(requests), counted(of, "request"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::requests::RangeFacts;
    use pathlight_engine::requests::search::FoundEndpoint;
    use pathlight_trace::Endpoint;

    fn report() -> SearchReport {
        SearchReport {
            facts: RangeFacts { requests: 7, ..RangeFacts::default() },
            spans: 3,
            requests: 1,
            endpoints: vec![FoundEndpoint { endpoint: Endpoint::new("shop", "GET /"), spans: 3 }],
            found: vec![RequestRef { latency_us: 5, trace_id: "t".to_owned(), root_span_id: "r".to_owned() }],
        }
    }

    #[test]
    fn without_tags_names_decide() {
        let finder = Finder::of_text("get OR mail");
        assert!(finder.fits_endpoint(("shop", "GET /")) && finder.fits_endpoint(("mail", "send")));
        assert!(!finder.fits_endpoint(("shop", "PUT /")) && finder.fits_request("t", "r", &["GET"]));
        assert!(Finder::of_text("").fits_endpoint(("a", "b")) && Finder::of_text("").is_empty());
    }

    #[test]
    fn with_tags_what_was_found_decides() {
        let finder = Finder::new(SpanSearch::parse("region=eu"), [&report()]);
        assert!(finder.fits_endpoint(("shop", "GET /")) && !finder.fits_endpoint(("shop", "PUT /")));
        assert!(finder.fits_endpoint(("shop", "")), "a service stands for its operations");
        assert!(finder.fits_request("t", "r", &[]) && !finder.fits_request("t", "x", &["region=eu"]));
        assert!(finder.fits(&["region = eu"]), "a sentence that names the tag");
    }

    #[test]
    fn how_much_is_found_is_said_in_spans_and_requests() {
        assert_eq!(found_words([&report()]), "3 spans; 1 of 7 requests");
        assert_eq!(found_words([&report(), &report()]), "6 spans; 2 of 14 requests");
        assert_eq!(found_words([]), "");
        let none = SearchReport { spans: 0, requests: 0, ..report() };
        assert_eq!(found_words([&none]), "No span matches.");
        let apart = SearchReport { requests: 2, ..none };
        assert_eq!(found_words([&apart]), "No span matches all of it; some spans together: 2 of 7 requests");
    }
}
