//! Cells of Arrow arrays as Python objects.

use crate::error::exception;
use arrow_array::{Array, RecordBatch, cast::AsArray, types::*};
use arrow_schema::{DataType, TimeUnit};
use pyo3::{
    IntoPyObjectExt, intern,
    prelude::*,
    sync::PyOnceLock,
    types::{
        PyBytes, PyDate, PyDateTime, PyDelta, PyDict, PyList, PyString, PyTime, PyTuple, PyTzInfo,
    },
};
use std::{cell::RefCell, collections::HashMap};
use volley::{Error, Type};
use volley_types::{
    civil,
    custom::{TimestampUnit, Uuid},
};

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Most dates that a column remembers.
const DATES_MAX: usize = 1 << 12;

/// Makes Python objects of the cells of a column.
pub(crate) struct Column<'a> {
    array: &'a dyn Array,
    reader: Reader<'a>,
    has_nulls: bool,
}

enum Reader<'a> {
    Null,
    Boolean(&'a arrow_array::BooleanArray),
    I8(&'a [i8]),
    I16(&'a [i16]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    U8(&'a [u8]),
    U16(&'a [u16]),
    U32(&'a [u32]),
    U64(&'a [u64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
    HugeInt(&'a [i128]),
    Decimal(&'a [i128], i8),
    Text(&'a arrow_array::StringViewArray),
    Bytes(&'a arrow_array::BinaryViewArray),
    Uuid(&'a arrow_array::FixedSizeBinaryArray),
    Date(&'a [i32], RefCell<HashMap<i32, Py<PyAny>>>),
    Time(&'a [i64]),
    Timestamp(&'a [i64]),
    TimestampUnits(&'a [i64], TimestampUnit),
    Instant(&'a [i64]),
    Interval(&'a [IntervalMonthDayNano]),
    List(&'a arrow_array::ListArray, Box<Column<'a>>),
    FixedList(Box<Column<'a>>, usize),
    Map(&'a arrow_array::MapArray, Box<[Column<'a>; 2]>),
    Row(Vec<(&'a str, Column<'a>)>),
}

/// The rows of a batch as tuples; appended to `rows`.
pub(crate) fn push_rows(
    batch: &RecordBatch,
    types: &[Type],
    range: std::ops::Range<usize>,
    rows: &Bound<'_, PyList>,
) -> PyResult<()> {
    let py = rows.py();
    let columns = columns(py, batch, types)?;
    let mut cells = Vec::with_capacity(columns.len());
    for row in range {
        for column in &columns {
            cells.push(column.cell(py, row)?);
        }
        rows.append(PyTuple::new(py, cells.drain(..))?)?;
    }
    Ok(())
}

/// The cells of one column of a batch; appended to `cells`.
pub(crate) fn push_cells(
    array: &dyn Array,
    data_type: &Type,
    cells: &Bound<'_, PyList>,
) -> PyResult<()> {
    let py = cells.py();
    let column = Column::new(py, array, data_type)?;
    (0..array.len()).try_for_each(|row| cells.append(column.cell(py, row)?))
}

/// Readers of the columns of a batch, whose types in SQL are `types`.
pub(crate) fn columns<'a>(
    py: Python<'_>,
    batch: &'a RecordBatch,
    types: &'a [Type],
) -> PyResult<Vec<Column<'a>>> {
    let columns = batch.columns().iter().zip(types);
    columns.map(|(array, data_type)| Column::new(py, array.as_ref(), data_type)).collect()
}

impl<'a> Column<'a> {
    /// The cells of `array`, whose type in SQL is `data_type`.
    fn new(py: Python<'_>, array: &'a dyn Array, data_type: &'a Type) -> PyResult<Column<'a>> {
        let reader = match array.data_type() {
            DataType::Null => Reader::Null,
            DataType::Boolean => Reader::Boolean(array.as_boolean()),
            DataType::Int8 => Reader::I8(array.as_primitive::<Int8Type>().values()),
            DataType::Int16 => Reader::I16(array.as_primitive::<Int16Type>().values()),
            DataType::Int32 => Reader::I32(array.as_primitive::<Int32Type>().values()),
            DataType::Int64 => Reader::I64(array.as_primitive::<Int64Type>().values()),
            DataType::UInt8 => Reader::U8(array.as_primitive::<UInt8Type>().values()),
            DataType::UInt16 => Reader::U16(array.as_primitive::<UInt16Type>().values()),
            DataType::UInt32 => Reader::U32(array.as_primitive::<UInt32Type>().values()),
            DataType::UInt64 => Reader::U64(array.as_primitive::<UInt64Type>().values()),
            DataType::Float32 => Reader::F32(array.as_primitive::<Float32Type>().values()),
            DataType::Float64 => Reader::F64(array.as_primitive::<Float64Type>().values()),
            DataType::Decimal128(_, scale) => {
                let values = array.as_primitive::<Decimal128Type>().values();
                match data_type {
                    Type::HugeInt => Reader::HugeInt(values),
                    unsigned if unsigned.unsigned().is_some() => Reader::HugeInt(values),
                    _ => Reader::Decimal(values, *scale),
                }
            }
            DataType::Utf8View => Reader::Text(array.as_string_view()),
            DataType::BinaryView => Reader::Bytes(array.as_binary_view()),
            DataType::FixedSizeBinary(_) if *data_type == Uuid::data_type() => {
                Reader::Uuid(array.as_fixed_size_binary())
            }
            DataType::Date32 => {
                Reader::Date(array.as_primitive::<Date32Type>().values(), RefCell::default())
            }
            DataType::Time64(TimeUnit::Microsecond) => {
                Reader::Time(array.as_primitive::<Time64MicrosecondType>().values())
            }
            DataType::Timestamp(TimeUnit::Second, None) => Reader::TimestampUnits(
                array.as_primitive::<TimestampSecondType>().values(),
                TimestampUnit::Second,
            ),
            DataType::Timestamp(TimeUnit::Millisecond, None) => Reader::TimestampUnits(
                array.as_primitive::<TimestampMillisecondType>().values(),
                TimestampUnit::Millisecond,
            ),
            DataType::Timestamp(TimeUnit::Nanosecond, None) => Reader::TimestampUnits(
                array.as_primitive::<TimestampNanosecondType>().values(),
                TimestampUnit::Nanosecond,
            ),
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                let values = array.as_primitive::<TimestampMicrosecondType>().values();
                if zone.is_some() { Reader::Instant(values) } else { Reader::Timestamp(values) }
            }
            DataType::Interval(_) => {
                Reader::Interval(array.as_primitive::<IntervalMonthDayNanoType>().values())
            }
            _ => Column::nested(py, array, data_type)?,
        };
        Ok(Column { array, reader, has_nulls: array.null_count() > 0 })
    }

    fn nested(py: Python<'_>, array: &'a dyn Array, data_type: &'a Type) -> PyResult<Reader<'a>> {
        Ok(match (array.data_type(), data_type) {
            (DataType::List(_), Type::Array(element)) => {
                let list = array.as_list::<i32>();
                Reader::List(list, Box::new(Column::new(py, list.values().as_ref(), element)?))
            }
            (DataType::FixedSizeList(_, size), Type::FixedArray(element)) => {
                let values = array.as_fixed_size_list().values().as_ref();
                let size = usize::try_from(*size).unwrap_or_default();
                Reader::FixedList(Box::new(Column::new(py, values, &element.0)?), size)
            }
            (DataType::Map(..), Type::Map(entry)) => {
                let map = array.as_map();
                let keys = Column::new(py, map.keys().as_ref(), &entry.0)?;
                let values = Column::new(py, map.values().as_ref(), &entry.1)?;
                Reader::Map(map, Box::new([keys, values]))
            }
            (DataType::Struct(names), Type::Row(fields)) => {
                let columns = array.as_struct().columns().iter().zip(fields.iter()).zip(names);
                let columns = columns.map(|((array, field), name)| {
                    let column = Column::new(py, array.as_ref(), &field.data_type)?;
                    Ok((name.name().as_str(), column))
                });
                Reader::Row(columns.collect::<PyResult<_>>()?)
            }
            (other, _) => {
                let message = format!("no Python objects for values of the Arrow type {other}");
                return Err(exception(py, &Error::unsupported(message), None));
            }
        })
    }

    /// The object of one row.
    pub(crate) fn cell<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        if self.has_nulls && self.array.is_null(row) {
            return Ok(py.None().into_bound(py));
        }
        match &self.reader {
            Reader::Null => Ok(py.None().into_bound(py)),
            Reader::Boolean(it) => it.value(row).into_bound_py_any(py),
            Reader::I8(it) => it[row].into_bound_py_any(py),
            Reader::I16(it) => it[row].into_bound_py_any(py),
            Reader::I32(it) => it[row].into_bound_py_any(py),
            Reader::I64(it) => it[row].into_bound_py_any(py),
            Reader::U8(it) => it[row].into_bound_py_any(py),
            Reader::U16(it) => it[row].into_bound_py_any(py),
            Reader::U32(it) => it[row].into_bound_py_any(py),
            Reader::U64(it) => it[row].into_bound_py_any(py),
            Reader::F32(it) => it[row].into_bound_py_any(py),
            Reader::F64(it) => it[row].into_bound_py_any(py),
            Reader::Text(it) => Ok(PyString::new(py, it.value(row)).into_any()),
            Reader::Bytes(it) => Ok(PyBytes::new(py, it.value(row)).into_any()),
            Reader::HugeInt(it) => wide_integer(py, it[row]),
            Reader::Decimal(it, scale) => decimal(py, it[row], *scale),
            Reader::Uuid(it) => uuid(py, it.value(row)),
            Reader::Date(it, known) => date(py, it[row], known),
            Reader::Time(it) => time(py, it[row]),
            Reader::Timestamp(it) => timestamp(py, it[row], None),
            Reader::TimestampUnits(it, unit) => {
                timestamp(py, unit.to_whole_micros(it[row]).unwrap_or(i64::MAX), None)
            }
            Reader::Instant(it) => timestamp(py, it[row], Some(&*PyTzInfo::utc(py)?)),
            Reader::Interval(it) => interval(py, &it[row]),
            _ => self.nested_cell(py, row),
        }
    }

    fn nested_cell<'py>(&self, py: Python<'py>, row: usize) -> PyResult<Bound<'py, PyAny>> {
        match &self.reader {
            Reader::List(list, elements) => {
                let (start, end) = (list.value_offsets()[row], list.value_offsets()[row + 1]);
                elements.list(py, start as usize..end as usize)
            }
            Reader::FixedList(elements, size) => elements.list(py, row * size..(row + 1) * size),
            Reader::Map(map, entry) => {
                let (start, end) = (map.value_offsets()[row], map.value_offsets()[row + 1]);
                entries(py, entry, start as usize..end as usize)
            }
            Reader::Row(fields) => {
                let row_of = PyDict::new(py);
                for (name, column) in fields {
                    row_of.set_item(name, column.cell(py, row)?)?;
                }
                Ok(row_of.into_any())
            }
            _ => Ok(py.None().into_bound(py)),
        }
    }

    fn list<'py>(
        &self,
        py: Python<'py>,
        range: std::ops::Range<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let cells = range.map(|row| self.cell(py, row)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyList::new(py, cells)?.into_any())
    }
}

/// A map as a dictionary; as a list of pairs, if its keys have no hash.
fn entries<'py>(
    py: Python<'py>,
    entry: &[Column<'_>; 2],
    range: std::ops::Range<usize>,
) -> PyResult<Bound<'py, PyAny>> {
    let [keys, values] = entry;
    let mut pairs = Vec::with_capacity(range.len());
    for row in range {
        pairs.push((keys.cell(py, row)?, values.cell(py, row)?));
    }
    let map = PyDict::new(py);
    for (key, value) in &pairs {
        if map.set_item(key, value).is_err() {
            return Ok(PyList::new(py, pairs)?.into_any());
        }
    }
    Ok(map.into_any())
}

fn wide_integer(py: Python<'_>, value: i128) -> PyResult<Bound<'_, PyAny>> {
    match i64::try_from(value) {
        Ok(it) => it.into_bound_py_any(py),
        Err(_) => py.get_type::<pyo3::types::PyInt>().call1((value.to_string(),)),
    }
}

/// A class of a module of Python's, imported at its first use.
fn class<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyAny>>,
    (module, name): (&str, &str),
) -> PyResult<&'py Bound<'py, PyAny>> {
    let class = cell.get_or_try_init(py, || -> PyResult<Py<PyAny>> {
        Ok(py.import(module)?.getattr(name)?.unbind())
    })?;
    Ok(class.bind(py))
}

fn decimal(py: Python<'_>, unscaled: i128, scale: i8) -> PyResult<Bound<'_, PyAny>> {
    static DECIMAL: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let digits = usize::try_from(scale).unwrap_or_default();
    let sign = if unscaled < 0 { "-" } else { "" };
    let text = format!("{:0>1$}", unscaled.unsigned_abs(), digits + 1);
    let (whole, fraction) = text.split_at(text.len() - digits);
    let point = if digits == 0 { "" } else { "." };
    class(py, &DECIMAL, ("decimal", "Decimal"))?.call1((format!("{sign}{whole}{point}{fraction}"),))
}

fn uuid<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    static UUID: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let arguments = PyDict::new(py);
    arguments.set_item(intern!(py, "bytes"), PyBytes::new(py, bytes))?;
    class(py, &UUID, ("uuid", "UUID"))?.call((), Some(&arguments))
}

fn date<'py>(
    py: Python<'py>,
    days: i32,
    known: &RefCell<HashMap<i32, Py<PyAny>>>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Some(date) = known.borrow().get(&days) {
        return Ok(date.bind(py).clone());
    }
    let civil = civil::civil_of_days(days);
    let year = year(py, civil.year, "DATE")?;
    let date = PyDate::new(py, year, civil.month as u8, civil.day as u8)?.into_any();
    let mut known = known.borrow_mut();
    if known.len() < DATES_MAX {
        known.insert(days, date.clone().unbind());
    }
    Ok(date)
}

/// The year, if Python's dates go that far.
fn year(py: Python<'_>, year: impl Into<i64>, what: &str) -> PyResult<i32> {
    let year = year.into();
    match year {
        1..=9999 => Ok(year as i32),
        _ => {
            let message = format!("{what} out of range of Python's datetime: year {year}");
            let error = Error::invalid_value(message);
            Err(exception(py, &error.hint("cast it to VARCHAR, or use to_arrow"), None))
        }
    }
}

/// Hours, minutes, seconds and microseconds.
fn clock(micros_of_day: i64) -> (u8, u8, u8, u32) {
    let seconds = micros_of_day / 1_000_000;
    let part = |it: i64| u8::try_from(it).unwrap_or_default();
    let micros = u32::try_from(micros_of_day % 1_000_000).unwrap_or_default();
    (part(seconds / 3600), part(seconds / 60 % 60), part(seconds % 60), micros)
}

fn time(py: Python<'_>, micros: i64) -> PyResult<Bound<'_, PyAny>> {
    // 24:00:00, which SQL has, is the last moment that Python has.
    let (hour, minute, second, micro) = clock(micros.min(MICROS_PER_DAY - 1));
    Ok(PyTime::new(py, hour, minute, second, micro, None)?.into_any())
}

fn timestamp<'py>(
    py: Python<'py>,
    micros: i64,
    zone: Option<&Bound<'py, PyTzInfo>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (days, of_day) = civil::split_timestamp(micros);
    let civil = civil::civil_of_days(days);
    let year = year(py, civil.year, "TIMESTAMP")?;
    let (hour, minute, second, micro) = clock(of_day);
    let (month, day) = (civil.month as u8, civil.day as u8);
    Ok(PyDateTime::new(py, year, month, day, hour, minute, second, micro, zone)?.into_any())
}

/// A month counts as 30 days, as in DuckDB's Python package.
fn interval<'py>(py: Python<'py>, it: &IntervalMonthDayNano) -> PyResult<Bound<'py, PyAny>> {
    let micros = it.nanoseconds.div_euclid(1000);
    let days = i64::from(it.months) * 30 + i64::from(it.days) + micros.div_euclid(MICROS_PER_DAY);
    let of_day = micros.rem_euclid(MICROS_PER_DAY);
    let days = i32::try_from(days).unwrap_or(i32::MAX);
    let (seconds, micros) = ((of_day / 1_000_000) as i32, (of_day % 1_000_000) as i32);
    Ok(PyDelta::new(py, days, seconds, micros, true)?.into_any())
}
