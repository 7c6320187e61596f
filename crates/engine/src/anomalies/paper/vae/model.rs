//! The network: its parameters, what it gives, and the gradients (paper appendix B).

use super::functions::{ln, lns, sigmoid, softplus, softplus_and_slope, tanh};
use super::kernels::{Factor, PackedMatrix, Prepared};
use super::lanes::{Lanes, WIDTH, add_scaled};
use pathlight_base::statistics::Random;
use serde::{Deserialize, Serialize};

/// Slope of the leaky rectifier below 0.
const LEAK: f32 = 0.2;
/// Added to every deviation.
const LEAST_DEVIATION: f32 = 1e-4;
/// Value of a call path that a request does not have: of most columns nothing else is in the input.
pub const ABSENT: f32 = -1.0;
/// Half the logarithm of 2 pi.
const HALF_LN_TAU: f32 = 0.918_938_5;

/// Sizes of the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sizes {
    /// Columns of the input.
    pub inputs: u32,
    /// Width of the hidden layer on either side.
    pub hidden: u32,
    /// Latent variables.
    pub latent: u32,
    /// Steps of the planar flow; 0 is none.
    pub flow: u32,
}

/// A dense layer within the parameters: weights (inputs x outputs, in rows), then biases.
#[derive(Clone, Copy)]
struct Layer {
    at: usize,
    inputs: usize,
    outputs: usize,
}

impl Layer {
    fn end(&self) -> usize {
        self.at + (self.inputs + 1) * self.outputs
    }

    fn weights<'a>(&self, parameters: &'a [f32]) -> &'a [f32] {
        &parameters[self.at..self.at + self.inputs * self.outputs]
    }

    fn biases<'a>(&self, parameters: &'a [f32]) -> &'a [f32] {
        &parameters[self.at + self.inputs * self.outputs..self.end()]
    }
}

/// Layout of the parameters.
#[derive(Clone, Copy)]
struct Plan {
    encode: Layer,
    latent_mean: Layer,
    latent_deviation: Layer,
    decode: Layer,
    mean: Layer,
    deviation: Layer,
    /// Per step u, w (each as long as the latent variables) and b.
    flow: usize,
    end: usize,
}

impl Sizes {
    fn plan(&self) -> Plan {
        let (inputs, hidden, latent) = (self.inputs as usize, self.hidden as usize, self.latent as usize);
        let layer = |at, inputs, outputs| Layer { at, inputs, outputs };
        let encode = layer(0, inputs, hidden);
        let latent_mean = layer(encode.end(), hidden, latent);
        let latent_deviation = layer(latent_mean.end(), hidden, latent);
        let decode = layer(latent_deviation.end(), latent, hidden);
        let mean = layer(decode.end(), hidden, inputs);
        let deviation = layer(mean.end(), hidden, inputs);
        let flow = deviation.end();
        let end = flow + self.flow as usize * (2 * latent + 1);
        Plan { encode, latent_mean, latent_deviation, decode, mean, deviation, flow, end }
    }

    /// Returns the number of parameters.
    pub fn parameters(&self) -> usize {
        self.plan().end
    }

    /// Returns the seeded first parameters: weights normal with a variance of 2 / (inputs + outputs), biases 0, flow
    /// near identity.
    pub fn initial(&self, random: &mut Random) -> Vec<f32> {
        let plan = self.plan();
        let mut out = vec![0.0; plan.end];
        for layer in
            [plan.encode, plan.latent_mean, plan.latent_deviation, plan.decode, plan.mean, plan.deviation]
        {
            let scale = (2.0 / (layer.inputs + layer.outputs) as f64).sqrt();
            let weights = &mut out[layer.at..layer.at + layer.inputs * layer.outputs];
            weights.iter_mut().for_each(|weight| *weight = (random.normal() * scale) as f32);
        }
        out[plan.flow..].iter_mut().for_each(|weight| *weight = (random.normal() * 0.05) as f32);
        out
    }
}

