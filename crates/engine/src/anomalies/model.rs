//! A baseline as a file.

use super::call_tree::{FACTS_KEPT, FactPart, TreeModel};
use super::paper::FeatureEncoding;
use super::paper::vae::Vae;
use pathlight_base::encoding::{self, Damaged};
use pathlight_base::steps::Pace;
use serde::{Deserialize, Serialize};

/// Start of a model file; the number is that of the format. A checksum of eight bytes follows, then the model.
const MAGIC: &[u8] = b"pathlight anomaly model 7\n";
/// The format before: without the delays of training requests, which come last.
const WITHOUT_DELAYS: &[u8] = b"pathlight anomaly model 6\n";
/// The format before that: without the word on how the greatest surprise is taken, which comes before them.
const RAW: &[u8] = b"pathlight anomaly model 5\n";
/// The format before that: without the share that may be abnormal too, which comes before it.
const CLEAN: &[u8] = b"pathlight anomaly model 4\n";
/// Those before these: without what merging needs; without a checksum too.
const BEFORE: [&[u8]; 2] = [b"pathlight anomaly model 3\n", b"pathlight anomaly model 2\n"];

/// A baseline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnomalyBaseline {
    /// The default detector; it explains also what the auto-encoder finds.
    pub tree: TreeModel,
    /// The auto-encoder and what its vectors hold, if that is what judges.
    pub vae: Option<(FeatureEncoding, Vae)>,
}

/// Reason why a file is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// It does not begin like one.
    #[error("this is no model of Pathlight; choose a file that \u{201c}Save baseline\u{201d} has written")]
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
    /// It cannot be merged: it was written before models kept what that needs, or holds an auto-encoder.
    #[error(
        "{0} cannot be merged with others: models of the auto-encoder cannot, nor those of earlier versions; train again"
    )]
    Alone(String),
    /// Labels cannot change it, for the same reasons.
    #[error(
        "this baseline cannot be taught by labels: those of the auto-encoder cannot, nor those of earlier versions; train again"
    )]
    Unteachable,
}

/// Returns the FNV-1a hash, 64 bits.
fn checksum(bytes: &[u8]) -> [u8; 8] {
    let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step).to_le_bytes()
}

/// Reads a model of the formats before. Their auto-encoder, which comes last, ends before the likelihoods of held-out
/// requests: it gets an empty list of them.
fn before(mut model: Vec<u8>) -> Result<AnomalyBaseline, Damaged> {
    encoding::read(&model).or_else(|_| {
        model.push(0);
        encoding::read(&model)
    })
}

impl AnomalyBaseline {
    /// Returns the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let tree = &self.tree;
        let model = encoding::write(&(
            self,
            tree.ticks,
            tree.learned(),
            &tree.kept,
            tree.contaminated_ppm,
            tree.is_raw,
            &tree.delays,
        ));
        [MAGIC, &checksum(&model), &model].concat()
    }

    /// Returns the model of a file.
    ///
    /// # Errors
    /// [`ModelError`] if it is none.
    pub fn from_bytes(bytes: &[u8]) -> Result<AnomalyBaseline, ModelError> {
        let checked = |rest: &'_ [u8]| {
            let (sum, model) = rest.split_first_chunk::<8>().ok_or(ModelError::Changed)?;
            if *sum == checksum(model) { Ok(model.to_vec()) } else { Err(ModelError::Changed) }
        };
        let mut is_raw = true;
        let mut model: AnomalyBaseline = match BEFORE.map(|magic| bytes.strip_prefix(magic)) {
            [Some(rest), _] => before(checked(rest)?)?,
            [_, Some(model)] => before(model.to_vec())?,
            _ => {
                let formats = [MAGIC, WITHOUT_DELAYS, RAW, CLEAN].map(|magic| bytes.strip_prefix(magic));
                let rest = match formats {
                    [Some(rest), ..] => checked(rest)?,
                    [_, Some(rest), ..] => [checked(rest)?.as_slice(), &[0]].concat(),
                    [_, _, Some(rest), _] => [checked(rest)?.as_slice(), &[1, 0]].concat(),
                    [.., Some(rest)] => [checked(rest)?.as_slice(), &[0, 1, 0]].concat(),
                    _ => return Err(ModelError::Foreign),
                };
                type Parts = (AnomalyBaseline, [u64; 4], u64, FactPart, u32, bool, Vec<f64>);
                let (mut model, ticks, learned, kept, contaminated_ppm, raw, delays): Parts =
                    encoding::read(&rest)?;
                (is_raw, model.tree.delays) = (raw, delays);
                (model.tree.ticks, model.tree.learned, model.tree.kept) = (ticks, learned, kept);
                model.tree.contaminated_ppm = contaminated_ppm;
                model
            }
        };
        model.tree.is_raw = is_raw;
        let vae = model.vae.as_ref();
        if !model.tree.is_sound() || vae.is_some_and(|(_, vae)| !vae.is_sound()) {
            return Err(ModelError::Unsound);
        }
        Ok(model)
    }

    /// Returns one baseline of several with their names, which have learned from different requests.
    ///
    /// # Errors
    /// [`ModelError::Alone`] of one that cannot be merged, [`ModelError::Unsound`] if parts of one do not fit together.
    pub async fn merge(
        models: Vec<(String, AnomalyBaseline)>,
        pace: &mut Pace,
    ) -> Result<AnomalyBaseline, ModelError> {
        let is_alone = |model: &AnomalyBaseline| {
            model.vae.is_some() || model.tree.kept.rows.is_empty() && !model.tree.is_empty()
        };
        if let Some((name, _)) = models.iter().find(|(_, model)| is_alone(model)) {
            return Err(ModelError::Alone(name.clone()));
        }
        let trees = models.into_iter().map(|(_, model)| model.tree);
        let merged = TreeModel::merge(trees.collect(), FACTS_KEPT, pace).await.ok_or(ModelError::Unsound)?;
        Ok(AnomalyBaseline { tree: merged.model, vae: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_the_format_before_is_read_and_has_no_delays() {
        let model = AnomalyBaseline::default();
        let bytes = model.to_bytes();
        assert_eq!(AnomalyBaseline::from_bytes(&bytes).unwrap(), model);
        // Of none the last byte says so.
        let before = &bytes[MAGIC.len() + 8..bytes.len() - 1];
        let before = [WITHOUT_DELAYS, &checksum(before), before].concat();
        assert_eq!(AnomalyBaseline::from_bytes(&before).unwrap(), model);
        let mut unsound = model;
        unsound.tree.delays = vec![1.0];
        assert!(matches!(AnomalyBaseline::from_bytes(&unsound.to_bytes()), Err(ModelError::Unsound)));
    }
}
