//! The columns of a table that are shown, and their widths: by what there is room for, and by what a person chose.

use super::{Head, Width};
use std::collections::BTreeMap;
use std::fmt;

/// The least width of a name beside numbers, in CSS pixels; where there is room it has more.
pub(super) const LEAST_NAME_PX: f64 = 130.0;
/// The least width that a person can give a column, in CSS pixels.
const LEAST_PX: u32 = 40;

/// Choices of a person about one column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Choice {
    /// Shown or hidden, whatever room there is.
    is_shown: Option<bool>,
    /// Width in CSS pixels.
    width_px: Option<u32>,
}

/// Choices of a person about the columns of a table, by their keys; written as `endpoint=240 slack=+ drag=-`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnChoices(BTreeMap<String, Choice>);

impl Width {
    /// Returns the width of a column in CSS pixels; the least of it for the one that takes what is left.
    pub fn px(self) -> f64 {
        match self {
            Width::Wide => 200.0,
            Width::Bar => 104.0,
            Width::Spark => 100.0,
            Width::Number => 84.0,
            Width::Tiny => 64.0,
            Width::Moment => 208.0,
            Width::Ratio => 148.0,
            Width::Caller | Width::Words => 136.0,
            Width::Id => 156.0,
        }
    }
}

impl ColumnChoices {
    /// Reads what [`fmt::Display`] wrote; what makes no sense is left out.
    pub fn parse(text: &str) -> ColumnChoices {
        let mut choices = ColumnChoices::default();
        for (key, value) in text.split_whitespace().filter_map(|part| part.split_once('=')) {
            let is_shown = value.chars().next().and_then(|sign| match sign {
                '+' => Some(true),
                '-' => Some(false),
                _ => None,
            });
            let width_px = value.trim_start_matches(['+', '-']).parse().ok();
            choices.put(key, Choice { is_shown, width_px });
        }
        choices
    }

    fn put(&mut self, key: &str, choice: Choice) {
        if choice == Choice::default() {
            self.0.remove(key);
        } else {
            self.0.insert(key.to_owned(), choice);
        }
    }

    fn of(&self, key: &str) -> Choice {
        self.0.get(key).copied().unwrap_or_default()
    }

    /// Shows or hides a column, whatever room there is.
    pub fn show(&mut self, key: &str, is_shown: bool) {
        self.put(key, Choice { is_shown: Some(is_shown), ..self.of(key) });
    }

    /// Makes a column so wide, in CSS pixels.
    pub fn widen(&mut self, key: &str, width_px: f64) {
        let width_px = (width_px.clamp(0.0, 4000.0) as u32).max(LEAST_PX);
        self.put(key, Choice { width_px: Some(width_px), ..self.of(key) });
    }

    /// Gives a column back the width it has by itself.
    pub fn unwiden(&mut self, key: &str) {
        self.put(key, Choice { width_px: None, ..self.of(key) });
    }

    /// Returns the width that was chosen for a column, in CSS pixels.
    pub fn width_px(&self, key: &str) -> Option<f64> {
        self.of(key).width_px.map(f64::from)
    }

    /// Returns whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns which columns are shown in so many CSS pixels: those that were chosen, and of the others that hold something
    /// those there is room for, the most important first. Where there is hardly room for names the first number of more than a
    /// few digits stays, and the first two other columns.
    pub fn fit<'a>(&self, heads: impl IntoIterator<Item = (&'a Head, bool)>, room_px: f64) -> Vec<bool> {
        let (columns, mut shown): (Vec<(&Head, Choice)>, Vec<bool>) = heads
            .into_iter()
            .map(|(head, holds)| (head, self.of(head.key), holds))
            .map(|(head, choice, holds)| ((head, choice), choice.is_shown.unwrap_or(holds)))
            .unzip();
        let px = columns.iter().map(|(head, choice)| choice.width_px.map_or(head.width.px(), f64::from));
        let px: Vec<f64> = px.collect();
        let is_chosen = |at: usize| columns[at].1.is_shown.is_some();
        for priority in [3, 2] {
            let may_go = |at: usize| !is_chosen(at) && columns[at].0.priority == priority;
            hide(&mut shown, &px, room_px, may_go);
        }
        // On a phone names need the room more than most numbers do.
        let least = columns.iter().zip(&px).map(|((head, _), px)| match head.width {
            Width::Wide => px.min(LEAST_NAME_PX),
            _ => *px,
        });
        let least: Vec<f64> = least.collect();
        let first = |most: usize, is_it: fn(Width) -> bool| {
            (0..columns.len()).filter(|&at| shown[at] && is_it(columns[at].0.width)).take(most).collect()
        };
        let number: Vec<usize> = first(1, |width| width.is_number() && width != Width::Tiny);
        let others: Vec<usize> = first(2, |width| !width.is_number());
        hide(&mut shown, &least, room_px, |at| {
            !is_chosen(at) && !number.contains(&at) && !others.contains(&at)
        });
        shown
    }
}

