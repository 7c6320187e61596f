//! The address of everything but the source: read, written, and read again.

use crate::address::*;
use pathlight_backend::source::{TraceSearch, Wanted};
use pathlight_engine::verdict::ServicePart;
use pathlight_trace::ReadingRule;
use proptest::prelude::*;

#[test]
fn a_link_of_jaegers_form_is_read() {
    let address = Address::parse("#v=1&view=trace&traceID=ab&traceID=cd&service=a+b&operation=GET%20%2Fx");
    assert_eq!(address.view, View::Trace);
    assert_eq!(address.trace.as_ref().map(|t| t.trace_id.as_str()), Some("ab"));
    assert_eq!(
        address.root,
        RootEndpoint::Endpoint(Endpoint { service: "a b".to_owned(), operation: "GET /x".to_owned() })
    );
    assert_eq!(address.unknown, [("traceID".to_owned(), "cd".to_owned())]);
}

#[test]
fn requests_that_are_grouped_otherwise_are_of_no_type_of_before() {
    let mut address = Address::parse("by=shape&error=1");
    let root = Endpoint::new("shop", "GET /");
    address.look_at_type(&RequestType { root, part: "without calls".to_owned() });
    assert_eq!(address.filters.len(), 2);
    address.group_by(GroupBy::Route);
    assert_eq!((address.by, address.filters), (GroupBy::Route, vec![Filter::HasError]));
}

#[test]
fn what_automatic_grouping_chose_stays_until_the_reading_or_the_grouping_is_another() {
    let mut address = Address { chosen: Some((Reading::real(), GroupBy::Shape)), ..Address::default() };
    assert_eq!(address.selection().by, GroupBy::Shape);
    assert_eq!(address.to_fragment(), "v=1");
    address.reading = Reading::PLAIN;
    assert_eq!(address.selection().by, GroupBy::Automatic);
    address.reading = Reading::real();
    address.group_by(GroupBy::Root);
    address.group_by(GroupBy::Automatic);
    assert_eq!(address.selection().by, GroupBy::Automatic);
}

#[test]
fn hit_requests_are_those_of_b_by_what_is_usual_in_a() {
    let mut address = Address::parse("hit=in:cart&hit=nothing");
    assert_eq!(address.filters, [Filter::hit(Subject { service: "cart".to_owned(), part: ServicePart::In })]);
    assert_eq!(Address::parse(&address.to_fragment()), address);
    let against = |selection: Selection| match &selection.filters[..] {
        [Filter::Hit(hit)] => hit.against.as_ref().map(|of| (of.group, of.filters.len())),
        others => panic!("{others:?}"),
    };
    assert_eq!(against(address.selection()), None, "of one set the faster half");
    address.compare_sets();
    assert!(address.side(ComparedSide::A).filters.is_empty());
    assert_eq!(against(address.side(ComparedSide::B)), Some((0, 0)));
    address.speak_of(ComparedSide::B);
    assert_eq!((against(address.selection()), address.selection().group), (Some((0, 0)), 1));
}

#[test]
fn the_end_of_requests_is_that_of_views_that_can_follow_them() {
    let mut address = Address::parse("until=done&view=flame");
    assert_eq!((address.until, address.selection().until), (Until::Done, Until::Done));
    assert_eq!(Address::parse(&address.to_fragment()), address);
    assert!(address.is_step_from(&Address { until: Until::Answer, ..address.clone() }));
    address.compare_sets();
    assert!(ComparedSide::BOTH.iter().all(|side| address.side(*side).until == Until::Done));
    for view in [View::Flow, View::Diagnosis, View::Errors, View::Anomalies, View::Trace] {
        address.view = view;
        assert_eq!(address.selection().until, Until::Answer, "{view:?}");
    }
    assert_eq!(Address::parse("until=never").until, Until::Answer);
    assert_eq!(Address::default().to_fragment(), "v=1");
}

#[test]
fn services_as_places_are_part_of_the_address() {
    let address = Address::parse("places=service");
    assert!(address.by_service && !address.selection().by_service);
    assert!(address.rolled_up(address.selection()).by_service);
    assert_eq!(Address::parse(&address.to_fragment()), address);
    assert!(address.is_step_from(&Address::default()));
}

#[test]
fn the_unit_of_a_comparison_is_no_grouping() {
    for text in ["v=1&by=share", "v=1&by=route", "v=1&by=route&by=share"] {
        assert_eq!(Address::parse(text).to_fragment(), text);
    }
}

#[test]
fn an_empty_fragment_is_everything_at_its_default_and_back() {
    assert_eq!(Address::parse(""), Address::default());
    assert_eq!(Address::parse("#"), Address::default());
    assert_eq!(Address::default().to_fragment(), "v=1");
}

