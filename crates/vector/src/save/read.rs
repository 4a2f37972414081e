//! Reads vectors. Every length is checked against the remaining bytes before memory is allocated,
//! and vectors are validated as a whole.

use super::{CHECKSUM_BYTES, DEPTH_MAX, HEADER_BYTES, MAGIC, VERSION, checksum, corruption};
use crate::{Batch, Buffer, Deltas, Encoding, NullBuffer, ScalarBuffer, Vector, random::Later};
use arrow_buffer::ArrowNativeType;
use std::sync::Arc;
use volley_error::Result;
use volley_types::{Type, TypeRegistry};

/// Takes the bytes of a file apart.
pub struct Reader<'a> {
    /// What is left of the content.
    rest: &'a [u8],
    types: &'a TypeRegistry,
    depth: usize,
    codes: Vec<ScalarBuffer<u32>>,
    /// With the bytes that looking at them reads.
    bases: Vec<(Arc<Vector>, usize)>,
    /// Bytes that looking at everything so far reads: more than were taken from the file where
    /// bases are shared.
    work: usize,
}

/// Bases that share bases could take exponential time.
const WORK_BYTES_MAX: usize = 1 << 32;

impl<'a> Reader<'a> {
    /// A reader of a file whose content is as `kind` says. `types` knows the custom types.
    ///
    /// # Errors
    ///
    /// Corruption, when the bytes are no such file, of another version, or damaged.
    pub fn new(bytes: &'a [u8], kind: u8, types: &'a TypeRegistry) -> Result<Reader<'a>> {
        let content = bytes.len().checked_sub(CHECKSUM_BYTES).filter(|it| *it >= HEADER_BYTES);
        let (content, sum) = bytes.split_at(content.ok_or_else(|| corruption("too short"))?);
        if !content.starts_with(MAGIC) {
            return Err(corruption("another kind of file"));
        }
        if content[MAGIC.len()..HEADER_BYTES - 1] != VERSION.to_le_bytes() {
            return Err(corruption("saved by another version"));
        }
        if sum != checksum(content).to_le_bytes() {
            return Err(corruption("checksum differs"));
        }
        if content[HEADER_BYTES - 1] != kind {
            return Err(corruption("another content"));
        }
        let rest = &content[HEADER_BYTES..];
        Ok(Reader { rest, types, depth: 0, codes: Vec::new(), bases: Vec::new(), work: 0 })
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    ///
    /// Corruption, when something is.
    pub fn finish(self) -> Result<()> {
        if self.rest.is_empty() { Ok(()) } else { Err(corruption("bytes after the end")) }
    }

