//! The meaning of Arrow arrays, read with Arrow's own accessors, row by row.

use arrow_array::{cast::AsArray, types::*, *};
use arrow_schema::{DataType, IntervalUnit, TimeUnit};
use volley_types::{Interval, Value};

const DAY_MILLIS: i64 = 86_400_000;

/// The values of all rows.
pub fn values_of(array: &dyn Array) -> Vec<Value> {
    (0..array.len()).map(|row| value_of(array, row)).collect()
}

fn value_of(array: &dyn Array, row: usize) -> Value {
    match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            match array.is_null(row) {
                true => Value::Null,
                false => value_of(dictionary.values().as_ref(), dictionary.normalized_keys()[row]),
            }
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => run_value::<Int16Type>(array, row),
            DataType::Int32 => run_value::<Int32Type>(array, row),
            _ => run_value::<Int64Type>(array, row),
        },
        DataType::Null => Value::Null,
        _ if array.is_null(row) => Value::Null,
        _ => valid_value(array, row),
    }
}

fn run_value<R: RunEndIndexType>(array: &dyn Array, row: usize) -> Value {
    let runs = array.as_any().downcast_ref::<RunArray<R>>().unwrap();
    value_of(runs.values().as_ref(), runs.get_physical_index(row))
}

fn list(elements: ArrayRef) -> Value {
    Value::Array(values_of(elements.as_ref()).into())
}

fn valid_value(array: &dyn Array, row: usize) -> Value {
    match array.data_type() {
        DataType::Boolean => Value::Boolean(array.as_boolean().value(row)),
        DataType::Utf8 => Value::text(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => Value::text(array.as_string::<i64>().value(row)),
        DataType::Utf8View => Value::text(array.as_string_view().value(row)),
        DataType::Binary => Value::Varbinary(array.as_binary::<i32>().value(row).into()),
        DataType::LargeBinary => Value::Varbinary(array.as_binary::<i64>().value(row).into()),
        DataType::BinaryView => Value::Varbinary(array.as_binary_view().value(row).into()),
        DataType::FixedSizeBinary(_) => {
            Value::Varbinary(array.as_fixed_size_binary().value(row).into())
        }
        DataType::List(_) => list(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => list(array.as_list::<i64>().value(row)),
        DataType::ListView(_) => list(array.as_list_view::<i32>().value(row)),
        DataType::LargeListView(_) => list(array.as_list_view::<i64>().value(row)),
        DataType::FixedSizeList(..) => list(array.as_fixed_size_list().value(row)),
        DataType::Map(..) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let keys = values_of(keys.as_ref()).into_iter();
            Value::Map(keys.zip(values_of(values.as_ref())).collect())
        }
        DataType::Struct(_) => {
            let columns = array.as_struct().columns();
            Value::Row(columns.iter().map(|it| value_of(it.as_ref(), row)).collect())
        }
        _ => number(array, row),
    }
}

fn number(array: &dyn Array, row: usize) -> Value {
    fn at<T: ArrowPrimitiveType>(array: &dyn Array, row: usize) -> T::Native {
        array.as_primitive::<T>().value(row)
    }
    match array.data_type() {
        DataType::Int8 => Value::TinyInt(at::<Int8Type>(array, row)),
        DataType::Int16 => Value::SmallInt(at::<Int16Type>(array, row)),
        DataType::Int32 => Value::Integer(at::<Int32Type>(array, row)),
        DataType::Int64 => Value::BigInt(at::<Int64Type>(array, row)),
        DataType::UInt8 => Value::TinyInt((at::<UInt8Type>(array, row) ^ 1 << 7) as i8),
        DataType::UInt16 => Value::SmallInt((at::<UInt16Type>(array, row) ^ 1 << 15) as i16),
        DataType::UInt32 => Value::Integer((at::<UInt32Type>(array, row) ^ 1 << 31) as i32),
        DataType::UInt64 => Value::BigInt((at::<UInt64Type>(array, row) ^ 1 << 63) as i64),
        DataType::Float16 => Value::Real(at::<Float16Type>(array, row).to_f32()),
        DataType::Float32 => Value::Real(at::<Float32Type>(array, row)),
        DataType::Float64 => Value::Double(at::<Float64Type>(array, row)),
        DataType::Decimal32(..) => Value::Decimal(at::<Decimal32Type>(array, row).into()),
        DataType::Decimal64(..) => Value::Decimal(at::<Decimal64Type>(array, row).into()),
        DataType::Decimal128(..) => Value::Decimal(at::<Decimal128Type>(array, row)),
        DataType::Date32 => Value::Date(at::<Date32Type>(array, row)),
        DataType::Date64 => Value::Date(at::<Date64Type>(array, row).div_euclid(DAY_MILLIS) as i32),
        DataType::Time32(TimeUnit::Second) => {
            Value::Time(i64::from(at::<Time32SecondType>(array, row)) * 1_000_000)
        }
        DataType::Time32(_) => {
            Value::Time(i64::from(at::<Time32MillisecondType>(array, row)) * 1000)
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            Value::Time(at::<Time64NanosecondType>(array, row).div_euclid(1000))
        }
        DataType::Time64(_) => Value::Time(at::<Time64MicrosecondType>(array, row)),
        DataType::Timestamp(TimeUnit::Second, None) => {
            Value::BigInt(at::<TimestampSecondType>(array, row))
        }
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            Value::BigInt(at::<TimestampMillisecondType>(array, row))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, None) => {
            Value::BigInt(at::<TimestampNanosecondType>(array, row))
        }
        DataType::Timestamp(TimeUnit::Second, _) => {
            Value::Timestamp(at::<TimestampSecondType>(array, row) * 1_000_000)
        }
        DataType::Timestamp(TimeUnit::Millisecond, _) => {
            Value::Timestamp(at::<TimestampMillisecondType>(array, row) * 1000)
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            Value::Timestamp(at::<TimestampMicrosecondType>(array, row))
        }
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            Value::Timestamp(at::<TimestampNanosecondType>(array, row).div_euclid(1000))
        }
        DataType::Duration(unit) => {
            let nanos = match unit {
                TimeUnit::Second => at::<DurationSecondType>(array, row) * 1_000_000_000,
                TimeUnit::Millisecond => at::<DurationMillisecondType>(array, row) * 1_000_000,
                TimeUnit::Microsecond => at::<DurationMicrosecondType>(array, row) * 1000,
                TimeUnit::Nanosecond => at::<DurationNanosecondType>(array, row),
            };
            Value::Interval(Interval::new(0, 0, nanos))
        }
        DataType::Interval(IntervalUnit::YearMonth) => {
            Value::Interval(Interval::new(at::<IntervalYearMonthType>(array, row), 0, 0))
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            let value = at::<IntervalDayTimeType>(array, row);
            let nanos = i64::from(value.milliseconds) * 1_000_000;
            Value::Interval(Interval::new(0, value.days, nanos))
        }
        DataType::Interval(_) => Value::Interval(at::<IntervalMonthDayNanoType>(array, row)),
        other => panic!("no model of {other}"),
    }
}
