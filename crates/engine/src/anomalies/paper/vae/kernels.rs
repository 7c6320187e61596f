//! Dense products of matrices in rows of 32-bit floats, by [`Lanes`].

use super::lanes::{Lanes, WIDTH};

/// Rows and columns of a tile of the product that stay in registers.
const TILE: (usize, usize) = (4, 8);
/// Terms summed before a tile is written back: the packed strips of both factors then stay in the first cache.
const DEPTH: usize = 256;

/// A factor of a product: a matrix in rows, or its transpose.
#[derive(Clone, Copy)]
pub struct Factor<'a> {
    values: &'a [f32],
    /// Distance between two rows, and between two columns, of what the factor stands for.
    row: usize,
    column: usize,
}

impl<'a> Factor<'a> {
    /// Returns a matrix of `columns` columns.
    pub fn plain(values: &'a [f32], columns: usize) -> Factor<'a> {
        Factor { values, row: columns, column: 1 }
    }

    /// Returns the transpose of a matrix of `columns` columns.
    pub fn transposed(values: &'a [f32], columns: usize) -> Factor<'a> {
        Factor { values, row: 1, column: columns }
    }
}

/// A right factor as products read it, made once for several of them.
#[derive(Clone, Default)]
pub struct Prepared {
    /// Strips of columns, by part of the depth.
    values: Vec<f32>,
    depth: usize,
    columns: usize,
}

impl Prepared {
    /// Takes over a factor of this depth and so many columns.
    pub fn set(&mut self, factor: Factor<'_>, (depth, columns): (usize, usize)) {
        self.values.clear();
        (self.depth, self.columns) = (depth, columns);
        for from in (0..depth).step_by(DEPTH) {
            let deep = DEPTH.min(depth - from);
            pack::<{ TILE.1 }>(&mut self.values, factor, (columns, factor.column), (from, deep, factor.row));
        }
    }
}

/// Scratch space of products.
#[derive(Clone, Default)]
pub struct PackedMatrix {
    left: Vec<f32>,
    right: Prepared,
}

impl PackedMatrix {
    /// Adds a product, `out += a b`, where `out` has `rows` x `columns` and `a` has `depth` columns. The order of sums
    /// depends on the sizes alone, so the result is the same on every machine.
    pub fn add_product(
        &mut self,
        out: &mut [f32],
        (rows, depth, columns): (usize, usize, usize),
        a: Factor<'_>,
        b: Factor<'_>,
    ) {
        let mut right = std::mem::take(&mut self.right);
        right.set(b, (depth, columns));
        self.add_prepared(out, rows, a, &right);
        self.right = right;
    }

    /// Adds the product with a right factor that is packed already.
    pub fn add_prepared(&mut self, out: &mut [f32], rows: usize, a: Factor<'_>, b: &Prepared) {
        let (depth, columns) = (b.depth, b.columns);
        let padded = columns.next_multiple_of(TILE.1);
        for from in (0..depth).step_by(DEPTH) {
            let deep = DEPTH.min(depth - from);
            self.left.clear();
            pack::<{ TILE.0 }>(&mut self.left, a, (rows, a.row), (from, deep, a.column));
            let right = &b.values[padded * from..padded * (from + deep)];
            for (strip, right) in right.chunks_exact(deep * TILE.1).enumerate() {
                let column = strip * TILE.1;
                let wide = TILE.1.min(columns - column);
                for (strip, left) in self.left.chunks_exact(deep * TILE.0).enumerate() {
                    let tile = tile(left, right);
                    for (row, sums) in (strip * TILE.0..rows).zip(&tile) {
                        let out = &mut out[row * columns + column..][..wide];
                        match out.as_chunks_mut::<WIDTH>() {
                            ([low, high], _) => {
                                (Lanes::of(low) + sums[0]).put(low);
                                (Lanes::of(high) + sums[1]).put(high);
                            }
                            _ => out
                                .iter_mut()
                                .zip(sums.iter().flat_map(|sums| sums.array()))
                                .for_each(|(out, sum)| *out += sum),
                        }
                    }
                }
            }
        }
    }
}

/// Appends a factor's strips of `WIDTH` lines so that a tile reads them in order; lines past the end are 0.
fn pack<const WIDTH: usize>(
    out: &mut Vec<f32>,
    factor: Factor<'_>,
    (lines, line): (usize, usize),
    (from, deep, step): (usize, usize, usize),
) {
    let before = out.len();
    out.resize(before + lines.next_multiple_of(WIDTH) * deep, 0.0);
    for (strip, packed) in out[before..].chunks_exact_mut(deep * WIDTH).enumerate() {
        if line == 1 && (strip + 1) * WIDTH <= lines {
            // They lie side by side.
            for (at, packed) in packed.as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
                if let Some(values) = factor.values[(from + at) * step + strip * WIDTH..].first_chunk() {
                    *packed = *values;
                }
            }
            continue;
        }
        for within in 0..WIDTH.min(lines - strip * WIDTH) {
            let start = (strip * WIDTH + within) * line + from * step;
            let values = factor.values[start..].iter().step_by(step);
            packed[within..].iter_mut().step_by(WIDTH).zip(values).for_each(|(out, value)| *out = *value);
        }
    }
}

/// Returns the sums of a tile; written out, since loops over its rows stay loops, in memory, where code is made small.
fn tile(left: &[f32], right: &[f32]) -> [[Lanes; 2]; TILE.0] {
    let [mut a, mut b, mut c, mut d] = [[Lanes::all(0.0); 2]; TILE.0];
    let (left, right) = (left.as_chunks::<{ TILE.0 }>().0, right.as_chunks::<{ TILE.1 }>().0);
    for (&[of_a, of_b, of_c, of_d], right) in left.iter().zip(right) {
        let [low, high] = right.as_chunks::<WIDTH>().0 else { continue };
        let (low, high) = (Lanes::of(low), Lanes::of(high));
        let (of_a, of_b) = (Lanes::all(of_a), Lanes::all(of_b));
        let (of_c, of_d) = (Lanes::all(of_c), Lanes::all(of_d));
        a = [a[0] + of_a * low, a[1] + of_a * high];
        b = [b[0] + of_b * low, b[1] + of_b * high];
        c = [c[0] + of_c * low, c[1] + of_c * high];
        d = [d[0] + of_d * low, d[1] + of_d * high];
    }
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_definition() {
        let mut random = pathlight_base::statistics::Random::new(3, 0, 0);
        let mut matrix = |n: usize| (0..n).map(|_| random.unit() as f32 - 0.5).collect::<Vec<f32>>();
        let mut packed = PackedMatrix::default();
        for (rows, depth, columns) in [(1, 1, 1), (4, 8, 8), (5, 300, 9), (3, 2, 17), (9, 513, 3)] {
            let (a, b) = (matrix(rows * depth), matrix(depth * columns));
            let expected: Vec<f64> = (0..rows * columns)
                .map(|at| {
                    let (row, column) = (at / columns, at % columns);
                    (0..depth)
                        .map(|k| f64::from(a[row * depth + k]) * f64::from(b[k * columns + column]))
                        .sum()
                })
                .collect();
            let turned = |m: &[f32], columns: usize| -> Vec<f32> {
                let rows = m.len() / columns;
                (0..m.len()).map(|at| m[at % rows * columns + at / rows]).collect()
            };
            let (a_turned, b_turned) = (turned(&a, depth), turned(&b, columns));
            for (left, right) in [
                (Factor::plain(&a, depth), Factor::plain(&b, columns)),
                (Factor::transposed(&a_turned, rows), Factor::transposed(&b_turned, depth)),
            ] {
                let mut out = vec![1.0; rows * columns];
                packed.add_product(&mut out, (rows, depth, columns), left, right);
                for (found, expected) in out.iter().zip(&expected) {
                    assert!((f64::from(*found) - 1.0 - expected).abs() < 1e-4, "{rows} {depth} {columns}");
                }
            }
        }
    }
}
