//! Queues as places: each edge has an endpoint of its own, so that all that tells of endpoints on the path tells of queues.

use super::path::QueuedMessage;
use crate::queues::queue_between;
use pathlight_trace::{Endpoint, EndpointId, Interner, Symbol, TraceSet};
use rustc_hash::FxHashMap;

/// Numbers of endpoints from here on are those of queues that have no name yet.
const FIRST: u32 = 1 << 31;

/// The edges on the paths of a table that is being built.
#[derive(Default)]
pub(in crate::flame) struct QueueNames {
    /// Endpoints of sender and receiver, and number of the destination.
    edges: Vec<(EndpointId, EndpointId, u32)>,
    numbers: FxHashMap<(u32, u32, u32), u32>,
    destinations: Interner,
}

impl QueueNames {
    /// Returns an endpoint that stands for the queue of a message, until it gets its name.
    pub fn number(&mut self, set: &TraceSet, message: &QueuedMessage) -> EndpointId {
        let QueuedMessage { sender, receiver, .. } = *message;
        let named = self.destinations.intern(queue_between(set, message.sender, message.receiver)).0;
        let (from, to) = (set.endpoint(sender), set.endpoint(receiver));
        let edges = &mut self.edges;
        let number = *self.numbers.entry((from.0, to.0, named)).or_insert_with(|| {
            edges.push((from, to, named));
            edges.len() as u32 - 1
        });
        EndpointId(FIRST + number)
    }

    /// Returns whether an endpoint is a queue that has no name yet.
    pub fn place(endpoint: EndpointId) -> Option<usize> {
        endpoint.0.checked_sub(FIRST).map(|place| place as usize)
    }

    /// Returns the endpoints of all queues by place, which the set knows then.
    pub fn named(&self, set: &mut TraceSet) -> Vec<EndpointId> {
        let name = |&(from, to, named): &(EndpointId, EndpointId, u32)| {
            name(set, from, to, self.destinations.get(Symbol(named)))
        };
        let names: Vec<Endpoint> = self.edges.iter().map(name).collect();
        names.iter().map(|name| set.add_endpoint(&name.service, &name.operation)).collect()
    }
}

/// Returns the endpoint that stands for the queue of a message.
pub(crate) fn queue_endpoint(set: &TraceSet, message: &QueuedMessage) -> Endpoint {
    let [from, to] = [message.sender, message.receiver].map(|row| set.endpoint(row));
    name(set, from, to, queue_between(set, message.sender, message.receiver))
}

/// Returns the service that stands for a queue.
pub(crate) fn queue_service(destination: &str) -> String {
    if destination.is_empty() { "queue".to_owned() } else { format!("queue {destination}") }
}

fn name(set: &TraceSet, from: EndpointId, to: EndpointId, destination: &str) -> Endpoint {
    let service = queue_service(destination);
    // Where places are services these have no operations, and the queue is one place.
    let operation = match [from, to].map(|end| set.endpoint_name(end)) {
        [(_, ""), (_, "")] => String::new(),
        [from, to] => format!("{} ({}) -> {} ({})", from.1, from.0, to.1, to.0),
    };
    Endpoint::new(service, operation)
}
