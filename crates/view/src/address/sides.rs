//! The sides of a comparison in an address: which requests they are, and of which of them the views speak that do not
//! compare.

use super::Address;
use crate::address::comparing::{Against, ComparedSide, Comparison};
use crate::views::View;
use pathlight_engine::requests::{Filter, PercentileRange, Selection};

impl Address {
    /// Returns the comparison under way. The view that compares has one always: if none was begun, that of the bulk
    /// with the tail.
    pub fn compared(&self) -> Option<Comparison> {
        self.comparison.or_else(|| (self.view == View::Compare).then(|| Comparison::of_ranges(self.range).0))
    }

    /// Returns whether sets are compared that were loaded apart.
    pub fn compares_sets(&self) -> bool {
        self.comparison.is_some_and(|comparison| comparison.against == Against::Set)
    }

    /// Returns whether side A says what side B should be like: sets that were loaded apart, or requests before and since a time.
    pub fn has_baseline(&self) -> bool {
        self.comparison.is_some_and(|comparison| comparison.against.has_baseline())
    }

    /// Returns whether views speak of the side that says what the other should be like.
    pub fn is_of_baseline(&self) -> bool {
        self.comparison.is_some_and(|of| of.against.has_baseline() && of.side == ComparedSide::A)
    }

    /// Returns the time before and since which requests are compared, in microseconds since the epoch.
    pub fn compares_since(&self) -> Option<u64> {
        match self.comparison?.against {
            Against::Time(at_us) => Some(at_us),
            _ => None,
        }
    }

    /// Returns the [group](Selection::group) that views speak of.
    pub fn group(&self) -> u8 {
        self.comparison.map_or(0, |comparison| comparison.group(comparison.side))
    }

    /// Returns the requests of a side, of the same root endpoint and filters. Set A says how long subjects usually take, so it
    /// is not filtered by that.
    pub fn side(&self, side: ComparedSide) -> Selection {
        let plain = self.plain_side(side);
        match side {
            _ if !self.has_baseline() => plain,
            ComparedSide::A => plain.without_hits(),
            ComparedSide::B => plain.with_hits_against(&self.plain_side(ComparedSide::A)),
        }
    }

    fn plain_side(&self, side: ComparedSide) -> Selection {
        let (comparison, range) = match self.comparison {
            Some(comparison) => (comparison, self.range),
            None => Comparison::of_ranges(self.range),
        };
        let range = if side == comparison.side { range } else { comparison.other };
        let mut chosen = Selection { group: comparison.group(side), range, ..self.chosen_requests() };
        if comparison.against == Against::Set && side != comparison.side {
            // Sets loaded apart are of times of their own, so a time is one of the side in sight.
            chosen.filters.retain(|filter| !matches!(filter, Filter::Time { .. }));
        }
        chosen.filters.extend(comparison.against.filter(side));
        chosen
    }

    /// Cuts the percentile range of a side.
    pub fn set_range(&mut self, side: ComparedSide, range: PercentileRange) {
        let mut comparison = self.begin_comparing();
        if side == comparison.side {
            self.range = range;
        } else {
            comparison.other = range;
        }
        self.comparison = Some(comparison);
    }

    /// Lets the views speak of a side.
    pub fn speak_of(&mut self, side: ComparedSide) {
        let mut comparison = self.begin_comparing();
        if side != comparison.side {
            std::mem::swap(&mut comparison.other, &mut self.range);
            comparison.side = side;
        }
        self.comparison = Some(comparison);
    }

    /// Makes A of B and B of A. What the views speak of stays what it is. Before stays before.
    pub fn swap_sides(&mut self) {
        if self.compares_since().is_some() {
            return;
        }
        let mut comparison = self.begin_comparing();
        comparison.side = comparison.side.other();
        comparison.swapped = comparison.against == Against::Set && !comparison.swapped;
        self.comparison = Some(comparison);
    }

    /// Compares percentile ranges of the set that is looked at.
    pub fn compare_ranges(&mut self) {
        self.comparison = None;
        self.view = View::Compare;
        self.comparison = Some(self.begin_comparing());
    }

    /// Compares with the set that is loaded second, the same percentile range of both; nothing changes if that is so
    /// already. Views speak of the second: that is the one asked about.
    pub fn compare_sets(&mut self) {
        if !self.compares_sets() {
            let range = if self.comparison.is_some() { PercentileRange::ALL } else { self.range };
            self.range = range;
            self.comparison = Some(Comparison {
                against: Against::Set,
                side: ComparedSide::B,
                other: range,
                swapped: false,
            });
            self.view = View::Compare;
        }
    }

