//! Estimates of joins.

use super::ranges::common_values;
use super::selectivity::key_share;
use super::{ColumnEstimate, Estimate, Relation, surviving};
use crate::expr::as_column;
use std::collections::HashMap;
use volley_logical::{ColumnId, Expr, JoinKind};

/// The share of left rows that a semi join keeps when nothing is known of its conditions.
const SEMI_SHARE: f64 = 0.5;

/// The share of pairs that satisfy a condition about which nothing is known.
const CONDITION_SHARE: f64 = 0.3;

/// What a join of inputs makes; `keys` are equal expressions of the left and the right input.
pub(crate) fn joined(
    kind: JoinKind,
    left: Estimate,
    right: Estimate,
    keys: &[(Expr, Expr)],
    others: &[Expr],
) -> Estimate {
    let share = keys_share(keys, &left, &right);
    let other = others.iter().map(|_| CONDITION_SHARE).product::<f64>().max(0.01);
    let pairs = left.rows * right.rows * share * other;
    let matched = |own: &Estimate, pairs: f64| {
        if keys.is_empty() && others.is_empty() { own.rows } else { pairs.min(own.rows) }
    };
    let rows = match kind {
        JoinKind::Inner => pairs,
        JoinKind::Left => pairs.max(left.rows),
        JoinKind::Right => pairs.max(right.rows),
        JoinKind::Full => pairs.max(left.rows).max(right.rows),
        JoinKind::LeftSemi => semi_rows(&left, &right, keys, other),
        JoinKind::LeftAnti => {
            (left.rows - semi_rows(&left, &right, keys, other)).max(left.rows * 0.1)
        }
        JoinKind::RightSemi => matched(&right, pairs) * SEMI_SHARE,
        JoinKind::RightAnti => right.rows * SEMI_SHARE,
        JoinKind::LeftMark => left.rows,
    };
    let (left_within, right_within) = shares_within(kind, keys, &left, &right);
    let (left_padded, right_padded) = padded_shares(kind, &left, &right, keys, other);
    let (left_rows, right_rows) = (left.rows.max(1.0), right.rows.max(1.0));
    let mut columns = HashMap::new();
    if kind.has_probe_columns() {
        let left = limited(left.columns, (left_rows, rows), left_within);
        columns.extend(padded(left, left_padded));
    }
    if kind.has_build_columns() {
        let right = limited(right.columns, (right_rows, rows), right_within);
        columns.extend(padded(right, right_padded));
    }
    Estimate { rows, columns }
}

/// The shares of an outer join's rows whose left, and whose right columns are null because the row
/// of the other side has no partner.
fn padded_shares(
    kind: JoinKind,
    left: &Estimate,
    right: &Estimate,
    keys: &[(Expr, Expr)],
    other: f64,
) -> (f64, f64) {
    let alone = |own: &Estimate, partners: &Estimate, keys: &[(Expr, Expr)]| {
        1.0 - (semi_rows(own, partners, keys, other) / own.rows.max(1.0)).clamp(0.0, 1.0)
    };
    let of_left = || alone(left, right, keys);
    let of_right = || {
        let mirrored: Vec<_> = keys.iter().map(|(a, b)| (b.clone(), a.clone())).collect();
        alone(right, left, &mirrored)
    };
    match kind {
        JoinKind::Left => (0.0, of_left()),
        JoinKind::Right => (of_right(), 0.0),
        JoinKind::Full => (of_right(), of_left()),
        _ => (0.0, 0.0),
    }
}

/// Columns that are null in a share of the rows, besides their own nulls.
fn padded(
    columns: impl Iterator<Item = (ColumnId, ColumnEstimate)>,
    share: f64,
) -> impl Iterator<Item = (ColumnId, ColumnEstimate)> {
    columns.map(move |(id, column)| {
        (id, ColumnEstimate { nulls: share + (1.0 - share) * column.nulls, ..column })
    })
}

/// The share of pairs of rows that agree in all keys. Keys of several columns are rarely
/// independent: together they do not distinguish more than the larger input has rows.
fn keys_share(keys: &[(Expr, Expr)], left: &Estimate, right: &Estimate) -> f64 {
    let independent: f64 = keys.iter().map(|(a, b)| key_share(a, b, left, right)).product();
    let rows = left.rows.max(right.rows).max(1.0);
    if keys.len() > 1 { independent.max(1.0 / rows) } else { independent }
}

/// Left rows with a partner: as many of the left keys' values as the right side has.
fn semi_rows(left: &Estimate, right: &Estimate, keys: &[(Expr, Expr)], other: f64) -> f64 {
    if keys.is_empty() {
        return left.rows * SEMI_SHARE;
    }
    let distinct = |expr: &Expr, of: &Estimate| {
        as_column(expr).map_or(of.rows.max(1.0), |id| of.column(id).distinct)
    };
    let share = |(a, b): &(Expr, Expr)| {
        let right = distinct(b, right).min(right.rows.max(1.0));
        (right / distinct(a, left)).clamp(0.0, 1.0)
    };
    let share = keys.iter().map(share).fold(1.0, f64::min);
    left.rows * share * other.max(SEMI_SHARE)
}

/// The shares of the left and of the right rows whose keys lie within the range of the other side's
/// keys, as far as there are more keys than numbers in the common range. A side whose rows without
/// a partner are returned, too, has all its rows.
fn shares_within(
    kind: JoinKind,
    keys: &[(Expr, Expr)],
    left: &Estimate,
    right: &Estimate,
) -> (f64, f64) {
    let mut shares = (1.0, 1.0);
    for (a, b) in keys {
        let (Some(own), Some(other)) = (as_column(a), as_column(b)) else { continue };
        let (own, other) = (left.column(own), right.column(other));
        let (Some(_), Some(_)) = (own.range, other.range) else { continue };
        if let Some(values) = common_values([own.range, other.range].into_iter(), &a.data_type) {
            shares.0 = f64::min(shares.0, values / own.distinct);
            shares.1 = f64::min(shares.1, values / other.distinct);
        }
    }
    use JoinKind::{Full, Left, LeftAnti, LeftMark, Right, RightAnti};
    if matches!(kind, Left | Full | LeftAnti | LeftMark) {
        shares.0 = 1.0;
    }
    if matches!(kind, Right | Full | RightAnti) {
        shares.1 = 1.0;
    }
    shares
}

/// Columns of one side, with `before` rows, in a join of `rows` rows; a share of the side's rows
/// has keys that the other side may have.
fn limited(
    columns: HashMap<ColumnId, ColumnEstimate>,
    (before, rows): (f64, f64),
    within: f64,
) -> impl Iterator<Item = (ColumnId, ColumnEstimate)> {
    columns.into_iter().map(move |(id, column)| {
        let survive = |of: f64| surviving((of * within).max(1.0), before * within, rows);
        let relation = column.relation.map(|it| Relation { rows: survive(it.rows), ..it });
        (id, ColumnEstimate { distinct: survive(column.distinct), relation, ..column })
    })
}
