//! Start and stop of errors, and the requests without them.

use super::messages::{MessageCounts, MessagesObserver};
use crate::EngineError;
use crate::errors::{ErrorsObserver, ErrorsPart, ErrorsReport, Untried};
use crate::flame::TimeColumn;
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports where errors start and stop, and the requests without them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for Errors {
    type Report = ErrorsReport;

    async fn run(self, workers: Workers) -> Result<ErrorsReport, EngineError> {
        // What an error costs is known of what is waited for.
        let selection = self.selection.until_answer();
        if let Some((summary, choice)) = workers.summary_of(&selection).await? {
            return Ok(summary.errors(&choice)?);
        }
        let (parts, facts) = workers.request_partials(&selection, ErrorsPass).await?;
        let (parts, messages) = parts.into_iter().unzip();
        let messages = MessageCounts::finish(messages);
        Ok(ErrorsReport { messages, ..ErrorsPart::finish(parts, selection.range, facts) })
    }
}

/// Errors, and requests without them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ErrorsPass;

impl RequestPass for ErrorsPass {
    type Part = ((ErrorsPart, Untried, TimeColumn), MessageCounts);

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = ErrorsObserver::new(over.set, over.settings.overlap).by(over.weighing);
        let messages = MessagesObserver::by(over.weighing);
        over.walk((observer, messages))
    }
}
