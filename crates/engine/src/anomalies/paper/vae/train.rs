//! Training in small steps, and the finished model (paper appendices B and C).

use super::Sizes;
use super::functions::{exp, ln};
use super::lanes::{Lanes, WIDTH};
use super::model::{ABSENT, Pass};
use crate::anomalies::paper::{FeatureCell, Features};
use crate::flame::Contexts;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::Random;
use serde::{Deserialize, Serialize};

/// Requests of one step of training.
const BATCH: usize = 256;
/// Weights times requests that one step may take: a worker must not be busy for long.
const WORK: usize = 128_000_000;
/// The least deviation of a column, as a share of its mean.
const LEAST_SPREAD: f64 = 0.05;
/// Samples of the latent variables per likelihood.
const SAMPLES: usize = 16;
/// One request in so many is not learned from, for the threshold by likelihoods of requests that are new to the network;
/// as many as in TraceAnomaly.
const HELD_OUT: u64 = 10;
/// The greatest length of a gradient.
const CLIP: f64 = 10.0;
const RATE: f32 = 1e-3;
const DECAY: (f32, f32) = (0.9, 0.999);

/// Settings of training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct VaeSettings {
    /// Width of the hidden layers.
    pub hidden: u32,
    /// Latent variables.
    pub latent: u32,
    /// Steps of the planar flow; 0 is none.
    pub flow: u32,
    /// Times all requests are seen.
    pub epochs: u32,
    /// Equal parts that the time of the requests is cut into: each is judged by what the 14 before it teach, the sliding
    /// window of the paper's appendix C. 0 is none: one training on all.
    pub parts: u32,
    /// Seed of everything random.
    pub seed: u64,
}

/// Parts of time that the sliding window of the paper has: days (appendix C).
pub const WINDOW: u32 = 14;

impl VaeSettings {
    /// The largest sizes that make sense.
    pub const MOST: VaeSettings =
        VaeSettings { hidden: 2000, latent: 200, flow: 20, epochs: 1000, parts: 1000, seed: u64::MAX };

    /// Returns the settings with sizes up to [`MOST`](Self::MOST), which no memory and no patience runs out of.
    #[must_use]
    pub fn bounded(self) -> VaeSettings {
        let VaeSettings { hidden, latent, flow, epochs, parts, seed } = self;
        VaeSettings {
            hidden: hidden.clamp(1, Self::MOST.hidden),
            latent: latent.clamp(1, Self::MOST.latent),
            flow: flow.min(Self::MOST.flow),
            epochs: epochs.min(Self::MOST.epochs),
            parts: parts.min(Self::MOST.parts),
            seed,
        }
    }

    /// Returns the settings with at least one part that has a whole window before it, unless there are no parts.
    #[must_use]
    pub fn with_whole_window(mut self) -> VaeSettings {
        if self.parts > 0 {
            self.parts = self.parts.max(WINDOW + 1);
        }
        self
    }
}

impl Default for VaeSettings {
    fn default() -> VaeSettings {
        VaeSettings { hidden: 500, latent: 10, flow: 10, epochs: 20, parts: 0, seed: 1 }
    }
}

/// Standardisation of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Column {
    mean: f64,
    deviation: f64,
}

/// A trained auto-encoder: can be saved, and judges requests of any other set by the names of their call paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vae {
    /// The call paths seen in training.
    pub paths: Contexts<()>,
    columns: Vec<Column>,
    sizes: Sizes,
    parameters: Vec<f32>,
    /// Sorted log-likelihoods of the requests learned from.
    pub(crate) likelihoods: Vec<f32>,
    seed: u64,
    /// Sorted log-likelihoods of the training requests that were held out.
    pub(crate) held_out: Vec<f32>,
}

/// Progress of training.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainingProgress {
    /// Steps done.
    pub done: u64,
    /// Steps in all.
    pub of: u64,
    /// Mean loss per request of every finished epoch.
    pub losses: Vec<f32>,
}

