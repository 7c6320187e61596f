//! Values of options, as clap reads them. An error says how to write the value.

use pathlight_engine::endpoints::RowStat;
use pathlight_engine::flow::LatencyChange;
use pathlight_engine::heatmap::ColumnOrder;
use pathlight_engine::requests::search::SpanSearch;
use pathlight_engine::requests::{Filter, GroupBy, PercentileRange};
use pathlight_engine::verdict::Subject;
use pathlight_trace::{Endpoint, Reading};
use pathlight_view::address::parse_range;
use pathlight_view::views::View;

type Parsed<T> = Result<T, &'static str>;

/// Reads `95-99`, `P95` for everything up to it, or `tail` for the slowest tenth.
pub fn range(text: &str) -> Parsed<PercentileRange> {
    parse_range(text)
        .ok_or("write 95-99 for a range, P95 for everything up to it, tail for the slowest tenth")
}

/// Reads `real` or `plain`, and rules that are switched: `real,-overlay`.
pub fn reading(text: &str) -> Parsed<Reading> {
    Reading::parse(text).ok_or(
        "write real or plain, or real without some rules, such as real,-overlay; rules are overlay, callees, waiting, \
         templates, nobody-waits, clocks and roots",
    )
}

/// Reads how requests are grouped.
pub fn group_by(text: &str) -> Parsed<GroupBy> {
    GroupBy::parse(text).ok_or("write root, route, shape, automatic, tag=KEY or through=SERVICE")
}

/// Reads `key=NAME`, the tag that says weights.
pub fn weight_key(text: &str) -> Parsed<String> {
    let name = text.strip_prefix("key=").filter(|name| !name.is_empty());
    name.map(str::to_owned).ok_or("write key= and the name of a tag, such as key=sampling.weight")
}

/// Reads a number from 0 to 1.
pub fn share(text: &str) -> Parsed<f64> {
    number(text, 1.0).ok_or("write a number from 0 to 1")
}

/// Reads a number above 0 and up to 1.
pub fn positive_share(text: &str) -> Parsed<f64> {
    number(text, 1.0).filter(|number| *number > 0.0).ok_or("write a number above 0 and up to 1")
}

/// Reads a number from 0 to 100.
pub fn percent(text: &str) -> Parsed<f64> {
    number(text, 100.0).ok_or("write a number from 0 to 100")
}

fn number(text: &str, most: f64) -> Option<f64> {
    text.parse().ok().filter(|number| (0.0..=most).contains(number))
}

/// Reads a number of threads.
pub fn threads(text: &str) -> Parsed<usize> {
    text.parse().ok().filter(|number| (1..=1024).contains(number)).ok_or("write a number from 1 to 1024")
}

/// Reads `SERVICE:OPERATION`, cut at the first colon.
pub fn endpoint(text: &str) -> Parsed<Endpoint> {
    let (service, operation) = text.split_once(':').ok_or("write SERVICE:OPERATION")?;
    Ok(Endpoint::new(service, operation))
}

/// Reads `SERVICE:OPERATION` as a filter.
pub fn contains(text: &str) -> Parsed<Filter> {
    endpoint(text).map(Filter::Contains)
}

/// Reads `PART:SERVICE` as a filter.
pub fn hit(text: &str) -> Parsed<Filter> {
    Subject::parse(text).map(Filter::hit).ok_or("write own:SERVICE, in:SERVICE or out:SERVICE")
}

/// Reads `KEY=VALUE` as a filter.
pub fn tag(text: &str) -> Parsed<Filter> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok(Filter::Tag { key: key.to_owned(), value: value.to_owned() })
}

/// Reads a search as a filter.
pub fn search(text: &str) -> Parsed<Filter> {
    let search = SpanSearch::parse(text);
    if SpanSearch::is_too_long(text) {
        return Err("take at most 64 words, tags and OR");
    }
    if search.is_empty() {
        return Err("write words, KEY=VALUE, -KEY=VALUE, and OR between alternatives");
    }
    Ok(Filter::Search(search))
}

