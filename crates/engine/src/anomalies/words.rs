//! The sentences on reasons.

use super::{AnomalyReport, ReasonKind, ReasonRow};
use pathlight_trace::Endpoint;

impl AnomalyReport {
    /// Returns the first reason of the requests of a group, in words for all of them.
    pub(super) fn leading_words(&self, reason: &ReasonRow) -> String {
        let (operation, service, caller) = self.names(reason.path);
        let by = if caller.is_empty() { String::new() } else { format!(" called by {caller}") };
        // The same call in requests of another root endpoint is another group.
        let mut path = self.path(reason.path);
        let root = path.next();
        let root = root.filter(|_| path.nth(1).is_some());
        let below = root.map_or(String::new(), |(_, root)| format!(" below {root}"));
        let place = format!("{operation} in {service}{by}{below}");
        match reason.kind {
            // Whoever called.
            ReasonKind::Delay => format!("Self time of {operation} in {service}{}", self.callee(reason, "")),
            ReasonKind::MissingCall => format!("{place} is missing"),
            ReasonKind::NewCall => format!("{place} is new"),
            ReasonKind::Combination => format!("{place} makes calls that do not occur together"),
            ReasonKind::Error if reason.value == 1 => format!("{place} fails"),
            ReasonKind::Error => format!("{place} does not fail"),
            ReasonKind::CallCount => format!("{place} is called another number of times"),
            ReasonKind::Order => match reason.after {
                Some(after) => {
                    format!("{place} begins after {}", self.endpoints[after as usize].operation)
                }
                None => format!("{place} begins after no other call"),
            },
            ReasonKind::CriticalPath if reason.value == 1 => format!("{place} is on the critical path"),
            ReasonKind::CriticalPath => format!("{place} is off the critical path"),
            ReasonKind::SelfTime => format!("Self time of {place}"),
            ReasonKind::TotalTime => format!("Time of {place}"),
            ReasonKind::Latency => "Latency, without a call that explains it".to_owned(),
            ReasonKind::Wait => format!("Time before {place}"),
            ReasonKind::Outside => format!("Calls of {place} reach beyond it"),
        }
    }

    /// Returns the operation and service at the end of a call path, and the operation of the caller; empty for a root.
    fn names(&self, path: u32) -> (&str, &str, &str) {
        let chain: Vec<(&str, &str)> = self.path(path).collect();
        let (service, operation) = chain.last().copied().unwrap_or_default();
        (operation, service, chain.iter().rev().nth(1).map_or("", |(_, operation)| operation))
    }

    /// Returns the one endpoint that the span of a delay calls, in words with something behind them; empty if it calls none or
    /// several.
    fn callee(&self, reason: &ReasonRow, behind: &str) -> String {
        reason.callee.map_or(String::new(), |callee| {
            let Endpoint { service, operation } = &self.endpoints[callee as usize];
            format!(", which calls {operation} in {service}{behind}")
        })
    }