/// Weights as products read them: of each layer forward and back.
#[derive(Clone, Default)]
struct Weights {
    /// Output of the first layer where every call path is absent.
    absent: Vec<f32>,
    latent: [[Prepared; 2]; 2],
    decode: [Prepared; 2],
    given: [[Prepared; 2]; 2],
}

/// Everything between input and loss of some rows.
#[derive(Clone, Default)]
pub struct Pass {
    packed: PackedMatrix,
    weights: Weights,
    rows: usize,
    hidden_in: Vec<f32>,
    latent_mean: Vec<f32>,
    /// Before softplus.
    latent_raw: Vec<f32>,
    noise: Vec<f32>,
    /// The latent variables before each step of the flow, and after the last.
    latents: Vec<Vec<f32>>,
    hidden_out: Vec<f32>,
    mean: Vec<f32>,
    raw: Vec<f32>,
    /// Per row: logarithm of p(x | z) p(z) / q(z | x).
    evidence: Vec<f32>,
    // Gradients by the same names; those of the mean and the raw deviation of the input stand in their places.
    d_hidden: Vec<f32>,
    d_latent: Vec<f32>,
    d_latent_mean: Vec<f32>,
    d_latent_raw: Vec<f32>,
}

/// Returns the columns of a row that are not absent, as what is to be added to [`ABSENT`] there.
fn present(row: &[f32]) -> impl Iterator<Item = (usize, f32)> {
    let columns = row.iter().enumerate();
    columns.filter(|(_, x)| **x != ABSENT).map(|(column, x)| (column, *x - ABSENT))
}

/// Returns the logarithm of the density of one row of input; mean and raw deviation give way to their gradients of the
/// loss.
fn give(x: &[f32], mean: &mut [f32], raw: &mut [f32]) -> f32 {
    let terms = |x: Lanes, mean: Lanes, raw: Lanes| {
        let (soft, slope) = softplus_and_slope(raw);
        let inverse = Lanes::all(1.0) / (soft + Lanes::all(LEAST_DEVIATION));
        let off = (x - mean) * inverse;
        let square = off * off;
        // The logarithm of the inverse is minus that of the deviation.
        let term = lns(inverse) - Lanes::all(0.5) * square - Lanes::all(HALF_LN_TAU);
        (term, (mean - x) * inverse * inverse, (Lanes::all(1.0) - square) * inverse * slope)
    };
    let (x, x_rest) = x.as_chunks::<WIDTH>();
    let ((mean, mean_rest), (raw, raw_rest)) = (mean.as_chunks_mut(), raw.as_chunks_mut());
    let mut sums = Lanes::all(0.0);
    for ((x, mean), raw) in x.iter().zip(mean).zip(raw) {
        let (term, d_mean, d_raw) = terms(Lanes::of(x), Lanes::of(mean), Lanes::of(raw));
        sums = sums + term;
        d_mean.put(mean);
        d_raw.put(raw);
    }
    let (term, d_mean, d_raw) =
        terms(Lanes::of_some(x_rest), Lanes::of_some(mean_rest), Lanes::of_some(raw_rest));
    d_mean.put_some(mean_rest);
    d_raw.put_some(raw_rest);
    sums.array().iter().chain(&term.array()[..x_rest.len()]).sum()
}

fn dense(
    packed: &mut PackedMatrix,
    out: &mut Vec<f32>,
    rows: usize,
    input: &[f32],
    layer: (Layer, &Prepared),
    parameters: &[f32],
) {
    let (layer, weights) = layer;
    out.clear();
    (0..rows).for_each(|_| out.extend_from_slice(layer.biases(parameters)));
    packed.add_prepared(out, rows, Factor::plain(input, layer.inputs), weights);
}

/// Adds a layer's gradients of weights and biases to `gradient`, and, by its weights turned round, that of its input.
fn dense_back(
    packed: &mut PackedMatrix,
    (rows, layer): (usize, Layer),
    (input, d_out): (&[f32], &[f32]),
    gradient: &mut [f32],
    (back, d_input): (&Prepared, &mut [f32]),
) {
    let (weights, biases) = gradient[layer.at..layer.end()].split_at_mut(layer.inputs * layer.outputs);
    let sizes = (layer.inputs, rows, layer.outputs);
    packed.add_product(
        weights,
        sizes,
        Factor::transposed(input, layer.inputs),
        Factor::plain(d_out, layer.outputs),
    );
    d_out.chunks_exact(layer.outputs).for_each(|d_out| add_scaled(biases, 1.0, d_out));
    packed.add_prepared(d_input, rows, Factor::plain(d_out, layer.outputs), back);
}

