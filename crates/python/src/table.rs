//! Tables that Python hands to the engine, and rows that the engine collected for Python.

use crate::{
    arrow_table::ArrowTable,
    capsule::{self, Ready},
    cell,
    error::{exception, type_error},
    numbers::{Numbers, numbers_of},
    stream_table::StreamTable,
    value::{convert, same_type, typed},
};
use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{DataType, SchemaRef};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyList},
};
use std::sync::Arc;
use volley::{Error, Field, Result, Schema, Table as EngineTable, Type, Vector};
use volley_types::custom::UnsignedInteger;
use volley_vector::arrow::{ArrowLayout, schema_to_arrow, to_arrow};

/// Rows in memory, or a stream of them that can be read once.
#[pyclass(frozen, module = "volley._volley")]
pub(crate) struct Table {
    kind: Kind,
    /// The types of the cells that Python gets, where Arrow has none of its own, such as HUGEINT.
    cell_types: Vec<Type>,
}

enum Kind {
    Rows(Arc<ArrowTable>),
    Stream(Arc<StreamTable>),
}

impl Table {
    /// Rows that the engine collected.
    pub(crate) fn collected(schema: SchemaRef, batches: Vec<RecordBatch>) -> Result<Table> {
        let table = ArrowTable::new(schema, batches)?;
        let cell_types = table.schema().types().cloned().collect();
        Ok(Table { kind: Kind::Rows(Arc::new(table)), cell_types })
    }

    /// Rows that the engine collected, whose columns had these types.
    pub(crate) fn collected_of(
        cell_types: &[Type],
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
    ) -> Result<Table> {
        let table = Table::collected(schema, batches)?;
        Ok(Table { cell_types: cell_types.to_vec(), ..table })
    }

    fn of_stream(table: StreamTable) -> Table {
        Table { kind: Kind::Stream(Arc::new(table)), cell_types: Vec::new() }
    }

    /// The table as the engine scans it.
    pub(crate) fn engine_table(&self) -> Arc<dyn EngineTable> {
        match &self.kind {
            Kind::Rows(it) => Arc::clone(it) as _,
            Kind::Stream(it) => Arc::clone(it) as _,
        }
    }

    fn rows_of(&self, py: Python<'_>) -> PyResult<&ArrowTable> {
        match &self.kind {
            Kind::Rows(it) => Ok(it),
            Kind::Stream(_) => Err(type_error(py, "the rows of a stream are not in memory")),
        }
    }
}

#[pymethods]
impl Table {
    /// Reads an object with `__arrow_c_stream__` to its end; no value is copied.
    #[staticmethod]
    fn from_stream(object: &Bound<'_, PyAny>) -> PyResult<Table> {
        let py = object.py();
        let reader = capsule::import(object)?;
        let schema = reader.schema();
        let batches: std::result::Result<Vec<_>, _> = reader.collect();
        let batches = batches.map_err(|it| {
            let error = Error::invalid_value(format!("stream of record batches: {it}"));
            exception(py, &error, None)
        })?;
        Table::collected(schema, batches).map_err(|it| exception(py, &it, None))
    }

    /// A table that reads an object with `__arrow_c_stream__` when a query scans it, once.
    #[staticmethod]
    fn from_stream_once(object: &Bound<'_, PyAny>) -> PyResult<Table> {
        let table = StreamTable::once(capsule::import(object)?);
        let table = table.map_err(|it| exception(object.py(), &it, None))?;
        Ok(Table::of_stream(table))
    }

    /// A table that calls a function with the names of columns and the filters (`pushdown.rs`) for
    /// each scan, and reads the stream that it returns. `sample` is a stream of all columns, which
    /// is not read.
    #[staticmethod]
    fn from_function(function: Py<PyAny>, sample: &Bound<'_, PyAny>) -> PyResult<Table> {
        let table = StreamTable::of_function(function, &capsule::import(sample)?);
        let table = table.map_err(|it| exception(sample.py(), &it, None))?;
        Ok(Table::of_stream(table))
    }

    /// A table of columns, each a sequence of Python objects of the same length.
    #[staticmethod]
    fn from_columns(
        py: Python<'_>,
        names: Vec<String>,
        columns: Bound<'_, PyList>,
    ) -> PyResult<Table> {
        let (mut fields, mut vectors, mut rows) = (Vec::new(), Vec::new(), None);
        for (name, column) in names.iter().zip(columns.iter()) {
            let values = column.try_iter()?.map(|it| typed(&it?)).collect::<PyResult<Vec<_>>>()?;
            let count = *rows.get_or_insert(values.len());
            if count != values.len() {
                let message = format!("columns of {count} and of {} rows: {name}", values.len());
                return Err(exception(py, &Error::invalid_value(message), None));
            }
            let (values, data_type) =
                same_type(values).map_err(|it| exception(py, &it.at("column", name), None))?;
            let vector = column_of(values, &data_type);
            fields.push(Field::new(name, vector.data_type().clone()));
            vectors.push(vector);
        }
        let made = table_of(&Schema::new(fields), &vectors, rows.unwrap_or(0));
        made.map_err(|it| exception(py, &it, None))
    }

