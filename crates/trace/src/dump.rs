//! A trace set as text, for tests and for looking at: two sets with the same content give the same text, whatever the
//! order in which they were filled.

use super::{Flags, NO_ROW, Symbol, TagSetId, TraceSet};
use pathlight_base::statistics::Weight;
use std::fmt::Write as _;

const FLAG_NAMES: [(u16, &str); 7] = [
    (Flags::ERROR, "error"),
    (Flags::FOLLOWS_FROM, "follows-from"),
    (Flags::START_MISSING, "start-missing"),
    (Flags::ORPHAN, "orphan"),
    (Flags::CYCLE, "cycle"),
    (Flags::SHARED, "shared"),
    (Flags::SEVERAL_PARENTS, "several-parents"),
];

/// Returns every column of a sealed set, one line a span, traces by id; at the end the tag keys and the number of
/// logs.
///
/// A debugging aid: the form may change.
pub fn dump(set: &TraceSet) -> String {
    let mut traces: Vec<(String, usize)> =
        (0..set.traces().len()).map(|t| (set.trace_id_text(t as u32), t)).collect();
    traces.sort_unstable();
    let mut out = String::new();
    for (id, number) in traces {
        let trace = set.traces()[number];
        // Writing to a String cannot fail, here and below.
        let weight = set.weight(number as u32);
        let weight =
            if weight == Weight::ONE { String::new() } else { format!(" weight {}", weight.requests()) };
        let _ = writeln!(out, "trace {id}: {:?}{weight}", trace.shape);
        for row in trace.rows() {
            let process = set.process_of(row);
            let (service, operation) = set.endpoint_name(set.recorded_endpoint(row));
            let flags = set.flags(row);
            let parent = match set.parent(row) {
                NO_ROW => "-".to_owned(),
                parent => format!("#{}", parent - trace.first),
            };
            let _ = write!(
                out,
                "  {} {parent} ({}) {}+{} {service:?} {operation:?}",
                set.span_id_text(row),
                set.parent_id(row).to_text(&set.id_texts),
                set.start_us(row),
                set.duration_us(row),
            );
            if process.host != Symbol::NONE {
                let _ = write!(out, " @{:?}", set.names.get(process.host));
            }
            let _ = write!(out, " {}", flags.kind().name());
            for (_, name) in FLAG_NAMES.iter().filter(|&&(bit, _)| flags.has(bit)) {
                let _ = write!(out, " {name}");
            }
            if flags.has(Flags::SEVERAL_PARENTS) {
                let _ = write!(out, " of {:?}", set.raw(row).parent.to_text(&set.id_texts));
            }
            for link in set.links_of(row..row + 1) {
                let (trace, span) = (link.trace.to_text(&set.id_texts), link.span.to_text(&set.id_texts));
                let _ = write!(out, " link {trace}/{span}");
            }
            let _ = writeln!(out, " {} process {}", tags(set, set.tag_set(row)), tags(set, process.tags));
        }
    }
    for (key, facts) in set.tags.keys() {
        let _ = writeln!(out, "key {key:?}: {facts:?}");
    }
    let _ = writeln!(out, "logs {}", set.logs);
    out
}

fn tags(set: &TraceSet, id: TagSetId) -> String {
    let mut tags: Vec<(&str, &str)> = set.tags.get(id).collect();
    tags.sort_unstable();
    let texts: Vec<String> = tags.iter().map(|(key, value)| format!("{key}={value:?}")).collect();
    format!("{{{}}}", texts.join(" "))
}