fn rectify(values: &mut [f32]) {
    values.iter_mut().for_each(|x| *x = if *x < 0.0 { *x * LEAK } else { *x });
}

fn rectify_back(values: &[f32], gradient: &mut [f32]) {
    gradient.iter_mut().zip(values).filter(|(_, x)| **x < 0.0).for_each(|(d, _)| *d *= LEAK);
}

/// One step of a planar flow, z + u' tanh(w z + b) with u' such that the step can be inverted (w u' >= -1).
struct Planar<'a> {
    u: &'a [f32],
    w: &'a [f32],
    b: f32,
    wu: f32,
    ww: f32,
}

impl<'a> Planar<'a> {
    fn new(parameters: &'a [f32], latent: usize) -> Planar<'a> {
        let (u, w) = (&parameters[..latent], &parameters[latent..2 * latent]);
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        Planar { u, w, b: parameters[2 * latent], wu: dot(w, u), ww: dot(w, w).max(1e-12) }
    }

    /// Returns what is added to u along w.
    fn lift(&self) -> f32 {
        (softplus(self.wu) - 1.0 - self.wu) / self.ww
    }

    /// Returns w u', which is softplus(w u) - 1.
    fn wu_lifted(&self) -> f32 {
        self.wu + self.lift() * self.ww
    }

    /// Moves z on; gives the logarithm of the determinant.
    fn forward(&self, z: &mut [f32]) -> f32 {
        let t = tanh(self.b + self.w.iter().zip(&*z).map(|(w, z)| w * z).sum::<f32>());
        let lift = self.lift();
        z.iter_mut().zip(self.u.iter().zip(self.w)).for_each(|(z, (u, w))| *z += (u + lift * w) * t);
        ln((1.0 + (1.0 - t * t) * self.wu_lifted()).abs().max(1e-12))
    }

    /// Adds to the gradients of u, w and b what follows from the gradient of the loss by the moved z (`d`, which
    /// becomes that by z) and the weight of the logarithm of the determinant in the loss.
    fn backward(&self, z: &[f32], d: &mut [f32], weight: f32, gradient: &mut [f32]) {
        let latent = z.len();
        let (d_u, rest) = gradient.split_at_mut(latent);
        let (d_w, d_b) = rest.split_at_mut(latent);
        let t = tanh(self.b + self.w.iter().zip(z).map(|(w, z)| w * z).sum::<f32>());
        let (slope, lift, c) = (1.0 - t * t, self.lift(), self.wu_lifted());
        let det = 1.0 + slope * c;
        // d by u' is d * t; by t it is d u' and, through the determinant, weight * c * (-2 t) / det.
        let d_uw: f32 = d.iter().zip(self.w).map(|(d, w)| d * w).sum();
        let d_uu: f32 = d.iter().zip(self.u).map(|(d, u)| d * u).sum();
        let d_t = d_uu + lift * d_uw - weight * c * 2.0 * t / det;
        let d_inner = d_t * slope;
        // c = softplus(w u) - 1 and u' = u + lift w depend on w u, w w too.
        let d_c = weight * slope / det;
        let d_lift = t * d_uw;
        let soft = sigmoid(self.wu);
        let d_wu = d_c * soft + d_lift * (soft - 1.0) / self.ww;
        let d_ww = -d_lift * lift / self.ww;
        for i in 0..latent {
            d_u[i] += d[i] * t + d_wu * self.w[i];
            d_w[i] += d[i] * t * lift + d_inner * z[i] + d_wu * self.u[i] + 2.0 * d_ww * self.w[i];
            d[i] += d_inner * self.w[i];
        }
        d_b[0] += d_inner;
    }
}

impl Layer {
    /// Prepares the weights to go forward by and back.
    fn prepare(&self, parameters: &[f32], [forward, back]: &mut [Prepared; 2]) {
        let weights = self.weights(parameters);
        forward.set(Factor::plain(weights, self.outputs), (self.inputs, self.outputs));
        back.set(Factor::transposed(weights, self.outputs), (self.outputs, self.inputs));
    }
}

impl Pass {
    /// Takes over parameters; needed whenever they have changed, before anything below is done by them.
    pub fn prepare(&mut self, sizes: Sizes, parameters: &[f32]) {
        let (plan, weights) = (sizes.plan(), &mut self.weights);
        weights.absent.clear();
        weights.absent.extend_from_slice(plan.encode.biases(parameters));
        for column in plan.encode.weights(parameters).chunks_exact(plan.encode.outputs) {
            add_scaled(&mut weights.absent, ABSENT, column);
        }
        plan.latent_mean.prepare(parameters, &mut weights.latent[0]);
        plan.latent_deviation.prepare(parameters, &mut weights.latent[1]);
        plan.decode.prepare(parameters, &mut weights.decode);
        plan.mean.prepare(parameters, &mut weights.given[0]);
        plan.deviation.prepare(parameters, &mut weights.given[1]);
    }

