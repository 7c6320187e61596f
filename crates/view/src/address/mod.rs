//! The state of the page as the fragment of its address: `#v=1&view=flame&service=..&operation=..&range=P95-99`.
//!
//! With `api`, `service` and `operation` are what is searched for at Jaeger and, both given, the root endpoint too;
//! another root endpoint stands in `rootEndpoint`. See [`source`](pathlight_backend::source).
//!
//! A fragment never reaches a server, so it works on any static host. Keys nobody here knows are kept as they are: a
//! link of a later version loses nothing by passing through this one.

pub mod choices;
pub mod comparing;
pub(crate) mod focus;
mod ranges;
pub mod sharing;
mod sides;
#[cfg(test)]
mod source_tests;
#[cfg(test)]
mod tests;

pub use ranges::{parse_range, range_name};

use super::address::choices::Choices;
use super::address::comparing::{Against, ComparedSide, Comparison};
use super::address::focus::{focus_name, parse_focus};

pub use super::anomalies::settings::{AnomalyChoice, JudgedAgainst, SIZES};
pub use super::views::View;
use crate::flow::choice::FlowPanel;
use pathlight_backend::source::{FetchSource, root_name, root_of_name};
use pathlight_base::fragment::{Writer, pairs};
use pathlight_engine::requests::search::SpanSearch;
use pathlight_engine::requests::{
    Filter, GroupBy, OnlyFilter, PercentileRange, RequestType, RootEndpoint, Selection, Until,
};
use pathlight_engine::split::SplitOf;
use pathlight_engine::verdict::Subject;
use pathlight_trace::{Endpoint, Overlap, PathSettings, Reading};

/// Version of the fragment; [`upgrade`] brings older ones up to it.
const VERSION: u32 = 1;

/// Colours of the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// The theme of the system.
    #[default]
    System,
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

impl ThemeChoice {
    /// Returns its value of `theme=`.
    pub fn key(self) -> &'static str {
        match self {
            ThemeChoice::System => "system",
            ThemeChoice::Light => "light",
            ThemeChoice::Dark => "dark",
        }
    }
}

/// Order of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// Key of the column.
    pub column: String,
    /// Greatest first.
    pub descending: bool,
}

/// A trace that is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceChoice {
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span; `None`: the trace root.
    pub root_span_id: Option<String>,
    /// Canonical id of the selected span.
    pub span_id: Option<String>,
    /// What stands on the same axis.
    pub beside: Beside,
}

impl TraceChoice {
    /// Returns whether no other trace stands on the axis.
    pub fn is_alone(&self) -> bool {
        self.beside == Beside::Nothing
    }
}

/// What stands beside a trace on its axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Beside {
    /// No other trace.
    #[default]
    Nothing,
    /// The traces that its messages connect it with.
    Linked,
    /// The normal request that is most like its request.
    Normal,
}

/// Choices of the view that splits by the values of a tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitChoice {
    /// The tag; `None`: one the page proposes.
    pub key: Option<String>,
    /// The latency, or the time of an endpoint.
    pub of: SplitOf,
    /// Whether the axis of times is linear.
    pub linear: bool,
}

