//! `pathlight serve`: a folder of static files, and a Jaeger query service on the same origin.
//!
//! A browser lets a page read a Jaeger API of another origin only if Jaeger allows it, which it does not by default.
//! Served beside the page, no permission is needed.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use http_body_util::channel::{Channel, Sender};
use http_body_util::{BodyExt, Full, combinators::UnsyncBoxBody};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::runtime::{Handle, Runtime};
use ureq::Agent;

use super::Failure;

/// What the page needs and nothing more. The README tells hosts to send the same.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
                      worker-src 'self' blob:; img-src 'self' data: blob:";

/// Bytes of a file or of Jaeger's answer that are read at once.
const CHUNK: usize = 64 << 10;
/// Chunks read ahead of the browser.
const AHEAD: usize = 8;

type Response = hyper::Response<UnsyncBoxBody<Bytes, io::Error>>;

/// Options of `pathlight serve`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder to serve, as built by `cargo xtask build`
    dir: PathBuf,
    /// The port to listen on, on this machine only; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// A Jaeger query service, as http://host:16686 or https://host/jaeger: /api/ and /jaeger/api/ are passed on to it, links to traces lead there
    #[arg(long, value_name = "URL")]
    jaeger: Option<String>,
}

/// Serves until the process ends.
///
/// # Errors
/// The folder is not there, the port is taken, or the Jaeger address is none.
pub fn run(args: &Args) -> Result<(), Failure> {
    let (listener, site) = open(args)?;
    let mut out = io::stdout();
    writeln!(out, "http://127.0.0.1:{}/", listener.local_addr()?.port())?;
    out.flush()?;
    Runtime::new()?.block_on(serve(listener, site))?;
    Ok(())
}

fn open(args: &Args) -> Result<(TcpListener, Site), Failure> {
    if !args.dir.is_dir() {
        return Err(Failure::Usage(format!("{} is no folder to serve", args.dir.display())));
    }
    let jaeger = args.jaeger.as_deref().map(|url| url.trim_end_matches('/').to_owned());
    if let Some(url) = &jaeger
        && !(url.starts_with("http://") || url.starts_with("https://"))
    {
        return Err(Failure::Usage(format!("--jaeger {url}: give the address with http:// or https://")));
    }
    let listener = TcpListener::bind(("127.0.0.1", args.port)).map_err(|error| {
        Failure::Usage(format!("cannot listen on port {}: {error}; --port 0 takes a free one", args.port))
    })?;
    listener.set_nonblocking(true)?;
    let agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(10)))
        .user_agent(concat!("pathlight/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    Ok((listener, Site { dir: args.dir.clone(), jaeger, agent }))
}

/// Answers every connection. Browsers keep idle ones open, so none may hold up another.
async fn serve(listener: TcpListener, site: Site) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let site = Arc::new(site);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, for instance: they become fewer.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let site = site.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let (site, request) = (site.clone(), request.map(drop));
            async move {
                let answer = tokio::task::spawn_blocking(move || site.answer(&request)).await;
                Ok::<_, Infallible>(answer.unwrap_or_else(|_| plain(500, "This request failed.", &[])))
            }
        });
        // A browser that has left is no concern of ours.
        tokio::spawn(
            http1::Builder::new().title_case_headers(true).serve_connection(TokioIo::new(stream), service),
        );
    }
}

/// The request without its body, which nothing served here has a use for.
type Request = hyper::Request<()>;

/// What is served.
struct Site {
    dir: PathBuf,
    /// Without a slash at its end.
    jaeger: Option<String>,
    agent: Agent,
}

