//! Frequencies of values of fixed width and of strings: keys are kept as they are stored.
//!
//! ```text
//! state          CompactMap<key, count>
//! intermediate   a map of keys and counts; of single rows, made of the column itself
//! ```

#[cfg(test)]
mod tests;

use super::{
    collected::offset,
    frequency::{Answer, entropy},
    owned_value::{OwnedBytes, OwnedKey, OwnedNative},
    typed::{self, TypedAggregate, arg, native_column, native_of, unexpected_layout},
};
use crate::value_aggregate::CompactMap;
use std::{marker::PhantomData, sync::Arc};
use volley_error::Result;
use volley_function::{BoundAggregate, simple::Source, sort_unstable_by};
use volley_memory::{TypedSlots, check_cancelled};
use volley_types::{PhysicalType, Type, match_native};
use volley_vector::{Decoded, Nested, NullBuffer, Rows, Values, Vector};

/// How many entries are worked on between two checks for cancellation.
const CHECKED_ENTRIES: usize = if cfg!(test) { 100 } else { 1 << 16 };

/// The binding of an aggregate that tells of frequencies; `None` for keys that are compared
/// otherwise than as they are stored. `result`: what it answers.
pub(super) fn bind(answer: Answer, key: &Type, result: &Type) -> Option<BoundAggregate> {
    if key.key_type().is_some() {
        return None;
    }
    match_native!(key.physical(), T => {
        Some(bound::<OwnedNative<T>>(answer, key, result))
    }, else match key.physical() {
        PhysicalType::View => Some(bound::<OwnedBytes>(answer, key, result)),
        _ => None,
    })
}

fn bound<H: OwnedKey>(answer: Answer, key: &Type, result: &Type) -> BoundAggregate {
    let map = Type::map(key.clone(), Type::BigInt);
    let aggregate = Frequency { answer, key: key.clone(), map: map.clone(), held: PhantomData };
    typed::bound(vec![key.clone()], map, result.clone(), aggregate as Frequency<H>)
}

struct Frequency<H> {
    answer: Answer,
    key: Type,
    /// The type of keys and their counts.
    map: Type,
    held: PhantomData<fn() -> H>,
}

/// How often each value came.
type Counts<H> = CompactMap<<H as super::owned_value::OwnedValue>::Kept, i64>;

/// Maps of keys and counts, decoded once.
struct Maps {
    maps: Nested,
    keys: Decoded<'static>,
    counts: Decoded<'static>,
}

impl Maps {
    fn new(column: &Decoded<'_>) -> Result<Maps> {
        let Values::Map(maps) = column.values() else { return Err(unexpected_layout()) };
        let entries = maps.elements.flatten()?;
        let Some(Values::Row { children, .. }) = entries.flat_values() else {
            return Err(unexpected_layout());
        };
        let [keys, counts] = &children[..] else { return Err(unexpected_layout()) };
        let decode = |field| Ok(Decoded::new(field)?.into_owned());
        Ok(Maps { maps: maps.clone(), keys: decode(keys)?, counts: decode(counts)? })
    }
}

impl<H: OwnedKey> Frequency<H> {
    fn count(state: &mut Counts<H>, key: H::Ref<'_>, times: i64) {
        let is_key = |kept: &H::Kept| H::compare(&H::view(kept), &key).is_eq();
        if let Some(position) = state.find(|| H::hash(&key), is_key) {
            *state.value_mut(position) += times;
            return;
        }
        let kept = H::keep(key);
        let bytes = H::external_state_bytes(&kept);
        state.push(kept, bytes, times, |it| H::hash(&H::view(it)));
    }

    /// The values and how often each came, of all states one after the other; `SORTS`: each state's
    /// in the order of the values. No values are no map.
    fn maps<const SORTS: bool>(&self, states: &mut TypedSlots<'_, Counts<H>>) -> Result<Vector> {
        let (mut offsets, mut sizes, mut entries) = (Vec::new(), Vec::new(), Vec::new());
        for slot in 0..states.len() {
            let start = entries.len();
            entries.extend(std::mem::take(states.get(slot)).into_entries());
            if SORTS {
                sort_unstable_by(&mut entries[start..], |left: &(H::Kept, i64), right| {
                    H::compare(&H::view(&left.0), &H::view(&right.0))
                })?;
            }
            let (start, end) = (offset(start)?, offset(entries.len())?);
            offsets.push(start);
            sizes.push(end - start);
        }
        let keys = H::column(&self.key, entries.iter().map(|it| Some(&it.0)).collect());
        let counts: Vec<i64> = entries.iter().map(|it| it.1).collect();
        let nulls = NullBuffer::from_iter(sizes.iter().map(|it| *it > 0));
        let counts = Vector::native::<i64>(Type::BigInt, counts, None);
        Ok(self.map_column(offsets, sizes, [keys, counts], nulls))
    }