#[test]
fn a_service_without_an_operation_is_no_root_endpoint() {
    assert_eq!(Address::parse("service=a").root, RootEndpoint::TraceRoots);
}

#[test]
fn what_makes_no_sense_falls_back_and_never_fails() {
    let address =
        Address::parse("v=x&view=nonsense&range=P95-50&overlap=1&focus=[1&sort=-&theme=pink&&=&%zz=%");
    let plain = Address { unknown: address.unknown.clone(), ..Address::default() };
    assert_eq!(address, plain);
    assert_eq!(address.unknown, [(String::new(), String::new()), ("%zz".to_owned(), "%".to_owned())]);
}

#[test]
fn addresses_of_old_words_are_read() {
    let old = "view=flame&band=P95-99&against=band&bandB=P0-50&api=/jaeger&service=a&subject=all";
    let new = "view=flame&range=P95-99&against=range&rangeB=P0-50&api=/jaeger&service=a&rootEndpoint=all";
    assert_eq!(Address::parse(old), Address::parse(new));
    assert_eq!(Address::parse(old).unknown, []);
    let written = Address::parse(old).to_fragment();
    assert!(written.contains("&against=range&range=P95-99&rangeB=P0-50"), "{written}");
}

#[test]
fn unknown_keys_pass_through_in_order() {
    let text = "v=1&api=/jaeger&later=1&api=/other";
    assert_eq!(Address::parse(text).to_fragment(), text);
}

#[test]
fn only_a_change_of_place_is_a_step_back_can_undo() {
    let here = Address::parse("view=flame&range=P95-99");
    assert!(
        !Address { search: "db".to_owned(), theme: ThemeChoice::Dark, ..here.clone() }.is_step_from(&here)
    );
    assert!(Address { range: PercentileRange::ALL, ..here.clone() }.is_step_from(&here));
    let trace = |span: Option<&str>| Address {
        trace: Some(TraceChoice {
            trace_id: "1".to_owned(),
            root_span_id: None,
            span_id: span.map(str::to_owned),
            ..TraceChoice::default()
        }),
        ..here.clone()
    };
    assert!(!trace(Some("a")).is_step_from(&trace(None)));
    assert!(trace(None).is_step_from(&here));
}

#[test]
fn a_reading_that_is_chosen_beats_that_of_the_preset() {
    let read = |text| Address::parse(text).reading;
    assert_eq!(read(""), Reading::default());
    assert_eq!(read("overlap=paper"), Reading::PLAIN);
    assert_eq!(
        read("reading=real,-overlay&overlap=paper"),
        Reading::real().with(ReadingRule::Overlay, false)
    );
    assert_eq!(Address::parse("overlap=strict").to_fragment(), "v=1&overlap=strict");
    assert_eq!(
        Address::parse("overlap=strict&reading=real").to_fragment(),
        "v=1&overlap=strict&reading=real"
    );
}

#[test]
fn an_empty_service_is_none() {
    for text in ["service=", "service=&operation=GET", "service=&operation="] {
        let address = Address::parse(text);
        assert_eq!(address.root, RootEndpoint::TraceRoots, "{text}");
        assert_eq!(address.to_fragment(), "v=1", "{text}");
    }
    // In a search at Jaeger it is any, and of it follows no root endpoint.
    let search = Address::parse("api=/jaeger&service=&operation=GET&traceID=ab");
    assert!(search.source.is_search() && search.root == RootEndpoint::TraceRoots);
    assert_eq!(Address::parse(&search.to_fragment()), search);
}

#[test]
fn of_two_services_or_operations_the_first_counts() {
    let one = Address::parse("service=a&operation=GET");
    for text in ["operation=GET&service=a&operation=PUT", "service=a&service=b&operation=GET"] {
        assert_eq!(Address::parse(text), one, "{text}");
    }
    // Without a service they are nothing, however often they are written.
    let nothing = Address::parse("operation=GET&operation=PUT");
    assert_eq!(nothing, Address::default());
    assert_eq!(nothing.to_fragment(), "v=1");
}

#[test]
fn chosen_requests_are_kept_in_the_address() {
    let only = |group, requests: &[(&str, &str)]| {
        let requests = requests.iter().map(|(trace, root)| (trace.to_string(), root.to_string())).collect();
        Filter::Only(OnlyFilter { group, requests })
    };
    let filters = vec![only(1, &[("1a", "b.2"), ("a/b", "7")]), Filter::HasError, only(0, &[("1a", "b.2")])];
    let address = Address { filters, ..Address::default() };
    assert_eq!(address.to_fragment(), "v=1&only.B.b.2=1a&only.B.7=a/b&error=1&only.A.b.2=1a");
    assert_eq!(Address::parse(&address.to_fragment()), address);
    // In any order, and each once.
    let again =
        Address::parse("only.B.7=a/b&only.B.b.2=1a&only.B.7=a/b&error=1&only.A.b.2=1a&only.C.7=1&only.B=1");
    assert_eq!(again.filters, address.filters);
    assert_eq!(crate::say::selection::filter_words(&address.filters[0]), "only 2 chosen requests");
}

