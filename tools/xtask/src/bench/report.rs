//! Rows of a bench, and the page they become.

use std::fmt::{self, Write as _};

use crate::sh;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    group: String,
    what: String,
    value: f64,
    unit: String,
    /// `< 300`, `> 2`, or empty.
    budget: String,
}

impl Row {
    pub fn new(group: &str, what: &str, value: f64, unit: &str, budget: &str) -> Self {
        let [group, what, unit, budget] = [group, what, unit, budget].map(str::to_owned);
        Self { group, what, value, unit, budget }
    }

    /// Reads `bench GROUP WHAT VALUE UNIT BUDGET`, separated by tabs; what stands before `bench` is the runner's.
    pub fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split_once("bench\t")?.1.split('\t');
        let mut next = || fields.next();
        let (group, what, value) = (next()?, next()?, next()?.parse().ok()?);
        let (unit, budget) = (next()?, next()?.trim_end());
        Some(Self::new(group, what, value, unit, budget))
    }

    pub fn group(&self) -> &str {
        &self.group
    }

    /// Puts a row without a group into this one.
    pub fn put_into(&mut self, group: &str) {
        if self.group.is_empty() {
            self.group = group.to_owned();
        }
    }

    /// Returns whether it says that a run waited too long for a processor, or that other work took too much of them: then
    /// its times are those of other work.
    pub fn is_disturbed(&self) -> bool {
        ["time waited for a processor", "taken by other work"].iter().any(|what| self.what.contains(what))
            && self.is_kept() == Some(false)
    }

    /// Returns whether the budget is kept; `None` without one.
    fn is_kept(&self) -> Option<bool> {
        let (sign, limit) = self.budget.split_once(' ')?;
        let limit: f64 = limit.parse().ok()?;
        Some(if sign == "<" { self.value <= limit } else { self.value >= limit })
    }

    /// Returns the figure with its unit, in three digits or more.
    pub fn figure(&self) -> String {
        let digits = match self.value.abs() {
            x if x >= 100.0 || x.fract() == 0.0 => 0,
            x if x >= 10.0 => 1,
            _ => 2,
        };
        let text = format!("{:.digits$}", self.value);
        let (whole, fraction) = text.split_once('.').map_or((text.as_str(), None), |(w, f)| (w, Some(f)));
        let mut out = String::new();
        for (place, digit) in whole.chars().enumerate() {
            if place > 0
                && (whole.len() - place).is_multiple_of(3)
                && digit.is_ascii_digit()
                && !out.ends_with('-')
            {
                out.push(',');
            }
            out.push(digit);
        }
        if let Some(fraction) = fraction {
            let _ = write!(out, ".{fraction}");
        }
        if self.unit.is_empty() { out } else { format!("{out} {}", self.unit) }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: {}", self.group, self.what, self.figure())?;
        match self.is_kept() {
            Some(true) => write!(f, " ({}, kept)", self.budget),
            Some(false) => write!(f, " ({}, MISSED)", self.budget),
            None => Ok(()),
        }
    }
}

/// Returns the groups that other work has disturbed, in the order they came.
pub fn disturbed(rows: &[Row]) -> Vec<String> {
    let mut groups: Vec<String> = Vec::new();
    for row in rows.iter().filter(|row| row.is_disturbed()) {
        if !groups.contains(&row.group) {
            groups.push(row.group.clone());
        }
    }
    groups
}

/// Returns the table of an older run without the word on its budgets: those of today may be others.
fn unjudged(part: &str) -> String {
    part.replace(" | kept |", " | |").replace(" | **missed** |", " | |")
}

/// All rows, in the order they came.
#[derive(Default)]
pub struct Report {
    rows: Vec<Row>,
}

/// The line before the rows of a group, and what [`Report::page`] finds it by.
const HEADING: &str = "## ";

impl Report {
    pub fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Returns how many budgets were missed.
    pub fn missed(&self) -> usize {
        self.rows.iter().filter(|row| row.is_kept() == Some(false)).count()
    }