/// State of the page that its address holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The view in sight.
    pub view: View,
    /// Source of the traces, if they are fetched.
    pub source: FetchSource,
    /// The root endpoint, whose latency is looked at.
    pub root: RootEndpoint,
    /// Percentile range of its requests; while two sides are compared, that of the one that views speak of.
    pub range: PercentileRange,
    /// Whether percentile ranges are cut out of all requests together, not out of each type.
    pub over_all: bool,
    /// Whether requests whose caller is not recorded count among all requests, although enough traces have their root.
    pub incomplete: bool,
    /// Whether each request counts once, even if its trace stands for several.
    pub unweighted: bool,
    /// The tag that says the weight of a trace, before those that are known; what is loaded is read by it.
    pub weight_key: Option<String>,
    /// Grouping of requests into types.
    pub by: GroupBy,
    /// Grouping of what was loaded first where that is chosen automatically, and the reading it was chosen under. It
    /// stays while more is loaded; it is no part of the text.
    pub chosen: Option<(Reading, GroupBy)>,
    /// The comparison under way.
    pub comparison: Option<Comparison>,
    /// Conditions on requests.
    pub filters: Vec<Filter>,
    /// Overlaps of siblings that pass for clock skew.
    pub overlap: Overlap,
    /// Rules for real traces that apply.
    pub reading: Reading,
    /// When requests end, for the views that can follow them beyond their answer.
    pub until: Until,
    /// Whether flame graph, compare, heat map and endpoints show services, whatever their operations.
    pub by_service: bool,
    /// The trace of the timeline.
    pub trace: Option<TraceChoice>,
    /// Call path of (service, operation) the flame graph is zoomed to; empty: all of it.
    pub focus: Vec<Endpoint>,
    /// Whether the flame graph shows callers below callees.
    pub inverted: bool,
    /// The text of the search.
    pub search: String,
    /// Switches of views.
    pub choices: Choices,
    /// Order of the view's table; `None`: its own.
    pub sort: Option<Sort>,
    /// Choices of *Split by tag*.
    pub split: SplitChoice,
    /// The tag whose numbers *Endpoints* and *Split by tag* sum.
    pub sum: Option<String>,
    /// Choices of how abnormal requests are found.
    pub anomaly: AnomalyChoice,
    /// Colours.
    pub theme: ThemeChoice,
    /// Shown inside another page, without a header.
    pub embed: bool,
    /// Origins whose messages are followed without asking; see [`contract`](super::contract).
    pub allow: Vec<String>,
    /// Other keys with their values, decoded.
    pub unknown: Vec<(String, String)>,
}

impl Default for Address {
    fn default() -> Self {
        Address {
            view: View::default(),
            source: FetchSource::default(),
            root: RootEndpoint::default(),
            range: PercentileRange::ALL,
            over_all: false,
            incomplete: false,
            unweighted: false,
            weight_key: None,
            by: GroupBy::default(),
            chosen: None,
            comparison: None,
            filters: Vec::new(),
            overlap: Overlap::default(),
            reading: Reading::default(),
            until: Until::Answer,
            by_service: false,
            trace: None,
            focus: Vec::new(),
            inverted: false,
            search: String::new(),
            choices: Choices::default(),
            sort: None,
            split: SplitChoice::default(),
            sum: None,
            anomaly: AnomalyChoice::default(),
            theme: ThemeChoice::default(),
            embed: false,
            allow: Vec::new(),
            unknown: Vec::new(),
        }
    }
}

impl Address {
    /// Adds a filter, or takes the place of one that cannot stand beside it.
    pub fn add_filter(&mut self, filter: Filter) {
        self.filters.retain(|known| {
            let takes_its_place = matches!(
                (known, &filter),
                (Filter::Time { .. }, Filter::Time { .. }) | (Filter::Only(_), Filter::Only(_))
            );
            *known != filter && !takes_its_place
        });
        self.filters.push(filter);
    }

