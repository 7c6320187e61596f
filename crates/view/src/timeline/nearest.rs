//! A request beside the normal one that is most like it: sentence, table, JSON.

use crate::say::sentence::Sentence;
use crate::table::{Column, Table, Unit, endpoint_attributes};
use pathlight_backend::source::jaeger_id;
use pathlight_base::format::{counted, duration_us};
use pathlight_engine::queries::{NearestNormalReport, PlaceDifference};
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// What the button does, for hints.
pub const HINT: &str =
    "Put the normal request that is most like it on the same axis, with the difference place by place";
/// Places that the sentence names.
const NAMED: usize = 3;

/// Returns how the latencies differ, and where.
pub fn sentence(report: &NearestNormalReport) -> Sentence {
    let out = Sentence::default();
    let (latency_us, root) = (report.request.latency_us, report.places.first().map(|place| &place.endpoint));
    let Some(root) = root else { return out.text("This request takes no time.") };
    let Some(normal) = &report.normal else {
        return out.text("There is no other request ").name(root).text(" to compare it with.");
    };
    let longer_us = latency_us as i64 - normal.latency_us as i64;
    let out = out.text("This request takes ").number(duration_us(latency_us)).text(", ");
    let out = match longer_us {
        0 => out.text("as long as"),
        _ => out.number(duration_us(longer_us.unsigned_abs())).text(if longer_us > 0 {
            " more than"
        } else {
            " less than"
        }),
    };
    let (low_us, high_us) = report.normal_us;
    let out = out
        .text(" the normal one that is most like it (trace ")
        .text(&jaeger_id(&normal.trace_id))
        .text("). Normal is ")
        .number(duration_us(low_us))
        .text(" to ")
        .number(duration_us(high_us))
        .text(", the middle half of ")
        .number(counted(report.others, "other request"))
        .text(" ")
        .name(root)
        .text(".");
    let rows = NearestRow::of(&Rc::new(report.clone()));
    let most: Vec<&NearestRow> =
        rows.iter().filter(|row| row.longer_us() * longer_us.signum() > 0).take(NAMED).collect();
    let mut out = out;
    for (at, row) in most.iter().enumerate() {
        let between = match at {
            0 => " ",
            _ if at + 1 == most.len() => " and ",
            _ => ", ",
        };
        let word = if longer_us > 0 { " more" } else { " less" };
        out = out.text(between).name(&row.place().endpoint).text(if at == 0 { " takes " } else { " " });
        out = out.number(duration_us(row.longer_us().unsigned_abs())).text(word);
    }
    if most.is_empty() { out } else { out.text(".") }
}

/// A line of the table: a place of a report.
#[derive(Clone, PartialEq)]
pub struct NearestRow {
    report: Rc<NearestNormalReport>,
    at: usize,
}

impl NearestRow {
    /// Returns the places, the greatest differences first (ties: in the order of the calls).
    pub fn of(report: &Rc<NearestNormalReport>) -> Vec<NearestRow> {
        let row = |at| NearestRow { report: report.clone(), at };
        let mut rows: Vec<NearestRow> = (0..report.places.len()).map(row).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.longer_us().unsigned_abs()));
        rows
    }

    /// Returns the endpoint of the place.
    pub fn endpoint(&self) -> &Endpoint {
        &self.place().endpoint
    }

    fn place(&self) -> &PlaceDifference {
        &self.report.places[self.at]
    }

    fn longer_us(&self) -> i64 {
        self.place().longer_us()
    }

    fn caller(&self) -> Option<&Endpoint> {
        let parent = self.place().parent?;
        Some(&self.report.places.get(parent as usize)?.endpoint)
    }
}

/// Returns the table of places.
pub fn table() -> Table<NearestRow> {
    let columns = vec![
        Column::endpoint("Place", "An endpoint on the critical path, by who calls it", |row: &NearestRow| {
            row.place().endpoint.names()
        })
        .key("place")
        .csv(&["service", "operation"]),
        Column::text("caller", "Called by", "The endpoint above it", |row: &NearestRow| {
            row.caller().map_or(String::new(), |of| of.operation.clone()).into()
        })
        .low(2),
        Column::number(
            Unit::Change,
            "longer",
            "Longer",
            "Self time here less that of the normal request; all together are the difference of the latencies",
            |row: &NearestRow| (row.longer_us() as f64).into(),
        )
        .by(|a, b| a.longer_us().unsigned_abs().cmp(&b.longer_us().unsigned_abs()))
        .csv(&["longer_us"]),
        Column::duration("self", "Here", "Self time on the critical path of this request", |row: &NearestRow| {
                row.place().self_us[0].into()
            })
            .csv(&["self_us"]),
        Column::duration("normal", "Normal", "The same of the normal request", |row: &NearestRow| {
            row.place().self_us[1].into()
        })
            .csv(&["normal_self_us"]),
        Column::count("spans", "Spans", "Spans on the critical path of this request", |row: &NearestRow| {
            row.place().spans[0].into()
        })
        .low(1)
        .csv(&["spans"]),
        Column::count("normal-spans", "Normal spans", "The same of the normal request", |row: &NearestRow| {
            row.place().spans[1].into()
        })
        .low(1)
        .csv(&["normal_spans"]),
    ];
    Table::new(
        "nearest-table",
        "Where the latency differs from the normal request",
        ("longer", true),
        columns,
    )
    .with_attributes(|row: &NearestRow| {
        endpoint_attributes("nearest", row.place().endpoint.names(), row.longer_us() as f64)
    })
}
