//! Findings that join the others later: where slow requests have the tag they share, what-ifs, requests unlike a baseline.

use crate::EngineError;
use crate::anomalies::AnomalySettings;
use crate::anomalies::query::Anomalies;
use crate::deployments::query::Deployments;
use crate::errors::query::Errors;
use crate::findings::pool_waits::pool_waits;
use crate::findings::query::Findings;
use crate::findings::tags_query::{PairsPass, Tags};
use crate::findings::work_after::work_after;
use crate::findings::{
    FindingTag, FindingsReport, FollowUpTail, FollowUps, LateFindings, LateSubject, LateTail, PairsPart,
    TakesLonger,
};
use crate::flow::paper::FlowSettings;
use crate::flow::query::{FlowEvaluation, Parallelise, mended, model, parallelise, savings, what_if};
use crate::flow::{CallsOf, ChangeOf, Changes, LatencyChange};
use crate::requests::{Filter, RequestType, RootEndpoint, Selection, Until};
use crate::run::Ask;
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::verdict::hit::{hits, usual_requests};
use crate::verdict::query::ServiceChanges;
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};

/// Slow tails of which a what-if is asked.
const WHAT_IFS: usize = 3;

/// Reports what takes longer than [`Findings`]: [`FindingsReport::with`] adds it to them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LateFindingsQuery {
    selection: Selection,
    baseline: Option<Selection>,
    follow_ups: FollowUps,
}

impl LateFindingsQuery {
    /// Asks more about the requests of a report on findings.
    pub fn of(
        selection: Selection,
        baseline: Option<Selection>,
        report: &FindingsReport,
    ) -> LateFindingsQuery {
        LateFindingsQuery { selection, baseline, follow_ups: report.follow_ups() }
    }
}

/// Asks for the findings about some requests, with those that join the others later.
///
/// # Errors
/// Those of whoever is asked.
pub fn ask_findings<A: Ask>(
    of: &mut A,
    selection: Selection,
    baseline: Option<Selection>,
) -> Result<FindingsReport, A::Error> {
    let report = of.ask(Findings { selection: selection.clone(), baseline: baseline.clone() })?;
    let late = of.ask(LateFindingsQuery::of(selection, baseline, &report))?;
    Ok(report.with(&late))
}

impl Query for LateFindingsQuery {
    type Report = LateFindings;

