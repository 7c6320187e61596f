use super::sim::Sim;
use super::texts;
use crate::queries;
use crate::requests::{PercentileRange, Selection};
use crate::run::query::Query as _;

/// Returns how many messages a comparison takes, of a pool that knows nothing of its traces but what these queries asked.
fn messages_of_compare(workers: usize, before: &[Vec<u8>], range: PercentileRange) -> u64 {
    let mut sim = Sim::new(workers, 7);
    sim.load(&texts());
    sim.add(&texts()[..2], 1);
    sim.run_until_idle();
    sim.answers_to(before);
    let side = |group| Selection { group, ..Selection::default() }.with_range(range);
    let from = sim.messages;
    sim.answers_to(&[queries::Compare { a: side(0), b: side(1) }.to_message()]);
    sim.messages - from
}

/// Each step of the plan is a message to and from each worker, one from the worker that runs the plan, and one back; the
/// query, its report and the end of the plan are three.
#[test]
fn both_sides_of_a_comparison_are_looked_at_in_the_same_passes() {
    let overview = [queries::Overview::default().to_message()];
    let tail = PercentileRange::open(50_000, 100_000);
    for workers in [2, 8] {
        let of_passes = |passes| passes * (2 * workers as u64 + 2) + 3;
        // Latencies, frames and services. The page has asked for an overview before.
        assert_eq!(messages_of_compare(workers, &overview, PercentileRange::ALL), of_passes(1));
        // Names of places before them, then types, which have these names.
        assert_eq!(messages_of_compare(workers, &[], PercentileRange::ALL), of_passes(3));
        // Latencies come before frames and services, and requests of equal latency at the ends of the range are ordered by
        // their ids.
        assert!(messages_of_compare(workers, &overview, tail) <= of_passes(3));
    }
}
