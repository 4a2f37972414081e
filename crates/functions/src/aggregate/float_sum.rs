//! The sum and the average of floats.

use super::{
    average::partial_type,
    typed::{TypedAggregate, arg, field_of, native_column, native_of, row_column},
};
use volley_error::Result;
use volley_function::simple::Source;
use volley_kernels::arithmetic::sum_of_doubles;
use volley_memory::TypedSlots;
use volley_types::Type;
use volley_vector::Vector;

/// A sum and the number of values in it.
#[derive(Clone, Copy, Default)]
pub(super) struct FloatTotal {
    sum: f64,
    count: u64,
}

impl FloatTotal {
    #[inline(always)]
    fn add(&mut self, sum: f64, count: u64) {
        self.sum += sum;
        self.count += count;
    }
}

/// `sum` or `avg` of DOUBLE. The last digits depend on the order of additions: rows of a flat batch
/// that all go to one group are added up in several sums next to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Floats {
    Sum,
    Average,
}

impl TypedAggregate for Floats {
    type State = FloatTotal;
    type Input<'a> = &'a [f64];
    /// The sums and, for an average, the numbers of values.
    type Partial<'a> = (&'a [f64], Option<&'a [i64]>);

    fn empty(&self) -> FloatTotal {
        FloatTotal::default()
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<&'a [f64]> {
        native_of(arg(args, 0)?)
    }

    #[inline(always)]
    fn add(&self, state: &mut FloatTotal, input: &&[f64], _row: usize, index: usize) -> Result<()> {
        state.add(input[index], 1);
        Ok(())
    }

    fn add_all(&self, state: &mut FloatTotal, input: &&[f64], len: usize) -> Result<()> {
        let sum = sum_of_doubles(&input[..len]);
        if sum.is_finite() {
            state.add(sum, len as u64);
        } else {
            // Of several sums, one may overflow where the sum in order does not.
            input[..len].iter().for_each(|value| state.add(*value, 1));
        }
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Self::Partial<'a>> {
        match self {
            Floats::Sum => Ok((native_of(arg(partial, 0)?)?, None)),
            Floats::Average => Ok((field_of(partial, 0)?, Some(field_of(partial, 1)?))),
        }
    }

    #[inline(always)]
    fn merge(
        &self,
        state: &mut FloatTotal,
        (sums, counts): &Self::Partial<'_>,
        index: usize,
    ) -> Result<()> {
        state.add(sums[index], counts.map_or(1, |it| it[index] as u64));
        Ok(())
    }

    fn lift(&self, args: &[Vector], _rows: usize) -> Result<Option<Vector>> {
        let is_sum = *self == Floats::Sum;
        Ok(args.first().filter(|it| is_sum && *it.data_type() == Type::Double).cloned())
    }

    fn partial(&self, states: &mut TypedSlots<'_, FloatTotal>) -> Result<Vector> {
        if *self == Floats::Sum {
            return self.result(states);
        }
        let sums = native_column(Type::Double, states, |state| Some(state.sum));
        let counts = native_column(Type::BigInt, states, |state| Some(state.count as i64));
        Ok(row_column(&partial_type(Type::Double), vec![sums, counts], states.len()))
    }

    fn result(&self, states: &mut TypedSlots<'_, FloatTotal>) -> Result<Vector> {
        let result = |state: &FloatTotal| match self {
            Floats::Sum => state.sum,
            Floats::Average => state.sum / state.count as f64,
        };
        let result = |state: &FloatTotal| (state.count > 0).then(|| result(state));
        Ok(native_column(Type::Double, states, result))
    }
}
