//! The tables of the diagnosis: places by what makes the tail slow, or by what changed between two sets; and its files.

use crate::compare::{Changed, change_columns};
use crate::culprit::{ServiceRow, services};
use crate::diagnosis_words::{Line, lines, place_name, type_name};
use crate::table::{Attributes, Column, Number, Table, Unit, csv};
use pathlight_query::{CulpritReport, Interval, PlaceChange, PlacesReport, TprofReport};

/// A place of a request type.
pub struct PlaceRow {
    rank: u64,
    kind: String,
    /// Traces of the slow side, or of side B.
    traces: u64,
    /// The change.
    pub place: PlaceChange,
}

impl PlaceRow {
    /// Returns the rows of a list, what makes most of a difference first.
    pub fn of(report: &PlacesReport) -> Vec<PlaceRow> {
        let mut rows = Vec::new();
        for kind in report.lists() {
            let name = type_name(&kind.service, &kind.operation);
            rows.extend((1..).zip(&kind.places).map(|(rank, place)| PlaceRow {
                rank,
                kind: name.clone(),
                traces: kind.b_traces,
                place: place.clone(),
            }));
        }
        rows
    }

    fn attributes(&self) -> Attributes {
        vec![
            ("data-test", "place".to_owned()),
            ("data-type", self.kind.clone()),
            ("data-rank", self.rank.to_string()),
            ("data-operation", self.place.operation.clone()),
            ("data-value", self.place.change_us.to_string()),
        ]
    }
}

impl Changed for PlaceRow {
    fn sides(&self) -> [f64; 3] {
        [self.place.a_us, self.place.b_us, self.place.change_us]
    }

    fn interval(&self) -> Option<Interval> {
        self.place.interval
    }
}

/// Returns the table of places; `sides` are the heads of both sides.
pub fn places(name: &'static str, label: &'static str, sides: [&'static str; 2]) -> Table<PlaceRow> {
    let mut columns = vec![
        Column::text_field("request_type", |row: &PlaceRow| row.kind.as_str().into()),
        Column::count(
            "rank",
            "#",
            "Its place in its request type: what grew most is first",
            |row: &PlaceRow| row.rank.into(),
        )
        .low(3)
        .tiny()
        .csv(&["rank"]),
        Column::text(
            "place",
            "Place",
            "A subspan, a span that calls nothing, or the network between two services",
            |row: &PlaceRow| place_name(&row.place).into(),
        )
        .wide()
        .csv_as(&["service", "operation", "subspan", "gap_to"], |row| {
            let PlaceChange { service, operation, subspan, gap_to, .. } = &row.place;
            let subspan = Number::from(*subspan).digits();
            vec![service.clone(), operation.clone(), subspan, gap_to.clone().unwrap_or_default()]
        }),
        Column::text(
            "type",
            "Request type",
            "Normal and slow are told within a request type",
            |row: &PlaceRow| row.kind.as_str().into(),
        )
        .by(|a, b| (&a.kind, a.rank).cmp(&(&b.kind, b.rank)))
        .low(2),
    ];
    columns.extend(change_columns(sides, ["a_us", "b_us", "change_us"]));
    columns.push(
        Column::number(
            Unit::Change,
            "all",
            "In all",
            "The change times the traces it is seen in",
            |row: &PlaceRow| (row.place.change_us * row.traces as f64).into(),
        )
        .low(3),
    );
    Table::new(name, label, ("all", true), columns).with_attributes(PlaceRow::attributes).search(
        |row, finder| {
            let endpoint = pathlight_text::format::endpoint(&row.place.service, &row.place.operation);
            finder.fits_place(&endpoint, &[&place_name(&row.place), &row.kind])
        },
    )
}

/// Returns the tree as comma-separated values: a line for each of its lines.
pub fn report_csv(report: &TprofReport) -> String {
    let columns = [
        Column::field("level", |line: &Line| line.level.into()),
        Column::endpoint("", "", |line: &Line| (&line.endpoint.service, &line.endpoint.operation))
            .csv(&["service", "operation"]),
        Column::field("ranked_by_us", |line: &Line| line.value.into()),
        Column::field("aggregate_trace", |line: &Line| line.aggregate.into()),
        Column::text_field("words", |line: &Line| line.words.as_str().into()),
    ];
    csv(&columns, &lines(report))
}

/// Returns places as comma-separated values.
pub fn places_csv(report: &PlacesReport) -> String {
    let mut table = places("", "", ["", ""]);
    table.set_rows(PlaceRow::of(report));
    table.csv()
}

/// Returns services as comma-separated values.
pub fn services_csv(report: &CulpritReport) -> String {
    let mut table = services();
    table.set_rows(ServiceRow::of(report));
    table.csv()
}
