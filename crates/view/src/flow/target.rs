//! Changes that bring a percentile of the latency down to a target: the time that a person writes, the sentence, the table of
//! ways and what each call may then take.

use crate::say::subject::{subject_phrase, subject_words};
use crate::table::{Column, Number, Table};
use pathlight_base::format::{self, DASH, THIN, counted, duration, duration_us, printable, share};
use pathlight_engine::flow::{AnyWay, CallBudget, Changes, Quantile, TargetPart, TargetReport};
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Times are below this, in microseconds: 31 years.
const TOO_LONG_US: f64 = 1e15;

/// Units of a time with their microseconds. Two characters look like the one of `µs`.
const UNITS: [(&str, f64); 6] =
    [("us", 1.0), ("\u{b5}s", 1.0), ("\u{3bc}s", 1.0), ("ms", 1e3), ("min", 6e7), ("s", 1e6)];

/// Reads a time as a person writes it, in microseconds: `300ms`, `1.2 s`, `500 µs`.
///
/// # Errors
/// The fault of the text and what to write, in a sentence.
pub fn parse_time(text: &str) -> Result<u64, String> {
    // Spaces within are of the kind that copied numbers have.
    let plain: String = text.chars().filter(|char| !char.is_whitespace()).collect::<String>().to_lowercase();
    if plain.is_empty() {
        return Err("Write a time, such as 300 ms.".to_owned());
    }
    let shown = printable(text.trim());
    if plain.ends_with('%') {
        return Err(format!("{shown} is a share; write a time, such as 300 ms."));
    }
    if plain.parse::<f64>().is_ok() {
        return Err(format!("{shown} has no unit; write {shown} ms or {shown} s."));
    }
    let found = UNITS.iter().find_map(|(name, unit_us)| Some((plain.strip_suffix(name)?, unit_us)));
    let us = found.and_then(|(digits, unit_us)| Some(digits.parse::<f64>().ok()? * unit_us));
    match us.map(f64::round) {
        Some(us) if us < 1.0 => Err("A time has to be above 0; write, for example, 300 ms.".to_owned()),
        Some(us) if us < TOO_LONG_US => Ok(us as u64),
        _ => Err(format!("{shown} is not a time; write a number with \u{b5}s, ms or s, such as 300 ms.")),
    }
}

/// Returns a time as it can be written, with all of its digits: `300 ms`, `1.2 s`.
pub fn time_text(us: u64) -> String {
    let (unit_us, places, unit) = match us {
        0..1_000 => (1, 0, "\u{b5}s"),
        1_000..1_000_000 => (1_000, 3, "ms"),
        _ => (1_000_000, 6, "s"),
    };
    let fraction = format!("{:0places$}", us % unit_us);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction} {unit}", us / unit_us)
}

/// Returns what a panel says of a target before there is one; `now_us` is the percentile as it is, if that is known.
pub fn no_target_words(quantile: Quantile, now_us: Option<f64>) -> String {
    let name = quantile.name();
    let now = now_us.map_or_else(String::new, |us| format!(" (now {})", duration(us)));
    format!(
        "Enter the {name}{now} that requests should have, to see which endpoints have to be faster for it, and by how much: \
         their own work, which is their self time and not what they call. And which parts of services: own work, or waiting \
         for a service."
    )
}

/// Returns how far the search is.
pub fn progress_words(done: u64, of: u64) -> String {
    format!("Trying\u{2026} {}{THIN}%", 100 * done / of.max(1))
}

