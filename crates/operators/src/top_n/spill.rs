//! First rows that do not fit in memory.
//!
//! ```text
//! spill   what is held is cut, if there is more than the first n, and goes to a sort, which writes
//!         it as a run; the threshold stays and still drops rows
//! end     what is held goes to the sort as well: see `output`
//! ```

use super::TopN;
use volley_error::Result;
use volley_exec::Spill;
use volley_memory::check_cancelled;
use volley_state::spill::SPILL_BYTES_MIN;

impl Spill for TopN {
    fn reclaimable_bytes(&self) -> usize {
        let sort = self.output.as_ref().map_or(0, |it| it.sort.reclaimable_bytes());
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
            check_cancelled()?;
            self.advance_cut(cut)?;
        }
        if self.held.rows() == 0 && self.output.is_none() {
            return Ok(());
        }
        let output = self.transfer()?;
        if output.limit.is_reached() { Ok(()) } else { output.sort.spill() }
    }
}
