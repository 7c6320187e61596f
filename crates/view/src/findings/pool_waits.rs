//! Calls that wait before they begin, in words.

use super::sentences::place;
use crate::say::sentence::Sentence;
use pathlight_base::format::{agreeing, count, counted, duration, share};
use pathlight_engine::findings::{Finding, PoolWaitsFacts};

/// Says how many calls wait until fewer others run.
pub(super) fn waits(finding: &Finding, facts: &PoolWaitsFacts) -> Sentence {
    let PoolWaitsFacts { callee, at_once, processes, calls, waiting, mean_us } = facts;
    let out = Sentence::default();
    let out = out.text("No more than ").number(counted(*at_once, "call")).text(" of ").service(callee);
    let out = out.text(agreeing(*at_once, " runs at once in ", " run at once in "));
    let out = if *processes > 1 {
        out.text("any of the ").number(count(*processes)).text(" processes of ")
    } else {
        out
    };
    let out = place(out, &finding.place);
    let part = *waiting as f64 / (*calls).max(1) as f64;
    let out = out.text(": ").number(share(part)).text(" of the calls wait ").number(duration(*mean_us));
    let until = agreeing(*at_once, "the one that runs ends", "one of the others ends");
    let out = out.text(" before they begin, until ").text(until).text(". A pool of ");
    let like = agreeing(*at_once, ", or a lock, would do that.", ", or as many workers, would do that.");
    out.number(counted(*at_once, "connection")).text(like)
}
