//! A forest of calling contexts that carries anything, merges by names and has one canonical order.

use super::PathTable;
use crate::names::join_names;
use pathlight_trace::{Endpoint, EndpointId, NO_ROW, TraceSet};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Calling contexts, parents first, with a value each. Endpoints are named, so forests of several workers merge.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Contexts<T> {
    /// Endpoints as (service, operation); sorted after [`merge`](Self::merge).
    pub endpoints: Vec<Endpoint>,
    /// The contexts; in pre-order with siblings by name after [`merge`](Self::merge).
    pub nodes: Vec<Context<T>>,
}

/// One calling context.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Context<T> {
    /// Number of the parent, [`NO_ROW`] for a root.
    pub parent: u32,
    /// Index into the endpoints.
    pub endpoint: u32,
    /// The value of the context.
    pub value: T,
}

/// Returns the values that there are, with their places.
fn valued<T>(values: Vec<Option<T>>) -> impl Iterator<Item = (u32, T)> {
    (0..).zip(values).filter_map(|(context, value)| Some((context, value?)))
}

impl<T> Contexts<T> {
    /// Returns the contexts of a table that have a value. Where a context has one, its parent must have one too.
    pub fn of_table(set: &TraceSet, table: &PathTable, values: Vec<Option<T>>) -> Contexts<T> {
        Contexts::of_forest(set, table.contexts(), valued(values))
    }

    /// Returns the same contexts over endpoints that were [`numbered`](crate::names::numbered).
    pub(crate) fn of_numbered(
        table: &PathTable,
        values: Vec<Option<T>>,
        (endpoints, number_of): (Vec<Endpoint>, &[u32]),
    ) -> Contexts<T> {
        let number = |endpoint: EndpointId| number_of[endpoint.0 as usize];
        Contexts { endpoints, nodes: Contexts::nodes_of(table.contexts(), valued(values), number) }
    }

    /// Returns the contexts of a forest, given as (parent, endpoint), that have a value; these come by number, and none
    /// without its parent. It looks at no others.
    pub fn of_forest(
        set: &TraceSet,
        forest: &[(u32, EndpointId)],
        values: impl IntoIterator<Item = (u32, T)>,
    ) -> Contexts<T> {
        let mut endpoints = Vec::new();
        let mut number_of: FxHashMap<EndpointId, u32> = FxHashMap::default();
        let number = |endpoint| {
            *number_of.entry(endpoint).or_insert_with(|| {
                endpoints.push(set.owned_endpoint(endpoint));
                endpoints.len() as u32 - 1
            })
        };
        let nodes = Contexts::nodes_of(forest, values, number);
        Contexts { endpoints, nodes }
    }

    /// Returns the nodes of such contexts, with the numbers that endpoints have.
    fn nodes_of(
        forest: &[(u32, EndpointId)],
        values: impl IntoIterator<Item = (u32, T)>,
        mut number: impl FnMut(EndpointId) -> u32,
    ) -> Vec<Context<T>> {
        let mut nodes: Vec<Context<T>> = Vec::new();
        let mut node_of: FxHashMap<u32, u32> = FxHashMap::default();
        for (context, value) in values {
            let (parent, endpoint) = forest[context as usize];
            let parent = node_of.get(&parent).copied().unwrap_or(NO_ROW);
            node_of.insert(context, nodes.len() as u32);
            nodes.push(Context { parent, endpoint: number(endpoint), value });
        }
        nodes
    }

    /// Returns the same forest with other values.
    pub fn map<U>(self, mut change: impl FnMut(T) -> U) -> Contexts<U> {
        let nodes = self.nodes.into_iter();
        Contexts {
            endpoints: self.endpoints,
            nodes: nodes
                .map(|n| Context { parent: n.parent, endpoint: n.endpoint, value: change(n.value) })
                .collect(),
        }
    }

    /// Joins forests; values of one context are joined by `join`, which must not mind their order.
    pub fn merge(parts: Vec<Contexts<T>>, join: impl FnMut(&mut T, T)) -> Contexts<T> {
        Contexts::merge_placed(parts, join).0
    }

