//! The filters of a scan, evaluated one after the other in an order learnt from the data.

use super::{ColumnFilter, DynamicFilter, KeyFilter, KeyFilterMemo, packed_filter::PackedFilter};
use crate::{
    Expr, ExprSet,
    adaptive_order::AdaptiveOrder,
    marks::{self, Mark},
};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{QueryConstants, Registry};
use volley_memory::Pool;
use volley_vector::{Batch, Encoding, Rows, Vector};

/// When fewer than one of this many rows is left, conjuncts load what they need for these alone.
const COMPACT_SHARE: usize = 4;

/// A dynamic filter is left out when fewer than one of this many rows is dropped by it.
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
    conjuncts: Vec<Conjunct>,
    /// The order of evaluation.
    order: AdaptiveOrder,
    batches: u32,
    dropped: DroppedRows,
    /// For compiling bounds. Its filters are those of the expressions, over columns of the table.
    spec: ConjunctsSpec,
}

/// The filters of a scan, and what compiling them takes.
#[derive(Clone)]
pub struct ConjunctsSpec {
    /// Conjuncts over the columns of a table.
    pub filters: Vec<Expr>,
    /// Filters that other operators make. Those of joins count when they are known by now.
    pub dynamic_filters: Vec<ColumnFilter>,
    /// For compiling filters.
    pub registry: Arc<Registry>,
    /// For compiling filters.
    pub query: Arc<QueryConstants>,
    /// Where buffers are charged.
    pub pool: Pool,
}

/// How many rows dynamic filters dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DroppedRows {
    /// Rows that filters of joins dropped.
    pub by_joins: u64,
    /// Rows behind the first ones of an order.
    pub by_bounds: u64,
}

/// What a filter did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterCounts {
    /// The filter as text, as in a plan: `#3` is a column of the table.
    pub text: String,
    /// Rows that it tested.
    pub rows_in: u64,
    /// Those of them that it kept.
    pub rows_out: u64,
}

/// A conjunct, and what it did so far.
struct Conjunct {
    test: Test,
    /// The same for a column that is not decoded yet.
    packed: Option<PackedFilter>,
    /// The columns of the batch that it uses.
    columns: Vec<usize>,
    /// Rows that were tested, and that were kept.
    tested: u64,
    kept: u64,
}

enum Test {
    /// An expression of the set.
    Expr(usize),
    /// A filter of a join on a column of the batch.
    Key(KeyTest),
    /// A bound of a column of the batch.
    Bound(BoundTest),
}

struct KeyTest {
    column: usize,
    filter: Arc<KeyFilter>,
    memo: KeyFilterMemo,
    rest: Rest,
}

struct BoundTest {
    column: usize,
    filter: Arc<DynamicFilter>,
    /// The bound of this version, compiled; `None` if it cannot be.
    exprs: Option<ExprSet>,
    version: u64,
    rest: Rest,
}

/// Decides when a filter is left out.
#[derive(Default)]
struct Rest {
    rows_in: u64,
    rows_out: u64,
    /// Not tested before this batch.
    until: u32,
}

/// What conjuncts leave of a batch.
pub struct Selected {
    /// The rows that satisfy all of them.
    pub rows: Rows,
    /// The columns that they use, for these rows only; lazy if no filter needed the values.
    pub columns: Batch,
}

/// What is left of a batch between conjuncts.
struct Left {
    /// The batch, or some of its rows.
    batch: Batch,
    /// The rows of the batch that came.
    total: usize,
    /// Where the rows stand in that one; `None`: all of it is there.
    positions: Option<Vec<u32>>,
    /// The rows of `batch` that satisfy the conjuncts so far.
    rows: Rows,
}

impl Left {
    /// Whether few rows are left of a batch of which some of `columns` must still be loaded.
    fn is_worth_compacting(&self, columns: &[usize]) -> bool {
        self.rows.count() * COMPACT_SHARE < self.batch.rows()
            && columns.iter().any(|it| is_unloaded(self.batch.column(*it)))
    }

    /// Goes on with the rows that are left alone: of other rows, nothing more is loaded.
    fn compact(&mut self) -> Result<()> {
        if self.rows.is_all() {
            return Ok(());
        }
        let indices = self.rows.to_indices();
        self.positions = Some(match &self.positions {
            Some(before) => indices.iter().map(|it| before[*it as usize]).collect(),
            None => indices,
        });
        let loaded = |it: &Vector| if is_unloaded(it) { Ok(it.clone()) } else { it.loaded() };
        let columns = self.batch.columns().iter().map(loaded).collect::<Result<Vec<_>>>()?;
        self.batch = Batch::new(columns, self.batch.rows()).select(&self.rows);
        self.rows = Rows::all(self.batch.rows());
        Ok(())
    }