    /// Returns a reason in words; `time` writes microseconds.
    pub fn words(&self, reason: &ReasonRow, time: impl Fn(f64) -> String) -> String {
        let (operation, service, caller) = self.names(reason.path);
        let below = if caller.is_empty() { String::new() } else { format!(" below {caller}") };
        let (alike, calls) = (reason.alike, reason.calls);
        let baseline = |write: &dyn Fn(f64) -> String| match reason.baseline {
            Some((low, high)) => format!("{} to {} is normal ({calls} calls)", write(low), write(high)),
            None => "nothing to compare with".to_owned(),
        };
        let times = || format!("{}; {}.", time(reason.value as f64), baseline(&time));
        match reason.kind {
            ReasonKind::MissingCall => {
                format!("{operation} in {service} is missing{below}; {} of {calls} have it.", calls - alike)
            }
            ReasonKind::NewCall if alike == 0 => format!("{operation} in {service} is new{below}."),
            ReasonKind::NewCall => {
                let does = if alike == 1 { "does" } else { "do" };
                format!("{operation} in {service} is called{below}; only {alike} of {calls} {does} that.")
            }
            ReasonKind::Combination => format!(
                "The calls of {operation} in {service} do not occur together; {alike} of {calls} {} these.",
                if alike == 1 { "has" } else { "have" }
            ),
            ReasonKind::Error if reason.value == 1 => {
                format!("{operation} in {service} fails{below}; {alike} of {calls} do.")
            }
            ReasonKind::Error => {
                format!("{operation} in {service} does not fail{below}; {alike} of {calls} do not.")
            }
            ReasonKind::CallCount => {
                let number = |x: f64| format!("{x:.0}");
                let normal = match reason.baseline {
                    Some((low, high)) if low == high => format!("{} is normal ({calls} calls)", number(low)),
                    _ => baseline(&number),
                };
                let times =
                    if reason.value == 1 { "once".to_owned() } else { format!("{} times", reason.value) };
                format!("{operation} in {service} is called {times}{below}; {normal}.")
            }
            ReasonKind::Order => {
                let after = match reason.after {
                    Some(after) => format!("after {}", self.endpoints[after as usize].operation),
                    None => "without waiting for another call".to_owned(),
                };
                format!("{operation} in {service} begins {after}{below}; {alike} of {calls} do.")
            }
            ReasonKind::CriticalPath => {
                let place = if reason.value == 1 { "on" } else { "off" };
                format!(
                    "{operation} in {service} is {place} the critical path{below}; {alike} of {calls} are."
                )
            }
            ReasonKind::SelfTime => format!("Self time of {operation} in {service} is {}", times()),
            ReasonKind::Delay => {
                let longest = time(reason.longest_us.unwrap_or_default());
                let normal = match calls {
                    1 => format!("{longest} in the only normal call"),
                    _ => format!("at most {longest} in {calls} normal calls from any caller"),
                };
                let callee = self.callee(reason, ",");
                format!(
                    "Self time of {operation} in {service}{callee} is {}; {normal}.",
                    time(reason.value as f64)
                )
            }
            ReasonKind::TotalTime if !caller.is_empty() => {
                format!("The call {caller} \u{2192} {operation} in {service} takes {}", times())
            }
            ReasonKind::TotalTime | ReasonKind::Latency => format!("The request takes {}", times()),
            ReasonKind::Wait => {
                format!("The wait of {caller} before it calls {operation} in {service} is {}", times())
            }
            ReasonKind::Outside => match reason.baseline {
                Some((_, high)) if reason.value as f64 >= high => format!(
                    "Calls of {operation} in {service} reach {} beyond it; up to {} is normal ({calls} calls).",
                    time(reason.value as f64),
                    time(high),
                ),
                _ => format!("Calls of {operation} in {service} reach beyond it by {}", times()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anomalies::PartOfRequest;

    #[test]
    fn reasons_are_sentences() {
        let report = AnomalyReport {
            endpoints: vec![Endpoint::new("nginx", "POST /compose"), Endpoint::new("nginx", "ComposeReview")],
            paths: vec![vec![0], vec![0, 1]],
            ..AnomalyReport::default()
        };
        let reason = |kind, path, alike, value, baseline| ReasonRow {
            kind,
            part: PartOfRequest::Structure,
            path,
            after: None,
            callee: None,
            calls: 500,
            alike,
            value,
            baseline,
            longest_us: None,
        };
        let said = |reason| report.words(&reason, |us| format!("{us:.0} us"));
        assert_eq!(
            said(reason(ReasonKind::MissingCall, 1, 0, 0, None)),
            "ComposeReview in nginx is missing below POST /compose; 500 of 500 have it."
        );
        assert_eq!(
            said(reason(ReasonKind::SelfTime, 1, 0, 60, Some((1.0, 4.0)))),
            "Self time of ComposeReview in nginx is 60 us; 1 us to 4 us is normal (500 calls)."
        );
        assert_eq!(
            said(reason(ReasonKind::CallCount, 1, 0, 6, Some((1.0, 1.0)))),
            "ComposeReview in nginx is called 6 times below POST /compose; 1 is normal (500 calls)."
        );
        assert_eq!(
            said(reason(ReasonKind::TotalTime, 1, 0, 60, Some((1.0, 4.0)))),
            "The call POST /compose \u{2192} ComposeReview in nginx takes 60 us; 1 us to 4 us is normal (500 calls)."
        );
        let delay = ReasonRow {
            callee: Some(1),
            calls: 88,
            longest_us: Some(40.0),
            ..reason(ReasonKind::Delay, 0, 0, 60, None)
        };
        assert_eq!(
            said(delay),
            "Self time of POST /compose in nginx, which calls ComposeReview in nginx, is 60 us; at most 40 us in 88 \
             normal calls from any caller."
        );
        assert_eq!(
            said(ReasonRow { callee: None, calls: 1, ..delay }),
            "Self time of POST /compose in nginx is 60 us; 40 us in the only normal call."
        );
    }
}
