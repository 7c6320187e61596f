//! Passes over all traces of a worker, whatever requests are selected. A query declares its pass beside itself and adds a
//! line to [`passes`](crate::passes).

use crate::requests::{GroupBy, TypeNames};
use crate::summaries::LoadedSummaries;
use pathlight_base::encoding;
use pathlight_trace::{PathSettings, TraceSet};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A pass in one of the lists of [`passes`](crate::passes).
pub(crate) trait Numbered {
    /// Its place in the list.
    const PASS: u8;
}

/// What every worker does once for a query, with all its traces.
pub(crate) trait SetPass: Numbered + Serialize + DeserializeOwned {
    /// What a worker sends.
    type Part: Serialize + DeserializeOwned;

    /// Returns how spans are read; `None`: as they were recorded.
    fn settings(&self) -> Option<PathSettings> {
        None
    }

    /// Returns how requests are grouped into types; `None`: types do not matter.
    fn by(&self) -> Option<&GroupBy> {
        None
    }

    /// Returns whether requests whose caller is not recorded count, although enough traces have their root; `None`: it
    /// does not matter.
    fn incomplete(&self) -> Option<bool> {
        None
    }

    /// Starts the pass.
    fn start(self, over: OverSet) -> Box<dyn RunningSetPass>;
}

/// What was found out for a pass before it is started.
pub(crate) struct OverSet {
    /// How requests are grouped into types, if they are.
    pub types: Option<Arc<TypeNames>>,
    /// Whether requests whose caller is not recorded count.
    pub incomplete: bool,
    /// The summaries of the worker.
    pub summaries: LoadedSummaries,
}

/// A pass as it travels: its number in the list of passes, its bytes, and what it says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PackedSetPass {
    pub number: u8,
    pub settings: Option<PathSettings>,
    pub by: Option<GroupBy>,
    pub incomplete: Option<bool>,
    pub bytes: Vec<u8>,
}

impl PackedSetPass {
    /// Packs a pass.
    pub fn of<P: SetPass>(pass: &P) -> PackedSetPass {
        PackedSetPass {
            number: P::PASS,
            settings: pass.settings(),
            by: pass.by().cloned(),
            incomplete: pass.incomplete(),
            bytes: encoding::write(pass),
        }
    }
}

/// A pass being run over the traces of one worker, in steps.
pub(crate) trait RunningSetPass {
    /// Works until done, then returns the partial; or until `time_is_up` says so.
    fn step(&mut self, set: &TraceSet, time_is_up: &mut dyn FnMut() -> bool) -> Option<Vec<u8>>;

    /// Returns the traces done and traces in all.
    fn progress(&self, _: &TraceSet) -> (u64, u64) {
        (0, 0)
    }
}

/// Returns a pass that is done in one step; `look` returns the partial.
pub(crate) fn at_once(look: impl Fn(&TraceSet) -> Vec<u8> + 'static) -> Box<dyn RunningSetPass> {
    struct AtOnce<F>(F);

    impl<F: Fn(&TraceSet) -> Vec<u8>> RunningSetPass for AtOnce<F> {
        fn step(&mut self, set: &TraceSet, _: &mut dyn FnMut() -> bool) -> Option<Vec<u8>> {
            Some((self.0)(set))
        }
    }

    Box::new(AtOnce(look))
}
