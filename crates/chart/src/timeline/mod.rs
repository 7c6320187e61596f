//! The timeline of one trace: a row per span, a bar from its start to its end, the critical path marked on the bars.
//!
//! A [`Timeline`] is built once per trace and changes when rows are opened and closed; a [`TimelineLayout`] is what of
//! it a window shows, computed anew for each frame without looking at the spans that do not show.

mod groups;
mod hit;
mod layout;
mod marks;
mod minimap;
mod model;
mod paint;
mod parts;
mod tail;
mod ticks;

pub use groups::Group;
pub use hit::{Part, TimelineHit};
pub use layout::{
    Bar, BarKind, BarText, NUMBERS, TimelineLayout, TimelineRow, TimelineSize, TimelineView, Toggle, layout,
};
pub use marks::{Mark, marks};
pub use minimap::Minimap;
pub use model::{Row, Sign, SpanMatches, Timeline};
pub use paint::{export_svg, scene};
pub use parts::{PartBox, SpanPart, between, part_name};
pub use ticks::{Tick, nice_step, ticks};

#[cfg(test)]
pub(super) use model::tests::trace;
