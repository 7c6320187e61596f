//! Finding one's way in the tree of calling contexts.

use super::page::Endpoint;
use crate::chart::format;
use crate::engine::CriticalPathReport;

/// The call path of a node, from the analysis root.
pub fn path_of(report: &CriticalPathReport, at: u32) -> Vec<Endpoint> {
    let mut path = Vec::new();
    let mut next = Some(at);
    while let Some(node) = next.and_then(|at| report.nodes.get(at as usize)) {
        path.extend(report.endpoints.get(node.endpoint as usize).cloned());
        next = node.parent;
    }
    path.reverse();
    path
}

/// The end of a call path in lines, root first, for a tip: of deep ones the last frames only.
pub fn lines_of(report: &CriticalPathReport, at: u32) -> String {
    const FRAMES: usize = 12;
    let mut lines = Vec::new();
    let mut next = Some(at);
    while let Some(node) = next.and_then(|at| report.nodes.get(at as usize)) {
        if lines.len() == FRAMES {
            lines.push("\u{2026}".to_owned());
            break;
        }
        if let Some((service, operation)) = report.endpoints.get(node.endpoint as usize) {
            lines.push(format::endpoint(service, operation));
        }
        next = node.parent;
    }
    lines.reverse();
    lines.join("\n\u{2192} ")
}

/// The node of a call path.
pub fn find(report: &CriticalPathReport, path: &[Endpoint]) -> Option<u32> {
    let mut here: Option<u32> = None;
    for endpoint in path {
        let wanted = report.endpoints.iter().position(|known| known == endpoint)? as u32;
        let from = here.map_or(0, |at| at + 1);
        // Nodes are in pre-order, so the search can stay behind the parent.
        let found = (from..report.nodes.len() as u32).find(|at| {
            let node = &report.nodes[*at as usize];
            node.parent == here && node.endpoint == wanted
        });
        here = Some(found?);
    }
    here
}
