//! The questions, and how each is answered: queries, and the public JSON of their reports.

use crate::options::{self, RequestOptions, Which, options};
use crate::sets::LoadedSet;
use crate::trouble::{Trouble, TroubleKind};
use pathlight_engine::anomalies::AnomalySettings;
use pathlight_engine::compare::{Basis, MeasuredTime, ranges};
use pathlight_engine::diagnosis::DiagnosisSettings;
use pathlight_engine::endpoints::{RowStat, RowTime};
use pathlight_engine::findings::ask_findings;
use pathlight_engine::flow::paper::FlowSettings;
use pathlight_engine::flow::{ChangeOf, Changes, FlowParent, MIN_CHILDREN, Quantile, back_test};
use pathlight_engine::heatmap::ColumnOrder;
use pathlight_engine::queries;
use pathlight_engine::queries::Query;
use pathlight_engine::requests::{GroupBy, RootEndpoint, Selection};
use pathlight_engine::run::{Ask, Together};
use pathlight_engine::split::SplitOf;
use pathlight_trace::PathSettings;
use pathlight_view::asked::{not_empty, range};
use pathlight_view::flow::capacity::{self, Capacities};
use pathlight_view::flow::written::{self, WhatIfChange};
use pathlight_view::json;
use serde::Deserialize;
use std::rc::Rc;

/// Columns of a heat map unless the options say otherwise, as the binary has them.
const COLUMNS: u32 = 10_000;
/// Assumed speedup of an endpoint in percent, as the binary has it.
const FASTER: f64 = 10.0;

/// What a question does with a second set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// It has none.
    None,
    /// It compares with it, if there is one: the option `baseline`.
    Baseline,
    /// It is about both: the first argument.
    Argument,
}

/// A question that a set answers.
pub struct Question {
    /// Name of the method.
    pub name: &'static str,
    /// What it says, a sentence.
    pub about: &'static str,
    /// The second set.
    pub other: Other,
    run: fn(&mut Asked, &str) -> Result<String, Trouble>,
}

