//! The cheapest of some changes that bring a percentile of the latency down to a target, in words.

use super::changes::chips;
use super::price::cost_text;
use pathlight_base::format::{count, counted, duration};
use pathlight_engine::flow::{Changes, CheapestReport, ChosenChange, PricedChanges};

/// Price of a change that has none yet, in thousandths.
const PRICE: u64 = 1000;

/// Says how to get something to choose from.
pub const NO_CHANGES: &str =
    "Make changes in What if, and here is said which of them reach the target for the least.";

/// Returns the changes of a what-if one by one, each with its price in thousandths: that at its place among `prices`, else 1.
pub fn priced(changes: &Changes, prices: &[u64]) -> Vec<PricedChanges> {
    let prices = prices.iter().copied().chain(std::iter::repeat(PRICE));
    let chips = chips(changes).into_iter().zip(prices);
    let priced = |((at, name), cost_thousandths): ((super::changes::ChangeAt, String), u64)| PricedChanges {
        name,
        changes: at.only(changes),
        cost_thousandths,
    };
    chips.map(priced).collect()
}

/// Returns a chosen change with its price: `in:db=-50% (3)`.
pub fn chosen_words(of: &ChosenChange) -> String {
    format!("{} ({})", of.change, cost_text(of.cost))
}

/// Returns what a report says, in sentences.
pub fn sentence(report: &CheapestReport) -> String {
    let quantile = report.quantile.name();
    let (before, target) = (duration(report.before_us), duration(report.target_us as f64));
    let options = counted(report.options, "change");
    if report.requests == 0 {
        return "There is no request here.".to_owned();
    }
    if report.is_reached() {
        return format!("{quantile} is {before}, not above {target}: nothing has to change.");
    }
    let Some(chosen) = &report.chosen else {
        let all = duration(report.all_us);
        let tried = match report.is_exact {
            true => "no set of them does".to_owned(),
            false => format!("none of {} that were tried does", counted(report.tried, "set")),
        };
        return format!(
            "None of {options} brings {quantile} from {before} to {target}: all of them together bring it to {all}, and {tried}."
        );
    };
    let names: Vec<String> = chosen.iter().map(chosen_words).collect();
    let how = match report.is_exact {
        true => "No cheaper set reaches it.".to_owned(),
        false => format!(
            "Found step by step, by effect per price: of more than {} changes a cheaper set may exist.",
            count(CheapestReport::EXACT as u64)
        ),
    };
    format!(
        "{} of {options}, for {}, {} {quantile} from {before} to {}, at most {target}: {}. {how}",
        count(chosen.len() as u64),
        cost_text(report.cost),
        if chosen.len() == 1 { "brings" } else { "bring" },
        duration(report.after_us),
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::price::price_text;
    use pathlight_engine::flow::Quantile;

    #[test]
    fn changes_of_a_what_if_are_priced_one_by_one() {
        use pathlight_engine::flow::{CallTarget, CallTimeout, ChangeOf, LatencyChange};
        let change = |operation: &str| LatencyChange {
            service: "s".to_owned(),
            operation: operation.to_owned(),
            of: ChangeOf::OwnWork,
            share_ppm: -500_000,
            add_us: 0,
        };
        let timeout =
            CallTimeout { of: CallTarget::Service("db".to_owned()), after_us: 9_000, retry_us: Vec::new() };
        let changes = Changes {
            latencies: vec![change("a"), change("b")],
            timeouts: vec![timeout],
            ..Changes::default()
        };
        let priced = priced(&changes, &[2_500]);
        let costs: Vec<String> = priced.iter().map(|of| price_text(of.cost_thousandths)).collect();
        assert_eq!(costs, ["2.5", "1", "1"]);
        assert_eq!(priced[1].changes, Changes { latencies: vec![change("b")], ..Changes::default() });
        assert_eq!(priced.iter().fold(Changes::default(), |all, of| all.with(&of.changes)), changes);
    }

    #[test]
    fn a_sentence_says_what_is_chosen_what_it_costs_and_whether_that_is_the_least() {
        let chosen = |change: &str, cost| ChosenChange { change: change.to_owned(), cost };
        let report = CheapestReport {
            requests: 10,
            quantile: Quantile::P99,
            before_us: 400_000.0,
            target_us: 300_000,
            options: 5,
            all_us: 200_000.0,
            chosen: Some(vec![chosen("in:db=-50%", 3.0), chosen("own:web=-10%", 0.25)]),
            cost: 3.25,
            after_us: 290_000.0,
            is_exact: true,
            tried: 9,
        };
        let space = "\u{202f}";
        assert_eq!(
            sentence(&report),
            format!(
                "2 of 5 changes, for 3.25, bring p99 from 400{space}ms to 290{space}ms, at most 300{space}ms: in:db=-50% (3), \
                 own:web=-10% (0.25). No cheaper set reaches it."
            )
        );
        let of_many = CheapestReport { options: 13, is_exact: false, ..report.clone() };
        assert!(sentence(&of_many).ends_with("of more than 12 changes a cheaper set may exist."));
        let none = CheapestReport { chosen: None, ..report.clone() };
        assert!(
            sentence(&none)
                .ends_with("all of them together bring it to 200\u{202f}ms, and no set of them does.")
        );
        let reached = CheapestReport { before_us: 300_000.0, ..report };
        assert!(sentence(&reached).ends_with("nothing has to change."));
    }
}
