//! `pathlight generate`: a synthetic Jaeger export, streamed.

use super::output::OutputFile;
use super::{Failure, parse};
use pathlight_generate::{
    Defects, GenerateOptions, Generator, Inject, Pool, QueueWait, Sample, Shape, Speed, write_jaeger,
};
use std::io::{self, Write};
use std::path::PathBuf;

/// Writes synthetic traces as Jaeger JSON.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Spans of a trace: exact for wide and deep, the mean for mixed
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=1 << 31))]
    spans: u64,
    /// Number of traces
    #[arg(long, value_name = "N", default_value_t = 100)]
    traces: u64,
    /// wide (one parent), deep (a chain), mixed (requests of a web shop) or serial (calls one after the other, with and without
    /// need)
    #[arg(long, default_value = "mixed")]
    shape: Shape,
    /// The same seed gives the same bytes
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// When the first requests start: microseconds since the epoch, or UTC such as `2026-11-24 03:06:12`
    #[arg(long, value_name = "MOMENT", value_parser = parse::moment)]
    start: Option<u64>,
    /// Print the places where time can be spent instead of traces, the most used first: name, service, operation,
    /// subspan (or "gap"), share of the traces that pass through it; separated by tabs
    #[arg(long)]
    list_places: bool,
    /// Add this many microseconds each time a place is passed, in all or a share of the traces
    #[arg(long, value_name = "PLACE=+US[@SHARE]")]
    inject: Vec<Inject>,
    /// Make an endpoint faster or slower: its own work, or with @whole its calls with all that they wait for
    #[arg(long, value_name = "SERVICE:OPERATION=-50%[@whole]")]
    speed: Vec<Speed>,
    /// Make messages wait shorter or longer; the queues of the defect messages are events, orders and audit
    #[arg(long, value_name = "QUEUE=-50%")]
    queue: Vec<QueueWait>,
    /// Let calls of the shape serial that do not need each other run side by side
    #[arg(long)]
    side_by_side: bool,
    /// Put one of N numbers, in letters, into the name of each root span: many root endpoints
    #[arg(long, value_name = "N", default_value_t = 0)]
    roots: u64,
    /// Defects to put into the traces: all, or some of orphans, cycles, duplicates, zero-length, outside,
    /// several-roots, missing-processes, async, overlay, fire-and-forget, queues, messages, skew,
    /// generic-names, ids-in-names
    #[arg(long, value_name = "KIND,...")]
    defects: Option<Defects>,
    /// Write only what a sampler would keep, with the weight of each trace: p=0.01 of all, and after semicolons slow>500ms (all
    /// that take longer), errors (all with an error), floor=N (so many of each root endpoint), and how the weight is
    /// written: as=th (tracestate, default), p, count, rate, datadog, jaeger or nothing
    #[arg(long, value_name = "SAMPLER")]
    sample: Option<Sample>,
    /// Put services in one of two availability zones; from one to the other the network takes so many times as long
    #[arg(long, value_name = "TIMES", value_parser = times)]
    zones: Option<f64>,
    /// How many times as long the network takes, from 0 to 1000
    #[arg(long, value_name = "TIMES", value_parser = times, default_value_t = 1.0)]
    network: f64,
    /// Start all requests within so many milliseconds: within an hour if missing
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    within_ms: Option<u64>,
    /// Let each instance of a service make at most so many calls of another service or store at once: others wait before they
    /// begin
    #[arg(long, value_name = "SERVICE>PEER=CONNECTIONS")]
    pool: Option<Pool>,
    /// File to write; standard output if missing
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] if a delay names no place of the shape; else those of writing.
pub fn run(args: &Args) -> Result<(), Failure> {
    let defaults = GenerateOptions::default();
    let options = GenerateOptions {
        spans: args.spans,
        traces: args.traces,
        shape: args.shape,
        seed: args.seed,
        start_us: args.start.unwrap_or(defaults.start_us),
        injects: args.inject.clone(),
        speeds: args.speed.clone(),
        timeouts: Vec::new(),
        queues: args.queue.clone(),
        is_side_by_side: args.side_by_side,
        roots: args.roots,
        defects: args.defects.unwrap_or_default(),
        sample: args.sample.clone(),
        zones: args.zones,
        network: args.network,
        is_canary_as_fast: false,
        spread_us: args.within_ms.map_or(defaults.spread_us, |ms| ms * 1_000),
        pool: args.pool.clone(),
    };
    let generator = Generator::new(&options).map_err(|e| Failure::Usage(e.to_string()))?;
    let write = |out: &mut dyn Write| -> io::Result<()> {
        if args.list_places {
            list_places(&generator, out)?
        } else {
            write_jaeger(&options, &mut *out)?;
        }
        out.flush()
    };
    let Some(path) = &args.out else { return Ok(write(&mut io::stdout().lock())?) };
    let mut file = OutputFile::create(path)?;
    write(&mut file)?;
    file.finish()
}

fn times(text: &str) -> Result<f64, String> {
    let times = text.parse().ok().filter(|times| (0.0..=1000.0).contains(times));
    times.ok_or_else(|| "write a number from 0 to 1000, such as 3".to_owned())
}

fn list_places(generator: &Generator, out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::new();
    for place in generator.places() {
        let subspan = place.subspan.map_or_else(|| "gap".to_owned(), |i| i.to_string());
        text += &format!(
            "{}\t{}\t{}\t{subspan}\t{:.4}\n",
            place.name, place.service, place.operation, place.share
        );
    }
    out.write_all(text.as_bytes())
}
