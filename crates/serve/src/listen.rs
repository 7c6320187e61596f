//! `pathlight listen`: OTLP over HTTP, what came of it, and the page that follows. What a body means is the business of an
//! [`Inbox`]; here are the answers that the protocol asks for.

use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_RANGES, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, CACHE_CONTROL, CONTENT_RANGE, CONTENT_TYPE,
    ORIGIN, RANGE, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream::{StreamExt as _, once, try_unfold};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::runtime::Runtime;
use tokio::task::spawn_blocking;

use super::files::{Files, file};
use super::{framing, is_local};

/// The largest body that is taken, in bytes, as it comes and unpacked.
pub const MOST_BYTES: usize = 64 << 20;

/// The path of everything that came, one stream: gzip, a document a line.
pub const STREAM: &str = "traces.ndjson.gz";

/// The two encodings of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OtlpEncoding {
    /// `application/json`.
    Json,
    /// `application/x-protobuf`.
    Protobuf,
}

/// Report of an inbox about an export that it took.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AcceptedExport {
    /// Spans that were left out, and why.
    pub rejected: u64,
    /// The reason; empty if none was.
    pub message: String,
}

/// Reason why an export is refused.
#[derive(Debug)]
pub enum Refused {
    /// The body is no export; the text says what is wrong.
    Bad(String),
    /// It is larger than [`MOST_BYTES`] once it is unpacked.
    TooLarge,
    /// It cannot be kept now; the sender may try again.
    Full(io::Error),
}

/// A piece of the stream.
#[derive(Debug, Default)]
pub struct StreamPiece {
    /// Offset of its first byte; later than asked for if that is no longer kept.
    pub from: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Bytes that the stream has had so far.
    pub total: u64,
}

impl StreamPiece {
    /// Returns the offset after its last byte.
    pub fn end(&self) -> u64 {
        self.from + self.bytes.len() as u64
    }
}

/// Takes spans and gives them again.
pub trait Inbox: Send + Sync + 'static {
    /// Keeps the spans of a body, which may be packed with gzip.
    ///
    /// # Errors
    /// Nothing of the body is kept.
    fn take(&self, body: &[u8], encoding: OtlpEncoding) -> Result<AcceptedExport, Refused>;

    /// Returns what came from an offset on: whole gzip members, `most` bytes at most or one file.
    ///
    /// # Errors
    /// A file cannot be read.
    fn tail(&self, from: u64, most: u64) -> io::Result<StreamPiece>;
}

/// Bytes of the stream in one answer to somebody who follows it.
const MOST_TAIL: u64 = 64 << 20;

/// Answers until the process ends. `origins` are those whose pages may send besides pages of this machine, `*` is any;
/// `page` is the folder of the page, or the page in one file.
///
/// # Errors
/// The connection cannot be used.
pub fn listen(
    listener: TcpListener,
    inbox: Arc<dyn Inbox>,
    origins: &[String],
    page: Option<&Path>,
) -> io::Result<()> {
    Runtime::new()?.block_on(super::serve(listener, routes(inbox, origins, page)))
}

fn routes(inbox: Arc<dyn Inbox>, origins: &[String], page: Option<&Path>) -> Router {
    let exports = Exports { inbox: inbox.clone(), origins: origins.into() };
    let routes = Router::new()
        .route("/v1/traces", post(export).options(preflight).with_state(exports))
        .route(&format!("/{STREAM}"), get(tail))
        .with_state(inbox);
    let framing = framing(&[]);
    match page {
        None => routes,
        Some(dir) if dir.is_dir() => {
            routes.fallback(get(file).with_state(Files { dir: dir.to_owned(), framing }))
        }
        Some(one) => {
            let dir = one.parent().map(Path::to_owned).unwrap_or_default();
            let name = one.file_name().unwrap_or_default().to_string_lossy().into_owned();
            routes.route("/", get(one_file).with_state(OneFile(Files { dir, framing }, name)))
        }
    }
}

/// The page in one file, which nothing else of its folder is shown with.
#[derive(Clone)]
struct OneFile(Files, String);

async fn one_file(State(OneFile(files, name)): State<OneFile>, mut request: Request) -> Response {
    let Ok(uri) = Uri::try_from(format!("/{}", utf8_percent_encode(&name, NON_ALPHANUMERIC))) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    *request.uri_mut() = uri;
    file(State(files), request).await
}

/// The inbox, and the origins whose exports it takes.
#[derive(Clone)]
struct Exports {
    inbox: Arc<dyn Inbox>,
    /// Origins whose pages may send besides pages of this machine; `*` is any.
    origins: Arc<[String]>,
}

