//! Rows that an aggregate takes at the end of input: in an order of its own, or group by group.
//!
//! ```text
//! push     columns to order by and arguments, as they come; the group of each row
//! concat   one flat vector per column
//! sort     where there is an ORDER BY
//! add      rows in order to their groups' states, or
//! group    row numbers by group, rows of a group in order (see `grouping`)
//! ```

use super::{
    accumulator::{AccumulatorSpec, GrownStates, Target, collected},
    grouping::{GroupRange, Grouped, Grouping},
};
use volley_error::Result;
use volley_function::AggregateKind;
use volley_memory::{Pool, Reservation, Slots, check_cancelled};
use volley_plan::{AggregateStep, SortKey};
use volley_state::{
    BatchCharge, StateSizes,
    column_concat::{ColumnConcat, concat_bytes, joined_bytes},
    compact::compact_strings,
    hash_table::GroupTable,
    rows::RowList,
    sort::{RowSorter, sort_bytes_per_row},
};
use volley_types::{PhysicalType, Type};
use volley_vector::{Batch, Decoded, Rows, StringView, Values, Vector};

/// How many ordered rows are added in one step.
const CHUNK_ROWS: usize = 1 << 14;

/// Texts that are combined at once may take this fraction of the memory limit.
const TEXTS_SHARE: usize = 64;

/// What a value that is no text takes in one, with what stands around it.
const TEXT_BYTES: usize = 8;

/// How many rows are gathered between two checks for cancellation.
const GATHERED_ROWS: usize = 1 << 18;

/// Rows kept until the end of input: the columns to order by, then the arguments.
pub(super) struct BufferedRows {
    types: Vec<Type>,
    order_columns: usize,
    parts: Vec<Batch>,
    charge: BatchCharge,
    /// The group of each row; `None` when all are collected for the only group.
    groups: Option<RowList>,
    groups_charge: Reservation,
    /// What it will take to join the columns, and
    concat_bytes: usize,
    /// to sort and group a row.
    sort_bytes: usize,
    /// Rows kept.
    rows: usize,
    /// Charged for that, if there is room.
    ahead: Reservation,
    sizes: StateSizes,
    /// What the rows take in texts that results are made of, in the mean; 0 where they are not.
    text_bytes: usize,
    phase: Phase,
}

enum Phase {
    Push,
    Concat(ColumnConcat),
    Sort(Batch, RowSorter),
    /// Rows from the position on are not added to their groups.
    Add(Batch, RowSorter, usize),
    Group(Batch, Grouping),
    /// By group; collecting functions only.
    Grouped(Batch, Grouped),
    Done,
}

impl BufferedRows {
    pub(super) fn new(spec: &AccumulatorSpec, step: AggregateStep, pool: &Pool) -> BufferedRows {
        let types = spec.row_types(step);
        let keys: Vec<SortKey> = (spec.order_by.iter().enumerate())
            .map(|(column, key)| SortKey { column, ..*key })
            .collect();
        let sort_bytes = if keys.is_empty() { 0 } else { sort_bytes_per_row(&types, &keys) };
        BufferedRows {
            concat_bytes: 0,
            sort_bytes: sort_bytes + size_of::<u32>(),
            rows: 0,
            ahead: pool.reserve_ahead(),
            types,
            order_columns: spec.order_types.len(),
            parts: Vec::new(),
            charge: BatchCharge::new(pool),
            groups: None,
            groups_charge: pool.reservation(),
            sizes: spec.sizes,
            text_bytes: 0,
            phase: Phase::Push,
        }
    }

    /// Bytes charged to the pool.
    pub(super) fn bytes(&self) -> usize {
        self.charge.bytes() + self.groups_charge.bytes() + self.ahead.bytes()
    }

