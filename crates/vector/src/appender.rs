//! A column that grows by selected rows of other columns. It copies them, except for elements of
//! arrays.
//!
//! ```text
//! Picked     a column and some of its rows, sorted by where they go: decoded once
//! Appender   one per place: takes a range of them, copied value by value
//! ```

use crate::{
    BooleanBuffer, Decoded, Indices, NullBuffer, StringBuilder, Values, Vector,
    copy::{empty_values, fixed_values},
};
use arrow_buffer::{ArrowNativeType, BooleanBufferBuilder, Buffer};
use std::{borrow::Cow, ops::Range};
use volley_error::{Error, Result};
use volley_kernels::gather::gather;
use volley_types::{PhysicalType, Type};

/// Rows of a column, in the order in which they are appended.
pub struct Picked<'a> {
    column: &'a Vector,
    decoded: Decoded<'a>,
    nulls: Option<NullBuffer>,
    rows: &'a [u32],
    /// The position of the value of each of `rows`.
    positions: Cow<'a, [u32]>,
}

impl<'a> Picked<'a> {
    /// Rows `rows` of `column`.
    ///
    /// # Errors
    ///
    /// What a lazy column's loader reports.
    ///
    /// # Panics
    ///
    /// If a row is not one of the column's.
    pub fn new(column: &'a Vector, rows: &'a [u32]) -> Result<Picked<'a>> {
        let decoded = Decoded::new(column)?;
        let positions = match decoded.indices() {
            Indices::Identity => Cow::Borrowed(rows),
            Indices::Constant(index) => Cow::Owned(vec![*index; rows.len()]),
            Indices::Codes(codes) => {
                let mut positions = Vec::with_capacity(rows.len());
                gather(codes, rows, &mut positions);
                Cow::Owned(positions)
            }
        };
        Ok(Picked { column, nulls: decoded.nulls(), decoded, rows, positions })
    }
}

/// A flat column under way.
pub struct Appender {
    data_type: Type,
    len: usize,
    values: Appended,
    /// Made with the first row that may be null.
    valid: Option<BooleanBufferBuilder>,
    /// Bytes of strings.
    string_bytes: usize,
}

/// Values by their width.
enum Appended {
    Words8(Vec<u8>),
    Words16(Vec<u16>),
    Words32(Vec<u32>),
    Words64(Vec<u64>),
    Words128(Vec<u128>),
    Bits(BooleanBufferBuilder),
    Strings(StringBuilder),
    /// Of other layouts, joined at the end. Elements of arrays are shared with their columns.
    Parts(Vec<Vector>),
}

impl Appender {
    /// A column of `data_type` with room for `rows` rows.
    pub fn with_capacity(data_type: Type, rows: usize) -> Appender {
        let values = match data_type.physical() {
            PhysicalType::I8 => Appended::Words8(Vec::with_capacity(rows)),
            PhysicalType::I16 => Appended::Words16(Vec::with_capacity(rows)),
            PhysicalType::I32 | PhysicalType::F32 => Appended::Words32(Vec::with_capacity(rows)),
            PhysicalType::I64 | PhysicalType::F64 => Appended::Words64(Vec::with_capacity(rows)),
            PhysicalType::I128 | PhysicalType::Interval => {
                Appended::Words128(Vec::with_capacity(rows))
            }
            PhysicalType::Boolean => Appended::Bits(BooleanBufferBuilder::new(rows)),
            PhysicalType::View => Appended::Strings(StringBuilder::with_capacity(rows)),
            _ => Appended::Parts(Vec::new()),
        };
        Appender { data_type, len: 0, values, valid: None, string_bytes: 0 }
    }

    /// The number of rows so far.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing was appended.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// About the bytes that the rows take, apart from [`Appender::for_each_allocation`].
    pub fn bytes(&self) -> usize {
        let width = match &self.values {
            Appended::Words8(_) | Appended::Bits(_) => 1,
            Appended::Words16(_) => 2,
            Appended::Words32(_) => 4,
            Appended::Words64(_) => 8,
            Appended::Words128(_) | Appended::Strings(_) => 16,
            Appended::Parts(_) => 0,
        };
        self.len * width + self.string_bytes
    }

