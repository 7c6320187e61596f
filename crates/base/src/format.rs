//! Numbers as text, on the page and by the binary: three significant digits, units that fit, thin spaces between
//! thousands.

use std::fmt::Write as _;

/// The space inside numbers and before units; it never breaks a line.
pub const THIN: char = '\u{202f}';

/// Stands where there is no number.
pub const DASH: &str = "\u{2013}";

/// Returns a count in full: `11 204`.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(THIN);
        }
        out.push(digit);
    }
    out
}

/// Returns a count with its noun: `1 trace`, `2 traces`. The plural is the noun with an `s`.
pub fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Returns the form of a word that goes with a number: `one` with 1, `many` with any other.
pub fn agreeing<'a>(value: u64, one: &'a str, many: &'a str) -> &'a str {
    if value == 1 { one } else { many }
}

/// Returns a duration in microseconds: µs below 1 ms, ms below 1 s, s below 2 min, then `59 min 48 s` and `2 h 5 min`.
/// Negative ones carry a minus; a dash for NaN.
pub fn duration(us: f64) -> String {
    if us.is_nan() {
        return DASH.into();
    }
    let sign = if us < 0.0 { "−" } else { "" };
    let us = us.abs();
    // Limits are where rounding to three digits would step into the next unit.
    if us < 999.5 {
        let text = if us == us.trunc() { format!("{us:.0}") } else { three_digits(us) };
        format!("{sign}{text}{THIN}µs")
    } else if us < 999_500.0 {
        format!("{sign}{}{THIN}ms", three_digits(us / 1e3))
    } else if us < 119_500_000.0 {
        format!("{sign}{}{THIN}s", three_digits(us / 1e6))
    } else {
        format!("{sign}{}", long((us / 1e6).round() as u64))
    }
}

/// Returns a time of minutes or more, given in seconds, in its two largest units: `59 min 48 s`, `2 h 5 min`.
fn long(seconds: u64) -> String {
    let (large, large_unit, small, small_unit) = match seconds {
        0..3600 => (seconds / 60, "min", seconds % 60, "s"),
        // To the minute.
        _ => ((seconds + 30) / 3600, "h", (seconds + 30) / 60 % 60, "min"),
    };
    let large = format!("{}{THIN}{large_unit}", count(large));
    if small == 0 { large } else { format!("{large}\u{a0}{small}{THIN}{small_unit}") }
}

/// Returns a duration in whole microseconds, as [`duration`].
pub fn duration_us(us: impl Into<u128>) -> String {
    duration(us.into() as f64)
}

/// Returns a difference of durations in microseconds, always with its sign.
pub fn change(us: f64) -> String {
    if us > 0.0 { format!("+{}", duration(us)) } else { duration(us) }
}

