//! Comparison of two sides: which they are, and in what they differ.

use pathlight_base::format;
use pathlight_engine::requests::{Filter, PercentileRange};

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
    /// The requests of one set that start before a time, and those since then, in microseconds since the epoch.
    Time(u64),
}

impl Against {
    /// Returns its value of `against=`: of a time, `since-` and the microseconds.
    pub fn name(self) -> String {
        match self {
            Against::Range => "range".to_owned(),
            Against::Set => "set".to_owned(),
            Against::Time(us) => format!("since-{us}"),
        }
    }

    /// Returns the one of this name.
    pub fn from_name(name: &str) -> Option<Against> {
        match (name, name.strip_prefix("since-")) {
            ("range", _) => Some(Against::Range),
            ("set", _) => Some(Against::Set),
            (_, Some(us)) => us.parse().ok().filter(|us| *us > 0).map(Against::Time),
            _ => None,
        }
    }

    /// Returns whether side A says what side B should be like: percentile ranges are chosen by what they are compared in.
    pub fn has_baseline(self) -> bool {
        self != Against::Range
    }

    /// Returns the filter that makes a side of all requests, if it is one.
    pub(crate) fn filter(self, side: ComparedSide) -> Option<Filter> {
        let Against::Time(at_us) = self else { return None };
        Some(match side {
            ComparedSide::A => Filter::Time { from_us: 0, to_us: at_us },
            ComparedSide::B => Filter::Time { from_us: at_us, to_us: u64::MAX },
        })
    }

    /// Returns what a side is called, if that follows from in what they differ alone.
    pub fn side_name(self, side: ComparedSide) -> Option<String> {
        let Against::Time(at_us) = self else { return None };
        let word = if side == ComparedSide::A { "before" } else { "since" };
        Some(format!("{word} {}", to_second(at_us)))
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

/// Returns a moment to the second.
pub fn to_second(us: u64) -> String {
    let moment = format::moment(us);
    moment.split('.').next().unwrap_or_default().to_owned()
}

/// Returns what a set is called after its files: the name of one, without folders and endings, or the name that all have, as parts
/// of one thing do; else how many there are.
pub fn set_name(files: &[&str]) -> Option<String> {
    match files {
        [] => None,
        [file, rest @ ..] if rest.iter().all(|other| other == file) => {
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
    fn what_sides_differ_in_is_read_as_it_is_written() {
        for against in [Against::Range, Against::Set, Against::Time(1_795_489_572_345_000)] {
            assert_eq!(Against::from_name(&against.name()), Some(against));
        }
        assert_eq!(["", "since-", "since-0", "since--5", "time"].map(Against::from_name), [None; 5]);
        let since = Against::Time(1_795_489_572_345_000);
        let names = ComparedSide::BOTH.map(|side| since.side_name(side).unwrap());
        assert_eq!(names, ["before 2026-11-24 03:06:12", "since 2026-11-24 03:06:12"]);
        assert_eq!(Against::Set.side_name(ComparedSide::A), None);
    }

    #[test]
    fn sets_are_named_after_their_files() {
        assert_eq!(set_name(&["data/shop before.json.gz"]).as_deref(), Some("shop before"));
        assert_eq!(set_name(&["a.json", "b.json", "c.json"]).as_deref(), Some("3 files"));
        assert_eq!(set_name(&["traces of A", "traces of A"]).as_deref(), Some("traces of A"));
        assert_eq!((set_name(&[]), set_name(&[".json"])), (None, Some(".json".to_owned())));
    }
}