impl Site {
    /// Reads files and asks Jaeger, so it may take its time.
    fn answer(&self, request: &Request) -> Response {
        let path = request.uri().path();
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return plain(405, "Only GET and HEAD are answered here.", &[("Allow", "GET, HEAD")]);
        }
        let api = path.strip_prefix("/jaeger").unwrap_or(path);
        if api.starts_with("/api/") {
            return self.pass_on(request);
        }
        if let Some(jaeger) = self.jaeger.as_ref().filter(|_| api.starts_with("/trace/")) {
            // The page's links back to Jaeger UI lead to Jaeger itself, which knows its own address.
            let place = format!("{jaeger}{}", of_jaeger(request.uri()));
            return plain(302, "", &[("Location", &place)]);
        }
        let answer = match locate(&self.dir, path) {
            Place::File(file) => self.file(request, &file),
            Place::Folder => {
                // Relative, or `//x` would lead to a host named x.
                let last = path.rsplit('/').next().unwrap_or_default();
                Ok(plain(301, "", &[("Location", &format!("{last}/"))]))
            }
            Place::Nowhere => Ok(plain(404, "There is no such file here.", &[])),
        };
        answer.unwrap_or_else(|error| plain(500, &format!("This file cannot be read: {error}."), &[]))
    }

    /// A static file, or 304 if the browser has it.
    fn file(&self, request: &Request, path: &Path) -> io::Result<Response> {
        let mut file = File::open(path)?;
        let facts = file.metadata()?;
        let changed = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let tag = format!("\"{:x}-{:x}\"", facts.len(), changed.unwrap_or_default().as_nanos());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let cache = if is_hashed(&name) { "public, max-age=31536000, immutable" } else { "no-cache" };
        let length = facts.len().to_string();
        let mut headers = headers(&[
            ("Content-Type", content_type(&name)),
            ("Cache-Control", cache),
            ("ETag", &tag),
            ("X-Content-Type-Options", "nosniff"),
        ]);
        if !(name.ends_with(".html") && has_own_policy(&mut file)?) {
            headers.extend(self::headers(&[("Content-Security-Policy", POLICY)]));
        }
        let is_known = |known: &str| known.split(',').any(|one| one.trim() == tag);
        if field(request, "If-None-Match").is_some_and(is_known) {
            return Ok(response(304, headers, whole("")));
        }
        // Always with its length, so that the page can show how much of a file has come.
        headers.extend(self::headers(&[("Content-Length", &length)]));
        Ok(response(200, headers, if *request.method() == Method::HEAD { whole("") } else { stream(file) }))
    }

    /// Jaeger's answer to this request, as it comes.
    fn pass_on(&self, request: &Request) -> Response {
        let Some(jaeger) = &self.jaeger else {
            return api_error(501, "No Jaeger is connected here: start the server with --jaeger URL.");
        };
        // A foreign page whose host name was made to point at this machine must not get at Jaeger through us.
        if !field(request, "Host").is_some_and(is_local) {
            return api_error(
                403,
                "Jaeger is passed on to pages of this machine only: open the page as 127.0.0.1.",
            );
        }
        let target = format!("{jaeger}{}", of_jaeger(request.uri()));
        let mut call = if *request.method() == Method::HEAD {
            self.agent.head(&target)
        } else {
            self.agent.get(&target)
        };
        for name in ["Accept", "Authorization"] {
            if let Some(value) = field(request, name) {
                call = call.header(name, value);
            }
        }
        let answer = match call.call() {
            Ok(answer) => answer,
            Err(error) => return api_error(502, &format!("{jaeger} does not answer: {error}.")),
        };
        let mut headers = headers(&[("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]);
        for name in ["Content-Type", "Retry-After", "WWW-Authenticate"] {
            if let Some(value) = answer.headers().get(name).and_then(|value| value.to_str().ok()) {
                headers.extend(self::headers(&[(name, value)]));
            }
        }
        response(answer.status().as_u16(), headers, stream(answer.into_body().into_reader()))
    }
}

/// Where an address leads.
#[derive(Debug, PartialEq)]
enum Place {
    File(PathBuf),
    /// A folder named without the slash that makes its pages' relative addresses right.
    Folder,
    Nowhere,
}

/// The file of `dir` that the path of an address names. Nothing outside `dir` can be named.
fn locate(dir: &Path, path: &str) -> Place {
    let Some(path) = decode(path) else { return Place::Nowhere };
    let mut place = dir.to_owned();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        // A colon or backslash means something in a path of Windows.
        if part == ".." || part.contains(['\\', ':', '\0']) {
            return Place::Nowhere;
        }
        place.push(part);
    }
    if place.is_dir() {
        if !path.ends_with('/') {
            return Place::Folder;
        }
        place.push("index.html");
    }
    if place.is_file() { Place::File(place) } else { Place::Nowhere }
}

/// Percent-decoding; `None` if the result is no text.
fn decode(path: &str) -> Option<String> {
    let bytes = path.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b'%' {
            let digits = path.get(at + 1..at + 3)?;
            out.push(u8::from_str_radix(digits, 16).ok()?);
            at += 3;
        } else {
            out.push(bytes[at]);
            at += 1;
        }
    }
    String::from_utf8(out).ok()
}

