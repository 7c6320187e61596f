//! `exp` and `ln` that give the same bits on every machine.
//!
//! The standard library's differ in the last bit between targets, which is enough to change a rounded microsecond or a
//! comparison. These use additions, multiplications and divisions only, which IEEE 754 fixes.

/// Returns e to the power of x, for moderate x.
pub fn exp(x: f64) -> f64 {
    let n = (x * std::f64::consts::LOG2_E + 0.5).floor();
    let r = x - n * std::f64::consts::LN_2;
    // Taylor's series by Horner; |r| is at most ln 2 / 2.
    let mut sum = 1.0;
    let mut k = 13.0;
    while k > 0.0 {
        sum = 1.0 + sum * r / k;
        k -= 1.0;
    }
    sum * f64::from_bits(((n as i64 + 1023) as u64) << 52)
}

/// Returns the natural logarithm of a positive normal number.
pub fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = (bits >> 52) as i64 - 1023;
    let mut mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1023 << 52);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let (square, mut power, mut sum, mut k) = (s * s, s, 0.0, 1.0);
    while k < 22.0 {
        sum += power / k;
        power *= square;
        k += 2.0;
    }
    exponent as f64 * std::f64::consts::LN_2 + 2.0 * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_agree_with_the_library() {
        for i in -400..400 {
            let x = f64::from(i) * 0.037;
            assert!((exp(x) / x.exp() - 1.0).abs() < 1e-13, "exp {x}");
            let y = x.exp();
            assert!((ln(y) - x).abs() < 1e-12, "ln {y}");
        }
    }
}
