//! The requests of a view in words, and why there are none.

use crate::address::{Address, range_name};
use pathlight_base::format::{self, counted};
use pathlight_engine::requests::{Filter, PercentileRange, RangeFacts, RangeMark, RootEndpoint};
use pathlight_engine::verdict::ServicePart;
use pathlight_trace::Endpoint;

/// Returns a percentile range in words: `P50–95`, or `≤ P95`. One that was brushed ends where a request does, so its ends
/// are rounded to a tenth, unless nothing would be left between them; the address keeps them.
pub fn range_words(range: PercentileRange) -> String {
    if range == PercentileRange::TAIL {
        return format!("slowest 10\u{202f}%, at least {}", range.at_least);
    }
    // Neither end becomes that of the whole.
    let tenth =
        |end: u32| if matches!(end, 0 | 100_000) { end } else { ((end + 50) / 100 * 100).clamp(100, 99_900) };
    let rounded = PercentileRange { lo: tenth(range.lo), hi: tenth(range.hi), ..range };
    let name = range_name(if rounded.lo < rounded.hi { rounded } else { range });
    if range.closed && range.lo == 0 { format!("\u{2264} {name}") } else { name.replace('-', "\u{2013}") }
}

/// Returns what stands on the button of a percentile range: its words, or that it is every latency.
pub fn range_title(range: PercentileRange) -> String {
    if range.is_all() { "All latencies".to_owned() } else { range_words(range) }
}

/// Returns the same with what percentiles are of, where that is all requests together: a brush of the histogram means that.
pub fn range_title_of(range: PercentileRange, over_all: bool) -> String {
    let title = range_title(range);
    if over_all && !range.is_all() { format!("{title} over all") } else { title }
}

/// Returns two latencies, or one if they read the same.
fn latencies((low, high): (u64, u64), between: &str) -> String {
    let (low, high) = (format::duration_us(low), format::duration_us(high));
    if low == high { low } else { format!("{low}{between}{high}") }
}

/// Returns whether a range begins and ends at one latency, as that of one request type does; each of several has its
/// own.
fn has_one_end(mark: &RangeMark) -> bool {
    [mark.least_us, mark.most_us].iter().all(|(low, high)| low == high)
}

/// Returns what an offered percentile range holds: its latencies, and how many of all requests. Of several request types
/// only the number: [`holds_hint`] has room for the rest.
pub fn holds_words(range: PercentileRange, mark: &RangeMark, facts: &RangeFacts) -> String {
    let n = format!("{} of {}", format::count(mark.requests), format::count(facts.all_requests));
    let (least, most) = (mark.least_us.0, mark.most_us.0);
    match (range.lo, range.hi) {
        _ if range.is_all() || mark.requests == 0 => String::new(),
        // Also where all of it is of one type: its latency beside the numbers of all types would contradict them.
        _ if !facts.marks.iter().chain([mark]).all(has_one_end) => n,
        (0, _) => format!("\u{2264} {}, {n}", format::duration_us(most)),
        (_, 100_000) => format!("\u{2265} {}, {n}", format::duration_us(least)),
        _ => format!("{}, {n}", latencies((least, most), "\u{2013}")),
    }
}

/// Returns what is said of an offered percentile range beside the pointer: `what` it is, and of several request types
/// where it begins and ends.
pub fn holds_hint(what: &str, range: PercentileRange, mark: &RangeMark) -> String {
    if range.is_all() || has_one_end(mark) {
        return what.to_owned();
    }
    let [least, most] = [mark.least_us, mark.most_us].map(|ends| latencies(ends, " to "));
    format!("{what}, of each request type by itself: it begins at {least} and ends at {most}, by type")
}

/// Returns a filter in words.
pub fn filter_words(filter: &Filter) -> String {
    match filter {
        Filter::Tag { key, value } => format::printable(&format!("{key} = {value}")),
        Filter::Contains(Endpoint { service, operation }) => {
            format!("calls {}", format::endpoint(service, operation))
        }
        Filter::Type(kind) => {
            let Endpoint { service, operation } = kind.name();
            format::endpoint(&service, &operation)
        }
        Filter::HasError => "has an error".to_owned(),
        Filter::Search(search) => format::printable(&search.to_string()),
        Filter::Hit(hit) => {
            let name = format::printable(&hit.subject.service);
            match hit.subject.part {
                ServicePart::Own => format!("{name} works longer than usual"),
                ServicePart::In => format!("waits longer than usual for {name}"),
                ServicePart::Out => format!("calls by {name} take longer than usual"),
            }
        }
        Filter::Only(only) => {
            format!("only {}", counted(only.requests.len() as u64, "chosen request"))
        }
        Filter::Time { from_us, to_us } => match (*from_us, *to_us) {
            (0, to) => format!("before {}", format::moment(to)),
            (from, u64::MAX) => format!("from {}", format::moment(from)),
            (from, to) => format!("from {} to {}", format::moment(from), format::moment(to)),
        },
    }
}

impl Address {
    /// Returns which requests a view speaks of: root endpoint, percentile range, filters.
    pub fn selection_label(&self) -> String {
        let mut words = vec![format::printable(&self.root_name())];
        if !self.range.is_all() {
            words.push(range_words(self.range));
        }
        match self.filters.as_slice() {
            [] => {}
            [filter] => words.push(filter_words(filter)),
            filters => words.push(counted(filters.len() as u64, "filter")),
        }
        words.join(", ")
    }

