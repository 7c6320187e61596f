//! The style sheet says the same colours as the canvases.

use pathlight::view::draw::Theme;
use pathlight::view::draw::color::{LEADING, SERVICE_STEPS, leading_fill, service_fill};
use std::path::Path;

fn sheet() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("www/style.css")).unwrap()
}

/// Returns the colours of services as the sheet must have them.
fn service_rules() -> String {
    let mut rules = String::new();
    for (dark, root) in [(false, ":root"), (true, ":root[data-theme=\"dark\"]")] {
        rules.push_str(&format!("{root} {{\n"));
        for step in 0..SERVICE_STEPS {
            rules.push_str(&format!("  --s{step}: {};\n", service_fill(step, dark).css()));
        }
        for place in 0..LEADING as u8 {
            rules.push_str(&format!("  --lead{place}: {};\n", leading_fill(place, dark).css()));
        }
        rules.push_str("}\n");
    }
    rules
}

#[test]
fn services_have_the_colours_of_the_canvases() {
    let rules = service_rules();
    assert!(sheet().ends_with(&rules), "the sheet must end with:\n{rules}");
}

#[test]
fn both_themes_have_the_built_in_tokens() {
    let sheet = sheet();
    for (selector, theme) in
        [("\n:root {", Theme::light()), ("\n:root[data-theme=\"dark\"] {", Theme::dark())]
    {
        let start = sheet.find(selector).unwrap();
        let block = &sheet[start..start + sheet[start..].find('}').unwrap()];
        for (name, value) in Theme::TOKENS.iter().zip(theme.tokens()) {
            let line = format!("{name}: {};", value.css());
            assert!(block.contains(&line), "{selector} lacks {line}");
        }
    }
}

#[test]
fn text_is_readable_on_what_it_stands_on_in_both_themes() {
    for theme in [Theme::light(), Theme::dark()] {
        for below in [theme.background, theme.surface] {
            for ink in [theme.text, theme.muted, theme.accent, theme.error] {
                assert!(ink.contrast(below) >= 4.5, "{} on {}", ink.css(), below.css());
            }
        }
    }
}
