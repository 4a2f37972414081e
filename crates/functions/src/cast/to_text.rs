//! Every type to VARCHAR.

use super::infallible;
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{BoundScalar, EvalContext, ScalarFunction, simple};
use volley_types::{Native, Type, text};
use volley_vector::{Cells, Decoded, Rows, StringValues, Values, Vector};

/// The conversion of `from` to text.
pub(super) fn bind(from: &Type) -> Option<BoundScalar> {
    infallible(from, &Type::Varchar, function(from))
}

fn function(from: &Type) -> Arc<dyn ScalarFunction> {
    let push_i64 = text::push_i64;
    match from {
        Type::TinyInt => native(move |out, value: i8| push_i64(out, value.into())),
        Type::SmallInt => native(move |out, value: i16| push_i64(out, value.into())),
        Type::Integer => native(move |out, value: i32| push_i64(out, value.into())),
        Type::BigInt => native(push_i64),
        Type::HugeInt => native(text::push_i128),
        Type::Real => native(text::push_f32),
        Type::Double => native(text::push_f64),
        Type::Date => native(text::push_date),
        Type::Time => native(text::push_time),
        Type::Timestamp => native(text::push_timestamp),
        Type::Interval => native(text::push_interval),
        Type::Boolean => simple::vectorized(|rows, args, _, ctx| {
            let decoded = Decoded::new(&args[0])?;
            match decoded.values() {
                Values::Boolean(bits) => {
                    write(&decoded, rows, ctx, |out, it| text::push_boolean(out, bits.value(it)))
                }
                _ => write(&decoded, rows, ctx, |_, _| {}),
            }
        }),
        Type::Decimal { precision, scale } => decimal(*precision, *scale),
        Type::Custom(_) => simple::vectorized(|rows, args, _, ctx| {
            let decoded = Decoded::new(&args[0])?;
            let shown = args[0].data_type().in_zone(&ctx.query.time_zone);
            write(&decoded, rows, ctx, |out, index| {
                // A flat base has nothing to load, so there is nothing to fail.
                if let Ok(value) = decoded.base().value(index) {
                    text::push_value(out, &value, &shown);
                }
            })
        }),
        _ => simple::vectorized(|rows, args, _, ctx| {
            let shown = args[0].data_type().in_zone(&ctx.query.time_zone);
            let nulls = Decoded::new(&args[0])?.nulls();
            let values = write_cells(&Cells::new(&args[0], &shown)?, rows, ctx)?;
            Ok(Vector::strings(Type::Varchar, values, nulls))
        }),
    }
}

fn decimal(precision: u8, scale: u8) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows, args, _, ctx| {
        let decoded = Decoded::new(&args[0])?;
        let push = |out: &mut String, unscaled| text::push_decimal(out, unscaled, precision, scale);
        match decoded.values() {
            Values::I64(values) => {
                write(&decoded, rows, ctx, |out, it| push(out, values[it].into()))
            }
            Values::I128(values) => write(&decoded, rows, ctx, |out, it| push(out, values[it])),
            _ => write(&decoded, rows, ctx, |_, _| {}),
        }
    })
}

pub(super) fn native<T: Native>(
    push: impl Fn(&mut String, T) + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows, args, _, ctx| {
        let decoded = Decoded::new(&args[0])?;
        let values = decoded.native::<T>();
        write(&decoded, rows, ctx, |out, index| push(out, values[index]))
    })
}

/// A VARCHAR vector of what `push` appends for each row.
fn write(
    decoded: &Decoded<'_>,
    rows: &Rows,
    ctx: &mut EvalContext,
    push: impl Fn(&mut String, usize),
) -> Result<Vector> {
    let mut scratch = String::new();
    let (values, _) = simple::write_texts(rows, ctx, |row, out| {
        if !decoded.is_null(row) {
            scratch.clear();
            push(&mut scratch, decoded.index(row));
            out.push_str(&scratch);
        }
    })?;
    Ok(Vector::strings(Type::Varchar, values, decoded.nulls()))
}

/// The texts of bytes and nested values, written piece by piece.
fn write_cells(cells: &Cells, rows: &Rows, ctx: &mut EvalContext) -> Result<StringValues> {
    let mut piece = String::new();
    let (values, _) = simple::write_texts(rows, ctx, |row, out| -> Result<()> {
        if cells.is_null(row) {
            return Ok(());
        }
        piece.clear();
        cells.push_text::<Error>(row, &mut piece, &mut |text| {
            out.push_str(text);
            text.clear();
            if simple::may_continue() { Ok(()) } else { Err(Error::internal("refused")) }
        })?;
        out.push_str(&piece);
        Ok(())
    })?;
    Ok(values)
}
