//! The views, one module each, named as in the sidebar.

pub mod anomalies;
pub mod compare;
pub mod diagnosis;
pub mod endpoints;
pub mod errors;
pub mod finding_list;
pub mod findings;
pub mod flame;
pub mod flow;
pub mod heatmap;
pub mod requests;
pub mod split;
pub mod tag_rows;
pub mod time_columns;
pub mod trace;
pub mod trend;

use crate::ui::dom::Keep;
use crate::ui::page::Page;
use crate::ui::shell::jump::Jump;
use crate::ui::shell::search::Search;
use crate::ui::view::{AnyView, Shown};
use pathlight_view::address::View;

/// Builds a view.
pub fn build(which: View, page: Page, keep: &Keep, search: &Search, jump: &Jump) -> Box<dyn AnyView> {
    match which {
        View::Findings => Shown::new(findings::Findings::new(page, keep), search),
        View::Flame => Shown::new(flame::Flame::new(page, keep), search),
        View::Compare => Shown::new(compare::Compare::new(page, keep), search),
        View::Heatmap => Shown::new(heatmap::Heatmap::new(page, keep), search),
        View::Endpoints => Shown::new(endpoints::Endpoints::new(page, keep), search),
        View::Split => Shown::new(split::Split::new(page, keep), search),
        View::Flow => Shown::new(flow::Flow::new(page, keep), search),
        View::Diagnosis => Shown::new(diagnosis::Diagnosis::new(page, keep, jump), search),
        View::Anomalies => Shown::new(anomalies::Anomalies::new(page, keep), search),
        View::Errors => Shown::new(errors::Errors::new(page, keep), search),
        View::Requests => Shown::new(requests::Requests::new(page, keep), search),
        View::Trace => Shown::new(trace::TimelineView::new(page, keep), search),
        View::Trend => Shown::new(trend::Trend::new(page, keep), search),
    }
}
