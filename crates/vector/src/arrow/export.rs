//! Vectors as Arrow arrays.

use super::{
    ArrowLayout,
    data_type::{row_to_arrow, type_to_arrow},
};
use crate::{Batch, Decoded, Nested, StringBuilder, Values, Vector};
use arrow_array::{
    ArrayRef, BinaryViewArray, BooleanArray, Decimal128Array, FixedSizeBinaryArray,
    FixedSizeListArray, ListArray, ListViewArray, MapArray, NullArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringViewArray, StructArray, TimestampMicrosecondArray, types::*,
};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_types::{
    Custom, Exchange, PhysicalType, Type,
    custom::{SignFlipped, TimestampUnit, bits_of},
};

/// The vector as an Arrow array of [`type_to_arrow`]'s type.
///
/// # Errors
///
/// What a lazy vector's loader reports; more list elements than the layout can address; objects,
/// which have no form in Arrow.
pub fn to_arrow(vector: &Vector, layout: ArrowLayout) -> Result<ArrayRef> {
    if let Type::Custom(custom) = vector.data_type() {
        match custom.exchange() {
            Exchange::Uuids => return uuids(vector),
            Exchange::Unsigned => return unsigned(vector, layout),
            _ => {}
        }
    }
    let flat = match vector.data_type() {
        Type::Custom(custom) => exchanged(vector, custom)?,
        _ => vector.flatten()?,
    };
    let nulls = flat.null_buffer().cloned();
    let data_type = flat.data_type();
    let Some(values) = flat.flat_values() else {
        return Err(Error::internal("flatten gave another encoding"));
    };
    Ok(match (values, data_type) {
        (Values::Null(len), _) => Arc::new(NullArray::new(*len)),
        (Values::Boolean(values), _) => Arc::new(BooleanArray::new(values.clone(), nulls)),
        (Values::I8(values), _) => primitive::<Int8Type>(values, nulls)?,
        (Values::I16(values), _) => primitive::<Int16Type>(values, nulls)?,
        (Values::I32(values), Type::Date) => primitive::<Date32Type>(values, nulls)?,
        (Values::I32(values), _) => primitive::<Int32Type>(values, nulls)?,
        (Values::I64(values), _) => of_64_bits(values, nulls, data_type)?,
        (Values::I128(values), _) => decimal(values.clone(), nulls, data_type)?,
        (Values::F32(values), _) => primitive::<Float32Type>(values, nulls)?,
        (Values::F64(values), _) => primitive::<Float64Type>(values, nulls)?,
        (Values::Interval(values), _) => primitive::<IntervalMonthDayNanoType>(values, nulls)?,
        (Values::View(values), Type::Varbinary) => {
            let array =
                BinaryViewArray::try_new(values.views.clone(), values.buffers.clone(), nulls);
            Arc::new(array.map_err(internal)?)
        }
        (Values::View(values), _) => {
            let array =
                StringViewArray::try_new(values.views.clone(), values.buffers.clone(), nulls);
            Arc::new(array.map_err(internal)?)
        }
        (Values::Array(nested), _) => list(nested, nulls, data_type, layout)?,
        (Values::Map(nested), _) => map(nested, nulls, data_type, layout)?,
        (Values::FixedArray(arrays), _) => {
            let DataType::FixedSizeList(field, size) = type_to_arrow(data_type, layout) else {
                return Err(Error::internal("storage of a fixed size of another type"));
            };
            let elements = to_arrow(&arrays.elements, layout)?;
            let array = FixedSizeListArray::try_new(field, size, elements, nulls);
            Arc::new(array.map_err(internal)?)
        }
        (Values::Object(_), _) => {
            let message = format!("values of the type {data_type} have no form in Arrow");
            return Err(Error::unsupported(message).hint("cast them to VARCHAR"));
        }
        (Values::Row { children, len }, Type::Row(fields)) => {
            let fields = row_to_arrow(fields, layout);
            let arrays = children.iter().map(|it| to_arrow(it, layout)).collect::<Result<_>>()?;
            let array = StructArray::try_new_with_length(fields, arrays, nulls, *len);
            Arc::new(array.map_err(internal)?)
        }
        (Values::Row { .. }, _) => return Err(Error::internal("row storage of another type")),
    })
}

