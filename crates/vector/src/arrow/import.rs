//! Arrow arrays as vectors.

use super::{
    data_type::{fixed_size, type_of_field},
    type_from_arrow,
};
use crate::{Batch, FixedArrays, Nested, StringBuilder, StringValues, StringView, Values, Vector};
use arrow_array::{
    Array, ArrowPrimitiveType, GenericByteArray, GenericListArray, GenericListViewArray,
    OffsetSizeTrait, RecordBatch, cast::AsArray, types::*,
};
use arrow_buffer::{ArrowNativeType, Buffer, ScalarBuffer};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{
    Interval, Native, Type,
    custom::{SignFlipped, Uuid, stored_bits},
};

const MICROS_PER_SECOND: i64 = 1_000_000;
const MILLIS_PER_DAY: i64 = 86_400_000;

/// The record batch's columns as vectors.
///
/// # Errors
///
/// As [`from_arrow`].
pub fn batch_from_arrow(batch: &RecordBatch) -> Result<Batch> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns.map(|(array, field)| field_from_arrow(array.as_ref(), field));
    Ok(Batch::new(columns.collect::<Result<_>>()?, batch.num_rows()))
}

/// The array of a field as a vector of the type that
/// [`schema_from_arrow`](super::schema_from_arrow) gives the field, which may name an extension
/// type.
///
/// # Errors
///
/// As [`from_arrow`].
pub fn field_from_arrow(array: &dyn Array, field: &Field) -> Result<Vector> {
    match (array.data_type(), type_of_field(field)?) {
        (DataType::FixedSizeBinary(16), to) if to == Uuid::data_type() => Ok(uuids(array, to)),
        _ => from_arrow(array),
    }
}

/// 16 bytes each as UUIDs.
fn uuids(array: &dyn Array, to: Type) -> Vector {
    let bits = |bytes: Option<&[u8]>| {
        let bytes = bytes.and_then(|it| <[u8; 16]>::try_from(it).ok());
        stored_bits(u128::from_be_bytes(bytes.unwrap_or_default()))
    };
    let values: Vec<i128> = array.as_fixed_size_binary().iter().map(bits).collect();
    Vector::native(to, values, array.nulls().cloned())
}

