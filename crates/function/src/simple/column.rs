//! Where a simple function's results go.

use super::{
    args::{Contiguous, Varbinary, Varchar},
    memory::{Growth, text_too_long},
    output::NullRows,
};
use crate::EvalContext;
use volley_error::Result;
use volley_types::{Native, Type};
use volley_vector::{BooleanBuffer, Buffer, NullBuffer, Rows, StringBuilder, Values, Vector};

/// A marker that can be a result.
pub trait ResultType: 'static {
    /// What collects the results.
    type Column: Column;
}

/// Results being collected, by row.
pub trait Column: Sized {
    /// What a row holds.
    type Item;

    /// Room for `len` rows, all of them zero, false or empty.
    fn with_len(len: usize) -> Self;

    /// Stores the result of `row`.
    fn set(&mut self, row: usize, item: Self::Item);

    /// Computes every row.
    #[inline(always)]
    fn collect(len: usize, f: impl Fn(usize) -> Self::Item) -> Self {
        let mut column = Self::with_len(len);
        (0..len).for_each(|row| column.set(row, f(row)));
        column
    }

    /// Computes every row, and whether any is invalid.
    #[inline(always)]
    fn collect_checked(len: usize, f: impl Fn(usize) -> (Self::Item, bool)) -> (Self, bool) {
        let mut column = Self::with_len(len);
        let mut any_invalid = false;
        for row in 0..len {
            let (item, is_invalid) = f(row);
            column.set(row, item);
            any_invalid |= is_invalid;
        }
        (column, any_invalid)
    }

    /// Computes every row; `None` when one has no result.
    #[inline(always)]
    fn collect_all(len: usize, f: impl Fn(usize) -> Option<Self::Item>) -> Option<Self> {
        let mut column = Self::with_len(len);
        for row in 0..len {
            column.set(row, f(row)?);
        }
        Some(column)
    }

    /// Computes every row, and says which have no result.
    #[inline(always)]
    fn collect_nullable(
        len: usize,
        f: impl Fn(usize) -> Option<Self::Item>,
    ) -> (Self, Option<NullBuffer>) {
        let mut column = Self::with_len(len);
        let mut nulls = NullRows::default();
        (0..len).for_each(|row| match f(row) {
            Some(item) => column.set(row, item),
            None => nulls.add(row, len),
        });
        (column, nulls.finish(len))
    }

    /// Fails those of `rows` whose results are no values of `data_type`.
    fn check(&mut self, _data_type: &Type, _rows: &Rows, _ctx: &mut EvalContext) {}

    /// The vector.
    ///
    /// # Errors
    ///
    /// Internal, when `data_type` has another layout.
    fn finish(self, data_type: &Type, nulls: Option<NullBuffer>) -> Result<Vector>;
}

impl<A: Contiguous> ResultType for A {
    type Column = NativeColumn<A::Element>;
}

impl ResultType for bool {
    type Column = BooleanColumn;
}

impl ResultType for Varchar {
    type Column = StringColumn;
}

impl ResultType for Varbinary {
    type Column = StringColumn;
}

/// Fixed-width results.
pub struct NativeColumn<T>(Vec<T>);

impl<T: Native> Column for NativeColumn<T> {
    type Item = T;

    fn with_len(len: usize) -> Self {
        NativeColumn(vec![T::default(); len])
    }

    #[inline(always)]
    fn set(&mut self, row: usize, item: T) {
        self.0[row] = item;
    }

    #[inline(always)]
    fn collect(len: usize, f: impl Fn(usize) -> T) -> Self {
        NativeColumn(volley_vector::collect_native(len, f))
    }

    #[inline(always)]
    fn collect_checked(len: usize, f: impl Fn(usize) -> (T, bool)) -> (Self, bool) {
        let (values, any_invalid) = volley_vector::collect_checked(len, f);
        (NativeColumn(values), any_invalid)
    }

    #[inline(always)]
    fn collect_all(len: usize, f: impl Fn(usize) -> Option<T>) -> Option<Self> {
        volley_vector::collect_all(len, f).map(NativeColumn)
    }

    #[inline(always)]
    fn collect_nullable(len: usize, f: impl Fn(usize) -> Option<T>) -> (Self, Option<NullBuffer>) {
        let (values, nulls) = volley_vector::collect_nullable(len, f);
        (NativeColumn(values), nulls)
    }

    fn finish(self, data_type: &Type, nulls: Option<NullBuffer>) -> Result<Vector> {
        finish(data_type, Values::from_native::<T>(self.0.into()), nulls)
    }
}

/// BOOLEAN results.
pub struct BooleanColumn {
    words: Vec<u64>,
    len: usize,
}

impl Column for BooleanColumn {
    type Item = bool;

    fn with_len(len: usize) -> Self {
        BooleanColumn { words: vec![0; len.div_ceil(64)], len }
    }

    #[inline(always)]
    fn set(&mut self, row: usize, item: bool) {
        self.words[row / 64] |= u64::from(item) << (row % 64);
    }

    #[inline(always)]
    fn collect(len: usize, f: impl Fn(usize) -> bool) -> Self {
        let word = |start: usize| {
            let end = len.min(start + 64);
            (start..end).fold(0, |word, row| word | u64::from(f(row)) << (row - start))
        };
        BooleanColumn { words: (0..len).step_by(64).map(word).collect(), len }
    }

    #[inline(always)]
    fn collect_all(len: usize, f: impl Fn(usize) -> Option<bool>) -> Option<Self> {
        let mut words = Vec::with_capacity(len.div_ceil(64));
        let mut has_all = true;
        for start in (0..len).step_by(64) {
            let mut word = 0;
            for row in start..len.min(start + 64) {
                let value = f(row);
                has_all &= value.is_some();
                word |= u64::from(value == Some(true)) << (row - start);
            }
            words.push(word);
        }
        has_all.then_some(BooleanColumn { words, len })
    }

    fn finish(self, data_type: &Type, nulls: Option<NullBuffer>) -> Result<Vector> {
        let bits = BooleanBuffer::new(Buffer::from_vec(self.words), 0, self.len);
        finish(data_type, Values::Boolean(bits), nulls)
    }
}

/// VARCHAR or VARBINARY results.
pub struct StringColumn {
    views: Vec<u128>,
    builder: StringBuilder,
    growth: Growth,
}

impl StringColumn {
    /// Stores a copy of `bytes` as the result of `row`.
    #[inline]
    pub fn set_bytes(&mut self, row: usize, bytes: &[u8]) {
        if self.growth.takes_text(bytes) {
            self.views[row] = self.builder.store(bytes);
        }
    }
}

impl Column for StringColumn {
    type Item = Vec<u8>;

    fn with_len(len: usize) -> Self {
        let builder = StringBuilder::with_capacity(0);
        StringColumn { views: vec![0; len], builder, growth: Growth::new() }
    }

    fn set(&mut self, row: usize, item: Vec<u8>) {
        self.set_bytes(row, &item);
    }

    fn finish(self, data_type: &Type, nulls: Option<NullBuffer>) -> Result<Vector> {
        if self.growth.is_refused() {
            return Err(text_too_long());
        }
        finish(data_type, Values::View(self.builder.finish_with_views(self.views)), nulls)
    }
}

pub(super) fn finish(
    data_type: &Type,
    values: Values,
    nulls: Option<NullBuffer>,
) -> Result<Vector> {
    if data_type.physical() != values.physical() {
        let message = format!("function result has another layout than its type: {data_type}");
        return Err(volley_error::Error::internal(message));
    }
    Ok(Vector::flat(data_type.clone(), values, nulls))
}