    /// Keeps `rows` of a batch.
    pub(super) fn push(
        &mut self,
        spec: &AccumulatorSpec,
        batch: &Batch,
        target: Target<'_>,
        mut rows: Rows,
    ) -> Result<()> {
        let order = spec.order_by.iter().map(|it| it.column);
        let columns: Vec<usize> = order.chain(spec.args.iter().copied()).collect();
        let batch = batch.project(&columns);
        let (part, sources) = match &spec.bound.function {
            AggregateKind::Collecting(function) if spec.merges => {
                let expanded = function.expand(batch.column(self.order_columns), &rows)?;
                let len = expanded.sources.len();
                (Batch::new(expanded.args, len), expanded.sources)
            }
            function => {
                if matches!(function, AggregateKind::Collecting(_)) && spec.bound.ignores_nulls {
                    drop_null_rows(batch.column(self.order_columns), &mut rows)?;
                }
                let sources = rows.to_indices();
                (batch.gather(&sources)?, sources)
            }
        };
        self.keep(spec, part, target, &sources)
    }

    /// Keeps `rows` of a batch of rows that were taken out.
    pub(super) fn push_again(
        &mut self,
        spec: &AccumulatorSpec,
        batch: &Batch,
        target: Target<'_>,
        rows: &Rows,
    ) -> Result<()> {
        let sources = rows.to_indices();
        self.keep(spec, batch.gather(&sources)?, target, &sources)
    }

    /// Hands all rows to `take`, each with the keys of its group before. `table` has the groups,
    /// and is frozen.
    pub(super) fn take_rows(
        &mut self,
        table: &GroupTable,
        take: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<()> {
        let Some(groups) = &self.groups else { return Ok(()) };
        let mut start = 0;
        for part in self.parts.drain(..) {
            check_cancelled()?;
            let end = start + part.rows() as u32;
            let rows: Vec<u32> = (start..end).collect();
            let mut columns = table.keys_of(&groups.pick(&rows))?;
            columns.extend(part.columns().iter().cloned());
            take(Batch::new(columns, part.rows()))?;
            self.charge.remove(&part);
            start = end;
        }
        Ok(())
    }

    /// Keeps rows; `sources`: which row of the target's last batch each belongs to.
    fn keep(
        &mut self,
        spec: &AccumulatorSpec,
        part: Batch,
        target: Target<'_>,
        sources: &[u32],
    ) -> Result<()> {
        if part.rows() == 0 {
            return Ok(());
        }
        let part = self.charge.keep(compact_strings(part)?)?;
        self.rows += part.rows();
        self.concat_bytes += concat_bytes(&part);
        self.parts.push(part);
        self.charge_ahead();
        self.push_groups(spec, target, sources)
    }

    /// Charges what will be needed. Without room, memory is scarce already, and will be asked for.
    fn charge_ahead(&mut self) {
        let _ = self.ahead.resize(self.concat_bytes + self.rows.saturating_mul(self.sort_bytes));
    }

    fn push_groups(
        &mut self,
        spec: &AccumulatorSpec,
        target: Target<'_>,
        sources: &[u32],
    ) -> Result<()> {
        if target.is_global && spec.collects() {
            return Ok(());
        }
        let groups = match target.is_global {
            true => target.table.repeat_group(sources.len()),
            false => target.table.groups().pick(sources),
        };
        if spec.collects() {
            Grouping::count(&mut target.table.slots_of(target.index, &groups));
        }
        self.groups_charge.grow(groups.len() * size_of::<usize>())?;
        match &mut self.groups {
            Some(all) => all.append(&groups),
            None => self.groups = Some(groups),
        }
        Ok(())
    }

    /// Goes on with some rows; true when all are where they belong. The order of the whole is the
    /// order within each group.
    pub(super) fn finish_step(
        &mut self,
        spec: &AccumulatorSpec,
        (table, index): (&mut GroupTable, usize),
        grown: &mut GrownStates,
    ) -> Result<bool> {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Done) {
            Phase::Push if self.parts.is_empty() && !spec.collects() => Phase::Done,
            Phase::Push => {
                let parts = std::mem::take(&mut self.parts);
                Phase::Concat(ColumnConcat::new(&self.types, parts))
            }
            Phase::Concat(mut concat) => {
                self.concat_bytes = 0;
                self.charge_ahead();
                match concat.step(&mut self.charge)? {
                    None => Phase::Concat(concat),
                    Some(rows) => self.order(spec, rows)?,
                }
            }
            Phase::Sort(rows, mut sorter) => match sorter.step()? {
                false => Phase::Sort(rows, sorter),
                true if spec.collects() => self.group(spec, rows, Some(sorter))?,
                true => Phase::Add(rows, sorter, 0),
            },
            Phase::Add(rows, sorter, position) => {
                let end = rows.rows().min(position + CHUNK_ROWS);
                let chunk = sorter.rows(position, end);
                let end = position + self.add(spec, (table, index), (&rows, &chunk), grown)?;
                if end == rows.rows() { Phase::Done } else { Phase::Add(rows, sorter, end) }
            }
            Phase::Group(rows, mut grouping) => {
                match grouping.step(table, index, self.groups.as_ref())? {
                    false => Phase::Group(rows, grouping),
                    true => {
                        self.groups = None;
                        self.groups_charge.clear();
                        Phase::Grouped(rows, grouping.finish())
                    }
                }
            }
            done => done,
        };
        Ok(matches!(self.phase, Phase::Grouped(..) | Phase::Done))
    }

