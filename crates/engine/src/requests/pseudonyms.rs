//! The names of all that is loaded, for pseudonyms.

use crate::EngineError;
use crate::run::query::Query;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use pathlight_base::encoding;
use pathlight_trace::{LoadedNames, Pseudonyms};
use serde::{Deserialize, Serialize};

/// Reports the pseudonyms of services, operations and hosts of all that is loaded, both sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamePseudonyms {}

impl Query for NamePseudonyms {
    type Report = Pseudonyms;

    async fn run(self, workers: Workers) -> Result<Pseudonyms, EngineError> {
        let mut names = LoadedNames::default();
        for part in workers.partials(NamesPass).await? {
            names.merge(part);
        }
        Ok(names.pseudonyms(&*workers.place_facts().await?))
    }
}

/// All names.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct NamesPass;

impl SetPass for NamesPass {
    type Part = LoadedNames;

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(|set| encoding::write(&LoadedNames::of(set)))
    }
}
