//! The aggregation operator.

mod portions;
mod spill;

use super::{
    AggregationSpec,
    accumulator::{Accumulator, Target, collected},
    outside::StateHeap,
    partial::PartialPolicy,
    radix_partitions::{RadixPartitions, RadixPolicy, Waiting},
    runs::Runs,
    spilled_groups::SpilledGroups,
};
use portions::copied_bytes;
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{Operator, OperatorContext, OperatorMetrics, Spill, Step, StepContext};
use volley_function::AggregateKind;
use volley_memory::{Pool, Reservation, check_cancelled};
use volley_state::{
    StateSizes,
    hash_table::{GroupCursor, GroupTable},
    rows::RowList,
    spill::SpillReader,
};
use volley_vector::{Batch, Rows, Vector};

/// Groups are emitted together while they have collected at most this many rows.
const COLLECTED_ROWS_MAX: usize = 1 << 18;

/// Or while their states hold at most this fraction of the memory limit outside their rows.
const RESULTS_SHARE: usize = 64;

/// The counter of batches whose rows all had the same keys, seen without looking at each row.
pub(super) const ONE_GROUP_BATCHES: &str = "batches of one group";

/// Groups rows and aggregates them. See the module's drawing.
pub(super) struct HashAggregation {
    name: &'static str,
    spec: Arc<AggregationSpec>,
    table: GroupTable,
    accumulators: Vec<Accumulator>,
    /// Only in step Partial.
    partial: Option<PartialPolicy>,
    /// Whether a partial aggregation was asked for memory, and has to hand its groups on.
    flush_due: bool,
    /// Whether groups are partitioned; only if states can be emitted before the end.
    radix_policy: Option<RadixPolicy>,
    /// What waits, once they are.
    partitions: Option<RadixPartitions>,
    /// What did not fit; `None` where groups cannot be written.
    disk: Option<SpilledGroups>,
    phase: Phase,
    /// What is left of a batch that is taken by portions.
    rest: Option<Batch>,
    input_done: bool,
    /// What states hold outside the groups' rows.
    outside: StateHeap,
    /// The groups being emitted, if results are copies of external memory of states.
    results: Reservation,
    batch_rows: usize,
    sizes: StateSizes,
    metrics: Arc<OperatorMetrics>,
}

enum Phase {
    Collecting,
    /// A batch of groups of one row or one run each.
    Passing(Batch),
    /// Emits the groups from the cursor on; collects again unless the input has ended.
    Emitting(GroupCursor),
    /// Drops the states of the emitted groups.
    Dropping,
    /// Adds what waited for all rows to this aggregate and those after it.
    Finishing(usize),
    /// Groups the rows of this partition, to be emitted.
    Part(usize),
    /// Groups what is in the part of the disk that is being read.
    Reading,
    /// Emits spilled results.
    Results(SpillReader),
    Ended,
}

impl HashAggregation {
    pub(super) fn new(
        name: &'static str,
        spec: Arc<AggregationSpec>,
        cx: &OperatorContext,
    ) -> HashAggregation {
        let pool = &cx.pool;
        let states = spec.aggregates.iter().map(|it| Arc::clone(&it.state)).collect();
        HashAggregation {
            name,
            table: GroupTable::new(spec.key_types.clone(), states, cx.task.sizes, pool),
            accumulators: accumulators(&spec, pool),
            partial: spec.step.repeats_groups().then(|| PartialPolicy::new(spec.states_grow())),
            flush_due: false,
            radix_policy: spec
                .can_spread()
                .then(|| RadixPolicy::new(cx.task.sizes.group_table_bytes)),
            partitions: None,
            disk: spec
                .can_spill()
                .then(|| SpilledGroups::new(spec.keys.len(), 1 + spec.with_rows().len(), cx)),
            phase: Phase::Collecting,
            rest: None,
            input_done: false,
            outside: StateHeap::new(pool),
            results: pool.reservation(),
            spec,
            batch_rows: cx.task.batch_rows,
            sizes: cx.task.sizes,
            metrics: Arc::clone(&cx.metrics),
        }
    }

    fn keys_of(&self, batch: &Batch) -> Vec<Vector> {
        self.spec.keys.iter().map(|it| batch.column(*it).clone()).collect()
    }

