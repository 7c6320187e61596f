//! OpenTelemetry protocol as JSON.

use super::node::{Bad, Node};
use super::state::{Fail, Format, State};
use crate::trace::{SetFull, TagSetId, TraceSet};

pub(super) fn see(state: &mut State) {
    state.saw(Format::Otlp);
}

pub(super) fn begin_resource(state: &mut State) {
    see(state);
    state.resource = None;
}

pub(super) fn begin_scope(_state: &mut State) {}

pub(super) fn resource(_state: &mut State, _set: &mut TraceSet, _node: Node<'_>) -> Result<(), Bad> {
    Ok(())
}

pub(super) fn scope(_state: &mut State, _node: Node<'_>) -> Result<(), Bad> {
    Ok(())
}

pub(super) fn span(_state: &mut State, _set: &mut TraceSet, _node: Node<'_>) -> Result<(), Fail> {
    Ok(())
}

/// Hands over spans that waited for their resource.
pub(super) fn finish_resource(state: &mut State, set: &mut TraceSet) -> Result<(), SetFull> {
    if state.waiting.is_empty() {
        return Ok(());
    }
    let process = state.resource.unwrap_or_else(|| set.process("", "", TagSetId::EMPTY));
    for (id, mut span) in std::mem::take(&mut state.waiting) {
        span.process = process;
        state.stage(set, id, span)?;
    }
    Ok(())
}
