//! Evaluation of compiled nodes over one batch.
//!
//! ```text
//! evaluate(node, rows):
//!     constant, column            as they are
//!     shared and done before      the batch's cache
//!     columns share a dictionary  peel: evaluate on its base, wrap the result
//!     call                        arguments from left to right, each on the rows that no argument
//!                                 before made null or failed; then the function
//!     special form                arguments on the rows that need them
//! ```
//!
//! A chain of calls through first arguments (`a + b + c + ...`) is evaluated by a loop, so that its
//! length needs no stack.
//!
//! There are two modes. *Value*: three-valued, as in SELECT. *Truth* (`select`): the rows for which
//! an expression is true. Null counts as false, so that AND drops a row at its first conjunct that
//! is not true, and errors of other conjuncts for that row do not count. Neither result depends on
//! the order in which conjuncts run.

mod blocks;
mod call;
mod conditional;
mod conjunction;
mod lambda;
mod peel;

pub(crate) use blocks::Scratch;
pub(crate) use peel::Memo;

use crate::{
    adaptive_order::AdaptiveOrder,
    marks::{Mark, hit},
    merge::{merge, truth},
    node::{Kind, Node, NodeId},
};
use std::{borrow::Cow, sync::Arc};
use volley_error::Result;
use volley_function::{EvalContext, RowErrors};
use volley_vector::{Batch, BooleanBuffer, Buffer, Rows, Vector};

/// Measurements of a node across batches.
#[derive(Default)]
pub(crate) struct NodeState {
    pub(crate) conjunction: AdaptiveOrder,
    pub(crate) memo: Memo,
    pub(crate) scratch: Scratch,
    /// Of the nodes of a call's lambdas.
    pub(crate) lambdas: Vec<Vec<NodeState>>,
}

/// The compiled set and the state of one evaluation.
pub(crate) struct Evaluator<'e> {
    pub(crate) nodes: &'e [Node],
    pub(crate) states: &'e mut [NodeState],
    pub(crate) ctx: &'e mut EvalContext,
}

/// One space of rows: the batch, or the base of a dictionary.
pub(crate) struct Frame<'b> {
    columns: Columns<'b>,
    len: usize,
    cache: Vec<Cached>,
    peeled: peel::PeeledFrames,
}

enum Columns<'b> {
    Batch(&'b Batch),
    /// Column numbers and the bases of their dictionaries.
    Peeled(Vec<(usize, Vector)>),
}

/// The first argument of a call: its value, and how many errors there were before it.
struct First {
    value: Vector,
    errors_before: usize,
}

/// The value of a shared node for some rows.
struct Cached {
    node: NodeId,
    rows: Rows,
    vector: Vector,
    errors: RowErrors,
}

impl<'b> Frame<'b> {
    /// The rows of a batch.
    pub(crate) fn of_batch(batch: &'b Batch) -> Frame<'b> {
        Frame::new(Columns::Batch(batch), batch.rows())
    }

    fn peeled(columns: Vec<(usize, Vector)>, len: usize) -> Frame<'static> {
        Frame::new(Columns::Peeled(columns), len)
    }

    fn new<'c>(columns: Columns<'c>, len: usize) -> Frame<'c> {
        Frame { columns, len, cache: Vec::new(), peeled: peel::PeeledFrames::default() }
    }

    fn column(&self, index: usize) -> Result<&Vector> {
        let column = match &self.columns {
            Columns::Batch(batch) => batch.columns().get(index),
            Columns::Peeled(columns) => {
                columns.iter().find(|(column, _)| *column == index).map(|(_, vector)| vector)
            }
        };
        let missing = || volley_error::Error::internal("expression of a column that is not there");
        column.ok_or_else(missing)
    }

    /// A column of the batch that needs no loading.
    fn present_column(&self, index: usize) -> Option<&'b Vector> {
        match &self.columns {
            Columns::Batch(batch) => batch.columns().get(index).filter(|it| !it.is_lazy()),
            Columns::Peeled(_) => None,
        }
    }
}