    /// Reads a fragment, with or without its `#`. Never fails: what makes no sense is as if it were not there.
    pub fn parse(fragment: &str) -> Address {
        let mut pairs = pairs(fragment.strip_prefix('#').unwrap_or(fragment));
        upgrade(&mut pairs);
        let source = FetchSource::take(&mut pairs);
        let mut address = Address { root: source.root(), source, ..Address::default() };
        let (mut service, mut operation) = (None, None);
        let (mut from, mut to) = (None, None);
        let (mut against, mut range_b, mut side, mut swapped) =
            (None, PercentileRange::ALL, ComparedSide::A, false);
        let (mut trace_id, mut root, mut span) = (None, None, None);
        let (mut reading, mut is_per_request, mut beside) = (None, false, Beside::Nothing);
        for (key, value) in pairs {
            match key.as_str() {
                "v" => {}
                "view" => address.view = View::from_key(&value).unwrap_or_default(),
                // No span has such a service: without a name it has one that says so.
                "service" if value.is_empty() => {}
                // Of several the first counts; the others are not kept, or each writing would lose one of them.
                "service" => service = service.or(Some(value)),
                "operation" => operation = operation.or(Some(value)),
                "rootEndpoint" => address.root = root_of_name(&value).unwrap_or(address.root),
                "range" => address.range = parse_range(&value).unwrap_or(PercentileRange::ALL),
                "percentiles" => address.over_all = value == "all",
                "incomplete" => address.incomplete = value == "1",
                "weights" => address.unweighted = value == "off",
                "weight" => address.weight_key = Some(value).filter(|key| !key.is_empty()),
                // Of a comparison it is also what its frames are compared by.
                "by" => match GroupBy::parse(&value) {
                    Some(by) => address.by = by,
                    None => {
                        address.choices.read(&key, &value);
                    }
                },
                // The word of the diagnosis when it had request types of its own.
                "types" => address.by = GroupBy::parse(&format!("tag={value}")).unwrap_or_default(),
                "against" => against = Against::from_name(&value),
                "rangeB" => range_b = parse_range(&value).unwrap_or(PercentileRange::ALL),
                "side" if value == "B" => side = ComparedSide::B,
                "swapped" => swapped = value == "1",
                "overlap" => address.overlap = parse_overlap(&value).unwrap_or_default(),
                "reading" => reading = Reading::parse(&value),
                "until" => address.until = Until::parse(&value).unwrap_or_default(),
                "places" => address.by_service = value == "service",
                "from" => from = value.parse().ok(),
                "to" => to = value.parse().ok(),
                "where" => {
                    let search = SpanSearch::parse(&value);
                    if !search.is_empty() {
                        address.filters.push(Filter::Search(search));
                    }
                }
                "error" if value == "1" => address.filters.push(Filter::HasError),
                "hit" => address.filters.extend(Subject::parse(&value).map(Filter::hit)),
                "traceID" if trace_id.is_none() && !value.is_empty() => trace_id = Some(value),
                "root" => root = Some(value),
                "span" => span = Some(value),
                "linked" if value == "1" => beside = Beside::Linked,
                "beside" if value == "normal" => beside = Beside::Normal,
                "focus" => address.focus = parse_focus(&value).unwrap_or_default(),
                "inverted" => address.inverted = value == "1",
                "search" => address.search = value,
                "sort" => address.sort = parse_sort(&value),
                "split" => address.split.key = Some(value),
                "sum" => address.sum = Some(value).filter(|key| !key.is_empty()),
                "of" => {
                    let endpoint = parse_focus(&value).unwrap_or_default().into_iter().next();
                    address.split.of = endpoint.map_or(SplitOf::Latency, SplitOf::Calls);
                }
                "per" => is_per_request = value == "request",
                "axis" => address.split.linear = value == "linear",
                "theme" => {
                    let known = [ThemeChoice::System, ThemeChoice::Light, ThemeChoice::Dark];
                    address.theme = known.into_iter().find(|t| t.key() == value).unwrap_or_default();
                }
                "embed" => address.embed = value == "1",
                "allow" => address.allow.push(value),
                _ if address.choices.read(&key, &value) => {}
                key if address.anomaly.take(key, &value) => {}
                _ => match key.split_once('.') {
                    Some(("tag", tag)) => address.filters.push(Filter::Tag { key: tag.to_owned(), value }),
                    Some(("contains", service)) => address
                        .filters
                        .push(Filter::Contains(Endpoint { service: service.to_owned(), operation: value })),
                    Some(("only", request)) => address.take_only(request, value),
                    Some(("type", service)) => address.filters.extend(parse_type(service, &value)),
                    _ => address.unknown.push((key, value)),
                },
            }
        }
        if let (Some(service), Some(operation)) = (service, operation) {
            address.root = RootEndpoint::Endpoint(Endpoint { service, operation });
        }
        if let Some(against) = against {
            let is_b = side == ComparedSide::B;
            let (range, other) = if is_b { (range_b, address.range) } else { (address.range, range_b) };
            let swapped = swapped && against == Against::Set;
            address.range = range;
            address.comparison = Some(Comparison { against, side, other, swapped });
        }
        if from.is_some() || to.is_some() {
            let (from_us, to_us) = (from.unwrap_or(0), to.unwrap_or(u64::MAX));
            address.filters.push(Filter::Time { from_us, to_us });
        }
        if let (true, Some(endpoint)) = (is_per_request, address.split.of.endpoint().cloned()) {
            address.split.of = SplitOf::Sums(endpoint);
        }
        address.reading = reading.unwrap_or(address.overlap.implied_reading());
        address.trace =
            trace_id.map(|trace_id| TraceChoice { trace_id, root_span_id: root, span_id: span, beside });
        address
    }

