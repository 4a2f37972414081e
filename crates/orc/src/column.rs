//! Reads the rows of a column of a stripe, nested ones included.
//!
//! ```text
//! PRESENT   which rows are not null, if some are; only those are stored
//! values    by type: see `ValueReader`
//! ```
//!
//! Fields of a struct store values for the rows where the struct is not null; so a reader is told
//! which rows its parent has. Elements of lists are read in full for the rows that are read, and
//! made for those that are wanted.

use crate::{
    byte_rle::{BitRle, ByteRle},
    decimal::{Decimal64Reader, DecimalReader},
    error::{corrupt, out_of_range},
    integer_rle::IntegerRle,
    layout::Layout,
    row_index::StripeIndexes,
    stream::{ByteStream, Positions},
    text::{DictionaryReader, DirectReader, total_of},
    timestamp::TimestampReader,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_memory::Reservation;
use volley_types::{PhysicalType, Type};
use volley_vector::{Nested, Values, Vector};

/// Bytes of memory for an element of a list while it is read.
const ELEMENT_BYTES: usize = 16;

/// A column of a stripe, read forward.
pub(crate) struct ColumnReader {
    /// Its position among the types of the file.
    pub column: usize,
    pub data_type: Type,
    pub present: Option<BitRle>,
    pub values: ValueReader,
}

/// How values are read.
pub(crate) enum ValueReader {
    /// DATA: bits.
    Boolean(BitRle),
    /// DATA: bytes in runs.
    Byte(ByteRle, Vec<u8>),
    /// DATA: integers in runs.
    Integer(IntegerRle, Vec<i64>),
    /// DATA: 4 bytes each, little-endian.
    Float(ByteStream),
    /// DATA: 8 bytes each, little-endian.
    Double(ByteStream),
    Direct(DirectReader),
    Dictionary(DictionaryReader),
    Timestamp(TimestampReader),
    Decimal(DecimalReader),
    Decimal64(Decimal64Reader),
    List(ListReader),
    Struct(Vec<ColumnReader>),
    /// DATA: bytes in runs, which child each row is of.
    Union(ByteRle, Vec<ColumnReader>),
    /// The file has no such field.
    Missing,
}

/// A list, or a map, which is a list of entries.
pub(crate) struct ListReader {
    pub lengths: IntegerRle,
    pub buffer: Vec<i64>,
    /// The element, or key and value.
    pub children: Vec<ColumnReader>,
    /// Charged with the elements of the current rows.
    pub reservation: Reservation,
}

impl ColumnReader {
    /// Reads the next `rows` rows: those at `selection` (ascending; `None`: all). `parent`: which
    /// of them the parent has; the others are null.
    pub fn read(
        &mut self,
        rows: usize,
        parent: Option<&BooleanBuffer>,
        selection: Option<&[u32]>,
    ) -> Result<Vector> {
        if matches!(self.values, ValueReader::Missing) {
            let len = selection.map_or(rows, <[u32]>::len);
            return Ok(Vector::nulls(self.data_type.clone(), len));
        }
        let valid = self.valid(rows, parent)?;
        match &mut self.values {
            ValueReader::Struct(children) => {
                let read = |it: &mut ColumnReader| it.read(rows, valid.as_ref(), selection);
                let children = children.iter_mut().map(read).collect::<Result<Vec<_>>>()?;
                let layout = Layout::new(rows, valid.as_ref(), selection);
                Ok(row_vector(&self.data_type, children, &layout))
            }
            ValueReader::Union(tags, children) => {
                let layout = Layout::new(rows, valid.as_ref(), selection);
                let mut union = Union { tags, children, rows, valid: valid.as_ref(), selection };
                let children = union.read(layout.stored)?;
                Ok(row_vector(&self.data_type, children, &layout))
            }
            values => {
                let layout = Layout::new(rows, valid.as_ref(), selection);
                values.read(&self.data_type, &layout)
            }
        }
    }

    /// Which of the next rows are not null; `None`: all.
    fn valid(
        &mut self,
        rows: usize,
        parent: Option<&BooleanBuffer>,
    ) -> Result<Option<BooleanBuffer>> {
        let Some(present) = &mut self.present else { return Ok(parent.cloned()) };
        let Some(parent) = parent else {
            let bits = present.read(rows)?;
            return Ok(Some(bits).filter(|it| it.count_set_bits() < rows));
        };
        let bits = present.read(parent.count_set_bits())?;
        let (mut valid, mut bits) = (BooleanBufferBuilder::new(rows), bits.iter());
        for has_parent in parent {
            valid.append(has_parent && bits.next().unwrap_or(false));
        }
        Ok(Some(valid.finish()))
    }

    /// Passes over `rows` rows that the parent has.
    pub fn skip(&mut self, rows: usize) -> Result<()> {
        if rows == 0 || matches!(self.values, ValueReader::Missing) {
            return Ok(());
        }
        let stored = match &mut self.present {
            Some(present) => present.count(rows)?,
            None => rows,
        };
        self.values.skip(stored)
    }

    /// Goes to the beginning of a row group, if the index of every column is there.
    pub fn seek(&mut self, group: usize, indexes: &StripeIndexes) -> Result<()> {
        if matches!(self.values, ValueReader::Missing) {
            return Ok(());
        }
        let positions = indexes.positions(self.column, group);
        let positions = positions.ok_or_else(|| Error::internal("column without an index"))?;
        let mut positions = Positions(positions);
        if let Some(present) = &mut self.present {
            present.seek(&mut positions)?;
        }
        self.values.seek(&mut positions)?;
        self.children_mut().iter_mut().try_for_each(|it| it.seek(group, indexes))
    }

    /// The columns that must have an index for [`ColumnReader::seek`].
    pub fn can_seek(&self, indexes: &StripeIndexes, group: usize) -> bool {
        matches!(self.values, ValueReader::Missing)
            || (indexes.positions(self.column, group).is_some()
                && self.children().iter().all(|it| it.can_seek(indexes, group)))
    }

    fn children(&self) -> &[ColumnReader] {
        match &self.values {
            ValueReader::List(list) => &list.children,
            ValueReader::Struct(children) | ValueReader::Union(_, children) => children,
            _ => &[],
        }
    }

    fn children_mut(&mut self) -> &mut [ColumnReader] {
        match &mut self.values {
            ValueReader::List(list) => &mut list.children,
            ValueReader::Struct(children) | ValueReader::Union(_, children) => children,
            _ => &mut [],
        }
    }

    /// Bytes that its streams have read from the file themselves.
    pub fn bytes_read(&self) -> u64 {
        let own = self.present.as_ref().map_or(0, BitRle::bytes_read) + self.values.bytes_read();
        own + self.children().iter().map(ColumnReader::bytes_read).sum::<u64>()
    }
}

impl ValueReader {
    fn read(&mut self, data_type: &Type, layout: &Layout) -> Result<Vector> {
        let nulls = layout.nulls.clone();
        let flat = |values| Ok(Vector::flat(data_type.clone(), values, nulls.clone()));
        match self {
            ValueReader::Boolean(bits) => {
                let stored = bits.read(layout.stored)?;
                let values = match &layout.places {
                    None => stored,
                    Some(places) => BooleanBuffer::collect_bool(places.len(), |row| {
                        let place = places.get(row).map_or(usize::MAX, |it| *it as usize);
                        place < stored.len() && stored.value(place)
                    }),
                };
                flat(Values::Boolean(values))
            }
            ValueReader::Byte(bytes, buffer) => {
                buffer.clear();
                bytes.append_to(layout.stored, buffer)?;
                flat(Values::I8(layout.gather(buffer, |it| it as i8).into()))
            }
            ValueReader::Integer(integers, buffer) => {
                integers.read(layout.stored, buffer)?;
                flat(integers_of(buffer, data_type.physical(), layout)?)
            }
            ValueReader::Float(stream) => {
                let mut bytes = Vec::new();
                stream.append_to(layout.stored.saturating_mul(4), &mut bytes)?;
                let (stored, _) = bytes.as_chunks::<4>();
                flat(Values::F32(layout.gather(stored, f32::from_le_bytes).into()))
            }
            ValueReader::Double(stream) => {
                let mut bytes = Vec::new();
                stream.append_to(layout.stored.saturating_mul(8), &mut bytes)?;
                let (stored, _) = bytes.as_chunks::<8>();
                flat(Values::F64(layout.gather(stored, f64::from_le_bytes).into()))
            }
            ValueReader::Direct(reader) => reader.read(data_type, layout),
            ValueReader::Dictionary(reader) => reader.read(data_type, layout),
            ValueReader::Timestamp(reader) => reader.read(data_type, layout),
            ValueReader::Decimal(reader) => reader.read(data_type, layout),
            ValueReader::Decimal64(reader) => reader.read(data_type, layout),
            ValueReader::List(reader) => reader.read(data_type, layout),
            ValueReader::Struct(_) | ValueReader::Union(..) | ValueReader::Missing => {
                Err(Error::internal("values without a stream"))
            }
        }
    }

    /// Passes over `count` values.
    fn skip(&mut self, count: usize) -> Result<()> {
        match self {
            ValueReader::Boolean(bits) => bits.skip(count),
            ValueReader::Byte(bytes, _) => bytes.skip(count),
            ValueReader::Integer(integers, _) => integers.skip(count),
            ValueReader::Float(stream) => stream.skip((count as u64).saturating_mul(4)),
            ValueReader::Double(stream) => stream.skip((count as u64).saturating_mul(8)),
            ValueReader::Direct(reader) => reader.skip(count),
            ValueReader::Dictionary(reader) => reader.skip(count),
            ValueReader::Timestamp(reader) => reader.skip(count),
            ValueReader::Decimal(reader) => reader.skip(count),
            ValueReader::Decimal64(reader) => reader.values.skip(count),
            ValueReader::List(reader) => reader.skip(count),
            ValueReader::Struct(children) => children.iter_mut().try_for_each(|it| it.skip(count)),
            ValueReader::Union(tags, children) => {
                let tags = read_tags(tags, count, children.len())?;
                let skip = |(tag, child): (usize, &mut ColumnReader)| {
                    child.skip(tags.iter().filter(|it| usize::from(**it) == tag).count())
                };
                children.iter_mut().enumerate().try_for_each(skip)
            }
            ValueReader::Missing => Ok(()),
        }
    }

    /// Goes to a position of a row index; children have their own.
    fn seek(&mut self, positions: &mut Positions) -> Result<()> {
        match self {
            ValueReader::Boolean(bits) => bits.seek(positions),
            ValueReader::Byte(bytes, _) | ValueReader::Union(bytes, _) => bytes.seek(positions),
            ValueReader::Integer(integers, _) => integers.seek(positions),
            ValueReader::Float(stream) | ValueReader::Double(stream) => stream.seek(positions),
            ValueReader::Direct(reader) => reader.seek(positions),
            ValueReader::Dictionary(reader) => reader.codes.seek(positions),
            ValueReader::Timestamp(reader) => reader.seek(positions),
            ValueReader::Decimal(reader) => reader.seek(positions),
            ValueReader::Decimal64(reader) => reader.values.seek(positions),
            ValueReader::List(reader) => reader.lengths.seek(positions),
            ValueReader::Struct(_) | ValueReader::Missing => Ok(()),
        }
    }

    fn bytes_read(&self) -> u64 {
        match self {
            ValueReader::Boolean(bits) => bits.bytes_read(),
            ValueReader::Byte(bytes, _) | ValueReader::Union(bytes, _) => bytes.bytes_read(),
            ValueReader::Integer(integers, _) => integers.bytes_read(),
            ValueReader::Float(stream) | ValueReader::Double(stream) => stream.bytes_read(),
            ValueReader::Direct(reader) => reader.bytes_read(),
            ValueReader::Dictionary(reader) => reader.bytes_read(),
            ValueReader::Timestamp(reader) => {
                reader.seconds.bytes_read() + reader.nanos.bytes_read()
            }
            ValueReader::Decimal(reader) => reader.values.bytes_read() + reader.scales.bytes_read(),
            ValueReader::Decimal64(reader) => reader.values.bytes_read(),
            ValueReader::List(reader) => reader.lengths.bytes_read(),
            ValueReader::Struct(_) | ValueReader::Missing => 0,
        }
    }
}

/// Integers in the layout of their type.
fn integers_of(stored: &mut Vec<i64>, physical: PhysicalType, layout: &Layout) -> Result<Values> {
    fn narrow<T: Copy + Default + TryFrom<i64>>(stored: &[i64], layout: &Layout) -> Result<Vec<T>> {
        layout.gather_checked(stored, |it| T::try_from(it).ok()).ok_or_else(out_of_range)
    }
    Ok(match physical {
        PhysicalType::I16 => Values::I16(narrow::<i16>(stored, layout)?.into()),
        PhysicalType::I32 => Values::I32(narrow::<i32>(stored, layout)?.into()),
        _ if layout.places.is_none() => Values::I64(std::mem::take(stored).into()),
        _ => Values::I64(layout.gather(stored, |it| it).into()),
    })
}

fn row_vector(data_type: &Type, children: Vec<Vector>, layout: &Layout) -> Vector {
    let values = Values::Row { children: children.into(), len: layout.len };
    Vector::flat(data_type.clone(), values, layout.nulls.clone())
}

/// A union whose rows are being read.
struct Union<'a> {
    tags: &'a mut ByteRle,
    children: &'a mut [ColumnReader],
    rows: usize,
    valid: Option<&'a BooleanBuffer>,
    selection: Option<&'a [u32]>,
}

