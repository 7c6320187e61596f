//! A trace on one axis with those that its messages connect it with (`docs/definitions/queues.md` section 4): what its spans
//! sent, what that sent in turn, and what sent them.

use super::join::{JoinedTraces, join};
use super::query::{Trace, find_trace, trace};
use crate::EngineError;
use crate::flame::TraceReport;
use crate::run::query::Query;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use pathlight_base::encoding;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{PathSettings, TraceId, TraceSet};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Traces and spans on one axis at most.
pub const MOST_TRACES: usize = 100;
/// See [`MOST_TRACES`].
pub const MOST_SPANS: usize = 100_000;

/// Reports a trace on one axis with those that its messages connect it with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedTraces {
    /// The trace and its request.
    pub of: Trace,
}

impl Query for LinkedTraces {
    /// `None` if no such trace is loaded.
    type Report = Option<JoinedTraces>;

    async fn run(self, workers: Workers) -> Result<Option<JoinedTraces>, EngineError> {
        let mut following = Following::default();
        let first = self.of.trace_id.clone();
        let (settings, group) = (self.of.settings, self.of.group);
        let mut wanted = vec![first.clone()];
        while !wanted.is_empty() {
            let root = self.of.root_span_id.clone().map(|root| (first.clone(), root));
            let pass = LinkedPass {
                trace_ids: wanted.clone(),
                root,
                settings,
                group,
                room: following.room() as u64,
            };
            let parts = workers.partials(pass).await?;
            if following.traces.is_empty() && parts.iter().all(|part| part.traces.is_empty()) {
                return Ok(None);
            }
            following.take(&wanted, parts);
            wanted = following.next();
        }
        let Following { traces, left_out, not_loaded, .. } = following;
        Ok(Some(join(&first, traces, left_out, not_loaded.len() as u64)))
    }
}

/// A link between two traces, or within one, by ids that mean the same in every worker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) struct TextLink {
    /// Trace and span that have the link: those that received.
    pub from: (String, String),
    /// Trace and span that it leads to: those that sent.
    pub to: (String, String),
}

/// A trace with what its spans are called and what they link to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FoundTrace {
    pub trace_id: String,
    pub spans: u64,
    /// `None` if it has more spans than there is room for.
    pub report: Option<TraceReport>,
    /// By index.
    pub span_ids: Vec<String>,
    /// Links of its spans.
    pub links: Vec<TextLink>,
}

/// What a worker tells of some traces.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LinkedPart {
    /// Those that it holds.
    traces: Vec<FoundTrace>,
    /// Links of any of its traces to them.
    into: Vec<TextLink>,
}

/// Some traces, and the links from and to them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct LinkedPass {
    trace_ids: Vec<String>,
    /// The trace whose critical path is that of a request, and the root span of that.
    root: Option<(String, String)>,
    settings: PathSettings,
    group: u8,
    /// Traces of more spans are not told of, but for the first of all.
    room: u64,
}

impl SetPass for LinkedPass {
    type Part = LinkedPart;

    fn settings(&self) -> Option<PathSettings> {
        Some(self.settings)
    }

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| encoding::write(&self.look(set)))
    }
}

impl LinkedPass {
    fn look(&self, set: &TraceSet) -> LinkedPart {
        let mut out = LinkedPart::default();
        let mut wanted = BTreeSet::new();
        for id in &self.trace_ids {
            wanted.extend(TraceId::find(id, &set.id_texts).map(|id| id.in_group(self.group)));
            if let Some(number) = find_trace(set, id, self.group) {
                out.traces.push(self.found(set, number, id));
            }
        }
        let trace_of = |row: u32| set.traces().partition_point(|trace| trace.end <= row) as u32;
        for link in set.links().filter(|link| wanted.contains(&link.trace)) {
            out.into.push(TextLink {
                from: (set.trace_id_text(trace_of(link.from)), set.span_id_text(link.from)),
                to: (link.trace.to_text(&set.id_texts), link.span.to_text(&set.id_texts)),
            });
        }
        out
    }

