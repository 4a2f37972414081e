//! `bool_and` and `bool_or`.

use crate::documentation::doc;
use std::{marker::PhantomData, sync::Arc};
use volley_error::Result;
use volley_function::{
    BoundAggregate, Registry,
    aggregate::simple::{self, SimpleAggregate},
    simple::Boolean,
};
use volley_types::Type;

/// Registers `bool_and`, `bool_or` and `every`.
pub(super) fn register(registry: &mut Registry) {
    let and = doc(
        "bool_and(boolean) -> boolean",
        "Whether all values that are not null are true; null if there is none.",
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
    matches!(args, [Type::Boolean | Type::Unknown]).then(BooleanFold::<O>::bound)
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

impl<O: Operation> BooleanFold<O> {
    /// The binding.
    pub(super) fn bound() -> BoundAggregate {
        let boolean = || Type::Boolean;
        simple::bound(vec![boolean()], boolean(), boolean(), BooleanFold::<O>(PhantomData))
    }
}

impl<O: Operation> SimpleAggregate for BooleanFold<O> {
    type State = Option<bool>;
    type Args = Boolean;
    type Partial = Boolean;
    type Result = Boolean;

    #[inline(always)]
    fn add(&self, state: &mut Option<bool>, value: bool) -> Result<()> {
        if state.is_none() || value == O::DECISIVE {
            *state = Some(value);
        }
        Ok(())
    }

    fn add_repeated(&self, state: &mut Option<bool>, value: bool, _times: usize) -> Result<()> {
        self.add(state, value)
    }

    fn merge(&self, state: &mut Option<bool>, value: bool) -> Result<()> {
        self.add(state, value)
    }

    fn partial(&self, state: &Option<bool>) -> Result<Option<bool>> {
        Ok(*state)
    }

    fn result(&self, state: &Option<bool>) -> Result<Option<bool>> {
        Ok(*state)
    }
}
