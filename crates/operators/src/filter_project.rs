//! Keeps rows and computes columns, with one set of compiled expressions.
//!
//! ```text
//! filter    rows = those for which every conjunct is true; none: next batch
//! project   most rows survive: compute over them in place, wrap the results
//!           fewer:             copy the surviving values that are computed with, compute densely
//! pass on   columns that nothing is computed with become dictionaries over one shared code buffer
//! join      small results are copied and joined, so that later operators see larger batches
//! ```
//!
//! Batches that take long or much memory (long strings, costly functions) are worked on in slices:
//! a step stays short, and what is computed on the way stays small.
//!
//! A lazy column that survives the filter unread is wrapped and stays lazy: loading it decodes
//! surviving rows only.

mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::{lower_filter, lower_project};

use std::time::{Duration, Instant};
use volley_error::Result;
use volley_exec::{Operator, OperatorContext, Step, StepContext};
use volley_expression::{Expr, ExprKind, ExprSet, filter::FilterCounts};
use volley_state::coalesce::Coalescer;
use volley_types::PhysicalType;
use volley_vector::{Batch, Encoding, Rows};

/// Results with fewer rows than one in this many of a full batch are joined to larger ones.
const SMALL_ONE_IN: usize = 8;

/// Columns are copied before computing when fewer rows than one in this many survive.
const DENSE_BELOW_ONE_IN: usize = 2;

/// A slice should take about this long.
const SLICE_TIME: Duration = Duration::from_millis(10);

/// After a slice that took longer, the next one is smaller.
const SLICE_TIME_MAX: Duration = Duration::from_millis(20);

/// The rows of the first slice if strings are computed, since their length is unknown.
const FIRST_SLICE_ROWS: usize = 16;

/// Filter, projection, or both.
pub struct FilterProject {
    name: &'static str,
    /// The conjunction of the filters first, if there are any, then the projections.
    exprs: ExprSet,
    /// What the filter did, if there is one.
    filter: Option<FilterCounts>,
    /// The number of projections; `None`: all columns pass.
    projections: Option<usize>,
    /// Input columns that something is computed with, ascending.
    computed_with: Vec<usize>,
    batch_rows: usize,
    /// Made with the first batch, which tells the columns' types when there is no projection.
    coalescer: Option<Coalescer>,
    cx: OperatorContext,
    /// How many rows are worked on at once; learnt from the last slice.
    slice_rows: usize,
    /// What results of the last slice took, those on the way among them; small ones do not count.
    slice_bytes: usize,
    pending: Option<Batch>,
    /// Whether the rows that are held are the last ones of a part of the source.
    ends_split: bool,
    input_done: bool,
}

impl FilterProject {
    /// Compiles the expressions. `projections`: `None` passes all columns.
    ///
    /// # Errors
    ///
    /// A function that the registry does not know.
    pub fn new(
        name: &'static str,
        filters: &[Expr],
        projections: Option<&[Expr]>,
        cx: &OperatorContext,
    ) -> Result<FilterProject> {
        let mut exprs = Vec::new();
        let filter = (!filters.is_empty()).then(|| Expr::and(filters.to_vec()));
        let counts = filter.as_ref().map(|it| FilterCounts {
            text: it.to_string(),
            rows_in: 0,
            rows_out: 0,
        });
        exprs.extend(filter);
        exprs.extend(projections.unwrap_or(&[]).iter().cloned());
        let computed_with = computed_with(projections.unwrap_or(&[]));
        let computes_strings = exprs.iter().any(computes_strings);
        let exprs = cx.task.compile(&exprs)?.charged_to(&cx.pool);
        Ok(FilterProject {
            name,
            exprs,
            filter: counts,
            projections: projections.map(<[Expr]>::len),
            computed_with,
            batch_rows: cx.task.batch_rows,
            coalescer: None,
            cx: cx.clone(),
            slice_rows: if computes_strings { FIRST_SLICE_ROWS } else { usize::MAX },
            slice_bytes: 0,
            pending: None,
            ends_split: false,
            input_done: false,
        })
    }

    /// Works on the next slice of `batch`, which is all of it unless that would take long. What is
    /// left of it is pending.
    fn process_slice(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let (rows, begin) = (batch.rows(), Instant::now());
        let count = rows.min(self.slice_rows);
        let output = if count == rows {
            self.process(batch)?
        } else {
            let batch = batch.loaded()?;
            self.pending = Some(batch.slice(count, rows - count));
            self.process(batch.slice(0, count))?
        };
        self.learn(count, begin.elapsed());
        Ok(output)
    }

    /// Chooses the next slice's size, after one of `rows` rows took `time` and `slice_bytes`.
    fn learn(&mut self, rows: usize, time: Duration) {
        let (bytes, most) = (self.slice_bytes, self.cx.pool.batch_bytes());
        if time > SLICE_TIME_MAX || bytes > most {
            let in_time = SLICE_TIME.as_secs_f64() / time.max(SLICE_TIME).as_secs_f64();
            let in_memory = most as f64 / bytes.max(most) as f64;
            self.slice_rows = ((rows as f64 * in_time.min(in_memory)) as usize).max(1);
        } else if time < SLICE_TIME / 4 && bytes <= most / 2 && rows >= self.slice_rows {
            self.slice_rows = self.slice_rows.saturating_mul(2);
        }
    }

