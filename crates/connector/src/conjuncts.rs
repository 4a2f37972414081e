//! The filters of a scan, evaluated one after the other in an order learnt from the data.

use crate::ScanRequest;
use std::{sync::Arc, time::Instant};
use volley_error::Result;
use volley_expression::{Expr, ExprSet};
use volley_vector::{Batch, Rows};

/// The order is reconsidered after this many batches.
const BATCHES_PER_ORDER: u32 = 16;

/// Conjuncts over the columns that they use.
///
/// A batch to filter has one column per entry of [`Conjuncts::columns`], best lazy: a column that
/// only a later conjunct uses is never loaded when no row is left for it.
pub struct Conjuncts {
    columns: Vec<usize>,
    exprs: ExprSet,
    /// In the order of evaluation.
    costs: Vec<Cost>,
    batches: u32,
}

/// What a conjunct cost and what it did so far.
struct Cost {
    index: usize,
    nanos: u64,
    rows_in: u64,
    rows_out: u64,
}

impl Cost {
    /// Time for each row that was dropped: the least goes first.
    fn rank(&self) -> f64 {
        self.nanos as f64 / (1 + self.rows_in - self.rows_out) as f64
    }
}

impl Conjuncts {
    /// Compiles the filters of a request; `None` when there are none.
    ///
    /// # Errors
    ///
    /// A filter that does not compile.
    pub fn new(request: &ScanRequest) -> Result<Option<Conjuncts>> {
        if request.filters.is_empty() {
            return Ok(None);
        }
        let mut columns = Vec::new();
        for filter in &request.filters {
            filter.for_each_column(&mut |column| columns.push(column));
        }
        columns.sort_unstable();
        columns.dedup();
        let mut filters: Vec<Expr> = request.filters.clone();
        for filter in &mut filters {
            filter.map_columns(&|column| columns.binary_search(&column).unwrap_or_default());
        }
        let query = Arc::clone(&request.query);
        let exprs = ExprSet::compile(&filters, &request.registry, query)?.charged_to(&request.pool);
        let cost = |index| Cost { index, nanos: 0, rows_in: 0, rows_out: 0 };
        let costs = (0..filters.len()).map(cost).collect();
        Ok(Some(Conjuncts { columns, exprs, costs, batches: 0 }))
    }

    /// The columns that the conjuncts use, by position in the table, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The rows that satisfy all conjuncts.
    ///
    /// # Errors
    ///
    /// An error of a row that was evaluated; what a lazy column's loader reports.
    pub fn select(&mut self, batch: &Batch) -> Result<Rows> {
        let mut rows = Rows::all(batch.rows());
        let mut evaluation = self.exprs.begin(batch);
        let is_timed = self.costs.len() > 1;
        for cost in &mut self.costs {
            if rows.is_empty() {
                break;
            }
            let before = rows.count() as u64;
            let start = is_timed.then(Instant::now);
            rows = evaluation.select(cost.index, &rows)?;
            cost.nanos += start.map_or(0, |it| it.elapsed().as_nanos() as u64);
            cost.rows_in += before;
            cost.rows_out += rows.count() as u64;
        }
        drop(evaluation);
        self.batches += 1;
        if is_timed && self.batches.is_multiple_of(BATCHES_PER_ORDER) {
            self.costs.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
            for cost in &mut self.costs {
                // Recent batches count more.
                (cost.nanos, cost.rows_in, cost.rows_out) =
                    (cost.nanos / 2, cost.rows_in / 2, cost.rows_out / 2);
            }
        }
        Ok(rows)
    }
}
