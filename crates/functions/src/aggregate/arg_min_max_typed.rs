//! `min_by` and `max_by` by keys of fixed width and by strings: keys are kept as stored, and the
//! value is read only when its key wins.

use super::{
    arg_min_max::{Chooser, pair_type},
    owned_value::{OwnedBytes, OwnedNative, OwnedValue, value_bytes},
    typed::{self, TypedAggregate, arg},
};
use crate::value_aggregate::{Choice, row_value};
use std::marker::PhantomData;
use volley_error::Result;
use volley_function::{BoundAggregate, simple::Source};
use volley_memory::TypedSlots;
use volley_types::{PhysicalType, Type, Value, match_native};
use volley_vector::{Decoded, NullBuffer, Values, Vector};

/// The binding of `min_by(shown, key)` or `max_by(shown, key)`; `None` for keys that are compared
/// otherwise than as they are stored. `IGNORES`: rows where `shown` is null do not count.
pub(super) fn bind<const IGNORES: bool>(
    choice: Choice,
    shown: &Type,
    key: &Type,
) -> Option<BoundAggregate> {
    if key.key_type().is_some() {
        return None;
    }
    match_native!(key.physical(), T => {
        Some(bound::<OwnedNative<T>, IGNORES>(choice, shown, key))
    }, else match key.physical() {
        PhysicalType::View => Some(bound::<OwnedBytes, IGNORES>(choice, shown, key)),
        _ => None,
    })
}

fn bound<H: OwnedValue, const IGNORES: bool>(
    choice: Choice,
    shown: &Type,
    key: &Type,
) -> BoundAggregate {
    let aggregate = TypedChoice::<H, IGNORES> {
        chooser: Chooser::new(choice, shown, key),
        shown: shown.clone(),
        key: key.clone(),
        held: PhantomData,
    };
    let types = vec![shown.clone(), key.clone()];
    typed::bound(types, pair_type(shown, key), shown.clone(), aggregate)
}

struct TypedChoice<H, const IGNORES: bool> {
    chooser: Chooser,
    shown: Type,
    key: Type,
    held: PhantomData<fn() -> H>,
}

/// Keys and what is shown for them.
struct Columns<'a, H: OwnedValue> {
    shown: &'a Decoded<'a>,
    keys: &'a Decoded<'a>,
    base: H::Base<'a>,
}

impl<'a, H: OwnedValue> Columns<'a, H> {
    fn new(shown: &'a Decoded<'a>, keys: &'a Decoded<'a>) -> Result<Columns<'a, H>> {
        Ok(Columns { shown, keys, base: H::base(keys)? })
    }
}

impl<H: OwnedValue, const IGNORES: bool> TypedChoice<H, IGNORES> {
    fn choose(&self, state: &mut Option<(H::Kept, Value)>, columns: &Columns<'_, H>, row: usize) {
        let key = H::get(&columns.base, columns.keys.index(row));
        let Some((kept, shown)) = state else {
            *state = Some((H::keep(key), row_value(columns.shown, row)));
            return;
        };
        let order = self.chooser.wanted_first(H::compare(&key, &H::view(kept)));
        if order.is_gt() {
            return;
        }
        let new = row_value(columns.shown, row);
        if order.is_lt() || self.chooser.compare_shown(&new, shown).is_lt() {
            *state = Some((H::keep(key), new));
        }
    }

    /// What is shown; null for groups without rows.
    fn shown(&self, states: &mut TypedSlots<'_, Option<(H::Kept, Value)>>) -> Vector {
        let len = states.len();
        let value = |slot| states.get(slot).as_ref().map_or(Value::Null, |it| it.1.clone());
        let values: Vec<Value> = (0..len).map(value).collect();
        Vector::from_values(self.shown.clone(), &values)
    }
}

impl<H: OwnedValue, const IGNORES: bool> TypedAggregate for TypedChoice<H, IGNORES> {
    /// The key, and what is shown for it.
    type State = Option<(H::Kept, Value)>;
    type Input<'a> = Columns<'a, H>;
    type Partial<'a> = Columns<'a, H>;
    const IGNORES_NULLS: &'static [bool] = &[IGNORES, true];

    fn empty(&self) -> Self::State {
        None
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<Columns<'a, H>> {
        Columns::new(arg(args, 0)?, arg(args, 1)?)
    }

    fn add(
        &self,
        state: &mut Self::State,
        input: &Columns<'_, H>,
        row: usize,
        _index: usize,
    ) -> Result<()> {
        self.choose(state, input, row);
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Columns<'a, H>> {
        Columns::new(arg(partial, 1)?, arg(partial, 2)?)
    }

    fn merge(&self, state: &mut Self::State, partial: &Columns<'_, H>, index: usize) -> Result<()> {
        self.choose(state, partial, index);
        Ok(())
    }

    fn lift(&self, args: &[Vector], rows: usize) -> Result<Option<Vector>> {
        let of_types = args.iter().map(Vector::data_type).eq([&self.shown, &self.key]);
        if !of_types || args.iter().any(|it| it.len() != rows) {
            return Ok(None);
        }
        let sources = Self::decode(args)?;
        let counts = |row: usize| {
            let mut ignored = sources.iter().zip(Self::IGNORES_NULLS).filter(|it| *it.1);
            ignored.all(|it| !it.0.decoded().is_null(row))
        };
        let nulls = NullBuffer::from_iter((0..rows).map(counts));
        let row = Values::Row { children: args.into(), len: rows };
        Ok(Some(Vector::flat(pair_type(&self.shown, &self.key), row, Some(nulls))))
    }

    fn partial(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        // Copies first: a slot can be borrowed only one at a time.
        let len = states.len();
        let kept = |slot| states.get(slot).as_ref().map(|it| H::keep(H::view(&it.0)));
        let keys: Vec<Option<H::Kept>> = (0..len).map(kept).collect();
        let nulls = NullBuffer::from_iter(keys.iter().map(Option::is_some));
        let key = H::column(&self.key, keys.iter().map(Option::as_ref).collect());
        let children = [self.shown(states), key].into();
        let row = Values::Row { children, len };
        Ok(Vector::flat(pair_type(&self.shown, &self.key), row, Some(nulls)))
    }

    fn result(&self, states: &mut TypedSlots<'_, Self::State>) -> Result<Vector> {
        Ok(self.shown(states))
    }

    fn external_state_bytes(&self, state: &Self::State) -> usize {
        state.as_ref().map_or(0, |it| H::external_state_bytes(&it.0) + value_bytes(&it.1))
    }
}
