//! The tables of the diagnosis: places by what makes the tail slow, or by what changed between two sets; and its files.

use crate::compare::services::{ServiceRow, services};
use crate::compare::{Changed, INTERVAL_OF_SETS, INTERVAL_OF_TAIL, change_columns};
use crate::diagnosis::words::{DiagnosisLine, lines, place_name, type_name};
use crate::table::{Attributes, Column, Number, Table, Unit, csv, endpoint_attributes};
use pathlight_base::statistics::Interval;
use pathlight_engine::diagnosis::{
    DiagnosisReport, EndpointTimes, PlaceChange, PlacesReport, SplitStatistic, TimeStatistics,
};
use pathlight_engine::verdict::ServicesReport;
use pathlight_trace::Endpoint;

/// A place of a request type.
pub struct TypePlaceRow {
    rank: u64,
    kind: String,
    /// Traces of the slow side, or of side B.
    traces: u64,
    /// The change.
    pub place: PlaceChange,
}

impl TypePlaceRow {
    /// Returns the rows of a list, what makes most of a difference first.
    pub fn of(report: &PlacesReport) -> Vec<TypePlaceRow> {
        let mut rows = Vec::new();
        for kind in report.lists() {
            let name = type_name(&kind.service, &kind.operation);
            rows.extend((1..).zip(&kind.places).map(|(rank, place)| TypePlaceRow {
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

impl Changed for TypePlaceRow {
    fn sides(&self) -> [f64; 3] {
        [self.place.a_us, self.place.b_us, self.place.change_us]
    }

    fn interval(&self) -> Option<Interval> {
        self.place.interval
    }
}

/// Returns the table of places by what makes the tail slow.
pub fn slow_tail() -> Table<TypePlaceRow> {
    places("slow-tail", "What makes the tail slow", ["Normal", "Tail"], INTERVAL_OF_TAIL)
}

/// Returns the table of places by what changed between two sets.
pub fn changed_places() -> Table<TypePlaceRow> {
    places("changed-places", "Places by change", ["A", "B"], INTERVAL_OF_SETS)
}

/// Returns a table of places; `sides` are the heads of both sides, `interval` says what their interval is.
fn places(
    name: &'static str,
    label: &'static str,
    sides: [&'static str; 2],
    interval: &'static str,
) -> Table<TypePlaceRow> {
    let mut columns = vec![
        Column::text_field("request_type", |row: &TypePlaceRow| row.kind.as_str().into()),
        Column::count(
            "rank",
            "#",
            "Its place in its request type: what grew most is first",
            |row: &TypePlaceRow| row.rank.into(),
        )
        .low(3)
        .tiny()
        .csv(&["rank"]),
        Column::text(
            "place",
            "Place",
            "A subspan, a span that calls nothing, or waiting for another service",
            |row: &TypePlaceRow| place_name(&row.place).into(),
        )
        .wide()
        .csv_as(&["service", "operation", "subspan", "previous", "next", "gap_to"], |row| {
            let PlaceChange { service, operation, subspan, previous, next, gap_to, .. } = &row.place;
            let name = |child: &Option<Endpoint>| {
                child.as_ref().map(|child| child.operation.clone()).unwrap_or_default()
            };
            let subspan = Number::from(*subspan).digits();
            let gap_to = gap_to.clone().unwrap_or_default();
            vec![service.clone(), operation.clone(), subspan, name(previous), name(next), gap_to]
        }),
        Column::text(
            "type",
            "Request type",
            "Normal and slow are separated within a request type",
            |row: &TypePlaceRow| row.kind.as_str().into(),
        )
        .by(|a, b| (&a.kind, a.rank).cmp(&(&b.kind, b.rank)))
        .low(2),
    ];
    columns.extend(change_columns(sides, ["a_us", "b_us", "change_us"], interval));
    columns.push(
        Column::number(
            Unit::Change,
            "all",
            "In all",
            "The change times the traces it is seen in",
            |row: &TypePlaceRow| (row.place.change_us * row.traces as f64).into(),
        )
        .low(3),
    );
    Table::new(name, label, ("all", true), columns).with_attributes(TypePlaceRow::attributes).search(
        |row, finder| {
            let endpoint = pathlight_base::format::endpoint(&row.place.service, &row.place.operation);
            finder.fits_place(&endpoint, &[&place_name(&row.place), &row.kind])
        },
    )
}

/// The times of an endpoint in a group of layer 1 or 2.
pub struct LayerRow {
    layer: u32,
    /// The request type; of layer 1 all traces.
    group: String,
    traces: u64,
    /// The times.
    pub times: EndpointTimes,
}

impl LayerRow {
    /// Returns the rows of layers 1 and 2.
    pub fn of(report: &DiagnosisReport) -> Vec<LayerRow> {
        let mut rows = Vec::new();
        for layer in report.layers.iter().filter(|layer| layer.layer <= 2) {
            for group in &layer.groups {
                let name = group.root.as_ref().map_or_else(
                    || "all traces".to_owned(),
                    |root| type_name(&root.service, &root.operation),
                );
                rows.extend(group.endpoints.iter().map(|times| LayerRow {
                    layer: layer.layer,
                    group: name.clone(),
                    traces: group.traces,
                    times: times.clone(),
                }));
            }
        }
        rows
    }

    fn own(&self) -> &SplitStatistic {
        &self.times.self_us
    }

    fn attributes(&self) -> Attributes {
        let total = self.own().all.mean * self.own().all.count as f64;
        let name = (self.times.service.as_str(), self.times.operation.as_str());
        let mut out = endpoint_attributes("layer-row", name, total);
        out.push(("data-layer", self.layer.to_string()));
        out
    }
}

/// Returns the table of layers 1 and 2.
pub fn layers() -> Table<LayerRow> {
    fn mean(of: Option<TimeStatistics>) -> Number {
        of.map(|of| of.mean).into()
    }
    let columns = vec![
        Column::count("layer", "Layer", "1: all traces; 2: by request type", |row: &LayerRow| {
            row.layer.into()
        })
        .tiny()
        .csv(&["layer"]),
        Column::endpoint("Endpoint", "Its spans in these traces", |row: &LayerRow| {
            (&row.times.service, &row.times.operation)
        })
        .csv(&["service", "operation"]),
        Column::text("group", "Traces of", "The request type; of layer 1 all", |row: &LayerRow| {
            row.group.as_str().into()
        })
        .low(2)
        .csv(&["request_type"]),
        Column::field("traces", |row: &LayerRow| row.traces.into()),
        Column::count("n", "n", "Its spans", |row: &LayerRow| row.own().all.count.into())
            .tiny()
            .csv(&["spans"]),
        Column::duration("total", "Self time", "Self time of all its spans together", |row: &LayerRow| {
            (row.own().all.mean * row.own().all.count as f64).into()
        })
        .csv(&["self_sum_us"]),
        Column::duration("mean", "Mean", "Mean self time of a span", |row: &LayerRow| {
            row.own().all.mean.into()
        })
        .csv(&["self_mean_us"]),
        Column::field("self_sd_us", |row: &LayerRow| row.own().all.sd.into()),
        Column::field("self_p50_us", |row: &LayerRow| row.own().all.p50.into()),
        Column::duration("p99", "p99", "99th percentile of the self time of a span", |row: &LayerRow| {
            row.own().all.p99.into()
        })
        .low(2)
        .csv(&["self_p99_us"]),
        Column::duration("normal", "Normal", "Mean self time in normal traces", |row: &LayerRow| {
            mean(row.own().normal)
        })
        .low(2)
        .csv(&["self_mean_normal_us"]),
        Column::duration("tail", "Tail", "Mean self time in the traces of the tail", |row: &LayerRow| {
            mean(row.own().tail)
        })
        .low(2)
        .csv(&["self_mean_tail_us"]),
        Column::duration("duration", "Duration", "Mean duration of a span", |row: &LayerRow| {
            row.times.duration_us.all.mean.into()
        })
        .low(3)
        .csv(&["duration_mean_us"]),
        Column::field("duration_p99_us", |row: &LayerRow| row.times.duration_us.all.p99.into()),
    ];
    Table::new("layers", "Layers 1 and 2: times of endpoints", ("total", true), columns)
        .with_attributes(LayerRow::attributes)
        .search(|row, finder| {
            let endpoint = pathlight_base::format::endpoint(&row.times.service, &row.times.operation);
            finder.fits_place(&endpoint, &[&row.group])
        })
}

/// Returns layers 1 and 2 as comma-separated values.
pub fn layers_csv(report: &DiagnosisReport) -> String {
    let mut table = layers();
    table.set_rows(LayerRow::of(report));
    table.csv()
}

/// Returns the tree as comma-separated values: a line for each of its lines.
pub fn report_csv(report: &DiagnosisReport) -> String {
    let columns = [
        Column::field("level", |line: &DiagnosisLine| line.level.into()),
        Column::endpoint("", "", |line: &DiagnosisLine| (&line.endpoint.service, &line.endpoint.operation))
            .csv(&["service", "operation"]),
        Column::field("ranked_by_us", |line: &DiagnosisLine| line.value.into()),
        Column::field("aggregate_trace", |line: &DiagnosisLine| line.aggregate.into()),
        Column::text_field("words", |line: &DiagnosisLine| line.words.as_str().into()),
    ];
    csv(&columns, &lines(report))
}

/// Returns places as comma-separated values.
pub fn places_csv(report: &PlacesReport) -> String {
    let mut table = changed_places();
    table.set_rows(TypePlaceRow::of(report));
    table.csv()
}

/// Returns services as comma-separated values.
pub fn services_csv(report: &ServicesReport) -> String {
    let mut table = services();
    table.set_rows(ServiceRow::of(report));
    table.csv()
}
