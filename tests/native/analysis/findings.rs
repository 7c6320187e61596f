//! Findings: traces in which one thing is wrong, one set for each kind, and sets in which nothing is.

use crate::common::{Span, set_of, span, stage};
use pathlight::base::statistics::Random;
use pathlight::engine::findings::{
    Finding, FindingFacts, FindingKind, FindingPlace, FindingsReport, OneAfterTheOtherFacts,
    ReadWithCareFacts, RetriesFacts, SinceWhenFacts, SlowTailFacts, TagsReport, TimeoutFacts, WhoFacts,
};
use pathlight::engine::queries;
use pathlight::engine::requests::{PercentileRange, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{GenerateOptions, write_jaeger};
use pathlight::trace::{Endpoint, SpanKind, TraceSet};
use pathlight::view::address::Address;
use pathlight::view::findings::block::facts;
use pathlight::view::findings::{links as finding_links, words as finding_words};
use pathlight::view::json;
use pathlight::view::views::View;

fn findings(spans: &[Span]) -> FindingsReport {
    let mut pool = NativePool::of(vec![set_of(spans)]).unwrap();
    pool.run(queries::Findings { selection: Selection::default(), baseline: None }).unwrap()
}

/// Returns the findings with what joins them later.
fn completed(pool: &mut NativePool, selection: Selection, baseline: Option<Selection>) -> FindingsReport {
    let query = queries::Findings { selection: selection.clone(), baseline: baseline.clone() };
    let report = pool.run(query).unwrap();
    let further = pool.run(queries::LateFindingsQuery::of(selection, baseline, &report)).unwrap();
    report.with(&further)
}

/// Returns the finding of a kind.
#[track_caller]
fn the(report: &FindingsReport, kind: FindingKind) -> Finding {
    let found = report.findings.iter().find(|finding| finding.kind() == kind);
    found.unwrap_or_else(|| panic!("no {kind:?} in\n{}", finding_words::to_text(report))).clone()
}

/// Returns the finding that explains one of a kind, and that.
#[track_caller]
fn explained(report: &FindingsReport, kind: FindingKind) -> (Finding, Finding) {
    let all = report.findings.iter().flat_map(|finding| finding.explains.iter().map(move |of| (finding, of)));
    let found = all.clone().find(|(_, of)| of.kind() == kind);
    let found = found.unwrap_or_else(|| panic!("no {kind:?} in\n{}", finding_words::to_text(report)));
    (found.0.clone(), found.1.clone())
}

/// Returns the findings of a report as its JSON has them.
fn json_of(report: &FindingsReport) -> Vec<serde_json::Value> {
    let json = json::findings(report, &TagsReport::default(), PercentileRange::ALL).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    json["findings"].as_array().unwrap().clone()
}

/// Makes requests of a shop that differ by up to 5 %; `change` gets each with its number before it is added.
fn requests(n: u64, change: impl Fn(u64, &mut Vec<Span>)) -> Vec<Span> {
    let mut random = Random::new(5, 0, 0);
    let mut all = Vec::new();
    for i in 0..n {
        let mut part = || 10_000 + random.below(500);
        let (cart, stock) = (part(), part());
        let mut spans = vec![
            span(1, 0, "shop", 0, cart + stock + 1000),
            span(2, 1, "cart", 500, 500 + cart),
            span(3, 1, "stock", 700 + cart, 700 + cart + stock),
        ];
        change(i, &mut spans);
        for span in &mut spans {
            span.trace = u128::from(i) + 1;
            span.start_us += 1_700_000_000_000_000 + i * 1_000_000;
        }
        all.extend(spans);
    }
    all
}

/// Makes a span longer; what starts after it, and its ancestors, wait.
fn delay(spans: &mut [Span], id: u64, us: u64) {
    let end = spans.iter().find(|s| s.id == id).map_or(0, |s| s.start_us + s.duration_us);
    for span in spans.iter_mut() {
        if span.start_us >= end {
            span.start_us += us;
        } else if span.start_us + span.duration_us >= end {
            span.duration_us += us;
        }
    }
}

fn service(name: &str) -> FindingPlace {
    FindingPlace::Service(name.to_owned())
}

fn endpoint(name: &str) -> FindingPlace {
    FindingPlace::Endpoint(Endpoint::new(name, name))
}

#[test]
fn a_call_that_only_slow_requests_make_is_named_with_the_tag_they_share() {
    // Three of the six slowest make it: only they are spoken of.
    let spans = requests(60, |i, spans| {
        if i % 20 == 7 {
            spans.push(span(4, 3, "disk", 12_000, 13_000));
            delay(spans, 4, 80_000 + i * 10);
        }
    });
    let finding = the(&findings(&spans), FindingKind::SlowTail);
    assert_eq!((finding.place, finding.n), (endpoint("disk"), 3));
    let spans = requests(60, |i, spans| {
        spans[1].zone = if i % 10 == 7 { "far" } else { "near" };
        if i % 10 == 7 {
            spans.push(span(4, 3, "disk", 12_000, 13_000));
            delay(spans, 4, 80_000 + i * 10);
        }
    });
    let finding = the(&findings(&spans), FindingKind::SlowTail);
    assert_eq!((finding.place.clone(), finding.n, finding.of), (endpoint("disk"), 6, 60));
    let FindingFacts::SlowTail(SlowTailFacts { is_only_in_tail, tag, excess_us, .. }) = &finding.facts else {
        panic!()
    };
    let tag = tag.as_ref().unwrap();
    assert_eq!((tag.key.as_str(), tag.value.as_str(), tag.slow, tag.others), ("zone", "far", 6, 0));
    assert!(*is_only_in_tail && (80_000.0..83_000.0).contains(excess_us), "{excess_us}");
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.starts_with("6 of 60 requests shop @ shop take 1"), "{text}");
    assert!(
        text.contains(
            " They share zone = far: 6 of 6, 0 of 54 others. Over all requests, the own work of disk"
        ),
        "{text}"
    );
}

