//! Tests of the cause that is found when a worker dies: a file or a query.

use super::super::tests::*;

#[test]
fn a_file_is_not_left_out_for_what_a_query_did() {
    let mut sim = Sim::new(1, 0);
    sim.add(&[jaeger(1..20, "v")], 0);
    let mut number = 0;
    for message in messages().iter().take(3) {
        while sim.pool.load.as_ref().is_none_or(|load| load.batches.is_empty()) || sim.pool.failed_starts > 0
        {
            assert!(sim.step());
        }
        sim.step();
        number += 1;
        sim.query(number, message);
        sim.kill(0);
        assert_eq!(sim.answers[&number], Err(QueryError::WorkerLost));
        // Asked again while the file is read, it waits.
        number += 1;
        sim.query(number, message);
        assert!(!sim.pool.queries[&number].has_begun);
    }
    sim.run_until_idle();
    let outcome = sim.outcome();
    assert_eq!((outcome.reports.len(), outcome.errors.len()), (1, 0), "{:?}", outcome.errors);
    assert_eq!(sim.traces(0), 19);
    assert!([2, 4, 6].iter().all(|number| sim.answers[number].is_ok()));
}

#[test]
fn a_query_that_ran_beside_one_that_kills_workers_is_answered() {
    let (kills, innocent) = (&messages()[0], &messages()[1]);
    let mut sim = Sim::new(2, 0);
    sim.load(&texts());
    sim.query(1, kills);
    sim.query(2, innocent);
    sim.kill(0);
    assert!([1, 2].iter().all(|number| sim.answers[number] == Err(QueryError::WorkerLost)));
    sim.run_until_idle();
    // Both are asked again: now one after the other, so that the next death is over one of them.
    sim.query(3, kills);
    sim.query(4, innocent);
    sim.kill(0);
    assert_eq!(sim.answers.remove(&3), Some(Err(QueryError::WorkerLost)));
    sim.run_until_idle();
    assert!(sim.answers[&4].is_ok());
    sim.query(5, kills);
    sim.query(6, innocent);
    sim.run_until_idle();
    assert!(matches!(sim.answers[&5], Err(QueryError::Failed(_))));
    assert!(sim.answers[&6].is_ok());
}

#[test]
fn a_query_that_kills_two_workers_is_not_asked_again() {
    let mut sim = Sim::new(2, 0);
    sim.load(&texts());
    for number in 1..3 {
        sim.query(number, &messages()[0]);
        sim.kill(0);
        assert_eq!(sim.answers.remove(&number), Some(Err(QueryError::WorkerLost)));
        sim.run_until_idle();
    }
    sim.query(3, &messages()[0]);
    assert!(matches!(sim.answers.remove(&3), Some(Err(QueryError::Failed(_)))));
    sim.query(4, &messages()[1]);
    sim.run_until_idle();
    assert!(sim.answers.remove(&4).unwrap().is_ok());
}

#[test]
fn a_query_that_was_answered_meanwhile_is_not_blamed_for_workers_that_end() {
    let mut sim = Sim::new(2, 3);
    sim.load(&texts());
    let message = queries::CriticalPath { selection: Selection::default() }.to_message();
    for round in 0..4u64 {
        sim.query(2 * round, &message);
        sim.kill(0);
        sim.run_until_idle();
        assert!(matches!(sim.answers[&(2 * round)], Err(QueryError::WorkerLost)), "round {round}");
        sim.query(2 * round + 1, &message);
        sim.run_until_idle();
        assert!(sim.answers[&(2 * round + 1)].is_ok(), "round {round}: {:?}", sim.answers[&(2 * round + 1)]);
    }
}
