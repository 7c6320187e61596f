//! An answer, looked through as it arrives: is it JSON, and which traces are in it?

use super::{Dialect, Lost, Trouble};
use crate::source::jaeger_id;
use memchr::memchr2;
use pathlight_base::format::parse_utc;
use serde_json::Value;
use std::collections::BTreeSet;

/// Bytes of a body kept for the words of an error.
const HEAD: usize = 16 * 1024;
/// Longest string that may be a key or an id.
const LONGEST: usize = 128;

/// The result of one request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// The whole answer.
    Answer(ServerAnswer),
    /// No answer came, and why.
    Lost(Lost),
}

/// An answer whose body was read to its end.
#[derive(Clone, Debug)]
pub struct ServerAnswer {
    /// HTTP status.
    pub status: u16,
    /// The `Retry-After` header in seconds; see [`retry_after_s`].
    pub retry_after_s: Option<u64>,
    /// Traces or names found in its body.
    pub body: Scan,
}

/// Returns how many seconds a `Retry-After` wants to be waited for. It names them, or the moment, as
/// `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, 5.6.7); a moment that has passed by our clock says nothing.
pub fn retry_after_s(header: &str, now_us: u64) -> Option<u64> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(seconds);
    }
    let (_, date) = header.strip_suffix(" GMT")?.split_once(", ")?;
    let mut parts = date.split(' ');
    let [day, month, year, clock] = std::array::from_fn(|_| parts.next().unwrap_or_default());
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = 1 + months.iter().position(|name| *name == month)?;
    let until_us = parse_utc(&format!("{year}-{month:02}-{day} {clock}"))?;
    Some(until_us.saturating_sub(now_us).div_ceil(1_000_000)).filter(|&seconds| seconds > 0)
}

/// Looks through a body chunk by chunk, in constant memory but for the ids found.
///
/// Ids are those of the traces themselves, distinguished from ids of links and references by their depth:
/// `data[].traceID` (or `data.traceID`) of Jaeger's first dialect, `traces[].traceID` of Tempo's search, and
/// `result.resourceSpans[].scopeSpans[].spans[].traceId` of Jaeger's third, with or without `result` (or `trace`, or
/// `batches` in place of `resourceSpans`, in Tempo).
#[derive(Clone, Debug, Default)]
pub struct Scan {
    ids: BTreeSet<String>,
    /// They are written as OTLP does.
    is_otlp: bool,
    /// The id found last: spans of one trace often follow each other.
    last: Vec<u8>,
    head: Vec<u8>,
    bytes: u64,
    first: Option<u8>,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// The string being read, or read last; empty if it is too long to matter.
    text: Vec<u8>,
    is_long: bool,
    /// A value of a key of interest comes next.
    awaits_id: bool,
}

impl Scan {
    /// Takes the next chunk; the work is proportional to it.
    pub fn feed(&mut self, chunk: &[u8]) {
        self.bytes += chunk.len() as u64;
        let room = HEAD.saturating_sub(self.head.len()).min(chunk.len());
        self.head.extend_from_slice(&chunk[..room]);
        if self.first.is_none() {
            let begins = |byte: &&u8| !byte.is_ascii_whitespace() && !matches!(**byte, 0xEF | 0xBB | 0xBF);
            self.first = chunk.iter().find(begins).copied();
        }
        let mut rest = chunk;
        while !rest.is_empty() {
            rest = if self.in_string { self.inside(rest) } else { self.between(rest) };
        }
    }

