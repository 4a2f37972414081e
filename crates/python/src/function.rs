//! Functions of Python in SQL: `python_function('key', arguments...)`.
//!
//! A function is known to the whole process by a key, so that sessions which exist already can call
//! it. It gets the arguments of a batch as an Arrow stream, and returns one of one column. Rows
//! that are not active in the batch never reach it.

use crate::{
    capsule::{self, Ready},
    compiled::{Code, Computed},
    connection::Connection,
    error::{exception, from_python},
};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema as ArrowSchema;
use pyo3::prelude::*;
use std::{
    collections::HashMap,
    sync::{Arc, LazyLock, PoisonError, RwLock},
};
use volley::{
    Error, Field, Result, Rows, SessionBuilder, StatementInputs, Type, Value, Vector,
    function::FunctionDoc,
};
use volley_function::{BindScalar, BoundScalar, EvalContext, ScalarFunction, ScalarTraits};
use volley_vector::{
    Batch,
    arrow::{ArrowLayout, field_to_arrow, from_arrow, to_arrow},
};

/// The name in SQL.
const NAME: &str = "python_function";

/// A function of Python, and the type of its results.
struct Registered {
    /// What is called with Arrow data.
    function: Py<PyAny>,
    /// What runs in its place; it is called for a row that the code fails for.
    code: Option<Code>,
    result: Type,
}

static FUNCTIONS: LazyLock<RwLock<HashMap<String, Arc<Registered>>>> =
    LazyLock::new(RwLock::default);

/// Makes a function of Python callable under a key. It takes an Arrow stream with a column for each
/// argument, and returns one with a column of the type, which SQL names.
#[pyfunction]
pub(crate) fn register_function(
    py: Python<'_>,
    connection: &Connection,
    key: String,
    function: Py<PyAny>,
    result: &str,
) -> PyResult<()> {
    let result = type_named(py, connection, result)?;
    register(key, Registered { function, code: None, result });
    Ok(())
}

/// Makes a compiled function callable under a key: the address of its code (see `compiled.rs`),
/// what owns the code, the types of arguments and result by their names in SQL, and the function,
/// which is called for a row that the code fails for, to raise what is wrong.
#[pyfunction]
pub(crate) fn register_compiled(
    py: Python<'_>,
    connection: &Connection,
    key: String,
    function: Py<PyAny>,
    code: (usize, Py<PyAny>),
    types: (Vec<String>, String),
) -> PyResult<()> {
    let ((address, owner), (arguments, result)) = (code, types);
    let arguments = arguments.iter().map(|it| type_named(py, connection, it));
    let arguments = arguments.collect::<PyResult<Vec<_>>>()?;
    let result = type_named(py, connection, &result)?;
    // SAFETY: `volley._compiled`, the only caller, has the code made with this signature for these
    // types, and gives the object that owns it.
    let code = unsafe { Code::new(address, arguments, owner) };
    let code = Some(code.map_err(|it| exception(py, &it, None))?);
    register(key, Registered { function, code, result });
    Ok(())
}

fn register(key: String, registered: Registered) {
    let before = {
        let mut functions = FUNCTIONS.write().unwrap_or_else(PoisonError::into_inner);
        functions.insert(key, Arc::new(registered))
    };
    // Dropping it may run code of Python, which must not find the lock taken.
    drop(before);
}

/// The type that a name in SQL means.
fn type_named(py: Python<'_>, connection: &Connection, name: &str) -> PyResult<Type> {
    let session = connection.session(py)?;
    let sql = format!("SELECT CAST(NULL AS {name})");
    let find = || -> Result<Option<Type>> {
        let statement = session.parse(&sql)?.into_iter().next();
        let statement = statement.ok_or_else(|| Error::invalid_query("no type of a result"))?;
        let schema = session.schema_of(&statement, &StatementInputs::default())?;
        Ok(schema.and_then(|it| it.types().next().cloned()))
    };
    let found = py.detach(find).map_err(|it| exception(py, &it, Some(&sql)))?;
    Ok(found.unwrap_or(Type::Unknown))
}

/// Adds the function that calls those of Python.
pub(crate) fn add(builder: SessionBuilder) -> SessionBuilder {
    let doc = FunctionDoc::new(
        "python_function(key, ...) -> any",
        "What a function of Python makes of its arguments. Written by `volley.func`.",
        "python",
        &[],
    );
    let bind: BindScalar = Arc::new(|types| {
        let [Type::Varchar, ..] = types else { return None };
        let traits = ScalarTraits { propagates_nulls: false, ..ScalarTraits::DEFAULT };
        // The key says which type the result has.
        Some(BoundScalar::new(types.to_vec(), Type::Unknown, traits, Arc::new(Call)))
    });
    builder.add_function(NAME, doc, bind)
}

