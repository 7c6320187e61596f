//! Settings of reading traces: which overlaps of siblings pass for clock skew, and which rules for real instrumentation apply
//! (`docs/definitions/real-traces.md`).

use serde::{Deserialize, Serialize};

/// A rule for what real instrumentation writes, each with a switch of its own.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReadingRule {
    /// A second span for the same work, beside the calls it covers, is nothing to wait for.
    Overlay,
    /// Calls are named by what they call.
    Callees,
    /// Names with values in them are one name.
    Templates,
    /// Nobody waits for what outlives its parent in the same process.
    NobodyWaits,
    /// Offsets of clocks between processes are taken out.
    Clocks,
    /// Roots beside the trace root are requests of their own.
    Roots,
    /// The time of a call outside its callee is time on the way there, not work.
    Waiting,
    /// Nobody waits for consumers.
    // Files hold a rule by its place here: new ones come last.
    Consumers,
}

impl ReadingRule {
    /// All rules, in the order in which they are listed.
    pub const ALL: [ReadingRule; 8] = [
        ReadingRule::Overlay,
        ReadingRule::Callees,
        ReadingRule::Waiting,
        ReadingRule::Templates,
        ReadingRule::NobodyWaits,
        ReadingRule::Consumers,
        ReadingRule::Clocks,
        ReadingRule::Roots,
    ];

    /// Returns its word in options and addresses.
    pub fn key(self) -> &'static str {
        match self {
            ReadingRule::Overlay => "overlay",
            ReadingRule::Callees => "callees",
            ReadingRule::Waiting => "waiting",
            ReadingRule::Templates => "templates",
            ReadingRule::NobodyWaits => "nobody-waits",
            ReadingRule::Consumers => "consumers",
            ReadingRule::Clocks => "clocks",
            ReadingRule::Roots => "roots",
        }
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The rules that apply.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Reading {
    rules: u16,
}

impl Default for Reading {
    fn default() -> Reading {
        Reading::real()
    }
}

impl Reading {
    /// No rule: spans are taken as they were written.
    pub const PLAIN: Reading = Reading { rules: 0 };

    /// Returns every rule.
    pub fn real() -> Reading {
        ReadingRule::ALL.into_iter().fold(Reading::PLAIN, |reading, rule| reading.with(rule, true))
    }

    /// Returns whether a rule applies.
    pub fn has(self, rule: ReadingRule) -> bool {
        self.rules & rule.bit() != 0
    }

    /// Returns this reading with a rule switched on or off.
    #[must_use]
    pub fn with(self, rule: ReadingRule, on: bool) -> Reading {
        Reading { rules: if on { self.rules | rule.bit() } else { self.rules & !rule.bit() } }
    }

    /// Returns the reading in words: `plain`, `real`, or `real` with the rules that do not apply (`real,-overlay`).
    pub fn name(self) -> String {
        if self == Reading::PLAIN {
            return "plain".to_owned();
        }
        let missing = ReadingRule::ALL.into_iter().filter(|&rule| !self.has(rule));
        missing.fold("real".to_owned(), |name, rule| name + ",-" + rule.key())
    }

    /// Reads what [`name`](Self::name) writes, and `plain` followed by rules that apply (`plain,clocks`); `None` for
    /// anything else.
    pub fn parse(text: &str) -> Option<Reading> {
        let mut words = text.split(',').map(str::trim);
        let mut reading = match words.next()? {
            "real" => Reading::real(),
            "plain" => Reading::PLAIN,
            _ => return None,
        };
        for word in words {
            let (key, on) = word.strip_prefix('-').map_or((word, true), |key| (key, false));
            let rule = ReadingRule::ALL.into_iter().find(|rule| rule.key() == key)?;
            reading = reading.with(rule, on);
        }
        Some(reading)
    }
}

/// Greatest overlap of two siblings that still count as one after the other (`docs/definitions/critical-path.md`
/// section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Overlap {
    /// At most this many microseconds; `u64::MAX` is no limit.
    pub overlap_us: u64,
    /// At most this share of the parent's duration, in millionths; `u64::MAX` is no limit.
    pub share_ppm: u64,
}

impl Default for Overlap {
    fn default() -> Self {
        Overlap { overlap_us: 1000, share_ppm: 10_000 }
    }
}

impl Overlap {
    /// The names of the presets.
    pub const PRESETS: [&str; 4] = ["default", "paper", "upstream", "strict"];

    /// Returns the preset of this name.
    pub fn preset(name: &str) -> Option<Overlap> {
        Some(match name {
            "default" => Overlap::default(),
            // The paper's rule is `A_end - 1 ms < B_start`: an overlap of exactly 1 ms is too much.
            "paper" => Overlap { overlap_us: 999, share_ppm: u64::MAX },
            "upstream" => Overlap { overlap_us: u64::MAX, share_ppm: 10_000 },
            "strict" => Overlap { overlap_us: 0, share_ppm: 0 },
            _ => return None,
        })
    }

    /// Returns the name of the preset that this is.
    pub fn preset_name(self) -> Option<&'static str> {
        Overlap::PRESETS.into_iter().find(|name| Overlap::preset(name) == Some(self))
    }

    /// Returns the reading that goes with these settings unless another is chosen: the presets of other tools and of
    /// the paper take spans as they were written.
    pub fn implied_reading(self) -> Reading {
        match self.preset_name() {
            Some("paper" | "upstream" | "strict") => Reading::PLAIN,
            _ => Reading::default(),
        }
    }

    /// Returns whether an overlap of this length between children of a parent this long passes for skew.
    pub fn tolerates(&self, overlap_us: u64, parent_us: u64) -> bool {
        overlap_us <= self.overlap_us
            && (self.share_ppm == u64::MAX
                || u128::from(overlap_us) * 1_000_000 <= u128::from(parent_us) * u128::from(self.share_ppm))
    }
}

/// All that decides what a tree and its paths look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PathSettings {
    /// The overlaps that pass for skew.
    pub overlap: Overlap,
    /// Rules for real traces that apply; all by default.
    pub reading: Reading,
    /// Whether a place is a service, whatever its operations.
    pub by_service: bool,
}

impl PathSettings {
    /// Returns the settings with these overlaps and spans taken as they were written.
    pub fn plain(overlap: Overlap) -> PathSettings {
        PathSettings { overlap, reading: Reading::PLAIN, by_service: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reading_survives_its_name() {
        for rules in 0..1 << ReadingRule::ALL.len() {
            let reading = Reading { rules };
            assert_eq!(Reading::parse(&reading.name()), Some(reading), "{}", reading.name());
        }
        assert_eq!(Reading::real().with(ReadingRule::Overlay, false).name(), "real,-overlay");
        assert_eq!(Reading::parse("plain, clocks"), Some(Reading::PLAIN.with(ReadingRule::Clocks, true)));
        assert_eq!((Reading::parse("real,-nonsense"), Reading::parse("")), (None, None));
    }

    #[test]
    fn presets_of_other_tools_read_plainly() {
        let implied = |name| Overlap::preset(name).map(Overlap::implied_reading);
        for name in ["paper", "upstream", "strict"] {
            assert_eq!(implied(name), Some(Reading::PLAIN));
        }
        assert_eq!(implied("default"), Some(Reading::default()));
    }
}