/// A training under way.
pub struct Training {
    vae: Vae,
    settings: VaeSettings,
    rows: Vec<Vec<FeatureCell>>,
    order: Vec<u32>,
    at: usize,
    /// Requests of the batch under way; the gradient of those before `at` is summed.
    batch: std::ops::Range<usize>,
    progress: TrainingProgress,
    loss: f64,
    random: Random,
    pass: Pass,
    input: Vec<f32>,
    gradient: Vec<f32>,
    moments: (Vec<f32>, Vec<f32>),
    /// Decays of the moments so far.
    decayed: (f32, f32),
    likelihoods: Vec<f32>,
    is_held_out: Vec<bool>,
}

impl Training {
    /// Starts a training on normal requests.
    pub fn new(features: &Features, settings: VaeSettings) -> Training {
        let rows: Vec<Vec<FeatureCell>> = (0..features.len()).map(|row| features.row(row).to_vec()).collect();
        let mut is_held_out: Vec<bool> =
            features.rows.iter().map(|row| is_held_out(&row.request.trace_id)).collect();
        if is_held_out.iter().all(|out| *out) {
            is_held_out.fill(false);
        }
        let order: Vec<u32> = (0..rows.len() as u32).filter(|&row| !is_held_out[row as usize]).collect();
        let learned = || order.iter().flat_map(|&row| &rows[row as usize]);
        let mut columns = vec![(0u64, 0f64, 0f64); features.paths.nodes.len()];
        for cell in learned() {
            columns[cell.path as usize].0 += 1;
            columns[cell.path as usize].1 += cell.us as f64;
        }
        for column in &mut columns {
            column.1 /= column.0.max(1) as f64;
        }
        for cell in learned() {
            let column = &mut columns[cell.path as usize];
            column.2 += (cell.us as f64 - column.1) * (cell.us as f64 - column.1);
        }
        let columns = columns.into_iter().map(|(n, mean, squares)| match n {
            // Of requests that are held out only.
            0 => Column::default(),
            _ => {
                let deviation = (squares / n as f64).sqrt().max(LEAST_SPREAD * mean);
                // All values are 0.
                Column { mean, deviation: if deviation > 0.0 { deviation } else { 1.0 } }
            }
        });
        let inputs = features.paths.nodes.len() as u32;
        let sizes = Sizes { inputs, hidden: settings.hidden, latent: settings.latent, flow: settings.flow };
        let mut random = Random::new(settings.seed, 1, 0);
        let parameters = sizes.initial(&mut random);
        let batches = |rows: usize| rows.div_ceil(BATCH) as u64;
        let none = vec![0.0; parameters.len()];
        Training {
            vae: Vae {
                paths: features.paths.clone(),
                columns: columns.collect(),
                sizes,
                parameters,
                likelihoods: Vec::new(),
                seed: settings.seed,
                held_out: Vec::new(),
            },
            settings,
            at: 0,
            batch: 0..0,
            // Each epoch, and one more look for the likelihoods.
            progress: TrainingProgress {
                done: 0,
                of: batches(order.len()) * u64::from(settings.epochs) + batches(rows.len()),
                losses: Vec::new(),
            },
            order,
            rows,
            is_held_out,
            loss: 0.0,
            random,
            pass: Pass::default(),
            input: Vec::new(),
            gradient: none.clone(),
            moments: (none.clone(), none),
            decayed: (1.0, 1.0),
            likelihoods: Vec::new(),
        }
    }

    /// Returns the requests that are learned from.
    pub fn learned(&self) -> usize {
        self.order.len()
    }

    /// Returns how far it is.
    pub fn progress(&self) -> &TrainingProgress {
        &self.progress
    }

    /// Judges some requests more; returns true when all is done.
    pub fn step(&mut self) -> bool {
        if self.progress.done == self.progress.of {
            return true;
        }
        let is_batch_done = match self.progress.losses.len() < self.settings.epochs as usize {
            true => self.learn(),
            false => self.measure(),
        };
        self.progress.done += u64::from(is_batch_done);
        self.progress.done == self.progress.of
    }

