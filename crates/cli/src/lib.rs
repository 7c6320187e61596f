//! The commands of the native binary.
//!
//! One file a command, each with its `Args` and a `run`. A command prints its result to standard output; what went
//! wrong on the way, a bad file among good ones for instance, goes to standard error and does not change the exit
//! status.
//!
//! | exit status | meaning |
//! |---|---|
//! | 0 | done |
//! | 1 | the input holds no trace, or none that fits the options |
//! | 2 | the command line is wrong, or something it names cannot be read, written or listened on |
//! | 3 | a limit that the command line sets is passed (`anomaly --fail-on`, `check --fail-on`) |

mod anomaly;
mod check;
mod common;
mod compare;
mod config;
mod critical_path;
mod deployments;
mod diagnosis;
mod endpoints;
mod errors;
mod fetch;
mod findings;
mod flow;
mod generate;
mod globs;
mod heatmap;
mod histograms;
mod http;
mod input;
mod inspect;
mod instrument;
mod listen;
mod mcp;
mod notify;
mod output;
mod page;
mod parse;
mod partition;
mod queues;
mod report;
mod report_index;
mod sarif;
mod split;
mod stream;
mod summarise;
mod summary;
mod summary_files;
mod table;
mod terminal;
mod trend;
mod unfinished;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use clap::{CommandFactory as _, Parser, Subcommand};
use pathlight_base::format::harmless;

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "pathlight",
    version,
    about = "Finds out where the latency of distributed traces comes from."
)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
    /// Read rows of a form of your own by this mapping of their fields, which `pathlight inspect --guess` writes; may be
    /// repeated
    #[arg(long, global = true, value_name = "FILE")]
    map: Vec<PathBuf>,
    /// Tag that says how many requests a trace stands for, before those that are known: a number from 1 up, or a probability
    /// below 1
    #[arg(long, global = true, value_name = "key=NAME", value_parser = parse::weight_key)]
    weight: Option<String>,
}

/// One variant a command, in the order of the page's sidebar; the text is its line in the help. Names of earlier
/// versions stay as aliases.
#[derive(Debug, Subcommand)]
enum Command {
    /// Say what is slow, where, why and for whom
    #[command(after_help = "Example: pathlight findings traces.json --baseline yesterday.json")]
    Findings(findings::Args),
    /// List the top endpoints by percentiles of their time, with call chains
    #[command(after_help = "Example: pathlight summary traces.json --format markdown")]
    Summary(summary::Args),
    /// Aggregate the critical paths of many traces
    #[command(
        after_help = "Example: pathlight critical-path traces.json --service shop --operation \"GET /cart\" --range 95-99"
    )]
    CriticalPath(critical_path::Args),
    /// Compare two sets of traces, or two percentile ranges of one
    #[command(after_help = "Example: pathlight compare -a before.json -b after.json")]
    Compare(compare::Args),
    /// Show where each request spends its time: endpoints against requests
    #[command(after_help = "Example: pathlight heatmap traces.json --sort-columns start")]
    Heatmap(heatmap::Args),
    /// Rank interior endpoints by what they cost all root endpoints together
    #[command(visible_alias = "bottom-up")]
    #[command(after_help = "Example: pathlight endpoints traces.json --faster 50")]
    Endpoints(endpoints::Args),
    /// Show how large, deep and parallel requests are
    #[command(after_help = "Example: pathlight histograms traces.json")]
    Histograms(histograms::Args),
    /// Split latency, or the time of one endpoint, by the values of a tag
    #[command(after_help = "Example: pathlight split traces.json --tag region")]
    Split(split::Args),
    /// Find versions, zones, hosts and other places that are slower than the others in the same minutes
    #[command(after_help = "Example: pathlight deployments traces.json --key cloud.availability_zone")]
    Deployments(deployments::Args),
    /// Find where one more span would tell most about what requests wait for
    #[command(after_help = "Example: pathlight instrument traces.json --range 95-100")]
    Instrument(instrument::Args),
    /// Learn which calls wait for which, how well that predicts latency, and answer what-if
    #[command(after_help = "Example: pathlight flow traces.json --target p99=300ms")]
    Flow(flow::Args),
    /// Diagnose what is slow, in all requests and in the tail, with aggregate traces
    #[command(visible_alias = "tprof")]
    #[command(after_help = "Example: pathlight diagnosis traces.json --by tag=version")]
    Diagnosis(diagnosis::Args),
    /// Learn what is normal and say which requests are not, and why
    #[command(
        after_help = "Example: pathlight anomaly --train yesterday.json --test today.json --fail-on 10"
    )]
    Anomaly(anomaly::Args),
    /// Show where errors start and stop, and what requests would take without them
    #[command(after_help = "Example: pathlight errors traces.json")]
    Errors(errors::Args),
    /// Show how long messages wait between whoever sends them and whoever receives them
    #[command(after_help = "Example: pathlight queues traces.json")]
    Queues(queues::Args),
    /// Fetch traces from a Jaeger or Tempo into a file
    #[command(
        after_help = "PATHLIGHT_TOKEN in the environment is sent as the bearer token.\n\nExample: pathlight fetch --jaeger http://localhost:16686 --service shop --since 1h -o shop.ndjson.gz"
    )]
    Fetch(fetch::Args),
    /// Summarise traces of any number into one small file that merges with others
    #[command(after_help = "Example: pathlight summarise day1/ -o day1.pathlight")]
    Summarise(summarise::SummariseArgs),
    /// Write traces into files by trace id, so that an engine such as Apache Spark can bring those of one trace together
    #[command(after_help = "Example: pathlight partition traces/ --into 64 -o parts/")]
    Partition(partition::Args),
    /// Merge summaries of different traces
    #[command(after_help = "Example: pathlight merge day1.pathlight day2.pathlight -o both.pathlight")]
    Merge(summarise::MergeArgs),
    /// Say what a summary holds
    #[command(after_help = "Example: pathlight show day1.pathlight --range 95-99")]
    Show(summarise::ShowArgs),
    /// Say whether a candidate is slower than a baseline, by rules; exit status 3 if one is broken
    #[command(
        after_help = "Example: pathlight check --baseline before.json --candidate after.json --fail-on 'p95>10%'"
    )]
    Check(check::Args),
    /// Say what changed from one summary to the next, and since when
    #[command(after_help = "Example: pathlight trend day1.pathlight day2.pathlight day3.pathlight")]
    Trend(trend::Args),
    /// Say what files hold, their formats, and what is wrong with them
    #[command(after_help = "Example: pathlight inspect traces.json")]
    Inspect(inspect::Args),
    /// Write the page with the traces inside, one file that opens anywhere
    #[command(after_help = "Example: pathlight report traces.json -o report.html")]
    Report(report::Args),
    /// Serve a folder with the page, and a Jaeger query service beside it
    #[command(after_help = "Example: pathlight serve dist --jaeger http://localhost:16686")]
    Serve(pathlight_serve::ServeArgs),
    /// Take spans from programs (OTLP over HTTP), keep them in files, and serve the page that follows
    #[command(after_help = "Example: pathlight listen -o spans/")]
    Listen(listen::Args),
    /// Answer the questions of an assistant or another program (Model Context Protocol), over standard input and output or HTTP
    #[command(after_help = "Example: pathlight mcp traces.json --baseline yesterday.json")]
    Mcp(mcp::Args),
    /// Write synthetic traces as Jaeger JSON
    #[command(after_help = "Example: pathlight generate --traces 300 --out traces.json")]
    Generate(generate::Args),
    /// Print completions of the command line for a shell
    #[command(after_help = "Example: pathlight completions bash > /etc/bash_completion.d/pathlight")]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each command, into a folder
    #[command(after_help = "Example: pathlight man -o man1")]
    Man {
        /// The folder
        #[arg(long, short = 'o')]
        out: PathBuf,
    },
}

