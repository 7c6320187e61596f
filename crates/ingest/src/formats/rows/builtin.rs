//! The tables of all formats that are known, a file a format.

use super::table::Table;
use std::sync::{Arc, LazyLock};

/// Their texts, in the order in which they are tried. A file may hold several tables.
const TEXTS: [&str; 21] = [
    include_str!("tables/phoenix.table"),
    include_str!("tables/otel-python.table"),
    include_str!("tables/otel-js.table"),
    include_str!("tables/otel-dotnet.table"),
    include_str!("tables/otel-rust.table"),
    include_str!("tables/clickhouse.table"),
    include_str!("tables/signoz.table"),
    include_str!("tables/elastic-apm.table"),
    include_str!("tables/data-prepper.table"),
    include_str!("tables/datadog.table"),
    include_str!("tables/xray.table"),
    include_str!("tables/skywalking.table"),
    include_str!("tables/honeycomb.table"),
    include_str!("tables/new-relic.table"),
    include_str!("tables/langfuse.table"),
    include_str!("tables/langsmith.table"),
    include_str!("tables/google-cloud-trace.table"),
    include_str!("tables/app-insights.table"),
    include_str!("tables/sentry.table"),
    include_str!("tables/grafana.table"),
    include_str!("tables/rows.table"),
];

/// Returns all tables of formats that stand in files of their own, in the order in which they are tried.
pub(crate) fn tables() -> &'static [Arc<Table>] {
    static TABLES: LazyLock<Vec<Arc<Table>>> =
        LazyLock::new(|| TEXTS.into_iter().flat_map(parts).filter_map(table).collect());
    &TABLES
}

/// Returns the table of Jaeger's protobuf model as JSON.
pub(crate) fn jaeger_protobuf() -> Option<&'static Table> {
    static TABLE: LazyLock<Option<Arc<Table>>> =
        LazyLock::new(|| table(include_str!("tables/jaeger-protobuf.table")));
    TABLE.as_deref()
}

/// Returns the table of Jaeger's rows in Cassandra.
pub(crate) fn cassandra() -> Option<&'static Table> {
    static TABLE: LazyLock<Option<Arc<Table>>> =
        LazyLock::new(|| table(include_str!("tables/jaeger-cassandra.table")));
    TABLE.as_deref()
}

/// Returns the tables of a text; a blank line stands between two.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n")
}

/// Returns the table of a text. That every one has one, a test says.
fn table(text: &str) -> Option<Arc<Table>> {
    Table::parse(text).ok().map(Arc::new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::FORMATS;

    #[test]
    fn every_text_is_a_table_of_a_format_that_has_a_name() {
        let texts: Vec<&str> = TEXTS.into_iter().flat_map(parts).collect();
        for text in &texts {
            let table = Table::parse(text).unwrap_or_else(|error| panic!("{error}: {text}"));
            let name = table.list(super::super::Word::Format)[0].as_str();
            assert_eq!(FORMATS[usize::from(table.format)], name);
            assert!(!table.list(super::super::Word::Keys).is_empty(), "{name}");
        }
        assert_eq!(tables().len(), texts.len());
        assert!(jaeger_protobuf().is_some() && cassandra().is_some());
    }
}
