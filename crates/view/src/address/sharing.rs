//! The contents of a link, and what was open before a reload, in words.

use pathlight_base::format::{counted, printable};

/// Requirements of a link to the page to show the same elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing is loaded: the link opens the page.
    Nothing,
    /// The demo traces, which the page writes itself.
    Demo,
    /// The address that the traces were fetched from.
    Source,
    /// Files that somebody opened: no address names them.
    Files,
}

/// Returns what to say beside a link.
pub fn link_words(needs: Needs) -> &'static str {
    match needs {
        Needs::Nothing => "The link opens the page with these choices; no traces are loaded.",
        Needs::Demo => "The link opens the demo traces with this view.",
        Needs::Source => {
            "The link fetches the same traces again and opens this view, wherever their address can be reached; without names \
             it opens the view alone."
        }
        Needs::Files => {
            "The link holds the view, not the traces: they were opened from files here and went nowhere. Who follows it \
             has to open the same files. A saved report is one file that holds both."
        }
    }
}

/// Files named when it is said what was open.
const NAMED: usize = 3;

/// Files whose names are remembered over a reload, at most.
pub const NAMES_KEPT: usize = 100;

/// Returns what the start page says of the files (their names, in order, [`NAMES_KEPT`] at most) that were open before a
/// reload; `None` of none. `can_reopen` says whether the browser gives them back when a person asks.
pub fn reopen_words(files: &[impl AsRef<str>], can_reopen: bool) -> Option<String> {
    let names: Vec<String> = files.iter().take(NAMED).map(|name| printable(name.as_ref())).collect();
    let more = files.len().saturating_sub(NAMED) as u64;
    let list = match names.as_slice() {
        [] => return None,
        [one] => one.clone(),
        several if more > 0 => {
            let least = if files.len() < NAMES_KEPT { "" } else { "at least " };
            format!("{} and {least}{}", several.join(", "), counted(more, "more file"))
        }
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    let them = if files.len() == 1 { "it" } else { "them" };
    let were = if files.len() == 1 { "was" } else { "were" };
    let how = match can_reopen {
        true => format!("Open {them} again, and this view comes back."),
        false => format!(
            "A page may not read files by itself: drop {them} here, or open {them}, and this view comes back."
        ),
    };
    Some(format!("{list} {were} open before the page was loaded again. {how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_open_is_named_and_counted() {
        assert_eq!(reopen_words(&[""; 0], false), None);
        let one = reopen_words(&["shop.json"], false).unwrap_or_default();
        assert!(one.starts_with("shop.json was open before") && one.contains("drop it here"), "{one}");
        let two = reopen_words(&["a", "b"], true).unwrap_or_default();
        assert!(two.starts_with("a and b were open") && !two.contains("drop"), "{two}");
        let many = reopen_words(&["a", "b", "c", "d", "e"], false).unwrap_or_default();
        assert!(many.starts_with("a, b, c and 2 more files were open"), "{many}");
        let all = reopen_words(&["a"; NAMES_KEPT], false).unwrap_or_default();
        assert!(all.starts_with("a, a, a and at least 97 more files were open"), "{all}");
    }

    #[test]
    fn only_a_link_without_its_traces_speaks_of_a_report() {
        for needs in [Needs::Nothing, Needs::Demo, Needs::Source] {
            assert!(!link_words(needs).contains("report"));
        }
        assert!(link_words(Needs::Files).contains("report"));
    }
}
