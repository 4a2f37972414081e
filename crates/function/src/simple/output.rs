//! What a simple function returns: a value, null or an error.

use super::column::{BooleanColumn, Column, NativeColumn, StringColumn};
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

/// A closure's return type: `T`, `Option<T>`, `Result<T>` or `Result<Option<T>>`.
pub trait Output<C: Column>: Sized {
    /// Whether a row can fail.
    const FALLIBLE: bool;

    /// Whether the loop has no branches, so that one for each shape of the arguments pays.
    const BRANCH_FREE: bool = false;

    /// Computes `rows`; with `dense`, others may be computed, too, where that is faster. Answers
    /// the column and the rows that became null, beside those with null arguments.
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

macro_rules! stored_natives {
    ($($native:ty),*) => {
        $(impl Plain for $native {}

        impl Stored<NativeColumn<$native>> for $native {
            #[inline(always)]
            fn into_item(self) -> $native {
                self
            }
        })*
    };
}

stored_natives!(i8, i16, i32, i64, i128, f32, f64, Interval);

impl Plain for bool {}

impl Stored<BooleanColumn> for bool {
    #[inline(always)]
    fn into_item(self) -> bool {
        self
    }
}

impl Plain for String {}

impl Stored<StringColumn> for String {
    fn into_item(self) -> Vec<u8> {
        self.into_bytes()
    }
}

impl Plain for Vec<u8> {}

impl Stored<StringColumn> for Vec<u8> {
    fn into_item(self) -> Vec<u8> {
        self
    }
}

impl Plain for &'static str {}

impl Stored<StringColumn> for &'static str {
    fn into_item(self) -> Vec<u8> {
        self.as_bytes().to_vec()
    }
}

impl Plain for Cow<'static, str> {}

impl Stored<StringColumn> for Cow<'static, str> {
    fn into_item(self) -> Vec<u8> {
        self.into_owned().into_bytes()
    }
}