    fn groups(&self) -> Vec<&str> {
        let mut groups: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !groups.contains(&row.group.as_str()) {
                groups.push(&row.group);
            }
        }
        groups
    }

    /// Returns a table a group.
    pub fn tables(&self) -> String {
        self.groups().into_iter().map(|group| self.table(group, "")).collect()
    }

    fn table(&self, group: &str, stamp: &str) -> String {
        let mut out = format!("{HEADING}{group}\n\n");
        if !stamp.is_empty() {
            let _ = writeln!(out, "{stamp}\n");
        }
        out.push_str("| what | measured | budget | |\n|---|---:|---:|---|\n");
        for row in self.rows.iter().filter(|row| row.group == group) {
            let word = match row.is_kept() {
                Some(true) => "kept",
                Some(false) => "**missed**",
                None => "",
            };
            let budget =
                if row.budget.is_empty() { String::new() } else { format!("{} {}", row.budget, row.unit) };
            let _ = writeln!(out, "| {} | {} | {} | {word} |", row.what, row.figure(), budget.trim());
        }
        out.push('\n');
        out
    }

    /// Returns the page; groups this run did not measure are kept from the page before.
    pub fn page(&self, before: &str) -> String {
        let mut out = String::from(
            "# Benchmarks\n\nWritten by `cargo xtask bench`; no figure here is typed by hand. Medians. What counts are ratios between \
             figures of one run: machines differ and are noisy. Megabytes are those of the Jaeger JSON that `pathlight \
             generate` writes; \"missed\" says that a budget was not kept in the last run, and groups that it did not measure \
             have the budgets of their own run and no such word. The parser of Jaeger UI is no peer here: it was found in no \
             package of its own, only inside the application. One trace of a million spans is read by one worker: a file is \
             cut between traces only.\n\n",
        );
        let stamp = format!("{}, {}.", date(), machine());
        let groups = self.groups();
        let mut old: Vec<(&str, &str)> = Vec::new();
        for part in before.split(&format!("\n{HEADING}")).skip(1) {
            let name = part.lines().next().unwrap_or_default();
            old.push((name, part));
        }
        for group in &groups {
            out.push_str(&self.table(group, &stamp));
        }
        for (name, part) in old {
            if !groups.contains(&name) {
                let _ = write!(out, "{HEADING}{}\n\n", unjudged(part.trim_end()));
            }
        }
        out.trim_end().to_owned() + "\n"
    }
}

fn date() -> String {
    let date = sh::output(sh::command("date").args(["-u", "+%Y-%m-%d"])).unwrap_or_default();
    date.trim().to_owned()
}

/// Describes processor, cores, memory, load, compiler and browser.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key)).unwrap_or_default().to_owned();
        line.split_once(':').map_or(String::new(), |(_, value)| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kib: f64 = field(&read("/proc/meminfo"), "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0.0);
    let load = read("/proc/loadavg");
    let version = |program: &str| {
        sh::output(sh::command(program).arg("--version"))
            .map(|text| text.lines().next().unwrap_or_default().trim().to_owned())
    };
    let mut parts = vec![
        format!("{} with {cores} cores", field(&read("/proc/cpuinfo"), "model name")),
        format!("{:.0} GB", kib * 1024.0 / 1e9),
        format!("load {} at the end", load.split(' ').next().unwrap_or_default()),
    ];
    parts.extend(version("rustc").map(|text| text.split(" (").next().unwrap_or_default().to_owned()));
    parts.extend(version("chromium").map(|text| text.split(" built").next().unwrap_or_default().to_owned()));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_wherever_a_runner_puts_them_and_judged_by_their_budget() {
        let row = Row::parse("    bench\tIngest\tread\t1234.56\tMB/s\t> 1000").unwrap();
        assert_eq!(row, Row::new("Ingest", "read", 1234.56, "MB/s", "> 1000"));
        assert_eq!(row.to_string(), "Ingest: read: 1,235 MB/s (> 1000, kept)");
        assert_eq!(Row::new("", "", 2.5, "ms", "< 2").is_kept(), Some(false));
        assert_eq!(Row::new("", "", 2.5, "ms", "").is_kept(), None);
        assert_eq!(Row::parse("running 2 tests"), None);
        assert_eq!(Row::new("", "", 1_000_000.0, "", "").figure(), "1,000,000");
        assert_eq!(Row::new("", "", 1.047, "times", "").figure(), "1.05 times");
    }

    #[test]
    fn a_run_that_waited_for_a_processor_is_known_by_its_row() {
        let mut row = Row::new("", "ingest: time waited for a processor", 21.0, "%", "< 20");
        row.put_into("Ingest");
        assert!(row.is_disturbed() && row.group() == "Ingest");
        let others = [Row::new("B", "b", 1.0, "ms", ""), row.clone(), row.clone()];
        assert_eq!(disturbed(&others), ["Ingest"]);
        row.put_into("Other");
        assert_eq!(row.group(), "Ingest");
        assert!(!Row::new("Ingest", "ingest: time waited for a processor", 19.0, "%", "< 20").is_disturbed());
        assert!(!Row::new("Ingest", "read", 21.0, "ms", "< 20").is_disturbed());
        assert!(Row::new("Page", "taken by other work", 11.0, "%", "< 10").is_disturbed());
    }

    #[test]
    fn a_page_keeps_the_groups_of_another_run() {
        let mut first = Report::default();
        first.add(Row::new("A", "a", 1.0, "ms", "< 2"));
        first.add(Row::new("B", "b", 3.0, "ms", "< 2"));
        assert_eq!(first.missed(), 1);
        let page = first.page("");
        assert!(
            page.contains("| a | 1 ms | < 2 ms | kept |")
                && page.contains("| b | 3 ms | < 2 ms | **missed** |")
        );
        let mut second = Report::default();
        second.add(Row::new("B", "b", 1.5, "ms", "< 2"));
        let page = second.page(&page);
        // Of what was not measured again nobody says that a budget of today is kept.
        assert!(page.contains("| a | 1 ms | < 2 ms | |") && page.contains("| b | 1.50 ms | < 2 ms | kept |"));
        assert_eq!(page.matches("## ").count(), 2);
    }
}
