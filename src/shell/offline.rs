//! Keeping a hosted page for use without its server: a service worker, registered only if the user asks for it.

use crate::dom::{self, El, Listeners, button};
use crate::page::Page;
use js_sys::{Promise, Reflect};
use pathlight_engine::pool::UserError;
use pathlight_wire::words;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::{JsFuture, spawn_local};
use web_sys::{ServiceWorkerContainer, ServiceWorkerRegistration};

/// Beside the page, under a name of its own: its address decides what it may keep.
const SCRIPT: &str = "service-worker.js";

#[wasm_bindgen]
extern "C" {
    /// Returns the address of a script as the host's policy wants it (`www/boot.js`).
    #[wasm_bindgen(js_name = pathlightScript, catch)]
    fn script_at(address: &str) -> Result<JsValue, JsValue>;
    type Registering;
    #[wasm_bindgen(method, catch)]
    fn register(this: &Registering, script: &JsValue) -> Result<Promise, JsValue>;
}

/// Returns the button, where this page can be kept: hosted, on https or this machine, and in no sandboxed frame.
pub fn toggle(page: Page, keep: &Listeners) -> Option<El> {
    let hosted =
        dom::document().get_element_by_id("asset-wasm").is_some_and(|link| link.has_attribute("href"));
    let workers = container().filter(|_| hosted)?;
    let toggle = button("").class("quiet").attr("role", "menuitemcheckbox").test("offline");
    let pressed = toggle.clone();
    let toggle = toggle.on_click(keep, move || {
        let pressed = pressed.clone();
        spawn_local(async move {
            pressed.set_text("One moment\u{2026}");
            if let Err(error) = turn(container()).await {
                page.fail(UserError {
                    message: "The page could not be kept for offline use.".to_owned(),
                    detail: words(&error),
                    next_step: "Check that its server can be reached, and that this window may store data."
                        .to_owned(),
                });
            }
            show(container(), &pressed).await;
        });
    });
    let shown = toggle.clone();
    spawn_local(async move { show(Some(workers), &shown).await });
    Some(toggle)
}

/// Returns the browser's service workers; absent on plain http and in a sandboxed frame.
fn container() -> Option<ServiceWorkerContainer> {
    // Asking a sandboxed frame's navigator for it throws.
    Reflect::get(&dom::window().navigator(), &"serviceWorker".into()).ok()?.dyn_into().ok()
}

/// Returns the registration that keeps this page, if it is kept.
async fn kept(workers: &ServiceWorkerContainer) -> Result<Option<ServiceWorkerRegistration>, JsValue> {
    let found = JsFuture::from(workers.get_registration()).await?;
    Ok(found.dyn_into().ok())
}

/// Keeps the page, or forgets it again.
async fn turn(workers: Option<ServiceWorkerContainer>) -> Result<(), JsValue> {
    let Some(workers) = workers else { return Ok(()) };
    if let Some(registration) = kept(&workers).await? {
        JsFuture::from(registration.unregister()?).await?;
        let caches = dom::window().caches()?;
        let names: js_sys::Array = JsFuture::from(caches.keys()).await?.unchecked_into();
        let names = names.iter().filter_map(|name| name.as_string());
        for name in names.filter(|name| name.starts_with("pathlight-")) {
            JsFuture::from(caches.delete(&name)).await?;
        }
        return Ok(());
    }
    let registering = workers.unchecked_ref::<Registering>().register(&script_at(SCRIPT)?)?;
    let registration: ServiceWorkerRegistration = JsFuture::from(registering).await?.unchecked_into();
    // Its first state is installing, and it ends active or, if a file could not be fetched, redundant.
    loop {
        if registration.active().is_some() {
            return Ok(());
        }
        if registration.installing().is_none() && registration.waiting().is_none() {
            let _: Promise = registration.unregister()?;
            return Err(JsValue::from_str("its server did not answer with the page and all of its files"));
        }
        dom::pause(50).await;
    }
}

async fn show(workers: Option<ServiceWorkerContainer>, toggle: &El) {
    let is_kept = match &workers {
        Some(workers) => kept(workers).await.ok().flatten().is_some(),
        None => false,
    };
    toggle.set_flag("aria-checked", is_kept);
    toggle.set_text(if is_kept { "Kept for offline use" } else { "Keep for offline use" });
    let title = if is_kept {
        "Forget the kept page again"
    } else {
        "Keep this page in the browser, so that it opens without its server; traces are never kept"
    };
    toggle.set("title", title);
}
