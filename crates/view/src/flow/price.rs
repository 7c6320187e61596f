//! Prices of changes as they are written: numbers with up to three decimals, kept in thousandths.

/// Returns a price in thousandths as it is written.
pub fn price_text(thousandths: u64) -> String {
    cost_text(thousandths as f64 / 1000.0)
}

/// Reads a price; returns it in thousandths.
pub fn parse_price(text: &str) -> Option<u64> {
    let price: f64 = text.trim().parse().ok()?;
    (0.0..=1e12).contains(&price).then(|| (price * 1000.0).round() as u64)
}

/// Returns a sum of prices as it is written.
pub(super) fn cost_text(cost: f64) -> String {
    let text = format!("{cost:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read_as_they_are_written() {
        assert_eq!(["2.5", " 0 ", "-1", "x"].map(parse_price), [Some(2_500), Some(0), None, None]);
        assert_eq!([0, 250, 1_000, 2_500, 20_000].map(price_text), ["0", "0.25", "1", "2.5", "20"]);
    }
}
