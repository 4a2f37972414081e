//! States of an aggregate, one per frame.

use std::sync::Arc;
use volley_error::Result;
use volley_function::{AggregateFunction, RunningFrames};
use volley_memory::{Pool, Reservation};
use volley_state::rows::{RowContainer, RowLayout, RowLinks, RowList};
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
        self.init_more(count);
        Ok(())
    }

    /// Makes `count` more of empty groups, which there is room for.
    pub(super) fn init_more(&mut self, count: usize) {
        let start = self.used.len() as u32;
        let positions: Vec<u32> = (start..start + count as u32).collect();
        let list = self.rows.pick(&positions);
        self.function.init(&mut self.container.slots(0, &list));
        self.used.append(&list);
    }

    /// Whether there is no state.
    pub(super) fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// Whether states hold bytes outside their rows.
    pub(super) fn have_outside(&self) -> bool {
        self.function.state().needs_drop
    }

    /// The bytes that states hold outside their rows, as they were charged last.
    pub(super) fn external_state_bytes(&self) -> usize {
        self.outside.bytes()
    }

    /// Adds `rows` of `args`, row `i` to the state `targets[i]`.
    pub(super) fn add(&mut self, targets: &[u32], args: &[Vector], rows: &Rows) -> Result<()> {
        let list = self.used.pick(targets);
        self.function.add(&mut self.container.slots(0, &list), args, rows)?;
        self.charge_outside()
    }

    /// Adds `rows` of `args` to the only state.
    pub(super) fn add_to_one(&mut self, args: &[Vector], rows: &Rows) -> Result<()> {
        self.function.add_to_one(&mut self.container.slots(0, &self.used), args, rows)?;
        self.charge_outside()
    }

    /// Merges row `i` of `intermediate` into the state `targets[i]`.
    pub(super) fn merge(&mut self, targets: &[u32], intermediate: &Vector) -> Result<()> {
        let (list, rows) = (self.used.pick(targets), Rows::all(targets.len()));
        self.function.merge(&mut self.container.slots(0, &list), intermediate, &rows)?;
        self.charge_outside()
    }

    /// Runs the only state through frames, and appends a copy for each to `results`, which has room
    /// for them and is charged with what they hold; see [`AggregateFunction::add_frames`].
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
        self.charge_outside()?;
        results.charge_outside()?;
        Ok(true)
    }

    /// Charges `bytes` more, which states are going to hold outside their rows, until it is known
    /// how many they are.
    pub(super) fn charge_ahead(&mut self, bytes: usize) -> Result<()> {
        self.outside.grow(bytes)
    }

    /// The results; states are forgotten. `charge` grows by what the results take: about what the
    /// states held.
    pub(super) fn results(&mut self, charge: &mut Reservation) -> Result<Vector> {
        self.charge_outside()?;
        charge.grow(self.outside.bytes())?;
        let results = self.function.extract(&mut self.container.slots(0, &self.used));
        self.clear();
        results
    }

    /// The intermediate results; states are forgotten.
    pub(super) fn intermediate(&mut self) -> Result<Vector> {
        // For as long as both are there.
        self.outside.grow(self.outside.bytes())?;
        let results = self.function.extract_intermediate(&mut self.container.slots(0, &self.used));
        self.clear();
        results
    }

    /// Charges what states hold outside their rows.
    fn charge_outside(&mut self) -> Result<()> {
        if !self.function.state().needs_drop {
            return Ok(());
        }
        let bytes = self.function.external_state_bytes(&mut self.container.slots(0, &self.used));
        self.outside.resize(bytes)
    }

    /// Forgets all states.
    pub(super) fn clear(&mut self) {
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
