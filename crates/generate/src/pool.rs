//! Calls that wait for a connection of a pool: requests that run at the same time hold each other up.

use super::build::Beginning;
use super::plan::Plan;
use super::{GenerateError, Generator};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::str::FromStr;

/// A pool of connections: each instance of a service makes at most so many calls of another at once. Who comes first is served
/// first, and a connection that is given back is taken at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pool {
    /// The service that calls.
    pub service: String,
    /// The service or store that is called. What it does must not call it again from the same service.
    pub peer: String,
    /// Connections of each instance, at least 1.
    pub connections: usize,
}

impl FromStr for Pool {
    type Err = GenerateError;

    /// Reads `SERVICE>PEER=CONNECTIONS`.
    fn from_str(text: &str) -> Result<Pool, GenerateError> {
        let bad = || GenerateError::Pool(text.to_owned());
        let (calls, connections) = text.rsplit_once('=').ok_or_else(bad)?;
        let (service, peer) = calls.split_once('>').ok_or_else(bad)?;
        let connections = connections.parse().ok().filter(|connections| *connections > 0).ok_or_else(bad)?;
        Ok(Pool { service: service.to_owned(), peer: peer.to_owned(), connections })
    }
}

impl Generator {
    /// Returns, by trace, what calls wait for a connection: number of the span, and microseconds. Calls are served in the order of
    /// time; one that waits only moves what is later in its own trace, so the earliest call that was not served is always known.
    pub(super) fn wait_for(&self, pool: &Pool) -> Result<Vec<Vec<(u32, u64)>>, GenerateError> {
        let topology = &self.topology;
        let is_pooled: Vec<bool> = topology
            .endpoints
            .iter()
            .map(|of| topology.services[of.service as usize] == pool.service && of.peer == pool.peer)
            .collect();
        let Some(caller) = is_pooled.iter().position(|is_pooled| *is_pooled) else {
            let Pool { service, peer, connections } = pool;
            return Err(GenerateError::Pool(format!("{service}>{peer}={connections}")));
        };
        let caller = topology.endpoints[caller].service;
        let mut plan = Plan::default();
        let mut waits: Vec<Vec<(u32, u64)>> = vec![Vec::new(); self.options.traces as usize];
        // By time: start of a call, its trace and its number in it.
        let mut next = BinaryHeap::new();
        // By instance, when the connections that are taken are given back.
        let mut taken: Vec<BinaryHeap<Reverse<u64>>> = Vec::new();
        let first = |plan: &Plan, root_us: u64, served: &[(u32, u64)]| {
            let calls = (0u32..).zip(&plan.nodes).filter(|(number, node)| {
                is_pooled[node.endpoint as usize] && !served.iter().any(|(served, _)| served == number)
            });
            calls.map(|(number, node)| (root_us + node.start_us, number)).min()
        };
        let root_us = |index: u64| Beginning::of(&self.options, index).root_start_us;
        for index in 0..self.options.traces {
            self.scheduled(index, &[], &mut plan);
            let call = first(&plan, root_us(index), &[]);
            next.extend(call.map(|(start_us, number)| Reverse((start_us, index, number))));
        }
        while let Some(Reverse((start_us, index, number))) = next.pop() {
            let served = &mut waits[index as usize];
            let instance = self.scheduled(index, served, &mut plan).instance(caller);
            if taken.len() <= instance {
                taken.resize_with(instance + 1, BinaryHeap::new);
            }
            let taken = &mut taken[instance];
            let mut begins_us = start_us;
            if taken.len() == pool.connections
                && let Some(Reverse(free_us)) = taken.pop()
            {
                begins_us = begins_us.max(free_us);
            }
            taken.push(Reverse(begins_us + plan.nodes[number as usize].duration_us));
            served.push((number, begins_us - start_us));
            self.scheduled(index, served, &mut plan);
            let call = first(&plan, root_us(index), served);
            next.extend(call.map(|(start_us, number)| Reverse((start_us, index, number))));
        }
        waits.iter_mut().for_each(|of_trace| of_trace.retain(|(_, wait_us)| *wait_us > 0));
        Ok(waits)
    }
}
