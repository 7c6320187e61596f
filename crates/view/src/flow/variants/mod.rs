//! The variants of an endpoint's flow: which calls invocations make, how many make the same ones, and what decides which.

pub mod chart;
#[cfg(test)]
mod tests;

use crate::say::sentence::Sentence;
use crate::table::{Column, Number, Table, Width};
use pathlight_base::format::{self, count, counted, duration, printable, share};
use pathlight_engine::flow::{Decider, FlowVariant, FlowVariantsReport, VariantCall};
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Calls that are named of one variant.
const NAMED: usize = 4;

/// Says what traces cannot show.
pub const LIMITS: &str =
    "What goes with a variant need not be its cause: the traces show only that they come together.";

/// Why the table is empty.
pub const EMPTY: &str =
    "No invocations of this endpoint are selected, or each makes other calls than nearly all the others.";

/// A variant of a report.
pub struct VariantLine {
    at: usize,
    report: Rc<FlowVariantsReport>,
}

impl VariantLine {
    /// Returns the variants of a report.
    pub fn of(report: &Rc<FlowVariantsReport>) -> Vec<VariantLine> {
        (0..report.variants.len()).map(|at| VariantLine { at, report: report.clone() }).collect()
    }

    /// Returns its place among the variants.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns the endpoint of the call that decides it, else of one that the most common variant does not make.
    pub fn call(&self) -> Option<&Endpoint> {
        let variant = self.variant();
        let decides = variant.deciders.iter().find_map(|decider| decider.call.as_ref());
        let most = self.report.variants.first().map_or(&[][..], |most| &most.calls);
        let other = || variant.calls.iter().find(|call| !most.contains(call)).map(|call| &call.callee);
        decides.or_else(other)
    }

    fn variant(&self) -> &FlowVariant {
        &self.report.variants[self.at]
    }

    fn share(&self) -> f64 {
        share_of(&self.report, self.variant())
    }
}

fn share_of(report: &FlowVariantsReport, variant: &FlowVariant) -> f64 {
    variant.invocations as f64 / report.invocations.max(1) as f64
}

fn named(calls: &[&VariantCall]) -> String {
    let name = |call: &&VariantCall| {
        let name = printable(&call.callee.operation);
        match call.calls {
            Some(calls) if calls > 1 => format!("{name} ({calls} calls)"),
            _ => name,
        }
    };
    let mut names: Vec<String> = calls.iter().take(NAMED).map(name).collect();
    if calls.len() > NAMED {
        names.push(format!("{} more", count((calls.len() - NAMED) as u64)));
    }
    names.join(", ")
}

/// Returns the calls of a variant in words: all of them of the first, and of the others what is not as in the first.
pub fn calls_words(report: &FlowVariantsReport, at: usize) -> String {
    let (Some(variant), Some(most)) = (report.variants.get(at), report.variants.first()) else {
        return String::new();
    };
    let mut words: Vec<String> = Vec::new();
    if variant.is_error && (at > 0 || !most.is_error || report.variants.len() == 1)
        || at == 0 && most.is_error
    {
        words.push("in error".to_owned());
    }
    if at == 0 {
        let calls: Vec<&VariantCall> = most.calls.iter().collect();
        words.push(if calls.is_empty() { "no call".to_owned() } else { named(&calls) });
        return words.join(": ");
    }
    let other = |of: &FlowVariant, than: &FlowVariant| -> Vec<VariantCall> {
        of.calls.iter().filter(|call| !than.calls.contains(call)).cloned().collect()
    };
    let (more, fewer) = (other(variant, most), other(most, variant));
    let is_called = |call: &&VariantCall| variant.calls.iter().any(|of| of.callee == call.callee);
    let more: Vec<&VariantCall> = more.iter().collect();
    // Of a callee that is called another number of times that number says enough.
    let fewer: Vec<&VariantCall> = fewer.iter().filter(|call| !is_called(call)).collect();
    if variant.calls.is_empty() && !fewer.is_empty() {
        words.push("no call".to_owned());
    } else {
        if !more.is_empty() {
            words.push(format!("with {}", named(&more)));
        }
        if !fewer.is_empty() {
            words.push(format!("without {}", named(&fewer)));
        }
    }
    if more.is_empty() && fewer.is_empty() {
        words.push("the same calls".to_owned());
    }
    words.join(", ")
}

/// Returns what goes with a variant: a tag, what a call answers, or a call that fails. The tag comes
/// first, since a cell may be cut.
fn decider_name(decider: &Decider) -> String {
    match (&decider.call, &decider.tag) {
        (Some(call), Some((key, value))) => {
            format!("{}={} of {}", printable(key), printable(value), printable(&call.operation))
        }
        (Some(call), None) => format!("{} fails", printable(&call.operation)),
        (None, Some((key, value))) => format!("{}={}", printable(key), printable(value)),
        (None, None) => String::new(),
    }
}

