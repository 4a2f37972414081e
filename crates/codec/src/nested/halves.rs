//! 128-bit integers and intervals.

use crate::{
    column::{Body, ColumnReader, Context, Level, Read, Source, fixed_values, write_column},
    input::{Input, corruption, put},
};
use std::ops::Range;
use volley_error::Result;
use volley_types::{Interval, Native, PhysicalType, Type};
use volley_vector::Vector;

const NARROW: u8 = 1;
const TWO: u8 = 2;
const INTERVAL: u8 = 3;

/// Appends the column.
pub(crate) fn encode_halves(source: &Source, context: Context, out: &mut Vec<u8>) -> Result<()> {
    let wide = source.wide()?;
    let low = || wide.iter().map(|it| *it as u64 as i64).collect::<Vec<_>>();
    let high = || wide.iter().map(|it| (*it >> 64) as u64 as i64).collect::<Vec<_>>();
    let bigint = |values: Vec<i64>| Vector::native::<i64>(Type::BigInt, values, None);
    let (form, columns) = if source.physical() == PhysicalType::Interval {
        let integer = |shift: u32| {
            let values: Vec<i32> = wide.iter().map(|it| (*it >> shift) as u32 as i32).collect();
            Vector::native::<i32>(Type::Integer, values, None)
        };
        (INTERVAL, vec![integer(0), integer(32), bigint(high())])
    } else if wide.iter().all(|it| i64::try_from(*it as i128).is_ok()) {
        (NARROW, vec![bigint(low())])
    } else {
        (TWO, vec![bigint(low()), bigint(high())])
    };
    put(out, form);
    columns.iter().try_for_each(|it| write_column(it, context.at(Level::Inner), out))
}

pub(crate) fn open_halves(
    input: &mut Input,
    physical: PhysicalType,
    rows: usize,
    depth: usize,
) -> Result<Box<dyn Body>> {
    let form = input.integer::<u8>()?;
    let types: &[Type] = match (form, physical) {
        (NARROW, PhysicalType::I128) => &[Type::BigInt],
        (TWO, PhysicalType::I128) => &[Type::BigInt, Type::BigInt],
        (INTERVAL, PhysicalType::Interval) => &[Type::Integer, Type::Integer, Type::BigInt],
        _ => return Err(corruption("halves of another type")),
    };
    let columns = types.iter().map(|it| ColumnReader::read_from(input, it, depth));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    if columns.iter().any(|it| it.rows() != rows) {
        return Err(corruption("rows of halves"));
    }
    Ok(Box::new(Halves { form, columns }))
}

struct Halves {
    form: u8,
    columns: Vec<ColumnReader>,
}

impl Halves {
    /// The values of column `index`.
    fn column<T: Native>(
        &mut self,
        index: usize,
        rows: &Range<usize>,
        pick: Option<&[u32]>,
    ) -> Result<Vec<T>> {
        let column = self.columns.get_mut(index).ok_or_else(|| corruption("halves"))?;
        let flat = column.read_rows(rows.clone(), pick)?.flatten()?;
        let values = flat.flat_values().and_then(|it| it.native::<T>());
        // A column of nulls alone has no values.
        Ok(values.map_or_else(|| vec![T::default(); flat.len()], <[T]>::to_vec))
    }
}

impl Body for Halves {
    fn read(&mut self, rows: Range<usize>, pick: Option<&[u32]>) -> Result<Read> {
        let values = match self.form {
            NARROW => {
                let values = self.column::<i64>(0, &rows, pick)?;
                fixed_values(PhysicalType::I128, values.into_iter().map(i128::from).collect())
            }
            TWO => {
                let low = self.column::<i64>(0, &rows, pick)?;
                let high = self.column::<i64>(1, &rows, pick)?;
                let wide = |(low, high): (&i64, &i64)| {
                    i128::from(*high) << 64 | i128::from(low.cast_unsigned())
                };
                fixed_values(PhysicalType::I128, low.iter().zip(&high).map(wide).collect())
            }
            _ => {
                let months = self.column::<i32>(0, &rows, pick)?;
                let days = self.column::<i32>(1, &rows, pick)?;
                let nanos = self.column::<i64>(2, &rows, pick)?;
                let interval = |((months, days), nanos)| Interval::new(months, days, nanos);
                let intervals = months.into_iter().zip(days).zip(nanos).map(interval);
                fixed_values(PhysicalType::Interval, intervals.collect())
            }
        };
        values.map(Read::Values)
    }
}
