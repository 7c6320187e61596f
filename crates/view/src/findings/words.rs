//! What cards, texts and Markdown say of findings, besides their sentences.

use crate::findings::links::show_words;
use crate::findings::sentences::between;
pub use crate::findings::sentences::sentence;
pub use crate::findings::why::why;
use pathlight_base::format::{self, count, counted, duration};
use pathlight_engine::findings::{Finding, FindingFacts, FindingKind, FindingsReport};

/// Returns what a kind is called, on a card and as a heading.
pub fn kind_name(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Changed => "What changed",
        FindingKind::SlowTail => "Slow tail",
        FindingKind::Waiting => "Waiting for a service",
        FindingKind::Bursts => "Bursts",
        FindingKind::OneAfterTheOther => "One after the other",
        FindingKind::Timeout => "Looks like a timeout",
        FindingKind::Retries => "Retries",
        FindingKind::RedundantCalls => "Redundant calls",
        FindingKind::Errors => "Errors",
        FindingKind::PoolWaits => "Waiting before a call",
        FindingKind::SlowerPlace => "Slower in one place",
        FindingKind::Who => "Who is affected",
        FindingKind::SinceWhen => "Since when",
        FindingKind::HotSpot => "Hot spot",
        FindingKind::WorthMakingFaster => "Worth making faster",
        FindingKind::Abnormal => "Abnormal requests",
        FindingKind::NotInstrumented => "Not instrumented",
        FindingKind::WorkAfter => "After the answer",
        FindingKind::OutsideRequests => "Outside these requests",
        FindingKind::ReadWithCare => "Read with care",
        FindingKind::Queue => "Waiting in a queue",
    }
}

/// Returns what a finding costs, in a few words; empty where time is not what it is about.
pub fn stake(finding: &Finding) -> String {
    if finding.stake_us <= 0.0 {
        return String::new();
    }
    let each = format!("{} per request", duration(finding.stake_us));
    match finding.interval {
        Some(interval) => format!("{each} ({})", between(interval, duration)),
        None => each,
    }
}

/// Returns the first finding in words, which stands above all in a saved report; empty without requests.
pub fn headline(report: &FindingsReport) -> String {
    match report.findings.first() {
        Some(first) => format!("{}: {}", kind_name(first.kind()), sentence(first).to_text()),
        None if report.facts.requests == 0 => String::new(),
        None => nothing(report),
    }
}

/// Returns what is said where nothing stands out.
pub fn nothing(report: &FindingsReport) -> String {
    format!(
        "Nothing stands out in {}: no difference beyond chance, and no place with 5 % of the latency.",
        counted(report.facts.requests, "request")
    )
}

/// Returns how many requests contain errors; `None` where the findings do not say.
pub fn requests_with_errors(report: &FindingsReport) -> Option<u64> {
    let found = report.findings.iter().find_map(|finding| match &finding.facts {
        FindingFacts::Errors(facts) => Some(facts.requests),
        _ => None,
    });
    // Findings about errors are always listed, if all are.
    found.or_else(|| (report.left_out == 0 && report.facts.requests > 0).then_some(0))
}

/// Returns the note about findings that are not listed; empty if all are.
pub fn left_out(report: &FindingsReport) -> String {
    match report.left_out {
        0 => String::new(),
        more => format!("{} with less at stake not listed.", counted(more, "other finding")),
    }
}

/// Returns which requests the findings are about, with their latency.
pub fn about(report: &FindingsReport) -> String {
    let latency = report.facts.said_us();
    format!(
        "{}, latency p50 {}, p95 {}, p99 {}",
        counted(report.facts.requests, "request"),
        duration(latency.p50),
        duration(latency.p95),
        duration(latency.p99)
    )
}

/// Returns the findings as plain text, numbered.
pub fn to_text(report: &FindingsReport) -> String {
    let mut out = about(report) + "\n\n";
    for (number, finding) in report.findings.iter().enumerate() {
        let cost = stake(finding);
        let cost = if cost.is_empty() { cost } else { format!(" [{cost}]") };
        let name = kind_name(finding.kind());
        let before = if finding.is_as_before { " The same holds in A." } else { "" };
        out.push_str(&format!("{:2}. {name}: {}{before}{cost}\n", number + 1, sentence(finding).to_text()));
    }
    if report.left_out > 0 {
        out.push_str(&format!("    {}\n", left_out(report)));
    }
    if report.findings.is_empty() {
        out.push_str(&nothing(report));
        out.push('\n');
    }
    out
}

/// Files named one by one in a note.
const FILES: usize = 5;

/// Returns the names of files as a list; of many the first few.
pub fn files(names: &[&str]) -> String {
    let more = names.len().saturating_sub(FILES) as u64;
    let named = names[..names.len().min(FILES)].join(", ");
    if more > 0 { format!("{named} and {} more", count(more)) } else { named }
}

/// Gives the address of the page that shows the evidence of a finding, or all findings.
pub type LinkTo<'a> = dyn Fn(Option<&Finding>) -> String + 'a;

/// Returns the findings as an incident note in Markdown: what was found, how sure, where to look. `loaded` says what was
/// looked at; `link` gives the address of the page that shows the evidence of a finding, or all findings.
pub fn to_markdown(report: &FindingsReport, loaded: &str, link: Option<&LinkTo>) -> String {
    let mut out = format!("## Findings\n\n{}\n\n", about(report));
    if !loaded.is_empty() {
        out.push_str(&format!("Loaded: {}\n\n", format::markdown(loaded)));
    }
    // Brackets would end a link of Markdown.
    let link = link
        .map(|link| move |finding: Option<&Finding>| link(finding).replace('(', "%28").replace(')', "%29"));
    for finding in &report.findings {
        out.push_str(&format!("1. *{}.* {}", kind_name(finding.kind()), sentence(finding).to_markdown()));
        if finding.is_as_before {
            out.push_str(" The same holds in A.");
        }
        let cost = stake(finding);
        if !cost.is_empty() {
            out.push_str(&format!(" Costs {cost}."));
        }
        if let Some(example) = &finding.example {
            out.push_str(&format!(" Example: trace {}.", format::code(&example.trace_id)));
        }
        if let Some(link) = &link {
            for shown in [finding].into_iter().chain(finding.explained().map(|(first, _)| first)) {
                out.push_str(&format!(" [{}]({})", show_words(shown), link(Some(shown))));
            }
        }
        out.push('\n');
    }
    if report.left_out > 0 {
        out.push_str(&format!("\n{}\n", left_out(report)));
    }
    if report.findings.is_empty() {
        out.push_str(&nothing(report));
        out.push('\n');
    }
    if let Some(link) = link {
        out.push_str(&format!("\n[Open in Pathlight]({})\n", link(None)));
    }
    out
}
