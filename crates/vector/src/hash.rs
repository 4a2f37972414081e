//! Hashes of rows, column at a time.
//!
//! Equal values have equal hashes in every encoding: -0.0 as 0.0, every NaN alike, intervals by
//! their length, nulls alike. Integers of different widths hash alike, too. Types with comparison
//! keys hash by their keys.

use crate::{Decoded, Encoding, Indices, Nested, StringValues, StringView, Values, Vector};
use volley_error::Result;
use volley_kernels::{
    hash::{
        NULL_HASH, hash_bits, hash_bytes, hash_combine, hash_combine_hashes, hash_combine_values,
        hash_values,
    },
    order::Ordered,
};
use volley_types::PhysicalType;

impl Vector {
    /// Writes the hash of every row to `hashes`.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    ///
    /// # Panics
    ///
    /// If `hashes` has another length.
    pub fn hash_into(&self, hashes: &mut [u64]) -> Result<()> {
        assert_eq!(self.len(), hashes.len(), "one hash per row");
        if self.data_type().key_type().is_some() {
            return self.comparison_keys()?.hash_into(hashes);
        }
        match self.encoding() {
            Encoding::Constant(base) if !hashes.is_empty() => {
                let mut hash = [0];
                base.hash_into(&mut hash)?;
                hashes.fill(hash[0]);
                Ok(())
            }
            Encoding::Flat(values) => {
                hash_flat(values, hashes)?;
                self.hash_nulls(hashes);
                Ok(())
            }
            Encoding::Dictionary { codes, base } if base.len() <= hashes.len() => {
                let mut distinct = vec![0; base.len()];
                base.hash_into(&mut distinct)?;
                for (hash, code) in hashes.iter_mut().zip(codes) {
                    *hash = distinct[*code as usize];
                }
                self.hash_nulls(hashes);
                Ok(())
            }
            Encoding::RunLength { ends, base } => {
                let mut runs = vec![0; base.len()];
                base.hash_into(&mut runs)?;
                let mut start = 0;
                for (hash, &end) in runs.iter().zip(ends) {
                    hashes[start..end as usize].fill(*hash);
                    start = end as usize;
                }
                Ok(())
            }
            _ => hash_decoded(&Decoded::new(self)?, hashes),
        }
    }

    /// Joins the hash of every row to what the columns before left in `hashes`.
    ///
    /// # Errors
    ///
    /// As [`Vector::hash_into`].
    ///
    /// # Panics
    ///
    /// As [`Vector::hash_into`].
    pub fn hash_combine_into(&self, hashes: &mut [u64]) -> Result<()> {
        assert_eq!(self.len(), hashes.len(), "one hash per row");
        if let (Some(values), None) = (self.flat_values(), self.null_buffer())
            && is_ordered(values)
            && self.data_type().key_type().is_none()
        {
            match_ordered(values, CombineHashes(hashes));
            return Ok(());
        }
        let mut next = vec![0; hashes.len()];
        self.hash_into(&mut next)?;
        hash_combine_hashes(&next, hashes);
        Ok(())
    }

    fn hash_nulls(&self, hashes: &mut [u64]) {
        if let Some(nulls) = self.null_buffer() {
            for (hash, valid) in hashes.iter_mut().zip(nulls) {
                *hash = if valid { *hash } else { NULL_HASH };
            }
        }
    }
}

/// Writes one hash per row of several columns to `hashes`: the first column's, combined with each
/// further one. Without columns, all rows hash alike.
///
/// # Errors
///
/// As [`Vector::hash_into`].
///
/// # Panics
///
/// As [`Vector::hash_into`].
pub fn hash_columns(columns: &[Vector], hashes: &mut [u64]) -> Result<()> {
    let Some((first, rest)) = columns.split_first() else {
        hashes.fill(NULL_HASH);
        return Ok(());
    };
    first.hash_into(hashes)?;
    rest.iter().try_for_each(|it| it.hash_combine_into(hashes))
}

/// Work on a slice of ordered values.
trait OnOrdered {
    fn run<T: Ordered>(self, values: &[T]);
}

struct WriteHashes<'a>(&'a mut [u64]);

impl OnOrdered for WriteHashes<'_> {
    fn run<T: Ordered>(self, values: &[T]) {
        hash_values(values, self.0);
    }
}

struct CombineHashes<'a>(&'a mut [u64]);

impl OnOrdered for CombineHashes<'_> {
    fn run<T: Ordered>(self, values: &[T]) {
        hash_combine_values(values, self.0);
    }
}

