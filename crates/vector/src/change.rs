//! Changes vectors: copies rows over others, and resizes.
//!
//! These functions take a vector by value. They write buffers in place if they hold the only
//! reference. Shared buffers, and views of foreign memory, are copied first (copy on write).

mod nested;
#[cfg(test)]
mod tests;

use crate::{
    Buffer, Decoded, Encoding, NullBuffer, Objects, ScalarBuffer, StringValues, StringView, Values,
    Vector,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, BooleanBufferBuilder};
use std::sync::Arc;
use volley_error::{Error, ErrorKind, Result};
use volley_types::{Interval, Native, Object, Type};

/// Consecutive rows to copy from one vector to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyRange {
    /// The first row of the source.
    pub from: usize,
    /// The first row of the target.
    pub to: usize,
    /// How many.
    pub rows: usize,
}

/// A vector in its parts.
struct Parts {
    data_type: Type,
    values: Values,
    nulls: Option<NullBuffer>,
}

impl Vector {
    /// This vector with rows of `source` over its own, flat. Later ranges overwrite earlier ones.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports; strings or elements beyond the layout's 32 bits.
    ///
    /// # Panics
    ///
    /// If the types differ, or a range is not within both vectors.
    pub fn copy_ranges(self, source: &Vector, ranges: &[CopyRange]) -> Result<Vector> {
        assert_eq!(self.data_type(), source.data_type(), "types of both vectors");
        for range in ranges {
            assert!(range.from + range.rows <= source.len(), "range beyond the source");
            assert!(range.to + range.rows <= self.len(), "range beyond the target");
        }
        let source = Decoded::new(source)?;
        let mut parts = self.into_parts()?;
        parts.nulls = copy_nulls(parts.nulls, parts.values.len(), &source, ranges);
        parts.values = copy_values(parts.values, &source, ranges)?;
        Ok(Vector::flat(parts.data_type, parts.values, parts.nulls))
    }

    /// The first `len` rows; where there are fewer, the others are NULL. Keeps the encoding.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports; elements beyond the layout's 32 bits.
    pub fn resize(self, len: usize) -> Result<Vector> {
        if self.is_lazy() {
            return self.loaded()?.resize(len);
        }
        let (before, data_type) = (self.len(), self.data_type().clone());
        if len <= before {
            return Ok(self.slice(0, len));
        }
        let nulls = || Some(extended_nulls(self.null_buffer(), before, len));
        match self.encoding() {
            _ if before == 0 => Ok(Vector::nulls(data_type, len)),
            Encoding::Constant(base) if Decoded::new(base)?.is_null(0) => {
                Ok(Vector::repeat(base.as_ref().clone(), len))
            }
            Encoding::Constant(base) => {
                let codes = vec![0u32; len];
                Ok(Vector::dictionary(codes.into(), Arc::clone(base), nulls()))
            }
            Encoding::Dictionary { .. } | Encoding::Bias { .. } => Ok(self.with_more_codes(len)),
            Encoding::RunLength { ends, base } => {
                let mut ends = ends.to_vec();
                ends.push(len as u32);
                let base = base.as_ref().clone().resize(ends.len())?;
                Ok(Vector::run_length(ends.into(), Arc::new(base)))
            }
            Encoding::Flat(_) | Encoding::Lazy(_) => {
                let nulls = nulls();
                let parts = self.into_parts()?;
                Ok(Vector::flat(data_type, resize_values(parts.values, len)?, nulls))
            }
        }
    }

    /// A dictionary or bias vector with null rows at its end.
    fn with_more_codes(self, len: usize) -> Vector {
        let nulls = Some(extended_nulls(self.null_buffer(), self.len(), len));
        let (data_type, encoding) = self.into_encoding();
        match encoding {
            Encoding::Dictionary { codes, base } => {
                Vector::dictionary(resize_buffer(codes, len), base, nulls)
            }
            Encoding::Bias { base, deltas } => {
                Vector::bias(data_type, base, deltas.resize(len), nulls)
            }
            _ => Vector::nulls(data_type, len),
        }
    }

