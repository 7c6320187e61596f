//! The timeline of one trace: a row per span, a bar from its start to its end, the critical path marked on the bars.
//!
//! A [`Timeline`] is built once per trace and changes when rows are opened and closed; a [`TimelineLayout`] is what of
//! it a window shows, computed anew for each frame without looking at the spans that do not show.

mod aggregate;
mod groups;
mod hit;
pub mod layout;
pub(crate) mod marks;
mod matches;
mod minimap;
mod model;
mod paint;
mod parts;
mod size;
mod tail;
mod ticks;

pub use aggregate::PartBox;
pub use groups::SiblingGroup;
pub use hit::{TimelineHit, TimelinePart};
pub use layout::{BarKind, BarText, TimelineLayout, TimelineRow, TimelineShown, Toggle, layout};
pub use marks::{Mark, marks};
pub use matches::SpanMatches;
pub use minimap::Minimap;
pub use model::{Sign, SpansRow, Timeline};
pub use paint::{export_svg, scene};
pub use parts::{SpanPart, between, part_name};
pub use size::{NUMBERS, SpanBar, TimelineSize};
pub use ticks::{Tick, nice_step, ticks};

#[cfg(test)]
pub(crate) use model::tests::trace;
