//! Values by number, of which few are touched at a time.

/// The place of a number that has not been touched.
const UNTOUCHED: u32 = u32::MAX;

/// Values by number, as a `Vec` has them; those that were touched can be taken out without a look at the others.
///
/// What is summed for each of 40,000 root endpoints would otherwise go over all endpoints each time.
#[derive(Clone, Debug, Default)]
pub struct Touched<T> {
    /// By number: where its value is.
    place_of: Vec<u32>,
    /// Numbers and their values, in the order in which they were touched first.
    values: Vec<(u32, T)>,
}

impl<T: Default> Touched<T> {
    /// Returns the value of a number, the default if it was not touched before.
    pub fn at(&mut self, number: u32) -> &mut T {
        let index = number as usize;
        if self.place_of.len() <= index {
            self.place_of.resize(index + 1, UNTOUCHED);
        }
        if self.place_of[index] == UNTOUCHED {
            self.place_of[index] = self.values.len() as u32;
            self.values.push((number, T::default()));
        }
        &mut self.values[self.place_of[index] as usize].1
    }

    /// Takes out what was touched, by number; nothing is touched then.
    pub fn take(&mut self) -> Vec<(u32, T)> {
        let mut values = std::mem::take(&mut self.values);
        values.iter().for_each(|(number, _)| self.place_of[*number as usize] = UNTOUCHED);
        values.sort_unstable_by_key(|(number, _)| *number);
        values
    }
}

#[cfg(test)]
mod tests {
    use super::Touched;

    #[test]
    fn what_was_touched_is_taken_by_number_and_begins_anew() {
        let mut of = Touched::default();
        for number in [7, 2, 7, 900] {
            *of.at(number) += 1;
        }
        assert_eq!(of.take(), [(2, 1), (7, 2), (900, 1)]);
        *of.at(2) += 5;
        assert_eq!((of.take(), of.take()), (vec![(2, 5)], vec![]));
    }
}
