//! What a worker makes of its traces: canonical shapes and the times of their positions.

use crate::requests::RequestTypes;
use pathlight_model::sort::Arrange;
use pathlight_model::trace::{Endpoint, NO_ROW, Role, Rule, SpanKind, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Arc;

/// Name of the root put above several parentless roots.
pub const SYNTHETIC: &str = "(synthetic)";

/// Traces of one worker: an accumulator whose parts merge in any order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TracesPart {
    /// Service and operation, by endpoint number of this part.
    pub(super) endpoints: Vec<Endpoint>,
    /// Positions in canonical pre-order as (endpoint, parent).
    pub(super) shapes: Vec<Vec<(u32, u32)>>,
    /// Request types by their names.
    pub(super) types: Vec<Endpoint>,
    pub(super) traces: Vec<TraceTimes>,
    /// Requests kept out because their trace has an orphan root.
    pub(super) orphans: u64,
}

/// When the positions of one trace begin and end, in microseconds since its root's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct TraceTimes {
    pub id: String,
    pub root_span_id: String,
    pub request_type: u32,
    pub shape: u32,
    pub start_us: Vec<u64>,
    pub end_us: Vec<u64>,
    /// Positions whose kind is client.
    pub callers: Vec<u32>,
}

/// A subtree form: endpoint and the forms of its children.
struct Form {
    /// Rank of the endpoint by name.
    endpoint: u32,
    /// Of names only, so the same for every worker.
    hash: u64,
    children: Vec<u32>,
}

/// Collects the traces of one worker.
pub struct TraceCollector {
    part: TracesPart,
    /// By endpoint number of the set: its rank by name, and a hash of the name.
    rank: Vec<u32>,
    name_hash: Vec<u64>,
    forms: Vec<Form>,
    /// By endpoint and the forms of the children.
    form_index: FxHashMap<Box<[u32]>, u32>,
    shape_of_form: FxHashMap<u32, u32>,
    types: FxHashMap<Endpoint, u32>,
    request_types: Arc<RequestTypes>,
    positions: usize,
    work: Work,
}

/// What is known of the trace under way; kept from trace to trace for its memory.
#[derive(Default)]
struct Work {
    /// In pre-order the local span, none for a synthetic root, and the place of its parent in this list.
    nodes: Vec<(u32, u32)>,
    /// By local span its place there.
    place_of: Vec<u32>,
    /// By node.
    times: Vec<(u64, u64)>,
    endpoints: Vec<u32>,
    form_of: Vec<u32>,
    /// Children of all nodes, one node after the other; where those of a node begin, and one more.
    children: Vec<u32>,
    children_at: Vec<u32>,
    key: Vec<u32>,
    stack: Vec<u32>,
}

impl Work {
    /// Takes the synchronous spans below a root, or all with a synthetic root above them.
    fn put_nodes(&mut self, tree: &Tree, root: u32, is_synthetic: bool) {
        let Work { nodes, place_of, times, .. } = self;
        nodes.clear();
        times.clear();
        self.endpoints.clear();
        self.stack.clear();
        place_of.resize(tree.len(), NO_ROW);
        let end = if is_synthetic { tree.len() as u32 } else { tree.subtree_end[root as usize] };
        if is_synthetic {
            nodes.push((NO_ROW, NO_ROW));
            let roots = (0..tree.len()).filter(|&i| tree.role[i] == Role::Root);
            let whole = (u64::MAX, 0);
            times.push(roots.fold(whole, |(s, e), i| (s.min(tree.start_us[i]), e.max(tree.end_us[i]))));
        }
        let mut at = root;
        while at < end {
            let span = at as usize;
            let is_root = at == root || is_synthetic && tree.role[span] == Role::Root;
            if !is_root && tree.role[span] != Role::Sync {
                at = tree.subtree_end[span];
                continue;
            }
            let parent = match (is_root, is_synthetic) {
                (true, true) => 0,
                (true, false) => NO_ROW,
                _ => place_of[tree.parent[span] as usize],
            };
            place_of[span] = nodes.len() as u32;
            nodes.push((at, parent));
            times.push((tree.start_us[span], tree.end_us[span]));
            at += 1;
        }
        let n = nodes.len();
        self.form_of.clear();
        self.form_of.resize(n, 0);
        put_children(nodes.iter().map(|node| node.1), &mut self.children, &mut self.children_at);
    }
}

