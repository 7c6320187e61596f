//! Firefox, spoken to in its own protocol (Marionette): JSON over a socket, so no geckodriver has to be built.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::failure::{Failure, Outcome, fail};
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
            .args(["--headless", "--marionette", "--no-remote", "--profile"])
            .arg(&profile)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Failure(format!("cannot start {}: {error}", program.to_string_lossy())))?;
        let socket = match connect(&profile) {
            Ok(socket) => socket,
            Err(failure) => {
                let _ = process.kill();
                return Err(failure);
            }
        };
        let mut firefox = Firefox { process, profile, socket: BufReader::new(socket), commands: 0 };
        // It says who it is.
        firefox.read()?;
        firefox.call("WebDriver:NewSession", json!({}))?;
        Ok(firefox)
    }

    /// Reads a message: its length, a colon, JSON.
    fn read(&mut self) -> Outcome<Value> {
        let mut length = Vec::new();
        self.socket.read_until(b':', &mut length)?;
        let length = String::from_utf8_lossy(&length);
        let length =
            length.trim_end_matches(':').parse().map_err(|_| Failure("Firefox has hung up".to_owned()))?;
        let mut message = vec![0; length];
        self.socket.read_exact(&mut message)?;
        Ok(serde_json::from_slice(&message)?)
    }

    /// Sends a command; returns its answer.
    ///
    /// # Errors
    /// Firefox refuses it.
    pub fn call(&mut self, name: &str, parameters: Value) -> Outcome<Value> {
        self.commands += 1;
        let message = json!([0, self.commands, name, parameters]).to_string();
        write!(self.socket.get_mut(), "{}:{message}", message.len())?;
        let mut answer = self.read()?;
        if !answer[2].is_null() {
            let [error, message] =
                ["error", "message"].map(|key| answer[2][key].as_str().unwrap_or_default());
            return fail(format!("Firefox, {name}: {error}: {message}"));
        }
        Ok(answer[3].take())
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

/// Waits for the port and connects.
fn connect(profile: &std::path::Path) -> Outcome<TcpStream> {
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
