//! The probe side of a hash join.

use super::{
    HashJoinSpec,
    condition::{Condition, ProbeSide},
    partition_join::{PartitionContext, PartitionJoin, PartitionStep},
    shared::{BuildTables, JoinShared},
    spill::{Claim, SpilledJoin},
    unknown::NullAwareProbe,
};
use std::{sync::Arc, task::Waker};
use volley_error::{Error, Result};
use volley_exec::{BlockedOn, Operator, OperatorContext, Step, StepContext};
use volley_plan::JoinKind;
use volley_state::{
    Ticket,
    hash_table::{LookupMemory, PairCursor},
};
use volley_vector::{Batch, BooleanBuffer, NullBuffer, Vector};

/// Looks rows up in the build side's table.
pub(super) struct HashProbe {
    shared: Arc<JoinShared>,
    condition: Condition,
    lookups: LookupMemory,
    current: Option<ProbeBatch>,
    /// Where the output of build rows stands: block and row.
    emitting: Option<(usize, usize)>,
    input_done: bool,
    batch_rows: usize,
    /// Where a part of the build side is on disk: the other part, until the driver's rows have
    /// all been looked up there, or written.
    resident: Option<Arc<BuildTables>>,
    /// Used when they are.
    written: Ticket,
    partition: Option<PartitionJoin>,
    partitions: PartitionContext,
}

/// A batch being probed.
struct ProbeBatch {
    batch: Batch,
    /// As the table compares them.
    keys: Vec<Vector>,
    cursor: PairCursor,
    /// By probe row: whether it has a match so far.
    matched: Vec<bool>,
    /// Where the comparison is unknown by what was looked up before; empty: nowhere.
    unknown_so_far: Vec<bool>,
    unknown: Option<NullAwareProbe>,
}

impl HashProbe {
    pub(super) fn new(shared: Arc<JoinShared>, cx: &OperatorContext) -> Result<HashProbe> {
        Ok(HashProbe {
            condition: Condition::new(&shared.spec, cx)?,
            resident: None,
            written: shared.take_ticket()?,
            partition: None,
            partitions: PartitionContext::new(&shared.spec, cx),
            shared,
            lookups: LookupMemory::default(),
            current: None,
            emitting: None,
            input_done: false,
            batch_rows: cx.task.batch_rows,
        })
    }

    fn begin(&mut self, input: Batch, tables: &BuildTables) -> Result<ProbeBatch> {
        let spec = &self.shared.spec;
        let keys = spec.encoded_probe_keys(&input)?;
        let cursor = tables.table.lookup(&keys, input.rows(), &mut self.lookups)?;
        let batch = spec.load_filter_columns(input)?;
        let mut matched = vec![false; if spec.tracks_matches() { batch.rows() } else { 0 }];
        let mut unknown_so_far = Vec::new();
        if let Some(partition) = &mut self.partition {
            partition.load_matched(&mut matched, &mut unknown_so_far);
        }
        Ok(ProbeBatch { batch, keys, cursor, matched, unknown_so_far, unknown: None })
    }

    /// Makes and checks some pairs of the current batch. The batch is returned unless it is done.
    fn advance(&mut self, mut current: ProbeBatch, tables: &BuildTables) -> Result<Step> {
        let spec = Arc::clone(&self.shared.spec);
        if spec.is_existence() {
            return self.advance_existence(&spec, current, tables);
        }
        let table = &tables.table;
        let mut pairs = table.next_pairs(&mut current.cursor, self.batch_rows, |_| false);
        self.condition.apply(&spec, table, current.side(), &mut pairs)?;
        if spec.kind.emits_build_rows() {
            table.container().mark_matched(&pairs.matches);
        }
        if !current.matched.is_empty() {
            pairs.rows.iter().for_each(|row| current.matched[*row as usize] = true);
        }
        if current.cursor.is_done() && self.keep_matched(&current) {
            return spec.pairs_output(&current.batch, pairs, tables);
        }
        if current.cursor.is_done() && !current.matched.is_empty() {
            let unmatched = rows_where(&current.matched, false);
            let is_too_large = pairs.rows.len() + unmatched.len() > self.batch_rows;
            if is_too_large && !pairs.rows.is_empty() {
                // Comes back with no pairs left.
                let output = spec.pairs_batch(&current.batch, pairs, table)?;
                self.current = Some(current);
                return Ok(Step::Output(output));
            }
            table.container().push_missing(&mut pairs.matches, unmatched.len());
            pairs.rows.extend(unmatched);
        } else if !current.cursor.is_done() {
            let output = spec.pairs_output(&current.batch, pairs, tables)?;
            self.current = Some(current);
            return Ok(output);
        }
        spec.pairs_output(&current.batch, pairs, tables)
    }

