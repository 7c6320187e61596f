//! Saving a report, and being one: what `www/boot.js` found in the page, and what it needs to write a page with it. The
//! file is that of [`saved`].

use crate::boot::Given;
use crate::dom::El;
use crate::page::Page;
use crate::page::inputs::{REPORT, SIDE_NAMES};
use crate::pool::Input;
use crate::shell::redaction_dialog;
use crate::widgets::export::save;
use js_sys::{Array, Promise};
use pathlight_engine::pool::UserError;
use pathlight_engine::queries;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::export::redacted::{self, ShareKind};
use pathlight_view::export::saved::{self, ExportRedaction};
use pathlight_view::findings;
use pathlight_view::views::View;
use pathlight_wire::words;
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::Blob;

/// Origin of the page: the data it came with.
#[derive(Clone)]
pub struct Origin(Rc<Given>);

impl Origin {
    /// Creates it from what boot.js hands over.
    pub fn new(given: Given) -> Origin {
        Origin(Rc::new(given))
    }

    /// Returns what a saved report shows at first; empty in a page that is none.
    pub fn fragment(&self) -> &str {
        &self.0.fragment
    }

    /// Returns the first finding of a saved report, in words; empty in a page that is none.
    pub fn headline(&self) -> &str {
        &self.0.headline
    }

    /// Returns the traces of a saved report.
    pub fn inputs(&self) -> Vec<Input> {
        let parts: Vec<Blob> = self.0.parts.iter().filter_map(|part| part.dyn_into().ok()).collect();
        let of = parts.len();
        let name = |at: usize| match self.0.names.get(at).filter(|name| !name.is_empty()) {
            Some(name) => name.clone(),
            None if of == 1 => REPORT.to_owned(),
            None => format!("{REPORT}, part {}", at + 1),
        };
        parts.into_iter().enumerate().map(|(at, blob)| Input { name: name(at), blob }).collect()
    }

    /// Returns the page in one file: this one as it came, or the one beside it.
    async fn page(&self) -> Result<String, JsValue> {
        let page: Promise = self.0.page.call0(&JsValue::NULL)?.dyn_into()?;
        Ok(JsFuture::from(page).await?.as_string().unwrap_or_default())
    }

    /// Returns the base64 of a Blob's gzip. It stays with the browser: the program's memory never gets smaller.
    async fn pack(&self, blob: &Blob) -> Result<JsValue, JsValue> {
        let packed: Promise = self.0.pack.call1(&JsValue::NULL, blob)?.dyn_into()?;
        JsFuture::from(packed).await
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
        // Whoever gets it has other files: what the sets are called is in the address.
        if page.compares_sets() && !redaction.0.names {
            address.unknown.retain(|(key, _)| !SIDE_NAMES.contains(&key.as_str()));
            let names = ComparedSide::BOTH.map(|side| page.set_name(side.set_group()));
            let named =
                SIDE_NAMES.iter().zip(names).filter_map(|(key, name)| Some(((*key).to_owned(), name?)));
            address.unknown.extend(named);
        }
        let fragment = address.to_fragment();
        let names: Vec<String> = columns.iter().map(|(name, _)| name.clone()).collect();
        let pieces = Array::of2(&head.into(), &saved::facts(&fragment, &headline, &names).into());
        for (_, blob) in &columns {
            pieces.push(&saved::PART.0.into());
            pieces.push(&self.pack(blob).await?);
            pieces.push(&saved::PART.1.into());
        }
        pieces.push(&tail.into());
        Blob::new_with_str_sequence(&pieces)
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
    let (selection, baseline) = page.of_findings();
    let report = page.pool().run(&queries::Findings { selection, baseline }).await;
    let redacted = |report| redacted::findings(&report, *redaction, pseudonyms);
    report.map(|report| findings::words::headline(&redacted(report))).unwrap_or_default()
}
