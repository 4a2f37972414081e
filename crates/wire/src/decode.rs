//! Decodes batches. Every length is checked against the remaining bytes before memory is allocated.

use crate::{
    CONSTANT, DICTIONARY, FLAT,
    integers::{integer_width, read_integers},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_kernels::{order::max_u32, text::is_ascii};
use volley_types::{PhysicalType, Type, match_native};
use volley_vector::{
    Batch, BooleanBuffer, Buffer, FixedArrays, INLINE_BYTES, Nested, NullBuffer, StringValues,
    StringView, Values, Vector,
};

/// The batch of columns of `types` whose bytes [`crate::encode`] or [`crate::Encoder`] wrote.
///
/// # Errors
///
/// Corruption: other bytes. Unsupported: opaque types.
pub fn decode(bytes: &[u8], types: &[Type]) -> Result<Batch> {
    let mut input = Input::new(bytes);
    let rows = input.u32()? as usize;
    let columns = types.iter().map(|it| input.column(it, rows)).collect::<Result<_>>()?;
    if !input.rest.is_empty() {
        return Err(corruption("bytes after the end"));
    }
    Ok(Batch::new(columns, rows))
}

/// What is left of the bytes.
pub(crate) struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { rest: bytes }
    }

    pub(crate) fn raw(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(len).ok_or_else(too_short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// The bytes of `len` elements of `width` bytes each.
    pub(crate) fn elements(&mut self, len: usize, width: usize) -> Result<&'a [u8]> {
        self.raw(len.checked_mul(width).ok_or_else(too_short)?)
    }

    /// Whether everything was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// What was not read.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(too_short)?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[it]| it)
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn i32(&mut self) -> Result<i32> {
        self.array().map(i32::from_le_bytes)
    }

    fn numbers(&mut self, len: usize) -> Result<Vec<u32>> {
        match self.byte()? {
            1 => Ok(self.raw(len)?.iter().map(|it| u32::from(*it)).collect()),
            2 => self.words(len, |it| u32::from(u16::from_le_bytes(it))),
            4 => self.words(len, u32::from_le_bytes),
            _ => Err(corruption("numbers of another width")),
        }
    }

    fn words<const N: usize>(
        &mut self,
        len: usize,
        number: impl Fn([u8; N]) -> u32,
    ) -> Result<Vec<u32>> {
        let bytes = self.elements(len, N)?;
        Ok(bytes.as_chunks::<N>().0.iter().map(|it| number(*it)).collect())
    }

    fn bits(&mut self, len: usize) -> Result<BooleanBuffer> {
        Ok(BooleanBuffer::new(Buffer::from(self.raw(len.div_ceil(8))?), 0, len))
    }

    fn nulls(&mut self, len: usize) -> Result<Option<NullBuffer>> {
        match self.byte()? {
            0 => Ok(None),
            1 => Ok(Some(NullBuffer::new(self.bits(len)?))),
            _ => Err(corruption("unknown form of nulls")),
        }
    }

    fn column(&mut self, data_type: &Type, rows: usize) -> Result<Vector> {
        match self.byte()? {
            FLAT => self.body(data_type, rows),
            CONSTANT => Ok(Vector::repeat(self.body(data_type, 1)?, rows)),
            DICTIONARY => {
                let base_rows = self.u32()? as usize;
                let codes = self.numbers(rows)?;
                if rows > 0 && max_u32(&codes) as usize >= base_rows {
                    return Err(corruption("code beyond the dictionary"));
                }
                let nulls = self.nulls(rows)?;
                let base = Arc::new(self.body(data_type, base_rows)?);
                Ok(Vector::checked_dictionary(codes.into(), base, nulls))
            }
            _ => Err(corruption("unknown form of a column")),
        }
    }

    fn body(&mut self, data_type: &Type, len: usize) -> Result<Vector> {
        let nulls = self.nulls(len)?;
        let values = match data_type.storage() {
            Type::Array(element) => Values::Array(self.nested(element, len)?),
            map @ Type::Map(_) => Values::Map(self.nested(&map.entry_type(), len)?),
            Type::FixedArray(array) => {
                let size = array.1 as usize;
                let count = len.checked_mul(size).ok_or_else(too_short)?;
                let elements = Arc::new(self.body(&array.0, count)?);
                Values::FixedArray(FixedArrays { size, len, elements })
            }
            Type::Row(fields) => {
                let children = fields.iter().map(|it| self.body(&it.data_type, len));
                Values::Row { children: children.collect::<Result<_>>()?, len }
            }
            scalar => self.scalars(scalar, len)?,
        };
        Ok(Vector::flat(data_type.clone(), values, nulls))
    }

    fn nested(&mut self, element: &Type, len: usize) -> Result<Nested> {
        let sizes = self.numbers(len)?;
        let (mut offsets, mut end) = (Vec::with_capacity(len), 0u64);
        for size in &sizes {
            offsets.push(end as i32);
            end += u64::from(*size);
        }
        // Then every offset and every size is one, too.
        let count = i32::try_from(end).map_err(|_| corruption("2^31 elements"))?;
        let sizes: Vec<i32> = sizes.into_iter().map(|it| it as i32).collect();
        let elements = Arc::new(self.body(element, count as usize)?);
        Ok(Nested { offsets: offsets.into(), sizes: sizes.into(), elements })
    }

    fn scalars(&mut self, data_type: &Type, len: usize) -> Result<Values> {
        match data_type.physical() {
            PhysicalType::Null => Ok(Values::Null(len)),
            PhysicalType::Boolean => Ok(Values::Boolean(self.bits(len)?)),
            PhysicalType::View => self.strings(*data_type == Type::Varchar, len),
            fixed => {
                let bytes = match integer_width(fixed) {
                    Some(width) => read_integers(width, len, self)?,
                    None => {
                        let width = match_native!(fixed, T => size_of::<T>(), else 0);
                        Buffer::from(self.elements(len, width)?)
                    }
                };
                Values::from_fixed_bytes(fixed, bytes)
                    .ok_or_else(|| Error::unsupported("values of opaque types as bytes"))
            }
        }
    }

    fn strings(&mut self, is_text: bool, len: usize) -> Result<Values> {
        let lengths = self.numbers(len)?;
        let (mut short_bytes, mut long_bytes) = (0u64, 0u64);
        for len in &lengths {
            let is_short = *len as usize <= INLINE_BYTES;
            short_bytes += if is_short { u64::from(*len) } else { 0 };
            long_bytes += if is_short { 0 } else { u64::from(*len) };
        }
        let long_bytes = u32::try_from(long_bytes).map_err(|_| corruption("4 GiB of text"))?;
        let short = self.raw(usize::try_from(short_bytes).map_err(|_| too_short())?)?;
        let long = self.raw(long_bytes as usize)?;
        let all_ascii = is_text && is_ascii(short) && is_ascii(long);
        if is_text && !all_ascii {
            check_text(&lengths, short, long)?;
        }
        let views = views(&lengths, short, long);
        let buffers: Arc<[Buffer]> =
            if long.is_empty() { [].into() } else { [Buffer::from(long)].into() };
        let strings = StringValues::new(views.into(), buffers);
        Ok(Values::View(if all_ascii { strings.known_ascii() } else { strings }))
    }
}

