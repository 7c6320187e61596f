//! The accuracy of scores: how well they separate abnormal requests from normal ones.

use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Figures of a detector on requests whose truth is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accuracy {
    /// Area under the curve of precision over recall (average precision).
    pub auprc: f64,
    /// Of the requests called abnormal, the share that is. (The paper's Table 2 prints it in the column "recall".)
    pub precision: f64,
    /// Of the abnormal requests, the share that is called so. (Table 2: "precision".)
    pub recall: f64,
    /// Normal requests judged.
    pub normal: u64,
    /// Abnormal requests judged.
    pub abnormal: u64,
    /// Normal requests called abnormal.
    pub false_alarms: u64,
}

/// One judged request whose truth is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Odder requests have smaller keys, compared from the left.
    pub rank: [f64; 4],
    /// Whether the detector calls the request anomalous.
    pub is_called: bool,
    /// The truth.
    pub is_abnormal: bool,
}

/// Orders ranks from the left, the odder first.
pub fn compare_ranks(a: &[f64; 4], b: &[f64; 4]) -> Ordering {
    a.iter().zip(b).map(|(a, b)| a.total_cmp(b)).fold(Ordering::Equal, Ordering::then)
}

impl Accuracy {
    /// Returns the figures of some judged requests. Requests of equal rank enter the curve together, so the order they
    /// come in does not matter.
    pub fn of(mut judged: Vec<Judged>) -> Accuracy {
        let order = |a: &Judged, b: &Judged| compare_ranks(&a.rank, &b.rank);
        judged.compact_sort_by(order);
        let count = |wanted: fn(&&Judged) -> bool| judged.iter().filter(wanted).count() as u64;
        let abnormal = count(|j| j.is_abnormal);
        let (called, hit) = (count(|j| j.is_called), count(|j| j.is_called && j.is_abnormal));
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let (mut auprc, mut seen, mut found) = (0.0, 0u64, 0u64);
        for tied in judged.chunk_by(|a, b| order(a, b).is_eq()) {
            let more = tied.iter().filter(|j| j.is_abnormal).count() as u64;
            (seen, found) = (seen + tied.len() as u64, found + more);
            auprc += share(more, abnormal) * share(found, seen);
        }
        Accuracy {
            auprc,
            precision: share(hit, called),
            recall: share(hit, abnormal),
            normal: judged.len() as u64 - abnormal,
            abnormal,
            false_alarms: called - hit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(scores: &[(f64, bool)]) -> Vec<Judged> {
        let one = |&(score, is_abnormal): &(f64, bool)| Judged {
            rank: [-score, 0.0, 0.0, 0.0],
            is_called: score > 0.5,
            is_abnormal,
        };
        scores.iter().map(one).collect()
    }

    #[test]
    fn average_precision_is_that_worked_by_hand() {
        // Ranks: hit (1/1), miss, hit (2/3): half of each.
        let found = Accuracy::of(judged(&[(0.9, true), (0.8, false), (0.7, true)]));
        assert!((found.auprc - (0.5 + 0.5 * 2.0 / 3.0)).abs() < 1e-12);
        assert_eq!((found.precision, found.recall), (2.0 / 3.0, 1.0));
        assert_eq!((found.normal, found.abnormal, found.false_alarms), (1, 2, 1));
    }

    #[test]
    fn ties_count_together() {
        for order in [[(0.9, true), (0.9, false)], [(0.9, false), (0.9, true)]] {
            assert_eq!(Accuracy::of(judged(&order)).auprc, 0.5);
        }
    }
}
