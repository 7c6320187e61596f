//! Sets of traces: how bytes become one.

use crate::options::{self, ReadSettings};
use crate::trouble::{Trouble, TroubleKind};
use pathlight_engine::pool::Limits;
use pathlight_engine::run::Session;
use pathlight_ingest::{Ended, ErrorKind, FileReport, KeptTraces, ReadOptions, ReadRules, Reader};
use pathlight_view::reading::file_errors::file_errors;
use serde::Serialize;

/// Reads inputs one after the other into a set.
pub struct SetReader {
    session: Session,
    options: ReadOptions,
    reader: Option<Reader>,
    files: Vec<FileReport>,
}

impl SetReader {
    /// Returns a reader with options as JSON, see `ReadSettings`.
    ///
    /// # Errors
    /// An option is not known or not what it should be.
    pub fn new(options: &str) -> Result<SetReader, Trouble> {
        let ReadSettings { sample, weight } = options::read(options)?;
        let keep = match sample {
            None | Some(1) => KeptTraces::All,
            Some(0) => return Err(Trouble::option("sample is a whole number from 1 up")),
            Some(of) => KeptTraces::Sample(of),
        };
        let rules = ReadRules { maps: Vec::new(), weight_key: weight };
        let mut session = Session::new();
        session.set.set_limit(usize::try_from(Limits::default().memory).unwrap_or(usize::MAX));
        Ok(SetReader {
            session,
            options: ReadOptions { keep, rules, ..ReadOptions::default() },
            reader: None,
            files: Vec::new(),
        })
    }

    /// Begins an input of this name.
    pub fn open(&mut self, name: &str) {
        self.close();
        self.reader = Some(Reader::new(name, self.options.clone()));
    }

    /// Feeds the next bytes of the input, which `fill` writes; returns whether more of it is wanted.
    ///
    /// # Errors
    /// Memory ended.
    pub fn feed(&mut self, bytes: usize, fill: impl FnMut(&mut [u8])) -> Result<bool, Trouble> {
        let Some(reader) = &mut self.reader else { return Ok(false) };
        match reader.feed_by(bytes, &mut self.session, fill) {
            Ok(()) => Ok(true),
            Err(error) if error.kind == ErrorKind::Memory => Err(Trouble::memory()),
            // The account of the input says so, once it is closed.
            Err(_) => Ok(false),
        }
    }

    /// Has no more room taken: memory is about to end.
    pub fn is_full(&mut self) {
        self.session.set.set_limit(1);
    }

    /// Ends the input.
    pub fn close(&mut self) {
        if let Some(reader) = self.reader.take() {
            self.files.push(reader.finish(&mut self.session));
        }
    }

    /// Returns traces and spans so far; a trace that several inputs have counts once for each.
    pub fn counts(&self) -> (u64, u64) {
        let open = self.reader.as_ref().map(Reader::progress);
        let read = self.files.iter().map(|file| (file.traces, file.spans));
        let all = read.chain(open.map(|progress| (progress.traces, progress.spans)));
        all.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Ends reading.
    ///
    /// # Errors
    /// Nothing that was read is a trace, or memory ended.
    pub fn finish(mut self) -> Result<LoadedSet, Trouble> {
        self.close();
        let SetReader { mut session, files, .. } = self;
        session.set.seal().map_err(|_| Trouble::memory())?;
        session.invalidate();
        if session.set.traces().is_empty() && session.summaries.is_empty() {
            let failed = files.iter().find_map(|file| match &file.ended {
                Ended::Failed(error) => Some(Trouble::of_input(error)),
                _ => None,
            });
            return Err(failed.unwrap_or_else(|| {
                Trouble::new(
                    TroubleKind::NoTraces,
                    "No trace was read.",
                    "Give traces in one of the formats that docs/definitions/ingest.md lists.",
                )
            }));
        }
        Ok(LoadedSet { session, files })
    }
}

/// What was odd in an input that gave traces all the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// What it is, a sentence.
    pub message: String,
    /// Input and place.
    pub detail: String,
    /// What to do, a sentence.
    pub next_step: String,
}

/// What a set holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SetFacts {
    /// Traces, those of summaries too.
    pub traces: u64,
    /// Spans, without copies.
    pub spans: u64,
    /// Inputs that gave no trace, or only a part.
    pub warnings: Vec<Warning>,
}

/// A set of traces that answers questions.
pub struct LoadedSet {
    pub(crate) session: Session,
    pub(crate) files: Vec<FileReport>,
}

impl LoadedSet {
    /// Returns what it holds.
    pub fn facts(&self) -> SetFacts {
        let set = &self.session.set;
        let sums = self.session.summaries.iter().map(|loaded| &loaded.summary);
        let (traces, spans) =
            sums.fold((0, 0), |(traces, spans), sum| (traces + sum.traces, spans + sum.spans));
        let warnings = file_errors(&self.files).into_iter();
        SetFacts {
            traces: traces + set.traces().len() as u64,
            spans: spans + set.spans() as u64,
            warnings: warnings
                .map(|error| Warning {
                    message: error.message,
                    detail: error.detail,
                    next_step: error.next_step,
                })
                .collect(),
        }
    }
}
