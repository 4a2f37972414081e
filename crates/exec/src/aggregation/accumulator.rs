//! One aggregate of an aggregation: which rows it takes, and in which order.

use super::ordered::OrderedRows;
use crate::hash_table::GroupTable;
use volley_error::Result;
use volley_function::BoundAggregate;
use volley_memory::Pool;
use volley_plan::SortKey;
use volley_types::Type;
use volley_vector::{Batch, Rows, ScalarBuffer, Values, Vector};

/// What an aggregate does with its input.
#[derive(Debug)]
pub(super) struct AccumulatorSpec {
    pub bound: BoundAggregate,
    /// Argument columns of the input, and their types.
    pub args: Vec<usize>,
    pub arg_types: Vec<Type>,
    pub distinct: bool,
    /// A BOOLEAN column of the input.
    pub filter: Option<usize>,
    pub order_by: Vec<SortKey>,
    /// The types of the columns to order by.
    pub order_types: Vec<Type>,
}

/// The state of one aggregate beside the groups' rows.
pub(super) struct Accumulator {
    /// Distinct (group, arguments).
    seen: Option<GroupTable>,
    /// Rows that wait for the end of input to be ordered.
    ordered: Option<OrderedRows>,
}

/// Where the rows of a batch go.
pub(super) struct Target<'a> {
    /// Holds the states.
    pub table: &'a mut GroupTable,
    /// Which aggregate.
    pub index: usize,
    /// Whether all rows belong to the only group.
    pub is_global: bool,
    /// Whether the arguments are intermediate results.
    pub is_merge: bool,
}

impl Accumulator {
    pub(super) fn new(spec: &AccumulatorSpec, pool: &Pool) -> Accumulator {
        let seen = spec.distinct.then(|| {
            let types = std::iter::once(&Type::BigInt).chain(&spec.arg_types).cloned();
            GroupTable::new(types.collect(), Vec::new(), pool)
        });
        let ordered = (!spec.order_by.is_empty()).then(|| OrderedRows::new(spec, pool));
        Accumulator { seen, ordered }
    }

    /// Bytes charged to the pool.
    pub(super) fn bytes(&self) -> usize {
        self.seen.as_ref().map_or(0, GroupTable::bytes)
            + self.ordered.as_ref().map_or(0, OrderedRows::bytes)
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
        match &mut self.ordered {
            Some(ordered) => {
                let groups = match target.is_global {
                    true => target.table.repeat_group(rows.count()),
                    false => target.table.groups().pick(&rows.to_indices()),
                };
                ordered.push(spec, batch, groups, &rows)
            }
            None => target.add(spec, &args, &rows),
        }
    }

    /// Adds some of the rows that waited for their order; true when all are added.
    pub(super) fn finish_step(
        &mut self,
        spec: &AccumulatorSpec,
        table: &mut GroupTable,
        index: usize,
    ) -> Result<bool> {
        self.seen = None;
        if let Some(ordered) = &mut self.ordered {
            if !ordered.finish_step(spec, table, index)? {
                return Ok(false);
            }
            self.ordered = None;
        }
        Ok(true)
    }
}

impl Target<'_> {
    fn add(self, spec: &AccumulatorSpec, args: &[Vector], rows: &Rows) -> Result<()> {
        let function = &spec.bound.function;
        let slots = &mut self.table.slots(self.index);
        match (self.is_merge, self.is_global) {
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

/// The rows of `rows` whose group and arguments were not seen before.
fn new_rows(seen: &mut GroupTable, groups: Vector, args: &[Vector], rows: &Rows) -> Result<Rows> {
    let mut columns = vec![groups];
    columns.extend_from_slice(args);
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
