//! Sorts and keeps the first rows, without holding the others.
//!
//! ```text
//! filter     a batch's rows that cannot be among the first n are dropped: those behind the n-th
//!            row seen so far (the threshold), first by a 64-bit prefix of the first key, column at
//!            a time, then by value where prefixes are equal
//!            of more than n rows of a batch, the first n are left, and the last of these is the
//!            new threshold: there is one before any column but the keys is loaded
//! hold       what is left is copied
//! cut        when about twice n rows are held: sort, keep n, take the last as new threshold
//! put out    at the end: sort, skip the offset
//! ```
//!
//! The first key of the threshold bounds what scans below need to read.
//!
//! Each cut costs a sort of about 2n rows and is paid by the n rows that came since the last one.
//! When memory is short, what is held goes to disk: see `spill`.

mod spill;
#[cfg(test)]
mod spill_tests;
#[cfg(test)]
mod tests;

use crate::compact::compact_strings;
use crate::sort::{RowSorter, Tie, key_prefixes, sort_bytes_per_row};
use crate::{
    BatchCharge, Operator, OperatorContext, Spill, Step, StepContext,
    column_concat::{ColumnConcat, concat_bytes},
};
use spill::Overflow;
use std::{cmp::Ordering, sync::Arc};
use volley_connector::{Bound, BoundOrder, DynamicFilter};
use volley_error::{Error, Result};
use volley_memory::Reservation;
use volley_plan::SortKey;
use volley_types::Type;
use volley_vector::{Batch, Decoded, Vector};

/// Fewer held rows are not cut, however small n is: a sort of this many is cheap.
const HELD_ROWS_MIN: usize = 4096;

/// As [`HELD_ROWS_MIN`], where scans wait for a bound: a tight one saves them more than a few small
/// sorts cost, such as the dictionaries of all columns for each row that is held.
const HELD_ROWS_MIN_BOUNDED: usize = 64;

/// Keeps the rows `offset..offset + limit` of the sorted input.
pub struct TopN {
    types: Vec<Type>,
    keys: Vec<SortKey>,
    offset: usize,
    /// `offset + limit`.
    end: usize,
    cx: OperatorContext,
    charge: BatchCharge,
    held: Vec<Batch>,
    held_rows: usize,
    /// What it will take to join the columns of what is held,
    concat_bytes: usize,
    /// and to sort a row.
    sort_bytes: usize,
    /// Charged for that.
    ahead: Reservation,
    threshold: Option<Threshold>,
    /// Scans that the threshold is a bound for.
    filter: Option<Arc<DynamicFilter>>,
    /// While a cut is under way; nothing is held elsewhere then.
    cut: Option<Cut>,
    pending: Option<Batch>,
    input_done: bool,
    /// Whether what is held is in order, or will be after the current cut.
    last_cut: bool,
    /// The sorted result and how much of it is put out.
    result: Option<(Batch, usize)>,
    /// What did not fit, if anything did not.
    overflow: Option<Overflow>,
}

/// What is held on its way to be cut.
enum Cut {
    Concat(ColumnConcat),
    Sort(Batch, RowSorter),
    /// The columns of the first rows so far.
    Gather {
        rows: Batch,
        order: Vec<u32>,
        columns: Vec<Vector>,
    },
}

/// The last row that is among the first n so far.
struct Threshold {
    /// One row; the key columns only.
    keys: Vec<Vector>,
    /// Of the first key.
    prefix: u64,
}

impl TopN {
    /// Keeps rows of `types` by `keys`.
    pub fn new(
        types: Vec<Type>,
        keys: Vec<SortKey>,
        offset: u64,
        limit: u64,
        cx: &OperatorContext,
    ) -> TopN {
        let rows = |it: u64| usize::try_from(it).unwrap_or(usize::MAX);
        TopN {
            sort_bytes: sort_bytes_per_row(&types, &keys),
            types,
            keys,
            offset: rows(offset),
            end: rows(offset.saturating_add(limit)),
            cx: cx.clone(),
            charge: BatchCharge::new(&cx.pool),
            held: Vec::new(),
            held_rows: 0,
            concat_bytes: 0,
            ahead: cx.pool.promise(),
            threshold: None,
            filter: None,
            cut: None,
            pending: None,
            input_done: false,
            last_cut: false,
            result: None,
            overflow: None,
        }
    }

    /// Lets scans drop what comes behind the threshold.
    pub(crate) fn with_filter(self, filter: Option<Arc<DynamicFilter>>) -> TopN {
        TopN { filter, ..self }
    }

    fn key_columns(&self, batch: &Batch) -> Vec<Vector> {
        self.keys.iter().map(|it| batch.column(it.column).clone()).collect()
    }

