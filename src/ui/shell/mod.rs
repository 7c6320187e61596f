//! The parts of the page around the views: header, sidebar, status, dialogs, and what they know.

pub mod banners;
pub mod detail;
pub mod fetch_row;
pub mod fetching;
pub mod file_input;
pub mod filters;
pub mod header;
pub mod host;
pub mod jaeger_dialog;
pub mod jump;
pub mod keys;
pub mod memory_row;
pub mod notes;
pub mod offline;
pub mod progress;
pub mod queries;
pub mod range_bar;
pub mod saved_report;
pub mod search;
pub mod selection_bar;
pub mod sidebar;
pub mod sides;
pub mod slot;
pub mod start;
pub mod status;
pub mod undo;
