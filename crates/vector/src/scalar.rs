//! Conversions between vectors and scalars.

use crate::{
    BooleanBuffer, Decoded, FixedArrays, Nested, NullBuffer, StringBuilder, Values, Vector,
};
use std::{ops::Range, sync::Arc};
use volley_error::{Error, Result};
use volley_memory::check_cancelled;
use volley_types::{Native, PhysicalType, Type, Value, match_native};

/// How many scalars are made between two checks for cancellation.
const CHECKED_VALUES: usize = 1 << 16;

impl Vector {
    /// A flat vector of `values`.
    ///
    /// # Panics
    ///
    /// If a value is not of `data_type`.
    pub fn from_values(data_type: Type, values: &[Value]) -> Vector {
        let nulls = NullBuffer::from_iter(values.iter().map(|it| !it.is_null()));
        let nulls = Some(nulls).filter(|it| it.null_count() > 0);
        let storage = values_of(&data_type, values);
        Vector::flat(data_type, storage, nulls)
    }

    /// The value of one row. For results, literals and tests, not for loops.
    ///
    /// # Errors
    ///
    /// What a lazy vector's loader reports.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn value(&self, row: usize) -> Result<Value> {
        assert!(row < self.len(), "row beyond the vector");
        let mut values = self.loaded()?.slice(row, 1).to_values()?;
        values.pop().ok_or_else(|| Error::internal("a row without a value"))
    }

    /// All values. For results and tests.
    ///
    /// # Errors
    ///
    /// As [`Vector::value`]; the query was cancelled.
    pub fn to_values(&self) -> Result<Vec<Value>> {
        let decoded = Decoded::new(self)?;
        let parts = Parts::of(&decoded)?;
        let mut values = Vec::with_capacity(self.len());
        for start in (0..self.len()).step_by(CHECKED_VALUES) {
            if start > 0 {
                check_cancelled()?;
            }
            for row in start..self.len().min(start + CHECKED_VALUES) {
                values.push(value_of(&decoded, &parts, row)?);
            }
        }
        Ok(values)
    }
}

fn values_of(data_type: &Type, values: &[Value]) -> Values {
    match data_type.physical() {
        PhysicalType::Null => Values::Null(values.len()),
        PhysicalType::Boolean => Values::Boolean(BooleanBuffer::from_iter(
            values.iter().map(|it| expect(it, data_type, it.as_bool(), false)),
        )),
        PhysicalType::View => {
            let mut builder = StringBuilder::with_capacity(values.len());
            for value in values {
                builder.push(expect(value, data_type, bytes_of(value), &[]));
            }
            Values::View(builder.finish())
        }
        PhysicalType::Array => Values::Array(array_of(data_type, values)),
        PhysicalType::FixedArray => Values::FixedArray(fixed_arrays_of(data_type, values)),
        PhysicalType::Map => Values::Map(map_of(data_type, values)),
        PhysicalType::Row => row_of(data_type, values),
        PhysicalType::Opaque => {
            let object = |it: &Value| {
                let object = it.as_object().filter(|it| it.data_type() == *data_type).cloned();
                expect(it, data_type, object.map(Some), None)
            };
            Values::Object(values.iter().map(object).collect())
        }
        physical => match_native!(physical, T => {
            Values::from_native::<T>(values.iter().map(|it| {
                expect(it, data_type, T::from_value(it), T::default())
            }).collect())
        }, else Values::Null(values.len())),
    }
}

/// The part found in `value`, or `default` for NULL.
fn expect<T>(value: &Value, data_type: &Type, found: Option<T>, default: T) -> T {
    assert!(found.is_some() || value.is_null(), "{value:?} is not of type {data_type}");
    found.unwrap_or(default)
}

fn bytes_of(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Varchar(text) => Some(text.as_bytes()),
        Value::Varbinary(bytes) => Some(bytes),
        _ => None,
    }
}

