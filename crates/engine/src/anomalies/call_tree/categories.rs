//! The surprise of a category among those of training (`docs/definitions/anomaly.md` section 2).

use super::FactKind;
use super::facts::KINDS;
use crate::anomalies::sets::FOLDS;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::ln;
use std::collections::BTreeMap;

/// Training calls of each fold.
pub type Counts = [u32; FOLDS];

/// Counts the calls with a fold left out.
pub fn without(counts: &Counts, fold: usize) -> u32 {
    counts.iter().sum::<u32>() - counts[fold]
}

/// Good-Turing's share of categories not seen yet, by kind and fold left out.
#[derive(Clone, Debug, Default)]
pub struct Unseen {
    by_kind: [[(u64, u64); FOLDS]; KINDS],
}

impl Unseen {
    /// Takes note of a category.
    pub fn add(&mut self, kind: FactKind, counts: &Counts) {
        for (fold, (singletons, calls)) in self.by_kind[kind as usize].iter_mut().enumerate() {
            let here = without(counts, fold);
            *singletons += u64::from(here == 1);
            *calls += u64::from(here);
        }
    }

    /// Returns the share of calls of a kind that have a category never seen before.
    pub fn share(&self, kind: FactKind, fold: usize) -> f64 {
        let (singletons, calls) = self.by_kind[kind as usize][fold];
        (singletons as f64 + 1.0) / (calls as f64 + 1.0)
    }
}

/// The categories of one key with a fold left out.
#[derive(Clone, Debug, Default)]
struct Seen {
    n: u32,
    /// For each endpoint in the sets, how much likelier a set is with it than without; empty but for sets.
    members: BTreeMap<u32, i64>,
    /// Logarithm of the probability of the empty set, in billionths.
    empty: i64,
    /// Rarity of each category seen, ascending, and the calls as rare or rarer.
    rarer: Vec<((u32, i64), u32)>,
}

/// The categories of one key.
#[derive(Clone, Debug, Default)]
pub struct Categories {
    /// Of those who leave nothing out, where there are any, there is one: a key may have a single call.
    seen: Vec<Seen>,
    /// By fold left out: its place there.
    of: [u8; FOLDS],
}

/// Returns the logarithm of a share, in billionths: sums of such do not depend on their order.
fn log_share(with: f64, all: f64) -> i64 {
    (ln((with + 0.5) / (all + 1.0)) * 1e9) as i64
}

impl Seen {
    /// Takes note of how many of the calls have each endpoint in their set.
    fn learn(&mut self, calls: BTreeMap<u32, u32>) {
        let n = f64::from(self.n);
        for (endpoint, calls) in calls {
            let without = log_share(n - f64::from(calls), n);
            self.empty += without;
            self.members.insert(endpoint, log_share(f64::from(calls), n) - without);
        }
    }

    /// Returns the logarithm of the product of the marginals of a set, in billionths.
    fn product(&self, set: &[u32]) -> i64 {
        // Never called before, or called by nothing in training.
        let unknown = log_share(0.0, f64::from(self.n));
        let gain = |endpoint: &u32| self.members.get(endpoint).copied().unwrap_or(unknown);
        self.empty + set.iter().map(gain).sum::<i64>()
    }
}

impl Categories {
    /// Learns from categories with their counts; sets (sorted endpoints) where they are sets, else empty ones.
    pub fn new(categories: &[(&[u32], Counts)], are_sets: bool) -> Categories {
        let learn = |fold: usize| {
            let mut seen = Seen {
                n: categories.iter().map(|(_, counts)| without(counts, fold)).sum(),
                ..Seen::default()
            };
            if are_sets {
                let mut calls: BTreeMap<u32, u32> = BTreeMap::new();
                for (set, counts) in categories {
                    let here = without(counts, fold);
                    set.iter().for_each(|&endpoint| *calls.entry(endpoint).or_default() += here);
                }
                seen.learn(calls);
            }
            let mut rarer: Vec<((u32, i64), u32)> = Vec::with_capacity(categories.len());
            for (set, counts) in categories {
                let here = without(counts, fold);
                if here > 0 {
                    let product = if are_sets { seen.product(set) } else { 0 };
                    // Each call is left out of its own count.
                    rarer.push(((here - 1, product), here));
                }
            }
            rarer.compact_sort();
            let mut sum = 0;
            for (_, calls) in &mut rarer {
                sum += *calls;
                *calls = sum;
            }
            seen.rarer = rarer;
            seen
        };
        let is_whole: [bool; FOLDS] =
            std::array::from_fn(|fold| categories.iter().all(|(_, counts)| counts[fold] == 0));
        let whole_ones = is_whole.iter().filter(|is| **is).count();
        // There are as many of these as call paths: a vector that has grown is twice as large as it must be.
        let different = FOLDS - whole_ones.saturating_sub(1);
        let (mut out, mut whole) = (Categories { seen: Vec::with_capacity(different), of: [0; FOLDS] }, None);
        for (fold, is_whole) in is_whole.into_iter().enumerate() {
            let known = whole.filter(|_| is_whole);
            out.of[fold] = known.unwrap_or(out.seen.len() as u8);
            if known.is_none() {
                out.seen.push(learn(fold));
            }
            if is_whole {
                whole = Some(out.of[fold]);
            }
        }
        out
    }

