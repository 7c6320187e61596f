//! What the processes below one take of the machine: time of their threads, memory.

use std::collections::BTreeMap;
use std::path::PathBuf;

use e2e::failure::Outcome;

/// Returns a number of a process's status.
fn status(process: u64, key: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(key))?.trim().trim_end_matches(" kB").parse().ok()
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
            parent = status(parent, "PPid:").unwrap_or(0);
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

/// Returns the bytes that the largest renderer below a process holds.
pub fn renderer_bytes(ancestor: u32) -> Outcome<f64> {
    let is_renderer = |process: &u64| {
        let command = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains("--type=renderer")
    };
    let renderers = descendants(ancestor)?.into_iter().filter(is_renderer);
    let largest = renderers.filter_map(|process| status(process, "VmRSS:")).max();
    Ok(largest.unwrap_or(0) as f64 * 1024.0)
}
