use crate::EngineError;
use crate::endpoints::impact_query::Impact;
use crate::flame::histograms_query::Histograms;
use crate::flame::query::CriticalPath;
use crate::requests::query::Range;
use crate::requests::{Filter, PercentileRange, RangeFacts, Selection};
use crate::requests_list::query::Requests;
use crate::run::cuts::{CUTS_KEPT, LATENCIES_KEPT};
use crate::run::native::NativePool;
use crate::run::partials::{opened, parts};
use crate::run::pass::{NamedPass, Pass};
use crate::run::query::Query;
use crate::run::{Cuts, Plan, PlanStep, Session};
use pathlight_base::encoding;
use pathlight_base::statistics::Random;
use pathlight_trace::{Flags, RawSpan, SpanId, TagSetId, TraceId, TraceSet};

const TAIL: PercentileRange = PercentileRange::open(50_000, 100_000);

fn tail() -> Selection {
    Selection::default().with_range(TAIL)
}

/// The requests from this one on.
fn from(number: u64) -> Selection {
    let filters = vec![Filter::Time { from_us: 1000 * number, to_us: u64::MAX }];
    Selection { filters, ..Selection::default() }
}

/// Adds requests of one span each; two of each latency, so that the range ends between ties.
fn add(set: &mut TraceSet, numbers: std::ops::Range<u64>) -> Result<(), EngineError> {
    for number in numbers {
        let span = RawSpan {
            id: SpanId::hex(1),
            parent: SpanId::hex(0),
            start_us: 1000 * number,
            duration_us: 10 * (number / 2 + 1),
            operation: set.names.intern("get"),
            process: set.process("shop", "", TagSetId::EMPTY),
            tags: TagSetId::EMPTY,
            flags: Flags::default(),
        };
        set.stage(TraceId::hex(u128::from(number) + 1), span)?;
    }
    Ok(set.seal()?)
}

fn session() -> Result<Session, EngineError> {
    let mut set = TraceSet::new();
    add(&mut set, 0..10)?;
    Ok(Session::of(set))
}

/// Runs a plan; returns its report and how many passes looked for a cut.
fn run<R>(mut plan: Plan<R>, session: &mut Session) -> Result<(R, usize), EngineError> {
    let (mut partials, mut cutting) = (Vec::new(), 0);
    loop {
        partials = match plan.next(partials)? {
            PlanStep::Pass(pass) => {
                let message = [opened(&pass)?];
                for pass in parts(&message)? {
                    let read: NamedPass = encoding::read(pass)?;
                    cutting += usize::from(matches!(read.pass, Pass::Latencies { .. } | Pass::Ties { .. }));
                }
                vec![session.run_pass(&pass)?]
            }
            PlanStep::Working(_) => Vec::new(),
            PlanStep::Waiting => return Err(EngineError::Ended),
            PlanStep::Done(report) => return Ok((report, cutting)),
        };
    }
}

#[test]
fn a_cut_is_computed_once_for_all_queries_of_a_selection() -> Result<(), EngineError> {
    let (mut session, cuts) = (session()?, Cuts::default());
    let (report, passes) = run(Plan::new(Range { selection: tail() }, &cuts), &mut session)?;
    assert_eq!((report.facts.requests, passes), (5, 2), "latencies, then ties");
    let (path, passes) = run(Plan::new(CriticalPath { selection: tail() }, &cuts), &mut session)?;
    assert_eq!((path.facts, passes), (report.facts.clone(), 0));
    let (_, passes) = run(Plan::new(Histograms { selection: tail() }, &cuts), &mut session)?;
    assert_eq!(passes, 0);
    let (_, passes) = run(Plan::new(Range { selection: Selection::default() }, &cuts), &mut session)?;
    assert_eq!(passes, 0, "another range of the same latencies; all of it has no ties");
    let (of_half, passes) = run(Plan::new(Range { selection: from(5) }, &cuts), &mut session)?;
    assert_eq!((of_half.facts.requests, passes), (5, 1), "other requests");
    Ok(())
}