/// The array as a vector of [`type_from_arrow`]'s type, sharing buffers where the layouts agree.
///
/// # Errors
///
/// Unsupported types; values that leave the range of the logical type, such as timestamps in
/// seconds with a time zone.
pub fn from_arrow(array: &dyn Array) -> Result<Vector> {
    let to = type_from_arrow(array.data_type())?;
    let nulls = array.nulls().cloned();
    let flat = |values: Values| Ok(Vector::flat(to.clone(), values, nulls.clone()));
    match array.data_type() {
        DataType::Null => flat(Values::Null(array.len())),
        DataType::Boolean => flat(Values::Boolean(array.as_boolean().values().clone())),
        DataType::Int8 => same::<Int8Type>(array, to),
        DataType::Int16 => same::<Int16Type>(array, to),
        DataType::Int32 => same::<Int32Type>(array, to),
        DataType::Int64 => same::<Int64Type>(array, to),
        DataType::UInt8 => unsigned::<UInt8Type, i8>(array, to),
        DataType::UInt16 => unsigned::<UInt16Type, i16>(array, to),
        DataType::UInt32 => unsigned::<UInt32Type, i32>(array, to),
        DataType::UInt64 => unsigned::<UInt64Type, i64>(array, to),
        DataType::Float16 => convert::<Float16Type, f32>(array, to, |it| Some(it.to_f32())),
        DataType::Float32 => same::<Float32Type>(array, to),
        DataType::Float64 => same::<Float64Type>(array, to),
        DataType::Decimal32(..) => convert::<Decimal32Type, i64>(array, to, |it| Some(it.into())),
        DataType::Decimal64(..) => same::<Decimal64Type>(array, to),
        DataType::Decimal128(precision, _) if *precision <= 18 => {
            convert::<Decimal128Type, i64>(array, to, |it| it.try_into().ok())
        }
        DataType::Decimal128(..) => same::<Decimal128Type>(array, to),
        DataType::Utf8 => offset_strings(array.as_string::<i32>(), to),
        DataType::LargeUtf8 => offset_strings(array.as_string::<i64>(), to),
        DataType::Binary => offset_strings(array.as_binary::<i32>(), to),
        DataType::LargeBinary => offset_strings(array.as_binary::<i64>(), to),
        DataType::Utf8View => {
            let array = array.as_string_view();
            flat(views(array.views(), array.data_buffers()))
        }
        DataType::BinaryView => {
            let array = array.as_binary_view();
            flat(views(array.views(), array.data_buffers()))
        }
        DataType::FixedSizeBinary(_) => {
            let mut builder = StringBuilder::with_capacity(array.len());
            array.as_fixed_size_binary().iter().for_each(|it| builder.push(it.unwrap_or_default()));
            flat(Values::View(builder.finish()))
        }
        DataType::Date32 | DataType::Date64 | DataType::Time32(_) | DataType::Time64(_) => {
            date_or_time(array, to)
        }
        DataType::Timestamp(TimeUnit::Second, None) => same::<TimestampSecondType>(array, to),
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            same::<TimestampMillisecondType>(array, to)
        }
        DataType::Timestamp(TimeUnit::Nanosecond, None) => {
            same::<TimestampNanosecondType>(array, to)
        }
        DataType::Timestamp(unit, _) => timestamp(array, *unit, to),
        DataType::Interval(_) | DataType::Duration(_) => interval(array, to),
        _ => nested(array, to),
    }
}

/// An array whose elements are those of the vector: shares the buffer.
fn same<T: ArrowPrimitiveType<Native: Native>>(array: &dyn Array, to: Type) -> Result<Vector> {
    let array = array.as_primitive::<T>();
    Ok(Vector::native(to, array.values().clone(), array.nulls().cloned()))
}

/// An array of unsigned integers.
fn unsigned<T: ArrowPrimitiveType, N: SignFlipped<Number = T::Native>>(
    array: &dyn Array,
    to: Type,
) -> Result<Vector> {
    let array = array.as_primitive::<T>();
    let values: Vec<N> = array.values().iter().map(|it| N::stored(*it)).collect();
    Ok(Vector::native(to, values, array.nulls().cloned()))
}

/// An array whose elements are converted one by one; `None` is out of range.
fn convert<T: ArrowPrimitiveType, N: Native>(
    array: &dyn Array,
    to: Type,
    f: impl Fn(T::Native) -> Option<N>,
) -> Result<Vector> {
    let array = array.as_primitive::<T>();
    let mut values: Vec<N> = Vec::with_capacity(array.len());
    for (row, value) in array.values().iter().enumerate() {
        match f(*value) {
            Some(value) => values.push(value),
            None if array.is_null(row) => values.push(N::default()),
            None => {
                return Err(Error::invalid_value(format!(
                    "value out of range for {to}: {value:?}"
                )));
            }
        }
    }
    Ok(Vector::native(to, values, array.nulls().cloned()))
}

fn views(views: &ScalarBuffer<u128>, buffers: &[Buffer]) -> Values {
    Values::View(StringValues::new(views.clone(), buffers.into()))
}

/// Strings with offsets: views into the same data, unless it is too large for them.
fn offset_strings<T: ByteArrayType>(array: &GenericByteArray<T>, to: Type) -> Result<Vector> {
    let (offsets, data) = (array.value_offsets(), array.value_data());
    if data.len() > u32::MAX as usize {
        let mut builder = StringBuilder::with_capacity(array.len());
        offsets.windows(2).for_each(|it| builder.push(&data[it[0].as_usize()..it[1].as_usize()]));
        return Ok(Vector::strings(to, builder.finish(), array.nulls().cloned()));
    }
    let view = |pair: &[T::Offset]| {
        let (start, end) = (pair[0].as_usize(), pair[1].as_usize());
        StringView::new(&data[start..end], 0, start as u32)
    };
    let views: Vec<u128> = offsets.windows(2).map(view).collect();
    let values = StringValues::new(views.into(), [array.values().clone()].into());
    Ok(Vector::strings(to, values, array.nulls().cloned()))
}