/// Reason why a command did not do what it was asked to.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Nothing in the input is a trace. Exit status 1.
    #[error("no trace found; pathlight inspect FILE... says what the files hold")]
    NoTrace,
    /// No request is as the options want it; the text says which. Exit status 1.
    #[error("{0}")]
    NoMatch(String),
    /// The command line asks for what cannot be; the text says what and how to put it right. Exit status 2.
    #[error("{0}")]
    Usage(String),
    /// More requests are abnormal than the command line allows. Exit status 3.
    #[error("{} {}", pathlight_base::format::counted(*.0 as u64, "request"), if *.0 == 1 { "is abnormal" } else { "are abnormal" })]
    Abnormal(usize),
    /// Rules are broken. Exit status 3.
    #[error("{}", pathlight_base::format::counted(*.0 as u64, "regression"))]
    Regressed(usize),
    /// Input or output failed. Exit status 2; quiet if it was only the reader of our output who left (`| head`).
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<pathlight_engine::EngineError> for Failure {
    fn from(error: pathlight_engine::EngineError) -> Failure {
        Failure::Usage(error.to_string())
    }
}

impl From<pathlight_engine::flame::TooDeep> for Failure {
    fn from(error: pathlight_engine::flame::TooDeep) -> Failure {
        Failure::Usage(format!("{error} (--json)"))
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Failure {
        Failure::Usage(error.to_string())
    }
}

/// Runs the command line of this process.
pub fn run() -> ExitCode {
    // clap ends the process itself where only help or the version was asked for, and with 2 on a bad line.
    let line = CommandLine::parse();
    if let Err(failure) = input::take_rules(&line.map, line.weight.clone()) {
        return exit_code(Err(failure));
    }
    let result = match line.command {
        Command::Generate(args) => generate::run(&args),
        Command::Anomaly(args) => anomaly::run(&args),
        Command::Endpoints(args) => endpoints::run(&args),
        Command::Fetch(args) => fetch::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Trend(args) => trend::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::CriticalPath(args) => critical_path::run(&args),
        Command::Deployments(args) => deployments::run(&args),
        Command::Instrument(args) => instrument::run(&args),
        Command::Errors(args) => errors::run(&args),
        Command::Queues(args) => queues::run(&args),
        Command::Findings(args) => findings::run(&args),
        Command::Flow(args) => flow::run(&args),
        Command::Heatmap(args) => heatmap::run(&args),
        Command::Histograms(args) => histograms::run(&args),
        Command::Partition(args) => partition::run(&args),
        Command::Report(mut args) => report::run(&mut args),
        Command::Inspect(args) => inspect::run(&args),
        Command::Listen(args) => listen::run(&args),
        Command::Mcp(args) => mcp::run(&args),
        Command::Serve(args) => pathlight_serve::run(&args).map_err(Failure::from),
        Command::Split(args) => split::run(&args),
        Command::Summarise(args) => summarise::summarise(&args),
        Command::Merge(args) => summarise::merge(&args),
        Command::Show(args) => summarise::show(&args),
        Command::Summary(args) => summary::run(&args),
        Command::Diagnosis(args) => diagnosis::run(&args),
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut CommandLine::command(), "pathlight", &mut io::stdout());
            Ok(())
        }
        Command::Man { out } => manual(&out),
    };
    exit_code(result)
}

