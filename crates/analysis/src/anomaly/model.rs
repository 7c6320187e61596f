//! A baseline as a file.

use super::features::Encoding;
use super::vae::Vae;
use super::whole::TreeModel;
use serde::{Deserialize, Serialize};

/// How a model file begins; the number is that of the format.
const MAGIC: &[u8] = b"pathlight anomaly model 2\n";

/// A baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Model {
    /// The default detector; it explains also what the auto-encoder finds.
    pub tree: TreeModel,
    /// The auto-encoder and what its vectors hold, if that is what judges.
    pub vae: Option<(Encoding, Vae)>,
}

/// Why a file is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It does not begin like one.
    #[error("this is no model of Pathlight; choose a file that \u{201c}Save model\u{201d} has written")]
    Foreign,
    /// It begins like one and is damaged.
    #[error("the model file is damaged ({0}); train again or choose another")]
    Damaged(#[from] postcard::Error),
}

impl Model {
    /// The file.
    ///
    /// # Errors
    /// [`ModelError::Damaged`] if memory ends.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        Ok(postcard::to_extend(self, MAGIC.to_vec())?)
    }

    /// The model of a file.
    ///
    /// # Errors
    /// [`ModelError`] if it is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, ModelError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(ModelError::Foreign)?;
        Ok(postcard::from_bytes(rest)?)
    }
}
