//! Groups that do not fit in memory: see `spilled_groups`.
//!
//! ```text
//! spill   groups with their intermediate results leave the table for the disk; rows that wait in
//!         partitions (`radix_partitions`) are grouped first, unless that has turned out to
//!         reduce little: then they are spilled as groups of one row; later input starts new groups
//! rows    that DISTINCT and aggregates that collect or order keep next to the groups are spilled
//!         with their keys, one stream per aggregate, and are added again
//! end     if something was spilled, so is the rest; then each partition is read, and its groups
//!         are merged, finished and emitted
//! ```
//!
//! While a partition is read, its groups may be spilled again; then it ends as the input does.
//! Groups that are being emitted are spilled as results. A partial aggregation spills nothing: it
//! emits its groups with the next step.

use super::{
    Accumulator, HashAggregation, Phase, RadixPartitions, RadixPolicy, SpilledGroups, Target,
    Waiting, accumulators, copied_bytes,
};
use volley_error::Result;
use volley_exec::Spill;
use volley_memory::check_cancelled;
use volley_state::{hash_table::GroupCursor, spill::SPILL_BYTES_MIN};
use volley_vector::Batch;

impl HashAggregation {
    /// The next phase after the current groups were emitted, or if there are none.
    pub(super) fn next_phase(&mut self) -> Phase {
        if let Some(part) = self.next_part() {
            return Phase::Part(part);
        }
        match self.disk.as_mut().is_some_and(SpilledGroups::open) {
            true => Phase::Reading,
            false => Phase::Ended,
        }
    }

    /// Goes on with the part of the disk that is being read.
    pub(super) fn continue_reading(&mut self) -> Result<Phase> {
        let Some(disk) = &mut self.disk else { return Ok(Phase::Ended) };
        if let Some((stream, batch)) = disk.read()? {
            self.before_groups(batch.rows());
            match stream.checked_sub(1) {
                None => self.merge(&batch)?,
                Some(position) => self.add_again(self.spec.with_rows()[position], &batch)?,
            }
            self.spill_if_refused()?;
            self.after_groups();
            return Ok(Phase::Reading);
        }
        self.end_of_groups()
    }

    /// Adds rows to their groups again, for one aggregate.
    fn add_again(&mut self, index: usize, batch: &Batch) -> Result<()> {
        let (keys, columns) = batch.columns().split_at(self.spec.keys.len());
        self.table.find_or_insert(keys, batch.rows())?;
        let rows = Batch::new(columns.to_vec(), batch.rows());
        let target = Target { table: &mut self.table, index, is_global: false };
        self.accumulators[index].add_again(&self.spec.aggregates[index], &rows, target)?;
        let bytes = match self.spec.aggregates[index].state.state().needs_drop {
            true => rows.columns().iter().map(copied_bytes).sum::<Result<usize>>()?,
            false => 0,
        };
        self.outside.added(&mut self.table, batch.rows(), bytes);
        Ok(())
    }

    /// Gives the groups' memory back if their states have grown beyond the limit.
    pub(super) fn spill_if_refused(&mut self) -> Result<()> {
        let Some(refusal) = self.outside.take_refusal() else { return Ok(()) };
        if self.partial.is_some() {
            self.flush_due = true;
            return Ok(());
        }
        match self.disk.as_ref().is_some_and(SpilledGroups::can_write) {
            true => self.write_groups(),
            false => Err(refusal),
        }
    }

    /// After the last row: finishes the groups, unless some of them are on disk.
    pub(super) fn end_of_groups(&mut self) -> Result<Phase> {
        if self.disk.as_ref().is_some_and(SpilledGroups::has_written) {
            return self.write_rest();
        }
        self.disk.iter_mut().for_each(SpilledGroups::release_ahead);
        Ok(Phase::Finishing(0))
    }

    /// Writes all groups, after the last row; what comes then.
    fn write_rest(&mut self) -> Result<Phase> {
        self.write_groups()?;
        if let Some(disk) = &mut self.disk {
            disk.close()?;
        }
        Ok(self.next_phase())
    }

    /// To be called before rows are looked up, as tables may grow.
    pub(super) fn before_groups(&mut self, rows: usize) {
        if let Some(disk) = &mut self.disk
            && (self.table.may_grow(rows) || self.accumulators.iter().any(|it| it.may_grow(rows)))
        {
            disk.release_ahead();
        }
    }

    /// To be called after rows were added: charges what their groups will need.
    pub(super) fn after_groups(&mut self) {
        let bytes = self.bytes() + self.spread_bytes();
        if bytes >= SPILL_BYTES_MIN
            && let Some(disk) = &mut self.disk
        {
            let tables = self.accumulators.iter().map(Accumulator::growth_bytes);
            disk.charge_ahead(self.table.growth_bytes() + tables.sum::<usize>());
        }
    }

    /// Bytes of what waits in parts.
    fn spread_bytes(&self) -> usize {
        self.partitions.as_ref().map_or(0, RadixPartitions::bytes)
    }

