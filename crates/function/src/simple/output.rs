//! What a simple function returns: a value, null or an error.

use super::{
    args::{DateDays, TimeMicros, TimestampMicros, Varbinary, Varchar},
    column::{BooleanColumn, Column, NativeColumn, ResultType, StringColumn},
    decimal::{Decimal, DecimalColumn},
    pattern::SqlType,
    writer::{NativeBuilder, Push},
};
use crate::EvalContext;
use std::borrow::Cow;
use volley_error::Error;
use volley_types::Interval;
use volley_vector::{BooleanBuffer, Buffer, NullBuffer, Rows};

/// A plain value: not an `Option` and not a `Result`.
pub trait Plain {}

/// A plain value that a column stores.
pub trait Stored<C: Column>: Plain {
    /// The value as the column's item.
    fn into_item(self) -> C::Item;
}

/// A plain value of one SQL type.
pub trait Value: Stored<<Self::Marker as ResultType>::Column> {
    /// The type's marker.
    type Marker: SqlType + ResultType;
}

/// A return type from which the SQL type follows.
pub trait Returned: Output<<Self::Marker as ResultType>::Column> + 'static {
    /// The type's marker.
    type Marker: SqlType + ResultType;
}

impl<T: Value + 'static> Returned for T {
    type Marker = T::Marker;
}

impl<T: Value + 'static> Returned for Option<T> {
    type Marker = T::Marker;
}

impl<T: Value + 'static> Returned for Result<T, Error> {
    type Marker = T::Marker;
}

impl<T: Value + 'static> Returned for Result<Option<T>, Error> {
    type Marker = T::Marker;
}

impl<T: Value + 'static, E: Fn() -> Error + Copy + 'static> Returned for Result<T, E> {
    type Marker = T::Marker;
}

/// A closure's return type: `T`, `Option<T>`, `Result<T>`, `Result<Option<T>>`, or `Result<T, E>`
/// with a function that makes the error.
pub trait Output<C: Column>: Sized {
    /// Whether a row can fail.
    const FALLIBLE: bool;

    /// Whether the loop has no branches, so that one for each shape of the arguments pays.
    const BRANCH_FREE: bool = false;

    /// Computes `rows`; with `dense`, others may be computed, too, where that is faster. Returns
    /// the column and the rows that became null, in addition to those with null arguments.
    fn fill(
        rows: &Rows,
        dense: bool,
        ctx: &mut EvalContext,
        f: impl Fn(usize) -> Self,
    ) -> (C, Option<NullBuffer>);
}

impl<C: Column, T: Stored<C>> Output<C> for T {
    const FALLIBLE: bool = false;
    const BRANCH_FREE: bool = true;

    #[inline(always)]
    fn fill(
        rows: &Rows,
        dense: bool,
        _ctx: &mut EvalContext,
        f: impl Fn(usize) -> T,
    ) -> (C, Option<NullBuffer>) {
        if dense || rows.is_all() {
            return (C::collect(rows.len(), move |row| f(row).into_item()), None);
        }
        let mut column = C::with_len(rows.len());
        rows.for_each(|row| column.set(row, f(row).into_item()));
        (column, None)
    }
}

impl<C: Column, T: Stored<C>> Output<C> for Option<T> {
    const FALLIBLE: bool = false;

    #[inline(always)]
    fn fill(
        rows: &Rows,
        _dense: bool,
        _ctx: &mut EvalContext,
        f: impl Fn(usize) -> Option<T>,
    ) -> (C, Option<NullBuffer>) {
        if rows.is_all() {
            return C::collect_nullable(rows.len(), move |row| f(row).map(T::into_item));
        }
        let mut column = C::with_len(rows.len());
        let mut nulls = NullRows::default();
        rows.for_each(|row| match f(row) {
            Some(value) => column.set(row, value.into_item()),
            None => nulls.add(row, rows.len()),
        });
        (column, nulls.finish(rows.len()))
    }
}

impl<C: Column, T: Stored<C>> Output<C> for Result<T, Error> {
    const FALLIBLE: bool = true;

    #[inline(always)]
    fn fill(
        rows: &Rows,
        _dense: bool,
        ctx: &mut EvalContext,
        f: impl Fn(usize) -> Result<T, Error>,
    ) -> (C, Option<NullBuffer>) {
        let mut column = C::with_len(rows.len());
        rows.for_each(|row| match f(row) {
            Ok(value) => column.set(row, value.into_item()),
            Err(error) => ctx.fail(row, || error),
        });
        (column, None)
    }
}

