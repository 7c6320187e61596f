//! How commands ask servers.

use std::time::Duration;
use ureq::Agent;
use ureq::config::ConfigBuilder;
use ureq::typestate::AgentScope;

/// Returns what every client of a command has: so much time for an answer, no redirects, our name.
pub fn config(patience: Duration) -> ConfigBuilder<AgentScope> {
    Agent::config_builder()
        .timeout_global(Some(patience))
        .max_redirects(0)
        .user_agent(concat!("pathlight/", env!("CARGO_PKG_VERSION")))
}
