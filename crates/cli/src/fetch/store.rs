//! The file of a fetch: it grows beside its place, with a note of what is in it, so that an interrupted fetch goes on.

use super::super::{Failure, output};
use flate2::Compression;
use flate2::write::GzEncoder;
use pathlight_backend::Scan;
use pathlight_backend::source::jaeger_id;
use pathlight_base::format::harmless;
use pathlight_engine::queues::missing_of;
use pathlight_ingest::{ReadOptions, Reader};
use pathlight_trace::TraceSet;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Task of a fetch: the same after an interruption.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Job {
    /// Without the name and password it was given with.
    pub base: String,
    /// All services that were known when it began, which are `services` then.
    pub all: bool,
    /// An empty name is any service.
    pub services: Vec<String>,
    pub start_us: u64,
    pub end_us: u64,
    pub limit: Option<u32>,
    /// Linked traces that are fetched too, at most.
    #[serde(default)]
    pub linked: Option<u32>,
    /// A hash of the tenants that are asked for; 0 for none. What they are called is written down nowhere.
    #[serde(default)]
    pub tenants: u64,
    /// The table that is asked, of ClickHouse.
    #[serde(default)]
    pub table: Option<String>,
}

/// A part of a job that is in the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Done {
    service: String,
    window: u64,
    traces: u64,
    /// Length of the file with it.
    bytes: u64,
}

pub(super) fn scan(body: &[u8]) -> Scan {
    let mut scan = Scan::default();
    scan.feed(body);
    scan
}

/// Traces that spans link to.
#[derive(Default)]
pub(super) struct LinkedIds {
    /// Canonical ids of what was fetched, and of what was asked for.
    known: BTreeSet<String>,
    /// Canonical ids of what is linked to.
    wanted: BTreeSet<String>,
}

impl LinkedIds {
    /// Takes note of the traces of an answer and of what they link to.
    fn read(&mut self, body: &[u8]) {
        let mut set = TraceSet::new();
        let mut reader = Reader::new("the answer", ReadOptions::default());
        // What cannot be read links to nothing.
        let _ = reader.feed(body, &mut set);
        reader.finish(&mut set);
        if set.seal().is_ok() {
            self.known.extend((0..set.traces().len() as u32).map(|trace| set.trace_id_text(trace)));
            self.wanted.extend(missing_of(&set, 0).into_keys());
        }
    }

    /// Notes that traces were asked for.
    pub fn asked(&mut self, ids: &BTreeSet<String>) {
        let asked: Vec<String> =
            self.wanted.iter().filter(|id| ids.contains(&jaeger_id(id))).cloned().collect();
        self.known.extend(asked);
    }

    /// Returns what is linked to, and neither fetched nor asked for.
    pub fn missing(&self) -> Vec<&String> {
        self.wanted.difference(&self.known).collect()
    }
}

/// Destination of the traces: a file that grows beside its place with a note of what is in it, or standard output.
#[derive(Default)]
pub(super) struct Store {
    file: Option<Growing>,
    done: Vec<Done>,
    /// Ids that are written, so that a trace of several services stands once.
    seen: BTreeSet<String>,
    pub links: LinkedIds,
    /// The trace whose rows are being put, and whether it was not there before.
    last: String,
    is_last_new: bool,
}

/// What is read of a row of ClickHouse.
#[derive(Deserialize)]
struct Row<'a> {
    #[serde(rename = "TraceId", borrow)]
    trace: Cow<'a, str>,
}

struct Growing {
    place: PathBuf,
    part: PathBuf,
    notes: PathBuf,
    /// Lines put since the last note.
    packer: GzEncoder<File>,
}

fn beside(place: &Path, end: &str) -> PathBuf {
    let mut name = place.file_name().unwrap_or_default().to_os_string();
    name.push(end);
    place.with_file_name(name)
}

impl Store {
    /// Opens the file, or what is left of an interrupted fetch of the same; then the job is the one that began.
    pub fn open(place: &Path, job: &mut Job) -> Result<Store, Failure> {
        let mut store = Store::default();
        if place.as_os_str() == "-" {
            return Ok(store);
        }
        let (part, notes) = (beside(place, ".part"), beside(place, ".resume"));
        let fail = |error: io::Error| Failure::Usage(format!("cannot write {}: {error}", part.display()));
        let file = OpenOptions::new().create(true).append(true).read(true).open(&part).map_err(fail)?;
        if file.try_lock().is_err() {
            return Err(Failure::Usage(format!("another fetch is writing {}", part.display())));
        }
        let text = match fs::read_to_string(&notes) {
            Ok(text) => text,
            Err(_) if file.metadata().map_err(fail)?.len() == 0 => String::new(),
            Err(_) => {
                return Err(Failure::Usage(format!(
                    "{} exists but is not from an interrupted fetch (there is no {}); move it away or name another file",
                    part.display(),
                    notes.display()
                )));
            }
        };
        let mut lines = text.lines();
        let begun: Option<Job> = lines.next().and_then(|line| serde_json::from_str(line).ok());
        let same = begun.filter(|begun| {
            let range = |job: &Job| job.end_us.checked_sub(job.start_us);
            let services = begun.all == job.all && (job.all || begun.services == job.services);
            let asked = |job: &Job| (job.base.clone(), job.table.clone(), job.tenants);
            let limits = begun.limit == job.limit && begun.linked == job.linked;
            asked(begun) == asked(job) && services && range(begun) == range(job) && limits
        });
        let mut bytes = 0;
        if let (Some(same), true) = (same, part.exists()) {
            *job = same;
            // The last line may be cut.
            store.done = lines.map_while(|line| serde_json::from_str(line).ok()).collect();
            bytes = store.done.last().map_or(0, |done| done.bytes);
        }
        file.set_len(bytes).map_err(fail)?;
        if bytes > 0 {
            let hours = store.done.len();
            eprintln!("pathlight: going on with a fetch that was interrupted; {hours} parts are there");
            store.remember(&part)?;
        }
        store.file = Some(Growing {
            place: place.to_owned(),
            part,
            notes,
            packer: GzEncoder::new(file, Compression::default()),
        });
        Ok(store)
    }

