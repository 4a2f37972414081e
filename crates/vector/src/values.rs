//! The elements of a flat vector.

use crate::{
    FixedArrays, INLINE_BYTES, Objects, StringView, Vector, contiguous_strings::contiguous_strings,
};
use arrow_buffer::{BooleanBuffer, Buffer, ScalarBuffer};
use std::{
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};
use volley_kernels::text::is_ascii;
use volley_types::{Interval, Native, PhysicalType, match_native};

/// The elements of a flat vector, by physical layout. Elements of null rows are unspecified but
/// safe to read: views are valid, offsets and sizes lie within the elements.
#[derive(Clone, Debug)]
pub enum Values {
    /// No storage: this many nulls.
    Null(usize),
    /// One bit per value.
    Boolean(BooleanBuffer),
    /// TINYINT.
    I8(ScalarBuffer<i8>),
    /// SMALLINT.
    I16(ScalarBuffer<i16>),
    /// INTEGER, DATE.
    I32(ScalarBuffer<i32>),
    /// BIGINT, TIME, TIMESTAMP, short DECIMAL.
    I64(ScalarBuffer<i64>),
    /// HUGEINT, long DECIMAL.
    I128(ScalarBuffer<i128>),
    /// REAL.
    F32(ScalarBuffer<f32>),
    /// DOUBLE.
    F64(ScalarBuffer<f64>),
    /// INTERVAL.
    Interval(ScalarBuffer<Interval>),
    /// VARCHAR, VARBINARY.
    View(StringValues),
    /// ARRAY: `elements` is one vector.
    Array(Nested),
    /// ARRAY of a fixed size.
    FixedArray(FixedArrays),
    /// MAP: `elements` is a ROW(key, value) vector.
    Map(Nested),
    /// ROW: one vector per field, all of the same length.
    Row {
        /// The fields.
        children: Arc<[Vector]>,
        /// Rows, also when there is no field.
        len: usize,
    },
    /// Opaque types.
    Object(Objects),
}

/// Strings: 16-byte views and the buffers they point into (Arrow's `Utf8View` layout).
#[derive(Clone, Debug)]
pub struct StringValues {
    /// One [`StringView`] per row, as its 16 bytes.
    pub views: ScalarBuffer<u128>,
    /// What views of more than 12 bytes point into.
    pub buffers: Arc<[Buffer]>,
    /// What is known of the text, shared by all clones.
    ascii: Arc<AtomicU8>,
}

/// Not checked whether all text is ASCII.
const ASCII_UNKNOWN: u8 = 0;
/// All text is ASCII.
const ASCII: u8 = 1;
/// Some byte is not ASCII.
const NOT_ASCII: u8 = 2;

/// Offsets and sizes into an element vector (Arrow's list-view layout): elements may overlap and
/// are in any order.
#[derive(Clone, Debug)]
pub struct Nested {
    /// First element of each row.
    pub offsets: ScalarBuffer<i32>,
    /// Number of elements of each row.
    pub sizes: ScalarBuffer<i32>,
    /// The elements of all rows.
    pub elements: Arc<Vector>,
}

impl StringValues {
    /// Strings of views that point into `buffers`.
    pub fn new(views: ScalarBuffer<u128>, buffers: Arc<[Buffer]>) -> StringValues {
        StringValues { views, buffers, ascii: Arc::new(AtomicU8::new(ASCII_UNKNOWN)) }
    }

    /// The same strings, which the caller knows to be ASCII.
    pub fn known_ascii(self) -> StringValues {
        StringValues { ascii: Arc::new(AtomicU8::new(ASCII)), ..self }
    }

    /// The number of strings.
    pub fn len(&self) -> usize {
        self.views.len()
    }

    /// Whether there are no strings.
    pub fn is_empty(&self) -> bool {
        self.views.is_empty()
    }

    /// Others of these strings, or parts of them.
    pub fn with_views(&self, views: ScalarBuffer<u128>) -> StringValues {
        let strings = StringValues::new(views, Arc::clone(&self.buffers));
        if self.knows_ascii() == Some(true) { strings.known_ascii() } else { strings }
    }

    /// Whether all strings are ASCII, if that was checked before.
    pub fn knows_ascii(&self) -> Option<bool> {
        match self.ascii.load(Ordering::Relaxed) {
            ASCII_UNKNOWN => None,
            known => Some(known == ASCII),
        }
    }

    /// Whether all strings are ASCII, those of null rows included. The answer is kept.
    pub fn is_ascii(&self) -> bool {
        if let Some(known) = self.knows_ascii() {
            return known;
        }
        let is_ascii = self.find_ascii();
        self.ascii.store(if is_ascii { ASCII } else { NOT_ASCII }, Ordering::Relaxed);
        is_ascii
    }

    /// The bytes of `row`.
    #[inline]
    pub fn bytes(&self, row: usize) -> &[u8] {
        StringView::bytes_of(&self.views[row], &self.buffers)
    }

