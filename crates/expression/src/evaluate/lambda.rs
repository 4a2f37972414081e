//! Evaluation of lambdas: bodies as nodes over batches of elements.

use super::{Evaluator, Frame, NodeState};
use crate::{
    merge::with_null_rows,
    node::{CompiledLambda, NodeId},
};
use volley_error::Result;
use volley_function::{Applied, EvalContext, Lambda};
use volley_memory::check_cancelled;
use volley_vector::{Batch, Rows, Vector};

/// Smaller results of a lambda are not charged: a byte for each element of a chunk.
const CHARGED_BYTES: usize = 1 << 14;

/// The number of rows per evaluation of a body, a multiple of bitmap words: intermediate results
/// stay small, and cancellation waits for at most this many.
const SLICE_ROWS: usize = 1 << 16;

/// A lambda of a call, for one batch of the call.
struct BoundLambda<'a> {
    compiled: &'a CompiledLambda,
    states: &'a mut Vec<NodeState>,
    /// One row per row of the call.
    captures: &'a [Vector],
}

impl Evaluator<'_> {
    /// Runs `call` with the lambdas of a node. `captures`: what they capture, which are the call's
    /// arguments from `first` on.
    pub(super) fn with_lambdas<T>(
        &mut self,
        node: NodeId,
        lambdas: &[CompiledLambda],
        captures: &[Vector],
        first: usize,
        call: impl FnOnce(&mut [&mut dyn Lambda], &mut EvalContext) -> Result<T>,
    ) -> Result<T> {
        let mut states = std::mem::take(&mut self.states[node].lambdas);
        states.resize_with(lambdas.len(), Vec::new);
        let bound = lambdas.iter().zip(&mut states).map(|(compiled, states)| {
            states.resize_with(compiled.nodes.len(), NodeState::default);
            let own = compiled.captures.start - first..compiled.captures.end - first;
            BoundLambda { compiled, states, captures: &captures[own] }
        });
        let mut bound: Vec<BoundLambda<'_>> = bound.collect();
        let mut objects: Vec<&mut dyn Lambda> = Vec::with_capacity(bound.len());
        objects.extend(bound.iter_mut().map(|it| it as &mut dyn Lambda));
        let result = call(&mut objects, self.ctx);
        self.states[node].lambdas = states;
        result
    }
}

impl Lambda for BoundLambda<'_> {
    fn evaluate(&mut self, applied: &Applied<'_>, ctx: &mut EvalContext) -> Result<Vector> {
        let len = applied.rows.len();
        if len <= SLICE_ROWS {
            return self.evaluate_slice(applied, ctx);
        }
        let charged = ctx.charged();
        let mut parts = Vec::with_capacity(len.div_ceil(SLICE_ROWS));
        for start in (0..len).step_by(SLICE_ROWS) {
            let count = SLICE_ROWS.min(len - start);
            let words = &applied.rows.words()[start / 64..(start + count).div_ceil(64)];
            let rows = Rows::from_words(words.to_vec(), count);
            let parameters = applied.parameters.iter().map(|it| it.slice(start, count));
            let parameters: Vec<Vector> = parameters.collect();
            let owners = applied.owners.slice(start, count);
            let slice = Applied { rows: &rows, parameters: &parameters, owners: &owners };
            parts.push(self.evaluate_slice(&slice, ctx)?);
        }
        // Both are there for a moment.
        ctx.charge(ctx.charged() - charged)?;
        let value = Vector::concat(&self.compiled.nodes[self.compiled.root].data_type, &parts)?;
        let bytes = ctx.bytes_made(&value, applied.parameters, CHARGED_BYTES);
        ctx.settle(charged, bytes)?;
        Ok(value)
    }
}

impl BoundLambda<'_> {
    fn evaluate_slice(&mut self, applied: &Applied<'_>, ctx: &mut EvalContext) -> Result<Vector> {
        check_cancelled()?;
        let mut composed = Vec::new();
        let captures = self.captures.iter().map(|it| it.wrap(applied.owners, &mut composed));
        let columns = captures.chain(applied.parameters.iter().cloned()).collect();
        let batch = Batch::new(columns, applied.rows.len());
        let (before, charged) = (ctx.errors.take(), ctx.charged());
        let mut evaluator =
            Evaluator { nodes: &self.compiled.nodes, states: self.states, ctx: &mut *ctx };
        let mut frame = Frame::of_batch(&batch);
        let result = evaluator.evaluate(&mut frame, self.compiled.root, applied.rows);
        let errors = std::mem::replace(&mut ctx.errors, before);
        let value = result?.into_loaded()?;
        // What the body made on the way is gone.
        let bytes = ctx.bytes_made(&value, batch.columns(), CHARGED_BYTES);
        ctx.settle(charged, bytes)?;
        if errors.is_empty() {
            return Ok(value);
        }
        let failed = Rows::from_indices(applied.rows.len(), errors.rows());
        ctx.errors.append(errors, |row| applied.owners[row] as usize);
        with_null_rows(&value, &failed)
    }
}
