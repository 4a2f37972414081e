//! The order and equality of rows, for all types.
//!
//! NaN equals itself and is the greatest number, -0.0 equals 0.0, intervals compare by their length
//! (a month has 30 days, a day 24 hours), strings by bytes, arrays and maps element by element,
//! rows field by field, objects as their type says. A null equals a null and comes after everything
//! else. Types with comparison keys compare by their keys.

use crate::{Decoded, Nested, StringValues, StringView, Values, Vector};
use std::{cmp::Ordering, ops::Range};
use volley_error::Result;
use volley_kernels::order::Ordered;
use volley_types::Interval;

/// Compares rows of a left and a right vector; see [`comparator`].
pub struct Comparator {
    left: Comparable,
    right: Comparable,
}

/// The rows of a vector, to be compared with those of others of the same type.
#[derive(Debug)]
pub struct Comparable {
    /// What is compared.
    decoded: Decoded<'static>,
    kind: Kind,
}

/// What a row's base values are compared by.
#[derive(Debug)]
enum Kind {
    /// Fixed-width values and strings.
    Leaf(fn(&Values, usize, &Values, usize) -> Ordering),
    /// Arrays and maps: by their elements.
    List(Box<Comparable>),
    /// Arrays of a fixed size: by their elements.
    Fixed(Box<Comparable>),
    /// By fields.
    Fields(Vec<Comparable>),
}

/// What compares rows of `left` with rows of `right`, vectors of one type. The type is inspected
/// once, here.
///
/// # Errors
///
/// What a lazy vector's loader reports.
pub fn comparator(left: &Vector, right: &Vector) -> Result<Comparator> {
    Ok(Comparator { left: Comparable::new(left)?, right: Comparable::new(right)? })
}

impl Comparable {
    /// The rows of `vector`. The type is inspected once, here.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    pub fn new(vector: &Vector) -> Result<Comparable> {
        let decoded = Decoded::new(&vector.comparison_keys()?)?.into_owned();
        let kind = match decoded.values() {
            Values::Array(nested) | Values::Map(nested) => {
                Kind::List(Box::new(Comparable::new(&nested.elements)?))
            }
            Values::Row { children, .. } => {
                Kind::Fields(children.iter().map(Comparable::new).collect::<Result<_>>()?)
            }
            Values::FixedArray(arrays) => Kind::Fixed(Box::new(Comparable::new(&arrays.elements)?)),
            values => Kind::Leaf(leaf_comparator(values)),
        };
        Ok(Comparable { decoded, kind })
    }

    /// Whether `row` is null.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.decoded.is_null(row)
    }

    /// The order of `row` and row `other_row` of `other`, which is of the same type; nulls are
    /// equal and last.
    #[inline]
    pub fn compare(&self, row: usize, other: &Comparable, other_row: usize) -> Ordering {
        match (self.is_null(row), other.is_null(other_row)) {
            (false, false) => self.compare_valid(row, other, other_row),
            (left, right) => left.cmp(&right),
        }
    }

    /// The order of two rows that are not null.
    #[inline]
    pub fn compare_valid(&self, row: usize, other: &Comparable, other_row: usize) -> Ordering {
        let (i, j) = (self.decoded.index(row), other.decoded.index(other_row));
        let (left, right) = (self.decoded.values(), other.decoded.values());
        match (&self.kind, &other.kind) {
            (Kind::Leaf(compare), _) => compare(left, i, right, j),
            (Kind::List(elements), Kind::List(others)) => match (nested(left), nested(right)) {
                (Some(left), Some(right)) => {
                    compare_ranges(elements, left.range(i), others, right.range(j))
                }
                _ => Ordering::Equal,
            },
            (Kind::Fixed(elements), Kind::Fixed(others)) => match (left, right) {
                (Values::FixedArray(left), Values::FixedArray(right)) => {
                    compare_ranges(elements, left.range(i), others, right.range(j))
                }
                _ => Ordering::Equal,
            },
            (Kind::Fields(fields), Kind::Fields(others)) => fields
                .iter()
                .zip(others)
                .map(|(field, other)| field.compare(i, other, j))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal),
            _ => Ordering::Equal,
        }
    }
}

impl Comparator {
    /// The order of row `left` of the left vector and row `right` of the right one; nulls are equal
    /// and last.
    #[inline]
    pub fn compare(&self, left: usize, right: usize) -> Ordering {
        self.left.compare(left, &self.right, right)
    }