    /// The text of `row`. VARCHAR vectors hold valid UTF-8: readers and functions check it.
    #[inline]
    pub fn text(&self, row: usize) -> &str {
        StringView::text_of(&self.views[row], &self.buffers)
    }

    /// All views at once first: short strings, and the first bytes of long ones.
    fn find_ascii(&self) -> bool {
        /// Long strings are inspected in portions, so that a bad one ends the search soon.
        const PORTION: usize = 1024;
        const LONG_HIGH_BITS: u128 = 0x80808080 << 32;
        const SHORT_HIGH_BITS: u128 = 0x80808080_80808080_80808080 << 32;
        self.views.chunks(PORTION).all(|views| {
            let is_long = |view: u128| StringView::len_of(view) > INLINE_BYTES;
            let high_bits = |view| if is_long(view) { LONG_HIGH_BITS } else { SHORT_HIGH_BITS };
            let any_high = views.iter().fold(0, |any, view| any | view & high_bits(*view));
            let mut long = views.iter().filter(|it| is_long(**it));
            // The bytes between strings are arbitrary.
            any_high == 0
                && (contiguous_strings(views, &self.buffers).all(|it| is_ascii(it.bytes))
                    || long.all(|it| StringView::bytes_of(it, &self.buffers).is_ascii()))
        })
    }
}

impl Values {
    /// Wraps a buffer of fixed-width elements. `u128` becomes views without data buffers.
    pub fn from_native<T: Native>(values: ScalarBuffer<T>) -> Values {
        let len = values.len();
        let buffer = values.into_inner();
        match T::PHYSICAL {
            PhysicalType::I8 => Values::I8(ScalarBuffer::new(buffer, 0, len)),
            PhysicalType::I16 => Values::I16(ScalarBuffer::new(buffer, 0, len)),
            PhysicalType::I32 => Values::I32(ScalarBuffer::new(buffer, 0, len)),
            PhysicalType::I64 => Values::I64(ScalarBuffer::new(buffer, 0, len)),
            PhysicalType::I128 => Values::I128(ScalarBuffer::new(buffer, 0, len)),
            PhysicalType::F32 => Values::F32(ScalarBuffer::new(buffer, 0, len)),
            PhysicalType::F64 => Values::F64(ScalarBuffer::new(buffer, 0, len)),
            PhysicalType::Interval => Values::Interval(ScalarBuffer::new(buffer, 0, len)),
            _ => {
                let views = ScalarBuffer::new(buffer, 0, len);
                Values::View(StringValues::new(views, Arc::new([])))
            }
        }
    }