    /// Joins forests as [`merge`](Self::merge) does; returns also the numbers that the nodes and endpoints of each part have
    /// now.
    pub(crate) fn merge_placed(
        parts: Vec<Contexts<T>>,
        mut join: impl FnMut(&mut T, T),
    ) -> (Contexts<T>, Vec<Placed>) {
        let shapes = parts.iter().map(|part| (part.endpoints.as_slice(), part.shape())).collect();
        let Joined { endpoints, shape, placed } = join_shapes(shapes);
        let mut values: Vec<Option<T>> = shape.iter().map(|_| None).collect();
        for (part, placed) in parts.into_iter().zip(&placed) {
            for (node, &place) in part.nodes.into_iter().zip(&placed.nodes) {
                match &mut values[place as usize] {
                    Some(sum) => join(sum, node.value),
                    none => *none = Some(node.value),
                }
            }
        }
        // Every node came from a part, so every value is there.
        let nodes = shape
            .into_iter()
            .zip(values)
            .filter_map(|((parent, endpoint), value)| Some(Context { parent, endpoint, value: value? }));
        (Contexts { endpoints, nodes: nodes.collect() }, placed)
    }

    /// Returns (parent or [`NO_ROW`], endpoint) of each node.
    pub(crate) fn shape(&self) -> Shape {
        self.nodes.iter().map(|node| (node.parent, node.endpoint)).collect()
    }

    /// Returns the trees whose root is this endpoint, with the endpoints that they name.
    pub fn of_root(&self, root: &Endpoint) -> Contexts<T>
    where
        T: Clone,
    {
        let mut place_of = vec![NO_ROW; self.nodes.len()];
        let mut nodes: Vec<Context<T>> = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            let parent = if node.parent == NO_ROW { NO_ROW } else { place_of[node.parent as usize] };
            let is_root = || node.parent == NO_ROW && self.endpoints[node.endpoint as usize] == *root;
            if parent != NO_ROW || is_root() {
                place_of[number] = nodes.len() as u32;
                nodes.push(Context { parent, ..node.clone() });
            }
        }
        Contexts::of_nodes(&self.endpoints, nodes)
    }

    /// Returns the trees of every root endpoint, in linear time, however many there are.
    pub fn into_roots(self) -> BTreeMap<Endpoint, Contexts<T>> {
        let mut by_root: Vec<Vec<Context<T>>> = self.endpoints.iter().map(|_| Vec::new()).collect();
        // By node: the endpoint of its root, and its place among the nodes there.
        let mut place_of: Vec<(u32, u32)> = Vec::with_capacity(self.nodes.len());
        for mut node in self.nodes {
            let root = match node.parent {
                NO_ROW => node.endpoint,
                parent => {
                    let (root, place) = place_of[parent as usize];
                    node.parent = place;
                    root
                }
            };
            let nodes = &mut by_root[root as usize];
            place_of.push((root, nodes.len() as u32));
            nodes.push(node);
        }
        let roots = self.endpoints.iter().zip(by_root).filter(|(_, nodes)| !nodes.is_empty());
        roots.map(|(root, nodes)| (root.clone(), Contexts::of_nodes(&self.endpoints, nodes))).collect()
    }

    /// Returns contexts of these nodes, with those of the endpoints that they name.
    fn of_nodes(endpoints: &[Endpoint], mut nodes: Vec<Context<T>>) -> Contexts<T> {
        let mut used: Vec<u32> = nodes.iter().map(|node| node.endpoint).collect();
        used.sort_unstable();
        used.dedup();
        for node in &mut nodes {
            node.endpoint = used.partition_point(|&endpoint| endpoint < node.endpoint) as u32;
        }
        let endpoints = used.into_iter().map(|endpoint| endpoints[endpoint as usize].clone()).collect();
        Contexts { endpoints, nodes }
    }

    /// Returns whether parents stand before their children and all numbers exist: of a forest that came from
    /// elsewhere.
    pub fn is_sound(&self) -> bool {
        let endpoints = self.endpoints.len() as u32;
        let mut nodes = (0u32..).zip(&self.nodes);
        nodes.all(|(number, node)| {
            node.endpoint < endpoints && (node.parent == NO_ROW || node.parent < number)
        })
    }

    /// Returns the endpoints from the root down to a node.
    pub fn chain(&self, node: u32) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut at = node;
        while at != NO_ROW {
            let context = &self.nodes[at as usize];
            chain.push(context.endpoint);
            at = context.parent;
        }
        chain.reverse();
        chain
    }
}