    /// Whether both rows are the same value; nulls are.
    #[inline]
    pub fn is_equal(&self, left: usize, right: usize) -> bool {
        self.compare(left, right).is_eq()
    }

    /// The order of two rows that are not null.
    #[inline]
    pub fn compare_valid(&self, left: usize, right: usize) -> Ordering {
        self.left.compare_valid(left, &self.right, right)
    }

    /// Whether a row of the left vector is null.
    #[inline]
    pub fn left_is_null(&self, row: usize) -> bool {
        self.left.is_null(row)
    }

    /// Whether a row of the right vector is null.
    #[inline]
    pub fn right_is_null(&self, row: usize) -> bool {
        self.right.is_null(row)
    }
}

fn nested(values: &Values) -> Option<&Nested> {
    match values {
        Values::Array(nested) | Values::Map(nested) => Some(nested),
        _ => None,
    }
}

fn compare_ranges(
    left_elements: &Comparable,
    left: Range<usize>,
    right_elements: &Comparable,
    right: Range<usize>,
) -> Ordering {
    let lengths = left.len().cmp(&right.len());
    left.zip(right)
        .map(|(a, b)| left_elements.compare(a, right_elements, b))
        .find(|order| order.is_ne())
        .unwrap_or(lengths)
}

fn leaf_comparator(like: &Values) -> fn(&Values, usize, &Values, usize) -> Ordering {
    match like {
        Values::Boolean(_) => |left, i, right, j| match (left, right) {
            (Values::Boolean(left), Values::Boolean(right)) => left.value(i).cmp(&right.value(j)),
            _ => Ordering::Equal,
        },
        Values::I8(_) => compare_native::<i8>,
        Values::I16(_) => compare_native::<i16>,
        Values::I32(_) => compare_native::<i32>,
        Values::I64(_) => compare_native::<i64>,
        Values::I128(_) => compare_native::<i128>,
        Values::F32(_) => compare_native::<f32>,
        Values::F64(_) => compare_native::<f64>,
        Values::Interval(_) => |left, i, right, j| match (left, right) {
            (Values::Interval(left), Values::Interval(right)) => {
                interval_nanos(left[i]).cmp(&interval_nanos(right[j]))
            }
            _ => Ordering::Equal,
        },
        Values::View(_) => |left, i, right, j| match (left, right) {
            (Values::View(left), Values::View(right)) => compare_strings(left, i, right, j),
            _ => Ordering::Equal,
        },
        Values::Object(_) => |left, i, right, j| match (left, right) {
            (Values::Object(left), Values::Object(right)) => match (left.get(i), right.get(j)) {
                (Some(left), Some(right)) => left.compare(right),
                _ => Ordering::Equal,
            },
            _ => Ordering::Equal,
        },
        // All nulls: never asked.
        _ => |_, _, _, _| Ordering::Equal,
    }
}

fn compare_native<T: volley_types::Native + Ordered>(
    left: &Values,
    i: usize,
    right: &Values,
    j: usize,
) -> Ordering {
    match (left.native::<T>(), right.native::<T>()) {
        (Some(left), Some(right)) => left[i].order(right[j]),
        _ => Ordering::Equal,
    }
}

/// The order of two strings by bytes; most are told apart by their views' prefixes.
#[inline]
pub fn compare_strings(left: &StringValues, i: usize, right: &StringValues, j: usize) -> Ordering {
    let (a, b) = (left.views[i], right.views[j]);
    let prefixes = StringView::prefix(a).swap_bytes().cmp(&StringView::prefix(b).swap_bytes());
    prefixes.then_with(|| left.bytes(i).cmp(right.bytes(j)))
}

/// Whether two strings are equal; most are told apart by their views' lengths and prefixes.
#[inline]
pub fn equal_strings(left: &StringValues, i: usize, right: &StringValues, j: usize) -> bool {
    let (a, b) = (left.views[i], right.views[j]);
    StringView::quick_equal(a, b).unwrap_or_else(|| left.bytes(i) == right.bytes(j))
}

/// The length of an interval: a month has 30 days, a day 24 hours.
#[inline]
pub fn interval_nanos(interval: Interval) -> i128 {
    const DAY_NANOS: i128 = 24 * 3600 * 1_000_000_000;
    let days = i128::from(interval.months) * 30 + i128::from(interval.days);
    days * DAY_NANOS + i128::from(interval.nanoseconds)
}