    /// Reads on in a string; gives what comes after it.
    fn inside<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        if self.escaped {
            self.escaped = false;
            self.keep(&bytes[..1]);
            return &bytes[1..];
        }
        let Some(at) = memchr2(b'"', b'\\', bytes) else {
            self.keep(bytes);
            return &[];
        };
        self.keep(&bytes[..at]);
        if bytes[at] == b'\\' {
            self.escaped = true;
        } else {
            self.in_string = false;
            if self.awaits_id && !self.is_long {
                self.found();
            }
            self.awaits_id = false;
        }
        &bytes[at + 1..]
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.text.len() + bytes.len() > LONGEST {
            self.is_long = true;
        } else if !self.is_long {
            self.text.extend_from_slice(bytes);
        }
    }

    /// Reads on between strings; returns what follows the next opening quote, or nothing.
    fn between<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        for (at, byte) in bytes.iter().enumerate() {
            match byte {
                b'"' => {
                    self.in_string = true;
                    self.text.clear();
                    self.is_long = false;
                    return &bytes[at + 1..];
                }
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b':' => {
                    self.awaits_id = match self.text.as_slice() {
                        b"traceID" => matches!(self.depth, 2 | 3),
                        b"traceId" => matches!(self.depth, 7 | 8),
                        _ => false,
                    };
                    self.is_otlp |= self.awaits_id && self.text == b"traceId";
                    continue;
                }
                _ => continue,
            }
            self.awaits_id = false;
        }
        &[]
    }

    fn found(&mut self) {
        if self.last == self.text || self.text.is_empty() {
            return;
        }
        self.last.clone_from(&self.text);
        self.ids.insert(jaeger_id(&String::from_utf8_lossy(&self.text)));
    }

    /// Returns the ids of the traces in it, as [`jaeger_id`] writes them.
    pub fn ids(&self) -> &BTreeSet<String> {
        &self.ids
    }

    /// Returns the bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the body as JSON, if it is that and small enough to have been kept.
    fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.head).ok()
    }

    /// Returns whether it is JSON to its end: one document or several.
    fn is_whole_json(&self) -> bool {
        matches!(self.first, Some(b'{' | b'[')) && self.depth == 0 && !self.in_string
    }

    /// Returns what a page for people says: that of Jaeger UI, which old versions answer what they do not know with,
    /// or a login.
    fn page(&self) -> Option<Trouble> {
        let is_own = memchr::memmem::find(&self.head, b"jaeger-ui-root").is_some();
        (self.first == Some(b'<')).then_some(if is_own { Trouble::Html } else { Trouble::Lost(Lost::Login) })
    }

    /// Returns the words of an error that is about a tenant: those of Jaeger (`missing tenant header`, `unknown tenant`), or of
    /// Tempo (`no org id`).
    fn tenant_words(&self) -> Option<String> {
        let words = String::from_utf8_lossy(&self.head);
        let words = self.complaint().map_or_else(|| words.trim().to_owned(), |(_, words)| words);
        let lower = words.to_ascii_lowercase();
        let is_short = words.len() <= LONGEST && self.first != Some(b'<');
        (is_short && (lower.contains("tenant") || lower.contains("org id"))).then_some(words)
    }

    /// Returns what an error says of itself, whatever its content type, and whether in the form of the first dialect:
    /// `{"errors":[{"msg"}]}`, that of the third being `{"error":{"message"}}`.
    fn complaint(&self) -> Option<(bool, String)> {
        let json = self.json()?;
        let first = json["errors"][0]["msg"].as_str().map(|words| (true, words));
        let (is_first, words) =
            first.or_else(|| json["error"]["message"].as_str().map(|words| (false, words)))?;
        Some((is_first, words.to_owned()))
    }

    /// Returns what stands where the first dialect has a list of traces, in a body without a trace id; `None` for no
    /// traces.
    fn misshapen(&self, dialect: Dialect) -> Option<String> {
        if dialect != Dialect::V1 {
            return None;
        }
        let Some(json) = self.json() else {
            // Too large to be a list of nothing.
            return (self.bytes > HEAD as u64).then(|| "something without any `traceID`".to_owned());
        };
        match &json["data"] {
            Value::Null => None,
            Value::Array(list) if list.is_empty() => None,
            Value::Array(_) => Some("a list of something without `traceID`".to_owned()),
            Value::Object(object) => {
                let keys: Vec<&str> = object.keys().take(6).map(String::as_str).collect();
                Some(match keys.as_slice() {
                    [] => "an empty object".to_owned(),
                    keys => format!("an object with the keys {}", keys.join(", ")),
                })
            }
            Value::String(_) => Some("a text".to_owned()),
            Value::Number(_) | Value::Bool(_) => Some("a bare value".to_owned()),
        }
    }

    /// Returns whether a JSON body has what `dialect` answers with.
    fn fits(&self, dialect: Dialect) -> bool {
        let has = |key: &[u8]| memchr::memmem::find(&self.head, key).is_some();
        // Tempo has a trace at the address of the first dialect, which never writes OTLP.
        !(self.ids.is_empty() || self.is_otlp && dialect == Dialect::V1)
            || match dialect {
                Dialect::V1 => has(b"\"data\""),
                Dialect::V3 | Dialect::V3Camel => {
                    has(b"\"result\"") || has(b"\"resourceSpans\"") || has(b"\"services\"") || has(b"\"operations\"")
                        // What a list or result without members becomes.
                        || self.head.trim_ascii() == b"{}"
                }
                Dialect::Tempo => {
                    [&b"\"traces\""[..], b"\"metrics\"", b"\"tagValues\"", b"\"trace\"", b"\"batches\""]
                        .into_iter()
                        .any(has)
                }
            }
    }
}

