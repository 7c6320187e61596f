//! Exponential and logarithm in 32 bits without branches, which the compiler turns into SIMD, the same on every machine.

const LN_2_HIGH: f32 = 0.693_359_4;
const LN_2_LOW: f32 = -2.121_944_4e-4;

/// e to the power of x; relative error below 3e-7. Below -87 it is as at -87, above 88 as at 88.
pub fn exp(x: f32) -> f32 {
    let x = x.clamp(-87.0, 88.0);
    let n = (x * std::f32::consts::LOG2_E + 0.5f32.copysign(x)) as i32;
    let r = x - n as f32 * LN_2_HIGH - n as f32 * LN_2_LOW;
    let sum = 1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let sum = 1.0 + r * (1.0 + r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * sum))));
    sum * f32::from_bits(((n + 127) as u32) << 23)
}

/// The natural logarithm of a positive normal number; absolute error below 2e-7 near 1.
pub fn ln(x: f32) -> f32 {
    // Mantissas from 1/sqrt 2 up, so that the series is short.
    let bits = x.to_bits().wrapping_add(0x3f80_0000 - 0x3f35_04f3);
    let exponent = (bits >> 23) as i32 - 127;
    let m = f32::from_bits((bits & 0x007f_ffff) + 0x3f35_04f3);
    let s = (m - 1.0) / (m + 1.0);
    let s2 = s * s;
    let series = 2.0 * s * (1.0 + s2 * (1.0 / 3.0 + s2 * (0.2 + s2 * (1.0 / 7.0 + s2 * (1.0 / 9.0)))));
    exponent as f32 * std::f32::consts::LN_2 + series
}

/// ln (1 + e^x).
pub fn softplus(x: f32) -> f32 {
    // For large x the sum loses x's last digits only.
    x.max(0.0) + ln(1.0 + exp(-x.abs()))
}

/// 1 / (1 + e^-x).
pub fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp(-x))
}

/// The hyperbolic tangent.
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
