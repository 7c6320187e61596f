//! The nodes of a parent's flows: its callees, repeats numbered by start, folded where there are too many.

use super::{Callees, Child};
use hashbrown::HashMap;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, EndpointId, NO_ROW, TraceSet, Tree};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Most nodes of a flow; beyond it repeats are folded.
pub const MAX_NODES: usize = 512;
/// Repeats that keep their own nodes when a flow has too many, tried in turn.
const REPEATS_KEPT: [u32; 4] = [u32::MAX, 8, 1, 0];

/// One callee in a [`NodeTable`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CalleeNodes<Name = Endpoint> {
    /// Endpoint of the callee.
    pub name: Name,
    /// Number of its first node.
    pub base: u32,
    /// So many first calls have their own nodes.
    pub kept: u32,
    /// Whether the calls after those share one more node.
    pub has_rest: bool,
    /// Whether it waits for calls of its own anywhere.
    pub has_calls: bool,
}

/// A node by name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NodeName {
    /// Service; empty for the node of all callees that have none of their own.
    pub service: String,
    /// Operation; empty for the same.
    pub operation: String,
    /// Number of the call among those of the endpoint in an invocation, from 1; 0 for all further ones folded into one.
    pub index: u32,
}

/// The nodes of one parent endpoint, numbered by (service, operation, index), a folded one last of its endpoint, that of
/// all other callees last of all. At most [`MAX_NODES`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTable<Name = Endpoint> {
    /// The parent endpoint.
    pub parent: Name,
    /// The callees, sorted by name.
    pub callees: Vec<CalleeNodes<Name>>,
    /// Number of nodes.
    pub len: u32,
    /// Repeats above this one are folded; `None` if nothing is.
    pub repeats_kept: Option<u32>,
    /// The node of all callees beyond the most frequent ones, if there is one.
    pub others: Option<u32>,
}

impl<Name: Clone + Default + Ord> NodeTable<Name> {
    /// Returns the nodes for these callees.
    pub fn new(parent: Name, known: &Callees<Name>) -> NodeTable<Name> {
        let size = |kept: u32| -> u64 {
            known.callees.iter().map(|(_, c)| u64::from(c.most.min(kept.saturating_add(1)))).sum()
        };
        let kept = REPEATS_KEPT.into_iter().find(|&kept| size(kept) <= MAX_NODES as u64).unwrap_or(0);
        NodeTable::folded(parent, known, kept)
    }

    /// Returns the nodes for these callees if so many first calls of each have nodes of their own.
    pub fn folded(parent: Name, known: &Callees<Name>, kept: u32) -> NodeTable<Name> {
        let is_folded = known.callees.iter().any(|(_, callee)| callee.most > kept);
        let mut table = NodeTable { parent, repeats_kept: is_folded.then_some(kept), ..NodeTable::default() };
        // Of too many callees the most used keep a node; of equally used ones the first by name.
        let mut own: Vec<(u64, &Name)> =
            known.callees.iter().map(|(name, c)| (c.invocations, name)).collect();
        if own.len() > MAX_NODES {
            own.compact_sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
            own.truncate(MAX_NODES - 1);
            own.compact_sort_by(|a, b| a.1.cmp(b.1));
        }
        for (name, callee) in &known.callees {
            if own.binary_search_by_key(&name, |&(_, name)| name).is_err() {
                table.others = Some(0);
                continue;
            }
            let (numbered, has_rest) = (callee.most.min(kept), callee.most > kept);
            table.callees.push(CalleeNodes {
                name: name.clone(),
                base: table.len,
                kept: numbered,
                has_rest,
                has_calls: callee.has_calls,
            });
            table.len += numbered + u32::from(has_rest);
        }
        if let Some(others) = &mut table.others {
            *others = table.len;
            table.len += 1;
        }
        table
    }
}

impl NodeTable {
    /// Returns the name of a node.
    pub fn name(&self, node: u32) -> NodeName {
        let after = self.callees.partition_point(|c| c.base <= node);
        match after.checked_sub(1).map(|i| &self.callees[i]).filter(|_| self.others != Some(node)) {
            Some(callee) => NodeName {
                service: callee.name.service.clone(),
                operation: callee.name.operation.clone(),
                index: if node - callee.base < callee.kept { node - callee.base + 1 } else { 0 },
            },
            None => NodeName { service: String::new(), operation: String::new(), index: 0 },
        }
    }

    /// Returns the node of a name.
    pub fn find(&self, name: &NodeName) -> Option<u32> {
        (0..self.len).find(|&node| self.name(node) == *name)
    }