    /// Returns the finished model.
    pub fn finish(mut self) -> Vae {
        for (row, likelihood) in self.likelihoods.into_iter().enumerate() {
            if !self.is_held_out[row] {
                self.vae.likelihoods.push(likelihood);
            } else if self.rows[row].iter().all(|cell| self.vae.is_known(cell.path)) {
                self.vae.held_out.push(likelihood);
            }
        }
        self.vae.likelihoods.compact_sort_by(f32::total_cmp);
        self.vae.held_out.compact_sort_by(f32::total_cmp);
        self.vae
    }

    /// Sums the gradient of some requests; the last of a batch change the parameters. True after that.
    fn learn(&mut self) -> bool {
        if self.at == 0 {
            self.random.shuffle(&mut self.order);
        }
        if self.at == self.batch.end || self.at == 0 {
            self.batch = self.at..(self.at + BATCH).min(self.order.len());
            self.gradient.fill(0.0);
            self.pass.prepare(self.vae.sizes, &self.vae.parameters);
        }
        let Sizes { inputs, hidden, .. } = self.vae.sizes;
        let stride = (WORK / (inputs as usize * hidden as usize).max(1)).clamp(4, BATCH);
        let end = (self.at + stride).min(self.batch.end);
        self.input.clear();
        for &row in &self.order[self.at..end] {
            self.vae.standardise(self.rows[row as usize].iter().copied(), &mut self.input);
        }
        let Vae { sizes, parameters, .. } = &mut self.vae;
        self.pass.forward(*sizes, parameters, &self.input, &mut self.random);
        self.loss -= self.pass.evidence().iter().map(|e| f64::from(*e)).sum::<f64>();
        self.pass.backward(*sizes, parameters, &self.input, &mut self.gradient);
        self.at = end;
        if self.at < self.batch.end {
            return false;
        }
        self.descend();
        if self.at == self.order.len() {
            self.progress.losses.push((self.loss / self.order.len() as f64) as f32);
            (self.at, self.loss) = (0, 0.0);
        }
        true
    }

