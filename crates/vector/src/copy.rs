//! Copying and rearranging rows: wrap, gather, flatten, concatenate.

use crate::{
    Batch, BooleanBuffer, BufferList, Decoded, Encoding, FixedArrays, Indices, Nested, NullBuffer,
    ScalarBuffer, StringValues, Values, Vector,
};
use arrow_buffer::{ArrowNativeType, Buffer};
use std::{borrow::Cow, sync::Arc};
use volley_error::{Error, ErrorKind, Result};
use volley_kernels::gather::gather;
use volley_types::{Object, Type, match_width};

/// Codes composed so far in one wrap of several columns: the old codes' address, the new codes.
pub type Composed = Vec<(usize, ScalarBuffer<u32>)>;

impl Vector {
    /// Rows `codes` of this vector, as a dictionary where possible. Columns that share one code
    /// buffer share the composed one, too, through `composed` (start with an empty list).
    ///
    /// # Panics
    ///
    /// If a code is not a row.
    pub fn wrap(&self, codes: &ScalarBuffer<u32>, composed: &mut Composed) -> Vector {
        let nulls = self.null_buffer().map(|it| gather_nulls(it, codes));
        match self.encoding() {
            Encoding::Lazy(lazy) => match lazy.get() {
                Some(vector) => vector.wrap(codes, composed),
                None => lazy.wrap(self.data_type(), codes),
            },
            Encoding::Constant(base) => Vector::repeat(base.as_ref().clone(), codes.len()),
            Encoding::Dictionary { codes: inner, base } => {
                let address = inner.as_ptr() as usize;
                let codes = match composed.iter().find(|it| it.0 == address) {
                    Some((_, codes)) => codes.clone(),
                    None => {
                        let new: ScalarBuffer<u32> = gather_slice(inner, codes).into();
                        composed.push((address, new.clone()));
                        new
                    }
                };
                Vector::checked_dictionary(codes, Arc::clone(base), nulls)
            }
            Encoding::Flat(_) | Encoding::RunLength { .. } | Encoding::Bias { .. } => {
                Vector::dictionary(codes.clone(), Arc::new(self.clone()), None)
            }
        }
    }

    /// Rows `positions` of this vector without copying them: a slice when they stand next to each
    /// other and the vector is not lazy, or as [`Vector::wrap`].
    ///
    /// # Panics
    ///
    /// If a position is not a row.
    pub fn select(&self, positions: &[u32]) -> Vector {
        let is_range = positions.windows(2).all(|it| it[0] + 1 == it[1]);
        match positions.first() {
            None if !self.is_lazy() => self.slice(0, 0),
            Some(first) if is_range && !self.is_lazy() => {
                self.slice(*first as usize, positions.len())
            }
            _ => self.wrap(&positions.to_vec().into(), &mut Composed::new()),
        }
    }

    /// Rows `indices` of this vector, copied into a flat one.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports; strings or elements beyond the layout's 32 bits.
    pub fn gather(&self, indices: &[u32]) -> Result<Vector> {
        let decoded = Decoded::new(self)?;
        let nulls = decoded.nulls().map(|it| gather_nulls(&it, indices));
        let positions: Vec<u32> = match decoded.indices() {
            Indices::Identity => return gather_base(&decoded, indices, nulls),
            Indices::Constant(index) => vec![*index; indices.len()],
            Indices::Codes(codes) => gather_slice(codes, indices),
        };
        gather_base(&decoded, &positions, nulls)
    }

    /// This vector in flat encoding; copies nothing when it is flat already.
    ///
    /// # Errors
    ///
    /// As [`Vector::gather`].
    pub fn flatten(&self) -> Result<Vector> {
        if self.flat_values().is_some() {
            return Ok(self.clone());
        }
        let decoded = Decoded::new(self)?;
        if matches!(decoded.indices(), Indices::Identity) {
            return Ok(decoded.base().clone());
        }
        gather_base(&decoded, &decoded.to_codes(), decoded.nulls())
    }

