//! Relations between the calls of one span: whether their number grows with what an earlier one returns,
//! which run beside which, and between which of them the span is longest alone.

use pathlight_base::statistics::{Weight, student_p};
use pathlight_trace::{Endpoint, EndpointId, NO_ROW, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Of spans with more calls than this is not counted which run beside which: that is quadratic.
const MOST_BESIDE: usize = 32;
/// Greater numbers are ids.
const GREATEST: u64 = 1_000_000_000;

/// Two numbers of each of some spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Together {
    n: u64,
    sums: [u128; 2],
    squares: [u128; 2],
    product: u128,
}

impl Together {
    fn add(&mut self, x: u64, y: u64) {
        let (x, y) = (u128::from(x), u128::from(y));
        self.merge(Together { n: 1, sums: [x, y], squares: [x * x, y * y], product: x * y });
    }

    pub fn merge(&mut self, other: Together) {
        self.n += other.n;
        self.product += other.product;
        for at in 0..2 {
            self.sums[at] += other.sums[at];
            self.squares[at] += other.squares[at];
        }
    }

    /// Returns Pearson's correlation, and how likely one as high is by chance (Student's t, one-sided); `None` for
    /// fewer than four pairs, and where one of the numbers is always the same.
    pub fn correlation(&self) -> Option<(f64, f64)> {
        let n = u128::from(self.n);
        // n times a sum of products less the product of two sums, exactly unless that is beyond 128 bits.
        let spread =
            |products: u128, sums: [u128; 2]| match (n.checked_mul(products), sums[0].checked_mul(sums[1])) {
                (Some(of_products), Some(of_sums)) if of_products < of_sums => {
                    -((of_sums - of_products) as f64)
                }
                (Some(of_products), Some(of_sums)) => (of_products - of_sums) as f64,
                _ => n as f64 * products as f64 - sums[0] as f64 * sums[1] as f64,
            };
        let (x, y) = (spread(self.squares[0], [self.sums[0]; 2]), spread(self.squares[1], [self.sums[1]; 2]));
        if self.n < 4 || x <= 0.0 || y <= 0.0 {
            return None;
        }
        let r = spread(self.product, self.sums) / (x * y).sqrt();
        let freedom = self.n as f64 - 2.0;
        let p = student_p(r * (freedom / (1.0 - r * r).max(1e-12)).sqrt(), freedom) / 2.0;
        Some((r, if r > 0.0 { p } else { 1.0 - p }))
    }
}

/// Calls of one endpoint that run beside those of another: how long, and from when to when after the start of their caller, by
/// weight: in units of 1/256 calls and microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Beside {
    pub calls: u128,
    pub us: u128,
    pub from_us: u128,
    pub to_us: u128,
}

impl Beside {
    pub fn merge(&mut self, other: Beside) {
        self.calls += other.calls;
        self.us += other.us;
        self.from_us += other.from_us;
        self.to_us += other.to_us;
    }
}

/// Spans that are longest alone between two of their calls, and for how long in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct GapSums {
    pub spans: u64,
    pub us: u128,
}

impl GapSums {
    pub fn merge(&mut self, other: GapSums) {
        self.spans += other.spans;
        self.us += other.us;
    }
}

/// By (caller, callee, the call before them, a tag of that; empty: its duration).
pub(super) type TogetherKey = (Endpoint, Endpoint, Endpoint, String);

/// What is known of the calls of spans; an accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SiblingSums {
    pub together: BTreeMap<TogetherKey, Together>,
    /// By a call and what runs beside it.
    pub beside: BTreeMap<(Endpoint, Endpoint), Beside>,
    /// By span, the call before and the call after; without a name where there is none.
    pub gaps: BTreeMap<(Endpoint, Endpoint, Endpoint), GapSums>,
}

impl SiblingSums {
    pub fn merge(&mut self, other: SiblingSums) {
        other.together.into_iter().for_each(|(key, sums)| self.together.entry(key).or_default().merge(sums));
        other.beside.into_iter().for_each(|(key, sums)| self.beside.entry(key).or_default().merge(sums));
        other.gaps.into_iter().for_each(|(key, sums)| self.gaps.entry(key).or_default().merge(sums));
    }
}

/// What a pair of key and value is as a number: not known yet, or none.
const UNKNOWN: u64 = u64::MAX;
const NONE: u64 = u64::MAX - 1;

/// Sweeps spans; its sums are by numbers of the set.
pub(super) struct Siblings {
    children: Vec<u32>,
    /// Endpoint of each child, and its place among them.
    order: Vec<(u32, u32)>,
    /// By pair of key and value.
    values: Vec<u64>,
    /// The last number is that of the key; [`NO_ROW`]: the duration.
    together: FxHashMap<[u32; 4], Together>,
    beside: FxHashMap<(u32, u32), Beside>,
    gaps: FxHashMap<[u32; 3], GapSums>,
    /// How many requests the one at hand counts as.
    pub weight: Weight,
}

impl Siblings {
    pub fn new(set: &TraceSet) -> Siblings {
        Siblings {
            children: Vec::new(),
            order: Vec::new(),
            values: vec![UNKNOWN; set.tags.pairs()],
            together: FxHashMap::default(),
            beside: FxHashMap::default(),
            gaps: FxHashMap::default(),
            weight: Weight::ONE,
        }
    }

    /// Looks at the calls of one span, which is of this endpoint.
    pub fn look(&mut self, set: &TraceSet, tree: &Tree, span: u32, endpoint: u32) {
        let mut children = std::mem::take(&mut self.children);
        children.clear();
        children.extend(tree.sync_children(span));
        if !children.is_empty() {
            self.find_gap(set, tree, (span, endpoint), &children);
        }
        if children.len() > 1 {
            if children.len() <= MOST_BESIDE {
                self.find_beside(set, tree, span, &children);
            }
            self.count(set, tree, endpoint, &children);
        }
        self.children = children;
    }

