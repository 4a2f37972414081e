//! The compiled expressions of one operator.

use crate::{
    Expr,
    compile::Compiler,
    evaluate::{Evaluator, Frame, NodeState},
    node::{Kind, Node, NodeId},
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::{EvalContext, QueryConstants, Registry};
use volley_memory::Pool;
use volley_types::Value;
use volley_vector::{Batch, Rows, Vector};

/// All filters and projections of one operator, compiled together so that common parts run once.
/// One per driver: it keeps measured conjunct orders and memoized results.
pub struct ExprSet {
    nodes: Arc<[Node]>,
    states: Vec<NodeState>,
    /// One per expression.
    roots: Arc<[NodeId]>,
    /// Kept over batches for the memory that it recycles.
    ctx: EvalContext,
    /// Charged for large results while a batch is evaluated.
    pool: Option<Pool>,
}

/// One batch being evaluated; keeps the results of common subexpressions.
pub struct Evaluation<'a> {
    nodes: &'a [Node],
    states: &'a mut [NodeState],
    roots: &'a [NodeId],
    ctx: &'a mut EvalContext,
    frame: Frame<'a>,
}

impl ExprSet {
    /// Compiles `exprs`, whose columns are positions in the batches that will come.
    ///
    /// # Errors
    ///
    /// A function that `registry` does not know; an expression that is nested too deeply.
    pub fn compile(
        exprs: &[Expr],
        registry: &Registry,
        query: Arc<QueryConstants>,
    ) -> Result<ExprSet> {
        let mut compiler = Compiler::new(registry, Arc::clone(&query));
        let roots = exprs.iter().map(|it| compiler.compile(it)).collect::<Result<Vec<_>>>()?;
        compiler.mark_shared(&roots);
        compiler.join_calls();
        Ok(ExprSet::of_nodes(compiler.nodes.into(), roots.into(), query))
    }

    fn of_nodes(nodes: Arc<[Node]>, roots: Arc<[NodeId]>, query: Arc<QueryConstants>) -> ExprSet {
        let mut states = Vec::new();
        states.resize_with(nodes.len(), NodeState::default);
        ExprSet { nodes, states, roots, ctx: EvalContext::new(query), pool: None }
    }

    /// The same expressions, without measured orders and without a reservation.
    pub fn anew(&self) -> ExprSet {
        let (nodes, roots) = (Arc::clone(&self.nodes), Arc::clone(&self.roots));
        ExprSet::of_nodes(nodes, roots, Arc::clone(&self.ctx.query))
    }

    /// The same set, which charges `pool` for large results while a batch is evaluated.
    pub fn charged_to(self, pool: &Pool) -> ExprSet {
        ExprSet { pool: Some(pool.clone()), ..self }
    }

    /// The value of an expression without columns; `None` when it is not deterministic or fails
    /// for its row (then it must fail only if a row is evaluated).
    ///
    /// # Errors
    ///
    /// As [`ExprSet::compile`].
    pub fn fold(
        expr: &Expr,
        registry: &Registry,
        query: &Arc<QueryConstants>,
    ) -> Result<Option<Value>> {
        let mut compiler = Compiler::new(registry, Arc::clone(query));
        let root = compiler.compile(expr)?;
        match &compiler.nodes[root].kind {
            Kind::Constant(vector) => vector.value(0).map(Some),
            _ => Ok(None),
        }
    }

    /// Starts on a batch.
    pub fn begin<'a>(&'a mut self, input: &'a Batch) -> Evaluation<'a> {
        self.ctx.memory = self.pool.as_ref().map(Pool::reservation);
        Evaluation {
            nodes: &self.nodes,
            states: &mut self.states,
            roots: &self.roots,
            ctx: &mut self.ctx,
            frame: Frame::of_batch(input),
        }
    }
}

impl Evaluation<'_> {
    /// The rows of `rows` for which expression `index` is true (null counts as false).
    ///
    /// A row for which some conjunct is false or null is not selected, even if another one fails.
    ///
    /// # Errors
    ///
    /// The first error of a row whose value was needed; what a lazy column's loader reports.
    pub fn select(&mut self, index: usize, rows: &Rows) -> Result<Rows> {
        self.run(index, |evaluator, frame, root| evaluator.select(frame, root, rows))
    }

    /// The values of expression `index` for `rows`; other rows are unspecified. The result has
    /// `rows.len()` rows, any encoding, possibly lazy when the expression is a column.
    ///
    /// # Errors
    ///
    /// As [`Evaluation::select`].
    pub fn evaluate(&mut self, index: usize, rows: &Rows) -> Result<Vector> {
        self.run(index, |evaluator, frame, root| evaluator.evaluate(frame, root, rows))
    }

    /// What was charged so far for large results.
    pub fn charged_bytes(&self) -> usize {
        self.ctx.charged()
    }

    /// Runs `work` on the node of expression `index`; the result, unless a row failed.
    fn run<T>(
        &mut self,
        index: usize,
        work: impl FnOnce(&mut Evaluator, &mut Frame, NodeId) -> Result<T>,
    ) -> Result<T> {
        let root = self.roots.get(index).copied();
        let root = root.ok_or_else(|| Error::internal("no such expression in the set"))?;
        let mut evaluator = Evaluator { nodes: self.nodes, states: self.states, ctx: self.ctx };
        let result = work(&mut evaluator, &mut self.frame, root);
        let errors = self.ctx.errors.take();
        let result = result?;
        match errors.first() {
            Some(error) => Err(error),
            None => Ok(result),
        }
    }
}

impl Drop for Evaluation<'_> {
    /// Releases the reserved memory.
    fn drop(&mut self) {
        self.ctx.memory = None;
    }
}
