//! Encodes batches.

use crate::{
    CONSTANT, DICTIONARY, FLAT,
    column_buffer::{ColumnBuffer, write_nulls, write_numbers},
    picks::Picks,
};
use std::ops::Range;
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::{Batch, Encoding, Vector};

/// The minimum number of rows per distinct value for which a dictionary is kept.
pub(crate) const ROWS_PER_VALUE: usize = 4;

/// No number yet.
const NO_CODE: u32 = u32::MAX;

/// Writes batches of one list of types: those that are large as they are, many small ones together.
///
/// ```
/// use volley_types::{Type, Value};
/// use volley_vector::{Batch, Vector};
/// use volley_wire::{Encoder, decode};
///
/// let types = [Type::BigInt];
/// let row = |it| Batch::new(vec![Vector::from_values(Type::BigInt, &[Value::BigInt(it)])], 1);
/// let (mut encoder, mut bytes) = (Encoder::new(&types)?, Vec::new());
/// encoder.append(&row(1), 0..1)?;
/// encoder.append(&row(2), 0..1)?;
/// encoder.take(&mut bytes)?;
/// let batch = decode(&bytes, &types)?;
/// assert_eq!(batch.column(0).to_values()?, [Value::BigInt(1), Value::BigInt(2)]);
/// # Ok::<(), volley_error::Error>(())
/// ```
pub struct Encoder {
    columns: Vec<ColumnBuffer>,
    rows: usize,
}

/// Appends the bytes of `batch` to `out`.
///
/// Constant columns stay constant; so do dictionaries with few distinct values, without those that
/// no row is. Other columns are written flat.
///
/// # Errors
///
/// As [`Encoder::new`] and [`Encoder::append`].
pub fn encode(batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
    let types: Vec<_> = batch.columns().iter().map(|it| it.data_type().clone()).collect();
    Encoder::new(&types)?.encode(batch, out)
}

impl Encoder {
    /// An encoder of columns of `types`.
    ///
    /// # Errors
    ///
    /// Unsupported: opaque types, whose objects cannot be serialized.
    pub fn new(types: &[Type]) -> Result<Encoder> {
        let columns = types.iter().map(ColumnBuffer::new).collect::<Result<_>>()?;
        Ok(Encoder { columns, rows: 0 })
    }

    /// Rows that were appended and not yet taken.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// About the bytes that these rows take, here and written.
    pub fn bytes(&self) -> usize {
        self.columns.iter().map(ColumnBuffer::bytes).sum()
    }

    /// Copies rows of a batch. After an error the encoder must not be used.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports; more elements of arrays than one vector holds;
    /// internal: columns of other types.
    ///
    /// # Panics
    ///
    /// If the rows are not within the batch.
    pub fn append(&mut self, batch: &Batch, rows: Range<usize>) -> Result<()> {
        let count = rows.len();
        let picks = Picks::Range(rows);
        for (buffer, column) in self.columns.iter_mut().zip(batch.columns()) {
            buffer.append(column, &picks)?;
        }
        self.rows += count;
        Ok(())
    }

    /// Appends the bytes of a batch of all appended rows to `out`, and forgets the rows.
    ///
    /// # Errors
    ///
    /// Internal: more rows than 32 bits count.
    pub fn take(&mut self, out: &mut Vec<u8>) -> Result<()> {
        write_rows(self.rows, out)?;
        for buffer in &mut self.columns {
            out.push(FLAT);
            buffer.write(out);
        }
        self.rows = 0;
        Ok(())
    }

    /// Appends the bytes of `batch` to `out`, as [`encode`] does; rows that were appended before
    /// must have been taken.
    ///
    /// # Errors
    ///
    /// As [`Encoder::append`].
    pub fn encode(&mut self, batch: &Batch, out: &mut Vec<u8>) -> Result<()> {
        if self.rows > 0 {
            return Err(Error::internal("rows that were not taken"));
        }
        write_rows(batch.rows(), out)?;
        for (buffer, column) in self.columns.iter_mut().zip(batch.columns()) {
            encode_column(buffer, &column.loaded()?, out)?;
        }
        Ok(())
    }
}

fn write_rows(rows: usize, out: &mut Vec<u8>) -> Result<()> {
    let rows = u32::try_from(rows).map_err(|_| Error::internal("a batch of 2^32 rows"))?;
    out.extend_from_slice(&rows.to_le_bytes());
    Ok(())
}

fn encode_column(buffer: &mut ColumnBuffer, column: &Vector, out: &mut Vec<u8>) -> Result<()> {
    match column.encoding() {
        Encoding::Constant(base) => {
            out.push(CONSTANT);
            buffer.append(base, &Picks::Range(0..1))?;
        }
        Encoding::Dictionary { codes, base } if let Some(used) = used(codes, base.len()) => {
            out.push(DICTIONARY);
            out.extend_from_slice(&(used.values.len() as u32).to_le_bytes());
            write_numbers(&used.codes, out);
            write_nulls(column.null_buffer(), out);
            buffer.append(base, &Picks::Rows(used.values.into()))?;
        }
        _ => {
            out.push(FLAT);
            buffer.append(column, &Picks::Range(0..column.len()))?;
        }
    }
    buffer.write(out);
    Ok(())
}

/// The part of a dictionary that rows are.
pub(crate) struct Used {
    /// Which rows of the base.
    pub(crate) values: Vec<u32>,
    /// For each row, which of `values`.
    pub(crate) codes: Vec<u32>,
}

/// What is used of a base of `base_rows` rows, when that is little compared with the rows.
pub(crate) fn used(codes: &[u32], base_rows: usize) -> Option<Used> {
    let values_max = codes.len() / ROWS_PER_VALUE;
    // Looking costs as much as the base is large.
    if values_max == 0 || base_rows > 2 * codes.len() {
        return None;
    }
    let (mut numbers, mut values) = (vec![NO_CODE; base_rows], Vec::new());
    let mut renumbered = Vec::with_capacity(codes.len());
    for code in codes {
        let number = &mut numbers[*code as usize];
        if *number == NO_CODE {
            if values.len() == values_max {
                return None;
            }
            *number = values.len() as u32;
            values.push(*code);
        }
        renumbered.push(*number);
    }
    Some(Used { values, codes: renumbered })
}
