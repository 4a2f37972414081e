//! Table functions of Python in SQL: `FROM python_table('key', arguments...)`.

use crate::{cell, error::from_python, table::Table};
use arrow_array::RecordBatch;
use arrow_schema::Schema as ArrowSchema;
use pyo3::{prelude::*, types::PyList};
use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, PoisonError, RwLock},
};
use volley::{
    Error, Field, Result, SessionBuilder, Table as EngineTable, TableArgument, TableCall, Value,
    Vector,
};
use volley_vector::arrow::{ArrowLayout, field_to_arrow, to_arrow};

static FUNCTIONS: LazyLock<RwLock<HashMap<String, Py<PyAny>>>> = LazyLock::new(RwLock::default);

/// Makes a table function callable under a key. It takes a list of its arguments, and returns a
/// `Table`.
#[pyfunction]
pub(crate) fn register_table_function(key: String, function: Py<PyAny>) {
    let before = {
        let mut functions = FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner);
        functions.insert(key, function)
    };
    drop(before);
}

/// Adds the table function that calls those of Python.
pub(crate) fn add(builder: SessionBuilder) -> SessionBuilder {
    builder.add_table_function("python_table", open)
}

fn open(call: &TableCall<'_>) -> Result<Arc<dyn EngineTable>> {
    let (key, arguments) = match call.arguments {
        [TableArgument::Value(key @ Value::Varchar(_), _), arguments @ ..] => (key, arguments),
        _ => {
            let message = "a table function of Python is called by its key";
            return Err(Error::invalid_query(message));
        }
    };
    let key = key.as_str().unwrap_or_default();
    Python::attach(|py| {
        let function = {
            let functions = FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner);
            functions.get(key).map(|it| it.clone_ref(py))
        };
        let function = function.ok_or_else(|| {
            let error = Error::invalid_query(format!("no table function of Python: {key}"));
            error.hint("volley.table_function registers them")
        })?;
        let made = || -> PyResult<Arc<dyn EngineTable>> {
            let values = PyList::empty(py);
            for argument in arguments {
                push(argument, &values)?;
            }
            let table = function.bind(py).call1((values,))?;
            let table = table.cast::<Table>().map_err(|_| {
                let message = "a table function of Python returned no table";
                pyo3::exceptions::PyTypeError::new_err(message)
            })?;
            Ok(table.get().engine_table())
        };
        made().map_err(|it| from_python(py, &it))
    })
}

/// Appends the value of an argument.
fn push(argument: &TableArgument, values: &Bound<'_, PyList>) -> PyResult<()> {
    let TableArgument::Value(value, data_type) = argument else {
        let message = "a table function of Python takes values, not tables";
        return Err(pyo3::exceptions::PyTypeError::new_err(message));
    };
    let array = || -> Result<RecordBatch> {
        let vector = Vector::from_values(data_type.clone(), std::slice::from_ref(value));
        let field = field_to_arrow(&Field::new("value", data_type.clone()), ArrowLayout::Portable);
        let array = to_arrow(&vector, ArrowLayout::Portable)?;
        RecordBatch::try_new(Arc::new(ArrowSchema::new(vec![field])), vec![array])
            .map_err(|it| Error::internal(format!("argument of a table function: {it}")))
    };
    let batch = array().map_err(|it| crate::error::exception(values.py(), &it, None))?;
    cell::push_cells(batch.column(0).as_ref(), data_type, values)
}
