//! Iterations of few rows whose step only filters and computes: they run without lowering.
//!
//! An iteration that is lowered takes several microseconds for pipelines, chains and their metrics,
//! much more than it takes to compute a few rows.

use super::{Generation, Recursion};
use std::task::{Poll, Waker};
use volley_error::Result;
use volley_exec::OperatorContext;
use volley_expression::{Expr, ExprSet};
use volley_plan::{PlanNode, RecursiveUnionNode};
use volley_state::queue::QueueReader;
use volley_vector::{Batch, Rows};

/// The counter of iterations that ran without lowering.
pub(super) const DIRECT_ITERATIONS: &str = "direct iterations";

/// Iterations over more rows are lowered: then computing takes longer than that.
const ROWS_MAX: usize = 1024;

/// A step that is a projection, with or without a filter below it, over the rows that came last.
#[derive(Clone, Debug)]
pub(super) struct DirectStep {
    /// What rows must satisfy.
    predicate: Option<Expr>,
    exprs: Vec<Expr>,
}

/// A compiled step.
pub(crate) struct DirectRun {
    /// The predicate, if there is one, then one expression per column.
    exprs: ExprSet,
    has_predicate: bool,
    columns: usize,
}

impl DirectStep {
    /// The step of a recursion, if it is of this form. Rows of UNION are looked up by writers, and
    /// rows with keys replace others.
    pub fn of(node: &RecursiveUnionNode) -> Option<DirectStep> {
        let PlanNode::Project(project) = &*node.step else { return None };
        let (predicate, input) = match &*project.input {
            PlanNode::Filter(filter) => (Some(filter.predicate.clone()), &*filter.input),
            other => (None, other),
        };
        let reads_last = matches!(input, PlanNode::WorkingTable(it) if it.id == node.id);
        let exprs = project.exprs.clone();
        let keeps_all = !node.distinct && node.keys.is_empty();
        (reads_last && keeps_all).then_some(DirectStep { predicate, exprs })
    }

    /// Compiles it.
    ///
    /// # Errors
    ///
    /// A function that the registry does not know.
    pub fn compile(&self, cx: &OperatorContext) -> Result<DirectRun> {
        let all: Vec<Expr> = self.predicate.iter().chain(&self.exprs).cloned().collect();
        Ok(DirectRun {
            exprs: cx.task.compile(&all)?.charged_to(&cx.pool),
            has_predicate: self.predicate.is_some(),
            columns: self.exprs.len(),
        })
    }
}

impl DirectRun {
    /// The rows of the iteration after `last`, whose rows are complete; `None` if it has too many,
    /// or they cannot be read at once.
    ///
    /// # Errors
    ///
    /// I/O, out of memory, an error of an expression.
    pub fn iterate(
        &mut self,
        recursion: &Recursion,
        last: &Generation,
    ) -> Result<Option<Generation>> {
        if last.rows.pushed_rows() > ROWS_MAX {
            return Ok(None);
        }
        let reader = QueueReader::new(&last.rows, 0)?;
        let next = recursion.generation(1)?;
        loop {
            // Rows that are being spilled are read by an iteration that can wait.
            let Poll::Ready(batch) = reader.poll_next(Waker::noop()) else { return Ok(None) };
            let Some(batch) = batch? else { break };
            if let Some(batch) = self.process(&batch)? {
                next.rows.push(0, batch)?;
            }
        }
        next.rows.producer_finished();
        Ok(Some(next))
    }

    /// What the step makes of a batch; `None` when no row is left.
    fn process(&mut self, batch: &Batch) -> Result<Option<Batch>> {
        let all = Rows::all(batch.rows());
        let mut evaluation = self.exprs.begin(batch);
        let rows = if self.has_predicate { evaluation.select(0, &all)? } else { all };
        if rows.is_empty() {
            return Ok(None);
        }
        let first = usize::from(self.has_predicate);
        let columns = (first..first + self.columns).map(|it| evaluation.evaluate(it, &rows));
        let made = Batch::new(columns.collect::<Result<_>>()?, batch.rows()).select(&rows);
        Ok(Some(made.loaded()?))
    }
}