impl Union<'_> {
    /// The tags and the children; `stored` rows are not null.
    fn read(&mut self, stored: usize) -> Result<Vec<Vector>> {
        let tags = read_tags(self.tags, stored, self.children.len())?;
        let all = Layout::new(self.rows, self.valid, None);
        let by_row = all.gather(&tags, |it| it as i8);
        let valid = |row: usize| self.valid.is_none_or(|it| it.value(row));
        let mut vectors = Vec::with_capacity(self.children.len() + 1);
        let layout = Layout::new(self.rows, self.valid, self.selection);
        let tag_values = Values::I8(layout.gather(&tags, |it| it as i8).into());
        vectors.push(Vector::flat(Type::TinyInt, tag_values, layout.nulls.clone()));
        for (tag, child) in self.children.iter_mut().enumerate() {
            let has_tag = |row: usize| {
                valid(row) && by_row.get(row).is_some_and(|it| *it as u8 as usize == tag)
            };
            let mask = BooleanBuffer::collect_bool(self.rows, has_tag);
            vectors.push(child.read(self.rows, Some(&mask), self.selection)?);
        }
        Ok(vectors)
    }
}

fn read_tags(tags: &mut ByteRle, count: usize, children: usize) -> Result<Vec<u8>> {
    let mut read = Vec::new();
    tags.append_to(count, &mut read)?;
    if read.iter().any(|it| usize::from(*it) >= children) {
        return Err(corrupt("union with a tag beyond its types"));
    }
    Ok(read)
}

