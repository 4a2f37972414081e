//! Reads plain pages: vectors that are views of the page.

use super::{
    ALIGNMENT, BIAS, CONSTANT, DICTIONARY, FLAT, RUN_LENGTH,
    frame::{HEADER_BYTES, Header, aligned, corruption},
    strings::read_strings,
};
use crate::decode::Input;
use std::sync::Arc;
use volley_error::Result;
use volley_kernels::order::max_u32;
use volley_types::{PhysicalType, Type, match_native};
use volley_vector::{
    Batch, BooleanBuffer, Buffer, Deltas, FixedArrays, Nested, NullBuffer, ScalarBuffer, Values,
    Vector,
};

/// The batch of a plain page, whose checksum is right.
pub(super) fn batch(page: &Buffer, header: &Header, types: &[Type]) -> Result<Batch> {
    let page = aligned(page);
    let end = page.len().checked_sub(header.inner_bytes).filter(|it| *it >= HEADER_BYTES);
    let end = end.ok_or_else(|| corruption("a description of another length"))?;
    let (_, description) = page.as_slice().split_at(end);
    let mut reader =
        Reader { page: &page, position: HEADER_BYTES, end, description: Input::new(description) };
    let columns = types.iter().map(|it| reader.node(it, header.rows)).collect::<Result<_>>()?;
    if !reader.description.is_empty() || reader.position != reader.end {
        return Err(corruption("bytes that are not described"));
    }
    Ok(Batch::new(columns, header.rows))
}

/// What is left of a page.
struct Reader<'a> {
    page: &'a Buffer,
    /// The end of the last buffer.
    position: usize,
    /// The end of the buffers.
    end: usize,
    description: Input<'a>,
}

