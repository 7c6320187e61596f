//! Saving a report, and being one: what `www/boot.js` found in the page, and what it needs to write a page with it. The
//! file is that of [`saved`].

use crate::pool::{Input, UserError};
use crate::ui::dom::El;
use crate::ui::page::Page;
use crate::ui::shell::queries::of_findings;
use crate::ui::shell::redaction_dialog;
use crate::ui::widgets::export::save;
use crate::wire::words;
use js_sys::{Array, Function, Promise, Reflect, Uint8Array};
use pathlight_query::queries;
use pathlight_text::dense::{dense, utf16};
use pathlight_view::address::View;
use pathlight_view::finding_words;
use pathlight_view::redacted;
use pathlight_view::redacted::ShareKind;
use pathlight_view::saved;
use pathlight_view::saved::ExportRedaction;
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Blob;

/// What is copied into the program's memory at once, which never gets smaller.
const PIECE_BYTES: usize = 1 << 20;

/// What the page came with, by the names of `www/boot.js`.
#[derive(Clone)]
pub struct Origin(Rc<JsValue>);

impl Origin {
    /// Creates it from the object that boot.js hands over.
    pub fn new(boot: JsValue) -> Origin {
        Origin(Rc::new(boot))
    }

    fn get(&self, name: &str) -> Option<JsValue> {
        Reflect::get(&self.0, &name.into()).ok().filter(|value| !value.is_undefined())
    }

    /// Returns what a saved report shows at first; empty in a page that is none.
    pub fn fragment(&self) -> String {
        self.get("fragment").and_then(|fragment| fragment.as_string()).unwrap_or_default()
    }

    /// Returns the first finding of a saved report, in words; empty in a page that is none.
    pub fn headline(&self) -> String {
        self.get("headline").and_then(|headline| headline.as_string()).unwrap_or_default()
    }

    /// Returns the traces of a saved report.
    pub fn inputs(&self) -> Vec<Input> {
        let parts: Vec<Blob> = self
            .get("parts")
            .and_then(|parts| parts.dyn_into::<Array>().ok())
            .map(|parts| parts.iter().filter_map(|part| part.dyn_into().ok()).collect())
            .unwrap_or_default();
        let of = parts.len();
        let name = |at: usize| {
            if of == 1 { "this report".to_owned() } else { format!("this report, part {}", at + 1) }
        };
        parts.into_iter().enumerate().map(|(at, blob)| Input { name: name(at), blob }).collect()
    }

    /// Returns the page in one file: this one as it came, or the one beside it.
    async fn page(&self) -> Result<Vec<u8>, JsValue> {
        Ok(self.bytes("file", &self.get("came").unwrap_or_default()).await?.to_vec())
    }

    /// Returns the bytes that a function of boot.js makes.
    async fn bytes(&self, function: &str, of: &JsValue) -> Result<Uint8Array, JsValue> {
        let function: Function = self.get(function).unwrap_or_default().dyn_into()?;
        let made: Promise = function.call1(&JsValue::NULL, of)?.dyn_into()?;
        Ok(Uint8Array::new(&JsFuture::from(made).await?))
    }

    async fn report(&self, page: Page, redaction: &ExportRedaction) -> Result<Blob, JsValue> {
        let template = self.page().await?;
        let Some((head, tail)) = saved::split(&template) else {
            return Err(JsValue::from_str("pathlight.html belongs to another version"));
        };
        let columns = page.columns(redaction).await.map_err(|reason| JsValue::from_str(&reason))?;
        let headline = first_finding(page, redaction).await;
        let mut address = redacted::report_address(&page.address(), redaction.0);
        // Whoever gets it begins with what was found, about the requests that were selected.
        if !headline.is_empty() {
            address.view = View::Findings;
        }
        let fragment = address.to_fragment();
        let pieces = Array::new();
        let put = |bytes: &[u8]| pieces.push(&Uint8Array::from(bytes));
        put(head);
        put(&utf16(&saved::facts(&fragment, &headline)));
        for blob in &columns {
            put(&utf16(saved::PART.0));
            let packed = self.bytes("pack", blob).await?;
            for start in (0..packed.length()).step_by(PIECE_BYTES) {
                let piece = packed.subarray(start, packed.length().min(start + PIECE_BYTES as u32));
                put(&dense(&piece.to_vec()));
            }
            put(&utf16(saved::PART.1));
        }
        put(tail);
        Blob::new_with_u8_array_sequence(&pieces)
    }

    /// Asks what to leave out, then saves what is loaded and shown as one file.
    pub fn open(&self, page: Page) {
        let origin = self.clone();
        let act = move |redaction: ExportRedaction, _: &El| origin.save(page, redaction);
        redaction_dialog::open(page, "Save report", ShareKind::Report, ("Save report", "redact-report"), act);
    }

    fn save(&self, page: Page, redaction: ExportRedaction) {
        let origin = self.clone();
        spawn_local(async move {
            match origin.report(page, &redaction).await {
                Ok(blob) => save(page, &blob, "pathlight-report.html"),
                Err(error) => page.fail(UserError {
                    message: "The report could not be saved.".to_owned(),
                    detail: words(&error),
                    next_step: "Wait until everything is read. Where the page is hosted, pathlight.html must lie beside it."
                        .to_owned(),
                }),
            }
        });
    }
}

/// Returns the first finding about what is selected, in words; empty where there is none, as of summaries.
async fn first_finding(page: Page, (redaction, pseudonyms): &ExportRedaction) -> String {
    if page.is_summary() {
        return String::new();
    }
    let (selection, baseline) = of_findings(page);
    let report = page.pool().run(&queries::Findings { selection, baseline }).await;
    let redacted = |report| redacted::findings(&report, *redaction, pseudonyms);
    report.map(|report| finding_words::headline(&redacted(report))).unwrap_or_default()
}