    fn found(&self, set: &TraceSet, number: u32, id: &str) -> FoundTrace {
        let rows = set.traces()[number as usize];
        let spans = u64::from(rows.end - rows.first);
        let mut found = FoundTrace {
            trace_id: id.to_owned(),
            spans,
            report: None,
            span_ids: Vec::new(),
            links: Vec::new(),
        };
        if spans > self.room {
            return found;
        }
        let root = self.root.as_ref().filter(|(of, _)| of == id).map(|(_, root)| root.clone());
        let (settings, group) = (self.settings, self.group);
        let query =
            Trace { trace_id: id.to_owned(), root_span_id: root, settings, group, has_pressures: false };
        found.report = trace(set, &query);
        found.span_ids = (rows.first..rows.end).map(|row| set.span_id_text(row)).collect();
        let link = |link: pathlight_trace::Link| TextLink {
            from: (id.to_owned(), set.span_id_text(link.from)),
            to: (link.trace.to_text(&set.id_texts), link.span.to_text(&set.id_texts)),
        };
        found.links = set.links_of(rows.first..rows.end).map(link).collect();
        found
    }
}

/// Where to go on from a span.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Direction {
    /// To what it and all below it sent.
    Sent,
    /// To what sent it or a span above it.
    SentBy,
}

/// A trace that is on the axis.
pub(super) struct Followed {
    pub found: FoundTrace,
    pub report: TraceReport,
    /// By id of a span: the first of its name.
    pub index: FxHashMap<String, u32>,
    /// By span, whether it is known where to go on from it: to what it sent, to what sent it.
    is_followed: [Vec<bool>; 2],
}

impl Followed {
    /// Returns the trace of a part; `None` if it is larger than there is room for.
    pub fn new(mut found: FoundTrace) -> Option<Followed> {
        let report = found.report.take()?;
        let mut index = FxHashMap::default();
        for (number, id) in (0..).zip(&found.span_ids) {
            index.entry(id.clone()).or_insert(number);
        }
        let n = report.parent.len();
        Some(Followed { found, report, index, is_followed: [vec![false; n], vec![false; n]] })
    }

    /// Marks where to go on from a span.
    fn mark(&mut self, span: u32, direction: Direction) {
        let parent = &self.report.parent;
        let followed = &mut self.is_followed[direction as usize];
        match direction {
            Direction::Sent => {
                // Pre-order: what lies deeper right after it is below it.
                let depth = self.report.depth[span as usize];
                let mut at = span as usize;
                while at < parent.len() && (at == span as usize || self.report.depth[at] > depth) {
                    followed[at] = true;
                    at += 1;
                }
            }
            Direction::SentBy => {
                let mut at = Some(span);
                while let Some(span) = at.filter(|span| (*span as usize) < parent.len()) {
                    if std::mem::replace(&mut followed[span as usize], true) {
                        break;
                    }
                    at = Some(parent[span as usize]).filter(|parent| *parent < span);
                }
            }
        }
    }

    fn is_followed(&self, span_id: &str, direction: Direction) -> Option<u32> {
        let span = *self.index.get(span_id)?;
        self.is_followed[direction as usize][span as usize].then_some(span)
    }
}

/// Traces from which messages are followed.
#[derive(Default)]
struct Following {
    traces: BTreeMap<String, Followed>,
    spans: usize,
    /// All links from and to the traces.
    links: BTreeSet<TextLink>,
    /// Traces to look at, with the spans that are meant.
    due: BTreeMap<String, BTreeSet<(String, Direction)>>,
    /// Traces that are too many or too large.
    left_out: BTreeSet<String>,
    not_loaded: BTreeSet<String>,
}

