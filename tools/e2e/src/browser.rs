//! A browser and the page in it.

use std::cell::RefCell;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use base64::prelude::{BASE64_STANDARD, Engine as _};
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use url::{ParseError, Url};

use crate::failure::{Failure, Outcome, ensure, fail};
use crate::png::Picture;
use crate::process::{Driver, root, scratch};

/// How long a page may take for anything, unless a test says otherwise: CI machines are slow and shared, and another test
/// runs beside.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Width and height of a window, light or dark.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// CSS pixels.
    pub width: u32,
    /// CSS pixels.
    pub height: u32,
    /// Whether the system prefers dark.
    pub dark: bool,
}

impl Look {
    /// What tests run in.
    pub const DESKTOP: Look = Look { width: 1280, height: 800, dark: false };
    /// The same in the dark.
    pub const DARK: Look = Look { dark: true, ..Self::DESKTOP };
    /// A telephone held upright.
    pub const NARROW: Look = Look { width: 390, height: 844, dark: false };
}

/// Opens a session with what stands at an address of WebDriver.
///
/// # Errors
/// Nothing does.
pub async fn session_at(address: &str) -> Outcome<Client> {
    let client = ClientBuilder::new(HttpConnector::new()).connect(address).await;
    client.map_err(|error| Failure(format!("the browser does not start: {error}")))
}

/// Starts a session with the capabilities of `webdriver.json`.
pub async fn session(driver: &Driver) -> Outcome<Client> {
    session_with(driver, &[]).await
}

/// Starts a session whose browser has more arguments than those of `webdriver.json`.
pub async fn session_with(driver: &Driver, arguments: &[&str]) -> Outcome<Client> {
    let text = std::fs::read_to_string(root().join("webdriver.json"))?;
    let Value::Object(mut capabilities) = serde_json::from_str(&text)? else {
        return fail("webdriver.json is no object");
    };
    if let Some(Value::Array(all)) =
        capabilities.get_mut("goog:chromeOptions").and_then(|of| of.get_mut("args"))
    {
        all.extend(arguments.iter().map(|argument| json!(argument)));
    }
    capabilities.insert("goog:loggingPrefs".to_owned(), json!({ "browser": "ALL" }));
    let mut builder = ClientBuilder::new(HttpConnector::new());
    builder.capabilities(capabilities);
    let address = format!("http://127.0.0.1:{}", driver.port);
    match builder.connect(&address).await {
        Ok(client) => Ok(client),
        // A browser on a busy machine may not come up in time.
        Err(first) => {
            eprintln!("the browser did not start ({first}); once more");
            builder
                .connect(&address)
                .await
                .map_err(|error| Failure(format!("the browser does not start: {error}")))
        }
    }
}

/// A command that WebDriver itself does not know.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(&self, base: &Url, session: Option<&str>) -> Result<Url, ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}

/// The page in a browser.
pub struct Page {
    client: Client,
    /// Address of `dist/`, with a slash at its end.
    pub base: String,
    /// Where [`Page::picture`] puts its files.
    pictures: PathBuf,
    /// Why the test that runs now has nothing to do.
    skipped: RefCell<Option<String>>,
}

