//! Where traces come from: the program that this crate is part of reads files and asks services.

use crate::data::Loaded;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A Jaeger or Tempo, and what is wanted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchFrom {
    /// Its base address.
    pub address: String,
    /// Whether it is a Tempo.
    pub is_tempo: bool,
    /// The service whose traces are wanted; `None`: of all services.
    pub service: Option<String>,
    /// Time to look back, as `30m`.
    pub since: String,
    /// At most this many traces.
    pub limit: u32,
}

/// Reads traces.
pub trait Source: Send + Sync + 'static {
    /// Returns the files that paths mean, those in folders too.
    ///
    /// # Errors
    /// One of them cannot be read.
    fn list(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, String>;

    /// Loads files as group 0 and those to compare with as group 1, and counts what is read.
    ///
    /// # Errors
    /// There is no trace in them, or memory ends.
    fn load(&self, groups: [&[PathBuf]; 2], progress: &LoadProgress) -> Result<Loaded, String>;

    /// Fetches traces and loads them as group 0, with files to compare with as group 1.
    ///
    /// # Errors
    /// The service does not answer or has none, or as [`load`](Self::load).
    fn fetch(
        &self,
        from: &FetchFrom,
        baseline: &[PathBuf],
        progress: &LoadProgress,
    ) -> Result<Loaded, String>;
}

/// How far a load is.
#[derive(Debug, Default)]
pub struct LoadProgress {
    /// Bytes that were read.
    pub read: AtomicU64,
    /// Bytes of all files; 0 while that is not known.
    pub total: AtomicU64,
}

impl LoadProgress {
    /// Begins anew.
    pub fn begin(&self) {
        self.read.store(0, Relaxed);
        self.total.store(0, Relaxed);
    }

    /// Returns what to say to a client that waits for a tool.
    pub fn words(&self, tool: &str) -> String {
        let [read, total] = [&self.read, &self.total].map(|bytes| bytes.load(Relaxed));
        if total == 0 || read >= total {
            return format!("{tool}: computing");
        }
        let [read, total] = [read, total].map(pathlight_base::format::bytes);
        format!("{tool}: {read} of {total} read")
    }
}