fn date_or_time(array: &dyn Array, to: Type) -> Result<Vector> {
    match array.data_type() {
        DataType::Date32 => same::<Date32Type>(array, to),
        DataType::Date64 => convert::<Date64Type, i32>(array, to, |it| {
            it.div_euclid(MILLIS_PER_DAY).try_into().ok()
        }),
        DataType::Time32(TimeUnit::Second) => convert::<Time32SecondType, i64>(array, to, |it| {
            Some(i64::from(it) * MICROS_PER_SECOND)
        }),
        DataType::Time32(_) => {
            convert::<Time32MillisecondType, i64>(array, to, |it| Some(i64::from(it) * 1000))
        }
        DataType::Time64(TimeUnit::Nanosecond) => {
            convert::<Time64NanosecondType, i64>(array, to, |it| Some(it.div_euclid(1000)))
        }
        _ => same::<Time64MicrosecondType>(array, to),
    }
}

fn timestamp(array: &dyn Array, unit: TimeUnit, to: Type) -> Result<Vector> {
    match unit {
        TimeUnit::Second => {
            convert::<TimestampSecondType, i64>(array, to, |it| it.checked_mul(MICROS_PER_SECOND))
        }
        TimeUnit::Millisecond => {
            convert::<TimestampMillisecondType, i64>(array, to, |it| it.checked_mul(1000))
        }
        TimeUnit::Microsecond => same::<TimestampMicrosecondType>(array, to),
        TimeUnit::Nanosecond => {
            convert::<TimestampNanosecondType, i64>(array, to, |it| Some(it.div_euclid(1000)))
        }
    }
}

fn interval(array: &dyn Array, to: Type) -> Result<Vector> {
    let nanos = |it: i64, scale: i64| it.checked_mul(scale).map(|it| Interval::new(0, 0, it));
    match array.data_type() {
        DataType::Interval(IntervalUnit::YearMonth) => {
            convert::<IntervalYearMonthType, Interval>(array, to, |it| {
                Some(Interval::new(it, 0, 0))
            })
        }
        DataType::Interval(IntervalUnit::DayTime) => {
            convert::<IntervalDayTimeType, Interval>(array, to, |it| {
                Some(Interval::new(0, it.days, i64::from(it.milliseconds) * 1_000_000))
            })
        }
        DataType::Duration(TimeUnit::Second) => {
            convert::<DurationSecondType, Interval>(array, to, |it| nanos(it, 1_000_000_000))
        }
        DataType::Duration(TimeUnit::Millisecond) => {
            convert::<DurationMillisecondType, Interval>(array, to, |it| nanos(it, 1_000_000))
        }
        DataType::Duration(TimeUnit::Microsecond) => {
            convert::<DurationMicrosecondType, Interval>(array, to, |it| nanos(it, 1000))
        }
        DataType::Duration(TimeUnit::Nanosecond) => {
            convert::<DurationNanosecondType, Interval>(array, to, |it| nanos(it, 1))
        }
        _ => {
            let values = array.as_primitive::<IntervalMonthDayNanoType>().values().clone();
            Ok(Vector::native(to, aligned(values), array.nulls().cloned()))
        }
    }
}

/// Intervals at addresses that are multiples of 16, where kernels read them as one number each;
/// Arrow asks for multiples of 8 only.
fn aligned(values: ScalarBuffer<Interval>) -> ScalarBuffer<Interval> {
    if (values.as_ptr() as usize).is_multiple_of(align_of::<u128>()) {
        return values;
    }
    ScalarBuffer::new(Buffer::from(values.inner().as_slice()), 0, values.len())
}