    /// Takes a batch, or a slice of one, of which states may copy this number of bytes.
    fn accept_portion(&mut self, input: Batch, owned: usize) -> Result<()> {
        if self.partial.as_ref().is_some_and(PartialPolicy::has_given_up) {
            self.phase = Phase::Passing(self.pass(&input)?);
            return Ok(());
        }
        if self.partitions.is_some() {
            return self.collect_spread(input);
        }
        self.before_groups(input.rows());
        self.collect(&input, owned)?;
        self.spill_if_refused()?;
        self.spread_if_large(input.rows())?;
        self.after_groups();
        let bytes = if self.partial.is_some() { self.bytes() } else { 0 };
        if let Some(partial) = &mut self.partial {
            partial.count(input.rows(), self.table.runs());
            if partial.must_flush(self.table.len(), bytes) || self.flush_due {
                self.phase = Phase::Finishing(0);
            }
        }
        Ok(())
    }

    /// Adds a batch, of which states may copy this number of bytes, to its groups.
    fn collect(&mut self, batch: &Batch, owned: usize) -> Result<()> {
        let mut is_one_group = self.spec.keys.is_empty();
        if is_one_group {
            self.make_global_group()?;
        } else {
            let mut keys =
                self.keys_of(batch).iter().map(Vector::loaded).collect::<Result<Vec<_>>>()?;
            is_one_group = keys.iter().all(Vector::is_constant) && self.takes_all();
            if is_one_group {
                keys.iter_mut().for_each(|it| *it = it.slice(0, 1));
                self.metrics.add(ONE_GROUP_BATCHES, 1);
            }
            self.table.find_or_insert(&keys, if is_one_group { 1 } else { batch.rows() })?;
        }
        self.accumulate(batch, is_one_group)?;
        self.outside.added(&mut self.table, batch.rows(), owned);
        Ok(())
    }

    fn make_global_group(&mut self) -> Result<()> {
        if self.table.is_empty() { self.table.find_or_insert(&[], 1) } else { Ok(()) }
    }

    /// Whether each row is added when it comes, whatever group it belongs to.
    fn takes_all(&self) -> bool {
        let mut accumulators = self.accumulators.iter().zip(&self.spec.aggregates);
        accumulators.all(|(accumulator, spec)| accumulator.takes_all(spec))
    }

    fn accumulate(&mut self, batch: &Batch, is_global: bool) -> Result<()> {
        let accumulators = self.accumulators.iter_mut().zip(&self.spec.aggregates);
        for (index, (accumulator, spec)) in accumulators.enumerate() {
            let target = Target { table: &mut self.table, index, is_global };
            accumulator.add(spec, batch, target)?;
        }
        Ok(())
    }

    fn bytes(&self) -> usize {
        let accumulators = self.accumulators.iter().map(Accumulator::bytes);
        self.table.bytes() + self.outside.bytes() + accumulators.sum::<usize>()
    }

    /// Spreads the groups over parts if there are too many.
    fn spread_if_large(&mut self, rows: usize) -> Result<()> {
        let bytes = self.bytes();
        let Some(policy) = &mut self.radix_policy else { return Ok(()) };
        if !policy.wants_partitions(rows, self.table.len(), bytes) {
            return Ok(());
        }
        let mut partitions =
            RadixPartitions::new(&self.spec.keys, self.batch_rows, self.sizes, self.outside.pool());
        // A part needs little of the table's memory.
        self.drain(&mut |batch| partitions.push_groups(&batch))?;
        self.partitions = Some(partitions);
        Ok(())
    }

    /// Takes a batch while groups are spread.
    fn collect_spread(&mut self, batch: Batch) -> Result<()> {
        let Some(mut partitions) = self.partitions.take() else { return Ok(()) };
        partitions.push_rows(batch)?;
        if let Some(part) = partitions.take_due() {
            let waiting = partitions.waiting(part);
            while self.collect_part(&mut partitions, part)? {
                check_cancelled()?;
            }
            partitions.grouped(waiting, self.table.len());
            self.transfer(&mut |batch| partitions.add_groups(part, batch))?;
        }
        self.partitions = Some(partitions);
        self.after_groups();
        Ok(())
    }

    /// Adds a batch that waits in `part` to its groups; false when there is none.
    fn collect_part(&mut self, partitions: &mut RadixPartitions, part: usize) -> Result<bool> {
        match partitions.pop(part) {
            Some(Waiting::Rows(batch)) => self.collect_whole(batch)?,
            Some(Waiting::Groups(batch)) => self.merge(&batch)?,
            None => return Ok(false),
        }
        self.outside.take_refusal().map_or(Ok(true), Err)
    }

