//! Rows and columns that behave alike, side by side: an order, not a claim of groups.
//!
//! Points are ordered; they are halved by two means, and the halves again, each time with the half first that is
//! nearer to what stands before it. Nothing is drawn by lot, so the same report gives the same order, and the number of
//! halvings is bounded: the cost grows with the number of points, whatever they are.

use super::heat_of_share;
use pathlight_engine::heatmap::HeatmapReport;
use pathlight_engine::ids::ReportEndpoint;
use std::cmp::Reverse;

/// Rows that columns are compared by, those with most time; ranges of columns that rows are compared by.
const ROWS: usize = 48;
const RANGES: usize = 96;
/// Rows that are put beside those that they are like, those with most time; others follow by their time.
const MOST_ROWS: usize = 4096;
/// Greatest number of times a part is halved again; what is left then stays as it was.
const HALVINGS: u32 = 20;
/// Number of times the means of two halves are moved.
const MOVES: usize = 8;

/// Points nearer than this, squared, differ by rounding.
const SAME: f32 = 1e-9;

/// Points of equally many coordinates.
struct Points {
    size: usize,
    values: Vec<f32>,
}

impl Points {
    fn new(count: usize, size: usize) -> Points {
        Points { size, values: vec![0.0; count * size] }
    }

    fn at(&self, point: u32) -> &[f32] {
        &self.values[point as usize * self.size..][..self.size]
    }

    fn mean(&self, points: &[u32]) -> Vec<f32> {
        let mut sums = vec![0.0; self.size];
        for &point in points {
            sums.iter_mut().zip(self.at(point)).for_each(|(sum, value)| *sum += value);
        }
        let count = points.len().max(1) as f32;
        sums.iter_mut().for_each(|sum| *sum /= count);
        sums
    }

    /// Returns the one farthest from a place (ties: the first) and how far that is.
    fn farthest(&self, points: &[u32], from: &[f32]) -> (u32, f32) {
        let mut most = (points[0], -1.0);
        for &point in points {
            let far = distance(self.at(point), from);
            if far > most.1 {
                most = (point, far);
            }
        }
        most
    }

    /// Returns whether each point is in the second half; `None` if all are the same.
    fn halves(&self, points: &[u32]) -> Option<Vec<bool>> {
        let (first, _) = self.farthest(points, &self.mean(points));
        let (second, far) = self.farthest(points, self.at(first));
        if far <= SAME {
            return None;
        }
        let mut means = [self.at(first).to_vec(), self.at(second).to_vec()];
        let mut is_second = Vec::new();
        for _ in 0..MOVES {
            let nearer = |&point: &u32| {
                let of = self.at(point);
                distance(of, &means[1]) < distance(of, &means[0])
            };
            let now: Vec<bool> = points.iter().map(nearer).collect();
            if now == is_second {
                break;
            }
            is_second = now;
            let [a, b] = split(points, &is_second);
            if a.is_empty() || b.is_empty() {
                return None;
            }
            means = [self.mean(&a), self.mean(&b)];
        }
        Some(is_second)
    }

    /// Puts points that are alike side by side; at first those that came first.
    fn order(&self, count: u32) -> Vec<u32> {
        let mut order: Vec<u32> = (0..count).collect();
        let mut waiting = vec![(0, order.len(), HALVINGS)];
        while let Some((from, to, left)) = waiting.pop() {
            let Some(is_second) =
                (to - from > 1 && left > 0).then(|| self.halves(&order[from..to])).flatten()
            else {
                continue;
            };
            let [mut a, mut b] = split(&order[from..to], &is_second);
            let is_turned = match from.checked_sub(1).map(|before| self.at(order[before])) {
                Some(before) => distance(&self.mean(&b), before) < distance(&self.mean(&a), before),
                None => place(&b) < place(&a),
            };
            if is_turned {
                std::mem::swap(&mut a, &mut b);
            }
            let middle = from + a.len();
            order[from..middle].copy_from_slice(&a);
            order[middle..to].copy_from_slice(&b);
            // The first half is taken next: what stands before the second is known then.
            waiting.extend([(middle, to, left - 1), (from, middle, left - 1)]);
        }
        order
    }
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

fn split(points: &[u32], is_second: &[bool]) -> [Vec<u32>; 2] {
    let half = |second| {
        let of = points.iter().zip(is_second).filter(|(_, is_second)| **is_second == second);
        of.map(|(point, _)| *point).collect()
    };
    [half(false), half(true)]
}

/// Returns where points stood on average at first.
fn place(points: &[u32]) -> f64 {
    points.iter().map(|&point| f64::from(point)).sum::<f64>() / points.len().max(1) as f64
}

/// Returns the rows by their time, most first.
fn by_time(report: &HeatmapReport) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..report.rows.rows.len() as u32).collect();
    rows.sort_by_key(|&row| Reverse(report.rows.rows[row as usize].exclusive_us.sum));
    rows
}

/// Returns the brightness as it is drawn: otherwise the few brightest cells alone would decide.
fn brightness(ppm: u32) -> f32 {
    f32::from(heat_of_share(ppm)) / 1000.0
}

