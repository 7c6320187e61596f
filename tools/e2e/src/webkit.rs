//! WebKit, the engine of Safari: Debian's WebKitGTK by its WebDriver, on a display of its own.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::browser::PATIENCE;
use crate::failure::{Failure, Outcome, fail};
use crate::process::{Running, start};

/// The browser; it ends when this is dropped.
pub struct WebKit {
    /// Its session.
    pub client: Client,
    _driver: Running,
    _display: Running,
}

/// Where Debian keeps the small browser that the driver steers.
const LIBRARIES: &str = "/usr/lib";

/// Returns the small browser, wherever this machine's architecture puts it.
fn browser() -> Option<PathBuf> {
    let folders = std::fs::read_dir(LIBRARIES).ok()?.flatten();
    let versions = folders.filter_map(|folder| std::fs::read_dir(folder.path()).ok()).flatten().flatten();
    versions.map(|version| version.path().join("MiniBrowser")).find(|path| path.is_file())
}

impl WebKit {
    /// Starts it; `None` where `WEBKIT_DRIVER` names no driver.
    ///
    /// # Errors
    /// What is there does not start.
    pub async fn start() -> Outcome<Option<WebKit>> {
        let (Some(driver), Some(browser)) = (std::env::var_os("WEBKIT_DRIVER"), browser()) else {
            return Ok(None);
        };
        let (display, number) =
            start(Command::new("Xvfb").args(["-displayfd", "1", "-screen", "0", "1280x900x24"]), |line| {
                line.trim().parse::<u32>().ok()
            })?;
        // It tells nobody which port it took.
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let driver = Running::start(
            Command::new(driver)
                .arg(format!("--port={port}"))
                .env("DISPLAY", format!(":{number}"))
                // In a container, and as root, it cannot make a sandbox.
                .env("WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS", "1"),
        )?;
        let options = json!({ "webkitgtk:browserOptions": { "binary": browser, "args": ["--automation"] } });
        let Value::Object(capabilities) = options else { return Ok(None) };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities);
        let begin = Instant::now();
        loop {
            match builder.connect(&format!("http://127.0.0.1:{port}")).await {
                Ok(client) => return Ok(Some(WebKit { client, _driver: driver, _display: display })),
                Err(error) if begin.elapsed() > PATIENCE => {
                    return fail(format!("WebKit does not start: {error}"));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
            }
        }
    }

    /// Runs JavaScript; `return` gives its value.
    ///
    /// # Errors
    /// It throws, or the browser has ended.
    pub async fn run(&self, script: &str) -> Outcome<Value> {
        Ok(self.client.execute(script, Vec::new()).await?)
    }

    /// Asks `script` again and again until it gives `expected`.
    ///
    /// # Errors
    /// It does not for long.
    pub async fn until(&self, script: &str, expected: &str) -> Outcome {
        let begin = Instant::now();
        loop {
            let answer = self.run(script).await?;
            if answer == expected {
                return Ok(());
            }
            if begin.elapsed() > PATIENCE {
                return fail(format!("WebKit: waited for {expected:?}, last answer {answer}"));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Chooses a file as a user would in the dialog that a button opens.
    ///
    /// # Errors
    /// There is no such element.
    pub async fn choose(&self, selector: &str, file: &Path) -> Outcome {
        let element = self.client.find(Locator::Css(selector)).await?;
        element.send_keys(&file.to_string_lossy()).await.map_err(|error| Failure(error.to_string()))
    }
}