    /// Bytes that are allocated, room for more rows included, apart from
    /// [`Appender::for_each_allocation`].
    pub fn retained_bytes(&self) -> usize {
        let bits = |it: &BooleanBufferBuilder| it.capacity() / 8;
        let values = match &self.values {
            Appended::Words8(words) => words.capacity(),
            Appended::Words16(words) => words.capacity() * 2,
            Appended::Words32(words) => words.capacity() * 4,
            Appended::Words64(words) => words.capacity() * 8,
            Appended::Words128(words) => words.capacity() * 16,
            Appended::Bits(values) => bits(values),
            Appended::Strings(strings) => strings.retained_bytes(),
            Appended::Parts(_) => 0,
        };
        values + self.valid.as_ref().map_or(0, bits)
    }

    /// Calls `f` with the address and size of every allocation that it may share with the columns
    /// it took rows from; some may repeat.
    pub fn for_each_allocation(&self, f: &mut impl FnMut(usize, usize)) {
        if let Appended::Parts(parts) = &self.values {
            parts.iter().for_each(|it| it.for_each_allocation(f));
        }
    }

    /// Appends a range of `picked`, which are of the appender's type.
    ///
    /// # Errors
    ///
    /// Elements beyond the layout's 32 bits; internal: values of another layout.
    pub fn append(&mut self, picked: &Picked, range: Range<usize>) -> Result<()> {
        let positions = &picked.positions[range.clone()];
        let rows = &picked.rows[range];
        match picked.decoded.values() {
            Values::Null(_) => self.append_nothing(rows.len()),
            values => self.append_values(picked, values, positions, rows)?,
        }
        self.append_validity(picked.nulls.as_ref(), rows);
        self.len += rows.len();
        Ok(())
    }

    fn append_values(
        &mut self,
        picked: &Picked,
        values: &Values,
        positions: &[u32],
        rows: &[u32],
    ) -> Result<()> {
        match &mut self.values {
            Appended::Words8(words) => append_words(values.width(), positions, words),
            Appended::Words16(words) => append_words(values.width(), positions, words),
            Appended::Words32(words) => append_words(values.width(), positions, words),
            Appended::Words64(words) => append_words(values.width(), positions, words),
            Appended::Words128(words) => append_words(values.width(), positions, words),
            Appended::Strings(strings) => {
                let Values::View(all) = values else { return Err(other_layout()) };
                for position in positions {
                    self.string_bytes += strings.push_from(all, *position as usize);
                }
                Ok(())
            }
            Appended::Bits(bits) => {
                let Values::Boolean(all) = values else { return Err(other_layout()) };
                append_bits(all, positions, bits);
                Ok(())
            }
            Appended::Parts(parts) => {
                parts.push(picked.column.gather(rows)?);
                Ok(())
            }
        }
    }

    /// Appends values that are all null.
    fn append_nothing(&mut self, rows: usize) {
        match &mut self.values {
            Appended::Words8(words) => words.resize(words.len() + rows, 0),
            Appended::Words16(words) => words.resize(words.len() + rows, 0),
            Appended::Words32(words) => words.resize(words.len() + rows, 0),
            Appended::Words64(words) => words.resize(words.len() + rows, 0),
            Appended::Words128(words) => words.resize(words.len() + rows, 0),
            Appended::Strings(strings) => (0..rows).for_each(|_| strings.push_empty()),
            Appended::Bits(bits) => bits.append_n(rows, false),
            Appended::Parts(parts) => parts.push(Vector::nulls(self.data_type.clone(), rows)),
        }
    }

    fn append_validity(&mut self, nulls: Option<&NullBuffer>, rows: &[u32]) {
        let Some(nulls) = nulls else {
            if let Some(valid) = &mut self.valid {
                valid.append_n(rows.len(), true);
            }
            return;
        };
        let valid = self.valid.get_or_insert_with(|| {
            let mut valid = BooleanBufferBuilder::new(self.len + rows.len());
            valid.append_n(self.len, true);
            valid
        });
        append_bits(nulls.inner(), rows, valid);
    }

