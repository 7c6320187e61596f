//! Random numbers that are the same on every machine: `ln` and `exp` are our own, square roots are fixed by IEEE 754.

use super::{exp, ln};
use rand::Rng as _;
use rand_pcg::Pcg64Mcg;

/// No sample lies further from the median than this many deviations, so that a branch much shorter than its
/// neighbours never outlasts them.
const MAX_DEVIATIONS: f64 = 3.5;

/// Returns the finaliser of splitmix64: a bijection that scatters neighbouring numbers.
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// A seeded stream of random numbers.
pub struct Random(Pcg64Mcg);

impl Random {
    /// Returns the stream number `stream` of item `index` under `seed`; different arguments give unrelated streams.
    pub fn new(seed: u64, stream: u64, index: u64) -> Random {
        let low = mix(mix(seed).wrapping_add(mix(stream ^ 0x5bd1_e995)) ^ mix(index.wrapping_mul(3)));
        Random(Pcg64Mcg::new(u128::from(mix(low)) << 64 | u128::from(low)))
    }

    /// Returns the stream of a text, an id for instance, under `seed`.
    pub fn of(seed: u64, text: &str) -> Random {
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| mix(hash ^ u64::from(byte)));
        Random::new(seed, 0, hash)
    }

    /// Returns a number, uniform over all.
    pub fn number(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a number, uniform in [0, n); 0 if n is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(n)) >> 64) as u64
    }

    /// Returns a number, uniform in (0, 1).
    pub fn unit(&mut self) -> f64 {
        ((self.number() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Returns true in `per_mille` of 1,000 draws.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// Returns the standard normal.
    pub fn normal(&mut self) -> f64 {
        normal_quantile(self.unit())
    }

    /// Puts values into a random order.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// Returns a log-normal time in microseconds, at least 1, with the deviation `sigma` of its logarithm.
    pub fn log_normal_us(&mut self, median_us: f64, sigma: f64) -> u64 {
        let z = normal_quantile(self.unit()).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS);
        ((median_us * exp(sigma * z) + 0.5) as u64).max(1)
    }
}

/// Returns the quantile of the standard normal distribution at `p` in (0, 1); Acklam's rational approximation,
/// relative error below 1.2e-9.
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969683028665376e1,
        2.209460984245205e2,
        -2.759285104469687e2,
        1.38357751867269e2,
        -3.066479806614716e1,
        2.506628277459239,
    ];
    const B: [f64; 6] = [
        -5.447609879822406e1,
        1.615858368580409e2,
        -1.556989798598866e2,
        6.680131188771972e1,
        -1.328068155288572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784894002430293e-3,
        -3.223964580411365e-1,
        -2.400758277161838,
        -2.549732539343734,
        4.374664141464968,
        2.938163982698783,
    ];
    const D: [f64; 5] =
        [7.784695709041462e-3, 3.224671290700398e-1, 2.445134137142996, 3.754408661907416, 1.0];
    const LOW: f64 = 0.02425;
    fn polynomial(coefficients: &[f64], x: f64) -> f64 {
        coefficients.iter().fold(0.0, |sum, c| sum * x + c)
    }
    if p < LOW {
        let q = (-2.0 * ln(p)).sqrt();
        polynomial(&C, q) / polynomial(&D, q)
    } else if p > 1.0 - LOW {
        let q = (-2.0 * ln(1.0 - p)).sqrt();
        -polynomial(&C, q) / polynomial(&D, q)
    } else {
        let q = p - 0.5;
        q * polynomial(&A, q * q) / polynomial(&B, q * q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959963985), (0.001, -3.090232306), (0.99, 2.326347874)] {
            assert!((normal_quantile(p) - z).abs() < 1e-7, "quantile {p}");
        }
    }

    #[test]
    fn log_normal_times_have_their_median_and_spread() {
        let mut random = Random::new(1, 2, 3);
        let mut values: Vec<u64> = (0..20_001).map(|_| random.log_normal_us(1000.0, 0.3)).collect();
        values.sort_unstable();
        let (median, high) = (values[10_000] as f64, values[16_827] as f64);
        assert!((median / 1000.0 - 1.0).abs() < 0.02, "{median}");
        assert!((high / median - exp(0.3)).abs() < 0.03, "{high}");
    }

    #[test]
    fn streams_are_fixed_and_unrelated() {
        let first = |seed, stream, index| Random::new(seed, stream, index).number();
        assert_eq!(first(1, 0, 0), first(1, 0, 0));
        let mut all: Vec<u64> = Vec::new();
        for seed in 0..10 {
            for stream in 0..10 {
                for index in 0..10 {
                    all.push(first(seed, stream, index));
                }
            }
        }
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1000);
    }
}