    /// A table of one column of a type, by its name in SQL, for the result of a function.
    #[staticmethod]
    #[pyo3(signature = (cells, data_type = None))]
    fn from_cells(cells: &Bound<'_, PyList>, data_type: Option<&str>) -> PyResult<Table> {
        let py = cells.py();
        let values = cells.iter().map(|it| typed(&it)).collect::<PyResult<Vec<_>>>()?;
        let made = || -> Result<Table> {
            let rows = values.len();
            let vector = match data_type.and_then(plain_type) {
                Some(wanted) => {
                    let values = values.into_iter().map(|(it, from)| convert(it, &from, &wanted));
                    Vector::from_values(wanted.clone(), &values.collect::<Result<Vec<_>>>()?)
                }
                None => {
                    let (values, data_type) = same_type(values)?;
                    Vector::from_values(data_type, &values)
                }
            };
            let field = Field::new("result", vector.data_type().clone());
            table_of(&Schema::new(vec![field]), &[vector], rows)
        };
        made().map_err(|it| exception(py, &it, None))
    }

    /// Names and types of the columns.
    fn schema(&self) -> Vec<(String, String)> {
        let table = self.engine_table();
        let fields = table.schema().fields.iter();
        fields.map(|it| (it.name.clone(), it.data_type.to_string())).collect()
    }

    /// Whether a column is a dictionary or runs in Arrow.
    fn has_encodings(&self) -> bool {
        let Kind::Rows(table) = &self.kind else { return false };
        let is_encoded =
            |it: &DataType| matches!(it, DataType::Dictionary(..) | DataType::RunEndEncoded(..));
        table.arrow_schema().fields().iter().any(|it| is_encoded(it.data_type()))
    }

    /// The number of rows; `None` for a stream.
    fn rows(&self) -> Option<usize> {
        match &self.kind {
            Kind::Rows(it) => Some(it.rows()),
            Kind::Stream(_) => None,
        }
    }

    /// The rows as an Arrow stream.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore the request, and the consumer casts.
        drop(requested_schema);
        let table = self.rows_of(py)?;
        let schema = Arc::clone(table.arrow_schema());
        capsule::export(py, Box::new(Ready::new(schema, table.batches().to_vec())))
    }

    /// The column at a position as numbers, and which of its rows are null, if some are; `None` for
    /// a column that has no numbers of a fixed width. The numbers of null rows may be any.
    fn numbers(
        &self,
        py: Python<'_>,
        column: usize,
    ) -> PyResult<Option<(Numbers, Option<Numbers>)>> {
        let table = self.rows_of(py)?;
        let Some(field) = table.arrow_schema().fields().get(column) else {
            return Err(type_error(py, "no such column"));
        };
        let batches = table.batches().iter();
        let chunks: Vec<_> = batches.map(|it| Arc::clone(it.column(column))).collect();
        Ok(numbers_of(&chunks, field.data_type()))
    }

    /// The cells of the column at a position, as Python objects.
    fn cells<'py>(&self, py: Python<'py>, column: usize) -> PyResult<Bound<'py, PyList>> {
        let table = self.rows_of(py)?;
        let data_type = self.cell_types.get(column);
        let data_type = data_type.ok_or_else(|| type_error(py, "no such column"))?;
        let cells = PyList::empty(py);
        for batch in table.batches().iter() {
            cell::push_cells(batch.column(column).as_ref(), data_type, &cells)?;
        }
        Ok(cells)
    }

    /// Rows as tuples: `count` of them from `start` on; all that are left without a count.
    #[pyo3(signature = (start = 0, count = None))]
    fn tuples<'py>(
        &self,
        py: Python<'py>,
        start: usize,
        count: Option<usize>,
    ) -> PyResult<Bound<'py, PyList>> {
        let table = self.rows_of(py)?;
        let rows = PyList::empty(py);
        let (mut skipped, mut wanted) = (start, count.unwrap_or(usize::MAX));
        for batch in table.batches().iter() {
            let first = skipped.min(batch.num_rows());
            let taken = wanted.min(batch.num_rows() - first);
            skipped -= first;
            wanted -= taken;
            cell::push_rows(batch, &self.cell_types, first..first + taken, &rows)?;
        }
        Ok(rows)
    }
}

/// A type without parts, by its name in SQL.
fn plain_type(name: &str) -> Option<Type> {
    let types = [
        Type::Boolean,
        Type::TinyInt,
        Type::SmallInt,
        Type::Integer,
        Type::BigInt,
        Type::HugeInt,
        Type::Real,
        Type::Double,
        Type::Varchar,
        Type::Varbinary,
        Type::Date,
        Type::Time,
        Type::Timestamp,
        Type::Interval,
    ];
    let unsigned = UnsignedInteger::ALL.map(UnsignedInteger::data_type);
    types.into_iter().chain(unsigned).find(|it| it.to_string().eq_ignore_ascii_case(name))
}

/// Values as a vector; integers as BIGINT, so that the column takes others of their kind.
fn column_of(values: Vec<volley::Value>, data_type: &Type) -> Vector {
    match data_type {
        Type::Integer => {
            let wide = |it: volley::Value| match it {
                volley::Value::Integer(it) => volley::Value::BigInt(i64::from(it)),
                other => other,
            };
            let values: Vec<_> = values.into_iter().map(wide).collect();
            Vector::from_values(Type::BigInt, &values)
        }
        _ => Vector::from_values(data_type.clone(), &values),
    }
}

fn table_of(schema: &Schema, vectors: &[Vector], rows: usize) -> Result<Table> {
    let arrow_schema = Arc::new(schema_to_arrow(schema, ArrowLayout::Portable));
    let arrays = vectors.iter().map(|it| to_arrow(it, ArrowLayout::Portable));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(
        Arc::clone(&arrow_schema),
        arrays.collect::<Result<Vec<_>>>()?,
        &options,
    );
    let batch = batch.map_err(|it| Error::invalid_value(format!("record batch: {it}")))?;
    Table::collected(arrow_schema, vec![batch])
}
