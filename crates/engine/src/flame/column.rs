//! A time of requests, one value each, in the order of the values.

use super::{Weight, pack_sorted, unpack_sorted};
use pathlight_base::statistics::{Percentiles, Weight as RequestWeight, Weights, sort_weighted};
use serde::{Deserialize, Serialize};

/// A time of each of some requests: an accumulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TimeColumn {
    us: Vec<u64>,
    /// In the order of the values; empty if all are 1.
    weights: Vec<RequestWeight>,
}

impl TimeColumn {
    /// Adds the time of a request.
    pub fn push(&mut self, us: u64, weight: RequestWeight) {
        if weight != RequestWeight::ONE || !self.weights.is_empty() {
            self.weights.resize(self.us.len(), RequestWeight::ONE);
            self.weights.push(weight);
        }
        self.us.push(us);
    }

    /// Returns the number of requests.
    pub fn requests(&self) -> u64 {
        self.us.len() as u64
    }

    /// Returns the column sorted and packed, as it travels.
    pub fn packed(mut self) -> TimeColumn {
        if self.weights.is_empty() {
            self.us.sort_unstable();
        } else {
            let mut pairs = self.pairs();
            sort_weighted(&mut pairs);
            (self.us, self.weights) = pairs.into_iter().unzip();
        }
        TimeColumn { us: pack_sorted(self.us), weights: self.weights }
    }

    fn pairs(&self) -> Vec<(u64, RequestWeight)> {
        let weights = self.weights.iter().copied().chain(std::iter::repeat(RequestWeight::ONE));
        self.us.iter().copied().zip(weights).collect()
    }

    /// Returns the times of a packed column, sorted.
    pub fn into_us(self) -> Vec<u64> {
        unpack_sorted(self.us)
    }

    /// Returns mean and percentiles of packed columns of disjoint requests.
    pub fn percentiles<'a>(parts: impl Iterator<Item = &'a TimeColumn>) -> Percentiles {
        Percentiles::of_weighted(&TimeColumn::joined(parts))
    }

    /// Returns the times of packed columns with their weights, sorted.
    pub fn joined<'a>(parts: impl Iterator<Item = &'a TimeColumn>) -> Vec<(u64, RequestWeight)> {
        let unpacked = |part: &TimeColumn| TimeColumn { us: unpack_sorted(part.us.clone()), ..part.clone() };
        let mut pairs: Vec<_> = parts.flat_map(|part| unpacked(part).pairs()).collect();
        sort_weighted(&mut pairs);
        pairs
    }

    /// Summarises packed columns of disjoint requests, of which all weigh so much together with those that have no value.
    pub fn summary<'a>(parts: impl Iterator<Item = &'a TimeColumn>, whole: &Weights) -> Weight {
        if whole.are_ones() {
            let mut sorted: Vec<u64> = parts.flat_map(|part| unpack_sorted(part.us.clone())).collect();
            // A stable sort joins the runs of the parts.
            sorted.sort();
            return Weight::of_sorted(&sorted, whole.seen);
        }
        Weight::of_weighted(&TimeColumn::joined(parts), whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_with_and_without_weights_are_one_column() {
        let of = |values: &[(u64, f64)]| {
            let mut column = TimeColumn::default();
            values
                .iter()
                .for_each(|&(us, w)| column.push(us, RequestWeight::of_count(w).unwrap_or_default()));
            column.packed()
        };
        let (ones, more) = (of(&[(20, 1.0), (10, 1.0)]), of(&[(30, 8.0)]));
        let whole = Weights::of([1.0, 1.0, 8.0].map(|w| RequestWeight::of_count(w).unwrap_or_default()));
        let found = TimeColumn::summary([&ones, &more].into_iter(), &whole);
        assert_eq!((found.sum, found.mean, found.p50), (270, 27.0, 30.0));
        assert_eq!(found, TimeColumn::summary([&more, &ones].into_iter(), &whole));
        assert_eq!(found, TimeColumn::summary([&of(&[(30, 8.0), (10, 1.0), (20, 1.0)])].into_iter(), &whole));
        let alone = TimeColumn::summary([&ones].into_iter(), &Weights::of_ones(4));
        assert_eq!(alone, Weight::of_sorted(&[10, 20], 4));
    }
}
