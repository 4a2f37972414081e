//! Sorts and keeps the first rows, without holding the others.
//!
//! ```text
//! filter     a batch's rows that cannot be among the first n are dropped: those after the n-th
//!            row seen so far (the threshold), first by a 64-bit prefix of the first key, column at
//!            a time, then by value where prefixes are equal
//!            of more than n rows of a batch, the first n are left, and the last of these is the
//!            new threshold: there is one before any column but the keys is loaded
//! hold       the remaining rows are copied, unless they are the whole batch
//! cut        when about twice n rows are held: sort, keep n, take the last as new threshold
//! emit       at the end: a sort emits the kept rows, up to the n-th row and without the offset
//! ```
//!
//! The first key of the threshold bounds what scans below need to read.
//!
//! Each cut costs a sort of about 2n rows and is paid by the n rows since the last one. When
//! memory is short, the kept rows are spilled: see `spill`.

mod output;
mod spill;
mod lower;
#[cfg(test)]
mod spill_tests;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use output::Output;
use std::{cmp::Ordering, sync::Arc};
use volley_error::Result;
use volley_exec::{Operator, OperatorContext, Spill, Step, StepContext};
use volley_expression::filter::{Bound, BoundOrder, DynamicFilter};
use volley_plan::SortKey;
use volley_state::{
    compact::compact_strings,
    sort::{BatchSort, SortInput, SortShape, Taken, Tie, key_prefixes},
};
use volley_types::Type;
use volley_vector::{Batch, Decoded, Vector};

/// Fewer held rows are not cut, however small n is: a sort of this many is cheap.
const HELD_ROWS_MIN: usize = 4096;

/// As [`HELD_ROWS_MIN`], where scans wait for a bound: a tight one saves them more than a few small
/// sorts cost, such as the dictionaries of all columns for each row that is held.
const HELD_ROWS_MIN_BOUNDED: usize = 64;

/// Keeps the rows `offset..offset + limit` of the sorted input.
pub struct TopN {
    shape: SortShape,
    offset: usize,
    /// `offset + limit`.
    end: usize,
    cx: OperatorContext,
    held: SortInput,
    threshold: Option<Threshold>,
    /// Scans that the threshold is a bound for.
    filter: Option<Arc<DynamicFilter>>,
    /// While a cut is under way: what was held; the first rows of it are held again.
    cut: Option<BatchSort>,
    pending: Option<Batch>,
    input_done: bool,
    /// Sorts and emits rows, once the input has ended or some did not fit.
    output: Option<Output>,
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
        let sizes = cx.task.sizes;
        let shape = SortShape { types: types.into(), keys: keys.into(), sizes };
        TopN {
            offset: rows(offset),
            end: rows(offset.saturating_add(limit)),
            cx: cx.clone(),
            held: SortInput::new(shape.clone(), &cx.pool),
            shape,
            threshold: None,
            filter: None,
            cut: None,
            pending: None,
            input_done: false,
            output: None,
        }
    }

    /// Lets scans drop what comes behind the threshold.
    pub(crate) fn with_filter(self, filter: Option<Arc<DynamicFilter>>) -> TopN {
        TopN { filter, ..self }
    }

    /// The rows of `batch` that may be among the first n.
    fn candidates(&mut self, batch: &Batch) -> Result<Vec<u32>> {
        let all = 0..batch.rows() as u32;
        if self.threshold.is_none() && batch.rows() <= self.end {
            return Ok(all.collect());
        }
        let columns = self.shape.key_columns(batch);
        let Some(first) = columns.first() else { return Ok(all.take(self.end).collect()) };
        let prefixes = key_prefixes(&Decoded::new(first)?, self.shape.keys[0]);
        let rows = self.before_threshold(&columns, &prefixes)?;
        if rows.len() <= self.end {
            return Ok(rows);
        }
        let (rows, last) =
            first_rows(rows, self.end, &prefixes, &ties(&columns, &columns, &self.shape.keys)?);
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
            let ties = ties(columns, &threshold.keys, &self.shape.keys)?;
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
        let is_whole = rows.len() == batch.rows();
        self.held.push(if is_whole { batch } else { copy_rows(batch, rows)? })?;
        let least = if self.filter.is_some() { HELD_ROWS_MIN_BOUNDED } else { HELD_ROWS_MIN };
        if self.held.rows() >= self.end.saturating_mul(2).max(least) {
            self.start_cut()?;
        }
        Ok(())
    }

    /// Begins to sort what is held and to keep the first n rows of it.
    fn start_cut(&mut self) -> Result<()> {
        self.cut = Some(self.held.take().start()?);
        Ok(())
    }

    /// Advances a cut by a few milliseconds of work.
    fn advance_cut(&mut self, mut cut: BatchSort) -> Result<()> {
        if cut.step()? {
            let missing = self.end - self.held.rows();
            match cut.take(missing.min(self.cx.task.batch_rows))? {
                Taken::Rows(first) => self.held.push(compact_strings(first)?)?,
                Taken::Progress => {}
                Taken::End => return Ok(()),
            }
            if self.held.rows() == self.end {
                drop(cut);
                return self.finish_cut();
            }
        }
        self.cut = Some(cut);
        Ok(())
    }

    /// The last of n rows is the threshold.
    fn finish_cut(&mut self) -> Result<()> {
        let Some(last) = self.held.last_row() else { return Ok(()) };
        let keys = self.shape.key_columns(&last);
        let prefixes = keys.first().map(|it| Decoded::new(it).map(|it| (it, self.shape.keys[0])));
        let prefix = match prefixes.transpose()? {
            Some((column, key)) => key_prefixes(&column, key)[0],
            None => 0,
        };
        self.set_threshold(keys, prefix)
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
        let (key, value) = (self.shape.keys[0], column.value(0)?);
        if value.is_null() && !key.nulls_first {
            // All values come before it.
            return Ok(());
        }
        let bound = Bound {
            value,
            data_type: column.data_type().clone(),
            order: BoundOrder { descending: key.descending, nulls_first: key.nulls_first },
            // As in `candidates`: of rows with equal keys, those that came first are kept.
            keeps_equal: self.shape.keys.len() > 1,
        };
        let is_tighter = |other: &Bound| {
            let other = Vector::from_values(other.data_type.clone(), &[other.value.clone()]);
            Tie::new(column, &other, key).is_ok_and(|it| it.compare(0, 0).is_lt())
        };
        filter.tighten(bound, is_tighter);
        Ok(())
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

/// The rows of `batch`, copied. Lazy columns only load these rows, which requires that there is no
/// other reference: hence by value.
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
        self.emit(cx)
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        Some(self)
    }
}
