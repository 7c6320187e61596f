//! Numbers as people read them: three significant digits, thin spaces, one unit.

use std::fmt::Write as _;

/// The space between groups of digits and before a unit: thin, and no line is broken at it.
pub const THIN: char = '\u{202f}';

/// What stands where there is no value.
pub const DASH: &str = "–";

/// Three significant digits at most, no trailing zeros, as (text, rounded value).
fn three_digits(value: f64) -> (String, f64) {
    if value == 0.0 || !value.is_finite() {
        return ("0".into(), 0.0);
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).clamp(0, 12) as usize;
    let mut text = format!("{value:.decimals$}");
    if decimals > 0 {
        text.truncate(text.trim_end_matches('0').trim_end_matches('.').len());
    }
    let rounded = text.parse().unwrap_or(value);
    (text, rounded)
}

/// A duration in microseconds: µs below 1 ms, ms below 1 s, s below 2 min, then min:s. Negative ones carry a minus.
pub fn duration(us: f64) -> String {
    if us.is_nan() {
        return DASH.into();
    }
    let sign = if us < 0.0 { "−" } else { "" };
    let us = us.abs();
    // Each unit is tried with its rounded value, so that 999.9996 ms is 1 s and not 1000 ms.
    for (unit_us, below, unit) in [(1.0, 1000.0, "µs"), (1e3, 1000.0, "ms"), (1e6, 120.0, "s")] {
        let value = us / unit_us;
        if value < below {
            let (text, rounded) = three_digits(value);
            if rounded < below {
                return format!("{sign}{text}{THIN}{unit}");
            }
        }
    }
    let seconds = (us / 1e6).round() as u64;
    format!("{sign}{}:{:02}{THIN}min", group(seconds / 60), seconds % 60)
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
        return format!("{}:{:02}{THIN}min", group(seconds / 60), seconds % 60);
    }
    let (unit_us, unit) = match end_us {
        0..1_000 => (1, "µs"),
        1_000..1_000_000 => (1_000, "ms"),
        _ => (1_000_000, "s"),
    };
    let mut text = group(us / unit_us);
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

/// A count with its digits in groups of three: `1 204 331`.
pub fn count(n: u64) -> String {
    group(n)
}

/// What stands wherever a statistic rests on few values: `n = 37`.
pub fn sample(n: u64) -> String {
    format!("n = {}", group(n))
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

/// A number of bytes, decimal units.
pub fn bytes(n: u64) -> String {
    let value = n as f64;
    for (unit, name) in [(1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB")] {
        let (text, rounded) = three_digits(value / unit);
        if rounded < 1000.0 {
            return format!("{text}{THIN}{name}");
        }
    }
    let (text, _) = three_digits(value / 1e12);
    format!("{text}{THIN}TB")
}

/// Any number with three significant digits and grouped.
pub fn number(value: f64) -> String {
    if !value.is_finite() {
        return DASH.into();
    }
    let sign = if value < 0.0 { "−" } else { "" };
    let (text, rounded) = three_digits(value.abs());
    if rounded < 1000.0 { format!("{sign}{text}") } else { format!("{sign}{}", group(rounded as u64)) }
}

/// A moment, microseconds since the epoch, in UTC: `2024-05-03 12:33:11.123`, with microseconds if there are any.
pub fn moment(us: u64) -> String {
    let (seconds, fraction) = (us / 1_000_000, us % 1_000_000);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let mut text =
        format!("{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02}", rest / 3600, rest / 60 % 60, rest % 60);
    let _ = if fraction % 1000 == 0 {
        write!(text, ".{:03}", fraction / 1000)
    } else {
        write!(text, ".{fraction:06}")
    };
    text
}

/// Year, month and day of a number of days since 1970-01-01 (Howard Hinnant's `civil_from_days`).
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
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

fn group(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len());
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(THIN);
        }
        text.push(digit);
    }
    text
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
            (0.123_4, "0.123 µs"),
            (1.0, "1 µs"),
            (12.34, "12.3 µs"),
            (999.0, "999 µs"),
            (999.4, "999 µs"),
            (999.5, "1 ms"),
            (1_000.0, "1 ms"),
            (1_234.0, "1.23 ms"),
            (84_000.0, "84 ms"),
            (310_400.0, "310 ms"),
            (999_499.0, "999 ms"),
            (999_500.0, "1 s"),
            (1_240_000.0, "1.24 s"),
            (59_960_000.0, "60 s"),
            (119_400_000.0, "119 s"),
            (119_499_999.0, "119 s"),
            (119_500_000.0, "2:00 min"),
            (120_000_000.0, "2:00 min"),
            (125_400_000.0, "2:05 min"),
            (3_600_000_000.0, "60:00 min"),
            (120_000_000_000.0, "2 000:00 min"),
            (-1_500.0, "−1.5 ms"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(plain(duration(us)), want, "{us}");
        }
        assert_eq!(plain(duration_us(1_240_000)), "1.24 s");
        assert_eq!(plain(change(1500.0)), "+1.5 ms");
        assert_eq!(plain(change(-1500.0)), "−1.5 ms");
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
    fn counts_are_grouped_in_threes() {
        for (n, want) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1 000"),
            (1_204_331, "1 204 331"),
            (u64::MAX, "18 446 744 073 709 551 615"),
        ] {
            assert_eq!(plain(count(n)), want);
        }
        assert_eq!(sample(37), "n = 37");
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
    fn bytes_change_unit_at_thousands() {
        for (n, want) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1 kB"),
            (61_400_000, "61.4 MB"),
            (999_500_000, "1 GB"),
            (2_500_000_000_000, "2.5 TB"),
        ] {
            assert_eq!(plain(bytes(n)), want);
        }
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        for (value, want) in [(0.0, "0"), (1.2345, "1.23"), (12.0, "12"), (1_234.6, "1 235"), (-0.5, "−0.5")]
        {
            assert_eq!(plain(number(value)), want);
        }
    }

    #[test]
    fn moments_are_utc() {
        assert_eq!(moment(0), "1970-01-01 00:00:00.000");
        assert_eq!(moment(951_782_399_999_000), "2000-02-28 23:59:59.999");
        assert_eq!(moment(951_782_400_000_001), "2000-02-29 00:00:00.000001");
        assert_eq!(moment(1_714_739_591_123_000), "2024-05-03 12:33:11.123");
    }

    #[test]
    fn names_are_made_printable() {
        assert_eq!(endpoint("gateway", "POST /checkout"), "POST /checkout @ gateway");
        assert_eq!(endpoint("a\nb", "x\u{202e}y\0"), "x y  @ a b");
    }
}
