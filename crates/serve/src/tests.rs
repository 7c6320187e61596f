//! The server, asked by hand over its port.

use std::io::{BufRead, BufReader, Read as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Instant;
use std::{fs, thread};

use crate::*;

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

fn args(dir: &Path, jaeger: Option<&str>) -> ServeArgs {
    let jaeger = jaeger.map(|url| jaeger_url(url).unwrap());
    let (follow, frame_ancestor) = (Vec::new(), Vec::new());
    let pass_header = vec![passed("x-tenant").unwrap()];
    ServeArgs { dir: dir.to_owned(), port: 0, jaeger, jaeger_timeout: 1, follow, frame_ancestor, pass_header }
}

/// Serves a folder for as long as the closure runs.
fn serving<T>(dir: &Path, jaeger: Option<&str>, ask: impl FnOnce(SocketAddr) -> T) -> T {
    serving_as(&args(dir, jaeger), ask)
}

fn serving_as<T>(args: &ServeArgs, ask: impl FnOnce(SocketAddr) -> T) -> T {
    let (listener, routes) = open(args).unwrap();
    let address = listener.local_addr().unwrap();
    let runtime = Runtime::new().unwrap();
    runtime.spawn(serve(listener, routes));
    let answer = ask(address);
    runtime.shutdown_background();
    answer
}

/// Returns head and body of the answer to a request written by hand. Whatever it is, it has a policy and a type that
/// holds.
fn ask(address: SocketAddr, line: &str, more: &str) -> (String, String) {
    ask_as("127.0.0.1", address, line, more)
}

/// Asks the same by another name of the server.
fn ask_as(host: &str, address: SocketAddr, line: &str, more: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{line} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("x-content-type-options: nosniff"), "{line}: {head}");
    assert!(
        head.contains("content-security-policy: ") && head.contains("frame-ancestors '"),
        "{line}: {head}"
    );
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
        let documented = include_str!("../../../docs/hosting.md").lines();
        let policy =
            documented.filter_map(|line| line.strip_prefix("Content-Security-Policy: ")).next().unwrap();
        let policy = format!("content-security-policy: {policy}; frame-ancestors 'self'\r\n");
        assert!(head.contains(&policy) && head.contains("content-length: 3"), "{head}");
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
    let index = include_str!("../../../index.html");
    let folder = Folder::new("policy", &[("pathlight.html", own), ("index.html", index)]);
    serving(&folder.0, None, |server| {
        // That of the page in a folder is for hosts that send none: a narrower one holds here.
        let (head, _) = ask(server, "GET /", "");
        assert!(
            head.contains("content-security-policy: default-src 'none'; script-src 'self' 'wasm"),
            "{head}"
        );
        let (head, body) = ask(server, "GET /pathlight.html", "");
        assert!(
            head.contains("content-security-policy: frame-ancestors 'self'\r\n") && body == own,
            "{head}"
        );
    });
}

#[test]
fn nothing_outside_the_folder_can_be_named() {
    let folder =
        Folder::new("outside", &[("site/index.html", "in"), ("secret.txt", "out"), ("site/sub/a.txt", "a")]);
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
        // Nor anything inside by a foreign name that was made to point here, whether it is there or not.
        for path in ["/", "/sub/a.txt", "/sub", "/none", "/api/services", "/jaeger/api/services"] {
            for host in ["evil.example", "evil.example:80", "127.0.0.1.evil.example", ""] {
                let (head, body) = ask_as(host, server, &format!("GET {path}"), "");
                assert!(
                    head.starts_with("HTTP/1.1 403") && body.contains("open http://127.0.0.1"),
                    "{path}: {head}"
                );
            }
            let (head, _) = ask_as("localhost:8080", server, &format!("GET {path}"), "");
            assert!(!head.starts_with("HTTP/1.1 403"), "{path}: {head}");
        }
    });
}

#[test]
fn a_name_that_no_file_can_have_is_not_there() {
    let folder = Folder::new("long", &[("index.html", "in")]);
    serving(&folder.0, None, |server| {
        for path in
            [format!("/{}", "a".repeat(10_000)), format!("/{}x", "a/".repeat(5000)), "/a%00b".to_owned()]
        {
            let (head, _) = ask(server, &format!("GET {path}"), "");
            assert!(head.starts_with("HTTP/1.1 404"), "{head}");
        }
    });
}

