//! The settings of finding abnormal requests, as a part of the [address](crate::address).

use super::severity::label_key;
use pathlight_base::fragment::Writer;
use pathlight_engine::anomalies::paper::vae::VaeSettings;
use pathlight_engine::anomalies::{EXPLAINED, RequestLabel};
use pathlight_engine::requests::RequestRef;

/// A size of the network of the auto-encoder: its name, its key in tests, the least and greatest that may be chosen, and
/// where it stands in the settings.
pub type Size = (&'static str, &'static str, (u32, u32), fn(&mut VaeSettings) -> &mut u32);

const MOST: VaeSettings = VaeSettings::MOST;

/// The sizes that may be chosen.
pub const SIZES: [Size; 5] = [
    ("Hidden", "hidden", (1, MOST.hidden), |network| &mut network.hidden),
    ("Latent", "latent", (1, MOST.latent), |network| &mut network.latent),
    ("Flow steps", "flow", (0, MOST.flow), |network| &mut network.flow),
    ("Epochs", "epochs", (1, MOST.epochs), |network| &mut network.epochs),
    ("Time parts", "parts", (0, MOST.parts), |network| &mut network.parts),
];

/// The normal requests that others are judged against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JudgedAgainst {
    /// Set A where set B is compared with it, else each against all others.
    #[default]
    Default,
    /// Each against all others.
    Others,
    /// Those that began at this time or later against those before it, microseconds since the epoch.
    Before(u64),
    /// Those of the set to compare with against those of the set looked at.
    SetA,
}

impl JudgedAgainst {
    /// Returns its key in the list of choices.
    pub fn key(self) -> &'static str {
        match self {
            JudgedAgainst::Default | JudgedAgainst::Others => "others",
            JudgedAgainst::Before(_) => "before",
            JudgedAgainst::SetA => "a",
        }
    }

    /// Returns what is normal by a key of the list; `half_us` is the middle of all that is loaded.
    pub fn from_key(key: &str, half_us: u64) -> JudgedAgainst {
        match key {
            "before" => JudgedAgainst::Before(half_us),
            "a" => JudgedAgainst::SetA,
            _ => JudgedAgainst::Others,
        }
    }
}

/// Choices of how abnormal requests are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnomalyChoice {
    /// The normal requests.
    pub normal: JudgedAgainst,
    /// Accepted rate of false alarms in millionths.
    pub alpha_ppm: u32,
    /// Share of the baseline that may be abnormal, in millionths (`contaminated=0.05`).
    pub contaminated_ppm: u32,
    /// Whether the auto-encoder judges.
    pub vae: bool,
    /// The sizes of its network (`network=500,10,10,20,1,0`: hidden, latent, steps of the flow, epochs, seed, parts of time).
    pub network: VaeSettings,
    /// Whether the evaluation is shown.
    pub evaluate: bool,
    /// Number of requests to explain, the most anomalous (`explain=1000`).
    pub explain: u32,
    /// What was said of judged requests (`label=normal:ROOT:TRACE`, `label=incident:ROOT:TRACE`), a key for each.
    pub labels: Vec<RequestLabel>,
}

impl Default for AnomalyChoice {
    fn default() -> AnomalyChoice {
        let network = VaeSettings::default();
        AnomalyChoice {
            normal: JudgedAgainst::default(),
            alpha_ppm: 10_000,
            contaminated_ppm: 0,
            vae: false,
            network,
            evaluate: false,
            explain: EXPLAINED,
            labels: Vec::new(),
        }
    }
}

impl AnomalyChoice {
    /// Sets the share of the baseline that may be abnormal, in percent up to 50; what is no number changes nothing.
    pub fn contaminate(&mut self, percent: Option<f64>) {
        if let Some(percent) = percent.filter(|percent| percent.is_finite()) {
            self.contaminated_ppm = (percent.clamp(0.0, 50.0) * 1e4).round() as u32;
        }
    }

    /// Returns what was said of a request: whether it is normal.
    pub fn label(&self, request: &RequestRef) -> Option<bool> {
        self.labels.iter().rev().find(|label| label.names(request)).map(|label| label.is_normal)
    }