    /// Makes one step of Adam along the clipped mean of the gradients.
    fn descend(&mut self) {
        // Four sums, as one would wait for itself; in the order of the parameters.
        let (fours, rest) = self.gradient.as_chunks::<WIDTH>();
        let mut squares = [0f64; WIDTH];
        for four in fours.iter().map(|four| four.as_slice()).chain([rest]) {
            let terms = four.iter().map(|g| f64::from(*g) * f64::from(*g));
            squares.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
        let share = 1.0 / self.batch.len() as f64;
        let length = squares.iter().sum::<f64>().sqrt() * share;
        let scale = Lanes::all(if length > CLIP { share * CLIP / length } else { share } as f32);
        self.decayed.0 *= DECAY.0;
        self.decayed.1 *= DECAY.1;
        let rate = Lanes::all(RATE / (1.0 - self.decayed.0));
        let second = Lanes::all(1.0 / (1.0 - self.decayed.1));
        let (least, kept) = (Lanes::all(1e-8), DECAY);
        let (new_mean, new_square) = (Lanes::all(1.0 - kept.0), Lanes::all(1.0 - kept.1));
        let step = |[parameter, gradient, mean, square]: [Lanes; 4]| {
            let gradient = gradient * scale;
            let mean = mean + new_mean * (gradient - mean);
            let square = square + new_square * (gradient * gradient - square);
            (parameter - rate * mean / ((square * second).sqrt() + least), mean, square)
        };
        let (parameters, parameters_rest) = self.vae.parameters.as_chunks_mut::<WIDTH>();
        let (means, means_rest) = self.moments.0.as_chunks_mut::<WIDTH>();
        let (squares, squares_rest) = self.moments.1.as_chunks_mut::<WIDTH>();
        for (((parameter, gradient), mean), square) in
            parameters.iter_mut().zip(fours).zip(means).zip(squares)
        {
            let stepped = step([&*parameter, gradient, &*mean, &*square].map(Lanes::of));
            stepped.0.put(parameter);
            stepped.1.put(mean);
            stepped.2.put(square);
        }
        let stepped = step([&*parameters_rest, rest, &*means_rest, &*squares_rest].map(Lanes::of_some));
        stepped.0.put_some(parameters_rest);
        stepped.1.put_some(means_rest);
        stepped.2.put_some(squares_rest);
    }

    /// Returns the log-likelihoods of some training requests, in the order of their ids. True at the end of a batch.
    fn measure(&mut self) -> bool {
        if self.at == 0 {
            self.pass.prepare(self.vae.sizes, &self.vae.parameters);
        }
        let end = (self.at + self.vae.stride()).min(self.at / BATCH * BATCH + BATCH).min(self.rows.len());
        self.input.clear();
        for row in &self.rows[self.at..end] {
            self.vae.standardise(row.iter().copied(), &mut self.input);
        }
        let found = self.vae.log_likelihoods(&self.input, self.at as u64, &mut self.pass);
        self.likelihoods.extend(found);
        self.at = end;
        end.is_multiple_of(BATCH) || end == self.rows.len()
    }
}

/// Returns whether a training request is not learned from; by its id, so that it is the same in any set.
fn is_held_out(trace_id: &str) -> bool {
    // A number of its own, so that the halves of the evaluation say nothing of it.
    Random::of(0x0076_6165, trace_id).below(HELD_OUT) == 0
}

impl Vae {
    /// Returns whether it has a column for each call path and the parameters of a network of its sizes: it may come from
    /// a file that somebody wrote.
    pub(in crate::anomalies) fn is_sound(&self) -> bool {
        let Sizes { inputs, hidden, latent, flow } = self.sizes;
        let most = self.parameters.len().min(1 << 28);
        hidden > 0
            && latent > 0
            && inputs > 0
            && self.paths.is_sound()
            && self.columns.len() == self.paths.nodes.len()
            && inputs as usize == self.columns.len()
            && [inputs, hidden, latent, flow].iter().all(|&size| size as usize <= most)
            && self.sizes.parameters() == self.parameters.len()
    }

    /// Returns the log-likelihoods of the requests learned from, ascending.
    pub fn likelihoods(&self) -> &[f32] {
        &self.likelihoods
    }

    /// Returns the log-likelihoods of the training requests that were held out, ascending.
    pub fn held_out(&self) -> &[f32] {
        &self.held_out
    }

    /// Returns whether a request that was learned from has a call path.
    pub(crate) fn is_known(&self, path: u32) -> bool {
        self.columns[path as usize].deviation > 0.0
    }

    /// Adds a row of the network's input: its known cells as deviations from the columns' means.
    pub(crate) fn standardise(&self, cells: impl Iterator<Item = FeatureCell>, out: &mut Vec<f32>) {
        let from = out.len();
        out.resize(from + self.columns.len(), ABSENT);
        for cell in cells {
            let column = self.columns[cell.path as usize];
            if column.deviation == 0.0 {
                continue;
            }
            out[from + cell.path as usize] = ((cell.us as f64 - column.mean) / column.deviation) as f32;
        }
    }

    /// Estimates by importance sampling the logarithm of the mean of p(x | z) p(z) / q(z | x) over draws of z from q. The pass has
    /// the parameters already.
    pub(crate) fn log_likelihoods(&self, input: &[f32], batch: u64, pass: &mut Pass) -> Vec<f32> {
        let rows = input.len() / self.columns.len().max(1);
        pass.encode(self.sizes, &self.parameters, input, rows);
        pass.repeat(SAMPLES, self.sizes.latent as usize);
        pass.sample(self.sizes, &self.parameters, input, &mut Random::new(self.seed, 2, batch));
        let samples = pass.evidence().chunks_exact(SAMPLES).map(|samples| {
            let most = samples.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let sum: f32 = samples.iter().map(|sample| exp(sample - most)).sum();
            most + ln(sum / SAMPLES as f32)
        });
        samples.collect()
    }

