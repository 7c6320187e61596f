//! The baseline of a call path: robust centre and width of the logarithms of its times.

use super::super::sets::{FOLDS, LeftOut, PathSets};
use super::{FeatureCell, Features};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::ln;

/// Training requests that a path set needs to be a condition of its own.
pub const ENOUGH: u32 = 30;
/// The least width, so that a path that never varies does not cry wolf over a microsecond.
const LEAST_WIDTH: f64 = 0.05;
/// The median absolute deviation of a normal distribution, inverted.
const NORMAL_MAD: f64 = 1.4826;
/// Ways to leave a fold out: each of them, or none.
const WAYS: usize = FOLDS + 1;

/// The baseline of a call path; times are logarithms of microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathBaseline {
    /// Median.
    pub median: f64,
    /// Scaled median absolute deviation, at least 0.05.
    pub width: f64,
    /// Times it stands on; 0: the path is not known.
    pub times: u32,
}

/// Returns the logarithm of a time; 0 us counts as 1 us.
pub fn log_us(us: u64) -> f64 {
    ln(us.max(1) as f64)
}

impl PathBaseline {
    fn of_sorted(sorted: &[f64], scratch: &mut Vec<f64>) -> PathBaseline {
        if sorted.is_empty() {
            return PathBaseline::default();
        }
        let median = quantile(sorted, 0.5);
        scratch.clear();
        scratch.extend(sorted.iter().map(|x| (x - median).abs()));
        scratch.sort_by(f64::total_cmp);
        PathBaseline {
            median,
            width: (NORMAL_MAD * quantile(scratch, 0.5)).max(LEAST_WIDTH),
            times: sorted.len() as u32,
        }
    }

    /// Returns how many widths a time lies from the median.
    pub fn distance(&self, log_us: f64) -> f64 {
        (log_us - self.median).abs() / self.width
    }
}

/// Returns the linear interpolation at (n - 1) p; of sorted numbers, not none.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len() - 1) as f64;
    let below = place as usize;
    let high = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + (high - sorted[below]) * (place - below as f64)
}

/// The baselines of all call paths, over all requests and by path set, with any fold left out.
#[derive(Clone, Debug, Default)]
pub struct PathBaselines {
    by_path: Vec<[PathBaseline; WAYS]>,
    /// First entry of each path set in `by_set`; sets too small for any way have none.
    starts: Vec<Option<u32>>,
    by_set: Vec<[PathBaseline; WAYS]>,
}

fn way(without: LeftOut) -> usize {
    without.map_or(FOLDS, usize::from)
}

impl PathBaselines {
    /// Learns from training rows; `folds` and `set_of` tell the fold and path set of each.
    pub fn learn(features: &Features, folds: &[u8], sets: &PathSets, set_of: &[u32]) -> PathBaselines {
        // (logarithm, set, fold) of each path's times, sorted by time.
        let mut times: Vec<Vec<(f64, u32, u8)>> = vec![Vec::new(); features.paths.nodes.len()];
        for row in 0..features.len() {
            for cell in features.row(row) {
                times[cell.path as usize].push((log_us(cell.us), set_of[row], folds[row]));
            }
        }
        let mut scratch = Vec::new();
        let mut out = PathBaselines::default();
        let mut total = 0;
        for (set, list) in sets.lists.iter().enumerate() {
            let is_large = sets.count(set as u32, None) >= ENOUGH;
            out.starts.push(is_large.then_some(total));
            total += if is_large { list.len() as u32 } else { 0 };
        }
        out.by_set = vec![[PathBaseline::default(); WAYS]; total as usize];
        for (path, mut times) in times.into_iter().enumerate() {
            times.compact_sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
            let all: Vec<(f64, u8)> = times.iter().map(|&(time, _, fold)| (time, fold)).collect();
            out.by_path.push(ways(&all, 1, &mut scratch));
            // Stable: within a set the times stay sorted.
            times.compact_sort_by_key(|&(_, set, _)| set);
            for group in times.chunk_by(|a, b| a.1 == b.1) {
                let set = group[0].1 as usize;
                if let Some(start) = out.starts[set]
                    && let Ok(place) = sets.lists[set].binary_search(&(path as u32))
                {
                    let of_set: Vec<(f64, u8)> = group.iter().map(|&(time, _, fold)| (time, fold)).collect();
                    out.by_set[start as usize + place] = ways(&of_set, ENOUGH, &mut scratch);
                }
            }
        }
        out
    }

    /// Returns the baseline of the path that stands at `place` in the list of `set`, or, where that set is not known or too
    /// few requests have it, for the path in any request.
    pub fn of(&self, path: u32, set: Option<u32>, place: usize, without: LeftOut) -> &PathBaseline {
        let start = set.and_then(|set| self.starts[set as usize]);
        let of_set = start.map(|start| &self.by_set[start as usize + place][way(without)]);
        of_set.filter(|baseline| baseline.times > 0).unwrap_or(&self.by_path[path as usize][way(without)])
    }

    /// Returns the mean of the greatest min(3, known) distances of the known paths of a row; 0 if none is known.
    pub fn score(&self, known: &[FeatureCell], set: Option<u32>, without: LeftOut) -> f64 {
        let mut greatest = [0.0f64; 3];
        let mut count = 0;
        for (place, cell) in known.iter().enumerate() {
            let baseline = self.of(cell.path, set, place, without);
            if baseline.times == 0 {
                continue;
            }
            count += 1;
            let mut distance = baseline.distance(log_us(cell.us));
            for great in &mut greatest {
                if distance > *great {
                    std::mem::swap(great, &mut distance);
                }
            }
        }
        if count == 0 { 0.0 } else { greatest.iter().sum::<f64>() / f64::from(count.min(3)) }
    }
}

/// Returns the baselines with each fold left out, and with none; nothing where fewer than `least` times are left.
fn ways(sorted: &[(f64, u8)], least: u32, scratch: &mut Vec<f64>) -> [PathBaseline; WAYS] {
    let mut left = Vec::with_capacity(sorted.len());
    std::array::from_fn(|way| {
        left.clear();
        left.extend(sorted.iter().filter(|&&(_, fold)| usize::from(fold) != way).map(|&(time, _)| time));
        if left.len() < least as usize {
            PathBaseline::default()
        } else {
            PathBaseline::of_sorted(&left, scratch)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centre_and_width_are_robust() {
        let mut scratch = Vec::new();
        let baseline = PathBaseline::of_sorted(&[1.0, 2.0, 3.0, 4.0, 100.0], &mut scratch);
        // Absolute deviations 2 1 0 1 97: their median is 1.
        assert_eq!((baseline.median, baseline.width, baseline.times), (3.0, NORMAL_MAD, 5));
        assert!((baseline.distance(3.0 + 2.0 * NORMAL_MAD) - 2.0).abs() < 1e-12);
        assert_eq!(PathBaseline::of_sorted(&[5.0, 5.0], &mut scratch).width, LEAST_WIDTH);
    }

    #[test]
    fn a_fold_left_out_takes_its_times_along() {
        let ways = ways(&[(1.0, 0), (2.0, 1), (9.0, 0)], 1, &mut Vec::new());
        assert_eq!(ways[0].median, 2.0);
        assert_eq!(ways[1].median, 5.0);
        assert_eq!((ways[4].median, ways[FOLDS].median), (2.0, 2.0));
        assert_eq!(super::ways(&[(1.0, 0)], 2, &mut Vec::new())[FOLDS].times, 0);
    }
}
