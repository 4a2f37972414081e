//! Peeling: evaluation on the base of a dictionary instead of on its rows.
//!
//! When all columns of an expression share one array of codes (after a filter, or because there is
//! only one column), or are constant, the expression's value depends on the code alone. It is
//! evaluated once per distinct row of the bases, and the result gets the same codes.
//!
//! A dictionary from a file stays the same over many batches. The results for its base are kept,
//! and later batches evaluate only rows of the base that they meet for the first time.

use super::{Columns, Evaluator, Frame};
use crate::{
    marks::{Mark, hit},
    merge::{codes_of_runs, merge, with_nulls},
    node::NodeId,
};
use std::sync::Arc;
use volley_error::{Error, Result};
use volley_function::RowErrors;
use volley_vector::{Encoding, NullBuffer, Rows, ScalarBuffer, Vector};

/// Bases with more rows are not remembered: it would take long to get the use of it.
const MEMO_ROWS_MAX: usize = 1 << 16;

/// A base with more than this many rows per active row is not worth the space for its results,
/// unless they are remembered.
const BASE_ROWS_PER_ROW_MAX: usize = 2;

/// The same for a base that an earlier batch had, too: more batches will.
const KNOWN_BASE_ROWS_PER_ROW_MAX: usize = 8;

/// Results for the base of one dictionary, kept across batches.
#[derive(Default)]
pub(crate) struct Memo {
    /// Holds the base, so that no other one can have its address.
    base: Option<Arc<Vector>>,
    results: Option<Results>,
}

impl Memo {
    /// Whether there is nothing left to evaluate on the base.
    fn is_complete(&self) -> bool {
        self.results.as_ref().is_some_and(|it| it.done.is_all())
    }
}

/// What was computed on a base.
struct Results {
    vector: Vector,
    done: Rows,
    errors: RowErrors,
}

/// What the columns of an expression have in common.
struct Wrapping {
    codes: ScalarBuffer<u32>,
    /// Rows of the bases.
    base_len: usize,
    /// Rows that are null whatever the base has.
    nulls: Option<NullBuffer>,
    /// The columns' bases.
    columns: Vec<(usize, Arc<Vector>)>,
    /// Columns that are the same in each row: one row each.
    constants: Vec<(usize, Arc<Vector>)>,
    /// Distinguishes the frames of different wrappings.
    address: usize,
}

/// The frames on the bases of dictionaries that were met in a frame.
#[derive(Default)]
pub(super) struct PeeledFrames {
    frames: Vec<(usize, Frame<'static>)>,
}

impl Evaluator<'_> {
    /// Evaluates `node` on the bases of its columns; `None` if they share no encoding, or if it
    /// would not be faster.
    pub(super) fn peel(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        rows: &Rows,
    ) -> Result<Option<Vector>> {
        let compiled = &self.nodes[node];
        if !compiled.deterministic || compiled.columns.is_empty() || frame.len < 2 {
            return Ok(None);
        }
        let Some(wrapping) = self.wrapping(frame, node)? else {
            return Ok(None);
        };
        if wrapping.columns.is_empty() {
            return self.peel_constants(frame, node, rows, wrapping).map(Some);
        }
        let memo_base = match (&frame.columns, wrapping.columns.as_slice()) {
            (Columns::Batch(_), [(_, base)])
                if wrapping.constants.is_empty() && wrapping.base_len <= MEMO_ROWS_MAX =>
            {
                Some(Arc::clone(base))
            }
            _ => None,
        };
        if !self.is_worthwhile(node, &wrapping, memo_base.as_ref(), rows) {
            return Ok(None);
        }
        hit(Mark::Peeled);
        let mut active = rows.clone();
        if let Some(nulls) = &wrapping.nulls {
            active.subtract_nulls(nulls);
        }
        let is_known = memo_base.is_some() && self.states[node].memo.is_complete();
        let base_rows = match is_known {
            true => Rows::none(wrapping.base_len),
            false => base_rows(&wrapping, &active, self.nodes[node].infallible),
        };
        let Some(base) = memo_base else {
            let results = self.on_base(frame, node, &wrapping, base_rows)?;
            self.copy_errors(&results.errors, &wrapping, &active);
            return wrap(&results.vector, &wrapping).map(Some);
        };
        let results = self.remembered(frame, node, &wrapping, base, base_rows)?;
        self.copy_errors(&results.errors, &wrapping, &active);
        let vector = wrap(&results.vector, &wrapping)?;
        self.states[node].memo.results = Some(results);
        Ok(Some(vector))
    }

