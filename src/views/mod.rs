//! The views, one module each, named as in the sidebar.

pub mod anomalies;
pub mod compare;
pub mod diagnosis;
pub mod endpoints;
pub mod errors;
pub mod findings;
pub mod flame;
pub mod flow;
pub mod heatmap;
pub mod queries;
pub mod requests_list;
pub mod split;
pub mod timeline;
pub mod trend;
pub mod view;

use crate::dom::{El, Listeners};
use crate::page::{Page, PagePart};
use crate::shell::jump::Jump;
use crate::shell::search::SearchBox;
use crate::views::view::{AnyView, PageView, Shown};
use crate::widgets::frame;
use pathlight_view::address::Address;
use pathlight_view::keys::KeyCommand;
use pathlight_view::views::View;

/// Tools that views are built with.
#[derive(Clone)]
pub struct ViewTools {
    /// Keeps their listeners.
    pub keep: Listeners,
    /// The search they answer.
    pub search: SearchBox,
    /// Leads to a place in the flame graph.
    pub jump: Jump,
    /// The line between charts and tables in the page.
    pub split: El,
}

/// A view that is built when it first comes into sight: of most the page never needs the elements nor the code.
pub struct LazyView {
    which: View,
    tools: ViewTools,
    view: Option<Box<dyn AnyView>>,
}

impl LazyView {
    /// Creates it without the view.
    pub fn new(which: View, tools: &ViewTools) -> LazyView {
        LazyView { which, tools: tools.clone(), view: None }
    }
}

impl PagePart for LazyView {
    fn update(&mut self, page: Page) {
        if self.view.is_none() && frame::is_shown(page, self.which) {
            let view = build(self.which, page, &self.tools);
            let split = self.tools.split.html();
            if let Some(above) = view.frame().above() {
                let _ = split.before_with_node_1(above.html());
            }
            let _ = split.after_with_node_1(view.frame().below().html());
            self.view = Some(view);
        }
        self.view.iter_mut().for_each(|view| view.update(page));
    }

    fn fit(&mut self, page: Page) {
        self.view.iter_mut().for_each(|view| view.fit(page));
    }

    fn command(&mut self, page: Page, command: KeyCommand) -> bool {
        self.view.as_mut().is_some_and(|view| view.command(page, command))
    }
}

macro_rules! views {
    ($($view:ident => $type:ty $(, $more:ident)?;)*) => {
        /// Returns what wants the reports of a view, which may not be built yet.
        fn asks(which: View) -> fn(Page, &Address) {
            match which {
                $(View::$view => <$type>::ask,)*
            }
        }

        fn build(which: View, page: Page, tools: &ViewTools) -> Box<dyn AnyView> {
            match which {
                $(View::$view => Shown::new(<$type>::new(page, &tools.keep $(, &tools.$more)?), &tools.search),)*
            }
        }
    };
}

// A line for each, with what it needs besides the page.
views! {
    Findings => findings::FindingsView;
    Flame => flame::Flame;
    Compare => compare::CompareView;
    Heatmap => heatmap::HeatmapView;
    Endpoints => endpoints::EndpointsView;
    Split => split::SplitView;
    Flow => flow::FlowView;
    Diagnosis => diagnosis::DiagnosisView, jump;
    Anomalies => anomalies::AnomaliesView;
    Errors => errors::ErrorsView;
    Requests => requests_list::RequestsView;
    Trace => timeline::TimelineView;
    Trend => trend::TrendView;
}
