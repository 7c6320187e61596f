//! What is shown, as files.

use super::popover::Popover;
use crate::canvas::png;
use crate::pool::UserError;
use crate::ui::dom;
use crate::ui::dom::{El, Keep, button, div};
use crate::ui::page::Page;
use crate::ui::shell::file_input::text_input;
use pathlight_view::address::View;
use pathlight_view::comparing::{Side, export_name};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, HtmlAnchorElement, HtmlCanvasElement, Url};

/// A way to write something down: its name, the end of the file's name, and how.
pub type Format = (&'static str, &'static str, Box<dyn Fn() -> Option<String>>);

/// Returns the name of a file without its ending: the view with its selection; the view that compares names both
/// sides.
fn file_name(page: Page, view: &str) -> String {
    let compares = page.address().view == View::Compare;
    let sides = compares.then(|| Side::BOTH.map(|side| page.side_name(side)));
    export_name(view, &page.selection_label(), sides.as_ref().map(|[a, b]| [a.as_str(), b.as_str()]))
}

/// Returns a button that opens a list of formats; `canvas` is offered as PNG.
pub fn menu(page: Page, keep: &Keep, name: &'static str, canvas: Option<El>, formats: Vec<Format>) -> El {
    let mut items = Vec::new();
    if let Some(canvas) = canvas {
        items.push(button("PNG image").test("export-png").on_click(keep, move || {
            let canvas = canvas.clone();
            spawn_local(async move {
                let Some(canvas) = canvas.as_kind::<HtmlCanvasElement>() else { return };
                match png(canvas).await {
                    Ok(blob) => save(page, &blob, &format!("{}.png", file_name(page, name))),
                    Err(error) => page.fail(UserError {
                        message: "The image could not be written.".to_owned(),
                        detail: error.as_string().unwrap_or_default(),
                        next_step: "Make the window smaller, or save as SVG.".to_owned(),
                    }),
                }
            });
        }));
    }
    for (label, ending, write) in formats {
        items.push(button(label).test(&format!("export-{ending}")).on_click(keep, move || {
            if let Some(input) = write().and_then(|text| text_input("", &text)) {
                save(page, &input.blob, &format!("{}.{ending}", file_name(page, name)));
            }
        }));
    }
    let open = button("Export")
        .attr("title", "Save what is shown as a file")
        .test("export")
        .node(&dom::icon("M4 6l4 4 4-4"));
    Popover::menu(keep, open, div("popover menu").test("export-menu"), &items).element().clone()
}

/// Saves a Blob as a file of this name.
pub fn save(page: Page, blob: &Blob, name: &str) {
    let Ok(address) = Url::create_object_url_with_blob(blob) else {
        page.fail(UserError {
            message: format!("{name} could not be written."),
            detail: String::new(),
            next_step: "Check that this frame may download files.".to_owned(),
        });
        return;
    };
    let link = dom::el("a").attr("href", &address).attr("download", name);
    if let Some(link) = link.as_kind::<HtmlAnchorElement>() {
        link.click();
    }
    spawn_local(async move {
        // The browser takes the address over a little later.
        dom::pause(10_000).await;
        let _ = Url::revoke_object_url(&address);
    });
}
