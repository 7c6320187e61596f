//! Redirects of a query service: followed on its own origin, and to hosts that the user has named.
//!
//! A server that is asked decides by a redirect who is asked next. What the user agreed to is the first one only.

use ureq::http::header::{ACCEPT, LOCATION};
use ureq::http::uri::Authority;
use ureq::http::{HeaderValue, Request, Response, Uri};
use ureq::{Agent, Body};

/// Most redirects that one request follows.
const MOST: usize = 10;

/// A host that may be asked where a redirect leads there: `host`, or `host:port`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host(Authority);

/// Reads the value of `--follow`.
///
/// # Errors
/// It is no host.
pub fn host(text: &str) -> Result<Host, &'static str> {
    let read = text.parse::<Authority>().ok();
    let is_host = |host: &Authority| !host.host().is_empty() && !text.contains('@') && !text.ends_with(':');
    read.filter(is_host).map(Host).ok_or("write a host, with its port or without: jaeger.example")
}

/// Why a request has no answer.
#[derive(Debug)]
pub enum AskError {
    /// No answer came.
    Lost(ureq::Error),
    /// It leads to another server that was not named: scheme, host and port of that.
    LeadsTo(String),
}

impl From<ureq::Error> for AskError {
    fn from(error: ureq::Error) -> Self {
        Self::Lost(error)
    }
}

/// Returns the option that lets a server be asked too, which [`AskError::LeadsTo`] names.
pub fn option(place: &str) -> String {
    format!("--follow {}", place.split_once("://").map_or(place, |(_, host)| host))
}

/// Sends a request without a body by an agent that follows no redirects itself (`max_redirects(0)`), and again where its
/// answers lead. Name, password, token and tenant go to the origin that was asked first only.
///
/// # Errors
/// No answer came, or it leads to a server that is not among `follow`.
pub fn ask(agent: &Agent, request: &Request<()>, follow: &[Host]) -> Result<Response<Body>, AskError> {
    let first = request.uri().clone();
    let mut now = first.clone();
    for _ in 0..MOST {
        let is_first = is_same_origin(&first, &now);
        let mut call = Request::builder().method(request.method()).uri(&now);
        if let Some(headers) = call.headers_mut() {
            headers.clone_from(request.headers());
            if !is_first {
                // Neither who asks nor for which tenant is any business of another server.
                let accepted = headers.remove(ACCEPT);
                headers.clear();
                headers.extend(accepted.map(|value| (ACCEPT, value)));
            }
        }
        let answer = agent.run(call.body(()).map_err(ureq::Error::from)?)?;
        let is_redirect = matches!(answer.status().as_u16(), 301 | 302 | 303 | 307 | 308);
        let location = answer.headers().get(LOCATION).filter(|_| is_redirect);
        let Some(next) = location.and_then(|location| resolve(&now, location)) else { return Ok(answer) };
        if !is_same_origin(&first, &next) && !follow.iter().any(|host| is_at(&next, host)) {
            return Err(AskError::LeadsTo(shown(&next)));
        }
        now = if is_same_origin(&first, &next) { with_login(&first, &next) } else { next };
    }
    Err(ureq::Error::TooManyRedirects.into())
}

/// Returns the whole address that a `Location` names, without a login; `None` if it is no address of the web.
fn resolve(from: &Uri, location: &HeaderValue) -> Option<Uri> {
    let location = location.to_str().ok()?.trim().split('#').next()?;
    let (scheme, authority) = (from.scheme_str()?, from.authority()?.as_str());
    let path = from.path();
    let origin = format!("{scheme}://{authority}");
    let whole = if location.contains("://") && !location.starts_with(['/', '?', '.']) {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        origin + location
    } else if location.is_empty() || location.starts_with('?') {
        origin + path + location
    } else {
        format!("{origin}{}/{location}", path.rsplit_once('/').map_or("", |(folder, _)| folder))
    };
    let next: Uri = whole.parse().ok()?;
    let is_web = matches!(next.scheme_str(), Some("http" | "https"));
    (is_web && next.host().is_some_and(|host| !host.is_empty())).then(|| without_login(&next)).flatten()
}

