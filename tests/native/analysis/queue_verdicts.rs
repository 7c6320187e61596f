//! Verdicts on requests until everything is done: queues are part of their latency.

use crate::common::generated_as;
use pathlight::engine::findings::{FindingFacts, FindingKind};
use pathlight::engine::queries::{Findings, ServiceChanges};
use pathlight::engine::requests::{Selection, Until};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::verdict::Headline;
use pathlight::generate::{Defects, GenerateOptions, QueueWait};

fn options(seed: u64) -> GenerateOptions {
    let defects = Defects { messages: true, ..Defects::default() };
    GenerateOptions { traces: 300, spans: 20, seed, defects, ..GenerateOptions::default() }
}

fn done(group: u8) -> Selection {
    Selection { group, until: Until::Done, ..Selection::default() }
}

#[test]
fn a_queue_in_which_messages_wait_longer_leads_with_its_time_on_the_path() {
    for seed in 1..=5 {
        let wait = QueueWait { queue: "events".to_owned(), share_ppm: 4_000_000 };
        let slow = GenerateOptions { queues: vec![wait], ..options(seed) };
        let sets = vec![generated_as(&options(seed), 0), generated_as(&slow, 1)];
        let mut pool = NativePool::of(sets).unwrap();
        let report = pool.run(ServiceChanges { a: done(0), b: done(1) }).unwrap();
        let Headline::Queue(queue) = report.headline() else {
            panic!("seed {seed}: {:?}", report.queues);
        };
        assert_eq!(queue.receiver.operation, "events handle", "seed {seed}");
        assert!(queue.is_in_latency && queue.is_sure());
        let [a, b] = report.mean_us;
        // The rest of both sets is alike: the queue explains the change, and where it decides later than others did these take
        // less of the way than before.
        assert!(
            queue.excess.excess_us >= 0.95 * (b - a) && b > a,
            "seed {seed}: {} of {}",
            queue.excess.excess_us,
            b - a
        );
        let findings = pool.run(Findings { selection: done(1), baseline: Some(done(0)) }).unwrap();
        assert_eq!(findings.findings[0].kind(), FindingKind::Changed, "seed {seed}");
        assert_eq!(findings.findings[0].stake_us, queue.excess.excess_us);
    }
}

#[test]
fn parts_of_the_latency_until_done_sum_to_it_and_queues_are_findings_of_one_set() {
    for seed in 1..=5 {
        let mut pool = NativePool::of(vec![generated_as(&options(seed), 0)]).unwrap();
        let report = pool.run(Findings { selection: done(0), baseline: None }).unwrap();
        let parts_us: f64 = report.services.iter().map(|part| part.own_us + part.waiting_us).sum();
        let sum_us = parts_us * report.facts.requests as f64;
        let latency_us = report.facts.latency_sum_us as f64;
        assert!((sum_us / latency_us - 1.0).abs() < 1e-9, "seed {seed}: {sum_us} of {latency_us}");
        let queues = report.findings.iter().filter(|finding| finding.kind() == FindingKind::Queue);
        let queues: Vec<_> = queues.collect();
        assert!(!queues.is_empty(), "seed {seed}");
        for finding in queues {
            let FindingFacts::Queue(facts) = &finding.facts else { continue };
            assert_eq!(facts.path_us, Some(finding.stake_us));
            // No more is on the way than is waited.
            let most_us = facts.mean_us * facts.messages as f64 / report.facts.requests as f64;
            assert!(finding.stake_us <= most_us + 1.0, "seed {seed}");
        }
    }
}

#[test]
fn sets_that_are_made_alike_name_no_queue() {
    for seed in 1..=10 {
        let sets = vec![generated_as(&options(seed), 0), generated_as(&options(seed + 100), 1)];
        let mut pool = NativePool::of(sets).unwrap();
        let report = pool.run(ServiceChanges { a: done(0), b: done(1) }).unwrap();
        let sure: Vec<_> = report.sure_queues().collect();
        assert!(sure.is_empty(), "seed {seed}: {sure:?}");
    }
}