    async fn run(self, workers: Workers) -> Result<LateFindings, EngineError> {
        let LateFindingsQuery { selection, baseline, follow_ups } = self;
        let FollowUps { tails, has_errors, changes, tags: root_tags, subjects } = follow_ups;
        let mut late = LateFindings::default();
        let of_type = |root: &RequestType| {
            let mut selection = selection.clone();
            selection.filters.push(Filter::Type(root.clone()));
            selection
        };
        let mut tags: Vec<FindingTag> =
            tails.iter().filter_map(|tail| Some(tail.tag.as_ref()?.0.clone())).collect();
        tags.compact_sort();
        tags.dedup();
        let groups: Vec<_> = tails.iter().map(|tail| tail.group.clone()).collect();
        let pairs = if tags.is_empty() {
            PairsPart::default()
        } else {
            let requests = workers.requests(&selection).await?;
            let pass = PairsPass { groups, tags: tags.clone() };
            PairsPart::merge(requests.partials(pass).await?)
        };
        let settings = FlowSettings::default();
        // What would be otherwise is known of what is waited for.
        let model = match selection.until {
            Until::Answer => Some(model(&workers, &selection, settings).await?),
            Until::Done => None,
        };
        let mut what_ifs = 0;
        for (number, FollowUpTail { group, tag }) in tails.into_iter().enumerate() {
            let mut tail = LateTail { root: group.root.clone(), tag_at: None, p99_us: None };
            if let Some((tag, slow)) = tag
                && let Some(place) = tags.iter().position(|known| *known == tag)
            {
                tail.place_tag(&pairs, (number as u32, place as u32), slow);
            }
            if let Some(model) = &model
                && what_ifs < WHAT_IFS
                && let Some(call) = group.with
            {
                what_ifs += 1;
                let gone = LatencyChange {
                    service: call.service,
                    operation: call.operation,
                    of: ChangeOf::WholeCall,
                    share_ppm: -1_000_000,
                    add_us: 0,
                };
                let changes = Changes { latencies: vec![gone], ..Changes::default() };
                let requests = of_type(&group.root);
                let found = what_if(&workers, &requests, model.clone(), changes, CallsOf::Nobody);
                let report = found.await?.finish();
                tail.p99_us = Some((report.before_us.p99, report.after_us.p99));
            }
            late.tails.push(tail);
        }
        if let Some(model) = model {
            if has_errors {
                let errors = Errors { selection: selection.clone() };
                late.take_errors(&errors.run(workers.clone()).await?);
            }
            if !subjects.is_empty() {
                let found = hits(&workers, &selection, baseline.as_ref(), &subjects).await?;
                let usual = usual_requests(&selection, baseline.as_ref());
                let mended = mended(&workers, &selection, &usual, &subjects, model.clone()).await?;
                let found = subjects.into_iter().zip(found).zip(mended);
                late.subjects =
                    found.map(|((subject, hit), mended)| LateSubject { subject, hit, mended }).collect();
            }
            late.take_savings(&savings(&workers, &selection, model.clone()).await?);
            let report = parallelise(&workers, &selection, settings, model).await?;
            let before = match &baseline {
                Some(baseline) if !report.groups.is_empty() => {
                    let serial = Parallelise { selection: baseline.clone(), settings };
                    Some(serial.run(workers.clone()).await?)
                }
                _ => None,
            };
            late.take_serial(&report, before.as_ref());
        }
        for caller in late.serial_callers() {
            let selection =
                Selection { root: RootEndpoint::Endpoint(caller.clone()), ..selection.of_all_requests() };
            let query = FlowEvaluation { selection, settings, min_children: 0 };
            late.take_model_error(caller, &query.run(workers.clone()).await?);
        }
        for (root, from_us) in changes {
            let (mut a, mut b) = (of_type(&root), of_type(&root));
            a.filters.push(Filter::Time { from_us: 0, to_us: from_us });
            b.filters.push(Filter::Time { from_us, to_us: u64::MAX });
            let longer = takes_longer(&workers, a, b).await?;
            late.since.extend(longer.map(|longer| (root, longer)));
        }
        for (root, tag) in root_tags {
            let (mut a, mut b) = (of_type(&root), of_type(&root));
            a.filters.push(Filter::without_tag(&tag.key, &tag.value));
            b.filters.push(Filter::Tag { key: tag.key.clone(), value: tag.value.clone() });
            let longer = takes_longer(&workers, a, b).await?;
            late.with_tag.extend(longer.map(|longer| (root.clone(), tag.clone(), longer)));
            let tags = Tags { selection: of_type(&root).at_any_latency() };
            late.take_pair(root, tag, &tags.run(workers.clone()).await?);
        }
        let deployments = Deployments { selection: selection.clone(), key: None };
        late.take_deployments(&deployments.run(workers.clone()).await?);
        late.pool_waits = pool_waits(&workers, &selection).await?;
        if selection.until == Until::Answer {
            late.after = work_after(&workers, &selection).await?;
        }
        if let Some(train) = baseline {
            let anomalies = Anomalies { train, test: selection, settings: AnomalySettings::default() };
            late.take_abnormal(&anomalies.run(workers).await?);
        }
        Ok(late)
    }
}

/// Returns the part of a service that explains that the requests of `b` are slower than those of `a`; `None` if none does.
async fn takes_longer(
    workers: &Workers,
    a: Selection,
    b: Selection,
) -> Result<Option<TakesLonger>, EngineError> {
    let report = ServiceChanges { a, b }.run(workers.clone()).await?;
    let lead = report.culprit().and_then(|service| Some((service, service.lead.as_ref()?)));
    Ok(lead.map(|(service, lead)| TakesLonger {
        service: service.service.clone(),
        part: lead.part,
        other: lead.only_callee.clone().or_else(|| lead.only_caller.clone()),
        excess_us: lead.excess.excess_us,
    }))
}
