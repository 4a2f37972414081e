//! Aggregates of Python whose states merge: `python_aggregate('key', arguments...)`.
//!
//! ```text
//! rows ── update ──> object of a group ── pickled ──> merge ──> object ── pickled ──> result
//! ```
//!
//! Each driver has an object of the class for each of its groups, so that no rows are gathered.
//! Objects meet pickled, as they do after spilling. The result is a pickled object, too: the SQL
//! that `volley.aggregate` writes passes it to a function of Python, which calls `finish`. A group
//! without rows that count has no object, and the result null.

use crate::{cell, error::from_python, function::record_batch};
use pyo3::{
    intern,
    prelude::*,
    sync::PyOnceLock,
    types::{PyBytes, PyTuple},
};
use std::sync::Arc;
use volley::{Error, Result, Rows, SessionBuilder, Type, Value, Vector, function::FunctionDoc};
use volley_function::{
    BindAggregate,
    aggregate::{AggregateFunction, AggregateKind, AggregateState, BoundAggregate, StateLayout},
};
use volley_memory::{Slots, TypedSlots};
use volley_vector::{Batch, NullBuffer, StringBuilder};

/// The name in SQL.
pub(crate) const NAME: &str = "python_aggregate";

/// Bytes that an object is taken to hold; Python does not tell.
const OBJECT_BYTES: usize = 512;

/// Adds the aggregate that calls classes of Python.
pub(crate) fn add(builder: SessionBuilder) -> SessionBuilder {
    let doc = FunctionDoc::new(
        "python_aggregate(key, ...) -> varbinary",
        "The pickled state of an aggregate of Python. Written by `volley.aggregate`.",
        "python",
        &[],
    );
    let bind: BindAggregate = Arc::new(|types| {
        let [Type::Varchar, _, ..] = types else { return None };
        Some(BoundAggregate {
            name: NAME.to_owned(),
            args: types.to_vec(),
            intermediate: Type::Varbinary,
            result: Type::Varbinary,
            order_sensitive: false,
            ignores_nulls: false,
            function: AggregateKind::Folding(Arc::new(ByClass)),
            over_rows: None,
        })
    });
    builder.add_aggregate(NAME, doc, bind)
}

struct ByClass;

/// The object of a group; none before its first row.
#[derive(Default)]
struct State(Option<Py<PyAny>>);

impl AggregateState for ByClass {
    fn state(&self) -> StateLayout {
        StateLayout::of::<State>()
    }

    fn init(&self, slots: &mut Slots<'_>) {
        let mut states = slots.typed::<State>();
        (0..states.len()).for_each(|slot| states.write(slot, State::default()));
    }

    fn drop_states(&self, slots: &mut Slots<'_>) {
        // An empty state holds no object, so replacing is dropping.
        let mut states = slots.typed::<State>();
        (0..states.len()).for_each(|slot| *states.get(slot) = State::default());
    }

    fn external_state_bytes(&self, slots: &mut Slots<'_>) -> usize {
        let mut states = slots.typed::<State>();
        (0..states.len()).filter(|slot| states.get(*slot).0.is_some()).count() * OBJECT_BYTES
    }
}

impl AggregateFunction for ByClass {
    fn add(&self, slots: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        update(&mut slots.typed(), args, rows, |row| row)
    }

    fn add_to_one(&self, slot: &mut Slots<'_>, args: &[Vector], rows: &Rows) -> Result<()> {
        update(&mut slot.typed(), args, rows, |_| 0)
    }

    fn merge(&self, slots: &mut Slots<'_>, intermediate: &Vector, rows: &Rows) -> Result<()> {
        let mut states = slots.typed::<State>();
        let pickled = intermediate.flatten()?;
        attached(|py| {
            let load = helper(py, intern!(py, "_load"))?;
            rows.try_for_each(|row| {
                let value = pickled.value(row).map_err(|it| raised(py, &it))?;
                let Value::Varbinary(bytes) = value else { return Ok(()) };
                let other = load.call1((PyBytes::new(py, &bytes),))?;
                match &states.get(row).0 {
                    Some(object) => {
                        object.bind(py).call_method1(intern!(py, "merge"), (other,))?;
                    }
                    None => states.get(row).0 = Some(other.unbind()),
                }
                Ok(())
            })
        })
    }

    fn extract_intermediate(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        pickled(&mut slots.typed())
    }

    fn extract(&self, slots: &mut Slots<'_>) -> Result<Vector> {
        pickled(&mut slots.typed())
    }
}

/// Calls `update` of the objects with each active row; `slot_of` a row is the object that it
/// belongs to.
fn update(
    states: &mut TypedSlots<'_, State>,
    args: &[Vector],
    rows: &Rows,
    slot_of: impl Fn(usize) -> usize,
) -> Result<()> {
    let Some((key, args)) = args.split_first() else {
        return Err(Error::internal("an aggregate of Python without a key"));
    };
    if rows.is_empty() {
        return Ok(());
    }
    let key = key.value(0)?;
    let key = key.as_str().ok_or_else(|| Error::internal("a key that is no text"))?;
    let batch = Batch::new(args.to_vec(), rows.len());
    let batch = if rows.is_all() { batch } else { batch.select(rows) };
    let arguments = record_batch(&batch, rows.count())?;
    let types: Vec<Type> = args.iter().map(|it| it.data_type().clone()).collect();
    attached(|py| {
        let found = helper(py, intern!(py, "_find"))?.call1((key,))?;
        let (class, keeps_nulls): (Bound<'_, PyAny>, bool) = found.extract()?;
        let columns = cell::columns(py, &arguments, &types)?;
        let mut selected = 0;
        rows.try_for_each(|row| {
            let cells = columns.iter().map(|it| it.cell(py, selected));
            let cells = cells.collect::<PyResult<Vec<_>>>()?;
            selected += 1;
            if !keeps_nulls && cells.iter().any(|it| it.is_none()) {
                return Ok(());
            }
            let state = states.get(slot_of(row));
            let object = match &state.0 {
                Some(object) => object.bind(py),
                None => state.0.insert(class.call0()?.unbind()).bind(py),
            };
            object.call_method1(intern!(py, "update"), PyTuple::new(py, cells)?)?;
            Ok(())
        })
    })
}

/// The objects as bytes; null for groups without one.
fn pickled(states: &mut TypedSlots<'_, State>) -> Result<Vector> {
    let mut bytes = StringBuilder::with_capacity(states.len());
    let mut valid = Vec::with_capacity(states.len());
    attached(|py| {
        let dump = helper(py, intern!(py, "_dump"))?;
        for slot in 0..states.len() {
            // The state is asked for once.
            let object = states.get(slot).0.take();
            valid.push(object.is_some());
            match object {
                Some(object) => {
                    let made = dump.call1((object,))?.cast_into::<PyBytes>()?;
                    bytes.push(made.as_bytes());
                }
                None => bytes.push(b""),
            }
        }
        Ok(())
    })?;
    let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
    Ok(Vector::strings(Type::Varbinary, bytes.finish(), nulls))
}

/// Runs code of Python; what it raises is an error of the query.
fn attached<T>(run: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    Python::attach(|py| run(py).map_err(|it| from_python(py, &it)))
}

/// An error of the engine on its way through Python.
fn raised(py: Python<'_>, error: &Error) -> PyErr {
    crate::error::exception(py, error, None)
}

/// A function of `volley._aggregate`.
fn helper<'py>(
    py: Python<'py>,
    name: &Bound<'py, pyo3::types::PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module =
        MODULE.get_or_try_init(py, || py.import("volley._aggregate").map(Bound::unbind))?;
    module.bind(py).getattr(name)
}
