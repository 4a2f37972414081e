//! The rows of a query.

use crate::{distribution, profiles::ProfileSource};
use std::{collections::VecDeque, sync::Arc, time::Duration};
use volley_error::{Error, Result};
use volley_exec::{Task, TaskHandle, TaskStatistics};
use volley_schedule::DistributedQuery;
use volley_state::queue::QueueReader;
use volley_types::{Field, Schema, Type, Value};
use volley_vector::{
    Batch, Vector,
    arrow::{ArrowLayout, batch_to_arrow, schema_to_arrow},
};

/// The rows of a query, batch by batch. Dropping it cancels what still runs.
pub struct ResultStream {
    schema: Schema,
    rows: Rows,
    is_plain_text: bool,
}

enum Rows {
    /// A running query, and what its profile is made of.
    Task(Box<(Task, ProfileSource)>),
    /// A query that runs as several tasks, and what its profile is made of.
    Distributed(Box<(DistributedQuery, ProfileSource)>),
    /// Complete rows, some of them on disk.
    Held(QueueReader),
    /// Rows that are there already.
    Ready(VecDeque<Batch>),
}

impl ResultStream {
    pub(crate) fn of_task(schema: Schema, task: Task, source: ProfileSource) -> ResultStream {
        ResultStream::new(schema, Rows::Task(Box::new((task, source))))
    }

    /// The task, and what its profile is made of; `None` when no plan runs.
    pub(crate) fn task_and_source(&self) -> Option<(&Task, &ProfileSource)> {
        match &self.rows {
            Rows::Task(running) => Some((&running.0, &running.1)),
            Rows::Distributed(_) | Rows::Held(_) | Rows::Ready(_) => None,
        }
    }

    /// The query, if it runs as several tasks, and what its profile is made of.
    pub(crate) fn distributed_query(&self) -> Option<(&DistributedQuery, &ProfileSource)> {
        match &self.rows {
            Rows::Distributed(running) => Some((&running.0, &running.1)),
            Rows::Task(_) | Rows::Held(_) | Rows::Ready(_) => None,
        }
    }

    pub(crate) fn of_query(
        schema: Schema,
        query: DistributedQuery,
        source: ProfileSource,
    ) -> ResultStream {
        ResultStream::new(schema, Rows::Distributed(Box::new((query, source))))
    }

    /// Rows that a statement has held back.
    pub(crate) fn of_held(schema: Schema, rows: QueueReader) -> ResultStream {
        ResultStream::new(schema, Rows::Held(rows))
    }

    /// Rows that are there already, in one batch, which may be empty.
    pub(crate) fn of_batch(schema: Schema, batch: Batch) -> ResultStream {
        let batches = if batch.rows() == 0 { VecDeque::new() } else { [batch].into() };
        ResultStream::new(schema, Rows::Ready(batches))
    }

    /// Rows of text columns.
    pub(crate) fn of_text(names: &[&str], rows: &[Vec<String>]) -> ResultStream {
        let column = |index: usize| {
            let values: Vec<_> = rows.iter().map(|row| Value::text(&row[index])).collect();
            Vector::from_values(Type::Varchar, &values)
        };
        let batch = Batch::new((0..names.len()).map(column).collect(), rows.len());
        let batches = if rows.is_empty() { VecDeque::new() } else { [batch].into() };
        let schema = names.iter().map(|it| Field::new(*it, Type::Varchar)).collect();
        ResultStream::new(schema, Rows::Ready(batches))
    }

    /// Lines of text in a column `name`.
    pub(crate) fn of_lines(name: &str, text: &str) -> ResultStream {
        let lines: Vec<_> = text.lines().map(|it| vec![it.to_owned()]).collect();
        ResultStream { is_plain_text: true, ..ResultStream::of_text(&[name], &lines) }
    }

    /// No rows and no columns.
    pub(crate) fn empty() -> ResultStream {
        ResultStream::new(Schema::default(), Rows::Ready(VecDeque::new()))
    }

