//! Summaries of traces that are loaded beside traces or in place of them: queries that need no spans take their reports
//! from them.
//!
//! A worker that reads a summary keeps it in its [`TraceSet`](pathlight_trace::TraceSet). A plan has the workers
//! join theirs by group once for a state of the data, and keeps what comes back with the cuts.

use crate::EngineError;
use crate::requests::{Filter, RequestType, RootEndpoint, Selection};
use crate::run::Session;
use crate::run::pass::Pass;
use crate::run::workers::Workers;
use crate::summaries::{Choice, Merger, OtherSettings, Summary, read};
use pathlight_trace::LoadedSummary;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The summaries of all workers, joined.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Joined {
    /// By group how many were joined, and their sum; none if their settings differ.
    pub groups: BTreeMap<u8, (u64, Option<Summary>)>,
}

/// A summary with the name of its file.
pub(crate) type Named = (String, Summary);

/// Unpacks a summary as [`Options::unpack`](pathlight_ingest::Options::unpack) wants it.
///
/// # Errors
/// Why it cannot be, in words.
pub fn unpack(bytes: &[u8]) -> Result<LoadedSummary, String> {
    let summary = read(bytes).map_err(|error| error.to_string())?;
    let (name, group) = (String::new(), 0);
    Ok(LoadedSummary { name, group, traces: summary.traces, spans: summary.spans, value: Box::new(summary) })
}

/// Joins summaries of one group after the other, in steps.
#[derive(Default)]
pub(crate) struct JoinTask {
    next: usize,
    mergers: BTreeMap<u8, (u64, Result<Merger, OtherSettings>)>,
}

impl JoinTask {
    /// Works until done, then returns the partial; or until `time_is_up` returns true.
    pub fn step(&mut self, session: &Session, time_is_up: &mut dyn FnMut() -> bool) -> Option<Joined> {
        while let Some(carried) = session.set.summaries.get(self.next) {
            self.next += 1;
            if let Some(summary) = carried.value.downcast_ref::<Summary>() {
                let into = self.mergers.entry(carried.group).or_insert((0, Ok(Merger::default())));
                into.0 += 1;
                add(&mut into.1, summary.clone());
            }
            if time_is_up() {
                return None;
            }
        }
        let groups = std::mem::take(&mut self.mergers).into_iter();
        Some(Joined { groups: groups.map(|(group, sum)| (group, finish(sum))).collect() })
    }
}

fn add(into: &mut Result<Merger, OtherSettings>, summary: Summary) {
    if let Ok(merger) = into
        && merger.add(summary).is_err()
    {
        *into = Err(OtherSettings);
    }
}

fn finish((n, sum): (u64, Result<Merger, OtherSettings>)) -> (u64, Option<Summary>) {
    (n, sum.and_then(Merger::finish).ok())
}

impl Joined {
    fn merge(parts: Vec<Joined>) -> Joined {
        let mut mergers: BTreeMap<u8, (u64, Result<Merger, OtherSettings>)> = BTreeMap::new();
        for (group, (n, summary)) in parts.into_iter().flat_map(|part| part.groups) {
            let into = mergers.entry(group).or_insert((0, Ok(Merger::default())));
            into.0 += n;
            match summary {
                Some(summary) => add(&mut into.1, summary),
                None => into.1 = Err(OtherSettings),
            }
        }
        Joined { groups: mergers.into_iter().map(|(group, sum)| (group, finish(sum))).collect() }
    }

    /// Returns the summary of a group; `None` if there is none.
    ///
    /// # Errors
    /// [`EngineError::Summary`] if those loaded do not merge.
    pub fn group(&self, group: u8) -> Result<Option<&Summary>, EngineError> {
        match self.groups.get(&group) {
            None => Ok(None),
            Some((_, Some(summary))) => Ok(Some(summary)),
            Some((_, None)) => Err(EngineError::Summary(OtherSettings.to_string())),
        }
    }
}

impl Session {
    /// Returns the summaries of a group by the names of their files.
    pub(crate) fn named_summaries(&self, of: u8) -> Vec<(&str, &Summary)> {
        let of_group = self.set.summaries.iter().filter(|carried| carried.group == of);
        of_group.filter_map(|it| Some((it.name.as_str(), it.value.downcast_ref()?))).collect()
    }
}

impl Workers {
    /// Returns the summaries of all workers; `None` if there are none.
    pub(crate) async fn summaries(&self) -> Result<Option<Arc<Joined>>, EngineError> {
        if !self.cuts().has_summaries {
            return Ok(None);
        }
        if let Some(known) = self.cuts().summaries() {
            return Ok(Some(known));
        }
        let parts = self.partials::<Joined>(Pass::Summaries).await?;
        // Another plan may have joined them meanwhile.
        Ok(Some(match self.cuts().summaries() {
            Some(known) => known,
            None => self.cuts().keep_summaries(Joined::merge(parts)),
        }))
    }

    /// Returns the summary that a selection is about, and which of its requests; `None` if it is about traces.
    ///
    /// # Errors
    /// [`EngineError::Summary`] if a summary cannot tell these requests from others.
    pub(crate) async fn summary_of(
        &self,
        selection: &Selection,
    ) -> Result<Option<(SummaryOf, Choice)>, EngineError> {
        let Some(joined) = self.summaries().await? else { return Ok(None) };
        if joined.group(selection.group)?.is_none() {
            return Ok(None);
        }
        Ok(Some((SummaryOf { joined, group: selection.group }, choice(selection)?)))
    }
}

/// The summary of a group.
pub(crate) struct SummaryOf {
    joined: Arc<Joined>,
    group: u8,
}

impl std::ops::Deref for SummaryOf {
    type Target = Summary;

    fn deref(&self) -> &Summary {
        static NONE: std::sync::LazyLock<Summary> = std::sync::LazyLock::new(Summary::default);
        // It was there when this was made.
        self.joined.group(self.group).ok().flatten().unwrap_or(&NONE)
    }
}

/// Returns which requests of a summary a selection is.
fn choice(selection: &Selection) -> Result<Choice, EngineError> {
    let mut root = match &selection.root {
        RootEndpoint::TraceRoots => None,
        RootEndpoint::Endpoint(endpoint) => Some(endpoint.clone()),
    };
    for filter in &selection.filters {
        match filter {
            Filter::Type(RequestType { root: of, part }) if part.is_empty() => root = Some(of.clone()),
            _ => {
                return Err(EngineError::Summary(
                    "a summary holds sums and no single requests, so it cannot be filtered: remove the filters, or load the traces".to_owned(),
                ));
            }
        }
    }
    Ok(Choice { root, range: selection.range, over_all: selection.over_all })
}
