//! Adapter from the simple interface to the full one.

use super::{Inputs, Outputs, SimpleAggregate};
use crate::{
    aggregate::typed::TypedAggregate,
    simple::{Args, NullRows, RowLoop, Source, Work},
};
use volley_error::Result;
use volley_memory::TypedSlots;
use volley_types::Type;
use volley_vector::{Indices, Rows, Values, Vector};

/// A simple aggregate with the types of its intermediate values and results.
pub(super) struct Adapter<A> {
    pub(super) aggregate: A,
    pub(super) types: (Type, Type),
}

/// The tuple of readers of markers.
type Tuple<I> = <I as Inputs>::Tuple;

impl<A: SimpleAggregate> TypedAggregate for Adapter<A> {
    type State = A::State;
    type Input<'a> = <Tuple<A::Args> as Args>::Readers<'a>;
    type Partial<'a> = <Tuple<A::Partial> as Args>::Readers<'a>;
    const IGNORES_NULLS: &'static [bool] = Tuple::<A::Args>::PROPAGATES;

    fn empty(&self) -> A::State {
        A::State::default()
    }

    fn decode(args: &[Vector]) -> Result<Vec<Source<'_>>> {
        Tuple::<A::Args>::decode(args)
    }

    fn decode_partial(column: &Vector) -> Result<Vec<Source<'_>>> {
        match column.flat_values() {
            Some(Values::Row { children, .. }) if A::Partial::IS_ROW => {
                Tuple::<A::Partial>::decode(children)
            }
            _ => Tuple::<A::Partial>::decode(std::slice::from_ref(column)),
        }
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<Self::Input<'a>> {
        Tuple::<A::Args>::open(args)
    }

    #[inline(always)]
    fn add(
        &self,
        state: &mut A::State,
        input: &Self::Input<'_>,
        row: usize,
        _index: usize,
    ) -> Result<()> {
        let values = Tuple::<A::Args>::get(input, row);
        self.aggregate.add(state, A::Args::from_tuple(values))
    }

    fn add_rows(
        &self,
        states: &mut TypedSlots<'_, A::State>,
        input: &Self::Input<'_>,
        _args: &[Source<'_>],
        rows: &Rows,
    ) -> Result<()> {
        let add =
            ForEach(|row, values| self.aggregate.add(states.get(row), A::Args::from_tuple(values)));
        Tuple::<A::Args>::run(*input, Work::exactly(rows), add)
    }

    fn add_rows_to_one(
        &self,
        state: &mut A::State,
        input: &Self::Input<'_>,
        args: &[Source<'_>],
        rows: &Rows,
    ) -> Result<()> {
        if args.iter().all(|it| matches!(it.decoded().indices(), Indices::Constant(_))) {
            let values = Tuple::<A::Args>::get(input, rows.begin());
            let values = A::Args::from_tuple(values);
            return self.aggregate.add_repeated(state, values, rows.count());
        }
        let add =
            |state: &mut A::State, values| self.aggregate.add(state, A::Args::from_tuple(values));
        Tuple::<A::Args>::run(*input, Work::exactly(rows), IntoState { state, add })
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Self::Partial<'a>> {
        Tuple::<A::Partial>::open(partial)
    }

    #[inline(always)]
    fn merge(&self, state: &mut A::State, partial: &Self::Partial<'_>, index: usize) -> Result<()> {
        let values = Tuple::<A::Partial>::get(partial, index);
        self.aggregate.merge(state, A::Partial::from_tuple(values))
    }

    fn partial(&self, states: &mut TypedSlots<'_, A::State>) -> Result<Vector> {
        let partial = |columns: &mut _, slot: usize, state: &A::State| {
            let items = self.aggregate.partial(state)?;
            Ok(items.map(|it| A::Partial::set(columns, slot, it)).is_some())
        };
        column::<A::Partial, A::State>(states, &self.types.0, partial)
    }

    fn result(&self, states: &mut TypedSlots<'_, A::State>) -> Result<Vector> {
        let result = |columns: &mut _, slot: usize, state: &A::State| {
            let items = self.aggregate.result(state)?;
            Ok(items.map(|it| A::Result::set(columns, slot, it)).is_some())
        };
        column::<A::Result, A::State>(states, &self.types.1, result)
    }

    fn external_state_bytes(&self, state: &A::State) -> usize {
        self.aggregate.external_state_bytes(state)
    }
}

/// The column of what `set` makes of each state; false is null.
fn column<O: Outputs, S>(
    states: &mut TypedSlots<'_, S>,
    data_type: &Type,
    set: impl Fn(&mut O::Columns, usize, &S) -> Result<bool>,
) -> Result<Vector> {
    let len = states.len();
    let mut columns = O::with_len(len);
    let mut nulls = NullRows::default();
    for slot in 0..len {
        if !set(&mut columns, slot, states.get(slot))? {
            nulls.add(slot, len);
        }
    }
    O::finish(columns, len, data_type, nulls.finish(len))
}

/// Something done for each row and its values.
struct ForEach<F>(F);

impl<V, F: FnMut(usize, V) -> Result<()>> RowLoop<V> for ForEach<F> {
    type Result = Result<()>;

    /// A loop for each shape of cheap arguments: what is done per row is often little.
    const BRANCH_FREE: bool = true;

    #[inline(always)]
    fn run(mut self, work: Work, values: impl Fn(usize) -> V) -> Result<()> {
        work.rows().try_for_each(|row| (self.0)(row, values(row)))
    }
}

/// Values of rows added to one state.
struct IntoState<'s, S, F> {
    state: &'s mut S,
    add: F,
}

impl<V, S: Default, F: FnMut(&mut S, V) -> Result<()>> RowLoop<V> for IntoState<'_, S, F> {
    type Result = Result<()>;

    const BRANCH_FREE: bool = true;

    /// A state of its own stays in registers.
    #[inline(always)]
    fn run(mut self, work: Work, values: impl Fn(usize) -> V) -> Result<()> {
        let mut own = std::mem::take(self.state);
        let added = work.rows().try_for_each(|row| (self.add)(&mut own, values(row)));
        *self.state = own;
        added
    }
}
