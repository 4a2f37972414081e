//! The position of a row relative to the size of its partition: `percent_rank`, `cume_dist`,
//! `ntile`.

use super::{counts, is_count};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundWindow, FunctionDoc, Registry, WindowFunction, WindowReach, WindowRows,
};
use volley_types::Type;
use volley_vector::{Decoded, NullBuffer, Vector};

/// Registers these functions.
pub(super) fn register(registry: &mut Registry) {
    let add = |registry: &mut Registry, name: &str, doc: FunctionDoc, kind: Share| {
        let bind = move |args: &[Type]| {
            let bound = || BoundWindow::new(Vec::new(), Type::Double, kind);
            args.is_empty().then(|| BoundWindow { reach: WindowReach::Ends, ..bound() })
        };
        registry.add_window(name, doc, Arc::new(bind));
    };
    let percent_rank = doc(
        "percent_rank() -> double",
        "The share of the other rows of the partition that are ordered before the row: \
         (rank - 1) / (rows - 1), 0 in a partition of one row.",
        "window",
        &[("percent_rank() OVER (ORDER BY x) FROM (VALUES (1), (2), (2)) v(x)", "0.0\n0.5\n0.5")],
    );
    add(registry, "percent_rank", percent_rank, Share::Before);
    let cume_dist = doc(
        "cume_dist() -> double",
        "The share of the rows of the partition that are ordered before the row or with it.",
        "window",
        &[(
            "cume_dist() OVER (ORDER BY x) FROM (VALUES (1), (2), (2), (3)) v(x)",
            "0.25\n0.75\n0.75\n1.0",
        )],
    );
    add(registry, "cume_dist", cume_dist, Share::Through);
    let ntile = doc(
        "ntile(n) -> bigint",
        "The number, from 1, of the row's part when the partition is cut into n parts as equal as \
         can be; the first ones are larger by a row where it does not divide. Null when n is.",
        "window",
        &[("ntile(2) OVER (ORDER BY x) FROM (VALUES (1), (2), (3)) v(x)", "1\n1\n2")],
    );
    let bind = |args: &[Type]| match args {
        [n] if is_count(n) => Some(BoundWindow {
            uses_peers: false,
            reach: WindowReach::Ends,
            ..BoundWindow::new(vec![Type::BigInt], Type::BigInt, Ntile)
        }),
        _ => None,
    };
    registry.add_window("ntile", ntile, Arc::new(bind));
}

/// A share of the partition's rows.
#[derive(Clone, Copy)]
enum Share {
    /// Those before the row's peers, of all but one.
    Before,
    /// Those up to the row's last peer, of all.
    Through,
}

impl WindowFunction for Share {
    fn evaluate(&self, window: &WindowRows<'_>) -> Result<Vector> {
        let share = |row: usize| {
            let (peers, rows) = (window.peer_places(row), window.partition_rows(row));
            match self {
                Share::Before => peers.0 as f64 / (rows - 1).max(1) as f64,
                // The row itself does not count where it is not in its frame.
                Share::Through if window.is_guest(row) => {
                    (peers.1 - 1) as f64 / (rows - 1).max(1) as f64
                }
                Share::Through => peers.1 as f64 / rows as f64,
            }
        };
        let shares: Vec<f64> = (0..window.rows.len()).map(share).collect();
        Ok(Vector::native::<f64>(Type::Double, shares, None))
    }
}

struct Ntile;

impl WindowFunction for Ntile {
    fn evaluate(&self, window: &WindowRows<'_>) -> Result<Vector> {
        let [parts] = window.args else {
            return Err(Error::internal("ntile without its argument"));
        };
        let parts = Decoded::new(parts)?;
        let parts = counts(&parts);
        let tile = |index: usize| match parts(window.rows.start + index) {
            None => Ok(None),
            Some(parts) if parts <= 0 => {
                let error = Error::invalid_value(format!("ntile of {parts} parts"));
                Err(error.hint("the number of parts must be 1 or more"))
            }
            Some(parts) if window.is_guest(index) => {
                // The part of the frame that the row would be in; none of no rows.
                let rows = window.partition_rows(index) - 1;
                Ok((rows > 0).then(|| tile(window.row_place(index).min(rows - 1), rows, parts)))
            }
            Some(parts) => {
                Ok(Some(tile(window.row_place(index), window.partition_rows(index), parts)))
            }
        };
        let tiles = (0..window.rows.len()).map(tile).collect::<Result<Vec<Option<i64>>>>()?;
        let nulls = NullBuffer::from_iter(tiles.iter().map(Option::is_some));
        let tiles: Vec<i64> = tiles.into_iter().map(Option::unwrap_or_default).collect();
        Ok(Vector::native::<i64>(Type::BigInt, tiles, Some(nulls)))
    }
}

/// The part of row `row` of `rows`, cut into `parts`.
pub(super) fn tile(row: i64, rows: i64, parts: i64) -> i64 {
    let (small, larger_parts) = (rows / parts, rows % parts);
    let in_larger = larger_parts * (small + 1);
    if row < in_larger {
        return row / (small + 1) + 1;
    }
    // Only reached when there are at least as many rows as parts, so small is not zero.
    larger_parts + (row - in_larger) / small.max(1) + 1
}

#[cfg(test)]
mod tests {
    #[test]
    fn parts_differ_by_one_row_at_most() {
        for rows in 1..40i64 {
            for parts in 1..45 {
                let tiles: Vec<i64> = (0..rows).map(|row| super::tile(row, rows, parts)).collect();
                assert!(tiles.is_sorted() && tiles[0] == 1);
                let count = |part: i64| tiles.iter().filter(|it| **it == part).count();
                let counts: Vec<usize> = (1..=parts.min(rows)).map(count).collect();
                assert!(
                    counts.is_sorted_by(|a, b| a >= b) && counts[0] <= counts[counts.len() - 1] + 1
                );
                assert_eq!(counts.iter().sum::<usize>() as i64, rows);
            }
        }
    }
}
