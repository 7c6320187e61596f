//! From an endpoint to its place in the flame graph of another root endpoint, once that is known.

use crate::page::{Page, PagePart};
use crate::shell::selection_bar::set_root;
use pathlight_engine::flame::CriticalPathReport;
use pathlight_engine::ids::NodeId;
use pathlight_engine::requests::RootEndpoint;
use pathlight_trace::Endpoint;
use pathlight_view::flame::tree;
use pathlight_view::views::View;
use std::cell::RefCell;
use std::rc::Rc;

/// Target the page is going to; cloning shares it.
#[derive(Clone, Default)]
pub struct Jump(Rc<RefCell<Option<(RootEndpoint, Endpoint)>>>);

impl Jump {
    /// Shows the flame graph of `root`, zoomed to where `endpoint` takes most time.
    pub fn to(&self, page: Page, root: RootEndpoint, endpoint: Endpoint) {
        self.0.replace(Some((root.clone(), endpoint)));
        page.change(|address| {
            address.view = View::Flame;
            set_root(address, root);
        });
    }
}

impl PagePart for Jump {
    fn update(&mut self, page: Page) {
        let Some((root, endpoint)) = self.0.borrow().clone() else { return };
        let is_on_its_way = page.address().view == View::Flame && page.address().root == root;
        let report = page.queries().path.fresh();
        if is_on_its_way && report.is_none() {
            return;
        }
        self.0.replace(None);
        let place = report.filter(|_| is_on_its_way).and_then(|report| {
            let at = heaviest(&report, &endpoint)?;
            Some(tree::path_of(&report, at))
        });
        if let Some(path) = place {
            page.zoom_to(path);
        }
    }
}

/// Returns the calling context in which an endpoint takes most time of its own; of equal ones the first.
fn heaviest(report: &CriticalPathReport, endpoint: &Endpoint) -> Option<NodeId> {
    let wanted = report.endpoints.iter().position(|known| known == endpoint)?;
    let of_it = report.nodes.iter().enumerate().filter(|(_, node)| node.endpoint.index() == wanted);
    let (at, _) = of_it.max_by_key(|(at, node)| (node.exclusive_us.sum, std::cmp::Reverse(*at)))?;
    Some(NodeId(at as u32))
}
