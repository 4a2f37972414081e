//! Aggregates that select one of the values: `min`, `max`, `any_value`.

use super::{
    boolean::{And, BooleanFold, Or},
    bound,
    keyed::KeyedExtreme,
    owned_value::{OwnedBytes, OwnedNative, OwnedScalar, OwnedValue},
    typed::{TypedAggregate, arg},
};
use crate::documentation::doc;
use std::{marker::PhantomData, sync::Arc};
use volley_error::Result;
use volley_function::{BoundAggregate, Registry, simple::Source};
use volley_memory::TypedSlots;
use volley_types::{CustomOrder, PhysicalType, Type, match_native};
use volley_vector::{Rows, Vector};

/// Registers `min`, `max`, `any_value` and `arbitrary`.
pub(super) fn register(registry: &mut Registry) {
    let min = doc(
        "min(x) -> as x",
        "The least value that is not null; null if there is none.",
        "aggregate",
        &[("min(x) FROM (VALUES (2), (1)) v(x)", "1")],
    );
    let max = doc(
        "max(x) -> as x",
        "The greatest value that is not null; null if there is none. NaN is the greatest float.",
        "aggregate",
        &[("max(x) FROM (VALUES (2), (1)) v(x)", "2")],
    );
    let any = doc(
        "any_value(x) -> as x",
        "Some value that is not null; null if there is none.",
        "aggregate",
        &[("any_value(x) FROM (VALUES (NULL), (1)) v(x)", "1")],
    );
    registry.add_aggregate("min", min, Arc::new(|args: &[Type]| bind_extreme::<Least>(args)));
    registry.add_aggregate("max", max, Arc::new(|args: &[Type]| bind_extreme::<Greatest>(args)));
    for name in ["any_value", "arbitrary"] {
        let bind = |args: &[Type]| bind::<AnyOne>(args);
        registry.add_aggregate(name, any.clone(), Arc::new(bind));
    }
}

fn bind_extreme<R: Rule>(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    if arg.order() < CustomOrder::Ordered {
        return None;
    }
    if arg.key_type().is_some() {
        let (types, to) = (vec![arg.clone()], arg.clone());
        return Some(bound(types, to.clone(), to.clone(), KeyedExtreme::<R>::new(to)));
    }
    if *arg != Type::Boolean {
        return bind::<R>(args);
    }
    Some(if R::GREATEST { BooleanFold::<Or>::bound() } else { BooleanFold::<And>::bound() })
}

fn bind<R: Rule>(args: &[Type]) -> Option<BoundAggregate> {
    let [arg] = args else { return None };
    let (types, to) = (vec![arg.clone()], arg.clone());
    Some(match_native!(arg.physical(), T => {
        bound(types, to.clone(), to.clone(), Chosen::<OwnedNative<T>, R>::new(to))
    }, else match arg.physical() {
        PhysicalType::View => {
            bound(types, to.clone(), to.clone(), Chosen::<OwnedBytes, R>::new(to))
        }
        _ => bound(types, to.clone(), to.clone(), Chosen::<OwnedScalar, R>::new(to)),
    }))
}

/// When a new value takes the place of the one kept.
pub(super) trait Rule: Send + Sync + 'static {
    /// Whether this is the rule of `max`.
    const GREATEST: bool;

    fn replaces<H: OwnedValue>(new: &H::Ref<'_>, kept: &H::Ref<'_>) -> bool;
}

struct Least;

impl Rule for Least {
    const GREATEST: bool = false;

    #[inline(always)]
    fn replaces<H: OwnedValue>(new: &H::Ref<'_>, kept: &H::Ref<'_>) -> bool {
        H::compare(new, kept).is_lt()
    }
}

struct Greatest;

impl Rule for Greatest {
    const GREATEST: bool = true;

    #[inline(always)]
    fn replaces<H: OwnedValue>(new: &H::Ref<'_>, kept: &H::Ref<'_>) -> bool {
        H::compare(new, kept).is_gt()
    }
}

struct AnyOne;

impl Rule for AnyOne {
    const GREATEST: bool = false;

    #[inline(always)]
    fn replaces<H: OwnedValue>(_new: &H::Ref<'_>, _kept: &H::Ref<'_>) -> bool {
        false
    }
}

/// The value that a rule chooses.
struct Chosen<H, R> {
    data_type: Type,
    parts: PhantomData<fn() -> (H, R)>,
}

impl<H, R> Chosen<H, R> {
    fn new(data_type: Type) -> Chosen<H, R> {
        Chosen { data_type, parts: PhantomData }
    }
}

impl<H: OwnedValue, R: Rule> TypedAggregate for Chosen<H, R> {
    type State = Option<H::Kept>;
    type Input<'a> = H::Base<'a>;
    type Partial<'a> = H::Base<'a>;

    fn empty(&self) -> Self::State {
        None
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<H::Base<'a>> {
        H::base(arg(args, 0)?)
    }

    #[inline(always)]
    fn add(
        &self,
        state: &mut Self::State,
        input: &H::Base<'_>,
        _row: usize,
        index: usize,
    ) -> Result<()> {
        let new = H::get(input, index);
        let chosen = match state {
            Some(kept) => R::replaces::<H>(&new, &H::view(kept)),
            None => true,
        };
        if chosen {
            *state = Some(H::keep(new));
        }
        Ok(())
    }

    fn add_all(&self, state: &mut Self::State, input: &H::Base<'_>, len: usize) -> Result<()> {
        if len == 0 {
            return Ok(());
        }
        let mut best = H::get(input, 0);
        for row in 1..len {
            let new = H::get(input, row);
            best = if R::replaces::<H>(&new, &best) { new } else { best };
        }
        let chosen = state.as_ref().is_none_or(|kept| R::replaces::<H>(&best, &H::view(kept)));
        if chosen {
            *state = Some(H::keep(best));
        }
        Ok(())
    }

    fn add_repeated(
        &self,
        state: &mut Self::State,
        input: &H::Base<'_>,
        rows: &Rows,
        index: usize,
    ) -> Result<()> {
        self.add(state, input, rows.begin(), index)
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<H::Base<'a>> {
        H::base(arg(partial, 0)?)
    }

    #[inline(always)]
    fn merge(&self, state: &mut Self::State, partial: &H::Base<'_>, index: usize) -> Result<()> {
        self.add(state, partial, index, index)
    }

    fn lift(&self, args: &[Vector], _rows: usize) -> Result<Option<Vector>> {
        Ok(args.first().filter(|it| *it.data_type() == self.data_type).cloned())
    }

    fn partial(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        self.result(states)
    }

    fn result(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        // Copies first: a slot can be borrowed only one at a time.
        let kept: Vec<Option<H::Kept>> = (0..states.len())
            .map(|slot| states.get(slot).as_ref().map(|kept| H::keep(H::view(kept))))
            .collect();
        Ok(H::column(&self.data_type, kept.iter().map(Option::as_ref).collect()))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, H::external_state_bytes)
    }
}