    /// The rows of all `parts`, one after the other, flat.
    ///
    /// # Errors
    ///
    /// As [`Vector::gather`].
    pub fn concat(data_type: &Type, parts: &[Vector]) -> Result<Vector> {
        Vector::concat_checked(data_type, parts, &|| Ok(()))
    }

    /// As [`Vector::concat`]; `check` is asked between parts whether to continue. For columns that
    /// take long.
    ///
    /// # Errors
    ///
    /// Like [`Vector::gather`], and what `check` says.
    pub fn concat_checked(
        data_type: &Type,
        parts: &[Vector],
        check: &dyn Fn() -> Result<()>,
    ) -> Result<Vector> {
        if let [one] = parts {
            return one.flatten();
        }
        let flat = |it: &Vector| check().and_then(|()| it.flatten());
        let parts = parts.iter().map(flat).collect::<Result<Vec<_>>>()?;
        let len = parts.iter().map(Vector::len).sum();
        let nulls =
            parts.iter().any(|it| it.null_buffer().is_some()).then(|| concat_nulls(&parts, len));
        let values: Vec<&Values> = parts.iter().filter_map(Vector::flat_values).collect();
        let values = concat_values(data_type, &values, len, check)?;
        Ok(Vector::flat(data_type.clone(), values, nulls))
    }
}

impl Batch {
    /// The rows of all `parts`, one after the other, flat. `types`: one per column.
    ///
    /// # Errors
    ///
    /// As [`Vector::gather`].
    pub fn concat(types: &[Type], parts: &[Batch]) -> Result<Batch> {
        let rows = parts.iter().map(Batch::rows).sum();
        let columns = types.iter().enumerate().map(|(index, data_type)| {
            let columns: Vec<_> = parts.iter().map(|it| it.column(index).clone()).collect();
            Vector::concat(data_type, &columns)
        });
        Ok(Batch::new(columns.collect::<Result<Vec<_>>>()?, rows))
    }

    /// Rows `indices`, copied.
    ///
    /// # Errors
    ///
    /// As [`Vector::gather`].
    pub fn gather(&self, indices: &[u32]) -> Result<Batch> {
        let columns = self.columns().iter().map(|it| it.gather(indices));
        Ok(Batch::new(columns.collect::<Result<Vec<_>>>()?, indices.len()))
    }
}

fn gather_slice<T: Copy>(values: &[T], indices: &[u32]) -> Vec<T> {
    let mut gathered = Vec::with_capacity(indices.len());
    gather(values, indices, &mut gathered);
    gathered
}

fn gather_nulls(nulls: &NullBuffer, indices: &[u32]) -> NullBuffer {
    let bits = nulls.inner();
    NullBuffer::new(BooleanBuffer::collect_bool(indices.len(), |row| {
        bits.value(indices[row] as usize)
    }))
}

/// Rows `positions` of the flat base, with the given nulls.
fn gather_base(decoded: &Decoded, positions: &[u32], nulls: Option<NullBuffer>) -> Result<Vector> {
    let values = gather_values(decoded.values(), positions)?;
    Ok(Vector::flat(decoded.data_type().clone(), values, nulls))
}

fn gather_values(values: &Values, positions: &[u32]) -> Result<Values> {
    let len = positions.len();
    Ok(match values {
        Values::Null(_) => Values::Null(len),
        Values::Boolean(bits) => Values::Boolean(BooleanBuffer::collect_bool(len, |row| {
            bits.value(positions[row] as usize)
        })),
        Values::Array(nested) => Values::Array(gather_nested(nested, positions)),
        Values::Map(nested) => Values::Map(gather_nested(nested, positions)),
        Values::FixedArray(arrays) => Values::FixedArray(FixedArrays {
            size: arrays.size,
            len,
            elements: Arc::new(arrays.elements.gather(&arrays.positions(positions)?)?),
        }),
        Values::Object(objects) => {
            let objects = objects.as_slice();
            Values::Object(positions.iter().map(|it| objects[*it as usize].clone()).collect())
        }
        Values::Row { children, .. } => Values::Row {
            children: children.iter().map(|it| it.gather(positions)).collect::<Result<_>>()?,
            len,
        },
        Values::View(strings) => {
            let views = gather_slice(&strings.views, positions);
            Values::View(strings.with_views(views.into()))
        }
        _ => match_width!(values.physical(), T => {
            let from = values.width::<T>().unwrap_or(&[]);
            fixed_values(values, Buffer::from_vec(gather_slice(from, positions)), len)
        }, else return Err(Error::internal("gather of an unknown layout"))),
    })
}

