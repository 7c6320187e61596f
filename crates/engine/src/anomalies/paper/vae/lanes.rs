//! Four 32-bit floats at once, with the same result on every machine: in the browser by SIMD instructions written out
//! (the page is linked for size, and then no loop becomes vectors), on x86-64 by those that all of its processors have,
//! elsewhere one by one. Nothing is fused, so each step rounds as the definition says.

use std::ops::{Add, Div, Mul, Sub};

/// Floats in lanes.
pub const WIDTH: usize = 4;

#[cfg(target_arch = "wasm32")]
mod machine {
    use core::arch::wasm32::{
        f32x4_convert_i32x4, f32x4_lt, i32x4_add, i32x4_shl, i32x4_shr, i32x4_splat, i32x4_sub, v128,
        v128_and, v128_bitselect, v128_load, v128_store,
    };
    pub type Four = v128;
    pub use core::arch::wasm32::{
        f32x4_add as add, f32x4_div as div, f32x4_mul as mul, f32x4_splat as splat, f32x4_sqrt as sqrt,
        f32x4_sub as sub,
    };

    #[inline(always)]
    pub fn load(from: &[f32; 4]) -> Four {
        // SAFETY: four floats are a vector, and reading one needs no alignment.
        unsafe { v128_load(from.as_ptr().cast()) }
    }

    #[inline(always)]
    pub fn store(value: Four, to: &mut [f32; 4]) {
        // SAFETY: as above, for writing.
        unsafe { v128_store(to.as_mut_ptr().cast(), value) }
    }

    #[inline(always)]
    pub fn select_below_zero(of: Four, then: Four, or: Four) -> Four {
        v128_bitselect(then, or, f32x4_lt(of, splat(0.0)))
    }

    #[inline(always)]
    pub fn two_to(n: Four) -> Four {
        i32x4_shl(i32x4_add(n, i32x4_splat(127)), 23)
    }

    #[inline(always)]
    pub fn parts(x: Four, least: i32) -> (Four, Four) {
        let bits = i32x4_add(x, i32x4_splat(0x3f80_0000 - least));
        let exponent = f32x4_convert_i32x4(i32x4_sub(i32x4_shr(bits, 23), i32x4_splat(127)));
        (exponent, i32x4_add(v128_and(bits, i32x4_splat(0x007f_ffff)), i32x4_splat(least)))
    }
}

#[cfg(target_arch = "x86_64")]
mod machine {
    use core::arch::x86_64::*;
    pub type Four = __m128;

    // SAFETY of all that follows: every x86-64 processor has SSE2, and the unaligned forms read and write four floats.
    macro_rules! pairs {
        ($($name:ident = $instruction:ident),*) => {$(
            #[inline(always)]
            pub fn $name(a: Four, b: Four) -> Four {
                unsafe { $instruction(a, b) }
            }
        )*};
    }
    pairs!(add = _mm_add_ps, sub = _mm_sub_ps, mul = _mm_mul_ps, div = _mm_div_ps);

    #[inline(always)]
    pub fn splat(value: f32) -> Four {
        unsafe { _mm_set1_ps(value) }
    }

    #[inline(always)]
    pub fn sqrt(value: Four) -> Four {
        unsafe { _mm_sqrt_ps(value) }
    }