/// Every question, in the order of the commands.
pub const QUESTIONS: &[Question] = &[
    Question {
        name: "findings",
        about: "Says what is slow, where, why and for whom.",
        other: Other::Baseline,
        run: findings,
    },
    Question {
        name: "summary",
        about: "Lists endpoints by percentiles of their time, with call chains.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            let report = asked.ask(queries::Endpoints { selection: selection.clone() })?;
            let at = asked.ask(queries::AtLatencies { selection })?;
            Ok(json::summary(&report, &at)?)
        },
    },
    Question {
        name: "criticalPath",
        about: "Sums the critical paths of all requests, by calling context.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            Ok(json::critical_path(&asked.ask(queries::CriticalPath { selection })?)?)
        },
    },
    Question {
        name: "perRequest",
        about: "Gives the critical path of every single request.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            Ok(json::per_request(&asked.ask(queries::PerRequest { selection })?)?)
        },
    },
    Question {
        name: "compare",
        about: "Compares this set (side B) with another (side A: before, or normal), or without one its slowest requests with the faster half: which services explain the difference, and what each frame takes.",
        other: Other::Argument,
        run: |asked, text| {
            let options: CompareOptions = options::read(text)?;
            let report = asked.compared(&options)?;
            Ok(json::compare(&report, options.basis(), options.measure())?)
        },
    },
    Question {
        name: "heatmap",
        about: "Shows where each request spends its time: endpoints against requests.",
        other: Other::None,
        run: |asked, text| {
            let options: HeatmapOptions = options::read(text)?;
            let report = asked.heatmap(&options, COLUMNS)?;
            Ok(json::heatmap(&report, RowTime::default(), RowStat::default())?)
        },
    },
    Question {
        name: "endpoints",
        about: "Ranks interior endpoints by what they cost all root endpoints together.",
        other: Other::None,
        run: |asked, text| {
            let options: EndpointsOptions = options::read(text)?;
            let selection = asked.selected(options.requests())?;
            let faster = options.faster.unwrap_or(FASTER);
            if !(0.0..=100.0).contains(&faster) {
                return Err(Trouble::option("faster is a number from 0 to 100"));
            }
            let sizes = (!selection.by_service).then(|| queries::Histograms { selection: selection.clone() });
            let mut report = asked.ask(queries::Impact { selection })?;
            if let Some(sizes) = sizes {
                report.count_calls(&asked.ask(sizes)?);
            }
            Ok(json::endpoints(&report, faster)?)
        },
    },
    Question {
        name: "histograms",
        about: "Shows how large, deep and parallel requests are.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            Ok(json::histograms(&asked.ask(queries::Histograms { selection })?)?)
        },
    },
    Question {
        name: "split",
        about: "Splits latency by the values of a tag; see proposals for tags.",
        other: Other::None,
        run: |asked, text| {
            let options: SplitOptions = options::read(text)?;
            let Some(key) = options.tag.clone() else {
                return Err(Trouble::option("split needs the option tag, the key of a tag"));
            };
            let selection = asked.selected(options.requests())?;
            let query = queries::Split { selection, of: SplitOf::Latency, key, sum: None };
            Ok(json::split(&asked.ask(query)?)?)
        },
    },
    Question {
        name: "proposals",
        about: "Lists the tags whose values tell fast requests from slow ones.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            Ok(json::proposals(&asked.ask(queries::Proposals { selection, of: SplitOf::Latency })?)?)
        },
    },
    Question {
        name: "deployments",
        about: "Finds versions, zones, hosts and other places that are slower than the others in the same minutes.",
        other: Other::None,
        run: |asked, text| {
            let options: DeploymentsOptions = options::read(text)?;
            let (selection, key) = (asked.selected(options.requests())?, options.key);
            Ok(json::deployments(&asked.ask(queries::Deployments { selection, key })?)?)
        },
    },
    Question {
        name: "instrument",
        about: "Says where one more span would tell most about what requests wait for, with code for it.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            Ok(json::instrument(&asked.ask(queries::Instrument { selection })?)?)
        },
    },
    Question {
        name: "serviceMap",
        about: "Shows which service calls which, how long requests wait for it, and what fails; with a baseline also what changed.",
        other: Other::Baseline,
        run: |asked, text| {
            let options: RequestOptions = options::read(text)?;
            let (selection, baseline) = asked.with_baseline(options.requests())?;
            Ok(json::service_map(&asked.ask(queries::ServiceMap { selection, baseline })?)?)
        },
    },
    Question {
        name: "savings",
        about: "Ranks what every endpoint would save if its own work were 10 %, 50 %, 100 % faster.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            let settings = FlowSettings::default();
            let test = back_test(&mut asked.sets, &selection, settings, MIN_CHILDREN)?;
            Ok(json::savings(&asked.ask(queries::Savings { selection, settings })?, Some(&test))?)
        },
    },
    Question {
        name: "capacity",
        about: "Says how much earlier requests would end without the own work of each service, and how much longer that may take; with a table of utilisation also where to add capacity and where to take it.",
        other: Other::None,
        run: |asked, text| {
            let options: CapacityOptions = options::read(text)?;
            let table = options.utilisation.as_deref().map(capacity::read).transpose();
            let table = table.map_err(|why| Trouble::option(why.to_string()))?;
            let selection = asked.selected(options.requests())?;
            let settings = FlowSettings::default();
            let test = back_test(&mut asked.sets, &selection, settings, MIN_CHILDREN)?;
            let report = asked.ask(queries::Capacity { selection: selection.clone(), settings })?;
            let capacities = Capacities::new(&Rc::new(report), table.as_ref());
            let what_if = |changes| queries::WhatIf { selection, baseline: None, settings, changes };
            let after = capacities.changes().map(|changes| asked.ask(what_if(changes))).transpose()?;
            Ok(json::flow_capacity(&capacities, after.as_ref(), Some(&test))?)
        },
    },
    Question {
        name: "whatIf",
        about: "Says what the latency would be after changes, such as `in:cart=-50%`.",
        other: Other::Baseline,
        run: what_if,
    },
    Question {
        name: "target",
        about: "Says what would have to be how much faster so that a percentile comes down to a time, such as `p99=300ms`.",
        other: Other::Baseline,
        run: |asked, text| {
            let options: TargetOptions = options::read(text)?;
            let (quantile, target_us) = target("target", options.target.as_deref())?;
            let (selection, baseline) = asked.with_baseline(options.requests())?;
            let settings = FlowSettings::default();
            let test = back_test(&mut asked.sets, &selection, settings, MIN_CHILDREN)?;
            let query = queries::Target { selection, baseline, settings, quantile, target_us };
            Ok(json::flow_target(&asked.ask(query)?, Some(&test))?)
        },
    },
    Question {
        name: "cheapest",
        about: "Says which of some changes with prices bring a percentile down to a time for the least.",
        other: Other::Baseline,
        run: |asked, text| {
            let options: CheapestOptions = options::read(text)?;
            let (quantile, target_us) = target("cheapest", options.target.as_deref())?;
            if !(1..=queries::Cheapest::MOST).contains(&options.options.len()) {
                let most = queries::Cheapest::MOST;
                return Err(Trouble::option(format!(
                    "cheapest needs 1 to {most} options, such as in:cart=-50% costs 3"
                )));
            }
            let (selection, baseline) = asked.with_baseline(options.requests())?;
            let priced =
                written::options(asked.sets.sessions(), &options.options).map_err(Trouble::option)?;
            let settings = FlowSettings::default();
            let test = back_test(&mut asked.sets, &selection, settings, MIN_CHILDREN)?;
            let query =
                queries::Cheapest { selection, baseline, settings, quantile, target_us, options: priced };
            Ok(json::flow_cheapest(&asked.ask(query)?, Some(&test))?)
        },
    },
    Question {
        name: "variants",
        about: "Says which calls the invocations of an endpoint make, how many make the same ones, and what decides which.",
        other: Other::None,
        run: |asked, text| {
            let options: VariantsOptions = options::read(text)?;
            let selection = asked.selected(options.requests())?;
            let parent = match &options.parent {
                Some(name) => Some(written::endpoint(asked.sets.sessions(), name).map_err(Trouble::option)?),
                None => None,
            };
            let parents = match (&parent, &selection.root) {
                (None, RootEndpoint::TraceRoots) => {
                    Some(asked.ask(queries::FlowParents { selection: selection.clone() })?)
                }
                _ => None,
            };
            let parent = parent.or_else(|| FlowParent::most_worth(&parents?));
            let settings = FlowSettings::default();
            Ok(json::flow_variants(&asked.ask(queries::FlowVariants { selection, parent, settings })?)?)
        },
    },
    Question {
        name: "diagnosis",
        about: "Diagnoses what is slow, in all requests and in the tail.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            let settings = DiagnosisSettings::default();
            Ok(json::diagnosis(&asked.ask(queries::Diagnosis { selection, settings })?)?)
        },
    },
    Question {
        name: "anomaly",
        about: "Says which requests are unlike those of a baseline, and why; without one each is held against the others.",
        other: Other::Baseline,
        run: anomaly,
    },
    Question {
        name: "errors",
        about: "Shows where errors start and stop, and what requests would take without them.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            Ok(json::errors(&asked.ask(queries::Errors { selection })?)?)
        },
    },
    Question {
        name: "queues",
        about: "Shows how long messages wait between whoever sends them and whoever receives them.",
        other: Other::None,
        run: |asked, text| {
            let selection = asked.about(text)?;
            Ok(json::queues(&asked.ask(queries::Queues { selection })?)?)
        },
    },
    Question {
        name: "inspect",
        about: "Says what the inputs hold, their formats, and what is wrong with them.",
        other: Other::None,
        run: |asked, text| {
            let _: NoOptions = options::read(text)?;
            let Selection { overlap, reading, .. } = Selection::default();
            let settings = PathSettings { overlap, reading, by_service: false };
            let query = queries::Overview { settings, by: GroupBy::Root, ..queries::Overview::default() };
            let overview = asked.ask(query)?;
            Ok(json::inspect(&overview, asked.files)?)
        },
    },
];

