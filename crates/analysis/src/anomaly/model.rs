//! A baseline as a file.

use super::features::Encoding;
use super::vae::Vae;
use super::whole::TreeModel;
use pathlight_model::flat::{self, Damaged};
use serde::{Deserialize, Serialize};

/// How a model file begins; the number is that of the format. A checksum of eight bytes follows, then the model.
const MAGIC: &[u8] = b"pathlight anomaly model 3\n";
/// The format before, which had no checksum.
const BEFORE: &[u8] = b"pathlight anomaly model 2\n";

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
    Damaged(#[from] Damaged),
    /// It is whole, and says what no training gives.
    #[error("the model file is damaged (its parts do not fit together); train again or choose another")]
    Unsound,
    /// Bytes of it were changed or lost.
    #[error("the model file is damaged (its checksum differs); train again or choose another")]
    Changed,
}

/// FNV-1a of 64 bits.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step).to_le_bytes()
}

impl Model {
    /// The file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let model = flat::write(self);
        [MAGIC, &checksum(&model), &model].concat()
    }

    /// The model of a file.
    ///
    /// # Errors
    /// [`ModelError`] if it is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Model, ModelError> {
        let model = match bytes.strip_prefix(BEFORE) {
            Some(model) => model,
            None => {
                let rest = bytes.strip_prefix(MAGIC).ok_or(ModelError::Foreign)?;
                let (sum, model) = rest.split_first_chunk::<8>().ok_or(ModelError::Changed)?;
                if *sum != checksum(model) {
                    return Err(ModelError::Changed);
                }
                model
            }
        };
        let model: Model = flat::read(model)?;
        let vae = model.vae.as_ref();
        if !model.tree.is_sound() || vae.is_some_and(|(_, vae)| !vae.is_sound()) {
            return Err(ModelError::Unsound);
        }
        Ok(model)
    }
}