    /// The elements of a flat vector of fixed-width ones, changed by `f`: in place if this is the
    /// only reference, otherwise in a copy. `f` sees the elements of null rows, too.
    ///
    /// # Errors
    ///
    /// As [`Vector::flatten`].
    ///
    /// # Panics
    ///
    /// If the elements are not of type `T`.
    pub fn update<T: Native>(self, f: impl FnOnce(&mut [T])) -> Result<Vector> {
        assert_eq!(self.data_type().physical(), T::PHYSICAL, "elements of {}", self.data_type());
        let parts = self.into_parts()?;
        let (values, strings) = match parts.values {
            Values::View(strings) => (strings.views.into_inner(), Some(strings.buffers)),
            values => (into_buffer(values), None),
        };
        let len = values.len() / size_of::<T>();
        let mut values: Vec<T> = owned(ScalarBuffer::new(values, 0, len));
        f(&mut values);
        let values = match strings {
            Some(buffers) => {
                let views = Buffer::from_vec(values);
                Values::View(StringValues::new(ScalarBuffer::new(views, 0, len), buffers))
            }
            None => Values::from_native::<T>(values.into()),
        };
        Ok(Vector::flat(parts.data_type, values, parts.nulls))
    }

    /// The parts of the vector in flat encoding, without a second holder of what it alone held.
    fn into_parts(self) -> Result<Parts> {
        let flat = if self.flat_values().is_some() { self } else { self.flatten()? };
        let nulls = flat.null_buffer().cloned();
        match flat.into_encoding() {
            (data_type, Encoding::Flat(values)) => Ok(Parts { data_type, values, nulls }),
            _ => Err(Error::internal("flatten gave another encoding")),
        }
    }
}

/// The buffer of fixed-width elements; the values are given up first.
fn into_buffer(values: Values) -> Buffer {
    let buffer = values.fixed_buffer().cloned();
    drop(values);
    buffer.unwrap_or_default()
}

/// The elements, in place if this is the only reference.
fn owned<T: ArrowNativeType>(buffer: ScalarBuffer<T>) -> Vec<T> {
    buffer.into_inner().into_vec::<T>().unwrap_or_else(|shared| shared.typed_data::<T>().to_vec())
}

pub(crate) fn resize_buffer<T: ArrowNativeType>(
    buffer: ScalarBuffer<T>,
    len: usize,
) -> ScalarBuffer<T> {
    let mut values = owned(buffer);
    values.resize(len, T::default());
    values.into()
}

fn bits_of(nulls: Option<&NullBuffer>, len: usize) -> BooleanBufferBuilder {
    let mut bits = BooleanBufferBuilder::new(len);
    match nulls {
        Some(nulls) => bits.append_buffer(nulls.inner()),
        None => bits.append_n(len, true),
    }
    bits
}

/// The bitmap of `before` rows with null rows up to `len`.
fn extended_nulls(nulls: Option<&NullBuffer>, before: usize, len: usize) -> NullBuffer {
    let mut bits = bits_of(nulls, before);
    bits.append_n(len - before, false);
    NullBuffer::new(bits.finish())
}

fn copy_nulls(
    nulls: Option<NullBuffer>,
    len: usize,
    source: &Decoded,
    ranges: &[CopyRange],
) -> Option<NullBuffer> {
    if nulls.is_none() && !source.has_nulls() {
        return None;
    }
    let mut bits = bits_of(nulls.as_ref(), len);
    for_each_row(ranges, |to, from| bits.set_bit(to, !source.is_null(from)));
    Some(NullBuffer::new(bits.finish()))
}

/// Calls `f` with each row of the target and the row of the source that goes there.
fn for_each_row(ranges: &[CopyRange], mut f: impl FnMut(usize, usize)) {
    for range in ranges {
        (0..range.rows).for_each(|row| f(range.to + row, range.from + row));
    }
}

