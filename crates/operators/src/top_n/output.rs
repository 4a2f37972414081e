//! What puts first rows out: a sort of what is held, and of what did not fit; rows behind the n-th
//! are left.

use super::TopN;
use crate::{limit::Limit, order_by::OrderBy};
use volley_error::Result;
use volley_exec::{Operator, Step, StepContext, Transform};
use volley_state::sort::SortShape;

/// Sorts all rows that may be among the first, and puts these out.
pub(super) struct Output {
    pub(super) sort: OrderBy,
    pub(super) limit: Limit,
    input_done: bool,
}

impl Output {
    /// The next rows, once all are there.
    fn step(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        if self.limit.is_reached() {
            return Ok(Step::Finished);
        }
        if !std::mem::replace(&mut self.input_done, true) {
            self.sort.finish_input()?;
        }
        let batch = match self.sort.step(cx)? {
            Step::Output(batch) => batch,
            step => return Ok(step),
        };
        Ok(self.limit.transform(batch)?.map_or(Step::Yield, Step::Output))
    }
}

impl TopN {
    /// Emits the rows in memory and on disk.
    pub(super) fn emit(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        self.transfer()?.step(cx)
    }

    /// Moves what is held to the sort, which keeps the order of rows with equal keys.
    pub(super) fn transfer(&mut self) -> Result<&mut Output> {
        let output = self.output.get_or_insert_with(|| {
            let limit = Limit::new(self.offset as u64, Some((self.end - self.offset) as u64));
            let SortShape { types, keys, .. } = &self.shape;
            let sort = OrderBy::new(types.to_vec(), keys.to_vec(), &self.cx);
            Output { sort, limit, input_done: false }
        });
        if self.held.rows() > 0 {
            output.sort.accept_all(self.held.take())?;
        }
        Ok(output)
    }
}
