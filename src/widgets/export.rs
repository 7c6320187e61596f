//! Exports what is shown as files.

use super::popover::Popover;
use crate::canvas::{plain_theme, png_of};
use crate::dom::{self, El, Listeners, button, div, text_blob};
use crate::page::Page;
use pathlight_engine::pool::UserError;
use pathlight_view::address::comparing::ComparedSide;
use pathlight_view::draw::Theme;
use pathlight_view::draw::caption::{CaptionEntries, captioned};
use pathlight_view::export::pictures::Exported;
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;
use web_sys::{Blob, HtmlAnchorElement, Url};

/// A way to write something down: its name, the end of the file's name, and how. What ends in `svg` is a picture; it is
/// offered as PNG as well.
pub type Format = (&'static str, &'static str, Box<dyn Fn() -> Option<String>>);

/// Names the colours of a chart.
pub type LegendOf = Box<dyn Fn(&Theme) -> CaptionEntries>;

/// Returns the colours of exported charts: plain light ones, or dark ones where the page is dark.
pub fn theme() -> Theme {
    plain_theme(dom::is_dark())
}

fn exported(page: Page) -> Exported {
    Exported::of(&page.address(), ComparedSide::BOTH.map(|side| page.side_name(side)))
}

/// Writer of a file, for a button of the menu.
struct Writer {
    page: Page,
    /// The view.
    name: &'static str,
    ending: &'static str,
    write: Box<dyn Fn() -> Option<String>>,
    legend: Rc<Option<LegendOf>>,
}

impl Writer {
    fn is_picture(&self) -> bool {
        self.ending.ends_with("svg")
    }

    /// Returns the file, a chart with all that says what it shows.
    fn blob(&self) -> Option<Blob> {
        let text = (self.write)()?;
        if !self.is_picture() {
            return text_blob(&text, "application/json");
        }
        let theme = theme();
        let legend = (*self.legend).as_ref().map_or_else(CaptionEntries::new, |legend| legend(&theme));
        let lines = exported(self.page).lines(js_sys::Date::now() as u64 * 1000);
        text_blob(&captioned(&text, &lines, &legend, &theme), "image/svg+xml")
    }

    fn save(&self, blob: &Blob, ending: &str) {
        save(self.page, blob, &format!("{}.{ending}", exported(self.page).file_name(self.name)));
    }

    /// Saves the picture as PNG, in the pixels of the page's screen.
    async fn save_png(&self) {
        let Some(svg) = self.blob() else { return };
        let (message, detail) = match png_of(&svg, dom::window().device_pixel_ratio().max(1.0)).await {
            Ok((blob, is_smaller)) => {
                self.save(&blob, &self.ending.replace("svg", "png"));
                if !is_smaller {
                    return;
                }
                (
                    "The image was made smaller than the chart: no browser writes a PNG that large.",
                    String::new(),
                )
            }
            Err(error) => ("The image could not be written.", error.as_string().unwrap_or_default()),
        };
        let next_step = "Save as SVG to have all of it.".to_owned();
        self.page.fail(UserError { message: message.to_owned(), detail, next_step });
    }
}

/// Returns a button that opens a list of formats; `legend` names the colours of pictures.
pub fn menu(
    page: Page,
    keep: &Listeners,
    name: &'static str,
    legend: Option<LegendOf>,
    formats: Vec<Format>,
) -> El {
    let legend = Rc::new(legend);
    let mut items = Vec::new();
    for (label, ending, write) in formats {
        let writer = Rc::new(Writer { page, name, ending, write, legend: legend.clone() });
        if writer.is_picture() {
            let writer = writer.clone();
            let png = button(&label.replace("SVG", "PNG"));
            let png = png.test(&format!("export-{}", ending.replace("svg", "png")));
            items.push(png.on_click(keep, move || {
                let writer = writer.clone();
                spawn_local(async move { writer.save_png().await });
            }));
        }
        items.push(button(label).test(&format!("export-{ending}")).on_click(keep, move || {
            if let Some(blob) = writer.blob() {
                writer.save(&blob, ending);
            }
        }));
    }
    let open = button("")
        .class("quiet square")
        .label("Export")
        .attr("title", "Save what is shown as a file")
        .test("export")
        .node(&dom::icon("M8 2v8M4.5 6.5 8 10l3.5-3.5M2.5 13.5h11"));
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