/// The question has no options.
#[derive(Clone, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NoOptions {}

options! {
    /// Options of a comparison.
    CompareOptions {
        /// Percentiles of latency of side A: those of `range` unless set; without another set the faster half
        range_a: Option<String>,
        /// Percentiles of latency of side B: those of `range` unless set; without another set the slowest tenth
        range_b: Option<String>,
        /// Whether the JSON compares shares of each side's latency in place of microseconds per request
        share: bool,
        /// Whether it compares the self time of frames in place of their total time
        exclusive: bool,
    }
}

impl CompareOptions {
    /// Returns what the numbers of a side are divided by.
    pub fn basis(&self) -> Basis {
        if self.share { Basis::Share } else { Basis::Mean }
    }

    /// Returns which time of a frame is compared.
    pub fn measure(&self) -> MeasuredTime {
        if self.exclusive { MeasuredTime::Exclusive } else { MeasuredTime::Subtree }
    }
}

/// Order of the columns of a heat map.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// By latency.
    #[default]
    Latency,
    /// By the time at which requests start.
    Start,
}

options! {
    /// Options of a heat map.
    HeatmapOptions {
        /// Columns at most: where there are more requests, several share one
        columns: Option<u32>,
        /// Order of the columns: by latency, unless set
        order: Option<Order>,
    }
}

