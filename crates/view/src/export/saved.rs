//! A saved report: the page in one file with the loaded columns inside, which opens from a disk with every view.
//!
//! Into the page (`dist/pathlight.html`, or a saved report without its data), before its first running script, go
//!
//! - `<script type="application/json" id="report">`: what the page shows, `{"fragment": "v=1&view=...", "headline": "...",
//!   "names": ["", ...]}`; the headline is the first finding, names are those of parts that have one, as summaries do,
//! - `<script type="application/octet-stream;base64" class="report-part">`, one or more: columns as
//!   [`ingest`](pathlight_ingest) reads them, or a summary of traces, gzip, base64.
//!
//! These are data blocks and no scripts, so the page's policy, with the hashes of its scripts, holds as it is. `www/boot.js`
//! takes them out and loads them as files would be.

use pathlight_base::encoding::{self, Damaged};
use pathlight_engine::EngineError;
use pathlight_ingest::formats::columns;
use pathlight_trace::{Portable, Pseudonyms, Redaction, TraceSet};

/// Spans of a record at least, unless it is the last: what is copied at once.
const RECORD_SPANS: usize = 8192;

/// Before and after the base64 of each part.
pub const PART: (&str, &str) =
    ("<script type=\"application/octet-stream;base64\" class=\"report-part\">", "</script>\n");

/// Before and after what the page shows.
const FACTS: (&str, &str) = ("<script type=\"application/json\" id=\"report\">", "</script>\n");

/// Place for the data: before the first script that runs.
const PLACE: &str = "<script id=\"asset-glue\">";

/// Parts left out of a report, and the pseudonyms of names.
pub type ExportRedaction = (Redaction, Pseudonyms);

/// Writes it for workers, as hexadecimal digits; empty if nothing is left out.
pub fn encode_redaction(redaction: &ExportRedaction) -> String {
    if redaction.0.is_nothing() {
        return String::new();
    }
    let digit = |four: u8| char::from(b"0123456789abcdef"[usize::from(four)]);
    let bytes = encoding::write(redaction);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Reads what [`encode_redaction`] wrote.
///
/// # Errors
/// [`EngineError::Message`] if it is something else.
pub fn decode_redaction(text: &str) -> Result<ExportRedaction, EngineError> {
    if text.is_empty() {
        return Ok(ExportRedaction::default());
    }
    let four = |digit: u8| char::from(digit).to_digit(16).map(|four| four as u8);
    let byte = |pair: &[u8]| Some(four(pair[0])? << 4 | four(*pair.get(1)?)?);
    let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
    Ok(encoding::read(&bytes.ok_or(Damaged)?)?)
}

/// Returns the next columns of a set as a part's bytes, beginning with trace number `from`, and where to go on.
///
/// Names in `redaction` stay here; the traces of every set are numbered from another `first` then.
///
/// # Errors
/// [`EngineError::Message`] if they cannot be written.
pub fn columns(
    set: &TraceSet,
    from: u32,
    (redaction, pseudonyms): &ExportRedaction,
    first: u64,
) -> Result<(Vec<u8>, Option<u32>), EngineError> {
    let traces = set.traces();
    let mut end = from as usize;
    let mut spans = 0;
    while end < traces.len() && spans < RECORD_SPANS {
        spans += traces[end].len();
        end += 1;
    }
    let mut portable = Portable::copy(set, from..end as u32);
    portable.redact(*redaction, pseudonyms, set, first);
    let mut out = Vec::new();
    if from == 0 {
        portable.count(set);
        out.extend_from_slice(columns::MAGIC);
    }
    columns::write(&portable, &mut out);
    Ok((out, (end < traces.len()).then_some(end as u32)))
}

/// Returns the page before and after the place of the data; `None` if it is not the page in one file, or one that has data
/// already.
pub fn split(page: &str) -> Option<(&str, &str)> {
    let (head, tail) = page.split_at(page.find(PLACE)?);
    [PART.0, FACTS.0].iter().all(|data| !head.contains(data)).then_some((head, tail))
}

/// Returns the element that says what the page shows, by its fragment, and above all: the first finding in words.
pub fn facts(fragment: &str, headline: &str, names: &[String]) -> String {
    // Not where the traces came from: they are here, and a page from a disk is not to ask for them again.
    let pairs = fragment.split('&').filter(|pair| !pair.starts_with("api=") && !pair.starts_with("src="));
    let fragment = pairs.collect::<Vec<_>>().join("&");
    // Within a script only `<` could mean something else.
    let facts = serde_json::json!({ "fragment": fragment, "headline": headline, "names": names });
    let json = facts.to_string().replace('<', "\\u003c");
    [FACTS.0, &json, FACTS.1].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_never_end_its_element() {
        let facts =
            facts("v=1&search=</script><script>alert(1)", "GET /<b> takes 5 ms", &["<!--".to_owned()]);
        assert_eq!(facts.matches('<').count(), 2, "{facts}");
        let json =
            facts.split_once("id=\"report\">").unwrap().1.trim_end().strip_suffix("</script>").unwrap();
        let json: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(json["fragment"], "v=1&search=</script><script>alert(1)");
        assert_eq!(json["headline"], "GET /<b> takes 5 ms");
    }

    #[test]
    fn a_report_does_not_say_where_to_fetch_from() {
        let facts = facts("v=1&view=flame&api=/jaeger&traceID=ab&src=a.json", "", &[]);
        assert!(facts.contains("\"v=1&view=flame&traceID=ab\""), "{facts}");
    }

    #[test]
    fn the_data_goes_before_the_first_script_that_runs() {
        let (head, tail) = ("<p></p>\n", "<script id=\"asset-glue\">x</script>");
        assert_eq!(split(&[head, tail].concat()), Some((head, tail)));
        assert_eq!(split("<html>"), None);
    }

    #[test]
    fn what_is_left_out_comes_to_a_worker_as_it_was_or_not_at_all() {
        let redaction: ExportRedaction = (Redaction { tags: true, names: true }, Pseudonyms::default());
        let text = encode_redaction(&redaction);
        assert_eq!(decode_redaction(&text).unwrap(), redaction);
        assert_eq!(
            decode_redaction(&encode_redaction(&ExportRedaction::default())).unwrap(),
            ExportRedaction::default()
        );
        for damaged in ["0", "zz", "01", &text[1..]] {
            assert!(decode_redaction(damaged).is_err(), "{damaged}");
        }
    }

    #[test]
    fn a_report_is_no_page_to_write_another_one_into() {
        let page = |data: &str| format!("<p></p>\n{data}<script id=\"asset-glue\">x</script>");
        assert_eq!(split(&page(&facts("v=1", "", &[]))), None);
        assert_eq!(split(&page(&format!("{}QUJD{}", PART.0, PART.1))), None);
        assert!(split(&page("")).is_some());
    }
}