    /// Returns a pass that has the parameters.
    pub(crate) fn pass(&self) -> Pass {
        let mut pass = Pass::default();
        pass.prepare(self.sizes, &self.parameters);
        pass
    }

    /// Returns the requests that are judged in a step that is not too long.
    pub fn stride(&self) -> usize {
        let Sizes { inputs, hidden, .. } = self.sizes;
        (WORK / 2 / (inputs as usize * hidden as usize).max(1) / SAMPLES).clamp(1, BATCH)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anomalies::AnomalyBaseline;
    use crate::anomalies::paper::FeatureEncoding;
    use crate::flame::Context;
    use pathlight_base::encoding;
    use pathlight_trace::{Endpoint, NO_ROW};

    /// Returns an auto-encoder of one input. Its decoder ignores z and gives mean 0 and deviation softplus(0.5) + 1e-4.
    fn toy() -> Vae {
        let sizes = Sizes { inputs: 1, hidden: 2, latent: 1, flow: 0 };
        let mut parameters = vec![0.0; sizes.parameters()];
        // The last bias is that of the deviation.
        let last = parameters.len() - 1;
        parameters[last] = 0.5;
        // The bias of the latent deviation makes q standard normal: encode 1*2+2, latent mean 2+1, latent deviation 2
        // weights, then its bias.
        parameters[4 + 3 + 2] = 0.541_1;
        Vae {
            paths: Contexts {
                endpoints: vec![Endpoint::new("shop", "buy")],
                nodes: vec![Context { parent: NO_ROW, endpoint: 0, value: () }],
            },
            columns: vec![Column { mean: 0.0, deviation: 1.0 }],
            sizes,
            parameters,
            likelihoods: Vec::new(),
            seed: 1,
            held_out: Vec::new(),
        }
    }

    #[test]
    fn the_likelihood_of_a_toy_density_is_found() {
        // p(x) is a normal density whatever z is, and every importance weight is p(z) / q(z): its mean is 1.
        let vae = toy();
        let d = (0.5f64.exp() + 1.0).ln() + 1e-4;
        for x in [-2.0f32, 0.0, 0.7, 3.0] {
            let found = vae.log_likelihoods(&[x], 0, &mut vae.pass())[0];
            let wide = f64::from(x);
            let expected = -0.5 * (wide / d) * (wide / d) - d.ln() - 0.5 * (2.0 * std::f64::consts::PI).ln();
            assert!((f64::from(found) - expected).abs() < 2e-3, "{x}: {found} against {expected}");
        }
    }

    #[test]
    fn a_model_from_before_held_out_likelihoods_is_read() {
        let model =
            AnomalyBaseline { vae: Some((FeatureEncoding::Scpv, toy())), ..AnomalyBaseline::default() };
        let mut bytes = encoding::write(&model);
        assert_eq!(bytes.pop(), Some(0), "the empty list of held-out likelihoods comes last");
        let file = [b"pathlight anomaly model 2\n", bytes.as_slice()].concat();
        let mut read = AnomalyBaseline::from_bytes(&file).unwrap();
        assert!(std::mem::take(&mut read.tree.is_raw), "it judges as its version did");
        assert_eq!(read, model);
        assert!(AnomalyBaseline::from_bytes(&file[..file.len() - 1]).is_err());
    }

    #[test]
    fn a_network_without_width_is_refused() {
        assert!(toy().is_sound());
        for sizes in [
            Sizes { hidden: 0, ..toy().sizes },
            Sizes { latent: 0, ..toy().sizes },
            Sizes { inputs: 0, ..toy().sizes },
        ] {
            let mut vae = Vae { sizes, parameters: vec![0.0; sizes.parameters()], ..toy() };
            if sizes.inputs == 0 {
                (vae.paths, vae.columns) = (Contexts::default(), Vec::new());
            }
            assert!(!vae.is_sound(), "{sizes:?}");
        }
    }
}
