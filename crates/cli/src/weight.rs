//! The option `--weight`, of all commands that read traces.

use super::parse;
use pathlight_trace::TraceSet;

/// The tag that says how many requests a trace stands for.
#[derive(Debug, Default, clap::Args)]
pub struct WeightOption {
    /// Tag that says how many requests a trace stands for, before those that are known: a number from 1 up, or a probability
    /// below 1
    #[arg(long, value_name = "key=NAME", value_parser = parse::weight_key)]
    weight: Option<String>,
}

impl WeightOption {
    /// Names the chosen tag to a set before anything is added.
    pub fn apply(&self, set: &mut TraceSet) {
        if let Some(key) = &self.weight {
            set.choose_weight_key(key);
        }
    }
}
