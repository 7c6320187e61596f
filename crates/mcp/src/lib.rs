//! Answers the questions of programs, such as assistants, over the Model Context Protocol: ten tools, each a question that
//! people ask of traces, with answers that keep to a budget of tokens.
//!
//! | module | |
//! |---|---|
//! | `answer` | cuts an answer to its budget, between records |
//! | `tools`, `tool` | the questions, and how a client sees them |
//! | `data` | loaded traces, reports that are kept, handles of findings |
//! | `server` | the protocol |
//! | `allowed`, `source` | what may be read, and what reads it |

mod allowed;
mod answer;
mod args;
mod data;
mod server;
mod source;
mod texts;
mod tool;
mod tools;

pub use allowed::Allowed;
pub use data::Loaded;
pub use source::{FetchFrom, LoadProgress, Source};

use rmcp::ServiceExt as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use server::Server;
use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::Arc;

/// The path at which [`serve_http`] answers.
pub const PATH: &str = "/mcp";

/// Answers one client over standard input and output until it closes them. `files`, and those to compare them with, are
/// loaded meanwhile.
///
/// # Errors
/// The runtime cannot start, or the client does not begin as the protocol says.
pub fn serve_stdio(source: Arc<dyn Source>, allowed: Allowed, files: [Vec<PathBuf>; 2]) -> io::Result<()> {
    let server = Server::new(source, allowed, files);
    let runtime = tokio::runtime::Runtime::new()?;
    let served = runtime.block_on(async {
        let warm = server.clone();
        tokio::task::spawn_blocking(move || warm.warm_up());
        let running = server.serve(rmcp::transport::stdio()).await.map_err(io::Error::other)?;
        running.waiting().await.map(|_| ()).map_err(io::Error::other)
    });
    // A question that nobody waits for any more must not keep the process.
    runtime.shutdown_background();
    served
}

/// Answers clients over HTTP on this machine until the process ends; they share what is loaded.
///
/// # Errors
/// The runtime cannot start, or the connection cannot be used.
pub fn serve_http(
    listener: TcpListener,
    source: Arc<dyn Source>,
    allowed: Allowed,
    files: [Vec<PathBuf>; 2],
) -> io::Result<()> {
    let server = Server::new(source, allowed, files);
    let warm = server.clone();
    std::thread::spawn(move || warm.warm_up());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(
        move || Ok(server.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    pathlight_serve::serve_programs(listener, axum::Router::new().route_service(PATH, service))
}