    fn finish(mut self) -> Result<Selected> {
        let rows = self.selected_rows();
        self.compact()?;
        Ok(Selected { rows, columns: self.batch })
    }

    /// The rows that are left, of the batch that came.
    fn selected_rows(&self) -> Rows {
        let Some(positions) = &self.positions else { return self.rows.clone() };
        let mut words = vec![0u64; self.total.div_ceil(64)];
        self.rows.for_each(|row| {
            let position = positions[row] as usize;
            words[position / 64] |= 1 << (position % 64);
        });
        Rows::from_words(words, self.total)
    }
}

fn is_unloaded(vector: &Vector) -> bool {
    matches!(vector.encoding(), Encoding::Lazy(lazy) if lazy.get().is_none())
}

impl Conjunct {
    fn new(test: Test, columns: Vec<usize>) -> Conjunct {
        Conjunct { test, packed: None, columns, tested: 0, kept: 0 }
    }
}

impl KeyTest {
    fn new(column: usize, filter: Arc<KeyFilter>) -> KeyTest {
        KeyTest { column, filter, memo: KeyFilterMemo::default(), rest: Rest::default() }
    }
}

impl BoundTest {
    fn new(column: usize, filter: Arc<DynamicFilter>) -> BoundTest {
        BoundTest { column, filter, exprs: None, version: 0, rest: Rest::default() }
    }

    /// The rows of `rows` that the bound leaves.
    fn select(&mut self, batch: &Batch, rows: &Rows, spec: &ConjunctsSpec) -> Result<Rows> {
        let version = self.filter.version();
        if version != self.version {
            let condition = self.filter.bound().as_ref().map(|it| it.condition(self.column));
            let compile = |it: Expr| {
                let query = Arc::clone(&spec.query);
                ExprSet::compile(&[it], &spec.registry, query).ok()
            };
            self.exprs = condition.and_then(compile).map(|it| it.charged_to(&spec.pool));
            self.version = version;
        }
        match &mut self.exprs {
            Some(exprs) => exprs.begin(batch).select(0, rows),
            None => Ok(rows.clone()),
        }
    }
}

impl Rest {
    /// Counts what a batch did, and decides whether to rest.
    fn learn(&mut self, rows_in: u64, rows_out: u64, batch: u32) {
        self.rows_in += rows_in;
        self.rows_out += rows_out;
        if self.rows_in < JUDGED_ROWS {
            return;
        }
        if (self.rows_in - self.rows_out) * MIN_DROP < self.rows_in {
            self.until = batch.saturating_add(1 + REST_BATCHES);
        }
        (self.rows_in, self.rows_out) = (0, 0);
    }
}

impl Conjuncts {
    /// Compiles the filters; `None` when there are none.
    ///
    /// # Errors
    ///
    /// A filter that does not compile.
    pub fn new(spec: ConjunctsSpec) -> Result<Option<Conjuncts>> {
        let dynamic = || spec.dynamic_filters.iter();
        let known: Vec<_> =
            dynamic().filter_map(|it| Some((it.column, Arc::clone(it.filter.get()?)))).collect();
        let bounds: Vec<_> = dynamic().filter(|it| it.filter.is_bounded()).cloned().collect();
        if spec.filters.is_empty() && known.is_empty() && bounds.is_empty() {
            return Ok(None);
        }
        let mut columns: Vec<usize> = known.iter().map(|(column, _)| *column).collect();
        columns.extend(bounds.iter().map(|it| it.column));
        for filter in &spec.filters {
            filter.for_each_column(&mut |column| columns.push(column));
        }
        columns.sort_unstable();
        columns.dedup();
        let place = |column: usize| columns.binary_search(&column).unwrap_or_default();
        let named = join_by_column(&spec.filters);
        let mut filters = named.clone();
        filters.iter_mut().for_each(|it| it.map_columns(&place));
        let query = Arc::clone(&spec.query);
        let exprs = ExprSet::compile(&filters, &spec.registry, query)?.charged_to(&spec.pool);
        let tests = filters.iter().enumerate().map(|(index, filter)| {
            let mut columns = Vec::new();
            filter.for_each_column(&mut |column| columns.push(column));
            let packed = PackedFilter::of(filter);
            Conjunct { packed, ..Conjunct::new(Test::Expr(index), columns) }
        });
        let keys = known.into_iter().map(|(column, filter)| {
            let column = place(column);
            Conjunct::new(Test::Key(KeyTest::new(column, filter)), vec![column])
        });
        let bounds = bounds.into_iter().map(|it| {
            let column = place(it.column);
            Conjunct::new(Test::Bound(BoundTest::new(column, it.filter)), vec![column])
        });
        let conjuncts: Vec<Conjunct> = bounds.chain(tests).chain(keys).collect();
        Ok(Some(Conjuncts {
            columns,
            exprs,
            order: AdaptiveOrder::new(conjuncts.len()),
            conjuncts,
            batches: 0,
            dropped: DroppedRows::default(),
            spec: ConjunctsSpec { filters: named, ..spec },
        }))
    }