    fn new(schema: Schema, rows: Rows) -> ResultStream {
        ResultStream { schema, rows, is_plain_text: false }
    }

    /// Names and types of the columns.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// Whether the rows are lines of text, such as a plan, that read best without a frame.
    pub fn is_plain_text(&self) -> bool {
        self.is_plain_text
    }

    /// The next batch; waits for it. `None` at the end. Batches are not empty, columns may be
    /// encoded but are not lazy.
    ///
    /// # Errors
    ///
    /// Whatever the query fails with; again on every later call.
    pub fn next(&mut self) -> Result<Option<Batch>> {
        match &mut self.rows {
            Rows::Task(running) => {
                let (task, source) = &mut **running;
                let next = task.next();
                ended(next, |error| source.end(task, error))
            }
            Rows::Distributed(running) => {
                let (query, source) = &mut **running;
                let next = query.next();
                ended(next, |error| source.end_query(query, error))
            }
            Rows::Held(rows) => rows.wait_next(None).unwrap_or(Ok(None)),
            Rows::Ready(batches) => Ok(batches.pop_front()),
        }
    }

    /// As [`ResultStream::next`], if there is an answer before `timeout` has passed.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # fn main() -> volley::Result<()> {
    /// let mut rows = volley::Session::new()?.sql("SELECT 1")?;
    /// let batch = rows.next_timeout(Duration::from_secs(60)).transpose()?.flatten();
    /// assert_eq!(batch.map(|it| it.rows()), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn next_timeout(&mut self, timeout: Duration) -> Option<Result<Option<Batch>>> {
        match &mut self.rows {
            Rows::Task(running) => {
                let (task, source) = &mut **running;
                let next = task.next_timeout(timeout)?;
                Some(ended(next, |error| source.end(task, error)))
            }
            _ => Some(self.next()),
        }
    }

    /// The batches, as an iterator that ends after the first error.
    pub fn batches(mut self) -> impl Iterator<Item = Result<Batch>> {
        let mut done = false;
        std::iter::from_fn(move || {
            if done {
                return None;
            }
            let next = self.next().transpose();
            done = !matches!(next, Some(Ok(_)));
            next
        })
    }

    /// All batches.
    ///
    /// # Errors
    ///
    /// As [`ResultStream::next`].
    pub fn collect(self) -> Result<Vec<Batch>> {
        self.batches().collect()
    }

    /// All rows as Arrow record batches in the layout that every Arrow library reads.
    ///
    /// # Errors
    ///
    /// As [`ResultStream::next`].
    pub fn collect_arrow(self) -> Result<Vec<arrow_array::RecordBatch>> {
        self.arrow_batches().collect()
    }

    /// The rows as Arrow record batches, one at a time while the query runs; ends after the first
    /// error.
    ///
    /// ```
    /// # fn main() -> volley::Result<()> {
    /// let session = volley::Session::new()?;
    /// let result = session.sql("SELECT * FROM (VALUES (1), (2)) v(n)")?;
    /// let schema = result.arrow_schema();
    /// let mut rows = 0;
    /// for batch in result.arrow_batches() {
    ///     let batch = batch?;
    ///     assert_eq!(batch.schema(), schema);
    ///     rows += batch.num_rows();
    /// }
    /// assert_eq!(rows, 2);
    /// # Ok(())
    /// # }
    /// ```
    pub fn arrow_batches(self) -> impl Iterator<Item = Result<arrow_array::RecordBatch>> {
        let schema = self.arrow_schema();
        self.batches().map(move |it| batch_to_arrow(&it?, &schema, ArrowLayout::Portable))
    }

    /// The schema of [`ResultStream::collect_arrow`]'s batches.
    pub fn arrow_schema(&self) -> arrow_schema::SchemaRef {
        Arc::new(schema_to_arrow(&self.schema, ArrowLayout::Portable))
    }

    /// All rows as scalars; for tests and small results.
    ///
    /// # Errors
    ///
    /// As [`ResultStream::next`].
    pub fn collect_values(self) -> Result<Vec<Vec<Value>>> {
        let mut rows = Vec::new();
        for batch in self.batches() {
            let batch = batch?;
            let columns = batch.columns().iter().map(Vector::to_values);
            let columns = columns.collect::<Result<Vec<_>>>()?;
            rows.extend(
                (0..batch.rows()).map(|row| columns.iter().map(|it| it[row].clone()).collect()),
            );
        }
        Ok(rows)
    }

    /// What every operator did so far; `None` when no plan runs. Of several tasks, the operators of
    /// all fragments, whose nodes may have equal ids.
    pub fn statistics(&self) -> Option<TaskStatistics> {
        match &self.rows {
            Rows::Task(running) => Some(running.0.statistics()),
            Rows::Distributed(running) => Some(running.0.statistics().into_operators()),
            Rows::Held(_) | Rows::Ready(_) => None,
        }
    }

    /// The fragments of a query of several tasks, with what every node did so far.
    pub(crate) fn fragment_statistics(&self) -> String {
        match &self.rows {
            Rows::Distributed(running) => {
                distribution::statistics_text(running.0.statistics(), running.0.plan())
            }
            Rows::Task(_) | Rows::Held(_) | Rows::Ready(_) => String::new(),
        }
    }

    /// What stops, pauses and resumes this query while another thread waits in
    /// [`ResultStream::next`].
    ///
    /// ```
    /// # fn main() -> volley::Result<()> {
    /// let session = volley::Session::new()?;
    /// session.sql("CREATE TABLE t AS SELECT * FROM (VALUES (1), (2), (3), (4)) v(n)")?;
    /// let long = "SELECT count(*) FROM t a, t b, t c, t d, t e, t f, t g, t h, t i, t j, t k, t l, \
    ///             t m, t o WHERE a.n + b.n + c.n > o.n * 9";
    /// let mut result = session.sql(long)?;
    /// let handle = result.handle();
    /// std::thread::spawn(move || handle.cancel());
    /// let Err(error) = result.next() else { unreachable!() };
    /// assert_eq!(error.kind(), volley::ErrorKind::Cancelled);
    /// # Ok(())
    /// # }
    /// ```
    pub fn handle(&self) -> TaskHandle {
        match &self.rows {
            Rows::Task(running) => running.0.handle(),
            Rows::Distributed(running) => running.0.handle(),
            Rows::Held(_) | Rows::Ready(_) => TaskHandle::default(),
        }
    }

    /// Stops the query; `next` answers the cancelled error from now on.
    pub fn cancel(&self) {
        self.handle().cancel();
    }

    /// Lets nothing of the query run, once it returns, until [`ResultStream::resume`]; see
    /// [`TaskHandle::pause`].
    ///
    /// ```
    /// # fn main() -> volley::Result<()> {
    /// let session = volley::Session::new()?;
    /// let mut heavy = session.sql("SELECT sum(n) FROM (VALUES (1), (2), (4)) v(n)")?;
    /// heavy.pause();
    /// // Something urgent has all the threads meanwhile.
    /// session.sql("SELECT 1")?.collect()?;
    /// heavy.resume();
    /// assert_eq!(heavy.next()?.map(|it| it.rows()), Some(1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn pause(&self) {
        self.handle().pause_wait();
    }

    /// Lets a paused query go on.
    pub fn resume(&self) {
        self.handle().resume();
    }
}

/// The next batch of a query, whose profile is kept by `end` when it has ended.
fn ended(
    next: Result<Option<Batch>>,
    end: impl FnOnce(Option<&Error>) -> Result<()>,
) -> Result<Option<Batch>> {
    match next {
        Ok(Some(batch)) => batch.loaded().map(Some),
        Ok(None) => end(None).map(|()| None),
        Err(error) => {
            // The query's error is the one that matters.
            let _ = end(Some(&error));
            Err(error)
        }
    }
}
