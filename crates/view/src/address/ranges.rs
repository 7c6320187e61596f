//! Percentile ranges by their names.

use pathlight_engine::requests::PercentileRange;

/// The name of the slowest tenth, at least five.
const TAIL: &str = "tail";

/// Returns the name of a range: `P50-95` for a percentile range, `P95` for the cumulative reading, `tail` for the
/// slowest tenth that is at least five.
pub fn range_name(range: PercentileRange) -> String {
    if range == PercentileRange::TAIL {
        return TAIL.to_owned();
    }
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

/// Reads `P50-95`, `50-95`, the cumulative `P95`, or `tail`.
pub fn parse_range(text: &str) -> Option<PercentileRange> {
    if text == TAIL {
        return Some(PercentileRange::TAIL);
    }
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
        Some((lo, hi)) => PercentileRange::open(percent(lo)?, percent(hi)?),
        None if cumulative => PercentileRange::up_to(percent(text)?),
        None => return None,
    };
    (range.lo < range.hi).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_two_readings() {
        assert_eq!(parse_range("P95"), Some(PercentileRange::up_to(95_000)));
        assert_eq!(parse_range("P0-50"), Some(PercentileRange::open(0, 50_000)));
        assert_eq!(parse_range("99-99.9"), Some(PercentileRange::open(99_000, 99_900)));
        for text in ["P0-50", "P50-95", "P99-100", "P95", "P99.5", "P12.345-13", "tail"] {
            assert_eq!(parse_range(text).map(range_name).as_deref(), Some(text));
        }
        for text in ["", "P", "95", "P-", "P50-", "P50-50", "P0", "P101", "P1.2345", "P+5", "P1e1-2"] {
            assert_eq!(parse_range(text), None, "{text}");
        }
    }
}