options! {
    /// Options of the ranking of endpoints.
    EndpointsOptions {
        /// Assumed speedup of an endpoint in percent, 10 unless set
        faster: Option<f64>,
    }
}

options! {
    /// Options of a split by a tag.
    SplitOptions {
        /// Key of the tag
        tag: Option<String>,
    }
}

options! {
    /// Options of a comparison of places.
    DeploymentsOptions {
        /// Tag of processes to compare by; all that are known to say where something runs, unless set
        key: Option<String>,
    }
}

options! {
    /// Options of drag and slack of services.
    CapacityOptions {
        /// How much services use of what they have, as text: lines with the columns service,cpu in percent or as shares of 1, the text of
        /// `kubectl top` with CPU%, or what Prometheus answers to a query
        utilisation: Option<String>,
    }
}

options! {
    /// Options of a what-if.
    WhatIfOptions {
        /// Changes, all at once: `own:SERVICE=-50%`, `in:SERVICE=usual`, `SERVICE:OPERATION=-2ms`, `=gone`, `queue:NAME=-50%` (with `until: "done"`),
        /// `network:A>B=-50%`, `network:A>B@KEY=within`, `move:SERVICE@KEY=VALUE`; `*` is any service;
        /// `call:SERVICE:OPERATION=20ms` is what whole calls take then, `SERVICE:OPERATION<=200ms` what none exceeds; `*` in the name of an
        /// endpoint stands for any letters
        changes: Vec<String>,
        /// Changes of whole calls, with all that they wait for: `SERVICE:OPERATION=-50%`, `=gone`
        whole_calls: Vec<String>,
    }
}

options! {
    /// Options of a target.
    TargetOptions {
        /// A percentile and its time: `p99=300ms`
        target: Option<String>,
    }
}

options! {
    /// Options of the cheapest changes.
    CheapestOptions {
        /// A percentile and its time: `p99=300ms`
        target: Option<String>,
        /// Changes to choose from, 1 to 40, each with its price: `in:SERVICE=-50% costs 3`
        options: Vec<String>,
    }
}

