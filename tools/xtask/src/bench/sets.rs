//! The generated sets: fixed seeds, so that two runs measure the same bytes.

use std::path::{Path, PathBuf};

use crate::{Outcome, build, files, sh};

/// Files of a run, in `target/bench`.
pub struct Sets {
    pub folder: PathBuf,
    /// One trace, and many: name and file.
    pub ingest: Vec<(&'static str, String)>,
    /// One trace of more and more spans, by shape.
    pub growth: Vec<(&'static str, Vec<String>)>,
    /// Many traces, a million spans in all.
    pub million: String,
    /// A folder with as many in eight files.
    pub eight: PathBuf,
    /// The same of a hundred thousand.
    pub hundred_thousand: String,
}

/// Spans of a trace of a web shop, so that 9,000 of them have a million.
const SPANS: &str = "111";

/// Traces of `small/`, one a file.
const SMALL: u64 = 2000;

/// Where sets are, and what makes them.
struct Maker {
    folder: PathBuf,
    binary: PathBuf,
    /// What their sizes are divided by.
    less: u64,
}

impl Maker {
    fn new(quick: bool) -> Outcome<Maker> {
        let folder = sh::target().join(if quick { "bench/quick" } else { "bench/full" });
        let maker = Maker { folder, binary: build::native()?, less: if quick { 20 } else { 1 } };
        for folder in ["small", "eight"] {
            sh::on(&maker.folder, std::fs::create_dir_all(maker.folder.join(folder)))?;
        }
        Ok(maker)
    }

    /// Writes a set if it is missing; returns its path.
    fn write(&self, name: &str, words: &[&str]) -> Outcome<String> {
        let path = self.folder.join(name);
        if !path.is_file() {
            let fresh = path.with_extension("new");
            sh::run(sh::command(&self.binary).arg("generate").args(words).arg("--out").arg(&fresh))?;
            sh::on(&path, std::fs::rename(&fresh, &path))?;
        }
        Ok(path.to_string_lossy().into_owned())
    }

    fn many(&self, name: &str, traces: u64, seed: &str) -> Outcome<String> {
        let traces = (traces / self.less).to_string();
        self.write(name, &["--shape", "mixed", "--spans", SPANS, "--traces", &traces, "--seed", seed])
    }

    fn million(&self) -> Outcome<String> {
        self.many("million.json", 9000, "1")
    }
}

/// Writes the set of five million spans in all, if it is missing.
pub fn five_million(quick: bool) -> Outcome<String> {
    Maker::new(quick)?.many("five-million.json", 45_000, "6")
}

/// Writes the set of many traces with a million spans in all, if it is missing; returns its file.
pub fn million(quick: bool) -> Outcome<String> {
    Maker::new(quick)?.million()
}

impl Sets {
    /// Writes what is missing.
    pub fn generate(quick: bool) -> Outcome<Self> {
        let maker = Maker::new(quick)?;
        let (folder, less) = (maker.folder.clone(), maker.less);
        let mut ingest = Vec::new();
        let mut growth = Vec::new();
        for (name, shape) in [("fan-out", "wide"), ("chain", "deep"), ("mixed", "mixed")] {
            let mut files = Vec::new();
            for spans in [1000, 10_000, 100_000, 1_000_000].map(|spans| spans / less) {
                let words = ["--traces", "1", "--shape", shape, "--seed", "5", "--spans", &spans.to_string()];
                files.push(maker.write(&format!("{name}-{spans}.json"), &words)?);
            }
            let largest = files.last().cloned().unwrap_or_default();
            sh::on(&folder, link(Path::new(&largest), &folder.join(format!("{name}.json"))))?;
            ingest.push((name, largest));
            growth.push((name, files));
        }
        let million = maker.million()?;
        let hundred_thousand = maker.many("hundred-thousand.json", 900, "2")?;
        maker.many("quarter.json", 2250, "3")?;
        maker.many("half-a.json", 1125, "4")?;
        maker.many("half-b.json", 1125, "5")?;
        let requests = (20_000 / less).to_string();
        let words = ["--shape", "mixed", "--spans", "50", "--traces", &requests, "--seed", "1"];
        maker.write("twenty-thousand.json", &words)?;
        ingest.push(("9,000 traces", million.clone()));
        for (name, plain) in [("hundred-thousand.json.gz", &hundred_thousand), ("million.json.gz", &million)]
        {
            let packed = folder.join(name);
            if !packed.is_file() {
                let text = sh::on(&packed, std::fs::read(plain))?;
                sh::on(&packed, std::fs::write(&packed, files::gzip(&text)?))?;
            }
        }
        for seed in 0..SMALL / less {
            let words = ["--shape", "mixed", "--spans", "50", "--traces", "1", "--seed", &seed.to_string()];
            let path = folder.join(format!("small/{seed}.json"));
            if !path.is_file() {
                let mut generate = sh::command(&maker.binary);
                let text = sh::output(generate.arg("generate").args(words)).ok_or("generate does not run")?;
                sh::on(&path, std::fs::write(&path, text))?;
            }
        }
        for seed in 11..19 {
            maker.many(&format!("eight/{seed}.json"), 1125, &seed.to_string())?;
        }
        let eight = folder.join("eight");
        Ok(Self { folder, ingest, growth, million, eight, hundred_thousand })
    }
}

/// Returns a second name for a file.
fn link(file: &Path, name: &Path) -> std::io::Result<()> {
    let _ = std::fs::remove_file(name);
    std::fs::hard_link(file, name)
}
