//! Densities on a logarithmic axis, for violin plots.

use super::{Weight, Weights};

/// Points of a density.
const POINTS: usize = 64;
/// Bins that values are counted in before they are smoothed.
const BINS: usize = 256;

/// A logarithmic axis of microseconds that several densities share.
#[derive(Clone, Copy, Debug)]
pub struct LogAxis {
    low: f64,
    high: f64,
}

impl LogAxis {
    /// Returns the axis from the smallest to the greatest value; 0 stands at its own place, since one is added.
    pub fn new(min: u64, max: u64) -> LogAxis {
        LogAxis { low: libm::log1p(min as f64), high: libm::log1p(max.max(min) as f64) }
    }

    /// Returns where the points of a density stand, in microseconds.
    pub fn points(&self) -> Vec<f64> {
        (0..POINTS).map(|i| libm::expm1(self.low + self.step() * i as f64).max(0.0)).collect()
    }

    fn step(&self) -> f64 {
        (self.high - self.low) / (POINTS - 1) as f64
    }

    /// Returns the density of sorted values at the points, the greatest being 1: a Gaussian kernel on the logarithms,
    /// its width by Silverman's rule. Empty without values; a single peak where all are equal.
    pub fn density(&self, sorted: &[u64]) -> Vec<f64> {
        self.weighted_density(sorted.iter().map(|&value| (value, Weight::ONE)))
    }

    /// Returns the same of values with weights.
    pub fn weighted_density(&self, values: impl Iterator<Item = (u64, Weight)> + Clone) -> Vec<f64> {
        let weights = Weights::of(values.clone().map(|of| of.1));
        if weights.seen == 0 {
            return Vec::new();
        }
        let width = (self.high - self.low) / BINS as f64;
        if width <= 0.0 {
            return vec![1.0; POINTS];
        }
        let mut counts = vec![0u128; BINS];
        for (value, weight) in values {
            let bin = (libm::log1p(value as f64) - self.low) / width;
            counts[(bin.max(0.0) as usize).min(BINS - 1)] += u128::from(weight.units());
        }
        let middle = |bin: usize| self.low + width * (bin as f64 + 0.5);
        let (all, n) = (weights.units as f64, weights.effective());
        let weighted = |of: &dyn Fn(f64) -> f64| -> f64 {
            counts.iter().enumerate().map(|(bin, &count)| count as f64 * of(middle(bin))).sum::<f64>() / all
        };
        let mean = weighted(&|x| x);
        let deviation = weighted(&|x| (x - mean) * (x - mean)).sqrt();
        let kernel = (0.9 * deviation * libm::pow(n, -0.2)).max(self.step());
        let mut density: Vec<f64> = (0..POINTS)
            .map(|i| {
                let x = self.low + self.step() * i as f64;
                let near = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
                near.map(|(bin, &count)| {
                    let z = (x - middle(bin)) / kernel;
                    count as f64 * libm::exp(-0.5 * z * z)
                })
                .sum()
            })
            .collect();
        let most = density.iter().fold(0.0f64, |most, &d| most.max(d));
        density.iter_mut().for_each(|d| *d /= most.max(f64::MIN_POSITIVE));
        density
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_density_peaks_where_the_values_are() {
        let axis = LogAxis::new(10, 100_000);
        let points = axis.points();
        let mut values = vec![1000; 50];
        values.extend([10, 100_000]);
        values.sort_unstable();
        let density = axis.density(&values);
        let peak = (0..density.len()).max_by(|&a, &b| density[a].total_cmp(&density[b])).unwrap();
        assert!((700.0..1400.0).contains(&points[peak]), "{}", points[peak]);
        assert_eq!(density[peak], 1.0);
        assert!((points[0] - 10.0).abs() < 1e-6 && (points[63] - 100_000.0).abs() < 1e-4);
        assert!(axis.density(&[]).is_empty());
        assert_eq!(LogAxis::new(5, 5).density(&[5, 5]).len(), 64);
    }

    /// The axis is 9 doublings long, and half of 64 values lie at its 1st, half at its 8th doubling: 3.5 from their mean. The
    /// kernel is 0.9 * 3.5 / 64^0.2 = 1.371 wide, so that of either half exp(-(3.5 / 1.371)^2 / 2) = 0.0385 is in the middle.
    #[test]
    fn a_kernel_is_as_wide_as_silverman_says() {
        let values = [[3; 32], [511; 32]].concat();
        let density = LogAxis::new(1, 1023).density(&values);
        assert!(density[7] > 0.99 && density[56] > 0.99, "{density:?}");
        for middle in [density[31], density[32]] {
            assert!((middle - 2.0 * 0.0385).abs() < 0.005, "{middle}");
        }
    }
}