#[test]
fn a_tail_of_which_not_every_request_is_slow_says_how_slow_half_of_them_are() {
    let spans = requests(200, |i, spans| {
        if i % 14 == 3 {
            delay(spans, 3, 243_000);
        }
    });
    let finding = the(&findings(&spans), FindingKind::SlowTail);
    assert_eq!((finding.place.clone(), finding.n, finding.of), (endpoint("stock"), 20, 200));
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.contains(", half of them at least 26"), "{text}");
}

#[test]
fn one_place_in_the_tails_of_two_request_types_costs_what_it_costs_in_both() {
    let spans = requests(200, |i, spans| {
        if i % 2 == 0 {
            spans[0].operation = "market".to_owned();
        }
        if i % 20 == 3 || i % 20 == 6 {
            delay(spans, 3, 143_000);
        }
    });
    let finding = the(&findings(&spans), FindingKind::SlowTail);
    assert_eq!((finding.place.clone(), finding.n, finding.of), (endpoint("stock"), 10, 100));
    assert!((14_000.0..14_600.0).contains(&finding.stake_us), "{}", finding.stake_us);
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.ends_with(" The same holds in 1 other request type."), "{text}");
}

#[test]
fn a_place_that_makes_one_type_clearly_slow_counts_where_it_makes_another_a_little_slower() {
    let spans = requests(200, |i, spans| {
        if i % 2 == 0 {
            spans[0].operation = "market".to_owned();
            delay(spans, 1, 60_000);
        }
        if i % 20 == 3 || i % 20 == 6 {
            delay(spans, 3, 130_000);
        }
    });
    let finding = the(&findings(&spans), FindingKind::SlowTail);
    assert_eq!((finding.place.clone(), finding.n, finding.of), (endpoint("stock"), 10, 100));
    assert!((12_800.0..13_300.0).contains(&finding.stake_us), "{}", finding.stake_us);
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.ends_with(" The same holds in 1 other request type."), "{text}");
}

#[test]
fn a_tail_of_which_most_take_nearly_twice_the_median_in_one_place_is_slow() {
    let spans = requests(400, |i, spans| {
        if [3, 13, 23].contains(&(i % 40)) {
            delay(spans, 3, 19_000);
        }
    });
    let finding = the(&findings(&spans), FindingKind::HotSpot);
    let FindingFacts::Cost(cost) = &finding.facts else { panic!("{finding:?}") };
    let tail = cost.tail.as_ref().unwrap();
    assert_eq!((&finding.place, &finding.also), (&service("stock"), &vec![FindingKind::SlowTail]));
    assert_eq!((&tail.at, tail.n, tail.of), (&Endpoint::new("stock", "stock"), 40, 400));
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.contains("; there stock @ stock takes +14.4\u{202f}ms ("), "{text}");
}

#[test]
fn a_slow_tail_where_all_requests_have_their_time_too_is_one_finding() {
    let spans = requests(200, |i, spans| {
        if i % 10 == 7 {
            delay(spans, 3, 1_300_000);
        }
    });
    let report = findings(&spans);
    let finding = &report.findings[0];
    let FindingFacts::SlowTail(SlowTailFacts { share: Some(share), .. }) = &finding.facts else {
        panic!("{finding:?}")
    };
    assert_eq!((&finding.place, &finding.also), (&endpoint("stock"), &vec![FindingKind::HotSpot]));
    assert!((0.9..0.95).contains(share), "{share}");
    let text = finding_words::sentence(finding).to_text();
    assert!(text.contains(" Over all requests, the own work of stock takes "), "{text}");
    // Where two sets are loaded, findings are of the second, and so is what they lead to.
    let mut address = Address::default();
    address.compare_sets();
    finding_links::show(finding, &mut address);
    assert_eq!((address.group(), address.view), (1, View::Flame));
}