    /// The rows of `batch` that may be among the first n.
    fn candidates(&mut self, batch: &Batch) -> Result<Vec<u32>> {
        let all = 0..batch.rows() as u32;
        if self.threshold.is_none() && batch.rows() <= self.end {
            return Ok(all.collect());
        }
        let columns = self.key_columns(batch);
        let Some(first) = columns.first() else { return Ok(all.take(self.end).collect()) };
        let prefixes = key_prefixes(&Decoded::new(first)?, self.keys[0]);
        let rows = self.before_threshold(&columns, &prefixes)?;
        if rows.len() <= self.end {
            return Ok(rows);
        }
        let (rows, last) =
            first_rows(rows, self.end, &prefixes, &ties(&columns, &columns, &self.keys)?);
        // As many rows as are wanted come up to this one, and all of them before the old threshold.
        let keys = compact_strings(Batch::new(columns, batch.rows()).gather(&[last])?)?;
        self.set_threshold(keys.into_columns(), prefixes[last as usize])?;
        Ok(rows)
    }

    /// The rows whose keys, of which the first has `prefixes`, come before the threshold.
    fn before_threshold(&self, columns: &[Vector], prefixes: &[u64]) -> Result<Vec<u32>> {
        let all = 0..prefixes.len() as u32;
        let Some(threshold) = &self.threshold else { return Ok(all.collect()) };
        let mut rows = Vec::with_capacity(prefixes.len());
        rows.extend(all.filter(|row| prefixes[*row as usize] <= threshold.prefix));
        let has_ties = rows.iter().any(|row| prefixes[*row as usize] == threshold.prefix);
        if has_ties {
            let ties = ties(columns, &threshold.keys, &self.keys)?;
            rows.retain(|row| {
                prefixes[*row as usize] < threshold.prefix
                    || compare(&ties, *row as usize, 0).is_lt()
            });
        }
        Ok(rows)
    }

    /// Keeps what is worth keeping of a batch.
    fn hold(&mut self, batch: Batch) -> Result<()> {
        let rows = self.candidates(&batch)?;
        if rows.is_empty() {
            return Ok(());
        }
        self.push(copy_rows(batch, rows)?)?;
        let least = if self.filter.is_some() { HELD_ROWS_MIN_BOUNDED } else { HELD_ROWS_MIN };
        if self.held_rows >= self.end.saturating_mul(2).max(least) {
            self.start_cut();
        }
        Ok(())
    }

    /// Holds rows, charged with what a cut will take.
    fn push(&mut self, batch: Batch) -> Result<()> {
        self.charge.add(&batch)?;
        self.held_rows += batch.rows();
        self.concat_bytes += concat_bytes(&batch);
        self.held.push(batch);
        self.charge_ahead()
    }

    fn charge_ahead(&mut self) -> Result<()> {
        let sort = self.held_rows.saturating_mul(self.sort_bytes);
        self.ahead.resize(sort.saturating_add(self.concat_bytes))
    }

    /// Begins to sort what is held and to keep the first n rows of it.
    fn start_cut(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.held_rows = 0;
        self.ahead.shrink(std::mem::take(&mut self.concat_bytes));
        self.cut = Some(Cut::Concat(ColumnConcat::new(&self.types, held)));
    }

    /// Advances a cut by a few milliseconds of work.
    fn advance_cut(&mut self, cut: Cut) -> Result<()> {
        self.cut = Some(match cut {
            Cut::Concat(mut concat) => match concat.step(&mut self.charge)? {
                None => Cut::Concat(concat),
                Some(rows) => {
                    let keys = self.key_columns(&rows);
                    let sorter =
                        RowSorter::new(keys, rows.rows(), &self.keys, self.ahead.redeem())?;
                    Cut::Sort(rows, sorter)
                }
            },
            Cut::Sort(rows, mut sorter) => match sorter.step()? {
                false => Cut::Sort(rows, sorter),
                true => {
                    let order = sorter.rows(0, rows.rows().min(self.end));
                    Cut::Gather { rows, order, columns: Vec::new() }
                }
            },
            Cut::Gather { rows, order, mut columns } if columns.len() < self.types.len() => {
                let column =
                    Batch::new(vec![rows.column(columns.len()).gather(&order)?], order.len());
                let column = compact_strings(column)?;
                self.charge.add(&column)?;
                columns.extend(column.into_columns());
                Cut::Gather { rows, order, columns }
            }
            Cut::Gather { rows, order, columns } => {
                self.charge.remove(&rows);
                return self.finish_cut(Batch::new(columns, order.len()));
            }
        });
        Ok(())
    }

