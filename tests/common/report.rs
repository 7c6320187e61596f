//! Saved reports, taken apart.

use pathlight::text::dense;
use pathlight::view::saved;

/// Returns what stands around the columns of a saved report, and each part of them as gzip.
pub fn parts(report: &[u8]) -> (String, Vec<Vec<u8>>) {
    let units: Vec<u16> = report.chunks(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]])).collect();
    let report = String::from_utf16(&units).unwrap();
    let mut pieces = report.split(saved::PART.0);
    let mut around = pieces.next().unwrap().to_owned();
    let mut parts = Vec::new();
    for piece in pieces {
        let (part, after) = piece.split_once(saved::PART.1).unwrap();
        parts.push(dense::loose(&dense::utf16(part)).unwrap());
        around += after;
    }
    (around, parts)
}

/// Returns a page to write a report into.
pub fn page() -> Vec<u8> {
    [&dense::BOM[..], &dense::utf16("<p></p>\n<script id=\"unpack\">x</script>\n")].concat()
}
