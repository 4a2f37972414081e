//! First rows that do not fit in memory.
//!
//! ```text
//! spill   what is held is cut, if there is more than the first n, and goes to a sort, which writes
//!         it as a run; the threshold stays and still drops rows
//! end     what is held then goes to the sort as well, which merges; rows behind the n-th are left
//! ```

use super::TopN;
use crate::{
    Operator, OperatorContext, Spill, Step, StepContext, driver::check_stopped, limit::Limit,
    order_by::OrderBy, spill::SPILL_BYTES_MIN,
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
    /// The sort that takes what does not fit.
    fn overflow(&self, cx: &OperatorContext) -> Overflow {
        // What was put out came after the rows to skip.
        let limit = match self.result {
            Some(_) => Limit::new(0, None),
            None => Limit::new(self.offset as u64, Some((self.end - self.offset) as u64)),
        };
        let sort = OrderBy::new(self.types.clone(), self.keys.clone(), cx);
        Overflow { sort, limit, input_done: false }
    }

    /// Puts out what comes from disk and from memory.
    pub(super) fn put_out_all(
        &mut self,
        mut overflow: Overflow,
        cx: &mut StepContext<'_>,
    ) -> Result<Step> {
        self.hand_over(&mut overflow)?;
        let step = overflow.step(cx)?;
        self.overflow = Some(overflow);
        Ok(step)
    }

    /// Moves what is held to the sort, which keeps the order of rows with equal keys.
    fn hand_over(&mut self, overflow: &mut Overflow) -> Result<()> {
        self.charge.clear();
        self.ahead.clear();
        self.held_rows = 0;
        self.concat_bytes = 0;
        for batch in std::mem::take(&mut self.held) {
            overflow.sort.accept(batch)?;
        }
        Ok(())
    }
}

impl Spill for TopN {
    fn reclaimable_bytes(&self) -> usize {
        let sort = self.overflow.as_ref().map_or(0, |it| it.sort.reclaimable_bytes());
        let held = self.charge.bytes() + self.ahead.bytes();
        // A cut that goes on needs what there is, and gives some of it back.
        if self.cut.is_some() || held < SPILL_BYTES_MIN { sort } else { held + sort }
    }

    fn spill(&mut self) -> Result<()> {
        if self.cut.is_none() && self.held_rows > self.end {
            self.start_cut();
        }
        while let Some(cut) = self.cut.take() {
            check_stopped()?;
            self.advance_cut(cut)?;
        }
        let mut overflow = match self.overflow.take() {
            Some(overflow) => overflow,
            None if self.held.is_empty() && self.result.is_none() => return Ok(()),
            None => self.overflow(&self.cx),
        };
        if let Some((rows, position)) = self.result.take() {
            let rest = rows.rows() - position;
            self.held.extend((rest > 0).then(|| rows.slice(position, rest)));
        }
        self.hand_over(&mut overflow)?;
        overflow.sort.spill()?;
        self.overflow = Some(overflow);
        Ok(())
    }
}
