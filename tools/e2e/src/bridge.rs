//! Firefox at the addresses of WebDriver, so that a [`Page`](crate::browser::Page) may be one of Firefox and the tests of
//! Chromium run there too. What a page asks of the DevTools protocol is done by WebDriver's own actions, or left out:
//! Firefox's console is not read.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{Method, Uri};
use axum::response::Response;
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use crate::failure::{Failure, Outcome, fail};
use crate::firefox::Firefox;
use crate::site::{Site, reply};

/// The key under which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A Firefox that is asked like chromedriver.
pub struct Bridge {
    /// Its address, with a slash at its end.
    pub url: String,
    _site: Site,
}

struct Inner {
    firefox: Firefox,
    /// What a window has around its page, in pixels.
    around: Option<[i64; 2]>,
}

impl Bridge {
    /// Starts a Firefox.
    ///
    /// # Errors
    /// It does not come up.
    pub fn start() -> Outcome<Bridge> {
        let inner = Arc::new(Mutex::new(Inner { firefox: Firefox::start()?, around: None }));
        let site = Site::start(Router::new().fallback(serve).with_state(inner))?;
        Ok(Bridge { url: site.url.clone(), _site: site })
    }
}

async fn serve(State(inner): State<Arc<Mutex<Inner>>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let work = move || {
        let parameters = serde_json::from_slice(&body).unwrap_or_else(|_| json!({}));
        inner.lock().unwrap_or_else(PoisonError::into_inner).ask(method.as_str(), uri.path(), parameters)
    };
    // Firefox may take its time, and the pages it waits for are served by the same threads.
    let done = spawn_blocking(work).await.unwrap_or_else(|lost| fail(lost.to_string()));
    let (status, value) = match done {
        Ok(value) => (200, value),
        Err(Failure(message)) => {
            (500, json!({ "error": "unknown error", "message": message, "stacktrace": "" }))
        }
    };
    reply(status, "application/json", json!({ "value": value }).to_string())
}

