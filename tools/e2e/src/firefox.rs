//! Firefox, spoken to in its own protocol (Marionette): JSON over a socket, so no geckodriver has to be built. What that
//! cannot do, scripts before those of a page, is asked for in WebDriver BiDi: JSON in frames of a WebSocket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, ensure, fail};
use crate::process::scratch;

/// How long it may take for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a test needs to be left alone; port 0 takes a free one and writes it into the profile.
const SETTINGS: &str = r#"user_pref("marionette.port", 0);
user_pref("app.update.disabledForTesting", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("browser.startup.page", 0);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("toolkit.telemetry.reportingpolicy.firstRun", false);
"#;

/// Returns whether these words are an error within Firefox's own driver, which asks a frame that was just left.
pub fn has_no_window(words: &str) -> bool {
    ["browsingContext.currentWindowGlobal is null", "Browsing context has been discarded"]
        .iter()
        .any(|error| words.contains(error))
}

/// A Firefox with one window, ended when it is dropped.
pub struct Firefox {
    process: Child,
    profile: PathBuf,
    socket: BufReader<TcpStream>,
    /// A WebSocket of the same session.
    bidi: BufReader<TcpStream>,
    commands: u64,
}

impl Firefox {
    /// Starts the Firefox that `FIREFOX` names, or Debian's.
    ///
    /// # Errors
    /// There is none, or it does not come up.
    pub fn start() -> Outcome<Firefox> {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let profile = scratch()?.join(format!("firefox-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&profile);
        std::fs::create_dir_all(&profile)?;
        std::fs::write(profile.join("user.js"), SETTINGS)?;
        let program = std::env::var_os("FIREFOX").unwrap_or("firefox-esr".into());
        let mut process = Command::new(&program)
            .args(["--headless", "--marionette", "--remote-debugging-port", "0", "--no-remote", "--profile"])
            .arg(&profile)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Failure(format!("cannot start {}: {error}", program.to_string_lossy())))?;
        match Firefox::meet(&profile) {
            Ok((socket, bidi)) => Ok(Firefox { process, profile, socket, bidi, commands: 1 }),
            Err(failure) => {
                let _ = process.kill();
                Err(failure)
            }
        }
    }

    /// Opens a session with the Firefox of a profile; returns its two connections.
    fn meet(profile: &Path) -> Outcome<(BufReader<TcpStream>, BufReader<TcpStream>)> {
        let mut socket = BufReader::new(connect(profile)?);
        // It says who it is.
        read(&mut socket)?;
        let session = call(&mut socket, 1, "WebDriver:NewSession", json!({ "webSocketUrl": true }))?;
        let url = session["capabilities"]["webSocketUrl"].as_str().unwrap_or_default();
        Ok((socket, open_web_socket(url)?))
    }

    /// Sends a command; returns its answer.
    ///
    /// # Errors
    /// Firefox refuses it.
    pub fn call(&mut self, name: &str, parameters: Value) -> Outcome<Value> {
        self.commands += 1;
        call(&mut self.socket, self.commands, name, parameters)
    }

    /// Sends a command of WebDriver BiDi; returns its result.
    ///
    /// # Errors
    /// Firefox refuses it.
    pub fn ask(&mut self, method: &str, parameters: Value) -> Outcome<Value> {
        self.commands += 1;
        let message = json!({ "id": self.commands, "method": method, "params": parameters }).to_string();
        send_frame(self.bidi.get_mut(), &message)?;
        let mut answer: Value = serde_json::from_slice(&read_frame(&mut self.bidi)?)?;
        if answer["type"] != "success" {
            return fail(format!("Firefox, {method}: {answer}"));
        }
        Ok(answer["result"].take())
    }

    /// Opens an address and waits until the page is up.
    ///
    /// # Errors
    /// It does not come up.
    pub fn open(&mut self, url: &str) -> Outcome {
        self.go(url)?;
        let script =
            "return !!document.documentElement.dataset.state && !!document.querySelector('#app > .body')";
        self.until("the page to be up", script, &json!(true))
    }

    /// Opens an address, of whatever page.
    ///
    /// # Errors
    /// It cannot be loaded.
    pub fn go(&mut self, url: &str) -> Outcome {
        self.call("WebDriver:Navigate", json!({ "url": url })).map(drop)
    }

    /// Runs JavaScript; `return` gives its value.
    ///
    /// # Errors
    /// It throws.
    pub fn run(&mut self, script: &str) -> Outcome<Value> {
        Ok(self.call("WebDriver:ExecuteScript", json!({ "script": script, "args": [] }))?["value"].take())
    }

    /// Asks `script` again and again until it answers what is expected.
    ///
    /// # Errors
    /// It does not within a minute.
    pub fn until(&mut self, what: &str, script: &str, expected: &Value) -> Outcome {
        let start = Instant::now();
        loop {
            let answer = self.run(script)?;
            if answer == *expected {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return fail(format!("Firefox: waited for {what}; last answer {answer}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until everything is read and every question of the view is answered.
    ///
    /// # Errors
    /// That takes too long.
    pub fn ready(&mut self) -> Outcome {
        let script = "const { state, busy } = document.documentElement.dataset; return `${state} ${busy}`";
        self.until("the page to be ready", script, &json!("ready false"))
    }

    /// Types into an element, or gives a file input the path of a file.
    ///
    /// # Errors
    /// There is no such element.
    pub fn type_into(&mut self, selector: &str, text: &str) -> Outcome {
        let found =
            self.call("WebDriver:FindElement", json!({ "using": "css selector", "value": selector }))?;
        let id = found["value"].as_object().and_then(|id| id.values().next()).cloned();
        self.call("WebDriver:ElementSendKeys", json!({ "id": id, "text": text })).map(drop)
    }
}

/// Reads a message of Marionette: its length, a colon, JSON.
fn read(socket: &mut BufReader<TcpStream>) -> Outcome<Value> {
    let mut length = Vec::new();
    socket.read_until(b':', &mut length)?;
    let length = String::from_utf8_lossy(&length);
    let length =
        length.trim_end_matches(':').parse().map_err(|_| Failure("Firefox has hung up".to_owned()))?;
    let mut message = vec![0; length];
    socket.read_exact(&mut message)?;
    Ok(serde_json::from_slice(&message)?)
}

/// Sends a command to Marionette; returns its answer.
fn call(socket: &mut BufReader<TcpStream>, number: u64, name: &str, parameters: Value) -> Outcome<Value> {
    let message = json!([0, number, name, parameters]).to_string();
    write!(socket.get_mut(), "{}:{message}", message.len())?;
    let mut answer = read(socket)?;
    if !answer[2].is_null() {
        let [error, message] = ["error", "message"].map(|key| answer[2][key].as_str().unwrap_or_default());
        return fail(format!("Firefox, {name}: {error}: {message}"));
    }
    Ok(answer[3].take())
}

/// Connects to a WebSocket of this machine (`ws://HOST:PORT/PATH`).
fn open_web_socket(url: &str) -> Outcome<BufReader<TcpStream>> {
    let Some((host, path)) = url.strip_prefix("ws://").and_then(|rest| rest.split_once('/')) else {
        return fail(format!("Firefox names no WebSocket but {url:?}"));
    };
    let mut socket = BufReader::new(TcpStream::connect(host)?);
    socket.get_ref().set_read_timeout(Some(PATIENCE))?;
    // The key proves to a client that it has met a server of WebSockets; this one knows.
    write!(
        socket.get_mut(),
        "GET /{path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )?;
    let (mut first, mut line) = (String::new(), String::new());
    socket.read_line(&mut first)?;
    while line != "\r\n" {
        line.clear();
        if socket.read_line(&mut line)? == 0 {
            break;
        }
    }
    ensure(first.contains(" 101 "), || format!("Firefox opens no WebSocket: {first}"))?;
    Ok(socket)
}

/// Sends a text as one frame, with the mask that clients must use. Firefox takes one of zeros for none.
fn send_frame(socket: &mut TcpStream, text: &str) -> Outcome {
    let mut frame = vec![0x81];
    // The length in as few bytes as it takes.
    match text.len() {
        length @ 0..126 => frame.push(0x80 | length as u8),
        length @ 126..=0xffff => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    const MASK: u8 = 0x55;
    frame.extend([MASK; 4]);
    frame.extend(text.bytes().map(|byte| byte ^ MASK));
    Ok(socket.write_all(&frame)?)
}

/// Reads a frame, which servers do not mask.
fn read_frame(socket: &mut BufReader<TcpStream>) -> Outcome<Vec<u8>> {
    let mut head = [0; 2];
    socket.read_exact(&mut head)?;
    let longer = match head[1] {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let mut length = [0; 8];
    socket.read_exact(&mut length[8 - longer..])?;
    let length = if longer == 0 { u64::from(head[1]) } else { u64::from_be_bytes(length) };
    let mut text = vec![0; length as usize];
    socket.read_exact(&mut text)?;
    Ok(text)
}

/// Waits for the port and connects.
fn connect(profile: &Path) -> Outcome<TcpStream> {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        let port = std::fs::read_to_string(profile.join("MarionetteActivePort")).unwrap_or_default();
        if let Ok(port) = port.trim().parse::<u16>()
            && let Ok(socket) = TcpStream::connect(("127.0.0.1", port))
        {
            socket.set_read_timeout(Some(PATIENCE))?;
            return Ok(socket);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    fail("Firefox does not come up")
}

impl Drop for Firefox {
    fn drop(&mut self) {
        // Asked to, it ends all its processes.
        let _ = self.call("Marionette:Quit", json!({ "flags": ["eForceQuit"] }));
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(10) && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}