/// Returns a point on a time axis whose ticks are `step_us` apart: as many decimals as the step needs, in the unit
/// that suits `end_us`, the end of the axis.
pub fn tick(us: u64, step_us: u64, end_us: u64) -> String {
    let step_us = step_us.max(1);
    if end_us >= 120_000_000 && step_us >= 1_000_000 {
        let seconds = us / 1_000_000;
        // Ticks beside each other may be a second apart, however long the axis.
        return match seconds {
            0..60 => format!("{seconds}{THIN}s"),
            _ if step_us < 60_000_000 && !seconds.is_multiple_of(60) => {
                format!("{}{THIN}min\u{a0}{}{THIN}s", count(seconds / 60), seconds % 60)
            }
            _ => long(seconds),
        };
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

/// Returns the note for a statistic of few values: `n = 37`.
pub fn sample(n: u64) -> String {
    format!("n = {}", count(n))
}

/// Returns a share from 0 to 1 in percent with one decimal; `<0.1 %` and `>99.9 %` where rounding would give 0 or 100.
/// Returns a dash if it is not finite.
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

/// Writes `part` of `whole` as a [`share`]; a dash if the whole is nothing.
pub fn share_of(part: impl Into<u128>, whole: impl Into<u128>) -> String {
    let (part, whole) = (part.into(), whole.into());
    share(if whole == 0 { f64::NAN } else { part as f64 / whole as f64 })
}

/// Returns how likely something is by chance, 0 to 1: `0.42`, `0.0031`, `< 0.0001`.
pub fn probability(p: f64) -> String {
    match p {
        p if p < 1e-4 => "< 0.0001".to_owned(),
        p if p < 0.01 => format!("{p:.4}"),
        p => format!("{p:.2}"),
    }
}

/// Returns any number with three significant digits, no zeros at the end, grouped: `1.5`, `0.012`, `1 235`.
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

/// Returns an endpoint in one line, `operation @ service`: what it does comes first and is cut last. Control
/// characters become spaces. Without an operation, all of a service: its name.
pub fn endpoint(service: &str, operation: &str) -> String {
    match operation {
        "" => printable(service),
        _ => format!("{} @ {}", printable(operation), printable(service)),
    }
}

/// Returns the operation alone, or the service if all of it is meant.
pub fn operation(service: &str, operation: &str) -> String {
    printable(if operation.is_empty() { service } else { operation })
}

/// Characters of a name that are shown at most; of a longer one the middle is left out.
const MOST_SHOWN: usize = 1000;

/// Returns a name as it is shown: [`harmless`], and of more than a thousand characters only the first and the last
/// ones, since a browser takes seconds to lay out a name of 50 kB.
pub fn printable(text: &str) -> String {
    const HALF: usize = MOST_SHOWN / 2;
    // A character has a byte at least.
    if text.len() > MOST_SHOWN
        && let (Some((head, _)), Some((tail, _))) =
            (text.char_indices().nth(HALF), text.char_indices().rev().nth(HALF - 2))
        && text.get(head..tail).is_some_and(|middle| middle.chars().nth(1).is_some())
    {
        return format!("{}\u{2026}{}", harmless(&text[..head]), harmless(&text[tail..]));
    }
    harmless(text)
}

/// Returns whether a terminal obeys a character, or a reader takes it for something else: control characters, marks that turn
/// the direction of writing, what is read as a line break, and what cannot be seen.
pub fn is_steering(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Returns the text with a space for every character that [steers](is_steering).
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if is_steering(c) { ' ' } else { c }).collect()
}

/// Returns the text, made [`printable`], with what Markdown would read as marks escaped.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let text = printable(text);
    let mut chars = text.chars().peekable();
    let mut before = None;
    while let Some(c) = chars.next() {
        let joins = |side: Option<char>| side.is_some_and(char::is_alphanumeric);
        let after = chars.peek().copied();
        let is_mark = match c {
            '*' | '`' | '<' | '[' | '\\' | '|' | '~' => true,
            // Within a word it is a letter.
            '_' => !(joins(before) && joins(after)),
            // A heading, a reference, an entity, a mention: not before a space.
            '#' => before.is_none() || joins(after),
            '&' => joins(after) || after == Some('#'),
            '@' => joins(after),
            _ => false,
        };
        if is_mark {
            out.push('\\');
        }
        out.push(c);
        before = Some(c);
    }
    out
}

/// Returns the text, made [`printable`], as code of Markdown.
pub fn code(text: &str) -> String {
    format!("`{}`", printable(text).replace('`', "'"))
}