    /// Runs rows of input through the network with seeded noise; afterwards [`evidence`](Self::evidence) is there.
    pub fn forward(&mut self, sizes: Sizes, parameters: &[f32], input: &[f32], random: &mut Random) {
        let rows = input.len() / sizes.inputs.max(1) as usize;
        self.encode(sizes, parameters, input, rows);
        self.sample(sizes, parameters, input, random);
    }

    /// Computes the part before the noise.
    pub fn encode(&mut self, sizes: Sizes, parameters: &[f32], input: &[f32], rows: usize) {
        let plan = sizes.plan();
        self.rows = rows;
        let (packed, weights) = (&mut self.packed, &self.weights);
        let [[mean, _], [raw, _]] = &weights.latent;
        self.hidden_in.clear();
        let encoding = plan.encode.weights(parameters);
        let hidden = plan.encode.outputs;
        for row in input.chunks_exact(plan.encode.inputs) {
            let from = self.hidden_in.len();
            self.hidden_in.extend_from_slice(&weights.absent);
            for (column, x) in present(row) {
                add_scaled(&mut self.hidden_in[from..], x, &encoding[column * hidden..][..hidden]);
            }
        }
        rectify(&mut self.hidden_in);
        dense(packed, &mut self.latent_mean, rows, &self.hidden_in, (plan.latent_mean, mean), parameters);
        dense(packed, &mut self.latent_raw, rows, &self.hidden_in, (plan.latent_deviation, raw), parameters);
    }

    /// Makes so many rows of each that was encoded, so that each has several samples; there is no way back from them.
    pub fn repeat(&mut self, times: usize, latent: usize) {
        for values in [&mut self.latent_mean, &mut self.latent_raw] {
            *values = values.chunks_exact(latent).flat_map(|row| row.repeat(times)).collect();
        }
        self.rows *= times;
    }