/// Returns what a report says, in a sentence.
pub fn sentence(report: &TargetReport) -> String {
    let name = report.quantile.name();
    if report.requests == 0 {
        return "There is no request here.".to_owned();
    }
    let head = format!("{name} of {} is {}", counted(report.requests, "request"), duration(report.before_us));
    let target = duration_us(report.target_us);
    if report.is_reached() {
        return format!("{head}, which is not above {target}: there is nothing to do.");
    }
    if report.reaching > 0 {
        return format!("{head}; {} alone could bring it to {target}.", counted(report.reaching, "endpoint"));
    }
    let together = report.together.iter().find(|way| way.faster_percent.is_some());
    let together = together.map(|way| {
        let count = if way.endpoints.len() == 2 { "two" } else { "three" };
        format!("the best {count} together")
    });
    let part = report.parts.iter().filter_map(|part| Some((part.less_percent?, part)));
    // The first of equal ones.
    let part = part.min_by_key(|(percent, _)| *percent);
    let part = part.map(|(percent, part)| {
        (subject_phrase(&part.subject()), format!("if it took {percent}{THIN}% less time"))
    });
    let could = match (together, part) {
        (Some(together), Some((part, if_so))) => {
            Some(format!("{together} could, and so could {part}, {if_so}"))
        }
        (Some(together), None) => Some(format!("{together} could")),
        (None, Some((part, if_so))) => Some(format!("{part} could, {if_so}")),
        (None, None) => None,
    };
    if let Some(could) = could {
        return format!("{head}; no endpoint alone could bring it to {target}, but {could}.");
    }
    match report.best_way() {
        Some(most) => format!(
            "{head}, and nothing that was tried brings it to {target}: {} would leave {}.",
            gone_words(most),
            duration(most.at_best_us())
        ),
        None => format!("{head}, and no endpoint's own work decides over it."),
    }
}

fn gone_words(way: AnyWay<'_>) -> String {
    match way {
        AnyWay::Endpoints(way) => match way.endpoints.len() {
            1 => "even the best endpoint without any own work".to_owned(),
            2 => "even the best two without any own work".to_owned(),
            _ => "even the best three without any own work".to_owned(),
        },
        AnyWay::Part(part) => format!("even no time of {}", subject_phrase(&part.subject())),
    }
}

/// Returns why the table of ways is empty, if it is.
pub fn why_empty(report: &TargetReport) -> &'static str {
    if report.is_reached() { "Nothing to do." } else { "No endpoint's own work decides over it." }
}

fn faster_words(way: AnyWay<'_>) -> String {
    way.percent().map_or_else(|| DASH.to_owned(), |percent| format!("{percent}{THIN}%"))
}

/// One way to a target, of a report.
pub struct TargetLine {
    at: usize,
    report: Rc<TargetReport>,
}

impl TargetLine {
    /// Returns the ways of a report: single endpoints, then the best two and three, then parts of services.
    pub fn of(report: &Rc<TargetReport>) -> Vec<TargetLine> {
        (0..report.ways().count()).map(|at| TargetLine { at, report: report.clone() }).collect()
    }

    /// Returns its place among the ways.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the endpoint that it begins with; `None` for a part of a service.
    pub fn first(&self) -> Option<&Endpoint> {
        match self.way()? {
            AnyWay::Endpoints(way) => way.endpoints.first(),
            AnyWay::Part(_) => None,
        }
    }

    /// Returns whether it is a single endpoint.
    pub fn is_single(&self) -> bool {
        self.at < self.report.single.len()
    }

    /// Returns what it changes, for a what-if. What does not reach the target takes no time at all.
    pub fn changes(&self) -> Changes {
        self.way().map(|way| way.changes(way.percent().unwrap_or(100))).unwrap_or_default()
    }

    fn way(&self) -> Option<AnyWay<'_>> {
        self.report.ways().nth(self.at)
    }

    fn part(&self) -> Option<&TargetPart> {
        match self.way()? {
            AnyWay::Endpoints(_) => None,
            AnyWay::Part(part) => Some(part),
        }
    }

    fn endpoints(&self) -> &[Endpoint] {
        match self.way() {
            Some(AnyWay::Endpoints(way)) => &way.endpoints,
            _ => &[],
        }
    }

    /// Returns a single endpoint, or several or a part of a service in words.
    fn name(&self) -> (Option<(&str, &str)>, String) {
        match (self.endpoints(), self.part()) {
            ([Endpoint { service, operation }], _) => (Some((service, operation)), String::new()),
            (_, Some(part)) => (None, subject_words(&part.subject())),
            (several, None) => (None, joined(several)),
        }
    }

    fn at_best_us(&self) -> f64 {
        self.way().map_or(f64::NAN, AnyWay::at_best_us)
    }

    /// Returns the share of what is to be saved that it can save.
    fn share(&self) -> f64 {
        let wanted = self.report.before_us - self.report.target_us as f64;
        ((self.report.before_us - self.at_best_us()) / wanted).clamp(0.0, 1.0)
    }

    fn percent(&self) -> Number {
        self.way().and_then(AnyWay::percent).map_or(Number::None, Number::from)
    }
}

