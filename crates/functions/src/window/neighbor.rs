//! Values of rows at a distance: `lag`, `lead`.

use super::{counts, is_count};
use crate::documentation::doc;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{
    BoundWindow, FunctionDoc, Registry, ValidRows, WindowFunction, WindowReach, WindowRows,
    gather_or_null,
};
use volley_types::{Type, common_type};
use volley_vector::{Decoded, Vector};

/// Registers these functions.
pub(super) fn register(registry: &mut Registry) {
    let add = |registry: &mut Registry, name: &str, doc: FunctionDoc, direction: Direction| {
        registry.add_window(name, doc, Arc::new(move |args: &[Type]| bind(args, direction)));
    };
    let lag = doc(
        "lag(x[, offset[, default]]) -> as x",
        "The value of x in the row that is offset rows before (1 without it; after, when it is \
         negative), in the order of the window; the default, or null, when the partition has no \
         such row. With IGNORE NULLS, rows where x is null do not count.",
        "window",
        &[
            ("lag(x) OVER (ORDER BY x) FROM (VALUES (1), (2), (3)) v(x)", "NULL\n1\n2"),
            ("lag(x, 2, 0) OVER (ORDER BY x) FROM (VALUES (1), (2), (3)) v(x)", "0\n0\n1"),
        ],
    );
    add(registry, "lag", lag, Direction::Before);
    let lead = doc(
        "lead(x[, offset[, default]]) -> as x",
        "The value of x in the row that is offset rows after; otherwise as lag.",
        "window",
        &[("lead(x) OVER (ORDER BY x) FROM (VALUES (1), (2), (3)) v(x)", "2\n3\nNULL")],
    );
    add(registry, "lead", lead, Direction::After);
}

fn bind(args: &[Type], direction: Direction) -> Option<BoundWindow> {
    let (args, result) = match args {
        [value] => (vec![value.clone()], value.clone()),
        [value, offset] if is_count(offset) => (vec![value.clone(), Type::BigInt], value.clone()),
        [value, offset, default] if is_count(offset) => {
            let result = common_type(value, default)?;
            (vec![result.clone(), Type::BigInt, result.clone()], result)
        }
        _ => return None,
    };
    Some(BoundWindow {
        takes_null_treatment: true,
        uses_peers: false,
        reach: match direction {
            Direction::Before => WindowReach::Before,
            Direction::After => WindowReach::After,
        },
        ..BoundWindow::new(args, result, Neighbor { direction })
    })
}

#[derive(Clone, Copy)]
enum Direction {
    Before,
    After,
}

struct Neighbor {
    direction: Direction,
}

impl Neighbor {
    /// How far after the row; negative: before.
    fn distance(&self, offset: i64) -> i64 {
        match self.direction {
            Direction::Before => offset.saturating_neg(),
            Direction::After => offset,
        }
    }
}

impl WindowFunction for Neighbor {
    fn evaluate(&self, window: &WindowRows<'_>) -> Result<Vector> {
        let Some(values) = window.args.first() else {
            return Err(Error::internal("lag or lead without an argument"));
        };
        let offsets = window.args.get(1).map(Decoded::new).transpose()?;
        let offsets = offsets.as_ref().map(counts);
        let offset = |row: usize| offsets.as_ref().map_or(Some(1), |it| it(row));
        let target = |(row, partition): (usize, (u32, u32))| {
            let distance = self.distance(offset(row)?);
            match window.valid {
                None => moved(row as i64, distance, (partition.0.into(), partition.1.into())),
                Some(valid) => moved_over_nulls(valid, row, distance, partition),
            }
        };
        let rows = window.rows.clone().zip(window.partitions.iter());
        let Some(defaults) = window.args.get(2) else {
            return gather_or_null(values, rows.map(target));
        };
        let targets: Vec<Option<u32>> = rows.map(target).collect();
        let found = gather_or_null(values, targets.iter().copied())?;
        // An offset of null is no row at all: it has no default, either.
        let is_default = |(row, target): (usize, &Option<u32>)| {
            target.is_none() && offset(window.rows.start + row).is_some()
        };
        if !targets.iter().enumerate().any(is_default) {
            return Ok(found);
        }
        let defaults = defaults.slice(window.rows.start, window.rows.len());
        let both = Vector::concat(values.data_type(), &[found, defaults])?;
        let len = targets.len();
        let code =
            |it: (usize, &Option<u32>)| if is_default(it) { it.0 + len } else { it.0 } as u32;
        let codes: Vec<u32> = targets.iter().enumerate().map(code).collect();
        both.gather(&codes)
    }
}

/// The row at a distance from `row`, if it is in the partition.
#[inline(always)]
fn moved(row: i64, distance: i64, (start, end): (i64, i64)) -> Option<u32> {
    let target = row.saturating_add(distance);
    (start <= target && target < end).then_some(target as u32)
}

/// Like [`moved`], counting the rows that are not null only. A distance of 0 is the row itself.
fn moved_over_nulls(
    valid: &ValidRows,
    row: usize,
    distance: i64,
    (start, end): (u32, u32),
) -> Option<u32> {
    let before = |position: usize| i64::from(valid.before[position]);
    let target = match distance {
        0 => return Some(row as u32),
        // The first row after this one is at distance 1.
        1.. => before(row + 1).saturating_add(distance - 1),
        _ => before(row).saturating_add(distance),
    };
    let (first, last) = (before(start as usize), before(end as usize));
    let is_inside = first <= target && target < last;
    is_inside.then(|| valid.positions[target as usize])
}
