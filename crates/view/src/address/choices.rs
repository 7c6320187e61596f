//! Choices of views: their switches, as keys of the address.

use crate::diagnosis::choice::DiagnosisChoice;
use crate::flame::chart::{DiffOptions, DiffWidth};
use crate::flow::choice::FlowChoice;
use pathlight_engine::compare::{Basis, MeasuredTime};
use pathlight_engine::endpoints::{RowStat, RowTime};
use pathlight_engine::heatmap::ColumnOrder;
use pathlight_engine::trend::TrendAxis;
use pathlight_trace::Endpoint;

/// Returns what can be chosen from, with what is chosen: a link may have a tag that these traces do not have.
pub(crate) fn with_chosen<'a>(offered: impl Iterator<Item = &'a str>, chosen: Option<&str>) -> Vec<String> {
    let mut all: Vec<String> = offered.map(str::to_owned).collect();
    all.extend(chosen.filter(|key| !all.iter().any(|known| known == key)).map(str::to_owned));
    all
}

/// The switches of views.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choices {
    /// Flame graph: those of the requests near p50, p95 and p99 side by side (`bands=1`).
    pub flame_bands: bool,
    /// Compare: basis (`by=share`), measure (`own=0`), width (`width=b`) and least change (`least=10000`).
    pub diff: DiffOptions,
    /// Heat map: rows are ordered by this time (`rows=inclusive-p95`).
    pub row_time: RowTime,
    /// Heat map: and by this statistic of it.
    pub row_stat: RowStat,
    /// Heat map: rows that behave alike stand side by side (`rows=alike`).
    pub alike_rows: bool,
    /// Heat map: order of columns (`columns=start`, `columns=["service","operation"]`).
    pub columns: ColumnOrder,
    /// Heat map: columns that are alike stand side by side (`columns=alike`); else they stand by latency then.
    pub alike_columns: bool,
    /// Trend: over the days or the hours of the day (`hours=1`).
    pub trend: TrendAxis,
    /// Flow: whose, how learned, and what below it.
    pub flow: FlowChoice,
    /// Diagnosis: request types, the tail, which list.
    pub diagnosis: DiagnosisChoice,
}

impl Default for Choices {
    fn default() -> Choices {
        Choices {
            flame_bands: false,
            // Self time comes first: it is what a frame itself answers for.
            diff: DiffOptions { measure: MeasuredTime::Exclusive, ..DiffOptions::default() },
            row_time: RowTime::default(),
            row_stat: RowStat::default(),
            alike_rows: false,
            columns: ColumnOrder::default(),
            alike_columns: false,
            trend: TrendAxis::Days,
            flow: FlowChoice::default(),
            diagnosis: DiagnosisChoice::default(),
        }
    }
}

impl Choices {
    /// Takes a key of the address; false if it is none of these. What makes no sense is as if it were not there.
    pub(crate) fn read(&mut self, key: &str, value: &str) -> bool {
        match key {
            "bands" => self.flame_bands = value == "1",
            "hours" if value == "1" => self.trend = TrendAxis::HourOfDay,
            "by" => self.diff.basis = if value == "share" { Basis::Share } else { Basis::Mean },
            "own" => {
                self.diff.measure = if value == "1" { MeasuredTime::Exclusive } else { MeasuredTime::Subtree }
            }
            "width" => self.diff.width = if value == "b" { DiffWidth::B } else { DiffWidth::Larger },
            "least" => self.diff.least_ppm = value.parse().unwrap_or(0),
            "rows" => {
                let (time, stat) = value.split_once('-').unwrap_or(("", value));
                self.row_time = if time == "inclusive" { RowTime::Inclusive } else { RowTime::Exclusive };
                self.alike_rows = stat == "alike";
                self.row_stat =
                    RowStat::ALL.into_iter().find(|known| known.name() == stat).unwrap_or_default();
            }
            "columns" if value == "alike" => self.set_columns(None),
            "columns" if value == "start" => self.columns = ColumnOrder::Start,
            "columns" => {
                let row: Option<Endpoint> = serde_json::from_str(value).ok();
                self.columns = row.map_or(ColumnOrder::Latency, ColumnOrder::Row);
            }
            _ => return self.flow.read(key, value) || self.diagnosis.read(key, value),
        }
        true
    }

