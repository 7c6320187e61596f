//! Calls between services, as every analysis tells them (`docs/definitions/real-traces.md`): what a call is, what it
//! calls, where a service is entered, and which spans are of one process.
//!
//! All are about one [`Tree`], so about what is synchronous there; a dropped span is part of nothing.

use super::{Role, SpanKind, Symbol, TraceSet, Tree, is_declared_async};

/// Returns the process of a row as (service, host); the host is [`Symbol::NONE`] where the input named none, so that
/// all such spans of a service are of one process.
pub fn process_of(set: &TraceSet, row: u32) -> (Symbol, Symbol) {
    let process = set.process_of(row);
    (process.service, process.host)
}

/// Returns what a process is called: its service, and after an `@` its host if the input named one.
pub fn process_name(set: &TraceSet, (service, host): (Symbol, Symbol)) -> String {
    match host {
        Symbol::NONE => set.names.get(service).to_owned(),
        host => format!("{}@{}", set.names.get(service), set.names.get(host)),
    }
}

/// Returns whether two spans of a tree are of one service.
pub fn same_service(set: &TraceSet, tree: &Tree, a: u32, b: u32) -> bool {
    set.process_of(tree.row(a)).service == set.process_of(tree.row(b)).service
}

/// Returns whether a span is where its service is entered: a root, or a span whose parent is of another service.
pub fn is_entry(set: &TraceSet, tree: &Tree, span: u32) -> bool {
    tree.parent_of(span).is_none_or(|parent| !same_service(set, tree, span, parent))
}

/// Returns whether a span is a call, the calling half of one service asking another: it is synchronous, or a root, and
/// - of kind client or producer; or
/// - of no kind, no [entry](is_entry), and its only synchronous child is of another service.
pub fn is_call(set: &TraceSet, tree: &Tree, span: u32) -> bool {
    if !matches!(tree.role[span as usize], Role::Root | Role::Sync) {
        return false;
    }
    match set.kind(tree.row(span)) {
        SpanKind::Client | SpanKind::Producer => true,
        SpanKind::Unspecified => {
            let mut children = tree.sync_children(span);
            match (children.next(), children.next()) {
                (Some(only), None) => !same_service(set, tree, span, only) && !is_entry(set, tree, span),
                _ => false,
            }
        }
        SpanKind::Internal | SpanKind::Server | SpanKind::Consumer => false,
    }
}

/// Returns the callees of a call, in the order of the tree (start, longer first, id): its children that are of another
/// service, or of kind server or consumer. The first is *the* callee; that there are more is odd.
pub fn callees<'a>(set: &'a TraceSet, tree: &'a Tree, call: u32) -> impl Iterator<Item = u32> + 'a {
    tree.children(call).filter(move |&child| {
        tree.role[child as usize] != Role::Dropped
            && (matches!(set.kind(tree.row(child)), SpanKind::Server | SpanKind::Consumer)
                || !same_service(set, tree, call, child))
    })
}

/// Returns the callee of a span if it is a [call](is_call) and its callee was recorded.
pub fn callee(set: &TraceSet, tree: &Tree, span: u32) -> Option<u32> {
    is_call(set, tree, span).then(|| callees(set, tree, span).next()).flatten()
}

/// The callee that a call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AwaitedCallee {
    /// The [callee], which is synchronous.
    pub callee: u32,
    /// Whether spans say their kind, so that what the call takes outside its callee is network or queue; else the caller's
    /// own work may be in it.
    pub is_certain: bool,
}

/// Returns what a span waits for if it is a [call](is_call) that is answered: where both have a kind, by one of kind server
/// or consumer. None for a span that was dropped.
pub fn awaited_callee(set: &TraceSet, tree: &Tree, span: u32) -> Option<AwaitedCallee> {
    let callee = callee(set, tree, span).filter(|&callee| tree.role[callee as usize] == Role::Sync)?;
    let is_certain = match (set.kind(tree.row(span)), set.kind(tree.row(callee))) {
        (SpanKind::Unspecified, _) | (_, SpanKind::Unspecified) => false,
        (_, SpanKind::Server | SpanKind::Consumer) => true,
        _ => return None,
    };
    Some(AwaitedCallee { callee, is_certain })
}

/// Returns whether the caller of a span stopped waiting for it, as at a timeout: the span answers a [call](is_call) of
/// another process, goes on for a good part of its time after the call has ended, and is cut there.
pub fn caller_stopped(set: &TraceSet, tree: &Tree, span: u32) -> bool {
    let Some(parent) = tree.parent_of(span) else { return false };
    let processes = [span, parent].map(|span| process_of(set, tree.row(span)));
    tree.role[span as usize] == Role::Sync
        && processes[0] != processes[1]
        && tree.outlasts_parent(set, span)
        && is_call(set, tree, parent)
}

