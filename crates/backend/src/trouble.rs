//! Troubles with a Jaeger query service, each with what helps.

use crate::Caller;

/// Reason why no answer came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The server answers, but the browser may not read it.
    Cors,
    /// The page's own policy forbids the connection.
    Policy,
    /// A page of https may not read http.
    Mixed,
    /// Nobody answers.
    Down,
    /// The answer broke off.
    Broken,
    /// It leads to a login, or is the page of one.
    Login,
    /// It leads to another server, which nobody has allowed to be asked.
    Elsewhere,
}

/// Reason why Jaeger gave no traces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The request did not come to an answer.
    Lost(Lost),
    /// 401.
    Unauthorized,
    /// 401 for want of a tenant that is known, with its own words.
    Tenant(String),
    /// A tenant that no header can name.
    NoTenant,
    /// 403, with Jaeger's own words.
    Forbidden(String),
    /// Something answers, but it is a page for people.
    Html,
    /// Something answers, but there is no Jaeger API at this address.
    NoApi {
        /// Status of the answer.
        status: u16,
    },
    /// Jaeger refuses or fails, in its own words.
    Says {
        /// Status of the answer.
        status: u16,
        /// Its error message; may be empty.
        message: String,
    },
    /// An answer with something else in the place of the traces, in words.
    Shape(String),
    /// Jaeger wanted us to wait again and again.
    Busy,
    /// A duration that Go would not read.
    Duration(String),
    /// Tags that are no JSON object.
    Tags(String),
    /// The time range ends before it starts.
    Range,
    /// A search without a service.
    NoService,
    /// A text that is no trace id.
    Id(String),
    /// A text that is no address of a file.
    Source(String),
    /// A file that is not there.
    NoFile {
        /// Status of the answer.
        status: u16,
    },
    /// A base address that is none.
    Base(String),
}

/// A query service, and the page that asks it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// The whole base address of the query service.
    pub base: String,
    /// Origin of the page, as a browser sends it; `null` for a file on disk.
    pub page_origin: String,
    /// What goes with the requests to it.
    pub caller: Caller,
}

/// Trouble as it is shown; text between backticks is to be typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchTrouble {
    /// The problem, in one sentence.
    pub message: String,
    /// Ways out, the best first, each a sentence.
    pub cures: Vec<String>,
    /// Address where the user can log in, if that would help.
    pub login: Option<String>,
    /// Address that leads to another server, which may be followed if the user agrees.
    pub leads: Option<String>,
}