#[test]
fn a_timeout_of_a_call_that_nobody_recorded_is_a_stretch_without_calls() {
    let spans = requests(100, |i, spans| {
        delay(spans, 2, i * 7919 % 600 * 1000);
        if i % 10 == 3 {
            spans[2].start_us += 2_000_000;
            spans[0].duration_us += 2_000_000;
        }
    });
    let report = findings(&spans);
    let is_it = |finding: &&Finding| {
        finding.place == endpoint("shop") && finding.also.contains(&FindingKind::Timeout)
            || finding.kind() == FindingKind::Timeout
    };
    let found: Vec<&Finding> = report.findings.iter().filter(is_it).collect();
    let [finding] = found.as_slice() else { panic!("{}", finding_words::to_text(&report)) };
    assert_eq!(finding.place, endpoint("shop"));
    if let FindingFacts::Timeout(TimeoutFacts { duration_us, is_stretch, .. }) = finding.facts {
        assert!(is_stretch && (1_980_000.0..2_060_000.0).contains(&duration_us), "{duration_us}");
    }
}

#[test]
fn a_timeout_says_for_how_many_calls_the_caller_stopped_waiting() {
    let spans = requests(100, |i, spans| {
        let is_late = i % 20 == 3;
        if is_late {
            delay(spans, 2, 1_990_000);
        }
        // The slowest requests are others.
        if i % 10 == 6 {
            delay(spans, 3, 4_000_000 + i * 30_000);
        }
        let call = &mut spans[1];
        call.kind = SpanKind::Client;
        let (start, end) = (call.start_us + 100, call.start_us + call.duration_us - 100);
        // Long after its call has ended.
        let end = if is_late { end + 1_500_000 } else { end };
        let server = span(20, 2, "serve", start, end);
        spans.push(Span { service: "server".to_owned(), kind: SpanKind::Server, ..server });
    });
    let report = findings(&spans);
    let finding = the(&report, FindingKind::Timeout);
    assert_eq!(finding.place, FindingPlace::Endpoint(Endpoint::new("server", "serve")));
    let FindingFacts::Timeout(TimeoutFacts { stopped, .. }) = finding.facts else { panic!() };
    assert_eq!(stopped, 5);
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.contains("; the caller stopped waiting for 5 calls. That looks like a timeout"), "{text}");
}

#[test]
fn calls_one_after_the_other_say_what_side_by_side_would_save() {
    let spans = requests(30, |_, spans| {
        for i in 0..5 {
            spans.push(span(10 + i, 3, "redis", 12_000 + i * 1600, 13_500 + i * 1600));
        }
    });
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let finding = of_redis(&completed(&mut pool, Selection::default(), None));
    assert_eq!((finding.n, finding.of), (30, 30));
    let FindingFacts::OneAfterTheOther(OneAfterTheOtherFacts { group, .. }) = finding.facts else { panic!() };
    assert_eq!((group.mean_calls, group.numbers, group.saved_us.mean.round()), (5.0, (5, 5), 6400.0));
}

/// Returns the finding about calls of a store one after the other. The requests call cart and stock one after the other, too.
#[track_caller]
fn of_redis(report: &FindingsReport) -> Finding {
    let is_it = |finding: &&Finding| {
        finding.kind() == FindingKind::OneAfterTheOther && finding.place == endpoint("redis")
    };
    let found = report.findings.iter().find(is_it);
    found.unwrap_or_else(|| panic!("none in\n{}", finding_words::to_text(report))).clone()
}

#[test]
fn calls_whose_number_grows_with_a_result_before_them_are_n_plus_1() {
    const ROWS: [&str; 6] = ["4", "5", "6", "7", "8", "9"];
    let with_list = |is_reported: bool| {
        requests(60, |i, spans| {
            let n = 4 + i % 6;
            let mut list = span(9, 3, "list", 11_300, 11_500);
            // Another number each time, or that of the calls.
            list.zone = ROWS[if is_reported { n - 4 } else { i / 7 % 6 } as usize];
            spans.push(list);
            spans.extend((0..n).map(|at| span(10 + at, 3, "redis", 11_600 + at * 900, 12_400 + at * 900)));
        })
    };
    let finding = |is_reported| {
        let mut pool = NativePool::of(vec![set_of(&with_list(is_reported))]).unwrap();
        of_redis(&completed(&mut pool, Selection::default(), None))
    };
    let n_plus_1 = finding(true);
    let FindingFacts::OneAfterTheOther(OneAfterTheOtherFacts { group, model_error, .. }) = &n_plus_1.facts
    else {
        panic!()
    };
    // The list is not one of them: how often the store is called may depend on it.
    assert_eq!((group.calls.callees.len(), group.numbers), (1, (4, 9)));
    // 3 to 8 calls of 800 us less, with the 100 us before each.
    assert!((4400.0..5100.0).contains(&group.saved_us.mean), "{:?}", group.saved_us);
    assert!(model_error.is_some_and(|error| error < 0.01), "{model_error:?}");
    let text = finding_words::sentence(&n_plus_1).to_text();
    assert!(text.contains(" of p99 (the model is "), "{text}");
    let grows =
        " N+1: their number, 4 to 9, grows with zone of list @ list, the call before them (r = 1.00).";
    assert!(text.ends_with(grows), "{text}");
    let text = finding_words::sentence(&finding(false)).to_text();
    assert!(text.ends_with(" Such runs have 4 to 9 calls."), "{text}");
}

