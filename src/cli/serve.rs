//! `pathlight serve`: a folder of static files, and a Jaeger query service on the same origin.
//!
//! A browser lets a page read a Jaeger API of another origin only if Jaeger allows it, which it does not by default.
//! Served beside the page, no permission is needed.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use tiny_http::{Header, Method, Request, Response, ResponseBox, Server};
use ureq::Agent;

use super::Failure;

/// What the page needs and nothing more. The README tells hosts to send the same.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
                      worker-src 'self' blob:; img-src 'self' data: blob:";

/// More than the page ever asks for at once (six requests to Jaeger and its own files).
const THREADS: usize = 10;

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
    let (server, site) = open(args)?;
    let port = server.server_addr().to_ip().map_or(args.port, |address| address.port());
    let mut out = io::stdout();
    writeln!(out, "http://127.0.0.1:{port}/")?;
    out.flush()?;
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| site.work(&server));
        }
    });
    Ok(())
}

fn open(args: &Args) -> Result<(Arc<Server>, Site), Failure> {
    if !args.dir.is_dir() {
        return Err(Failure::Usage(format!("{} is no folder to serve", args.dir.display())));
    }
    let jaeger = args.jaeger.as_deref().map(|url| url.trim_end_matches('/').to_owned());
    if let Some(url) = &jaeger
        && !(url.starts_with("http://") || url.starts_with("https://"))
    {
        return Err(Failure::Usage(format!("--jaeger {url}: give the address with http:// or https://")));
    }
    let server = Server::http(("127.0.0.1", args.port)).map_err(|error| {
        Failure::Usage(format!("cannot listen on port {}: {error}; --port 0 takes a free one", args.port))
    })?;
    let agent = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_connect(Some(Duration::from_secs(10)))
        .user_agent(concat!("pathlight/", env!("CARGO_PKG_VERSION")))
        .build()
        .into();
    Ok((Arc::new(server), Site { dir: args.dir.clone(), jaeger, agent }))
}

/// What is served.
struct Site {
    dir: PathBuf,
    /// Without a slash at its end.
    jaeger: Option<String>,
    agent: Agent,
}

impl Site {
    /// Answers requests until the server stops.
    fn work(&self, server: &Server) {
        while let Ok(request) = server.recv() {
            let response = self.answer(&request);
            // A browser that has left is no concern of ours.
            let _ = request.respond(response);
        }
    }

