//! Traces of ClickHouse's table `otel_traces`, as the collector's exporter writes it, over the HTTP interface.
//!
//! Rows stream into the file: an hour of a large site is larger than memory.

use super::super::{Failure, http};
use super::store::Store;
use super::{PATIENCE, without_login};
use pathlight_backend::Caller;
use pathlight_base::format::harmless;
use pathlight_serve::redirects;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _};
use ureq::Agent;
use ureq::http::Request;

/// Spans of a trace may begin so much before or after the range in which one of its spans was found.
const MARGIN_US: u64 = 3_600_000_000;
/// The longest text of an error that is read.
const LONGEST_ERROR: u64 = 4096;

/// A ClickHouse that is asked.
pub(super) struct ClickHouse {
    agent: Agent,
    /// The base address, perhaps with a name and password.
    base: String,
    /// The table, quoted.
    table: String,
    caller: Caller,
    follow: Vec<redirects::Host>,
}

/// Quotes the name of a table, with its database if it is before a point.
fn quoted(table: &str) -> String {
    let parts = table.split('.').map(|part| format!("`{}`", part.replace('\\', "\\\\").replace('`', "\\`")));
    parts.collect::<Vec<_>>().join(".")
}

/// Returns the query for all spans of traces that have a span in a range of time, both ends included, of a service if one is
/// named; of so many traces, the newest. A trace's spans come together.
fn query(table: &str, service: &str, range_us: (u64, u64), most: u64) -> String {
    let between = |from: u64, to: u64| {
        format!(
            "Timestamp BETWEEN fromUnixTimestamp64Micro(toInt64({from})) AND fromUnixTimestamp64Micro(toInt64({to}))"
        )
    };
    let (from, to) = range_us;
    let mut wanted = between(from, to);
    if !service.is_empty() {
        let name = service.replace('\\', "\\\\").replace('\'', "\\'");
        // Writing to a String cannot fail.
        let _ = write!(wanted, " AND ServiceName = '{name}'");
    }
    let around = between(from.saturating_sub(MARGIN_US), to.saturating_add(MARGIN_US));
    // Times as text would be those of the server's time zone.
    format!(
        "SELECT * REPLACE (toString(toUnixTimestamp64Nano(Timestamp)) AS Timestamp) FROM (SELECT * FROM {table} WHERE {around} \
         AND TraceId IN (SELECT TraceId FROM {table} WHERE {wanted} GROUP BY TraceId ORDER BY max(Timestamp) DESC, TraceId \
         LIMIT {most})) ORDER BY TraceId, SpanId FORMAT JSONEachRow"
    )
}

impl ClickHouse {
    pub fn new(base: String, table: &str, caller: Caller, follow: Vec<redirects::Host>) -> ClickHouse {
        // An answer may take long to arrive; its beginning may not.
        let config = http::config(PATIENCE).timeout_global(None).timeout_recv_response(Some(PATIENCE));
        let agent = config.timeout_connect(Some(PATIENCE)).http_status_as_error(false).build().new_agent();
        ClickHouse { agent, base, table: quoted(table), caller, follow }
    }

    /// Puts the traces that have a span in a range of time, both ends included; returns how many.
    ///
    /// # Errors
    /// [`Failure::Usage`] if there is no answer, or one that says what is wrong; [`Failure::Io`].
    pub fn fetch(
        &self,
        service: &str,
        range_us: (u64, u64),
        most: u64,
        store: &mut Store,
    ) -> Result<u64, Failure> {
        let query = query(&self.table, service, range_us, most);
        let url = format!("{}/?query={}", self.base, utf8_percent_encode(&query, NON_ALPHANUMERIC));
        let mut request = Request::get(&url);
        for (name, value) in self.caller.headers() {
            request = request.header(name, value);
        }
        let request = request.body(()).map_err(|error| self.fail(&error.to_string()))?;
        let response = match redirects::ask(&self.agent, &request, &self.follow) {
            Ok(response) => response,
            Err(redirects::AskError::Lost(error)) => return Err(self.fail(&error.to_string())),
            Err(redirects::AskError::LeadsTo(place)) => {
                let option = redirects::option(&place);
                return Err(self.fail(&format!("it leads to {place}; {option} asks it too")));
            }
        };
        let is_answer = response.status().is_success();
        let mut body = response.into_body().into_reader();
        if !is_answer {
            let mut text = Vec::new();
            let _ = (&mut body).take(LONGEST_ERROR).read_to_end(&mut text);
            return Err(self.refused(&String::from_utf8_lossy(&text)));
        }
        let (mut body, mut line, mut traces) = (BufReader::with_capacity(1 << 16, body), Vec::new(), 0);
        loop {
            line.clear();
            match body.read_until(b'\n', &mut line) {
                Ok(0) => return Ok(traces),
                Ok(_) => {}
                Err(error) => return Err(self.fail(&error.to_string())),
            }
            // What goes wrong after the first rows is said below them.
            let text = std::str::from_utf8(&line).ok().filter(|text| text.starts_with('{'));
            let Some(text) = text else { return Err(self.refused(&String::from_utf8_lossy(&line))) };
            traces += u64::from(store.put_row(text)?);
        }
    }

    fn fail(&self, why: &str) -> Failure {
        let asked = without_login(&self.base);
        Failure::Usage(harmless(&format!(
            "{asked} cannot be asked ({why}); the same command goes on from here"
        )))
    }

    /// Says what ClickHouse did not do.
    fn refused(&self, text: &str) -> Failure {
        let line = text.lines().find(|line| !line.is_empty()).unwrap_or("an empty answer");
        let hint = match line {
            _ if line.starts_with("Code: 60.") || line.starts_with("Code: 81.") => {
                " --table DATABASE.TABLE names another table."
            }
            _ if line.starts_with("Code: 516.") => {
                " A name and password stand in the address: http://NAME:PASSWORD@HOST:8123."
            }
            _ => "",
        };
        let asked = without_login(&self.base);
        // Below "In scope" the whole query follows.
        let line: String = line.split(" In scope ").next().unwrap_or(line).chars().take(300).collect();
        Failure::Usage(harmless(&format!("{asked} answers: {line}{hint}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_query_stay_names() {
        let query = query(&quoted("my.ta`ble"), r"it's\a", (5_000_000_000, 6_000_000_000), 7);
        assert!(query.contains("FROM `my`.`ta\\`ble` WHERE"), "{query}");
        assert!(query.contains(r"ServiceName = 'it\'s\\a' GROUP BY"), "{query}");
        assert!(query.contains("toInt64(1400000000)") && query.contains("toInt64(9600000000)"), "{query}");
        assert!(query.contains("LIMIT 7)"), "{query}");
    }
}