/// Kind of a request to Jaeger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Requested {
    /// Names of services or operations.
    Names,
    /// Traces of a time range.
    Search,
    /// A trace by its id.
    Trace,
}

/// Verdict on a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The answer that was asked for.
    Good,
    /// There is none.
    Nothing,
    /// Nobody here speaks this dialect; the trouble if no other does either.
    OtherDialect(Trouble),
    /// Ask again; after so many seconds if the server says so.
    Later(Option<u64>),
    /// Ask again; the trouble if that does not help.
    Again(Trouble),
    /// Asking again does not help.
    Over(Trouble),
}

/// Returns what the reply to a question means.
pub(super) fn judge(dialect: Dialect, requested: Requested, reply: &Reply) -> Verdict {
    let answer = match reply {
        Reply::Answer(answer) => answer,
        Reply::Lost(lost @ (Lost::Down | Lost::Broken)) => return Verdict::Again(Trouble::Lost(*lost)),
        Reply::Lost(lost) => return Verdict::Over(Trouble::Lost(*lost)),
    };
    let (status, body) = (answer.status, &answer.body);
    let is_first = dialect == Dialect::V1;
    let (in_its_form, complaint) = match body.complaint() {
        Some((form, words)) => (form == is_first, Some(words)),
        None => (false, None),
    };
    let refusal = match &complaint {
        Some(message) => Trouble::Says { status, message: message.clone() },
        None => {
            let page = body.page().filter(|page| *page == Trouble::Html || status < 300);
            page.unwrap_or(Trouble::NoApi { status })
        }
    };
    // Tempo has no form for it.
    let is_no_trace =
        dialect == Dialect::Tempo && memchr::memmem::find(&body.head, b"trace not found").is_some();
    match status {
        200..=299 if body.is_whole_json() && body.fits(dialect) => match complaint {
            Some(message) if body.ids.is_empty() && requested != Requested::Names => {
                Verdict::Over(Trouble::Says { status, message })
            }
            _ if body.ids.is_empty() && requested != Requested::Names => match body.misshapen(dialect) {
                Some(what) => Verdict::Over(Trouble::Shape(what)),
                None => Verdict::Nothing,
            },
            _ => Verdict::Good,
        },
        200..=299 if matches!(body.first, Some(b'{' | b'[')) && !body.is_whole_json() => {
            Verdict::Again(Trouble::Lost(Lost::Broken))
        }
        401 => Verdict::Over(match body.tenant_words() {
            Some(words) => Trouble::Tenant(words),
            None => Trouble::Unauthorized,
        }),
        403 => Verdict::Over(Trouble::Forbidden(complaint.unwrap_or_default())),
        // The third dialect has no other way to say that a search finds nothing.
        404 if is_no_trace && requested == Requested::Trace => Verdict::Nothing,
        404 if in_its_form
            && (requested == Requested::Trace || requested == Requested::Search && !is_first) =>
        {
            Verdict::Nothing
        }
        200..=299 | 400 | 404 | 405 | 406 | 410 | 501 => Verdict::OtherDialect(refusal),
        429 | 503 => Verdict::Later(answer.retry_after_s),
        500.. => Verdict::Again(Trouble::Says { status, message: complaint.unwrap_or_default() }),
        _ => Verdict::Over(Trouble::Says { status, message: complaint.unwrap_or_default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str, chunk: usize) -> Scan {
        let mut scan = Scan::default();
        text.as_bytes().chunks(chunk).for_each(|chunk| scan.feed(chunk));
        scan
    }

    fn ids(text: &str) -> Vec<String> {
        let whole = scan(text, usize::MAX);
        for chunk in [1, 3, 17] {
            assert_eq!(scan(text, chunk).ids, whole.ids, "in chunks of {chunk}");
        }
        whole.ids.iter().map(|id| id.trim_start_matches('0').to_owned()).collect()
    }

    fn reply(status: u16, text: &str) -> Reply {
        Reply::Answer(ServerAnswer { status, retry_after_s: None, body: scan(text, usize::MAX) })
    }

    const V1: &str = r#"{"data":[{"traceID":"a1","spans":[{"traceID":"a1","operationName":"say \"traceID\":\"no\"",
        "references":[{"traceID":"ff"}],"tags":[{"key":"traceID","value":"ee"}]}]},{"traceID":"a2","spans":[]}],"errors":null}"#;
    const V3: &str = r#"{"result":{"resourceSpans":[{"resource":{},"scopeSpans":[{"spans":[
        {"traceId":"000000000000000000000000000000b1","links":[{"traceId":"ff"}]},{"traceId":"b2"}]}]}]}}"#;

    #[test]
    fn to_come_again_later_is_said_in_seconds_or_by_a_date() {
        // A moment of RFC 9110, and one second and a half before it.
        let (moment, before_us) = ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_775_500_000);
        assert_eq!(retry_after_s(moment, before_us), Some(2));
        assert_eq!(retry_after_s(moment, before_us + 500_000), Some(1));
        assert_eq!(retry_after_s(" Thu, 29 Feb 2024 00:00:00 GMT ", 1_709_164_799_000_000), Some(1));
        assert_eq!((retry_after_s("120", before_us), retry_after_s(" 0 ", before_us)), (Some(120), Some(0)));
        // What has passed, and what is no date.
        assert_eq!(retry_after_s(moment, before_us + 1_500_000), None);
        for bad in [
            "",
            "-1",
            "soon",
            "1.5",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 31 Feb 2994 08:49:37 GMT",
            "Sun, 06 Foo 2994 08:49:37 GMT",
            "Sun, 06 Nov 2994 28:49:37 GMT",
            "Sun, 06 Nov GMT",
            "Sun Nov  6 08:49:37 2994",
            "99999999999999999999999",
        ] {
            assert_eq!(retry_after_s(bad, before_us), None, "{bad}");
        }
    }

    #[test]
    fn the_ids_of_traces_are_found_and_no_others() {
        assert_eq!(ids(V1), ["a1", "a2"]);
        assert_eq!(ids(V3), ["b1", "b2"]);
        // As a stream of documents, and without the wrapper.
        let bare =
            V3.strip_prefix("{\"result\":").and_then(|text| text.strip_suffix('}')).unwrap_or_default();
        assert_eq!(ids(bare), ["b1", "b2"]);
        assert_eq!(ids(&format!("{V3}\n{}", V3.replace("b2", "b3"))), ["b1", "b2", "b3"]);
        let long = format!(r#"{{"data":[{{"traceID":"{}"}}]}}"#, "a".repeat(1000));
        assert!(ids(&long).is_empty());
    }

    #[test]
    fn answers_mean_what_jaegers_versions_mean_by_them() {
        use Requested::{Names, Search, Trace};
        let says = |status, message: &str| Trouble::Says { status, message: message.to_owned() };
        let v1_error = |code: u16| format!(r#"{{"data":null,"errors":[{{"code":{code},"msg":"why"}}]}}"#);
        let v3_error = |code: u16| format!("{{\"error\":{{\"httpCode\":{code},\"message\":\"why\"}}}}\n");
        let html = "<!doctype html><title>Jaeger UI</title><div id=\"jaeger-ui-root\"></div>";
        let login = "<!doctype html><title>Log in to Jaeger</title>";
        let tempo = r#"{"traces":[{"traceID":"ab","rootServiceName":"shop","spanSets":[{"spans":[{"spanID":"c"}]}]}],"metrics":{}}"#;
        for (dialect, requested, status, text, verdict) in [
            (Dialect::V1, Search, 200, V1.to_owned(), Verdict::Good),
            (Dialect::V3, Search, 200, V3.to_owned(), Verdict::Good),
            (Dialect::V1, Names, 200, r#"{"data":null,"total":0}"#.to_owned(), Verdict::Good),
            (Dialect::V3, Names, 200, r#"{"services":["a"]}"#.to_owned(), Verdict::Good),
            (Dialect::V1, Search, 200, r#"{"data":[],"errors":null}"#.to_owned(), Verdict::Nothing),
            (Dialect::V3, Search, 404, v3_error(404), Verdict::Nothing),
            (Dialect::V1, Trace, 404, v1_error(404), Verdict::Nothing),
            // Old versions answer what they do not know with their page.
            (Dialect::V3, Search, 200, html.to_owned(), Verdict::OtherDialect(Trouble::Html)),
            (Dialect::V1, Search, 404, html.to_owned(), Verdict::OtherDialect(Trouble::Html)),
            (Dialect::V1, Search, 200, login.to_owned(), Verdict::OtherDialect(Trouble::Lost(Lost::Login))),
            (Dialect::Tempo, Search, 200, tempo.to_owned(), Verdict::Good),
            (Dialect::Tempo, Search, 200, r#"{"traces":[],"metrics":{}}"#.to_owned(), Verdict::Nothing),
            (
                Dialect::Tempo,
                Names,
                200,
                r#"{"tagValues":[{"type":"string","value":"a"}]}"#.to_owned(),
                Verdict::Good,
            ),
            (Dialect::Tempo, Trace, 200, V3.replace("result", "trace"), Verdict::Good),
            (Dialect::Tempo, Trace, 404, "trace not found".to_owned(), Verdict::Nothing),
            (
                Dialect::V1,
                Trace,
                200,
                V3.replace("result", "trace"),
                Verdict::OtherDialect(Trouble::NoApi { status: 200 }),
            ),
            (
                Dialect::V1,
                Search,
                404,
                "404 page not found".to_owned(),
                Verdict::OtherDialect(Trouble::NoApi { status: 404 }),
            ),
            (Dialect::V1, Search, 404, v1_error(404), Verdict::OtherDialect(says(404, "why"))),
            (Dialect::V3, Search, 404, v1_error(404), Verdict::OtherDialect(says(404, "why"))),
            (Dialect::V3, Search, 400, v3_error(400), Verdict::OtherDialect(says(400, "why"))),
            (
                Dialect::V3,
                Search,
                200,
                V1.replace("traceID", "x"),
                Verdict::OtherDialect(Trouble::NoApi { status: 200 }),
            ),
            (Dialect::V1, Search, 200, V1[..40].to_owned(), Verdict::Again(Trouble::Lost(Lost::Broken))),
            (
                Dialect::V1,
                Search,
                200,
                V1.replacen("[{", "{", 1).replacen("},{\"traceID\":\"a2\",\"spans\":[]}]", "}", 1),
                Verdict::Good,
            ),
            (
                Dialect::V1,
                Search,
                200,
                r#"{"data":{"a":1,"traces":[]}}"#.to_owned(),
                Verdict::Over(Trouble::Shape("an object with the keys a, traces".to_owned())),
            ),
            (
                Dialect::V1,
                Search,
                200,
                r#"{"data":[{"spans":[]}]}"#.to_owned(),
                Verdict::Over(Trouble::Shape("a list of something without `traceID`".to_owned())),
            ),
            (Dialect::V1, Search, 401, "no".to_owned(), Verdict::Over(Trouble::Unauthorized)),
            (Dialect::V1, Search, 403, v1_error(403), Verdict::Over(Trouble::Forbidden("why".to_owned()))),
            (Dialect::V1, Search, 500, v1_error(500), Verdict::Again(says(500, "why"))),
            (Dialect::V1, Search, 502, html.to_owned(), Verdict::Again(says(502, ""))),
            (Dialect::V1, Search, 503, String::new(), Verdict::Later(None)),
            (Dialect::V1, Search, 418, String::new(), Verdict::Over(says(418, ""))),
        ] {
            assert_eq!(
                judge(dialect, requested, &reply(status, &text)),
                verdict,
                "{dialect:?} {status} {text}"
            );
        }
        let lost = |lost| judge(Dialect::V1, Search, &Reply::Lost(lost));
        assert_eq!(lost(Lost::Cors), Verdict::Over(Trouble::Lost(Lost::Cors)));
        assert_eq!(lost(Lost::Down), Verdict::Again(Trouble::Lost(Lost::Down)));
    }
}
