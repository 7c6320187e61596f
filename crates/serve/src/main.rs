//! `pathlight serve` as a program of its own.

use clap::Parser;
use std::process::ExitCode;

/// Serves a folder with the page, and a Jaeger query service beside it.
#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    serve: pathlight_serve::ServeArgs,
}

fn main() -> ExitCode {
    match pathlight_serve::run(&CommandLine::parse().serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pathlight-serve: {error}");
            ExitCode::from(2)
        }
    }
}
