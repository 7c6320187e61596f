//! Calls that repeat, within one request, what was asked before: the same statement or address with the same parameters.

use pathlight_base::statistics::{Sample, Weight, Weights, mix};
use pathlight_trace::{ASKED_KEYS, Flags, Role, SpanKind, TagSetId, TraceSet, Tree, hash_text};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Keys of addresses that only the answering half of a call has; a path without its query is not all that was asked.
const TARGETS: [&str; 3] = ["http.target", "url.path", "url.query"];
/// Keys of parameters of statements begin so.
const PARAMETERS: [&str; 2] = ["db.query.parameter.", "db.operation.parameter."];
/// Keys of methods of HTTP, and methods that only read.
const METHODS: [&str; 2] = ["http.request.method", "http.method"];
const READING_METHODS: [&str; 3] = ["GET", "HEAD", "OPTIONS"];
/// Repeated calls of one endpoint: sums over the requests that have some.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RedundantSums {
    /// Calls that repeat an earlier one.
    pub repeats: Weights,
    /// Those of them that the span makes that made the earlier one.
    pub by_same_caller: u64,
    /// Time that the repeats take, per request.
    pub cost: Sample,
}

impl RedundantSums {
    pub fn merge(&mut self, other: RedundantSums) {
        self.repeats.merge(&other.repeats);
        self.by_same_caller += other.by_same_caller;
        self.cost.merge(&other.cost);
    }
}

/// What a tag set says: not known yet; nothing; something that writes. Anything else is a hash, the last bit of which says
/// whether it is enough for two calls to ask the same.
const UNKNOWN: u64 = 0;
const NOTHING: u64 = 2;
const WRITES: u64 = 4;
const IS_ENOUGH: u64 = 1;

/// A call with its endpoint, what it asks, its start, its number in the tree, its caller and how long it takes.
type Call = (u32, u64, u64, u32, Option<u32>, u64);

/// Looks at the calls of requests; its sums are by number of the endpoint.
pub(super) struct Redundant {
    /// By tag set, what its spans ask: a hash. Empty if no span of the set says it.
    asked: Vec<u64>,
    calls: Vec<Call>,
    pub sums: FxHashMap<u32, RedundantSums>,
}

impl Redundant {
    pub fn new(set: &TraceSet) -> Redundant {
        let is_said = ASKED_KEYS.iter().chain(&TARGETS).any(|key| set.tags.find_key(key).is_some());
        let sets = if is_said { set.tags.sets() } else { 0 };
        Redundant { asked: vec![UNKNOWN; sets], calls: Vec::new(), sums: FxHashMap::default() }
    }

    /// Returns whether any span of the set says what it asks; else there is nothing to look at.
    pub fn is_on(&self) -> bool {
        !self.asked.is_empty()
    }

    fn asked(&mut self, set: &TraceSet, row: u32) -> u64 {
        let tags = set.tag_set(row);
        let Some(asked) = self.asked.get_mut(tags.0 as usize) else { return NOTHING };
        if *asked == UNKNOWN {
            *asked = asked_by(set, tags);
        }
        *asked
    }

    /// Looks at one span below the root of a request.
    pub fn look(&mut self, set: &TraceSet, tree: &Tree, span: u32) {
        let row = tree.row(span);
        let is_answer = |row: u32| matches!(set.kind(row), SpanKind::Server | SpanKind::Consumer);
        // The answering half of a call asks nothing, and after an error it is a retry.
        if is_answer(row) || tree.role[span as usize] != Role::Sync || set.flags(row).has(Flags::ERROR) {
            return;
        }
        let asked = self.asked(set, row);
        let answer = tree.sync_children(span).map(|child| tree.row(child)).find(|&child| is_answer(child));
        // Where the call says only whom it asks, what answers may say the rest.
        let answered = answer.map_or(NOTHING, |answer| self.asked(set, answer));
        let is_enough = (asked | answered) & IS_ENOUGH != 0;
        if is_enough && asked != WRITES && answered != WRITES {
            let (start_us, us) = (tree.start_us[span as usize], tree.duration_us(span));
            let asks = mix(asked ^ mix(answered));
            self.calls.push((set.endpoint(row).0, asks, start_us, span, tree.parent_of(span), us));
        }
    }

