//! Tests of the progress that is reported while files are read.

use super::super::tests::*;

#[test]
fn progress_is_reported_four_times_a_second_and_memory_looked_at_more_often() {
    let mut sim = Sim::new(1, 0);
    sim.add(&[jaeger(1..9, "v")], 0);
    let (mut reported_us, mut looks) = (Vec::new(), BTreeSet::new());
    for now_us in (0..40).map(|step| 1_000_000 + step * 50_000) {
        sim.pool.now_us = now_us;
        sim.pool.tell_progress();
        let reported = sim.pool.commands.drain(..);
        if reported.filter(|command| matches!(command, PoolCommand::Tell(PoolEvent::Progress(_)))).count() > 0
        {
            reported_us.push(now_us);
        }
        looks.extend(sim.pool.load.as_ref().and_then(|load| load.looked_us));
    }
    assert!(reported_us.windows(2).all(|pair| pair[1] - pair[0] == 300_000), "{reported_us:?}");
    assert_eq!((reported_us.len(), looks.len()), (7, 20));
}

#[test]
fn progress_counts_bytes_of_chunks_and_files_by_name() {
    let mut sim = Sim::new(2, 3);
    sim.limit(8 << 10, u64::MAX);
    let texts = [jaeger(1..900, "v"), jaeger(1000..1400, "v")];
    sim.load(&texts);
    sim.add(&texts, 0);
    while sim.step() {
        // So that it takes some seconds.
        sim.steps += 9;
    }
    let all: u64 = texts.iter().map(|text| text.len() as u64).sum();
    let mut seen = 0;
    for event in &sim.reported {
        if let PoolEvent::Progress(progress) = event {
            assert!(progress.bytes <= progress.total_bytes && progress.files_done <= progress.files);
            assert_eq!((progress.total_bytes, progress.files), (all, 2));
            seen += 1;
        }
    }
    assert!(seen > 1, "{seen} words on progress");
}