    fn map_column(
        &self,
        offsets: Vec<i32>,
        sizes: Vec<i32>,
        entries: [Vector; 2],
        nulls: NullBuffer,
    ) -> Vector {
        let len = entries[0].len();
        let row = Values::Row { children: entries.into(), len };
        let elements = Arc::new(Vector::flat(self.map.entry_type(), row, None));
        let nested = Nested { offsets: offsets.into(), sizes: sizes.into(), elements };
        Vector::flat(self.map.clone(), Values::Map(nested), Some(nulls))
    }

    /// The most frequent value of each state, the least one of several.
    fn modes(&self, states: &mut TypedSlots<'_, Counts<H>>) -> Result<Vector> {
        let modes = (0..states.len()).map(|slot| mode::<H>(std::mem::take(states.get(slot))));
        let modes = modes.collect::<Result<Vec<Option<H::Kept>>>>()?;
        Ok(H::column(&self.key, modes.iter().map(Option::as_ref).collect()))
    }
}

/// The value that came most often, the least one of several.
fn mode<H: OwnedKey>(state: Counts<H>) -> Result<Option<H::Kept>> {
    let mut most: Option<(H::Kept, i64)> = None;
    for (position, entry) in state.into_entries().enumerate() {
        if position % CHECKED_ENTRIES == CHECKED_ENTRIES - 1 {
            check_cancelled()?;
        }
        let is_more = most.as_ref().is_none_or(|most| {
            let by_count = entry.1.cmp(&most.1);
            let by_value = || H::compare(&H::view(&most.0), &H::view(&entry.0));
            by_count.then_with(by_value).is_gt()
        });
        if is_more {
            most = Some(entry);
        }
    }
    Ok(most.map(|it| it.0))
}

impl<H: OwnedKey> TypedAggregate for Frequency<H> {
    type State = Counts<H>;
    type Input<'a> = H::Base<'a>;
    type Partial<'a> = Maps;

    fn empty(&self) -> Counts<H> {
        Counts::<H>::default()
    }

    fn open<'a>(&self, args: &'a [Source<'a>]) -> Result<H::Base<'a>> {
        H::base(arg(args, 0)?)
    }

    fn add(
        &self,
        state: &mut Counts<H>,
        input: &H::Base<'_>,
        _row: usize,
        index: usize,
    ) -> Result<()> {
        Self::count(state, H::get(input, index), 1);
        Ok(())
    }

    fn add_repeated(
        &self,
        state: &mut Counts<H>,
        input: &H::Base<'_>,
        rows: &Rows,
        index: usize,
    ) -> Result<()> {
        Self::count(state, H::get(input, index), rows.count() as i64);
        Ok(())
    }

    fn open_partial<'a>(&self, partial: &'a [Source<'a>]) -> Result<Maps> {
        Maps::new(arg(partial, 0)?)
    }

    fn merge(&self, state: &mut Counts<H>, partial: &Maps, index: usize) -> Result<()> {
        let (keys, counts) = (H::base(&partial.keys)?, native_of::<i64>(&partial.counts)?);
        for (position, entry) in partial.maps.range(index).enumerate() {
            if position % CHECKED_ENTRIES == CHECKED_ENTRIES - 1 {
                check_cancelled()?;
            }
            let times = counts[partial.counts.index(entry)];
            Self::count(state, H::get(&keys, partial.keys.index(entry)), times);
        }
        Ok(())
    }

    fn lift(&self, args: &[Vector], rows: usize) -> Result<Option<Vector>> {
        let [key] = args else { return Ok(None) };
        if *key.data_type() != self.key || key.len() != rows {
            return Ok(None);
        }
        let key = key.loaded()?;
        let nulls = Decoded::new(&key)?.nulls().unwrap_or_else(|| NullBuffer::new_valid(rows));
        let offsets = (0..rows as i32).collect();
        let sizes = nulls.iter().map(i32::from).collect();
        let counts = Vector::repeat(Vector::native::<i64>(Type::BigInt, vec![1], None), rows);
        Ok(Some(self.map_column(offsets, sizes, [key, counts], nulls)))
    }

    fn partial(&self, states: &mut TypedSlots<'_, Counts<H>>) -> Result<Vector> {
        self.maps::<false>(states)
    }

    fn result(&self, states: &mut TypedSlots<'_, Counts<H>>) -> Result<Vector> {
        match self.answer {
            Answer::Histogram => self.maps::<true>(states),
            Answer::Mode => self.modes(states),
            Answer::Entropy => Ok(native_column(Type::Double, states, |state| {
                let counts: Vec<i64> = state.entries().iter().map(|it| it.1).collect();
                Some(entropy(&counts))
            })),
        }
    }

    fn external_state_bytes(&self, state: &Counts<H>) -> usize {
        state.bytes()
    }
}