/// Reads what the columns of a heat map are ordered by.
pub fn column_order(text: &str) -> Parsed<ColumnOrder> {
    match text {
        "latency" => Ok(ColumnOrder::Latency),
        "start" => Ok(ColumnOrder::Start),
        row => endpoint(row).map(ColumnOrder::Row).map_err(|_| "write latency, start or SERVICE:OPERATION"),
    }
}

/// Reads the name of a number that rows are ordered by.
pub fn row_stat(text: &str) -> Parsed<RowStat> {
    let known = RowStat::ALL.into_iter().find(|stat| stat.name() == text);
    known.ok_or("take p50, p95, p99, mean or total")
}

/// Reads a value of `view=` in the page's address.
pub fn view(text: &str) -> Parsed<View> {
    View::from_key(text).ok_or("take findings, flame or another view of the page's address")
}

/// Reads `SERVICE:OPERATION=200ms` or `in:SERVICE=200ms`: the name as written, and microseconds; without a time the whole text
/// is a name.
pub fn timeout(text: &str) -> Parsed<(String, Option<u64>)> {
    let cut = text.rsplit_once('=');
    let Some((name, (0, us))) = cut.and_then(|(name, time)| Some((name, LatencyChange::parse_amount(time)?)))
    else {
        // An operation may have the sign in its name.
        return Ok((text.to_owned(), None));
    };
    let us = u64::try_from(us).ok().filter(|us| *us > 0);
    Ok((name.to_owned(), Some(us.ok_or("write a time above 0: SERVICE:OPERATION=200ms")?)))
}

/// Reads a moment: microseconds since the epoch, or a date with its time in UTC.
pub fn moment(text: &str) -> Parsed<u64> {
    let us = text.parse().ok().or_else(|| pathlight_base::format::parse_utc(text));
    us.filter(|us| *us > 0)
        .ok_or("write microseconds since the epoch, or a time in UTC such as 2026-11-24 03:06:12")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_view::say::selection::filter_words;

    #[test]
    fn numbers_stay_within_their_bounds() {
        assert_eq!([share("0"), share("1"), percent("100")], [Ok(0.0), Ok(1.0), Ok(100.0)]);
        assert!(
            [share("1.1"), share("-0.1"), share("NaN"), percent("101"), positive_share("0")]
                .iter()
                .all(Result::is_err)
        );
        assert_eq!([threads("1"), threads("1024")], [Ok(1), Ok(1024)]);
        assert!(["0", "-1", "1025", "x"].iter().all(|text| threads(text).is_err()));
    }

    #[test]
    fn names_are_cut_where_their_form_says() {
        assert_eq!(endpoint("a:b:c"), Ok(Endpoint::new("a", "b:c")));
        assert_eq!(tag("k=v=w"), Ok(Filter::Tag { key: "k".to_owned(), value: "v=w".to_owned() }));
        let written = search("-k=v  OR \"a b\"").map(|filter| filter_words(&filter));
        assert_eq!(written.as_deref(), Ok("-k=v OR \"a b\""));
        assert!(search(" OR ").is_err());
        assert_eq!(timeout("a:b=c=200ms"), Ok(("a:b=c".to_owned(), Some(200_000))));
        assert_eq!(timeout("a:b=c"), Ok(("a:b=c".to_owned(), None)));
        assert_eq!(timeout("in:b=1s"), Ok(("in:b".to_owned(), Some(1_000_000))));
        assert!(timeout("a:b=-1ms").is_err() && timeout("a:b=0us").is_err());
        assert_eq!(column_order("start"), Ok(ColumnOrder::Start));
        assert!(endpoint("a").is_err() && tag("k").is_err() && column_order("x").is_err());
    }

    #[test]
    fn names_that_are_none_are_refused() {
        assert!(range("P50-95").is_ok() && range("many").is_err());
        assert!(row_stat("p99").is_ok() && row_stat("p98").is_err());
        assert!(view("flame").is_ok() && view("fire").is_err());
    }
}