    /// Returns what the root endpoint is called.
    pub fn root_name(&self) -> String {
        match &self.root {
            RootEndpoint::TraceRoots => "All requests".to_owned(),
            RootEndpoint::Endpoint(Endpoint { service, operation }) => format!("{operation} @ {service}"),
        }
    }

    /// Returns why there is nothing to be seen of a report.
    pub fn why_empty(&self, facts: &RangeFacts) -> String {
        if facts.all_requests == 0 {
            let root = match &self.root {
                RootEndpoint::TraceRoots => "No request".to_owned(),
                RootEndpoint::Endpoint(Endpoint { service, operation }) => {
                    format!("No request of {}", format::endpoint(service, operation))
                }
            };
            let filters = if self.filters.is_empty() { "is loaded" } else { "passes the filters" };
            format!("{root} {filters}.")
        } else if facts.requests == 0 {
            let all = format::count(facts.all_requests);
            format!("No request lies in {}: there are {all} in all.", range_words(self.range))
        } else {
            "All these requests took no time at all.".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selection_is_said_with_root_range_and_filters() {
        let address = Address::parse("");
        assert_eq!(address.selection_label(), "All requests");
        let address = Address::parse("service=shop&operation=GET%20/&band=P50-95&tag.region=eu");
        assert_eq!(address.selection_label(), "GET / @ shop, P50\u{2013}95, region = eu");
        let address = Address::parse("tag.region=eu&error=1");
        assert_eq!(address.selection_label(), "All requests, 2 filters");
    }

    #[test]
    fn a_brushed_range_has_at_most_one_decimal_in_words() {
        let words = |lo, hi| range_words(PercentileRange::open(lo, hi));
        assert_eq!(words(86_486, 100_000), "P86.5\u{2013}100");
        assert_eq!(words(0, 51_351), "P0\u{2013}51.4");
        assert_eq!(words(12_000, 99_970), "P12\u{2013}99.9", "the slowest are not in it");
        assert_eq!(words(13, 50_000), "P0.1\u{2013}50", "the fastest are not in it");
        assert_eq!(words(99_910, 99_940), "P99.91\u{2013}99.94", "something is between the ends");
        assert_eq!(range_words(PercentileRange::up_to(51_351)), "\u{2264} P51.4");
    }

    #[test]
    fn an_empty_view_says_why() {
        let facts = |all_requests, requests| RangeFacts { all_requests, requests, ..RangeFacts::default() };
        let why = |fragment: &str, facts| Address::parse(fragment).why_empty(&facts);
        assert_eq!(why("", facts(0, 0)), "No request is loaded.");
        assert_eq!(
            why("service=shop&operation=GET%20/&error=1", facts(0, 0)),
            format!("No request of {} passes the filters.", format::endpoint("shop", "GET /"))
        );
        assert_eq!(
            why("band=P99-100", facts(12, 0)),
            "No request lies in P99\u{2013}100: there are 12 in all."
        );
        assert_eq!(why("", facts(12, 12)), "All these requests took no time at all.");
    }

    #[test]
    fn a_range_says_its_latency_and_how_many_it_holds() {
        let range = |lo, hi| PercentileRange::open(lo, hi);
        let mark = RangeMark { requests: 4, least_us: (108_000, 108_000), most_us: (200_000, 200_000) };
        let facts = RangeFacts { all_requests: 37, ..RangeFacts::default() };
        let of = "4 of 37";
        assert_eq!(
            holds_words(range(99_000, 100_000), &mark, &facts),
            format!("\u{2265} 108\u{202f}ms, {of}")
        );
        assert_eq!(holds_words(range(0, 50_000), &mark, &facts), format!("\u{2264} 200\u{202f}ms, {of}"));
        assert_eq!(
            holds_words(range(50_000, 95_000), &mark, &facts),
            format!("108\u{202f}ms\u{2013}200\u{202f}ms, {of}")
        );
        assert_eq!(holds_words(PercentileRange::ALL, &mark, &facts), "");
        assert_eq!(holds_hint("The tail", range(99_000, 100_000), &mark), "The tail");
        // Of several request types.
        let mark = RangeMark { least_us: (4000, 108_000), ..mark };
        assert_eq!(holds_words(range(99_000, 100_000), &mark, &facts), of);
        assert_eq!(holds_words(range(0, 50_000), &mark, &facts), of);
        // One of the types alone is slow enough to have its slowest hundredth.
        let all = RangeFacts { marks: vec![mark; 2], ..facts.clone() };
        let of_one = RangeMark { least_us: mark.most_us, ..mark };
        assert_eq!(holds_words(range(99_000, 100_000), &of_one, &all), of);
        let hint = holds_hint("The tail", range(99_000, 100_000), &mark);
        assert!(
            hint.contains("begins at 4.00\u{202f}ms to 108\u{202f}ms and ends at 200\u{202f}ms, by type"),
            "{hint}"
        );
    }

    #[test]
    fn filters_are_said_in_words() {
        let time = |from_us, to_us| filter_words(&Filter::Time { from_us, to_us });
        assert!(time(0, 5).starts_with("before ") && time(5, u64::MAX).starts_with("from "));
        assert!(time(5, 6).contains(" to "));
        assert_eq!(filter_words(&Filter::HasError), "has an error");
    }
}
