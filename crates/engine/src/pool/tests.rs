//! Loads, queries and deaths of a pool with simulated workers.
#![allow(clippy::unwrap_used, reason = "tests")]

mod compare;
mod deaths;
mod every_query;
mod progress;
mod sim;

use super::messages::FromWorker;
use crate::load::tests::{huge, jaeger, tricky};
use crate::pool::*;
use crate::queries;
use crate::requests::{Filter, GroupBy, PercentileRange, Selection};
use crate::run::query::Query as _;
use crate::split::SplitOf;
use pathlight_ingest::KeptTraces;
use sim::{Sim, messages};
use std::collections::BTreeSet;

/// Returns some small files and two large ones.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = (0..8).map(|file| jaeger(1000 + 10 * file..1005 + 10 * file, "v")).collect();
    texts.extend([jaeger(1..100, "v"), jaeger(200..330, "v")]);
    texts
}

/// Returns files that each hold one span of every trace.
fn fragments() -> Vec<String> {
    let file = |at: u32| {
        let traces: Vec<String> = (1..40)
            .map(|id| {
                let reference = format!(r#"{{"refType":"CHILD_OF","traceID":"{id:x}","spanID":"{at:x}"}}"#);
                let references = if at == 0 { String::new() } else { reference };
                format!(
                    r#"{{"traceID":"{id:x}","spans":[{{"traceID":"{id:x}","spanID":"{:x}","operationName":"op{at}","references":[{references}],"startTime":{},"duration":{},"tags":[],"logs":[],"processID":"p"}}],"processes":{{"p":{{"serviceName":"s","tags":[]}}}}}}"#,
                    at + 1,
                    1_000_000 + at,
                    1000 * id - 2 * at
                )
            })
            .collect();
        // Large enough to be a batch of its own.
        format!("{{\"data\":[{}]}}{}", traces.join(","), " ".repeat(300 << 10))
    };
    (0..4).map(file).collect()
}

#[test]
fn many_workers_give_the_same_reports_as_one_in_whatever_order_they_answer() {
    let mut one = Sim::new(1, 0);
    let outcome = one.load(&texts());
    assert_eq!((outcome.reports.len(), outcome.errors.len(), outcome.cancelled), (10, 0, false));
    assert_eq!(outcome.reports[9].name, "file 9");
    assert_eq!(one.traces(0), 269);
    let expected = one.reports();
    for (workers, seed) in [(2, 1), (3, 2), (3, 3), (5, 4)] {
        let mut many = Sim::new(workers, seed);
        assert_eq!(many.load(&texts()), outcome, "{workers} workers");
        assert!(many.starts as usize == workers, "not all workers were used");
        assert!(many.reports() == expected, "{workers} workers");
    }
}

#[test]
fn a_large_file_in_chunks_gives_what_one_reader_gives() {
    let mut one = Sim::new(1, 0);
    let texts = [jaeger(1..200, "v")];
    let (outcome, expected) = (one.load(&texts), one.reports());
    let mut many = Sim::new(3, 5);
    many.limit(8 << 10, u64::MAX);
    assert_eq!(many.load(&texts), outcome);
    assert_eq!(many.starts, 3, "the file was not split");
    assert!(many.reports() == expected);
}

#[test]
fn a_huge_trace_is_read_by_one_of_many_workers_with_the_same_result() {
    // In the second, processes are lacking: the account says so, with the place.
    for texts in [[huge(600)], [huge(600).replace("\"p3\":", "\"p9\":")]] {
        let mut one = Sim::new(1, 0);
        let (outcome, expected) = (one.load(&texts), one.reports());
        assert_eq!((outcome.reports[0].traces, outcome.reports[0].spans), (45, 732));
        one.load(&texts);
        let twice = one.reports();
        for (workers, seed) in [(2, 1), (3, 2), (3, 9)] {
            let mut many = Sim::new(workers, seed);
            many.limit(8 << 10, u64::MAX);
            assert_eq!(many.load(&texts), outcome, "{workers} workers");
            assert!(many.starts > 1, "the file was not split");
            assert!(!many.pool.has_moved_traces, "{workers} workers");
            assert!(many.reports() == expected, "{workers} workers");
            // The same file once more: its spans are there already.
            many.load(&texts);
            assert!(many.reports() == twice, "{workers} workers, twice");
        }
    }
}

#[test]
fn of_a_huge_trace_that_is_not_read_to_its_end_nothing_stays() {
    for steps in 0..80 {
        let mut sim = Sim::new(2, 11);
        sim.limit(8 << 10, u64::MAX);
        sim.add(&[huge(600)], 0);
        (0..steps).for_each(|_| {
            sim.step();
        });
        sim.handle(PoolInput::CancelLoad { keep: true });
        sim.run_until_idle();
        let spans: u64 = sim.outcome().reports.iter().map(|report| report.spans).sum();
        let held = sim.spans();
        assert!(held == spans, "{held} spans are held and {spans} reported after {steps} steps");
        assert!(spans <= 132 || spans >= 600, "{spans} spans after {steps} steps");
    }
}

#[test]
fn a_file_that_was_split_at_a_wrong_place_is_read_again_in_one_piece() {
    let texts = [tricky(), jaeger(500..520, "v")];
    let mut one = Sim::new(1, 0);
    let (outcome, expected) = (one.load(&texts), one.reports());
    for seed in 0..4 {
        let mut many = Sim::new(3, seed);
        many.limit(8 << 10, u64::MAX);
        assert_eq!(many.load(&texts), outcome);
        assert!(many.starts > 3, "the workers are new");
        assert!(many.reports() == expected);
    }
}

/// Returns files of requests with ids and addresses that are too many only in all files together; every third request
/// states its route.
fn high_cardinality() -> Vec<String> {
    let trace = |id: u32| {
        let word: String = id.to_string().bytes().map(|digit| char::from(digit + 49)).collect();
        let (key, value) = match id % 3 {
            0 => ("http.route", format!("/route{}", id % 2)),
            _ => ("http.url", format!("http://shop/{word}?page=1")),
        };
        format!(
            r#"{{"traceID":"{id:x}","spans":[{{"traceID":"{id:x}","spanID":"1","operationName":"get","references":[],"startTime":{},"duration":{},"tags":[{{"key":"{key}","type":"string","value":"{value}"}},{{"key":"id","type":"string","value":"{word}"}}],"logs":[],"processID":"p"}}],"processes":{{"p":{{"serviceName":"s","tags":[]}}}}}}"#,
            1_000_000 + id,
            1000 + id,
        )
    };
    let file = |at: u32| {
        let traces: Vec<String> = (1 + 2000 * at..=2000 * (at + 1)).map(trace).collect();
        format!("{{\"data\":[{}]}}", traces.join(","))
    };
    let last = format!("{{\"data\":[{}]}}", (8001..8010).map(trace).collect::<Vec<_>>().join(","));
    (0..4).map(file).chain([last]).collect()
}

#[test]
fn keys_with_too_many_values_are_the_same_for_any_number_of_workers() {
    let by = |by| Selection { by, ..Selection::default().with_range(PercentileRange::open(95_000, 99_000)) };
    let (selection, key) = (Selection::default(), "id".to_owned());
    let filter = Filter::Tag { key: key.clone(), value: "b".to_owned() };
    let tagged = Selection { filters: vec![filter], ..selection.clone() };
    let messages = vec![
        queries::Requests { selection: by(GroupBy::Route), limit: 400 }.to_message(),
        queries::Requests { selection: by(GroupBy::Tag(key.clone())), limit: 400 }.to_message(),
        queries::Requests { selection: tagged, limit: 400 }.to_message(),
        queries::Split { selection: selection.clone(), of: SplitOf::Latency, key: key.clone(), sum: None }
            .to_message(),
        queries::TagValues { selection, key }.to_message(),
    ];
    let said = |workers: usize| {
        let mut sim = Sim::new(workers, 3);
        sim.load(&high_cardinality());
        assert_eq!(sim.starts as usize, workers);
        sim.answers_to(&messages)
    };
    let one = said(1);
    for workers in [2, 4] {
        assert!(said(workers) == one, "{workers} workers");
    }
}

#[test]
fn parts_of_one_trace_in_several_files_meet_wherever_they_were_read() {
    let mut one = Sim::new(1, 0);
    one.load(&fragments());
    let expected = one.reports();
    let mut many = Sim::new(3, 7);
    many.load(&fragments());
    assert_eq!(many.traces(0), 39);
    assert!(many.pool.has_moved_traces, "nothing had to be moved");
    assert!(many.reports() == expected);
    // A worker that holds traces of others' files cannot die alone.
    many.kill(1);
    many.run_until_idle();
    assert_eq!(many.traces(0), 39);
    assert!(many.reports() == expected);
}

#[test]
fn a_worker_may_die_at_any_time() {
    for (texts, step) in [(texts(), 1), (fragments(), 1), (vec![tricky()], 3), (vec![huge(600)], 1)] {
        let mut one = Sim::new(1, 0);
        one.load(&texts);
        let expected = one.reports();
        for death in (0..60_u64).step_by(step) {
            let slot = death as usize % 3;
            let mut sim = Sim::new(3, death + 7);
            sim.limit(8 << 10, u64::MAX);
            sim.add(&texts, 0);
            for _ in 0..death {
                sim.step();
            }
            sim.kill(slot);
            sim.run_until_idle();
            let outcome = sim.outcome();
            assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
            assert!(sim.reports() == expected, "worker {slot} died at step {death}");
        }
    }
}

#[test]
fn a_second_load_adds_and_clear_forgets() {
    let mut sim = Sim::new(2, 1);
    sim.load(&[jaeger(1..31, "v")]);
    let outcome = sim.load(&[jaeger(31..51, "v")]);
    assert_eq!((sim.traces(0), outcome.reports.len()), (50, 1));
    sim.handle(PoolInput::Clear);
    sim.files.clear();
    sim.run_until_idle();
    assert_eq!((sim.traces(0), sim.workers.len()), (0, 1));
    sim.load(&[jaeger(1..11, "v")]);
    assert_eq!(sim.traces(0), 10);
}

#[test]
fn a_group_comes_and_goes_beside_the_other() {
    let mut sim = Sim::new(2, 1);
    sim.limit(16 << 10, u64::MAX);
    sim.load(&[jaeger(1..31, "v")]);
    let alone = sim.reports();
    sim.add(&[jaeger(1..31, "v"), jaeger(31..36, "v")], 1);
    sim.run_until_idle();
    assert_eq!((sim.traces(0), sim.traces(1)), (30, 35));
    sim.handle(PoolInput::Unload { group: 1 });
    sim.add(&[jaeger(1..8, "v")], 1);
    sim.run_until_idle();
    assert_eq!((sim.traces(0), sim.traces(1)), (30, 7));
    // Whenever it is taken away again, also while it is being loaded.
    for steps in 0..60 {
        sim.add(&[jaeger(1..31, "v"), jaeger(31..36, "v"), huge(400)], 1);
        for _ in 0..steps {
            sim.step();
        }
        sim.handle(PoolInput::Unload { group: 1 });
        sim.run_until_idle();
        assert_eq!((sim.traces(0), sim.traces(1)), (30, 0), "after {steps} steps");
        assert_eq!(sim.spans(), 90, "after {steps} steps");
    }
    assert!(sim.reports() == alone);
}

#[test]
fn a_cancelled_load_keeps_what_was_read_or_leaves_what_was_there() {
    for keep in [true, false] {
        for steps in 0..40 {
            let mut sim = Sim::new(2, steps);
            sim.load(&[jaeger(1..31, "v")]);
            let before = sim.reports();
            sim.add(&texts()[2..], 0);
            for _ in 0..steps {
                sim.step();
            }
            let was_loading = sim.pool.is_loading();
            sim.handle(PoolInput::CancelLoad { keep });
            sim.run_until_idle();
            if !was_loading {
                continue;
            }
            assert!(sim.outcome().cancelled);
            if keep {
                assert!(sim.traces(0) >= 30);
            } else {
                assert!(sim.reports() == before, "cancelled after {steps} steps");
            }
        }
    }
}

#[test]
fn a_file_that_kills_its_worker_twice_is_left_out() {
    let mut sim = Sim::new(1, 0);
    sim.add(&[jaeger(1..20, "v")], 0);
    for _ in 0..2 {
        while sim.pool.load.as_ref().is_none_or(|load| load.batches.is_empty()) || sim.pool.failed_starts > 0
        {
            assert!(sim.step());
        }
        // The worker is up before it dies.
        sim.step();
        sim.kill(0);
        let is_loss =
            |event: &PoolEvent| matches!(event, PoolEvent::WorkerLost { name, .. } if name == "file 0");
        assert!(sim.reported.iter().any(is_loss), "{:?}", sim.reported);
        sim.reported.retain(|event| !is_loss(event));
    }
    sim.run_until_idle();
    let outcome = sim.outcome();
    assert_eq!((outcome.reports.len(), outcome.errors.len()), (0, 1));
    assert!(outcome.errors[0].message.contains("file 0"), "{:?}", outcome.errors);
    sim.load(&[jaeger(1..11, "v")]);
    assert_eq!(sim.traces(0), 10);
}

#[test]
fn of_a_file_that_kills_workers_in_one_place_the_rest_stays_and_the_place_is_named() {
    let mut sim = Sim::new(2, 0);
    sim.limit(4_000, u64::MAX);
    sim.add(&[jaeger(1..200, "v")], 0);
    let deadly = |sim: &Sim| {
        let load = sim.pool.load.as_ref()?;
        let files = sim.pool.planner.files();
        let is_deadly = |file: &usize| files[*file].chunk.is_some() && files[*file].range().start == 0;
        load.batches.values().find(|batch| batch.files.first().is_some_and(is_deadly)).map(|batch| batch.slot)
    };
    let mut deaths = 0;
    while deaths < 2 {
        assert!(sim.step());
        if let Some(slot) =
            deadly(&sim).filter(|&slot| sim.pool.workers[slot].as_ref().is_some_and(|w| w.is_up))
        {
            sim.kill(slot);
            deaths += 1;
        }
    }
    sim.run_until_idle();
    let outcome = sim.outcome();
    let said = &outcome.errors[0].message;
    assert!(said.starts_with("Reading bytes 0 to ") && said.contains(" of file 0 "), "{said}");
    assert!(said.contains("traces that begin there, or of which a part lies there, are left out"), "{said}");
    assert!((1..199).contains(&sim.traces(0)), "{}", sim.traces(0));
}

#[test]
fn a_worker_that_ends_without_a_word_is_noticed_and_replaced() {
    let mut one = Sim::new(1, 0);
    one.load(&texts());
    let expected = one.reports();
    // While it reads, and while it runs a query: with and without a pass of its own.
    for (is_loading, slot) in [(true, 0), (true, 1), (false, 0), (false, 2)] {
        let mut sim = Sim::new(3, 5);
        sim.add(&texts(), 0);
        let is_reading = |sim: &Sim| sim.pool.load.as_ref().is_some_and(|load| load.batches.len() > 2);
        while is_loading && !is_reading(&sim) {
            assert!(sim.step());
        }
        if !is_loading {
            sim.run_until_idle();
            sim.query(1, &messages()[0]);
        }
        sim.workers.remove(&slot).unwrap();
        while sim.step() {}
        assert!(!sim.pool.calls.is_empty(), "nobody waits for the worker of slot {slot}");
        for _ in 0..=workers::MOST_UNANSWERED {
            sim.handle(PoolInput::Tick);
            while sim.step() {}
        }
        sim.run_until_idle();
        let is_loss = |event: &&PoolEvent| matches!(event, PoolEvent::WorkerLost { reason, .. } if reason.contains("two minutes"));
        assert_eq!(sim.reported.iter().filter(is_loss).count(), 1, "{:?}", sim.reported);
        assert!(sim.reports() == expected, "slot {slot}");
    }
}

#[test]
fn workers_that_answer_are_not_taken_for_dead_however_long_they_work() {
    let mut sim = Sim::new(2, 1);
    sim.load(&texts());
    let starts = sim.starts;
    sim.query(1, &messages()[0]);
    // The page slept: many ticks at once are a few questions, and every answer counts.
    for _ in 0..5 * workers::MOST_UNANSWERED {
        sim.handle(PoolInput::Tick);
        for (slot, serial) in
            sim.workers.iter().map(|(&slot, worker)| (slot, worker.serial)).collect::<Vec<_>>()
        {
            sim.handle(PoolInput::Message { slot, serial, message: FromWorker::Pong, attachments: vec![] });
        }
    }
    sim.run_until_idle();
    assert!(sim.answers[&1].is_ok() && sim.starts == starts);
}

#[test]
fn no_call_is_lost_when_workers_end_again_and_again_while_queries_change() {
    for seed in 0..20 {
        let mut sim = Sim::new(4, seed);
        sim.load(&texts());
        for round in 0..8u64 {
            let (query, cancelled) = (2 * round + 1, 2 * round + 2);
            // Another message each time, or a query that has cost two workers is refused.
            let selection =
                Selection::default().with_range(PercentileRange::open(round as u32 * 1000, 90_000));
            let message = queries::CriticalPath { selection }.to_message();
            sim.query(query, &message);
            sim.query(cancelled, &message);
            for _ in 0..(seed + round) % 7 {
                sim.step();
            }
            sim.handle(PoolInput::Cancel(cancelled));
            sim.kill((seed + round) as usize % 4);
        }
        // Nothing is waited for in the end, which `run_until_idle` checks, and every query was answered or cancelled.
        sim.run_until_idle();
        assert!(sim.pool.queries.is_empty() && !sim.pool.is_loading(), "seed {seed}");
        assert!(
            (0..8).all(|round| sim.answers.contains_key(&(2 * round + 1))),
            "seed {seed}: {:?}",
            sim.answers.keys()
        );
    }
}

#[test]
fn workers_are_there_before_the_first_file() {
    let mut sim = Sim::new(3, 1);
    assert_eq!(sim.starts, 1);
    // The first is not up yet: perhaps none can be started here.
    sim.handle(PoolInput::WarmUp);
    assert_eq!(sim.starts, 1);
    sim.run_until_idle();
    assert_eq!(sim.starts, 3);
    // One that was given nothing is asked nothing, and not missed either.
    sim.handle(PoolInput::WarmUp);
    sim.load(&[jaeger(1..3, "v")]);
    sim.kill(2);
    assert_eq!(sim.traces(0), 2);
    assert!(
        !sim.reported.iter().any(|event| matches!(event, PoolEvent::WorkerLost { .. })),
        "{:?}",
        sim.reported
    );
    sim.load(&texts()[1..]);
    assert_eq!((sim.starts, sim.workers.len()), (4, 3));

    let mut sim = Sim::new(16, 2);
    sim.run_until_idle();
    sim.handle(PoolInput::WarmUp);
    sim.run_until_idle();
    assert_eq!(sim.starts as usize, MOST_AHEAD);

    let mut sim = Sim::new(3, 3);
    sim.events.clear();
    sim.handle(PoolInput::WarmUp);
    sim.refuses = true;
    sim.kill(0);
    sim.run_until_idle();
    let failures = sim.reported.iter().filter(|event| matches!(event, PoolEvent::Failed(_))).count();
    assert_eq!((sim.starts, failures), (1, 1), "{:?}", sim.reported);
}

#[test]
fn workers_that_never_come_up_are_given_up_after_three_attempts() {
    let mut sim = Sim::new(2, 0);
    sim.events.clear();
    sim.add(&[jaeger(1..20, "v")], 0);
    for _ in 0..100 {
        // Nobody ever says hello.
        sim.events.retain(|event| !matches!(event, PoolInput::Message { message: FromWorker::Hello, .. }));
        while let Some(event) = sim.events.pop_front() {
            sim.handle(event);
        }
        let Some(&slot) = sim.workers.keys().next() else { break };
        sim.kill(slot);
    }
    let failures = sim.reported.iter().filter(|event| matches!(event, PoolEvent::Failed(_))).count();
    assert!(
        failures >= 1 && sim.starts <= 4,
        "{failures} failures, {} starts: {:?}",
        sim.starts,
        sim.reported
    );
    assert!(!sim.pool.is_loading());
}

#[test]
fn a_browser_that_refuses_workers_is_reported_and_not_asked_for_ever() {
    let mut sim = Sim::new(2, 0);
    sim.run_until_idle();
    sim.refuses = true;
    sim.kill(0);
    sim.add(&[jaeger(1..20, "v")], 0);
    sim.run_until_idle();
    assert!(sim.reported.iter().any(|event| matches!(event, PoolEvent::Failed(_))), "{:?}", sim.reported);
    assert!(sim.outcome().reports.is_empty());
}

#[test]
fn queries_under_way_end_when_data_changes_and_later_ones_wait() {
    let mut sim = Sim::new(2, 0);
    sim.load(&texts());
    let expected = sim.reports();
    sim.query(1, &messages()[0]);
    sim.handle(PoolInput::Clear);
    assert_eq!(sim.answers.remove(&1), Some(Err(QueryError::Stale)));
    sim.files.clear();
    sim.add(&texts(), 0);
    while sim.pool.join.is_none() {
        sim.step();
    }
    sim.query(2, &messages()[0]);
    while sim.pool.join.is_some() {
        assert!(!sim.answers.contains_key(&2), "it was answered while rows moved");
        sim.step();
    }
    sim.run_until_idle();
    assert!(sim.answers.remove(&2).unwrap().unwrap() == expected[0]);
}

#[test]
fn a_query_that_nobody_waits_for_ends_everywhere() {
    let mut sim = Sim::new(2, 0);
    sim.load(&texts());
    sim.query(1, &messages()[0]);
    sim.step();
    sim.step();
    sim.handle(PoolInput::Cancel(1));
    sim.run_until_idle();
    assert!(sim.answers.is_empty() && sim.pool.queries.is_empty());
    let expected = sim.reports();
    assert_eq!(expected.len(), messages().len());
}

#[test]
fn queries_end_with_the_worker_that_runs_them_whatever_they_wait_for() {
    for steps in 0..60 {
        let mut sim = Sim::new(3, 0);
        sim.load(&texts());
        for (number, message) in (1..).zip(messages()) {
            sim.query(number, &message);
        }
        (0..steps).for_each(|_| _ = sim.step());
        sim.kill(0);
        sim.run_until_idle();
        let failed = |answer: &&Result<_, QueryError>| matches!(answer, Err(QueryError::Failed(_)));
        assert_eq!(sim.answers.values().find(failed), None, "after {steps} steps");
    }
}

#[test]
fn what_will_not_fit_is_reported_early_and_a_sample_of_it_is_kept() {
    let texts: Vec<String> = (0..40).map(|file| jaeger(1 + 1000 * file..400 + 1000 * file, "v")).collect();
    let all = {
        let mut sim = Sim::new(2, 0);
        sim.load(&texts);
        sim.pool.heap_bytes()
    };
    let short_by = |memory| {
        let mut sim = Sim::new(2, 0);
        sim.limit(1 << 30, memory);
        sim.add(&texts, 0);
        sim.run_until_idle();
        let forecast = sim.reported.iter().find_map(|event| match event {
            PoolEvent::WillNotFit(forecast) => Some(forecast.clone()),
            _ => None,
        });
        (sim, forecast.unwrap())
    };
    let short = || short_by(all / 4);
    let (mut sim, forecast) = short();
    assert!(forecast.needed > forecast.limit && forecast.bytes < forecast.total_bytes, "{forecast:?}");
    assert!(forecast.has_whole_traces && sim.pool.is_loading());
    sim.reported.clear();
    sim.handle(PoolInput::Resume(KeptTraces::Sample(forecast.sample.max(8))));
    sim.run_until_idle();
    let outcome = sim.outcome();
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    let kept = sim.traces(0);
    assert!(kept > 500 && kept < 8000, "{kept} traces were kept");

    // A worker may be full before it hears that reading stops. What it read is read again, with nothing said of it.
    for ends in [PoolInput::Resume(KeptTraces::Sample(100)), PoolInput::CancelLoad { keep: false }] {
        let (mut sim, _) = short_by(all / 20);
        sim.reported.clear();
        sim.handle(ends);
        sim.run_until_idle();
        let errors = sim.outcome().errors;
        assert!(errors.is_empty(), "{errors:?}");
    }

    let (mut sim, _) = short();
    sim.handle(PoolInput::Resume(KeptTraces::All));
    sim.run_until_idle();
    let errors = sim.outcome().errors;
    assert!(errors.iter().any(|error| error.message.starts_with("Memory ended after")), "{errors:?}");
    assert!(sim.traces(0) > 500);

    let (mut sim, _) = short();
    sim.handle(PoolInput::CancelLoad { keep: true });
    sim.run_until_idle();
    assert!(sim.outcome().cancelled && sim.traces(0) > 0);

    let (mut sim, _) = short();
    sim.handle(PoolInput::CancelLoad { keep: false });
    sim.run_until_idle();
    assert!(sim.outcome().cancelled && sim.traces(0) == 0);
}

#[test]
fn columns_are_copied_worker_by_worker_unless_something_changes() {
    let mut sim = Sim::new(2, 0);
    sim.load(&texts());
    sim.handle(PoolInput::Save { save: 1, redaction: String::new() });
    sim.run_until_idle();
    let parts = || vec![vec![0], vec![1], vec![2]];
    assert_eq!(sim.saved, [Ok(vec![parts(), parts()])]);
    for change in 0..3 {
        sim.saved.clear();
        sim.handle(PoolInput::WriteDemo { save: 3 });
        sim.run_until_idle();
        assert_eq!(sim.saved, [Ok(vec![vec![b"demo".to_vec()]])]);
        sim.saved.clear();
        sim.handle(PoolInput::Save { save: 2, redaction: String::new() });
        match change {
            0 => sim.add(&[jaeger(1..3, "w")], 0),
            1 => sim.kill(0),
            _ => sim.handle(PoolInput::Clear),
        }
        sim.run_until_idle();
        assert!(matches!(sim.saved.as_slice(), [Err(_)]), "{:?}", sim.saved);
    }
}