    /// Returns the fragment, without its `#`; reading it gives this address again (filters of time go last).
    pub fn to_fragment(&self) -> String {
        let mut out = Writer::new(format!("v={VERSION}"));
        if self.view != View::default() {
            out.put("view", self.view.key());
        }
        self.source.put(&mut out);
        match &self.root {
            root if *root == self.source.root() => {}
            // The plain keys are those of the search.
            root if self.source.is_search() => out.put("rootEndpoint", &root_name(root)),
            RootEndpoint::TraceRoots => {}
            RootEndpoint::Endpoint(Endpoint { service, operation }) => {
                out.put("service", service);
                out.put("operation", operation);
            }
        }
        let mut ranges = [("range", self.range), ("rangeB", PercentileRange::ALL)];
        if let Some(Comparison { against, side, other, swapped }) = self.comparison {
            out.put("against", &against.name());
            ranges[1].1 = other;
            if side == ComparedSide::B {
                out.put("side", "B");
                (ranges[0].1, ranges[1].1) = (other, self.range);
            }
            if swapped {
                out.put("swapped", "1");
            }
        }
        for (key, range) in ranges.into_iter().filter(|(_, range)| !range.is_all()) {
            out.put(key, &range_name(range));
        }
        if self.over_all {
            out.put("percentiles", "all");
        }
        if self.incomplete {
            out.put("incomplete", "1");
        }
        if self.unweighted {
            out.put("weights", "off");
        }
        if let Some(key) = &self.weight_key {
            out.put("weight", key);
        }
        if self.by != GroupBy::default() {
            out.put("by", &self.by.key());
        }
        for filter in &self.filters {
            match filter {
                Filter::Tag { key, value } => out.put(&format!("tag.{key}"), value),
                Filter::Contains(Endpoint { service, operation }) => {
                    out.put(&format!("contains.{service}"), operation);
                }
                Filter::Type(kind) => out.put(&format!("type.{}", kind.root.service), &type_name(kind)),
                Filter::HasError => out.put("error", "1"),
                Filter::Only(OnlyFilter { group, requests }) => {
                    for (trace_id, root) in requests {
                        out.put(&format!("only.{}.{root}", ComparedSide::of_group(*group).name()), trace_id);
                    }
                }
                Filter::Hit(hit) => out.put("hit", &hit.subject.to_string()),
                Filter::Search(search) => out.put("where", &search.to_string()),
                Filter::Time { from_us, to_us } => {
                    if *from_us > 0 || *to_us == u64::MAX {
                        out.put("from", &from_us.to_string());
                    }
                    if *to_us < u64::MAX {
                        out.put("to", &to_us.to_string());
                    }
                }
            }
        }
        if self.overlap != Overlap::default() {
            out.put("overlap", &overlap_name(self.overlap));
        }
        if self.reading != self.overlap.implied_reading() {
            out.put("reading", &self.reading.name());
        }
        if self.until != Until::Answer {
            out.put("until", self.until.name());
        }
        if self.by_service {
            out.put("places", "service");
        }
        if let Some(trace) = &self.trace {
            out.put("traceID", &trace.trace_id);
            if let Some(root) = &trace.root_span_id {
                out.put("root", root);
            }
            if let Some(span) = &trace.span_id {
                out.put("span", span);
            }
            match trace.beside {
                Beside::Nothing => {}
                Beside::Linked => out.put("linked", "1"),
                Beside::Normal => out.put("beside", "normal"),
            }
        }
        self.source.put_traces(self.trace.as_ref().map(|trace| trace.trace_id.as_str()), &mut out);
        if !self.focus.is_empty() {
            out.put("focus", &focus_name(&self.focus));
        }
        if self.inverted {
            out.put("inverted", "1");
        }
        if !self.search.is_empty() {
            out.put("search", &self.search);
        }
        for (key, value) in self.choices.pairs() {
            out.put(key, &value);
        }
        if let Some(sort) = &self.sort {
            let sign = if sort.descending { "-" } else { "" };
            out.put("sort", &format!("{sign}{}", sort.column));
        }
        if let Some(key) = &self.split.key {
            out.put("split", key);
        }
        if let Some(endpoint) = self.split.of.endpoint() {
            out.put("of", &focus_name(std::slice::from_ref(endpoint)));
        }
        if matches!(self.split.of, SplitOf::Sums(_)) {
            out.put("per", "request");
        }
        if self.split.linear {
            out.put("axis", "linear");
        }
        if let Some(key) = &self.sum {
            out.put("sum", key);
        }
        self.anomaly.put(&mut out);
        if self.theme != ThemeChoice::default() {
            out.put("theme", self.theme.key());
        }
        if self.embed {
            out.put("embed", "1");
        }
        for origin in &self.allow {
            out.put("allow", origin);
        }
        for (key, value) in &self.unknown {
            out.put(key, value);
        }
        out.finish()
    }

