//! `cargo xtask serve`: build, then serve the page here.

use crate::args::Arguments;
use crate::{Outcome, build, sh};

pub const USAGE: &str = "[--port N] [--jaeger URL] [--fast]  build, then serve dist/ on this machine";

pub fn run(arguments: &[String]) -> Outcome {
    let arguments = Arguments::parse(arguments, &["--fast"], &["--port", "--jaeger"])?;
    build::build(arguments.flag("--fast"), build::Parts::Page)?;
    // The server alone: the rest of the native binary would take another minute.
    let mut serve = sh::cargo();
    serve
        .args(["run", "--quiet", "--package", "pathlight-serve", "--"])
        .arg(build::dist())
        .args(["--port", arguments.option("--port").unwrap_or("8080")]);
    if let Some(jaeger) = arguments.option("--jaeger") {
        serve.args(["--jaeger", jaeger]);
    }
    sh::run(&mut serve)
}