#[test]
fn calls_that_end_at_one_round_duration_look_like_a_timeout() {
    let spans = requests(200, |i, spans| {
        if i % 25 == 3 {
            let us = 2_000_000 - spans[1].duration_us;
            delay(spans, 2, us);
        }
    });
    let finding = the(&findings(&spans), FindingKind::Timeout);
    assert_eq!((finding.place.clone(), finding.n, finding.of), (endpoint("cart"), 8, 200));
    // As many calls as long, but of all lengths: nothing that ends them.
    let spans = requests(200, |i, spans| {
        if i % 25 == 3 {
            delay(spans, 2, 1_700_000 + i * 4000);
        }
    });
    assert!(findings(&spans).findings.iter().all(|finding| finding.kind() != FindingKind::Timeout));
}

#[test]
fn a_call_after_a_failed_one_is_a_retry() {
    let spans = requests(50, |i, spans| {
        if i % 5 == 0 {
            let mut first = span(4, 3, "bank", 11_500, 14_500);
            first.error = true;
            spans.extend([first, span(5, 3, "bank", 15_500, 18_500)]);
        }
    });
    let report = findings(&spans);
    let finding = the(&report, FindingKind::Retries);
    assert_eq!((finding.place.clone(), finding.n, finding.of), (endpoint("bank"), 10, 50));
    let FindingFacts::Retries(RetriesFacts { calls, cost_us }) = finding.facts else { panic!() };
    assert_eq!((calls, cost_us), (10, 4000.0));
    // Errors begin at the same place: one finding, not two.
    assert!(finding.also.contains(&FindingKind::Errors), "{}", finding_words::to_text(&report));
}

#[test]
fn a_tag_whose_requests_are_slower_says_who_is_affected() {
    let spans = requests(80, |i, spans| {
        spans[0].zone = if i % 4 == 1 { "eu" } else { "us" };
        if i % 4 == 1 {
            delay(spans, 2, 30_000);
        }
    });
    let finding = the(&findings(&spans), FindingKind::Who);
    assert_eq!(finding.place, FindingPlace::Tag { key: "zone".to_owned(), value: "eu".to_owned() });
    let FindingFacts::Who(WhoFacts { ratio, ratio_interval, .. }) = finding.facts else { panic!() };
    assert!((2.2..2.6).contains(&ratio) && ratio_interval.low > 2.0, "{ratio}");
    // Once it is known what takes longer with the tag, it is said there.
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let report = completed(&mut pool, Selection::default(), None);
    let (of_cart, _) = explained(&report, FindingKind::Who);
    assert_eq!(of_cart.place, service("cart"));
    assert!(report.findings.iter().all(|finding| finding.kind() != FindingKind::Who));
    let text = finding_words::sentence(&of_cart).to_text();
    assert!(text.contains("; what takes longer with it is cart's own work: +30.0"), "{text}");
    let json = json_of(&report);
    let blamed = json.iter().find(|finding| finding["blamed"]["service"] == "cart").unwrap();
    assert_eq!(blamed["blamed"]["with_tag"]["tag"], serde_json::json!(["zone", "eu"]));
}

#[test]
fn a_type_that_is_slower_from_some_time_on_says_since_when() {
    let spans = requests(90, |i, spans| {
        if i >= 60 {
            delay(spans, 3, 25_000);
        }
    });
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let report = completed(&mut pool, Selection::default(), None);
    let (finding, since) = explained(&report, FindingKind::SinceWhen);
    let FindingFacts::SinceWhen(SinceWhenFacts { from_us, requests, .. }) = since.facts else { panic!() };
    assert_eq!((from_us, requests), (1_700_000_060_000_000, (60, 30)));
    // The service that is the reason says since when, and what is so since then is no second finding.
    assert!(
        finding.place == service("stock") && finding.also.contains(&FindingKind::SinceWhen),
        "{finding:?}"
    );
    assert!(finding.least_us() >= since.least_us());
    let text = finding_words::sentence(&finding).to_text();
    assert!(
        text.contains("; what takes longer then is stock's own work: +24.9\u{202f}ms per request."),
        "{text}"
    );
    assert!(facts(&finding).iter().any(|fact| fact.value.starts_with("since 2023-11-14 22:14:20")), "{text}");
    let all = finding_words::to_text(&report);
    assert_eq!(all.matches("Since 2023-11-14").count(), 1, "{all}");
    let json = json_of(&report);
    for finding in json.iter().filter(|finding| !finding["blamed"].is_null()) {
        let (blamed, of_stock) = (&finding["blamed"], finding["blamed"]["service"] == "stock");
        let expected = if of_stock { from_us.into() } else { serde_json::Value::Null };
        assert_eq!(blamed["since"]["from_us"], expected, "{blamed}");
    }
    let of_stock = json.iter().find(|finding| finding["blamed"]["service"] == "stock").unwrap();
    assert_eq!((&of_stock["blamed"]["part"], &of_stock["kind"]), (&"own".into(), &"hot_spot".into()));
    assert_eq!(of_stock["blamed"]["certainty"], "certain");
}

