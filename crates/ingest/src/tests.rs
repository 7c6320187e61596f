//! Shared by tests of formats.

use crate::{FileReport, Mapping, ReadOptions, ReadRules, Reader};
use pathlight_trace::TraceSet;

/// Reads bytes and returns a line for each span: trace, id, parent, service and operation, start and duration, kind, error,
/// host, tags.
pub(crate) fn read(bytes: &[u8], maps: &[Mapping]) -> (Vec<String>, FileReport) {
    let mut set = TraceSet::new();
    let options = ReadOptions {
        rules: ReadRules { maps: maps.to_vec(), ..ReadRules::default() },
        ..ReadOptions::default()
    };
    let mut reader = Reader::new("input", options);
    let _ = reader.feed(bytes, &mut set);
    let report = reader.finish(&mut set);
    set.seal().unwrap();
    let mut lines = Vec::new();
    for (number, trace) in set.traces().iter().enumerate() {
        for row in trace.rows() {
            let parent = set.parent(row);
            let parent = if parent == u32::MAX { String::new() } else { set.span_id_text(parent) };
            let (service, operation) = set.endpoint_name(set.endpoint(row));
            let tags = set.tags.get(set.tag_set(row)).map(|(key, value)| format!("{key}={value}"));
            lines.push(format!(
                "{} {} <{parent}> {service}/{operation} {}+{} {:?} {} @{} {}",
                set.trace_id_text(number as u32),
                set.span_id_text(row),
                set.start_us(row),
                set.duration_us(row),
                set.kind(row),
                set.flags(row).has(pathlight_trace::Flags::ERROR),
                set.names.get(set.process_of(row).host),
                tags.collect::<Vec<_>>().join(" "),
            ));
        }
    }
    (lines, report)
}
