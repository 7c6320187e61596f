//! Latency, or the time of one endpoint, by the values of a tag.

use crate::address::Address;
use crate::endpoints::SUM_HINT;
use crate::say::selection::range_words;
use crate::say::tip::TipLine;
use crate::table::{Column, Number, Table, WHEN_PRESENT, Width};
use pathlight_base::format;
use pathlight_engine::endpoints::TagSum;
use pathlight_engine::queries::OverviewReport;
use pathlight_engine::requests::{Filter, PercentileRange, RootEndpoint};
use pathlight_engine::split::{NotProposed, ProposalsReport, Ratio, SplitOf, SplitReport, SplitValue};
use pathlight_trace::Endpoint;

/// Returns the tag that is split by: the one chosen, else the one whose values differ most; where none differ, the first
/// that has something to compare.
pub fn key(
    address: &Address,
    proposals: Option<&ProposalsReport>,
    overview: Option<&OverviewReport>,
) -> Option<String> {
    let proposed = || {
        let report = proposals?;
        let first = report.proposals.first().map(|proposal| proposal.key.clone());
        // Keys without a difference still have samples to show.
        let same = report.left_out.iter().find(|(_, why)| *why == NotProposed::NoDifference);
        first.or_else(|| same.map(|(key, _)| key.clone()))
    };
    let chosen = address.split.key.clone().or_else(proposed);
    // What is known to have too few samples, or one value, is not worth opening on.
    let listed = || {
        overview.filter(|_| proposals.is_none()).and_then(|overview| keys(overview, None).into_iter().next())
    };
    chosen.or_else(listed)
}

/// Returns the tags with at least two values that are few enough to list; once it is known, only those that a span has
/// which is split by: a root span, or one of the endpoint.
pub(crate) fn keys(overview: &OverviewReport, proposals: Option<&ProposalsReport>) -> Vec<String> {
    let is_there = |key: &str| {
        proposals.is_none_or(|report| {
            report.proposals.iter().any(|proposal| proposal.key == key)
                || report.left_out.iter().any(|(known, _)| known == key)
        })
    };
    let several = overview.tag_keys.iter().filter(|tag| !tag.high_cardinality && tag.values.len() > 1);
    several.map(|tag| &tag.key).filter(|key| is_there(key)).cloned().collect()
}

/// A tag that may be chosen: its key, and what is said of it.
pub type Offer = (String, String);

/// Returns the tags to choose from: those whose values differ most, and all others. `key` is the one that is shown; a link
/// may have one that these traces do not have.
pub fn offers(
    overview: &OverviewReport,
    proposals: Option<&ProposalsReport>,
    key: Option<&str>,
) -> (Vec<Offer>, Vec<Offer>) {
    let proposed = proposals.map_or(&[][..], |report| &report.proposals);
    let mut others = keys(overview, proposals);
    others.retain(|other| proposed.iter().all(|proposal| proposal.key != *other));
    let is_known = |key: &str| {
        others.iter().any(|known| known == key) || proposed.iter().any(|proposal| proposal.key == key)
    };
    let unknown = key.filter(|key| !is_known(key)).map(str::to_owned);
    others.extend(unknown);
    let differ = proposed.iter().map(|proposal| {
        let words = format!(
            "{} \u{2013} explains {}",
            format::printable(&proposal.key),
            format::share(proposal.effect.share)
        );
        (proposal.key.clone(), words)
    });
    (differ.collect(), others.into_iter().map(|key| (key.clone(), format::printable(&key))).collect())
}