impl Inner {
    /// Does what an address of WebDriver stands for.
    fn ask(&mut self, method: &str, path: &str, mut parameters: Value) -> Outcome<Value> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').skip(2).collect();
        let name = match (method, parts.as_slice()) {
            ("POST", []) => return Ok(json!({ "sessionId": "firefox", "capabilities": {} })),
            // Firefox ends with the bridge.
            ("DELETE", []) => return Ok(Value::Null),
            ("POST", ["se", "log"]) => return Ok(json!([])),
            ("POST", ["goog", "cdp", "execute"]) => return self.devtools(&parameters),
            ("POST", ["url"]) => "WebDriver:Navigate",
            ("GET", ["url"]) => "WebDriver:GetCurrentURL",
            ("POST", ["back"]) => "WebDriver:Back",
            ("POST", ["refresh"]) => "WebDriver:Refresh",
            ("POST", ["execute", "sync"]) => "WebDriver:ExecuteScript",
            ("POST", ["execute", "async"]) => "WebDriver:ExecuteAsyncScript",
            ("GET", ["screenshot"]) => "WebDriver:TakeScreenshot",
            ("POST", ["element"]) => "WebDriver:FindElement",
            ("POST", ["window", "new"]) => "WebDriver:NewWindow",
            ("GET", ["window"]) => "WebDriver:GetWindowHandle",
            ("POST", ["window"]) => "WebDriver:SwitchToWindow",
            ("DELETE", ["window"]) => "WebDriver:CloseWindow",
            ("POST", ["frame"]) => {
                parameters = json!({ "element": parameters["id"][ELEMENT] });
                "WebDriver:SwitchToFrame"
            }
            ("POST", ["frame", "parent"]) => "WebDriver:SwitchToParentFrame",
            ("POST", ["element", id, "click"]) => return self.click(id).map(|_| Value::Null),
            ("POST", ["element", id, act]) => {
                parameters["id"] = json!(id);
                match *act {
                    "clear" => "WebDriver:ElementClear",
                    "value" => "WebDriver:ElementSendKeys",
                    _ => return fail(format!("{act} of an element is not known here")),
                }
            }
            _ => return fail(format!("{method} {path} is not known here")),
        };
        let mut answer = self.firefox.call(name, parameters)?;
        // Of windows it says more than a value.
        Ok(if answer.get("value").is_some() { answer["value"].take() } else { answer })
    }

    /// Clicks an element. A row of a table has no place of its own for Firefox, but its cells have.
    fn click(&mut self, id: &str) -> Outcome<Value> {
        let clicked = self.firefox.call("WebDriver:ElementClick", json!({ "id": id }));
        if clicked.is_ok() {
            return clicked;
        }
        let first = json!({ "element": id, "using": "css selector", "value": "td" });
        let Ok(cell) = self.firefox.call("WebDriver:FindElement", first) else { return clicked };
        self.firefox.call("WebDriver:ElementClick", json!({ "id": cell["value"][ELEMENT] }))
    }

    /// Does what a call of the DevTools protocol stands for.
    fn devtools(&mut self, call: &Value) -> Outcome<Value> {
        let (name, with) = (call["cmd"].as_str().unwrap_or_default(), &call["params"]);
        let kind = with["type"].as_str().unwrap_or_default();
        match name {
            "Input.dispatchMouseEvent" => {
                let number = |key: &str| with[key].as_f64().unwrap_or_default().round();
                let act = match kind {
                    "mouseMoved" => {
                        json!({ "type": "pointerMove", "x": number("x"), "y": number("y"), "duration": 0 })
                    }
                    "mousePressed" => json!({ "type": "pointerDown", "button": 0 }),
                    "mouseReleased" => json!({ "type": "pointerUp", "button": 0 }),
                    _ => return fail(format!("{kind} is not known here")),
                };
                self.act(json!({ "type": "pointer", "id": "mouse", "actions": [act] }))
            }
            "Input.dispatchKeyEvent" => {
                if with["modifiers"] != 0 {
                    return fail("keys held down are not known here");
                }
                let key = with["key"].as_str().unwrap_or_default();
                let value = match key {
                    "Tab" => "\u{E004}",
                    "Enter" => "\u{E007}",
                    "Escape" => "\u{E00C}",
                    "ArrowLeft" => "\u{E012}",
                    "ArrowUp" => "\u{E013}",
                    "ArrowRight" => "\u{E014}",
                    "ArrowDown" => "\u{E015}",
                    key if key.chars().count() == 1 => key,
                    key => return fail(format!("key {key} is not known here")),
                };
                let act = json!({ "type": kind, "value": value });
                let done = self.act(json!({ "type": "key", "id": "keys", "actions": [act] }));
                // The frame may be gone by the key that it has taken.
                let is_gone = |Failure(words): &Failure| words.contains("no such window");
                if done.as_ref().is_err_and(is_gone) { Ok(Value::Null) } else { done }
            }
            "Emulation.setDeviceMetricsOverride" => {
                let [width, height] = ["width", "height"].map(|key| with[key].as_i64().unwrap_or_default());
                let [beside, above] = match self.around {
                    Some(around) => around,
                    None => {
                        let script = "return [outerWidth - innerWidth, outerHeight - innerHeight]";
                        *self.around.insert(serde_json::from_value(self.firefox.run(script)?)?)
                    }
                };
                let size = json!({ "width": width + beside, "height": height + above });
                self.firefox.call("WebDriver:SetWindowRect", size)
            }
            "Input.dispatchDragEvent" => self.drag(kind, with),
            "Page.addScriptToEvaluateOnNewDocument" => {
                let source = with["source"].as_str().unwrap_or_default();
                let script = json!({ "functionDeclaration": format!("() => {{ {source} }}") });
                let added = self.firefox.ask("script.addPreloadScript", script)?;
                Ok(json!({ "identifier": added["script"] }))
            }
            "Page.removeScriptToEvaluateOnNewDocument" => {
                self.firefox.ask("script.removePreloadScript", json!({ "script": with["identifier"] }))
            }
            "Emulation.setEmulatedMedia" | "Storage.clearDataForOrigin" | "Page.bringToFront" => {
                Ok(Value::Null)
            }
            _ => fail(format!("{name} is not known here")),
        }
    }

    /// Drags files. Firefox lets nothing in from outside, so they are chosen in an input that is no part of the page, and
    /// the page sees a drag of its files.
    fn drag(&mut self, kind: &str, with: &Value) -> Outcome<Value> {
        if kind == "dragEnter" {
            let script = "let input = document.getElementById('dragged-files'); \
                if (!input) { input = document.createElement('input'); input.id = 'dragged-files'; \
                    input.type = 'file'; input.multiple = true; document.documentElement.append(input); } \
                input.value = ''";
            self.firefox.run(script)?;
            let files = with["data"]["files"].as_array().into_iter().flatten();
            let files: Vec<&str> = files.filter_map(Value::as_str).collect();
            self.firefox.type_into("#dragged-files", &files.join("\n"))?;
        }
        let script = format!(
            "const at = {{ clientX: {}, clientY: {} }}; const input = document.getElementById('dragged-files'); \
             const dataTransfer = new DataTransfer(); for (const file of input.files) dataTransfer.items.add(file); \
             document.elementFromPoint(at.clientX, at.clientY).dispatchEvent(new DragEvent('{}', \
                 {{ ...at, dataTransfer, bubbles: true, cancelable: true, composed: true }})); \
             if ('{kind}' === 'drop') input.remove()",
            with["x"],
            with["y"],
            kind.to_lowercase(),
        );
        self.firefox.run(&script)
    }

    fn act(&mut self, source: Value) -> Outcome<Value> {
        self.firefox.call("WebDriver:PerformActions", json!({ "actions": [source] }))
    }
}