    /// How many rows, of `rows`, results are made of at once.
    pub(super) fn rows_at_once(&self, rows: usize) -> usize {
        if self.text_bytes == 0 {
            return rows;
        }
        let limit = self.groups_charge.pool().limit_bytes();
        let bytes = (limit / TEXTS_SHARE).clamp(1, self.sizes.group_text_bytes);
        rows.min(bytes / self.text_bytes).max(1)
    }

    /// Of `groups`, how many from the first on have together not much more than `rows` rows; at
    /// least one.
    pub(super) fn groups_within(
        &self,
        table: &mut GroupTable,
        index: usize,
        groups: &RowList,
        rows: usize,
    ) -> usize {
        let mut slots = table.slots_of(index, groups);
        let mut ranges = slots.typed::<GroupRange>();
        let mut total = 0;
        let fits = |group: &usize| {
            total += ranges.get(*group).rows();
            total <= rows
        };
        (0..groups.len()).take_while(fits).count().max(1)
    }

    /// The results of `groups`, or their intermediate ones; charged to `charge`.
    pub(super) fn results(
        &self,
        spec: &AccumulatorSpec,
        step: AggregateStep,
        ranges: &mut Slots<'_>,
        charge: &mut Reservation,
    ) -> Result<Vector> {
        let AggregateKind::Collecting(function) = &spec.bound.function else {
            return Err(collected());
        };
        let Phase::Grouped(rows, grouped) = &self.phase else { return Err(collected()) };
        let (positions, ends) = grouped.positions(ranges, charge)?;
        let args = &rows.columns()[self.order_columns..];
        let args = match positions {
            None => args.to_vec(),
            Some(positions) => gather(args, &positions, charge)?,
        };
        if step.finishes() {
            if self.text_bytes > 0 {
                charge.grow(text_bytes(&args))?;
            }
            function.results(&args, &ends)
        } else {
            function.intermediate(&args, &ends)
        }
    }

    /// Begins to sort the rows, if they are to be sorted.
    fn order(&mut self, spec: &AccumulatorSpec, rows: Batch) -> Result<Phase> {
        let ahead = self.ahead.commit();
        if spec.order_by.is_empty() {
            drop(ahead);
            return self.group(spec, rows, None);
        }
        let keys = rows.columns()[..self.order_columns].to_vec();
        let sorter = RowSorter::new(keys, rows.rows(), &spec.order_by, ahead)?;
        Ok(Phase::Sort(rows, sorter))
    }