    /// The rows as a flat column.
    ///
    /// # Errors
    ///
    /// Elements beyond the layout's 32 bits.
    pub fn finish(self) -> Result<Vector> {
        let (data_type, len) = (self.data_type, self.len);
        let words = |buffer: Buffer| Ok(fixed_values(&empty_values(&data_type)?, buffer, len));
        let values: Result<Values> = match self.values {
            Appended::Words8(all) => words(fitted(all)),
            Appended::Words16(all) => words(fitted(all)),
            Appended::Words32(all) => words(fitted(all)),
            Appended::Words64(all) => words(fitted(all)),
            Appended::Words128(all) => words(fitted(all)),
            Appended::Strings(mut strings) => {
                // Buffers grow by doubling.
                if strings.room() * 4 > self.string_bytes {
                    strings.shrink_to_fit();
                }
                Ok(Values::View(strings.finish()))
            }
            Appended::Bits(mut bits) => Ok(Values::Boolean(bits.finish())),
            // These have their nulls already.
            Appended::Parts(parts) => return Vector::concat(&data_type, &parts),
        };
        let nulls = self.valid.map(|mut it| NullBuffer::new(it.finish()));
        Ok(Vector::flat(data_type.clone(), values?, nulls))
    }
}

/// The values in a buffer, without room that is mostly unused.
fn fitted<T: ArrowNativeType>(mut values: Vec<T>) -> Buffer {
    if values.len() < values.capacity() / 2 {
        values.shrink_to_fit();
    }
    Buffer::from_vec(values)
}

fn append_words<T: Copy>(
    values: Option<&[T]>,
    positions: &[u32],
    words: &mut Vec<T>,
) -> Result<()> {
    let values = values.ok_or_else(other_layout)?;
    words.reserve(positions.len());
    gather(values, positions, words);
    Ok(())
}

fn append_bits(all: &BooleanBuffer, positions: &[u32], bits: &mut BooleanBufferBuilder) {
    let value = |it: usize| all.value(positions[it] as usize);
    bits.append_buffer(&BooleanBuffer::collect_bool(positions.len(), value));
}

#[cold]
fn other_layout() -> Error {
    Error::internal("values of another layout than their column's type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Generator;
    use volley_types::Value;

    #[test]
    fn rows_of_any_column_are_those_of_gather_and_concat() {
        let mut random = Generator::new(17);
        for round in 0..600 {
            let data_type = random.data_type(2);
            let mut appender = Appender::with_capacity(data_type.clone(), 10);
            let mut parts = Vec::new();
            for _ in 0..random.below(5) {
                let len = 1 + random.below(70);
                let column = random.vector(&data_type, len);
                let rows: Vec<u32> =
                    (0..random.below(100)).map(|_| random.below(len) as u32).collect();
                let (start, end) = (rows.len() / 3, rows.len());
                let picked = Picked::new(&column, &rows).unwrap();
                appender.append(&picked, start..end).unwrap();
                appender.append(&picked, 0..start).unwrap();
                parts.push(column.gather(&rows[start..end]).unwrap());
                parts.push(column.gather(&rows[..start]).unwrap());
            }
            let expected = Vector::concat(&data_type, &parts).unwrap();
            assert_eq!(appender.len(), expected.len());
            let found = appender.finish().unwrap();
            found.validate().unwrap();
            let text = |it: &Vector| format!("{:?}", it.to_values().unwrap());
            assert_eq!(text(&found), text(&expected), "round {round}: {data_type}");
        }
    }

    #[test]
    fn nothing_of_a_column_is_kept() {
        let texts: Vec<Value> =
            (0..1000).map(|it| Value::text(format!("a text of some length, {it}"))).collect();
        let column = Vector::from_values(Type::Varchar, &texts);
        let mut appender = Appender::with_capacity(Type::Varchar, 2);
        appender.append(&Picked::new(&column, &[7, 900]).unwrap(), 0..2).unwrap();
        assert!((32..200).contains(&appender.bytes()), "{}", appender.bytes());
        assert!(appender.finish().unwrap().retained_bytes() < 1000);
    }

    #[test]
    fn what_is_allocated_is_enough_for_the_column() {
        let mut random = Generator::new(18);
        for _ in 0..300 {
            let data_type = random.data_type(2);
            let column = random.vector(&data_type, 200);
            let rows: Vec<u32> = (0..random.below(900)).map(|it| it as u32 % 200).collect();
            let mut appender = Appender::with_capacity(data_type.clone(), 10);
            for start in (0..rows.len()).step_by(60) {
                let end = rows.len().min(start + 60);
                appender.append(&Picked::new(&column, &rows).unwrap(), start..end).unwrap();
            }
            if !matches!(appender.values, Appended::Parts(_)) {
                let allocated = appender.retained_bytes();
                let found = appender.finish().unwrap().retained_bytes();
                assert!(found <= allocated, "{data_type}: {found} of {allocated}");
            }
        }
    }
}
