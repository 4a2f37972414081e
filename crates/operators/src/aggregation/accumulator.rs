//! One aggregate of an aggregation: which rows it takes, and in which order.

use super::{buffered_rows::BufferedRows, grouping::GroupRanges};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_expression::SourceSpan;
use volley_function::{AggregateFunction, AggregateKind, AggregateState, BoundAggregate};
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_plan::{AggregateStep, SortKey};
use volley_state::{
    StateSizes,
    hash_table::{GroupCursor, GroupTable},
    rows::RowList,
};
use volley_types::Type;
use volley_vector::{Batch, Decoded, Rows, ScalarBuffer, Values, Vector};

/// What an aggregate does with its input.
pub(super) struct AccumulatorSpec {
    pub bound: BoundAggregate,
    /// What is in the groups' rows.
    pub state: Arc<dyn AggregateState>,
    /// Argument columns of the input, and their types.
    pub args: Vec<usize>,
    pub arg_types: Vec<Type>,
    pub distinct: bool,
    /// Whether the argument is intermediate results.
    pub merges: bool,
    /// A BOOLEAN column of the input.
    pub filter: Option<usize>,
    pub order_by: Vec<SortKey>,
    /// The types of the columns to order by.
    pub order_types: Vec<Type>,
    /// What errors point at.
    pub place: SourceSpan,
    /// Where the table of distinct arguments works in another way.
    pub sizes: StateSizes,
}

/// The state of one aggregate beside the groups' rows.
pub(super) struct Accumulator {
    /// Distinct (group, arguments).
    seen: Option<GroupTable>,
    /// Rows that wait for the end of input to be ordered or collected.
    kept: Option<BufferedRows>,
    /// What states hold of rows that waited.
    grown: GrownStates,
}

/// What states have come to hold outside the groups' rows, charged as soon as it is there.
pub(super) struct GrownStates(Reservation);

/// Where the rows of a batch go.
pub(super) struct Target<'a> {
    /// Holds the states.
    pub table: &'a mut GroupTable,
    /// Which aggregate.
    pub index: usize,
    /// Whether all rows belong to the only group.
    pub is_global: bool,
}

/// What an aggregate keeps in the groups' rows.
pub(super) fn state_of(bound: &BoundAggregate) -> Arc<dyn AggregateState> {
    match &bound.function {
        AggregateKind::Folding(function) => Arc::clone(function) as Arc<dyn AggregateState>,
        AggregateKind::Collecting(_) => Arc::new(GroupRanges),
    }
}

impl AccumulatorSpec {
    /// Whether rows are kept beside the groups, which cannot be merged without them.
    pub(super) fn has_rows(&self) -> bool {
        self.distinct || self.collects() || !self.order_by.is_empty()
    }

    /// The types of these rows: the columns to order by, then the arguments.
    pub(super) fn row_types(&self, step: AggregateStep) -> Vec<Type> {
        // Intermediate results are expanded to the arguments behind them.
        let is_expanded = step.merges() && self.collects();
        let args = if is_expanded { &self.bound.args } else { &self.arg_types };
        self.order_types.iter().chain(args).cloned().collect()
    }

    /// Whether the rows can be taken out and added again: of those that are only known to be
    /// distinct, there are the keys that arguments are compared by.
    pub(super) fn can_replay(&self) -> bool {
        let is_kept = self.collects() || !self.order_by.is_empty();
        let has_args = is_kept || self.arg_types.iter().all(|it| it.key_type().is_none());
        !self.distinct || (has_args && !self.merges)
    }

    /// Whether the rows of a group are needed together.
    pub(super) fn collects(&self) -> bool {
        matches!(self.bound.function, AggregateKind::Collecting(_))
    }
}

impl Accumulator {
    pub(super) fn new(spec: &AccumulatorSpec, step: AggregateStep, pool: &Pool) -> Accumulator {
        let seen = spec.distinct.then(|| {
            let keys = spec.arg_types.iter().map(|it| it.key_type().unwrap_or_else(|| it.clone()));
            let types = std::iter::once(Type::BigInt).chain(keys);
            GroupTable::new(types.collect(), Vec::new(), spec.sizes, pool)
        });
        let waits = spec.collects() || !spec.order_by.is_empty();
        let kept = waits.then(|| BufferedRows::new(spec, step, pool));
        Accumulator { seen, kept, grown: GrownStates(pool.reservation()) }
    }

