//! Comparison of two sides: which they are, and in what they differ.

use pathlight_base::format;
use pathlight_engine::requests::PercentileRange;

/// One of two sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ComparedSide {
    /// Before, the normal one, the bulk.
    #[default]
    A,
    /// After, the faulty one, the tail.
    B,
}

impl ComparedSide {
    /// Both, in order.
    pub const BOTH: [ComparedSide; 2] = [ComparedSide::A, ComparedSide::B];

    /// Returns `A` or `B`.
    pub fn name(self) -> &'static str {
        match self {
            ComparedSide::A => "A",
            ComparedSide::B => "B",
        }
    }

    /// Returns the side that a set is until sides are swapped: the first set A.
    pub fn of_group(group: u8) -> ComparedSide {
        if group == 0 { ComparedSide::A } else { ComparedSide::B }
    }

    /// Returns the set that it is until sides are swapped.
    pub fn set_group(self) -> u8 {
        u8::from(self == ComparedSide::B)
    }

    /// Returns the other one.
    #[must_use]
    pub fn other(self) -> ComparedSide {
        match self {
            ComparedSide::A => ComparedSide::B,
            ComparedSide::B => ComparedSide::A,
        }
    }
}

/// The property in which the sides of a comparison differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Against {
    /// Percentile ranges of one set.
    #[default]
    Range,
    /// Sets that were loaded apart.
    Set,
}

impl Against {
    /// Returns its value of `against=`.
    pub fn key(self) -> &'static str {
        match self {
            Against::Range => "range",
            Against::Set => "set",
        }
    }

    /// Returns the one of this key.
    pub fn from_key(key: &str) -> Option<Against> {
        [Against::Range, Against::Set].into_iter().find(|against| against.key() == key)
    }
}

/// A comparison. The side that views speak of has the percentile range of the address; the percentile range of the
/// other one is here. So a view that knows nothing of sides speaks of the right one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The property in which the sides differ.
    pub against: Against,
    /// The side that views speak of.
    pub side: ComparedSide,
    /// Percentile range of the other side.
    pub other: PercentileRange,
    /// Side A is the set that was loaded second.
    pub swapped: bool,
}

pub(crate) const BULK: PercentileRange = PercentileRange::open(0, 50_000);

impl Comparison {
    /// Compares percentile range with percentile range: the bulk against the one that is looked at, or against the
    /// tail. Gives the percentile range of the side that views speak of besides.
    pub(crate) fn of_ranges(range: PercentileRange) -> (Comparison, PercentileRange) {
        let of = |side, other| Comparison { against: Against::Range, side, other, swapped: false };
        if range.is_all() || range == BULK {
            (of(ComparedSide::A, PercentileRange::TAIL), BULK)
        } else {
            (of(ComparedSide::B, BULK), range)
        }
    }

    /// Returns the [group](pathlight_engine::requests::Selection::group) of a side.
    pub(crate) fn group(&self, side: ComparedSide) -> u8 {
        u8::from(self.against == Against::Set && (side == ComparedSide::B) != self.swapped)
    }
}

/// Returns what a set is called after its files: the name of one, without folders and endings; else how many there are.
pub fn set_name(files: &[&str]) -> Option<String> {
    match files {
        [] => None,
        [file] => {
            let name = file.rsplit('/').next().unwrap_or(file);
            let short = name.trim_end_matches(".gz").trim_end_matches(".json").trim_end_matches(".pathlight");
            Some(if short.is_empty() { name } else { short }.to_owned())
        }
        several => Some(format!("{} files", format::count(several.len() as u64))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_named_after_their_files() {
        assert_eq!(set_name(&["data/shop before.json.gz"]).as_deref(), Some("shop before"));
        assert_eq!(set_name(&["a.json", "b.json", "c.json"]).as_deref(), Some("3 files"));
        assert_eq!((set_name(&[]), set_name(&[".json"])), (None, Some(".json".to_owned())));
    }
}
