//! The part of one worker: canonical shapes and the times of their positions.

use crate::requests::RequestTypes;
use pathlight_base::sort::Sorting;
use pathlight_trace::{Endpoint, NO_ROW, ReadingRule, Role, SpanKind, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Range;
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

/// Starts and ends of the positions of one trace, in microseconds since its root's start.
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
    /// Places of the children among all.
    children: Range<u32>,
}

/// Collects the traces of one worker.
pub struct TraceCollector {
    part: TracesPart,
    /// By endpoint number of the set: its rank by name, and a hash of the name.
    rank: Vec<u32>,
    name_hash: Vec<u64>,
    forms: Vec<Form>,
    /// The forms of the children of all forms, in one list: a million lists of their own take long to give back.
    form_children: Vec<u32>,
    /// By hash; of forms with one hash the later ones by the next free one.
    form_index: FxHashMap<u64, u32>,
    shape_of_form: FxHashMap<u32, u32>,
    types: FxHashMap<Endpoint, u32>,
    request_types: Arc<RequestTypes>,
    positions: usize,
    work: Work,
}

/// State of the trace under way; kept from trace to trace for its memory.
#[derive(Default)]
struct Work {
    stage: Stage,
    /// Whether a root of no span stands above several.
    is_synthetic: bool,
    /// In pre-order the local span, none for a synthetic root, and the place of its parent in this list.
    nodes: Vec<(u32, u32)>,
    /// By local span its place there.
    place_of: Vec<u32>,
    /// One per node.
    times: Vec<(u64, u64)>,
    form_of: Vec<u32>,
    children: Children,
    /// The children of the next node, if there are many and they are being sorted; then their places in order, of which
    /// those that have a form in `key` are children already.
    sorting: Option<Sorting>,
    sorted: Vec<u32>,
    /// Forms of the children of a node.
    key: Vec<u32>,
    stack: Vec<u32>,
    trace: TraceTimes,
    expansion: Expansion,
}

/// The positions of a form, as far as they are written.
#[derive(Default)]
struct Expansion {
    /// The positions in pre-order as (endpoint, parent).
    positions: Vec<(u32, u32)>,
    /// From the root down to the last position: what comes below it, and its place.
    open: Vec<(Range<u32>, u32)>,
}

/// Stage of the work on a trace, so that the worker can hear between two steps.
#[derive(Default)]
enum Stage {
    #[default]
    Begin,
    /// Nodes are taken, next this local span.
    Nodes(u32),
    Children,
    /// Forms are found from the leaves up; so many nodes are left.
    Forms(usize),
    /// The positions of a shape that is new, which has this form, are found.
    Shape(u32),
    /// The shape is known; positions are written.
    Positions,
}

/// Children sorted at once, at most.
const FEW: usize = 1 << 12;

impl Work {
    fn begin(&mut self, tree: &Tree, root: u32) {
        self.nodes.clear();
        self.times.clear();
        self.place_of.resize(tree.len(), NO_ROW);
        if self.is_synthetic {
            self.nodes.push((NO_ROW, NO_ROW));
            let roots = (0..tree.len()).filter(|&i| tree.parent[i] == NO_ROW);
            let whole = (u64::MAX, 0);
            let whole = roots.fold(whole, |(s, e), i| (s.min(tree.start_us[i]), e.max(tree.end_us[i])));
            self.times.push(whole);
        }
        self.stage = Stage::Nodes(root);
    }

    /// Takes the synchronous spans below a root, or all with a synthetic root above them, from this one on; the next one if
    /// there are more.
    fn put_nodes(&mut self, tree: &Tree, root: u32, from: u32, left: &mut usize) -> Option<u32> {
        let end = if self.is_synthetic { tree.len() as u32 } else { tree.subtree_end[root as usize] };
        let mut at = from;
        while at < end && *left > 0 {
            let span = at as usize;
            *left -= 1;
            let is_root = at == root || self.is_synthetic && tree.parent[span] == NO_ROW;
            if !is_root && tree.role[span] != Role::Sync {
                at = tree.subtree_end[span];
                continue;
            }
            let parent = match (is_root, self.is_synthetic) {
                (true, true) => 0,
                (true, false) => NO_ROW,
                _ => self.place_of[tree.parent[span] as usize],
            };
            self.place_of[span] = self.nodes.len() as u32;
            self.nodes.push((at, parent));
            self.times.push((tree.start_us[span], tree.end_us[span]));
            at += 1;
        }
        (at < end).then_some(at)
    }
}

