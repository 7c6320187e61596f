//! Other tools on the same bytes, where `PEERS` names a folder with checkouts of them.

use std::path::Path;
use std::time::Instant;

use super::report::{Report, Row};
use super::sets::Sets;
use crate::{Outcome, sh};

/// Times the tools that are there; says so where none is.
pub fn run(sets: &Sets, report: &mut Report) -> Outcome {
    let Some(peers) = std::env::var_os("PEERS") else {
        eprintln!("PEERS names no folder with checkouts (CRISP): other tools are not timed.");
        return Ok(());
    };
    crisp(&Path::new(&peers).join("CRISP"), sets, report)
}

/// CRISP's Python: one file a trace, one process.
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
    let start = Instant::now();
    sh::run(
        sh::command("python3")
            .current_dir(checkout)
            .arg("process.py")
            .args(["--operationName", "GET /product/{id}", "--serviceName", "edge-gateway"])
            .args(["--parallelism", "1", "-t"])
            .arg(&traces)
            .arg("-o")
            .arg(&out),
    )?;
    let seconds = start.elapsed().as_secs_f64();
    let what = format!("CRISP (Python), {files} files, one process");
    report.add(Row::new("Other tools", &what, bytes as f64 / 1e6 / seconds, "MB/s", ""));
    Ok(())
}
