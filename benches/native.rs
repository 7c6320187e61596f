//! The native half of `cargo xtask bench`, on one thread. A row of results is a line that begins with `bench`.
//!
//! `native ingest NAME FILE` reads a file and answers the first question; `native scaling NAME FILE...` fits how the
//! cost grows from file to file; `native analyses FILE` and `native what-if FILE` ask what a page would; `native
//! drawing` lays out pictures; `native summaries FILE` sums a file up and joins many summaries; `native diagnosis`, `native
//! findings` and `native weeks` count how often tprof, the findings, trend and check name a known cause; `native anomalies` how
//! well abnormal requests are found, and `native advisors` whether what is advised comes true;
//! `native papers` counts and times what CRISP does. Times are medians of
//! at least three rounds after one that does not count; ratios between rows of one run are what counts. A run that waited for a processor for more than a fifth of its time is refused with status 75: its times are
//! those of the machine's other work.

#[cfg(not(target_arch = "wasm32"))]
mod advisors;
#[cfg(not(target_arch = "wasm32"))]
mod anomalies;
#[cfg(not(target_arch = "wasm32"))]
mod diagnosis;
#[cfg(not(target_arch = "wasm32"))]
mod drawing;
#[cfg(not(target_arch = "wasm32"))]
mod findings;
#[cfg(not(target_arch = "wasm32"))]
mod papers;
#[cfg(not(target_arch = "wasm32"))]
mod shared;
#[cfg(not(target_arch = "wasm32"))]
mod weeks;

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let Err(error) = bench::run(&words) {
        eprintln!("native: {error}");
        std::process::exit(if error.kind() == std::io::ErrorKind::ResourceBusy { 75 } else { 1 });
    }
}

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
mod bench {
    use super::shared::{CHUNK, analyses, exponent, median, read, row, what_if};
    use super::{advisors, anomalies, diagnosis, drawing, findings, papers, weeks};
    use pathlight::engine::queries;
    use pathlight::engine::requests::Selection;
    use pathlight::engine::run::Session;
    use pathlight::engine::summaries::{Merger, Summary, SummarySettings, read as read_summary, write};
    use pathlight::ingest::{ReadOptions, Reader};
    use pathlight::trace::{Portable, Reading, TraceSet};
    use std::hint::black_box;
    use std::io::Read as _;
    use std::time::{Duration, Instant};

    const ENOUGH: Duration = Duration::from_secs(2);

    /// Rounds that count, at the least and at the most.
    const ROUNDS: std::ops::Range<usize> = 3..21;

    /// Traces of a summary that is joined with others.
    const PART: u32 = 1000;

    /// What CRISP's light mode did in a second of one processor, once measured: megabytes, and spans. Where PEERS
    /// names a checkout of it, `cargo xtask bench` times it in the same run.
    const CRISP: (f64, f64) = (25.0, 36_000.0);

    /// A run that waited for a processor for a greater share of its time, in percent, is refused.
    const MOST_WAITED: f64 = 20.0;

    /// Runs a part; those that take times look whether they had the processor.
    pub fn run(words: &[&str]) -> std::io::Result<()> {
        let before = scheduled();
        run_part(words)?;
        let (Some(before), Some(after)) = (before, scheduled()) else { return Ok(()) };
        let (ran_s, waited_s) = (after.0 - before.0, after.1 - before.1);
        let percent = 100.0 * waited_s / (ran_s + waited_s).max(1e-9);
        let counts = matches!(
            words,
            ["advisors" | "anomalies" | "diagnosis" | "findings" | "weeks", ..] | ["papers", "samples"]
        );
        if counts && words != ["diagnosis", "steps"] {
            return Ok(());
        }
        let what =
            words.iter().take(2).filter(|word| !word.contains('/')).copied().collect::<Vec<_>>().join(" ");
        let (what, budget) = (format!("{what}: time waited for a processor"), format!("< {MOST_WAITED}"));
        // Without a group of its own: it stands beside the figures of the run.
        println!("{}", row("", &what, percent, "%", &budget));
        if percent > MOST_WAITED {
            let reason = format!("refused: it waited for a processor for {percent:.0} % of its time");
            return Err(std::io::Error::new(std::io::ErrorKind::ResourceBusy, reason));
        }
        Ok(())
    }

    /// Returns the seconds that this thread has run on a processor, and waited for one; `None` where the system does
    /// not tell.
    fn scheduled() -> Option<(f64, f64)> {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let mut seconds = text.split_whitespace().map(|ns| ns.parse::<f64>().map(|ns| ns / 1e9));
        Some((seconds.next()?.ok()?, seconds.next()?.ok()?))
    }

