//! The tables of the diagnosis: places by what makes the tail slow, or by what changed between two sets; and its files.

use crate::compare::services::{ServiceRow, services};
use crate::compare::{Changed, INTERVAL_OF_SETS, INTERVAL_OF_TAIL, change_columns};
use crate::diagnosis::words::{DiagnosisLine, lines, place_name, type_name};
use crate::table::{Attributes, Column, Number, Table, Unit, csv, endpoint_attributes};
use pathlight_base::statistics::Interval;
use pathlight_engine::diagnosis::{
    DiagnosisReport, EndpointTimes, PlaceChange, PlacesReport, PositionTimes, SplitStatistic, TimeStatistics,
};
use pathlight_engine::verdict::ServicesReport;
use pathlight_trace::Endpoint;
use std::ops::RangeInclusive;

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

/// Times in a group of traces of one of the four layers: of an endpoint, or of a position and its parts.
pub struct LayerRow {
    layer: u32,
    /// The request type; of layer 1 all traces, of layers 3 and 4 with the number of the group.
    group: String,
    traces: u64,
    /// The endpoint; of layers 3 and 4 the name of the position, which has a number if its endpoint has several.
    pub endpoint: Endpoint,
    part: LayerPart,
    /// Self time; of a part of a position its time.
    us: SplitStatistic,
    own_us: Option<SplitStatistic>,
    duration_us: SplitStatistic,
}

/// What the times of a row are.
#[derive(Clone, Copy)]
enum LayerPart {
    /// The whole span.
    Span,
    /// Layer 3: from the start of the child before, or of the span, to that of this child, from 0.
    ChildDiff(usize),
    /// Layer 3: from the end of the last child to that of the span.
    EndDiff,
    /// Layer 4: the subspan with this number, of so many.
    Subspan(usize, usize),
}

impl LayerPart {
    /// Returns its name in files, which is that of the JSON.
    fn key(self) -> String {
        match self {
            LayerPart::Span => "duration".to_owned(),
            LayerPart::ChildDiff(at) => format!("child_diff[{at}]"),
            LayerPart::EndDiff => "end_diff".to_owned(),
            LayerPart::Subspan(at, _) => format!("subspans[{at}]"),
        }
    }

    fn words(self) -> String {
        match self {
            LayerPart::Span => "whole span".to_owned(),
            LayerPart::ChildDiff(0) => "to start of call 1".to_owned(),
            LayerPart::ChildDiff(at) => format!("start of call {at} to {}", at + 1),
            LayerPart::EndDiff => "after last call".to_owned(),
            LayerPart::Subspan(at, of) => format!("subspan {at} of 0\u{2013}{}", of - 1),
        }
    }
}

impl LayerRow {
    /// Returns the rows of layers 1 and 2.
    pub fn of(report: &DiagnosisReport) -> Vec<LayerRow> {
        LayerRow::of_layers(report, 1..=2)
    }

    /// Returns the rows of layers 3 and 4, positions and their parts.
    pub fn positions(report: &DiagnosisReport) -> Vec<LayerRow> {
        LayerRow::of_layers(report, 3..=4)
    }

    /// Returns the rows of some layers.
    pub fn of_layers(report: &DiagnosisReport, layers: RangeInclusive<u32>) -> Vec<LayerRow> {
        let mut rows = Vec::new();
        for layer in report.layers.iter().filter(|layer| layers.contains(&layer.layer)) {
            for (number, group) in (1..).zip(&layer.groups) {
                let kind = group.root.as_ref().map(|root| type_name(&root.service, &root.operation));
                let name = match kind {
                    None => "all traces".to_owned(),
                    Some(kind) if layer.layer <= 2 => kind,
                    Some(kind) => format!("{kind}, group {number}"),
                };
                let row = |endpoint: Endpoint, part, us, duration_us| LayerRow {
                    layer: layer.layer,
                    group: name.clone(),
                    traces: group.traces,
                    endpoint,
                    part,
                    us,
                    own_us: None,
                    duration_us,
                };
                rows.extend(group.endpoints.iter().map(|times| {
                    let EndpointTimes { service, operation, duration_us, self_us, own_us } = times;
                    let endpoint = Endpoint::new(service.as_str(), operation.as_str());
                    LayerRow { own_us: *own_us, ..row(endpoint, LayerPart::Span, *self_us, *duration_us) }
                }));
                for position in &group.positions {
                    rows.extend(parts(position).into_iter().map(|(part, us)| {
                        let endpoint = Endpoint::new(position.service.as_str(), position.name.as_str());
                        row(endpoint, part, us, position.duration_us)
                    }));
                }
            }
        }
        rows
    }