#[test]
fn a_tag_that_is_slow_with_another_one_only_says_so() {
    // Slow where region is eu and version 1.8; either alone does nothing.
    let trace = |i: u64| {
        let (region, version) = (["eu", "us", "us"][i as usize % 3], ["1.7", "1.8"][i as usize / 3 % 2]);
        let us = 20_000 + i * 7919 % 500 + if (region, version) == ("eu", "1.8") { 60_000 } else { 0 };
        format!(
            r#"{{"traceID":"{i:x}","spans":[{{"traceID":"{i:x}","spanID":"1","operationName":"GET","references":[],"startTime":{},"duration":{us},"tags":[{{"key":"region","type":"string","value":"{region}"}},{{"key":"version","type":"string","value":"{version}"}}],"processID":"p"}}],"processes":{{"p":{{"serviceName":"shop"}}}}}}"#,
            1_700_000_000_000_000 + i * 1_000_000
        )
    };
    let traces: Vec<String> = (1..=240).map(trace).collect();
    let mut set = TraceSet::new();
    let mut reader = pathlight::ingest::Reader::new("pair.json", pathlight::ingest::ReadOptions::default());
    reader.feed(format!("{{\"data\":[{}]}}", traces.join(",")).as_bytes(), &mut set).unwrap();
    reader.finish(&mut set);
    set.seal().unwrap();
    let mut pool = NativePool::of(vec![set]).unwrap();
    let report = completed(&mut pool, Selection::default(), None);
    let (_, finding) = explained(&report, FindingKind::Who);
    let FindingFacts::Who(WhoFacts { only_with: Some((other, explains)), .. }) = &finding.facts else {
        panic!("{finding:?}")
    };
    let FindingPlace::Tag { key, .. } = &finding.place else { panic!() };
    let mut keys = [key.as_str(), other.key.as_str()];
    keys.sort_unstable();
    assert_eq!(keys, ["region", "version"]);
    assert!(*explains > 0.5, "{explains}");
    let text = finding_words::sentence(&finding).to_text();
    assert!(
        text.contains(", only with ") && text.contains("\u{202f}% of the tail; what takes longer"),
        "{text}"
    );
}

#[test]
fn what_has_no_calls_while_time_passes_is_not_instrumented_and_orphans_ask_for_care() {
    let spans = requests(20, |_, spans| delay(spans, 1, 60_000));
    let finding = the(&findings(&spans), FindingKind::HotSpot);
    assert_eq!(finding.place, service("shop"));
    assert_eq!(finding.also, [FindingKind::NotInstrumented]);
    let spans = requests(20, |_, spans| spans.push(span(9, 77, "lost", 2000, 3000)));
    let finding = the(&findings(&spans), FindingKind::ReadWithCare);
    assert_eq!((finding.n, finding.of), (20, 80));
}

#[test]
fn what_is_not_instrumented_says_between_which_calls_most_time_passes() {
    let spans = requests(20, |_, spans| {
        spans.truncate(1);
        spans[0].duration_us = 100_000;
        let calls = [("cart", 10_000, 15_000), ("log", 15_000, 16_000), ("render", 80_000, 85_000)];
        spans.extend((20..).zip(calls).map(|(id, (name, from, to))| span(id, 1, name, from, to)));
    });
    let finding = the(&findings(&spans), FindingKind::HotSpot);
    assert_eq!(
        (finding.place.clone(), &finding.also),
        (service("shop"), &vec![FindingKind::NotInstrumented])
    );
    let text = finding_words::sentence(&finding).to_text();
    let gap = " longest gap: between log @ log and render @ render, 64.0\u{202f}ms on average.";
    assert!(text.ends_with(gap), "{text}");
}

