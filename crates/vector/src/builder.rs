//! Building vectors.

use crate::{INLINE_BYTES, StringValues, StringView, Vector};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};
use std::{mem::MaybeUninit, ops::Range};
use volley_error::Result;
use volley_types::{Type, Value};

/// Data buffers are closed at this size, so that offsets fit 32 bits and growth copies little.
const BUFFER_BYTES: usize = 1 << 20;

/// Rows of a part made of single values before it is closed.
const VALUES_MAX: usize = 1024;

/// Collects rows of other vectors, and single values, into one flat vector.
///
/// Keeps references to what it is given until it is finished: rows are copied once.
#[derive(Debug)]
pub struct VectorBuilder {
    data_type: Type,
    parts: Vec<Vector>,
    /// Single values since the last part.
    values: Vec<Value>,
    len: usize,
}

impl VectorBuilder {
    /// A builder of a vector of `data_type`.
    pub fn new(data_type: Type) -> VectorBuilder {
        VectorBuilder { data_type, parts: Vec::new(), values: Vec::new(), len: 0 }
    }

    /// The number of rows so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `rows` of `source`.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    ///
    /// # Panics
    ///
    /// If the types differ, or the rows are not within the source.
    pub fn append(&mut self, source: &Vector, rows: Range<usize>) -> Result<()> {
        assert_eq!(*source.data_type(), self.data_type, "type of appended rows");
        self.close();
        self.len += rows.len();
        self.parts.push(source.loaded()?.slice(rows.start, rows.len()));
        Ok(())
    }

    /// Appends one value.
    ///
    /// # Panics
    ///
    /// If it is not of the type; at the latest in [`VectorBuilder::finish`].
    pub fn append_value(&mut self, value: Value) {
        self.len += 1;
        self.values.push(value);
        if self.values.len() == VALUES_MAX {
            self.close();
        }
    }

    /// Appends null rows.
    pub fn append_nulls(&mut self, rows: usize) {
        self.close();
        self.len += rows;
        self.parts.push(Vector::nulls(self.data_type.clone(), rows));
    }

    /// The rows as one vector.
    ///
    /// # Errors
    ///
    /// Strings or elements beyond the layout's 32 bits.
    pub fn finish(mut self) -> Result<Vector> {
        self.close();
        Vector::concat(&self.data_type, &self.parts)
    }

    fn close(&mut self) {
        if !self.values.is_empty() {
            self.parts.push(Vector::from_values(self.data_type.clone(), &self.values));
            self.values.clear();
        }
    }
}

/// Collects strings into views and data buffers.
#[derive(Debug, Default)]
pub struct StringBuilder {
    views: Vec<u128>,
    closed: Vec<Buffer>,
    open: Vec<u8>,
    /// Where the string that is being written begins in `open`.
    begun: usize,
}

impl StringBuilder {
    /// A builder with room for `rows` views.
    pub fn with_capacity(rows: usize) -> StringBuilder {
        StringBuilder { views: Vec::with_capacity(rows), ..StringBuilder::default() }
    }

