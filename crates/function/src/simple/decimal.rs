//! DECIMAL arguments and results.

use super::{
    args::{Arg, ColumnRef},
    column::{Column, ResultType, finish},
    pattern::{Pattern, SqlType},
};
use crate::EvalContext;
use volley_error::{Error, Result};
use volley_types::{PhysicalType, Type};
use volley_vector::{NullBuffer, Rows, Values, Vector};

/// A DECIMAL of any precision and scale: `unscaled / 10^scale`.
///
/// As a result it must have the scale of the result type, which
/// [`crate::simple::Simple::returning`] declares; a value with more digits than the precision
/// allows fails its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decimal {
    /// The digits, as an integer.
    pub unscaled: i128,
    /// How many of them stand after the point.
    pub scale: u8,
}

/// The integers of a decimal column.
#[derive(Clone, Copy)]
pub enum DecimalBase<'a> {
    /// Of at most 18 digits, and the scale.
    Short(&'a [i64], u8),
    /// Of more, and the scale.
    Long(&'a [i128], u8),
}

impl Arg for Decimal {
    type Value<'a> = Decimal;
    type Base<'a> = DecimalBase<'a>;
    const CHEAP: bool = true;

    fn base(column: ColumnRef<'_>) -> Option<DecimalBase<'_>> {
        let Type::Decimal { scale, .. } = column.vector.data_type() else { return None };
        match column.values() {
            Values::I64(values) => Some(DecimalBase::Short(values, *scale)),
            Values::I128(values) => Some(DecimalBase::Long(values, *scale)),
            _ => None,
        }
    }

    #[inline(always)]
    fn get<'a>(base: Self::Base<'a>, _row: usize, index: usize) -> Self::Value<'a> {
        match base {
            DecimalBase::Short(values, scale) => {
                Decimal { unscaled: i128::from(values[index]), scale }
            }
            DecimalBase::Long(values, scale) => Decimal { unscaled: values[index], scale },
        }
    }
}

impl SqlType for Decimal {
    fn pattern() -> Pattern {
        Pattern::Decimal
    }
}

impl ResultType for Decimal {
    type Column = DecimalColumn;
}

/// DECIMAL results.
pub struct DecimalColumn(Vec<i128>);

impl Column for DecimalColumn {
    type Item = i128;

    fn with_len(len: usize) -> Self {
        DecimalColumn(vec![0; len])
    }

    #[inline(always)]
    fn set(&mut self, row: usize, item: i128) {
        self.0[row] = item;
    }

    #[inline(always)]
    fn collect_all(len: usize, f: impl Fn(usize) -> Option<i128>) -> Option<Self> {
        volley_vector::collect_all(len, f).map(DecimalColumn)
    }

    fn check(&mut self, data_type: &Type, rows: &Rows, ctx: &mut EvalContext) {
        let Type::Decimal { precision, .. } = data_type else { return };
        let limit = 10u128.pow(u32::from(*precision));
        rows.for_each(|row| {
            if self.0[row].unsigned_abs() >= limit {
                self.0[row] = 0;
                ctx.fail(row, || {
                    Error::invalid_value(format!(
                        "decimal overflow: more digits than {data_type} has"
                    ))
                });
            }
        });
    }

    fn finish(self, data_type: &Type, nulls: Option<NullBuffer>) -> Result<Vector> {
        let values = if data_type.physical() == PhysicalType::I64 {
            // `check` has made all active rows fit; the others do not matter.
            let values: Vec<i64> = self.0.iter().map(|it| *it as i64).collect();
            Values::from_native::<i64>(values.into())
        } else {
            Values::from_native::<i128>(self.0.into())
        };
        finish(data_type, values, nulls)
    }
}
