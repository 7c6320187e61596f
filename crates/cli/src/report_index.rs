//! The page that lists reports: plain HTML, without a script.

use pathlight_base::format::{count, counted, duration, printable};
use pathlight_base::statistics::Percentiles;
use pathlight_view::draw::svg::escape;
use std::fmt::Write as _;

/// A report as a line of the index.
#[derive(Debug, Default, PartialEq)]
pub struct Entry {
    /// Name of what it is about.
    pub name: String,
    /// Name of its file, beside the index.
    pub place: String,
    /// Requests in it.
    pub requests: u64,
    /// Their latency in microseconds.
    pub latency_us: Percentiles,
    /// Its first finding in words; empty where there is none, as of summaries.
    pub headline: String,
}

const STYLE: &str = "body{font:14px/1.5 system-ui,sans-serif;margin:24px;max-width:120ch;color-scheme:light dark}\
                     table{border-collapse:collapse;width:100%}\
                     th,td{padding:6px 16px 6px 0;border-bottom:1px solid #8886;text-align:left;vertical-align:top}\
                     td.n,th.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\
                     h1{font-size:21px}";

/// Returns the name of the file of a report, which none of the others has.
pub fn place(name: &str, others: &[Entry]) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
    let plain: String = name.chars().map(|letter| if is_plain(&letter) { letter } else { '-' }).collect();
    // The index itself has a name too, and a leading dot would hide a file.
    let plain = format!("report-{plain}");
    let is_taken = |place: &String| others.iter().any(|other| other.place.eq_ignore_ascii_case(place));
    let mut place = format!("{plain}.html");
    let mut number = 2;
    while is_taken(&place) {
        place = format!("{plain}-{number}.html");
        number += 1;
    }
    place
}

/// Returns the index: the report of all on top, if there is one, then a line for each.
pub fn page(all: Option<&Entry>, entries: &[Entry]) -> String {
    let mut out = String::from("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n");
    out += "<meta name=\"viewport\" content=\"width=device-width\">\n<title>Pathlight reports</title>\n";
    // Writing to a String cannot fail.
    let _ = write!(out, "<style>{STYLE}</style>\n<h1>Pathlight reports</h1>\n");
    if let Some(all) = all {
        let requests = counted(all.requests, "request");
        let _ = writeln!(out, "<p><a href=\"{}\">Trend over all of them</a> ({requests})</p>", all.place);
    }
    let heads = ["Requests", "p50", "p95", "p99"].map(|head| format!("<th class=\"n\">{head}</th>")).concat();
    let _ = writeln!(out, "<table>\n<tr><th>Report</th>{heads}<th>First finding</th></tr>");
    for entry in entries {
        let _ = write!(out, "<tr><td><a href=\"{}\">", entry.place);
        escape(&mut out, &printable(&entry.name));
        let _ = write!(out, "</a></td><td class=\"n\">{}</td>", count(entry.requests));
        let Percentiles { p50, p95, p99, .. } = entry.latency_us;
        for us in [p50, p95, p99] {
            let _ = write!(out, "<td class=\"n\">{}</td>", duration(us));
        }
        out += "<td>";
        escape(&mut out, &printable(&entry.headline));
        out += "</td></tr>\n";
    }
    out += "</table>\n</html>\n";
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_files_of_their_own_and_text_that_stays_text() {
        let mut entries: Vec<Entry> = Vec::new();
        for name in ["a b", "a-b", "../index", "<script>"] {
            let place = place(name, &entries);
            entries.push(Entry { name: name.to_owned(), place, requests: 1200, ..Entry::default() });
        }
        let places: Vec<&str> = entries.iter().map(|entry| entry.place.as_str()).collect();
        assert_eq!(
            places,
            ["report-a-b.html", "report-a-b-2.html", "report-..-index.html", "report--script-.html"]
        );
        let page = page(entries.first(), &entries);
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
        assert!(page.contains("href=\"report-a-b.html\">Trend") && page.contains("1\u{202f}200"), "{page}");
    }
}
