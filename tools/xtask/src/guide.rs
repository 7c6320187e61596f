//! The guide inside the page: `docs/guide/VIEW.md` as HTML, a section for each view, in the template of `index.html`.

use std::collections::BTreeMap;
use std::fs;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use crate::{Outcome, sh};

/// The template that the sections go into.
const TEMPLATE: &str = "<template id=\"guide\"></template>";

/// Fills the template of the page.
pub fn fill(index: &str) -> Outcome<String> {
    let mut sections = BTreeMap::new();
    let folder = sh::root().join("docs/guide");
    for entry in sh::on(&folder, fs::read_dir(&folder))? {
        let path = sh::on(&folder, entry)?.path();
        let view = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if view != "README" {
            sections.insert(view, section(&sh::on(&path, fs::read_to_string(&path))?));
        }
    }
    let sections =
        sections.iter().map(|(view, html)| format!("<section data-guide=\"{view}\">{html}</section>"));
    let filled = TEMPLATE.replacen("><", &format!(">{}<", sections.collect::<String>()), 1);
    // The service worker takes every file that the page names for one of its own, and keeps nothing where that is not there.
    if let Some((_, link)) = filled.split_once("href=\"").filter(|(_, link)| !link.starts_with("http")) {
        let file = link.split('"').next().unwrap_or_default();
        return Err(format!("the guide links to {file}, which the page does not have"));
    }
    if !index.contains(TEMPLATE) {
        return Err(format!("index.html has no {TEMPLATE}"));
    }
    Ok(index.replacen(TEMPLATE, &filled, 1))
}

/// Returns a page of the guide as a part of a dialog, whose own heading is of the second level. Markup stays text. Pictures,
/// which stand in lines of their own, are left out: the page itself is there to see.
fn section(markdown: &str) -> String {
    let below = |level| match level {
        HeadingLevel::H1 => HeadingLevel::H3,
        _ => HeadingLevel::H4,
    };
    let text: Vec<&str> = markdown.lines().filter(|line| !line.starts_with("![")).collect();
    let text = text.join("\n");
    let events = Parser::new(&text).map(|event| match event {
        Event::Start(Tag::Heading { level, id, classes, attrs }) => {
            Event::Start(Tag::Heading { level: below(level), id, classes, attrs })
        }
        Event::End(TagEnd::Heading(level)) => Event::End(TagEnd::Heading(below(level))),
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        event => event,
    });
    let mut html = String::new();
    pulldown_cmark::html::push_html(&mut html, events);
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guide_links_to_no_file() {
        let filled = fill(TEMPLATE).unwrap();
        assert!(filled.contains("<section data-guide=\"flow\">"), "{filled}");
    }

    #[test]
    fn pictures_are_left_out() {
        let html = section("# Flow\n\n![The flow](../screens/flow.png)\n\nWhat waits!\n");
        assert_eq!(html, "<h3>Flow</h3>\n<p>What waits!</p>\n");
    }

    #[test]
    fn headings_go_below_that_of_the_dialog_and_markup_stays_text() {
        let html = section("# Flow\n\nWhat *waits*.\n\n## How <b>to</b> read it\n- a `call`\n");
        assert_eq!(
            html,
            "<h3>Flow</h3>\n<p>What <em>waits</em>.</p>\n<h4>How &lt;b&gt;to&lt;/b&gt; read it</h4>\n\
             <ul>\n<li>a <code>call</code></li>\n</ul>\n"
        );
    }
}