    /// The columns that the conjuncts use, by position in the table, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// How many rows were dropped by dynamic filters.
    pub fn dropped(&self) -> DroppedRows {
        self.dropped
    }

    /// What each filter did so far.
    pub fn filters(&self) -> Vec<FilterCounts> {
        let column = |place: usize| self.columns.get(place).copied().unwrap_or(place);
        let counts = |it: &Conjunct| FilterCounts {
            text: match &it.test {
                Test::Expr(index) => {
                    self.spec.filters.get(*index).map(Expr::to_string).unwrap_or_default()
                }
                Test::Key(test) => format!("keys of a join in #{}", column(test.column)),
                Test::Bound(test) => format!("first rows by #{}", column(test.column)),
            },
            rows_in: it.tested,
            rows_out: it.kept,
        };
        self.conjuncts.iter().map(counts).collect()
    }

    /// The rows of `batch` that satisfy all conjuncts.
    ///
    /// # Errors
    ///
    /// An error of a row that was evaluated; what a lazy column's loader reports.
    pub fn select(&mut self, batch: Batch) -> Result<Selected> {
        let among = Rows::all(batch.rows());
        self.select_among(batch, among)
    }

    /// As [`Conjuncts::select`], of the rows `among` alone: others are not tested.
    ///
    /// # Errors
    ///
    /// As [`Conjuncts::select`].
    pub fn select_among(&mut self, batch: Batch, among: Rows) -> Result<Selected> {
        self.rows_left(batch, among)?.finish()
    }

    /// As [`Conjuncts::select`], without the columns: the rows that are left need no indices.
    ///
    /// # Errors
    ///
    /// As [`Conjuncts::select`].
    pub fn select_rows(&mut self, batch: Batch) -> Result<Rows> {
        let among = Rows::all(batch.rows());
        self.select_rows_among(batch, among)
    }

    /// As [`Conjuncts::select_rows`], of the rows `among` alone: others are not tested.
    ///
    /// # Errors
    ///
    /// As [`Conjuncts::select`].
    pub fn select_rows_among(&mut self, batch: Batch, among: Rows) -> Result<Rows> {
        Ok(self.rows_left(batch, among)?.selected_rows())
    }

    fn rows_left(&mut self, batch: Batch, among: Rows) -> Result<Left> {
        let total = batch.rows();
        let mut left = Left { batch, total, positions: None, rows: among };
        let mut next = 0;
        while next < self.conjuncts.len() && !left.rows.is_empty() {
            if left.is_worth_compacting(&self.conjuncts[self.order.at(next)].columns) {
                left.compact()?;
            }
            next = self.test(next, &mut left)?;
        }
        self.batches = self.batches.saturating_add(1);
        self.order.end_batch();
        Ok(left)
    }

