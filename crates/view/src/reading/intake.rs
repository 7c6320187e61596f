//! Traces that come when others are loaded already: added, replaced or compared.

use crate::address::comparing::ComparedSide;
use pathlight_base::format::counted;

/// Choice of a person about traces that come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Intake {
    /// Side B of a comparison with what is loaded.
    Compare,
    /// New traces join what is loaded.
    Add,
    /// They join one side of a comparison.
    AddTo(ComparedSide),
    /// New traces replace what is loaded.
    Replace,
}

impl Intake {
    /// Returns what can be done, in the order of the zones of a drop: with two loaded sets each side takes more; without
    /// a second one it can come now.
    pub fn choices(has_both_sets: bool) -> [Intake; 3] {
        if has_both_sets {
            [Intake::AddTo(ComparedSide::A), Intake::AddTo(ComparedSide::B), Intake::Replace]
        } else {
            [Intake::Compare, Intake::Add, Intake::Replace]
        }
    }

    /// Returns what is done with files that are dropped on the box of side B.
    pub fn on_side_b(has_both_sets: bool) -> Intake {
        if has_both_sets { Intake::AddTo(ComparedSide::B) } else { Intake::Compare }
    }

    /// Returns the name that tests and styles know it by.
    pub fn key(self) -> &'static str {
        match self {
            Intake::Compare => "compare",
            Intake::Add => "add",
            Intake::AddTo(ComparedSide::A) => "add-a",
            Intake::AddTo(ComparedSide::B) => "add-b",
            Intake::Replace => "replace",
        }
    }

    /// Returns the words of its zone, button or menu entry.
    pub fn title(self) -> &'static str {
        match self {
            Intake::Compare => "Compare as B",
            Intake::Add => "Add",
            Intake::AddTo(ComparedSide::A) => "Add to A",
            Intake::AddTo(ComparedSide::B) => "Add to B",
            Intake::Replace => "Replace",
        }
    }

    /// Returns a sentence that says what it does.
    pub fn hint(self) -> &'static str {
        match self {
            Intake::Compare => "What is loaded is side A.",
            Intake::Add => "Joined with what is loaded into one set.",
            Intake::AddTo(ComparedSide::A) => "Joined with side A into one set.",
            Intake::AddTo(ComparedSide::B) => "Joined with side B into one set.",
            Intake::Replace => "What is loaded now is removed.",
        }
    }

    /// Returns the sentence that says what was done with so many files.
    pub fn done(self, files: usize) -> String {
        let files = counted(files as u64, "file");
        match self {
            Intake::Compare => format!("Compared with {files} as side B."),
            Intake::Add => format!("Added {files}."),
            Intake::AddTo(side) => format!("Added {files} to side {}.", side.name()),
            Intake::Replace => format!("Replaced what was loaded by {files}."),
        }
    }
}

/// Words that tell a set from one to compare it with: before, after.
const PAIRS: [[&str; 2]; 12] = [
    ["before", "after"],
    ["normal", "fault"],
    ["normal", "abnormal"],
    ["baseline", "candidate"],
    ["base", "head"],
    ["old", "new"],
    ["good", "bad"],
    ["fast", "slow"],
    ["stable", "canary"],
    ["control", "treatment"],
    ["healthy", "faulty"],
    ["main", "branch"],
];

/// Returns which of two files that come together is probably what the other is to be compared with, by their names: words
/// such as *before* and *after*, or dates. `None` where the names say nothing, so that they are one set.
pub fn pair(names: [&str; 2]) -> Option<[usize; 2]> {
    let words = names.map(|name| {
        let name = name.rsplit('/').next().unwrap_or(name).to_lowercase();
        name.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<String>>()
    });
    let has = |file: usize, word: &str| words[file].iter().any(|own| own == word);
    for [a, b] in PAIRS {
        for [first, second] in [[0, 1], [1, 0]] {
            if has(first, a) && has(second, b) && !has(first, b) && !has(second, a) {
                return Some([first, second]);
            }
        }
    }
    // Dates as 2024-05-01 or 20240501, and otherwise the same name.
    let date = |name: &str| {
        let digits: String = name.chars().filter(char::is_ascii_digit).collect();
        let rest: String = name.chars().filter(|c| c.is_alphabetic()).collect();
        (digits.len() >= 8 && digits.starts_with("20")).then_some((digits, rest))
    };
    let ((first, a), (second, b)) = (date(names[0])?, date(names[1])?);
    (a == b && first != second).then_some(if first < second { [0, 1] } else { [1, 0] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_files_are_a_pair_by_words_or_dates_in_their_names() {
        assert_eq!(pair(["fault.json.gz", "normal.json.gz"]), Some([1, 0]));
        assert_eq!(pair(["x/shop-before.json", "x/shop-after.json"]), Some([0, 1]));
        assert_eq!(pair(["traces-2024-05-02.json", "traces-2024-05-01.json"]), Some([1, 0]));
        for names in
            [["a.json", "b.json"], ["traces-1.json", "traces-2.json"], ["normal.json", "normal-2.json"]]
        {
            assert_eq!(pair(names), None, "{names:?}");
        }
        // What holds both words tells nothing.
        assert_eq!(pair(["before-and-after.json", "after.json"]), None);
    }

    #[test]
    fn a_second_set_is_offered_once_and_then_each_side_takes_more() {
        let titles = |both| Intake::choices(both).map(Intake::title);
        assert_eq!(titles(false), ["Compare as B", "Add", "Replace"]);
        assert_eq!(titles(true), ["Add to A", "Add to B", "Replace"]);
        for both in [false, true] {
            assert!(Intake::choices(both).contains(&Intake::on_side_b(both)));
        }
    }

    #[test]
    fn what_was_done_is_said_with_the_number_of_files() {
        assert_eq!(Intake::Compare.done(1), "Compared with 1 file as side B.");
        assert_eq!(Intake::AddTo(ComparedSide::B).done(3), "Added 3 files to side B.");
        assert_eq!(Intake::Replace.done(2), "Replaced what was loaded by 2 files.");
    }
}