    fn total_us(&self) -> f64 {
        sum_us(&self.us)
    }

    fn attributes(&self) -> Attributes {
        let mut out = endpoint_attributes("layer-row", self.endpoint.names(), self.total_us());
        out.push(("data-layer", self.layer.to_string()));
        out
    }
}

/// Returns the times of a position: of the span, and of its parts unless it is a leaf, which is its only part.
fn parts(position: &PositionTimes) -> Vec<(LayerPart, SplitStatistic)> {
    let PositionTimes { duration_us, child_diff_us, end_diff_us, subspans_us, .. } = position;
    let mut out = vec![(LayerPart::Span, *duration_us)];
    if !child_diff_us.is_empty() {
        out.extend(child_diff_us.iter().enumerate().map(|(at, us)| (LayerPart::ChildDiff(at), *us)));
        out.extend(end_diff_us.map(|us| (LayerPart::EndDiff, us)));
    }
    if subspans_us.len() > 1 {
        let of = subspans_us.len();
        out.extend(subspans_us.iter().enumerate().map(|(at, us)| (LayerPart::Subspan(at, of), *us)));
    }
    out
}

fn sum_us(of: &SplitStatistic) -> f64 {
    of.all.mean * of.all.count as f64
}

fn mean(of: Option<TimeStatistics>) -> Number {
    of.map(|of| of.mean).into()
}