/// Elements of `like`'s type in `buffer`.
pub(crate) fn fixed_values(like: &Values, buffer: Buffer, len: usize) -> Values {
    fn typed<T: ArrowNativeType>(buffer: Buffer, len: usize) -> ScalarBuffer<T> {
        ScalarBuffer::new(buffer, 0, len)
    }
    match like {
        Values::I8(_) => Values::I8(typed(buffer, len)),
        Values::I16(_) => Values::I16(typed(buffer, len)),
        Values::I32(_) => Values::I32(typed(buffer, len)),
        Values::I64(_) => Values::I64(typed(buffer, len)),
        Values::I128(_) => Values::I128(typed(buffer, len)),
        Values::F32(_) => Values::F32(typed(buffer, len)),
        Values::F64(_) => Values::F64(typed(buffer, len)),
        Values::Interval(_) => Values::Interval(typed(buffer, len)),
        other => other.clone(),
    }
}

/// Offsets and sizes move, elements stay.
fn gather_nested(nested: &Nested, positions: &[u32]) -> Nested {
    Nested {
        offsets: gather_slice(&nested.offsets, positions).into(),
        sizes: gather_slice(&nested.sizes, positions).into(),
        elements: Arc::clone(&nested.elements),
    }
}

fn concat_nulls(parts: &[Vector], len: usize) -> NullBuffer {
    let mut bits = arrow_buffer::BooleanBufferBuilder::new(len);
    for part in parts {
        match part.null_buffer() {
            Some(nulls) => bits.append_buffer(nulls.inner()),
            None => bits.append_n(part.len(), true),
        }
    }
    NullBuffer::new(bits.finish())
}

fn concat_values(
    data_type: &Type,
    parts: &[&Values],
    len: usize,
    check: &dyn Fn() -> Result<()>,
) -> Result<Values> {
    let Some(first) = parts.first() else {
        return empty_values(data_type);
    };
    Ok(match first {
        Values::Null(_) => Values::Null(len),
        Values::Boolean(_) => Values::Boolean(concat_bits(parts, len)),
        Values::View(_) => Values::View(concat_strings(parts, len, check)?),
        Values::Array(_) => Values::Array(concat_nested(parts, len, check)?),
        Values::Map(_) => Values::Map(concat_nested(parts, len, check)?),
        Values::FixedArray(arrays) => {
            Values::FixedArray(concat_fixed_arrays(parts, arrays.size, len)?)
        }
        Values::Object(_) => Values::Object(parts.iter().flat_map(|it| objects_of(it)).collect()),
        Values::Row { children, .. } => {
            let concat_child = |index: usize| {
                let children: Vec<_> = parts.iter().filter_map(|it| row_child(it, index)).collect();
                Vector::concat_checked(children[0].data_type(), &children, check)
            };
            let children = (0..children.len()).map(concat_child).collect::<Result<_>>()?;
            Values::Row { children, len }
        }
        _ => match_width!(first.physical(), T => {
            let mut all: Vec<T> = Vec::with_capacity(len);
            for part in parts {
                check()?;
                all.extend_from_slice(part.width::<T>().unwrap_or(&[]));
            }
            fixed_values(first, Buffer::from_vec(all), len)
        }, else return Err(Error::internal("concatenation of an unknown layout"))),
    })
}

fn row_child(values: &Values, index: usize) -> Option<Vector> {
    match values {
        Values::Row { children, .. } => children.get(index).cloned(),
        _ => None,
    }
}