impl Reader<'_> {
    /// The next buffer, of `len` elements of `width` bytes each.
    fn buffer(&mut self, len: usize, width: usize) -> Result<Buffer> {
        let start = self.position.next_multiple_of(ALIGNMENT);
        let end = len.checked_mul(width).and_then(|it| it.checked_add(start));
        match end.filter(|it| *it <= self.end) {
            Some(end) => {
                self.position = end;
                Ok(self.page.slice_with_length(start, end - start))
            }
            None => Err(corruption("a buffer beyond the page")),
        }
    }

    fn bits(&mut self, len: usize) -> Result<BooleanBuffer> {
        Ok(BooleanBuffer::new(self.buffer(len.div_ceil(8), 1)?, 0, len))
    }

    fn numbers(&mut self, len: usize) -> Result<ScalarBuffer<u32>> {
        Ok(ScalarBuffer::new(self.buffer(len, size_of::<u32>())?, 0, len))
    }

    fn integers(&mut self, len: usize) -> Result<ScalarBuffer<i32>> {
        Ok(ScalarBuffer::new(self.buffer(len, size_of::<i32>())?, 0, len))
    }

    /// The encoding and the validity of a node.
    fn head(&mut self, rows: usize) -> Result<(u8, Option<NullBuffer>)> {
        let encoding = self.description.byte()?;
        match self.description.byte()? {
            0 => Ok((encoding, None)),
            1 => Ok((encoding, Some(NullBuffer::new(self.bits(rows)?)))),
            _ => Err(corruption("unknown form of nulls")),
        }
    }

    fn node(&mut self, data_type: &Type, rows: usize) -> Result<Vector> {
        let (encoding, nulls) = self.head(rows)?;
        match encoding {
            FLAT => self.values(data_type, rows, nulls),
            CONSTANT if nulls.is_none() => Ok(Vector::repeat(self.base(data_type, 1)?, rows)),
            DICTIONARY => {
                let base_rows = self.description.u32()? as usize;
                let codes = self.numbers(rows)?;
                if rows > 0 && max_u32(&codes) as usize >= base_rows {
                    return Err(corruption("code beyond the dictionary"));
                }
                let base = Arc::new(self.base(data_type, base_rows)?);
                Ok(Vector::checked_dictionary(codes, base, nulls))
            }
            RUN_LENGTH if nulls.is_none() => {
                let runs = self.description.u32()? as usize;
                let ends = self.numbers(runs)?;
                let last = ends.last().map_or(0, |it| *it as usize);
                if !ends.is_sorted() || last != rows {
                    return Err(corruption("runs of other rows"));
                }
                Ok(Vector::run_length(ends, Arc::new(self.base(data_type, runs)?)))
            }
            BIAS => self.bias(data_type, rows, nulls),
            _ => Err(corruption("unknown encoding")),
        }
    }

    /// A node that must be flat: encodings are not nested, or bytes could nest them without end.
    fn base(&mut self, data_type: &Type, rows: usize) -> Result<Vector> {
        match self.head(rows)? {
            (FLAT, nulls) => self.values(data_type, rows, nulls),
            _ => Err(corruption("an encoding within another one")),
        }
    }

    fn bias(&mut self, data_type: &Type, rows: usize, nulls: Option<NullBuffer>) -> Result<Vector> {
        let width = self.description.byte()?;
        let base = i128::from_le_bytes(self.description.array()?);
        let bytes = usize::from(width);
        let deltas = match width {
            1 => Deltas::U8(ScalarBuffer::new(self.buffer(rows, bytes)?, 0, rows)),
            2 => Deltas::U16(ScalarBuffer::new(self.buffer(rows, bytes)?, 0, rows)),
            4 => Deltas::U32(ScalarBuffer::new(self.buffer(rows, bytes)?, 0, rows)),
            _ => return Err(corruption("differences of another width")),
        };
        let range = match data_type.physical() {
            PhysicalType::I8 => i8::MIN.into()..=i8::MAX.into(),
            PhysicalType::I16 => i16::MIN.into()..=i16::MAX.into(),
            PhysicalType::I32 => i32::MIN.into()..=i32::MAX.into(),
            PhysicalType::I64 => i64::MIN.into()..=i64::MAX.into(),
            PhysicalType::I128 => i128::MIN..=i128::MAX,
            _ => return Err(corruption("differences of values that are no integers")),
        };
        let greatest = base.checked_add(deltas.max().into());
        if !range.contains(&base) || !greatest.is_some_and(|it| range.contains(&it)) {
            return Err(corruption("differences beyond the type"));
        }
        Ok(Vector::bias(data_type.clone(), base, deltas, nulls))
    }

    fn values(
        &mut self,
        data_type: &Type,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<Vector> {
        let values = match data_type.storage() {
            Type::Array(element) => Values::Array(self.nested(element, rows)?),
            map @ Type::Map(_) => Values::Map(self.nested(&map.entry_type(), rows)?),
            Type::FixedArray(array) => {
                let size = array.1 as usize;
                let count =
                    rows.checked_mul(size).ok_or_else(|| corruption("too many elements"))?;
                let elements = Arc::new(self.node(&array.0, count)?);
                Values::FixedArray(FixedArrays { size, len: rows, elements })
            }
            Type::Row(fields) => {
                let children = fields.iter().map(|it| self.node(&it.data_type, rows));
                Values::Row { children: children.collect::<Result<_>>()?, len: rows }
            }
            scalar => self.scalars(scalar, rows)?,
        };
        Ok(Vector::flat(data_type.clone(), values, nulls))
    }

    fn scalars(&mut self, data_type: &Type, rows: usize) -> Result<Values> {
        match data_type.physical() {
            PhysicalType::Null => Ok(Values::Null(rows)),
            PhysicalType::Boolean => Ok(Values::Boolean(self.bits(rows)?)),
            PhysicalType::View => {
                let long_bytes = self.description.u32()? as usize;
                let views = self.buffer(rows, size_of::<u128>())?;
                let long = self.buffer(long_bytes, 1)?;
                Ok(Values::View(read_strings(views, long, *data_type == Type::Varchar)?))
            }
            fixed => {
                let width = match_native!(fixed, T => size_of::<T>(), else 0);
                let bytes = self.buffer(rows, width)?;
                Values::from_fixed_bytes(fixed, bytes)
                    .ok_or_else(|| corruption("values of a type without bytes"))
            }
        }
    }

    fn nested(&mut self, element: &Type, rows: usize) -> Result<Nested> {
        let count = self.description.u32()? as usize;
        let (offsets, sizes) = (self.integers(rows)?, self.integers(rows)?);
        let is_within = |(offset, size): (&i32, &i32)| {
            let end = i64::from(*offset) + i64::from(*size);
            *offset >= 0 && *size >= 0 && end <= count as i64
        };
        if !offsets.iter().zip(sizes.iter()).all(is_within) {
            return Err(corruption("arrays beyond their elements"));
        }
        Ok(Nested { offsets, sizes, elements: Arc::new(self.node(element, count)?) })
    }
}
