//! The questions of the page, and which of them the view in sight needs answered.

use crate::ui::page::{Focus, Page};
use crate::ui::shell::slot::{Answer, Question, Slot};
use pathlight_query::{
    AnomalyReport, BottomUpReport, CriticalPathReport, DiffReport, EndpointsReport, ErrorsReport,
    EvaluationReport, EvaluationTable, FlowParent, FlowReport, FlowSettings, HeatmapReport, HistogramsReport,
    OverviewReport, ProposalsReport, RangeReport, Report, Request, RequestsReport, RootEndpoint,
    SavingsReport, Selection, SetsReport, SpanKey, SpanReport, SplitReport, TagValuesReport, TprofReport,
    TraceReport, WhatIfReport,
};
use pathlight_view::address::View;
use pathlight_view::comparing::Side;

/// Requests listed at most; more are reached by narrowing the percentile range.
pub const REQUESTS_LISTED: u32 = 10_000;

/// Columns of the heat map at most; more requests are put together.
pub const COLUMNS: u32 = 10_000;

/// Says which reports answer: the kind of [`Report`], what it holds, and how that is taken out.
macro_rules! answers {
    ($($kind:ident($held:ident) => $taken:expr, $report:ty;)*) => {
        $(impl Answer for $report {
            fn of(report: Report) -> Option<Self> {
                if let Report::$kind($held) = report { Some($taken) } else { None }
            }
        })*
    };
}

