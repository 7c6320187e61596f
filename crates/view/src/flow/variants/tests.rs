use super::*;
use pathlight_base::statistics::Percentiles;
use pathlight_engine::flow::FlowReport;

fn call(name: &str, calls: Option<u32>) -> VariantCall {
    VariantCall { callee: Endpoint::new(name, name), calls }
}

fn variant(invocations: u64, is_error: bool, calls: &[VariantCall], p50: f64) -> FlowVariant {
    let latency_us = Percentiles { p50, ..Percentiles::default() };
    let flow = FlowReport { latency_us, ..FlowReport::default() };
    FlowVariant { invocations, is_error, calls: calls.to_vec(), deciders: Vec::new(), flow }
}

fn report() -> FlowVariantsReport {
    let (cache, db) = (call("cache", Some(1)), call("db", Some(1)));
    let mut variants = vec![
        variant(70, false, std::slice::from_ref(&cache), 4_000.0),
        variant(20, false, &[cache.clone(), db.clone()], 30_000.0),
        variant(5, true, &[cache.clone(), db], 9_000.0),
        variant(3, true, &[cache], 3_000.0),
    ];
    let decider = |call: Option<&str>, tag: Option<(&str, &str)>| Decider {
        call: call.map(|name| Endpoint::new(name, name)),
        tag: tag.map(|(key, value)| (key.to_owned(), value.to_owned())),
        here: 20,
        of_here: 20,
        elsewhere: 5,
        of_elsewhere: 80,
    };
    variants[1].deciders = vec![decider(Some("cache"), Some(("hit", "false")))];
    variants[2].deciders = vec![decider(Some("db"), None), decider(None, Some(("code", "500")))];
    let parent = Endpoint::new("shop", "GET /item");
    FlowVariantsReport { parent, invocations: 100, variants, others: 1, other_invocations: 2 }
}

#[test]
fn variants_are_named_by_what_is_not_as_in_the_most_common_one() {
    let report = report();
    let words: Vec<String> = (0..4).map(|at| calls_words(&report, at)).collect();
    assert_eq!(words, ["cache", "with db", "in error, with db", "in error, the same calls"]);
    let decided: Vec<String> = report.variants.iter().map(decided_by).collect();
    let shares = "(100.0\u{202f}% here, 6.2\u{202f}% elsewhere)";
    assert_eq!(decided[1], format!("hit=false of cache {shares}"));
    assert_eq!(decided[2], format!("db fails {shares}; code=500 {shares}"));
    assert_eq!((decided[0].as_str(), decided[3].as_str()), ("", ""));
    assert_eq!(variant_words(&report, 1), "with db; hit=false of cache");
    assert_eq!(variant_words(&report, 0), "cache");
}

#[test]
fn a_sentence_says_how_many_there_are_and_which_is_the_slowest() {
    assert_eq!(
        headline(&report()).to_text(),
        "The 100 invocations of GET /item @ shop come in 5 variants. The most common one, 70.0\u{202f}%, takes \
         4.00\u{202f}ms in the median; the slowest, 20.0\u{202f}% (with db), takes 30.0\u{202f}ms. 1 variant of 2 invocations is not \
         listed."
    );
    let one = FlowVariantsReport { variants: report().variants[..1].to_vec(), others: 0, ..report() };
    assert!(headline(&one).to_text().ends_with(" all make the same calls."));
    assert_eq!(headline(&FlowVariantsReport::default()).to_text(), "There is no invocation here.");
}

#[test]
fn lines_lead_to_the_call_that_decides() {
    let report = Rc::new(report());
    let lines = VariantLine::of(&report);
    let calls: Vec<_> = lines.iter().map(|line| line.call().map(|call| call.operation.as_str())).collect();
    assert_eq!(calls, [None, Some("cache"), Some("db"), None]);
}
