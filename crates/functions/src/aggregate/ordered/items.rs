//! The values of groups, ready to be put in order: those of fixed width as keys, others as rows.

use super::{super::typed::native_of, place::Place};
use crate::order::Ordinal;
use std::{cmp::Ordering, marker::PhantomData, ops::Range};
use volley_error::{Error, Result};
use volley_types::{Type, Value};
use volley_vector::{Comparable, Decoded, NullBuffer, Vector};

/// A column as values that can be put in order.
pub(super) trait Items {
    /// Represents a value while values are put in order.
    type Item: Copy;
    /// A value that was chosen.
    type Chosen: Copy;

    /// Adds the values of `rows` that are not null.
    fn extend(&self, items: &mut Vec<Self::Item>, rows: Range<usize>);

    /// The order of two values.
    fn compare(&self, left: &Self::Item, right: &Self::Item) -> Ordering;

    /// The value that a [`Place`] found.
    fn chosen(&self, found: (Self::Item, Option<(Self::Item, f64)>)) -> Self::Chosen;

    /// Makes each item its distance from `middle`.
    fn make_distances(&self, items: &mut [Self::Item], middle: Self::Chosen) -> Result<()>;

    /// A column of chosen values.
    fn column(&self, chosen: &[Option<Self::Chosen>]) -> Result<Vector>;
}

/// Values of fixed width that are compared as they are stored.
pub(super) struct Keys<'a, T> {
    column: &'a Decoded<'a>,
    /// The null rows.
    nulls: Option<NullBuffer>,
    place: Place,
    native: PhantomData<T>,
    values: &'a [T],
}

impl<'a, T: Ordinal> Keys<'a, T> {
    pub(super) fn new(column: &'a Decoded<'a>, place: Place) -> Result<Keys<'a, T>> {
        let nulls = column.nulls();
        Ok(Keys { column, nulls, place, native: PhantomData, values: native_of(column)? })
    }
}

impl<T: Ordinal> Items for Keys<'_, T> {
    type Item = T::Key;
    type Chosen = T;

    fn extend(&self, items: &mut Vec<T::Key>, rows: Range<usize>) {
        let key = |row: usize| self.values[self.column.index(row)].key();
        match &self.nulls {
            None if self.column.is_flat_without_nulls() => {
                items.extend(self.values[rows].iter().map(|it| it.key()));
            }
            None => items.extend(rows.map(key)),
            Some(nulls) => items.extend(rows.filter(|it| nulls.is_valid(*it)).map(key)),
        }
    }

    #[inline(always)]
    fn compare(&self, left: &T::Key, right: &T::Key) -> Ordering {
        left.cmp(right)
    }

    fn chosen(&self, found: (T::Key, Option<(T::Key, f64)>)) -> T {
        self.place.value(found)
    }

    fn make_distances(&self, items: &mut [T::Key], middle: T) -> Result<()> {
        items.iter_mut().try_for_each(|item| {
            let distance = T::of_key(*item).distance(middle).ok_or_else(too_far)?;
            *item = distance.key();
            Ok(())
        })
    }

    fn column(&self, chosen: &[Option<T>]) -> Result<Vector> {
        Ok(native_column(self.column.data_type().clone(), chosen))
    }
}

/// A column of chosen values of fixed width.
pub(super) fn native_column<T: Ordinal>(data_type: Type, chosen: &[Option<T>]) -> Vector {
    let nulls = NullBuffer::from_iter(chosen.iter().map(Option::is_some));
    let values: Vec<T> = chosen.iter().map(|it| it.unwrap_or_default()).collect();
    Vector::native::<T>(data_type, values, Some(nulls))
}

/// Values of any type that has an order, as rows.
pub(super) struct ValueRows<'a> {
    values: &'a Vector,
    order: Comparable,
}

impl<'a> ValueRows<'a> {
    pub(super) fn new(values: &'a Vector) -> Result<ValueRows<'a>> {
        Ok(ValueRows { values, order: Comparable::new(values)? })
    }
}

impl Items for ValueRows<'_> {
    type Item = u32;
    type Chosen = u32;

    fn extend(&self, items: &mut Vec<u32>, rows: Range<usize>) {
        items.extend(rows.filter(|it| !self.order.is_null(*it)).map(|it| it as u32));
    }

    fn compare(&self, left: &u32, right: &u32) -> Ordering {
        self.order.compare_valid(*left as usize, &self.order, *right as usize)
    }

    fn chosen(&self, (low, _): (u32, Option<(u32, f64)>)) -> u32 {
        low
    }

    fn make_distances(&self, _items: &mut [u32], _middle: u32) -> Result<()> {
        Err(too_far())
    }

    fn column(&self, chosen: &[Option<u32>]) -> Result<Vector> {
        let value = |row: &Option<u32>| match row {
            Some(row) => self.values.value(*row as usize),
            None => Ok(Value::Null),
        };
        let values = chosen.iter().map(value).collect::<Result<Vec<_>>>()?;
        Ok(Vector::from_values(self.values.data_type().clone(), &values))
    }
}

/// The error of a distance that its type has no value for.
pub(super) fn too_far() -> Error {
    Error::invalid_value("distance of values is out of range")
}
