//! Percentile ranges by their names.

use pathlight_query::PercentileRange;

/// `P50-95` for a percentile range, `P95` for the cumulative reading.
pub fn range_name(range: PercentileRange) -> String {
    let percent = |value: u32| {
        let text = format!("{}.{:03}", value / 1000, value % 1000);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    if range.closed && range.lo == 0 {
        format!("P{}", percent(range.hi))
    } else {
        format!("P{}-{}", percent(range.lo), percent(range.hi))
    }
}

/// Reads `P50-95`, `50-95` or the cumulative `P95`.
pub fn parse_range(text: &str) -> Option<PercentileRange> {
    let percent = |text: &str| {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty() || part.len() > 3 || !digits(whole) || !digits(part) {
            return None;
        }
        let thousandths = format!("{part:0<3}").parse::<u32>().ok()?;
        whole.parse::<u32>().ok()?.checked_mul(1000)?.checked_add(thousandths).filter(|v| *v <= 100_000)
    };
    let (cumulative, text) = match text.strip_prefix(['P', 'p']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let range = match text.split_once('-') {
        Some((lo, hi)) => PercentileRange { lo: percent(lo)?, hi: percent(hi)?, closed: false },
        None if cumulative => PercentileRange { lo: 0, hi: percent(text)?, closed: true },
        None => return None,
    };
    (range.lo < range.hi).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_readings() {
        assert_eq!(parse_range("P95"), Some(PercentileRange { lo: 0, hi: 95_000, closed: true }));
        assert_eq!(parse_range("P0-50"), Some(PercentileRange { lo: 0, hi: 50_000, closed: false }));
        assert_eq!(parse_range("99-99.9"), Some(PercentileRange { lo: 99_000, hi: 99_900, closed: false }));
        for text in ["P0-50", "P50-95", "P99-100", "P95", "P99.5", "P12.345-13"] {
            assert_eq!(parse_range(text).map(range_name).as_deref(), Some(text));
        }
        for text in ["", "P", "95", "P-", "P50-", "P50-50", "P0", "P101", "P1.2345", "P+5", "P1e1-2"] {
            assert_eq!(parse_range(text), None, "{text}");
        }
    }
}
