//! The plain twin of the page sink: writes row by row.
//!
//! Each lane has a typed writer per column with reserved buffers. A row is written column by column
//! to the writers of its lane; no call is virtual and, for scalars, nothing is allocated per row.

use super::{LaneBatch, PageSizes, lane_column::other_layout};
use crate::partition::{LaneFunction, Partitioning};
use arrow_buffer::ArrowNativeType;
use volley_error::{Error, Result};
use volley_types::{PhysicalType, Type};
use volley_vector::{
    Batch, BooleanBuffer, Buffer, Decoded, INLINE_BYTES, NullBuffer, StringValues, StringView,
    Values, Vector,
};
use volley_wire::flat_bytes;

/// Rows for which a writer reserves memory at first, at most.
const ROWS_RESERVED_MAX: usize = 1 << 14;

/// Splits batches into lanes row by row.
pub struct RowSink {
    types: Vec<Type>,
    lanes: LaneFunction,
    sizes: PageSizes,
    writers: Vec<LaneWriter>,
    targets: Vec<u32>,
}

struct LaneWriter {
    columns: Vec<ColumnWriter>,
    rows: usize,
    bytes: usize,
}

struct ColumnWriter {
    valid: Vec<u8>,
    has_nulls: bool,
    values: Written,
}

enum Written {
    Words8(Vec<u8>),
    Words16(Vec<u16>),
    Words32(Vec<u32>),
    Words64(Vec<u64>),
    Words128(Vec<u128>),
    Bits(Vec<u8>),
    Strings { views: Vec<u128>, long: Vec<u8> },
    Rows(Vec<Vector>),
}

/// A column of the input, by type.
struct Source<'a> {
    decoded: &'a Decoded<'a>,
    vector: &'a Vector,
    nulls: Option<NullBuffer>,
    values: SourceValues<'a>,
}