/// An error that is made lazily: the closure runs for all rows in a loop without a branch, and only
/// if one failed, again for the active rows.
impl<C: Column, T: Stored<C>, E: Fn() -> Error + Copy> Output<C> for Result<T, E> {
    const FALLIBLE: bool = true;
    const BRANCH_FREE: bool = true;

    #[inline(always)]
    fn fill(
        rows: &Rows,
        dense: bool,
        ctx: &mut EvalContext,
        f: impl Fn(usize) -> Result<T, E>,
    ) -> (C, Option<NullBuffer>) {
        let value = |row| f(row).ok().map(T::into_item);
        if (dense || rows.is_all())
            && let Some(column) = C::collect_all(rows.len(), value)
        {
            return (column, None);
        }
        let mut column = C::with_len(rows.len());
        rows.for_each(|row| match f(row) {
            Ok(value) => column.set(row, value.into_item()),
            Err(error) => ctx.fail(row, error),
        });
        (column, None)
    }
}

impl<C: Column, T: Stored<C>> Output<C> for Result<Option<T>, Error> {
    const FALLIBLE: bool = true;

    #[inline(always)]
    fn fill(
        rows: &Rows,
        _dense: bool,
        ctx: &mut EvalContext,
        f: impl Fn(usize) -> Result<Option<T>, Error>,
    ) -> (C, Option<NullBuffer>) {
        let mut column = C::with_len(rows.len());
        let mut nulls = NullRows::default();
        rows.for_each(|row| match f(row) {
            Ok(Some(value)) => column.set(row, value.into_item()),
            Ok(None) => nulls.add(row, rows.len()),
            Err(error) => ctx.fail(row, || error),
        });
        (column, nulls.finish(rows.len()))
    }
}

/// Rows found to be null; no bitmap until the first one.
#[derive(Default)]
pub(crate) struct NullRows {
    valid: Vec<u64>,
}

impl NullRows {
    #[inline]
    pub(crate) fn add(&mut self, row: usize, len: usize) {
        if self.valid.is_empty() {
            self.valid = vec![u64::MAX; len.div_ceil(64)];
        }
        self.valid[row / 64] &= !(1 << (row % 64));
    }

    pub(crate) fn finish(self, len: usize) -> Option<NullBuffer> {
        if self.valid.is_empty() {
            return None;
        }
        Some(NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(self.valid), 0, len)))
    }
}

/// Says where values are stored and which SQL type they are.
macro_rules! values {
    ($($value:ty: $marker:ty => $column:ty, |$it:ident| $item:expr;)*) => {
        $(
            impl Plain for $value {}

            impl Stored<$column> for $value {
                #[inline(always)]
                fn into_item(self) -> <$column as Column>::Item {
                    let $it = self;
                    $item
                }
            }

            impl Value for $value {
                type Marker = $marker;
            }
        )*
    };
}

values! {
    i8: i8 => NativeColumn<i8>, |it| it;
    i16: i16 => NativeColumn<i16>, |it| it;
    i32: i32 => NativeColumn<i32>, |it| it;
    i64: i64 => NativeColumn<i64>, |it| it;
    i128: i128 => NativeColumn<i128>, |it| it;
    f32: f32 => NativeColumn<f32>, |it| it;
    f64: f64 => NativeColumn<f64>, |it| it;
    Interval: Interval => NativeColumn<Interval>, |it| it;
    bool: bool => BooleanColumn, |it| it;
    DateDays: DateDays => NativeColumn<i32>, |it| it.0;
    TimeMicros: TimeMicros => NativeColumn<i64>, |it| it.0;
    TimestampMicros: TimestampMicros => NativeColumn<i64>, |it| it.0;
    Decimal: Decimal => DecimalColumn, |it| it.unscaled;
    String: Varchar => StringColumn, |it| it.into_bytes();
    Vec<u8>: Varbinary => StringColumn, |it| it;
    &'static str: Varchar => StringColumn, |it| it.as_bytes().to_vec();
    Cow<'static, str>: Varchar => StringColumn, |it| it.into_owned().into_bytes();
}

/// Lets builders take values.
macro_rules! pushed {
    ($($value:ty: $stored:ty, |$it:ident| $item:expr;)*) => {
        $(impl Push<$value> for NativeBuilder<$stored> {
            #[inline(always)]
            fn push_value(&mut self, $it: $value) {
                self.push($item);
            }
        })*
    };
}

pushed! {
    i8: i8, |it| it;
    i16: i16, |it| it;
    i32: i32, |it| it;
    i64: i64, |it| it;
    i128: i128, |it| it;
    f32: f32, |it| it;
    f64: f64, |it| it;
    Interval: Interval, |it| it;
    DateDays: i32, |it| it.0;
    TimeMicros: i64, |it| it.0;
    TimestampMicros: i64, |it| it.0;
}
