//! Numbers as views show them: [`words`], and what charts need besides (differences, ticks, labels).

use crate::engine::words;
use std::fmt::Write as _;

pub use words::{DASH, THIN_SPACE as THIN, bytes, count, utc as moment};

/// A duration in microseconds: µs below 1 ms, ms below 1 s, s below 2 min, then min:s. Negative ones carry a minus.
pub fn duration(us: f64) -> String {
    if us.is_nan() {
        return DASH.into();
    }
    let sign = if us < 0.0 { "−" } else { "" };
    format!("{sign}{}", words::duration(us.abs()))
}

/// A duration in whole microseconds, as [`duration`].
pub fn duration_us(us: u64) -> String {
    duration(us as f64)
}

/// A difference of durations in microseconds, always with its sign.
pub fn change(us: f64) -> String {
    if us > 0.0 { format!("+{}", duration(us)) } else { duration(us) }
}

/// A point on a time axis whose ticks are `step_us` apart: as many decimals as the step needs, in the unit that suits
/// `end_us`, the end of the axis.
pub fn tick(us: u64, step_us: u64, end_us: u64) -> String {
    let step_us = step_us.max(1);
    if end_us >= 120_000_000 && step_us >= 1_000_000 {
        let seconds = us / 1_000_000;
        return format!("{}:{:02}{THIN}min", count(seconds / 60), seconds % 60);
    }
    let (unit_us, unit) = match end_us {
        0..1_000 => (1, "µs"),
        1_000..1_000_000 => (1_000, "ms"),
        _ => (1_000_000, "s"),
    };
    let mut text = count(us / unit_us);
    let (mut fraction, mut place) = (us % unit_us, unit_us);
    let mut rest = step_us % unit_us;
    if rest > 0 || fraction > 0 {
        text.push('.');
        while rest > 0 || fraction > 0 {
            place /= 10;
            let _ = write!(text, "{}", fraction / place);
            fraction %= place;
            rest %= place;
        }
    }
    format!("{text}{THIN}{unit}")
}

/// What stands wherever a statistic rests on few values: `n = 37`.
pub fn sample(n: u64) -> String {
    format!("n = {}", count(n))
}

/// A share of 1 in percent with one decimal; what is not quite nothing or not quite all says so. A dash for NaN.
pub fn share(share: f64) -> String {
    if !share.is_finite() {
        return DASH.into();
    }
    let percent = share * 100.0;
    if percent > 0.0 && percent < 0.05 {
        return format!("<0.1{THIN}%");
    }
    if (99.95..100.0).contains(&percent) {
        return format!(">99.9{THIN}%");
    }
    let text = format!("{:.1}", percent.abs());
    let sign = if percent < 0.0 && text != "0.0" { "−" } else { "" };
    format!("{sign}{text}{THIN}%")
}

/// `part` of `whole` as a [`share`]; a dash if the whole is nothing.
pub fn share_of(part: u64, whole: u64) -> String {
    share(if whole == 0 { f64::NAN } else { part as f64 / whole as f64 })
}

/// Any number with three significant digits, no zeros at the end, grouped: `1.5`, `0.012`, `1 235`.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return DASH.into();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    let size = value.abs();
    if size >= 999.5 {
        return format!("{sign}{}", count(size.round() as u64));
    }
    if size == 0.0 {
        return "0".into();
    }
    let decimals = (2 - size.log10().floor() as i32).clamp(0, 12) as usize;
    let text = format!("{size:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{sign}{text}")
}

/// An endpoint in one line, `operation @ service`: what it does comes first and is cut last. Control characters become
/// spaces.
pub fn endpoint(service: &str, operation: &str) -> String {
    printable(&format!("{operation} @ {service}"))
}

