//! Encodes values of scalar types.

use crate::{
    metadata::{encoding, stream},
    writer::{
        column::{EncodedColumn, write_bits},
        proto::push_varint,
        runs::{write_bytes, write_signed, write_unsigned},
        statistics::Statistics,
        stream::{BlockFormat, StreamWriter},
        text::TextEncoder,
    },
};
use volley_error::{Error, Result};
use volley_types::Type;
use volley_vector::Values;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// 2015-01-01 00:00:00 UTC, in seconds since 1970; see [`crate::timestamp`].
const BASE_SECONDS: i64 = 1_420_070_400;

/// The values of the rows that are not null, in row groups.
pub(crate) struct ValueEncoder<'a> {
    /// Positions of the rows in the vector.
    pub groups: &'a [&'a [u32]],
    pub format: BlockFormat,
}

impl ValueEncoder<'_> {
    /// Writes the streams of a column but PRESENT.
    pub fn write(
        &self,
        data_type: &Type,
        values: &Values,
        column: &mut EncodedColumn,
    ) -> Result<()> {
        let is_instant = *data_type.storage() == Type::Timestamp;
        let scale = match data_type {
            Type::Decimal { scale, .. } => Some(*scale),
            _ => None,
        };
        match (values, scale) {
            (Values::Null(_), _) => Ok(()),
            (Values::Boolean(values), _) => self.write_booleans(column, |row| values.value(row)),
            (Values::I8(values), _) => self.write_tiny(column, |row| at(values, row)),
            (Values::I16(values), _) => self.write_integers(column, |row| at(values, row).into()),
            (Values::I32(values), _) => self.write_integers(column, |row| at(values, row).into()),
            (Values::I64(values), Some(scale)) => {
                self.write_decimals(scale, column, |row| at(values, row).into())
            }
            (Values::I128(values), Some(scale)) => {
                self.write_decimals(scale, column, |row| at(values, row))
            }
            (Values::I64(values), _) if is_instant => {
                self.write_timestamps(column, |row| at(values, row))
            }
            (Values::I64(values), _) => self.write_integers(column, |row| at(values, row)),
            (Values::F32(values), _) => {
                let bytes = |row| at(values, row).to_le_bytes();
                self.write_floats(column, |row| at(values, row).into(), bytes)
            }
            (Values::F64(values), _) => {
                let bytes = |row| at(values, row).to_le_bytes();
                self.write_floats(column, |row| at(values, row), bytes)
            }
            (Values::View(strings), _) => {
                TextEncoder { strings, groups: self.groups, format: self.format }.write(column)
            }
            _ => Err(Error::internal("type that ORC does not have")),
        }
    }

    fn write_booleans(
        &self,
        column: &mut EncodedColumn,
        value: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let (mut bits, mut ends) = (Vec::new(), Vec::new());
        for (rows, (_, statistics)) in self.groups.iter().zip(&mut column.groups) {
            for row in *rows {
                let value = value(*row as usize);
                statistics.add_integer(i64::from(value));
                bits.push(value);
            }
            ends.push(bits.len());
        }
        column.encoding = encoding::DIRECT;
        let bytes = write_bits(&bits, &ends, &mut column.groups, self.format)?;
        column.streams.push((stream::DATA, bytes));
        Ok(())
    }

    fn write_tiny(&self, column: &mut EncodedColumn, value: impl Fn(usize) -> i8) -> Result<()> {
        column.encoding = encoding::DIRECT;
        let mut out = StreamWriter::new(self.format);
        self.for_each_group(column, |rows, positions, statistics| {
            out.push_position(positions);
            positions.push(0);
            let values = rows.iter().map(|row| {
                let value = value(*row as usize);
                statistics.add_integer(value.into());
                value as u8
            });
            write_bytes(&values.collect::<Vec<_>>(), &mut out)
        })?;
        column.streams.push((stream::DATA, out.finish()?));
        Ok(())
    }

    fn write_integers(
        &self,
        column: &mut EncodedColumn,
        value: impl Fn(usize) -> i64,
    ) -> Result<()> {
        let mut out = StreamWriter::new(self.format);
        self.for_each_group(column, |rows, positions, statistics| {
            out.push_position(positions);
            positions.push(0);
            let values: Vec<i64> = rows.iter().map(|row| value(*row as usize)).collect();
            values.iter().for_each(|it| statistics.add_integer(*it));
            write_signed(&values, &mut out)
        })?;
        column.streams.push((stream::DATA, out.finish()?));
        Ok(())
    }

    fn write_floats<const WIDTH: usize>(
        &self,
        column: &mut EncodedColumn,
        value: impl Fn(usize) -> f64,
        bytes: impl Fn(usize) -> [u8; WIDTH],
    ) -> Result<()> {
        column.encoding = encoding::DIRECT;
        let mut out = StreamWriter::new(self.format);
        self.for_each_group(column, |rows, positions, statistics| {
            out.push_position(positions);
            for row in rows {
                statistics.add_double(value(*row as usize));
                out.write(&bytes(*row as usize))?;
            }
            Ok(())
        })?;
        column.streams.push((stream::DATA, out.finish()?));
        Ok(())
    }

    fn write_timestamps(
        &self,
        column: &mut EncodedColumn,
        value: impl Fn(usize) -> i64,
    ) -> Result<()> {
        let (mut seconds_out, mut nanos_out) =
            (StreamWriter::new(self.format), StreamWriter::new(self.format));
        self.for_each_group(column, |rows, positions, statistics| {
            for out in [&seconds_out, &nanos_out] {
                out.push_position(positions);
                positions.push(0);
            }
            let (mut seconds, mut nanos) = (Vec::new(), Vec::new());
            for row in rows {
                let micros = value(*row as usize);
                statistics.add_integer(micros);
                let (whole, fraction) = timestamp_parts(micros)?;
                seconds.push(whole - BASE_SECONDS);
                nanos.push(encode_nanos(fraction));
            }
            write_signed(&seconds, &mut seconds_out)?;
            write_unsigned(&nanos, &mut nanos_out)
        })?;
        column.streams.push((stream::DATA, seconds_out.finish()?));
        column.streams.push((stream::SECONDARY, nanos_out.finish()?));
        Ok(())
    }

    fn write_decimals(
        &self,
        scale: u8,
        column: &mut EncodedColumn,
        value: impl Fn(usize) -> i128,
    ) -> Result<()> {
        let (mut values_out, mut scales_out) =
            (StreamWriter::new(self.format), StreamWriter::new(self.format));
        self.for_each_group(column, |rows, positions, statistics| {
            values_out.push_position(positions);
            scales_out.push_position(positions);
            positions.push(0);
            let mut bytes = Vec::new();
            for row in rows {
                let value = value(*row as usize);
                statistics.add_decimal(value);
                push_varint(&mut bytes, (value << 1 ^ value >> 127) as u128);
            }
            values_out.write(&bytes)?;
            write_signed(&vec![i64::from(scale); rows.len()], &mut scales_out)
        })?;
        column.streams.push((stream::DATA, values_out.finish()?));
        column.streams.push((stream::SECONDARY, scales_out.finish()?));
        Ok(())
    }

    /// Calls `write` with the rows of each row group, its positions and its statistics.
    fn for_each_group(
        &self,
        column: &mut EncodedColumn,
        mut write: impl FnMut(&[u32], &mut Vec<u64>, &mut Statistics) -> Result<()>,
    ) -> Result<()> {
        for (rows, (positions, statistics)) in self.groups.iter().zip(&mut column.groups) {
            write(rows, positions, statistics)?;
        }
        Ok(())
    }
}

