//! Flame graphs: calling contexts as nested boxes, root at the top, widest child first.
//!
//! A [`FlameTree`] is built once from a report (or from an [`Inverted`] one); a [`FlameLayout`] is what of it a window
//! shows, computed anew for each frame.

mod diff;
mod inverted;
pub mod layout;
mod paint;
mod search;
mod table;
mod tree;

pub use diff::{DiffFlame, DiffOptions, DiffWidth, counts_as_changed};
pub use inverted::{Inverted, callees_of};
pub use layout::{FlameBox, FlameHit, FlameLayout, FlameSize, FlameView, layout};
pub use paint::{FlameWords, export_svg, scene};
pub use search::Matches;
pub use table::{FlameEndpointRow, endpoint_rows, node_depths};
pub(crate) use tree::waiting_label;
pub use tree::{FlameTree, Frame, NONE};
