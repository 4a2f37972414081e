//! Making the index of a build side, step by step.

use super::{Groups, Lookup, LookupSpec, MaxTree, Second, SortedKeys};
use volley_error::Result;
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_plan::{Comparison, SortKey};
use volley_state::sort::RowSorter;
use volley_vector::{Batch, Decoded};

/// Rows handled between two checks for cancellation.
const CHUNK_ROWS: usize = 1 << 16;

/// An index being made.
pub(in crate::nested_loop_join) struct LookupBuilder {
    spec: LookupSpec,
    pool: Pool,
    charge: Reservation,
    phase: Phase,
}

enum Phase {
    /// By keys and the first comparison.
    First(RowSorter),
    /// By the second comparison; with the order by the first one.
    Second(RowSorter, Vec<u32>),
}

impl LookupBuilder {
    /// Of flat rows.
    ///
    /// # Errors
    ///
    /// Out of memory; more than 2^32 rows.
    pub(in crate::nested_loop_join) fn new(
        spec: LookupSpec,
        build: &Batch,
        pool: &Pool,
    ) -> Result<LookupBuilder> {
        let mut columns = Vec::new();
        columns.extend(spec.asof().iter().flat_map(|it| &it.keys).map(|it| it.1));
        columns.push(spec.first()?.build);
        let mut charge = pool.reservation();
        let rows = build.rows();
        let second = if spec.second().is_some() { 16 + MaxTree::bytes(1) } else { 0 };
        let groups = if spec.is_needed() { Groups::BYTES } else { 0 };
        charge.resize(rows * (size_of::<u32>() + size_of::<i64>() + second + groups))?;
        let phase = Phase::First(sorter(build, &columns, pool)?);
        Ok(LookupBuilder { spec, pool: pool.clone(), charge, phase })
    }

    /// Does some work; the index at the end.
    ///
    /// # Errors
    ///
    /// Out of memory; cancelled.
    pub(in crate::nested_loop_join) fn step(
        mut self,
        build: &Batch,
    ) -> Result<Result<Lookup, LookupBuilder>> {
        match &mut self.phase {
            Phase::First(sorter) => {
                if sorter.step()? {
                    let order = self.valid_rows(sorter_rows(&self.phase, build.rows())?, build)?;
                    return self.after_first(order, build);
                }
            }
            Phase::Second(sorter, order) => {
                if sorter.step()? {
                    let order = std::mem::take(order);
                    let by_second =
                        self.valid_rows(sorter_rows(&self.phase, build.rows())?, build)?;
                    return self.finish(order, Some(by_second), build).map(Ok);
                }
            }
        }
        Ok(Err(self))
    }

    fn after_first(self, order: Vec<u32>, build: &Batch) -> Result<Result<Lookup, LookupBuilder>> {
        let Some(second) = self.spec.second() else {
            return self.finish(order, None, build).map(Ok);
        };
        let phase = Phase::Second(sorter(build, &[second.build], &self.pool)?, order);
        Ok(Err(LookupBuilder { phase, ..self }))
    }

    /// The rows without nulls in columns of comparisons.
    fn valid_rows(&self, mut rows: Vec<u32>, build: &Batch) -> Result<Vec<u32>> {
        let mut columns = vec![self.spec.first()?.build];
        columns.extend(self.spec.second().map(|it| it.build));
        let keys = self.spec.asof().into_iter().flat_map(|it| &it.keys);
        columns.extend(keys.filter(|it| !it.2).map(|it| it.1));
        for column in columns {
            let decoded = Decoded::new(build.column(column))?;
            if decoded.nulls().is_some() {
                rows.retain(|row| !decoded.is_null(*row as usize));
                check_cancelled()?;
            }
        }
        Ok(rows)
    }

    fn finish(self, order: Vec<u32>, by_second: Option<Vec<u32>>, build: &Batch) -> Result<Lookup> {
        let first = SortedKeys::new(build.column(self.spec.first()?.build).gather(&order)?)?;
        check_cancelled()?;
        let second = match (by_second, self.spec.second()) {
            (Some(rows), Some(range)) => {
                let keys = SortedKeys::new(build.column(range.build).gather(&rows)?)?;
                let ranks = ranks(&order, &rows, build.rows(), range.comparison)?;
                Some(Second { keys, ranks: MaxTree::new(ranks) })
            }
            _ => None,
        };
        let keys = self.spec.asof().map(|it| &it.keys);
        let groups = match keys.filter(|it| !it.is_empty()) {
            Some(keys) => {
                let sorted = keys.iter().map(|it| build.column(it.1).gather(&order));
                let sorted = sorted.collect::<Result<Vec<_>>>()?;
                let keys = keys.iter().map(|it| (it.0, it.2)).collect();
                Some(Groups::new(keys, &sorted, order.len())?)
            }
            None => None,
        };
        Ok(Lookup { spec: self.spec, order, first, second, groups, _charge: self.charge })
    }
}

/// The ranks by the second comparison in the order of the first one: such that those that satisfy
/// it are the large ones.
fn ranks(
    order: &[u32],
    by_second: &[u32],
    rows: usize,
    comparison: Comparison,
) -> Result<Vec<u32>> {
    let mut rank_of = vec![0; rows];
    let last = by_second.len().saturating_sub(1);
    for (rank, row) in by_second.iter().enumerate() {
        let rank = if comparison.is_less() { rank } else { last - rank };
        rank_of[*row as usize] = rank as u32;
    }
    check_cancelled()?;
    Ok(order.iter().map(|row| rank_of[*row as usize]).collect())
}

fn sorter(build: &Batch, columns: &[usize], pool: &Pool) -> Result<RowSorter> {
    let keys: Vec<SortKey> = (0..columns.len())
        .map(|column| SortKey { column, descending: false, nulls_first: false })
        .collect();
    let columns = columns.iter().map(|it| build.column(*it).clone()).collect();
    RowSorter::new(columns, build.rows(), &keys, pool.reservation())
}

/// All rows in their order.
fn sorter_rows(phase: &Phase, rows: usize) -> Result<Vec<u32>> {
    let (Phase::First(sorter) | Phase::Second(sorter, _)) = phase;
    let mut all = Vec::with_capacity(rows);
    for start in (0..rows).step_by(CHUNK_ROWS) {
        check_cancelled()?;
        all.extend(sorter.rows(start, rows.min(start + CHUNK_ROWS)));
    }
    Ok(all)
}