    /// The layout.
    pub fn physical(&self) -> PhysicalType {
        match self {
            Values::Null(_) => PhysicalType::Null,
            Values::Boolean(_) => PhysicalType::Boolean,
            Values::I8(_) => PhysicalType::I8,
            Values::I16(_) => PhysicalType::I16,
            Values::I32(_) => PhysicalType::I32,
            Values::I64(_) => PhysicalType::I64,
            Values::I128(_) => PhysicalType::I128,
            Values::F32(_) => PhysicalType::F32,
            Values::F64(_) => PhysicalType::F64,
            Values::Interval(_) => PhysicalType::Interval,
            Values::View(_) => PhysicalType::View,
            Values::Array(_) => PhysicalType::Array,
            Values::FixedArray(_) => PhysicalType::FixedArray,
            Values::Map(_) => PhysicalType::Map,
            Values::Row { .. } => PhysicalType::Row,
            Values::Object(_) => PhysicalType::Opaque,
        }
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Values::Null(len) | Values::Row { len, .. } => *len,
            Values::Boolean(values) => values.len(),
            Values::I8(values) => values.len(),
            Values::I16(values) => values.len(),
            Values::I32(values) => values.len(),
            Values::I64(values) => values.len(),
            Values::I128(values) => values.len(),
            Values::F32(values) => values.len(),
            Values::F64(values) => values.len(),
            Values::Interval(values) => values.len(),
            Values::View(values) => values.views.len(),
            Values::Array(nested) | Values::Map(nested) => nested.offsets.len(),
            Values::FixedArray(arrays) => arrays.len,
            Values::Object(objects) => objects.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements as a slice of `T`, when `T` is their type (`u128`: string views).
    pub fn native<T: Native>(&self) -> Option<&[T]> {
        if T::PHYSICAL != self.physical() {
            return None;
        }
        let (buffer, len) = (self.fixed_buffer()?, self.len());
        Some(&buffer.typed_data::<T>()[..len])
    }

    /// The elements as unsigned integers of the same width, when `T` is as wide as they are.
    pub fn width<T: arrow_buffer::ArrowNativeType>(&self) -> Option<&[T]> {
        let buffer = self.fixed_buffer()?;
        let len = self.len();
        if len * size_of::<T>() != buffer.len() {
            return None;
        }
        Some(buffer.typed_data::<T>())
    }

    /// The buffer of fixed-width elements (views for strings), exactly as long as the rows need.
    pub fn fixed_buffer(&self) -> Option<&Buffer> {
        Some(match self {
            Values::I8(values) => values.inner(),
            Values::I16(values) => values.inner(),
            Values::I32(values) => values.inner(),
            Values::I64(values) => values.inner(),
            Values::I128(values) => values.inner(),
            Values::F32(values) => values.inner(),
            Values::F64(values) => values.inner(),
            Values::Interval(values) => values.inner(),
            Values::View(values) => values.views.inner(),
            _ => return None,
        })
    }

    /// The elements as bytes, when they are of fixed width and no strings.
    pub fn fixed_bytes(&self) -> Option<&[u8]> {
        let width = match_native!(self.physical(), T => size_of::<T>(), else return None);
        self.fixed_buffer().map(|it| &it.as_slice()[..self.len() * width])
    }

    /// Elements of a fixed-width layout from their bytes; `None` for other layouts and strings.
    pub fn from_fixed_bytes(physical: PhysicalType, bytes: Buffer) -> Option<Values> {
        match_native!(physical, T => {
            let len = bytes.len() / size_of::<T>();
            Some(Values::from_native::<T>(ScalarBuffer::new(bytes, 0, len)))
        }, else None)
    }

    /// The rows from `offset` on, `len` of them, sharing storage.
    pub fn slice(&self, offset: usize, len: usize) -> Values {
        match self {
            Values::Null(_) => Values::Null(len),
            Values::Boolean(values) => Values::Boolean(values.slice(offset, len)),
            Values::I8(values) => Values::I8(values.slice(offset, len)),
            Values::I16(values) => Values::I16(values.slice(offset, len)),
            Values::I32(values) => Values::I32(values.slice(offset, len)),
            Values::I64(values) => Values::I64(values.slice(offset, len)),
            Values::I128(values) => Values::I128(values.slice(offset, len)),
            Values::F32(values) => Values::F32(values.slice(offset, len)),
            Values::F64(values) => Values::F64(values.slice(offset, len)),
            Values::Interval(values) => Values::Interval(values.slice(offset, len)),
            Values::View(values) => {
                Values::View(values.with_views(values.views.slice(offset, len)))
            }
            Values::Array(nested) => Values::Array(nested.slice(offset, len)),
            Values::FixedArray(arrays) => Values::FixedArray(arrays.slice(offset, len)),
            Values::Map(nested) => Values::Map(nested.slice(offset, len)),
            Values::Object(objects) => Values::Object(objects.slice(offset, len)),
            Values::Row { children, .. } => Values::Row {
                children: children.iter().map(|it| it.slice(offset, len)).collect(),
                len,
            },
        }
    }

    /// Bytes of memory kept alive.
    pub fn retained_bytes(&self) -> usize {
        match self {
            Values::Null(_) => 0,
            Values::Boolean(values) => values.inner().len(),
            Values::View(values) => {
                values.views.inner().len() + values.buffers.iter().map(Buffer::len).sum::<usize>()
            }
            Values::Array(nested) | Values::Map(nested) => {
                nested.offsets.inner().len() * 2 + nested.elements.retained_bytes()
            }
            Values::FixedArray(arrays) => arrays.elements.retained_bytes(),
            Values::Row { children, .. } => children.iter().map(Vector::retained_bytes).sum(),
            Values::Object(objects) => objects.retained_bytes(),
            _ => self.fixed_buffer().map_or(0, Buffer::len),
        }
    }
}

impl Nested {
    /// The elements of `row`, as a range.
    #[inline]
    pub fn range(&self, row: usize) -> Range<usize> {
        let start = self.offsets[row] as usize;
        start..start + self.sizes[row] as usize
    }

    fn slice(&self, offset: usize, len: usize) -> Nested {
        Nested {
            offsets: self.offsets.slice(offset, len),
            sizes: self.sizes.slice(offset, len),
            elements: Arc::clone(&self.elements),
        }
    }
}

/// Bytes as elements of `T`.
///
/// # Panics
///
/// If they are not aligned, or the last element is not whole.
pub fn native_slice<T: Native>(bytes: &[u8]) -> &[T] {
    let len = elements_of::<T>(bytes);
    // SAFETY: `len` elements fit the bytes, the first of them is aligned, and every pattern of bits
    // is a value of a native type.
    unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), len) }
}

/// Bytes as elements of `T`, to write.
///
/// # Panics
///
/// As [`native_slice`].
pub fn native_slice_mut<T: Native>(bytes: &mut [u8]) -> &mut [T] {
    let len = elements_of::<T>(bytes);
    // SAFETY: as in `native_slice`; and every pattern of bits is one of bytes.
    unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), len) }
}

/// The number of elements of `T` in `bytes`.
fn elements_of<T: Native>(bytes: &[u8]) -> usize {
    let is_whole =
        bytes.as_ptr().cast::<T>().is_aligned() && bytes.len().is_multiple_of(size_of::<T>());
    assert!(is_whole, "whole, aligned elements");
    bytes.len() / size_of::<T>()
}