fn registered(key: Option<&Value>) -> Result<Arc<Registered>> {
    let key = key.and_then(Value::as_str);
    let key = key.ok_or_else(|| Error::invalid_query("the key of a function must be constant"))?;
    let functions = FUNCTIONS.read().unwrap_or_else(PoisonError::into_inner);
    functions.get(key).cloned().ok_or_else(|| {
        let error = Error::invalid_query(format!("no function of Python in this process: {key}"));
        error.hint("volley.func registers functions")
    })
}

struct Call;

impl ScalarFunction for Call {
    fn evaluate(
        &self,
        rows: &Rows,
        args: &[Vector],
        result_type: &Type,
        _ctx: &mut EvalContext,
    ) -> Result<Vector> {
        let Some((key, args)) = args.split_first() else {
            return Err(Error::internal("a call of Python without a key"));
        };
        if rows.is_empty() || key.is_empty() {
            return Ok(Vector::nulls(result_type.clone(), rows.len()));
        }
        let function = registered(Some(&key.value(0)?))?;
        let count = rows.count();
        let batch = Batch::new(args.to_vec(), rows.len());
        let batch = if rows.is_all() { batch } else { batch.select(rows) };
        let result = run(&function, &batch, count)?;
        if rows.is_all() {
            return Ok(result);
        }
        // Inactive rows take the value of the active row before them.
        let mut code = 0_u32;
        let mut seen = false;
        let codes = (0..rows.len()).map(|row| {
            if rows.contains(row) {
                code += u32::from(seen);
                seen = true;
            }
            code
        });
        result.gather(&codes.collect::<Vec<_>>())
    }

    fn result_for(&self, args: &[(&Type, Option<&Value>)]) -> Result<Option<Type>> {
        let key = args.first().and_then(|it| it.1);
        Ok(Some(registered(key)?.result.clone()))
    }
}

/// The results for all rows of a batch of arguments.
fn run(function: &Registered, batch: &Batch, rows: usize) -> Result<Vector> {
    let Some(code) = &function.code else {
        return call(function, &record_batch(batch, rows)?, rows);
    };
    match code.call(batch.columns(), rows, &function.result)? {
        Computed::Column(column) => Ok(column),
        Computed::Raised(row) => {
            let one = batch.slice(row, 1);
            call(function, &record_batch(&one, 1)?, 1)?;
            Err(Error::invalid_value(
                "a compiled function raised, but not when it was called again",
            ))
        }
    }
}

/// The arguments as a record batch.
pub(crate) fn record_batch(batch: &Batch, rows: usize) -> Result<RecordBatch> {
    let columns = batch.columns().iter().enumerate();
    let fields = columns.map(|(index, column)| {
        let field = Field::new(format!("argument_{index}"), column.data_type().clone());
        field_to_arrow(&field, ArrowLayout::Portable)
    });
    let schema = Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>()));
    let arrays = batch.columns().iter().map(|it| to_arrow(it, ArrowLayout::Portable));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let made =
        RecordBatch::try_new_with_options(schema, arrays.collect::<Result<Vec<_>>>()?, &options);
    made.map_err(|it| Error::internal(format!("arguments of a function of Python: {it}")))
}

/// Calls the function for `rows` rows.
fn call(function: &Registered, arguments: &RecordBatch, rows: usize) -> Result<Vector> {
    let result = Python::attach(|py| -> PyResult<Vec<RecordBatch>> {
        let ready = Ready::new(arguments.schema(), vec![arguments.clone()]);
        let stream = capsule::export(py, Box::new(ready))?;
        let returned = function.function.bind(py).call1((stream, rows))?;
        let batches: std::result::Result<Vec<_>, _> = capsule::import(&returned)?.collect();
        batches.map_err(|it| pyo3::exceptions::PyValueError::new_err(it.to_string()))
    });
    let batches = result.map_err(|it| Python::attach(|py| from_python(py, &it)))?;
    let columns = batches.iter().filter(|it| it.num_rows() > 0).map(|it| match it.columns() {
        [column] => of_type(from_arrow(column.as_ref())?, &function.result),
        _ => Err(Error::invalid_value("a function of Python returned another number of columns")),
    });
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let given: usize = columns.iter().map(Vector::len).sum();
    if given != rows {
        let message = format!("a function of Python returned {given} rows for {rows} rows");
        return Err(Error::invalid_value(message));
    }
    Vector::concat(&function.result, &columns)
}

/// The column, if it has the type of the results; nulls of no type have every type.
fn of_type(column: Vector, wanted: &Type) -> Result<Vector> {
    match column.data_type() {
        is if is == wanted => Ok(column),
        Type::Unknown => Ok(Vector::nulls(wanted.clone(), column.len())),
        is => {
            let message = format!("a function of Python returned {is} in place of {wanted}");
            Err(Error::invalid_value(message))
        }
    }
}