/// Returns what goes with a variant, and how often there and elsewhere.
pub fn decider_words(decider: &Decider) -> String {
    let what = decider_name(decider);
    format!("{what} ({} here, {} elsewhere)", share(decider.share_here()), share(decider.share_elsewhere()))
}

/// Returns the calls of a variant, and what decides it first.
fn variant_words(report: &FlowVariantsReport, at: usize) -> String {
    let first = report.variants.get(at).and_then(|variant| variant.deciders.first());
    let decider = first.map(|first| format!("; {}", decider_name(first)));
    calls_words(report, at) + &decider.unwrap_or_default()
}

/// Returns what decides a variant, in words; nothing if nothing was found.
pub fn decided_by(variant: &FlowVariant) -> String {
    variant.deciders.iter().map(decider_words).collect::<Vec<_>>().join("; ")
}

/// Returns what a report says, in a sentence.
pub fn headline(report: &FlowVariantsReport) -> Sentence {
    let out = Sentence::default();
    if report.invocations == 0 {
        return out.text("There is no invocation here.");
    }
    let kinds = report.variants.len() as u64 + report.others;
    let others = match report.others {
        0 => String::new(),
        n => format!(
            " {} of {} {} not listed.",
            counted(n, "variant"),
            counted(report.other_invocations, "invocation"),
            if n == 1 { "is" } else { "are" }
        ),
    };
    let out = out
        .text("The ")
        .number(counted(report.invocations, "invocation"))
        .text(" of ")
        .name(&report.parent)
        .text(if kinds == 1 { " all make the same calls" } else { " come in " });
    if kinds == 1 {
        return out.text(".");
    }
    let out = out.number(counted(kinds, "variant"));
    let Some(first) = report.variants.first() else { return out.text(&format!(".{others}")) };
    let slowest = report
        .variants
        .iter()
        .reduce(|a, b| if b.flow.latency_us.p50 > a.flow.latency_us.p50 { b } else { a })
        .filter(|slowest| slowest.flow.latency_us.p50 > first.flow.latency_us.p50);
    let out = out
        .text(". The most common one, ")
        .number(share(share_of(report, first)))
        .text(", takes ")
        .number(duration(first.flow.latency_us.p50))
        .text(" in the median");
    let out = match slowest {
        None => out,
        Some(slowest) => {
            let at = report.variants.iter().position(|of| std::ptr::eq(of, slowest)).unwrap_or(0);
            out.text("; the slowest, ")
                .number(share(share_of(report, slowest)))
                .text(&format!(" ({}), takes ", calls_words(report, at)))
                .number(duration(slowest.flow.latency_us.p50))
        }
    };
    out.text(&format!(".{others}"))
}

/// Returns the table.
pub fn table() -> Table<VariantLine> {
    fn latency(line: &VariantLine) -> &pathlight_base::statistics::Percentiles {
        &line.variant().flow.latency_us
    }
    let columns = vec![
        Column::call(
            "Variant",
            "The calls of these invocations: all of the most common variant, and of the others what is not as there",
            |line: &VariantLine| (None, calls_words(&line.report, line.at)),
        )
        .by(|a, b| a.at.cmp(&b.at))
        .csv_as(&["variant", "error", "calls"], |line| {
            let calls = line.variant().calls.iter();
            let calls = calls.map(|call| format::endpoint(&call.callee.service, &call.callee.operation));
            let is_error = line.variant().is_error;
            vec![(line.at + 1).to_string(), is_error.to_string(), calls.collect::<Vec<_>>().join(", ")]
        }),
        Column::count("invocations", "Invocations", "Invocations of the variant", |line: &VariantLine| {
            line.variant().invocations.into()
        })
        .csv(&["invocations"]),
        Column::share("share", "Share", "Share of all invocations", |line: &VariantLine| line.share().into())
            .csv(&["share"]),
        Column::text(
            "decided",
            "Decided by",
            "What nearly all of these invocations have and few others: a tag, what a call answers, or a call that fails",
            |line: &VariantLine| decided_by(line.variant()).into(),
        )
        .width(Width::Caller)
        .unsorted(),
        Column::text_field("decided_by", |line: &VariantLine| decided_by(line.variant()).into()),
        Column::duration("p50", "p50", "Median latency", |line| latency(line).p50.into())
            .csv(&["latency_p50_us"]),
        Column::duration("p95", "p95", "95th percentile of the latency", |line| latency(line).p95.into())
            .low(2)
            .csv(&["latency_p95_us"]),
        Column::duration("p99", "p99", "99th percentile of the latency", |line| latency(line).p99.into())
            .low(3)
            .csv(&["latency_p99_us"]),
    ];
    Table::new("variant-table", "Variants of the flow", ("invocations", true), columns).with_attributes(
        |line| {
            vec![
                ("data-test", "variant".to_owned()),
                ("data-label", calls_words(&line.report, line.at)),
                ("data-value", Number::from(line.variant().invocations as f64).digits()),
            ]
        },
    )
}