    /// Merges groups with their keys and intermediate results.
    fn merge(&mut self, batch: &Batch) -> Result<()> {
        let (keys, results) = batch.columns().split_at(self.spec.keys.len());
        self.table.find_or_insert(keys, batch.rows())?;
        for ((index, _), result) in self.spec.without_rows().zip(results) {
            let function = self.spec.folding(index)?;
            let mut slots = self.table.slots(index);
            function.merge(&mut slots, result, &Rows::all(batch.rows()))?;
        }
        let mut bytes = 0;
        for ((_, aggregate), result) in self.spec.without_rows().zip(results) {
            if aggregate.state.state().needs_drop {
                bytes += copied_bytes(result)?;
            }
        }
        self.outside.added(&mut self.table, batch.rows(), bytes);
        Ok(())
    }

    /// Hands all groups to `take`, with their keys and the intermediate results of aggregates
    /// without rows of their own, and forgets them; their memory is kept for the next ones.
    fn transfer(&mut self, take: &mut dyn FnMut(Batch) -> Result<()>) -> Result<()> {
        self.table.freeze()?;
        self.hand_over_from(GroupCursor::default(), take)?;
        self.table.restart();
        self.outside.clear();
        Ok(())
    }

    /// As [`HashAggregation::transfer`], but the memory comes back block by block, so that copies
    /// of the groups need little more than the groups did.
    fn drain(&mut self, take: &mut dyn FnMut(Batch) -> Result<()>) -> Result<()> {
        self.table.freeze_blocks();
        self.table.release_index();
        while let Some(last) = self.table.last_block() {
            let bytes = self.hand_over_from(last, take)?;
            self.table.pop_block();
            self.outside.shrink(bytes);
        }
        self.table.clear();
        self.outside.clear();
        Ok(())
    }

    /// Hands the groups from `cursor` on to `take`; what their states hold outside the rows. The
    /// table must be frozen.
    fn hand_over_from(
        &mut self,
        mut cursor: GroupCursor,
        take: &mut dyn FnMut(Batch) -> Result<()>,
    ) -> Result<usize> {
        let mut all = 0;
        loop {
            check_cancelled()?;
            let before = cursor;
            let groups = self.table.next_groups(&mut cursor, self.groups_at_once());
            if groups.is_empty() {
                return Ok(all);
            }
            let bytes_of = GroupTable::external_state_bytes;
            let (groups, bytes) = self.groups_within(groups, (before, &mut cursor), bytes_of);
            all += bytes;
            let mut columns = self.table.keys_of(&groups)?;
            for (index, _) in self.spec.without_rows() {
                let function = self.spec.folding(index)?;
                columns
                    .push(function.extract_intermediate(&mut self.table.slots_of(index, &groups))?);
            }
            take(Batch::new(columns, groups.len()))?;
        }
    }

    /// Goes on with a part: groups what waits in it, and then puts the groups out.
    fn continue_part(&mut self, part: usize) -> Result<()> {
        let Some(mut partitions) = self.partitions.take() else { return Ok(()) };
        let has_more = self.collect_part(&mut partitions, part)?;
        self.partitions = Some(partitions);
        if has_more {
            self.phase = Phase::Part(part);
            return Ok(());
        }
        self.start_emitting()
    }

    #[cfg(test)]
    pub(super) fn is_spread(&self) -> bool {
        self.partitions.is_some()
    }

    /// The next partition to emit.
    fn next_part(&self) -> Option<usize> {
        self.partitions.as_ref()?.next_part()
    }

    /// Makes a group of each run, or of each row where runs are short.
    fn pass(&mut self, batch: &Batch) -> Result<Batch> {
        let keys = Batch::new(self.keys_of(batch), batch.rows());
        let mut runs = None;
        if let Some(partial) = &mut self.partial
            && partial.looks_for_runs(batch.rows())
        {
            runs = Runs::find(keys.columns(), batch.rows())?;
            runs = runs.filter(|it| partial.is_clustered(batch.rows(), it.len()));
        }
        if let Some(runs) = runs {
            return self.pass_runs(batch, keys.gather(&runs.starts)?, &runs);
        }
        match self.lift(batch)? {
            Some(results) => {
                let columns = keys.into_columns().into_iter().chain(results);
                Ok(Batch::new(columns.collect(), batch.rows()))
            }
            None => self.pass_runs(batch, keys, &Runs::separate(batch.rows())),
        }
    }

