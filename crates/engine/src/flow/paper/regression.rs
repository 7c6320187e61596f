//! Linear regression of a parent's latency on those of its callees: the minimum-norm least-squares solution.
//!
//! The accumulator is the exact matrix of products, so it merges in any order; solving is a rank-revealing Cholesky
//! factorisation (at most 512 x 512), which needs no linear-algebra crate.

use super::super::Order;
use serde::{Deserialize, Serialize};

/// Sums of products of latencies: the accumulator. Without intercept; an absent node counts as 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Products {
    nodes: u32,
    /// Sum of L(i) L(j) for j <= i, at `i (i + 1) / 2 + j`.
    pairs: Vec<u128>,
    /// Sum of L(i) times the parent's latency.
    parent: Vec<u128>,
}

fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

impl Products {
    /// Returns empty sums for a parent with `nodes` nodes.
    pub fn new(nodes: u32) -> Products {
        let n = nodes as usize;
        Products { nodes, pairs: vec![0; n * (n + 1) / 2], parent: vec![0; n] }
    }

    /// Adds one invocation.
    pub fn observe(&mut self, order: &Order) {
        let children = order.children();
        for (p, child) in children.iter().enumerate() {
            let (i, us) = (child.node as usize, child.latency_us());
            let sum = &mut self.parent[i];
            *sum += product(us, order.latency_us());
            for other in &children[..=p] {
                let j = other.node as usize;
                let (high, low) = (i.max(j), i.min(j));
                let sum = &mut self.pairs[high * (high + 1) / 2 + low];
                *sum += product(us, other.latency_us());
            }
        }
    }

    /// Adds other invocations of the same nodes.
    pub fn merge(&mut self, other: &Products) {
        let add = |into: &mut [u128], from: &[u128]| {
            into.iter_mut().zip(from).for_each(|(a, b)| *a += *b);
        };
        add(&mut self.pairs, &other.pairs);
        add(&mut self.parent, &other.parent);
    }

    /// Returns the weight of each node in the estimate.
    pub fn solve(&self) -> Vec<f64> {
        let n = self.nodes as usize;
        let mut matrix = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let value = self.pairs[i * (i + 1) / 2 + j] as f64;
                (matrix[i * n + j], matrix[j * n + i]) = (value, value);
            }
        }
        let parent: Vec<f64> = self.parent.iter().map(|&v| v as f64).collect();
        minimum_norm(&matrix, &parent)
    }
}

/// A column whose remainder is below this share of its sum of squares depends on earlier columns.
const RANK_SHARE: f64 = 1e-11;

/// Returns the shortest `w` among those that minimise |X w - y|, from X'X (n x n) and X'y.
fn minimum_norm(matrix: &[f64], target: &[f64]) -> Vec<f64> {
    let n = target.len();
    // Row r of `rows` is row r of R, where X'X = R'R: pivoted Cholesky that stops at the rank.
    let mut rows: Vec<Vec<f64>> = Vec::new();
    let mut solved: Vec<f64> = Vec::new();
    let mut left: Vec<f64> = (0..n).map(|i| matrix[i * n + i]).collect();
    let mut used = vec![false; n];
    let mut pivots = Vec::new();
    loop {
        let share = |i: usize| left[i] / matrix[i * n + i];
        let next = (0..n)
            .filter(|&i| !used[i] && matrix[i * n + i] > 0.0 && share(i) > RANK_SHARE)
            .reduce(|best, i| if share(i) > share(best) { i } else { best });
        let Some(pivot) = next else { break };
        used[pivot] = true;
        pivots.push(pivot);
        let root = left[pivot].sqrt();
        let mut row: Vec<f64> = (0..n).map(|j| matrix[pivot * n + j]).collect();
        let mut rest = target[pivot];
        for (earlier, value) in rows.iter().zip(&solved) {
            let factor = earlier[pivot];
            if factor != 0.0 {
                row.iter_mut().zip(earlier).for_each(|(a, b)| *a -= factor * b);
                rest -= factor * value;
            }
        }
        for (j, value) in row.iter_mut().enumerate() {
            // Exact zeros where the columns before leave nothing, so that R is triangular.
            *value = if used[j] && j != pivot { 0.0 } else { *value / root };
            left[j] -= *value * *value;
        }
        solved.push(rest / root);
        rows.push(row);
    }
    let rank = rows.len();
    if rank == n {
        return back_substitute(&rows, &pivots, solved);
    }
    // w = R' (R R')^-1 z is the shortest of all with R w = z.
    let mut square: Vec<Vec<f64>> = Vec::with_capacity(rank);
    for i in 0..rank {
        square.push((0..=i).map(|j| rows[i].iter().zip(&rows[j]).map(|(a, b)| a * b).sum()).collect());
    }
    let lower = cholesky(square);
    let middle = cholesky_solve(&lower, solved);
    (0..n).map(|j| rows.iter().zip(&middle).map(|(row, v)| row[j] * v).sum()).collect()
}

