//! Words in an exported file about itself: its name, and the lines above a picture.

use crate::address::Address;
use crate::address::comparing::{Against, ComparedSide};
use crate::anomalies;
use crate::anomalies::settings::JudgedAgainst;
use crate::say::selection::range_words;
use crate::views::View;
use pathlight_base::format;
use pathlight_engine::requests::PercentileRange;

/// The requests that a file shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exported {
    /// The selection.
    selection: String,
    /// While sides are compared: what both are called, and which of them is shown if not both are.
    sides: Option<([String; 2], Option<ComparedSide>)>,
}

impl Exported {
    /// Returns what the view of an address shows; `names` are those of the sides, where it has sides.
    pub fn of(address: &Address, names: [String; 2]) -> Exported {
        let selection = address.selection_label();
        let Some(comparison) = address.compared() else { return Exported { selection, sides: None } };
        let (both, has_ranges) = match address.view {
            View::Compare => (true, true),
            View::Diagnosis => (address.choices.diagnosis.list.is_of_sides(), true),
            // Both sets are cut to one percentile range.
            View::Anomalies => (anomalies::normal(address) == JudgedAgainst::SetA, false),
            _ => (false, true),
        };
        let selection = if both && has_ranges {
            Address { range: PercentileRange::ALL, ..address.clone() }.selection_label()
        } else {
            selection
        };
        let [a, b] = names;
        let sides = [(ComparedSide::A, a), (ComparedSide::B, b)].map(|(side, name)| {
            let range = address.side(side).range;
            let says_range = comparison.against == Against::Range || !has_ranges || range.is_all();
            if says_range { name } else { format!("{name}, {}", range_words(range)) }
        });
        Exported { selection, sides: Some((sides, (!both).then_some(comparison.side))) }
    }

    /// Returns the name of the file without its ending: the view, the side or sides, the selection unless both sides are
    /// there. Letters and digits of any language, dots, `-` and `_` stay; the rest becomes `-`.
    pub fn file_name(&self, view: &str) -> String {
        let selection = plain(&self.selection);
        match &self.sides {
            None => format!("{view}-{selection}"),
            Some(([a, b], None)) => format!("{view}-A-{}-B-{}", plain(a), plain(b)),
            // A side that is a percentile range stands in the selection.
            Some((names, Some(side))) => match &names[*side as usize] {
                name if self.selection.contains(name.as_str()) => {
                    format!("{view}-{}-{selection}", side.name())
                }
                name => format!("{view}-{}-{}-{selection}", side.name(), plain(name)),
            },
        }
    }

    /// Returns the lines above a picture that is written now, in microseconds.
    pub fn lines(&self, now_us: u64) -> Vec<String> {
        let mut lines = vec![self.selection.clone()];
        if let Some(([a, b], side)) = &self.sides {
            let shown = side.map_or_else(String::new, |side| format!(". Side {} is shown.", side.name()));
            lines.push(format!("A: {a}; B: {b}{shown}"));
        }
        let now = format::moment(now_us);
        let minute = now.rsplit_once(':').map_or(&*now, |(minute, _)| minute);
        lines.push(format!("Exported from Pathlight on {minute} UTC"));
        lines
    }
}

fn plain(text: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
    let text: String = text.chars().take(40).map(|c| if fits(c) { c } else { '-' }).collect();
    let parts: Vec<&str> = text.split('-').filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::requests::RootEndpoint;
    use pathlight_trace::Endpoint;

    const P95: PercentileRange = PercentileRange::open(95_000, 99_000);
    /// 2026-11-24 03:06:12.345.
    const NOW_US: u64 = 1_795_489_572_345_000;

    fn cart() -> Address {
        let root = RootEndpoint::Endpoint(Endpoint::new("shop", "GET /cart/{id}"));
        Address { view: View::Flame, root, range: P95, ..Address::default() }
    }

    fn of(address: &Address, names: [&str; 2]) -> Exported {
        Exported::of(address, names.map(str::to_owned))
    }

    #[test]
    fn without_sides_a_file_names_the_selection() {
        let file = of(&cart(), ["P0\u{2013}50", "P95\u{2013}99"]);
        assert_eq!(file.file_name("flame"), "flame-GET-cart-id-shop-P95-99");
        let lines = file.lines(NOW_US);
        let date = "Exported from Pathlight on 2026-11-24 03:06 UTC";
        assert_eq!(lines, ["GET /cart/{id} @ shop, P95\u{2013}99", date]);
    }

    #[test]
    fn the_view_that_compares_names_both_sides() {
        let mut address = Address { view: View::Compare, ..cart() };
        let file = of(&address, ["P0\u{2013}50", "P95\u{2013}99"]);
        assert_eq!(file.file_name("compare"), "compare-A-P0-50-B-P95-99");
        let lines = file.lines(0);
        assert_eq!(lines[..2], ["GET /cart/{id} @ shop", "A: P0\u{2013}50; B: P95\u{2013}99"]);
        // Sets may have percentile ranges of their own.
        address.compare_sets();
        address.set_range(ComparedSide::A, PercentileRange::ALL);
        let file = of(&address, ["before", "after"]);
        assert_eq!(file.file_name("compare"), "compare-A-before-B-after-P95-99");
        assert_eq!(file.lines(0)[1], "A: before; B: after, P95\u{2013}99");
    }

    #[test]
    fn other_views_say_which_side_they_show() {
        let mut address = cart();
        address.compare_sets();
        address.view = View::Flame;
        address.speak_of(ComparedSide::B);
        let file = of(&address, ["before", "after"]);
        assert_eq!(file.file_name("flame"), "flame-B-after-P95-99-GET-cart-id-shop-P95-99");
        let lines = file.lines(0);
        let sides = "A: before, P95\u{2013}99; B: after, P95\u{2013}99. Side B is shown.";
        assert_eq!(lines[..2], ["GET /cart/{id} @ shop, P95\u{2013}99", sides]);
        // Anomalies judge one set by the other.
        address.view = View::Anomalies;
        let file = of(&address, ["before", "after"]);
        assert_eq!(file.file_name("anomalies"), "anomalies-A-before-B-after");
        assert_eq!(file.lines(0)[1], "A: before; B: after");
        // Percentile ranges of one set are sides too.
        let mut address = cart();
        address.compare_ranges();
        address.view = View::Flame;
        let file = of(&address, ["P0\u{2013}50", "P95\u{2013}99"]);
        assert_eq!(file.file_name("flame"), "flame-B-GET-cart-id-shop-P95-99");
    }
}
