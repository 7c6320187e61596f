//! A summary as a file: a line that says what it is, then gzip (whose checksum guards it) of the parts by [`encoding`].

use super::latency_bin::LatencyBin;
use super::packed::{FileError, VERSION, unzip, zip};
use super::part::{EndpointPart, NodePart, RootPart, Summary};
use super::sketch::MOST;
use pathlight_model::encoding::{self, Damaged};

/// What every summary file begins with; the version and a line break follow.
const MAGIC: &[u8] = b"pathlight-summary ";

/// Returns whether a file is a summary, by its first bytes; whatever its version.
pub fn is_summary(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// Returns a summary as a file. Equal summaries give equal bytes.
///
/// # Errors
/// [`FileError::Damaged`] only if it cannot be packed, which no summary has shown yet.
pub fn write(summary: &Summary) -> Result<Vec<u8>, FileError> {
    let Summary { settings, traces, spans, start_us, contexts, frames, roots, normal } = summary;
    let normal = normal.packed()?;
    let inside = (settings, traces, spans, start_us, contexts, frames, roots, normal);
    Ok([MAGIC, format!("{VERSION}\n").as_bytes(), &zip(&encoding::write(&inside))?].concat())
}

/// Reads a file that [`write()`] has made.
///
/// # Errors
/// [`FileError`] if it is anything else.
pub fn read(bytes: &[u8]) -> Result<Summary, FileError> {
    let rest = bytes.strip_prefix(MAGIC).ok_or(FileError::NoSummary)?;
    let line = rest.iter().take(12).position(|&byte| byte == b'\n').ok_or(FileError::NoSummary)?;
    let version = String::from_utf8_lossy(&rest[..line]);
    let from_bytes: fn(&[u8]) -> Result<Summary, Damaged> = match version.parse() {
        Ok(VERSION) => |inside| encoding::read(inside),
        Ok(3) => |inside| encoding::read::<before::Summary3>(inside).map(Summary::from),
        Ok(2) => |inside| encoding::read::<before::Summary<before::Root2>>(inside).map(Summary::from),
        Ok(1) => |inside| encoding::read::<before::Summary<before::Root1>>(inside).map(Summary::from),
        _ => return Err(FileError::Version(version.into_owned())),
    };
    let inside = unzip(&rest[line + 1..])?;
    let summary = from_bytes(&inside).map_err(|error| FileError::Damaged(error.to_string()))?;
    if summary.is_sound() {
        Ok(summary)
    } else {
        Err(FileError::Damaged("its numbers contradict each other".to_owned()))
    }
}

impl Summary {
    /// Returns whether what it holds can be merged and asked: somebody may have made the file by hand.
    fn is_sound(&self) -> bool {
        let last_bin = LatencyBin::of_latency(u64::MAX);
        let is_node_sound = |node: &NodePart| {
            node.exclusive.is_sound()
                && node.inclusive.is_sound()
                && node.bins.is_sorted_by(|a, b| a.number < b.number)
                && node.bins.iter().all(|bin| bin.number <= last_bin && bin.requests <= MOST)
                && node.spans.max(node.errors) <= MOST
        };
        let is_endpoint_sound =
            |part: &EndpointPart| part.self_time.is_sound() && part.spans.max(part.errors) <= MOST;
        let is_root_sound = |root: &RootPart| {
            root.latency.is_sound()
                && root.errors.without.is_sound()
                && root.errors.part.is_sound(MOST)
                && root.spans.max(root.failed) <= MOST
                && root.endpoints.values().all(is_endpoint_sound)
                && root.flows.is_sound()
                && root.diagnosis.is_sound()
        };
        self.traces.max(self.spans) <= MOST
            && self.contexts.is_sound()
            && self.frames.is_sound()
            && self.frames.examples().len() == self.contexts.nodes.len()
            && self.contexts.nodes.iter().all(|node| is_node_sound(&node.value))
            && self.roots.values().all(is_root_sound)
            && self.normal.is_sound()
    }
}

/// Files of versions before: 1 did not sum errors, 1 and 2 neither flows nor what normal requests are like, and none of
/// them what a diagnosis needs.
mod before {
    use crate::diagnosis::DiagnosisSums;
    use crate::flow::FlowSums;
    use crate::normal::Normal;
    use crate::part::{EndpointPart, ErrorSums, NodePart, RootPart, Settings};
    use crate::sketch::Sketch;
    use pathlight_analysis::anomaly::call_tree::FactPart;
    use pathlight_analysis::critical_path::{Contexts, DiffPart};
    use pathlight_analysis::culprit::CulpritPart;
    use pathlight_model::stats::Moments;
    use pathlight_model::trace::Endpoint;
    use serde::Deserialize;
    use std::collections::BTreeMap;

    #[derive(Deserialize)]
    pub struct Summary<R> {
        settings: Settings,
        traces: u64,
        spans: u64,
        start_us: Option<(u64, u64)>,
        contexts: Contexts<NodePart>,
        frames: DiffPart,
        roots: BTreeMap<Endpoint, R>,
    }

    #[derive(Deserialize)]
    pub struct Summary3 {
        first: Summary<Root3>,
        is_missing: bool,
        facts: FactPart,
    }

    #[derive(Deserialize)]
    pub struct Root1 {
        failed: u64,
        spans: u64,
        latency: Sketch,
        latency_us: Moments,
        endpoints: BTreeMap<Endpoint, EndpointPart>,
        culprit: CulpritPart,
    }

    #[derive(Deserialize)]
    pub struct Root2 {
        first: Root1,
        errors: ErrorSums,
    }

    #[derive(Deserialize)]
    pub struct Root3 {
        first: Root2,
        flows: FlowSums,
    }

    impl<R: Into<RootPart>> From<Summary<R>> for crate::Summary {
        fn from(of: Summary<R>) -> crate::Summary {
            let Summary { settings, traces, spans, start_us, contexts, frames, roots } = of;
            let roots = roots.into_iter().map(|(root, part)| (root, part.into()));
            let (roots, normal) = (roots.collect(), Normal::missing());
            crate::Summary { settings, traces, spans, start_us, contexts, frames, roots, normal }
        }
    }

    impl From<Summary3> for crate::Summary {
        fn from(Summary3 { first, is_missing, facts }: Summary3) -> crate::Summary {
            crate::Summary { normal: Normal::of(is_missing, facts), ..first.into() }
        }
    }

    impl From<Root1> for RootPart {
        fn from(first: Root1) -> RootPart {
            let errors = ErrorSums { is_missing: true, ..ErrorSums::default() };
            Root2 { first, errors }.into()
        }
    }

    impl From<Root2> for RootPart {
        fn from(first: Root2) -> RootPart {
            Root3 { first, flows: FlowSums::missing() }.into()
        }
    }

    impl From<Root3> for RootPart {
        fn from(Root3 { first: Root2 { first, errors }, flows }: Root3) -> RootPart {
            let Root1 { failed, spans, latency, latency_us, endpoints, culprit } = first;
            let diagnosis = DiagnosisSums::missing();
            RootPart { failed, spans, latency, latency_us, endpoints, culprit, errors, flows, diagnosis }
        }
    }
}