impl ListReader {
    fn read(&mut self, data_type: &Type, layout: &Layout) -> Result<Vector> {
        self.lengths.read(layout.stored, &mut self.buffer)?;
        let total = self.total()?;
        self.reservation.resize(total.saturating_mul(ELEMENT_BYTES))?;
        // The rows whose elements are made: all that are stored, or some.
        let is_all = layout.len >= layout.stored;
        let selection = if is_all { None } else { Some(self.selected(layout)) };
        let (offsets, sizes) = match is_all {
            true => self.bounds_of_all(layout),
            false => self.bounds_of_selected(layout),
        };
        let mut children = Vec::with_capacity(self.children.len());
        for child in &mut self.children {
            children.push(child.read(total, None, selection.as_deref())?);
        }
        let nested = |elements: Vector| Nested {
            offsets: offsets.into(),
            sizes: sizes.into(),
            elements: Arc::new(elements),
        };
        let len = selection.map_or(total, |it| it.len());
        let values = match (data_type, children.len()) {
            (Type::Map(_), _) => {
                let entries = Values::Row { children: children.into(), len };
                Values::Map(nested(Vector::flat(data_type.entry_type(), entries, None)))
            }
            (_, 1) => {
                let element = children.pop();
                Values::Array(nested(element.ok_or_else(|| Error::internal("list of nothing"))?))
            }
            _ => return Err(Error::internal("list of several columns")),
        };
        Ok(Vector::flat(data_type.clone(), values, layout.nulls.clone()))
    }

