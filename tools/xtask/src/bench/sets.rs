//! The generated sets: fixed seeds, so that two runs measure the same bytes.

use std::path::{Path, PathBuf};

use crate::{Outcome, build, sh};

/// Files of a run, in `target/bench`.
pub struct Sets {
    pub folder: PathBuf,
    /// One trace, and many: name and file.
    pub ingest: Vec<(&'static str, String)>,
    /// One trace of more and more spans, by shape.
    pub growth: Vec<(&'static str, Vec<String>)>,
    /// Many traces, a million spans in all.
    pub million: String,
    /// The same of a hundred thousand.
    pub hundred_thousand: String,
}

/// Spans of a trace of a web shop, so that 9,000 of them have a million.
const SPANS: &str = "111";

/// Traces of `small/`, one a file.
const SMALL: u64 = 2000;

impl Sets {
    /// Writes what is missing.
    pub fn generate(quick: bool) -> Outcome<Self> {
        let folder = sh::target().join(if quick { "bench/quick" } else { "bench/full" });
        let less = if quick { 20 } else { 1 };
        let binary = build::native()?;
        sh::on(&folder, std::fs::create_dir_all(folder.join("small")))?;
        let write = |name: &str, words: &[&str]| -> Outcome<String> {
            let path = folder.join(name);
            if !path.is_file() {
                let fresh = path.with_extension("new");
                sh::run(sh::command(&binary).arg("generate").args(words).arg("--out").arg(&fresh))?;
                sh::on(&path, std::fs::rename(&fresh, &path))?;
            }
            Ok(path.to_string_lossy().into_owned())
        };
        let mut ingest = Vec::new();
        let mut growth = Vec::new();
        for (name, shape) in [("fan-out", "wide"), ("chain", "deep"), ("mixed", "mixed")] {
            let mut files = Vec::new();
            for spans in [1000, 10_000, 100_000, 1_000_000].map(|spans| spans / less) {
                let words = ["--traces", "1", "--shape", shape, "--seed", "5", "--spans", &spans.to_string()];
                files.push(write(&format!("{name}-{spans}.json"), &words)?);
            }
            let largest = files.last().cloned().unwrap_or_default();
            sh::on(&folder, link(Path::new(&largest), &folder.join(format!("{name}.json"))))?;
            ingest.push((name, largest));
            growth.push((name, files));
        }
        let many = |name: &str, traces: u64, seed: &str| {
            let traces = (traces / less).to_string();
            write(name, &["--shape", "mixed", "--spans", SPANS, "--traces", &traces, "--seed", seed])
        };
        let million = many("million.json", 9000, "1")?;
        let hundred_thousand = many("hundred-thousand.json", 900, "2")?;
        many("quarter.json", 2250, "3")?;
        many("half-a.json", 1125, "4")?;
        many("half-b.json", 1125, "5")?;
        ingest.push(("9,000 traces", million.clone()));
        let packed = folder.join("hundred-thousand.json.gz");
        if !packed.is_file() {
            let text = sh::on(&packed, std::fs::read(&hundred_thousand))?;
            sh::on(&packed, std::fs::write(&packed, build::gzip(&text)?))?;
        }
        for seed in 0..SMALL / less {
            let words = ["--shape", "mixed", "--spans", "50", "--traces", "1", "--seed", &seed.to_string()];
            let path = folder.join(format!("small/{seed}.json"));
            if !path.is_file() {
                let mut generate = sh::command(&binary);
                let text = sh::output(generate.arg("generate").args(words)).ok_or("generate does not run")?;
                sh::on(&path, std::fs::write(&path, text))?;
            }
        }
        Ok(Self { folder, ingest, growth, million, hundred_thousand })
    }
}

/// A second name for a file.
fn link(file: &Path, name: &Path) -> std::io::Result<()> {
    let _ = std::fs::remove_file(name);
    std::fs::hard_link(file, name)
}