    /// The intermediate results of each row, where all functions know how to make them.
    fn lift(&self, batch: &Batch) -> Result<Option<Vec<Vector>>> {
        let mut columns = Vec::with_capacity(self.spec.aggregates.len());
        for (aggregate, accumulator) in self.spec.aggregates.iter().zip(&self.accumulators) {
            let lifted = match &aggregate.bound.function {
                AggregateKind::Folding(function) if accumulator.takes_all(aggregate) => {
                    let mut args: Vec<Vector> =
                        aggregate.args.iter().map(|it| batch.column(*it).clone()).collect();
                    match aggregate.merges {
                        true => args.pop(),
                        false => function.lift(&args, batch.rows())?,
                    }
                }
                _ => None,
            };
            let Some(column) = lifted else { return Ok(None) };
            columns.push(column);
        }
        Ok(Some(columns))
    }

    /// Makes a group of each run; `keys`: one row per run.
    fn pass_runs(&mut self, batch: &Batch, keys: Batch, runs: &Runs) -> Result<Batch> {
        let groups = self.table.make_groups(runs.len(), &runs.of_rows)?;
        self.accumulate(batch, false)?;
        for (index, accumulator) in self.accumulators.iter_mut().enumerate() {
            let spec = &self.spec.aggregates[index];
            while !accumulator.finish_step(spec, &mut self.table, index)? {}
        }
        self.results.clear();
        let mut columns = keys.into_columns();
        columns.extend(self.extract(&groups)?);
        self.table.restart();
        self.accumulators = accumulators(&self.spec, self.outside.pool());
        Ok(Batch::new(columns, runs.len()))
    }

    /// The next groups, up to a batch of them.
    fn emit(&mut self, cursor: &mut GroupCursor) -> Result<Option<Batch>> {
        let before = *cursor;
        let groups = self.next_groups(cursor);
        if groups.is_empty() {
            return Ok(None);
        }
        let bytes_of = match self.spec.step.finishes() {
            true => GroupTable::result_bytes,
            false => GroupTable::external_state_bytes,
        };
        let (groups, bytes) = self.groups_within(groups, (before, cursor), bytes_of);
        self.results.resize(bytes)?;
        let mut columns = self.table.keys_of(&groups)?;
        columns.extend(self.extract(&groups)?);
        Ok(Some(Batch::new(columns, groups.len())))
    }

    /// As many of `groups`, from the first cursor up to the second one, as may be emitted at once,
    /// at least one; and their bytes.
    fn groups_within(
        &mut self,
        groups: RowList,
        (from, to): (GroupCursor, &mut GroupCursor),
        bytes_of: impl Fn(&mut GroupTable, &RowList) -> usize,
    ) -> (RowList, usize) {
        let bytes = bytes_of(&mut self.table, &groups);
        let bytes_max = (self.outside.pool().limit_bytes() / RESULTS_SHARE).max(1);
        if bytes <= bytes_max || groups.len() <= 1 {
            return (groups, bytes);
        }
        // As many as take that much, if all are alike.
        let count = (groups.len() as u128 * bytes_max as u128 / bytes as u128).max(1);
        *to = from;
        let groups = self.table.next_groups(to, count as usize);
        let bytes = bytes_of(&mut self.table, &groups);
        (groups, bytes)
    }

    /// How many groups may be in a batch: fewer where they have long keys.
    fn groups_at_once(&self) -> usize {
        let fit = self.outside.pool().batch_bytes() / self.table.long_bytes_per_group().max(1);
        self.batch_rows.min(fit).max(1)
    }

    /// Up to a batch of groups; fewer where they have long keys or have collected many rows.
    fn next_groups(&mut self, cursor: &mut GroupCursor) -> RowList {
        let before = *cursor;
        let groups = self.table.next_groups(cursor, self.groups_at_once());
        let mut count = groups.len();
        for (index, accumulator) in self.accumulators.iter().enumerate() {
            if let Some(kept) = accumulator.kept() {
                let rows = kept.rows_at_once(COLLECTED_ROWS_MAX);
                let within = kept.groups_within(&mut self.table, index, &groups, rows);
                count = count.min(within);
            }
        }
        if count == groups.len() {
            return groups;
        }
        *cursor = before;
        self.table.next_groups(cursor, count)
    }

    /// The results of `groups`, one vector per aggregate.
    fn extract(&mut self, groups: &RowList) -> Result<Vec<Vector>> {
        let step = self.spec.step;
        let mut columns = Vec::with_capacity(self.accumulators.len());
        for (index, aggregate) in self.spec.aggregates.iter().enumerate() {
            let mut slots = self.table.slots_of(index, groups);
            let kept = self.accumulators[index].kept();
            let column = match (&aggregate.bound.function, step, kept) {
                (AggregateKind::Collecting(_), step, Some(kept)) => {
                    kept.results(aggregate, step, &mut slots, &mut self.results)
                }
                (AggregateKind::Collecting(_), _, None) => Err(collected()),
                (AggregateKind::Folding(function), step, _) if step.finishes() => {
                    function.extract(&mut slots)
                }
                (AggregateKind::Folding(function), _, _) => {
                    function.extract_intermediate(&mut slots)
                }
            };
            columns.push(column.map_err(|it| aggregate.place.locate(it))?);
        }
        Ok(columns)
    }

