//! SWITCH, COALESCE, TRY and IS NULL.

use super::{Evaluator, Frame, boolean_vector};
use crate::{
    merge::{merge, nulls_of, with_null_rows},
    node::{Node, NodeId},
};
use volley_error::Result;
use volley_vector::{Encoding, Rows, Vector};

impl Evaluator<'_> {
    /// Each condition runs on the rows that no earlier one took, each branch on the rows that its
    /// condition took.
    pub(super) fn switch(
        &mut self,
        frame: &mut Frame,
        node: &Node,
        args: &[NodeId],
        rows: &Rows,
    ) -> Result<Vector> {
        let mut rest = rows.clone();
        let mut parts = Vec::new();
        let (branches, default) = args.as_chunks::<2>();
        for &[condition, branch] in branches {
            if rest.is_empty() {
                break;
            }
            let before = self.ctx.errors.len();
            let taken = self.select(frame, condition, &rest)?;
            rest.subtract(&taken);
            if let Some(failed) = self.failed_since(before, rows.len()) {
                rest.subtract(&failed);
            }
            if !taken.is_empty() {
                let value = self.evaluate(frame, branch, &taken)?;
                parts.push((taken, value));
            }
        }
        if let (Some(&default), false) = (default.first(), rest.is_empty()) {
            let value = self.evaluate(frame, default, &rest)?;
            parts.push((rest, value));
        }
        merge(&node.data_type, frame.len, parts, &mut self.ctx.recycler)
    }

    /// Each argument runs on the rows that are null so far.
    pub(super) fn coalesce(
        &mut self,
        frame: &mut Frame,
        node: &Node,
        args: &[NodeId],
        rows: &Rows,
    ) -> Result<Vector> {
        let mut rest = rows.clone();
        let mut parts = Vec::new();
        for &arg in args {
            if rest.is_empty() {
                break;
            }
            let (value, valid) = self.evaluate_valid(frame, arg, &rest)?;
            let value = value.into_loaded()?;
            let mut found = valid.into_owned();
            let mut null_rows = found.clone();
            if let Some(nulls) = nulls_of(&value)? {
                found.subtract_nulls(&nulls);
            }
            null_rows.subtract(&found);
            parts.push((found, value));
            rest = null_rows;
        }
        if !rest.is_empty() {
            parts.push((rest, Vector::nulls(node.data_type.clone(), frame.len)));
        }
        merge(&node.data_type, frame.len, parts, &mut self.ctx.recycler)
    }

    /// Rows that fail become null.
    pub(super) fn attempt(
        &mut self,
        frame: &mut Frame,
        input: NodeId,
        rows: &Rows,
    ) -> Result<Vector> {
        let before = self.ctx.errors.take();
        let discarded = std::mem::replace(&mut self.ctx.errors_discarded, true);
        let result = self.evaluate(frame, input, rows);
        self.ctx.errors_discarded = discarded;
        let errors = std::mem::replace(&mut self.ctx.errors, before);
        if errors.is_empty() {
            return result;
        }
        with_null_rows(&result?, &Rows::from_indices(rows.len(), errors.rows()))
    }

    /// Reads the null bitmap.
    pub(super) fn is_null(
        &mut self,
        frame: &mut Frame,
        input: NodeId,
        rows: &Rows,
    ) -> Result<Vector> {
        let value = self.evaluate(frame, input, rows)?.into_loaded()?;
        if let Encoding::Constant(base) = value.encoding() {
            let one = Rows::all(base.len());
            let mut valid = one.clone();
            if let Some(nulls) = nulls_of(base)? {
                valid.subtract_nulls(&nulls);
            }
            let mut null_rows = one;
            null_rows.subtract(&valid);
            let base = boolean_vector(&null_rows, &Rows::none(base.len()));
            return Ok(Vector::repeat(base, frame.len));
        }
        let bits = match nulls_of(&value)? {
            Some(nulls) => !nulls.inner(),
            None => volley_vector::BooleanBuffer::new_unset(frame.len),
        };
        Ok(Vector::boolean(bits, None))
    }
}