    /// Finds the longest stretch in which none of the calls runs; the first of equal ones.
    fn find_gap(&mut self, set: &TraceSet, tree: &Tree, (span, endpoint): (u32, u32), children: &[u32]) {
        let (mut at, mut before) = (tree.start_us[span as usize], NO_ROW);
        let mut longest = (0, NO_ROW, NO_ROW);
        for &child in children {
            let name = set.endpoint(tree.row(child)).0;
            let us = tree.start_us[child as usize].saturating_sub(at);
            if us > longest.0 {
                longest = (us, before, name);
            }
            if tree.end_us[child as usize] >= at {
                (at, before) = (tree.end_us[child as usize], name);
            }
        }
        let us = tree.end_us[span as usize].saturating_sub(at);
        if us > longest.0 {
            longest = (us, before, NO_ROW);
        }
        let sums = self.gaps.entry([endpoint, longest.1, longest.2]).or_default();
        sums.merge(GapSums { spans: 1, us: longest.0.into() });
    }

    fn find_beside(&mut self, set: &TraceSet, tree: &Tree, span: u32, children: &[u32]) {
        let ends = |child: u32| (tree.start_us[child as usize], tree.end_us[child as usize]);
        let first_us = tree.start_us[span as usize];
        for (at, &a) in children.iter().enumerate() {
            let (from, to) = ends(a);
            // By start: what comes later begins later, but for clocks that are wrong.
            for &b in children[at + 1..].iter().take_while(|&&b| ends(b).0 < to) {
                let us = to.min(ends(b).1).saturating_sub(ends(b).0.max(from));
                if us == 0 {
                    continue;
                }
                for (call, other) in [(a, b), (b, a)] {
                    let key = (set.endpoint(tree.row(call)).0, set.endpoint(tree.row(other)).0);
                    let (from, to) = ends(other);
                    let by_weight = |us: u64| u128::from(us) * u128::from(self.weight.units());
                    let sums = Beside {
                        calls: self.weight.units().into(),
                        us: by_weight(us),
                        from_us: by_weight(from.saturating_sub(first_us)),
                        to_us: by_weight(to.saturating_sub(first_us)),
                    };
                    self.beside.entry(key).or_default().merge(sums);
                }
            }
        }
    }

    /// Counts how many calls there are of each endpoint, and what is known of the call before them.
    fn count(&mut self, set: &TraceSet, tree: &Tree, caller: u32, children: &[u32]) {
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        order.extend(children.iter().zip(0..).map(|(&child, at)| (set.endpoint(tree.row(child)).0, at)));
        order.sort_unstable();
        for same in order.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            let (callee, first) = same[0];
            let n = same.len() as u64;
            let before = first.checked_sub(1).map(|before| children[before as usize]);
            let start_us = tree.start_us[children[first as usize] as usize];
            let Some(before) = before.filter(|&before| tree.end_us[before as usize] <= start_us) else {
                continue;
            };
            let row = tree.row(before);
            let sibling = set.endpoint(row).0;
            let mut note = |key, value| {
                self.together.entry([caller, callee, sibling, key]).or_default().add(n, value);
            };
            note(NO_ROW, tree.duration_us(before).min(GREATEST));
            for &pair in set.tags.pairs_of(set.tag_set(row)) {
                let known = &mut self.values[pair as usize];
                let (key, value) = set.tags.pair(pair);
                if *known == UNKNOWN {
                    let number = value.parse().ok().filter(|value| *value <= GREATEST);
                    *known = number.filter(|_| !set.tags.is_high_cardinality(key)).unwrap_or(NONE);
                }
                if *known != NONE {
                    note(key, *known);
                }
            }
        }
        self.order = order;
    }

    pub fn finish(self, set: &TraceSet) -> SiblingSums {
        let name = |number: u32| match number {
            NO_ROW => Endpoint::default(),
            number => set.owned_endpoint(EndpointId(number)),
        };
        let key = |number: u32| match number {
            NO_ROW => String::new(),
            number => set.tags.key_name(number).to_owned(),
        };
        let together = self.together.into_iter();
        SiblingSums {
            together: together
                .map(|([a, b, c, d], sums)| ((name(a), name(b), name(c), key(d)), sums))
                .collect(),
            beside: self.beside.into_iter().map(|((a, b), sums)| ((name(a), name(b)), sums)).collect(),
            gaps: self
                .gaps
                .into_iter()
                .map(|([a, b, c], sums)| ((name(a), name(b), name(c)), sums))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_correlation_is_that_of_the_books() {
        let mut together = Together::default();
        [(2, 10), (4, 22), (6, 28), (8, 43)].into_iter().for_each(|(x, y)| together.add(x, y));
        let (r, p) = together.correlation().unwrap();
        // x: 2, 4, 6, 8; y: mean 25.75, deviations -15.75, -3.75, 2.25, 17.25; r = 105 / sqrt(20 * 564.75).
        assert!((r - 105.0 / (20.0f64 * 564.75).sqrt()).abs() < 1e-12, "{r}");
        assert!((0.004..0.008).contains(&p), "{p}");
        let mut same = Together::default();
        (0..5).for_each(|i| same.add(i, 7));
        assert_eq!(same.correlation(), None);
        let mut falls = Together::default();
        [(1, 9), (2, 7), (3, 6), (4, 1)].into_iter().for_each(|(x, y)| falls.add(x, y));
        assert!(falls.correlation().is_some_and(|(r, p)| r < -0.9 && p > 0.9));
    }
}