/// Writes a page for the program and for each of its commands.
fn manual(folder: &Path) -> Result<(), Failure> {
    let written =
        fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(CommandLine::command(), folder));
    written.map_err(|error| Failure::Usage(format!("cannot write to {}: {error}", folder.display())))
}

/// Returns the exit status of a command's result; says on standard error why it is not 0.
fn exit_code(result: Result<(), Failure>) -> ExitCode {
    let status = match &result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Io(error)) if error.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
        Err(Failure::NoTrace | Failure::NoMatch(_)) => 1,
        Err(Failure::Abnormal(_) | Failure::Regressed(_)) => 3,
        Err(Failure::Usage(_) | Failure::Io(_)) => 2,
    };
    if let Err(failure) = result {
        eprintln!("pathlight: {}", harmless(&failure.to_string()));
    }
    ExitCode::from(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        CommandLine::command().debug_assert();
    }

    #[test]
    fn options_of_earlier_versions_are_understood() {
        for line in [
            "pathlight critical-path --band 50-95 traces.json",
            "pathlight compare --band-a 0-50 --band-b 95-100 traces.json",
            "pathlight show --band 50-95 day1.pathlight",
        ] {
            if let Err(error) = CommandLine::try_parse_from(line.split(' ')) {
                panic!("{line}: {error}");
            }
        }
    }

    #[test]
    fn every_command_has_an_example_that_it_understands() {
        for command in CommandLine::command().get_subcommands() {
            let example =
                command.get_after_help().unwrap_or_else(|| panic!("{}", command.get_name())).to_string();
            let (_, line) = example.split_once("Example: ").unwrap();
            // As a shell takes it apart: what is in quotes is one word, and output may be redirected.
            let line = line.split(" > ").next().unwrap_or_default();
            let words = line.split(['"', '\'']).enumerate().flat_map(|(at, part)| match at % 2 {
                0 => part.split_whitespace().collect(),
                _ => vec![part],
            });
            let parsed = CommandLine::try_parse_from(words);
            assert!(
                parsed.is_ok(),
                "{example}: {}",
                parsed.err().map(|error| error.to_string()).unwrap_or_default()
            );
            assert!(line.starts_with(&format!("pathlight {}", command.get_name())), "{example}");
        }
    }

    #[test]
    fn completions_and_manual_pages_name_every_command() {
        let mut script = Vec::new();
        clap_complete::generate(
            clap_complete::Shell::Bash,
            &mut CommandLine::command(),
            "pathlight",
            &mut script,
        );
        let script = String::from_utf8(script).unwrap();
        let folder = std::env::temp_dir().join(format!("pathlight-man-{}", std::process::id()));
        manual(&folder).unwrap();
        for command in CommandLine::command().get_subcommands().map(clap::Command::get_name) {
            assert!(script.contains(command), "{command}");
            assert!(folder.join(format!("pathlight-{command}.1")).is_file(), "{command}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn exit_statuses_are_those_of_the_documentation() {
        let code = |result| format!("{:?}", exit_code(result));
        let status = |n: u8| format!("{:?}", ExitCode::from(n));
        assert_eq!(code(Ok(())), status(0));
        assert_eq!(code(Err(Failure::NoTrace)), status(1));
        assert_eq!(code(Err(Failure::NoMatch("No request passes the filters.".to_owned()))), status(1));
        assert_eq!(code(Err(Failure::Abnormal(2))), status(3));
        assert_eq!(code(Err(Failure::Regressed(1))), status(3));
        assert_eq!(Failure::Abnormal(1).to_string(), "1 request is abnormal");
        assert_eq!(Failure::Abnormal(2).to_string(), "2 requests are abnormal");
        assert_eq!(code(Err(Failure::Usage("no such percentile range".to_owned()))), status(2));
        assert_eq!(code(Err(io::Error::from(io::ErrorKind::NotFound).into())), status(2));
        assert_eq!(code(Err(io::Error::from(io::ErrorKind::BrokenPipe).into())), status(0));
    }
}
