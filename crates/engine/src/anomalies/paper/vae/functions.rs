//! Exponential and logarithm of four 32-bit floats at once, without branches, the same on every machine; and of one.

use super::lanes::Lanes;

const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;
/// Added to a number below 2^22, it leaves the nearest whole one in the lowest bits.
const WHOLE: f32 = 12_582_912.0;
/// The bits of the least mantissa of a logarithm, 1 / sqrt 2: so that the series is short.
const LEAST: i32 = 0x3f35_04f3;

/// Returns a polynomial, its highest coefficient first.
#[inline(always)]
fn polynomial(x: Lanes, coefficients: &[f32]) -> Lanes {
    coefficients.iter().fold(Lanes::all(0.0), |sum, &c| sum * x + Lanes::all(c))
}

/// Returns e to the power of x; relative error below 3e-7. Below -87 it is as at -87, above 88 as at 88.
// None of these is inlined: the page would have a copy in every place, and a call costs nothing beside what is in it.
#[inline(never)]
fn exps(x: Lanes) -> Lanes {
    let (least, most) = (Lanes::all(-87.0), Lanes::all(88.0));
    let x = (x - least).if_below_zero(least, x);
    let x = (most - x).if_below_zero(most, x);
    let marked = x * Lanes::all(std::f32::consts::LOG2_E) + Lanes::all(WHOLE);
    let n = marked - Lanes::all(WHOLE);
    let r = x - n * Lanes::all(LN_2_HIGH) - n * Lanes::all(LN_2_LOW);
    let series = [1.0 / 5040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0];
    polynomial(r, &series) * marked.two_to_low_bits()
}

/// Returns the natural logarithm of positive normal numbers; absolute error below 2e-7 near 1.
#[inline(never)]
pub fn lns(x: Lanes) -> Lanes {
    let (exponent, m) = x.parts(LEAST);
    let one = Lanes::all(1.0);
    let s = (m - one) / (m + one);
    let series = polynomial(s * s, &[2.0 / 9.0, 2.0 / 7.0, 0.4, 2.0 / 3.0, 2.0]);
    exponent * Lanes::all(std::f32::consts::LN_2) + s * series
}

/// Returns ln (1 + e^x) and 1 / (1 + e^-x), its slope.
#[inline(never)]
pub fn softplus_and_slope(x: Lanes) -> (Lanes, Lanes) {
    let (zero, one) = (Lanes::all(0.0), Lanes::all(1.0));
    let e = exps(x.if_below_zero(x, zero - x));
    let sum = one + e;
    // For large x the sum loses x's last digits only.
    (x.if_below_zero(zero, x) + lns(sum), x.if_below_zero(e, one) / sum)
}

fn one(of: Lanes) -> f32 {
    of.array()[0]
}

/// Returns e to the power of x.
pub fn exp(x: f32) -> f32 {
    one(exps(Lanes::all(x)))
}

/// Returns the natural logarithm.
pub fn ln(x: f32) -> f32 {
    one(lns(Lanes::all(x)))
}

/// Returns ln (1 + e^x).
pub fn softplus(x: f32) -> f32 {
    one(softplus_and_slope(Lanes::all(x)).0)
}

/// Returns 1 / (1 + e^-x).
pub fn sigmoid(x: f32) -> f32 {
    one(softplus_and_slope(Lanes::all(x)).1)
}

/// Returns the hyperbolic tangent.
pub fn tanh(x: f32) -> f32 {
    2.0 * sigmoid(2.0 * x) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_agree_with_the_library() {
        for i in -8000..8000 {
            let x = i as f32 * 0.0107;
            let (wide, near) = (f64::from(x), |a: f32, b: f64| (f64::from(a) - b).abs());
            if wide.abs() < 86.0 {
                assert!(near(exp(x), wide.exp()) < 6e-7 * wide.exp(), "exp {x}");
                let y = wide.exp() as f32;
                assert!(near(ln(y), f64::from(y).ln()) < 2e-6 * wide.abs().max(0.1), "ln {y}");
            }
            assert!(
                near(softplus(x), wide.max(0.0) + (-wide.abs()).exp().ln_1p()) < 4e-6 * wide.abs().max(1.0)
            );
            assert!(near(sigmoid(x), 1.0 / (1.0 + (-wide).exp())) < 1e-6, "sigmoid {x}");
            assert!(near(tanh(x), wide.tanh()) < 1e-6, "tanh {x}");
        }
    }
}