    /// Orders the columns of the heat map; `None`: those that are alike side by side.
    pub fn set_columns(&mut self, order: Option<ColumnOrder>) {
        self.alike_columns = order.is_none();
        self.columns = order.unwrap_or_default();
    }

    /// Returns every switch that is not as it comes, with its value.
    pub(crate) fn pairs(&self) -> Vec<(&'static str, String)> {
        let defaults = Choices::default();
        let mut out = Vec::new();
        let mut put = |key, is_default: bool, value: String| {
            if !is_default {
                out.push((key, value));
            }
        };
        put("bands", !self.flame_bands, "1".to_owned());
        put("hours", self.trend == TrendAxis::Days, "1".to_owned());
        put("by", self.diff.basis == defaults.diff.basis, "share".to_owned());
        let own = if self.diff.measure == MeasuredTime::Exclusive { "1" } else { "0" };
        put("own", self.diff.measure == defaults.diff.measure, own.to_owned());
        put("width", self.diff.width == defaults.diff.width, "b".to_owned());
        put("least", self.diff.least_ppm == defaults.diff.least_ppm, self.diff.least_ppm.to_string());
        let time = if self.row_time == RowTime::Inclusive { "inclusive-" } else { "" };
        let is_default = (self.row_time, self.row_stat) == (defaults.row_time, defaults.row_stat);
        let stat = if self.alike_rows { "alike" } else { self.row_stat.name() };
        let rows = format!("{time}{stat}");
        put("rows", is_default && !self.alike_rows, rows);
        let columns = match &self.columns {
            _ if self.alike_columns => "alike".to_owned(),
            ColumnOrder::Latency => String::new(),
            ColumnOrder::Start => "start".to_owned(),
            ColumnOrder::Row(row) => serde_json::to_string(row).unwrap_or_default(),
        };
        put("columns", self.columns == defaults.columns && !self.alike_columns, columns);
        out.extend(self.flow.pairs());
        out.extend(self.diagnosis.pairs());
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::choice::DiagnosisList;

    #[test]
    fn every_switch_is_read_as_it_is_written() {
        let row =
            ColumnOrder::Row(Endpoint { service: "a&b".to_owned(), operation: "GET /\"x\"".to_owned() });
        let all = Choices {
            flame_bands: true,
            diff: DiffOptions {
                basis: Basis::Share,
                measure: MeasuredTime::Subtree,
                width: DiffWidth::B,
                least_ppm: 10_000,
            },
            row_time: RowTime::Inclusive,
            row_stat: RowStat::P95,
            alike_rows: false,
            columns: row,
            alike_columns: false,
            trend: TrendAxis::HourOfDay,
            flow: FlowChoice { paper: true, ..FlowChoice::default() },
            diagnosis: DiagnosisChoice { list: DiagnosisList::Tail, ..DiagnosisChoice::default() },
        };
        for choices in [
            Choices::default(),
            all,
            Choices { columns: ColumnOrder::Start, ..Choices::default() },
            Choices { alike_rows: true, alike_columns: true, ..Choices::default() },
        ] {
            let mut read = Choices::default();
            for (key, value) in choices.pairs() {
                assert!(read.read(key, &value), "{key}");
            }
            assert_eq!(read, choices);
        }
        assert!(Choices::default().pairs().is_empty());
        let mut read = Choices::default();
        assert!(!read.read("view", "flame") && read.read("columns", "{") && read.read("rows", "x"));
        assert_eq!(read, Choices::default());
    }
}
