//! What is shown, as files.

use super::dom::{self, El, Keep, button, div};
use super::gather::text_input;
use super::page::Page;
use crate::web::canvas::png;
use crate::web::pool::UserError;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, HtmlAnchorElement, HtmlCanvasElement, Url};

/// A way to write something down: its name, the end of the file's name, and how.
pub type Format = (&'static str, &'static str, Box<dyn Fn() -> Option<String>>);

/// A button that opens a list of formats; `canvas` is offered as PNG.
pub fn menu(page: &Page, keep: &Keep, name: &'static str, canvas: Option<El>, formats: Vec<Format>) -> El {
    let list = div("popover menu").attr("role", "menu").test("export-menu");
    list.show(false);
    let open = button("Export")
        .attr("aria-haspopup", "menu")
        .attr("aria-expanded", "false")
        .attr("title", "Save what is shown as a file")
        .test("export")
        .node(&dom::icon("M4 6l4 4 4-4"));
    let shut = {
        let (list, open) = (list.clone(), open.clone());
        move || {
            list.show(false);
            open.set_flag("aria-expanded", false);
        }
    };
    if let Some(canvas) = canvas {
        let (shut, page) = (shut.clone(), page.clone());
        list.add(&button("PNG picture").attr("role", "menuitem").test("export-png").on_click(
            keep,
            move || {
                shut();
                let (canvas, page) = (canvas.clone(), page.clone());
                spawn_local(async move {
                    let Some(canvas) = canvas.as_kind::<HtmlCanvasElement>() else { return };
                    match png(canvas).await {
                        Ok(blob) => save(&page, &blob, &format!("{name}.png")),
                        Err(error) => page.fail(UserError {
                            message: "The picture could not be written.".to_owned(),
                            detail: error.as_string().unwrap_or_default(),
                            next_step: "Make the window smaller, or save as SVG.".to_owned(),
                        }),
                    }
                });
            },
        ));
    }
    for (label, ending, write) in formats {
        let (shut, page) = (shut.clone(), page.clone());
        let item = button(label).attr("role", "menuitem").test(&format!("export-{ending}"));
        list.add(&item.on_click(keep, move || {
            shut();
            if let Some(input) = write().and_then(|text| text_input("", &text)) {
                save(&page, &input.blob, &format!("{name}.{ending}"));
            }
        }));
    }
    let shown = list.clone();
    let open = {
        let pressed = open.clone();
        open.on_click(keep, move || {
            let is_open = shown.html().hidden();
            shown.show(is_open);
            pressed.set_flag("aria-expanded", is_open);
            if let Some(Ok(first)) = shown
                .html()
                .first_element_child()
                .filter(|_| is_open)
                .map(JsCast::dyn_into::<web_sys::HtmlElement>)
            {
                let _ = first.focus();
            }
        })
    };
    let anchor = div("popover-anchor").child(&open).child(&list);
    let area = anchor.clone();
    let away = shut.clone();
    let how = dom::How { capture: true, ..dom::How::default() };
    keep.add(dom::listen(&dom::document(), "pointerdown", how, move |event| {
        let target = event.target().and_then(|target| target.dyn_into::<web_sys::Node>().ok());
        if !area.html().contains(target.as_ref()) {
            away();
        }
    }));
    let how = dom::How { active: true, ..dom::How::default() };
    let (items, opener) = (list.clone(), open.clone());
    keep.add(dom::listen(list.html(), "keydown", how, move |event| {
        let Some(key) = event.dyn_ref::<web_sys::KeyboardEvent>() else { return };
        let here = dom::document().active_element();
        let to = match key.key().as_str() {
            "Escape" => {
                shut();
                opener.focus();
                event.prevent_default();
                event.stop_propagation();
                return;
            }
            "ArrowDown" => here
                .and_then(|here| here.next_element_sibling())
                .or_else(|| items.html().first_element_child()),
            "ArrowUp" => here
                .and_then(|here| here.previous_element_sibling())
                .or_else(|| items.html().last_element_child()),
            _ => return,
        };
        event.prevent_default();
        event.stop_propagation();
        if let Some(Ok(to)) = to.map(JsCast::dyn_into::<web_sys::HtmlElement>) {
            let _ = to.focus();
        }
    }));
    anchor
}

/// Saves a Blob as a file of this name.
pub fn save(page: &Page, blob: &Blob, name: &str) {
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

/// A line of comma-separated values.
pub fn csv_line(cells: &[String]) -> String {
    let quoted: Vec<String> = cells
        .iter()
        .map(|cell| {
            if cell.contains([',', '"', '\n', '\r']) {
                format!("\"{}\"", cell.replace('"', "\"\""))
            } else {
                cell.clone()
            }
        })
        .collect();
    format!("{}\r\n", quoted.join(","))
}