/// Children by the parents of nodes in pre-order, [`NO_ROW`] for a root: all of them, one parent after the other, and where
/// those of a parent begin, and one more.
pub(super) fn put_children(
    parents: impl ExactSizeIterator<Item = u32> + Clone,
    children: &mut Vec<u32>,
    children_at: &mut Vec<u32>,
) {
    let n = parents.len();
    children_at.clear();
    children_at.resize(n + 2, 0);
    let below = || (0..).zip(parents.clone()).filter(|p| p.1 != NO_ROW);
    // Counted two places on, so that while they are filled in the ends of one become the starts of the next.
    below().for_each(|(_, above)| children_at[above as usize + 2] += 1);
    for node in 0..n {
        children_at[node + 2] += children_at[node + 1];
    }
    children.clear();
    children.resize(children_at[n + 1] as usize, 0);
    for (own, above) in below() {
        let next = &mut children_at[above as usize + 1];
        children[*next as usize] = own;
        *next += 1;
    }
    children_at.truncate(n + 1);
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn hash_name(name: &Endpoint) -> u64 {
    let bytes = name.service.bytes().map(u64::from).chain([256]).chain(name.operation.bytes().map(u64::from));
    bytes.fold(0x51_7C_C1_B7, mix)
}

impl TraceCollector {
    /// A collector of requests of this set, which are of these types.
    pub fn new(set: &TraceSet, request_types: Arc<RequestTypes>) -> TraceCollector {
        let mut names: Vec<Endpoint> = set.endpoints().map(|(s, o)| Endpoint::new(s, o)).collect();
        names.push(Endpoint::new(SYNTHETIC, SYNTHETIC));
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        order.arrange_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
        let mut rank = vec![0; names.len()];
        for (place, &endpoint) in order.iter().enumerate() {
            rank[endpoint as usize] = place as u32;
        }
        let endpoints: Vec<_> = order.iter().map(|&e| names[e as usize].clone()).collect();
        let name_hash = endpoints.iter().map(hash_name).collect();
        TraceCollector {
            part: TracesPart { endpoints, ..TracesPart::default() },
            rank,
            name_hash,
            forms: Vec::new(),
            form_index: FxHashMap::default(),
            shape_of_form: FxHashMap::default(),
            types: FxHashMap::default(),
            request_types,
            positions: 0,
            work: Work::default(),
        }
    }

    /// The traces collected so far, without the names they refer to: [`finish`](Self::finish) gives those, and a reader
    /// needs them first.
    pub fn take_traces(&mut self) -> TracesPart {
        self.positions = 0;
        TracesPart { traces: std::mem::take(&mut self.part.traces), ..TracesPart::default() }
    }

    /// Positions of the traces that were not yet taken.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// What was collected and not taken.
    pub fn finish(self) -> TracesPart {
        self.part
    }

    /// Takes note of a request of a loaded tree that begins at local span `root`.
    pub fn observe(&mut self, set: &TraceSet, tree: &Tree, request: u32, root: u32) {
        let shape = set.traces()[tree.trace as usize].shape;
        if shape.orphans > 0 {
            self.part.orphans += 1;
            return;
        }
        let is_synthetic = root == 0 && shape.roots > 1 && !tree.settings.reading.has(Rule::Roots);
        let mut work = std::mem::take(&mut self.work);
        work.put_nodes(tree, root, is_synthetic);
        let Work { nodes, times, endpoints, children, children_at, form_of, key, stack, .. } = &mut work;
        let n = nodes.len();
        for &(span, _) in nodes.iter() {
            endpoints.push(match span {
                NO_ROW => self.rank[self.rank.len() - 1],
                span => self.rank[set.endpoint(tree.row(span)).0 as usize],
            });
        }
        for node in (0..n).rev() {
            let below = &mut children[children_at[node] as usize..children_at[node + 1] as usize];
            let id = |node: u32| set.span_id(tree.row(nodes[node as usize].0));
            below.sort_unstable_by(|&a, &b| {
                let (x, y) = (a as usize, b as usize);
                self.compare(form_of[x], form_of[y])
                    .then_with(|| times[x].cmp(&times[y]))
                    .then_with(|| id(a).compare(id(b), &set.id_texts))
            });
            key.clear();
            key.push(endpoints[node]);
            key.extend(below.iter().map(|&child| form_of[child as usize]));
            form_of[node] = self.form(key);
        }
        let shape = self.shape(form_of[0]);
        let mut trace = TraceTimes {
            id: set.trace_id_text(tree.trace),
            root_span_id: set.span_id_text(tree.row(root)),
            request_type: self.request_type(request, is_synthetic),
            shape,
            start_us: Vec::with_capacity(n),
            end_us: Vec::with_capacity(n),
            callers: Vec::new(),
        };
        let base = times[0].0;
        stack.push(0);
        while let Some(node) = stack.pop() {
            let node = node as usize;
            let (start, end) = times[node];
            let span = nodes[node].0;
            if span != NO_ROW && set.kind(tree.row(span)) == SpanKind::Client {
                trace.callers.push(trace.start_us.len() as u32);
            }
            trace.start_us.push(start - base);
            trace.end_us.push(end - base);
            let below = &children[children_at[node] as usize..children_at[node + 1] as usize];
            stack.extend(below.iter().rev());
        }
        self.positions += n;
        self.part.traces.push(trace);
        self.work = work;
    }

    /// Order of forms by names alone: endpoint, then hash, then, for forms whose hashes collide, all that is in them.
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let (x, y) = (&self.forms[a as usize], &self.forms[b as usize]);
        x.endpoint
            .cmp(&y.endpoint)
            .then(x.hash.cmp(&y.hash))
            .then_with(|| if a == b { Ordering::Equal } else { self.expand(a).cmp(&self.expand(b)) })
    }

    /// The form of a key: an endpoint, then the forms of the children in their order.
    fn form(&mut self, key: &[u32]) -> u32 {
        if let Some(&found) = self.form_index.get(key) {
            return found;
        }
        let (endpoint, children) = (key[0], &key[1..]);
        let begin = self.name_hash[endpoint as usize];
        let hash = children.iter().fold(begin, |hash, &c| mix(hash, self.forms[c as usize].hash));
        let number = self.forms.len() as u32;
        let hash = mix(hash, children.len() as u64);
        self.forms.push(Form { endpoint, hash, children: children.to_vec() });
        self.form_index.insert(key.into(), number);
        number
    }

    /// The positions of a form in pre-order as (endpoint, parent).
    fn expand(&self, form: u32) -> Vec<(u32, u32)> {
        let mut out = Vec::new();
        let mut stack = vec![(form, NO_ROW)];
        while let Some((form, parent)) = stack.pop() {
            let form = &self.forms[form as usize];
            let place = out.len() as u32;
            out.push((form.endpoint, parent));
            stack.extend(form.children.iter().rev().map(|&child| (child, place)));
        }
        out
    }

    fn shape(&mut self, form: u32) -> u32 {
        if let Some(&shape) = self.shape_of_form.get(&form) {
            return shape;
        }
        let shape = self.part.shapes.len() as u32;
        self.part.shapes.push(self.expand(form));
        self.shape_of_form.insert(form, shape);
        shape
    }

    fn request_type(&mut self, request: u32, is_synthetic: bool) -> u32 {
        let found = &self.request_types.names()[self.request_types.of(request) as usize];
        let name = match found.part.as_str() {
            "" if is_synthetic => Endpoint::new(SYNTHETIC, SYNTHETIC),
            _ => found.name(),
        };
        let next = self.part.types.len() as u32;
        let number = *self.types.entry(name.clone()).or_insert(next);
        if number == next {
            self.part.types.push(name);
        }
        number
    }
}

impl TracesPart {
    /// The part with a letter before every trace id.
    pub(super) fn marked(mut self, mark: &str) -> TracesPart {
        for trace in &mut self.traces {
            trace.id.insert_str(0, mark);
        }
        self
    }
}