    fn group(
        &mut self,
        spec: &AccumulatorSpec,
        rows: Batch,
        sorter: Option<RowSorter>,
    ) -> Result<Phase> {
        // What depends on the order of all rows, and is a text, has all of them in it.
        if spec.bound.order_sensitive && spec.bound.result.physical() == PhysicalType::View {
            let bytes = text_bytes(&rows.columns()[self.order_columns..]);
            self.text_bytes = (bytes / rows.rows().max(1)).max(1);
        }
        let pool = self.groups_charge.pool();
        let grouping = Grouping::new(rows.rows(), sorter, self.groups.is_none(), pool)?;
        Ok(Phase::Group(rows, grouping))
    }

    /// Adds rows of `chunk` to their groups, those that come first; how many.
    fn add(
        &self,
        spec: &AccumulatorSpec,
        (table, index): (&mut GroupTable, usize),
        (rows, chunk): (&Batch, &[u32]),
        grown: &mut GrownStates,
    ) -> Result<usize> {
        let AggregateKind::Folding(function) = &spec.bound.function else {
            return Err(collected());
        };
        let Some(groups) = &self.groups else { return Err(collected()) };
        let owns = function.state().needs_drop;
        let count = match owns {
            true => {
                let args = &rows.columns()[self.order_columns..];
                rows_within(args, chunk, self.sizes.ordered_step_bytes)
            }
            false => chunk.len(),
        };
        let chunk = &chunk[..count];
        let part = rows.gather(chunk)?;
        let groups = groups.pick(chunk);
        let args = &part.columns()[self.order_columns..];
        let add = |table: &mut GroupTable| {
            let slots = &mut table.slots_of(index, &groups);
            function.add(slots, args, &Rows::all(part.rows()))
        };
        match owns {
            true => grown.note((table, index), function.as_ref(), &groups, add)?,
            false => add(table)?,
        }
        Ok(count)
    }
}

/// The bytes of the text in a row of a flat column.
fn text_len(column: &Vector, row: usize) -> usize {
    match column.flat_values() {
        Some(Values::View(texts)) => texts.views.get(row).map_or(0, |it| StringView::len_of(*it)),
        _ => 0,
    }
}

/// How many of `rows`, from the first on, have texts of at most this number of bytes; at least one.
fn rows_within(columns: &[Vector], rows: &[u32], bytes: usize) -> usize {
    let mut sum = 0usize;
    let is_within = |row: &&u32| {
        let texts = columns.iter().map(|it| text_len(it, **row as usize));
        sum = sum.saturating_add(texts.sum());
        sum <= bytes
    };
    rows.iter().take_while(is_within).count().max(1).min(rows.len())
}

/// What the values of some flat columns take in texts, about.
fn text_bytes(columns: &[Vector]) -> usize {
    let of_column = |column: &Vector| match column.flat_values() {
        Some(Values::View(texts)) => texts.views.iter().map(|it| StringView::len_of(*it)).sum(),
        _ => joined_bytes(column),
    };
    columns.iter().map(|it| of_column(it) + it.len() * TEXT_BYTES).sum()
}

/// Takes the rows out whose value in `column` is null.
fn drop_null_rows(column: &Vector, rows: &mut Rows) -> Result<()> {
    if let Some(nulls) = Decoded::new(column)?.nulls() {
        rows.subtract_nulls(&nulls);
    }
    Ok(())
}

/// Rows `positions` of `columns`, some at a time: one group may have millions.
fn gather(columns: &[Vector], positions: &[u32], charge: &mut Reservation) -> Result<Vec<Vector>> {
    charge.grow(positions.len() * columns.len() * size_of::<u128>())?;
    let gather_column = |column: &Vector| {
        if positions.len() <= GATHERED_ROWS {
            return column.gather(positions);
        }
        let part = |chunk: &[u32]| check_cancelled().and_then(|()| column.gather(chunk));
        let parts = positions.chunks(GATHERED_ROWS).map(part).collect::<Result<Vec<_>>>()?;
        Vector::concat_checked(column.data_type(), &parts, &check_cancelled)
    };
    columns.iter().map(gather_column).collect()
}