impl Exports {
    /// Returns the origin of the page that asks, if it may send; `Ok(None)` of a program that is no page.
    ///
    /// # Errors
    /// The origin of a page that may not.
    fn origin(&self, headers: &HeaderMap) -> Result<Option<HeaderValue>, String> {
        let Some(origin) = headers.get(ORIGIN) else { return Ok(None) };
        let text = String::from_utf8_lossy(origin.as_bytes()).into_owned();
        let host = text.split_once("://").map_or("", |(_, host)| host);
        let may = is_local(host) || self.origins.iter().any(|known| known == "*" || *known == text);
        if may { Ok(Some(origin.clone())) } else { Err(text) }
    }
}

/// Returns what lets a page of this origin read an answer.
fn with_origin(mut response: Response, origin: Option<HeaderValue>) -> Response {
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Origin"));
    if let Some(origin) = origin {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    response
}

fn refuse_origin(origin: &str) -> Response {
    let words =
        format!("Pages of {origin} may not send: start pathlight listen with --allow-origin {origin}.");
    with_origin((StatusCode::FORBIDDEN, words).into_response(), None)
}

/// Answers `OPTIONS /v1/traces`: what a browser asks before a page of another origin sends.
async fn preflight(State(exports): State<Exports>, headers: HeaderMap) -> Response {
    let origin = match exports.origin(&headers) {
        Ok(origin) => origin,
        Err(origin) => return refuse_origin(&origin),
    };
    let mut answer = StatusCode::NO_CONTENT.into_response();
    let out = answer.headers_mut();
    out.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    // An SDK may be configured to send headers of its own, such as a key.
    let wanted = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).cloned();
    out.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.unwrap_or(HeaderValue::from_static("content-type")));
    out.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
    // A page from elsewhere that sends to this machine is asked about in particular.
    let private = HeaderName::from_static("access-control-allow-private-network");
    out.insert(private, HeaderValue::from_static("true"));
    with_origin(answer, origin)
}

/// Answers `POST /v1/traces`.
async fn export(State(exports): State<Exports>, request: Request) -> Response {
    match exports.origin(request.headers()) {
        Ok(origin) => with_origin(take(exports.inbox, request).await, origin),
        Err(origin) => refuse_origin(&origin),
    }
}

async fn take(inbox: Arc<dyn Inbox>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let encoding = match kind.split(';').next().unwrap_or_default().trim() {
        "application/json" => OtlpEncoding::Json,
        "application/x-protobuf" => OtlpEncoding::Protobuf,
        _ => {
            let words = "The content type is application/x-protobuf or application/json.";
            return (StatusCode::UNSUPPORTED_MEDIA_TYPE, words).into_response();
        }
    };
    let too_large = || {
        let words = format!("An export may have {} MiB at most: send smaller batches.", MOST_BYTES >> 20);
        refuse(StatusCode::PAYLOAD_TOO_LARGE, encoding, &words)
    };
    let body = match to_bytes(body, MOST_BYTES).await {
        Ok(body) => body,
        Err(error) if error.to_string().contains("length limit") => return too_large(),
        Err(error) => {
            let words = format!("The body did not come whole: {error}.");
            return refuse(StatusCode::BAD_REQUEST, encoding, &words);
        }
    };
    let taken = spawn_blocking(move || inbox.take(&body, encoding)).await;
    match taken.unwrap_or_else(|lost| Err(Refused::Full(lost.into()))) {
        Ok(taken) => (StatusCode::OK, [(CONTENT_TYPE, encoding.content_type())], answer(&taken, encoding))
            .into_response(),
        Err(Refused::Bad(words)) => refuse(StatusCode::BAD_REQUEST, encoding, &words),
        Err(Refused::TooLarge) => too_large(),
        Err(Refused::Full(error)) => {
            let words = format!("The spans cannot be kept: {error}.");
            refuse(StatusCode::SERVICE_UNAVAILABLE, encoding, &words)
        }
    }
}

impl OtlpEncoding {
    fn content_type(self) -> &'static str {
        match self {
            OtlpEncoding::Json => "application/json",
            OtlpEncoding::Protobuf => "application/x-protobuf",
        }
    }
}

/// Returns an `ExportTraceServiceResponse`.
fn answer(taken: &AcceptedExport, encoding: OtlpEncoding) -> Vec<u8> {
    let is_whole = taken.rejected == 0;
    match encoding {
        OtlpEncoding::Json if is_whole => b"{}".to_vec(),
        OtlpEncoding::Json => serde_json::json!({
            "partialSuccess": { "rejectedSpans": taken.rejected.to_string(), "errorMessage": taken.message }
        })
        .to_string()
        .into_bytes(),
        OtlpEncoding::Protobuf if is_whole => Vec::new(),
        OtlpEncoding::Protobuf => {
            let mut partial = vec![0x08];
            put_varint(taken.rejected, &mut partial);
            put_bytes(0x12, taken.message.as_bytes(), &mut partial);
            let mut out = Vec::new();
            put_bytes(0x0a, &partial, &mut out);
            out
        }
    }
}