/// Declares the slots, and a list of them whatever they hold.
macro_rules! queries {
    ($($(#[$about:meta])* $name:ident: $report:ty,)*) => {
        /// The questions of the page.
        #[derive(Default)]
        pub struct Queries {
            $($(#[$about])* pub $name: Slot<$report>,)*
        }

        impl Queries {
            fn all(&self) -> Vec<&dyn Question> {
                vec![$(&self.$name),*]
            }
        }
    };
}

answers! {
    Overview(report) => report, OverviewReport;
    Range(report) => report, RangeReport;
    CriticalPath(report) => report, CriticalPathReport;
    Compare(report) => *report, DiffReport;
    Heatmap(report) => *report, HeatmapReport;
    TagValues(report) => report, TagValuesReport;
    Endpoints(report) => *report, EndpointsReport;
    BottomUp(report) => *report, BottomUpReport;
    Histograms(report) => *report, HistogramsReport;
    Savings(report) => report, SavingsReport;
    Split(report) => *report, SplitReport;
    Proposals(report) => *report, ProposalsReport;
    Errors(report) => *report, ErrorsReport;
    Requests(report) => report, RequestsReport;
    FlowParents(report) => report, Vec<FlowParent>;
    Flow(report) => report, FlowReport;
    WhatIf(report) => report, WhatIfReport;
    FlowEvaluation(report) => report, EvaluationReport;
    Tprof(report) => *report, TprofReport;
    TprofCompare(report) => report, SetsReport;
    Anomaly(report) => *report, AnomalyReport;
    AnomalyEvaluation(report) => *report, EvaluationTable;
    Trace(report) => report, Option<TraceReport>;
    Span(report) => report, Option<SpanReport>;
}

queries! {
    /// What is loaded.
    overview: OverviewReport,
    /// What the percentile range holds.
    range: RangeReport,
    /// The critical path of the percentile range.
    path: CriticalPathReport,
    /// The values of the tag that a filter is being made of.
    tag_values: TagValuesReport,
    /// Two sides against each other.
    compare: DiffReport,
    /// Endpoints against requests.
    heatmap: HeatmapReport,
    /// Times by endpoint.
    endpoints: EndpointsReport,
    /// Endpoints over all root endpoints.
    bottom_up: BottomUpReport,
    /// Sizes of requests.
    histograms: HistogramsReport,
    /// What faster endpoints would save.
    savings: SavingsReport,
    /// Times by the values of a tag.
    split: SplitReport,
    /// The tags whose values differ most.
    proposals: ProposalsReport,
    /// Errors of the percentile range.
    errors: ErrorsReport,
    /// The diagnosis with its aggregate traces.
    tprof: TprofReport,
    /// Services and places by what changed between two sides.
    tprof_sets: SetsReport,
    /// Requests by how odd they are.
    anomaly: AnomalyReport,
    /// How well odd requests are found.
    anomaly_check: EvaluationTable,
    /// The trace of the chosen odd request.
    odd_trace: Option<TraceReport>,
    /// That of the normal request most like it.
    normal_trace: Option<TraceReport>,
    /// The slowest requests of the percentile range.
    requests: RequestsReport,
    /// Which endpoints have a flow.
    flow_parents: Vec<FlowParent>,
    /// The flow of the parent shown.
    flow: FlowReport,
    /// Latencies before and after the changes.
    what_if: WhatIfReport,
    /// How well the model of what-ifs does on held-out invocations.
    back_test: EvaluationReport,
    /// The predictors compared.
    evaluation: EvaluationReport,
    /// The trace of the timeline.
    trace: Option<TraceReport>,
    /// The selected span.
    span: Option<SpanReport>,
}

impl Queries {
    /// Why questions have no answer; each told once.
    pub fn take_failures(&self) -> Vec<String> {
        self.all().into_iter().filter_map(Question::take_failure).collect()
    }

    /// Whether anything is being asked.
    pub fn is_waiting(&self) -> bool {
        self.all().into_iter().any(Question::is_waiting)
    }

    /// Forgets questions and answers.
    pub fn clear(&self) {
        self.all().into_iter().for_each(Question::clear);
    }
}

/// Asks what the view in sight needs to know.
pub fn query(page: Page) {
    if !page.has_data() {
        return;
    }
    let address = page.address().clone();
    let queries = page.queries();
    queries.overview.want(page, Request::Overview);
    if queries.overview.get().is_some_and(|overview| overview.traces == 0) {
        return;
    }
    let selection = address.selection();
    queries.range.want(page, Request::Range { selection: selection.clone() });
    // As large as there are calling contexts, a million in one deep trace: only for whoever shows some of them.
    if address.view == View::Flame || matches!(*page.focus(), Focus::Path(_) | Focus::Endpoint(_)) {
        queries.path.want(page, Request::CriticalPath { selection: selection.clone() });
    } else {
        queries.path.stop();
    }
    if address.view != View::Endpoints && address.view != View::Flow {
        // It reads every trace several times: nothing that should go on when nobody looks.
        queries.savings.stop();
    }
    if address.view != View::Diagnosis {
        queries.tprof.stop();
        queries.tprof_sets.stop();
    }
    if address.view != View::Anomalies {
        queries.anomaly.stop();
    }
    if address.view != View::Anomalies || !address.anomaly.evaluate {
        queries.anomaly_check.stop();
    }
    let key = page.suggested_key();
    let known = queries.overview.get().map(|overview| overview.tag_keys.iter().any(|known| known.key == key));
    if known == Some(true) {
        queries.tag_values.want(page, Request::TagValues { selection: selection.clone(), key });
    }
    match address.view {
        View::Anomalies => crate::ui::views::anomalies::query(page),
        View::Compare => {
            let [a, b] = Side::BOTH.map(|side| address.side(side));
            queries.compare.want(page, Request::Compare { a, b });
        }
        View::Heatmap => {
            let order = address.choices.columns;
            queries.heatmap.want(page, Request::Heatmap { selection, columns: COLUMNS, order });
        }
        View::Findings => queries.endpoints.want(page, Request::Endpoints { selection }),
        View::Endpoints => {
            let selection = Selection { root: RootEndpoint::TraceRoots, ..selection };
            queries.bottom_up.want(page, Request::BottomUp { selection: selection.clone() });
            queries.histograms.want(page, Request::Histograms { selection: selection.clone() });
            // What-if speaks of all requests, so of a percentile range there is none; and what takes long comes last.
            if selection.range.is_all()
                && queries.bottom_up.fresh().is_some()
                && queries.histograms.fresh().is_some()
            {
                queries.savings.want(page, Request::Savings { selection, settings: FlowSettings::default() });
            }
        }
        View::Split => {
            let of = address.split.of.clone();
            queries.proposals.want(page, Request::Proposals { selection: selection.clone(), of });
            if let Some(key) = crate::ui::views::split::key(page) {
                queries.split.want(page, Request::Split { selection, of: address.split.of, key });
            }
        }
        View::Errors => queries.errors.want(page, Request::Errors { selection }),
        View::Flow => crate::ui::views::flow::query(page, &address),
        View::Diagnosis => crate::ui::views::diagnosis::query(page, &address),
        View::Trace => {
            if address.trace.is_none() {
                queries.requests.want(page, Request::Requests { selection, limit: REQUESTS_LISTED });
            }
            ask_trace(page);
        }
        View::Requests => {
            queries.requests.want(page, Request::Requests { selection, limit: REQUESTS_LISTED });
        }
        _ => {}
    }
}

fn ask_trace(page: Page) {
    let Some(trace) = page.shown_trace() else { return };
    let queries = page.queries();
    let (overlap, group) = (page.address().overlap, page.address().group());
    let trace_id = trace.trace_id;
    let root_span_id = trace.root_span_id;
    queries.trace.want(page, Request::Trace { trace_id: trace_id.clone(), root_span_id, overlap, group });
    let selected = match *page.focus() {
        Focus::Span(index) => Some(SpanKey::Index(index)),
        // A link to a span: its index is in the answer.
        Focus::Nothing => trace.span_id.map(SpanKey::Id),
        _ => None,
    };
    if let Some(span) = selected {
        queries.span.want(page, Request::Span { trace_id, span, group });
    }
}