    /// Returns the name of a node as one text: `service:operation`, with `#k` or `#rest` if there are repeats.
    pub fn label(&self, node: u32) -> String {
        let NodeName { service, operation, index } = self.name(node);
        let after = self.callees.partition_point(|c| c.base <= node);
        let repeats =
            after.checked_sub(1).is_some_and(|i| self.callees[i].kept > 1 || self.callees[i].has_rest);
        match index {
            _ if self.others == Some(node) => "(other callees)".to_owned(),
            0 => format!("{service}:{operation}#rest"),
            k if repeats => format!("{service}:{operation}#{k}"),
            _ => format!("{service}:{operation}"),
        }
    }
}

/// The nodes of many parents, whose names are numbers in one list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTables {
    /// The names, ascending.
    pub names: Vec<Endpoint>,
    /// The nodes of each parent.
    pub of: Vec<NodeTable<u32>>,
}

impl NodeTables {
    /// Returns the place of a parent's table.
    pub fn place(&self, parent: &Endpoint) -> Option<usize> {
        let number = self.names.binary_search(parent).ok()? as u32;
        self.of.iter().position(|table| table.parent == number)
    }

    /// Returns a table by itself.
    pub fn named(&self, at: usize) -> NodeTable {
        let table = &self.of[at];
        let name = |number: u32| self.names[number as usize].clone();
        let callees = table.callees.iter().map(|callee| CalleeNodes {
            name: name(callee.name),
            base: callee.base,
            kept: callee.kept,
            has_rest: callee.has_rest,
            has_calls: callee.has_calls,
        });
        NodeTable {
            parent: name(table.parent),
            callees: callees.collect(),
            len: table.len,
            repeats_kept: table.repeats_kept,
            others: table.others,
        }
    }

    /// Returns something for each parent, made of the number of its nodes.
    pub fn each<T>(&self, of_nodes: impl Fn(u32) -> T) -> Vec<T> {
        self.of.iter().map(|table| of_nodes(table.len)).collect()
    }
}

#[derive(Clone, Copy)]
struct Slot {
    base: u32,
    kept: u32,
}

/// Where the nodes of tables are in one set.
struct Slots {
    /// By endpoint of the set, its number among the tables, or [`NO_ROW`].
    parents: Vec<u32>,
    /// Slots by (table, callee).
    of: HashMap<(u32, u32), Slot, FxBuildHasher>,
    /// By table, the node of callees without one.
    others: Vec<u32>,
}

/// Finds the nodes of the invocations in one set. Clones share the tables.
#[derive(Clone)]
pub struct NodeIndex {
    slots: Arc<Slots>,
    children: Vec<(u64, u64, u32)>,
    /// By endpoint: the invocation that saw it last, and how often.
    seen: Vec<(u64, u32)>,
    invocation: u64,
    /// Children that share a node.
    folded: Vec<Child>,
}

