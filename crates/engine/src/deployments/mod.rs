//! What the own work of services, and calls between them, take by where they run: by version, zone, host, or another tag of
//! processes (`docs/definitions/deployments.md`).

mod compared;
mod keys;
mod observe;
pub mod query;
mod report;

pub use compared::Beside;
pub use keys::{DeploymentKind, kind_of};
pub use observe::{DeploymentsObserver, DeploymentsPart};
pub use report::{
    DeploymentFirst, DeploymentKey, DeploymentOf, DeploymentRow, DeploymentsReport, SlowerPlace,
};