    /// Reads again which traces are there.
    fn remember(&mut self, part: &Path) -> io::Result<()> {
        let reader = io::BufReader::new(flate2::read::MultiGzDecoder::new(File::open(part)?));
        for line in io::BufRead::lines(reader) {
            let line = line?;
            if let Ok(row) = serde_json::from_str::<Row>(&line) {
                self.seen.insert(row.trace.into_owned());
                continue;
            }
            self.links.read(line.as_bytes());
            let trace: Value = serde_json::from_str(&line).unwrap_or_default();
            match trace["traceID"].as_str() {
                Some(id) => drop(self.seen.insert(id.to_owned())),
                None => self.seen.extend(scan(line.as_bytes()).ids().iter().cloned()),
            }
        }
        Ok(())
    }

    /// Removes the file of a fetch that has not begun: nobody could go on with it.
    pub fn give_up(&self) {
        if let Some(file) = self.file.as_ref().filter(|_| self.done.is_empty()) {
            // If it cannot be removed, the next fetch says so.
            let _ = fs::remove_file(&file.part);
        }
    }

    /// Writes down what is fetched.
    pub fn begin(&mut self, job: &Job) -> Result<(), Failure> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut notes = serde_json::to_string(job)? + "\n";
        // Those of before too: their last line may have been cut.
        for done in &self.done {
            notes += &(serde_json::to_string(done)? + "\n");
        }
        output::write(&file.notes, notes.as_bytes())
    }

    /// Returns how many traces of a window are there; `None` if it is not done.
    pub fn done(&self, service: &str, window: u64) -> Option<u64> {
        self.done.iter().find(|done| done.service == service && done.window == window).map(|done| done.traces)
    }

    /// Puts an answer: a line for each trace of a document that lists them, else one for all.
    pub fn put(&mut self, body: &[u8]) -> Result<(), Failure> {
        let answer: Value = serde_json::from_slice(body)?;
        let mut lines = String::new();
        match answer.get("data").and_then(Value::as_array) {
            Some(traces) => {
                for trace in traces {
                    let is_new = trace["traceID"].as_str().is_none_or(|id| self.seen.insert(id.to_owned()));
                    if is_new {
                        lines += &trace.to_string();
                        lines.push('\n');
                    }
                }
            }
            None => {
                // Fetched again for another of its services.
                let scan = scan(body);
                let is_new = scan.ids().is_empty() || scan.ids().iter().any(|id| !self.seen.contains(id));
                if is_new {
                    self.seen.extend(scan.ids().iter().cloned());
                    lines = answer.to_string() + "\n";
                }
            }
        }
        self.links.read(lines.as_bytes());
        Ok(self.write(&lines)?)
    }

    /// Puts a span as a row of ClickHouse, whose traces come together; returns whether it is the first one of its trace.
    pub fn put_row(&mut self, line: &str) -> Result<bool, Failure> {
        let row: Row = serde_json::from_str(line)?;
        let is_first = self.last != *row.trace;
        if is_first {
            self.is_last_new = self.seen.insert(row.trace.to_string());
            self.last = row.trace.into_owned();
        }
        if self.is_last_new {
            self.write(line)?;
        }
        Ok(is_first)
    }

    fn write(&mut self, lines: &str) -> io::Result<()> {
        match &mut self.file {
            Some(file) => file.packer.write_all(lines.as_bytes()),
            None => io::stdout().lock().write_all(lines.as_bytes()),
        }
    }

    /// Takes note that a window is whole.
    pub fn note(&mut self, service: &str, window: u64, traces: u64) -> Result<(), Failure> {
        let mut done = Done { service: service.to_owned(), window, traces, bytes: 0 };
        if let Some(file) = &mut self.file {
            // A member of its own, so that the file is whole up to here.
            file.packer.try_finish()?;
            let end = file.packer.get_ref().try_clone()?;
            done.bytes = end.metadata()?.len();
            file.packer = GzEncoder::new(end, Compression::default());
            let mut notes = OpenOptions::new().append(true).open(&file.notes)?;
            writeln!(notes, "{}", serde_json::to_string(&done)?)?;
        }
        self.done.push(done);
        Ok(())
    }

    /// Returns how many traces were found so far.
    pub fn found(&self) -> u64 {
        if self.seen.is_empty() {
            return self.done.iter().map(|done| done.traces).sum();
        }
        self.seen.len() as u64
    }

    /// Puts the file into its place; returns the number of traces found, or of lines written if each is one trace.
    pub fn finish(self) -> Result<u64, Failure> {
        let found = self.found();
        if let Some(Growing { place, part, notes, packer }) = self.file {
            drop(packer.finish()?);
            if found == 0 {
                // What an earlier fetch has left stays.
                fs::remove_file(part)?;
                fs::remove_file(notes)?;
                return Ok(0);
            }
            fs::rename(&part, &place).map_err(|error| {
                Failure::Usage(harmless(&format!("cannot write {}: {error}", place.display())))
            })?;
            fs::remove_file(notes)?;
        }
        Ok(found)
    }
}
