//! The parts that views are built of: tables, chart canvases, menus.

pub mod chart_canvas;
pub mod companion;
pub mod controls;
pub mod dialog;
pub mod distribution;
pub mod export;
pub mod filled_canvas;
pub mod frame;
pub mod grid;
pub mod grid_columns;
pub mod links;
pub mod names;
pub mod panels;
pub mod pick_list;
pub mod places;
pub mod plot_chart;
pub mod popover;
pub mod service_legend;
pub mod show_in;
pub mod still_chart;
pub mod sum_menu;
pub mod tip;
pub mod zoom;
