//! The calling contexts of one request, summed by endpoint.

use super::PathTable;
use pathlight_trace::{EndpointId, NO_ROW, TraceSet};

/// Times of one request in one endpoint, over all call paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndpointEntry {
    /// The endpoint.
    pub endpoint: EndpointId,
    /// Exclusive time on the path in microseconds.
    pub exclusive_us: u64,
    /// Sanitised duration of its spans on the path in microseconds. What one request has is of
    /// 64 bits: of more than 58,000 spans of ten years in each other it is too small, which data quality says.
    pub inclusive_us: u64,
    /// Spans on the path.
    pub spans: u64,
    /// Errors among them.
    pub errors: u64,
}

/// Sums the contexts of a request by endpoint; keeps its memory from request to request.
pub struct Collapser {
    /// By endpoint: its place in `entries`, [`NO_ROW`] if not there.
    place: Vec<u32>,
    entries: Vec<EndpointEntry>,
}

impl Collapser {
    /// Returns a collapser for tables of this set.
    pub fn new(set: &TraceSet) -> Collapser {
        Collapser { place: vec![NO_ROW; set.endpoints().len()], entries: Vec::new() }
    }

    /// Returns the endpoints of a request.
    pub fn collapse(&mut self, table: &PathTable, request: u32) -> &[EndpointEntry] {
        for entry in self.entries.drain(..) {
            self.place[entry.endpoint.0 as usize] = NO_ROW;
        }
        for context in table.entries(request) {
            let endpoint = table.contexts()[context.context as usize].1;
            let place = &mut self.place[endpoint.0 as usize];
            if *place == NO_ROW {
                *place = self.entries.len() as u32;
                self.entries.push(EndpointEntry {
                    endpoint,
                    exclusive_us: 0,
                    inclusive_us: 0,
                    spans: 0,
                    errors: 0,
                });
            }
            let entry = &mut self.entries[*place as usize];
            entry.exclusive_us += context.exclusive_us;
            entry.inclusive_us = entry.inclusive_us.saturating_add(context.inclusive_us);
            entry.spans += u64::from(context.spans);
            entry.errors += u64::from(context.errors);
        }
        &self.entries
    }
}