/// Children of nodes in pre-order.
#[derive(Default)]
pub(super) struct Children {
    /// Those of all nodes, one node after the other.
    list: Vec<u32>,
    /// Start of those of a node, and one more.
    at: Vec<u32>,
    /// Nodes, and how many were looked at, each three times.
    nodes: usize,
    done: usize,
}

impl Children {
    /// Begins with so many nodes; call [`step`](Self::step) until it returns true.
    pub fn begin(&mut self, nodes: usize) {
        self.at.clear();
        self.at.resize(nodes + 2, 0);
        self.list.clear();
        (self.nodes, self.done) = (nodes, 0);
    }

    /// Looks at so many more nodes, whose parents are these, [`NO_ROW`] for a root; true when done.
    pub fn step(&mut self, nodes: usize, parent: impl Fn(usize) -> u32) -> bool {
        let n = self.nodes;
        let to = (3 * n).min(self.done.saturating_add(nodes));
        while self.done < to {
            let pass = self.done / n;
            let end = to.min((pass + 1) * n);
            for node in self.done - pass * n..end - pass * n {
                match (pass, parent(node)) {
                    // Counted two places on, so that while they are filled in the ends of one become the starts of the next.
                    (1, _) => self.at[node + 2] += self.at[node + 1],
                    (_, NO_ROW) => {}
                    (0, above) => self.at[above as usize + 2] += 1,
                    (_, above) => {
                        let next = &mut self.at[above as usize + 1];
                        self.list[*next as usize] = node as u32;
                        *next += 1;
                    }
                }
            }
            self.done = end;
            if end == 2 * n {
                self.list.resize(self.at[n + 1] as usize, 0);
            }
        }
        if self.done < 3 * n {
            return false;
        }
        self.at.truncate(n + 1);
        true
    }

    /// Returns where those of a node stand among all.
    pub fn range(&self, node: usize) -> Range<usize> {
        self.at[node] as usize..self.at[node + 1] as usize
    }

    /// Returns the items of a node.
    pub fn of(&self, node: usize) -> &[u32] {
        &self.list[self.range(node)]
    }

    /// Returns how many nodes are children.
    pub fn len(&self) -> usize {
        self.list.len()
    }
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash.rotate_left(23) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

fn hash_name(name: &Endpoint) -> u64 {
    let bytes = name.service.bytes().map(u64::from).chain([256]).chain(name.operation.bytes().map(u64::from));
    bytes.fold(0x51_7C_C1_B7, mix)
}

impl TraceCollector {
    /// Returns a collector of requests of this set, which are of these types.
    pub fn new(set: &TraceSet, request_types: Arc<RequestTypes>) -> TraceCollector {
        let mut names: Vec<Endpoint> = set.endpoints().map(|(s, o)| Endpoint::new(s, o)).collect();
        names.push(Endpoint::new(SYNTHETIC, SYNTHETIC));
        let mut order: Vec<u32> = (0..names.len() as u32).collect();
        order.sort_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
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
            form_children: Vec::new(),
            form_index: FxHashMap::default(),
            shape_of_form: FxHashMap::default(),
            types: FxHashMap::default(),
            request_types,
            positions: 0,
            work: Work::default(),
        }
    }

    /// Returns the traces collected so far, without the names they refer to: [`take`](Self::take) gives those, and a
    /// reader needs them first.
    pub fn take_traces(&mut self) -> TracesPart {
        self.positions = 0;
        TracesPart { traces: std::mem::take(&mut self.part.traces), ..TracesPart::default() }
    }

    /// Returns the positions of the traces that were not yet taken.
    pub fn positions(&self) -> usize {
        self.positions
    }

    /// Returns all that was collected and not taken, with the names.
    pub fn take(&mut self) -> TracesPart {
        self.positions = 0;
        std::mem::take(&mut self.part)
    }

    /// Takes note of a request of a loaded tree that begins at local span `root`.
    pub fn observe(&mut self, set: &TraceSet, tree: &Tree, request: u32, root: u32) {
        while !self.step(set, tree, (request, root), &mut { usize::MAX }) {}
    }

    /// Takes note of about `left` spans of a request, which it counts down; returns whether the request is done.
    pub fn step(
        &mut self,
        set: &TraceSet,
        tree: &Tree,
        (request, root): (u32, u32),
        left: &mut usize,
    ) -> bool {
        let mut work = std::mem::take(&mut self.work);
        let mut is_done = false;
        while !is_done && *left > 0 {
            is_done = self.advance(&mut work, set, tree, (request, root), left);
        }
        self.work = work;
        is_done
    }

