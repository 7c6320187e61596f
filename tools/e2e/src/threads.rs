//! What the threads of the processes below one take of the machine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use e2e::failure::Outcome;

/// Returns the process that has started another.
fn parent_of(process: u64) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// Returns the processes below one.
fn descendants(ancestor: u32) -> Outcome<Vec<u64>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")?.flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok()) else {
            continue;
        };
        let mut parent = process;
        while parent > 1 && parent != u64::from(ancestor) {
            parent = parent_of(parent).unwrap_or(0);
        }
        found.extend((parent == u64::from(ancestor)).then_some(process));
    }
    Ok(found)
}

/// Returns, by thread below a process, the milliseconds that it has run on a processor, and waited for one.
pub fn scheduled(ancestor: u32) -> Outcome<BTreeMap<PathBuf, (f64, f64)>> {
    let mut found = BTreeMap::new();
    for process in descendants(ancestor)? {
        // What ends meanwhile is left out.
        for thread in std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let mut ms = text.split_whitespace().filter_map(|ns| Some(ns.parse::<f64>().ok()? / 1e6));
            if let (Some(ran_ms), Some(waited_ms)) = (ms.next(), ms.next()) {
                found.insert(thread.path(), (ran_ms, waited_ms));
            }
        }
    }
    Ok(found)
}