impl Contexts<()> {
    /// Returns the number in `known` of each of these paths, [`NO_ROW`] where it has none.
    pub fn numbers_in(&self, known: &Contexts<()>) -> Vec<u32> {
        if self == known {
            return (0..self.nodes.len() as u32).collect();
        }
        let names: BTreeMap<&Endpoint, u32> = known.endpoints.iter().zip(0u32..).collect();
        let index: BTreeMap<(u32, u32), u32> = known
            .nodes
            .iter()
            .zip(0u32..)
            .map(|(node, number)| ((node.parent, node.endpoint), number))
            .collect();
        let mut numbers = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            let parent = if node.parent == NO_ROW { NO_ROW } else { numbers[node.parent as usize] };
            let endpoint = names.get(&self.endpoints[node.endpoint as usize]);
            let is_lost = node.parent != NO_ROW && parent == NO_ROW;
            let found = endpoint.filter(|_| !is_lost).and_then(|&endpoint| index.get(&(parent, endpoint)));
            numbers.push(found.copied().unwrap_or(NO_ROW));
        }
        numbers
    }
}

/// (parent or [`NO_ROW`], endpoint) of each node.
type Shape = Vec<(u32, u32)>;

/// Forests joined, without their values.
struct Joined {
    endpoints: Vec<Endpoint>,
    /// In pre-order with siblings by name.
    shape: Shape,
    /// Of each part.
    placed: Vec<Placed>,
}

/// The numbers that the nodes and endpoints of a forest have in one that it was joined into.
pub(crate) struct Placed {
    pub nodes: Vec<u32>,
    pub endpoints: Vec<u32>,
}

/// Joins forests that are given as endpoints and nodes, in time linear in the nodes.
fn join_shapes(parts: Vec<(&[Endpoint], Shape)>) -> Joined {
    let (endpoints, numbers) = join_names(parts.iter().map(|&(names, _)| names));
    let most = parts.iter().map(|(_, shape)| shape.len()).max().unwrap_or(0);
    let mut index = hashbrown::HashMap::with_capacity_and_hasher(most, rustc_hash::FxBuildHasher);
    let mut nodes: Vec<(u32, u32)> = Vec::with_capacity(most);
    let mut placed: Vec<Placed> = Vec::with_capacity(parts.len());
    for ((_, shape), numbers) in parts.into_iter().zip(numbers) {
        let mut moved: Vec<u32> = Vec::with_capacity(shape.len());
        for (parent, endpoint) in shape {
            let parent = if parent == NO_ROW { NO_ROW } else { moved[parent as usize] };
            let node = (parent, numbers[endpoint as usize]);
            moved.push(*index.entry(node).or_insert_with(|| {
                nodes.push(node);
                nodes.len() as u32 - 1
            }));
        }
        placed.push(Placed { nodes: moved, endpoints: numbers });
    }
    drop(index);
    let place_of = pre_order(&nodes, endpoints.len());
    let mut shape = vec![(NO_ROW, NO_ROW); nodes.len()];
    for (&(parent, endpoint), &place) in nodes.iter().zip(&place_of) {
        let parent = if parent == NO_ROW { NO_ROW } else { place_of[parent as usize] };
        shape[place as usize] = (parent, endpoint);
    }
    for number in placed.iter_mut().flat_map(|part| &mut part.nodes) {
        *number = place_of[*number as usize];
    }
    Joined { endpoints, shape, placed }
}

