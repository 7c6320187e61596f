//! Tags that are numbers, to compare and to sum: tokens, cost, time to the first token (`docs/definitions/critical-path.md`
//! section 10).

use super::{TagSetId, TagTable};

/// How keys of tags begin that say what a call of a language model takes.
const PREFIXES: [&str; 6] =
    ["gen_ai.usage.", "gen_ai.server.time_", "llm.token_count.", "llm.usage.", "llm.cost.", "ai.usage."];
/// How such keys end in other conventions.
const SUFFIXES: [&str; 6] =
    [".cost", "_cost", "_tokens", "time_to_first_token", "time_to_first_chunk", "msToFirstChunk"];

/// Returns whether a tag measures something that is summed. Of such a key with too many values to store, the numbers stay,
/// rounded to three digits.
pub fn is_measure(key: &str) -> bool {
    PREFIXES.iter().any(|prefix| key.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| key.ends_with(suffix))
}

/// Returns the number that a value is.
pub fn number(value: &str) -> Option<f64> {
    // Without the sign of zero, so that equal numbers have equal bits.
    value.trim().parse::<f64>().ok().filter(|number| number.is_finite()).map(|number| number + 0.0)
}

/// Returns a number with three digits. What is rounded stays as it is when it is rounded again.
fn rounded(number: f64) -> f64 {
    format!("{number:.2e}").parse().unwrap_or(number)
}

/// Returns the text that is stored in place of a number of a key with too many values.
pub(super) fn stand_in(value: &str) -> Option<String> {
    number(value).map(|number| rounded(number).to_string())
}

impl TagTable {
    /// Returns the number that each set of tags has under a key, by [`TagSetId`]; of several, the smallest. Where the key
    /// has too many values, all are rounded, since which of them are stored as they were depends on what was read before.
    /// `None`: nobody knows, because values of it are not stored.
    pub fn numbers(&self, key: &str) -> Option<Vec<Option<f64>>> {
        let found = self.find_key(key);
        if found.is_some_and(|key| self.stores_nothing(key)) || self.is_rounded(key) && !is_measure(key) {
            return None;
        }
        let is_rounded = self.is_rounded(key);
        let of = |set: u32| {
            let numbers = self.stored_values(TagSetId(set), key).filter_map(number);
            let numbers = numbers.map(|number| if is_rounded { rounded(number) } else { number });
            numbers.min_by(f64::total_cmp)
        };
        Some((0..self.sets() as u32).map(of).collect())
    }

    /// Returns whether the [numbers](Self::numbers) of a key are rounded.
    pub fn is_rounded(&self, key: &str) -> bool {
        self.has_too_many_values(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_costs_are_measures_and_ids_are_not() {
        for key in ["gen_ai.usage.input_tokens", "llm.token_count.prompt", "gen_ai.usage.cost", "x_cost"] {
            assert!(is_measure(key), "{key}");
        }
        assert!(!is_measure("thread.id") && !is_measure("cost_center") && !is_measure("token"));
    }

    #[test]
    fn numbers_are_read_as_they_are_written() {
        assert_eq!(["12", " 0.5", "1e3", "-0"].map(number), [Some(12.0), Some(0.5), Some(1000.0), Some(0.0)]);
        assert_eq!(number("-0").map(f64::to_bits), Some(0));
        assert_eq!(["", "NaN", "inf", "12 ms", "true"].map(number), [None; 5]);
    }

    #[test]
    fn what_is_rounded_stays_when_it_is_rounded_again() {
        assert_eq!([12_345.0, -0.001_236, 999.9, 0.0].map(rounded), [12_300.0, -0.001_24, 1000.0, 0.0]);
        for number in [1.005, 2.345e-7, 99_949.9, 5e300, f64::MIN_POSITIVE] {
            assert_eq!(rounded(rounded(number)), rounded(number));
            assert_eq!(stand_in(&rounded(number).to_string()), stand_in(&number.to_string()));
        }
    }

    #[test]
    fn a_measure_with_too_many_values_is_rounded_and_other_numbers_are_not_known() {
        let numbers = |order: &dyn Fn(u32) -> u32, key: &str| {
            let mut table = TagTable::default();
            let sets: Vec<(u32, TagSetId)> = (0..5000)
                .map(order)
                .map(|number| {
                    table.begin();
                    table.add(key, &number.to_string());
                    (number, table.finish())
                })
                .collect();
            let numbers = table.numbers(key)?;
            Some(sets.iter().map(|&(number, set)| (number, numbers[set.0 as usize])).collect::<Vec<_>>())
        };
        let known = numbers(&|i| i, "gen_ai.usage.input_tokens").unwrap();
        assert_eq!(
            [known[7], known[1234], known[4996]],
            [(7, Some(7.0)), (1234, Some(1230.0)), (4996, Some(5000.0))]
        );
        let mut back = numbers(&|i| 4999 - i, "gen_ai.usage.input_tokens").unwrap();
        back.reverse();
        assert_eq!(back, known, "what was read first makes no difference");
        assert_eq!(numbers(&|i| i, "thread.id"), None);
        assert_eq!(numbers(&|i| i % 100, "thread.id").unwrap()[150], (50, Some(50.0)));
    }
}
