//! Heat map: endpoints as rows, requests as columns, the share of each request's latency as colour (definitions
//! section 5; paper Fig. 10).
//!
//! A [`HeatModel`] is built once from a report; a [`HeatLayout`] is what of it a window shows: rows in sight only, and as
//! many columns as there are pixels, so that its cost does not depend on how many rows there are.

mod alike;
pub mod layout;
mod model;
mod paint;

pub use alike::{alike_rows, with_alike_columns};
pub use layout::{HeatHit, HeatLayout, HeatRow, HeatRun, HeatSize, HeatView, layout};
pub use model::{HeatModel, heat_of_share, share_of_heat};
pub use paint::{Raster, export_svg, marks, raster, scene};
