//! A Jaeger query service behind this server: what is asked of it is passed on.

use std::io::{self, Read};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_TYPE, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::{self, HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream::try_unfold;
use percent_encoding::percent_decode_str;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use ureq::Agent;

use crate::redirects::{self, AskError, Host, ask};

/// Bytes of Jaeger's answer that are read at once.
const CHUNK: u64 = 64 << 10;

/// Reads of Jaeger that go on at the same time. Each holds a thread, and files need threads too.
const MOST_READS: usize = 32;

/// The address of a Jaeger query service.
#[derive(Clone, Debug)]
pub struct JaegerUrl {
    /// Without a slash at its end, and without the name and password it was given with.
    pub shown: String,
    /// Those, as `name:password@`, or nothing. They are sent to Jaeger and to nobody else.
    pub login: String,
}

impl JaegerUrl {
    /// Returns the address to ask, with name and password.
    fn secret(&self) -> String {
        self.shown.replacen("://", &format!("://{}", self.login), 1)
    }

    /// Returns an error's words without name and password.
    fn hide(&self, error: &ureq::Error) -> String {
        let words = error.to_string();
        if self.login.is_empty() { words } else { words.replace(&self.login, "") }
    }
}

/// Reads the address of a Jaeger query service.
pub fn jaeger_url(text: &str) -> Result<JaegerUrl, &'static str> {
    let url: Uri = text.parse().map_err(|_| "write http://host:16686 or https://host/jaeger")?;
    let scheme = url.scheme_str().filter(|scheme| ["http", "https"].contains(scheme));
    let (Some(scheme), Some(authority)) = (scheme, url.authority()) else {
        return Err("give the address with http:// or https://");
    };
    if url.query().is_some() || text.contains('#') {
        return Err("give the address without ? and #");
    }
    let (login, place) = authority.as_str().split_at(authority.as_str().rfind('@').map_or(0, |at| at + 1));
    let port = place.strip_prefix(authority.host()).unwrap_or(":");
    if authority.host().is_empty() || !port.is_empty() && authority.port_u16().is_none() {
        return Err("name a host, and a port after the colon: http://host:16686");
    }
    let shown = format!("{scheme}://{place}{}", url.path().trim_end_matches('/'));
    Ok(JaegerUrl { shown, login: login.to_owned() })
}

/// A Jaeger query service.
#[derive(Clone)]
pub struct Jaeger {
    url: JaegerUrl,
    /// Other hosts that may be asked where an answer leads there.
    follow: Vec<Host>,
    /// Headers that are passed on to it.
    passed: Vec<HeaderName>,
    agent: Agent,
    /// Permits left of [`MOST_READS`].
    reads: Arc<Semaphore>,
    /// Longest time a request waits for its turn.
    patience: Duration,
}

impl Jaeger {
    /// Returns the service at an address, which is given up when it is silent for so long, and may lead to the hosts of
    /// `follow`. The headers of `passed` go to it, besides what it always gets.
    pub fn new(url: JaegerUrl, follow: Vec<Host>, mut passed: Vec<HeaderName>, patience: Duration) -> Jaeger {
        passed.extend([ACCEPT, AUTHORIZATION]);
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_per_read(Some(patience))
            .timeout_recv_response(Some(patience))
            .user_agent(concat!("pathlight/", env!("CARGO_PKG_VERSION")))
            .build();
        let reads = Arc::new(Semaphore::new(MOST_READS));
        Jaeger { url, follow, passed, agent: agent.into(), reads, patience }
    }

    /// Does something that waits for Jaeger, on a thread, when it is its turn.
    async fn wait_for<T: Send + 'static, E: From<ureq::Error> + Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let turn = timeout(self.patience, self.reads.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(ureq::Error::Timeout(ureq::Timeout::Global).into()) };
        let done = spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        done.await.unwrap_or_else(|lost| Err(ureq::Error::from(io::Error::from(lost)).into()))
    }
}

/// Returns the part of an address of ours that Jaeger has too: path and query.
fn target(uri: &Uri) -> &str {
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    target.strip_prefix("/jaeger").unwrap_or(target)
}

