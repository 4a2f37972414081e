//! A column that is encoded.

use arrow_buffer::NullBuffer;
use std::borrow::Cow;
use volley_error::{Error, Result};
use volley_kernels::{alp::Float, pack::Lane};
use volley_types::{Native, PhysicalType, Type};
use volley_vector::{StringValues, Values, Vector};

/// A flat column.
pub(crate) struct Source {
    vector: Vector,
}

impl Source {
    pub(crate) fn new(column: &Vector) -> Result<Source> {
        Ok(Source { vector: column.loaded()?.flatten()? })
    }

    pub(crate) fn vector(&self) -> &Vector {
        &self.vector
    }

    pub(crate) fn data_type(&self) -> &Type {
        self.vector.data_type()
    }

    pub(crate) fn physical(&self) -> PhysicalType {
        self.vector.data_type().physical()
    }

    pub(crate) fn rows(&self) -> usize {
        self.vector.len()
    }

    pub(crate) fn nulls(&self) -> Option<&NullBuffer> {
        self.vector.null_buffer()
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        self.nulls().is_some_and(|it| it.is_null(row))
    }

    pub(crate) fn is_all_null(&self) -> bool {
        let all = self.nulls().is_some_and(|it| it.null_count() == self.rows());
        all || matches!(self.physical(), PhysicalType::Null)
    }

    pub(crate) fn values(&self) -> Result<&Values> {
        self.vector.flat_values().ok_or_else(|| Error::internal("a flattened column is not flat"))
    }

    /// The values as lanes of their width; those of null rows are the ones before.
    pub(crate) fn lanes<T: Lane + arrow_buffer::ArrowNativeType>(&self) -> Result<Cow<'_, [T]>> {
        let values = self.values()?.width::<T>();
        let values = values.ok_or_else(|| Error::internal("values of another width"))?;
        Ok(without_nulls(values, self.nulls()))
    }

    /// As [`Source::lanes`], of floats.
    pub(crate) fn floats<T: Float + Native>(&self) -> Result<Cow<'_, [T]>> {
        let values = self.values()?.native::<T>();
        let values = values.ok_or_else(|| Error::internal("values of another layout"))?;
        Ok(without_nulls(values, self.nulls()))
    }

    /// As [`Source::lanes`], of values of 16 bytes.
    pub(crate) fn wide(&self) -> Result<Cow<'_, [u128]>> {
        let values = self.values()?.width::<u128>();
        let values = values.ok_or_else(|| Error::internal("values of another width"))?;
        Ok(without_nulls(values, self.nulls()))
    }

    /// Texts or bytes.
    pub(crate) fn strings(&self) -> Result<&StringValues> {
        match self.values()? {
            Values::View(strings) => Ok(strings),
            _ => Err(Error::internal("texts of another layout")),
        }
    }

    /// The bytes of a text; none of a null row.
    pub(crate) fn string<'a>(&self, strings: &'a StringValues, row: usize) -> &'a [u8] {
        if self.is_null(row) { &[] } else { strings.bytes(row) }
    }
}

/// Values in which null rows have the value before them; the first ones that of the first valid
/// row.
fn without_nulls<'a, T: Copy>(values: &'a [T], nulls: Option<&NullBuffer>) -> Cow<'a, [T]> {
    let Some(nulls) = nulls else { return Cow::Borrowed(values) };
    let first = nulls.valid_indices().next().and_then(|it| values.get(it));
    let Some(mut last) = first.copied() else { return Cow::Borrowed(values) };
    let filled = values.iter().enumerate().map(|(row, value)| {
        if nulls.is_valid(row) {
            last = *value;
        }
        last
    });
    Cow::Owned(filled.collect())
}