    /// The number of elements of the rows in the buffer.
    fn total(&self) -> Result<usize> {
        let total = total_of(&self.buffer)?;
        match i32::try_from(total) {
            Ok(_) => Ok(total),
            Err(_) => Err(corrupt(format!("lists of {total} elements in one batch"))),
        }
    }

    /// The positions of the elements of the rows that are wanted.
    fn selected(&self, layout: &Layout) -> Vec<u32> {
        let (mut selected, mut next, mut start) = (Vec::new(), 0, 0);
        let lengths = &self.buffer;
        let length = |place: usize| lengths.get(place).map_or(0, |it| *it as u32);
        layout.for_each(|_, place| {
            while next < place {
                start += length(next);
                next += 1;
            }
            let end = start + length(place);
            selected.extend(start..end);
            (next, start) = (place + 1, end);
        });
        selected
    }

    /// Offsets and sizes where all elements are made.
    fn bounds_of_all(&self, layout: &Layout) -> (Vec<i32>, Vec<i32>) {
        let mut start = 0;
        let bounds = self.buffer.iter().map(|len| {
            let begin = start;
            start += *len as i32;
            (begin, *len as i32)
        });
        let bounds: Vec<(i32, i32)> = bounds.collect();
        (layout.gather(&bounds, |it| it.0), layout.gather(&bounds, |it| it.1))
    }

    /// Offsets and sizes where the elements of the wanted rows are made alone.
    fn bounds_of_selected(&self, layout: &Layout) -> (Vec<i32>, Vec<i32>) {
        let sizes = layout.gather(&self.buffer, |it| it as i32);
        let mut start = 0;
        let offset = |size: &i32| {
            let begin = start;
            start += *size;
            begin
        };
        (sizes.iter().map(offset).collect(), sizes)
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        self.lengths.read(count, &mut self.buffer)?;
        let total = total_of(&self.buffer)?;
        self.children.iter_mut().try_for_each(|it| it.skip(total))
    }
}
