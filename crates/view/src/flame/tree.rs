//! Finding one's way in the tree of calling contexts.

use pathlight_base::format;
use pathlight_engine::compare::CompareReport;
use pathlight_engine::flame::CriticalPathReport;
use pathlight_engine::ids::{NodeId, ReportEndpoint};
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// A tree of calling contexts, parents before their children.
pub trait Calls {
    /// Returns how many nodes there are.
    fn nodes(&self) -> u32;

    /// Returns the caller of a node, and its endpoint as a place in [`names`](Self::names); `None` if there is no such
    /// node.
    fn call(&self, at: NodeId) -> Option<(Option<NodeId>, ReportEndpoint)>;

    /// Returns the endpoints.
    fn names(&self) -> &[Endpoint];
}

impl<T: Calls> Calls for Rc<T> {
    fn nodes(&self) -> u32 {
        T::nodes(self)
    }

    fn call(&self, at: NodeId) -> Option<(Option<NodeId>, ReportEndpoint)> {
        T::call(self, at)
    }

    fn names(&self) -> &[Endpoint] {
        T::names(self)
    }
}

impl Calls for CriticalPathReport {
    fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn call(&self, at: NodeId) -> Option<(Option<NodeId>, ReportEndpoint)> {
        self.nodes.get(at.index()).map(|node| (node.parent, node.endpoint))
    }

    fn names(&self) -> &[Endpoint] {
        &self.endpoints
    }
}

impl Calls for CompareReport {
    fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn call(&self, at: NodeId) -> Option<(Option<NodeId>, ReportEndpoint)> {
        self.nodes.get(at.index()).map(|node| (node.parent, node.endpoint))
    }

    fn names(&self) -> &[Endpoint] {
        &self.endpoints
    }
}

/// Returns the call path of a node, from the analysis root.
pub fn path_of(calls: &impl Calls, at: NodeId) -> Vec<Endpoint> {
    let mut path = Vec::new();
    let mut next = Some(at);
    while let Some((caller, endpoint)) = next.and_then(|at| calls.call(at)) {
        path.extend(calls.names().get(endpoint.index()).cloned());
        next = caller;
    }
    path.reverse();
    path
}

/// Returns the end of a call path in lines, root first, for a tip: of deep ones the last frames only.
pub fn lines_of(calls: &impl Calls, at: NodeId) -> String {
    const FRAMES: usize = 12;
    let mut lines = Vec::new();
    let mut next = Some(at);
    while let Some((caller, endpoint)) = next.and_then(|at| calls.call(at)) {
        if lines.len() == FRAMES {
            lines.push("\u{2026}".to_owned());
            break;
        }
        if let Some(Endpoint { service, operation }) = calls.names().get(endpoint.index()) {
            lines.push(format::endpoint(service, operation));
        }
        next = caller;
    }
    lines.reverse();
    lines.join("\n\u{2192} ")
}

/// Returns the node of a call path.
pub fn find(calls: &impl Calls, path: &[Endpoint]) -> Option<NodeId> {
    let mut here: Option<NodeId> = None;
    for endpoint in path {
        let wanted = calls.names().iter().position(|known| known == endpoint)?;
        let from = here.map_or(0, |at| at.0 + 1);
        // Nodes are in pre-order, so the search can stay behind the parent.
        let found = (from..calls.nodes())
            .map(NodeId)
            .find(|at| calls.call(*at) == Some((here, ReportEndpoint(wanted as u32))));
        here = Some(found?);
    }
    here
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` calls `b`, which calls itself and `a`.
    struct Small(Vec<Endpoint>);

    impl Calls for Small {
        fn nodes(&self) -> u32 {
            4
        }

        fn call(&self, at: NodeId) -> Option<(Option<NodeId>, ReportEndpoint)> {
            let calls = [(None, 0), (Some(0), 1), (Some(1), 1), (Some(1), 0)];
            calls.get(at.index()).map(|&(caller, endpoint)| (caller.map(NodeId), ReportEndpoint(endpoint)))
        }

        fn names(&self) -> &[Endpoint] {
            &self.0
        }
    }

    #[test]
    fn a_path_leads_to_its_node_and_back() {
        let name = |operation: &str| Endpoint::new("s", operation);
        let calls = Small(vec![name("a"), name("b")]);
        for at in (0..calls.nodes()).map(NodeId) {
            assert_eq!(find(&calls, &path_of(&calls, at)), Some(at));
        }
        assert_eq!(path_of(&calls, NodeId(3)), [name("a"), name("b"), name("a")]);
        assert_eq!(find(&calls, &[name("b")]), None);
        assert_eq!(lines_of(&calls, NodeId(1)).lines().count(), 2);
    }
}