options! {
    /// Options of variants.
    VariantsOptions {
        /// The endpoint whose calls are looked at, within the requests: `SERVICE:OPERATION`; without it the root endpoint, or the one
        /// whose calls take most
        parent: Option<String>,
    }
}

/// The sets that a question is about.
pub struct Asked<'a> {
    sets: Together<'a>,
    files: &'a [pathlight_ingest::FileReport],
    has_other: bool,
}

impl<'a> Asked<'a> {
    /// Returns a set, or a set (group 1) with the one that it is compared with (group 0).
    pub fn of(set: &'a mut LoadedSet, other: Option<&'a mut LoadedSet>) -> Asked<'a> {
        let has_other = other.is_some();
        set.session.regroup(u8::from(has_other));
        let mut sessions = Vec::new();
        if let Some(other) = other {
            other.session.regroup(0);
            sessions.push(&mut other.session);
        }
        sessions.push(&mut set.session);
        Asked { sets: Together::of(sessions), files: &set.files, has_other }
    }

    /// Returns whether there is a second set.
    pub fn has_other(&self) -> bool {
        self.has_other
    }

    /// Returns the report of a query.
    pub fn ask<Q: Query>(&mut self, query: Q) -> Result<Q::Report, Trouble> {
        Ok(self.sets.ask(query)?)
    }

    /// Checks that there are requests.
    fn checked(&mut self, selection: Selection) -> Result<Selection, Trouble> {
        let facts = self.ask(queries::Range { selection: selection.clone() })?.facts;
        not_empty(&selection, &facts).map_err(|words| {
            Trouble::new(TroubleKind::NoRequests, words, "Ask for other requests, or leave the options out.")
        })?;
        Ok(selection)
    }

    /// Returns the requests of the set.
    pub fn selected(&mut self, which: Which) -> Result<Selection, Trouble> {
        let selection = which.of(u8::from(self.has_other))?;
        self.checked(selection)
    }

    /// Returns the requests that options of no more than that name.
    pub fn about(&mut self, text: &str) -> Result<Selection, Trouble> {
        self.selected(options::read::<RequestOptions>(text)?.requests())
    }

    /// Returns the requests of the set, with those of the other that they are compared with.
    pub fn with_baseline(&mut self, which: Which) -> Result<(Selection, Option<Selection>), Trouble> {
        let selection = self.selected(which)?;
        if !self.has_other {
            return Ok((selection, None));
        }
        let baseline = Selection { group: 0, ..selection.clone() };
        let (baseline, selection) = baseline.as_baseline_of(selection);
        let baseline = self.checked(baseline)?;
        Ok((selection, Some(baseline)))
    }

    /// Returns the comparison of both sets, or of two parts of one.
    pub fn compared(
        &mut self,
        options: &CompareOptions,
    ) -> Result<pathlight_engine::compare::CompareReport, Trouble> {
        let group = u8::from(self.has_other);
        let selection = options.requests().of(group)?;
        let of_all = options.asked.range.is_some().then_some(selection.range);
        let [range_a, range_b] = [&options.range_a, &options.range_b]
            .map(|text| text.as_deref().map(range).transpose().map_err(Trouble::option));
        let [range_a, range_b] = ranges([range_a?.or(of_all), range_b?.or(of_all)], self.has_other);
        let a = Selection { group: 0, ..selection.with_range(range_a) };
        let b = selection.with_range(range_b);
        let (a, b) = if self.has_other { a.as_baseline_of(b) } else { (a, b) };
        let (a, b) = (self.checked(a)?, self.checked(b)?);
        self.ask(queries::Compare { a, b })
    }

    /// Returns a heat map of so many columns at most, unless the options say otherwise.
    pub fn heatmap(
        &mut self,
        options: &HeatmapOptions,
        columns: u32,
    ) -> Result<pathlight_engine::heatmap::HeatmapReport, Trouble> {
        let selection = self.selected(options.requests())?;
        let order = match options.order.unwrap_or_default() {
            Order::Latency => ColumnOrder::Latency,
            Order::Start => ColumnOrder::Start,
        };
        let columns = options.columns.unwrap_or(columns).max(1);
        self.ask(queries::Heatmap { selection, columns, order })
    }
}

