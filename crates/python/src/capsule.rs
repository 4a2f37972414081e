//! Arrow streams in capsules of Python: the C stream interface, both ways.
//!
//! A capsule called `arrow_array_stream` holds a pointer to an `ArrowArrayStream`. A consumer takes
//! the stream by moving the structure, and leaves it marked as released.

use crate::{
    error::type_error,
    output::Output,
    waiting::{Call, wait},
};
use arrow_array::{
    RecordBatch, RecordBatchReader,
    ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader},
};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{
    prelude::*,
    types::{PyCapsule, PyCapsuleMethods},
};
use std::{
    collections::VecDeque,
    ffi::CStr,
    sync::{Arc, Mutex, PoisonError},
};
use volley::{CancellationToken, Error, ResultStream};

const STREAM: &CStr = c"arrow_array_stream";

/// A capsule with a stream of what a reader reads.
pub(crate) fn export<'py>(
    py: Python<'py>,
    reader: Box<dyn RecordBatchReader + Send>,
) -> PyResult<Bound<'py, PyCapsule>> {
    // The stream is released with the capsule, unless its content was moved out.
    PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(reader), STREAM)
}

/// The stream of a capsule, or of an object with `__arrow_c_stream__`.
pub(crate) fn import(object: &Bound<'_, PyAny>) -> PyResult<RecordBatchStreamReader> {
    let py = object.py();
    let capsule = match object.cast::<PyCapsule>() {
        Ok(it) => it.clone(),
        Err(_) => object.call_method0("__arrow_c_stream__")?.cast_into::<PyCapsule>()?,
    };
    let pointer = capsule.pointer_checked(Some(STREAM))?;
    // SAFETY: by the capsule protocol of Arrow, a capsule of this name holds a valid stream, which
    // the consumer moves out and marks as released; `from_raw` does both.
    let reader = unsafe { RecordBatchStreamReader::from_raw(pointer.cast().as_ptr()) };
    reader.map_err(|it| type_error(py, &format!("not a stream of Arrow record batches: {it}")))
}

/// Record batches that are there.
pub(crate) struct Ready {
    schema: SchemaRef,
    batches: std::vec::IntoIter<RecordBatch>,
}

impl Ready {
    pub(crate) fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Ready {
        Ready { schema, batches: batches.into_iter() }
    }
}

impl Iterator for Ready {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next().map(Ok)
    }
}

impl RecordBatchReader for Ready {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The rows of a running query. The reader may hold the GIL; the engine runs without it.
pub(crate) struct Running {
    output: Output,
    ready: VecDeque<RecordBatch>,
    stream: Arc<Mutex<ResultStream>>,
    token: CancellationToken,
}

impl Running {
    /// Rows that are `ready`, and then those of the stream.
    pub(crate) fn new(
        output: Output,
        ready: VecDeque<RecordBatch>,
        stream: Arc<Mutex<ResultStream>>,
        token: CancellationToken,
    ) -> Running {
        Running { output, ready, stream, token }
    }
}

impl Iterator for Running {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(batch) = self.ready.pop_front() {
            return Some(Ok(batch));
        }
        let next = Python::attach(|py| {
            let (stream, output) = (Arc::clone(&self.stream), self.output.clone());
            let call = Call { token: &self.token, sql: None, session: None };
            wait(py, call, move || next_arrow(&stream, &output))
                .map_err(|raised| ArrowError::ExternalError(raised.to_string().into()))
        });
        next.transpose()
    }
}

impl RecordBatchReader for Running {
    fn schema(&self) -> SchemaRef {
        Arc::clone(self.output.schema())
    }
}

/// The next batch of a query as a record batch.
pub(crate) fn next_arrow(
    stream: &Mutex<ResultStream>,
    output: &Output,
) -> Result<Option<RecordBatch>, Error> {
    let mut stream = stream.lock().unwrap_or_else(PoisonError::into_inner);
    let batch = stream.next()?;
    batch.map(|it| output.record_batch(&it)).transpose()
}