    fn answer(&self, request: &Request) -> ResponseBox {
        let (path, _) = split_query(request.url());
        if !matches!(request.method(), Method::Get | Method::Head) {
            return plain(405, "Only GET and HEAD are answered here.", &[("Allow", "GET, HEAD")]);
        }
        let api = path.strip_prefix("/jaeger").unwrap_or(path);
        if api.starts_with("/api/") {
            return self.pass_on(request);
        }
        if let Some(jaeger) = self.jaeger.as_ref().filter(|_| api.starts_with("/trace/")) {
            // The page's links back to Jaeger UI lead to Jaeger itself, which knows its own address.
            let rest = request.url().strip_prefix("/jaeger").unwrap_or(request.url());
            return plain(302, "", &[("Location", &format!("{jaeger}{rest}"))]);
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
    fn file(&self, request: &Request, path: &Path) -> io::Result<ResponseBox> {
        let mut file = File::open(path)?;
        let facts = file.metadata()?;
        let changed = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let tag = format!("\"{:x}-{:x}\"", facts.len(), changed.unwrap_or_default().as_nanos());
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let cache = if is_hashed(&name) { "public, max-age=31536000, immutable" } else { "no-cache" };
        let mut headers = headers(&[
            ("Content-Type", content_type(&name)),
            ("Cache-Control", cache),
            ("ETag", &tag),
            ("X-Content-Type-Options", "nosniff"),
        ]);
        if !(name.ends_with(".html") && has_own_policy(&mut file)?) {
            headers.extend(self::headers(&[("Content-Security-Policy", POLICY)]));
        }
        if field(request, "If-None-Match").is_some_and(|known| known.split(',').any(|one| one.trim() == tag))
        {
            return Ok(Response::new(304.into(), headers, Box::new(io::empty()) as _, Some(0), None));
        }
        let length = usize::try_from(facts.len()).ok();
        // Always with its length, so that the page can show how much of a file has come.
        let response =
            Response::new(200.into(), headers, Box::new(file) as Box<dyn Read + Send>, length, None);
        Ok(response.with_chunked_threshold(usize::MAX))
    }

    /// Jaeger's answer to this request, as it comes.
    fn pass_on(&self, request: &Request) -> ResponseBox {
        let Some(jaeger) = &self.jaeger else {
            return api_error(501, "No Jaeger is connected here: start the server with --jaeger URL.");
        };
        // A foreign page whose host name was made to point at this machine must not get at Jaeger through us.
        if !field(request, "Host").is_some_and(|host| is_local(&host)) {
            return api_error(
                403,
                "Jaeger is passed on to pages of this machine only: open the page as 127.0.0.1.",
            );
        }
        let target = format!("{jaeger}{}", request.url().strip_prefix("/jaeger").unwrap_or(request.url()));
        let mut call = if *request.method() == Method::Head {
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
        let status = answer.status().as_u16();
        let body = answer.into_body().into_reader();
        Response::new(status.into(), headers, Box::new(body) as _, None, None)
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

/// Path and query of a request target.
fn split_query(url: &str) -> (&str, &str) {
    url.split_once('?').unwrap_or((url, ""))
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
fn field(request: &Request, name: &'static str) -> Option<String> {
    request
        .headers()
        .iter()
        .find(|header| header.field.equiv(name))
        .map(|header| header.value.as_str().to_owned())
}

/// Headers of a response, without those that cannot be sent (values beyond ASCII).
fn headers(list: &[(&str, &str)]) -> Vec<Header> {
    list.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok()).collect()
}

fn plain(status: u16, text: &str, more: &[(&str, &str)]) -> ResponseBox {
    let mut all = headers(&[("Content-Type", "text/plain; charset=utf-8")]);
    all.extend(headers(more));
    let body = io::Cursor::new(text.to_owned().into_bytes());
    Response::new(status.into(), all, Box::new(body) as _, Some(text.len()), None)
}

/// An error in the form Jaeger's own errors have, which the page explains.
fn api_error(status: u16, message: &str) -> ResponseBox {
    let text = serde_json::json!({ "errors": [{ "code": status, "msg": message }] }).to_string();
    // The last Content-Type counts.
    plain(status, &text, &[("Content-Type", "application/json")])
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::net::{SocketAddr, TcpStream};

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
        let (server, site) = open(&Args { dir: dir.to_owned(), port: 0, jaeger }).unwrap();
        let address = server.server_addr().to_ip().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| site.work(&server));
            let answer = ask(address);
            server.unblock();
            answer
        })
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
            let tag = head.lines().find_map(|line| line.strip_prefix("ETag: ")).unwrap();
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
        let jaeger = Server::http("127.0.0.1:0").unwrap();
        let base = format!("http://{}/base/", jaeger.server_addr().to_ip().unwrap());
        let folder = Folder::new("jaeger", &[("index.html", "")]);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..2 {
                    let request = jaeger.recv().unwrap();
                    let token = field(&request, "Authorization").unwrap_or_default();
                    let text = format!("{} {token}", request.url());
                    let _ = request.respond(plain(
                        429,
                        &text,
                        &[("Content-Type", "text/x"), ("Retry-After", "7")],
                    ));
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
    fn only_names_of_this_machine_are_local() {
        assert!(["127.0.0.1:80", "localhost", "[::1]:80", "[::1]"].iter().all(|host| is_local(host)));
        assert!(!["127.0.0.1.evil.example", "evil.example:80", ""].iter().any(|host| is_local(host)));
    }
}
