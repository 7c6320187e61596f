//! `cargo xtask soak`: what takes hours or much memory and is tried before a release.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::args::Arguments;
use crate::files::read_folder;
use crate::{Outcome, build, sh, tools};

pub const USAGE: &str = "[builds|page]... [--only NAME]  two equal builds; long tests of page and programs, in Chromium and Firefox";

pub fn run(arguments: &[String]) -> Outcome {
    let arguments = Arguments::parse(arguments, &[], &["--only"])?;
    let parts = ["builds", "page"];
    if let Some(unknown) = arguments.rest.iter().find(|part| !parts.contains(&part.as_str())) {
        return Err(format!("there is no part {unknown}; parts are {}", parts.join(", ")));
    }
    let wanted = |part: &str| arguments.rest.is_empty() || arguments.rest.iter().any(|given| given == part);
    if wanted("builds") {
        builds()?;
    }
    if wanted("page") {
        page(arguments.option("--only"))?;
    }
    Ok(())
}

/// Builds the page twice, the second time with nothing left of the first, and compares every file.
fn builds() -> Outcome {
    build::build(false, build::Parts::Page)?;
    let first = files(&build::dist())?;
    for made in [sh::target().join(tools::WASM).join("page"), sh::target().join("page")] {
        sh::on(&made, fs::remove_dir_all(&made))?;
    }
    build::build(false, build::Parts::Page)?;
    let second = files(&build::dist())?;
    let names = first.keys().chain(second.keys());
    let differ: Vec<&str> =
        names.filter(|name| first.get(*name) != second.get(*name)).map(String::as_str).collect();
    if differ.is_empty() {
        println!("two builds: all {} files are equal", first.len());
        return Ok(());
    }
    Err(format!("two builds differ in {}", differ.join(", ")))
}

/// Returns every file of a folder by its name.
fn files(folder: &Path) -> Outcome<BTreeMap<String, Vec<u8>>> {
    let mut all = BTreeMap::new();
    read_folder(folder, "dist", &mut all)?;
    Ok(all)
}

fn page(only: Option<&str>) -> Outcome {
    let driver = tools::chromedriver()?;
    build::native()?;
    if !build::dist().join("index.html").is_file() {
        build::build(false, build::Parts::Page)?;
    }
    let mut tests = sh::cargo();
    tests.args(["run", "--quiet", "-p", "e2e", "--", "--ignored"]).args(only).env("CHROMEDRIVER", driver);
    sh::run(&mut tests)
}
