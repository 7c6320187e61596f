//! `cargo xtask fuzz`: the fuzz targets of `tools/fuzz/`, one a format or kind of archive.
//!
//! libFuzzer, led by coverage, on the compiler of the project: what it needs of LLVM are stable flags, and a C++ compiler.
//! What a run has found worth keeping goes to `tools/fuzz/corpus/`, where the normal tests replay it.
//! `--replay` needs neither: it runs seeded changes of the fixtures, the ones of the normal tests, for as long as asked.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::args::Arguments;
use crate::{Outcome, sh};

pub const USAGE: &str = "[TARGET]... [--minutes N] [--replay]  fuzz the readers, or replay seeded changes";

/// Bytes and inputs of a target that are kept at the most: the tests replay them every time.
const KEPT: (usize, usize) = (200_000, 200);
/// How the seeds that a target writes itself are called.
const SEED: &str = "seed-";

/// What libFuzzer needs to see which code ran, as cargo-fuzz sets it.
const INSTRUMENTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

pub fn run(arguments: &[String]) -> Outcome {
    let arguments = Arguments::parse(arguments, &["--replay"], &["--minutes"])?;
    let minutes: f64 = match arguments.option("--minutes").unwrap_or("10").parse() {
        Ok(minutes) => minutes,
        Err(_) => return Err("--minutes takes a number".to_owned()),
    };
    let seconds = (minutes * 60.0) as u64;
    let mut targets = targets()?;
    if let Some(unknown) = arguments.rest.iter().find(|name| !targets.contains_key(*name)) {
        let names: Vec<&str> = targets.keys().map(String::as_str).collect();
        return Err(format!("there is no target {unknown}; targets are {}", names.join(", ")));
    }
    targets.retain(|name, _| arguments.rest.is_empty() || arguments.rest.contains(name));
    if arguments.flag("--replay") {
        for (target, is_stored) in &targets {
            let test = if *is_stored { "what_is_kept_between_runs" } else { "changed_texts" };
            let mut replay = sh::cargo();
            replay
                .args(["test", "--release", "-p", "pathlight", "--test", "native"])
                .args([test, "--", "--nocapture"])
                .env("PATHLIGHT_REPLAY", format!("{target}:{seconds}s"));
            sh::run(&mut replay)?;
        }
        return Ok(());
    }
    let binaries = build(targets.keys())?;
    for target in targets.keys() {
        let [folder, merged] =
            ["corpus", "merged"].map(|name| sh::target().join("fuzz").join(name).join(target));
        let kept = sh::root().join("tools/fuzz/corpus").join(target);
        for folder in [&folder, &kept] {
            sh::on(folder, std::fs::create_dir_all(folder))?;
        }
        let fuzzer = || {
            let mut fuzz = sh::command(binaries.join(target));
            fuzz.args(["-max_len=65536", "-timeout=60", "-verbosity=0"])
                // A finding is written here.
                .arg(format!("-artifact_prefix={}/", sh::target().join("fuzz").display()));
            fuzz
        };
        let time = format!("-max_total_time={seconds}");
        let fuzzed = sh::run(fuzzer().args([time.as_str(), "-print_final_stats=1"]).args([&folder, &kept]));
        // The first folder gets the seeds, and then what runs code that nothing there runs.
        if merged.exists() {
            sh::on(&merged, std::fs::remove_dir_all(&merged))?;
        }
        sh::on(&merged, std::fs::create_dir_all(&merged))?;
        let merging = sh::run(fuzzer().arg("-merge=1").args([&merged, &kept, &folder]));
        merging.and_then(|()| keep(&merged, &kept))?;
        fuzzed?;
    }
    Ok(())
}

/// Returns the targets, which are the files of a folder; of each, whether it is as in `tests/common/stored.rs`, not as in
/// `tests/common/replay.rs`.
fn targets() -> Outcome<BTreeMap<String, bool>> {
    let folder = sh::root().join("tools/fuzz/fuzz_targets");
    let mut targets = BTreeMap::new();
    for entry in sh::on(&folder, std::fs::read_dir(&folder))? {
        let file = sh::on(&folder, entry)?.path();
        let code = sh::on(&file, std::fs::read_to_string(&file))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        targets.insert(name, code.contains("check_stored("));
    }
    Ok(targets)
}