impl Evaluator<'_> {
    /// The values of `node` for `rows`. Rows that fail are recorded in the context.
    pub(crate) fn evaluate(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        rows: &Rows,
    ) -> Result<Vector> {
        let nodes = self.nodes;
        let errors_before = self.ctx.errors.len();
        let mut pending = Vec::new();
        let mut current = node;
        let mut value = loop {
            if let Some(value) = self.without_call(frame, current, rows)? {
                break value;
            }
            match &nodes[current].kind {
                Kind::Call(call) if !nodes[current].shared && !call.args.is_empty() => {
                    pending.push((current, call));
                    current = call.args[0];
                }
                _ => break self.evaluate_shared(frame, current, rows)?,
            }
        };
        while let Some((node, call)) = pending.pop() {
            let first = First { value, errors_before };
            value = self.call(frame, node, call, Some(first), rows)?;
        }
        Ok(value)
    }

    /// The value of a leaf, or of a node whose columns can be peeled.
    fn without_call(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        rows: &Rows,
    ) -> Result<Option<Vector>> {
        match &self.nodes[node].kind {
            Kind::Column(index) => frame.column(*index).cloned().map(Some),
            Kind::Constant(base) => Ok(Some(Vector::repeat(base.clone(), frame.len))),
            Kind::Failing(error) => {
                rows.for_each(|row| self.ctx.fail(row, || error.clone()));
                Ok(Some(Vector::nulls(self.nodes[node].data_type.clone(), frame.len)))
            }
            _ if rows.is_empty() => {
                Ok(Some(Vector::nulls(self.nodes[node].data_type.clone(), frame.len)))
            }
            _ if self.nodes[node].shared => Ok(None),
            _ => self.peel(frame, node, rows),
        }
    }

    /// Evaluates a node; when it is shared, only the rows that were not evaluated before.
    fn evaluate_shared(&mut self, frame: &mut Frame, node: NodeId, rows: &Rows) -> Result<Vector> {
        if !self.nodes[node].shared {
            return self.evaluate_form(frame, node, rows);
        }
        let known = frame.cache.iter().position(|it| it.node == node);
        let mut missing = rows.clone();
        if let Some(known) = known {
            missing.subtract(&frame.cache[known].rows);
        }
        if known.is_none() || !missing.is_empty() {
            let (vector, errors) = self.evaluate_apart(frame, node, &missing)?;
            let new = Cached { node, rows: missing, vector, errors };
            self.add_to_cache(frame, new)?;
        } else {
            hit(Mark::Reused);
        }
        let Some(cached) = frame.cache.iter().find(|it| it.node == node) else {
            return Err(volley_error::Error::internal("common subexpression was not kept"));
        };
        self.ctx.errors.copy_from(&cached.errors, rows);
        Ok(cached.vector.clone())
    }

    /// Evaluates a shared node with errors of its own, complete with messages.
    fn evaluate_apart(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        rows: &Rows,
    ) -> Result<(Vector, RowErrors)> {
        let before = self.ctx.errors.take();
        let discarded = std::mem::replace(&mut self.ctx.errors_discarded, false);
        let vector = match self.peel(frame, node, rows) {
            Ok(Some(vector)) => Ok(vector),
            Ok(None) => self.evaluate_form(frame, node, rows),
            Err(error) => Err(error),
        };
        self.ctx.errors_discarded = discarded;
        let errors = std::mem::replace(&mut self.ctx.errors, before);
        Ok((vector?, errors))
    }

    fn add_to_cache(&mut self, frame: &mut Frame, new: Cached) -> Result<()> {
        let Some(old) = frame.cache.iter_mut().find(|it| it.node == new.node) else {
            frame.cache.push(new);
            return Ok(());
        };
        let parts = vec![(old.rows.clone(), old.vector.clone()), (new.rows.clone(), new.vector)];
        let data_type = &self.nodes[new.node].data_type;
        old.vector = merge(data_type, frame.len, parts, &mut self.ctx.recycler)?;
        old.rows.union(&new.rows);
        old.errors.append(new.errors, |row| row);
        Ok(())
    }

    fn evaluate_form(&mut self, frame: &mut Frame, node: NodeId, rows: &Rows) -> Result<Vector> {
        let nodes = self.nodes;
        match &nodes[node].kind {
            Kind::Call(call) => self.call_from_arguments(frame, node, call, rows),
            Kind::Blocks(blocks) => self.blocks(frame, node, blocks, rows),
            Kind::Conjunction(conjunction) => self.conjunction(frame, node, conjunction, rows),
            Kind::Switch(args) => self.switch(frame, &nodes[node], args, rows),
            Kind::Coalesce(args) => self.coalesce(frame, &nodes[node], args, rows),
            Kind::In { input, set } => {
                let (vector, active) = self.evaluate_valid(frame, *input, rows)?;
                set.evaluate(&vector.into_loaded()?, &active)
            }
            Kind::Try(input) => self.attempt(frame, *input, rows),
            Kind::IsNull(input) => self.is_null(frame, *input, rows),
            Kind::Column(_) | Kind::Constant(_) | Kind::Failing(_) => {
                let value = self.without_call(frame, node, rows)?;
                value.ok_or_else(|| volley_error::Error::internal("leaf without a value"))
            }
        }
    }

    /// The rows of `rows` for which a BOOLEAN node is true. A row in the answer may have failed:
    /// its error is recorded in the context.
    pub(crate) fn select(&mut self, frame: &mut Frame, node: NodeId, rows: &Rows) -> Result<Rows> {
        let nodes = self.nodes;
        if rows.is_empty() {
            return Ok(rows.clone());
        }
        if let Kind::Conjunction(conjunction) = &nodes[node].kind
            && !nodes[node].shared
        {
            if let Some(selected) = self.select_on_base(frame, node, rows)? {
                return Ok(selected);
            }
            return match conjunction.decides {
                false => self.select_and(frame, node, conjunction, rows),
                true => self.select_or(frame, node, conjunction, rows),
            };
        }
        let (vector, failed) = self.evaluate_with_failed(frame, node, rows)?;
        let mut selected = truth(&vector, rows)?.0;
        if let Some(failed) = failed {
            selected.subtract(&failed);
        }
        Ok(selected)
    }

    /// [`Evaluator::select`] of an AND or OR over one dictionary: all arguments are evaluated on
    /// the base, and rows are looked up once. `None` if there is no such dictionary.
    fn select_on_base(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        rows: &Rows,
    ) -> Result<Option<Rows>> {
        let &[column] = &*self.nodes[node].columns else { return Ok(None) };
        if !self.nodes[node].deterministic {
            return Ok(None);
        }
        // Some argument needs it.
        frame.column(column)?.loaded()?;
        let before = self.ctx.errors.len();
        let Some(vector) = self.peel(frame, node, rows)? else { return Ok(None) };
        let mut selected = truth(&vector, rows)?.0;
        if let Some(failed) = self.failed_since(before, rows.len()) {
            selected.subtract(&failed);
        }
        Ok(Some(selected))
    }

    /// The values, and the rows that failed, if any did.
    fn evaluate_with_failed(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        rows: &Rows,
    ) -> Result<(Vector, Option<Rows>)> {
        if self.nodes[node].infallible {
            return Ok((self.evaluate(frame, node, rows)?, None));
        }
        let before = self.ctx.errors.len();
        let vector = self.evaluate(frame, node, rows)?;
        Ok((vector, self.failed_since(before, rows.len())))
    }

    /// The rows whose errors came after the first `before`.
    fn failed_since(&self, before: usize, len: usize) -> Option<Rows> {
        let errors = &self.ctx.errors;
        (errors.len() > before).then(|| Rows::from_indices(len, errors.rows().skip(before)))
    }

    /// The values, and the rows among `rows` that did not fail.
    fn evaluate_valid<'r>(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        rows: &'r Rows,
    ) -> Result<(Vector, Cow<'r, Rows>)> {
        let (vector, failed) = self.evaluate_with_failed(frame, node, rows)?;
        let Some(failed) = failed else {
            return Ok((vector, Cow::Borrowed(rows)));
        };
        let mut valid = rows.clone();
        valid.subtract(&failed);
        Ok((vector, Cow::Owned(valid)))
    }
}

/// A BOOLEAN vector from sets of rows.
fn boolean_vector(is_true: &Rows, nulls: &Rows) -> Vector {
    let bits = is_true.to_bits();
    if nulls.is_empty() {
        return Vector::boolean(bits, None);
    }
    let valid: Vec<u64> = nulls.words().iter().map(|it| !it).collect();
    let valid = BooleanBuffer::new(Buffer::from_vec(valid), 0, nulls.len());
    Vector::boolean(bits, Some(volley_vector::NullBuffer::new(valid)))
}

/// Column numbers of two nodes together; shares storage where one holds the other.
pub(crate) fn union_columns(left: &Arc<[usize]>, right: &Arc<[usize]>) -> Arc<[usize]> {
    let has_all =
        |outer: &[usize], inner: &[usize]| inner.iter().all(|it| outer.binary_search(it).is_ok());
    if has_all(left, right) {
        return Arc::clone(left);
    }
    if has_all(right, left) {
        return Arc::clone(right);
    }
    let mut all: Vec<usize> = left.iter().chain(right.iter()).copied().collect();
    all.sort_unstable();
    all.dedup();
    all.into()
}
