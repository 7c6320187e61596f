//! What the scripts of the package call. Options, answers and errors cross as JSON.

use crate::sets::{LoadedSet, SetReader};
use crate::trouble::Trouble;
use crate::{answer, draw};
use js_sys::{ArrayBuffer, Uint8Array, WebAssembly};
use pathlight_engine::load::Reserve;
use pathlight_engine::run::clock;
use std::sync::Mutex;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

/// Why the module broke off, if it did.
static BROKEN: Mutex<String> = Mutex::new(String::new());

/// Prepares the module; called once, when it starts.
#[wasm_bindgen(start)]
pub fn start() {
    clock::set(js_sys::Date::now);
    std::panic::set_hook(Box::new(|panic| {
        let place =
            panic.location().map_or(String::new(), |place| format!(" ({}:{})", place.file(), place.line()));
        if let Ok(mut broken) = BROKEN.lock() {
            *broken = format!("{}{place}", panic.payload_as_str().unwrap_or("panic"));
        }
    }));
}

/// Returns why the module broke off; empty if it did not say.
#[wasm_bindgen(js_name = whyBroken)]
pub fn why_broken() -> String {
    BROKEN.lock().map(|broken| broken.clone()).unwrap_or_default()
}

fn thrown(trouble: Trouble) -> JsValue {
    JsValue::from(serde_json::to_string(&trouble).unwrap_or(trouble.message))
}

fn memory_bytes() -> u64 {
    let memory = wasm_bindgen::memory().unchecked_into::<WebAssembly::Memory>();
    u64::from(memory.buffer().unchecked_into::<ArrayBuffer>().byte_length())
}

/// Reads inputs into a set.
#[wasm_bindgen(js_name = SetReader)]
pub struct JsReader {
    reader: SetReader,
    reserve: Reserve,
}

#[wasm_bindgen(js_class = SetReader)]
impl JsReader {
    /// Returns a reader with options as JSON.
    ///
    /// # Errors
    /// An option is wrong.
    #[wasm_bindgen(constructor)]
    pub fn new(options: &str) -> Result<JsReader, JsValue> {
        let reader = SetReader::new(options).map_err(thrown)?;
        Ok(JsReader { reader, reserve: Reserve::default() })
    }

    /// Begins an input of this name.
    pub fn open(&mut self, name: &str) {
        self.reader.open(name);
    }

    /// Feeds the next bytes of the input; returns whether more of it is wanted.
    ///
    /// # Errors
    /// Memory ended.
    pub fn feed(&mut self, bytes: &Uint8Array) -> Result<bool, JsValue> {
        let mut from = 0;
        let fed = self.reader.feed(bytes.length() as usize, |room| {
            let until = from + room.len() as u32;
            bytes.subarray(from, until).copy_to(room);
            from = until;
        });
        if !self.reserve.keep_up(memory_bytes()) {
            self.reader.is_full();
        }
        fed.map_err(thrown)
    }

    /// Ends the input.
    pub fn close(&mut self) {
        self.reader.close();
    }

    /// Returns traces so far.
    #[wasm_bindgen(getter)]
    pub fn traces(&self) -> f64 {
        self.reader.counts().0 as f64
    }

    /// Returns spans so far.
    #[wasm_bindgen(getter)]
    pub fn spans(&self) -> f64 {
        self.reader.counts().1 as f64
    }

    /// Ends reading and returns the set.
    ///
    /// # Errors
    /// Nothing that was read is a trace, or memory ended.
    pub fn finish(self) -> Result<JsSet, JsValue> {
        // What was held for the analyses is theirs now.
        drop(self.reserve);
        self.reader.finish().map(JsSet).map_err(thrown)
    }
}

/// A set of traces.
#[wasm_bindgen(js_name = LoadedSet)]
pub struct JsSet(LoadedSet);

#[wasm_bindgen(js_class = LoadedSet)]
impl JsSet {
    /// Returns what it holds, as JSON.
    ///
    /// # Errors
    /// None that is known.
    pub fn facts(&self) -> Result<String, JsValue> {
        serde_json::to_string(&self.0.facts()).map_err(|error| thrown(error.into()))
    }

    /// Answers a question.
    ///
    /// # Errors
    /// An option is wrong, there are no such requests, or memory ended.
    pub fn answer(&mut self, question: &str, options: &str) -> Result<String, JsValue> {
        answer(question, options, &mut self.0, None).map_err(thrown)
    }

    /// Answers a question about this set and another.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    #[wasm_bindgen(js_name = answerWith)]
    pub fn answer_with(
        &mut self,
        question: &str,
        options: &str,
        other: &mut JsSet,
    ) -> Result<String, JsValue> {
        answer(question, options, &mut self.0, Some(&mut other.0)).map_err(thrown)
    }

    /// Draws a chart.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn draw(&mut self, chart: &str, options: &str) -> Result<String, JsValue> {
        draw(chart, options, &mut self.0, None).map_err(thrown)
    }

    /// Draws a chart of this set and another.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    #[wasm_bindgen(js_name = drawWith)]
    pub fn draw_with(&mut self, chart: &str, options: &str, other: &mut JsSet) -> Result<String, JsValue> {
        draw(chart, options, &mut self.0, Some(&mut other.0)).map_err(thrown)
    }
}