    /// Tests the conjuncts from the position `next` on, until one would better see fewer rows;
    /// where to go on.
    fn test(&mut self, next: usize, left: &mut Left) -> Result<usize> {
        let mut evaluation = self.exprs.begin(&left.batch);
        for position in next..self.conjuncts.len() {
            let number = self.order.at(position);
            let conjunct = &mut self.conjuncts[number];
            let is_first = position == next;
            if left.rows.is_empty() || !is_first && left.is_worth_compacting(&conjunct.columns) {
                return Ok(position);
            }
            let before = left.rows.count() as u64;
            let started = self.order.start();
            match &mut conjunct.test {
                Test::Expr(index) => {
                    let packed = conjunct.packed.as_ref();
                    let packed = packed.map_or(Ok(None), |it| it.select(&left.batch, &left.rows));
                    left.rows = match packed? {
                        Some(rows) => {
                            marks::hit(Mark::PackedFilter);
                            rows
                        }
                        None => evaluation.select(*index, &left.rows)?,
                    };
                }
                Test::Key(test) if test.rest.until > self.batches => continue,
                Test::Key(test) => {
                    let column = left.batch.column(test.column);
                    left.rows = test.filter.select(column, &left.rows, &mut test.memo)?;
                    test.rest.learn(before, left.rows.count() as u64, self.batches);
                    self.dropped.by_joins += before - left.rows.count() as u64;
                }
                Test::Bound(test) if test.rest.until > self.batches => continue,
                Test::Bound(test) if test.filter.version() == 0 => continue,
                Test::Bound(test) => {
                    left.rows = test.select(&left.batch, &left.rows, &self.spec)?;
                    test.rest.learn(before, left.rows.count() as u64, self.batches);
                    self.dropped.by_bounds += before - left.rows.count() as u64;
                }
            }
            let after = left.rows.count() as u64;
            self.order.record(number, started, before as usize, after as usize);
            conjunct.tested += before;
            conjunct.kept += after;
        }
        Ok(self.conjuncts.len())
    }
}

