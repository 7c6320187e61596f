//! The programs beside the browser: Pathlight's own binary and chromedriver.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::failure::{Failure, Outcome, fail};

/// Returns the folder of the workspace.
pub fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or(env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    manifest.ancestors().nth(2).map_or(manifest.clone(), PathBuf::from)
}

/// Returns Cargo's target folder.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), |folder| root().join(folder))
}

/// Returns the page as `cargo xtask build` left it.
pub fn dist() -> PathBuf {
    root().join("dist")
}

/// Copies the files of the page into a folder, which is emptied before; `pathlight serve` serves no link out of its folder.
pub fn copy_page(folder: &Path) -> Outcome {
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder)?;
    for entry in std::fs::read_dir(dist())? {
        let path = entry?.path();
        if path.is_file() {
            std::fs::copy(&path, folder.join(path.file_name().unwrap_or_default()))?;
        }
    }
    Ok(())
}

/// Returns the address of the page in one file, from the disk.
///
/// # Errors
/// The page is not built.
pub fn single() -> Outcome<String> {
    Ok(format!("file://{}", dist().join("pathlight.html").canonicalize()?.display()))
}

thread_local! {
    /// Tells this thread's tests from those that run beside them.
    static STAGE: Cell<usize> = const { Cell::new(0) };
}

/// Gives the tests of this thread the scratch folder with this number; other tests at that time have others.
pub fn use_scratch(number: usize) {
    STAGE.set(number);
}

/// Makes the folder for what this thread's tests drop and what they looked like if they failed.
pub fn scratch() -> Outcome<PathBuf> {
    let name = match STAGE.get() {
        0 => "e2e".to_owned(),
        number => format!("e2e-{number}"),
    };
    let folder = target().join(name);
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

fn binary() -> Outcome<PathBuf> {
    let path = target().join("debug").join(format!("pathlight{}", std::env::consts::EXE_SUFFIX));
    if path.is_file() {
        return Ok(path);
    }
    fail("there is no native binary yet: run `cargo xtask build` first")
}

/// Returns what `pathlight ARGUMENTS` prints.
pub fn pathlight(arguments: &[&str]) -> Outcome<Vec<u8>> {
    let mut command = Command::new(binary()?);
    // No terminal: names as long as the page copies them.
    let output = command.args(arguments).env("COLUMNS", "10000").stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    fail(format!("`pathlight {}` ended with {}: {}", arguments.join(" "), output.status, complaint.trim()))
}

/// Returns the bytes of memory of a process, by its folder in `/proc`.
pub fn resident_bytes(process: &Path) -> Option<u64> {
    let status = std::fs::read_to_string(process.join("status")).ok()?;
    let size = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(1024 * size.trim().trim_end_matches("kB").trim().parse::<u64>().ok()?)
}

/// A program that runs until it is dropped.
pub(crate) struct Running(Child);

impl Running {
    /// Starts a program whose output nobody reads.
    pub(crate) fn start(command: &mut Command) -> Outcome<Running> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        child.map(Running).map_err(|error| Failure(format!("cannot start {name}: {error}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program and waits for the line of its output that `read` finds something in.
pub(crate) fn start<T: Send + 'static>(
    command: &mut Command,
    read: impl Fn(&str) -> Option<T> + Send + 'static,
) -> Outcome<(Running, T)> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
    let mut running = Running(child.map_err(|error| Failure(format!("cannot start {name}: {error}")))?);
    let Some(output) = running.0.stdout.take() else { return fail(format!("{name} has no output")) };
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        if let Some(found) = lines.by_ref().find_map(|line| read(&line)) {
            let _ = sender.send(found);
        }
        // Read on, or the program would stop at a full pipe.
        lines.for_each(drop);
    });
    match receiver.recv_timeout(Duration::from_secs(30)) {
        Ok(found) => Ok((running, found)),
        Err(_) => fail(format!("{name} did not come up")),
    }
}

/// `pathlight serve` on a port of its own.
pub struct Server {
    /// With a slash at its end.
    pub url: String,
    running: Running,
}

impl Server {
    /// Returns the bytes of its memory.
    pub fn resident_bytes(&self) -> Option<u64> {
        resident_bytes(&Path::new("/proc").join(self.running.0.id().to_string()))
    }

    /// Serves a folder.
    pub fn start(dir: &Path) -> Outcome<Self> {
        Self::start_with(dir, &[])
    }

    /// Serves a folder, with further options.
    pub fn start_with(dir: &Path, options: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(binary()?);
        command.arg("serve").arg(dir).args(["--port", "0"]).args(options);
        let (running, url) =
            start(&mut command, |line| line.starts_with("http://").then(|| line.to_owned()))?;
        Ok(Self { url, running })
    }
}

/// `pathlight listen` on a port of its own.
pub struct Listening {
    /// The address of the page that follows.
    pub page: String,
    running: Running,
}

impl Listening {
    /// Listens, with the built page, and writes to a folder.
    pub fn start(folder: &Path) -> Outcome<Self> {
        Self::start_with(folder, &[])
    }

    /// Listens so, with further options.
    pub fn start_with(folder: &Path, options: &[&str]) -> Outcome<Self> {
        let mut command = Command::new(binary()?);
        command.args(["listen", "--port", "0", "--every", "1", "--page"]).arg(dist()).arg("-o").arg(folder);
        command.args(options);
        let (running, page) = start(&mut command, |line| line.strip_prefix("page: ").map(str::to_owned))?;
        Ok(Self { page, running })
    }

    /// Returns the bytes of its memory.
    pub fn resident_bytes(&self) -> Option<u64> {
        resident_bytes(&Path::new("/proc").join(self.running.0.id().to_string()))
    }
}

/// chromedriver on a port of its own.
pub struct Driver {
    /// Where it listens, on this machine.
    pub port: u16,
    running: Running,
}

impl Driver {
    /// Starts the chromedriver that `CHROMEDRIVER` names, or the one of the path.
    pub fn start() -> Outcome<Self> {
        let program = std::env::var_os("CHROMEDRIVER").unwrap_or("chromedriver".into());
        let (running, port) = start(Command::new(program).arg("--port=0"), |line| {
            line.strip_prefix("ChromeDriver was started successfully on port ")?
                .trim_end_matches('.')
                .parse()
                .ok()
        })?;
        Ok(Self { port, running })
    }

    /// Returns its process; the browsers are below it.
    pub fn id(&self) -> u32 {
        self.running.0.id()
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Asked to, chromedriver ends its browsers; killed, it would leave them behind.
        if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let _ = write!(stream, "GET /shutdown HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
            let _ = stream.read_to_end(&mut Vec::new());
        }
        let patience = Instant::now() + Duration::from_secs(5);
        while Instant::now() < patience && matches!(self.running.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Returns whether a process, by its folder in `/proc`, was started by another or by what that started.
pub fn is_below(process: &Path, ancestor: u32) -> bool {
    let parent = |process: &Path| {
        let status = std::fs::read_to_string(process.join("status")).ok()?;
        status.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse::<u32>().ok()
    };
    let above = std::iter::successors(parent(process), |id| parent(&Path::new("/proc").join(id.to_string())));
    above.take_while(|id| *id > 1).any(|id| id == ancestor)
}

/// Returns the bytes of memory of the largest process that draws and runs pages, of our browsers: others may run too.
pub fn renderer_bytes() -> u64 {
    let sizes = std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let is_renderer = line.windows(15).any(|word| word == b"--type=renderer");
        resident_bytes(&entry.path()).filter(|_| is_renderer && is_below(&entry.path(), std::process::id()))
    });
    sizes.max().unwrap_or_default()
}
