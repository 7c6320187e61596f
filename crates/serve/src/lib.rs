//! `pathlight serve`: a folder of static files, and a Jaeger query service on the same origin. A crate of its own, so that
//! `cargo xtask serve` compiles a server and not the whole product.
//!
//! A browser lets a page read a Jaeger API of another origin only if Jaeger allows it, which it does not by default.
//! Served beside the page, no permission is needed.

pub mod listen;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, LOCATION, RETRY_AFTER,
    WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{self, HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::try_unfold;
use percent_encoding::percent_decode_str;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tower_http::services::ServeDir;
use ureq::Agent;

/// What the page needs and nothing more. `docs/hosting.md` tells hosts to send the same.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
                      worker-src 'self' blob:; img-src 'self' data: blob:; ";

/// Pages of Jaeger UI: all below /jaeger, and those beside Pathlight that no file of it can be.
const UI_PAGES: [&str; 7] =
    ["/jaeger", "/jaeger/", "/jaeger/{*path}", "/trace/{*path}", "/search", "/dependencies", "/monitor"];

/// Bytes of Jaeger's answer that are read at once.
const CHUNK: u64 = 64 << 10;

/// Reads of Jaeger that go on at the same time. Each holds a thread, and files need threads too.
const MOST_READS: usize = 32;

/// Options of `pathlight serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder to serve, as built by `cargo xtask build`
    dir: PathBuf,
    /// The port to listen on, on this machine only; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// A Jaeger query service, such as http://host:16686 or https://host/jaeger: /api/ and /jaeger/api/ are passed on to it, and links to pages of Jaeger UI lead there
    #[arg(long, value_name = "URL", value_parser = jaeger_url)]
    jaeger: Option<JaegerUrl>,
    /// How long Jaeger may be silent, in seconds, before a request to it is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    jaeger_timeout: u64,
    /// Origin whose pages may show this one in a frame, such as `https://jaeger.example`; may be repeated (default: only this server's own)
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    frame_ancestor: Vec<String>,
}

/// The address of a Jaeger query service.
#[derive(Clone, Debug)]
struct JaegerUrl {
    /// Without a slash at its end, and without the name and password it was given with.
    shown: String,
    /// Those, as `name:password@`, or nothing. They are sent to Jaeger and to nobody else.
    login: String,
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
fn jaeger_url(text: &str) -> Result<JaegerUrl, &'static str> {
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

/// Reads the origin of a page.
fn origin(text: &str) -> Result<String, &'static str> {
    let url = jaeger_url(text).map_err(|_| "write an origin: https://jaeger.example")?;
    let is_origin = url.login.is_empty() && url.shown.matches('/').count() == 2;
    // A comma or semicolon would end the policy.
    (is_origin && !url.shown.contains([',', ';']))
        .then_some(url.shown)
        .ok_or("write an origin: https://jaeger.example")
}

/// Serves until the process ends.
///
/// # Errors
/// The folder is not there, or the port is taken.
pub fn run(args: &Args) -> io::Result<()> {
    let (listener, routes) = open(args)?;
    let mut out = io::stdout();
    writeln!(out, "http://127.0.0.1:{}/", listener.local_addr()?.port())?;
    out.flush()?;
    Runtime::new()?.block_on(serve(listener, routes))
}

fn open(args: &Args) -> io::Result<(TcpListener, Router)> {
    if !args.dir.is_dir() {
        return Err(io::Error::other(format!("{} is no folder to serve", args.dir.display())));
    }
    let listener = TcpListener::bind(("127.0.0.1", args.port)).map_err(|error| {
        io::Error::other(format!("cannot listen on port {}: {error}; --port 0 takes a free one", args.port))
    })?;
    listener.set_nonblocking(true)?;
    let agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(10)))
        .timeout_per_read(Some(Duration::from_secs(args.jaeger_timeout)))
        .timeout_recv_response(Some(Duration::from_secs(args.jaeger_timeout)))
        .user_agent(concat!("pathlight/", env!("CARGO_PKG_VERSION")))
        .build();
    let jaeger = args.jaeger.clone().map(|url| Jaeger {
        url,
        agent: agent.into(),
        reads: Arc::new(Semaphore::new(MOST_READS)),
        patience: Duration::from_secs(args.jaeger_timeout),
    });
    let files = Files { dir: args.dir.clone(), framing: framing(args) };
    let mut routes = Router::new().fallback(get(file).with_state(files));
    for prefix in ["", "/jaeger"] {
        let api = format!("{prefix}/api/{{*path}}");
        routes = match &jaeger {
            None => routes.route(&api, get(no_jaeger)),
            Some(jaeger) => routes.route(&api, get(pass_on).with_state(jaeger.clone())),
        };
    }
    if let Some(jaeger) = jaeger {
        let lead_on = get(lead_on).with_state(jaeger);
        routes = UI_PAGES.iter().fold(routes, |routes, page| routes.route(page, lead_on.clone()));
    }
    Ok((listener, routes))
}