/// Solves R w = z where row r of R has zeros at the pivots before it.
fn back_substitute(rows: &[Vec<f64>], pivots: &[usize], mut solved: Vec<f64>) -> Vec<f64> {
    let mut out = vec![0.0; pivots.len()];
    for r in (0..rows.len()).rev() {
        let known: f64 = pivots[r + 1..].iter().map(|&j| rows[r][j] * out[j]).sum();
        solved[r] = (solved[r] - known) / rows[r][pivots[r]];
        out[pivots[r]] = solved[r];
    }
    out
}

/// Returns the lower Cholesky factor of a symmetric positive matrix given by its lower triangle.
fn cholesky(mut matrix: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    for i in 0..matrix.len() {
        for j in 0..=i {
            let dot: f64 = (0..j).map(|k| matrix[i][k] * matrix[j][k]).sum();
            let value = matrix[i][j] - dot;
            matrix[i][j] = if i == j { value.max(f64::MIN_POSITIVE).sqrt() } else { value / matrix[j][j] };
        }
    }
    matrix
}

fn cholesky_solve(lower: &[Vec<f64>], mut values: Vec<f64>) -> Vec<f64> {
    for i in 0..lower.len() {
        let dot: f64 = (0..i).map(|k| lower[i][k] * values[k]).sum();
        values[i] = (values[i] - dot) / lower[i][i];
    }
    for i in (0..lower.len()).rev() {
        let dot: f64 = (i + 1..lower.len()).map(|k| lower[k][i] * values[k]).sum();
        values[i] = (values[i] - dot) / lower[i][i];
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the weights for rows of latencies and the parent's latency.
    fn fit(rows: &[(&[u64], u64)]) -> Vec<f64> {
        use crate::flow::Child;
        let mut products = Products::new(rows[0].0.len() as u32);
        let mut order = Order::default();
        for (latencies, parent) in rows {
            let children: Vec<Child> = (latencies.iter().enumerate())
                .map(|(node, &us)| Child { node: node as u32, span: 0, start_us: 0, end_us: us })
                .collect();
            order.set(0, *parent, &children, None);
            products.observe(&order);
        }
        products.solve()
    }

    fn close(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-6, "{found:?} is not {expected:?}");
        }
    }

    #[test]
    fn a_known_line_is_found() {
        close(&fit(&[(&[10, 1], 32), (&[3, 5], 19), (&[7, 7], 35)]), &[3.0, 2.0]);
    }

    #[test]
    fn least_squares_of_more_rows_than_columns() {
        // Checked by hand: X'X = [[14]], X'y = [29].
        close(&fit(&[(&[1], 3), (&[2], 4), (&[3], 6)]), &[29.0 / 14.0]);
    }

    #[test]
    fn equal_columns_share_the_weight_and_empty_ones_have_none() {
        close(&fit(&[(&[10, 10, 0], 40), (&[6, 6, 0], 24)]), &[2.0, 2.0, 0.0]);
    }

    #[test]
    fn the_shortest_of_many_solutions_is_taken() {
        // One equation 3 a + 4 b = 50: the shortest solution is 50 / 25 (3, 4).
        close(&fit(&[(&[3, 4], 50)]), &[6.0, 8.0]);
        // The third column is the sum of the others: (4, 5, 0) + t (1, 1, -1) all fit.
        close(&fit(&[(&[1, 2, 3], 14), (&[4, 1, 5], 21), (&[2, 2, 4], 18)]), &[1.0, 2.0, 3.0]);
    }
}
