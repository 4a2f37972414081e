//! The rows of a query that runs.

use crate::{
    capsule::{self, Ready, Running, next_arrow},
    cell,
    error::{exception, type_error},
    output::Output,
    table::Table,
    waiting::{Call, wait},
};
use arrow_array::RecordBatch;
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyList},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use volley::{CancellationToken, Result, ResultStream, Session, Type};

/// The rows of a running query. Closing or dropping it cancels the query.
#[pyclass(frozen, module = "volley._volley")]
pub(crate) struct Rows {
    names: Vec<(String, String)>,
    types: Vec<Type>,
    output: Output,
    /// Whose progress is shown.
    session: Arc<Session>,
    /// `None` once it is closed or exported.
    stream: Mutex<Option<Arc<Mutex<ResultStream>>>>,
    token: CancellationToken,
    /// Rows that the query gave, and that were not fetched yet.
    ready: Mutex<ReadyRows>,
    sql: Arc<str>,
}

/// Rows that the engine gave before they were asked for.
#[derive(Default)]
struct ReadyRows {
    batches: VecDeque<RecordBatch>,
    /// Whether the query gives no more.
    is_end: bool,
}

/// How long the start of a query waits for its end after the first batch: about as long as one more
/// handover to another thread takes.
const END_WAIT: Duration = Duration::from_micros(200);

/// A query that began: its rows, those that are ready, and how they become record batches.
pub(crate) struct Begun {
    pub(crate) stream: ResultStream,
    ready: ReadyRows,
    output: Output,
}

impl Begun {
    /// Waits for the first batch of a query, and for its end, if that follows at once. With
    /// `keeps_encodings`, dictionaries and runs of the first batch stay what they are.
    ///
    /// # Errors
    ///
    /// What the query fails with.
    pub(crate) fn new(mut stream: ResultStream, keeps_encodings: bool) -> Result<Begun> {
        let mut output = Output::plain(&stream.arrow_schema(), stream.schema().types());
        let mut ready = ReadyRows::default();
        let Some(batch) = stream.next()? else {
            let ready = ReadyRows { is_end: true, ..ready };
            return Ok(Begun { stream, ready, output });
        };
        if keeps_encodings {
            output = output.encoded(&batch);
        }
        ready.batches.push_back(output.record_batch(&batch)?);
        match stream.next_timeout(END_WAIT).transpose()? {
            None => {}
            Some(None) => ready.is_end = true,
            Some(Some(batch)) => ready.batches.push_back(output.record_batch(&batch)?),
        }
        Ok(Begun { stream, ready, output })
    }
}

impl Rows {
    pub(crate) fn new(
        begun: Begun,
        session: Arc<Session>,
        token: CancellationToken,
        sql: Arc<str>,
    ) -> Rows {
        let Begun { stream, ready, output } = begun;
        let schema = stream.schema();
        let names = schema.fields.iter();
        Rows {
            names: names.map(|it| (it.name.clone(), it.data_type.to_string())).collect(),
            types: schema.types().cloned().collect(),
            output,
            session,
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

    fn call(&self) -> Call<'_> {
        Call { token: &self.token, sql: Some(&self.sql), session: Some(&self.session) }
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
        let (stream, output) = (self.stream(py)?, self.output.clone());
        wait(py, self.call(), move || next_arrow(&stream, &output))
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
        let (stream, output) = (self.stream(py)?, self.output.clone());
        wait(py, self.call(), move || {
            while let Some(batch) = next_arrow(&stream, &output)? {
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
        let schema = Arc::clone(self.output.schema());
        let table = Table::collected_of(&self.types, schema, batches);
        table.map_err(|it| exception(py, &it, Some(&self.sql)))
    }

    /// The next record batch as a table; `None` at the end.
    fn next_table(&self, py: Python<'_>) -> PyResult<Option<Table>> {
        let Some(batch) = self.next_record_batch(py)? else { return Ok(None) };
        let schema = Arc::clone(self.output.schema());
        let table = Table::collected_of(&self.types, schema, vec![batch]);
        table.map(Some).map_err(|it| exception(py, &it, Some(&self.sql)))
    }

    /// The next record batch, as a stream of one; `None` at the end.
    fn next_batch<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyCapsule>>> {
        let Some(batch) = self.next_record_batch(py)? else { return Ok(None) };
        let ready = Ready::new(Arc::clone(self.output.schema()), vec![batch]);
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
        let output = self.output.clone();
        capsule::export(py, Box::new(Running::new(output, ready, stream, self.token.clone())))
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