    /// Goes on with the trace under way, as far as the next stage or as `left` allows; true when it is done.
    fn advance(
        &mut self,
        work: &mut Work,
        set: &TraceSet,
        tree: &Tree,
        (request, root): (u32, u32),
        left: &mut usize,
    ) -> bool {
        match std::mem::take(&mut work.stage) {
            Stage::Begin => {
                let shape = set.traces()[tree.trace as usize].shape;
                if !tree.is_structure_known(set) {
                    self.part.orphans += 1;
                    return true;
                }
                work.is_synthetic =
                    root == 0 && shape.roots > 1 && !tree.settings.reading.has(ReadingRule::Roots);
                work.begin(tree, root);
            }
            Stage::Nodes(from) => {
                work.stage = match work.put_nodes(tree, root, from, left) {
                    Some(next) => Stage::Nodes(next),
                    None => {
                        work.form_of.clear();
                        work.form_of.resize(work.nodes.len(), 0);
                        work.children.begin(work.nodes.len());
                        Stage::Children
                    }
                };
            }
            Stage::Children => {
                let nodes = &work.nodes;
                let is_done = work.children.step(*left, |node| nodes[node].1);
                *left = if is_done { left.saturating_sub(nodes.len()) } else { 0 };
                work.stage = if is_done { Stage::Forms(nodes.len()) } else { Stage::Children };
            }
            Stage::Forms(0) => {
                let form = work.form_of[0];
                let next = self.part.shapes.len() as u32;
                let shape = *self.shape_of_form.entry(form).or_insert(next);
                work.trace = TraceTimes {
                    id: set.trace_id_text(tree.trace),
                    root_span_id: set.span_id_text(tree.row(root)),
                    request_type: self.request_type(request, work.is_synthetic),
                    shape,
                    start_us: Vec::with_capacity(work.nodes.len()),
                    end_us: Vec::with_capacity(work.nodes.len()),
                    callers: Vec::new(),
                };
                work.stack.clear();
                work.stack.push(0);
                work.stage = if shape == next { Stage::Shape(form) } else { Stage::Positions };
            }
            Stage::Shape(form) => {
                work.stage = if self.expand(form, &mut work.expansion, left) {
                    self.part.shapes.push(std::mem::take(&mut work.expansion.positions));
                    Stage::Positions
                } else {
                    Stage::Shape(form)
                };
            }
            Stage::Forms(nodes) => {
                let mut nodes = nodes;
                while nodes > 0 && *left > 0 {
                    nodes -= usize::from(self.put_form(work, (set, tree), nodes - 1, left));
                }
                work.stage = Stage::Forms(nodes);
            }
            Stage::Positions => {
                let Work { nodes, times, children, stack, trace, .. } = work;
                let base = times[0].0;
                while *left > 0 {
                    let Some(node) = stack.pop() else {
                        self.positions += nodes.len();
                        self.part.traces.push(std::mem::take(trace));
                        return true;
                    };
                    let node = node as usize;
                    let (start, end) = times[node];
                    let span = nodes[node].0;
                    if span != NO_ROW && set.kind(tree.row(span)) == SpanKind::Client {
                        trace.callers.push(trace.start_us.len() as u32);
                    }
                    trace.start_us.push(start - base);
                    trace.end_us.push(end - base);
                    stack.extend(children.of(node).iter().rev());
                    *left -= 1;
                }
                work.stage = Stage::Positions;
            }
        }
        false
    }

