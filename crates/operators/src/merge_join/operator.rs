//! The operator: takes chunks from the cutter and joins them.

use super::{
    MergeSpec,
    chunk::ChunkJoin,
    cutter::{Cut, Cutter},
};
use crate::nested_loop_join::Condition;
use std::sync::{Arc, Mutex, PoisonError};
use volley_error::{Error, Result};
use volley_exec::{BlockedOn, Operator, OperatorContext, Step, StepContext};
use volley_vector::Batch;

/// The counter of chunks.
const CHUNKS: &str = "merge join chunks";

/// Joins chunks.
pub(super) struct MergeJoin {
    spec: Arc<MergeSpec>,
    cutter: Arc<Mutex<Cutter>>,
    filter: Option<Condition>,
    chunk: Option<ChunkJoin>,
    cx: OperatorContext,
}

impl MergeJoin {
    pub(super) fn new(
        spec: &Arc<MergeSpec>,
        cutter: &Arc<Mutex<Cutter>>,
        cx: &OperatorContext,
    ) -> Result<MergeJoin> {
        let width = spec.output.probe_types.len();
        let filter = spec.filter.as_ref().map(|it| Condition::compile(it, width, cx));
        Ok(MergeJoin {
            spec: Arc::clone(spec),
            cutter: Arc::clone(cutter),
            filter: filter.transpose()?,
            chunk: None,
            cx: cx.clone(),
        })
    }
}

impl Operator for MergeJoin {
    fn name(&self) -> &'static str {
        "merge join"
    }

    fn accept(&mut self, _input: Batch) -> Result<()> {
        Err(Error::internal("input of a source"))
    }

    fn finish_input(&mut self) -> Result<()> {
        Ok(())
    }

    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if let Some(chunk) = &mut self.chunk {
            match chunk.step(self.filter.as_mut())? {
                Step::Finished => self.chunk = None,
                other => return Ok(other),
            }
            return Ok(Step::Yield);
        }
        let cut = self.cutter.lock().unwrap_or_else(PoisonError::into_inner).cut(cx.waker)?;
        let chunk = match cut {
            Cut::Chunk(chunk) => chunk,
            Cut::Wait => return Ok(Step::Blocked(BlockedOn::Exchange)),
            Cut::Progress => return Ok(Step::Yield),
            Cut::End => return Ok(Step::Finished),
        };
        let metrics = &self.cx.metrics;
        metrics.add(CHUNKS, 1);
        for run in [&chunk.left, &chunk.right].into_iter().filter_map(|it| it.run()) {
            metrics.add_spilled(run.spilled());
        }
        self.chunk = Some(ChunkJoin::new(&self.spec, chunk, &self.cx)?);
        Ok(Step::Yield)
    }
}
