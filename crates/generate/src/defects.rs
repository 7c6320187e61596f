//! Defects of traces, on demand.

use super::{BuiltReference, GenerateError, GeneratedTrace, habits, tags};
use pathlight_base::statistics::Random;
use std::str::FromStr;

/// Kinds of defects; each that is on strikes every trace that is large enough for it, most in about one of 16 spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Defects {
    /// Spans whose parent is not there.
    pub orphans: bool,
    /// Spans that are their own ancestors.
    pub cycles: bool,
    /// The same span id twice: identical, longer, or as the other side of a call.
    pub duplicates: bool,
    /// Spans of duration 0.
    pub zero_length: bool,
    /// Spans far outside their parents.
    pub outside: bool,
    /// Spans without a reference besides the root.
    pub several_roots: bool,
    /// Spans whose process is unknown, and traces without any process.
    pub missing_processes: bool,
    /// References that say `FOLLOWS_FROM`, with the span after its parent's end.
    pub asynchronous: bool,
    /// Second spans for the work of outgoing calls, beside them; in every trace, as are the next two.
    pub overlay: bool,
    /// Work that outlives the span that starts it.
    pub fire_and_forget: bool,
    /// Callees that begin long after their call, and end long before it.
    pub queues: bool,
    /// Messages that are received later: some very late, several at once, by several, by none, or in other traces that only
    /// link to them.
    pub messages: bool,
    /// Processes whose clocks are wrong, each by 5 to 50 ms in a trace.
    pub skew: bool,
    /// Outgoing calls that are named `HTTP GET`, whatever they call.
    pub generic_names: bool,
    /// Names of spans of kind server that end with a number.
    pub ids_in_names: bool,
}

impl Defects {
    /// The names that [`Defects::from_str`] reads.
    pub const NAMES: [&'static str; 15] = [
        "orphans",
        "cycles",
        "duplicates",
        "zero-length",
        "outside",
        "several-roots",
        "missing-processes",
        "async",
        "overlay",
        "fire-and-forget",
        "queues",
        "messages",
        "skew",
        "generic-names",
        "ids-in-names",
    ];

    /// Everything wrong at once.
    pub const ALL: Defects = Defects {
        orphans: true,
        cycles: true,
        duplicates: true,
        zero_length: true,
        outside: true,
        several_roots: true,
        missing_processes: true,
        asynchronous: true,
        overlay: true,
        fire_and_forget: true,
        queues: true,
        messages: true,
        skew: true,
        generic_names: true,
        ids_in_names: true,
    };

    /// Returns whether any kind is on.
    pub fn any(&self) -> bool {
        *self != Defects::default()
    }

    pub(super) fn apply(&self, trace: &mut GeneratedTrace, random: &mut Random) {
        if self.overlay {
            habits::overlay(trace, random);
        }
        if self.fire_and_forget {
            habits::fire_and_forget(trace, random);
        }
        if self.queues {
            habits::queues(trace, random);
        }
        if self.skew {
            habits::skew(trace, random);
        }
        if self.generic_names {
            habits::generic_names(trace);
        }
        if self.ids_in_names {
            habits::ids_in_names(trace, random);
        }
        let n = trace.spans.len();
        if n == 0 {
            return;
        }
        let some = (n as u64).div_ceil(16);
        // Never the first span, so that a trace keeps a root.
        let pick = |random: &mut Random| 1 + random.below(n as u64 - 1) as usize;
        for _ in 0..if n > 1 { some } else { 0 } {
            if self.outside {
                let i = pick(random);
                let reach = 2 * trace.spans[0].duration_us.max(4);
                trace.spans[i].start_us += random.below(2 * reach);
                trace.spans[i].start_us = trace.spans[i].start_us.saturating_sub(reach);
            }
            if self.asynchronous {
                let i = pick(random);
                let late_us = random.below(1 + 2 * trace.spans[0].duration_us);
                if let Some(parent) = &mut trace.spans[i].parent {
                    parent.follows_from = true;
                    trace.spans[i].start_us += late_us;
                }
            }
            if self.cycles {
                // The parent's parent becomes the child itself; a child of the root becomes its own parent.
                let i = pick(random);
                let own_id = trace.spans[i].span_id;
                let parent_id = trace.spans[i].parent.map(|p| p.span_id);
                let to = trace.spans[1..].iter().position(|s| Some(s.span_id) == parent_id);
                let struck = to.map_or(i, |j| j + 1);
                trace.spans[struck].parent = Some(BuiltReference { span_id: own_id, follows_from: false });
            }
            if self.orphans {
                let i = pick(random);
                let span_id = random.number().max(1);
                trace.spans[i].parent = Some(BuiltReference { span_id, follows_from: false });
            }
            if self.several_roots {
                let i = pick(random);
                trace.spans[i].parent = None;
            }
        }
        for _ in 0..some {
            if self.zero_length {
                let i = random.below(n as u64) as usize;
                trace.spans[i].duration_us = 0;
            }
            if self.missing_processes {
                let i = random.below(n as u64) as usize;
                trace.spans[i].process = None;
            }
            if self.duplicates {
                let i = random.below(n as u64) as usize;
                let mut copy = trace.spans[i].clone();
                match random.below(3) {
                    0 => {}
                    1 => copy.duration_us += 1 + random.below(1000),
                    _ => tags::other_side(&mut copy),
                }
                trace.spans.push(copy);
            }
        }
        if self.missing_processes && random.below(8) == 0 {
            trace.processes.clear();
            trace.spans.iter_mut().for_each(|s| s.process = None);
        }
    }
}

impl FromStr for Defects {
    type Err = GenerateError;

    /// Reads names separated by commas, or `all`.
    fn from_str(text: &str) -> Result<Defects, GenerateError> {
        let mut defects = Defects::default();
        for name in text.split(',') {
            match name {
                "all" => defects = Defects::ALL,
                "orphans" => defects.orphans = true,
                "cycles" => defects.cycles = true,
                "duplicates" => defects.duplicates = true,
                "zero-length" => defects.zero_length = true,
                "skew" => defects.skew = true,
                "several-roots" => defects.several_roots = true,
                "missing-processes" => defects.missing_processes = true,
                "async" => defects.asynchronous = true,
                "outside" => defects.outside = true,
                "overlay" => defects.overlay = true,
                "fire-and-forget" => defects.fire_and_forget = true,
                "queues" => defects.queues = true,
                "messages" => defects.messages = true,
                "generic-names" => defects.generic_names = true,
                "ids-in-names" => defects.ids_in_names = true,
                _ => return Err(GenerateError::Defect(name.to_owned())),
            }
        }
        Ok(defects)
    }
}