/// Returns the names of the choices to split the time of an endpoint, by single calls and by requests, and what is said of
/// them beside the pointer; without an endpoint they cannot be chosen.
pub fn endpoint_choices(of: Option<&Endpoint>) -> [(String, String); 2] {
    let (calls, sums) = ("Self time of", "Sum per request".to_owned());
    match of {
        Some(Endpoint { service, operation }) => {
            let endpoint = format::endpoint(service, operation);
            [
                (
                    format!("{calls} {}", format::printable(operation)),
                    format!("Each call of {endpoint} on the critical path is a sample"),
                ),
                (
                    sums,
                    format!(
                        "All calls of {endpoint} on the critical path of a request together are a sample"
                    ),
                ),
            ]
        }
        None => {
            let hint = "Select an endpoint in another view first";
            [(format!("{calls} an endpoint"), hint.to_owned()), (sums, hint.to_owned())]
        }
    }
}

/// Returns the title of the view; `types` is how many request types are loaded.
pub fn title(address: &Address, report: &SplitReport, types: usize) -> String {
    let label = match report.range.filter(|range| !range.is_all()) {
        Some(range) => format!("{}, {}", address.root_name(), range_words(range)),
        None => address.root_name(),
    };
    let mut words = format!("{}; {}", format::printable(&label), report.of.sample_words());
    if let [only] = report.values.as_slice() {
        let value = value_name(&only.value);
        words.push_str(&format!("; all have the value {value}, so there is nothing to compare it with"));
    }
    if report.missing > 0 {
        words.push_str(&format!("; {} without the tag", format::count(report.missing)));
    }
    if report.others.0 > 0 {
        let (values, samples) = report.others;
        words.push_str(&format!(
            "; {} with {} not shown",
            format::counted(samples, "sample"),
            format::counted(values, "rarer value")
        ));
    }
    words.push('.');
    let is_of_one = address.filters.iter().any(|filter| matches!(filter, Filter::Type(_)));
    if report.of == SplitOf::Latency && address.root == RootEndpoint::TraceRoots && !is_of_one && types > 1 {
        words.push_str(&format!(
            " These are requests of {}: a value may be slow only because its requests are of a slow type. Choose one type at \
             the top left to compare like with like.",
            format::counted(types as u64, "type")
        ));
    }
    words
}

/// Returns why there are no values; empty if there are.
pub fn why_empty(range: PercentileRange, report: &SplitReport) -> String {
    if !report.values.is_empty() {
        return String::new();
    }
    let key = format::printable(&report.key);
    if report.facts.requests == 0 {
        return if report.facts.all_requests > 0 {
            format!("No request lies in {}.", range_words(range))
        } else {
            "No request of the root endpoint passes the filters.".to_owned()
        };
    }
    if report.high_cardinality {
        return format!("{key} has too many values to split by; choose another tag.");
    }
    match report.of.endpoint() {
        None => {
            format!("No root span of these requests has the tag {key}; choose another tag.")
        }
        Some(Endpoint { service, operation }) if report.missing == 0 => {
            format!("{} is on no critical path of these requests.", format::endpoint(service, operation))
        }
        Some(Endpoint { service, operation }) => {
            let endpoint = format::endpoint(service, operation);
            format!("No span of {endpoint} has the tag {key}; choose another tag.")
        }
    }
}

/// Words where no tag can be split by.
pub const NO_TAG: &str = "No tag of these requests has two values with enough samples to be compared. Choose one above to see it all the same.";

/// Returns a value as it is read.
pub fn value_name(value: &str) -> String {
    if value.is_empty() { "(empty)".to_owned() } else { format::printable(value) }
}

/// Returns what the tip says of a value.
pub fn tip(value: &SplitValue) -> Vec<TipLine> {
    let [p50, p95, p99] = [value.us.p50, value.us.p95, value.us.p99].map(format::duration);
    vec![
        TipLine::Strong(value_name(&value.value)),
        TipLine::Text(format!("{}: p50 {p50}, p95 {p95}, p99 {p99}", format::sample(value.n))),
        TipLine::Hint("Click to keep only requests with this value".to_owned()),
    ]
}

fn ratio_words(ratio: &Ratio) -> String {
    let times = |ratio: f64| format!("{ratio:.2}");
    let value = times(ratio.ratio.unwrap_or(f64::NAN));
    ratio.interval.map_or(value.clone(), |i| format!("{value} ({}\u{2013}{})", times(i.low), times(i.high)))
}