#[cfg(unix)]
#[test]
fn a_link_is_served_only_if_it_stays_in_the_folder() {
    use std::os::unix::fs::symlink;
    let files = [("site/index.html", "in"), ("site/sub/index.html", "sub"), ("out/index.html", "out")];
    let folder = Folder::new("links", &files);
    let site = folder.0.join("site");
    for (to, name) in [("../out", "away"), ("../out/index.html", "away.html"), ("loop", "loop")] {
        symlink(to, site.join(name)).unwrap();
    }
    symlink("sub/index.html", site.join("near.html")).unwrap();
    symlink(&site, folder.0.join("served")).unwrap();
    // That the folder itself is named by a link is no matter.
    serving(&folder.0.join("served"), None, |server| {
        for path in ["/near.html", "/sub/"] {
            let (head, body) = ask(server, &format!("GET {path}"), "");
            assert!(head.starts_with("HTTP/1.1 200") && body == "sub", "{path}: {head}");
        }
        for path in ["/away.html", "/away/", "/away/index.html", "/away", "//away/index.html"] {
            let (head, body) = ask(server, &format!("GET {path}"), "");
            assert!(head.starts_with("HTTP/1.1 403") && body.contains("leads out"), "{path}: {head} {body}");
        }
        let (head, body) = ask(server, "GET /loop", "");
        assert!(head.starts_with("HTTP/1.1 404"), "{head} {body}");
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
                let names: Vec<String> = head[1..]
                    .iter()
                    .filter_map(|line| Some(line.split_once(':')?.0.to_ascii_lowercase()))
                    .collect();
                let text =
                    format!("{} {token} {}", head[0].split(' ').nth(1).unwrap(), names.join(","));
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
                let more = "Authorization: Bearer t\r\nCookie: session=1\r\nX-Other: 1\r\nX-Tenant: a\r\n";
                let (head, body) = ask(server, &line, more);
                assert!(head.starts_with("HTTP/1.1 429") && head.contains("text/x"), "{head}");
                assert!(head.contains("retry-after: 7") && head.contains("'none'; sandbox"), "{head}");
                assert!(body.contains("/base/api/traces?service=a%20b&limit=2 Bearer t"), "{body}");
                assert!(body.contains("authorization"), "{body}");
                assert!(body.contains("x-tenant"), "{body}");
                assert!(!body.contains("cookie") && !body.contains("x-other"), "{body}");
            }
            // Nobody writes through it, whatever Jaeger would allow.
            for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
                for path in ["/", "/api/traces", "/jaeger/api/traces"] {
                    let (head, _) =
                        ask(server, &format!("{method} {path}"), "Origin: http://evil.example\r\n");
                    assert!(head.starts_with("HTTP/1.1 405"), "{method} {path}: {head}");
                }
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
            for path in ["/api/services", "/trace/a1"] {
                let (head, _) = ask_as("evil.example", server, &format!("GET {path}"), "");
                assert!(head.starts_with("HTTP/1.1 403"), "{head}");
            }
        });
    });
}

/// Returns the path and the token, if there is one, of a request to a stand-in, which answers it with this.
fn answered(jaeger: &TcpListener, answer: &str) -> String {
    let (mut stream, _) = jaeger.accept().unwrap();
    let lines = BufReader::new(&stream).lines().map(Result::unwrap);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let token = head.iter().find(|line| line.to_ascii_lowercase().starts_with("authorization: "));
    let text = format!("{} {}", head[0].split(' ').nth(1).unwrap(), token.map_or("", |line| &line[15..]));
    write!(stream, "HTTP/1.1 {answer}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}", text.len())
        .unwrap();
    text
}

