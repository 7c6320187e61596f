//! Calls that always run one after the other though nothing in the traces says that they must: what they are, and what running
//! them side by side would save.

use crate::say::LEAST_CHANGE;
use crate::say::sentence::Sentence;
use crate::table::{Column, Number, Table, endpoint_attributes};
use pathlight_base::format::{self, counted, duration, printable};
use pathlight_engine::flow::{CallsBeside, Changes, ParalleliseReport, Saving, SerialGroup};
use std::rc::Rc;

/// Says what traces cannot show.
pub const LIMITS: &str = "The traces cannot show data that flow in the code: look there whether a call needs what the one \
                          before returns, or must not be made if that fails.";

/// A group of calls, of a report.
pub struct SerialLine {
    at: usize,
    report: Rc<ParalleliseReport>,
}

impl SerialLine {
    /// Returns the groups of a report.
    pub fn of(report: &Rc<ParalleliseReport>) -> Vec<SerialLine> {
        (0..report.groups.len()).map(|at| SerialLine { at, report: report.clone() }).collect()
    }

    /// Returns its place among the groups.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the calls.
    pub fn calls(&self) -> &CallsBeside {
        &self.group().calls
    }

    /// Returns what it changes, for a what-if.
    pub fn changes(&self) -> Changes {
        self.group().changes()
    }

    fn group(&self) -> &SerialGroup {
        &self.report.groups[self.at]
    }

    fn caller(&self) -> (&str, &str) {
        (&self.calls().parent.service, &self.calls().parent.operation)
    }

    fn saved(&self) -> Saving {
        self.group().saved_us
    }
}

/// Returns the calls of a group by name, in their order; of one endpoint how many there are.
pub fn calls_words(group: &SerialGroup) -> String {
    match &group.calls.callees[..] {
        [only] => format!("{:.0} calls of {}", group.mean_calls, printable(&only.operation)),
        several => {
            let names: Vec<String> = several.iter().map(|callee| printable(&callee.operation)).collect();
            names.join(", then ")
        }
    }
}

/// Returns what a report says, in a sentence.
pub fn headline(report: &ParalleliseReport) -> Sentence {
    let out = Sentence::default();
    if report.requests == 0 {
        return out.text("There is no request here.");
    }
    let left_out = match report.dependent {
        0 => String::new(),
        n => format!(" Left out: {} of which an argument follows from the call before.", counted(n, "pair")),
    };
    let Some(best) = report.groups.first() else {
        return out.text(&format!(
            "No calls were found that always run one after the other, would save time side by side, and do not seem to need one \
             another.{left_out}"
        ));
    };
    let more = match report.found - report.tried {
        0 => String::new(),
        n => format!(
            " {} that could save less {} not tried.",
            counted(n, "group"),
            if n == 1 { "was" } else { "were" }
        ),
    };
    let out = out
        .number(counted(report.groups.len() as u64, "group"))
        .text(" of calls always run one after the other though nothing in the traces says that they must. Side by side, ")
        .text(&calls_words(best))
        .text(" by ")
        .name(&best.calls.parent)
        .text(" would bring the mean latency of ")
        .number(counted(report.requests, "request"))
        .text(" from ")
        .number(duration(report.latency_us.mean))
        .text(" to ")
        .number(duration(report.latency_us.mean - best.saved_us.mean));
    let (p99_us, saved_us) = (report.latency_us.p99, best.saved_us.p99);
    let out = if saved_us >= LEAST_CHANGE * p99_us {
        out.text(" and p99 from ").number(duration(p99_us)).text(" to ").number(duration(p99_us - saved_us))
    } else {
        out.text("; p99 stays as it is")
    };
    out.text(&format!(".{more}{left_out}"))
}

/// Returns why the table is empty.
pub const EMPTY: &str = "No calls always run one after the other without need, as far as the traces show.";

/// Returns the table.
pub fn table() -> Table<SerialLine> {
    let duration = Column::duration;
    let columns = vec![
        Column::call(
            "Calls",
            "They always run one after the other; here they would all run side by side",
            |line: &SerialLine| (None, calls_words(line.group())),
        )
        .by(|a, b| a.calls().callees.cmp(&b.calls().callees))
        .csv_as(&["callees", "mean_calls"], |line| {
            let names = line.calls().callees.iter().map(|of| format::endpoint(&of.service, &of.operation));
            vec![names.collect::<Vec<_>>().join(" then "), line.group().mean_calls.to_string()]
        }),
        Column::endpoint("Called by", "The endpoint that makes the calls", SerialLine::caller)
            .key("caller")
            .csv(&["caller_service", "caller_operation"]),
        duration("saved", "Mean", "Saved of the mean latency of all requests", |line| {
            line.saved().mean.into()
        }),
        duration("p95", "p95", "Saved of the 95th percentile", |line| line.saved().p95.into()).low(2),
        duration("p99", "p99", "Saved of the 99th percentile", |line| line.saved().p99.into()),
        Column::field("saved_low_us", |line| {
            line.saved().mean_interval.map_or(Number::None, |interval| interval.low.into())
        }),
        Column::field("saved_high_us", |line| {
            line.saved().mean_interval.map_or(Number::None, |interval| interval.high.into())
        }),
        Column::count("affected", "Requests", "Requests that would be faster", |line: &SerialLine| {
            line.group().affected.into()
        })
        .low(2)
        .csv(&["affected"]),
    ];
    Table::new("parallelise-table", "Calls that could run side by side", ("saved", true), columns)
        .with_attributes(|line| endpoint_attributes("serial", line.caller(), line.saved().mean))
}