/// Views of strings, the long ones in buffer 0. The lengths are those of `short` and `long`.
fn views(lengths: &[u32], mut short: &[u8], long: &[u8]) -> Vec<u128> {
    let (mut views, mut offset) = (Vec::with_capacity(lengths.len()), 0);
    for len in lengths {
        let len = *len as usize;
        if len > INLINE_BYTES {
            views.push(StringView::new(&long[offset..offset + len], 0, offset as u32));
            offset += len;
            continue;
        }
        views.push(match short.first_chunk::<INLINE_BYTES>() {
            // The bytes of further strings are masked away.
            Some(bytes) => {
                let mut view = [0; 16];
                view[4..].copy_from_slice(bytes);
                let mask = u128::MAX >> (8 * (INLINE_BYTES - len));
                u128::from_le_bytes(view) & mask | len as u128
            }
            None => StringView::inline(&short[..len]),
        });
        short = &short[len..];
    }
    views
}

/// Checks that each string is UTF-8: all together are, and none begins within a character.
fn check_text(lengths: &[u32], short: &[u8], long: &[u8]) -> Result<()> {
    let text = |it| simdutf8::basic::from_utf8(it).map_err(|_| not_utf8());
    let texts = [text(short)?, text(long)?];
    let mut offsets = [0, 0];
    for len in lengths {
        let which = usize::from(*len as usize > INLINE_BYTES);
        if !texts[which].is_char_boundary(offsets[which]) {
            return Err(not_utf8());
        }
        offsets[which] += *len as usize;
    }
    Ok(())
}

pub(crate) fn corruption(what: &str) -> Error {
    Error::corruption(format!("bytes that are no batch: {what}"))
}

#[cold]
fn too_short() -> Error {
    corruption("too short")
}

#[cold]
fn not_utf8() -> Error {
    corruption("text that is not UTF-8")
}