/// Returns a `Status` with a message, which the protocol wants with an error.
fn refuse(status: StatusCode, encoding: OtlpEncoding, words: &str) -> Response {
    let body = match encoding {
        OtlpEncoding::Json => serde_json::json!({ "message": words }).to_string().into_bytes(),
        OtlpEncoding::Protobuf => {
            let mut out = Vec::new();
            put_bytes(0x12, words.as_bytes(), &mut out);
            out
        }
    };
    (status, [(CONTENT_TYPE, encoding.content_type())], body).into_response()
}

fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value > 127 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}

fn put_bytes(tag: u8, bytes: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

/// Answers `GET /traces.ndjson.gz`: all that is kept, or with `Range: bytes=N-` what came from there on.
async fn tail(State(inbox): State<Arc<dyn Inbox>>, headers: HeaderMap) -> Response {
    let range = headers.get(RANGE).and_then(|range| range.to_str().ok());
    let from = range.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<u64>().ok());
    let read = read(inbox.clone(), from.unwrap_or(0)).await;
    let fixed = [(CONTENT_TYPE, "application/gzip"), (CACHE_CONTROL, "no-store"), (ACCEPT_RANGES, "bytes")];
    match read {
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("The traces cannot be read: {error}."))
            .into_response(),
        Ok(tail) if from.is_none() => (fixed, all(inbox, tail)).into_response(),
        Ok(tail) if tail.bytes.is_empty() => {
            let range = [(CONTENT_RANGE, format!("bytes */{}", tail.total))];
            (StatusCode::RANGE_NOT_SATISFIABLE, fixed, range).into_response()
        }
        Ok(tail) => {
            let range = format!("bytes {}-{}/{}", tail.from, tail.end() - 1, tail.total);
            (StatusCode::PARTIAL_CONTENT, fixed, [(CONTENT_RANGE, range)], tail.bytes).into_response()
        }
    }
}

async fn read(inbox: Arc<dyn Inbox>, from: u64) -> io::Result<StreamPiece> {
    spawn_blocking(move || inbox.tail(from, MOST_TAIL)).await?
}

/// Returns what there is by now as a body that is read while it is sent.
fn all(inbox: Arc<dyn Inbox>, first: StreamPiece) -> Body {
    let (from, total) = (first.end(), first.total);
    if from >= total {
        return first.bytes.into();
    }
    let rest = try_unfold(from, move |from| {
        let inbox = inbox.clone();
        async move {
            if from >= total {
                return Ok(None);
            }
            let tail = read(inbox, from).await?;
            let end = tail.end();
            io::Result::Ok((!tail.bytes.is_empty()).then_some((tail.bytes, end)))
        }
    });
    Body::from_stream(once(async { Ok(first.bytes) }).chain(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of ten bytes in pieces of three, of which the first is gone.
    struct Digits;

    impl Inbox for Digits {
        fn take(&self, _: &[u8], _: OtlpEncoding) -> Result<AcceptedExport, Refused> {
            Ok(AcceptedExport::default())
        }

        fn tail(&self, from: u64, _: u64) -> io::Result<StreamPiece> {
            let from = from.max(3) as usize;
            let bytes = b"0123456789"[from..(from / 3 * 3 + 3).min(10)].to_vec();
            Ok(StreamPiece { from: from as u64, bytes, total: 10 })
        }
    }

    #[test]
    fn a_listener_sends_the_whole_stream_piece_by_piece() {
        let body = || async {
            let first = read(Arc::new(Digits), 0).await.unwrap();
            to_bytes(all(Arc::new(Digits), first), 100).await.unwrap()
        };
        assert_eq!(Runtime::new().unwrap().block_on(body()), b"3456789"[..]);
    }

    #[test]
    fn a_listener_shows_the_page_in_one_file_whatever_its_name() {
        let dir = std::env::temp_dir().join(format!("pathlight-page-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let name = "my 100% page.html".to_owned();
        std::fs::write(dir.join(&name), "page").unwrap();
        let files = Files { dir: dir.clone(), framing: String::new() };
        let shown = one_file(State(OneFile(files, name)), Request::new(Body::empty()));
        assert_eq!(Runtime::new().unwrap().block_on(shown).status(), StatusCode::OK);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