#[test]
fn clocks_that_could_not_be_set_and_traces_without_a_root_ask_for_care() {
    let spans = requests(20, |_, spans| {
        // Neither kind nor host says that these are two machines, so their clocks were left alone.
        spans[0].start_us = 5_000;
        spans[1].start_us = 0;
    });
    let finding = the(&findings(&spans), FindingKind::ReadWithCare);
    let FindingFacts::ReadWithCare(ReadWithCareFacts { skew: Some((_, pair, _)), .. }) = &finding.facts
    else {
        panic!("{finding:?}")
    };
    assert_eq!(pair[0], "shop");
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.contains("; clocks disagree, and could not be set, in "), "{text}");
    assert!(text.contains("between shop and "), "{text}");
    let spans = requests(20, |i, spans| {
        if i % 4 == 0 {
            spans[0].parent = 99;
        }
    });
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let mut of = |incomplete| {
        let selection = Selection { incomplete, ..Selection::default() };
        pool.run(queries::Findings { selection, baseline: None }).unwrap()
    };
    // Those without their root are left out, unless they are asked for.
    let complete = of(false);
    assert_eq!((complete.facts.requests, complete.facts.coverage.left_out), (15, 5));
    let finding = the(&of(true), FindingKind::ReadWithCare);
    assert_eq!((finding.n, finding.of), (5, 20));
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.contains(". Of 20 traces, 5 (25.0\u{202f}%) lack their root."), "{text}");
}

#[test]
fn against_a_baseline_the_service_that_got_slower_speaks_first() {
    let before = requests(40, |_, _| {});
    let after = requests(40, |_, spans| delay(spans, 3, 30_000));
    let compared = |after: &[Span]| {
        let mut set = TraceSet::new();
        set.loading_group = 1;
        stage(&mut set, after);
        set.seal().unwrap();
        let (a, b) = (Selection::default(), Selection { group: 1, ..Selection::default() });
        let mut pool = NativePool::of(vec![set_of(&before), set]).unwrap();
        pool.run(queries::Findings { selection: b, baseline: Some(a) }).unwrap()
    };
    let report = compared(&after);
    let finding = &report.findings[0];
    assert_eq!(
        (finding.kind(), &finding.place),
        (FindingKind::Changed, &FindingPlace::Service("stock".to_owned()))
    );
    let text = finding_words::sentence(finding).to_text();
    assert!(text.starts_with("B is slower, 2.4 times: mean 21."), "{text}");
    assert!(text.contains("stock's own work explains 30.0\u{202f}ms "), "{text}");
    assert!(text.contains(" No other service changed beyond the usual drift."), "{text}");
    // Where time goes was so before, too.
    let is_new = |finding: &&Finding| !finding.is_as_before;
    let known: Vec<_> = report.findings.iter().skip(1).skip_while(is_new).collect();
    assert!(!known.is_empty() && known.iter().all(|finding| finding.is_as_before), "{known:?}");
    assert!(known.iter().any(|finding| finding.place == service("cart")), "{known:?}");
    // Requests that fail early are no improvement.
    let failing = compared(&requests(40, |i, spans| {
        if i % 8 > 0 {
            spans.truncate(1);
            spans[0].duration_us = 900;
        }
    }));
    let text = finding_words::sentence(&failing.findings[0]).to_text();
    assert!(text.starts_with("B looks faster, "), "{text}");
    assert_eq!(text.matches("calls vanish").count(), 1, "{text}");
    assert!(text.contains("cart is used by 5 of 40 requests, 40 of 40 before; stock is used by"), "{text}");
    assert!(text.contains(": probably failures, not an improvement."), "{text}");
    let same = compared(&before);
    assert_eq!(
        (same.findings[0].kind(), &same.findings[0].place),
        (FindingKind::Changed, &FindingPlace::Data)
    );
}

#[test]
fn where_nothing_is_wrong_nothing_is_called_a_cause() {
    let report = findings(&requests(200, |_, _| {}));
    let causes = report.findings.iter().filter(|finding| finding.kind().is_causal());
    assert_eq!(causes.count(), 0, "{}", finding_words::to_text(&report));
    assert_eq!(report.over_time.iter().map(|bin| bin.requests).sum::<u64>(), 200);
    // So many endpoints that none has a part worth a word.
    let even = |i: u64| {
        let calls = (0..40).map(|j| span(2 + j, 1, &format!("call {j}"), j * 100, j * 100 + 100));
        let mut spans: Vec<Span> = std::iter::once(span(1, 0, "root", 0, 4000)).chain(calls).collect();
        spans.iter_mut().for_each(|s| s.trace = u128::from(i) + 1);
        spans
    };
    let report = findings(&(0..30).flat_map(even).collect::<Vec<_>>());
    assert!(report.findings.is_empty());
    assert!(finding_words::to_text(&report).contains("Nothing stands out in 30 requests"));
}