impl NodeIndex {
    /// Returns the index of some tables over a set.
    pub fn new<'a>(set: &TraceSet, tables: impl IntoIterator<Item = &'a NodeTable>) -> NodeIndex {
        let find = |name: &Endpoint| set.find_endpoint(&name.service, &name.operation);
        NodeIndex::of(set, tables, find)
    }

    /// Returns the index of the tables of many parents over a set.
    pub fn of_tables(set: &TraceSet, tables: &NodeTables) -> NodeIndex {
        let find = |name: &Endpoint| set.find_endpoint(&name.service, &name.operation);
        let known: Vec<Option<EndpointId>> = tables.names.iter().map(find).collect();
        NodeIndex::of(set, &tables.of, |number| known[*number as usize])
    }

    fn of<'a, Name: 'a>(
        set: &TraceSet,
        tables: impl IntoIterator<Item = &'a NodeTable<Name>>,
        find: impl Fn(&Name) -> Option<EndpointId>,
    ) -> NodeIndex {
        let endpoints = set.endpoints().len();
        let (mut parents, mut slots, mut others) = (vec![NO_ROW; endpoints], HashMap::default(), Vec::new());
        for (number, table) in tables.into_iter().enumerate() {
            others.push(table.others.unwrap_or(NO_ROW));
            let Some(parent) = find(&table.parent) else { continue };
            parents[parent.0 as usize] = number as u32;
            for callee in &table.callees {
                if let Some(endpoint) = find(&callee.name) {
                    let slot = Slot { base: callee.base, kept: callee.kept };
                    slots.insert((number as u32, endpoint.0), slot);
                }
            }
        }
        NodeIndex {
            slots: Arc::new(Slots { parents, of: slots, others }),
            children: Vec::new(),
            seen: vec![(0, 0); endpoints],
            invocation: 0,
            folded: Vec::new(),
        }
    }

    /// Returns the table of an endpoint, [`NO_ROW`] if it has none.
    pub fn table_of(&self, endpoint: EndpointId) -> u32 {
        self.slots.parents[endpoint.0 as usize]
    }

    /// Writes the nodes of the invocation at span `parent` of a tree, whose endpoint has table `table`; in no order.
    pub fn read(&mut self, set: &TraceSet, tree: &Tree, parent: u32, table: u32, out: &mut Vec<Child>) {
        out.clear();
        self.folded.clear();
        self.children.clear();
        let interval = |c: u32| (tree.start_us[c as usize], tree.end_us[c as usize], c);
        self.children.extend(tree.sync_children(parent).map(interval));
        // Spans of one interval stand in the canonical order of siblings, so this is the same for every input order.
        self.children.sort_unstable();
        self.invocation += 1;
        for &(start_us, end_us, span) in &self.children {
            let endpoint = set.endpoint(tree.row(span)).0;
            let seen = &mut self.seen[endpoint as usize];
            if seen.0 != self.invocation {
                *seen = (self.invocation, 0);
            }
            seen.1 += 1;
            let child = |node| Child { node, span, start_us, end_us };
            match self.slots.of.get(&(table, endpoint)) {
                Some(slot) if seen.1 <= slot.kept => out.push(child(slot.base + seen.1 - 1)),
                Some(slot) => self.folded.push(child(slot.base + slot.kept)),
                None => self.folded.push(child(self.slots.others[table as usize])),
            }
        }
        if self.folded.is_empty() {
            return;
        }
        self.folded.compact_sort_by_key(|c| c.node);
        for group in self.folded.chunk_by(|a, b| a.node == b.node).filter(|g| g[0].node != NO_ROW) {
            out.push(Child {
                node: group[0].node,
                span: NO_ROW,
                start_us: group.iter().map(|c| c.start_us).min().unwrap_or(0),
                end_us: group.iter().map(|c| c.end_us).max().unwrap_or(0),
            });
        }
    }

    /// Returns the children behind the folded nodes of the invocation read last, by node.
    pub fn folded(&self) -> &[Child] {
        &self.folded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::Callee;

    fn callees(counts: &[(&str, u32)]) -> Callees {
        let callee = |most: u32| Callee { most, invocations: u64::from(most), has_calls: false };
        let name = |text: &str| Endpoint::new("s", text);
        let callees = counts.iter().map(|&(text, most)| (name(text), callee(most))).collect();
        Callees { invocations: 10, most: 1, callees, ..Callees::default() }
    }

    fn table(counts: &[(&str, u32)]) -> NodeTable {
        NodeTable::new(Endpoint::new("p", "p"), &callees(counts))
    }

    #[test]
    fn repeats_are_numbered_and_single_calls_are_not() {
        let table = table(&[("a", 1), ("b", 2)]);
        let labels: Vec<String> = (0..table.len).map(|node| table.label(node)).collect();
        assert_eq!(labels, ["s:a", "s:b#1", "s:b#2"]);
        assert_eq!(table.repeats_kept, None);
        assert!((0..table.len).all(|node| table.find(&table.name(node)) == Some(node)));
    }

    #[test]
    fn beyond_512_nodes_the_repeats_above_the_eighth_fold() {
        let table = table(&[("a", 1), ("b", 600), ("c", 8)]);
        assert_eq!((table.len, table.repeats_kept), (1 + 9 + 8, Some(8)));
        assert_eq!(table.label(1 + 7), "s:b#8");
        assert_eq!(table.label(1 + 8), "s:b#rest");
        assert_eq!(table.label(1 + 9), "s:c#1");
    }

    #[test]
    fn no_number_of_callees_exceeds_the_limit() {
        let names: Vec<String> = (0..2000).map(|i| format!("op{i:04}")).collect();
        let counts: Vec<(&str, u32)> =
            names.iter().enumerate().map(|(i, n)| (n.as_str(), 1 + i as u32 % 40)).collect();
        for n in [1, 57, 58, 256, 257, 512, 513, 2000] {
            let table = table(&counts[..n]);
            assert!(table.len as usize <= MAX_NODES, "{n} callees");
            assert!((0..table.len).all(|node| table.find(&table.name(node)) == Some(node)));
        }
    }
}
