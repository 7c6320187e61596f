//! The selection of requests for an analysis, and the settings of their paths.

use super::{GroupBy, PercentileRange, RequestRef, RequestType};
use crate::requests::search::{Condition, SpanSearch, Term};
use crate::verdict::Subject;
use pathlight_trace::{Endpoint, Overlap, PathSettings, Reading, ReadingRule, RequestRoots, TraceSet};
use serde::{Deserialize, Serialize};

/// The root endpoint of the requests that a report is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RootEndpoint {
    /// The roots of every trace.
    #[default]
    TraceRoots,
    /// Every topmost span of one endpoint.
    Endpoint(Endpoint),
}

impl RootEndpoint {
    /// Returns the roots of the requests in a set; without `incomplete` but for those whose caller is not recorded. `None`: the
    /// set does not know the endpoint.
    pub fn of(&self, set: &TraceSet, incomplete: bool) -> Option<RequestRoots> {
        match self {
            RootEndpoint::TraceRoots if incomplete => Some(RequestRoots::All),
            RootEndpoint::TraceRoots => Some(RequestRoots::Complete),
            RootEndpoint::Endpoint(Endpoint { service, operation }) => {
                set.find_endpoint(service, operation).map(RequestRoots::Of)
            }
        }
    }
}

/// When a request ends (`docs/definitions/critical-path.md` section 9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Until {
    /// With its answer: with its own span.
    #[default]
    Answer,
    /// When everything is done that it leads to, asynchronous spans and what received its messages included.
    Done,
}

impl Until {
    /// Returns the end with this name.
    pub fn parse(name: &str) -> Option<Until> {
        [Until::Answer, Until::Done].into_iter().find(|until| until.name() == name)
    }

    /// Returns its name in addresses and options.
    pub fn name(self) -> &'static str {
        match self {
            Until::Answer => "answer",
            Until::Done => "done",
        }
    }
}

/// One condition on requests; several must all hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Filter {
    /// Some span of the request, or its process, has this tag.
    Tag {
        /// Tag key.
        key: String,
        /// Tag value.
        value: String,
    },
    /// The request starts in `[from_us, to_us)`, microseconds since the epoch.
    Time {
        /// First microsecond.
        from_us: u64,
        /// End in microseconds since the epoch, exclusive.
        to_us: u64,
    },
    /// Some span of the request is an error.
    HasError,
    /// Some span of the request is of this endpoint.
    Contains(Endpoint),
    /// Condition of a search on the request: some span has the tag or the name, or with `-` none has.
    Search(SpanSearch),
    /// The request is of this type.
    Type(RequestType),
    /// A subject of verdicts takes longer in the request than it usually does.
    Hit(Box<HitFilter>),
    /// The request is one of these, or of another set.
    Only(OnlyFilter),
}

/// Some requests of a set.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct OnlyFilter {
    /// The set; requests of others all pass, so that they can be compared with.
    pub group: u8,
    /// Trace id and root span id of each, canonical and ascending.
    pub requests: Vec<(String, String)>,
}

impl OnlyFilter {
    /// Requests kept at most: more would make the address of the page too long for some servers and chats.
    pub const MOST: usize = 100;

    /// Returns the filter that keeps some requests of a set: the first of them, if they are too many.
    pub fn of<'a>(group: u8, requests: impl IntoIterator<Item = &'a RequestRef>) -> OnlyFilter {
        let id = |request: &RequestRef| (request.trace_id.clone(), request.root_span_id.clone());
        let mut requests: Vec<_> = requests.into_iter().take(OnlyFilter::MOST).map(id).collect();
        requests.sort_unstable();
        OnlyFilter { group, requests }
    }

    /// Returns whether a request of a set passes.
    pub fn keeps(&self, group: u8, request: &RequestRef) -> bool {
        let is_it = |(trace_id, root): &(String, String)| {
            *trace_id == request.trace_id && *root == request.root_span_id
        };
        group != self.group || self.requests.iter().any(is_it)
    }
}

/// A condition on the time of a subject in a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HitFilter {
    /// The subject.
    pub subject: Subject,
    /// The requests that say what is usual; `None`: the faster half of each type of the selection.
    pub against: Option<Selection>,
    /// The greatest time that is usual, by request type, in microseconds; empty until a query finds it out.
    pub limits_us: Vec<(RequestType, u64)>,
}

impl Filter {
    /// Returns the filter that keeps the requests in which a subject takes longer than usual.
    pub fn hit(subject: Subject) -> Filter {
        Filter::Hit(Box::new(HitFilter { subject, against: None, limits_us: Vec::new() }))
    }

    /// Returns the filter that keeps the requests without a tag of this value.
    pub fn without_tag(key: &str, value: &str) -> Filter {
        let condition = Condition::Tag { key: key.to_owned(), value: Some(value.to_owned()) };
        Filter::Search(SpanSearch { alternatives: vec![vec![Term { negated: true, condition }]] })
    }