    /// The common wrapping of the node's columns. Loads lazy columns that are needed for sure.
    fn wrapping(&self, frame: &Frame, node: NodeId) -> Result<Option<Wrapping>> {
        let node = &self.nodes[node];
        let mut wrapping = Wrapping {
            codes: ScalarBuffer::from(Vec::new()),
            base_len: 1,
            nulls: None,
            columns: Vec::new(),
            constants: Vec::new(),
            address: 0,
        };
        for &column in node.columns.iter() {
            let vector = frame.column(column)?;
            if let Encoding::Lazy(lazy) = vector.encoding()
                && node.conditional
                && lazy.get().is_none()
            {
                return Ok(None);
            }
            let loaded;
            let vector = match vector.is_lazy() {
                true => {
                    loaded = vector.loaded()?;
                    &loaded
                }
                false => vector,
            };
            // Arguments run from left to right: one that fails may precede one that is null.
            let skips_nulls = node.strict && (node.infallible || node.columns.len() == 1);
            if vector.null_buffer().is_some() && !skips_nulls {
                return Ok(None);
            }
            match vector.encoding() {
                Encoding::Constant(base) => wrapping.constants.push((column, Arc::clone(base))),
                Encoding::Dictionary { codes, base } => {
                    if !wrapping.add(column, codes, base, vector.null_buffer()) {
                        return Ok(None);
                    }
                }
                Encoding::RunLength { ends, base } if node.columns.len() == 1 => {
                    let codes = ScalarBuffer::from(codes_of_runs(ends));
                    wrapping.add(column, &codes, base, None);
                    wrapping.address = ends.as_ptr() as usize;
                }
                _ => return Ok(None),
            }
        }
        Ok(Some(wrapping))
    }

    fn is_worthwhile(
        &mut self,
        node: NodeId,
        wrapping: &Wrapping,
        memo_base: Option<&Arc<Vector>>,
        rows: &Rows,
    ) -> bool {
        let memo = &mut self.states[node].memo;
        let mut base_rows_max = BASE_ROWS_PER_ROW_MAX * rows.count();
        match (memo_base, &memo.base) {
            (Some(base), Some(known)) if Arc::ptr_eq(base, known) => {
                if memo.is_complete() {
                    return true;
                }
                base_rows_max = KNOWN_BASE_ROWS_PER_ROW_MAX * rows.count();
            }
            (Some(base), _) => *memo = Memo { base: Some(Arc::clone(base)), results: None },
            (None, _) => {}
        }
        wrapping.base_len <= base_rows_max
    }

    /// All columns are constant: one row is enough.
    fn peel_constants(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        rows: &Rows,
        wrapping: Wrapping,
    ) -> Result<Vector> {
        hit(Mark::PeeledConstant);
        let results = self.on_base(frame, node, &wrapping, Rows::all(1))?;
        if let Some((_, error)) = results.errors.iter().next() {
            rows.for_each(|row| self.ctx.errors.add(row, error.cloned()));
        }
        let base = match results.vector.encoding() {
            Encoding::Constant(base) => base.as_ref().clone(),
            _ => results.vector,
        };
        Ok(Vector::repeat(base, frame.len))
    }

    /// Evaluates on the bases, with errors of its own.
    fn on_base(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        wrapping: &Wrapping,
        base_rows: Rows,
    ) -> Result<Results> {
        let mut inner = frame.peeled.take(wrapping);
        let before = self.ctx.errors.take();
        let vector = self.evaluate(&mut inner, node, &base_rows).and_then(|it| it.into_loaded());
        let errors = std::mem::replace(&mut self.ctx.errors, before);
        frame.peeled.frames.push((wrapping.address, inner));
        let vector = vector?;
        if vector.len() != wrapping.base_len {
            return Err(Error::internal("expression result of another length than its input"));
        }
        Ok(Results { vector, done: base_rows, errors })
    }

