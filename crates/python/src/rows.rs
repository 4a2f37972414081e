//! The rows of a query that runs.

use crate::{
    capsule::{self, Ready, Running, next_arrow},
    cell,
    error::{exception, type_error},
    table::Table,
    waiting::wait,
};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyList},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use volley::{CancellationToken, Result, ResultStream, Type};
use volley_vector::arrow::{ArrowLayout, batch_to_arrow};

/// The rows of a running query. Closing or dropping it cancels the query.
#[pyclass(frozen, module = "volley._volley")]
pub(crate) struct Rows {
    names: Vec<(String, String)>,
    types: Vec<Type>,
    arrow_schema: SchemaRef,
    /// `None` once it is closed or exported.
    stream: Mutex<Option<Arc<Mutex<ResultStream>>>>,
    token: CancellationToken,
    /// Rows that the query gave, and that were not fetched yet.
    ready: Mutex<ReadyRows>,
    sql: Arc<str>,
}

/// Rows that the engine gave before they were asked for.
#[derive(Default)]
pub(crate) struct ReadyRows {
    batches: VecDeque<RecordBatch>,
    /// Whether the query gives no more.
    is_end: bool,
}

/// How long the start of a query waits for its end after the first batch: about as long as one more
/// handover to another thread takes.
const END_WAIT: Duration = Duration::from_micros(200);

impl ReadyRows {
    /// The first batch of a query, and its end, if that follows at once.
    ///
    /// # Errors
    ///
    /// What the query fails with.
    pub(crate) fn first(stream: &mut ResultStream) -> Result<ReadyRows> {
        let schema = stream.arrow_schema();
        let mut ready = ReadyRows::default();
        let Some(batch) = stream.next()? else {
            return Ok(ReadyRows { is_end: true, ..ready });
        };
        ready.batches.push_back(batch_to_arrow(&batch, &schema, ArrowLayout::Portable)?);
        match stream.next_timeout(END_WAIT).transpose()? {
            None => {}
            Some(None) => ready.is_end = true,
            Some(Some(batch)) => {
                ready.batches.push_back(batch_to_arrow(&batch, &schema, ArrowLayout::Portable)?);
            }
        }
        Ok(ready)
    }
}

impl Rows {
    pub(crate) fn new(
        (stream, ready): (ResultStream, ReadyRows),
        token: CancellationToken,
        sql: Arc<str>,
    ) -> Rows {
        let schema = stream.schema();
        let names = schema.fields.iter();
        Rows {
            names: names.map(|it| (it.name.clone(), it.data_type.to_string())).collect(),
            types: schema.types().cloned().collect(),
            arrow_schema: stream.arrow_schema(),
            stream: Mutex::new(Some(Arc::new(Mutex::new(stream)))),
            token,
            ready: Mutex::new(ready),
            sql,
        }
    }

    fn stream(&self, py: Python<'_>) -> PyResult<Arc<Mutex<ResultStream>>> {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).clone();
        stream.ok_or_else(|| type_error(py, "the rows were closed, or exported as a stream"))
    }

    fn ready(&self) -> MutexGuard<'_, ReadyRows> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next record batch.
    fn next_record_batch(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let (ready, is_end) = {
            let mut ready = self.ready();
            (ready.batches.pop_front(), ready.is_end)
        };
        if ready.is_some() || is_end {
            return Ok(ready);
        }
        let (stream, schema) = (self.stream(py)?, Arc::clone(&self.arrow_schema));
        wait(py, &self.token, Some(&self.sql), move || next_arrow(&stream, &schema))
    }

    /// All record batches that are left.
    fn all(&self, py: Python<'_>) -> PyResult<Vec<RecordBatch>> {
        let (mut all, is_end) = {
            let mut ready = self.ready();
            (std::mem::take(&mut ready.batches).into_iter().collect::<Vec<_>>(), ready.is_end)
        };
        if is_end {
            return Ok(all);
        }
        let (stream, schema) = (self.stream(py)?, Arc::clone(&self.arrow_schema));
        wait(py, &self.token, Some(&self.sql), move || {
            while let Some(batch) = next_arrow(&stream, &schema)? {
                all.push(batch);
            }
            Ok(all)
        })
    }
}

#[pymethods]
impl Rows {
    /// Names and types of the columns.
    fn schema(&self) -> Vec<(String, String)> {
        self.names.clone()
    }

    /// At most `count` rows as tuples; all that are left without a count.
    #[pyo3(signature = (count = None))]
    fn fetch<'py>(&self, py: Python<'py>, count: Option<usize>) -> PyResult<Bound<'py, PyList>> {
        let rows = PyList::empty(py);
        let Some(count) = count else {
            for batch in self.all(py)? {
                cell::push_rows(&batch, &self.types, 0..batch.num_rows(), &rows)?;
            }
            return Ok(rows);
        };
        while rows.len() < count {
            let Some(batch) = self.next_record_batch(py)? else { break };
            let taken = (count - rows.len()).min(batch.num_rows());
            cell::push_rows(&batch, &self.types, 0..taken, &rows)?;
            if taken < batch.num_rows() {
                let left = batch.slice(taken, batch.num_rows() - taken);
                self.ready().batches.push_front(left);
            }
        }
        Ok(rows)
    }

    /// All rows that are left, in memory.
    fn collect(&self, py: Python<'_>) -> PyResult<Table> {
        let batches = self.all(py)?;
        let table = Table::collected(Arc::clone(&self.arrow_schema), batches);
        table.map_err(|it| exception(py, &it, Some(&self.sql)))
    }

    /// The next record batch, as a stream of one; `None` at the end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyCapsule>>> {
        let Some(batch) = self.next_record_batch(py)? else { return Ok(None) };
        let ready = Ready::new(Arc::clone(&self.arrow_schema), vec![batch]);
        capsule::export(py, Box::new(ready)).map(Some)
    }

    /// The rows as an Arrow stream, which the query goes on to fill. The rows are the stream's.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A producer may ignore the request, and the consumer casts.
        drop(requested_schema);
        let stream = self.stream(py)?;
        *self.stream.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let ready = std::mem::take(&mut self.ready().batches);
        let schema = Arc::clone(&self.arrow_schema);
        capsule::export(py, Box::new(Running::new(schema, ready, stream, self.token.clone())))
    }

    /// Stops the query.
    fn close(&self, py: Python<'_>) {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.token.cancel();
        *self.ready() = ReadyRows { is_end: true, ..ReadyRows::default() };
        // Ending it may wait for threads that want the GIL.
        py.detach(move || drop(stream));
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        let stream = self.stream.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if stream.is_none() {
            return;
        }
        self.token.cancel();
        // Python drops it, holding the GIL, which the threads of the query may want.
        Python::attach(|py| py.detach(move || drop(stream)));
    }
}