    /// Compares the requests of the set that is looked at that start before a time, in microseconds since the epoch, with those
    /// since then. Views speak of the latter: they are asked about.
    pub fn compare_since(&mut self, at_us: u64) {
        let range = if self.comparison.is_some() { PercentileRange::ALL } else { self.range };
        self.range = range;
        let against = Against::Time(at_us);
        self.comparison = Some(Comparison { against, side: ComparedSide::B, other: range, swapped: false });
    }

    /// Ends comparing; a percentile range that was there only to be compared goes too.
    pub fn stop_comparing(&mut self) {
        if self.comparison.take().is_some_and(|comparison| comparison.against == Against::Range) {
            self.range = PercentileRange::ALL;
        }
        if self.view == View::Compare {
            self.view = View::Flame;
        }
    }

    fn begin_comparing(&mut self) -> Comparison {
        self.comparison.unwrap_or_else(|| {
            let (comparison, range) = Comparison::of_ranges(self.range);
            self.range = range;
            comparison
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::comparing::BULK;
    use pathlight_engine::requests::Filter;

    const P95: PercentileRange = PercentileRange::open(95_000, 99_000);

    fn ranges(address: &Address) -> [PercentileRange; 2] {
        ComparedSide::BOTH.map(|side| address.side(side).range)
    }

    #[test]
    fn the_comparing_view_sets_the_bulk_against_the_tail_without_a_word() {
        let mut address = Address { view: View::Compare, ..Address::default() };
        assert_eq!(ranges(&address), [BULK, PercentileRange::TAIL]);
        address.range = P95;
        assert_eq!(ranges(&address), [BULK, P95]);
        assert_eq!(address.comparison, None, "other views stay as they are");
        address.set_range(ComparedSide::A, PercentileRange::ALL);
        assert_eq!((ranges(&address), address.range), ([PercentileRange::ALL, P95], P95));
        address.view = View::Flame;
        address.stop_comparing();
        assert_eq!((address.range, address.view), (PercentileRange::ALL, View::Flame));
    }

    #[test]
    fn requests_before_a_time_are_compared_with_those_since_then() {
        let mut address = Address { range: P95, ..Address::default() };
        address.filters.push(Filter::HasError);
        address.compare_since(5_000);
        let time = |from_us, to_us| Filter::Time { from_us, to_us };
        let sides = ComparedSide::BOTH.map(|side| address.side(side));
        assert_eq!(sides[0].filters, [Filter::HasError, time(0, 5_000)]);
        assert_eq!(sides[1].filters, [Filter::HasError, time(5_000, u64::MAX)]);
        assert_eq!(sides.clone().map(|side| (side.group, side.range)), [(0, P95); 2]);
        assert_eq!(address.selection(), sides[1], "views speak of what came after");
        assert!(address.has_baseline() && !address.compares_sets() && !address.is_of_baseline());
        assert_eq!(Address::parse(&address.to_fragment()), address);
        let before = address.clone();
        address.swap_sides();
        assert_eq!(address, before);
        address.speak_of(ComparedSide::A);
        assert!(address.is_of_baseline());
        assert_eq!(address.selection().filters, sides[0].filters);
        address.stop_comparing();
        assert_eq!((address.selection().filters, address.range), (vec![Filter::HasError], P95));
    }

    #[test]
    fn of_sets_a_time_is_one_of_the_side_in_sight() {
        let mut address = Address::default();
        let time = Filter::Time { from_us: 5_000, to_us: 6_000 };
        address.filters = vec![Filter::HasError, time.clone()];
        address.compare_sets();
        let filters = |address: &Address| ComparedSide::BOTH.map(|side| address.side(side).filters);
        let both = vec![Filter::HasError, time];
        assert_eq!(filters(&address), [vec![Filter::HasError], both.clone()], "B is in sight");
        address.speak_of(ComparedSide::A);
        assert_eq!(filters(&address), [both, vec![Filter::HasError]]);
    }

    #[test]
    fn views_speak_of_the_chosen_side() {
        let mut address = Address::default();
        address.compare_sets();
        assert_eq!((address.group(), address.side(ComparedSide::A).group), (1, 0));
        address.set_range(ComparedSide::B, P95);
        address.speak_of(ComparedSide::A);
        assert_eq!((address.group(), address.range), (0, PercentileRange::ALL));
        address.speak_of(ComparedSide::B);
        assert_eq!((address.group(), address.range, ranges(&address)), (1, P95, [PercentileRange::ALL, P95]));
        assert_eq!(Address::parse(&address.to_fragment()), address);
        address.swap_sides();
        assert_eq!((address.group(), address.range, ranges(&address)), (1, P95, [P95, PercentileRange::ALL]));
        assert_eq!(address.side(ComparedSide::A).group, 1);
        assert_eq!(Address::parse(&address.to_fragment()), address);
        assert_eq!(address.comparison.map(|c| c.side), Some(ComparedSide::A));
    }
}
