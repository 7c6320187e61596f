//! A web server for stand-ins: it answers with what a function says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::failure::Outcome;

/// An answer.
pub struct Answer {
    /// Status, 200 for instance.
    pub status: u16,
    /// Content type.
    pub kind: &'static str,
    /// Content.
    pub body: Vec<u8>,
}

impl Answer {
    /// Content that is there.
    pub fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status: 200, kind, body: body.into() }
    }

    /// Nothing is there.
    pub fn nothing() -> Answer {
        Answer { status: 404, kind: "text/plain", body: b"There is no such file here.".to_vec() }
    }

    /// A file of a folder, by the path of its address; nothing if it is not there.
    pub fn file(folder: &Path, path: &str) -> Answer {
        let path = path.trim_start_matches('/');
        let name = if path.is_empty() || path.ends_with('/') {
            format!("{path}index.html")
        } else {
            path.to_owned()
        };
        let kind = match name.rsplit('.').next().unwrap_or_default() {
            "css" => "text/css",
            "html" => "text/html; charset=utf-8",
            "js" => "text/javascript",
            "json" => "application/json",
            "svg" => "image/svg+xml",
            "wasm" => "application/wasm",
            _ => "application/octet-stream",
        };
        match std::fs::read(folder.join(&name)) {
            Ok(body) if !name.contains("..") => Answer::of(kind, body),
            _ => Answer::nothing(),
        }
    }
}

/// A server on a port of its own, until it is dropped.
pub struct Site {
    /// With a slash at its end.
    pub url: String,
    port: u16,
    ended: Arc<AtomicBool>,
}

impl Site {
    /// Answers every GET by what `answer` makes of its path and query.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(answer: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Outcome<Site> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let port = listener.local_addr()?.port();
        let ended = Arc::new(AtomicBool::new(false));
        let (over, answer) = (ended.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if over.load(Ordering::Relaxed) {
                    break;
                }
                let answer = answer.clone();
                std::thread::spawn(move || drop(serve(stream, &*answer)));
            }
        });
        Ok(Site { url: format!("http://127.0.0.1:{port}/"), port, ended })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // It looks up when somebody comes.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

/// One request, one answer.
fn serve(mut stream: TcpStream, answer: &dyn Fn(&str) -> Answer) -> std::io::Result<()> {
    let mut lines = BufReader::new(stream.try_clone()?).take(64 << 10);
    let mut first = String::new();
    lines.read_line(&mut first)?;
    let mut line = String::new();
    while lines.read_line(&mut line)? > 2 {
        line.clear();
    }
    let path = first.split(' ').nth(1).unwrap_or("/");
    // What browsers ask for of themselves; a missing one would be an error on the console.
    let answer = if path == "/favicon.ico" { Answer::of("image/x-icon", "") } else { answer(path) };
    let Answer { status, kind, body } = answer;
    write!(
        stream,
        "HTTP/1.1 {status} .\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}
