//! The diagnosis: what stands around its tree, its tables and the aggregate trace of the chosen line.

use crate::tip::TipLine;
use pathlight_chart::timeline::Timeline;
use pathlight_query::{AggregateTrace, Statistic, TraceReport};
use pathlight_text::format::{duration, printable, sample};

fn statistic(us: &Statistic) -> TipLine {
    TipLine::Text(format!(
        "{} on average, p50 {}, p99 {} ({})",
        duration(us.mean),
        duration(us.p50),
        duration(us.p99),
        sample(us.count)
    ))
}

/// Returns what the tip says of a span of an aggregate trace: of the one with this number, in this row of its timeline, and
/// of one of its subspans if the pointer is on that.
pub fn tip(
    trace: &AggregateTrace,
    number: u32,
    (timeline, row): (&Timeline, u32),
    subspan: Option<u32>,
) -> Vec<TipLine> {
    let Some(span) = trace.spans.get(number as usize) else { return Vec::new() };
    let mut lines =
        vec![TipLine::Endpoint(span.service.clone(), span.name.clone()), statistic(&span.duration_us)];
    if timeline.bit(row, TraceReport::ON_PATH) {
        lines.push(TipLine::Muted("on the critical path of the aggregate trace".to_owned()));
    }
    if let Some(part) = subspan.and_then(|at| span.subspans.get(at as usize)) {
        lines.push(TipLine::Strong(printable(&part.name)));
        lines.push(statistic(&part.duration_us));
        if timeline.problem_of(row).map(|part| part.index) == subspan {
            lines.push(TipLine::Strong("The problematic subspan".to_owned()));
        }
    }
    if trace.order_varies {
        let words = "The order of calls varies: where spans lie is the mean over all orders";
        lines.push(TipLine::Muted(words.to_owned()));
    }
    lines
}