/// Returns the columns of the group of a row, and those of its statistics under these heads of files; `time` is the head of
/// their sum.
fn layer_columns(
    layer: &'static str,
    (endpoint, time): ((&'static str, &'static str), &'static str),
    heads: [&'static str; 7],
) -> [Vec<Column<LayerRow>>; 2] {
    let [sum, mean_us, sd, p50, p99, normal, tail] = heads;
    let of_group = vec![
        Column::count("layer", "Layer", layer, |row: &LayerRow| row.layer.into()).tiny().csv(&["layer"]),
        Column::endpoint(endpoint.0, endpoint.1, |row: &LayerRow| row.endpoint.names())
            .csv(&["service", "operation"]),
        Column::text("group", "Traces of", "The request type; of layer 1 all", |row: &LayerRow| {
            row.group.as_str().into()
        })
        .low(2)
        .csv(&["request_type"]),
        Column::field("traces", |row: &LayerRow| row.traces.into()),
        Column::count("n", "n", "Its spans", |row: &LayerRow| row.us.all.count.into())
            .tiny()
            .low(2)
            .csv(&["spans"]),
    ];
    let statistics = vec![
        Column::duration("total", time, "The time of all these spans together", |row: &LayerRow| {
            row.total_us().into()
        })
        .csv(&[sum]),
        Column::duration("mean", "Mean", "Mean of the time of a span", |row: &LayerRow| {
            row.us.all.mean.into()
        })
        .csv(&[mean_us]),
        Column::duration("sd", "SD", "Sample standard deviation of the time of a span", |row: &LayerRow| {
            row.us.all.sd.into()
        })
        .low(2)
        .csv(&[sd]),
        Column::duration("p50", "p50", "Median of the time of a span", |row: &LayerRow| {
            row.us.all.p50.into()
        })
        .low(2)
        .csv(&[p50]),
        Column::duration("p99", "p99", "99th percentile of the time of a span", |row: &LayerRow| {
            row.us.all.p99.into()
        })
        .low(2)
        .csv(&[p99]),
        Column::duration("normal", "Normal", "Mean of the time in normal traces", |row: &LayerRow| {
            mean(row.us.normal)
        })
        .low(3)
        .csv(&[normal]),
        Column::duration("tail", "Tail", "Mean of the time in the traces of the tail", |row: &LayerRow| {
            mean(row.us.tail)
        })
        .low(3)
        .csv(&[tail]),
    ];
    [of_group, statistics]
}

/// Returns the table of layers 1 and 2. Its times are self times; beside them stands own time, by which the diagnosis is
/// ranked.
pub fn layers() -> Table<LayerRow> {
    let heads = [
        "self_sum_us",
        "self_mean_us",
        "self_sd_us",
        "self_p50_us",
        "self_p99_us",
        "self_mean_normal_us",
        "self_mean_tail_us",
    ];
    let endpoint = ("Endpoint", "Its spans in these traces");
    let layer = "1: all traces; 2: by request type";
    let [mut columns, statistics] = layer_columns(layer, (endpoint, "Self time"), heads);
    columns.extend(statistics);
    columns.push(
        Column::duration(
            "own",
            "Own time",
            "Own time of all its spans together, by which the report is ranked: also what a span does while one of its calls \
             runs",
            |row: &LayerRow| row.own_us.as_ref().map(sum_us).into(),
        )
        .if_any()
        .csv(&["own_sum_us"]),
    );
    columns.push(Column::field("own_mean_us", |row: &LayerRow| mean(row.own_us.map(|own| own.all))));
    columns.push(
        Column::duration("duration", "Duration", "Mean duration of a span", |row: &LayerRow| {
            row.duration_us.all.mean.into()
        })
        .low(3)
        .csv(&["duration_mean_us"]),
    );
    columns.push(Column::field("duration_sd_us", |row: &LayerRow| row.duration_us.all.sd.into()));
    columns.push(Column::field("duration_p50_us", |row: &LayerRow| row.duration_us.all.p50.into()));
    columns.push(Column::field("duration_p99_us", |row: &LayerRow| row.duration_us.all.p99.into()));
    searched(Table::new("layers", "Layers 1 and 2: times of endpoints", ("total", true), columns))
}

/// Returns the table of layers 3 and 4: the times of every position and of its parts, in the groups with the most time.
pub fn positions() -> Table<LayerRow> {
    let heads = ["sum_us", "mean_us", "sd_us", "p50_us", "p99_us", "mean_normal_us", "mean_tail_us"];
    let layer = "3: traces of one shape; 4: also of one order of calls";
    let endpoint = ("Position", "A place in the tree of calls; numbered where its endpoint has several");
    let [mut columns, statistics] = layer_columns(layer, (endpoint, "Total"), heads);
    columns.push(
        Column::text(
            "part",
            "Part",
            "The whole span, or a part of it: in layer 3 between the starts of its calls, in layer 4 a subspan",
            |row: &LayerRow| row.part.words().into(),
        )
        .csv_as(&["part"], |row| vec![row.part.key()]),
    );
    columns.extend(statistics);
    searched(Table::new("positions", "Layers 3 and 4: times of positions", ("total", true), columns))
}

fn searched(table: Table<LayerRow>) -> Table<LayerRow> {
    table.with_attributes(LayerRow::attributes).search(|row, finder| {
        let (service, operation) = row.endpoint.names();
        finder.fits_place(&pathlight_base::format::endpoint(service, operation), &[&row.group])
    })
}

/// Returns layers 1 and 2 as comma-separated values.
pub fn layers_csv(report: &DiagnosisReport) -> String {
    let mut table = layers();
    table.set_rows(LayerRow::of(report));
    table.csv()
}

/// Returns layers 3 and 4 as comma-separated values.
pub fn positions_csv(report: &DiagnosisReport) -> String {
    positions().filled(LayerRow::positions(report)).csv()
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