    /// Evaluates on the base only what earlier batches did not; the second batch completes it.
    fn remembered(
        &mut self,
        frame: &mut Frame,
        node: NodeId,
        wrapping: &Wrapping,
        base: Arc<Vector>,
        base_rows: Rows,
    ) -> Result<Results> {
        let memo = std::mem::take(&mut self.states[node].memo);
        let known = match (&memo.base, memo.results) {
            (Some(known), Some(results)) if Arc::ptr_eq(known, &base) => results,
            _ => {
                self.states[node].memo.base = Some(base);
                return self.on_base(frame, node, wrapping, base_rows);
            }
        };
        hit(Mark::Memoized);
        let mut missing = base_rows;
        missing.subtract(&known.done);
        self.states[node].memo.base = Some(base);
        if missing.is_empty() {
            return Ok(known);
        }
        let mut missing = Rows::all(wrapping.base_len);
        missing.subtract(&known.done);
        let new = self.on_base(frame, node, wrapping, missing)?;
        let mut results = known;
        let parts = vec![(results.done.clone(), results.vector), (new.done.clone(), new.vector)];
        let (data_type, recycler) = (&self.nodes[node].data_type, &mut self.ctx.recycler);
        results.vector = merge(data_type, wrapping.base_len, parts, recycler)?;
        results.done.union(&new.done);
        results.errors.append(new.errors, |row| row);
        Ok(results)
    }

    /// Records the errors of base rows for the active rows that have their codes.
    fn copy_errors(&mut self, errors: &RowErrors, wrapping: &Wrapping, rows: &Rows) {
        if errors.is_empty() {
            return;
        }
        let mut failed: Vec<Option<Option<&Error>>> = vec![None; wrapping.base_len];
        for (row, error) in errors.iter() {
            failed[row].get_or_insert(error);
        }
        rows.for_each(|row| {
            if let Some(error) = failed[wrapping.codes[row] as usize] {
                self.ctx.errors.add(row, error.cloned());
            }
        });
    }
}

impl Wrapping {
    /// Adds a dictionary column; false when it has other codes than the columns before.
    fn add(
        &mut self,
        column: usize,
        codes: &ScalarBuffer<u32>,
        base: &Arc<Vector>,
        nulls: Option<&NullBuffer>,
    ) -> bool {
        if self.columns.is_empty() {
            self.codes = codes.clone();
            self.base_len = base.len();
            self.address = codes.as_ptr() as usize;
        } else if self.address != codes.as_ptr() as usize || self.base_len != base.len() {
            return false;
        }
        self.nulls = NullBuffer::union(self.nulls.as_ref(), nulls);
        self.columns.push((column, Arc::clone(base)));
        true
    }
}

impl PeeledFrames {
    /// The frame of a wrapping, with all its columns; put it back after use.
    fn take(&mut self, wrapping: &Wrapping) -> Frame<'static> {
        let same = |it: &(usize, Frame)| it.0 == wrapping.address && it.1.len == wrapping.base_len;
        let mut frame = match self.frames.iter().position(same) {
            Some(position) => self.frames.swap_remove(position).1,
            None => Frame::peeled(Vec::new(), wrapping.base_len),
        };
        if let Columns::Peeled(columns) = &mut frame.columns {
            for (column, base) in &wrapping.columns {
                if !columns.iter().any(|(known, _)| known == column) {
                    columns.push((*column, base.as_ref().clone()));
                }
            }
            for (column, base) in &wrapping.constants {
                if !columns.iter().any(|(known, _)| known == column) {
                    let vector = Vector::repeat(base.as_ref().clone(), wrapping.base_len);
                    columns.push((*column, vector));
                }
            }
        }
        frame
    }
}

/// The rows of the base that active rows refer to; all of them, if evaluating too many does no
/// harm.
fn base_rows(wrapping: &Wrapping, rows: &Rows, infallible: bool) -> Rows {
    let base_len = wrapping.base_len;
    if infallible && base_len <= rows.count() {
        return Rows::all(base_len);
    }
    let mut words = vec![0u64; base_len.div_ceil(64)];
    rows.for_each(|row| {
        let code = wrapping.codes[row] as usize;
        words[code / 64] |= 1 << (code % 64);
    });
    Rows::from_words(words, base_len)
}

fn wrap(vector: &Vector, wrapping: &Wrapping) -> Result<Vector> {
    let len = wrapping.codes.len();
    if let Encoding::Constant(base) = vector.encoding() {
        let vector = Vector::repeat(base.as_ref().clone(), len);
        return match &wrapping.nulls {
            Some(nulls) => with_nulls(&vector, nulls),
            None => Ok(vector),
        };
    }
    let base = Arc::new(vector.clone());
    // The codes are those of a dictionary with a base of the same length.
    Ok(Vector::checked_dictionary(wrapping.codes.clone(), base, wrapping.nulls.clone()))
}
