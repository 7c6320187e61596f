//! The keyboard: one table, from which keys are understood and `?` lists them below the guide of the view.

use crate::ui::dom;
use crate::ui::dom::{El, Keep, button, div, el, span};
use crate::ui::page::Page;
use crate::ui::shell::about::bundled;
use crate::ui::shell::palette::Palette;
use pathlight_view::glossary::WORDS;
use wasm_bindgen::JsCast;
use web_sys::{HtmlDialogElement, KeyboardEvent};

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Choose files.
    Open,
    /// List everything that can be done or shown.
    Palette,
    /// Go to the search field.
    Search,
    /// Next match of the search.
    NextMatch,
    /// Match before.
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

/// How a key is known: by what it writes, or by where it is (the code of the key on a US keyboard).
#[derive(Clone, Copy)]
enum Known {
    Writes(&'static str),
    Place(&'static str),
}

struct Key {
    known: &'static [Known],
    /// Control or Command is held.
    control: bool,
    shift: Option<bool>,
    command: Command,
}

const fn key(known: &'static [Known], command: Command) -> Key {
    Key { known, control: false, shift: None, command }
}

use Known::{Place, Writes};

#[rustfmt::skip]
const KEYS: &[Key] = &[
    Key { known: &[Place("KeyO")], control: true, shift: Some(false), command: Command::Open },
    Key { known: &[Place("KeyK")], control: true, shift: Some(false), command: Command::Palette },
    Key { known: &[Writes("Enter")], control: false, shift: Some(true), command: Command::PreviousMatch },
    key(&[Writes("/")], Command::Search),
    key(&[Writes("?")], Command::Help),
    key(&[Writes("Escape")], Command::Leave),
    key(&[Writes("Enter")], Command::Enter),
    key(&[Writes("n")], Command::NextMatch),
    key(&[Writes("N")], Command::PreviousMatch),
    key(&[Place("Digit1")], Command::View(0)),
    key(&[Place("Digit2")], Command::View(1)),
    key(&[Place("Digit3")], Command::View(2)),
    key(&[Place("Digit4")], Command::View(3)),
    key(&[Place("Digit5")], Command::View(4)),
    key(&[Place("Digit6")], Command::View(5)),
    key(&[Place("Digit7")], Command::View(6)),
    key(&[Place("Digit8")], Command::View(7)),
    key(&[Place("Digit9")], Command::View(8)),
    key(&[Place("KeyW"), Writes("+"), Writes("=")], Command::ZoomIn),
    key(&[Place("KeyS"), Writes("-")], Command::ZoomOut),
    key(&[Place("KeyA")], Command::PanLeft),
    key(&[Place("KeyD")], Command::PanRight),
    key(&[Place("KeyF"), Place("Digit0")], Command::Fit),
    key(&[Place("KeyI")], Command::Invert),
    key(&[Writes("ArrowUp")], Command::Up),
    key(&[Writes("ArrowDown")], Command::Down),
    key(&[Writes("ArrowLeft")], Command::Left),
    key(&[Writes("ArrowRight")], Command::Right),
    key(&[Writes("PageUp")], Command::PageUp),
    key(&[Writes("PageDown")], Command::PageDown),
    key(&[Writes("Home")], Command::First),
    key(&[Writes("End")], Command::Last),
];

/// A line of the help: keys as printed, and what they do.
type Line = (&'static [&'static str], &'static str);

/// The help, in groups.
#[rustfmt::skip]
const HELP: &[(&str, &[Line])] = &[
    ("Anywhere", &[
        (&["Ctrl+K"], "Every command, view, service and endpoint by its name"),
        (&["Ctrl+O"], "Open files"),
        (&["Ctrl+V"], "Load traces from the clipboard"),
        (&["1", "9"], "Show a view, by its place in the list of views"),
        (&["/"], "Search"),
        (&["Enter", "Shift+Enter"], "Next match, match before (in the search field)"),
        (&["Ctrl+Enter"], "Make filters of what is searched for (in the search field)"),
        (&["N", "Shift+N"], "Next match, match before"),
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

/// The command of a key, if any.
pub fn command_of(event: &KeyboardEvent) -> Option<Command> {
    let control = event.ctrl_key() || event.meta_key();
    let (writes, place) = (event.key(), event.code());
    let fits = |key: &&Key| {
        key.control == control
            && key.shift.is_none_or(|shift| shift == event.shift_key())
            && key.known.iter().any(|known| match known {
                Writes(text) => *text == writes,
                // Letters with shift write other things than they do.
                Place(code) => *code == place && (key.shift.is_some() || !event.shift_key()),
            })
    };
    if event.alt_key() { None } else { KEYS.iter().find(fits).map(|key| key.command) }
}

/// Listens to the keyboard for all of the page.
pub fn listen(page: Page, keep: &Keep, open: impl Fn() + 'static, palette: Palette) {
    let how = dom::How { active: true, ..dom::How::default() };
    let run = move |event: web_sys::Event| {
        let Some(key) = event.dyn_ref::<KeyboardEvent>() else { return };
        let Some(command) = command_of(key) else { return };
        if event.default_prevented() {
            return;
        }
        let modal = has_dialog();
        let taken = match command {
            Command::Open => {
                open();
                true
            }
            _ if modal => false,
            Command::Palette => {
                palette.open();
                true
            }
            _ if dom::is_typing(&event) => false,
            // Buttons and links have their own Enter.
            Command::Enter if dom::closest(&event, "data-own-enter").is_some() => false,
            Command::Enter if is_control(&event) => false,
            Command::Help => {
                show_help(page);
                true
            }
            command => page.command(command),
        };
        if taken {
            event.prevent_default();
        }
    };
    keep.add(dom::listen(&dom::document(), "keydown", how, run));
}

fn has_dialog() -> bool {
    dom::document().query_selector("dialog[open]").ok().flatten().is_some()
}

/// Returns whether Escape was pressed and nothing in the page has a use for it. To be asked after `listen` has heard the
/// event. A key that is held down counts once: what it closed first was meant.
pub fn is_unused_escape(event: &web_sys::Event) -> bool {
    let is_escape = event
        .dyn_ref::<KeyboardEvent>()
        .is_some_and(|key| command_of(key) == Some(Command::Leave) && !key.repeat());
    is_escape && !event.default_prevented() && !has_dialog() && !dom::is_typing(event)
}

fn is_control(event: &web_sys::Event) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<web_sys::Element>().ok());
    target.is_some_and(|target| matches!(target.tag_name().as_str(), "BUTTON" | "A" | "SUMMARY"))
}

/// Explains the view in sight, the keys and the words.
pub fn show_help(page: Page) {
    let keep = Keep::default();
    let dialog = el("dialog").class("keys").test("keys").attr("aria-label", "Help");
    let close = button("Close").class("quiet").test("close-keys");
    let head = div("dialog-head").child(&el("h2").text("Help")).child(&close);
    let view = page.address().view;
    let about = div("about-view").test("about-view");
    if let Some(page) = bundled("guide", &format!("[data-guide='{}']", view.key())) {
        let _ = about.html().append_child(&page);
    }
    let groups = div("key-groups");
    for (title, lines) in HELP {
        let list = el("dl");
        for (keys, what) in *lines {
            let term = el("dt");
            for (at, key) in keys.iter().enumerate() {
                if at > 0 {
                    term.add(&span("or", ""));
                }
                // A plus alone is the key itself.
                for part in key.split('+').filter(|_| key.len() > 1) {
                    term.add(&el("kbd").text(part));
                }
                if key.len() <= 1 {
                    term.add(&el("kbd").text(key));
                }
            }
            list.add(&term);
            list.add(&el("dd").text(what));
        }
        groups.add(&el("section").child(&el("h3").text(title)).child(&list));
    }
    let words = el("dl");
    for (word, meaning) in WORDS {
        words.add(&el("dt").text(word));
        words.add(&el("dd").text(meaning));
    }
    let words = el("section").class("glossary").test("glossary").child(&el("h3").text("Words")).child(&words);
    let dialog = dialog.child(&head).child(&about).child(&groups).child(&words);
    open_dialog(&dialog, &close, keep);
}

/// Puts a dialog into the page until it is closed; `keep` holds its listeners.
pub fn open_dialog(dialog: &El, close: &El, keep: Keep) {
    let Some(element) = dialog.as_kind::<HtmlDialogElement>().cloned() else { return };
    let closing = element.clone();
    keep.add(dom::listen(close.html(), "click", dom::How::default(), move |_| closing.close()));
    let outside = element.clone();
    keep.add(dom::listen(dialog.html(), "click", dom::How::default(), move |event| {
        // The backdrop belongs to the dialog itself; everything else is in a child.
        if event.target().as_ref() == Some(outside.unchecked_ref()) {
            outside.close();
        }
    }));
    let (gone, held) = (dialog.clone(), keep.clone());
    keep.add(dom::listen(dialog.html(), "close", dom::How::default(), move |_| {
        gone.remove();
        held.clear();
    }));
    if let Some(body) = dom::document().body() {
        let _ = body.append_child(dialog.html());
        let _ = element.show_modal();
    }
}