/// Hides those columns that may go, the last first, until the others fit; `px` are the widths of all.
fn hide(shown: &mut [bool], px: &[f64], room_px: f64, may_go: impl Fn(usize) -> bool) {
    let mut whole: f64 = px.iter().zip(&*shown).filter(|(_, is)| **is).map(|(px, _)| px).sum();
    for at in (0..shown.len()).rev() {
        if whole > room_px && shown[at] && may_go(at) {
            shown[at] = false;
            whole -= px[at];
        }
    }
}

/// Returns the groups of columns that stand side by side, each with how many they are.
pub fn groups<'a>(shown: impl IntoIterator<Item = &'a Head>) -> Vec<(&'static str, usize)> {
    let mut runs: Vec<(&'static str, usize)> = Vec::new();
    for head in shown {
        match runs.last_mut() {
            Some((group, count)) if *group == head.group => *count += 1,
            _ => runs.push((head.group, 1)),
        }
    }
    runs
}

impl fmt::Display for ColumnChoices {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        for (at, (key, Choice { is_shown, width_px })) in self.0.iter().enumerate() {
            let before = if at > 0 { " " } else { "" };
            let sign = is_shown.map_or("", |is_shown| if is_shown { "+" } else { "-" });
            let width = width_px.map(|px| px.to_string()).unwrap_or_default();
            write!(out, "{before}{key}={sign}{width}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heads() -> Vec<Head> {
        let head = |key, width, priority| {
            let group = if key == "share" { "" } else { "a group" };
            Head { key, title: key, hint: "", width, priority, sorts: true, group, if_any: false }
        };
        vec![
            head("name", Width::Wide, 1),
            head("share", Width::Bar, 1),
            head("drag", Width::Number, 2),
            head("slack", Width::Number, 3),
            head("what", Width::Words, 3),
        ]
    }

    /// All of them hold something.
    fn full(heads: &[Head]) -> impl Iterator<Item = (&Head, bool)> {
        heads.iter().map(|head| (head, true))
    }

    #[test]
    fn a_column_that_holds_nothing_is_shown_only_if_chosen() {
        let heads = heads();
        let empty = || heads.iter().map(|head| (head, head.key != "drag"));
        let mut choices = ColumnChoices::default();
        assert_eq!(choices.fit(empty(), 800.0), [true, true, false, true, true]);
        choices.show("drag", true);
        assert_eq!(choices.fit(empty(), 800.0), [true; 5]);
    }

    #[test]
    fn the_least_important_columns_go_first() {
        let fit = |room: f64| ColumnChoices::default().fit(full(&heads()), room);
        assert_eq!(fit(608.0), [true; 5]);
        assert_eq!(fit(607.0), [true, true, true, true, false]);
        assert_eq!(fit(400.0), [true, true, true, false, false]);
        assert_eq!(fit(10.0), [true, true, false, false, false]);
    }

    #[test]
    fn columns_of_a_group_side_by_side_have_one_name() {
        assert_eq!(groups(&heads()), [("a group", 1), ("", 1), ("a group", 3)]);
        assert_eq!(groups(&[]), []);
    }

    #[test]
    fn what_was_chosen_goes_before_room() {
        let mut choices = ColumnChoices::default();
        choices.show("what", true);
        choices.show("share", false);
        assert_eq!(choices.fit(full(&heads()), 430.0), [true, false, true, false, true]);
        choices.widen("name", 260.7);
        assert_eq!(choices.fit(full(&heads()), 430.0), [true, false, false, false, true]);
        assert_eq!(choices.width_px("name"), Some(260.0));
        choices.widen("name", 1.0);
        assert_eq!(choices.width_px("name"), Some(40.0));
        choices.unwiden("name");
        assert_eq!(choices.width_px("name"), None);
    }

    #[test]
    fn choices_are_written_and_read() {
        let text = "drag=- name=240 slack=+90";
        assert_eq!(ColumnChoices::parse(text).to_string(), text);
        assert_eq!(ColumnChoices::parse("x y=? =").to_string(), "");
        assert!(ColumnChoices::parse("").is_empty());
    }
}
