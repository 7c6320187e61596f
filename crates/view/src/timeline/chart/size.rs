//! The room for a timeline, and where in it things lie.

use super::Timeline;
use crate::draw::Metrics;

/// The room for a timeline, in device pixels: an axis on top, a column of labels at the left, bars in the rest.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimelineSize {
    /// Width of all of it.
    pub width: i32,
    /// Height of all of it.
    pub height: i32,
    /// Width of the label column. Below 96 CSS pixels it shows indentation only, and labels move to the bars.
    pub column_px: i32,
    /// Width of the columns of numbers at the end of the label column; 0: there are none.
    pub numbers_px: i32,
    /// Width of the scrollbar at the right; 0: there is none.
    pub scrollbar_px: i32,
    /// Device pixels per CSS pixel.
    pub metrics: Metrics,
}

impl TimelineSize {
    /// Returns a room without columns of numbers and scrollbar.
    pub fn new(width: i32, height: i32, column_px: i32, metrics: Metrics) -> TimelineSize {
        TimelineSize { width, height, column_px, numbers_px: 0, scrollbar_px: 0, metrics }
    }

    /// Returns the height of a row.
    pub fn row_px(&self) -> i32 {
        self.metrics.px(22.0)
    }

    /// Returns the height of the axis.
    pub fn axis_px(&self) -> i32 {
        self.metrics.px(24.0)
    }

    /// Returns the size of the font of the text at the bars; labels in the column have [`Metrics::font_px`].
    pub fn small_px(&self) -> i32 {
        self.metrics.px(11.0)
    }

    /// Returns the width of the bars' part.
    pub fn plot_px(&self) -> i32 {
        (self.width - self.column_px - self.scrollbar_px).max(1)
    }

    /// Returns the right edge of each column of numbers.
    pub fn number_x(&self) -> [i32; NUMBERS.len()] {
        let each = self.numbers_px / NUMBERS.len() as i32;
        let first = self.column_px - self.numbers_px - self.metrics.px(6.0);
        std::array::from_fn(|at| first + each * (at as i32 + 1))
    }

    /// Returns how far the rows can be scrolled.
    pub fn scroll_end(&self, timeline: &Timeline) -> i64 {
        let rows = timeline.rows().len() as i64 * i64::from(self.row_px());
        (rows - i64::from(self.height - self.axis_px())).max(0)
    }

    /// Returns the least change of a scroll position that brings a row into view.
    pub fn scroll_to(&self, timeline: &Timeline, row: usize, scroll_px: i64) -> i64 {
        let top = row as i64 * i64::from(self.row_px());
        let bottom = top + i64::from(self.row_px()) - i64::from(self.height - self.axis_px());
        scroll_px.clamp(bottom.min(top), top).clamp(0, self.scroll_end(timeline))
    }
}

/// Heads of the columns of numbers.
pub const NUMBERS: [&str; 3] = ["Start", "Duration", "Self on path"];

/// The visible part of a span's interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpanBar {
    /// Left edge.
    pub x: i32,
    /// Width, at least 1.
    pub w: i32,
}
