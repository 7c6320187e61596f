//! The keyboard: the table from which keys are understood, and that of the help.

use crate::views::View;

/// Meaning of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyCommand {
    /// Choose files.
    Open,
    /// List everything that can be done or shown.
    Palette,
    /// Go to the search field.
    Search,
    /// Next match of the search.
    NextMatch,
    /// Previous match.
    PreviousMatch,
    /// Explain the view, list the keys.
    Help,
    /// Close what is open, else unselect, else zoom out.
    Leave,
    /// Show the view of this place in the sidebar.
    View(usize),
    /// Zoom in.
    ZoomIn,
    /// Zoom out.
    ZoomOut,
    /// Move to the left.
    PanLeft,
    /// Move to the right.
    PanRight,
    /// Show all.
    Fit,
    /// Select what is above.
    Up,
    /// Select what is below.
    Down,
    /// Select what is to the left; fold.
    Left,
    /// Select what is to the right; unfold.
    Right,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// The first row.
    First,
    /// The last row.
    Last,
    /// Zoom to, or open, the selected.
    Enter,
    /// Inverted or not.
    Invert,
}

/// Way to recognise a key.
#[derive(Clone, Copy)]
enum Known {
    /// By the text it writes, as in `KeyboardEvent.key`.
    Writes(&'static str),
    /// By where it is, as in `KeyboardEvent.code`: its name on a US keyboard.
    Place(&'static str),
}

/// A key, or keys of equal meaning, and their command.
struct Key {
    known: &'static [Known],
    /// Whether Control (on a Mac, Command) is held.
    control: bool,
    /// Whether Shift is held; `None` if either way.
    shift: Option<bool>,
    command: KeyCommand,
}

const fn key(known: &'static [Known], command: KeyCommand) -> Key {
    Key { known, control: false, shift: None, command }
}

use Known::{Place, Writes};

#[rustfmt::skip]
const KEYS: &[Key] = &[
    Key { known: &[Place("KeyO")], control: true, shift: Some(false), command: KeyCommand::Open },
    Key { known: &[Place("KeyK")], control: true, shift: Some(false), command: KeyCommand::Palette },
    Key { known: &[Writes("Enter")], control: false, shift: Some(true), command: KeyCommand::PreviousMatch },
    key(&[Writes("/")], KeyCommand::Search),
    key(&[Writes("?")], KeyCommand::Help),
    key(&[Writes("Escape")], KeyCommand::Leave),
    key(&[Writes("Enter")], KeyCommand::Enter),
    key(&[Writes("n")], KeyCommand::NextMatch),
    key(&[Writes("N")], KeyCommand::PreviousMatch),
    key(&[Place("Digit1")], KeyCommand::View(0)),
    key(&[Place("Digit2")], KeyCommand::View(1)),
    key(&[Place("Digit3")], KeyCommand::View(2)),
    key(&[Place("Digit4")], KeyCommand::View(3)),
    key(&[Place("Digit5")], KeyCommand::View(4)),
    key(&[Place("Digit6")], KeyCommand::View(5)),
    key(&[Place("Digit7")], KeyCommand::View(6)),
    key(&[Place("Digit8")], KeyCommand::View(7)),
    key(&[Place("Digit9")], KeyCommand::View(8)),
    key(&[Place("KeyW"), Writes("+"), Writes("=")], KeyCommand::ZoomIn),
    key(&[Place("KeyS"), Writes("-")], KeyCommand::ZoomOut),
    key(&[Place("KeyA")], KeyCommand::PanLeft),
    key(&[Place("KeyD")], KeyCommand::PanRight),
    key(&[Place("KeyF"), Place("Digit0")], KeyCommand::Fit),
    key(&[Place("KeyI")], KeyCommand::Invert),
    key(&[Writes("ArrowUp")], KeyCommand::Up),
    key(&[Writes("ArrowDown")], KeyCommand::Down),
    key(&[Writes("ArrowLeft")], KeyCommand::Left),
    key(&[Writes("ArrowRight")], KeyCommand::Right),
    key(&[Writes("PageUp")], KeyCommand::PageUp),
    key(&[Writes("PageDown")], KeyCommand::PageDown),
    key(&[Writes("Home")], KeyCommand::First),
    key(&[Writes("End")], KeyCommand::Last),
];

/// Returns the hint of the view at a place of the sidebar, with the digit that shows it in brackets if it has a key.
pub fn view_hint(view: View, at: usize) -> String {
    let has_key = KEYS.iter().any(|key| key.command == KeyCommand::View(at));
    if has_key { format!("{} ({})", view.hint(), at + 1) } else { view.hint().to_owned() }
}

/// A line of the help: keys as printed, and what they do.
pub type HelpLine = (&'static [&'static str], &'static str);

/// The keys in the help, in titled groups.
#[rustfmt::skip]
pub const HELP: &[(&str, &[HelpLine])] = &[
    ("Anywhere", &[
        (&["Ctrl+K"], "Every command, view, service and endpoint by its name"),
        (&["Ctrl+O"], "Open files"),
        (&["Ctrl+V"], "Load traces from the clipboard"),
        (&["1", "9"], "Show a view, by its place in the list of views"),
        (&["/"], "Search"),
        (&["Enter", "Shift+Enter"], "Next match, previous match (in the search field)"),
        (&["Ctrl+Enter"], "Make filters of what is searched for (in the search field)"),
        (&["N", "Shift+N"], "Next match, previous match"),
        (&["Esc"], "Close, leave the search, unselect, zoom out"),
        (&["?"], "Explain the view, list the keys"),
    ]),
    ("Flame graph, flow and timeline", &[
        (&["W", "+"], "Zoom in"),
        (&["S", "\u{2212}"], "Zoom out"),
        (&["A", "D"], "Move left, right"),
        (&["F", "0"], "Show all"),
        (&["\u{2190}", "\u{2191}", "\u{2192}", "\u{2193}"], "Select the frame or span next to it; in the timeline \u{2190} folds and \u{2192} unfolds"),
        (&["Enter"], "Zoom to the selected frame or span; go to the selected call's own flow"),
        (&["I"], "Invert the flame graph"),
    ]),
    ("Heat map", &[
        (&["\u{2191}", "\u{2193}"], "Select the endpoint above, below"),
        (&["\u{2190}", "\u{2192}"], "Select the request to the left, to the right"),
        (&["Enter"], "Open the selected request"),
    ]),
    ("Histogram of latency", &[
        (&["\u{2190}", "\u{2192}"], "Choose a part of it"),
        (&["Shift+\u{2190}", "Shift+\u{2192}"], "Make the part narrower, wider"),
        (&["Enter"], "Cut to it as a percentile range"),
    ]),
    ("Pointer", &[
        (&["Wheel"], "Scroll"),
        (&["Ctrl+Wheel", "Pinch"], "Zoom"),
        (&["Drag"], "Move"),
        (&["Click"], "Select; click again to zoom to it"),
        (&["Double click"], "Show all"),
    ]),
    ("Tables", &[
        (&["\u{2191}", "\u{2193}", "Page Up", "Page Down", "Home", "End"], "Select a row"),
        (&["Enter"], "Open the row"),
        (&["Alt+\u{2190}", "Alt+\u{2192}"], "Make the column narrower, wider (on its head)"),
    ]),
];

/// State of a key that was pressed.
pub struct Press<'a> {
    /// The text it writes.
    pub writes: &'a str,
    /// Its name on a US keyboard.
    pub code: &'a str,
    /// Whether Control or Command is held.
    pub control: bool,
    /// Whether Shift is held.
    pub shift: bool,
    /// Whether Alt is held.
    pub alt: bool,
}

impl Press<'_> {
    /// Returns the command of the key, if it has one.
    pub fn command(&self) -> Option<KeyCommand> {
        let fits = |key: &&Key| {
            key.control == self.control
                && key.shift.is_none_or(|shift| shift == self.shift)
                && key.known.iter().any(|known| match known {
                    Writes(text) => *text == self.writes,
                    // Letters with shift write other things than they do.
                    Place(code) => *code == self.code && (key.shift.is_some() || !self.shift),
                })
        };
        if self.alt { None } else { KEYS.iter().find(fits).map(|key| key.command) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the name of a key as the help prints it.
    fn printed(key: &Key, known: Known) -> String {
        let (name, shift) = match known {
            Place(code) => (code.trim_start_matches("Key").trim_start_matches("Digit").to_owned(), key.shift),
            Writes("ArrowLeft") => ("\u{2190}".to_owned(), None),
            Writes("ArrowUp") => ("\u{2191}".to_owned(), None),
            Writes("ArrowRight") => ("\u{2192}".to_owned(), None),
            Writes("ArrowDown") => ("\u{2193}".to_owned(), None),
            Writes("PageUp") => ("Page Up".to_owned(), None),
            Writes("PageDown") => ("Page Down".to_owned(), None),
            Writes("Escape") => ("Esc".to_owned(), None),
            Writes("-") => ("\u{2212}".to_owned(), None),
            Writes(letter) if letter.len() == 1 => {
                (letter.to_uppercase(), letter.chars().all(char::is_uppercase).then_some(true))
            }
            Writes(name) => (name.to_owned(), key.shift),
        };
        let held = if key.control { "Ctrl+" } else { "" };
        let shift = if shift == Some(true) { "Shift+" } else { "" };
        format!("{held}{shift}{name}")
    }

    #[test]
    fn every_key_is_in_the_help() {
        let lines = || HELP.iter().flat_map(|(_, lines)| *lines);
        let helped: Vec<&str> = lines().flat_map(|(keys, _)| keys.iter().copied()).collect();
        for key in KEYS {
            // The help names the first and the last of the views only.
            if matches!(key.command, KeyCommand::View(1..8)) {
                continue;
            }
            for &known in key.known {
                // On many keyboards, the key of plus without shift.
                if !matches!(known, Writes("=")) {
                    let name = printed(key, known);
                    assert!(helped.contains(&&*name), "{:?}: {name} is not in the help", key.command);
                }
            }
        }
        assert!(KEYS.len() > 30, "{} keys", KEYS.len());
    }

    #[test]
    fn a_hint_names_the_key_of_its_view_where_there_is_one() {
        for (at, view) in View::ALL.into_iter().enumerate() {
            let (hint, code) = (view_hint(view, at), format!("Digit{}", at + 1));
            let press = Press { writes: "", code: &code, control: false, shift: false, alt: false };
            let has_key = press.command() == Some(KeyCommand::View(at));
            assert_eq!(has_key, at < 9, "{code}");
            assert_eq!(hint.ends_with(&format!("({})", at + 1)), has_key, "{hint}");
        }
    }

    #[test]
    fn keys_are_known_by_what_they_write_or_by_their_place() {
        let press = |writes, code| Press { writes, code, control: false, shift: false, alt: false };
        assert_eq!(press("z", "KeyW").command(), Some(KeyCommand::ZoomIn), "a French keyboard");
        assert_eq!(Press { shift: true, ..press("W", "KeyW") }.command(), None);
        assert_eq!(
            Press { shift: true, ..press("/", "Digit7") }.command(),
            Some(KeyCommand::Search),
            "a German one"
        );
        assert_eq!(Press { shift: true, ..press("N", "KeyN") }.command(), Some(KeyCommand::PreviousMatch));
        assert_eq!(
            Press { shift: true, ..press("Enter", "Enter") }.command(),
            Some(KeyCommand::PreviousMatch)
        );
        assert_eq!(press("Enter", "Enter").command(), Some(KeyCommand::Enter));
        assert_eq!(Press { control: true, ..press("o", "KeyO") }.command(), Some(KeyCommand::Open));
        assert_eq!(Press { alt: true, ..press("?", "Slash") }.command(), None);
        assert_eq!(press("8", "Digit8").command(), Some(KeyCommand::View(7)));
    }
}