    /// Puts the children of a node in order and finds its form; false if that takes another step.
    fn put_form(
        &mut self,
        work: &mut Work,
        (set, tree): (&TraceSet, &Tree),
        node: usize,
        left: &mut usize,
    ) -> bool {
        let Work { nodes, times, form_of, children, key, sorting, sorted, .. } = work;
        let id = |node: u32| set.span_id(tree.row(nodes[node as usize].0));
        let compare = |a: u32, b: u32| {
            let (x, y) = (a as usize, b as usize);
            self.compare(form_of[x], form_of[y])
                .then_with(|| times[x].cmp(&times[y]))
                .then_with(|| id(a).compare(id(b), &set.id_texts))
        };
        let range = children.range(node);
        let below = &mut children.list[range];
        if below.len() <= FEW {
            below.sort_by(|&a, &b| compare(a, b));
            *left = left.saturating_sub(1 + below.len());
            key.clear();
            key.extend(below.iter().map(|&child| form_of[child as usize]));
        } else if sorted.is_empty() {
            let under_way = sorting.get_or_insert_with(|| Sorting::new(below.len(), 4));
            *left = left.saturating_sub(Sorting::UNITS / 16);
            if under_way.step(|a, b| compare(below[a as usize], below[b as usize])) {
                *sorted = sorting.take().map(Sorting::places).unwrap_or_default();
                key.clear();
                key.reserve(sorted.len());
                *left = 0;
            }
            return false;
        } else if key.len() < sorted.len() {
            // Places become children, whose forms are looked up all over memory.
            let to = sorted.len().min(key.len().saturating_add(*left));
            *left -= to - key.len();
            for place in &mut sorted[key.len()..to] {
                *place = below[*place as usize];
                key.push(form_of[*place as usize]);
            }
            if to == sorted.len() {
                // What follows is worth a step of its own.
                *left = 0;
            }
            return false;
        } else {
            below.copy_from_slice(&std::mem::take(sorted));
            *left = 0;
        }
        let endpoint = match nodes[node].0 {
            NO_ROW => self.rank.len() - 1,
            span => set.endpoint(tree.row(span)).0 as usize,
        };
        form_of[node] = self.form(self.rank[endpoint], key);
        true
    }

    /// Returns the order of forms by names alone: endpoint, then hash, then, for forms whose hashes collide, all that
    /// is in them.
    fn compare(&self, a: u32, b: u32) -> Ordering {
        let (x, y) = (&self.forms[a as usize], &self.forms[b as usize]);
        x.endpoint.cmp(&y.endpoint).then(x.hash.cmp(&y.hash)).then_with(|| {
            if a == b { Ordering::Equal } else { self.positions_of(a).cmp(&self.positions_of(b)) }
        })
    }

    /// Returns the form of an endpoint above children of these forms in their order.
    fn form(&mut self, endpoint: u32, children: &[u32]) -> u32 {
        let begin = self.name_hash[endpoint as usize];
        let hash = children.iter().fold(begin, |hash, &c| mix(hash, self.forms[c as usize].hash));
        let hash = mix(hash, children.len() as u64);
        let mut key = hash;
        while let Some(&found) = self.form_index.get(&key) {
            if self.forms[found as usize].endpoint == endpoint && self.children_of(found) == children {
                return found;
            }
            key = key.wrapping_add(1);
        }
        let (number, from) = (self.forms.len() as u32, self.form_children.len() as u32);
        self.form_children.extend_from_slice(children);
        let children = from..self.form_children.len() as u32;
        self.forms.push(Form { endpoint, hash, children });
        self.form_index.insert(key, number);
        number
    }

    fn children_of(&self, form: u32) -> &[u32] {
        let Range { start, end } = self.forms[form as usize].children;
        &self.form_children[start as usize..end as usize]
    }

    /// Returns the positions of a form in pre-order as (endpoint, parent).
    fn positions_of(&self, form: u32) -> Vec<(u32, u32)> {
        let mut expansion = Expansion::default();
        while !self.expand(form, &mut expansion, &mut { usize::MAX }) {}
        expansion.positions
    }

    /// Writes about `left` more of them, which it counts down; true when done.
    fn expand(&self, form: u32, out: &mut Expansion, left: &mut usize) -> bool {
        let Expansion { positions, open } = out;
        let is_new = positions.is_empty();
        let mut put = |form: u32, parent: u32, open: &mut Vec<(Range<u32>, u32)>| {
            let Form { endpoint, children, .. } = &self.forms[form as usize];
            open.push((children.clone(), positions.len() as u32));
            positions.push((*endpoint, parent));
        };
        if is_new {
            put(form, NO_ROW, open);
        }
        while *left > 0 {
            *left -= 1;
            let Some((below, place)) = open.last_mut() else { return true };
            let (next, place) = (below.next(), *place);
            match next {
                Some(next) => put(self.form_children[next as usize], place, open),
                None => drop(open.pop()),
            }
        }
        false
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
    /// Returns the part with a letter before every trace id.
    pub(super) fn marked(mut self, mark: &str) -> TracesPart {
        for trace in &mut self.traces {
            trace.id.insert_str(0, mark);
        }
        self
    }
}