fn joined(endpoints: &[Endpoint]) -> String {
    let names: Vec<String> = endpoints.iter().map(|of| printable(&of.operation)).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

/// Returns the table of ways.
pub fn table() -> Table<TargetLine> {
    let columns = vec![
        Column::call(
            "Endpoints",
            "What becomes faster: the own work (self time) of an endpoint, or of the best two or three, all by the same share; or \
             a part of a service, at all of its endpoints",
            TargetLine::name,
        )
        .by(|a, b| a.at.cmp(&b.at))
        .csv_as(&["endpoints", "count"], |line| {
            if let Some(part) = line.part() {
                return vec![part.subject().to_string(), String::new()];
            }
            let endpoints = line.endpoints();
            let names = endpoints.iter().map(|of| format::endpoint(&of.service, &of.operation));
            vec![names.collect::<Vec<_>>().join(" and "), endpoints.len().to_string()]
        }),
        Column::said(
            "faster",
            "Faster by",
            "The least share by which their own work has to be faster, or the part has to take less time; a dash if even taking \
             no time is not enough",
            TargetLine::percent,
            |line| line.way().map(faster_words).unwrap_or_default(),
        )
        .csv(&["faster_percent"]),
        Column::duration("best", "At best", "The percentile if their own work, or the part, took no time", |line: &TargetLine| {
            line.at_best_us().into()
        })
        .csv(&["at_best_us"]),
        Column::duration(
            "usual",
            "As usual",
            "The percentile if a part of a service took what it takes in set A; of one set, in the faster half of each request \
             type",
            |line: &TargetLine| line.part().map_or(Number::None, |part| part.usual_us.into()),
        )
        .csv(&["usual_us"])
        .low(1),
        Column::share(
            "share",
            "Of the gap",
            "How much of the way to the target they can go at best",
            |line: &TargetLine| line.share().into(),
        )
        .bar_words(|line| share(line.share()))
        .low(2),
    ];
    Table::new("target-table", "Ways to the target", ("", false), columns).with_attributes(|line| {
        let names = line.endpoints().iter().map(|of| format!("{}:{}", of.service, of.operation));
        let part = line.part().map(|part| part.subject().to_string());
        vec![
            ("data-test", "target-way".to_owned()),
            ("data-endpoints", names.chain(part).collect::<Vec<_>>().join(" and ")),
            ("data-value", line.percent().digits()),
            ("data-best", Number::from(line.at_best_us()).digits()),
        ]
    })
}

/// Returns with which way calls have the listed budgets; empty if there is none.
pub fn budget_title(report: &TargetReport) -> String {
    let Some(way) = report.reaching_way() else { return String::new() };
    let by = faster_words(way);
    let with = match way {
        AnyWay::Endpoints(way) => format!("{} {by} faster", joined(&way.endpoints)),
        AnyWay::Part(part) => format!("{by} less of {}", subject_phrase(&part.subject())),
    };
    format!("Budget of a call at {}, with {with}", report.quantile.name())
}

/// Returns what calls may take that take more now, and what they take now; then how many may stay as they are.
pub fn budgets(report: &TargetReport, listed: usize) -> (Vec<(Endpoint, String)>, String) {
    let has_less = |of: &&CallBudget| of.budget_us < of.before_us;
    let rows = report.budgets.iter().filter(has_less).take(listed).map(|of| {
        let words = format!("{} \u{2192} {}", duration(of.before_us), duration(of.budget_us));
        (Endpoint::new(&of.service, &of.operation), words)
    });
    let same = report.budgets.iter().filter(|of| !has_less(of)).count() as u64;
    let less = report.budgets.len() as u64 - same;
    let not_listed = match less.saturating_sub(listed as u64) {
        0 => String::new(),
        more => format!("{} not listed here would have to take less too. ", counted(more, "endpoint")),
    };
    let others = match same {
        0 => String::new(),
        _ => format!("{} may take as long as now.", counted(same, "more endpoint")),
    };
    (rows.collect(), not_listed + &others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::changes::LISTED;
    use crate::table::{CellText, Rows as _};
    use pathlight_engine::flow::{ChangeOf, SubjectChange, SubjectTime, TargetWay};
    use pathlight_engine::verdict::{ServicePart, Subject};

    fn part(service: &str, part: ServicePart, less_percent: Option<u32>, at_best_us: f64) -> TargetPart {
        TargetPart { service: service.to_owned(), part, less_percent, at_best_us, usual_us: 330_000.0 }
    }

    fn way(operations: &[&str], faster_percent: Option<u32>, at_best_us: f64) -> TargetWay {
        let endpoints = operations.iter().map(|operation| Endpoint::new("s", *operation)).collect();
        TargetWay { endpoints, faster_percent, at_best_us }
    }

    fn budget(operation: &str, before_us: f64, budget_us: f64) -> CallBudget {
        let (service, operation) = ("s".to_owned(), operation.to_owned());
        CallBudget { service, operation, calls: 7, before_us, budget_us }
    }

    fn report() -> TargetReport {
        TargetReport {
            requests: 320,
            quantile: Quantile::P99,
            before_us: 412_000.0,
            target_us: 300_000,
            reaching: 1,
            single: vec![way(&["a"], Some(38), 212_000.0), way(&["b"], None, 384_000.0)],
            together: vec![way(&["a", "b"], Some(33), 184_000.0), way(&["a", "b", "c"], Some(32), 180_000.0)],
            parts: vec![
                part("pay", ServicePart::In, Some(44), 280_000.0),
                part("s", ServicePart::Own, None, 310_000.0),
            ],
            budgets: vec![budget("a", 400_000.0, 290_000.0), budget("b", 9.0, 9.0), budget("c", 8.0, 8.0)],
        }
    }

    #[test]
    fn times_are_read_as_people_write_them_and_written_so_that_they_are_read() {
        let read = |text: &str| parse_time(text).ok();
        assert_eq!(read("300ms"), Some(300_000));
        assert_eq!(read(" 1.2 s "), Some(1_200_000));
        assert_eq!(["500us", "500 \u{b5}s", "500\u{202f}\u{3bc}s"].map(read), [Some(500); 3]);
        assert_eq!([read("2 min"), read("0.5MS")], [Some(120_000_000), Some(500)]);
        for us in [1, 999, 1_000, 1_500, 300_000, 999_999, 1_000_000, 1_200_000, 61_000_001] {
            assert_eq!(parse_time(&time_text(us)), Ok(us), "{}", time_text(us));
        }
        assert_eq!(
            [time_text(300_000), time_text(1_200_000), time_text(7)],
            ["300 ms", "1.2 s", "7 \u{b5}s"]
        );
    }

    #[test]
    fn what_is_no_time_is_said_in_words() {
        let why = |text: &str| parse_time(text).unwrap_err();
        assert_eq!(why("80 %"), "80 % is a share; write a time, such as 300 ms.");
        assert_eq!(why("300"), "300 has no unit; write 300 ms or 300 s.");
        assert_eq!(why(" "), "Write a time, such as 300 ms.");
        assert_eq!([why("0 ms"), why("-5ms")].map(|words| words.contains("above 0")), [true; 2]);
        for text in ["fast", "ms", "1 h", "nan s", "inf s", "1e20 s"] {
            assert!(why(text).contains("is not a time; write a number"), "{}", why(text));
        }
    }

    #[test]
    fn a_sentence_says_what_reaches_the_target() {
        let mut report = report();
        let head = "p99 of 320 requests is 412\u{202f}ms";
        let target = "300\u{202f}ms";
        assert_eq!(sentence(&report), format!("{head}; 1 endpoint alone could bring it to {target}."));
        report.reaching = 3;
        assert_eq!(sentence(&report), format!("{head}; 3 endpoints alone could bring it to {target}."));
        (report.reaching, report.single[0].faster_percent) = (0, None);
        assert_eq!(
            sentence(&report),
            format!(
                "{head}; no endpoint alone could bring it to {target}, but the best two together could, and so could waiting \
                 for pay, if it took 44\u{202f}% less time."
            )
        );
        report.together[0].faster_percent = None;
        report.parts[0].less_percent = None;
        assert!(sentence(&report).ends_with("but the best three together could."));
        report.together[1].faster_percent = None;
        report.parts[1].less_percent = Some(7);
        assert!(sentence(&report).ends_with("but the own work of s could, if it took 7\u{202f}% less time."));
        report.parts[1].less_percent = None;
        assert_eq!(
            sentence(&report),
            format!(
                "{head}, and nothing that was tried brings it to {target}: even the best three without any own work would \
                 leave 180\u{202f}ms."
            )
        );
        report.parts[0].at_best_us = 5.0;
        assert!(sentence(&report).contains(": even no time of waiting for pay would leave 5\u{202f}"));
        (report.single, report.together, report.parts) = (Vec::new(), Vec::new(), Vec::new());
        assert_eq!(sentence(&report), format!("{head}, and no endpoint's own work decides over it."));
        assert_eq!(why_empty(&report), "No endpoint's own work decides over it.");
        report.target_us = 412_000;
        assert!(sentence(&report).ends_with("which is not above 412\u{202f}ms: there is nothing to do."));
        assert_eq!(why_empty(&report), "Nothing to do.");
        report.requests = 0;
        assert_eq!(sentence(&report), "There is no request here.");
    }

    #[test]
    fn ways_are_lines_in_the_order_of_the_report_and_become_a_what_if() {
        let report = Rc::new(report());
        let mut table = table();
        table.set_rows(TargetLine::of(&report));
        assert_eq!(table.order(None, None), [0, 1, 2, 3, 4, 5]);
        assert_eq!(table.cell(0, 0), CellText::Call(Some(Endpoint::new("s", "a")), String::new()));
        assert_eq!(table.cell(0, 3), CellText::Call(None, "a, b and c".to_owned()));
        assert_eq!(table.cell(1, 0), CellText::Number("38\u{202f}%".to_owned(), "38".to_owned()));
        assert_eq!(table.cell(1, 1), CellText::Text(DASH.to_owned()));
        assert_eq!(table.cell(4, 1), CellText::Bar(0.25, "25.0\u{202f}%".to_owned()));
        assert_eq!(table.cell(4, 0), CellText::Bar(1.0, "100.0\u{202f}%".to_owned()));
        assert_eq!(
            table.csv().lines().collect::<Vec<_>>(),
            [
                "endpoints,count,faster_percent,at_best_us,usual_us",
                "a @ s,1,38,212000,",
                "b @ s,1,,384000,",
                "a @ s and b @ s,2,33,184000,",
                "a @ s and b @ s and c @ s,3,32,180000,",
                "in:pay,,44,280000,330000",
                "own:s,,,310000,330000"
            ]
        );
        assert_eq!(table.cell(0, 4), CellText::Call(None, "Waiting for pay".to_owned()));
        let subject = Subject { service: "pay".to_owned(), part: ServicePart::In };
        let time = SubjectTime::By { share_ppm: -440_000, add_us: 0 };
        assert_eq!(table.rows()[4].changes().subjects, [SubjectChange { subject, time }]);
        assert!(table.rows()[4].first().is_none() && !table.rows()[2].is_single());
        let changes = |at: usize| -> Vec<(String, ChangeOf, i64)> {
            let changes = table.rows()[at].changes();
            changes.latencies.into_iter().map(|c| (c.operation, c.of, c.share_ppm)).collect()
        };
        let own = |operation: &str, share_ppm| (operation.to_owned(), ChangeOf::OwnWork, share_ppm);
        assert_eq!(changes(2), [own("a", -330_000), own("b", -330_000)]);
        assert_eq!(changes(1), [own("b", -1_000_000)], "what does not reach it takes no time at all");
        assert_eq!(table.rows()[2].first(), Some(&Endpoint::new("s", "a")));
    }

    #[test]
    fn budgets_belong_to_the_first_way_that_reaches_the_target() {
        let mut report = report();
        assert_eq!(budget_title(&report), "Budget of a call at p99, with a 38\u{202f}% faster");
        let (rows, others) = budgets(&report, LISTED);
        let words = "400\u{202f}ms \u{2192} 290\u{202f}ms".to_owned();
        assert_eq!(rows, [(Endpoint::new("s", "a"), words)]);
        assert_eq!(others, "2 more endpoints may take as long as now.");
        report.single[0].faster_percent = None;
        assert_eq!(budget_title(&report), "Budget of a call at p99, with a and b 33\u{202f}% faster");
        report.together.clear();
        assert_eq!(
            budget_title(&report),
            "Budget of a call at p99, with 44\u{202f}% less of waiting for pay"
        );
        report.budgets.pop();
        assert_eq!(budgets(&report, LISTED).1, "1 more endpoint may take as long as now.");
        (report.parts, report.budgets) = (Vec::new(), Vec::new());
        assert_eq!(
            (budget_title(&report), budgets(&report, LISTED)),
            (String::new(), (Vec::new(), String::new()))
        );
    }
}
