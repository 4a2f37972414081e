//! `bool_and` and `bool_or`.

use super::{
    bound,
    form::{Form, arg, boolean_column, unexpected_layout},
};
use crate::documentation::doc;
use std::{marker::PhantomData, sync::Arc};
use volley_error::Result;
use volley_function::{BoundAggregate, Registry};
use volley_memory::TypedSlots;
use volley_types::Type;
use volley_vector::{BooleanBuffer, Decoded, Rows, Values, Vector};

/// Registers `bool_and`, `bool_or` and `every`.
pub(super) fn register(registry: &mut Registry) {
    let and = doc(
        "bool_and(boolean) -> boolean",
        "Whether all values that are not null are true; null when there is none.",
        "aggregate",
        &[("bool_and(x) FROM (VALUES (true), (false)) v(x)", "false")],
    );
    let or = doc(
        "bool_or(boolean) -> boolean",
        "Whether some value is true; null when all are null.",
        "aggregate",
        &[("bool_or(x) FROM (VALUES (true), (false)) v(x)", "true")],
    );
    registry.add_aggregate("bool_and", and.clone(), Arc::new(bind::<And>));
    registry.add_aggregate("every", and, Arc::new(bind::<And>));
    registry.add_aggregate("bool_or", or, Arc::new(bind::<Or>));
}

fn bind<O: Operation>(args: &[Type]) -> Option<BoundAggregate> {
    matches!(args, [Type::Boolean | Type::Unknown]).then(|| {
        let form = BooleanFold::<O>::new();
        bound(vec![Type::Boolean], Type::Boolean, Type::Boolean, form)
    })
}

/// How two booleans become one.
pub(super) trait Operation: Send + Sync + 'static {
    /// The value that decides alone.
    const DECISIVE: bool;
}

/// False decides.
pub(super) struct And;

impl Operation for And {
    const DECISIVE: bool = false;
}

/// True decides.
pub(super) struct Or;

impl Operation for Or {
    const DECISIVE: bool = true;
}

/// All values folded into one.
pub(super) struct BooleanFold<O>(PhantomData<fn() -> O>);

impl<O> BooleanFold<O> {
    /// The form.
    pub(super) fn new() -> BooleanFold<O> {
        BooleanFold(PhantomData)
    }
}

impl<O: Operation> Form for BooleanFold<O> {
    type State = Option<bool>;
    type Input<'a> = Option<&'a BooleanBuffer>;
    type Partial<'a> = Option<&'a BooleanBuffer>;

    fn empty(&self) -> Option<bool> {
        None
    }

    fn open<'a>(&self, args: &'a [Decoded<'a>]) -> Result<Self::Input<'a>> {
        self.open_partial(arg(args, 0)?)
    }

    #[inline(always)]
    fn add(&self, state: &mut Option<bool>, input: &Self::Input<'_>, _row: usize, index: usize) {
        let Some(bits) = input else { return };
        let value = bits.value(index);
        if state.is_none() || value == O::DECISIVE {
            *state = Some(value);
        }
    }

    fn add_repeated(
        &self,
        state: &mut Option<bool>,
        input: &Self::Input<'_>,
        rows: &Rows,
        index: usize,
    ) {
        if !rows.is_empty() {
            self.add(state, input, rows.begin(), index);
        }
    }

    fn open_partial<'a>(&self, partial: &'a Decoded<'a>) -> Result<Self::Partial<'a>> {
        match partial.values() {
            Values::Boolean(bits) => Ok(Some(bits)),
            Values::Null(_) => Ok(None),
            _ => Err(unexpected_layout()),
        }
    }

    #[inline(always)]
    fn merge(&self, state: &mut Option<bool>, partial: &Self::Partial<'_>, index: usize) {
        self.add(state, partial, index, index);
    }

    fn partial(&self, states: &mut TypedSlots<'_, Option<bool>>) -> Result<Vector> {
        self.result(states)
    }

    fn result(&self, states: &mut TypedSlots<'_, Option<bool>>) -> Result<Vector> {
        Ok(boolean_column(states, |state| *state))
    }
}