#[test]
fn a_known_cut_changes_no_report() -> Result<(), EngineError> {
    fn check<Q: Query>(query: Q) -> Result<(), EngineError> {
        let (mut session, cuts) = (session()?, Cuts::default());
        let (first, passes) = run(Plan::new(query.clone(), &cuts), &mut session)?;
        assert!(passes > 0);
        let (second, passes) = run(Plan::new(query.clone(), &cuts), &mut session)?;
        assert_eq!((second, passes), (first.clone(), 0));
        assert_eq!(session.run(query)?, first);
        Ok(())
    }
    check(Range { selection: tail() })?;
    check(CriticalPath { selection: tail() })?;
    check(Impact { selection: tail() })?;
    check(Histograms { selection: Selection::default() })
}

#[test]
fn a_session_forgets_cuts_when_its_data_changes() -> Result<(), EngineError> {
    let mut session = session()?;
    assert_eq!(session.run(Range { selection: tail() })?.facts.requests, 5);
    add(&mut session.set, 10..20)?;
    session.invalidate();
    assert_eq!(session.run(Range { selection: tail() })?.facts.requests, 10);
    Ok(())
}

#[test]
fn a_plan_waits_for_the_cut_of_another_and_takes_its_place_if_that_ends() -> Result<(), EngineError> {
    let (mut session, cuts) = (session()?, Cuts::default());
    let mut first = Plan::new(Range { selection: tail() }, &cuts);
    let PlanStep::Pass(pass) = first.next(Vec::new())? else { return Err(EngineError::Ended) };
    let mut second = Plan::new(Histograms { selection: tail() }, &cuts);
    assert!(matches!(second.next(Vec::new())?, PlanStep::Waiting));
    let ties = first.next(vec![session.run_pass(&pass)?])?;
    assert!(matches!(ties, PlanStep::Pass(_)));
    assert!(matches!(second.next(Vec::new())?, PlanStep::Waiting));
    drop(first);
    let (report, passes) = run(second, &mut session)?;
    assert_eq!((report.facts.requests, passes), (5, 2));
    let third = Plan::new(Impact { selection: tail() }, &cuts);
    assert_eq!(run(third, &mut session)?.1, 0);
    Ok(())
}

#[test]
fn a_plan_waits_for_names_that_another_finds_out() -> Result<(), EngineError> {
    let (mut session, cuts) = (session()?, Cuts::default());
    let mut first = Plan::new(Range { selection: tail() }, &cuts);
    // Its requests are others, the names are the same.
    let mut second = Plan::new(Range { selection: from(5) }, &cuts);
    let mut partials = Vec::new();
    // Places, then types.
    for _ in 0..2 {
        let PlanStep::Pass(pass) = first.next(partials)? else { return Err(EngineError::Ended) };
        assert!(matches!(second.next(Vec::new())?, PlanStep::Waiting));
        partials = vec![session.run_pass(&pass)?];
    }
    assert!(matches!(first.next(partials)?, PlanStep::Pass(_)));
    let PlanStep::Pass(pass) = second.next(Vec::new())? else { return Err(EngineError::Ended) };
    let message = [opened(&pass)?];
    let own: NamedPass = encoding::read(parts(&message)?[0])?;
    assert!(matches!(own.pass, Pass::Latencies { .. }));
    Ok(())
}

#[test]
fn not_more_than_a_few_cuts_are_kept() -> Result<(), EngineError> {
    let (mut session, cuts) = (session()?, Cuts::default());
    let of = |number: u64| Range { selection: from(number).with_range(TAIL) };
    let last = 3 * CUTS_KEPT as u64;
    for number in 1..=last {
        run(Plan::new(of(number), &cuts), &mut session)?;
    }
    assert_eq!((cuts.ranges.list().len(), cuts.latencies.list().len()), (CUTS_KEPT, LATENCIES_KEPT));
    assert_eq!(run(Plan::new(of(last), &cuts), &mut session)?.1, 0);
    assert!(run(Plan::new(of(1), &cuts), &mut session)?.1 > 0);
    Ok(())
}

#[test]
fn a_plan_of_a_message_gives_the_report_as_bytes() -> Result<(), EngineError> {
    let mut session = session()?;
    let query = CriticalPath { selection: tail() };
    let plan = Plan::of_message(&query.to_message(), &Cuts::default())?;
    let (bytes, _) = run(plan, &mut session)?;
    assert_eq!(CriticalPath::read_report(&bytes)?, session.run(query)?);
    assert!(Plan::of_message(&[], &Cuts::default()).is_err());
    assert!(Plan::of_message(&[255], &Cuts::default()).is_err());
    Ok(())
}