    /// Bytes charged to the pool.
    pub(super) fn bytes(&self) -> usize {
        self.seen.as_ref().map_or(0, GroupTable::bytes)
            + self.kept.as_ref().map_or(0, BufferedRows::bytes)
            + self.grown.0.bytes()
    }

    /// Takes a batch whose groups the target's table has found.
    pub(super) fn add(
        &mut self,
        spec: &AccumulatorSpec,
        batch: &Batch,
        target: Target<'_>,
    ) -> Result<()> {
        let mut rows = match spec.filter {
            Some(column) => rows_where_true(batch.column(column))?,
            None => Rows::all(batch.rows()),
        };
        let args: Vec<Vector> = spec.args.iter().map(|it| batch.column(*it).clone()).collect();
        if let Some(seen) = &mut self.seen
            && !rows.is_empty()
        {
            rows = new_rows(seen, target.group_ids(batch.rows()), &args, &rows)?;
        }
        if rows.is_empty() {
            return Ok(());
        }
        match (&mut self.kept, &spec.bound.function) {
            (Some(kept), _) => kept.push(spec, batch, target, rows),
            (None, AggregateKind::Folding(function)) => {
                let added = target.add(function.as_ref(), spec.merges, &args, &rows);
                added.map_err(|it| spec.place.locate(it))
            }
            (None, AggregateKind::Collecting(_)) => Err(collected()),
        }
    }

    /// Whether a table may have to grow for `rows` more rows.
    pub(super) fn may_grow(&self, rows: usize) -> bool {
        self.seen.as_ref().is_some_and(|it| it.may_grow(rows))
    }

    /// What its table's next growth will take.
    pub(super) fn growth_bytes(&self) -> usize {
        self.seen.as_ref().map_or(0, GroupTable::growth_bytes)
    }

    /// Hands its rows to `take`, each with the keys of its group before; the accumulator must not
    /// be used again. `table` has the groups, and is frozen.
    ///
    /// # Errors
    ///
    /// Those of `take`; cancelled.
    pub(super) fn take_rows(
        &mut self,
        table: &GroupTable,
        batch_rows: usize,
        take: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        if let Some(kept) = &mut self.kept {
            return kept.take_rows(table, take);
        }
        let Some(seen) = &mut self.seen else { return Ok(()) };
        seen.freeze()?;
        let mut cursor = GroupCursor::default();
        loop {
            check_cancelled()?;
            let rows = seen.next_groups(&mut cursor, batch_rows);
            if rows.is_empty() {
                return Ok(());
            }
            let mut args = seen.keys_of(&rows)?;
            let groups = args.remove(0);
            let mut columns = table.keys_of(&table.groups_at(Decoded::new(&groups)?.native())?)?;
            columns.extend(args);
            take(Batch::new(columns, rows.len()))?;
        }
    }

    /// Takes rows again, without keys, whose groups the target's table has found.
    ///
    /// # Errors
    ///
    /// As for [`Accumulator::add`].
    pub(super) fn add_again(
        &mut self,
        spec: &AccumulatorSpec,
        batch: &Batch,
        target: Target<'_>,
    ) -> Result<()> {
        let mut rows = Rows::all(batch.rows());
        if let Some(seen) = &mut self.seen {
            let args = &batch.columns()[spec.order_by.len()..];
            rows = new_rows(seen, target.group_ids(batch.rows()), args, &rows)?;
        }
        match (&mut self.kept, &spec.bound.function) {
            _ if rows.is_empty() => Ok(()),
            (Some(kept), _) => kept.push_again(spec, batch, target, &rows),
            (None, AggregateKind::Folding(function)) => {
                let added = target.add(function.as_ref(), spec.merges, batch.columns(), &rows);
                added.map_err(|it| spec.place.locate(it))
            }
            (None, AggregateKind::Collecting(_)) => Err(collected()),
        }
    }

    /// Whether every row is added when it comes.
    pub(super) fn takes_all(&self, spec: &AccumulatorSpec) -> bool {
        self.seen.is_none() && self.kept.is_none() && spec.filter.is_none()
    }

    /// The rows by group, where they are collected and all steps are finished.
    pub(super) fn kept(&self) -> Option<&BufferedRows> {
        self.kept.as_ref()
    }

