//! The contents of a tip, or a panel, about a thing in a chart: lines, a list, a small table.

use pathlight_base::format;
use pathlight_base::statistics::LogHistogram;
use pathlight_trace::Endpoint;

/// A line of a tip.
#[derive(Clone, Debug, PartialEq)]
pub enum TipLine {
    /// An endpoint.
    Endpoint(Endpoint),
    /// Plain text.
    Text(String),
    /// The words that matter most.
    Strong(String),
    /// Words that matter less.
    Muted(String),
    /// Effect of a click or key.
    Hint(String),
    /// Numbered lines.
    List(Vec<String>),
    /// Numbers in rows.
    Numbers(Numbers),
    /// A histogram as small as a word.
    Spark(LogHistogram),
}

/// A small table of numbers: heads of the columns, and rows with their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Numbers {
    /// Heads of the columns after the names.
    pub heads: Vec<String>,
    /// Name, and for each column the number in words and with all of its digits.
    pub rows: Vec<(String, Vec<(String, String)>)>,
}

impl Numbers {
    /// Returns a table of durations in microseconds: mean and percentiles, in this order, for each name.
    pub fn of_durations(rows: &[(&str, [f64; 4])]) -> Numbers {
        Numbers {
            heads: ["mean", "p50", "p95", "p99"].map(str::to_owned).to_vec(),
            rows: rows
                .iter()
                .map(|(name, us)| {
                    (
                        (*name).to_owned(),
                        us.iter().map(|us| (format::duration(*us), us.to_string())).collect(),
                    )
                })
                .collect(),
        }
    }
}