/// Builds these targets; the folder they are in.
fn build<'a>(targets: impl Iterator<Item = &'a String>) -> Outcome<PathBuf> {
    let version = sh::output(sh::command("rustc").arg("-vV")).unwrap_or_default();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
    let folder = sh::target().join("fuzz");
    // Named, so that the flags are not those of build scripts.
    let mut build = sh::cargo();
    build
        .args([
            "build",
            "--release",
            "--manifest-path",
            "tools/fuzz/Cargo.toml",
            "--target",
            host,
            "--target-dir",
        ])
        .arg(&folder)
        .env("RUSTFLAGS", INSTRUMENTED);
    for target in targets {
        build.args(["--bin", target]);
    }
    sh::run(&mut build)?;
    Ok(folder.join(host).join("release"))
}

/// Replaces the inputs of a folder by those of another: of all sizes, as many as may be kept, without seeds.
fn keep(from: &Path, into: &Path) -> Outcome {
    let mut found = Vec::new();
    for entry in sh::on(from, std::fs::read_dir(from))? {
        let file = sh::on(from, entry)?.path();
        let name = file.file_name().unwrap_or_default().to_owned();
        if !name.to_string_lossy().starts_with(SEED) {
            let bytes = sh::on(&file, std::fs::read(&file))?;
            found.push((bytes.len(), name, bytes));
        }
    }
    found.sort();
    let all = found.len();
    // The smallest alone would be a few bytes each.
    found = found.into_iter().step_by(all.div_ceil(KEPT.1).max(1)).collect();
    let mut room = KEPT.0;
    found.retain(|(size, ..)| room.checked_sub(*size).inspect(|left| room = *left).is_some());
    sh::on(into, std::fs::remove_dir_all(into))?;
    // Git knows no empty folder.
    if !found.is_empty() {
        sh::on(into, std::fs::create_dir_all(into))?;
    }
    for (_, name, bytes) in &found {
        let file = into.join(name);
        sh::on(&file, std::fs::write(&file, bytes))?;
    }
    eprintln!("kept {} inputs of {all}, {} bytes", found.len(), KEPT.0 - room);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_has_an_entry_and_seeds_of_its_name_and_no_other_has() {
        let folder = sh::root().join("tools/fuzz");
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let targets = targets().unwrap();
        for (name, is_stored) in &targets {
            let code = std::fs::read_to_string(folder.join(format!("fuzz_targets/{name}.rs"))).unwrap();
            assert!(code.contains(&format!("sow(\"{name}\")")), "{name} begins with the seeds of another");
            let checks = code.contains(&format!("check_stored(\"{name}\", bytes)"));
            assert_eq!(checks, *is_stored, "{name} checks as another");
            let entry = format!("name = \"{name}\"\npath = \"fuzz_targets/{name}.rs\"");
            assert!(manifest.contains(&entry), "{name} has no entry in Cargo.toml");
        }
        assert_eq!(manifest.matches("[[bin]]").count(), targets.len());
    }

    #[test]
    fn inputs_of_all_sizes_are_kept_and_no_more_than_there_is_room_for() {
        let folder = std::env::temp_dir().join(format!("pathlight-corpus-{}", std::process::id()));
        let (from, into) = (folder.join("from"), folder.join("into"));
        std::fs::create_dir_all(&from).unwrap();
        std::fs::create_dir_all(&into).unwrap();
        std::fs::write(into.join("old"), "x").unwrap();
        for (name, size) in [("seed-1", 1), ("a", KEPT.0 / 2), ("b", KEPT.0 / 2), ("c", 7), ("d", KEPT.0)] {
            std::fs::write(from.join(name), vec![0; size]).unwrap();
        }
        keep(&from, &into).unwrap();
        let mut kept: Vec<_> = std::fs::read_dir(&into).unwrap().map(|e| e.unwrap().file_name()).collect();
        kept.sort();
        assert_eq!(kept, ["a", "c"]);
        // Of many, every so many.
        for size in 1..=2 * KEPT.1 {
            std::fs::write(from.join(format!("of-{size:04}")), vec![1; size]).unwrap();
        }
        keep(&from, &into).unwrap();
        let sizes = std::fs::read_dir(&into).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
        let (count, most) = sizes.fold((0, 0), |(count, most), size| (count + 1, size.max(most)));
        assert!(count <= KEPT.1 && most > KEPT.1 as u64, "{count} inputs of up to {most} bytes");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
