//! `--notify URL`: sends the JSON of a result to an address, such as that of a chat or of an alert manager.

use super::{Failure, http};
use std::time::Duration;

/// How long an address may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// The option of commands that a job runs.
#[derive(Debug, Default, clap::Args)]
pub struct NotifyOption {
    /// POST the result as JSON to this address too; what goes wrong there is said and changes no exit status
    #[arg(long, value_name = "URL")]
    notify: Option<String>,
}

impl NotifyOption {
    /// Sends a result, if an address was given.
    ///
    /// # Errors
    /// [`Failure::Io`] if there is no JSON; what the address answers is no error.
    pub fn send(&self, json: impl FnOnce() -> serde_json::Result<String>) -> Result<(), Failure> {
        let Some(url) = &self.notify else { return Ok(()) };
        let json = json()?;
        let agent = http::config(PATIENCE).http_status_as_error(true).build().new_agent();
        if let Err(error) = agent.post(url).content_type("application/json").send(json) {
            eprintln!("pathlight: the result was not sent: {error}");
        }
        Ok(())
    }
}