fn name() -> impl Strategy<Value = String> {
    "[a-z .&=#%+/\"\\\\\u{e4}\u{1F600}]{0,6}"
}

prop_compose! {
    fn filter()(kind in 0..5, a in name(), b in name()) -> Filter {
        match kind {
            0 => Filter::Tag { key: a, value: b },
            1 => Filter::Contains(Endpoint { service: a, operation: b }),
            2 => Filter::Search(SpanSearch::parse(&format!("x{a} OR -{b}=1"))),
            3 => Filter::Type(RequestType { root: Endpoint::new("s", a), part: b }),
            _ => Filter::HasError,
        }
    }
}

proptest! {
    #[test]
    fn an_address_survives_its_fragment(
        view in 0..4usize, names in prop::collection::vec(name(), 8),
        filters in prop::collection::vec(filter(), 0..4),
        time in prop::option::of((any::<u64>(), any::<u64>())),
        range in (0..100_000u32, 1..100_000u32), flags in prop::array::uniform6(any::<bool>()),
    ) {
        let some = |n: usize, flag: bool| flag.then(|| names[n].clone());
        let mut address = Address { view: View::ALL[view], inverted: flags[0], ..Address::default() };
        if flags[1] {
            address.root =
                RootEndpoint::Endpoint(Endpoint { service: format!("s{}", names[0]), operation: names[1].clone() });
        }
        address.range = PercentileRange::open(range.0, (range.0 + range.1).min(100_000));
        if address.range.is_all() {
            address.range = PercentileRange::ALL;
        }
        (address.incomplete, address.unweighted) = (flags[3], flags[1]);
        (address.over_all, address.by) = (flags[4], GroupBy::Tag(format!("k{}", names[4])));
        address.filters = filters;
        address.filters.extend(time.map(|(from_us, to_us)| Filter::Time { from_us, to_us }));
        address.overlap = Overlap { overlap_us: u64::from(range.0), share_ppm: u64::MAX };
        let rules = ReadingRule::ALL.into_iter().zip([flags[0], flags[3], flags[5]]);
        address.reading =
            rules.fold(Reading::PLAIN, |reading, (rule, on)| reading.with(rule, on));
        if flags[2] {
            address.trace = Some(TraceChoice {
                trace_id: format!("t{}", names[2]),
                root_span_id: some(3, flags[3]),
                span_id: some(4, flags[4]),
                beside: [Beside::Nothing, Beside::Linked, Beside::Normal][(range.0 % 3) as usize],
            });
        }
        if flags[2] && flags[5] {
            address.source = FetchSource::jaeger(&names[5]);
            address.source.wanted = Wanted::Search(Box::new(TraceSearch {
                service: names[6].clone(),
                operation: some(7, flags[1]).unwrap_or_default(),
                start_us: time.map(|(from, _)| from),
                tags: names[3].clone(),
                limit: Some(range.0),
                ..TraceSearch::default()
            }));
        }
        address.focus = vec![Endpoint::new(&names[5], &names[6]); view];
        address.search = names[7].clone();
        address.split.key = some(0, flags[1]);
        address.split.linear = flags[2];
        address.sum = some(1, flags[0]).filter(|key| !key.is_empty());
        address.weight_key = some(2, flags[0]).filter(|key| !key.is_empty());
        address.anomaly.normal = [JudgedAgainst::Others, JudgedAgainst::SetA, JudgedAgainst::Before(range.0.into())][view % 3];
        address.anomaly.alpha_ppm = range.0 + 1;
        address.anomaly.contaminated_ppm = range.0;
        (address.anomaly.vae, address.anomaly.evaluate) = (flags[0], flags[1]);
        address.anomaly.network.epochs = range.0 % 1000 + 1;
        address.anomaly.explain = range.1;
        if flags[3] {
            let of = if flags[4] { SplitOf::Sums } else { SplitOf::Calls };
            address.split.of = of(Endpoint { service: names[1].clone(), operation: names[2].clone() });
        }
        address.sort = flags[5].then(|| Sort { column: "p99".to_owned(), descending: flags[0] });
        prop_assert_eq!(Address::parse(&address.to_fragment()), address);
    }
}
