//! The predictors of the paper on execution flows: regression, nearest neighbours, and flows.

mod nearest;
mod predict;
mod regression;

pub use nearest::{Clusters, InvocationKey, Metric, Neighbours};
pub use predict::{
    FlowSettings, METHOD_NAMES, METHODS, PredictScratch, PredictorTraining, Predictors, error,
};
pub use regression::Products;
