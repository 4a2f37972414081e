//! The ranges of integer keys.

use volley_types::{PhysicalType, match_integer};
use volley_vector::{Decoded, Indices, Values};

/// The smallest and the largest value of a column of integers; `min > max` when there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// The least one.
    pub min: i64,
    /// The greatest one.
    pub max: i64,
}

impl KeyRange {
    /// The range of no value.
    pub const EMPTY: KeyRange = KeyRange { min: i64::MAX, max: i64::MIN };

    /// Whether values of this layout have ranges.
    pub(super) fn is_known_for(physical: PhysicalType) -> bool {
        matches!(
            physical,
            PhysicalType::Boolean
                | PhysicalType::I8
                | PhysicalType::I16
                | PhysicalType::I32
                | PhysicalType::I64
        )
    }

    /// The range of a column; may be too large by values that stand in its dictionary only.
    pub fn of(column: &Decoded) -> KeyRange {
        let nulls = column.nulls();
        let is_dense = nulls.is_none() && matches!(column.indices(), Indices::Identity);
        match column.values() {
            Values::Null(_) => KeyRange::EMPTY,
            Values::Boolean(_) => KeyRange { min: 0, max: 1 },
            values => match_integer!(values.physical(), T => {
                let values = values.native::<T>().unwrap_or(&[]);
                if is_dense {
                    return range_of(values.iter().map(|it| *it as i64));
                }
                let is_constant = matches!(column.indices(), Indices::Constant(_));
                if values.len() <= column.len() && !is_constant {
                    return range_of_base(column, values.iter().map(|it| *it as i64));
                }
                if let (None, Indices::Codes(codes)) = (&nulls, column.indices()) {
                    return range_of(codes.iter().map(|it| values[*it as usize] as i64));
                }
                let rows = (0..column.len()).filter(|row| {
                    nulls.as_ref().is_none_or(|it| it.is_valid(*row))
                });
                range_of(rows.map(|row| values[column.index(row)] as i64))
            }, else KeyRange::EMPTY),
        }
    }

    /// Whether all of `other` is within this range.
    pub(super) fn contains(self, other: KeyRange) -> bool {
        other.min > other.max || (self.min <= other.min && other.max <= self.max)
    }

    /// The range with half of its length more on either side.
    pub(super) fn padded(self) -> KeyRange {
        let pad = i64::try_from(self.len() / 2).unwrap_or(i64::MAX);
        KeyRange { min: self.min.saturating_sub(pad), max: self.max.saturating_add(pad) }
    }

    /// The smallest range that holds both.
    pub fn union(self, other: KeyRange) -> KeyRange {
        KeyRange { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The number of values from `min` to `max`.
    pub(super) fn len(self) -> u128 {
        if self.min > self.max {
            0
        } else {
            (i128::from(self.max) - i128::from(self.min)) as u128 + 1
        }
    }
}

#[inline]
fn range_of(values: impl Iterator<Item = i64>) -> KeyRange {
    let grow = |range: KeyRange, value: i64| KeyRange {
        min: range.min.min(value),
        max: range.max.max(value),
    };
    values.fold(KeyRange::EMPTY, grow)
}

/// The range of all values of a column's base that are not null there.
fn range_of_base(column: &Decoded, values: impl Iterator<Item = i64>) -> KeyRange {
    match column.base().null_buffer() {
        Some(nulls) => {
            range_of(values.zip(nulls.iter()).filter(|(_, valid)| *valid).map(|(value, _)| value))
        }
        None => range_of(values),
    }
}
