//! Data to boxes to pixels: layouts are plain values.
//!
//! A layout ([`flame::chart`](crate::flame::chart), [`timeline::chart`](crate::timeline::chart)) says which boxes are visible, in integer device pixels. A [`Scene`] is the same
//! with colours and text, as a list of filled rectangles, curves and strings that a canvas and an SVG file paint alike.
//! Charts with axes go through plotters ([`histogram`], [`curves`]). Nothing here knows a browser.

pub mod axis;
pub mod backend;
pub mod caption;
pub mod color;
pub mod curves;
pub mod histogram;
pub mod multiples;
pub mod pair;
pub mod plot;
pub mod scene;
pub mod small_histogram;
pub mod svg;
pub mod text;
pub mod theme;
pub mod viewport;
pub mod violin;
pub mod window;

pub use color::Rgba;
pub use scene::{Fill, Layer, Metrics, Scene, Text};
pub use text::MeasureText;
pub use theme::{Shade, Theme};
pub use viewport::{AxisViewport, Viewport};
pub use window::Window;
