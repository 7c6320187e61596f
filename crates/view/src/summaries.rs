//! What a summary says about the requests of one root endpoint, or of all.

use pathlight_analysis::critical_path::RequestRef;
use pathlight_analysis::requests::PercentileRange;
use pathlight_model::ordered::OrderedMap;
use pathlight_model::sort::Arrange;
use pathlight_model::trace::{Endpoint, NO_ROW};
use pathlight_summary::{Band, BandCut, EndpointPart, NodePart, RELATIVE_ERROR, RootPart, Summary};

/// The requests of a summary that somebody looks at.
pub struct Selected<'a> {
    /// Their root endpoint; `None` for all.
    pub root: Option<&'a Endpoint>,
    /// What is summed of them, whatever their latency.
    pub part: RootPart,
    /// The bands of latency that come nearest to the percentile range asked for.
    pub cut: BandCut,
    /// Requests in these bands.
    pub requests: u64,
    /// Calling contexts of the requests in these bands, in pre-order, siblings by name.
    pub nodes: Vec<Node<'a>>,
}

/// A calling context.
pub struct Node<'a> {
    /// Place of the parent in the list.
    pub parent: Option<usize>,
    /// How many contexts are above it.
    pub depth: u32,
    /// Its endpoint.
    pub endpoint: &'a Endpoint,
    /// Requests of the bands that have it.
    pub requests: u64,
    /// Sum of its self time on their critical paths, in microseconds.
    pub self_us: u64,
    /// The same with all below it.
    pub total_us: u64,
    /// What is summed of it over requests of any latency.
    pub part: &'a NodePart,
    /// Sum of its self time over these, in microseconds.
    pub exclusive_all_us: u64,
    /// The request in which it and all below it took longest.
    pub exemplar: Option<&'a RequestRef>,
}

/// An endpoint on critical paths, over requests of any latency.
pub struct EndpointRow<'a> {
    /// Its names.
    pub endpoint: &'a Endpoint,
    /// Mean self time per request, in microseconds.
    pub mean_us: f64,
    /// Its part of the latency, 0 to 1.
    pub share: f64,
    /// 50th, 95th and 99th percentile of its self time, over the requests that have it.
    pub percentiles: [f64; 3],
    /// What is summed of it.
    pub part: &'a EndpointPart,
}

impl<'a> Selected<'a> {
    /// The requests of a root endpoint in a percentile range; `None` if the summary has none of that endpoint.
    pub fn of(
        summary: &'a Summary,
        root: Option<&'a Endpoint>,
        range: PercentileRange,
    ) -> Option<Selected<'a>> {
        let part = summary.root(root)?;
        let contexts = &summary.contexts;
        let endpoint = |node: usize| &contexts.endpoints[contexts.nodes[node].endpoint as usize];
        let is_root = |node: usize| {
            contexts.nodes[node].parent == NO_ROW && root.is_none_or(|root| endpoint(node) == root)
        };
        // Every request has its root context once, so its bands are those of the requests.
        let mut counts: OrderedMap<u32, Band> = OrderedMap::new();
        for band in
            (0..contexts.nodes.len()).filter(|&n| is_root(n)).flat_map(|n| &contexts.nodes[n].value.bands)
        {
            counts.entry(band.number).or_insert(Band { number: band.number, ..Band::default() }).requests +=
                band.requests;
        }
        let bands: Vec<Band> = counts.into_values().collect();
        let cut = BandCut::of(&bands, range);
        let requests = cut.sum(&bands).0;
        let exemplars = summary.exemplars();
        let mut place_of: Vec<Option<usize>> = vec![None; contexts.nodes.len()];
        let mut nodes: Vec<Node> = Vec::new();
        for (number, context) in contexts.nodes.iter().enumerate() {
            let parent = if context.parent == NO_ROW { None } else { place_of[context.parent as usize] };
            let (in_bands, self_us) = cut.sum(&context.value.bands);
            // A request has with a context all those above it.
            if (parent.is_some() || is_root(number)) && in_bands > 0 {
                place_of[number] = Some(nodes.len());
                let depth = parent.map_or(0, |parent| nodes[parent].depth + 1);
                let endpoint = endpoint(number);
                let part = &context.value;
                nodes.push(Node {
                    parent,
                    depth,
                    endpoint,
                    requests: in_bands,
                    self_us,
                    total_us: self_us,
                    part,
                    exclusive_all_us: part.bands.iter().fold(0, |sum: u64, band| sum.saturating_add(band.us)),
                    exemplar: exemplars.get(number).copied().flatten(),
                });
            }
        }
        for number in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[number].parent {
                nodes[parent].total_us = nodes[parent].total_us.saturating_add(nodes[number].total_us);
            }
        }
        Some(Selected { root, part, cut, requests, nodes })
    }

    /// Endpoints, the one with the most self time first (ties: by name).
    pub fn endpoints(&self) -> Vec<EndpointRow<'_>> {
        let requests = self.part.requests();
        let row = |(endpoint, part)| EndpointRow::of(endpoint, part, requests, self.part.latency_us.sum);
        let mut rows: Vec<EndpointRow> = self.part.endpoints.iter().map(row).collect();
        rows.arrange_by(|a, b| {
            b.part.self_us.sum.cmp(&a.part.self_us.sum).then_with(|| a.endpoint.cmp(b.endpoint))
        });
        rows
    }

    /// What stands behind percentiles that are not exact; empty if they are.
    pub fn error_words(&self) -> String {
        if self.part.latency.error() == 0.0 {
            return String::new();
        }
        format!(" (percentiles within {:.1} %)", 100.0 * RELATIVE_ERROR)
    }

    /// Says which percentile range the calling contexts are of; `None` if of all requests.
    pub fn cut_words(&self) -> Option<String> {
        let range = self.cut.range();
        let percent = |ppm: u32| f64::from(ppm) / 1000.0;
        (!range.is_all()).then(|| {
            format!(
                "calling contexts below: P{}-{}, {} requests (bands of latency end there)",
                percent(range.lo),
                percent(range.hi),
                self.requests
            )
        })
    }
}

impl<'a> EndpointRow<'a> {
    fn of(
        endpoint: &'a Endpoint,
        part: &'a EndpointPart,
        requests: u64,
        latency_sum_us: u64,
    ) -> EndpointRow<'a> {
        EndpointRow {
            endpoint,
            mean_us: part.self_us.mean(requests),
            share: if latency_sum_us == 0 { 0.0 } else { part.self_us.sum as f64 / latency_sum_us as f64 },
            percentiles: part.self_time.quantiles([0.50, 0.95, 0.99]),
            part,
        }
    }
}