fn nested(array: &dyn Array, to: Type) -> Result<Vector> {
    let nulls = array.nulls().cloned();
    let values = match array.data_type() {
        DataType::List(of) => Values::Array(from_list(array.as_list::<i32>(), of)?),
        DataType::LargeList(of) => Values::Array(from_list(array.as_list::<i64>(), of)?),
        DataType::ListView(of) => Values::Array(from_list_view(array.as_list_view::<i32>(), of)?),
        DataType::LargeListView(of) => {
            Values::Array(from_list_view(array.as_list_view::<i64>(), of)?)
        }
        DataType::FixedSizeList(of, size) if fixed_size(*size).is_some() => {
            let elements = array.as_fixed_size_list().values();
            let elements = Arc::new(field_from_arrow(elements.as_ref(), of)?);
            Values::FixedArray(FixedArrays { size: *size as usize, len: array.len(), elements })
        }
        DataType::FixedSizeList(of, size) => {
            let elements = array.as_fixed_size_list().values();
            let elements = Arc::new(field_from_arrow(elements.as_ref(), of)?);
            let offsets = (0..array.len()).map(|row| narrow(row * *size as usize));
            let offsets: Vec<i32> = offsets.collect::<Result<_>>()?;
            let sizes = vec![*size; array.len()].into();
            Values::Array(Nested { offsets: offsets.into(), sizes, elements })
        }
        DataType::Map(..) => {
            let map = array.as_map();
            if map.entries().null_count() > 0 || map.keys().logical_null_count() > 0 {
                return Err(Error::invalid_value("map entry without a key in an Arrow array"));
            }
            let elements = from_arrow(map.entries())?.with_fields_of_entries();
            Values::Map(with_offsets(map.value_offsets(), elements)?)
        }
        DataType::Struct(fields) => {
            let children = array.as_struct().columns().iter().zip(fields);
            let children = children.map(|(it, of)| field_from_arrow(it.as_ref(), of));
            Values::Row { children: children.collect::<Result<_>>()?, len: array.len() }
        }
        DataType::Dictionary(..) => return dictionary(array),
        DataType::RunEndEncoded(ends, _) => return runs(array, ends.data_type()),
        other => return Err(Error::unsupported(format!("unsupported Arrow type: {other}"))),
    };
    Ok(Vector::flat(to, values, nulls))
}

fn from_list<O: OffsetSizeTrait>(array: &GenericListArray<O>, of: &Field) -> Result<Nested> {
    with_offsets(array.value_offsets(), field_from_arrow(array.values().as_ref(), of)?)
}

fn with_offsets<O: OffsetSizeTrait>(offsets: &[O], elements: Vector) -> Result<Nested> {
    let starts = offsets.iter().take(offsets.len().saturating_sub(1));
    let starts: Vec<i32> = starts.map(|it| narrow(it.as_usize())).collect::<Result<_>>()?;
    let sizes = offsets.windows(2).map(|it| narrow(it[1].as_usize() - it[0].as_usize()));
    let sizes: Vec<i32> = sizes.collect::<Result<_>>()?;
    Ok(Nested { offsets: starts.into(), sizes: sizes.into(), elements: Arc::new(elements) })
}

fn from_list_view<O: OffsetSizeTrait>(
    array: &GenericListViewArray<O>,
    of: &Field,
) -> Result<Nested> {
    let narrowed = |values: &ScalarBuffer<O>| -> Result<ScalarBuffer<i32>> {
        if !O::IS_LARGE {
            return Ok(ScalarBuffer::new(values.inner().clone(), 0, values.len()));
        }
        Ok(values.iter().map(|it| narrow(it.as_usize())).collect::<Result<Vec<_>>>()?.into())
    };
    Ok(Nested {
        offsets: narrowed(array.offsets())?,
        sizes: narrowed(array.sizes())?,
        elements: Arc::new(field_from_arrow(array.values().as_ref(), of)?),
    })
}

