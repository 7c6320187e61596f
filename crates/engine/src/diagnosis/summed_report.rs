//! The diagnosis of a summary: endpoints, request types and parts of spans, without the groups of traces that show them
//! (`docs/definitions/summary.md` section 9).

use super::summed::{DiagnosisSums, EndpointSums};
use crate::diagnosis::{
    DiagnosedEndpoint, DiagnosedSpan, DiagnosedType, DiagnosisReport, DiagnosisSettings, EndpointTimes,
    GroupingLayer, OfSummary, PlaceChange, PlacesReport, SplitStatistic, TailVerdict, TimeStatistics, Top,
    Total, TraceGroup, TypeLeftOut, TypePlaces,
};
use crate::requests::PercentileRange;
use crate::summaries::{Choice, Lacks, LatencyBin, LatencyBinRange, Summary};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::Moments;
use pathlight_trace::{Endpoint, NO_ROW};
use std::collections::BTreeMap;
use std::ops::Range;

/// Request types with fewer traces are not split.
const LEAST: u64 = 10;

/// The sums of an endpoint in request types, with the number of the type.
type RowsOfTypes<'a> = Vec<(usize, &'a EndpointSums)>;

/// The requests of one root endpoint.
struct Kind<'a> {
    root: &'a Endpoint,
    sums: &'a DiagnosisSums,
    traces: u64,
    /// Latency bins of the tail, and how many requests lie below; `None` if there are too few to split, or all in one
    /// bin.
    tail: Option<(Range<u32>, u64)>,
}

/// Adds how often and how long.
fn add(total: &mut Total, bin: &LatencyBin) {
    total.add(bin.requests, bin.us);
}

fn total_of<'a>(bins: impl IntoIterator<Item = &'a LatencyBin>) -> Total {
    let mut out = Total::default();
    bins.into_iter().for_each(|bin| add(&mut out, bin));
    out
}

