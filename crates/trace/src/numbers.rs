//! A column of places in a table, such as that of endpoints: two bytes a row while the table is short.

use super::SetFull;
use std::ops::Range;

/// Numbers by row. Each takes two bytes until one of them does not fit; then each takes four.
pub(super) enum Numbers {
    Short(Vec<u16>),
    Long(Vec<u32>),
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers::Short(Vec::new())
    }
}

/// Does the same with either kind of list.
macro_rules! either {
    ($numbers:expr, $list:ident => $what:expr) => {
        match $numbers {
            Numbers::Short($list) => $what,
            Numbers::Long($list) => $what,
        }
    };
}

impl Numbers {
    pub fn len(&self) -> usize {
        either!(self, list => list.len())
    }

    /// Returns the number of a row, which must be there.
    pub fn at(&self, row: u32) -> u32 {
        match self {
            Numbers::Short(list) => u32::from(list[row as usize]),
            Numbers::Long(list) => list[row as usize],
        }
    }

    /// Returns the number of a row, if it is there.
    pub fn get(&self, row: u32) -> Option<u32> {
        ((row as usize) < self.len()).then(|| self.at(row))
    }

    /// Adds the number of the next row.
    pub fn push(&mut self, number: u32) {
        match self {
            Numbers::Long(list) => list.push(number),
            Numbers::Short(list) => match u16::try_from(number) {
                Ok(short) => list.push(short),
                Err(_) => self.widened(1).push(number),
            },
        }
    }

    /// Makes room for numbers that do not fit into two bytes, and for so many more.
    #[cold]
    fn widened(&mut self, more: usize) -> &mut Numbers {
        let capacity = either!(self, list => list.capacity()).max(self.len() + more);
        let mut long = Vec::with_capacity(capacity);
        long.extend((0..self.len() as u32).map(|row| self.at(row)));
        *self = Numbers::Long(long);
        self
    }

    /// Changes the number of a row, which must be there.
    pub fn set(&mut self, row: u32, number: u32) {
        match self {
            Numbers::Long(list) => list[row as usize] = number,
            Numbers::Short(list) => match u16::try_from(number) {
                Ok(short) => list[row as usize] = short,
                Err(_) => self.widened(0).set(row, number),
            },
        }
    }

    pub fn clear(&mut self) {
        *self = Numbers::default();
    }

    pub fn try_reserve_exact(&mut self, more: usize) -> Result<(), SetFull> {
        either!(self, list => list.try_reserve_exact(more)).map_err(|_| SetFull)
    }

    pub fn shrink_to(&mut self, len: usize) {
        either!(self, list => list.shrink_to(len));
    }

    /// Keeps these ranges of rows, which are ascending.
    pub fn keep(&mut self, ranges: &[Range<usize>]) {
        either!(self, list => keep(list, ranges));
    }

    pub fn heap_bytes(&self) -> usize {
        match self {
            Numbers::Short(list) => list.capacity() * 2,
            Numbers::Long(list) => list.capacity() * 4,
        }
    }
}

/// Keeps these ranges of a column, which are ascending.
pub(super) fn keep<T: Copy>(column: &mut Vec<T>, ranges: &[Range<usize>]) {
    let mut at = 0;
    for range in ranges {
        column.copy_within(range.clone(), at);
        at += range.len();
    }
    column.truncate(at);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(numbers: &Numbers) -> Vec<u32> {
        (0..numbers.len() as u32).map(|row| numbers.at(row)).collect()
    }

    #[test]
    fn a_number_that_is_changed_leaves_the_others_whether_it_fits_into_two_bytes_or_not() {
        let mut numbers = Numbers::default();
        [7, 8, 9].into_iter().for_each(|number| numbers.push(number));
        for (row, number) in [(1, 65_535), (2, 65_536), (0, 1)] {
            let mut expected = all(&numbers);
            expected[row as usize] = number;
            numbers.set(row, number);
            assert_eq!(all(&numbers), expected);
        }
    }

    #[test]
    fn numbers_are_the_same_after_one_that_does_not_fit_into_two_bytes() {
        let given = [7, 65_535, 0, 65_536, 3, u32::MAX];
        let mut numbers = Numbers::default();
        for (at, &number) in given.iter().enumerate() {
            numbers.push(number);
            assert_eq!(all(&numbers), given[..=at]);
            numbers.shrink_to(0);
            assert_eq!(numbers.heap_bytes(), (at + 1) * if at < 3 { 2 } else { 4 });
        }
        assert_eq!((numbers.get(5), numbers.get(6)), (Some(u32::MAX), None));
        numbers.keep(&[1..2, 3..5]);
        assert_eq!(all(&numbers), [65_535, 65_536, 3]);
        numbers.clear();
        assert_eq!((numbers.len(), numbers.get(0)), (0, None));
    }

    #[test]
    fn what_was_reserved_is_reserved_for_longer_numbers_too() {
        let mut numbers = Numbers::default();
        numbers.try_reserve_exact(100).unwrap();
        numbers.push(1 << 20);
        assert_eq!(numbers.heap_bytes(), 400);
    }
}