    fn run_part(words: &[&str]) -> std::io::Result<()> {
        let start = Instant::now();
        let now_ms = || start.elapsed().as_secs_f64() * 1e3;
        match words {
            ["ingest", name, file] => ingest(name, file)?,
            ["scaling", name, files @ ..] => scaling(name, files)?,
            ["analyses", file] => {
                let set = read(&std::fs::read(file)?);
                print(analyses(set, &now_ms, "Analyses, native, one thread", false));
            }
            ["what-if", file] => {
                let set = read(&std::fs::read(file)?);
                print(what_if(set, &now_ms, "Analyses, native, one thread", false));
            }
            ["summaries", file] => summaries(file)?,
            ["diagnosis", part @ ..] => print(diagnosis::run(part.first().copied())?),
            ["papers", part @ ..] => print(papers::run(part.first().copied())?),
            ["anomalies"] => print(anomalies::run()?),
            ["findings"] => print(findings::run()?),
            ["weeks"] => print(weeks::run()?),
            ["advisors"] => print(advisors::run()?),
            ["drawing"] => {
                print(drawing::heat_map(|work| measure(work)));
                print(drawing::flow(|work| measure(work)));
            }
            // Run without a wish, for instance by `cargo bench` over all.
            _ => eprintln!("this is driven by `cargo xtask bench`"),
        }
        Ok(())
    }

    fn print(rows: Vec<String>) {
        rows.iter().for_each(|row| println!("{row}"));
    }

    /// Returns the median seconds of some rounds.
    fn measure<T>(mut work: impl FnMut() -> T) -> f64 {
        let [(seconds, _)] = by_turns([&mut || {
            black_box(work());
        }]);
        seconds
    }

    /// Returns the median seconds of wall time and of the processor (wall time where the system does not tell) of works
    /// that are done by turns. A first round of each warms up and does not count.
    fn by_turns<const N: usize>(mut works: [&mut dyn FnMut(); N]) -> [(f64, f64); N] {
        works.iter_mut().for_each(|work| work());
        let (mut rounds, begun) = ([const { (Vec::new(), Vec::new()) }; N], Instant::now());
        for round in 0..ROUNDS.end {
            if round >= ROUNDS.start && begun.elapsed() > ENOUGH * N as u32 {
                break;
            }
            for (work, (walls, processors)) in works.iter_mut().zip(&mut rounds) {
                let (start, before) = (Instant::now(), scheduled());
                work();
                let seconds = start.elapsed().as_secs_f64();
                walls.push(seconds);
                processors
                    .push(before.zip(scheduled()).map_or(seconds, |(before, after)| after.0 - before.0));
            }
        }
        rounds.map(|(walls, processors)| (median(walls), median(processors)))
    }

    /// Reads and answers the first question, as `pathlight critical-path` does.
    fn whole(bytes: &[u8], reading: Reading) {
        let mut session = Session::of(read(bytes));
        let selection = Selection { reading, ..Selection::default() };
        let _ = black_box(session.run(queries::CriticalPath { selection }));
    }