fn match_ordered(values: &Values, work: impl OnOrdered) {
    match values {
        Values::I8(values) => work.run::<i8>(values),
        Values::I16(values) => work.run::<i16>(values),
        Values::I32(values) => work.run::<i32>(values),
        Values::I64(values) => work.run::<i64>(values),
        Values::I128(values) => work.run::<i128>(values),
        Values::F32(values) => work.run::<f32>(values),
        Values::F64(values) => work.run::<f64>(values),
        _ => {}
    }
}

fn is_ordered(values: &Values) -> bool {
    !matches!(
        values.physical(),
        PhysicalType::Null
            | PhysicalType::Boolean
            | PhysicalType::Interval
            | PhysicalType::View
            | PhysicalType::Array
            | PhysicalType::FixedArray
            | PhysicalType::Map
            | PhysicalType::Row
            | PhysicalType::Opaque
    )
}

fn hash_flat(values: &Values, hashes: &mut [u64]) -> Result<()> {
    match values {
        Values::Null(_) => hashes.fill(NULL_HASH),
        Values::Boolean(bits) => {
            let (no, yes) = (hash_bits(0), hash_bits(1));
            for (hash, bit) in hashes.iter_mut().zip(bits) {
                *hash = if bit { yes } else { no };
            }
        }
        Values::Interval(values) => {
            for (hash, value) in hashes.iter_mut().zip(values) {
                *hash = hash_bits(crate::compare::interval_nanos(*value).key_bits());
            }
        }
        Values::View(strings) => {
            for (row, hash) in hashes.iter_mut().enumerate() {
                *hash = hash_view(strings, row);
            }
        }
        Values::Array(nested) | Values::Map(nested) => hash_nested(nested, hashes)?,
        Values::FixedArray(arrays) => hash_nested(&arrays.to_nested()?, hashes)?,
        Values::Object(objects) => {
            for (hash, object) in hashes.iter_mut().zip(objects.as_slice()) {
                *hash = object.as_ref().map_or(NULL_HASH, |it| hash_bits(it.hash()));
            }
        }
        Values::Row { children, .. } => {
            hashes.fill(hash_bits(children.len() as u64));
            for child in children.iter() {
                child.hash_combine_into(hashes)?;
            }
        }
        other => match_ordered(other, WriteHashes(hashes)),
    }
    Ok(())
}

#[inline(always)]
fn hash_view(strings: &StringValues, row: usize) -> u64 {
    let view = strings.views[row];
    if StringView::len_of(view) <= crate::INLINE_BYTES {
        return hash_combine(hash_bits(view as u64), (view >> 64) as u64);
    }
    hash_bytes(strings.bytes(row))
}

/// Hashes each element once, then joins those of every row.
fn hash_nested(nested: &Nested, hashes: &mut [u64]) -> Result<()> {
    let mut elements = vec![0; nested.elements.len()];
    nested.elements.hash_into(&mut elements)?;
    for (row, hash) in hashes.iter_mut().enumerate() {
        let range = nested.range(row);
        let start = hash_bits(range.len() as u64);
        // Null rows may have any range.
        let elements = elements.get(range).unwrap_or(&[]);
        *hash = elements.iter().fold(start, |hash, next| hash_combine(hash, *next));
    }
    Ok(())
}

/// Hashes the rows of a dictionary that is larger than the batch.
fn hash_decoded(decoded: &Decoded, hashes: &mut [u64]) -> Result<()> {
    if let Indices::Identity = decoded.indices() {
        return decoded.base().hash_into(hashes);
    }
    if hashes.is_empty() {
        return Ok(());
    }
    match decoded.values() {
        Values::View(strings) => {
            for (row, hash) in hashes.iter_mut().enumerate() {
                *hash = hash_view(strings, decoded.index(row));
            }
        }
        values if is_ordered(values) => {
            match_ordered(values, HashIndexed { decoded, hashes: &mut *hashes });
        }
        _ => {
            let gathered = decoded.base().gather(&decoded.to_codes())?;
            gathered.hash_into(hashes)?;
        }
    }
    if let Some(nulls) = decoded.nulls() {
        for (hash, valid) in hashes.iter_mut().zip(&nulls) {
            *hash = if valid { *hash } else { NULL_HASH };
        }
    }
    Ok(())
}

struct HashIndexed<'a> {
    decoded: &'a Decoded<'a>,
    hashes: &'a mut [u64],
}

impl OnOrdered for HashIndexed<'_> {
    fn run<T: Ordered>(self, values: &[T]) {
        for (row, hash) in self.hashes.iter_mut().enumerate() {
            *hash = hash_bits(values[self.decoded.index(row)].key_bits());
        }
    }
}