    /// Returns whether going from `before` to here is a step a reader may want to take back.
    pub fn is_step_from(&self, before: &Address) -> bool {
        let place =
            |a: &Address| a.trace.as_ref().map(|t| (t.trace_id.clone(), t.root_span_id.clone(), t.beside));
        self.view != before.view
            || self.source != before.source
            || self.root != before.root
            || self.range != before.range
            || self.over_all != before.over_all
            || self.incomplete != before.incomplete
            || self.unweighted != before.unweighted
            || self.weight_key != before.weight_key
            || self.by != before.by
            || self.comparison != before.comparison
            || self.filters != before.filters
            || self.overlap != before.overlap
            || self.reading != before.reading
            || self.until != before.until
            || self.by_service != before.by_service
            || self.focus != before.focus
            || self.inverted != before.inverted
            || self.split != before.split
            || self.sum != before.sum
            || self.choices.flow.parents != before.choices.flow.parents
            || self.choices.diagnosis != before.choices.diagnosis
            || self.anomaly.normal != before.anomaly.normal
            || place(self) != place(before)
    }

    /// Returns all that decides what trees and paths look like.
    pub fn settings(&self) -> PathSettings {
        PathSettings { overlap: self.overlap, reading: self.reading, by_service: false }
    }

    /// Returns a selection of the same requests for views that can show services as places.
    pub fn rolled_up(&self, selection: Selection) -> Selection {
        Selection { by_service: self.by_service, ..selection }
    }

    /// Adds a request to those that are to be kept, as its set and root span (`B.1a2b`) and its trace say.
    fn take_only(&mut self, request: &str, trace_id: String) {
        let Some((set, root)) = request.split_once('.') else { return };
        let Some(side) = ComparedSide::BOTH.into_iter().find(|side| side.name() == set) else { return };
        let known = self.filters.iter_mut().find_map(|filter| match filter {
            Filter::Only(only) if only.group == side.set_group() => Some(&mut only.requests),
            _ => None,
        });
        let request = (trace_id, root.to_owned());
        match known {
            Some(requests) => {
                if let Err(place) = requests.binary_search(&request) {
                    requests.insert(place, request);
                }
            }
            None => {
                let only = OnlyFilter { group: side.set_group(), requests: vec![request] };
                self.filters.push(Filter::Only(only));
            }
        }
    }

    /// Looks at the requests of a type: those of its root endpoint, or of the part of them that it is.
    pub fn look_at_type(&mut self, kind: &RequestType) {
        self.filters.retain(|filter| !matches!(filter, Filter::Type(_)));
        if kind.part.is_empty() {
            self.root = RootEndpoint::Endpoint(kind.root.clone());
        } else {
            self.root = RootEndpoint::TraceRoots;
            self.filters.push(Filter::Type(kind.clone()));
        }
    }

    /// Groups requests otherwise; a filter by a type of before would keep none of them.
    pub fn group_by(&mut self, by: GroupBy) {
        self.by = by;
        self.chosen = None;
        self.filters.retain(|filter| !matches!(filter, Filter::Type(_)));
    }

    /// Returns how requests are grouped: as the address says, or as was chosen for what was loaded first.
    pub fn grouping(&self) -> &GroupBy {
        match &self.chosen {
            Some((reading, by)) if self.by == GroupBy::Automatic && *reading == self.reading => by,
            _ => &self.by,
        }
    }

