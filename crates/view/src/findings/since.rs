//! The change inside one set that is offered as a comparison of before with after.

use super::sentences::place;
use crate::address::Address;
use crate::address::comparing::to_second;
use crate::say::sentence::Sentence;
use pathlight_base::format::duration;
use pathlight_engine::findings::{Finding, FindingFacts, FindingsReport};

/// A change inside one set.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first start after it, in microseconds since the epoch.
    pub at_us: u64,
    /// What changed.
    pub sentence: Sentence,
}

/// What the buttons beside the sentence say.
pub const CHOICES: [&str; 2] = ["Compare before with since then", "As one set"];

/// Returns the change of the first finding that says since when requests are slower, be it that of a service which is the
/// reason; `None` without one, and where two sides are compared already.
pub fn change_point(report: &FindingsReport, address: &Address) -> Option<ChangePoint> {
    if address.comparison.is_some() {
        return None;
    }
    let all = report.findings.iter().flat_map(|finding| std::iter::once(finding).chain(&finding.explains));
    all.into_iter().find_map(|finding: &Finding| {
        let FindingFacts::SinceWhen(facts) = &finding.facts else { return None };
        let (before, after) = facts.p50_us;
        let sentence = place(Sentence::default().text("Something changed in these traces: "), &finding.place)
            .text(" is slower since ")
            .number(format!("{} UTC", to_second(facts.from_us)))
            .text(", p50 ")
            .number(format!("{} \u{2192} {}", duration(before), duration(after)))
            .text(".");
        Some(ChangePoint { at_us: facts.from_us, sentence })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::charts::tests::finding;
    use pathlight_engine::findings::{BurstsFacts, FindingPlace, SinceWhenFacts};
    use pathlight_engine::requests::RequestType;
    use pathlight_trace::Endpoint;

    #[test]
    fn a_change_is_offered_once_and_not_while_sides_are_compared() {
        let facts = SinceWhenFacts {
            release: None,
            from_us: 1_795_489_572_345_000,
            p50_us: (10_000.0, 31_000.0),
            requests: (5, 7),
            longer: None,
        };
        let kind = RequestType::whole(Endpoint::new("shop", "GET /cart"));
        let since =
            Finding { place: FindingPlace::RequestType(kind), ..finding(FindingFacts::SinceWhen(facts)) };
        let mut other = finding(FindingFacts::Bursts(BurstsFacts { bursts: Vec::new(), requests: 3 }));
        let mut report = FindingsReport { findings: vec![other.clone()], ..FindingsReport::default() };
        let mut address = Address::default();
        assert_eq!(change_point(&report, &address), None);
        other.explains.push(since.clone());
        report.findings = vec![other, since];
        let found = change_point(&report, &address).unwrap();
        assert_eq!(found.at_us, 1_795_489_572_345_000);
        assert_eq!(
            found.sentence.to_text(),
            "Something changed in these traces: GET /cart @ shop is slower since 2026-11-24 03:06:12 UTC, p50 \
             10.0\u{202f}ms \u{2192} 31.0\u{202f}ms."
        );
        address.compare_since(found.at_us);
        assert_eq!(change_point(&report, &address), None);
    }
}