    fn finish_accumulator(&mut self, index: usize) -> Result<()> {
        let Some(accumulator) = self.accumulators.get_mut(index) else {
            return self.start_emitting();
        };
        let spec = &self.spec.aggregates[index];
        let done = accumulator.finish_step(spec, &mut self.table, index)?;
        self.phase = Phase::Finishing(if done { index + 1 } else { index });
        Ok(())
    }

    fn start_emitting(&mut self) -> Result<()> {
        self.table.freeze()?;
        self.phase = Phase::Emitting(GroupCursor::default());
        Ok(())
    }

    /// After the last group was emitted.
    fn end_emitting(&mut self) {
        let has_parts = || self.disk.as_ref().is_some_and(SpilledGroups::has_parts);
        let groups_again = match &self.partial {
            Some(partial) => !partial.has_given_up() && !self.input_done && !self.flush_due,
            None => self.next_part().is_some() || has_parts(),
        };
        if groups_again {
            self.table.restart();
        } else {
            self.table.clear();
        }
        self.accumulators = accumulators(&self.spec, self.outside.pool());
        self.outside.clear();
        self.results.clear();
        self.flush_due = false;
        if let Some(partial) = &mut self.partial {
            partial.flushed();
        }
    }
}

fn accumulators(spec: &AggregationSpec, pool: &Pool) -> Vec<Accumulator> {
    spec.aggregates.iter().map(|it| Accumulator::new(it, spec.step, pool)).collect()
}

impl Operator for HashAggregation {
    fn name(&self) -> &'static str {
        self.name
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        self.rest = Some(input);
        self.accept_rest()
    }

    fn finish_input(&mut self) -> Result<()> {
        if self.spec.keys.is_empty() && self.spec.step.finishes() {
            self.make_global_group()?;
        }
        self.input_done = true;
        self.phase = self.end_of_groups()?;
        if matches!(self.phase, Phase::Finishing(_))
            && let Some(partitions) = &mut self.partitions
        {
            partitions.finish()?;
            self.phase = self.next_phase();
        }
        Ok(())
    }

    fn step(&mut self, _cx: &mut StepContext<'_>) -> Result<Step> {
        match std::mem::replace(&mut self.phase, Phase::Collecting) {
            Phase::Collecting if self.flush_due => {
                self.phase = Phase::Finishing(0);
                Ok(Step::Yield)
            }
            Phase::Collecting if self.rest.is_some() => {
                self.accept_rest()?;
                Ok(Step::Yield)
            }
            Phase::Collecting => Ok(Step::NeedInput),
            Phase::Passing(batch) => Ok(Step::Output(batch)),
            Phase::Emitting(mut cursor) => {
                if let Some(batch) = self.emit(&mut cursor)? {
                    self.phase = Phase::Emitting(cursor);
                    return Ok(Step::Output(batch));
                }
                self.phase = Phase::Dropping;
                Ok(Step::Yield)
            }
            Phase::Dropping => {
                if self.table.drop_some_states() {
                    self.phase = Phase::Dropping;
                    return Ok(Step::Yield);
                }
                self.end_emitting();
                if self.rest.is_some() {
                    return Ok(Step::Yield);
                }
                if !self.input_done {
                    return Ok(Step::NeedInput);
                }
                self.phase = self.next_phase();
                Ok(Step::Yield)
            }
            Phase::Finishing(index) => {
                self.finish_accumulator(index)?;
                Ok(Step::Yield)
            }
            Phase::Part(part) => {
                self.continue_part(part)?;
                Ok(Step::Yield)
            }
            Phase::Reading => {
                self.phase = self.continue_reading()?;
                Ok(Step::Yield)
            }
            Phase::Results(mut reader) => match reader.next()? {
                Some(batch) => {
                    self.phase = Phase::Results(reader);
                    Ok(Step::Output(batch))
                }
                None => {
                    self.phase = self.next_phase();
                    Ok(Step::Yield)
                }
            },
            Phase::Ended => Ok(Step::Finished),
        }
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        let can_spill = self.disk.is_some() || self.partial.is_some();
        can_spill.then_some(self as &mut dyn Spill)
    }
}
