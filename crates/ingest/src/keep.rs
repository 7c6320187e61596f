//! Keeping a part of the traces, where all of them are too many.

use pathlight_trace::{RawSpan, SpanId, TraceId, TraceSet};
use serde::{Deserialize, Serialize};

/// Which traces of an input are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum KeptTraces {
    /// Every one.
    #[default]
    All,
    /// One of so many, chosen by a hash of the id: the same ones in every input and at every time.
    Sample(u32),
    /// Those with a span of this service. Only what stands together as a trace can be judged by it: formats that scatter
    /// spans keep everything.
    Service(String),
    /// Those whose root is of this service and operation; like `Service` for whole traces only.
    RequestType {
        /// Service of the root.
        service: String,
        /// Operation of the root.
        operation: String,
    },
}

impl KeptTraces {
    /// Returns whether everything is kept.
    pub fn is_all(&self) -> bool {
        self.words().is_none()
    }

    /// Returns what is kept, in words; `None` for everything.
    pub fn words(&self) -> Option<String> {
        match self {
            KeptTraces::All | KeptTraces::Sample(0 | 1) => None,
            KeptTraces::Sample(of) => Some(format!("1 of {of} traces, by id")),
            KeptTraces::Service(service) => Some(format!("traces with a span of {service}")),
            KeptTraces::RequestType { service, operation } => {
                Some(format!("traces whose root is {operation} @ {service}"))
            }
        }
    }

    /// Returns whether a trace of this id may be kept.
    pub fn takes_id(&self, id: TraceId, set: &TraceSet) -> bool {
        let KeptTraces::Sample(of @ 2..) = *self else { return true };
        (id.content_hash(&set.id_texts) >> 32).is_multiple_of(u64::from(of))
    }

    /// Returns whether a whole trace is kept, as far as its spans decide that.
    pub fn takes_spans(&self, spans: &[RawSpan], set: &TraceSet) -> bool {
        let is_of = |span: &RawSpan, service: &str| set.service_of(span.process) == service;
        match self {
            KeptTraces::All | KeptTraces::Sample(_) => true,
            KeptTraces::Service(service) => spans.iter().any(|span| is_of(span, service)),
            KeptTraces::RequestType { service, operation } => {
                let roots = spans.iter().filter(|span| span.parent == SpanId::NONE);
                roots
                    .min_by_key(|span| (span.start_us, std::cmp::Reverse(span.duration_us)))
                    .is_some_and(|root| is_of(root, service) && set.names.get(root.operation) == operation)
            }
        }
    }
}
