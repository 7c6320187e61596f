//! What a query is.

use super::workers::Workers;
use crate::EngineError;
use pathlight_base::encoding;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// What can be found out about loaded traces: a plain struct, with the type of its report.
pub trait Query:
    ListedQuery + Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + 'static
{
    /// The report that comes back.
    type Report: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + 'static;

    /// Runs the query: has the workers run one pass after the other and merges their partials.
    #[doc(hidden)]
    fn run(self, workers: Workers) -> impl Future<Output = Result<Self::Report, EngineError>> + Send;

    /// Runs the query; returns its report as bytes. A query whose report is the partial of one worker passes that on unread.
    #[doc(hidden)]
    fn run_to_bytes(self, workers: Workers) -> impl Future<Output = Result<Vec<u8>, EngineError>> + Send {
        async move { Ok(encoding::write(&self.run(workers).await?)) }
    }

    /// Writes the query as a message to the worker that merges, see [`Plan::of_message`](crate::run::Plan::of_message).
    fn to_message(&self) -> Vec<u8> {
        encoding::write_after(vec![Self::NUMBER], self)
    }

    /// Reads a report from the bytes that a plan of a message gives.
    ///
    /// # Errors
    /// [`EngineError::Message`] if they are not such a report.
    fn read_report(bytes: &[u8]) -> Result<Self::Report, EngineError> {
        Ok(encoding::read(bytes)?)
    }
}

/// A query in the list below.
pub trait ListedQuery {
    /// Its place in the list: the first byte of its messages.
    #[doc(hidden)]
    const NUMBER: u8;
}