    /// The types that custom ones are looked up in.
    pub(super) fn types(&self) -> &'a TypeRegistry {
        self.types
    }

    /// Reads what `f` does, one level further down.
    ///
    /// # Errors
    ///
    /// Corruption, when there are more than [`DEPTH_MAX`] levels; what `f` reports.
    pub fn nested<T>(&mut self, f: impl FnOnce(&mut Reader<'a>) -> Result<T>) -> Result<T> {
        if self.depth == DEPTH_MAX {
            return Err(corruption("too many levels"));
        }
        self.depth += 1;
        let outcome = f(self);
        self.depth -= 1;
        outcome
    }

    /// `len` bytes.
    ///
    /// # Errors
    ///
    /// Corruption, when there are fewer.
    pub fn raw(&mut self, len: usize) -> Result<&'a [u8]> {
        let (taken, rest) =
            self.rest.split_at_checked(len).ok_or_else(|| corruption("too short"))?;
        self.rest = rest;
        self.work += len;
        Ok(taken)
    }

    /// As many bytes as the array has.
    ///
    /// # Errors
    ///
    /// As [`Reader::raw`].
    pub fn fixed<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.raw(N)?);
        Ok(bytes)
    }

    /// One byte.
    ///
    /// # Errors
    ///
    /// As [`Reader::raw`].
    pub fn byte(&mut self) -> Result<u8> {
        Ok(self.raw(1)?[0])
    }

    /// A number of 8 bytes.
    ///
    /// # Errors
    ///
    /// As [`Reader::raw`].
    pub fn number(&mut self) -> Result<usize> {
        usize::try_from(u64::from_le_bytes(self.fixed()?))
            .map_err(|_| corruption("number too large"))
    }

    /// The number of things that follow, each of at least one byte.
    ///
    /// # Errors
    ///
    /// As [`Reader::raw`]; corruption, when there cannot be as many.
    pub fn count(&mut self) -> Result<usize> {
        let count = self.number()?;
        if count > self.rest.len() { Err(corruption("too short")) } else { Ok(count) }
    }

    /// A text.
    ///
    /// # Errors
    ///
    /// As [`Reader::raw`]; corruption, when it is not UTF-8.
    pub fn text(&mut self) -> Result<&'a str> {
        let len = self.number()?;
        std::str::from_utf8(self.raw(len)?).map_err(|_| corruption("text that is not UTF-8"))
    }

    /// `len` elements of fixed width.
    pub(super) fn elements<T: ArrowNativeType>(&mut self, len: usize) -> Result<ScalarBuffer<T>> {
        let bytes = len.checked_mul(size_of::<T>()).ok_or_else(|| corruption("too short"))?;
        Ok(ScalarBuffer::new(Buffer::from(self.raw(bytes)?), 0, len))
    }

    /// A batch.
    ///
    /// # Errors
    ///
    /// As [`Reader::vector`].
    pub fn batch(&mut self) -> Result<Batch> {
        let rows = self.number()?;
        let count = self.count()?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let column = self.vector()?;
            if column.len() != rows {
                return Err(corruption("column of another length"));
            }
            columns.push(column);
        }
        Ok(Batch::new(columns, rows))
    }

    /// A vector, valid in all its parts.
    ///
    /// # Errors
    ///
    /// Corruption; invalid query, for unknown types.
    pub fn vector(&mut self) -> Result<Vector> {
        let vector = self.unchecked_vector()?;
        vector.validate().map_err(|it| corruption(it.message()))?;
        Ok(vector)
    }

    /// A vector whose parts may not fit each other.
    pub(super) fn unchecked_vector(&mut self) -> Result<Vector> {
        self.nested(|it| {
            let data_type = it.data_type()?;
            let len = it.number()?;
            if u32::try_from(len).is_err() {
                return Err(corruption("more than 2^32 rows"));
            }
            let (nulls, encoding) = it.encoding(&data_type, len)?;
            Ok(Vector::unchecked(data_type, len, nulls, encoding))
        })
    }

    fn encoding(&mut self, data_type: &Type, len: usize) -> Result<(Option<NullBuffer>, Encoding)> {
        Ok(match self.byte()? {
            0 => {
                let nulls = self.nulls(len)?;
                (nulls, Encoding::Flat(self.values(data_type, len)?))
            }
            1 => (None, Encoding::Constant(self.base()?)),
            2 => {
                let nulls = self.nulls(len)?;
                let codes = match self.number()?.checked_sub(1) {
                    None => {
                        let codes = self.elements(len)?;
                        self.codes.push(codes.clone());
                        codes
                    }
                    Some(number) => {
                        let known = self.codes.get(number).cloned();
                        known.ok_or_else(|| corruption("codes that were not saved"))?
                    }
                };
                (nulls, Encoding::Dictionary { codes, base: self.base()? })
            }
            3 => {
                let runs = self.number()?;
                let ends = self.elements(runs)?;
                (None, Encoding::RunLength { ends, base: self.base()? })
            }
            4 => {
                let nulls = self.nulls(len)?;
                let base = self.fixed()?;
                let deltas = match self.byte()? {
                    1 => Deltas::U8(self.elements(len)?),
                    2 => Deltas::U16(self.elements(len)?),
                    4 => Deltas::U32(self.elements(len)?),
                    8 => Deltas::U64(self.elements(len)?),
                    _ => return Err(corruption("deltas of another width")),
                };
                (nulls, Encoding::Bias { base: i128::from_le_bytes(base), deltas })
            }
            5 => {
                let loaded = self.vector()?;
                if loaded.is_lazy() || loaded.len() != len || loaded.data_type() != data_type {
                    return Err(corruption("lazy vector of other values"));
                }
                let lazy = Vector::lazy(data_type.clone(), len, Box::new(Later(loaded)));
                (None, lazy.into_encoding().1)
            }
            _ => return Err(corruption("unknown encoding")),
        })
    }

    fn base(&mut self) -> Result<Arc<Vector>> {
        if let Some(number) = self.number()?.checked_sub(1) {
            let known = self.bases.get(number).cloned();
            let (base, work) = known.ok_or_else(|| corruption("base that was not saved"))?;
            self.work = self.work.saturating_add(work);
            return match self.work <= WORK_BYTES_MAX {
                true => Ok(base),
                false => Err(corruption("bases that share too much")),
            };
        }
        let before = self.work;
        let base = Arc::new(self.unchecked_vector()?);
        self.bases.push((Arc::clone(&base), self.work - before));
        Ok(base)
    }

    fn nulls(&mut self, len: usize) -> Result<Option<NullBuffer>> {
        Ok(match self.byte()? {
            0 => None,
            1 => Some(NullBuffer::new(self.bits(len)?)),
            _ => return Err(corruption("unknown null bitmap")),
        })
    }
}
