//! The paper's model, for those who want it: a variational auto-encoder with a planar flow (appendices B and C).

mod functions;
mod judge;
mod kernels;
mod lanes;
mod model;
mod train;

pub use judge::{P_VALUE, VaeJudge, VaeVerdict};
pub use model::Sizes;
pub use train::{Training, TrainingProgress, Vae, VaeSettings, WINDOW};