#[test]
fn jaeger_may_lead_to_its_own_origin_and_to_hosts_that_were_named() {
    let [jaeger, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let place = jaeger.local_addr().unwrap();
    let away = format!("127.0.0.1:{}", other.local_addr().unwrap().port());
    let folder = Folder::new("leads", &[("index.html", "")]);
    let base = format!("http://tom:s3cret@{place}/base");
    let token = "Authorization: Bearer t\r\n";
    let asked = |args: &ServeArgs| serving_as(args, |server| ask(server, "GET /api/services", token));
    thread::scope(|scope| {
        scope.spawn(|| {
            answered(&jaeger, "307 Away\r\nLocation: /base/api/v3?x=1");
            answered(&jaeger, "200 OK");
        });
        let (head, body) = asked(&args(&folder.0, Some(&base)));
        assert!(
            head.starts_with("HTTP/1.1 200") && body.contains("/base/api/v3?x=1 Bearer t"),
            "{head} {body}"
        );
    });
    thread::scope(|scope| {
        scope.spawn(|| answered(&jaeger, &format!("302 Away\r\nLocation: http://{away}/login?secret=1")));
        let (head, body) = asked(&args(&folder.0, Some(&base)));
        assert!(head.starts_with("HTTP/1.1 502"), "{head}");
        assert!(body.contains(&format!("http://{away}")) && body.contains("--follow"), "{body}");
        assert!(!body.contains("secret") && !body.contains("s3cret"), "{body}");
        other.set_nonblocking(true).unwrap();
        assert!(other.accept().is_err(), "it was asked");
        other.set_nonblocking(false).unwrap();
    });
    let named = ServeArgs { follow: vec![redirects::host(&away).unwrap()], ..args(&folder.0, Some(&base)) };
    thread::scope(|scope| {
        scope.spawn(|| {
            answered(&jaeger, &format!("302 Away\r\nLocation: //{away}/there"));
            answered(&other, "200 OK");
        });
        let (head, body) = asked(&named);
        assert!(
            head.starts_with("HTTP/1.1 200") && body.contains("/there \r\n"),
            "neither token nor login: {head} {body}"
        );
    });
    // In a circle it ends.
    thread::scope(|scope| {
        scope.spawn(|| (0..10).for_each(|_| drop(answered(&jaeger, "302 Round\r\nLocation: services"))));
        let (head, _) = asked(&args(&folder.0, Some(&base)));
        assert!(head.starts_with("HTTP/1.1 502"), "{head}");
    });
}

#[test]
fn nothing_beside_its_api_is_asked_of_jaeger() {
    let jaeger = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://tom:s3cret@{}/base", jaeger.local_addr().unwrap());
    let folder = Folder::new("beside", &[("index.html", "")]);
    serving(&folder.0, Some(&base), |server| {
        for path in [
            "/api/../admin",
            "/api/%2e%2e/admin",
            "/api/.%2E/admin",
            "/api/./services",
            "/api/services/..%2f..%2fadmin",
            "/api/%252e%252e/admin",
            "/api/..%5cadmin",
            "/jaeger/api/../../admin",
            "/api/x/..",
        ] {
            let (head, body) = ask(server, &format!("GET {path}"), "");
            assert!(head.starts_with("HTTP/1.1 400") && body.contains("leads out"), "{path}: {head}");
        }
        thread::scope(|scope| {
            let heard = scope.spawn(|| answered(&jaeger, "200 OK"));
            ask(server, "GET /api/services/a%2Fb..%25/operations?x=..", "");
            let heard = heard.join().unwrap();
            assert!(heard.starts_with("/base/api/services/a%2Fb..%25/operations?x=.. "), "{heard}");
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
            assert!(head.starts_with("HTTP/1.1 502") && body.contains(&place.to_string()), "{head} {body}");
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
            assert!(text.starts_with("HTTP/1.1 504") && text.contains("has not answered for 1 s"), "{text}");
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
    let named = ServeArgs {
        frame_ancestor: vec![origin("https://jaeger.example").unwrap()],
        ..args(&folder.0, None)
    };
    let files = framing(&named.frame_ancestor);
    assert_eq!(files, "frame-ancestors 'self' https://jaeger.example");
    for bad in
        ["*", "https://a.example/x", "https://a.example; script-src *", "https://a@b.example", "https://a;b"]
    {
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
