//! Spans whose self times change together or are learned together: of a part of a service, of a service in one place, or of calls
//! between services.

use super::{CallsBetween, Move};
use crate::verdict::{Subject, SubjectSpans, answer_of_other_service};
use pathlight_trace::{TraceSet, Tree};
use serde::{Deserialize, Serialize};

/// Which spans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum TimedSpans {
    /// Those of a part of a service.
    Subject(Subject),
    /// Own work that runs where a tag of processes has a value, or (`is_there` is false) another one.
    Work { service: Option<String>, key: String, value: String, is_there: bool },
    /// Calls that another service answers. Of those with a tag to cross: only those that cross, or only those that do not.
    Calls { calls: CallsBetween, cross: bool },
}

/// Finds them in one set.
pub(super) enum SetSpans {
    Subject(SubjectSpans),
    Work {
        /// By endpoint, whether it is of the service.
        is_of_service: Vec<bool>,
        service_of: Vec<u32>,
        key: String,
        value: String,
        is_there: bool,
    },
    Calls {
        is_caller: Vec<bool>,
        is_callee: Vec<bool>,
        service_of: Vec<u32>,
        across: Option<String>,
        cross: bool,
    },
}

impl SetSpans {
    /// Returns what finds these spans in this set.
    pub fn new(set: &TraceSet, spans: &TimedSpans) -> SetSpans {
        let is_of = |wanted: &Option<String>| -> Vec<bool> {
            set.endpoints().map(|(name, _)| wanted.as_ref().is_none_or(|wanted| wanted == name)).collect()
        };
        match spans {
            TimedSpans::Subject(subject) => SetSpans::Subject(SubjectSpans::new(set, subject)),
            TimedSpans::Work { service, key, value, is_there } => SetSpans::Work {
                is_of_service: is_of(service),
                service_of: set.service_numbers().0,
                key: key.clone(),
                value: value.clone(),
                is_there: *is_there,
            },
            TimedSpans::Calls { calls, cross } => SetSpans::Calls {
                is_caller: is_of(&calls.caller),
                is_callee: is_of(&calls.callee),
                service_of: set.service_numbers().0,
                across: calls.across.clone(),
                cross: *cross,
            },
        }
    }

    /// Returns whether a span is one of them.
    pub fn has(&self, set: &TraceSet, tree: &Tree, span: u32) -> bool {
        let row = tree.row(span);
        let value_of = |row: u32, key: &str| set.tags.value(set.process_of(row).tags, key);
        let endpoint = set.named_endpoint(row).0 as usize;
        match self {
            SetSpans::Subject(spans) => spans.has(set, tree, span),
            SetSpans::Work { is_of_service, service_of, key, value, is_there } => {
                is_of_service[endpoint]
                    && value_of(row, key).is_some_and(|here| (here == value) == *is_there)
                    && answer_of_other_service(set, tree, span, service_of).is_none()
            }
            SetSpans::Calls { is_caller, is_callee, service_of, across, cross } => {
                if !is_caller[endpoint] {
                    return false;
                }
                let Some(answer) = answer_of_other_service(set, tree, span, service_of) else { return false };
                let answer = tree.row(answer);
                let is_between = across.as_ref().is_none_or(|key| {
                    let values = (value_of(row, key), value_of(answer, key));
                    matches!(values, (Some(from), Some(to)) if (from != to) == *cross)
                });
                is_between && is_callee[set.named_endpoint(answer).0 as usize]
            }
        }
    }
}

impl Move {
    /// Returns the own work that is there already, or that moves there.
    pub(super) fn spans(&self, is_there: bool) -> TimedSpans {
        let Move { service, key, value, levels: _ } = self.clone();
        TimedSpans::Work { service, key, value, is_there }
    }
}
