//! The page's custom properties as a theme.

use pathlight_view::draw::{Rgba, Theme};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen::JsCast as _;
use web_sys::{CanvasRenderingContext2d, Element, HtmlCanvasElement};

/// Returns the theme that holds at an element: each of [`Theme::TOKENS`] that the style sheet defines there, the
/// built-in value for the rest. It is dark if its background is.
pub fn theme_of(element: &Element) -> Rc<Theme> {
    let style = web_sys::window().and_then(|window| window.get_computed_style(element).ok()?);
    let read = |token: &str| {
        let value = style.as_ref()?.get_property_value(token).ok()?;
        let value = value.trim();
        if value.is_empty() { None } else { Rgba::parse(value).or_else(|| normalised(value)) }
    };
    let dark = read(Theme::TOKENS[0]).is_some_and(|background| background.luminance() < 0.2);
    let mut tokens = Theme::built_in(dark);
    for (slot, token) in tokens.iter_mut().zip(Theme::TOKENS) {
        if let Some(color) = read(token) {
            *slot = color;
        }
    }
    // More than a thousand colours follow from these, and every chart of a page asks for the same.
    MADE.with_borrow_mut(|made| {
        let last = made.take().filter(|made| made.dark == dark && made.tokens() == tokens);
        let make = || Rc::new(with_leading(Theme::with_tokens(dark, tokens)));
        made.insert(last.unwrap_or_else(make)).clone()
    })
}

/// Returns the built-in theme, for files.
pub fn plain_theme(dark: bool) -> Theme {
    with_leading(if dark { Theme::dark() } else { Theme::light() })
}

fn with_leading(theme: Theme) -> Theme {
    LEADING.with_borrow(|leading| theme.with_leading(leading))
}

/// Gives services leading colours ([`color::leading`](pathlight_view::draw::color::leading)) from now on. Returns those that
/// had them before, or `None` if they are the same.
pub fn lead(leading: Vec<(u16, u8)>) -> Option<Vec<(u16, u8)>> {
    if LEADING.with_borrow(|before| *before == leading) {
        return None;
    }
    MADE.take();
    Some(LEADING.replace(leading))
}

thread_local! {
    /// The theme made last.
    static MADE: RefCell<Option<Rc<Theme>>> = const { RefCell::new(None) };
    /// Services with leading colours.
    static LEADING: RefCell<Vec<(u16, u8)>> = const { RefCell::new(Vec::new()) };
}

/// Normalises any other way to write a colour in CSS (names, `hsl()`), by way of a canvas, which gives back
/// hexadecimal.
fn normalised(value: &str) -> Option<Rgba> {
    let canvas = web_sys::window()?.document()?.create_element("canvas").ok()?;
    let context = canvas.dyn_into::<HtmlCanvasElement>().ok()?.get_context("2d").ok()??;
    let context = context.dyn_into::<CanvasRenderingContext2d>().ok()?;
    // An unknown value leaves the style as it was: tell that by two different ones.
    let through = |first: &str| {
        context.set_fill_style_str(first);
        context.set_fill_style_str(value);
        context.fill_style().as_string()
    };
    let (a, b) = (through("#000000")?, through("#ffffff")?);
    if a == b { Rgba::parse(&a) } else { None }
}
