//! Plans against a Jaeger of a few lines.

use crate::plan::*;
use crate::{Lost, Scan, ServerAnswer};

/// A Jaeger with traces at these microseconds, each with its number as id.
struct Jaeger {
    starts_us: Vec<u64>,
    dialect: Dialect,
    /// Answers these instead, one a request.
    first: VecDeque<Reply>,
    /// Every address asked.
    log: Vec<String>,
}

fn reply(status: u16, body: &str) -> Reply {
    let mut scan = Scan::default();
    scan.feed(body.as_bytes());
    Reply::Answer(ServerAnswer { status, retry_after_s: None, body: scan })
}

fn number(url: &str, key: &str) -> Option<u64> {
    url.split(['?', '&']).find_map(|pair| pair.strip_prefix(key)?.strip_prefix('=')?.parse().ok())
}

impl Jaeger {
    fn new(starts_us: impl IntoIterator<Item = u64>) -> Jaeger {
        let starts_us = starts_us.into_iter().collect();
        Jaeger { starts_us, dialect: Dialect::V1, first: VecDeque::new(), log: Vec::new() }
    }

    fn answer(&mut self, url: &str) -> Reply {
        self.log.push(url.to_owned());
        if let Some(reply) = self.first.pop_front() {
            return reply;
        }
        let known = match self.dialect {
            Dialect::V1 => url.starts_with("/j/api/traces"),
            Dialect::V3 => url.starts_with("/j/api/v3/traces?query.service_name="),
            Dialect::V3Camel => url.starts_with("/j/api/v3/traces?query.serviceName="),
            Dialect::Tempo => url.starts_with("/j/api/search?") || url.starts_with("/j/api/traces/"),
        };
        if !known {
            let old = "<html><div id=\"jaeger-ui-root\"></div></html>";
            return if url.contains("/v3/") && self.dialect == Dialect::V3Camel {
                reply(400, r#"{"error":{"httpCode":400,"message":"query.startTimeMin is required"}}"#)
            } else {
                reply(200, old)
            };
        }
        if let (Dialect::Tempo, Some(id)) = (self.dialect, url.strip_prefix("/j/api/traces/")) {
            // In base64, as Tempo writes ids into traces.
            let body = r#"{"batches":[{"scopeSpans":[{"spans":[{"traceId":"AAA=="}]}]}]}"#;
            return if id.ends_with("13") { reply(404, "trace not found") } else { reply(200, body) };
        }
        if let Some(id) = url.strip_prefix("/j/api/traces/") {
            let at: usize = id.parse().unwrap_or(usize::MAX);
            return match self.starts_us.get(at) {
                Some(_) => reply(200, &format!(r#"{{"data":[{{"traceID":"{at}"}}]}}"#)),
                None => reply(404, r#"{"errors":[{"code":404,"msg":"trace not found"}]}"#),
            };
        }
        if self.dialect == Dialect::Tempo {
            let (from, to) = (number(url, "start").unwrap_or(0), number(url, "end").unwrap_or(u64::MAX));
            let limit = number(url, "limit").unwrap_or(20) as usize;
            let fits = |us: &u64| (from * 1_000_000..=to * 1_000_000).contains(us);
            let found = (0..self.starts_us.len()).rev().filter(|at| fits(&self.starts_us[*at]));
            let traces: Vec<String> =
                found.take(limit).map(|at| format!(r#"{{"traceID":"{at}"}}"#)).collect();
            return reply(200, &format!(r#"{{"traces":[{}],"metrics":{{}}}}"#, traces.join(",")));
        }
        if self.dialect != Dialect::V1 {
            let body = r#"{"result":{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"1"}]}]}]}}"#;
            return reply(200, body);
        }
        let (from, to) = (number(url, "start").unwrap_or(0), number(url, "end").unwrap_or(u64::MAX));
        let limit = number(url, "limit").unwrap_or(100) as usize;
        let mut found: Vec<(u64, usize)> = (0..self.starts_us.len())
            .map(|at| (self.starts_us[at], at))
            .filter(|(us, _)| (from..=to).contains(us))
            .collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        let traces: Vec<String> =
            found.iter().take(limit).map(|(_, at)| format!(r#"{{"traceID":"{at}"}}"#)).collect();
        reply(200, &format!(r#"{{"data":[{}]}}"#, traces.join(",")))
    }

    /// Drives a plan to its end; `newest_last` answers the requests under way in the opposite order. Gives the tickets
    /// delivered and the time it took.
    fn drive(&mut self, plan: &mut FetchPlan, newest_last: bool) -> (Vec<u32>, u64) {
        let (mut now_ms, mut open) = (0, VecDeque::new());
        let mut delivered = Vec::new();
        for _ in 0..100_000 {
            match plan.next(now_ms) {
                FetchStep::Ask { ticket, url } => {
                    open.push_back((ticket, url));
                    assert!(open.len() <= AT_ONCE, "{} requests at once", open.len());
                    continue;
                }
                FetchStep::End => return (delivered, now_ms),
                FetchStep::Wait { until_ms } if open.is_empty() => now_ms = until_ms.unwrap_or(now_ms),
                FetchStep::Wait { .. } => {}
            }
            let next = if newest_last { open.pop_back() } else { open.pop_front() };
            if let Some((ticket, url)) = next {
                let reply = self.answer(&url);
                plan.replied(ticket, &reply, now_ms);
                delivered.extend(std::iter::from_fn(|| plan.delivery()).map(|(ticket, _)| ticket));
            }
        }
        panic!("no end after {:?}", self.log.last());
    }
}

const HOUR_US: u64 = 3_600_000_000;

fn search(limit: u32) -> TraceSearch {
    TraceSearch {
        service: "shop".to_owned(),
        start_us: Some(HOUR_US),
        end_us: Some(2 * HOUR_US),
        limit: Some(limit),
        ..TraceSearch::default()
    }
}

fn plan(search: TraceSearch, page: u32) -> FetchPlan {
    FetchPlan::with_page("/j", &Wanted::Search(Box::new(search)), 0, page).expect("a search")
}

fn by_number(ids: &BTreeSet<String>) -> BTreeSet<u64> {
    ids.iter().filter_map(|id| u64::from_str_radix(id, 16).ok()).collect()
}

/// Returns the id that a number is read back as: its digits are taken for hexadecimal.
fn as_id(at: u64) -> u64 {
    u64::from_str_radix(&at.to_string(), 16).unwrap_or_default()
}

#[test]
fn a_small_limit_is_one_request_for_the_whole_range() {
    let mut jaeger = Jaeger::new((0..100).map(|at| HOUR_US + at));
    let mut plan = plan(search(20), 50);
    jaeger.drive(&mut plan, false);
    assert_eq!(jaeger.log.len(), 1);
    assert!(jaeger.log[0].contains("start=3600000000&end=7200000000&limit=20"), "{}", jaeger.log[0]);
    assert_eq!(by_number(&plan.known), (80..100).map(as_id).collect());
}

#[test]
fn a_crowded_slice_is_halved_until_every_trace_has_come_once() {
    // Everything lies in the last minute of the hour.
    let mut jaeger = Jaeger::new((0..1000).map(|at| 2 * HOUR_US - 60_000_000 + at * 50_000));
    let mut plan = plan(search(5000), 50);
    jaeger.drive(&mut plan, false);
    assert_eq!(plan.known.len(), 1000);
    let outcome = plan.outcome();
    assert_eq!((outcome.traces, outcome.repeated, outcome.crowded), (1000, 0, 0));
    // A binary tree over some 32 full slices, and the empty rest.
    assert!(jaeger.log.len() < 200, "{} requests", jaeger.log.len());
    assert!((plan.progress(0).share - 1.0).abs() < 1e-9);
}

#[test]
fn the_limit_gives_the_newest_whatever_answers_first() {
    let mut answers = Vec::new();
    for newest_last in [false, true] {
        let mut jaeger = Jaeger::new((0..3000).map(|at| HOUR_US + at * 1_000_000));
        let mut plan = plan(search(333), 100);
        jaeger.drive(&mut plan, newest_last);
        assert_eq!(by_number(&plan.known), (2667..3000).map(as_id).collect(), "{newest_last}");
        answers.push(plan.known.clone());
    }
    assert_eq!(answers[0], answers[1]);
}

#[test]
fn a_slice_that_cannot_be_cut_is_taken_and_counted() {
    let mut jaeger = Jaeger::new((0..200).map(|_| HOUR_US + 5));
    let mut plan = plan(search(1000), 50);
    jaeger.drive(&mut plan, false);
    assert_eq!((plan.outcome().traces, plan.outcome().crowded), (50, 1));
}

#[test]
fn every_answer_is_delivered_once_and_newest_first() {
    let mut jaeger = Jaeger::new((0..1000).map(|at| HOUR_US + at * 3_600_000));
    let mut plan = plan(search(1000), 100);
    let (delivered, _) = jaeger.drive(&mut plan, true);
    assert_eq!(delivered.iter().collect::<BTreeSet<_>>().len(), delivered.len());
    assert_eq!(plan.outcome().traces, 1000);
}

#[test]
fn the_dialect_is_found_out_with_one_request_at_a_time() {
    for (dialect, asked) in [(Dialect::V3, 2), (Dialect::V3Camel, 3)] {
        let mut jaeger = Jaeger { dialect, ..Jaeger::new([]) };
        let mut plan = plan(search(20), 50);
        jaeger.drive(&mut plan, false);
        assert_eq!((plan.outcome().traces, jaeger.log.len()), (1, asked), "{dialect:?} {:?}", jaeger.log);
        assert_eq!(plan.outcome().trouble, None);
    }
    let mut jaeger = Jaeger::new([]);
    jaeger.first = (0..4).map(|_| reply(200, "<div id=jaeger-ui-root>")).collect();
    let mut unknown = plan(search(5000), 50);
    jaeger.drive(&mut unknown, false);
    assert_eq!((unknown.outcome().trouble.clone(), jaeger.log.len()), (Some(Trouble::Html), 4));
    // What was understood before is asked first, and the others if it is not understood any more.
    for (dialect, asked) in [(Dialect::V3, 1), (Dialect::V1, 2)] {
        let mut jaeger = Jaeger { dialect, ..Jaeger::new([HOUR_US + 1]) };
        let mut plan = plan(search(20), 50).speaking(Some(Dialect::V3));
        jaeger.drive(&mut plan, false);
        assert_eq!((plan.outcome().traces, jaeger.log.len()), (1, asked), "{:?}", jaeger.log);
        assert_eq!(plan.dialect(), Some(dialect));
    }
}

#[test]
fn tempo_finds_ids_and_every_trace_is_fetched_once() {
    for newest_last in [false, true] {
        let mut jaeger =
            Jaeger { dialect: Dialect::Tempo, ..Jaeger::new((0..100).map(|at| HOUR_US + at * 30_000_000)) };
        let mut plan = plan(search(60), 20).speaking(Some(Dialect::Tempo));
        let (delivered, _) = jaeger.drive(&mut plan, newest_last);
        // The newest 60 of 100; 13 is not among them.
        assert_eq!((delivered.len(), plan.outcome().traces), (60, 60), "{newest_last}");
        assert_eq!(by_number(&plan.known), (40..100).map(as_id).collect());
        assert_eq!((plan.outcome().repeated, plan.outcome().missing.len()), (0, 0));
        assert!((plan.progress(0).share - 1.0).abs() < 1e-9);
    }
    // All of them, within one second: a slice that cannot be cut. One is gone by then.
    let mut jaeger = Jaeger { dialect: Dialect::Tempo, ..Jaeger::new((0..30).map(|at| HOUR_US + at)) };
    let mut crowded = plan(search(600), 20).speaking(Some(Dialect::Tempo));
    jaeger.drive(&mut crowded, false);
    assert_eq!((crowded.outcome().traces, crowded.outcome().crowded > 0), (19, true));
    // A trace that was found and is gone is named.
    let mut jaeger = Jaeger { dialect: Dialect::Tempo, ..Jaeger::new((0..15).map(|at| HOUR_US + at)) };
    let mut gone = plan(search(20), 50).speaking(Some(Dialect::Tempo));
    jaeger.drive(&mut gone, false);
    assert_eq!((gone.outcome().traces, gone.outcome().missing.len()), (14, 1));
    let mut none = Jaeger { dialect: Dialect::Tempo, ..Jaeger::new([]) };
    let mut empty = plan(search(20), 50).speaking(Some(Dialect::Tempo));
    none.drive(&mut empty, false);
    assert_eq!((empty.outcome().traces, empty.outcome().trouble.clone()), (0, None));
}

#[test]
fn traces_are_fetched_one_by_one_and_missing_ones_named() {
    let ids: BTreeSet<String> = ["0", "1", "9"].map(str::to_owned).into();
    let mut plan = FetchPlan::new("/j", &Wanted::Traces(ids), 0).expect("ids");
    let mut jaeger = Jaeger::new([1, 2]);
    let (delivered, _) = jaeger.drive(&mut plan, false);
    assert_eq!((delivered.len(), plan.outcome().traces), (2, 2));
    assert_eq!(plan.outcome().missing, ["9"]);
}

#[test]
fn a_failure_is_repeated_twice_and_then_named_and_may_be_retried() {
    let mut jaeger = Jaeger::new((0..100).map(|at| HOUR_US + at * 36_000_000));
    let broken = || reply(500, r#"{"errors":[{"code":500,"msg":"storage"}]}"#);
    // The first slice works, so that the dialect is known; the next six fail, once each, then all go well.
    jaeger.first = [Jaeger::new([]).answer("/j/api/traces?start=0&end=0")].into();
    jaeger.first.extend((0..6).map(|_| broken()));
    let mut fine = plan(search(600), 100);
    let (_, took_ms) = jaeger.drive(&mut fine, false);
    assert!(fine.outcome().failed.is_empty() && took_ms >= BACK_OFF_MS, "{:?}", fine.outcome());

    let mut jaeger = Jaeger::new((0..100).map(|at| HOUR_US + at * 36_000_000));
    jaeger.first = [Jaeger::new([]).answer("/j/api/traces?start=0&end=0")].into();
    jaeger.first.extend((0..15).map(|_| broken()));
    let mut part = plan(search(600), 100);
    jaeger.drive(&mut part, false);
    let says = Trouble::Says { status: 500, message: "storage".to_owned() };
    assert_eq!(part.outcome().failed.len(), 5, "{:?}", part.outcome());
    assert!(part.outcome().failed.iter().all(|(_, trouble)| *trouble == says));
    assert_eq!(part.outcome().trouble, None);
    assert!(part.retry() && part.progress(0).share < 1.0);
    jaeger.drive(&mut part, false);
    assert!(part.outcome().failed.is_empty() && !part.retry());
    assert_eq!(part.outcome().traces, 84);
}

#[test]
fn a_server_that_never_worked_ends_the_whole_fetch() {
    let mut jaeger = Jaeger::new([]);
    jaeger.first = (0..9).map(|_| Reply::Lost(Lost::Down)).collect();
    let mut down = plan(search(5000), 50);
    let (_, took_ms) = jaeger.drive(&mut down, false);
    assert_eq!((jaeger.log.len(), took_ms), (3, 3 * BACK_OFF_MS));
    assert_eq!(down.outcome().trouble, Some(Trouble::Lost(Lost::Down)));

    let mut jaeger = Jaeger::new([]);
    jaeger.first = [reply(401, "no")].into();
    let mut closed = plan(search(5000), 50);
    jaeger.drive(&mut closed, false);
    assert_eq!((jaeger.log.len(), closed.outcome().trouble.clone()), (1, Some(Trouble::Unauthorized)));
}

#[test]
fn all_wait_when_jaeger_asks_for_it() {
    let Reply::Answer(busy) = reply(429, "slow down") else { panic!("an answer") };
    let mut jaeger = Jaeger::new((0..10).map(|at| HOUR_US + at));
    jaeger.first = [Reply::Answer(ServerAnswer { retry_after_s: Some(7), ..busy.clone() })].into();
    let mut plan = plan(search(600), 100);
    let FetchStep::Ask { ticket, url } = plan.next(0) else { panic!("a request") };
    let answer = jaeger.answer(&url);
    plan.replied(ticket, &answer, 0);
    assert_eq!(plan.next(6_999), FetchStep::Wait { until_ms: Some(7_000) });
    assert_eq!(plan.progress(0).held_until_ms, Some(7_000));
    jaeger.drive(&mut plan, false);
    assert_eq!(plan.outcome().traces, 10);
    // For ever is too long.
    jaeger.first = (0..100).map(|_| Reply::Answer(busy.clone())).collect();
    let mut plan = FetchPlan::new("/j", &Wanted::Search(Box::new(search(20))), 0).expect("a search");
    jaeger.drive(&mut plan, false);
    assert_eq!(plan.outcome().trouble, Some(Trouble::Busy));
}

#[test]
fn a_search_that_makes_no_sense_is_refused_before_it_is_asked() {
    let refused = |search: TraceSearch| FetchPlan::new("/j", &Wanted::Search(Box::new(search)), 0).err();
    assert_eq!(refused(TraceSearch::default()), Some(Trouble::NoService));
    assert_eq!(refused(TraceSearch { start_us: Some(3 * HOUR_US), ..search(1) }), Some(Trouble::Range));
    let wrong = TraceSearch { max_duration: "5".to_owned(), ..search(1) };
    assert_eq!(refused(wrong), Some(Trouble::Duration("5".to_owned())));
    assert_eq!(
        refused(TraceSearch { tags: "a=b".to_owned(), ..search(1) }),
        Some(Trouble::Tags("a=b".to_owned()))
    );
}

#[test]
fn what_is_no_id_is_refused_and_all_services_are_searched_by_who_can() {
    let ids: BTreeSet<String> = ["ab".to_owned(), "zzz".to_owned()].into();
    let refused = FetchPlan::new("/j", &Wanted::Traces(ids), 0).err();
    assert_eq!(refused, Some(Trouble::Id("zzz".to_owned())));
    let all = || TraceSearch { service: TraceSearch::ALL.to_owned(), ..search(20) };
    let needs = || reply(400, r#"{"errors":[{"code":400,"msg":"parameter 'service' is required"}]}"#);
    let found = reply(200, r#"{"result":{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"1"}]}]}]}}"#);
    // The first dialect cannot, so the next is asked; it is not what this Jaeger is to be asked in from now on.
    let mut jaeger = Jaeger::new([]);
    jaeger.first = [needs(), found.clone()].into();
    let mut both = plan(all(), 50);
    jaeger.drive(&mut both, false);
    assert_eq!((both.outcome().traces, both.dialect()), (1, None), "{:?}", jaeger.log);
    jaeger.first = [reply(404, "404 page not found"), found].into();
    let mut newer = plan(all(), 50);
    jaeger.drive(&mut newer, false);
    assert_eq!((newer.outcome().traces, newer.dialect()), (1, Some(Dialect::V3)));
    // Nobody else is there.
    jaeger.first =
        std::iter::once(needs()).chain((0..3).map(|_| reply(200, "<div id=jaeger-ui-root>"))).collect();
    let mut none = plan(all(), 50);
    jaeger.drive(&mut none, false);
    assert_eq!(none.outcome().trouble, Some(Trouble::NoService));
}

#[test]
fn without_times_the_last_hour_is_meant() {
    let wanted =
        Wanted::Search(Box::new(TraceSearch { service: "shop".to_owned(), ..TraceSearch::default() }));
    let mut plan = FetchPlan::with_page("/j", &wanted, 2 * HOUR_US, 1000).expect("a search");
    let FetchStep::Ask { url, .. } = plan.next(0) else { panic!("a request") };
    assert_eq!(url, "/j/api/traces?service=shop&start=3600000000&end=7200000000&limit=1000");
}