    /// Ends a request of which all spans were looked at; gives the endpoints with repeated calls to `each`. `on_path_us` is the
    /// time that an endpoint's spans on the critical path take.
    pub fn end_request(
        &mut self,
        weight: Weight,
        on_path_us: impl Fn(u32) -> u64,
        mut each: impl FnMut(u32),
    ) {
        self.calls.sort_unstable();
        for calls in self.calls.chunk_by(|a, b| a.0 == b.0) {
            let (mut repeats, mut by_same_caller, mut cost_us) = (0u64, 0, 0u128);
            for same in calls.chunk_by(|a, b| a.1 == b.1) {
                let later = &same[1..];
                repeats += later.len() as u64;
                by_same_caller += later.iter().filter(|call| call.4 == same[0].4).count() as u64;
                cost_us += later.iter().map(|call| u128::from(call.5)).sum::<u128>();
            }
            if repeats > 0 {
                let endpoint = calls[0].0;
                let sums = self.sums.entry(endpoint).or_default();
                (0..repeats).for_each(|_| sums.repeats.add(weight));
                sums.by_same_caller += by_same_caller;
                // The rest does not delay the request.
                sums.cost.add(cost_us.min(on_path_us(endpoint).into()) as u64, weight);
                each(endpoint);
            }
        }
        self.calls.clear();
    }
}

/// Returns a hash of the statement or address of a tag set, with its parameters; [`NOTHING`] if it has none, or if the parameters
/// are not known; [`WRITES`] if it does not only read.
fn asked_by(set: &TraceSet, tags: TagSetId) -> u64 {
    // What is not stored whole.
    let kept = set.tags.asked(tags);
    let (mut asked, mut method, mut others) = (kept, None, Vec::new());
    let (mut has_parameters, mut has_target, mut is_unknown) = (false, false, false);
    for &pair in set.tags.pairs_of(tags) {
        let (number, value) = set.tags.pair(pair);
        let key = set.tags.key_name(number);
        if METHODS.contains(&key) {
            method = Some(value);
            continue;
        }
        // Something else may stand for a value that is one of too many, and a long one is cut.
        let is_high = set.tags.is_high_cardinality(number);
        if let Some(place) = ASKED_KEYS.iter().position(|asked| *asked == key) {
            if !kept.has(place) {
                asked.add(place, value);
                // Saved by an earlier version, it may be cut or a template.
                let is_template = is_high && set.tags.is_address(number) && value.contains('{');
                is_unknown |= is_template || value.ends_with('\u{2026}');
            }
            continue;
        }
        let is_parameter = PARAMETERS.iter().any(|start| key.starts_with(start));
        if is_parameter || TARGETS.contains(&key) {
            has_parameters |= is_parameter;
            has_target |= key == TARGETS[0];
            others.push((key, value));
            is_unknown |= is_high || value.ends_with('\u{2026}');
        }
    }
    let is_enough = if asked.has_statement() {
        if asked.writes() {
            return WRITES;
        }
        has_parameters || asked.is_whole()
    } else if method.is_some_and(|method| !READING_METHODS.contains(&method)) {
        return WRITES;
    } else {
        has_target || asked.has_path()
    };
    if is_unknown || asked.is_nothing() && others.is_empty() {
        return NOTHING;
    }
    others.sort_unstable();
    let mut text = String::new();
    for (key, value) in others {
        text.extend(["\n", key, "=", value]);
    }
    // Its lowest bits are not those of the numbers above.
    (mix(asked.hash() ^ hash_text(&text)) & !0xf) | 8 | u64::from(is_enough)
}
