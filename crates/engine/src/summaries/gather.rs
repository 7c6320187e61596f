//! Sums of many root endpoints from several threads: each root endpoint stands packed until all is read, many of them in a
//! temporary file, as which of them have the most time is known at the end only.
//!
//! Unpacked, a root endpoint takes some ten times as much memory, most of it for names and for room in maps of few entries.

use super::fewer::{MOST_NAMES, Plan, without_values};
use super::section::{MOST_ROOTS, Renaming};
use super::{Merger, OtherSettings, Summary};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use pathlight_base::encoding;
use pathlight_trace::Endpoint;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::mem::take;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of packed parts that are held in memory; further ones go into a temporary file.
const MOST_HELD: usize = if cfg!(debug_assertions) { 1 << 16 } else { 64 << 20 };

/// Makes a temporary file.
pub type MakeFile = fn() -> io::Result<File>;

/// Why what was gathered gives no summary.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// Summaries were made with other settings.
    #[error(transparent)]
    Settings(#[from] OtherSettings),
    /// Memory or the temporary file has changed.
    #[error("what was packed cannot be read again")]
    Damaged,
    /// The temporary file cannot be made, written or read.
    #[error("sums of many root endpoints need a temporary file: {0}")]
    File(#[from] io::Error),
}

/// Sums that threads gather.
pub struct Gatherer {
    inner: Mutex<Gathered>,
    make_file: MakeFile,
}

/// The part of a thread in what is gathered.
#[derive(Default)]
pub struct GathererPart {
    merger: Merger,
    /// Root endpoints of what is not joined yet.
    roots: usize,
}

#[derive(Default)]
struct Gathered {
    /// Settings and counts; no root endpoints.
    totals: Summary,
    roots: BTreeMap<Endpoint, PackedRoot>,
    /// Bytes of the parts in memory.
    held: usize,
    /// Holds the other parts, with its length.
    file: Option<(File, u64)>,
    /// By name without values: names with them, as long as they are few.
    names: BTreeMap<Endpoint, BTreeSet<Endpoint>>,
}

/// The sums of a root endpoint.
#[derive(Default)]
struct PackedRoot {
    /// Of all its requests.
    latency_us: u128,
    parts: Vec<Part>,
}

/// Packed sums of some requests of a root endpoint.
enum Part {
    Held(Vec<u8>),
    /// In the temporary file, from this byte on.
    InFile {
        at: u64,
        bytes: usize,
    },
}

fn pack(summary: &Summary) -> Vec<u8> {
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::fast());
    // Writing to memory cannot fail.
    let _ = packer.write_all(&encoding::write(summary));
    let mut bytes = packer.finish().unwrap_or_default();
    bytes.shrink_to_fit();
    bytes
}

fn unpack(bytes: &[u8]) -> Result<Summary, GatherError> {
    let mut out = Vec::new();
    DeflateDecoder::new(bytes).read_to_end(&mut out).map_err(|_| GatherError::Damaged)?;
    encoding::read(&out).map_err(|_| GatherError::Damaged)
}

impl PackedRoot {
    fn joined(self, file: &mut Option<(File, u64)>) -> Result<Summary, GatherError> {
        let mut merger = Merger::default();
        for part in self.parts {
            let bytes = match part {
                Part::Held(bytes) => bytes,
                Part::InFile { at, bytes } => {
                    let (file, _) = file.as_mut().ok_or(GatherError::Damaged)?;
                    let mut read = vec![0; bytes];
                    file.seek(SeekFrom::Start(at))?;
                    file.read_exact(&mut read)?;
                    read
                }
            };
            merger.add(unpack(&bytes)?)?;
        }
        Ok(merger.finish()?)
    }
}

impl Gathered {
    /// Returns the name under which a root endpoint is kept: without values, where names that differ in these are many.
    fn name(&mut self, root: &Endpoint) -> Option<Endpoint> {
        let template = without_values(root)?;
        let names = self.names.entry(template.clone()).or_default();
        if names.len() <= MOST_NAMES {
            names.insert(root.clone());
        }
        (names.len() > MOST_NAMES).then_some(template)
    }