fn findings(asked: &mut Asked, text: &str) -> Result<String, Trouble> {
    let options: RequestOptions = options::read(text)?;
    let (selection, baseline) = asked.with_baseline(options.requests())?;
    let range = selection.range;
    let report = ask_findings(&mut asked.sets, selection.clone(), baseline)?;
    let tags = asked.ask(queries::Tags { selection })?;
    Ok(json::findings(&report, &tags, range)?)
}

/// Reads the target that a question needs: the percentile and its microseconds.
fn target(question: &str, target: Option<&str>) -> Result<(Quantile, u64), Trouble> {
    let missing = || Trouble::option(format!("{question} needs the option target, such as p99=300ms"));
    written::target(target.ok_or_else(missing)?).map_err(Trouble::option)
}

fn what_if(asked: &mut Asked, text: &str) -> Result<String, Trouble> {
    let options: WhatIfOptions = options::read(text)?;
    let read = |texts: &[String]| -> Result<Vec<WhatIfChange>, Trouble> {
        texts.iter().map(|text| written::change(text).map_err(Trouble::option)).collect()
    };
    let (own, whole) = (read(&options.changes)?, read(&options.whole_calls)?);
    if own.is_empty() && whole.is_empty() {
        return Err(Trouble::option("whatIf needs the option changes or wholeCalls, such as in:cart=-50%"));
    }
    let (selection, baseline) = asked.with_baseline(options.requests())?;
    let has_queues = written::names_queues(asked.sets.sessions(), &own);
    let queues = has_queues.then(|| asked.ask(queries::Queues { selection: selection.at_any_latency() }));
    let (queues, sessions) = (queues.transpose()?, asked.sets.sessions());
    let mut changes = Changes::default();
    written::add_own_work(&mut changes, sessions, queues.as_ref(), &own)
        .and_then(|()| written::add_times(&mut changes, sessions, ChangeOf::WholeCall, &whole))
        .map_err(Trouble::option)?;
    let settings = FlowSettings::default();
    let test = back_test(&mut asked.sets, &selection, settings, MIN_CHILDREN)?;
    let query = queries::WhatIf { selection, baseline, settings, changes };
    Ok(json::what_if(&asked.ask(query)?, Some(&test))?)
}

fn anomaly(asked: &mut Asked, text: &str) -> Result<String, Trouble> {
    let options: RequestOptions = options::read(text)?;
    let (test, train) = asked.with_baseline(options.requests())?;
    let hits = train.clone().map(|a| queries::VerdictHits { a, b: test.clone() });
    let train = train.unwrap_or_else(|| test.clone());
    let query = queries::Anomalies { train, test, settings: AnomalySettings::default() };
    let report = Rc::new(asked.ask(query)?);
    let hits = hits.map(|query| asked.ask(query)).transpose()?.flatten();
    Ok(json::anomaly(&report, hits.as_ref())?)
}

/// Answers a question by name; `options` are JSON.
///
/// # Errors
/// There is no such question, an option is wrong, no request is as they want it, or memory ended.
pub fn answer(
    question: &str,
    options: &str,
    set: &mut LoadedSet,
    other: Option<&mut LoadedSet>,
) -> Result<String, Trouble> {
    let known = QUESTIONS.iter().find(|known| known.name == question);
    let Some(known) = known else { return Err(Trouble::option(format!("there is no question {question}"))) };
    if known.other == Other::None && other.is_some() {
        return Err(Trouble::option(format!("{question} takes no second set")));
    }
    (known.run)(&mut Asked::of(set, other), options)
}
