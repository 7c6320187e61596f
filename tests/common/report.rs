//! Saved reports, taken apart.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use pathlight::view::export::saved;

/// Returns what stands around the columns of a saved report, and each part of them as gzip.
pub fn parts(report: &str) -> (String, Vec<Vec<u8>>) {
    let mut pieces = report.split(saved::PART.0);
    let mut around = pieces.next().unwrap().to_owned();
    let mut parts = Vec::new();
    for piece in pieces {
        let (part, after) = piece.split_once(saved::PART.1).unwrap();
        parts.push(BASE64_STANDARD.decode(part.trim()).unwrap());
        around += after;
    }
    (around, parts)
}

/// A page to write a report into.
pub const PAGE: &str = "<p></p>\n<script id=\"asset-glue\">x</script>\n";