    fn put(
        &mut self,
        root: Endpoint,
        latency_us: u128,
        part: Vec<u8>,
        make_file: MakeFile,
    ) -> io::Result<()> {
        let bytes = part.len();
        if self.file.is_none() && self.held + bytes > MOST_HELD {
            self.file = Some((make_file()?, 0));
        }
        let part = match &mut self.file {
            Some((file, end)) => {
                file.write_all(&part)?;
                let at = std::mem::replace(end, *end + bytes as u64);
                Part::InFile { at, bytes }
            }
            None => {
                self.held += bytes;
                Part::Held(part)
            }
        };
        let into = self.roots.entry(root).or_default();
        into.latency_us = into.latency_us.saturating_add(latency_us);
        into.parts.push(part);
        Ok(())
    }

    /// Adds counts and settings.
    fn count(&mut self, summary: &Summary) -> Result<(), OtherSettings> {
        let Summary { settings, traces, spans, start_us, unknown, .. } = summary;
        let of = Summary {
            settings: settings.clone(),
            traces: *traces,
            spans: *spans,
            start_us: *start_us,
            unknown: unknown.clone(),
            ..Summary::default()
        };
        self.totals = Summary::merge(take(&mut self.totals), of)?;
        Ok(())
    }
}

impl Gatherer {
    /// Returns one that has gathered nothing; `make_file` is asked for a file once there is much.
    pub fn new(make_file: MakeFile) -> Gatherer {
        Gatherer { inner: Mutex::default(), make_file }
    }

    fn lock(&self) -> MutexGuard<'_, Gathered> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a summary to the part of a thread.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn add(&self, part: &mut GathererPart, summary: Summary) -> Result<(), GatherError> {
        part.roots += summary.roots.len();
        part.merger.add(summary)?;
        if part.roots <= MOST_ROOTS {
            return Ok(());
        }
        let GathererPart { merger, .. } = take(part);
        let sum = merger.finish()?;
        if sum.roots.len() > MOST_ROOTS {
            return self.take_apart(sum);
        }
        Ok(part.merger.add(sum)?)
    }

    /// Adds the part of a thread.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn end(&self, part: GathererPart) -> Result<(), GatherError> {
        self.take_apart(part.merger.finish()?)
    }

    /// Packs what a summary has of each root endpoint, and puts it to the others.
    fn take_apart(&self, summary: Summary) -> Result<(), GatherError> {
        let names: BTreeMap<Endpoint, Endpoint> = {
            let mut inner = self.lock();
            inner.count(&summary)?;
            summary.roots.keys().filter_map(|root| Some((root.clone(), inner.name(root)?))).collect()
        };
        let mut packed = Vec::with_capacity(summary.roots.len());
        for (root, part) in summary.into_roots() {
            let latency_us = part.roots.get(&root).map_or(0, |of| of.latency_us.sum);
            let (root, part) = match names.get(&root) {
                Some(to) => (to.clone(), part.renamed(Renaming { from: &root, to })),
                None => (root, part),
            };
            packed.push((root, latency_us, pack(&part)));
        }
        let mut inner = self.lock();
        for (root, latency_us, part) in packed {
            inner.put(root, latency_us, part, self.make_file)?;
        }
        Ok(())
    }

    /// Takes out the sum of all, with [all sums](Summary::with_roots) of the root endpoints with the most time.
    ///
    /// # Errors
    /// [`GatherError`].
    pub fn finish(&self) -> Result<Summary, GatherError> {
        let Gathered { totals, roots, mut file, .. } = take(&mut *self.lock());
        let latencies = roots.iter().map(|(root, of)| (root.clone(), of.latency_us)).collect();
        let plan = Plan::of(&latencies, &BTreeMap::new(), MOST_ROOTS);
        let mut failure = None;
        let parts = roots.into_iter().map_while(|(root, of)| match of.joined(&mut file) {
            Ok(part) => Some((root, part)),
            Err(error) => {
                failure = Some(error);
                None
            }
        });
        let sum = plan.join(parts, BTreeMap::new())?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        let Summary { settings, traces, spans, start_us, unknown, .. } = totals;
        Ok(Summary { settings, traces, spans, start_us, unknown, ..sum })
    }
}
