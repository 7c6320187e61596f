//! The processor time of the processes below one, and what is taken by others.

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::time::Instant;

use e2e::failure::{Outcome, fail};
use e2e::process::is_below;

/// Milliseconds of a tick of `/proc/stat` and `/proc/PID/stat`; Linux tells them in hundredths of a second everywhere.
const TICK_MS: f64 = 10.0;

/// Processor time between two moments, in milliseconds.
#[derive(Clone, Copy, Default)]
pub struct Spent {
    /// What the threads of the browser ran.
    pub ran_ms: f64,
    /// What they could have run, but waited for a processor.
    pub waited_ms: f64,
    /// What was taken from the machine by other processes than the bench, its browser and its server.
    others_ms: f64,
    /// What the machine has: wall time times processors.
    whole_ms: f64,
}

impl Spent {
    /// Returns the part of its time on processors or waiting for one that the browser waited, in percent.
    pub fn waited_percent(&self) -> f64 {
        100.0 * self.waited_ms / (self.ran_ms + self.waited_ms).max(1.0)
    }

    /// Returns the part of the machine that other work took, in percent.
    pub fn others_percent(&self) -> f64 {
        100.0 * self.others_ms.max(0.0) / self.whole_ms.max(1.0)
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.ran_ms += other.ran_ms;
        self.waited_ms += other.waited_ms;
        self.others_ms += other.others_ms;
        self.whole_ms += other.whole_ms;
    }
}

/// A moment that processor time is counted from.
pub struct Moment {
    browser: u32,
    threads: BTreeMap<PathBuf, (f64, f64)>,
    own_ms: f64,
    busy_ms: f64,
    at: Instant,
}

impl Moment {
    /// Returns this moment; the browser is what runs below its driver.
    pub fn now(driver: u32) -> Outcome<Self> {
        Ok(Self {
            browser: driver,
            threads: scheduled(driver)?,
            own_ms: tree_ms(std::process::id())?,
            busy_ms: machine()?.0,
            at: Instant::now(),
        })
    }

    /// Returns what was spent since. Threads of the browser that ended meanwhile are left out of what it ran and waited.
    pub fn spent(&self) -> Outcome<Spent> {
        let mut spent = Spent::default();
        let (busy_ms, processors) = machine()?;
        spent.whole_ms = self.at.elapsed().as_secs_f64() * 1e3 * processors as f64;
        spent.others_ms = busy_ms - self.busy_ms - (tree_ms(std::process::id())? - self.own_ms);
        for (thread, (ran, waited)) in scheduled(self.browser)? {
            let (ran_before, waited_before) = self.threads.get(&thread).copied().unwrap_or_default();
            spent.ran_ms += ran - ran_before;
            spent.waited_ms += waited - waited_before;
        }
        Ok(spent)
    }
}

/// Returns the milliseconds that all processors were busy since the machine started, and how many there are. Time that the
/// host gave to other guests counts as busy.
fn machine() -> Outcome<(f64, usize)> {
    let text = std::fs::read_to_string("/proc/stat")?;
    let lines = || text.lines().filter_map(|line| line.strip_prefix("cpu"));
    let Some(all) = lines().find_map(|line| line.strip_prefix(' ')) else {
        return fail("/proc/stat names no processor");
    };
    // user nice system idle iowait irq softirq steal; guests stand in `user` too.
    let ticks: Vec<f64> = all.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    let busy = [0, 1, 2, 5, 6, 7].iter().filter_map(|&at| ticks.get(at)).sum::<f64>();
    Ok((busy * TICK_MS, lines().filter(|line| !line.starts_with(' ')).count()))
}

/// Returns the fields of `/proc/PID/stat` after the name, which may hold spaces.
fn stat(process: &Path) -> Option<Vec<u64>> {
    let text = std::fs::read_to_string(process.join("stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    // The first one is a letter.
    Some(fields.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect())
}

/// Returns the folders in `/proc` of a process and of those below it.
fn tree(ancestor: u32) -> Outcome<Vec<PathBuf>> {
    let own = Path::new("/proc").join(ancestor.to_string());
    let all = std::fs::read_dir("/proc")?.flatten().map(|entry| entry.path());
    Ok(all.filter(|process| *process == own || is_below(process, ancestor)).collect())
}

/// Returns the processor time of a process and of those below it, in milliseconds, with that of their threads and children
/// that have ended.
fn tree_ms(ancestor: u32) -> Outcome<f64> {
    let ticks = tree(ancestor)?.into_iter().filter_map(|process| {
        // utime stime cutime cstime, the 14th to the 17th of all fields, the state being the third.
        Some(stat(&process)?.get(11..15)?.iter().sum::<u64>())
    });
    Ok(ticks.sum::<u64>() as f64 * TICK_MS)
}

/// Returns, by thread below a process, the milliseconds that it has run on a processor, and waited for one.
fn scheduled(ancestor: u32) -> Outcome<BTreeMap<PathBuf, (f64, f64)>> {
    let mut found = BTreeMap::new();
    for process in tree(ancestor)? {
        // What ends meanwhile is left out.
        for thread in std::fs::read_dir(process.join("task")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
            let mut ms = text.split_whitespace().filter_map(|ns| Some(ns.parse::<f64>().ok()? / 1e6));
            if let (Some(ran_ms), Some(waited_ms)) = (ms.next(), ms.next()) {
                found.insert(thread.path(), (ran_ms, waited_ms));
            }
        }
    }
    Ok(found)
}
