//! Arguments of the tools. Their JSON schemas are what a client sees, so a doc comment here is what a program reads.

use pathlight_view::asked::AskedRequests;
use schemars::JsonSchema;
use serde::Deserialize;

/// How much of an answer is wanted: arguments of every tool.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Page {
    /// Most tokens of the answer (bytes / 3): 1500 unless set, 300 to 8000
    pub budget: Option<u32>,
    /// The `cursor` of the answer before, with the same arguments
    pub cursor: Option<String>,
}

/// Which requests a question is about; all of them unless something is set.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Which {
    /// Requests that a finding is about: its `handle`
    pub finding: Option<String>,
    #[serde(flatten)]
    pub asked: AskedRequests,
}

/// Arguments of `load`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Load {
    /// Files or folders with traces, in the folders that this server may read
    pub files: Vec<String>,
    /// Files or folders to compare with: before, or normal
    pub baseline: Vec<String>,
    /// Base address of a Jaeger query service that this server may ask, in place of `files`
    pub jaeger: Option<String>,
    /// Base address of a Tempo that this server may ask, in place of `files`
    pub tempo: Option<String>,
    /// Of a Jaeger or Tempo: the service whose traces are fetched
    pub service: Option<String>,
    /// Of a Jaeger or Tempo: time to look back, `30m`, `1h` unless set
    pub since: Option<String>,
    /// Of a Jaeger or Tempo: most traces, the newest; 1000 unless set
    pub limit: Option<u32>,
}

/// Arguments of tools that need to know no more than which requests.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct About {
    #[serde(flatten)]
    pub which: Which,
}

/// Arguments of `compare`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Compare {
    #[serde(flatten)]
    pub which: Which,
    /// Percentiles of the normal side: all of the baseline unless set; without a baseline the faster half
    pub range_a: Option<String>,
    /// Percentiles of the other side: all unless set; without a baseline the slowest tenth
    pub range_b: Option<String>,
}

/// What time is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Services: own work, and waiting for them.
    #[default]
    Service,
    /// Endpoints: self time on the critical path.
    Endpoint,
}

/// Arguments of `where_time_goes`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Time {
    /// `service` (own work, and waiting for it) or `endpoint` (self time)
    pub by: By,
    #[serde(flatten)]
    pub which: Which,
}

/// Arguments of `what_if`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct WhatIf {
    /// Changes, all at once: `own:NAME=-50%`, `in:NAME=usual` (of a service), `SERVICE:OPERATION=-2ms`, `=gone`,
    /// `queue:NAME=-50%` (what messages wait; requests then end when everything is done), `network:A>B=-50%` (`*` is any service),
    /// `network:A>B@KEY=within` (of calls across values of a tag), `move:SERVICE@KEY=VALUE` (all of it runs where a tag is so),
    /// `call:SERVICE:OPERATION=20ms` (whole calls take so long), `SERVICE:OPERATION<=200ms` (none takes longer; `*` in a name: any letters)
    pub changes: Vec<String>,
    /// In place of changes a target such as `p99=300ms`: what would have to be how much faster for it
    pub target: Option<String>,
    #[serde(flatten)]
    pub which: Which,
}

/// Arguments of `request`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Request {
    /// The request: `TRACE_ID`, or `TRACE_ID/ROOT_SPAN_ID` where a trace has several
    pub request: String,
    /// Whether it is of the baseline
    pub of_baseline: bool,
}
