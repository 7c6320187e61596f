//! Explanation of a failed fetch, and what can be done about it.

use crate::dom::{El, div, el, span};
use pathlight_backend::FetchTrouble;

/// Creates an explanation with its ways out.
pub fn explanation(trouble: &FetchTrouble) -> El {
    div("fetch-text")
        .child(&span("message-text", &trouble.message).test("fetch-message"))
        .child(&cures(&trouble.cures))
}

/// Returns a list of sentences; text between backticks is set apart.
pub fn cures(lines: &[String]) -> El {
    let list = el("ul").class("cures").test("fetch-cures");
    for line in lines {
        let item = el("li");
        for (at, piece) in line.split('`').enumerate() {
            item.add(&if at % 2 == 1 { el("code").text(piece) } else { span("", piece) });
        }
        list.add(&item);
    }
    list
}