/// The filters, those of one and the same column joined by AND: over a dictionary they are
/// evaluated together, once per distinct value, and rows are looked up once.
fn join_by_column(filters: &[Expr]) -> Vec<Expr> {
    let mut joined: Vec<(Option<usize>, Vec<Expr>)> = Vec::new();
    for filter in filters {
        let mut columns = Vec::new();
        filter.for_each_column(&mut |column| columns.push(column));
        columns.dedup();
        let only = columns.first().copied().filter(|_| columns.len() == 1);
        match joined.iter_mut().find(|(column, _)| only.is_some() && *column == only) {
            Some((_, filters)) => filters.push(filter.clone()),
            None => joined.push((only, vec![filter.clone()])),
        }
    }
    joined.into_iter().map(|(_, filters)| Expr::and(filters)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use volley_types::Type;
    use volley_vector::Loader;

    /// Filters with a filter for each column: integers up to `limits[column]`.
    fn spec(limits: &[i64]) -> ConjunctsSpec {
        let filter = |(column, limit): (usize, &i64)| {
            let filter = DynamicFilter::default();
            filter.set(Some(Arc::new(KeyFilter::range(0, *limit))));
            ColumnFilter { column, filter: Arc::new(filter) }
        };
        ConjunctsSpec {
            filters: Vec::new(),
            dynamic_filters: limits.iter().enumerate().map(filter).collect(),
            registry: Arc::new(Registry::default()),
            query: Arc::new(QueryConstants::default()),
            pool: Pool::root("test", None),
        }
    }

    /// Loads numbers and notes which rows it was asked for.
    struct Recording(Vec<i64>, Arc<Mutex<Vec<Option<Vec<u32>>>>>);

    impl Loader for Recording {
        fn load(&mut self, rows: Option<&[u32]>) -> Result<Vector> {
            self.1.lock().unwrap().push(rows.map(<[u32]>::to_vec));
            let all: Vec<u32> = (0..self.0.len() as u32).collect();
            let rows = rows.unwrap_or(&all).iter();
            let values: Vec<i64> = rows.map(|row| self.0[*row as usize]).collect();
            Ok(Vector::native::<i64>(Type::BigInt, values, None))
        }
    }

    fn numbers(count: i64) -> Vec<i64> {
        (0..count).map(|it| it * 7 % count).collect()
    }

    #[test]
    fn few_rows_that_are_left_are_loaded_alone() {
        let loads = Arc::default();
        let lazy = |values: Vec<i64>| {
            let rows = values.len();
            Vector::lazy(Type::BigInt, rows, Box::new(Recording(values, Arc::clone(&loads))))
        };
        let first = Vector::native::<i64>(Type::BigInt, numbers(100), None);
        let (second, third) = ((0..100).collect(), (0..100).rev().collect());
        let batch = Batch::new(vec![first, lazy(second), lazy(third)], 100);
        let mut conjuncts = Conjuncts::new(spec(&[9, 60, 90])).unwrap().unwrap();
        let selected = conjuncts.select(batch).unwrap();
        // Of the rows with 7 * row % 100 < 10, those up to 60, and from 9 on.
        let left: Vec<u32> = (0..100).filter(|row| row * 7 % 100 < 10).collect();
        let found: Vec<u32> = left.iter().copied().filter(|it| (9..=60).contains(it)).collect();
        assert_eq!(selected.rows.to_indices(), found);
        assert_eq!(selected.rows.len(), 100);
        let values: Vec<i64> = found.iter().map(|it| i64::from(*it)).collect();
        let column = selected.columns.column(1).loaded().unwrap();
        let expected = Vector::native::<i64>(Type::BigInt, values, None);
        assert_eq!(column.to_values().unwrap(), expected.to_values().unwrap());
        assert_eq!(*loads.lock().unwrap(), [Some(left.clone()), Some(left.clone())]);
        assert_eq!(conjuncts.dropped().by_joins, 100 - found.len() as u64);
        let counts = conjuncts.filters().into_iter().map(|it| (it.text, it.rows_in, it.rows_out));
        let count = found.len() as u64;
        let second = left.iter().filter(|it| **it <= 60).count() as u64;
        let expected = [("#0", 100, 10), ("#1", 10, second), ("#2", second, count)];
        let expected = expected.map(|(column, rows_in, rows_out)| {
            (format!("keys of a join in {column}"), rows_in, rows_out)
        });
        assert_eq!(counts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn rows_alone_are_those_that_come_with_columns() {
        // A batch that stays whole, two that are compacted, and one that keeps a single row.
        for limits in [[99, 99], [60, 70], [9, 60], [5, 0]] {
            for rows in [0, 1, 3, 64, 100] {
                let lazy = |values: Vec<i64>| {
                    let rows = values.len();
                    Vector::lazy(Type::BigInt, rows, Box::new(Recording(values, Arc::default())))
                };
                let batch = || {
                    Batch::new(vec![lazy(numbers(rows)), lazy((0..rows).collect())], rows as usize)
                };
                let mut conjuncts = Conjuncts::new(spec(&limits)).unwrap().unwrap();
                let selected = conjuncts.select(batch()).unwrap();
                // Of some rows alone, the same remain, without the others.
                let some: Vec<usize> = (0..rows as usize).filter(|it| it % 7 != 2).collect();
                let among = Rows::from_indices(rows as usize, some);
                let of_some = conjuncts.select_among(batch(), among.clone()).unwrap();
                let mut expected = selected.rows.clone();
                expected.intersect(&among);
                assert_eq!(of_some.rows.to_indices(), expected.to_indices(), "{limits:?} {rows}");
                assert_eq!(of_some.columns.rows(), expected.count());
                let of_some = conjuncts.select_rows_among(batch(), among).unwrap();
                assert_eq!(of_some.to_indices(), expected.to_indices(), "{limits:?} {rows}");
                let alone = conjuncts.select_rows(batch()).unwrap();
                assert_eq!(alone.to_indices(), selected.rows.to_indices(), "{limits:?} {rows}");
                assert_eq!(alone.len(), rows as usize);
                assert_eq!(selected.columns.rows(), alone.count());
            }
        }
    }

    #[test]
    fn a_filter_of_a_join_that_drops_little_rests_for_a_while() {
        let mut conjuncts = Conjuncts::new(spec(&[998])).unwrap().unwrap();
        let column = Vector::native::<i64>(Type::BigInt, numbers(1000), None);
        let mut counts = Vec::new();
        for _ in 0..380 {
            let batch = Batch::new(vec![column.clone()], 1000);
            counts.push(conjuncts.select(batch).unwrap().rows.count());
        }
        assert_eq!(counts.iter().take_while(|it| **it == 999).count(), 66);
        assert_eq!(counts.iter().filter(|it| **it == 1000).count(), REST_BATCHES as usize);
    }

    #[test]
    fn filters_of_one_column_are_joined() {
        let column = |index| Expr::column(index, Type::Boolean);
        let both = || Expr::call("xor", vec![column(1), column(2)], Type::Boolean);
        let negated = || Expr::call("not", vec![column(1)], Type::Boolean);
        let joined = join_by_column(&[column(1), column(2), negated(), both(), both()]);
        let first = Expr::and(vec![column(1), negated()]);
        assert_eq!(joined, [first, column(2), both(), both()]);
    }
}
