//! Execution flows as pictures: [`DagLayout`] says where everything stands, [`scene`] paints the part in sight.

mod layout;
mod paint;
mod window;

pub use layout::{DagBox, DagItem, DagLayout, DagLine, DagSizes};
pub use paint::{DagView, export_svg, scene};
pub use window::{DagHit, DagViewport, DagWindow};
