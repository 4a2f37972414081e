//! The filters of a scan, evaluated one after the other in an order learnt from the data.

use crate::{KeyFilter, ScanRequest};
use std::{sync::Arc, time::Instant};
use volley_error::Result;
use volley_expression::{Expr, ExprSet};
use volley_vector::{Batch, Rows};

/// The order is reconsidered after this many batches.
const BATCHES_PER_ORDER: u32 = 16;

/// A filter of a join is left out when fewer than one of this many rows is dropped by it.
const MIN_DROP: u64 = 16;

/// It is judged after this many rows, and left out for as many batches as in [`REST_BATCHES`].
const JUDGED_ROWS: u64 = 1 << 16;

/// After this many batches without it, a filter is tried again: data may be clustered.
const REST_BATCHES: u32 = 256;

/// Conjuncts over the columns that they use.
///
/// A batch to filter has one column per entry of [`Conjuncts::columns`], best lazy: a column that
/// only a later conjunct uses is never loaded when no row is left for it.
pub struct Conjuncts {
    columns: Vec<usize>,
    exprs: ExprSet,
    /// In the order of evaluation.
    conjuncts: Vec<Conjunct>,
    batches: u32,
    dropped: u64,
}

/// A conjunct, what it cost and what it did so far.
struct Conjunct {
    test: Test,
    nanos: u64,
    rows_in: u64,
    rows_out: u64,
}

enum Test {
    /// An expression of the set.
    Expr(usize),
    /// A filter of a join on a column of the batch.
    Key(KeyTest),
}

struct KeyTest {
    column: usize,
    filter: Arc<KeyFilter>,
    rows_in: u64,
    rows_out: u64,
    /// Not tested before this batch.
    resting_until: u32,
}

impl Conjunct {
    fn new(test: Test) -> Conjunct {
        Conjunct { test, nanos: 0, rows_in: 0, rows_out: 0 }
    }

    /// Time for each row that was dropped: the least goes first.
    fn rank(&self) -> f64 {
        self.nanos as f64 / (1 + self.rows_in - self.rows_out) as f64
    }
}

impl KeyTest {
    /// Counts what a batch did, and decides whether to rest.
    fn learn(&mut self, rows_in: u64, rows_out: u64, batch: u32) {
        self.rows_in += rows_in;
        self.rows_out += rows_out;
        if self.rows_in < JUDGED_ROWS {
            return;
        }
        if (self.rows_in - self.rows_out) * MIN_DROP < self.rows_in {
            self.resting_until = batch.saturating_add(REST_BATCHES);
        }
        (self.rows_in, self.rows_out) = (0, 0);
    }
}

impl Conjuncts {
    /// Compiles the filters of a request; `None` when there are none. Filters of joins count when
    /// they are known by now.
    ///
    /// # Errors
    ///
    /// A filter that does not compile.
    pub fn new(request: &ScanRequest) -> Result<Option<Conjuncts>> {
        let known = request.dynamic_filters.iter();
        let known: Vec<_> =
            known.filter_map(|it| Some((it.column, Arc::clone(it.filter.get()?)))).collect();
        if request.filters.is_empty() && known.is_empty() {
            return Ok(None);
        }
        let mut columns: Vec<usize> = known.iter().map(|(column, _)| *column).collect();
        for filter in &request.filters {
            filter.for_each_column(&mut |column| columns.push(column));
        }
        columns.sort_unstable();
        columns.dedup();
        let place = |column: usize| columns.binary_search(&column).unwrap_or_default();
        let mut filters: Vec<Expr> = request.filters.clone();
        filters.iter_mut().for_each(|it| it.map_columns(&place));
        let query = Arc::clone(&request.query);
        let exprs = ExprSet::compile(&filters, &request.registry, query)?.charged_to(&request.pool);
        let tests = (0..filters.len()).map(Test::Expr);
        let keys = known.into_iter().map(|(column, filter)| {
            let column = place(column);
            Test::Key(KeyTest { column, filter, rows_in: 0, rows_out: 0, resting_until: 0 })
        });
        let conjuncts = tests.chain(keys).map(Conjunct::new).collect();
        Ok(Some(Conjuncts { columns, exprs, conjuncts, batches: 0, dropped: 0 }))
    }

    /// The columns that the conjuncts use, by position in the table, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// How many rows were dropped by filters of joins.
    pub fn dropped_by_joins(&self) -> u64 {
        self.dropped
    }

    /// The rows that satisfy all conjuncts.
    ///
    /// # Errors
    ///
    /// An error of a row that was evaluated; what a lazy column's loader reports.
    pub fn select(&mut self, batch: &Batch) -> Result<Rows> {
        let mut rows = Rows::all(batch.rows());
        let mut evaluation = self.exprs.begin(batch);
        let is_timed = self.conjuncts.len() > 1;
        for conjunct in &mut self.conjuncts {
            if rows.is_empty() {
                break;
            }
            let before = rows.count() as u64;
            let start = is_timed.then(Instant::now);
            match &mut conjunct.test {
                Test::Expr(index) => rows = evaluation.select(*index, &rows)?,
                Test::Key(test) if test.resting_until > self.batches => continue,
                Test::Key(test) => {
                    rows = test.filter.select(batch.column(test.column), &rows)?;
                    test.learn(before, rows.count() as u64, self.batches);
                    self.dropped += before - rows.count() as u64;
                }
            }
            conjunct.nanos += start.map_or(0, |it| it.elapsed().as_nanos() as u64);
            conjunct.rows_in += before;
            conjunct.rows_out += rows.count() as u64;
        }
        drop(evaluation);
        self.batches = self.batches.saturating_add(1);
        if is_timed && self.batches.is_multiple_of(BATCHES_PER_ORDER) {
            self.reorder();
        }
        Ok(rows)
    }

    fn reorder(&mut self) {
        self.conjuncts.sort_by(|a, b| a.rank().total_cmp(&b.rank()));
        for it in &mut self.conjuncts {
            // Recent batches count more.
            (it.nanos, it.rows_in, it.rows_out) = (it.nanos / 2, it.rows_in / 2, it.rows_out / 2);
        }
    }
}