    /// Returns the most memory this process has had so far, in bytes.
    fn peak() -> f64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<f64>().ok());
        kib.unwrap_or(f64::NAN) * 1024.0
    }

    /// Reads a file in chunks, as it would be too large to hold.
    fn stream(file: &str) -> std::io::Result<TraceSet> {
        let mut set = TraceSet::new();
        let mut reader = Reader::new(file, ReadOptions::default());
        let (mut input, mut chunk) = (std::fs::File::open(file)?, vec![0; CHUNK]);
        loop {
            let n = input.read(&mut chunk)?;
            if n == 0 || reader.feed(&chunk[..n], &mut set).is_err() {
                break;
            }
        }
        reader.finish(&mut set);
        let _ = set.seal();
        Ok(set)
    }

    fn ingest(name: &str, file: &str) -> std::io::Result<()> {
        let group = "Ingest, native, one thread";
        let before = peak();
        let set = stream(file)?;
        let (spans, heap) = (set.spans() as f64, set.heap_bytes() as f64);
        let traces = set.traces().len();
        let put = |what: &str, value: f64, unit: &str, budget: &str| {
            println!("{}", row(group, &format!("{name}: {what}"), value, unit, budget));
        };
        put("peak memory, read from disk", (peak() - before) / 1e6, "MB", "");
        put("memory of a span, tags interned", heap / spans, "bytes", "< 48");
        drop(set);
        let bytes = std::fs::read(file)?;
        let megabytes = bytes.len() as f64 / 1e6;
        let [(seconds, processor_s), (wall_s, whole_s), (_, plain_s)] = by_turns([
            &mut || {
                black_box(read(&bytes));
            },
            &mut || whole(&bytes, Reading::real()),
            &mut || whole(&bytes, Reading::PLAIN),
        ]);
        put("read", megabytes / seconds, "MB/s", "");
        put("read, by processor time", megabytes / processor_s, "MB/s", "");
        put("read", spans / seconds, "spans/s", "");
        let budget = if name == "chain" { "> 250" } else { "" };
        put("critical-path, whole", megabytes / wall_s, "MB/s", budget);
        put("critical-path, whole, by processor time", megabytes / whole_s, "MB/s", "");
        let what = "critical-path, whole, processor time with the real reading against the plain one";
        put(what, whole_s / plain_s, "times", "");
        if traces > 1 {
            // CRISP's figures are of many traces, and times of the processor as well.
            let (bytes, spans) = (megabytes / whole_s, spans / whole_s);
            let against = |of: String| format!("critical-path, against {of} of CRISP, once measured");
            put(&against(format!("{} MB/s", CRISP.0)), bytes / CRISP.0, "times", "");
            put(&against(format!("{} spans/s", CRISP.1)), spans / CRISP.1, "times", "");
        }
        Ok(())
    }

    /// Measures what a day of traces costs: reading and summing them, and joining the summaries of their parts.
    fn summaries(file: &str) -> std::io::Result<()> {
        let group = "Summaries, native, one thread";
        let put = |what: &str, value: f64, unit: &str, budget: &str| {
            println!("{}", row(group, what, value, unit, budget));
        };
        let failed = |error: &dyn std::fmt::Display| std::io::Error::other(error.to_string());
        let bytes = std::fs::read(file)?;
        let settings = SummarySettings::default();
        let seconds = measure(|| Summary::observe(&read(&bytes), &settings));
        let set = read(&bytes);
        let traces = set.traces().len() as u32;
        let million_s = 1e6 * seconds / f64::from(traces);
        put("read and sum", bytes.len() as f64 / 1e6 / seconds, "MB/s", "");
        put("read and sum", set.spans() as f64 / seconds, "spans/s", "");
        put("text of a million such traces", bytes.len() as f64 / f64::from(traces) / 1e3, "GB", "");
        put("a million such traces", million_s / 60.0, "core minutes", "");
        put("a million such traces, at 5 cents for an hour of a core", 5.0 * million_s / 3600.0, "cents", "");
        put("cores that are busy with a million such traces a day", million_s / 86_400.0, "", "");
        put("cores that are busy with a billion such traces a day", 1e3 * million_s / 86_400.0, "", "");
        let whole = write(&Summary::observe(&set, &settings)).map_err(|error| failed(&error))?;
        put(&format!("summary of {traces} traces"), whole.len() as f64 / 1e3, "kB", "");
        let mut parts = Vec::new();
        for from in (0..traces).step_by(PART as usize) {
            let mut part = TraceSet::new();
            let copy = Portable::copy(&set, from..traces.min(from + PART));
            copy.add_to(&mut part).map_err(|error| failed(&error))?;
            part.seal().map_err(|error| failed(&error))?;
            parts.push(write(&Summary::observe(&part, &settings)).map_err(|error| failed(&error))?);
        }
        let join = || {
            let mut sum = Merger::default();
            for part in parts.iter().cycle().take(1000) {
                let part = read_summary(part).map_err(|error| failed(&error))?;
                sum.add(part).map_err(|error| failed(&error))?;
            }
            sum.finish().map_err(|error| failed(&error))
        };
        join()?;
        let seconds = measure(join);
        put("1,000 summaries of 1,000 traces: read and join", seconds * 1e3, "ms", "< 5000");
        Ok(())
    }

    fn scaling(name: &str, files: &[&str]) -> std::io::Result<()> {
        let (mut reading, mut answering) = (Vec::new(), Vec::new());
        for file in files {
            let bytes = std::fs::read(file)?;
            let spans = read(&bytes).spans() as f64;
            let (read_s, whole_s) = (measure(|| read(&bytes)), measure(|| whole(&bytes, Reading::real())));
            reading.push((spans, read_s));
            answering.push((spans, whole_s));
            let what = format!("{name}, {spans} spans in one trace: critical-path, whole");
            println!("{}", row("Growth, native, one thread", &what, whole_s * 1e3, "ms", ""));
        }
        for (what, points) in [("read", reading), ("critical-path, whole", answering)] {
            let what = format!("{name}: exponent of {what}");
            println!("{}", row("Growth, native, one thread", &what, exponent(&points), "", "< 1.15"));
        }
        Ok(())
    }
}
