//! The names that parts of a summary number their endpoints by.

use crate::names::numbered;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, NO_ROW, TraceSet};

/// The names of a set, sorted.
pub(crate) struct SetNames {
    pub names: Vec<Endpoint>,
    /// By endpoint of the set its place among the names.
    pub number_of: Vec<u32>,
    /// By name: its place among those that a part uses.
    places: Vec<u32>,
}

impl SetNames {
    pub fn of(set: &TraceSet) -> SetNames {
        let (names, number_of) = numbered(set, 0..set.endpoints().len() as u32);
        SetNames { places: vec![NO_ROW; names.len()], names, number_of }
    }

    /// Returns the names with these numbers, and by number the places that they have among them: equal requests give an
    /// equal part, whatever else is in their set. Places of other numbers mean nothing.
    pub fn used(&mut self, mut numbers: Vec<u32>) -> (Vec<Endpoint>, &[u32]) {
        numbers.compact_sort();
        numbers.dedup();
        (0..).zip(&numbers).for_each(|(place, &number)| self.places[number as usize] = place);
        (numbers.iter().map(|&number| self.names[number as usize].clone()).collect(), &self.places)
    }
}