fn at<T: Copy + Default>(values: &[T], row: usize) -> T {
    values.get(row).copied().unwrap_or_default()
}

/// Seconds and nanoseconds as they are stored; see [`crate::timestamp`].
fn timestamp_parts(micros: i64) -> Result<(i64, i64)> {
    let seconds = micros.div_euclid(MICROS_PER_SECOND);
    let nanos = micros.rem_euclid(MICROS_PER_SECOND) * 1000;
    match (seconds, nanos) {
        // Readers take a second off seconds before 1970 with such nanoseconds; so it is added, and
        // the last one before 1970 would be the first one after.
        (-1, 1_000_000..) => {
            let message = "ORC files do not hold timestamps in the last second before 1970 with \
                           fractions of a millisecond or more";
            Err(Error::invalid_value(message).hint("write Parquet, or cast them to VARCHAR"))
        }
        (..-1, 1_000_000..) => Ok((seconds + 1, nanos)),
        other => Ok(other),
    }
}

/// Nanoseconds without the zeros at their end.
fn encode_nanos(nanos: i64) -> i64 {
    if nanos == 0 || nanos % 100 != 0 {
        return nanos << 3;
    }
    let (mut value, mut zeros) = (nanos / 100, 1);
    while value % 10 == 0 && zeros < 7 {
        value /= 10;
        zeros += 1;
    }
    value << 3 | zeros
}