/// Returns the rows of a report such that those stand side by side whose shares rise and fall together over its columns,
/// however large they are. Beyond the 4,096 with most time they follow by their time.
pub fn alike_rows(report: &HeatmapReport) -> Vec<ReportEndpoint> {
    let mut rows = by_time(report);
    let rest = rows.split_off(rows.len().min(MOST_ROWS));
    let mut place = vec![usize::MAX; report.rows.rows.len()];
    rows.iter().zip(0..).for_each(|(&row, at)| place[row as usize] = at);
    let columns = report.column_requests.len();
    let ranges = columns.min(RANGES);
    let mut points = Points::new(rows.len(), ranges);
    for column in 0..columns {
        for cell in report.cells(column) {
            let row: usize = place[report.cell_row[cell] as usize];
            if row == usize::MAX {
                continue;
            }
            points.values[row * ranges + column * ranges / columns] +=
                brightness(report.cell_share_ppm[cell]);
        }
    }
    for of in points.values.chunks_exact_mut(ranges.max(1)) {
        let length = of.iter().map(|value| value * value).sum::<f32>().sqrt();
        of.iter_mut().for_each(|value| *value /= length.max(f32::MIN_POSITIVE));
    }
    let alike = points.order(rows.len() as u32).into_iter().map(|at| rows[at as usize]);
    alike.chain(rest).map(ReportEndpoint).collect()
}

/// Returns a report whose columns stand side by side if they spend their time in the same rows.
pub fn with_alike_columns(report: &HeatmapReport) -> HeatmapReport {
    let columns = report.column_requests.len();
    let known: Vec<u32> = by_time(report).into_iter().take(ROWS).collect();
    let mut place = vec![usize::MAX; report.rows.rows.len()];
    known.iter().enumerate().for_each(|(at, &row)| place[row as usize] = at);
    let mut points = Points::new(columns, known.len());
    for column in 0..columns {
        for cell in report.cells(column) {
            let row = place[report.cell_row[cell] as usize];
            if row != usize::MAX {
                points.values[column * known.len() + row] = brightness(report.cell_share_ppm[cell]);
            }
        }
    }
    let mut out =
        HeatmapReport { rows: report.rows.clone(), order: report.order.clone(), ..HeatmapReport::default() };
    for column in points.order(columns as u32).into_iter().map(|column| column as usize) {
        for cell in report.cells(column) {
            out.cell_row.push(report.cell_row[cell]);
            out.cell_us.push(report.cell_us[cell]);
            out.cell_share_ppm.push(report.cell_share_ppm[cell]);
        }
        out.column_ends.push(out.cell_row.len() as u32);
        out.column_requests.push(report.column_requests[column]);
        out.column_latency_us.push(report.column_latency_us[column]);
        out.column_start_us.push(report.column_start_us[column]);
        out.column_example.push(report.column_example[column].clone());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::report;
    use super::*;

    /// Returns two kinds of requests, and two kinds of endpoints, in turns.
    fn mixed() -> HeatmapReport {
        let row = |kind: u32, most: u32| {
            (0..12).map(|c| if c % 2 == kind { most } else { 0 }).collect::<Vec<u32>>()
        };
        let rows = [row(0, 40), row(1, 40), row(0, 4), row(1, 4)];
        let mut report = report(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
        for (row, sum) in report.rows.rows.iter_mut().zip([900, 800, 90, 80]) {
            row.exclusive_us.sum = sum;
        }
        report
    }

    #[test]
    fn rows_that_rise_together_stand_together_however_large_they_are() {
        assert_eq!(alike_rows(&mixed()), [0, 2, 1, 3].map(ReportEndpoint));
    }

    #[test]
    fn columns_of_a_kind_stand_together_with_all_that_is_theirs() {
        let (before, after) = (mixed(), with_alike_columns(&mixed()));
        // Starts are the numbers of the columns as they were: the order within a kind stays.
        let starts: Vec<u64> = (0..12).step_by(2).chain((1..12).step_by(2)).collect();
        assert_eq!(after.column_start_us, starts);
        assert_eq!(after.rows, before.rows);
        for (column, &was) in starts.iter().enumerate() {
            let cells = |report: &HeatmapReport, column| {
                report
                    .cells(column)
                    .map(|cell| (report.cell_row[cell], report.cell_us[cell]))
                    .collect::<Vec<_>>()
            };
            assert_eq!(cells(&after, column), cells(&before, was as usize));
        }
        assert_eq!(with_alike_columns(&mixed()), after, "the same every time");
    }

    #[test]
    fn nothing_one_and_all_the_same_are_orders_too() {
        let cases: [&[&[u32]]; 4] = [&[], &[&[]], &[&[7]], &[&[5, 5, 5], &[5, 5, 5]]];
        for rows in cases {
            let report = report(rows);
            let order = alike_rows(&report);
            assert_eq!(order, (0..rows.len() as u32).map(ReportEndpoint).collect::<Vec<_>>());
            assert_eq!(with_alike_columns(&report).column_start_us, report.column_start_us);
        }
    }

    #[test]
    fn many_rows_are_all_there_and_the_rest_follows_by_time() {
        let rows: Vec<Vec<u32>> = (0..MOST_ROWS as u32 + 100).map(|row| vec![row % 7, row % 5]).collect();
        let mut report = report(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
        for (row, at) in report.rows.rows.iter_mut().zip(0..) {
            row.exclusive_us.sum = at;
        }
        let order = alike_rows(&report);
        assert_eq!(order[MOST_ROWS..], (0..100).rev().map(ReportEndpoint).collect::<Vec<_>>());
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..rows.len() as u32).map(ReportEndpoint).collect::<Vec<_>>());
    }

    #[test]
    fn points_that_can_only_be_split_one_by_one_cost_no_more_halvings() {
        // Each is farther from the next than all after it together.
        let values = (0..2000).map(|at| 2f32.powi(-(at % 120))).collect();
        let order = Points { size: 1, values }.order(2000);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..2000).collect::<Vec<u32>>());
    }
}
