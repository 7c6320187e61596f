//! The source of traces as part of an address.

use crate::address::*;
use pathlight_backend::source::Wanted;
use pathlight_trace::Endpoint;

fn endpoint(service: &str, operation: &str) -> RootEndpoint {
    RootEndpoint::Endpoint(Endpoint::new(service, operation))
}

#[test]
fn a_query_of_jaegers_own_page_is_a_search_with_its_root_endpoint() {
    let text = "v=1&view=flame&api=/jaeger&service=shop&operation=GET%20/x&start=1&end=2&limit=20\
                &minDuration=1.2s&maxDuration=2s&tags=%7B%22error%22:%22true%22%7D&lookback=1h";
    let address = Address::parse(text);
    let Wanted::Search(search) = &address.source.wanted else { panic!("{:?}", address.source) };
    assert_eq!((search.service.as_str(), search.operation.as_str()), ("shop", "GET /x"));
    assert_eq!((search.start_us, search.end_us, search.limit), (Some(1), Some(2), Some(20)));
    assert_eq!((search.min_duration.as_str(), search.max_duration.as_str()), ("1.2s", "2s"));
    assert_eq!(search.tags, r#"{"error":"true"}"#);
    assert_eq!(address.root, endpoint("shop", "GET /x"));
    assert_eq!(address.unknown, [("lookback".to_owned(), "1h".to_owned())]);
    assert_eq!(address.to_fragment(), text);
}

#[test]
fn another_subject_than_that_of_the_search_stands_in_a_key_of_its_own() {
    let mut address = Address::parse("api=/jaeger&service=shop&operation=GET");
    address.root = endpoint("db", "query");
    let text = address.to_fragment();
    assert!(text.contains("&service=shop&operation=GET&rootEndpoint="), "{text}");
    assert_eq!(Address::parse(&text), address);
    address.root = RootEndpoint::TraceRoots;
    assert!(address.to_fragment().ends_with("&rootEndpoint=all"), "{}", address.to_fragment());
    assert_eq!(Address::parse(&address.to_fragment()), address);
    // Without a search the plain keys are the root endpoint's.
    let plain = Address::parse("api=/jaeger&rootEndpoint=%5B%22db%22,%22query%22%5D");
    assert_eq!(plain.root, endpoint("db", "query"));
    assert_eq!(Address::parse("service=db&operation=query").root, plain.root);
}

#[test]
fn traces_are_fetched_by_id_and_the_first_is_looked_at() {
    let address = Address::parse("view=trace&api=/jaeger&traceID=CD&traceID=ab&span=7");
    let ids = ["00000000000000ab", "00000000000000cd"].map(str::to_owned);
    assert_eq!(address.source.wanted, Wanted::Traces(ids.into()));
    assert_eq!(address.view, View::Trace);
    assert_eq!(address.trace.as_ref().map(|trace| trace.trace_id.as_str()), Some("CD"));
    let text = address.to_fragment();
    assert!(text.ends_with("traceID=CD&span=7&traceID=00000000000000ab"), "{text}");
    assert_eq!(Address::parse(&text), address);
}

#[test]
fn a_trace_looked_at_after_a_search_is_not_fetched() {
    let address = Address::parse("api=/jaeger&service=shop&traceID=ab");
    assert!(address.source.is_search());
    assert_eq!(address.trace.as_ref().map(|trace| trace.trace_id.as_str()), Some("ab"));
    assert_eq!(Address::parse(&address.to_fragment()), address);
}

#[test]
fn without_api_its_keys_are_nobodys_and_kept() {
    let text = "v=1&start=1&limit=2&tags=x";
    let address = Address::parse(text);
    assert_eq!(address.source, FetchSource::default());
    assert_eq!(address.to_fragment(), text);
}

#[test]
fn files_are_named_one_by_one() {
    let text = "v=1&src=traces/a.json&src=b.json.gz";
    let address = Address::parse(text);
    assert_eq!(address.source.files, ["traces/a.json", "b.json.gz"]);
    assert!(address.source.wants_something());
    assert_eq!(address.to_fragment(), text);
}