/// Values of 64 bits: integers, decimals of few digits, and points in time.
fn of_64_bits(
    values: &ScalarBuffer<i64>,
    nulls: Option<NullBuffer>,
    data_type: &Type,
) -> Result<ArrayRef> {
    match data_type {
        Type::Time => primitive::<Time64MicrosecondType>(values, nulls),
        Type::Timestamp => primitive::<TimestampMicrosecondType>(values, nulls),
        Type::Decimal { .. } => {
            let wide: Vec<i128> = values.iter().map(|it| i128::from(*it)).collect();
            decimal(wide.into(), nulls, data_type)
        }
        Type::Custom(custom) => match custom.exchange() {
            Exchange::Timestamps(TimestampUnit::Second) => {
                primitive::<TimestampSecondType>(values, nulls)
            }
            Exchange::Timestamps(TimestampUnit::Millisecond) => {
                primitive::<TimestampMillisecondType>(values, nulls)
            }
            Exchange::Timestamps(TimestampUnit::Nanosecond) => {
                primitive::<TimestampNanosecondType>(values, nulls)
            }
            _ => instants(values, nulls),
        },
        _ => primitive::<Int64Type>(values, nulls),
    }
}

/// Timestamps in UTC.
fn instants(values: &ScalarBuffer<i64>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let array = TimestampMicrosecondArray::try_new(values.clone(), nulls);
    Ok(Arc::new(array.map_err(internal)?.with_timezone("UTC")))
}

/// UUIDs as their bytes.
fn uuids(vector: &Vector) -> Result<ArrayRef> {
    let decoded = Decoded::new(vector)?;
    let values = decoded.native::<i128>();
    let mut bytes = Vec::with_capacity(vector.len() * 16);
    for row in 0..vector.len() {
        bytes.extend_from_slice(&bits_of(values[decoded.index(row)]).to_be_bytes());
    }
    let array = FixedSizeBinaryArray::try_new(16, bytes.into(), decoded.nulls());
    Ok(Arc::new(array.map_err(internal)?))
}

/// Unsigned integers; those of 128 bits as decimals.
///
/// # Errors
///
/// A number that a decimal of 128 bits cannot hold.
fn unsigned(vector: &Vector, layout: ArrowLayout) -> Result<ArrayRef> {
    fn numbers<T: ArrowPrimitiveType, N: SignFlipped<Number = T::Native>>(
        values: &[N],
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let numbers: ScalarBuffer<T::Native> = values.iter().map(|it| it.number()).collect();
        primitive::<T>(&numbers, nulls)
    }
    let flat = vector.flatten()?;
    let nulls = flat.null_buffer().cloned();
    match flat.flat_values() {
        Some(Values::I8(values)) => numbers::<UInt8Type, i8>(values, nulls),
        Some(Values::I16(values)) => numbers::<UInt16Type, i16>(values, nulls),
        Some(Values::I32(values)) => numbers::<UInt32Type, i32>(values, nulls),
        Some(Values::I64(values)) => numbers::<UInt64Type, i64>(values, nulls),
        Some(Values::I128(values)) => {
            let is_null = |row| nulls.as_ref().is_some_and(|it| it.is_null(row));
            let number = |(row, it): (usize, &i128)| match i128::try_from(it.number()) {
                Ok(number) => Ok(number),
                Err(_) if is_null(row) => Ok(0),
                Err(_) => {
                    let message = format!("UHUGEINT value has too many digits: {}", it.number());
                    Err(Error::invalid_value(message).hint("cast it to VARCHAR or DOUBLE"))
                }
            };
            let numbers = values.iter().enumerate().map(number).collect::<Result<Vec<i128>>>()?;
            let array = Decimal128Array::try_new(numbers.into(), nulls).map_err(internal)?;
            Ok(Arc::new(array.with_data_type(type_to_arrow(vector.data_type(), layout))))
        }
        _ => Err(Error::internal("unsigned integers in a layout that is none of integers")),
    }
}

/// A flat vector of a built-in type for one of a custom type.
fn exchanged(vector: &Vector, custom: &Custom) -> Result<Vector> {
    match custom.exchange() {
        Exchange::Instants | Exchange::Timestamps(_) => vector.flatten(),
        Exchange::Json => vector.flatten()?.with_type(Type::Varchar).flatten(),
        Exchange::Uuids | Exchange::Unsigned => {
            Err(Error::internal(format!("values of {} in their storage type", custom.name())))
        }
        Exchange::Storage => vector.flatten()?.with_type(custom.storage().clone()).flatten(),
        Exchange::Text => {
            let mut builder = StringBuilder::with_capacity(vector.len());
            let decoded = Decoded::new(vector)?;
            let mut text = String::new();
            for value in vector.to_values()? {
                text.clear();
                if !value.is_null() {
                    custom.push(&mut text, &value);
                }
                builder.push(text.as_bytes());
            }
            Ok(Vector::strings(Type::Varchar, builder.finish(), decoded.nulls()))
        }
    }
}