/// Reason why nobody waits for a span that was not recorded as asynchronous.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unawaited {
    /// It goes on after its parent, of the same process, has ended.
    OutlivesParent,
    /// It began long after its caller, another process, had ended.
    CallerGaveUp,
}

/// Returns why a span is asynchronous; `None` if it is not, or if it was recorded so.
pub fn unawaited(set: &TraceSet, tree: &Tree, span: u32) -> Option<Unawaited> {
    let parent = tree.parent_of(span).filter(|_| tree.role[span as usize] == Role::Async)?;
    let (row, parent_row) = (tree.row(span), tree.row(parent));
    if is_declared_async(set, row, parent_row, tree.settings().reading) {
        return None;
    }
    let is_other = process_of(set, row) != process_of(set, parent_row);
    Some(if is_other { Unawaited::CallerGaveUp } else { Unawaited::OutlivesParent })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, PathSettings, RawSpan, SpanId, TagSetId, TraceId};

    /// Returns the spans as (parent, service, kind, duration), numbered from 1, all from 0 on.
    fn set(spans: &[(u64, &str, SpanKind, u64)]) -> TraceSet {
        let mut set = TraceSet::new();
        let operation = set.names.intern("operation");
        let mut raw: Vec<RawSpan> = Vec::new();
        for (number, &(parent, service, kind, duration_us)) in spans.iter().enumerate() {
            raw.push(RawSpan {
                id: SpanId::hex(number as u64 + 1),
                parent: SpanId::hex(parent),
                start_us: 1000,
                duration_us,
                operation,
                process: set.process(service, "", TagSetId::EMPTY),
                tags: TagSetId::EMPTY,
                flags: Flags::of_kind(kind),
            });
        }
        assert_eq!(set.add_trace(TraceId::hex(1), &mut raw), Ok(()));
        set
    }

    /// Returns the ids of the calls with those of their callees (0: none recorded), by id.
    fn calls(set: &TraceSet) -> Vec<(u64, u64)> {
        let mut tree = Tree::default();
        tree.load(set, 0, PathSettings::default());
        let id = |span| set.span_id(tree.row(span)).bits;
        let mut found: Vec<(u64, u64)> = (0..tree.len() as u32)
            .filter(|&span| is_call(set, &tree, span))
            .map(|span| (id(span), callee(set, &tree, span).map_or(0, id)))
            .collect();
        found.sort_unstable();
        found
    }

    #[test]
    fn a_client_is_a_call_and_its_callee_the_first_that_answers() {
        use SpanKind::{Client, Consumer, Internal, Producer, Server};
        let spans = [
            (0, "a", Server, 100),
            (1, "a", Client, 90),
            // Longer, so first in the tree, yet of the caller.
            (2, "a", Internal, 80),
            (2, "b", Server, 70),
            (2, "c", Server, 60),
            (1, "a", Client, 5),
            (1, "a", Producer, 4),
            // The same service answers itself, later.
            (7, "a", Consumer, 3),
        ];
        assert_eq!(calls(&set(&spans)), [(2, 4), (6, 0), (7, 8)]);
    }

    #[test]
    fn without_kinds_only_the_middle_one_is_a_call() {
        use SpanKind::Unspecified;
        let chain = [
            (0, "a", Unspecified, 100),
            (1, "a", Unspecified, 90),
            // Entered by a, calls c itself: an entry span is never the calling half.
            (2, "b", Unspecified, 80),
            (3, "c", Unspecified, 70),
        ];
        assert_eq!(calls(&set(&chain)), [(2, 3)]);
        // With a second synchronous child it is work that calls.
        let fork = [chain[0], chain[1], chain[2], (2, "c", Unspecified, 70)];
        assert_eq!(calls(&set(&fork)), []);
    }

    #[test]
    fn entries_are_roots_and_changes_of_service() {
        use SpanKind::Internal;
        let set = set(&[(0, "a", Internal, 9), (1, "a", Internal, 8), (2, "b", Internal, 7)]);
        let mut tree = Tree::default();
        tree.load(&set, 0, PathSettings::default());
        assert_eq!([0, 1, 2].map(|span| is_entry(&set, &tree, span)), [true, false, true]);
        assert_eq!(process_of(&set, 2), (set.names.find("b").unwrap(), Symbol::NONE));
    }
}