    /// Adds some of the rows that waited for their order, or sorts them by group; true at the end.
    pub(super) fn finish_step(
        &mut self,
        spec: &AccumulatorSpec,
        table: &mut GroupTable,
        index: usize,
    ) -> Result<bool> {
        self.seen = None;
        let Some(kept) = &mut self.kept else { return Ok(true) };
        let is_done = kept.finish_step(spec, (table, index), &mut self.grown);
        let is_done = is_done.map_err(|it| spec.place.locate(it))?;
        if is_done && !spec.collects() {
            self.kept = None;
        }
        Ok(is_done)
    }
}

impl GrownStates {
    /// Does `add`, which adds rows to `groups`, and charges what their states hold more then.
    pub(super) fn note(
        &mut self,
        (table, index): (&mut GroupTable, usize),
        function: &dyn AggregateFunction,
        groups: &RowList,
        add: impl FnOnce(&mut GroupTable) -> Result<()>,
    ) -> Result<()> {
        let groups = each_once(groups);
        let bytes = |table: &mut GroupTable| {
            function.external_state_bytes(&mut table.slots_of(index, &groups))
        };
        let before = bytes(table);
        add(table)?;
        let after = bytes(table);
        self.0.grow(after.saturating_sub(before))
    }
}

/// The groups of a list that may have them more than once.
fn each_once(groups: &RowList) -> RowList {
    let address = |position: &u32| groups.pointers()[*position as usize].expose();
    let mut positions: Vec<u32> = (0..groups.len() as u32).collect();
    positions.sort_unstable_by_key(address);
    positions.dedup_by_key(|it| address(it));
    groups.pick(&positions)
}

impl Target<'_> {
    fn add(
        self,
        function: &dyn AggregateFunction,
        merges: bool,
        args: &[Vector],
        rows: &Rows,
    ) -> Result<()> {
        let slots = &mut self.table.slots(self.index);
        match (merges, self.is_global) {
            (true, false) => function.merge(slots, &args[0], rows),
            (true, true) => {
                let groups = self.table.repeat_group(rows.len());
                function.merge(&mut self.table.slots_of(self.index, &groups), &args[0], rows)
            }
            (false, true) => function.add_to_one(slots, args, rows),
            (false, false) => function.add(slots, args, rows),
        }
    }

    /// A column that tells groups apart.
    fn group_ids(&self, rows: usize) -> Vector {
        if self.is_global {
            return Vector::constant(Type::BigInt, &volley_types::Value::BigInt(0), rows);
        }
        let ids: Vec<i64> =
            self.table.groups().pointers().iter().map(|it| it.expose() as i64).collect();
        Vector::native::<i64>(Type::BigInt, ids, None)
    }
}

/// The error of a function that folds rows where it collects them.
pub(super) fn collected() -> Error {
    Error::internal("aggregate without rows of its own")
}

/// The rows of `rows` whose group and arguments were not seen before.
fn new_rows(seen: &mut GroupTable, groups: Vector, args: &[Vector], rows: &Rows) -> Result<Rows> {
    let mut columns = vec![groups];
    for arg in args {
        columns.push(arg.comparison_keys()?);
    }
    let len = rows.len();
    let batch = Batch::new(columns, len);
    if rows.is_all() {
        seen.find_or_insert(batch.columns(), len)?;
        return Ok(Rows::from_indices(len, seen.new_rows().iter().map(|it| *it as usize)));
    }
    let codes: ScalarBuffer<u32> = rows.to_indices().into();
    seen.find_or_insert(batch.wrap(&codes).columns(), codes.len())?;
    let new_rows = seen.new_rows().iter().map(|it| codes[*it as usize] as usize);
    Ok(Rows::from_indices(len, new_rows))
}

/// The rows where a BOOLEAN column is true (not null).
pub(super) fn rows_where_true(column: &Vector) -> Result<Rows> {
    let column = column.flatten()?;
    let Some(Values::Boolean(bits)) = column.flat_values() else {
        return Ok(Rows::none(column.len()));
    };
    let mut rows = Rows::from_bits(bits);
    if let Some(nulls) = column.null_buffer() {
        rows.subtract_nulls(nulls);
    }
    Ok(rows)
}
