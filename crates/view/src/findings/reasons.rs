//! Why some requests are slower, in words: what takes longer in them, and what else is slower for the same reason.

use crate::findings::sentences::{place, times};
use crate::say::sentence::Sentence;
use pathlight_base::format::{self, duration};
use pathlight_engine::findings::{Finding, FindingFacts, FindingPlace, TakesLonger};
use pathlight_engine::verdict::ServicePart;

/// Names what else is slower for the same reason.
pub(super) fn likewise(out: Sentence, others: &[Finding]) -> Sentence {
    let named = others.iter().enumerate().fold(out, |out, (at, other)| {
        let out = out.text(if at == 0 { " Also slower for this reason: " } else { ", " });
        match (&other.facts, &other.place) {
            (FindingFacts::SinceWhen(facts), at) => {
                let (before, after) = facts.p50_us;
                let words = format!("{} \u{2192} {}", duration(before), duration(after));
                place(out, at).text(" (").number(words).text(")")
            }
            (FindingFacts::Who(facts), FindingPlace::Tag { key, value }) => {
                let words = format::printable(&format!(" with {key} = {value} ("));
                out.name(&facts.root.name()).text(&words).number(times(facts.ratio)).text(")")
            }
            (_, at) => place(out, at),
        }
    });
    if others.is_empty() { named } else { named.text(".") }
}

/// Says which part of a service is the reason that requests are slower.
pub(super) fn takes_longer(out: Sentence, longer: Option<&TakesLonger>, begin: &str) -> Sentence {
    let Some(TakesLonger { service, part, excess_us, .. }) = longer else { return out };
    let out = out.text(begin);
    let out = match part {
        ServicePart::Own => out.service(service).text("'s own work: "),
        ServicePart::In => out.text("calls into ").service(service).text(": "),
        ServicePart::Out => out.text("calls that ").service(service).text(" makes: "),
    };
    out.number(format::change(*excess_us)).text(" per request")
}
