//! How abnormal requests are found, as a part of the [address](super::address).

use super::fragment::Writer;

/// What requests are judged against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Normal {
    /// Each against all others.
    #[default]
    Others,
    /// Those that began at this time or later against those before it, microseconds since the epoch.
    Before(u64),
    /// Those of the set to compare with against those of the set looked at.
    SetA,
}

/// How abnormal requests are found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnomalyChoice {
    /// What is normal.
    pub normal: Normal,
    /// Accepted rate of false alarms in millionths.
    pub alpha_ppm: u32,
    /// Whether the auto-encoder judges.
    pub vae: bool,
    /// Whether the evaluation is shown.
    pub evaluate: bool,
}

impl Default for AnomalyChoice {
    fn default() -> AnomalyChoice {
        AnomalyChoice { normal: Normal::default(), alpha_ppm: 10_000, vae: false, evaluate: false }
    }
}

impl AnomalyChoice {
    /// Takes a key of a fragment; false if it is none of these.
    pub(super) fn take(&mut self, key: &str, value: &str) -> bool {
        match key {
            "normal" => {
                self.normal = match value.strip_prefix("before:").and_then(|us| us.parse().ok()) {
                    Some(us) => Normal::Before(us),
                    None if value == "a" => Normal::SetA,
                    None => Normal::Others,
                }
            }
            "alpha" => {
                let share = value.parse().ok().filter(|share: &f64| *share > 0.0 && *share <= 1.0);
                self.alpha_ppm = share.map_or(10_000, |share| ((share * 1e6).round() as u32).max(1));
            }
            "detector" => self.vae = value == "vae",
            "evaluate" => self.evaluate = value == "1",
            _ => return false,
        }
        true
    }

    /// Adds the keys that are not as by default.
    pub(super) fn put(&self, out: &mut Writer) {
        match self.normal {
            Normal::Others => {}
            Normal::Before(us) => out.put("normal", &format!("before:{us}")),
            Normal::SetA => out.put("normal", "a"),
        }
        if self.alpha_ppm != AnomalyChoice::default().alpha_ppm {
            out.put("alpha", &(f64::from(self.alpha_ppm) / 1e6).to_string());
        }
        if self.vae {
            out.put("detector", "vae");
        }
        if self.evaluate {
            out.put("evaluate", "1");
        }
    }
}