impl<'a> Kind<'a> {
    fn of(root: &'a Endpoint, sums: &'a DiagnosisSums, settings: &DiagnosisSettings) -> Kind<'a> {
        let bins = sums.requests.list();
        let traces = bins.iter().map(|bin| bin.requests).sum();
        let slowest = PercentileRange::open(100 * settings.tail_permille.min(1000), 100_000);
        let cut = LatencyBinRange::of(&bins, slowest);
        let is_split = traces >= LEAST && cut.ranks.start > 0;
        Kind { root, sums, traces, tail: is_split.then_some((cut.bins, cut.ranks.start)) }
    }

    /// Returns the number of normal requests and that of the tail; all are normal where there is no tail.
    fn halves(&self, bins: &[LatencyBin]) -> [Total; 2] {
        let mut out = [Total::default(); 2];
        for bin in bins {
            let is_tail = self.tail.as_ref().is_some_and(|(tail, _)| tail.contains(&bin.number));
            add(&mut out[usize::from(is_tail)], bin);
        }
        out
    }

    fn name(&self, number: u32) -> Option<Endpoint> {
        self.sums.endpoints.get(number.checked_sub(1)? as usize).cloned()
    }

    fn row(&self, row: &EndpointSums, settings: &DiagnosisSettings) -> DiagnosedType {
        let own = row.own.list();
        let (total, [normal, tail]) = (total_of(&own), self.halves(&own));
        let (verdict, tail_ratio) = match self.tail {
            None => (TailVerdict::Unsplit, None),
            Some(_) => TailVerdict::of(normal, tail),
        };
        let mut parts: BTreeMap<(u32, u32), Total> = BTreeMap::new();
        for (place, bins) in row.parts() {
            let of = match verdict.is_of_tail() {
                true => self.halves(&bins)[1],
                false => total_of(&bins),
            };
            // The ends of a span stand behind all names, as in a diagnosis of traces.
            let key = |end: u32| end.checked_sub(1).unwrap_or(NO_ROW);
            if of.count > 0 {
                parts.entry((key(place.previous), key(place.next))).or_default().add(of.count, of.sum);
            }
        }
        let (spans_in_all, spans) = Top::of(parts, settings.top[2]);
        let spans = spans.into_iter().map(|((previous, next), total)| DiagnosedSpan {
            name: self.sums.endpoints[row.endpoint as usize].operation.clone(),
            metric: "subspan".to_owned(),
            is_over_shapes: true,
            previous: self.name(previous.wrapping_add(1)),
            next: self.name(next.wrapping_add(1)),
            subspan: None,
            children: None,
            count: total.count,
            mean_us: total.mean(),
            total_us: total.sum,
            groups_in_all: 0,
            groups: Vec::new(),
        });
        DiagnosedType {
            service: self.root.service.clone(),
            operation: self.root.operation.clone(),
            traces: self.traces,
            affected: row.requests,
            count: total.count,
            own_us: total.mean(),
            total_us: total.sum,
            tail_ratio,
            verdict,
            spans_in_all,
            spans: spans.collect(),
        }
    }

    /// Returns what the tail spends more time on.
    fn places(&self, normal_traces: u64) -> TypePlaces {
        let tail_traces = self.traces - normal_traces;
        let names = &self.sums.endpoints;
        let first = |service: &str| names.partition_point(|name| name.service.as_str() < service) as u32;
        // By endpoint, whether it is a gap, and what stands before and after; of a gap the first endpoint of the caller.
        let mut sums: BTreeMap<(u32, bool, u32, u32), [Total; 2]> = BTreeMap::new();
        for row in &self.sums.rows {
            for (place, bins) in row.parts() {
                let key = |end: u32| end.checked_sub(1).unwrap_or(NO_ROW);
                let child = place.previous.max(place.next).saturating_sub(1);
                let key = match place.is_gap {
                    true => (child, true, first(&names[row.endpoint as usize].service), NO_ROW),
                    false => (row.endpoint, false, key(place.previous), key(place.next)),
                };
                let halves = self.halves(&bins);
                for (sum, half) in sums.entry(key).or_default().iter_mut().zip(halves) {
                    sum.add(half.count, half.sum);
                }
            }
        }
        let place = |((endpoint, is_gap, previous, next), [normal, tail]): (_, [Total; 2])| {
            let Endpoint { service: own, operation } = names[endpoint as usize].clone();
            let mean = |total: Total, traces: u64| total.sum as f64 / traces.max(1) as f64;
            let (a_us, b_us) = (mean(normal, normal_traces), mean(tail, tail_traces));
            let name = |number: u32| names.get(number as usize).cloned();
            let caller = name(previous).filter(|_| is_gap).map(|caller| caller.service);
            PlaceChange {
                service: caller.unwrap_or_else(|| own.clone()),
                operation,
                subspan: None,
                previous: name(previous).filter(|_| !is_gap),
                next: name(next),
                gap_to: is_gap.then_some(own),
                a_us,
                b_us,
                change_us: b_us - a_us,
                interval: None,
            }
        };
        let mut places: Vec<PlaceChange> = sums.into_iter().map(place).collect();
        // Stable: equal changes stay by name.
        places.compact_sort_by(|x, y| y.change_us.total_cmp(&x.change_us));
        let Endpoint { service, operation } = self.root.clone();
        let places_in_all = places.len() as u64;
        TypePlaces {
            service,
            operation,
            a_traces: normal_traces,
            b_traces: tail_traces,
            places_in_all,
            places,
        }
    }

    fn layer(&self) -> TraceGroup {
        let endpoints = self.sums.rows.iter().map(|row| {
            let count = total_of(&row.own.list()).count;
            times(&self.sums.endpoints[row.endpoint as usize], count, [row.duration_us, row.self_us])
        });
        TraceGroup {
            root: Some(self.root.clone()),
            traces: self.traces,
            normal: self.tail.as_ref().map(|(_, normal)| *normal),
            root_us: of_all(self.sums.latency_us, self.traces),
            endpoints: endpoints.collect(),
            positions_in_all: 0,
            positions: Vec::new(),
        }
    }
}

fn of_all(moments: Moments, count: u64) -> SplitStatistic {
    SplitStatistic { all: TimeStatistics::of_sums(moments, count), ..SplitStatistic::default() }
}

