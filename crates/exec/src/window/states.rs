//! States of an aggregate, one per frame.

use crate::rows::{RowContainer, RowLayout, RowLinks, RowList};
use std::sync::Arc;
use volley_error::Result;
use volley_function::{AggregateFunction, RunningFrames};
use volley_memory::{Pool, Reservation};
use volley_vector::{Rows, Vector};

/// Some states of one aggregate.
pub(super) struct States {
    function: Arc<dyn AggregateFunction>,
    container: RowContainer,
    /// Rows with room for a state each.
    rows: RowList,
    /// The rows that have a state: the first ones.
    used: RowList,
    /// What states hold outside their rows.
    outside: Reservation,
}

impl States {
    /// No state yet.
    pub(super) fn new(function: &Arc<dyn AggregateFunction>, pool: &Pool) -> States {
        let layout = RowLayout::new(&[], &[function.state()], RowLinks::Single);
        let container = RowContainer::new(layout, pool);
        States {
            function: Arc::clone(function),
            rows: container.new_list(),
            used: container.new_list(),
            container,
            outside: pool.reservation(),
        }
    }

    /// Forgets all states; makes room for `count`.
    pub(super) fn reset(&mut self, count: usize) -> Result<()> {
        self.clear();
        if count > self.rows.len() {
            let missing = count - self.rows.len();
            self.container.append(missing, &mut self.rows)?;
        }
        Ok(())
    }

    /// Forgets all states; makes `count` of empty groups.
    pub(super) fn init(&mut self, count: usize) -> Result<()> {
        self.reset(count)?;
        self.use_more(count);
        self.function.init(&mut self.container.slots(0, &self.used));
        Ok(())
    }

    /// Adds `rows` of `args`, row `i` to the state `targets[i]`.
    pub(super) fn add(&mut self, targets: &[u32], args: &[Vector], rows: &Rows) -> Result<()> {
        let list = self.used.pick(targets);
        self.function.add(&mut self.container.slots(0, &list), args, rows)
    }

    /// Adds `rows` of `args` to the only state.
    pub(super) fn add_to_one(&mut self, args: &[Vector], rows: &Rows) -> Result<()> {
        self.function.add_to_one(&mut self.container.slots(0, &self.used), args, rows)
    }

    /// Merges row `i` of `intermediate` into the state `targets[i]`.
    pub(super) fn merge(&mut self, targets: &[u32], intermediate: &Vector) -> Result<()> {
        let (list, rows) = (self.used.pick(targets), Rows::all(targets.len()));
        self.function.merge(&mut self.container.slots(0, &list), intermediate, &rows)
    }

    /// Runs the only state through frames, and appends a copy for each to `results`, which has room
    /// for them; see [`AggregateFunction::add_frames`].
    pub(super) fn add_frames(
        &mut self,
        args: &[Vector],
        rows: &Rows,
        frames: RunningFrames<'_>,
        results: &mut States,
    ) -> Result<bool> {
        let slots = &mut self.container.slots(0, &self.used);
        let start = results.used.len() as u32;
        let positions: Vec<u32> = (start..start + frames.ranges.starts.len() as u32).collect();
        let list = results.rows.pick(&positions);
        let copies = &mut results.container.slots(0, &list);
        if !self.function.add_frames(slots, args, rows, frames, copies)? {
            return Ok(false);
        }
        results.used.append(&list);
        results.charge_outside()?;
        Ok(true)
    }

    /// The results; states are forgotten.
    pub(super) fn results(&mut self) -> Result<Vector> {
        self.charge_outside()?;
        let results = self.function.extract(&mut self.container.slots(0, &self.used));
        self.clear();
        results
    }

    /// The intermediate results; states are forgotten.
    pub(super) fn intermediate(&mut self) -> Result<Vector> {
        let results = self.function.extract_intermediate(&mut self.container.slots(0, &self.used));
        self.clear();
        results
    }

    fn use_more(&mut self, count: usize) {
        let start = self.used.len() as u32;
        let positions: Vec<u32> = (start..start + count as u32).collect();
        self.used.append(&self.rows.pick(&positions));
    }

    fn charge_outside(&mut self) -> Result<()> {
        if !self.function.state().needs_drop {
            return Ok(());
        }
        let bytes = self.function.outside_bytes(&mut self.container.slots(0, &self.used));
        self.outside.resize(bytes)
    }

    fn clear(&mut self) {
        if self.function.state().needs_drop && !self.used.is_empty() {
            self.function.drop_states(&mut self.container.slots(0, &self.used));
        }
        self.used.clear();
        self.outside.clear();
    }
}

impl Drop for States {
    fn drop(&mut self) {
        self.clear();
    }
}