pub async fn no_jaeger() -> Response {
    let words = "No Jaeger is connected here: start the server with --jaeger URL.";
    api_error(StatusCode::NOT_IMPLEMENTED, words)
}

/// Leads a link back to Jaeger UI to Jaeger itself, which knows its own address.
pub async fn lead_on(State(jaeger): State<Jaeger>, uri: Uri) -> Response {
    (StatusCode::FOUND, [(LOCATION, jaeger.url.shown + target(&uri))]).into_response()
}

/// Returns whether a path has a segment that leads out of its folder, however often it is escaped: Jaeger, or a proxy before
/// it, would resolve it, and answer with what lies beside its API.
fn leads_out(path: &str) -> bool {
    let mut path = path.to_owned();
    loop {
        if path.split(['/', '\\']).any(|segment| matches!(segment, "." | "..")) {
            return true;
        }
        let plain = percent_decode_str(&path).decode_utf8_lossy().into_owned();
        if plain == path {
            return false;
        }
        path = plain;
    }
}

/// Passes a request on and answers with Jaeger's answer, as it comes.
pub async fn pass_on(State(jaeger): State<Jaeger>, request: Request) -> Response {
    if leads_out(request.uri().path()) {
        return api_error(
            StatusCode::BAD_REQUEST,
            "Jaeger is asked by its API only: this path leads out of it.",
        );
    }
    let place = format!("{}{}", jaeger.url.secret(), target(request.uri()));
    let mut call = http::Request::builder().method(request.method()).uri(place);
    if let Some(headers) = call.headers_mut() {
        *headers = chosen(request.headers(), &jaeger.passed);
    }
    let (agent, follow) = (jaeger.agent.clone(), jaeger.follow.clone());
    let work = move || ask(&agent, &call.body(()).map_err(ureq::Error::from)?, &follow);
    match jaeger.wait_for(work).await {
        Err(AskError::LeadsTo(place)) => {
            let words = format!(
                "{} leads to another server, {place}, perhaps for a login: that is asked only with {}.",
                jaeger.url.shown,
                redirects::option(&place)
            );
            api_error(StatusCode::BAD_GATEWAY, &words)
        }
        Err(AskError::Lost(ureq::Error::Timeout(_))) => {
            let (place, seconds) = (&jaeger.url.shown, jaeger.patience.as_secs());
            let words = format!(
                "{place} has not answered for {seconds} s: ask for less, or check whether it still works."
            );
            api_error(StatusCode::GATEWAY_TIMEOUT, &words)
        }
        Err(AskError::Lost(error)) => {
            let words = format!("{} does not answer: {}.", jaeger.url.shown, jaeger.url.hide(&error));
            api_error(StatusCode::BAD_GATEWAY, &words)
        }
        Ok(answer) => {
            let (parts, body) = answer.into_parts();
            let fixed = [(CACHE_CONTROL, "no-store")];
            let headers = chosen(&parts.headers, &[CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE]);
            (parts.status, fixed, headers, stream(jaeger, body.into_reader())).into_response()
        }
    }
}

/// Returns those of the headers that have one of the names.
fn chosen(headers: &HeaderMap, names: &[HeaderName]) -> HeaderMap {
    names.iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone()))).collect()
}

/// Returns a body that is read while it is sent. A browser that takes its time holds no thread.
fn stream(jaeger: Jaeger, reader: impl Read + Send + 'static) -> Body {
    Body::from_stream(try_unfold((jaeger, reader), |(jaeger, mut reader)| async {
        let read = jaeger.wait_for(move || {
            let mut chunk = Vec::new();
            reader.by_ref().take(CHUNK).read_to_end(&mut chunk)?;
            Result::<_, ureq::Error>::Ok((chunk, reader))
        });
        let (chunk, reader) = read.await?;
        Result::<_, ureq::Error>::Ok((!chunk.is_empty()).then_some((chunk, (jaeger, reader))))
    }))
}

/// Returns an error in the form Jaeger's own errors have, which the page explains.
pub fn api_error(status: StatusCode, message: &str) -> Response {
    let text = serde_json::json!({ "errors": [{ "code": status.as_u16(), "msg": message }] }).to_string();
    (status, [(CONTENT_TYPE, "application/json")], text).into_response()
}
