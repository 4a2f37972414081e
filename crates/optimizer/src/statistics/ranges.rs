//! The share of pairs of rows that satisfy comparisons between both sides.

use super::{Estimate, value::steps};
use volley_logical::ColumnId;
use volley_types::Type;

/// A share that is not believed to be smaller.
const SHARE_MIN: f64 = 1e-3;

/// A comparison of columns of both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ColumnComparison {
    pub(crate) left: ColumnId,
    /// Whether the left value is the smaller one.
    pub(crate) is_less: bool,
    pub(crate) right: ColumnId,
}

/// The share of pairs for which the comparisons hold, one or two; `None` where the ranges of
/// columns are not known. Values are assumed to be spread evenly.
///
/// Two comparisons of one column in different directions are assumed to be with the ends of
/// intervals: a value cannot lie before an interval's start and after its end, so those that fail
/// one add to those that fail the other.
pub(crate) fn pairs_share(
    left: &Estimate,
    right: &Estimate,
    comparisons: &[ColumnComparison],
) -> Option<f64> {
    let share = |it: &ColumnComparison| {
        let (a, b) = (left.column(it.left).range?, right.column(it.right).range?);
        let less = less_share(a, b);
        Some(if it.is_less { less } else { 1.0 - less })
    };
    let shares = comparisons.iter().map(share).collect::<Option<Vec<f64>>>()?;
    let share = match (comparisons, shares.as_slice()) {
        ([a, b], [first, second])
            if a.is_less != b.is_less && (a.left == b.left || a.right == b.right) =>
        {
            first + second - 1.0
        }
        _ => shares.iter().product(),
    };
    Some(share.clamp(SHARE_MIN, 1.0))
}

/// How many values of a discrete type lie in all of the ranges that are known, at least one.
pub(crate) fn common_values(
    ranges: impl Iterator<Item = Option<(f64, f64)>>,
    data_type: &Type,
) -> Option<f64> {
    let common = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.min(b.1));
    let (low, high) = ranges.flatten().reduce(common)?;
    steps(low, high, data_type)
}

/// How probable it is that a value of the first range is less than one of the second.
fn less_share((a, b): (f64, f64), (c, d): (f64, f64)) -> f64 {
    // The integral of the share of values below x.
    let below = |x: f64| match x {
        x if x <= a => 0.0,
        x if x < b => (x - a) * (x - a) / (2.0 * (b - a)),
        x => (b - a) / 2.0 + (x - b),
    };
    if c < d {
        return ((below(d) - below(c)) / (d - c)).clamp(0.0, 1.0);
    }
    if a < b { ((c - a) / (b - a)).clamp(0.0, 1.0) } else { f64::from(u8::from(a < c)) }
}

#[cfg(test)]
mod tests {
    use super::{common_values, less_share};
    use volley_types::Type;

    #[test]
    fn shares_of_smaller_values_follow_from_ranges() {
        let cases = [
            ((0.0, 1.0), (0.0, 1.0), 0.5),
            ((0.0, 1.0), (2.0, 3.0), 1.0),
            ((2.0, 3.0), (0.0, 1.0), 0.0),
            ((0.0, 2.0), (0.0, 1.0), 0.25),
            ((0.0, 1.0), (0.0, 2.0), 0.75),
            ((0.0, 4.0), (1.0, 1.0), 0.25),
            ((1.0, 1.0), (0.0, 4.0), 0.75),
            ((1.0, 1.0), (1.0, 1.0), 0.0),
            ((1.0, 1.0), (2.0, 2.0), 1.0),
        ];
        for (left, right, share) in cases {
            let found = less_share(left, right);
            assert!((found - share).abs() < 1e-9, "{left:?} {right:?}: {found}");
        }
    }

    #[test]
    fn common_values_are_those_in_all_known_ranges() {
        let calendar = Some((0.0, 73_048.0));
        let facts = Some((36_000.0, 37_820.0));
        let common = |ranges: &[Option<(f64, f64)>], data_type: &Type| {
            common_values(ranges.iter().copied(), data_type)
        };
        assert_eq!(common(&[calendar, facts], &Type::Date), Some(1821.0));
        assert_eq!(common(&[calendar, None, facts], &Type::Integer), Some(1821.0));
        assert_eq!(common(&[Some((1.0, 2.0)), Some((5.0, 9.0))], &Type::BigInt), Some(1.0));
        assert_eq!(common(&[calendar, facts], &Type::Double), None);
        assert_eq!(common(&[None, None], &Type::Integer), None);
    }
}
