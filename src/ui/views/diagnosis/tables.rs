//! The tables of the diagnosis: places by what makes the tail slow, or by what changed between two sets.

use crate::ui::page::{Focus, Page};
use crate::ui::shell::search::fits;
use crate::ui::views::compare::tables::change_columns;
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::table::{Column, Table, What, number};
use pathlight_query::{Interval, PlaceChange, PlacesReport, ServiceChange, TprofReport};
use pathlight_text::format;
use pathlight_view::diagnosis_words::{lines, place_name, range, type_name};
use std::cmp::Ordering;

/// A place of a request type.
pub struct PlaceRow {
    /// Its place in its request type, from 1.
    pub rank: u64,
    /// The request type.
    pub kind: String,
    /// Traces of the slow side, or of side B.
    traces: u64,
    /// The change.
    pub place: PlaceChange,
}

impl PlaceRow {
    /// The rows of a list, what makes most of a difference first.
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

    /// The difference in all traces of the slow side, or of side B.
    fn in_all(&self) -> f64 {
        self.place.change_us * self.traces as f64
    }

    /// Whether a search finds it.
    pub fn fits(&self, text: &str) -> bool {
        fits(text, &[&place_name(&self.place), &self.kind])
    }
}

fn interval_words(interval: Option<Interval>) -> String {
    interval.map_or(format::DASH.to_owned(), range)
}

/// The table of places; `sides` are the heads of both sides.
pub fn places(
    page: Page,
    name: &'static str,
    label: &'static str,
    sides: [&'static str; 2],
) -> Table<PlaceRow> {
    let text = |key, title, hint, class, priority, order, of: fn(&PlaceRow) -> String| Column {
        key,
        title,
        hint,
        class,
        priority,
        order: Some(order),
        cell: Box::new(move |row: &PlaceRow| What::Text(of(row))),
    };
    let mut columns = vec![
        number!(
            "rank",
            "#",
            "Its place in its request type: what grew most is first",
            "num tiny" 3,
            |row: &PlaceRow| row.rank,
            format::count
        ),
        text(
            "place",
            "Place",
            "A subspan, a span that calls nothing, or the network between two services",
            "wide",
            1,
            |a: &PlaceRow, b: &PlaceRow| place_name(&a.place).cmp(&place_name(&b.place)),
            |row| place_name(&row.place),
        ),
        text(
            "type",
            "Request type",
            "Normal and slow are told within a request type",
            "what muted",
            2,
            |a: &PlaceRow, b: &PlaceRow| (&a.kind, a.rank).cmp(&(&b.kind, b.rank)),
            |row| row.kind.clone(),
        ),
    ];
    columns.extend(change_columns!(
        PlaceRow,
        sides,
        (|row: &PlaceRow| row.place.a_us),
        (|row: &PlaceRow| row.place.b_us),
        (|row: &PlaceRow| row.place.change_us),
        |_, us| format::duration(us),
        |_, us| format::change(us),
        |row| interval_words(row.place.interval)
    ));
    columns.push(number!(
        "all",
        "In all",
        "The change times the traces it is seen in",
        "num" 3,
        |row: &PlaceRow| row.in_all(),
        format::change
    ));
    let table = Table::new(
        name,
        label,
        ("all", true),
        columns,
        move |row: &PlaceRow| {
            vec![
                ("data-test", "place".to_owned()),
                ("data-type", row.kind.clone()),
                ("data-rank", row.rank.to_string()),
                ("data-operation", row.place.operation.clone()),
                ("data-value", row.place.change_us.to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let rows = table.clone();
    table.on_select(move |at| {
        if let Some(PlaceRow { place, .. }) = rows.rows().get(at) {
            // A gap lies between its caller and the called endpoint.
            let service = place.gap_to.as_ref().unwrap_or(&place.service).clone();
            page.set_focus(Focus::Endpoint((service, place.operation.clone())));
        }
    })
}

/// The tree as comma-separated values: a line for each of its lines.
pub fn report_csv(report: &TprofReport) -> String {
    let heads = ["level", "service", "operation", "ranked_by_us", "aggregate_trace", "words"];
    let mut out = csv_line(&heads.map(str::to_owned));
    for line in lines(report) {
        let (service, operation) = line.endpoint;
        out.push_str(&csv_line(&[
            line.level.to_string(),
            service,
            operation,
            line.value.to_string(),
            line.aggregate.map_or(String::new(), |number| number.to_string()),
            line.words,
        ]));
    }
    out
}

fn ends(interval: Option<Interval>) -> [String; 2] {
    interval.map_or(Default::default(), |interval| [interval.low.to_string(), interval.high.to_string()])
}

/// Places as comma-separated values.
pub fn places_csv(report: &PlacesReport) -> String {
    let heads = [
        "request_type",
        "rank",
        "service",
        "operation",
        "subspan",
        "gap_to",
        "a_us",
        "b_us",
        "change_us",
        "low",
        "high",
    ];
    let mut out = csv_line(&heads.map(str::to_owned));
    for PlaceRow { rank, kind, place, .. } in PlaceRow::of(report) {
        let [low, high] = ends(place.interval);
        out.push_str(&csv_line(&[
            kind,
            rank.to_string(),
            place.service,
            place.operation,
            place.subspan.map_or(String::new(), |subspan| subspan.to_string()),
            place.gap_to.unwrap_or_default(),
            place.a_us.to_string(),
            place.b_us.to_string(),
            place.change_us.to_string(),
            low,
            high,
        ]));
    }
    out
}

/// Services as comma-separated values.
pub fn services_csv(services: &[ServiceChange]) -> String {
    let mut out =
        csv_line(&["rank", "service", "a_us", "b_us", "change_us", "low", "high"].map(str::to_owned));
    for row in services {
        let [low, high] = ends(row.interval);
        let numbers = [row.a_us, row.b_us, row.change_us].map(|us| us.to_string());
        let [a, b, change] = numbers;
        out.push_str(&csv_line(&[row.rank.to_string(), row.service.clone(), a, b, change, low, high]));
    }
    out
}