/// Returns the text with every run of spaces, narrow ones too, as one space.
pub fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Page {
    /// Makes a page of this session; nothing is opened yet.
    pub fn new(client: Client, base: &str, pictures: &Path) -> Self {
        Self { client, base: base.to_owned(), pictures: pictures.to_owned(), skipped: RefCell::default() }
    }

    /// Notes that a test has nothing to do here; it counts as ignored.
    pub fn skip(&self, reason: impl Into<String>) -> Outcome {
        self.skipped.replace(Some(reason.into()));
        Ok(())
    }

    /// Takes the reason that the last test gave to [`Page::skip`].
    pub fn take_skipped(&self) -> Option<String> {
        self.skipped.take()
    }

    /// Returns the WebDriver session, for what has no helper here.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Makes a call of the DevTools protocol; returns its answer.
    pub async fn devtools(&self, method: &str, parameters: Value) -> Outcome<Value> {
        let body = json!({ "cmd": method, "params": parameters });
        Ok(self.client.issue_cmd(Extension { path: "goog/cdp/execute", body }).await?)
    }

    /// Opens the page afresh with this fragment (with or without `#`, may be empty), or another address altogether, and
    /// waits until it is up.
    pub async fn open(&self, fragment: &str) -> Outcome {
        let url = match fragment.trim_start_matches('#') {
            other if other.contains("://") => other.to_owned(),
            "" => self.base.clone(),
            fragment => format!("{}#{fragment}", self.base),
        };
        // From one fragment to another a browser would not load anything.
        self.leave().await?;
        self.complaints().await?;
        self.client.goto(&url).await?;
        // The start page is there before the rest is.
        let script =
            "return !!document.documentElement.dataset.state && !!document.querySelector('#app > .body')";
        self.until("the page to be up", script, |up| up == true).await?;
        Ok(())
    }

    /// Leaves the page for an empty one. What a page still fetches when its server ends would be an error of the test.
    pub async fn leave(&self) -> Outcome {
        Ok(self.client.goto("about:blank").await?)
    }

    /// Runs JavaScript; `return` gives its value.
    pub async fn run(&self, script: &str) -> Outcome<Value> {
        Ok(self.client.execute(script, Vec::new()).await?)
    }

    /// Asks `script` again and again until `accept` likes the answer.
    pub async fn until(&self, what: &str, script: &str, accept: impl Fn(&Value) -> bool) -> Outcome<Value> {
        self.until_within(PATIENCE, what, script, accept).await
    }

    /// Asks as [`until`](Self::until) does, with another patience.
    pub async fn until_within(
        &self,
        patience: Duration,
        what: &str,
        script: &str,
        accept: impl Fn(&Value) -> bool,
    ) -> Outcome<Value> {
        let start = Instant::now();
        loop {
            let answer = self.run(script).await?;
            if accept(&answer) {
                return Ok(answer);
            }
            if start.elapsed() > patience {
                let state = self.run("return document.documentElement.dataset.state || 'none'").await?;
                return fail(format!("waited {patience:?} for {what}; last answer {answer}, state {state}"));
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Waits for `document.documentElement.dataset.state`: `empty`, `loading` or `ready`.
    pub async fn state(&self, state: &str) -> Outcome {
        let script = "return document.documentElement.dataset.state || ''";
        self.until(&format!("the state {state}"), script, |found| found == state).await.map(drop)
    }

    /// Waits until everything that was dropped is read and every question of the view is answered.
    pub async fn ready(&self) -> Outcome {
        self.ready_within(PATIENCE).await
    }

    /// Waits as [`ready`](Self::ready) does, with another patience.
    pub async fn ready_within(&self, patience: Duration) -> Outcome {
        let script = "const { state, busy } = document.documentElement.dataset; return `${state} ${busy}`";
        self.until_within(patience, "the page to be ready", script, |found| found == "ready false").await?;
        self.drawn().await
    }

    /// Goes to another place of the page by its fragment, as a link or the back button would.
    pub async fn go(&self, fragment: &str) -> Outcome {
        self.run(&format!("location.hash = {}", json!(fragment))).await?;
        self.drawn().await
    }

    /// Waits until an element that matches is there and visible.
    pub async fn visible(&self, selector: &str) -> Outcome {
        let script = format!(
            "return [...document.querySelectorAll({})].some((e) => e.checkVisibility({{ visibilityProperty: true }}))",
            json!(selector)
        );
        self.until(&format!("{selector} to be visible"), &script, |found| found == true).await.map(drop)
    }

    /// Waits until no element that matches is visible.
    pub async fn hidden(&self, selector: &str) -> Outcome {
        let script = format!(
            "return [...document.querySelectorAll({})].some((e) => e.checkVisibility({{ visibilityProperty: true }}))",
            json!(selector)
        );
        self.until(&format!("{selector} to be gone"), &script, |found| found == false).await.map(drop)
    }

    /// Returns the text of the first element that matches, white space joined.
    pub async fn text(&self, selector: &str) -> Outcome<String> {
        let script =
            format!("const e = document.querySelector({}); return e && e.innerText", json!(selector));
        match self.run(&script).await? {
            Value::String(text) => Ok(plain(&text)),
            _ => fail(format!("there is no {selector}")),
        }
    }

    /// Returns an attribute of every element that matches, in document order; elements without it are left out.
    pub async fn attributes(&self, selector: &str, attribute: &str) -> Outcome<Vec<String>> {
        let script = format!(
            "return [...document.querySelectorAll({})].map((e) => e.getAttribute({})).filter((v) => v !== null)",
            json!(selector),
            json!(attribute)
        );
        Ok(serde_json::from_value(self.run(&script).await?)?)
    }

    /// Returns the attribute of the first element that matches, as a number.
    pub async fn number(&self, selector: &str, attribute: &str) -> Outcome<f64> {
        let all = self.attributes(selector, attribute).await?;
        let Some(first) = all.first() else {
            return fail(format!("there is no {selector} with {attribute}"));
        };
        first.parse().map_err(|_| Failure(format!("{attribute} of {selector} is {first:?}, no number")))
    }

    /// Clicks the first element that matches as a user would: it must be visible and not covered.
    pub async fn click(&self, selector: &str) -> Outcome {
        self.visible(selector).await?;
        let found = self.client.find(Locator::Css(selector)).await;
        let element = found.map_err(|error| Failure(format!("{selector}: {error}")))?;
        element.click().await.map_err(|error| Failure(format!("click on {selector}: {error}")))
    }

    /// Types into the first element that matches.
    pub async fn fill(&self, selector: &str, text: &str) -> Outcome {
        self.visible(selector).await?;
        let element = self.client.find(Locator::Css(selector)).await?;
        element.clear().await?;
        Ok(element.send_keys(text).await?)
    }

    /// Chooses an option of the first list that matches, by its value.
    pub async fn choose(&self, selector: &str, value: &str) -> Outcome {
        let script = format!(
            "const list = document.querySelector({}); list.value = {}; \
             list.dispatchEvent(new Event('change', {{ bubbles: true }})); return list.value",
            json!(selector),
            json!(value)
        );
        let chosen = self.run(&script).await?;
        ensure(chosen == json!(value), || format!("{selector} has no option {value:?}"))
    }

    /// Keeps the next file that the page hands out as `window.handedOut`, a Blob.
    pub async fn catch_file(&self) -> Outcome {
        let script = "delete window.handedOut; const make = URL.createObjectURL; \
                      URL.createObjectURL = (blob) => { URL.createObjectURL = make; window.handedOut = blob; \
                      return make.call(URL, blob) }";
        self.run(script).await.map(drop)
    }

    /// Presses a key by its name (`Escape`, `ArrowLeft`, `a`) where the focus is.
    pub async fn key(&self, key: &str, modifiers: Modifiers) -> Outcome {
        let mut event = json!({ "key": key, "modifiers": modifiers as u8 });
        let letter = key.chars().next().filter(|_| key.chars().count() == 1);
        let code = match letter {
            Some(letter) if letter.is_ascii_alphabetic() => {
                Some((format!("Key{}", letter.to_ascii_uppercase()), None))
            }
            Some(letter) if letter.is_ascii_digit() => Some((format!("Digit{letter}"), None)),
            Some('/') => Some(("Slash".to_owned(), None)),
            Some('?') => Some(("Slash".to_owned(), None)),
            Some('+' | '=') => Some(("Equal".to_owned(), None)),
            Some('-') => Some(("Minus".to_owned(), None)),
            Some(' ') => Some(("Space".to_owned(), Some(32))),
            _ => {
                let number = match key {
                    "Tab" => 9,
                    "Enter" => 13,
                    "Escape" => 27,
                    "PageUp" => 33,
                    "PageDown" => 34,
                    "End" => 35,
                    "Home" => 36,
                    "ArrowLeft" => 37,
                    "ArrowUp" => 38,
                    "ArrowRight" => 39,
                    "ArrowDown" => 40,
                    "Delete" => 46,
                    _ => return fail(format!("key {key} is not known here")),
                };
                Some((key.to_owned(), Some(number)))
            }
        };
        if let Some((code, number)) = code {
            event["code"] = json!(code);
            let upper = letter.map(|letter| letter.to_ascii_uppercase() as u32);
            event["windowsVirtualKeyCode"] = json!(number.or(upper).unwrap_or_default());
        }
        // Enter acts on buttons and links only with its text.
        let text = if key == "Enter" { Some('\r') } else { letter };
        if let Some(text) = text.filter(|_| matches!(modifiers, Modifiers::None | Modifiers::Shift)) {
            event["text"] = json!(text.to_string());
        }
        event["type"] = json!("keyDown");
        self.devtools("Input.dispatchKeyEvent", event.clone()).await?;
        event["type"] = json!("keyUp");
        self.devtools("Input.dispatchKeyEvent", event).await.map(drop)
    }

    /// Moves the mouse to a point of the window, in CSS pixels.
    pub async fn move_to(&self, x: f64, y: f64) -> Outcome {
        self.devtools("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }))
            .await
            .map(drop)
    }

    /// Presses and releases the main button `count` times at a point of the window.
    pub async fn click_at(&self, x: f64, y: f64, count: u32) -> Outcome {
        self.move_to(x, y).await?;
        for n in 1..=count {
            for kind in ["mousePressed", "mouseReleased"] {
                let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": n });
                self.devtools("Input.dispatchMouseEvent", event).await?;
            }
        }
        Ok(())
    }

    /// Drags with the main button from one point of the window to another.
    pub async fn drag(&self, from: (f64, f64), to: (f64, f64)) -> Outcome {
        let event = |kind: &str, x: f64, y: f64| json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
        self.move_to(from.0, from.1).await?;
        self.devtools("Input.dispatchMouseEvent", event("mousePressed", from.0, from.1)).await?;
        for step in 1..=5 {
            let share = f64::from(step) / 5.0;
            let (x, y) = (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share);
            let mut moved = event("mouseMoved", x, y);
            moved["buttons"] = json!(1);
            self.devtools("Input.dispatchMouseEvent", moved).await?;
        }
        self.devtools("Input.dispatchMouseEvent", event("mouseReleased", to.0, to.1)).await.map(drop)
    }

    /// Turns the wheel over a point of the window; down is positive.
    pub async fn wheel(&self, x: f64, y: f64, down: f64, modifiers: Modifiers) -> Outcome {
        let event = json!({
            "type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": down, "modifiers": modifiers as u8,
        });
        self.devtools("Input.dispatchMouseEvent", event).await.map(drop)
    }

    /// Returns left, top, width and height of the first element that matches, in CSS pixels of the window.
    pub async fn place(&self, selector: &str) -> Outcome<[f64; 4]> {
        let script = format!(
            "const r = document.querySelector({})?.getBoundingClientRect(); return r && [r.x, r.y, r.width, r.height]",
            json!(selector)
        );
        match self.run(&script).await? {
            Value::Null => fail(format!("there is no {selector}")),
            place => Ok(serde_json::from_value(place)?),
        }
    }

    /// Drags files (or folders) from outside over the middle of the window; [`Page::drop_files`] lets them go.
    pub async fn drag_files(&self, kind: &str, files: &[PathBuf]) -> Outcome {
        let middle: (f64, f64) =
            serde_json::from_value(self.run("return [innerWidth / 2, innerHeight / 2]").await?)?;
        self.drag_files_at(kind, files, middle).await
    }

    /// Drags files at a point of the window, in CSS pixels.
    async fn drag_files_at(&self, kind: &str, files: &[PathBuf], (x, y): (f64, f64)) -> Outcome {
        let mut names = Vec::new();
        for file in files {
            let full =
                file.canonicalize().map_err(|error| Failure(format!("{}: {error}", file.display())))?;
            names.push(full.to_string_lossy().into_owned());
        }
        let event = json!({
            "type": kind, "x": x, "y": y,
            "data": { "items": [], "files": names, "dragOperationsMask": 1 },
        });
        self.devtools("Input.dispatchDragEvent", event).await.map(drop)
    }

    /// Drops files (or folders) on the page: a real drag from outside.
    pub async fn drop_files(&self, files: &[PathBuf]) -> Outcome {
        for kind in ["dragEnter", "dragOver", "drop"] {
            self.drag_files(kind, files).await?;
        }
        Ok(())
    }

    /// Drops files on the middle of an element that shows once they are dragged over the window.
    pub async fn drop_files_on(&self, selector: &str, files: &[PathBuf]) -> Outcome {
        self.drag_files("dragEnter", files).await?;
        self.visible(selector).await?;
        let [left, top, width, height] = self.place(selector).await?;
        for kind in ["dragOver", "drop"] {
            self.drag_files_at(kind, files, (left + width / 2.0, top + height / 2.0)).await?;
        }
        Ok(())
    }

    /// Returns what the page put on the console as an error since it was opened, uncaught exceptions, refused policies
    /// and failed requests included. Asking clears the list.
    pub async fn complaints(&self) -> Outcome<Vec<String>> {
        self.console(|entry| entry["level"] == "SEVERE").await
    }

    /// Returns all that stands on the console since then. Asking clears that list too.
    pub async fn logged(&self) -> Outcome<Vec<String>> {
        self.console(|_| true).await
    }

    async fn console(&self, is_wanted: fn(&Value) -> bool) -> Outcome<Vec<String>> {
        let log =
            self.client.issue_cmd(Extension { path: "se/log", body: json!({ "type": "browser" }) }).await?;
        let wanted = log.as_array().into_iter().flatten().filter(|entry| is_wanted(entry));
        Ok(wanted.map(|entry| entry["message"].as_str().unwrap_or_default().to_owned()).collect())
    }

    /// Sets the size of the window and the colour scheme the system prefers.
    pub async fn look(&self, look: Look) -> Outcome {
        let Look { width, height, dark } = look;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics).await?;
        let scheme =
            json!([{ "name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" } }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": scheme })).await?;
        self.drawn().await
    }

    /// Waits until the page has drawn twice, so that what was just asked for is on the screen.
    pub async fn drawn(&self) -> Outcome {
        let script =
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done(0)))";
        Ok(self.client.execute_async(script, Vec::new()).await.map(drop)?)
    }

    /// Saves a picture of the window as it is, as a PNG file.
    pub async fn picture_to(&self, file: &Path) -> Outcome {
        self.drawn().await?;
        Ok(std::fs::write(file, self.client.screenshot().await?)?)
    }

    /// Returns a picture of the window as it is.
    pub async fn pixels(&self) -> Outcome<Picture> {
        let options = json!({ "format": "png", "optimizeForSpeed": true });
        let answer = self.devtools("Page.captureScreenshot", options).await?;
        let file = BASE64_STANDARD.decode(answer["data"].as_str().unwrap_or_default());
        Picture::decode(&file.map_err(|error| Failure(format!("the picture of the browser: {error}")))?)
    }

    /// Takes pictures of this state for the documentation: NAME.png, NAME-dark.png and NAME-narrow.png.
    pub async fn picture(&self, name: &str) -> Outcome {
        for (look, suffix) in [(Look::DARK, "-dark"), (Look::NARROW, "-narrow"), (Look::DESKTOP, "")] {
            self.look(look).await?;
            self.picture_of(&format!("{name}{suffix}")).await?;
        }
        Ok(())
    }

    /// Takes a picture of the window as it is for the documentation: NAME.png.
    pub async fn picture_of(&self, name: &str) -> Outcome {
        std::fs::create_dir_all(&self.pictures)?;
        self.picture_to(&self.pictures.join(format!("{name}.png"))).await
    }

    /// Keeps what a failed test looked like; tells where.
    pub async fn keep_failure(&self, test: &str) -> Outcome<PathBuf> {
        let file = scratch()?.join(format!("failed-{}.png", test.replace("::", "-")));
        self.picture_to(&file).await?;
        Ok(file)
    }

    /// Forgets what tests stored in the browser.
    pub async fn forget(&self) -> Outcome {
        let origin = json!({ "origin": self.base.trim_end_matches('/'), "storageTypes": "all" });
        self.devtools("Storage.clearDataForOrigin", origin).await?;
        self.look(Look::DESKTOP).await
    }

    /// Ends the session.
    pub async fn close(self) {
        let _ = tokio::time::timeout(Duration::from_secs(10), self.client.close()).await;
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Page({})", self.base)
    }
}

/// Keys held down, as the DevTools protocol counts them.
#[derive(Clone, Copy, Debug)]
pub enum Modifiers {
    /// No key.
    None = 0,
    /// Ctrl.
    Control = 2,
    /// Shift.
    Shift = 8,
}

/// All that this origin keeps in the browser, and the address.
pub const KEPT: &str = "return (async () => ({ address: location.href, browser: { ...localStorage }, \
    window: { ...sessionStorage }, bases: (await indexedDB.databases()).map((base) => base.name), \
    caches: await caches.keys(), cookies: document.cookie }))()";
