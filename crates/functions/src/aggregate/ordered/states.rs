//! Order statistics whose states hold the values of groups, for aggregations of fixed-width values.

use super::{
    Choice, Chosen,
    group::GroupValues,
    items::too_far,
    place::{Place, Share},
    select::keys_at,
};
use crate::{
    aggregate::{
        collected::offset,
        typed::{TypedAggregate, arg, native_of, row_column, unexpected_layout},
    },
    order::Ordinal,
};
use std::marker::PhantomData;
use volley_error::Result;
use volley_function::simple::Source;
use volley_memory::TypedSlots;
use volley_types::{Field, Type, Value};
use volley_vector::{Decoded, Nested, ScalarBuffer, Values, Vector};

/// Of more values than this, places are found without a copy of them.
const COPIED_MAX: usize = if cfg!(test) { 40 } else { 1 << 18 };

/// The additional memory for results, as a fraction of the bytes of the values.
const RESULT_SHARE: usize = 8;

pub(super) struct OrderedStates<T> {
    choice: Choice,
    value: Type,
    /// Of the argument that says which values are chosen.
    share: Option<Type>,
    result: Type,
    native: PhantomData<fn() -> T>,
}

/// The values of a group, and which of them are chosen.
#[derive(Clone)]
pub(super) struct OrderedState<T: Ordinal> {
    values: GroupValues<T>,
    share: GroupShare,
}

/// The share that came with a group's first value.
#[derive(Clone)]
enum GroupShare {
    None,
    One(f64),
    /// An array, or null.
    Other(Box<Value>),
}

impl GroupShare {
    fn of(shares: &Decoded<'_>, row: usize) -> Result<GroupShare> {
        if shares.is_null(row) {
            return Ok(GroupShare::Other(Box::new(Value::Null)));
        }
        let index = shares.index(row);
        Ok(match shares.values() {
            Values::F64(values) => GroupShare::One(values[index]),
            _ => GroupShare::Other(Box::new(shares.base().value(index)?)),
        })
    }

    fn value(&self) -> Option<Value> {
        match self {
            GroupShare::None => None,
            GroupShare::One(share) => Some(Value::Double(*share)),
            GroupShare::Other(value) => Some(Value::clone(value)),
        }
    }
}

impl<T: Ordinal> OrderedStates<T> {
    pub(super) fn new(choice: Choice, args: &[Type], result: Type) -> OrderedStates<T> {
        let value = args.first().cloned().unwrap_or(Type::Unknown);
        OrderedStates { choice, value, share: args.get(1).cloned(), result, native: PhantomData }
    }

    /// The type of intermediate results: the values, and the share where there is one.
    pub(super) fn partial_type(&self) -> Type {
        let values = Field::new("values", Type::array(self.value.clone()));
        let share = self.share.iter().map(|it| Field::new("share", it.clone()));
        Type::row(std::iter::once(values).chain(share).collect::<Vec<_>>())
    }

    fn add_share(
        state: &mut OrderedState<T>,
        shares: Option<&Decoded<'_>>,
        row: usize,
    ) -> Result<()> {
        if let (GroupShare::None, Some(shares)) = (&state.share, shares) {
            state.share = GroupShare::of(shares, row)?;
        }
        Ok(())
    }

    /// Intermediate results of arrays of `elements`, and shares.
    fn partial_of(&self, nested: Nested, shares: Option<Vector>) -> Vector {
        let len = nested.sizes.len();
        let values = Vector::flat(Type::array(self.value.clone()), Values::Array(nested), None);
        let children = std::iter::once(values).chain(shares).collect();
        row_column(&self.partial_type(), children, len)
    }
}

/// Arrays of values, and shares.
pub(super) struct Partials<'a, T: Ordinal> {
    arrays: &'a Decoded<'a>,
    nested: &'a Nested,
    elements: ScalarBuffer<T>,
    shares: Option<&'a Decoded<'a>>,
}