/// Path and query as Jaeger knows them.
fn of_jaeger(uri: &Uri) -> &str {
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    target.strip_prefix("/jaeger").unwrap_or(target)
}

/// Whether a `Host` header names this machine.
fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(host, |(name, _)| name);
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

/// Whether the build put a hash of the content into this name: `style-0123456789.css`.
fn is_hashed(name: &str) -> bool {
    let Some((_, tail)) = name.rsplit_once('-') else { return false };
    let Some((hash, _)) = tail.split_once('.') else { return false };
    hash.len() == 10 && hash.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
}

/// Whether an HTML file begins with a policy of its own: the page in one file. A second one would forbid its scripts.
fn has_own_policy(file: &mut File) -> io::Result<bool> {
    let mut head = Vec::new();
    file.take(2048).read_to_end(&mut head)?;
    io::Seek::rewind(file)?;
    Ok(memchr::memmem::find(&head, b"http-equiv=\"Content-Security-Policy\"").is_some())
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "css" => "text/css; charset=utf-8",
        // Packed traces are data for the page, which unpacks them itself: no Content-Encoding.
        "gz" => "application/gzip",
        "html" => "text/html; charset=utf-8",
        "ico" => "image/x-icon",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" | "map" | "webmanifest" => "application/json",
        "md" | "txt" | "ts" => "text/plain; charset=utf-8",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "wasm" => "application/wasm",
        "zip" => "application/zip",
        _ => "application/octet-stream",
    }
}

/// A header of the request.
fn field<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers().get(name)?.to_str().ok()
}

/// Headers of a response, without those that cannot be sent.
fn headers(list: &[(&str, &str)]) -> HeaderMap {
    let one = |(name, value): &(&str, &str)| {
        Some((HeaderName::try_from(*name).ok()?, HeaderValue::try_from(*value).ok()?))
    };
    list.iter().filter_map(one).collect()
}

fn response(status: u16, headers: HeaderMap, body: UnsyncBoxBody<Bytes, io::Error>) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    *response.headers_mut() = headers;
    response
}

fn whole(text: &str) -> UnsyncBoxBody<Bytes, io::Error> {
    Full::from(text.to_owned()).map_err(|never| match never {}).boxed_unsync()
}

/// A body that is read while it is sent.
fn stream(reader: impl Read + Send + 'static) -> UnsyncBoxBody<Bytes, io::Error> {
    let (sender, body) = Channel::new(AHEAD);
    tokio::task::spawn_blocking(move || feed(reader, sender));
    body.boxed_unsync()
}

fn feed(mut reader: impl Read, mut sender: Sender<Bytes, io::Error>) {
    let runtime = Handle::current();
    loop {
        let mut chunk = Vec::with_capacity(CHUNK);
        match reader.by_ref().take(CHUNK as u64).read_to_end(&mut chunk) {
            Err(error) => return sender.abort(error),
            Ok(0) => return,
            // A browser that has left is no concern of ours.
            Ok(_) if runtime.block_on(sender.send_data(chunk.into())).is_err() => return,
            Ok(_) => {}
        }
    }
}

fn plain(status: u16, text: &str, more: &[(&str, &str)]) -> Response {
    let mut all = headers(&[("Content-Type", "text/plain; charset=utf-8")]);
    all.extend(headers(more));
    response(status, all, whole(text))
}

