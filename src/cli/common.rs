//! What most commands share: input files, the analysis root, settings, output.

use super::Failure;
use super::input;
use crate::engine::address::parse_band;
use crate::engine::native::Pool;
use crate::engine::{Band, Overlap, Report, Request, Scope, Subject};
use std::io::Write as _;
use std::path::PathBuf;

/// Options of every analysis.
#[derive(Debug, clap::Args)]
pub struct Common {
    /// Files, folders (recursive) or `-`
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The analysis root's service (default: the trace root of each trace)
    #[arg(long, requires = "operation")]
    pub service: Option<String>,
    /// The analysis root's operation
    #[arg(long, requires = "service")]
    pub operation: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Write to this file instead of standard output
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Percentiles of latency: `95-99` for a band, `P95` for everything up to it
    #[arg(long)]
    pub band: Option<String>,
    /// default, paper, upstream or strict
    #[arg(long, default_value = "default")]
    pub preset: String,
    /// Longest overlap of siblings that passes for clock skew
    #[arg(long)]
    pub overlap_us: Option<u64>,
    /// Greatest such overlap as a share of the parent's duration, 0.01 for 1 %
    #[arg(long)]
    pub overlap_share: Option<f64>,
    /// Threads (default: one a core)
    #[arg(long)]
    pub threads: Option<usize>,
}

impl Common {
    /// Loads the input.
    ///
    /// # Errors
    /// [`Failure::NoTrace`] if there is none.
    pub fn load(&self) -> Result<Pool, Failure> {
        load(&self.files, self.threads)
    }

    /// Which requests, and how their paths are found.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown preset.
    pub fn scope(&self) -> Result<Scope, Failure> {
        let mut overlap = Overlap::preset(&self.preset).ok_or_else(|| {
            Failure::Usage(format!("no preset {:?}: take default, paper, upstream or strict", self.preset))
        })?;
        if let Some(overlap_us) = self.overlap_us {
            overlap.overlap_us = overlap_us;
        }
        if let Some(share) = self.overlap_share {
            if !(0.0..=1.0).contains(&share) {
                return Err(Failure::Usage("--overlap-share takes a number from 0 to 1".to_owned()));
            }
            overlap.share_ppm = (share * 1e6).round() as u64;
        }
        let subject = match (&self.service, &self.operation) {
            (Some(service), Some(operation)) => {
                Subject::Endpoint { service: service.clone(), operation: operation.clone() }
            }
            _ => Subject::TraceRoots,
        };
        Ok(Scope { subject, overlap, ..Scope::default() })
    }

    /// The band of latency.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it cannot be read.
    pub fn band(&self) -> Result<Band, Failure> {
        match &self.band {
            None => Ok(Band::ALL),
            Some(text) => parse_band(text).ok_or_else(|| {
                Failure::Usage(format!(
                    "no band {text:?}: write 95-99 for a band, P95 for everything up to it"
                ))
            }),
        }
    }

    /// Prints a result, or writes it to the file asked for.
    ///
    /// # Errors
    /// [`Failure::Io`].
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        match &self.out {
            Some(path) => std::fs::write(path, text)
                .map_err(|error| Failure::Usage(format!("cannot write {}: {error}", path.display()))),
            None => Ok(std::io::stdout().lock().write_all(text.as_bytes())?),
        }
    }
}

/// Loads files into a pool.
///
/// # Errors
/// [`Failure::NoTrace`] if there is no trace in them.
pub fn load(files: &[PathBuf], threads: Option<usize>) -> Result<Pool, Failure> {
    let pool = Pool::of(input::load(files, threads)?).map_err(Failure::from)?;
    if pool.sessions().iter().all(|session| session.set.traces().is_empty()) {
        return Err(Failure::NoTrace);
    }
    Ok(pool)
}

/// Asks a pool.
///
/// # Errors
/// [`Failure::Usage`] with the engine's sentence.
pub fn ask(pool: &mut Pool, request: Request) -> Result<Report, Failure> {
    pool.ask(request).map_err(Failure::from)
}
