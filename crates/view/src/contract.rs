//! The messages between the page and a page around it through `window.postMessage`: the contract of
//! `docs/embedding.md`, with its types in `www/pathlight.d.ts`. Here is what can be said without a browser.

use super::address::comparing::ComparedSide;
use super::address::{Address, ThemeChoice};
use super::views::View;
use serde::{Deserialize, Serialize};

/// Version of the contract, in every message as `pathlight`.
pub const VERSION: u32 = 1;

/// Messages of one origin that wait at most while the user is asked; older ones are dropped.
pub const MOST_WAITING: usize = 16;

/// Characters of a text in a message at most, its data aside.
pub const LONGEST_TEXT: u32 = 1_000_000;

/// Characters of a title that are kept: as many as a file name may have.
const LONGEST_TITLE: usize = 255;

/// A message as it comes: `{pathlight: 1, type: "...", ...}`. Bytes or text of traces (`data`) stay with the browser.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Envelope {
    /// Version; without it the message is somebody else's.
    pub pathlight: u32,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    replace: Option<bool>,
    #[serde(default)]
    query: Option<String>,
    #[serde(default)]
    theme: Option<String>,
    #[serde(default)]
    view: Option<String>,
    #[serde(default)]
    side: Option<String>,
}

/// Messages from the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// Are you there?
    Ping,
    /// Load the attached bytes or text.
    Traces {
        /// Name of the input.
        title: String,
        /// Forget what is loaded first.
        replace: bool,
        /// Load it as this one of two sets that are compared.
        side: Option<ComparedSide>,
    },
    /// Forget what is loaded.
    Clear,
    /// Ask the user how to save what is loaded as a report.
    Report,
    /// Show what this fragment says.
    Query(String),
    /// Take these colours.
    Theme(ThemeChoice),
    /// Show this view.
    View(View),
}

/// Messages from the page to its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Outgoing {
    /// The page listens.
    Ready,
    /// Answer to a ping.
    Pong,
    /// A load has ended; the numbers are those of everything loaded.
    Loaded {
        /// Traces.
        traces: u64,
        /// Spans.
        spans: u64,
        /// Sentences about what was wrong with the input.
        warnings: Vec<String>,
    },
    /// The user selected a request or span.
    Select {
        /// Canonical trace id.
        #[serde(rename = "traceID")]
        trace_id: String,
        /// Canonical span id; `None` for the trace as a whole.
        #[serde(rename = "spanID")]
        span_id: Option<String>,
    },
    /// Escape was pressed in the page, and nothing there was left to be closed, unselected or zoomed out of.
    Escape,
    /// Something the host asked for cannot be.
    Error {
        /// Kind of error, for programs.
        code: Code,
        /// A sentence, for people.
        message: String,
    },
}

/// A message as it is sent: `{pathlight: 1, type: "...", ...}`. Counts are JavaScript numbers, exact up to 2^53.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Message<'a> {
    pathlight: u32,
    #[serde(flatten)]
    message: &'a Outgoing,
}

/// Kinds of [`Outgoing::Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The message has another version of the contract.
    Version,
    /// The message is not understood.
    BadMessage,
    /// The user does not want messages from this origin.
    Refused,
    /// The data sent holds no trace.
    NoTraces,
}

impl Envelope {
    /// The fields of a message, by name.
    pub const KEYS: [&str; 8] = ["pathlight", "type", "title", "replace", "query", "theme", "view", "side"];