    /// Returns the surprise of a category with these counts in training, with each fold left out.
    pub fn surprises(&self, set: &[u32], counts: &Counts, unseen: impl Fn(usize) -> f64) -> [f64; FOLDS] {
        std::array::from_fn(|fold| {
            let seen = &self.seen[usize::from(self.of[fold])];
            if seen.n == 0 {
                return 0.0;
            }
            let are_sets = !seen.members.is_empty() || !set.is_empty();
            let rarity = (without(counts, fold), if are_sets { seen.product(set) } else { 0 });
            let r = match seen.rarer.partition_point(|(other, _)| *other <= rarity) {
                0 => 0,
                n => seen.rarer[n - 1].1,
            };
            surprise(r, seen.n, unseen(fold))
        })
    }
}

/// Returns the surprise of a category if so many of `n` calls are as rare or rarer.
fn surprise(rarer: u32, n: u32, unseen: f64) -> f64 {
    let n = f64::from(n);
    let p = (f64::from(rarer) + (unseen * (n + 1.0)).min(1.0)) / (n + 1.0);
    (-ln(p)).max(0.0)
}

/// Returns the surprises of a key's only category, with each fold left out: what [`Categories`] says, without learning.
pub fn only_surprises(counts: &Counts, unseen: impl Fn(usize) -> f64) -> [f64; FOLDS] {
    std::array::from_fn(|fold| match without(counts, fold) {
        0 => 0.0,
        n => surprise(n, n, unseen(fold)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns counts that all belong to fold 0, so that fold 1 leaves all of them.
    fn calls(n: u32) -> Counts {
        [n, 0, 0, 0, 0]
    }

    #[test]
    fn rare_categories_surprise_and_unseen_ones_most() {
        let none: &[u32] = &[];
        let known = [(none, calls(90)), (none, calls(9)), (none, calls(1))];
        let categories = Categories::new(&known, false);
        let of = |counts| categories.surprises(none, &counts, |_| 0.02)[1];
        // All are as rare as the most common; 10 as the second; the one seen once is alone.
        let by_hand = |r: f64| -ln((r + 1.0) / 101.0);
        assert_eq!(of(calls(90)), 0.0);
        assert!((of(calls(9)) - by_hand(10.0)).abs() < 1e-9);
        assert!((of(calls(1)) - by_hand(1.0)).abs() < 1e-9);
        // Never seen: as rare as the one seen once would be without itself.
        assert!((of(calls(0)) - by_hand(1.0)).abs() < 1e-9);
        assert_eq!(categories.surprises(none, &calls(0), |_| 0.02)[0], 0.0);
    }

    #[test]
    fn the_only_category_surprises_as_one_of_several_would() {
        for counts in [[0, 0, 3, 0, 0], [1, 4, 0, 0, 7], [0; FOLDS]] {
            for (set, are_sets) in [(&[][..], false), (&[1, 2], true), (&[], true)] {
                let unseen = |fold: usize| 0.01 * (fold + 1) as f64;
                let learned = Categories::new(&[(set, counts)], are_sets).surprises(set, &counts, unseen);
                assert_eq!(only_surprises(&counts, unseen), learned);
            }
        }
    }

    #[test]
    fn of_sets_never_seen_one_that_lacks_what_all_have_is_rarest() {
        let known = [(&[1, 2][..], calls(50)), (&[1, 2, 3], calls(49)), (&[1, 3], calls(1))];
        let categories = Categories::new(&known, true);
        let of = |set: &[u32]| categories.surprises(set, &calls(0), |_| 0.02)[1];
        // 3 is in every second set, so {1} is as likely as {1, 3}, which was seen once; 1 is never missing.
        assert!((of(&[1]) - ln(101.0 / 2.0)).abs() < 1e-9);
        assert!((of(&[2]) - ln(101.0)).abs() < 1e-9);
    }

    #[test]
    fn the_share_of_the_unseen_is_that_of_what_was_seen_once() {
        let mut unseen = Unseen::default();
        unseen.add(FactKind::After, &[1, 0, 0, 0, 0]);
        unseen.add(FactKind::After, &[4, 4, 0, 0, 0]);
        assert_eq!(unseen.share(FactKind::After, 4), 2.0 / 10.0);
        assert_eq!(unseen.share(FactKind::After, 0), 1.0 / 5.0);
        assert_eq!(unseen.share(FactKind::Calls, 0), 1.0);
    }
}
