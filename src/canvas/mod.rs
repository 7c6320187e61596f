//! Painting on an HTML canvas: sizes, text widths, theme tokens, pictures as PNG.
//!
//! The content is a [`Scene`](pathlight_view::draw::Scene); when to paint is for the page to say.

mod plot;
mod png;
mod surface;
mod theme;
mod widths;

pub use plot::PlotBackend;
pub use png::png_of;
pub use surface::{CanvasMeasure, Surface};
pub use theme::{lead, plain_theme, theme_of};
