//! The build side of a hash join.

use super::{
    HashJoinSpec,
    shared::{BuildPart, CorrelatedRows, JoinShared},
    spill::PartitionWriters,
};
use crate::{
    BlockedOn, Operator, OperatorContext, OperatorMetrics, Spill, Step, StepContext,
    hash_table::{JoinRows, encode_key},
    spill::SPILL_BYTES_MIN,
};
use std::sync::Arc;
use volley_error::Result;
use volley_memory::spill::SpillSpace;
use volley_vector::{Batch, Decoded, Rows, ScalarBuffer, Vector};

/// Keeps rows, then inserts them into the shared table.
pub(super) struct HashBuild {
    shared: Arc<JoinShared>,
    /// Until the input ends.
    part: Option<BuildPart>,
    space: SpillSpace,
    metrics: Arc<OperatorMetrics>,
}

impl HashBuild {
    pub(super) fn new(shared: Arc<JoinShared>, cx: &OperatorContext) -> HashBuild {
        let (spec, pool) = (&shared.spec, &cx.pool);
        let correlated = spec.has_correlation().then(|| CorrelatedRows {
            all: JoinRows::new(&spec.correlation_table(), pool),
            nulls: JoinRows::new(&spec.correlation_table(), pool),
        });
        let rows = JoinRows::new(&spec.table(), pool);
        let part = BuildPart { rows, correlated, seen_rows: 0, has_null: false };
        let (space, metrics) = (cx.task.spill.clone(), Arc::clone(&cx.metrics));
        HashBuild { part: Some(part), space, metrics, shared }
    }
}

impl BuildPart {
    /// Writes all rows to partitions.
    pub(super) fn spill(&mut self, spec: &HashJoinSpec, writers: &PartitionWriters) -> Result<()> {
        writers.add_memory(self.rows.bytes());
        let keys = spec.build_keys.len();
        self.rows.drain(|batch| writers.write(batch, &batch.columns()[..keys]))
    }

    fn add(&mut self, spec: &HashJoinSpec, batch: &Batch) -> Result<()> {
        self.seen_rows += batch.rows();
        let mut columns = Vec::with_capacity(spec.build_keys.len() + spec.payload.len());
        for key in &spec.build_keys {
            columns.push(encode_key(batch.column(*key))?);
        }
        if let (true, Some(last)) = (spec.null_aware, columns.last()) {
            let nulls = null_rows(last)?;
            self.has_null |= !nulls.is_empty();
            if let Some(correlated) = &mut self.correlated {
                let columns = spec.with_payload(columns.clone(), batch);
                append(&mut correlated.all, &columns, &Rows::all(batch.rows()))?;
                append(&mut correlated.nulls, &columns, &nulls)?;
            }
        }
        let mut rows = Rows::all(batch.rows());
        if !spec.keeps_null_keys() {
            let keys = columns.iter().zip(&spec.nulls_equal);
            for (key, _) in keys.filter(|(_, nulls_equal)| !**nulls_equal) {
                rows.subtract(&null_rows(key)?);
            }
        }
        append(&mut self.rows, &spec.with_payload(columns, batch), &rows)
    }
}

impl HashJoinSpec {
    fn with_payload(&self, mut keys: Vec<Vector>, batch: &Batch) -> Vec<Vector> {
        keys.extend(self.payload.iter().map(|it| batch.column(*it).clone()));
        keys
    }
}

fn append(to: &mut JoinRows, columns: &[Vector], rows: &Rows) -> Result<()> {
    if rows.is_all() {
        return to.append(columns, rows.len());
    }
    let codes: ScalarBuffer<u32> = rows.to_indices().into();
    if codes.is_empty() {
        return Ok(());
    }
    let columns = Batch::new(columns.to_vec(), rows.len()).wrap(&codes);
    to.append(columns.columns(), codes.len())
}

fn null_rows(column: &Vector) -> Result<Rows> {
    let decoded = Decoded::new(column)?;
    Ok(match decoded.nulls() {
        Some(nulls) => {
            let mut rows = Rows::all(column.len());
            let mut valid = Rows::all(column.len());
            valid.subtract_nulls(&nulls);
            rows.subtract(&valid);
            rows
        }
        None => Rows::none(column.len()),
    })
}

impl Operator for HashBuild {
    fn name(&self) -> &'static str {
        "hash join build"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        match &mut self.part {
            Some(part) => part.add(&self.shared.spec, &input),
            None => Ok(()),
        }
    }

    fn finish_input(&mut self) -> Result<()> {
        match self.part.take() {
            Some(part) => self.shared.add_part(part, &self.space, &self.metrics),
            None => Ok(()),
        }
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if self.part.is_some() {
            return Ok(Step::NeedInput);
        }
        let Some(tables) = self.shared.tables().wait(cx.waker) else {
            return Ok(Step::Blocked(BlockedOn::Build));
        };
        let has_more = self.shared.insert_next(tables)?;
        Ok(if has_more { Step::Yield } else { Step::Finished })
    }

    fn as_spill(&mut self) -> Option<&mut dyn Spill> {
        if self.shared.can_spill() { Some(self) } else { None }
    }
}

impl Spill for HashBuild {
    fn reclaimable_bytes(&self) -> usize {
        let own = self.part.as_ref().map_or(0, |it| it.rows.bytes());
        let bytes = own + self.shared.ended_bytes();
        if bytes < SPILL_BYTES_MIN { 0 } else { bytes }
    }

    fn spill(&mut self) -> Result<()> {
        if let Some(part) = self.part.as_mut().filter(|it| it.rows.rows() > 0) {
            let writers = self.shared.writers(&self.space)?;
            part.spill(&self.shared.spec, &writers)?;
        }
        self.shared.spill_ended(&self.space)
    }
}