/// An error in the form Jaeger's own errors have, which the page explains.
fn api_error(status: u16, message: &str) -> Response {
    let text = serde_json::json!({ "errors": [{ "code": status, "msg": message }] }).to_string();
    plain(status, &text, &[("Content-Type", "application/json")])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{BufRead, BufReader};
    use std::net::{SocketAddr, TcpStream};
    use std::thread;

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

    /// Serves a folder for as long as the closure runs.
    fn serving<T>(dir: &Path, jaeger: Option<String>, ask: impl FnOnce(SocketAddr) -> T) -> T {
        let (listener, site) = open(&Args { dir: dir.to_owned(), port: 0, jaeger }).unwrap();
        let address = listener.local_addr().unwrap();
        let runtime = Runtime::new().unwrap();
        runtime.spawn(serve(listener, site));
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
            assert!(head.contains("text/html") && head.contains("Cache-Control: no-cache"), "{head}");
            assert!(
                head.contains("script-src 'self' 'wasm-unsafe-eval'") && head.contains("Content-Length: 3")
            );
            let (head, _) = ask(server, "GET /a-0123456789.wasm", "");
            assert!(head.contains("application/wasm") && head.contains("immutable"), "{head}");
            let (head, _) = ask(server, "GET /demo.json.gz", "");
            assert!(head.contains("application/gzip") && !head.contains("Content-Encoding"), "{head}");
        });
    }

    #[test]
    fn a_known_tag_is_answered_without_the_file_and_head_without_a_body() {
        let folder = Folder::new("tags", &[("index.html", "<p>")]);
        serving(&folder.0, None, |server| {
            let (head, body) = ask(server, "HEAD /index.html", "");
            assert!(head.contains("Content-Length: 3") && body.is_empty());
            let tag = head.lines().find_map(|line| line.strip_prefix("Etag: ")).unwrap();
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
            assert!(!head.contains("Content-Security-Policy") && body == own, "{head}");
        });
    }

    #[test]
    fn nothing_outside_the_folder_can_be_named() {
        let folder = Folder::new(
            "outside",
            &[("site/index.html", "in"), ("secret.txt", "out"), ("site/sub/a.txt", "a")],
        );
        let site = folder.0.join("site");
        for path in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/sub/..%2f..%2fsecret.txt",
            "/..%5csecret.txt",
            "/%00",
            "/%zz",
        ] {
            assert_eq!(locate(&site, path), Place::Nowhere, "{path}");
        }
        assert_eq!(locate(&site, "//sub/./a.txt"), Place::File(site.join("sub/a.txt")));
        assert_eq!(locate(&site, "/sub"), Place::Folder);
        assert_eq!(locate(&site, "/sub/"), Place::Nowhere);
    }

    #[test]
    fn a_folder_without_its_slash_leads_into_this_server_only() {
        let folder = Folder::new("slash", &[("evil.example/index.html", "x")]);
        serving(&folder.0, None, |server| {
            let (head, _) = ask(server, "GET //evil.example", "");
            assert!(head.contains("Location: evil.example/\r\n"), "{head}");
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
            serving(&folder.0, Some(base), |server| {
                for prefix in ["", "/jaeger"] {
                    let line = format!("GET {prefix}/api/traces?service=a%20b&limit=2");
                    let (head, body) = ask(server, &line, "Authorization: Bearer t\r\n");
                    assert!(head.starts_with("HTTP/1.1 429") && head.contains("text/x"), "{head}");
                    assert!(head.contains("Retry-After: 7"), "{head}");
                    assert!(body.contains("/base/api/traces?service=a%20b&limit=2 Bearer t"), "{body}");
                }
                let (head, _) = ask(server, "GET /jaeger/trace/a1?uiFind=b2", "");
                assert!(
                    head.starts_with("HTTP/1.1 302") && head.contains("/base/trace/a1?uiFind=b2\r\n"),
                    "{head}"
                );
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
        serving(&folder.0, Some("http://127.0.0.1:1".to_owned()), |server| {
            let (head, body) = ask(server, "GET /api/services", "");
            assert!(head.starts_with("HTTP/1.1 502") && body.contains("does not answer"), "{head} {body}");
        });
        let args = Args { dir: folder.0.clone(), port: 0, jaeger: Some("localhost:16686".to_owned()) };
        assert!(matches!(open(&args), Err(Failure::Usage(text)) if text.contains("http://")));
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
