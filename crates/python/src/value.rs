//! Python objects as values of the engine: parameters, literals, cells of lists and dictionaries.

use crate::error::type_error;
use pyo3::{
    prelude::*,
    types::{
        PyBool, PyBytes, PyDate, PyDateAccess, PyDateTime, PyDelta, PyDeltaAccess, PyDict, PyFloat,
        PyInt, PyList, PyString, PyTime, PyTimeAccess, PyTuple, PyTzInfoAccess,
    },
};
use std::sync::Arc;
use volley::{Error, Field, Parameter, Result, Type, Value};
use volley_types::{
    Interval, civil, common_type,
    custom::{CustomType, TimestampTz, Uuid},
};

/// Levels of nested lists and dictionaries that are followed.
const DEPTH_MAX: usize = 64;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// A value and its type.
pub(crate) type Typed = (Value, Type);

/// The parameter that an object is.
pub(crate) fn parameter(object: &Bound<'_, PyAny>) -> PyResult<Parameter> {
    let (value, data_type) = typed(object)?;
    Ok(Parameter::new(value, data_type))
}

/// The value that an object is, and its type: that of a literal of SQL, if there is one.
pub(crate) fn typed(object: &Bound<'_, PyAny>) -> PyResult<Typed> {
    typed_at(object, 0)
}