/// Returns the place of each node in pre-order with siblings by endpoint; nodes are given as (parent, endpoint).
fn pre_order(nodes: &[(u32, u32)], endpoints: usize) -> Vec<u32> {
    let all = nodes.len() as u32;
    let (by_endpoint, _) = count_sort((0..all).collect(), endpoints, &|node| nodes[node as usize].1);
    // Stable: siblings stay by endpoint. Roots come last, as if they had a parent behind all nodes.
    let (siblings, ends) = count_sort(by_endpoint, nodes.len() + 1, &|node| nodes[node as usize].0.min(all));
    let children = |node: u32| {
        let from = node.checked_sub(1).map_or(0, |before| ends[before as usize]);
        siblings[from as usize..ends[node as usize] as usize].iter().rev()
    };
    let mut place_of = vec![NO_ROW; nodes.len()];
    let mut stack: Vec<u32> = children(all).copied().collect();
    let mut next = 0;
    while let Some(node) = stack.pop() {
        place_of[node as usize] = next;
        next += 1;
        stack.extend(children(node));
    }
    place_of
}

/// Returns items in the order of a key below `keys`, equal ones as they were, and where those of each key end.
fn count_sort(items: Vec<u32>, keys: usize, key: &dyn Fn(u32) -> u32) -> (Vec<u32>, Vec<u32>) {
    let mut ends = vec![0u32; keys];
    items.iter().for_each(|&item| ends[key(item) as usize] += 1);
    let mut before = 0;
    for end in &mut ends {
        before += std::mem::replace(end, before);
    }
    let mut sorted = vec![0; items.len()];
    for item in items {
        // The beginning moves on to the end.
        let place = &mut ends[key(item) as usize];
        sorted[*place as usize] = item;
        *place += 1;
    }
    (sorted, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest(nodes: &[(u32, &str, u64)]) -> Contexts<u64> {
        let mut out = Contexts { endpoints: Vec::new(), nodes: Vec::new() };
        for &(parent, name, value) in nodes {
            let endpoint = out.endpoints.len() as u32;
            out.endpoints.push(Endpoint::new(name, name));
            out.nodes.push(Context { parent, endpoint, value });
        }
        out
    }

    #[test]
    fn forests_merge_by_name_whatever_their_order() {
        let a = || forest(&[(NO_ROW, "r", 1), (0, "y", 2), (1, "z", 4)]);
        let b = || forest(&[(NO_ROW, "q", 8), (NO_ROW, "r", 16), (1, "x", 32), (1, "y", 64)]);
        let sum = |into: &mut u64, from: u64| *into += from;
        let merged = Contexts::merge(vec![a(), b()], sum);
        assert_eq!(merged, Contexts::merge(vec![b(), a()], sum));
        let said: Vec<(&str, u32, u64)> = merged
            .nodes
            .iter()
            .map(|n| (merged.endpoints[n.endpoint as usize].service.as_str(), n.parent, n.value))
            .collect();
        assert_eq!(said, [("q", NO_ROW, 8), ("r", NO_ROW, 17), ("x", 1, 32), ("y", 1, 66), ("z", 3, 4)]);
        assert_eq!(merged.chain(4), [1, 3, 4]);
        let part = merged.of_root(&Endpoint::new("r", "r"));
        let names: Vec<&str> = part.endpoints.iter().map(|name| name.service.as_str()).collect();
        assert_eq!(names, ["r", "x", "y", "z"]);
        let said: Vec<(u32, u32, u64)> = part.nodes.iter().map(|n| (n.parent, n.endpoint, n.value)).collect();
        assert_eq!(said, [(NO_ROW, 0, 17), (0, 1, 32), (0, 2, 66), (2, 3, 4)]);
        // All at once, also where the trees of a file stand among each other.
        let mut mixed = forest(&[(NO_ROW, "r", 1), (NO_ROW, "q", 2), (0, "y", 4), (1, "x", 8), (2, "z", 16)]);
        for forest in [&merged, &mixed] {
            let roots = forest.clone().into_roots();
            assert_eq!(roots.keys().map(|name| name.service.as_str()).collect::<Vec<_>>(), ["q", "r"]);
            assert!(roots.iter().all(|(root, part)| *part == forest.of_root(root)));
        }
        mixed.nodes.clear();
        assert!(mixed.into_roots().is_empty());
    }
}