fn concat_bits(parts: &[&Values], len: usize) -> BooleanBuffer {
    let mut bits = arrow_buffer::BooleanBufferBuilder::new(len);
    for part in parts {
        if let Values::Boolean(values) = part {
            bits.append_buffer(values);
        }
    }
    bits.finish()
}

fn concat_strings(
    parts: &[&Values],
    len: usize,
    check: &dyn Fn() -> Result<()>,
) -> Result<StringValues> {
    let mut views: Vec<u128> = Vec::with_capacity(len);
    let mut buffers = BufferList::default();
    for part in parts {
        check()?;
        let Values::View(strings) = part else { continue };
        let renumbered = buffers.add(strings)?;
        views.extend(strings.views.iter().map(|it| renumbered.view(*it)));
    }
    Ok(StringValues::new(views.into(), buffers.finish()))
}

fn concat_nested(parts: &[&Values], len: usize, check: &dyn Fn() -> Result<()>) -> Result<Nested> {
    let (mut offsets, mut sizes) = (Vec::with_capacity(len), Vec::with_capacity(len));
    let mut elements = Vec::with_capacity(parts.len());
    let mut base = 0i32;
    for part in parts {
        check()?;
        let (Values::Array(nested) | Values::Map(nested)) = part else { continue };
        let nested = &compacted(nested)?;
        offsets.extend(nested.offsets.iter().map(|it| it + base));
        sizes.extend_from_slice(&nested.sizes);
        let count =
            i32::try_from(nested.elements.len()).map_err(|_| too_large("array elements"))?;
        base = base.checked_add(count).ok_or_else(|| too_large("array elements"))?;
        elements.push(nested.elements.as_ref().clone());
    }
    let data_type = elements[0].data_type().clone();
    let elements = Arc::new(Vector::concat_checked(&data_type, &elements, check)?);
    Ok(Nested { offsets: offsets.into(), sizes: sizes.into(), elements })
}

/// The same arrays without elements that no row has, when these are many: what is put together and
/// split again and again would grow each time.
fn compacted(nested: &Nested) -> Result<Cow<'_, Nested>> {
    const UNUSED_MIN: usize = 1024;
    let all = nested.elements.len();
    let used: usize = nested.sizes.iter().map(|it| *it as usize).sum();
    if all <= 2 * used + UNUSED_MIN {
        return Ok(Cow::Borrowed(nested));
    }
    let rows = 0..nested.offsets.len();
    let positions: Vec<u32> = rows.flat_map(|row| nested.range(row)).map(|it| it as u32).collect();
    let offsets = nested.sizes.iter().scan(0, |end, size| {
        *end += size;
        Some(*end - size)
    });
    let offsets = offsets.collect::<Vec<i32>>().into();
    let elements = Arc::new(nested.elements.gather(&positions)?);
    Ok(Cow::Owned(Nested { offsets, sizes: nested.sizes.clone(), elements }))
}

fn concat_fixed_arrays(parts: &[&Values], size: usize, len: usize) -> Result<FixedArrays> {
    let elements = parts.iter().filter_map(|it| match it {
        Values::FixedArray(arrays) => Some(arrays.elements.as_ref().clone()),
        _ => None,
    });
    let elements: Vec<Vector> = elements.collect();
    let elements = Arc::new(Vector::concat(elements[0].data_type(), &elements)?);
    Ok(FixedArrays { size, len, elements })
}

fn objects_of(values: &Values) -> Vec<Option<Object>> {
    match values {
        Values::Object(objects) => objects.as_slice().to_vec(),
        _ => Vec::new(),
    }
}

pub(crate) fn empty_values(data_type: &Type) -> Result<Values> {
    let vector = Vector::from_values(data_type.clone(), &[]);
    vector.flat_values().cloned().ok_or_else(|| Error::internal("empty vector is not flat"))
}

pub(crate) fn too_large(what: &str) -> Error {
    Error::new(ErrorKind::OutOfMemory, format!("too many {what} in one vector"))
        .hint("use a smaller batch_rows")
}
