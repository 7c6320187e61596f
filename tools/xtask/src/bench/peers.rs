//! Other tools on the same bytes, where `PEERS` names a folder with checkouts of them.

use std::path::Path;

use super::report::{Report, Row};
use super::sets::Sets;
use super::{ROUNDS, median, release_binary};
use crate::{Outcome, sh};

/// Times the tools that are there; says so where none is.
pub fn run(sets: &Sets, report: &mut Report) -> Outcome {
    let Some(peers) = std::env::var_os("PEERS") else {
        eprintln!("PEERS names no folder with checkouts (CRISP): other tools are not timed.");
        return Ok(());
    };
    crisp(&Path::new(&peers).join("CRISP"), sets, report)
}

/// Times CRISP's Python: one file a trace, one process.
fn crisp(checkout: &Path, sets: &Sets, report: &mut Report) -> Outcome {
    if !checkout.join("process.py").is_file() {
        eprintln!("There is no CRISP with a process.py in {}.", checkout.display());
        return Ok(());
    }
    let traces = sets.folder.join("small");
    let (mut bytes, mut files) = (0, 0);
    for entry in sh::on(&traces, std::fs::read_dir(&traces))?.flatten() {
        bytes += entry.metadata().map_or(0, |facts| facts.len());
        files += 1;
    }
    let out = sets.folder.join("crisp");
    sh::on(&out, std::fs::create_dir_all(&out))?;
    let mut peer = sh::command("python3");
    peer.current_dir(checkout)
        .arg("process.py")
        .args(["--operationName", "GET /product/{id}", "--serviceName", "edge-gateway"])
        .args(["--parallelism", "1", "-t"])
        .arg(&traces)
        .arg("-o")
        .arg(&out);
    let binary = release_binary()?;
    let report_file = sets.folder.join("critical-path.json");
    let mut ours = sh::command(binary);
    ours.args(["critical-path", "--threads", "1", "--json", "--out"]).arg(&report_file).arg(&traces);
    // By turns.
    let (mut peers, mut our) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        peers.push(processor_s(|| sh::run(&mut peer))?);
        our.push(processor_s(|| sh::run(&mut ours))?);
    }
    let [peer_s, ours_s] = [peers, our].map(median);
    let group = "Other tools";
    let mut put = |what: &str, value: f64, unit: &str, budget: &str| {
        report.add(Row::new(group, what, value, unit, budget))
    };
    let megabytes = bytes as f64 / 1e6;
    let rate = format!("{files} files, one process, bytes by processor time");
    put(&format!("CRISP (Python), {rate}"), megabytes / peer_s, "MB/s", "");
    put(&format!("Pathlight, {rate}"), megabytes / ours_s, "MB/s", "");
    put("Pathlight against CRISP, processor time", peer_s / ours_s, "times", "> 30");
    Ok(())
}

/// Runs a process to its end; returns the seconds of the processor that it took.
pub fn processor_s(run: impl FnOnce() -> Outcome) -> Outcome<f64> {
    let before = children_s()?;
    run()?;
    Ok(children_s()? - before)
}

/// Returns the seconds of the processor that ended children of this process took; Linux counts them in hundredths.
fn children_s() -> Outcome<f64> {
    let path = Path::new("/proc/self/stat");
    let text = sh::on(path, std::fs::read_to_string(path))?;
    let after_name = text.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(13).take(2).filter_map(|field| field.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_child_is_counted() {
        let mut busy = sh::command("sh");
        let seconds =
            processor_s(|| sh::run(busy.args(["-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"])))
                .unwrap();
        assert!(seconds > 0.0);
    }
}
