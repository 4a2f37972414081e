//! Aggregates outside of plans: the states of some groups, in their own memory.

use super::AggregateFunction;
use std::sync::Arc;
use volley_error::Result;
use volley_memory::FieldRows;
use volley_vector::{Rows, Vector};

/// A state for each of some groups.
pub struct Groups {
    function: Arc<dyn AggregateFunction>,
    states: FieldRows,
    count: usize,
}

impl Groups {
    /// The states of `count` empty groups.
    pub fn new(function: Arc<dyn AggregateFunction>, count: usize) -> Groups {
        let layout = function.state();
        let init = |slots: &mut volley_memory::Slots<'_>| function.init(slots);
        let states = FieldRows::new(count, layout.bytes, layout.type_id, init);
        Groups { function, states, count }
    }

    /// Adds all rows of `args`: row `i` to the group `groups[i]`.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::add`].
    pub fn add(&mut self, groups: &[u32], args: &[Vector]) -> Result<()> {
        let mut slots = self.states.slots(groups.iter().map(|it| *it as usize));
        self.function.add(&mut slots, args, &Rows::all(groups.len()))
    }

    /// Bytes that the states take.
    pub fn bytes(&mut self) -> usize {
        let layout = self.function.state();
        let mut slots = self.states.slots(0..self.count);
        let outside =
            if layout.needs_drop { self.function.external_state_bytes(&mut slots) } else { 0 };
        outside + layout.bytes * self.count
    }

    /// The results, one row per group.
    ///
    /// # Errors
    ///
    /// As [`AggregateFunction::extract`].
    pub fn results(mut self) -> Result<Vector> {
        self.function.extract(&mut self.states.slots(0..self.count))
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        if self.function.state().needs_drop {
            self.function.drop_states(&mut self.states.slots(0..self.count));
        }
    }
}
