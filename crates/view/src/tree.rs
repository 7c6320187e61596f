//! Finding one's way in the tree of calling contexts.

use pathlight_query::{CriticalPathReport, DiffReport, Endpoint};
use pathlight_text::format;
use std::rc::Rc;

/// A tree of calling contexts, parents before their children.
pub trait Calls {
    /// How many nodes there are.
    fn nodes(&self) -> u32;

    /// The caller of a node, and its endpoint as a place in [`names`](Self::names); `None` if there is no such node.
    fn call(&self, at: u32) -> Option<(Option<u32>, u32)>;

    /// The endpoints.
    fn names(&self) -> &[Endpoint];
}

impl<T: Calls> Calls for Rc<T> {
    fn nodes(&self) -> u32 {
        T::nodes(self)
    }

    fn call(&self, at: u32) -> Option<(Option<u32>, u32)> {
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

    fn call(&self, at: u32) -> Option<(Option<u32>, u32)> {
        self.nodes.get(at as usize).map(|node| (node.parent, node.endpoint))
    }

    fn names(&self) -> &[Endpoint] {
        &self.endpoints
    }
}

impl Calls for DiffReport {
    fn nodes(&self) -> u32 {
        self.nodes.len() as u32
    }

    fn call(&self, at: u32) -> Option<(Option<u32>, u32)> {
        self.nodes.get(at as usize).map(|node| (node.parent, node.endpoint))
    }

    fn names(&self) -> &[Endpoint] {
        &self.endpoints
    }
}

/// The call path of a node, from the analysis root.
pub fn path_of(calls: &impl Calls, at: u32) -> Vec<Endpoint> {
    let mut path = Vec::new();
    let mut next = Some(at);
    while let Some((caller, endpoint)) = next.and_then(|at| calls.call(at)) {
        path.extend(calls.names().get(endpoint as usize).cloned());
        next = caller;
    }
    path.reverse();
    path
}

/// The end of a call path in lines, root first, for a tip: of deep ones the last frames only.
pub fn lines_of(calls: &impl Calls, at: u32) -> String {
    const FRAMES: usize = 12;
    let mut lines = Vec::new();
    let mut next = Some(at);
    while let Some((caller, endpoint)) = next.and_then(|at| calls.call(at)) {
        if lines.len() == FRAMES {
            lines.push("\u{2026}".to_owned());
            break;
        }
        if let Some(Endpoint { service, operation }) = calls.names().get(endpoint as usize) {
            lines.push(format::endpoint(service, operation));
        }
        next = caller;
    }
    lines.reverse();
    lines.join("\n\u{2192} ")
}

/// The node of a call path.
pub fn find(calls: &impl Calls, path: &[Endpoint]) -> Option<u32> {
    let mut here: Option<u32> = None;
    for endpoint in path {
        let wanted = calls.names().iter().position(|known| known == endpoint)? as u32;
        let from = here.map_or(0, |at| at + 1);
        // Nodes are in pre-order, so the search can stay behind the parent.
        let found = (from..calls.nodes()).find(|at| calls.call(*at) == Some((here, wanted)));
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

        fn call(&self, at: u32) -> Option<(Option<u32>, u32)> {
            [(None, 0), (Some(0), 1), (Some(1), 1), (Some(1), 0)].get(at as usize).copied()
        }

        fn names(&self) -> &[Endpoint] {
            &self.0
        }
    }

    #[test]
    fn a_path_leads_to_its_node_and_back() {
        let name = |operation: &str| Endpoint::new("s", operation);
        let calls = Small(vec![name("a"), name("b")]);
        for at in 0..calls.nodes() {
            assert_eq!(find(&calls, &path_of(&calls, at)), Some(at));
        }
        assert_eq!(path_of(&calls, 3), [name("a"), name("b"), name("a")]);
        assert_eq!(find(&calls, &[name("b")]), None);
        assert_eq!(lines_of(&calls, 1).lines().count(), 2);
    }
}
