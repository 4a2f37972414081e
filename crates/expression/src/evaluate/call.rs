//! Calls of functions.

use super::{Evaluator, First, Frame};
use crate::{
    marks::{Mark, hit},
    merge::{nulls_of, with_null_rows},
    node::{Call, Callee, NodeId},
};
use std::borrow::Cow;
use volley_error::{Error, Result};
use volley_function::BadParts;
use volley_vector::{Encoding, Rows, Vector};

/// Smaller results are not charged.
const CHARGED_BYTES: usize = 1 << 20;

impl Evaluator<'_> {
    /// Evaluates a call whose first argument is not evaluated yet.
    pub(super) fn call_from_arguments(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        call: &Call,
        rows: &Rows,
    ) -> Result<Vector> {
        let errors_before = self.ctx.errors.len();
        let first = match call.args.first() {
            Some(first) => {
                Some(First { value: self.evaluate(frame, *first, rows)?, errors_before })
            }
            None => None,
        };
        self.call(frame, node, call, first, rows)
    }

    /// Calls a function; `first` is its first argument, evaluated already.
    pub(super) fn call(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        call: &Call,
        first: Option<First>,
        rows: &Rows,
    ) -> Result<Vector> {
        let mut args = Vec::with_capacity(call.args.len());
        let mut active = Cow::Borrowed(rows);
        let mut null_rows = None;
        let mut first = first;
        for (position, &arg) in call.args.iter().enumerate() {
            let (vector, failed) = match first.take() {
                Some(first) => (first.value, self.failed_since(first.errors_before, rows.len())),
                None => self.evaluate_with_failed(frame, arg, &active)?,
            };
            let vector = vector.into_loaded()?;
            if let Some(failed) = failed {
                active.to_mut().subtract(&failed);
            }
            if call.traits.propagates_nulls
                && position < call.values
                && let Some(nulls) = nulls_of(&vector)?
            {
                let before = active.clone().into_owned();
                active.to_mut().subtract_nulls(&nulls);
                note_null_rows(&mut null_rows, before, &active);
            }
            args.push(vector);
            if active.is_empty() && !call.args.is_empty() {
                return Ok(Vector::nulls(self.nodes[node].data_type.clone(), frame.len));
            }
        }
        let result = self.invoke(node, call, &args, &active)?;
        if result.len() != frame.len {
            return Err(Error::internal("function result of another length than its batch"));
        }
        match null_rows {
            Some(null_rows) => with_null_rows(&result, &null_rows),
            None => Ok(result),
        }
    }

    fn invoke(
        &mut self,
        node: NodeId,
        call: &Call,
        args: &[Vector],
        rows: &Rows,
    ) -> Result<Vector> {
        if rows.len() > 1
            && self.nodes[node].deterministic
            && !args.is_empty()
            && let Some(one_row) = constant_bases(args)
        {
            return self.invoke_constant(node, call, &one_row, rows);
        }
        if args.iter().all(|it| it.is_constant() || it.flat_values().is_some()) {
            hit(Mark::FlatWithoutNulls);
        }
        if !call.null_on_error {
            return self.charged(node, call, args, rows);
        }
        let before = self.ctx.errors.take();
        let discarded = std::mem::replace(&mut self.ctx.errors_discarded, true);
        let bad_parts = std::mem::replace(&mut self.ctx.bad_parts, BadParts::Null);
        let result = self.charged(node, call, args, rows);
        self.ctx.errors_discarded = discarded;
        self.ctx.bad_parts = bad_parts;
        let errors = std::mem::replace(&mut self.ctx.errors, before);
        with_null_rows(&result?, &Rows::from_indices(rows.len(), errors.rows()))
    }

    /// Calls the function and charges what its result holds beyond the arguments, in place of what
    /// the function charged on the way.
    fn charged(
        &mut self,
        node: NodeId,
        call: &Call,
        args: &[Vector],
        rows: &Rows,
    ) -> Result<Vector> {
        let (before, errors_before) = (self.ctx.charged(), self.ctx.errors.len());
        let nodes = self.nodes;
        let (data_type, place) = (&nodes[node].data_type, nodes[node].place);
        let result = match &call.function {
            Callee::Scalar(function) => function.evaluate(rows, args, data_type, self.ctx),
            Callee::HigherOrder(function, lambdas) => {
                let (values, captures) = args.split_at(call.values);
                self.with_lambdas(node, lambdas, captures, call.values, |lambdas, ctx| {
                    function.evaluate(rows, values, lambdas, data_type, ctx)
                })
            }
        };
        self.ctx.errors.map_from(errors_before, |it| place.locate(it));
        let result = result.map_err(|it| place.locate(it))?;
        let bytes = self.ctx.bytes_made(&result, args, CHARGED_BYTES);
        self.ctx.settle(before, bytes)?;
        Ok(result)
    }

    /// All arguments are constant: one row is enough.
    fn invoke_constant(
        &mut self,
        node: NodeId,
        call: &Call,
        args: &[Vector],
        rows: &Rows,
    ) -> Result<Vector> {
        let before = self.ctx.errors.take();
        let result = self.invoke(node, call, args, &Rows::all(1));
        let errors = std::mem::replace(&mut self.ctx.errors, before);
        if let Some((_, error)) = errors.iter().next() {
            rows.for_each(|row| self.ctx.errors.add(row, error.cloned()));
        }
        Ok(Vector::repeat(result?, rows.len()))
    }
}

fn note_null_rows(null_rows: &mut Option<Rows>, mut before: Rows, active: &Rows) {
    before.subtract(active);
    if before.is_empty() {
        return;
    }
    match null_rows {
        Some(null_rows) => null_rows.union(&before),
        None => *null_rows = Some(before),
    }
}

/// The single rows of constant vectors, when all are.
fn constant_bases(args: &[Vector]) -> Option<Vec<Vector>> {
    args.iter()
        .map(|it| match it.encoding() {
            Encoding::Constant(base) => Some(base.as_ref().clone()),
            _ => None,
        })
        .collect()
}
