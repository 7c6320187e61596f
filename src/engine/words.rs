//! How numbers are said: three significant digits, units that fit, thin spaces between thousands.

/// The space inside numbers and before units; it never breaks a line.
pub const THIN_SPACE: char = '\u{202f}';

/// Stands for a number there is none of.
pub const DASH: &str = "\u{2013}";

/// A count in full: `11 204`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(THIN_SPACE);
        }
        out.push(digit);
    }
    out
}

/// A count with its noun: `1 trace`, `2 traces`. The plural is the noun with an `s`.
pub fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Microseconds: `12 us` with a micro sign, `84.1 ms`, `1.24 s`, from two minutes on `2:05 min`.
pub fn duration(us: f64) -> String {
    let us = us.max(0.0);
    // Limits are where rounding to three digits would step into the next unit.
    if us < 999.5 {
        let text = if us == us.trunc() { format!("{us:.0}") } else { three_digits(us) };
        format!("{text}{THIN_SPACE}\u{b5}s")
    } else if us < 999_500.0 {
        format!("{}{THIN_SPACE}ms", three_digits(us / 1e3))
    } else if us < 119_500_000.0 {
        format!("{}{THIN_SPACE}s", three_digits(us / 1e6))
    } else {
        let seconds = (us / 1e6).round() as u64;
        format!("{}:{:02}{THIN_SPACE}min", count(seconds / 60), seconds % 60)
    }
}

/// A share with one decimal: `37.5 %`; what is more than nothing never reads 0.
pub fn share(part: f64, whole: f64) -> String {
    if whole <= 0.0 {
        return DASH.to_owned();
    }
    let percent = part / whole * 100.0;
    if percent > 0.0 && percent < 0.05 {
        format!("<{THIN_SPACE}0.1{THIN_SPACE}%")
    } else {
        format!("{percent:.1}{THIN_SPACE}%")
    }
}

/// Bytes in powers of 1000: `61 MB`, `1.5 GB`.
pub fn bytes(value: u64) -> String {
    let mut scaled = value as f64;
    if value < 1000 {
        return format!("{value}{THIN_SPACE}B");
    }
    let mut unit = "B";
    for next in ["kB", "MB", "GB", "TB"] {
        if scaled < 999.5 {
            break;
        }
        scaled /= 1000.0;
        unit = next;
    }
    let text = if scaled < 9.95 { format!("{scaled:.1}") } else { format!("{scaled:.0}") };
    format!("{text}{THIN_SPACE}{unit}")
}

/// UTC of a time in microseconds since the epoch: `2024-05-01 12:34:56.789`.
pub fn utc(us: u64) -> String {
    let (days, rest) = (us / 86_400_000_000, us % 86_400_000_000);
    // Days to date in the proleptic Gregorian calendar; years start in March, so the leap day is last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (seconds, ms) = (rest / 1_000_000, rest / 1000 % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{ms:03}")
}

/// Three significant digits of a number from 0 to below 1000.
fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace(THIN_SPACE, " ").replace('\u{b5}', "u")
    }

    #[test]
    fn durations_have_three_digits_and_the_unit_that_fits() {
        let said: Vec<String> = [
            0.0, 7.0, 7.25, 999.0, 999.6, 1000.0, 84_120.0, 310_400.0, 999_600.0, 1.24e6, 119.4e6, 119.6e6,
            125e6, 7e9,
        ]
        .iter()
        .map(|us| plain(&duration(*us)))
        .collect();
        assert_eq!(
            said,
            [
                "0 us",
                "7 us",
                "7.25 us",
                "999 us",
                "1.00 ms",
                "1.00 ms",
                "84.1 ms",
                "310 ms",
                "1.00 s",
                "1.24 s",
                "119 s",
                "2:00 min",
                "2:05 min",
                "116:40 min"
            ]
        );
    }

    #[test]
    fn counts_are_grouped_by_three() {
        let said: Vec<String> = [0, 999, 1000, 11_204, 1_204_331].map(|n| plain(&count(n))).to_vec();
        assert_eq!(said, ["0", "999", "1 000", "11 204", "1 204 331"]);
        assert_eq!((counted(1, "trace").as_str(), counted(0, "trace").as_str()), ("1 trace", "0 traces"));
    }

    #[test]
    fn shares_of_nothing_are_a_dash_and_something_never_reads_zero() {
        let said = [(1.0, 8.0), (0.0, 5.0), (1.0, 1e6), (0.0, 0.0)].map(|(p, w)| plain(&share(p, w)));
        assert_eq!(said, ["12.5 %", "0.0 %", "< 0.1 %", DASH]);
    }

    #[test]
    fn bytes_step_by_a_thousand() {
        let said = [0, 999, 1000, 61_400_000, 999_700, 1_540_000_000].map(|n| plain(&bytes(n)));
        assert_eq!(said, ["0 B", "999 B", "1.0 kB", "61 MB", "1.0 MB", "1.5 GB"]);
    }

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(utc(0), "1970-01-01 00:00:00.000");
        assert_eq!(utc(951_782_400_000_000), "2000-02-29 00:00:00.000");
        assert_eq!(utc(1_661_212_799_123_456), "2022-08-22 23:59:59.123");
        assert_eq!(utc(1_709_251_200_000_000), "2024-03-01 00:00:00.000");
    }
}
