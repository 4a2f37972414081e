//! First rows that do not fit in memory.
//!
//! ```text
//! spill   what is held is cut, if there is more than the first n, and goes to a sort, which writes
//!         it as a run; the threshold stays and still drops rows
//! end     what is held goes to the sort as well, which puts out all; rows behind the n-th are left
//! ```

use super::TopN;
use crate::{
    Operator, Spill, Step, StepContext, driver::check_stopped, limit::Limit, order_by::OrderBy,
    sort::SortShape, spill::SPILL_BYTES_MIN,
};
use volley_error::Result;

/// Sorts all rows that may be among the first, and puts these out.
pub(super) struct Overflow {
    sort: OrderBy,
    limit: Limit,
    input_done: bool,
}

impl Overflow {
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
        self.limit.accept(batch)?;
        Ok(match self.limit.step(cx)? {
            Step::NeedInput => Step::Yield,
            step => step,
        })
    }
}

impl TopN {
    /// Puts out what is held and what is on disk.
    pub(super) fn put_out(&mut self, cx: &mut StepContext<'_>) -> Result<Step> {
        self.hand_over()?.step(cx)
    }

    /// Moves what is held to the sort, which keeps the order of rows with equal keys.
    fn hand_over(&mut self) -> Result<&mut Overflow> {
        let overflow = self.overflow.get_or_insert_with(|| {
            let limit = Limit::new(self.offset as u64, Some((self.end - self.offset) as u64));
            let SortShape { types, keys } = self.held.shape();
            let sort = OrderBy::new(types.to_vec(), keys.to_vec(), &self.cx);
            Overflow { sort, limit, input_done: false }
        });
        if self.held.rows() > 0 {
            overflow.sort.accept_all(self.held.take())?;
        }
        Ok(overflow)
    }
}

impl Spill for TopN {
    fn reclaimable_bytes(&self) -> usize {
        let sort = self.overflow.as_ref().map_or(0, |it| it.sort.reclaimable_bytes());
        let held = self.held.bytes();
        // A cut that goes on needs what there is, and gives some of it back.
        if self.cut.is_some() || held < SPILL_BYTES_MIN { sort } else { held + sort }
    }

    fn spills_alongside(&self) -> bool {
        !self.input_done
    }

    fn spill(&mut self) -> Result<()> {
        if self.cut.is_none() && self.held.rows() > self.end {
            self.start_cut()?;
        }
        while let Some(cut) = self.cut.take() {
            check_stopped()?;
            self.advance_cut(cut)?;
        }
        if self.held.rows() == 0 && self.overflow.is_none() {
            return Ok(());
        }
        let overflow = self.hand_over()?;
        if overflow.limit.is_reached() { Ok(()) } else { overflow.sort.spill() }
    }
}
