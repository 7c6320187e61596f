//! Static files, with the headers that keep a page by itself.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;
use tower_http::services::ServeDir;

/// The policy that lets the page do what it needs and nothing more. `docs/hosting.md` tells hosts to send the same;
/// `index.html` itself has a wider one.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; \
                      worker-src 'self' blob:; img-src 'self' data: blob:; ";

/// The folder that is served.
#[derive(Clone)]
pub struct Files {
    pub dir: PathBuf,
    /// The part of the policy that says who may show a page of ours in a frame.
    pub framing: String,
}

/// Answers with a static file, or with 304 if the browser has it.
pub async fn file(State(Files { dir, framing }): State<Files>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let decoded = percent_decode_str(&path).decode_utf8_lossy();
    let mut file = dir.join(decoded.trim_start_matches('/'));
    let missing = || (StatusCode::NOT_FOUND, "There is no such file here.").into_response();
    let mut response = match ServeDir::new(&dir).try_call(request).await {
        Ok(response) if response.status() != StatusCode::NOT_FOUND => response.map(Body::new),
        // Some names no file can have: too long, below a file, a link in a circle.
        Err(error) if error.kind() != io::ErrorKind::NotFound && file.canonicalize().is_ok() => {
            let words = format!("This file cannot be read: {error}.");
            return (StatusCode::INTERNAL_SERVER_ERROR, words).into_response();
        }
        _ => return missing(),
    };
    match is_within(&dir, &file) {
        Ok(true) => {}
        Ok(false) => {
            let words = "This is a link that leads out of the folder: what it leads to has to lie in the folder itself.";
            return (StatusCode::FORBIDDEN, words).into_response();
        }
        Err(_) => return missing(),
    }
    let headers = response.headers_mut();
    if headers.contains_key(LOCATION) {
        // To the same folder with its slash. Relative, or `//x` would lead to a host named x.
        let place = format!("{}/", path.rsplit('/').next().unwrap_or_default());
        return (StatusCode::MOVED_PERMANENTLY, [(LOCATION, place)]).into_response();
    }
    if path.ends_with('/') {
        file.push("index.html");
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    if let Some(kind) = headers.get(CONTENT_TYPE).and_then(|kind| text_type(&name, kind)) {
        headers.insert(CONTENT_TYPE, kind);
    }
    let cache = if is_hashed(&name) { "public, max-age=31536000, immutable" } else { "no-cache" };
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    let has_own = name.ends_with(".html") && has_own_policy(&file).unwrap_or_default();
    let policy = if has_own { framing } else { POLICY.to_owned() + &framing };
    if let Ok(policy) = policy.try_into() {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Returns whether a file lies in a folder once all links are followed.
fn is_within(folder: &Path, file: &Path) -> io::Result<bool> {
    Ok(file.canonicalize()?.starts_with(folder.canonicalize()?))
}

/// Returns the content type of a text with its encoding; `None` if the file is none.
fn text_type(name: &str, kind: &HeaderValue) -> Option<HeaderValue> {
    // Declarations of TypeScript are not the films that have the same ending.
    let is_plain = name.ends_with(".md") || name.ends_with(".ts");
    let kind =
        if is_plain { "text/plain" } else { kind.to_str().ok().filter(|kind| kind.starts_with("text/"))? };
    format!("{kind}; charset=utf-8").try_into().ok()
}

/// Returns whether the build put a hash of the content into this name: `style-0123456789.css`.
fn is_hashed(name: &str) -> bool {
    let Some((_, tail)) = name.rsplit_once('-') else { return false };
    let Some((hash, _)) = tail.split_once('.') else { return false };
    hash.len() == 10 && hash.bytes().all(|digit| digit.is_ascii_digit() || (b'a'..=b'f').contains(&digit))
}

/// Returns whether an HTML file begins with a policy of its own that ours would break: the page in one file, whose scripts
/// stand in it, and the example of a host page, which has frames. That of `index.html` allows for any host, so ours holds too.
fn has_own_policy(file: &Path) -> io::Result<bool> {
    let mut head = Vec::new();
    File::open(file)?.take(2048).read_to_end(&mut head)?;
    let has = |words: &[u8]| memchr::memmem::find(&head, words).is_some();
    Ok(has(b"http-equiv=\"Content-Security-Policy\"") && !has(b"script-src 'self' https:"))
}
