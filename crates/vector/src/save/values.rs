//! The elements of flat vectors.

use super::{Reader, Writer, corruption};
use crate::{
    BooleanBuffer, Buffer, FixedArrays, INLINE_BYTES, Nested, StringValues, StringView, Values,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{Interval, PhysicalType, Type};

impl Writer {
    pub(super) fn bits(&mut self, bits: &BooleanBuffer) {
        // Copied from the first bit of a byte on.
        let aligned = BooleanBuffer::collect_bool(bits.len(), |row| bits.value(row));
        self.raw(&aligned.inner().as_slice()[..bits.len().div_ceil(8)]);
    }

    pub(super) fn values(&mut self, values: &Values) -> Result<()> {
        match values {
            Values::Null(_) => Ok(()),
            Values::Boolean(bits) => {
                self.bits(bits);
                Ok(())
            }
            Values::View(strings) => {
                self.strings(strings);
                Ok(())
            }
            Values::Array(nested) | Values::Map(nested) => {
                self.raw(nested.offsets.inner().as_slice());
                self.raw(nested.sizes.inner().as_slice());
                self.vector(&nested.elements)
            }
            Values::FixedArray(arrays) => self.vector(&arrays.elements),
            Values::Row { children, .. } => children.iter().try_for_each(|it| self.vector(it)),
            Values::Object(_) => Err(Error::unsupported("values of opaque types cannot be saved")),
            fixed => {
                self.raw(fixed.fixed_buffer().map_or(&[], |it| it.as_slice()));
                Ok(())
            }
        }
    }

    /// The length of each string, and the bytes of all.
    fn strings(&mut self, strings: &StringValues) {
        for view in &strings.views {
            self.raw(&(StringView::len_of(*view) as u32).to_le_bytes());
        }
        for row in 0..strings.views.len() {
            self.raw(strings.bytes(row));
        }
    }
}

impl Reader<'_> {
    pub(super) fn bits(&mut self, len: usize) -> Result<BooleanBuffer> {
        Ok(BooleanBuffer::new(Buffer::from(self.raw(len.div_ceil(8))?), 0, len))
    }

    pub(super) fn values(&mut self, data_type: &Type, len: usize) -> Result<Values> {
        Ok(match data_type.physical() {
            PhysicalType::Null => Values::Null(len),
            PhysicalType::Boolean => Values::Boolean(self.bits(len)?),
            PhysicalType::I8 => Values::I8(self.elements(len)?),
            PhysicalType::I16 => Values::I16(self.elements(len)?),
            PhysicalType::I32 => Values::I32(self.elements(len)?),
            PhysicalType::I64 => Values::I64(self.elements(len)?),
            PhysicalType::I128 => Values::I128(self.elements(len)?),
            PhysicalType::F32 => Values::F32(self.elements(len)?),
            PhysicalType::F64 => Values::F64(self.elements(len)?),
            PhysicalType::Interval => Values::Interval(self.elements::<Interval>(len)?),
            PhysicalType::View => Values::View(self.strings(len)?),
            PhysicalType::Array => Values::Array(self.lists(len)?),
            PhysicalType::Map => Values::Map(self.lists(len)?),
            PhysicalType::FixedArray => {
                let Type::FixedArray(array) = data_type else {
                    return Err(corruption("arrays of another type"));
                };
                let elements = Arc::new(self.unchecked_vector()?);
                Values::FixedArray(FixedArrays { size: array.1 as usize, len, elements })
            }
            PhysicalType::Row => {
                let Type::Row(fields) = data_type else {
                    return Err(corruption("rows of another type"));
                };
                let children = fields.iter().map(|_| self.unchecked_vector());
                Values::Row { children: children.collect::<Result<_>>()?, len }
            }
            PhysicalType::Opaque => return Err(corruption("objects")),
        })
    }

    fn lists(&mut self, len: usize) -> Result<Nested> {
        let (offsets, sizes) = (self.elements(len)?, self.elements(len)?);
        Ok(Nested { offsets, sizes, elements: Arc::new(self.unchecked_vector()?) })
    }

    fn strings(&mut self, len: usize) -> Result<StringValues> {
        let lengths = self.elements::<u32>(len)?;
        let total: u64 = lengths.iter().map(|it| u64::from(*it)).sum();
        let total = u32::try_from(total).map_err(|_| corruption("more than 4 GiB of text"))?;
        let bytes = self.raw(total as usize)?;
        let mut offset = 0usize;
        let views = lengths.iter().map(|len| {
            let string = &bytes[offset..offset + *len as usize];
            let view = match string.len() <= INLINE_BYTES {
                true => StringView::inline(string),
                false => StringView::new(string, 0, offset as u32),
            };
            offset += string.len();
            view
        });
        let views = views.collect();
        Ok(StringValues::new(views, [Buffer::from(bytes)].into()))
    }
}
