//! Builds, serves, tests and measures Pathlight: `cargo xtask COMMAND`. The only place that knows tools.
//!
//! One file a command. A new command is a new file with a `run(&[String]) -> Outcome` and a row in [`COMMANDS`].

mod about;
mod args;
mod bench;
mod build;
mod files;
mod fuzz;
mod guide;
mod html;
mod library;
mod serve;
mod sh;
mod single;
mod soak;
mod structure;
mod supply;
mod test;
mod tools;
mod workflows;

use std::process::ExitCode;

/// What a command ends with; the error is a sentence for the terminal.
type Outcome<T = ()> = Result<T, String>;

/// Name, usage and entry of a command.
type Command = (&'static str, &'static str, fn(&[String]) -> Outcome);

/// The commands, in the order the help lists them.
const COMMANDS: &[Command] = &[
    ("serve", serve::USAGE, serve::run),
    ("build", build::USAGE, build::run),
    ("test", test::USAGE, test::run),
    ("screenshots", test::SCREENSHOTS, test::screenshots),
    ("bench", bench::USAGE, bench::run),
    ("fuzz", fuzz::USAGE, fuzz::run),
    ("soak", soak::USAGE, soak::run),
    ("sbom", supply::USAGE, supply::run),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("help", String::as_str);
    let Some((_, _, run)) = COMMANDS.iter().find(|(known, ..)| *known == name) else {
        println!("cargo xtask COMMAND\n");
        for (name, usage, _) in COMMANDS {
            println!("  {name:11} {usage}");
        }
        return ExitCode::from(if matches!(name, "help" | "--help" | "-h") { 0 } else { 2 });
    };
    match run(&arguments[1..]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask {name}: {message}");
            ExitCode::FAILURE
        }
    }
}
