//! The names of all that is loaded, for pseudonyms.

use crate::EngineError;
use crate::queries::Query;
use crate::run::pass::Pass;
use crate::run::workers::Workers;
use pathlight_trace::{Names as Found, Pseudonyms as Table};
use serde::{Deserialize, Serialize};

/// Reports the pseudonyms of services, operations and hosts of all that is loaded, both sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pseudonyms {}

impl Query for Pseudonyms {
    type Report = Table;

    async fn run(self, workers: Workers) -> Result<Table, EngineError> {
        let mut names = Found::default();
        for part in workers.partials::<Found>(Pass::Names).await? {
            names.merge(part);
        }
        Ok(names.pseudonyms(workers.place_facts().await?))
    }
}
