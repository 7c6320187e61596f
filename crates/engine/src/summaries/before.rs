//! Files of versions before sections: 1 did not sum errors, 1 and 2 neither flows nor what normal requests are like, and
//! 1 to 3 not what a diagnosis needs. From version 2 on a flag says of each of these whether some file that was merged lacks
//! it.

use super::file::contradicts;
use super::section::{ByRoot, Lack, Section, Summed};
use super::sections::Sections;
use super::{FileError, LatencyBin, RootPart, Sketch, Summary, SummarySettings};
use crate::anomalies::call_tree::FactPart;
use crate::anomalies::summed::NormalRequests;
use crate::compare::summed::Frames1;
use crate::diagnosis::summed::DiagnosisSums;
use crate::endpoints::summed::SummedEndpoints;
use crate::errors::summed::{ErrorSums, ErrorSums1};
use crate::flame::summed::FlameSums;
use crate::flame::{Contexts, NodePart};
use crate::flow::summed::FlowSums;
use crate::verdict::ServicesPartial;
use crate::verdict::summed::Version1;
use pathlight_base::encoding;
use pathlight_base::statistics::Moments;
use pathlight_trace::{Endpoint, NO_ROW};
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct Whole<R> {
    settings: SummarySettings,
    traces: u64,
    spans: u64,
    start_us: Option<(u64, u64)>,
    contexts: Contexts<NodePart>,
    frames: Frames1,
    roots: BTreeMap<Endpoint, R>,
}

#[derive(Deserialize)]
struct Root1 {
    failed: u64,
    spans: u64,
    latency: Sketch,
    latency_us: Moments,
    endpoints: SummedEndpoints,
    culprit: Version1,
}

/// What a flag stands before.
#[derive(Deserialize)]
struct Flagged<T> {
    is_missing: bool,
    sums: T,
}

type Root2 = (Root1, Flagged<ErrorSums1>);
type Root3 = (Root2, Flagged<FlowSums>);
type Root4 = (Root3, Flagged<DiagnosisSums>);

/// What there may be of a root endpoint.
struct Root {
    first: Root1,
    errors: Option<ErrorSums>,
    flow: Option<FlowSums>,
    diagnosis: Option<DiagnosisSums>,
}

impl<T> Flagged<T> {
    fn sums(self) -> Option<T> {
        (!self.is_missing).then_some(self.sums)
    }
}

impl From<Root1> for Root {
    fn from(first: Root1) -> Root {
        Root { first, errors: None, flow: None, diagnosis: None }
    }
}

impl From<Root2> for Root {
    fn from((before, errors): Root2) -> Root {
        Root { errors: errors.sums().map(ErrorSums::from), ..before.into() }
    }
}

impl From<Root3> for Root {
    fn from((before, flow): Root3) -> Root {
        Root { flow: flow.sums(), ..before.into() }
    }
}

impl From<Root4> for Root {
    fn from((before, diagnosis): Root4) -> Root {
        Root { diagnosis: diagnosis.sums(), ..before.into() }
    }
}

pub(crate) fn read_1(inside: &[u8]) -> Result<Summary, FileError> {
    summary::<Root1>(encoding::read(inside)?, None)
}

pub(crate) fn read_2(inside: &[u8]) -> Result<Summary, FileError> {
    summary::<Root2>(encoding::read(inside)?, None)
}

pub(crate) fn read_3(inside: &[u8]) -> Result<Summary, FileError> {
    let (whole, facts): (_, Flagged<FactPart>) = encoding::read(inside)?;
    summary::<Root3>(whole, facts.sums().map(NormalRequests::of))
}

pub(crate) fn read_4(inside: &[u8]) -> Result<Summary, FileError> {
    let (whole, normal): (_, Flagged<NormalRequests>) = encoding::read(inside)?;
    summary::<Root4>(whole, normal.sums())
}

/// Returns what all of some root endpoints have.
fn summed<T: Section>(sums: Option<T>) -> Summed<T> {
    sums.map_or(Summed::Lacking(Lack::Before), Summed::Here)
}

fn summary<R: Into<Root>>(whole: Whole<R>, normal: Option<NormalRequests>) -> Result<Summary, FileError> {
    let Whole { settings, traces, spans, start_us, contexts, frames, roots } = whole;
    if !contexts.is_sound() {
        return Err(contradicts(FlameSums::KIND.name));
    }
    let mut bins = latency_bins(&contexts);
    let mut parts = BTreeMap::new();
    let (mut endpoints, mut services): (ByRoot<SummedEndpoints>, ByRoot<ServicesPartial>) =
        Default::default();
    let (mut errors, mut flow, mut diagnosis) = (Vec::new(), Vec::new(), Vec::new());
    for (root, part) in roots {
        let Root { first, errors: of_errors, flow: of_flow, diagnosis: of_diagnosis } = part.into();
        let Root1 { failed, spans, latency, latency_us, .. } = first;
        let bins = bins.remove(&root).unwrap_or_default().into_values().collect();
        parts.insert(root.clone(), RootPart { failed, spans, latency, latency_us, bins });
        endpoints.insert(root.clone(), first.endpoints);
        services.insert(root.clone(), first.culprit.into());
        errors.push(of_errors.map(|sums| (root.clone(), sums)));
        flow.push(of_flow.map(|sums| (root.clone(), sums)));
        diagnosis.push(of_diagnosis.map(|sums| (root, sums)));
    }
    let sections = Sections {
        flame: Summed::Here(FlameSums { contexts, frames: frames.into() }),
        endpoints: Summed::Here(endpoints),
        services: Summed::Here(services),
        errors: summed(errors.into_iter().collect()),
        flow: summed(flow.into_iter().collect()),
        diagnosis: summed(diagnosis.into_iter().collect()),
        anomalies: summed(normal),
    };
    Ok(Summary { settings, traces, spans, start_us, roots: parts, sections, ..Summary::default() })
}

/// Returns latencies by bin, of each root endpoint: every request has its root context once, and self times on its critical
/// path are its latency together.
fn latency_bins(contexts: &Contexts<NodePart>) -> BTreeMap<Endpoint, BTreeMap<u32, LatencyBin>> {
    let mut roots: Vec<u32> = Vec::with_capacity(contexts.nodes.len());
    let mut sums: BTreeMap<u32, BTreeMap<u32, LatencyBin>> = BTreeMap::new();
    for node in &contexts.nodes {
        let is_root = node.parent == NO_ROW;
        let root = if is_root { node.endpoint } else { roots[node.parent as usize] };
        roots.push(root);
        for bin in &node.value.bins {
            let empty = LatencyBin { number: bin.number, ..LatencyBin::default() };
            let into = sums.entry(root).or_default().entry(bin.number).or_insert(empty);
            into.requests = into.requests.saturating_add(if is_root { bin.requests } else { 0 });
            into.us = into.us.saturating_add(bin.us);
        }
    }
    let named = |(root, bins)| (contexts.endpoints[root as usize].clone(), bins);
    sums.into_iter().map(named).collect()
}