/// Returns the part of the policy that says who may show a page of ours in a frame: `frame-ancestors 'self' ..`.
fn framing(args: &Args) -> String {
    ["frame-ancestors 'self'"]
        .into_iter()
        .chain(args.frame_ancestor.iter().map(String::as_str))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Answers every request. Browsers keep connections open, so none may hold up another.
async fn serve(listener: TcpListener, routes: Router) -> io::Result<()> {
    axum::serve(tokio::net::TcpListener::from_std(listener)?, routes).await
}

/// The folder that is served.
#[derive(Clone)]
struct Files {
    dir: PathBuf,
    /// The part of the policy that says who may show a page of ours in a frame.
    framing: String,
}

/// Answers with a static file, or with 304 if the browser has it.
async fn file(State(Files { dir, framing }): State<Files>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let mut response = match ServeDir::new(&dir).try_call(request).await {
        Ok(response) if response.status() != StatusCode::NOT_FOUND => response.map(Body::new),
        Err(error) if !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            let words = format!("This file cannot be read: {error}.");
            return (StatusCode::INTERNAL_SERVER_ERROR, words).into_response();
        }
        _ => return (StatusCode::NOT_FOUND, "There is no such file here.").into_response(),
    };
    let headers = response.headers_mut();
    if headers.contains_key(LOCATION) {
        // To the same folder with its slash. Relative, or `//x` would lead to a host named x.
        let place = format!("{}/", path.rsplit('/').next().unwrap_or_default());
        return (StatusCode::MOVED_PERMANENTLY, [(LOCATION, place)]).into_response();
    }
    let path = percent_decode_str(&path).decode_utf8_lossy();
    let mut file = dir.join(path.trim_start_matches('/'));
    if path.ends_with('/') {
        file.push("index.html");
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if let Some(kind) = headers.get(CONTENT_TYPE).and_then(|kind| text_type(&name, kind)) {
        headers.insert(CONTENT_TYPE, kind);
    }
    let cache = if is_hashed(&name) { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let has_own = name.ends_with(".html") && has_own_policy(&file).unwrap_or_default();
    let policy = if has_own { framing } else { POLICY.to_owned() + &framing };
    if let Ok(policy) = policy.try_into() {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns the content type of a text with its encoding; `None` if the file is none.
fn text_type(name: &str, kind: &HeaderValue) -> Option<HeaderValue> {
    // Declarations of TypeScript are not the films that have the same ending.
    let is_plain = name.ends_with(".md") || name.ends_with(".ts");
    let kind =
        if is_plain { "text/plain" } else { kind.to_str().ok().filter(|kind| kind.starts_with("text/"))? };
    format!("{kind}; charset=utf-8").try_into().ok()
}

/// Whether the build put a hash of the content into this name: `style-0123456789.css`.
fn is_hashed(name: &str) -> bool {
    let Some((_, tail)) = name.rsplit_once('-') else { return false };
    let Some((hash, _)) = tail.split_once('.') else { return false };
    hash.len() == 10 && hash.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
}

/// Whether an HTML file begins with a policy of its own: the page in one file. A second one about scripts would forbid
/// them.
fn has_own_policy(file: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(2048).read_to_end(&mut head)?;
    Ok(memchr::memmem::find(&head, b"http-equiv=\"Content-Security-Policy\"").is_some())
}

/// A Jaeger query service.
#[derive(Clone)]
struct Jaeger {
    url: JaegerUrl,
    agent: Agent,
    /// What is left of [`MOST_READS`].
    reads: Arc<Semaphore>,
    /// How long a request waits for its turn.
    patience: Duration,
}

impl Jaeger {
    /// Does something that waits for Jaeger, on a thread, when it is its turn.
    async fn wait_for<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, ureq::Error> + Send + 'static,
    ) -> Result<T, ureq::Error> {
        let turn = timeout(self.patience, self.reads.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else { return Err(ureq::Error::Timeout(ureq::Timeout::Global)) };
        let done = spawn_blocking(move || {
            let done = work();
            drop(turn);
            done
        });
        done.await.unwrap_or_else(|lost| Err(io::Error::from(lost).into()))
    }
}

/// Returns the part of an address of ours that Jaeger has too: path and query.
fn target(uri: &Uri) -> &str {
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    target.strip_prefix("/jaeger").unwrap_or(target)
}

async fn no_jaeger() -> Response {
    let words = "No Jaeger is connected here: start the server with --jaeger URL.";
    api_error(StatusCode::NOT_IMPLEMENTED, words)
}

/// Leads a link back to Jaeger UI to Jaeger itself, which knows its own address.
async fn lead_on(State(jaeger): State<Jaeger>, uri: Uri) -> Response {
    (StatusCode::FOUND, [(LOCATION, jaeger.url.shown + target(&uri))]).into_response()
}

/// Passes a request on and answers with Jaeger's answer, as it comes.
async fn pass_on(State(jaeger): State<Jaeger>, request: Request) -> Response {
    // A foreign page whose host name was made to point at this machine must not get at Jaeger through us.
    if !request.headers().get(HOST).and_then(|host| host.to_str().ok()).is_some_and(is_local) {
        let words = "Jaeger is passed on to pages of this machine only: open the page as 127.0.0.1.";
        return api_error(StatusCode::FORBIDDEN, words);
    }
    let place = format!("{}{}", jaeger.url.secret(), target(request.uri()));
    let mut call = http::Request::builder().method(request.method()).uri(place);
    if let Some(headers) = call.headers_mut() {
        *headers = chosen(request.headers(), [ACCEPT, AUTHORIZATION]);
    }
    let agent = jaeger.agent.clone();
    match jaeger.wait_for(move || agent.run(call.body(())?)).await {
        Err(ureq::Error::Timeout(_)) => {
            let (place, seconds) = (&jaeger.url.shown, jaeger.patience.as_secs());
            let words = format!(
                "{place} has not answered for {seconds} s: ask for less, or check whether it still works."
            );
            api_error(StatusCode::GATEWAY_TIMEOUT, &words)
        }
        Err(error) => {
            let words = format!("{} does not answer: {}.", jaeger.url.shown, jaeger.url.hide(&error));
            api_error(StatusCode::BAD_GATEWAY, &words)
        }
        Ok(answer) => {
            let (parts, body) = answer.into_parts();
            // An answer is data: were it opened as a page, it must not run beside ours.
            let fixed = [
                (CACHE_CONTROL, "no-store"),
                (X_CONTENT_TYPE_OPTIONS, "nosniff"),
                (CONTENT_SECURITY_POLICY, "default-src 'none'; sandbox; frame-ancestors 'none'"),
            ];
            let headers = chosen(&parts.headers, [CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE]);
            (parts.status, fixed, headers, stream(jaeger, body.into_reader())).into_response()
        }
    }
}

/// Returns those of the headers that have one of the names.
fn chosen<const N: usize>(headers: &HeaderMap, names: [HeaderName; N]) -> HeaderMap {
    names.into_iter().filter_map(|name| Some((name.clone(), headers.get(name)?.clone()))).collect()
}

/// Returns a body that is read while it is sent. A browser that takes its time holds no thread.
fn stream(jaeger: Jaeger, reader: impl Read + Send + 'static) -> Body {
    Body::from_stream(try_unfold((jaeger, reader), |(jaeger, mut reader)| async {
        let read = jaeger.wait_for(move || {
            let mut chunk = Vec::new();
            reader.by_ref().take(CHUNK).read_to_end(&mut chunk)?;
            Ok((chunk, reader))
        });
        let (chunk, reader) = read.await?;
        Result::<_, ureq::Error>::Ok((!chunk.is_empty()).then_some((chunk, (jaeger, reader))))
    }))
}

/// Whether a `Host` header names this machine.
fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(host, |(name, _)| name);
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

/// An error in the form Jaeger's own errors have, which the page explains.
fn api_error(status: StatusCode, message: &str) -> Response {
    let text = serde_json::json!({ "errors": [{ "code": status.as_u16(), "msg": message }] }).to_string();
    (status, [(CONTENT_TYPE, "application/json")], text).into_response()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::net::{SocketAddr, TcpStream};
    use std::thread;
    use std::time::Instant;

    use super::*;

    /// A folder of its own under Cargo's temporary one, removed at the end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let folder = std::env::temp_dir().join(format!("pathlight-serve-{name}-{}", std::process::id()));
            for (name, text) in files {
                let file = folder.join(name);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, text).unwrap();
            }
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn args(dir: &Path, jaeger: Option<&str>) -> Args {
        let jaeger = jaeger.map(|url| jaeger_url(url).unwrap());
        Args { dir: dir.to_owned(), port: 0, jaeger, jaeger_timeout: 1, frame_ancestor: Vec::new() }
    }

    /// Serves a folder for as long as the closure runs.
    fn serving<T>(dir: &Path, jaeger: Option<&str>, ask: impl FnOnce(SocketAddr) -> T) -> T {
        let (listener, routes) = open(&args(dir, jaeger)).unwrap();
        let address = listener.local_addr().unwrap();
        let runtime = Runtime::new().unwrap();
        runtime.spawn(serve(listener, routes));
        let answer = ask(address);
        runtime.shutdown_background();
        answer
    }

    /// Head and body of the answer to a request written by hand.
    fn ask(address: SocketAddr, line: &str, more: &str) -> (String, String) {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{line} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n{more}\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.to_owned(), body.to_owned())
    }

    #[test]
    fn files_come_with_type_length_policy_and_the_caching_their_names_allow() {
        let folder =
            Folder::new("types", &[("index.html", "<p>"), ("a-0123456789.wasm", "x"), ("demo.json.gz", "z")]);
        serving(&folder.0, None, |server| {
            let (head, body) = ask(server, "GET /?q=1", "");
            assert!(head.starts_with("HTTP/1.1 200") && body == "<p>", "{head}");
            assert!(head.contains("text/html") && head.contains("cache-control: no-cache"), "{head}");
            assert!(
                head.contains("script-src 'self' 'wasm-unsafe-eval'") && head.contains("content-length: 3")
            );
            let (head, _) = ask(server, "GET /a-0123456789.wasm", "");
            assert!(head.contains("application/wasm") && head.contains("immutable"), "{head}");
            let (head, _) = ask(server, "GET /demo.json.gz", "");
            assert!(head.contains("application/gzip") && !head.contains("content-encoding"), "{head}");
        });
    }

    #[test]
    fn a_known_tag_is_answered_without_the_file_and_head_without_a_body() {
        let folder = Folder::new("tags", &[("index.html", "<p>")]);
        serving(&folder.0, None, |server| {
            let (head, body) = ask(server, "HEAD /index.html", "");
            assert!(head.contains("content-length: 3") && body.is_empty());
            let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
            let (head, body) = ask(server, "GET /", &format!("If-None-Match: {tag}\r\n"));
            assert!(head.starts_with("HTTP/1.1 304") && body.is_empty(), "{head}");
        });
    }

    #[test]
    fn a_page_with_a_policy_of_its_own_gets_no_second_one() {
        let own = "<meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"x\">";
        let folder = Folder::new("policy", &[("pathlight.html", own)]);
        serving(&folder.0, None, |server| {
            let (head, body) = ask(server, "GET /pathlight.html", "");
            assert!(
                head.contains("content-security-policy: frame-ancestors 'self'\r\n") && body == own,
                "{head}"
            );
        });
    }

    #[test]
    fn nothing_outside_the_folder_can_be_named() {
        let folder = Folder::new(
            "outside",
            &[("site/index.html", "in"), ("secret.txt", "out"), ("site/sub/a.txt", "a")],
        );
        serving(&folder.0.join("site"), None, |server| {
            for path in [
                "/../secret.txt",
                "/%2e%2e/secret.txt",
                "/sub/..%2f..%2fsecret.txt",
                "/..%5csecret.txt",
                "/%00",
                "/%zz",
            ] {
                let (head, body) = ask(server, &format!("GET {path}"), "");
                assert!(head.starts_with("HTTP/1.1 404") && !body.contains("out"), "{path}: {head}");
            }
            let (head, body) = ask(server, "GET //sub/./a.txt", "");
            assert!(head.starts_with("HTTP/1.1 200") && body == "a", "{head}");
            let (head, _) = ask(server, "GET /sub", "");
            assert!(head.starts_with("HTTP/1.1 301") && head.contains("location: sub/"), "{head}");
            let (head, _) = ask(server, "GET /sub/", "");
            assert!(head.starts_with("HTTP/1.1 404"), "{head}");
        });
    }

    #[test]
    fn a_folder_without_its_slash_leads_into_this_server_only() {
        let folder = Folder::new("slash", &[("evil.example/index.html", "x")]);
        serving(&folder.0, None, |server| {
            let (head, _) = ask(server, "GET //evil.example", "");
            assert!(head.contains("location: evil.example/\r\n"), "{head}");
        });
    }

    #[test]
    fn jaeger_is_passed_on_with_query_token_status_and_type() {
        let jaeger = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}/base/", jaeger.local_addr().unwrap());
        let folder = Folder::new("jaeger", &[("index.html", "")]);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2 {
                    let (mut stream, _) = jaeger.accept().unwrap();
                    let head: Vec<String> = BufReader::new(&stream)
                        .lines()
                        .map(Result::unwrap)
                        .take_while(|line| !line.is_empty())
                        .collect();
                    let lowered = |line: &&String| line.to_ascii_lowercase().starts_with("authorization: ");
                    let token = head.iter().find(lowered).map_or("", |line| &line["authorization: ".len()..]);
                    let text = format!("{} {token}", head[0].split(' ').nth(1).unwrap());
                    write!(
                        stream,
                        "HTTP/1.1 429 Busy\r\nContent-Type: text/x\r\nRetry-After: 7\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}",
                        text.len()
                    )
                    .unwrap();
                }
            });
            serving(&folder.0, Some(&base), |server| {
                for prefix in ["", "/jaeger"] {
                    let line = format!("GET {prefix}/api/traces?service=a%20b&limit=2");
                    let (head, body) = ask(server, &line, "Authorization: Bearer t\r\n");
                    assert!(head.starts_with("HTTP/1.1 429") && head.contains("text/x"), "{head}");
                    assert!(head.contains("retry-after: 7") && head.contains("'none'; sandbox"), "{head}");
                    assert!(body.contains("/base/api/traces?service=a%20b&limit=2 Bearer t"), "{body}");
                }
                let (head, _) = ask(server, "GET /jaeger/trace/a1?uiFind=b2", "");
                assert!(
                    head.starts_with("HTTP/1.1 302") && head.contains("/base/trace/a1?uiFind=b2\r\n"),
                    "{head}"
                );
                for (ours, theirs) in [
                    ("/search?service=a", "/base/search?service=a"),
                    ("/jaeger/search", "/base/search"),
                    ("/jaeger/trace/a...b", "/base/trace/a...b"),
                    ("/jaeger/dependencies", "/base/dependencies"),
                    ("/jaeger", "/base"),
                    ("/jaeger/", "/base/"),
                ] {
                    let (head, _) = ask(server, &format!("GET {ours}"), "");
                    assert!(
                        head.starts_with("HTTP/1.1 302") && head.contains(&format!("{theirs}\r\n")),
                        "{head}"
                    );
                }
                let mut stream = TcpStream::connect(server).unwrap();
                write!(
                    stream,
                    "GET /api/services HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
                )
                .unwrap();
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                assert!(text.starts_with("HTTP/1.1 403"), "{text}");
            });
        });
    }

    #[test]
    fn a_missing_jaeger_is_an_error_in_its_own_form() {
        let folder = Folder::new("none", &[("index.html", "")]);
        serving(&folder.0, None, |server| {
            let (head, body) = ask(server, "GET /api/services", "");
            assert!(
                head.starts_with("HTTP/1.1 501") && body.contains("\"errors\":[{\"code\":501"),
                "{head} {body}"
            );
        });
        serving(&folder.0, Some("http://127.0.0.1:1"), |server| {
            let (head, body) = ask(server, "GET /api/services", "");
            assert!(head.starts_with("HTTP/1.1 502") && body.contains("does not answer"), "{head} {body}");
        });
    }

    #[test]
    fn an_address_of_jaeger_that_cannot_be_used_is_refused_at_once() {
        assert!(jaeger_url("localhost:16686").is_err_and(|words| words.contains("http://")));
        for bad in [
            "",
            "http://",
            "http://:80",
            "http://h:",
            "http://h:x",
            "http://h:99999",
            "http://a b",
            "ftp://h",
            "/jaeger",
        ] {
            assert!(jaeger_url(bad).is_err(), "{bad}");
        }
        assert!(jaeger_url("http://h/?token=x").is_err() && jaeger_url("http://h/#x").is_err());
        for good in ["http://h", "http://h:16686/", "https://h/jaeger/", "http://[::1]:16686"] {
            assert_eq!(jaeger_url(good).unwrap().shown, good.trim_end_matches('/'));
        }
    }

    #[test]
    fn name_and_password_of_jaeger_go_to_jaeger_and_to_nobody_else() {
        let jaeger = TcpListener::bind("127.0.0.1:0").unwrap();
        let place = jaeger.local_addr().unwrap();
        let folder = Folder::new("secret", &[("index.html", "")]);
        serving(&folder.0, Some(&format!("http://tom:s3cret@{place}")), |server| {
            thread::scope(|scope| {
                let heard = scope.spawn(|| {
                    let (stream, _) = jaeger.accept().unwrap();
                    let lines = BufReader::new(&stream).lines().map(Result::unwrap);
                    lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
                });
                // It hangs up without an answer.
                let (head, body) = ask(server, "GET /api/services", "");
                assert!(
                    head.starts_with("HTTP/1.1 502") && body.contains(&place.to_string()),
                    "{head} {body}"
                );
                assert!(!head.contains("s3cret") && !body.contains("s3cret"), "{head} {body}");
                let heard = heard.join().unwrap().to_ascii_lowercase();
                assert!(heard.contains("authorization: basic dg9tonmzy3jlda=="), "{heard}");
            });
            let (head, body) = ask(server, "GET /trace/a1", "");
            assert!(head.contains(&format!("location: http://{place}/trace/a1\r\n")), "{head}");
            assert!(!head.contains("s3cret") && !body.contains("s3cret"), "{head} {body}");
        });
    }

    #[test]
    fn a_jaeger_that_never_answers_is_given_up_and_holds_up_no_file() {
        let jaeger = TcpListener::bind("127.0.0.1:0").unwrap();
        let base = format!("http://{}", jaeger.local_addr().unwrap());
        let folder = Folder::new("silent", &[("index.html", "<p>")]);
        serving(&folder.0, Some(&base), |server| {
            // More than tokio has threads that may block (512): if each held one, none would be left for the file.
            let mut hung: Vec<TcpStream> = (0..600).map(|_| TcpStream::connect(server).unwrap()).collect();
            for stream in &mut hung {
                write!(stream, "GET /api/services HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                    .unwrap();
            }
            let begun = Instant::now();
            let (head, body) = ask(server, "GET /", "");
            assert!(head.starts_with("HTTP/1.1 200") && body == "<p>", "{head}");
            assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
            for stream in &mut hung {
                let mut text = String::new();
                stream.read_to_string(&mut text).unwrap();
                assert!(
                    text.starts_with("HTTP/1.1 504") && text.contains("has not answered for 1 s"),
                    "{text}"
                );
            }
        });
    }

    #[test]
    fn only_this_server_and_who_was_named_may_show_a_page_in_a_frame() {
        let folder = Folder::new("frames", &[("index.html", "<p>")]);
        serving(&folder.0, None, |server| {
            let (head, _) = ask(server, "GET /", "");
            assert!(head.contains("; frame-ancestors 'self'\r\n"), "{head}");
        });
        let named =
            Args { frame_ancestor: vec![origin("https://jaeger.example").unwrap()], ..args(&folder.0, None) };
        let files = framing(&named);
        assert_eq!(files, "frame-ancestors 'self' https://jaeger.example");
        for bad in [
            "*",
            "https://a.example/x",
            "https://a.example; script-src *",
            "https://a@b.example",
            "https://a;b",
        ] {
            assert!(origin(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn connections_kept_open_hold_up_nobody() {
        let folder = Folder::new("idle", &[("index.html", "<p>")]);
        serving(&folder.0, None, |server| {
            // As browsers do: several at once, and none is closed after its answer.
            let mut kept = Vec::new();
            for _ in 0..20 {
                let mut fresh: Vec<TcpStream> = (0..8).map(|_| TcpStream::connect(server).unwrap()).collect();
                for stream in &mut fresh {
                    write!(stream, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").unwrap();
                }
                for stream in &mut fresh {
                    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
                    let mut start = [0; 12];
                    stream.read_exact(&mut start).expect("an answer beside idle connections");
                    assert_eq!(&start, b"HTTP/1.1 200");
                }
                kept.append(&mut fresh);
            }
        });
    }

    #[test]
    fn only_names_of_this_machine_are_local() {
        assert!(["127.0.0.1:80", "localhost", "[::1]:80", "[::1]"].iter().all(|host| is_local(host)));
        assert!(!["127.0.0.1.evil.example", "evil.example:80", ""].iter().any(|host| is_local(host)));
    }
}