    /// Says of a request whether it is normal, or takes that back if it was said before.
    pub fn toggle_label(&mut self, request: &RequestRef, is_normal: bool) {
        let before = self.label(request);
        self.labels.retain(|label| !label.names(request));
        if before != Some(is_normal) {
            let RequestRef { trace_id, root_span_id, .. } = request.clone();
            self.labels.push(RequestLabel { trace_id, root_span_id: Some(root_span_id), is_normal });
        }
    }

    fn take_label(&mut self, value: &str) {
        let mut parts = value.splitn(3, ':');
        if let (Some(kind @ ("normal" | "incident")), Some(root), Some(trace_id)) =
            (parts.next(), parts.next(), parts.next())
        {
            self.labels.push(RequestLabel {
                trace_id: trace_id.to_owned(),
                root_span_id: (!root.is_empty()).then(|| root.to_owned()),
                is_normal: kind == "normal",
            });
        }
    }

    /// Takes a key of a fragment; false if it is none of these.
    pub(crate) fn take(&mut self, key: &str, value: &str) -> bool {
        match key {
            "normal" => {
                self.normal = match value.strip_prefix("before:").and_then(|us| us.parse().ok()) {
                    Some(us) => JudgedAgainst::Before(us),
                    None if value == "a" => JudgedAgainst::SetA,
                    None if value == "others" => JudgedAgainst::Others,
                    None => JudgedAgainst::Default,
                }
            }
            "alpha" => {
                let share = value.parse().ok().filter(|share: &f64| *share > 0.0 && *share <= 1.0);
                self.alpha_ppm = share.map_or(10_000, |share| ((share * 1e6).round() as u32).max(1));
            }
            "contaminated" => {
                let share = value.parse().ok().filter(|share: &f64| (0.0..=1.0).contains(share));
                self.contaminated_ppm = share.map_or(0, |share| (share * 1e6).round() as u32);
            }
            "detector" => self.vae = value == "vae",
            "network" => self.network = network(value).unwrap_or_default(),
            "label" => self.take_label(value),
            "explain" => self.explain = value.parse().unwrap_or(EXPLAINED),
            "evaluate" => self.evaluate = value == "1",
            _ => return false,
        }
        true
    }

    /// Adds the keys that are not as by default.
    pub(crate) fn put(&self, out: &mut Writer) {
        match self.normal {
            JudgedAgainst::Default => {}
            JudgedAgainst::Others => out.put("normal", "others"),
            JudgedAgainst::Before(us) => out.put("normal", &format!("before:{us}")),
            JudgedAgainst::SetA => out.put("normal", "a"),
        }
        if self.alpha_ppm != AnomalyChoice::default().alpha_ppm {
            out.put("alpha", &(f64::from(self.alpha_ppm) / 1e6).to_string());
        }
        if self.contaminated_ppm > 0 {
            out.put("contaminated", &(f64::from(self.contaminated_ppm) / 1e6).to_string());
        }
        if self.vae {
            out.put("detector", "vae");
        }
        if self.network != VaeSettings::default() {
            let VaeSettings { hidden, latent, flow, epochs, parts, seed } = self.network;
            let parts = if parts > 0 { format!(",{parts}") } else { String::new() };
            out.put("network", &format!("{hidden},{latent},{flow},{epochs},{seed}{parts}"));
        }
        if self.explain != EXPLAINED {
            out.put("explain", &self.explain.to_string());
        }
        if self.evaluate {
            out.put("evaluate", "1");
        }
        for RequestLabel { trace_id, root_span_id, is_normal } in &self.labels {
            let kind = label_key(*is_normal);
            out.put("label", &format!("{kind}:{}:{trace_id}", root_span_id.as_deref().unwrap_or_default()));
        }
    }
}

/// Returns the sizes of a network as they are written; `None` where they make no sense.
fn network(value: &str) -> Option<VaeSettings> {
    let mut numbers = value.split(',').map(|number| number.parse::<u64>().ok());
    let mut network = VaeSettings::default();
    for (at, (_, _, (least, most), of)) in SIZES.into_iter().enumerate() {
        // The last came after the seed.
        let size = match at + 1 < SIZES.len() {
            true => numbers.next()??,
            false => {
                network.seed = numbers.next().flatten().unwrap_or(1);
                numbers.next().flatten().unwrap_or(0)
            }
        };
        *of(&mut network) = u32::try_from(size).ok().filter(|size| (least..=most).contains(size))?;
    }
    Some(network.with_whole_window())
}
