//! The order and equality of rows, for all types.
//!
//! NaN equals itself and is the greatest number, -0.0 equals 0.0, intervals compare by their length
//! (a month has 30 days, a day 24 hours), strings by bytes, arrays and maps element by element,
//! rows field by field, objects as their type says. A null equals a null and comes after everything
//! else. Types with an order of their own compare by their keys.

use crate::{Decoded, Nested, StringValues, StringView, Values, Vector};
use std::{cmp::Ordering, ops::Range};
use volley_error::Result;
use volley_kernels::order::Ordered;
use volley_types::Interval;

/// Compares rows of a left and a right vector; see [`comparator`].
pub struct Comparator {
    left: Decoded<'static>,
    right: Decoded<'static>,
    kind: Kind,
}

/// What a row's base values are compared by.
enum Kind {
    /// Fixed-width values.
    Leaf(fn(&Values, usize, &Values, usize) -> Ordering),
    /// Arrays and maps: by their elements.
    List(Box<Comparator>),
    /// Arrays of a fixed size: by their elements.
    Fixed(Box<Comparator>),
    /// By fields.
    Fields(Vec<Comparator>),
}

/// What compares rows of `left` with rows of `right`, vectors of one type. The type is looked at
/// once, here.
///
/// # Errors
///
/// What a lazy vector's loader reports.
pub fn comparator(left: &Vector, right: &Vector) -> Result<Comparator> {
    let left = Decoded::new(&left.comparison_keys()?)?.into_owned();
    let right = Decoded::new(&right.comparison_keys()?)?.into_owned();
    let kind = match (left.values(), right.values()) {
        (Values::Array(left) | Values::Map(left), Values::Array(right) | Values::Map(right)) => {
            Kind::List(Box::new(comparator(&left.elements, &right.elements)?))
        }
        (Values::Row { children: left, .. }, Values::Row { children: right, .. }) => {
            let fields = left.iter().zip(right.iter()).map(|(a, b)| comparator(a, b));
            Kind::Fields(fields.collect::<Result<_>>()?)
        }
        (Values::FixedArray(left), Values::FixedArray(right)) => {
            Kind::Fixed(Box::new(comparator(&left.elements, &right.elements)?))
        }
        (values, _) => Kind::Leaf(leaf_comparator(values)),
    };
    Ok(Comparator { left, right, kind })
}

impl Comparator {
    /// The order of row `left` of the left vector and row `right` of the right one; nulls are equal
    /// and last.
    #[inline]
    pub fn compare(&self, left: usize, right: usize) -> Ordering {
        match (self.left.is_null(left), self.right.is_null(right)) {
            (false, false) => self.compare_valid(left, right),
            (left, right) => left.cmp(&right),
        }
    }

    /// Whether both rows are the same value; nulls are.
    #[inline]
    pub fn is_equal(&self, left: usize, right: usize) -> bool {
        self.compare(left, right).is_eq()
    }

    /// The order of two rows that are not null.
    #[inline]
    pub fn compare_valid(&self, left: usize, right: usize) -> Ordering {
        let (i, j) = (self.left.index(left), self.right.index(right));
        let (left, right) = (self.left.values(), self.right.values());
        match &self.kind {
            Kind::Leaf(compare) => compare(left, i, right, j),
            Kind::List(elements) => match (nested(left), nested(right)) {
                (Some(left), Some(right)) => {
                    compare_ranges(elements, left.range(i), right.range(j))
                }
                _ => Ordering::Equal,
            },
            Kind::Fixed(elements) => match (left, right) {
                (Values::FixedArray(left), Values::FixedArray(right)) => {
                    compare_ranges(elements, left.range(i), right.range(j))
                }
                _ => Ordering::Equal,
            },
            Kind::Fields(fields) => fields
                .iter()
                .map(|field| field.compare(i, j))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal),
        }
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

fn compare_ranges(elements: &Comparator, left: Range<usize>, right: Range<usize>) -> Ordering {
    let lengths = left.len().cmp(&right.len());
    left.zip(right)
        .map(|(a, b)| elements.compare(a, b))
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
