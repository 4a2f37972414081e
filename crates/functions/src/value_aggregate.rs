//! Aggregates over values of any type, whose inputs and states are [`Value`]s.
//!
//! ```text
//! columns ── ValueRow ──> add ──> State ── partial ──> intermediate column ── merge ──> State
//!                                 State ── result ──> column
//! ```
//!
//! For functions whose work per value outweighs creating a scalar: maps, sets, choices. Functions
//! of numbers alone are [`SimpleAggregate`](volley_function::aggregate::simple::SimpleAggregate)s.

mod compact_map;
mod map;
mod reader;
mod row;
mod top;
#[cfg(test)]
mod tests;

pub use crate::{
    aggregate::{
        Number, bind_arg_min_max, bind_most_frequent, bind_percentile, bind_top_by,
        estimate_registers, hash_bytes, mix, value_bytes, weights_overflow,
    },
    order::{SqlOrder, compare_values},
};
pub(crate) use compact_map::CompactMap;
pub use map::{Keys, ValueMap};
pub use row::{ValueRow, row_value};
pub use top::{Choice, Top};

use reader::Reader;
use volley_error::Result;
use volley_function::{
    BoundAggregate,
    aggregate::typed::{self, TypedAggregate, arg},
    simple::Source,
};
use volley_memory::TypedSlots;
use volley_types::{Type, Value};
use volley_vector::{Decoded, Vector};

/// An aggregate over values. Errors of any method fail the query.
pub trait ValueAggregate: Send + Sync + 'static {
    /// What is kept per group. The default is the state of an empty group, and holds no memory
    /// outside the row.
    type State: Clone + Default + Send + 'static;
    /// For each argument, whether rows where it is null do not count; those left out count.
    const IGNORES_NULLS: &'static [bool] = &[true];

    /// Adds a row.
    fn add(&self, state: &mut Self::State, row: ValueRow<'_>) -> Result<()>;

    /// Adds what another state holds, which is not null.
    fn merge(&self, state: &mut Self::State, partial: &Value) -> Result<()>;

    /// What the state holds, of the intermediate type; null when there is nothing to merge.
    fn partial(&self, state: &Self::State) -> Result<Value>;

    /// The result.
    fn result(&self, state: &Self::State) -> Result<Value>;

    /// Bytes that the state holds outside the row, which the query is charged with.
    fn external_state_bytes(&self, _state: &Self::State) -> usize {
        0
    }
}

/// The binding of an aggregate over values to types.
pub fn bound<A: ValueAggregate>(
    args: Vec<Type>,
    partial: Type,
    result: Type,
    aggregate: A,
) -> BoundAggregate {
    let types = (partial.clone(), result.clone());
    typed::bound(args, partial, result, Adapter { aggregate, types })
}

/// An aggregate with the types of its intermediate values and results.
struct Adapter<A> {
    aggregate: A,
    types: (Type, Type),
}

impl<A: ValueAggregate> Adapter<A> {
    fn column(
        states: &mut TypedSlots<'_, A::State>,
        data_type: &Type,
        value: impl Fn(&A::State) -> Result<Value>,
    ) -> Result<Vector> {
        let values = (0..states.len()).map(|slot| value(states.get(slot)));
        Ok(Vector::from_values(data_type.clone(), &values.collect::<Result<Vec<_>>>()?))
    }
}

impl<A: ValueAggregate> TypedAggregate for Adapter<A> {
    type State = A::State;
    type Input<'a> = Vec<&'a Decoded<'a>>;
    type Partial<'a> = Reader;
    const IGNORES_NULLS: &'static [bool] = A::IGNORES_NULLS;

    fn empty(&self) -> A::State {
        A::State::default()
    }

    fn decode_partial(column: &Vector) -> Result<Vec<Source<'_>>> {
        Ok(vec![Source::new(column)?])
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<Self::Input<'a>> {
        Ok(args.iter().map(Source::decoded).collect())
    }

    fn add(
        &self,
        state: &mut A::State,
        input: &Self::Input<'_>,
        row: usize,
        _index: usize,
    ) -> Result<()> {
        self.aggregate.add(state, ValueRow::new(input, row))
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Reader> {
        Reader::new(arg(partial, 0)?)
    }

    fn merge(&self, state: &mut A::State, partial: &Reader, index: usize) -> Result<()> {
        self.aggregate.merge(state, &partial.at(index))
    }

    fn partial(&self, states: &mut TypedSlots<'_, A::State>) -> Result<Vector> {
        Self::column(states, &self.types.0, |state| self.aggregate.partial(state))
    }

    fn result(&self, states: &mut TypedSlots<'_, A::State>) -> Result<Vector> {
        Self::column(states, &self.types.1, |state| self.aggregate.result(state))
    }

    fn external_state_bytes(&self, state: &A::State) -> usize {
        self.aggregate.external_state_bytes(state)
    }
}

/// The elements of an array or the fields of a row; empty of other values.
pub fn elements(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) | Value::Row(values) => values,
        _ => &[],
    }
}

/// The entries of a map; empty of other values.
pub fn entries(value: &Value) -> &[(Value, Value)] {
    match value {
        Value::Map(entries) => entries,
        _ => &[],
    }
}
