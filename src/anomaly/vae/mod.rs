//! The paper's model, for those who want it: a variational auto-encoder with a planar flow (appendices B and C).

mod functions;
mod kernels;
mod model;
mod train;

pub use model::Sizes;
pub use train::{P_VALUE, Training, TrainingProgress, Vae, VaeSettings, VaeVerdict};
