//! The map of services: who calls whom, how long requests wait for it, and what changed or fails; its picture, its table and
//! its words.

pub mod chart;
mod table;
mod words;

pub use table::{MapLine, found, table};
pub use words::{MapFacts, call_tip, chart_title, facts, service_tip, services, title, to_text, why_empty};

use pathlight_engine::verdict::Certainty;
use pathlight_engine::verdict::service_map::{MapCall, MapService, MapTime, ServiceMapReport};

/// What a colour of the map says; degrees are from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MapTone {
    /// Nothing special.
    Plain,
    /// It surely takes longer than in the baseline.
    Slower(f64),
    /// It surely takes less time than in the baseline.
    Faster(f64),
    /// This share of it fails, in one set.
    Fails(f64),
}

impl MapTone {
    /// Returns its value in attributes.
    pub fn key(self) -> &'static str {
        match self {
            MapTone::Plain => "plain",
            MapTone::Slower(_) => "slower",
            MapTone::Faster(_) => "faster",
            MapTone::Fails(_) => "fails",
        }
    }

    fn of_change(time: &MapTime, most_us: f64) -> MapTone {
        match time.sure_change_us() {
            Some(us) if us > 0.0 => MapTone::Slower((us / most_us).min(1.0)),
            Some(us) if us < 0.0 => MapTone::Faster((-us / most_us).min(1.0)),
            _ => MapTone::Plain,
        }
    }

    fn of_failures(failed: u64, of: u64) -> MapTone {
        if failed == 0 { MapTone::Plain } else { MapTone::Fails(failed as f64 / of.max(failed) as f64) }
    }

    /// Returns the tone of a call.
    pub fn of_call(report: &ServiceMapReport, call: &MapCall) -> MapTone {
        match report.baseline_requests {
            Some(_) => MapTone::of_change(&call.wait, most_change_us(report)),
            None => MapTone::of_failures(call.failed, call.calls),
        }
    }

    /// Returns the tone of a service. What the comparison of services found goes before the change of its own work.
    pub fn of_service(report: &ServiceMapReport, service: &MapService) -> MapTone {
        match report.baseline_requests {
            Some(_) if matches!(service.slower, Some(Certainty::Certain | Certainty::Likely)) => {
                MapTone::Slower(1.0)
            }
            Some(_) => MapTone::of_change(&service.own, most_change_us(report)),
            None => MapTone::of_failures(service.failed, service.visits),
        }
    }
}

/// Returns the greatest sure change of a wait or of own work, microseconds per request.
fn most_change_us(report: &ServiceMapReport) -> f64 {
    let times = report.calls.iter().map(|call| &call.wait).chain(report.services.iter().map(|one| &one.own));
    times.filter_map(MapTime::sure_change_us).map(f64::abs).fold(f64::MIN_POSITIVE, f64::max)
}
