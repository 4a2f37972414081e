//! Every type to VARCHAR.

use super::infallible;
use std::sync::Arc;
use volley_error::Result;
use volley_function::{BoundScalar, ScalarFunction, simple};
use volley_types::{Native, Type, text};
use volley_vector::{Decoded, Rows, StringBuilder, Values, Vector};

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
        Type::Decimal { precision, scale } => decimal(*precision, *scale),
        _ => simple::vectorized(|rows, args, _, ctx| {
            let decoded = Decoded::new(&args[0])?;
            let shown = decoded.data_type().in_zone(&ctx.query.time_zone);
            write(&decoded, rows, |out, index| push_element(out, &decoded, &shown, index))
        }),
    }
}

fn decimal(precision: u8, scale: u8) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows, args, _, _| {
        let decoded = Decoded::new(&args[0])?;
        let push = |out: &mut String, unscaled| text::push_decimal(out, unscaled, precision, scale);
        match decoded.values() {
            Values::I64(values) => write(&decoded, rows, |out, it| push(out, values[it].into())),
            Values::I128(values) => write(&decoded, rows, |out, it| push(out, values[it])),
            _ => write(&decoded, rows, |_, _| {}),
        }
    })
}

fn native<T: Native>(
    push: impl Fn(&mut String, T) + Send + Sync + 'static,
) -> Arc<dyn ScalarFunction> {
    simple::vectorized(move |rows, args, _, _| {
        let decoded = Decoded::new(&args[0])?;
        let values = decoded.native::<T>();
        write(&decoded, rows, |out, index| push(out, values[index]))
    })
}

/// A VARCHAR vector of what `push` appends for each row; a constant is written once.
fn write(decoded: &Decoded<'_>, rows: &Rows, push: impl Fn(&mut String, usize)) -> Result<Vector> {
    let mut views = vec![0u128; rows.len()];
    let mut builder = StringBuilder::default();
    let mut scratch = String::new();
    rows.for_each(|row| {
        if !decoded.is_null(row) {
            scratch.clear();
            push(&mut scratch, decoded.index(row));
            views[row] = builder.store(scratch.as_bytes());
        }
    });
    let values = builder.finish_with_views(views);
    Ok(Vector::strings(Type::Varchar, values, decoded.nulls()))
}

/// Appends the element at `index` of booleans, bytes and nested values, as values of `shown`.
fn push_element(out: &mut String, decoded: &Decoded<'_>, shown: &Type, index: usize) {
    match decoded.values() {
        _ if matches!(decoded.data_type(), Type::Custom(_)) => {
            if let Ok(value) = decoded.base().value(index) {
                text::push_value(out, &value, shown);
            }
        }
        Values::Boolean(bits) => text::push_boolean(out, bits.value(index)),
        Values::View(strings) => text::push_binary(out, strings.bytes(index)),
        _ => {
            // A flat base has nothing to load, so there is nothing to fail.
            if let Ok(value) = decoded.base().value(index) {
                text::push_value(out, &value, shown);
            }
        }
    }
}