    #[inline(always)]
    pub fn load(from: &[f32; 4]) -> Four {
        unsafe { _mm_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    pub fn store(value: Four, to: &mut [f32; 4]) {
        unsafe { _mm_storeu_ps(to.as_mut_ptr(), value) }
    }

    #[inline(always)]
    pub fn select_below_zero(of: Four, then: Four, or: Four) -> Four {
        unsafe {
            let mask = _mm_cmplt_ps(of, _mm_setzero_ps());
            _mm_or_ps(_mm_and_ps(mask, then), _mm_andnot_ps(mask, or))
        }
    }

    #[inline(always)]
    pub fn two_to(n: Four) -> Four {
        unsafe {
            _mm_castsi128_ps(_mm_slli_epi32::<23>(_mm_add_epi32(_mm_castps_si128(n), _mm_set1_epi32(127))))
        }
    }

    #[inline(always)]
    pub fn parts(x: Four, least: i32) -> (Four, Four) {
        unsafe {
            let bits = _mm_add_epi32(_mm_castps_si128(x), _mm_set1_epi32(0x3f80_0000 - least));
            let exponent = _mm_sub_epi32(_mm_srai_epi32::<23>(bits), _mm_set1_epi32(127));
            let mantissa = _mm_and_si128(bits, _mm_set1_epi32(0x007f_ffff));
            let mantissa = _mm_add_epi32(mantissa, _mm_set1_epi32(least));
            (_mm_cvtepi32_ps(exponent), _mm_castsi128_ps(mantissa))
        }
    }
}

#[cfg(not(any(target_arch = "wasm32", target_arch = "x86_64")))]
mod machine {
    pub type Four = [f32; 4];

    macro_rules! pairs {
        ($($name:ident = $operator:tt),*) => {$(
            #[inline(always)]
            pub fn $name(a: Four, b: Four) -> Four {
                std::array::from_fn(|i| a[i] $operator b[i])
            }
        )*};
    }
    pairs!(add = +, sub = -, mul = *, div = /);

    pub fn splat(value: f32) -> Four {
        [value; 4]
    }

    pub fn sqrt(value: Four) -> Four {
        value.map(f32::sqrt)
    }

    pub fn load(from: &[f32; 4]) -> Four {
        *from
    }

    pub fn store(value: Four, to: &mut [f32; 4]) {
        *to = value;
    }

    pub fn select_below_zero(of: Four, then: Four, or: Four) -> Four {
        std::array::from_fn(|i| if of[i] < 0.0 { then[i] } else { or[i] })
    }

    pub fn two_to(n: Four) -> Four {
        n.map(|n| f32::from_bits(n.to_bits().wrapping_add(127) << 23))
    }

    pub fn parts(x: Four, least: i32) -> (Four, Four) {
        let bits = x.map(|x| (x.to_bits() as i32).wrapping_add(0x3f80_0000 - least));
        let mantissa = bits.map(|bits| f32::from_bits(((bits & 0x007f_ffff) + least) as u32));
        (bits.map(|bits| ((bits >> 23) - 127) as f32), mantissa)
    }
}

/// Four floats.
#[derive(Clone, Copy)]
pub struct Lanes(machine::Four);

impl Lanes {
    /// Returns lanes that all have this value.
    #[inline(always)]
    pub fn all(value: f32) -> Lanes {
        Lanes(machine::splat(value))
    }

    /// Returns lanes of these values.
    #[inline(always)]
    pub fn of(values: &[f32; WIDTH]) -> Lanes {
        Lanes(machine::load(values))
    }

    /// Returns lanes of at most four values, then zeros.
    pub fn of_some(values: &[f32]) -> Lanes {
        let mut four = [0.0; WIDTH];
        four.iter_mut().zip(values).for_each(|(to, from)| *to = *from);
        Lanes::of(&four)
    }

    /// Writes them.
    #[inline(always)]
    pub fn put(self, to: &mut [f32; WIDTH]) {
        machine::store(self.0, to);
    }

    /// Writes the first of them.
    pub fn put_some(self, to: &mut [f32]) {
        to.iter_mut().zip(self.array()).for_each(|(to, from)| *to = from);
    }

    /// Returns the values as an array.
    #[inline(always)]
    pub fn array(self) -> [f32; WIDTH] {
        let mut out = [0.0; WIDTH];
        self.put(&mut out);
        out
    }

    /// Returns the square root of each value.
    #[inline(always)]
    pub fn sqrt(self) -> Lanes {
        Lanes(machine::sqrt(self.0))
    }

    /// Returns `then` where these are below 0, else `or`.
    #[inline(always)]
    pub fn if_below_zero(self, then: Lanes, or: Lanes) -> Lanes {
        Lanes(machine::select_below_zero(self.0, then.0, or.0))
    }

    /// Returns two to the power of the whole numbers in the lowest bits.
    #[inline(always)]
    pub fn two_to_low_bits(self) -> Lanes {
        Lanes(machine::two_to(self.0))
    }

    /// Returns the exponent and the mantissa of positive normal numbers; the mantissa is at least the float with the
    /// bits `least`.
    #[inline(always)]
    pub fn parts(self, least: i32) -> (Lanes, Lanes) {
        let (exponent, mantissa) = machine::parts(self.0, least);
        (Lanes(exponent), Lanes(mantissa))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $by:ident),*) => {$(
        impl $trait for Lanes {
            type Output = Lanes;

            #[inline(always)]
            fn $method(self, by: Lanes) -> Lanes {
                Lanes(machine::$by(self.0, by.0))
            }
        }
    )*};
}
operators!(Add add add, Sub sub sub, Mul mul mul, Div div div);

/// Adds scaled values: `out += factor * values`.
pub fn add_scaled(out: &mut [f32], factor: f32, values: &[f32]) {
    let by = Lanes::all(factor);
    let ((out, out_rest), (values, rest)) = (out.as_chunks_mut::<WIDTH>(), values.as_chunks::<WIDTH>());
    for (out, values) in out.iter_mut().zip(values) {
        (Lanes::of(out) + by * Lanes::of(values)).put(out);
    }
    out_rest.iter_mut().zip(rest).for_each(|(out, value)| *out += factor * value);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lanes as bits, so that `-0.0` is not `0.0`.
    fn bits(of: Lanes) -> [u32; WIDTH] {
        of.array().map(f32::to_bits)
    }

    #[test]
    fn four_at_once_are_each_as_one_alone() {
        let (a, b) = ([1.5, -0.0, -3.25, f32::MAX], [0.1, 7.0, -2.0, 2.0]);
        let (left, right) = (Lanes::of(&a), Lanes::of(&b));
        let each = |step: fn(f32, f32) -> f32| std::array::from_fn(|i| step(a[i], b[i]).to_bits());
        assert_eq!(bits(left + right), each(|a, b| a + b));
        assert_eq!(bits(left - right), each(|a, b| a - b));
        assert_eq!(bits(left * right), each(|a, b| a * b));
        assert_eq!(bits(left / right), each(|a, b| a / b));
        assert_eq!(Lanes::of(&[0.0, 2.25, 16.0, 1e-40]).sqrt().array(), [0.0, 1.5, 4.0, 1e-40f32.sqrt()]);
    }

    #[test]
    fn only_what_is_below_zero_is_chosen() {
        let of = Lanes::of(&[-1.0, -0.0, f32::NAN, f32::NEG_INFINITY]);
        let chosen = of.if_below_zero(Lanes::of(&[1.0, 2.0, 3.0, 4.0]), Lanes::of(&[5.0, 6.0, 7.0, 8.0]));
        assert_eq!(chosen.array(), [1.0, 6.0, 7.0, 4.0]);
    }

    #[test]
    fn powers_and_parts_are_those_of_the_bits() {
        let powers = Lanes::of(&[0i32, 3, -1, 127].map(|n| f32::from_bits(n as u32)));
        assert_eq!(powers.two_to_low_bits().array(), [1.0, 8.0, 0.5, 1.701_411_8e38]);
        // 12 is 2^3 times 1.5, and 2^4 times 0.75 where a mantissa begins at 0.75.
        let numbers = Lanes::of(&[12.0, 1.0, 0.375, 0.75]);
        let (exponent, mantissa) = numbers.parts(1f32.to_bits() as i32);
        assert_eq!(exponent.array(), [3.0, 0.0, -2.0, -1.0]);
        assert_eq!(mantissa.array(), [1.5, 1.0, 1.5, 1.5]);
        let (exponent, mantissa) = numbers.parts(0.75f32.to_bits() as i32);
        assert_eq!(exponent.array(), [4.0, 0.0, -1.0, 0.0]);
        assert_eq!(mantissa.array(), [0.75, 1.0, 0.75, 0.75]);
    }

    #[test]
    fn what_is_no_multiple_of_four_is_read_and_written_to_its_end() {
        for length in 0..=9 {
            let values: Vec<f32> = (1..=length).map(|n| n as f32).collect();
            // The value after the end must stay.
            let mut out = vec![10.0; length + 1];
            add_scaled(&mut out[..length], 0.5, &values);
            let expected: Vec<f32> = (1..=length).map(|n| 10.0 + 0.5 * n as f32).chain([10.0]).collect();
            assert_eq!(out, expected);
        }
        assert_eq!(Lanes::of_some(&[1.0, 2.0]).array(), [1.0, 2.0, 0.0, 0.0]);
        let mut out = [9.0; 4];
        Lanes::all(1.0).put_some(&mut out[..3]);
        assert_eq!(out, [1.0, 1.0, 1.0, 9.0]);
    }
}