    /// The surviving rows of a batch with the wanted columns; `None` when no row survives.
    fn process(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let all = Rows::all(batch.rows());
        let mut evaluation = self.exprs.begin(&batch);
        let rows = match &mut self.filter {
            Some(counts) => {
                let rows = evaluation.select(0, &all)?;
                counts.rows_in += batch.rows() as u64;
                counts.rows_out += rows.count() as u64;
                rows
            }
            None => all,
        };
        self.slice_bytes = evaluation.charged_bytes();
        if rows.is_empty() {
            return Ok(None);
        }
        let Some(projections) = self.projections else {
            return Ok(Some(batch.select(&rows)));
        };
        let first = usize::from(self.filter.is_some());
        let exprs = first..first + projections;
        if self.computed_with.is_empty() || rows.count() * DENSE_BELOW_ONE_IN >= batch.rows() {
            let columns = exprs.map(|it| evaluation.evaluate(it, &rows)).collect::<Result<_>>()?;
            self.slice_bytes = evaluation.charged_bytes();
            return Ok(Some(Batch::new(columns, batch.rows()).select(&rows)));
        }
        drop(evaluation);
        let dense = self.densify(batch, &rows)?;
        let all = Rows::all(dense.rows());
        let mut evaluation = self.exprs.begin(&dense);
        let columns = exprs.map(|it| evaluation.evaluate(it, &all)).collect::<Result<_>>()?;
        self.slice_bytes = evaluation.charged_bytes();
        Ok(Some(Batch::new(columns, dense.rows())))
    }

    /// The surviving rows; columns that something is computed with are copied, unless they are
    /// dictionaries with fewer entries than rows, which are computed with entry by entry.
    fn densify(&self, batch: Batch, rows: &Rows) -> Result<Batch> {
        let selected = batch.select(rows);
        // Lazy columns decode only the selected rows if there is no other reference to them.
        drop(batch);
        let count = selected.rows();
        let mut columns = selected.into_columns();
        for index in &self.computed_with {
            let column = columns[*index].loaded()?;
            let is_small_dictionary = matches!(
                column.encoding(),
                Encoding::Dictionary { base, .. } if base.len() <= count
            );
            columns[*index] = if is_small_dictionary { column } else { column.flatten()? };
        }
        Ok(Batch::new(columns, count))
    }

    /// Copies a small batch and joins it to others.
    fn coalesce(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let held = self.coalescer.as_ref().is_some_and(|it| it.rows() > 0);
        let enough = self.batch_rows.min(self.slice_rows);
        let is_small = batch.rows() * SMALL_ONE_IN < enough;
        if !is_small && !held {
            return Ok(Some(batch));
        }
        let rows = batch.rows();
        let columns = batch.into_columns().into_iter();
        let columns = columns.map(|it| if is_small { it.flatten() } else { it.loaded() });
        let batch = Batch::new(columns.collect::<Result<_>>()?, rows);
        let coalescer = self.coalescer.get_or_insert_with(|| {
            let types = batch.columns().iter().map(|it| it.data_type().clone());
            let enough_rows = self.batch_rows / (SMALL_ONE_IN / 2);
            Coalescer::new(types.collect(), enough_rows, &self.cx.pool)
        });
        coalescer.push(batch)
    }
}

impl Drop for FilterProject {
    fn drop(&mut self) {
        self.cx.metrics.set_filters(self.filter.take().into_iter().collect());
    }
}

/// Whether a string is computed anywhere in `expr`.
fn computes_strings(expr: &Expr) -> bool {
    let mut rest = vec![expr];
    while let Some(expr) = rest.pop() {
        let is_computed = !matches!(expr.kind, ExprKind::Column(_) | ExprKind::Constant(_));
        if is_computed && expr.data_type.physical() == PhysicalType::View {
            return true;
        }
        rest.extend(expr.children());
    }
    false
}

/// The columns of all expressions that are more than a column.
fn computed_with(projections: &[Expr]) -> Vec<usize> {
    let mut columns = Vec::new();
    let computed = projections.iter().filter(|it| !matches!(it.kind, ExprKind::Column(_)));
    computed.for_each(|it| it.for_each_column(&mut |column| columns.push(column)));
    columns.sort_unstable();
    columns.dedup();
    columns
}

impl Operator for FilterProject {
    fn name(&self) -> &'static str {
        self.name
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.pending = Some(input);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn end_split(&mut self) -> bool {
        self.ends_split = self.coalescer.as_ref().is_some_and(|it| it.rows() > 0);
        self.ends_split
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        if self.ends_split {
            let held = self.coalescer.as_mut().map_or(Ok(None), Coalescer::flush)?;
            self.ends_split = held.is_some();
            return Ok(held.map_or(Step::EndOfSplit, Step::Output));
        }
        if let Some(batch) = self.pending.take() {
            let output = match self.process_slice(batch)? {
                Some(batch) => self.coalesce(batch)?,
                None => self.coalescer.as_mut().map_or(Ok(None), Coalescer::pass_vain_input)?,
            };
            let rest = if self.pending.is_some() { Step::Yield } else { Step::NeedInput };
            return Ok(output.map_or(rest, Step::Output));
        }
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        let rest = self.coalescer.as_mut().map_or(Ok(None), Coalescer::flush)?;
        Ok(rest.map_or(Step::Finished, Step::Output))
    }
}