    /// Cuts a percentile range out of all requests together, as the histogram of their latency shows them.
    pub fn cut_over_all(&mut self, range: PercentileRange) {
        self.range = range;
        self.over_all = !range.is_all();
    }

    /// Returns the requests that views speak of; while two sides are compared, those of the side they speak of.
    pub fn selection(&self) -> Selection {
        let mut chosen = self.chosen_requests();
        chosen.filters.extend(self.comparison.and_then(|of| of.against.filter(of.side)));
        if self.has_baseline() { chosen.with_hits_against(&self.side(ComparedSide::A)) } else { chosen }
    }

    /// Returns whether the view in sight can show requests until everything is done: in Flow a what-if can, and nothing else.
    pub fn follows_messages(&self) -> bool {
        let is_what_if = self.view == View::Flow && self.choices.flow.panel == FlowPanel::WhatIf;
        self.view.follows_messages() || is_what_if
    }

    /// Returns the requests that views speak of, where nothing is known of how long they usually take.
    pub(super) fn chosen_requests(&self) -> Selection {
        Selection {
            root: self.root.clone(),
            filters: self.filters.clone(),
            overlap: self.overlap,
            reading: self.reading,
            by_service: false,
            range: self.range,
            by: self.grouping().clone(),
            over_all: self.over_all,
            incomplete: self.incomplete,
            until: if self.follows_messages() { self.until } else { Until::Answer },
            unweighted: self.unweighted,
            group: self.group(),
        }
    }
}

fn overlap_name(overlap: Overlap) -> String {
    overlap
        .preset_name()
        .map_or_else(|| format!("{}-{}", overlap.overlap_us, overlap.share_ppm), str::to_owned)
}

fn parse_overlap(text: &str) -> Option<Overlap> {
    Overlap::preset(text).or_else(|| {
        let (us, ppm) = text.split_once('-')?;
        Some(Overlap { overlap_us: us.parse().ok()?, share_ppm: ppm.parse().ok()? })
    })
}

/// Writes operation and part of a request type as JSON.
fn type_name(kind: &RequestType) -> String {
    serde_json::to_string(&[&kind.root.operation, &kind.part]).unwrap_or_default()
}

fn parse_type(service: &str, text: &str) -> Option<Filter> {
    let [operation, part] = serde_json::from_str::<[String; 2]>(text).ok()?;
    Some(Filter::Type(RequestType { root: Endpoint::new(service, operation), part }))
}

fn parse_sort(text: &str) -> Option<Sort> {
    let (descending, column) = match text.strip_prefix('-') {
        Some(column) => (true, column),
        None => (false, text),
    };
    (!column.is_empty()).then(|| Sort { column: column.to_owned(), descending })
}

/// Keys that were renamed: old and new. Addresses and messages of a page around may still have the old ones, here and
/// below; nothing writes them.
const FORMER_KEYS: [(&str, &str); 3] = [("band", "range"), ("bandB", "rangeB"), ("subject", "rootEndpoint")];
/// Values that were renamed: the key, old and new.
const FORMER_VALUES: [(&str, &str, &str); 6] = [
    ("against", "band", "range"),
    ("view", "diff", "compare"),
    ("view", "heat", "heatmap"),
    ("view", "bottom", "endpoints"),
    ("view", "tprof", "diagnosis"),
    ("view", "anomaly", "anomalies"),
];

/// Returns the value that a key has now in place of a former one.
pub(crate) fn current_value<'a>(key: &str, value: &'a str) -> &'a str {
    let renamed = FORMER_VALUES.iter().find(|(of, old, _)| *of == key && *old == value);
    renamed.map_or(value, |&(.., new)| new)
}

/// Brings the pairs of an older version up to [`VERSION`]. A fragment without `v` is one written by hand.
fn upgrade(pairs: &mut Vec<(String, String)>) {
    let version = pairs.iter().find(|(key, _)| key == "v").and_then(|(_, v)| v.parse().ok());
    if version.unwrap_or(VERSION) < 1 {
        // There was nothing before 1.
        pairs.retain(|(key, _)| key == "theme" || key == "embed");
    }
    for (key, value) in pairs {
        if let Some((_, new)) = FORMER_KEYS.iter().find(|(old, _)| old == key) {
            *key = (*new).to_owned();
        }
        *value = current_value(key, value).to_owned();
    }
}