fn times(name: &Endpoint, count: u64, [duration_us, self_us]: [Moments; 2]) -> EndpointTimes {
    EndpointTimes {
        service: name.service.clone(),
        operation: name.operation.clone(),
        duration_us: of_all(duration_us, count),
        self_us: of_all(self_us, count),
        own_us: None,
    }
}

impl Summary {
    /// Returns the diagnosis of the requests of a root endpoint, or of all, of any latency.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn diagnosis(&self, choice: &Choice, settings: &DiagnosisSettings) -> Result<DiagnosisReport, Lacks> {
        let roots = self.of_root(&self.sections.diagnosis, choice.root.as_ref())?.iter();
        let roots = roots.filter(|(name, _)| choice.root.as_ref().is_none_or(|root| root == *name));
        let kinds: Vec<Kind> = roots.map(|(root, sums)| Kind::of(root, sums, settings)).collect();
        let sum = |of: fn(&DiagnosisSums) -> u64| kinds.iter().map(|kind| of(kind.sums)).sum();
        // By endpoint its rows in each request type, and its spans in all of them.
        let mut endpoints: BTreeMap<&Endpoint, (Total, [Moments; 2], RowsOfTypes<'_>)> = BTreeMap::new();
        for (number, kind) in kinds.iter().enumerate() {
            for row in &kind.sums.rows {
                let (total, [duration_us, self_us], rows) =
                    endpoints.entry(&kind.sums.endpoints[row.endpoint as usize]).or_default();
                row.own.list().iter().for_each(|bin| add(total, bin));
                duration_us.merge(row.duration_us);
                self_us.merge(row.self_us);
                rows.push((number, row));
            }
        }
        let mut latency_us = Moments::default();
        kinds.iter().for_each(|kind| latency_us.merge(kind.sums.latency_us));
        let traces: u64 = kinds.iter().map(|kind| kind.traces).sum();
        let first = TraceGroup {
            traces,
            root_us: of_all(latency_us, traces),
            endpoints: endpoints
                .iter()
                .map(|(name, (total, sums, _))| times(name, total.count, *sums))
                .collect(),
            ..TraceGroup::default()
        };
        let totals = endpoints.iter().map(|(name, (total, ..))| (*name, *total));
        let (endpoints_in_all, report) = Top::of(totals, settings.top[0]);
        let report = report.into_iter().map(|(name, total)| {
            let rows = &endpoints[&name].2;
            let own = rows.iter().map(|of| (of, total_of(&of.1.own.list())));
            let (types_in_all, types) = Top::of(own, settings.top[1]);
            DiagnosedEndpoint {
                service: name.service.clone(),
                operation: name.operation.clone(),
                count: total.count,
                own_us: total.mean(),
                total_us: total.sum,
                types_in_all,
                types: types.into_iter().map(|(&(kind, row), _)| kinds[kind].row(row, settings)).collect(),
            }
        });
        let report = report.collect();
        let second: Vec<TraceGroup> = kinds.iter().filter(|kind| kind.traces > 0).map(Kind::layer).collect();
        let left_out = kinds.iter().filter(|kind| kind.tail.is_none() && kind.traces > 0);
        let left_out = left_out.map(|kind| TypeLeftOut {
            service: kind.root.service.clone(),
            operation: kind.root.operation.clone(),
            a_traces: kind.traces,
            b_traces: 0,
        });
        let split = kinds.iter().filter_map(|kind| Some(kind.places(kind.tail.as_ref()?.1)));
        Ok(DiagnosisReport {
            traces,
            has_orphans: sum(|of| of.orphans),
            layers: [vec![first], second]
                .into_iter()
                .zip(1..)
                .map(|(groups, layer)| GroupingLayer { layer, groups_in_all: groups.len() as u64, groups })
                .collect(),
            endpoints_in_all,
            report,
            tail: PlacesReport::new(split.collect(), left_out.collect()),
            summary: Some(OfSummary {
                too_wide: sum(|of| of.rows.iter().filter(|row| row.is_too_wide).count() as u64),
                has_roots: sum(|of| of.several_roots),
            }),
        })
    }
}