    /// Computes the part from the noise on.
    pub fn sample(&mut self, sizes: Sizes, parameters: &[f32], input: &[f32], random: &mut Random) {
        let (plan, latent, rows) = (sizes.plan(), sizes.latent as usize, self.rows);
        self.noise.clear();
        self.noise.extend((0..rows * latent).map(|_| random.normal() as f32));
        self.evidence.clear();
        self.evidence.resize(rows, 0.0);
        let mut z: Vec<f32> = Vec::with_capacity(rows * latent);
        for at in 0..rows * latent {
            let deviation = softplus(self.latent_raw[at]) + LEAST_DEVIATION;
            z.push(self.latent_mean[at] + deviation * self.noise[at]);
            // Less ln q(z | x).
            let half = 0.5 * self.noise[at] * self.noise[at];
            self.evidence[at / latent] += ln(deviation) + half + HALF_LN_TAU;
        }
        self.latents.clear();
        for step in 0..sizes.flow as usize {
            let planar = Planar::new(&parameters[plan.flow + step * (2 * latent + 1)..], latent);
            self.latents.push(z.clone());
            for (z, evidence) in z.chunks_exact_mut(latent).zip(&mut self.evidence) {
                *evidence += planar.forward(z);
            }
        }
        for (z, evidence) in z.chunks_exact(latent).zip(&mut self.evidence) {
            *evidence -= z.iter().map(|z| 0.5 * z * z + HALF_LN_TAU).sum::<f32>();
        }
        self.latents.push(z);
        let z = &self.latents[sizes.flow as usize];
        let (packed, weights) = (&mut self.packed, &self.weights);
        let [[mean, _], [raw, _]] = &weights.given;
        dense(packed, &mut self.hidden_out, rows, z, (plan.decode, &weights.decode[0]), parameters);
        rectify(&mut self.hidden_out);
        dense(packed, &mut self.mean, rows, &self.hidden_out, (plan.mean, mean), parameters);
        dense(packed, &mut self.raw, rows, &self.hidden_out, (plan.deviation, raw), parameters);
        let inputs = sizes.inputs as usize;
        // Several samples may be of one row of the input.
        let samples = rows / (input.len() / inputs.max(1)).max(1);
        let given = self.mean.chunks_exact_mut(inputs).zip(self.raw.chunks_exact_mut(inputs));
        for (row, (evidence, (mean, raw))) in self.evidence.iter_mut().zip(given).enumerate() {
            *evidence += give(&input[row / samples.max(1) * inputs..][..inputs], mean, raw);
        }
    }

    /// Returns, by row, the logarithm of p(x | z) p(z) / q(z | x) for the last noise: one sample of the evidence bound.
    pub fn evidence(&self) -> &[f32] {
        &self.evidence
    }