    /// For kinds that only ask whether a probe row has a match.
    fn advance_existence(
        &mut self,
        spec: &HashJoinSpec,
        mut current: ProbeBatch,
        tables: &BuildTables,
    ) -> Result<Step> {
        let table = &tables.table;
        if self.condition.is_trivial(&current.cursor) {
            current.cursor.rows().iter().for_each(|row| current.matched[*row as usize] = true);
            current.cursor.finish();
        } else if !current.cursor.is_done() {
            let matched = &current.matched;
            let is_settled = |row: u32| matched[row as usize];
            let mut pairs = table.next_pairs(&mut current.cursor, self.batch_rows, is_settled);
            self.condition.apply(spec, table, current.side(), &mut pairs)?;
            pairs.rows.iter().for_each(|row| current.matched[*row as usize] = true);
        }
        if !current.cursor.is_done() {
            self.current = Some(current);
            return Ok(Step::Yield);
        }
        if spec.null_aware {
            let mut search = match current.unknown.take() {
                Some(search) => search,
                None => {
                    let before = std::mem::take(&mut current.unknown_so_far);
                    NullAwareProbe::new(spec, tables, &current.keys, (&current.matched, before))?
                }
            };
            let done = search.advance(spec, tables, current.side(), &mut self.condition)?;
            current.unknown = Some(search);
            if !done {
                self.current = Some(current);
                return Ok(Step::Yield);
            }
        }
        if self.keep_matched(&current) {
            return Ok(Step::Yield);
        }
        Ok(spec.existence_output(current))
    }

    /// Whether more blocks of build rows come that a batch is to be looked up in; then keeps what
    /// is known of its rows.
    fn keep_matched(&mut self, current: &ProbeBatch) -> bool {
        let join = self.partition.as_mut().filter(|it| !it.is_last_block());
        let unknown = current.unknown.as_ref().map_or(&[][..], NullAwareProbe::unknown);
        join.map(|it| it.keep_matched(&current.matched, unknown)).is_some()
    }

    /// Looks rows of partitions in memory up; then joins those on disk.
    fn step_spilled(
        &mut self,
        whole: &BuildTables,
        spilled: &Arc<SpilledJoin>,
        waker: &Waker,
    ) -> Result<Step> {
        if !self.input_done && self.resident.is_none() {
            self.resident = spilled.resident();
        }
        let Some(resident) = self.resident.clone() else {
            return self.step_partition(whole, spilled, waker);
        };
        if let Some(current) = self.current.take() {
            return self.advance(current, &resident);
        }
        if !self.input_done {
            return Ok(Step::NeedInput);
        }
        if self.emitting.is_some() {
            return self.emit_build_rows(&resident);
        }
        self.resident = None;
        self.lookups = LookupMemory::default();
        drop(resident);
        self.written.arrive();
        Ok(Step::Yield)
    }

    /// Joins the partitions on disk, once all drivers have written their rows.
    fn step_partition(
        &mut self,
        whole: &BuildTables,
        spilled: &Arc<SpilledJoin>,
        waker: &Waker,
    ) -> Result<Step> {
        let Some(join) = &mut self.partition else {
            if !self.shared.probe_rows_written(waker) {
                return Ok(Step::Blocked(BlockedOn::Build));
            }
            let cx = &self.partitions;
            self.partition = match spilled.claim(&cx.spec, &cx.metrics, waker)? {
                Claim::Partition(claimed) => PartitionJoin::new(cx, claimed, waker)?,
                Claim::Wait => None,
                Claim::End => return Ok(Step::Finished),
            };
            let has_one = self.partition.is_some();
            return Ok(if has_one { Step::Yield } else { Step::Blocked(BlockedOn::Build) });
        };
        if let Some(tables) = join.tables() {
            if let Some(current) = self.current.take() {
                return self.advance(current, &tables);
            }
            if self.emitting.is_some() {
                return self.emit_build_rows(&tables);
            }
        }
        match join.step(&self.partitions, whole)? {
            PartitionStep::Progress => {}
            PartitionStep::Probe(batch) => {
                if let Some(tables) = join.tables() {
                    self.current = Some(self.begin(batch, &tables)?);
                }
            }
            PartitionStep::Probed => {
                let emits = self.shared.spec.kind.emits_build_rows();
                self.emitting = (emits && self.shared.all_probes_ended()).then_some((0, 0));
                self.lookups = LookupMemory::default();
            }
            PartitionStep::Done => self.partition = None,
        }
        Ok(Step::Yield)
    }

    /// The next build rows without a match, or with one.
    fn emit_build_rows(&mut self, tables: &BuildTables) -> Result<Step> {
        let spec = &self.shared.spec;
        let container = tables.table.container();
        let Some((block, row)) = self.emitting else { return Ok(Step::Finished) };
        if block >= container.blocks() {
            self.emitting = None;
            return Ok(Step::Yield);
        }
        let list = container.block_rows(block, row, self.batch_rows);
        let is_end = list.len() < self.batch_rows;
        self.emitting = Some(if is_end { (block + 1, 0) } else { (block, row + list.len()) });
        let rows = container.select_matched(&list, spec.kind == JoinKind::RightSemi);
        if rows.is_empty() {
            return Ok(Step::Yield);
        }
        Ok(Step::Output(spec.build_batch(&list.pick(&rows), &tables.table)?))
    }
}