    /// The number of strings so far.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Appends one string.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        let view = self.store(bytes);
        self.views.push(view);
    }

    /// Appends one of other strings; returns the bytes that were copied next to its view.
    #[inline]
    pub fn push_from(&mut self, strings: &StringValues, index: usize) -> usize {
        let view = strings.views[index];
        if StringView::len_of(view) <= INLINE_BYTES {
            self.views.push(view);
            return 0;
        }
        let bytes = strings.bytes(index);
        self.push(bytes);
        bytes.len()
    }

    /// Appends an empty string (also for null rows).
    #[inline]
    pub fn push_empty(&mut self) {
        self.views.push(0);
    }

    /// Stores a string without appending it to the rows; its view is valid in the result.
    pub fn store(&mut self, bytes: &[u8]) -> u128 {
        if bytes.len() <= INLINE_BYTES {
            return StringView::inline(bytes);
        }
        if self.open.len() + bytes.len() > BUFFER_BYTES.max(self.open.capacity()) {
            self.close();
        }
        if self.open.capacity() == 0 {
            self.open.reserve(bytes.len().max(BUFFER_BYTES.min(self.views.capacity() * 16 + 64)));
        }
        let offset = self.open.len() as u32;
        self.open.extend_from_slice(bytes);
        self.begun = self.open.len();
        StringView::new(bytes, self.closed.len() as u32, offset)
    }

    /// Appends to the string that is being written piece by piece; [`StringBuilder::end`] ends it.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        self.open.extend_from_slice(bytes);
    }

    /// Appends mapped bytes to the string that is being written; to map a byte twice must be the
    /// same as once.
    #[inline]
    pub fn write_mapped(&mut self, bytes: &[u8], map: impl Fn(u8) -> u8) {
        const CHUNK: usize = 16;
        let start = self.open.len();
        self.open.extend_from_slice(bytes);
        let written = &mut self.open[start..];
        let (chunks, rest) = written.as_chunks_mut::<CHUNK>();
        chunks.iter_mut().for_each(|chunk| *chunk = chunk.map(&map));
        if rest.is_empty() {
            return;
        }
        // The last chunk again, up to the end: no loop over single bytes.
        match written.last_chunk_mut::<CHUNK>() {
            Some(chunk) => *chunk = chunk.map(&map),
            None => written.iter_mut().for_each(|it| *it = map(*it)),
        }
    }

    /// Appends single bytes to the string that is being written.
    #[inline]
    pub fn write_each(&mut self, bytes: impl Iterator<Item = u8>) {
        self.open.extend(bytes);
    }

    /// Gives room back that no string has taken.
    pub fn shrink_to_fit(&mut self) {
        self.open.shrink_to_fit();
    }

    /// Bytes that are allocated.
    pub fn retained_bytes(&self) -> usize {
        let closed: usize = self.closed.iter().map(Buffer::capacity).sum();
        self.views.capacity() * size_of::<u128>() + closed + self.open.capacity()
    }

    /// Makes room for `bytes` more bytes of the string that is being written.
    pub fn reserve(&mut self, bytes: usize) {
        self.open.reserve(bytes);
    }

    /// How many more bytes can be written before memory is allocated.
    #[inline(always)]
    pub fn room(&self) -> usize {
        self.open.capacity() - self.open.len()
    }

    /// What strings are written to, to make room there; its bytes must stay.
    pub fn open(&mut self) -> &mut Vec<u8> {
        &mut self.open
    }

    /// Bytes of the string that is being written.
    #[inline]
    pub fn written(&self) -> usize {
        self.open.len() - self.begun
    }

    /// Ends the string that is being written; the view is valid in the result.
    #[inline]
    pub fn end(&mut self) -> u128 {
        let bytes = &self.open[self.begun..];
        if bytes.len() <= INLINE_BYTES {
            let view = StringView::inline(bytes);
            self.open.truncate(self.begun);
            return view;
        }
        let view = StringView::new(bytes, self.closed.len() as u32, self.begun as u32);
        self.begun = self.open.len();
        if self.begun >= BUFFER_BYTES {
            self.close();
        }
        view
    }

    /// Forgets the string that is being written.
    pub fn abandon(&mut self) {
        self.open.truncate(self.begun);
    }

    /// The strings.
    pub fn finish(mut self) -> StringValues {
        self.close();
        StringValues::new(self.views.into(), self.closed.into())
    }

    /// The data buffers, for views that the caller placed itself (see [`StringBuilder::store`]).
    pub fn finish_with_views(mut self, views: Vec<u128>) -> StringValues {
        self.close();
        StringValues::new(views.into(), self.closed.into())
    }

    fn close(&mut self) {
        if !self.open.is_empty() {
            self.closed.push(Buffer::from_vec(std::mem::take(&mut self.open)));
            self.begun = 0;
        }
    }
}

impl<'a> FromIterator<&'a str> for StringValues {
    fn from_iter<I: IntoIterator<Item = &'a str>>(strings: I) -> StringValues {
        let mut builder = StringBuilder::default();
        strings.into_iter().for_each(|it| builder.push(it.as_bytes()));
        builder.finish()
    }
}

/// The values of `f` for `0..len`.
#[inline(always)]
pub fn collect_native<T: Copy>(len: usize, f: impl Fn(usize) -> T) -> Vec<T> {
    collect_checked(len, move |row| (f(row), false)).0
}

/// The values of `f` for `0..len`, and whether it said of any that it is invalid.
#[inline(always)]
pub fn collect_checked<T: Copy>(len: usize, f: impl Fn(usize) -> (T, bool)) -> (Vec<T>, bool) {
    let mut values = Vec::with_capacity(len);
    let mut any_invalid = false;
    for (row, slot) in values.spare_capacity_mut()[..len].iter_mut().enumerate() {
        let (value, is_invalid) = f(row);
        slot.write(value);
        any_invalid |= is_invalid;
    }
    // SAFETY: the loop wrote all `len` slots.
    unsafe { values.set_len(len) };
    (values, any_invalid)
}

/// The values of `f` for `0..len`; `None` when one is missing.
#[inline(always)]
pub fn collect_all<T: Copy>(len: usize, f: impl Fn(usize) -> Option<T>) -> Option<Vec<T>> {
    let mut values = Vec::with_capacity(len);
    let mut has_all = true;
    for (row, slot) in values.spare_capacity_mut()[..len].iter_mut().enumerate() {
        let value = f(row);
        has_all &= value.is_some();
        // Anything will do where there is none: no branch is needed.
        *slot = value.map_or(MaybeUninit::uninit(), MaybeUninit::new);
    }
    if !has_all {
        return None;
    }
    // SAFETY: no value was missing, so each of the `len` slots holds one.
    unsafe { values.set_len(len) };
    Some(values)
}

/// The values of `f` for `0..len`, and where there are none; the default stands there.
#[inline(always)]
pub fn collect_nullable<T: Copy + Default>(
    len: usize,
    f: impl Fn(usize) -> Option<T>,
) -> (Vec<T>, Option<NullBuffer>) {
    let mut values = Vec::with_capacity(len);
    let mut valid = Vec::with_capacity(len.div_ceil(64));
    for start in (0..len).step_by(64) {
        let mut word = 0u64;
        values.extend((start..len.min(start + 64)).map(|row| {
            let value = f(row);
            word |= u64::from(value.is_some()) << (row - start);
            value.unwrap_or_default()
        }));
        valid.push(word);
    }
    let nulls = NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(valid), 0, len));
    (values, (nulls.null_count() > 0).then_some(nulls))
}