/// The batch as a record batch of `schema`, which must be [`super::schema_to_arrow`]'s with the
/// same layout.
///
/// # Errors
///
/// As [`to_arrow`].
pub fn batch_to_arrow(
    batch: &Batch,
    schema: &SchemaRef,
    layout: ArrowLayout,
) -> Result<RecordBatch> {
    let columns = batch.columns().iter().map(|it| to_arrow(it, layout)).collect::<Result<_>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(internal)
}

fn primitive<T: ArrowPrimitiveType>(
    values: &ScalarBuffer<T::Native>,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values.clone(), nulls).map_err(internal)?))
}

fn decimal(
    values: ScalarBuffer<i128>,
    nulls: Option<NullBuffer>,
    data_type: &Type,
) -> Result<ArrayRef> {
    let array = Decimal128Array::try_new(values, nulls).map_err(internal)?;
    Ok(Arc::new(array.with_data_type(type_to_arrow(data_type, ArrowLayout::Native))))
}

fn list(
    nested: &Nested,
    nulls: Option<NullBuffer>,
    data_type: &Type,
    layout: ArrowLayout,
) -> Result<ArrayRef> {
    let (DataType::List(field) | DataType::ListView(field)) = type_to_arrow(data_type, layout)
    else {
        return Err(Error::internal("list storage of another type"));
    };
    if layout == ArrowLayout::Native {
        let elements = to_arrow(&nested.elements, layout)?;
        let (offsets, sizes) = (nested.offsets.clone(), nested.sizes.clone());
        let array = ListViewArray::try_new(field, offsets, sizes, elements, nulls);
        return Ok(Arc::new(array.map_err(internal)?));
    }
    let (offsets, elements) = compact(nested, nulls.as_ref())?;
    let array = ListArray::try_new(field, offsets, to_arrow(&elements, layout)?, nulls);
    Ok(Arc::new(array.map_err(internal)?))
}

fn map(
    nested: &Nested,
    nulls: Option<NullBuffer>,
    data_type: &Type,
    layout: ArrowLayout,
) -> Result<ArrayRef> {
    let DataType::Map(field, sorted) = type_to_arrow(data_type, layout) else {
        return Err(Error::internal("map storage of another type"));
    };
    let (offsets, entries) = compact(nested, nulls.as_ref())?;
    let entries = entries.flatten()?;
    let (Some(Values::Row { children, .. }), DataType::Struct(fields)) =
        (entries.flat_values(), field.data_type())
    else {
        return Err(Error::internal("map entries are not rows"));
    };
    let arrays = children.iter().map(|it| to_arrow(it, layout)).collect::<Result<_>>()?;
    let entries = StructArray::try_new(fields.clone(), arrays, None).map_err(internal)?;
    let array = MapArray::try_new(field, offsets, entries, nulls, sorted).map_err(internal)?;
    Ok(Arc::new(array))
}

/// Elements in row order without gaps, and where each row ends. Null rows become empty.
fn compact(nested: &Nested, nulls: Option<&NullBuffer>) -> Result<(OffsetBuffer<i32>, Vector)> {
    let rows = nested.offsets.len();
    let mut indices: Vec<u32> = Vec::new();
    let mut offsets: Vec<i32> = Vec::with_capacity(rows + 1);
    offsets.push(0);
    for row in 0..rows {
        if nulls.is_none_or(|it| it.is_valid(row)) {
            indices.extend(nested.range(row).map(|it| it as u32));
        }
        let end = i32::try_from(indices.len())
            .map_err(|_| Error::invalid_value("more than 2^31 list elements in one batch"))?;
        offsets.push(end);
    }
    let contiguous = indices.iter().enumerate().all(|(i, it)| i == *it as usize);
    let elements = if contiguous && nested.elements.data_type().physical() != PhysicalType::Null {
        nested.elements.flatten()?.slice(0, indices.len())
    } else {
        nested.elements.gather(&indices)?
    };
    Ok((OffsetBuffer::new(offsets.into()), elements))
}

fn internal(error: ArrowError) -> Error {
    Error::internal(format!("vector is no valid Arrow array: {error}"))
}