    /// Returns the filters that keep the requests a search finds: one for each of its terms, if they must all hold.
    pub fn of_search(search: SpanSearch) -> Vec<Filter> {
        search.apart().into_iter().map(Filter::of_term).collect()
    }

    fn of_term(search: SpanSearch) -> Filter {
        if let [terms] = search.alternatives.as_slice()
            && let [Term { negated: false, condition: Condition::Tag { key, value: Some(value) } }] =
                terms.as_slice()
        {
            return Filter::Tag { key: key.clone(), value: value.clone() };
        }
        Filter::Search(search)
    }
}

/// The requests an analysis is about, and how their paths are found. It always travels whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Selection {
    /// The set of traces: 0 is the set looked at (A), 1 the one it is compared with (B).
    pub group: u8,
    /// The root endpoint, whose latency is looked at.
    pub root: RootEndpoint,
    /// Conditions that must all hold.
    pub filters: Vec<Filter>,
    /// Overlaps of siblings that pass for clock skew.
    pub overlap: Overlap,
    /// Rules for real traces that apply.
    pub reading: Reading,
    /// Whether places are services, whatever their operations.
    pub by_service: bool,
    /// Percentile range of the requests, by latency.
    pub range: PercentileRange,
    /// Grouping of requests into types.
    pub by: GroupBy,
    /// Whether the percentile range is cut out of all requests together, not out of each type.
    pub over_all: bool,
    /// Whether requests whose caller is not recorded count, although enough traces have their root.
    pub incomplete: bool,
    /// When requests end.
    pub until: Until,
    /// Whether each request counts once, even if its trace stands for several.
    pub unweighted: bool,
}

impl Selection {
    /// Returns all that decides what trees and paths look like.
    pub fn settings(&self) -> PathSettings {
        PathSettings { overlap: self.overlap, reading: self.reading, by_service: self.by_service }
    }

    /// Returns this selection cut by another percentile range.
    #[must_use]
    pub fn with_range(&self, range: PercentileRange) -> Selection {
        Selection { range, ..self.clone() }
    }

    /// Returns the trace roots of the same group, read the same way.
    #[must_use]
    pub fn of_all_requests(&self) -> Selection {
        Selection {
            group: self.group,
            overlap: self.overlap,
            reading: self.reading,
            by_service: self.by_service,
            by: self.by.clone(),
            incomplete: self.incomplete,
            until: self.until,
            unweighted: self.unweighted,
            ..Selection::default()
        }
    }

    /// Returns a selection of the same requests until their answer, with calls named as recorded: for what is kept and used
    /// on other traces, in which other calls may need to say what they call.
    #[must_use]
    pub fn with_recorded_calls(&self) -> Selection {
        let reading = self.reading.with(ReadingRule::Callees, false);
        Selection { reading, until: Until::Answer, ..self.clone() }
    }

    /// Returns these requests as they are until their answer: for analyses that know nothing of what comes after.
    #[must_use]
    pub fn until_answer(mut self) -> Selection {
        self.until = Until::Answer;
        self
    }

    /// Returns these requests without the conditions on how long subjects take.
    #[must_use]
    pub fn without_hits(mut self) -> Selection {
        self.filters.retain(|filter| !matches!(filter, Filter::Hit(_)));
        self
    }

    /// Returns these requests without the choice of single ones.
    #[must_use]
    pub fn without_only(mut self) -> Selection {
        self.filters.retain(|filter| !matches!(filter, Filter::Only(_)));
        self
    }

    /// Returns these requests and others to compare with them: how long subjects usually take is what they take in these.
    #[must_use]
    pub fn as_baseline_of(&self, others: Selection) -> (Selection, Selection) {
        (self.clone().without_hits(), others.with_hits_against(self))
    }

    /// Returns these requests where a baseline says how long subjects usually take.
    #[must_use]
    pub fn with_hits_against(mut self, baseline: &Selection) -> Selection {
        for filter in &mut self.filters {
            if let Filter::Hit(hit) = filter {
                hit.against = Some(baseline.clone().without_hits());
            }
        }
        self
    }

    /// Returns whether a filter needs to know how long a subject usually takes.
    pub(crate) fn has_hits(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter, Filter::Hit(_)))
    }

    /// Returns whether a filter needs to know the types of requests.
    pub(crate) fn filters_by_type(&self) -> bool {
        self.filters.iter().any(|filter| matches!(filter, Filter::Type(_) | Filter::Hit(_)))
    }

    /// Returns a selection of the same requests whatever their latency: what stands before a percentile range is cut.
    #[must_use]
    pub fn at_any_latency(&self) -> Selection {
        self.with_range(PercentileRange::ALL)
    }
}
