//! The summaries that workers hold, joined by group or named one by one.

use super::{LoadedSummaries, Merger, OtherSettings, Summary};
use crate::EngineError;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use pathlight_base::encoding;
use pathlight_trace::TraceSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The summaries of all workers, joined.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Joined {
    /// By group how many were joined, and their sum; none if their settings differ.
    pub groups: BTreeMap<u8, (u64, Option<Summary>)>,
}

/// A summary with the name of its file.
pub(crate) type Named = (String, Summary);

/// Summaries, joined by group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct JoinPass;

impl SetPass for JoinPass {
    type Part = Joined;

    fn start(self, over: OverSet) -> Box<dyn RunningSetPass> {
        Box::new(JoinRun { summaries: over.summaries, ..JoinRun::default() })
    }
}

/// The summaries of a group one by one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NamedPass {
    pub group: u8,
}

impl SetPass for NamedPass {
    type Part = Vec<Named>;

    fn start(self, over: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |_| {
            let of_group = over.summaries.iter().filter(|loaded| loaded.group == self.group);
            let named = of_group.map(|loaded| (loaded.name.as_str(), &loaded.summary));
            encoding::write(&named.collect::<Vec<_>>())
        })
    }
}

/// Joins summaries of one group after the other, in steps.
#[derive(Default)]
struct JoinRun {
    summaries: LoadedSummaries,
    next: usize,
    mergers: BTreeMap<u8, (u64, Result<Merger, OtherSettings>)>,
}

impl RunningSetPass for JoinRun {
    fn step(&mut self, _: &TraceSet, time_is_up: &mut dyn FnMut() -> bool) -> Option<Vec<u8>> {
        while let Some(loaded) = self.summaries.get(self.next) {
            self.next += 1;
            let into = self.mergers.entry(loaded.group).or_insert((0, Ok(Merger::default())));
            into.0 += 1;
            add(&mut into.1, loaded.summary.clone());
            if time_is_up() {
                return None;
            }
        }
        let groups = std::mem::take(&mut self.mergers).into_iter();
        let joined = Joined { groups: groups.map(|(group, sum)| (group, finish(sum))).collect() };
        Some(encoding::write(&joined))
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
    /// Joins those of all workers.
    pub fn merge(parts: Vec<Joined>) -> Joined {
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
