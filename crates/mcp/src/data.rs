//! The loaded traces, and what is remembered of them between calls.

use pathlight_engine::findings::{Finding, FindingsReport, ask_findings};
use pathlight_engine::queries::{self, Query};
use pathlight_engine::requests::{Filter, Selection};
use pathlight_engine::run::Ask;
use pathlight_engine::run::native::NativePool;
use pathlight_ingest::FileReport;
use pathlight_view::address::Address;
use pathlight_view::asked::not_empty;
use pathlight_view::findings::fingerprint;
use pathlight_view::findings::links;
use std::any::Any;
use std::collections::BTreeMap;

use crate::args::Which;

/// Reports that are kept: those of one conversation.
const KEPT: usize = 48;
/// The traces that are looked at.
pub const SET: u8 = 0;
/// The traces that they are compared with.
pub const BASELINE: u8 = 1;

/// What a source has read.
pub struct Loaded {
    /// All traces: group 0 is the set that is looked at, group 1 the baseline.
    pub pool: NativePool,
    /// One for each file that could be opened.
    pub files: Vec<FileReport>,
}

/// Loaded traces.
pub struct Data {
    /// Runs the queries.
    pub pool: NativePool,
    /// One for each file.
    pub files: Vec<FileReport>,
    /// Whether there is something to compare with.
    pub has_baseline: bool,
    /// Tells this state from what was loaded before and after it.
    pub generation: u64,
    /// Records of the answer that were given before.
    pub from: usize,
    reports: BTreeMap<Vec<u8>, Box<dyn Any + Send>>,
    /// Messages of the kept reports, oldest first.
    order: Vec<Vec<u8>>,
    /// Findings by handle, of all that were asked for.
    findings: BTreeMap<String, Finding>,
}

impl Data {
    /// Returns what was loaded as data without any report.
    pub fn new(loaded: Loaded, has_baseline: bool, generation: u64) -> Data {
        Data {
            pool: loaded.pool,
            files: loaded.files,
            has_baseline,
            generation,
            from: 0,
            reports: BTreeMap::new(),
            order: Vec::new(),
            findings: BTreeMap::new(),
        }
    }

    /// Returns the findings about requests, with those that come late; each is remembered by its handle.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn findings(&mut self, selection: Selection) -> Result<FindingsReport, String> {
        let (baseline, selection) = self.with_baseline(selection);
        let report = ask_findings(self, selection, baseline)?;
        for finding in &report.findings {
            self.findings.insert(handle(finding), finding.clone());
        }
        Ok(report)
    }

    /// Returns the same requests of the baseline, if there is one, and the requests, where that says what is usual.
    pub fn with_baseline(&self, selection: Selection) -> (Option<Selection>, Selection) {
        if !self.has_baseline {
            return (None, selection);
        }
        let baseline = Selection { group: BASELINE, ..selection.clone() };
        let (baseline, selection) = baseline.as_baseline_of(selection);
        (Some(baseline.without_only()), selection)
    }

    /// Returns which requests the arguments of a tool mean.
    ///
    /// # Errors
    /// How to write an argument, or what is not known.
    pub fn selection(&mut self, which: &Which) -> Result<Selection, String> {
        let mut selection = Selection { group: SET, ..Selection::default() };
        if let Some(handle) = &which.finding {
            selection = self.selection_of(handle)?;
        }
        let selection = which.asked.of(selection)?;
        let (_, selection) = self.with_baseline(selection);
        let facts = self.ask(queries::Range { selection: selection.clone() })?.facts;
        not_empty(&selection, &facts)?;
        Ok(selection)
    }

    /// Returns the requests that a finding is about: those that its subject hits, else those that its button shows.
    fn selection_of(&mut self, handle: &str) -> Result<Selection, String> {
        if !self.findings.contains_key(handle) {
            self.findings(Selection::default())?;
        }
        let finding = self.findings.get(handle).ok_or_else(|| {
            format!("no finding {handle:?} of these traces: call findings and take one of its handles")
        })?;
        let mut address = Address::default();
        match (finding.hit.filter(|hit| hit.hit > 0), finding.subject()) {
            (Some(_), Some(_)) => links::show_hit(finding, &mut address),
            _ => links::show(finding, &mut address),
        }
        let mut selection = Selection { group: SET, ..address.selection() };
        if let Some(example) = finding.example.as_ref().filter(|_| selection == Selection::default()) {
            // What it shows is a place in all requests; its example is one of those it is about.
            selection.filters.push(only(SET, &example.trace_id, &example.root_span_id));
        }
        Ok(selection)
    }
}

/// A report is computed once.
impl Ask for Data {
    /// The words of the engine, such as that memory has ended.
    type Error = String;

    fn ask<Q: Query>(&mut self, query: Q) -> Result<Q::Report, String> {
        let message = query.to_message();
        let known = self.reports.get(&message).and_then(|report| report.downcast_ref::<Q::Report>());
        if let Some(report) = known {
            return Ok(report.clone());
        }
        let report = self.pool.run(query).map_err(|error| error.to_string())?;
        if self.order.len() >= KEPT {
            self.reports.remove(&self.order.remove(0));
        }
        self.order.push(message.clone());
        self.reports.insert(message, Box::new(report.clone()));
        Ok(report)
    }
}

/// Returns the filter that keeps one request.
pub fn only(group: u8, trace_id: &str, root_span_id: &str) -> Filter {
    let requests = vec![(trace_id.to_owned(), root_span_id.to_owned())];
    Filter::Only(pathlight_engine::requests::OnlyFilter { group, requests })
}

/// Returns the handle of a finding: the same in every run over any traces in which it is found.
pub fn handle(finding: &Finding) -> String {
    format!("f-{}", fingerprint::short(finding))
}
