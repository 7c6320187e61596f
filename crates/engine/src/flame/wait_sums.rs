//! Sums of what many requests wait for (`docs/definitions/real-traces.md` section 3).

use super::{PathTable, Waiting};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Symbol, TraceSet};
use serde::{Deserialize, Serialize};

/// Sums of what requests wait for, by key (a calling context or an endpoint) and by service.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct WaitSums {
    /// The services waited for, by name.
    callees: Vec<String>,
    /// By key and callee, each pair once.
    sums: Vec<WaitSum>,
}

/// Sum of the time that requests with one key wait for one service.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct WaitSum {
    key: u32,
    /// Index into the callees.
    callee: u32,
    is_certain: bool,
    us: u128,
    requests: u64,
}

impl WaitSums {
    /// Sums what some requests of a worker wait for; `key` gives the number below `keys` that a context is counted under, `units`
    /// how often a request counts.
    pub fn observe(
        set: &TraceSet,
        table: &PathTable,
        requests: &[u32],
        keys: usize,
        key: impl Fn(u32) -> u32,
        units: impl Fn(u32) -> u128,
    ) -> WaitSums {
        let all = || {
            requests.iter().flat_map(move |&request| table.waits(request).iter().map(move |w| (request, w)))
        };
        let mut symbols: Vec<u32> = Vec::new();
        // Where the waits of each key lie, together.
        let mut ends = vec![0u32; keys];
        for (_, wait) in all() {
            ends[key(wait.context) as usize] += 1;
            if symbols.last() != Some(&wait.callee.0) {
                symbols.push(wait.callee.0);
            }
        }
        symbols.sort_unstable();
        symbols.dedup();
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        // (callee, request, certain, us) of each.
        let mut waits = vec![(0u32, 0u32, false, 0u64); before as usize];
        for (request, wait) in all() {
            let place = &mut ends[key(wait.context) as usize];
            let callee = symbols.partition_point(|&symbol| symbol < wait.callee.0);
            waits[*place as usize] = (callee as u32, request, wait.is_certain, wait.us);
            *place += 1;
        }
        let mut out = WaitSums {
            callees: symbols.iter().map(|&symbol| set.names.get(Symbol(symbol)).to_owned()).collect(),
            sums: Vec::new(),
        };
        let mut from = 0;
        for (key, &end) in (0..).zip(&ends) {
            let waits = &mut waits[from as usize..end as usize];
            from = end;
            // Stable: those of one request stay together.
            waits.compact_sort_by_key(|wait| wait.0);
            let mut last = None;
            for &(callee, request, is_certain, us) in waits.iter() {
                let is_new = last != Some((callee, request));
                last = Some((callee, request));
                let us = u128::from(us) * units(request);
                out.add(WaitSum { key, callee, is_certain, us, requests: u64::from(is_new) });
            }
        }
        out
    }

    /// Appends a sum, or adds it to the last one if that is of the same key and service.
    fn add(&mut self, more: WaitSum) {
        match self.sums.last_mut() {
            Some(sum) if (sum.key, sum.callee) == (more.key, more.callee) => {
                sum.us += more.us;
                sum.requests += more.requests;
                sum.is_certain &= more.is_certain;
            }
            _ => self.sums.push(more),
        }
    }

    /// Joins what disjoint requests wait for; each part comes with the number that each of its keys has now.
    pub fn merge(parts: Vec<(WaitSums, &[u32])>) -> WaitSums {
        let mut callees: Vec<String> =
            parts.iter().flat_map(|(part, _)| part.callees.iter().cloned()).collect();
        callees.compact_sort();
        callees.dedup();
        let mut sums = Vec::with_capacity(parts.iter().map(|(part, _)| part.sums.len()).sum());
        for (part, key_of) in parts {
            let number = |name: &String| callees.partition_point(|callee| callee < name) as u32;
            let callee_of: Vec<u32> = part.callees.iter().map(number).collect();
            sums.extend(part.sums.into_iter().map(|sum| WaitSum {
                key: key_of[sum.key as usize],
                callee: callee_of[sum.callee as usize],
                ..sum
            }));
        }
        sums.compact_sort_by_key(|sum| (sum.key, sum.callee));
        let mut out = WaitSums { callees, sums: Vec::with_capacity(sums.len()) };
        sums.into_iter().for_each(|sum| out.add(sum));
        out
    }

    /// Takes out, key by key from 0 on, what requests with that key wait for, by name of the service; a microsecond has been
    /// counted `units` times.
    pub fn by_key(&self, units: u128) -> impl FnMut(u32) -> Vec<Waiting> + '_ {
        let mut rest = self.sums.as_slice();
        move |key| {
            let sums = rest.iter().take_while(|sum| sum.key == key).count();
            let (here, after) = rest.split_at(sums);
            rest = after;
            let waiting = |sum: &WaitSum| Waiting {
                callee: self.callees[sum.callee as usize].clone(),
                us: (sum.us + units / 2) / units,
                requests: sum.requests,
                is_certain: sum.is_certain,
            };
            here.iter().map(waiting).collect()
        }
    }
}