enum SourceValues<'a> {
    Words8(&'a [u8]),
    Words16(&'a [u16]),
    Words32(&'a [u32]),
    Words64(&'a [u64]),
    Words128(&'a [u128]),
    Bits(&'a BooleanBuffer),
    Strings(&'a StringValues),
    Rows,
}

impl RowSink {
    /// A sink of columns of `types` over `lanes` lanes.
    pub fn new(
        types: Vec<Type>,
        partitioning: Partitioning,
        lanes: usize,
        sizes: PageSizes,
    ) -> RowSink {
        let lanes = LaneFunction::new(partitioning, lanes);
        RowSink { types, lanes, sizes, writers: Vec::new(), targets: Vec::new() }
    }

    /// Writes the rows of a batch; `emit` takes lanes that became full.
    ///
    /// # Errors
    ///
    /// What a loader or `emit` reports; elements beyond the layout's 32 bits.
    pub fn push(
        &mut self,
        batch: &Batch,
        emit: &mut dyn FnMut(LaneBatch) -> Result<()>,
    ) -> Result<()> {
        let batch = batch.clone().loaded()?;
        if batch.rows() == 0 {
            return Ok(());
        }
        let page_bytes = self.page_bytes();
        let row_bytes = (flat_bytes(&batch)? / batch.rows()).max(1);
        if self.writers.is_empty() {
            let rows = (page_bytes / row_bytes + 1).min(ROWS_RESERVED_MAX);
            let writer = || LaneWriter::new(&self.types, rows);
            self.writers = std::iter::repeat_with(writer).take(self.lanes.lanes()).collect();
        }
        self.targets.clear();
        self.lanes.append(&batch, &mut self.targets)?;
        let decoded = batch.columns().iter().map(Decoded::new).collect::<Result<Vec<_>>>()?;
        let sources = batch.columns().iter().zip(&decoded).map(|(it, of)| Source::new(it, of));
        let sources = sources.collect::<Result<Vec<_>>>()?;
        let lanes = self.lanes.lanes();
        for row in 0..batch.rows() {
            let targets = match self.lanes.is_replicated() {
                true => 0..lanes,
                false => self.targets[row] as usize..self.targets[row] as usize + 1,
            };
            for lane in targets {
                let writer = &mut self.writers[lane];
                for (column, source) in writer.columns.iter_mut().zip(&sources) {
                    column.write(source, row)?;
                }
                writer.rows += 1;
                writer.bytes += row_bytes;
                if writer.bytes >= page_bytes {
                    emit(writer.take(lane, &self.types)?)?;
                }
            }
        }
        Ok(())
    }

    /// Emits what is left.
    ///
    /// # Errors
    ///
    /// As [`RowSink::push`].
    pub fn finish(&mut self, emit: &mut dyn FnMut(LaneBatch) -> Result<()>) -> Result<()> {
        for (lane, writer) in self.writers.iter_mut().enumerate() {
            if writer.rows > 0 {
                emit(writer.take(lane, &self.types)?)?;
            }
        }
        Ok(())
    }

    /// Bytes of a page: lanes share the bytes of the sink.
    fn page_bytes(&self) -> usize {
        self.sizes.page_bytes.min(self.sizes.sink_bytes / self.lanes.lanes()).max(1)
    }
}

impl LaneWriter {
    fn new(types: &[Type], rows: usize) -> LaneWriter {
        let columns = types.iter().map(|it| ColumnWriter::new(it, rows)).collect();
        LaneWriter { columns, rows: 0, bytes: 0 }
    }

    fn take(&mut self, lane: usize, types: &[Type]) -> Result<LaneBatch> {
        let (rows, bytes) = (self.rows, self.bytes);
        let columns = self.columns.iter_mut().zip(types).map(|(it, of)| it.take(of));
        let batch = Batch::new(columns.collect::<Result<_>>()?, rows);
        (self.rows, self.bytes) = (0, 0);
        Ok(LaneBatch { lane, batch, bytes })
    }
}

impl ColumnWriter {
    fn new(data_type: &Type, rows: usize) -> ColumnWriter {
        let values = match data_type.physical() {
            PhysicalType::Boolean => Written::Bits(Vec::with_capacity(rows)),
            PhysicalType::I8 => Written::Words8(Vec::with_capacity(rows)),
            PhysicalType::I16 => Written::Words16(Vec::with_capacity(rows)),
            PhysicalType::I32 | PhysicalType::F32 => Written::Words32(Vec::with_capacity(rows)),
            PhysicalType::I64 | PhysicalType::F64 => Written::Words64(Vec::with_capacity(rows)),
            PhysicalType::I128 | PhysicalType::Interval => {
                Written::Words128(Vec::with_capacity(rows))
            }
            PhysicalType::View => {
                let (views, long) = (Vec::with_capacity(rows), Vec::with_capacity(rows * 16));
                Written::Strings { views, long }
            }
            _ => Written::Rows(Vec::new()),
        };
        ColumnWriter { valid: Vec::with_capacity(rows), has_nulls: false, values }
    }

    #[inline]
    fn write(&mut self, source: &Source<'_>, row: usize) -> Result<()> {
        if source.nulls.as_ref().is_some_and(|it| it.is_null(row)) {
            self.has_nulls = true;
            self.valid.push(0);
            self.write_null(source, row);
            return Ok(());
        }
        self.valid.push(1);
        let at = source.decoded.index(row);
        match (&mut self.values, &source.values) {
            (Written::Words8(out), SourceValues::Words8(values)) => out.push(values[at]),
            (Written::Words16(out), SourceValues::Words16(values)) => out.push(values[at]),
            (Written::Words32(out), SourceValues::Words32(values)) => out.push(values[at]),
            (Written::Words64(out), SourceValues::Words64(values)) => out.push(values[at]),
            (Written::Words128(out), SourceValues::Words128(values)) => out.push(values[at]),
            (Written::Bits(out), SourceValues::Bits(bits)) => out.push(bits.value(at).into()),
            (Written::Strings { views, long }, SourceValues::Strings(strings)) => {
                let bytes = strings.bytes(at);
                let offset = long.len() as u32;
                views.push(StringView::new(bytes, 0, offset));
                if bytes.len() > INLINE_BYTES {
                    long.extend_from_slice(bytes);
                }
            }
            (Written::Rows(out), SourceValues::Rows) => out.push(source.vector.slice(row, 1)),
            _ => return Err(other_layout()),
        }
        Ok(())
    }

    fn write_null(&mut self, source: &Source<'_>, row: usize) {
        match &mut self.values {
            Written::Words8(out) | Written::Bits(out) => out.push(0),
            Written::Words16(out) => out.push(0),
            Written::Words32(out) => out.push(0),
            Written::Words64(out) => out.push(0),
            Written::Words128(out) => out.push(0),
            Written::Strings { views, .. } => views.push(0),
            Written::Rows(out) => out.push(source.vector.slice(row, 1)),
        }
    }

    /// The rows as a vector; the writer is empty then, and has as much room as before.
    fn take(&mut self, data_type: &Type) -> Result<Vector> {
        let bits = |bytes: &[u8]| BooleanBuffer::collect_bool(bytes.len(), |it| bytes[it] != 0);
        let nulls = self.has_nulls.then(|| NullBuffer::new(bits(&self.valid)));
        self.has_nulls = false;
        self.valid.clear();
        let buffer = match &mut self.values {
            Written::Words8(out) => Buffer::from_vec(taken(out)),
            Written::Words16(out) => Buffer::from_vec(taken(out)),
            Written::Words32(out) => Buffer::from_vec(taken(out)),
            Written::Words64(out) => Buffer::from_vec(taken(out)),
            Written::Words128(out) => Buffer::from_vec(taken(out)),
            Written::Bits(out) => {
                let values = Values::Boolean(bits(out));
                out.clear();
                return Ok(Vector::flat(data_type.clone(), values, nulls));
            }
            Written::Strings { views, long } => {
                let buffers = [Buffer::from_vec(taken(long))];
                let strings = StringValues::new(taken(views).into(), buffers.into());
                return Ok(Vector::strings(data_type.clone(), strings, nulls));
            }
            Written::Rows(out) => return Vector::concat(data_type, &taken(out)),
        };
        let values = Values::from_fixed_bytes(data_type.physical(), buffer);
        let values = values.ok_or_else(|| Error::internal("a writer of another layout"))?;
        Ok(Vector::flat(data_type.clone(), values, nulls))
    }
}

/// The values; the vector has as much room as before.
fn taken<T>(values: &mut Vec<T>) -> Vec<T> {
    let room = Vec::with_capacity(values.capacity());
    std::mem::replace(values, room)
}

impl<'a> Source<'a> {
    fn new(vector: &'a Vector, decoded: &'a Decoded<'a>) -> Result<Source<'a>> {
        let values = decoded.values();
        let values = match vector.data_type().physical() {
            _ if matches!(values, Values::Null(_)) => SourceValues::Rows,
            PhysicalType::Boolean => match values {
                Values::Boolean(bits) => SourceValues::Bits(bits),
                _ => return Err(other_layout()),
            },
            PhysicalType::I8 => SourceValues::Words8(words(values)?),
            PhysicalType::I16 => SourceValues::Words16(words(values)?),
            PhysicalType::I32 | PhysicalType::F32 => SourceValues::Words32(words(values)?),
            PhysicalType::I64 | PhysicalType::F64 => SourceValues::Words64(words(values)?),
            PhysicalType::I128 | PhysicalType::Interval => SourceValues::Words128(words(values)?),
            PhysicalType::View => match values {
                Values::View(strings) => SourceValues::Strings(strings),
                _ => return Err(other_layout()),
            },
            _ => SourceValues::Rows,
        };
        Ok(Source { decoded, vector, nulls: decoded.nulls(), values })
    }
}

fn words<T: ArrowNativeType>(values: &Values) -> Result<&[T]> {
    values.width::<T>().ok_or_else(other_layout)
}