    /// Returns what it asks for.
    ///
    /// # Errors
    /// The answer to one that is not understood.
    pub fn read(self) -> Result<Incoming, Outgoing> {
        let bad = |message: String| Outgoing::Error { code: Code::BadMessage, message };
        if self.pathlight != VERSION {
            let message =
                format!("This page speaks version {VERSION} of the contract, not {}.", self.pathlight);
            return Err(Outgoing::Error { code: Code::Version, message });
        }
        let lacks = |field: &str| bad(format!("A {} message needs the field {field}.", self.kind));
        match self.kind.as_str() {
            "ping" => Ok(Incoming::Ping),
            "traces" => Ok(Incoming::Traces {
                title: self.title.map_or_else(
                    || "traces of the host page".to_owned(),
                    |title| title.chars().take(LONGEST_TITLE).collect(),
                ),
                replace: self.replace.unwrap_or(false),
                side: match self.side.as_deref() {
                    None => None,
                    Some("a") => Some(ComparedSide::A),
                    Some("b") => Some(ComparedSide::B),
                    Some(other) => return Err(bad(format!("There is no side {other}."))),
                },
            }),
            "clear" => Ok(Incoming::Clear),
            "report" => Ok(Incoming::Report),
            "query" => self.query.clone().map(Incoming::Query).ok_or_else(|| lacks("query")),
            "theme" => {
                let key = self.theme.as_deref().ok_or_else(|| lacks("theme"))?;
                let theme = [ThemeChoice::System, ThemeChoice::Light, ThemeChoice::Dark]
                    .into_iter()
                    .find(|t| t.key() == key);
                theme.map(Incoming::Theme).ok_or_else(|| bad(format!("There is no theme {key}.")))
            }
            "view" => {
                let key = self.view.as_deref().ok_or_else(|| lacks("view"))?;
                View::from_key(key).map(Incoming::View).ok_or_else(|| bad(format!("There is no view {key}.")))
            }
            other => Err(bad(format!("There is no message of type {other}."))),
        }
    }
}

/// Returns the answer to a message with a field of another kind, or too long a text.
pub fn misshapen() -> Outgoing {
    let message = format!(
        "A field of the message is of another kind than the contract says, or longer than {LONGEST_TEXT} characters."
    );
    Outgoing::Error { code: Code::BadMessage, message }
}

impl Outgoing {
    /// Returns the message with the version of the contract, as it is sent.
    pub fn message(&self) -> Message<'_> {
        Message { pathlight: VERSION, message: self }
    }
}

/// Returns whether messages of this origin are followed without asking: that of the page itself, those the user has
/// admitted before, and, if the page has no origin of its own (`"null"`: a file, a sandboxed frame), those of
/// `allow=`. A page that has one may read a Jaeger there, and whoever makes a link could name himself in it. A host
/// without an origin is never trusted.
pub fn is_trusted(origin: &str, own: &str, address: &Address, admitted: &[String]) -> bool {
    let same = |known: &str| known.trim_end_matches('/').eq_ignore_ascii_case(origin);
    let is_named = own == "null" && address.allow.iter().any(|known| same(known));
    origin != "null" && (same(own) || is_named || admitted.iter().any(|known| same(known)))
}