/// A native element that a scalar can hold.
trait FromValue: Native {
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! integers_from_value {
    ($($native:ty),*) => {
        $(impl FromValue for $native {
            fn from_value(value: &Value) -> Option<$native> {
                value.as_i128().and_then(|it| <$native>::try_from(it).ok())
            }
        })*
    };
}

integers_from_value!(i8, i16, i32, i64, i128);

impl FromValue for f32 {
    fn from_value(value: &Value) -> Option<f32> {
        match value {
            Value::Real(value) => Some(*value),
            _ => None,
        }
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Option<f64> {
        match value {
            Value::Double(value) => Some(*value),
            _ => None,
        }
    }
}

impl FromValue for volley_types::Interval {
    fn from_value(value: &Value) -> Option<volley_types::Interval> {
        match value {
            Value::Interval(value) => Some(*value),
            _ => None,
        }
    }
}

fn array_of(data_type: &Type, values: &[Value]) -> Nested {
    let Type::Array(element) = data_type else { unreachable!("layout of an array") };
    let rows: Vec<&[Value]> = values
        .iter()
        .map(|it| match it {
            Value::Array(elements) => &**elements,
            other => expect(other, data_type, None, &[]),
        })
        .collect();
    let elements: Vec<Value> = rows.iter().flat_map(|it| it.iter().cloned()).collect();
    nested_of(rows.iter().map(|it| it.len()), Vector::from_values((**element).clone(), &elements))
}

fn fixed_arrays_of(data_type: &Type, values: &[Value]) -> FixedArrays {
    let Type::FixedArray(array) = data_type else { unreachable!("layout of a fixed array") };
    let size = array.1 as usize;
    let mut elements = Vec::with_capacity(values.len() * size);
    for value in values {
        match value {
            Value::Array(row) if row.len() == size => elements.extend_from_slice(row),
            other => {
                expect(other, data_type, None, ());
                elements.resize(elements.len() + size, Value::Null);
            }
        }
    }
    let elements = Arc::new(Vector::from_values(array.0.clone(), &elements));
    FixedArrays { size, len: values.len(), elements }
}

fn map_of(data_type: &Type, values: &[Value]) -> Nested {
    let rows: Vec<&[(Value, Value)]> = values
        .iter()
        .map(|it| match it {
            Value::Map(entries) => &**entries,
            other => expect(other, data_type, None, &[]),
        })
        .collect();
    let entries: Vec<Value> = rows
        .iter()
        .flat_map(|it| {
            it.iter().map(|(key, value)| Value::Row([key.clone(), value.clone()].into()))
        })
        .collect();
    nested_of(rows.iter().map(|it| it.len()), Vector::from_values(data_type.entry_type(), &entries))
}

fn nested_of(sizes: impl Iterator<Item = usize>, elements: Vector) -> Nested {
    let sizes: Vec<i32> = sizes.map(|it| it as i32).collect();
    let offsets = sizes.iter().scan(0, |end, size| {
        let start = *end;
        *end += size;
        Some(start)
    });
    Nested { offsets: offsets.collect(), sizes: sizes.into(), elements: Arc::new(elements) }
}

fn row_of(data_type: &Type, values: &[Value]) -> Values {
    let Type::Row(fields) = data_type else { unreachable!("layout of a row") };
    let child = |index: usize| {
        let column: Vec<Value> = values
            .iter()
            .map(|it| match it {
                Value::Row(fields) => fields[index].clone(),
                other => expect(other, data_type, None, Value::Null),
            })
            .collect();
        Vector::from_values(fields[index].data_type.clone(), &column)
    };
    Values::Row { children: (0..fields.len()).map(child).collect(), len: values.len() }
}

/// What nested values are made of: the values of those elements or fields that rows use.
struct Parts {
    /// Of elements; of fields, one list for each.
    values: Vec<Vec<Value>>,
    /// Which element, or row of the base, the lists begin with.
    start: usize,
}

impl Parts {
    fn of(decoded: &Decoded) -> Result<Parts> {
        let indices = (0..decoded.len()).filter(|it| !decoded.is_null(*it));
        let indices = indices.map(|row| decoded.index(row));
        let (vectors, ranges): (&[_], Vec<Range<usize>>) = match decoded.values() {
            Values::Array(nested) | Values::Map(nested) => {
                let ranges = indices.map(|it| nested.range(it)).filter(|it| !it.is_empty());
                (std::slice::from_ref(nested.elements.as_ref()), ranges.collect())
            }
            Values::FixedArray(arrays) => {
                let ranges = indices.map(|it| arrays.range(it)).collect();
                (std::slice::from_ref(arrays.elements.as_ref()), ranges)
            }
            Values::Row { children, .. } => (children, indices.map(|it| it..it + 1).collect()),
            _ => (&[], Vec::new()),
        };
        let start = ranges.iter().map(|it| it.start).min().unwrap_or(0);
        let end = ranges.iter().map(|it| it.end).max().unwrap_or(0);
        let values = vectors.iter().map(|it| it.loaded()?.slice(start, end - start).to_values());
        Ok(Parts { values: values.collect::<Result<_>>()?, start })
    }

