//! Finds the part of a timeline that is under a pixel.

use super::{TimelineLayout, Toggle};

/// The part of a timeline under a pixel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimelinePart {
    /// The axis.
    Axis,
    /// The sign that opens and closes a row.
    Toggle,
    /// The label column.
    Label,
    /// The bar or its text.
    Bar,
    /// Beside the bar.
    Plot,
}

/// The item under a pixel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TimelineHit {
    /// The span of the row; `None` on the axis and below the last row.
    pub span: Option<u32>,
    /// It is the first of siblings that share the row.
    pub is_group: bool,
    /// The part of the row.
    pub part: TimelinePart,
    /// The time there, relative to the trace; between whole microseconds when zoomed in.
    pub at_us: f64,
}

impl TimelineLayout {
    /// Returns the index of the row under a pixel.
    pub fn row_at(&self, y: i32) -> Option<usize> {
        let top = self.rows.first()?.y;
        if y < self.size.axis_px() || y >= self.size.height {
            return None;
        }
        let row = usize::try_from((y - top) / self.size.row_px()).ok()?;
        (row < self.rows.len()).then_some(row)
    }

    /// Returns what is under a pixel; `None` outside of the view.
    pub fn hit(&self, x: i32, y: i32) -> Option<TimelineHit> {
        let size = self.size;
        if x < 0 || y < 0 || x >= size.width || y >= size.height {
            return None;
        }
        let at_us = self.window.at(f64::from((x - size.column_px).max(0)), size.plot_px());
        if y < size.axis_px() {
            return Some(TimelineHit { span: None, is_group: false, part: TimelinePart::Axis, at_us });
        }
        let Some(row) = self.row_at(y).map(|i| &self.rows[i]) else {
            return Some(TimelineHit { span: None, is_group: false, part: TimelinePart::Plot, at_us });
        };
        let slop = size.metrics.px(2.0);
        let part = if x < size.column_px {
            let (left, width) = row.toggle_x(size);
            let on_toggle =
                row.toggle != Toggle::Leaf && (left - 2 * slop..left + width + 2 * slop).contains(&x);
            if on_toggle { TimelinePart::Toggle } else { TimelinePart::Label }
        } else if row.bar.is_some_and(|bar| (bar.x - slop..bar.x + bar.w + slop).contains(&x)) {
            TimelinePart::Bar
        } else {
            TimelinePart::Plot
        };
        Some(TimelineHit { span: Some(row.span), is_group: row.is_group, part, at_us })
    }
}