impl Trouble {
    /// Returns what happened and what helps.
    pub fn explain(&self, place: &Connection) -> FetchTrouble {
        let Connection { base, page_origin, caller } = place;
        let origin = origin_of(base);
        let proxy = format!(
            "Or serve this page beside it: `pathlight serve dist --jaeger {base}`, base URL `/jaeger`."
        );
        let ui =
            "Or open Pathlight from a link of Jaeger UI on the same host, where no permission is needed.";
        let drop = "Or save the traces in Jaeger UI (Download Results, Trace JSON) and drop the files here.";
        let (message, cures) = match self {
            Trouble::Lost(Lost::Cors) => {
                let names: Vec<String> =
                    caller.headers().iter().map(|(name, _)| format!("\"{name}\"")).collect();
                let (token, header) = if names.is_empty() {
                    (String::new(), "")
                } else {
                    (
                        format!(", allowed_headers: [{}]", names.join(", ")),
                        " A bearer token or a tenant needs Jaeger 2 or a proxy: Jaeger 1 does not answer the preflight request that browsers send first.",
                    )
                };
                (
                    format!("{origin} answers, but does not allow pages of {page_origin} to read it (CORS)."),
                    vec![
                        format!(
                            "In Jaeger 2, set `cors: {{ allowed_origins: [\"{page_origin}\"]{token} }}` under `extensions.jaeger_query.http`."
                        ),
                        format!(
                            "In Jaeger 1, start the query service with `--query.additional-headers=\"Access-Control-Allow-Origin: {page_origin}\"`.{header}"
                        ),
                        proxy,
                        ui.to_owned(),
                        drop.to_owned(),
                    ],
                )
            }
            Trouble::Lost(Lost::Policy) => (
                format!("The host of this page does not let it connect to {origin}."),
                vec![
                    format!("Add `{origin}` to `connect-src` of the page's Content-Security-Policy."),
                    proxy,
                    ui.to_owned(),
                    drop.to_owned(),
                ],
            ),
            Trouble::Lost(Lost::Mixed) => (
                format!("This page came over https, so browsers do not let it read {origin} over plain http."),
                vec![
                    "Use the https address of Jaeger, or of a proxy in front of it.".to_owned(),
                    proxy,
                    drop.to_owned(),
                ],
            ),
            Trouble::Lost(Lost::Down) => (
                format!("{} cannot be reached.", if origin.is_empty() { base } else { origin }),
                vec![
                    "Check the address and that Jaeger runs and can be reached from this machine, then retry."
                        .to_owned(),
                    drop.to_owned(),
                ],
            ),
            Trouble::Lost(Lost::Login) => (
                format!("{base} answers with a login: your session there has ended, or you never logged in."),
                vec![
                    format!("Log in again at `{base}`, in another tab, then retry."),
                    "Or enter a bearer token; it is kept in memory only.".to_owned(),
                ],
            ),
            Trouble::Lost(Lost::Elsewhere) => (
                format!("{base} leads to another server, as one that answers with a login does. That is not asked without your word."),
                vec![
                    format!("If your session there has ended, log in again at `{base}`, in another tab, then retry."),
                    "Or let it be followed, if you trust where it leads: that server learns what is searched for."
                        .to_owned(),
                ],
            ),
            Trouble::Lost(Lost::Broken) => (
                format!("The connection to {origin} broke off in the middle of an answer."),
                vec!["Retry, or ask for fewer traces at a time.".to_owned()],
            ),
            Trouble::Unauthorized => (
                format!("{base} asks for a login or a token (401)."),
                vec![
                    if caller.token.is_some() {
                        "The bearer token is not accepted: paste a fresh one, then retry.".to_owned()
                    } else {
                        "Enter a bearer token; it is kept in memory only.".to_owned()
                    },
                    "If Jaeger has a login page, open this page on the same host and log in there first."
                        .to_owned(),
                    drop.to_owned(),
                ],
            ),
            Trouble::Tenant(words) => (
                format!("{base} wants to know whose traces are asked for, and does not know it by this request{}.", said(words)),
                vec![
                    "Enter the tenant, and the header that names it: Jaeger takes `x-tenant`, Tempo `X-Scope-OrgID`, unless told otherwise."
                        .to_owned(),
                    "Ask whoever runs it what your tenant is called.".to_owned(),
                ],
            ),
            Trouble::NoTenant => (
                "This is no tenant, or no header that may name one.".to_owned(),
                vec!["Write the tenant in ASCII, and a header such as `x-tenant` or `X-Scope-OrgID`.".to_owned()],
            ),
            Trouble::Forbidden(words) => (
                format!("{base} does not let you read traces (403){}.", said(words)),
                vec!["Ask whoever runs it for access, or use another token.".to_owned()],
            ),
            Trouble::Html => (
                format!("{base} answers with a web page instead of data."),
                vec![
                    "Check the base URL: it is what stands before /search or /trace in Jaeger UI, with its path (such as https://host/jaeger)."
                        .to_owned(),
                ],
            ),
            Trouble::NoApi { status } => (
                format!("There is no API of Jaeger or Tempo at {base} (status {status})."),
                vec![
                    "Check the base URL: it is what stands before /search or /trace in Jaeger UI, with its path (such as https://host/jaeger)."
                        .to_owned(),
                ],
            ),
            Trouble::Says { status, message } if *status >= 500 => (
                format!("Jaeger failed (status {status}){}.", said(message)),
                vec![
                    "Retry; if it repeats, ask for a shorter time range or fewer traces, or look into the log of Jaeger and its storage."
                        .to_owned(),
                ],
            ),
            Trouble::Says { status, message } => (
                format!("Jaeger does not accept the search (status {status}){}.", said(message)),
                vec!["Change the search, then fetch again.".to_owned()],
            ),
            Trouble::Shape(what) => (
                format!("{base} answers, but its `data` is {what}, not a list of traces."),
                vec![
                    "See that this is the address of a Jaeger query service, and what a proxy before it makes of its answers.".to_owned(),
                ],
            ),
            Trouble::Busy => (
                "Jaeger is too busy: it asks to wait again and again.".to_owned(),
                vec!["Retry later, or ask for a shorter time range or fewer traces.".to_owned()],
            ),
            Trouble::Duration(text) => (
                format!("\u{201c}{text}\u{201d} is not a duration."),
                vec!["Write a number with its unit: `1.2s`, `100ms`, `500us`, `2h45m`.".to_owned()],
            ),
            Trouble::Tags(text) => (
                format!("The tags cannot be read at \u{201c}{text}\u{201d}."),
                vec!["Write `key=value` with spaces between, values with spaces in quotes: `db=\"my shop\"`.".to_owned()],
            ),
            Trouble::Range => (
                "The time range ends before it starts.".to_owned(),
                vec!["Change one of the two times.".to_owned()],
            ),
            Trouble::Id(text) => (
                format!("\u{201c}{text}\u{201d} is no trace id."),
                vec!["Write up to 32 digits, each of 0 to 9 and a to f.".to_owned()],
            ),
            Trouble::NoService => (
                "A search needs a service.".to_owned(),
                vec!["Choose one of the list, or enter trace ids instead.".to_owned()],
            ),
            Trouble::NoFile { status } => (
                format!("{base} could not be fetched (status {status})."),
                vec!["Check the address after `src=` in the link.".to_owned(), "Or drop the file here.".to_owned()],
            ),
            Trouble::Source(text) => (
                format!("\u{201c}{text}\u{201d} is not the address of a file that can be fetched."),
                vec!["Write an address of http or https after `src=`, as `traces.json` or `https://host/traces.json`.".to_owned()],
            ),
            Trouble::Base(text) => (
                format!("\u{201c}{text}\u{201d} is not the address of a Jaeger."),
                vec!["Write it as `https://host/jaeger`, or `/jaeger` if it is on the host of this page.".to_owned()],
            ),
        };
        let leads = (*self == Trouble::Lost(Lost::Elsewhere)).then(|| base.clone());
        let login = leads.clone().or_else(|| (*self == Trouble::Lost(Lost::Login)).then(|| base.clone()));
        FetchTrouble { message, cures, login, leads }
    }
}