fn narrow(value: usize) -> Result<i32> {
    i32::try_from(value)
        .map_err(|_| Error::invalid_value("more than 2^31 list elements in one batch"))
}

fn dictionary(array: &dyn Array) -> Result<Vector> {
    let dictionary = array.as_any_dictionary();
    let base = Arc::new(from_arrow(dictionary.values().as_ref())?);
    let nulls = array.nulls().cloned();
    if base.is_empty() {
        return Ok(Vector::nulls(base.data_type().clone(), array.len()));
    }
    let codes = shared_codes(array, base.len()).unwrap_or_else(|| {
        // Keys of null rows may be anything.
        let last = base.len() - 1;
        dictionary.normalized_keys().into_iter().map(|it| it.min(last) as u32).collect()
    });
    Ok(Vector::dictionary(codes, base, nulls))
}

/// The keys as codes, when they are as wide and all of them are rows of a base of `end` rows.
fn shared_codes(array: &dyn Array, end: usize) -> Option<ScalarBuffer<u32>> {
    let codes: ScalarBuffer<u32> = if let Some(it) = array.as_dictionary_opt::<UInt32Type>() {
        it.keys().values().clone()
    } else {
        reinterpreted(array.as_dictionary_opt::<Int32Type>()?.keys().values())
    };
    codes.iter().all(|it| (*it as usize) < end).then_some(codes)
}

/// The same buffer as numbers without a sign.
fn reinterpreted(values: &ScalarBuffer<i32>) -> ScalarBuffer<u32> {
    ScalarBuffer::new(values.inner().clone(), 0, values.len())
}

fn runs(array: &dyn Array, ends: &DataType) -> Result<Vector> {
    match ends {
        DataType::Int16 => runs_of::<Int16Type>(array),
        DataType::Int32 => runs_of::<Int32Type>(array),
        _ => runs_of::<Int64Type>(array),
    }
}

fn runs_of<R: RunEndIndexType>(array: &dyn Array) -> Result<Vector> {
    let runs = array
        .as_any()
        .downcast_ref::<arrow_array::RunArray<R>>()
        .ok_or_else(|| Error::internal("run-end array of another type"))?;
    let base = match array.data_type() {
        DataType::RunEndEncoded(_, of) => field_from_arrow(runs.values().as_ref(), of)?,
        _ => from_arrow(runs.values().as_ref())?,
    };
    let base = Arc::new(base);
    let ends = runs.run_ends();
    if let Some(ends) = shared_ends(array) {
        return Ok(Vector::run_length(ends, base));
    }
    let all: Vec<u32> = ends.values().iter().map(|it| row_end(it.as_usize())).collect();
    Ok(Vector::run_length(all.into(), base).slice(ends.offset(), ends.len()))
}

/// The run ends, when they are as wide as ours and the array shows all of their rows.
fn shared_ends(array: &dyn Array) -> Option<ScalarBuffer<u32>> {
    let runs = array.as_any().downcast_ref::<arrow_array::RunArray<Int32Type>>()?;
    let ends = runs.run_ends();
    let last = ends.values().last().map_or(0, |it| it.as_usize());
    let is_whole = ends.offset() == 0 && last == ends.len();
    is_whole.then(|| reinterpreted(ends.inner()))
}

/// The end of a run, which may lie far beyond the rows that an array shows.
fn row_end(end: usize) -> u32 {
    u32::try_from(end).unwrap_or(u32::MAX)
}

impl Vector {
    /// The entries of a map with its fields called `key` and `value`.
    fn with_fields_of_entries(self) -> Vector {
        let Type::Row(fields) = self.data_type().clone() else { return self };
        let [key, value] = &*fields else { return self };
        let entry = Type::map(key.data_type.clone(), value.data_type.clone()).entry_type();
        self.with_type(entry)
    }
}
