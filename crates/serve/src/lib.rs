//! `pathlight serve`: a folder of static files, and a Jaeger query service on the same origin. A crate of its own, so that
//! `cargo xtask serve` compiles a server and not the whole product.
//!
//! A browser lets a page read a Jaeger API of another origin only if Jaeger allows it, which it does not by default.
//! Served beside the page, no permission is needed.

mod files;
mod jaeger;
pub mod listen;
pub mod redirects;

use std::io::{self, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::header::{
    CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, COOKIE, HOST, ORIGIN, TE, TRANSFER_ENCODING,
    UPGRADE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{Next, from_fn, map_response};
use axum::response::Response;
use axum::routing::get;
use tokio::runtime::Runtime;

use files::{Files, file};
use jaeger::{Jaeger, JaegerUrl, api_error, jaeger_url, lead_on, no_jaeger, pass_on};

/// Pages of Jaeger UI: all below /jaeger, and those beside Pathlight that no file of it can be.
const UI_PAGES: [&str; 7] =
    ["/jaeger", "/jaeger/", "/jaeger/{*path}", "/trace/{*path}", "/search", "/dependencies", "/monitor"];

/// Options of `pathlight serve`.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// The folder to serve, as built by `cargo xtask build`
    dir: PathBuf,
    /// The port to listen on, on this machine only; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// A Jaeger query service, such as http://host:16686 or https://host/jaeger: /api/ and /jaeger/api/ are passed on to it, and links to pages of Jaeger UI lead there
    #[arg(long, value_name = "URL", value_parser = jaeger_url)]
    jaeger: Option<JaegerUrl>,
    /// Header that is passed on to Jaeger, besides `Accept` and `Authorization`: those that name a tenant; may be repeated
    #[arg(long, value_name = "HEADER", value_parser = passed, default_values = ["x-tenant", "x-scope-orgid"])]
    pass_header: Vec<HeaderName>,
    /// Longest silence of Jaeger, in seconds, before a request to it is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    jaeger_timeout: u64,
    /// Host that may be asked too where Jaeger redirects there, such as `traces.example` or `traces.example:8443`; may be repeated (default: none)
    #[arg(long, value_name = "HOST", requires = "jaeger", value_parser = redirects::host)]
    follow: Vec<redirects::Host>,
    /// Origin whose pages may show this one in a frame, such as `https://jaeger.example`; may be repeated (default: only this server's own)
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    frame_ancestor: Vec<String>,
}

/// Reads the value of `--pass-header`.
fn passed(text: &str) -> Result<HeaderName, &'static str> {
    let is_refused = |name: &HeaderName| {
        [COOKIE, HOST, ORIGIN, CONTENT_LENGTH, CONNECTION, TRANSFER_ENCODING, UPGRADE, TE].contains(name)
    };
    let name = text.parse::<HeaderName>().ok().filter(|name| !is_refused(name));
    name.ok_or("write the name of a header that names a tenant: x-tenant")
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
pub fn run(args: &ServeArgs) -> io::Result<()> {
    let (listener, routes) = open(args)?;
    let mut out = io::stdout();
    writeln!(out, "http://127.0.0.1:{}/", listener.local_addr()?.port())?;
    out.flush()?;
    Runtime::new()?.block_on(serve(listener, routes))
}

fn open(args: &ServeArgs) -> io::Result<(TcpListener, Router)> {
    if !args.dir.is_dir() {
        return Err(io::Error::other(format!("{} is no folder to serve", args.dir.display())));
    }
    let listener = bind(args.port)?;
    let patience = Duration::from_secs(args.jaeger_timeout);
    let jaeger = args
        .jaeger
        .clone()
        .map(|url| Jaeger::new(url, args.follow.clone(), args.pass_header.clone(), patience));
    let files = Files { dir: args.dir.clone(), framing: framing(&args.frame_ancestor) };
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

/// Listens at a port of this machine; 0 takes a free one.
///
/// # Errors
/// The port is taken.
pub fn bind(port: u16) -> io::Result<TcpListener> {
    let listener = TcpListener::bind(("127.0.0.1", port)).map_err(|error| {
        io::Error::other(format!("cannot listen on port {port}: {error}; --port 0 takes a free one"))
    })?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Returns the part of the policy that says who may show a page of ours in a frame: `frame-ancestors 'self' ..`.
fn framing(ancestors: &[String]) -> String {
    [&["frame-ancestors 'self'".to_owned()], ancestors].concat().join(" ")
}

/// Answers every request. Browsers keep connections open, so none may hold up another.
async fn serve(listener: TcpListener, routes: Router) -> io::Result<()> {
    // The outer layer comes last: a refused request is answered with a policy too.
    let routes = routes.layer(from_fn(answer_own)).layer(map_response(keep_inert));
    axum::serve(tokio::net::TcpListener::from_std(listener)?, routes).await
}

/// Answers programs of this machine until the process ends: requests that name this machine as their host, and that no page
/// sends but one of this machine.
///
/// # Errors
/// The connection cannot be used.
pub fn serve_programs(listener: TcpListener, routes: Router) -> io::Result<()> {
    Runtime::new()?.block_on(serve(listener, routes.layer(from_fn(refuse_foreign_pages))))
}

/// Answers what programs send, which name no origin, and pages of this machine: a foreign page must not even ask.
async fn refuse_foreign_pages(request: Request, next: Next) -> Response {
    let is_own = request.headers().get(ORIGIN).is_none_or(|origin| {
        let host = origin.to_str().ok().and_then(|origin| Some(origin.split_once("://")?.1));
        host.is_some_and(is_local)
    });
    if is_own {
        return next.run(request).await;
    }
    api_error(StatusCode::FORBIDDEN, "Pages of other origins are not answered.")
}

/// Gives an answer the policy of data unless it has one of its own, and fixes its type: opened as a page, an error or a
/// Jaeger's answer runs nothing and stands in no frame.
async fn keep_inert(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let policy = HeaderValue::from_static("default-src 'none'; sandbox; frame-ancestors 'none'");
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(policy);
    response
}

/// Answers what was asked by a name of this machine: a foreign page whose host name was made to point here must neither
/// write nor read, files no more than a Jaeger.
async fn answer_own(request: Request, next: Next) -> Response {
    if is_own(request.headers()) {
        return next.run(request).await;
    }
    let words = "Only this machine is answered, by its own name: open http://127.0.0.1 with the port, or let the proxy send \
                 `Host: 127.0.0.1`.";
    api_error(StatusCode::FORBIDDEN, words)
}

/// Returns whether a request names this machine as its host.
fn is_own(headers: &HeaderMap) -> bool {
    headers.get(HOST).and_then(|host| host.to_str().ok()).is_some_and(is_local)
}

/// Returns whether a `Host` header names this machine.
fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').filter(|(_, port)| !port.contains(']')).map_or(host, |(name, _)| name);
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

#[cfg(test)]
mod tests;
