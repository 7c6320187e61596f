//! Execution flows: which calls of a parent wait for which, how well that predicts its latency, and what-if.
//!
//! [`Order`] is one invocation; [`PairCounts`] learn the aggregate [`FlowGraph`] of a parent endpoint, [`paper::PredictorTraining`] all six
//! predictors; [`WhatIfRun`] and [`SavingsRun`] change latencies bottom-up through whole traces. [`FlowWalk`] leads them
//! through a set in resumable steps. Source: Mann, Sandler, Krushevskaja, Guha, Even-Dar: Modeling the Parallel Execution
//! of Black-Box Services (HotCloud 2011).

mod aggregate;
mod callees;
mod calls;
mod capacity;
mod changed;
mod changes;
mod cheapest;
mod done;
mod faster;
mod graph;
mod headroom;
mod levels;
mod nodes;
mod observe;
mod order;
pub mod paper;
mod part_times;
pub(crate) mod passes;
pub(crate) mod placed;
mod prepare;
mod pressure;
pub(crate) mod query;
mod report;
mod savings;
mod serial;
pub(crate) mod summed;
mod target;
mod timeout;
mod trials;
mod variants;
mod walk;
mod whatif;

pub use aggregate::{PairCounts, WHOLE_PPM};
pub use callees::{Callee, CalleeCounter, Callees, CalleesByParent, CalleesFor};
pub use calls::{CallTimes, CallsOf};
pub use capacity::{CapacityReport, CapacityRun, CapacitySums, ServiceCapacity};
pub use changes::{
    CallTarget, CallTimeout, CallsBeside, CallsBetween, ChangeOf, Changes, LatencyChange, Move, Parallel,
    QueueName, QueueTimeChange, SubjectChange, SubjectTime, WaitChange, WaitTime,
};
pub use cheapest::{CheapestReport, ChosenChange, PricedChanges};
pub use graph::{FlowGraph, LearnedEdge, Relation, SyncNode};
pub use headroom::{HeadroomReport, HeadroomRow, Slower};
pub use levels::{Level, MendedLatency};
pub use nodes::{CalleeNodes, MAX_NODES, NodeIndex, NodeName, NodeTable, NodeTables};
pub use observe::{Bindings, Estimates, FlowSample, KeyFinder, NodeSample, Tester, Trainer, key_of};
pub use order::{Child, Order, Pressure};
pub use part_times::{PartTimes, PartTimesRun};
pub use prepare::FlowModel;
pub(crate) use prepare::OwnTime;
pub use pressure::RequestPressure;
pub use query::{MIN_CHILDREN, back_test};
pub use report::{
    ErrorQuantiles, EvaluationReport, FlowEdge, FlowNode, FlowParent, FlowReport, MethodErrors,
};
pub use savings::{EndpointSaving, FASTER_PERCENT, SavedAt, Saving, SavingsPart, SavingsReport, SavingsRun};
pub use serial::{
    ArgumentRun, ArgumentSums, CallPair, Candidates, ParalleliseReport, SerialGroup, SerialRun, SerialSums,
};
pub use summed::{MOST_NODES, NoFlow, REPEATS};
pub use target::{AnyWay, CallBudget, Quantile, TargetPart, TargetReport, TargetWay};
pub use timeout::TimeoutReport;
pub use trials::{TrialSums, TrialsRun};
pub use variants::{
    Decider, Feature, FeatureCounts, FeatureOf, FlowVariant, FlowVariantsReport, VariantCall, VariantCallees,
    VariantKey,
};
pub use walk::{FlowWalk, Invocations, Observe, Visit, Within};
pub use whatif::{ShareChange, WhatIfLatencies, WhatIfReport, WhatIfRun, WhichRequests};
