//! Subjects of a verdict, and their time in single requests (section 1 of `docs/definitions/verdict.md`).

use super::{ServicePart, answer_of_other_service};
use crate::flame::PathFinder;
use pathlight_base::steps::in_blocks;
use pathlight_trace::{Overlap, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A part of a service, as a cause of latency that somebody can act on.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// Name of the service.
    pub service: String,
    /// Its own work, waiting for it, or its calls of others.
    pub part: ServicePart,
}

impl Subject {
    /// Reads what [`Display`](fmt::Display) writes.
    pub fn parse(text: &str) -> Option<Subject> {
        let (key, service) = text.split_once(':')?;
        let part = ServicePart::ALL.into_iter().find(|part| part.key() == key)?;
        (!service.is_empty()).then(|| Subject { service: service.to_owned(), part })
    }
}

/// Writes `own:cart`, `in:cart` or `out:cart`.
impl fmt::Display for Subject {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "{}:{}", self.part.key(), self.service)
    }
}

/// A subject with its time in one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimedSubject {
    /// The subject.
    pub subject: Subject,
    /// Its time on the critical path of the request, all its calls or visits together, in microseconds.
    pub time_us: u64,
}

impl TimedSubject {
    /// Returns the subject with the greatest time on the path of a request that `finder` has found (ties: by name); `None` if
    /// the path takes no time. Own work and waiting for services divide the path, so calls out of services, which are part
    /// of that waiting, are not compared.
    pub(crate) fn largest(set: &TraceSet, tree: &Tree, finder: &PathFinder) -> Option<TimedSubject> {
        let service_of: Vec<&str> = set.endpoints().map(|(service, _)| service).collect();
        let service = |span: u32| service_of[set.named_endpoint(tree.row(span)).0 as usize];
        let mut times_us: BTreeMap<(&str, ServicePart), u64> = BTreeMap::new();
        in_blocks(finder.entries().len(), &mut |block| {
            for entry in &finder.entries()[block] {
                let subject = match answer_of_other_service(set, tree, entry.span, &service_of) {
                    Some(answer) => (service(answer), ServicePart::In),
                    None => (service(entry.span), ServicePart::Own),
                };
                *times_us.entry(subject).or_default() += entry.exclusive_us;
            }
        });
        // The last of equal ones is taken: the first by name.
        let ((service, part), time_us) = times_us.into_iter().rev().max_by_key(|(_, us)| *us)?;
        let subject = Subject { service: service.to_owned(), part };
        (time_us > 0).then_some(TimedSubject { subject, time_us })
    }
}

/// Finds the spans of a subject in one set. The self time of each is time of the subject, as the verdict divides
/// it: a call that a span of another service answers is waiting, and all else is own work.
pub(crate) struct SubjectSpans {
    part: ServicePart,
    /// By endpoint of the set, whether it is of the service.
    is_of_service: Vec<bool>,
}

impl SubjectSpans {
    /// Returns the spans of a subject in this set.
    pub fn new(set: &TraceSet, Subject { service, part }: &Subject) -> SubjectSpans {
        SubjectSpans {
            part: *part,
            is_of_service: set.endpoints().map(|(name, _)| name == service).collect(),
        }
    }

    /// Returns whether a span is one of them.
    pub fn has(&self, set: &TraceSet, tree: &Tree, span: u32) -> bool {
        let is_of_service = self.is_of_service[set.named_endpoint(tree.row(span)).0 as usize];
        // What calls into the service is of another one.
        if is_of_service == (self.part == ServicePart::In) {
            return false;
        }
        let is_waiting = answer_of_other_service(set, tree, span, &self.is_of_service).is_some();
        is_waiting == (self.part != ServicePart::Own)
    }
}

/// Finds the calls into a service in one set, whoever makes them: all of a call, its answer among it, where the spans of
/// waiting for the service are looked at without their answers.
pub(crate) struct ServiceCalls {
    /// By endpoint of the set, whether it is of the service.
    is_of_service: Vec<bool>,
}

impl ServiceCalls {
    /// Returns the calls into this service in this set.
    pub fn new(set: &TraceSet, service: &str) -> ServiceCalls {
        ServiceCalls { is_of_service: set.endpoints().map(|(name, _)| name == service).collect() }
    }

    /// Returns whether a span is one of them: the calling half of another service, or where there is none the span that
    /// enters the service, as at the root of a trace.
    pub fn has(&self, set: &TraceSet, tree: &Tree, span: u32) -> bool {
        let is_of_service = |span: u32| self.is_of_service[set.named_endpoint(tree.row(span)).0 as usize];
        let is_calling = |span: u32| {
            !is_of_service(span) && answer_of_other_service(set, tree, span, &self.is_of_service).is_some()
        };
        if is_of_service(span) {
            tree.parent_of(span).is_none_or(|caller| !is_of_service(caller) && !is_calling(caller))
        } else {
            is_calling(span)
        }
    }
}

/// Measures the time of some subjects on the critical path of one request after the other.
pub struct SubjectTimes {
    overlap: Overlap,
    finder: PathFinder,
    subjects: Vec<SubjectSpans>,
    /// By span of the request: time on the path.
    path_us: Vec<u64>,
    times_us: Vec<Option<u64>>,
}

impl SubjectTimes {
    /// Returns the measure of some subjects in requests of this set.
    pub fn new<'a>(
        set: &TraceSet,
        subjects: impl IntoIterator<Item = &'a Subject>,
        overlap: Overlap,
    ) -> SubjectTimes {
        SubjectTimes {
            overlap,
            finder: PathFinder::default(),
            subjects: subjects.into_iter().map(|subject| SubjectSpans::new(set, subject)).collect(),
            path_us: Vec::new(),
            times_us: Vec::new(),
        }
    }

    /// Returns by subject its time on the critical path of the request at `root`, all its calls or visits together, in
    /// microseconds; `None` where the request does not use it.
    pub fn measure(&mut self, set: &TraceSet, tree: &Tree, root: u32) -> &[Option<u64>] {
        self.times_us.clear();
        self.times_us.resize(self.subjects.len(), None);
        self.finder.find(set, tree, root, self.overlap);
        self.finder.span_times_us(tree, root, &mut self.path_us);
        for span in tree.awaited(root) {
            for (spans, time_us) in self.subjects.iter().zip(&mut self.times_us) {
                if spans.has(set, tree, span) {
                    *time_us.get_or_insert(0) += self.path_us[(span - root) as usize];
                }
            }
        }
        &self.times_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_read_as_they_are_written() {
        for part in ServicePart::ALL {
            let subject = Subject { service: "a:b".to_owned(), part };
            assert_eq!(Subject::parse(&subject.to_string()), Some(subject));
        }
        assert_eq!(
            [Subject::parse("cart"), Subject::parse("at:cart"), Subject::parse("in:")],
            [None, None, None]
        );
    }
}