/// Adds requests of one span each, as (trace, latency, weight).
fn add_sampled(set: &mut TraceSet, requests: &[(u64, u64, u64)]) -> Result<(), EngineError> {
    for &(trace, latency_us, weight) in requests {
        set.tags.begin();
        set.tags.add("SampleRate", &weight.to_string());
        let span = RawSpan {
            id: SpanId::hex(1),
            parent: SpanId::hex(0),
            start_us: 1000 * trace,
            duration_us: latency_us,
            operation: set.names.intern("get"),
            process: set.process("shop", "", TagSetId::EMPTY),
            tags: set.tags.finish(),
            flags: Flags::default(),
        };
        set.stage(TraceId::hex(u128::from(trace) + 1), span)?;
    }
    Ok(set.seal()?)
}

#[test]
fn percentile_ranges_of_sampled_requests_go_by_weight() -> Result<(), EngineError> {
    let mut random = Random::new(4, 0, 0);
    for _ in 0..60 {
        // Few latencies, so that ranges end among equal ones.
        let mut requests: Vec<(u64, u64, u64)> = (0..2 + random.below(30))
            .map(|trace| (trace, 10 * (1 + random.below(5)), 1 + random.below(9)))
            .collect();
        let lo = random.below(100_000) as u32;
        let hi = lo + 1 + random.below(100_000 - u64::from(lo)) as u32;
        let range = PercentileRange::open(lo, hi);
        let selection = Selection { over_all: true, ..Selection::default() }.with_range(range);
        // Split among workers, of which the last may have no weight at all.
        let workers = 1 + random.below(3) as usize;
        let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
        for &request in &requests {
            add_sampled(&mut sets[random.below(workers as u64) as usize], &[request])?;
        }
        let mut pool = NativePool::of(sets)?;
        let facts = pool.run(Range { selection: selection.clone() })?.facts;
        let listed = pool.run(Requests { selection: selection.clone(), limit: 100 })?;
        let mut found: Vec<u64> = listed.rows.iter().map(|row| row.start_us / 1000).collect();
        found.sort_unstable();
        // Each request so many times, in order; those whose middle lies inside.
        requests.sort_by_key(|&(trace, latency_us, _)| (latency_us, trace));
        let whole: u64 = requests.iter().map(|request| request.2).sum();
        let mut before = 0;
        let mut wanted: Vec<u64> = Vec::new();
        let mut nearest = None;
        for &(trace, _, weight) in &requests {
            let place = 100_000 * (2 * before + weight);
            before += weight;
            if nearest.is_none() && place >= 2 * whole * u64::from(lo) {
                nearest = Some(trace);
            }
            let bounds = 2 * whole * u64::from(lo)..2 * whole * u64::from(hi);
            wanted.extend(Some(trace).filter(|_| range.is_all() || bounds.contains(&place)));
        }
        if wanted.is_empty() {
            wanted.push(nearest.unwrap_or(requests[requests.len() - 1].0));
        }
        wanted.sort_unstable();
        assert_eq!(found, wanted, "{range:?} {requests:?}");
        assert_eq!(facts.requests, wanted.len() as u64);
        let inside: Vec<_> = requests.iter().filter(|request| wanted.contains(&request.0)).collect();
        let weight: u64 = inside.iter().map(|request| request.2).sum();
        if requests.iter().all(|request| request.2 == 1) {
            assert_eq!(facts.weighted, None);
            continue;
        }
        let Some(weighted) = &facts.weighted else { panic!("no weights: {requests:?}") };
        assert_eq!((weighted.inside.requests(), weighted.all.requests()), (weight as f64, whole as f64));
        let sum_us: u64 = inside.iter().map(|request| request.1 * request.2).sum();
        assert_eq!((weighted.is_applied, facts.latency_sum_us), (true, u128::from(sum_us)));
        // Switched off it is as if no trace said anything.
        let off = Selection { unweighted: true, ..selection.clone() };
        let mut plain = TraceSet::new();
        let ones: Vec<_> = requests.iter().map(|&(trace, us, _)| (trace, us, 1)).collect();
        add_sampled(&mut plain, &ones)?;
        let plain = NativePool::of(vec![plain])?.run(Range { selection })?.facts;
        let off = pool.run(Range { selection: off })?.facts;
        assert_eq!(off.weighted.as_ref().map(|weighted| weighted.is_off), Some(true));
        assert_eq!(RangeFacts { weighted: None, ..off }, plain);
    }
    Ok(())
}