    /// Elements of an array.
    fn elements(&self, range: Range<usize>) -> &[Value] {
        if range.is_empty() {
            return &[];
        }
        &self.values[0][range.start - self.start..range.end - self.start]
    }

    /// The fields of a row.
    fn fields(&self, index: usize) -> impl Iterator<Item = Value> + '_ {
        self.values.iter().map(move |it| it[index - self.start].clone())
    }
}

fn value_of(decoded: &Decoded, parts: &Parts, row: usize) -> Result<Value> {
    if decoded.is_null(row) {
        return Ok(Value::Null);
    }
    let index = decoded.index(row);
    Ok(match (decoded.values(), decoded.data_type().storage()) {
        (Values::Null(_), _) => Value::Null,
        (Values::Boolean(values), _) => Value::Boolean(values.value(index)),
        (Values::I8(values), _) => Value::TinyInt(values[index]),
        (Values::I16(values), _) => Value::SmallInt(values[index]),
        (Values::I32(values), Type::Date) => Value::Date(values[index]),
        (Values::I32(values), _) => Value::Integer(values[index]),
        (Values::I64(values), Type::Time) => Value::Time(values[index]),
        (Values::I64(values), Type::Timestamp) => Value::Timestamp(values[index]),
        (Values::I64(values), Type::Decimal { .. }) => Value::Decimal(values[index].into()),
        (Values::I64(values), _) => Value::BigInt(values[index]),
        (Values::I128(values), Type::Decimal { .. }) => Value::Decimal(values[index]),
        (Values::I128(values), _) => Value::HugeInt(values[index]),
        (Values::F32(values), _) => Value::Real(values[index]),
        (Values::F64(values), _) => Value::Double(values[index]),
        (Values::Interval(values), _) => Value::Interval(values[index]),
        (Values::View(values), Type::Varbinary) => Value::Varbinary(values.bytes(index).into()),
        (Values::View(values), _) => Value::Varchar(values.text(index).into()),
        (Values::Array(nested), _) => Value::Array(parts.elements(nested.range(index)).into()),
        (Values::FixedArray(arrays), _) => Value::Array(parts.elements(arrays.range(index)).into()),
        (Values::Map(nested), _) => {
            Value::Map(parts.elements(nested.range(index)).iter().map(entry_of).collect())
        }
        (Values::Row { .. }, _) => Value::Row(parts.fields(index).collect()),
        (Values::Object(objects), _) => {
            objects.get(index).cloned().map_or(Value::Null, Value::Object)
        }
    })
}

/// The value of a row of a type that is not nested.
pub(crate) fn plain_value(decoded: &Decoded, row: usize) -> Result<Value> {
    value_of(decoded, &Parts { values: Vec::new(), start: 0 }, row)
}

fn entry_of(entry: &Value) -> (Value, Value) {
    match entry {
        Value::Row(fields) if fields.len() == 2 => (fields[0].clone(), fields[1].clone()),
        _ => (Value::Null, Value::Null),
    }
}
