//! Rows that an aggregate takes in an order of its own.

use super::accumulator::AccumulatorSpec;
use crate::{
    BatchCharge, column_concat::ColumnConcat, hash_table::GroupTable, rows::RowList,
    sort::RowSorter,
};
use volley_error::Result;
use volley_memory::{Pool, Reservation};
use volley_types::Type;
use volley_vector::{Batch, Rows};

/// How many ordered rows are added in one step.
const CHUNK_ROWS: usize = 1 << 14;

/// Rows kept until the end of input: the columns to order by, the arguments, and the group.
pub(super) struct OrderedRows {
    types: Vec<Type>,
    parts: Vec<Batch>,
    charge: BatchCharge,
    groups: Option<RowList>,
    groups_charge: Reservation,
    /// Once the input has ended.
    concat: Option<ColumnConcat>,
    sorted: Option<Sorted>,
}

/// All rows, and their order.
struct Sorted {
    rows: Batch,
    sorter: RowSorter,
    is_done: bool,
    /// Rows added so far.
    position: usize,
}

impl OrderedRows {
    pub(super) fn new(spec: &AccumulatorSpec, pool: &Pool) -> OrderedRows {
        OrderedRows {
            types: spec.order_types.iter().chain(&spec.arg_types).cloned().collect(),
            parts: Vec::new(),
            charge: BatchCharge::new(pool),
            groups: None,
            groups_charge: pool.reservation(),
            concat: None,
            sorted: None,
        }
    }

    /// Bytes charged to the pool.
    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes() + self.groups_charge.bytes()
    }

    /// Keeps `rows` of a batch; `groups` has one for each.
    pub(super) fn push(
        &mut self,
        spec: &AccumulatorSpec,
        batch: &Batch,
        groups: RowList,
        rows: &Rows,
    ) -> Result<()> {
        let order = spec.order_by.iter().map(|it| it.column);
        let columns: Vec<usize> = order.chain(spec.args.iter().copied()).collect();
        let part = batch.project(&columns).gather(&rows.to_indices())?;
        self.charge.add(&part)?;
        self.parts.push(part);
        self.groups_charge.grow(groups.len() * size_of::<usize>())?;
        match &mut self.groups {
            Some(all) => all.append(&groups),
            None => self.groups = Some(groups),
        }
        Ok(())
    }

    /// Adds some rows to their groups, in order; true when all are. The order of the whole is the
    /// order within each group.
    pub(super) fn finish_step(
        &mut self,
        spec: &AccumulatorSpec,
        table: &mut GroupTable,
        index: usize,
    ) -> Result<bool> {
        let Some(groups) = &self.groups else { return Ok(true) };
        let Some(sorted) = &mut self.sorted else {
            self.advance_sorting(spec)?;
            return Ok(false);
        };
        if !sorted.is_done {
            sorted.is_done = sorted.sorter.step();
            return Ok(false);
        }
        let end = sorted.rows.rows().min(sorted.position + CHUNK_ROWS);
        let chunk = sorted.sorter.rows(sorted.position, end);
        sorted.position = end;
        let part = sorted.rows.gather(&chunk)?;
        let groups = groups.pick(&chunk);
        let args = &part.columns()[spec.order_by.len()..];
        let slots = &mut table.slots_of(index, &groups);
        spec.bound.function.add(slots, args, &Rows::all(part.rows()))?;
        Ok(end == sorted.rows.rows())
    }

    /// Joins the rows, some at a time; then begins to sort them.
    fn advance_sorting(&mut self, spec: &AccumulatorSpec) -> Result<()> {
        let parts = &mut self.parts;
        let concat = self
            .concat
            .get_or_insert_with(|| ColumnConcat::new(&self.types, std::mem::take(parts)));
        let Some(rows) = concat.step(&mut self.charge)? else { return Ok(()) };
        let keys = rows.columns()[..spec.order_by.len()].to_vec();
        let pool = self.groups_charge.pool();
        let sorter = RowSorter::new(keys, rows.rows(), &spec.order_by, pool)?;
        self.sorted = Some(Sorted { rows, sorter, is_done: false, position: 0 });
        Ok(())
    }
}