impl Following {
    /// Returns how many spans more there is room for; any number for the first trace.
    fn room(&self) -> usize {
        if self.traces.is_empty() { usize::MAX } else { MOST_SPANS.saturating_sub(self.spans) }
    }

    /// Takes what workers told of some traces.
    fn take(&mut self, wanted: &[String], parts: Vec<LinkedPart>) {
        let mut found: Vec<FoundTrace> = Vec::new();
        for part in parts {
            found.extend(part.traces);
            self.links.extend(part.into);
        }
        let is_found: BTreeSet<&str> = found.iter().map(|trace| trace.trace_id.as_str()).collect();
        let missing = wanted.iter().filter(|id| !is_found.contains(id.as_str()));
        let missing: Vec<String> = missing.cloned().collect();
        missing.iter().for_each(|id| drop(self.due.remove(id)));
        self.not_loaded.extend(missing);
        // Those that start first are kept.
        let start_us = |trace: &FoundTrace| trace.report.as_ref().map(|report| report.start_us);
        found.compact_sort_by(|a, b| start_us(a).cmp(&start_us(b)).then_with(|| a.trace_id.cmp(&b.trace_id)));
        for trace in found {
            let (id, spans, is_first) = (trace.trace_id.clone(), trace.spans, self.traces.is_empty());
            let has_room = spans as usize <= self.room() && self.traces.len() < MOST_TRACES;
            self.links.extend(trace.links.iter().cloned());
            let due = self.due.remove(&id).unwrap_or_default();
            match Followed::new(trace).filter(|_| has_room) {
                None => {
                    self.left_out.insert(id);
                }
                Some(mut followed) => {
                    if is_first {
                        followed.is_followed.iter_mut().for_each(|spans| spans.fill(true));
                    }
                    for (span, direction) in due {
                        if let Some(&span) = followed.index.get(&span) {
                            followed.mark(span, direction);
                        }
                    }
                    self.spans += spans as usize;
                    self.traces.insert(id, followed);
                }
            }
        }
    }

    /// Follows the links from what is known, and returns the traces to look at next.
    fn next(&mut self) -> Vec<String> {
        // What is marked in a trace that is there may mark more there, or in others.
        loop {
            let mut marks: Vec<(&str, &str, Direction)> = Vec::new();
            for link in &self.links {
                let ((receiver, received), (sender, sent)) =
                    ((&link.from.0, &link.from.1), (&link.to.0, &link.to.1));
                let is_marked = |trace: &String, span: &String, direction| {
                    self.traces.get(trace).and_then(|trace| trace.is_followed(span, direction)).is_some()
                };
                if is_marked(sender, sent, Direction::Sent) && !is_marked(receiver, received, Direction::Sent)
                {
                    marks.push((receiver, received, Direction::Sent));
                }
                if is_marked(receiver, received, Direction::SentBy)
                    && !is_marked(sender, sent, Direction::SentBy)
                {
                    marks.push((sender, sent, Direction::SentBy));
                }
            }
            let marks: Vec<(String, String, Direction)> =
                marks.into_iter().map(|(trace, span, to)| (trace.to_owned(), span.to_owned(), to)).collect();
            let mut is_new = false;
            for (trace, span, direction) in marks {
                if self.left_out.contains(&trace) || self.not_loaded.contains(&trace) {
                    continue;
                }
                match self.traces.get_mut(&trace) {
                    Some(followed) => {
                        if let Some(&span) = followed.index.get(&span) {
                            followed.mark(span, direction);
                            is_new = true;
                        }
                    }
                    None => {
                        self.due.entry(trace).or_default().insert((span, direction));
                    }
                }
            }
            if !is_new {
                break;
            }
        }
        let room = MOST_TRACES.saturating_sub(self.traces.len());
        let mut wanted: Vec<String> = self.due.keys().cloned().collect();
        for more in wanted.drain(room.min(wanted.len())..) {
            self.due.remove(&more);
            self.left_out.insert(more);
        }
        wanted
    }
}
