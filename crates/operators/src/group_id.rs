//! Repeats rows for grouping sets.
//!
//! Every batch is emitted once per set. Values are not copied: the columns of all these batches are
//! the same, except for keys that a set lacks, which are constant nulls.
//!
//! Where the order of rows counts, as of UNPIVOT, the repetitions of a row follow each other.

mod lower;
#[cfg(test)]
mod tests;

pub(crate) use lower::lower;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use volley_error::Result;
use volley_exec::Transform;
use volley_plan::GroupingSet;
use volley_types::{Type, Value};
use volley_vector::{Batch, ScalarBuffer, Vector};

/// What to repeat.
pub(crate) struct GroupIdSpec {
    /// The key columns of all sets.
    pub keys: Vec<usize>,
    pub sets: Vec<GroupingSet>,
    pub extra_rows: bool,
    /// How many rows of the input are repeated at once, each of them with all sets. `None`: all
    /// rows of a batch, set by set. Only without keys and extra rows.
    pub rows_in_order: Option<usize>,
    /// The types of the output columns.
    pub types: Vec<Type>,
}

/// Repeats the rows of one driver.
pub(crate) struct GroupId {
    spec: Arc<GroupIdSpec>,
    /// Whether some driver emits the extra rows.
    extra_taken: Arc<AtomicBool>,
    pending: Pending,
}

/// The batch that is being emitted.
enum Pending {
    Nothing,
    /// A batch, from this set on.
    Batch(Batch, usize),
    /// A batch, from this row on.
    Rows(Batch, usize),
    /// The extra rows, from this set on.
    Extra(usize),
}

impl GroupId {
    /// `extra_taken`: shared by the drivers, and false.
    pub(crate) fn new(spec: Arc<GroupIdSpec>, extra_taken: Arc<AtomicBool>) -> GroupId {
        GroupId { spec, extra_taken, pending: Pending::Nothing }
    }

    /// The next batch of what is pending.
    fn next(&mut self) -> Option<Batch> {
        match &mut self.pending {
            Pending::Nothing => None,
            Pending::Batch(batch, next) => {
                let set = self.spec.sets.get(*next)?;
                *next += 1;
                Some(self.spec.of_set(set, batch))
            }
            Pending::Rows(batch, next) => {
                let rows = self.spec.rows_in_order.unwrap_or(1).min(batch.rows() - *next);
                let rows = (rows > 0).then(|| batch.slice(*next, rows))?;
                *next += rows.rows();
                Some(self.spec.of_all_sets(&rows))
            }
            Pending::Extra(next) => {
                let mut rest = self.spec.sets.get(*next..)?.iter();
                let skipped = rest.position(|it| it.keys.is_empty())?;
                let set = self.spec.sets.get(*next + skipped)?;
                *next += skipped + 1;
                Some(self.spec.extra_row(set))
            }
        }
    }
}

impl GroupIdSpec {
    /// The rows of a batch, for one set.
    fn of_set(&self, set: &GroupingSet, batch: &Batch) -> Batch {
        let rows = batch.rows();
        let mut columns = batch.columns().to_vec();
        for (at, key) in self.keys.iter().enumerate() {
            let key = batch.column(*key);
            columns.push(match set.keys.contains(&at) {
                true => key.clone(),
                false => Vector::nulls(key.data_type().clone(), rows),
            });
        }
        columns.push(Vector::constant(Type::BigInt, &Value::BigInt(set.id), rows));
        if self.extra_rows {
            columns.push(Vector::constant(Type::Boolean, &Value::Boolean(true), rows));
        }
        Batch::new(columns, rows)
    }

    /// Each row of a batch once per set.
    fn of_all_sets(&self, batch: &Batch) -> Batch {
        let sets = self.sets.len();
        let rows = batch.rows() * sets;
        let codes: ScalarBuffer<u32> = (0..rows).map(|it| (it / sets) as u32).collect();
        let mut columns = batch.wrap(&codes).into_columns();
        let ids: Vec<i64> = self.sets.iter().map(|it| it.id).cycle().take(rows).collect();
        columns.push(Vector::native::<i64>(Type::BigInt, ids, None));
        Batch::new(columns, rows)
    }

    /// A row of nulls, for one set.
    fn extra_row(&self, set: &GroupingSet) -> Batch {
        let id = self.types.len().saturating_sub(2);
        let column = |(at, data_type): (usize, &Type)| match at == id {
            true => Vector::constant(Type::BigInt, &Value::BigInt(set.id), 1),
            false => Vector::nulls(data_type.clone(), 1),
        };
        Batch::new(self.types.iter().enumerate().map(column).collect(), 1)
    }
}

impl Transform for GroupId {
    fn name(&self) -> &'static str {
        "group id"
    }

    fn transform(&mut self, batch: Batch) -> Result<Option<Batch>> {
        let batch = batch.loaded()?;
        self.pending = match self.spec.rows_in_order {
            Some(_) => Pending::Rows(batch, 0),
            None => Pending::Batch(batch, 0),
        };
        self.more()
    }

    fn more(&mut self) -> Result<Option<Batch>> {
        let next = self.next();
        if next.is_none() {
            self.pending = Pending::Nothing;
        }
        Ok(next)
    }

    fn finish_input(&mut self) -> Result<()> {
        if self.spec.extra_rows && !self.extra_taken.swap(true, Ordering::Relaxed) {
            self.pending = Pending::Extra(0);
        }
        Ok(())
    }
}