fn port(uri: &Uri) -> u16 {
    let is_safe = uri.scheme_str() == Some("https");
    uri.port_u16().unwrap_or(if is_safe { 443 } else { 80 })
}

/// Returns whether an address is of the origin that was asked first, or of the same host by https in place of http, each at
/// its usual port.
fn is_same_origin(first: &Uri, next: &Uri) -> bool {
    let same_host =
        first.host().is_some_and(|host| next.host().is_some_and(|other| other.eq_ignore_ascii_case(host)));
    let is_same = first.scheme_str() == next.scheme_str() && port(first) == port(next);
    let is_safer = first.scheme_str() == Some("http")
        && next.scheme_str() == Some("https")
        && (port(first), port(next)) == (80, 443);
    same_host && (is_same || is_safer)
}

/// Returns whether an address is at a host.
fn is_at(uri: &Uri, Host(host): &Host) -> bool {
    uri.host().is_some_and(|name| name.eq_ignore_ascii_case(host.host()))
        && host.port_u16().is_none_or(|wanted| wanted == port(uri))
}

/// Returns the scheme, host and port of an address.
fn shown(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    let port = uri.port_u16().map_or(String::new(), |port| format!(":{port}"));
    format!("{}://{host}{port}", uri.scheme_str().unwrap_or_default())
}

fn without_login(uri: &Uri) -> Option<Uri> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    (shown(uri) + path).parse().ok()
}

/// Returns an address with the name and password of another.
fn with_login(of: &Uri, uri: &Uri) -> Uri {
    let login = of.authority().and_then(|place| place.as_str().rsplit_once('@'));
    let text = uri.to_string();
    let whole = login.map(|(login, _)| text.replacen("://", &format!("://{login}@"), 1));
    whole.and_then(|whole| whole.parse().ok()).unwrap_or_else(|| uri.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().unwrap()
    }

    #[test]
    fn a_location_is_read_as_browsers_do_and_brings_no_login() {
        let from = uri("http://tom:x@h:1/a/b?c");
        for (location, whole) in [
            ("/d", "http://h:1/d"),
            ("d?e#f", "http://h:1/a/d?e"),
            ("?e", "http://h:1/a/b?e"),
            ("//o/p", "http://o/p"),
            ("https://eve@o:2/p", "https://o:2/p"),
            ("/login?to=http://h/", "http://h:1/login?to=http://h/"),
        ] {
            let next = resolve(&from, &HeaderValue::from_str(location).unwrap()).unwrap();
            assert_eq!(next, uri(whole), "{location}");
        }
        for none in ["javascript:alert(1)://", "ftp://h/", "http://", "http:// /"] {
            let next = resolve(&from, &HeaderValue::from_str(none).unwrap());
            assert!(next.is_none_or(|next| is_same_origin(&from, &next)), "{none}");
        }
    }

    #[test]
    fn another_port_scheme_or_host_is_another_server() {
        let first = uri("http://h/jaeger");
        assert!(
            ["http://H/", "http://h:80/x", "https://h/"]
                .iter()
                .all(|next| is_same_origin(&first, &uri(next)))
        );
        let others = ["http://h:81/", "https://h:8443/", "http://h.example/", "http://127.0.0.1/"];
        assert!(!others.iter().any(|next| is_same_origin(&first, &uri(next))));
        assert!(!is_same_origin(&uri("https://h/"), &uri("http://h/")));
    }

    #[test]
    fn a_host_is_named_with_its_port_or_without() {
        let named = |text: &str| host(text).unwrap();
        assert!(is_at(&uri("https://idp.example/login"), &named("idp.example")));
        assert!(is_at(&uri("https://idp.example/login"), &named("IDP.example:443")));
        assert!(!is_at(&uri("https://idp.example:8443/"), &named("idp.example:443")));
        assert!(!is_at(&uri("https://evil-idp.example/"), &named("idp.example")));
        assert!(is_at(&uri("http://[::1]:9/"), &named("[::1]:9")));
        for bad in ["", "https://a", "a/b", "tom@a", "a b", "a:"] {
            assert!(host(bad).is_err(), "{bad}");
        }
    }
}