/// The text with every control character, and every mark that turns the direction of writing, as a space.
pub fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c.is_control() => ' ',
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => ' ',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With plain spaces, which are easier to write down.
    fn plain(text: String) -> String {
        text.replace(THIN, " ")
    }

    #[test]
    fn durations_change_unit_at_the_borders() {
        for (us, want) in [
            (0.0, "0 µs"),
            (0.123_4, "0.12 µs"),
            (1.0, "1 µs"),
            (12.34, "12.3 µs"),
            (999.0, "999 µs"),
            (999.4, "999 µs"),
            (999.5, "1.00 ms"),
            (1_000.0, "1.00 ms"),
            (1_234.0, "1.23 ms"),
            (84_000.0, "84.0 ms"),
            (310_400.0, "310 ms"),
            (999_499.0, "999 ms"),
            (999_500.0, "1.00 s"),
            (1_240_000.0, "1.24 s"),
            (59_960_000.0, "60.0 s"),
            (119_400_000.0, "119 s"),
            (119_499_999.0, "119 s"),
            (119_500_000.0, "2:00 min"),
            (120_000_000.0, "2:00 min"),
            (125_400_000.0, "2:05 min"),
            (3_600_000_000.0, "60:00 min"),
            (120_000_000_000.0, "2 000:00 min"),
            (-1_500.0, "−1.50 ms"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(plain(duration(us)), want, "{us}");
        }
        assert_eq!(plain(duration_us(1_240_000)), "1.24 s");
        assert_eq!(plain(change(1500.0)), "+1.50 ms");
        assert_eq!(plain(change(-1500.0)), "−1.50 ms");
        assert_eq!(plain(change(0.0)), "0 µs");
    }

    #[test]
    fn ticks_have_the_decimals_of_their_step() {
        for (us, step, end, want) in [
            (0, 200, 900, "0 µs"),
            (200_000, 200_000, 900_000, "200 ms"),
            (1_500, 500, 9_000, "1.5 ms"),
            (2_000, 500, 9_000, "2.0 ms"),
            (12_345_600, 20, 12_346_000, "12.34560 s"),
            (1_000_000, 1_000_000, 5_000_000, "1 s"),
            (1_200_000, 200_000, 5_000_000, "1.2 s"),
            (130_000_000, 10_000_000, 200_000_000, "2:10 min"),
            (130_500_000, 500_000, 200_000_000, "130.5 s"),
            (1_234_567_000, 1_000, 1_234_600_000, "1 234.567 s"),
        ] {
            assert_eq!(plain(tick(us, step, end)), want, "{us} {step}");
        }
    }

    #[test]
    fn a_sample_says_its_size() {
        assert_eq!(plain(sample(1_037)), "n = 1 037");
    }

    #[test]
    fn shares_have_one_decimal_and_never_round_to_nothing_or_all() {
        for (value, want) in [
            (0.0, "0.0 %"),
            (0.000_01, "<0.1 %"),
            (0.000_499, "<0.1 %"),
            (0.000_5, "0.1 %"),
            (0.004, "0.4 %"),
            (0.123_44, "12.3 %"),
            (0.999_4, "99.9 %"),
            (0.999_6, ">99.9 %"),
            (1.0, "100.0 %"),
            (-0.05, "−5.0 %"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(plain(share(value)), want, "{value}");
        }
        assert_eq!(plain(share_of(1, 4)), "25.0 %");
        assert_eq!(share_of(0, 0), DASH);
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        for (value, want) in [
            (0.0, "0"),
            (1.2345, "1.23"),
            (12.0, "12"),
            (1_234.6, "1 235"),
            (-0.5, "−0.5"),
            (0.0123, "0.0123"),
            (120.0, "120"),
        ] {
            assert_eq!(plain(number(value)), want);
        }
    }

    #[test]
    fn names_are_made_printable() {
        assert_eq!(endpoint("gateway", "POST /checkout"), "POST /checkout @ gateway");
        assert_eq!(endpoint("a\nb", "x\u{202e}y\0"), "x y  @ a b");
    }
}