fn ratio_fields(ratio: &Ratio) -> Vec<String> {
    let interval = ratio.interval;
    let ends = [ratio.ratio, interval.map(|interval| interval.low), interval.map(|interval| interval.high)];
    ends.map(|end| Number::from(end).digits()).to_vec()
}

/// Returns the companion table: every value of the tag, against the first.
pub fn table() -> Table<SplitValue> {
    let columns = vec![
        Column::text(
            "value",
            "Value",
            "The value of the tag; the first is what the others are compared with",
            |row: &SplitValue| value_name(&row.value).into(),
        )
        .by(|a, b| a.value.cmp(&b.value))
        .wide()
        .csv_as(&["value"], |row| vec![row.value.clone()]),
        Column::count("n", "n", "Samples: requests, or single calls of an endpoint", |row: &SplitValue| {
            row.n.into()
        })
        .tiny()
        .csv(&["n"]),
        Column::field("mean_us", |row| row.us.mean.into()),
        Column::duration("p50", "p50", "Median", |row: &SplitValue| row.us.p50.into()).csv(&["p50_us"]),
        Column::duration("p95", "p95", "95th percentile", |row: &SplitValue| row.us.p95.into())
            .low(2)
            .csv(&["p95_us"]),
        Column::duration("p99", "p99", "99th percentile", |row: &SplitValue| row.us.p99.into())
            .low(2)
            .csv(&["p99_us"]),
        Column::duration("mean", "mean", "Mean", |row: &SplitValue| row.us.mean.into()).low(3),
        Column::field("max_us", |row| row.us.max.into()),
        Column::said(
            "ratio50",
            "p50 ratio",
            "Median against that of the first value, with its 95 % bootstrap interval",
            |row: &SplitValue| row.ratios[0].ratio.into(),
            |row| ratio_words(&row.ratios[0]),
        )
        .low(2)
        .width(Width::Ratio)
        .csv_as(&["p50_ratio", "p50_low", "p50_high"], |row| ratio_fields(&row.ratios[0])),
        Column::said(
            "ratio95",
            "p95 ratio",
            "95th percentile against that of the first value, with its 95 % bootstrap interval",
            |row: &SplitValue| row.ratios[1].ratio.into(),
            |row| ratio_words(&row.ratios[1]),
        )
        .low(3)
        .width(Width::Ratio)
        .csv_as(&["p95_ratio", "p95_low", "p95_high"], |row| ratio_fields(&row.ratios[1])),
        Column::said(
            "ratio99",
            "p99 ratio",
            "99th percentile against that of the first value, with its 95 % bootstrap interval",
            |row: &SplitValue| row.ratios[2].ratio.into(),
            |row| ratio_words(&row.ratios[2]),
        )
        .low(3)
        .width(Width::Ratio)
        .csv_as(&["p99_ratio", "p99_low", "p99_high"], |row| ratio_fields(&row.ratios[2])),
        Column::count("sum", "Sum", SUM_HINT, |row: &SplitValue| row.sum.as_ref().map(|sum| sum.sum).into())
            .csv(&["sum"])
            .if_any(),
        Column::count(
            "sum-present",
            "Mean sum",
            "Mean sum of the requests that have such a number with this value",
            |row: &SplitValue| row.sum.as_ref().map(TagSum::when_present).into(),
        )
        .group(WHEN_PRESENT)
        .low(2)
        .csv(&["sum_when_present"])
        .if_any(),
        Column::text_field("per", |row: &SplitValue| if row.is_of_calls { "call" } else { "request" }.into()),
    ];
    Table::new("split-table", "Values of the tag", ("n", true), columns)
        .with_attributes(|row| {
            vec![
                ("data-test", "split-value".to_owned()),
                ("data-name", row.value.clone()),
                ("data-value", row.us.p50.to_string()),
            ]
        })
        .search(|row, finder| finder.fits(&[&row.value]))
}