/// Returns the path of a file as an address in Markdown: nothing in its name can end it, or make it the address of something
/// else.
pub fn markdown_path(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '~' | '+' | ',') {
            out.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a String cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// Returns the bytes in powers of 1000: `61 MB`, `1.5 GB`.
pub fn bytes(value: u64) -> String {
    let mut scaled = value as f64;
    if value < 1000 {
        return format!("{value}{THIN}B");
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
    format!("{text}{THIN}{unit}")
}

/// Writes the UTC of a time in microseconds since the epoch: `2024-05-01 12:34:56.789`.
pub fn moment(us: u64) -> String {
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

/// Reads a time as [`moment`] writes it, with a space or a `T`; seconds and their fractions may be left out.
pub fn parse_utc(text: &str) -> Option<u64> {
    let (date, clock) = text.trim().trim_end_matches('Z').split_once([' ', 'T'])?;
    let numbers = |text: &str, separator: char| -> Option<Vec<u64>> {
        text.split(separator).map(|part| part.parse().ok()).collect()
    };
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let ([year, month, day], clock) = (numbers(date, '-')?.try_into().ok()?, numbers(clock, ':')?);
    let (hour, minute, second) = match clock.as_slice() {
        [hour, minute] => (*hour, *minute, 0),
        [hour, minute, second] => (*hour, *minute, *second),
        _ => return None,
    };
    let is_time = hour < 24 && minute < 60 && second < 60 && fraction.len() <= 6;
    let is_date = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !is_time || !is_date {
        return None;
    }
    let fraction_us: u64 = format!("{fraction:0<6}").parse().ok()?;
    // Years start in March, as in `moment`.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    let us = ((days - 719_468) * 86_400 + hour * 3600 + minute * 60 + second) * 1_000_000 + fraction_us;
    // No 31st of April.
    moment(us).starts_with(date).then_some(us)
}

/// Writes three significant digits of a number from 0 to below 1000.
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

    /// Returns the text with plain spaces, which are easier to write down.
    fn plain(text: String) -> String {
        text.replace([THIN, '\u{a0}'], " ")
    }

    #[test]
    fn file_names_in_markdown_are_text_and_addresses() {
        assert_eq!(markdown("[a](http://e)_b.json, <i>.gz"), "\\[a](http://e)\\_b.json, \\<i>.gz");
        assert_eq!(code("a`b\nc"), "`a'b c`");
        assert_eq!(markdown_path("out/flame-1.svg"), "out/flame-1.svg");
        assert_eq!(markdown_path("a b>)(\n.svg"), "a%20b%3E%29%28%0A.svg");
        assert_eq!(markdown_path("javascript:alert(1)"), "javascript%3Aalert%281%29");
    }

    #[test]
    fn markdown_escapes_marks_and_leaves_letters_alone() {
        let name = "SELECT product_details @ shop & co";
        assert_eq!(markdown(name), name);
        assert_eq!(
            markdown("_a_ *b* [x](y) <b> @me &lt; #2 |"),
            "\\_a\\_ \\*b\\* \\[x](y) \\<b> \\@me \\&lt; \\#2 \\|"
        );
        assert_eq!(markdown("# a"), "\\# a");
    }

    #[test]
    fn probabilities_end_where_nobody_tells_them_apart() {
        let of = [1.0, 0.42, 0.009_96, 0.003_14, 1e-4, 9e-5, 0.0].map(probability);
        assert_eq!(of, ["1.00", "0.42", "0.0100", "0.0031", "0.0001", "< 0.0001", "< 0.0001"]);
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
            (119_500_000.0, "2 min"),
            (120_000_000.0, "2 min"),
            (125_400_000.0, "2 min 5 s"),
            (3_600_000_000.0, "1 h"),
            (120_000_000_000.0, "33 h 20 min"),
            (-1_500.0, "−1.50 ms"),
            (f64::NAN, "–"),
        ] {
            assert_eq!(plain(duration(us)), want, "{us}");
        }
        assert_eq!(plain(duration_us(1_240_000_u64)), "1.24 s");
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
            (130_000_000, 10_000_000, 200_000_000, "2 min 10 s"),
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
        assert_eq!(plain(share_of(1_u64, 4_u64)), "25.0 %");
        assert_eq!(share_of(0_u64, 0_u64), DASH);
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

    #[test]
    fn of_a_long_name_both_ends_are_shown() {
        for letter in ["x", "\u{e4}", "\u{1f600}"] {
            let name = |n: usize| format!("<{}>", letter.repeat(n - 2));
            assert_eq!(printable(&name(1000)), name(1000));
            let shown = printable(&name(1_000_000));
            assert_eq!(shown.chars().count(), 1000, "{letter}");
            assert!(shown.starts_with('<') && shown.ends_with('>') && shown.contains('\u{2026}'));
        }
    }

    #[test]
    fn counts_are_grouped_by_three() {
        let said: Vec<String> = [0, 999, 1000, 11_204, 1_204_331].map(|n| plain(count(n))).to_vec();
        assert_eq!(said, ["0", "999", "1 000", "11 204", "1 204 331"]);
        assert_eq!((counted(1, "trace").as_str(), counted(0, "trace").as_str()), ("1 trace", "0 traces"));
    }

    #[test]
    fn bytes_step_by_a_thousand() {
        let said = [0, 999, 1000, 61_400_000, 999_700, 1_540_000_000].map(|n| plain(bytes(n)));
        assert_eq!(said, ["0 B", "999 B", "1.0 kB", "61 MB", "1.0 MB", "1.5 GB"]);
    }

    #[test]
    fn dates_know_leap_years() {
        assert_eq!(moment(0), "1970-01-01 00:00:00.000");
        assert_eq!(moment(951_782_400_000_000), "2000-02-29 00:00:00.000");
        assert_eq!(moment(1_661_212_799_123_456), "2022-08-22 23:59:59.123");
        assert_eq!(moment(1_709_251_200_000_000), "2024-03-01 00:00:00.000");
    }

    #[test]
    fn times_are_read_as_they_are_written() {
        for us in [0, 951_782_400_000_000, 1_661_212_799_123_000, 1_709_251_200_000_000] {
            assert_eq!(parse_utc(&moment(us)), Some(us));
            assert_eq!(parse_utc(&moment(us).replace(' ', "T")), Some(us));
        }
        assert_eq!(parse_utc("1970-01-01T00:01"), Some(60_000_000));
        assert_eq!(parse_utc("1970-01-01 00:00:01.000001Z"), Some(1_000_001));
        for bad in ["", "1970-01-01", "2023-02-29 00:00", "2023-04-31T00:00", "1970-01-01 24:00", "x-y-z a:b"]
        {
            assert_eq!(parse_utc(bad), None, "{bad}");
        }
    }
}