/// Shows what a fragment says, but for what the host has set when it made the frame.
pub fn follow(query: &str, address: &mut Address) {
    let mut next = Address::parse(query);
    next.embed = address.embed;
    next.allow = std::mem::take(&mut address.allow);
    if next.theme == ThemeChoice::System {
        next.theme = address.theme;
    }
    *address = next;
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(message: serde_json::Value) -> Result<Incoming, Outgoing> {
        serde_json::from_value::<Envelope>(message).unwrap().read()
    }

    fn code(message: serde_json::Value) -> Code {
        match read(message) {
            Err(Outgoing::Error { code, .. }) => code,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_message_of_the_contract_is_understood() {
        assert_eq!(read(json!({"pathlight": 1, "type": "ping"})), Ok(Incoming::Ping));
        let traces = Incoming::Traces { title: "a.json".to_owned(), replace: true, side: None };
        let message =
            json!({"pathlight": 1, "type": "traces", "title": "a.json", "data": [1], "replace": true});
        assert_eq!(read(message), Ok(traces));
        let message = json!({"pathlight": 1, "type": "traces", "title": "ü".repeat(1000)});
        assert_eq!(
            read(message),
            Ok(Incoming::Traces { title: "ü".repeat(255), replace: false, side: None })
        );
        let message = json!({"pathlight": 1, "type": "traces", "title": "b.json", "side": "b"});
        let traces =
            Incoming::Traces { title: "b.json".to_owned(), replace: false, side: Some(ComparedSide::B) };
        assert_eq!(read(message), Ok(traces));
        assert_eq!(read(json!({"pathlight": 1, "type": "clear"})), Ok(Incoming::Clear));
        assert_eq!(read(json!({"pathlight": 1, "type": "report"})), Ok(Incoming::Report));
        let query = Incoming::Query("view=flame".to_owned());
        assert_eq!(read(json!({"pathlight": 1, "type": "query", "query": "view=flame"})), Ok(query));
        let theme = json!({"pathlight": 1, "type": "theme", "theme": "dark"});
        assert_eq!(read(theme), Ok(Incoming::Theme(ThemeChoice::Dark)));
        let view = json!({"pathlight": 1, "type": "view", "view": "trace"});
        assert_eq!(read(view), Ok(Incoming::View(View::Trace)));
        let former = json!({"pathlight": 1, "type": "view", "view": "heat"});
        assert_eq!(read(former), Ok(Incoming::View(View::Heatmap)));
    }

    #[test]
    fn what_is_not_understood_is_answered_and_what_is_not_ours_is_not() {
        assert_eq!(code(json!({"pathlight": 2, "type": "ping"})), Code::Version);
        assert_eq!(code(json!({"pathlight": 1, "type": "dance"})), Code::BadMessage);
        assert_eq!(code(json!({"pathlight": 1, "type": "view"})), Code::BadMessage);
        assert_eq!(code(json!({"pathlight": 1, "type": "theme", "theme": "pink"})), Code::BadMessage);
        assert_eq!(code(json!({"pathlight": 1, "type": "traces", "side": "c"})), Code::BadMessage);
        for foreign in [json!({"type": "ping"}), json!("hello"), json!(null), json!({"pathlight": "x"})] {
            assert!(serde_json::from_value::<Envelope>(foreign).is_err());
        }
    }

    #[test]
    fn answers_are_spelled_as_documented() {
        let text = |outgoing: &Outgoing| serde_json::to_string(&outgoing.message()).unwrap();
        let loaded = Outgoing::Loaded { traces: 2, spans: 9, warnings: vec!["w".to_owned()] };
        let json = r#"{"pathlight":1,"type":"loaded","traces":2,"spans":9,"warnings":["w"]}"#;
        assert_eq!(text(&loaded), json);
        let select = Outgoing::Select { trace_id: "ab".to_owned(), span_id: None };
        assert_eq!(text(&select), r#"{"pathlight":1,"type":"select","traceID":"ab","spanID":null}"#);
        assert_eq!(text(&Outgoing::Ready), r#"{"pathlight":1,"type":"ready"}"#);
        assert_eq!(text(&Outgoing::Escape), r#"{"pathlight":1,"type":"escape"}"#);
        let error = Outgoing::Error { code: Code::NoTraces, message: "m".to_owned() };
        assert_eq!(text(&error), r#"{"pathlight":1,"type":"error","code":"no-traces","message":"m"}"#);
    }

    #[test]
    fn who_names_himself_in_the_address_is_trusted_only_where_there_is_nothing_to_read() {
        let address = Address::parse("allow=https://Jaeger.example/&allow=http://other:8080");
        let own = |origin: &str| is_trusted(origin, "https://own.example", &address, &[]);
        assert!(own("https://own.example") && !own("https://jaeger.example") && !own("http://other:8080"));
        let admitted = ["http://other:8080".to_owned()];
        assert!(is_trusted("http://other:8080", "https://own.example", &address, &admitted));
        let trusted = |origin: &str| is_trusted(origin, "null", &address, &[]);
        assert!(trusted("https://jaeger.example") && trusted("http://other:8080"));
        for untrusted in
            ["null", "", "https://evil.example", "http://other", "https://jaeger.example.evil.example"]
        {
            assert!(!trusted(untrusted), "{untrusted}");
        }
        assert!(!is_trusted("null", "null", &address, &["null".to_owned()]));
    }

    #[test]
    fn a_query_leaves_what_the_host_has_set() {
        let mut address = Address::parse("embed=1&theme=dark&allow=https://a.example&band=P95-99");
        follow("view=trace&traceID=ab", &mut address);
        let expected = Address::parse("view=trace&traceID=ab&embed=1&theme=dark&allow=https://a.example");
        assert_eq!(address, expected);
        follow("theme=light&allow=https://evil.example", &mut address);
        assert_eq!(address, Address::parse("embed=1&theme=light&allow=https://a.example"));
    }
}
