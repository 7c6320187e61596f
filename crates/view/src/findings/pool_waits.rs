//! Calls that wait before they begin, in words.

use super::sentences::place;
use crate::say::sentence::Sentence;
use pathlight_base::format::{counted, duration, share};
use pathlight_engine::findings::{Finding, PoolWaitsFacts};

/// Says how many calls wait until fewer others run.
pub(super) fn waits(finding: &Finding, facts: &PoolWaitsFacts) -> Sentence {
    let PoolWaitsFacts { callee, at_once, processes, calls, waiting, mean_us } = facts;
    let out = Sentence::default();
    let out = place(out.text("No more than ").number(counted(*at_once, "call")).text(" by "), &finding.place);
    let out = out.text(" of ").service(callee).text(" ever run at once");
    let out =
        if *processes > 1 { out.text(" in any of ").number(counted(*processes, "process")) } else { out };
    let part = *waiting as f64 / (*calls).max(1) as f64;
    let out = out.text(": ").number(share(part)).text(" of the calls wait ").number(duration(*mean_us));
    out.text(" before they begin, until one of the others ends. A pool of ")
        .number(counted(*at_once, "connection"))
        .text(", or as many workers, would do that.")
}