    /// Writes all groups to disk, and gives their memory back.
    fn write_groups(&mut self) -> Result<()> {
        let Some(mut disk) = self.disk.take() else { return Ok(()) };
        disk.release_ahead();
        self.write_rows(&mut disk)?;
        self.drain(&mut |batch| disk.write(0, &batch))?;
        if let Some(mut partitions) = self.partitions.take() {
            partitions.finish()?;
            while let Some(part) = partitions.next_part() {
                self.write_part(&mut partitions, part, &mut disk)?;
            }
            self.partitions = Some(partitions);
        }
        disk.flush()?;
        self.disk = Some(disk);
        self.table.clear();
        if let Some(policy) = &mut self.radix_policy {
            *policy = RadixPolicy::new(self.sizes.group_table_bytes);
        }
        Ok(())
    }

    /// Writes what waits in a part.
    fn write_part(
        &mut self,
        partitions: &mut RadixPartitions,
        part: usize,
        disk: &mut SpilledGroups,
    ) -> Result<()> {
        let passes = partitions.reduces_little();
        while let Some(waiting) = partitions.pop(part) {
            check_cancelled()?;
            match waiting {
                Waiting::Groups(batch) => disk.write_partition(part, batch)?,
                Waiting::Rows(batch) => match if passes { self.lift(&batch)? } else { None } {
                    Some(results) => {
                        let columns = self.keys_of(&batch).into_iter().chain(results).collect();
                        disk.write_partition(part, Batch::new(columns, batch.rows()))?;
                    }
                    None => {
                        self.collect_whole(batch)?;
                        self.outside.take_refusal().map_or(Ok(()), Err)?;
                    }
                },
            }
        }
        self.transfer(&mut |batch| disk.write_partition(part, batch))
    }

    /// Writes the rows that aggregates keep beside their groups.
    fn write_rows(&mut self, disk: &mut SpilledGroups) -> Result<()> {
        let aggregates = self.spec.with_rows();
        if aggregates.is_empty() || self.table.is_empty() {
            return Ok(());
        }
        self.table.freeze()?;
        for (position, index) in aggregates.into_iter().enumerate() {
            let take = &mut |batch: Batch| disk.write(1 + position, &batch);
            self.accumulators[index].take_rows(&self.table, self.batch_rows, take)?;
        }
        self.accumulators = accumulators(&self.spec, self.outside.pool());
        Ok(())
    }

    /// Writes the results of the groups from `cursor` on, and whatever waits.
    fn write_results(&mut self, mut cursor: GroupCursor) -> Result<Phase> {
        let Some(disk) = &self.disk else { return Ok(Phase::Emitting(cursor)) };
        let mut writer = disk.results(&self.spec.result_types())?;
        while let Some(batch) = self.emit(&mut cursor)? {
            check_cancelled()?;
            writer.write(&batch)?;
        }
        self.table.clear();
        self.end_emitting();
        if self.next_part().is_some() {
            self.write_groups()?;
        }
        let Some(disk) = &mut self.disk else { return Ok(Phase::Ended) };
        disk.close()?;
        Ok(Phase::Results(disk.read_results(writer)?))
    }

    /// Whether a partial aggregation could hand groups on.
    fn can_flush(&self) -> bool {
        self.partial.is_some() && !self.flush_due && matches!(self.phase, Phase::Collecting)
    }

    /// Whether groups that are being emitted can be spilled instead.
    fn can_write_results(&self) -> bool {
        self.disk.is_some() && self.accumulators.iter().all(|it| it.kept().is_none())
    }
}

impl Spill for HashAggregation {
    fn reclaimable_bytes(&self) -> usize {
        let bytes = match (&self.phase, &self.disk) {
            _ if self.can_flush() => self.bytes(),
            (Phase::Collecting | Phase::Part(_) | Phase::Reading, Some(disk))
                if disk.can_write() =>
            {
                self.bytes() + self.spread_bytes()
            }
            (Phase::Emitting(_), Some(_)) if self.can_write_results() => {
                self.bytes() + self.spread_bytes()
            }
            _ => 0,
        };
        if bytes < SPILL_BYTES_MIN { 0 } else { bytes }
    }

    fn spill(&mut self) -> Result<()> {
        if self.can_flush() {
            self.flush_due = !self.table.is_empty();
            if !self.flush_due {
                self.table.clear();
            }
            return Ok(());
        }
        let can_write = self.disk.as_ref().is_some_and(SpilledGroups::can_write);
        self.phase = match std::mem::replace(&mut self.phase, Phase::Ended) {
            phase @ (Phase::Collecting | Phase::Reading) if can_write => {
                self.write_groups()?;
                phase
            }
            Phase::Part(_) if can_write => self.write_rest()?,
            Phase::Emitting(cursor) if self.can_write_results() => self.write_results(cursor)?,
            other => other,
        };
        Ok(())
    }
}