fn copy_values(target: Values, source: &Decoded, ranges: &[CopyRange]) -> Result<Values> {
    Ok(match target {
        Values::Null(len) => Values::Null(len),
        Values::Boolean(bits) => Values::Boolean(copy_bits(&bits, source, ranges)),
        Values::I8(values) => Values::I8(copy_native::<i8>(values, source, ranges)),
        Values::I16(values) => Values::I16(copy_native::<i16>(values, source, ranges)),
        Values::I32(values) => Values::I32(copy_native::<i32>(values, source, ranges)),
        Values::I64(values) => Values::I64(copy_native::<i64>(values, source, ranges)),
        Values::I128(values) => Values::I128(copy_native::<i128>(values, source, ranges)),
        Values::F32(values) => Values::F32(copy_native::<f32>(values, source, ranges)),
        Values::F64(values) => Values::F64(copy_native::<f64>(values, source, ranges)),
        Values::Interval(values) => {
            Values::Interval(copy_native::<Interval>(values, source, ranges))
        }
        Values::View(strings) => Values::View(copy_strings(strings, source, ranges)?),
        Values::Object(objects) => Values::Object(copy_objects(&objects, source, ranges)),
        nested => nested::copy(nested, source, ranges)?,
    })
}

fn copy_bits(bits: &BooleanBuffer, source: &Decoded, ranges: &[CopyRange]) -> BooleanBuffer {
    let mut builder = BooleanBufferBuilder::new(bits.len());
    builder.append_buffer(bits);
    for_each_row(ranges, |to, from| builder.set_bit(to, source.boolean(from)));
    builder.finish()
}

fn copy_native<T: Native>(
    target: ScalarBuffer<T>,
    source: &Decoded,
    ranges: &[CopyRange],
) -> ScalarBuffer<T> {
    let mut target = owned(target);
    let values = source.native::<T>();
    for_each_row(ranges, |to, from| target[to] = values[source.index(from)]);
    target.into()
}

/// Views move after the target's buffers; bytes stay where they are.
fn copy_strings(
    target: StringValues,
    source: &Decoded,
    ranges: &[CopyRange],
) -> Result<StringValues> {
    let Values::View(strings) = source.values() else { return Ok(target) };
    let mut buffers: Vec<Buffer> = target.buffers.to_vec();
    let same = buffers.len() == strings.buffers.len()
        && buffers.iter().zip(strings.buffers.iter()).all(|(a, b)| a.ptr_eq(b));
    let base = if same { 0 } else { u32::try_from(buffers.len()).map_err(|_| too_large())? };
    if !same {
        buffers.extend(strings.buffers.iter().cloned());
    }
    let mut views = owned(target.views);
    for_each_row(ranges, |to, from| {
        let view = strings.views[source.index(from)];
        views[to] = StringView::with_buffers_moved(view, base);
    });
    Ok(StringValues::new(views.into(), buffers.into()))
}

fn copy_objects(target: &Objects, source: &Decoded, ranges: &[CopyRange]) -> Objects {
    let Values::Object(objects) = source.values() else { return target.clone() };
    let mut target: Vec<Option<Object>> = target.as_slice().to_vec();
    for_each_row(ranges, |to, from| target[to] = objects.get(source.index(from)).cloned());
    target.into_iter().collect()
}

/// Arbitrary elements, up to `len`.
fn resize_values(values: Values, len: usize) -> Result<Values> {
    Ok(match values {
        Values::Null(_) => Values::Null(len),
        Values::Boolean(bits) => {
            let mut builder = BooleanBufferBuilder::new(len);
            builder.append_buffer(&bits);
            builder.append_n(len - bits.len(), false);
            Values::Boolean(builder.finish())
        }
        Values::I8(values) => Values::I8(resize_buffer(values, len)),
        Values::I16(values) => Values::I16(resize_buffer(values, len)),
        Values::I32(values) => Values::I32(resize_buffer(values, len)),
        Values::I64(values) => Values::I64(resize_buffer(values, len)),
        Values::I128(values) => Values::I128(resize_buffer(values, len)),
        Values::F32(values) => Values::F32(resize_buffer(values, len)),
        Values::F64(values) => Values::F64(resize_buffer(values, len)),
        Values::Interval(values) => Values::Interval(resize_buffer(values, len)),
        Values::View(strings) => {
            let buffers = Arc::clone(&strings.buffers);
            Values::View(StringValues::new(resize_buffer(strings.views, len), buffers))
        }
        Values::Object(objects) => {
            let mut all: Vec<Option<Object>> = objects.as_slice().to_vec();
            all.resize(len, None);
            Values::Object(all.into_iter().collect())
        }
        nested => nested::resize(nested, len)?,
    })
}

fn too_large() -> Error {
    Error::new(ErrorKind::OutOfMemory, "too many string buffers or elements in one vector")
        .hint("use a smaller batch_rows")
}
