//! The lines of the diagnosis as a tree that opens, closes and is walked with arrow keys.

use super::words::DiagnosisLine;
use crate::search::finder::Finder;
use pathlight_base::format;
use pathlight_trace::Endpoint;

/// Position of a line: its place among its siblings, and those of the lines above it.
type LinePath = Vec<u32>;

/// The tree; a place in it is the index of a line.
#[derive(Clone, Debug, Default)]
pub struct ReportTree {
    lines: Vec<DiagnosisLine>,
    parent: Vec<Option<usize>>,
    /// One past the last line below each.
    end: Vec<usize>,
    open: Vec<bool>,
    places: Vec<LinePath>,
}

/// A row of what is in sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiagnosisRow {
    /// A line.
    Line(usize),
    /// There are more of a level below the same parent than are listed.
    More {
        /// The level.
        level: u32,
        /// Number of lines that are not listed.
        more: u64,
    },
}

/// Effect of an arrow key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKey {
    /// The row above.
    Up,
    /// The row below.
    Down,
    /// Closes, or goes to the parent.
    Left,
    /// Opens, or goes to the first child.
    Right,
    /// The first row.
    First,
    /// The last row.
    Last,
}

impl ReportTree {
    /// Returns the tree of lines, parents before what stands below them. What was open `before` is; of a new tree the
    /// first line of each level down to the groups.
    pub fn new(lines: Vec<DiagnosisLine>, before: &ReportTree) -> ReportTree {
        let n = lines.len();
        let mut tree = ReportTree { end: (1..=n).collect(), ..ReportTree::default() };
        let mut above: Vec<usize> = Vec::new();
        let mut place: LinePath = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let depth = (line.level.max(1) as usize - 1).min(above.len());
            above.truncate(depth);
            place.truncate(depth + 1);
            match place.get_mut(depth) {
                Some(last) => *last += 1,
                None => place.push(0),
            }
            tree.parent.push(above.last().copied());
            tree.places.push(place.clone());
            above.push(at);
        }
        for at in (0..n).rev() {
            if let Some(parent) = tree.parent[at] {
                tree.end[parent] = tree.end[parent].max(tree.end[at]);
            }
        }
        let mut was_open: Vec<&LinePath> =
            (0..before.lines.len()).filter(|&at| before.open[at]).map(|at| &before.places[at]).collect();
        was_open.sort();
        let is_new = before.lines.is_empty();
        let open = tree.places.iter().map(|place| {
            let is_first = place.len() < 4 && place.iter().all(|&at| at == 0);
            if is_new { is_first } else { was_open.binary_search(&place).is_ok() }
        });
        tree.open = open.collect();
        tree.lines = lines;
        tree
    }

    /// Returns the lines.
    pub fn lines(&self) -> &[DiagnosisLine] {
        &self.lines
    }

    /// Returns whether a search finds a line.
    pub fn is_found(&self, at: usize, finder: &Finder) -> bool {
        self.lines.get(at).is_some_and(|line| {
            let Endpoint { service, operation } = &line.endpoint;
            finder.fits_place(&format::endpoint(service, operation), &[&line.words])
        })
    }

    /// Returns the lines that a search finds, in order.
    pub fn found(&self, finder: &Finder) -> Vec<usize> {
        (0..self.lines.len()).filter(|at| self.is_found(*at, finder)).collect()
    }

    /// Returns the first line that a search finds after a line, or the last one before it; round at the ends.
    pub fn next_found(&self, finder: &Finder, at: usize, forward: bool) -> Option<usize> {
        let found = self.found(finder);
        if forward {
            found.iter().find(|hit| **hit > at).or(found.first()).copied()
        } else {
            found.iter().rev().find(|hit| **hit < at).or(found.last()).copied()
        }
    }

    /// Returns the line that lies where line `at` of another tree does: with more lines listed, it is the same one.
    pub fn same_place(&self, other: &ReportTree, at: usize) -> Option<usize> {
        let place = other.places.get(at)?;
        self.places.iter().position(|known| known == place)
    }

    /// Returns whether there are lines below one.
    pub fn has_children(&self, at: usize) -> bool {
        self.end.get(at).is_some_and(|&end| end > at + 1)
    }

    /// Returns whether the lines below one are in sight.
    pub fn is_open(&self, at: usize) -> bool {
        self.open.get(at) == Some(&true) && self.has_children(at)
    }

    /// Opens or closes a line.
    pub fn toggle(&mut self, at: usize) {
        if self.has_children(at) {
            self.open[at] ^= true;
        }
    }

    /// Opens what hides a line.
    pub fn reveal(&mut self, at: usize) {
        let mut above = self.parent.get(at).copied().flatten();
        while let Some(line) = above {
            self.open[line] = true;
            above = self.parent[line];
        }
    }

    /// Returns what is in sight, from top to bottom.
    pub fn rows(&self) -> Vec<DiagnosisRow> {
        let mut rows = Vec::new();
        // Where what "more" stands for ends, the innermost last.
        let mut pending: Vec<(usize, DiagnosisRow)> = Vec::new();
        let mut at = 0;
        while at < self.lines.len() {
            while let Some((_, row)) = pending.pop_if(|(end, _)| *end <= at) {
                rows.push(row);
            }
            rows.push(DiagnosisRow::Line(at));
            let DiagnosisLine { level, more, .. } = self.lines[at];
            if more > 0 {
                pending.push((self.end[at], DiagnosisRow::More { level, more }));
            }
            at = if self.is_open(at) { at + 1 } else { self.end[at] };
        }
        rows.extend(pending.into_iter().rev().map(|(_, row)| row));
        rows
    }

    /// Follows an arrow key from a line in sight; the line to go to.
    pub fn walk(&mut self, at: usize, step: TreeKey) -> usize {
        match step {
            TreeKey::Left if self.is_open(at) => {
                self.toggle(at);
                return at;
            }
            TreeKey::Left => return self.parent.get(at).copied().flatten().unwrap_or(at),
            TreeKey::Right if self.is_open(at) => return at + 1,
            TreeKey::Right => {
                self.toggle(at);
                return at;
            }
            _ => {}
        }
        let rows = self.rows();
        let mut lines = rows.iter().filter_map(|row| match row {
            DiagnosisRow::Line(line) => Some(*line),
            DiagnosisRow::More { .. } => None,
        });
        let to = match step {
            TreeKey::Up => lines.take_while(|line| *line < at).last(),
            TreeKey::Down => lines.find(|line| *line > at),
            TreeKey::First => lines.next(),
            _ => lines.next_back(),
        };
        to.unwrap_or(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(levels: &[(u32, u64)]) -> Vec<DiagnosisLine> {
        let line = |&(level, more)| DiagnosisLine {
            level,
            words: String::new(),
            endpoint: Default::default(),
            value: 0.0,
            aggregate: None,
            is_problem: false,
            more,
        };
        levels.iter().map(line).collect()
    }

    /// Returns the tree 0 { 1 { 2 }, 3 (2 more) }, 4 { 5 } (7 more).
    fn tree() -> ReportTree {
        let levels = [(1, 0), (2, 0), (3, 0), (2, 2), (1, 7), (2, 0)];
        ReportTree::new(lines(&levels), &ReportTree::default())
    }

    #[test]
    fn the_first_of_each_level_is_open_and_more_stands_below_what_it_belongs_to() {
        let mut tree = tree();
        let (two, seven) =
            (DiagnosisRow::More { level: 2, more: 2 }, DiagnosisRow::More { level: 1, more: 7 });
        let line = DiagnosisRow::Line;
        assert_eq!(tree.rows(), [line(0), line(1), line(2), line(3), two, line(4), seven]);
        tree.toggle(4);
        assert_eq!(tree.rows(), [line(0), line(1), line(2), line(3), two, line(4), line(5), seven]);
        tree.toggle(0);
        assert_eq!(tree.rows(), [line(0), line(4), line(5), seven]);
        tree.reveal(2);
        assert_eq!(tree.rows()[..3], [line(0), line(1), line(2)]);
    }

    #[test]
    fn arrows_open_close_and_walk_as_in_a_tree() {
        let mut tree = tree();
        assert_eq!(
            (tree.walk(0, TreeKey::Down), tree.walk(3, TreeKey::Down), tree.walk(4, TreeKey::Down)),
            (1, 4, 4)
        );
        assert_eq!((tree.walk(0, TreeKey::Up), tree.walk(4, TreeKey::Up)), (0, 3));
        assert_eq!((tree.walk(2, TreeKey::First), tree.walk(2, TreeKey::Last)), (0, 4));
        assert_eq!((tree.walk(4, TreeKey::Right), tree.is_open(4)), (4, true));
        assert_eq!(tree.walk(4, TreeKey::Right), 5);
        assert_eq!(tree.walk(5, TreeKey::Right), 5, "a leaf neither opens nor closes");
        assert_eq!(
            (tree.walk(5, TreeKey::Left), tree.walk(4, TreeKey::Left), tree.is_open(4)),
            (4, 4, false)
        );
        assert_eq!(tree.walk(4, TreeKey::Left), 4, "there is nothing above it");
    }

    #[test]
    fn what_was_open_stays_open_when_more_is_listed() {
        let mut before = tree();
        before.toggle(0);
        before.toggle(4);
        let levels = [(1, 0), (2, 0), (3, 0), (2, 0), (2, 0), (1, 0), (2, 0), (1, 0)];
        let tree = ReportTree::new(lines(&levels), &before);
        assert!(!tree.is_open(0) && tree.is_open(5));
        assert_eq!((tree.same_place(&before, 4), tree.same_place(&before, 9)), (Some(5), None));
    }
}
