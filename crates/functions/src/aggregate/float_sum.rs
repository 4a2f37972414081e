//! The sum of floats.

use super::form::{Form, arg, native_column, native_of};
use volley_error::Result;
use volley_memory::TypedSlots;
use volley_types::Type;
use volley_vector::{Decoded, Vector};

/// `sum` of DOUBLE.
pub(super) struct FloatSum;

/// A sum and the number of values in it.
#[derive(Clone, Copy, Default)]
pub(super) struct FloatTotal {
    pub(super) sum: f64,
    pub(super) count: u64,
}

impl FloatTotal {
    #[inline(always)]
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.count += 1;
    }

    pub(super) fn add_slice(&mut self, values: &[f64]) {
        // In the order of the rows: the result does not depend on how batches are cut.
        let sum = values.iter().fold(self.sum, |sum, value| sum + value);
        *self = FloatTotal { sum, count: self.count + values.len() as u64 };
    }
}

impl Form for FloatSum {
    type State = FloatTotal;
    type Input<'a> = &'a [f64];
    type Partial<'a> = &'a [f64];

    fn empty(&self) -> FloatTotal {
        FloatTotal::default()
    }

    fn open<'a>(&self, args: &'a [Decoded<'a>]) -> Result<&'a [f64]> {
        native_of(arg(args, 0)?)
    }

    #[inline(always)]
    fn add(&self, state: &mut FloatTotal, input: &&[f64], _row: usize, index: usize) {
        state.add(input[index]);
    }

    fn add_all(&self, state: &mut FloatTotal, input: &&[f64], len: usize) {
        state.add_slice(&input[..len]);
    }

    fn open_partial<'a>(&self, partial: &'a Decoded<'a>) -> Result<&'a [f64]> {
        native_of(partial)
    }

    #[inline(always)]
    fn merge(&self, state: &mut FloatTotal, partial: &&[f64], index: usize) {
        state.add(partial[index]);
    }

    fn partial(&self, states: &mut TypedSlots<'_, FloatTotal>) -> Result<Vector> {
        self.result(states)
    }

    fn result(&self, states: &mut TypedSlots<'_, FloatTotal>) -> Result<Vector> {
        Ok(native_column(Type::Double, states, |state| (state.count > 0).then_some(state.sum)))
    }
}