#[test]
fn the_demo_says_what_makes_its_product_pages_slow() {
    // As a file: sets made without one have no tags.
    let mut bytes = Vec::new();
    write_jaeger(
        &GenerateOptions { traces: 320, spans: 30, seed: 21, ..GenerateOptions::default() },
        &mut bytes,
    )
    .unwrap();
    let mut set = TraceSet::new();
    let mut reader = pathlight::ingest::Reader::new("demo.json", pathlight::ingest::ReadOptions::default());
    reader.feed(&bytes, &mut set).unwrap();
    reader.finish(&mut set);
    set.seal().unwrap();
    let mut pool = NativePool::of(vec![set]).unwrap();
    let first = pool.run(queries::Findings { selection: Selection::default(), baseline: None }).unwrap();
    let report = completed(&mut pool, Selection::default(), None);
    let finding = &the(&report, FindingKind::SlowTail);
    assert_eq!(finding.place, FindingPlace::Endpoint(Endpoint::new("catalog", "SELECT product_details")));
    let FindingFacts::SlowTail(SlowTailFacts { root, tag, .. }) = &finding.facts else {
        panic!("{finding:?}")
    };
    assert_eq!((root.root.operation.as_str(), finding.n, finding.of), ("GET /product/{id}", 4, 37));
    assert_eq!(tag.as_ref().map(|tag| (tag.key.as_str(), tag.slow)), Some(("cache.hit", 4)));
    let tail =
        |report: &FindingsReport| finding_words::sentence(&the(report, FindingKind::SlowTail)).to_text();
    let (short, long) = (tail(&first), tail(&report));
    assert!(short.ends_with(" They share cache.hit = false: 4 of 4, 1 of 33 others."), "{short}");
    // The one other request misses another cache.
    let place =
        "They share cache.hit = false on redis GET product_details @ catalog: 4 of 4, 0 of 33 others.";
    let without = "Without SELECT product_details @ catalog p99 of this request type would fall by 83.8\u{202f}ms to 71.0\u{202f}ms.";
    assert!(long.ends_with(&format!("{place} {without}")), "{long}");
    let search = report.findings.iter().find(|finding| finding.place == service("search")).unwrap();
    assert_eq!(search.also, [FindingKind::WorthMakingFaster]);
    assert!(finding_words::sentence(search).to_text().contains("; halving that would save 1.20\u{202f}ms"));
    let charges = the(&report, FindingKind::WorthMakingFaster);
    assert_eq!(charges.place, FindingPlace::Endpoint(Endpoint::new("payment", "POST /v1/charges")));
    let errors = finding_words::sentence(&the(&report, FindingKind::Errors)).to_text();
    assert!(errors.ends_with("The error spans cost 0.2\u{202f}% of the latency."), "{errors}");
    let interval = charges.interval.unwrap();
    assert!(0.0 < interval.low && interval.low < charges.stake_us && charges.stake_us < interval.high);
    let link = |finding: Option<&Finding>| match finding {
        Some(_) => "https://traces.example/#view=flame&search=a(b)".to_owned(),
        None => "https://traces.example/#view=findings".to_owned(),
    };
    let note = finding_words::to_markdown(&report, "demo.json", Some(&link));
    assert!(
        note.contains("[Compare slow with fast](https://traces.example/#view=flame&search=a%28b%29)"),
        "{note}"
    );
    assert!(note.contains("\n\nLoaded: demo.json\n\n1. *Waiting for a service.*"), "{note}");
    assert!(note.contains("`SELECT product_details @ catalog`") && note.ends_with("findings)\n"), "{note}");
}

#[test]
fn requests_unlike_the_baseline_are_reported_later() {
    let before = requests(300, |_, _| {});
    let after = requests(300, |i, spans| {
        if i % 20 == 3 {
            spans.pop();
        }
    });
    let mut set = TraceSet::new();
    set.loading_group = 1;
    stage(&mut set, &after);
    set.seal().unwrap();
    let (a, b) = (Selection::default(), Selection { group: 1, ..Selection::default() });
    let mut pool = NativePool::of(vec![set_of(&before), set]).unwrap();
    let finding = the(&completed(&mut pool, b, Some(a.clone())), FindingKind::Abnormal);
    assert!(finding.n >= 15 && finding.of == 300, "{} of {}", finding.n, finding.of);
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.contains(": stock in stock called by shop is missing"), "{text}");
    // A set like its baseline has no more than by chance.
    let same = completed(&mut pool, a.clone(), Some(a));
    assert!(same.findings.iter().all(|finding| finding.kind() != FindingKind::Abnormal));
}