fn typed_at(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Typed> {
    let py = object.py();
    if depth > DEPTH_MAX {
        return Err(type_error(py, "nested too deeply: more than 64 levels of lists"));
    }
    if object.is_none() {
        return Ok((Value::Null, Type::Unknown));
    }
    if let Ok(it) = object.cast::<PyBool>() {
        return Ok((Value::Boolean(it.is_true()), Type::Boolean));
    }
    if object.is_instance_of::<PyInt>() {
        return integer(object);
    }
    if object.is_instance_of::<PyFloat>() {
        return Ok((Value::Double(object.extract()?), Type::Double));
    }
    if let Ok(it) = object.cast::<PyString>() {
        return Ok((Value::text(it.to_cow()?), Type::Varchar));
    }
    if let Ok(it) = object.cast::<PyBytes>() {
        return Ok((Value::Varbinary(it.as_bytes().into()), Type::Varbinary));
    }
    if let Some(it) = date_or_time(object)? {
        return Ok(it);
    }
    if let Ok(it) = object.cast::<PyList>() {
        let items: Vec<_> = it.iter().collect();
        return array(&items, depth);
    }
    if let Ok(it) = object.cast::<PyTuple>() {
        let items: Vec<_> = it.iter().collect();
        return array(&items, depth);
    }
    if let Ok(it) = object.cast::<PyDict>() {
        return row(it, depth);
    }
    by_class(object, depth)
}

fn integer(object: &Bound<'_, PyAny>) -> PyResult<Typed> {
    if let Ok(it) = object.extract::<i32>() {
        return Ok((Value::Integer(it), Type::Integer));
    }
    if let Ok(it) = object.extract::<i64>() {
        return Ok((Value::BigInt(it), Type::BigInt));
    }
    // Not i128's own conversion, which the stable interface of Python lacks.
    let text = object.str()?.to_string();
    let wide = text.parse::<i128>();
    let wide = wide.map_err(|_| {
        let message = format!("integer out of range of HUGEINT: {text}");
        crate::error::exception(object.py(), &Error::invalid_value(message), None)
    })?;
    Ok((Value::HugeInt(wide), Type::HugeInt))
}

fn date_or_time(object: &Bound<'_, PyAny>) -> PyResult<Option<Typed>> {
    if let Ok(it) = object.cast::<PyDateTime>() {
        let micros = days(it) * MICROS_PER_DAY + micros_of_day(it);
        return Ok(Some(match it.get_tzinfo() {
            None => (Value::Timestamp(micros), Type::Timestamp),
            Some(_) => {
                let offset = it.call_method0("utcoffset")?;
                let offset = delta_micros(offset.cast::<PyDelta>()?);
                (Value::Timestamp(micros - offset), TimestampTz::data_type())
            }
        }));
    }
    if let Ok(it) = object.cast::<PyDate>() {
        let days = i32::try_from(days(it)).unwrap_or(i32::MAX);
        return Ok(Some((Value::Date(days), Type::Date)));
    }
    if let Ok(it) = object.cast::<PyTime>() {
        return Ok(Some((Value::Time(micros_of_day(it)), Type::Time)));
    }
    if let Ok(it) = object.cast::<PyDelta>() {
        let nanos =
            (i64::from(it.get_seconds()) * 1_000_000 + i64::from(it.get_microseconds())) * 1000;
        let interval = Interval::new(0, it.get_days(), nanos);
        return Ok(Some((Value::Interval(interval), Type::Interval)));
    }
    Ok(None)
}

fn days(date: &impl PyDateAccess) -> i64 {
    let (month, day) = (u32::from(date.get_month()), u32::from(date.get_day()));
    civil::days_of_civil(i64::from(date.get_year()), month, day)
}

fn micros_of_day(time: &impl PyTimeAccess) -> i64 {
    let minutes = i64::from(time.get_hour()) * 60 + i64::from(time.get_minute());
    (minutes * 60 + i64::from(time.get_second())) * 1_000_000 + i64::from(time.get_microsecond())
}

fn delta_micros(delta: &Bound<'_, PyDelta>) -> i64 {
    let seconds = i64::from(delta.get_days()) * 86_400 + i64::from(delta.get_seconds());
    seconds * 1_000_000 + i64::from(delta.get_microseconds())
}

fn array(items: &[Bound<'_, PyAny>], depth: usize) -> PyResult<Typed> {
    let values = items.iter().map(|it| typed_at(it, depth + 1)).collect::<PyResult<Vec<_>>>()?;
    let py = items.first().map(Bound::py);
    let (values, element) = same_type(values).map_err(|it| match py {
        Some(py) => crate::error::exception(py, &it, None),
        None => pyo3::exceptions::PyTypeError::new_err(it.to_string()),
    })?;
    Ok((Value::Array(values.into()), Type::array(element)))
}

fn row(fields: &Bound<'_, PyDict>, depth: usize) -> PyResult<Typed> {
    let (mut values, mut types) = (Vec::new(), Vec::new());
    for (name, value) in fields.iter() {
        let Ok(name) = name.cast::<PyString>() else {
            return Err(type_error(fields.py(), "keys of a dictionary in a cell must be text"));
        };
        let (value, data_type) = typed_at(&value, depth + 1)?;
        types.push(Field::new(name.to_cow()?, data_type));
        values.push(value);
    }
    Ok((Value::Row(values.into()), Type::Row(types.into())))
}

/// Objects of other classes: decimals, UUIDs, scalars of numpy and pandas.
fn by_class(object: &Bound<'_, PyAny>, depth: usize) -> PyResult<Typed> {
    let py = object.py();
    let class = object.get_type();
    let name = class.name()?.to_string();
    match name.as_str() {
        "Decimal" => decimal(object),
        "UUID" => {
            let text = object.str()?;
            let uuid = Uuid.parse(&text.to_cow()?);
            uuid.map(|it| (it, Uuid::data_type())).ok_or_else(|| type_error(py, "no such UUID"))
        }
        "bytearray" | "memoryview" => {
            let bytes: Vec<u8> = py.get_type::<PyBytes>().call1((object,))?.extract()?;
            Ok((Value::Varbinary(bytes.into()), Type::Varbinary))
        }
        "NaTType" | "NAType" => Ok((Value::Null, Type::Unknown)),
        // Scalars of numpy know their nearest object of Python.
        _ if object.hasattr("item")? && object.hasattr("dtype")? => {
            typed_at(&object.call_method0("tolist")?, depth + 1)
        }
        _ => {
            let message = format!("no type of SQL for a Python object of class {name}");
            Err(type_error(py, &message))
        }
    }
}

fn decimal(object: &Bound<'_, PyAny>) -> PyResult<Typed> {
    let py = object.py();
    let text = object.call_method1("__format__", ("f",))?.extract::<String>()?;
    let misfit = || {
        let message = format!("not a DECIMAL of at most 38 digits: {text}");
        crate::error::exception(py, &Error::invalid_value(message), None)
    };
    let fraction = text.split_once('.').map_or("", |it| it.1);
    let scale = u8::try_from(fraction.len()).ok().filter(|it| *it <= 38).ok_or_else(misfit)?;
    let digits: String = text.chars().filter(|it| *it != '.').collect();
    let unscaled = digits.parse::<i128>().map_err(|_| misfit())?;
    let count = u8::try_from(unscaled.unsigned_abs().checked_ilog10().unwrap_or(0) + 1);
    let precision = count.unwrap_or(u8::MAX).max(scale).max(1);
    if precision > 38 {
        return Err(misfit());
    }
    Ok((Value::Decimal(unscaled), Type::Decimal { precision, scale }))
}

/// Values of the type in which all of them meet.
///
/// # Errors
///
/// Types that do not meet.
pub(crate) fn same_type(values: Vec<Typed>) -> Result<(Vec<Value>, Type)> {
    let mut meeting = Type::Unknown;
    for (_, data_type) in &values {
        if *data_type == meeting {
            continue;
        }
        meeting = common_type(&meeting, data_type).ok_or_else(|| {
            Error::invalid_value(format!("values of different types: {meeting} and {data_type}"))
        })?;
    }
    let converted = values.into_iter().map(|(it, from)| convert(it, &from, &meeting));
    Ok((converted.collect::<Result<_>>()?, meeting))
}

/// The value as one of another type in which it meets others, or which holds it.
///
/// # Errors
///
/// Types that do not meet; a value out of range.
pub(crate) fn convert(value: Value, from: &Type, to: &Type) -> Result<Value> {
    if from == to || value.is_null() {
        return Ok(value);
    }
    let misfit = || Error::invalid_value(format!("no value of type {to}, but {from}"));
    let whole = value.as_i128();
    Ok(match (to, value) {
        (Type::BigInt, _) => {
            Value::BigInt(whole.and_then(|it| it.try_into().ok()).ok_or_else(misfit)?)
        }
        (Type::HugeInt, _) => Value::HugeInt(whole.ok_or_else(misfit)?),
        (Type::TinyInt, _) => {
            Value::TinyInt(whole.and_then(|it| it.try_into().ok()).ok_or_else(misfit)?)
        }
        (Type::SmallInt, _) => {
            Value::SmallInt(whole.and_then(|it| it.try_into().ok()).ok_or_else(misfit)?)
        }
        (Type::Real, Value::Double(it)) => Value::Real(it as f32),
        (Type::Real, _) => Value::Real(whole.ok_or_else(misfit)? as f32),
        (Type::Integer, _) => {
            Value::Integer(whole.and_then(|it| it.try_into().ok()).ok_or_else(misfit)?)
        }
        (Type::Double, Value::Decimal(it)) => {
            let Type::Decimal { scale, .. } = from else { return Err(misfit()) };
            Value::Double(it as f64 / 10_f64.powi(i32::from(*scale)))
        }
        (Type::Double, _) => Value::Double(whole.ok_or_else(misfit)? as f64),
        (Type::Decimal { scale, .. }, Value::Decimal(it)) => {
            let Type::Decimal { scale: given, .. } = from else { return Err(misfit()) };
            let missing = scale.checked_sub(*given).ok_or_else(misfit)?;
            Value::Decimal(rescaled(it, missing).ok_or_else(misfit)?)
        }
        (Type::Decimal { scale, .. }, _) => {
            let whole = whole.ok_or_else(misfit)?;
            Value::Decimal(rescaled(whole, *scale).ok_or_else(misfit)?)
        }
        (Type::Timestamp, Value::Date(days)) => Value::Timestamp(i64::from(days) * MICROS_PER_DAY),
        (Type::Array(element), Value::Array(items)) => {
            let Type::Array(given) = from else { return Err(misfit()) };
            let items = items.iter().map(|it| convert(it.clone(), given, element));
            Value::Array(items.collect::<Result<Arc<[_]>>>()?)
        }
        (Type::Row(fields), Value::Row(items)) => convert_row(fields, &items, from)?,
        (to, _) => {
            let number = whole.filter(|_| from.is_integer()).and_then(|it| u128::try_from(it).ok());
            let stored = to.unsigned().zip(number).and_then(|(to, number)| to.store(number));
            stored.ok_or_else(misfit)?
        }
    })
}

/// A row with the fields of another one, by name; NULL where it has no such field.
fn convert_row(fields: &[Field], items: &[Value], from: &Type) -> Result<Value> {
    let Type::Row(given) = from else {
        return Err(Error::invalid_value(format!("no row, but a value of type {from}")));
    };
    let field = |field: &Field| {
        let found = given.iter().zip(items).find(|it| it.0.name.eq_ignore_ascii_case(&field.name));
        match found {
            Some((from, value)) => convert(value.clone(), &from.data_type, &field.data_type),
            None => Ok(Value::Null),
        }
    };
    Ok(Value::Row(fields.iter().map(field).collect::<Result<_>>()?))
}

fn rescaled(unscaled: i128, digits: u8) -> Option<i128> {
    unscaled.checked_mul(10_i128.checked_pow(u32::from(digits))?)
}