/// Returns Jaeger's own words, after a colon and without their full stop.
fn said(words: &str) -> String {
    let words = words.trim().trim_end_matches('.');
    if words.is_empty() { String::new() } else { format!(": {words}") }
}

/// Returns the scheme, host and port of a whole address; empty if it is none.
fn origin_of(url: &str) -> &str {
    let Some(at) = url.find("://") else { return "" };
    let end = url[at + 3..].find('/').map_or(url.len(), |slash| at + 3 + slash);
    &url[..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tenant;

    fn place(has_token: bool) -> Connection {
        Connection {
            base: "https://jaeger.example:16686/base".to_owned(),
            page_origin: "https://tools.example".to_owned(),
            caller: Caller {
                token: has_token.then(|| "t".to_owned()),
                tenants: Tenant::parse("x-tenant: a").into_iter().filter(|_| has_token).collect(),
            },
        }
    }

    #[test]
    fn a_forbidden_origin_is_shown_the_settings_of_both_versions() {
        let explanation = Trouble::Lost(Lost::Cors).explain(&place(false));
        assert!(
            explanation.message.starts_with("https://jaeger.example:16686 answers"),
            "{}",
            explanation.message
        );
        let cures = explanation.cures.join("\n");
        for words in [
            r#"`cors: { allowed_origins: ["https://tools.example"] }` under `extensions.jaeger_query.http`"#,
            r#"`--query.additional-headers="Access-Control-Allow-Origin: https://tools.example"`"#,
            "`pathlight serve dist --jaeger https://jaeger.example:16686/base`",
            "drop the files",
        ] {
            assert!(cures.contains(words), "{words} is not in {cures}");
        }
        let with_token = Trouble::Lost(Lost::Cors).explain(&place(true)).cures;
        assert!(
            with_token[0].contains("allowed_headers: [\"Authorization\", \"x-tenant\"]"),
            "{with_token:?}"
        );
    }

    #[test]
    fn every_trouble_has_a_sentence_and_a_way_out() {
        let text = || "x".to_owned();
        for trouble in [
            Trouble::Lost(Lost::Policy),
            Trouble::Lost(Lost::Mixed),
            Trouble::Lost(Lost::Down),
            Trouble::Lost(Lost::Broken),
            Trouble::Lost(Lost::Login),
            Trouble::Lost(Lost::Elsewhere),
            Trouble::Unauthorized,
            Trouble::Tenant(text()),
            Trouble::NoTenant,
            Trouble::Forbidden(String::new()),
            Trouble::Html,
            Trouble::NoApi { status: 404 },
            Trouble::Says { status: 500, message: text() },
            Trouble::Says { status: 400, message: text() },
            Trouble::Shape("an empty object".to_owned()),
            Trouble::Busy,
            Trouble::Duration(text()),
            Trouble::Tags(text()),
            Trouble::Range,
            Trouble::NoService,
            Trouble::Id(text()),
            Trouble::NoFile { status: 404 },
            Trouble::Base(text()),
            Trouble::Source(text()),
        ] {
            let explanation = trouble.explain(&place(false));
            assert!(
                explanation.message.ends_with('.') && !explanation.message.contains(".."),
                "{}",
                explanation.message
            );
            assert!(!explanation.cures.is_empty(), "{trouble:?}");
            for line in explanation.cures.iter().chain([&explanation.message]) {
                assert!(line.ends_with('.'), "{line}");
                assert_eq!(line.matches('`').count() % 2, 0, "{line}");
            }
        }
    }

    #[test]
    fn an_origin_ends_before_the_path() {
        assert_eq!(origin_of("http://a:1/b/c"), "http://a:1");
        assert_eq!(origin_of("http://a"), "http://a");
        assert_eq!(origin_of("/jaeger"), "");
    }
}
