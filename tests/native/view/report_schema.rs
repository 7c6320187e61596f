//! `docs/report-schema.md` says what the reports are.

use pathlight::view::json::schema;

/// With `PATHLIGHT_BLESS=1` writes the document again.
#[test]
fn the_document_of_reports_is_up_to_date() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/report-schema.md");
    let document = schema::document();
    if std::env::var_os("PATHLIGHT_BLESS").is_some() {
        std::fs::write(file, &document).unwrap();
    }
    let same = std::fs::read_to_string(file).unwrap() == document;
    assert!(same, "docs/report-schema.md is not what the code says; PATHLIGHT_BLESS=1 writes it again");
}
