//! The rows of a query.

use std::{collections::VecDeque, sync::Arc};
use volley_error::Result;
use volley_exec::{Task, TaskStatistics};
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
    /// A running query.
    Task(Box<Task>),
    /// Rows that are there already.
    Ready(VecDeque<Batch>),
}

impl ResultStream {
    pub(crate) fn of_task(schema: Schema, task: Task) -> ResultStream {
        ResultStream { schema, rows: Rows::Task(Box::new(task)), is_plain_text: false }
    }

    /// Rows of text columns.
    pub(crate) fn of_text(names: &[&str], rows: &[Vec<String>]) -> ResultStream {
        let column = |index: usize| {
            let values: Vec<_> = rows.iter().map(|row| Value::text(&row[index])).collect();
            Vector::from_values(Type::Varchar, &values)
        };
        let batch = Batch::new((0..names.len()).map(column).collect(), rows.len());
        ResultStream {
            schema: names.iter().map(|it| Field::new(*it, Type::Varchar)).collect(),
            rows: Rows::Ready(if rows.is_empty() { VecDeque::new() } else { [batch].into() }),
            is_plain_text: false,
        }
    }

    /// Lines of text in a column `name`.
    pub(crate) fn of_lines(name: &str, text: &str) -> ResultStream {
        let lines: Vec<_> = text.lines().map(|it| vec![it.to_owned()]).collect();
        ResultStream { is_plain_text: true, ..ResultStream::of_text(&[name], &lines) }
    }

    /// No rows and no columns.
    pub(crate) fn empty() -> ResultStream {
        ResultStream {
            schema: Schema::default(),
            rows: Rows::Ready(VecDeque::new()),
            is_plain_text: false,
        }
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
            Rows::Task(task) => task.next()?.map(Batch::loaded).transpose(),
            Rows::Ready(batches) => Ok(batches.pop_front()),
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
        let schema = self.arrow_schema();
        self.batches().map(|it| batch_to_arrow(&it?, &schema, ArrowLayout::Portable)).collect()
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

    /// What every operator did so far; `None` when no plan runs.
    pub fn statistics(&self) -> Option<TaskStatistics> {
        match &self.rows {
            Rows::Task(task) => Some(task.statistics()),
            Rows::Ready(_) => None,
        }
    }

    /// Stops the query; `next` answers the cancelled error from now on.
    pub fn cancel(&self) {
        if let Rows::Task(task) = &self.rows {
            task.cancel();
        }
    }
}