impl ProbeBatch {
    fn side(&self) -> ProbeSide<'_> {
        ProbeSide { batch: &self.batch, keys: &self.keys }
    }
}

impl HashJoinSpec {
    /// The batch with the columns that the filter uses loaded.
    fn load_filter_columns(&self, batch: Batch) -> Result<Batch> {
        let Some(filter) = &self.filter else { return Ok(batch) };
        let rows = batch.rows();
        let mut columns = batch.into_columns();
        for column in filter.probe_columns() {
            columns[column] = columns[column].loaded()?;
        }
        Ok(Batch::new(columns, rows))
    }

    fn pairs_output(
        &self,
        batch: &Batch,
        pairs: volley_state::hash_table::Pairs,
        tables: &BuildTables,
    ) -> Result<Step> {
        let is_silent = matches!(self.kind, JoinKind::RightSemi | JoinKind::RightAnti);
        if pairs.rows.is_empty() || is_silent {
            return Ok(Step::Yield);
        }
        Ok(Step::Output(self.pairs_batch(batch, pairs, &tables.table)?))
    }

    /// The probe rows that the kind returns.
    fn existence_output(&self, current: ProbeBatch) -> Step {
        let ProbeBatch { batch, mut matched, unknown, .. } = current;
        let unknown = unknown.map(NullAwareProbe::into_unknown);
        if self.kind == JoinKind::LeftMark {
            let nulls = unknown.map(|it| NullBuffer::from_iter(it.iter().map(|it| !it)));
            let mark = Vector::boolean(BooleanBuffer::from(matched.as_slice()), nulls);
            let rows = (0..batch.rows() as u32).collect();
            return Step::Output(self.probe_batch(&batch, rows, Some(&mark)));
        }
        if let Some(unknown) = unknown {
            // NOT IN: neither matched nor unknown.
            matched.iter_mut().zip(unknown).for_each(|(matched, unknown)| *matched |= unknown);
        }
        let rows = rows_where(&matched, self.kind == JoinKind::LeftSemi);
        if rows.is_empty() {
            return Step::Yield;
        }
        Step::Output(self.probe_batch(&batch, rows, None))
    }

    /// Whether it counts for each probe row whether it has a match.
    pub(super) fn tracks_matches(&self) -> bool {
        !matches!(
            self.kind,
            JoinKind::Inner | JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti
        )
    }

    /// Whether this number of rows has no output.
    pub(super) fn produces_nothing(&self, build_rows: usize, probe_rows: usize) -> bool {
        let puts_out_probe = matches!(
            self.kind,
            JoinKind::Left | JoinKind::Full | JoinKind::LeftAnti | JoinKind::LeftMark
        );
        build_rows == 0 && (!puts_out_probe || probe_rows == 0)
            || probe_rows == 0 && !self.kind.emits_build_rows()
    }
}

impl Operator for HashProbe {
    fn name(&self) -> &'static str {
        "hash join probe"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        let shared = Arc::clone(&self.shared);
        let Some(tables) = shared.ready().get() else { return Ok(()) };
        let Some(spilled) = &tables.spilled else {
            self.current = Some(self.begin(input, tables)?);
            return Ok(());
        };
        if let Some(input) = shared.spec.spill_probe(&input, spilled)? {
            let gone = || Error::internal("rows for a table of a join that is gone");
            let resident = self.resident.clone().ok_or_else(gone)?;
            self.current = Some(self.begin(input, &resident)?);
        }
        Ok(())
    }

    fn finish_input(&mut self) -> Result<()> {
        self.input_done = true;
        if self.shared.spec.kind.emits_build_rows() && self.shared.end_probe() {
            self.emitting = Some((0, 0));
        }
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        let shared = Arc::clone(&self.shared);
        let Some(tables) = shared.ready().wait(cx.waker) else {
            return Ok(Step::Blocked(BlockedOn::Build));
        };
        if let Some(spilled) = &tables.spilled {
            return self.step_spilled(tables, spilled, cx.waker);
        }
        if let Some(current) = self.current.take() {
            return self.advance(current, tables);
        }
        if self.input_done {
            return self.emit_build_rows(tables);
        }
        let produces_nothing = shared.spec.produces_nothing(tables.table.len(), usize::MAX);
        Ok(if produces_nothing { Step::Finished } else { Step::NeedInput })
    }
}

/// The positions where `flags` is `value`.
fn rows_where(flags: &[bool], value: bool) -> Vec<u32> {
    let rows = flags.iter().enumerate().filter(|(_, flag)| **flag == value);
    rows.map(|(row, _)| row as u32).collect()
}