impl<T: Ordinal> TypedAggregate for OrderedStates<T> {
    type State = OrderedState<T>;
    type Input<'a> = (&'a [T], Option<&'a Decoded<'a>>);
    type Partial<'a> = Partials<'a, T>;

    fn empty(&self) -> OrderedState<T> {
        OrderedState { values: GroupValues::new(), share: GroupShare::None }
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<Self::Input<'a>> {
        Ok((native_of(arg(args, 0)?)?, args.get(1).map(Source::decoded)))
    }

    fn add(
        &self,
        state: &mut OrderedState<T>,
        input: &Self::Input<'_>,
        row: usize,
        index: usize,
    ) -> Result<()> {
        state.values.push(input.0[index]);
        OrderedStates::add_share(state, input.1, row)
    }

    fn add_all(
        &self,
        state: &mut OrderedState<T>,
        input: &Self::Input<'_>,
        len: usize,
    ) -> Result<()> {
        state.values.extend(&input.0[..len]);
        OrderedStates::add_share(state, input.1, 0)
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Partials<'a, T>> {
        let arrays = arg(partial, 1)?;
        let Values::Array(nested) = arrays.values() else { return Err(unexpected_layout()) };
        let elements = nested.elements.flatten()?;
        let elements = match elements.flat_values() {
            Some(Values::Null(_)) => ScalarBuffer::from(Vec::new()),
            Some(values) if values.physical() == T::PHYSICAL => {
                let buffer = values.fixed_buffer().ok_or_else(unexpected_layout)?;
                ScalarBuffer::new(buffer.clone(), 0, values.len())
            }
            _ => return Err(unexpected_layout()),
        };
        Ok(Partials { arrays, nested, elements, shares: partial.get(2).map(Source::decoded) })
    }

    fn merge(
        &self,
        state: &mut OrderedState<T>,
        partial: &Partials<'_, T>,
        index: usize,
    ) -> Result<()> {
        let range = partial.nested.range(partial.arrays.index(index));
        if !range.is_empty() {
            state.values.share(&partial.elements, range.start, range.len());
            OrderedStates::add_share(state, partial.shares, index)?;
        }
        Ok(())
    }

    fn lift(&self, args: &[Vector], rows: usize) -> Result<Option<Vector>> {
        let Some((values, shares)) = args.split_first() else { return Err(unexpected_layout()) };
        offset(rows)?;
        let elements = values.flatten()?;
        let size = |row| i32::from(elements.null_buffer().is_none_or(|it| it.is_valid(row)));
        let sizes = (0..rows).map(size).collect();
        let nested =
            Nested { offsets: (0..rows as i32).collect(), sizes, elements: elements.into() };
        Ok(Some(self.partial_of(nested, shares.first().cloned())))
    }

    fn partial(&self, states: &mut TypedSlots<'_, OrderedState<T>>) -> Result<Vector> {
        let (mut offsets, mut sizes, mut end) = (Vec::new(), Vec::new(), 0);
        let mut shares = Vec::new();
        for slot in 0..states.len() {
            let state = states.get(slot);
            offsets.push(offset(end)?);
            sizes.push(offset(state.values.len())?);
            end += state.values.len();
            if self.share.is_some() {
                shares.push(state.share.value().unwrap_or(Value::Null));
            }
        }
        offset(end)?;
        let elements = match states.len() {
            1 => states.get(0).values.take_piece(),
            _ => None,
        };
        let elements = elements.unwrap_or_else(|| {
            let mut elements = Vec::with_capacity(end);
            (0..states.len()).for_each(|slot| states.get(slot).values.move_to(&mut elements));
            elements.into()
        });
        let elements = Vector::native::<T>(self.value.clone(), elements, None);
        let nested =
            Nested { offsets: offsets.into(), sizes: sizes.into(), elements: elements.into() };
        let shares = self.share.as_ref().map(|it| Vector::from_values(it.clone(), &shares));
        Ok(self.partial_of(nested, shares))
    }

    fn result(&self, states: &mut TypedSlots<'_, OrderedState<T>>) -> Result<Vector> {
        let mut chosen = Chosen::with_capacity(states.len());
        let mut keys = Vec::new();
        for slot in 0..states.len() {
            let state = states.get(slot);
            let pieces = state.values.slices();
            let share = state.share.value();
            chosen.push_group(pieces.is_empty(), share.as_ref(), |share| {
                let share = self.choice.share_of(share)?;
                share.map(|it| self.choice.of_pieces(&pieces, it, &mut keys)).transpose()
            })?;
        }
        chosen.finish(&self.result, self.share.as_ref(), |chosen| {
            Ok(super::items::native_column(self.value.clone(), chosen))
        })
    }

    fn external_state_bytes(&self, state: &OrderedState<T>) -> usize {
        let share = match &state.share {
            GroupShare::Other(share) => size_of::<Value>() + share.retained_bytes(),
            _ => 0,
        };
        state.values.heap_bytes() + share
    }

    fn result_bytes(&self, state: &OrderedState<T>) -> usize {
        self.external_state_bytes(state) / RESULT_SHARE
    }
}

impl Choice {
    /// What is chosen of the values of a group, at least one. `keys`: memory that is used again.
    fn of_pieces<T: Ordinal>(
        self,
        pieces: &[&[T]],
        share: Share,
        keys: &mut Vec<T::Key>,
    ) -> Result<T> {
        let place = self.place();
        let middle = place.value(at(place, (pieces, keys), share, &|it: T| Ok(it.key()))?);
        if !matches!(self, Choice::Deviation(_)) {
            return Ok(middle);
        }
        let distance = |it: T| Ok(it.distance(middle).ok_or_else(too_far)?.key());
        Ok(place.value(at(place, (pieces, keys), share, &distance)?))
    }
}

/// The key at a share of the values, and the next one, as [`Place::at`] finds them.
fn at<T: Ordinal>(
    place: Place,
    (pieces, keys): (&[&[T]], &mut Vec<T::Key>),
    share: Share,
    key: &impl Fn(T) -> Result<T::Key>,
) -> Result<(T::Key, Option<(T::Key, f64)>)> {
    let count = pieces.iter().map(|it| it.len()).sum();
    if count <= COPIED_MAX {
        keys.clear();
        for value in pieces.iter().flat_map(|it| *it) {
            keys.push(key(*value)?);
        }
        return place.at(keys, share, &Ord::cmp);
    }
    let (rank, next) = place.ranks(count, share);
    let [found, neighbor] = keys_at(pieces, [rank, next.map_or(rank, |it| it.0)], key)?;
    Ok((found, next.map(|it| (neighbor, it.1))))
}