    /// Adds the gradient of the loss (the negative evidence bound of all rows) to `gradient`; once after a forward pass.
    pub fn backward(&mut self, sizes: Sizes, parameters: &[f32], input: &[f32], gradient: &mut [f32]) {
        let (plan, latent, rows) = (sizes.plan(), sizes.latent as usize, self.rows);
        let (hidden, weights) = (sizes.hidden as usize, &self.weights);
        let zeroed = |values: &mut Vec<f32>, n: usize| {
            values.clear();
            values.resize(n, 0.0);
        };
        zeroed(&mut self.d_hidden, rows * hidden);
        let layers = [(plan.mean, &self.mean), (plan.deviation, &self.raw)];
        for ((layer, d_out), [_, back]) in layers.into_iter().zip(&weights.given) {
            let values = (self.hidden_out.as_slice(), d_out.as_slice());
            let d_input = (back, self.d_hidden.as_mut_slice());
            dense_back(&mut self.packed, (rows, layer), values, gradient, d_input);
        }
        rectify_back(&self.hidden_out, &mut self.d_hidden);
        let z = &self.latents[sizes.flow as usize];
        // The prior: the loss has + z^2 / 2.
        self.d_latent.clone_from(z);
        let values = (z.as_slice(), self.d_hidden.as_slice());
        let d_input = (&weights.decode[1], self.d_latent.as_mut_slice());
        dense_back(&mut self.packed, (rows, plan.decode), values, gradient, d_input);
        for step in (0..sizes.flow as usize).rev() {
            let at = plan.flow + step * (2 * latent + 1);
            let planar = Planar::new(&parameters[at..], latent);
            let gradient = &mut gradient[at..at + 2 * latent + 1];
            for (z, d) in self.latents[step].chunks_exact(latent).zip(self.d_latent.chunks_exact_mut(latent))
            {
                planar.backward(z, d, -1.0, gradient);
            }
        }
        // z = mean + deviation * noise; the loss has - ln deviation.
        self.d_latent_mean.clone_from(&self.d_latent);
        self.d_latent_raw.clear();
        for ((d, noise), raw) in self.d_latent.iter().zip(&self.noise).zip(&self.latent_raw) {
            let deviation = softplus(*raw) + LEAST_DEVIATION;
            self.d_latent_raw.push((d * noise - 1.0 / deviation) * sigmoid(*raw));
        }
        zeroed(&mut self.d_hidden, rows * hidden);
        let layers = [(plan.latent_mean, &self.d_latent_mean), (plan.latent_deviation, &self.d_latent_raw)];
        for ((layer, d_out), [_, back]) in layers.into_iter().zip(&weights.latent) {
            let values = (self.hidden_in.as_slice(), d_out.as_slice());
            let d_input = (back, self.d_hidden.as_mut_slice());
            dense_back(&mut self.packed, (rows, layer), values, gradient, d_input);
        }
        rectify_back(&self.hidden_in, &mut self.d_hidden);
        // As the way there: what is absent in all rows, then what is not.
        let layer = plan.encode;
        let (weights, biases) = gradient[layer.at..layer.end()].split_at_mut(layer.inputs * hidden);
        let mut sum = vec![0.0; hidden];
        self.d_hidden.chunks_exact(hidden).for_each(|d| add_scaled(&mut sum, 1.0, d));
        add_scaled(biases, 1.0, &sum);
        weights.chunks_exact_mut(hidden).for_each(|weights| add_scaled(weights, ABSENT, &sum));
        for (row, d) in input.chunks_exact(layer.inputs).zip(self.d_hidden.chunks_exact(hidden)) {
            for (column, x) in present(row) {
                add_scaled(&mut weights[column * hidden..][..hidden], x, d);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gradients_are_those_of_finite_differences() {
        for flow in [0, 2] {
            let sizes = Sizes { inputs: 5, hidden: 7, latent: 3, flow };
            let mut random = Random::new(11, 0, u64::from(flow));
            let mut parameters = sizes.initial(&mut random);
            parameters.iter_mut().for_each(|p| *p += 0.1 * random.normal() as f32);
            // Long directions of the flow: else its steps are so wide that 32 bits hold no slope of the loss.
            let flow_from = sizes.plan().flow;
            parameters[flow_from..].iter_mut().for_each(|p| *p *= 4.0);
            // And wide deviations: else the loss is too large for that.
            let layer = sizes.plan().deviation;
            parameters[layer.end() - layer.outputs..layer.end()].iter_mut().for_each(|p| *p += 2.0);
            let mut input: Vec<f32> = (0..4 * 5).map(|_| random.normal() as f32).collect();
            (input[3], input[10], input[11]) = (ABSENT, ABSENT, ABSENT);
            let loss = |parameters: &[f32]| {
                let mut pass = Pass::default();
                pass.prepare(sizes, parameters);
                pass.forward(sizes, parameters, &input, &mut Random::new(1, 0, 0));
                -pass.evidence().iter().map(|e| f64::from(*e)).sum::<f64>() / 4.0
            };
            let mut pass = Pass::default();
            pass.prepare(sizes, &parameters);
            pass.forward(sizes, &parameters, &input, &mut Random::new(1, 0, 0));
            let mut gradient = vec![0.0; sizes.parameters()];
            pass.backward(sizes, &parameters, &input, &mut gradient);
            gradient.iter_mut().for_each(|d| *d /= 4.0);
            let middle = loss(&parameters);
            let mut kinks = 0;
            for at in 0..parameters.len() {
                let (kept, step) = (parameters[at], 2e-3f32);
                let mut slope = |step: f32| {
                    parameters[at] = kept + step;
                    let slope = (loss(&parameters) - middle) / f64::from(step);
                    parameters[at] = kept;
                    slope
                };
                let (above, below) = (slope(step), slope(-step));
                let (expected, found) = ((above + below) / 2.0, f64::from(gradient[at]));
                // Where the rectifier bends within the step, there is no slope to compare with.
                if (above - below).abs() > 3e-2 * expected.abs().max(1.0) {
                    kinks += 1;
                    continue;
                }
                assert!(
                    (found - expected).abs() < 2e-2 * expected.abs().max(1.0),
                    "parameter {at} of flow {flow}: {found} against {expected} at {middle}"
                );
            }
            assert!(kinks * 5 < parameters.len(), "{kinks} bends");
        }
    }
}
