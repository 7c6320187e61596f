//! Which requests a program asks about: the same words for `pathlight mcp` and for the library for JavaScript. A doc comment
//! of a field is what the program's author reads.

use crate::address::{Address, parse_range};
use pathlight_engine::requests::search::SpanSearch;
use pathlight_engine::requests::{Filter, PercentileRange, RangeFacts, RootEndpoint, Selection};
use pathlight_engine::verdict::Subject;
use pathlight_trace::Endpoint;
use serde::Deserialize;

/// Which requests a question is about; all of them unless something is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct AskedRequests {
    /// Search: `region=eu -retry=true`, `error= OR "GET /cart"`
    #[serde(rename = "where")]
    pub search: Option<String>,
    /// Requests in which work of a service (`own:NAME`), waiting for it (`in:NAME`) or its calls (`out:NAME`) take longer than usual
    pub hit: Option<String>,
    /// Percentiles of latency: `95-99`, `P95`, `tail`
    pub range: Option<String>,
    /// Service of the root endpoint, with `operation`
    pub service: Option<String>,
    /// Operation of the root endpoint
    pub operation: Option<String>,
}

impl AskedRequests {
    /// Returns those of a selection that are meant.
    ///
    /// # Errors
    /// How to write what is not understood.
    pub fn of(&self, mut selection: Selection) -> Result<Selection, String> {
        selection.root = match (&self.service, &self.operation) {
            (Some(service), Some(operation)) => RootEndpoint::Endpoint(Endpoint::new(service, operation)),
            (None, None) => selection.root,
            _ => return Err("give service and operation together: they name a root endpoint".to_owned()),
        };
        if let Some(text) = &self.search {
            if SpanSearch::is_too_long(text) {
                return Err("where takes at most 64 words, tags and OR".to_owned());
            }
            let search = SpanSearch::parse(text);
            if search.is_empty() {
                return Err("where is written as words, KEY=VALUE, -KEY=VALUE, and OR between alternatives"
                    .to_owned());
            }
            selection.filters.extend(Filter::of_search(search));
        }
        if let Some(text) = &self.hit {
            let subject = Subject::parse(text).ok_or("hit is written as own:NAME, in:NAME or out:NAME")?;
            selection.filters.push(Filter::hit(subject));
        }
        if let Some(text) = &self.range {
            selection.range = range(text)?;
        }
        Ok(selection)
    }
}

/// Reads percentiles of latency.
///
/// # Errors
/// How to write them.
pub fn range(text: &str) -> Result<PercentileRange, String> {
    let words = "range is written as 95-99, P95 for everything up to it, or tail for the slowest tenth";
    parse_range(text).ok_or_else(|| words.to_owned())
}

/// Checks that a selection has requests; `facts` are those about it.
///
/// # Errors
/// It has none; the words say why.
pub fn not_empty(selection: &Selection, facts: &RangeFacts) -> Result<(), String> {
    if facts.requests > 0 {
        return Ok(());
    }
    let Selection { root, filters, range, .. } = selection.clone();
    Err(Address { root, filters, range, ..Address::default() }.why_empty(facts))
}