#[test]
fn calls_that_only_wait_are_not_worth_making_faster() {
    // Six calls of a store one after the other: each waits for 4 ms around an answer of 1 ms.
    let spans = |waits: u64| {
        requests(40, |_, spans| {
            spans.truncate(1);
            for call in 0..6 {
                let from = 500 + 5_000 * call;
                let mut asks = span(10 + call, 1, "shop", from, from + 5_000);
                (asks.operation, asks.kind) = ("ask".to_owned(), SpanKind::Client);
                let mut answers =
                    span(20 + call, 10 + call, "store", from + waits / 2, from + 5_000 - waits / 2);
                answers.kind = SpanKind::Server;
                spans.extend([asks, answers]);
            }
            spans[0].duration_us = 31_000;
        })
    };
    let worth = |waits: u64| {
        let mut pool = NativePool::of(vec![set_of(&spans(waits))]).unwrap();
        let report = completed(&mut pool, Selection::default(), None);
        let is_worth = |finding: &&Finding| {
            finding.kind() == FindingKind::WorthMakingFaster
                || finding.also.contains(&FindingKind::WorthMakingFaster)
        };
        let places = report.findings.iter().filter(is_worth).map(|finding| finding.place.clone());
        let waiting = report.findings.iter().any(|finding| finding.kind() == FindingKind::Waiting);
        (places.collect::<Vec<_>>(), waiting)
    };
    assert!(worth(4_000).1);
    let of_call = FindingPlace::Endpoint(Endpoint::new("shop", "ask"));
    assert!(!worth(4_000).0.contains(&of_call), "{:?}", worth(4_000));
    // What works itself is.
    assert!(!worth(0).0.is_empty());
}

#[test]
fn work_beside_which_other_work_runs_is_a_hot_spot_not_worth_making_faster() {
    let spans = requests(40, |_, spans| {
        spans.truncate(1);
        spans.push(span(2, 1, "wide", 500, 20_500));
        spans.push(span(3, 1, "beside", 400, 20_400));
        spans[0].duration_us = 21_000;
    });
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let finding = the(&completed(&mut pool, Selection::default(), None), FindingKind::HotSpot);
    assert_eq!(finding.place, service("wide"));
    let text = finding_words::sentence(&finding).to_text();
    assert!(
        text.ends_with(
            ", but halving its self time would save only 100\u{202f}\u{b5}s: beside @ beside runs beside it."
        ),
        "{text}"
    );
}

#[test]
fn calls_one_after_the_other_beside_a_hot_spot_are_named_in_their_order() {
    let spans = requests(40, |_, spans| {
        spans.truncate(1);
        spans.push(span(2, 1, "find", 500, 20_500));
        spans.push(span(3, 1, "update", 600, 9_000));
        spans.push(span(4, 1, "store", 9_100, 20_300));
        spans[0].duration_us = 21_000;
    });
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let finding = the(&completed(&mut pool, Selection::default(), None), FindingKind::HotSpot);
    assert_eq!(finding.place, service("find"));
    let text = finding_words::sentence(&finding).to_text();
    assert!(text.ends_with(": update @ update \u{2192} store @ store runs beside it."), "{text}");
}

fn tags_of(spans: &[Span], selection: Selection) -> TagsReport {
    NativePool::of(vec![set_of(spans)]).unwrap().run(queries::Tags { selection }).unwrap()
}

fn names(report: &TagsReport) -> Vec<String> {
    pathlight::view::findings::tag_rows::lines(report).into_iter().map(|line| line.name).collect()
}

#[test]
fn tags_of_any_span_tell_the_slow_from_the_rest_and_pairs_only_where_both_are_needed() {
    // Slow where `stock` runs in the far zone and `cart` in the old one; either alone does nothing.
    let spans = requests(200, |i, spans| {
        spans[1].zone = if i % 3 == 0 { "old" } else { "new" };
        spans[2].zone = if i % 4 == 0 { "far" } else { "near" };
        if i % 12 == 0 {
            delay(spans, 2, 40_000 + i);
        }
    });
    let report = tags_of(&spans, Selection::default());
    assert_eq!((report.slow, report.others), (20, 180));
    assert!(names(&report).iter().any(|name| name.contains("far")), "{:?}", report.rows);
    // One tag alone, of a root.
    let spans = requests(120, |i, spans| {
        spans[0].zone = if i % 10 == 1 { "eu" } else { "us" };
        if i % 10 == 1 {
            delay(spans, 2, 30_000);
        }
    });
    let report = tags_of(&spans, Selection::default());
    assert_eq!(names(&report), ["zone = eu"]);
    assert_eq!((report.rows[0].slow, report.rows[0].others), (12, 0));
    // A percentile range against what lies outside it.
    let range = PercentileRange::open(50_000, 100_000);
    let of_range = tags_of(&spans, Selection { range, ..Selection::default() });
    assert_eq!(of_range.slow + of_range.others, 120);
    assert_eq!((of_range.rows[0].slow, of_range.rows[0].others), (12, 0));
    // Nothing to tell.
    let report =
        tags_of(&requests(60, |i, spans| spans[0].zone = ["a", "b"][i as usize % 2]), Selection::default());
    assert_eq!(report.rows, []);
    assert!(tags_of(&requests(4, |_, _| {}), Selection::default()).rows.is_empty());
}
