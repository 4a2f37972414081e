//! The build side of a hash join.

use super::{
    HashJoinSpec,
    build_disk::{BuildDisk, GIVEN_BACK},
    build_rows::{BuildRows, null_rows},
    reload::Reload,
    shared::{BuildContext, BuildPart, JoinShared},
};
use std::sync::Arc;
use volley_error::Result;
use volley_exec::{BlockedOn, Operator, OperatorContext, Spill, Step, StepContext};
use volley_memory::Pool;
use volley_state::{hash_table::encode_key, spill::SPILL_BYTES_MIN};
use volley_vector::{Batch, Rows, Vector};

/// Keeps rows, then inserts them into the shared table.
pub(super) struct HashBuild {
    shared: Arc<JoinShared>,
    /// Until the input ends.
    part: Option<BuildPart>,
    /// In the driver that ended last, where partitions come back from disk.
    reload: Option<Reload>,
    context: BuildContext,
}

impl HashBuild {
    pub(super) fn new(shared: Arc<JoinShared>, cx: &OperatorContext) -> HashBuild {
        let part = BuildPart::new(&shared.spec, &cx.pool);
        HashBuild { part: Some(part), reload: None, context: BuildContext::new(cx), shared }
    }
}

impl BuildPart {
    /// No rows.
    pub(super) fn new(spec: &HashJoinSpec, pool: &Pool) -> BuildPart {
        let rows = BuildRows::new(spec, pool);
        BuildPart { rows, seen_rows: 0, has_null: false, on_disk: None }
    }

    /// Writes the rows whose partitions are on disk, unless that was done.
    pub(super) fn spill(
        &mut self,
        spec: &HashJoinSpec,
        disk: &BuildDisk,
        pool: &Pool,
    ) -> Result<()> {
        let on_disk = disk.writers.on_disk();
        let before = self.on_disk.replace(on_disk);
        if before == Some(on_disk) {
            return Ok(());
        }
        let rows = std::mem::replace(&mut self.rows, BuildRows::new(spec, pool));
        disk.add_memory(rows.rows(), rows.bytes());
        rows.drain(|batch| {
            if before.is_none() {
                disk.add_keys(batch)?;
            }
            let kept = disk.write(spec, batch)?;
            kept.map_or(Ok(()), |it| self.rows.append(it.columns(), it.rows()))
        })
    }

    fn add(&mut self, spec: &HashJoinSpec, batch: &Batch, disk: Option<&BuildDisk>) -> Result<()> {
        self.seen_rows += batch.rows();
        let mut columns = Vec::with_capacity(spec.build_keys.len() + spec.payload.len());
        for key in &spec.build_keys {
            columns.push(encode_key(batch.column(*key))?);
        }
        if let (true, Some(last)) = (spec.null_aware, columns.last()) {
            self.has_null |= !null_rows(last)?.is_empty();
        }
        let mut rows = Rows::all(batch.rows());
        if !spec.keeps_null_keys() {
            let keys = columns.iter().zip(&spec.nulls_equal).take(spec.partition_keys());
            for (key, _) in keys.filter(|(_, nulls_equal)| !**nulls_equal) {
                rows.subtract(&null_rows(key)?);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        let batch = Batch::new(spec.with_payload(columns, batch), batch.rows()).select(&rows);
        // A driver that was not asked yet keeps its rows, which are noted when it is.
        match disk.filter(|_| self.on_disk.is_some()) {
            None => self.rows.append(batch.columns(), batch.rows()),
            Some(disk) => {
                let batch = batch.loaded()?;
                disk.add_keys(&batch)?;
                let kept = disk.write(spec, &batch)?;
                kept.map_or(Ok(()), |it| self.rows.append(it.columns(), it.rows()))
            }
        }
    }
}

impl HashJoinSpec {
    fn with_payload(&self, mut keys: Vec<Vector>, batch: &Batch) -> Vec<Vector> {
        keys.extend(self.payload.iter().map(|it| batch.column(*it).clone()));
        keys
    }
}

impl Operator for HashBuild {
    fn name(&self) -> &'static str {
        "hash join build"
    }

    fn accept(&mut self, input: Batch) -> Result<()> {
        match &mut self.part {
            Some(part) => part.add(&self.shared.spec, &input, self.shared.disk()),
            None => Ok(()),
        }
    }

    fn finish_input(&mut self) -> Result<()> {
        if let Some(part) = self.part.take() {
            self.reload = self.shared.publish(vec![part], &self.context)?;
        }
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if self.part.is_some() {
            return Ok(Step::NeedInput);
        }
        if let Some(reload) = self.reload.take() {
            self.reload = self.shared.reload(reload, &self.context)?;
            return Ok(Step::Yield);
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
        let bytes = (own + self.shared.ended_bytes()) / GIVEN_BACK.1 * GIVEN_BACK.0;
        if bytes < SPILL_BYTES_MIN { 0 } else { bytes }
    }

    fn spill(&mut self) -> Result<()> {
        let mut ended = self.shared.take_ended();
        let rows: usize = self.part.iter().chain(&ended).map(|it| it.rows.rows()).sum();
        if rows > 0 {
            let disk = self.shared.make_disk(rows, &self.context);
            disk.choose(self.part.iter_mut().chain(&mut ended))?;
            for part in self.part.iter_mut().chain(&mut ended) {
                part.spill(&self.shared.spec, disk, &self.context.pool)?;
            }
        }
        if !ended.is_empty() {
            self.reload = self.shared.publish(ended, &self.context)?;
        }
        Ok(())
    }
}
