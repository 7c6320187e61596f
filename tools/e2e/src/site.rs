//! A web server for stand-ins, on a port of its own.

use std::io;
use std::net::TcpListener;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::stream::unfold;
use tokio::task::AbortHandle;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::failure::Outcome;

/// A server that runs until it is dropped.
pub struct Site {
    /// With a slash at its end.
    pub url: String,
    task: AbortHandle,
}

impl Site {
    /// Serves these routes. No browser keeps an answer.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(routes: Router) -> Outcome<Site> {
        Site::start_at(0, routes)
    }

    /// Serves routes as `start` does, on this port.
    ///
    /// # Errors
    /// Somebody else has it.
    pub fn start_at(port: u16, routes: Router) -> Outcome<Site> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}/", listener.local_addr()?);
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let routes = routes
            // Browsers ask for it unasked; a missing one would be an error on the console.
            .route("/favicon.ico", get(|| async { reply(200, "image/x-icon", "") }))
            .layer(SetResponseHeaderLayer::overriding(CACHE_CONTROL, HeaderValue::from_static("no-store")));
        let task = tokio::spawn(axum::serve(listener, routes).into_future()).abort_handle();
        Ok(Site { url, task })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Returns a response with this status, content type and body.
pub fn reply(status: u16, kind: &'static str, body: impl Into<Body>) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(CONTENT_TYPE, kind)], body.into()).into_response()
}

/// Returns JSON whose length promises all of it; the connection ends in the middle.
pub fn broken_off(text: &str) -> Response {
    let half = text[..text.len() / 2].to_owned();
    let parts = unfold(Some(half), |part| async move {
        match part {
            Some(part) if !part.is_empty() => Some((Ok(part), Some(String::new()))),
            _ => {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Some((Err(io::Error::other("cut")), None))
            }
        }
    });
    let mut response = reply(200, "application/json", Body::from_stream(parts));
    response.headers_mut().insert(CONTENT_LENGTH, text.len().into());
    response
}