    /// Keeps the first rows; the last of them is the threshold when there are enough.
    fn finish_cut(&mut self, first: Batch) -> Result<()> {
        if first.rows() == self.end {
            let last = first.slice(self.end - 1, 1);
            let keys = self.key_columns(&last);
            let prefixes = keys.first().map(|it| Decoded::new(it).map(|it| (it, self.keys[0])));
            let prefix = match prefixes.transpose()? {
                Some((column, key)) => key_prefixes(&column, key)[0],
                None => 0,
            };
            self.set_threshold(keys, prefix)?;
        }
        // Charged already.
        self.held_rows = first.rows();
        self.concat_bytes = concat_bytes(&first);
        self.held.push(first);
        if self.last_cut { Ok(()) } else { self.charge_ahead() }
    }

    /// Drops rows from here on that do not come before one with these keys.
    fn set_threshold(&mut self, keys: Vec<Vector>, prefix: u64) -> Result<()> {
        self.tell_scans(&keys)?;
        self.threshold = Some(Threshold { keys, prefix });
        Ok(())
    }

    /// Bounds what scans read by the first key of the last row.
    fn tell_scans(&self, last: &[Vector]) -> Result<()> {
        let (Some(filter), Some(column)) = (&self.filter, last.first()) else { return Ok(()) };
        let (key, value) = (self.keys[0], column.value(0)?);
        if value.is_null() && !key.nulls_first {
            // All values come before it.
            return Ok(());
        }
        let bound = Bound {
            value,
            data_type: column.data_type().clone(),
            order: BoundOrder { descending: key.descending, nulls_first: key.nulls_first },
            // As in `candidates`: of rows with equal keys, those that came first are kept.
            keeps_equal: self.keys.len() > 1,
        };
        let is_tighter = |other: &Bound| {
            let other = Vector::from_values(other.data_type.clone(), &[other.value.clone()]);
            Tie::new(column, &other, key).is_ok_and(|it| it.compare(0, 0).is_lt())
        };
        filter.tighten(bound, is_tighter);
        Ok(())
    }

    /// The next batch of the result, once the last cut is done.
    fn put_out(&mut self) -> Result<Step> {
        if !std::mem::replace(&mut self.last_cut, true) && !self.held.is_empty() {
            self.start_cut();
            return Ok(Step::Yield);
        }
        if self.result.is_none() {
            let rows = self.held.pop().unwrap_or_default();
            let start = self.offset.min(rows.rows());
            self.result = Some((rows, start));
        }
        let Some((rows, position)) = &mut self.result else {
            return Err(Error::internal("no result to put out"));
        };
        let count = self.cx.task.batch_rows.min(rows.rows() - *position);
        if count == 0 {
            return Ok(Step::Finished);
        }
        let batch = rows.slice(*position, count);
        *position += count;
        Ok(Step::Output(batch))
    }
}

/// The first `count` of more `rows`, which ascend, in the order of their keys; also the last of
/// these. `ties` compares all keys.
fn first_rows(mut rows: Vec<u32>, count: usize, prefixes: &[u64], ties: &[Tie]) -> (Vec<u32>, u32) {
    let order = |a: &u32, b: &u32| {
        let (left, right) = (*a as usize, *b as usize);
        let prefix = prefixes[left].cmp(&prefixes[right]);
        prefix.then_with(|| compare(ties, left, right)).then(a.cmp(b))
    };
    let (_, last, _) = rows.select_nth_unstable_by(count - 1, order);
    let last = *last;
    rows.truncate(count);
    rows.sort_unstable();
    (rows, last)
}

/// The rows of `batch`, copied. Of columns that are still lazy, these rows alone are loaded, which
/// takes that nobody else holds them: hence by value.
fn copy_rows(batch: Batch, rows: Vec<u32>) -> Result<Batch> {
    let count = rows.len();
    let selected = batch.wrap(&rows.into());
    drop(batch);
    let columns = selected.into_columns();
    let columns = columns.iter().map(Vector::flatten).collect::<Result<Vec<_>>>()?;
    Ok(Batch::new(columns, count))
}

fn ties(left: &[Vector], right: &[Vector], keys: &[SortKey]) -> Result<Vec<Tie>> {
    left.iter().zip(right).zip(keys).map(|((a, b), key)| Tie::new(a, b, *key)).collect()
}

fn compare(ties: &[Tie], left: usize, right: usize) -> Ordering {
    let order = ties.iter().map(|it| it.compare(left, right)).find(|it| it.is_ne());
    order.unwrap_or(Ordering::Equal)
}

impl Operator for TopN {
    fn name(&self) -> &'static str {
        "top n"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.pending = Some(input);
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if self.end == self.offset {
            return Ok(Step::Finished);
        }
        if let Some(cut) = self.cut.take() {
            self.advance_cut(cut)?;
            return Ok(Step::Yield);
        }
        if let Some(batch) = self.pending.take() {
            self.hold(batch)?;
            if self.cut.is_some() {
                return Ok(Step::Yield);
            }
        }
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        match self.overflow.take() {
            Some(overflow) => self.put_out_all(overflow, cx),
            None => self.put_out(),
        }
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }
}
