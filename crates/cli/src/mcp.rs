//! `pathlight mcp`: answers the questions of an assistant or another program. What is asked and answered is the business of
//! crate mcp; here is where traces come from.

use super::{Failure, fetch, input};
use pathlight_ingest::KeptTraces;
use pathlight_mcp::{Allowed, FetchFrom, LoadProgress, Loaded, PATH, Source, serve_http, serve_stdio};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The options of `mcp`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files or folders (recursive) to load at once; a client may load others by itself
    files: Vec<PathBuf>,
    /// Files or folders to compare with: before, or normal
    #[arg(long, num_args = 1.., value_name = "FILE", requires = "files")]
    baseline: Vec<PathBuf>,
    /// A folder whose files a client may load, with all below it; may be repeated (default: the folders of the files named, else
    /// the working directory)
    #[arg(long, value_name = "DIR")]
    folder: Vec<PathBuf>,
    /// A Jaeger or Tempo that a client may have fetched from, by its base address; may be repeated (default: none, and nothing is
    /// sent anywhere)
    #[arg(long, value_name = "URL")]
    allow: Vec<String>,
    /// Answer over HTTP at this port of this machine in place of standard input and output; 0 takes a free one
    #[arg(long, value_name = "PORT", value_parser = port)]
    http: Option<u16>,
    /// Threads (default: one per core)
    #[arg(long, value_parser = super::parse::threads)]
    threads: Option<usize>,
}

/// Reads a port, or an address of this machine with one.
fn port(text: &str) -> Result<u16, &'static str> {
    let port = match text.rsplit_once(':') {
        None => Some(text),
        Some(("127.0.0.1" | "localhost", port)) => Some(port),
        Some(_) => None,
    };
    port.and_then(|port| port.parse().ok())
        .ok_or("write a port; only this machine, 127.0.0.1, is listened on")
}

/// Runs the command.
///
/// # Errors
/// [`Failure::Usage`] if a file or folder is not there, [`Failure::Io`] if the port is taken or a client does not begin as the
/// protocol says.
pub fn run(args: &Args) -> Result<(), Failure> {
    let files = [input::list(&args.files)?, input::list(&args.baseline)?];
    let folders = match args.folder.as_slice() {
        [] if args.files.is_empty() => vec![PathBuf::from(".")],
        [] => args.files.iter().chain(&args.baseline).map(|path| folder_of(path)).collect(),
        folders => folders.to_vec(),
    };
    let allowed = Allowed::new(&folders, &args.allow).map_err(Failure::Usage)?;
    let source = Arc::new(Files { threads: args.threads });
    let Some(port) = args.http else { return Ok(serve_stdio(source, allowed, files)?) };
    let listener = pathlight_serve::bind(port)?;
    let mut out = io::stdout();
    writeln!(out, "http://127.0.0.1:{}{PATH}", listener.local_addr()?.port())?;
    out.flush()?;
    Ok(serve_http(listener, source, allowed, files)?)
}

/// Returns the folder that a path is, or that it lies in.
fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        _ if path.is_dir() => path.to_owned(),
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        parent => parent.map_or_else(|| path.to_owned(), Path::to_owned),
    }
}

/// The files of this machine.
struct Files {
    threads: Option<usize>,
}

impl Source for Files {
    fn list(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
        if paths.iter().any(|path| path.as_os_str() == "-") {
            return Err("standard input is the client's: name files or folders".to_owned());
        }
        input::list(paths).map_err(|failure| failure.to_string())
    }

    fn load(&self, groups: [&[PathBuf]; 2], progress: &LoadProgress) -> Result<Loaded, String> {
        let groups = if groups[1].is_empty() { &groups[..1] } else { &groups[..] };
        let watch = |bytes: u64, total: u64| {
            progress.total.store(total, Relaxed);
            progress.read.fetch_add(bytes, Relaxed);
        };
        let loaded = input::load_watched(groups, self.threads, &KeptTraces::All, None, &watch);
        let input::Loaded { pool, files } = loaded.map_err(|failure| failure.to_string())?;
        let has_traces = |group: u8| {
            let mut traces = pool.sessions().iter().flat_map(|session| session.set.traces());
            traces.any(|trace| trace.id.group == group)
        };
        if !(0..groups.len() as u8).all(has_traces) {
            return Err(Failure::NoTrace.to_string());
        }
        Ok(Loaded { pool, files })
    }

    fn fetch(
        &self,
        from: &FetchFrom,
        baseline: &[PathBuf],
        progress: &LoadProgress,
    ) -> Result<Loaded, String> {
        let folder = own_folder().map_err(|error| format!("cannot keep what is fetched: {error}"))?;
        let file = folder.join("traces.ndjson.gz");
        let fetched = fetch::fetch_into(from, file.clone()).map_err(|failure| failure.to_string());
        let loaded = fetched.and_then(|()| self.load([&[file], baseline], progress));
        // It was only a way into memory.
        let _ = std::fs::remove_dir_all(&folder);
        loaded
    }
}

/// Creates a folder for files that last no longer than a call. It is new, so nobody else has put anything there.
fn own_folder() -> io::Result<PathBuf> {
    let process = std::process::id();
    let mut number = 0;
    loop {
        let folder = std::env::temp_dir().join(format!("pathlight-mcp-{process}-{number}"));
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 1000 => number += 1,
            created => return created.map(|()| folder),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_listened_on() {
        assert_eq!(["8808", "127.0.0.1:0", "localhost:1"].map(port), [Ok(8808), Ok(0), Ok(1)]);
        assert!(
            ["0.0.0.0:80", "example.com:80", "", "x", ":80", "70000"].iter().all(|text| port(text).is_err())
        );
    }

    #[test]
    fn the_folder_of_a_file_may_be_read() {
        assert_eq!(folder_of(Path::new("traces.json")), Path::new("."));
        assert_eq!(folder_of(Path::new("a/traces.json")), Path::new("a"));
        assert_eq!(folder_of(&std::env::temp_dir()), std::env::temp_dir());
    }
}
