//! A request beside the normal one that is most like it: sentence, table, JSON.

use crate::say::sentence::Sentence;
use crate::table::{Column, Table, Unit, endpoint_attributes};
use pathlight_backend::source::jaeger_id;
use pathlight_base::format::{count, counted, duration_us};
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
    let out = match longer_us {
        0 => out.text("As long as"),
        _ => out.number(duration_us(longer_us.unsigned_abs())).text(match longer_us > 0 {
            true => " more than",
            false => " less than",
        }),
    };
    let trace = jaeger_id(&normal.trace_id);
    let mut out = out.text(&format!(" the normal request that is most like it, trace {trace}"));
    let rows = NearestRow::of(&Rc::new(report.clone()));
    let most: Vec<&NearestRow> =
        rows.iter().filter(|row| row.longer_us() * longer_us.signum() > 0).take(NAMED).collect();
    for (at, row) in most.iter().enumerate() {
        let between = match at {
            0 => ": ",
            _ if at + 1 == most.len() => " and ",
            _ => ", ",
        };
        out = out.text(between).name(row.endpoint()).text(if at == 0 { " takes " } else { " " });
        out = out.number(duration_us(row.longer_us().unsigned_abs()));
        out = out.text(if longer_us > 0 { " more" } else { " less" });
    }
    let (low_us, high_us) = report.normal_us;
    let out = out.text(". Normal is ").number(duration_us(low_us)).text(" to ").number(duration_us(high_us));
    let out = out.text(", the middle half of ").number(counted(report.others, "other request"));
    out.text(" ").name(root).text(".")
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
        .low(3)
        .csv(&["caller"]),
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
            .low(2)
        .csv(&["self_us"]),
        Column::duration("normal", "Normal", "The same of the normal request", |row: &NearestRow| {
            row.place().self_us[1].into()
        })
            .low(2)
        .csv(&["normal_self_us"]),
        Column::said(
            "spans",
            "Spans",
            "Spans on the critical path of this request; where the normal one has another number, that behind it",
            |row: &NearestRow| row.place().spans[0].into(),
            |row| match row.place().spans {
                [here, normal] if here == normal => count(here),
                [here, normal] => format!("{} ({})", count(here), count(normal)),
            },
        )
        .low(3)
        .csv_as(&["spans", "normal_spans"], |row| row.place().spans.map(|spans| spans.to_string()).to_vec()),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::{CellText, Rows as _};
    use pathlight_engine::flame::RequestPath;

    fn report() -> NearestNormalReport {
        let place = |parent, name: &str, self_us| PlaceDifference {
            parent,
            endpoint: Endpoint::new("shop", name),
            spans: [2, 1],
            self_us,
        };
        let request = |trace_id: &str, latency_us| RequestPath {
            trace_id: trace_id.to_owned(),
            latency_us,
            ..RequestPath::default()
        };
        NearestNormalReport {
            request: request("1", 300_000),
            normal: Some(request("00ab", 105_000)),
            others: 6,
            normal_us: (102_000, 105_000),
            places: vec![
                place(None, "GET", [50_000, 60_000]),
                place(Some(0), "query", [200_000, 45_000]),
                place(Some(0), "again", [50_000, 0]),
            ],
            ..NearestNormalReport::default()
        }
    }

    #[test]
    fn the_sentence_names_where_most_of_the_difference_is() {
        let words = |report: &NearestNormalReport| sentence(report).to_text().replace('\u{202f}', " ");
        assert_eq!(
            words(&report()),
            "195 ms more than the normal request that is most like it, trace 00000000000000ab: query @ shop takes 155 ms more and \
             again @ shop 50.0 ms more. Normal is 102 ms to 105 ms, the middle half of 6 other requests GET @ shop."
        );
        let alone = NearestNormalReport { normal: None, others: 0, ..report() };
        assert_eq!(words(&alone), "There is no other request GET @ shop to compare it with.");
    }

    #[test]
    fn places_stand_by_how_much_they_differ_whichever_way() {
        let mut table = table();
        table.set_rows(NearestRow::of(&Rc::new(report())));
        let csv = table.csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines[0], "service,operation,caller,longer_us,self_us,normal_self_us,spans,normal_spans");
        assert_eq!(
            lines[1..],
            [
                "shop,query,GET,155000,200000,45000,2,1",
                "shop,again,GET,50000,50000,0,2,1",
                "shop,GET,,-10000,50000,60000,2,1",
            ]
        );
        assert!(matches!(table.cell(5, 0), CellText::Number(words, _) if words == "2 (1)"));
    }
}
